//! Imports records into the history, exports them, and removes them.

use super::super::show;
use crate::exit::{Exit, Failure};
use crate::files;
use crate::history;
use crate::terminal::{Label, Terminal};
use anyhow::anyhow;
use record::Entry;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use store::{Filter, Store};

#[derive(Debug, clap::Args)]
pub(super) struct Prune {
    /// Keep this many of the newest, and all that have a tag or are a baseline
    #[arg(long, value_name = "COUNT")]
    keep: usize,
    /// Print the records that would be removed, and remove none
    #[arg(long)]
    dry_run: bool,
}

/// The names of a record, as an exported folder stores them.
#[derive(Debug, Serialize, Deserialize)]
struct Names {
    id: String,
    tags: Vec<String>,
    baselines: Vec<String>,
}

/// Adds the records in these files and folders. Prints each added record once it is stored.
pub(super) fn import(paths: &[PathBuf], terminal: &Terminal) -> Result<Exit, Failure> {
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
        if history::add(&mut *store, &record, &json, path).map_err(history::failure)? {
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
    for path in paths {
        refused += usize::from(!give_names(&mut *store, &path.join(NAMES), terminal)?);
    }
    terminal.say(&format!("{added} added, {known} known already, {refused} left out"));
    Ok(if refused == 0 { Exit::DONE } else { Exit::PARTIAL })
}

/// Gives records the names that they had where they were exported, except baselines whose name another record has.
/// Returns false if the file `path` exists but does not contain such names.
fn give_names(store: &mut dyn Store, path: &Path, terminal: &Terminal) -> Result<bool, Failure> {
    let text = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        // The path is a file, not a folder: there are no names beside it.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(true),
        text => text.map_err(|error| error.to_string()),
    };
    let names = text.and_then(|text| {
        serde_json::from_slice::<Vec<Names>>(&text).map_err(|error| error.to_string())
    });
    let warn = |what: &str| terminal.say_labelled(Label::Warning, what);
    let named = match names {
        Ok(named) => named,
        Err(error) => {
            warn(&format!("left out: {}: {error}", path.display()));
            return Ok(false);
        }
    };
    for Names { id, tags, baselines } in named {
        let Ok(entry) = store.find(&id) else { continue };
        for tag in tags {
            store.tag(&entry.id, &tag, true).map_err(history::failure)?;
        }
        for name in baselines {
            match store.find(&name) {
                Ok(other) if other.id != entry.id => {
                    warn(&format!("the baseline {name} stays {}, and is not {id}", other.id));
                }
                Ok(_) | Err(_) => {
                    store.set_baseline(&name, Some(&entry.id)).map_err(history::failure)?;
                }
            }
        }
    }
    Ok(true)
}

/// The files that end in `.json` in the folder `path`, in the order of their names; `path` itself if it is a file.
fn records_in(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return fs::metadata(path).map(|_| vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "json") && file.is_file());
    files.retain(|file| !file.ends_with(NAMES));
    files.sort();
    Ok(files)
}

/// Writes the records that pass `filter` into `folder`, each as it was first written, and their names.
pub(super) fn export(folder: &Path, filter: &Filter, terminal: &Terminal) -> Result<Exit, Failure> {
    let cannot = |path: &Path, error: io::Error| {
        let path = path.display();
        Failure::new(Exit::NOT_WRITTEN, anyhow!("cannot write {path}: {error}"))
    };
    fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
    let mut count = 0;
    if let Some(mut store) = history::open()? {
        let entries = store.list(filter).map_err(history::failure)?;
        for entry in &entries {
            let json = store.json(&entry.id).map_err(history::failure)?.unwrap_or_default();
            let stem = files::stem(entry.kind, &entry.started_at);
            let path = folder.join(format!("{stem}-{}.json", entry.id));
            files::write(&path, json.as_bytes()).map_err(|error| cannot(&path, error))?;
            count += 1;
        }
        let named = entries.into_iter().filter_map(Names::of).collect::<Vec<_>>();
        let path = folder.join(NAMES);
        let json = serde_json::to_vec_pretty(&named).expect("its keys are texts");
        files::write(&path, &json).map_err(|error| cannot(&path, error))?;
    }
    terminal.say(&format!("{} written to {}", records(count), folder.display()));
    Ok(Exit::DONE)
}

impl Names {
    /// The names of a record that has any.
    fn of(entry: Entry) -> Option<Self> {
        let Entry { id, tags, baselines, .. } = entry;
        (!tags.is_empty() || !baselines.is_empty()).then_some(Self { id, tags, baselines })
    }
}

impl Prune {
    pub(super) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let Some(mut store) = history::open()? else { return Ok(Exit::DONE) };
        let all = store.list(&Filter::default()).map_err(history::failure)?;
        let is_named = |entry: &Entry| !entry.tags.is_empty() || !entry.baselines.is_empty();
        let old = all.into_iter().skip(self.keep);
        let old: Vec<Entry> = old.filter(|entry| !is_named(entry)).collect();
        if !self.dry_run {
            let ids: Vec<String> = old.iter().map(|entry| entry.id.clone()).collect();
            store.remove(&ids).map_err(history::failure)?;
        }
        for entry in &old {
            terminal.result(&format!("{} {}\n", entry.id, entry.started_at))?;
            let file = entry.file.as_deref().map(Path::new);
            let ours = file.filter(|file| file.parent() == Some(Path::new(files::RECORDS)));
            if let (Some(file), false) = (ours, self.dry_run) {
                remove(file, terminal);
                remove(&file.with_extension("html"), terminal);
            }
        }
        let would = if self.dry_run { "would be " } else { "" };
        terminal.say(&format!("{} {would}removed", records(old.len())));
        Ok(Exit::DONE)
    }
}

/// Removes a file, if it is there.
fn remove(file: &Path, terminal: &Terminal) {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let what = format!("cannot remove {}: {error}", file.display());
            terminal.say_labelled(Label::Warning, &what);
        }
        Ok(()) | Err(_) => {}
    }
}

/// `1 record`, `2 records`.
pub(super) fn records(count: usize) -> String {
    match count {
        1 => "1 record".to_owned(),
        count => format!("{count} records"),
    }
}

/// The file in a folder of records that has their names.
const NAMES: &str = "history.json";
