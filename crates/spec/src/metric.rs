//! The numbers of a run that goals may name, one spelling for flags, files and records.

use crate::near;
use std::fmt;

/// A number of a run that all rounds have their part in, so that it has an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// The median time of a message: response time of an open loop, round trip of a closed one, life of a short-lived
    /// client.
    P50,
    /// The time that 90 % of them stayed within.
    P90,
    /// The time that 99 % of them stayed within.
    P99,
    /// Replies a second.
    MessagesPerS,
    /// CPU time of the server for each reply.
    CpuPerMessage,
    /// CPU time of the generator for each reply.
    GeneratorCpuPerMessage,
    /// Bytes on the wire for each reply, both directions, without TCP and IP.
    BytesPerMessage,
}

impl Metric {
    /// All of them, each with its name.
    pub const ALL: [(&'static str, Self); 7] = [
        ("p50", Self::P50),
        ("p90", Self::P90),
        ("p99", Self::P99),
        ("messages/s", Self::MessagesPerS),
        ("cpu/message", Self::CpuPerMessage),
        ("generator_cpu/message", Self::GeneratorCpuPerMessage),
        ("bytes/message", Self::BytesPerMessage),
    ];

    /// The number of a name.
    ///
    /// # Errors
    ///
    /// There is none of that name, with the one that was perhaps meant.
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, metric)| *metric).ok_or_else(|| {
            let names = Self::ALL.iter().map(|(name, _)| *name);
            format!("`{name}` is no number that has an interval{}", near::expected(name, names))
        })
    }

    /// The name.
    pub fn name(self) -> &'static str {
        let known = Self::ALL.iter().find(|(_, metric)| *metric == self);
        known.map_or("", |(name, _)| *name)
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
        assert_eq!(
            error,
            "`mesages/s` is no number that has an interval; did you mean `messages/s`?"
        );
        let error = Metric::named("error_rate").unwrap_err();
        assert!(error.contains("; expected p50, p90, p99, messages/s"), "{error}");
    }
}
