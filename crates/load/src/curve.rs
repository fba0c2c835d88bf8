//! Arrivals counted along a rate that changes over time, exactly.
//!
//! All rates of a [`Profile`] are whole numbers of *units* in a nanosecond, and an arrival is [`Curve::per`] units. So
//! the number of units before an instant is a polynomial with integer coefficients in each piece, and the instant of an
//! arrival follows from its index: by a division where the rate is constant, by the root of a quadratic where it
//! changes. Only the result is rounded, down to a nanosecond.

use spec::Profile;
use units::{Nanos, Rate};

/// The arrivals of a [`Profile`].
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    /// Units of one arrival.
    per: u64,
    /// The largest number of units in a nanosecond.
    peak: u128,
    /// The segments by their start; the last has no end.
    segments: Box<[Segment]>,
}

/// A piece of the profile.
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: u64,
    /// Units before its start.
    before: u128,
    /// Units in a nanosecond at its start.
    from: u128,
    ramp: Option<Ramp>,
}

/// A change of the rate over a segment.
#[derive(Clone, Copy, Debug)]
struct Ramp {
    length: u64,
    /// Half of the difference between the rates at its ends, which is a whole number of units.
    half_change: u128,
    rises: bool,
}

impl Curve {
    pub(crate) fn new(profile: &Profile) -> Self {
        let per = profile.common_per().0;
        let units = |rate: Option<Rate>| {
            let units = |rate: Rate| {
                u128::from(rate.count().get()) * u128::from(per) / u128::from(rate.per().0)
            };
            rate.map_or(0, units)
        };
        let mut segments = Vec::with_capacity(profile.pieces().len() + 1);
        let (mut start, mut before) = (0_u64, 0_u128);
        for piece in profile.pieces() {
            let (from, to) = (units(piece.from), units(piece.to));
            let length = piece.length.unwrap_or(Nanos::MAX).0;
            let half_change = from.abs_diff(to) / 2;
            let ramp = piece.is_ramp().then_some(Ramp { length, half_change, rises: to > from });
            segments.push(Segment { start, before, from, ramp });
            start = start.saturating_add(length);
            before = before.saturating_add(from.midpoint(to).saturating_mul(length.into()));
        }
        if profile.length().is_some() {
            segments.push(Segment { start, before, from: 0, ramp: None });
        }
        Self { per, peak: units(Some(profile.peak())), segments: segments.into() }
    }

    /// The same curve up to `at`, and `rate` from then on, without end; also the number of new units in an old one,
    /// which is more than 1 if `rate` needs finer ones. `None` if no unit is fine enough for both.
    pub(crate) fn changed(&self, at: Nanos, rate: Rate) -> Option<(Self, u128)> {
        let own = Profile::from(rate).common_per().0;
        let factor = own / common_divisor(own, self.per);
        let per = self.per.checked_mul(factor)?;
        let factor = u128::from(factor);
        let from =
            u128::from(rate.count().get()).checked_mul(per.into())? / u128::from(rate.per().0);
        let scaled = |segment: &Segment| {
            let ramp = match segment.ramp {
                Some(ramp) => {
                    Some(Ramp { half_change: ramp.half_change.checked_mul(factor)?, ..ramp })
                }
                None => None,
            };
            let (before, from) =
                (segment.before.checked_mul(factor)?, segment.from.checked_mul(factor)?);
            Some(Segment { before, from, ramp, ..*segment })
        };
        let kept = self.segments.iter().filter(|segment| segment.start < at.0).map(scaled);
        let segments = kept.collect::<Option<Box<[Segment]>>>()?;
        let peak = self.peak.checked_mul(factor)?.max(from);
        let until = Self { per, peak, segments };
        let before = until.units_before(at);
        let last = Segment { start: at.0, before, from, ramp: None };
        let segments = until.segments.iter().copied().chain([last]).collect();
        Some((Self { segments, ..until }, factor))
    }

    /// Units of one arrival.
    #[inline]
    pub(crate) fn per(&self) -> u64 {
        self.per
    }

    /// The largest number of units in a nanosecond.
    pub(crate) fn peak(&self) -> u128 {
        self.peak
    }

    /// The instant of arrival number `index`, from 0; [`Nanos::MAX`] if there are not that many.
    #[inline]
    pub(crate) fn due(&self, index: u64) -> Nanos {
        self.instant(u128::from(index) * u128::from(self.per))
    }

    /// The last instant with at most this many units before it, in whole nanoseconds.
    #[inline]
    pub(crate) fn instant(&self, units: u128) -> Nanos {
        let index = self.segments.partition_point(|segment| segment.before <= units) - 1;
        let Segment { start, before, from, ramp } = self.segments[index];
        let units = units - before;
        let since = match ramp {
            None if from == 0 => return Nanos::MAX,
            None => u64::try_from(units / from).unwrap_or(u64::MAX),
            Some(ramp) => ramp.solve(from, units),
        };
        Nanos(start.saturating_add(since))
    }

    /// The units before `at`, rounded up: a smaller number of units belongs to an earlier instant.
    pub(crate) fn units_before(&self, at: Nanos) -> u128 {
        let index = self.segments.partition_point(|segment| segment.start <= at.0) - 1;
        let Segment { start, before, from, ramp } = self.segments[index];
        let since = at.0 - start;
        let units = match ramp {
            None => from.saturating_mul(since.into()),
            Some(ramp) => ramp.scaled(from, since).div_ceil(ramp.length.into()),
        };
        before.saturating_add(units)
    }

    /// The number of arrivals before `at`.
    pub(crate) fn count_before(&self, at: Nanos) -> u64 {
        let count = self.units_before(at).div_ceil(self.per.into());
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}

impl Ramp {
    /// The units in the first `since` nanoseconds, times its length. A [`Profile`] has no ramp for which this
    /// overflows.
    #[inline]
    fn scaled(self, from: u128, since: u64) -> u128 {
        let (length, since) = (u128::from(self.length), u128::from(since));
        let (even, change) = (from * length, self.half_change * since);
        since * if self.rises { even + change } else { even - change }
    }

    /// The last nanosecond with at most `units` before it.
    fn solve(self, from: u128, units: u128) -> u64 {
        let scaled = units * u128::from(self.length);
        let (mut low, mut high) = (0, self.length);
        while high - low > 1 {
            let middle = low.midpoint(high);
            *(if self.scaled(from, middle) <= scaled { &mut low } else { &mut high }) = middle;
        }
        low
    }
}

fn common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { common_divisor(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Random;

    fn curve(profile: &str) -> Curve {
        Curve::new(&profile.parse().unwrap_or_else(|error| panic!("{profile}: {error}")))
    }

    #[test]
    fn due_instants_are_those_of_the_formula() {
        #[rustfmt::skip]
        let table = [
            // profile,                          index,  due in ns
            ("3/s",                                  1,            333_333_333),
            ("3/s",                                  3,          1_000_000_000), // Whole again.
            ("1/90s",                                2,        180_000_000_000),
            ("1/s",                           u64::MAX,               u64::MAX), // Saturates.
            // A step: 10 arrivals in the first second, then one each 100th of a second.
            ("10/s for 1s, 100/s",                   9,            900_000_000),
            ("10/s for 1s, 100/s",                  10,          1_000_000_000),
            ("10/s for 1s, 100/s",                  11,          1_010_000_000),
            // A pause has no arrivals, and the arrival at its begin is due at its end.
            ("10/s for 1s, 0/s for 5s, 10/s",        9,            900_000_000),
            ("10/s for 1s, 0/s for 5s, 10/s",       10,          6_000_000_000),
            ("0/s for 5s, 10/s",                     0,          5_000_000_000),
            // An end.
            ("10/s for 1s",                          9,            900_000_000),
            ("10/s for 1s",                         10,               u64::MAX),
            // From nothing: t = sqrt(2 k T / rate). 50 in all.
            ("0/s..10/s over 10s",                   0,                      0),
            ("0/s..10/s over 10s",                   1,          1_414_213_562),
            ("0/s..10/s over 10s",                   2,          2_000_000_000),
            ("0/s..10/s over 10s",                  49,          9_899_494_936),
            ("0/s..10/s over 10s, 10/s",            50,         10_000_000_000),
            ("0/s..10/s over 10s",                  50,               u64::MAX),
            // To nothing: the same, reversed.
            ("10/s..0/s over 10s",                   1,            100_505_063),
            ("10/s..0/s over 10s",                  48,          8_000_000_000),
            ("10/s..0/s over 10s",                  50,               u64::MAX),
            // 100 t + 50 t^2 = 250: t = sqrt(6) - 1.
            ("100/s..200/s over 1s, 100/s..200/s over 1s", 150,  1_000_000_000),
            ("100/s..300/s over 2s",               250,          1_449_489_742),
        ];
        for (profile, index, due) in table {
            assert_eq!(curve(profile).due(index), Nanos(due), "{profile} {index}");
        }
    }

    #[test]
    fn counts_and_instants_are_inverse_to_each_other() {
        let mut random = Random::new(11);
        let rates = ["0/s", "1/s", "7/3s", "30/min", "999983/s", "4G/s"];
        let lengths = ["1ns", "999ns", "250ms", "90s", "1h"];
        let mut tried = 0;
        for _ in 0..2000 {
            let mut draw = |from: &[&'static str]| from[random.below(from.len())];
            let pieces = [(); 4].map(|()| {
                let (from, to, length) = (draw(&rates), draw(&rates), draw(&lengths));
                format!("{from}..{to} over {length}")
            });
            let text = format!("{}, {}", pieces.join(", "), rates[1 + random.below(5)]);
            let Ok(profile) = text.parse::<Profile>() else { continue };
            tried += 1;
            let curve = Curve::new(&profile);
            for _ in 0..20 {
                let at = Nanos(random.next_u64() % (2 * profile_length(&curve)));
                let count = curve.count_before(at);
                // Arrival number `count` is the first that is not due before that instant.
                assert!(curve.due(count) >= at, "{text}: {at:#}");
                if let Some(last) = count.checked_sub(1) {
                    assert!(curve.due(last) < at, "{text}: {at:#}");
                }
                let units = curve.units_before(at);
                assert!(curve.instant(units) >= at, "{text}: {at:#}");
                assert!(units == 0 || curve.instant(units - 1) < at, "{text}: {at:#}");
            }
        }
        assert!(tried > 1000, "{tried} of those profiles can be scheduled");
    }

    #[test]
    fn as_many_arrivals_are_due_as_the_area_under_the_rate_has() {
        #[rustfmt::skip]
        let table = [
            ("100/s..10k/s over 1m, 10k/s for 5m",  60,    303_000),
            ("100/s..10k/s over 1m, 10k/s for 5m", 360,  3_303_000),
            ("100/s..10k/s over 1m, 10k/s for 5m", 999,  3_303_000),
            ("1k/s for 10s, 5k/s for 1s, 1k/s",     21,     25_000),
            ("10k/s..0/s over 1h",                3600, 18_000_000),
        ];
        for (profile, secs, count) in table {
            assert_eq!(curve(profile).count_before(Nanos::from_secs(secs)), count, "{profile}");
        }
    }

    /// The start of the last segment, at least one second.
    fn profile_length(curve: &Curve) -> u64 {
        curve.segments.last().unwrap().start.max(1_000_000_000)
    }
}
