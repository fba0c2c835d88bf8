//! Commands to Redis and its replies, as far as a subscriber needs them ("Redis serialization protocol specification").

use std::ops::Range;

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// A command was carried out.
    Done,
    /// A command was refused; the reason follows the first byte.
    Error,
    /// Somebody published a message.
    Message {
        channel: Range<usize>,
        payload: Range<usize>,
    },
    Pong,
    /// A subscription began or ended.
    Subscribed,
}

/// Reads a whole reply, without its last line end; `None` for one that subscribers do not get.
pub(super) fn read(reply: &[u8]) -> Option<Reply> {
    match reply {
        b"+OK" => return Some(Reply::Done),
        b"+PONG" => return Some(Reply::Pong),
        [b'-', ..] => return Some(Reply::Error),
        _ => {}
    }
    let mut rest = Rest { bytes: reply, at: 0 };
    let kind = rest.line()?;
    let count = match reply.get(kind)? {
        b"*2" | b">2" => 2,
        b"*3" | b">3" => 3,
        _ => return None,
    };
    let kind = rest.text()?;
    match (reply.get(kind)?, count) {
        (b"message", 3) => Some(Reply::Message { channel: rest.text()?, payload: rest.text()? }),
        (b"pong", 2) => Some(Reply::Pong),
        (b"subscribe" | b"unsubscribe", 3) => Some(Reply::Subscribed),
        _ => None,
    }
}

/// True for the reason of an error that is about one channel: the others continue.
pub(super) fn is_of_one_channel(reason: &[u8]) -> bool {
    reason.starts_with(b"NOPERM ")
}

/// The part of a reply that is not read.
struct Rest<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Rest<'_> {
    fn line(&mut self) -> Option<Range<usize>> {
        let rest = self.bytes.get(self.at..)?;
        let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
        let line = self.at..self.at + end;
        self.at = line.end + 2;
        Some(line)
    }

    /// The next element, which is a text.
    fn text(&mut self) -> Option<Range<usize>> {
        let line = self.line()?;
        let len = self.bytes.get(line)?.strip_prefix(b"$")?;
        let len: usize = str::from_utf8(len).ok()?.parse().ok()?;
        let text = self.at..self.at.checked_add(len)?;
        self.at = text.end + 2;
        (text.end <= self.bytes.len()).then_some(text)
    }
}

/// Appends a command: its name and its arguments.
pub(super) fn append_command(words: &[&[u8]], tx: &mut Vec<u8>) {
    tx.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        tx.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        tx.extend_from_slice(word);
        tx.extend_from_slice(b"\r\n");
    }
}
