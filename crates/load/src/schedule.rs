//! When messages are due in an open loop: worked out from their index, whatever became of those before them.
//!
//! A [`Schedule`] is a rate over a number of connections, a [`Stripe`] says which of these are meant, and [`Arrivals`]
//! tells their messages one after the other. With uniform spacing the parts of the workers are together the whole,
//! message for message. With Poisson spacing each part is a process of its own with its share of the rate, and all of
//! them together are again one with the whole rate (superposition). With phases each connection is by itself anyway.
//!
//! Left out: what becomes of a message that is due, and the clock. Nothing here knows what time it is.

use spec::Spacing;
use std::num::NonZeroU32;
use units::{Nanos, Random, Rate};

/// A rate, how its arrivals are spaced, and which part of them is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The rate of the whole; [`Schedule::stripe`] says what part of it is ours.
    pub rate: Rate,
    /// How arrivals are spaced.
    pub spacing: Spacing,
    /// On which connections they are.
    pub stripe: Stripe,
}

impl Schedule {
    /// `rate` over `connections`, all of it.
    pub const fn new(rate: Rate, spacing: Spacing, connections: NonZeroU32) -> Self {
        Self { rate, spacing, stripe: Stripe::whole(connections) }
    }

    /// The part of worker `index` of so many: with all parts together, nothing is missing and nothing is there twice.
    ///
    /// # Panics
    ///
    /// If there are fewer connections than parts.
    #[must_use]
    pub fn part(self, index: u32, parts: NonZeroU32) -> Self {
        Self { stripe: self.stripe.part(index, parts), ..self }
    }

    /// The arrivals of this part, from the start of the schedule on. `seed` determines what is left to chance: all of
    /// it, so that two parts need two seeds to be independent.
    pub fn arrivals(self, seed: u64) -> Arrivals {
        let mut course = match self.spacing {
            Spacing::Uniform => Course::Uniform(Turns { schedule: self, cycle: 0, turn: 0 }),
            Spacing::Phases => Course::Phases(Phases::new(self, seed)),
            Spacing::Poisson => Course::Poisson(Gaps::new(self, seed)),
        };
        let next = course.first();
        Arrivals { course, next }
    }
}

/// The connections numbered `first`, `first + step`, … below `of`.
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

    /// Every `parts`th of its connections, from number `index` on.
    ///
    /// # Panics
    ///
    /// If it has fewer connections than parts.
    #[must_use]
    pub fn part(self, index: u32, parts: NonZeroU32) -> Self {
        assert!(index < parts.get() && parts.get() <= self.connections(), "each has a connection");
        let first = self.number(index);
        // A step that does not fit leads past the last connection all the same.
        Self { first, step: self.step.saturating_mul(parts), of: self.of }
    }

    /// How many connections belong to it.
    pub const fn connections(self) -> u32 {
        (self.of.get() - self.first).div_ceil(self.step.get())
    }

    /// The number among all that its connection number `connection` has.
    ///
    /// # Panics
    ///
    /// If it has no such connection.
    pub fn number(self, connection: u32) -> u32 {
        assert!(connection < self.connections(), "it has so many connections");
        self.first + connection * self.step.get()
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

/// The arrivals of a schedule, one after the other, without end: one that is never due is due at [`Nanos::MAX`].
#[derive(Clone, Debug)]
pub struct Arrivals {
    course: Course,
    next: Due,
}

impl Arrivals {
    /// Goes on to the one after the next.
    #[inline]
    pub fn advance(&mut self) {
        self.next = self.course.advance();
    }

    /// Goes on to the first that is due at `at` or later, and says how many are left out. That takes the same time for
    /// any number of them, but for Poisson spacing.
    pub fn skip_before(&mut self, at: Nanos) -> u64 {
        let (skipped, next) = match &mut self.course {
            Course::Uniform(turns) => (turns.skip_before(at), turns.due()),
            Course::Phases(phases) => (phases.skip_before(at), phases.due()),
            Course::Poisson(_) => {
                let mut skipped = 0;
                while self.next.at < at {
                    self.advance();
                    skipped += 1;
                }
                return skipped;
            }
        };
        self.next = next;
        skipped
    }

    /// The next one.
    #[inline]
    pub fn next_due(&self) -> Due {
        self.next
    }
}

#[derive(Clone, Debug)]
enum Course {
    Uniform(Turns),
    Phases(Phases),
    Poisson(Gaps),
}

impl Course {
    fn first(&mut self) -> Due {
        match self {
            Self::Uniform(turns) => turns.due(),
            Self::Phases(phases) => phases.due(),
            Self::Poisson(gaps) => gaps.advance(),
        }
    }

    #[inline]
    fn advance(&mut self) -> Due {
        match self {
            Self::Uniform(turns) => turns.advance(),
            Self::Phases(phases) => phases.advance(),
            Self::Poisson(gaps) => gaps.advance(),
        }
    }
}

/// Uniform spacing. In each cycle every connection of the whole has its turn, in the order of their numbers; arrival
/// number `cycle * connections + number` is that connection's.
#[derive(Clone, Debug)]
struct Turns {
    schedule: Schedule,
    cycle: u64,
    /// Which of our own connections is next.
    turn: u32,
}

impl Turns {
    fn advance(&mut self) -> Due {
        self.turn += 1;
        if self.turn == self.schedule.stripe.connections() {
            self.turn = 0;
            self.cycle = self.cycle.saturating_add(1);
        }
        self.due()
    }

    fn skip_before(&mut self, at: Nanos) -> u64 {
        let Schedule { rate, stripe, .. } = self.schedule;
        let passed = due_before(rate, at);
        let (cycle, turn) = (passed / cycle_len(stripe), passed % cycle_len(stripe));
        // Of the unfinished cycle, those of our connections whose numbers have had their turn.
        let turn = turn.saturating_sub(stripe.first.into()).div_ceil(stripe.step.get().into());
        let (before, own) = (self.clone(), u64::from(stripe.connections()));
        let index = |cycle: u64, turn: u64| cycle.saturating_mul(own).saturating_add(turn);
        let skipped = index(cycle, turn).saturating_sub(index(before.cycle, before.turn.into()));
        if skipped > 0 {
            self.cycle = cycle + turn / own;
            self.turn = u32::try_from(turn % own).expect("it is below the number of connections");
        }
        skipped
    }

    fn due(&self) -> Due {
        let Schedule { rate, stripe, .. } = self.schedule;
        let number = u64::from(stripe.first + self.turn * stripe.step.get());
        let index = self.cycle.saturating_mul(cycle_len(stripe)).saturating_add(number);
        Due { at: rate.due(index), connection: self.turn }
    }
}

/// Phases. In each cycle every one of our connections has its turn, always at the same distance from the begin of the
/// cycle: one that was drawn for it once. Cycle number c begins when arrival number `c * connections` of uniform
/// spacing would be due, so that in any time of whole cycles just so many are due.
#[derive(Clone, Debug)]
struct Phases {
    schedule: Schedule,
    /// The distances, the shortest first, each with its connection.
    phases: Box<[(Nanos, u32)]>,
    cycle: u64,
    /// Which of them is next.
    turn: usize,
}

impl Phases {
    fn new(schedule: Schedule, seed: u64) -> Self {
        let mut random = Random::new(seed);
        // A cycle is never shorter, so that its turns end before the next one begins.
        let len = schedule.rate.due(cycle_len(schedule.stripe)).0;
        let len = usize::try_from(len).unwrap_or(usize::MAX).max(1);
        let phase = |connection| (Nanos(random.below(len) as u64), connection);
        let mut phases: Box<[_]> = (0..schedule.stripe.connections()).map(phase).collect();
        phases.sort_unstable();
        Self { schedule, phases, cycle: 0, turn: 0 }
    }

    fn advance(&mut self) -> Due {
        self.turn += 1;
        if self.turn == self.phases.len() {
            self.turn = 0;
            self.cycle = self.cycle.saturating_add(1);
        }
        self.due()
    }

    fn skip_before(&mut self, at: Nanos) -> u64 {
        if self.due().at >= at {
            return 0;
        }
        let Schedule { rate, stripe, .. } = self.schedule;
        let begun = due_before(rate, at).saturating_sub(1) / cycle_len(stripe);
        let phase = at.0 - self.begin(begun).0;
        let turn = self.phases.partition_point(|(own, _)| own.0 < phase);
        let len = self.phases.len();
        let index = |cycle: u64, turn: usize| {
            (cycle.saturating_mul(len as u64)).saturating_add(turn as u64)
        };
        let skipped = index(begun, turn) - index(self.cycle, self.turn);
        self.cycle = begun.saturating_add((turn / len) as u64);
        self.turn = turn % len;
        skipped
    }

    fn due(&self) -> Due {
        let (phase, connection) = self.phases[self.turn];
        Due { at: Nanos(self.begin(self.cycle).0.saturating_add(phase.0)), connection }
    }

    fn begin(&self, cycle: u64) -> Nanos {
        let Schedule { rate, stripe, .. } = self.schedule;
        rate.due(cycle.saturating_mul(cycle_len(stripe)))
    }
}

/// How many arrivals of the whole a cycle has.
fn cycle_len(stripe: Stripe) -> u64 {
    stripe.of.get().into()
}

/// How many arrivals of `rate` are due before `at`: the smallest index whose [`Rate::due`] is not.
fn due_before(rate: Rate, at: Nanos) -> u64 {
    let arrivals = u128::from(at.0) * u128::from(rate.count().get());
    u64::try_from(arrivals.div_ceil(u128::from(rate.per().0))).unwrap_or(u64::MAX)
}

/// Poisson spacing: the sum of exponential gaps. It depends on the seed and on nothing that happens. Gaps are added up
/// in units of 2^-64 ns, so that no rounding adds up to anything at any rate.
#[derive(Clone, Debug)]
struct Gaps {
    times: Random,
    mean: f64,
    sum: u128,
    /// Apart, so that when a message is due does not hang on how many connections there are.
    picks: Random,
    connections: u32,
}

impl Gaps {
    #[expect(clippy::cast_precision_loss, reason = "16 digits of the mean are enough")]
    fn new(schedule: Schedule, seed: u64) -> Self {
        let Schedule { rate, stripe, .. } = schedule;
        let connections = stripe.connections();
        let share = f64::from(connections) / f64::from(stripe.of.get());
        let mean_ns = rate.per().0 as f64 / f64::from(rate.count().get()) / share;
        let mut seeds = Random::new(seed);
        Self {
            times: Random::new(seeds.next_u64()),
            mean: mean_ns * UNITS_PER_NS,
            sum: 0,
            picks: Random::new(seeds.next_u64()),
            connections,
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a gap is not negative, and one that does not fit is for ever"
    )]
    fn advance(&mut self) -> Due {
        let gap = -libm::log1p(-self.times.unit_f64()) * self.mean;
        self.sum = self.sum.saturating_add(gap as u128);
        let connection = u32::try_from(self.picks.below(self.connections as usize));
        Due {
            at: Nanos((self.sum >> 64) as u64),
            connection: connection.expect("it is below the number of connections"),
        }
    }
}

/// 2^64.
const UNITS_PER_NS: f64 = 18_446_744_073_709_551_616.0;
