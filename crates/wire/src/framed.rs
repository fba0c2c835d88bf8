//! Messages after their lengths: the simplest framing, and that of Styx.
//!
//! A frame is a 32-bit big-endian length, and that many bytes. The length counts the message alone, or itself too; the
//! frames of [`Styx`](crate::styx) are of the second kind. Both roles are the same.

mod error;

pub use error::PeerError;

use crate::contract::{
    Closed, Event, Input, Kind, Message, MisuseError, Opening, PeerError as AnyPeerError, Protocol,
};
use crate::pieces::Pieces;

/// One end of a connection with a length before each message.
#[derive(Debug)]
pub struct Framed {
    /// The bytes of the length field that the length counts: all of them or none.
    counted: u32,
    len_min: u32,
    len_max: u32,
    closed: bool,
    pieces: Pieces,
}

/// The longest message that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest message in bytes, its length field not counted; sent and received.
    pub frame_len_max: u32,
}

impl Framed {
    /// Either end of a connection whose lengths count the message alone.
    pub fn new(limits: Limits) -> Self {
        Self::between(0, 0, limits.frame_len_max)
    }

    /// Either end of a connection whose lengths, at most `len_max`, count themselves too. No message is empty.
    pub(crate) fn counting_itself(len_max: u32) -> Self {
        Self::between(FIELD_LEN, FIELD_LEN + 1, len_max)
    }

    fn between(counted: u32, len_min: u32, len_max: u32) -> Self {
        Self { counted, len_min, len_max, closed: false, pieces: Pieces::default() }
    }

    /// Takes the length field of the next frame, from the front of `input` or from the bytes that wait here.
    #[inline]
    fn field(&mut self, input: &mut Input<'_>) -> Option<u32> {
        if self.pieces.bytes().is_empty()
            && let Some(field) = input.peek().first_chunk()
        {
            return Some(u32::from_be_bytes(*field));
        }
        self.pieces.fill(FIELD_LEN as usize, input);
        self.pieces.bytes().first_chunk().map(|field| u32::from_be_bytes(*field))
    }
}

impl Default for Limits {
    /// 16 MiB.
    fn default() -> Self {
        Self { frame_len_max: 16 << 20 }
    }
}

impl Protocol for Framed {
    fn open(&mut self, _tx: &mut Vec<u8>) -> Opening {
        Opening::Done
    }

    #[inline]
    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        if self.closed {
            return Err(MisuseError::NotOpen);
        }
        let len = message.payload.len() as u64;
        let (min, max) = (self.len_min - self.counted, self.len_max.saturating_sub(self.counted));
        if len < min.into() {
            return Err(MisuseError::TooShort { len, min: min.into() });
        }
        let field = u32::try_from(len).ok().filter(|len| *len <= max);
        let field = field.ok_or_else(|| MisuseError::TooLong { len, max: max.into() })?;
        tx.extend_from_slice(&(field + self.counted).to_be_bytes());
        tx.extend_from_slice(message.payload);
        Ok(())
    }

    #[inline]
    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        _tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, AnyPeerError> {
        self.pieces.release();
        if self.closed {
            input.take_all();
        }
        let Some(len) = self.field(input) else { return Ok(None) };
        let (min, max) = (self.len_min, self.len_max);
        if len > max {
            return Err(PeerError::OverLimit { len, max }.into());
        }
        if len < min {
            return Err(PeerError::TooShort { len, min }.into());
        }
        let frame_len = (FIELD_LEN - self.counted) as usize + len as usize;
        Ok(self.pieces.take(frame_len, input).map(|frame| {
            let payload = &frame[FIELD_LEN as usize..];
            Event::Message(Message { kind: Kind::Binary, payload })
        }))
    }

    fn close(&mut self, _tx: &mut Vec<u8>) -> bool {
        self.closed = true;
        false
    }

    fn end(&mut self) -> Result<Event<'_>, AnyPeerError> {
        self.pieces.release();
        self.closed = true;
        match self.pieces.bytes().len() {
            0 => Ok(Event::Closed(Closed::default())),
            len => Err(PeerError::FrameCutOff { len }.into()),
        }
    }

    fn awaits_rest(&self) -> bool {
        !self.closed && self.pieces.are_waiting()
    }
}

/// Length of the length field.
const FIELD_LEN: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::check_splits;

    /// Makes a machine, its input, and the events.
    type Case = (fn() -> Framed, &'static [u8], &'static [&'static str]);

    fn plain() -> Framed {
        Framed::new(Limits { frame_len_max: 4 })
    }

    fn counting_itself() -> Framed {
        Framed::counting_itself(8)
    }

    #[test]
    fn frames_are_understood_however_they_are_split() {
        #[rustfmt::skip]
        let table: [Case; _] = [
            (plain, b"", &["end: closed None \"\""]),
            (plain, b"\0\0\0\0", &["Binary \"\"", "end: closed None \"\""]),
            (plain, b"\0\0\0\x03abc\0\0\0\x01d", &["Binary \"abc\"", "Binary \"d\"", "end: closed None \"\""]),
            (plain, b"\0\0\0\x04abcd", &["Binary \"abcd\"", "end: closed None \"\""]),
            (plain, b"\0\0\0\x05abcde", &["error: frame of 5 bytes, limit is 4"]),
            (plain, b"\xff\xff\xff\xff", &["error: frame of 4294967295 bytes, limit is 4"]),
            (plain, b"\0\0", &["end: error: the connection ended 2 bytes into a frame"]),
            (plain, b"\0\0\0\x02a", &["end: error: the connection ended 5 bytes into a frame"]),
            (counting_itself, b"", &["end: closed None \"\""]),
            (counting_itself, b"\0\0\0\x05a\0\0\0\x06bc", &["Binary \"a\"", "Binary \"bc\"", "end: closed None \"\""]),
            (counting_itself, b"\0\0\0\x08abcd", &["Binary \"abcd\"", "end: closed None \"\""]),
            (counting_itself, b"\0\0\0\x09abcde", &["error: frame of 9 bytes, limit is 8"]),
            (counting_itself, b"\xff\xff\xff\xff", &["error: frame of 4294967295 bytes, limit is 8"]),
            (counting_itself, b"\0\0\0\x04", &["error: frame of 4 bytes, the minimum is 5"]),
            (counting_itself, b"\0\0\0\0", &["error: frame of 0 bytes, the minimum is 5"]),
            (counting_itself, b"\0\0", &["end: error: the connection ended 2 bytes into a frame"]),
            (counting_itself, b"\0\0\0\x06a", &["end: error: the connection ended 5 bytes into a frame"]),
        ];
        for (machine, input, events) in table {
            let transcript = check_splits(input, &machine);
            assert_eq!(transcript.events, events, "{input:?}");
            assert!(
                input.starts_with(&transcript.tx),
                "the echo of {input:?} is {:?}",
                transcript.tx
            );
        }
    }

    #[test]
    fn what_arrives_whole_is_handed_out_from_where_it_lies() {
        for mut framed in [plain(), counting_itself()] {
            let mut bytes =
                [&[0, 0, 0, 1 + u8::try_from(framed.counted).unwrap()][..], b"a"].concat();
            let range = bytes.as_ptr_range();
            let event = framed.receive(&mut Input::new(&mut bytes), &mut Vec::new());
            let Ok(Some(Event::Message(Message { payload: payload @ b"a", .. }))) = event else {
                panic!("{event:?}")
            };
            assert!(range.contains(&payload.as_ptr()));
        }
    }

    #[test]
    fn messages_beyond_the_limits_are_not_sent() {
        let send = |framed: &mut Framed, payload: &[u8], tx: &mut Vec<u8>| {
            framed.send(Message { kind: Kind::Binary, payload }, tx)
        };
        let empty: [Result<(), MisuseError>; 2] =
            [Ok(()), Err(MisuseError::TooShort { len: 0, min: 1 })];
        for (mut framed, empty) in [plain(), counting_itself()].into_iter().zip(empty) {
            let mut tx = Vec::new();
            assert_eq!(send(&mut framed, b"abcd", &mut tx), Ok(()));
            let too_long = MisuseError::TooLong { len: 5, max: 4 };
            assert_eq!(send(&mut framed, b"abcde", &mut tx), Err(too_long));
            assert_eq!(tx.split_off(4), b"abcd");
            assert_eq!(u32::from_be_bytes(tx[..].try_into().unwrap()), 4 + framed.counted);
            assert_eq!(send(&mut framed, b"", &mut tx), empty);
            tx.clear();
            framed.close(&mut tx);
            assert_eq!(send(&mut framed, b"a", &mut tx), Err(MisuseError::NotOpen));
            assert_eq!(tx, b"");
        }
    }
}
