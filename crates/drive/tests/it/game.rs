//! Bots that play the load-test game against the embedded game server.

use crate::peers::Census;
use crate::world::{DELAY, Play, Played, ROUND_TRIP, Speech, TIME_MAX, World, always, ms, worker};
use drive::Phase;
use engine::sim::{Conditions, Outcome as Ended, Party, Sim};
use engine::{Engine, Node, Step};
use load::{Arrival, Content, Expect};
use record::LastMean;
use serve::game::{Door, GameServer, Options, Packing, Totals, world};
use spec::Endpoint;
use std::num::NonZeroU32;
use std::sync::Arc;
use units::{Instant, Nanos, Share};
use wire::styx::load_test::LoadRequest;

#[test]
fn every_event_reaches_every_player_at_its_table() {
    for way in Way::ALL {
        for arrival in ["open", "closed"] {
            // Four tables of five.
            let play = game(way).connections(20).duration(ms(10_000)).warm_up(ms(1000));
            let play = if arrival == "open" { bots(play, 1000) } else { thinking(play, 1000) };
            let mut server = Table::new(way, 5);
            let played = play.against(&mut server);
            assert_eq!(played.errors(), [], "{way:?} {arrival}");
            let (outcome, totals) = (&played.outcome, server.totals());
            let events = outcome.warm_up.sent + outcome.measured.sent;
            let replies = outcome.warm_up.ok + outcome.measured.ok;
            assert_eq!((replies, outcome.measured.in_flight()), (events, 0), "{way:?} {arrival}");
            assert_eq!(replies + outcome.pushed.whole.deliveries, events * 5, "{way:?} {arrival}");
            assert_eq!((totals.events, totals.deliveries), (events, events * 5));
            assert_eq!((totals.sequence_errors, totals.bad_packets, totals.logins), (0, 0, 20));
            assert_eq!(totals.logged_in_remotely, 0, "no two players are the same");
        }
    }
}

#[test]
fn events_of_bots_are_measured_like_any_message() {
    for way in Way::ALL {
        let play = bots(game(way).connections(10), 1000).warm_up(ms(1000)).duration(ms(5000));
        let unasked = play.clone().against(&mut Table::new(way, 5));
        assert_eq!(unasked.outcome.last_replies.mean(), None, "nobody asked for them");
        let mut play = play;
        play.workload.last_replies = true;
        let played = play.against(&mut Table::new(way, 5));
        played.assert_all_ok(50);
        assert_eq!(played.notes.response, always(ROUND_TRIP, 50), "{way:?}");
        assert_eq!(played.notes.round_trips, always(ROUND_TRIP, 50), "{way:?}");
        let mean = played.outcome.last_replies.mean();
        assert_eq!(mean, Some(LastMean { whole_ms: 2, ns: ROUND_TRIP.0 }), "{way:?}");
        let pushed = played.outcome.pushed;
        assert_eq!((pushed.deliveries, pushed.notices), (200, 0), "nobody comes or goes");
        assert_eq!(pushed.payload_bytes, 200 * 18, "{way:?}");
        let layers = played.outcome.layers;
        assert_eq!(layers.sent.payload_bytes, 50 * 22, "{way:?}");
        assert_eq!(layers.received.payload_bytes, (50 + 200) * 18, "{way:?}");
        assert!(layers.sent.encoding_bytes > 0 && layers.received.encoding_bytes > 0, "{layers:?}");
    }
}

/// The published figures fall as the response time grows, by construction: a share RTT / (think time + RTT) of the
/// events is never sent.
#[test]
fn a_closed_loop_leaves_out_what_an_open_one_sends() {
    for way in [Way::Binary, Way::WebSocket] {
        // The server takes 60 ms and nothing else takes time: in 106 s there are 100 periods of 1060 ms.
        let play = game(way).connections(10).duration(ms(106_000));
        let play = Play { conditions: Conditions::default(), ..play };
        let [open, closed] = [bots(play.clone(), 1000), thinking(play, 1000)].map(|mut play| {
            play.workload.content = event(60);
            play.against(&mut Table::new(way, 5))
        });
        open.assert_all_ok(10 * 106);
        closed.assert_all_ok(10 * 100);
        assert_eq!(open.notes.response, always(ms(60), 1060), "{way:?}");
        assert_eq!(closed.notes.round_trips, always(ms(60), 1000), "{way:?}");
        assert_eq!(closed.notes.response.count(), 0, "there is no schedule");
        assert_eq!(closed.outcome.planned, closed.outcome.measured.sent);
    }
}

#[test]
fn bots_that_think_begin_at_phases_that_the_seed_decides() {
    let begin = |seed: u64| {
        let mut play = thinking(game(Way::Binary).connections(100), 1000).duration(ms(2000));
        play.workload.seed = seed;
        let played = play.against(&mut Table::new(Way::Binary, 5));
        played.assert_all_ok(200);
        let sent = |interval: &crate::world::Kept| (interval.start, interval.counts.sent);
        let all = played.notes.intervals.iter().filter(|it| it.phase == Phase::Measure).map(sent);
        all.collect::<Vec<_>>()
    };
    let sent = begin(7);
    assert_eq!(sent, begin(7));
    assert_ne!(sent, begin(8));
    // 100 in the first second, in ten parts of it.
    let firsts: Vec<u64> = sent.iter().take(10).map(|(_, sent)| *sent).collect();
    assert!(firsts.iter().all(|sent| (2..=22).contains(sent)), "{firsts:?}");
}

#[test]
fn bots_come_at_the_rate_of_connects() {
    let mut play = bots(game(Way::Binary).connections(20), 1000).duration(ms(1000));
    play.workload.connect_rate = Some("10/s".parse().unwrap());
    let mut server = Table::new(Way::Binary, 5);
    let played = play.against(&mut server);
    played.assert_all_ok(20);
    let (begin, _) = played.outcome.window.unwrap();
    // The last connect, and what it takes to log in, to find a seat and to sit down.
    let log_in = ROUND_TRIP + ROUND_TRIP + ROUND_TRIP + ROUND_TRIP;
    assert!(begin >= Instant(1_900_000_000) + log_in, "{begin:?}");
    assert!(begin < Instant(2_000_000_000), "{begin:?}");
}

#[test]
fn as_many_bots_hear_of_the_lobby_as_asked_for() {
    for way in Way::ALL {
        let snapshots = |millionths: u32| {
            let mut play = bots(game(way).connections(20), 1000).duration(ms(2000));
            play.options.bots.lobby = Share::per_million(millionths).unwrap();
            let mut server = Table::new(way, 5);
            let played = play.against(&mut server);
            played.assert_all_ok(40);
            (server.totals().lobby_snapshots, played.outcome.pushed.deliveries)
        };
        assert_eq!(snapshots(0), (0, 160), "{way:?}");
        // Two of twenty, each of which hears of all tables.
        assert_eq!(snapshots(100_000), (2 * u64::from(TABLES), 160), "{way:?}");
    }
}

#[test]
fn players_of_all_workers_are_different_ones() {
    let play = bots(game(Way::Binary).connections(15), 1000).duration(ms(3000));
    let parts = play.workload.split(NonZeroU32::new(2).unwrap());
    let part = |index: usize| Play { workload: parts[index].clone(), ..play.clone() };
    let mut world = World::of_workers(&part(0), 2);
    let mut other = worker(&part(1), &world.control).with_connection_numbers(1, 2);
    world.worker = std::mem::replace(&mut world.worker, worker(&part(0), &world.control))
        .with_connection_numbers(0, 2);
    let mut engine = world.network.engine();
    let mut server = Table::new(Way::Binary, 5);
    let mut parties = [
        Party::awaited(&mut world.client, &mut world.worker),
        Party::awaited(&mut engine, &mut other),
        Party::background(&mut world.server, &mut server),
    ];
    assert_eq!(world.network.run(&mut parties, TIME_MAX), Ended::Done);
    let (outcome, notes) = other.finish();
    let played = [world.finish(), Played::new(outcome, notes, true)];
    let sum = |of: fn(&Played) -> u64| played.iter().map(of).sum::<u64>();
    assert_eq!(sum(|one| one.outcome.measured.ok), 45);
    let deliveries = sum(|one| one.outcome.pushed.whole.deliveries);
    assert_eq!(deliveries, 45 * 4, "whichever worker has the others at the table");
    assert_eq!((server.totals().logins, server.totals().logged_in_remotely), (15, 0));
}

#[test]
fn when_one_connection_of_a_bot_ends_so_does_the_bot_and_another_takes_its_place() {
    // The first five of the ten connections of five bots over Comet are those on which they wait for news.
    let table = [
        (Way::Binary, 3, "closed by the server"),
        (Way::WebSocket, 3, "connection ended without a Close frame (RFC 6455 §7.1.5, code 1006)"),
        (Way::Comet, 2, "the connection ended; unanswered requests: 1"),
        (Way::Comet, 7, "the server closed the second of the two connections"),
    ];
    for (way, victim, said) in table {
        let play = bots(game(way).connections(5), 1000).duration(ms(10_000));
        let mut server = Table::new(way, 5);
        server.kills = Some((Instant(4_500_000_000), victim));
        let played = play.against(&mut server);
        let connections = played.outcome.connections;
        assert_eq!((connections.lost, connections.reconnects), (1, 1), "{way:?} {victim}");
        let said_of_all: Vec<&str> = played.errors().iter().map(|(_, _, said)| *said).collect();
        assert_eq!(said_of_all, [said], "{way:?} {victim}");
        assert_eq!((server.totals().logins, server.totals().logged_in_remotely), (6, 0));
        let measured = played.outcome.measured;
        assert_eq!((measured.ok, measured.unsent), (50, 0), "what was due meanwhile is sent late");
    }
}

/// The ways in which packets travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Binary,
    Comet,
    WebSocket,
}

impl Way {
    pub(crate) const ALL: [Self; 3] = [Self::Binary, Self::Comet, Self::WebSocket];

    fn endpoint(self) -> Endpoint {
        let url = match self {
            Self::Binary => "game://server.example",
            Self::Comet => "game-comet://server.example",
            Self::WebSocket => "game-ws://server.example",
        };
        url.parse().unwrap()
    }
}

/// A game server in its process, and the connection that it is made to close.
pub(crate) struct Table {
    server: GameServer,
    /// The instant at which a connection is closed, and its index among those that were accepted.
    kills: Option<(Instant, usize)>,
    census: Census,
}

impl Table {
    pub(crate) fn new(way: Way, seats: u8) -> Self {
        let server = GameServer::new(options(way, seats), Arc::default());
        Self { server, kills: None, census: Census::default() }
    }

    /// The number of events that it has answered, or will.
    pub(crate) fn events(&self) -> u64 {
        self.server.totals().world.events
    }

    fn totals(&self) -> world::Counters {
        let Totals { world, broken, slow, .. } = self.server.totals();
        assert_eq!((broken, slow), (0, 0));
        world
    }
}

impl Node<Sim> for Table {
    fn step(&mut self, engine: &mut Sim) -> Step {
        let mut watching = self.census.watch(engine);
        let step = self.server.step(&mut watching);
        let (Some((at, victim)), Step::Wait(until)) = (self.kills, step) else { return step };
        if engine.now() < at {
            return Step::Wait(until.min(at));
        }
        self.kills = None;
        engine.close(self.census.ids[victim]);
        step
    }
}

/// Binary bots that go on as soon as they hear of their last event, and a server that lets them.
pub(crate) fn at_full_speed() -> (Play, Options) {
    let mut options = options(Way::Binary, 5);
    options.world.flood = None;
    (game(Way::Binary), options)
}

fn options(way: Way, seats: u8) -> Options {
    let speaks = match way {
        Way::Binary => Packing::Binary,
        Way::Comet | Way::WebSocket => Packing::Web,
    };
    Options {
        world: world::Options { tables: TABLES, seats, ..world::Options::default() },
        doors: vec![Door { speaks, tls: None }],
        ..Options::default()
    }
}

/// Bots whose events take nothing but the way to the server and back.
pub(crate) fn game(way: Way) -> Play {
    let mut play = Play::new(Speech::Framed);
    play.endpoint = way.endpoint();
    play.workload.content = event(0);
    play.workload.expect = Expect::InSequence;
    assert_eq!(play.conditions.delay, DELAY);
    play
}

/// An event that the game keeps for `delay` milliseconds.
fn event(delay: i32) -> Content {
    let event = LoadRequest { pid: 0, tableid: 0, seq: 0, delay, resend: false };
    Content::exactly(&event.pack(), false)
}

/// Makes each bot send once every `every_ms` milliseconds.
pub(crate) fn bots(play: Play, every_ms: u32) -> Play {
    let bots = play.workload.connections;
    play.rate(&format!("{bots}/{every_ms}ms")).own()
}

/// Makes each bot send `think_ms` milliseconds after its last reply.
pub(crate) fn thinking(mut play: Play, think_ms: u64) -> Play {
    play.workload.arrival = Arrival::Think { think: Nanos::from_millis(think_ms) };
    play
}

const TABLES: u32 = 20;
