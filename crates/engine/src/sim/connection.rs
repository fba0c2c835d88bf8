//! The state of one simulated connection: two ends, each with the bytes on their way to it.

use super::conditions::Split;
use crate::{Address, ConnectionError, ConnectionId, UNSENT_LEN_MAX};
use std::collections::VecDeque;
use std::io::Read;
use units::Instant;

/// A connection, or an attempt at one.
pub(super) struct Connection {
    pub(super) target: Address,
    client: End,
    server: End,
}

impl Connection {
    /// An attempt by `process` to connect to `target`.
    pub(super) fn new(target: Address, process: usize, id: ConnectionId) -> Self {
        let server = End::new(process, None); // Its process is known when the request arrives.
        Self { target, client: End::new(process, Some(id)), server }
    }

    /// The end on `side`, and the other end.
    pub(super) fn both(&mut self, side: Side) -> (&mut End, &mut End) {
        match side {
            Side::Client => (&mut self.client, &mut self.server),
            Side::Server => (&mut self.server, &mut self.client),
        }
    }

    pub(super) fn end(&self, side: Side) -> &End {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.client.stage == Stage::Closed && self.server.stage != Stage::Open
    }
}

/// One end of one connection: the place where something happens.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) connection: u64,
    pub(super) side: Side,
}

impl Place {
    pub(super) fn client(connection: u64) -> Self {
        Self { connection, side: Side::Client }
    }

    pub(super) fn server(connection: u64) -> Self {
        Self { connection, side: Side::Server }
    }

    pub(super) fn peer(self) -> Self {
        match self.side {
            Side::Client => Self::server(self.connection),
            Side::Server => Self::client(self.connection),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

/// One end of a connection: what the process and its kernel know.
pub(super) struct End {
    pub(super) process: usize,
    /// `None` before the process accepted it, and after the close.
    pub(super) id: Option<ConnectionId>,
    pub(super) stage: Stage,
    /// True until its process has been told that it is established.
    pub(super) just_made: bool,
    pub(super) inbox: Inbox,
    /// True once the end of what the peer sends has been reported.
    pub(super) ended: bool,
    /// The error if the connection is gone; reported once everything that had arrived before is received.
    pub(super) broken: Option<ConnectionError>,
    /// The bytes that do not fit into the kernel's buffer.
    pub(super) unsent: VecDeque<u8>,
    pub(super) shutdown: bool,
    /// True if its process asked to receive nothing.
    pub(super) pauses: bool,
    /// True if it is queued for its process, which will look at it.
    pub(super) queued: bool,
    /// True while the news is on its way that there is room in the buffer again.
    pub(super) room_expected: bool,
}

impl End {
    fn new(process: usize, id: Option<ConnectionId>) -> Self {
        Self {
            process,
            id,
            stage: Stage::Making,
            just_made: false,
            inbox: Inbox::default(),
            ended: false,
            broken: None,
            unsent: VecDeque::new(),
            shutdown: false,
            pauses: false,
            queued: false,
            room_expected: false,
        }
    }

    /// True if nothing is received on this end, which is on `side`: its process asked for that, or too much is unsent.
    pub(super) fn is_paused(&self, side: Side) -> bool {
        self.pauses || side == Side::Server && self.unsent.len() > UNSENT_LEN_MAX
    }

    /// True if there is something to report to the process.
    pub(super) fn has_news(&self, now: Instant) -> bool {
        self.just_made
            || self.broken.is_some()
            || self.inbox.has_bytes(now)
            || (!self.ended && self.inbox.has_ended(now))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The client waits for the server's answer; the server has not seen the request.
    Making,
    Open,
    Closed,
}

/// Everything on its way to an end, and everything that has arrived there but is not received.
#[derive(Default)]
pub(super) struct Inbox {
    bytes: VecDeque<u8>,
    chunks: VecDeque<Chunk>,
    /// The instant at which the peer's end arrives.
    pub(super) end: Option<Instant>,
    /// Nothing that is sent later arrives before this.
    pub(super) last_arrival: Instant,
    /// The instant at which the last bytes that were received had arrived.
    pub(super) last_read_arrival: Instant,
}

struct Chunk {
    len: usize,
    arrives: Instant,
}

impl Inbox {
    /// Takes the first `len` of `bytes` as one piece. Returns true if no piece before it arrives at the same instant.
    pub(super) fn push(&mut self, bytes: &mut VecDeque<u8>, len: usize, arrives: Instant) -> bool {
        let is_news = self.chunks.back().is_none_or(|chunk| chunk.arrives != arrives);
        let (front, back) = bytes.as_slices();
        let front_len = len.min(front.len());
        self.bytes.extend(&front[..front_len]);
        self.bytes.extend(&back[..len - front_len]);
        bytes.drain(..len);
        self.chunks.push_back(Chunk { len, arrives });
        self.last_arrival = arrives;
        is_news
    }

    /// Receives into `rx` as much as `split` allows of what has arrived by `now`. Returns the number of bytes.
    pub(super) fn read(&mut self, now: Instant, split: Split, rx: &mut [u8]) -> usize {
        let mut len = 0;
        while let Some(chunk) = self.chunks.front_mut()
            && chunk.arrives <= now
            && len < rx.len()
        {
            let part = chunk.len.min(rx.len() - len);
            let is_there = self.bytes.read_exact(&mut rx[len..len + part]).is_ok();
            debug_assert!(is_there, "chunks are as long as the bytes");
            len += part;
            chunk.len -= part;
            self.last_read_arrival = chunk.arrives;
            if chunk.len == 0 {
                self.chunks.pop_front();
            }
            if split != Split::Never {
                break;
            }
        }
        len
    }

    /// Drops the bytes and the end that have not arrived by `now`: they never will.
    pub(super) fn lose_what_is_under_way(&mut self, now: Instant) {
        self.chunks.retain(|chunk| chunk.arrives <= now);
        self.bytes.truncate(self.chunks.iter().map(|chunk| chunk.len).sum());
        self.end = self.end.filter(|end| *end <= now);
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn has_bytes(&self, now: Instant) -> bool {
        self.first_arrival().is_some_and(|arrival| arrival <= now)
    }

    /// The instant at which the first byte arrives, or arrived.
    pub(super) fn first_arrival(&self) -> Option<Instant> {
        self.chunks.front().map(|chunk| chunk.arrives)
    }

    pub(super) fn has_ended(&self, now: Instant) -> bool {
        self.end.is_some_and(|end| end <= now)
    }
}
