//! Texts with holes: `{"id":${id},"text":"${pad:32}"}`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A text with holes, which are filled in for each message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Template(pub Vec<Piece>);

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// These characters.
    Text(String),
    /// The id of the request: a number of eight digits that a connection uses once.
    Id,
    /// The instant at which the message was due, in nanoseconds from the start of the run.
    Now,
    /// The same in milliseconds.
    NowMs,
    /// The number of the connection, from 0.
    Client,
    /// The number of the connection modulo this: connections in so many groups.
    ClientModulo(u32),
    /// So many characters that are the same in each message.
    Pad(u32),
    /// So many characters of `0-9a-z`, drawn for each message.
    Random(u32),
    /// A value of the connection: of `vars`, or taken from a message.
    Var {
        /// Its name.
        name: String,
        /// The escaping that its place needs.
        escape: Escape,
    },
}

/// The escaping of a value that is put into a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Escape {
    /// None.
    #[default]
    Raw,
    /// As in a JSON string.
    Json,
    /// As in a JSON string of a JSON text that is itself in a JSON string.
    JsonTwice,
    /// As in the path or query of a URL: everything but unreserved characters is percent-encoded (RFC 3986).
    Url,
    /// As in a header field: line ends and NUL are left out, so that no value becomes two fields.
    Header,
}

impl Template {
    /// The names of the values that it refers to.
    pub fn vars(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Var { name, .. } => Some(name.as_str()),
            Piece::Text(_)
            | Piece::Id
            | Piece::Now
            | Piece::NowMs
            | Piece::Client
            | Piece::ClientModulo(_)
            | Piece::Pad(_)
            | Piece::Random(_) => None,
        })
    }

    /// True if it has a hole for the id.
    pub fn has_id(&self) -> bool {
        self.0.contains(&Piece::Id)
    }
}

/// The text with its holes, as a file has it.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => f.write_str(&text.replace("${", "$${"))?,
                Piece::Id => f.write_str("${id}")?,
                Piece::Now => f.write_str("${now}")?,
                Piece::NowMs => f.write_str("${now_ms}")?,
                Piece::Client => f.write_str("${client}")?,
                Piece::ClientModulo(groups) => write!(f, "${{client % {groups}}}")?,
                Piece::Pad(len) => write!(f, "${{pad:{len}}}")?,
                Piece::Random(len) => write!(f, "${{random:{len}}}")?,
                Piece::Var { name, .. } => write!(f, "${{{name}}}")?,
            }
        }
        Ok(())
    }
}
