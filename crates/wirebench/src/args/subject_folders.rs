//! The folders of subjects and of their installations, and how programs are started.

use crate::data;
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use anyhow::Context;
use lab::{Catalogue, Home, InstallError, Launch, State, Subject, Tools};
use std::env::var_os;
use std::path::{Path, PathBuf};

/// The folders of subjects and of their installations.
#[derive(Debug, clap::Args)]
pub(crate) struct Places {
    /// The folder of subjects [default: WIREBENCH_SUBJECTS, `subjects` here or above, or wirebench's]
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    subjects: Option<PathBuf>,
    /// The folder that they are installed in [default: WIREBENCH_INSTALLED, or ~/.cache/wirebench/subjects]
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    installed: Option<PathBuf>,
}

/// Subjects, and the home of those that are installed.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) catalogue: Catalogue,
    pub(crate) home: Home,
}

impl Places {
    /// The folder for a subject of the user's own, which may not exist.
    pub(crate) fn folder(&self) -> PathBuf {
        self.own().unwrap_or_else(|| SUBJECTS.into())
    }

    /// Returns the named folder of subjects, or else the one here or in a folder above.
    fn own(&self) -> Option<PathBuf> {
        self.subjects.clone().or_else(|| set("WIREBENCH_SUBJECTS")).or_else(above)
    }

    /// Reads the subjects.
    pub(crate) fn find(&self) -> Result<Found, Failure> {
        let folder = self.own().map_or_else(data::subjects, Ok).map_err(|error| {
            Failure::usage(format!(
                "no folder `{SUBJECTS}` here or in a folder above, and wirebench cannot unpack its own subjects: {error}"
            ))
        })?;
        let cache = || Some(cache()?.join("wirebench/subjects"));
        let installed =
            self.installed.clone().or_else(|| set("WIREBENCH_INSTALLED")).or_else(cache);
        let installed = installed.ok_or_else(|| {
            Failure::usage(
                "HOME is not set, so subjects have no default folder; name one with --installed DIR",
            )
        })?;
        let catalogue = Catalogue::read(&folder).map_err(|error| {
            Failure::usage(format!(
                "cannot read subjects: {error}; --subjects DIR names their folder, `wirebench subjects new` makes one"
            ))
        })?;
        let absolute = std::path::absolute(&installed).unwrap_or(installed);
        Ok(Found { catalogue, home: Home::new(absolute) })
    }
}

impl Found {
    /// Installs `subject` unless it is installed already, and says so.
    pub(crate) fn install(
        &self,
        subject: &Subject,
        tools: &Tools,
        terminal: &Terminal,
    ) -> Result<PathBuf, InstallError> {
        let name = &subject.name;
        if let State::Installed(folder) = self.home.state(subject) {
            return Ok(folder);
        }
        terminal.say(&format!("{name}: installing"));
        let mut say = |line: &str| terminal.say(&format!("{name}: {line}"));
        self.home.install(subject, tools, &mut say)
    }

    /// Returns the subject of this name, or an error if there is none.
    pub(crate) fn subject(&self, name: &str) -> Result<&Subject, Failure> {
        self.catalogue.find(name).map_err(|error| Failure::new(Exit::USAGE, error))
    }
}

/// Returns the way to start other programs: with this program as their keeper, and with the search path and home folder
/// that it was started with.
///
/// # Errors
///
/// This program cannot be found.
pub(crate) fn launch() -> anyhow::Result<Launch> {
    let program = std::env::current_exe().context("cannot find this program itself")?;
    let inherited = ["PATH", "HOME"].into_iter();
    let inherited = inherited.filter_map(|name| Some((name.into(), var_os(name)?)));
    Ok(Launch::new(program, inherited.collect(), scratch()))
}

/// The folder for programs that are not subjects.
#[cfg(feature = "fleet")]
pub(crate) fn tools() -> PathBuf {
    cache().unwrap_or_else(scratch).join("wirebench/tools")
}

/// The folder for files that can be made again.
fn cache() -> Option<PathBuf> {
    set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))
}

/// The folder for temporary files.
pub(crate) fn scratch() -> PathBuf {
    let folder = std::env::temp_dir();
    std::path::absolute(&folder).unwrap_or(folder)
}

/// The value of the variable, unless it is empty.
fn set(variable: &str) -> Option<PathBuf> {
    var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The folder of subjects here, or in the nearest folder above that has one.
fn above() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let holds = |folder: &Path| folder.join(SUBJECTS).is_dir().then(|| folder.join(SUBJECTS));
    here.ancestors().find_map(holds)
}

/// The name of the folder of subjects.
const SUBJECTS: &str = "subjects";
