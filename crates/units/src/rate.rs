//! How often: `count` every `per`.

use crate::Nanos;
use std::num::NonZeroU32;

/// How often something happens: `count` times every `per`.
///
/// Kept as a fraction so that "3 per second" and "1 per 90 s" are both exact; no `f64` reaches a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    count: NonZeroU32,
    per: Nanos,
}

impl Rate {
    /// `count` times every `per`; `None` if `per` is zero.
    pub const fn new(count: NonZeroU32, per: Nanos) -> Option<Self> {
        if per.0 == 0 { None } else { Some(Self { count, per }) }
    }

    /// When number `index` (from 0) is due, counted from the start.
    ///
    /// Worked out from the index, never by adding gaps up, so rounding cannot pile up.
    /// Saturates at `u64::MAX` nanoseconds, after about 584 years.
    pub fn due(self, index: u64) -> Nanos {
        let due = u128::from(index) * u128::from(self.per.0) / u128::from(self.count.get());
        Nanos(u64::try_from(due).unwrap_or(u64::MAX))
    }

    /// How many times a second, for statistics and for people.
    pub fn per_second(self) -> f64 {
        f64::from(self.count.get()) / self.per.as_secs_f64()
    }
}
