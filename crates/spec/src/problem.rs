//! A reason why an experiment cannot be run as described.

use std::fmt;

/// A field whose value is not possible, on its own or together with another field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field, as in files, and as in flags after `--`, e.g. `in-flight-max`.
    pub field: &'static str,
    /// The reason, with the value, the limit and the cure.
    pub message: String,
}

impl Problem {
    /// A problem with `field`.
    pub fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self { field, message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

impl std::error::Error for Problem {}
