//! A copy of the workspace, in which files are changed.

use crate::shell;
use anyhow::{Context as _, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A copy of the workspace as it is now, and where it is built.
pub(super) struct Tree {
    top: PathBuf,
}

impl Tree {
    /// Copies every file that git knows or would know. What is there already stays untouched if it is the same, so
    /// that cargo does not compile it again.
    pub(super) fn copy(top: &Path) -> Result<Self> {
        let tree = Self { top: top.to_owned() };
        let mut list = shell::command("git");
        // A clone of another user, as in a container, is still ours to read.
        list.args(["-c", "safe.directory=*", "ls-files", "-z"]);
        list.args(["--cached", "--others", "--exclude-standard"]);
        let listed = shell::output(&mut list)?;
        let wanted: BTreeSet<&str> = listed.split_terminator('\0').collect();
        for path in &wanted {
            // A file that was deleted but is not committed yet is in the list all the same.
            if let Ok(content) = fs::read(shell::root().join(path)) {
                tree.write_bytes(path, &content)?;
            } else if tree.folder().join(path).exists() {
                fs::remove_file(tree.folder().join(path))?;
            }
        }
        remove_others(&tree.folder(), &tree.folder(), &wanted)?;
        Ok(tree)
    }

    /// Where the copy is.
    pub(super) fn folder(&self) -> PathBuf {
        self.top.join("tree")
    }

    /// Where it is built.
    pub(super) fn build(&self) -> PathBuf {
        self.top.join("build")
    }

    pub(super) fn read(&self, path: &str) -> Result<String> {
        fs::read_to_string(self.folder().join(path)).with_context(|| format!("cannot read {path}"))
    }

    pub(super) fn write(&self, path: &str, text: &str) -> Result<()> {
        self.write_bytes(path, text.as_bytes())
    }

    fn write_bytes(&self, path: &str, content: &[u8]) -> Result<()> {
        let file = self.folder().join(path);
        if fs::read(&file).is_ok_and(|known| known == content) {
            return Ok(());
        }
        fs::create_dir_all(file.parent().context("a file is in a folder")?)?;
        fs::write(&file, content).with_context(|| format!("cannot write {}", file.display()))
    }
}

/// Removes files that are not in the list: a module that was moved away would be compiled still.
fn remove_others(top: &Path, folder: &Path, wanted: &BTreeSet<&str>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(top, &path, wanted)?;
        } else if !path
            .strip_prefix(top)
            .is_ok_and(|path| wanted.contains(&*path.to_string_lossy()))
        {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
