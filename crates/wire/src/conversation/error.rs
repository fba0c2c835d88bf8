//! Errors of a server that departs from its conversation, and of a conversation that cannot be made ready.

use crate::excerpt::Excerpt;
use crate::http1;
use crate::misuse::MisuseError;

/// A server that says or does something other than the conversation expects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// A response has another status or body than expected.
    #[error("{step}: HTTP status {code}, expected {expected}: {said}")]
    Status {
        /// The step.
        step: String,
        /// The status.
        code: u16,
        /// The message that was awaited.
        expected: String,
        /// The beginning of the body.
        said: Excerpt,
    },
    /// The connection that carries the conversation broke its protocol before it was open.
    #[error("{step}: {violation}, expected {expected}")]
    Broken {
        /// The step that was under way.
        step: String,
        /// The message that was awaited.
        expected: String,
        /// The violation, in words.
        violation: String,
    },
    /// The connection ended within a stream of events.
    #[error("the stream of events broke off after {events} events")]
    BrokenOff {
        /// The number of events that had arrived, starting with the first that counts.
        events: u64,
    },
    /// The server ended the connection before it was open.
    #[error("{step}: the server closed the connection{}, expected {expected}", closing(*code, reason))]
    Closed {
        /// The step that was under way.
        step: String,
        /// The message that was awaited.
        expected: String,
        /// The close code of the protocol.
        code: Option<u16>,
        /// The reason that the server gave.
        reason: String,
    },
    /// The connection ended before it was open.
    #[error("{step}: the connection ended, expected {expected}")]
    Cut {
        /// The step that was under way.
        step: String,
        /// The message that was awaited.
        expected: String,
    },
    /// The answer to an exchange is not a valid HTTP response.
    #[error("{step}: {error}")]
    Http {
        /// The exchange before the connection that was under way.
        step: String,
        /// The violation of HTTP.
        error: http1::PeerError,
    },
    /// The connection ended within a message.
    #[error("the connection ended {len} bytes into a message")]
    CutMessage {
        /// The number of its bytes that had arrived.
        len: usize,
    },
    /// A length that no message has.
    #[error("invalid message length: {said}")]
    Length {
        /// The bytes of the length.
        said: Excerpt,
    },
    /// A violation of MQTT.
    #[error(transparent)]
    Mqtt(#[from] crate::mqtt::PeerError),
    /// The connection inside does not take a message that is to be sent.
    #[error("cannot send to the server: {0}")]
    Mute(MisuseError),
    /// A message is longer than the limit.
    #[error("a message is longer than {max} bytes, the limit")]
    OverLimit {
        /// The limit in bytes.
        max: usize,
    },
    /// Bytes that are not a RESP reply.
    #[error(
        "{said} is not RESP: an element begins with one of +-:$*_#,(!=%~>|, then its value or length"
    )]
    Resp {
        /// The bytes that are wrong.
        said: Excerpt,
    },
    /// The server redirects to another place.
    #[error("{step}: HTTP status {code} redirects to {location}, and redirects are not followed")]
    Redirected {
        /// The step.
        step: String,
        /// The status of the response.
        code: u16,
        /// The beginning of the location that it points to.
        location: Excerpt,
    },
    /// The server refused a step.
    #[error("{step}: the server refuses: {said}")]
    Refused {
        /// The step.
        step: String,
        /// The beginning of the refusal.
        said: Excerpt,
    },
    /// A value that was taken does not make a subprotocol.
    #[error(
        "{step}: with the taken values, the subprotocol `{subprotocol}` is not a token: it {fault} (RFC 6455, 4.1)"
    )]
    Subprotocol {
        /// The step.
        step: String,
        /// The subprotocol, with its holes.
        subprotocol: String,
        /// The fault, in words. It does not quote the value, which may be a secret.
        fault: String,
    },
    /// The value that a step takes is not in the message.
    #[error("{step}: no value for `{var}` {place} in {said}")]
    Take {
        /// The step.
        step: String,
        /// The name of the value.
        var: String,
        /// The place where it should be, e.g. `at $.token`.
        place: String,
        /// The beginning of the message.
        said: Excerpt,
    },
    /// A value that was taken is too long.
    #[error("{step}: the value of `{var}` has {len} bytes, limit is {max}")]
    TakenTooLong {
        /// The step.
        step: String,
        /// The name of the value.
        var: String,
        /// Its length in bytes.
        len: usize,
        /// The limit in bytes.
        max: usize,
    },
    /// A step got something other than it expects.
    #[error("{step}: got {said}, expected {expected}")]
    Unexpected {
        /// The step.
        step: String,
        /// The message that was awaited.
        expected: String,
        /// The beginning of what arrived.
        said: Excerpt,
    },
}

/// A conversation that cannot be made ready.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// There are too many conditions.
    #[error("the conversation has more than {max} different conditions in one state")]
    Conditions {
        /// The limit.
        max: usize,
    },
    /// There are too many places for ids.
    #[error("the conversation has ids at more than {max} different places")]
    Ids {
        /// The limit.
        max: usize,
    },
    /// The conversation has a part that connections of its kind do not carry yet.
    #[error("the conversation `{name}` cannot be held: {part} are not supported over {carrier}")]
    Part {
        /// Its name.
        name: String,
        /// The part of the conversation that is not carried.
        part: &'static str,
        /// The protocol that carries it.
        carrier: &'static str,
    },
    /// There are too many exchanges, pushes, answers or steps.
    #[error("the conversation has more than {max} {parts}")]
    Parts {
        /// The parts.
        parts: &'static str,
        /// The limit.
        max: u16,
    },
    /// Paths have too many steps.
    #[error("the paths of the conversation have more than {max} steps together")]
    Steps {
        /// The limit.
        max: usize,
    },
    /// A value that connections are given does not make a subprotocol.
    #[error(
        "the value of `{name}` {fault}, and a subprotocol such as `{subprotocol}` is a token: letters, digits and \
         !#$%&'*+-.^_`|~ (RFC 6455, 4.1)"
    )]
    Subprotocol {
        /// The name of the value.
        name: String,
        /// The subprotocol, with its holes.
        subprotocol: String,
        /// The fault, in words. It does not quote the value, which may be a secret.
        fault: String,
    },
    /// A template or a step names a value that nothing gives.
    #[error("no value is called `{name}`; `[vars]` or a `take` before must give it")]
    UnknownVar {
        /// The name.
        name: String,
    },
    /// A value of the conversation was not read before it was made ready.
    #[error("the value of `{name}` was not read")]
    Unread {
        /// The name.
        name: String,
    },
}

/// The code and the reason of a close, as far as they were given.
fn closing(code: Option<u16>, reason: &str) -> String {
    let code = code.map_or(String::new(), |code| format!(" with code {code}"));
    let reason = reason.escape_debug();
    if reason.clone().next().is_none() { code } else { format!("{code} \"{reason}\"") }
}
