//! Files of one run that nobody else can look into: certificates, keys, what client subjects send.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A folder that nobody else can look into; removed when dropped.
#[derive(Debug)]
pub(crate) struct Drawer(PathBuf);

impl Drawer {
    /// Makes one in `scratch`, of which this process has none with this `label`.
    ///
    /// # Errors
    ///
    /// The folder, and why it cannot be made.
    pub(crate) fn new(scratch: &Path, label: &str) -> Result<Self, String> {
        let folder = scratch.join(format!("wirebench-{}-{label}", std::process::id()));
        // What a process of the same number may have left.
        drop(std::fs::remove_dir_all(&folder));
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        Ok(Self(folder))
    }

    /// The path of a file in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Reads a file in it.
    ///
    /// # Errors
    ///
    /// The file, and why it cannot be read.
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>, String> {
        let file = self.path(name);
        std::fs::read(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))
    }

    /// Writes a file in it; its path.
    ///
    /// # Errors
    ///
    /// The file, and why it cannot be written.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, String> {
        let file = self.path(name);
        let written = std::fs::write(&file, content);
        written.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        Ok(file)
    }
}

impl Drop for Drawer {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
