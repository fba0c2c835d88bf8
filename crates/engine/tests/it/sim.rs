//! Tests of what the simulated network does beyond the contract.

use crate::process::Process;
use engine::Completion::{Accepted, Connected, Ended, Failed, Received};
use engine::sim::{Conditions, Cut, Cuts, Network, Outcome, Party, Sim, Split};
use engine::{Address, Completion, ConnectionError, ConnectionId, Engine, Metered, Node, Step};
use units::{Instant, Nanos};

#[test]
fn everything_takes_exactly_the_delay() {
    let (mut client, mut server, mut network) = world(calm());
    let mut log = Vec::new();
    let there = client.connect(&address(), None);
    let asking = |engine: &mut Sim| {
        while let Some(completion) = engine.complete(&mut [0; 100]) {
            log.push((engine.now(), completion));
            if completion == Connected(there) {
                engine.send(there, b"ping");
            }
        }
        if log.len() == 2 { Step::Done } else { Step::Wait(Instant::NEVER) }
    };
    assert_eq!(run(&mut network, &mut client, &mut server, asking, Instant::NEVER), Outcome::Done);
    let expected = [
        (Instant::START + ms(2), Connected(there)),
        (Instant::START + ms(4), Received { connection: there, len: 4 }),
    ];
    assert_eq!(log, expected);
    assert_eq!(network.now(), Instant::START + ms(4));
}

#[test]
fn a_seed_gives_the_same_run_every_time_and_another_seed_another() {
    let first = eventful_run(1);
    assert!(first.len() > 300, "{}", first.len());
    assert_eq!(eventful_run(1), first);
    assert_ne!(eventful_run(2), first);
}

#[test]
fn a_run_in_which_nothing_can_happen_any_more_is_stuck() {
    let (mut client, mut server, mut network) = world(calm());
    client.connect(&address(), None);
    let silent = |engine: &mut Sim| {
        while engine.complete(&mut [0; 100]).is_some() {}
        Step::Wait(Instant::NEVER)
    };
    assert_eq!(run(&mut network, &mut client, &mut server, silent, Instant::NEVER), Outcome::Stuck);
    assert_eq!(network.now(), Instant::START + ms(2));
}

#[test]
fn a_run_ends_when_its_time_is_up_though_a_process_never_sleeps() {
    let (mut client, _server, mut network) = world(calm());
    let mut steps = 0;
    let mut restless = Program(|engine: &mut Sim| {
        steps += 1;
        Step::Wait(engine.now())
    });
    let mut parties = [Party::awaited(&mut client, &mut restless)];
    assert_eq!(network.run(&mut parties, Instant::START + ms(1)), Outcome::TimeUp);
    assert_eq!(network.now(), Instant::START + ms(1));
    assert_eq!(steps, 1001);
}

#[test]
#[should_panic(expected = "nothing can ever happen")]
fn waiting_for_good_is_reported() {
    let (mut client, _server, _network) = world(calm());
    client.wait(Instant::NEVER);
}

#[test]
fn a_frozen_server_answers_when_it_runs_again() {
    let (mut client, mut server, mut network) = world(calm());
    let (stops, goes_on) = (Instant::START + ms(1000), Instant::START + ms(2000));
    server.freeze(stops, goes_on);
    let there = client.connect(&address(), None);
    // Message k is one byte, due at 10 + k ms; the number of bytes received is the number of messages answered.
    let (mut sent, mut answered) = (0, Vec::new());
    let asking = |engine: &mut Sim| {
        while let Some(completion) = engine.complete(&mut [0; 10_000]) {
            if let Received { len, .. } = completion {
                answered.resize(answered.len() + len, engine.now());
            }
        }
        while sent < 3000 && Instant::START + ms(10 + sent) <= engine.now() {
            engine.send(there, b"x");
            sent += 1;
        }
        match answered.len() {
            3000 => Step::Done,
            _ if sent == 3000 => Step::Wait(Instant::NEVER),
            _ => Step::Wait(Instant::START + ms(10 + sent)),
        }
    };
    assert_eq!(run(&mut network, &mut client, &mut server, asking, Instant::NEVER), Outcome::Done);
    for (number, answered) in (0..).zip(answered) {
        let arrives = Instant::START + ms(10 + number + 1);
        let is_frozen = stops <= arrives && arrives < goes_on;
        assert_eq!(answered, if is_frozen { goes_on } else { arrives } + ms(1), "message {number}");
    }
}

#[test]
fn a_slow_server_has_exactly_its_capacity() {
    let (mut client, mut server, mut network) = world(calm());
    let connections: Vec<ConnectionId> =
        (0..10).map(|_| client.connect(&address(), None)).collect();
    server.slow_down(Nanos::from_micros(1500));
    let start = Instant::START + ms(100);
    let (mut is_asked, mut answered) = (false, Vec::new());
    let asking = |engine: &mut Sim| {
        while let Some(completion) = engine.complete(&mut [0; 100]) {
            if matches!(completion, Received { .. }) {
                answered.push(engine.now());
            }
        }
        if engine.now() == start && !std::mem::replace(&mut is_asked, true) {
            connections.iter().for_each(|connection| engine.send(*connection, b"x"));
        }
        match answered.len() {
            10 => Step::Done,
            _ if is_asked => Step::Wait(Instant::NEVER),
            _ => Step::Wait(start),
        }
    };
    assert_eq!(run(&mut network, &mut client, &mut server, asking, Instant::NEVER), Outcome::Done);
    let expected: Vec<Instant> =
        (1..=10).map(|number| start + ms(2) + Nanos::from_micros(1500 * number)).collect();
    assert_eq!(answered, expected);
}

#[test]
fn a_slow_server_that_stood_still_works_off_one_message_after_the_other() {
    // 1000/s on three connections; one message takes 50 us, so that the server drains 20 000/s. It stops for 0.2 s.
    let (mut client, mut server, mut network) =
        world(Conditions { split: Split::AsSent, ..calm() });
    let connections: Vec<ConnectionId> = (0..3).map(|_| client.connect(&address(), None)).collect();
    let cost = Nanos::from_micros(50);
    server.slow_down(cost);
    let (stops, goes_on) = (Instant::START + ms(100), Instant::START + ms(300));
    server.freeze(stops, goes_on);
    let due = |number: u64| Instant::START + ms(10 + number);
    let mut turns = connections.iter().cycle();
    let (mut sent, mut answered) = (0, Vec::new());
    let asking = |engine: &mut Sim| {
        while let Some(completion) = engine.complete(&mut [0; 100]) {
            if let Received { len, .. } = completion {
                assert_eq!(len, 1);
                answered.push(engine.now());
            }
        }
        while sent < 500 && due(sent) <= engine.now() {
            engine.send(*turns.next().unwrap(), b"x");
            sent += 1;
        }
        match sent {
            500 if answered.len() == 500 => Step::Done,
            500 => Step::Wait(Instant::NEVER),
            _ => Step::Wait(due(sent)),
        }
    };
    assert_eq!(run(&mut network, &mut client, &mut server, asking, Instant::NEVER), Outcome::Done);
    let mut free_at = Instant::START;
    let expected: Vec<Instant> = (0..500)
        .map(|number| {
            let from = (due(number) + ms(1)).max(free_at);
            let is_frozen = stops <= from && from < goes_on;
            free_at = if is_frozen { goes_on } else { from } + cost;
            free_at + ms(1)
        })
        .collect();
    assert_eq!(answered, expected);
}

#[test]
fn bytes_say_when_they_arrived_though_nobody_was_there_to_see() {
    let (mut client, mut server, mut network) = world(calm());
    server.freeze(Instant::START + ms(3), Instant::START + ms(10));
    let there = client.connect(&address(), None);
    let mut sends = [3, 5, 6].map(|at| Instant::START + ms(at)).into_iter().peekable();
    let mut asking = Program(|engine: &mut Sim| {
        while engine.complete(&mut [0; 100]).is_some() {}
        while sends.next_if(|at| *at <= engine.now()).is_some() {
            engine.send(there, &[0; 8]);
        }
        sends.peek().map_or(Step::Done, |at| Step::Wait(*at))
    });
    let mut heard = Vec::new();
    let mut hearing = Program(|engine: &mut Sim| {
        while let Some(completion) = engine.complete(&mut [0; 12]) {
            let now = engine.now();
            if matches!(completion, Received { .. }) {
                heard.push((now, engine.arrived(now)));
            } else {
                assert_eq!(engine.arrived(now), None, "nothing was received yet");
            }
        }
        Step::Wait(Instant::NEVER)
    });
    let mut parties =
        [Party::awaited(&mut client, &mut asking), Party::background(&mut server, &mut hearing)];
    assert_eq!(network.run(&mut parties, Instant::NEVER), Outcome::Done);
    // The buffer ends after 12 of the 24 bytes: the first message and half of the second.
    let at = |millis: u64| Instant::START + ms(millis);
    let hears = &mut [Party::background(&mut server, &mut hearing)];
    assert_eq!(network.run(hears, Instant::NEVER), Outcome::Stuck);
    assert_eq!(heard, [(at(10), Some(at(6))), (at(10), Some(at(7)))]);
}

#[test]
fn a_cut_resets_both_ends_at_once_and_loses_what_is_under_way() {
    let cuts = Cuts::Scheduled(vec![Cut { connection: 1, after: ms(5) }]);
    let (client, server, _network) = world(Conditions { cuts, ..calm() });
    let (mut client, mut server) = (Process::new(client), Process::new(server));
    let [kept, cut] = [0; 2].map(|_| client.engine.connect(&address(), None));
    let [kept_here, cut_here] = [0; 2].map(|_| match server.next() {
        Accepted(id) => id,
        other => panic!("{other:?}"),
    });
    assert_eq!([client.next(), client.next()], [Connected(kept), Connected(cut)]);
    client.engine.wait(client.engine.now() + Nanos::from_micros(4500));
    for connection in [kept, cut] {
        client.engine.send(connection, b"half a millisecond too late");
    }
    assert_eq!(client.next(), Failed(cut, ConnectionError::Reset));
    assert_eq!(client.engine.now(), Instant::START + ms(2) + ms(5));
    assert_eq!(server.next(), Failed(cut_here, ConnectionError::Reset));
    assert_eq!(server.engine.now(), Instant::START + ms(2) + ms(5));
    assert_eq!(server.next(), Received { connection: kept_here, len: 27 });
    client.is_quiet();
}

#[test]
fn as_many_connections_are_cut_as_it_is_likely() {
    let cuts = Cuts::Random { probability: 0.25, within: ms(20) };
    let (client, _server, _network) = world(Conditions { cuts, ..calm() });
    let mut client = Process::new(client);
    for _ in 0..1000 {
        client.engine.connect(&address(), None);
    }
    let mut failed = 0;
    client.engine.wait(Instant::START + ms(22));
    while let Some(completion) = client.engine.complete(&mut client.rx) {
        failed += u32::from(matches!(completion, Failed(..)));
        client.engine.wait(Instant::START + ms(22));
    }
    assert!((200..300).contains(&failed), "{failed}");
    client.is_quiet();
}

#[test]
fn what_does_not_fit_into_the_backlog_is_refused() {
    let (client, server, _network) = world(Conditions { backlog: 3, ..calm() });
    let (mut client, mut server) = (Process::new(client), Process::new(server));
    let connections = [0; 5].map(|_| client.engine.connect(&address(), None));
    for (number, connection) in connections.into_iter().enumerate() {
        let refused = Failed(connection, ConnectionError::Refused);
        assert_eq!(client.next(), if number < 3 { Connected(connection) } else { refused });
    }
    assert!(matches!(server.next(), Accepted(_)));
    let next = client.engine.connect(&address(), None);
    assert_eq!(client.next(), Connected(next));
}

#[test]
fn bytes_arrive_in_the_pieces_that_were_asked_for() {
    assert!(pieces(Split::ByteByByte).iter().all(|len| *len == 1));
    let random = pieces(Split::Random { chunk_len_max: 10 });
    assert!((1..=10).all(|len| random.contains(&len)) && *random.iter().max().unwrap() == 10);
    assert_eq!(pieces(Split::Never), [1000]);
}

#[test]
fn a_process_that_ends_resets_those_it_did_not_accept_and_refuses_the_next() {
    let (client, server, _network) = world(calm());
    let mut client = Process::new(client);
    let waiting = client.engine.connect(&address(), None);
    assert_eq!(client.next(), Connected(waiting));
    drop(server);
    let late = client.engine.connect(&address(), None);
    assert_eq!(client.next(), Failed(waiting, ConnectionError::Reset));
    assert_eq!(client.next(), Failed(late, ConnectionError::Refused));
}

#[test]
fn an_attempt_that_is_given_up_is_seen_by_the_server_only_if_it_got_there() {
    let (client, server, _network) = world(calm());
    let (mut client, mut server) = (Process::new(client), Process::new(server));
    let at_once = client.engine.connect(&address(), None);
    client.engine.close(at_once);
    server.is_quiet();
    let too_late = client.engine.connect(&address(), None);
    let here = match server.next() {
        Accepted(here) => here,
        other => panic!("{other:?}"),
    };
    client.engine.close(too_late);
    assert_eq!(server.next(), Failed(here, ConnectionError::Reset));
    client.is_quiet();
}

/// Everything that a client sees while it sends and receives on 100 connections of a network with every fault.
fn eventful_run(seed: u64) -> Vec<(Instant, Completion)> {
    let conditions = Conditions {
        jitter: ms(3),
        split: Split::Random { chunk_len_max: 50 },
        cuts: Cuts::Random { probability: 0.3, within: ms(30) },
        backlog: 60,
        ..calm()
    };
    let mut network = Network::new(seed, conditions);
    let (mut client, mut server) = (network.engine(), network.engine());
    server.listen(&address()).unwrap();
    for _ in 0..100 {
        client.connect(&address(), None);
    }
    let mut log = Vec::new();
    let asking = |engine: &mut Sim| {
        while let Some(completion) = engine.complete(&mut [0; 30]) {
            log.push((engine.now(), completion));
            match completion {
                Connected(id) => engine.send(id, &[0; 200]),
                Received { connection, len } if len > 20 => engine.send(connection, b"on and on"),
                Accepted(_) | Ended(_) | Failed(..) | Received { .. } => {}
            }
        }
        Step::Wait(Instant::NEVER)
    };
    assert_ne!(
        run(&mut network, &mut client, &mut server, asking, Instant::START + ms(100)),
        Outcome::Done
    );
    log
}

/// The lengths in which 1000 bytes are received.
fn pieces(split: Split) -> Vec<usize> {
    let (client, server, _network) = world(Conditions { split, ..calm() });
    let (mut client, mut server) = (Process::new(client), Process::new(server));
    let there = client.engine.connect(&address(), None);
    client.engine.send(there, &[0; 1000]);
    client.engine.shutdown(there);
    let mut lens = Vec::new();
    loop {
        match server.next() {
            Received { len, .. } => lens.push(len),
            Ended(_) => return lens,
            Accepted(_) | Connected(_) | Failed(..) => {}
        }
    }
}

/// A client, a server that listens, and the network between them.
fn world(conditions: Conditions) -> (Sim, Sim, Network) {
    let mut network = Network::new(7, conditions);
    let (client, mut server) = (network.engine(), network.engine());
    assert_eq!(server.listen(&address()), Ok(address()));
    (client, server, network)
}

fn calm() -> Conditions {
    Conditions { delay: ms(1), ..Conditions::default() }
}

fn address() -> Address {
    Address::Tcp(([10, 0, 0, 1], 80).into())
}

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

/// Runs a client that does `step` against a server that echoes.
fn run(
    network: &mut Network,
    client: &mut Sim,
    server: &mut Sim,
    step: impl FnMut(&mut Sim) -> Step,
    until: Instant,
) -> Outcome {
    let (mut asking, mut echoing) = (Program(step), Program(echo));
    let mut parties =
        [Party::awaited(client, &mut asking), Party::background(server, &mut echoing)];
    network.run(&mut parties, until)
}

struct Program<F>(F);

impl<F: FnMut(&mut Sim) -> Step> Node<Sim> for Program<F> {
    fn step(&mut self, engine: &mut Sim) -> Step {
        (self.0)(engine)
    }
}

fn echo(engine: &mut Sim) -> Step {
    let mut rx = [0; 4096];
    while let Some(completion) = engine.complete(&mut rx) {
        match completion {
            Received { connection, len } => engine.send(connection, &rx[..len]),
            Ended(connection) => engine.close(connection),
            Accepted(_) | Connected(_) | Failed(..) => {}
        }
    }
    Step::Wait(Instant::NEVER)
}
