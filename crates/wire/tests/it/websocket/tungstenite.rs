//! Conversations with another implementation, in memory, from the opening handshake to the end.
//!
//! A seed decides who says what and in which pieces it arrives; a failure names the seed.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use tungstenite::handshake::HandshakeError;
use tungstenite::protocol::frame::coding::{Data, OpCode};
use tungstenite::protocol::frame::{CloseFrame, Frame};
use units::Random;
use wire::websocket::handshake::Request;
use wire::websocket::{Limits, WebSocket};
use wire::{Event, Input, Kind, Message, Protocol, Side};

#[test]
fn our_client_and_a_tungstenite_server_understand_each_other() {
    for seed in 0..SEEDS {
        Conversation::start(Side::Client, seed).run();
    }
}

#[test]
fn our_server_and_a_tungstenite_client_understand_each_other() {
    for seed in 0..SEEDS {
        Conversation::start(Side::Server, seed).run();
    }
}

/// A message or an end that one side understood.
#[derive(Clone, PartialEq, Eq)]
enum Heard {
    Close(u16),
    Message(Kind, Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
}

impl fmt::Debug for Heard {
    /// Short: payloads are long and random.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Close(code) => write!(f, "close {code}"),
            Self::Message(kind, payload) => write!(f, "{kind:?} {}", payload.len()),
            Self::Ping(bytes) => write!(f, "ping {}", bytes.len()),
            Self::Pong(bytes) => write!(f, "pong {}", bytes.len()),
        }
    }
}

struct Conversation {
    ours: WebSocket,
    theirs: tungstenite::WebSocket<Pipe>,
    /// Both directions; ours is the other end of it.
    pipe: Pipe,
    /// The events that they understood, and those that they should have understood.
    by_them: [Vec<Heard>; 2],
    /// The same for us.
    by_us: [Vec<Heard>; 2],
    random: Random,
    seed: u64,
}

impl Conversation {
    /// Performs the opening handshake.
    fn start(role: Side, seed: u64) -> Self {
        let pipe = Pipe::default();
        let mut random = Random::new(seed);
        let (mut ours, theirs) = match role {
            Side::Client => {
                let request = Request {
                    host: "example".to_owned(),
                    target: "/echo".to_owned(),
                    subprotocols: Vec::new(),
                    headers: Vec::new(),
                    deflate: None,
                };
                let mut ours = WebSocket::client(Arc::new(request), LIMITS, seed);
                ours.open(&mut pipe.to_them.borrow_mut());
                let their_end = pipe.clone();
                (ours, Some(tungstenite::accept(their_end).expect("the request has arrived")))
            }
            Side::Server => (WebSocket::server(LIMITS), None),
        };
        let theirs = theirs.unwrap_or_else(|| {
            let Err(HandshakeError::Interrupted(awaiting)) =
                tungstenite::client("ws://example/echo", pipe.clone())
            else {
                panic!("seed {seed}: the answer has not been sent");
            };
            let opened = pipe.deliver(&mut ours, &mut random);
            assert_eq!(opened, (true, Vec::new()), "seed {seed}");
            awaiting.handshake().expect("the answer has arrived").0
        });
        if role == Side::Client {
            let opened = pipe.deliver(&mut ours, &mut random);
            assert_eq!(opened, (true, Vec::new()), "seed {seed}");
        }
        Self {
            ours,
            theirs,
            pipe,
            by_them: Default::default(),
            by_us: Default::default(),
            random,
            seed,
        }
    }

    /// Talks for a while, then one side ends it.
    fn run(mut self) {
        for _ in 0..STEPS {
            match self.random.below(4) {
                0 => self.we_send(),
                1 => self.they_send(),
                2 => self.they_send_fragments(),
                _ => self.they_ping(),
            }
            if self.random.below(3) == 0 {
                self.deliver();
            }
        }
        self.deliver();
        if self.random.below(2) == 0 {
            self.we_close()
        } else {
            self.they_close()
        }
        // A pong is sent when its ping arrives, which may be after messages that were sent later.
        let [heard, expected] = self.by_them.map(|heard| -> (Vec<_>, Vec<_>) {
            heard.into_iter().partition(|heard| matches!(heard, Heard::Pong(_)))
        });
        assert_eq!(heard, expected, "seed {}, heard by them", self.seed);
        let [heard, expected] = self.by_us;
        assert_eq!(heard, expected, "seed {}, heard by us", self.seed);
        assert!(matches!(self.ours.end(), Ok(Event::Closed(_))), "seed {}", self.seed);
    }

    fn we_send(&mut self) {
        let (kind, payload) = self.message();
        let message = Message { kind, payload: &payload };
        self.ours
            .send(message, &mut self.pipe.to_them.borrow_mut())
            .expect("the connection is open");
        self.by_them[1].push(Heard::Message(kind, payload));
    }

    fn they_send(&mut self) {
        let (kind, payload) = self.message();
        let message = match kind {
            Kind::Binary => tungstenite::Message::binary(payload.clone()),
            Kind::Text => {
                tungstenite::Message::text(String::from_utf8(payload.clone()).expect("text"))
            }
        };
        self.theirs.send(message).expect("the pipe has room");
        self.by_us[1].push(Heard::Message(kind, payload));
    }

    /// A message in two to five fragments, perhaps with pings between them.
    fn they_send_fragments(&mut self) {
        let (kind, payload) = self.message();
        let first = match kind {
            Kind::Binary => Data::Binary,
            Kind::Text => Data::Text,
        };
        let mut cuts: Vec<usize> =
            (0..=self.random.below(4)).map(|_| self.random.below(payload.len() + 1)).collect();
        cuts.extend([0, payload.len()]);
        cuts.sort_unstable();
        for (index, cut) in cuts.windows(2).enumerate() {
            if index > 0 && self.random.below(3) == 0 {
                self.they_ping();
            }
            let opcode = OpCode::Data(if index == 0 { first } else { Data::Continue });
            let frame =
                Frame::message(payload[cut[0]..cut[1]].to_vec(), opcode, index + 2 == cuts.len());
            self.theirs.send(tungstenite::Message::Frame(frame)).expect("the pipe has room");
        }
        self.by_us[1].push(Heard::Message(kind, payload));
    }

    fn they_ping(&mut self) {
        let mut payload = vec![0; self.random.below(126)];
        self.random.fill(&mut payload);
        self.theirs
            .send(tungstenite::Message::Ping(payload.clone().into()))
            .expect("the pipe has room");
        self.by_us[1].push(Heard::Ping(payload.clone()));
        self.by_them[1].push(Heard::Pong(payload));
    }

    fn we_close(&mut self) {
        assert!(self.ours.close(&mut self.pipe.to_them.borrow_mut()), "an answer is owed");
        self.by_them[1].push(Heard::Close(1000));
        self.by_us[1].push(Heard::Close(1000));
        self.deliver();
        self.deliver();
    }

    fn they_close(&mut self) {
        let frame = CloseFrame { code: 4321.into(), reason: "enough".into() };
        self.theirs.close(Some(frame)).expect("the pipe has room");
        self.by_us[1].push(Heard::Close(4321));
        self.by_them[1].push(Heard::Close(4321));
        self.deliver();
        self.deliver();
    }

    /// Delivers all bytes in both directions; those to us in random pieces.
    fn deliver(&mut self) {
        let (_, heard) = self.pipe.deliver(&mut self.ours, &mut self.random);
        self.by_us[0].extend(heard);
        loop {
            match self.theirs.read() {
                Ok(message) => self.by_them[0].push(heard_by_them(message)),
                Err(tungstenite::Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    break;
                }
                Err(tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed) => {
                    break;
                }
                Err(error) => panic!("seed {}: {error}", self.seed),
            }
        }
    }

    /// Text or bytes, of a length at which something changes, or of any length.
    fn message(&mut self) -> (Kind, Vec<u8>) {
        let edges = [0, 1, 2, 7, 8, 125, 126, 127, 128, 1000, 65_530, 65_535, 65_536, 65_540];
        let len = match self.random.below(2) {
            0 => edges[self.random.below(edges.len())],
            _ => self.random.below(3000),
        };
        if self.random.below(2) == 0 {
            let mut bytes = vec![0; len];
            self.random.fill(&mut bytes);
            return (Kind::Binary, bytes);
        }
        let alphabet = ['a', 'Z', '\u{7FF}', 'κ', '\u{800}', '€', '\u{10000}', '\u{10FFFF}'];
        let text: String =
            (0..len / 2).map(|_| alphabet[self.random.below(alphabet.len())]).collect();
        (Kind::Text, text.into_bytes())
    }
}

fn heard_by_them(message: tungstenite::Message) -> Heard {
    match message {
        tungstenite::Message::Text(text) => Heard::Message(Kind::Text, text.as_bytes().to_vec()),
        tungstenite::Message::Binary(bytes) => Heard::Message(Kind::Binary, bytes.to_vec()),
        tungstenite::Message::Ping(bytes) => Heard::Ping(bytes.to_vec()),
        tungstenite::Message::Pong(bytes) => Heard::Pong(bytes.to_vec()),
        tungstenite::Message::Close(frame) => Heard::Close(frame.expect("with a code").code.into()),
        tungstenite::Message::Frame(frame) => panic!("a bare frame {frame}"),
    }
}

/// Two buffers; reading from an empty one would block.
#[derive(Clone, Debug, Default)]
struct Pipe {
    to_them: Rc<RefCell<Vec<u8>>>,
    to_us: Rc<RefCell<VecDeque<u8>>>,
}

impl Pipe {
    /// Feeds `ours` all bytes that wait for it, in random pieces. Returns whether it opened, and what it heard.
    fn deliver(&self, ours: &mut WebSocket, random: &mut Random) -> (bool, Vec<Heard>) {
        let mut bytes: Vec<u8> = self.to_us.borrow_mut().drain(..).collect();
        let mut rest = &mut *bytes;
        let mut opened = false;
        let mut heard = Vec::new();
        while !rest.is_empty() {
            let longest = [8, 1000, 100_000][random.below(3)];
            let (piece, after) = rest.split_at_mut((1 + random.below(longest)).min(rest.len()));
            rest = after;
            let mut input = Input::new(piece);
            while let Some(event) = ours
                .receive(&mut input, &mut self.to_them.borrow_mut())
                .expect("they keep the rules")
            {
                match event {
                    Event::Message(Message { kind, payload }) => {
                        heard.push(Heard::Message(kind, payload.to_vec()));
                    }
                    Event::Ping(payload) => heard.push(Heard::Ping(payload.to_vec())),
                    Event::Pong(payload) => heard.push(Heard::Pong(payload.to_vec())),
                    Event::Closed(closed) => {
                        heard.push(Heard::Close(closed.code.expect("with a code")))
                    }
                    Event::Open => opened = true,
                    Event::Answer(_) | Event::Part(_) | Event::Pushed(_) | Event::Redirected => {
                        panic!("{event:?}")
                    }
                    Event::Refused { code, .. } => {
                        panic!("WebSocket refuses nothing, not even with {code}")
                    }
                    Event::Response(response) => panic!("{response:?}"),
                    Event::Secured(_) => panic!("there is no TLS"),
                }
            }
        }
        (opened, heard)
    }
}

/// Their end.
impl io::Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut waiting = self.to_them.borrow_mut();
        if waiting.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let len = waiting.len().min(buffer.len());
        buffer[..len].copy_from_slice(&waiting[..len]);
        waiting.drain(..len);
        Ok(len)
    }
}

impl io::Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to_us.borrow_mut().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const LIMITS: Limits =
    Limits { fragments_max: 10, frame_len_max: 1 << 20, message_len_max: 1 << 20 };

const SEEDS: u64 = 40;

/// Steps of a conversation before it ends.
const STEPS: usize = 30;
