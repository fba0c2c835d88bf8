//! `wirebench lab FILE`: compares subjects with each other and with a bare TCP socket.

use super::experiment::Execution;
use super::values;
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use spec::Options;
use spec::file::{Asked, File};
use units::Nanos;

/// Compare servers and client libraries with each other and bare TCP
///
/// The file names the subjects, the transports and the loads (docs/EXPERIMENTS.md). Each subject has to answer
/// correctly before it is timed; blocks take turns in random order; row zero is a bare TCP socket of wirebench. A lab
/// that was interrupted continues where it was when the same command is run again.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_help = "`--help` has all options, docs/EXPERIMENTS.md the format of the file.",
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
)]
pub(crate) struct Lab {
    /// The experiment
    #[arg(value_name = "FILE.toml")]
    file: String,
    /// Length of each turn [default: the file's, or 1s]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    block: Option<Nanos>,
    #[command(flatten)]
    execution: Execution,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench lab experiments/published/kifi.toml --quick
  wirebench lab mine.toml --install --only node-ws,netty
  wirebench lab mine.toml --export csv=mine.csv";

impl Lab {
    /// Measures all rows, keeps the record, shows the table.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let Self { file, block, execution } = self;
        let text = values::text_of(&file).map_err(Failure::usage)?;
        let file = File::read(&file, &text).map_err(Failure::usage)?;
        let options = Options { duration: block, ..Options::default() };
        let asked = Asked { options, ..execution.asked() };
        execution.of_file(file, &asked, None, terminal)
    }
}
