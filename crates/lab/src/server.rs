//! A server subject that listens.

use crate::lines::{Line, Lines, NoLine, quoted};
use crate::process::Process;
use crate::said::last_lines;
use crate::{Launch, ServerSettings, Subject, keeper};
use engine::clock::Clock;
use spec::Scheme;
use std::ffi::OsString;
use std::path::Path;
use units::Nanos;

/// A server subject that is ready. Ended when dropped.
#[derive(Debug)]
pub struct Server {
    process: Process,
    urls: Vec<String>,
}

impl Server {
    /// Starts `subject`, which is installed in `installed`, and waits until it is ready in all that it speaks: schemes
    /// of TLS only where the settings have a certificate.
    ///
    /// # Errors
    ///
    /// [`StartError`]; then nothing of it is left running.
    pub fn start(
        subject: &Subject,
        installed: &Path,
        settings: &ServerSettings,
        launch: &Launch,
    ) -> Result<Self, StartError> {
        let command = &subject.manifest.start;
        let mut process = Process::start(command, installed, &environment(settings), launch, false)
            .map_err(|error| StartError::NoKeeper { reason: error.to_string() })?;
        let lines = Lines::read(process.take_stdout(), LINE_LEN_MAX);
        let mut wanted: Vec<&str> = subject.manifest.speaks.iter().map(String::as_str).collect();
        wanted.retain(|scheme| settings.tls.is_some() || !Scheme::is_secured(scheme));
        let deadline = Deadline::after(launch.ready_timeout);
        let mut urls: Vec<String> = Vec::new();
        while let Some(missing) =
            wanted.iter().find(|wanted| !urls.iter().any(|url| scheme_of(url) == Some(wanted)))
        {
            match lines.next(deadline.left()) {
                Ok(line) => urls.push(url_of(&line, &subject.manifest.speaks)?),
                Err(NoLine::Late) => {
                    let awaited = format!("`ready {missing}://…`");
                    return Err(deadline.late(awaited, &process));
                }
                Err(NoLine::End) => return Err(ended(&mut process, settings.port)),
            }
        }
        Ok(Self { process, urls })
    }

    /// All that it is ready for.
    pub fn urls(&self) -> &[String] {
        &self.urls
    }

    /// The first of these with that scheme.
    pub fn url(&self, scheme: &str) -> Option<&str> {
        self.urls.iter().map(String::as_str).find(|url| scheme_of(url) == Some(scheme))
    }

    /// Its processes.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Its processes, to end them or to see whether they have.
    pub fn process_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}

/// Why a subject is not ready.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// It ended before it was ready.
    #[error("it ended before it was ready: {status}{}", shown(said))]
    Ended {
        /// How.
        status: String,
        /// The last lines that it said.
        said: String,
    },
    /// It said something else than that it is ready.
    #[error("it said {line} where `ready …` was expected: {what}")]
    Garbage {
        /// The line, escaped and cut off.
        line: String,
        /// What is wrong with it.
        what: String,
    },
    /// It was not ready in time.
    #[error("it did not say {awaited} within {waited}{}", shown(said))]
    NeverReady {
        /// What it did not say.
        awaited: String,
        /// How long that was waited for.
        waited: Nanos,
        /// The last lines that it said.
        said: String,
    },
    /// Our own program, that is to keep it, could not be started.
    #[error("cannot start its keeper: {reason}")]
    NoKeeper {
        /// Why.
        reason: String,
    },
    /// It could not be started at all.
    #[error("{reason}")]
    NotStarted {
        /// Why.
        reason: String,
    },
    /// Somebody else has its port.
    #[error("port {port} is taken{}", shown(said))]
    PortTaken {
        /// Which.
        port: u16,
        /// The last lines that it said.
        said: String,
    },
    /// It does not do what was asked for.
    #[error("it does not support this{}", shown(said))]
    Unsupported {
        /// Its words for that.
        said: String,
    },
}

/// An instant that is waited for.
pub(crate) struct Deadline {
    clock: Clock,
    after: Nanos,
}

impl Deadline {
    pub(crate) fn after(after: Nanos) -> Self {
        Self { clock: Clock::start(), after }
    }

    /// How long until then.
    pub(crate) fn left(&self) -> Nanos {
        Nanos(self.after.0.saturating_sub(self.clock.now().0))
    }

    pub(crate) fn late(&self, awaited: String, process: &Process) -> StartError {
        let said = last_lines(&process.said(), LINES_SHOWN);
        StartError::NeverReady { awaited, waited: self.after, said }
    }
}

/// Why a subject that has closed its stdout before it was ready did so. `port` is the one it was to take.
pub(crate) fn ended(process: &mut Process, port: u16) -> StartError {
    let status = process.wait_for_end(Process::END_MAX);
    let code = process.end().code;
    let said = last_lines(&process.said(), LINES_SHOWN);
    if code == Some(keeper::FAILED.into())
        && let Some(reason) = said.lines().find_map(|line| line.strip_prefix(keeper::MARK))
    {
        return StartError::NotStarted { reason: reason.to_owned() };
    }
    let lower = said.to_lowercase();
    if code == Some(UNSUPPORTED) {
        StartError::Unsupported { said }
    } else if PORT_TAKEN.iter().any(|words| lower.contains(words)) {
        StartError::PortTaken { port, said }
    } else {
        let status = status.unwrap_or_else(|| "it closed its stdout and ran on".to_owned());
        StartError::Ended { status, said }
    }
}

/// What somebody said, to stand behind an error.
pub(crate) fn shown(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("; it said:\n{said}") }
}

/// The exit code for what is not supported.
pub(crate) const UNSUPPORTED: i32 = 127;

/// How many of its last lines an error shows.
pub(crate) const LINES_SHOWN: usize = 12;

fn environment(settings: &ServerSettings) -> Vec<(&'static str, OsString)> {
    let mut variables: Vec<(&str, OsString)> = vec![
        ("WIREBENCH_HOST", settings.host.clone().into()),
        ("WIREBENCH_PORT", settings.port.to_string().into()),
        ("WIREBENCH_MESSAGE_MAX", settings.message_size_max.0.to_string().into()),
        ("WIREBENCH_BACKLOG", settings.backlog.to_string().into()),
    ];
    if let Some(reply) = &settings.reply {
        variables.push(("WIREBENCH_REPLY", reply.into()));
    }
    if let Some(tls) = &settings.tls {
        variables.push(("WIREBENCH_TLS_CERT", tls.certificate.clone().into()));
        variables.push(("WIREBENCH_TLS_KEY", tls.key.clone().into()));
    }
    variables
}

/// The URL of a line `ready URL`, of a scheme that the manifest names.
fn url_of(line: &Line, speaks: &[String]) -> Result<String, StartError> {
    let garbage = |line: &[u8], what: &str| {
        Err(StartError::Garbage { line: quoted(line), what: what.to_owned() })
    };
    let bytes = match line {
        Line::Bytes(bytes) => bytes.trim_ascii_end(),
        Line::TooLong(start) => return garbage(start, "the line is too long"),
    };
    let Some(url) = bytes.strip_prefix(b"ready ") else {
        return garbage(bytes, "logs belong on stderr");
    };
    let url = std::str::from_utf8(url).ok().filter(|url| url.bytes().all(|b| b.is_ascii_graphic()));
    match url.and_then(|url| Some((url, scheme_of(url)?))) {
        None => garbage(bytes, "that is no URL"),
        Some((_, scheme)) if !speaks.iter().any(|speaks| speaks == scheme) => {
            garbage(bytes, "its manifest does not name that scheme in `speaks`")
        }
        Some((url, _)) => Ok(url.to_owned()),
    }
}

fn scheme_of(url: &str) -> Option<&str> {
    url.split_once("://").map(|(scheme, _)| scheme)
}

/// How runtimes say it.
const PORT_TAKEN: [&str; 5] = [
    "eaddrinuse",
    "address already in use",
    "address in use",
    "java.net.bindexception",
    "port is already in use",
];

/// The longest line that says something of a URL.
const LINE_LEN_MAX: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_not_ready_says_what_is_wrong_with_it() {
        let speaks = ["ws".to_owned(), "sockjs".to_owned()];
        let url = |line: &str| url_of(&Line::Bytes(line.into()), &speaks);
        assert_eq!(url("ready ws://127.0.0.1:1/"), Ok("ws://127.0.0.1:1/".to_owned()));
        assert_eq!(url("ready sockjs://h:1/echo\r"), Ok("sockjs://h:1/echo".to_owned()));
        #[rustfmt::skip]
        let table = [
            ("Listening on 80",   "logs belong on stderr"),
            ("ready",             "logs belong on stderr"),
            ("ready 127.0.0.1:1", "that is no URL"),
            ("ready ws://a b",    "that is no URL"),
            ("ready wss://a:1/",  "its manifest does not name that scheme in `speaks`"),
        ];
        for (line, expected) in table {
            let Err(StartError::Garbage { what, .. }) = url(line) else { panic!("{line}") };
            assert_eq!(what, expected, "{line}");
        }
    }
}
