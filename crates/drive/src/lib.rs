//! The main path: one worker of the load generator. Open this file first.
//!
//! A [`Worker`] is a loop over three values: its connections (`connections`: states and deadlines), its pace
//! ([`load::Pace`]: which connection sends next, and when that was due), and its recorder. It handles a message without
//! sharing, locking or allocating anything. A message takes the path that `ARCHITECTURE.md` draws, which is this file
//! from top to bottom:
//!
//! 1. [`Worker::step`](engine::Node::step) takes the engine's completions and looks at the clock;
//! 2. `received` decodes replies, stamps `received`, and matches each reply to its message (`identity`);
//! 3. `go_on` does what the pace decides next: in a closed loop, a reply makes the next message due;
//! 4. `keep_pace` takes what the schedule has made due: in an open loop, a message, which then waits for a connection;
//! 5. `send_in_turn` sends on the connections whose turn it is;
//! 6. `send` encodes, stamps `sent`, and hands the bytes to the engine, in the same way for every load.
//!
//! `lifecycle` opens and ends connections, `phases` does what happens ten times a second or less, `punctual` waits for
//! what is due, `second_connection` drives the second socket of protocols that have two, and `recorder` and `stream`
//! keep the results. Left out: starting workers and collecting their results (crate `run`).

mod absences;
mod connections;
mod control;
mod identity;
mod in_flight;
mod last_replies;
mod lifecycle;
mod pairs;
mod peer_end;
mod phases;
mod punctual;
mod recorder;
mod rooms;
mod sampling;
mod second_connection;
mod stream;
mod target;
mod text;

pub use connections::OPENING_MAX;
pub use control::{Control, RateChange};
pub use recorder::{Interval, Observer, Phase, RawTime, TimeOf};
pub use target::Target;

use absences::Absences;
use connections::{Connections, State};
use engine::epoll::Epoll;
use engine::{Completion, ConnectionId, Metered, Node, Step, UNSENT_LEN_MAX};
use identity::{Answer, Check, numbered};
use in_flight::{Flight, InFlight};
use load::{Batch, Header, Next, Pace, Taken, Workload};
use pairs::{Seconds, hand_over};
use peer_end::End;
use punctual::Punctual;
use record::{ErrorClass, Outcome};
use recorder::{Left, Recorder, status_words};
use rooms::{Class, Rooms};
use std::sync::Arc;
use units::{Instant, Nanos};
use wire::{Event, First, Input, Kind, Message, Protocol, Socket};

/// One thread's worth of load.
#[derive(Debug)]
pub struct Worker<O> {
    connections: Connections,
    pace: Pace,
    recorder: Recorder,

    workload: Workload,
    target: Target,
    control: Arc<Control>,
    observer: O,

    /// The number of rate changes made by the last look.
    changes_seen: u32,

    phase: Phase,
    /// The deadline of the drain, and later of the close phase; [`Instant::NEVER`] before.
    patience_end: Instant,
    window: Option<(Instant, Instant)>,
    /// The instant of the next `keep_time`, for deadlines, phases and all else that is neither a completion nor the
    /// pace.
    wake_at: Instant,
    /// The instant of the next `keep_pace`.
    due_at: Instant,
    /// The latest instant for the next `keep_pace`, even if nothing is due.
    beat_at: Instant,
    /// The instant until which the loop is known to have run, or to have had nothing to do; [`Instant::NEVER`] where
    /// stalls do not matter.
    alive_until: Instant,
    stall_min: Nanos,
    punctual: Punctual,
    /// The last look that found the worker busy (messages in flight, or new replies, to itself or to others), and the
    /// number of replies by then.
    quiet: (Instant, u64),

    /// The number of this worker's first connection among those of all workers, and the step to that of its next one.
    numbers: (u64, u64),
    seconds: Seconds,
    /// The rooms of the connections, if the load has rooms.
    rooms: Option<Rooms>,
    /// The absences of receivers, if some leave and come back.
    absences: Option<Absences>,
    /// The earliest instant for the next unscheduled messages of publishers.
    call_at: Instant,
    has_header: bool,
    /// True if a layer (TLS, compression, an envelope) counts its own bytes.
    has_layers: bool,

    /// The payloads of messages with a header, each with the header last sent written over its beginning; in a
    /// conversation, the cue for the last message. Empty if messages have neither.
    payloads: Box<[u8]>,
    /// The limit on the memory for bytes that the kernel has not taken yet ([`Worker::with_unsent_max`]).
    unsent_max: usize,
    rx: Box<[u8]>,
    tx: Vec<u8>,
}

impl<E: Metered, O: Observer> Node<E> for Worker<O> {
    fn step(&mut self, engine: &mut E) -> Step {
        if self.pace.is_timed() {
            let now = engine.now();
            self.punctual.woken(now);
            self.notice(now); // Before taking replies that arrived while the loop stood still.
            if self.pace.is_full() {
                self.keep_pace(engine, now); // Before replies make room.
            }
        }
        self.hear_of_kill();
        let mut completions = 0_u32;
        while let Some(completion) = engine.complete(&mut self.rx) {
            self.take_in(engine, completion);
            completions += 1;
            if completions.is_multiple_of(BREATH_LEN) {
                self.breathe(engine);
            }
        }
        let now = engine.now();
        self.notice(now);
        let was_idle = completions == 0 && now < self.wake_at.min(self.due_at);
        if now >= self.wake_at {
            self.keep_time(engine, now);
        }
        if now >= self.due_at {
            self.keep_pace(engine, now);
        }
        if self.phase == Phase::Done { Step::Done } else { Step::Wait(self.rest(now, was_idle)) }
    }
}

impl Worker<&mut dyn Observer> {
    /// Runs the worker on sockets until it is done. The loop is compiled here, once and for speed, whoever calls it.
    pub fn run(&mut self, engine: &mut Epoll) {
        engine::run(engine, self);
    }
}

impl<O: Observer> Worker<O> {
    /// Creates a worker that runs `workload` against `target`, together with the others that share `control`.
    pub fn new(workload: Workload, target: Target, control: Arc<Control>, observer: O) -> Self {
        let pipelines = !target.of_senders().takes_requests();
        let has_header = workload.carries_headers();
        let payloads = match has_header || workload.requests.is_some() {
            true => workload.content.payloads(),
            false => &[],
        };
        Self {
            connections: Connections::new(&workload),
            pace: Pace::new(&workload, pipelines),
            recorder: Recorder::new(&workload),
            changes_seen: 0,
            observer,
            phase: Phase::Connect,
            patience_end: Instant::NEVER,
            window: None,
            wake_at: Instant::START,
            due_at: Instant::NEVER,
            beat_at: Instant::NEVER,
            alive_until: Instant::NEVER,
            stall_min: STALL_MIN,
            punctual: Punctual::new(false),
            quiet: (Instant::START, 0),
            numbers: (0, 1),
            seconds: Seconds::default(),
            rooms: workload.rooms.map(|share| {
                let rooms = Rooms::new(share, workload.connections.get());
                rooms.on_one_of(&workload, control.waits())
            }),
            absences: workload.rooms.and_then(|share| {
                Absences::new(share.all().conduct, workload.connections.get(), workload.seed)
            }),
            call_at: Instant::START,
            control,
            has_header,
            has_layers: target.has_layers(),
            payloads: payloads.into(),
            unsent_max: usize::MAX,
            rx: vec![0; RX_LEN].into_boxed_slice(),
            tx: Vec::with_capacity(workload.content.payload().len() + TX_ROOM),
            workload,
            target,
        }
    }

    /// Counts only gaps of `length` or longer as stalls, because this machine's timers are that coarse; at least 5 ms.
    #[must_use]
    pub fn with_stall_min(self, length: Nanos) -> Self {
        Self { stall_min: length.max(STALL_MIN), ..self }
    }

    /// Wakes up a little before a message is due and then looks at the clock without sleeping, so that the message is
    /// sent on time however late timers are (module `punctual`). For a worker with a core of its own.
    #[must_use]
    pub fn that_looks(self, looks: bool) -> Self {
        Self { punctual: Punctual::new(looks), ..self }
    }

    /// Keeps every response time, service time and send lag one by one, in addition to the histograms, to check them.
    /// Not for measurements: it takes memory for each message.
    #[must_use]
    pub fn that_keeps_raw_times(mut self, keeps: bool) -> Self {
        self.recorder.keeps_raw_times = keeps;
        self
    }

    /// Leaves messages of an open loop unsent if otherwise more than `bytes` bytes would wait for the kernel to take
    /// them.
    #[must_use]
    pub fn with_unsent_max(self, bytes: usize) -> Self {
        Self { unsent_max: bytes, ..self }
    }

    /// Numbers the connections `first`, `first + step` and so on, in the order of their connects, so that several
    /// workers together assign no number twice: players are distinguished by it. The default is from 0 in steps of 1.
    #[must_use]
    pub fn with_connection_numbers(self, first: u64, step: u64) -> Self {
        Self { numbers: (first, step), ..self }
    }

    /// Returns the worker's results and its observer.
    pub fn finish(mut self) -> (Outcome, O) {
        for connection in self.connections.iter_mut() {
            self.recorder.forget_messages(&mut connection.in_flight, Instant::NEVER);
            self.recorder.ids_found(&mut connection.machine);
        }
        let left = Left {
            planned: self.workload.planned(),
            has_identity: self.has_header || self.workload.requests.is_some(),
            has_sessions: self.pace.has_sessions(),
            window: self.window,
            deliveries: self.rooms.map(Rooms::finish),
        };
        (self.recorder.finish(left), self.observer)
    }

    /// The other end of the connection at a place.
    fn target_at(&self, place: u32) -> &Target {
        self.target.of(self.rooms.as_ref().is_some_and(|rooms| rooms.publishes(place)))
    }

    #[inline]
    fn take_in<E: Metered>(&mut self, engine: &mut E, completion: Completion) {
        let id = match completion {
            Completion::Received { connection, .. } => connection,
            Completion::Connected(id) | Completion::Ended(id) | Completion::Failed(id, _) => id,
            Completion::Accepted(id) => return engine.close(id), // A worker never listens.
        };
        if let Some(first) = self.seconds.first_of(id) {
            return self.second(engine, first, completion);
        }
        match completion {
            Completion::Received { len, .. } => self.received::<First, E>(engine, id, len),
            Completion::Connected(_) => self.connected(engine, id),
            Completion::Failed(_, error) => self.failed(engine, id, error),
            Completion::Accepted(_) | Completion::Ended(_) => self.ended(engine, id),
        }
    }

    /// Notes that a part of the server was killed, once that part is gone, and before anything that arrived since is
    /// taken in.
    #[inline]
    fn hear_of_kill(&mut self) {
        if self.absences.is_some()
            && let Some(rooms) = &mut self.rooms
            && let Some((killed, gone)) = self.control.part_killed()
        {
            rooms.cut_off(killed, gone);
        }
    }

    /// Looks at the clock and the pace in the middle of many completions.
    fn breathe<E: Metered>(&mut self, engine: &mut E) {
        let now = engine.now();
        self.notice(now);
        if now >= self.due_at {
            self.keep_pace(engine, now);
        }
    }

    /// Decodes the `len` bytes that arrived on a connection, records the replies in them, and sends what they make due.
    fn received<S: Socket, E: Metered>(&mut self, engine: &mut E, id: ConnectionId, len: usize) {
        let Some(connection) = self.connections.find(id) else { return };
        self.recorder.bytes_received(len);
        let mut input = Input::new(&mut self.rx[..len]);
        let mut replies = 0;
        let mut received = Instant::START;
        let mut opened = false;
        let mut is_first = true;
        let mut may_go_on = false;
        let end = loop {
            match S::receive(&mut connection.machine, &mut input, &mut self.tx) {
                Ok(None) => break None,
                Ok(Some(Event::Message(message))) => {
                    received = engine.now();
                    let arrived = stamp_of_last(engine, &connection.in_flight, received);
                    self.recorder.stream.received(message.payload.len());
                    let (workload, recorder) = (&self.workload, &mut self.recorder);
                    let check = Check { workload, recorder, received };
                    let number = connection.number;
                    let answer =
                        check.answer(&mut connection.in_flight, self.has_header, number, message);
                    let flight = match answer {
                        Answer::Ended(flight) => flight,
                        Answer::Nothing => continue,
                        Answer::Unasked => break Some(End::unasked(message.payload)),
                    };
                    connection.replied(&mut self.recorder, flight, received, arrived);
                    replies += 1;
                }
                Ok(Some(Event::Refused { code, body, retry_after })) => {
                    received = engine.now();
                    self.recorder.stream.received(body.len());
                    let Some((_, flight)) = connection.in_flight.take_oldest() else {
                        break Some(End::unasked(body));
                    };
                    let words = || status_words(code, body, retry_after);
                    self.recorder.refused(flight, received, words);
                    replies += 1;
                }
                Ok(Some(Event::Answer(answer))) => {
                    received = engine.now();
                    let arrived = stamp_of_last(engine, &connection.in_flight, received);
                    let (in_flight, recorder) = (&mut connection.in_flight, &mut self.recorder);
                    let Some(flight) = numbered(in_flight, recorder, answer, received) else {
                        continue;
                    };
                    connection.replied(&mut self.recorder, flight, received, arrived);
                    replies += 1;
                }
                Ok(Some(Event::Part(part))) => {
                    let now = engine.now();
                    self.recorder.stream.received(part.payload.len());
                    match connection.in_flight.part(part.sequence, now) {
                        Some((flight, before)) => self.recorder.part(flight, before, now),
                        None => self.recorder.unexpected(part.payload),
                    }
                }
                Ok(Some(Event::Secured(secured))) => {
                    opened |= connection.be_secured(secured, engine.now(), &mut self.recorder);
                }
                Ok(Some(Event::Open)) => {
                    opened = true;
                    let talk = connection.machine.talk();
                    if let Some(rooms) = &mut self.rooms
                        && talk.is_some_and(|talk| talk.is_restored())
                    {
                        // Messages after this one do not count as caught up.
                        rooms.restored(connection.place, engine.now());
                    }
                }
                Ok(Some(Event::Pushed(pushed))) => {
                    let now = engine.now();
                    match &mut self.rooms {
                        Some(rooms) if is_published(&self.workload, pushed) => {
                            let is_alone = is_first && input.is_empty();
                            let arrived = is_alone.then(|| engine.arrived(now)).flatten();
                            let pushed = rooms.by_our_clock(pushed);
                            let delivered = rooms.received(connection.place, pushed.header, now);
                            connection.replies += u64::from(delivered.is_some());
                            self.recorder.delivered(delivered, pushed, now, arrived);
                            is_first = false;
                            let is_complete = match self.phase {
                                Phase::Connect => rooms.unproved() == 0,
                                Phase::Drain => rooms.is_complete(),
                                Phase::AwaitStart
                                | Phase::WarmUp
                                | Phase::Measure
                                | Phase::Close
                                | Phase::Done => false,
                            };
                            if is_complete {
                                self.wake_at = Instant::START;
                            }
                        }
                        Some(_) | None => self.recorder.pushed(pushed, now),
                    }
                }
                Ok(Some(Event::Redirected)) => {
                    connection.redirected(&mut self.recorder);
                }
                Ok(Some(Event::Ping(_) | Event::Pong(_) | Event::Response(_))) => {}
                Ok(Some(Event::Closed(closed))) => {
                    let end = End::announced(&closed, connection.state == State::AwaitClose);
                    may_go_on = true;
                    break Some(end);
                }
                Err(error) => break Some(End::broken(&error)),
            }
        };
        connection.replies += u64::from(replies);
        let place = connection.place;
        if may_go_on && let Some(after) = self.goes_on(engine, id) {
            return self.go_on_anew(engine, id, after);
        }
        if opened {
            self.opened(id, engine.now());
        }
        match end {
            // Nothing more is sent on a connection that the peer has ended.
            Some(end) => {
                self.pace.ended(place, replies);
                self.flush(engine, id);
                self.peer_ended(engine, id, end);
            }
            None if opened => self.begin_messages(engine, id),
            None if replies > 0 => {
                let next = self.pace.replied(place, replies, received);
                self.go_on(engine, id, next);
            }
            None => {}
        }
        self.flush(engine, id);
    }

    /// Does what the pace decides after an event on a connection, then gives other connections their turn.
    #[inline]
    fn go_on<E: Metered>(&mut self, engine: &mut E, id: ConnectionId, next: Next) {
        match next {
            Next::Send(batch) => self.send(engine, batch),
            Next::Thinks(due) => self.due_at = self.due_at.min(due),
            Next::Served { session } => self.session_served(engine, id, session),
            Next::Others => {}
        }
        self.flush(engine, id); // Before others have their turn.
        self.send_in_turn(engine);
        self.attend_if_idle();
    }

    /// Ends a connection that has sent all its messages and has their replies.
    fn session_served<E: Metered>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        session: Option<Instant>,
    ) {
        if session.is_some_and(|due| self.recorder.is_measured(due)) {
            self.recorder.sessions.completed += 1;
        }
        self.client_served(engine, id);
    }

    /// Takes all that is due by `now` from the pace, and sends what can be sent.
    fn keep_pace<E: Metered>(&mut self, engine: &mut E, now: Instant) {
        let mut is_behind = true;
        for _ in 0..TAKEN_MAX {
            match self.pace.take(now) {
                Some(Taken::Waits) => {}
                Some(Taken::Send(batch)) => self.send(engine, batch),
                Some(Taken::Session { due, begins }) => self.begin_session(engine, due, begins),
                Some(Taken::Held(gap)) => self.recorder.affected(gap, 1),
                Some(Taken::Unsent { due, count, gap }) => {
                    self.recorder.unsent(due, count);
                    if let Some(gap) = gap {
                        self.recorder.affected(gap, count);
                    }
                }
                None => {
                    is_behind = false;
                    break;
                }
            }
        }
        self.send_in_turn(engine);
        self.attend_if_idle();
        let beats = self.pace.is_timed() && !self.is_closing();
        self.beat_at = if beats { now + BEAT } else { Instant::NEVER };
        self.due_at =
            if is_behind { Instant::START } else { self.pace.wake_at().min(self.beat_at) };
        self.wake_at = self.wake_at.min(self.phase_end()); // The last message of a quota is due.
    }

    /// Begins a session that was due at `due` if `begins`, that is, if there is room for it; otherwise counts it as
    /// unsent.
    fn begin_session<E: Metered>(&mut self, engine: &mut E, due: Instant, begins: bool) {
        if self.recorder.is_measured(due) {
            self.recorder.sessions.planned += 1;
            self.recorder.sessions.started += u64::from(begins);
        }
        if !begins {
            return self.recorder.unsent(due, 1);
        }
        self.notice(engine.now());
        self.connect(engine, due);
    }

    /// Sends on the connections whose turn it is.
    #[inline]
    fn send_in_turn<E: Metered>(&mut self, engine: &mut E) {
        for _ in 0..SENDS_MAX {
            let Some(batch) = self.pace.next_send() else { return };
            self.send(engine, batch);
        }
        self.due_at = Instant::START; // More may be left than one call sends.
    }

    /// Sends a batch on a connection that can send, then the batches that become due because some messages get no
    /// reply.
    #[inline]
    fn send<E: Metered>(&mut self, engine: &mut E, batch: Batch) {
        let place = batch.place;
        let unanswered = self.send_batch(engine, batch);
        if unanswered > 0 {
            self.send_after(engine, place, unanswered);
        }
    }

    /// Sends the batches that become due on a connection because `unanswered` messages get no reply.
    #[inline(never)]
    fn send_after<E: Metered>(&mut self, engine: &mut E, place: u32, mut unanswered: u32) {
        while unanswered > 0 {
            match self.pace.replied(place, unanswered, engine.now()) {
                Next::Send(batch) => unanswered = self.send_batch(engine, batch),
                Next::Thinks(due) => return self.due_at = self.due_at.min(due),
                Next::Served { session } => {
                    let Some(connection) = self.connections.at(place) else { return };
                    let id = connection.id;
                    return self.session_served(engine, id, session);
                }
                Next::Others => return,
            }
        }
    }

    /// Sends one batch on a connection that can send. Returns how many of its messages get no reply.
    fn send_batch<E: Metered>(&mut self, engine: &mut E, batch: Batch) -> u32 {
        let Some(connection) = self.connections.at(batch.place) else { return 0 };
        let content = &self.workload.content;
        let len = content.payload().len();
        // The cheap checks come first: few messages are long, and few connections have unsent bytes.
        if let Some(due) = batch.due
            && (len >= LONG_LEN || engine.unsent(connection.id) > 0)
            && engine.kept().saturating_add(len) > self.unsent_max
            && self.pace.leaves_out()
        {
            self.pace.left_out(batch.place);
            self.recorder.unsent(due, 1);
            return 0;
        }
        let kind = if content.is_text() { Kind::Text } else { Kind::Binary };
        let first = connection.in_flight.next_sequence();
        let number = connection.number;
        let requests = self.workload.requests.as_ref();
        // Messages of a conversation may contain the instant.
        let cue_due = batch.due.or_else(|| requests.is_some().then(|| engine.now()));
        let mut count = 0;
        let refused = loop {
            let sequence = first.wrapping_add(count);
            let payload = match batch.due {
                _ if let Some(requests) = requests => {
                    let due = cue_due.unwrap_or(Instant::START);
                    let due = self.rooms.as_ref().map_or(Nanos(due.0), |it| it.written(due));
                    requests.cue(number, sequence, due).write(&mut self.payloads);
                    &*self.payloads
                }
                Some(due) if self.has_header => {
                    let payload = &mut self.payloads[content.span_of(sequence)];
                    let due = Nanos(due.0);
                    Header { connection: number, sequence, due }.write(payload, content.is_text());
                    &*payload
                }
                _ => content.payload_of(sequence),
            };
            if let Err(error) = connection.machine.send(Message { kind, payload }, &mut self.tx) {
                break Some(error);
            }
            count += 1;
            if count == batch.count {
                break None;
            }
        };
        let sent = engine.now();
        let id = connection.id;
        let (seconds, target) = (&mut self.seconds, &self.target);
        let bytes = hand_over(engine, seconds, target, connection, &self.tx);

        let flight = Flight { due: batch.due.unwrap_or(sent), sent, exchange: 0 };
        let tried = count + u32::from(refused.is_some());
        self.recorder.sent(flight, tried, sent.since(batch.possible), bytes);
        let mut unanswered = 0;
        if let Some(rooms) = &mut self.rooms {
            let is_measured = self.recorder.is_measured(flight.due);
            let class = if is_measured { Class::Measured } else { Class::Uncounted };
            (0..count).for_each(|_| rooms.published(batch.place, flight.due, sent, class));
        }
        for index in 0..count {
            let Some(requests) = requests else {
                connection.in_flight.push(flight);
                continue;
            };
            let exchange = requests.kind(number, first.wrapping_add(index));
            let flight = Flight { exchange, ..flight };
            self.recorder.sent_kind(flight);
            if requests.has_reply(exchange) {
                connection.in_flight.push(flight);
            } else {
                connection.in_flight.push_ended(flight);
                self.recorder.complete(flight);
                unanswered += 1;
            }
        }
        let exchange = requests.map_or(0, |it| it.kind(number, first.wrapping_add(count)));
        self.tx.clear();
        self.notice(sent);
        if let Some(error) = refused {
            self.pace.take_back(batch.place, batch.count - tried);
            self.pace.ended(batch.place, 1);
            let flight = Flight { exchange, ..flight };
            self.recorder.sent_kind(flight);
            self.refused_by_machine(id, flight, &error);
        }
        unanswered
    }

    /// Sends what the protocol itself has to say (a pong, a close), unless that went out together with a message.
    #[inline]
    fn flush<E: Metered>(&mut self, engine: &mut E, id: ConnectionId) {
        if !self.tx.is_empty() || !self.seconds.is_empty() {
            self.flush_own(engine, id);
        }
    }

    #[inline(never)]
    fn flush_own<E: Metered>(&mut self, engine: &mut E, id: ConnectionId) {
        let mut is_read = true;
        if let Some(connection) = self.connections.find(id) {
            let (seconds, target) = (&mut self.seconds, &self.target);
            let bytes = hand_over(engine, seconds, target, connection, &self.tx);
            self.recorder.bytes_sent(bytes);
            let each = 2 * self.workload.content.payload().len() + TX_ROOM;
            let messages = connection.in_flight.len().saturating_mul(each);
            is_read = engine.unsent(id) <= messages.saturating_add(UNSENT_LEN_MAX);
        }
        self.tx.clear();
        if !is_read {
            self.lose(engine, id, ErrorClass::Protocol, || NOT_READ.to_owned());
        }
    }

    /// Returns the instant until which to wait, at `now`; `was_idle` if the step just ended had nothing to do.
    fn rest(&mut self, now: Instant, was_idle: bool) -> Instant {
        let until = self.wake_at.min(self.due_at);
        if self.alive_until != Instant::NEVER {
            self.alive_until = now.max(until);
        }
        if !self.pace.is_timed() {
            return until;
        }
        self.recorder.looked(self.punctual.looked());
        let due = if self.due_at == self.beat_at { Instant::NEVER } else { self.due_at };
        self.punctual.rest(now, due, until, was_idle)
    }

    /// Notes that it is `now`: records a stall if the loop stood still since the last look at the clock.
    #[inline]
    fn notice(&mut self, now: Instant) {
        if now.since(self.alive_until) >= self.stall_min {
            self.stood_still(self.alive_until, now);
        }
        self.alive_until = self.alive_until.max(now);
    }

    #[cold]
    fn stood_still(&mut self, from: Instant, until: Instant) {
        let known = self.recorder.stalled_until();
        let in_flight = self.connections.iter().map(|it| it.in_flight.due_since(known));
        let fresh = in_flight.sum::<u64>() + self.pace.waits_since(known);
        let outstanding = self.pace.in_flight() + self.pace.waits();
        self.recorder.stalled(from, until, outstanding, fresh);
        self.pace.stalled(from, until);
    }
}

/// Returns the kernel's stamp of the reply that was received at `received`, if only one message is in flight: with
/// more, the stamp may be that of a later reply.
#[inline]
fn stamp_of_last(
    engine: &mut impl Metered,
    in_flight: &InFlight,
    received: Instant,
) -> Option<Instant> {
    if in_flight.len() == 1 { engine.arrived(received) } else { None }
}

/// True if the pushed message was published in a room: it has a header, or its rule says where the header is.
fn is_published(workload: &Workload, pushed: wire::Pushed<'_>) -> bool {
    let has_header = || {
        let requests = workload.requests.as_ref()?;
        let rule = requests.conversation().pushes.get(usize::from(pushed.rule?))?;
        Some(rule.header.is_some())
    };
    pushed.header.is_some() || has_header() == Some(true)
}

/// Completions taken between two looks at the clock.
const BREATH_LEN: u32 = 32;

/// Arrivals looked at, and messages sent in turn, before completions are looked at again.
const TAKEN_MAX: u32 = 1024;
const SENDS_MAX: u32 = 256;

/// The shortest gap that counts as a stall: shorter ones are normal for schedulers and timers. Far above the usual
/// lateness of timers.
const STALL_MIN: Nanos = Nanos::from_millis(5);

/// The longest time between two looks at the schedule and the clock, for a worker that has a schedule: a gap in its
/// loop is known to within this time.
const BEAT: Nanos = Nanos::from_millis(20);

/// The length from which on messages are handed over only after a look at how much the kernel has not taken.
const LONG_LEN: usize = 4096;

/// The error of a peer that makes us answer but does not read: more than [`UNSENT_LEN_MAX`] bytes of answers wait.
const NOT_READ: &str =
    "the server sends pings or requests but does not read the answers: 1 MiB of them is unsent";

/// The most that is read at once.
const RX_LEN: usize = 64 * 1024;

/// Room in the transmit buffer for framing and heads.
const TX_ROOM: usize = 4096;
