//! The simplest framing: each message behind its length.
//!
//! A frame is a 32-bit big-endian length, which does not count itself, and that many bytes. Both roles are the same.

use crate::contract::{
    Event, Input, Message, MisuseError, Opening, PeerError as AnyPeerError, Protocol,
};
use crate::prefixed::{FIELD_LEN, Prefixed};

/// One end of a connection with a length before each message.
#[derive(Debug)]
pub struct Framed {
    limits: Limits,
    frames: Prefixed,
}

/// The longest message that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest message in bytes, its length field not counted; sent and received.
    pub frame_len_max: u32,
}

impl Framed {
    /// Either end of a connection.
    pub fn new(limits: Limits) -> Self {
        Self { limits, frames: Prefixed::default() }
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
        let max = u64::from(self.limits.frame_len_max);
        let field = |len: usize| {
            let len = len as u64;
            let field = u32::try_from(len).ok().filter(|_| len <= max);
            field.ok_or(MisuseError::TooLong { len, max })
        };
        self.frames.send(message.payload, field, tx)
    }

    #[inline]
    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        _tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, AnyPeerError> {
        let max = self.limits.frame_len_max;
        self.frames.receive(input, |len| {
            if len > max {
                return Err(PeerError::OverLimit { len, max });
            }
            Ok(FIELD_LEN + len as usize)
        })
    }

    fn close(&mut self, _tx: &mut Vec<u8>) -> bool {
        self.frames.close();
        false
    }

    fn end(&mut self) -> Result<Event<'_>, AnyPeerError> {
        self.frames.end(|len| PeerError::FrameCutOff { len })
    }
}

/// The ways in which a peer can break the framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The connection ended inside a frame.
    #[error("the connection ended {len} bytes into a frame")]
    FrameCutOff {
        /// The bytes that came, with the length field.
        len: usize,
    },
    /// A frame is longer than [`Limits::frame_len_max`].
    #[error("frame of {len} bytes, limit is {max}")]
    OverLimit {
        /// The length it announced.
        len: u32,
        /// The limit.
        max: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Kind;
    use crate::fuzz::check_splits;

    #[test]
    fn frames_are_understood_however_they_are_split() {
        #[rustfmt::skip]
        let table: [(&[u8], &[&str]); _] = [
            (b"", &["end: closed None \"\""]),
            (b"\0\0\0\0", &["Binary \"\"", "end: closed None \"\""]),
            (b"\0\0\0\x03abc\0\0\0\x01d", &["Binary \"abc\"", "Binary \"d\"", "end: closed None \"\""]),
            (b"\0\0\0\x04abcd", &["Binary \"abcd\"", "end: closed None \"\""]),
            (b"\0\0\0\x05abcde", &["error: frame of 5 bytes, limit is 4"]),
            (b"\xff\xff\xff\xff", &["error: frame of 4294967295 bytes, limit is 4"]),
            (b"\0\0", &["end: error: the connection ended 2 bytes into a frame"]),
            (b"\0\0\0\x02a", &["end: error: the connection ended 5 bytes into a frame"]),
        ];
        for (input, events) in table {
            let transcript = check_splits(input, &|| Framed::new(Limits { frame_len_max: 4 }));
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
        let mut bytes = *b"\0\0\0\x01a";
        let range = bytes.as_ptr_range();
        let mut framed = Framed::new(Limits::default());
        let event = framed.receive(&mut Input::new(&mut bytes), &mut Vec::new()).unwrap().unwrap();
        let Event::Message(Message { payload, .. }) = event else { panic!("{event:?}") };
        assert!(range.contains(&payload.as_ptr()));
    }

    #[test]
    fn messages_beyond_the_limit_are_not_sent() {
        let mut framed = Framed::new(Limits { frame_len_max: 2 });
        let mut tx = Vec::new();
        framed.send(Message { kind: Kind::Binary, payload: b"ab" }, &mut tx).unwrap();
        let sent = framed.send(Message { kind: Kind::Binary, payload: b"abc" }, &mut tx);
        assert_eq!(sent, Err(MisuseError::TooLong { len: 3, max: 2 }));
        framed.close(&mut tx);
        assert_eq!(
            framed.send(Message { kind: Kind::Binary, payload: b"" }, &mut tx),
            Err(MisuseError::NotOpen)
        );
        assert_eq!(tx, b"\0\0\0\x02ab");
    }
}
