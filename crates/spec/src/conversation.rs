//! Conversations: the description of an application protocol, as plain data.
//!
//! A [`Conversation`] describes how a connection opens, which requests it sends and how each is matched to its reply,
//! which messages arrive unasked, which are answered automatically, and how the connection ends. It is resolved: every
//! text is parsed, every file read. `wire` compiles it into a machine.
//!
//! Left out: the bytes on the wire and all state (`wire::conversation`).
//!
//! Start reading at [`Conversation`], then at [`Template`] (what is sent) and [`Matcher`] (what is awaited).
//! [`Conversation::read`] reads files.

mod binary;
mod check;
mod csv;
mod cue;
mod fault;
mod fill;
mod matcher;
mod mix;
mod mqtt;
mod overlap;
mod path;
mod program;
mod reader;
mod ready_made;
mod separator;
mod template;
mod types;
mod vars;

pub use binary::{ByteOrder, BytesError, Extent, HexBytes, Number, Offset};
pub use check::WRITTEN_FIELDS;
pub use cue::Cue;
pub use fault::{Fault, Part};
pub use matcher::{Condition, Matcher, Place, Scalar, Status, StatusError};
pub use mix::Mix;
pub use mqtt::{MqttCommand, MqttConnect, MqttError};
pub use path::{Key, Path, PathError};
pub use ready_made::{READY_MADE, of_our_relay};
pub use separator::Separator;
pub use template::{Escape, Medium, Piece, Template, TemplateError};
pub(crate) use types::is_zero;
pub use types::{
    AnswerRule, Beat, Before, Conversation, Every, Field, Frame, HttpRequest, LengthWidth,
    PushRule, REDIRECTS_MAX, Reply, Request, Resume, Send, Speaks, Step, Take, TakeFrom,
};
pub use vars::{AtEnd, Fill, SecretSource, Var};
