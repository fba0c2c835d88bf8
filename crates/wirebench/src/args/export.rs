//! `--export FORMAT=FILE`: writes the record for other tools too.

use crate::exit::{Exit, Failure};
use crate::files;
use anyhow::anyhow;
use record::RunRecord;
use std::path::PathBuf;
use std::str::FromStr;

/// A file to write a record to, in a format of other tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Export {
    format: Format,
    file: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Csv,
    GoBenchmark,
    GoogleBenchmark,
    Junit,
    K6,
    Markdown,
}

impl Export {
    /// Checks that the file can be written, before anything is measured for it.
    ///
    /// # Errors
    ///
    /// [`Exit::NOT_WRITTEN`], as [`Export::write`].
    pub(crate) fn check(&self) -> Result<(), Failure> {
        files::try_file(&self.file)
            .map_err(|error| self.cannot(&format!("{error}; nothing was measured")))
    }

    /// Writes the file.
    pub(crate) fn write(&self, record: &RunRecord) -> Result<(), Failure> {
        let text = match self.format {
            Format::Csv => Ok(report::csv(record)),
            Format::GoBenchmark => report::go_benchmark(record),
            Format::GoogleBenchmark => report::google_benchmark(record),
            Format::Junit => Ok(report::junit(record)),
            Format::K6 => report::k6(record),
            Format::Markdown => Ok(report::markdown(record)),
        };
        let text = text.map_err(|error| self.cannot(&error.to_string()))?;
        files::write(&self.file, text.as_bytes()).map_err(|error| self.cannot(&error.to_string()))
    }

    fn cannot(&self, what: &str) -> Failure {
        let file = self.file.display();
        Failure::new(Exit::NOT_WRITTEN, anyhow!("cannot export to {file}: {what}"))
    }
}

impl FromStr for Export {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (format, file) = text.split_once('=').unwrap_or((text, ""));
        let known = FORMATS.into_iter().find(|(name, _)| *name == format);
        let (_, format) = known.ok_or_else(|| {
            let names = FORMATS.map(|(name, _)| name).join(", ");
            format!("unknown format `{format}`; use one of {names}")
        })?;
        if file.is_empty() {
            return Err(format!("no file is named; write {text}=FILE"));
        }
        Ok(Self { format, file: file.into() })
    }
}

const FORMATS: [(&str, Format); 6] = [
    ("csv", Format::Csv),
    ("go-benchmark", Format::GoBenchmark),
    ("google-benchmark", Format::GoogleBenchmark),
    ("junit", Format::Junit),
    ("k6", Format::K6),
    ("markdown", Format::Markdown),
];
