//! `wirebench import`: makes a record of what another program measured.

use super::outcome;
use super::show;
use crate::exit::{Exit, Failure};
use crate::files::{self, Destination};
use crate::terminal::Terminal;
use record::{Importer, Kind, RunRecord, google_benchmark};
use std::path::{Path, PathBuf};
use units::Bytes;

/// Make a record of what another program measured
///
/// `show`, `compare` and `report` take it like any other. Nothing of it was checked: it is never trusted, and says that
/// wirebench did not measure it.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
)]
pub(crate) struct Import {
    /// Program that printed it
    #[arg(value_name = "FORMAT", value_enum)]
    format: Format,
    /// Its output: a file, or `-` for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// File for the record; `-` is stdout [default: .wirebench/records]
    #[arg(short, long, value_name = "RECORD")]
    output: Option<PathBuf>,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench import google-benchmark result.json
  ./bench --benchmark_format=json | wirebench import google-benchmark -
  wirebench import google-benchmark old.json -o old-record.json";

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// The JSON of google-benchmark 1.5 and later (--benchmark_format=json)
    GoogleBenchmark,
}

impl Import {
    /// Reads it, keeps it and shows it.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let Format::GoogleBenchmark = self.format;
        let host = outcome::host(Kind::Imported)?;
        let importer = Importer {
            tool: host.tool,
            command_line: host.command_line,
            started_at: host.started_at,
        };
        let record = imported(&self.file, importer).map_err(Failure::usage)?;
        let destination = Destination::new(self.output.as_deref());
        let kept = files::keep(&record, &destination);
        let shown = terminal.result(&match destination {
            Destination::Stdout => record.to_json(),
            Destination::File(_) | Destination::Records => {
                report::terminal(&record, outcome::depth(false), &terminal.style())
            }
        });
        let elsewhere = kept?.tell(terminal);
        shown?;
        Ok(elsewhere.unwrap_or(Exit::DONE))
    }
}

/// Makes a record of the content of the file `path`.
fn imported(path: &Path, importer: Importer) -> Result<RunRecord, String> {
    let (name, text) = show::text_of(path, "the JSON of google-benchmark", SIZE_MAX);
    let text = text.map_err(|error| format!("cannot read {name}: {error}; {CURE}"))?;
    let file = google_benchmark::read(&text)
        .map_err(|error| format!("{name}: not the JSON of google-benchmark: {error}; {CURE}"))?;
    record::imported(&file, importer).map_err(|error| format!("{name}: {error}"))
}

/// The advice to a user who names a file of another kind.
const CURE: &str = "name a file that `--benchmark_format=json` or `--benchmark_out` made";

/// The largest file to read. Output of google-benchmark is smaller: an entry has some 500 bytes.
const SIZE_MAX: Bytes = Bytes(1 << 27);
