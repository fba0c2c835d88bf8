//! The main path: one worker of the load generator. Open this file first.
//!
//! A [`Worker`] owns everything that it touches for a message: connections with their protocol machines, counters, one
//! receive and one transmit buffer. It shares nothing, locks nothing, and allocates nothing for a message. The way of
//! a message, as `ARCHITECTURE.md` draws it, is this file from top to bottom:
//!
//! 1. [`Worker::step`](engine::Node::step) takes what the engine completed, and looks at the clock;
//! 2. `received` decodes replies and stamps `received`; `identity` matches each to its message and checks it;
//! 3. in a closed loop, a reply makes the next message due: `replied` to `send`, which encodes it, stamps `sent` and
//!    hands it to the engine;
//! 4. in an open loop, the schedule does: `pacing` takes what is due, lets it wait for a connection, and calls
//!    `send_due`, which is the same for a message that has a due time of its own.
//!
//! `lifecycle` has what happens ten times a second or once for a connection: opening, phases, time-outs, the end.
//! `recorder` has what is written down, `stream` what the bytes were made of. Left out: who starts workers and what
//! becomes of results (crate `run`).

mod connection;
mod control;
mod identity;
mod in_flight;
mod last;
mod lifecycle;
mod pacing;
mod recorder;
mod second;
mod stream;
mod target;
mod waiting;

pub use control::Control;
pub use lifecycle::OPENING_MAX;
pub use recorder::{Interval, Observer, Phase};
pub use target::Target;

use connection::{Connection, State, find};
use engine::{Completion, ConnectionId, Engine, Node, Step};
use identity::{Answer, Check};
use in_flight::Flight;
use load::{Header, Lifetime, Workload};
use pacing::Pacing;
use record::ErrorClass;
use recorder::{Failure, Recorder};
use second::hand_over;
use std::collections::VecDeque;
use std::sync::Arc;
use units::{Instant, Nanos};
use wire::{Event, Input, Kind, Message, Opening, PeerError, Protocol, Secured};

/// One thread's worth of load.
#[derive(Debug)]
pub struct Worker<O> {
    workload: Workload,
    target: Target,
    control: Arc<Control>,
    observer: O,
    recorder: Recorder,

    phase: Phase,
    /// When the phase ends at the latest.
    phase_end: Instant,
    window: Option<(Instant, Instant)>,
    /// Nothing but completions has to be looked at before.
    wake_at: Instant,

    /// At the index of their id.
    connections: Vec<Option<Connection>>,
    /// At the index of the second connection of two: its id, and that of the first.
    seconds: Vec<Option<(ConnectionId, ConnectionId)>>,
    /// The number of our first connection among those of all workers, and the distance to the next one's.
    numbers: (u64, u64),
    /// How many of them exist, and how many of those are not open yet.
    live: u32,
    opening: u32,
    /// Connections, or short-lived clients, still to be started.
    to_start: u64,
    /// Connections to start in the place of ended ones.
    to_reopen: u32,
    /// None is started before; after a failure it waits a little.
    start_not_before: Instant,
    first_start: Option<Instant>,
    /// Since when no reply was heard, ours or of others, as far as was looked, and how many had been by then.
    quiet: (Instant, u64),
    /// No deadline of a connection is nearer.
    deadlines_from: Instant,

    /// How many messages each connection has in flight, and all together.
    in_flight_each: u32,
    in_flight_max: u64,
    in_flight: u64,
    /// Connections that wait for their turn: in a closed loop when all together may have no more in flight, in an open
    /// one when they can send.
    turns: VecDeque<ConnectionId>,
    /// Messages of the measurement still to be sent; in an open loop, still to become due.
    quota: u64,

    /// The schedule of an open loop, and what waits.
    pacing: Option<Pacing>,
    /// When the schedule has to be looked at again; never in a closed loop.
    due_at: Instant,
    /// The loop is known to have gone on until then, or to have had nothing to do; [`Instant::NEVER`] where it does not
    /// matter.
    alive_until: Instant,
    stall_min: Nanos,
    has_header: bool,
    /// Whether the stack has layers that count their bytes.
    has_layers: bool,

    /// Where messages have a header: what they hold, with the header of the last written over its beginning.
    payloads: Box<[u8]>,
    rx: Box<[u8]>,
    tx: Vec<u8>,
}

impl<E: Engine, O: Observer> Node<E> for Worker<O> {
    fn step(&mut self, engine: &mut E) -> Step {
        if self.pacing.is_some() {
            let now = engine.now();
            self.notice(now); // Before replies are taken that came while the loop stood still.
            if self.is_full() {
                self.keep_schedule(engine, now); // Before they make room.
            }
        }
        let mut completions = 0_u32;
        while let Some(completion) = engine.complete(&mut self.rx) {
            match completion {
                Completion::Received { connection, len } => self.received(engine, connection, len),
                Completion::Connected(id) => self.connected(engine, id),
                Completion::Ended(id) => self.ended(engine, id),
                Completion::Failed(id, error) => self.failed(engine, id, error),
                Completion::Accepted(id) => engine.close(id), // We listen nowhere.
            }
            completions += 1;
            if completions.is_multiple_of(BREATH_LEN) {
                self.breathe(engine);
            }
        }
        let now = engine.now();
        self.notice(now);
        if now >= self.wake_at {
            self.keep_time(engine, now);
        }
        if now >= self.due_at {
            self.keep_schedule(engine, now);
        }
        if self.phase == Phase::Done { Step::Done } else { Step::Wait(self.rest(now)) }
    }
}

impl<O: Observer> Worker<O> {
    /// Looks at the clock in the middle of many completions.
    fn breathe<E: Engine>(&mut self, engine: &mut E) {
        let now = engine.now();
        self.notice(now);
        if now >= self.due_at {
            self.keep_schedule(engine, now);
        }
    }

    /// Until when there is nothing to do, at `now`.
    fn rest(&mut self, now: Instant) -> Instant {
        let until = self.wake_at.min(self.due_at);
        if self.alive_until != Instant::NEVER {
            self.alive_until = now.max(until);
        }
        until
    }

    /// It is `now`: the loop has gone on since the last look at the clock, or it stood still.
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
        let in_flight = self.connections.iter().flatten().map(|it| it.in_flight.due_since(known));
        let fresh = in_flight.sum::<u64>()
            + self.pacing.as_ref().map_or(0, |pacing| pacing.waits_since(known));
        let waits = self.pacing.as_ref().map_or(0, Pacing::waits);
        self.recorder.stalled(from, until, self.in_flight + waits, fresh);
        if let Some(pacing) = &mut self.pacing {
            pacing.stalled(from, until);
        }
    }

    /// Decodes what arrived, and sends on.
    fn received<E: Engine>(&mut self, engine: &mut E, id: ConnectionId, len: usize) {
        let (id, is_second) = self.whose(id);
        let Some(connection) = find(&mut self.connections, id) else { return };
        self.recorder.bytes_received(len);
        let mut input = Input::new(&mut self.rx[..len]);
        let mut replies = 0;
        let mut opened = false;
        let end = loop {
            let machine = &mut connection.machine;
            let event = match is_second {
                false => machine.receive(&mut input, &mut self.tx),
                true => machine.receive_second(&mut input, &mut self.tx),
            };
            match event {
                Ok(None) => break None,
                Ok(Some(Event::Message(message))) => {
                    let received = engine.now();
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
                    if !std::mem::replace(&mut connection.replied, true)
                        && let Some(times) = self.recorder.times(connection.began)
                    {
                        times.first_reply.record(received.since(flight.sent));
                    }
                    if self.pacing.is_some()
                        && connection.in_flight.is_empty()
                        && let Some(arrived) = engine.arrived()
                    {
                        self.recorder.own_share(flight, received.since(arrived));
                    }
                    replies += 1;
                }
                Ok(Some(Event::Refused { code, body })) => {
                    self.recorder.stream.received(body.len());
                    let Some((_, flight)) = connection.in_flight.take_oldest() else {
                        break Some(End::unasked(body));
                    };
                    refuse(flight, code, body, engine.now(), &mut self.recorder);
                    replies += 1;
                }
                Ok(Some(Event::Secured(secured))) => {
                    opened |= be_secured(connection, secured, engine.now(), &mut self.recorder);
                }
                Ok(Some(Event::Open)) => opened = true,
                Ok(Some(Event::Pushed(pushed))) => self.recorder.pushed(pushed),
                Ok(Some(Event::Ping(_) | Event::Pong(_))) => {}
                Ok(Some(Event::Closed(_))) if connection.state == State::AwaitClose => {
                    break Some(End::Closed(String::new())); // As asked: nobody wants it described.
                }
                Ok(Some(Event::Closed(closed))) => break Some(End::Closed(describe(&closed))),
                Err(error) => break Some(End::broken(&error)),
            }
        };
        connection.replies += u64::from(replies);
        self.in_flight -= u64::from(replies);
        if opened {
            self.opened(id, engine.now());
        }
        match end {
            // Nothing more is sent on a connection that the peer has ended.
            Some(end) => {
                self.flush(engine, id);
                self.peer_ended(engine, id, end);
            }
            None if opened => self.begin_messages(engine, id),
            None if replies > 0 => self.replied(engine, id, replies),
            None => {}
        }
        self.flush(engine, id);
    }

    /// `replies` came: their places are free for the next messages.
    fn replied<E: Engine>(&mut self, engine: &mut E, id: ConnectionId, replies: u32) {
        if self.pacing.is_some() {
            let now = engine.now();
            return self.replied_due(engine, id, now);
        }
        let Some(connection) = find(&mut self.connections, id) else { return };
        if connection.is_served() {
            self.client_served(engine, id);
        } else if self.in_flight_max == u64::MAX || connection.turn > replies {
            connection.turn = connection.turn.saturating_sub(replies);
            return self.send(engine, id, replies);
        } else {
            self.flush(engine, id); // Before others have their turn.
            self.wait_for_turn(id);
        }
        self.send_in_turn(engine);
        if self.quota == 0 && self.in_flight == 0 {
            self.attend();
        }
    }

    /// Sends up to `wanted` messages on the connection: as many as it, the measurement and the bound on messages in
    /// flight allow.
    fn send<E: Engine>(&mut self, engine: &mut E, id: ConnectionId, wanted: u32) {
        let allowed = self.allowed();
        let Some(connection) = find(&mut self.connections, id) else { return };
        let count = allowed.min(u64::from(wanted.min(connection.quota)));
        if count == 0 || connection.state != State::Open {
            if self.in_flight == 0 {
                self.attend();
            }
            return;
        }
        let count = u32::try_from(count).expect("it is at most `wanted`");
        let next = connection.in_flight.next_sequence();
        for index in 0..count {
            let payload = self.workload.content.payload_of(next.wrapping_add(index));
            encode(connection, payload, &self.workload, &mut self.tx);
        }
        let sent = engine.now();
        let bytes = hand_over(engine, connection, &self.tx);

        for _ in 0..count {
            connection.in_flight.push(Flight { due: sent, sent });
        }
        if connection.quota != u32::MAX {
            connection.quota -= count;
        }
        if self.phase >= Phase::Measure && self.quota != u64::MAX {
            self.quota -= u64::from(count);
        }
        self.in_flight += u64::from(count);
        self.recorder.sent(sent, count, bytes);
        self.tx.clear();
        self.notice(sent);
    }

    /// Sends the message of an open loop that was due at `due` on a connection that can send, which it could have done
    /// since `possible`.
    fn send_due<E: Engine>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        due: Instant,
        possible: Instant,
    ) {
        let Some(connection) = find(&mut self.connections, id) else { return };
        let content = &self.workload.content;
        let sequence = connection.in_flight.next_sequence();
        let payload = if self.has_header {
            let payload = &mut self.payloads[content.span_of(sequence)];
            let header = Header { connection: connection.number, sequence, due: Nanos(due.0) };
            header.write(payload, content.is_text());
            payload
        } else {
            content.payload_of(sequence)
        };
        encode(connection, payload, &self.workload, &mut self.tx);
        let sent = engine.now();
        let bytes = hand_over(engine, connection, &self.tx);

        let flight = Flight { due, sent };
        connection.in_flight.push(flight);
        if connection.quota != u32::MAX {
            connection.quota -= 1;
        }
        self.in_flight += 1;
        self.recorder.sent_due(flight, sent.since(possible), bytes);
        self.tx.clear();
        self.notice(sent);
    }

    /// How many messages may be sent now. Short-lived clients that began in the measurement are followed to their end.
    fn allowed(&self) -> u64 {
        let by_phase = match self.phase {
            Phase::WarmUp => u64::MAX,
            Phase::Measure => self.quota,
            Phase::Drain if self.workload.lifetime != Lifetime::Long => self.quota,
            Phase::Connect | Phase::AwaitStart | Phase::Drain | Phase::Close | Phase::Done => 0,
        };
        by_phase.min(self.in_flight_max - self.in_flight)
    }

    /// Lets connections that have waited longest send, while more may be in flight.
    fn send_in_turn<E: Engine>(&mut self, engine: &mut E) {
        while self.allowed() > 0
            && let Some(id) = self.turns.pop_front()
        {
            // An entry may be left over from a connection that was closed; its index may belong to another one.
            let Some(connection) = find(&mut self.connections, id) else { continue };
            if !std::mem::take(&mut connection.queued) {
                continue;
            }
            connection.turn = TURN_LEN;
            let in_flight = u32::try_from(connection.in_flight.len()).unwrap_or(u32::MAX);
            self.send(engine, id, self.in_flight_each.saturating_sub(in_flight));
            if find(&mut self.connections, id)
                .is_some_and(|connection| connection.may_send(self.in_flight_each))
            {
                self.wait_for_turn(id); // The bound was reached in the middle of its turn.
            }
        }
    }

    fn wait_for_turn(&mut self, id: ConnectionId) {
        if let Some(connection) = find(&mut self.connections, id)
            && !std::mem::replace(&mut connection.queued, true)
        {
            self.turns.push_back(id);
        }
    }

    /// Sends what the protocol itself wants said (a pong, a close), if it was not sent together with a message.
    fn flush<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        if self.tx.is_empty() && self.seconds.is_empty() {
            return;
        }
        if let Some(connection) = find(&mut self.connections, id) {
            self.recorder.bytes_sent(hand_over(engine, connection, &self.tx));
        }
        self.tx.clear();
    }
}

/// How many replies a turn lasts where connections take turns. A connection that has been quiet for long costs the
/// kernel several times what one costs that is in use: its memory is cold, and its acknowledgements travel alone.
const TURN_LEN: u32 = 32;

/// How many completions are taken between two looks at the clock.
const BREATH_LEN: u32 = 32;

/// Appends the next message to `tx`.
#[inline]
fn encode(connection: &mut Connection, payload: &[u8], workload: &Workload, tx: &mut Vec<u8>) {
    let kind = if workload.content.is_text() { Kind::Text } else { Kind::Binary };
    let sent = connection.machine.send(Message { kind, payload }, tx);
    debug_assert_eq!(
        sent,
        Ok(()),
        "the connection is open and the plan keeps messages within its limits"
    );
}

/// The TLS handshake is complete: writes that down, and says whether messages may be sent at once.
fn be_secured(
    connection: &mut Connection,
    secured: Secured,
    now: Instant,
    recorder: &mut Recorder,
) -> bool {
    recorder.secured(secured.facts, connection.began, now.since(connection.since));
    connection.since = now;
    match secured.opening {
        Opening::Done => true,
        Opening::Awaited => {
            connection.state = State::AwaitHandshake;
            false
        }
    }
}

/// Writes down that the peer refused a message.
#[cold]
fn refuse(flight: Flight, code: u16, body: &[u8], now: Instant, recorder: &mut Recorder) {
    recorder.failed(flight, Failure::Error, now);
    recorder.tally(ErrorClass::Refused, || {
        format!("refused with status {code}: \"{}\"", excerpt(body))
    });
}

/// How a peer ended a connection.
#[derive(Debug)]
enum End {
    /// It broke the protocol, or TLS around it.
    Broken(ErrorClass, String),
    /// It ended properly.
    Closed(String),
}

impl End {
    #[cold]
    fn broken(error: &PeerError) -> Self {
        let class =
            if matches!(error, PeerError::Tls(_)) { ErrorClass::Tls } else { ErrorClass::Protocol };
        Self::Broken(class, error.to_string())
    }

    #[cold]
    fn unasked(payload: &[u8]) -> Self {
        let len = payload.len();
        let text = format!("{len} bytes that no message asked for: \"{}\"", excerpt(payload));
        Self::Broken(ErrorClass::Protocol, text)
    }
}

#[cold]
fn describe(closed: &wire::Closed<'_>) -> String {
    let reason = excerpt(closed.reason.as_bytes());
    match closed.code {
        Some(code) if reason.is_empty() => format!("closed by the server with code {code}"),
        Some(code) => format!("closed by the server with code {code}: \"{reason}\""),
        None => "closed by the server".to_owned(),
    }
}

/// The beginning of a peer's bytes, escaped so that no terminal takes them for anything but text.
fn excerpt(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(EXCERPT_LEN_MAX)];
    let rest = if shown.len() < bytes.len() { "…" } else { "" };
    format!("{}{rest}", shown.escape_ascii())
}

const EXCERPT_LEN_MAX: usize = 48;
