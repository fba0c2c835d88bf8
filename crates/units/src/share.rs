//! Shares of a whole.

use crate::{ParseError, Random};
use std::fmt;
use std::str::FromStr;

/// A share of all, in parts per million. Read and shown as `1%` or `0.01%`, from `0%` to `100%`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u32);

impl Share {
    /// None at all.
    pub const NONE: Self = Self(0);
    /// All.
    pub const ALL: Self = Self(MILLION);

    /// A share of `parts` in a million; `None` if that is more than all.
    pub const fn per_million(parts: u32) -> Option<Self> {
        if parts <= MILLION { Some(Self(parts)) } else { None }
    }

    /// The parts in a million.
    pub const fn millionths(self) -> u32 {
        self.0
    }

    /// The share as a number from 0 to 1.
    pub fn fraction(self) -> f64 {
        f64::from(self.0) / f64::from(MILLION)
    }

    /// True at random, with the share as its probability.
    pub fn draw(self, random: &mut Random) -> bool {
        random.below(MILLION as usize) < self.0 as usize
    }
}

impl FromStr for Share {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let no_percentage =
            || ParseError::new(text, "is not a percentage; write it like `1%` or `0.01%`");
        let number = text.trim().strip_suffix('%').ok_or_else(no_percentage)?.trim_end();
        if number.starts_with('-') {
            return Err(ParseError::new(text, "is negative; at least 0% are possible"));
        }
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if [whole, decimals].iter().any(|part| part.is_empty() || !are_digits(part)) {
            return Err(no_percentage());
        }
        let decimals = decimals.trim_end_matches('0');
        if decimals.len() > DECIMALS_MAX {
            return Err(ParseError::new(text, "is too fine; at most four decimals are read"));
        }
        // Padded with zeros, both are only digits: a failure means that the number is too large.
        let parts = format!("{whole}{decimals:0<DECIMALS_MAX$}").parse().ok();
        parts
            .and_then(Self::per_million)
            .ok_or_else(|| ParseError::new(text, "is more than all; at most 100% are possible"))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, decimals) = (self.0 / PERCENT, self.0 % PERCENT);
        let decimals = format!("{decimals:0>DECIMALS_MAX$}");
        match decimals.trim_end_matches('0') {
            "" => write!(f, "{whole}%"),
            decimals => write!(f, "{whole}.{decimals}%"),
        }
    }
}

const MILLION: u32 = 1_000_000;
const PERCENT: u32 = MILLION / 100;
/// The digits of a percentage after the point; `PERCENT` is ten to the power of it.
const DECIMALS_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_and_shown() {
        #[rustfmt::skip]
        let table = [
            ("0%",          Ok("0%")),
            ("1%",          Ok("1%")),
            ("12.5 %",      Ok("12.5%")),
            ("0.0001%",     Ok("0.0001%")),
            ("0.01000000%", Ok("0.01%")),
            ("100%",        Ok("100%")),
            ("100.0001%",   Err("`100.0001%` is more than all; at most 100% are possible")),
            ("99999999999999%", Err("`99999999999999%` is more than all; at most 100% are possible")),
            ("0.00001%",    Err("`0.00001%` is too fine; at most four decimals are read")),
            ("-1%",         Err("`-1%` is negative; at least 0% are possible")),
            ("0.01",        Err("`0.01` is not a percentage; write it like `1%` or `0.01%`")),
            ("%",           Err("`%` is not a percentage; write it like `1%` or `0.01%`")),
            (".5%",         Err("`.5%` is not a percentage; write it like `1%` or `0.01%`")),
            ("1e1%",        Err("`1e1%` is not a percentage; write it like `1%` or `0.01%`")),
        ];
        for (text, expected) in table {
            let shown = text.parse::<Share>().map(|share| share.to_string());
            let shown = shown.map_err(|error| error.to_string());
            assert_eq!(shown, expected.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn a_share_is_drawn_as_often_as_it_says() {
        let mut random = Random::new(3);
        let one_percent: Share = "1%".parse().unwrap();
        let hits = (0..100_000).filter(|_| one_percent.draw(&mut random)).count();
        assert!((900..1100).contains(&hits), "{hits}"); // Three standard deviations of 31 are 94.
        assert!((0..1000).all(|_| Share::ALL.draw(&mut random)));
        assert!(!(0..1000).any(|_| Share::NONE.draw(&mut random)));
    }
}
