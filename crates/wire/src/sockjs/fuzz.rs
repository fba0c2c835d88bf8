//! A property that holds for any input: a client answers the same however its input is cut.

use super::{Frames, Limits, OverHttp, Session, SockJs, server};
use crate::connection::Connection;
use crate::contract::{
    Event, First, Input, Kind, Layers, Message, MisuseError, Opening, PeerError, Protocol, Second,
    Socket, TwoSockets,
};
use crate::http1::Http1;
use crate::transcript::{HTTP_LIMITS, check_splits_of_replies};
use spec::Transport;
use std::marker::PhantomData;
use std::sync::Arc;

/// Frames of WebSocket that come to a client.
pub(crate) fn fuzz_sockjs(bytes: &[u8]) {
    crate::envelope::fuzz::fuzz::<Frames>(bytes, &["o"]);
}

/// A request that comes to a server, and a text that it writes.
fn fuzz_server(bytes: &[u8]) {
    if let server::Asked::Post { body, .. } = server::Asked::read(bytes) {
        let mut count = 0_usize;
        let read = server::texts(body, |_| count += 1);
        assert!(read.is_ok() || count == 0, "a post is taken whole, or not at all");
    }
    if let Ok(text) = str::from_utf8(bytes) {
        let mut json = String::new();
        server::write_text(text, &mut json);
        assert_eq!(serde_json::from_str::<String>(&json).ok().as_deref(), Some(text));
    }
}

/// Bytes that come to a client on the connection that receives, over each transport, and to one that posts on the
/// connection for that; and to a server.
pub(crate) fn fuzz_sockjs_http(bytes: &[u8]) {
    fuzz_server(bytes);
    for transport in [Transport::EventSource, Transport::Xhr, Transport::XhrStreaming] {
        check_splits_of_replies(bytes, &|| On::<First>(client(transport), PhantomData));
    }
    check_splits_of_replies(bytes, &|| {
        let mut client = client(Transport::XhrStreaming);
        let mut opening = OPENING.as_bytes().to_vec();
        let opened = client.receive(&mut Input::new(&mut opening), &mut Vec::new());
        assert!(matches!(opened, Ok(Some(Event::Open))), "{opened:?}");
        let message = Message { kind: Kind::Text, payload: b"a" };
        client.send(message, &mut Vec::new()).expect("the session is open");
        client.open_second();
        On::<Second>(client, PhantomData)
    });
}

/// A client whose first connection is there.
fn client(transport: Transport) -> SockJs {
    let session = Session::new(transport, "h", "/echo", &[], 7);
    let http = Arc::new(|delivery| Connection::from(Http1::exchanges(delivery, HTTP_LIMITS)));
    let limits = Limits { frame_len_max: 64, waiting_len_max: 64 };
    let mut client = SockJs::client(OverHttp::new(session, http, limits).into());
    client.open(&mut Vec::new());
    client
}

/// A client to which all bytes come on one of its sockets.
struct On<S>(SockJs, PhantomData<S>);

impl<S: Socket> Protocol for On<S> {
    fn open(&mut self, tx: &mut Vec<u8>) -> Opening {
        self.0.open(tx)
    }

    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        self.0.send(message, tx)
    }

    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, PeerError> {
        S::receive(&mut self.0, input, tx)
    }

    fn close(&mut self, tx: &mut Vec<u8>) -> bool {
        self.0.close(tx)
    }

    fn end(&mut self) -> Result<Event<'_>, PeerError> {
        self.0.end()
    }

    fn layers(&self) -> Layers {
        self.0.layers()
    }
}

/// The beginning of a response that opens a session.
const OPENING: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\no\n\r\n";
