//! `wirebench history`: lists, names, finds and checks the records that were kept.

mod names;
mod transfer;

use crate::exit::{Exit, Failure};
use crate::files;
use crate::history;
use crate::terminal::Terminal;
use names::{Baseline, Tag};
use record::Level;
use std::path::PathBuf;
use store::Filter;
use transfer::{Prune, records};

/// List the records that were kept, and find one again
///
/// Every record is a file, and the history (.wirebench/history.db, or the database of WIREBENCH_STORE) has a copy, to
/// be found by experiment, server, tag, machine and verdict (docs/HISTORY.md). Instead of a file, `show`, `compare`,
/// `report` and --baseline take the name of a record in this list, the beginning of that name, or the name of a
/// baseline.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
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
  wirebench history baseline set main 3f9a
  wirebench history trend --experiment chat";

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Add a tag to a record, or remove it
    Tag(Tag),
    /// Name the records that others are compared with
    Baseline(Baseline),
    /// Find when numbers changed, and what else changed then
    Trend(List),
    /// Write records as files, with their names, into a folder
    Export {
        /// The folder; created if it is missing
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        #[command(flatten)]
        wanted: Wanted,
    },
    /// Add records from files, to rebuild a history or extend it
    Import {
        /// A record, or a folder of records
        #[arg(value_name = "FILE|DIR", default_value = files::RECORDS)]
        paths: Vec<PathBuf>,
    },
    /// Remove old records, and their files in .wirebench/records
    Prune(Prune),
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
    /// Records of an experiment, by a part of its name
    #[arg(long, value_name = "TEXT")]
    experiment: Option<String>,
    /// Records of a server or row, by a part of its name
    #[arg(long, value_name = "TEXT")]
    target: Option<String>,
    /// Records with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Records of a machine, by a part of its description
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    machine: Option<String>,
    /// Records with this verdict: trusted, degraded, invalid
    #[arg(long, value_name = "VERDICT", value_parser = verdict, hide_short_help = true)]
    verdict: Option<Level>,
    /// Newest COUNT [default: 20; trend: 1000; export: all]
    #[arg(long, value_name = "COUNT")]
    limit: Option<u32>,
}

impl History {
    /// Does what was asked for.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        match self.action {
            None => self.list.run(terminal),
            Some(Action::Tag(tag)) => tag.run(terminal),
            Some(Action::Baseline(baseline)) => baseline.run(terminal),
            Some(Action::Trend(trend)) => trend.trend(terminal),
            Some(Action::Export { folder, wanted }) => {
                transfer::export(&folder, &wanted.filter(None), terminal)
            }
            Some(Action::Import { paths }) => transfer::import(&paths, terminal),
            Some(Action::Prune(prune)) => prune.run(terminal),
            Some(Action::Verify) => verify(terminal),
        }
    }
}

impl List {
    fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let entries = history::list(&self.wanted.filter(Some(LISTED)))?;
        if self.json {
            return print_json(&entries, terminal);
        }
        if entries.is_empty() {
            terminal.say(&format!(
                "the history has no such record; `wirebench history import DIR` adds those of a folder, such as {}",
                files::RECORDS
            ));
        } else {
            terminal.result(&report::history(&entries, &terminal.style()))?;
        }
        Ok(Exit::DONE)
    }

    fn trend(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let trends = record::trends(&history::list(&self.wanted.filter(Some(OF_TREND)))?);
        if self.json {
            return print_json(&trends, terminal);
        }
        if trends.is_empty() {
            terminal.say(&format!(
                "a trend needs {} records of the same row, load and machine; `wirebench history` lists what there is",
                record::RECORDS_MIN
            ));
        } else {
            terminal.result(&report::trends(&trends, &terminal.style()))?;
        }
        Ok(Exit::DONE)
    }
}

fn print_json(all: &impl serde::Serialize, terminal: &Terminal) -> Result<Exit, Failure> {
    let json = serde_json::to_string_pretty(all).expect("its keys are texts");
    terminal.result(&(json + "\n"))?;
    Ok(Exit::DONE)
}

impl Wanted {
    /// Converts these options to the filter of a store; `usual` is the limit unless they set one.
    fn filter(self, usual: Option<u32>) -> Filter {
        let Self { experiment, target, tag, machine, verdict, limit } = self;
        let limit = limit.or(usual);
        Filter { experiment, machine, name: None, tag, target, verdict, limit }
    }
}

/// Checks the history, and reports the number of its faults and the first [`TOLD_MAX`].
fn verify(terminal: &Terminal) -> Result<Exit, Failure> {
    let Some(mut store) = history::open()? else {
        terminal.say("there is no history yet");
        return Ok(Exit::DONE);
    };
    let wrong = store.verify().map_err(history::failure)?;
    let count = store.list(&Filter::default()).map_err(history::failure)?.len();
    if wrong.is_empty() {
        terminal.result(&format!("{} checked, no faults\n", records(count)))?;
        return Ok(Exit::DONE);
    }
    let faults = match wrong.len() {
        1 => "1 fault".to_owned(),
        count => format!("{count} faults"),
    };
    let first: Vec<&str> = wrong.iter().take(TOLD_MAX).map(String::as_str).collect();
    Err(Failure::new(
        Exit::INVALID,
        anyhow::anyhow!(
            "{faults} in {}: {}; move it away, and `wirebench history import` fills a new one from the records",
            store.name(),
            first.join("; ")
        ),
    ))
}

fn verdict(word: &str) -> Result<Level, String> {
    let all = [Level::Trusted, Level::Degraded, Level::Invalid];
    let found = all.into_iter().find(|level| level.name() == word);
    found.ok_or_else(|| format!("expected one of {}", all.map(Level::name).join(", ")))
}

/// The usual number of records in a list.
const LISTED: u32 = 20;
/// The usual number of records that a trend looks at: the time to find changes grows with the square of their number.
const OF_TREND: u32 = 1000;
/// The most faults that an error names.
const TOLD_MAX: usize = 5;
