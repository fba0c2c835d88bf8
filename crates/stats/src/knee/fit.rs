//! The fit of a knee to all measurements of all loads, with the interval that its uncertainty leaves.
//!
//! Each measurement has a knee of its own: the largest load that would have been kept just then. A measurement bounds
//! its knee: above a load that was kept; below one that was not, and above the part of it that was carried anyway.
//! Nothing else is assumed about a server above its knee: it may carry as much as before, or break down.
//!
//! The knees of measurements vary for two reasons. All of them vary a little to both sides, like any measurement; some
//! vary by more and only downwards, because other programs took what the server needed. So the knee to find is the
//! upper edge: what the server carries when it is undisturbed.
//!
//! Neither the spread nor the share of measurements that lose something, nor their loss, is known: every combination in
//! a small grid is weighted by the probability of the measurements ([`Fit::of`]), so the interval includes that
//! uncertainty (a Bayesian fit with equal odds for all knees, in the logarithm).

use std::collections::BTreeMap;

/// One measurement of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The load that was offered.
    pub load: u64,
    /// True if it was kept.
    pub is_kept: bool,
    /// The load that would have been kept, derived from what was carried; 0 if unknown. Meaningless for a load that was
    /// kept.
    pub carried: f64,
}

/// The probable knees.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The logarithms of possible knees in ascending order, each with the probability of its neighbourhood.
    knees: Vec<(f64, f64)>,
}

/// The measurements of one load: how many kept it, and the logarithm of what each of the others carried.
#[derive(Clone, Debug, Default)]
struct AtLoad {
    log: f64,
    kept: i32,
    carried: Vec<f64>,
}

/// The variation of the knees of measurements around that of the server, in logarithms.
#[derive(Clone, Copy, Debug)]
struct Spread {
    /// The scale of the logistic distribution to both sides.
    noise: f64,
    /// The share of measurements that lose something.
    share: f64,
    /// The most that they lose; all losses up to it are equally probable.
    loss: f64,
    /// True if the server carries as much above its knee as at it; otherwise it breaks down, and may carry any smaller
    /// load.
    is_steady: bool,
}

impl Fit {
    /// The fit to `trials`, at least one; the knee is between `least` and `most`.
    pub fn of(trials: &[Trial], [least, most]: [f64; 2]) -> Self {
        let loads = loads(trials);
        let grid = grid(&loads, [libm::log(least), libm::log(most)]);
        let spreads: Vec<Spread> = Spread::all().collect();
        let mut most = f64::NEG_INFINITY;
        let mut logs: Vec<Vec<f64>> = Vec::with_capacity(grid.len());
        for knee in &grid {
            let of_knee: Vec<f64> = spreads
                .iter()
                .map(|spread| {
                    let log = spread.log_of_all(&loads, *knee, most - NEGLIGIBLE);
                    most = most.max(log);
                    log
                })
                .collect();
            logs.push(of_knee);
        }
        let weights =
            logs.iter().map(|of_knee| of_knee.iter().map(|log| libm::exp(log - most)).sum());
        let mut knees: Vec<(f64, f64)> = grid
            .iter()
            .zip(weights)
            .enumerate()
            .map(|(index, (knee, weight)): (usize, (&f64, f64))| {
                (*knee, weight * width(&grid, index))
            })
            .collect();
        let sum: f64 = knees.iter().map(|(_, weight)| weight).sum();
        knees.iter_mut().for_each(|(_, weight)| *weight /= sum);
        Self { knees }
    }

    /// The load below which the server's knee is with this probability.
    pub fn quantile(&self, probability: f64) -> f64 {
        let mut below = 0.0;
        for (index, (knee, weight)) in self.knees.iter().enumerate() {
            if below + weight >= probability {
                let next = self.knees.get(index + 1).map_or(*knee, |(next, _)| *next);
                let before = if index == 0 { *knee } else { self.knees[index - 1].0 };
                let share = if *weight > 0.0 { (probability - below) / weight } else { 0.5 };
                let [from, to] = [(before + knee) / 2.0, (knee + next) / 2.0];
                return libm::exp(from + share * (to - from));
            }
            below += weight;
        }
        self.knees.last().map_or(0.0, |(knee, _)| libm::exp(*knee))
    }

    /// The probability that the knee is above `load`.
    pub fn above(&self, load: f64) -> f64 {
        let log = libm::log(load);
        self.knees.iter().filter(|(knee, _)| *knee > log).map(|(_, weight)| weight).sum()
    }
}

impl Spread {
    /// All spreads that are considered, with equal odds.
    fn all() -> impl Iterator<Item = Self> {
        let losses = LOSSES.into_iter();
        let lossy = losses.flat_map(|loss| SHARES.into_iter().map(move |share| (share, loss)));
        [(0.0, 1.0)].into_iter().chain(lossy).flat_map(|(share, loss)| {
            NOISES.into_iter().flat_map(move |noise| {
                [true, false].map(|is_steady| Self { noise, share, loss, is_steady })
            })
        })
    }

    /// The logarithm of the probability of all measurements if the server's knee is `knee`; minus infinity if it is
    /// below `least`.
    fn log_of_all(self, loads: &[AtLoad], knee: f64, least: f64) -> f64 {
        let mut log = 0.0;
        for at in loads {
            let below = self.below(at.log - knee);
            log += f64::from(at.kept) * COUNTS * libm::log((1.0 - below).max(LEAST));
            for carried in &at.carried {
                log += COUNTS * libm::log(self.of_carried(carried - knee, below).max(LEAST));
            }
            if log < least {
                return f64::NEG_INFINITY;
            }
        }
        log
    }

    /// The probability of a measurement that carried this much relative to the server's knee, at a load that is not
    /// kept with probability `below`.
    fn of_carried(self, carried: f64, below: f64) -> f64 {
        let from = self.below(carried - NEAR);
        match self.is_steady {
            true => self.below(carried + NEAR) - from,
            false => (below - from).max(0.0) * 2.0 * NEAR / DOWN,
        }
    }

    /// The probability that the knee of a measurement is below the server's by at least `-distance`.
    fn below(self, distance: f64) -> f64 {
        let Self { noise, share, loss, .. } = self;
        let alone = logistic(distance / noise);
        let lossy = ((distance + loss) / loss).clamp(0.0, 1.0);
        (1.0 - share) * alone + share * lossy
    }
}

/// The measurements by load, in ascending order.
fn loads(trials: &[Trial]) -> Vec<AtLoad> {
    let mut loads: BTreeMap<u64, AtLoad> = BTreeMap::new();
    for trial in trials {
        let log = libm::log(float(trial.load.max(1)));
        let at = loads.entry(trial.load).or_insert_with(|| AtLoad { log, ..AtLoad::default() });
        match trial.is_kept {
            true => at.kept += 1,
            false => {
                // A load that was not kept was not carried entirely.
                let carried = libm::log(trial.carried.max(f64::MIN_POSITIVE)).min(log - APART);
                at.carried.push(carried);
            }
        }
    }
    loads.into_values().collect()
}

/// Possible knees, close to each other where measurements distinguish them.
fn grid(loads: &[AtLoad], [least, most]: [f64; 2]) -> Vec<f64> {
    let mut grid = vec![least, most];
    let mut at = least;
    while at < most {
        grid.push(at);
        at += FAR;
    }
    for edge in loads.iter().flat_map(|at| at.carried.iter().copied().chain([at.log])) {
        let mut away = APART;
        while away < FAR {
            grid.extend([edge - away, edge + away]);
            away *= 2.0;
        }
        grid.push(edge);
    }
    grid.retain(|knee| (least..=most).contains(knee));
    grid.sort_unstable_by(f64::total_cmp);
    grid.dedup_by(|one, other| *one - *other < APART);
    grid
}

/// The width of the grid that the point at `index` represents.
fn width(grid: &[f64], index: usize) -> f64 {
    let before = grid[index.saturating_sub(1)];
    let after = grid[(index + 1).min(grid.len() - 1)];
    (after - before) / 2.0
}

fn logistic(x: f64) -> f64 {
    match x {
        ..-30.0 => 0.0,
        30.0.. => 1.0,
        _ => 1.0 / (1.0 + libm::exp(-x)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "loads below 2^53")]
pub(super) fn float(load: u64) -> f64 {
    load as f64
}

/// Scales of the variation to both sides: standard deviations of 0.4 to 11 %.
const NOISES: [f64; 4] = [0.002, 0.006, 0.02, 0.06];
/// Shares of measurements that lose something.
const SHARES: [f64; 3] = [0.15, 0.4, 0.8];
/// The most that they lose: 14 %, half.
const LOSSES: [f64; 2] = [0.15, 0.7];
/// The error of what was carried.
const NEAR: f64 = 0.004;
/// The distance below its knee, about, down to which a server that breaks down may carry any load.
const DOWN: f64 = 0.25;
/// The weight of a measurement: consecutive ones share their luck, so two count as one.
const COUNTS: f64 = 0.5;
/// The probability of the impossible: nothing has none.
const LEAST: f64 = 1e-12;
/// The distance of a logarithm below the best at which an explanation is left out.
const NEGLIGIBLE: f64 = 25.0;
/// The least distance between possible knees, as logarithms.
const APART: f64 = 0.000_7;
/// The largest distance between possible knees, as logarithms.
const FAR: f64 = 0.04;
