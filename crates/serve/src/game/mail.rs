//! The packets that the world sends, until they are written: each is packed once for all receivers of the same packing.
//!
//! One buffer has each packet, in binary and as JSON, each only if a receiver needs it. Each receiver with mail has a
//! chain of letters, which point to its packets in the buffer: all mail of a connection goes out with one write.

use super::link::Mailbag;
use super::world::SessionId;
use std::ops::Range;

/// Packets that wait to be written.
#[derive(Debug, Default)]
pub(super) struct Mail {
    bytes: Vec<u8>,
    letters: Vec<Letter>,
    /// Receivers that have letters or must be ended; none twice.
    receivers: Vec<SessionId>,
    /// The packets for sessions of fronts, at the index of the front.
    pub(super) bags: Vec<Mailbag>,
}

/// One packet to one receiver.
#[derive(Clone, Copy, Debug)]
struct Letter {
    start: u32,
    end: u32,
    next: u32,
}

/// The letters of one receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    first: u32,
    last: u32,
    is_waiting: bool,
    /// True if the session ends after the letters.
    pub(super) ends: bool,
    /// True if there was more mail than may wait, and the rest is missing.
    pub(super) is_cut: bool,
}

impl Mail {
    /// Writes a packet into the buffer once. Returns its place.
    pub(super) fn pack(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Range<u32> {
        let start = self.end();
        write(&mut self.bytes);
        start..self.end()
    }

    /// Adds a letter to the chain of a receiver.
    pub(super) fn add(&mut self, to: SessionId, chain: &mut Chain, packed: Range<u32>) {
        let at = u32::try_from(self.letters.len()).unwrap_or(NONE);
        self.letters.push(Letter { start: packed.start, end: packed.end, next: NONE });
        if chain.first == NONE {
            chain.first = at;
        } else {
            self.letters[chain.last as usize].next = at;
        }
        chain.last = at;
        self.note(to, chain);
    }

    /// Notes that a receiver has mail.
    pub(super) fn note(&mut self, to: SessionId, chain: &mut Chain) {
        if !std::mem::replace(&mut chain.is_waiting, true) {
            self.receivers.push(to);
        }
    }

    /// Takes the list of receivers; [`Mail::clear`] takes it back.
    pub(super) fn take_receivers(&mut self) -> Vec<SessionId> {
        std::mem::take(&mut self.receivers)
    }

    /// The packets of a chain, in order.
    pub(super) fn packets(&self, chain: Chain) -> impl Iterator<Item = &[u8]> {
        let mut at = chain.first;
        std::iter::from_fn(move || {
            let letter = self.letters.get(at as usize)?; // NONE is the index of no letter.
            at = letter.next;
            Some(&self.bytes[letter.start as usize..letter.end as usize])
        })
    }

    /// Clears the mail once everything is written. `receivers` is the list that was taken.
    pub(super) fn clear(&mut self, mut receivers: Vec<SessionId>) {
        self.letters.clear();
        self.letters.shrink_to(KEPT_LEN);
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_LEN);
        if self.receivers.is_empty() {
            receivers.clear();
            self.receivers = receivers;
        }
    }

    /// The number of bytes of waiting packets.
    pub(super) fn len(&self) -> u32 {
        let for_fronts: usize = self.bags.iter().map(|bag| bag.bytes.len()).sum();
        u32::try_from(self.bytes.len() + for_fronts).unwrap_or(NONE)
    }

    /// The place of the next packet.
    fn end(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(NONE)
    }

    /// True if no receiver has mail.
    pub(super) fn is_empty(&self) -> bool {
        self.receivers.is_empty()
    }
}

impl Chain {
    /// A chain without letters.
    pub(super) const EMPTY: Self =
        Self { first: NONE, last: NONE, is_waiting: false, ends: false, is_cut: false };
}

/// The most bytes that may wait, far more than a server lets wait: the receivers of more are dropped.
pub(super) const LEN_MAX: u32 = 64 << 20;

/// The index of no letter: mail is written long before there are this many.
const NONE: u32 = u32::MAX;

/// The capacity of a buffer that is kept for later.
const KEPT_LEN: usize = 1 << 20;
