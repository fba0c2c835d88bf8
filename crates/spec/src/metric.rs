//! The numbers of a run that goals and requirements may name, one spelling for flags, files and records.

use crate::suggestions;
use std::fmt;

/// A number of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// The median time of a message: response time of an open loop, round trip of a closed one, life of a short-lived
    /// client.
    P50,
    /// The time that 90 % of them stayed within.
    P90,
    /// The time that 99 % of them stayed within.
    P99,
    /// The time that 99.9 % of them stayed within.
    P999,
    /// Replies a second.
    MessagesPerS,
    /// CPU time of the server for each reply.
    CpuPerMessage,
    /// CPU time of the generator for each reply.
    GeneratorCpuPerMessage,
    /// Bytes on the wire for each reply, both directions, without TCP and IP.
    BytesPerMessage,
    /// Messages that were due and did not get their right reply, as a share of those that were due.
    ErrorRate,
    /// Messages that got an answer which says no, as a share of those that were due.
    RefusedRate,
    /// Open loop: replies in the measured time, as a share of the messages that were due.
    AchievedOfOffered,
    /// Memory of the server at the end of a block, by the connections of the row.
    MemoryPerConnection,
    /// CPU time of the server, as a share of the CPUs that it may run on.
    ServerCpu,
    /// Rooms: the time from the instant at which all receivers were torn off, or their server was killed, until 99 % of
    /// them received again.
    Recovery,
}

impl Metric {
    /// All of them, each with its name.
    pub const ALL: [(&'static str, Self); 14] = [
        ("p50", Self::P50),
        ("p90", Self::P90),
        ("p99", Self::P99),
        ("p99.9", Self::P999),
        ("messages/s", Self::MessagesPerS),
        ("cpu/message", Self::CpuPerMessage),
        ("generator_cpu/message", Self::GeneratorCpuPerMessage),
        ("bytes/message", Self::BytesPerMessage),
        ("error_rate", Self::ErrorRate),
        ("refused_rate", Self::RefusedRate),
        ("achieved/offered", Self::AchievedOfOffered),
        ("memory/connection", Self::MemoryPerConnection),
        ("server_cpu", Self::ServerCpu),
        ("recovery", Self::Recovery),
    ];

    /// True if the machine affects it as well as the server: it differs between two runs of the same program.
    pub const fn moves_with_machine(self) -> bool {
        match self {
            Self::P50
            | Self::P90
            | Self::P99
            | Self::P999
            | Self::MessagesPerS
            | Self::CpuPerMessage
            | Self::GeneratorCpuPerMessage
            | Self::AchievedOfOffered
            | Self::ServerCpu
            | Self::Recovery => true,
            Self::BytesPerMessage
            | Self::ErrorRate
            | Self::RefusedRate
            | Self::MemoryPerConnection => false,
        }
    }

    /// The number called `name`.
    ///
    /// # Errors
    ///
    /// No number has that name; the message has the one that was perhaps meant.
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        Self::find(name, "number of a run", |_| true)
    }

    /// The number called `name`, if every round contributes to it, so that it has an interval.
    ///
    /// # Errors
    ///
    /// No number has that name; the message has the one that was perhaps meant.
    pub(crate) fn with_interval(name: &str) -> Result<Self, String> {
        // These three are measured once in a block: an interval as narrow as a goal says little about them.
        let is_goal = |metric: Self| {
            let is_once =
                matches!(metric, Self::MemoryPerConnection | Self::ServerCpu | Self::Recovery);
            metric.has_interval() && !is_once
        };
        Self::find(name, "number that has an interval", is_goal)
    }

    /// True if every round contributes to the number, so that it has an interval once there are enough rounds.
    pub fn has_interval(self) -> bool {
        match self {
            Self::P50
            | Self::P90
            | Self::P99
            | Self::MessagesPerS
            | Self::CpuPerMessage
            | Self::GeneratorCpuPerMessage
            | Self::BytesPerMessage
            | Self::MemoryPerConnection
            | Self::ServerCpu
            | Self::Recovery => true,
            Self::P999 | Self::ErrorRate | Self::RefusedRate | Self::AchievedOfOffered => false,
        }
    }

    fn find(name: &str, what: &str, is_meant: impl Fn(Self) -> bool) -> Result<Self, String> {
        let known: Vec<_> = Self::ALL.into_iter().filter(|(_, metric)| is_meant(*metric)).collect();
        let found = known.iter().find(|(known, _)| *known == name);
        found.map(|(_, metric)| *metric).ok_or_else(|| {
            let names = known.iter().map(|(name, _)| *name);
            format!("`{name}` is not a {what}{}", suggestions::expected(name, names))
        })
    }

    /// The name.
    pub fn name(self) -> &'static str {
        let known = Self::ALL.iter().find(|(_, metric)| *metric == self);
        known.map_or("", |(name, _)| *name)
    }
}

crate::text::as_text!(Metric, "a number of a row", "p99");

impl std::str::FromStr for Metric {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::named(name)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_is_told_with_the_name_that_is_near() {
        for (name, metric) in Metric::ALL {
            assert_eq!(Metric::named(name), Ok(metric));
            assert_eq!(metric.to_string(), name);
        }
        let error = Metric::named("mesages/s").unwrap_err();
        assert_eq!(error, "`mesages/s` is not a number of a run; did you mean `messages/s`?");
        let error = Metric::with_interval("error_rate").unwrap_err();
        assert!(error.contains("; expected p50, p90, p99, messages/s"), "{error}");
    }
}
