//! Goals of precision: `p99 within 3%`, and the time that may be spent on them.

use crate::Metric;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use units::{Nanos, Share};

/// Goals that end an experiment as soon as all of them are reached, and the time after which it ends without.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// The goals, e.g. `p99 within 3%`; each holds for every row.
    pub goals: Vec<Goal>,
    /// The time that all blocks together may take.
    pub budget: Nanos,
}

impl Until {
    /// The default budget.
    pub const BUDGET: Nanos = Nanos::from_secs(600);

    /// The minimum number of rounds after which goals may end an experiment, as in `stats::precision`.
    pub const ROUNDS_MIN: u32 = 10;
}

/// A number and the largest half-width of its 95 % interval, as a share of the number. Where a row is compared with
/// another one, the number is the ratio of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// The number.
    pub metric: Metric,
    /// The share; more than 0 %.
    pub within: Share,
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} within {}", self.metric, self.within)
    }
}

impl FromStr for Goal {
    type Err = String;

    /// Reads `p99 within 3%`.
    fn from_str(text: &str) -> Result<Self, String> {
        let problem = |what: String| format!("{what}; a goal is as in `p99 within 3%`");
        let [name, word, share] = text.split_whitespace().collect::<Vec<_>>()[..] else {
            return Err(problem(format!("`{text}` is not a number, `within` and a percentage")));
        };
        let metric = Metric::with_interval(name).map_err(&problem)?;
        if word != "within" {
            return Err(problem(format!("found `{word}`, expected `within`")));
        }
        let within: Share =
            share.parse().map_err(|error: units::ParseError| problem(error.to_string()))?;
        if within == Share::NONE {
            return Err(problem("nothing is known within 0%".to_owned()));
        }
        Ok(Self { metric, within })
    }
}

crate::text::as_text!(Goal, "the largest half-width of an interval", "p99 within 3%");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_a_number_and_a_share() {
        for text in ["p99 within 3%", "messages/s within 0.5%", "cpu/message within 10%"] {
            assert_eq!(text.parse::<Goal>().unwrap().to_string(), text);
        }
        #[rustfmt::skip]
        let table = [
            ("p99 in 3%",          "found `in`, expected `within`"),
            ("p99 within 3",       "`3` is not a percentage"),
            ("p99 within 0%",      "nothing is known within 0%"),
            ("p99.9 within 3%",    "`p99.9` is not a number that has an interval; expected p50, p90"),
            ("p99within3%",        "is not a number, `within` and a percentage"),
            ("error_rate within 3%", "`error_rate` is not a number that has an interval; expected p50, p90"),
            ("",                   "`` is not a number"),
        ];
        for (text, problem) in table {
            let error = text.parse::<Goal>().unwrap_err();
            assert!(error.contains(problem) && error.ends_with("as in `p99 within 3%`"), "{error}");
        }
    }
}
