//! Both connections inside TLS.

use super::{CONNECTED, HANDSHAKEN, SUBSCRIBED, bodies, http};
use crate::script::describe;
use crate::tls::world;
use wire::bayeux::{Comet, Limits};
use wire::http1::{self, Http1};
use wire::tls::Tls;
use wire::{Connection, Event, Input, Kind, Message, Protocol, TwoSockets};

#[test]
fn the_first_connection_says_that_it_is_secured_and_either_may_be_first() {
    for is_second_first in [false, true] {
        let mut pair = Pair::new();
        if is_second_first {
            pair.pass_second();
        }
        pair.pass_first();
        pair.answer_first(HANDSHAKEN);
        pair.answer_first(SUBSCRIBED);
        let publish = Message { kind: Kind::Text, payload: b"1" };
        pair.comet.send(publish, &mut pair.first.to_server).unwrap();
        pair.pass_second();
        assert_eq!(pair.events, ["secured, opening Awaited", "open"]);
        let published = r#"[{"channel":"/service/client","id":"4","clientId":"28a3","data":1}]"#;
        assert_eq!(pair.second.requests, [published]);
        pair.answer_second(r#"[{"channel":"/service/client","data":2}]"#);
        pair.answer_first(CONNECTED);
        assert_eq!(pair.events[2..], ["Text 2"]);

        let layers = pair.comet.layers();
        let plain: usize = pair.first.plain_len + pair.second.plain_len;
        let stream = pair.first.to_client_len + pair.second.to_client_len;
        assert_eq!(layers.tls_received, (stream - plain) as u64, "all that is not HTTP is TLS");
        assert_eq!((layers.encoding_sent, layers.encoding_received), (0, 0));
    }
}

/// A client, and a server at the end of each of its connections.
struct Pair {
    comet: Connection,
    events: Vec<String>,
    first: End,
    second: End,
}

/// The server's end of one connection.
struct End {
    machine: Connection,
    plain_len: usize,
    requests: Vec<String>,
    to_client: Vec<u8>,
    to_client_len: usize,
    to_server: Vec<u8>,
}

impl Pair {
    fn new() -> Self {
        let client = || Tls::client(&world::client(&world::client_options()), http()).into();
        let mut comet: Connection = Comet::new(client(), client(), Limits::default()).into();
        let (mut first, second) = (End::new(), End::new());
        comet.open(&mut first.to_server);
        Self { comet, events: Vec::new(), first, second }
    }

    /// Delivers everything that was sent on the first connection, until nothing more arrives.
    fn pass_first(&mut self) {
        loop {
            self.first.serve();
            let mut bytes = std::mem::take(&mut self.first.to_client);
            if bytes.is_empty() {
                return;
            }
            self.first.to_client_len += bytes.len();
            let mut input = Input::new(&mut bytes);
            while let Some(event) = self
                .comet
                .receive(&mut input, &mut self.first.to_server)
                .expect("the script is proper")
            {
                self.events.push(describe(&event));
            }
        }
    }

    /// The same on the second.
    fn pass_second(&mut self) {
        loop {
            self.second.to_server.extend(self.comet.take_second());
            self.second.serve();
            let mut bytes = std::mem::take(&mut self.second.to_client);
            if bytes.is_empty() {
                return;
            }
            self.second.to_client_len += bytes.len();
            let mut input = Input::new(&mut bytes);
            let tx = &mut self.first.to_server;
            while let Some(event) =
                self.comet.receive_second(&mut input, tx).expect("the script is proper")
            {
                self.events.push(describe(&event));
            }
        }
    }

    fn answer_first(&mut self, body: &str) {
        self.first.answer(body);
        self.pass_first();
    }

    fn answer_second(&mut self, body: &str) {
        self.second.answer(body);
        self.pass_second();
    }
}

impl End {
    fn new() -> Self {
        let http = Connection::from(Http1::server(http1::Limits::default()));
        let mut machine: Connection =
            Tls::server(&world::server(&world::server_options()), http).into();
        machine.open(&mut Vec::new());
        let (requests, to_client, to_server) = (Vec::new(), Vec::new(), Vec::new());
        Self { machine, plain_len: 0, requests, to_client, to_client_len: 0, to_server }
    }

    fn serve(&mut self) {
        let mut bytes = std::mem::take(&mut self.to_server);
        let mut input = Input::new(&mut bytes);
        while let Some(event) =
            self.machine.receive(&mut input, &mut self.to_client).expect("the script is proper")
        {
            if let Event::Message(request) = event {
                self.requests.push(String::from_utf8_lossy(request.payload).into_owned());
            } else {
                assert!(matches!(event, Event::Secured(_)), "{event:?}");
            }
        }
    }

    fn answer(&mut self, body: &str) {
        let mut plain = Http1::server(http1::Limits::default());
        let mut request = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n".to_vec();
        plain
            .receive(&mut Input::new(&mut request), &mut Vec::new())
            .expect("the script is proper");
        let message = Message { kind: Kind::Text, payload: body.as_bytes() };
        let mut written = Vec::new();
        plain.send(message, &mut written).expect("the script is proper");
        self.plain_len += written.len();
        self.machine.send(message, &mut self.to_client).expect("the script is proper");
    }
}

#[test]
fn requests_are_as_they_are_without_tls() {
    let mut pair = Pair::new();
    pair.pass_first();
    let mut plain = Vec::new();
    Comet::new(http(), http(), Limits::default()).open(&mut plain);
    assert_eq!(pair.first.requests, bodies(&plain));
}
