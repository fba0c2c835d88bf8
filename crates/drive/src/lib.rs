//! The main path: one worker of the load generator. Open this file first.
//!
//! A [`Worker`] owns everything that it touches for a message: connections with their protocol machines, counters, one
//! receive and one transmit buffer. It shares nothing, locks nothing, and allocates nothing for a message. The way of
//! a message, as `ARCHITECTURE.md` draws it, is this file from top to bottom:
//!
//! 1. [`Worker::step`](engine::Node::step) takes what the engine completed;
//! 2. `received` decodes replies, matches each to its message, checks it and stamps `received`;
//! 3. `send` encodes the next message, stamps `sent` and hands it to the engine.
//!
//! `lifecycle` has what happens ten times a second or once for a connection: opening, phases, time-outs, the end.
//! `recorder` has what is written down. Left out: who starts workers and what becomes of results (crate `run`).

mod connection;
mod control;
mod lifecycle;
mod recorder;
mod target;

pub use control::Control;
pub use recorder::{
    ConnectionCounts, Counts, ErrorClass, Identity, Interval, Observer, OpenLoop, Outcome, Phase,
    Sessions, Stall, Stalls, Tally, Times,
};
pub use target::{Target, Transport};

use connection::{Connection, State, find};
use engine::{Completion, ConnectionId, Engine, Node, Step};
use load::{Lifetime, Workload};
use recorder::{Failure, Recorder};
use std::collections::VecDeque;
use std::sync::Arc;
use units::Instant;
use wire::{Event, Input, Kind, Message, Protocol};

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
    /// No deadline of a connection is nearer.
    deadlines_from: Instant,

    /// How many messages each connection has in flight, and all together.
    in_flight_each: u32,
    in_flight_max: u64,
    in_flight: u64,
    /// Connections that wait for their turn when all together may have no more in flight.
    waiting: VecDeque<ConnectionId>,
    /// Messages of the measurement still to be sent.
    quota: u64,

    rx: Box<[u8]>,
    tx: Vec<u8>,
}

impl<E: Engine, O: Observer> Node<E> for Worker<O> {
    fn step(&mut self, engine: &mut E) -> Step {
        while let Some(completion) = engine.complete(&mut self.rx) {
            match completion {
                Completion::Received { connection, len } => self.received(engine, connection, len),
                Completion::Connected(id) => self.connected(engine, id),
                Completion::Ended(id) => self.ended(engine, id),
                Completion::Failed(id, error) => self.failed(engine, id, error),
                Completion::Accepted(id) => engine.close(id), // We listen nowhere.
            }
        }
        let now = engine.now();
        if now >= self.wake_at {
            self.keep_time(engine, now);
        }
        if self.phase == Phase::Done { Step::Done } else { Step::Wait(self.wake_at) }
    }
}

impl<O: Observer> Worker<O> {
    /// Decodes what arrived, and sends on.
    fn received<E: Engine>(&mut self, engine: &mut E, id: ConnectionId, len: usize) {
        let Some(connection) = find(&mut self.connections, id) else { return };
        self.recorder.bytes_received(len);
        let mut input = Input::new(&mut self.rx[..len]);
        let mut replies = 0;
        let mut opened = false;
        let end = loop {
            match connection.machine.receive(&mut input, &mut self.tx) {
                Ok(None) => break None,
                Ok(Some(Event::Message(message))) => {
                    let received = engine.now();
                    let Some(sent) = connection.in_flight.pop_front() else {
                        break Some(End::unasked(message.payload));
                    };
                    if !std::mem::replace(&mut connection.replied, true)
                        && let Some(times) = self.recorder.times(connection.began)
                    {
                        times.first_reply.record(received.since(sent));
                    }
                    check(&self.workload, message, sent, received, &mut self.recorder);
                    replies += 1;
                }
                Ok(Some(Event::Refused { code, body })) => {
                    let Some(sent) = connection.in_flight.pop_front() else {
                        break Some(End::unasked(body));
                    };
                    refuse(sent, code, body, &mut self.recorder);
                    replies += 1;
                }
                Ok(Some(Event::Open)) => opened = true,
                Ok(Some(Event::Ping(_) | Event::Pong(_))) => {}
                Ok(Some(Event::Closed(_))) if connection.state == State::AwaitClose => {
                    break Some(End::Closed(String::new())); // As asked: nobody wants it described.
                }
                Ok(Some(Event::Closed(closed))) => break Some(End::Closed(describe(&closed))),
                Err(error) => break Some(End::Broken(error.to_string())),
            }
        };
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
        let kind = if self.workload.content.is_text() { Kind::Text } else { Kind::Binary };
        let message = Message { kind, payload: self.workload.content.payload() };
        for _ in 0..count {
            let sent = connection.machine.send(message, &mut self.tx);
            debug_assert_eq!(
                sent,
                Ok(()),
                "the connection is open and the plan keeps messages within its limits"
            );
        }
        let sent = engine.now();
        engine.send(id, &self.tx);

        let count = u32::try_from(count).expect("it is at most `wanted`");
        connection.in_flight.extend(std::iter::repeat_n(sent, count as usize));
        if connection.quota != u32::MAX {
            connection.quota -= count;
        }
        if self.phase >= Phase::Measure && self.quota != u64::MAX {
            self.quota -= u64::from(count);
        }
        self.in_flight += u64::from(count);
        self.recorder.sent(sent, count, self.tx.len());
        self.tx.clear();
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
            && let Some(id) = self.waiting.pop_front()
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
            self.waiting.push_back(id);
        }
    }

    /// Sends what the protocol itself wants said (a pong, a close), if it was not sent together with a message.
    fn flush<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        if !self.tx.is_empty() {
            engine.send(id, &self.tx);
            self.recorder.bytes_sent(self.tx.len());
            self.tx.clear();
        }
    }
}

/// How many replies a turn lasts where connections take turns. A connection that has been quiet for long costs the
/// kernel several times what one costs that is in use: its memory is cold, and its acknowledgements travel alone.
const TURN_LEN: u32 = 32;

/// Holds a reply against what it must be, and writes down how its message ended.
#[inline]
fn check(
    workload: &Workload,
    reply: Message<'_>,
    sent: Instant,
    received: Instant,
    recorder: &mut Recorder,
) {
    match workload.expect.check(&workload.content, reply.payload, reply.kind == Kind::Text) {
        Ok(()) => recorder.reply(sent, received),
        Err(mismatch) => {
            recorder.failed(sent, Failure::Error);
            recorder.tally(ErrorClass::WrongReply, || {
                format!("{mismatch}: \"{}\"", excerpt(reply.payload))
            });
        }
    }
}

/// Writes down that the peer refused the message of `sent`.
#[cold]
fn refuse(sent: Instant, code: u16, body: &[u8], recorder: &mut Recorder) {
    recorder.failed(sent, Failure::Error);
    recorder.tally(ErrorClass::Refused, || {
        format!("refused with status {code}: \"{}\"", excerpt(body))
    });
}

/// How a peer ended a connection.
#[derive(Debug)]
enum End {
    /// It broke the protocol.
    Broken(String),
    /// It ended properly.
    Closed(String),
}

impl End {
    #[cold]
    fn unasked(payload: &[u8]) -> Self {
        Self::Broken(format!(
            "{} bytes that no message asked for: \"{}\"",
            payload.len(),
            excerpt(payload)
        ))
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
