//! The parser of quantities: a number, then a unit.
//!
//! Parsing is exact: a fraction is kept as digits and a power of ten until it is a whole number of the smallest unit. A
//! text that is inexact or ambiguous is an error that quotes the text and, where there is one, suggests the spelling
//! that was probably meant.
//!
//! Start reading at [`Reader`]. The tables of units are beside their types.

use std::fmt;

/// The error of a text that is not a valid quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(String);

impl ParseError {
    /// Quotes `text` and appends `problem`. The text is escaped and cut to [`SHOWN_CHARS_MAX`] characters.
    pub(crate) fn new(text: &str, problem: impl fmt::Display) -> Self {
        let mut shown: String =
            text.chars().take(SHOWN_CHARS_MAX).flat_map(char::escape_debug).collect();
        if text.chars().nth(SHOWN_CHARS_MAX).is_some() {
            shown.push('…');
        }
        Self(format!("`{shown}` {problem}"))
    }
}

/// A cursor that reads numbers and units from left to right.
pub(crate) struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Reader<'a> {
    /// Starts at the front of `text`, without the spaces around it. `example` is a valid text, for the error message.
    pub(crate) fn new(text: &'a str, example: &str) -> Result<Self, ParseError> {
        let rest = text.trim();
        match rest.bytes().next() {
            None => Err(ParseError::new(text, format_args!("is empty; try `{example}`"))),
            Some(b'-') => Err(ParseError::new(text, "is negative")),
            Some(b'0'..=b'9') => Ok(Self { text, rest }),
            Some(_) => Err(ParseError::new(
                text,
                format_args!("does not start with a digit; try `{example}`"),
            )),
        }
    }

    /// Reads a number: digits, `_` between them, and an optional fraction after a point.
    pub(crate) fn number(&mut self) -> Result<Number<'a>, ParseError> {
        let start = self.rest;
        let whole = self.take_while(|char| char.is_ascii_digit() || char == '_');
        let mut fraction = "";
        if let Some(after) = self.rest.strip_prefix('.') {
            self.rest = after;
            fraction = self.take_while(|char| char.is_ascii_digit());
            if fraction.is_empty() {
                return Err(self.error("has a point with no digit after it"));
            }
        }
        let typed = &start[..start.len() - self.rest.len()];
        if !typed.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(self.error(format_args!("has no number at `{start}`")));
        }
        if self.rest.starts_with(',') {
            return Err(
                self.error("has a comma; write thousands as `1_000` and fractions as `1.5`")
            );
        }
        let fraction = fraction.trim_end_matches('0');
        let decimals = u32::try_from(fraction.len()).unwrap_or(u32::MAX);
        if decimals > DECIMALS_MAX {
            return Err(self
                .error(format_args!("has {decimals} decimals, at most {DECIMALS_MAX} are read")));
        }
        let (Some(whole), Some(fraction)) = (digits(whole), digits(fraction)) else {
            return Err(self.too_large());
        };
        self.rest = self.rest.trim_start();
        Ok(Number { typed, whole, fraction, decimals })
    }

    /// Reads a unit: everything up to the next digit, space or `/`; empty if there is none.
    pub(crate) fn unit(&mut self) -> &'a str {
        let unit =
            self.take_while(|char| !char.is_ascii_digit() && !char.is_whitespace() && char != '/');
        self.rest = self.rest.trim_start();
        unit
    }

    /// Reads `prefix` if it comes next; true if it did.
    pub(crate) fn take(&mut self, prefix: char) -> bool {
        let after = self.rest.strip_prefix(prefix);
        self.rest = after.unwrap_or(self.rest).trim_start();
        after.is_some()
    }

    /// True if the whole text has been read.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// True if the text is `part` and nothing else.
    pub(crate) fn is_all(&self, part: &str) -> bool {
        self.text.trim() == part
    }

    /// True if a number comes next.
    pub(crate) fn is_at_number(&self) -> bool {
        self.rest.starts_with(|char: char| char.is_ascii_digit())
    }

    /// Checks that the whole text has been read.
    ///
    /// # Errors
    ///
    /// Something is left; the error quotes it.
    pub(crate) fn end(&self) -> Result<(), ParseError> {
        if self.is_empty() {
            return Ok(());
        }
        Err(self
            .error(format_args!("goes on with `{}` where it should end", self.rest.escape_debug())))
    }

    /// The factor of `unit` in `units`: its size in the smallest unit. `typed` is the number before it, for the error.
    pub(crate) fn factor(&self, units: Units, typed: &str, unit: &str) -> Result<u64, ParseError> {
        if let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) {
            return Ok(*factor);
        }
        let unit = unit.escape_debug();
        if let Some((near, _)) =
            units.iter().find(|(name, _)| name.eq_ignore_ascii_case(&unit.to_string()))
        {
            return Err(self.error(format_args!(
                "has the unknown unit `{unit}`; did you mean `{typed}{near}`?"
            )));
        }
        let known: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
        Err(self
            .error(format_args!("has the unknown unit `{unit}`; known are {}", known.join(", "))))
    }

    /// `number` times `factor`, which must be a whole number of `smallest`.
    pub(crate) fn whole(
        &self,
        number: Number<'_>,
        factor: u64,
        smallest: &str,
    ) -> Result<u64, ParseError> {
        let scale = 10_u128.pow(number.decimals);
        let fraction = u128::from(number.fraction) * u128::from(factor);
        if !fraction.is_multiple_of(scale) {
            return Err(self.error(format_args!("is not a whole number of {smallest}")));
        }
        let total = u128::from(number.whole) * u128::from(factor) + fraction / scale;
        u64::try_from(total).map_err(|_| self.too_large())
    }

    /// An error that quotes the whole text.
    pub(crate) fn error(&self, problem: impl fmt::Display) -> ParseError {
        ParseError::new(self.text, problem)
    }

    /// The error of a value that does not fit its type.
    pub(crate) fn too_large(&self) -> ParseError {
        self.error("is too large")
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let len = self.rest.find(|char| !wanted(char)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(len);
        self.rest = rest;
        taken
    }
}

/// The units of a quantity: the name of each and its size in the smallest unit.
pub(crate) type Units = &'static [(&'static str, u64)];

/// A number as typed: `whole + fraction / 10^decimals`.
#[derive(Clone, Copy)]
pub(crate) struct Number<'a> {
    /// The number as typed.
    pub(crate) typed: &'a str,
    pub(crate) whole: u64,
    pub(crate) fraction: u64,
    pub(crate) decimals: u32,
}

/// The value of `digits`, without `_`; 0 if empty; `None` if it does not fit.
fn digits(digits: &str) -> Option<u64> {
    digits
        .bytes()
        .filter(|byte| *byte != b'_')
        .try_fold(0_u64, |number, byte| number.checked_mul(10)?.checked_add(u64::from(byte - b'0')))
}

/// The number of characters of the text that an error quotes.
const SHOWN_CHARS_MAX: usize = 40;
/// The largest number of digits after the point; `10^18` times any unit here fits a `u128`.
const DECIMALS_MAX: u32 = 18;
