//! `wirebench show`: a record that was kept, drawn again or in another format.

use crate::exit::{Exit, Failure};
use crate::store;
use crate::terminal::{Label, Terminal};
use record::{ReadError, RunRecord};
use report::ExportError;
use std::fs::File;
use std::io::{self, ErrorKind, Read, stdin};
use std::path::{Path, PathBuf};
use units::Bytes;

/// Show a record again, or in another format
///
/// Draws the page that its run ended with. Nothing is measured; records of all older versions can be shown.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::exit_codes(),
    help_template = super::TEMPLATE,
)]
pub(crate) struct Show {
    /// A file, or `-` for stdin [default: the newest of .wirebench/records]
    #[arg(value_name = "RECORD")]
    record: Option<PathBuf>,
    /// In which format; `--export` is the same
    #[arg(long, alias = "export", value_name = "FORMAT", value_enum, default_value = "text")]
    format: Format,
    /// The workload that an hgrm is of, where there are several
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench show                                    the last run's page
  wirebench show record.json --format hlog > record.hlog
  wirebench show --format hgrm --workload ws > ws.hgrm";

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// The page that the run ended with
    Text,
    /// The record itself
    Json,
    /// An HdrHistogram interval log (V2), an interval for each block, in nanoseconds
    Hlog,
    /// An HdrHistogram percentile table of one workload, in microseconds
    Hgrm,
    /// JSON of google-benchmark, a repetition for each block; its compare.py reads it
    GoogleBenchmark,
    /// Comma-separated values, a line for each workload
    Csv,
    /// Tables for a README or an issue
    Markdown,
}

impl Show {
    /// Reads the record, and shows it.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        if self.workload.is_some() && self.format != Format::Hgrm {
            return Err(Failure::usage("--workload is for --format hgrm; leave it out"));
        }
        let path = match &self.record {
            Some(path) => path.clone(),
            None => newest()?,
        };
        let record = record(&path).map_err(Failure::usage)?;
        let shown = match self.format {
            Format::Text => report::terminal(&record, &terminal.style()),
            Format::Json => report::json(&record),
            Format::Hlog => report::hlog(&record).map_err(cannot_export)?,
            Format::Hgrm => {
                report::hgrm(&record, self.workload.as_deref()).map_err(cannot_export)?
            }
            Format::GoogleBenchmark => report::google_benchmark(&record).map_err(cannot_export)?,
            Format::Csv => report::csv(&record),
            Format::Markdown => report::markdown(&record),
        };
        terminal.result(&shown)?;
        if self.record.is_none() {
            terminal.say_labelled(Label::Record, &path.display().to_string());
        }
        Ok(Exit::DONE)
    }
}

/// The record that was kept last.
pub(super) fn newest() -> Result<PathBuf, Failure> {
    match store::newest(Path::new(store::RECORDS)) {
        Ok(Some(path)) => Ok(path),
        Ok(None) => Err(Failure::usage(format!(
            "no run has left a record in {}; begin with `wirebench`, or name a file",
            store::RECORDS
        ))),
        Err(error) => Err(Failure::usage(format!(
            "cannot look for records in {}: {error}; name a file",
            store::RECORDS
        ))),
    }
}

/// The record in the file `path`; of stdin if that is `-`.
pub(super) fn record(path: &Path) -> Result<RunRecord, String> {
    let (name, text) = text_of(path, "a record", RECORD_SIZE_MAX);
    let text = text.map_err(|error| format!("cannot read {name}: {error}; {CURE}"))?;
    RunRecord::from_json(&text).map_err(|error| {
        let what = report::escape(&error.to_string());
        match error {
            // It says the cure itself.
            ReadError::Newer { .. } => format!("{name}: {what}"),
            ReadError::Invalid(_)
            | ReadError::NoSuchPart { .. }
            | ReadError::NoSuchWorkload { .. } => format!("{name}: {what}; {CURE}"),
        }
    })
}

/// The name and all text of the file `path`, or of stdin if it is `-`. The text is to be `what` and to have at most
/// `max` bytes.
pub(super) fn text_of(path: &Path, what: &str, max: Bytes) -> (String, io::Result<String>) {
    if path == Path::new("-") {
        return ("stdin".to_owned(), text(stdin().lock(), what, max));
    }
    let file = File::open(path);
    (path.display().to_string(), file.and_then(|file| text(file, what, max)))
}

/// All text of `reader`, which is to be `what` and to have at most `max` bytes.
fn text(reader: impl Read, what: &str, max: Bytes) -> io::Result<String> {
    let mut bytes = Vec::new();
    reader.take(max.0 + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max.0 {
        return Err(invalid(format!("it has more than {max}")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.len() - line_start + 1;
        invalid(format!("not {what}: not UTF-8 at line {line} column {column}"))
    })
}

fn invalid(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

fn cannot_export(error: ExportError) -> Failure {
    let cure = match &error {
        ExportError::ManyWorkloads { .. } | ExportError::NoSuchWorkload { .. } => {
            " with --workload".to_owned()
        }
        ExportError::NoDistribution => "; --format text says why".to_owned(),
        ExportError::Damaged { .. } | ExportError::StartedAt { .. } | _ => format!("; {CURE}"),
    };
    Failure::usage(format!("{error}{cure}"))
}

/// The advice to a user who names a file that is none of ours.
const CURE: &str = "name a file as a run has left it, in .wirebench/records or by `-o FILE`";

/// The largest record that is read; no run leaves a larger one: 10 000 rounds of the ladder take some 600 MB.
const RECORD_SIZE_MAX: Bytes = Bytes(1 << 30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_up_to_a_limit() {
        let read = |max| {
            text("four".as_bytes(), "a record", Bytes(max)).map_err(|error| error.to_string())
        };
        assert_eq!(read(4), Ok("four".to_owned()));
        assert_eq!(read(3), Err("it has more than 3 B".to_owned()));
    }

    #[test]
    fn what_is_no_text_says_where() {
        for (bytes, place) in [
            (&b"\xff"[..], "line 1 column 1"),
            (b"{\n  \"a\": \"\xff\"", "line 2 column 9"),
            (b"\n\n\xc3", "line 3 column 1"),
        ] {
            let error = text(bytes, "a record", Bytes(100)).unwrap_err().to_string();
            assert_eq!(error, format!("not a record: not UTF-8 at {place}"));
        }
    }
}
