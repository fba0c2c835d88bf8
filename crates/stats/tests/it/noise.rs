//! The noise bench, short: what docs/noise.md claims of intervals, with fewer measurements than its table.

use stats::noise::{Cell, Disturbance, Figure, Method, Tally, trials};
use std::sync::LazyLock;

#[test]
fn intervals_cover_the_truth_whatever_disturbs_the_machine() {
    for (name, disturbance) in Disturbance::ALL {
        for ((figure, _), tally) in Figure::ALL.iter().zip(found(disturbance, 1.0)) {
            let missed = tally.share(tally.missed);
            // 6 % in 1000 measurements (docs/noise.md), plus a margin because there are fewer here.
            assert!(missed <= 0.085, "{name}: {figure} misses {missed}");
        }
    }
}

#[test]
fn a_slower_subject_is_found_and_never_called_faster() {
    for (disturbance, at_least) in SLOWER {
        let all = found(disturbance, 1.1);
        for ((figure, _), tally) in Figure::ALL.iter().zip(&all) {
            assert!(tally.share(tally.missed) <= 0.085, "{disturbance:?}: {figure} {tally:?}");
            assert!(tally.share(tally.wrong_side) <= 0.02, "{disturbance:?}: {figure} {tally:?}");
        }
        let [_, p50, _, cpu] = all;
        assert!(p50.share(p50.claimed) >= at_least, "{disturbance:?}: {p50:?}");
        assert!(cpu.share(cpu.claimed) >= at_least, "{disturbance:?}: {cpu:?}");
    }
}

#[test]
fn only_the_tail_goes_without_an_answer() {
    for (name, disturbance) in Disturbance::ALL {
        let [rate, p50, _, cpu] = found(disturbance, 1.0);
        for tally in [rate, p50, cpu] {
            assert!(tally.share(tally.refused) <= 0.01, "{name}: {tally:?}");
        }
    }
    let refused = |disturbance| {
        let [.., p99, _] = found(disturbance, 1.0);
        p99.share(p99.refused)
    };
    assert_eq!(refused(Disturbance::Quiet).total_cmp(&0.0), std::cmp::Ordering::Equal);
    let one = refused(Disturbance::Neighbours(1));
    assert!(one <= 0.55, "{one}");
    let stops = refused(Disturbance::Stops);
    assert!(stops > 0.5, "the slowest 1 % are those of two blocks: {stops}");
}

#[test]
fn a_quiet_machine_pays_nothing_and_a_disturbed_one_gains() {
    let width = |disturbance, method| {
        let cell = Cell { disturbance, slower: 1.0, rounds: 10 };
        let [tallies] = trials(cell, [method], TRIALS, 1);
        tallies.map(|tally| tally.half_width().unwrap())
    };
    let [before, after] =
        [Method::Medians, Method::Pooled].map(|method| width(Disturbance::Quiet, method));
    for (before, after) in before.iter().zip(after) {
        // The p99, which may be at the edge of a gap, is 1.12 times as wide.
        assert!(after <= before * 1.15, "{after} instead of {before}");
    }
    let cell = Cell { disturbance: Disturbance::Placements, slower: 1.0, rounds: 10 };
    let [[_, p50, ..]] = trials(cell, [Method::Medians], TRIALS, 1);
    assert!(p50.share(p50.missed) > 0.1, "the earlier method claims too much");
}

/// The measurements that several tests judge, each made once.
fn found(disturbance: Disturbance, slower: f64) -> [Tally; Figure::ALL.len()] {
    let known =
        FOUND.iter().find(|(cell, _)| (cell.disturbance, cell.slower) == (disturbance, slower));
    known.expect("it is one of these").1.clone()
}

static FOUND: LazyLock<Vec<(Cell, [Tally; Figure::ALL.len()])>> = LazyLock::new(|| {
    let cell = |slower, disturbance| Cell { disturbance, slower, rounds: 10 };
    let equal = Disturbance::ALL.into_iter().map(|(_, disturbance)| cell(1.0, disturbance));
    let slower = SLOWER.into_iter().map(|(disturbance, _)| cell(1.1, disturbance));
    let of = |cell| {
        let [tallies] = trials(cell, [Method::Pooled], TRIALS, 1);
        (cell, tallies)
    };
    equal.chain(slower).map(of).collect()
});

/// Disturbances, each with the minimum share of measurements that find a subject that is 10 % slower.
const SLOWER: [(Disturbance, f64); 3] =
    [(Disturbance::Quiet, 0.9), (Disturbance::Neighbours(1), 0.6), (Disturbance::Stops, 0.9)];

const TRIALS: usize = 200;
