//! Conversations: every reply, refusal, push and fault of a known server is found, and nothing else.

use crate::peers::oracle;
use crate::world::{Play, ROUND_TRIP, Speech, always, ms};
use load::{Arrival, Content, Expect, Requests};
use record::{Counts, ErrorClass, ExchangeOutcome, Identity};
use serve::{Behaviour, EventStream, Faults, Oracle, Stall};
use spec::Conversation;
use spec::conversation::{
    AnswerRule, Beat, Condition, Cue, Every, Frame, Matcher, Piece, Place, PushRule, READY_MADE,
    Reply, Request, Resume, Scalar, Send, Speaks, Step, Template,
};
use stats::Histogram;
use std::num::NonZeroU32;
use std::sync::Arc;
use units::{Nanos, Share};
use wire::conversation::Compiled;

#[test]
fn everything_that_a_known_server_does_is_found_exactly() {
    for speech in [Speech::Framed, Speech::WebSocketText] {
        for seed in 0..4 {
            let behaviour = Behaviour {
                drop: share("2%"),
                duplicate: share("3%"),
                reorder: share("4%"),
                refuse: share("5%"),
                push: share("10%"),
                ask: share("10%"),
                delay: "exponential:2ms".parse().unwrap(),
                seed,
                ..json_rpc_server()
            };
            let mut server = oracle(speech, behaviour, 0);
            let play = talk(speech, json_rpc()).connections(3).rate("1000/s").duration(ms(4000));
            let played = play.reply_timeout(ms(3000)).drain(ms(6000)).against(&mut server);
            let Faults { dropped, duplicated, reordered, refused, pushed, asked, .. } =
                server.totals().faults;
            assert!(dropped > 0 && duplicated > 0 && refused > 0 && pushed > 0 && asked > 0);
            let outcome = &played.outcome;
            let counts = Counts {
                sent: 4000,
                ok: 4000 - dropped - refused,
                refused,
                timed_out: dropped,
                ..Counts::default()
            };
            assert_eq!(outcome.measured, counts, "{speech:?} {seed}");
            let identity = outcome.identity.unwrap();
            let Identity { duplicate, reordered: overtaken, corrupted, .. } = identity;
            assert_eq!((duplicate, overtaken, corrupted), (duplicated, reordered, 0));
            assert_eq!(outcome.refused.count(), refused);
            assert_eq!(outcome.pushes[&0].count, pushed);
            assert_eq!(outcome.pushes[&0].delivery.count(), pushed);
            assert_eq!(outcome.pushed.unexpected, 0, "{:?}", played.errors());
            // Two classes of failures, and no connection is given up for any of them.
            let classes: Vec<ErrorClass> = outcome.errors.keys().copied().collect();
            assert_eq!(classes, [ErrorClass::Refused, ErrorClass::ReplyTimedOut]);
            assert_eq!(outcome.connections.lost, 0);
            let found = outcome.ids_found.unwrap();
            let all = 4000 - dropped + duplicated;
            assert!(found.learnt + found.scanned >= all && found.parsed == 0, "{found:?} {all}");
        }
    }
}

#[test]
fn messages_of_bytes_are_found_and_timed_as_exactly_as_texts() {
    for speech in [Speech::Framed, Speech::WebSocket] {
        let behaviour = Behaviour {
            drop: share("2%"),
            duplicate: share("3%"),
            reorder: share("4%"),
            delay: "exponential:2ms".parse().unwrap(),
            ..Behaviour::default()
        };
        let mut server = oracle(speech, behaviour, 0);
        let conversation = in_bytes();
        let moves = Conversation { requests: vec![conversation.requests[0].clone()], ..in_bytes() };
        let play = talk(speech, moves).connections(3).rate("1000/s").duration(ms(4000));
        let played = play.reply_timeout(ms(3000)).drain(ms(6000)).against(&mut server);
        let Faults { dropped, duplicated, reordered, .. } = server.totals().faults;
        assert!(dropped > 0 && duplicated > 0 && reordered > 0);
        let outcome = &played.outcome;
        let ok = 4000 - dropped;
        let counts = Counts { sent: 4000, ok, timed_out: dropped, ..Counts::default() };
        assert_eq!(outcome.measured, counts, "{speech:?}");
        let identity = outcome.identity.unwrap();
        let found = (identity.duplicate, identity.reordered, identity.corrupted);
        assert_eq!(found, (duplicated, reordered, 0), "{speech:?}");
        let found = outcome.ids_found.unwrap();
        assert_eq!((found.learnt, found.parsed), (0, 0), "each is at its place");
        assert!(found.scanned >= ok + duplicated, "{found:?}");

        // The echo of what is said to others is a push that carries its instant.
        let mut server = oracle(speech, Behaviour::default(), 0);
        let play = talk(speech, conversation).connections(5).rate("500/s").duration(ms(2000));
        let outcome = play.against(&mut server).outcome;
        assert_eq!(outcome.measured, Counts { sent: 1000, ok: 1000, ..Counts::default() });
        assert_eq!(outcome.exchanges[&0].response, always(ROUND_TRIP, 500), "{speech:?}");
        assert_eq!(outcome.pushes[&0].delivery, always(ROUND_TRIP, 500), "{speech:?}");
    }
}

#[test]
fn times_of_a_conversation_are_exact_in_virtual_time() {
    let delay = Nanos::from_micros(2500);
    let behaviour = Behaviour {
        delay: format!("fixed:{delay}").replace(' ', "").parse().unwrap(),
        push: share("100%"),
        ..json_rpc_server()
    };
    let mut server = oracle(Speech::WebSocketText, behaviour, 0);
    let play = talk(Speech::WebSocketText, json_rpc()).connections(5).rate("500/s");
    let played = play.duration(ms(2000)).against(&mut server);
    let (outcome, time) = (&played.outcome, ROUND_TRIP + delay);
    assert_eq!(outcome.measured, Counts { sent: 1000, ok: 1000, ..Counts::default() });
    assert_eq!(played.notes.response, always(time, 1000));
    // A push that follows a reply is delivered with it.
    assert_eq!(outcome.pushes[&0].delivery, always(time, 1000));
    let ExchangeOutcome { name, service, response, refused, .. } = &outcome.exchanges[&0];
    assert_eq!((name.as_str(), refused.count()), ("echo", 0));
    assert_eq!((service, response), (&always(time, 1000), &always(time, 1000)));
}

#[test]
fn a_stalled_server_is_measured_from_due_to_the_nanosecond() {
    let second = Nanos::from_secs(1).0;
    // 2 s of 20 s at 1000/s; and distances one nanosecond off the width of the histogram's buckets between 1.07 s and
    // 2.15 s, so that times fall on both sides of a bucket's end, and a nanosecond more or less gives another
    // histogram.
    for (distance, stopped) in [(second / 1000, 2 * second), ((1 << 20) - 1, 2_000_385_328)] {
        let stalls = vec![Stall { length: Nanos(stopped), after: ms(5000) }];
        let rate = format!("1/{distance}ns");
        let law = stats::Stall {
            rate: rate.parse().unwrap(),
            measured: ms(20_000),
            stopped: Nanos(stopped),
            drain_rate: "100M/s".parse().unwrap(),
        };
        // A message that arrives while the server stands still is answered when the stall ends.
        let expected = |off: i64| {
            let mut times = Histogram::new();
            for index in 0..law.count() {
                let (came, end) = (index * distance, 5 * second + stopped);
                let waited = if came >= 5 * second { end.saturating_sub(came) } else { 0 };
                times.record(Nanos((ROUND_TRIP.0 + waited).saturating_add_signed(off)));
            }
            times
        };
        for speech in [Speech::Framed, Speech::WebSocketText] {
            let behaviour = Behaviour { stalls: stalls.clone(), ..json_rpc_server() };
            let play = talk(speech, json_rpc()).connections(100).rate(&rate).duration(ms(20_000));
            let play = play.reply_timeout(ms(10_000)).drain(ms(3000));
            let played = play.against(&mut oracle(speech, behaviour, 0));
            played.assert_all_ok(law.count());
            assert_eq!(played.notes.response, expected(0), "{speech:?} {rate}");
            assert_eq!(played.outcome.exchanges[&0].response, expected(0), "{speech:?} {rate}");
            assert_eq!(played.notes.lag, always(Nanos::ZERO, law.count()), "we were not late");
            assert_eq!(played.outcome.stalls.count, 0, "the stall is not ours");
        }
        if distance != second / 1000 {
            assert!([-1, 1].iter().all(|off| expected(*off) != expected(0)));
        }
        for q in [0.95, 0.99, 0.999] {
            let (found, line) = (expected(0).quantile(q).unwrap(), law.quantile(q));
            assert!(found.0.abs_diff(line.0) <= (ROUND_TRIP + ms(2)).0, "{q}: {found}, {line}");
        }
    }
}

#[test]
fn times_of_a_stream_of_events_are_exact_in_virtual_time() {
    let (first, gap) = (ms(200), ms(50));
    let stream = EventStream { first, gap, ..twenty_events() };
    let mut server = streams(stream);
    let played = hold(Play::new(Speech::Http), sse())
        .connections(3)
        .messages(30)
        .reply_timeout(ms(5000))
        .against(&mut server);
    played.assert_all_ok(30);
    let ExchangeOutcome { parts, first_part, between_parts, service, .. } =
        &played.outcome.exchanges[&0];
    // Twenty events; `[DONE]`, one gap after the last, ends the stream and is not counted as an event.
    assert_eq!(*parts, 30 * 20);
    assert_eq!(*first_part, always(first + ROUND_TRIP, 30));
    assert_eq!(*between_parts, always(gap, 30 * 19));
    assert_eq!(*service, always(ms(200 + 20 * 50) + ROUND_TRIP, 30));
    // One event in 50 ms, within the width of a bucket.
    let per_s = played.outcome.exchanges[&0].summary().parts.and_then(|parts| parts.per_s);
    assert!(per_s.is_some_and(|per_s| (per_s / 20.0 - 1.0).abs() < 0.001), "{per_s:?}");
    assert_eq!(server.totals().messages, 30);
}

#[test]
fn a_stream_that_breaks_off_is_resumed_behind_its_last_event() {
    let (first, gap, retry) = (ms(20), ms(5), ms(30));
    let connect = ROUND_TRIP; // A connect takes one.
    // Broken off after events 6 and 13, and after the last, when only `[DONE]` is left.
    for (break_after, asked_again) in [(7, 2), (10, 2), (20, 1), (21, 0)] {
        for (retry, wait) in [(Some(retry), retry), (None, Nanos::ZERO)] {
            let stream = EventStream { first, gap, retry, ..breaking(break_after) };
            let mut server = streams(stream);
            let played = hold(Play::new(Speech::Http), resumed(3))
                .connections(3)
                .messages(30)
                .reply_timeout(ms(5000))
                .against(&mut server);
            played.assert_all_ok(30);
            let outcome = &played.outcome;
            let ExchangeOutcome { parts, first_part, between_parts, service, resumed, .. } =
                &outcome.exchanges[&0];
            assert_eq!((*parts, *resumed), (30 * 20, 30 * asked_again), "{break_after}");
            assert_eq!(server.totals().faults.broken_off, *resumed);
            assert_eq!((outcome.connections.lost, outcome.connections.started), (0, 3));
            assert_eq!(*first_part, always(first + ROUND_TRIP, 30));
            // The end arrives with the event before it; then come the wait, a connect, and the request.
            let back = wait + connect + ROUND_TRIP + first;
            let breaks = 30 * (19 / break_after);
            let mut between = always(gap, 30 * 19 - breaks);
            (0..breaks).for_each(|_| between.record(back));
            assert_eq!(*between_parts, between, "{break_after} {retry:?}");
            let ends =
                if asked_again * break_after < 20 || break_after > 20 { gap } else { Nanos::ZERO };
            let gaps = Nanos(gap.0 * (19 - breaks / 30)) + ends;
            let all = first + ROUND_TRIP + gaps + Nanos(back.0 * asked_again);
            assert_eq!(*service, always(all, 30), "{break_after} {retry:?}");
        }
    }
}

#[test]
fn a_stream_that_breaks_off_too_often_or_may_not_come_back_in_time_is_an_error() {
    let broken = "the stream of events broke off after";
    // Resumed as often as allowed; not at all if the server asks for a wait longer than the time-out of replies.
    for (times, retry, (resumed_each, words)) in [
        (0, ms(1), (0, format!("{broken} 6 events"))),
        (2, ms(1), (2, format!("{broken} 18 events"))),
        (9, ms(400), (0, format!("{broken} 6 events"))),
    ] {
        let stream = EventStream { retry: Some(retry), ..breaking(6) };
        let mut server = streams(stream);
        let conversation = if times == 0 { sse() } else { resumed(times) };
        let played = hold(Play::new(Speech::Http), conversation)
            .messages(1)
            .reply_timeout(ms(300))
            .against(&mut server);
        let counts = Counts { sent: 1, error: 1, ..Counts::default() };
        assert_eq!(played.outcome.measured, counts, "{times}");
        assert_eq!(played.errors(), [(ErrorClass::Protocol, 1, &*words)]);
        let of = &played.outcome.exchanges[&0];
        assert_eq!((of.resumed, of.parts), (resumed_each, 6 * (resumed_each + 1)));
        assert_eq!(played.outcome.connections.lost, 1);
    }
}

/// The ready-made conversation `sse`.
fn sse() -> Conversation {
    let (_, text) = READY_MADE.iter().find(|(name, _)| *name == "sse").unwrap();
    Conversation::read("sse", text).unwrap()
}

/// The same, with streams that are resumed up to `times` times.
fn resumed(times: u32) -> Conversation {
    let mut conversation = sse();
    let Reply::Stream { resume, .. } = &mut conversation.requests[0].reply else { panic!() };
    *resume = Some(Resume { times, wait: Nanos::ZERO });
    conversation
}

fn streams(stream: EventStream) -> Oracle {
    oracle(Speech::Http, Behaviour { stream: Some(stream), ..Behaviour::default() }, 0)
}

fn twenty_events() -> EventStream {
    let events = NonZeroU32::new(20).unwrap();
    let (first, gap) = (Nanos::ZERO, Nanos::ZERO);
    EventStream { events, first, gap, break_after: None, retry: None }
}

/// Twenty events; each response breaks off after `after` of them.
fn breaking(after: u64) -> EventStream {
    EventStream { break_after: NonZeroU32::new(u32::try_from(after).unwrap()), ..twenty_events() }
}

#[test]
fn each_kind_has_its_share_and_its_own_end() {
    let mut conversation = json_rpc();
    conversation.requests[0].weight = 3;
    let unknown = Request {
        name: "unknown".to_owned(),
        send: Send::Message(message("sum")),
        ..conversation.requests[0].clone()
    };
    let note = vec![text(r#"{"jsonrpc":"2.0","method":"note","params":["#), Piece::Now, text("]}")];
    let say = Request {
        name: "say".to_owned(),
        weight: 1,
        send: Send::Message(Template(note)),
        reply: Reply::Nothing,
        refused: None,
    };
    conversation.requests.extend([unknown, say]);
    let expected = [
        Counts { sent: 300, ok: 300, ..Counts::default() },
        Counts { sent: 300, refused: 300, ..Counts::default() },
        Counts { sent: 100, ok: 100, ..Counts::default() },
    ];
    let closed = talk(Speech::WebSocketText, conversation.clone()).connections(1).messages(700);
    let open = talk(Speech::WebSocketText, conversation.clone()).connections(2).rate("700/s");
    let think = |mut play: Play, think| {
        play.workload.arrival = Arrival::Think { think };
        play.duration(ms(1400))
    };
    let bots = think(talk(Speech::WebSocketText, conversation).connections(1), ms(1));
    for play in [
        closed.clone(),
        closed.in_flight(8, None),
        open.clone().messages(700),
        open.own().messages(700),
    ] {
        let played = play.against(&mut oracle(Speech::WebSocketText, json_rpc_server(), 0));
        let counts: Vec<Counts> =
            played.outcome.exchanges.values().map(|kind| kind.counts).collect();
        assert_eq!(counts, expected, "{:?}", play.workload.arrival);
        assert_eq!(played.outcome.exchanges[&2].service.count(), 0, "it has no time");
        assert!(played.outcome.exchanges[&2].no_reply);
    }
    let played = bots.against(&mut oracle(Speech::WebSocketText, json_rpc_server(), 0));
    let Counts { sent, ok, refused, .. } = played.outcome.measured;
    // Six of seven take a round trip of 2 ms and a pause of 1 ms, the seventh only the pause: 19 ms.
    assert!((515..=517).contains(&sent) && ok + refused == sent, "{:?}", played.outcome.measured);
}

#[test]
fn a_closed_loop_goes_on_after_a_reply_that_never_comes() {
    let mut server =
        oracle(Speech::WebSocketText, Behaviour { drop: share("10%"), ..json_rpc_server() }, 0);
    let play = talk(Speech::WebSocketText, json_rpc()).connections(2).messages(200);
    let played = play.reply_timeout(ms(50)).against(&mut server);
    let dropped = server.totals().faults.dropped;
    assert!((5..40).contains(&dropped), "{dropped}");
    let counts = Counts { sent: 200, ok: 200 - dropped, timed_out: dropped, ..Counts::default() };
    assert_eq!(played.outcome.measured, counts);
    assert_eq!((played.outcome.connections.started, played.outcome.connections.lost), (2, 0));
}

#[test]
fn each_message_is_given_up_when_its_own_time_is_over() {
    let behaviour = Behaviour { drop: share("100%"), ..json_rpc_server() };
    let mut server = oracle(Speech::WebSocketText, behaviour, 0);
    let play = talk(Speech::WebSocketText, json_rpc()).connections(1).rate("40/s");
    let played = play.duration(ms(250)).reply_timeout(ms(300)).drain(ms(2000)).against(&mut server);
    let counts = Counts { sent: 10, timed_out: 10, ..Counts::default() };
    assert_eq!(played.outcome.measured, counts);
    let response = &played.outcome.exchanges[&0].response;
    assert_eq!(response.count(), 10);
    let longest = response.max().unwrap();
    assert!((ms(300)..ms(320)).contains(&longest), "{longest}");
}

#[test]
fn what_no_rule_matches_is_counted_and_shown_and_fails_no_message() {
    let mut conversation = json_rpc();
    conversation.pushes.clear();
    let behaviour = Behaviour { push: share("100%"), ..json_rpc_server() };
    let mut server = oracle(Speech::WebSocketText, behaviour, 0);
    let played = talk(Speech::WebSocketText, conversation).messages(20).against(&mut server);
    assert_eq!(played.outcome.measured, Counts { sent: 20, ok: 20, ..Counts::default() });
    let [(ErrorClass::Unexpected, 20, example)] = played.errors()[..] else {
        panic!("{:?}", played.errors())
    };
    assert!(example.starts_with(r#"no rule matches it: "{"#), "{example}");
    assert!(example.contains("news"), "{example}");
}

#[test]
fn heartbeats_go_out_on_time_and_are_no_messages() {
    let mut conversation = json_rpc();
    conversation.beat =
        Some(Beat { every: Every::Time(ms(100)), send: Template(vec![text(r#"{"beat":1}"#)]) });
    let play = talk(Speech::WebSocketText, conversation).connections(4).rate("10/s");
    let with =
        play.duration(ms(5000)).against(&mut oracle(Speech::WebSocketText, json_rpc_server(), 0));
    assert_eq!(with.outcome.measured, Counts { sent: 50, ok: 50, ..Counts::default() });
    let play = talk(Speech::WebSocketText, json_rpc()).connections(4).rate("10/s");
    let without =
        play.duration(ms(5000)).against(&mut oracle(Speech::WebSocketText, json_rpc_server(), 0));
    let bytes = |played: &crate::world::Played| played.total(|interval| interval.bytes_sent);
    let beats = (bytes(&with) - bytes(&without)) / (r#"{"beat":1}"#.len() as u64 + 6);
    // Ten a second on each of four connections, from their opening to their end.
    assert!((200..=208).contains(&beats), "{beats}");
}

/// A play whose messages are made by `conversation`, adapted to `speech`.
pub(crate) fn talk(speech: Speech, conversation: Conversation) -> Play {
    let mut play = Play::new(speech);
    let frame = if speech == Speech::Framed { LENGTH } else { Frame::Message };
    let speaks = if speech == Speech::Framed { Speaks::Tcp } else { Speaks::Ws };
    let conversation = Conversation { speaks, frame, ..conversation };
    if speaks == Speaks::Tcp {
        play.endpoint = "tcp-framed://server.example:9".parse().unwrap();
    }
    hold(play, conversation)
}

/// A play whose messages are made by `conversation`, as it is.
pub(crate) fn hold(mut play: Play, conversation: Conversation) -> Play {
    play.options.conversation = Some(Compiled::new(&conversation).unwrap());
    play.workload.requests = Some(Requests::new(Arc::new(conversation), 7));
    play.workload.content = Content::exactly(&[0; Cue::LEN], false);
    play.workload.expect = Expect::Anything;
    play
}

/// The framing of [`Speech::Framed`].
const LENGTH: Frame = Frame::Length {
    width: spec::conversation::LengthWidth::Four,
    order: spec::conversation::ByteOrder::Big,
    includes_itself: false,
    max: units::Bytes(1 << 20),
};

/// Echoes over JSON-RPC: notifications are pushes, and the server's own requests are answered.
pub(crate) fn json_rpc() -> Conversation {
    let has = |member: &str, id: Option<&str>| Matcher {
        conditions: vec![Condition::Has(member.parse().unwrap())],
        id: id.map(|id| Place::Json(id.parse().unwrap())),
    };
    let method = |name: &str| Matcher {
        conditions: vec![Condition::Equals {
            path: "$.method".parse().unwrap(),
            value: Scalar::Text(name.to_owned()),
        }],
        id: None,
    };
    Conversation {
        name: "json-rpc".to_owned(),
        about: String::new(),
        speaks: Speaks::Ws,
        path: None,
        subprotocols: Vec::new(),
        headers: Vec::new(),
        frame: Frame::Message,
        vars: Vec::new(),
        before: Vec::new(),
        open: Vec::<Step>::new(),
        requests: vec![Request {
            name: "echo".to_owned(),
            weight: 1,
            send: Send::Message(message("echo")),
            reply: Reply::Match(has("$.result", Some("$.id"))),
            refused: Some(has("$.error", Some("$.id"))),
        }],
        pushes: vec![PushRule {
            name: "news".to_owned(),
            when: method("news"),
            sent: Some(Place::Json("$.params.of[0]".parse().unwrap())),
            header: None,
        }],
        answers: vec![AnswerRule {
            name: "ask".to_owned(),
            when: method("ask"),
            take: Vec::new(),
            send: Template(vec![text(r#"{"jsonrpc":"2.0","result":[],"id":0}"#)]),
        }],
        beat: None,
        publishers: None,
        close: None,
    }
}

/// Moves, whose echo is their reply, and words to others, whose echo is a push.
pub(crate) fn in_bytes() -> Conversation {
    let text = r#"
        speaks = "ws"
        [request.move]
        send = { bytes = "11 ${id:u32le} ${client:u16be} ${pad:16}" }
        reply = { "@0:u8" = 0x11, id = "@1:u32le" }
        [request.say]
        send = { bytes = "20 ${now:u64be} ${pad:16}" }
        reply = "none"
        [push.said]
        when = { "@0:u8" = 0x20 }
        sent = "@1:u64be"
    "#;
    Conversation::read("in-bytes", text).unwrap()
}

/// A request of this method that carries the instant at which it was due.
fn message(method: &str) -> Template {
    Template(vec![
        text(r#"{"jsonrpc":"2.0","id":"#),
        Piece::Id,
        text(&format!(r#","method":"{method}","params":["#)),
        Piece::Now,
        text("]}"),
    ])
}

fn text(text: &str) -> Piece {
    Piece::Text(text.to_owned())
}

pub(crate) fn json_rpc_server() -> Behaviour {
    Behaviour { speaks: serve::Speech::JsonRpc, ..Behaviour::default() }
}

fn share(text: &str) -> Share {
    text.parse().unwrap()
}
