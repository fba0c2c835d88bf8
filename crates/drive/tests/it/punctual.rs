//! Timers are late, but messages are not: the worker wakes up early and looks.

use crate::peers::{Noting, Watched};
use crate::world::{Play, Played, Speech, TIME_MAX, World, ms};
use engine::sim::Outcome as Ended;
use units::{Instant, Nanos};

#[test]
fn a_late_timer_makes_no_message_late() {
    let lags = |played: &Played| [0.5, 0.99].map(|q| played.notes.lag.quantile(q).unwrap());
    let sleepy = run("700/s", false);
    let [p50, p99] = lags(&sleepy);
    assert!(p50 >= OVERSHOOT && p99 >= OVERSHOOT, "as late as the timer: {p50} {p99}");
    assert_eq!(sleepy.outcome.looked, Nanos::ZERO);

    let punctual = run("700/s", true);
    punctual.assert_all_ok(1400);
    assert_eq!(lags(&punctual), [Nanos::ZERO; 2]);
    // It is woken at the very instant, unless a reply or the end of an interval woke it shortly before.
    assert!(punctual.outcome.looked < ms(10), "{}", punctual.outcome.looked);
}

#[test]
fn nothing_is_sent_before_it_is_due_though_the_timer_is_not_always_late() {
    for (rate, gap) in [("100/s", 10_000), ("2000/s", 500), ("20k/s", 50)] {
        let mut world = world(rate, true);
        world.client.oversleep(OVERSHOOT);
        let mut server = Noting::default();
        // It learns that sleeps are late; from then on they are not.
        assert_eq!(world.run(&mut server, Instant(1_500_000_000)), Ended::TimeUp);
        world.client.oversleep(Nanos::ZERO);
        assert_eq!(world.run(&mut server, TIME_MAX), Ended::Done);
        let played = world.finish();
        assert_eq!(played.notes.lag.count(), played.outcome.planned);
        let start = server.came[0].0;
        for (index, (came, ..)) in server.came.iter().enumerate().skip(1) {
            let due = Nanos::from_micros(index as u64 * gap);
            // The first one was late, and by that much others seem early.
            assert!(came.since(start) + OVERSHOOT >= due, "{rate}: {index}");
        }
        assert!(played.outcome.looked > Nanos::ZERO, "{rate}");
    }
}

#[test]
fn looking_takes_a_twelfth_of_a_core_at_most() {
    for rate in ["500/s", "2000/s", "20k/s"] {
        let mut world = world(rate, true);
        world.client.oversleep(Nanos::from_micros(300));
        assert_eq!(
            world.run(&mut Watched::new(Speech::Raw), Instant(1_000_000_000)),
            Ended::TimeUp
        );
        world.client.oversleep(Nanos::from_micros(5));
        assert_eq!(world.run(&mut Watched::new(Speech::Raw), TIME_MAX), Ended::Done);
        let played = world.finish();
        let looked = played.outcome.looked;
        assert!(looked <= ms(2000 / 12 + 1), "{rate}: {looked}");
    }
}

/// The time by which sleeps end late.
const OVERSHOOT: Nanos = Nanos::from_micros(50);

/// Two seconds at `rate`, after one second of warm-up.
fn run(rate: &str, looks: bool) -> Played {
    let mut world = world(rate, looks);
    world.client.oversleep(OVERSHOOT);
    assert_eq!(world.run(&mut Watched::new(Speech::Raw), TIME_MAX), Ended::Done);
    world.finish()
}

fn world(rate: &str, looks: bool) -> World {
    let play = Play::new(Speech::Raw).connections(50).rate(rate);
    let mut world = World::new(&play.warm_up(ms(1000)).duration(ms(2000)));
    world.worker = world.worker.that_looks(looks);
    world
}
