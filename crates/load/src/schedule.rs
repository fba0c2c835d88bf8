//! When messages are due in an open loop: worked out from their index, whatever became of those before them.

use std::num::NonZeroU32;
use units::{Nanos, Random, Rate};

/// A rate, how its arrivals are spaced, and which part of them is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// How many arrivals the whole schedule has; [`Schedule::part`] says how many of them are ours.
    pub rate: Rate,
    /// How they are spaced.
    pub spacing: Spacing,
    /// Which of them are meant.
    pub stripe: Stripe,
}

/// How arrivals are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// At equal distances. Each connection has its turn in each cycle, so that the phases of connections are spread
    /// evenly over it.
    Uniform,
    /// Independent of each other, as those of many users are: exponential gaps.
    Poisson,
}

/// The part of a schedule over `of` connections that belongs to those numbered `first`, `first + step`, … below `of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripe {
    first: u32,
    step: NonZeroU32,
    of: NonZeroU32,
}

impl Stripe {
    /// All of `connections`.
    pub const fn whole(connections: NonZeroU32) -> Self {
        Self { first: 0, step: NonZeroU32::MIN, of: connections }
    }

    /// Every `parts`th connection from number `index` on.
    ///
    /// # Panics
    ///
    /// If this is a part already, or there are fewer connections than parts.
    pub fn part(self, index: u32, parts: NonZeroU32) -> Self {
        assert!(self.first == 0 && self.step == NonZeroU32::MIN, "only a whole can be divided");
        assert!(index < parts.get() && parts <= self.of, "each part has a connection");
        Self { first: index, step: parts, of: self.of }
    }

    /// How many connections belong to it.
    pub fn connections(self) -> u32 {
        (self.of.get() - self.first).div_ceil(self.step.get())
    }
}

impl Schedule {
    /// `rate` over `connections`, all of it.
    pub const fn new(rate: Rate, spacing: Spacing, connections: NonZeroU32) -> Self {
        Self { rate, spacing, stripe: Stripe::whole(connections) }
    }

    /// The part of worker `index` of so many: with all parts together, nothing is missing and nothing is there twice.
    #[must_use]
    pub fn part(self, index: u32, parts: NonZeroU32) -> Self {
        Self { stripe: self.stripe.part(index, parts), ..self }
    }

    /// The arrivals of this part, from the start of the schedule on.
    pub fn arrivals(self, seed: u64) -> Arrivals {
        Arrivals::new(self, seed)
    }
}

/// A message that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// When, from the start of the schedule.
    pub at: Nanos,
    /// On which connection of this part, from 0.
    pub connection: u32,
}

/// The arrivals of a schedule, one after the other.
#[derive(Clone, Debug)]
pub struct Arrivals {
    schedule: Schedule,
    connections: u32,
    /// Counts the arrivals of this part.
    index: u64,
    /// For Poisson spacing alone.
    gaps: Gaps,
    next: Due,
}

/// The sum of all exponential gaps so far. It depends on the seed and on nothing that happens, and in its unit of
/// 2^-16 ns no rounding adds up to anything.
#[derive(Clone, Debug)]
struct Gaps {
    random: Random,
    mean: f64,
    sum: u128,
}

impl Arrivals {
    #[expect(clippy::cast_precision_loss, reason = "a mean gap below 2^53 ns, which is 104 days")]
    fn new(schedule: Schedule, seed: u64) -> Self {
        let Stripe { of, .. } = schedule.stripe;
        let connections = schedule.stripe.connections();
        let share = f64::from(connections) / f64::from(of.get());
        let mean = schedule.rate.per().0 as f64 / f64::from(schedule.rate.count().get()) / share;
        let mut arrivals = Self {
            schedule,
            connections,
            index: 0,
            gaps: Gaps { random: Random::new(seed), mean: mean * 65_536.0, sum: 0 },
            next: Due { at: Nanos::ZERO, connection: 0 },
        };
        arrivals.next = arrivals.work_out();
        arrivals
    }

    /// The next one.
    pub fn next_due(&self) -> Due {
        self.next
    }

    /// Goes on to the one after it.
    pub fn advance(&mut self) {
        self.index += 1;
        self.next = self.work_out();
    }

    /// Due number `index`.
    fn work_out(&mut self) -> Due {
        match self.schedule.spacing {
            Spacing::Uniform => {
                let Stripe { first, step, of } = self.schedule.stripe;
                let own = u64::from(self.connections);
                let (cycle, turn) = (self.index / own, self.index % own);
                // The number of this arrival among those of all parts.
                let number = cycle
                    .saturating_mul(of.get().into())
                    .saturating_add(u64::from(first) + turn * u64::from(step.get()));
                let connection =
                    u32::try_from(turn).expect("it is below the number of connections");
                Due { at: self.schedule.rate.due(number), connection }
            }
            Spacing::Poisson => {
                let connection = self.gaps.random.below(self.connections as usize);
                let at = self.gaps.advance();
                Due { at, connection: u32::try_from(connection).expect("it is below a u32") }
            }
        }
    }
}

impl Gaps {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a gap is not negative, and at most 37 means"
    )]
    fn advance(&mut self) -> Nanos {
        let gap = -libm::log1p(-self.random.unit_f64()) * self.mean;
        self.sum = self.sum.saturating_add(gap as u128);
        Nanos(u64::try_from(self.sum >> 16).unwrap_or(u64::MAX))
    }
}
