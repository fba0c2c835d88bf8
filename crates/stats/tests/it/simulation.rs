//! Simulated experiments of known truth: the figures of docs/METHOD.md, section 4, on comparing and interleaving.
//!
//! Two systems whose blocks vary by 2.66 % from run to run, as measured on a quiet machine. METHOD has the figures of
//! 3000 trials; here are fewer, so the bounds are wider than its figures. The seed is fixed.

use stats::{Bootstrap, Pair, Sides, mann_whitney, smallest_detectable};
use units::Random;

#[test]
fn pooling_messages_gives_false_alarms() {
    let mut random = Random::new(1);
    let mut alarms = 0;
    for _ in 0..TRIALS {
        // Ten blocks of 200 messages each, pooled: the messages of a block share its luck.
        let side = |random: &mut Random| -> Vec<f64> {
            (0..10)
                .flat_map(|_| {
                    let block = 1.0 + RUN_TO_RUN * normal(random);
                    (0..200).map(|_| block * (1.0 + 0.05 * normal(random))).collect::<Vec<f64>>()
                })
                .collect()
        };
        let (subject, baseline) = (side(&mut random), side(&mut random));
        alarms += u32::from(alarm_by_ranks(&subject, &baseline));
    }
    within(share_of_trials(alarms), 0.70..0.95); // METHOD, section 4: 77 %
}

#[test]
fn comparing_blocks_keeps_what_it_promises() {
    let mut random = Random::new(2);
    let (mut by_ranks, mut by_ratio) = (0, 0);
    for _ in 0..TRIALS {
        let equal = rounds(&mut random, 1.0, |_| 1.0);
        by_ranks += u32::from(alarm_by_ranks_of(&equal));
        by_ratio += u32::from(alarm_by_ratio(&equal));
    }
    within(share_of_trials(by_ranks), 0.01..0.08);
    within(share_of_trials(by_ratio), 0.02..0.10); // METHOD, section 4: 7 %
}

#[test]
fn five_percent_are_found() {
    let mut random = Random::new(3);
    let (mut by_ranks, mut by_ratio) = (0, 0);
    for _ in 0..TRIALS {
        let slower = rounds(&mut random, 1.05, |_| 1.0);
        by_ranks += u32::from(alarm_by_ranks_of(&slower));
        by_ratio += u32::from(alarm_by_ratio(&slower));
    }
    within(share_of_trials(by_ranks), 0.92..1.0); // METHOD, section 4: 96 %
    within(share_of_trials(by_ratio), 0.83..1.0); // medians throw some away
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
        one_after_the_other += u32::from(alarm_by_ranks(&blocks[..BLOCKS], &blocks[BLOCKS..]));
        let (subject, baseline): (Vec<f64>, Vec<f64>) = blocks
            .chunks(2)
            .map(
                |round| {
                    if random.below(2) == 0 { (round[0], round[1]) } else { (round[1], round[0]) }
                },
            )
            .unzip();
        interleaved += u32::from(alarm_by_ranks(&subject, &baseline));
    }
    within(share_of_trials(one_after_the_other), 0.45..0.68); // METHOD, section 4: 54 %
    within(share_of_trials(interleaved), 0.0..0.04); // METHOD, section 4: 0.6 %
}

#[test]
fn what_a_round_shares_cancels_in_a_paired_ratio() {
    // Half of the rounds run in the placement of cores that is a third slower; both sides of a round alike.
    let mut random = Random::new(5);
    let (mut paired, mut unpaired) = (0.0, 0.0);
    for _ in 0..20 {
        let rounds =
            rounds(&mut random, 1.05, |random| if random.below(2) == 0 { 1.0 } else { 0.73 });
        let ratio = Bootstrap { resamples: 300, seed: 7 }.ratio(&rounds).unwrap();
        paired += ratio.high - ratio.low;
        let (subject, baseline) = sides(&rounds);
        let sides = Sides { subject: &subject, baseline: &baseline };
        let ratio = Bootstrap { resamples: 300, seed: 7 }.ratio_unpaired(sides).unwrap();
        unpaired += ratio.high - ratio.low;
    }
    assert!(paired < unpaired / 2.0, "paired {paired}, unpaired {unpaired}");
}

#[test]
fn the_smallest_detectable_difference_is_found_four_times_of_five() {
    // What a long A/A comparison says, tried out at ten blocks.
    let mut random = Random::new(6);
    let long: Vec<Pair> = (0..100).flat_map(|_| rounds(&mut random, 1.0, |_| 1.0)).collect();
    let ten_blocks = smallest_detectable(&long).unwrap() * 10.0; // its error shrinks with the root of 100
    within(ten_blocks, 0.038..0.046);
    let found = (0..TRIALS)
        .filter(|_| alarm_by_ratio(&rounds(&mut random, 1.0 + ten_blocks, |_| 1.0)))
        .count();
    within(share_of_trials(u32::try_from(found).unwrap()), 0.70..0.92);
}

/// Ten rounds of two systems; what `shared` draws multiplies both blocks of a round.
fn rounds(random: &mut Random, subject: f64, shared: impl Fn(&mut Random) -> f64) -> Vec<Pair> {
    (0..BLOCKS)
        .map(|_| {
            let shared = shared(random);
            let mut block = |mean: f64| mean * shared * (1.0 + RUN_TO_RUN * normal(random));
            Pair { subject: block(subject), baseline: block(1.0) }
        })
        .collect()
}

fn sides(rounds: &[Pair]) -> (Vec<f64>, Vec<f64>) {
    rounds.iter().map(|round| (round.subject, round.baseline)).unzip()
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

fn alarm_by_ratio(rounds: &[Pair]) -> bool {
    Bootstrap { resamples: 500, seed: 7 }.ratio(rounds).expect("ten rounds are enough").differs()
}

fn alarm_by_ranks_of(rounds: &[Pair]) -> bool {
    let (subject, baseline) = sides(rounds);
    alarm_by_ranks(&subject, &baseline)
}

fn alarm_by_ranks(subject: &[f64], baseline: &[f64]) -> bool {
    mann_whitney(Sides { subject, baseline }).expect("no side is empty").p_value < 0.05
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
const TRIALS: u32 = 300;
