//! Every transport, with every way to stop, on networks of every kind: everything is answered and counted exactly.

use crate::peers::Watched;
use crate::world::{DELAY, Play, Speech, always, ms};
use engine::sim::{Conditions, Split};
use load::Content;
use units::{Bytes, Nanos};

#[test]
fn everything_is_answered_and_counted_exactly_on_every_network() {
    for speech in Speech::ALL {
        for (connections, in_flight) in [(1, 1), (1, 4), (7, 1), (7, 4)] {
            for (network, conditions) in networks() {
                for stop in [Until::Duration, Until::Messages, Until::Clients] {
                    let row = format!("{speech:?} {connections} x {in_flight} {network} {stop:?}");
                    println!("{row}"); // Shown with a failure.
                    check(speech, connections, in_flight, &conditions, stop);
                }
            }
        }
    }
}

#[test]
fn messages_larger_than_all_buffers_go_both_ways_at_once() {
    for speech in [Speech::Framed, Speech::Http, Speech::Raw] {
        let mut play = Play::new(speech).connections(2).in_flight(2, None).messages(8);
        play.conditions.buffer_len_max = 64 << 10;
        play.workload.timeouts.reply = Nanos::from_secs(50);
        play.workload.content = Content::binary(Bytes(LARGE as u64), 7);
        if speech == Speech::Raw {
            play.options.reply_len = LARGE;
        }
        let mut server = Watched::new(speech);
        let played = play.against(&mut server);
        played.assert_all_ok(8);
        assert_eq!(played.total(|interval| interval.bytes_sent), server.totals().bytes_received);
        assert_eq!(played.total(|interval| interval.bytes_received), server.totals().bytes_sent);
    }
}

/// More than is kept unsent, or held by the kernels.
const LARGE: usize = 3 << 20;

/// The condition that ends a run.
#[derive(Clone, Copy, Debug)]
enum Until {
    Duration,
    Messages,
    Clients,
}

fn check(speech: Speech, connections: u32, in_flight: u32, conditions: &Conditions, stop: Until) {
    let round_trip = Nanos(conditions.delay.0 * 2);
    let play = Play::new(speech).connections(connections).in_flight(in_flight, None);
    let play = match stop {
        Until::Duration => play.duration(Nanos(round_trip.0 * ROUNDS)),
        Until::Messages => play.messages(101),
        Until::Clients => play.clients(CLIENTS, 5),
    };
    let play = Play { conditions: conditions.clone(), ..play };
    let mut server = Watched::new(speech);
    let played = play.against(&mut server);

    let slots = u64::from(connections * in_flight);
    let (sent, opened) = match stop {
        Until::Duration if conditions.jitter > Nanos::ZERO => {
            (played.outcome.measured.sent, u64::from(connections))
        }
        // The replies of the last instant still belong to the window, and so does what is sent on them.
        Until::Duration => (slots * (ROUNDS + 1), u64::from(connections)),
        Until::Messages => (101, u64::from(connections)),
        Until::Clients => (CLIENTS * 5, CLIENTS),
    };
    assert!(sent >= slots);
    played.assert_all_ok(sent);
    assert_eq!(played.outcome.warm_up.sent, 0);
    let counts = played.outcome.connections;
    assert_eq!((counts.started, counts.opened, counts.reconnects), (opened, opened, 0));
    let served = if matches!(stop, Until::Clients) { CLIENTS } else { 0 };
    assert_eq!(played.outcome.clients_served, served);
    if conditions.jitter == Nanos::ZERO {
        assert_eq!(played.notes.round_trips, always(round_trip, sent), "twice the delay");
    } else {
        assert!(played.notes.round_trips.min().unwrap() >= Nanos(round_trip.0 / 1001 * 1000));
    }

    let totals = server.totals();
    assert_eq!((totals.connections, totals.broken), (opened, 0));
    if speech != Speech::Raw {
        assert_eq!(totals.messages, sent);
    }
    assert_eq!(played.total(|interval| interval.bytes_sent), totals.bytes_received);
    assert_eq!(played.total(|interval| interval.bytes_received), totals.bytes_sent);
    if conditions.jitter == Nanos::ZERO {
        assert!(server.census().open_max <= connections as usize);
    }
}

fn networks() -> [(&'static str, Conditions); 5] {
    let near = Conditions { delay: Nanos::from_micros(50), ..Conditions::default() };
    [
        ("clean", near.clone()),
        ("far", Conditions { delay: DELAY, ..near.clone() }),
        ("byte by byte", Conditions { split: Split::ByteByByte, ..near.clone() }),
        (
            "in random pieces",
            Conditions { split: Split::Random { chunk_len_max: 20 }, ..near.clone() },
        ),
        (
            "in random pieces at random times",
            Conditions { split: Split::Random { chunk_len_max: 20 }, jitter: ms(1), ..near },
        ),
    ]
}

/// The number of round trips in a run for a given time.
const ROUNDS: u64 = 10;

/// The number of short-lived clients in all.
const CLIENTS: u64 = 15;
