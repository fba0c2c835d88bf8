//! Whether a subject does what it is to be timed at: a server answers every message, a client counts what it did.
//!
//! [`verify_server`] asks a server for echoes of every length at which a protocol changes its form, for pongs and for
//! its end; [`verify_client`] holds what a client reports against servers that know better. Nothing here measures: what
//! passes may be timed, what fails is shown as failed.
//!
//! `server` and `client` have what is asked of each, `content` the messages, `conversation` one connection to a server
//! and what is said on it, `known` the servers that know better.
//!
//! Left out: starting servers (crate `lab`, and [`crate::execute`]), and every reply while it is timed (crate `drive`).

mod client;
mod content;
mod conversation;
mod known;
mod server;
#[cfg(test)]
mod tests;

pub use client::{ClientQuestions, verify_client};
pub use server::verify_server;

use crate::reach::Context;
use conversation::Conversation;
use drive::Target;
use spec::Endpoint;
use wire::Kind;

/// What `target` answers a message with.
///
/// # Errors
///
/// What it does instead.
pub(crate) fn reply_to(
    target: &Target,
    payload: &[u8],
    context: Context<'_>,
) -> Result<Vec<u8>, String> {
    let (_, reply) = Conversation::open(target, context)?.ask(Kind::Binary, payload)?;
    Ok(reply)
}

/// One thing that was asked of a subject, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was asked, e.g. `echo of 65536 bytes, text`.
    pub what: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of something that was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did something else, or nothing.
    Failed(String),
    /// It was not asked, because of this.
    NotAsked(String),
    /// It did what it should.
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

    /// Why it failed, if it did: what was asked, and what happened instead.
    pub fn failure(&self) -> Option<String> {
        match &self.outcome {
            Outcome::Failed(reason) => Some(format!("{}: {reason}", self.what)),
            Outcome::NotAsked(_) | Outcome::Passed => None,
        }
    }
}

/// What is asked of a server.
#[derive(Clone, Copy, Debug)]
pub struct ServerQuestions<'a> {
    /// Where it is, and what it speaks.
    pub url: &'a Endpoint,
    /// The authority that signed its certificate, where it speaks TLS.
    pub authority_pem: Option<&'a [u8]>,
    /// What it cannot do, by its manifest; the default for a server that can do everything.
    pub limits: &'a lab::Limits,
    /// What it answers every message with; `None` for an echo.
    pub reply: Option<&'a [u8]>,
    /// How much is asked.
    pub extent: Extent,
}

/// How much is asked of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Everything.
    Full,
    /// What takes no time to speak of: before it is timed.
    Short,
}
