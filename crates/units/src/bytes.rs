//! Sizes in bytes.

use crate::parse::{Reader, Units};
use crate::{ParseError, show};
use std::fmt;
use std::str::FromStr;

/// A number of bytes.
///
/// Parsed from `64`, `64B`, `64KiB` (units of 1024) or `64kB` (units of 1000); `64K` is ambiguous and an error.
/// Displayed in units of 1024 with three significant digits (`1.5 KiB`); `{:#}` is exact (`1537 B`) and parses back to
/// the same value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut reader = Reader::new(text, "64KiB")?;
        let number = reader.number()?;
        let unit = reader.unit();
        reader.end()?;
        if unit.is_empty() {
            return reader.whole(number, 1, "bytes").map(Self);
        }
        let factor = reader.factor(UNITS, number.typed, unit).map_err(|unknown| {
            two_meanings(unit).map_or(unknown, |[binary, decimal]| {
                let typed = number.typed;
                reader.error(format_args!(
                    "is ambiguous; did you mean `{typed}{binary}` or `{typed}{decimal}`?"
                ))
            })
        })?;
        reader.whole(number, factor, "bytes").map(Self)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            let fits =
                |(_, factor): &&(&str, u64)| self.0 >= *factor && self.0.is_multiple_of(*factor);
            let (name, factor) = BINARY.iter().rev().find(fits).unwrap_or(&("B", 1));
            return f.pad(&format!("{} {name}", self.0 / factor));
        }
        // A value that would round to 1024 of a unit is shown as 1 of the next unit.
        let small =
            |(_, factor): &&(&str, u64)| u128::from(self.0) * 2 < u128::from(*factor) * 2047;
        let (name, factor) = BINARY.iter().find(small).unwrap_or(&("TiB", 1 << 40));
        f.pad(&format!("{} {name}", show::quotient(self.0, *factor)))
    }
}

/// The two meanings of an ambiguous `unit`: units of 1024 and units of 1000.
fn two_meanings(unit: &str) -> Option<[&'static str; 2]> {
    match unit.to_ascii_lowercase().as_str() {
        "k" | "kb" => Some(["KiB", "kB"]),
        "m" | "mb" => Some(["MiB", "MB"]),
        "g" | "gb" => Some(["GiB", "GB"]),
        "t" | "tb" => Some(["TiB", "TB"]),
        _ => None,
    }
}

const BINARY: Units =
    &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];
const UNITS: Units = &[
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];
