//! Time: how long ([`Nanos`]) and when ([`Instant`]).

use std::ops::{Add, AddAssign, Sub};

/// A length of time in nanoseconds; up to about 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest time there is; stands for "never" where a limit is switched off.
    pub const MAX: Self = Self(u64::MAX);

    /// So many microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// So many milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// So many seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// In seconds, for statistics and for people.
    #[expect(clippy::cast_precision_loss, reason = "exact below 2^53 ns, which is 104 days")]
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl From<Nanos> for std::time::Duration {
    fn from(nanos: Nanos) -> Self {
        Self::from_nanos(nanos.0)
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// A point in time: nanoseconds since the run began, on a monotonic clock.
///
/// A test can write it down and a record can store it. Which clock counts is the engine's business.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

impl Instant {
    /// When the run began.
    pub const START: Self = Self(0);
    /// Later than every instant that is reached.
    pub const NEVER: Self = Self(u64::MAX);

    /// How long after `earlier` this is; zero if it is not after it.
    pub const fn since(self, earlier: Self) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Nanos> for Instant {
    type Output = Self;
    fn add(self, nanos: Nanos) -> Self {
        Self(self.0.saturating_add(nanos.0))
    }
}

impl Sub<Nanos> for Instant {
    type Output = Self;
    fn sub(self, nanos: Nanos) -> Self {
        Self(self.0.saturating_sub(nanos.0))
    }
}
