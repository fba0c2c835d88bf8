//! The feeds of a relay, and the connections to them.

use engine::{Address, ConnectionId};
use std::fmt;
use units::{Instant, Nanos};
use wire::broker::{Broker, Login, Subscriber};

/// A broker whose channels are rooms.
#[derive(Clone, Debug)]
pub struct Feed {
    /// The protocol of the broker.
    pub broker: Broker,
    /// The name for messages to the user, without a password.
    pub name: String,
    /// The addresses of the broker, at least one; they are tried in turn.
    pub addresses: Vec<Address>,
    /// The credentials, if the broker requires them.
    pub login: Option<Login>,
    /// The longest message to accept, in bytes.
    pub message_max: usize,
}

/// The totals of the connections to brokers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedTotals {
    /// Messages received from brokers.
    pub published: u64,
    /// Connections that accepted subscriptions.
    pub opened: u64,
    /// Connections that failed, or were lost.
    pub failed: u64,
}

/// All feeds of a relay.
#[derive(Default)]
pub(super) struct Feeds {
    pub(super) all: Vec<Link>,
    pub(super) tell: Option<Box<Tell>>,
}

/// Receives messages about the state of connections.
pub(super) type Tell = dyn FnMut(&str) + Send;

impl fmt::Debug for Feeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.all).finish()
    }
}

/// A feed, and the connection to it.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) feed: Feed,
    pub(super) state: State,
    /// The index of the address in use, or to try next.
    pub(super) at: usize,
    /// The time before the next attempt, if this one fails.
    pub(super) wait: Nanos,
    /// The reasons of failures reported since a connection was last good.
    pub(super) told: Vec<String>,
}

#[derive(Debug)]
pub(super) enum State {
    /// A connection is to be made at this instant.
    Waits(Instant),
    Made(Box<Made>),
}

/// A connection that was started.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) id: ConnectionId,
    pub(super) subscriber: Subscriber,
    /// The instant at which it was ready for subscriptions.
    pub(super) open_since: Option<Instant>,
    /// True once a refused subscription was reported.
    pub(super) was_refused: bool,
    /// The instant at which it was started, or the broker last sent something.
    pub(super) heard_at: Instant,
    /// The instant at which the broker was asked for a sign of life, if it has not sent anything since.
    pub(super) asked_at: Option<Instant>,
}

impl Feeds {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Notes that the connection to a feed is good; reports it if a loss was reported before.
    pub(super) fn is_good(&mut self, feed: usize) {
        let link = &mut self.all[feed];
        if !std::mem::take(&mut link.told).is_empty() {
            let words = format!("{}: connected again", link.feed.name);
            self.say(&words);
        }
    }

    pub(super) fn say(&mut self, words: &str) {
        if let Some(tell) = &mut self.tell {
            tell(words);
        }
    }
}
