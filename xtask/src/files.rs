//! The files of the repository: as git lists them, or, in an archive of the sources, all that are there.

use crate::shell;
use anyhow::{Context as _, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The choice to include files that are not committed yet, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uncommitted {
    Included,
    LeftOut,
}

/// Every file below the top of the repository, by its path with `/`.
///
/// A file is still listed if its deletion is not committed yet.
pub(crate) fn list(uncommitted: Uncommitted) -> Result<BTreeSet<String>> {
    if !shell::root().join(".git").exists() {
        return below(shell::root());
    }
    let mut list = shell::command("git");
    // A clone of another user, as in a container, is still ours to read.
    list.args(["-c", "safe.directory=*", "ls-files", "-z", "--cached"]);
    if uncommitted == Uncommitted::Included {
        list.args(["--others", "--exclude-standard"]);
    }
    Ok(shell::output(&mut list)?.split_terminator('\0').map(str::to_owned).collect())
}

/// Every file below `folder`, by its path from there, with `/`; without those that are built or installed.
pub(crate) fn below(folder: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    walk(folder, "", &mut found)?;
    Ok(found)
}

/// Makes the folder if it is missing, and empties it.
pub(crate) fn empty(folder: PathBuf) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Adds all files below `folder`, whose paths begin with `prefix`.
fn walk(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) -> Result<()> {
    let at = || format!("cannot read {}", folder.display());
    for entry in fs::read_dir(folder).with_context(at)? {
        let entry = entry.with_context(at)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().with_context(at)?;
        if kind.is_dir() && !MADE.contains(&name.as_str()) {
            walk(&entry.path(), &format!("{prefix}{name}/"), found)?;
        } else if kind.is_file() {
            found.insert(format!("{prefix}{name}"));
        }
    }
    Ok(())
}

/// Folders that tools make, wherever they are; the basics of `.gitignore`.
const MADE: &[&str] =
    &["target", ".git", ".wirebench", "node_modules", "artifacts", "venv", "__pycache__"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_walked_without_what_tools_make() {
        let archive = tempfile::tempdir().unwrap();
        for path in
            ["README.md", "crates/a/src/lib.rs", "target/debug/a", "bench/x/node_modules/y.js"]
        {
            let file = archive.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let found = below(archive.path()).unwrap();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["README.md", "crates/a/src/lib.rs"]);
    }
}
