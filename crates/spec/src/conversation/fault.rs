//! The faults of a conversation, and their places in it.

use std::fmt;

/// A fault of a conversation, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The part.
    pub part: Part,
    /// The key of that part; empty: the part as a whole.
    pub key: &'static str,
    /// The text in the value of that key that is wrong, such as `${nmae`; empty: the whole value.
    pub text: String,
    /// The reason, with what to do.
    pub message: String,
}

/// A part of a conversation, by its index where there are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The conversation as a whole.
    Top,
    /// A header field.
    Field(usize),
    /// A value of `vars`.
    Var(usize),
    /// An exchange before the connection.
    Before(usize),
    /// A step of opening.
    Open(usize),
    /// A kind of request.
    Request(usize),
    /// A kind of push.
    Push(usize),
    /// A kind of message that is answered at once.
    Answer(usize),
    /// The heartbeat.
    Beat,
    /// The farewell.
    Close,
    /// The conversation of connections that publish.
    Publishers,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top => f.write_str("the conversation"),
            Self::Field(index) => write!(f, "header {}", index + 1),
            Self::Var(index) => write!(f, "value {}", index + 1),
            Self::Before(index) => write!(f, "exchange {} before the connection", index + 1),
            Self::Open(index) => write!(f, "opening step {}", index + 1),
            Self::Request(index) => write!(f, "request {}", index + 1),
            Self::Push(index) => write!(f, "push {}", index + 1),
            Self::Answer(index) => write!(f, "answer {}", index + 1),
            Self::Beat => f.write_str("the heartbeat"),
            Self::Close => f.write_str("the farewell"),
            Self::Publishers => f.write_str("the publishers"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key {
            "" => write!(f, "{}: {}", self.part, self.message),
            key => write!(f, "{}, `{key}`: {}", self.part, self.message),
        }
    }
}
