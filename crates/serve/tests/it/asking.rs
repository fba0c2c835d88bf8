//! A client that asks an oracle by a schedule, and keeps everything it hears.

use crate::world::{Speaks, address, framed, http, ms, raw_messages, websocket};
use engine::sim::Sim;
use engine::{Completion, ConnectionError, ConnectionId, Engine, Node, Step};
use load::{Header, TrueDelay};
use std::collections::BTreeSet;
use units::{Instant, Nanos};
use wire::{Event, Input, Kind, Message, Protocol};

/// A transport, as both ends know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speech {
    Framed,
    Http,
    Raw,
    WebSocket,
    WebSocketText,
}

impl Speech {
    pub(crate) const ALL: [Self; 5] =
        [Self::Framed, Self::Http, Self::Raw, Self::WebSocket, Self::WebSocketText];

    pub(crate) fn speaks(self) -> Speaks {
        match self {
            Self::Framed => framed(),
            Self::Http => http(),
            Self::Raw => raw_messages(MESSAGE_LEN),
            Self::WebSocket | Self::WebSocketText => websocket(),
        }
    }

    /// The client end of a connection.
    fn machine(self) -> wire::Connection {
        self.speaks().client(MESSAGE_LEN)
    }

    pub(crate) fn kind(self) -> Kind {
        if self == Self::WebSocketText { Kind::Text } else { Kind::Binary }
    }
}

/// The client: message number k of connection c is sent when it is due.
pub(crate) struct Asking {
    speech: Speech,
    /// The instants at which messages are due, with their connections; earliest first.
    schedule: Vec<(Instant, usize)>,
    sent: usize,
    pub(crate) connections: Vec<Asked>,
    /// True if each connection ends its side once it has sent its last message.
    pub(crate) ends: bool,
}

/// One connection of the client.
pub(crate) struct Asked {
    id: ConnectionId,
    machine: wire::Connection,
    /// The instant at which each message was sent.
    pub(crate) sent: Vec<Instant>,
    /// The replies, in the order in which they arrived.
    pub(crate) heard: Vec<Heard>,
    pub(crate) end: Option<(Instant, Result<(), ConnectionError>)>,
    /// The code of a Close frame.
    pub(crate) closed: Option<u16>,
}

/// A reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) at: Instant,
    /// The number of the message.
    pub(crate) sequence: usize,
    /// The delay that the server reports.
    pub(crate) true_delay: Nanos,
    /// True if it is not what was sent.
    pub(crate) corrupted: bool,
}

impl Asking {
    /// Takes the times after [`BEGIN`] at which messages are due, each with its connection.
    pub(crate) fn new(speech: Speech, schedule: impl IntoIterator<Item = (Nanos, usize)>) -> Self {
        let begin = Instant::START + BEGIN;
        let schedule: Vec<_> = schedule.into_iter().map(|(at, on)| (begin + at, on)).collect();
        Self { speech, schedule, sent: 0, connections: Vec::new(), ends: false }
    }

    /// Evenly spaced messages on one connection.
    pub(crate) fn evenly(speech: Speech, count: u64, distance: Nanos) -> Self {
        Self::new(speech, (0..count).map(|number| (Nanos(number * distance.0), 0)))
    }

    pub(crate) fn speech(&self) -> Speech {
        self.speech
    }

    /// The times for which the oracle kept all answered messages, as the network shows them, in the order of the
    /// replies. Checks that each reply reports the same time.
    #[track_caller]
    pub(crate) fn kept(&self) -> Vec<Nanos> {
        let mut kept = Vec::new();
        for connection in &self.connections {
            for heard in &connection.heard {
                let round_trip = heard.at.since(connection.sent[heard.sequence]);
                kept.push(Nanos(round_trip.0 - ms(2).0));
                assert_eq!(kept.last(), Some(&heard.true_delay), "{heard:?}");
            }
        }
        kept
    }

    /// The counts of a generator that tells replies apart.
    pub(crate) fn counts(&self) -> Counted {
        let mut counted = Counted::default();
        for connection in &self.connections {
            let (mut answered, mut latest) = (BTreeSet::new(), None);
            for Heard { sequence, corrupted, .. } in connection.heard.iter().copied() {
                if !answered.insert(sequence) {
                    counted.duplicated += 1;
                    continue;
                }
                counted.reordered += u64::from(latest > Some(sequence));
                counted.corrupted += u64::from(corrupted);
                latest = latest.max(Some(sequence));
            }
            counted.answered += answered.len() as u64;
            counted.lost += (connection.sent.len() - answered.len()) as u64;
        }
        counted
    }

    fn find(&mut self, id: ConnectionId) -> &mut Asked {
        self.connections.iter_mut().find(|asked| asked.id == id).unwrap()
    }

    fn connect(&mut self, engine: &mut Sim) {
        let count = self.schedule.iter().map(|(_, on)| on + 1).max().unwrap_or(0);
        for _ in 0..count {
            let id = engine.connect(&address(), None);
            let (mut machine, mut tx) = (self.speech.machine(), Vec::new());
            machine.open(&mut tx);
            engine.send(id, &tx);
            let (sent, heard) = (Vec::new(), Vec::new());
            self.connections.push(Asked { id, machine, sent, heard, end: None, closed: None });
        }
    }

    fn say_what_is_due(&mut self, engine: &mut Sim) {
        while let Some((due, on)) = self.schedule.get(self.sent).copied()
            && due <= engine.now()
        {
            self.sent += 1;
            let is_last = self.schedule[self.sent..].iter().all(|(_, other)| *other != on);
            let connection = &mut self.connections[on];
            let payload = payload(connection.sent.len(), self.speech.kind());
            let message = Message { kind: self.speech.kind(), payload: &payload };
            let mut tx = Vec::new();
            if connection.end.is_none() && connection.machine.send(message, &mut tx).is_ok() {
                connection.sent.push(engine.now());
                engine.send(connection.id, &tx);
                if self.ends && is_last {
                    engine.shutdown(connection.id);
                }
            }
        }
    }
}

impl Asked {
    fn hear(&mut self, at: Instant, bytes: &mut [u8]) {
        let (mut input, mut tx) = (Input::new(bytes), Vec::new());
        while let Some(event) = self.machine.receive(&mut input, &mut tx).unwrap() {
            match event {
                Event::Message(message) => self.heard.push(read(at, message)),
                Event::Closed(closed) => self.closed = closed.code,
                Event::Open => {}
                Event::Ping(_)
                | Event::Pong(_)
                | Event::Answer(_)
                | Event::Part(_)
                | Event::Pushed(_)
                | Event::Redirected
                | Event::Refused { .. }
                | Event::Response(_)
                | Event::Secured(_) => {
                    panic!("{event:?}")
                }
            }
        }
    }
}

impl Node<Sim> for Asking {
    fn step(&mut self, engine: &mut Sim) -> Step {
        if self.connections.is_empty() {
            self.connect(engine);
        }
        let mut rx = vec![0; 1 << 16];
        while let Some(completion) = engine.complete(&mut rx) {
            let now = engine.now();
            match completion {
                Completion::Received { connection, len } => {
                    self.find(connection).hear(now, &mut rx[..len]);
                }
                Completion::Ended(id) => {
                    self.find(id).end = Some((now, Ok(())));
                    engine.close(id);
                }
                Completion::Failed(id, error) => self.find(id).end = Some((now, Err(error))),
                Completion::Accepted(_) | Completion::Connected(_) => {}
            }
        }
        self.say_what_is_due(engine);
        Step::Wait(self.schedule.get(self.sent).map_or(Instant::NEVER, |(due, _)| *due))
    }
}

/// The counts of a generator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) answered: u64,
    pub(crate) lost: u64,
    pub(crate) duplicated: u64,
    pub(crate) reordered: u64,
    pub(crate) corrupted: u64,
}

/// Message number `sequence` of a connection.
fn payload(sequence: usize, kind: Kind) -> Vec<u8> {
    let text = kind == Kind::Text;
    let mut payload = vec![b'x'; MESSAGE_LEN];
    let sequence = u32::try_from(sequence).unwrap();
    Header { connection: 7, sequence, due: Nanos(9) }.write(&mut payload, text);
    TrueDelay::ask(&mut payload, text);
    payload
}

fn read(at: Instant, message: Message<'_>) -> Heard {
    let text = message.kind == Kind::Text;
    let sequence = Header::read(message.payload, text).unwrap().sequence as usize;
    let TrueDelay(true_delay) = TrueDelay::read(message.payload, text).unwrap();
    let mut unstamped = message.payload.to_vec();
    TrueDelay::ask(&mut unstamped, text);
    let corrupted = unstamped != payload(sequence, message.kind);
    Heard { at, sequence, true_delay, corrupted }
}

/// The length of every message: the header and the true delay of a text, and a byte to be corrupted.
pub(crate) const MESSAGE_LEN: usize = 49;

/// The time by which the connections are open.
pub(crate) const BEGIN: Nanos = Nanos::from_millis(100);
