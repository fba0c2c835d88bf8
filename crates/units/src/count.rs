//! Counts, as people type them.

use crate::parse::{Reader, Units};
use crate::{ParseError, show};
use std::fmt;
use std::str::FromStr;

/// A number of things: `50`, `10k`, `1M`.
///
/// Parsed with `k`, `M` and `G` for thousands, millions and (US) billions, and with `_` between digits. `K` means `k`:
/// nobody counts connections in units of 1024. Displayed exactly: with a suffix from 10 000 on where three digits are
/// enough (`12.5k`), otherwise in full (`12345`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Count(pub u64);

impl FromStr for Count {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut reader = Reader::new(text, "10k")?;
        let number = reader.number()?;
        let multiple = Self::multiple(&mut reader, number.typed)?;
        reader.end()?;
        reader.whole(number, multiple, "things").map(Self)
    }
}

impl Count {
    /// Reads an optional `k`, `M` or `G` and returns its factor, 1 if there is none; `typed` is the number before it.
    pub(crate) fn multiple(reader: &mut Reader<'_>, typed: &str) -> Result<u64, ParseError> {
        match reader.unit() {
            "" => Ok(1),
            unit => reader.factor(UNITS, typed, unit),
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = UNITS.iter().rev().find(|(_, factor)| self.0 >= *factor);
        match unit {
            Some((name, factor)) if self.0 >= SHORT_MIN && show::three_digits(self.0) == self.0 => {
                f.pad(&format!("{}{name}", show::decimal(self.0, *factor)))
            }
            _ => f.pad(&self.0.to_string()),
        }
    }
}

const UNITS: Units = &[("K", 1_000), ("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];
/// The smallest number that is shown with a suffix; below it the plain digits are as short.
const SHORT_MIN: u64 = 10_000;
