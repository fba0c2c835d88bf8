//! The Bayeux client, against scripted servers.

mod garbage;
mod refusals;
mod secure;
mod session;

use crate::script::Step;
use std::sync::Arc;
use wire::Connection;
use wire::bayeux::{Comet, Limits};
use wire::http1::{self, Http1, Request, RequestParts};

/// An HTTP client, as the owner of a Comet client makes it.
pub(crate) fn http() -> Connection {
    let parts = RequestParts {
        method: "POST".to_owned(),
        target: "/cometd".to_owned(),
        host: "h".to_owned(),
        headers: vec![("Content-Type".to_owned(), "application/json;charset=UTF-8".to_owned())],
    };
    let request = Arc::new(Request::new(&parts).expect("the script is proper"));
    Http1::client(request, http1::Limits::default()).into()
}

/// A client on two plain connections.
pub(crate) fn comet() -> Connection {
    comet_with(Limits::default())
}

fn comet_with(limits: Limits) -> Connection {
    Comet::new(http(), http(), limits).into()
}

/// A response with this body.
pub(crate) fn response(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A response on the first connection.
pub(crate) fn first(body: &str) -> Step {
    Step::First(response(body))
}

/// A response on the second connection.
pub(crate) fn second(body: &str) -> Step {
    Step::Second(response(body))
}

/// The steps that open a session, and then others.
pub(crate) fn opened(then: impl IntoIterator<Item = Step>) -> Vec<Step> {
    [first(HANDSHAKEN), first(SUBSCRIBED)].into_iter().chain(then).collect()
}

fn send(json: &str) -> Step {
    Step::Send(json.as_bytes().to_vec())
}

/// The bodies of the requests that were sent.
pub(crate) fn bodies(mut sent: &[u8]) -> Vec<String> {
    let mut bodies = Vec::new();
    while !sent.is_empty() {
        let head_len =
            sent.windows(4).position(|end| end == b"\r\n\r\n").expect("the script is proper") + 4;
        let (head, rest) = sent.split_at(head_len);
        let head = str::from_utf8(head).expect("the script is proper");
        assert!(
            head.starts_with("POST /cometd HTTP/1.1\r\nHost: h\r\nContent-Type: application/json;")
        );
        let len = head
            .rsplit_once("Content-Length: ")
            .expect("the script is proper")
            .1
            .trim_end()
            .parse()
            .expect("the script is proper");
        let (body, rest) = rest.split_at(len);
        bodies.push(str::from_utf8(body).expect("the script is proper").to_owned());
        sent = rest;
    }
    bodies
}

/// Answers of a real server.
pub(crate) const HANDSHAKEN: &str = concat!(
    r#"[{"id":"1","channel":"/meta/handshake","successful":true,"clientId":"28a3","version":"1.0","#,
    r#""supportedConnectionTypes":["long-polling"],"advice":{"reconnect":"retry","timeout":5000,"interval":0}}]"#,
);
pub(crate) const SUBSCRIBED: &str = r#"[{"id":"2","channel":"/meta/subscribe","subscription":"/service/client","successful":true}]"#;
const CONNECTED: &str = r#"[{"id":"3","channel":"/meta/connect","successful":true}]"#;
