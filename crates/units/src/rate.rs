//! How often: `count` every `per`.

use crate::parse::Reader;
use crate::{Count, Nanos, ParseError};
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// How often something happens: `count` times every `per`.
///
/// Kept as a fraction so that "3 per second" and "1 per 90 s" are both exact; no `f64` reaches a schedule.
///
/// Read as `2000/s`, `10k/s`, `0.5/s`, `30/min`, `1/90s`; a number alone is an error, as is never (`0/s`).
/// Shown in the same way, and exactly. `60/min` and `1/s` are due alike but are not equal.
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

    /// How many times every [`Rate::per`].
    pub const fn count(self) -> NonZeroU32 {
        self.count
    }

    /// The time in which it happens [`Rate::count`] times; never zero.
    pub const fn per(self) -> Nanos {
        self.per
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

impl FromStr for Rate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut reader = Reader::new(text, "2000/s")?;
        let number = reader.number()?;
        if !text.contains('/') {
            return Err(
                reader.error(format_args!("is not a rate; did you mean `{}/s`?", number.typed))
            );
        }
        let multiple = Count::multiple(&mut reader, number.typed)?;
        if !reader.take('/') {
            return Err(reader.error("has something else than `/` after the count"));
        }
        let per = if reader.is_at_number() {
            Nanos::read(&mut reader)?
        } else {
            let unit = Nanos::unit(&mut reader, "1")?;
            reader.end()?;
            Nanos(unit)
        };
        if per == Nanos::ZERO {
            return Err(reader.error("is so often in no time at all"));
        }
        if number.whole == 0 && number.fraction == 0 {
            return Err(reader.error("is never"));
        }
        let scale = 10_u128.pow(number.decimals);
        let count = u128::from(number.whole) * scale + u128::from(number.fraction);
        let count = count.checked_mul(u128::from(multiple)).ok_or_else(|| reader.too_large())?;
        fraction(count, u128::from(per.0) * scale).ok_or_else(|| {
            reader.error("does not fit; the largest rates are 4 G/ns, the finest have 9 digits")
        })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per = match format!("{:#}", self.per).replace(' ', "").as_str() {
            "1m" => "min".to_owned(),
            per => {
                per.strip_prefix('1').filter(|unit| UNITS.contains(unit)).unwrap_or(per).to_owned()
            }
        };
        f.pad(&format!("{}/{per}", Count(u64::from(self.count.get()))))
    }
}

/// `count` every `per` nanoseconds: as it is if it fits, else in lowest terms, if those fit.
fn fraction(count: u128, per: u128) -> Option<Rate> {
    let fit = |count: u128, per: u128| {
        let count = NonZeroU32::new(u32::try_from(count).ok()?)?;
        Rate::new(count, Nanos(u64::try_from(per).ok()?))
    };
    let common = common_divisor(count, per);
    fit(count, per).or_else(|| fit(count / common, per / common))
}

/// The greatest number that divides both (Euclid); neither may be zero.
fn common_divisor(mut larger: u128, mut smaller: u128) -> u128 {
    while smaller > 0 {
        (larger, smaller) = (smaller, larger % smaller);
    }
    larger
}

/// What can stand after the slash without a number.
const UNITS: &[&str] = &["ns", "us", "ms", "s", "h"];
