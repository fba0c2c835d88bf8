//! Two ends of a connection, joined in memory: what one sends arrives at the other, cut anywhere.

use units::Random;
use wire::{Connection, Event, Input, Kind, Message, Opening, Protocol};

/// A client, and a server that echoes.
pub(crate) struct Pair {
    client: End,
    random: Random,
    server: End,
}

/// One end, and what it sent that has not arrived at the other.
struct End {
    machine: Connection,
    tx: Vec<u8>,
}

impl Pair {
    /// Joins two ends; `seed` decides where their bytes are cut.
    pub(crate) fn new(
        client: impl Into<Connection>,
        server: impl Into<Connection>,
        seed: u64,
    ) -> Self {
        let end = |machine| End { machine, tx: Vec::new() };
        Self { client: end(client.into()), random: Random::new(seed), server: end(server.into()) }
    }

    /// Sends `payloads` from the client, at most `in_flight` of them at once, checks that each comes back, and ends
    /// the connection from the client.
    pub(crate) fn converse(mut self, kind: Kind, payloads: &[Vec<u8>], in_flight: usize) {
        let mut open = self.client.machine.open(&mut self.client.tx) == Opening::Done;
        self.server.machine.open(&mut self.server.tx);
        let (mut sent, mut received) = (0, 0);
        while received < payloads.len() {
            while open && sent < payloads.len().min(received + in_flight) {
                let message = Message { kind, payload: &payloads[sent] };
                self.client.machine.send(message, &mut self.client.tx).expect("the client is open");
                sent += 1;
            }
            for (kind, echo) in self.serve() {
                let echo = Message { kind, payload: &echo };
                self.server.machine.send(echo, &mut self.server.tx).expect("the server is open");
            }
            let arrived = self.collect(&mut open);
            for payload in arrived {
                assert!(
                    payload == payloads[received],
                    "message {received} of {} bytes",
                    payloads[received].len()
                );
                received += 1;
            }
        }
        self.end();
    }

    /// The messages that the server finds in the next piece from the client.
    fn serve(&mut self) -> Vec<(Kind, Vec<u8>)> {
        let mut messages = Vec::new();
        let piece = self.client.next_piece(&mut self.random);
        self.server.receive(piece, |event| match event {
            Event::Message(message) => messages.push((message.kind, message.payload.to_vec())),
            Event::Open | Event::Secured(_) => {}
            other @ (Event::Closed(_)
            | Event::Ping(_)
            | Event::Pong(_)
            | Event::Answer(_)
            | Event::Part(_)
            | Event::Pushed(_)
            | Event::Redirected
            | Event::Refused { .. }
            | Event::Response(_)) => {
                panic!("{other:?} at the server")
            }
        });
        messages
    }

    /// The messages that the client finds in the next piece from the server.
    fn collect(&mut self, open: &mut bool) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        let piece = self.server.next_piece(&mut self.random);
        self.client.receive(piece, |event| match event {
            Event::Message(message) => messages.push(message.payload.to_vec()),
            Event::Open => *open = true,
            Event::Secured(secured) => *open = secured.opening == Opening::Done,
            other @ (Event::Closed(_)
            | Event::Ping(_)
            | Event::Pong(_)
            | Event::Answer(_)
            | Event::Part(_)
            | Event::Pushed(_)
            | Event::Redirected
            | Event::Refused { .. }
            | Event::Response(_)) => {
                panic!("{other:?} at the client")
            }
        });
        messages
    }

    /// Closes at the client; both ends must regard it as a proper end.
    fn end(mut self) {
        let is_tls = matches!(self.client.machine, Connection::Tls(_));
        let answered = self.client.machine.close(&mut self.client.tx);
        let mut closed = 0;
        let mut count = |event: Event<'_>| {
            assert!(matches!(event, Event::Closed(_)), "{event:?} after the end");
            closed += 1;
        };
        while !self.client.tx.is_empty() {
            let piece = self.client.next_piece(&mut self.random);
            self.server.receive(piece, &mut count);
        }
        while !self.server.tx.is_empty() {
            let piece = self.server.next_piece(&mut self.random);
            self.client.receive(piece, &mut count);
        }
        assert_eq!(closed, if answered || is_tls { 2 } else { 0 });
        for end in [&mut self.client, &mut self.server] {
            assert!(matches!(end.machine.end(), Ok(Event::Closed(_))));
        }
    }
}

impl End {
    /// Takes some of what was sent: a byte, a few, a buffer full, or all.
    fn next_piece(&mut self, random: &mut Random) -> Vec<u8> {
        let len = match random.below(4) {
            0 => 1,
            1 => 1 + random.below(64),
            2 => 1 + random.below(65_536),
            _ => self.tx.len(),
        };
        self.tx.drain(..len.min(self.tx.len())).collect()
    }

    /// Feeds the machine `piece`.
    fn receive(&mut self, mut piece: Vec<u8>, mut handle: impl FnMut(Event<'_>)) {
        let mut input = Input::new(&mut piece);
        while let Some(event) =
            self.machine.receive(&mut input, &mut self.tx).expect("the peer is proper")
        {
            handle(event);
        }
        assert!(input.is_empty(), "a machine that needs more has taken all");
    }
}
