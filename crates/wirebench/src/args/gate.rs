//! `wirebench gate FILE`: a run that decides, and reports its answer to the service for continuous integration.

use super::experiment::Execution;
use super::goal_options::Deciding;
use super::help::{OF_RUN, only_in_long_help};
use super::run::{Run, is_url};
use super::sides::Sides;
use super::{show, values};
use crate::ci::Ci;
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use record::Kind;
use spec::Options;
use spec::file::{Asked, File};
use std::path::PathBuf;
use std::rc::Rc;

/// Run an experiment that has to meet limits, and report to CI
///
/// It is `wirebench run` with at least one limit (`require` in the file, or --require), and reports the answer to the
/// service it runs under: as JUnit XML, and on GitHub as a step summary and annotations. Limits such as 'p99 <=
/// baseline * 1.10' are relative to the record that --baseline names (docs/CI.md).
///
/// With --start-base and --start-head (or --base-url) two builds take turns in one job, as in `wirebench ab`, under the
/// load of the file: limits apply to HEAD, and relative ones compare it with BASE.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
    mut_arg("quick", |quick| quick.hide_short_help(true)),
    mut_arg("max_regression", |it| it.hide_short_help(true)),
    mut_args(only_in_long_help),
)]
pub(crate) struct Gate {
    /// The file of an experiment, or the URL of a server
    #[arg(value_name = "FILE|URL")]
    target: String,
    /// Write the checks as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// The URL of BASE, if it already listens, instead of the URL of the file
    #[arg(long, value_name = "URL", hide_short_help = true)]
    base_url: Option<String>,
    #[command(flatten)]
    sides: Sides,
    #[command(flatten)]
    deciding: Deciding,
    #[command(flatten)]
    execution: Execution,
    #[command(flatten, next_help_heading = OF_RUN)]
    options: Options,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench gate chat.toml --require 'p99 < 20ms' --junit wirebench.xml
  wirebench gate chat.toml --rounds 10 --baseline main.json
  wirebench gate x.toml --start-base './old {port}' --start-head './new {port}'";

impl Gate {
    /// Carries out the experiment as `run` does, and reports the answer to the service.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let ci = Rc::new(Ci::found(self.junit.clone()));
        ci.check()?;
        let terminal = terminal.guarded(ci.is_github());
        let target = self.target.clone();
        let ended = self.measure(Rc::clone(&ci), &terminal);
        if let Err(failure) = &ended {
            ci.tell_failure(&target, failure, &terminal)?;
        }
        ended
    }

    fn measure(self, ci: Rc<Ci>, terminal: &Terminal) -> Result<Exit, Failure> {
        let Self { target, base_url, sides, options, deciding, mut execution, .. } = self;
        execution.ci = Some(ci);
        if base_url.is_none() && !sides.starts() {
            return match sides.first() {
                None => Run::new(target, options, deciding, execution).run(terminal),
                Some(option) => Err(Failure::usage(format!(
                    "--{option}: nothing is compared; name BASE with --start-base or --base-url"
                ))),
            };
        }
        execution.baseline = deciding.baseline(show::record)?;
        let file = match is_url(&target) {
            true => File::of_url(&target),
            false => {
                let text = values::text_of(&target).map_err(Failure::usage)?;
                File::read(&target, &text).map_err(Failure::usage)?
            }
        };
        let head = file.only_url().map_err(Failure::usage)?.to_owned();
        let [base, head] = sides.of([base_url.as_deref().unwrap_or(&head), &head], false)?;
        let file = file.with_sides(base, head).map_err(Failure::usage)?;
        let regression_max = sides.max_regression;
        let asked = Asked { options, regression_max, ..execution.asked() };
        execution.of_file(file, &deciding.over(asked), Some(Kind::Ab), terminal)
    }
}
