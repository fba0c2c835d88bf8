//! Where subjects are installed: a folder for each.

use std::path::PathBuf;

/// The folder in which subjects are installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    pub(crate) folder: PathBuf,
}

impl Home {
    /// `folder` need not be there yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }
}

/// How far a subject is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It is, in this folder.
    Installed(PathBuf),
    /// It is not, or only in part.
    NotInstalled,
    /// It is, but its files are others now.
    Outdated,
}

/// What an installation may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether it may install Debian's packages that are missing.
    pub packages: bool,
}
