//! The addresses of a session, and its HTTP requests.

use crate::http1::request::path_and_query;
use crate::http1::site::path_of;
use crate::over_http::{Body, Form, Post, Session, head_of};
use spec::Transport;
use units::Random;

/// The path and query of a new session of the service at `target` over WebSocket; `seed` determines the names of server
/// and session.
pub fn websocket_target(target: &str, seed: u64) -> String {
    let (_, query) = path_and_query(target);
    format!("{}/websocket{query}", session_path(target, seed))
}

/// True if `target` is the address of a session over WebSocket; the address of the raw endpoint of a service is not.
pub(crate) fn is_websocket_of_session(target: &str) -> bool {
    transport_of(path_of(target)).is_some_and(|(_, transport)| transport == "websocket")
}

/// The name of the session that a path leads to, and that of its transport; `None` for a path without a session. The
/// part of the path for load balancers is skipped.
pub(super) fn transport_of(path: &str) -> Option<(&str, &str)> {
    let mut parts = path.rsplit('/');
    let (transport, session, server) = (parts.next()?, parts.next()?, parts.next()?);
    let is_part = |part: &str| (1..=NAME_LEN_MAX).contains(&part.len()) && !part.contains('.');
    (is_part(session) && is_part(server)).then_some((session, transport))
}

/// The path of a new session, without the transport.
fn session_path(target: &str, seed: u64) -> String {
    let (path, _) = path_and_query(target);
    let mut random = Random::new(seed);
    let server = random.below(1000);
    let letters = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let session: String =
        (0..SESSION_LEN).map(|_| char::from(letters[random.below(letters.len())])).collect();
    format!("{path}/{server:03}/{session}")
}

/// A new session of the service at `target` over HTTP; `seed` determines the names of server and session. Every request
/// has `host` and `headers` as they are: the caller has checked them.
pub fn session(
    transport: Transport,
    host: &str,
    target: &str,
    headers: &[(String, String)],
    seed: u64,
) -> Session {
    let (path, (_, query)) = (session_path(target, seed), path_and_query(target));
    let with_callback = match query {
        "" => format!("?c={CALLBACK}"),
        _ => format!("{query}&c={CALLBACK}"),
    };
    let request = |method: &str, name: &str, query: &str, more: &str| -> Box<[u8]> {
        let head = head_of(method, &format!("{path}/{name}{query}"), host, headers);
        [&*head, more.as_bytes()].concat().into()
    };
    let gets = |name, query, more| request("GET", name, query, more);
    let posts = |name| request("POST", name, query, "Content-Length: 0\r\n\r\n");
    let has_prelude = transport == Transport::XhrStreaming;
    let (form, receive) = match transport {
        Transport::EventSource => {
            (Form::Events, gets("eventsource", query, "Accept: text/event-stream\r\n\r\n"))
        }
        Transport::HtmlFile => (Form::Page, gets("htmlfile", &with_callback, "\r\n")),
        Transport::Jsonp => (Form::Call(CALLBACK), gets("jsonp", &with_callback, "\r\n")),
        Transport::XhrStreaming => (Form::Lines { has_prelude }, posts("xhr_streaming")),
        Transport::Polling | Transport::Upgrade | Transport::Usual | Transport::Xhr => {
            (Form::Lines { has_prelude }, posts("xhr"))
        }
    };
    let (name, content_type, body) = match transport == Transport::Jsonp {
        true => ("jsonp_send", "application/x-www-form-urlencoded", Body::Form),
        false => ("xhr_send", "text/plain", Body::Array),
    };
    let more = format!("Content-Type: {content_type}\r\nContent-Length: ");
    let post = Post { head: request("POST", name, query, &more), body };
    Session { form, receive, conditions: None, post: Some(post), awaits_name: false }
}

/// The function that scripts of a server call, with a name as long as those of sockjs-client.
const CALLBACK: &str = "_jp.wirebnch";

/// The longest name of a session that a server takes.
const NAME_LEN_MAX: usize = 256;

/// Length of the name of a session: 8 letters and digits are 41 bits.
const SESSION_LEN: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_a_path_of_its_own() {
        #[rustfmt::skip]
        let table = [
            ("/echo",       "/echo/", "/websocket"),
            ("/echo/",      "/echo/", "/websocket"),
            ("/",           "/",      "/websocket"),
            ("/a/b?x=1&y",  "/a/b/",  "/websocket?x=1&y"),
        ];
        for (target, start, end) in table {
            let of_session = websocket_target(target, 7);
            let inside = of_session.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
            let (server, session) = inside.and_then(|inside| inside.split_once('/')).unwrap();
            assert!(server.len() == 3 && server.parse::<u16>().is_ok(), "{of_session}");
            let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            assert!(session.len() == 8 && session.bytes().all(is_plain), "{of_session}");
            assert_eq!(websocket_target(target, 7), of_session);
            assert_ne!(websocket_target(target, 8), of_session);
        }
    }

    #[test]
    fn requests_go_to_the_transport_and_to_its_sender() {
        let headers = [("X-A".to_owned(), "b".to_owned())];
        #[rustfmt::skip]
        let table = [
            (Transport::Xhr,          "POST PATH/xhr?q HTTP/1.1\r\nHost: h\r\nX-A: b\r\nContent-Length: 0\r\n\r\n"),
            (Transport::XhrStreaming, "POST PATH/xhr_streaming?q HTTP/1.1\r\nHost: h\r\nX-A: b\r\nContent-Length: 0\r\n\r\n"),
            (Transport::EventSource,  "GET PATH/eventsource?q HTTP/1.1\r\nHost: h\r\nX-A: b\r\nAccept: text/event-stream\r\n\r\n"),
            (Transport::HtmlFile,     "GET PATH/htmlfile?q&c=_jp.wirebnch HTTP/1.1\r\nHost: h\r\nX-A: b\r\n\r\n"),
            (Transport::Jsonp,        "GET PATH/jsonp?q&c=_jp.wirebnch HTTP/1.1\r\nHost: h\r\nX-A: b\r\n\r\n"),
        ];
        let path = session_path("/e?q", 7);
        assert!(path.starts_with("/e/"), "{path}");
        for (transport, expected) in table {
            let session = session(transport, "h", "/e?q", &headers, 7);
            let expected = expected.replace("PATH", &path);
            assert_eq!(String::from_utf8_lossy(&session.receive), expected);
            let (name, content_type, body) = match transport == Transport::Jsonp {
                true => ("jsonp_send", "application/x-www-form-urlencoded", Body::Form),
                false => ("xhr_send", "text/plain", Body::Array),
            };
            let expected = format!(
                "POST {path}/{name}?q HTTP/1.1\r\nHost: h\r\nX-A: b\r\n\
                 Content-Type: {content_type}\r\nContent-Length: "
            );
            let post = session.post.unwrap();
            assert_eq!((String::from_utf8_lossy(&post.head), post.body), (expected.into(), body));
        }
    }
}
