//! Replies that are lost, come twice, overtake each other or are not what was sent: each is counted for what it is.

use crate::peers::{Answering, Heard, Scripted, Then, oracle};
use crate::world::{ORACLE_LEN, Play, Played, ROUND_TRIP, Speech, always, ms};
use engine::Engine;
use engine::sim::Sim;
use load::{Content, Header};
use record::{Connections, Counts, ErrorClass, Identity};
use serve::{Behaviour, Faults};
use units::Nanos;
use units::Share;

#[test]
fn what_an_oracle_does_to_replies_is_counted_exactly() {
    let share = |text: &str| text.parse::<Share>().unwrap();
    for speech in [Speech::Framed, Speech::Raw, Speech::WebSocket, Speech::WebSocketText] {
        for seed in 0..4 {
            let behaviour = Behaviour {
                drop: share("2%"),
                duplicate: share("3%"),
                reorder: share("4%"),
                corrupt: share("1%"),
                delay: "exponential:2ms".parse().unwrap(),
                seed,
                ..Behaviour::default()
            };
            let mut server = oracle(speech, behaviour, ORACLE_LEN);
            let play = Play::new(speech).connections(3).rate("1000/s").asks_for_delay();
            // So that the last message of each connection is answered: one that nothing follows does not count as lost.
            let played = play.duration(ms(4000)).reply_timeout(ms(3000)).against(&mut server);
            let Faults { dropped, duplicated, reordered, corrupted, .. } = server.totals().faults;
            let identity = played.outcome.identity.unwrap();
            let Counts { sent, ok, error, timed_out, unsent, .. } = played.outcome.measured;
            assert_eq!((sent, unsent), (4000, 0));
            assert_eq!(sent - ok - error - timed_out, played.outcome.measured.in_flight());
            assert_eq!(sent - ok - error, dropped, "{speech:?} {seed}");
            assert!(error <= corrupted && corrupted - error <= identity.duplicate + 5);
            let lost_at_the_end = dropped - identity.lost;
            assert!(lost_at_the_end <= 3, "{identity:?} {dropped}");
            assert!(identity.corrupted.abs_diff(corrupted) <= 5, "{identity:?} {corrupted}");
            assert!(identity.duplicate.abs_diff(duplicated) <= 5, "{identity:?} {duplicated}");
            assert!(identity.reordered.abs_diff(reordered) <= 5, "{identity:?} {reordered}");
            assert_eq!(played.outcome.connections.lost, 0, "no connection is given up for it");
        }
    }
}

#[test]
fn each_fault_alone_is_counted_exactly() {
    let some: Share = "5%".parse().unwrap();
    let none = Behaviour::default();
    #[rustfmt::skip]
    let table = [
        (Behaviour { drop: some, ..none.clone() },      "lost"),
        (Behaviour { duplicate: some, ..none.clone() }, "duplicate"),
        (Behaviour { reorder: some, ..none.clone() },   "reordered"),
        (Behaviour { corrupt: some, ..none.clone() },   "corrupted"),
        (none,                                          "nothing"),
    ];
    for speech in [Speech::Framed, Speech::Raw, Speech::WebSocket, Speech::WebSocketText] {
        for (behaviour, what) in &table {
            let mut server = oracle(speech, behaviour.clone(), ORACLE_LEN);
            let play = Play::new(speech).payload(ORACLE_LEN).connections(3).rate("1000/s");
            // A reply that nothing overtakes leaves after 2 s.
            let play = play.duration(ms(2000)).reply_timeout(ms(3000)).drain(ms(4000));
            let played = play.against(&mut server);
            let Faults { dropped, duplicated, reordered, corrupted, .. } = server.totals().faults;
            let identity = played.outcome.identity.unwrap();
            let expected = Identity {
                lost: identity.lost, // Depends on what follows; checked below.
                duplicate: duplicated,
                reordered,
                corrupted,
            };
            assert_eq!(identity, expected, "{speech:?} {what}");
            assert!(dropped - identity.lost <= 3, "{speech:?} {what} {dropped} {identity:?}");
            let Counts { sent, ok, error, .. } = played.outcome.measured;
            assert_eq!((sent, error, sent - ok - error), (2000, corrupted, dropped), "{what}");
            let all = dropped + duplicated + reordered + corrupted;
            assert!((all == 0) == (*what == "nothing") && all < 200, "{what} {all}");
        }
    }
}

#[test]
fn messages_of_the_warm_up_that_are_lost_are_not_counted() {
    for speech in [Speech::Framed, Speech::WebSocket] {
        let behaviour = Behaviour { drop: "2%".parse().unwrap(), ..Behaviour::default() };
        let mut server = oracle(speech, behaviour, ORACLE_LEN);
        // Long enough that all lost messages of the warm-up are forgotten in the measurement, after 1024 replies.
        let play = Play::new(speech).payload(ORACLE_LEN).rate("1000/s").warm_up(ms(1000));
        let play = play.duration(ms(4000)).reply_timeout(ms(300));
        let played = play.against(&mut server);
        let (measured, warm_up) = (played.outcome.measured, played.outcome.warm_up);
        assert!(warm_up.timed_out > 10, "{speech:?} {warm_up:?}");
        let lost = played.outcome.identity.unwrap().lost;
        // A message at the end does not count as lost until a later one is answered.
        let unanswered = measured.timed_out + measured.in_flight();
        assert!(lost <= unanswered && unanswered - lost <= 3, "{speech:?} {lost} {measured:?}");
    }
}

#[test]
fn a_later_reply_ends_its_own_message_and_not_the_oldest() {
    // The 10th reply is held back, and leaves after the 12th.
    let mut held = Vec::new();
    let played = play(|number, echo| match number {
        10 => {
            held = echo;
            Vec::new()
        }
        12 => [echo, std::mem::take(&mut held)].concat(),
        _ => echo,
    });
    played.assert_all_ok(100);
    assert_eq!(played.outcome.identity, Some(Identity { reordered: 1, ..Identity::default() }));
    let mut expected = always(ROUND_TRIP, 99);
    expected.record(ms(20 + 2));
    assert_eq!(played.notes.round_trips, expected, "only that of the 10th is longer");
}

#[test]
fn a_time_out_loses_its_message_alone_where_replies_name_theirs() {
    let played = play(|number, echo| if number == 10 { Vec::new() } else { echo });
    let expected = Counts { sent: 100, ok: 99, timed_out: 1, ..Counts::default() };
    assert_eq!(played.outcome.measured, expected);
    assert_eq!(played.errors(), [(ErrorClass::ReplyTimedOut, 1, "no whole reply within 300 ms")]);
    let counts = Connections { started: 1, opened: 1, ..Connections::default() };
    assert_eq!(played.outcome.connections, counts);
    assert_eq!(played.outcome.identity, Some(Identity { lost: 1, ..Identity::default() }));
}

#[test]
fn a_reply_that_comes_after_its_time_ends_nothing_and_is_no_duplicate() {
    let mut held = Vec::new();
    let played = play(|number, echo| match number {
        10 => {
            held = echo;
            Vec::new()
        }
        50 => [echo, std::mem::take(&mut held)].concat(),
        _ => echo,
    });
    let expected = Counts { sent: 100, ok: 99, timed_out: 1, ..Counts::default() };
    assert_eq!(played.outcome.measured, expected);
    assert_eq!(played.outcome.identity, Some(Identity::default()));
}

#[test]
fn a_second_reply_ends_nothing() {
    let mut first = Vec::new();
    let played = play(|number, echo| match number {
        10 => [echo.clone(), echo].concat(),
        20 => {
            first = echo.clone();
            echo
        }
        // Long after it.
        60 => [echo, first.clone(), first.clone()].concat(),
        _ => echo,
    });
    played.assert_all_ok(100);
    assert_eq!(played.outcome.identity, Some(Identity { duplicate: 3, ..Identity::default() }));
}

#[test]
fn a_reply_with_a_wrong_byte_is_an_error_of_the_message_that_it_names() {
    // After the two bytes of the frame's header: connection, sequence, due, body.
    #[rustfmt::skip]
    let table = [
        (2,  "its header does not match any message"),
        (6,  "its header does not match any message"),
        (12, "its header does not match any message"),
        (2 + 16, "byte 16 of 40 is"),
        (2 + 39, "byte 39 of 40 is"),
    ];
    for (at, text) in table {
        let played = play(|number, mut echo| {
            if number == 10 {
                echo[at] ^= 1;
            }
            echo
        });
        let expected = Counts { sent: 100, ok: 99, error: 1, ..Counts::default() };
        assert_eq!(played.outcome.measured, expected, "{at}");
        let corrupted = Identity { corrupted: 1, ..Identity::default() };
        assert_eq!(played.outcome.identity, Some(corrupted), "{at}");
        let [(ErrorClass::WrongReply, 1, example)] = played.errors()[..] else {
            panic!("{:?}", played.errors())
        };
        assert!(example.starts_with(text), "{example}");
        assert_eq!(played.outcome.connections.lost, 0);
    }
}

#[test]
fn the_replies_of_two_connections_are_told_apart() {
    // Each gets what the other asked for.
    let mut held: Option<Vec<u8>> = None;
    let mut server = Answering::new(Speech::Framed, move |_, echo: Vec<u8>| {
        (held.replace(echo).unwrap_or_default(), Then::GoOn)
    });
    let play = Play::new(Speech::Framed).payload(40).connections(2).rate("100/s").own();
    let played = play.duration(ms(1000)).against(&mut server);
    let counts = played.outcome.measured;
    assert_eq!((counts.sent, counts.ok), (100, 0));
    assert_eq!(played.outcome.identity.unwrap().corrupted, 99);
}

#[test]
fn messages_of_others_and_closed_loops_carry_no_header() {
    for (content, is_closed) in [
        (Content::exactly(&[b'x'; 40], false), false),
        (Content::binary(units::Bytes(15), 7), false),
        (Content::binary(units::Bytes(40), 7), true),
    ] {
        let mut play = Play::new(Speech::Framed).connections(2);
        play = if is_closed { play } else { play.rate("100/s") };
        play.workload.content = content.clone();
        let mut seen = Vec::new();
        let mut server = Answering::new(Speech::Framed, |_, echo: Vec<u8>| {
            seen.push(echo[4..].to_vec());
            (echo, Then::GoOn)
        });
        let played = play.messages(20).against(&mut server);
        played.assert_all_ok(20);
        assert_eq!(played.outcome.identity, None);
        assert!(seen.iter().all(|payload| payload == content.payload()));
    }
}

#[test]
fn a_header_says_connection_sequence_and_due() {
    let mut seen = Vec::new();
    let mut server = Answering::new(Speech::Framed, |_, echo: Vec<u8>| {
        seen.push(Header::read(&echo[4..], false).unwrap());
        (echo, Then::GoOn)
    });
    let play = Play::new(Speech::Framed).payload(16).connections(2).rate("1000/s").messages(6);
    play.against(&mut server).assert_all_ok(6);
    let begin = ROUND_TRIP.0; // The connect.
    let expected = (0..6_u32).map(|number| Header {
        connection: number % 2,
        sequence: number / 2,
        due: Nanos(begin + u64::from(number) * 1_000_000),
    });
    assert!(seen.into_iter().eq(expected));
}

#[test]
fn without_a_header_a_time_out_gives_the_connection_up() {
    // The first connection gets ten replies, the next one all.
    let (mut first, mut count) = (None, 0);
    let mut server = Scripted(move |engine: &mut Sim, id, heard: Heard<'_>| {
        let Heard::Bytes(bytes) = heard else { return };
        count += 1;
        if *first.get_or_insert(id) != id || count <= 10 {
            engine.send(id, bytes);
        }
    });
    let play = Play::new(Speech::Raw).payload(15).connections(1).rate("100/s");
    let played = play.duration(ms(1000)).against(&mut server);
    let Connections { opened, lost, reconnects, .. } = played.outcome.connections;
    assert_eq!((opened, lost, reconnects), (2, 1, 1));
    // The 11th timed out after 300 ms; those after it were lost with the connection.
    let Counts { sent, ok, error, timed_out, .. } = played.outcome.measured;
    assert_eq!((sent, timed_out, ok + error), (100, 1, 99));
    assert!((29..=31).contains(&error), "{error}");
}

#[test]
fn a_request_of_http_that_is_not_answered_gives_the_connection_up() {
    let mut server = Answering::new(Speech::Http, |number, echo: Vec<u8>| {
        (if number == 10 { Vec::new() } else { echo }, Then::GoOn)
    });
    let play = Play::new(Speech::Http).payload(40).connections(2).rate("100/s");
    let played = play.duration(ms(1000)).against(&mut server);
    let expected = Counts { sent: 100, ok: 99, timed_out: 1, ..Counts::default() };
    assert_eq!(played.outcome.measured, expected);
    let Connections { opened, lost, reconnects, .. } = played.outcome.connections;
    assert_eq!((opened, lost, reconnects), (3, 1, 1));
}

#[test]
fn a_server_that_drops_everything_for_long_is_remembered_within_bounds() {
    let mut server = Answering::new(Speech::Framed, |number, echo: Vec<u8>| {
        (if (10..8000).contains(&number) { Vec::new() } else { echo }, Then::GoOn)
    });
    let play = Play::new(Speech::Framed).payload(40).connections(1).rate("1000/s");
    let played = play.duration(ms(9000)).reply_timeout(ms(50)).against(&mut server);
    let expected = Counts { sent: 9000, ok: 1010, timed_out: 7990, ..Counts::default() };
    assert_eq!(played.outcome.measured, expected);
    let lost = played.outcome.identity.unwrap().lost;
    assert!(lost > 0 && lost <= 7990, "{lost}");
}

/// A hundred messages in a second on one connection, to a server that answers as `answer` says.
fn play(mut answer: impl FnMut(u64, Vec<u8>) -> Vec<u8>) -> Played {
    let mut server = Answering::new(Speech::WebSocket, |number, echo: Vec<u8>| {
        (answer(number, echo), Then::GoOn)
    });
    let play = Play::new(Speech::WebSocket).payload(40).connections(1).rate("100/s");
    play.duration(ms(1000)).against(&mut server)
}
