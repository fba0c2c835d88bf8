//! `wirebench compare`: two records that were kept, side by side.

use super::{outcome, show};
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use std::path::{Path, PathBuf};

/// Compare two records, workload by workload
///
/// Compares workloads of the same name, or the only one of each record. With 6 or more blocks of each, a ratio has an
/// interval. There is no ratio if one of the two is invalid, or if they differ in something that changes results: the
/// machine, the kernel, the payload, the arrival.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
)]
pub(crate) struct Compare {
    /// The record to compare with: a file, or `-` for stdin
    #[arg(value_name = "BASE")]
    base: PathBuf,
    /// The record to compare: a file, or `-` for stdin
    #[arg(value_name = "RECORD")]
    record: PathBuf,
    /// Show every figure of each row and every reason, not only the first page
    #[arg(long)]
    details: bool,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench compare before.json after.json
  wirebench ladder -o a.json; wirebench ladder -o b.json; wirebench compare a.json b.json
  ssh host cat record.json | wirebench compare - record.json";

impl Compare {
    /// Reads both, and shows them.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let stdin = Path::new("-");
        if self.base == stdin && self.record == stdin {
            return Err(Failure::usage(
                "only one of the two can be stdin; name a file for the other",
            ));
        }
        let base = show::record(&self.base).map_err(Failure::usage)?;
        let record = show::record(&self.record).map_err(Failure::usage)?;
        let depth = outcome::depth(self.details);
        terminal.result(&report::compare(&base, &record, depth, &terminal.style()))?;
        let refused = report::compares_nothing(&base, &record);
        Ok(if refused { Exit::INVALID } else { Exit::DONE })
    }
}
