//! Texts with holes, made ready to be written: constant parts are bytes, and the rest is filled in between them.

use super::CompileError;
use super::awaited::FIRST_ID;
use crate::decimal::append_decimal;
use crate::http1::append_percent_encoded;
use crate::misuse::MisuseError;
use spec::Rooms;
use spec::conversation::{Escape, HexBytes, Number, Piece, Template};
use spec::rooms::Part;
use spec::stamp::Header;
use units::{Nanos, Random};

/// A template whose adjacent constant pieces are merged, and whose values are known by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Compiled {
    slots: Vec<Slot>,
    /// The numbers in bytes, each with its hole as it is written; `None` if the template is a text.
    numbers: Option<Vec<(Slot, Number, String)>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Slot {
    Text(Box<[u8]>),
    Id,
    Now,
    NowMs,
    Client,
    ClientModulo(u32),
    Room,
    Header,
    Random(u32),
    /// The value with this number.
    Value(usize, Escape),
    /// The value of the slot as a number in bytes.
    Number(Box<Self>, Number),
}

/// The values that fill the holes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filling<'a> {
    pub(super) id: u32,
    pub(super) now: Nanos,
    pub(super) member: Member,
    pub(super) values: &'a [Box<[u8]>],
}

/// A connection among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// Its number.
    pub(super) client: u32,
    /// Its room; where there are no rooms each connection has one of its own.
    pub(super) room: u32,
    /// Its part in the room; `None` where there are no rooms: it has both parts.
    pub(super) part: Option<Part>,
}

impl Member {
    pub(super) fn new(client: u32, rooms: Option<Rooms>) -> Self {
        Self {
            client,
            room: rooms.map_or(client, |rooms| rooms.room_of(client)),
            part: rooms.map(|rooms| rooms.part_of(client)),
        }
    }
}

impl Filling<'_> {
    /// The header of the request.
    fn header(&self) -> Header {
        let sequence = self.id.wrapping_sub(FIRST_ID);
        Header { connection: self.member.client, sequence, due: self.now }
    }
}

impl Compiled {
    /// Makes `template` ready; `number` returns the number of each value.
    ///
    /// # Errors
    ///
    /// The name that `number` does not know.
    pub(super) fn new(
        template: &Template,
        number: impl Fn(&str) -> Option<usize>,
    ) -> Result<Self, String> {
        let mut slots = Vec::new();
        let mut text = Vec::new();
        let mut numbers = template.is_bytes().then(Vec::new);
        for piece in &template.0 {
            let slot = Slot::new(piece, &number)?;
            if let Slot::Text(piece) = &slot {
                text.extend_from_slice(piece);
                continue;
            }
            if let (Slot::Number(of, form), Some(numbers)) = (&slot, &mut numbers) {
                numbers.push((Slot::clone(of), *form, piece.to_string()));
            }
            if !text.is_empty() {
                slots.push(Slot::Text(std::mem::take(&mut text).into()));
            }
            slots.push(slot);
        }
        if !text.is_empty() {
            slots.push(Slot::Text(text.into()));
        }
        Ok(Self { slots, numbers })
    }

    /// The text without holes.
    pub(super) fn text(text: &str) -> Self {
        Self { slots: vec![Slot::Text(text.as_bytes().into())], numbers: None }
    }

    /// True if it is the same on every connection.
    pub(super) fn is_constant(&self) -> bool {
        self.slots.iter().all(|slot| matches!(slot, Slot::Text(_)))
    }

    /// True if it is a message of bytes; all its values then fit their numbers.
    ///
    /// # Errors
    ///
    /// The first value that does not fit.
    #[inline]
    pub(super) fn is_bytes(&self, filling: Filling<'_>) -> Result<bool, MisuseError> {
        let Some(numbers) = &self.numbers else { return Ok(false) };
        let is_odd = |(of, form, _): &&(Slot, Number, String)| {
            !of.number(filling).is_some_and(|value| form.holds(value))
        };
        match numbers.iter().find(is_odd) {
            Some((_, form, hole)) => {
                let (min, max) = (form.min(), form.max());
                Err(MisuseError::Misfit { hole: hole.clone(), min, max })
            }
            None => Ok(true),
        }
    }

    /// Appends the text, filled.
    #[inline]
    pub(super) fn write(&self, filling: Filling<'_>, random: &mut Random, out: &mut Vec<u8>) {
        for slot in &self.slots {
            match slot {
                Slot::Text(text) => out.extend_from_slice(text),
                Slot::Id => append_decimal(filling.id.into(), out),
                Slot::Now => append_decimal(filling.now.0, out),
                Slot::NowMs => append_decimal(filling.now.0 / NANOS_IN_MILLI, out),
                Slot::Client => append_decimal(filling.member.client.into(), out),
                Slot::ClientModulo(groups) => {
                    append_decimal((filling.member.client % groups).into(), out);
                }
                Slot::Room => append_decimal(filling.member.room.into(), out),
                Slot::Header => {
                    let start = out.len();
                    out.resize(start + Header::len(true), b'0');
                    filling.header().write(&mut out[start..], true);
                }
                Slot::Random(len) => {
                    out.extend((0..*len).map(|_| ALPHABET[random.below(ALPHABET.len())]));
                }
                Slot::Value(number, escape) => write_value(&filling.values[*number], *escape, out),
                // Values that do not fit were refused before (`is_bytes`).
                Slot::Number(of, form) => form.write(of.number(filling).unwrap_or_default(), out),
            }
        }
    }
}

impl Slot {
    /// Makes `piece` ready; `number` returns the number of each value.
    fn new(piece: &Piece, number: &impl Fn(&str) -> Option<usize>) -> Result<Self, String> {
        Ok(match piece {
            Piece::Text(text) => Self::Text(text.as_bytes().into()),
            Piece::Bytes(bytes) => Self::Text(bytes.0.as_slice().into()),
            Piece::Pad(len) => {
                Self::Text(PAD.iter().copied().cycle().take(*len as usize).collect())
            }
            // Filled before ([`fill_payload`]).
            Piece::Payload { .. } => Self::Text(Box::default()),
            Piece::Id => Self::Id,
            Piece::Now => Self::Now,
            Piece::NowMs => Self::NowMs,
            Piece::Client => Self::Client,
            Piece::ClientModulo(groups) => Self::ClientModulo((*groups).max(1)),
            Piece::Room => Self::Room,
            Piece::Header => Self::Header,
            Piece::Random(len) => Self::Random(*len),
            Piece::Var { name, escape } => {
                Self::Value(number(name).ok_or_else(|| name.clone())?, *escape)
            }
            Piece::Number { of, form } => Self::Number(Box::new(Self::new(of, number)?), *form),
        })
    }

    /// The value as a whole number, if it is one.
    #[inline]
    fn number(&self, filling: Filling<'_>) -> Option<i128> {
        let number = match self {
            Self::Id => filling.id.into(),
            Self::Now => filling.now.0,
            Self::NowMs => filling.now.0 / NANOS_IN_MILLI,
            Self::Client => filling.member.client.into(),
            Self::ClientModulo(groups) => (filling.member.client % groups).into(),
            Self::Room => filling.member.room.into(),
            Self::Value(number, _) => {
                return str::from_utf8(&filling.values[*number]).ok()?.parse().ok();
            }
            Self::Text(_) | Self::Header | Self::Random(_) | Self::Number(..) => return None,
        };
        Some(number.into())
    }
}

/// Makes `template` ready; `names` are those of the values.
///
/// # Errors
///
/// It names a value that nothing gives.
pub(super) fn compile(template: &Template, names: &[String]) -> Result<Compiled, CompileError> {
    Compiled::new(template, |name| number(name, names))
        .map_err(|name| CompileError::UnknownVar { name })
}

/// The number of the value named `name`.
pub(super) fn number(name: &str, names: &[String]) -> Option<usize> {
    names.iter().position(|known| known == name)
}

/// Puts `payload` where `template` has a hole for it.
pub(super) fn fill_payload(template: &mut Template, payload: &[u8]) {
    let is_bytes = template.is_bytes();
    for piece in &mut template.0 {
        if let Piece::Payload { escape } = piece {
            let mut value = Vec::new();
            write_value(payload, *escape, &mut value);
            *piece = match is_bytes {
                true => Piece::Bytes(HexBytes(value)),
                false => Piece::Text(String::from_utf8_lossy(&value).into_owned()),
            };
        }
    }
}

fn write_value(value: &[u8], escape: Escape, out: &mut Vec<u8>) {
    match escape {
        Escape::Raw => out.extend_from_slice(value),
        Escape::Header => {
            out.extend(value.iter().filter(|byte| !matches!(byte, b'\r' | b'\n' | b'\0')));
        }
        Escape::Url => append_percent_encoded(value, out),
        Escape::Json => value.iter().for_each(|byte| write_json(*byte, &mut |byte| out.push(byte))),
        Escape::JsonTwice => {
            let mut twice = |byte| write_json(byte, &mut |byte| out.push(byte));
            value.iter().for_each(|byte| write_json(*byte, &mut twice));
        }
    }
}

/// Hands `byte` to `write` as it is written in a JSON string (RFC 8259 §7).
fn write_json(byte: u8, write: &mut impl FnMut(u8)) {
    let letter = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0..0x20 => {
            b"\\u00".iter().for_each(|byte| write(*byte));
            write(hex(byte >> 4));
            return write(hex(byte & 15));
        }
        _ => return write(byte),
    };
    write(b'\\');
    write(letter);
}

const fn hex(digit: u8) -> u8 {
    b"0123456789ABCDEF"[digit as usize]
}

/// The characters of `${random:N}`.
const ALPHABET: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// The characters of `${pad:N}`, repeated.
const PAD: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

const NANOS_IN_MILLI: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn var(name: &str, escape: Escape) -> Piece {
        Piece::Var { name: name.to_owned(), escape }
    }

    fn text(text: &str) -> Piece {
        Piece::Text(text.to_owned())
    }

    /// The bytes of a template for message 10000007 of connection 5 in room 1, due after 1.5 s; `v` is `value`.
    fn written(pieces: &[Piece], value: &[u8]) -> Vec<u8> {
        let template = Compiled::new(&Template(pieces.to_vec()), |name| (name == "v").then_some(0));
        let values = [value.into()];
        let member = Member { client: 5, room: 1, part: None };
        let filling =
            Filling { id: 10_000_007, now: Nanos(1_500_000_000), member, values: &values };
        let mut out = b"before ".to_vec();
        template.unwrap().write(filling, &mut Random::new(3), &mut out);
        out.split_off(b"before ".len())
    }

    #[test]
    fn holes_are_filled_byte_by_byte() {
        #[rustfmt::skip]
        let table: [(&[Piece], &[u8], &[u8]); _] = [
            (&[],                                                b"",       b""),
            (&[text("{\"id\":"), Piece::Id, text("}")],          b"",       b"{\"id\":10000007}"),
            (&[Piece::Now, text(" "), Piece::NowMs],             b"",       b"1500000000 1500"),
            (&[Piece::Client, text(" "), Piece::ClientModulo(2)], b"",      b"5 1"),
            (&[Piece::Room],                                     b"",       b"1"),
            (&[Piece::Header],                                   b"",       b"0500000007000000002f685900000000"),
            (&[Piece::Pad(40)],                                  b"",       b"abcdefghijklmnopqrstuvwxyz0123456789abcd"),
            (&[var("v", Escape::Raw)],                           b"\"\n\0", b"\"\n\0"),
            (&[var("v", Escape::Json)],                          b"a\"\\\n\r\t\x01\x7f\xc3\xa9", b"a\\\"\\\\\\n\\r\\t\\u0001\x7f\xc3\xa9"),
            (&[var("v", Escape::JsonTwice)],                     b"a\"\\\n", b"a\\\\\\\"\\\\\\\\\\\\n"),
            (&[var("v", Escape::Url)],                           b"a b&\xc3/~", b"a%20b%26%C3%2F~"),
            (&[var("v", Escape::Header)],                        b"a\r\nb: c\0", b"ab: c"),
        ];
        for (pieces, value, expected) in table {
            let written = written(pieces, value);
            assert_eq!(written.escape_ascii().to_string(), expected.escape_ascii().to_string());
        }
    }

    #[test]
    fn numbers_are_written_in_their_form_and_those_that_do_not_fit_are_named() {
        let template = "01 ${id:u32be} ${now:u64le} ${now_ms:i32le} ${client:u8} ${client % 2:u8} ${room_number:u16be} \
                        ${v:i16le} ff ${v} ${pad:2}";
        let template = Template::parse_bytes(template).unwrap();
        let compiled = Compiled::new(&template, |name| (name == "v").then_some(0)).unwrap();
        let filled = |client, value: &str| {
            let values = [value.as_bytes().into()];
            let member = Member { client, room: 0x102, part: None };
            let filling =
                Filling { id: 10_000_007, now: Nanos(1_500_000_000), member, values: &values };
            compiled.is_bytes(filling).map_err(|error| error.to_string())?;
            let mut out = Vec::new();
            compiled.write(filling, &mut Random::new(3), &mut out);
            Ok(out)
        };
        let expected =
            b"\x01\0\x98\x96\x87\0\x2f\x68\x59\0\0\0\0\xdc\x05\0\0\x05\x01\x01\x02\xfe\xff\xff-2ab";
        assert_eq!(filled(5, "-2"), Ok(expected.to_vec()));
        let of_client =
            "the value of `${client:u8}` is not a whole number from 0 to 255".to_owned();
        assert_eq!(filled(256, "1"), Err(of_client));
        for value in ["32768", "-32769", "", "1.0", "a", "\u{e9}"] {
            let of_value = "the value of `${v:i16le}` is not a whole number from -32768 to 32767";
            assert_eq!(filled(5, value), Err(of_value.to_owned()), "{value}");
        }
    }

    #[test]
    fn escaped_values_read_back_once_and_twice() {
        let mut random = Random::new(1);
        for _ in 0..500 {
            let value: String = (0..random.below(20))
                .map(|_| char::from_u32(random.next_u32() % 0x100).expect("below the surrogates"))
                .collect();
            let quoted = |escape| {
                let pieces = [text("\""), var("v", escape), text("\"")];
                serde_json::from_slice::<String>(&written(&pieces, value.as_bytes())).unwrap()
            };
            assert_eq!(quoted(Escape::Json), value);
            let inside = quoted(Escape::JsonTwice);
            assert_eq!(serde_json::from_str::<String>(&format!("\"{inside}\"")).unwrap(), value);
        }
    }

    #[test]
    fn random_characters_are_drawn_anew_and_what_never_changes_is_one_piece() {
        let drawn = written(&[Piece::Random(20), text(" "), Piece::Random(20)], b"");
        assert!(drawn.iter().all(|byte| *byte == b' ' || ALPHABET.contains(byte)));
        assert_eq!(drawn.len(), 41);
        assert_ne!(drawn[..20], drawn[21..]);
        let constant = Template(vec![text("a"), Piece::Pad(2), text("b")]);
        let constant = Compiled::new(&constant, |_| None).unwrap();
        assert_eq!(constant.slots, [Slot::Text(b"aabb"[..].into())]);
        assert!(constant.is_constant());
    }

    #[test]
    fn a_payload_is_escaped_as_its_place_needs_it() {
        #[rustfmt::skip]
        let table = [
            (r#"{"a":"${payload}"}"#,            r#"{"a":"x\"\n\\"}"#),
            (r#"{"a":"{\"b\":\"${payload}\"}"}"#, r#"{"a":"{\"b\":\"x\\\"\\n\\\\\"}"}"#),
            ("say ${payload}",                   "say x\"\n\\"),
        ];
        for (written, expected) in table {
            let mut template =
                Template::parse(written, spec::conversation::Medium::Message).unwrap();
            fill_payload(&mut template, b"x\"\n\\");
            assert_eq!(Compiled::new(&template, |_| None), Ok(Compiled::text(expected)));
        }
    }

    #[test]
    fn a_value_that_nobody_knows_is_named() {
        let template = Template(vec![var("w", Escape::Raw)]);
        assert_eq!(Compiled::new(&template, |_| None), Err("w".to_owned()));
    }
}
