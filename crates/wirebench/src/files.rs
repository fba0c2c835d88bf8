//! The store of records: one file for each, written completely or not at all.

use crate::certificate;
use crate::exit::{Exit, Failure};
use crate::history;
use crate::terminal::{Label, Terminal};
use anyhow::anyhow;
use record::{Kind, RunRecord};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The destination of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// A new file in [`RECORDS`], named after its time and kind.
    Records,
    /// This file; an existing one is replaced.
    File(PathBuf),
    /// No file: the record is the result on stdout.
    Stdout,
}

impl Destination {
    /// The destination that `--output` names.
    pub(crate) fn new(output: Option<&Path>) -> Self {
        match output {
            None => Self::Records,
            Some(path) if path == Path::new("-") => Self::Stdout,
            Some(path) => Self::File(path.to_owned()),
        }
    }
}

/// The folder of the journals of runs that are in progress or were killed, below the current directory.
pub(crate) const JOURNALS: &str = ".wirebench/journals";

/// The folder of records, below the current directory.
pub(crate) const RECORDS: &str = ".wirebench/records";

/// Checks that a record can be written there, before anything is measured for it.
///
/// # Errors
///
/// [`Exit::NOT_WRITTEN`], as [`keep`].
pub(crate) fn check(to: &Destination) -> Result<(), Failure> {
    let (path, checked) = match to {
        Destination::Stdout => return Ok(()),
        Destination::File(path) => (path.clone(), try_file(path)),
        Destination::Records => {
            let folder = PathBuf::from(RECORDS);
            let made = fs::create_dir_all(&folder);
            let checked = made.and_then(|()| try_beside(&folder.join("new")));
            (folder, checked)
        }
    };
    checked.map_err(|error| {
        not_written(&format!("{}: {error}; nothing was measured; {CURE}", path.display()))
    })
}

/// Tries to write where [`write()`] is to write later, and leaves nothing there.
pub(crate) fn try_file(path: &Path) -> io::Result<()> {
    if !is_special(path) {
        return try_beside(path);
    }
    match open_special(path) {
        // Somebody may have opened the pipe for reading by then.
        Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => Ok(()),
        opened => opened.map(drop),
    }
}

/// The place of a record.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Its file; `None` for [`Destination::Stdout`].
    pub(crate) path: Option<PathBuf>,
    /// The reason that it is not where it should be.
    elsewhere: Option<Failure>,
    /// The reason that the history does not have it.
    not_found_again: Option<store::StoreError>,
}

impl Kept {
    /// Adds a record that was written to `path` to the history.
    fn in_file(path: PathBuf, record: &RunRecord, json: &str) -> Self {
        let is_file = !is_special(&path);
        let add = || history::add(&mut *history::open_or_make()?, record, json, &path);
        let not_found_again = is_file.then(add).and_then(Result::err);
        Self { path: Some(path), elsewhere: None, not_found_again }
    }

    /// Names the file on stderr. Returns an exit code if the record is not where it should be.
    pub(crate) fn tell(&self, terminal: &Terminal) -> Option<Exit> {
        if let Some(path) = &self.path {
            terminal.say_labelled(Label::Record, &path.display().to_string());
        }
        if let Some(error) = &self.not_found_again {
            let what = format!("the record is kept, but not in the history: {error}");
            terminal.say_labelled(Label::Warning, &what);
        }
        let failure = self.elsewhere.as_ref()?;
        terminal.say_labelled(Label::Error, &failure.to_string());
        Some(failure.exit)
    }
}

/// Writes `record` where it should be, or else to the first other place that can be written.
///
/// # Errors
///
/// [`Exit::NOT_WRITTEN`] if there is none, with the path, the reason and what to do.
pub(crate) fn keep(record: &RunRecord, to: &Destination) -> Result<Kept, Failure> {
    let (json, stem) = (record.to_json(), stem(record.kind, &record.started_at));
    let new = |folder: &Path| write_new(folder, &stem, json.as_bytes());
    let (place, written) = match to {
        Destination::Stdout => return Ok(Kept::default()),
        Destination::File(path) => {
            (path.clone(), write(path, json.as_bytes()).map(|()| path.clone()))
        }
        Destination::Records => (PathBuf::from(RECORDS), new(Path::new(RECORDS))),
    };
    let error = match written {
        Ok(path) => return Ok(Kept::in_file(path, record, &json)),
        Err(error) => format!("{}: {error}", place.display()),
    };
    let cache = certificate::folder().map(|cache| cache.join("records"));
    let others = [Some(RECORDS.into()), cache, Some(std::env::temp_dir())];
    let others = others.into_iter().flatten().filter(|other: &PathBuf| *other != place);
    match others.map(|folder| new(&folder)).find_map(Result::ok) {
        Some(path) => {
            let instead = format!("{error}; it is in {} instead", path.display());
            let kept = Kept::in_file(path, record, &json);
            Ok(Kept { elsewhere: Some(not_written(&instead)), ..kept })
        }
        None => Err(not_written(&format!("{error}, nor anywhere else; {CURE}"))),
    }
}

fn not_written(what: &str) -> Failure {
    Failure::new(Exit::NOT_WRITTEN, anyhow!("cannot write the record to {what}"))
}

/// The path of the newest file in `folder` with this `extension`, e.g. `json`; `None` if there is none.
///
/// # Errors
///
/// The folder exists but cannot be read.
pub(crate) fn newest(folder: &Path, extension: &str) -> io::Result<Option<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    let mut newest = None;
    for entry in entries {
        let path = entry?.path();
        // A file that has just been removed is skipped.
        let Ok(found) = fs::metadata(&path) else { continue };
        // Files that are still being written end in `.part`.
        if found.is_file() && path.extension().is_some_and(|found| found == extension) {
            newest = newest.max(Some((found.modified()?, path)));
        }
    }
    Ok(newest.map(|(_, path)| path))
}

/// The name of a file of a run: date, time and kind, without characters that some file systems refuse.
pub(crate) fn stem(kind: Kind, started_at: &str) -> String {
    format!("{}-{}", started_at.replace(':', "-"), kind.name())
}

/// Writes a new file in `folder`, which is created if missing. Records of the same second are numbered.
fn write_new(folder: &Path, stem: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    lab::remove_unclaimed(folder, |name| name.ends_with(PART));
    for number in 1..=SAME_SECOND_MAX {
        let name =
            if number == 1 { format!("{stem}.json") } else { format!("{stem}-{number}.json") };
        let path = folder.join(name);
        // The `.part` file reserves the name: other processes skip it.
        let Some(part) = Part::new(beside(&path, ""))? else { continue };
        if !path.exists() {
            part.put(&path, bytes)?;
            return Ok(path);
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Writes a file completely or not at all: to a `.part` file first, which is then renamed. A pipe or a device is
/// written to directly.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if is_special(path) {
        let mut file = open_special(path)?;
        rustix::io::ioctl_fionbio(&file, false)?;
        return file.write_all(bytes);
    }
    let path = followed(path);
    part_of(&path)?.put(&path, bytes)
}

/// Tries to write some bytes beside `path`.
fn try_beside(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    part_of(&followed(path))?.file.write_all(&[0; 4096])
}

/// Returns the target of a link, so that the target is replaced and not the link, and any other path as it is.
fn followed(path: &Path) -> PathBuf {
    let target = path.is_symlink().then(|| fs::canonicalize(path).ok());
    target.flatten().unwrap_or_else(|| path.to_owned())
}

/// True for a pipe or a device.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Opens a pipe or a device, without waiting for a reader.
fn open_special(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().write(true).custom_flags(flags).open(path)
}

/// Makes a `.part` file of this process next to `path`, and removes those that were left there.
fn part_of(path: &Path) -> io::Result<Part> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let is_left = |other: &str| other.starts_with(&name) && other.ends_with(PART);
    lab::remove_unclaimed(folder.unwrap_or_else(|| Path::new(".")), is_left);
    for attempt in 1..=ATTEMPTS_MAX {
        // Another process may have taken it for an abandoned one, just before it was claimed.
        let mark = format!(".{}-{attempt}", std::process::id());
        if let Some(part) = Part::new(beside(path, &mark))? {
            return Ok(part);
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// A file that is being written; removed when dropped, or, if this process is killed, by the next process.
struct Part {
    path: PathBuf,
    file: File,
    /// Marks it as still being written; `None` on a file system without locks.
    _claim: Option<lab::Locked>,
}

impl Part {
    /// Makes it; returns `None` if there is one of this name.
    fn new(path: PathBuf) -> io::Result<Option<Self>> {
        let file = match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
            file => file?,
        };
        Ok(match lab::claim(&path) {
            // Somebody took it for one that was left behind.
            Ok(None) => None,
            Ok(_claim) => Some(Self { path, file, _claim }),
            Err(_) => Some(Self { path, file, _claim: None }),
        })
    }

    /// Writes `bytes` and gives it the name `path`.
    fn put(mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.file.sync_all()?;
        fs::rename(&self.path, path)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // There is nothing to remove once it was renamed.
        fs::remove_file(&self.path).ok();
    }
}

/// The path of the `.part` file of `path`.
fn beside(path: &Path, mark: &str) -> PathBuf {
    let mut beside = path.to_owned().into_os_string();
    beside.push(format!("{mark}{PART}"));
    beside.into()
}

/// The number of names that are tried for a file that is being written.
const ATTEMPTS_MAX: u32 = 100;
/// The end of the name of a file that is being written.
const PART: &str = ".part";

/// The advice where a record cannot be written.
const CURE: &str = "write it elsewhere with `-o FILE`";

/// The largest number of records of one second in one directory.
const SAME_SECOND_MAX: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};
    use tempfile::tempdir;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("record.json");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(folder.path()), ["record.json"]);
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, b"old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        write(&link, b"new").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_device_is_written_into() {
        write(Path::new("/dev/null"), b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn runs_of_the_same_second_do_not_meet() {
        let folder = tempdir().unwrap();
        let below = folder.path().join("a/b");
        for expected in ["now-run.json", "now-run-2.json", "now-run-3.json"] {
            assert_eq!(write_new(&below, "now-run", b"{}").unwrap(), below.join(expected));
        }
        // Another run is about to write the fourth; the one that was writing the fifth was killed.
        let part = Part::new(below.join("now-run-4.json.part")).unwrap();
        fs::write(below.join("now-run-5.json.part"), b"{").unwrap();
        assert_eq!(write_new(&below, "now-run", b"{}").unwrap(), below.join("now-run-5.json"));
        assert_eq!(names(&below).iter().filter(|name| name.ends_with(PART)).count(), 1);
        drop(part);
        assert_eq!(write_new(&below, "now-run", b"{}").unwrap(), below.join("now-run-4.json"));
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing_behind() {
        let folder = tempdir().unwrap();
        let in_the_way = folder.path().join("file");
        fs::write(&in_the_way, b"").unwrap();
        assert!(write(&in_the_way.join("record.json"), b"{}").is_err());
        assert!(write(folder.path(), b"{}").is_err());
        assert_eq!(names(folder.path()), ["file"]);
    }

    #[test]
    fn the_newest_record_is_the_one_written_last() {
        let folder = tempdir().unwrap();
        assert_eq!(newest(&folder.path().join("nowhere"), "json").unwrap(), None);
        assert_eq!(newest(folder.path(), "json").unwrap(), None);
        for (name, second) in [("a.json", 2), ("b.json", 3), ("c.json", 1), ("d.json.part", 4)] {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(second)).unwrap();
        }
        fs::create_dir(folder.path().join("e.json")).unwrap();
        assert_eq!(newest(folder.path(), "json").unwrap(), Some(folder.path().join("b.json")));
        assert!(newest(&folder.path().join("a.json"), "json").is_err());
    }

    #[test]
    fn a_dash_is_stdout() {
        assert_eq!(Destination::new(None), Destination::Records);
        assert_eq!(Destination::new(Some(Path::new("-"))), Destination::Stdout);
        assert_eq!(Destination::new(Some(Path::new("./-"))), Destination::File("./-".into()));
    }
}
