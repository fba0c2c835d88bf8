//! The journal of a run: its blocks so far, so that none is lost when the process is killed or the power fails.
//!
//! A journal is a text file: the fingerprint of the plan on the first line, then lines of JSON: the record without its
//! blocks, and each block when it has ended. A block is on disk before the next one begins. A line that a crash cut
//! short is ignored; its block runs again. Distributions need no extra lines: a block contains its histograms in full.
//!
//! Left out: the file's location, and when it is started anew (the binary).
//!
//! Start reading at [`Journal`]; [`recovered`] makes a record from a journal.

use crate::results::Kept;
use crate::{Feed, ending};
use lab::Locked;
use record::{Block, ReadError, RunRecord, SCHEMA_VERSION, Subject};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Keeps the blocks of a run, and returns those of the same plan that were kept before.
pub trait Journal {
    /// Takes the blocks that need not be run again; empty after the first call.
    fn take(&mut self) -> Vec<Entry>;
    /// Takes the record without its blocks; called again, when the record has changed, before the block that it then
    /// describes.
    fn begin(&mut self, frame: &RunRecord);
    /// Keeps a block that has ended.
    fn keep(&mut self, entry: &Entry);
}

/// A block that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The results of the block.
    pub block: Block,
    /// Its server, where that is a subject: its version and warm-up.
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

/// Keeps nothing: for runs that start anew instead of being resumed.
#[derive(Clone, Copy, Debug)]
pub struct NoJournal;

impl Journal for NoJournal {
    fn take(&mut self) -> Vec<Entry> {
        Vec::new()
    }

    fn begin(&mut self, _: &RunRecord) {}

    fn keep(&mut self, _: &Entry) {}
}

/// A journal in a file. The file does not exist before the first block has ended.
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
    /// Resumes the journal at `path` if it belongs to the plan with this `fingerprint`, else starts it anew.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written, or another process is writing it.
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
            // The rest is a line that a crash cut short.
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

    /// The number of the plan's blocks that the file has.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Removes the file: the run is over, and its record contains everything.
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
                // The file's name must survive a crash too.
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

/// The record of a run that was killed, from the text of its journal: every block that had ended, and their results.
///
/// # Errors
///
/// [`RecoverError`] if the text is not a journal, has no block, or was written by another version of the program.
pub fn recovered(text: &[u8]) -> Result<RunRecord, RecoverError> {
    let Found { frame, entries, other_version, .. } = Found::read(text);
    if let Some(version) = other_version {
        return Err(RecoverError::OtherVersion { version });
    }
    let mut frame = frame.ok_or(RecoverError::NoBlock)?;
    let mut kept = Vec::new();
    for Entry { block, server, client } in entries {
        let Some(workload) = frame.plan.workloads.get_mut(block.workload) else { continue };
        (workload.server, workload.client) = (server, client);
        kept.extend(Kept::of(&workload.spec.load, block));
    }
    let ends =
        kept.iter().map(|kept| kept.block.started_at_ns.saturating_add(kept.block.measured_ns));
    frame.duration_ns = ends.max().ok_or(RecoverError::NoBlock)?;
    let record = ending::with_blocks(frame, kept);
    record.check_indexes()?;
    // The baseline file may have changed since.
    Ok(ending::judge(record, None, &Feed::default()))
}

/// The reason why no record can be recovered from a text.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// There is nothing to recover.
    #[error("not a journal, or it has no finished block")]
    NoBlock,
    /// It was written by another version of the program, whose blocks may mean something else.
    #[error(
        "a journal of records of schema version {version}, but this program writes {SCHEMA_VERSION}: recover it with \
         the version of the program that wrote it"
    )]
    OtherVersion {
        /// The schema version of its records.
        version: u64,
    },
    /// Its plan or sweep contradicts itself.
    #[error("a damaged journal: {0}")]
    Damaged(#[from] ReadError),
}

/// The content of a journal.
#[derive(Default)]
struct Found {
    fingerprint: String,
    /// The last frame with a block after it: that of a sweep already counts the block that follows.
    frame: Option<RunRecord>,
    entries: Vec<Entry>,
    /// The schema version of a frame that is not of this program's; nothing after it was read.
    other_version: Option<u64>,
    /// The length in bytes of all complete lines.
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
                (_, Ok(Line::Frame(frame))) if frame.schema_version == SCHEMA_VERSION => {
                    next_frame = Some(*frame);
                }
                // A frame of another version need not have the shape of ours.
                (_, Ok(Line::Frame(_)) | Err(_)) => {
                    found.other_version = other_version(whole);
                    break;
                }
            }
            found.good_len += line.len() as u64;
        }
        found
    }
}

/// The schema version of a frame, unless it is this program's.
fn other_version(line: &str) -> Option<u64> {
    let line: Value = serde_json::from_str(line).ok()?;
    let version = line.pointer("/frame/schema_version")?.as_u64()?;
    Some(version).filter(|version| *version != u64::from(SCHEMA_VERSION))
}

/// True if there is no such file, or not even its folder.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Locks `file` for as long as it is open. A file system without locks is accepted.
fn own(file: File) -> io::Result<Locked> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process writes it"))
        }
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Locked(file)),
    }
}
