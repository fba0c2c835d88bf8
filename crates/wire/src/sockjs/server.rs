//! The server's half of the transports over HTTP, without sessions: requests are read, and responses written.

use crate::connection::Connection;
use crate::contract::{Kind, Message, MisuseError, Protocol};
use crate::http1::StreamPiece;
use spec::Transport;
use std::fmt::Write;

/// The request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked<'a> {
    /// It is no request of SockJS.
    Nothing,
    /// It posts messages to a session.
    Post {
        /// The name of the session.
        session: &'a str,
        /// An array of texts.
        body: &'a [u8],
    },
    /// It asks for the frames of a session.
    Receive {
        /// The name of the session.
        session: &'a str,
        /// The transport.
        transport: Transport,
    },
}

impl<'a> Asked<'a> {
    /// Reads a whole request: head and body. The part of the path that is for load balancers is passed over.
    pub fn read(request: &'a [u8]) -> Self {
        let Some(end) = request.windows(4).position(|it| it == b"\r\n\r\n") else {
            return Self::Nothing;
        };
        let (head, body) = (&request[..end], &request[end + 4..]);
        let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let mut words = str::from_utf8(line).unwrap_or_default().split(' ');
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Self::Nothing;
        };
        let path = target.split('?').next().unwrap_or_default();
        let mut parts = path.rsplit('/');
        let (Some(name), Some(session), Some(server)) = (parts.next(), parts.next(), parts.next())
        else {
            return Self::Nothing;
        };
        let is_part = |part: &str| (1..=NAME_LEN_MAX).contains(&part.len()) && !part.contains('.');
        if !is_part(session) || !is_part(server) {
            return Self::Nothing;
        }
        match (method, name) {
            ("POST", "xhr") => Self::Receive { session, transport: Transport::Xhr },
            ("POST", "xhr_streaming") => {
                Self::Receive { session, transport: Transport::XhrStreaming }
            }
            ("GET", "eventsource") => Self::Receive { session, transport: Transport::EventSource },
            ("POST", "xhr_send") => Self::Post { session, body },
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
        _ => serde_json::from_slice(body).map_err(|_| "Broken JSON encoding."),
    }
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
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n{COMMON}Transfer-Encoding: chunked\r\n\r\n"
    );
    machine.stream(StreamPiece::OwnHead(head.as_bytes()), tx)?;
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
    tx: &mut Vec<u8>,
) -> Result<usize, MisuseError> {
    let body = match transport {
        Transport::Usual | Transport::Xhr => {
            respond(machine, "200 OK", JAVASCRIPT, &format!("{frame}\n"), tx)?;
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
pub fn accept(machine: &mut Connection, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
    let response = format!("HTTP/1.1 204 No Content\r\nContent-Type: {PLAIN}\r\n{COMMON}\r\n");
    machine.send(Message { kind: Kind::Binary, payload: response.as_bytes() }, tx)
}

/// Answers a request by words.
///
/// # Errors
///
/// No request waits for an answer.
pub fn refuse(
    machine: &mut Connection,
    status: &str,
    words: &str,
    tx: &mut Vec<u8>,
) -> Result<(), MisuseError> {
    respond(machine, status, PLAIN, words, tx)
}

fn respond(
    machine: &mut Connection,
    status: &str,
    content_type: &str,
    body: &str,
    tx: &mut Vec<u8>,
) -> Result<(), MisuseError> {
    let len = body.len();
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len}\r\n{COMMON}\r\n{body}"
    );
    machine.send(Message { kind: Kind::Binary, payload: response.as_bytes() }, tx)
}

/// A stream ends once so many bytes of frames were written, as that of sockjs-node does.
pub const STREAM_LEN_MAX: usize = 128 << 10;

/// Fields of every response: pages from anywhere may read it, and nobody keeps it.
const COMMON: &str = "Access-Control-Allow-Origin: *\r\n\
    Cache-Control: no-store, no-cache, no-transform, must-revalidate, max-age=0\r\n";

const JAVASCRIPT: &str = "application/javascript; charset=UTF-8";
const PLAIN: &str = "text/plain; charset=UTF-8";

/// The letters before the first frame of a stream of lines, which make browsers hand out what follows.
const PRELUDE_LEN: usize = 2048;

/// The longest name of a session.
const NAME_LEN_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_known_by_method_and_path() {
        let receive = |session, transport| Asked::Receive { session, transport };
        #[rustfmt::skip]
        let table: [(&str, Asked<'_>); _] = [
            ("POST /echo/000/abc/xhr HTTP/1.1\r\nHost: h\r\n\r\n",        receive("abc", Transport::Xhr)),
            ("POST /000/abc/xhr_streaming?t=1 HTTP/1.1\r\nHost: h\r\n\r\n", receive("abc", Transport::XhrStreaming)),
            ("GET /a/b/c/d/eventsource HTTP/1.1\r\nHost: h\r\n\r\n",      receive("d", Transport::EventSource)),
            ("POST /e/0/s/xhr_send HTTP/1.1\r\nHost: h\r\n\r\n[\"a\"]",   Asked::Post { session: "s", body: b"[\"a\"]" }),
            ("GET /e/0/s/xhr HTTP/1.1\r\nHost: h\r\n\r\n",                Asked::Nothing),
            ("POST /e/0/s.t/xhr HTTP/1.1\r\nHost: h\r\n\r\n",             Asked::Nothing),
            ("POST /e/0//xhr HTTP/1.1\r\nHost: h\r\n\r\n",                Asked::Nothing),
            ("POST /xhr HTTP/1.1\r\nHost: h\r\n\r\n",                     Asked::Nothing),
            ("GET / HTTP/1.1\r\nHost: h\r\n\r\n",                         Asked::Nothing),
            ("",                                                          Asked::Nothing),
        ];
        for (request, expected) in table {
            assert_eq!(Asked::read(request.as_bytes()), expected, "{request:?}");
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
