//! The promises of every engine, tried on each kind of engine.

use crate::kinds::{Bytewise, Calm, Kind, Rough, Tcp, Unix};
use crate::process::{Process, take_turns};
use engine::Completion::{Accepted, Connected, Ended, Failed, Received};
use engine::{Accepting, Address, ConnectionError, ConnectionId, Engine, UNSENT_LEN_MAX};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use units::{Instant, Nanos};

macro_rules! contract {
    ($($test:ident)*) => {
        contract! { tcp: Tcp, $($test)* }
        contract! { unix: Unix, $($test)* }
        contract! { sim_calm: Calm, $($test)* }
        contract! { sim_rough: Rough, $($test)* }
        contract! { sim_bytewise: Bytewise, $($test)* }
    };
    ($module:ident: $kind:ident, $($test:ident)*) => {
        mod $module {
            $(#[test] fn $test() { super::$test(<super::$kind as super::Kind>::new()); })*
        }
    };
}

contract! {
    what_is_sent_arrives_and_is_answered
    connecting_where_nobody_listens_is_refused
    an_address_is_taken_as_long_as_somebody_listens
    a_peer_may_speak_first
    connections_are_accepted_in_the_order_in_which_they_were_made
    a_connection_says_which_listener_accepted_it
    a_buffer_that_is_too_small_gets_the_rest_later
    an_end_comes_after_all_that_was_sent_and_once
    receiving_goes_on_after_our_own_end
    sending_goes_on_after_the_end_of_the_peer
    an_end_waits_for_what_is_unsent
    what_is_submitted_before_the_connection_is_there_is_sent
    closing_with_bytes_unread_resets_the_peer
    sending_to_a_peer_that_has_closed_is_answered_by_a_reset
    what_had_arrived_is_received_though_sending_fails
    a_process_that_ends_closes_its_connections
    a_closed_connection_is_not_heard_of_again
    much_passes_both_ways_at_once
    one_large_message_is_echoed
    a_peer_that_does_not_read_is_not_listened_to
    what_is_held_back_is_received_later
    a_connection_that_pauses_receives_nothing_and_others_go_on
    a_reset_is_heard_of_though_much_is_unsent
    a_thousand_connections_are_told_apart
    waiting_ends_at_the_deadline_and_not_before
    waiting_ends_when_something_happens
    who_stands_still_sees_nothing_before_its_time_and_everything_after_it
}

fn what_is_sent_arrives_and_is_answered(kind: impl Kind) {
    let Pair { mut client, mut server, there, here } = Pair::new(kind);
    for question in [&b"ping"[..], b"a", &[7; 3000]] {
        client.engine.send(there, question);
        let heard = server.receive(here, question.len());
        server.engine.send(here, &heard);
        assert_eq!(client.receive(there, question.len()), question);
    }
}

fn connecting_where_nobody_listens_is_refused(mut kind: impl Kind) {
    let (server, address) = listening(&mut kind);
    drop(server);
    let mut client = Process::new(kind.engine());
    let there = client.engine.connect(&address, None);
    client.engine.send(there, b"anybody there?");
    assert_eq!(client.next(), Failed(there, ConnectionError::Refused));
    client.is_quiet();
}

fn an_address_is_taken_as_long_as_somebody_listens(mut kind: impl Kind) {
    let (first, address) = listening(&mut kind);
    let mut second = kind.engine();
    assert_eq!(second.listen(&address), Err(ConnectionError::AddressInUse));
    drop(first);
    assert_eq!(second.listen(&address), Ok(address));
}

fn a_peer_may_speak_first(mut kind: impl Kind) {
    let (mut server, address) = listening(&mut kind);
    let mut client = Process::new(kind.engine());
    let there = client.engine.connect(&address, None);
    let here = accepted(&mut server);
    server.engine.send(here, b"welcome");
    server.is_quiet();
    assert_eq!(client.next(), Connected(there));
    assert_eq!(client.receive(there, 7), b"welcome");
}

fn connections_are_accepted_in_the_order_in_which_they_were_made(mut kind: impl Kind) {
    let (mut server, address) = listening(&mut kind);
    let mut client = Process::new(kind.engine());
    for number in 0..20 {
        let there = client.engine.connect(&address, None);
        assert_eq!(client.next(), Connected(there));
        client.engine.send(there, &[number]);
    }
    let mut order = Vec::new();
    let mut numbers = [None; 20];
    while order.len() < 20 || numbers.contains(&None) {
        match server.next() {
            Accepted(id) => order.push(id),
            Received { connection, len: 1 } => numbers[connection.index()] = Some(server.rx[0]),
            other => panic!("{other:?}"),
        }
    }
    let heard: Vec<u8> = order.iter().map(|id| numbers[id.index()].unwrap()).collect();
    assert_eq!(heard, (0..20).collect::<Vec<u8>>());
}

fn a_connection_says_which_listener_accepted_it(mut kind: impl Kind) {
    let (mut server, first) = listening(&mut kind);
    let second = match kind.address() {
        Address::Unix(path) => Address::Unix(path.with_extension("second")),
        tcp @ Address::Tcp(_) => tcp,
    };
    let second = server.engine.listen(&second).unwrap();
    let mut client = Process::new(kind.engine());
    let mut seen = Vec::new();
    for address in [&second, &first, &second] {
        connected(&mut client, address);
        let here = accepted(&mut server);
        seen.push(server.engine.listener(here));
    }
    assert_eq!(seen, [1, 0, 1]);
}

fn a_buffer_that_is_too_small_gets_the_rest_later(kind: impl Kind) {
    let Pair { mut client, mut server, there, here } = Pair::new(kind);
    let sent = pattern(100_000);
    client.engine.send(there, &sent);
    server.rx.truncate(7);
    assert_eq!(server.receive(here, 70), sent[..70]);
    server.rx.resize(10, 0);
    assert_eq!(server.receive(here, 99_930), sent[70..]);
    server.is_quiet();
}

fn an_end_comes_after_all_that_was_sent_and_once(kind: impl Kind) {
    let Pair { mut client, mut server, there, here } = Pair::new(kind);
    let sent = pattern(50_000);
    server.engine.send(here, &sent);
    server.engine.close(here);
    client.rx.truncate(1000);
    assert_eq!(client.receive(there, sent.len()), sent);
    assert_eq!(client.next(), Ended(there));
    client.is_quiet();
}

fn receiving_goes_on_after_our_own_end(kind: impl Kind) {
    let Pair { mut client, mut server, there, here } = Pair::new(kind);
    client.engine.send(there, b"all I have to say");
    client.engine.shutdown(there);
    client.engine.send(there, b"nothing more");
    assert_eq!(server.receive(here, 17), b"all I have to say");
    assert_eq!(server.next(), Ended(here));
    let answer = pattern(200_000);
    server.engine.send(here, &answer);
    server.engine.shutdown(here);
    assert_eq!(client.receive(there, answer.len()), answer);
    assert_eq!(client.next(), Ended(there));
}

fn sending_goes_on_after_the_end_of_the_peer<K: Kind>(kind: K) {
    let Pair { mut client, mut server, there, here } = Pair::new(kind);
    client.engine.shutdown(there);
    assert_eq!(server.next(), Ended(here));
    let sent = pattern(K::LARGE);
    server.engine.send(here, &sent);
    let mut received = Vec::new();
    take_turns([&mut client, &mut server], |who, process, completion| {
        let (0, Received { len, .. }) = (who, completion) else { panic!("{who}: {completion:?}") };
        received.extend_from_slice(&process.rx[..len]);
        received.len() == sent.len()
    });
    assert!(received == sent);
}

fn an_end_waits_for_what_is_unsent<K: Kind>(kind: K) {
    let Pair { mut client, mut server, there, .. } = Pair::new(kind);
    let sent = pattern(K::LARGE);
    client.engine.send(there, &sent);
    client.engine.shutdown(there);
    assert!(client.engine.unsent(there) > 0);
    let mut received = Vec::new();
    take_turns([&mut client, &mut server], |who, process, completion| {
        assert_eq!(who, 1);
        if let Received { len, .. } = completion {
            received.extend_from_slice(&process.rx[..len]);
        }
        matches!(completion, Ended(_))
    });
    assert!(received == sent);
    assert_eq!(client.engine.unsent(there), 0);
}

fn what_is_submitted_before_the_connection_is_there_is_sent(mut kind: impl Kind) {
    let (mut server, address) = listening(&mut kind);
    let mut client = Process::new(kind.engine());
    let there = client.engine.connect(&address, None);
    client.engine.send(there, b"early ");
    client.engine.send(there, b"bird");
    client.engine.shutdown(there);
    assert_eq!(client.next(), Connected(there));
    let here = accepted(&mut server);
    assert_eq!(server.receive(here, 10), b"early bird");
    assert_eq!(server.next(), Ended(here));
    server.engine.send(here, b"worm");
    assert_eq!(client.receive(there, 4), b"worm");
}

fn closing_with_bytes_unread_resets_the_peer(kind: impl Kind) {
    let Pair { mut client, mut server, there, here } = Pair::new(kind);
    client.engine.send(there, &pattern(1000));
    server.rx.truncate(1);
    server.receive(here, 1);
    server.engine.close(here);
    let mut last = client.next();
    if last == Ended(there) {
        last = client.next(); // Those bytes were still on their way.
    }
    assert_eq!(last, Failed(there, ConnectionError::Reset));
    client.engine.send(there, b"nobody");
    client.is_quiet();
}

fn sending_to_a_peer_that_has_closed_is_answered_by_a_reset(kind: impl Kind) {
    let Pair { mut client, mut server, there, here } = Pair::new(kind);
    server.engine.close(here);
    assert_eq!(client.next(), Ended(there));
    client.engine.send(there, b"still there?");
    assert_eq!(client.next(), Failed(there, ConnectionError::Reset));
}

fn what_had_arrived_is_received_though_sending_fails(kind: impl Kind) {
    let Pair { mut client, mut server, there, here } = Pair::new(kind);
    server.engine.send(here, b"too much");
    server.engine.close(here);
    for _ in 0..10 {
        client.engine.send(there, b"more and more");
    }
    assert_eq!(client.receive(there, 8), b"too much");
    let end = client.next();
    let failed = Failed(there, ConnectionError::Reset);
    assert!(end == failed || end == Ended(there), "{end:?}");
}

fn a_process_that_ends_closes_its_connections(kind: impl Kind) {
    let Pair { mut client, server, there, .. } = Pair::new(kind);
    drop(server);
    assert_eq!(client.next(), Ended(there));
}

fn a_closed_connection_is_not_heard_of_again(mut kind: impl Kind) {
    let (mut server, address) = listening(&mut kind);
    let mut client = Process::new(kind.engine());
    let old = [connected(&mut client, &address), connected(&mut client, &address)];
    let theirs = old.map(|_| accepted(&mut server));
    for here in theirs {
        server.engine.send(here, b"news");
    }
    let Received { connection, .. } = client.next() else { panic!("news comes first") };
    assert!(old.contains(&connection));
    for id in old {
        client.engine.close(id); // What arrived for the other one is not taken.
    }
    for here in theirs {
        server.engine.close(here); // Before it hears of the end.
    }
    let new = connected(&mut client, &address);
    let here = accepted(&mut server);
    assert!(new.index() < 2 && !old.contains(&new), "{new:?} after {old:?}");
    for id in old {
        client.engine.send(id, b"who?");
        client.engine.shutdown(id);
        client.engine.close(id);
        assert_eq!(client.engine.unsent(id), 0);
    }
    client.engine.send(new, b"me");
    assert_eq!(server.receive(here, 2), b"me");
    client.is_quiet();
}

fn much_passes_both_ways_at_once<K: Kind>(kind: K) {
    let Pair { mut client, mut server, there, here } = Pair::new(kind);
    let sent = pattern(K::LARGE);
    client.engine.send(there, &sent);
    server.engine.send(here, &sent);
    let mut received = [Vec::new(), Vec::new()];
    take_turns([&mut client, &mut server], |who, process, completion| {
        let Received { len, .. } = completion else { panic!("{who}: {completion:?}") };
        received[who].extend_from_slice(&process.rx[..len]);
        received.iter().all(|received| received.len() == sent.len())
    });
    assert!(received[0] == sent && received[1] == sent);
}

fn one_large_message_is_echoed<K: Kind>(kind: K) {
    let Pair { mut client, mut server, there, .. } = Pair::new(kind);
    let sent = pattern(K::LARGE);
    client.engine.send(there, &sent);
    let mut received = Vec::new();
    take_turns([&mut client, &mut server], |who, process, completion| {
        let Received { connection, len } = completion else { panic!("{who}: {completion:?}") };
        match who {
            0 => received.extend_from_slice(&process.rx[..len]),
            _ => process.engine.send(connection, &process.rx[..len]),
        }
        received.len() == sent.len()
    });
    assert!(received == sent);
}

fn a_peer_that_does_not_read_is_not_listened_to<K: Kind>(kind: K) {
    let Pair { mut client, mut server, there, here } = Pair::new(kind);
    let mut sent = 0;
    while server.engine.unsent(here) < UNSENT_LEN_MAX + K::LARGE {
        server.engine.send(here, &[7; UNSENT_LEN_MAX]);
        sent += UNSENT_LEN_MAX;
    }
    client.engine.send(there, b"?");
    server.is_quiet();

    let mut received = 0;
    let mut heard = 0;
    take_turns([&mut client, &mut server], |who, _, completion| {
        let Received { len, .. } = completion else { panic!("{who}: {completion:?}") };
        match who {
            0 => received += len,
            _ => heard += len,
        }
        received == sent && heard == 1
    });
}

fn what_is_held_back_is_received_later(kind: impl Kind) {
    let Pair { mut client, mut server, there, here } = Pair::new(kind);
    server.engine.hold_back(true);
    client.engine.hold_back(true);
    client.engine.send(there, b"ping");
    server.is_quiet();
    server.engine.send(here, b"pong");
    assert_eq!(client.receive(there, 4), b"pong", "a connection that we opened goes on");
    client.engine.send(there, b", and its end");
    client.engine.shutdown(there);
    server.is_quiet();
    server.engine.hold_back(false);
    assert_eq!(server.receive(here, 17), b"ping, and its end");
    assert_eq!(server.next(), Ended(here));
}

fn a_connection_that_pauses_receives_nothing_and_others_go_on(kind: impl Kind) {
    let Pair { mut client, mut server, there, here } = Pair::new(kind);
    client.engine.pause(there, true);
    server.engine.send(here, b"all of it");
    server.engine.shutdown(here);
    client.is_quiet();
    client.engine.send(there, b"still heard");
    assert_eq!(server.receive(here, 11), b"still heard");
    client.engine.pause(there, false);
    assert_eq!(client.receive(there, 9), b"all of it");
    assert_eq!(client.next(), Ended(there));
}

fn a_reset_is_heard_of_though_much_is_unsent<K: Kind>(kind: K) {
    let Pair { mut client, mut server, there, here } = Pair::new(kind);
    server.engine.send(here, &vec![7; UNSENT_LEN_MAX + K::LARGE]);
    client.rx.truncate(1);
    client.receive(there, 1);
    client.engine.close(there);
    let mut last = server.next();
    if last == Ended(here) {
        last = server.next(); // The rest was still on its way.
    }
    assert_eq!(last, Failed(here, ConnectionError::Reset));
}

fn a_thousand_connections_are_told_apart(mut kind: impl Kind) {
    let files = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files }).unwrap();
    let (mut server, address) = listening(&mut kind);
    let mut client = Process::new(kind.engine());
    let mut connections = Vec::new();
    for _ in 0..1000 {
        connections.push(connected(&mut client, &address));
        accepted(&mut server);
    }
    for (number, id) in connections.iter().enumerate() {
        assert_eq!(id.index(), number);
        client.engine.send(*id, &u16::try_from(number).unwrap().to_be_bytes());
    }
    let mut heard = vec![Vec::new(); 1000];
    let mut answered = 0;
    take_turns([&mut client, &mut server], |who, process, completion| {
        let Received { connection, len } = completion else { panic!("{who}: {completion:?}") };
        let bytes = &process.rx[..len];
        if who == 1 {
            process.engine.send(connection, bytes);
        } else {
            heard[connection.index()].extend_from_slice(bytes);
            answered += len;
        }
        answered == 2000
    });
    for (number, heard) in heard.into_iter().enumerate() {
        assert_eq!(heard, u16::try_from(number).unwrap().to_be_bytes());
    }
}

fn waiting_ends_at_the_deadline_and_not_before<K: Kind>(mut kind: K) {
    let mut engine = kind.engine();
    for length in [Nanos::ZERO, Nanos(1), Nanos::from_micros(100), Nanos(2_345_678)] {
        let deadline = engine.now() + length;
        engine.wait(deadline);
        assert!(engine.now() >= deadline, "{length}");
        assert!(!K::IS_VIRTUAL || engine.now() == deadline, "{length}");
    }
    engine.wait(Instant::START); // Long gone.
    assert_eq!(engine.complete(&mut [0]), None);
}

fn waiting_ends_when_something_happens(kind: impl Kind) {
    let Pair { mut client, mut server, there, here } = Pair::new(kind);
    for message in [&b"!"[..], b"again!"] {
        client.engine.send(there, message);
        let mut heard = 0;
        for _ in 0..10 {
            if heard == message.len() {
                break;
            }
            let deadline = server.engine.now() + Nanos::from_secs(20);
            server.engine.wait(deadline);
            server.engine.wait(deadline); // What is not taken yet is still there.
            if let Some(completion) = server.engine.complete(&mut server.rx) {
                let Received { connection, len } = completion else { panic!("{completion:?}") };
                assert_eq!(connection, here);
                heard += len;
            }
        }
        assert_eq!(heard, message.len());
    }
}

fn who_stands_still_sees_nothing_before_its_time_and_everything_after_it(kind: impl Kind) {
    let Pair { mut client, mut server, there, here } = Pair::new(kind);
    client.engine.send(there, b"ping");
    let until = server.engine.now() + Nanos::from_millis(3);
    server.engine.stand_still(until);
    server.engine.wait(Instant::START);
    assert!(server.engine.now() >= until);
    assert_eq!(server.receive(here, 4), b"ping");
}

/// Two processes and the connection between them.
struct Pair<E> {
    client: Process<E>,
    server: Process<E>,
    /// The connection, as the client calls it.
    there: ConnectionId,
    /// The connection, as the server calls it.
    here: ConnectionId,
}

impl<E: Engine> Pair<E> {
    fn new(mut kind: impl Kind<Engine = E>) -> Self {
        let (mut server, address) = listening(&mut kind);
        let mut client = Process::new(kind.engine());
        let there = connected(&mut client, &address);
        let here = accepted(&mut server);
        Self { client, server, there, here }
    }
}

fn listening<K: Kind>(kind: &mut K) -> (Process<K::Engine>, Address) {
    let mut server = Process::new(kind.engine());
    let address = server.engine.listen(&kind.address()).unwrap();
    (server, address)
}

fn connected<E: Engine>(client: &mut Process<E>, address: &Address) -> ConnectionId {
    let there = client.engine.connect(address, None);
    assert_eq!(client.next(), Connected(there));
    there
}

fn accepted<E: Engine>(server: &mut Process<E>) -> ConnectionId {
    let Accepted(here) = server.next() else { panic!("expected a connection, nothing else") };
    here
}

/// Bytes in which no two stretches are alike.
fn pattern(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    units::Random::new(5).fill(&mut bytes);
    bytes
}
