//! What happens ten times a second, or once for a connection: opening, phases, time-outs, the end.

use crate::connection::{Connection, State, find, shortest};
use crate::recorder::{ErrorClass, Failure, INTERVAL, Observer, Outcome, Phase, Recorder};
use crate::{Control, End, Target, Worker, check, refuse};
use engine::{ConnectionError, ConnectionId, Engine};
use load::{Arrival, Lifetime, Stop, Workload};
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::sync::Arc;
use units::{Instant, Nanos};
use wire::{Event, Opening, Protocol};

impl<O: Observer> Worker<O> {
    /// A worker that does `workload` against `target`, together with the others that share `control`.
    pub fn new(workload: Workload, target: Target, control: Arc<Control>, observer: O) -> Self {
        let (in_flight, in_flight_max) = match workload.arrival {
            Arrival::Closed { in_flight, in_flight_max } => (in_flight, in_flight_max),
            Arrival::Open { in_flight_max, .. } => (NonZeroU32::MAX, Some(in_flight_max)),
            Arrival::Sessions { .. } => (NonZeroU32::MIN, None),
        };
        let quota = match workload.phases.stop {
            Stop::After(_) | Stop::Clients(_) => u64::MAX,
            Stop::Messages(messages) => messages.get(),
        };
        let to_start = match (workload.lifetime, workload.phases.stop) {
            (Lifetime::Long, _) => u64::from(workload.connections.get()),
            (Lifetime::RoundTrips(_), Stop::Clients(clients)) => clients.get(),
            (Lifetime::RoundTrips(_), Stop::After(_) | Stop::Messages(_)) => u64::MAX,
        };
        Self {
            target,
            control,
            observer,
            recorder: Recorder::new(workload.lifetime == Lifetime::Long, workload.arrival),
            phase: Phase::Connect,
            phase_end: Instant::NEVER,
            window: None,
            wake_at: Instant::START,
            connections: Vec::new(),
            live: 0,
            opening: 0,
            to_start,
            to_reopen: 0,
            start_not_before: Instant::START,
            first_start: None,
            deadlines_from: Instant::START,
            in_flight_each: in_flight.get(),
            in_flight_max: in_flight_max.map_or(u64::MAX, |max| u64::from(max.get())),
            in_flight: 0,
            waiting: VecDeque::new(),
            quota,
            rx: vec![0; RX_LEN].into_boxed_slice(),
            tx: Vec::with_capacity(workload.content.payload().len() + TX_ROOM),
            workload,
        }
    }

    /// What it leaves behind, and its observer.
    pub fn finish(self) -> (Outcome, O) {
        let planned = match (self.workload.phases.stop, self.workload.lifetime) {
            (Stop::Messages(messages), _) => Some(messages.get()),
            (Stop::Clients(clients), Lifetime::RoundTrips(each)) => {
                Some(clients.get() * u64::from(each.get()))
            }
            (Stop::Clients(_), Lifetime::Long) | (Stop::After(_), _) => None,
        };
        (self.recorder.finish(planned, self.window), self.observer)
    }

    /// Lets `keep_time` run at the end of this step: something happened that it may have been waiting for.
    pub(crate) fn attend(&mut self) {
        self.wake_at = Instant::START;
    }

    /// Does all that is due, and works out when the next thing is.
    pub(crate) fn keep_time<E: Engine>(&mut self, engine: &mut E, now: Instant) {
        if self.control.is_stopped() && self.phase < Phase::Done {
            self.stop(now);
        }
        self.start_due(engine, now);
        if now >= self.deadlines_from {
            self.give_up_late(engine, now);
        }
        while let Some(next) = self.next_phase(now) {
            self.enter(engine, next, now);
        }
        if now >= self.recorder.interval_start() + INTERVAL {
            self.recorder.hand_over(&mut self.observer, self.phase, now);
        }
        self.wake_at = (self.recorder.interval_start() + INTERVAL)
            .min(self.phase_end)
            .min(self.deadlines_from)
            .min(self.next_start());
        if self.phase == Phase::AwaitStart {
            self.wake_at = self.wake_at.min(now + START_POLL);
        }
    }

    /// The phase to enter now, if the current one is over.
    fn next_phase(&self, now: Instant) -> Option<Phase> {
        let time_is_up = now >= self.phase_end;
        let short_lived = self.workload.lifetime != Lifetime::Long;
        let every_client_counts = matches!(self.workload.phases.stop, Stop::Clients(_));
        let nothing_left = self.live == 0 && self.to_start == 0 && self.to_reopen == 0;
        match self.phase {
            Phase::Connect if short_lived => Some(Phase::AwaitStart),
            Phase::Connect => {
                (self.opening == 0 && self.to_start == 0).then_some(Phase::AwaitStart)
            }
            Phase::AwaitStart if now < self.control.started_at() => None,
            Phase::AwaitStart
                if self.workload.phases.warm_up == Nanos::ZERO || every_client_counts =>
            {
                Some(Phase::Measure)
            }
            Phase::AwaitStart => Some(Phase::WarmUp),
            Phase::WarmUp => (time_is_up || nothing_left).then_some(Phase::Measure),
            Phase::Measure => {
                let all_sent = self.quota == 0 && self.in_flight == 0;
                (time_is_up || nothing_left || all_sent).then_some(Phase::Drain)
            }
            Phase::Drain => {
                let followed = short_lived && self.quota > 0;
                let all_ended = if followed { self.live == 0 } else { self.in_flight == 0 };
                (time_is_up || all_ended).then_some(Phase::Close)
            }
            Phase::Close => (time_is_up || self.live == 0).then_some(Phase::Done),
            Phase::Done => None,
        }
    }

    fn enter<E: Engine>(&mut self, engine: &mut E, phase: Phase, now: Instant) {
        let traffic_began = self.phase >= Phase::WarmUp;
        self.recorder.hand_over(&mut self.observer, phase, now);
        self.phase = phase;
        let phases = self.workload.phases;
        self.phase_end = match phase {
            Phase::Connect | Phase::AwaitStart | Phase::Done => Instant::NEVER,
            Phase::WarmUp => now + phases.warm_up,
            Phase::Measure => match phases.stop {
                Stop::After(time) => now + time,
                Stop::Clients(_) | Stop::Messages(_) => Instant::NEVER,
            },
            Phase::Drain => now + phases.drain,
            Phase::Close => now + self.workload.timeouts.close,
        };
        match phase {
            Phase::AwaitStart => self.control.arrive(now),
            Phase::Measure => self.begin_window(now),
            Phase::Drain => {
                self.to_start = 0;
                self.to_reopen = 0;
                self.end_window(now);
            }
            Phase::Close => self.close_all(engine, now),
            Phase::Connect | Phase::WarmUp | Phase::Done => {}
        }
        if matches!(phase, Phase::WarmUp | Phase::Measure) && !traffic_began {
            self.begin_traffic(engine, now);
        }
    }

    /// Starts connections that are due and allowed.
    fn start_due<E: Engine>(&mut self, engine: &mut E, now: Instant) {
        while now >= self.next_start() {
            self.start(engine, now);
        }
    }

    /// When the next connection may be started; [`Instant::NEVER`] while none may.
    fn next_start(&self) -> Instant {
        let traffic = matches!(self.phase, Phase::WarmUp | Phase::Measure);
        let wanted = match self.workload.lifetime {
            Lifetime::Long if self.phase == Phase::Connect => self.to_start > 0,
            Lifetime::Long => traffic && self.to_reopen > 0 && self.quota > 0,
            Lifetime::RoundTrips(_) => traffic && self.to_start > 0 && self.quota > 0,
        };
        if !wanted || self.live >= self.workload.connections.get() || self.opening >= OPENING_MAX {
            return Instant::NEVER;
        }
        match (self.workload.connect_rate, self.first_start) {
            (Some(rate), Some(first)) => {
                (first + rate.due(self.recorder.connections.started)).max(self.start_not_before)
            }
            _ => self.start_not_before,
        }
    }

    fn start<E: Engine>(&mut self, engine: &mut E, now: Instant) {
        if self.to_reopen > 0 {
            self.to_reopen -= 1;
            self.recorder.connections.reopened += 1;
        } else {
            self.to_start -= 1;
        }
        self.first_start.get_or_insert(now);
        let number = self.recorder.connections.started;
        self.recorder.connections.started += 1;
        let turn = usize::try_from(number).unwrap_or(0) % self.target.sources.len().max(1);
        let id = engine.connect(&self.target.address, self.target.sources.get(turn).copied());
        let connection = Connection {
            id,
            machine: self.target.transport.client(self.workload.seed.wrapping_add(number)),
            state: State::AwaitConnect,
            since: now,
            began: now,
            in_flight: VecDeque::new(),
            quota: match self.workload.lifetime {
                Lifetime::Long => u32::MAX,
                Lifetime::RoundTrips(each) => each.get(),
            },
            replied: false,
            turn: 0,
            queued: false,
        };
        if self.connections.len() <= id.index() {
            self.connections.resize_with(id.index() + 1, || None);
        }
        self.connections[id.index()] = Some(connection);
        self.live += 1;
        self.opening += 1;
    }

    /// The connection is established: begin the opening handshake, if there is one.
    pub(crate) fn connected<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        let Some(connection) = find(&mut self.connections, id) else { return };
        let now = engine.now();
        if let Some(times) = self.recorder.times(connection.began) {
            times.connect.record(now.since(connection.since));
        }
        connection.since = now;
        match connection.machine.open(&mut self.tx) {
            Opening::Done => {
                self.opened(id, now);
                self.begin_messages(engine, id);
            }
            Opening::Awaited => {
                connection.state = State::AwaitHandshake;
                self.flush(engine, id);
            }
        }
    }

    /// The connection is open for messages.
    pub(crate) fn opened(&mut self, id: ConnectionId, now: Instant) {
        let Some(connection) = find(&mut self.connections, id) else { return };
        if connection.state == State::AwaitHandshake
            && let Some(times) = self.recorder.times(connection.began)
        {
            times.handshake.record(now.since(connection.since));
        }
        connection.state = State::Open;
        connection.since = now;
        connection.in_flight.reserve_exact(self.in_flight_each as usize);
        self.opening -= 1;
        self.recorder.connections.opened += 1;
        self.attend();
    }

    /// A short-lived client has had all its round trips.
    pub(crate) fn client_served<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        let Some(connection) = find(&mut self.connections, id) else { return };
        let now = engine.now();
        self.recorder.served(connection.began, now);
        self.begin_end(engine, id, now);
        self.start_due(engine, now);
    }

    /// Ends a connection properly; what the protocol wants said is said first.
    fn begin_end<E: Engine>(&mut self, engine: &mut E, id: ConnectionId, now: Instant) {
        let Some(connection) = find(&mut self.connections, id) else { return };
        let answer_owed = connection.machine.close(&mut self.tx);
        connection.state = State::AwaitClose;
        connection.since = now;
        self.flush(engine, id);
        if !answer_owed {
            self.forget(engine, id);
        }
    }

    /// The peer will send no more bytes.
    pub(crate) fn ended<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        let Some(connection) = find(&mut self.connections, id) else { return };
        let end = match connection.machine.end() {
            Ok(Event::Message(message)) => {
                if let Some(sent) = connection.in_flight.pop_front() {
                    check(&self.workload, message, sent, engine.now(), &mut self.recorder);
                    self.in_flight -= 1;
                }
                End::Closed(CLOSED.to_owned())
            }
            Ok(Event::Refused { code, body }) => {
                if let Some(sent) = connection.in_flight.pop_front() {
                    refuse(sent, code, body, &mut self.recorder);
                    self.in_flight -= 1;
                }
                End::Closed(CLOSED.to_owned())
            }
            Ok(_) => End::Closed(CLOSED.to_owned()),
            Err(error) => End::Broken(error.to_string()),
        };
        self.peer_ended(engine, id, end);
    }

    /// The connection could not be made, or was cut. The engine has forgotten it.
    pub(crate) fn failed<E: Engine>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        error: ConnectionError,
    ) {
        let Some(connection) = find(&mut self.connections, id) else { return };
        match connection.state {
            State::AwaitClose => self.remove(engine, id),
            State::AwaitConnect => {
                self.lose(engine, id, ErrorClass::ConnectFailed, || error.to_string())
            }
            State::AwaitHandshake | State::Open => {
                self.lose(engine, id, ErrorClass::Cut, || error.to_string())
            }
        }
    }

    /// The peer ended the conversation: as we asked, as its protocol allows, or out of turn.
    pub(crate) fn peer_ended<E: Engine>(&mut self, engine: &mut E, id: ConnectionId, end: End) {
        let Some(connection) = find(&mut self.connections, id) else { return };
        let asked = connection.state == State::AwaitClose || self.phase >= Phase::Close;
        let quiet = connection.state == State::Open && connection.in_flight.is_empty();
        let long = self.workload.lifetime == Lifetime::Long;
        match end {
            _ if asked => self.forget(engine, id),
            _ if quiet && connection.is_served() => self.client_served(engine, id),
            End::Closed(_) if quiet && long && self.target.transport.reopens() => {
                self.forget(engine, id);
                self.to_reopen += 1;
            }
            End::Closed(text) => self.lose(engine, id, ErrorClass::ClosedByPeer, || text),
            End::Broken(text) => self.lose(engine, id, ErrorClass::Protocol, || text),
        }
    }

    /// A connection has ended as it should.
    fn forget<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        if let Some(connection) = find(&mut self.connections, id)
            && connection.state == State::AwaitClose
            && let Some(times) = self.recorder.times(connection.began)
        {
            times.close.record(engine.now().since(connection.since));
        }
        self.remove(engine, id);
    }

    /// A connection is gone, and its places are free for others.
    fn remove<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        engine.close(id);
        let Some(connection) = self.connections[id.index()].take() else { return };
        match connection.state {
            State::AwaitConnect | State::AwaitHandshake => self.opening -= 1,
            State::Open | State::AwaitClose => {}
        }
        self.live -= 1;
        self.attend();
        self.send_in_turn(engine);
    }

    /// A connection is gone that should not be: what was in flight on it failed with it.
    fn lose<E: Engine>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        class: ErrorClass,
        example: impl FnOnce() -> String,
    ) {
        let Some(connection) = find(&mut self.connections, id) else { return };
        for sent in connection.in_flight.drain(..) {
            self.recorder.failed(sent, Failure::Error);
            self.in_flight -= 1;
        }
        match connection.state {
            State::AwaitConnect | State::AwaitHandshake => self.recorder.connections.failed += 1,
            State::Open => self.recorder.connections.lost += 1,
            State::AwaitClose => {}
        }
        self.recorder.tally(class, example);
        self.start_not_before = engine.now() + PAUSE_AFTER_FAILURE;
        self.remove(engine, id);
    }

    /// Gives up all peers that are late, and works out when the next one may be.
    fn give_up_late<E: Engine>(&mut self, engine: &mut E, now: Instant) {
        let timeouts = self.workload.timeouts;
        let mut late = Vec::new();
        self.deadlines_from = now + shortest(&timeouts);
        for connection in self.connections.iter().flatten() {
            let deadline = connection.deadline(&timeouts);
            if deadline <= now {
                late.push(connection.id);
            } else {
                self.deadlines_from = self.deadlines_from.min(deadline);
            }
        }
        for id in late {
            self.give_up(engine, id, now);
        }
    }

    fn give_up<E: Engine>(&mut self, engine: &mut E, id: ConnectionId, now: Instant) {
        let timeouts = self.workload.timeouts;
        let Some(connection) = find(&mut self.connections, id) else { return };
        let (class, waited, what) = match connection.state {
            State::AwaitConnect => (ErrorClass::ConnectTimedOut, timeouts.connect, "connection"),
            State::AwaitHandshake => (
                ErrorClass::HandshakeTimedOut,
                timeouts.handshake,
                "answer to the opening handshake",
            ),
            State::Open => (ErrorClass::ReplyTimedOut, timeouts.reply, "whole reply"),
            State::AwaitClose => (ErrorClass::CloseTimedOut, timeouts.close, "answer to our close"),
        };
        while let Some(sent) = connection.in_flight.front().copied()
            && sent + timeouts.reply <= now
        {
            connection.in_flight.pop_front();
            self.recorder.failed(sent, Failure::TimedOut);
            self.in_flight -= 1;
        }
        self.lose(engine, id, class, || format!("no {what} within {waited}"));
    }

    fn close_all<E: Engine>(&mut self, engine: &mut E, now: Instant) {
        let all: Vec<ConnectionId> =
            self.connections.iter().flatten().map(|connection| connection.id).collect();
        for id in all {
            let Some(connection) = find(&mut self.connections, id) else { continue };
            match connection.state {
                State::Open if connection.in_flight.is_empty() => self.begin_end(engine, id, now),
                State::AwaitClose => {}
                State::AwaitConnect | State::AwaitHandshake | State::Open => {
                    self.forget(engine, id)
                }
            }
        }
    }

    /// Ends at once; what is in flight stays so.
    fn stop(&mut self, now: Instant) {
        if self.phase == Phase::Measure {
            self.end_window(now);
        }
        self.recorder.hand_over(&mut self.observer, Phase::Done, now);
        self.phase = Phase::Done;
    }

    fn begin_window(&mut self, now: Instant) {
        self.window = Some((now, now));
        self.observer.phase(Phase::Measure, now);
        // What the warm-up sent at this very instant belongs to it.
        let newest = self.connections.iter().flatten().filter_map(|it| it.in_flight.back()).max();
        self.recorder.measure_from(newest.map_or(now, |sent| now.max(*sent + Nanos(1))));
        if let (Lifetime::RoundTrips(each), Stop::Messages(messages)) =
            (self.workload.lifetime, self.workload.phases.stop)
        {
            // As many clients as the messages need: what those that fail leave over is not sent.
            self.to_start = messages.get().div_ceil(u64::from(each.get()));
        }
    }

    fn end_window(&mut self, now: Instant) {
        if let Some((_, end)) = &mut self.window {
            *end = now;
        }
        self.observer.phase(Phase::Drain, now);
    }

    /// The first messages, on all connections that are there.
    fn begin_traffic<E: Engine>(&mut self, engine: &mut E, now: Instant) {
        let is_open = |connection: &&Connection| connection.state == State::Open;
        let open: Vec<ConnectionId> = self
            .connections
            .iter()
            .flatten()
            .filter(is_open)
            .map(|connection| connection.id)
            .collect();
        for id in open {
            self.begin_messages(engine, id);
        }
        self.start_due(engine, now);
    }

    /// The first messages on a connection, if it is the time for messages.
    pub(crate) fn begin_messages<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        if !matches!(self.phase, Phase::WarmUp | Phase::Measure | Phase::Drain) {
            return;
        }
        if self.in_flight_max == u64::MAX {
            self.send(engine, id, self.in_flight_each);
        } else {
            self.flush(engine, id); // Before others have their turn.
            self.wait_for_turn(id);
            self.send_in_turn(engine);
        }
    }
}

/// How a connection ended of which no more is known.
const CLOSED: &str = "closed by the server";

/// How many connections are opened at the same time at most: fewer than any backlog holds.
const OPENING_MAX: u32 = 256;

/// How long no connection is started after one failed, so that a dead server is not flooded.
const PAUSE_AFTER_FAILURE: Nanos = Nanos::from_millis(10);

/// How often a worker looks whether all others are ready.
const START_POLL: Nanos = Nanos::from_millis(1);

/// How much is read at once.
const RX_LEN: usize = 64 * 1024;

/// What is kept free in the transmit buffer for framing and heads.
const TX_ROOM: usize = 4096;
