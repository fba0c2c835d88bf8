//! Rates: `count` times every `per`.

use crate::parse::Reader;
use crate::{Count, Nanos, ParseError};
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// The rate of something that happens `count` times every `per`.
///
/// Kept as a fraction so that "3 per second" and "1 per 90 s" are both exact; no `f64` reaches a schedule.
///
/// Parsed from `2000/s`, `10k/s`, `0.5/s`, `30/min`, `1/90s`; a number without `/` is an error, and so is `0/s`.
/// Displayed in the same form, exactly. `60/min` and `1/s` give the same schedule but are not equal.
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

    /// The number of times in every [`Rate::per`].
    pub const fn count(self) -> NonZeroU32 {
        self.count
    }

    /// The length of time in which it happens [`Rate::count`] times; never zero.
    pub const fn per(self) -> Nanos {
        self.per
    }

    /// The instant at which number `index` (from 0) is due, counted from the start.
    ///
    /// Computed from the index, never by adding gaps, so rounding errors do not accumulate.
    /// Saturates at `u64::MAX` nanoseconds, after about 584 years.
    pub fn due(self, index: u64) -> Nanos {
        let due = u128::from(index) * u128::from(self.per.0) / u128::from(self.count.get());
        Nanos(u64::try_from(due).unwrap_or(u64::MAX))
    }

    /// The rate per second, for statistics and for display.
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
            let count = text.trim().parse::<Count>().map_or(number.typed, |_| text.trim());
            return Err(reader.error(format_args!("is not a rate; did you mean `{count}/s`?")));
        }
        let multiple = Count::multiple(&mut reader, number.typed)?;
        if !reader.take('/') {
            return Err(reader.error("has no `/` after the count"));
        }
        let per = if reader.is_at_number() {
            Nanos::read(&mut reader)?
        } else {
            let unit = Nanos::unit(&mut reader, "1")?;
            reader.end()?;
            Nanos(unit)
        };
        if per == Nanos::ZERO {
            return Err(reader.error("has a period of zero"));
        }
        if number.whole == 0 && number.fraction == 0 {
            return Err(reader.error("is a rate of zero; the slowest rates are like `1/h`"));
        }
        let mut scale = 10_u128.pow(number.decimals);
        let count = u128::from(number.whole) * scale + u128::from(number.fraction);
        let mut count =
            count.checked_mul(u128::from(multiple)).ok_or_else(|| reader.too_large())?;
        // `21.1k/s` must equal 21100/s, which is shown as `21.1k/s`.
        while scale > 1 && count.is_multiple_of(10) {
            (count, scale) = (count / 10, scale / 10);
        }
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

/// `count` every `per` nanoseconds: unchanged if it fits, otherwise reduced; `None` if that does not fit either.
fn fraction(count: u128, per: u128) -> Option<Rate> {
    let fit = |count: u128, per: u128| {
        let count = NonZeroU32::new(u32::try_from(count).ok()?)?;
        Rate::new(count, Nanos(u64::try_from(per).ok()?))
    };
    let common = common_divisor(count, per);
    fit(count, per).or_else(|| fit(count / common, per / common))
}

/// The greatest common divisor (Euclid); neither number may be zero.
fn common_divisor(mut larger: u128, mut smaller: u128) -> u128 {
    while smaller > 0 {
        (larger, smaller) = (smaller, larger % smaller);
    }
    larger
}

/// The units that can follow the slash without a number.
const UNITS: &[&str] = &["ns", "us", "ms", "s", "h"];
