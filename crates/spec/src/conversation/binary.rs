//! Binary messages: whole numbers and places in them, and bytes written as hexadecimal digits.

use crate::suggestions::expected;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ByteOrder {
    /// The highest first.
    #[default]
    Big,
    /// The lowest first.
    Little,
}

/// The form of a whole number in bytes, e.g. `u32le`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    len: u8,
    order: ByteOrder,
    is_signed: bool,
}

impl Number {
    /// Its size in bytes.
    pub const fn size(self) -> usize {
        self.len as usize
    }

    /// The smallest value that fits.
    pub const fn min(self) -> i128 {
        if self.is_signed { -(1 << (8 * self.len - 1)) } else { 0 }
    }

    /// The largest value that fits.
    pub const fn max(self) -> i128 {
        (1 << (8 * self.len - self.is_signed as u8)) - 1
    }

    /// True if `value` fits.
    pub const fn holds(self, value: i128) -> bool {
        self.min() <= value && value <= self.max()
    }

    /// Appends `value`; only its lowest bytes, if it does not fit.
    #[inline]
    pub fn write(self, value: i128, out: &mut Vec<u8>) {
        let bytes = value.to_le_bytes();
        let bytes = &bytes[..self.size()];
        match self.order {
            ByteOrder::Little => out.extend_from_slice(bytes),
            ByteOrder::Big => out.extend(bytes.iter().rev()),
        }
    }

    /// The number at byte `at`; `None` if the bytes end before it does.
    #[inline]
    pub fn read(self, bytes: &[u8], at: u32) -> Option<i128> {
        let bytes = bytes.get(at as usize..)?.get(..self.size())?;
        let fold = |number: i128, byte: &u8| number << 8 | i128::from(*byte);
        let number = match self.order {
            ByteOrder::Little => bytes.iter().rev().fold(0, fold),
            ByteOrder::Big => bytes.iter().fold(0, fold),
        };
        let is_negative = number > self.max();
        Some(if is_negative { number - (1 << (8 * self.len)) } else { number })
    }
}

/// The names of all forms.
const FORMS: [(&str, Number); 14] = [
    ("u8", of(1, ByteOrder::Little, false)),
    ("u16le", of(2, ByteOrder::Little, false)),
    ("u16be", of(2, ByteOrder::Big, false)),
    ("u32le", of(4, ByteOrder::Little, false)),
    ("u32be", of(4, ByteOrder::Big, false)),
    ("u64le", of(8, ByteOrder::Little, false)),
    ("u64be", of(8, ByteOrder::Big, false)),
    ("i8", of(1, ByteOrder::Little, true)),
    ("i16le", of(2, ByteOrder::Little, true)),
    ("i16be", of(2, ByteOrder::Big, true)),
    ("i32le", of(4, ByteOrder::Little, true)),
    ("i32be", of(4, ByteOrder::Big, true)),
    ("i64le", of(8, ByteOrder::Little, true)),
    ("i64be", of(8, ByteOrder::Big, true)),
];

const fn of(len: u8, order: ByteOrder, is_signed: bool) -> Number {
    Number { len, order, is_signed }
}

impl FromStr for Number {
    type Err = BytesError;

    fn from_str(text: &str) -> Result<Self, BytesError> {
        let names = FORMS.into_iter().map(|(name, _)| name);
        let form = FORMS.into_iter().find_map(|(name, form)| (name == text).then_some(form));
        form.ok_or_else(|| {
            let hint = match names.clone().any(|name| name.strip_suffix("le") == Some(text)) {
                true => format!("; say the order of its bytes, `{text}le` or `{text}be`"),
                false => expected(text, names),
            };
            BytesError(format!("`{text}` is not a number format{hint}"))
        })
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = FORMS.iter().find_map(|(name, form)| (form == self).then_some(name));
        f.write_str(name.expect("FORMS has all that there are"))
    }
}

crate::text::as_text!(Number, "the form of a whole number in bytes", "u32le");

/// A place in bytes, starting at byte `at`, counted from 0. It is written `@4:u32le`, `@4:16`, or `@4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// The first byte.
    pub at: u32,
    /// The bytes that belong to it, from the first one on.
    pub extent: Extent,
}

/// The bytes that belong to a place in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The bytes of a whole number.
    Number(Number),
    /// This many.
    Bytes(u32),
    /// All up to the end of the message.
    Rest,
}

impl Offset {
    /// The number at this place; `None` if it is not the place of a number, or the message is too short.
    #[inline]
    pub fn number(self, message: &[u8]) -> Option<i128> {
        match self.extent {
            Extent::Number(number) => number.read(message, self.at),
            Extent::Bytes(_) | Extent::Rest => None,
        }
    }

    /// The bytes at this place; `None` if the message is too short.
    pub fn bytes(self, message: &[u8]) -> Option<&[u8]> {
        let rest = message.get(self.at as usize..)?;
        match self.extent {
            Extent::Number(number) => rest.get(..number.size()),
            Extent::Bytes(len) => rest.get(..len as usize),
            Extent::Rest => Some(rest),
        }
    }
}

impl FromStr for Offset {
    type Err = BytesError;

    fn from_str(text: &str) -> Result<Self, BytesError> {
        let place = text.strip_prefix('@').unwrap_or_default();
        let (at, extent) = match place.split_once(':') {
            Some((at, extent)) => (at, Some(extent)),
            None => (place, None),
        };
        let whole = |text: &str| {
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| is_number)
        };
        let at = whole(at).ok_or_else(|| {
            BytesError(format!(
                "`{text}` is not a place in bytes; write an offset from 0, as in `@4:u32le`, `@4:16` (16 bytes) \
                 or `@4` (all from there on)"
            ))
        })?;
        let extent = match (extent, extent.and_then(whole)) {
            (None, _) => Extent::Rest,
            (Some(_), Some(0)) => {
                return Err(BytesError(format!("`{text}` has no bytes; name 1 or more")));
            }
            (Some(_), Some(len)) => Extent::Bytes(len),
            (Some(form), None) => Extent::Number(form.parse()?),
        };
        Ok(Self { at, extent })
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.at)?;
        match self.extent {
            Extent::Number(number) => write!(f, ":{number}"),
            Extent::Bytes(len) => write!(f, ":{len}"),
            Extent::Rest => Ok(()),
        }
    }
}

crate::text::as_text!(Offset, "a place in bytes", "@4:u32le");

/// Bytes, written as two hexadecimal digits each: `01 ff`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HexBytes(pub Vec<u8>);

impl FromStr for HexBytes {
    type Err = BytesError;

    fn from_str(text: &str) -> Result<Self, BytesError> {
        let mut bytes = Vec::new();
        for word in text.split_ascii_whitespace() {
            let is_hex = word.bytes().all(|digit| digit.is_ascii_hexdigit());
            if !is_hex || word.len() % 2 != 0 {
                return Err(BytesError(format!(
                    "`{word}` is not bytes: they have two hexadecimal digits each, as in `01 ff` or `01ff`"
                )));
            }
            let byte = |at: usize| u8::from_str_radix(&word[at..at + 2], 16);
            bytes.extend((0..word.len()).step_by(2).filter_map(|at| byte(at).ok()));
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for HexBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            write!(f, "{}{byte:02x}", if index == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

crate::text::as_text!(HexBytes, "bytes in hexadecimal digits", "01 ff");

/// A text that is not a place in bytes, not the form of a number, or not bytes in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BytesError(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_and_read_in_their_order_up_to_their_bounds() {
        #[rustfmt::skip]
        let table: [(&str, i128, &[u8]); _] = [
            ("u8",    0xfe,        b"\xfe"),
            ("i8",    -1,          b"\xff"),
            ("u16le", 0x0102,      b"\x02\x01"),
            ("u16be", 0x0102,      b"\x01\x02"),
            ("i16be", -2,          b"\xff\xfe"),
            ("u32le", 10_000_007,  b"\x87\x96\x98\0"),
            ("u32be", 10_000_007,  b"\0\x98\x96\x87"),
            ("i32le", -10,         b"\xf6\xff\xff\xff"),
            ("u64le", 1,           b"\x01\0\0\0\0\0\0\0"),
            ("i64be", -1,          b"\xff\xff\xff\xff\xff\xff\xff\xff"),
        ];
        for (name, value, bytes) in table {
            let number: Number = name.parse().unwrap();
            assert_eq!(number.to_string(), name);
            let mut written = b"ab".to_vec();
            number.write(value, &mut written);
            assert_eq!(written[2..], *bytes, "{name}");
            assert_eq!(number.read(&written, 2), Some(value), "{name}");
            assert_eq!(number.read(&written, 3), None, "{name}: one byte is missing");
            assert_eq!(number.read(&written, u32::MAX), None);
        }
        for (_, number) in FORMS {
            for value in [number.min(), number.max(), 0, 1] {
                let mut written = Vec::new();
                number.write(value, &mut written);
                assert_eq!(number.read(&written, 0), Some(value), "{number} {value}");
            }
            assert!(!number.holds(number.max() + 1) && !number.holds(number.min() - 1));
        }
        let bounds = |name: &str| name.parse().map(|number: Number| (number.min(), number.max()));
        assert_eq!(bounds("i16le"), Ok((-32768, 32767)));
        assert_eq!(bounds("u64be"), Ok((0, u64::MAX.into())));
    }

    #[test]
    fn places_and_bytes_read_and_are_written_alike() {
        for (text, expected) in
            [("@0:u8", Some(&b"a"[..])), ("@1:2", Some(b"bc")), ("@3", Some(b"")), ("@4", None)]
        {
            let place: Offset = text.parse().unwrap();
            assert_eq!(place.to_string(), text);
            assert_eq!(place.bytes(b"abc"), expected, "{text}");
        }
        let bytes: HexBytes = " 01ff\n\t0A ".parse().unwrap();
        assert_eq!(
            (bytes.0.as_slice(), bytes.to_string()),
            (&b"\x01\xff\n"[..], "01 ff 0a".into())
        );
    }

    #[test]
    fn what_is_none_of_them_is_refused_with_what_is_expected() {
        #[rustfmt::skip]
        let places = [
            ("@",        "`@` is not a place in bytes"),
            ("4:u8",     "`4:u8` is not a place in bytes"),
            ("@-4:u8",   "`@-4:u8` is not a place in bytes"),
            ("@+4",      "`@+4` is not a place in bytes"),
            ("@4294967296", "is not a place in bytes; write an offset from 0"),
            ("@4:0",     "`@4:0` has no bytes"),
            ("@4:u32",   "`u32` is not a number format; say the order of its bytes, `u32le` or `u32be`"),
            ("@4:u32el", "did you mean `u32"),
            ("@4:",      "`` is not a number format; expected u8, u16le"),
        ];
        for (text, message) in places {
            let error = text.parse::<Offset>().unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
        for text in ["0", "01 2", "0g", "0x01", "+1", "é"] {
            let error = text.parse::<HexBytes>().unwrap_err().to_string();
            assert!(error.contains("two hexadecimal digits each"), "{text}: {error}");
        }
    }
}
