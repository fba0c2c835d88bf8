//! The reasons for which a run could not be carried out. Faults inside of blocks are in the record instead.

use engine::thread::ThreadError;
use engine::{Address, ConnectionError};
use std::net::IpAddr;
use units::Nanos;

/// The reasons for which nothing could be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// An embedded server did not come up.
    #[error("the embedded {name} server did not start: {reason}")]
    EmbeddedServer {
        /// Its name.
        name: &'static str,
        /// The reason.
        reason: String,
    },
    /// The system refused something that the generator needs for itself.
    #[error("cannot set up the generator: {0}")]
    Engine(ConnectionError),
    /// The baseline was measured under other conditions.
    #[error(
        "the baseline {file} cannot be compared with this run: they differ in {}; measure the baseline here with the \
         same settings, or pass --allow-different; nothing was measured",
        differences.join(", ")
    )]
    Incomparable {
        /// The file of the baseline.
        file: String,
        /// Everything that differs, with both values.
        differences: Vec<String>,
    },
    /// Options of TLS contradict each other.
    #[error("TLS: {0}")]
    InvalidTls(#[from] wire::tls::OptionsError),
    /// A server that several measurements share did not start.
    #[error("{0}")]
    NotStarted(String),
    /// The machines that measure in place of this one go on no further.
    #[error("{reason}")]
    Over {
        /// The reason.
        reason: String,
    },
    /// A part of the request cannot be said in the protocol.
    #[error("{0}")]
    InvalidRequest(String),
    /// A stop signal came before anything was measured.
    #[error("stopped by signal {signal} before anything was measured")]
    Interrupted {
        /// Its number.
        signal: i32,
    },
    /// A server of the user's did not come up.
    #[error("{0}")]
    Program(String),
    /// The target is a public address, and nobody said that it may be loaded.
    #[error("{address} is a public address; pass --i-may-load-this-target if it is yours to load")]
    PublicTarget {
        /// It.
        address: IpAddr,
    },
    /// A part of the self-test could not be carried out.
    #[error("the self-test cannot go on: {0}")]
    SelfTest(String),
    /// The machine does not allow that many connections.
    #[error(transparent)]
    Shortage(#[from] probe::Shortage),
    /// A server or client library of others did not come up, or cannot do what is asked of it.
    #[error("{name}: {reason}")]
    Subject {
        /// Its name.
        name: String,
        /// The reason.
        reason: String,
    },
    /// The system refuses a thread.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// Nobody answers, at none of the addresses.
    #[error("cannot reach {target}: {}; is a server listening there?", attempts_text(attempts))]
    Unreachable {
        /// The URL.
        target: String,
        /// Each address that was tried, and what happened.
        attempts: Vec<(Address, String)>,
    },
    /// The name has no address.
    #[error("cannot resolve `{name}`: {reason}; check the name, or use an address")]
    Unresolved {
        /// The name.
        name: String,
        /// The reason of the resolver.
        reason: String,
    },
    /// The resolver did not answer.
    #[error(
        "cannot resolve `{name}`: no answer within {timeout}; use an address, or a longer --timeout"
    )]
    ResolveTimedOut {
        /// The name.
        name: String,
        /// The time that was waited.
        timeout: Nanos,
    },
    /// It answers, but not as it should. Nothing was timed.
    #[error("{target} does not answer as expected: {reason}; nothing was timed. {next}")]
    WrongAnswer {
        /// The URL.
        target: String,
        /// The fault.
        reason: String,
        /// The next thing to try.
        next: String,
    },
}

impl RunError {
    /// A stop by signal number `signal`.
    pub(crate) fn interrupted(signal: usize) -> Self {
        Self::Interrupted { signal: i32::try_from(signal).unwrap_or(0) }
    }
}

fn attempts_text(attempts: &[(Address, String)]) -> String {
    let texts: Vec<String> =
        attempts.iter().map(|(address, what)| format!("{address}: {what}")).collect();
    texts.join("; ")
}

/// It is no source: the words of the error have it.
impl From<ConnectionError> for RunError {
    fn from(error: ConnectionError) -> Self {
        Self::Engine(error)
    }
}
