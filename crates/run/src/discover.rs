//! A look at a server that nobody has asked to echo: what speaks there? For people who write a conversation.

use crate::RunError;
use crate::look::{Looked, look};
use crate::reach::{self, Context};
use crate::talk::{Talk, Way};
use engine::clock::Clock;
use std::sync::atomic::AtomicUsize;
use wire::discovery::Finding;

/// Finds out what listens at the URL of `asked`: of the first of its addresses that takes a connection. Nothing is sent
/// that the server did not invite.
///
/// # Errors
///
/// The name has no address, nobody listens there, it is public, or a signal came.
pub fn discover(asked: Talk<'_>, interrupt: &AtomicUsize) -> Result<Finding, RunError> {
    let context = Context { clock: Clock::start(), interrupt };
    let way = Way::to(asked, None, context.clock)?;
    let bytes = reach::without_framing(way.url, &way.measurement.speech)?;
    let mut attempts = Vec::new();
    for address in &way.addresses {
        match look(way.url, address, &bytes, context.clock, &|| context.check())? {
            Looked::At(finding) => return Ok(finding),
            Looked::NotThere(reason) => attempts.push((address.clone(), reason)),
        }
    }
    Err(RunError::Unreachable { target: way.url.to_string(), attempts })
}
