//! Lines of text: each message ends with a line feed.
//!
//! A line is UTF-8 without a line feed. A carriage return before the line feed belongs to the line. Both roles are the
//! same.

mod error;

pub use error::PeerError;

use crate::contract::{
    Closed, Event, Input, Kind, Message, MisuseError, Opening, PeerError as AnyPeerError, Protocol,
};
use crate::pieces::Pieces;

/// One end of a connection that carries lines of text.
#[derive(Debug)]
pub struct Lines {
    closed: bool,
    limits: Limits,
    pieces: Pieces,
}

/// The longest line that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest line in bytes, its line feed not counted; sent and received.
    pub line_len_max: usize,
}

impl Lines {
    /// Either end of a connection.
    pub fn new(limits: Limits) -> Self {
        Self { closed: false, limits, pieces: Pieces::default() }
    }
}

impl Default for Limits {
    /// 16 MiB.
    fn default() -> Self {
        Self { line_len_max: 16 << 20 }
    }
}

impl Protocol for Lines {
    fn open(&mut self, _tx: &mut Vec<u8>) -> Opening {
        Opening::Done
    }

    #[inline]
    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        let (line, max) = (message.payload, self.limits.line_len_max);
        if self.closed {
            return Err(MisuseError::NotOpen);
        }
        if line.len() > max {
            return Err(MisuseError::TooLong { len: line.len() as u64, max: max as u64 });
        }
        if line.contains(&LINE_FEED) {
            return Err(MisuseError::Malformed {
                expected: "a line of text without its line feed",
            });
        }
        if simdutf8::basic::from_utf8(line).is_err() {
            return Err(MisuseError::NotUtf8);
        }
        tx.extend_from_slice(line);
        tx.push(LINE_FEED);
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
        let max = self.limits.line_len_max;
        let held = self.pieces.bytes().len();
        let len_max = max - held; // the held bytes have no line feed
        let end = input.peek().iter().take(len_max.saturating_add(1)).position(is_line_feed);
        let payload = match end {
            Some(len) if held == 0 => &input.take(len + 1)[..len],
            Some(len) => {
                self.pieces.extend(&input.take(len + 1)[..len]);
                self.pieces.hand_out()
            }
            None if input.len() > len_max => return Err(PeerError::OverLimit { max }.into()),
            None => {
                self.pieces.extend(input.take_all());
                return Ok(None);
            }
        };
        match simdutf8::basic::from_utf8(payload) {
            Ok(_) => Ok(Some(Event::Message(Message { kind: Kind::Text, payload }))),
            Err(_) => Err(PeerError::NotUtf8 { len: payload.len() }.into()),
        }
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
            len => Err(PeerError::LineCutOff { len }.into()),
        }
    }

    fn awaits_rest(&self) -> bool {
        !self.closed && self.pieces.are_waiting()
    }
}

fn is_line_feed(byte: &u8) -> bool {
    *byte == LINE_FEED
}

/// The end of a line.
const LINE_FEED: u8 = b'\n';

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::check_splits;

    const END: &str = "end: closed None \"\"";

    #[test]
    fn lines_are_understood_however_they_are_split() {
        #[rustfmt::skip]
        let table: [(&[u8], &[&str]); _] = [
            (b"",                   &[END]),
            (b"\n",                 &["Text \"\"", END]),
            (b"ab\n\nabcd\n",       &["Text \"ab\"", "Text \"\"", "Text \"abcd\"", END]),
            (b"PONG\n",             &["Text \"PONG\"", END]),
            (b"PON\r\n",            &["Text \"PON\\r\"", END]),
            ("a\u{e9}\n".as_bytes(), &["Text \"a\\xc3\\xa9\"", END]),
            (b"abcde\n",            &["error: no line feed within 4 bytes, the limit of a line"]),
            (b"ab\nabcdefgh",       &["Text \"ab\"", "error: no line feed within 4 bytes, the limit of a line"]),
            (b"a\xff\n",            &["error: line of 2 bytes is not UTF-8"]),
            (b"ab\nab",             &["Text \"ab\"", "end: error: the connection ended 2 bytes into a line"]),
        ];
        for (input, events) in table {
            let transcript = check_splits(input, &|| Lines::new(Limits { line_len_max: 4 }));
            assert_eq!(transcript.events, events, "{input:?}");
            assert!(input.starts_with(&transcript.tx), "the echo is {:?}", transcript.tx);
        }
    }

    #[test]
    fn what_arrives_whole_is_handed_out_from_where_it_lies() {
        let mut bytes = *b"ab\n";
        let range = bytes.as_ptr_range();
        let mut lines = Lines::new(Limits::default());
        let event = lines.receive(&mut Input::new(&mut bytes), &mut Vec::new()).unwrap().unwrap();
        let Event::Message(Message { payload, .. }) = event else { panic!("{event:?}") };
        assert!(range.contains(&payload.as_ptr()));
    }

    #[test]
    fn what_is_no_line_is_not_sent() {
        let mut lines = Lines::new(Limits { line_len_max: 3 });
        let mut tx = Vec::new();
        let mut send = |payload: &[u8]| lines.send(Message { kind: Kind::Text, payload }, &mut tx);
        assert_eq!(send(b"abc"), Ok(()));
        assert_eq!(send(b"abcd"), Err(MisuseError::TooLong { len: 4, max: 3 }));
        assert!(matches!(send(b"a\nb"), Err(MisuseError::Malformed { .. })));
        assert_eq!(send(b"\xff"), Err(MisuseError::NotUtf8));
        assert!(!lines.close(&mut tx));
        let after = lines.send(Message { kind: Kind::Text, payload: b"" }, &mut tx);
        assert_eq!(after, Err(MisuseError::NotOpen));
        assert_eq!(tx, b"abc\n");
    }
}
