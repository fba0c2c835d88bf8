//! The journal of a run: its blocks so far, so that after an interruption only the missing ones run.
//!
//! A journal is a text file: the fingerprint of the plan on the first line, then a line of JSON for each block that
//! ended. A line that was cut short by a crash is left out; its block runs again. Distributions need nothing of their
//! own: a block has each of its histograms whole.
//!
//! Left out: where the file lies, and when it is begun anew (the binary).
//!
//! Start reading at [`Journal`].

use record::{Block, Subject};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Keeps the blocks of a run, and knows those of the same plan that were kept before.
pub trait Journal {
    /// The blocks that need not be run, once.
    fn take(&mut self) -> Vec<Entry>;
    /// A block has ended.
    fn keep(&mut self, entry: &Entry);
}

/// A block that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// All that it came to.
    pub block: Block,
    /// Its server, where that is a subject: what version it was, and how it was warmed up.
    pub server: Option<Subject>,
    /// Its client, likewise.
    pub client: Option<Subject>,
}

/// Keeps nothing: for runs that are begun anew rather than gone on with.
#[derive(Clone, Copy, Debug)]
pub struct NoJournal;

impl Journal for NoJournal {
    fn take(&mut self) -> Vec<Entry> {
        Vec::new()
    }

    fn keep(&mut self, _: &Entry) {}
}

/// A journal in a file.
#[derive(Debug)]
pub struct JournalFile {
    path: PathBuf,
    file: File,
    entries: Vec<Entry>,
    failed: Option<io::Error>,
}

impl JournalFile {
    /// Goes on with the journal at `path` if it is of the plan with this `fingerprint`, and begins it anew if not.
    ///
    /// # Errors
    ///
    /// The file cannot be made, read or written.
    pub fn open(path: &Path, fingerprint: &str) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let mut file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let (entries, good_len) = read(&text, fingerprint);
        // What follows is another plan's, or the line that a crash cut short.
        file.set_len(good_len)?;
        file.seek(SeekFrom::End(0))?;
        if good_len == 0 {
            writeln!(file, "{fingerprint}")?;
        }
        Ok(Self { path: path.to_owned(), file, entries, failed: None })
    }

    /// The number of blocks that it has of the plan.
    pub fn blocks(&self) -> usize {
        self.entries.len()
    }

    /// Removes the file: the run is over, and its record has all of it.
    ///
    /// # Errors
    ///
    /// The file cannot be removed, or a block could not be kept in it.
    pub fn finish(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)?;
        self.failed.map_or(Ok(()), Err)
    }
}

impl Journal for JournalFile {
    fn take(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.entries)
    }

    fn keep(&mut self, entry: &Entry) {
        let written = serde_json::to_string(entry)
            .map_err(io::Error::from)
            .and_then(|line| self.file.write_all(format!("{line}\n").as_bytes()));
        self.failed = self.failed.take().or_else(|| written.err());
    }
}

/// The entries of a journal of this plan, and how many bytes of it are good.
fn read(text: &[u8], fingerprint: &str) -> (Vec<Entry>, u64) {
    let mut lines = text.split_inclusive(|byte| *byte == b'\n');
    let mut entries = Vec::new();
    let Some(first) = lines.next().filter(|line| *line == format!("{fingerprint}\n").as_bytes())
    else {
        return (entries, 0);
    };
    let mut good_len = first.len();
    for line in lines {
        let entry = line
            .strip_suffix(b"\n")
            .and_then(|line| str::from_utf8(line).ok())
            .and_then(|line| serde_json::from_str(line).ok());
        let Some(entry) = entry else {
            break;
        };
        entries.push(entry);
        good_len += line.len();
    }
    (entries, good_len as u64)
}
