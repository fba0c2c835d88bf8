//! Machines simulated by texts, for tests.

use super::files::Files;
use std::collections::{BTreeMap, BTreeSet};

/// Files by their path.
pub(super) struct Fixture(BTreeMap<String, String>);

impl Fixture {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
    }

    pub(super) fn add(&mut self, path: &str, text: &str) {
        self.0.insert(path.to_owned(), text.to_owned());
    }
}

impl Files for Fixture {
    fn read(&self, path: &str) -> Result<String, String> {
        self.0.get(path).cloned().ok_or_else(|| format!("{path}: entity not found"))
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let below = |path: &String| {
            Some(path.strip_prefix(folder)?.strip_prefix('/')?.split('/').next()?.to_owned())
        };
        self.0.keys().filter_map(below).collect::<BTreeSet<_>>().into_iter().collect()
    }
}
