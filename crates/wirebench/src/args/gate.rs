//! `wirebench gate FILE`: a run that decides, and tells it to the service for continuous integration.

use super::deciding::Deciding;
use super::experiment::Execution;
use super::run::Run;
use crate::ci::Ci;
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use spec::Options;
use std::path::PathBuf;
use std::rc::Rc;

/// Run an experiment that has to meet limits, and tell it to CI
///
/// It is `wirebench run` with at least one limit (`require` of the file, or --require) that tells the answer to the
/// service it runs under: as JUnit XML, and on GitHub as summary of the step and as annotations. Limits such as 'p99 <=
/// baseline * 1.10' are relative to the record that --baseline names (docs/CI.md).
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
    mut_arg("quick", |quick| quick.hide_short_help(true)),
)]
pub(crate) struct Gate {
    /// The file of an experiment, or the URL of a server
    #[arg(value_name = "FILE|URL")]
    target: String,
    /// Write the checks as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    deciding: Deciding,
    #[command(flatten)]
    execution: Execution,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench gate chat.toml --junit wirebench.xml
  wirebench gate chat.toml --require 'p99 < 20ms' --require 'error_rate < 1%'
  wirebench gate chat.toml --rounds 10 --baseline main.json";

impl Gate {
    /// Carries out the experiment as `run` does, and tells the answer.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let Self { target, junit, options, deciding, mut execution } = self;
        let ci = Rc::new(Ci::found(junit));
        ci.check()?;
        execution.ci = Some(Rc::clone(&ci));
        let terminal = terminal.guarded(ci.is_github());
        let run = Run { target: target.clone(), options, deciding, execution };
        let ended = run.run(&terminal);
        if let Err(failure) = &ended {
            ci.tell_failure(&target, failure, &terminal)?;
        }
        ended
    }
}
