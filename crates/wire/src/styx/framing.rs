//! Frames of Styx: a length that counts itself, and the rest of the frame.

use crate::contract::{
    Event, Input, Message, MisuseError, Opening, PeerError as AnyPeerError, Protocol,
};
use crate::prefixed::{FIELD_LEN, Prefixed};

/// One end of a connection of Styx; both roles are the same.
///
/// The payload of a message is a frame without its length: the class id, and the fields of its packet.
#[derive(Debug)]
pub struct Styx {
    limits: Limits,
    frames: Prefixed,
}

/// The longest frame that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest frame in bytes, its length field included; sent and received.
    pub frame_len_max: u32,
}

impl Styx {
    /// Either end of a connection.
    pub fn new(limits: Limits) -> Self {
        Self { limits, frames: Prefixed::default() }
    }
}

impl Default for Limits {
    /// 32 KiB, the limit of the Firebase server.
    fn default() -> Self {
        Self { frame_len_max: 32 << 10 }
    }
}

impl Protocol for Styx {
    fn open(&mut self, _tx: &mut Vec<u8>) -> Opening {
        Opening::Done
    }

    #[inline]
    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        let max = (self.limits.frame_len_max as usize).saturating_sub(FIELD_LEN);
        let field = |len: usize| {
            if len == 0 {
                return Err(MisuseError::TooShort { len: 0, min: 1 });
            }
            let field = u32::try_from(FIELD_LEN + len).ok().filter(|_| len <= max);
            field.ok_or(MisuseError::TooLong { len: len as u64, max: max as u64 })
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
                return Err(PeerError::TooLong { len, max });
            }
            if len < FRAME_LEN_MIN {
                return Err(PeerError::TooShort { len });
            }
            Ok(len as usize)
        })
    }

    fn close(&mut self, _tx: &mut Vec<u8>) -> bool {
        self.frames.close();
        false
    }

    fn end(&mut self) -> Result<Event<'_>, AnyPeerError> {
        self.frames.end(|len| PeerError::Cut { len })
    }
}

/// The ways in which a peer can break the framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The connection ended inside a frame.
    #[error("the connection ended {len} bytes into a frame")]
    Cut {
        /// The bytes that came, with the length field.
        len: usize,
    },
    /// A frame is longer than [`Limits::frame_len_max`].
    #[error("frame of {len} bytes, limit is {max}")]
    TooLong {
        /// The length it announced, which counts itself.
        len: u32,
        /// The limit.
        max: u32,
    },
    /// A frame is too short for its own length and a class id.
    #[error("frame of {len} bytes, the shortest has {FRAME_LEN_MIN}")]
    TooShort {
        /// The length it announced, which counts itself.
        len: u32,
    },
}

/// The length field and a class id.
const FRAME_LEN_MIN: u32 = 5;

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
            (b"\0\0\0\x05a\0\0\0\x06bc", &["Binary \"a\"", "Binary \"bc\"", "end: closed None \"\""]),
            (b"\0\0\0\x08abcd", &["Binary \"abcd\"", "end: closed None \"\""]),
            (b"\0\0\0\x09abcde", &["error: frame of 9 bytes, limit is 8"]),
            (b"\xff\xff\xff\xff", &["error: frame of 4294967295 bytes, limit is 8"]),
            (b"\0\0\0\x04", &["error: frame of 4 bytes, the shortest has 5"]),
            (b"\0\0\0\0", &["error: frame of 0 bytes, the shortest has 5"]),
            (b"\0\0", &["end: error: the connection ended 2 bytes into a frame"]),
            (b"\0\0\0\x06a", &["end: error: the connection ended 5 bytes into a frame"]),
        ];
        for (input, events) in table {
            let transcript = check_splits(input, &|| Styx::new(Limits { frame_len_max: 8 }));
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
        let mut bytes = *b"\0\0\0\x06ab";
        let range = bytes.as_ptr_range();
        let mut styx = Styx::new(Limits::default());
        let event = styx.receive(&mut Input::new(&mut bytes), &mut Vec::new()).unwrap().unwrap();
        let Event::Message(Message { payload, .. }) = event else { panic!("{event:?}") };
        assert!(range.contains(&payload.as_ptr()));
    }

    #[test]
    fn messages_beyond_the_limits_are_not_sent() {
        let mut styx = Styx::new(Limits { frame_len_max: 6 });
        let mut tx = Vec::new();
        let mut send = |payload: &[u8]| styx.send(Message { kind: Kind::Binary, payload }, &mut tx);
        assert_eq!(send(b"ab"), Ok(()));
        assert_eq!(send(b"abc"), Err(MisuseError::TooLong { len: 3, max: 2 }));
        assert_eq!(send(b""), Err(MisuseError::TooShort { len: 0, min: 1 }));
        styx.close(&mut tx);
        assert_eq!(
            styx.send(Message { kind: Kind::Binary, payload: b"a" }, &mut tx),
            Err(MisuseError::NotOpen)
        );
        assert_eq!(tx, b"\0\0\0\x06ab");
    }
}
