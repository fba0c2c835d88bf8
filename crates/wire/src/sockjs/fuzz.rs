//! A property that holds for any input: a client answers the same however its input is cut.

use super::{Frames, SockJs, server, session};
use crate::connection::Connection;
use crate::contract::{First, Protocol};
use crate::http1::append_percent_encoded;
use crate::transcript::{On, check_splits_of_replies, over_http};
use spec::Transport;

/// Feeds WebSocket frames to a client.
pub(crate) fn fuzz_sockjs(bytes: &[u8]) {
    crate::envelope::fuzz::fuzz::<Frames>(bytes, &["o"]);
}

/// Feeds a request to a server, and checks the texts that it writes.
fn fuzz_server(bytes: &[u8]) {
    if let server::Asked::Post { body, sender, .. } = server::Request::read(bytes).asked
        && let Ok(texts) = sender.texts(body)
    {
        let written = serde_json::to_vec(&texts).expect("texts are JSON");
        assert_eq!(server::framed_texts(&written), Ok(texts.clone()));
        let mut form = b"d=".to_vec();
        append_percent_encoded(&written, &mut form);
        assert_eq!(server::Sender::Jsonp { is_form: true }.texts(&form), Ok(texts));
    }
    if let Ok(text) = str::from_utf8(bytes) {
        let mut json = String::new();
        server::write_text(text, &mut json);
        assert_eq!(serde_json::from_str::<String>(&json).ok().as_deref(), Some(text));
    }
}

/// Feeds bytes to a client on the connection that receives, over each transport, to one that posts on the connection
/// for that, and to a server.
pub(crate) fn fuzz_sockjs_http(bytes: &[u8]) {
    fuzz_server(bytes);
    for transport in [
        Transport::EventSource,
        Transport::HtmlFile,
        Transport::Jsonp,
        Transport::Xhr,
        Transport::XhrStreaming,
    ] {
        check_splits_of_replies(bytes, &|| On::<First, _>::new(client(transport)));
    }
    check_splits_of_replies(bytes, &|| On::posting(client(Transport::XhrStreaming), OPENING));
}

/// A client whose first connection is open.
fn client(transport: Transport) -> SockJs<Connection> {
    let session = session(transport, "h", "/echo", &[], 7);
    let mut client = SockJs::client(over_http(session).into());
    client.open(&mut Vec::new());
    client
}

/// The beginning of a response that opens a session.
const OPENING: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\no\n\r\n";
