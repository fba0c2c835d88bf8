//! The server's half of the transports over HTTP, without sessions: requests are read, and responses written. Its owner
//! may answer other requests as well, in the same way.

use super::session::transport_of;
use crate::connection::Connection;
use crate::contract::{Kind, Message, MisuseError, Protocol};
use crate::http1::StreamPiece;
use crate::http1::head::{self, HEADERS_MAX, HeadLimits, RequestHead};
use crate::http1::site::{append_permission, field_of, origin_of, path_of};
use crate::sse::append_event;
use spec::Transport;
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
    /// The thing that it asks for.
    pub asked: Asked<'a>,
    /// The header fields that a page wants to send, where its browser asks for that first ([`permit`]); not empty.
    pub headers: Option<&'a str>,
    /// The origin of the page that it comes from, where a browser names it. Answers name it, too.
    pub origin: Option<&'a str>,
}

/// The thing that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked<'a> {
    /// It asks for the facts about the service ([`info`]).
    Info,
    /// It is no request of SockJS.
    Nothing,
    /// It posts messages to a session.
    Post {
        /// The name of the session.
        session: &'a str,
        /// An array of texts.
        body: &'a [u8],
    },
    /// A browser asks if the page of another origin may make a request (CORS), which is one of SockJS ([`permit`]).
    Preflight {
        /// The one method of the address.
        method: &'static str,
    },
    /// It asks for the frames of a session.
    Receive {
        /// The name of the session.
        session: &'a str,
        /// The transport.
        transport: Transport,
    },
}

impl<'a> Request<'a> {
    /// Reads a whole request, head and body; bytes that are none are a request without a method.
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
        }
    }
}

impl<'a> Asked<'a> {
    fn of(head: &RequestHead<'_, 'a>, body: &'a [u8]) -> Self {
        let path = path_of(head.target);
        let receive = |session, transport| Self::Receive { session, transport };
        let (method, asked) = match transport_of(path) {
            _ if path.ends_with("/info") => ("GET", Self::Info),
            Some((session, "xhr")) => ("POST", receive(session, Transport::Xhr)),
            Some((session, "xhr_streaming")) => ("POST", receive(session, Transport::XhrStreaming)),
            Some((session, "eventsource")) => ("GET", receive(session, Transport::EventSource)),
            Some((session, "xhr_send")) => ("POST", Self::Post { session, body }),
            Some(_) | None => return Self::Nothing,
        };
        match head.method {
            "OPTIONS" => Self::Preflight { method },
            its if its == method => asked,
            _ => Self::Nothing,
        }
    }
}

/// The texts of a post.
///
/// # Errors
///
/// The words of the response, whose status is 500.
pub fn texts(body: &[u8]) -> Result<Vec<String>, &'static str> {
    match body {
        b"" => Err("Payload expected."),
        _ => serde_json::from_slice(body).map_err(|_| BROKEN),
    }
}

/// The texts in a message over WebSocket: an array of them, or one alone. A message without a byte has none.
///
/// # Errors
///
/// The words for a message that is neither; the connection ends.
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

/// Appends `text` as JSON, with the letters escaped that some browsers change on their way.
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
                write!(json, "\\u{:04x}", u32::from(letter)).ok(); // A string takes all.
            }
            _ => json.push(letter),
        }
    }
    json.push('"');
}

/// Begins the response that brings frames, on the connection of a request that waits for it: in a poll nothing is
/// written before the frame is there.
///
/// # Errors
///
/// As [`Connection::stream`].
pub fn begin(
    machine: &mut Connection,
    transport: Transport,
    origin: Option<&str>,
    tx: &mut Vec<u8>,
) -> Result<(), MisuseError> {
    let (content_type, prelude) = match transport {
        Transport::Usual | Transport::Xhr => return Ok(()),
        Transport::EventSource => ("text/event-stream", b"\r\n".to_vec()),
        Transport::XhrStreaming => {
            let mut prelude = vec![b'h'; PRELUDE_LEN];
            prelude.push(b'\n');
            (JAVASCRIPT, prelude)
        }
    };
    let mut head = head_of("200 OK", content_type, origin);
    head.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
    machine.stream(StreamPiece::OwnHead(&head), tx)?;
    machine.stream(StreamPiece::Bytes(&prelude), tx)
}

/// Writes a frame; a poll is answered by it. Returns the bytes of a stream that count towards its end.
///
/// # Errors
///
/// As [`Connection::stream`].
pub fn frame(
    machine: &mut Connection,
    transport: Transport,
    frame: &str,
    origin: Option<&str>,
    tx: &mut Vec<u8>,
) -> Result<usize, MisuseError> {
    let body = match transport {
        Transport::Usual | Transport::Xhr => {
            respond(machine, "200 OK", JAVASCRIPT, &format!("{frame}\n"), origin, tx)?;
            return Ok(0);
        }
        Transport::EventSource => format!("data: {frame}\r\n\r\n"),
        Transport::XhrStreaming => format!("{frame}\n"),
    };
    machine.stream(StreamPiece::Bytes(body.as_bytes()), tx)?;
    Ok(body.len())
}

/// Ends a stream, after which its client asks for the next one.
///
/// # Errors
///
/// As [`Connection::stream`].
pub fn end(machine: &mut Connection, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
    machine.stream(StreamPiece::End, tx)
}

/// Answers a post that was taken.
///
/// # Errors
///
/// No request waits for an answer.
pub fn accept(
    machine: &mut Connection,
    origin: Option<&str>,
    tx: &mut Vec<u8>,
) -> Result<(), MisuseError> {
    let mut response = head_of("204 No Content", PLAIN, origin);
    response.extend_from_slice(b"\r\n");
    send(machine, &response, tx)
}

/// Answers a request for the facts about the service: WebSocket is there, pages from anywhere may connect, and no
/// cookie is needed. `entropy` is another number each time, for clients without a source of their own.
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
        "HTTP/1.1 204 No Content\r\n{CACHED}Access-Control-Allow-Methods: OPTIONS, {method}\r\n{headers}"
    )
    .into_bytes();
    append_permission_for(origin, &mut response);
    response.extend_from_slice(b"\r\n");
    send(machine, &response, tx)
}

/// Writes an event of a stream that was begun with [`Transport::EventSource`].
///
/// # Errors
///
/// As [`Connection::stream`].
pub fn event(machine: &mut Connection, data: &str, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
    let mut event = Vec::with_capacity(data.len() + 16);
    append_event(data, &mut event);
    machine.stream(StreamPiece::Bytes(&event), tx)
}

/// Answers a request by a status, with further fields behind it if there are any, and words.
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
    respond(machine, status, PLAIN, words, origin, tx)
}

fn respond(
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

/// The head of a response that nobody keeps, but for the length of its body and the empty line behind it.
fn head_of(status: &str, content_type: &str, origin: Option<&str>) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{NOT_CACHED}");
    let mut head = head.into_bytes();
    append_permission_for(origin, &mut head);
    head
}

/// Lets the page at `origin` read the answer, or any page where the request names none.
fn append_permission_for(origin: Option<&str>, tx: &mut Vec<u8>) {
    match origin {
        Some(origin) => append_permission(origin, tx),
        None => tx.extend_from_slice(b"Access-Control-Allow-Origin: *\r\n"),
    }
}

/// A stream ends once so many bytes of frames were written, as that of sockjs-node does.
pub const STREAM_LEN_MAX: usize = 128 << 10;

/// The field of responses that nobody may keep, exactly as the protocol wants it.
const NOT_CACHED: &str =
    "Cache-Control: no-store, no-cache, no-transform, must-revalidate, max-age=0\r\n";

/// The fields of responses that are kept for a year. The date is for caches that do not know `max-age`: there is no
/// clock here to work out another.
const CACHED: &str = "Cache-Control: public, max-age=31536000\r\nAccess-Control-Max-Age: 31536000\r\n\
    Expires: Thu, 31 Dec 2037 23:55:55 GMT\r\n";

const BROKEN: &str = "Broken JSON encoding.";
const JSON: &str = "application/json; charset=UTF-8";
const JAVASCRIPT: &str = "application/javascript; charset=UTF-8";
const PLAIN: &str = "text/plain; charset=UTF-8";

/// The letters before the first frame of a stream of lines, which make browsers hand out what follows.
const PRELUDE_LEN: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Event, Input};
    use crate::http1::Http1;
    use crate::transcript::HTTP_LIMITS;

    #[test]
    fn requests_are_known_by_method_and_path() {
        let receive = |session, transport| Asked::Receive { session, transport };
        #[rustfmt::skip]
        let table: [(&str, Asked<'_>); _] = [
            ("POST /echo/000/abc/xhr HTTP/1.1\r\nHost: h\r\n\r\n",        receive("abc", Transport::Xhr)),
            ("POST /000/abc/xhr_streaming?t=1 HTTP/1.1\r\nHost: h\r\n\r\n", receive("abc", Transport::XhrStreaming)),
            ("GET /a/b/c/d/eventsource HTTP/1.1\r\nHost: h\r\n\r\n",      receive("d", Transport::EventSource)),
            ("GET /info HTTP/1.1\r\nHost: h\r\n\r\n",                       Asked::Info),
            ("GET /a/b/info?t=1 HTTP/1.1\r\nHost: h\r\n\r\n",               Asked::Info),
            ("POST /e/0/s/xhr_send HTTP/1.1\r\nHost: h\r\n\r\n[\"a\"]",   Asked::Post { session: "s", body: b"[\"a\"]" }),
            ("GET /e/0/s/xhr HTTP/1.1\r\nHost: h\r\n\r\n",                Asked::Nothing),
            ("POST /e/0/s.t/xhr HTTP/1.1\r\nHost: h\r\n\r\n",             Asked::Nothing),
            ("POST /e/0//xhr HTTP/1.1\r\nHost: h\r\n\r\n",                Asked::Nothing),
            ("POST /xhr HTTP/1.1\r\nHost: h\r\n\r\n",                     Asked::Nothing),
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
            let told = answered(|machine, tx| accept(machine, origin, tx));
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
                     Access-Control-Max-Age: 31536000\r\nExpires: Thu, 31 Dec 2037 23:55:55 GMT\r\n\
                     Access-Control-Allow-Methods: OPTIONS, POST\r\n{field}{permission}\r\n"
                );
                assert_eq!(told, expected);
            }
            let begun = answered(|machine, tx| begin(machine, Transport::EventSource, origin, tx));
            let expected = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{fixed}{permission}\
                 Transfer-Encoding: chunked\r\n\r\n2\r\n\r\n\r\n"
            );
            assert_eq!(begun, expected);
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
