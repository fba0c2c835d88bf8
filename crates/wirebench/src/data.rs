//! The subjects and experiments that travel in the program: all files of both folders, as they were when it was built.
//!
//! An experiment is read where it is. Subjects are written to the user's data folder when a command needs them and the
//! user has no folder of subjects: once for each version of them, completely or not at all.

use std::env::var_os;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A file that travels in the program.
struct Carried {
    /// Its path from the top of the repository.
    path: &'static str,
    may_run: bool,
    bytes: &'static [u8],
}

/// The version of the program and of the files: the name of the folder that they are written to.
pub(crate) const NAME: &str = concat!(env!("CARGO_PKG_VERSION"), "-", env!("WIREBENCH_CARRIED"));

/// The text of an experiment, by its path with or without `experiments/` and `.toml`, or by the last part of it.
pub(crate) fn experiment(name: &str) -> Option<&'static str> {
    let asked = stem(name.strip_prefix(EXPERIMENTS).unwrap_or(name));
    let is_asked = |path: &str| {
        let path = stem(path);
        path == asked || path.rsplit('/').next() == Some(asked)
    };
    let (_, file) = experiments().find(|(path, _)| is_asked(path))?;
    std::str::from_utf8(file.bytes).ok()
}

/// The names of all experiments.
pub(crate) fn experiment_names() -> impl Iterator<Item = &'static str> {
    experiments().map(|(path, _)| stem(path))
}

/// Returns the folder of the subjects, and writes them there unless they are there already.
///
/// # Errors
///
/// There is no data folder, or it cannot be written, with what to do.
pub(crate) fn subjects() -> Result<PathBuf, String> {
    let folder = data_folder().ok_or("HOME is not set; WIREBENCH_DATA names a folder for them")?;
    let unpacked = folder.join(NAME);
    unpack(&unpacked).map_err(|error| {
        format!("{}: {error}; WIREBENCH_DATA names another folder", unpacked.display())
    })?;
    Ok(unpacked.join("subjects"))
}

/// `WIREBENCH_DATA`, `$XDG_DATA_HOME/wirebench`, or `~/.local/share/wirebench`.
fn data_folder() -> Option<PathBuf> {
    let absolute = |name| var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let named = var_os("WIREBENCH_DATA").filter(|value| !value.is_empty());
    if let Some(named) = named {
        return std::path::absolute(named).ok();
    }
    let shared = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
    Some(shared?.join("wirebench"))
}

/// Writes all files below `folder`, unless that exists.
fn unpack(folder: &Path) -> io::Result<()> {
    let above = folder.parent().ok_or(ErrorKind::InvalidFilename)?;
    // Parts that killed processes left behind.
    lab::remove_unclaimed(above, |name| name.ends_with(PART));
    if folder.is_dir() {
        return Ok(());
    }
    let mut part = folder.as_os_str().to_owned();
    part.push(format!(".{}{PART}", std::process::id()));
    let part = PathBuf::from(part);
    fs::create_dir_all(&part)?;
    // Without locks no process claims anything, and none removes what another one writes.
    let _claim = lab::claim(&part);
    let written = write(&part).and_then(|()| fs::rename(&part, folder));
    if written.is_err() {
        fs::remove_dir_all(&part).ok();
    }
    // Another process may have been faster.
    if folder.is_dir() { Ok(()) } else { written }
}

fn write(folder: &Path) -> io::Result<()> {
    for Carried { path, may_run, bytes } in FILES {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().ok_or(ErrorKind::InvalidFilename)?)?;
        fs::write(&file, bytes)?;
        if *may_run {
            let mut permissions = file.metadata()?.permissions();
            // Whoever may read it may run it.
            permissions.set_mode(permissions.mode() | (permissions.mode() & 0o444) >> 2);
            fs::set_permissions(&file, permissions)?;
        }
    }
    Ok(())
}

/// The experiments, each with its path below their folder.
fn experiments() -> impl Iterator<Item = (&'static str, &'static Carried)> {
    FILES.iter().filter_map(|file| Some((file.path.strip_prefix(EXPERIMENTS)?, file)))
}

fn stem(path: &str) -> &str {
    path.strip_suffix(".toml").unwrap_or(path)
}

const EXPERIMENTS: &str = "experiments/";

/// The end of the name of a folder that is being written.
const PART: &str = ".part";

static FILES: &[Carried] = include!(concat!(env!("OUT_DIR"), "/carried.rs"));

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::process::Command;

    #[test]
    fn every_tracked_file_of_subjects_and_experiments_is_unpacked_as_it_is() {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folder = tempfile::tempdir().unwrap();
        let unpacked = folder.path().join("a/b/1.2.3-0");
        // Of a process that was killed, and of one that is still writing.
        let [left, written] = ["1.2.3-0.7.part", "1.2.3-0.8.part"].map(|name| {
            let part = unpacked.with_file_name(name);
            fs::create_dir_all(part.join("subjects")).unwrap();
            part
        });
        let claim = lab::claim(&written).unwrap();
        unpack(&unpacked).unwrap();
        assert!(!left.exists() && written.exists());
        drop(claim);
        fs::remove_dir_all(written).unwrap();
        let may_run = |file: &Path| file.metadata().unwrap().permissions().mode() & 0o100 != 0;
        for Carried { path, .. } in FILES {
            let (written, source) = (unpacked.join(path), top.join(path));
            assert_eq!(fs::read(&written).unwrap(), fs::read(&source).unwrap(), "{path}");
            assert_eq!(may_run(&written), may_run(&source), "{path}");
        }
        assert!(may_run(&unpacked.join("subjects/nginx/start")));
        assert_eq!(fs::read_dir(unpacked.parent().unwrap()).unwrap().count(), 1, "no part is left");

        // In an archive of the sources, git does not know them.
        if top.join(".git").exists() {
            let mut git = Command::new("git");
            git.args(["-c", "safe.directory=*", "ls-files", "subjects", "experiments"]);
            let listed = git.current_dir(&top).output().unwrap();
            assert!(listed.status.success(), "{listed:?}");
            let listed = String::from_utf8(listed.stdout).unwrap();
            let carried: BTreeSet<&str> = FILES.iter().map(|file| file.path).collect();
            let missing: Vec<&str> = listed
                .lines()
                .filter(|path| top.join(path).exists() && !carried.contains(path))
                .collect();
            assert!(listed.lines().count() > 200 && missing.is_empty(), "{missing:?}");
        }
    }

    #[test]
    fn what_was_unpacked_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("own"), "").unwrap();
        unpack(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_experiment_is_found_by_its_path_or_its_name() {
        let kifi = experiment("experiments/published/kifi.toml");
        assert!(kifi.is_some_and(|text| text.contains("question")));
        for name in ["published/kifi.toml", "published/kifi", "kifi.toml", "kifi"] {
            assert_eq!(experiment(name), kifi, "{name}");
        }
        for name in ["", "ifi", "./kifi.toml", "published", "/experiments/published/kifi.toml"] {
            assert_eq!(experiment(name), None, "{name}");
        }
        let last = |name: &'static str| name.rsplit('/').next();
        let names: BTreeSet<_> = experiment_names().map(last).collect();
        assert_eq!(names.len(), experiment_names().count(), "two have the same last part");
    }
}
