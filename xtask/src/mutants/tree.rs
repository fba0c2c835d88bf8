//! A copy of the workspace, in which files are changed.

use crate::files::{self, Uncommitted};
use crate::shell;
use anyhow::{Context as _, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A copy of the workspace as it is now.
pub(super) struct Tree {
    top: PathBuf,
}

impl Tree {
    /// Copies every file that git tracks or would track, except those in [`LEFT_OUT`]; `change` gets the path and the
    /// text of each, and returns the text to be written. A file that exists already stays untouched if it is the same,
    /// so that cargo does not compile it again.
    pub(super) fn copy(top: &Path, change: impl Fn(&str, &str) -> Result<String>) -> Result<Self> {
        let tree = Self { top: top.to_owned() };
        fs::create_dir_all(top).with_context(|| format!("cannot make {}", top.display()))?;
        let mut wanted = files::list(Uncommitted::Included)?;
        wanted.retain(|path| !path.starts_with(LEFT_OUT));
        for path in &wanted {
            // A file is still in the list if its deletion is not committed yet.
            let Ok(content) = fs::read(shell::root().join(path)) else {
                if tree.top.join(path).exists() {
                    fs::remove_file(tree.top.join(path))?;
                }
                continue;
            };
            match std::str::from_utf8(&content) {
                Ok(text) => tree.write(path, change(path, text)?.as_bytes())?,
                Err(_) => tree.write(path, &content)?,
            }
        }
        remove_others(&tree.top, &tree.top, &wanted)?;
        Ok(tree)
    }

    /// The folder of the copy.
    pub(super) fn folder(&self) -> &Path {
        &self.top
    }

    fn write(&self, path: &str, content: &[u8]) -> Result<()> {
        let file = self.top.join(path);
        if fs::read(&file).is_ok_and(|known| known == content) {
            return Ok(());
        }
        fs::create_dir_all(file.parent().context("a file is in a folder")?)?;
        fs::write(&file, content).with_context(|| format!("cannot write {}", file.display()))
    }
}

/// The tests of the program, which run for a quarter of an hour: the crates below it have the tests that catch plants.
const LEFT_OUT: &str = "crates/wirebench/tests/";

/// Removes files that are not in the list: a module that was moved away would still be compiled.
fn remove_others(top: &Path, folder: &Path, wanted: &BTreeSet<String>) -> Result<()> {
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
