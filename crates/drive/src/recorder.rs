//! What a worker writes down: counts, times of messages and phases; and how it hands them over.

use crate::in_flight::Flight;
use crate::last::LastReplies;
use crate::stream::{Segments, Stream, StreamLayers};
use load::{Arrival, Lifetime, Workload};
use stats::Histogram;
use units::{Instant, Nanos};
use wire::Push;
use wire::tls::Facts;

/// The phase that a worker is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Opening the connections that live through all phases.
    Connect,
    /// Waiting for the other workers.
    AwaitStart,
    /// Exchanging messages that do not count.
    WarmUp,
    /// Exchanging messages that count.
    Measure,
    /// Waiting for the last replies.
    Drain,
    /// Ending the connections properly.
    Close,
    /// Finished.
    Done,
}

/// Messages, each counted once where it ended: `sent = ok + error + timed_out + in flight`, and in an open loop
/// `planned = sent + unsent`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Handed to the engine.
    pub sent: u64,
    /// Answered as expected.
    pub ok: u64,
    /// Due and never sent; open loops only.
    pub unsent: u64,
    /// Answered wrongly, or lost with their connection.
    pub error: u64,
    /// Not answered in time.
    pub timed_out: u64,
}

impl Counts {
    /// Adds `other` to this.
    pub fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.unsent += other.unsent;
        self.ok += other.ok;
        self.error += other.error;
        self.timed_out += other.timed_out;
    }

    /// Those whose end is not known (yet).
    pub fn in_flight(self) -> u64 {
        self.sent - self.ok - self.error - self.timed_out
    }
}

/// What happened on one worker since it last handed over: a tenth of a second, less at the end of a phase.
#[derive(Clone, Debug)]
pub struct Interval {
    /// The phase in which all of it happened.
    pub phase: Phase,
    /// When it began.
    pub start: Instant,
    /// When it ended.
    pub end: Instant,
    /// Messages sent in it, and those that ended in it. During warm-up those of the warm-up; from the start of the
    /// measurement on only those sent since then, in an open loop those due since then.
    pub counts: Counts,
    /// Replies that arrived in it, whenever their messages were sent.
    pub replies: u64,
    /// The round trips of all of those replies, added up: what Little's law is checked with.
    pub round_trip_sum: Nanos,
    /// Bytes of the transport's stream, framing and handshakes included, submitted in it.
    pub bytes_sent: u64,
    /// Bytes of the transport's stream that arrived in it.
    pub bytes_received: u64,
    /// From sent to received, for the messages that `counts` has as ok.
    pub round_trips: Histogram,
    /// What an open loop measures besides.
    pub open_loop: Option<OpenLoop>,
}

/// What an open loop measures besides.
#[derive(Clone, Debug, Default)]
pub struct OpenLoop {
    /// From due to received, for the messages that `counts` has as ok; those that it has as error or timed out are in
    /// it with the time-out of replies at least.
    pub response: Histogram,
    /// How late we were, for the messages that `counts` has as sent: from due to sent, but not the time in which no
    /// connection was free (HTTP carries one request at a time) or open, which is not ours.
    pub lag: Histogram,
    /// From the kernel's stamp on the arrival of a reply's last byte to received, for messages that were alone on their
    /// connection.
    pub own_share: Histogram,
    /// What an oracle server says that it waited before it answered.
    pub true_delay: Histogram,
}

impl OpenLoop {
    /// Forgets everything; keeps the memory.
    pub fn clear(&mut self) {
        self.response.reset();
        self.lag.reset();
        self.own_share.reset();
        self.true_delay.reset();
    }
}

impl Interval {
    /// An interval in which nothing has happened yet, of a workload with such arrivals.
    pub fn new(arrival: &Arrival) -> Self {
        Self {
            open_loop: (!arrival.is_closed()).then(OpenLoop::default),
            phase: Phase::Connect,
            start: Instant::START,
            end: Instant::START,
            counts: Counts::default(),
            replies: 0,
            round_trip_sum: Nanos::ZERO,
            bytes_sent: 0,
            bytes_received: 0,
            round_trips: Histogram::new(),
        }
    }

    /// Makes it empty again, so that its memory can be used for another one.
    pub fn clear(&mut self) {
        self.counts = Counts::default();
        self.replies = 0;
        self.round_trip_sum = Nanos::ZERO;
        self.bytes_sent = 0;
        self.bytes_received = 0;
        self.round_trips.reset();
        if let Some(open_loop) = &mut self.open_loop {
            open_loop.clear();
        }
    }
}

/// Is told what happens while it happens. Called ten times a second and at phase boundaries, never for a message.
pub trait Observer {
    /// Takes what is in `interval` and leaves an empty one in its place ([`Interval::clear`]).
    fn interval(&mut self, interval: &mut Box<Interval>);

    /// The measurement begins (`Measure`) or has ended (`Drain`) at `now`: the moment to read what counts time apart.
    fn phase(&mut self, phase: Phase, now: Instant);
}

/// How long the phases of connections took: over all connections of a worker, or, where they are short-lived clients,
/// over those that began in the measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    /// From just before the connect to the established connection.
    pub connect: Histogram,
    /// From there to the completed TLS handshake, where nothing of an earlier one could be used.
    pub tls_full: Histogram,
    /// The same where a session was resumed.
    pub tls_resumed: Histogram,
    /// From the established connection, with TLS from the end of its handshake, to the completed opening handshake of
    /// the protocol; empty for protocols without one.
    pub handshake: Histogram,
    /// From the sending of the first message to its whole reply.
    pub first_reply: Histogram,
    /// Short-lived clients: from just before the connect to the last whole reply.
    pub life: Histogram,
    /// From the start of the proper end, which for short-lived clients is the last whole reply, to its completion.
    pub close: Histogram,
}

/// Connections, each counted once where it ended, and again in `reopened` where another took its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// Attempts that were started.
    pub started: u64,
    /// Attempts that became open connections.
    pub opened: u64,
    /// Attempts that did not.
    pub failed: u64,
    /// Open connections that ended without our asking.
    pub lost: u64,
    /// Connections opened in the place of one that the protocol allowed the peer to end; in an open loop also of one
    /// that was lost, or could not be made.
    pub reopened: u64,
}

/// Why something went wrong, in classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorClass {
    /// The proper end was not completed in time.
    CloseTimedOut,
    /// The peer ended the connection.
    ClosedByPeer,
    /// The connection could not be established.
    ConnectFailed,
    /// The connection was not established in time.
    ConnectTimedOut,
    /// The connection was cut.
    Cut,
    /// The opening handshake was not completed in time.
    HandshakeTimedOut,
    /// The peer broke its protocol.
    Protocol,
    /// The peer refused a message.
    Refused,
    /// No reply came in time.
    ReplyTimedOut,
    /// TLS failed: the peer's certificate was refused, or ours; nothing in common; a record that is none.
    Tls,
    /// The TLS handshake was not completed in time.
    TlsTimedOut,
    /// The reply was not the expected one.
    WrongReply,
}

/// How often something of one class went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// What.
    pub class: ErrorClass,
    /// How often.
    pub count: u64,
    /// The first case, in words; bytes of the peer in it are escaped.
    pub example: String,
}

/// All that a worker leaves behind besides its intervals.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Messages that the measurement was to send: the number asked for; where it ran for a time, those that were due
    /// in it, which in a closed loop are those that were sent.
    pub planned: u64,
    /// Messages of the measurement: sent in it, in an open loop due in it.
    pub measured: Counts,
    /// Messages before it.
    pub warm_up: Counts,
    /// Connections, from the first to the last.
    pub connections: ConnectionCounts,
    /// Short-lived clients that began in the measurement and had all their round trips.
    pub clients_served: u64,
    /// How long their phases took.
    pub times: Times,
    /// What TLS handshakes agreed on; `None` without TLS, or if none was completed.
    pub tls: Option<TlsSeen>,
    /// What the bytes of the measured window were.
    pub layers: StreamLayers,
    /// In how many segments they travelled; `None` where no connection says it: Unix sockets, the simulation.
    pub segments: Option<Segments>,
    /// What went wrong, by class.
    pub errors: Vec<Tally>,
    /// What became of replies that carry a header; `None` where messages carry none.
    pub identity: Option<Identity>,
    /// Gaps in the worker's own loop during the measurement.
    pub stalls: Stalls,
    /// How many replies came on each connection that lives through all phases, in the measurement.
    pub replies_each: Vec<u64>,
    /// What came that nobody asked for.
    pub pushed: Pushed,
    /// The last right replies that came in the measurement; none in a closed loop without bots.
    pub last_replies: LastReplies,
    /// Partly open: what became of the sessions that were due in the measurement.
    pub sessions: Option<Sessions>,
    /// The measurement: from the first instant at which a message that counts may have been sent, in an open loop due,
    /// to the instant that ended it, which is not part of it. `None` if it was never reached.
    pub window: Option<(Instant, Instant)>,
}

/// What came that nobody asked for: [`wire::Event::Pushed`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Replies to other connections' messages, in the measurement.
    pub deliveries: u64,
    /// Whatever else, in the measurement.
    pub notices: u64,
    /// The payloads of both.
    pub payload_bytes: u64,
    /// Replies to other connections' messages from the first to the last, warm-up and drain included.
    pub deliveries_in_all: u64,
}

impl Pushed {
    /// Adds `other` to this.
    pub fn add(&mut self, other: Self) {
        self.deliveries += other.deliveries;
        self.notices += other.notices;
        self.payload_bytes += other.payload_bytes;
        self.deliveries_in_all += other.deliveries_in_all;
    }
}

/// What TLS handshakes agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSeen {
    /// In the first of them.
    pub facts: Facts,
    /// How many were full ones: as many as [`Times::tls_full`] has.
    pub full: u64,
    /// How many resumed a session: as many as [`Times::tls_resumed`] has.
    pub resumed: u64,
}

/// What became of replies, by what their headers say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Messages without a reply, on a connection that answered a later one.
    pub lost: u64,
    /// Replies to messages that had been answered already.
    pub duplicate: u64,
    /// Right replies that came after the reply to a later message of their connection.
    pub reordered: u64,
    /// Replies whose bytes differ from what was sent.
    pub corrupted: u64,
}

/// Gaps in the worker's own loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// How many.
    pub count: u64,
    /// The longest.
    pub longest: Nanos,
    /// All together.
    pub total: Nanos,
    /// Messages whose times they changed, each counted once: due in one, or outstanding when it began.
    pub affected: u64,
    /// The first of them, [`Stalls::KEPT_MAX`] at most.
    pub first: Vec<Stall>,
}

impl Stalls {
    /// How many are kept one by one.
    pub const KEPT_MAX: usize = 100;
}

/// A gap in the worker's own loop: from the instant at which it was to go on, to the instant at which it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// When it was to go on.
    pub from: Instant,
    /// When it did.
    pub until: Instant,
    /// Messages that were due in it, or outstanding when it began.
    pub affected: u64,
}

/// What became of the sessions that were due in the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sessions {
    /// That were to begin.
    pub planned: u64,
    /// That began: a connect was started for them.
    pub started: u64,
    /// That had all their replies. The end of the measurement cuts those that are in the middle.
    pub completed: u64,
}

/// Writes everything down.
#[derive(Debug)]
pub(crate) struct Recorder {
    interval: Box<Interval>,
    /// Messages due from here on count; in a closed loop they are due when they are sent.
    measured_from: Instant,
    /// Whether connections that began before that count too.
    long_lived: bool,
    /// What a message that fails has cost its user at least.
    reply_timeout: Nanos,
    pub(crate) measured: Counts,
    pub(crate) warm_up: Counts,
    pub(crate) connections: ConnectionCounts,
    clients_served: u64,
    times: Times,
    tls: Option<TlsSeen>,
    pub(crate) stream: Stream,
    /// How long the payload of a message is.
    payload_len: u64,
    pub(crate) errors: Vec<Tally>,
    identity: Identity,
    stalls: Stalls,
    stalled_until: Instant,
    pushed: Pushed,
    /// None in a closed loop without bots.
    last_replies: Option<LastReplies>,
    pub(crate) sessions: Sessions,
    pub(crate) replies_each: Vec<u64>,
}

/// How a message ended, other than well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Error,
    TimedOut,
}

impl Recorder {
    pub(crate) fn new(workload: &Workload) -> Self {
        Self {
            interval: Box::new(Interval::new(&workload.arrival)),
            measured_from: Instant::NEVER,
            long_lived: workload.lifetime == Lifetime::Long,
            reply_timeout: workload.timeouts.reply,
            measured: Counts::default(),
            warm_up: Counts::default(),
            connections: ConnectionCounts::default(),
            clients_served: 0,
            times: Times::default(),
            tls: None,
            stream: Stream::default(),
            payload_len: workload.content.payload().len() as u64,
            errors: Vec::new(),
            identity: Identity::default(),
            stalled_until: Instant::START,
            stalls: Stalls { first: Vec::with_capacity(Stalls::KEPT_MAX), ..Stalls::default() },
            pushed: Pushed::default(),
            last_replies: (!matches!(workload.arrival, Arrival::Closed { .. }))
                .then(LastReplies::with_room),
            sessions: Sessions::default(),
            replies_each: Vec::new(),
        }
    }

    /// `count` messages of a closed loop were handed over at `sent`, in `bytes` bytes of the stream.
    #[inline]
    pub(crate) fn sent(&mut self, sent: Instant, count: u32, bytes: usize) {
        self.interval.bytes_sent += bytes as u64;
        self.stream.sent(u64::from(count) * self.payload_len);
        self.count(sent, u64::from(count), |counts| &mut counts.sent);
    }

    /// A message of an open loop was handed over, `lag` later than we could have.
    #[inline]
    pub(crate) fn sent_due(&mut self, flight: Flight, lag: Nanos, bytes: usize) {
        self.interval.bytes_sent += bytes as u64;
        self.stream.sent(self.payload_len);
        let is_of_interval = self.count(flight.due, 1, |counts| &mut counts.sent);
        if let Some(open_loop) = &mut self.interval.open_loop
            && is_of_interval
        {
            open_loop.lag.record(lag);
        }
    }

    /// `count` messages that were due at `due` or right after it will not be sent.
    pub(crate) fn unsent(&mut self, due: Instant, count: u64) {
        self.count(due, count, |counts| &mut counts.unsent);
    }

    /// The whole reply to a message was decoded at `received`, and is what it should be.
    #[inline]
    pub(crate) fn reply(&mut self, flight: Flight, received: Instant) {
        let round_trip = received.since(flight.sent);
        self.interval.replies += 1;
        self.interval.round_trip_sum += round_trip;
        if let Some(last) = &mut self.last_replies
            && self.interval.phase == Phase::Measure
        {
            last.record(flight.sent, received);
        }
        if !self.count(flight.due, 1, |counts| &mut counts.ok) {
            return; // Of the warm-up: neither its round trip nor its end belongs to this phase.
        }
        self.interval.round_trips.record(round_trip);
        if let Some(open_loop) = &mut self.interval.open_loop {
            open_loop.response.record(received.since(flight.due));
        }
    }

    /// Something came that nobody here asked for.
    #[inline]
    pub(crate) fn pushed(&mut self, pushed: wire::Pushed<'_>) {
        self.stream.received(pushed.payload.len());
        let is_delivery = u64::from(pushed.kind == Push::Delivery);
        self.pushed.deliveries_in_all += is_delivery;
        if self.interval.phase == Phase::Measure {
            self.pushed.deliveries += is_delivery;
            self.pushed.notices += 1 - is_delivery;
            self.pushed.payload_bytes += pushed.payload.len() as u64;
        }
    }

    /// How many replies came so far, those to other connections' messages among them.
    pub(crate) fn heard(&self) -> u64 {
        self.warm_up.ok + self.measured.ok + self.pushed.deliveries_in_all
    }

    /// The message ended badly at `now`.
    pub(crate) fn failed(&mut self, flight: Flight, failure: Failure, now: Instant) {
        let is_of_interval = self.count(flight.due, 1, |counts| match failure {
            Failure::Error => &mut counts.error,
            Failure::TimedOut => &mut counts.timed_out,
        });
        if let Some(open_loop) = &mut self.interval.open_loop
            && is_of_interval
        {
            open_loop.response.record(now.since(flight.due).max(self.reply_timeout));
        }
    }

    /// Counts messages where they belong by `due`, and says whether that is this phase: what the warm-up leaves over
    /// belongs to no later interval.
    #[inline]
    fn count(&mut self, due: Instant, count: u64, of: impl Fn(&mut Counts) -> &mut u64) -> bool {
        if due >= self.measured_from {
            *of(&mut self.measured) += count;
        } else {
            *of(&mut self.warm_up) += count;
            if self.interval.phase > Phase::WarmUp {
                return false;
            }
        }
        *of(&mut self.interval.counts) += count;
        true
    }

    /// The kernel had the last byte of the reply to a message so long before we had decoded it.
    pub(crate) fn own_share(&mut self, flight: Flight, share: Nanos) {
        let is_measured = flight.due >= self.measured_from;
        if let Some(open_loop) = &mut self.interval.open_loop
            && is_measured
        {
            open_loop.own_share.record(share);
        }
    }

    /// The server says that it kept a message for so long.
    pub(crate) fn true_delay(&mut self, flight: Flight, delay: Nanos) {
        let is_measured = flight.due >= self.measured_from;
        if let Some(open_loop) = &mut self.interval.open_loop
            && is_measured
        {
            open_loop.true_delay.record(delay);
        }
    }

    /// One more reply of some kind, to a message that was due at `due`.
    pub(crate) fn identity(&mut self, due: Instant, of: impl Fn(&mut Identity) -> &mut u64) {
        if self.is_measured(due) {
            *of(&mut self.identity) += 1;
        }
    }

    /// So many messages that are not known any more got no reply.
    pub(crate) fn lost(&mut self, count: u64) {
        self.identity.lost += count;
    }

    /// When the loop went on after it had stood still the last time; what is outstanding and was due before that has
    /// been counted as affected.
    pub(crate) fn stalled_until(&self) -> Instant {
        self.stalled_until
    }

    /// The worker's loop stood still while so many messages were outstanding, of which so many were not in the stall
    /// before.
    pub(crate) fn stalled(&mut self, from: Instant, until: Instant, outstanding: u64, fresh: u64) {
        if !self.is_measured(until) {
            return;
        }
        self.stalled_until = until;
        let length = until.since(from);
        self.stalls.count += 1;
        self.stalls.longest = self.stalls.longest.max(length);
        self.stalls.total += length;
        self.stalls.affected += fresh;
        if self.stalls.first.len() < Stalls::KEPT_MAX {
            self.stalls.first.push(Stall { from, until, affected: outstanding });
        }
    }

    /// `count` messages were due in the stall that ended at `until`.
    pub(crate) fn affected(&mut self, until: Instant, count: u64) {
        if self.is_measured(until) {
            self.stalls.affected += count;
        }
        if let Some(stall) = self.stalls.first.iter_mut().rfind(|stall| stall.until == until) {
            stall.affected += count;
        }
    }

    /// Whether what belongs to `instant` is part of the measurement.
    #[inline]
    pub(crate) fn is_measured(&self, instant: Instant) -> bool {
        instant >= self.measured_from && self.measured_from != Instant::NEVER
    }

    #[inline]
    pub(crate) fn bytes_received(&mut self, len: usize) {
        self.interval.bytes_received += len as u64;
    }

    /// Bytes that are not part of a message: handshakes, answers of the protocol itself.
    pub(crate) fn bytes_sent(&mut self, len: usize) {
        self.interval.bytes_sent += len as u64;
    }

    /// The phase times, if those of a connection that began at `began` count.
    pub(crate) fn times(&mut self, began: Instant) -> Option<&mut Times> {
        (self.long_lived || began >= self.measured_from).then_some(&mut self.times)
    }

    /// The TLS handshake of a connection that began at `began` was completed, after so long.
    pub(crate) fn secured(&mut self, facts: Facts, began: Instant, took: Nanos) {
        let is_resumed = facts.resumed;
        let mut seen = self.tls.take().unwrap_or(TlsSeen { facts, full: 0, resumed: 0 });
        if let Some(times) = self.times(began) {
            if is_resumed {
                seen.resumed += 1;
                times.tls_resumed.record(took);
            } else {
                seen.full += 1;
                times.tls_full.record(took);
            }
        }
        self.tls = Some(seen);
    }

    /// A short-lived client that began at `began` had the last of its round trips at `now`.
    pub(crate) fn served(&mut self, began: Instant, now: Instant) {
        if began >= self.measured_from {
            self.clients_served += 1;
            self.times.life.record(now.since(began));
        }
    }

    /// What is left behind at the end.
    pub(crate) fn finish(self, left: Left) -> Outcome {
        let planned = left.planned.unwrap_or(self.measured.sent + self.measured.unsent);
        let is_open = self.interval.open_loop.is_some();
        Outcome {
            planned,
            measured: Counts {
                unsent: if is_open { planned - self.measured.sent } else { 0 },
                ..self.measured
            },
            warm_up: self.warm_up,
            connections: self.connections,
            clients_served: self.clients_served,
            times: self.times,
            tls: self.tls,
            layers: self.stream.layers(),
            segments: self.stream.segments(),
            errors: self.errors,
            identity: left.has_header.then_some(self.identity),
            stalls: self.stalls,
            replies_each: self.replies_each,
            pushed: self.pushed,
            last_replies: self.last_replies.unwrap_or_default(),
            sessions: left.has_sessions.then_some(self.sessions),
            window: left.window,
        }
    }

    /// Counts what went wrong; `example` is called for the first of its class only.
    pub(crate) fn tally(&mut self, class: ErrorClass, example: impl FnOnce() -> String) {
        match self.errors.iter_mut().find(|tally| tally.class == class) {
            Some(tally) => tally.count += 1,
            None => self.errors.push(Tally { class, count: 1, example: example() }),
        }
    }

    /// Hands the interval over and begins the next one, in `phase`.
    pub(crate) fn hand_over(&mut self, observer: &mut impl Observer, phase: Phase, now: Instant) {
        let Interval { phase: ending, bytes_sent, bytes_received, .. } = *self.interval;
        self.stream.interval(ending, bytes_sent, bytes_received);
        self.interval.end = now;
        observer.interval(&mut self.interval);
        self.interval.phase = phase;
        self.interval.start = now;
    }

    /// Messages due from `instant` on count.
    pub(crate) fn measure_from(&mut self, instant: Instant) {
        self.measured_from = instant;
    }

    /// From when on messages count.
    pub(crate) fn measured_from(&self) -> Instant {
        self.measured_from
    }

    /// When the current interval began.
    pub(crate) fn interval_start(&self) -> Instant {
        self.interval.start
    }
}

/// What the recorder does not know of what is left behind.
pub(crate) struct Left {
    /// The number of messages that was asked for, if one was.
    pub(crate) planned: Option<u64>,
    pub(crate) has_header: bool,
    pub(crate) has_sessions: bool,
    pub(crate) window: Option<(Instant, Instant)>,
}

/// How long an interval is.
pub(crate) const INTERVAL: Nanos = Nanos::from_millis(100);
