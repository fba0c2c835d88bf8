//! The node: reads messages, lets replies wait, and makes the faults.

use super::json_rpc::{self, Said};
use super::line::{Line, Reply, Waiting};
use super::lot::{Lot, Lots};
use super::streaming::{Step as StreamStep, Streaming, Then};
use crate::behaviour::{Behaviour, EventStream, MisfitError, Speech};
use crate::peers::{Heard, Patience, Peers, RX_LEN, STOP_POLL, flush, hear};
use crate::{Faults, Totals};
use engine::{Completion, ConnectionId, Engine, Node, Step};
use load::TrueDelay;
use spec::Carries;
use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Instant, Nanos};
use wire::http1::StreamPiece;
use wire::{Input, Kind, Message, MisuseError, Protocol, Stack};

/// An echo server, or a server that speaks a language, with a [`Behaviour`].
///
/// Nothing happens to a message before it is complete. If it has 8 bytes of zeros after a header (in a text, 16 digits
/// of zero), its reply has the true time for which it was kept in that place, in nanoseconds: from the instant at which
/// the message had been decoded to the instant at which the reply was handed over ([`TrueDelay`]). The time before the
/// message was read is not included.
///
/// Handshakes (including TLS), pings and the ends of connections are answered at once, except in a stall. Each reply is
/// a separate write.
///
/// HTTP/1.1 answers requests in order, so after a dropped reply no later request on the connection is answered either;
/// each of them counts as dropped.
///
/// With an [`EventStream`], such a stream answers each request.
#[derive(Debug)]
pub struct Oracle {
    stack: Stack,
    peers: Peers<Owed>,
    close_after: Option<NonZeroU64>,
    speaks: Speech,
    stream: Option<EventStream>,
    work: Nanos,
    leak: Leak,
    /// True if an unanswered message leaves the rest of its connection unanswered.
    is_strict: bool,
    line: Line,
    lots: Lots,
    /// Replies that wait to be overtaken, with the instants at which their wait ends; earliest first.
    held_back: VecDeque<(Instant, ConnectionId, u64)>,
    stop: Arc<AtomicBool>,
    totals: Totals,
    rx: Box<[u8]>,
    tx: Vec<u8>,
}

/// The state of a connection.
#[derive(Debug, Default)]
struct Owed {
    /// The number of its replies in the line.
    waiting: u64,
    /// The instant at which the last of those is ready.
    last_ready: Instant,
    /// The number of messages that were answered.
    answered: u64,
    /// The running stream of events, and the requests that wait for its end.
    streaming: Streaming,
    /// A reply that the next one will overtake.
    held_back: Option<Reply>,
    /// True if the peer will send no more.
    has_ended: bool,
    /// True if no further message is answered.
    is_mute: bool,
}

impl Oracle {
    /// A server of `stack` that runs until `stop` is set, which it checks ten times a second.
    ///
    /// # Errors
    ///
    /// The behaviour is not possible over the protocol.
    pub fn new(
        stack: Stack,
        behaviour: Behaviour,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, MisfitError> {
        behaviour.check(&stack)?;
        Ok(Self {
            close_after: behaviour.close_after,
            speaks: behaviour.speaks,
            stream: behaviour.stream,
            work: behaviour.work,
            leak: Leak {
                each: usize::try_from(behaviour.leak.0).unwrap_or(usize::MAX),
                kept: Vec::new(),
            },
            is_strict: stack.facts().carries == Carries::Requests,
            line: Line::new(behaviour.stalls.clone(), behaviour.cap),
            lots: Lots::new(behaviour),
            stack,
            peers: Peers::new(Patience::default()),
            held_back: VecDeque::new(),
            stop,
            totals: Totals::default(),
            rx: vec![0; RX_LEN].into_boxed_slice(),
            tx: Vec::new(),
        })
    }

    /// Closes peers that take longer than `patience`.
    #[must_use]
    pub fn patient(mut self, patience: Patience) -> Self {
        self.peers.set_patience(patience);
        self
    }

    /// Ends connections with large incomplete messages, or large replies that their peers do not read, while all
    /// connections together, with the waiting replies, hold more than `bytes` bytes.
    #[must_use]
    pub fn with_memory_max(mut self, bytes: usize) -> Self {
        self.peers.set_memory_max(bytes);
        self.line.set_memory_max(bytes);
        self
    }

    /// The totals so far.
    pub fn totals(&self) -> Totals {
        let (handshakes, timed_out) = (self.peers.handshakes(), self.peers.timed_out());
        let faults = Faults { leaked_bytes: self.leak.bytes(), ..self.totals.faults };
        Totals { handshakes, timed_out, faults, ..self.totals }
    }
}

impl<E: Engine> Node<E> for Oracle {
    fn step(&mut self, engine: &mut E) -> Step {
        if self.stop.load(Ordering::Relaxed) {
            return Step::Done;
        }
        let now = engine.now();
        let over = self.line.over_from(now);
        if over > now {
            return stand_still(engine, now, over);
        }
        while !self.line.is_full()
            && let Some(completion) = engine.complete(&mut self.rx)
        {
            self.react(engine, completion);
        }
        let now = engine.now();
        while let Some(reply) = self.line.next(now) {
            self.answer(engine, reply);
        }
        self.release_late(engine, now);
        self.peers.close_late(engine, now);
        if self.line.is_full() {
            return stand_still(engine, now, self.line.wake());
        }
        let late = self.held_back.front().map_or(Instant::NEVER, |(until, ..)| *until);
        Step::Wait(self.line.wake().min(late).min(now + STOP_POLL))
    }
}

/// Stands still until `until`, apart from checks whether to stop.
fn stand_still<E: Engine>(engine: &mut E, now: Instant, until: Instant) -> Step {
    let until = until.min(now + STOP_POLL);
    engine.stand_still(until);
    Step::Wait(until)
}

/// Memory that is kept and never used again.
#[derive(Debug)]
struct Leak {
    /// The bytes that each reply adds.
    each: usize,
    kept: Vec<Box<[u8]>>,
}

impl Leak {
    fn next(&mut self) {
        if self.each > 0 {
            // Filled with ones: the kernel does not back zeros with pages until they are written.
            self.kept.push(vec![1; self.each].into_boxed_slice());
        }
    }

    fn bytes(&self) -> u64 {
        (self.each as u64).saturating_mul(self.kept.len() as u64)
    }
}

/// Reading.
impl Oracle {
    fn react<E: Engine>(&mut self, engine: &mut E, completion: Completion) {
        match completion {
            Completion::Received { connection, len } => {
                self.totals.bytes_received += len as u64;
                self.understand(engine, connection, len);
            }
            Completion::Accepted(id) => {
                self.peers.accept(id, &self.stack, engine.now());
                self.totals.connections += 1;
            }
            Completion::Ended(id) => {
                if let Some(peer) = self.peers.find(id) {
                    peer.state.has_ended = true;
                    self.end_if_nothing_is_owed(engine, id);
                }
            }
            Completion::Failed(id, _) => self.peers.forget(id),
            Completion::Connected(id) => engine.close(id), // A server never connects.
        }
    }

    /// Queues the answers to all messages in the bytes that arrived; sends answers of the protocol itself at once.
    fn understand<E: Engine>(&mut self, engine: &mut E, id: ConnectionId, len: usize) {
        let Some(peer) = self.peers.find(id).filter(|peer| !peer.over) else { return };
        let mut input = Input::new(&mut self.rx[..len]);
        let (mut secured, mut is_progress) = (None, false);
        peer.held = peer.held.saturating_add(len);
        while !peer.over {
            match hear(&mut peer.machine, &mut peer.held, &mut input, &mut self.tx) {
                None => break,
                Some(Heard::Message(Message { kind, payload })) => {
                    is_progress = true;
                    let decoded = engine.now();
                    self.line.note_message(decoded);
                    let mut said = None;
                    if self.speaks == Speech::JsonRpc {
                        // A message that requires no answer draws no lot.
                        let Some(answer) = json_rpc::answer(payload) else { continue };
                        said = Some(answer);
                    }
                    let (lot, owed) = (self.lots.draw(), &mut peer.state);
                    if lot.drop || owed.is_mute {
                        owed.is_mute = self.is_strict;
                        self.totals.faults.dropped += 1;
                        continue;
                    }
                    if let Some(stream) = self.stream {
                        owed.waiting += 1;
                        if owed.streaming.ask(payload) {
                            if begin(&mut peer.machine, stream, &mut self.tx).is_err() {
                                self.totals.broken += 1;
                                peer.over = true;
                                break;
                            }
                            let lot = Lot { delay: stream.due(0), ..lot };
                            let said = Said::default();
                            let reply = Waiting { to: id, decoded, kind, said, lot };
                            self.line.join(reply, decoded);
                        }
                        continue;
                    }
                    let said = match said {
                        None => Said { reply: payload.to_vec(), ..Said::default() },
                        Some(answer) => answer.with(lot),
                    };
                    let reply = Waiting { to: id, decoded, kind, said, lot };
                    owed.last_ready = self.line.join(reply, owed.last_ready);
                    owed.waiting += 1;
                }
                Some(Heard::Closed) => peer.over = true,
                Some(Heard::Secured { is_resumed }) => secured = Some(is_resumed),
                Some(Heard::Open) => is_progress = true,
                Some(Heard::Nothing) => {}
                Some(Heard::Broken) => {
                    self.totals.broken += 1;
                    peer.over = true;
                }
            }
        }
        let is_over = peer.over;
        if let Some(is_resumed) = secured {
            self.peers.secured(id, is_resumed);
        }
        self.peers.was_read(id, engine.now(), is_progress);
        self.send(engine, id);
        if is_over {
            self.peers.linger(engine, id);
        } else if self.peers.holds_too_much(engine, id, self.line.held_len()) {
            self.totals.broken += 1;
            self.peers.close(engine, id);
        }
    }
}

/// Answering.
impl Oracle {
    /// Sends `reply`, whose turn has come, and after it the reply that it overtakes; or holds it back.
    fn answer<E: Engine>(&mut self, engine: &mut E, reply: Reply) {
        let id = reply.to;
        if let Some(stream) = self.stream {
            return self.go_on(engine, stream, reply);
        }
        let Some(owed) = self.owed(id) else { return };
        owed.waiting -= 1;
        let overtaken = owed.held_back.take();
        if reply.lot.reorder && overtaken.is_none() {
            self.held_back.push_back((engine.now() + Behaviour::HELD_BACK_MAX, id, reply.number));
            self.hold_back(reply);
        } else {
            self.hand_over(engine, reply);
        }
        if let Some(overtaken) = overtaken
            && self.hand_over(engine, overtaken)
        {
            self.totals.faults.reordered += 1;
        }
        self.end_if_nothing_is_owed(engine, id);
    }

    /// Sends the next event of a stream, and queues the one after it; after the last event, sends the end, and the head
    /// of the connection's next stream.
    fn go_on<E: Engine>(&mut self, engine: &mut E, stream: EventStream, reply: Reply) {
        let Reply { to: id, mut decoded, kind, lot, .. } = reply;
        engine.compute(self.work);
        let now = engine.now();
        let Some(peer) = self.peers.find(id).filter(|peer| !peer.over) else { return };
        let owed = &mut peer.state;
        let StreamStep { bytes, then } = owed.streaming.step(stream, now.since(decoded));
        let mut sent = peer.machine.stream(StreamPiece::Bytes(&bytes), &mut self.tx);
        if let Then::End { goes_on } = then {
            owed.waiting -= 1;
            self.totals.messages += 1;
            self.leak.next();
            sent = sent.and_then(|()| peer.machine.stream(StreamPiece::End, &mut self.tx));
            if goes_on {
                decoded = now;
                sent = sent.and_then(|()| begin(&mut peer.machine, stream, &mut self.tx));
            }
        }
        let next = match then {
            Then::Event(before) => Some(before),
            Then::End { goes_on } => goes_on.then_some(0),
            Then::BreakOff => None,
        };
        let breaks_off = then == Then::BreakOff && sent.is_ok();
        if sent.is_err() {
            peer.over = true;
            self.totals.broken += 1;
        } else if breaks_off {
            peer.over = true;
            self.totals.faults.broken_off += 1;
        } else if let Some(before) = next {
            let lot = Lot { delay: stream.due(before), ..lot };
            let said = Said::default();
            self.line.join(Waiting { to: id, decoded, kind, said, lot }, decoded);
        }
        self.send(engine, id);
        if sent.is_err() || breaks_off {
            self.peers.linger(engine, id);
        } else if self.peers.holds_too_much(engine, id, self.line.held_len()) {
            self.totals.broken += 1;
            self.peers.close(engine, id);
        } else if matches!(then, Then::End { .. }) {
            self.understand(engine, id, 0); // It may have been the answer to the last request.
            self.end_if_nothing_is_owed(engine, id);
        }
    }

    fn hold_back(&mut self, reply: Reply) {
        if let Some(owed) = self.owed(reply.to) {
            owed.held_back = Some(reply);
        }
    }

    /// Sends the replies that nothing has overtaken in time.
    fn release_late<E: Engine>(&mut self, engine: &mut E, now: Instant) {
        while let Some((until, id, number)) = self.held_back.front().copied()
            && until <= now
        {
            self.held_back.pop_front();
            if let Some(owed) = self.owed(id)
                && let Some(late) = owed.held_back.take_if(|reply| reply.number == number)
            {
                self.hand_over(engine, late);
            }
        }
    }

    /// Writes the reply, with its faults and its true delay. Returns true if it could be sent on its connection.
    fn hand_over<E: Engine>(&mut self, engine: &mut E, reply: Reply) -> bool {
        let Reply { to: id, decoded, kind, said, lot, .. } = reply;
        let Said { reply: mut payload, refuses, push, ask } = said;
        let Some(peer) = self.peers.find(id).filter(|peer| !peer.over) else { return false };
        let text = kind == Kind::Text;
        let is_corrupted = lot.corrupt && corrupt(&mut payload, text);
        engine.compute(self.work);
        if self.speaks == Speech::Echo {
            TrueDelay(engine.now().since(decoded)).answer(&mut payload, text);
        }
        let message = Message { kind, payload: &payload };
        let asks = say(&mut peer.machine, kind, &ask, &mut self.tx);
        if peer.machine.send(message, &mut self.tx).is_err() {
            return false;
        }
        let is_duplicated = lot.duplicate && peer.machine.send(message, &mut self.tx).is_ok();
        let pushes = say(&mut peer.machine, kind, &push, &mut self.tx);
        peer.state.answered += 1;
        let is_last = self.close_after.is_some_and(|after| peer.state.answered >= after.get());
        self.totals.messages += 1;
        self.leak.next();
        self.totals.faults.asked += u64::from(asks);
        self.totals.faults.pushed += u64::from(pushes);
        self.totals.faults.refused += u64::from(refuses);
        self.totals.faults.duplicated += u64::from(is_duplicated);
        self.totals.faults.corrupted += u64::from(is_corrupted);
        if is_last {
            peer.machine.close(&mut self.tx);
            peer.over = true;
            self.totals.faults.closed += 1;
        }
        self.send(engine, id);
        if is_last {
            self.peers.linger(engine, id);
        } else if self.is_strict {
            self.understand(engine, id, 0); // It may have been the answer to the last request.
        }
        true
    }

    /// Ends a connection whose peer has ended, once all its messages are answered.
    fn end_if_nothing_is_owed<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        let Some(peer) = self.peers.find(id) else { return };
        let owed = &mut peer.state;
        if !owed.has_ended || owed.waiting > 0 && !peer.over {
            return;
        }
        if let Some(last) = owed.held_back.take() {
            self.hand_over(engine, last); // Nothing will overtake it.
        }
        self.peers.ended(engine, id);
    }

    fn owed(&mut self, id: ConnectionId) -> Option<&mut Owed> {
        self.peers.find(id).map(|peer| &mut peer.state)
    }

    /// Sends the bytes that were written.
    fn send<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        flush(engine, id, &mut self.tx, &mut self.totals.bytes_sent);
    }
}

/// Begins the stream that answers the next request.
fn begin(
    machine: &mut wire::Connection,
    stream: EventStream,
    tx: &mut Vec<u8>,
) -> Result<(), MisuseError> {
    machine.stream(StreamPiece::Head, tx)?;
    machine.stream(StreamPiece::Bytes(&Streaming::begin(stream)), tx)
}

/// Appends an unasked message. Returns true if there is one, and it could be sent.
fn say(machine: &mut wire::Connection, kind: Kind, payload: &[u8], tx: &mut Vec<u8>) -> bool {
    !payload.is_empty() && machine.send(Message { kind, payload }, tx).is_ok()
}

/// Flips a bit outside of the true delay. Returns true if there was one to flip.
fn corrupt(payload: &mut [u8], text: bool) -> bool {
    let delay = TrueDelay::span(text);
    let len = if payload.len() == delay.end { delay.start } else { payload.len() };
    let last = payload[..len].last_mut();
    // The lowest bit: valid UTF-8 stays valid.
    last.map(|byte| *byte ^= 1).is_some()
}
