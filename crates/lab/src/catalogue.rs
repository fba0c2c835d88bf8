//! The folder of all subjects.

use crate::{Manifest, ManifestError};
use std::path::PathBuf;

/// The subjects of a folder.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// Those with a manifest that can be read, by name.
    pub subjects: Vec<Subject>,
    /// What is wrong with the others, by name.
    pub broken: Vec<ManifestError>,
}

/// A server or a client library, with the little program that makes it one that can be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Its name: that of its folder.
    pub name: String,
    /// Its folder, where it is written; it runs in another one, where it is installed.
    pub folder: PathBuf,
    /// What it says of itself.
    pub manifest: Manifest,
}
