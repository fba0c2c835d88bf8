//! The types of fields: their forms as bytes and as JSON.

use super::TEXT_LEN_MAX;
use super::value;
use crate::excerpt::cut;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Unexpected};
use std::borrow::Cow;
use std::marker::PhantomData;

/// A type that a field of a packet can have.
pub(super) trait Field<'a>: Sized + Default {
    /// Its type, for definitions and errors.
    const TYPE: Type;

    /// The least length of a value in bytes.
    const LEN_MIN: usize;

    /// Appends the value's bytes.
    fn encode(&self, out: &mut Vec<u8>);

    /// Takes a value off the front.
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError>;

    /// Appends the value as JSON.
    fn write_json(&self, out: &mut Vec<u8>);

    /// The type's name in errors about JSON.
    const NAME: &'static str = Self::TYPE.name();

    /// Takes a boolean of JSON. Like the methods below, it refuses the value unless the type overrides it.
    fn read_bool<E: Error>(value: bool, wanted: &Seed<Self>) -> Result<Self, E> {
        Err(E::invalid_type(Unexpected::Bool(value), wanted))
    }

    /// Takes an integer of JSON.
    fn read_integer<E: Error>(value: i128, wanted: &Seed<Self>) -> Result<Self, E> {
        Err(E::invalid_type(unexpected(value), wanted))
    }

    /// Takes a text of JSON.
    fn read_text<E: Error>(text: Cow<'a, str>, wanted: &Seed<Self>) -> Result<Self, E> {
        Err(E::invalid_type(Unexpected::Str(&text), wanted))
    }

    /// Takes an array of JSON.
    fn read_list<A: SeqAccess<'a>>(_list: A, wanted: &Seed<Self>) -> Result<Self, A::Error> {
        Err(A::Error::invalid_type(Unexpected::Seq, wanted))
    }

    /// Takes an object of JSON.
    fn read_object<A: MapAccess<'a>>(_object: A, wanted: &Seed<Self>) -> Result<Self, A::Error> {
        Err(A::Error::invalid_type(Unexpected::Map, wanted))
    }
}

/// A type that has fields: a packet.
pub(super) trait Struct<'a>: Field<'a> {
    /// Its fields in wire order.
    const FIELDS: &'static [(&'static str, Type)];
}

/// The names of types.
#[derive(Clone, Copy, Debug)]
pub(super) enum Type {
    Bool,
    Bytes,
    Enum(&'static str),
    Int16,
    Int32,
    Int8,
    List(&'static Self),
    String,
    Struct(&'static str),
}

impl Type {
    /// Its name in errors.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Bytes => "bytes in Base64",
            Self::Enum(name) | Self::Struct(name) => name,
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int8 => "int8",
            Self::List(_) => "a list",
            Self::String => "string",
        }
    }
}

/// Reads the value of a property as `T`; null is the same as empty or 0.
pub(super) struct Seed<T> {
    property: &'static str,
    phantom: PhantomData<T>,
}

impl<T> Seed<T> {
    pub(super) fn new(property: &'static str) -> Self {
        Self { property, phantom: PhantomData }
    }

    /// The name of the property, for errors.
    pub(super) fn property(&self) -> &'static str {
        self.property
    }
}

/// Bytes that are yet to be read.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    left: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes }
    }

    /// Takes the next `len` bytes.
    #[inline]
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, left) = self
            .left
            .split_at_checked(len)
            .ok_or(DecodeError::Cut { needed: len, left: self.left.len() })?;
        self.left = left;
        Ok(taken)
    }

    /// Takes the next `N` bytes.
    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, left) = self
            .left
            .split_first_chunk()
            .ok_or(DecodeError::Cut { needed: N, left: self.left.len() })?;
        self.left = left;
        Ok(*taken)
    }

    /// Takes the length of a list whose elements have at least `element_len_min` bytes each. A length that the
    /// remaining bytes cannot hold is an error, so that no memory is set aside for it.
    pub(super) fn list_len(&mut self, element_len_min: usize) -> Result<usize, DecodeError> {
        let len = i32::from_be_bytes(self.array()?);
        let left = self.left.len();
        usize::try_from(len)
            .ok()
            .filter(|len| *len <= left / element_len_min.max(1))
            .ok_or(DecodeError::ListLen { len, left })
    }

    /// Takes a boolean.
    #[inline]
    pub(super) fn bool(&mut self) -> Result<bool, DecodeError> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [value] => Err(DecodeError::NotBool { value }),
        }
    }

    /// Takes text, which follows its length.
    #[inline]
    pub(super) fn text(&mut self) -> Result<&'a str, DecodeError> {
        let len = u16::from_be_bytes(self.array()?);
        let bytes = self.take(usize::from(len))?;
        simdutf8::basic::from_utf8(bytes).map_err(|_| DecodeError::NotUtf8)
    }

    /// Checks that all bytes were read.
    pub(super) fn end(&self) -> Result<(), DecodeError> {
        match self.left.len() {
            0 => Ok(()),
            len => Err(DecodeError::Trailing { len }),
        }
    }
}

/// Appends text after its length; text longer than [`TEXT_LEN_MAX`] is cut off between two characters.
pub(super) fn encode_text(text: &str, out: &mut Vec<u8>) {
    let bytes = cut(text, TEXT_LEN_MAX).as_bytes();
    let len = u16::try_from(bytes.len()).expect("it was cut to what has a length");
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Appends the length of a list; returns the elements that this length covers.
pub(super) fn encode_list_len<'e, T>(elements: &'e [T], out: &mut Vec<u8>) -> &'e [T] {
    let elements = &elements[..elements.len().min(LIST_LEN_MAX)];
    let len = u32::try_from(elements.len()).expect("it was cut to what has a length");
    out.extend_from_slice(&len.to_be_bytes());
    elements
}

/// The longest list: its length field is a signed 32-bit number.
const LIST_LEN_MAX: usize = i32::MAX as usize;

macro_rules! integers {
    ($($type:ident is $name:ident, $bytes:literal;)*) => { $(
        impl<'a> Field<'a> for $type {
            const TYPE: Type = Type::$name;
            const LEN_MIN: usize = $bytes;

            #[inline]
            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }

            #[inline]
            fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
                Ok(Self::from_be_bytes(reader.array()?))
            }

            fn write_json(&self, out: &mut Vec<u8>) {
                value::write_integer(i64::from(*self), out);
            }

            fn read_integer<E: Error>(value: i128, wanted: &Seed<Self>) -> Result<Self, E> {
                value.try_into().map_err(|_| E::invalid_value(unexpected(value), wanted))
            }
        }
    )* };
}

integers! {
    i8 is Int8, 1;
    i16 is Int16, 2;
    i32 is Int32, 4;
}

impl<'a> Field<'a> for bool {
    const TYPE: Type = Type::Bool;
    const LEN_MIN: usize = 1;

    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    #[inline]
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        reader.bool()
    }

    fn write_json(&self, out: &mut Vec<u8>) {
        value::write_bool(*self, out);
    }

    fn read_bool<E: Error>(value: bool, _: &Seed<Self>) -> Result<Self, E> {
        Ok(value)
    }
}

impl<'a> Field<'a> for Cow<'a, str> {
    const TYPE: Type = Type::String;
    const LEN_MIN: usize = 2;

    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        encode_text(self, out);
    }

    #[inline]
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        reader.text().map(Cow::Borrowed)
    }

    fn write_json(&self, out: &mut Vec<u8>) {
        value::write_text(self, out);
    }

    fn read_text<E: Error>(text: Self, wanted: &Seed<Self>) -> Result<Self, E> {
        if text.len() <= TEXT_LEN_MAX {
            return Ok(text);
        }
        let (len, property) = (text.len(), wanted.property());
        Err(E::custom(format_args!(
            "text of {len} bytes in property `{property}`, limit is {TEXT_LEN_MAX}"
        )))
    }
}

impl<'a> Field<'a> for Cow<'a, [u8]> {
    const TYPE: Type = Type::Bytes;
    const LEN_MIN: usize = 4;

    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        let bytes = encode_list_len(self, out);
        out.extend_from_slice(bytes);
    }

    #[inline]
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let len = reader.list_len(1)?;
        reader.take(len).map(Cow::Borrowed)
    }

    fn write_json(&self, out: &mut Vec<u8>) {
        value::write_base64(self, out);
    }

    fn read_text<E: Error>(text: Cow<'a, str>, wanted: &Seed<Self>) -> Result<Self, E> {
        let bytes = value::decode_base64(text.as_bytes()).map_err(|error| {
            E::custom(format_args!("bad Base64 in property `{}`: {error}", wanted.property()))
        });
        bytes.map(Cow::Owned)
    }

    /// Takes an empty array, which means no bytes.
    fn read_list<A: SeqAccess<'a>>(mut list: A, wanted: &Seed<Self>) -> Result<Self, A::Error> {
        match list.next_element::<IgnoredAny>()? {
            None => Ok(Cow::Borrowed(&[])),
            Some(_) => Err(A::Error::invalid_type(Unexpected::Seq, wanted)),
        }
    }
}

impl<'a, T: Field<'a>> Field<'a> for Vec<T> {
    const TYPE: Type = Type::List(&T::TYPE);
    const LEN_MIN: usize = 4;

    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        for element in encode_list_len(self, out) {
            element.encode(out);
        }
    }

    #[inline]
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let len = reader.list_len(T::LEN_MIN)?;
        let mut list = Self::with_capacity(len);
        for _ in 0..len {
            list.push(T::decode(reader)?);
        }
        Ok(list)
    }

    fn write_json(&self, out: &mut Vec<u8>) {
        value::write_list(self, out, T::write_json);
    }

    fn read_list<A: SeqAccess<'a>>(mut elements: A, wanted: &Seed<Self>) -> Result<Self, A::Error> {
        let mut list = Self::new();
        while let Some(element) = elements.next_element_seed(Seed::new(wanted.property()))? {
            list.push(element);
        }
        Ok(list)
    }
}

/// An integer of JSON in the words of an error.
pub(super) fn unexpected(value: i128) -> Unexpected<'static> {
    match i64::try_from(value) {
        Ok(value) => Unexpected::Signed(value),
        Err(_) => Unexpected::Unsigned(u64::try_from(value).unwrap_or(u64::MAX)),
    }
}

/// The reasons why some bytes are not a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end inside a field.
    #[error("a field needs {needed} bytes and {left} are left")]
    Cut {
        /// The bytes that the field needs.
        needed: usize,
        /// The bytes that are left.
        left: usize,
    },
    /// A list is longer than the bytes that are left, or its length is negative.
    #[error("list of {len} elements, and {left} bytes are left")]
    ListLen {
        /// The length it announced.
        len: i32,
        /// The bytes that are left for it.
        left: usize,
    },
    /// There is no class id.
    #[error("no class id")]
    NoClassId,
    /// A boolean is neither 0 nor 1.
    #[error("boolean is {value}, expected 0 or 1")]
    NotBool {
        /// The value.
        value: u8,
    },
    /// Text is not UTF-8.
    #[error("text is not UTF-8")]
    NotUtf8,
    /// Structs are nested too deeply for a definition.
    #[error("structs nested {max} deep")]
    TooDeep {
        /// The limit.
        max: usize,
    },
    /// Bytes are left after the last field.
    #[error("{len} bytes after the last field")]
    Trailing {
        /// The number of bytes.
        len: usize,
    },
    /// No packet has this class id.
    #[error("unknown class id {class_id}")]
    UnknownClass {
        /// The class id.
        class_id: u8,
    },
    /// An enum has no such value.
    #[error("unknown ordinal {ordinal}, the enum has {count} values")]
    UnknownOrdinal {
        /// The ordinal.
        ordinal: u8,
        /// The number of values that the enum has.
        count: usize,
    },
}
