//! The services for continuous integration: what is reported to them, and where.
//!
//! GitHub is recognised by its environment variables. GitLab, Jenkins and others read JUnit XML.

use crate::exit::{Exit, Failure};
use crate::files;
use crate::terminal::Terminal;
use anyhow::anyhow;
use record::RunRecord;
use spec::secrets::text_without_secrets;
use std::cell::Cell;
use std::env::var_os;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The places, besides the terminal, where the answer of a gate is reported.
#[derive(Debug)]
pub(crate) struct Ci {
    /// The file for JUnit XML.
    junit: Option<PathBuf>,
    /// The file that GitHub shows as the summary of the step; others may have written to it.
    summary: Option<PathBuf>,
    /// True under GitHub, which reads annotations in the output.
    is_github: bool,
    /// True once a record was reported.
    is_told: Cell<bool>,
}

impl Ci {
    /// The service that this process runs under.
    pub(crate) fn found(junit: Option<PathBuf>) -> Self {
        let set = |name| var_os(name).filter(|value| !value.is_empty());
        Self {
            junit,
            summary: set("GITHUB_STEP_SUMMARY").map(PathBuf::from),
            is_github: set("GITHUB_ACTIONS").is_some_and(|value| value == "true"),
            is_told: Cell::new(false),
        }
    }

    /// True under GitHub, which reads commands in the output.
    pub(crate) fn is_github(&self) -> bool {
        self.is_github
    }

    /// Checks that its files can be written, before anything is measured for them.
    ///
    /// # Errors
    ///
    /// [`Exit::NOT_WRITTEN`], with the file.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if let Some(junit) = &self.junit {
            files::try_file(junit)
                .map_err(|error| not_written(junit, &format!("{error}; nothing was measured")))?;
        }
        let Some(summary) = &self.summary else { return Ok(()) };
        match appended(summary) {
            Ok(_) => Ok(()),
            Err(error) => Err(not_written(
                summary,
                &format!("{error}; nothing was measured; it is $GITHUB_STEP_SUMMARY"),
            )),
        }
    }

    /// Reports the result of a run.
    ///
    /// # Errors
    ///
    /// [`Exit::NOT_WRITTEN`], with the file.
    pub(crate) fn tell(&self, record: &RunRecord, terminal: &Terminal) -> Result<(), Failure> {
        self.is_told.set(true);
        if self.is_github {
            report::annotations(record).iter().for_each(|line| terminal.command(line));
        }
        self.write(&report::junit(record), &report::step_summary(record))
    }

    /// Reports that there is no record, unless one was reported.
    ///
    /// # Errors
    ///
    /// [`Exit::NOT_WRITTEN`], with the file.
    pub(crate) fn tell_failure(
        &self,
        target: &str,
        failure: &Failure,
        terminal: &Terminal,
    ) -> Result<(), Failure> {
        if self.is_told.replace(true) {
            return Ok(());
        }
        let [target, problem] = [target, &failure.to_string()].map(text_without_secrets);
        if self.is_github {
            terminal.command(&report::annotation("wirebench", &problem));
        }
        let junit = report::junit_of_failure(&target, &problem);
        self.write(&junit, &report::step_summary_of_failure(&problem))
    }

    fn write(&self, junit: &str, summary: &str) -> Result<(), Failure> {
        if let Some(path) = &self.junit {
            files::write(path, junit.as_bytes())
                .map_err(|error| not_written(path, &error.to_string()))?;
        }
        if let Some(path) = &self.summary {
            // The text before it need not end with a line break.
            let written = appended(path).and_then(|mut file| write!(file, "\n{summary}"));
            written.map_err(|error| not_written(path, &error.to_string()))?;
        }
        Ok(())
    }
}

fn appended(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

fn not_written(path: &Path, what: &str) -> Failure {
    Failure::new(Exit::NOT_WRITTEN, anyhow!("cannot write {}: {what}", path.display()))
}
