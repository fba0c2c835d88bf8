//! Matchers and places in words, for errors and transcripts.

use spec::conversation::{Condition, Matcher, Place, Scalar, TakeFrom};

/// The conditions of a matcher, in words.
pub fn matcher(matcher: &Matcher) -> String {
    let conditions = matcher.conditions.iter().map(|condition| match condition {
        Condition::Bytes { at, bytes } => format!("the bytes {bytes} at @{at}"),
        Condition::Contains(text) => format!("a message that contains {text:?}"),
        Condition::Equals { path, value: Scalar::Bool(value) } => format!("{path} = {value}"),
        Condition::Equals { path, value: Scalar::Integer(value) } => format!("{path} = {value}"),
        Condition::Equals { path, value: Scalar::Text(value) } => format!("{path} = {value:?}"),
        Condition::Has(path) => format!("a value at {path}"),
        Condition::Is(text) => format!("the message {text:?}"),
        Condition::Lacks(path) => format!("nothing at {path}"),
        Condition::Sha256(digest) => format!("a message whose digest is sha256:{digest}"),
        Condition::Starts(text) => format!("a message that starts with {text:?}"),
        Condition::Status(status) => format!("the status {status}"),
    });
    let id = matcher.id.iter().map(|id| format!("its id {}", place(id)));
    let all: Vec<_> = conditions.chain(id).collect();
    if all.is_empty() { "any message".to_owned() } else { all.join(" and ") }
}

/// A place, with the preposition before it.
pub fn place(place: &Place) -> String {
    match place {
        Place::Bytes(place) => format!("at {place}"),
        Place::Json(path) => format!("at {path}"),
        Place::Text { before, after } if after.is_empty() => format!("after {before:?}"),
        Place::Text { before, after } => format!("between {before:?} and {after:?}"),
    }
}

/// A place that a value is taken from, with the preposition before it.
pub(super) fn source(from: &TakeFrom) -> String {
    match from {
        TakeFrom::Message(at) => place(at),
        TakeFrom::Header(name) => format!("in the header field {name}"),
    }
}
