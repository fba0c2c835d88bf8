//! Walks through the cases of an Autobahn fuzzing server with wirebench's own WebSocket client.
//!
//! ```text
//! cargo run --release --example autobahn_client -- [ws://127.0.0.1:9001] [AGENT]
//! ```
//!
//! Asks `/getCaseCount`; for each case, asks `/getCaseInfo?case=N` which one it is, and echoes every message of
//! `/runCase?case=N&agent=AGENT` until the server closes; then has the reports written with
//! `/updateReports?agent=AGENT`. Compression is offered in groups 12 and 13 alone: only there does the server agree to
//! it, and a client of ours that offered it fails where it does not.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people, not a library"
)]

use engine::clock::Clock;
use engine::epoll::Epoll;
use engine::{Address, Completion, ConnectionId, Engine, Node, Step};
use spec::Endpoint;
use std::hash::{BuildHasher, RandomState};
use std::net::ToSocketAddrs;
use std::process::ExitCode;
use std::sync::Arc;
use units::{Instant, Nanos};
use wire::websocket::{Limits, WebSocket, deflate, handshake::Request};
use wire::{Event, Input, Message, Protocol};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let url = args.next().unwrap_or_else(|| "ws://127.0.0.1:9001".to_owned());
    let agent = args.next().unwrap_or_else(|| "wirebench".to_owned());
    match walk(&url, &agent) {
        Ok(cases) => {
            println!("walked through {cases} cases as {agent}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("autobahn_client: {error}");
            ExitCode::FAILURE
        }
    }
}

fn walk(url: &str, agent: &str) -> Result<u32, String> {
    let url: Endpoint = url.parse().map_err(|error| format!("{error}"))?;
    let mut count = String::new();
    Session::run(&url, "/getCaseCount", None, |message| {
        count = String::from_utf8_lossy(message.payload).into_owned();
        false
    })?;
    let cases: u32 = count
        .parse()
        .map_err(|_| format!("`{}` is not a number of cases", count.escape_debug()))?;
    for case in 1..=cases {
        let mut info = String::new();
        Session::run(&url, &format!("/getCaseInfo?case={case}"), None, |message| {
            info = String::from_utf8_lossy(message.payload).into_owned();
            false
        })?;
        // How a case ends is the server's to judge.
        let target = format!("/runCase?case={case}&agent={agent}");
        if let Err(error) = Session::run(&url, &target, offer(&info)?, |_| true) {
            eprintln!("case {case}: {error}");
        }
    }
    Session::run(&url, &format!("/updateReports?agent={agent}"), None, |_| false)?;
    Ok(cases)
}

/// The offer for the case that `info` describes, e.g. `{"id": "13.2.1", "description": "…"}`: that the server may
/// limit our window, and in the cases that insist on it, that we forget the window after each message.
fn offer(info: &str) -> Result<Option<deflate::Offer>, String> {
    let id = info.split('"').find(|part| part.starts_with(|first: char| first.is_ascii_digit()));
    let id = id.ok_or_else(|| format!("{info} names no case"))?;
    let groups = |groups: &[&str]| groups.iter().any(|group| id.starts_with(group));
    if !groups(&["12.", "13."]) {
        return Ok(None);
    }
    Ok(Some(deflate::Offer {
        client_max_window_bits: Some(None),
        client_no_context_takeover: groups(&["13.2.", "13.5.", "13.6.", "13.7."]),
        ..deflate::Offer::default()
    }))
}

/// One connection, from the connect to its end.
struct Session<F> {
    id: ConnectionId,
    machine: WebSocket,
    /// Is shown each message, and says whether to echo it.
    on_message: F,
    outcome: Option<Result<(), String>>,
    ending: bool,
    deadline: Instant,
    rx: Vec<u8>,
    tx: Vec<u8>,
}

impl<F: FnMut(Message<'_>) -> bool> Session<F> {
    fn run(
        url: &Endpoint,
        target: &str,
        deflate: Option<deflate::Offer>,
        on_message: F,
    ) -> Result<(), String> {
        let Endpoint {
            protocol: spec::Protocol::WebSocket,
            tls: false,
            address: spec::Address::Host { name, port },
            ..
        } = url
        else {
            return Err(format!("{url} is not a ws:// URL"));
        };
        let address = (name.as_str(), *port)
            .to_socket_addrs()
            .map_err(|error| format!("{name}: {error}"))?
            .next()
            .ok_or_else(|| format!("{name} has no address"))?;
        let request = Request {
            host: url.authority(),
            target: target.to_owned(),
            subprotocols: Vec::new(),
            headers: Vec::new(),
            deflate,
        };
        let limits = Limits {
            frame_len_max: MESSAGE_MAX,
            message_len_max: MESSAGE_MAX,
            ..Limits::default()
        };
        // Another key and other masks for each connection (§4.1, §5.3).
        let seed = RandomState::new().hash_one(target);
        let mut engine = Epoll::new(Clock::start()).map_err(|error| error.to_string())?;
        let mut session = Self {
            id: engine.connect(&Address::Tcp(address), None),
            machine: WebSocket::client(Arc::new(request), limits, seed),
            on_message,
            outcome: None,
            ending: false,
            deadline: Instant::START + CASE_MAX,
            rx: vec![0; 1 << 18],
            tx: Vec::new(),
        };
        engine::run(&mut engine, &mut session);
        session.outcome.unwrap_or_else(|| Err("it did not end".to_owned()))
    }

    fn received(&mut self, engine: &mut impl Engine, len: usize) {
        let mut input = Input::new(&mut self.rx[..len]);
        let mut is_broken = false;
        while !self.ending {
            match self.machine.receive(&mut input, &mut self.tx) {
                Ok(None) => break,
                Ok(Some(Event::Message(message))) => {
                    if (self.on_message)(message) {
                        let (kind, payload) = (message.kind, message.payload.to_vec());
                        drop(self.machine.send(Message { kind, payload: &payload }, &mut self.tx));
                    }
                }
                // The server ends the connection first (RFC 6455 §7.1.1); until then we only listen.
                Ok(Some(Event::Closed(_))) => self.ending = true,
                Ok(Some(
                    Event::Open
                    | Event::Ping(_)
                    | Event::Pong(_)
                    | Event::Refused { .. }
                    | Event::Response(_)
                    | Event::Answer(_)
                    | Event::Part(_)
                    | Event::Pushed(_)
                    | Event::Redirected
                    | Event::Secured(_),
                )) => {}
                Err(_) => (self.ending, is_broken) = (true, true),
            }
        }
        engine.send(self.id, &self.tx);
        self.tx.clear();
        if is_broken {
            // It failed: then we end the connection (§7.1.7).
            engine.shutdown(self.id);
        }
    }
}

impl<E: Engine, F: FnMut(Message<'_>) -> bool> Node<E> for Session<F> {
    fn step(&mut self, engine: &mut E) -> Step {
        while let Some(completion) = engine.complete(&mut self.rx) {
            match completion {
                Completion::Connected(id) => {
                    self.machine.open(&mut self.tx);
                    engine.send(id, &self.tx);
                    self.tx.clear();
                }
                Completion::Received { len, .. } => self.received(engine, len),
                Completion::Ended(id) => {
                    engine.close(id);
                    self.outcome = Some(Ok(()));
                }
                Completion::Failed(..) if self.ending => self.outcome = Some(Ok(())),
                Completion::Failed(_, error) => self.outcome = Some(Err(error.to_string())),
                Completion::Accepted(id) => engine.close(id),
            }
        }
        if self.outcome.is_some() {
            return Step::Done;
        }
        if engine.now() >= self.deadline {
            self.outcome = Some(Err(format!("it did not end within {CASE_MAX}")));
            return Step::Done;
        }
        Step::Wait(self.deadline)
    }
}

/// The largest message of the suite.
const MESSAGE_MAX: usize = 16 << 20;

/// The longest case allows 480 s.
const CASE_MAX: Nanos = Nanos::from_secs(500);
