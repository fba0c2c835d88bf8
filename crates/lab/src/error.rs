//! The reasons why a subject is not installed.

use crate::ready::shown;
use std::io;
use std::path::{Path, PathBuf};

/// The reasons why a subject is not installed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// A command failed.
    #[error("`{command}` failed: {status}{}{}", shown(said), hint(packages))]
    Command {
        /// The command.
        command: String,
        /// Its end in words.
        status: String,
        /// The last lines of its outputs.
        said: String,
        /// The Debian packages of the manifest that are not installed, which may be why the command failed.
        packages: Vec<String>,
    },
    /// A file or a folder cannot be read or written.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// A program, file or package that it needs is missing.
    #[error("{}", missing_text(what, packages))]
    Missing {
        /// Programs, files and packages.
        what: Vec<String>,
        /// The Debian packages that provide them.
        packages: Vec<String>,
    },
    /// A registry cannot be reached, so that this subject cannot be installed now.
    #[error("{registry} not reached: `{command}` failed: {status}{}", shown(said))]
    Unreachable {
        /// The registry.
        registry: &'static str,
        /// The command that asked it.
        command: String,
        /// Its end in words.
        status: String,
        /// The last lines of its outputs.
        said: String,
    },
}

/// Turns a system error into one about a file.
pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> InstallError {
    let path = path.to_owned();
    move |error| InstallError::File { path, reason: error.to_string() }
}

fn hint(packages: &[String]) -> String {
    if packages.is_empty() {
        return String::new();
    }
    format!("\nperhaps packages are missing: apt-get install {}", packages.join(" "))
}

fn missing_text(what: &[String], packages: &[String]) -> String {
    let verb = if what.len() == 1 { "is" } else { "are" };
    let what = what.join(", ");
    if packages.is_empty() {
        return format!("{what} {verb} missing");
    }
    format!("{what} {verb} missing: apt-get install {}", packages.join(" "))
}
