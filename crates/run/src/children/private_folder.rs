//! Files of one run that other users cannot read: certificates, keys, sockets, the payloads of client subjects.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that other users cannot look into; removed when dropped.
#[derive(Debug)]
pub(crate) struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// Makes one in `scratch`; its name has `label` in it.
    ///
    /// # Errors
    ///
    /// The folder, and the reason for which it cannot be made.
    pub(crate) fn new(scratch: &Path, label: &str) -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = scratch.join(format!("wirebench-{process}-{label}-{count}"));
        // An earlier process of the same number may have left one.
        drop(std::fs::remove_dir_all(&folder));
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        Ok(Self(folder))
    }

    /// The path of a file in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file in it; its path.
    ///
    /// # Errors
    ///
    /// The file, and the reason for which it cannot be written.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, String> {
        let file = self.path(name);
        let written = std::fs::write(&file, content);
        written.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        Ok(file)
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
