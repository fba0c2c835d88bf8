//! Descriptions of messages that are awaited.

use super::{HexBytes, Offset, Path};
use crate::Sha256;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A description of messages: all conditions hold, and the id, if one is named, is that of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Matcher {
    /// The conditions, all of which hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The place of the `${id}` of the request that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Place>,
}

/// A condition that a message meets or not. Those with a path are not met by what is no JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// This value stands there.
    Equals {
        /// The place.
        path: Path,
        /// The value.
        value: Scalar,
    },
    /// Something stands there, and it is not `null`.
    Has(Path),
    /// Nothing stands there, or `null`.
    Lacks(Path),
    /// The message is this text.
    Is(String),
    /// The whole message has this digest.
    Sha256(Sha256),
    /// The message begins with this text.
    Starts(String),
    /// The message has this text in it.
    Contains(String),
    /// These bytes stand there.
    Bytes {
        /// The place of the first of them, from 0.
        at: u32,
        /// The bytes.
        bytes: HexBytes,
    },
    /// The status of the HTTP response is this, or of this class.
    Status(Status),
}

/// A value without parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Scalar {
    /// True or false.
    Bool(bool),
    /// A whole number; `1.0` and `1e0` are no whole numbers.
    Integer(i64),
    /// A string, as it is without quotes and escapes.
    Text(String),
}

/// A place in a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// A place in JSON: a number, or a string that is one.
    Json(Path),
    /// Between two texts: the first place where `before`, something and `after` follow each other. An id and an instant
    /// are digits; anything else is as short as it may be, and ends with the message where `after` is empty.
    Text {
        /// The text before it.
        before: String,
        /// The text behind it.
        after: String,
    },
    /// A place in bytes. An id and an instant are numbers there.
    Bytes(Offset),
}

/// Statuses of HTTP: one, or a class of them, such as `2xx`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The lowest.
    pub first: u16,
    /// The highest.
    pub last: u16,
}

impl Status {
    /// True if `status` is one of them.
    pub const fn includes(self, status: u16) -> bool {
        self.first <= status && status <= self.last
    }
}

impl FromStr for Status {
    type Err = StatusError;

    fn from_str(text: &str) -> Result<Self, StatusError> {
        let error = || StatusError { text: text.to_owned() };
        let class = text.strip_suffix("xx").and_then(|class| class.parse::<u16>().ok());
        if let Some(class @ 1..=5) = class.filter(|_| text.len() == "2xx".len()) {
            return Ok(Self { first: class * 100, last: class * 100 + 99 });
        }
        let is_status = |status: &u16| (100..=599).contains(status) && text.len() == "200".len();
        let status = text.parse().ok().filter(is_status).ok_or_else(error)?;
        Ok(Self { first: status, last: status })
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first == self.last {
            true => self.first.fmt(f),
            false => write!(f, "{}xx", self.first / 100),
        }
    }
}

crate::text::as_text!(Status, "a status of HTTP, or a class of them", "2xx");

/// A text that is not a status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a status; expected 100 to 599, or a class such as 2xx")]
pub struct StatusError {
    text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_read_and_are_written_alike() {
        for (text, first, last) in [("200", 200, 200), ("2xx", 200, 299), ("5xx", 500, 599)] {
            let status: Status = text.parse().unwrap();
            assert_eq!(status, Status { first, last });
            assert_eq!(status.to_string(), text);
            assert!(status.includes(first) && status.includes(last) && !status.includes(last + 1));
        }
        for text in ["", "xx", "0xx", "6xx", "2xxx", "99", "600", "+20", "2x", "0200"] {
            assert!(text.parse::<Status>().is_err(), "{text}");
        }
    }
}
