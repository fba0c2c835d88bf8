//! The server's half of the transports over HTTP, without sessions: it reads requests and writes responses. Its owner
//! may answer other requests in the same way.

use super::session::transport_of;
use crate::connection::Connection;
use crate::contract::{Kind, Message, MisuseError, Protocol};
use crate::http1::head::{self, HEADERS_MAX, HeadLimits, RequestHead};
use crate::http1::site::{append_permission, field_of, origin_of, path_of};
use crate::http1::{StreamPiece, percent_decoded};
use crate::over_http::{SEPARATOR, bytes_in};
use crate::sse::append_event;
use base64::prelude::{BASE64_STANDARD, Engine};
use sha1::{Digest, Sha1};
use spec::Transport;
use std::borrow::Cow;
use std::fmt::Write;

/// The request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The method.
    pub method: &'a str,
    /// The target: path and query.
    pub target: &'a str,
    /// The body, without chunks.
    pub body: &'a [u8],
    /// The action that it asks for.
    pub asked: Asked<'a>,
    /// The header fields that a page wants to send, if its browser asks for permission first ([`permit`]); not empty.
    pub headers: Option<&'a str>,
    /// The origin of the page that sends it, if a browser names it. Answers name it too.
    pub origin: Option<&'a str>,
    /// The tag of the previous response, if the request names it (`If-None-Match`).
    pub tag: Option<&'a str>,
}

/// The action that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked<'a> {
    /// It asks for the page through which browsers without CORS reach the service from pages of other origins
    /// ([`iframe`]).
    Iframe,
    /// It asks for the facts about the service ([`info`]).
    Info,
    /// It is not a SockJS request.
    Nothing,
    /// It posts messages to a session.
    Post {
        /// The name of the session.
        session: &'a str,
        /// An array of texts ([`Sender::texts`]).
        body: &'a [u8],
        /// The kind of request.
        sender: Sender,
    },
    /// A browser asks if the page of another origin may make a SockJS request (CORS, [`permit`]).
    Preflight {
        /// The only method of the address.
        method: &'static str,
    },
    /// It asks for the frames of a session.
    Receive {
        /// The name of the session.
        session: &'a str,
        /// The way in which it gets them.
        receiver: Receiver<'a>,
    },
    /// It breaks a rule of SockJS: scripts need a function that they can call, and a WebSocket its opening handshake.
    Wrong {
        /// The status of the answer.
        status: &'static str,
        /// The text of the answer.
        words: &'static str,
    },
}

/// The way in which frames reach a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receiver<'a> {
    /// The transport.
    pub transport: Transport,
    /// The function that scripts call; empty where there are no scripts.
    pub callback: &'a str,
}

/// The form of messages other than SockJS frames in one response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Each is a chunk of the chunked transfer coding (RFC 9112 §7.1).
    Chunks,
    /// Each is a server-sent event.
    Events,
    /// Each is a part of a `multipart/mixed` body (RFC 2046 §5.1).
    Parts,
}

impl Stream {
    /// True for a message that has this form: an empty one cannot be a chunk, and one that contains our boundary cannot
    /// be a part.
    pub fn takes(self, text: &str) -> bool {
        match self {
            Self::Chunks => !text.is_empty(),
            Self::Events => true,
            Self::Parts => !text.contains(BOUNDARY),
        }
    }
}

/// The requests that post messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// `jsonp_send`.
    Jsonp {
        /// True if the body is a form, with the array as its value `d`.
        is_form: bool,
    },
    /// `xhr_send`.
    Xhr,
}

impl<'a> Request<'a> {
    /// Reads a whole request, head and body; bytes that are not a request become one without a method.
    pub fn read(request: &'a [u8]) -> Self {
        let mut slots = head::slots();
        let limits = HeadLimits { head_len_max: usize::MAX, headers_max: HEADERS_MAX };
        let Ok(Some(head)) = head::request(request, &mut slots, limits) else {
            let (method, target, body) = ("", "", &[][..]);
            return Self {
                method,
                target,
                body,
                asked: Asked::Nothing,
                headers: None,
                origin: None,
                tag: None,
            };
        };
        let body = &request[head.len..];
        let headers = field_of(&head, "access-control-request-headers");
        Self {
            method: head.method,
            target: head.target,
            body,
            asked: Asked::of(&head, body),
            headers: headers.filter(|headers| !headers.is_empty()),
            origin: origin_of(&head),
            tag: field_of(&head, "if-none-match"),
        }
    }
}

impl<'a> Asked<'a> {
    fn of(head: &RequestHead<'_, 'a>, body: &'a [u8]) -> Self {
        let path = path_of(head.target);
        let receive = |session, transport| {
            let receiver = Receiver { transport, callback: "" };
            Self::Receive { session, receiver }
        };
        let call = |session, transport| match callback_of(head.target) {
            Ok(callback) => Self::Receive { session, receiver: Receiver { transport, callback } },
            Err(words) => Self::Wrong { status: "500 Internal Server Error", words },
        };
        let is_form = || {
            let content_type = field_of(head, "content-type").unwrap_or_default();
            content_type.starts_with("application/x-www-form-urlencoded")
        };
        let (method, asked) = match transport_of(path) {
            _ if path.ends_with("/info") => ("GET", Self::Info),
            _ if is_iframe(path) => ("GET", Self::Iframe),
            // A request that opens a WebSocket does not reach this code.
            _ if path.ends_with("/websocket") => {
                let (status, words) = match head.method {
                    "GET" => ("400 Bad Request", "Can \"Upgrade\" only to \"WebSocket\"."),
                    _ => ("405 Method Not Allowed\r\nAllow: GET", ""),
                };
                return Self::Wrong { status, words };
            }
            Some((session, "xhr")) => ("POST", receive(session, Transport::Xhr)),
            Some((session, "xhr_streaming")) => ("POST", receive(session, Transport::XhrStreaming)),
            Some((session, "eventsource")) => ("GET", receive(session, Transport::EventSource)),
            Some((session, "htmlfile")) => ("GET", call(session, Transport::HtmlFile)),
            Some((session, "jsonp")) => ("GET", call(session, Transport::Jsonp)),
            Some((session, "xhr_send")) => {
                ("POST", Self::Post { session, body, sender: Sender::Xhr })
            }
            Some((session, "jsonp_send")) => {
                let sender = Sender::Jsonp { is_form: is_form() };
                ("POST", Self::Post { session, body, sender })
            }
            Some(_) | None => return Self::Nothing,
        };
        match head.method {
            "OPTIONS" => Self::Preflight { method },
            its if its == method => asked,
            _ => Self::Nothing,
        }
    }
}

/// True for the path of the page that [`iframe`] writes; its name may contain a version.
fn is_iframe(path: &str) -> bool {
    let path = path.strip_suffix('/').unwrap_or(path);
    let name = path.rsplit_once('/').map_or("", |(_, name)| name);
    let version = name.strip_prefix("iframe").and_then(|rest| rest.strip_suffix(".html"));
    let is_letter =
        |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase() || b"-._".contains(&byte);
    version.is_some_and(|version| version.bytes().all(is_letter))
}

/// The function that the query of `target` names for scripts to call.
///
/// # Errors
///
/// The text of the response, whose status is 500.
fn callback_of(target: &str) -> Result<&str, &'static str> {
    let (_, query) = target.split_once('?').unwrap_or((target, ""));
    let named = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name));
    let callback = named("c=").or_else(|| named("callback="));
    let callback = callback.ok_or("\"callback\" parameter required")?;
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_name =
        (1..=CALLBACK_LEN_MAX).contains(&callback.len()) && callback.bytes().all(is_letter);
    if is_name { Ok(callback) } else { Err("invalid \"callback\" parameter") }
}

impl Sender {
    /// The texts of a post.
    ///
    /// # Errors
    ///
    /// The text of the response, whose status is 500.
    pub fn texts(self, body: &[u8]) -> Result<Vec<String>, &'static str> {
        if self != (Self::Jsonp { is_form: true }) {
            return texts(body);
        }
        let value = body.split(|byte| *byte == b'&').find_map(|pair| pair.strip_prefix(b"d="));
        let spaced: Option<Vec<u8>> = value.map(|value| {
            value.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect()
        });
        let array = spaced.map_or(Some(Vec::new()), |value| percent_decoded(&value));
        texts(&array.ok_or(BROKEN)?)
    }
}

/// The texts of an array.
///
/// # Errors
///
/// The text of the response, whose status is 500.
fn texts(body: &[u8]) -> Result<Vec<String>, &'static str> {
    match body {
        b"" => Err("Payload expected."),
        _ => serde_json::from_slice(body).map_err(|_| BROKEN),
    }
}

/// The texts in a message over WebSocket: an array of them, or one alone. An empty message has none.
///
/// # Errors
///
/// The text for a message that is neither; the connection ends.
pub fn framed_texts(message: &[u8]) -> Result<Vec<String>, &'static str> {
    match message {
        b"" => Ok(Vec::new()),
        [b'"', ..] => serde_json::from_slice(message).map(|text| vec![text]).map_err(|_| BROKEN),
        _ => texts(message),
    }
}

/// The frame that carries texts, given as JSON with commas between them.
pub fn message_frame(texts: &str) -> String {
    format!("a[{texts}]")
}

/// Appends `text` as JSON, and escapes the letters that some browsers change in transit.
pub fn write_text(text: &str, json: &mut String) {
    json.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => json.extend(['\\', letter]),
            '\n' => json.push_str("\\n"),
            '\0'..='\u{1f}'
            | '\u{200c}'..='\u{200f}'
            | '\u{2028}'..='\u{202f}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fff0}'..='\u{ffff}' => {
                write!(json, "\\u{:04x}", u32::from(letter)).ok(); // A string takes everything.
            }
            _ => json.push(letter),
        }
    }
    json.push('"');
}

/// Begins the response that carries frames, on the connection of the request that waits for it: a poll is answered only
/// once there is a frame.
///
/// # Errors
///
/// As [`Connection::stream`].
pub fn begin(
    machine: &mut Connection,
    receiver: Receiver<'_>,
    origin: Option<&str>,
    tx: &mut Vec<u8>,
) -> Result<(), MisuseError> {
    let (content_type, prelude) = match receiver.transport {
        Transport::Jsonp
        | Transport::Polling
        | Transport::Upgrade
        | Transport::Usual
        | Transport::Xhr => return Ok(()),
        Transport::HtmlFile => ("text/html; charset=UTF-8", page_head(receiver.callback)),
        Transport::EventSource => ("text/event-stream", b"\r\n".to_vec()),
        Transport::XhrStreaming => {
            let mut prelude = vec![b'h'; PRELUDE_LEN];
            prelude.push(b'\n');
            (JAVASCRIPT, prelude)
        }
    };
    begin_chunks(machine, content_type, &prelude, origin, tx)
}

fn begin_chunks(
    machine: &mut Connection,
    content_type: &str,
    prelude: &[u8],
    origin: Option<&str>,
    tx: &mut Vec<u8>,
) -> Result<(), MisuseError> {
    let mut head = head_of("200 OK", content_type, origin);
    head.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
    machine.stream(StreamPiece::OwnHead(&head), tx)?;
    machine.stream(StreamPiece::Bytes(prelude), tx)
}

/// Writes a frame; it answers a poll, and over WebSocket each packet in it is a message. Returns the number of bytes
/// that count towards the end of a stream.
///
/// # Errors
///
/// As [`Connection::stream`].
pub fn frame(
    machine: &mut Connection,
    receiver: Receiver<'_>,
    frame: &str,
    origin: Option<&str>,
    tx: &mut Vec<u8>,
) -> Result<usize, MisuseError> {
    let body = match receiver.transport {
        Transport::Usual => {
            for packet in frame.split(char::from(SEPARATOR)) {
                let bytes = bytes_in(packet.as_bytes());
                let message = match &bytes {
                    Some(payload) => Message { kind: Kind::Binary, payload },
                    None => Message { kind: Kind::Text, payload: packet.as_bytes() },
                };
                machine.send(message, tx)?;
            }
            return Ok(0);
        }
        Transport::Xhr => {
            respond(machine, "200 OK", JAVASCRIPT, &format!("{frame}\n"), origin, tx)?;
            return Ok(0);
        }
        // A session that will be upgraded polls until then.
        Transport::Polling | Transport::Upgrade => {
            respond(machine, "200 OK", PLAIN, frame, origin, tx)?;
            return Ok(0);
        }
        Transport::Jsonp => {
            let script = format!("/**/{}({});\r\n", receiver.callback, quoted(frame));
            respond(machine, "200 OK", SCRIPT, &script, origin, tx)?;
            return Ok(0);
        }
        Transport::EventSource => format!("data: {frame}\r\n\r\n"),
        Transport::HtmlFile => format!("<script>\np({});\n</script>\r\n", quoted(frame)),
        Transport::XhrStreaming => format!("{frame}\n"),
    };
    machine.stream(StreamPiece::Bytes(body.as_bytes()), tx)?;
    Ok(body.len())
}

/// A frame as a text in a script, escaped so that it cannot end the script.
fn quoted(frame: &str) -> String {
    let mut text = String::with_capacity(frame.len() + 16);
    write_text(frame, &mut text);
    text.replace("</", "<\\/")
}

/// The beginning of a page whose scripts call a function of the page around it: long enough that browsers run them at
/// once.
fn page_head(callback: &str) -> Vec<u8> {
    let text = format!("{PAGE_BEFORE}{callback}{PAGE_BEHIND}");
    let len = PAGE_LEN + callback.len();
    format!("{text:<len$}\r\n\r\n").into_bytes()
}

/// Ends a stream, after which its client asks for the next one.
///
/// # Errors
///
/// As [`Connection::stream`].
pub fn end(machine: &mut Connection, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
    machine.stream(StreamPiece::End, tx)
}

/// Answers a post that was taken from a sender.
///
/// # Errors
///
/// No request waits for an answer.
pub fn accept(
    machine: &mut Connection,
    sender: Sender,
    origin: Option<&str>,
    tx: &mut Vec<u8>,
) -> Result<(), MisuseError> {
    if let Sender::Jsonp { .. } = sender {
        return respond(machine, "200 OK", PLAIN, "ok", origin, tx);
    }
    say_nothing(machine, "", origin, tx)
}

/// Answers a request for the facts about the service: WebSocket is available, pages from anywhere may connect, and no
/// cookie is needed. `entropy` is a new number each time, for clients without a source of their own.
///
/// # Errors
///
/// No request waits for an answer.
pub fn info(
    machine: &mut Connection,
    entropy: u32,
    origin: Option<&str>,
    tx: &mut Vec<u8>,
) -> Result<(), MisuseError> {
    let body = format!(
        "{{\"websocket\":true,\"origins\":[\"*:*\"],\"cookie_needed\":false,\"entropy\":{entropy}}}"
    );
    respond(machine, "200 OK", JSON, &body, origin, tx)
}

/// Answers a request for the address of the service itself with a greeting.
///
/// # Errors
///
/// No request waits for an answer.
pub fn greet(machine: &mut Connection, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
    let len = GREETING.len();
    let response = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {PLAIN}\r\nContent-Length: {len}\r\n\r\n{GREETING}"
    );
    send(machine, response.as_bytes(), tx)
}

/// Answers a request for the page that loads the library of SockJS inside the origin of the service. Browsers keep it
/// for a year; the answer to one that has it already, and names its `tag`, is that it has not changed.
///
/// # Errors
///
/// No request waits for an answer.
pub fn iframe(
    machine: &mut Connection,
    tag: Option<&str>,
    tx: &mut Vec<u8>,
) -> Result<(), MisuseError> {
    let own = format!("\"{}\"", BASE64_STANDARD.encode(Sha1::digest(IFRAME)));
    let is_own = |tag: &str| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == own;
    let is_known = tag.is_some_and(|tags| tags.split(',').any(|tag| is_own(tag.trim())));
    let response = match is_known {
        true => format!("HTTP/1.1 304 Not Modified\r\nETag: {own}\r\n{CACHED}\r\n"),
        false => format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=UTF-8\r\nETag: {own}\r\n{CACHED}\
             Content-Length: {}\r\n\r\n{IFRAME}",
            IFRAME.len()
        ),
    };
    send(machine, response.as_bytes(), tx)
}

/// Permits a page to make requests with `method` and with `headers`; browsers may remember that for a year.
///
/// # Errors
///
/// No request waits for an answer.
pub fn permit(
    machine: &mut Connection,
    method: &str,
    headers: Option<&str>,
    origin: Option<&str>,
    tx: &mut Vec<u8>,
) -> Result<(), MisuseError> {
    let headers = headers.map(|headers| format!("Access-Control-Allow-Headers: {headers}\r\n"));
    let headers = headers.unwrap_or_default();
    let mut response = format!(
        "HTTP/1.1 204 No Content\r\n{CACHED}Access-Control-Max-Age: 31536000\r\n\
         Access-Control-Allow-Methods: OPTIONS, {method}\r\n{headers}"
    )
    .into_bytes();
    append_permission_for(origin, &mut response);
    response.extend_from_slice(b"\r\n");
    send(machine, &response, tx)
}

/// Begins the response that carries messages as a stream.
///
/// # Errors
///
/// As [`Connection::stream`].
pub fn begin_stream(
    machine: &mut Connection,
    stream: Stream,
    origin: Option<&str>,
    tx: &mut Vec<u8>,
) -> Result<(), MisuseError> {
    let (content_type, prelude) = match stream {
        Stream::Chunks => (PLAIN.to_owned(), String::new()),
        Stream::Events => ("text/event-stream".to_owned(), "\r\n".to_owned()),
        Stream::Parts => (format!("multipart/mixed; boundary={BOUNDARY}"), format!("--{BOUNDARY}")),
    };
    begin_chunks(machine, &content_type, prelude.as_bytes(), origin, tx)
}

/// Writes a message of such a stream.
///
/// # Errors
///
/// As [`Connection::stream`]; or the stream cannot carry the message ([`Stream::takes`]).
pub fn append(
    machine: &mut Connection,
    stream: Stream,
    text: &str,
    tx: &mut Vec<u8>,
) -> Result<(), MisuseError> {
    if !stream.takes(text) {
        return Err(MisuseError::Malformed { expected: "a message of this stream" });
    }
    let bytes: Cow<'_, [u8]> = match stream {
        Stream::Chunks => text.as_bytes().into(),
        Stream::Events => {
            let mut event = Vec::with_capacity(text.len() + 16);
            append_event(text, &mut event);
            event.into()
        }
        Stream::Parts => {
            let part = format!("\r\nContent-Type: {PLAIN}\r\n\r\n{text}\r\n--{BOUNDARY}");
            part.into_bytes().into()
        }
    };
    machine.stream(StreamPiece::Bytes(&bytes), tx)
}

/// Ends such a stream.
///
/// # Errors
///
/// As [`Connection::stream`].
pub fn end_stream(
    machine: &mut Connection,
    stream: Stream,
    tx: &mut Vec<u8>,
) -> Result<(), MisuseError> {
    if stream == Stream::Parts {
        machine.stream(StreamPiece::Bytes(b"--\r\n"), tx)?;
    }
    end(machine, tx)
}

/// Answers a long poll with a message, or with none, under a `tag` that the next poll has to name.
///
/// # Errors
///
/// No request waits for an answer.
pub fn answer_poll(
    machine: &mut Connection,
    tag: &str,
    message: Option<&str>,
    origin: Option<&str>,
    tx: &mut Vec<u8>,
) -> Result<(), MisuseError> {
    let fields = format!("\r\nETag: \"{tag}\"\r\nAccess-Control-Expose-Headers: ETag");
    match message {
        Some(message) => respond(machine, &format!("200 OK{fields}"), PLAIN, message, origin, tx),
        None => say_nothing(machine, &fields, origin, tx),
    }
}

/// Answers a request with status 204, and with further fields if there are any.
fn say_nothing(
    machine: &mut Connection,
    fields: &str,
    origin: Option<&str>,
    tx: &mut Vec<u8>,
) -> Result<(), MisuseError> {
    let mut response = head_of(&format!("204 No Content{fields}"), PLAIN, origin);
    response.extend_from_slice(b"\r\n");
    send(machine, &response, tx)
}

/// Answers a request with a status, followed by further fields if there are any, and `words`; without words the answer
/// has no type.
///
/// # Errors
///
/// No request waits for an answer.
pub fn say(
    machine: &mut Connection,
    status: &str,
    words: &str,
    origin: Option<&str>,
    tx: &mut Vec<u8>,
) -> Result<(), MisuseError> {
    if !words.is_empty() {
        return respond(machine, status, PLAIN, words, origin, tx);
    }
    let mut response = format!("HTTP/1.1 {status}\r\n{NOT_CACHED}").into_bytes();
    append_permission_for(origin, &mut response);
    response.extend_from_slice(b"Content-Length: 0\r\n\r\n");
    send(machine, &response, tx)
}

pub(crate) fn respond(
    machine: &mut Connection,
    status: &str,
    content_type: &str,
    body: &str,
    origin: Option<&str>,
    tx: &mut Vec<u8>,
) -> Result<(), MisuseError> {
    let mut response = head_of(status, content_type, origin);
    let len = body.len();
    response.extend_from_slice(format!("Content-Length: {len}\r\n\r\n{body}").as_bytes());
    send(machine, &response, tx)
}

fn send(machine: &mut Connection, response: &[u8], tx: &mut Vec<u8>) -> Result<(), MisuseError> {
    machine.send(Message { kind: Kind::Binary, payload: response }, tx)
}

/// The head of a response that must not be cached, without the length of its body and the empty line after that.
fn head_of(status: &str, content_type: &str, origin: Option<&str>) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{NOT_CACHED}");
    let mut head = head.into_bytes();
    append_permission_for(origin, &mut head);
    head
}

/// Lets the page at `origin` read the answer, or any page if the request names none.
fn append_permission_for(origin: Option<&str>, tx: &mut Vec<u8>) {
    match origin {
        Some(origin) => append_permission(origin, tx),
        None => tx.extend_from_slice(b"Access-Control-Allow-Origin: *\r\n"),
    }
}

/// Bytes of frames after which a stream ends, as with sockjs-node.
pub const STREAM_LEN_MAX: usize = 128 << 10;

/// The field of responses that must not be cached, exactly as the protocol requires.
const NOT_CACHED: &str =
    "Cache-Control: no-store, no-cache, no-transform, must-revalidate, max-age=0\r\n";

/// The fields of responses that are cached for a year. The date is for caches that do not know `max-age`: there is no
/// clock here to compute another.
const CACHED: &str =
    "Cache-Control: public, max-age=31536000\r\nExpires: Thu, 31 Dec 2037 23:55:55 GMT\r\n";

/// The answer to a request for the address of the service itself.
const GREETING: &str = "Welcome to SockJS!\n";

/// The page inside the origin of a service, exactly as the protocol requires. The address of the library is that of
/// sockjs-node.
const IFRAME: &str = "<!DOCTYPE html>\n<html>\n<head>\n  \
    <meta http-equiv=\"X-UA-Compatible\" content=\"IE=edge\" />\n  \
    <meta http-equiv=\"Content-Type\" content=\"text/html; charset=UTF-8\" />\n  \
    <script src=\"https://cdn.jsdelivr.net/npm/sockjs-client@1/dist/sockjs.min.js\"></script>\n  \
    <script>\n    document.domain = document.domain;\n    SockJS.bootstrap_iframe();\n  </script>\n\
    </head>\n<body>\n  <h2>Don't panic!</h2>\n  \
    <p>This is a SockJS hidden iframe. It's used for cross domain magic.</p>\n</body>\n</html>";

const BROKEN: &str = "Broken JSON encoding.";
pub(crate) const JSON: &str = "application/json; charset=UTF-8";
const JAVASCRIPT: &str = "application/javascript; charset=UTF-8";
/// The type of an answer that is a script, whatever it looks like.
const SCRIPT: &str = "application/javascript; charset=UTF-8\r\nX-Content-Type-Options: nosniff";
const PLAIN: &str = "text/plain; charset=UTF-8";
/// The boundary of the parts of all streams: a message is written once for all its receivers.
const BOUNDARY: &str = "part-of-a-room-8c1f6a0e2d9b4735";

/// The longest name of a function that scripts call, as with sockjs-node.
const CALLBACK_LEN_MAX: usize = 32;

/// The head of a page before and after the name of the function, exactly as the protocol requires.
const PAGE_BEFORE: &str = "<!doctype html>\n<html><head>\n  \
    <meta http-equiv=\"X-UA-Compatible\" content=\"IE=edge\" />\n  \
    <meta http-equiv=\"Content-Type\" content=\"text/html; charset=UTF-8\" />\n\
    </head><body><h2>Don't panic!</h2>\n  <script>\n    document.domain = document.domain;\n    var c = parent.";
const PAGE_BEHIND: &str = ";\n    c.start();\n    function p(d) {c.message(d);};\n    \
    window.onload = function() {c.stop();};\n  </script>";

/// The length of that head and the blanks after it, without the name of the function, as with sockjs-node.
const PAGE_LEN: usize = 1023;

/// Number of letters before the first frame of a stream of lines, which make browsers hand out what follows.
const PRELUDE_LEN: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Event, Input};
    use crate::http1::Http1;
    use crate::transcript::HTTP_LIMITS;

    #[test]
    fn requests_are_known_by_method_and_path() {
        let receive = |session, transport| {
            let receiver = Receiver { transport, callback: "" };
            Asked::Receive { session, receiver }
        };
        let call = |transport, callback| {
            let receiver = Receiver { transport, callback };
            Asked::Receive { session: "s", receiver }
        };
        let post = |sender| Asked::Post { session: "s", body: b"[\"a\"]", sender };
        let (required, invalid) =
            ("\"callback\" parameter required", "invalid \"callback\" parameter");
        let no_callback = |words| Asked::Wrong { status: "500 Internal Server Error", words };
        let words = "Can \"Upgrade\" only to \"WebSocket\".";
        let no_upgrade = Asked::Wrong { status: "400 Bad Request", words };
        let not_allowed =
            Asked::Wrong { status: "405 Method Not Allowed\r\nAllow: GET", words: "" };
        let long = format!("GET /e/0/s/jsonp?c={} HTTP/1.1\r\nHost: h\r\n\r\n", "x".repeat(33));
        #[rustfmt::skip]
        let table: [(&str, Asked<'_>); _] = [
            ("POST /echo/000/abc/xhr HTTP/1.1\r\nHost: h\r\n\r\n",        receive("abc", Transport::Xhr)),
            ("POST /000/abc/xhr_streaming?t=1 HTTP/1.1\r\nHost: h\r\n\r\n", receive("abc", Transport::XhrStreaming)),
            ("GET /a/b/c/d/eventsource HTTP/1.1\r\nHost: h\r\n\r\n",      receive("d", Transport::EventSource)),
            ("GET /info HTTP/1.1\r\nHost: h\r\n\r\n",                       Asked::Info),
            ("GET /a/b/info?t=1 HTTP/1.1\r\nHost: h\r\n\r\n",               Asked::Info),
            ("GET /e/iframe.html HTTP/1.1\r\nHost: h\r\n\r\n",              Asked::Iframe),
            ("GET /iframe.html/ HTTP/1.1\r\nHost: h\r\n\r\n",               Asked::Iframe),
            ("GET /e/iframe-0.1.2abc-dirty.2144.html?t=1 HTTP/1.1\r\nHost: h\r\n\r\n", Asked::Iframe),
            ("POST /e/iframe.html HTTP/1.1\r\nHost: h\r\n\r\n",             Asked::Nothing),
            ("GET /e/iframe.htm HTTP/1.1\r\nHost: h\r\n\r\n",               Asked::Nothing),
            ("GET /e/iframe-A.html HTTP/1.1\r\nHost: h\r\n\r\n",            Asked::Nothing),
            ("GET /e/iframe HTTP/1.1\r\nHost: h\r\n\r\n",                   Asked::Nothing),
            ("POST /e/0/s/xhr_send HTTP/1.1\r\nHost: h\r\n\r\n[\"a\"]",   post(Sender::Xhr)),
            ("POST /e/0/s/jsonp_send HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\n\r\n[\"a\"]", post(Sender::Jsonp { is_form: false })),
            ("POST /e/0/s/jsonp_send HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded; charset=UTF-8\r\n\r\n[\"a\"]", post(Sender::Jsonp { is_form: true })),
            ("GET /e/0/s/htmlfile?c=_jp.a-1 HTTP/1.1\r\nHost: h\r\n\r\n", call(Transport::HtmlFile, "_jp.a-1")),
            ("GET /e/0/s/jsonp?t=1&callback=x HTTP/1.1\r\nHost: h\r\n\r\n", call(Transport::Jsonp, "x")),
            ("GET /e/0/s/jsonp HTTP/1.1\r\nHost: h\r\n\r\n",              no_callback(required)),
            ("GET /e/0/s/htmlfile?cc=x HTTP/1.1\r\nHost: h\r\n\r\n",      no_callback(required)),
            ("GET /e/0/s/htmlfile?c=a%20b HTTP/1.1\r\nHost: h\r\n\r\n",   no_callback(invalid)),
            ("GET /e/0/s/jsonp?c= HTTP/1.1\r\nHost: h\r\n\r\n",           no_callback(invalid)),
            (&long,                                                       no_callback(invalid)),
            ("POST /e/0/s/jsonp?c=x HTTP/1.1\r\nHost: h\r\n\r\n",         Asked::Nothing),
            ("GET /e/0/s/xhr HTTP/1.1\r\nHost: h\r\n\r\n",                Asked::Nothing),
            ("POST /e/0/s.t/xhr HTTP/1.1\r\nHost: h\r\n\r\n",             Asked::Nothing),
            ("POST /e/0//xhr HTTP/1.1\r\nHost: h\r\n\r\n",                Asked::Nothing),
            ("POST /xhr HTTP/1.1\r\nHost: h\r\n\r\n",                     Asked::Nothing),
            ("GET /e/0/s/websocket HTTP/1.1\r\nHost: h\r\n\r\n",          no_upgrade),
            ("GET /e/websocket HTTP/1.1\r\nHost: h\r\nUpgrade: a\r\n\r\n", no_upgrade),
            ("POST /e/0/s/websocket HTTP/1.1\r\nHost: h\r\n\r\n",         not_allowed),
            ("OPTIONS /websocket HTTP/1.1\r\nHost: h\r\n\r\n",            not_allowed),
            ("GET / HTTP/1.1\r\nHost: h\r\n\r\n",                         Asked::Nothing),
            ("",                                                          Asked::Nothing),
        ];
        for (request, expected) in table {
            let read = Request::read(request.as_bytes());
            assert_eq!(read.asked, expected, "{request:?}");
            let is_read = request.starts_with(&format!("{} {} ", read.method, read.target));
            assert!(is_read || request.is_empty(), "{read:?}");
            assert!(request.as_bytes().ends_with(read.body), "{read:?}");
            assert_eq!((read.headers, read.origin), (None, None), "{request:?}");
        }
    }

    #[test]
    fn a_browser_may_ask_first_for_each_address() {
        for (path, method) in [
            ("/info", "GET"),
            ("/e/0/s/eventsource", "GET"),
            ("/e/0/s/htmlfile", "GET"),
            ("/e/0/s/jsonp", "GET"),
            ("/e/0/s/jsonp_send", "POST"),
            ("/e/0/s/xhr", "POST"),
            ("/e/0/s/xhr_streaming", "POST"),
            ("/e/0/s/xhr_send", "POST"),
        ] {
            for (field, headers) in [("", None), ("x-a, x-b", Some("x-a, x-b"))] {
                let request = format!(
                    "OPTIONS {path} HTTP/1.1\r\nHost: h\r\nOrigin: http://a.example\r\n\
                     Access-Control-Request-Headers: {field}\r\n\r\n"
                );
                let read = Request::read(request.as_bytes());
                assert_eq!(read.asked, Asked::Preflight { method }, "{request:?}");
                assert_eq!((read.headers, read.origin), (headers, Some("http://a.example")));
            }
        }
    }

    #[test]
    fn answers_name_the_origin_that_was_named() {
        let named = "Access-Control-Allow-Origin: http://a.example\r\n\
            Access-Control-Allow-Credentials: true\r\nVary: Origin\r\n";
        let any = "Access-Control-Allow-Origin: *\r\n";
        for (origin, permission) in [(Some("http://a.example"), named), (None, any)] {
            let fixed =
                "Cache-Control: no-store, no-cache, no-transform, must-revalidate, max-age=0\r\n";
            let told = answered(|machine, tx| info(machine, 7, origin, tx));
            let body = r#"{"websocket":true,"origins":["*:*"],"cookie_needed":false,"entropy":7}"#;
            let expected = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=UTF-8\r\n{fixed}{permission}\
                 Content-Length: {}\r\n\r\n{body}",
                body.len()
            );
            assert_eq!(told, expected);
            let told = answered(|machine, tx| accept(machine, Sender::Xhr, origin, tx));
            let expected = format!(
                "HTTP/1.1 204 No Content\r\nContent-Type: text/plain; charset=UTF-8\r\n{fixed}{permission}\r\n"
            );
            assert_eq!(told, expected);
            for (headers, field) in
                [(None, ""), (Some("x-a"), "Access-Control-Allow-Headers: x-a\r\n")]
            {
                let told = answered(|machine, tx| permit(machine, "POST", headers, origin, tx));
                let expected = format!(
                    "HTTP/1.1 204 No Content\r\nCache-Control: public, max-age=31536000\r\n\
                     Expires: Thu, 31 Dec 2037 23:55:55 GMT\r\nAccess-Control-Max-Age: 31536000\r\n\
                     Access-Control-Allow-Methods: OPTIONS, POST\r\n{field}{permission}\r\n"
                );
                assert_eq!(told, expected);
            }
            let begun = answered(|machine, tx| begin_stream(machine, Stream::Events, origin, tx));
            let expected = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{fixed}{permission}\
                 Transfer-Encoding: chunked\r\n\r\n2\r\n\r\n\r\n"
            );
            assert_eq!(begun, expected);
        }
    }

    #[test]
    fn scripts_carry_frames_and_do_not_end_before_them() {
        let receiver = |transport| Receiver { transport, callback: "_jp.a" };
        let text = "a[\"\\\"</script>\"]";
        let polled = answered(|machine, tx| {
            frame(machine, receiver(Transport::Jsonp), text, None, tx).map(|len| assert_eq!(len, 0))
        });
        let script = "/**/_jp.a(\"a[\\\"\\\\\\\"<\\/script>\\\"]\");\r\n";
        assert!(polled.ends_with(&format!("\r\n\r\n{script}")), "{polled}");
        assert!(
            polled.contains("javascript; charset=UTF-8\r\nX-Content-Type-Options: nosniff\r\n")
        );
        let mut len = 0;
        let page = answered(|machine, tx| {
            begin(machine, receiver(Transport::HtmlFile), None, tx)?;
            len = frame(machine, receiver(Transport::HtmlFile), text, None, tx)?;
            end(machine, tx)
        });
        let (head, body) = page.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("Content-Type: text/html; charset=UTF-8\r\n"), "{head}");
        // The prelude is one chunk, and so is the frame: 1023 bytes, the name, and the line ends.
        let script = "<script>\np(\"a[\\\"\\\\\\\"<\\/script>\\\"]\");\n</script>\r\n";
        let (prelude_len, frame_len) = (1023 + 5 + 4, script.len());
        assert!(
            body.starts_with(&format!("{prelude_len:x}\r\n<!doctype html>\n<html><head>\n  <meta")),
            "{body}"
        );
        assert!(body.contains("var c = parent._jp.a;\n    c.start();\n"), "{body}");
        assert!(
            body.ends_with(&format!("\r\n\r\n\r\n{frame_len:x}\r\n{script}\r\n0\r\n\r\n")),
            "{body}"
        );
        assert_eq!(len, frame_len);
    }

    #[test]
    fn a_form_has_the_array_as_its_value() {
        let form = Sender::Jsonp { is_form: true };
        for sender in [form, Sender::Jsonp { is_form: false }, Sender::Xhr] {
            assert_eq!(sender.texts(b""), Err("Payload expected."), "{sender:?}");
        }
        let texts = |texts: &[&str]| Ok(texts.iter().map(|text| (*text).to_owned()).collect());
        for (body, expected) in [
            ("d=%5B%22a+b%2B%22%5D", texts(&["a b+"])),
            ("x=1&d=[\"a\"]", texts(&["a"])),
            ("d=[]", texts(&[])),
            ("d=", Err("Payload expected.")),
            ("p=p", Err("Payload expected.")),
            ("d=%5", Err("Broken JSON encoding.")),
            ("d=[", Err("Broken JSON encoding.")),
            ("[\"a\"]", Err("Payload expected.")),
        ] {
            assert_eq!(form.texts(body.as_bytes()), expected, "{body}");
        }
    }

    /// The answer to a request, as `answer` writes it.
    fn answered(
        answer: impl FnOnce(&mut Connection, &mut Vec<u8>) -> Result<(), MisuseError>,
    ) -> String {
        let mut machine = Connection::from(Http1::whole_requests(HTTP_LIMITS));
        let mut request = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n".to_vec();
        let mut tx = Vec::new();
        let heard = machine.receive(&mut Input::new(&mut request), &mut tx);
        assert!(matches!(heard, Ok(Some(Event::Message(_)))), "{heard:?}");
        answer(&mut machine, &mut tx).unwrap();
        String::from_utf8(tx).unwrap()
    }

    #[test]
    fn a_message_over_websocket_is_an_array_of_texts_or_one_text() {
        let text = |text: &str| Ok(vec![text.to_owned()]);
        assert_eq!(framed_texts(br#"["a"]"#), text("a"));
        assert_eq!(framed_texts(br#""a\n""#), text("a\n"));
        assert_eq!(framed_texts(b""), Ok(Vec::new()));
        assert_eq!(framed_texts(b"[]"), Ok(Vec::new()));
        for broken in [&b"[\"a\""[..], b"\"a", b"a", b"[1]", b"{}"] {
            assert_eq!(framed_texts(broken), Err("Broken JSON encoding."), "{broken:?}");
        }
    }

    #[test]
    fn a_post_is_an_array_of_texts() {
        assert_eq!(texts(br#"["a","\u00e9\n"]"#), Ok(vec!["a".to_owned(), "\u{e9}\n".to_owned()]));
        assert_eq!(texts(b"[]"), Ok(Vec::new()));
        assert_eq!(texts(b""), Err("Payload expected."));
        for broken in [&b"[\"a\""[..], b"\"a\"", b"[1]", b"[\"a\"]x", b"[\"\xff\"]", b"{}"] {
            assert_eq!(texts(broken), Err("Broken JSON encoding."), "{broken:?}");
        }
    }

    #[test]
    fn letters_that_browsers_change_are_escaped_and_read_back() {
        let text = "a\"\\\n\r\0\u{200c}\u{200f}\u{2028}\u{206f}\u{fff0}\u{ffff}\u{e9}\u{1f600}";
        let mut json = String::new();
        write_text(text, &mut json);
        let expected = "\"a\\\"\\\\\\n\\u000d\\u0000\\u200c\\u200f\\u2028\\u206f\\ufff0\\uffff\u{e9}\u{1f600}\"";
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }
}
