//! Connections to the world, and the world's patience with each.

use super::lobby::Address;
use super::options::{Flood, Options};
use super::slab::Key;
use units::{Instant, Nanos};

/// A connection.
#[derive(Debug)]
pub(super) struct Session {
    /// The player who is logged in on it.
    pub(super) player: Option<Key>,
    pub(super) opened: Instant,
    /// The instant of the last packet.
    pub(super) heard: Instant,
    /// The instant of the last ping; it counts until something is heard.
    pub(super) pinged: Instant,
    /// The instant at which the packets received so far would be used up at the allowed rate.
    pub(super) busy_until: Instant,
    pub(super) subscriptions: Vec<Address>,
}

impl Session {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            player: None,
            opened: now,
            heard: now,
            pinged: Instant::START,
            busy_until: Instant::START,
            subscriptions: Vec::new(),
        }
    }

    /// Counts one more packet. Returns true if it is within the rate.
    pub(super) fn allows(&mut self, flood: Flood, now: Instant) -> bool {
        let gap = Nanos(NANOS_PER_S / u64::from(flood.packets_per_s.get()));
        let window = Nanos(gap.0.saturating_mul(u64::from(flood.burst.get())));
        let until = self.busy_until.max(now) + gap;
        self.busy_until = until;
        until.since(now) <= window
    }

    /// The action that its silence requires.
    pub(super) fn silence(&self, options: &Options, now: Instant) -> Silence {
        if self.player.is_none() {
            let end = self.opened + options.login_max;
            return if now >= end { Silence::End } else { Silence::LookAgain(end) };
        }
        let is_pinged = self.pinged > self.heard;
        let end = self.heard + options.idle_max;
        let ping = self.heard + options.quiet_max;
        let look_again = end.min(now + options.quiet_max);
        if now >= end {
            Silence::End
        } else if is_pinged {
            Silence::LookAgain(look_again)
        } else if now >= ping {
            Silence::Ping { look_again }
        } else {
            Silence::LookAgain(ping.min(end))
        }
    }
}

/// The action that the silence of a connection requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    LookAgain(Instant),
    Ping { look_again: Instant },
    End,
}

const NANOS_PER_S: u64 = 1_000_000_000;
