//! Waiting until a subject is ready, and the reasons why it never is.

use crate::lines::{Line, quoted};
use crate::process::Process;
use crate::tail::last_lines;
use engine::clock::Clock;
use units::Nanos;

/// The reasons why a subject is not ready.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// It ended before it was ready.
    #[error("it ended before it was ready: {status}{}", shown(said))]
    Ended {
        /// Its end in words.
        status: String,
        /// Its last lines on stderr.
        said: String,
    },
    /// It printed another line where `ready` was expected.
    #[error("it said {line} where `ready …` was expected: {what}")]
    Garbage {
        /// The line, escaped and cut off.
        line: String,
        /// The fault of the line.
        what: String,
    },
    /// It runs, but did not listen in time.
    #[error(
        "it did not listen at {url} within {waited}; does it listen elsewhere, or take longer?{}",
        shown(said)
    )]
    NeverListened {
        /// The URL.
        url: String,
        /// The time waited.
        waited: Nanos,
        /// Its last lines.
        said: String,
    },
    /// It runs, but did not print its ready text in time.
    #[error(
        "it printed no line with `{text}` within {waited}; does it print another, or take longer?{}",
        shown(said)
    )]
    NeverPrinted {
        /// The text that did not arrive.
        text: String,
        /// The time waited.
        waited: Nanos,
        /// Its last lines.
        said: String,
    },
    /// It was not ready in time.
    #[error("it did not say {awaited} within {waited}{}", shown(said))]
    NeverReady {
        /// The line that did not arrive.
        awaited: String,
        /// The time waited.
        waited: Nanos,
        /// Its last lines on stderr.
        said: String,
    },
    /// Its keeper, which is our own program, or a thread that reads from it could not be started.
    #[error("cannot start its keeper: {reason}")]
    NoKeeper {
        /// The system's reason.
        reason: String,
    },
    /// It could not be started at all.
    #[error("{reason}")]
    NotStarted {
        /// The system's reason.
        reason: String,
    },
    /// Another program has its port.
    #[error("port {port} is taken{}", shown(said))]
    PortTaken {
        /// The port.
        port: u16,
        /// Its last lines on stderr.
        said: String,
    },
    /// It does not do what was asked for.
    #[error("it does not support this{}", shown(said))]
    Unsupported {
        /// Its words for that.
        said: String,
    },
}

impl StartError {
    /// The error when the system refuses to start the keeper or a thread that reads from it.
    pub(crate) fn no_keeper(reason: impl std::fmt::Display) -> Self {
        Self::NoKeeper { reason: reason.to_string() }
    }

    /// True if the program has reported that its port is taken.
    pub fn says_port_is_taken(&self) -> bool {
        match self {
            Self::PortTaken { .. } => true,
            Self::Ended { said, .. }
            | Self::NeverListened { said, .. }
            | Self::NeverPrinted { said, .. }
            | Self::NeverReady { said, .. } => is_of_port(said),
            Self::Garbage { .. }
            | Self::NoKeeper { .. }
            | Self::NotStarted { .. }
            | Self::Unsupported { .. } => false,
        }
    }
}

/// An instant to wait for.
pub(crate) struct Deadline {
    clock: Clock,
    after: Nanos,
}

impl Deadline {
    pub(crate) fn after(after: Nanos) -> Self {
        Self { clock: Clock::start(), after }
    }

    /// The time until then.
    pub(crate) fn left(&self) -> Nanos {
        Nanos(self.after.0.saturating_sub(self.clock.now().0))
    }

    /// The error for a subject that did not print `awaited` by then.
    pub(crate) fn late(&self, awaited: String, process: &Process) -> StartError {
        let said = last_lines(&process.stderr(), LINES_SHOWN);
        StartError::NeverReady { awaited, waited: self.after, said }
    }

    /// The error for a server that does not listen at `url` by then.
    pub(crate) fn not_listening(&self, url: String, process: &Process) -> StartError {
        let said = last_lines(&process.stderr(), LINES_SHOWN);
        StartError::NeverListened { url, waited: self.after, said }
    }

    /// The error for a server that has not printed `text` by then.
    pub(crate) fn not_printed(&self, text: &str, process: &Process) -> StartError {
        let said = last_lines(&process.stderr(), LINES_SHOWN);
        StartError::NeverPrinted { text: text.to_owned(), waited: self.after, said }
    }
}

/// The text after `ready ` in a line.
///
/// # Errors
///
/// [`StartError::Garbage`] for any other line, [`StartError::Unsupported`] for `unsupported WORDS`.
pub(crate) fn after_ready(line: &Line) -> Result<&[u8], StartError> {
    let bytes = match line {
        Line::Bytes(bytes) => bytes.trim_ascii_end(),
        Line::TooLong(start) => return Err(garbage(start, "the line is too long")),
    };
    if let Some(words) = bytes.strip_prefix(b"unsupported ") {
        return Err(StartError::Unsupported { said: crate::tail::escaped(words) });
    }
    bytes.strip_prefix(b"ready ").ok_or_else(|| garbage(bytes, "logs belong on stderr"))
}

pub(crate) fn garbage(line: &[u8], what: &str) -> StartError {
    StartError::Garbage { line: quoted(line), what: what.to_owned() }
}

/// The error for a subject that has closed its stdout before it was ready. `port` is the one that it was meant to use.
pub(crate) fn ended(process: &mut Process, port: u16) -> StartError {
    let (status, code) = ended_by_itself(process);
    let said = last_lines(&process.stderr(), LINES_SHOWN);
    if let Some(reason) = process.not_started() {
        return StartError::NotStarted { reason };
    }
    if code == Some(UNSUPPORTED) {
        StartError::Unsupported { said }
    } else if is_of_port(&said) {
        StartError::PortTaken { port, said }
    } else {
        StartError::Ended { status, said }
    }
}

/// The error for a user's server that has ended before it was ready; `ready_line` is the text that it prints when it
/// is.
pub(crate) fn ended_early(process: &mut Process, ready_line: Option<&str>) -> StartError {
    let (mut status, _) = ended_by_itself(process);
    if let Some(text) = ready_line.filter(|_| !process.has_said()) {
        status += &format!(", and it printed no line with `{text}`");
    }
    let said = last_lines(&process.stderr(), LINES_SHOWN);
    match process.not_started() {
        Some(reason) => StartError::NotStarted { reason },
        None => StartError::Ended { status, said },
    }
}

/// The end of a subject that has closed its stdout, in words and as its exit code.
pub(crate) fn ended_by_itself(process: &mut Process) -> (String, Option<i32>) {
    let status = process.wait_for_end(Process::END_MAX);
    let status = status.unwrap_or_else(|| "it closed its stdout and ran on".to_owned());
    (status, process.end().code)
}

/// True if these words of a program say that a port is taken.
fn is_of_port(said: &str) -> bool {
    let lower = said.to_lowercase();
    PORT_TAKEN.iter().any(|words| lower.contains(words))
}

/// A program's words, to be appended to an error.
pub(crate) fn shown(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("; it said:\n{said}") }
}

/// The exit code for what is not supported.
pub(crate) const UNSUPPORTED: i32 = 127;

/// The number of last lines that an error shows.
pub(crate) const LINES_SHOWN: usize = 12;

/// Words of runtimes for a port that is taken.
const PORT_TAKEN: [&str; 5] = [
    "eaddrinuse",
    "address already in use",
    "address in use",
    "java.net.bindexception",
    "port is already in use",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_taken_is_known_by_the_words_of_the_program() {
        let ended = |said: &str| StartError::Ended { status: String::new(), said: said.to_owned() };
        #[rustfmt::skip]
        let table = [
            ("Error: listen EADDRINUSE: address already in use 127.0.0.1:80",       true),
            ("OSError: [Errno 98] error while attempting to bind on address ('127.0.0.1', 80): address already in use", true),
            ("listen tcp 127.0.0.1:80: bind: address already in use",               true),
            ("java.net.BindException: Address already in use",                      true),
            ("Error: listen EACCES: permission denied 127.0.0.1:80",                false),
            ("",                                                                    false),
        ];
        for (said, expected) in table {
            assert_eq!(ended(said).says_port_is_taken(), expected, "{said}");
        }
        let reason = "address already in use".to_owned();
        assert!(!StartError::NotStarted { reason }.says_port_is_taken(), "these are our words");
    }
}
