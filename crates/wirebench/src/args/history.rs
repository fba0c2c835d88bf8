//! `wirebench history`: the records that were kept, listed, found again and checked.

use super::show;
use crate::exit::{Exit, Failure};
use crate::files;
use crate::history;
use crate::terminal::{Label, Terminal};
use record::Level;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use store::{Filter, Store};

/// List the records that were kept, and find one again
///
/// Every record is a file, and the history (.wirebench/history.db) has it once more, to be found by its experiment,
/// server, machine and verdict (docs/HISTORY.md). `show`, `compare` and `report` take the name of a record from this
/// list in place of a file, or the beginning of that name.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
    args_conflicts_with_subcommands = true,
)]
pub(crate) struct History {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    list: List,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench history --experiment chat --verdict trusted
  wirebench history --target 8080 --limit 5 --json | jq '.[].rows[0].p99_ns'
  wirebench history import .wirebench/records";

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Add records from files: of another machine, or to fill a history anew
    Import {
        /// A record, or a folder of records
        #[arg(value_name = "FILE|DIR", default_value = files::RECORDS)]
        paths: Vec<PathBuf>,
    },
    /// Check that every record is there as it was written
    Verify,
}

#[derive(Debug, clap::Args)]
struct List {
    #[command(flatten)]
    wanted: Wanted,
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

/// The records that are meant.
#[derive(Debug, clap::Args)]
struct Wanted {
    /// Those of an experiment, by a part of its name
    #[arg(long, value_name = "TEXT")]
    experiment: Option<String>,
    /// Those of a server, by a part of its URL or of the name of a row
    #[arg(long, value_name = "TEXT")]
    target: Option<String>,
    /// Those of a machine, by a part of its description
    #[arg(long, value_name = "TEXT")]
    machine: Option<String>,
    /// Those with this verdict: trusted, degraded, invalid
    #[arg(long, value_name = "VERDICT", value_parser = verdict)]
    verdict: Option<Level>,
    /// The newest so many
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    limit: u32,
}

impl History {
    /// Does what was asked for.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        match self.action {
            None => self.list.run(terminal),
            Some(Action::Import { paths }) => import(&paths, terminal),
            Some(Action::Verify) => verify(terminal),
        }
    }
}

impl List {
    fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let filter = self.wanted.filter();
        let entries = match history::open()? {
            Some(mut store) => store.list(&filter).map_err(history::failure)?,
            None => Vec::new(),
        };
        if self.json {
            let json = serde_json::to_string_pretty(&entries).expect("its keys are texts");
            terminal.result(&(json + "\n"))?;
        } else if entries.is_empty() {
            terminal.say(&format!(
                "the history has no such record; `wirebench history import DIR` adds those of a folder, such as {}",
                files::RECORDS
            ));
        } else {
            terminal.result(&report::history(&entries, &terminal.style()))?;
        }
        Ok(Exit::DONE)
    }
}

impl Wanted {
    fn filter(self) -> Filter {
        let Self { experiment, target, machine, verdict, limit } = self;
        Filter { experiment, machine, target, verdict, limit: Some(limit), ..Filter::default() }
    }
}

/// Adds the records that are in these files, and in these folders. Names each that is added once it is safe.
fn import(paths: &[PathBuf], terminal: &Terminal) -> Result<Exit, Failure> {
    let mut files = Vec::new();
    for path in paths {
        let found = records_in(path);
        files.extend(found.map_err(|error| {
            Failure::usage(format!(
                "cannot read {}: {error}; name a record, or a folder",
                path.display()
            ))
        })?);
    }
    let mut store = history::open_or_make().map_err(history::failure)?;
    let (mut added, mut known, mut refused) = (0_usize, 0_usize, 0_usize);
    for path in &files {
        let (record, json) = match show::record_and_json(path) {
            Ok(record) => record,
            Err(error) => {
                terminal.say_labelled(Label::Warning, &format!("left out: {error}"));
                refused += 1;
                continue;
            }
        };
        if history::add(&mut store, &record, &json, path).map_err(history::failure)? {
            terminal.result(&format!(
                "{} {}\n",
                store::id(&json),
                report::escape(&path.display().to_string())
            ))?;
            added += 1;
        } else {
            known += 1;
        }
    }
    terminal.say(&format!("{added} added, {known} known already, {refused} left out"));
    Ok(if refused == 0 { Exit::DONE } else { Exit::PARTIAL })
}

/// The files that end in `.json` in the folder `path`, in the order of their names; `path` itself if it is a file.
fn records_in(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return fs::metadata(path).map(|_| vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "json") && file.is_file());
    files.sort();
    Ok(files)
}

/// Checks the history. It is sound, or every fault is told.
fn verify(terminal: &Terminal) -> Result<Exit, Failure> {
    let Some(mut store) = history::open()? else {
        terminal.say("there is no history yet");
        return Ok(Exit::DONE);
    };
    let wrong = store.verify().map_err(history::failure)?;
    let count = store.list(&Filter::default()).map_err(history::failure)?.len();
    if wrong.is_empty() {
        terminal.result(&format!("{count} records, all as they were written\n"))?;
        return Ok(Exit::DONE);
    }
    let first: Vec<&str> = wrong.iter().take(TOLD_MAX).map(String::as_str).collect();
    Err(Failure::new(
        Exit::INVALID,
        anyhow::anyhow!(
            "{} faults in {}: {}; move it away, and `wirebench history import` fills a new one from the records",
            wrong.len(),
            history::DATABASE,
            first.join("; ")
        ),
    ))
}

fn verdict(word: &str) -> Result<Level, String> {
    let all = [Level::Trusted, Level::Degraded, Level::Invalid];
    let found = all.into_iter().find(|level| level.name() == word);
    found.ok_or_else(|| format!("expected one of {}", all.map(Level::name).join(", ")))
}

/// The faults that an error names.
const TOLD_MAX: usize = 5;
