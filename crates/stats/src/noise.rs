//! Measurements of a known truth on disturbed machines: the noise bench.
//!
//! A simulated machine produces blocks of messages, in rounds, of a baseline and of a subject whose messages take and
//! cost a given multiple of that. [`trials`] measures again and again and counts how often an interval misses the
//! truth, how often it claims a difference, and how wide it is, for the method that wirebench uses and for the one that
//! it used before. `cargo xtask bench noise` prints the results, docs/noise.md has the table, and the tests check its
//! bounds.
//!
//! The **truth** is the ratio in an endless run: the same statistic of [`ROUNDS_OF_TRUTH`] rounds of each side on a
//! machine that is disturbed at the same instants.
//!
//! The disturbances are synthetic, modelled on what busy machines did to blocks of 420 ms: the times of a block's
//! messages vary by 2.66 % from block to block on a quiet machine (measured), its CPU time by a third of that; bursts
//! of neighbours take up to 90 % of a block and slow it down by 1.3 to 6 times; stops take 5 to 200 ms. Loops are
//! closed: a slower block has fewer messages. Only stops affect the times as in an open loop, where every message that
//! is due meanwhile waits; they reduce the throughput by their own length.
//!
//! Left out: sockets, and what a real machine does.

mod medians;

use crate::sample::float;
use crate::stall::nanos;
use crate::{Histogram, Part, Pooled, median};
use medians::Pair;
use units::{Nanos, Random};

/// A disturbance of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// None.
    Quiet,
    /// This many other programs, each of which computes in bursts.
    Neighbours(u8),
    /// A program that keeps the memory busy in half of the blocks, which slows down computing.
    Memory,
    /// A program that sends over loopback, which delays some messages.
    Traffic,
    /// A stop of the server or the generator for 5 to 200 ms in a fifth of the blocks.
    Stops,
    /// A drift of 1 % from block to block.
    Drift,
    /// Two placements of the processes on cores, one of which is a third slower; they change in 3 blocks of 10.
    Placements,
    /// Two placements, drawn for each round, and in 3 of 10 rounds again for its second block. A third of the draws
    /// give the one that slows messages by 1.9 or 1.6: the subject's by less than the baseline's if they are not alike.
    Rounds {
        /// True if it slows both sides alike, by the first of these factors.
        are_alike: bool,
    },
    /// One block in ten fails: nobody answers.
    Failures,
    /// In half of the blocks 1 to 3 % of the messages take 3.5 times as long, a time that never occurs otherwise.
    Lumps,
}

impl Disturbance {
    /// All disturbances that are tried, each with its name.
    pub const ALL: [(&str, Self); 13] = [
        ("quiet", Self::Quiet),
        ("1 neighbour", Self::Neighbours(1)),
        ("2 neighbours", Self::Neighbours(2)),
        ("4 neighbours", Self::Neighbours(4)),
        ("busy memory", Self::Memory),
        ("other traffic", Self::Traffic),
        ("stops of 5 to 200 ms", Self::Stops),
        ("drift of 1 % a block", Self::Drift),
        ("two placements", Self::Placements),
        ("placements by rounds", Self::Rounds { are_alike: true }),
        ("the same, unlike", Self::Rounds { are_alike: false }),
        ("1 block of 10 fails", Self::Failures),
        ("lumps of times", Self::Lumps),
    ];
}

/// A number of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Messages per second.
    Rate,
    /// The median time of a message.
    P50,
    /// The time within which 99 % of them stay.
    P99,
    /// CPU time per message.
    Cpu,
}

impl Figure {
    /// All of them, each with its name.
    pub const ALL: [(&str, Self); 4] =
        [("messages/s", Self::Rate), ("p50", Self::P50), ("p99", Self::P99), ("CPU", Self::Cpu)];
}

/// A method of computing a ratio with its interval from blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The ratio of two pooled numbers, leaving out one round at a time ([`Pooled`]): the method that wirebench uses.
    Pooled,
    /// The ratio of the medians of blocks, by drawing rounds, without failed blocks: the method that it used before.
    Medians,
}

/// The measurements that are tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The disturbance of the machine.
    pub disturbance: Disturbance,
    /// The factor by which the subject's messages take longer and cost more than the baseline's.
    pub slower: f64,
    /// The number of rounds of each measurement.
    pub rounds: usize,
}

/// The outcome of many measurements, for one figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// The number of measurements.
    pub trials: usize,
    /// The number of measurements without an interval: no answer.
    pub refused: usize,
    /// The number of measurements whose interval excludes the truth.
    pub missed: usize,
    /// The number of measurements whose interval excludes 1: a difference is claimed.
    pub claimed: usize,
    /// The number of these that claim it in the wrong direction.
    pub wrong_side: usize,
    /// Half of each interval's width, as a share of the ratio.
    half_widths: Vec<f64>,
    /// The most by which one round moved each ratio, as a share of it.
    moved_most: Vec<f64>,
}

impl Tally {
    /// `count` as a share of the measurements.
    pub fn share(&self, count: usize) -> f64 {
        float(count) / float(self.trials)
    }

    /// The median half-width of the intervals; `None` if there are none.
    pub fn half_width(&self) -> Option<f64> {
        median(&self.half_widths).ok()
    }

    /// The median of the most by which one round moved the ratio; infinite if there is no ratio without that round.
    pub fn moved_most(&self) -> f64 {
        let finite = self.moved_most.iter().map(|moved| moved.min(f64::MAX));
        let moved = median(&finite.collect::<Vec<f64>>()).unwrap_or(f64::NAN);
        if moved < f64::MAX { moved } else { f64::INFINITY }
    }

    fn count(&mut self, truth: f64, found: &Found) {
        self.trials += 1;
        self.moved_most.extend(found.moved_most);
        let Some((low, high)) = found.interval else {
            self.refused += 1;
            return;
        };
        self.missed += usize::from(low > truth || high < truth);
        self.claimed += usize::from(low > 1.0 || high < 1.0);
        self.wrong_side += usize::from((low > 1.0 && truth < 1.0) || (high < 1.0 && truth > 1.0));
        self.half_widths.push((high / low).sqrt() - 1.0);
    }
}

/// Measures `cell` `trials` times, each time with other random numbers, and tallies each of [`Figure::ALL`] as each
/// method finds it.
pub fn trials<const N: usize>(
    cell: Cell,
    methods: [Method; N],
    trials: usize,
    seed: u64,
) -> [[Tally; Figure::ALL.len()]; N] {
    let shape = shape();
    let truths = {
        let without_end = without_end(cell, &shape);
        methods.map(|method| method.values(&without_end))
    };
    let mut seeds = Random::new(seed);
    let mut tallies: [[Tally; Figure::ALL.len()]; N] =
        std::array::from_fn(|_| std::array::from_fn(|_| Tally::default()));
    for _ in 0..trials {
        let rounds = measurement(cell, &shape, seeds.next_u64());
        for ((method, truth), tallies) in methods.into_iter().zip(truths).zip(&mut tallies) {
            for ((found, truth), tally) in method.of(&rounds).iter().zip(truth).zip(tallies) {
                tally.count(truth, found);
            }
        }
    }
    tallies
}

/// The rounds of a run that stands for an endless one.
fn without_end(cell: Cell, shape: &[f64]) -> Vec<[Block; 2]> {
    // The same instants of the same machine: the only difference between the two is what makes the subject slower.
    let side = |side: Side| {
        let mut machine = Machine::new(cell.disturbance, shape, 1);
        (0..ROUNDS_OF_TRUTH).map(|_| machine.block(side)).collect::<Vec<Block>>()
    };
    let (subject, baseline) = (side(Side::Subject(cell.slower)), side(Side::Baseline));
    subject.into_iter().zip(baseline).map(|(subject, baseline)| [subject, baseline]).collect()
}

/// The rounds of one measurement, each with the subject's block and the baseline's, which ran in random order.
fn measurement(cell: Cell, shape: &[f64], seed: u64) -> Vec<[Block; 2]> {
    let mut machine = Machine::new(cell.disturbance, shape, seed);
    let mut order = Random::new(!seed);
    let subject = Side::Subject(cell.slower);
    let round = |_| {
        if order.below(2) == 0 {
            let subject = machine.block(subject);
            [subject, machine.block(Side::Baseline)]
        } else {
            let baseline = machine.block(Side::Baseline);
            [machine.block(subject), baseline]
        }
    };
    (0..cell.rounds).map(round).collect()
}

/// A ratio that a method found.
struct Found {
    interval: Option<(f64, f64)>,
    /// The most by which one round moved the ratio, as a share of it; for pooled numbers only.
    moved_most: Option<f64>,
}

impl Method {
    fn of(self, rounds: &[[Block; 2]]) -> [Found; Figure::ALL.len()] {
        match self {
            Self::Pooled => pooled(rounds).map(|ratio| Found {
                interval: ratio.as_ref().and_then(Pooled::interval),
                moved_most: ratio.as_ref().map(Pooled::moved_most),
            }),
            Self::Medians => Figure::ALL.map(|(_, figure)| {
                let interval = medians::interval(&pairs(rounds, figure), DRAWS, 7);
                Found { interval, moved_most: None }
            }),
        }
    }

    fn values(self, rounds: &[[Block; 2]]) -> [f64; Figure::ALL.len()] {
        match self {
            Self::Pooled => pooled(rounds).map(|it| it.map_or(f64::NAN, |it| it.value())),
            Self::Medians => Figure::ALL.map(|(_, figure)| {
                let pairs = pairs(rounds, figure);
                let side = |of: fn(&Pair) -> f64| median(&pairs.iter().map(of).collect::<Vec<_>>());
                let [subject, baseline] = [side(|pair| pair.subject), side(|pair| pair.baseline)];
                subject.and_then(|one| Ok(one / baseline?)).unwrap_or(f64::NAN)
            }),
        }
    }
}

/// The ratios of pooled numbers, in the order of [`Figure::ALL`].
fn pooled(rounds: &[[Block; 2]]) -> [Option<Pooled>; Figure::ALL.len()] {
    let [subject, baseline] = [0, 1].map(|side| {
        let blocks = || rounds.iter().map(move |round| &round[side]);
        let quotient = |of: fn(&Block) -> Part| {
            Pooled::quotient(&blocks().map(|block| Some(of(block))).collect::<Vec<_>>())
        };
        let times: Vec<_> = blocks().map(|block| Some(&block.times)).collect();
        let [p50, p99] = Pooled::quantiles(&times, [0.5, 0.99]);
        let rate = quotient(|block| Part { of: block.replies, by: BLOCK_SECONDS });
        let cpu = quotient(|block| Part { of: block.cpu_us, by: block.replies });
        [rate, p50, p99, cpu]
    });
    let mut baseline = baseline.into_iter();
    subject.map(|subject| Some(subject?.over(&baseline.next().flatten()?)))
}

/// The figures of blocks, in the rounds in which no block failed.
fn pairs(rounds: &[[Block; 2]], figure: Figure) -> Vec<Pair> {
    let number = |block: &Block| {
        let time = |q| block.times.quantile(q).ok().map(|time| time.as_secs_f64());
        (block.replies > 0.0).then_some(())?;
        match figure {
            Figure::Rate => Some(block.replies / BLOCK_SECONDS),
            Figure::P50 => time(0.5),
            Figure::P99 => time(0.99),
            Figure::Cpu => Some(block.cpu_us / block.replies),
        }
    };
    let pair = |[subject, baseline]: &[Block; 2]| {
        Some(Pair { subject: number(subject)?, baseline: number(baseline)? })
    };
    rounds.iter().filter_map(pair).collect()
}

/// A block of a closed loop.
struct Block {
    times: Histogram,
    replies: f64,
    cpu_us: f64,
}

/// A measured program.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Side {
    Baseline,
    /// Its messages take and cost this many times the baseline's.
    Subject(f64),
}

/// A machine on which one block follows another.
struct Machine<'a> {
    disturbance: Disturbance,
    /// The times of undisturbed messages, each divided by the typical one.
    shape: &'a [f64],
    random: Random,
    /// The level to which it has drifted.
    level: f64,
    is_slow_placement: bool,
    /// The number of blocks so far.
    blocks: usize,
}

impl<'a> Machine<'a> {
    fn new(disturbance: Disturbance, shape: &'a [f64], seed: u64) -> Self {
        Self {
            disturbance,
            shape,
            random: Random::new(seed),
            level: 1.0,
            is_slow_placement: false,
            blocks: 0,
        }
    }

    /// The next block of a side. It draws the same random numbers for either side.
    fn block(&mut self, side: Side) -> Block {
        let slower = if let Side::Subject(slower) = side { slower } else { 1.0 };
        let luck = self.luck() * self.placement(side);
        self.blocks += 1;
        let bursts = self.bursts();
        let disturbance = self.disturbance;
        let is_hit = |share, random: &mut Random| random.unit_f64() < share;
        let is_of = |which| disturbance == which;
        let mut memory = 1.0;
        if is_of(Disturbance::Memory) && is_hit(0.5, &mut self.random) {
            memory += 0.5 * self.random.unit_f64();
        }
        let mut stopped_secs = 0.0;
        if is_of(Disturbance::Stops) && is_hit(0.2, &mut self.random) {
            stopped_secs = 0.005 * 40.0_f64.powf(self.random.unit_f64());
        }
        let mut delayed: f64 = bursts.iter().map(|burst| burst.share * 0.01).sum();
        if is_of(Disturbance::Traffic) {
            delayed = 0.3 * self.random.unit_f64();
        }
        let mut lump = 0.0;
        if is_of(Disturbance::Lumps) && is_hit(0.5, &mut self.random) {
            lump = 0.01 + 0.02 * self.random.unit_f64();
        }
        let cpu_luck = (0.01 * normal(&mut self.random)).exp();
        if is_of(Disturbance::Failures) && is_hit(0.1, &mut self.random) {
            let mut times = Histogram::new();
            (0..IN_FLIGHT).for_each(|_| times.record(TIME_OUT));
            return Block { times, replies: 0.0, cpu_us: 0.0 };
        }
        let typical_secs = TYPICAL_SECS * slower * luck * memory;
        let (mut all, mut sum) = (Vec::with_capacity(MESSAGES), 0.0);
        for _ in 0..MESSAGES {
            let mut secs = typical_secs * self.shape[self.random.below(self.shape.len())];
            for burst in &bursts {
                secs *= if is_hit(burst.share, &mut self.random) { burst.slower } else { 1.0 };
            }
            if delayed > 0.0 && is_hit(delayed, &mut self.random) {
                let longest = if is_of(Disturbance::Traffic) { 200e-6 } else { 4e-3 };
                secs += longest * self.random.unit_f64();
            }
            if lump > 0.0 && is_hit(lump, &mut self.random) {
                secs = typical_secs * 3.5 * (0.02 * normal(&mut self.random)).exp();
            }
            sum += secs;
            if stopped_secs > 0.0 && is_hit(stopped_secs / BLOCK_SECONDS, &mut self.random) {
                secs += stopped_secs * self.random.unit_f64();
            }
            all.push(nanos(secs));
        }
        let mean_secs = sum / float(MESSAGES);
        let replies = (BLOCK_SECONDS - stopped_secs) * float(IN_FLIGHT) / mean_secs;
        let mut times = Histogram::new();
        let each = each(mean_secs);
        all.iter().for_each(|time| times.record_all(*time, each));
        let contention: f64 =
            bursts.iter().map(|burst| 0.05 * burst.share * (burst.slower - 1.0)).sum();
        let cpu_each = 8.0 * slower * luck.powf(0.7) * memory * (1.0 + contention) * cpu_luck;
        Block { times, replies, cpu_us: cpu_each * replies }
    }

    /// The factor that all messages of a block share.
    fn luck(&mut self) -> f64 {
        if self.disturbance == Disturbance::Drift {
            self.level *= 1.0 + 0.01 * normal(&mut self.random);
        }
        self.level * (BLOCK_TO_BLOCK * normal(&mut self.random)).exp()
    }

    /// The factor of the placement of a block's processes on cores.
    fn placement(&mut self, side: Side) -> f64 {
        match self.disturbance {
            Disturbance::Placements => {
                if self.random.unit_f64() < 0.3 {
                    self.is_slow_placement = !self.is_slow_placement;
                }
                if self.is_slow_placement { 1.35 } else { 1.0 }
            }
            Disturbance::Rounds { are_alike } => {
                let is_first = self.blocks.is_multiple_of(2);
                if is_first || self.random.unit_f64() < 0.3 {
                    self.is_slow_placement = self.random.unit_f64() < 1.0 / 3.0;
                }
                match side {
                    _ if !self.is_slow_placement => 1.0,
                    Side::Subject(_) if !are_alike => UNLIKE[1],
                    Side::Baseline | Side::Subject(_) => UNLIKE[0],
                }
            }
            Disturbance::Quiet
            | Disturbance::Neighbours(_)
            | Disturbance::Memory
            | Disturbance::Traffic
            | Disturbance::Stops
            | Disturbance::Drift
            | Disturbance::Failures
            | Disturbance::Lumps => 1.0,
        }
    }

    /// The bursts of neighbours in a block: few are long, and few are heavy.
    fn bursts(&mut self) -> Vec<Burst> {
        let Disturbance::Neighbours(count) = self.disturbance else { return Vec::new() };
        let random = &mut self.random;
        let burst = |_| {
            let share = 0.9 * random.unit_f64() * random.unit_f64();
            let slower = 1.0 + 0.3 / (1.0 - 0.98 * random.unit_f64()).powf(0.7);
            (random.unit_f64() < 0.6).then_some(Burst { share, slower })
        };
        (0..count).filter_map(burst).collect()
    }
}

/// A part of a block in which a neighbour computes.
struct Burst {
    share: f64,
    /// The factor by which messages take longer meanwhile.
    slower: f64,
}

/// The number of messages that each drawn time stands for, in a block with this mean time: the longer messages take,
/// the fewer a closed loop sends.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 1 to a few hundred"
)]
fn each(mean_secs: f64) -> u64 {
    (EACH * TYPICAL_SECS / mean_secs).round().max(1.0) as u64
}

/// The times of undisturbed messages, each divided by the typical one: a log-normal distribution, in which one in fifty
/// takes twice as long.
fn shape() -> Vec<f64> {
    let mut random = Random::new(99);
    let longer = |index: usize| if index.is_multiple_of(50) { 2.0 } else { 1.0 };
    (0..4096).map(|index| longer(index) * (0.15 * normal(&mut random)).exp()).collect()
}

/// A normal number (Box and Muller).
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit_f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit_f64()).cos()
}

/// The standard deviation of a block from block to block on a quiet machine, as measured.
const BLOCK_TO_BLOCK: f64 = 0.0266;
/// The factors by which messages take longer in the slow one of two placements drawn for each round: the baseline's,
/// and the subject's if they are not alike.
const UNLIKE: [f64; 2] = [1.9, 1.6];
/// The typical time of the baseline's messages.
const TYPICAL_SECS: f64 = 50e-6;
/// The length of a block: that of the ladder.
const BLOCK_SECONDS: f64 = 0.42;
/// The number of messages that a drawn time stands for in a block with the typical mean time.
const EACH: f64 = 100.0;
/// The number of messages of a block whose times are drawn. Each is recorded [`EACH`] times, or fewer in a block whose
/// messages took longer, and which therefore has fewer of them.
const MESSAGES: usize = 1500;
/// Messages in flight.
const IN_FLIGHT: usize = 50;
/// The time that counts for an unanswered message.
const TIME_OUT: Nanos = Nanos::from_secs(10);
/// The number of draws of [`Method::Medians`]: fewer than in a report, which changes the interval's ends by a few
/// percent.
const DRAWS: usize = 500;
/// The number of rounds of a run that stands for an endless one.
pub const ROUNDS_OF_TRUTH: usize = 600;
