//! Frames behind a 32-bit big-endian length, cut from a stream; shared by the protocols that have one.
//!
//! Left out: what the length counts, and which lengths are allowed. Each protocol has rules and errors of its own.

use crate::contract::{Closed, Event, Input, Kind, Message, MisuseError, PeerError};
use crate::pieces::Pieces;

/// Either end of a stream of frames.
#[derive(Debug, Default)]
pub(crate) struct Prefixed {
    closed: bool,
    pieces: Pieces,
}

impl Prefixed {
    /// Appends a frame to `tx`. `field` is what stands in its length field for a payload of so many bytes.
    #[inline]
    pub(crate) fn send(
        &self,
        payload: &[u8],
        field: impl FnOnce(usize) -> Result<u32, MisuseError>,
        tx: &mut Vec<u8>,
    ) -> Result<(), MisuseError> {
        if self.closed {
            return Err(MisuseError::NotOpen);
        }
        tx.extend_from_slice(&field(payload.len())?.to_be_bytes());
        tx.extend_from_slice(payload);
        Ok(())
    }

    /// The next message, if all of it is there. `frame_len` is how long the whole frame is in whose length field that
    /// stands, the field included.
    #[inline]
    pub(crate) fn receive<'a, 'b: 'a, E: Into<PeerError>>(
        &'a mut self,
        input: &mut Input<'b>,
        frame_len: impl FnOnce(u32) -> Result<usize, E>,
    ) -> Result<Option<Event<'a>>, PeerError> {
        self.pieces.release();
        if self.closed {
            input.take_all();
        }
        let Some(field) = self.field(input) else { return Ok(None) };
        let len = frame_len(u32::from_be_bytes(field)).map_err(Into::into)?;
        Ok(self.pieces.take(len, input).map(|frame| {
            Event::Message(Message { kind: Kind::Binary, payload: &frame[FIELD_LEN..] })
        }))
    }

    /// Nothing more is sent or received.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// The peer's end. `cut` is the error of one that comes after so many bytes of a frame.
    pub(crate) fn end<E: Into<PeerError>>(
        &mut self,
        cut: impl FnOnce(usize) -> E,
    ) -> Result<Event<'_>, PeerError> {
        self.pieces.release();
        self.closed = true;
        match self.pieces.bytes().len() {
            0 => Ok(Event::Closed(Closed::default())),
            len => Err(cut(len).into()),
        }
    }

    /// The length field of the next frame, which lies at the front of `input` or waits here.
    #[inline]
    fn field(&mut self, input: &mut Input<'_>) -> Option<[u8; FIELD_LEN]> {
        if self.pieces.bytes().is_empty()
            && let Some(field) = input.peek().first_chunk()
        {
            return Some(*field);
        }
        self.pieces.fill(FIELD_LEN, input);
        self.pieces.bytes().first_chunk().copied()
    }
}

/// Of the length field.
pub(crate) const FIELD_LEN: usize = 4;
