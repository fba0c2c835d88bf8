//! Frames behind a 32-bit big-endian length, cut from a stream; shared by the protocols that have one.
//!
//! Left out: the rules of which lengths are allowed, and whether a length counts itself. Each protocol has its own.

use crate::contract::{Closed, Event, Input, Kind, Message, MisuseError, PeerError};
use crate::pieces::Pieces;

/// Either end of a connection that carries such frames.
#[derive(Debug, Default)]
pub(crate) struct Prefixed {
    closed: bool,
    pieces: Pieces,
}

impl Prefixed {
    /// Appends a frame to `tx`. `field` turns the length of the payload into the value of the length field.
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

    /// Returns the next message, if all of it is there. `frame_len` turns the value of the length field into the length
    /// of the whole frame, with that field.
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

    /// Ends the conversation: nothing more is sent or received.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// Handles the peer's end. `cut` makes the error for an end that comes so many bytes into a frame.
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

    /// The length field of the next frame, from the front of `input` or from the bytes that wait here.
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

/// Length of the length field.
pub(crate) const FIELD_LEN: usize = 4;
