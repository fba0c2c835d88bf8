//! The files that a subject is made of: its own and those that it shares.

use crate::Subject;
use sha2::{Digest, Sha256};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The files of a subject, sorted: each with its path here, and its path in the folder where it is installed.
///
/// Folders that tools leave behind are left out.
pub(crate) fn files(subject: &Subject) -> io::Result<Vec<(PathBuf, PathBuf)>> {
    let mut files = Vec::new();
    collect(&subject.folder, Path::new(""), &mut files)?;
    for (name, folder) in subject.shared() {
        if subject.folder.join(name).exists() {
            let what = format!("the shared folder {name:?} is also one of its own");
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
        }
        collect(&folder, Path::new(name), &mut files)?;
    }
    files.sort_by(|left, right| left.1.cmp(&right.1));
    Ok(files)
}

/// A hash that changes whenever a file of the subject changes.
pub(crate) fn stamp(files: &[(PathBuf, PathBuf)]) -> io::Result<String> {
    let mut hash = Sha256::new();
    for (from, to) in files {
        let bytes = std::fs::read(from)?;
        let may_run = from.metadata()?.permissions().mode() & 0o100 != 0;
        let path = to.as_os_str().as_encoded_bytes();
        for part in [path, &[u8::from(may_run)], &bytes] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Copies them into `folder`.
pub(crate) fn copy(files: &[(PathBuf, PathBuf)], folder: &Path) -> io::Result<()> {
    for (from, to) in files {
        let to = folder.join(to);
        if let Some(above) = to.parent() {
            std::fs::create_dir_all(above)?;
        }
        std::fs::copy(from, to)?;
    }
    Ok(())
}

fn collect(from: &Path, to: &Path, files: &mut Vec<(PathBuf, PathBuf)>) -> io::Result<()> {
    let named = |path: &Path, error: io::Error| {
        io::Error::new(error.kind(), format!("{}: {error}", path.display()))
    };
    for entry in from.read_dir().map_err(|error| named(from, error))? {
        let entry = entry.map_err(|error| named(from, error))?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(|error| named(&path, error))?;
        let is_left_over = LEFT_OVER.iter().any(|name| entry.file_name() == *name);
        if kind.is_dir() && !is_left_over {
            collect(&path, &to, files)?;
        } else if kind.is_file() {
            files.push((path, to));
        } else if !kind.is_dir() {
            let what = format!("{}: is neither a file nor a folder", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        if files.len() > FILES_MAX {
            let what = format!("{}: more than {FILES_MAX} files", from.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
    }
    Ok(())
}

/// Folders that tools make.
const LEFT_OVER: [&str; 5] = [".git", "__pycache__", "node_modules", "target", "venv"];

/// The most files of a subject, which has a handful.
const FILES_MAX: usize = 1000;
