//! Properties that hold for any input: fuzz targets (`cargo xtask fuzz`), whose corpora the tests replay.
//!
//! Every machine must give the same answer however its input is split, and must not panic.

use crate::framed::{self, Framed};
use crate::http1::Http1;
use crate::lines::{self, Lines};
use crate::transcript::{HTTP_LIMITS, check_splits, check_splits_of_replies, cuts, http1_client};
use crate::websocket::deflate;
use crate::websocket::handshake::{
    self, Accepted, ClientHandshake, HandshakeError, ServerHandshake, ServerOptions,
};
use std::sync::Arc;

/// A corpus in `fuzz/corpus`, and the check of each of its inputs.
pub type Target = (&'static str, fn(&[u8]));

/// The targets of this crate.
pub const TARGETS: &[Target] = &[
    ("bayeux_batch", bayeux_batch),
    ("bayeux_session", bayeux_session),
    ("broker", broker),
    ("conversation", conversation),
    ("conversation_http", conversation_http),
    ("conversation_matcher", conversation_matcher),
    ("conversation_template", conversation_template),
    ("framed", framed),
    ("game_binary", game_binary),
    ("game_json", game_json),
    ("http1_request", http1_request),
    ("http1_response", http1_response),
    ("lines", lines),
    ("mqtt", mqtt),
    ("socketio", socketio),
    ("socketio_http", socketio_http),
    ("socketio_upgrading", socketio_upgrading),
    ("sockjs", sockjs),
    ("sockjs_http", sockjs_http),
    ("sse", sse),
    ("styx_definition", styx_definition),
    ("styx_frames", styx_frames),
    ("styx_json", styx_json),
    ("styx_packet", styx_packet),
    ("tls_files", tls_files),
    ("tls_handshake", tls_handshake),
    ("tls_records", tls_records),
    ("websocket_deflate", websocket_deflate),
    ("websocket_frames", websocket_frames),
    ("websocket_handshake", websocket_handshake),
];

/// A batch of messages of Bayeux.
fn bayeux_batch(bytes: &[u8]) {
    crate::bayeux::fuzz_bayeux_batch(bytes);
}

/// A client of Bayeux, on either of its connections.
fn bayeux_session(bytes: &[u8]) {
    crate::bayeux::fuzz_bayeux_session(bytes);
}

/// A subscriber at a broker.
fn broker(bytes: &[u8]) {
    crate::broker::fuzz_broker(bytes);
}

/// A client that holds a conversation.
fn conversation(bytes: &[u8]) {
    crate::conversation::fuzz_conversation(bytes);
}

/// A client that holds a conversation over HTTP, with responses and with streams of events.
fn conversation_http(bytes: &[u8]) {
    crate::conversation::fuzz_conversation_http(bytes);
}

/// The finder of ids in messages.
fn conversation_matcher(bytes: &[u8]) {
    crate::conversation::fuzz_conversation_matcher(bytes);
}

/// A text with holes, and a value for them.
fn conversation_template(bytes: &[u8]) {
    crate::conversation::fuzz_conversation_template(bytes);
}

/// The length before each message.
fn framed(bytes: &[u8]) {
    check_splits(bytes, &|| Framed::new(framed::Limits { frame_len_max: 1 << 10 }));
}

/// A bot that speaks binary.
fn game_binary(bytes: &[u8]) {
    crate::game::fuzz_game_binary(bytes);
}

/// A bot that speaks JSON.
fn game_json(bytes: &[u8]) {
    crate::game::fuzz_game_json(bytes);
}

/// A server of HTTP/1.1 that echoes bodies, and one that sends whole requests back.
fn http1_request(bytes: &[u8]) {
    check_splits(bytes, &|| Http1::server(HTTP_LIMITS));
    check_splits(bytes, &|| Http1::whole_requests(HTTP_LIMITS));
}

/// A client of HTTP/1.1 with three requests in flight, once `POST` and once `HEAD`.
fn http1_response(bytes: &[u8]) {
    for method in ["POST", "HEAD"] {
        check_splits_of_replies(bytes, &|| http1_client(method, 3, HTTP_LIMITS));
    }
}

/// Lines of text.
fn lines(bytes: &[u8]) {
    check_splits(bytes, &|| Lines::new(lines::Limits { line_len_max: 1 << 10 }));
}

/// A client of MQTT.
fn mqtt(bytes: &[u8]) {
    crate::mqtt::fuzz_mqtt(bytes);
}

/// A client of Socket.IO.
fn socketio(bytes: &[u8]) {
    crate::socketio::fuzz_socketio(bytes);
}

/// A client of Socket.IO over HTTP, on either of its connections, and a post to a server.
fn socketio_http(bytes: &[u8]) {
    crate::socketio::fuzz_socketio_http(bytes);
}

/// A client of Socket.IO that upgrades from HTTP to WebSocket, on both of its connections.
fn socketio_upgrading(bytes: &[u8]) {
    crate::socketio::fuzz_socketio_upgrading(bytes);
}

/// A client of SockJS.
fn sockjs(bytes: &[u8]) {
    crate::sockjs::fuzz_sockjs(bytes);
}

/// A client of SockJS over HTTP, on either of its connections, and requests to a server.
fn sockjs_http(bytes: &[u8]) {
    crate::sockjs::fuzz_sockjs_http(bytes);
}

/// A stream of server-sent events.
fn sse(bytes: &[u8]) {
    crate::sse::fuzz_sse(bytes);
}

/// A definition of packets of Styx.
fn styx_definition(bytes: &[u8]) {
    crate::styx::fuzz_styx_definition(bytes);
}

/// Frames of Styx.
fn styx_frames(bytes: &[u8]) {
    crate::styx::fuzz_styx_frames(bytes);
}

/// Packets of Styx as JSON.
fn styx_json(bytes: &[u8]) {
    crate::styx::fuzz_styx_json(bytes);
}

/// A packet of Styx.
fn styx_packet(bytes: &[u8]) {
    crate::styx::fuzz_styx_packet(bytes);
}

/// Certificates and keys that a user gives, in PEM.
fn tls_files(bytes: &[u8]) {
    crate::tls::fuzz_tls_files(bytes);
}

/// The handshake of TLS, both roles.
fn tls_handshake(bytes: &[u8]) {
    crate::tls::fuzz_tls_handshake(bytes);
}

/// Records of TLS after the handshake, both versions.
fn tls_records(bytes: &[u8]) {
    crate::tls::fuzz_tls_records(bytes);
}

/// Frames of WebSocket, both roles.
fn websocket_frames(bytes: &[u8]) {
    crate::websocket::fuzz_websocket(bytes);
}

/// Frames of WebSocket with compression agreed on, both roles.
fn websocket_deflate(bytes: &[u8]) {
    crate::websocket::fuzz_websocket_deflate(bytes);
}

/// The opening handshake of WebSocket, both roles. The client's seed is 1.
fn websocket_handshake(bytes: &[u8]) {
    let server = ServerHandshake::new(Arc::new(ServerOptions {
        subprotocols: subprotocols(),
        deflate: Some(deflate::Accept::default()),
    }));
    check_handshake(bytes, |seen, _tx| client_handshake(None).read(seen));
    check_handshake(bytes, |seen, _tx| client_handshake(Some(offer())).read(seen));
    check_handshake(bytes, |seen, tx| server.clone().read(seen, tx));
}

/// An offer that leaves the server every choice.
fn offer() -> deflate::Offer {
    deflate::Offer { client_max_window_bits: Some(None), ..deflate::Offer::default() }
}

/// A client whose seed is 1.
fn client_handshake(deflate: Option<deflate::Offer>) -> ClientHandshake {
    let request = handshake::Request {
        host: "h".to_owned(),
        target: "/".to_owned(),
        subprotocols: subprotocols(),
        headers: Vec::new(),
        deflate,
    };
    ClientHandshake::new(Arc::new(request), 1)
}

fn subprotocols() -> Vec<String> {
    vec!["a".to_owned(), "b".to_owned()]
}

/// Checks that a handshake gives the same answer as soon as it has enough bytes, and none before.
fn check_handshake(
    bytes: &[u8],
    read: impl Fn(&[u8], &mut Vec<u8>) -> Result<Option<Accepted>, HandshakeError>,
) {
    let read = |len: usize| {
        let mut tx = Vec::new();
        (read(&bytes[..len], &mut tx), tx)
    };
    let whole = read(bytes.len());
    let mut needs_more = true;
    for len in cuts(bytes) {
        let part = read(len);
        needs_more &= part == (Ok(None), Vec::new());
        assert!(needs_more || part == whole, "{part:?} after {len} bytes, {whole:?} after all");
    }
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corpora_reach_a_completed_handshake() {
        let corpus = replay::corpus("websocket_handshake");
        let accepted = corpus.iter().filter(|(_, input)| {
            client_handshake(None).read(input).is_ok_and(|read| read.is_some())
        });
        let names: Vec<_> = accepted.map(|(name, _)| name.rsplit('/').next().unwrap()).collect();
        assert_eq!(
            names,
            ["answer", "answer_after_interim", "answer_and_frame", "answer_subprotocol"]
        );
    }
}
