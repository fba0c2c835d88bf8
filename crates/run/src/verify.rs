//! Verification of a subject before it is timed: a server answers every message, a client counts its messages.
//!
//! A server is asked for echoes of every length at which a protocol changes its encoding, for pongs and for its close;
//! the report of a client is compared with the counts of servers of our own. Nothing here measures: a subject that
//! passes may be timed, one that fails is shown as failed.
//!
//! `server` and `client` have the questions for each, `conversation_questions` those for a server with conversations,
//! `rooms` those for a relay, and `receivers` those for a client that only receives from one; `content` has the
//! messages, `conversation` one connection to a server, `known_servers` our own servers to compare with. Start reading
//! at [`verify_subject`].
//!
//! Left out: starting servers (crate `lab`, and [`crate::execute`]), and checking every reply during the measurement
//! (crate `drive`).

mod client;
mod content;
pub(crate) mod conversation;
mod conversation_questions;
mod known_servers;
mod receivers;
mod rooms;
mod server;
mod subject;
#[cfg(test)]
mod tests;

pub use subject::{SubjectQuestions, verify_subject};

pub(crate) use server::verify_server;

use crate::reach::Context;
use conversation::Conversation;
use drive::Target;
use spec::Endpoint;
use wire::Kind;

/// The reply of `target` to a message.
///
/// # Errors
///
/// The fault, if there is no reply.
pub(crate) fn reply_to(
    target: &Target,
    payload: &[u8],
    context: Context<'_>,
) -> Result<Vec<u8>, String> {
    let (_, reply) = Conversation::open(target, context)?.ask(Kind::Binary, payload)?;
    Ok(reply)
}

/// One question to a subject, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The question, e.g. `echo of 65536 B, text`.
    pub what: String,
    /// The outcome.
    pub outcome: Outcome,
}

/// The outcome of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The subject did something else, or nothing.
    Failed(String),
    /// The question was not asked, for this reason.
    NotAsked(String),
    /// The subject did what it should.
    Passed,
}

impl Check {
    fn new(what: impl Into<String>, result: Result<(), String>) -> Self {
        let outcome = result.map_or_else(Outcome::Failed, |()| Outcome::Passed);
        Self { what: what.into(), outcome }
    }

    fn not_asked(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), outcome: Outcome::NotAsked(why.into()) }
    }

    /// The question and the fault, if it failed.
    pub fn failure(&self) -> Option<String> {
        match &self.outcome {
            Outcome::Failed(reason) => Some(format!("{}: {reason}", self.what)),
            Outcome::NotAsked(_) | Outcome::Passed => None,
        }
    }
}

/// The questions to a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerQuestions<'a> {
    /// Its URL.
    pub(crate) url: &'a Endpoint,
    /// The authority that signed its certificate, where it speaks TLS.
    pub(crate) authority_pem: Option<&'a [u8]>,
    /// Its limits, from its manifest; the default means that it can do everything.
    pub(crate) limits: &'a lab::Limits,
    /// Its answer to every message; `None` for an echo.
    pub(crate) reply: Option<&'a [u8]>,
    /// The extent of the check.
    pub(crate) extent: Extent,
}

/// The extent of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Everything.
    Full,
    /// Questions that take hardly any time, for a subject that is about to be timed.
    Short,
}
