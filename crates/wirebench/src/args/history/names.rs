//! Names that a user gives to records: tags, and baselines.

use crate::exit::{Exit, Failure};
use crate::history;
use crate::terminal::Terminal;
use store::{Filter, Store};

#[derive(Debug, clap::Args)]
pub(super) struct Tag {
    /// The record: its name in the list, or the beginning of it
    #[arg(value_name = "RECORD")]
    record: String,
    /// The tag: letters, digits, and any of . - _
    #[arg(value_name = "TAG", value_parser = tag)]
    tag: String,
    /// Remove the tag
    #[arg(long)]
    remove: bool,
}

/// Name the records that others are compared with
///
/// `--baseline NAME` of `run` and `gate`, and `compare NAME RECORD`, take the name instead of a file.
#[derive(Debug, clap::Args)]
pub(super) struct Baseline {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Make a record the baseline of this name, instead of the previous one
    Set {
        /// The name: letters, digits, and any of - _
        #[arg(value_name = "NAME", value_parser = name)]
        name: String,
        /// The record: its name in the list, or the beginning of it
        #[arg(value_name = "RECORD")]
        record: String,
    },
    /// List the baselines
    List,
    /// Remove a name; its record stays
    Remove {
        /// The name
        #[arg(value_name = "NAME")]
        name: String,
    },
}

impl Tag {
    pub(super) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let mut store = opened()?;
        let entry = store.find(&self.record).map_err(Failure::usage)?;
        let changed = store.tag(&entry.id, &self.tag, !self.remove).map_err(history::failure)?;
        let now = match (self.remove, changed) {
            (false, true) => "has",
            (false, false) => "already has",
            (true, true) => "no longer has",
            (true, false) => "does not have",
        };
        terminal.say(&format!("{} {now} the tag {}", entry.id, self.tag));
        Ok(Exit::DONE)
    }
}

impl Baseline {
    pub(super) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        match self.action {
            Action::Set { name, record } => {
                let mut store = opened()?;
                let entry = store.find(&record).map_err(Failure::usage)?;
                store.set_baseline(&name, Some(&entry.id)).map_err(history::failure)?;
                terminal.say(&format!("{name} is {}, started {}", entry.id, entry.started_at));
            }
            Action::List => {
                let all = history::list(&Filter::default())?;
                for entry in &all {
                    for name in &entry.baselines {
                        let (id, started) = (&entry.id, &entry.started_at);
                        terminal.result(&format!("{name} {id} {started}\n"))?;
                    }
                }
            }
            Action::Remove { name } => {
                if !opened()?.set_baseline(&name, None).map_err(history::failure)? {
                    return Err(Failure::usage(format!(
                        "there is no baseline `{name}`; `wirebench history baseline list` lists them"
                    )));
                }
            }
        }
        Ok(Exit::DONE)
    }
}

/// Opens the history, which has to exist.
fn opened() -> Result<Box<dyn Store>, Failure> {
    history::open()?.ok_or_else(|| {
        Failure::usage(format!(
            "there is no history ({}); measure something, or fill one with `wirebench history import`",
            history::DATABASE
        ))
    })
}

fn tag(text: &str) -> Result<String, String> {
    of(text, "._-")
}

/// Checks a name that cannot be mistaken for a file.
fn name(text: &str) -> Result<String, String> {
    of(text, "_-")
}

fn of(text: &str, others: &str) -> Result<String, String> {
    let is_fine = |letter: char| letter.is_ascii_alphanumeric() || others.contains(letter);
    let len = text.len();
    if len == 0 || len > LEN_MAX || !text.chars().all(is_fine) || text.starts_with('-') {
        return Err(format!("expected up to {LEN_MAX} letters, digits, and any of {others}"));
    }
    Ok(text.to_owned())
}

/// The longest tag or name.
const LEN_MAX: usize = 60;
