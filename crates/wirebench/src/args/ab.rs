//! `wirebench ab BASE HEAD`: two servers that take turns, the second one compared with the first.

use super::deciding::Deciding;
use super::experiment::Execution;
use super::help::OF_RUN;
use super::only_in_long_help;
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use record::Kind;
use spec::file::{Asked, File, Side};
use spec::secrets::url_without_secrets;
use spec::{Endpoint, Options, Started};
use units::{Nanos, Share};

/// Compare two servers that take turns: is HEAD slower than BASE?
///
/// Blocks of both alternate in random order, so that what the machine does meanwhile meets both alike. Each side is a
/// server that listens already, or is started: `--start-base 'CMD'` is a line of a shell, ready once it listens at its
/// URL, and ended with the run. A side that was started is stopped while the other one is measured.
///
/// `{port}` in CMD stands for a port that is free, in place of that of the URL: so both may be the same program.
/// The page says first by which numbers HEAD differs, or how large a difference would have been shown.
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
    /// Start BASE by this line of a shell
    #[arg(long, value_name = "CMD")]
    start_base: Option<String>,
    /// Start HEAD by this line of a shell
    #[arg(long, value_name = "CMD")]
    start_head: Option<String>,
    /// The folder that BASE is started in [default: this one]
    #[arg(long, value_name = "DIR", requires = "start_base", hide_short_help = true)]
    base_dir: Option<String>,
    /// The folder that HEAD is started in [default: this one]
    #[arg(long, value_name = "DIR", requires = "start_head", hide_short_help = true)]
    head_dir: Option<String>,
    /// The longest time until a server that is started listens [default: 60s]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    start_timeout: Option<Nanos>,
    /// Compare BASE with itself, and say which false alarm that gives
    #[arg(long, conflicts_with_all = ["head", "start_head", "head_dir"])]
    aa: bool,
    /// End with exit code 11 if HEAD is worse by more than this, beyond noise
    ///
    /// It holds for p50, p99, messages/s, CPU and bytes per message. A difference that noise explains does not count,
    /// and the page says where the noise is larger than what is allowed.
    #[arg(long, value_name = "PERCENT")]
    max_regression: Option<Share>,
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
        let [base, head] = self.sides()?;
        let file = File::of_sides(base, head);
        let Self { max_regression, deciding, execution, options, .. } = self;
        let asked = Asked { options, regression_max: max_regression, ..execution.asked() };
        execution.of_file(file, &deciding.over(asked), Some(Kind::Ab), terminal)
    }

    /// Both sides, of which at least something differs, unless they are to be the same.
    fn sides(&self) -> Result<[Side<'_>; 2], Failure> {
        let base = Side {
            url: &self.base,
            start: self.start_base.as_deref(),
            folder: self.base_dir.as_deref(),
            start_timeout: self.start_timeout,
        };
        let head = Side {
            url: self.head.as_deref().unwrap_or(&self.base),
            start: self.start_head.as_deref(),
            folder: self.head_dir.as_deref(),
            start_timeout: self.start_timeout,
        };
        let head = if self.aa { base } else { head };
        for side in [base, head] {
            let url: Result<Endpoint, _> = side.url.parse();
            url.map_err(|error| {
                Failure::usage(format!("{}: {error}", url_without_secrets(side.url)))
            })?;
        }
        if base == head && !self.aa {
            return Err(Failure::usage(
                "BASE and HEAD are the same server; name two, or compare one with itself by --aa",
            ));
        }
        if self.start_timeout.is_some() && base.start.or(head.start).is_none() {
            return Err(Failure::usage(
                "--start-timeout: no server is started; --start-base and --start-head start them",
            ));
        }
        if let Some(start) = base.start.filter(|start| self.aa && !start.contains(Started::PORT)) {
            return Err(Failure::usage(format!(
                "--aa: two processes of `{start}` would listen at one port; write {} in it, in place of the port",
                Started::PORT
            )));
        }
        Ok([base, head])
    }
}
