//! Where subjects are, and where they are installed.

use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use lab::{Catalogue, Home, InstallError, Options, State, Subject};
use std::env::var_os;
use std::path::{Path, PathBuf};

/// Where subjects are looked for.
#[derive(Debug, clap::Args)]
pub(crate) struct Places {
    /// Where subjects are [default: WIREBENCH_SUBJECTS, or `subjects` here or in a folder above]
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    subjects: Option<PathBuf>,
    /// Where they are installed [default: WIREBENCH_INSTALLED, or ~/.cache/wirebench/subjects]
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    installed: Option<PathBuf>,
}

/// Subjects, and what of them is installed.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) catalogue: Catalogue,
    pub(crate) home: Home,
}

impl Places {
    /// The folder that subjects are in, whether or not it is there.
    pub(crate) fn folder(&self) -> PathBuf {
        let named = self.subjects.clone().or_else(|| set("WIREBENCH_SUBJECTS"));
        named.or_else(above).unwrap_or_else(|| SUBJECTS.into())
    }

    /// Reads what is there.
    pub(crate) fn find(&self) -> Result<Found, Failure> {
        let folder = self.folder();
        let cache = || {
            let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
            Some(cache.join("wirebench/subjects"))
        };
        let installed =
            self.installed.clone().or_else(|| set("WIREBENCH_INSTALLED")).or_else(cache);
        let installed = installed.ok_or_else(|| {
            Failure::usage(
                "where are subjects installed? HOME is not set; name a folder with --installed DIR",
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
    /// Installs `subject` unless it is, and says so.
    pub(crate) fn install(
        &self,
        subject: &Subject,
        packages: bool,
        terminal: &Terminal,
    ) -> Result<PathBuf, InstallError> {
        let name = &subject.name;
        if let State::Installed(folder) = self.home.state(subject) {
            return Ok(folder);
        }
        terminal.say(&format!("{name}: being installed"));
        let mut say = |line: &str| terminal.say(&format!("{name}: {line}"));
        self.home.install(subject, Options { packages }, &mut say)
    }

    /// A subject of this name, or that there is none.
    pub(crate) fn subject(&self, name: &str) -> Result<&Subject, Failure> {
        self.catalogue.find(name).map_err(|error| Failure::new(Exit::USAGE, error))
    }
}

/// What the variable says, if anything.
fn set(variable: &str) -> Option<PathBuf> {
    var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The folder of subjects here, or in the nearest folder above that has one.
fn above() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let holds = |folder: &Path| folder.join(SUBJECTS).is_dir().then(|| folder.join(SUBJECTS));
    here.ancestors().find_map(holds)
}

/// How the folder of subjects is called.
const SUBJECTS: &str = "subjects";
