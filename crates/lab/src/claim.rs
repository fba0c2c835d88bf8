//! Claims: files and folders that belong to a process for as long as it lives.
//!
//! A claim is a kernel lock, which is released however its process ends, SIGKILL included. A file or folder that nobody
//! claims was left behind, and the next process removes it.

use rustix::fs::OFlags;
use rustix::process::geteuid;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// An open file that gives its lock back when it is dropped. Closing it is not enough: a child that another thread is
/// just starting has the file open too, until it executes its program.
#[derive(Debug)]
pub struct Locked(pub File);

impl Drop for Locked {
    fn drop(&mut self) {
        self.0.unlock().ok(); // Fails where the file system has no locks.
    }
}

/// Claims the file or folder at `path` for as long as the result lives; `None` if another process has it, or has just
/// removed it. Neither follows links nor waits for pipes.
///
/// # Errors
///
/// It cannot be opened, or its file system has no locks.
pub fn claim(path: &Path) -> io::Result<Option<Locked>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
        Ok(()) => {}
    }
    let file = Locked(file);
    // Its previous owner may have removed it after it was opened here.
    let identity = |found: std::fs::Metadata| (found.dev(), found.ino());
    let is_there =
        std::fs::symlink_metadata(path).map(identity).ok() == Some(identity(file.0.metadata()?));
    Ok(is_there.then_some(file))
}

/// Removes this user's unclaimed files and folders in `folder` whose names `is_one` accepts.
pub fn remove_unclaimed(folder: &Path, is_one: impl Fn(&str) -> bool) {
    let Ok(entries) = folder.read_dir() else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if !entry.file_name().to_str().is_some_and(&is_one) {
            continue;
        }
        let Ok(found) = entry.metadata() else { continue };
        let is_ours = found.uid() == geteuid().as_raw() && (found.is_dir() || found.is_file());
        if is_ours && let Ok(Some(_claim)) = claim(&path) {
            let removed =
                if found.is_dir() { std::fs::remove_dir_all } else { std::fs::remove_file };
            removed(&path).ok(); // A leftover does no harm.
        }
    }
}
