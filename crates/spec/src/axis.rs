//! The load axis of a sweep: loads that rise until a server bends.

use crate::options::{outstanding_max, publish};
use crate::{Load, Problem, Rooms, Stop, Workload};
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
    /// Bots, each with a connection of its own, that send one message per --every
    Bots,
    /// Connections, for each of which one message is due per --every
    Connections,
    /// Messages a second, over a fixed number of --connections; with --publish, in each room
    Rate,
    /// Receivers of each room, which get what --publish says
    Receivers,
}

impl AxisOf {
    /// The unit, as written after a load.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Bots => " bots",
            Self::Connections => " connections",
            Self::Rate => "/s",
            Self::Receivers => " receivers",
        }
    }
}

impl Axis {
    /// Multiplies all loads and bounds by `count`. [`Axis::rate`] refuses loads that become too high.
    pub(crate) fn times(&mut self, count: NonZeroU32) {
        self.from = self.from.saturating_mul(count.get().into());
        self.to = self.to.saturating_mul(count.get().into());
        for bound in [&mut self.bots_max, &mut self.in_flight_max] {
            *bound = bound.map(|bound| bound.saturating_mul(count));
        }
    }

    /// The rate at which messages are due at a load; in rooms, in each room.
    ///
    /// # Errors
    ///
    /// The load is above `u32::MAX`.
    pub(crate) fn rate(&self, load: u64) -> Result<Rate, Problem> {
        let per = if self.of == AxisOf::Rate { Nanos::from_secs(1) } else { self.every };
        Rate::new(whole(load)?, per).ok_or_else(|| impossible(load))
    }

    /// The messages that are due in a second for each unit of the load of `line`, one of the experiment's workloads; in
    /// rooms the deliveries.
    pub fn per_s(&self, line: &Workload) -> f64 {
        let of_axis = || self.rate(1).map_or(0.0, |rate| rate.per_second());
        match &line.load {
            Load::Publish { rooms, rate, .. } => {
                let each = match self.of {
                    AxisOf::Receivers => rate.per_second(),
                    AxisOf::Bots | AxisOf::Connections | AxisOf::Rate => {
                        of_axis() * f64::from(rooms.receivers.get())
                    }
                };
                each * f64::from(rooms.count.get())
            }
            Load::Bots { .. }
            | Load::Clients { .. }
            | Load::Closed { .. }
            | Load::ClosedBots { .. }
            | Load::Open { .. }
            | Load::Sessions { .. } => of_axis(),
        }
    }

    /// `line`, one of the experiment's workloads, at a load. `lines` is the number of lines, which decides its name.
    ///
    /// # Errors
    ///
    /// The load is not possible.
    pub fn at(&self, line: &Workload, load: u64, lines: usize) -> Result<Workload, Problem> {
        let count = whole(load)?;
        let bots = self.bots_max.map_or(count, |max| count.min(max));
        let load_of = self.load_of(line, load, bots)?;
        let step = if self.of == AxisOf::Bots && bots < count {
            // The number of bots stays the same, and each of them sends more.
            format!("{:.0}/s", self.rate(load)?.per_second())
        } else {
            format!("{}{}", Count(load), self.of.unit())
        };
        let name = if lines == 1 { step } else { format!("{} {step}", line.name) };
        line.conversation.iter().try_for_each(|conversation| conversation.check_load(&load_of))?;
        Ok(Workload { name, load: load_of, ..line.clone() })
    }

    /// The load that `line` has at `load`, instead of its own; with `bots` bots, if bots rise.
    fn load_of(&self, line: &Workload, load: u64, bots: NonZeroU32) -> Result<Load, Problem> {
        let rate = self.rate(load)?;
        let outstanding = |connections: NonZeroU32| {
            let silent = || outstanding_max(rate, line.timeouts.reply, connections);
            self.in_flight_max.unwrap_or_else(silent)
        };
        let open = |connections: NonZeroU32, spacing| Load::Open {
            connections,
            rate: rate.into(),
            spacing,
            in_flight_max: outstanding(connections),
        };
        match (&line.load, self.of) {
            (Load::Open { spacing, .. } | Load::Bots { spacing, .. }, AxisOf::Rate) => {
                Ok(open(line.load.connections(), *spacing))
            }
            (Load::Open { spacing, .. } | Load::Bots { spacing, .. }, AxisOf::Connections) => {
                Ok(open(rate.count(), *spacing))
            }
            (Load::Open { spacing, .. } | Load::Bots { spacing, .. }, AxisOf::Bots) => {
                let every = scaled(self.every, bots.get().into(), load);
                let (spacing, in_flight_max) = (*spacing, outstanding(bots));
                Ok(Load::Bots { bots, every, spacing, in_flight_max })
            }
            (
                Load::Publish { rooms, rate: each, spacing, .. },
                AxisOf::Rate | AxisOf::Receivers,
            ) => {
                if !rooms.conduct.is_steady() {
                    let message = "a sweep does not measure slow or leaving receivers; leave out \
                                   --slow-receivers, --away, --storm and --restart";
                    return Err(Problem::new("of", message));
                }
                let (rooms, each) = match self.of == AxisOf::Receivers {
                    true => (Rooms { receivers: whole(load)?, ..*rooms }, each.clone()),
                    false => (*rooms, rate.into()),
                };
                if each.constant().is_none() {
                    let message =
                        "a block of a sweep has one rate from its beginning to its end; say one";
                    return Err(Problem::new("publish", message));
                }
                let Stop::After(measured) = line.phases.stop else {
                    return Err(Problem::new("load", "a block of a sweep ends after a --duration"));
                };
                let time = line.phases.warm_up + measured;
                publish((rooms, each, *spacing), time, line.timeouts.reply, self.in_flight_max)
            }
            (Load::Publish { .. }, AxisOf::Bots | AxisOf::Connections) => Err(Problem::new(
                "of",
                "with --publish it is receivers that rise, or the rate: use --of receivers or --of rate",
            )),
            (_, AxisOf::Receivers) => Err(Problem::new(
                "of",
                "receivers are those of rooms; say with --publish how often messages are due in each",
            )),
            (
                Load::Closed { .. }
                | Load::ClosedBots { .. }
                | Load::Clients { .. }
                | Load::Sessions { .. },
                AxisOf::Bots | AxisOf::Connections | AxisOf::Rate,
            ) => Err(Problem::new("load", "only open loops, bots and rooms can be swept")),
        }
    }
}

/// A load as a count of something.
fn whole(load: u64) -> Result<NonZeroU32, Problem> {
    let count = u32::try_from(load).ok().and_then(NonZeroU32::new);
    count.ok_or_else(|| impossible(load))
}

fn impossible(load: u64) -> Problem {
    Problem::new("to", format!("a load of {load} is not possible; at most {}", u32::MAX))
}

/// `every`, shortened so that `bots` bots send as much as `load` bots would.
fn scaled(every: Nanos, bots: u64, load: u64) -> Nanos {
    let scaled = u128::from(every.0) * u128::from(bots) / u128::from(load.max(1));
    Nanos(u64::try_from(scaled).unwrap_or(u64::MAX).max(1))
}

/// An upper bound on response times, e.g. `p99 < 50ms`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    /// The percentile, e.g. `p99`.
    pub percentile: &'static str,
    /// Its quantile, e.g. 0.99.
    pub quantile: f64,
    /// The time that the percentile must stay below.
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
                problem(format!("`{name}` is not one of {all}"))
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
    use crate::options::tests::resolved;
    use crate::{Conduct, Spacing};

    /// A line in rooms.
    fn in_rooms(conduct: Conduct) -> Workload {
        let count = |count| NonZeroU32::new(count).unwrap();
        let rooms = Rooms { count: count(3), publishers: count(2), receivers: count(10), conduct };
        let rate = Rate::new(count(20), Nanos::from_secs(1)).unwrap();
        let (spacing, in_flight_max) = (Spacing::Poisson, count(7));
        let load = Load::Publish { rooms, rate: rate.into(), spacing, in_flight_max };
        Workload { load, ..resolved("ws://h") }
    }

    fn axis(of: AxisOf) -> Axis {
        Axis {
            of,
            from: 1,
            to: 1000,
            factor: 2.0,
            repeats: 1,
            every: Nanos::from_secs(1),
            bots_max: None,
            in_flight_max: None,
            slo: None,
            budget: Nanos::from_secs(60),
            preset: None,
        }
    }

    #[test]
    fn in_rooms_the_receivers_rise_or_the_rate_and_deliveries_are_what_is_offered() {
        let line = in_rooms(Conduct::default());
        for (of, load, receivers, rate, per_s, name) in [
            (AxisOf::Receivers, 40, 40, "20/s", 60.0, "40 receivers"),
            (AxisOf::Rate, 40, 10, "40/s", 30.0, "40/s"),
        ] {
            let axis = axis(of);
            let step = axis.at(&line, load, 1).unwrap();
            let Load::Publish { rooms, rate: each, spacing, .. } = &step.load else {
                panic!("{step:?}")
            };
            assert_eq!((rooms.count.get(), rooms.publishers.get()), (3, 2), "{of:?}");
            assert_eq!((rooms.receivers.get(), &*each.to_string()), (receivers, rate), "{of:?}");
            assert_eq!((*spacing, &*step.name), (Spacing::Poisson, name), "{of:?}");
            assert!((axis.per_s(&line) - per_s).abs() < 1e-9, "{of:?}: {}", axis.per_s(&line));
        }
        let problem =
            |of, line: &Workload, load| axis(of).at(line, load, 1).unwrap_err().to_string();
        let connections = NonZeroU32::MIN;
        let rate = Rate::new(connections, Nanos::from_secs(1)).unwrap().into();
        let load =
            Load::Open { connections, rate, spacing: Spacing::Uniform, in_flight_max: connections };
        let open = Workload { load, ..resolved("ws://h") };
        let away = Some("every 15s for 2s".parse().unwrap());
        let leaving = in_rooms(Conduct { away, ..Conduct::default() });
        let mut rising = in_rooms(Conduct::default());
        if let Load::Publish { rate, .. } = &mut rising.load {
            *rate = "10/s..20/s over 5s".parse().unwrap();
        }
        #[rustfmt::skip]
        let table = [
            (problem(AxisOf::Connections, &line, 5),              "use --of receivers or --of rate"),
            (problem(AxisOf::Receivers, &open, 5),                "say with --publish how often"),
            (problem(AxisOf::Receivers, &leaving, 5),             "leave out --slow-receivers, --away, --storm and --restart"),
            (problem(AxisOf::Receivers, &rising, 5),              "one rate from its beginning to its end"),
            (problem(AxisOf::Receivers, &line, 1 << 23),          "are more than 16777216"),
            (problem(AxisOf::Receivers, &line, 1 << 32),          "is not possible"),
            (problem(AxisOf::Rate, &line, 1 << 31),               "more than can be scheduled exactly"),
            (problem(AxisOf::Rate, &line, 1 << 28),               "than can be kept apart"),
        ];
        for (found, expected) in table {
            assert!(found.contains(expected), "{found}");
        }
    }

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
            ("p98 < 50ms", "`p98` is not one of p50, p90, p99, p99.9, p99.99"),
            ("p99 < 0ms", "nothing takes less than no time"),
            ("p99 < 50", "50"),
            ("p99 <= 50ms", "50ms"),
        ] {
            let error = text.parse::<Objective>().unwrap_err();
            assert!(error.contains(problem) && error.contains("as in `p99 < 50ms`"), "{error}");
        }
    }
}
