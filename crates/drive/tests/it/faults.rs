//! Peers that are not there, say nothing, or say the wrong thing: every message is counted once, every error is named.

use crate::peers::{Answering, Heard, Scripted, Then, Watched};
use crate::world::{
    DELAY, Play, Played, ROUND_TRIP, Speech, TIME_MAX, World, after_delays, always, headers, ms,
};
use engine::sim::{Conditions, Cut, Cuts, Outcome as Ended, Party, Sim};
use engine::{Address, ConnectionId, Engine};
use load::Content;
use record::{Connections, Counts, ErrorClass};
use std::collections::BTreeMap;
use units::{Instant, Nanos};
use wire::websocket::{Limits, WebSocket};
use wire::{Event, Input, Message, Protocol};

#[test]
fn a_refused_connection_ends_the_run_at_once() {
    for speech in Speech::ALL {
        let play = Play::new(speech).connections(3).messages(10);
        let played = Play { target: nobody(), ..play }.against(&mut Watched::new(speech));
        assert_eq!(played.outcome.planned, 10);
        assert_eq!(played.outcome.measured, Counts::default());
        assert_eq!(played.errors(), [(ErrorClass::ConnectFailed, 3, "connection refused")]);
        let counts = Connections { started: 3, failed: 3, ..Connections::default() };
        assert_eq!(played.outcome.connections, counts);
        assert_eq!(played.ended, after_delays(2));
    }
}

#[test]
fn when_half_of_the_connections_are_refused_the_others_do_the_work() {
    for speech in Speech::ALL {
        // All requests arrive in one instant, before the server accepts any.
        let conditions = Conditions { delay: DELAY, backlog: 4, ..Conditions::default() };
        let play = Play { conditions, ..Play::new(speech).connections(8).messages(50) };
        let played = play.against(&mut Watched::new(speech));
        assert_eq!(played.outcome.measured, Counts { sent: 50, ok: 50, ..Counts::default() });
        assert_eq!(played.errors(), [(ErrorClass::ConnectFailed, 4, "connection refused")]);
        let Connections { started, opened, failed, lost, reconnects, .. } =
            played.outcome.connections;
        assert_eq!((started, opened, failed, lost, reconnects), (8, 4, 4, 0, 0));
    }
}

#[test]
fn a_message_that_our_own_protocol_refuses_is_an_error_and_ends_its_connection() {
    let not_utf8 = Content::exactly(&[0xFF; 64], true);
    let named = "not sent: text message is not UTF-8";
    let mut play = Play::new(Speech::WebSocketText).connections(3).in_flight(2, None);
    play.workload.content = not_utf8.clone();
    let played = play.against(&mut Watched::new(Speech::WebSocketText));
    assert_eq!(played.outcome.measured, Counts { sent: 3, error: 3, ..Counts::default() });
    assert_eq!(played.errors(), [(ErrorClass::Unsendable, 3, named)]);
    let counts = Connections { started: 3, opened: 3, lost: 3, ..Connections::default() };
    assert_eq!(played.outcome.connections, counts);
    assert!(played.ended < Instant::START + ms(100), "there is nothing to wait for");

    let mut play = Play::new(Speech::WebSocketText).rate("1000/s").duration(ms(500));
    play.workload.content = not_utf8;
    let played = play.against(&mut Watched::new(Speech::WebSocketText));
    let Counts { sent, error, unsent, .. } = played.outcome.measured;
    // Each connection that replaces another carries one message, in the drain too: one every 14 ms.
    assert!((90..=101).contains(&error), "{:?}", played.outcome.measured);
    assert_eq!((sent, sent + unsent), (error, 500));
    assert_eq!(played.errors(), [(ErrorClass::Unsendable, error, named)]);
}

#[test]
fn a_connection_that_takes_too_long_is_given_up() {
    let conditions = Conditions { delay: ms(60), ..Conditions::default() };
    let play = Play { conditions, ..Play::new(Speech::Framed).connections(2) };
    let played = play.against(&mut Watched::new(Speech::Framed));
    let expected = [(ErrorClass::ConnectTimedOut, 2, "no connection within 100 ms")];
    assert_eq!(played.errors(), expected);
    assert_eq!((played.outcome.connections.failed, played.outcome.measured.sent), (2, 0));
    assert_eq!(played.ended, Instant::START + ms(100));
}

#[test]
fn a_server_that_says_nothing_is_given_up_at_the_end_of_each_phase() {
    let mut silent = Scripted(|_: &mut Sim, _, _: Heard<'_>| {});
    for speech in Speech::ALL {
        let play = Play::new(speech).connections(2).in_flight(2, None).messages(10);
        let played = play.against(&mut silent);
        assert_eq!(played.outcome.planned, 10);
        if speech.shakes_hands() {
            let text = "no answer to the opening handshake within 200 ms";
            assert_eq!(played.errors(), [(ErrorClass::HandshakeTimedOut, 2, text)]);
            assert_eq!(played.outcome.measured, Counts::default());
            assert_eq!(
                (played.outcome.connections.failed, played.outcome.connections.lost),
                (2, 0)
            );
            assert_eq!(played.ended, after_delays(2) + ms(200));
        } else {
            let text = "no whole reply within 300 ms";
            assert_eq!(played.errors(), [(ErrorClass::ReplyTimedOut, 2, text)], "{speech:?}");
            let timed_out = Counts { sent: 4, timed_out: 4, ..Counts::default() };
            assert_eq!(played.outcome.measured, timed_out);
            assert_eq!(
                (played.outcome.connections.failed, played.outcome.connections.lost),
                (0, 2)
            );
            assert_eq!(played.ended, after_delays(2) + ms(300));
        }
    }
}

#[test]
fn messages_that_wait_for_their_turn_are_not_forgotten_when_others_fail() {
    // One of three connections gets no answer; one message is in flight at a time.
    let mut mute = None;
    let mut server = Scripted(move |engine: &mut Sim, id, heard: Heard<'_>| {
        if let Heard::Bytes(bytes) = heard
            && *mute.get_or_insert(id) != id
        {
            engine.send(id, bytes);
        }
    });
    let play = Play::new(Speech::Raw).connections(3).in_flight(1, Some(1)).messages(10);
    let played = play.against(&mut server);
    assert_eq!(
        played.outcome.measured,
        Counts { sent: 10, ok: 9, error: 0, timed_out: 1, unsent: 0, ..Counts::default() }
    );
    assert_eq!(played.errors(), [(ErrorClass::ReplyTimedOut, 1, "no whole reply within 300 ms")]);
}

#[test]
fn a_server_that_closes_in_the_middle_of_a_message_breaks_its_protocol() {
    #[rustfmt::skip]
    let table = [
        (Speech::Framed, "the connection ended 12 bytes into a frame"),
        (Speech::Http, "the connection ended 8 bytes into a body"),
        (Speech::Raw, "the connection ended after 8 of 16 bytes of a reply"),
        (Speech::WebSocket,
            "connection ended in the middle of a frame, at least 8 bytes before its end (RFC 6455 §7.1.5)"),
    ];
    for (speech, text) in table {
        let mut server = Answering::new(speech, |number, mut echo: Vec<u8>| {
            if number < 3 {
                return (echo, Then::GoOn);
            }
            echo.truncate(echo.len() - 8);
            (echo, Then::End)
        });
        let played = Play::new(speech).messages(10).against(&mut server);
        assert_lost(&played, 3, &[(ErrorClass::Protocol, 1, text)]);
    }
}

#[test]
fn a_server_that_sends_garbage_breaks_its_protocol() {
    #[rustfmt::skip]
    let table = [
        (Speech::Framed, "frame of 4283112317 bytes, limit is 16777216"),
        (Speech::Http, r#"the peer does not speak HTTP, it sent "\xffK\x1b}[2Jxxxxxxxxx""#),
        (Speech::WebSocket, "reserved bits 0b111 are set without an extension (RFC 6455 §5.2)"),
    ];
    for (speech, text) in table {
        let mut server = Answering::new(speech, |_, _| (GARBAGE.to_vec(), Then::GoOn));
        let played = Play::new(speech).messages(10).against(&mut server);
        assert_lost(&played, 0, &[(ErrorClass::Protocol, 1, text)]);
    }
    // Without framing it is as good as any other bytes, but not the right ones.
    let mut server = Answering::new(Speech::Raw, |_, _| (GARBAGE[..16].to_vec(), Then::GoOn));
    let played = Play::new(Speech::Raw).messages(10).against(&mut server);
    assert_eq!(played.outcome.measured, Counts { sent: 10, error: 10, ..Counts::default() });
    let [(ErrorClass::WrongReply, 10, text)] = played.errors()[..] else {
        panic!("{:?}", played.errors())
    };
    assert!(text.starts_with("byte 0 of 16 is 0xff, expected 0x"), "{text}");
    assert!(text.ends_with(r#": "\xffK\x1b}[2Jxxxxxxxxx""#), "{text}");
}

/// Bytes that are not a frame, a response or a handshake, and that must not reach a terminal.
const GARBAGE: &[u8] = b"\xffK\x1b}[2Jxxxxxxxxx\r\n";

#[test]
fn an_opening_handshake_that_is_not_one_fails_the_connection() {
    const WRONG: &[u8] =
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n";
    #[rustfmt::skip]
    let table: [(&[u8], &str); _] = [
        (WRONG, r#"Sec-WebSocket-Accept is "AAAAAAAAAAAAAAAAAAAAAAAAAAA=", which does not answer our key"#),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "status 404 instead of an upgrade: not found"),
        (GARBAGE, r#"the peer does not speak HTTP, it sent "\xffK\x1b}[2Jxxxxxxxxx""#),
    ];
    for (answer, text) in table {
        let mut server = Scripted(move |engine: &mut Sim, id, heard: Heard<'_>| {
            if heard != Heard::Accepted {
                engine.send(id, answer);
            }
        });
        let played = Play::new(Speech::WebSocket).connections(2).against(&mut server);
        assert_eq!(played.errors(), [(ErrorClass::Protocol, 2, text)]);
        assert_eq!(played.outcome.measured, Counts::default());
        let counts = Connections { started: 2, failed: 2, ..Connections::default() };
        assert_eq!(played.outcome.connections, counts);
        assert_eq!(played.ended, after_delays(4));
    }
}

#[test]
fn a_server_that_ends_in_the_handshake_fails_the_connection() {
    let mut server = Scripted(|engine: &mut Sim, id, heard: Heard<'_>| {
        if heard != Heard::Accepted {
            engine.send(id, b"HTTP/1.1 101 Switch");
            engine.shutdown(id);
        }
    });
    let played = Play::new(Speech::WebSocket).against(&mut server);
    let text = "the connection ended 19 bytes into a head";
    assert_eq!(played.errors(), [(ErrorClass::Protocol, 1, text)]);
    assert_eq!((played.outcome.connections.failed, played.outcome.connections.lost), (1, 0));
}

#[test]
fn frames_that_rfc_6455_forbids_break_the_protocol() {
    #[rustfmt::skip]
    let table: [(&[u8], &str); _] = [
        (b"\x82\x81\0\0\0\0x", "frame of the server is masked (RFC 6455 §5.1)"),
        (
            b"\x82\x7f\x80\0\0\0\0\0\0\x01x",
            "payload length 0x8000000000000001 has its most significant bit set (RFC 6455 §5.2)",
        ),
        (b"\x82\x7f\0\0\0\x01\0\0\0\0", "frame of 4294967296 bytes, limit is 16777216"),
        (b"\x81\x01\xff", "text message is not UTF-8 from byte 0 on (RFC 6455 §8.1)"),
    ];
    for (frame, text) in table {
        for connections in [1, 2] {
            let mut server = Answering::new(Speech::WebSocket, |number, echo| {
                if number < 6 { (echo, Then::GoOn) } else { (frame.to_vec(), Then::GoOn) }
            });
            let play = Play::new(Speech::WebSocket).connections(connections).messages(20);
            let played = play.against(&mut server);
            let (lost, connections) = (u64::from(connections), connections as usize);
            assert_eq!(played.errors(), [(ErrorClass::Protocol, lost, text)], "{connections}");
            let counts = Counts {
                sent: 6 + lost,
                ok: 6,
                error: lost,
                timed_out: 0,
                unsent: 0,
                ..Counts::default()
            };
            assert_eq!((played.outcome.planned, played.outcome.measured), (20, counts));
            assert_eq!(played.outcome.connections.lost, lost);
        }
    }
}

#[test]
fn a_right_reply_counts_though_nonsense_follows_it() {
    for speech in [Speech::Framed, Speech::Http, Speech::Raw, Speech::WebSocket] {
        let mut server = Answering::new(speech, |_, mut echo: Vec<u8>| {
            echo.extend_from_slice(GARBAGE);
            (echo, Then::GoOn)
        });
        let played = Play::new(speech).messages(10).against(&mut server);
        assert_eq!(played.outcome.measured, Counts { sent: 1, ok: 1, ..Counts::default() });
        let [(ErrorClass::Protocol, 1, _)] = played.errors()[..] else {
            panic!("{speech:?} {:?}", played.errors())
        };
        assert_eq!(played.outcome.connections.lost, 1);
    }
}

#[test]
fn a_status_that_is_not_success_is_a_refusal_and_the_connection_stays() {
    let not_found = b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot\x1b[here".to_vec();
    let broken = b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n".to_vec();
    let mut server = Answering::new(Speech::Http, |number, echo| {
        let answer = match number {
            3 => not_found.clone(),
            5 => broken.clone(),
            _ => echo,
        };
        (answer, Then::GoOn)
    });
    let played = Play::new(Speech::Http).messages(10).against(&mut server);
    assert_eq!(
        played.outcome.measured,
        Counts { sent: 10, ok: 8, refused: 2, ..Counts::default() }
    );
    assert_eq!(played.outcome.refused.count(), 2);
    let text = r#"refused with status 404: "not\x1b[here""#;
    assert_eq!(played.errors(), [(ErrorClass::Refused, 2, text)]);
    let counts = Connections { started: 1, opened: 1, ..Connections::default() };
    assert_eq!(played.outcome.connections, counts);
}

#[test]
fn an_answer_that_only_the_end_of_the_connection_ends_counts_like_any_other() {
    for (status, class) in [("200 OK", None), ("503 Later", Some(ErrorClass::Refused))] {
        let mut server = Answering::new(Speech::Http, |_, echo: Vec<u8>| {
            let body = &echo[echo.len() - 16..];
            ([format!("HTTP/1.1 {status}\r\n\r\n").as_bytes(), body].concat(), Then::End)
        });
        let played = Play::new(Speech::Http).messages(5).against(&mut server);
        let (ok, refused) = if class.is_none() { (5, 0) } else { (0, 5) };
        assert_eq!(
            played.outcome.measured,
            Counts { sent: 5, ok, refused, ..Counts::default() },
            "{status}"
        );
        let classes: Vec<_> =
            played.errors().iter().map(|(class, count, _)| (*class, *count)).collect();
        assert_eq!(classes, class.map(|class| (class, 5)).into_iter().collect::<Vec<_>>());
        let counts = Connections { started: 5, opened: 5, reconnects: 4, ..Connections::default() };
        assert_eq!(played.outcome.connections, counts);
    }
}

#[test]
fn an_echo_that_differs_is_a_wrong_reply() {
    let differing = |mut echo: Vec<u8>| {
        *echo.last_mut().unwrap() ^= 1;
        echo
    };
    let short = |speech, mut echo: Vec<u8>| {
        echo.pop();
        match speech {
            Speech::Framed => echo[3] -= 1,
            Speech::WebSocket | Speech::WebSocketText => echo[1] -= 1,
            Speech::Http => {
                let at = echo.windows(4).position(|part| part == b": 16").unwrap();
                echo[at + 3] = b'5';
            }
            Speech::Raw => {}
        }
        echo
    };
    for speech in Speech::ALL {
        let mut server = Answering::new(speech, |number, echo| {
            (if number == 4 { differing(echo) } else { echo }, Then::GoOn)
        });
        let played = Play::new(speech).messages(10).against(&mut server);
        assert_eq!(
            played.outcome.measured,
            Counts { sent: 10, ok: 9, error: 1, timed_out: 0, unsent: 0, ..Counts::default() }
        );
        let [(ErrorClass::WrongReply, 1, text)] = played.errors()[..] else { panic!("{played:?}") };
        assert!(text.starts_with("byte 15 of 16 is 0x"), "{text}");
        assert_eq!(played.outcome.connections.lost, 0);

        if speech == Speech::Raw {
            continue; // The client waits for the missing byte.
        }
        let mut server = Answering::new(speech, |number, echo| {
            (if number == 4 { short(speech, echo) } else { echo }, Then::GoOn)
        });
        let played = Play::new(speech).messages(10).against(&mut server);
        assert_eq!(
            played.outcome.measured,
            Counts { sent: 10, ok: 9, error: 1, timed_out: 0, unsent: 0, ..Counts::default() }
        );
        let [(ErrorClass::WrongReply, 1, text)] = played.errors()[..] else { panic!("{played:?}") };
        assert!(text.starts_with("15 bytes came back, expected 16: \""), "{text}");
    }
}

#[test]
fn a_raw_echo_that_is_too_short_is_waited_for_and_times_out() {
    let mut server = Answering::new(Speech::Raw, |_, mut echo: Vec<u8>| {
        echo.pop();
        (echo, Then::GoOn)
    });
    let played = Play::new(Speech::Raw).messages(10).against(&mut server);
    assert_eq!(played.outcome.measured, Counts { sent: 1, timed_out: 1, ..Counts::default() });
    assert_eq!(played.errors(), [(ErrorClass::ReplyTimedOut, 1, "no whole reply within 300 ms")]);
}

#[test]
fn an_echo_of_the_other_kind_is_a_wrong_reply() {
    let other_kind = |_, mut echo: Vec<u8>| {
        echo[0] ^= 3; // Text is opcode 1, binary is 2.
        (echo, Then::GoOn)
    };
    let mut server = Answering::new(Speech::WebSocketText, other_kind);
    let played = Play::new(Speech::WebSocketText).messages(10).against(&mut server);
    assert_eq!(played.outcome.measured, Counts { sent: 10, error: 10, ..Counts::default() });
    let [(ErrorClass::WrongReply, 10, text)] = played.errors()[..] else { panic!("{played:?}") };
    assert!(text.starts_with("binary came back for text: \""), "{text}");
}

#[test]
fn a_reply_that_nobody_asked_for_breaks_the_protocol() {
    #[rustfmt::skip]
    let table: [(Speech, &[u8], &str); _] = [
        (Speech::Framed, b"\0\0\0\x03hi\x1b", r#"received 3 bytes while no message awaited a reply: "hi\x1b""#),
        (Speech::Http, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "received bytes that answer no request"),
        (Speech::Raw, b"0123456789abcdef", r#"received 16 bytes while no message awaited a reply: "0123456789abcdef""#),
        (Speech::WebSocket, b"\x81\x02hi", r#"received 2 bytes while no message awaited a reply: "hi""#),
    ];
    for (speech, unasked, text) in table {
        // Together with the third reply.
        let mut server = Answering::new(speech, |number, mut echo: Vec<u8>| {
            if number == 2 {
                echo.extend_from_slice(unasked);
            }
            (echo, Then::GoOn)
        });
        let played = Play::new(speech).messages(10).against(&mut server);
        assert_eq!(played.errors(), [(ErrorClass::Protocol, 1, text)], "{speech:?}");
        assert_eq!(played.outcome.measured, Counts { sent: 3, ok: 3, ..Counts::default() });
        assert_eq!((played.outcome.planned, played.outcome.connections.lost), (10, 1));
    }
}

#[test]
fn a_server_that_is_cut_off_in_the_middle_ends_the_run_early() {
    for speech in Speech::ALL {
        let cuts = (0..3).map(|connection| Cut { connection, after: Nanos::from_micros(8500) });
        let cuts = Cuts::Scheduled(cuts.collect());
        let conditions = Conditions { delay: DELAY, cuts, ..Conditions::default() };
        let play = Play::new(speech).connections(3).in_flight(2, None).messages(1000);
        let played = Play { conditions, ..play }.against(&mut Watched::new(speech));
        // Replies come 2 ms, 4 ms, 6 ms, 8 ms after the connections are open.
        let ok = if speech.shakes_hands() { 6 * 3 } else { 6 * 4 };
        let counts =
            Counts { sent: ok + 6, ok, error: 6, timed_out: 0, unsent: 0, ..Counts::default() };
        assert_eq!((played.outcome.planned, played.outcome.measured), (1000, counts));
        assert_eq!(played.errors(), [(ErrorClass::Cut, 3, "connection reset by peer")]);
        assert_eq!(played.outcome.connections.lost, 3);
        assert_eq!(played.ended, after_delays(2) + Nanos::from_micros(8500));
    }
}

#[test]
fn a_server_whose_process_ends_in_the_middle_ends_the_run_early() {
    #[rustfmt::skip]
    let table = [
        (Speech::Framed, ErrorClass::ClosedByPeer, "closed by the server"),
        (Speech::Http, ErrorClass::Protocol, "the connection ended; unanswered requests: 2"),
        (Speech::Raw, ErrorClass::ClosedByPeer, "closed by the server"),
        (Speech::WebSocket, ErrorClass::Protocol,
            "connection ended without a Close frame (RFC 6455 §7.1.5, code 1006)"),
    ];
    for (speech, class, text) in table {
        for duration in [None, Some(ms(5000))] {
            let play = Play::new(speech).connections(3).in_flight(2, None).messages(1000);
            let play =
                duration.map_or_else(|| play.clone(), |duration| play.clone().duration(duration));
            let mut world = World::new(&play);
            let at = Instant(19_500_000);
            assert_eq!(world.run(&mut Watched::new(speech), at), Ended::TimeUp);
            drop(std::mem::replace(&mut world.server, world.network.engine()));
            let mut parties = [Party::awaited(&mut world.client, &mut world.worker)];
            assert_eq!(world.network.run(&mut parties, TIME_MAX), Ended::Done);
            let played = world.finish();
            assert_eq!(played.errors(), [(class, 3, text)], "{speech:?}");
            let Counts { ok, error, timed_out, .. } = played.outcome.measured;
            // The process read at odd milliseconds what was sent at even ones: all of it is answered except the last.
            let rounds = if speech.shakes_hands() { 8 } else { 9 };
            assert_eq!((ok, error, timed_out), (6 * rounds, 6, 0), "{speech:?}");
            assert_eq!(played.ended, at + DELAY);
        }
    }
}

#[test]
fn a_frozen_server_is_given_up() {
    for speech in Speech::ALL {
        let play = Play::new(speech).connections(2).in_flight(3, None).messages(1000);
        let mut world = World::new(&play);
        // It reads at odd milliseconds: the last time at 19 ms, and what was sent at 20 ms waits.
        world.server.freeze(Instant(20_500_000), TIME_MAX);
        assert_eq!(world.run(&mut Watched::new(speech), TIME_MAX), Ended::Done);
        let played = world.finish();
        let rounds = if speech.shakes_hands() { 8 } else { 9 };
        let counts = Counts {
            sent: 6 * (rounds + 1),
            ok: 6 * rounds,
            error: 0,
            timed_out: 6,
            unsent: 0,
            ..Counts::default()
        };
        assert_eq!(played.outcome.measured, counts, "{speech:?}");
        let expected = [(ErrorClass::ReplyTimedOut, 2, "no whole reply within 300 ms")];
        assert_eq!(played.errors(), expected);
        assert_eq!(played.ended, after_delays(20) + ms(300));
    }
}

#[test]
fn a_server_that_is_frozen_for_less_than_the_time_out_only_delays() {
    let mut world = World::new(&Play::new(Speech::Framed).messages(20));
    world.server.freeze(Instant(20_500_000), Instant(220_500_000));
    assert_eq!(world.run(&mut Watched::new(Speech::Framed), TIME_MAX), Ended::Done);
    let played = world.finish();
    played.assert_all_ok(20);
    let mut expected = always(ROUND_TRIP, 19);
    expected.record(ms(200) + Nanos::from_micros(1500));
    assert_eq!(played.notes.round_trips, expected);
}

#[test]
fn an_http_server_that_closes_after_each_response_is_connected_to_again() {
    for connections in [1, 3] {
        let mut play = Play::new(Speech::Http).connections(connections).messages(30);
        play.options.headers = headers(&[("Connection", "close")]);
        let mut server = Watched::new(Speech::Http);
        let played = play.against(&mut server);
        played.assert_all_ok(30);
        assert_eq!(played.notes.round_trips, always(ROUND_TRIP, 30));
        let counts = Connections {
            started: 30,
            opened: 30,
            reconnects: 30 - u64::from(connections),
            ..Connections::default()
        };
        assert_eq!(played.outcome.connections, counts);
        assert_eq!(server.census().open_max, connections as usize);
    }
}

#[test]
fn an_http_server_that_closes_without_a_word_loses_the_request_behind() {
    let mut server = Answering::new(Speech::Http, |number, echo| {
        (echo, if number == 4 { Then::End } else { Then::GoOn })
    });
    let played = Play::new(Speech::Http).messages(10).against(&mut server);
    let text = "the connection ended; unanswered requests: 1";
    assert_lost(&played, 5, &[(ErrorClass::Protocol, 1, text)]);
}

#[test]
fn what_a_server_says_when_it_closes_is_told_but_not_to_a_terminal() {
    // Code 1001, then a reason with a terminal title, a line end, a C1 control and text that looks like an escape.
    let reason = "gone\x1b]0;owned\x07\r\n\u{9b}31m\\x41";
    let payload = [&[0x03, 0xe9], reason.as_bytes()].concat();
    let close = [&[0x88, u8::try_from(payload.len()).unwrap()], &payload[..]].concat();
    let mut server = Answering::new(Speech::WebSocket, |number, mut echo: Vec<u8>| {
        if number == 3 {
            echo.extend_from_slice(&close);
        }
        (echo, Then::GoOn)
    });
    let mut world = World::new(&Play::new(Speech::WebSocket).messages(10));
    assert_eq!(world.run(&mut server, TIME_MAX), Ended::Done);
    // Bytes on their way to the server still arrive.
    let later = world.network.now() + DELAY;
    let mut parties = [Party::awaited(&mut world.server, &mut server)];
    assert_eq!(world.network.run(&mut parties, later), Ended::TimeUp);
    let played = world.finish();
    let text = r#"closed by the server with code 1001: "gone\x1b]0;owned\x07\r\n\xc2\x9b31m\\x41""#;
    assert_eq!(played.errors(), [(ErrorClass::ClosedByPeer, 1, text)]);
    assert_eq!(played.outcome.measured, Counts { sent: 4, ok: 4, ..Counts::default() });
    assert_eq!(played.outcome.connections.lost, 1);
    let received = server.bytes_received;
    assert_eq!(
        played.total(|interval| interval.bytes_sent),
        received,
        "the answer to the close included"
    );
}

#[test]
fn a_close_right_behind_the_handshake_is_a_lost_connection() {
    for in_flight_max in [None, Some(1)] {
        let mut machine = WebSocket::server(Limits::default());
        let mut server = Scripted(|engine: &mut Sim, id, heard: Heard<'_>| {
            let Heard::Bytes(bytes) = heard else { return };
            let (mut bytes, mut tx) = (bytes.to_vec(), Vec::new());
            if machine.receive(&mut Input::new(&mut bytes), &mut tx) == Ok(Some(Event::Open)) {
                tx.extend_from_slice(b"\x88\x02\x03\xf5");
                engine.send(id, &tx);
            }
        });
        let play = Play::new(Speech::WebSocket).in_flight(1, in_flight_max);
        let played = play.against(&mut server);
        let text = "closed by the server with code 1013";
        assert_eq!(played.errors(), [(ErrorClass::ClosedByPeer, 1, text)]);
        assert_eq!(played.outcome.measured, Counts::default());
        let counts = Connections { started: 1, opened: 1, lost: 1, ..Connections::default() };
        assert_eq!(played.outcome.connections, counts);
    }
}

#[test]
fn pings_are_answered_on_the_connection_that_they_came_on() {
    for in_flight_max in [None, Some(1), Some(2)] {
        let mut pongs = 0;
        let mut server = Scripted({
            let mut machines = BTreeMap::new();
            let pongs = &mut pongs;
            move |engine: &mut Sim, id: ConnectionId, heard: Heard<'_>| {
                let machine =
                    machines.entry(id).or_insert_with(|| WebSocket::server(Limits::default()));
                let Heard::Bytes(bytes) = heard else { return };
                let (mut bytes, mut tx) = (bytes.to_vec(), Vec::new());
                *pongs += answer_and_ping(machine, &mut bytes, &mut tx, id);
                engine.send(id, &tx);
            }
        });
        let play = Play::new(Speech::WebSocket).connections(3).in_flight(1, in_flight_max);
        let played = play.messages(30).against(&mut server);
        played.assert_all_ok(30);
        assert!(pongs >= 30 - 3, "{pongs} {in_flight_max:?}");
    }
}

/// Answers each message with an echo, followed by a ping that names the connection; counts pongs, which must name it
/// too.
fn answer_and_ping(
    machine: &mut WebSocket,
    bytes: &mut [u8],
    tx: &mut Vec<u8>,
    id: ConnectionId,
) -> u64 {
    let mut input = Input::new(bytes);
    let name = u8::try_from(id.index()).unwrap();
    let mut pongs = 0;
    while let Some(event) = machine.receive(&mut input, tx).unwrap() {
        match event {
            Event::Message(Message { kind, payload }) => {
                let payload = payload.to_vec();
                machine.send(Message { kind, payload: &payload }, tx).unwrap();
                tx.extend_from_slice(&[0x89, 1, name]);
            }
            Event::Pong(payload) => {
                assert_eq!(payload, [name]);
                pongs += 1;
            }
            Event::Open | Event::Closed(_) => {}
            Event::Ping(_)
            | Event::Answer(_)
            | Event::Part(_)
            | Event::Pushed(_)
            | Event::Redirected
            | Event::Refused { .. }
            | Event::Response(_)
            | Event::Secured(_) => {
                panic!("{event:?}")
            }
        }
    }
    pongs
}

/// One connection, on which `ok` messages were answered and one more failed; the rest was never sent.
#[track_caller]
fn assert_lost(played: &Played, ok: u64, errors: &[(ErrorClass, u64, &str)]) {
    assert_eq!(played.errors(), errors);
    assert_eq!(played.outcome.planned, 10);
    assert_eq!(
        played.outcome.measured,
        Counts { sent: ok + 1, ok, error: 1, timed_out: 0, unsent: 0, ..Counts::default() }
    );
    let counts = Connections { started: 1, opened: 1, lost: 1, ..Connections::default() };
    assert_eq!(played.outcome.connections, counts);
}

fn nobody() -> Address {
    Address::Tcp(([10, 0, 0, 2], 80).into())
}
