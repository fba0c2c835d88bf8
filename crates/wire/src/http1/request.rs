//! The requests that a client sends: all the same except for their bodies.

use super::grammar::{is_text_byte, is_token};
use super::head::has_member;
use crate::decimal::{DECIMAL_LEN_MAX, append_decimal};
use spec::conversation::{Status, WRITTEN_FIELDS};

/// A request without its body, written once and then sent with every message; shared by all connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// True if the request says `Connection: close`.
    pub(super) closes: bool,
    /// The start line, all fields except the length of the body, and at the end the name of that field.
    head: Vec<u8>,
    method: Method,
    /// The statuses of responses that are replies; empty: 2xx.
    statuses: Vec<Status>,
}

/// The parts of a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestParts {
    /// The method, e.g. `POST`.
    pub method: String,
    /// The path and query, e.g. `/echo?size=1`.
    pub target: String,
    /// The value of the `Host` field.
    pub host: String,
    /// Further fields.
    pub headers: Vec<(String, String)>,
}

/// The properties of a method that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Get,
    Head,
    Other,
}

impl Request {
    /// Writes the request into bytes.
    ///
    /// # Errors
    ///
    /// A part of it has characters that HTTP does not allow there, a field is one that is written for each message, or
    /// the method is `CONNECT`.
    pub fn new(parts: &RequestParts) -> Result<Self, InvalidRequest> {
        let method = match &*parts.method {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            other if is_token(other) && other != "CONNECT" => Method::Other,
            other => return Err(InvalidRequest::Method(other.to_owned())),
        };
        check_target(&parts.target)?;
        check_host(&parts.host)?;
        check_fields(&parts.headers, &WRITTEN_FIELDS)?;
        let mut head =
            format!("{} {} HTTP/1.1\r\nHost: {}\r\n", parts.method, parts.target, parts.host);
        for (name, value) in &parts.headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        head.push_str(CONTENT_LENGTH);
        let closes = parts.headers.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case("connection") && has_member(value.as_bytes(), "close")
        });
        Ok(Self { closes, head: head.into_bytes(), method, statuses: Vec::new() })
    }

    /// The same request, but responses with these statuses are replies, and all others refusals; empty: 2xx.
    #[must_use]
    pub fn accepting(self, statuses: Vec<Status>) -> Self {
        Self { statuses, ..self }
    }

    /// Appends the request with `body` to `tx`. A `GET` or `HEAD` without a body has no fields about one.
    #[inline]
    pub fn write(&self, body: &[u8], tx: &mut Vec<u8>) {
        if body.is_empty() && self.method != Method::Other {
            tx.extend_from_slice(&self.head[..self.head.len() - CONTENT_LENGTH.len()]);
            tx.extend_from_slice(b"\r\n");
            return;
        }
        tx.reserve(self.head.len() + DECIMAL_LEN_MAX + HEAD_END.len() + body.len());
        tx.extend_from_slice(&self.head);
        append_decimal(body.len() as u64, tx);
        tx.extend_from_slice(HEAD_END);
        tx.extend_from_slice(body);
    }

    /// True if a response with this status is a reply, not a refusal.
    #[inline]
    pub(super) fn accepts(&self, status: u16) -> bool {
        match &self.statuses[..] {
            [] => matches!(status, 200..=299),
            statuses => statuses.iter().any(|accepted| accepted.includes(status)),
        }
    }

    /// True if no status was named: any of the 2xx kind is accepted.
    pub(super) fn takes_any(&self) -> bool {
        self.statuses.is_empty()
    }

    /// True if the response has no body, whatever its head says (RFC 9112 §6.3).
    pub(super) fn is_head(&self) -> bool {
        self.method == Method::Head
    }
}

/// Refuses a text that cannot be a `Host` field: a comma would split it in two, and a slash belongs to the target.
pub(crate) fn check_host(host: &str) -> Result<(), InvalidRequest> {
    let fine = |byte: u8| byte.is_ascii_graphic() && !b",/?#@\\".contains(&byte);
    if host.bytes().all(fine) { Ok(()) } else { Err(InvalidRequest::Host(host.to_owned())) }
}

/// Refuses a text that cannot be a target. A target begins with a slash or is a whole URL or `*`, and has neither
/// spaces nor control characters.
pub(crate) fn check_target(target: &str) -> Result<(), InvalidRequest> {
    let begins = target.starts_with('/') || target == "*" || target.contains("://");
    if begins && target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
        Ok(())
    } else {
        Err(InvalidRequest::Target(target.to_owned()))
    }
}

/// Splits `target` into its path, without a slash at the end, and its query.
pub(crate) fn path_and_query(target: &str) -> (&str, &str) {
    let (path, query) = target.split_at(target.find('?').unwrap_or(target.len()));
    (path.trim_end_matches('/'), query)
}

/// Refuses fields that cannot be written, and those whose lower-case names are among `reserved`.
pub(crate) fn check_fields(
    fields: &[(String, String)],
    reserved: &[&str],
) -> Result<(), InvalidRequest> {
    for (name, value) in fields {
        if !is_token(name) {
            return Err(InvalidRequest::FieldName(name.clone()));
        }
        if !value.bytes().all(is_text_byte) {
            return Err(InvalidRequest::FieldValue { name: name.clone(), value: value.clone() });
        }
        if reserved.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
            return Err(InvalidRequest::Reserved(name.clone()));
        }
    }
    Ok(())
}

/// The reasons why a request cannot be written. The texts are the caller's own and are shown escaped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRequest {
    /// The compression to offer has a value out of its range.
    #[error(transparent)]
    Deflate(#[from] crate::websocket::deflate::ParameterError),
    /// The name of a field is not a token.
    #[error("{0:?} is not the name of a header field")]
    FieldName(String),
    /// The value of a field has a control character.
    #[error("the header field {name} cannot be {value:?}")]
    FieldValue {
        /// The field.
        name: String,
        /// Its value.
        value: String,
    },
    /// The host has characters that do not belong there.
    #[error("{0:?} is not a host")]
    Host(String),
    /// The method is not a token, or is `CONNECT`.
    #[error("{0:?} is not a method that carries messages")]
    Method(String),
    /// The field is one that the protocol writes itself.
    #[error("the header field {0} is written by the protocol itself")]
    Reserved(String),
    /// The subprotocol is not a token.
    #[error("{0:?} is not the name of a subprotocol")]
    Subprotocol(String),
    /// The target is not a path.
    #[error("{0:?} is not a path")]
    Target(String),
}

/// The last text of the constant part of a head.
const CONTENT_LENGTH: &str = "Content-Length: ";

const HEAD_END: &[u8] = b"\r\n\r\n";
