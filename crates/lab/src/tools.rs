//! The programs that install, build and weigh: run to their end, through a keeper like all others.

use crate::InstallError;
use crate::manifest::From;
use crate::process::{Launch, Process, Program, Purpose};
use crate::tail::{Tail, last_lines};
use engine::clock::Clock;
use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use units::Nanos;

/// The tools of this machine.
#[derive(Debug)]
pub struct Tools {
    launch: Launch,
    may_install_packages: bool,
    /// True once `apt-get update` has succeeded.
    has_package_lists: Mutex<bool>,
}

/// The end of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// True if its exit code was 0.
    pub(crate) is_good: bool,
    /// Its end in words.
    pub(crate) status: String,
    /// The end of both its outputs, escaped for a terminal.
    pub(crate) said: String,
}

impl Tools {
    /// Tools that start through `launch`. They install Debian packages only if `may_install_packages`.
    pub fn new(launch: Launch, may_install_packages: bool) -> Self {
        let launch = Launch { cpus: Vec::new(), ..launch };
        Self { launch, may_install_packages, has_package_lists: Mutex::new(false) }
    }

    /// True if missing Debian packages may be installed.
    pub(crate) const fn may_install_packages(&self) -> bool {
        self.may_install_packages
    }

    /// Runs a command that must succeed. `from` is the registry that it fetches from; `None` if it fetches nothing.
    ///
    /// # Errors
    ///
    /// [`InstallError::Unreachable`] and [`InstallError::Command`].
    pub(crate) fn succeed(
        &self,
        command: &[String],
        folder: &Path,
        from: Option<From>,
    ) -> Result<(), InstallError> {
        let Outcome { is_good, status, said } = self.run(command, folder, COMMAND_MAX);
        if is_good {
            return Ok(());
        }
        let registry = from.filter(|_| is_unreachable(&said)).map(registry_of);
        let (command, said) = (command.join(" "), last_lines(&said, LINES_SHOWN));
        Err(match registry {
            Some(registry) => InstallError::Unreachable { registry, command, status, said },
            None => InstallError::Command { command, status, said, packages: Vec::new() },
        })
    }

    /// Runs a command that takes hardly any time.
    pub(crate) fn ask(&self, command: &[&str]) -> Outcome {
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        self.run(&command, Path::new("/"), ASK_MAX)
    }

    /// Everything that a command prints on stdout.
    ///
    /// # Errors
    ///
    /// The command, its end and the last line of its stderr.
    pub(crate) fn output(&self, command: &[String], folder: &Path) -> Result<String, String> {
        let name = command.first().map_or("", String::as_str);
        let program = Program { command, folder, purpose: Purpose::Question };
        let mut process =
            Process::start(&program, &self.launch).map_err(|error| format!("{name}: {error}"))?;
        let mut printed = Vec::new();
        process.take_stdout().read_to_end(&mut printed).map_err(|error| error.to_string())?;
        let status =
            process.wait_for_end(COMMAND_MAX).unwrap_or_else(|| "it still runs".to_owned());
        if process.end().code == Some(0) {
            return Ok(String::from_utf8_lossy(&printed).into_owned());
        }
        if let Some(reason) = process.not_started() {
            return Err(reason);
        }
        let said = process.stderr();
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        Err(match last {
            Some(last) => format!("{name} failed ({status}): {last}"),
            None => format!("{name} failed ({status}) and printed nothing"),
        })
    }

    /// Fetches the lists of Debian packages, once for these tools: a fresh container has none.
    ///
    /// # Errors
    ///
    /// As for [`Tools::succeed`].
    pub(crate) fn update_package_lists(
        &self,
        tell: &mut dyn FnMut(&str),
    ) -> Result<(), InstallError> {
        let mut has_lists = self.has_package_lists.lock().unwrap_or_else(PoisonError::into_inner);
        if !*has_lists {
            let update = ["apt-get", "update"].map(str::to_owned);
            tell(&update.join(" "));
            self.succeed(&update, Path::new("/"), Some(From::Apt))?;
            *has_lists = true;
        }
        Ok(())
    }

    fn run(&self, command: &[String], folder: &Path, at_most: Nanos) -> Outcome {
        let failed = |status: String| Outcome { is_good: false, status, said: String::new() };
        let program = Program { command, folder, purpose: Purpose::Build };
        let mut process = match Process::start(&program, &self.launch) {
            Ok(process) => process,
            Err(error) => return failed(format!("cannot be started: {error}")),
        };
        let status = process.wait_for_end(at_most);
        let code = process.end().code;
        if let Some(reason) = process.not_started() {
            return failed(reason);
        }
        let is_good = code == Some(0) && status.is_some();
        let status = status.unwrap_or_else(|| format!("it took longer than {at_most}"));
        Outcome { is_good, status, said: process.stderr() }
    }
}

/// The first line that `command` of a subject prints in `folder`; waits at most this long for it. A subject sees only
/// the environment that it sees when it is measured.
///
/// # Errors
///
/// The end of the command, and the last lines of its stderr.
pub(crate) fn first_line(
    command: &[String],
    folder: &Path,
    launch: &Launch,
    at_most: Nanos,
) -> Result<String, (String, String)> {
    let clock = Clock::start();
    let program = Program { command, folder, purpose: Purpose::Server(&[]) };
    let mut process =
        Process::start(&program, launch).map_err(|error| (error.to_string(), String::new()))?;
    let printed = Tail::read(process.take_stdout(), None);
    let printed = printed.map_err(|error| (error.to_string(), String::new()))?;
    let is_over = printed.wait_for(at_most);
    let left = Nanos(at_most.0.saturating_sub(clock.now().0));
    let status = process.wait_for_end(left).filter(|_| is_over);
    let code = process.end().code;
    let said = last_lines(&process.stderr(), LINES_SHOWN);
    match (status, code) {
        (None, _) => Err((format!("it did not end within {at_most}"), said)),
        (Some(_), Some(0)) => {
            let text = printed.text();
            let line = text.lines().map(str::trim).find(|line| !line.is_empty());
            line.map(str::to_owned).ok_or_else(|| ("it printed nothing".to_owned(), said))
        }
        (Some(status), _) => Err((process.not_started().unwrap_or(status), said)),
    }
}

/// True if a command says that it did not reach a server. Tools break lines anywhere.
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

/// Words of programs that did not reach a registry: resolvers, sockets, curl, pip, npm, cargo, Go, Maven, apt,
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

/// The number of last lines that an error shows.
const LINES_SHOWN: usize = 20;

/// The longest time for one command: a build of a large library on a small machine does take a quarter of an hour.
const COMMAND_MAX: Nanos = Nanos::from_secs(1800);

/// The longest time for a question.
const ASK_MAX: Nanos = Nanos::from_secs(60);

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
