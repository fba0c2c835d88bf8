//! Limits of numbers: in the unit of the number, or relative to that of a baseline.
//!
//! Left out: the comparison that a limit belongs to, which is [`crate::Requirement`].

use crate::{Metric, suggestions};
use std::fmt;
use std::str::FromStr;
use units::{Bytes, Nanos, Rate, Share};

/// A limit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Relative: the number of an earlier record, times a factor.
    Baseline(Factor),
    /// A limit of bytes, for each message or connection.
    Bytes(Bytes),
    /// A limit of messages per second.
    Rate(Rate),
    /// A limit of a share, e.g. of messages.
    Share(Share),
    /// A limit of a time, or of CPU time.
    Time(Nanos),
}

impl Limit {
    /// Reads a limit that begins with a word: `baseline`, or `baseline * 1.05`. `None` if it does not begin with a
    /// word.
    fn relative(metric: Metric, text: &str) -> Option<Result<Self, String>> {
        let is_of_word = |letter: char| letter.is_alphabetic() || letter == '_';
        let end = text.find(|letter| !is_of_word(letter)).unwrap_or(text.len());
        let (word, rest) = (&text[..end], text[end..].trim());
        if word.is_empty() {
            return None;
        }
        Some(match (word, rest.strip_prefix('*')) {
            (BASELINE, _) if !metric.has_interval() => Err(format!(
                "{metric} has no interval, so noise cannot be distinguished from a change; name a limit in its own unit"
            )),
            (BASELINE, _) if rest.is_empty() => Ok(Self::Baseline(Factor(ONE))),
            (BASELINE, Some(factor)) => factor.trim().parse().map(Self::Baseline),
            (BASELINE, None) => Err(format!("`{rest}` after `{BASELINE}`; expected `* 1.05`")),
            (other, _) => {
                let meant = suggestions::expected(other, [BASELINE].into_iter());
                Err(format!("`{other}` is not a limit{meant}"))
            }
        })
    }

    /// Reads a limit of `metric`.
    pub(crate) fn of(metric: Metric, text: &str) -> Result<Self, String> {
        let relative = Self::relative(metric, text);
        relative.unwrap_or_else(|| Self::in_unit(metric, text).map_err(|error| error.to_string()))
    }

    /// Reads a limit in the unit of `metric`.
    fn in_unit(metric: Metric, text: &str) -> Result<Self, units::ParseError> {
        match metric {
            Metric::P50
            | Metric::P90
            | Metric::P99
            | Metric::P999
            | Metric::CpuPerMessage
            | Metric::GeneratorCpuPerMessage
            | Metric::Recovery => text.parse().map(Self::Time),
            Metric::MessagesPerS => text.parse().map(Self::Rate),
            Metric::BytesPerMessage | Metric::MemoryPerConnection => text.parse().map(Self::Bytes),
            Metric::ErrorRate
            | Metric::RefusedRate
            | Metric::AchievedOfOffered
            | Metric::ServerCpu => text.parse().map(Self::Share),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Baseline(Factor(ONE)) => return f.write_str(BASELINE),
            Self::Baseline(factor) => return write!(f, "{BASELINE} * {factor}"),
            Self::Bytes(bytes) => format!("{bytes:#}"),
            Self::Rate(rate) => format!("{rate:#}"),
            Self::Share(share) => share.to_string(),
            Self::Time(time) => format!("{time:#}"),
        };
        f.write_str(&text.replace(' ', ""))
    }
}

/// A factor, in ten-thousandths. Read and shown as `1.05`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor(u32);

impl Factor {
    /// The factor as a number.
    pub fn value(self) -> f64 {
        f64::from(self.0) / f64::from(ONE)
    }
}

impl FromStr for Factor {
    type Err = String;

    /// Reads digits with at most four decimals, above zero and at most 1000.
    fn from_str(text: &str) -> Result<Self, String> {
        let no_factor = || {
            format!("`{text}` is not a factor; expected a number from 0.0001 to 1000, as in `1.05`")
        };
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let is_number = [whole, decimals].iter().all(|part| !part.is_empty() && are_digits(part));
        if !is_number || decimals.len() > DECIMALS {
            return Err(no_factor());
        }
        let parts: Option<u32> = format!("{whole}{decimals:0<DECIMALS$}").parse().ok();
        let parts = parts.filter(|parts| (1..=FACTOR_MAX * ONE).contains(parts));
        parts.map(Self).ok_or_else(no_factor)
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = format!("{:0>DECIMALS$}", self.0 % ONE);
        let decimals = decimals.trim_end_matches('0');
        write!(f, "{}.{decimals:0<2}", self.0 / ONE)
    }
}

/// The number of decimals of a factor, and the parts of the factor 1.
const DECIMALS: usize = 4;
const ONE: u32 = 10_000;
/// The largest factor.
const FACTOR_MAX: u32 = 1000;

/// The word for the number of an earlier record.
const BASELINE: &str = "baseline";
