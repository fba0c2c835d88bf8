//! The monotonic clock of a simulated machine: it began somewhere, drifts, and may stand still or jump.

use units::Instant;

#[derive(Clone, Copy, Debug)]
pub(crate) struct SimClock {
    /// The instant that it shows when the true time is zero.
    base: i64,
    /// The millionths by which it runs fast.
    ppm: i64,
    pub(crate) has_jumped: bool,
}

impl SimClock {
    pub(crate) const fn new(base: i64, ppm: i64) -> Self {
        Self { base, ppm, has_jumped: false }
    }

    pub(crate) fn at(self, time: u64) -> Instant {
        let time = i64::try_from(time).unwrap();
        Instant(u64::try_from(self.base + time + time / 1_000_000 * self.ppm).unwrap())
    }

    /// The true time, to the microsecond, at which it shows `at` or a little more.
    pub(crate) fn when(self, at: Instant) -> u64 {
        let Ok(at) = i64::try_from(at.0) else { return u64::MAX };
        let elapsed = at - self.base;
        let time = elapsed - elapsed / 1_000_000 * self.ppm + 10_000;
        u64::try_from(time).unwrap_or(0)
    }

    pub(crate) const fn jump(&mut self, by: i64) {
        self.base += by;
        self.has_jumped = true;
    }
}
