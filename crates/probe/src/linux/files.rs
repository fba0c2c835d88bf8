//! The source of texts: the machine itself, or a fixture in a test.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Small text files by their absolute path.
pub(super) trait Files {
    /// The text without trailing white space, or the reason why it cannot be read.
    fn read(&self, path: &str) -> Result<String, String>;

    /// The names in a folder, in ascending order; empty if the folder is missing.
    fn list(&self, folder: &str) -> Vec<String>;
}

/// The files of this machine.
pub(super) struct Machine;

impl Files for Machine {
    fn read(&self, path: &str) -> Result<String, String> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned()),
            Err(error) => Err(format!("{path}: {}", error.kind())),
        }
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort_unstable();
        names
    }
}

/// A file of the kernel that stays open and is read repeatedly.
#[derive(Debug)]
pub(super) struct KeptFile {
    file: File,
    bytes: Vec<u8>,
}

impl KeptFile {
    pub(super) fn open(path: &str) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, bytes: vec![0; 4096] })
    }

    /// The text as it is now.
    pub(super) fn read(&mut self) -> io::Result<Cow<'_, str>> {
        let mut len = 0;
        loop {
            if len == self.bytes.len() {
                self.bytes.resize(2 * len, 0);
            }
            match self.file.read_at(&mut self.bytes[len..], len as u64) {
                Ok(0) => break,
                Ok(more) => len += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(String::from_utf8_lossy(&self.bytes[..len]))
    }
}
