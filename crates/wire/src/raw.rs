//! No framing at all: a byte stream as TCP and Unix sockets carry it.
//!
//! The client knows how long each reply is, because an echo is as long as what it echoes; the server takes whatever
//! arrives as one message. So the client sees whole messages, and the server may see parts of them, which does not
//! matter for an echo.

mod error;

pub use error::PeerError;

use crate::contract::{
    Closed, Event, Input, Kind, Message, MisuseError, Opening, PeerError as AnyPeerError, Protocol,
};
use crate::pieces::Pieces;

/// One end of a connection without framing.
#[derive(Debug)]
pub struct Raw {
    closed: bool,
    pieces: Pieces,
    reply_len: usize,
}

impl Raw {
    /// A client whose replies are exactly `reply_len` bytes long.
    ///
    /// A `reply_len` of zero means "not known": like a server it takes whatever arrives as one message. A reply of no
    /// bytes cannot be seen on a stream, so nobody should wait for one.
    pub fn client(reply_len: usize) -> Self {
        Self { closed: false, pieces: Pieces::default(), reply_len }
    }

    /// A server: whatever arrives at once is one message.
    pub fn server() -> Self {
        Self::client(0)
    }
}

impl Protocol for Raw {
    fn open(&mut self, _tx: &mut Vec<u8>) -> Opening {
        Opening::Done
    }

    #[inline]
    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        if self.closed {
            return Err(MisuseError::NotOpen);
        }
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
        if input.is_empty() {
            return Ok(None);
        }
        let payload = if self.reply_len == 0 {
            Some(&*input.take_all())
        } else {
            self.pieces.take(self.reply_len, input)
        };
        Ok(payload.map(|payload| Event::Message(Message { kind: Kind::Binary, payload })))
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
            len => Err(PeerError::ReplyCutOff { len, expected: self.reply_len }.into()),
        }
    }

    fn awaits_rest(&self) -> bool {
        !self.closed && self.pieces.are_waiting()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::{Transcript, check_splits};

    #[test]
    fn replies_are_as_long_as_the_client_was_told() {
        #[rustfmt::skip]
        let table: [(&[u8], &[&str]); _] = [
            (b"", &["end: closed None \"\""]),
            (b"abc", &["Binary \"abc\"", "end: closed None \"\""]),
            (b"abcdef", &["Binary \"abc\"", "Binary \"def\"", "end: closed None \"\""]),
            (b"abcd", &["Binary \"abc\"", "end: error: the connection ended after 1 of 3 bytes of a reply"]),
        ];
        for (input, events) in table {
            assert_eq!(check_splits(input, &|| Raw::client(3)).events, events, "{input:?}");
        }
    }

    #[test]
    fn a_server_takes_what_comes() {
        let transcript = Transcript::of(Raw::server(), [&b"abc"[..], b"", b"de"]);
        assert_eq!(transcript.events, ["Binary \"abc\"", "Binary \"de\"", "end: closed None \"\""]);
        assert_eq!(transcript.tx, b"abcde");
    }

    #[test]
    fn what_arrives_whole_is_handed_out_from_where_it_lies() {
        let mut bytes = *b"abcd";
        let range = bytes.as_ptr_range();
        let mut client = Raw::client(4);
        let event = client.receive(&mut Input::new(&mut bytes), &mut Vec::new()).unwrap().unwrap();
        let Event::Message(Message { payload, .. }) = event else { panic!("{event:?}") };
        assert!(range.contains(&payload.as_ptr()));
    }

    #[test]
    fn nothing_is_sent_or_received_after_the_end() {
        let mut client = Raw::client(1);
        let mut tx = Vec::new();
        assert!(!client.close(&mut tx));
        assert_eq!(
            client.send(Message { kind: Kind::Binary, payload: b"a" }, &mut tx),
            Err(MisuseError::NotOpen)
        );
        assert_eq!(client.receive(&mut Input::new(&mut [1, 2]), &mut tx), Ok(None));
        assert_eq!(tx, b"");
    }
}
