//! The load axis of a sweep: loads that rise until a server bends.

use crate::options::outstanding_max;
use crate::{Load, Problem, Workload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use units::{Count, Nanos, Rate};

/// Loads that rise, and the rule by which they do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The quantity that rises.
    pub of: AxisOf,
    /// The first load; at least 1.
    pub from: u64,
    /// The largest one.
    pub to: u64,
    /// From one load to the next, above 1.
    pub factor: f64,
    /// Blocks of each load.
    pub repeats: u32,
    /// Bots and connections: from one message of each to its next.
    pub every: Nanos,
    /// Bots, at most; for more load the same bots send more often. `null`: no bound.
    #[serde(default)]
    pub bots_max: Option<NonZeroU32>,
    /// Messages that may be outstanding at every load; `null`: as many as would be if the server fell silent.
    #[serde(default)]
    pub in_flight_max: Option<NonZeroU32>,
    /// The objective of the capacity, if that is looked for besides the knee.
    #[serde(default)]
    pub slo: Option<Objective>,
    /// No block is started that could not finish within this time.
    pub budget: Nanos,
    /// The name of the published experiment, if it is one.
    #[serde(default)]
    pub preset: Option<String>,
}

/// The quantity that rises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum AxisOf {
    /// Bots, each with a connection of its own, that send --every so often
    Bots,
    /// Connections, for each of which a message is due --every so often
    Connections,
    /// Messages a second, over a fixed number of --connections
    Rate,
}

impl AxisOf {
    /// The unit behind a load.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Bots => " bots",
            Self::Connections => " connections",
            Self::Rate => "/s",
        }
    }
}

impl Axis {
    /// Makes all of it `count` times as much. Loads that are too high are an error of [`Axis::rate`].
    pub(crate) fn times(&mut self, count: NonZeroU32) {
        self.from = self.from.saturating_mul(count.get().into());
        self.to = self.to.saturating_mul(count.get().into());
        for bound in [&mut self.bots_max, &mut self.in_flight_max] {
            *bound = bound.map(|bound| bound.saturating_mul(count));
        }
    }

    /// The messages that are due at a load.
    ///
    /// # Errors
    ///
    /// The load is above `u32::MAX`.
    pub fn rate(&self, load: u64) -> Result<Rate, Problem> {
        let count = u32::try_from(load).ok().and_then(NonZeroU32::new);
        let per = if self.of == AxisOf::Rate { Nanos::from_secs(1) } else { self.every };
        count.and_then(|count| Rate::new(count, per)).ok_or_else(|| {
            Problem::new("to", format!("a load of {load} is not possible; at most {}", u32::MAX))
        })
    }

    /// `line`, one of the experiment's workloads, at a load. `lines` is the number of lines, which decides its name.
    ///
    /// # Errors
    ///
    /// The load is not possible.
    pub fn at(&self, line: &Workload, load: u64, lines: usize) -> Result<Workload, Problem> {
        let rate = self.rate(load)?;
        let count = rate.count();
        let spacing = match &line.load {
            Load::Open { spacing, .. } | Load::Bots { spacing, .. } => *spacing,
            Load::Closed { .. }
            | Load::ClosedBots { .. }
            | Load::Clients { .. }
            | Load::Publish { .. }
            | Load::Sessions { .. } => {
                return Err(Problem::new("load", "only open loops and bots can be swept"));
            }
        };
        let outstanding = |connections: NonZeroU32| {
            let silent = || outstanding_max(rate, line.timeouts.reply, connections);
            self.in_flight_max.unwrap_or_else(silent)
        };
        let bots = self.bots_max.map_or(count, |max| count.min(max));
        let load_of = match self.of {
            AxisOf::Rate => {
                let connections = line.load.connections();
                Load::Open {
                    connections,
                    rate: rate.into(),
                    spacing,
                    in_flight_max: outstanding(connections),
                }
            }
            AxisOf::Connections => Load::Open {
                connections: count,
                rate: rate.into(),
                spacing,
                in_flight_max: outstanding(count),
            },
            AxisOf::Bots => {
                let every = scaled(self.every, bots.get().into(), load);
                Load::Bots { bots, every, spacing, in_flight_max: outstanding(bots) }
            }
        };
        let step = if self.of == AxisOf::Bots && bots < count {
            // The same bots, and more of what they send.
            format!("{:.0}/s", rate.per_second())
        } else {
            format!("{}{}", Count(load), self.of.unit())
        };
        let name = if lines == 1 { step } else { format!("{} {step}", line.name) };
        line.conversation.iter().try_for_each(|conversation| conversation.check_load(&load_of))?;
        Ok(Workload { name, load: load_of, ..line.clone() })
    }
}

/// `every`, less where fewer bots make up for more.
fn scaled(every: Nanos, bots: u64, load: u64) -> Nanos {
    let scaled = u128::from(every.0) * u128::from(bots) / u128::from(load.max(1));
    Nanos(u64::try_from(scaled).unwrap_or(u64::MAX).max(1))
}

/// A bound that response times have to keep, e.g. `p99 < 50ms`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    /// The percentile, e.g. `p99`.
    pub percentile: &'static str,
    /// Its quantile, e.g. 0.99.
    pub quantile: f64,
    /// The time that it stays below.
    pub below: Nanos,
}

/// The percentiles that an objective may name.
const PERCENTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = format!("{:#}", self.below).replace(' ', "");
        write!(f, "{} < {time}", self.percentile)
    }
}

impl FromStr for Objective {
    type Err = String;

    /// Reads `p99 < 50ms`; spaces may be left out.
    fn from_str(text: &str) -> Result<Self, String> {
        let problem = |what: String| format!("{what}; an objective is as in `p99 < 50ms`");
        let (name, limit) =
            text.split_once('<').ok_or_else(|| problem(format!("`{text}` has no `<` in it")))?;
        let name = name.trim();
        let (percentile, quantile) =
            PERCENTILES.into_iter().find(|(known, _)| *known == name).ok_or_else(|| {
                let all = PERCENTILES.map(|(name, _)| name).join(", ");
                problem(format!("`{name}` is none of {all}"))
            })?;
        let below: Nanos =
            limit.trim().parse().map_err(|error: units::ParseError| problem(error.to_string()))?;
        if below == Nanos::ZERO {
            return Err(problem("nothing takes less than no time".to_owned()));
        }
        Ok(Self { percentile, quantile, below })
    }
}

crate::text::as_text!(Objective, "a bound that response times have to keep", "p99 < 50ms");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives_are_a_percentile_and_a_time_that_it_stays_below() {
        for (text, shown, quantile, millis) in [
            ("p99<50ms", "p99 < 50ms", 0.99, 50),
            (" p99.9 <  1.5s", "p99.9 < 1.5s", 0.999, 1500),
            ("p50 < 2m", "p50 < 2m", 0.5, 120_000),
        ] {
            let objective: Objective = text.parse().unwrap();
            assert_eq!(objective.to_string(), shown);
            assert_eq!(
                (objective.quantile, objective.below),
                (quantile, Nanos::from_millis(millis))
            );
        }
        for (text, problem) in [
            ("p99", "`p99` has no `<` in it"),
            ("p98 < 50ms", "`p98` is none of p50, p90, p99, p99.9, p99.99"),
            ("p99 < 0ms", "nothing takes less than no time"),
            ("p99 < 50", "50"),
            ("p99 <= 50ms", "50ms"),
        ] {
            let error = text.parse::<Objective>().unwrap_err();
            assert!(error.contains(problem) && error.contains("as in `p99 < 50ms`"), "{error}");
        }
    }
}
