//! Brokers that the relay subscribes to: messages published there in a channel go to the receivers of the room of the
//! same name. The relay is subscribed to a channel while its room has members.
//!
//! An attempt tries all addresses of a broker, one after another, before it has failed. A connection that fails or is
//! lost is made again after a back-off, which doubles from [`WAIT_FIRST`] to [`WAIT_MAX`]. Each reason is reported
//! once, until a connection has been good for [`WAIT_MAX`]: a broker that accepts connections and ends them at once
//! does not flood the terminal.

use super::Relay;
use super::hub::Change;
use super::links::{Feed, Feeds, Link, Made, State};
use engine::{Completion, Engine};
use units::{Instant, Nanos};
use wire::broker::{Heard, Subscriber};
use wire::{Input, Kind};

impl Relay {
    /// Subscribes to `feeds` for the rooms that have members. Calls `tell` with a message when a connection is lost,
    /// and when it is good again.
    #[must_use]
    pub fn with_feeds(mut self, feeds: Vec<Feed>, tell: impl FnMut(&str) + Send + 'static) -> Self {
        if feeds.is_empty() {
            return self;
        }
        self.hub.note_changes();
        let link = |feed| Link {
            feed,
            state: State::Waits(Instant::START),
            at: 0,
            wait: WAIT_FIRST,
            told: Vec::new(),
        };
        self.feeds =
            Feeds { all: feeds.into_iter().map(link).collect(), tell: Some(Box::new(tell)) };
        self
    }

    /// Handles a completion of a connection to a feed. Returns false if it is not one.
    pub(super) fn heard_of_feed<E: Engine>(
        &mut self,
        engine: &mut E,
        completion: Completion,
    ) -> bool {
        let (Completion::Accepted(id)
        | Completion::Connected(id)
        | Completion::Ended(id)
        | Completion::Failed(id, _)
        | Completion::Received { connection: id, .. }) = completion;
        let is_its = |link: &Link| matches!(&link.state, State::Made(made) if made.id == id);
        let Some(feed) = self.feeds.all.iter().position(is_its) else { return false };
        match completion {
            Completion::Connected(_) => self.feed_is_connected(engine, feed),
            Completion::Received { len, .. } => self.feed_received(engine, feed, len),
            Completion::Ended(_) => self.feed_is_lost(engine, feed, "the connection ended"),
            Completion::Failed(_, error) => self.feed_is_lost(engine, feed, &error.to_string()),
            Completion::Accepted(_) => {} // We connected, so it was not accepted.
        }
        true
    }

    /// Begins the subscriber's protocol on an established connection to a feed.
    fn feed_is_connected<E: Engine>(&mut self, engine: &mut E, feed: usize) {
        let State::Made(made) = &mut self.feeds.all[feed].state else { return };
        let mut tx = Vec::new();
        made.subscriber.open(&mut tx);
        engine.send(made.id, &tx);
    }

    /// Delivers what arrived from a feed.
    fn feed_received<E: Engine>(&mut self, engine: &mut E, feed: usize, len: usize) {
        self.totals.bytes_received += len as u64;
        let now = engine.now();
        let waits = State::Waits(now);
        let State::Made(mut made) = std::mem::replace(&mut self.feeds.all[feed].state, waits)
        else {
            return;
        };
        (made.heard_at, made.asked_at) = (now, None);
        let mut bytes = std::mem::take(&mut self.rx);
        let mut input = Input::new(&mut bytes[..len]);
        let mut tx = Vec::new();
        let ended = loop {
            match made.subscriber.receive(&mut input, &mut tx) {
                Ok(None) => break None,
                Ok(Some(Heard::Alive)) => {}
                Ok(Some(Heard::Message { channel, payload })) => {
                    self.totals.feeds.published += 1;
                    let message = (Kind::of(payload), payload);
                    self.gather(engine, (None, None), channel, message);
                }
                Ok(Some(Heard::Open)) => {
                    made.open_since = Some(now);
                    self.totals.feeds.opened += 1;
                    for room in self.hub.names() {
                        made.subscriber.subscribe(room, &mut tx);
                    }
                }
                Ok(Some(Heard::Refused { said })) => {
                    if !std::mem::replace(&mut made.was_refused, true) {
                        let name = &self.feeds.all[feed].feed.name;
                        let words =
                            format!("{name}: refused a subscription: {said}; the others continue");
                        self.feeds.say(&words);
                    }
                }
                Err(error) => break Some(error.to_string()),
            }
        };
        self.deliver(engine);
        self.rx = bytes;
        self.totals.bytes_sent += tx.len() as u64;
        engine.send(made.id, &tx);
        self.feeds.all[feed].state = State::Made(made);
        if let Some(reason) = ended {
            self.feed_is_lost(engine, feed, &reason);
        }
    }

    /// Handles a connection to a feed that has ended or is given up.
    fn feed_is_lost<E: Engine>(&mut self, engine: &mut E, feed: usize, reason: &str) {
        let now = engine.now();
        let link = &mut self.feeds.all[feed];
        let State::Made(made) = &link.state else { return };
        engine.close(made.id);
        self.totals.feeds.failed += 1;
        let was_open = made.open_since.is_some();
        link.at = if was_open { 0 } else { link.at + 1 };
        if (1..link.feed.addresses.len()).contains(&link.at) {
            link.state = State::Waits(now); // The broker has another address.
            return;
        }
        link.at = 0;
        link.state = State::Waits(now + link.wait);
        link.wait = Nanos(link.wait.0.saturating_mul(2)).min(WAIT_MAX);
        if !link.told.iter().any(|told| told == reason) {
            link.told.push(reason.to_owned());
            let what = if was_open { "lost" } else { "cannot subscribe" };
            let words = format!("{}: {what}: {reason}; trying again", link.feed.name);
            self.feeds.say(&words);
        }
    }

    /// Makes missing connections, gives up silent ones, and updates the subscriptions to the rooms that have members.
    pub(super) fn keep_feeds<E: Engine>(&mut self, engine: &mut E, now: Instant) {
        if self.feeds.is_empty() {
            return;
        }
        let changes = self.hub.take_changes();
        for feed in 0..self.feeds.all.len() {
            let link = &mut self.feeds.all[feed];
            let made = match &mut link.state {
                State::Waits(until) if *until <= now => {
                    let Feed { broker, login, message_max, .. } = &link.feed;
                    let subscriber = Subscriber::new(*broker, login.clone(), *message_max);
                    let id = engine.connect(&link.feed.addresses[link.at], None);
                    link.state = State::Made(Box::new(Made {
                        id,
                        subscriber,
                        open_since: None,
                        was_refused: false,
                        heard_at: now,
                        asked_at: None,
                    }));
                    continue;
                }
                State::Waits(_) => continue,
                State::Made(made) => made,
            };
            let quiet = now.since(made.heard_at);
            let mut tx = Vec::new();
            if made.open_since.is_some() {
                for Change { room, is_open } in &changes {
                    if *is_open {
                        made.subscriber.subscribe(room, &mut tx);
                    } else {
                        made.subscriber.unsubscribe(room, &mut tx);
                    }
                }
                if quiet >= QUIET_MAX && made.asked_at.is_none() {
                    made.asked_at = Some(now);
                    made.subscriber.ping(&mut tx);
                }
            }
            let is_good =
                made.open_since.is_some_and(|since| made.heard_at.since(since) >= WAIT_MAX);
            self.totals.bytes_sent += tx.len() as u64;
            engine.send(made.id, &tx);
            let silent = match made.open_since {
                Some(_) => made
                    .asked_at
                    .is_some_and(|at| now.since(at) >= QUIET_MAX)
                    .then_some("it did not answer a ping within 10 s"),
                None => (quiet >= QUIET_MAX).then_some("it has sent nothing for 10 s"),
            };
            if let Some(reason) = silent {
                self.feed_is_lost(engine, feed, reason);
            } else if quiet >= QUIET_MAX && engine.unsent(made.id) > UNSENT_MAX {
                self.feed_is_lost(engine, feed, "it does not read what we send");
            } else if is_good {
                link.wait = WAIT_FIRST;
                self.feeds.is_good(feed);
            }
        }
    }

    /// Ends all connections to feeds: nothing more is delivered from there.
    pub(super) fn end_feeds<E: Engine>(&mut self, engine: &mut E) {
        for link in self.feeds.all.drain(..) {
            if let State::Made(made) = link.state {
                engine.close(made.id);
            }
        }
    }
}

/// The time from the first failure of a connection to the next attempt.
const WAIT_FIRST: Nanos = Nanos::from_millis(100);

/// The longest time between two attempts. A connection counts as good once its broker has sent something after it was
/// open for this long.
const WAIT_MAX: Nanos = Nanos::from_secs(10);

/// The time without a sign of life after which a broker is asked for one, and the time that it has to answer.
const QUIET_MAX: Nanos = Nanos::from_secs(10);

/// The most bytes that may be unsent to a broker that sends nothing for [`QUIET_MAX`]; large, because all subscriptions
/// go out at once.
const UNSENT_MAX: usize = 16 << 20;
