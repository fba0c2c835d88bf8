//! The header of a frame, read and written bit by bit (RFC 6455 §5.2).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-------+-+-------------+-------------------------------+
//! |F|R|R|R| opcode|M| Payload len |    Extended payload length    |
//! |I|S|S|S|  (4)  |A|     (7)     |            (16/64)            |
//! |N|V|V|V|       |S|             |  (if payload len is 126/127)  |
//! | |1|2|3|       |K|             |                               |
//! +-+-+-+-+-------+-+-------------+-------------------------------+
//! |            masking key, 4 bytes, if MASK is set               |
//! +---------------------------------------------------------------+
//! ```
//!
//! Left out: the meaning of a frame after those before it ([`super::machine`]).

use super::PeerError;
use super::mask::Key;
use crate::contract::{Input, Kind, Side};

/// The facts from the header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// True if it begins a compressed message (RFC 7692 §6).
    pub(super) is_compressed: bool,
    /// True if it is the last fragment of a message, or the only one.
    pub(super) is_final: bool,
    /// The key that its payload is masked with, if it is masked.
    pub(super) key: Option<Key>,
    /// The payload bytes still to arrive.
    pub(super) len: u64,
    /// The kind of frame.
    pub(super) opcode: Opcode,
}

/// The kinds of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opcode {
    /// The next fragment of a message.
    Continuation,
    /// A frame of the protocol itself, not part of any message.
    Control(Control),
    /// A message, or its first fragment.
    Message(Kind),
}

/// A frame of the protocol itself; never fragmented, and allowed between the fragments of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// The last frame of its sender.
    Close,
    /// A frame that asks for a pong.
    Ping,
    /// The answer to a ping, or a sign of life.
    Pong,
}

impl Frame {
    /// Reads a header written by `sender` from the front of `bytes`, and returns its length too; `None` if it is not
    /// complete yet. `may_compress`: permessage-deflate was negotiated.
    ///
    /// # Errors
    ///
    /// Every fault that a single header can have: `FragmentedControl`, `LengthNotMinimal`, `LengthTopBit`,
    /// `LongControl`, `Masked`, `MisplacedCompression`, `ReservedBits`, `ReservedOpcode`, `Unmasked`.
    #[inline]
    pub(super) fn read(
        bytes: &[u8],
        sender: Side,
        may_compress: bool,
    ) -> Result<Option<(Self, usize)>, PeerError> {
        let &[first, second, ref rest @ ..] = bytes else { return Ok(None) };
        let is_final = first & FINAL != 0;
        let is_compressed = may_compress && first & COMPRESSED != 0;
        let opcode = Opcode::read(if is_compressed { first & !COMPRESSED } else { first })?;
        if is_compressed && !matches!(opcode, Opcode::Message(_)) {
            return Err(PeerError::MisplacedCompression { opcode: first & OPCODE });
        }
        if !is_final && matches!(opcode, Opcode::Control(_)) {
            return Err(PeerError::FragmentedControl { opcode: first & OPCODE });
        }
        check_mask(second & MASKED != 0, sender)?;
        let Some((len, rest)) = read_len(second & !MASKED, rest)? else { return Ok(None) };
        if len > CONTROL_LEN_MAX && matches!(opcode, Opcode::Control(_)) {
            return Err(PeerError::LongControl { len });
        }
        let (key, rest) = match sender {
            Side::Client => {
                let Some((key, rest)) = rest.split_first_chunk() else { return Ok(None) };
                (Some(Key::from_bytes(*key)), rest)
            }
            Side::Server => (None, rest),
        };
        let frame = Self { is_compressed, is_final, key, len, opcode };
        Ok(Some((frame, bytes.len() - rest.len())))
    }

    /// Appends the header to `tx`.
    #[inline]
    pub(super) fn write(self, tx: &mut Vec<u8>) {
        let first = if self.is_final { FINAL } else { 0 }
            | if self.is_compressed { COMPRESSED } else { 0 }
            | self.opcode.bits();
        let masked = if self.key.is_some() { MASKED } else { 0 };
        match (u8::try_from(self.len), u16::try_from(self.len)) {
            (Ok(len @ 0..=SHORT_LEN_MAX), _) => tx.extend_from_slice(&[first, masked | len]),
            (_, Ok(len)) => {
                let [high, low] = len.to_be_bytes();
                tx.extend_from_slice(&[first, masked | LEN_16_BIT, high, low]);
            }
            (_, Err(_)) => {
                tx.extend_from_slice(&[first, masked | LEN_64_BIT]);
                tx.extend_from_slice(&self.len.to_be_bytes());
            }
        }
        if let Some(key) = self.key {
            tx.extend_from_slice(&key.to_bytes());
        }
    }
}

/// Reads one header, in whatever pieces it arrives.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeaderReader {
    /// The bytes so far of a header that did not arrive in one piece.
    start: [u8; HEADER_LEN_MAX],
    start_len: u8,
}

impl HeaderReader {
    /// Takes a header written by `sender` off the front of `input`; takes all of `input` and returns `None` if the
    /// header is not complete yet. `may_compress`: permessage-deflate was negotiated.
    ///
    /// # Errors
    ///
    /// As [`Frame::read`].
    #[inline]
    pub(super) fn read(
        &mut self,
        input: &mut Input<'_>,
        sender: Side,
        may_compress: bool,
    ) -> Result<Option<Frame>, PeerError> {
        if self.start_len > 0 {
            return self.read_rest(input, sender, may_compress);
        }
        if let Some((frame, len)) = Frame::read(input.peek(), sender, may_compress)? {
            input.take(len);
            return Ok(Some(frame));
        }
        if !input.is_empty() {
            self.keep(input.take_all());
        }
        Ok(None)
    }

    #[cold]
    fn read_rest(
        &mut self,
        input: &mut Input<'_>,
        sender: Side,
        may_compress: bool,
    ) -> Result<Option<Frame>, PeerError> {
        let start_len = usize::from(self.start_len);
        self.keep(&input.peek()[..input.len().min(HEADER_LEN_MAX - start_len)]);
        let start = &self.start[..usize::from(self.start_len)];
        let Some((frame, len)) = Frame::read(start, sender, may_compress)? else {
            input.take_all();
            return Ok(None);
        };
        input.take(len - start_len);
        Ok(Some(frame))
    }

    #[cold]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "at most HEADER_LEN_MAX bytes, which the slicing ensures"
    )]
    fn keep(&mut self, part: &[u8]) {
        self.start[usize::from(self.start_len)..][..part.len()].copy_from_slice(part);
        self.start_len += part.len() as u8;
    }

    /// True if the start of a header waits for its rest.
    pub(super) const fn is_within(&self) -> bool {
        self.start_len > 0
    }
}

/// Appends a whole frame to `tx`: an unfragmented message, or a control frame.
#[inline]
pub(super) fn write(opcode: Opcode, key: Option<Key>, payload: &[u8], tx: &mut Vec<u8>) {
    tx.reserve(HEADER_LEN_MAX + payload.len());
    let len = payload.len() as u64;
    Frame { is_compressed: false, is_final: true, key, len, opcode }.write(tx);
    match key {
        Some(key) => key.append(payload, tx),
        None => tx.extend_from_slice(payload),
    }
}

/// Appends a message as a whole frame to `tx`. `append` appends its payload in place, after room for the header of a
/// payload of `len` bytes. `len` is a guess: the payload is moved only if its header turns out to have another length.
pub(super) fn write_in_place(
    kind: Kind,
    is_compressed: bool,
    key: Option<Key>,
    len: usize,
    tx: &mut Vec<u8>,
    append: impl FnOnce(&mut Vec<u8>),
) {
    let opcode = Opcode::Message(kind);
    let mut frame = Frame { is_compressed, is_final: true, key, len: len as u64, opcode };
    let start = tx.len();
    frame.write(tx);
    let room = tx.len() - start;
    append(tx);
    let end = tx.len();
    let payload = &mut tx[start + room..];
    if let Some(key) = key {
        key.apply(payload);
    }
    frame.len = payload.len() as u64;
    frame.write(tx);
    let header_len = tx.len() - end;
    if header_len == room {
        tx.copy_within(end.., start);
        tx.truncate(end);
    } else {
        tx[start..].rotate_right(header_len);
        tx.drain(start + header_len..start + header_len + room);
    }
}

impl Opcode {
    /// Reads the low seven bits of a frame's first byte.
    #[inline]
    const fn read(first: u8) -> Result<Self, PeerError> {
        match first & !FINAL {
            0x0 => Ok(Self::Continuation),
            0x1 => Ok(Self::Message(Kind::Text)),
            0x2 => Ok(Self::Message(Kind::Binary)),
            0x8 => Ok(Self::Control(Control::Close)),
            0x9 => Ok(Self::Control(Control::Ping)),
            0xA => Ok(Self::Control(Control::Pong)),
            opcode @ ..=OPCODE => Err(PeerError::ReservedOpcode { opcode }),
            bits => Err(PeerError::ReservedBits { bits: bits >> 4 }),
        }
    }

    #[inline]
    const fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0x0,
            Self::Message(Kind::Text) => 0x1,
            Self::Message(Kind::Binary) => 0x2,
            Self::Control(Control::Close) => 0x8,
            Self::Control(Control::Ping) => 0x9,
            Self::Control(Control::Pong) => 0xA,
        }
    }
}

/// Checks that clients mask every frame, and servers none (§5.1).
#[inline]
const fn check_mask(is_masked: bool, sender: Side) -> Result<(), PeerError> {
    match (sender, is_masked) {
        (Side::Client, true) | (Side::Server, false) => Ok(()),
        (Side::Client, false) => Err(PeerError::Unmasked),
        (Side::Server, true) => Err(PeerError::Masked),
    }
}

/// Reads the payload length that begins with `short`, and returns what follows it in `rest` too.
#[inline]
fn read_len(short: u8, rest: &[u8]) -> Result<Option<(u64, &[u8])>, PeerError> {
    let (len, min, rest) = match short {
        LEN_16_BIT => {
            let Some((len, rest)) = rest.split_first_chunk() else { return Ok(None) };
            (u64::from(u16::from_be_bytes(*len)), u64::from(LEN_16_BIT), rest)
        }
        LEN_64_BIT => {
            let Some((len, rest)) = rest.split_first_chunk() else { return Ok(None) };
            (u64::from_be_bytes(*len), 1 << 16, rest)
        }
        len => (u64::from(len), 0, rest),
    };
    if len < min {
        return Err(PeerError::LengthNotMinimal { len });
    }
    if len >> 63 != 0 {
        return Err(PeerError::LengthTopBit { len });
    }
    Ok(Some((len, rest)))
}

/// The longest header: two bytes, a 64-bit length, a key.
pub(super) const HEADER_LEN_MAX: usize = 2 + 8 + 4;

/// The longest payload of a control frame (§5.5).
pub(super) const CONTROL_LEN_MAX: u64 = 125;

const FINAL: u8 = 0x80;
/// RSV1: the message that begins here is compressed (RFC 7692 §6).
const COMPRESSED: u8 = 0x40;
const OPCODE: u8 = 0x0F;
const MASKED: u8 = 0x80;
/// Longest payload whose length fits beside the mask bit.
const SHORT_LEN_MAX: u8 = 125;
/// Marks that a 16-bit length follows.
const LEN_16_BIT: u8 = 126;
/// Marks that a 64-bit length follows.
const LEN_64_BIT: u8 = 127;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn headers_are_read_and_written_as_in_the_rfc() {
        use Opcode::{Continuation, Message};
        let key = Some(Key::from_bytes([1, 2, 3, 4]));
        let frame =
            |is_final, opcode, key, len| Frame { is_compressed: false, is_final, key, len, opcode };
        #[rustfmt::skip]
        let table: &[(Frame, &[u8])] = &[
            (frame(true,  Message(Kind::Text), None, 0),              b"\x81\x00"),
            (frame(false, Message(Kind::Text), None, 1),              b"\x01\x01"),
            (frame(true,  Message(Kind::Binary), None, 125),          b"\x82\x7d"),
            (frame(true,  Message(Kind::Binary), None, 126),          b"\x82\x7e\x00\x7e"),
            (frame(true,  Message(Kind::Binary), None, 65_535),       b"\x82\x7e\xff\xff"),
            (frame(true,  Message(Kind::Binary), None, 65_536),       b"\x82\x7f\0\0\0\0\0\x01\0\0"),
            (frame(true,  Message(Kind::Binary), None, u64::MAX / 2), b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"),
            (frame(true,  Message(Kind::Binary), key, 5),             b"\x82\x85\x01\x02\x03\x04"),
            (frame(true,  Message(Kind::Binary), key, 200),           b"\x82\xfe\x00\xc8\x01\x02\x03\x04"),
            (frame(true,  Message(Kind::Binary), key, 1 << 32),       b"\x82\xff\0\0\0\x01\0\0\0\0\x01\x02\x03\x04"),
            (frame(false, Continuation, key, 0),                      b"\x00\x80\x01\x02\x03\x04"),
            (frame(true,  Continuation, None, 0),                     b"\x80\x00"),
            (frame(true,  Opcode::Control(Control::Close), None, 2),  b"\x88\x02"),
            (frame(true,  Opcode::Control(Control::Ping), key, 125),  b"\x89\xfd\x01\x02\x03\x04"),
            (frame(true,  Opcode::Control(Control::Pong), None, 0),   b"\x8a\x00"),
        ];
        for row @ (frame, bytes) in table {
            let mut tx = Vec::new();
            frame.write(&mut tx);
            assert_eq!(tx, *bytes, "{row:?}");
            assert_eq!(read(bytes, sender(*frame)), Ok(Some((*frame, bytes.len()))), "{row:?}");
            for cut in 0..bytes.len() {
                assert_eq!(read(&bytes[..cut], sender(*frame)), Ok(None), "{row:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn headers_that_break_a_rule_are_refused_by_name() {
        use Side::{Client, Server};
        #[rustfmt::skip]
        let table: &[(Side, &[u8], PeerError)] = &[
            (Server, b"\xc1\x00",                         PeerError::ReservedBits { bits: 0b100 }),
            (Server, b"\xa1\x00",                         PeerError::ReservedBits { bits: 0b010 }),
            (Server, b"\x93\x00",                         PeerError::ReservedBits { bits: 0b001 }),
            (Server, b"\x83\x00",                         PeerError::ReservedOpcode { opcode: 0x3 }),
            (Server, b"\x07\x00",                         PeerError::ReservedOpcode { opcode: 0x7 }),
            (Server, b"\x8b\x00",                         PeerError::ReservedOpcode { opcode: 0xB }),
            (Server, b"\x8f\x00",                         PeerError::ReservedOpcode { opcode: 0xF }),
            (Server, b"\x09\x00",                         PeerError::FragmentedControl { opcode: 0x9 }),
            (Server, b"\x08\x00",                         PeerError::FragmentedControl { opcode: 0x8 }),
            (Server, b"\x82\x80",                         PeerError::Masked),
            (Client, b"\x82\x00",                         PeerError::Unmasked),
            (Server, b"\x82\x7e\x00\x7d",                 PeerError::LengthNotMinimal { len: 125 }),
            (Server, b"\x82\x7f\0\0\0\0\0\0\xff\xff",     PeerError::LengthNotMinimal { len: 65_535 }),
            (Server, b"\x89\x7e\x00\x05",                 PeerError::LengthNotMinimal { len: 5 }),
            (Server, b"\x82\x7f\x80\0\0\0\0\0\0\0",       PeerError::LengthTopBit { len: 1 << 63 }),
            (Server, b"\x89\x7e\x00\x7e",                 PeerError::LongControl { len: 126 }),
            (Server, b"\x88\x7f\0\0\0\0\0\x01\0\0",       PeerError::LongControl { len: 65_536 }),
        ];
        for row @ (sender, bytes, error) in table {
            assert_eq!(read(bytes, *sender), Err(error.clone()), "{row:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(is_compressed: bool, is_final: bool, opcode in 0_usize..6, key: Option<[u8; 4]>, bits in 0_u32..63, len: u64) {
            let opcode = [
                Opcode::Continuation,
                Opcode::Message(Kind::Text),
                Opcode::Message(Kind::Binary),
                Opcode::Control(Control::Close),
                Opcode::Control(Control::Ping),
                Opcode::Control(Control::Pong),
            ][opcode];
            let len = len & ((1 << bits) - 1);
            let frame = match opcode {
                Opcode::Control(_) => {
                    Frame { is_compressed: false, is_final: true, key: key.map(Key::from_bytes), len: len % 126, opcode }
                }
                Opcode::Continuation | Opcode::Message(_) => {
                    let is_compressed = is_compressed && opcode != Opcode::Continuation;
                    Frame { is_compressed, is_final, key: key.map(Key::from_bytes), len, opcode }
                }
            };
            let mut tx = Vec::new();
            frame.write(&mut tx);
            prop_assert_eq!(Frame::read(&tx, sender(frame), true), Ok(Some((frame, tx.len()))));
        }

        #[test]
        fn what_is_read_is_written_the_same(
            bytes in proptest::array::uniform14(0_u8..), client: bool, may_compress: bool,
        ) {
            let sender = if client { Side::Client } else { Side::Server };
            if let Ok(Some((frame, len))) = Frame::read(&bytes, sender, may_compress) {
                let mut tx = Vec::new();
                frame.write(&mut tx);
                prop_assert_eq!(&tx, &bytes[..len]);
            }
        }
    }

    fn read(bytes: &[u8], sender: Side) -> Result<Option<(Frame, usize)>, PeerError> {
        Frame::read(bytes, sender, false)
    }

    fn sender(frame: Frame) -> Side {
        if frame.key.is_some() { Side::Client } else { Side::Server }
    }
}
