//! The recorder of a worker: counts, and times of messages and phases.
//!
//! It hands over an [`Interval`] ten times a second and an [`Outcome`] at the end; both can be merged. Recording a
//! message allocates nothing.

use crate::in_flight::{Flight, InFlight};
use crate::last_replies::LastRing;
use crate::rooms::{Class, Delivered};
use crate::stream::Stream;
use crate::text::{Words, excerpt};
use load::{Arrival, Lifetime, Requests, Workload};
use record::{
    Cause, Connections, Counts, DeliveryOutcome, ErrorClass, ExchangeOutcome, Handshakes,
    Histogram, Identity, IdsFound, Merge, Outcome, PhaseTimes, PushOutcome, Pushed, Said, Sessions,
    Stall, Stalls, Tally, TlsParameters, Traffic,
};
use spec::conversation::Reply;
use std::collections::BTreeMap;
use units::{Instant, Nanos};
use wire::Push;
use wire::conversation::Hits;
use wire::http1::RetryAfter;
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

/// Messages of one worker since it last handed over: a tenth of a second, less at the end of a phase.
#[derive(Clone, Debug)]
pub struct Interval {
    /// The phase to which all of it belongs.
    pub phase: Phase,
    /// The instant at which it began.
    pub start: Instant,
    /// The instant at which it ended.
    pub end: Instant,
    /// The messages, times and bytes.
    pub traffic: Traffic,
    /// Connections that were opened in it.
    pub opened: u64,
    /// Failures in it, of connections as well as of messages.
    pub failures: u64,
    /// The single times that the histograms of `traffic` counted; empty unless the worker keeps them.
    pub raw_times: Vec<RawTime>,
}

/// One time of one message, as it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawTime {
    /// The histogram that counted it.
    pub of: TimeOf,
    /// The time.
    pub time: Nanos,
}

/// The histograms whose times are kept one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeOf {
    /// [`record::OpenLoopTimes::response`].
    Response,
    /// [`Traffic::round_trips`].
    Service,
    /// [`record::OpenLoopTimes::lag`].
    Lag,
}

impl Interval {
    /// An empty interval of a workload with these arrivals.
    pub fn new(arrival: &Arrival) -> Self {
        Self {
            phase: Phase::Connect,
            start: Instant::START,
            end: Instant::START,
            traffic: Traffic::new(!arrival.is_closed()),
            opened: 0,
            failures: 0,
            raw_times: Vec::new(),
        }
    }
}

/// Receives results while the run goes on. Called ten times a second and at phase boundaries, never for a message.
pub trait Observer {
    /// Takes the content of `interval` and leaves an empty one in its place ([`Traffic::clear`]), without raw times.
    fn interval(&mut self, interval: &mut Box<Interval>);

    /// Reports that the measurement begins (`Measure`) or has ended (`Drain`) at `now`: the moment to read external
    /// counters.
    fn phase(&mut self, phase: Phase, now: Instant);
}

impl<O: Observer + ?Sized> Observer for &mut O {
    fn interval(&mut self, interval: &mut Box<Interval>) {
        (**self).interval(interval);
    }

    fn phase(&mut self, phase: Phase, now: Instant) {
        (**self).phase(phase, now);
    }
}

/// Records everything that happens to messages and connections.
#[derive(Debug)]
pub(crate) struct Recorder {
    interval: Box<Interval>,
    /// Messages due from this instant on count; in a closed loop they are due when they are sent.
    measured_from: Instant,
    /// The end of the measured window; [`Instant::NEVER`] before it.
    measured_until: Instant,
    /// The total time in the window for which messages without a right reply were in flight.
    unanswered: Nanos,
    /// True if connections that began before the measurement count too.
    long_lived: bool,
    /// The least response time recorded for a failed message.
    reply_timeout: Nanos,
    pub(crate) measured: Counts,
    pub(crate) warm_up: Counts,
    pub(crate) connections: Connections,
    clients_served: u64,
    times: PhaseTimes,
    refused: Histogram,
    tls: Vec<(Facts, Handshakes)>,
    pub(crate) stream: Stream,
    /// True if our messages are published in rooms: then a delivery is what a reply is elsewhere.
    publishes: bool,
    /// The length of a message's payload.
    payload_len: u64,
    errors: BTreeMap<ErrorClass, Tally>,
    identity: Identity,
    /// The kinds of requests and the rules for pushes of a conversation; empty without one.
    exchanges: Box<[ExchangeOutcome]>,
    pushes: Box<[PushOutcome]>,
    /// Unasked messages of the conversation since the start of the run.
    pushes_whole: u64,
    ids_found: Option<IdsFound>,
    stalls: Stalls,
    stalled_until: Instant,
    looked: Nanos,
    pushed: Pushed,
    /// `None` unless the workload asks for it.
    last_replies: Option<LastRing>,
    pub(crate) sessions: Sessions,
    replies_each: BTreeMap<u64, u64>,
    /// True if every single time is kept too.
    pub(crate) keeps_raw_times: bool,
}

/// The ways in which a message can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Error,
    Refused,
    TimedOut,
}

impl Recorder {
    pub(crate) fn new(workload: &Workload) -> Self {
        Self {
            interval: Box::new(Interval::new(&workload.arrival)),
            measured_from: Instant::NEVER,
            measured_until: Instant::NEVER,
            unanswered: Nanos::ZERO,
            long_lived: workload.lifetime == Lifetime::Long,
            reply_timeout: workload.timeouts.reply,
            measured: Counts::default(),
            warm_up: Counts::default(),
            connections: Connections::default(),
            clients_served: 0,
            times: PhaseTimes::default(),
            refused: Histogram::default(),
            tls: Vec::new(),
            stream: Stream::new(workload.requests.is_some()),
            publishes: workload.rooms.is_some(),
            payload_len: workload.content.payload().len() as u64,
            errors: BTreeMap::new(),
            identity: Identity::default(),
            exchanges: workload.requests.as_ref().map_or_else(Box::default, exchanges),
            pushes: workload.requests.as_ref().map_or_else(Box::default, pushes),
            pushes_whole: 0,
            ids_found: None,
            stalled_until: Instant::START,
            looked: Nanos::ZERO,
            stalls: Stalls { first: Vec::with_capacity(Stalls::KEPT_MAX), ..Stalls::default() },
            pushed: Pushed::default(),
            last_replies: workload.last_replies.then(LastRing::new),
            sessions: Sessions::default(),
            replies_each: BTreeMap::new(),
            keeps_raw_times: false,
        }
    }

    /// Keeps a time that a histogram has counted, if raw times are wanted.
    #[inline]
    fn keep(&mut self, of: TimeOf, time: Nanos) {
        if self.keeps_raw_times {
            self.interval.raw_times.push(RawTime { of, time });
        }
    }

    /// Records that `count` messages were handed over, in `bytes` bytes of the stream, `lag` later than possible.
    #[inline]
    pub(crate) fn sent(&mut self, flight: Flight, count: u32, lag: Nanos, bytes: usize) {
        self.interval.traffic.bytes_sent += bytes as u64;
        self.stream.sent(u64::from(count) * self.payload_len);
        let is_of_interval = self.count(flight.due, count.into(), |counts| &mut counts.sent);
        if let Some(open_loop) = &mut self.interval.traffic.open_loop
            && is_of_interval
        {
            open_loop.lag.record(lag);
            self.keep(TimeOf::Lag, lag);
        }
    }

    /// Counts a message, already counted as sent, among those of its kind.
    #[inline]
    pub(crate) fn sent_kind(&mut self, flight: Flight) {
        if let Some(of) = self.exchange(flight) {
            of.counts.sent += 1;
        }
    }

    /// Counts `count` messages as unsent that were due at `due` or right after it.
    pub(crate) fn unsent(&mut self, due: Instant, count: u64) {
        self.count(due, count, |counts| &mut counts.unsent);
    }

    /// Records that the whole reply to a message was decoded at `received` and is right.
    #[inline]
    pub(crate) fn reply(&mut self, flight: Flight, received: Instant) {
        let round_trip = received.since(flight.sent);
        if !self.publishes {
            self.interval.traffic.replies += 1;
            self.interval.traffic.round_trip_sum += round_trip;
        }
        if let Some(last) = &mut self.last_replies
            && self.interval.phase == Phase::Measure
        {
            last.record(flight.sent, received);
        }
        if !self.count(flight.due, 1, |counts| &mut counts.ok) {
            return; // From the warm-up: neither its round trip nor its end belongs to this phase.
        }
        self.interval.traffic.round_trips.record(round_trip);
        self.keep(TimeOf::Service, round_trip);
        let response = received.since(flight.due);
        if let Some(open_loop) = &mut self.interval.traffic.open_loop
            && !self.publishes
        {
            open_loop.response.record(response);
            self.keep(TimeOf::Response, response);
        }
        let is_open = self.interval.traffic.open_loop.is_some();
        if let Some(of) = self.exchange(flight) {
            of.counts.ok += 1;
            of.service.record(round_trip);
            if is_open {
                of.response.record(response);
            }
        }
    }

    /// Records that a message was sent that gets no reply: it has ended well, and has no times.
    pub(crate) fn complete(&mut self, flight: Flight) {
        self.count(flight.due, 1, |counts| &mut counts.ok);
        if let Some(of) = self.exchange(flight) {
            of.counts.ok += 1;
        }
    }

    /// Records that a part of the reply to a message was decoded at `now`; `before` is the instant of the previous
    /// part.
    pub(crate) fn part(&mut self, flight: Flight, before: Option<Instant>, now: Instant) {
        if let Some(of) = self.exchange(flight) {
            of.parts += 1;
            match before {
                Some(before) => of.between_parts.record(now.since(before)),
                None => of.first_part.record(now.since(flight.due)),
            }
        }
    }

    /// Records that the stream that answers a message broke off and is requested again.
    pub(crate) fn resumed(&mut self, flight: Flight) {
        if let Some(of) = self.exchange(flight) {
            of.resumed += 1;
        }
    }

    /// Records that a message met a redirect, which is followed.
    pub(crate) fn redirected(&mut self, flight: Flight) {
        self.count(flight.due, 1, |counts| &mut counts.redirects);
        if let Some(of) = self.exchange(flight) {
            of.counts.redirects += 1;
        }
    }

    /// The outcome of the messages of the same kind, if this one belongs to the measurement.
    #[inline]
    fn exchange(&mut self, flight: Flight) -> Option<&mut ExchangeOutcome> {
        let is_measured = self.is_measured(flight.due);
        self.exchanges.get_mut(usize::from(flight.exchange)).filter(|_| is_measured)
    }

    /// Records an incoming message that no rule of the conversation matches, or that answers a message never sent.
    #[cold]
    pub(crate) fn unexpected(&mut self, payload: &[u8]) {
        self.pushes_whole += 1;
        self.pushed.unexpected += u64::from(self.interval.phase == Phase::Measure);
        let example = || format!("no rule matches it: \"{}\"", excerpt(payload));
        let first = || Tally { example: example(), ..Tally::default() };
        self.errors.entry(ErrorClass::Unexpected).or_insert_with(first).count += 1;
    }

    /// Adds the counts of the ways in which the machine of a connection found the ids of replies.
    pub(crate) fn ids_found(&mut self, machine: &mut wire::Connection) {
        if let Some(talk) = machine.talk() {
            let Hits { learnt, scanned, odd } = talk.hits();
            let found = IdsFound { learnt, scanned, parsed: odd };
            self.ids_found.get_or_insert_default().merge(&found);
        }
    }

    /// Records an unasked message.
    #[inline]
    pub(crate) fn pushed(&mut self, pushed: wire::Pushed<'_>, received: Instant) {
        let sent = pushed.sent.map(|sent| Instant(sent.0));
        if let Some(of) = self.count_pushed(pushed) {
            sent.into_iter().for_each(|sent| of.delivery.record(received.since(sent)));
        }
    }

    /// Counts an unasked message. Returns the outcome of the conversation's rule that it matched, if it counts there.
    #[inline]
    fn count_pushed(&mut self, pushed: wire::Pushed<'_>) -> Option<&mut PushOutcome> {
        self.stream.received(pushed.payload.len());
        if pushed.kind == Push::Unexpected {
            self.unexpected(pushed.payload);
            return None;
        }
        if let Some(rule) = pushed.rule {
            return self.count_pushed_by(rule, pushed);
        }
        let is_delivery = u64::from(pushed.kind == Push::Delivery);
        self.pushed.whole.deliveries += is_delivery;
        if self.interval.phase == Phase::Measure {
            self.pushed.deliveries += is_delivery;
            self.pushed.notices += 1 - is_delivery;
            self.pushed.payload_bytes += pushed.payload.len() as u64;
        }
        None
    }

    /// Records that a receiver of a room got a message of that room; `delivered` is `None` if the message was not owed
    /// to it, or no longer. `arrived` is the kernel's stamp, if nothing else arrived with the message.
    pub(crate) fn delivered(
        &mut self,
        delivered: Option<Delivered>,
        pushed: wire::Pushed<'_>,
        received: Instant,
        arrived: Option<Instant>,
    ) {
        let Some(Delivered { due, class }) = delivered else {
            self.stream.received(pushed.payload.len());
            self.pushes_whole += 1;
            return;
        };
        self.count_pushed(pushed);
        self.interval.traffic.replies += 1;
        if let Some(open_loop) = &mut self.interval.traffic.open_loop
            && class == Class::Measured
        {
            open_loop.response.record(received.since(due));
            arrived.into_iter().for_each(|at| open_loop.own_share.record(received.since(at)));
            self.keep(TimeOf::Response, received.since(due));
        }
    }

    /// Records that a delivery of a message due at `due` is given up at `now`.
    pub(crate) fn undelivered(&mut self, due: Instant, now: Instant) {
        let response = now.since(due).max(self.reply_timeout);
        if let Some(open_loop) = &mut self.interval.traffic.open_loop {
            open_loop.response.record(response);
            self.keep(TimeOf::Response, response);
        }
    }

    /// Counts an unasked message that matched a rule. One that carries a stamp counts in the phase of the message that
    /// caused it, so that deliveries add up; any other counts in the phase in which it arrives.
    #[inline]
    fn count_pushed_by(&mut self, rule: u16, pushed: wire::Pushed<'_>) -> Option<&mut PushOutcome> {
        self.pushes_whole += 1;
        let is_counted = match pushed.sent {
            Some(sent) => self.is_measured(Instant(sent.0)),
            None => self.interval.phase == Phase::Measure,
        };
        let of = self.pushes.get_mut(usize::from(rule)).filter(|_| is_counted)?;
        of.count += 1;
        of.payload_bytes += pushed.payload.len() as u64;
        Some(of)
    }

    /// The number of replies so far, including those to other connections' messages.
    pub(crate) fn heard(&self) -> u64 {
        self.warm_up.ok + self.measured.ok + self.pushed.whole.deliveries + self.pushes_whole
    }

    /// Records that a message failed at `now`.
    pub(crate) fn failed(&mut self, flight: Flight, failure: Failure, now: Instant) {
        self.unanswered(flight, now);
        let is_of_interval = self.count(flight.due, 1, |counts| match failure {
            Failure::Error => &mut counts.error,
            Failure::Refused => &mut counts.refused,
            Failure::TimedOut => &mut counts.timed_out,
        });
        let response = now.since(flight.due).max(self.reply_timeout);
        let is_open = self.interval.traffic.open_loop.is_some();
        if let Some(open_loop) = &mut self.interval.traffic.open_loop
            && is_of_interval
            && !self.publishes
        {
            open_loop.response.record(response);
            self.keep(TimeOf::Response, response);
        }
        if let Some(of) = self.exchange(flight) {
            match failure {
                Failure::Error => of.counts.error += 1,
                Failure::Refused => {
                    of.counts.refused += 1;
                    of.refused.record(now.since(flight.due));
                }
                Failure::TimedOut => of.counts.timed_out += 1,
            }
            if is_open {
                of.response.record(response);
            }
        }
    }

    /// Adds the time in the window of a message that was in flight until `until` and got no right reply, for Little's
    /// law.
    fn unanswered(&mut self, flight: Flight, until: Instant) {
        self.unanswered +=
            until.min(self.measured_until).since(flight.sent.max(self.measured_from));
    }

    /// Records that the peer refused a message.
    #[cold]
    pub(crate) fn refused<T: Into<Words>>(
        &mut self,
        flight: Flight,
        now: Instant,
        words: impl FnOnce() -> T,
    ) {
        self.failed(flight, Failure::Refused, now);
        if self.is_measured(flight.due) {
            self.refused.record(now.since(flight.due));
        }
        self.tally(ErrorClass::Refused, words);
    }

    /// Forgets the messages of a connection that is gone at `now`; those without a reply are lost if a later one was
    /// answered.
    pub(crate) fn forget_messages(&mut self, in_flight: &mut InFlight, now: Instant) {
        for flight in in_flight.awaited() {
            self.unanswered(flight, now);
        }
        let lost = in_flight.end(|flight, is_overtaken| {
            if is_overtaken {
                self.identity(flight.due, |identity| &mut identity.lost);
            }
        });
        self.identity.lost += lost;
    }

    /// Counts messages in the warm-up or the measurement, by `due`. Returns true if they count in the current interval
    /// too: what the warm-up leaves over belongs to no later interval.
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
        *of(&mut self.interval.traffic.counts) += count;
        true
    }

    /// Records the time from the kernel's stamp on the last byte of a reply until we had decoded it.
    pub(crate) fn own_share(&mut self, flight: Flight, share: Nanos) {
        let is_measured = flight.due >= self.measured_from && !self.publishes;
        if let Some(open_loop) = &mut self.interval.traffic.open_loop
            && is_measured
        {
            open_loop.own_share.record(share);
        }
    }

    /// Records how long the server says that it kept a message.
    pub(crate) fn true_delay(&mut self, flight: Flight, delay: Nanos) {
        let is_measured = flight.due >= self.measured_from;
        if let Some(open_loop) = &mut self.interval.traffic.open_loop
            && is_measured
        {
            open_loop.true_delay.record(delay);
        }
    }

    /// Counts one more lost, duplicate, reordered or corrupted reply to a message that was due at `due`.
    pub(crate) fn identity(&mut self, due: Instant, of: impl Fn(&mut Identity) -> &mut u64) {
        if self.is_measured(due) {
            *of(&mut self.identity) += 1;
        }
    }

    /// The instant at which the loop went on after its last stall; outstanding messages that were due before that are
    /// already counted as affected.
    pub(crate) fn stalled_until(&self) -> Instant {
        self.stalled_until
    }

    /// Records that the worker's loop stood still with `outstanding` messages, `fresh` of which the previous stall had
    /// not affected.
    pub(crate) fn stalled(&mut self, from: Instant, until: Instant, outstanding: u64, fresh: u64) {
        if !self.is_measured(until) {
            return;
        }
        self.stalled_until = until;
        let length = until.since(from);
        self.stalls.count += 1;
        self.stalls.longest_ns = self.stalls.longest_ns.max(length.0);
        self.stalls.total_ns += length.0;
        self.stalls.affected += fresh;
        if self.stalls.first.len() < Stalls::KEPT_MAX {
            let stall = Stall { at_ns: from.0, duration_ns: length.0, affected: outstanding };
            self.stalls.first.push(stall);
        }
    }

    /// Adds `count` messages that were due in the stall that ended at `until`.
    pub(crate) fn affected(&mut self, until: Instant, count: u64) {
        if self.is_measured(until) {
            self.stalls.affected += count;
        }
        let ended = |stall: &&mut Stall| stall.at_ns + stall.duration_ns == until.0;
        if let Some(stall) = self.stalls.first.iter_mut().rfind(ended) {
            stall.affected += count;
        }
    }

    /// True if an event at `instant` is part of the measurement.
    #[inline]
    pub(crate) fn is_measured(&self, instant: Instant) -> bool {
        instant >= self.measured_from && self.measured_from != Instant::NEVER
    }

    /// Adds time that the worker spent looking for due messages instead of sleeping.
    #[inline]
    pub(crate) fn looked(&mut self, time: Nanos) {
        if self.interval.phase == Phase::Measure {
            self.looked += time;
        }
    }

    #[inline]
    pub(crate) fn bytes_received(&mut self, len: usize) {
        self.interval.traffic.bytes_received += len as u64;
    }

    /// Counts bytes that are not part of a message: handshakes, answers of the protocol itself.
    pub(crate) fn bytes_sent(&mut self, len: usize) {
        self.interval.traffic.bytes_sent += len as u64;
    }

    /// The phase times, if those of a connection that began at `began` count.
    pub(crate) fn times(&mut self, began: Instant) -> Option<&mut PhaseTimes> {
        (self.long_lived || began >= self.measured_from).then_some(&mut self.times)
    }

    /// Counts the completed TLS handshake of a connection that began at `began`; the handshake `took` this long.
    pub(crate) fn secured(&mut self, facts: Facts, began: Instant, took: Nanos) {
        let is_resumed = facts.resumed;
        let agreed = Facts { resumed: false, ..facts };
        let known = self.tls.iter().position(|(known, _)| *known == agreed);
        let index = known.unwrap_or(self.tls.len());
        if known.is_none() {
            self.tls.push((agreed, Handshakes::default()));
        }
        let is_timed = self.long_lived || began >= self.measured_from;
        if is_timed {
            let (_, handshakes) = &mut self.tls[index];
            let (count, times) = match is_resumed {
                true => (&mut handshakes.resumed, &mut self.times.tls_resumed),
                false => (&mut handshakes.full, &mut self.times.tls_full),
            };
            *count += 1;
            times.record(took);
        }
    }

    /// Counts a short-lived client that began at `began` and completed its last round trip at `now`.
    pub(crate) fn served(&mut self, began: Instant, now: Instant) {
        if began >= self.measured_from {
            self.clients_served += 1;
            self.times.life.record(now.since(began));
        }
    }

    /// Adds a connection that lives through all phases and had this many replies in the measurement.
    pub(crate) fn lived_through(&mut self, replies: u64) {
        *self.replies_each.entry(replies).or_default() += 1;
    }

    /// Returns everything that was counted, except the traffic, which is in the intervals.
    pub(crate) fn finish(self, left: Left) -> Outcome {
        let planned = left.planned.unwrap_or(self.measured.sent + self.measured.unsent);
        let is_open = self.interval.traffic.open_loop.is_some();
        Outcome {
            planned,
            measured: Counts {
                unsent: if is_open { planned - self.measured.sent } else { 0 },
                ..self.measured
            },
            warm_up: self.warm_up,
            unanswered: self.unanswered,
            connections: self.connections,
            clients_served: self.clients_served,
            times: self.times,
            refused: self.refused,
            tls: self.tls.into_iter().map(|(facts, count)| (parameters(&facts), count)).collect(),
            layers: self.stream.layers(),
            requests: self.stream.requests(),
            segments: self.stream.segments(),
            errors: self.errors,
            identity: left.has_identity.then_some(self.identity),
            exchanges: (0..).zip(self.exchanges).collect(),
            pushes: (0..).zip(self.pushes).collect(),
            deliveries: left.deliveries,
            ids_found: self.ids_found,
            stalls: self.stalls,
            looked: self.looked,
            replies_each: self.replies_each,
            pushed: self.pushed,
            last_replies: self.last_replies.map(LastRing::finish).unwrap_or_default(),
            sessions: left.has_sessions.then_some(self.sessions),
            window: left.window,
            ..Outcome::default()
        }
    }

    /// Counts a connection that is open for messages.
    pub(crate) fn opened(&mut self) {
        self.connections.opened += 1;
        self.interval.opened += 1;
    }

    /// Counts an error; `example` is called only for the first of its class.
    pub(crate) fn tally<T: Into<Words>>(&mut self, class: ErrorClass, example: impl FnOnce() -> T) {
        let first = || {
            let Words { text: example, cause } = example().into();
            Tally { count: 0, example, cause }
        };
        self.errors.entry(class).or_insert_with(first).count += 1;
        self.interval.failures += 1;
    }

    /// Hands the interval over and begins the next one, in `phase`.
    pub(crate) fn hand_over(&mut self, observer: &mut impl Observer, phase: Phase, now: Instant) {
        let Interval { phase: ending, traffic, .. } = &*self.interval;
        self.stream.interval(*ending == Phase::Measure, traffic.bytes_sent, traffic.bytes_received);
        self.interval.end = now;
        observer.interval(&mut self.interval);
        self.interval.phase = phase;
        self.interval.start = now;
        (self.interval.opened, self.interval.failures) = (0, 0);
    }

    /// Sets the instant from which on due messages count.
    pub(crate) fn measure_from(&mut self, instant: Instant) {
        self.measured_from = instant;
    }

    /// Sets the end of the measurement.
    pub(crate) fn measure_until(&mut self, end: Instant) {
        self.measured_until = end;
    }

    /// The instant from which on due messages count.
    pub(crate) fn measured_from(&self) -> Instant {
        self.measured_from
    }

    /// The start of the current interval.
    pub(crate) fn interval_start(&self) -> Instant {
        self.interval.start
    }
}

/// The parts of an outcome that the recorder does not know.
pub(crate) struct Left {
    /// The number of messages asked for, if the load fixes it.
    pub(crate) planned: Option<u64>,
    /// True if replies name the messages that they answer.
    pub(crate) has_identity: bool,
    pub(crate) has_sessions: bool,
    pub(crate) window: Option<(Instant, Instant)>,
    pub(crate) deliveries: Option<DeliveryOutcome>,
}

/// The kinds of requests, with none sent yet.
fn exchanges(requests: &Requests) -> Box<[ExchangeOutcome]> {
    let kinds = requests.kinds().iter();
    kinds
        .map(|kind| ExchangeOutcome {
            name: kind.name.clone(),
            no_reply: kind.reply == Reply::Nothing,
            ..ExchangeOutcome::default()
        })
        .collect()
}

/// The rules for unasked messages, with none received yet.
fn pushes(requests: &Requests) -> Box<[PushOutcome]> {
    let rules = requests.conversation().pushes.iter();
    rules.map(|rule| PushOutcome { name: rule.name.clone(), ..PushOutcome::default() }).collect()
}

/// Describes a refusal by HTTP: its status, its body, and when the server wants to be asked again.
pub(crate) fn status_words(code: u16, body: &[u8], retry_after: Option<RetryAfter>) -> Words {
    let is_later = retry_after.is_some();
    let later = retry_after.map_or_else(String::new, |after| format!(", {after}"));
    Words {
        text: format!("refused with status {code}{later}: \"{}\"", excerpt(body)),
        cause: Cause::Status { code, is_later, said: Said::new(body) },
    }
}

/// The parameters that a handshake agreed on, in the form of a record.
fn parameters(facts: &Facts) -> TlsParameters {
    TlsParameters {
        version: facts.version.to_string(),
        suite: facts.suite.to_owned(),
        group: facts.group.map(str::to_owned),
        alpn: facts.alpn.as_deref().map(str::to_owned),
    }
}

/// The length of an interval.
pub(crate) const INTERVAL: Nanos = Nanos::from_millis(100);
