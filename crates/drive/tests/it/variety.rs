//! Payloads that differ from message to message: each is sent in its turn, and each reply is compared with its own.

use crate::peers::{Answering, Then, Watched, oracle};
use crate::sessions::sessions;
use crate::world::{Play, Speech, headers, ms};
use engine::sim::{Conditions, Split};
use load::{Header, PayloadKind};
use record::{Connections, Counts, ErrorClass};
use serve::Behaviour;

#[test]
fn messages_go_round_the_ring_and_every_reply_is_held_against_its_own() {
    for speech in Speech::ALL {
        for kind in [PayloadKind::Json, PayloadKind::Random] {
            for in_flight in [1, 5] {
                let split = Split::Random { chunk_len_max: 700 };
                let play = Play::new(speech).payload(1000).varied(kind).connections(3);
                let mut play = play.in_flight(in_flight, None).messages(500);
                play.conditions = Conditions { split, ..play.conditions };
                let played = play.against(&mut Watched::new(speech));
                played.assert_all_ok(500);
            }
        }
    }
}

#[test]
fn each_message_of_a_connection_is_the_next_of_the_ring() {
    let play = Play::new(Speech::Framed).payload(5000).varied(PayloadKind::Json).messages(40);
    let content = play.workload.content.clone();
    assert_eq!(content.count(), 15);
    let mut seen = Vec::new();
    let mut server = Answering::new(Speech::Framed, |_, echo: Vec<u8>| {
        seen.push(echo[4..].to_vec());
        (echo, Then::GoOn)
    });
    play.in_flight(3, None).against(&mut server).assert_all_ok(40);
    assert!(seen.iter().map(Vec::as_slice).eq((0..40).map(|number| content.payload_of(number))));
}

#[test]
fn a_reply_to_another_message_of_the_ring_is_wrong() {
    // The 5th reply is sent twice, in its own place and instead of the 6th: its bytes are those of a message, but not
    // of the one that it answers.
    let mut last = Vec::new();
    let mut server = Answering::new(Speech::Framed, |number, echo: Vec<u8>| {
        let answer = if number == 5 { last.clone() } else { echo.clone() };
        last = echo;
        (answer, Then::GoOn)
    });
    let play = Play::new(Speech::Framed).payload(40).varied(PayloadKind::Random).messages(10);
    let played = play.against(&mut server);
    assert_eq!(played.outcome.measured, Counts { sent: 10, ok: 9, error: 1, ..Counts::default() });
    assert_eq!(played.outcome.errors[&ErrorClass::WrongReply].count, 1);
}

#[test]
fn a_header_is_written_over_each_payload_of_the_ring_but_not_over_json() {
    for (kind, has_header) in
        [(PayloadKind::Random, true), (PayloadKind::Text, true), (PayloadKind::Json, false)]
    {
        for own in [false, true] {
            let play = Play::new(Speech::Framed).payload(5000).varied(kind).connections(1);
            let play = play.rate("1000/s").messages(40);
            let play = if own { play.own() } else { play };
            let content = play.workload.content.clone();
            let mut seen = Vec::new();
            let mut server = Answering::new(Speech::Framed, |_, echo: Vec<u8>| {
                seen.push(echo[4..].to_vec());
                (echo, Then::GoOn)
            });
            let played = play.against(&mut server);
            played.assert_all_ok(40);
            assert_eq!(played.outcome.identity.is_some(), has_header, "{kind}");
            for (number, payload) in (0_u32..).zip(&seen) {
                let from = if has_header { Header::len(false) } else { 0 };
                assert_eq!(payload[from..], content.payload_of(number)[from..], "{kind} {number}");
                let header = Header::read(payload, false).unwrap();
                assert!(!has_header || header.sequence == number, "{header:?}");
            }
            assert_eq!(seen.len(), 40);
        }
    }
}

#[test]
fn replies_that_come_late_twice_or_out_of_turn_are_held_against_their_own() {
    for kind in [PayloadKind::Random, PayloadKind::Text] {
        let behaviour = Behaviour {
            drop: "2%".parse().unwrap(),
            duplicate: "3%".parse().unwrap(),
            reorder: "4%".parse().unwrap(),
            delay: "exponential:30ms".parse().unwrap(),
            ..Behaviour::default()
        };
        let mut server = oracle(Speech::Framed, behaviour, 500);
        let play = Play::new(Speech::Framed).payload(500).varied(kind).connections(3);
        let play = play.rate("1000/s").duration(ms(4000)).reply_timeout(ms(100));
        let played = play.against(&mut server);
        let identity = played.outcome.identity.unwrap();
        assert_eq!((identity.corrupted, played.outcome.measured.error), (0, 0), "{identity:?}");
        assert!(identity.duplicate > 50 && identity.reordered > 50, "{identity:?}");
        assert!(played.outcome.measured.timed_out > 100, "{:?}", played.outcome.measured);
        assert_eq!(played.errors().len(), 1, "nothing but time-outs: {:?}", played.errors());
    }
}

#[test]
fn every_connection_begins_the_ring_anew() {
    let play = Play::new(Speech::Http).payload(1000).varied(PayloadKind::Json).connections(2);
    let mut play = play.messages(20);
    play.options.headers = headers(&[("Connection", "close")]);
    let played = play.against(&mut Watched::new(Speech::Http));
    played.assert_all_ok(20);
    assert!(played.outcome.connections.reconnects > 10);

    let play = Play::new(Speech::WebSocket).payload(1000).varied(PayloadKind::Json).connections(9);
    let played = play.clone().clients(30, 5).against(&mut Watched::new(Speech::WebSocket));
    played.assert_all_ok(150);

    let play = sessions(play, "100/s", 4, ms(5)).duration(ms(1000));
    let played = play.against(&mut Watched::new(Speech::WebSocket));
    let Counts { sent, ok, .. } = played.outcome.measured;
    assert!(sent == ok && sent > 100, "{:?}", played.outcome.measured);
}

#[test]
fn without_a_header_a_time_out_begins_a_new_connection_and_a_new_ring() {
    let mut server = Answering::new(Speech::Framed, |number, echo: Vec<u8>| {
        (if number == 10 { Vec::new() } else { echo }, Then::GoOn)
    });
    let play = Play::new(Speech::Framed).payload(1000).varied(PayloadKind::Json).connections(1);
    let played = play.rate("10/s").duration(ms(3000)).reply_timeout(ms(50)).against(&mut server);
    let expected = Counts { sent: 30, ok: 29, timed_out: 1, ..Counts::default() };
    assert_eq!(played.outcome.measured, expected);
    let Connections { opened, lost, reconnects, .. } = played.outcome.connections;
    assert_eq!((opened, lost, reconnects), (2, 1, 1));
}
