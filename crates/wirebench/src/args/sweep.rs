//! `wirebench sweep URL|FILE`: an experiment whose load rises until a server bends.

use super::experiment::Execution;
use super::help::{OF_RUN, only_in_long_help};
use super::{run, values};
use crate::data;
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use record::Kind;
use spec::file::{Asked, AxisKeys, File};
use spec::{AxisOf, Options};

/// Raise the load of a server until it bends, and say where
///
/// The load rises from --from by --factor, each step measured --repeats times, until less than 99 % of the offered load
/// is achieved. Then loads are measured where the knee is least certain, until its 95 % interval is 2 % wide. With
/// --slo it also finds the largest load within an objective. Every step is what `wirebench run` measures at that load,
/// with the same options.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_help = "`--help` has all options, and those of `wirebench run`",
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
    mut_args(only_in_long_help),
)]
pub(crate) struct Sweep {
    /// The server, or the file of an experiment
    ///
    /// A file may have an `[axis]` (docs/EXPERIMENTS.md); flags override it.
    #[arg(value_name = "URL|FILE.toml")]
    target: Option<String>,
    /// A published experiment: cubeia
    ///
    /// `cubeia` is a game server over its binary socket, over WebSocket and over Comet, with more and more bots.
    #[arg(long, value_name = "NAME", value_parser = ["cubeia"], hide_possible_values = true)]
    preset: Option<String>,
    #[command(flatten)]
    axis: AxisKeys,
    #[command(flatten)]
    execution: Execution,
    #[command(flatten, next_help_heading = OF_RUN)]
    options: Options,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench sweep ws://127.0.0.1:8080 --slo 'p99<50ms'
  wirebench sweep ws://127.0.0.1:8080 --of bots --from 100 --every 1s
  wirebench sweep --preset cubeia --quick";

impl Sweep {
    /// Sweeps, keeps the record, shows it.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let Self { target, preset, axis, execution, mut options } = self;
        let axis = AxisKeys { every: options.every.take(), ..axis };
        let decided = [
            "rate",
            "bots",
            "sessions",
            "clients",
            "concurrency",
            "round-trips",
            "closed",
            "messages",
        ];
        let is_decided = |option: &&str| {
            decided.contains(option)
                || (*option == "receivers" && axis.of == Some(AxisOf::Receivers))
        };
        if let Some(option) = options.set().into_iter().find(is_decided) {
            return Err(Failure::usage(format!(
                "--{option} does not apply to a sweep, whose load is that of --of and --from; leave it out"
            )));
        }
        let file = match (&target, &preset) {
            (Some(_), Some(_)) => {
                let problem = "--preset has its own servers; leave the URL or the file out";
                return Err(Failure::usage(problem.to_owned()));
            }
            (Some(url), None) if run::is_url(url) => File::of_url(url),
            (Some(path), None) => {
                let text = values::text_of(path).map_err(Failure::usage)?;
                File::read(path, &text).map_err(Failure::usage)?
            }
            (None, Some(name)) => {
                let text = data::experiment(name).expect("the program brings it");
                File::read(name, text).map_err(Failure::usage)?
            }
            (None, None) => {
                let problem = "nothing to sweep: name a URL, a file, or --preset cubeia".to_owned();
                return Err(Failure::usage(problem));
            }
        };
        let asked = Asked { options, axis, is_sweep: true, preset, ..execution.asked() };
        execution.of_file(file, &asked, Some(Kind::Sweep), terminal)
    }
}
