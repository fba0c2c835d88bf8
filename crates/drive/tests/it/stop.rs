//! A request to stop, in every phase: it is granted within a tenth of a second, and what was measured is kept.

use crate::peers::{Heard, Once, Scripted, Watched};
use crate::world::{Play, Played, ROUND_TRIP, Speech, TIME_MAX, World, after_delays, ms};
use drive::Phase;
use engine::Node;
use engine::sim::{Outcome as Ended, Party, Sim};
use record::Counts;
use std::sync::Arc;
use units::{Instant, Nanos};

#[test]
fn a_stop_in_the_middle_keeps_the_counts_and_what_is_in_flight() {
    for speech in Speech::ALL {
        let play = Play::new(speech).connections(3).in_flight(2, None).duration(ms(10_000));
        let played = stopped(&play, &mut Watched::new(speech), ms(1234));
        let begin = after_delays(if speech.shakes_hands() { 4 } else { 2 });
        assert_eq!(played.outcome.window, Some((begin, played.ended)));
        let ok = 6 * rounds(begin, played.ended);
        let counts = Counts { sent: ok + 6, ok, ..Counts::default() };
        assert_eq!(played.outcome.measured, counts, "{speech:?}");
        assert_eq!(played.outcome.measured.in_flight(), 6);
        assert_eq!((played.outcome.planned, played.errors()), (ok + 6, vec![]));
    }
}

#[test]
fn a_stop_leaves_the_messages_of_a_number_unsent() {
    let play = Play::new(Speech::Framed).messages(1_000_000);
    let played = stopped(&play, &mut Watched::new(Speech::Framed), ms(5));
    let ok = rounds(after_delays(2), played.ended);
    assert_eq!(played.outcome.planned, 1_000_000);
    assert_eq!(played.outcome.measured, Counts { sent: ok + 1, ok, ..Counts::default() });
}

#[test]
fn a_stop_before_the_measurement_leaves_none() {
    let mut silent = Scripted(|_: &mut Sim, _, _: Heard<'_>| {});
    let play = Play::new(Speech::WebSocket).connections(3);
    let played = stopped(&play, &mut silent, ms(50));
    assert_eq!((played.outcome.window, played.outcome.measured), (None, Counts::default()));
    assert_eq!((played.outcome.planned, played.outcome.connections.started), (10, 3));

    let play = Play::new(Speech::Framed).warm_up(ms(10_000));
    let played = stopped(&play, &mut Watched::new(Speech::Framed), ms(1050));
    assert_eq!((played.outcome.window, played.outcome.measured), (None, Counts::default()));
    let ok = rounds(after_delays(2), played.ended);
    assert_eq!(played.outcome.warm_up, Counts { sent: ok + 1, ok, ..Counts::default() });
}

#[test]
fn a_stop_after_the_measurement_keeps_its_window() {
    // The server is frozen from the 20th ms on; the drain would go on to the 300th.
    let play = Play::new(Speech::Framed).duration(ms(50));
    let mut world = World::new(&play);
    world.server.freeze(Instant(20_500_000), TIME_MAX);
    let played = stopped_in(world, &mut Watched::new(Speech::Framed), ms(60));
    let begin = after_delays(2);
    assert_eq!(played.outcome.window, Some((begin, begin + ms(50))));
    assert_eq!(played.outcome.measured, Counts { sent: 10, ok: 9, ..Counts::default() });
    assert_eq!(played.outcome.measured.in_flight(), 1);
    assert_eq!(played.notes.intervals.last().map(|kept| kept.phase), Some(Phase::Drain));
}

#[test]
fn a_stop_reaches_a_worker_that_waits_for_the_others() {
    // The control counts on a second worker, which never comes.
    let world = World::of_workers(&Play::new(Speech::Framed), 2);
    let played = stopped_in(world, &mut Watched::new(Speech::Framed), ms(350));
    assert_eq!((played.outcome.window, played.outcome.connections.opened), (None, 1));
}

#[test]
fn what_the_drain_does_not_bring_is_in_flight_at_the_end() {
    let mut play = Play::new(Speech::Framed).connections(2).duration(ms(50));
    play.workload.phases.drain = ms(100);
    let mut world = World::new(&play);
    world.server.freeze(Instant(20_500_000), TIME_MAX);
    assert_eq!(world.run(&mut Watched::new(Speech::Framed), TIME_MAX), Ended::Done);
    let played = world.finish();
    assert_eq!(played.outcome.measured, Counts { sent: 20, ok: 18, ..Counts::default() });
    assert_eq!(played.outcome.measured.in_flight(), 2);
    assert_eq!(played.ended, after_delays(2) + ms(150));
}

/// The number of round trips that end between two instants, if the first of them starts at `begin`.
fn rounds(begin: Instant, end: Instant) -> u64 {
    end.since(begin).0 / ROUND_TRIP.0
}

/// Runs `play`, with a request to stop at an instant.
fn stopped(play: &Play, server: &mut dyn Node<Sim>, at: Nanos) -> Played {
    stopped_in(World::new(play), server, at)
}

fn stopped_in(mut world: World, server: &mut dyn Node<Sim>, at: Nanos) -> Played {
    let mut stopping = world.network.engine();
    let control = Arc::clone(&world.control);
    let at = Instant::START + at;
    let mut stopper = Once { at, deed: move || control.stop() };
    let mut parties = [
        Party::awaited(&mut world.client, &mut world.worker),
        Party::background(&mut world.server, server),
        Party::background(&mut stopping, &mut stopper),
    ];
    assert_eq!(world.network.run(&mut parties, TIME_MAX), Ended::Done, "it hangs");
    let played = world.finish();
    assert!(at <= played.ended && played.ended.since(at) <= ms(100), "{:?}", played.ended);
    played
}
