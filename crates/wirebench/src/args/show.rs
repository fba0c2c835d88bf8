//! `wirebench show`: shows a kept record again, or in another format.

use super::outcome;
use crate::exit::{Exit, Failure};
use crate::files::{self, Destination};
use crate::history;
use crate::input;
use crate::terminal::{Label, Terminal};
use record::{Kind, ReadError, RunRecord};
use report::ExportError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use units::Bytes;

/// Show a record again, or in another format
///
/// Prints the page that the run ended with, or with --details everything that was found. Nothing is measured; records
/// of all older versions can be shown.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
)]
pub(crate) struct Show {
    /// A file, or `-` for stdin [default: the newest of .wirebench/records]
    #[arg(value_name = "RECORD")]
    record: Option<PathBuf>,
    /// Make a record of a run that was killed
    ///
    /// It has all blocks that had ended, from the journal of the run: RECORD, or the newest of .wirebench/journals. The
    /// record is kept, and the journal removed; that of a lab stays, because the same command continues with it.
    #[arg(long)]
    recover: bool,
    /// Show everything, not only the first page
    #[arg(long)]
    details: bool,
    /// The format; `--export` is an alias
    #[arg(long, alias = "export", value_name = "FORMAT", value_enum, default_value = "text")]
    format: Format,
    /// The workload to write as hgrm, if there are several
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench show --details                          all of the last run
  wirebench show record.json --format hlog > record.hlog
  wirebench show --format hgrm --workload ws > ws.hgrm";

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// The page that the run ended with
    Text,
    /// The record itself
    Json,
    /// An HdrHistogram interval log (V2, compressed), an interval for each block, in nanoseconds
    Hlog,
    /// An HdrHistogram percentile table of one workload, in microseconds
    Hgrm,
    /// JSON of google-benchmark, a repetition for each block; its compare.py reads it
    GoogleBenchmark,
    /// Benchmarks as Go prints them, a line for each block; benchstat reads them
    GoBenchmark,
    /// JUnit XML, a test case for the verdict, for the end of the run, and for each limit of each row
    Junit,
    /// JSON as the summary of k6, a metric of each workload
    K6,
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
        if self.details && self.format != Format::Text {
            return Err(Failure::usage("--details is for --format text; leave it out"));
        }
        let (path, record) = match (&self.record, self.recover) {
            (record, true) => recover(record.as_deref(), terminal)?,
            (Some(path), false) => (path.clone(), record(path).map_err(Failure::usage)?),
            (None, false) => {
                let path = newest()?;
                (path.clone(), record(&path).map_err(Failure::usage)?)
            }
        };
        let shown = match self.format {
            Format::Text => {
                report::terminal(&record, outcome::depth(self.details), &terminal.style())
            }
            Format::Json => report::json(&record),
            Format::Hlog => report::hlog(&record).map_err(cannot_export)?,
            Format::Hgrm => {
                report::hgrm(&record, self.workload.as_deref()).map_err(cannot_export)?
            }
            Format::GoogleBenchmark => report::google_benchmark(&record).map_err(cannot_export)?,
            Format::GoBenchmark => report::go_benchmark(&record).map_err(cannot_export)?,
            Format::Junit => report::junit(&record),
            Format::K6 => report::k6(&record).map_err(cannot_export)?,
            Format::Csv => report::csv(&record),
            Format::Markdown => report::markdown(&record),
        };
        terminal.result(&shown)?;
        if self.record.is_none() || self.recover {
            terminal.say_labelled(Label::Record, &path.display().to_string());
        }
        Ok(Exit::DONE)
    }
}

/// Recovers the record of a run that was killed, and keeps it with the other records. Returns its path and the record.
/// If a process still writes the journal, keeps nothing and returns the path of the journal.
fn recover(journal: Option<&Path>, terminal: &Terminal) -> Result<(PathBuf, RunRecord), Failure> {
    let newest = || files::newest(Path::new(files::JOURNALS), "jsonl").ok().flatten();
    let Some(journal) = journal.map(Path::to_owned).or_else(newest) else {
        return Err(Failure::usage(format!(
            "there is no journal in {}: all runs that ended have their records",
            files::JOURNALS
        )));
    };
    let name = journal.display();
    let text = text_of(&journal, "a journal", RECORD_SIZE_MAX).1;
    let text = text.map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    let mut record = run::recovered(text.as_bytes())
        .map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    record.conclusion = report::conclusion(&record);
    let Ok(Some(_claim)) = lab::claim(&journal) else {
        terminal.say(&format!("{name}: its run is not over; this is what it has measured so far"));
        return Ok((journal, record));
    };
    let kept = files::keep(&record, &Destination::Records)?;
    if record.kind == Kind::Lab {
        terminal.say("run the same command again to continue; --fresh starts over");
    } else {
        // A journal that cannot be removed is recovered once more.
        fs::remove_file(&journal).ok();
    }
    Ok((kept.path.unwrap_or(journal), record))
}

/// The record that was kept last.
pub(super) fn newest() -> Result<PathBuf, Failure> {
    match files::newest(Path::new(files::RECORDS), "json") {
        Ok(Some(path)) => Ok(path),
        Ok(None) => Err(Failure::usage(format!(
            "there is no record in {}; begin with `wirebench`, or name a file",
            files::RECORDS
        ))),
        Err(error) => Err(Failure::usage(format!(
            "cannot look for records in {}: {error}; name a file",
            files::RECORDS
        ))),
    }
}

/// Reads the record in the file `path`, from stdin if that is `-`, or from the history if it is a name and not a file.
pub(super) fn record(path: &Path) -> Result<RunRecord, String> {
    match name_of(path) {
        Some(name) => of_history(name),
        None => Ok(record_and_json(path)?.0),
    }
}

/// Reads the record in the file `path`, or from stdin, and its JSON as it is there.
pub(super) fn record_and_json(path: &Path) -> Result<(RunRecord, String), String> {
    let (name, text) = text_of(path, "a record", RECORD_SIZE_MAX);
    let text = text.map_err(|error| format!("cannot read {name}: {error}; {CURE}"))?;
    Ok((parsed(&name, &text)?, text))
}

/// Returns `path` as the name of a record in the history, unless it is, or looks like, the path of a file.
fn name_of(path: &Path) -> Option<&str> {
    let name = path.to_str().filter(|name| !name.contains(['/', '.']) && *name != "-")?;
    (!path.exists()).then_some(name)
}

fn of_history(name: &str) -> Result<RunRecord, String> {
    let history = history::open().map_err(|error| error.to_string())?;
    let mut history = history.ok_or_else(|| {
        format!("there is no file `{name}`, and no history ({}); {CURE}", history::DATABASE)
    })?;
    let entry =
        history.find(name).map_err(|error| format!("there is no file `{name}`, and {error}"))?;
    let json = history.json(&entry.id).map_err(|error| error.to_string())?;
    parsed(name, &json.ok_or_else(|| format!("record {name} has no content in the history"))?)
}

fn parsed(name: &str, text: &str) -> Result<RunRecord, String> {
    RunRecord::from_json(text).map_err(|error| {
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

/// Returns the name and the text of the file `path`, or of stdin if it is `-`. The text should be `what`, and may have
/// at most `max` bytes.
pub(super) fn text_of(path: &Path, what: &str, max: Bytes) -> (String, io::Result<String>) {
    let name = if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() };
    (name, input::read(path, max).and_then(|bytes| input::text(bytes, what)))
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

/// The advice to a user who names a file that is not a record.
const CURE: &str = "name a file that a run has written, in .wirebench/records or with `-o FILE`";

/// The largest record to read. Runs leave smaller ones: 10 000 rounds of the ladder take some 600 MB.
const RECORD_SIZE_MAX: Bytes = Bytes(1 << 30);
