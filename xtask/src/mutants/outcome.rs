//! The outcome of a plant, read from what the tests printed.

use std::fmt;

/// The end of a plant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// These tests failed.
    Caught(Vec<String>),
    /// A test did not end.
    Hung,
    /// No test noticed.
    Survived,
}

/// Reads how `timeout cargo test` ended, and what the tests printed.
pub(super) fn of(code: Option<i32>, printed: &str) -> Outcome {
    match code {
        Some(0) => Outcome::Survived,
        Some(TIMED_OUT | KILLED) => Outcome::Hung,
        Some(_) | None => Outcome::Caught(failed(printed)),
    }
}

/// The names in lines like `test module::name ... FAILED`; of a property test with `- should panic` too.
fn failed(printed: &str) -> Vec<String> {
    let name = |line: &str| {
        let (name, _) = line.strip_prefix("test ")?.split_once(" ... FAILED")?;
        Some(name.to_owned())
    };
    printed.lines().filter_map(name).collect()
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caught(tests) => match &tests[..] {
                [] => write!(formatter, "caught: a test program ended badly"),
                [first] => write!(formatter, "caught by {first}"),
                [first, rest @ ..] => {
                    write!(formatter, "caught by {first} and {} more", rest.len())
                }
            },
            Self::Hung => write!(formatter, "caught: a test did not end"),
            Self::Survived => write!(formatter, "SURVIVED"),
        }
    }
}

/// The exit codes of `timeout` when it had to end what it ran, and when it had to kill it.
const TIMED_OUT: i32 = 124;
const KILLED: i32 = 137;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_tests_are_named() {
        let printed = "\nrunning 3 tests\ntest open_loop::lag_is_ours ... ok\n\
            test open_loop::due_counts ... FAILED\ntest faults::lost ... FAILED\n\nfailures:\n\n\
            ---- open_loop::due_counts stdout ----\ntest failed\n";
        let outcome = of(Some(101), printed);
        let tests = ["open_loop::due_counts", "faults::lost"].map(str::to_owned).to_vec();
        assert_eq!(outcome, Outcome::Caught(tests));
        assert_eq!(outcome.to_string(), "caught by open_loop::due_counts and 1 more");
    }

    #[test]
    fn no_failure_is_a_survivor_and_no_end_is_none() {
        assert_eq!(of(Some(0), "test a ... ok\n").to_string(), "SURVIVED");
        assert_eq!(of(Some(TIMED_OUT), ""), Outcome::Hung);
        assert_eq!(of(Some(101), "abort").to_string(), "caught: a test program ended badly");
    }
}
