//! Stored footprints, each in a file beside the folder of its subject.

use crate::{Home, Subject};
use record::Footprint;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::{fs, io};

impl Home {
    /// The stored footprint of `subject`, if it is that of the current installation.
    pub fn kept_footprint(&self, subject: &Subject) -> Option<Footprint> {
        let stamp = self.stamp(subject)?;
        let kept: Kept =
            serde_json::from_str(&fs::read_to_string(self.footprint_file(subject)).ok()?).ok()?;
        (kept.stamp == stamp).then_some(kept.footprint)
    }

    /// Stores the footprint of `subject`, which is valid until the subject changes.
    ///
    /// # Errors
    ///
    /// It is not installed, or the file cannot be written.
    pub fn keep_footprint(&self, subject: &Subject, footprint: &Footprint) -> io::Result<()> {
        let stamp = self.stamp(subject).ok_or(io::ErrorKind::NotFound)?;
        let file = self.footprint_file(subject);
        let unfinished = file.with_extension("json.new");
        let kept = Kept { stamp, footprint: footprint.clone() };
        fs::write(&unfinished, serde_json::to_vec_pretty(&kept)?)?;
        fs::rename(&unfinished, &file)
    }

    fn footprint_file(&self, subject: &Subject) -> PathBuf {
        self.folder_of(subject).with_file_name(format!("{}.footprint.json", subject.name))
    }
}

/// A footprint, and the stamp of its subject.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    stamp: String,
    footprint: Footprint,
}
