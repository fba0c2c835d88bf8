//! The requests of a client, and the forms of the bodies that are sent and received.

use super::binary::{announces, binary_packet};
use super::error::PeerError;
use crate::contract::{Kind, Message, Response};
use crate::decimal::append_decimal;
use crate::excerpt::Excerpt;
use crate::http1::append_percent_encoded;
use std::borrow::Cow;

/// The requests of one client over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub(crate) form: Form,
    /// The request that asks for frames, complete except for `conditions`.
    pub(crate) receive: Box<[u8]>,
    /// The fields that name the last response, where each request does ([`Session::of_polls`]).
    pub(crate) conditions: Option<Vec<u8>>,
    /// The way in which it posts; `None` for a client that only receives.
    pub(crate) post: Option<Post>,
    /// True until the server has named the session in its first frame: later requests have that name in their query
    /// ([`Session::name`]).
    pub(crate) awaits_name: bool,
}

/// The requests that post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Post {
    /// The head, without the length of the body.
    pub(crate) head: Box<[u8]>,
    pub(crate) body: Body,
}

/// The form that texts have in the body of a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// One array of all of them.
    Array,
    /// The same as the value `d` of a form.
    Form,
    /// Packets, with [`SEPARATOR`] between them.
    Packets,
}

/// The form that frames have in the body of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Each is the text with which a script calls this function.
    Call(&'static str),
    /// Each is a chunk of the chunked transfer coding.
    Chunks,
    /// Each is the data of a server-sent event.
    Events,
    /// Each is a line.
    Lines {
        /// True if a response may begin with a prelude: enough letters `h` for browsers to hand out what follows.
        has_prelude: bool,
    },
    /// They have [`SEPARATOR`] between them, and the last one ends with the body.
    Packets,
    /// Each is the text with which a script in a page calls the function `p`.
    Page,
    /// Each is the body of a part, which a boundary ends (RFC 2046 §5.1).
    Parts,
    /// The body is one.
    Whole,
}

impl Session {
    /// The server-sent events at `target`. `host` and `headers` go into the request as they are: the caller has checked
    /// them.
    pub fn of_events(host: &str, target: &str, headers: &[(String, String)]) -> Self {
        let head = head_of("GET", target, host, headers);
        let receive = [&*head, b"Accept: text/event-stream\r\n\r\n"].concat().into();
        Self { form: Form::Events, receive, conditions: None, post: None, awaits_name: false }
    }

    /// The parts of the response at `target`, which is `multipart/mixed` or the like. `host` and `headers` are as
    /// above.
    pub fn of_parts(host: &str, target: &str, headers: &[(String, String)]) -> Self {
        let head = head_of("GET", target, host, headers);
        let receive = [&*head, b"Accept: multipart/mixed\r\n\r\n"].concat().into();
        Self { form: Form::Parts, receive, conditions: None, post: None, awaits_name: false }
    }

    /// The chunks of the response at `target`. `host` and `headers` are as above.
    pub fn of_chunks(host: &str, target: &str, headers: &[(String, String)]) -> Self {
        let receive = [&*head_of("GET", target, host, headers), b"\r\n"].concat().into();
        Self { form: Form::Chunks, receive, conditions: None, post: None, awaits_name: false }
    }

    /// Long polls at `target`: each response is the next message, and each request names the response before it, as
    /// caches do, by `If-None-Match` and `If-Modified-Since`. `host` and `headers` are as above.
    pub fn of_polls(host: &str, target: &str, headers: &[(String, String)]) -> Self {
        let receive = head_of("GET", target, host, headers).into();
        let conditions = Some(Vec::new());
        Self { form: Form::Whole, receive, conditions, post: None, awaits_name: false }
    }

    /// Appends the request that asks for frames.
    pub(crate) fn write_receive(&self, tx: &mut Vec<u8>) {
        tx.extend_from_slice(&self.receive);
        if let Some(conditions) = &self.conditions {
            tx.extend_from_slice(conditions);
            tx.extend_from_slice(b"\r\n");
        }
    }

    /// Names `response` in later requests, if these name responses and it has a name.
    pub(super) fn follow(&mut self, response: &Response<'_>) {
        let Some(conditions) = &mut self.conditions else { return };
        let named =
            [(&b"If-None-Match: "[..], "etag"), (&b"If-Modified-Since: "[..], "last-modified")];
        let named = named.map(|(condition, field)| (condition, response.field(field)));
        if named.iter().any(|(_, value)| value.is_some()) {
            conditions.clear();
        }
        for (condition, value) in named {
            let Some(value) = value else { continue };
            for part in [condition, value, b"\r\n"] {
                conditions.extend_from_slice(part);
            }
        }
    }

    /// True if the session ends with its first response.
    pub(super) fn is_one_response(&self) -> bool {
        self.post.is_none() && self.conditions.is_none()
    }

    /// Reads the name of the session in its first `frame`, if that has it, and puts it into the query of later
    /// requests; `None` where a frame names nothing.
    ///
    /// # Errors
    ///
    /// The frame is not the opening packet of Engine.IO.
    pub(crate) fn name(&mut self, frame: &[u8]) -> Result<Option<Named>, PeerError> {
        if !std::mem::take(&mut self.awaits_name) {
            return Ok(None);
        }
        let opening = frame.strip_prefix(b"0").and_then(|json| serde_json::from_slice(json).ok());
        let Opening { sid, max_payload } = opening.ok_or_else(|| PeerError::Unexpected {
            awaited: "the packet `0` with the `sid` of the session",
            said: Excerpt::new(frame),
        })?;
        let mut query = b"&sid=".to_vec();
        append_percent_encoded(sid.as_bytes(), &mut query);
        let query = String::from_utf8(query).expect("it is percent-encoded");
        let heads = self.post.iter_mut().map(|post| &mut post.head).chain([&mut self.receive]);
        for head in heads {
            let version = b" HTTP/1.1\r\n";
            let end = head.windows(version.len()).position(|bytes| bytes == version);
            let (before, behind) = head.split_at(end.expect("`head_of` wrote it"));
            *head = [before, query.as_bytes(), behind].concat().into();
        }
        Ok(Some(Named { query, body_len_max: max_payload.unwrap_or(usize::MAX) }))
    }

    /// Appends the request that posts `body`.
    pub(crate) fn write_post(&self, body: &[u8], tx: &mut Vec<u8>) {
        let Some(Post { head, body: form }) = &self.post else { return };
        let mut encoded = Vec::new();
        let body = match form {
            Body::Form => {
                encoded.extend_from_slice(b"d=");
                append_percent_encoded(body, &mut encoded);
                &encoded
            }
            Body::Array | Body::Packets => body,
        };
        tx.extend_from_slice(head);
        append_decimal(body.len() as u64, tx);
        tx.extend_from_slice(b"\r\n\r\n");
        tx.extend_from_slice(body);
    }
}

/// The server's description of the session in its first frame.
pub(crate) struct Named {
    /// The name of the session, as it ends the queries of all its requests.
    pub(crate) query: String,
    /// The longest body of a post that the server takes, in bytes.
    pub(crate) body_len_max: usize,
}

/// The opening packet of Engine.IO, as far as it is needed.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Opening<'a> {
    #[serde(borrow)]
    sid: Cow<'a, str>,
    max_payload: Option<usize>,
}

impl Body {
    /// The texts in a message that is to be posted; `None` if it has another form.
    pub(super) fn texts(self, message: Message<'_>) -> Option<Cow<'_, [u8]>> {
        let Message { kind, payload } = message;
        match (self, kind) {
            (Self::Array | Self::Form, _) => {
                payload.strip_prefix(b"[")?.strip_suffix(b"]").map(Cow::from)
            }
            (Self::Packets, Kind::Binary) => Some(binary_packet(payload).into()),
            (Self::Packets, Kind::Text) => {
                Some(payload).filter(|packet| !packet.is_empty()).map(Cow::from)
            }
        }
    }

    /// Adds texts to those that wait.
    pub(super) fn add(self, texts: &[u8], waiting: &mut Vec<u8>) {
        match (self, waiting.is_empty()) {
            (Self::Array | Self::Form, true) => waiting.push(b'['),
            (Self::Array | Self::Form, false) => waiting.push(b','),
            (Self::Packets, true) => {}
            (Self::Packets, false) => waiting.push(SEPARATOR),
        }
        waiting.extend_from_slice(texts);
    }

    /// True if a message added to `waiting` waits alone: nothing is there, or only the packet that announces it.
    pub(crate) fn waits_alone(self, waiting: &[u8]) -> bool {
        let is_announced = || self == Self::Packets && announces(waiting);
        waiting.is_empty() || is_announced() && !waiting.contains(&SEPARATOR)
    }

    /// Takes back a message that makes what waits too long, and the packet that has announced it; `before` is the
    /// length without the message.
    pub(crate) fn take_back(self, before: usize, waiting: &mut Vec<u8>) {
        waiting.truncate(before);
        let end = waiting.iter().rposition(|byte| *byte == SEPARATOR);
        if self == Self::Packets && announces(&waiting[end.map_or(0, |end| end + 1)..]) {
            waiting.truncate(end.unwrap_or(0));
        }
    }

    /// The bytes after the texts.
    pub(super) const fn end(self) -> &'static [u8] {
        match self {
            Self::Array | Self::Form => b"]",
            Self::Packets => b"",
        }
    }

    /// True if a post may be sent before the previous one is answered; Engine.IO closes a session that does so.
    pub(super) const fn may_overlap(self) -> bool {
        match self {
            Self::Array | Self::Form => true,
            Self::Packets => false,
        }
    }
}

/// The byte between packets of Engine.IO in a body (RS).
pub(crate) const SEPARATOR: u8 = 0x1e;

/// The first lines of a request.
pub(crate) fn head_of(
    method: &str,
    target: &str,
    host: &str,
    headers: &[(String, String)],
) -> Vec<u8> {
    let fields: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n{fields}").into_bytes()
}
