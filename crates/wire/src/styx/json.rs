//! Packets as JSON: an object of the fields in order, with `classId` last, in nested structs too.
//!
//! Enums are ordinals, bytes are Base64. Reading is as lenient as the original server: properties may be in any order,
//! unknown ones are ignored, absent ones and null are the same as empty or 0, and the last of several with one name
//! counts.

use super::field::{Field, Seed, Struct};
use super::value::write_integer;
use crate::excerpt::cut;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The packets of one text message: one object, or an array of objects. Does not parse the objects.
///
/// # Errors
///
/// [`JsonError::Syntax`] if an array is not well-formed.
pub fn json_packets(text: &[u8]) -> Result<impl Iterator<Item = &[u8]>, JsonError> {
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    let (one, several) = if first == Some(&b'[') {
        (None, serde_json::from_slice::<Vec<&RawValue>>(text)?)
    } else {
        (Some(text), Vec::new())
    };
    Ok(one.into_iter().chain(several.into_iter().map(|packet| packet.get().as_bytes())))
}

/// The class id of a packet.
pub(super) fn class_id(text: &[u8]) -> Result<u8, JsonError> {
    if let Some(class_id) = class_id_at_the_end(text) {
        return Ok(class_id);
    }
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let class_id = deserializer.deserialize_map(ClassId)?;
    deserializer.end()?;
    class_id.ok_or(JsonError::NoClassId)
}

/// The class id if it is the last property, without white space: then nothing before it has to be read. Text that is
/// not JSON may seem to have one; reading the packet detects that.
fn class_id_at_the_end(text: &[u8]) -> Option<u8> {
    let text = text.strip_suffix(b"}")?;
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (before, digits) = text.split_at(text.len() - digits);
    let before = before.strip_suffix(b"\"classId\":")?;
    if !matches!(before.last(), Some(b',' | b'{')) || (digits.len() > 1 && digits[0] == b'0') {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Reads a packet whose class id is known.
pub(super) fn read<'a, T: Struct<'a>>(text: &'a [u8]) -> Result<T, JsonError> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let packet = Seed::<T>::new("").deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(packet)
}

impl<'de, T: Field<'de>> DeserializeSeed<'de> for Seed<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Field<'de>> Visitor<'de> for Seed<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.property() {
            "" => f.write_str(T::NAME),
            property => write!(f, "{} for property `{property}`", T::NAME),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<T, E> {
        T::read_bool(value, &self)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        T::read_integer(value.into(), &self)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<T, E> {
        T::read_integer(value.into(), &self)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::read_text(Cow::Owned(text.to_owned()), &self)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<T, E> {
        T::read_text(Cow::Borrowed(text), &self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::read_list(list, &self)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<T, A::Error> {
        T::read_object(object, &self)
    }
}

/// Reads the name of a property, without a copy if it has no escapes.
pub(super) struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a property")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// Reads the class id alone.
struct ClassId;

impl<'de> Visitor<'de> for ClassId {
    type Value = Option<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a packet")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<u8>, A::Error> {
        let mut class_id = None;
        while let Some(name) = map.next_key_seed(Key)? {
            if name == CLASS_ID {
                class_id = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(class_id)
    }
}

/// Appends the properties of a struct, each after its name.
pub(super) struct ObjectWriter<'o> {
    out: &'o mut Vec<u8>,
}

impl<'o> ObjectWriter<'o> {
    pub(super) fn new(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out }
    }

    /// Begins the property `name` and returns the buffer for its value. Names contain nothing to escape.
    pub(super) fn property(&mut self, name: &str) -> &mut Vec<u8> {
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    /// Ends a value.
    pub(super) fn next(&mut self) {
        self.out.push(b',');
    }

    /// Ends the object.
    pub(super) fn end(mut self, class_id: u8) {
        write_integer(i64::from(class_id), self.property(CLASS_ID));
        self.out.push(b'}');
    }
}

/// The reasons why some text is not a packet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// There is no property `classId`.
    #[error("no property `{CLASS_ID}`")]
    NoClassId,
    /// The text is not JSON.
    #[error("not JSON: {message}")]
    Syntax {
        /// The fault and its place.
        message: Box<str>,
    },
    /// No packet has this class id.
    #[error("unknown class id {class_id}")]
    UnknownClass {
        /// The class id.
        class_id: u8,
    },
    /// A property has a value that its type does not allow.
    #[error("{message}")]
    Value {
        /// The property, the expected type, the value that was found, and its place.
        message: Box<str>,
    },
}

impl From<serde_json::Error> for JsonError {
    fn from(error: serde_json::Error) -> Self {
        let message = cut(&error.to_string(), MESSAGE_LEN_MAX).into();
        match error.classify() {
            Category::Data => Self::Value { message },
            Category::Eof | Category::Io | Category::Syntax => Self::Syntax { message },
        }
    }
}

/// The name of the property that holds the class id.
pub(super) const CLASS_ID: &str = "classId";

/// Longest message of an error: a message may repeat what the peer sent.
const MESSAGE_LEN_MAX: usize = 256;
