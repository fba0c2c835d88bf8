//! Exit codes, and errors that carry one. A test compares the table with that of `docs/CLI.md`.

use run::RunError;
use spec::secrets::Secrets;
use std::fmt;

/// The exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit(u8);

impl Exit {
    /// Everything was done.
    pub(crate) const DONE: Self = Self(0);
    /// An internal error.
    pub(crate) const INTERNAL: Self = Self(1);
    /// Wrong usage, or a load that this machine does not allow.
    pub(crate) const USAGE: Self = Self(2);
    /// A number is not within a required limit, or not known to be.
    pub(crate) const NOT_MET: Self = Self(10);
    /// A number is worse than a limit relative to the baseline allows, beyond noise.
    pub(crate) const REGRESSED: Self = Self(11);
    /// The verdict on the measurement is `invalid`: a number that its answer needs is invalid.
    pub(crate) const INVALID: Self = Self(12);
    /// A part was not measured; the record says which.
    pub(crate) const PARTIAL: Self = Self(13);
    /// The target is a public address, and the user has not confirmed it.
    pub(crate) const REFUSED: Self = Self(14);
    /// The target, or the server of the history, could not be reached, or every message failed.
    pub(crate) const UNREACHABLE: Self = Self(15);
    /// The result could not be written.
    pub(crate) const NOT_WRITTEN: Self = Self(74);
    /// Ended by SIGHUP.
    pub(crate) const HUNG_UP: Self = Self(129);
    /// Ended by SIGINT (Ctrl-C).
    pub(crate) const INTERRUPTED: Self = Self(130);
    /// Ended by SIGTERM.
    pub(crate) const TERMINATED: Self = Self(143);

    /// The codes of signals that ask to stop.
    pub(crate) const OF_SIGNALS: [Self; 3] = [Self::HUNG_UP, Self::INTERRUPTED, Self::TERMINATED];

    /// Every code with its meaning.
    pub(crate) const TABLE: [(Self, &str); 13] = [
        (Self::DONE, "done, and the verdict is trusted or degraded"),
        (Self::INTERNAL, "an internal error"),
        (Self::USAGE, "wrong usage, or a load that this machine does not allow"),
        (Self::NOT_MET, "a requirement is not met, or too little was measured to know"),
        (
            Self::REGRESSED,
            "a regression: worse than the baseline or BASE by more than is allowed, beyond noise",
        ),
        (
            Self::INVALID,
            "invalid: a number that the answer needs is not a valid result; the verdict says why",
        ),
        (Self::PARTIAL, "partial: something was not measured; the record says what"),
        (Self::REFUSED, "refused: a public target needs --i-may-load-this-target"),
        (
            Self::UNREACHABLE,
            "the target or the history could not be reached, or every message failed",
        ),
        (
            Self::NOT_WRITTEN,
            "the result could not be written where it should be; stderr says where it is",
        ),
        (Self::HUNG_UP, "ended by SIGHUP (its terminal is gone), with a valid partial record"),
        (Self::INTERRUPTED, "ended by SIGINT (Ctrl-C), with a valid partial record"),
        (Self::TERMINATED, "ended by SIGTERM, with a valid partial record"),
    ];

    /// The code that shells use for a process ended by `signal`: 128 + its number.
    pub(crate) fn of_signal(signal: i32) -> Self {
        u8::try_from(signal).map_or(Self::INTERNAL, |signal| Self(signal.saturating_add(128)))
    }

    /// Returns the exit code of a process of ours; `None` if it is none of our codes.
    #[cfg(feature = "web")]
    pub(crate) fn of_code(code: i32) -> Option<Self> {
        u8::try_from(code)
            .ok()
            .map(Self)
            .filter(|it| Self::TABLE.iter().any(|(known, _)| known == it))
    }

    /// The numeric code.
    pub(crate) const fn code(self) -> u8 {
        self.0
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}

/// An error with its exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) exit: Exit,
    error: anyhow::Error,
}

impl Failure {
    /// An error with the given exit code.
    pub(crate) fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self { exit, error: error.into() }
    }

    /// Removes these secrets, which a server may have sent back.
    pub(crate) fn without(self, secrets: &Secrets) -> Self {
        Self { exit: self.exit, error: anyhow::anyhow!("{}", secrets.cut(&self.to_string())) }
    }

    /// An error of usage ([`Exit::USAGE`]).
    pub(crate) fn usage(what: impl fmt::Display) -> Self {
        Self { exit: Exit::USAGE, error: anyhow::anyhow!("{what}") }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.error)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self { exit: Exit::INTERNAL, error }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let exit = match &error {
            RunError::Incomparable { .. }
            | RunError::InvalidRequest(_)
            | RunError::InvalidTls(_)
            | RunError::Shortage(_)
            | RunError::Thread(_) => Exit::USAGE,
            RunError::PublicTarget { .. } => Exit::REFUSED,
            RunError::Over { .. }
            | RunError::Program(_)
            | RunError::ResolveTimedOut { .. }
            | RunError::Unreachable { .. }
            | RunError::Unresolved { .. }
            | RunError::WrongAnswer { .. } => Exit::UNREACHABLE,
            RunError::Interrupted { signal } => Exit::of_signal(*signal),
            RunError::EmbeddedServer { .. } | RunError::Engine(_) | _ => Exit::INTERNAL,
        };
        Self::new(exit, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_manual_is_this_one() {
        let page = include_str!("../../../docs/CLI.md");
        let rows: Vec<String> = Exit::TABLE
            .iter()
            .map(|(exit, meaning)| format!("| {} | {meaning} |", exit.code()))
            .collect();
        let written: Vec<&str> = page
            .lines()
            .skip_while(|line| !line.starts_with("| exit code |"))
            .skip(2)
            .take_while(|line| line.starts_with('|'))
            .collect();
        assert_eq!(written, rows);
    }

    #[test]
    fn every_code_is_in_the_table_once_and_in_order() {
        let codes: Vec<u8> = Exit::TABLE.iter().map(|(exit, _)| exit.code()).collect();
        assert_eq!(codes, [0, 1, 2, 10, 11, 12, 13, 14, 15, 74, 129, 130, 143]);
    }

    #[test]
    fn signals_count_as_shells_count_them() {
        assert_eq!(Exit::of_signal(1), Exit::HUNG_UP);
        assert_eq!(Exit::of_signal(2), Exit::INTERRUPTED);
        assert_eq!(Exit::of_signal(15), Exit::TERMINATED);
        assert_eq!(Exit::of_signal(-1), Exit::INTERNAL);
    }
}
