//! The store of records: one file for each, written completely or not at all.

use crate::exit::{Exit, Failure};
use anyhow::anyhow;
use record::{Kind, RunRecord};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
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

/// The folder of the journals of runs that go on, or were killed, below the current directory.
pub(crate) const JOURNALS: &str = ".wirebench/journals";

/// The folder of records, below the current directory.
pub(crate) const RECORDS: &str = ".wirebench/records";

/// Writes `record` and returns its path; `None` for [`Destination::Stdout`].
///
/// # Errors
///
/// [`Exit::NOT_WRITTEN`], with the path, the reason and what to do.
pub(crate) fn keep(record: &RunRecord, to: &Destination) -> Result<Option<PathBuf>, Failure> {
    let json = record.to_json();
    let (path, written) = match to {
        Destination::Stdout => return Ok(None),
        Destination::File(path) => (path.clone(), write(path, json.as_bytes())),
        Destination::Records => {
            let (folder, stem) = (Path::new(RECORDS), stem(record.kind, &record.started_at));
            match write_new(folder, &stem, json.as_bytes()) {
                Ok(path) => (path, Ok(())),
                Err(error) => (folder.join(format!("{stem}.json")), Err(error)),
            }
        }
    };
    match written {
        Ok(()) => Ok(Some(path)),
        Err(error) => Err(Failure::new(
            Exit::NOT_WRITTEN,
            anyhow!(
                "cannot write the record to {}: {error}; write it elsewhere with `-o FILE`",
                path.display()
            ),
        )),
    }
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
    let kind = match kind {
        Kind::Ladder => "ladder",
        Kind::Sweep => "sweep",
        Kind::Lab => "lab",
        Kind::Imported => "import",
        Kind::Run | Kind::Other => "run",
    };
    format!("{}-{kind}", started_at.replace(':', "-"))
}

/// Writes a new file in `folder`, which is created if missing. Records of the same second are numbered.
fn write_new(folder: &Path, stem: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    for number in 1..=SAME_SECOND_MAX {
        let name =
            if number == 1 { format!("{stem}.json") } else { format!("{stem}-{number}.json") };
        let path = folder.join(name);
        // The `.part` file reserves the name: other processes skip it.
        let beside = beside(&path, "");
        let file = match OpenOptions::new().write(true).create_new(true).open(&beside) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        };
        if path.exists() {
            fs::remove_file(&beside)?;
        } else {
            put(file, &beside, &path, bytes)?;
            return Ok(path);
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Writes a file completely or not at all: to a `.part` file first, which is then renamed. A pipe or a device is
/// written to directly.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Follows a link, so that its target is replaced and not the link.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
        return OpenOptions::new().write(true).open(&path)?.write_all(bytes);
    }
    let beside = beside(&path, &format!(".{}", std::process::id()));
    put(File::create(&beside)?, &beside, &path, bytes)
}

/// Writes `bytes` to `file`, whose path is `beside`, and renames it to `path`; removes it if that fails.
fn put(mut file: File, beside: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let written = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(beside, path));
    if written.is_err() {
        fs::remove_file(beside).ok();
    }
    written
}

/// The path of the `.part` file of `path`.
fn beside(path: &Path, mark: &str) -> PathBuf {
    let mut beside = path.to_owned().into_os_string();
    beside.push(format!("{mark}.part"));
    beside.into()
}

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
        // Another run is about to write the fourth.
        fs::write(below.join("now-run-4.json.part"), b"{").unwrap();
        assert_eq!(write_new(&below, "now-run", b"{}").unwrap(), below.join("now-run-5.json"));
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
