//! Messages, and the replies that are due to them.

use crate::Sha256;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use units::Bytes;

/// The content of every message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// True if messages are sent as text, where the protocol tells text from bytes.
    pub text: bool,
    /// The bytes.
    pub content: Content,
}

/// The bytes of messages, or the rule that makes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "snake_case", deny_unknown_fields)]
pub enum Content {
    /// Generated from the seed of the workload.
    Generated {
        /// The kind, which decides how well it compresses.
        kind: PayloadKind,
        /// The length of each message.
        size: Bytes,
        /// True for a ring of different messages, larger than any window of a compressor.
        varied: bool,
    },
    /// Given by the user.
    Given {
        /// The source, as typed: a text, or `@FILE`.
        source: String,
        /// The bytes.
        bytes: Blob,
    },
    /// An event of the load-test game, which the game keeps for a time before it answers.
    GameEvent {
        /// The delay, in milliseconds.
        delay_ms: i32,
    },
    /// Nothing: requests without a body.
    Nothing,
}

impl Content {
    /// The kind of payload, if it is generated.
    pub const fn kind(&self) -> Option<PayloadKind> {
        match self {
            Self::Generated { kind, .. } => Some(*kind),
            Self::Given { .. } | Self::GameEvent { .. } | Self::Nothing => None,
        }
    }
}

/// The kinds of payload that are generated from a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum PayloadKind {
    /// Zeros, of which compression leaves almost nothing
    Zero,
    /// Records as a game server sends them, as JSON
    Json,
    /// English words, as frequent as in the language
    Text,
    /// Bytes that compression does not make smaller
    Random,
}

impl PayloadKind {
    /// All of them, in the order in which they are listed to users.
    pub const ALL: [Self; 4] = [Self::Zero, Self::Json, Self::Text, Self::Random];

    /// The name, as it is typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zero => "zero",
            Self::Json => "json",
            Self::Text => "text",
            Self::Random => "random",
        }
    }

    /// True if its payloads are sent as text, unless asked otherwise.
    pub const fn is_text(self) -> bool {
        match self {
            Self::Json | Self::Text => true,
            Self::Zero | Self::Random => false,
        }
    }
}

impl fmt::Display for PayloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for PayloadKind {
    type Err = PayloadKindError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_meant = |kind: &Self| kind.name() == text;
        Self::ALL.into_iter().find(is_meant).ok_or_else(|| PayloadKindError { text: text.into() })
    }
}

/// A text that names no kind of payload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no kind of payload: `{text}`; there are zero, json, text and random")]
pub struct PayloadKindError {
    text: String,
}

/// The reply that a message is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// Anything that the protocol calls a success (HTTP: a 2xx status), whatever its payload.
    Anything,
    /// The message itself, byte for byte and of the same kind.
    Echo,
    /// Any payload that has these bytes in it.
    Contains(Blob),
    /// Any payload with this digest.
    Sha256(Sha256),
    /// Always this payload.
    Exactly(Blob),
    /// Any reply that the protocol lets through: it numbers messages, and takes no reply but the one to the next
    /// number.
    InSequence,
    /// An echo in which an oracle server has written how long it kept the message.
    Oracle,
}

/// Bytes: a JSON string where they are UTF-8, else `{ "base64": "…" }`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blob(pub Vec<u8>);

impl From<&[u8]> for Blob {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => Coded { base64: STANDARD.encode(&self.0) }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match TextOrCoded::deserialize(deserializer)? {
            TextOrCoded::Text(text) => Ok(Self(text.into_bytes())),
            TextOrCoded::Coded(Coded { base64 }) => {
                STANDARD.decode(base64).map(Self).map_err(D::Error::custom)
            }
        }
    }
}

impl JsonSchema for Blob {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Blob".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "bytes: a string where they are UTF-8, else an object with their base64",
            "anyOf": [
                { "type": "string" },
                { "type": "object", "properties": { "base64": { "type": "string", "description": "the bytes in base64" } }, "required": ["base64"] },
            ],
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Coded {
    base64: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TextOrCoded {
    Text(String),
    Coded(Coded),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_text_where_they_can_be_and_read_back() {
        for (bytes, json) in [(&b"Ping"[..], "\"Ping\""), (&[0xff, 0], r#"{"base64":"/wA="}"#)] {
            let blob = Blob::from(bytes);
            assert_eq!(serde_json::to_string(&blob).unwrap(), json);
            assert_eq!(serde_json::from_str::<Blob>(json).unwrap(), blob);
        }
        assert!(serde_json::from_str::<Blob>(r#"{"base64":"!"}"#).is_err());
    }
}
