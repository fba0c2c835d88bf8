//! The folder in which subjects are installed: a folder for each.
//!
//! A folder counts as installed once its stamp is written, which is the last step. The stamp is a hash of the subject's
//! files, so a changed subject is installed again. A lock beside the folder admits one installation at a time.
//!
//! Start reading at [`Home::install`].

use crate::claim::Locked;
use crate::error::at;
use crate::files::{copy, files, stamp};
use crate::needs::{Missing, fetch_unpacked, missing, not_installed};
use crate::process::Launch;
use crate::ready::shown;
use crate::tools::{Tools, first_line};
use crate::{From, InstallError, Subject};
use std::fs::File;
use std::path::{Path, PathBuf};
use units::Nanos;

/// The folder in which subjects are installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    folder: PathBuf,
}

impl Home {
    /// Subjects are installed in `folder`, which need not exist yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder that a subject is installed in, or will be.
    pub fn folder_of(&self, subject: &Subject) -> PathBuf {
        self.folder.join(&subject.name)
    }

    /// The state of an installation. Cheap: it reads the subject's files and a stamp.
    pub fn state(&self, subject: &Subject) -> State {
        let folder = self.folder_of(subject);
        let Ok(stamped) = std::fs::read_to_string(folder.join(STAMP)) else {
            return State::NotInstalled;
        };
        match files(subject).and_then(|files| stamp(&files)) {
            Ok(stamp) if stamp == stamped.trim() => State::Installed(folder),
            Ok(_) | Err(_) => State::Outdated,
        }
    }

    /// The stamp of the installed `subject`, which no other subject shares; `None` unless the installation is up to
    /// date.
    pub(crate) fn stamp(&self, subject: &Subject) -> Option<String> {
        let State::Installed(folder) = self.state(subject) else { return None };
        Some(std::fs::read_to_string(folder.join(STAMP)).ok()?.trim().to_owned())
    }

    /// Installs `subject` from scratch, unless the installation is up to date, and returns its folder. Reports each
    /// step before it is done. Waits for another process that is installing the same subject.
    ///
    /// # Errors
    ///
    /// [`InstallError`]. The folder then does not count as installed, and an earlier installation may be gone.
    pub fn install(
        &self,
        subject: &Subject,
        tools: &Tools,
        tell: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, InstallError> {
        std::fs::create_dir_all(&self.folder).map_err(at(&self.folder))?;
        let lock_file = self.folder.join(format!(".{}.lock", subject.name));
        let lock = Locked(File::create(&lock_file).map_err(at(&lock_file))?);
        if lock.0.try_lock().is_err() {
            tell("another process is installing it; waiting");
            lock.0.lock().map_err(at(&lock_file))?;
        }
        match self.state(subject) {
            State::Installed(folder) => Ok(folder),
            State::NotInstalled | State::Outdated => {
                Installation { subject, folder: self.folder_of(subject), tools, tell }.install()
            }
        }
    }
}

/// The version that `subject`, installed in `installed`, reports: the first line that its `ask-version` prints within
/// [`VERSION_TIMEOUT`].
///
/// # Errors
///
/// [`VersionError`]: the command fails, hangs, or prints nothing.
pub fn version(
    subject: &Subject,
    installed: &Path,
    launch: &Launch,
) -> Result<String, VersionError> {
    let command = &subject.manifest.ask_version;
    first_line(command, installed, launch, VERSION_TIMEOUT).map_err(|(status, said)| VersionError {
        command: command.join(" "),
        status,
        said,
    })
}

/// The longest time for the answer to `ask-version`; a JVM takes a second.
pub const VERSION_TIMEOUT: Nanos = Nanos::from_secs(10);

/// The state of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It is installed in this folder.
    Installed(PathBuf),
    /// It is not installed, or only in part.
    NotInstalled,
    /// It is installed, but its files have changed since.
    Outdated,
}

/// The reason why a subject does not report its version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{command}` failed: {status}{}", shown(said))]
pub struct VersionError {
    /// The command of its manifest.
    pub command: String,
    /// Its end in words.
    pub status: String,
    /// Its last lines on stderr.
    pub said: String,
}

/// One installation, under its lock.
struct Installation<'a> {
    subject: &'a Subject,
    folder: PathBuf,
    tools: &'a Tools,
    tell: &'a mut dyn FnMut(&str),
}

impl Installation<'_> {
    fn install(mut self) -> Result<PathBuf, InstallError> {
        let (manifest, tools) = (&self.subject.manifest, self.tools);
        let files = files(self.subject).map_err(at(&self.subject.folder))?;
        let stamp = stamp(&files).map_err(at(&self.subject.folder))?;
        self.find_needs()?;
        if self.folder.exists() {
            std::fs::remove_dir_all(&self.folder).map_err(at(&self.folder))?;
        }
        copy(&files, &self.folder).map_err(at(&self.folder))?;
        if !manifest.needs.unpacked.is_empty() {
            (self.tell)(&format!("unpacking {}", manifest.needs.unpacked.join(" ")));
            if tools.may_install_packages() {
                tools.update_package_lists(self.tell)?;
            }
            fetch_unpacked(&manifest.needs.unpacked, &self.folder, tools)?;
        }
        for command in &manifest.install {
            self.run(command, Some(manifest.from))?;
        }
        for command in &manifest.build {
            self.run(command, None)?;
        }
        let stamp_file = self.folder.join(STAMP);
        let unfinished = self.folder.join(STAMP_UNFINISHED);
        std::fs::write(&unfinished, stamp)
            .and_then(|()| std::fs::rename(&unfinished, &stamp_file))
            .map_err(at(&stamp_file))?;
        Ok(self.folder)
    }

    /// Makes sure that everything in `[needs]` is present; installs packages if allowed.
    fn find_needs(&mut self) -> Result<(), InstallError> {
        let (needs, tools) = (&self.subject.manifest.needs, self.tools);
        let Some(Missing { what, packages }) = missing(needs, tools) else { return Ok(()) };
        if !tools.may_install_packages() || packages.is_empty() {
            return Err(InstallError::Missing { what, packages });
        }
        tools.update_package_lists(self.tell)?;
        let mut command = APT_INSTALL.map(str::to_owned).to_vec();
        command.extend(packages);
        (self.tell)(&command.join(" "));
        tools.succeed(&command, Path::new("/"), Some(From::Apt))?;
        match missing(needs, tools) {
            None => Ok(()),
            Some(Missing { what, packages }) => Err(InstallError::Missing { what, packages }),
        }
    }

    fn run(&mut self, command: &[String], from: Option<From>) -> Result<(), InstallError> {
        (self.tell)(&command.join(" "));
        self.tools.succeed(command, &self.folder, from).map_err(|mut error| {
            if let InstallError::Command { packages, .. } = &mut error {
                let named = self.subject.manifest.needs.all_packages();
                *packages = not_installed(named, self.tools);
            }
            error
        })
    }
}

const APT_INSTALL: [&str; 4] = ["apt-get", "install", "--yes", "--no-install-recommends"];

/// The file that marks a folder as installed, with the hash of the subject's files.
const STAMP: &str = ".wirebench-installed";
const STAMP_UNFINISHED: &str = ".wirebench-installed.new";
