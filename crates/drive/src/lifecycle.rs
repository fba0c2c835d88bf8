//! What happens ten times a second, or once for a connection: opening, phases, time-outs, the end.

use crate::connection::{Connection, State, find, shortest};
use crate::identity::{Answer, Check};
use crate::in_flight::InFlight;
use crate::pacing::Pacing;
use crate::recorder::{Failure, INTERVAL, Left, Observer, Phase, Recorder};
use crate::{Control, End, Target, Worker, refuse};
use engine::{ConnectionError, ConnectionId, Engine};
use load::{Arrival, Closing, Lifetime, Stop, Workload};
use record::{ErrorClass, Outcome};
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
            // A request that waits behind another one would be measured as if the server had it.
            Arrival::Open { .. } if target.takes_requests() => (NonZeroU32::MIN, None),
            Arrival::Open { .. } => (NonZeroU32::MAX, None),
            Arrival::Sessions { .. } | Arrival::Think { .. } => (NonZeroU32::MIN, None),
        };
        let pacing = Pacing::new(&workload);
        let quota = match workload.phases.stop {
            Stop::Messages(messages) => messages.get(),
            Stop::Clients(_) if pacing.is_some() => planned(&workload).unwrap_or(u64::MAX),
            Stop::After(_) | Stop::Clients(_) => u64::MAX,
        };
        let to_start = match (workload.lifetime, workload.phases.stop) {
            (Lifetime::Long, _) => u64::from(workload.connections.get()),
            (Lifetime::RoundTrips(_), _) if pacing.is_some() => 0, // Sessions begin when they are due.
            (Lifetime::RoundTrips(_), Stop::Clients(clients)) => clients.get(),
            (Lifetime::RoundTrips(_), Stop::After(_) | Stop::Messages(_)) => u64::MAX,
        };
        let has_header = workload.carries_headers();
        let payloads = if has_header { workload.content.payloads() } else { &[] };
        Self {
            control,
            observer,
            recorder: Recorder::new(&workload),
            phase: Phase::Connect,
            phase_end: Instant::NEVER,
            window: None,
            wake_at: Instant::START,
            connections: Vec::new(),
            seconds: Vec::new(),
            numbers: (0, 1),
            live: 0,
            opening: 0,
            to_start,
            to_reopen: 0,
            start_not_before: Instant::START,
            first_start: None,
            quiet: (Instant::START, 0),
            deadlines_from: Instant::START,
            in_flight_each: in_flight.get(),
            in_flight_max: in_flight_max.map_or(u64::MAX, |max| u64::from(max.get())),
            in_flight: 0,
            turns: VecDeque::new(),
            quota,
            pacing,
            due_at: Instant::NEVER,
            alive_until: Instant::NEVER,
            stall_min: STALL_MIN,
            has_header,
            has_layers: target.stack.has_layers(),
            payloads: payloads.into(),
            rx: vec![0; RX_LEN].into_boxed_slice(),
            tx: Vec::with_capacity(workload.content.payload().len() + TX_ROOM),
            workload,
            target,
        }
    }

    /// Takes for a stall only what lasts `length` or longer, because timers of this machine are that coarse; 5 ms at
    /// least.
    #[must_use]
    pub fn with_stall_min(self, length: Nanos) -> Self {
        Self { stall_min: length.max(STALL_MIN), ..self }
    }

    /// Numbers its connections `first`, `first + step`, … in the order of their connects, so that several workers
    /// together give no number twice: players are told apart by it. Without it they are numbered from 0 on.
    #[must_use]
    pub fn with_connection_numbers(self, first: u64, step: u64) -> Self {
        Self { numbers: (first, step), ..self }
    }

    /// What it leaves behind, and its observer.
    pub fn finish(mut self) -> (Outcome, O) {
        for connection in self.connections.iter_mut().flatten() {
            forget_messages(&mut connection.in_flight, &mut self.recorder);
        }
        let left = Left {
            planned: planned(&self.workload),
            has_header: self.has_header,
            has_sessions: self.pacing.is_some_and(|pacing| pacing.has_sessions()),
            window: self.window,
        };
        (self.recorder.finish(left), self.observer)
    }

    /// Lets `keep_time` run at the end of this step: something happened that it may have been waiting for.
    pub(crate) fn attend(&mut self) {
        self.wake_at = Instant::START;
    }

    /// Does all that is due, and works out when the next thing is.
    pub(crate) fn keep_time<E: Engine>(&mut self, engine: &mut E, now: Instant) {
        if self.control.is_stopped() && self.phase < Phase::Done {
            self.stop(engine, now);
        }
        self.start_due(engine, now);
        if now >= self.deadlines_from {
            self.give_up_late(engine, now);
        }
        self.listen_for_quiet(now);
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
        if self.phase == Phase::Drain && self.target.pushes() {
            self.wake_at = self.wake_at.min(now + QUIET);
        }
        if self.phase == Phase::AwaitStart {
            self.wake_at = self.wake_at.min(now + START_POLL).min(self.control.started_at());
        }
    }

    /// The last replies of all reach others at their tables too: those are heard out, so that deliveries add up.
    fn listen_for_quiet(&mut self, now: Instant) {
        let heard = self.recorder.heard();
        if self.phase < Phase::Drain || self.in_flight > 0 || heard != self.quiet.1 {
            self.quiet = (now, heard);
        }
    }

    /// The phase to enter now, if the current one is over.
    fn next_phase(&self, now: Instant) -> Option<Phase> {
        let time_is_up = now >= self.phase_end;
        let short_lived = self.workload.lifetime != Lifetime::Long;
        let every_client_counts = matches!(self.workload.phases.stop, Stop::Clients(_));
        let nothing_left = match &self.pacing {
            None => self.live == 0 && self.to_start == 0 && self.to_reopen == 0,
            // What is due waits for a connection, if there has ever been one.
            Some(_) => !short_lived && self.recorder.connections.opened == 0,
        };
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
                let all_sent = self.quota == 0 && self.in_flight == 0 && self.pacing.is_none();
                (time_is_up || nothing_left || all_sent).then_some(Phase::Drain)
            }
            Phase::Drain => {
                let all_ended = match &self.pacing {
                    Some(pacing) => self.in_flight == 0 && pacing.is_done(),
                    None if short_lived && self.quota > 0 => self.live == 0,
                    None => self.in_flight == 0,
                };
                let is_quiet = !self.target.pushes() || now >= self.quiet.0 + QUIET;
                (time_is_up || (all_ended && is_quiet)).then_some(Phase::Close)
            }
            Phase::Close => (time_is_up || self.live == 0).then_some(Phase::Done),
            Phase::Done => None,
        }
    }

    fn enter<E: Engine>(&mut self, engine: &mut E, phase: Phase, now: Instant) {
        let traffic_began = self.phase >= Phase::WarmUp;
        if self.phase == Phase::Measure {
            self.end_window(engine, now);
        }
        if phase == Phase::Close {
            self.leave_unsent();
        }
        self.recorder.hand_over(&mut self.observer, phase, now);
        self.phase = phase;
        let phases = self.workload.phases;
        let begin = self.nominal(now);
        self.phase_end = match phase {
            Phase::Connect | Phase::AwaitStart | Phase::Done => Instant::NEVER,
            Phase::WarmUp => begin + phases.warm_up,
            Phase::Measure => match phases.stop {
                Stop::After(time) => begin + time,
                Stop::Clients(_) | Stop::Messages(_) => Instant::NEVER,
            },
            Phase::Drain => now + phases.drain,
            Phase::Close => now + self.workload.timeouts.close,
        };
        match phase {
            Phase::AwaitStart => {
                let lead =
                    if self.pacing.is_some() { START_POLL + START_POLL } else { Nanos::ZERO };
                self.control.arrive(now, lead);
            }
            Phase::Measure => self.begin_window(engine, begin, now),
            Phase::Drain => {
                self.to_start = 0;
                self.observer.phase(Phase::Drain, now);
            }
            Phase::Close => {
                self.alive_until = Instant::NEVER;
                self.due_at = Instant::NEVER;
                self.close_all(engine, now);
            }
            Phase::Connect | Phase::WarmUp | Phase::Done => {}
        }
        if let Some(pacing) = &mut self.pacing
            && matches!(phase, Phase::WarmUp | Phase::Measure)
        {
            pacing.end = self.phase_end;
            self.due_at = Instant::START;
        }
        if matches!(phase, Phase::WarmUp | Phase::Measure) && !traffic_began {
            self.begin_traffic(engine, now);
        }
    }

    /// When the phase that is entered at `now` begins: an open loop keeps to its schedule, which starts with the
    /// traffic.
    fn nominal(&self, now: Instant) -> Instant {
        match (&self.pacing, self.phase) {
            (Some(_), Phase::WarmUp) => self.control.started_at(),
            (Some(_), Phase::Measure) => {
                now.min(self.control.started_at() + self.workload.phases.warm_up)
            }
            _ => now,
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
            Lifetime::Long if self.to_reopen == 0 => false,
            Lifetime::Long => match &self.pacing {
                Some(pacing) => traffic || (self.phase == Phase::Drain && pacing.waits() > 0),
                None => traffic && self.quota > 0,
            },
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
            self.recorder.connections.reconnects += 1;
        } else {
            self.to_start -= 1;
        }
        self.first_start.get_or_insert(now);
        self.connect(engine, now);
    }

    /// Starts a connection; a session was to begin at `due`.
    pub(crate) fn connect<E: Engine>(&mut self, engine: &mut E, due: Instant) {
        let (place, place_number) = self.pacing.as_mut().map_or((0, 0), Pacing::place);
        let number = self.recorder.connections.started;
        self.recorder.connections.started += 1;
        let turn = usize::try_from(number).unwrap_or(0) % self.target.sources.len().max(1);
        let source = self.target.sources.get(turn).copied();
        let now = engine.now(); // Others may have been started since the caller looked.
        let id = engine.connect(&self.target.address, source);
        let (first, step) = self.numbers;
        let among_all = first + number * step;
        let connection = Connection {
            id,
            second: None,
            source,
            machine: self
                .target
                .stack
                .connection(self.workload.seed.wrapping_add(number), among_all),
            state: State::AwaitConnect,
            since: now,
            began: now,
            in_flight: InFlight::default(),
            quota: match self.workload.lifetime {
                Lifetime::Long => u32::MAX,
                Lifetime::RoundTrips(each) => each.get(),
            },
            replied: false,
            replies: 0,
            turn: 0,
            queued: false,
            place,
            number: place_number,
            free_since: Instant::NEVER,
            due,
            sampled: self.join_stream(),
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
        let (id, is_second) = self.whose(id);
        if self.target.uses_two() && !is_second {
            return self.connect_second(engine, id);
        }
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
                let has_tls = self.target.stack.is_secured();
                connection.state = if has_tls { State::AwaitTls } else { State::AwaitHandshake };
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
        connection.free_since = now;
        let expected = if self.pacing.is_some() { IN_FLIGHT_RESERVED } else { u32::MAX };
        connection.in_flight.reserve(self.in_flight_each.min(expected) as usize);
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
    }

    /// Ends a connection properly; what the protocol wants said is said first.
    fn begin_end<E: Engine>(&mut self, engine: &mut E, id: ConnectionId, now: Instant) {
        let Some(connection) = find(&mut self.connections, id) else { return };
        let answer_owed =
            connection.machine.close(&mut self.tx) && self.workload.closing == Closing::Complete;
        connection.state = State::AwaitClose;
        connection.since = now;
        self.flush(engine, id);
        if !answer_owed {
            self.forget(engine, id);
        }
    }

    /// The peer will send no more bytes.
    pub(crate) fn ended<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        let (id, is_second) = self.whose(id);
        if is_second {
            return self.peer_ended(engine, id, End::Closed(SECOND_CLOSED.to_owned()));
        }
        let Some(connection) = find(&mut self.connections, id) else { return };
        let mut replies = 0;
        let end = match connection.machine.end() {
            Ok(Event::Message(message)) => {
                self.recorder.stream.received(message.payload.len());
                let (workload, recorder) = (&self.workload, &mut self.recorder);
                let check = Check { workload, recorder, received: engine.now() };
                let number = connection.number;
                let answer =
                    check.answer(&mut connection.in_flight, self.has_header, number, message);
                replies = u64::from(matches!(answer, Answer::Ended(_)));
                End::Closed(CLOSED.to_owned())
            }
            Ok(Event::Refused { code, body }) => {
                self.recorder.stream.received(body.len());
                if let Some((_, flight)) = connection.in_flight.take_oldest() {
                    refuse(flight, code, body, engine.now(), &mut self.recorder);
                    replies = 1;
                }
                End::Closed(CLOSED.to_owned())
            }
            Ok(_) => End::Closed(CLOSED.to_owned()),
            Err(error) => End::broken(&error),
        };
        connection.replies += replies;
        self.in_flight -= replies;
        self.peer_ended(engine, id, end);
    }

    /// The connection could not be made, or was cut. The engine has forgotten it.
    pub(crate) fn failed<E: Engine>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        error: ConnectionError,
    ) {
        let (id, _) = self.whose(id);
        let Some(connection) = find(&mut self.connections, id) else { return };
        match connection.state {
            State::AwaitClose => self.remove(engine, id),
            State::AwaitConnect => {
                self.lose(engine, id, ErrorClass::ConnectFailed, || error.to_string())
            }
            State::AwaitTls | State::AwaitHandshake | State::Open => {
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
            End::Closed(_) if quiet && long && self.target.takes_requests() => {
                self.forget(engine, id);
                self.to_reopen += 1;
            }
            End::Closed(text) => self.lose(engine, id, ErrorClass::ClosedByPeer, || text),
            End::Broken(class, text) => self.lose(engine, id, class, || text),
        }
    }

    /// A connection has ended as it should; the next client does not wait for the replies of others.
    fn forget<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        if let Some(connection) = find(&mut self.connections, id)
            && connection.state == State::AwaitClose
            && let Some(times) = self.recorder.times(connection.began)
        {
            times.close.record(engine.now().since(connection.since));
        }
        self.remove(engine, id);
        let now = engine.now();
        self.start_due(engine, now);
    }

    /// A connection is gone, and its places are free for others.
    fn remove<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        let Some(mut connection) = self.connections[id.index()].take() else { return };
        self.leave_stream(engine, &connection);
        engine.close(id);
        if let Some(second) = connection.second {
            engine.close(second);
            self.seconds[second.index()] = None;
        }
        match connection.state {
            State::AwaitConnect | State::AwaitTls | State::AwaitHandshake => self.opening -= 1,
            State::Open | State::AwaitClose => {}
        }
        self.live -= 1;
        self.attend();
        forget_messages(&mut connection.in_flight, &mut self.recorder);
        if self.pacing.is_some() {
            self.gone(&connection);
        } else {
            self.send_in_turn(engine);
        }
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
        let now = engine.now();
        while let Some(flight) = connection.in_flight.give_up(Instant::NEVER) {
            self.recorder.failed(flight, Failure::Error, now);
            self.in_flight -= 1;
        }
        match connection.state {
            State::AwaitConnect | State::AwaitTls | State::AwaitHandshake => {
                self.recorder.connections.failed += 1;
            }
            State::Open => self.recorder.connections.lost += 1,
            State::AwaitClose => {}
        }
        self.recorder.tally(class, example);
        self.start_not_before = now + PAUSE_AFTER_FAILURE;
        if self.pacing.is_some() && self.workload.lifetime == Lifetime::Long {
            self.to_reopen += 1; // What is due goes on, whatever became of those before.
        }
        self.remove(engine, id);
    }

    /// Gives up all peers that are late, and works out when the next one may be.
    fn give_up_late<E: Engine>(&mut self, engine: &mut E, now: Instant) {
        let timeouts = self.workload.timeouts;
        let mut late = Vec::new();
        self.deadlines_from = now + shortest(&timeouts);
        // Where single messages time out, some deadline is always near; a look at all connections is not made for each.
        let not_before = if self.pacing.is_some() { now + DEADLINES_EVERY } else { now };
        for connection in self.connections.iter().flatten() {
            let deadline = connection.deadline(&timeouts);
            if deadline <= now {
                late.push(connection.id);
            } else {
                self.deadlines_from = self.deadlines_from.min(deadline);
            }
        }
        self.deadlines_from = self.deadlines_from.max(not_before);
        for id in late {
            self.give_up(engine, id, now);
        }
        self.attend_if_done();
    }

    fn give_up<E: Engine>(&mut self, engine: &mut E, id: ConnectionId, now: Instant) {
        let timeouts = self.workload.timeouts;
        let Some(connection) = find(&mut self.connections, id) else { return };
        let (class, waited, what) = match connection.state {
            State::AwaitConnect => (ErrorClass::ConnectTimedOut, timeouts.connect, "connection"),
            State::AwaitTls => {
                (ErrorClass::TlsTimedOut, timeouts.handshake, "answer in the TLS handshake")
            }
            State::AwaitHandshake => (
                ErrorClass::HandshakeTimedOut,
                timeouts.handshake,
                "answer to the opening handshake",
            ),
            State::Open => (ErrorClass::ReplyTimedOut, timeouts.reply, "whole reply"),
            State::AwaitClose => (ErrorClass::CloseTimedOut, timeouts.close, "answer to our close"),
        };
        let example = || format!("no {what} within {waited}");
        let loses_message_alone = self.has_header
            && self.in_flight_each > 1 // One behind another would never get its turn.
            && connection.state == State::Open;
        while let Some(flight) = connection.in_flight.give_up(now - timeouts.reply) {
            self.recorder.failed(flight, Failure::TimedOut, now);
            self.in_flight -= 1;
            if loses_message_alone {
                self.recorder.tally(class, example);
            }
        }
        if !loses_message_alone {
            self.lose(engine, id, class, example);
        }
    }

    fn close_all<E: Engine>(&mut self, engine: &mut E, now: Instant) {
        let all: Vec<ConnectionId> =
            self.connections.iter().flatten().map(|connection| connection.id).collect();
        for id in all {
            let Some(connection) = find(&mut self.connections, id) else { continue };
            match connection.state {
                State::Open if connection.in_flight.is_empty() => self.begin_end(engine, id, now),
                State::AwaitClose => {}
                State::AwaitConnect | State::AwaitTls | State::AwaitHandshake | State::Open => {
                    self.forget(engine, id)
                }
            }
        }
    }

    /// Ends at once; what is in flight stays so.
    fn stop<E: Engine>(&mut self, engine: &E, now: Instant) {
        if let Some(pacing) = &mut self.pacing {
            pacing.end = pacing.end.min(now);
        }
        if self.phase == Phase::Measure {
            self.end_window(engine, now);
            self.observer.phase(Phase::Drain, now);
        }
        self.leave_unsent();
        self.recorder.hand_over(&mut self.observer, Phase::Done, now);
        self.phase = Phase::Done;
    }

    /// The measurement begins at `begin`, and it is `now`.
    fn begin_window<E: Engine>(&mut self, engine: &E, begin: Instant, now: Instant) {
        self.window = Some((begin, begin));
        self.observer.phase(Phase::Measure, now);
        self.begin_stream(engine);
        for connection in self.connections.iter_mut().flatten() {
            connection.replies = 0;
        }
        if self.pacing.is_some() {
            return self.recorder.measure_from(begin);
        }
        // What the warm-up sent at this very instant belongs to it.
        let newest = self.connections.iter().flatten().filter_map(|it| it.in_flight.newest());
        let newest = newest.map(|flight| flight.sent).max();
        self.recorder.measure_from(newest.map_or(now, |sent| now.max(sent + Nanos(1))));
        if let (Lifetime::RoundTrips(each), Stop::Messages(messages)) =
            (self.workload.lifetime, self.workload.phases.stop)
        {
            // As many clients as the messages need: what those that fail leave over is not sent.
            self.to_start = messages.get().div_ceil(u64::from(each.get()));
        }
    }

    /// The measurement is over at `now`, or was before that.
    fn end_window<E: Engine>(&mut self, engine: &E, now: Instant) {
        self.end_stream(engine);
        let Some((begin, end)) = &mut self.window else { return };
        *end = now;
        if let Some(pacing) = &mut self.pacing {
            *end = now.min(self.phase_end).max(*begin);
            pacing.end = *end;
        }
        if self.workload.lifetime == Lifetime::Long {
            let lived_through = |connection: &&Connection| {
                connection.state == State::Open && connection.since <= *begin
            };
            for connection in self.connections.iter().flatten().filter(lived_through) {
                self.recorder.lived_through(connection.replies);
            }
        }
    }

    /// The first messages, on all connections that are there.
    fn begin_traffic<E: Engine>(&mut self, engine: &mut E, now: Instant) {
        let start = self.control.started_at();
        if let Some(pacing) = &mut self.pacing {
            pacing.start_at(start);
            self.due_at = start;
            if self.phase == Phase::WarmUp {
                self.recorder.measure_from(self.phase_end);
            }
        }
        let is_open = |connection: &&Connection| connection.state == State::Open;
        let open: Vec<ConnectionId> = self
            .connections
            .iter()
            .flatten()
            .filter(is_open)
            .map(|connection| connection.id)
            .collect();
        match &mut self.pacing {
            Some(pacing) if pacing.has_bots_that_think() => pacing.begin_thinking(&open),
            Some(_) | None => open.into_iter().for_each(|id| self.begin_messages(engine, id)),
        }
        self.start_due(engine, now);
        self.alive_until = engine.now();
    }

    /// The first messages on a connection, if it is the time for messages.
    pub(crate) fn begin_messages<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        if !matches!(self.phase, Phase::WarmUp | Phase::Measure | Phase::Drain) {
            return;
        }
        if self.pacing.is_some() {
            self.begin_due(engine, id);
        } else if self.in_flight_max == u64::MAX {
            self.send(engine, id, self.in_flight_each);
        } else {
            self.flush(engine, id); // Before others have their turn.
            self.wait_for_turn(id);
            self.send_in_turn(engine);
        }
    }
}

/// How many messages the measurement is to send, if that was asked for.
fn planned(workload: &Workload) -> Option<u64> {
    match (workload.phases.stop, workload.lifetime) {
        (Stop::Messages(messages), _) => Some(messages.get()),
        (Stop::Clients(clients), Lifetime::RoundTrips(each)) => {
            Some(clients.get().saturating_mul(each.get().into()))
        }
        (Stop::Clients(_), Lifetime::Long) | (Stop::After(_), _) => None,
    }
}

/// A connection is gone: whatever got no reply gets none, and is lost if a later message was answered.
fn forget_messages(in_flight: &mut InFlight, recorder: &mut Recorder) {
    let lost = in_flight.end(|flight, is_overtaken| {
        if is_overtaken {
            recorder.identity(flight.due, |identity| &mut identity.lost);
        }
    });
    recorder.lost(lost);
}

/// How a connection ended of which no more is known.
const CLOSED: &str = "closed by the server";

/// The same of the second connection of two.
const SECOND_CLOSED: &str = "closed by the server: the second of its two connections";

/// How many connections a worker opens at the same time at most: fewer than any backlog holds.
pub const OPENING_MAX: u32 = 256;

/// How long no connection is started after one failed, so that a dead server is not flooded.
const PAUSE_AFTER_FAILURE: Nanos = Nanos::from_millis(10);

/// What is shorter is no stall but the way of schedulers and timers; far above what a timer is late by.
const STALL_MIN: Nanos = Nanos::from_millis(5);

/// How long nothing may have been delivered before a drain believes that nothing follows.
const QUIET: Nanos = Nanos::from_millis(50);

/// How often an open loop looks for messages that are too late.
const DEADLINES_EVERY: Nanos = Nanos::from_millis(10);

/// For how many messages in flight a connection of an open loop has memory from the start.
const IN_FLIGHT_RESERVED: u32 = 16;

/// How often a worker looks whether all others are ready.
const START_POLL: Nanos = Nanos::from_millis(1);

/// How much is read at once.
const RX_LEN: usize = 64 * 1024;

/// What is kept free in the transmit buffer for framing and heads.
const TX_ROOM: usize = 4096;
