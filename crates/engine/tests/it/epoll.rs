//! Tests of what the system adds to the contract: files, and running out of them.

use crate::kinds::{Kind, Tcp, Unix};
use crate::process::Process;
use engine::Completion::{Accepted, Connected, Failed};
use engine::clock::Clock;
use engine::epoll::Epoll;
use engine::{Address, ConnectionError, ConnectionId, Engine, Metered, Sharing};
use rustix::net::{self, AddressFamily, SocketType};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::process::Command;
use units::{Instant, Nanos};

#[test]
fn a_socket_that_a_dead_server_left_behind_is_replaced() {
    let mut kind = Unix::new();
    let address = kind.address();
    drop(kind.engine().listen(&address));
    let mut server = kind.engine();
    assert_eq!(server.listen(&address), Ok(address.clone()));
    let mut client = Process::new(kind.engine());
    let there = client.engine.connect(&address, None);
    assert_eq!(client.next(), Connected(there));
}

#[test]
fn a_file_in_the_place_of_a_socket_is_left_alone() {
    let mut kind = Unix::new();
    let address = kind.address();
    let Address::Unix(path) = &address else { panic!("{address}") };
    std::fs::write(path, "precious").unwrap();
    assert_eq!(kind.engine().listen(&address), Err(ConnectionError::AddressInUse));
    assert_eq!(std::fs::read_to_string(path).unwrap(), "precious");
}

#[test]
fn a_path_that_does_not_exist_is_not_found() {
    let mut kind = Unix::new();
    let mut client = Process::new(kind.engine());
    let there = client.engine.connect(&kind.address(), None);
    assert_eq!(client.next(), Failed(there, ConnectionError::NotFound));
}

#[test]
fn the_source_address_is_the_one_asked_for() {
    let mut kind = Tcp::new();
    let mut server = Process::new(kind.engine());
    let address = server.engine.listen(&kind.address()).unwrap();
    let mut client = Process::new(kind.engine());
    let there = client.engine.connect(&address, Some([127, 1, 2, 3].into()));
    assert_eq!(client.next(), Connected(there));
    let elsewhere = client.engine.connect(&address, Some([192, 0, 2, 1].into()));
    assert_eq!(client.next(), Failed(elsewhere, ConnectionError::AddressNotAvailable));
}

#[test]
fn a_shutdown_does_not_give_up_an_attempt_that_is_under_way() {
    let mut kind = Tcp::new();
    let Address::Tcp(any_port) = kind.address() else { panic!("expected a TCP address") };
    let listener = net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    net::bind(&listener, &any_port).unwrap();
    net::listen(&listener, 0).unwrap(); // One waits to be accepted; the next gets no answer.
    let address = net::getsockname(&listener).unwrap().try_into().map(Address::Tcp).unwrap();

    let mut client = Process::new(kind.engine());
    let first = client.engine.connect(&address, None);
    assert_eq!(client.next(), Connected(first));
    let second = client.engine.connect(&address, None);
    client.is_quiet();
    client.engine.shutdown(second);
    client.is_quiet();
}

#[test]
fn what_arrives_on_tcp_is_stamped_between_sending_and_receiving() {
    let mut pair = Pair::new(&mut Tcp::new(), true);
    for _ in 0..100 {
        let (sent, arrived, now) = pair.exchange_stamped();
        assert!(sent <= arrived + MICROSECOND && arrived <= now, "{sent:?} {arrived:?} {now:?}");
    }
}

#[test]
fn nothing_is_stamped_that_nobody_asked_for_or_that_is_no_tcp() {
    let mut unasked = Pair::new(&mut Tcp::new(), false);
    let mut unix = Pair::new(&mut Unix::new(), true);
    for _ in 0..100 {
        assert_eq!([unasked.exchange().1, unix.exchange().1], [None, None]);
    }
}

#[test]
fn a_stamp_is_that_of_the_last_bytes() {
    let mut pair = Pair::new(&mut Tcp::new(), true);
    for _ in 0..PATIENCE {
        pair.server.engine.send(pair.here, b"first");
        let between = pair.server.engine.now();
        pair.server.engine.send(pair.here, b"last");
        assert_eq!(pair.client.receive(pair.there, 9), b"firstlast");
        let now = pair.client.engine.now();
        if let Some(arrived) = pair.client.engine.arrived(now) {
            assert!(between <= arrived + MICROSECOND, "{between:?} {arrived:?}");
            return;
        }
    }
    panic!("none of {PATIENCE} messages was stamped")
}

#[test]
fn segments_of_tcp_are_counted_in_both_directions() {
    const COUNT: u64 = 50;
    let mut pair = Pair::new(&mut Tcp::new(), false);
    let before = pair.client.engine.segments(pair.there).unwrap();
    assert!((1..=3).contains(&before.sent) && (1..=3).contains(&before.received), "{before:?}");
    for _ in 0..COUNT {
        pair.client.engine.send(pair.there, b"question");
        assert_eq!(pair.server.receive(pair.here, 8), b"question");
        pair.exchange();
    }
    let after = pair.client.engine.segments(pair.there).unwrap();
    // One each for what was sent, and an acknowledgement where it does not travel with the answer.
    assert!((COUNT..=3 * COUNT).contains(&(after.sent - before.sent)), "{before:?} {after:?}");
    let received = after.received - before.received;
    assert!((COUNT..=3 * COUNT).contains(&received), "{before:?} {after:?}");

    pair.client.engine.close(pair.there);
    assert_eq!(pair.client.engine.segments(pair.there), None, "it is closed");
    let pair = Pair::new(&mut Unix::new(), false);
    assert_eq!(pair.client.engine.segments(pair.there), None, "there are none");
}

/// The limit of open files is that of the process, so the test has a process of its own.
#[test]
fn running_out_of_open_files_is_survived() {
    let tests = std::env::current_exe().unwrap();
    let arguments = ["--exact", "epoll::with_few_open_files", "--ignored"];
    let output = Command::new(tests).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "lowers a limit of the whole process: `running_out_of_open_files_is_survived` runs it"]
fn with_few_open_files() {
    let mut kind = Tcp::new();
    let mut server = Process::new(kind.engine());
    let address = server.engine.listen(&kind.address()).unwrap();
    let mut client = Process::new(kind.engine());
    for _ in 0..5 {
        let there = client.engine.connect(&address, None);
        assert_eq!(client.next(), Connected(there));
    }
    let limit = Rlimit { current: Some(64), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limit).unwrap();
    let files: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    server.is_quiet();
    let one_more = client.engine.connect(&address, None);
    assert_eq!(client.next(), Failed(one_more, ConnectionError::TooManyFiles));

    drop(files); // Elsewhere in the process: no close of this engine makes room.
    for _ in 0..5 {
        assert!(matches!(server.next(), Accepted(_)));
    }
}

/// A connection whose client may have asked for stamps.
struct Pair {
    client: Process<Epoll>,
    server: Process<Epoll>,
    there: ConnectionId,
    here: ConnectionId,
}

impl Pair {
    fn new<K: Kind<Engine = Epoll>>(kind: &mut K, stamps: bool) -> Self {
        let mut server = Process::new(kind.engine());
        let address = server.engine.listen(&kind.address()).unwrap();
        let mut client = Process::new(kind.engine());
        client.engine.set_receive_stamps(stamps);
        let there = client.engine.connect(&address, None);
        assert_eq!(client.next(), Connected(there));
        let Accepted(here) = server.next() else { panic!("expected a connection, nothing else") };
        Self { client, server, there, here }
    }

    /// Sends a message to the client and returns the instants at which it was sent, arrived according to its stamp, and
    /// was received.
    fn exchange(&mut self) -> (Instant, Option<Instant>, Instant) {
        let sent = self.server.engine.now();
        self.server.engine.send(self.here, b"message");
        assert_eq!(self.client.receive(self.there, 7), b"message");
        let now = self.client.engine.now();
        (sent, self.client.engine.arrived(now), now)
    }

    /// The same, until a message is stamped. The kernel begins to stamp some time after it was asked to, and leaves out
    /// a few messages when the machine is busy.
    fn exchange_stamped(&mut self) -> (Instant, Instant, Instant) {
        for _ in 0..PATIENCE {
            if let (sent, Some(arrived), now) = self.exchange() {
                return (sent, arrived, now);
            }
        }
        panic!("none of {PATIENCE} messages was stamped")
    }
}

const PATIENCE: usize = 100_000;
/// The precision of a stamp.
const MICROSECOND: Nanos = Nanos::from_micros(1);

#[test]
fn an_address_is_shared_by_those_who_agree_and_no_others() {
    let [mut first, mut second, mut other, mut client] =
        [(); 4].map(|()| Epoll::new(Clock::start()).unwrap());
    let any = Address::Tcp(([127, 0, 0, 1], 0).into());
    let address = first.listen_shared(&any, Sharing::First).unwrap();
    assert_eq!(second.listen_shared(&address, Sharing::Next), Ok(address.clone()));
    for sharing in [Sharing::First, Sharing::Alone] {
        let refused = other.listen_shared(&address, sharing);
        assert_eq!(refused, Err(ConnectionError::AddressInUse), "{sharing:?}");
    }
    for _ in 0..200 {
        client.connect(&address, None);
    }
    let accepted = [&mut first, &mut second].map(|engine| {
        engine.wait(Instant::START + Nanos::from_secs(10));
        let mut count = 0;
        while let Some(Accepted(_)) = engine.complete(&mut [0]) {
            count += 1;
        }
        count
    });
    assert_eq!(accepted.iter().sum::<u32>(), 200);
    assert!(accepted.iter().all(|count| *count > 0), "{accepted:?}"); // Except in one case of 2^199.
}
