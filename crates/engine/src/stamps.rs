//! The instants at which bytes reached this machine: the kernel's receive stamps, on our own clock.
//!
//! The kernel stamps arriving bytes with the wall clock, as it takes them in and before it wakes any process for them
//! (`SO_TIMESTAMPNS`; TCP gives the stamp of the last bytes read, Unix sockets give none). Our instants are those of
//! the monotonic clock. Both clocks run at one rate, since the kernel adjusts them together; their offset changes only
//! when the wall clock is set. So the offset is checked for every stamp and must be unchanged: a stamp from a wall
//! clock that may have been set since is discarded.
//!
//! Left out: hardware stamps, which use a clock of their own.

use crate::clock::{Clock, Reading};
use crate::socket;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use units::Instant;

/// Receives bytes with their stamps.
pub(crate) struct Stamps {
    clock: Clock,
    offset: Offset,
    /// The stamp of the newest receive, by the wall clock.
    newest: Option<u64>,
}

impl Stamps {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, offset: Offset::new(Reading::now()), newest: None }
    }

    /// Like [`socket::receive`], and keeps the stamp.
    pub(crate) fn receive(&mut self, socket: &OwnedFd, rx: &mut [u8]) -> Result<usize, Errno> {
        let (len, stamp) = socket::receive_stamped(socket, rx)?;
        self.newest = stamp;
        Ok(len)
    }

    /// The instant at which the last bytes of the newest receive reached this machine; `None` without a valid stamp.
    /// `now` is a fresh reading of our clock, taken after that receive.
    #[inline]
    pub(crate) fn arrived(&mut self, now: Instant) -> Option<Instant> {
        let stamp = self.newest?;
        let monotonic = self.offset.monotonic(stamp, Reading::with(self.clock.monotonic(now)))?;
        self.clock.instant(monotonic)
    }
}

/// The lead of the wall clock over the monotonic clock, and the monotonic time since which it is known, in nanoseconds.
struct Offset {
    ahead: i64,
    since: u64,
}

impl Offset {
    fn new(now: Reading) -> Self {
        Self { ahead: ahead(now), since: now.monotonic }
    }

    /// The reading of the monotonic clock when the wall clock showed `stamp`, to within [`DRIFT_MAX`]. `None` if the
    /// wall clock was set meanwhile, or if the result is not between the last time that was noticed and now.
    fn monotonic(&mut self, stamp: u64, now: Reading) -> Option<u64> {
        if ahead(now).abs_diff(self.ahead) > DRIFT_MAX {
            *self = Self::new(now);
            return None;
        }
        let monotonic = stamp.checked_add_signed(-self.ahead)?;
        (self.since..=now.monotonic).contains(&monotonic).then_some(monotonic)
    }
}

fn ahead(reading: Reading) -> i64 {
    // Neither clock passes 2^63 before the year 2262.
    reading.wall.cast_signed() - reading.monotonic.cast_signed()
}

/// The largest tolerated change of the offset, in nanoseconds: the two clocks are read one after the other. A larger
/// change means that the wall clock was set, or that something delayed the second reading, which costs a stamp or two.
const DRIFT_MAX: u64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    /// The initial lead of the wall clock.
    const AHEAD: u64 = 1_700_000_000_000_000_000;

    #[test]
    fn a_stamp_is_when_the_monotonic_clock_showed_it() {
        let mut offset = Offset::new(at(1_000_000, AHEAD));
        assert_eq!(offset.monotonic(AHEAD + 2_000_000, at(2_050_000, AHEAD)), Some(2_000_000));
        // The two clocks are never read at the same time.
        assert_eq!(
            offset.monotonic(AHEAD + 3_000_000, at(3_050_000, AHEAD + 900)),
            Some(3_000_000)
        );
        assert_eq!(
            offset.monotonic(AHEAD + 4_000_000, at(4_050_000, AHEAD - 900)),
            Some(4_000_000)
        );
    }

    #[test]
    fn what_was_stamped_before_the_wall_clock_was_set_has_no_stamp() {
        for step in [-3_600_000_000_000, -1_500_000, -2000, 2000, 1_500_000, 3_600_000_000_000_i64]
        {
            let later = AHEAD.checked_add_signed(step).unwrap();
            let mut offset = Offset::new(at(0, AHEAD));
            assert!(offset.monotonic(AHEAD + 9_000_000, at(9_050_000, AHEAD)).is_some());
            // Stamped at 10.0 ms; the clock is set at 10.1 ms; read at 10.2 ms, and another stamp right after it.
            assert_eq!(offset.monotonic(AHEAD + 10_000_000, at(10_200_000, later)), None, "{step}");
            assert_eq!(offset.monotonic(AHEAD + 10_000_000, at(10_201_000, later)), None, "{step}");
            // From then on the new offset applies.
            let stamp = later + 11_000_000;
            assert_eq!(offset.monotonic(stamp, at(11_050_000, later)), Some(11_000_000), "{step}");
        }
    }

    #[test]
    fn a_stamp_from_the_future_or_from_before_we_looked_is_none() {
        let mut offset = Offset::new(at(5_000_000, AHEAD));
        let mut ask = |stamp: u64| offset.monotonic(stamp, at(6_000_000, AHEAD));
        assert_eq!(ask(AHEAD + 6_000_000), Some(6_000_000));
        assert_eq!(ask(AHEAD + 6_000_001), None);
        assert_eq!(ask(AHEAD + 5_000_000), Some(5_000_000));
        assert_eq!(ask(AHEAD + 4_999_999), None);
        for nonsense in [0, 1, u64::MAX] {
            assert_eq!(ask(nonsense), None);
        }
    }

    fn at(monotonic: u64, ahead: u64) -> Reading {
        Reading { monotonic, wall: monotonic + ahead }
    }
}
