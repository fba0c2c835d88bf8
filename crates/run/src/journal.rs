//! The journal of a run: its blocks so far, so that none is lost when the process is killed or the power fails.
//!
//! A journal is a text file: the fingerprint of the plan on the first line, then lines of JSON: what the record has
//! besides blocks, and each block when it has ended. It is on the disk before the next block begins. A line that was
//! cut short by a crash is left out; its block runs again. Distributions need nothing of their own: a block has each of
//! its histograms whole.
//!
//! Left out: where the file lies, and when it is begun anew (the binary).
//!
//! Start reading at [`Journal`]; [`recovered`] makes a record of a journal.

use crate::results::Kept;
use crate::{Feed, ending};
use lab::Locked;
use record::{Block, RunRecord, Subject};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Keeps the blocks of a run, and knows those of the same plan that were kept before.
pub trait Journal {
    /// The blocks that need not be run, once.
    fn take(&mut self) -> Vec<Entry>;
    /// The record without its blocks; again, before the block of which it knows more, when it has changed.
    fn begin(&mut self, frame: &RunRecord);
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

/// A line of a journal.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Block(Box<Entry>),
    Frame(Box<RunRecord>),
}

/// Keeps nothing: for runs that are begun anew rather than gone on with.
#[derive(Clone, Copy, Debug)]
pub struct NoJournal;

impl Journal for NoJournal {
    fn take(&mut self) -> Vec<Entry> {
        Vec::new()
    }

    fn begin(&mut self, _: &RunRecord) {}

    fn keep(&mut self, _: &Entry) {}
}

/// A journal in a file. There is none before the first block has ended.
#[derive(Debug)]
pub struct JournalFile {
    path: PathBuf,
    fingerprint: String,
    file: Option<Locked>,
    entries: Vec<Entry>,
    /// The blocks that are in the file.
    blocks: usize,
    /// The line that is written before the first block.
    frame: Option<String>,
    failed: Option<io::Error>,
}

impl JournalFile {
    /// Goes on with the journal at `path` if it is of the plan with this `fingerprint`, and begins it anew if not.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written, or another process writes it.
    pub fn open(path: &Path, fingerprint: &str) -> io::Result<Self> {
        let mut journal = Self {
            path: path.to_owned(),
            fingerprint: fingerprint.to_owned(),
            file: None,
            entries: Vec::new(),
            blocks: 0,
            frame: None,
            failed: None,
        };
        let mut file = match OpenOptions::new().read(true).write(true).open(path) {
            Err(error) if is_absent(&error) => return Ok(journal),
            file => own(file?)?,
        };
        let mut text = Vec::new();
        file.0.read_to_end(&mut text)?;
        let found = Found::read(&text);
        if found.fingerprint == fingerprint {
            // The rest is the line that a crash cut short.
            file.0.set_len(found.good_len)?;
            file.0.seek(SeekFrom::End(0))?;
            (journal.blocks, journal.entries) = (found.entries.len(), found.entries);
            journal.file = Some(file);
        }
        Ok(journal)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of blocks that it has of the plan.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Removes the file: the run is over, and its record has all of it.
    ///
    /// # Errors
    ///
    /// The file cannot be removed, or a block could not be kept in it.
    pub fn finish(self) -> io::Result<()> {
        if self.file.is_some() {
            std::fs::remove_file(&self.path)?;
        }
        self.failed.map_or(Ok(()), Err)
    }

    fn write(&mut self, line: &str) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let folder = self.path.parent().unwrap_or_else(|| Path::new("."));
                std::fs::create_dir_all(folder)?;
                let mut options = OpenOptions::new();
                let file = options.write(true).create(true).truncate(false).open(&self.path)?;
                let mut file = own(file)?;
                file.0.set_len(0)?;
                writeln!(file.0, "{}", self.fingerprint)?;
                // Its name is to survive too.
                File::open(folder)?.sync_all()?;
                none.insert(file)
            }
        };
        file.0.write_all(line.as_bytes())?;
        file.0.sync_data()
    }

    fn keep_line(&mut self, line: &Line) -> bool {
        let text = serde_json::to_string(line).expect("its keys are texts") + "\n";
        let is_block = matches!(line, Line::Block(_));
        if self.file.is_none() && !is_block {
            self.frame = Some(text);
            return false;
        }
        let frame = self.frame.take().unwrap_or_default();
        let written = self.write(&(frame + &text));
        let is_written = written.is_ok();
        self.failed = self.failed.take().or_else(|| written.err());
        is_written
    }
}

impl Journal for JournalFile {
    fn take(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.entries)
    }

    fn begin(&mut self, frame: &RunRecord) {
        self.keep_line(&Line::Frame(Box::new(frame.clone())));
    }

    fn keep(&mut self, entry: &Entry) {
        let is_written = self.keep_line(&Line::Block(Box::new(entry.clone())));
        self.blocks += usize::from(is_written);
    }
}

/// The record of a run that was killed, from the text of its journal: every block that had ended, and what they come
/// to. `None` if it is no journal, or has no block.
pub fn recovered(text: &[u8]) -> Option<RunRecord> {
    let Found { frame, entries, .. } = Found::read(text);
    let mut frame = frame?;
    let mut kept = Vec::new();
    for Entry { block, server, client } in entries {
        let Some(workload) = frame.plan.workloads.get_mut(block.workload) else { continue };
        (workload.server, workload.client) = (server, client);
        kept.extend(Kept::of(&workload.spec.load, block));
    }
    let ends = kept.iter().map(|kept| kept.block.started_at_ns + kept.block.measured_ns);
    frame.duration_ns = ends.max()?;
    // The baseline is a file of then.
    Some(ending::judge(ending::with_blocks(frame, kept), None, &Feed::default()))
}

/// The content of a journal.
#[derive(Default)]
struct Found {
    fingerprint: String,
    /// The last one with a block after it: that of a sweep counts on the block that follows.
    frame: Option<RunRecord>,
    entries: Vec<Entry>,
    /// The bytes of all whole lines.
    good_len: u64,
}

impl Found {
    fn read(text: &[u8]) -> Self {
        let (mut found, mut next_frame) = (Self::default(), None);
        for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let whole = line.strip_suffix(b"\n").and_then(|line| str::from_utf8(line).ok());
            let Some(whole) = whole else { break };
            match (index, serde_json::from_str(whole)) {
                (0, _) => found.fingerprint = whole.to_owned(),
                (_, Ok(Line::Block(entry))) => {
                    found.entries.push(*entry);
                    found.frame = next_frame.take().or(found.frame);
                }
                (_, Ok(Line::Frame(frame))) => next_frame = Some(*frame),
                (_, Err(_)) => break,
            }
            found.good_len += line.len() as u64;
        }
        found
    }
}

/// True if there is no such file, nor perhaps a folder for it.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// `file`, locked for as long as it is open. A file system without locks is no obstacle.
fn own(file: File) -> io::Result<Locked> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process writes it"))
        }
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Locked(file)),
    }
}
