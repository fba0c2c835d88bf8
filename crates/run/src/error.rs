//! The reasons why a run could not be carried out. Faults within blocks are in the record instead.

use engine::thread::ThreadError;
use engine::{Address, ConnectionError};
use std::net::IpAddr;
use units::Nanos;

/// The reasons why nothing could be measured.
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
    /// The system refused a resource that the generator needs.
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
    /// TLS options contradict each other.
    #[error("TLS: {0}")]
    InvalidTls(#[from] wire::tls::OptionsError),
    /// A server that several measurements share did not start.
    #[error("{0}")]
    NotStarted(String),
    /// The machines that measure instead of this one cannot continue.
    #[error("{reason}")]
    Over {
        /// The reason.
        reason: String,
    },
    /// A part of the request cannot be expressed in the protocol.
    #[error("{0}")]
    InvalidRequest(String),
    /// A stop signal arrived before anything was measured.
    #[error("stopped by signal {signal} before anything was measured")]
    Interrupted {
        /// Its number.
        signal: i32,
    },
    /// A server of the user's did not come up.
    #[error("{0}")]
    Program(String),
    /// The target is a public address, and there was no consent to load it.
    #[error("{address} is a public address; pass --i-may-load-this-target if it is yours to load")]
    PublicTarget {
        /// The public address.
        address: IpAddr,
    },
    /// A part of the self-test could not be carried out.
    #[error("the self-test cannot continue: {0}")]
    SelfTest(String),
    /// The machine does not allow that many connections.
    #[error(transparent)]
    Shortage(#[from] probe::Shortage),
    /// A third-party server or client library did not start, or cannot do what it was asked for.
    #[error("{name}: {reason}")]
    Subject {
        /// Its name.
        name: String,
        /// The reason.
        reason: String,
    },
    /// The system refused to start a thread.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// No address answers.
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
        /// The time waited.
        timeout: Nanos,
    },
    /// The target answers, but not as expected. Nothing was timed.
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

/// Converts by value, without a source: the message includes the inner error's text.
impl From<ConnectionError> for RunError {
    fn from(error: ConnectionError) -> Self {
        Self::Engine(error)
    }
}
