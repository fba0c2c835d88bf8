//! The commit that is checked out in a git repository, read from its files without starting a program.
//!
//! Left out: uncommitted changes, and repositories that store references in a `reftable`.

use std::fs;
use std::path::{Path, PathBuf};

/// The commit that is checked out in the repository that contains `folder`; `None` if there is none.
pub fn repository(folder: &Path) -> Option<String> {
    let git = folder.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
    let git = folder_of(git)?;
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let Some(name) = head.trim().strip_prefix("ref: ") else { return commit(&head) };
    // A worktree shares its branches with its main repository.
    let shared = fs::read_to_string(git.join("commondir")).ok();
    let shared = shared.map_or_else(|| git.clone(), |common| git.join(common.trim()));
    let loose = fs::read_to_string(shared.join(name)).ok();
    loose.as_deref().and_then(commit).or_else(|| packed(&shared, name))
}

/// The folder of a repository; for a worktree or a submodule, a file names it.
fn folder_of(git: PathBuf) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git);
    }
    let text = fs::read_to_string(&git).ok()?;
    Some(git.parent()?.join(text.strip_prefix("gitdir: ")?.trim()))
}

/// The commit of a reference that git has packed with others into one file.
fn packed(git: &Path, name: &str) -> Option<String> {
    let all = fs::read_to_string(git.join("packed-refs")).ok()?;
    let mut lines = all.lines().filter_map(|line| line.split_once(' '));
    commit(lines.find(|(_, packed)| *packed == name)?.0)
}

/// The name of a commit: 40 hexadecimal digits, or 64.
fn commit(text: &str) -> Option<String> {
    let text = text.trim();
    let is_one = matches!(text.len(), 40 | 64) && text.bytes().all(|it| it.is_ascii_hexdigit());
    is_one.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";

    /// A folder below a repository with these files in it.
    fn found(files: &[(&str, &str)], below: &str) -> Option<String> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let below = root.path().join(below);
        fs::create_dir_all(&below).unwrap();
        repository(&below)
    }

    #[test]
    fn the_commit_that_is_checked_out_is_found() {
        let (branch, one) = ("ref: refs/heads/a/b\n", format!("{ONE}\n"));
        let packed = format!("# pack-refs\n{ONE} refs/heads/a\n{TWO} refs/heads/a/b\n^{ONE}\n");
        let one = one.as_str();
        type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, Option<&'a str>);
        #[rustfmt::skip]
        let table: [Case<'_>; 7] = [
            (&[(".git/HEAD", one)],                                          "", Some(ONE)),
            (&[(".git/HEAD", branch), (".git/refs/heads/a/b", one)],         "x/y", Some(ONE)),
            (&[(".git/HEAD", branch), (".git/packed-refs", &packed)],        "", Some(TWO)),
            (&[("g/worktrees/w/HEAD", branch), ("g/worktrees/w/commondir", "../..\n"),
               ("g/refs/heads/a/b", one), ("w/.git", "gitdir: ../g/worktrees/w\n")], "w", Some(ONE)),
            (&[(".git/HEAD", branch)],                                       "", None), // no commit yet
            (&[(".git/HEAD", "ref: refs/heads/a\n"), (".git/refs/heads/a", "no")], "", None),
            (&[(".git", "elsewhere")],                                       "", None),
        ];
        for (files, below, expected) in table {
            assert_eq!(found(files, below).as_deref(), expected, "{files:?}");
        }
    }
}
