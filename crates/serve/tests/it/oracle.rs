//! An oracle does exactly what its options say, in virtual time.

use crate::asking::{Asking, BEGIN, Counted, Heard, Speech};
use crate::world::{HANDSHAKE, SWITCHED};
use crate::world::{Talking, World, frame, framed, http, ms, raw, raw_messages, websocket};
use engine::sim::{Outcome, Party};
use serve::{Behaviour, EventStream, Faults, MisfitError, Oracle};
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use units::{Bytes, Instant, Nanos, Rate, Share};

#[test]
fn a_fixed_delay_is_exact_and_said_in_band() {
    for speech in Speech::ALL {
        let mut asking = Asking::evenly(speech, 50, ms(1));
        let world = ask(&mut asking, behaviour("fixed:2500us"));
        assert_eq!(asking.kept(), [Nanos::from_micros(2500); 50], "{speech:?}");
        assert_eq!((world.totals().messages, world.totals().connections), (50, 1));
    }
}

#[test]
fn without_a_behaviour_an_oracle_is_an_echo_that_says_so() {
    for speech in Speech::ALL {
        let mut asking = Asking::evenly(speech, 10, ms(1));
        let world = ask(&mut asking, Behaviour::default());
        assert_eq!(asking.kept(), [Nanos::ZERO; 10]);
        assert_eq!(world.totals().faults, Faults::default());
    }
}

#[test]
fn random_delays_have_their_distribution_on_every_transport() {
    for speech in Speech::ALL {
        // Far apart, so that no reply waits for another.
        let mut asking = Asking::evenly(speech, 2000, ms(1000));
        ask(&mut asking, behaviour("exponential:1ms"));
        let mut kept = asking.kept();
        kept.sort_unstable();
        let distance = (0..).zip(&kept).map(|(rank, kept)| {
            let expected = 1.0 - (-kept.as_secs_f64() * 1e3).exp();
            (expected - f64::from(rank) / 2000.0).abs()
        });
        // Kolmogorov and Smirnov: a fair source exceeds 1.95 / sqrt(n) once in a thousand seeds.
        assert!(distance.fold(0.0, f64::max) < 0.0436, "{speech:?}");

        let mut asking = Asking::evenly(speech, 2000, ms(1000));
        ask(&mut asking, behaviour("bimodal:1ms,50ms@10%"));
        let kept = asking.kept();
        let other = kept.iter().filter(|kept| **kept == ms(50)).count();
        assert_eq!(other + kept.iter().filter(|kept| **kept == ms(1)).count(), 2000);
        assert!((160..240).contains(&other), "{other}"); // The standard deviation is 13.
    }
}

#[test]
fn the_seed_determines_what_happens() {
    let kept = |seed| {
        let mut asking = Asking::evenly(Speech::Framed, 100, ms(10));
        ask(&mut asking, Behaviour { seed, ..behaviour("exponential:1ms") });
        asking.kept()
    };
    assert_eq!(kept(3), kept(3));
    assert_ne!(kept(3), kept(4));
}

#[test]
fn replies_of_a_connection_keep_their_order_and_say_how_long_they_waited_for_it() {
    for speech in Speech::ALL {
        let mut asking = Asking::evenly(speech, 500, ms(1));
        ask(&mut asking, behaviour("bimodal:1ms,20ms@5%"));
        let order = asking.connections[0].heard.iter().map(|heard| heard.sequence);
        assert!(order.eq(0..500), "{speech:?}");
        let waited = asking.kept().iter().filter(|kept| (ms(2)..ms(20)).contains(kept)).count();
        assert!(waited > 100, "{waited}");
    }
}

#[test]
fn a_stall_is_that_of_a_stopped_process() {
    for speech in Speech::ALL {
        // One every 10 ms for 1 s; the first is decoded 1 ms after it is sent.
        let mut asking = Asking::evenly(speech, 100, ms(10));
        let stalls = vec!["200ms@300ms".parse().unwrap()];
        let world = ask(&mut asking, Behaviour { stalls, ..behaviour("fixed:15ms") });
        // Ten times a second for 3000 s, and for what happens; it is not woken in vain during the stall.
        assert!(world.serving.steps < 31_000, "{}", world.serving.steps);
        let first_decoded = asking.connections[0].sent[0] + ms(1);
        let (begin, end) = (first_decoded + ms(300), first_decoded + ms(500));
        for (number, heard) in asking.connections[0].heard.iter().enumerate() {
            let arrives = asking.connections[0].sent[number] + ms(1);
            // Requests that arrive in the stall are read at its end; replies that became ready in it leave at its end.
            let decoded = if begin <= arrives && arrives < end { end } else { arrives };
            let ready = decoded + ms(15);
            let leaves = if begin <= ready && ready < end { end } else { ready };
            let expected = (number, leaves + ms(1), leaves.since(decoded));
            assert_eq!((heard.sequence, heard.at, heard.true_delay), expected, "{speech:?}");
        }
        assert_eq!(asking.connections[0].heard.len(), 100);
    }
}

#[test]
fn several_stalls_are_counted_from_the_first_message_of_all() {
    let mut asking = Asking::new(Speech::Framed, (0..4).map(|number| (ms(number * 1000), 0)));
    let stalls = ["500ms@900ms", "2s@1900ms"].map(|stall| stall.parse().unwrap()).to_vec();
    ask(&mut asking, Behaviour { stalls, ..Behaviour::default() });
    let round_trips: Vec<Nanos> = asking.connections[0]
        .heard
        .iter()
        .map(|heard| heard.at.since(asking.connections[0].sent[heard.sequence]))
        .collect();
    assert_eq!(round_trips, [ms(2), ms(402), ms(1902), ms(902)]);
}

#[test]
fn a_cap_lets_reply_k_of_a_busy_period_leave_at_its_turn() {
    for speech in Speech::ALL {
        // Twice what the cap allows for a second, then nothing, then one.
        let burst = (0..3000_u64).map(|number| (Nanos(number * 1_000_000_000 / 3000), 0));
        let count = if speech == Speech::Http { 64 } else { 3000 }; // No more may wait over HTTP.
        let last = (ms(10_000), 0);
        let mut asking = Asking::new(speech, burst.take(count).chain([last]));
        let cap = Some("1500/s".parse().unwrap());
        ask(&mut asking, Behaviour { cap, ..Behaviour::default() });
        let heard = &asking.connections[0].heard;
        let first = heard[0].at;
        let rate: Rate = "1500/s".parse().unwrap();
        for (number, heard) in (0_u64..).zip(&heard[..count]) {
            assert_eq!(heard.at, first + rate.due(number), "{speech:?} {number}");
        }
        assert_eq!(asking.kept().last(), Some(&Nanos::ZERO));
        assert_eq!(heard.len(), count + 1);
    }
}

#[test]
fn a_cap_is_one_for_all_connections() {
    let schedule = (0..1000_usize).map(|number| (Nanos::ZERO, number % 10));
    let mut asking = Asking::new(Speech::Raw, schedule);
    let cap = Some("1000/s".parse().unwrap());
    ask(&mut asking, Behaviour { cap, ..behaviour("fixed:3ms") });
    let heard = asking.connections.iter().flat_map(|connection| &connection.heard);
    let mut at: Vec<Instant> = heard.map(|heard| heard.at).collect();
    at.sort_unstable();
    let expected = (0..1000).map(|number| Instant::START + BEGIN + ms(2 + 3 + number));
    assert!(at.into_iter().eq(expected));
}

#[test]
fn work_keeps_the_server_busy_and_is_part_of_the_true_delay() {
    for speech in Speech::ALL {
        // Each of three that come together waits for the work of those before it.
        let mut asking = Asking::new(speech, [0, 0, 0, 100].map(|at| (ms(at), 0)));
        ask(&mut asking, Behaviour { work: ms(5), ..behaviour("fixed:1ms") });
        assert_eq!(asking.kept(), [ms(6), ms(11), ms(16), ms(6)], "{speech:?}");
    }
}

#[test]
fn faults_are_those_that_the_totals_say() {
    for speech in Speech::ALL {
        // HTTP replies have one order, and none follows a missing one.
        let is_http = speech == Speech::Http;
        let share = |text: &str| text.parse::<Share>().unwrap();
        let some = if is_http { Share::NONE } else { share("5%") };
        let asked = Behaviour {
            drop: some,
            duplicate: some,
            reorder: some,
            corrupt: share("3%"),
            ..behaviour("exponential:300us")
        };
        let schedule = (0..4000_usize).map(|number| (Nanos(number as u64 * 1_000_000), number % 4));
        let mut asking = Asking::new(speech, schedule);
        let world = ask(&mut asking, asked);
        let Counted { answered, lost, duplicated, reordered, corrupted } = asking.counts();
        let totals = world.totals();
        let faults =
            Faults { dropped: lost, duplicated, reordered, corrupted, ..Faults::default() };
        assert_eq!(totals.faults, faults, "{speech:?}");
        assert_eq!((totals.messages, answered + lost), (answered, 4000));
        // About as many as asked for, within five standard deviations.
        assert!((66..174).contains(&corrupted), "{faults:?}");
        if !is_http {
            let of = [lost, duplicated, reordered];
            assert!(of.iter().all(|count| (130..270).contains(count)), "{faults:?}");
        }
    }
}

#[test]
fn after_a_dropped_reply_a_connection_of_http_stays_unanswered() {
    let drop = "10%".parse().unwrap();
    let schedule = (0..400_usize).map(|number| (ms(number as u64), number % 20));
    let mut asking = Asking::new(Speech::Http, schedule);
    let world = ask(&mut asking, Behaviour { drop, ..Behaviour::default() });
    let counted = asking.counts();
    assert_eq!(world.totals().faults.dropped, counted.lost);
    assert_eq!(world.totals().messages, counted.answered);
    let answered: Vec<usize> = asking.connections.iter().map(|asked| asked.heard.len()).collect();
    assert!(answered.iter().any(|count| *count < 20) && answered.iter().any(|count| *count > 3));
    for connection in &asking.connections {
        assert!(connection.heard.iter().map(|heard| heard.sequence).eq(0..connection.heard.len()));
    }
}

#[test]
fn a_reply_that_nothing_overtakes_leaves_after_2_s_and_is_not_counted() {
    let reordered = || Behaviour { reorder: Share::ALL, ..Behaviour::default() };
    let mut asking = Asking::evenly(Speech::Framed, 3, ms(1500));
    let world = ask(&mut asking, reordered());
    // The second overtakes the first; the third waits for one that does not come.
    assert_eq!(sequences(&asking), [1, 0, 2]);
    assert_eq!(asking.kept(), [Nanos::ZERO, ms(1500), ms(2000)]);
    assert_eq!(world.totals().faults, Faults { reordered: 1, ..Faults::default() });

    let mut asking = Asking::evenly(Speech::Framed, 3, ms(1500));
    asking.ends = true;
    ask(&mut asking, reordered());
    assert_eq!(asking.kept(), [Nanos::ZERO, ms(1500), Nanos::ZERO], "nothing can overtake it");
}

#[test]
fn a_client_that_ends_its_side_still_gets_what_it_is_owed() {
    for speech in [Speech::Framed, Speech::Raw, Speech::Http] {
        let mut asking = Asking::evenly(speech, 30, ms(1));
        asking.ends = true;
        ask(&mut asking, behaviour("fixed:100ms"));
        assert_eq!(asking.kept(), [ms(100); 30]);
        let last = asking.connections[0].heard[29].at;
        assert_eq!(asking.connections[0].end, Some((last, Ok(()))), "{speech:?}");
    }
}

#[test]
fn a_connection_is_ended_properly_after_its_replies() {
    for speech in Speech::ALL {
        let close_after = NonZeroU64::new(7);
        let schedule = (0..60_usize).map(|number| (ms(number as u64), number % 3));
        let mut asking = Asking::new(speech, schedule);
        let world = ask(&mut asking, Behaviour { close_after, ..behaviour("fixed:5ms") });
        for connection in &asking.connections {
            assert!(connection.heard.iter().map(|heard| heard.sequence).eq(0..7), "{speech:?}");
            let (at, end) = connection.end.unwrap();
            assert_eq!((at, end), (connection.heard[6].at, Ok(())), "{speech:?}");
            let has_code = matches!(speech, Speech::WebSocket | Speech::WebSocketText);
            assert_eq!(connection.closed, has_code.then_some(1000));
        }
        assert_eq!((world.totals().messages, world.totals().faults.closed), (21, 3));
        assert_eq!(world.totals().broken, 0);
    }
}

#[test]
fn each_reply_leaves_as_much_behind_as_was_asked_for() {
    for speech in Speech::ALL {
        let mut asking = Asking::evenly(speech, 50, ms(1));
        let behaviour = Behaviour { leak: Bytes(1000), ..Behaviour::default() };
        let world = ask(&mut asking, behaviour);
        assert_eq!(world.totals().faults.leaked_bytes, 50_000, "{speech:?}");
    }
}

#[test]
fn what_asks_for_no_true_delay_comes_back_as_it_was() {
    let zeros = [0; 64];
    let short = &zeros[..23]; // One less than header and delay.
    let other = [&[0; 16][..], &[0, 0, 0, 0, 0, 0, 0, 1], &[0; 40]].concat();
    let digits = [&[b'0'; 47][..], "é".as_bytes()].concat();
    for (first, payload) in [(0x82, short), (0x82, &other), (0x81, &digits)] {
        let mut world = World::oracle(websocket(), behaviour("fixed:3ms"));
        let said = frame(first, payload);
        let close = frame(0x88, b"");
        let heard = world.talk(&[HANDSHAKE, &said, &close]).properly_ended();
        let echo = [&[first, u8::try_from(payload.len()).unwrap()], payload].concat();
        assert_eq!(heard, [SWITCHED, &echo, b"\x88\0"].concat());
    }
}

#[test]
fn what_a_protocol_says_of_itself_is_said_at_once() {
    let mut world = World::oracle(websocket(), behaviour("fixed:3s"));
    let lines = [frame(0x82, b"late"), frame(0x89, b"now"), frame(0x88, b"")].concat();
    let heard = world.talk(&[HANDSHAKE, &lines]).properly_ended();
    // Nothing may follow a Close: what was not answered before it stays unanswered.
    assert_eq!(heard, [SWITCHED, b"\x8a\x03now\x88\0"].concat());
    assert_eq!((world.totals().messages, world.totals().broken), (0, 0));
}

#[test]
fn http_ends_after_the_answer_to_the_last_request() {
    let last = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbye";
    let mut world = World::oracle(http(), behaviour("fixed:3s"));
    let heard = world.talk(&[last]).text();
    assert!(
        heard.contains("\r\nConnection: close\r\n") && heard.ends_with("\r\n\r\nbye"),
        "{heard}"
    );
    assert_eq!(world.totals().messages, 1);
}

#[test]
fn a_wish_to_stop_is_granted_in_a_stall_too() {
    let mut world = World::oracle(framed(), {
        Behaviour { stalls: vec!["1h@0s".parse().unwrap()], ..Behaviour::default() }
    });
    let mut client = Talking::new(&[b"\0\0\0\x01a"]);
    assert_eq!(world.run(&mut client, Instant(1_234_000_000)), Outcome::TimeUp);
    assert_eq!(world.totals().messages, 0);
    world.ask_to_stop();
    let mut parties = [Party::awaited(&mut world.server, &mut world.serving)];
    let asked = world.network.now();
    assert_eq!(world.network.run(&mut parties, Instant::NEVER), Outcome::Done);
    assert!(world.network.now().since(asked) <= ms(100));
}

#[test]
fn what_waits_is_bounded_and_the_rest_is_read_later() {
    // 80 messages of a MiB, each kept for a second, are more than is held at a time.
    const LEN: usize = 1 << 20;
    let mut world = World::oracle(raw_messages(LEN), behaviour("fixed:1s"));
    let said = vec![b'x'; 80 * LEN];
    let mut client = Talking::new(&[&said]);
    client.ends = true;
    assert_eq!(world.run(&mut client, Instant(900_000_000)), Outcome::TimeUp);
    let read = world.totals().bytes_received;
    assert!((64..67).contains(&(read >> 20)), "{read}");
    assert!(world.serving.steps < 1000, "{}", world.serving.steps);
    assert_eq!(world.run(&mut client, Instant(9_000_000_000)), Outcome::Done);
    assert_eq!(client.heard.properly_ended().len(), said.len());
}

#[test]
fn what_a_transport_cannot_do_is_refused() {
    let some = Share::per_million(1).unwrap();
    let duplicate = Behaviour { duplicate: some, ..Behaviour::default() };
    let reorder = Behaviour { reorder: some, ..Behaviour::default() };
    let table = [
        (http(), duplicate.clone(), Err(MisfitError::HttpDuplicate)),
        (http(), reorder.clone(), Err(MisfitError::HttpReorder)),
        (raw(), Behaviour::default(), Err(MisfitError::RawLength)),
        (framed(), duplicate, Ok(())),
        (websocket(), reorder, Ok(())),
    ];
    for (speaks, behaviour, expected) in table {
        let oracle = Oracle::new(speaks.stack(None), behaviour, Arc::new(AtomicBool::new(false)));
        assert_eq!(oracle.map(|_| ()), expected);
    }
}

/// Lets the client ask an oracle, and waits until everything is said.
fn ask(asking: &mut Asking, behaviour: Behaviour) -> World {
    let speaks = asking.speech().speaks();
    let mut world = World::oracle(speaks, behaviour);
    assert_eq!(world.run(asking, Instant::START + ms(3_000_000)), Outcome::TimeUp);
    world
}

fn sequences(asking: &Asking) -> Vec<usize> {
    asking.connections[0].heard.iter().map(|Heard { sequence, .. }| *sequence).collect()
}

/// A behaviour with this delay and nothing else.
fn behaviour(delay: &str) -> Behaviour {
    Behaviour { delay: delay.parse().unwrap(), ..Behaviour::default() }
}

#[test]
fn a_stream_of_events_keeps_to_its_instants_and_the_next_begins_at_its_end() {
    let stream = EventStream {
        events: NonZeroU32::new(2).unwrap(),
        first: ms(20),
        gap: ms(5),
        break_after: None,
        retry: None,
    };
    let streaming = |change: Behaviour| Behaviour { stream: Some(stream), ..change };
    let stalls = vec!["10ms@22ms".parse().unwrap()];
    let lines: [&[u8]; 1] = [b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n\
        POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"];
    let mut world = World::oracle(http(), streaming(Behaviour { stalls, ..Behaviour::default() }));
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n\
        Transfer-Encoding: chunked\r\n";
    let event = |number, kept_ms| {
        format!(
            "2c\r\nid: {number}\ndata: {{\"event\":{number},\"kept_ns\":{kept_ms}000000}}\n\n\r\n"
        )
    };
    let end = "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";
    // The stall lasts from 22 ms to 32 ms, and the first stream ends with it.
    let expected = [
        format!("{head}\r\n{}{}{end}", event(0, 20), event(1, 32)),
        format!("{head}Connection: close\r\n\r\n{}{}{end}", event(0, 20), event(1, 25)),
    ];
    let heard = world.talk(&lines).text();
    assert_eq!(heard, expected.concat());
    assert_eq!((world.totals().messages, world.totals().broken), (2, 0));
}

#[test]
fn a_client_of_http_1_0_gets_no_stream() {
    let stream = Some(EventStream {
        events: NonZeroU32::MIN,
        first: ms(1),
        gap: ms(1),
        break_after: None,
        retry: None,
    });
    let mut world = World::oracle(http(), Behaviour { stream, ..Behaviour::default() });
    assert_eq!(world.talk(&[b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"]).text(), "");
    assert_eq!((world.totals().messages, world.totals().broken), (0, 1));
}
