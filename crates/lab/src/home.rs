//! Where subjects are installed: a folder for each.
//!
//! A folder counts as installed from the moment at which its stamp is written, which is the last thing that is done to
//! it. The stamp is a hash of the subject's files, so that a subject that has changed is installed anew. A lock beside
//! the folder keeps two installations from the same one.
//!
//! Start reading at [`Home::install`].

use crate::files::{copy, files, stamp};
use crate::needs::{Missing, fetch_unpacked, missing};
use crate::process::{Process, in_words};
use crate::said::{Said, last_lines};
use crate::{From, Launch, Subject, command};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use units::Nanos;

/// The folder in which subjects are installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    folder: PathBuf,
}

impl Home {
    /// `folder` need not be there yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Where a subject is installed, or will be.
    pub fn folder_of(&self, subject: &Subject) -> PathBuf {
        self.folder.join(&subject.name)
    }

    /// How far `subject` is installed. Cheap: it reads the subject's files and a stamp.
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

    /// What tells `subject` as it is installed from any other; `None` unless it is installed as it is now.
    pub(crate) fn stamp(&self, subject: &Subject) -> Option<String> {
        let State::Installed(folder) = self.state(subject) else { return None };
        Some(std::fs::read_to_string(folder.join(STAMP)).ok()?.trim().to_owned())
    }

    /// Installs `subject` from nothing, unless it is installed as it is now, and says where. Each step is told before
    /// it is done. Waits for whoever installs the same one at this time.
    ///
    /// # Errors
    ///
    /// [`InstallError`]. What had been installed before is gone then, and what is there does not count as installed.
    pub fn install(
        &self,
        subject: &Subject,
        options: Options,
        tell: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, InstallError> {
        std::fs::create_dir_all(&self.folder).map_err(at(&self.folder))?;
        let lock_file = self.folder.join(format!(".{}.lock", subject.name));
        let lock = File::create(&lock_file).map_err(at(&lock_file))?;
        if lock.try_lock().is_err() {
            tell("somebody else is installing it; waiting");
            lock.lock().map_err(at(&lock_file))?;
        }
        let installed = match self.state(subject) {
            State::Installed(folder) => Ok(folder),
            State::NotInstalled | State::Outdated => {
                Installation { subject, folder: self.folder_of(subject), tell }.install(options)
            }
        };
        // To close it would not do: a child that another thread is starting right now has it open too.
        lock.unlock().ok();
        installed
    }

    /// The version that `subject` says to be: the first line that it prints when it is asked.
    ///
    /// # Errors
    ///
    /// [`VersionError`]: it is not installed, the command fails, or it prints nothing.
    pub fn version(&self, subject: &Subject, launch: &Launch) -> Result<String, VersionError> {
        let State::Installed(folder) = self.state(subject) else {
            return Err(VersionError::NotInstalled);
        };
        let command = &subject.manifest.ask_version;
        let failed = |status: String, said: &str| VersionError::Failed {
            command: command.join(" "),
            status,
            said: last_lines(said, LINES_SHOWN),
        };
        let mut process = Process::start(command, &folder, &[], launch, false)
            .map_err(|error| failed(error.to_string(), ""))?;
        let printed = Said::read(process.take_stdout());
        let is_over = printed.wait_for(launch.ready_timeout);
        let status = process.wait_for_end(Process::END_MAX).filter(|_| is_over);
        let code = process.end().code;
        if status.is_none() || code != Some(0) {
            let late = || format!("it did not end within {}", launch.ready_timeout);
            let status = status.map_or_else(late, |_| in_words(code));
            return Err(failed(status, &process.said()));
        }
        let line =
            printed.text().lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned);
        line.ok_or_else(|| failed("it printed nothing".to_owned(), &process.said()))
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

/// Why a subject is not installed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// A command failed.
    #[error("`{command}` failed: {status}{}{}", shown(said), hint(packages))]
    Command {
        /// The command.
        command: String,
        /// How it ended.
        status: String,
        /// The last lines that it said.
        said: String,
        /// Debian's packages that it may have wanted: those of the manifest that are not installed.
        packages: Vec<String>,
    },
    /// A file or a folder cannot be read or written.
    #[error("{}: {reason}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Something has to be there that is not.
    #[error("{}", missing_text(what, packages))]
    Missing {
        /// Programs, files and packages.
        what: Vec<String>,
        /// Debian's packages that bring them.
        packages: Vec<String>,
    },
    /// A registry cannot be reached, so that this subject cannot be had here and now.
    #[error("{registry} not reached: `{command}` failed: {status}{}", shown(said))]
    Unreachable {
        /// Whose.
        registry: &'static str,
        /// The command that asked for it.
        command: String,
        /// How that ended.
        status: String,
        /// The last lines that it said.
        said: String,
    },
}

/// Why a subject does not say its version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VersionError {
    /// Its command fails, or prints nothing.
    #[error("`{command}` failed: {status}{}", shown(said))]
    Failed {
        /// The command.
        command: String,
        /// How it ended.
        status: String,
        /// The last lines that it said on stderr.
        said: String,
    },
    /// It is not installed.
    #[error("it is not installed")]
    NotInstalled,
}

/// One installation, under its lock.
struct Installation<'a> {
    subject: &'a Subject,
    folder: PathBuf,
    tell: &'a mut dyn FnMut(&str),
}

impl Installation<'_> {
    fn install(mut self, options: Options) -> Result<PathBuf, InstallError> {
        let needs = &self.subject.manifest.needs;
        let files = files(self.subject).map_err(at(&self.subject.folder))?;
        let stamp = stamp(&files).map_err(at(&self.subject.folder))?;
        self.find_needs(options)?;
        if self.folder.exists() {
            std::fs::remove_dir_all(&self.folder).map_err(at(&self.folder))?;
        }
        copy(&files, &self.folder).map_err(at(&self.folder))?;
        if !needs.unpacked.is_empty() {
            (self.tell)(&format!("unpacking {}", needs.unpacked.join(" ")));
            fetch_unpacked(&needs.unpacked, &self.folder)?;
        }
        for command in &self.subject.manifest.install {
            self.run(command, true)?;
        }
        for command in &self.subject.manifest.build {
            self.run(command, false)?;
        }
        let stamp_file = self.folder.join(STAMP);
        let unfinished = self.folder.join(STAMP_UNFINISHED);
        std::fs::write(&unfinished, stamp)
            .and_then(|()| std::fs::rename(&unfinished, &stamp_file))
            .map_err(at(&stamp_file))?;
        Ok(self.folder)
    }

    /// Sees that what has to be there is there; installs packages if it may.
    fn find_needs(&mut self, options: Options) -> Result<(), InstallError> {
        let needs = &self.subject.manifest.needs;
        let Some(Missing { what, packages }) = missing(needs) else { return Ok(()) };
        if !options.packages || packages.is_empty() {
            return Err(InstallError::Missing { what, packages });
        }
        let mut command = APT_INSTALL.map(str::to_owned).to_vec();
        command.extend(packages);
        let here = Path::new("/");
        (self.tell)(&command.join(" "));
        succeed(&command, here, From::Apt, true, &[])?;
        match missing(needs) {
            None => Ok(()),
            Some(Missing { what, packages }) => Err(InstallError::Missing { what, packages }),
        }
    }

    fn run(&mut self, command: &[String], may_fetch: bool) -> Result<(), InstallError> {
        (self.tell)(&command.join(" "));
        let manifest = &self.subject.manifest;
        succeed(command, &self.folder, manifest.from, may_fetch, &manifest.needs.packages)
    }
}

/// Runs a command that has to succeed. `packages` are those without which it may fail.
pub(crate) fn succeed(
    command: &[String],
    folder: &Path,
    from: From,
    may_fetch: bool,
    packages: &[String],
) -> Result<(), InstallError> {
    let shown = command.join(" ");
    let outcome = match command::run(command, folder, COMMAND_MAX) {
        Ok(outcome) if outcome.is_good => return Ok(()),
        Ok(outcome) => outcome,
        Err(error) => command::Outcome {
            is_good: false,
            status: format!("it cannot be started: {error}"),
            said: String::new(),
        },
    };
    let said = outcome.last_lines();
    if may_fetch && is_unreachable(&outcome.said) {
        let registry = registry_of(from);
        return Err(InstallError::Unreachable {
            registry,
            command: shown,
            status: outcome.status,
            said,
        });
    }
    let packages = crate::needs::not_installed(packages);
    Err(InstallError::Command { command: shown, status: outcome.status, said, packages })
}

/// Whether what a command said is that it did not reach somebody. Tools break lines where they like.
fn is_unreachable(said: &str) -> bool {
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    UNREACHABLE.iter().any(|words| said.contains(words))
}

fn registry_of(from: From) -> &'static str {
    match from {
        From::Apt => "Debian's archive",
        From::Cargo => "the Rust registry",
        From::Composer => "Packagist",
        From::Go => "the Go module proxy",
        From::Maven => "Maven Central",
        From::Npm => "the npm registry",
        From::Own => "what it fetches from",
        From::Pip => "the Python package index",
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> InstallError {
    let path = path.to_owned();
    move |error| InstallError::File { path, reason: error.to_string() }
}

fn shown(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("; it said:\n{said}") }
}

fn hint(packages: &[String]) -> String {
    if packages.is_empty() {
        return String::new();
    }
    format!("\nperhaps for want of packages: apt-get install {}", packages.join(" "))
}

fn missing_text(what: &[String], packages: &[String]) -> String {
    let verb = if what.len() == 1 { "is" } else { "are" };
    let what = what.join(", ");
    if packages.is_empty() {
        return format!("{what} {verb} missing");
    }
    format!("{what} {verb} missing: apt-get install {}", packages.join(" "))
}

/// How programs say that they did not reach a registry: resolvers, sockets, curl, pip, npm, cargo, Go, Maven, apt,
/// composer.
const UNREACHABLE: [&str; 20] = [
    "could not resolve",
    "couldn't resolve",
    "temporary failure resolving",
    "temporary failure in name resolution",
    "name or service not known",
    "no such host",
    "unknown host",
    "network is unreachable",
    "connection refused",
    "connection timed out",
    "failed to establish a new connection",
    "failed to connect to",
    "could not connect to",
    "i/o timeout",
    "getaddrinfo",
    "enotfound",
    "eai_again",
    "econnrefused",
    "etimedout",
    "curl error",
];

const APT_INSTALL: [&str; 4] = ["apt-get", "install", "--yes", "--no-install-recommends"];

/// The file that makes a folder an installed one, with the hash of what was installed.
const STAMP: &str = ".wirebench-installed";
const STAMP_UNFINISHED: &str = ".wirebench-installed.new";

/// How many lines are shown of what a subject said instead of its version.
const LINES_SHOWN: usize = 12;

/// How long one command may take: a build of a large library on a small machine does take a quarter of an hour.
const COMMAND_MAX: Nanos = Nanos::from_secs(1800);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_that_are_not_reached_are_told_from_faults() {
        #[rustfmt::skip]
        let table = [
            ("curl error 6 while downloading https://registry/packages.json: Could not\n  resolve host", true),
            ("php_network_getaddresses: getaddrinfo for registry failed: Name  \n   or service not known", true),
            ("npm error code ENOTFOUND\nnpm error network request to https://registry failed", true),
            ("ERROR: Could not install: <pip.HTTPSConnection>: Failed to establish a new connection: [Errno -2]", true),
            ("go: example.com/x@v1: Get \"https://proxy\": dial tcp: lookup proxy: no such host", true),
            ("error: download of config.json failed: [6] Couldn't resolve host name", true),
            ("main.cpp:1:10: fatal error: curl/curl.h: No such file or directory", false),
            ("npm error code E404\nnpm error 404 Not Found - GET https://registry/uws", false),
            ("", false),
        ];
        for (said, expected) in table {
            assert_eq!(is_unreachable(said), expected, "{said}");
        }
    }
}
