//! Properties that hold for any input: a client answers the same however its input is cut, and what a server writes of
//! what it has read is read the same.

use super::server::{self, Said};
use super::{Packets, SocketIo, session};
use crate::connection::Connection;
use crate::contract::{First, Protocol};
use crate::sockjs::server::write_text;
use crate::transcript::{On, check_splits_of_replies, over_http};

/// Frames of WebSocket that come to a client.
pub(crate) fn fuzz_socketio(bytes: &[u8]) {
    crate::envelope::fuzz::fuzz::<Packets>(bytes, &["0{}", "40{}"]);
}

/// Bytes that come to a client on the connection that polls, and to one that posts on the connection for that; and a
/// post to a server.
pub(crate) fn fuzz_socketio_http(bytes: &[u8]) {
    for packet in server::packets(bytes).into_iter().flatten() {
        if let Said::Message { text, .. } = packet {
            let mut json = String::new();
            write_text(&text, &mut json);
            let event = server::message(&json);
            let again = server::packets(event.as_bytes()).expect("we wrote it");
            assert_eq!(again, [Said::Message { text, ack: None }]);
        }
    }
    check_splits_of_replies(bytes, &|| On::<First, _>::new(client()));
    check_splits_of_replies(bytes, &|| On::posting(client(), OPENING));
}

/// A client whose first connection is there.
fn client() -> SocketIo<Connection> {
    let mut client = SocketIo::client(over_http(session("h", "/", &[])).into());
    client.open(&mut Vec::new());
    client
}

/// Responses that open a session and join the default namespace.
const OPENING: &str = concat!(
    "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n0{\"sid\":\"a\"}",
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n40{}",
);
