//! The verdict of a record: levels of trust, and reasons for doubt. The judge is in `verdict`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::Metric;
use std::collections::BTreeMap;

/// The trust in the numbers of a record, with every reason for doubt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The trust in the answer to the question of the record: that of the rows that the answer needs.
    pub level: Level,
    /// The trust in each workload, in the order of the plan; empty in records from before rows were judged.
    #[serde(default)]
    pub rows: Vec<RowVerdict>,
    /// The reasons, the worst first.
    pub reasons: Vec<Reason>,
}

/// The trust in the numbers of one workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowVerdict {
    /// The trust in the row: that in its p50, by which rows are compared.
    pub level: Level,
    /// The numbers that are trusted less than the row.
    pub numbers: BTreeMap<Number, Level>,
}

/// The trust in numbers.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// They mean what they seem to mean.
    #[default]
    Trusted,
    /// They are less reliable than they look, for the reasons given.
    Degraded,
    /// They are not valid results.
    Invalid,
}

impl Level {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Degraded => "degraded",
            Self::Invalid => "invalid",
        }
    }
}

/// A number of a workload that is judged for itself.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Number {
    /// The median of the times that results are made of.
    P50,
    /// The time that 90 % of them stayed within.
    P90,
    /// The time that 99 % of them stayed within.
    P99,
    /// All percentiles above it, and the maximum.
    Tail,
    /// The comparison with the baseline.
    Ratio,
}

/// A reason for doubt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// A stable name for programs, e.g. `generator_bound`.
    pub code: String,
    /// The severity; of a reason that is about some numbers, that of the worst of them.
    pub level: Level,
    /// The index of the workload that it is about; `null`: the whole run.
    pub workload: Option<usize>,
    /// The numbers of the workload that it is about, each with its severity; empty: all of them.
    #[serde(default)]
    pub numbers: BTreeMap<Number, Level>,
    /// The problem, for people.
    pub message: String,
    /// The numbers that show it.
    pub evidence: String,
    /// The next thing to do.
    pub advice: String,
}

impl Verdict {
    /// The trust in workload `index`; for a record from before rows were judged, the trust that its reasons leave.
    pub fn row(&self, index: usize) -> RowVerdict {
        self.rows.get(index).cloned().unwrap_or_else(|| RowVerdict::of(&self.reasons, index))
    }

    /// The reason why a number of a row is not a result; `None` if it is one.
    pub(crate) fn invalid(&self, workload: usize, metric: Metric) -> Option<String> {
        let judged = match metric {
            Metric::P90 => Number::P90,
            Metric::P99 => Number::P99,
            Metric::P999 => Number::Tail,
            Metric::P50
            | Metric::MessagesPerS
            | Metric::CpuPerMessage
            | Metric::GeneratorCpuPerMessage
            | Metric::BytesPerMessage
            | Metric::ErrorRate
            | Metric::RefusedRate
            | Metric::AchievedOfOffered
            | Metric::MemoryPerConnection
            | Metric::Recovery
            | Metric::ServerCpu => Number::P50,
        };
        if self.row(workload).of_number(judged) < Level::Invalid {
            return None;
        }
        let mut about = self.reasons.iter().filter(|reason| {
            reason.workload.is_none_or(|of| of == workload) && reason.of(judged) == Level::Invalid
        });
        let message = about.next().map(|reason| reason.message.clone());
        Some(message.unwrap_or_else(|| "the verdict calls it invalid".to_owned()))
    }
}

impl RowVerdict {
    /// The trust that `reasons` leave in workload `index`. A reason that degrades the whole run is left out: it singles
    /// out no row.
    pub(crate) fn of(reasons: &[Reason], index: usize) -> Self {
        let is_about = |reason: &&Reason| match reason.workload {
            Some(workload) => workload == index,
            None => reason.level == Level::Invalid,
        };
        let about = || reasons.iter().filter(is_about);
        let worst = |number| about().map(|reason| reason.of(number)).max().unwrap_or_default();
        let level = worst(Number::P50);
        let numbers = Number::ALL.map(|number| (number, worst(number)));
        let numbers = numbers.into_iter().filter(|(_, doubt)| *doubt > level);
        Self { level, numbers: numbers.collect() }
    }

    /// The trust in all of its numbers together.
    pub fn worst(&self) -> Level {
        self.numbers.values().copied().fold(self.level, Level::max)
    }

    /// The trust in one of its numbers.
    pub fn of_number(&self, number: Number) -> Level {
        self.numbers.get(&number).map_or(self.level, |level| self.level.max(*level))
    }
}

impl Number {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::P50, Self::P90, Self::P99, Self::Tail, Self::Ratio];
}

impl Reason {
    /// The doubt that it casts on `number`.
    pub(crate) fn of(&self, number: Number) -> Level {
        if self.numbers.is_empty() {
            return self.level;
        }
        self.numbers.get(&number).copied().unwrap_or_default()
    }
}
