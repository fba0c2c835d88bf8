//! Time: lengths of time ([`Nanos`]) and points in time ([`Instant`]).

use crate::parse::{Reader, Units};
use crate::{ParseError, show};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

/// A length of time in nanoseconds; up to about 584 years.
///
/// Parsed from `250ms`, `1.5s`, `100us`, `1m30s`; a number without a unit is an error. Displayed with three significant
/// digits (`12.3 us`) and, from a minute on, to the second (`1m30s`); `{:#}` is exact (`12.345 us`) and parses back to
/// the same value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Zero nanoseconds.
    pub const ZERO: Self = Self(0);
    /// The longest representable time; means "never" where a limit is switched off.
    pub const MAX: Self = Self(u64::MAX);

    /// A length of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// A length of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// A length of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// The length in seconds, for statistics and for display.
    #[expect(clippy::cast_precision_loss, reason = "exact below 2^53 ns, which is 104 days")]
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl FromStr for Nanos {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::read(&mut Reader::new(text, "250ms")?)
    }
}

impl Nanos {
    /// Parses the rest of a text.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let mut total = 0_u64;
        let mut previous = u64::MAX;
        while !reader.is_empty() {
            let number = reader.number()?;
            let factor = Self::unit(reader, number.typed)?;
            if factor >= previous {
                return Err(reader.error("must go from large units to small ones, as `1m30s` does"));
            }
            previous = factor;
            let part = reader.whole(number, factor, "nanoseconds")?;
            total = total.checked_add(part).ok_or_else(|| reader.too_large())?;
        }
        Ok(Self(total))
    }

    /// Reads a unit and returns its length in nanoseconds; `typed` is the number before it.
    pub(crate) fn unit(reader: &mut Reader<'_>, typed: &str) -> Result<u64, ParseError> {
        let unit = match reader.unit() {
            "" if reader.is_all(typed) => {
                return Err(reader.error(format_args!("has no unit; did you mean `{typed}s`?")));
            }
            "" => {
                return Err(reader
                    .error(format_args!("has no unit after `{typed}`; did you mean `{typed}s`?")));
            }
            "µs" | "μs" => "us",
            "min" => "m",
            unit => unit,
        };
        reader.factor(UNITS, typed, unit)
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = match (f.alternate(), show::three_digits(self.0)) {
            (true, _) => self.0,
            (false, short) if short < MINUTE => short,
            (false, _) => self.0.saturating_add(SECOND / 2) / SECOND * SECOND,
        };
        if rounded >= MINUTE {
            return f.pad(&minutes(rounded));
        }
        let (name, factor) =
            UNITS.iter().rev().find(|(_, factor)| rounded >= *factor).unwrap_or(&("ns", 1));
        f.pad(&format!("{} {name}", show::decimal(rounded, *factor)))
    }
}

/// `nanos` in hours, minutes and seconds, without those that are zero: `1h30m`, `1m1.5s`.
fn minutes(nanos: u64) -> String {
    let parts = [
        (nanos / HOUR > 0).then(|| format!("{}h", nanos / HOUR)),
        (nanos % HOUR >= MINUTE).then(|| format!("{}m", nanos % HOUR / MINUTE)),
        (!nanos.is_multiple_of(MINUTE))
            .then(|| format!("{}s", show::decimal(nanos % MINUTE, SECOND))),
    ];
    parts.into_iter().flatten().collect()
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
/// A plain number, so a test can write it down and a record can store it. The engine chooses the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

impl Instant {
    /// The beginning of the run.
    pub const START: Self = Self(0);
    /// An instant that is never reached.
    pub const NEVER: Self = Self(u64::MAX);

    /// The time from `earlier` to this instant; zero if this is not after it.
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

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const UNITS: Units =
    &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", SECOND), ("m", MINUTE), ("h", HOUR)];
