//! Transcripts of machines, and checks that they are the same however the input is split.

use crate::contract::{
    Event, InPlace, Input, Kind, Layers, Message, MisuseError, Opening, PeerError, Protocol,
    Second, Socket, TwoSockets, Verdict,
};
use crate::http1::{self, Http1, Maker};
use crate::over_http::{self, OverHttp};
use std::marker::PhantomData;
use std::sync::Arc;
use units::Random;

/// A client that has sent `requests` empty messages.
pub(crate) fn http1_client(method: &str, requests: usize, limits: http1::Limits) -> Http1 {
    let parts = http1::RequestParts {
        method: method.to_owned(),
        target: "/".to_owned(),
        host: "h".to_owned(),
        headers: Vec::new(),
    };
    let request = http1::Request::new(&parts).expect("the parts are well-formed");
    let mut client = Http1::client(Arc::new(request), limits);
    let mut tx = Vec::new();
    for _ in 0..requests {
        client
            .send(Message { kind: Kind::Binary, payload: b"" }, &mut tx)
            .expect("the connection is open");
    }
    client
}

/// A client that receives all bytes on one of its sockets. Bytes that it sends on its second are ignored.
pub(crate) struct On<S, P>(P, PhantomData<S>);

impl<S: Socket, P: TwoSockets> On<S, P> {
    /// Wraps `client` unchanged.
    pub(crate) fn new(client: P) -> Self {
        Self(client, PhantomData)
    }
}

impl<P: TwoSockets> On<Second, P> {
    /// Wraps `client` after feeding its first socket `opening`, which opens it, and making it post on its second.
    pub(crate) fn posting(mut client: P, opening: &str) -> Self {
        let mut opening = opening.as_bytes().to_vec();
        let opened = client.receive(&mut Input::new(&mut opening), &mut Vec::new());
        assert!(matches!(opened, Ok(Some(Event::Open))), "{opened:?}");
        let message = Message { kind: Kind::Text, payload: b"a" };
        client.send(message, &mut Vec::new()).expect("the session is open");
        client.open_second();
        Self::new(client)
    }
}

/// The connections below a client that polls and posts, with small limits.
pub(crate) fn over_http<C: InPlace + From<Http1>>(session: over_http::Session) -> OverHttp<C> {
    let http = Maker::new(|delivery| C::from(Http1::exchanges(delivery, HTTP_LIMITS)));
    OverHttp::new(session, http, over_http::Limits { frame_len_max: 64, waiting_len_max: 64 })
}

impl<S: Socket, P: TwoSockets> Protocol for On<S, P> {
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

/// Everything that a machine answered to some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Transcript {
    /// Its events, its error if there was one, and its answer to the end of the connection.
    pub(crate) events: Vec<String>,
    /// The bytes that it sent.
    pub(crate) tx: Vec<u8>,
}

impl Transcript {
    /// Feeds a machine `pieces` and then the end of the connection. Sends messages back if it accepts them.
    pub(crate) fn of<'p, P: Protocol>(
        machine: P,
        pieces: impl IntoIterator<Item = &'p [u8]>,
    ) -> Self {
        Self::record(machine, true, pieces)
    }

    fn record<'p, P: Protocol>(
        mut machine: P,
        echo: bool,
        pieces: impl IntoIterator<Item = &'p [u8]>,
    ) -> Self {
        let mut transcript = Self { events: Vec::new(), tx: Vec::new() };
        for piece in pieces {
            if !transcript.feed(&mut machine, echo, piece) {
                return transcript;
            }
        }
        transcript.events.push(match machine.end() {
            Ok(event) => format!("end: {}", describe(&event)),
            Err(error) => format!("end: error: {error}"),
        });
        transcript
    }

    /// Feeds one piece; true if the machine may be fed more.
    fn feed<P: Protocol>(&mut self, machine: &mut P, echo: bool, piece: &[u8]) -> bool {
        let mut bytes = piece.to_vec();
        let mut input = Input::new(&mut bytes);
        loop {
            let message = match machine.receive(&mut input, &mut self.tx) {
                Ok(None) => break,
                Ok(Some(event)) => {
                    self.events.push(describe(&event));
                    if let Event::Message(message) = event
                        && echo
                    {
                        Some((message.kind, message.payload.to_vec()))
                    } else {
                        None
                    }
                }
                Err(error) => {
                    self.events.push(format!("error: {error}"));
                    return false;
                }
            };
            if let Some((kind, payload)) = message
                && machine.send(Message { kind, payload: &payload }, &mut self.tx).is_err()
            {
                self.events.push("not sent".to_owned());
            }
        }
        assert!(input.is_empty(), "a machine that needs more has taken all");
        true
    }
}

/// Feeds machines `bytes` whole, byte by byte, and cut in two. All of them must give the same transcript, which is
/// returned. Sends messages back.
pub(crate) fn check_splits<P: Protocol>(bytes: &[u8], machine: &dyn Fn() -> P) -> Transcript {
    check_all_splits(bytes, true, machine)
}

/// The same, but messages are replies: nothing is sent back.
pub(crate) fn check_splits_of_replies<P: Protocol>(
    bytes: &[u8],
    machine: &dyn Fn() -> P,
) -> Transcript {
    check_all_splits(bytes, false, machine)
}

fn check_all_splits<P: Protocol>(bytes: &[u8], echo: bool, machine: &dyn Fn() -> P) -> Transcript {
    let whole = Transcript::record(machine(), echo, [bytes]);
    assert_eq!(Transcript::record(machine(), echo, bytes.chunks(1)), whole, "byte by byte");
    for cut in cuts(bytes) {
        let (left, right) = bytes.split_at(cut);
        assert_eq!(Transcript::record(machine(), echo, [left, right]), whole, "cut at {cut}");
    }
    whole
}

/// The places at which `bytes` are cut, in order: every place if they are short, else places that depend on the bytes
/// alone.
pub(crate) fn cuts(bytes: &[u8]) -> impl Iterator<Item = usize> + use<> {
    let len = bytes.len();
    let mut cuts: Vec<_> = (0..len.min(CUTS_MAX)).collect();
    if len > CUTS_MAX {
        let seed = bytes
            .iter()
            .fold(0u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(*byte)));
        let mut random = Random::new(seed);
        cuts.fill_with(|| random.below(len));
        cuts.sort_unstable();
    }
    cuts.into_iter()
}

/// An event as a line of text.
pub(crate) fn describe(event: &Event<'_>) -> String {
    match event {
        Event::Answer(answer) => {
            let verb = match answer.verdict {
                Verdict::Good => "answered",
                Verdict::Refused => "refused",
                Verdict::Wrong(why) => why,
            };
            let (exchange, sequence) = (answer.exchange, answer.sequence);
            format!("{verb} {exchange}#{sequence} \"{}\"", answer.payload.escape_ascii())
        }
        Event::Closed(closed) => format!("closed {:?} {:?}", closed.code, closed.reason),
        Event::Message(message) => {
            format!("{:?} \"{}\"", message.kind, message.payload.escape_ascii())
        }
        Event::Open => "open".to_owned(),
        Event::Part(part) => {
            let which = if part.first { "first part" } else { "part" };
            let (exchange, sequence) = (part.exchange, part.sequence);
            format!("{which} {exchange}#{sequence} \"{}\"", part.payload.escape_ascii())
        }
        Event::Ping(payload) => format!("ping \"{}\"", payload.escape_ascii()),
        Event::Pong(payload) => format!("pong \"{}\"", payload.escape_ascii()),
        Event::Pushed(pushed) => {
            let rule = pushed.rule.map_or(String::new(), |rule| format!(" {rule}"));
            let sent = pushed.sent.map_or(String::new(), |sent| format!(" sent {}", sent.0));
            format!("{:?}{rule}{sent} \"{}\"", pushed.kind, pushed.payload.escape_ascii())
        }
        Event::Redirected => "redirected".to_owned(),
        Event::Response(response) => format!(
            "response {} \"{}\" \"{}\"",
            response.status,
            response.head.escape_ascii(),
            response.body.escape_ascii()
        ),
        Event::Refused { code, body, .. } => format!("refused {code} \"{}\"", body.escape_ascii()),
        Event::Secured(secured) => format!("secured, opening {:?}", secured.opening),
    }
}

/// Small limits, so that inputs of a few hundred bytes reach them.
pub(crate) const HTTP_LIMITS: http1::Limits = http1::Limits {
    body_len_max: 64,
    chunk_extensions_len_max: 16,
    head_len_max: 256,
    headers_max: 8,
    trailers_len_max: 32,
};

/// Most places at which an input is cut; for a fuzzer, many inputs are worth more than many cuts.
const CUTS_MAX: usize = if cfg!(test) { 256 } else { 16 };
