//! Packing by a definition: JSON to the payload of a frame, and back.
//!
//! The rules are those of [`super::Packet`], and its packets get the same bytes.

use super::TEXT_LEN_MAX;
use super::definition::{Definition, Integer, Kind};
use super::field::{DecodeError, Reader, encode_list_len, encode_text};
use super::json::{CLASS_ID, JsonError, ObjectWriter};
use super::value;
use crate::excerpt::cut;
use serde_json::{Map, Value};
use std::fmt::Write;

impl Definition {
    /// Packs one JSON object into the payload of a frame: class id and fields.
    ///
    /// # Errors
    ///
    /// The first fault; for a value of the wrong type, its place and the right type.
    pub fn pack_json(&self, text: &[u8]) -> Result<Vec<u8>, PackError> {
        let value = serde_json::from_slice(text).map_err(JsonError::from)?;
        let Value::Object(object) = &value else {
            return Err(JsonError::Value { message: "a packet is an object".into() }.into());
        };
        let class_id = object.get(CLASS_ID).ok_or(JsonError::NoClassId)?;
        let class_id: u8 = serde::Deserialize::deserialize(class_id).map_err(JsonError::from)?;
        let index = self.by_class_id.get(&class_id).ok_or(JsonError::UnknownClass { class_id })?;
        let mut packer =
            Packer { definition: self, out: vec![class_id], path: String::new(), depth: 0 };
        packer.object(*index, object)?;
        Ok(packer.out)
    }

    /// Unpacks the payload of a frame into one JSON object, `classId` last.
    ///
    /// # Errors
    ///
    /// The first fault; leftover bytes are a fault too.
    pub fn unpack_json(&self, payload: &[u8]) -> Result<String, DecodeError> {
        let (class_id, fields) = payload.split_first().ok_or(DecodeError::NoClassId)?;
        let index = self
            .by_class_id
            .get(class_id)
            .ok_or(DecodeError::UnknownClass { class_id: *class_id })?;
        let mut reader = Reader::new(fields);
        let mut out = Vec::new();
        self.unpack(&Kind::Struct(*index), &mut reader, &mut out, 0)?;
        reader.end()?;
        Ok(String::from_utf8(out).expect("JSON of text that is UTF-8"))
    }

    /// Unpacks one value, which is nested `depth` deep.
    fn unpack(
        &self,
        kind: &Kind,
        reader: &mut Reader<'_>,
        out: &mut Vec<u8>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        if depth > DEPTH_MAX {
            return Err(DecodeError::TooDeep { max: DEPTH_MAX });
        }
        match kind {
            Kind::Bool => value::write_bool(reader.bool()?, out),
            Kind::Bytes => {
                let len = reader.list_len(1)?;
                value::write_base64(reader.take(len)?, out);
            }
            Kind::Enum(index) => {
                let [ordinal] = reader.array()?;
                let count = self.enums[*index].values.len();
                if usize::from(ordinal) >= count {
                    return Err(DecodeError::UnknownOrdinal { ordinal, count });
                }
                value::write_integer(i64::from(ordinal), out);
            }
            Kind::Integer(integer) => {
                let value = integer.decode(reader.take(integer.len)?);
                value::write_integer(value, out);
            }
            Kind::List(element) => {
                out.push(b'[');
                for index in 0..reader.list_len(element.len_min(&self.structs))? {
                    if index > 0 {
                        out.push(b',');
                    }
                    self.unpack(element, reader, out, depth + 1)?;
                }
                out.push(b']');
            }
            Kind::String => value::write_text(reader.text()?, out),
            Kind::Struct(index) => {
                let of = &self.structs[*index];
                let mut object = ObjectWriter::new(out);
                for (name, kind) in &of.fields {
                    self.unpack(kind, reader, object.property(name), depth + 1)?;
                    object.next();
                }
                object.end(of.class_id);
            }
        }
        Ok(())
    }
}

impl Integer {
    /// The value of `bytes`, whose number is `len`.
    fn decode(self, bytes: &[u8]) -> i64 {
        let negative = self.signed && bytes.first().is_some_and(|byte| *byte >= 0x80);
        let start = if negative { -1 } else { 0 };
        bytes.iter().fold(start, |value, byte| value << 8 | i64::from(*byte))
    }

    /// The big-endian bytes of `value`, only the last `len` of which matter; `None` if the value is out of range.
    fn encode(self, value: i64) -> Option<[u8; 8]> {
        let bytes = value.to_be_bytes();
        (self.decode(&bytes[8 - self.len..]) == value).then_some(bytes)
    }
}

/// Packs one packet.
struct Packer<'d> {
    definition: &'d Definition,
    out: Vec<u8>,
    /// The place of the value that is being packed, e.g. `snapshots[2].name`.
    path: String,
    depth: usize,
}

impl Packer<'_> {
    /// Packs the fields of a struct.
    fn object(&mut self, index: usize, object: &Map<String, Value>) -> Result<(), PackError> {
        let definition = self.definition;
        for (name, kind) in &definition.structs[index].fields {
            let len = self.path.len();
            if len > 0 {
                self.path.push('.');
            }
            self.path.push_str(name);
            self.value(kind, object.get(name).unwrap_or(&Value::Null))?;
            self.path.truncate(len);
        }
        Ok(())
    }

    /// Packs one value; null is empty or 0.
    fn value(&mut self, kind: &Kind, value: &Value) -> Result<(), PackError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(PackError::TooDeep { max: DEPTH_MAX });
        }
        match (kind, value) {
            (kind, Value::Null) => self.zeros(kind.len_min(&self.definition.structs)),
            (Kind::Bool, Value::Bool(value)) => self.out.push(u8::from(*value)),
            (Kind::Bytes, Value::Array(list)) if list.is_empty() => self.zeros(4),
            (Kind::Bytes, Value::String(text)) => self.bytes(text)?,
            (Kind::Enum(index), Value::Number(number)) => {
                let count = self.definition.enums[*index].values.len();
                match number.as_u64().and_then(|ordinal| u8::try_from(ordinal).ok()) {
                    Some(ordinal) if usize::from(ordinal) < count => self.out.push(ordinal),
                    _ => return Err(self.wrong(kind, value)),
                }
            }
            (Kind::Integer(integer), Value::Number(number)) => {
                let bytes = number.as_i64().and_then(|number| integer.encode(number));
                let bytes = bytes.ok_or_else(|| self.wrong(kind, value))?;
                self.out.extend_from_slice(&bytes[8 - integer.len..]);
            }
            (Kind::List(element), Value::Array(list)) => self.list(element, list)?,
            (Kind::String, Value::String(text)) if text.len() <= TEXT_LEN_MAX => {
                encode_text(text, &mut self.out);
            }
            (Kind::Struct(index), Value::Object(object)) => self.object(*index, object)?,
            _ => return Err(self.wrong(kind, value)),
        }
        self.depth -= 1;
        Ok(())
    }

    fn list(&mut self, element: &Kind, list: &[Value]) -> Result<(), PackError> {
        let len = self.path.len();
        for (index, value) in encode_list_len(list, &mut self.out).iter().enumerate() {
            write!(self.path, "[{index}]").expect("a string takes all that is written");
            self.value(element, value)?;
            self.path.truncate(len);
        }
        Ok(())
    }

    fn bytes(&mut self, text: &str) -> Result<(), PackError> {
        let bytes = value::decode_base64(text.as_bytes())
            .map_err(|error| PackError::Base64 { path: self.path.clone(), error })?;
        let bytes = encode_list_len(&bytes, &mut self.out);
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    /// Appends `count` zeros, the bytes of an empty or 0 value of every type.
    fn zeros(&mut self, count: usize) {
        self.out.resize(self.out.len() + count, 0);
    }

    /// The error for a value at the current path that is not of this type.
    fn wrong(&self, kind: &Kind, value: &Value) -> PackError {
        let mut found = value.to_string();
        found.truncate(cut(&found, FOUND_LEN_MAX).len());
        let expected = self.definition.type_name(kind);
        PackError::Value { path: self.path.clone(), expected, found }
    }
}

/// The reasons why some JSON cannot be packed by a definition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// Bytes are not Base64.
    #[error("`{path}` is bad Base64: {error}")]
    Base64 {
        /// The place of the value.
        path: String,
        /// The fault.
        error: base64::DecodeError,
    },
    /// The text is not a packet.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// Structs are nested too deeply.
    #[error("structs nested {max} deep")]
    TooDeep {
        /// The limit.
        max: usize,
    },
    /// A value has the wrong type, or is out of its range.
    #[error("`{path}` is {found}, expected {expected}")]
    Value {
        /// The place of the value, e.g. `snapshots[2].name`.
        path: String,
        /// The expected type.
        expected: String,
        /// The value that was found, as JSON, cut if it is long.
        found: String,
    },
}

/// Deepest nesting of lists and structs.
const DEPTH_MAX: usize = 64;

/// Longest part of a value that an error shows.
const FOUND_LEN_MAX: usize = 64;
