//! `wirebench ab BASE HEAD`: measures two servers in turns, and compares the second with the first.

use super::experiment::Execution;
use super::goal_options::Deciding;
use super::help::{OF_RUN, only_in_long_help};
use super::sides::Sides;
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use record::Kind;
use spec::Options;
use spec::file::{Asked, File};

/// Compare two servers that take turns: is HEAD slower than BASE?
///
/// Blocks of both alternate in random order, so that whatever else the machine does affects both alike. Each side is a
/// server that already listens, or one that is started: `--start-base 'CMD'` is a shell command, ready once it listens
/// at its URL (and has printed `--ready-line`), and ended with the run. A side that was started is paused (SIGSTOP)
/// while the other one is measured.
///
/// `{port}` in CMD is replaced by a free port, which is used instead of the URL's, so that both may be the same
/// program. The page first says in which numbers HEAD differs, or how large a difference would have been shown.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_help = "`--help` has all options, and those of `wirebench run`",
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
    mut_args(only_in_long_help),
)]
pub(crate) struct Ab {
    /// The server to compare with
    #[arg(value_name = "BASE")]
    base: String,
    /// The server to compare [default: BASE]
    #[arg(value_name = "HEAD")]
    head: Option<String>,
    /// Compare BASE with itself, to see which false alarms that gives
    #[arg(long, conflicts_with_all = ["head", "start_head", "head_dir"])]
    aa: bool,
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
  wirebench ab ws://127.0.0.1:8080 ws://127.0.0.1:8081
  wirebench ab ws://127.0.0.1:8080 --start-base './old --port {port}' \\
    --start-head './new --port {port}' --max-regression 3%
  wirebench ab ws://127.0.0.1:8080 --start-base './old --port {port}' --aa";

impl Ab {
    /// Measures both sides in turns, keeps the record, shows it.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let Self { base, head, sides, aa, deciding, execution, options } = self;
        let [base, head] = sides.of([&base, head.as_deref().unwrap_or(&base)], aa)?;
        let file = File::of_sides(base, head).map_err(Failure::usage)?;
        let regression_max = sides.max_regression;
        let asked = Asked { options, regression_max, ..execution.asked() };
        execution.of_file(file, &deciding.over(asked), Some(Kind::Ab), terminal)
    }
}
