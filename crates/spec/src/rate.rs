//! Rates that change over time: constant pieces, steps and ramps, one after the other.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use units::{Nanos, ParseError, Rate};

/// A rate over time: piecewise linear, from the start of the schedule on.
///
/// Read as `2000/s` (without end), `2000/s for 5m`, `100/s..10k/s over 1m`, or several of these with commas between
/// them: `100/s..10k/s over 1m, 10k/s for 5m`. Only the last piece can be without end; after a last piece with an end,
/// nothing is due. `0/s` is a pause. Shown in the same way, and exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The pieces, at least one; all but the last have a length.
    pieces: Vec<Piece>,
    common_per: Nanos,
}

/// A part of a [`Profile`], in which the rate changes evenly from one value to another, or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The rate at the beginning; `None` is `0/s`.
    pub from: Option<Rate>,
    /// The rate at the end; `None` is `0/s`.
    pub to: Option<Rate>,
    /// Its length; `None` is without end, for a constant rate.
    pub length: Option<Nanos>,
}

/// The reason why a rate over time cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// A piece other than the last, or a ramp, has no length.
    #[error(
        "`{0}` needs a length: `2000/s for 5m` or `100/s..10k/s over 1m` \
         (only a constant rate at the very end goes on without one)"
    )]
    Endless(String),
    /// No piece has a rate above zero, or there is no piece.
    #[error("no message is ever due; give a rate, e.g. `2000/s`")]
    Never,
    /// A rate or a length cannot be read.
    #[error(transparent)]
    Quantity(#[from] ParseError),
    /// The due instants cannot be computed with 128 bits.
    #[error(
        "`{0}` cannot be scheduled exactly: its rates, or its ramps, need more than 128 bits; \
         use rates with one unit (`/s`) or shorter ramps"
    )]
    TooFine(String),
    /// A piece has a length of zero.
    #[error("`{0}` lasts no time; leave it out")]
    TooShort(String),
}

impl Profile {
    /// A rate made of `pieces`.
    ///
    /// # Errors
    ///
    /// A piece has no length where it needs one, or length zero; nothing is ever due; or the due instants would not be
    /// exact.
    pub fn new(pieces: Vec<Piece>) -> Result<Self, ProfileError> {
        let last = pieces.len().saturating_sub(1);
        for (index, piece) in pieces.iter().enumerate() {
            match piece.length {
                None if index < last || piece.is_ramp() => {
                    return Err(ProfileError::Endless(piece.to_string()));
                }
                Some(Nanos::ZERO) => return Err(ProfileError::TooShort(piece.to_string())),
                None | Some(_) => {}
            }
        }
        if pieces.iter().all(|piece| piece.peak().is_none()) {
            return Err(ProfileError::Never);
        }
        match common_per(&pieces) {
            Some(common_per) => Ok(Self { pieces, common_per }),
            None => Err(ProfileError::TooFine(joined(&pieces))),
        }
    }

    /// The same preceded by `length` at the rate that it begins with.
    #[must_use]
    pub fn after_warm_up(&self, length: Nanos) -> Self {
        let first = self.pieces[0];
        if self.constant().is_some() || length == Nanos::ZERO {
            return self.clone();
        }
        let warm_up = Piece { from: first.from, to: first.from, length: Some(length) };
        let mut pieces = vec![warm_up];
        pieces.extend_from_slice(&self.pieces);
        Self { pieces, ..*self }
    }

    /// The same preceded by a ramp of `length`, from nothing to the rate that it begins with; without a ramp
    /// ([`Profile::after_warm_up`]) where the due instants would not be exact.
    #[must_use]
    pub fn after_ramp(&self, length: Nanos) -> Self {
        let to = self.pieces[0].from;
        let mut pieces = vec![Piece { from: None, to, length: Some(length) }];
        pieces.extend_from_slice(&self.pieces);
        Self::new(pieces).unwrap_or_else(|_| self.after_warm_up(length))
    }

    /// The sum of `count` of these rates; `None` if it is too high to be scheduled exactly.
    #[must_use]
    pub fn times(&self, count: NonZeroU32) -> Option<Self> {
        let times = |rate: Rate| Rate::new(rate.count().checked_mul(count)?, rate.per());
        let end = |rate: Option<Rate>| match rate {
            Some(rate) => times(rate).map(Some),
            None => Some(None),
        };
        let pieces = self.pieces.iter().map(|piece| {
            Some(Piece { from: end(piece.from)?, to: end(piece.to)?, length: piece.length })
        });
        Self::new(pieces.collect::<Option<_>>()?).ok()
    }

    /// Its pieces, at least one, in their order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The rate, if it never changes or ends.
    pub fn constant(&self) -> Option<Rate> {
        match self.pieces[..] {
            [Piece { from, length: None, .. }] => from,
            _ => None,
        }
    }

    /// The length of all pieces together; `None` is without end.
    pub fn length(&self) -> Option<Nanos> {
        let lengths = self.pieces.iter().map(|piece| piece.length.map(|length| length.0));
        lengths.sum::<Option<u64>>().map(Nanos)
    }

    /// The highest rate that it has at any time.
    pub fn peak(&self) -> Rate {
        let peaks = self.pieces.iter().filter_map(|piece| piece.peak());
        peaks.reduce(faster).expect("some piece has a rate above zero")
    }

    /// The mean number of arrivals a second, over all pieces, or of the last piece if that has no end. For statistics
    /// and for display.
    pub fn per_second(&self) -> f64 {
        let level = |rate: Option<Rate>| rate.map_or(0.0, Rate::per_second);
        let Some(length) = self.length() else {
            return self.pieces.last().map_or(0.0, |last| level(last.to));
        };
        let arrivals = self.pieces.iter().map(|piece| {
            let mean = f64::midpoint(level(piece.from), level(piece.to));
            mean * piece.length.unwrap_or(Nanos::ZERO).as_secs_f64()
        });
        arrivals.sum::<f64>() / length.as_secs_f64()
    }

    /// A time in which each of its rates has a whole number of arrivals; an even one, if it has ramps. With it the
    /// arrivals before any instant can be counted exactly, in 128 bits.
    pub const fn common_per(&self) -> Nanos {
        self.common_per
    }
}

impl Piece {
    /// True if the rate changes in it.
    pub fn is_ramp(&self) -> bool {
        self.from != self.to
    }

    fn peak(&self) -> Option<Rate> {
        match (self.from, self.to) {
            (Some(from), Some(to)) => Some(faster(from, to)),
            (from, to) => from.or(to),
        }
    }
}

impl From<Rate> for Profile {
    fn from(rate: Rate) -> Self {
        let piece = Piece { from: Some(rate), to: Some(rate), length: None };
        Self { pieces: vec![piece], common_per: Nanos(in_lowest_terms(rate).1) }
    }
}

impl FromStr for Profile {
    type Err = ProfileError;

    fn from_str(text: &str) -> Result<Self, ProfileError> {
        Self::new(text.split(',').map(str::parse).collect::<Result<_, _>>()?)
    }
}

impl FromStr for Piece {
    type Err = ProfileError;

    fn from_str(text: &str) -> Result<Self, ProfileError> {
        let text = text.trim();
        let timed = text.split_once(" over ").or_else(|| text.split_once(" for "));
        let (levels, length) = timed.unwrap_or((text, ""));
        let (from, to) = levels.split_once("..").unwrap_or((levels, levels));
        let length = if timed.is_some() { Some(length.parse()?) } else { None };
        Ok(Self { from: level(from)?, to: level(to)?, length })
    }
}

/// A rate, or `0/s`.
fn level(text: &str) -> Result<Option<Rate>, ParseError> {
    match text.trim().strip_prefix("0/") {
        Some(unit) => format!("1/{unit}").parse::<Rate>().map(|_| None),
        None => text.parse().map(Some),
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&joined(&self.pieces))
    }
}

fn joined(pieces: &[Piece]) -> String {
    pieces.iter().map(Piece::to_string).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = |rate: Option<Rate>| rate.map_or_else(|| "0/s".to_owned(), |it| it.to_string());
        f.write_str(&level(self.from))?;
        if self.is_ramp() {
            write!(f, "..{}", level(self.to))?;
        }
        let Some(length) = self.length else { return Ok(()) };
        let word = if self.is_ramp() { "over" } else { "for" };
        write!(f, " {word} {}", format!("{length:#}").replace(' ', ""))
    }
}

impl Serialize for Profile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Profile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Profile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{ABOUT}, e.g. \"{EXAMPLE}\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Profile, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl JsonSchema for Profile {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Profile".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": ABOUT, "examples": ["2000/s", EXAMPLE] })
    }
}

const ABOUT: &str = "a rate, or pieces of rates over time";
const EXAMPLE: &str = "100/s..10k/s over 1m, 10k/s for 5m";

/// See [`Profile::common_per`]; `None` if something does not fit.
fn common_per(pieces: &[Piece]) -> Option<Nanos> {
    let mut common = 1_u64;
    for rate in pieces.iter().flat_map(|piece| [piece.from, piece.to]).flatten() {
        let (_, per) = in_lowest_terms(rate);
        common = (common / common_divisor(common, per)).checked_mul(per)?;
    }
    if pieces.iter().any(Piece::is_ramp) {
        common = common.checked_mul(2)?;
    }
    let count = |rate: Option<Rate>| {
        let count = |rate: Rate| u128::from(rate.count().get()) * u128::from(common);
        rate.map_or(0, |rate| count(rate) / u128::from(rate.per().0))
    };
    let (mut arrivals, mut end) = (0_u128, 0_u64);
    for piece in pieces {
        let Some(length) = piece.length else { continue };
        let (from, to) = (count(piece.from), count(piece.to));
        let area = if piece.is_ramp() {
            let highest = from.max(to).checked_mul(length.0.into())?;
            highest.checked_mul(length.0.into())?; // A ramp is solved with this product.
            from.midpoint(to) * u128::from(length.0)
        } else {
            from.checked_mul(length.0.into())?
        };
        arrivals = arrivals.checked_add(area)?;
        end = end.checked_add(length.0)?;
    }
    (arrivals / u128::from(common) < u64::MAX.into()).then_some(Nanos(common))
}

/// `rate` as a count and the number of nanoseconds that it takes, in lowest terms.
fn in_lowest_terms(rate: Rate) -> (u64, u64) {
    let (count, per) = (u64::from(rate.count().get()), rate.per().0);
    let common = common_divisor(count, per);
    (count / common, per / common)
}

/// The greatest common divisor (Euclid); `larger` may be the smaller one.
fn common_divisor(mut larger: u64, mut smaller: u64) -> u64 {
    while smaller > 0 {
        (larger, smaller) = (smaller, larger % smaller);
    }
    larger
}

fn faster(one: Rate, other: Rate) -> Rate {
    let scaled = |rate: Rate, per: Nanos| u128::from(rate.count().get()) * u128::from(per.0);
    if scaled(other, one.per()) > scaled(one, other.per()) { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(text: &str) -> Profile {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn a_profile_is_shown_as_it_is_typed() {
        for text in [
            "2000/s",
            "2000/s for 5m",
            "100/s..10k/s over 1m, 10k/s for 5m",
            "0/s for 10s, 30/min for 1m30s, 1/s..0/s over 250ms",
            "0/s..4G/s over 10s, 7/3s",
        ] {
            assert_eq!(profile(text).to_string(), text);
            let json = serde_json::to_string(&profile(text)).unwrap();
            assert_eq!(json, format!("{text:?}"));
            assert_eq!(serde_json::from_str::<Profile>(&json).unwrap(), profile(text));
        }
        assert_eq!(profile(" 2000/s..2000/s  over 1m,1k/s ").to_string(), "2000/s for 1m, 1000/s");
    }

    #[test]
    fn what_is_wrong_is_named_with_what_to_do() {
        for (text, expected) in [
            ("", "`` is empty; try `2000/s`"),
            ("100/s, 200/s", "`100/s` needs a length: `2000/s for 5m` or"),
            ("100/s..200/s", "`100/s..200/s` needs a length"),
            ("100/s for 0s, 200/s", "`100/s for 0ns` lasts no time"),
            ("100/s for 5", "did you mean `5s`?"),
            ("0/s for 5s", "no message is ever due"),
            ("2000", "did you mean `2000/s`?"),
            ("1/s..4294967291/999999937ns over 100h", "cannot be scheduled exactly"),
            ("1/18446744073709551557ns for 1s, 1/s", "cannot be scheduled exactly"),
        ] {
            let error = text.parse::<Profile>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let error = serde_json::from_str::<Profile>("7").unwrap_err().to_string();
        assert!(error.contains("expected a rate, or pieces of rates over time, e.g."), "{error}");
    }

    #[test]
    fn a_ramp_leads_from_nothing_to_the_rate_that_the_profile_begins_with() {
        let ramped = |text: &str| profile(text).after_ramp(Nanos::from_secs(5));
        assert_eq!(ramped("2000/s"), profile("0/s..2000/s over 5s, 2000/s"));
        let steps = "100/s for 2s, 1k/s for 2s";
        assert_eq!(ramped(steps), profile(&format!("0/s..100/s over 5s, {steps}")));
        assert_eq!(profile("2000/s").after_ramp(Nanos::ZERO), profile("2000/s"));
    }

    #[test]
    fn length_peak_and_mean_are_those_of_all_pieces() {
        let ramp = profile("100/s..10k/s over 1m, 10k/s for 4m");
        assert_eq!(ramp.length(), Some(Nanos::from_secs(300)));
        assert_eq!(ramp.peak(), "10k/s".parse().unwrap());
        assert!((ramp.per_second() - (5050.0 * 60.0 + 10_000.0 * 240.0) / 300.0).abs() < 1e-9);
        assert_eq!(ramp.constant(), None);
        let step = profile("100/s for 1s, 30/min");
        assert_eq!((step.length(), step.constant()), (None, None));
        assert!((step.per_second() - 0.5).abs() < 1e-12);
        let plain = profile("2000/s");
        assert_eq!(plain.constant(), Some("2000/s".parse().unwrap()));
        assert_eq!(plain, Profile::from("2000/s".parse::<Rate>().unwrap()));
    }

    #[test]
    fn a_warm_up_has_the_rate_that_the_profile_begins_with() {
        let ramp = profile("100/s..10k/s over 1m");
        let expected = "100/s for 2s, 100/s..10k/s over 1m";
        assert_eq!(ramp.after_warm_up(Nanos::from_secs(2)), profile(expected));
        let plain = profile("2000/s");
        assert_eq!(plain.after_warm_up(Nanos::from_secs(2)), plain);
    }
}
