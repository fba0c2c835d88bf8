//! The extent of messages where the transport does not say it, or carries several of them in one of its own.

use super::text::position;
use super::{PeerError, resp};
use crate::excerpt::Excerpt;
use crate::mqtt;
use spec::conversation::{ByteOrder, Frame, LengthWidth, Separator};
use std::ops::Range;

/// Cuts bytes into messages, and puts messages into bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    frame: Frame,
    len_max: usize,
}

/// A message within bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) message: Range<usize>,
    /// The index of the first byte after it.
    pub(crate) next: usize,
}

impl Cut {
    /// Cuts as `frame` says; a message has at most `len_max` bytes, or fewer if `frame` says so.
    pub(crate) fn new(frame: Frame, len_max: usize) -> Self {
        let len_max = match frame {
            Frame::Length { max, .. } | Frame::Separator { max, .. } => {
                usize::try_from(max.0).map_or(len_max, |max| max.min(len_max))
            }
            Frame::Message | Frame::Lines | Frame::Nul | Frame::Rs | Frame::Resp | Frame::Mqtt => {
                len_max
            }
        };
        Self { frame, len_max }
    }

    /// True if whatever the transport delivers is a message.
    pub(crate) fn is_whole(self) -> bool {
        self.frame == Frame::Message
    }

    /// True if messages are lines.
    pub(crate) fn is_lines(self) -> bool {
        self.frame == Frame::Lines
    }

    /// The longest message, in bytes.
    pub(crate) const fn len_max(self) -> usize {
        self.len_max
    }

    /// True if messages may contain any bytes.
    pub(crate) fn is_binary(self) -> bool {
        matches!(self.frame, Frame::Mqtt | Frame::Length { .. })
    }

    /// The number of bytes at the start that belong to no message.
    pub(crate) fn idle_len(self, bytes: &[u8]) -> usize {
        match self.frame {
            Frame::Nul => bytes.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count(),
            Frame::Message
            | Frame::Lines
            | Frame::Rs
            | Frame::Separator { .. }
            | Frame::Resp
            | Frame::Mqtt
            | Frame::Length { .. } => 0,
        }
    }

    /// The message at the start of `bytes`; `None` if it is incomplete.
    ///
    /// # Errors
    ///
    /// It is longer than the limit, or its length cannot be read.
    #[inline]
    pub(crate) fn first(self, bytes: &[u8]) -> Result<Option<Found>, PeerError> {
        self.first_from(bytes, &mut Seen::default())
    }

    /// The same for bytes that were partly searched before.
    #[inline]
    fn first_from(self, bytes: &[u8], seen: &mut Seen) -> Result<Option<Found>, PeerError> {
        if self.frame == Frame::Resp {
            let end = seen.reply.end(bytes, self.len_max)?;
            return Ok(end.map(|next| Found { message: 0..next - resp::LINE_END.len(), next }));
        }
        let Some(separator) = self.separator() else { return self.first_by_len(bytes) };
        // A separator may begin in bytes that were searched before, and a message may end where one may have begun.
        let begun = separator.len() - 1;
        let start = seen.len.min(bytes.len()).saturating_sub(begun);
        seen.len = bytes.len();
        let end = position(bytes, separator, start);
        let len = end.unwrap_or_else(|| bytes.len().saturating_sub(begun));
        if len > self.len_max {
            return Err(PeerError::OverLimit { max: self.len_max });
        }
        Ok(end.map(|end| {
            let is_crlf = self.frame == Frame::Lines && bytes[..end].ends_with(b"\r");
            Found { message: 0..end - usize::from(is_crlf), next: end + separator.len() }
        }))
    }

    /// The number of bytes of `more` that the message that begins in `held` needs; 0 if it is complete.
    pub(crate) fn missing(self, held: &[u8], more: &[u8]) -> usize {
        if let Some(separator) = self.separator() {
            let begun = (separator.len() - 1).min(held.len());
            let begun = &held[held.len() - begun..];
            // A separator that begins in the held bytes ends before any other.
            let mut across = [0; 2 * Separator::LEN_MAX];
            let across_len = (begun.len() + separator.len() - 1).min(begun.len() + more.len());
            across[..begun.len()].copy_from_slice(begun);
            across[begun.len()..across_len].copy_from_slice(&more[..across_len - begun.len()]);
            if let Some(start) = position(&across[..across_len], separator, 0) {
                return (start + separator.len()).saturating_sub(begun.len());
            }
            return position(more, separator, 0)
                .map_or(more.len(), |start| start + separator.len());
        }
        if self.frame == Frame::Resp {
            return more.len(); // Its end is found when it is read.
        }
        match self.length(held) {
            Ok(Some((_, next))) => next.saturating_sub(held.len()).min(more.len()),
            Ok(None) => more.len().min(1),
            Err(_) => 0,
        }
    }

    /// Turns the bytes of `out` from `start` on into a message.
    ///
    /// # Errors
    ///
    /// The length of a message that is too long; it is removed from `out`.
    pub(crate) fn finish(self, start: usize, out: &mut Vec<u8>) -> Result<(), usize> {
        let len = out.len() - start;
        if self.frame == Frame::Resp {
            out.extend_from_slice(resp::LINE_END);
            return Ok(());
        }
        if let Some(separator) = self.separator() {
            if matches!(self.frame, Frame::Separator { .. }) && len > self.len_max {
                out.truncate(start);
                return Err(len);
            }
            out.extend_from_slice(separator);
            return Ok(());
        }
        let Frame::Length { width, order, includes_itself, .. } = self.frame else {
            return Ok(());
        };
        let mut field = [0; FIELD_LEN_MAX];
        let mut field_len = width_of(width).unwrap_or(0);
        if width == LengthWidth::Varint {
            let own = |field_len| if includes_itself { field_len } else { 0 };
            field_len = (1..FIELD_LEN_MAX)
                .find(|field_len| (len + own(*field_len)) >> (7 * field_len) == 0)
                .unwrap_or(FIELD_LEN_MAX);
        }
        let counted = (len + if includes_itself { field_len } else { 0 }) as u64;
        let fits = width == LengthWidth::Varint || counted >> (8 * field_len) == 0;
        if len > self.len_max || !fits {
            out.truncate(start);
            return Err(len);
        }
        for (index, byte) in field[..field_len].iter_mut().enumerate() {
            let is_last = index + 1 == field_len;
            *byte = match (width, order) {
                (LengthWidth::Varint, _) => {
                    (counted >> (7 * index)).to_le_bytes()[0] & 0x7f
                        | if is_last { 0 } else { 0x80 }
                }
                (_, ByteOrder::Little) => counted.to_le_bytes()[index],
                (_, ByteOrder::Big) => counted.to_le_bytes()[field_len - 1 - index],
            };
        }
        out.splice(start..start, field[..field_len].iter().copied());
        Ok(())
    }

    fn separator(&self) -> Option<&[u8]> {
        match &self.frame {
            Frame::Lines => Some(b"\n"),
            Frame::Nul => Some(b"\0"),
            Frame::Rs => Some(b"\x1e"),
            Frame::Separator { separator, .. } => Some(separator.as_bytes()),
            Frame::Message | Frame::Resp | Frame::Mqtt | Frame::Length { .. } => None,
        }
    }

    fn first_by_len(self, bytes: &[u8]) -> Result<Option<Found>, PeerError> {
        if self.is_whole() {
            return Ok(
                (!bytes.is_empty()).then_some(Found { message: 0..bytes.len(), next: bytes.len() })
            );
        }
        let Some((start, next)) = self.length(bytes)? else { return Ok(None) };
        Ok((bytes.len() >= next).then_some(Found { message: start..next, next }))
    }

    /// The ends of the length and of the message at the start of `bytes`; `None` if the length is incomplete.
    fn length(self, bytes: &[u8]) -> Result<Option<(usize, usize)>, PeerError> {
        let Frame::Length { width, order, includes_itself, .. } = self.frame else {
            return self.packet(bytes);
        };
        let fold = |len: u64, byte: &u8| len << 8 | u64::from(*byte);
        let (field_len, len) = match width_of(width) {
            Some(field_len) => {
                let Some(field) = bytes.get(..field_len) else { return Ok(None) };
                let len = match order {
                    ByteOrder::Big => field.iter().fold(0, fold),
                    ByteOrder::Little => field.iter().rev().fold(0, fold),
                };
                (field_len, len)
            }
            None => {
                let field = &bytes[..bytes.len().min(FIELD_LEN_MAX)];
                let Some(last) = field.iter().position(|byte| byte & 0x80 == 0) else {
                    return if field.len() == FIELD_LEN_MAX { Err(error(field)) } else { Ok(None) };
                };
                let sevens = |len: u64, byte: &u8| len << 7 | u64::from(byte & 0x7f);
                (last + 1, field[..=last].iter().rev().fold(0, sevens))
            }
        };
        let own = if includes_itself { field_len } else { 0 };
        let len = usize::try_from(len).ok().and_then(|len| len.checked_sub(own));
        let len = len.ok_or_else(|| error(&bytes[..field_len]))?;
        if len > self.len_max {
            return Err(PeerError::OverLimit { max: self.len_max });
        }
        Ok(Some((field_len, field_len + len)))
    }

    /// The same for an MQTT packet, which is handed out with its head.
    fn packet(self, bytes: &[u8]) -> Result<Option<(usize, usize)>, PeerError> {
        match mqtt::head(bytes)? {
            Some((_, len)) if len > self.len_max => Err(PeerError::OverLimit { max: self.len_max }),
            Some((start, len)) => Ok(Some((0, start + len))),
            None => Ok(None),
        }
    }
}

#[cold]
fn error(field: &[u8]) -> PeerError {
    PeerError::Length { said: Excerpt::new(field) }
}

/// The number of bytes of a length; `None` if they say it themselves.
const fn width_of(width: LengthWidth) -> Option<usize> {
    match width {
        LengthWidth::One => Some(1),
        LengthWidth::Two => Some(2),
        LengthWidth::Four => Some(4),
        LengthWidth::Varint => None,
    }
}

/// The most bytes of a length.
const FIELD_LEN_MAX: usize = 5;

/// Bytes of messages that were not handed out, or of a part of one. Keeps only a little memory when there are none.
#[derive(Debug, Default)]
pub(crate) struct Held {
    bytes: Vec<u8>,
    /// The start of what was not handed out.
    start: usize,
    seen: Seen,
}

/// The part of a message that was searched and does not contain its end.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// The number of its bytes, where a separator ends the message.
    len: usize,
    /// The same for a RESP reply.
    reply: resp::Progress,
}

impl Held {
    /// The next message.
    ///
    /// # Errors
    ///
    /// As [`Cut::first`].
    pub(crate) fn next(&mut self, cut: Cut) -> Result<Option<Range<usize>>, PeerError> {
        self.start += cut.idle_len(&self.bytes[self.start..]);
        if self.is_empty() {
            return Ok(None);
        }
        let rest = &self.bytes[self.start..];
        let Some(Found { message, next }) = cut.first_from(rest, &mut self.seen)? else {
            return Ok(None);
        };
        self.seen = Seen::default();
        let start = self.start;
        self.start += next;
        Ok(Some(start + message.start..start + message.end))
    }

    pub(crate) fn extend(&mut self, more: &[u8]) {
        self.bytes.extend_from_slice(more);
    }

    /// Forgets what was handed out. Called first, on every input.
    #[inline]
    pub(crate) fn release(&mut self) {
        if self.start == 0 {
            return;
        }
        if self.is_empty() {
            if self.bytes.capacity() > KEPT_LEN_MAX {
                self.bytes = Vec::new();
            }
            self.bytes.clear();
            self.start = 0;
        } else if self.start >= self.bytes.len() - self.start {
            // Bytes are moved only if at least as many were handed out, so that many small messages in one do not take
            // quadratic time.
            self.bytes.drain(..self.start);
            self.start = 0;
        }
    }

    /// True if everything was handed out.
    pub(crate) const fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    /// The bytes that were not handed out.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    pub(crate) fn get(&self, message: Range<usize>) -> &[u8] {
        &self.bytes[message]
    }
}

/// The most memory that a quiet connection keeps, in bytes.
const KEPT_LEN_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Bytes, Random};

    type Outcome = Result<Option<Found>, PeerError>;

    fn separated(separator: &str, max: u64) -> Cut {
        let separator = Separator::new(separator).expect("it is neither empty nor too long");
        Cut::new(Frame::Separator { separator, max: Bytes(max) }, 1 << 20)
    }

    /// The messages of a stream whose bytes arrive in these pieces, and what is left.
    fn pieced<'b>(cut: Cut, pieces: impl Iterator<Item = &'b [u8]>) -> (Vec<Vec<u8>>, Vec<u8>) {
        let (mut held, mut messages) = (Held::default(), Vec::new());
        for mut piece in pieces {
            loop {
                held.release();
                let missing = cut.missing(held.rest(), piece);
                let (taken, rest) = piece.split_at(missing);
                held.extend(taken);
                piece = rest;
                match held.next(cut).expect("no message is too long") {
                    Some(message) => messages.push(held.get(message).to_vec()),
                    None if piece.is_empty() => break,
                    None => {}
                }
            }
        }
        (messages, held.rest().to_vec())
    }

    #[test]
    fn messages_between_separators_are_the_same_in_any_pieces() {
        let mut random = Random::new(7);
        for round in 0..2000 {
            // Few letters, so that separators begin in vain, overlap, and begin within themselves.
            let letter = |random: &mut Random| char::from(b"ab\r\n"[random.below(4)]);
            let separator: String = (0..1 + random.below(4)).map(|_| letter(&mut random)).collect();
            let text: String = (0..random.below(60)).map(|_| letter(&mut random)).collect();
            let mut whole: Vec<Vec<u8>> =
                text.split(&*separator).map(|part| part.as_bytes().to_vec()).collect();
            let rest = whole.pop().expect("a text has at least one part");
            let mut pieces = vec![text.as_bytes()];
            for _ in 0..random.below(8) {
                let last = pieces.pop().expect("there is one");
                let (first, second) = last.split_at(random.below(last.len() + 1));
                pieces.extend([first, second]);
            }
            let told = pieced(separated(&separator, 60), pieces.into_iter());
            assert_eq!(told, (whole, rest), "round {round}: {separator:?} in {text:?}");
        }
    }

    #[test]
    fn a_message_ends_at_its_separator_and_at_its_limit() {
        let cut = separated("\r\n\r\n", 4);
        let over = PeerError::OverLimit { max: 4 };
        #[rustfmt::skip]
        let table: [(&[u8], Outcome); _] = [
            (b"abcd\r\n\r\n",  Ok(Some(Found { message: 0..4, next: 8 }))),
            (b"\r\n\r\nab",    Ok(Some(Found { message: 0..0, next: 4 }))),
            (b"abcd\r\n\r",    Ok(None)),
            (b"abcd\r\n\rx",   Err(over.clone())),
            (b"abcde\r\n\r\n", Err(over)),
        ];
        for (bytes, expected) in table {
            assert_eq!(cut.first(bytes), expected, "{}", bytes.escape_ascii());
        }
        let mut out = b"before abcd".to_vec();
        assert_eq!(cut.finish(7, &mut out), Ok(()));
        assert_eq!(out, b"before abcd\r\n\r\n");
        assert_eq!(cut.finish(7, &mut out), Err(8));
        assert_eq!(out, b"before ");
    }

    #[test]
    fn no_more_bytes_are_moved_than_were_handed_out() {
        const COUNT: usize = 10_000;
        let cut = Cut::new(Frame::Lines, 64);
        let mut held = Held::default();
        held.extend(&b"line\n".repeat(COUNT));
        let (mut count, mut moved_len) = (0, 0);
        loop {
            let (start, len) = (held.start, held.rest().len());
            held.release();
            moved_len += if held.start == start { 0 } else { len };
            let Some(line) = held.next(cut).unwrap() else { break };
            assert_eq!(held.get(line), b"line");
            count += 1;
        }
        assert_eq!(count, COUNT);
        assert!(moved_len <= COUNT * b"line\n".len(), "{moved_len} bytes");
        assert!(held.is_empty() && held.bytes.capacity() <= KEPT_LEN_MAX);
    }
}
