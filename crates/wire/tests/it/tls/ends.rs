//! Two ends that are driven step by step, with every byte between them in sight.

use wire::{
    Connection, Event, Input, Kind, Layers, Message, Opening, PeerError, Protocol, Secured,
};

/// One end, what it understood, and what it sent.
pub(crate) struct End<P = Connection> {
    /// Its events, in words, and its error if there was one.
    pub(crate) heard: Vec<String>,
    pub(crate) machine: P,
    pub(crate) messages: Vec<Vec<u8>>,
    pub(crate) error: Option<PeerError>,
    pub(crate) secured: Option<Secured>,
    pub(crate) is_open: bool,
    /// Bytes that were sent and not delivered.
    pub(crate) tx: Vec<u8>,
    /// All bytes of the stream that it sent, and that it received.
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

impl<P: Protocol> End<P> {
    /// An end whose conversation was started.
    pub(crate) fn open(mut machine: P) -> Self {
        let mut tx = Vec::new();
        let is_open = machine.open(&mut tx) == Opening::Done;
        let sent = tx.len() as u64;
        Self {
            heard: Vec::new(),
            machine,
            messages: Vec::new(),
            error: None,
            secured: None,
            is_open,
            tx,
            sent,
            received: 0,
        }
    }

    /// Feeds it `bytes`, in pieces of at most `piece_len`.
    pub(crate) fn feed(&mut self, bytes: &[u8], piece_len: usize) {
        for piece in bytes.chunks(piece_len) {
            self.feed_whole(piece);
        }
    }

    /// Feeds it `bytes` at once.
    pub(crate) fn feed_whole(&mut self, bytes: &[u8]) {
        if self.error.is_some() {
            return;
        }
        let mut bytes = bytes.to_vec();
        self.received += bytes.len() as u64;
        let before = self.tx.len();
        let mut input = Input::new(&mut bytes);
        loop {
            match self.machine.receive(&mut input, &mut self.tx) {
                Ok(None) => break,
                Ok(Some(event)) => {
                    self.heard.push(describe(&event));
                    match event {
                        Event::Message(message) => self.messages.push(message.payload.to_vec()),
                        Event::Open => self.is_open = true,
                        Event::Secured(secured) => {
                            self.is_open = secured.opening == Opening::Done;
                            self.secured = Some(secured);
                        }
                        Event::Closed(_) | Event::Ping(_) | Event::Pong(_) => {}
                        Event::Refused { .. }
                        | Event::Response(_)
                        | Event::Answer(_)
                        | Event::Part(_)
                        | Event::Pushed(_)
                        | Event::Redirected => {}
                    }
                }
                Err(error) => {
                    self.heard.push(format!("error: {error}"));
                    self.error = Some(error);
                    input.take_all();
                    break;
                }
            }
        }
        assert!(input.is_empty(), "a machine that needs more has taken all");
        self.sent += (self.tx.len() - before) as u64;
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, payload: &[u8]) {
        let before = self.tx.len();
        self.machine
            .send(Message { kind: Kind::Binary, payload }, &mut self.tx)
            .expect("it is open");
        self.sent += (self.tx.len() - before) as u64;
    }

    /// Begins a proper end. Returns whether an answer is awaited.
    pub(crate) fn close(&mut self) -> bool {
        let before = self.tx.len();
        let is_answered = self.machine.close(&mut self.tx);
        self.sent += (self.tx.len() - before) as u64;
        is_answered
    }

    /// Tells it that the stream ended. Returns its answer.
    pub(crate) fn end(&mut self) -> String {
        match self.machine.end() {
            Ok(event) => describe(&event),
            Err(error) => format!("error: {error}"),
        }
    }

    /// The bytes that it has sent since the last call.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.tx)
    }

    pub(crate) fn layers(&self) -> Layers {
        self.machine.layers()
    }

    /// Its error in words; empty if there was none.
    pub(crate) fn complaint(&self) -> String {
        self.error.as_ref().map_or_else(String::new, ToString::to_string)
    }
}

/// Delivers everything both ways until neither has more to send.
pub(crate) fn settle<C: Protocol, S: Protocol>(client: &mut End<C>, server: &mut End<S>) {
    settle_in_pieces(client, server, usize::MAX);
}

/// The same, in pieces of at most `piece_len`.
pub(crate) fn settle_in_pieces<C: Protocol, S: Protocol>(
    client: &mut End<C>,
    server: &mut End<S>,
    piece_len: usize,
) {
    while !client.tx.is_empty() || !server.tx.is_empty() {
        server.feed(&client.take(), piece_len);
        client.feed(&server.take(), piece_len);
    }
}

fn describe(event: &Event<'_>) -> String {
    match event {
        Event::Closed(closed) => format!("closed {:?}", closed.code),
        Event::Message(message) => format!("message of {}", message.payload.len()),
        Event::Open => "open".to_owned(),
        Event::Ping(payload) => format!("ping of {}", payload.len()),
        Event::Pong(payload) => format!("pong of {}", payload.len()),
        Event::Answer(_) | Event::Part(_) | Event::Pushed(_) | Event::Redirected => {
            format!("{event:?}")
        }
        Event::Refused { code, .. } => format!("refused {code}"),
        Event::Response(response) => format!("{response:?}"),
        Event::Secured(secured) => format!("secured, {:?}", secured.opening),
    }
}
