//! Due instants of messages in an open loop, computed from their index, whatever became of those before them.
//!
//! A [`Schedule`] is a rate over a number of connections, and a [`Stripe`] names a part of them; its [`Arrivals`]
//! follow one after the other. With uniform spacing the parts of the workers together are the whole, message for
//! message. With Poisson spacing each part is a process of its own with its share of the rate, and all of them together
//! form one with the full rate (superposition). With phases the connections are independent anyway.
//!
//! A machine of a fleet gets its arrivals of the whole in turns ([`Cut`]), and divides them among its own workers in
//! the same way.
//!
//! A rate may change over time. Then all of this happens on an axis on which it is constant: the number of arrivals so
//! far, which [`crate::curve`] converts to instants.
//!
//! Left out: the fate of a message that is due, and the clock. Nothing here knows the time.

use crate::curve::Curve;
use spec::{Profile, Spacing};
use std::num::NonZeroU32;
use std::sync::Arc;
use units::{Nanos, Random, Rate};

/// A rate, the spacing of its arrivals, and the part of them that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The rate of the whole; [`Schedule::stripe`] says which part is ours.
    pub rate: Profile,
    /// The distances between arrivals.
    pub spacing: Spacing,
    /// The connections of the arrivals.
    pub stripe: Stripe,
    /// True if the warm-up rises linearly from zero to the rate; bots with phases of their own have one rate.
    pub ramps_up: bool,
    /// This machine's arrivals of the rate; [`Schedule::stripe`] divides them.
    pub cut: Cut,
}

/// The arrivals of a rate that one of several machines sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// All of them.
    Whole,
    /// The arrivals whose turn it is, on any connection.
    Arrivals(Arc<spec::Turns>),
    /// The arrivals of the connections whose turn it is. The whole has this many connections.
    Connections(Arc<spec::Turns>, NonZeroU32),
}

impl Cut {
    /// The number, among all arrivals, of this machine's arrival number `index`, on `own` connections.
    fn whole(&self, index: u64, own: u64) -> u64 {
        match self {
            Self::Whole => index,
            Self::Arrivals(turns) => turns.number(index),
            Self::Connections(turns, of) => {
                let of = u64::from(of.get());
                (index / own).saturating_mul(of).saturating_add(turns.number(index % own))
            }
        }
    }

    /// The number of this machine's arrivals among the first `passed` of all.
    pub(crate) fn own(&self, passed: u64) -> u64 {
        match self {
            Self::Whole => passed,
            Self::Arrivals(turns) => turns.count(passed),
            Self::Connections(turns, of) => {
                let of = u64::from(of.get());
                let own = turns.count(of);
                (passed / of).saturating_mul(own).saturating_add(turns.count(passed % of))
            }
        }
    }

    /// The share of all arrivals, for exponential gaps.
    fn share(&self) -> f64 {
        match self {
            Self::Whole => 1.0,
            Self::Arrivals(turns) => {
                let (own, all) = turns.share();
                f64::from(own) / f64::from(all)
            }
            Self::Connections(turns, of) => {
                let own = u32::try_from(turns.count(of.get().into())).unwrap_or(u32::MAX);
                f64::from(own) / f64::from(of.get())
            }
        }
    }
}

impl Schedule {
    /// All of `rate` over `connections`.
    pub const fn new(rate: Profile, spacing: Spacing, connections: NonZeroU32) -> Self {
        let stripe = Stripe::whole(connections);
        Self { rate, spacing, stripe, ramps_up: false, cut: Cut::Whole }
    }

    /// The part of worker `index` of `parts`: in all parts together, nothing is missing and nothing is duplicated.
    ///
    /// # Panics
    ///
    /// If there are fewer connections than parts.
    #[must_use]
    pub fn part(&self, index: u32, parts: NonZeroU32) -> Self {
        Self { stripe: self.stripe.part(index, parts), ..self.clone() }
    }

    /// The same schedule, with `warm_up` before its rate.
    #[must_use]
    pub fn after_warm_up(&self, warm_up: Nanos) -> Self {
        let ramps = self.ramps_up && self.spacing != Spacing::Phases;
        let rate = match ramps {
            true => self.rate.after_ramp(warm_up),
            false => self.rate.after_warm_up(warm_up),
        };
        Self { rate, ..self.clone() }
    }

    /// The arrivals of this part, from the start of the schedule on. `seed` determines everything random, so two parts
    /// need two seeds to be independent.
    pub fn arrivals(&self, seed: u64) -> Arrivals {
        let (curve, stripe) = (Curve::new(&self.rate), self.stripe);
        let mut course = match self.spacing {
            Spacing::Uniform => {
                Course::Uniform(Turns { stripe, cut: self.cut.clone(), cycle: 0, turn: 0 })
            }
            Spacing::Phases => Course::Phases(Phases::new(stripe, self.cycle_len(), &curve, seed)),
            Spacing::Poisson => Course::Poisson(Gaps::new(stripe, self.cut.share(), seed)),
        };
        let next = course.first(&curve);
        Arrivals { curve, course, next }
    }

    /// The number of arrivals before `at` in all parts of this machine together, with uniform spacing.
    pub fn count_before(&self, at: Nanos) -> u64 {
        self.cut.own(Curve::new(&self.rate).count_before(at))
    }

    /// The number of arrivals of the whole in a cycle, in which each connection has one.
    fn cycle_len(&self) -> u64 {
        match &self.cut {
            Cut::Whole | Cut::Arrivals(_) => cycle_len(self.stripe),
            Cut::Connections(_, of) => of.get().into(),
        }
    }

    /// The arrivals of one of several machines: by their numbers, or by those of their connections if each has a
    /// schedule of its own. `own` is the number of its connections.
    pub(crate) fn cut(
        &self,
        turns: &Arc<spec::Turns>,
        by_connection: bool,
        own: NonZeroU32,
    ) -> Self {
        let cut = match by_connection || self.spacing == Spacing::Phases {
            true => Cut::Connections(Arc::clone(turns), self.stripe.of),
            false => Cut::Arrivals(Arc::clone(turns)),
        };
        Self { stripe: Stripe::whole(own), cut, ..self.clone() }
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
        // A saturated step leads past the last connection as well.
        Self { first, step: self.step.saturating_mul(parts), of: self.of }
    }

    /// The number of its connections.
    pub const fn connections(self) -> u32 {
        (self.of.get() - self.first).div_ceil(self.step.get())
    }

    /// The place, in this stripe, of the connection with this number among all; `None` if it is not in the stripe.
    pub fn place(self, number: u32) -> Option<u32> {
        let distance = number.checked_sub(self.first).filter(|_| number < self.of.get())?;
        distance.is_multiple_of(self.step.get()).then_some(distance / self.step.get())
    }

    /// The number, among all connections, of its connection number `connection`.
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
    /// The instant, from the start of the schedule.
    pub at: Nanos,
    /// The connection in this part, from 0.
    pub connection: u32,
}

/// The arrivals of a schedule, one after the other, without end: one that is never due is due at [`Nanos::MAX`].
#[derive(Clone, Debug)]
pub struct Arrivals {
    curve: Curve,
    course: Course,
    next: Due,
}

impl Arrivals {
    /// Moves on to the arrival after the next.
    #[inline]
    pub fn advance(&mut self) {
        self.next = self.course.advance(&self.curve);
    }

    /// Changes the rate to `rate` from `at` on, without end. `at` is not 0. Arrivals before it stay as they are. A
    /// later one is due where both rates together put its number (uniform spacing) or its gap (Poisson spacing).
    ///
    /// Returns false, and changes nothing, if the instants of both rates cannot be exact.
    pub fn change(&mut self, at: Nanos, rate: Rate) -> bool {
        let Some((curve, factor)) = self.curve.changed(at, rate) else { return false };
        self.curve = curve;
        self.course.scale(factor);
        if self.next.at >= at {
            self.next = self.course.due(&self.curve, self.next.connection);
        }
        true
    }

    /// Moves on to the first arrival due at `at` or later, and returns the number of those skipped. Takes the same time
    /// for any number of them, except with Poisson spacing.
    pub fn skip_before(&mut self, at: Nanos) -> u64 {
        let (skipped, next) = match &mut self.course {
            Course::Uniform(turns) => {
                (turns.skip(self.curve.count_before(at)), turns.due(&self.curve))
            }
            Course::Phases(phases) => {
                (phases.skip(self.curve.units_before(at)), phases.due(&self.curve))
            }
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

    /// The next arrival.
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
    fn first(&mut self, curve: &Curve) -> Due {
        match self {
            Self::Uniform(turns) => turns.due(curve),
            Self::Phases(phases) => phases.due(curve),
            Self::Poisson(gaps) => gaps.advance(curve),
        }
    }

    /// Rescales to a curve whose units are `factor` times as many.
    fn scale(&mut self, factor: u128) {
        match self {
            // Both count arrivals.
            Self::Uniform(_) | Self::Poisson(_) => {}
            Self::Phases(phases) => {
                phases.cycle_len *= factor;
                phases.phases.iter_mut().for_each(|(phase, _)| *phase *= factor);
            }
        }
    }

    /// The next arrival, computed again; it is on `connection`.
    fn due(&self, curve: &Curve, connection: u32) -> Due {
        match self {
            Self::Uniform(turns) => turns.due(curve),
            Self::Phases(phases) => phases.due(curve),
            Self::Poisson(gaps) => Due { at: gaps.instant(curve), connection },
        }
    }

    #[inline]
    fn advance(&mut self, curve: &Curve) -> Due {
        match self {
            Self::Uniform(turns) => turns.advance(curve),
            Self::Phases(phases) => phases.advance(curve),
            Self::Poisson(gaps) => gaps.advance(curve),
        }
    }
}

/// Uniform spacing. In each cycle every connection of the whole has its turn, in the order of their numbers; arrival
/// number `cycle * connections + number` is that connection's.
#[derive(Clone, Debug)]
struct Turns {
    stripe: Stripe,
    cut: Cut,
    cycle: u64,
    /// The next of our own connections.
    turn: u32,
}

impl Turns {
    fn advance(&mut self, curve: &Curve) -> Due {
        self.turn += 1;
        if self.turn == self.stripe.connections() {
            self.turn = 0;
            self.cycle = self.cycle.saturating_add(1);
        }
        self.due(curve)
    }

    /// Skips our arrivals among the first `passed` of the whole, and returns their number.
    fn skip(&mut self, passed: u64) -> u64 {
        let (stripe, passed) = (self.stripe, self.cut.own(passed));
        let (cycle, turn) = (passed / cycle_len(stripe), passed % cycle_len(stripe));
        // In the unfinished cycle: our connections whose numbers have had their turn.
        let turn = turn.saturating_sub(stripe.first.into()).div_ceil(stripe.step.get().into());
        let own = u64::from(stripe.connections());
        let index = |cycle: u64, turn: u64| cycle.saturating_mul(own).saturating_add(turn);
        let skipped = index(cycle, turn).saturating_sub(index(self.cycle, self.turn.into()));
        if skipped > 0 {
            self.cycle = cycle + turn / own;
            self.turn = u32::try_from(turn % own).expect("it is below the number of connections");
        }
        skipped
    }

    fn due(&self, curve: &Curve) -> Due {
        let number = u64::from(self.stripe.first + self.turn * self.stripe.step.get());
        let index = self.cycle.saturating_mul(cycle_len(self.stripe)).saturating_add(number);
        let index = self.cut.whole(index, cycle_len(self.stripe));
        Due { at: curve.due(index), connection: self.turn }
    }
}

/// Phases. In each cycle every one of our connections has its turn, always at the same distance from the begin of the
/// cycle, which is drawn for it once. Cycle number c begins where arrival number `c * connections` of uniform spacing
/// is, so that any whole number of cycles has exactly that many arrivals of each connection.
#[derive(Clone, Debug)]
struct Phases {
    /// Units of the curve in a cycle.
    cycle_len: u128,
    /// The distances in units, the shortest first, each with its connection.
    phases: Box<[(u128, u32)]>,
    cycle: u64,
    /// The index of the next one.
    turn: usize,
}

impl Phases {
    fn new(stripe: Stripe, cycle_len: u64, curve: &Curve, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let cycle_len = u128::from(cycle_len) * u128::from(curve.per());
        // Drawn in nanoseconds at the highest rate. A cycle is never shorter, so that its turns end before the next one
        // begins.
        let shortest = usize::try_from(cycle_len / curve.peak()).unwrap_or(usize::MAX).max(1);
        let phase = |connection| (random.below(shortest) as u128 * curve.peak(), connection);
        let mut phases: Box<[_]> = (0..stripe.connections()).map(phase).collect();
        phases.sort_unstable();
        Self { cycle_len, phases, cycle: 0, turn: 0 }
    }

    fn advance(&mut self, curve: &Curve) -> Due {
        self.turn += 1;
        if self.turn == self.phases.len() {
            self.turn = 0;
            self.cycle = self.cycle.saturating_add(1);
        }
        self.due(curve)
    }

    /// Skips the arrivals in the first `passed` units of the curve, and returns their number.
    fn skip(&mut self, passed: u128) -> u64 {
        if self.begin(self.cycle).saturating_add(self.phases[self.turn].0) >= passed {
            return 0;
        }
        let begun = u64::try_from((passed - 1) / self.cycle_len).unwrap_or(u64::MAX);
        let phase = passed - self.begin(begun);
        let turn = self.phases.partition_point(|(own, _)| *own < phase);
        let len = self.phases.len();
        let index = |cycle: u64, turn: usize| {
            (cycle.saturating_mul(len as u64)).saturating_add(turn as u64)
        };
        let skipped = index(begun, turn) - index(self.cycle, self.turn);
        self.cycle = begun.saturating_add((turn / len) as u64);
        self.turn = turn % len;
        skipped
    }

    fn due(&self, curve: &Curve) -> Due {
        let (phase, connection) = self.phases[self.turn];
        let at = curve.instant(self.begin(self.cycle).saturating_add(phase));
        Due { at, connection }
    }

    fn begin(&self, cycle: u64) -> u128 {
        u128::from(cycle).saturating_mul(self.cycle_len)
    }
}

/// The number of arrivals of this machine in a cycle.
fn cycle_len(stripe: Stripe) -> u64 {
    stripe.of.get().into()
}

/// Poisson spacing: exponential gaps, summed on the axis of arrivals, which turns a process of constant rate into one
/// of changing rate (time change). It depends only on the seed, not on what happens. The unit of the sum is 2^-64
/// arrivals, so that rounding never accumulates to anything, at any rate.
#[derive(Clone, Debug)]
struct Gaps {
    times: Random,
    /// The mean gap of this part: one arrival divided by its share of the connections.
    mean: f64,
    sum: u128,
    /// Separate, so that the instants do not depend on the number of connections.
    picks: Random,
    connections: u32,
}

impl Gaps {
    fn new(stripe: Stripe, share: f64, seed: u64) -> Self {
        let connections = stripe.connections();
        let share = share * f64::from(connections) / f64::from(stripe.of.get());
        let mut seeds = Random::new(seed);
        Self {
            times: Random::new(seeds.next_u64()),
            mean: UNITS_PER_ARRIVAL / share,
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
    fn advance(&mut self, curve: &Curve) -> Due {
        let gap = -libm::log1p(-self.times.unit_f64()) * self.mean;
        self.sum = self.sum.saturating_add(gap as u128);
        let connection = u32::try_from(self.picks.below(self.connections as usize));
        Due {
            at: self.instant(curve),
            connection: connection.expect("it is below the number of connections"),
        }
    }

    /// The instant of the last arrival that was drawn.
    fn instant(&self, curve: &Curve) -> Nanos {
        let (whole, fraction) = (self.sum >> 64, self.sum & u128::from(u64::MAX));
        let per = u128::from(curve.per());
        curve.instant((whole * per).saturating_add((fraction * per) >> 64))
    }
}

/// 2^64.
const UNITS_PER_ARRIVAL: f64 = 18_446_744_073_709_551_616.0;
