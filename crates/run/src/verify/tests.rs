//! Correct servers and clients pass; each that is wrong in one way is caught, and its fault is named.

#![expect(clippy::disallowed_types, reason = "servers that keep to no rule of the engine")]

use super::client::{Asking, Failure};
use super::conversation::Conversation;
use super::known_servers::{Answers, Known, Secrets};
use super::{Check, Extent, Outcome, ServerQuestions, verify_server};
use crate::Speech;
use crate::reach::{Context, resolve, stack, tls};
use drive::Target;
use engine::clock::Clock;
use lab::{ClientSettings, Limits, Report, Run, Until};
use spec::{Endpoint, Protocol, Scheme};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use units::Nanos;
use wire::Kind;
use wire::websocket::handshake::ServerHandshake;

static NEVER: AtomicUsize = AtomicUsize::new(0);

fn ask(url: &Endpoint, limits: &Limits, reply: Option<&[u8]>, extent: Extent) -> Vec<Check> {
    let questions = ServerQuestions { url, authority_pem: None, limits, reply, extent };
    verify_server(&questions, &NEVER)
}

fn failures(checks: &[Check]) -> Vec<String> {
    checks.iter().filter_map(Check::failure).collect()
}

fn not_asked(checks: &[Check]) -> Vec<(&str, &str)> {
    let of_check = |check: &'_ Check| match &check.outcome {
        Outcome::NotAsked(why) => {
            Some((check.what.clone().leak() as &str, why.clone().leak() as &str))
        }
        Outcome::Failed(_) | Outcome::Passed => None,
    };
    checks.iter().filter_map(of_check).collect()
}

#[test]
fn our_own_servers_pass() {
    for scheme in ["tcp-framed", "ws", "http", "styx"].map(|name| Scheme::named(name).unwrap()) {
        let server = Known::start(scheme, 1, Answers::Echo, None).unwrap();
        for (extent, count) in [(Extent::Full, 8), (Extent::Short, 1)] {
            let checks = ask(&server.url, &Limits::default(), None, extent);
            assert_eq!(failures(&checks), [""; 0], "{scheme}");
            assert!(checks.len() >= count, "{scheme} {checks:?}");
        }
    }
    // A stream, in which the server knows no messages.
    let server = Known::start(Protocol::Tcp.plain(), 1, Answers::Echo, None).unwrap();
    let checks = ask(&server.url, &Limits::default(), None, Extent::Full);
    assert_eq!(failures(&checks), [""; 0]);
    let unseen = ("echo of 0 B, binary", "tcp carries no empty message");
    assert_eq!(not_asked(&checks), [unseen]);
}

#[test]
fn a_server_inside_tls_passes() {
    for scheme in ["wss", "https", "tls"].map(|name| Scheme::named(name).unwrap()) {
        let secrets = Secrets::new(scheme).unwrap();
        let server = Known::start(scheme, 1, Answers::Echo, Some(&secrets)).unwrap();
        let questions = ServerQuestions {
            url: &server.url,
            authority_pem: Some(secrets.authority_pem.as_bytes()),
            limits: &Limits::default(),
            reply: None,
            extent: Extent::Full,
        };
        assert_eq!(failures(&verify_server(&questions, &NEVER)), [""; 0], "{scheme}");
        let strange = ServerQuestions { authority_pem: None, ..questions };
        let failures = failures(&verify_server(&strange, &NEVER));
        assert!(failures.len() == 1 && failures[0].starts_with("connection: "), "{failures:?}");
    }
}

#[test]
fn a_fixed_reply_is_held_against_what_it_should_be() {
    for scheme in ["tcp", "tcp-framed", "ws", "http"].map(|name| Scheme::named(name).unwrap()) {
        let server = Known::start(scheme, 4, Answers::Always(b"Pong".to_vec()), None).unwrap();
        let pong = ask(&server.url, &Limits::default(), Some(b"Pong"), Extent::Full);
        assert_eq!(failures(&pong), [""; 0], "{scheme}");
        let pang = ask(&server.url, &Limits::default(), Some(b"Pang"), Extent::Short);
        let failures = failures(&pang);
        assert!(!failures.is_empty(), "{scheme}");
        let differs = "the reply differs from byte 1 on: \"ong\", \"ang\" expected";
        assert!(failures.iter().all(|failure| failure.ends_with(differs)), "{failures:?}");
    }
}

#[test]
fn what_a_manifest_says_is_impossible_is_not_asked() {
    let server = Known::start(Protocol::WebSocket.plain(), 1, Answers::Echo, None).unwrap();
    let why = "its frames have 64 KiB at most".to_owned();
    let limits = Limits { message_max: Some(65_535), text_only: true, why, ..Limits::default() };
    let checks = ask(&server.url, &limits, None, Extent::Full);
    assert_eq!(failures(&checks), [""; 0]);
    let not_asked = not_asked(&checks);
    let binary = not_asked.iter().filter(|(what, _)| what.ends_with("binary")).count();
    assert_eq!((not_asked.len(), binary), (2 + 8, 8), "{not_asked:?}");
    assert!(not_asked.iter().all(|(_, why)| *why == limits.why));
}

#[test]
fn a_server_that_is_wrong_in_one_way_is_named() {
    let behaviour = |change: fn(&mut serve::Behaviour)| {
        let mut behaviour = serve::Behaviour::default();
        change(&mut behaviour);
        Answers::Oracle(behaviour)
    };
    let all = units::Share::ALL;
    assert_eq!(all, "100%".parse().unwrap());
    #[rustfmt::skip]
    let table = [
        (behaviour(|it| it.corrupt = units::Share::ALL), "echo of 1 B, binary: the reply differs from byte 0 on"),
        (behaviour(|it| it.duplicate = units::Share::ALL), "echo of 1 B, text: a reply of 0 B, 1 B expected"),
        (behaviour(|it| it.close_after = std::num::NonZeroU64::new(1)), "echo of 1 B, text: "),
    ];
    for (answers, expected) in table {
        let server = Known::start(Protocol::WebSocket.plain(), 1, answers, None).unwrap();
        let failures = failures(&ask(&server.url, &Limits::default(), None, Extent::Full));
        let is_named = failures.iter().any(|failure| failure.starts_with(expected));
        assert!(is_named, "{expected}: {failures:?}");
    }
}

/// The answer of a server to the bytes received.
type Answer = fn(&[u8]) -> Vec<u8>;

#[test]
fn what_a_websocket_server_must_answer_is_asked_for() {
    const PING: u8 = 0x89;
    #[rustfmt::skip]
    let table: [(&str, Answer); _] = [
        ("ping: a reply of 2 B, 14 B expected: \"no\"",
            |bytes| if bytes[0] == PING { b"\x8a\x02no".to_vec() } else { b"\x88\0".to_vec() }),
        ("ping: a text message of 1 B, \"x\", instead of the pong",
            |bytes| if bytes[0] == PING { b"\x81\x01x".to_vec() } else { b"\x88\0".to_vec() }),
        ("close: a text message of 1 B, \"x\", instead of it",
            |_| b"\x81\x01x".to_vec()),
        ("echo of 0 B, binary: the reply to a binary message is text",
            |_| b"\x81\0".to_vec()),
        ("echo of 1 B, text: frame of the server is masked (RFC 6455 §5.1)",
            |_| b"\x81\x81\0\0\0\0x".to_vec()),
    ];
    for (expected, answer) in table {
        let failures = std::thread::scope(|scope| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let url: Endpoint = format!("ws://{address}/").parse().unwrap();
            let asking = scope.spawn(move || {
                let failures = failures(&ask(&url, &Limits::default(), None, Extent::Full));
                drop(std::net::TcpStream::connect(address)); // The last connection, which ends the server.
                failures
            });
            scripted(&listener, answer);
            asking.join().unwrap()
        });
        let is_named = failures.iter().any(|failure| failure == expected);
        assert!(is_named, "{expected}: {failures:#?}");
    }
}

#[test]
fn nobody_there_is_one_failure() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url: Endpoint = format!("ws://{gone}/").parse().unwrap();
    let checks = ask(&url, &Limits::default(), None, Extent::Full);
    let refused = "connection: connection refused while waiting for the opening handshake";
    assert_eq!(failures(&checks), [refused]);
    let public: Endpoint = "ws://8.8.8.8/".parse().unwrap();
    let checks = ask(&public, &Limits::default(), None, Extent::Full);
    assert!(failures(&checks)[0].contains("8.8.8.8 is a public address"), "{checks:?}");
}

#[test]
fn files_are_asked_for_by_their_lengths() {
    let files = Limits { files_only: true, why: "it serves files".to_owned(), ..Limits::default() };
    for (lie, expected) in [(0, vec![]), (1, vec!["GET /126: a body of 127 B, 126 B expected"])] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let url: Endpoint = format!("http://{address}/").parse().unwrap();
        let checks = std::thread::scope(|scope| {
            scope.spawn(|| serve_files(&listener, lie));
            let checks = ask(&url, &files, None, Extent::Full);
            drop(std::net::TcpStream::connect(address));
            checks
        });
        assert_eq!(failures(&checks), expected);
        assert_eq!(not_asked(&checks), [("echo of a POST", "it serves files")]);
    }
}

#[test]
fn a_client_that_counts_what_it_does_passes() {
    for scheme in ["tcp", "ws", "http", "wss"].map(|name| Scheme::named(name).unwrap()) {
        let checks = verify_client_of(scheme, &mut |settings, run| {
            Ok(Honest::new(settings, run, scheme).work())
        });
        assert_eq!(failures(&checks), [""; 0], "{scheme}");
        let binary = usize::from(scheme.protocol == Protocol::WebSocket);
        assert_eq!(checks.len(), 7 + binary, "{scheme}");
    }
    let none = verify_client_of(Protocol::TcpFramed.plain(), &mut |_, _| {
        Err(Failure::Unsupported("no framing here".to_owned()))
    });
    assert!(not_asked(&none).iter().all(|(_, why)| *why == "no framing here"));
    assert_eq!(not_asked(&none).len(), 7);
    assert!(
        Asking::new(Protocol::SockJs.plain(), Path::new("/tmp")).is_err(),
        "we have no server of it"
    );
}

#[test]
fn a_client_that_is_wrong_in_one_way_is_named() {
    type Lie = fn(&mut Report);
    #[rustfmt::skip]
    let table: [(Lie, &str, &str); _] = [
        (|it| it.ok += 1, "exactly as many", "101 round trips reported, 100 asked for"),
        (|it| it.ok = 50, "exactly as many", "50 round trips reported, 100 asked for"),
        (|it| it.round_trips.record(Nanos(1)), "exactly as many", "100 round trips reported, but the times of 101"),
        (|it| it.wall = Nanos(1), "exactly as many", "have in a window of 1 ns"),
        (|it| it.errors.push((1, "broken \u{1b}".to_owned())), "exactly as many", "errors reported (1): broken \\u{1b}"),
        (|it| it.errors.clear(), "wrong replies", "0 round trips and 0 errors reported"),
        (|it| it.lives.reset(), "10 lives", "0 lives with 50 round trips reported"),
        (shorter, "a delay", "the shortest round trip is 1 ms, but the server delays each message by 20 ms"),
    ];
    for (lie, what, expected) in table {
        let checks = verify_client_of(Protocol::WebSocket.plain(), &mut |settings, run| {
            let mut report = Honest::new(settings, run, Protocol::WebSocket.plain()).work();
            lie(&mut report);
            Ok(report)
        });
        let failures = failures(&checks);
        let is_named = failures.iter().any(|it| it.starts_with(what) && it.contains(expected));
        assert!(is_named, "{what} {expected}: {failures:#?}");
    }
}

#[test]
fn round_trips_that_were_never_made_are_noticed() {
    let checks = verify_client_of(Protocol::WebSocket.plain(), &mut |_, run| {
        let mut report = Report { wall: Nanos::from_secs(1), ..Report::default() };
        if let Until::Messages(messages) = run.until {
            report.ok = messages;
            (0..messages).for_each(|_| report.round_trips.record(Nanos(1000)));
        }
        Ok(report)
    });
    let first =
        "exactly as many round trips as it reports: 100 round trips reported, the server had 0";
    assert_eq!(failures(&checks)[0], first);
}

#[test]
fn a_signal_stops_asking() {
    let interrupt = AtomicUsize::new(15);
    let folder = scratch();
    let asking = Asking::new(Protocol::Tcp.plain(), &folder).unwrap();
    let checks = asking.all(Extent::Full, false, &mut |_, _| panic!("nobody is asked"), &interrupt);
    assert!(failures(&checks).iter().all(|failure| failure.ends_with(": stopped by signal 15")));
}

fn verify_client_of(
    scheme: Scheme,
    start: &mut dyn FnMut(&ClientSettings, &Run) -> Result<Report, Failure>,
) -> Vec<Check> {
    // Enough even on a busy machine.
    let delay_over_max = Nanos::from_secs(60);
    let mut asking = Asking::new(scheme, &scratch()).unwrap();
    asking.delay_over_max = delay_over_max;
    asking.all(Extent::Full, false, start, &NEVER)
}

fn scratch() -> std::path::PathBuf {
    std::env::temp_dir()
}

/// Replaces all times by 1 ms.
fn shorter(report: &mut Report) {
    let count = report.round_trips.count();
    report.round_trips.reset();
    (0..count).for_each(|_| report.round_trips.record(Nanos::from_millis(1)));
}

/// A client that does what it is told, one connection after another, and reports it.
struct Honest<'a> {
    run: Run,
    connections: u64,
    life: u64,
    kind: Kind,
    payload: Vec<u8>,
    expect: Vec<u8>,
    target: Target,
    context: Context<'a>,
}

impl Honest<'_> {
    fn new(settings: &ClientSettings, run: &Run, scheme: Scheme) -> Self {
        let context = Context { clock: Clock::start(), interrupt: &NEVER };
        let url: Endpoint = settings.url.parse().unwrap();
        let address =
            resolve(&url, Nanos::from_secs(1), context.clock).unwrap().addresses.remove(0);
        let speech = Speech::usual(scheme);
        let authority = settings.authority.as_ref().map(|file| std::fs::read(file).unwrap());
        let tls = tls(&url, &speech, authority.as_deref()).unwrap();
        let expect = std::fs::read(&settings.expect).unwrap();
        let stack = stack(&url, &speech, expect.len(), tls).unwrap();
        Self {
            run: *run,
            connections: settings.connections.into(),
            life: settings.life.unwrap_or(u64::MAX),
            kind: if settings.is_text { Kind::Text } else { Kind::Binary },
            payload: std::fs::read(&settings.payload).unwrap(),
            expect,
            target: Target {
                address,
                sources: Vec::new(),
                stack,
                publishers: None,
                lives_on: false,
            },
            context,
        }
    }

    fn work(&self) -> Report {
        let (messages, lives, each) = match self.run.until {
            Until::Messages(messages) => (messages, self.connections, messages / self.connections),
            Until::Clients(lives) => (lives * self.life, lives, self.life),
            Until::Time(_) => (3, 1, 3),
        };
        let began = self.context.clock.now();
        let mut report = Report::default();
        for _ in 0..lives {
            let life = self.context.clock.now();
            let mut conversation = Conversation::open(&self.target, self.context).unwrap();
            for _ in 0..each {
                let sent = self.context.clock.now();
                let (_, reply) = conversation.ask(self.kind, &self.payload).unwrap();
                if reply == self.expect {
                    report.round_trips.record(self.context.clock.now().since(sent));
                    report.ok += 1;
                } else {
                    report.errors.push((1, "another reply".to_owned()));
                }
            }
            if self.life != u64::MAX {
                report.lives.record(self.context.clock.now().since(life));
            }
        }
        assert_eq!(report.ok + report.errors.len() as u64, messages);
        report.wall = self.context.clock.now().since(began);
        report
    }
}

/// Accepts connections until one sends nothing, and answers their frames, each of which arrives in one read.
fn scripted(listener: &TcpListener, answer: Answer) {
    loop {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = vec![0; 4 << 20];
        let len = stream.read(&mut bytes).unwrap();
        if len == 0 {
            return;
        }
        let mut switched = Vec::new();
        ServerHandshake::new(Arc::default()).read(&bytes[..len], &mut switched).unwrap().unwrap();
        stream.write_all(&switched).unwrap();
        while let Ok(len @ 1..) = stream.read(&mut bytes) {
            if stream.write_all(&answer(&bytes[..len])).is_err() {
                break;
            }
        }
    }
}

/// Serves files named by their lengths, until a second connection asks for none; the file of 126 bytes has `lie` more.
fn serve_files(listener: &TcpListener, lie: usize) {
    let mut silent = 0;
    while silent < 2 {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = [0; 4096];
        silent += 1;
        while let Ok(len @ 1..) = stream.read(&mut bytes) {
            let head = String::from_utf8_lossy(&bytes[..len]).into_owned();
            let name = head.split(' ').nth(1).unwrap().trim_start_matches('/');
            let len: usize = name.parse().unwrap();
            let len = if len == 126 { len + lie } else { len };
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {len}\r\n\r\n");
            stream.write_all(&[head.as_bytes(), &vec![b'x'; len]].concat()).unwrap();
            silent = 1;
        }
    }
}
