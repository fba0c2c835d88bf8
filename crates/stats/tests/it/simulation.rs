//! Simulated experiments of known truth: the figures of docs/METHOD.md, section 4, on comparing and interleaving.
//!
//! Two systems whose blocks vary by 2.66 % from run to run, as measured on a quiet machine. METHOD has the figures of
//! 3000 trials; these tests run fewer. The seed is fixed.

use stats::{Part, Pooled};
use units::Random;

#[test]
fn messages_in_place_of_blocks_give_false_alarms() {
    let mut random = Random::new(1);
    let mut alarms = 0;
    for _ in 0..TRIALS {
        // Ten blocks of 200 messages each: the messages of a block share its luck.
        let side = |random: &mut Random| -> Vec<f64> {
            (0..BLOCKS)
                .flat_map(|_| {
                    let block = 1.0 + RUN_TO_RUN * normal(random);
                    (0..200).map(|_| block * (1.0 + 0.05 * normal(random))).collect::<Vec<f64>>()
                })
                .collect()
        };
        let (subject, baseline) = (side(&mut random), side(&mut random));
        alarms += u32::from(is_alarm(&subject, &baseline));
    }
    within(share_of_trials(alarms), 0.70..0.95); // METHOD, section 4: 78 %
}

#[test]
fn comparing_blocks_keeps_what_it_promises() {
    let mut random = Random::new(2);
    let alarms = (0..TRIALS).filter(|_| {
        let (subject, baseline) = rounds(&mut random, 1.0, |_| 1.0);
        is_alarm(&subject, &baseline)
    });
    within(share(alarms.count()), 0.02..0.08); // METHOD, section 4: 5 %
}

#[test]
fn five_percent_are_found() {
    let mut random = Random::new(3);
    let found = (0..TRIALS).filter(|_| {
        let (subject, baseline) = rounds(&mut random, 1.05, |_| 1.0);
        is_alarm(&subject, &baseline)
    });
    within(share(found.count()), 0.90..1.0);
}

#[test]
fn drift_fools_one_after_the_other_but_not_interleaved() {
    // The machine wanders by 1 % a block, and blocks vary by 1 %.
    let mut random = Random::new(4);
    let (mut one_after_the_other, mut interleaved) = (0, 0);
    for _ in 0..TRIALS {
        let blocks: Vec<f64> = walk(&mut random, 2 * BLOCKS)
            .into_iter()
            .map(|level| level * (1.0 + 0.01 * normal(&mut random)))
            .collect();
        one_after_the_other += u32::from(is_alarm(&blocks[..BLOCKS], &blocks[BLOCKS..]));
        let (subject, baseline): (Vec<f64>, Vec<f64>) = blocks
            .chunks(2)
            .map(
                |round| {
                    if random.below(2) == 0 { (round[0], round[1]) } else { (round[1], round[0]) }
                },
            )
            .unzip();
        interleaved += u32::from(is_alarm(&subject, &baseline));
    }
    within(share_of_trials(one_after_the_other), 0.45..0.65); // METHOD, section 4: 54 %
    within(share_of_trials(interleaved), 0.0..0.08); // METHOD, section 4: 5 %
}

#[test]
fn the_part_that_a_round_shares_cancels_in_a_ratio() {
    // Half of the rounds run on a placement of cores that is a third slower, for both sides of the round.
    let mut random = Random::new(5);
    let (mut paired, mut apart) = (0.0, 0.0);
    for _ in 0..20 {
        let placement = |random: &mut Random| if random.below(2) == 0 { 1.0 } else { 0.73 };
        let (subject, baseline) = rounds(&mut random, 1.05, placement);
        let (_, elsewhere) = rounds(&mut random, 1.05, placement);
        paired += width(&subject, &baseline);
        apart += width(&subject, &elsewhere);
    }
    assert!(paired < apart / 2.0, "paired {paired}, apart {apart}");
}

#[test]
fn the_smallest_detectable_difference_is_found_four_times_of_five() {
    let mut random = Random::new(6);
    let detectable = |random: &mut Random| {
        let (subject, baseline) = rounds(random, 1.0, |_| 1.0);
        ratio(&subject, &baseline).smallest_detectable().unwrap()
    };
    let mean = (0..TRIALS).map(|_| detectable(&mut random)).sum::<f64>() / f64::from(TRIALS);
    within(mean, 0.03..0.05);
    let found = (0..TRIALS).filter(|_| {
        let (subject, baseline) = rounds(&mut random, 1.0 + mean, |_| 1.0);
        is_alarm(&subject, &baseline)
    });
    within(share(found.count()), 0.70..0.92);
}

/// The blocks of ten rounds of two systems; `shared` draws a factor that applies to both blocks of a round.
fn rounds(
    random: &mut Random,
    subject: f64,
    shared: impl Fn(&mut Random) -> f64,
) -> (Vec<f64>, Vec<f64>) {
    (0..BLOCKS)
        .map(|_| {
            let shared = shared(random);
            let mut block = |mean: f64| mean * shared * (1.0 + RUN_TO_RUN * normal(random));
            (block(subject), block(1.0))
        })
        .unzip()
}

/// A machine that wanders by 1 % a block.
fn walk(random: &mut Random, blocks: usize) -> Vec<f64> {
    let mut level = 1.0;
    (0..blocks)
        .map(|_| {
            level *= 1.0 + 0.01 * normal(random);
            level
        })
        .collect()
}

fn ratio(subject: &[f64], baseline: &[f64]) -> Pooled {
    let mean = |values: &[f64]| {
        let parts = values.iter().map(|value| Some(Part { of: *value, by: 1.0 }));
        Pooled::quotient(&parts.collect::<Vec<_>>()).expect("there are blocks")
    };
    mean(subject).over(&mean(baseline))
}

fn width(subject: &[f64], baseline: &[f64]) -> f64 {
    let (low, high) = ratio(subject, baseline).interval().expect("ten rounds are enough");
    high - low
}

fn is_alarm(subject: &[f64], baseline: &[f64]) -> bool {
    let (low, high) = ratio(subject, baseline).interval().expect("ten rounds are enough");
    low > 1.0 || high < 1.0
}

fn share(alarms: usize) -> f64 {
    share_of_trials(u32::try_from(alarms).expect("a few hundred"))
}

fn share_of_trials(alarms: u32) -> f64 {
    f64::from(alarms) / f64::from(TRIALS)
}

fn within(share: f64, bounds: std::ops::Range<f64>) {
    assert!(bounds.contains(&share), "{share} is not within {bounds:?}");
}

/// A normal number (Box and Muller).
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit_f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit_f64()).cos()
}

/// The standard deviation of a block from run to run, as measured.
const RUN_TO_RUN: f64 = 0.0266;
const BLOCKS: usize = 10;
const TRIALS: u32 = 400;
