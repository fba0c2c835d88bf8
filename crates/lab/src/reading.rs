//! Reading a manifest, and saying where it is wrong.

use std::path::PathBuf;

/// What is wrong with a manifest, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}:{column}: {what}", file.display())]
pub struct ManifestError {
    /// The name of the subject: that of its folder.
    pub name: String,
    /// The manifest.
    pub file: PathBuf,
    /// Where, from 1.
    pub line: usize,
    /// And where in that line, in characters, from 1.
    pub column: usize,
    /// What is wrong there, what is expected, and what may have been meant.
    pub what: String,
}
