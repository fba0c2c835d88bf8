//! A look at a server that was not asked to echo, to find out what it speaks. For people who write a conversation.

use crate::RunError;
use crate::by_hand::first_of;
use crate::reach::{self, Context};
use crate::recognition::look;
use crate::talk::{Talk, Way};
use engine::clock::Clock;
use std::sync::atomic::AtomicUsize;
use wire::discovery::Finding;

/// Finds out what listens at the URL of `asked`, at the first of its addresses that accepts a connection. Sends nothing
/// that the server did not invite.
///
/// # Errors
///
/// The name has no address, nothing listens there, the address is public, or a signal arrived.
pub fn discover(asked: Talk<'_>, interrupt: &AtomicUsize) -> Result<Finding, RunError> {
    let context = Context { clock: Clock::start(), interrupt };
    let way = Way::to(asked, None, context.clock)?;
    let bytes = reach::without_framing(way.url, &way.measurement.speech)?;
    first_of(way.url, &way.addresses, |address| {
        look(way.url, address, &bytes, context.clock, &|| context.check())
    })
}
