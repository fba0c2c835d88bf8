//! The spool of an agent: results that are not in the log yet, on its own disk.
//!
//! A result is written to disk before it is offered to the log, so that it survives the process.

use crate::protocol::{Entry, Slot, Subject, limits};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder of results that are not in the log yet.
#[derive(Clone, Debug)]
pub struct Spool {
    folder: PathBuf,
}

impl Spool {
    /// Opens the spool in `folder`, and creates the folder if it does not exist.
    ///
    /// # Errors
    ///
    /// It cannot be created.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// All results that an earlier process left behind. Leaves files that cannot be read where they are.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn left(&self) -> io::Result<Vec<(Subject, Arc<Slot>)>> {
        let mut left = Vec::new();
        for file in fs::read_dir(&self.folder)? {
            let path = file?.path();
            let subject: Option<Subject> =
                path.file_name().and_then(|name| name.to_str()?.strip_suffix(SUFFIX)?.parse().ok());
            let (Some(subject), Ok(bytes)) = (subject, fs::read(&path)) else { continue };
            if let Ok(Entry::Slot(slot)) = crate::protocol::decode(&bytes, limits::SLOT_MAX) {
                left.push((subject, slot));
            }
        }
        left.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(left)
    }

    /// Keeps a result: when this returns, it is on disk.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn keep(&self, subject: &Subject, slot: &Arc<Slot>) -> io::Result<()> {
        let bytes = crate::protocol::encode(&Entry::Slot(Arc::clone(slot)), limits::SLOT_MAX);
        let bytes = bytes.map_err(io::Error::other)?;
        let path = self.path(subject);
        let new = path.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        File::open(&self.folder)?.sync_all()
    }

    /// Forgets a result.
    pub fn forget(&self, subject: &Subject) {
        // A file that remains is offered again, to a log that already has its result.
        drop(fs::remove_file(self.path(subject)));
    }

    fn path(&self, subject: &Subject) -> PathBuf {
        self.folder.join(format!("{subject}{SUFFIX}"))
    }
}

const SUFFIX: &str = ".slot";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Instance, NotStarted};
    use units::Nanos;

    #[test]
    fn a_result_is_found_again_and_half_of_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(&folder.path().join("spool")).unwrap();
        let subject: Subject = "wb.log.r1.slot.0-0.a1".parse().unwrap();
        let slot =
            Slot::NotStarted { instance: Instance(7), why: NotStarted::Late { by: Nanos(3) } };
        let slot = Arc::new(slot);
        spool.keep(&subject, &slot).unwrap();
        let half = folder.path().join("spool/wb.log.r1.slot.1-0.a1.slot");
        fs::write(half, "{\"slot\":").unwrap();
        assert_eq!(spool.left().unwrap(), [(subject.clone(), slot)]);
        spool.forget(&subject);
        assert_eq!(spool.left().unwrap(), []);
    }
}
