//! Files of one run that other users cannot read: certificates, keys, sockets, the payloads of client subjects.

use crate::claim::{Locked, claim, remove_unclaimed};
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that other users cannot look into; removed when dropped. If its process is killed, the keepers of its
/// programs remove it, or else the next process that makes one.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
    /// Marks it as in use; `None` on a file system without locks.
    _claim: Option<Locked>,
}

impl PrivateFolder {
    /// Makes one in `scratch`, with `label` in its name.
    ///
    /// # Errors
    ///
    /// The folder, and the reason why it cannot be made.
    pub fn new(scratch: &Path, label: &str) -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        Self::remove_abandoned(scratch);
        let process = std::process::id();
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = scratch.join(format!("{PREFIX}{process}-{label}-{count}"));
            match DirBuilder::new().mode(0o700).create(&path) {
                // It belongs to another process with the same number, perhaps in another container.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(format!("cannot make {}: {error}", path.display())),
                Ok(()) => {}
            }
            match claim(&path) {
                // Another process took it for an abandoned one.
                Ok(None) => {}
                Ok(claim @ Some(_)) => return Ok(Self { path, _claim: claim }),
                Err(_) => return Ok(Self { path, _claim: None }),
            }
        }
    }

    /// Removes the folders in `scratch` that processes left behind when they ended.
    pub(crate) fn remove_abandoned(scratch: &Path) {
        remove_unclaimed(scratch, |name| name.starts_with(PREFIX));
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file in it, and returns its path.
    ///
    /// # Errors
    ///
    /// The file, and the reason why it cannot be written.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, String> {
        let file = self.path(name);
        let written = std::fs::write(&file, content);
        written.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        Ok(file)
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.path));
    }
}

/// The start of their names. Older versions, which claimed no folders, used a number instead of `tmp`.
const PREFIX: &str = "wirebench-tmp-";

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn names(folder: &Path) -> Vec<String> {
        let names = folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn whoever_comes_next_removes_what_was_left_behind_and_nothing_else() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        let used = PrivateFolder::new(scratch.path(), "used").unwrap();
        let mode = used.path("").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        std::fs::create_dir_all(at("wirebench-tmp-1-left-0/below")).unwrap();
        std::fs::write(at("wirebench-tmp-1-left-0/below/key.pem"), "key").unwrap();
        std::fs::create_dir(at("wirebench-1-of-an-older-version")).unwrap();
        std::fs::create_dir(at("other")).unwrap();
        std::fs::write(at("other/file"), "").unwrap();
        symlink(at("other"), at("wirebench-tmp-1-link-0")).unwrap();

        let next = PrivateFolder::new(scratch.path(), "next").unwrap();
        next.write("file", b"more").unwrap();
        let own =
            |folder: &PrivateFolder| folder.path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut expected = vec![
            "other".to_owned(),
            "wirebench-1-of-an-older-version".to_owned(),
            "wirebench-tmp-1-link-0".to_owned(),
            own(&next),
            own(&used),
        ];
        expected.sort();
        assert_eq!(names(scratch.path()), expected);
        assert_eq!(names(&at("other")), ["file"]);
        drop((used, next));
        assert_eq!(names(scratch.path()).len(), 3);
    }

    #[test]
    fn one_in_use_is_claimed_and_one_that_is_gone_cannot_be() {
        let scratch = tempfile::tempdir().unwrap();
        let used = PrivateFolder::new(scratch.path(), "used").unwrap();
        assert!(claim(&used.path).unwrap().is_none());
        assert!(claim(&scratch.path().join("nothing")).unwrap().is_none());
        let claimed = claim(scratch.path()).unwrap();
        assert!(claimed.is_some() && claim(scratch.path()).unwrap().is_none());
        // Like a child that has not executed its program yet.
        let also_open = claimed.as_ref().unwrap().0.try_clone().unwrap();
        drop(claimed);
        assert!(claim(scratch.path()).unwrap().is_some());
        drop(also_open);
    }
}
