//! Limits that numbers of a run are checked against: `p99 < 20ms`, `p99 <= baseline * 1.10`.

use crate::{Factor, Limit, Metric};
use std::fmt;
use std::str::FromStr;

/// A number of each row, a limit, and the side of the limit that the number has to be on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The number.
    pub metric: Metric,
    /// The side.
    pub bound: Bound,
    /// The limit, in the unit of the number or relative to that of a baseline.
    pub limit: Limit,
}

/// The side of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

impl Requirement {
    /// The factor, if the limit is relative to the number of a baseline.
    pub fn factor(&self) -> Option<Factor> {
        match self.limit {
            Limit::Baseline(factor) => Some(factor),
            Limit::Bytes(_) | Limit::Rate(_) | Limit::Share(_) | Limit::Time(_) => None,
        }
    }

    /// True for a number on the right side of the limit. Times are in nanoseconds, CPU times in microseconds, rates per
    /// second, shares from 0 to 1, as in records; for a relative limit, `number` is the ratio to the baseline's.
    pub fn is_met(&self, number: f64) -> bool {
        let limit = self.limit();
        match self.bound {
            Bound::Below => number < limit,
            Bound::AtMost => number <= limit,
            Bound::Above => number > limit,
            Bound::AtLeast => number >= limit,
        }
    }

    /// The limit, in the unit that records have; the factor, if it is relative.
    #[expect(clippy::cast_precision_loss, reason = "no limit has so many digits")]
    pub fn limit(&self) -> f64 {
        match (self.limit, self.metric) {
            (Limit::Baseline(factor), _) => factor.value(),
            (Limit::Bytes(bytes), _) => bytes.0 as f64,
            (Limit::Rate(rate), _) => rate.per_second(),
            (Limit::Share(share), _) => share.fraction(),
            (Limit::Time(time), Metric::CpuPerMessage | Metric::GeneratorCpuPerMessage) => {
                time.0 as f64 / 1e3
            }
            (Limit::Time(time), _) => time.0 as f64,
        }
    }
}

impl Bound {
    /// All of them, each with its sign.
    const ALL: [(&'static str, Self); 4] =
        [("<", Self::Below), ("<=", Self::AtMost), (">", Self::Above), (">=", Self::AtLeast)];
}

impl FromStr for Requirement {
    type Err = String;

    /// Reads `p99 < 20ms` or `p99 <= baseline * 1.10`, with or without spaces.
    fn from_str(text: &str) -> Result<Self, String> {
        let is_sign = |letter: char| "<>=!".contains(letter);
        let start = text.find(is_sign).unwrap_or(text.len());
        let end =
            start + text[start..].find(|letter| !is_sign(letter)).unwrap_or(text.len() - start);
        let (name, sign, limit) = (&text[..start], &text[start..end], &text[end..]);
        // The column of the first letter of a part that begins at this byte.
        let column = |from: usize, part: &str| {
            let blanks = part.len() - part.trim_start().len();
            text[..from + blanks].chars().count() + 1
        };
        let problem = |from, part: &str, what: String| {
            let column = column(from, part);
            format!(
                "column {column}: {what}; a requirement is a number, one of < <= > >=, and a limit, as in `p99 < 20ms` or \
                 `p99 <= baseline * 1.10`"
            )
        };
        let metric = Metric::named(name.trim()).map_err(|what| problem(0, name, what))?;
        let bound = Bound::ALL.iter().find(|(known, _)| *known == sign).map(|(_, bound)| *bound);
        let bound = bound.ok_or_else(|| {
            let what = match sign {
                "" => format!("no comparison follows `{}`", name.trim()),
                _ => format!("`{sign}` is not a comparison"),
            };
            problem(start, sign, what)
        })?;
        let value = Limit::of(metric, limit.trim());
        let value = value.map_err(|error| problem(end, limit, error))?;
        let requirement = Self { metric, bound, limit: value };
        if bound == Bound::Below && requirement.limit() <= 0.0 {
            let what = format!("nothing is below {}; perhaps `<=` is meant", limit.trim());
            return Err(problem(end, limit, what));
        }
        Ok(requirement)
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { metric, bound, limit } = self;
        write!(f, "{metric} {bound} {limit}")
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Self::ALL.iter().find(|(_, bound)| bound == self);
        f.write_str(known.map_or("", |(sign, _)| *sign))
    }
}

crate::text::as_text!(Requirement, "a number of each row and its limit", "p99 < 20ms");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_is_a_number_a_comparison_and_a_limit_in_its_unit() {
        #[rustfmt::skip]
        let table = [
            ("p99 < 20ms",               "p99 < 20ms",               2e7),
            (" p99.9<=1.5ms ",           "p99.9 <= 1500us",          1.5e6),
            ("error_rate < 0.1%",        "error_rate < 0.1%",        1e-3),
            ("refused_rate <= 0%",       "refused_rate <= 0%",       0.0),
            ("achieved/offered>=99%",    "achieved/offered >= 99%",  0.99),
            ("messages/s > 2k/s",        "messages/s > 2k/s",        2e3),
            ("cpu/message <= 5us",       "cpu/message <= 5us",       5.0),
            ("generator_cpu/message < 800ns", "generator_cpu/message < 800ns", 0.8),
            ("bytes/message < 1KiB",     "bytes/message < 1KiB",     1024.0),
            ("memory/connection < 10KiB", "memory/connection < 10KiB", 10_240.0),
            ("server_cpu < 70%",         "server_cpu < 70%",         0.7),
            ("recovery<5s",              "recovery < 5s",            5e9),
            ("recovery <= baseline * 1.2", "recovery <= baseline * 1.20", 1.2),
            ("p99 <= baseline * 1.10",   "p99 <= baseline * 1.10",   1.1),
            ("messages/s>=baseline*0.95", "messages/s >= baseline * 0.95", 0.95),
            ("cpu/message <= baseline",  "cpu/message <= baseline",  1.0),
            ("memory/connection < baseline * 1.0005", "memory/connection < baseline * 1.0005", 1.0005),
            ("server_cpu < baseline*1000", "server_cpu < baseline * 1000.00", 1000.0),
        ];
        for (text, shown, limit) in table {
            let requirement: Requirement = text.parse().unwrap();
            assert_eq!(shown.parse(), Ok(requirement));
            assert_eq!(requirement.to_string().parse(), Ok(requirement));
            assert!((requirement.limit() - limit).abs() <= limit * 1e-12, "{requirement:?}");
        }
        assert_eq!("p99<20ms".parse::<Requirement>().unwrap().to_string(), "p99 < 20ms");
    }

    #[test]
    fn a_limit_is_met_on_its_side() {
        #[rustfmt::skip]
        let table = [
            ("p50 < 1us",  [true, false, false]),
            ("p50 <= 1us", [true, true,  false]),
            ("p50 > 1us",  [false, false, true]),
            ("p50 >= 1us", [false, true,  true]),
        ];
        for (text, expected) in table {
            let requirement: Requirement = text.parse().unwrap();
            assert_eq!(
                [999.0, 1000.0, 1001.0].map(|ns| requirement.is_met(ns)),
                expected,
                "{text}"
            );
            assert!(!requirement.is_met(f64::NAN), "{text}");
        }
    }

    #[test]
    fn a_typo_is_told_with_its_column() {
        #[rustfmt::skip]
        let table = [
            ("eror_rate < 1%",    "column 1: `eror_rate` is not a number of a run; did you mean `error_rate`?"),
            ("  latency < 1ms",   "column 3: `latency` is not a number of a run; expected p50, p90"),
            ("",                  "column 1: `` is not a number of a run"),
            ("p99",               "column 4: no comparison follows `p99`"),
            ("p99 20ms",          "column 1: `p99 20ms` is not a number of a run"),
            ("p99 =< 20ms",       "column 5: `=<` is not a comparison"),
            ("p99 == 20ms",       "column 5: `==` is not a comparison"),
            ("p99 < 20",          "column 7: `20`"),
            ("p99 <",             "column 6: `` is empty"),
            ("p99 < 20 parsecs",  "column 7: `20 parsecs` has the unknown unit"),
            ("p99 < basline * 2", "column 7: `basline` is not a limit; did you mean `baseline`?"),
            ("p99 < twice",       "column 7: `twice` is not a limit; expected baseline"),
            ("p99 < baseline 2",  "column 7: `2` after `baseline`; expected `* 1.05`"),
            ("p99 < baseline * ", "column 7: `` is not a factor"),
            ("p99 < baseline * 0", "column 7: `0` is not a factor; expected a number from 0.0001 to 1000"),
            ("p99 < baseline * 1001", "column 7: `1001` is not a factor"),
            ("p99 < baseline * 99999999999999", "column 7: `99999999999999` is not a factor"),
            ("p99 < baseline * 1.00001", "column 7: `1.00001` is not a factor"),
            ("p99 < baseline * -1", "column 7: `-1` is not a factor"),
            ("p99 < baseline * 10%", "column 7: `10%` is not a factor"),
            ("p99.9 < baseline",  "column 9: p99.9 has no interval, so noise cannot be distinguished from a change"),
            ("error_rate <= baseline", "column 15: error_rate has no interval"),
            ("server_cpu < 0.7",  "column 14: `0.7` is not a percentage"),
            ("server-cpu < 70%",  "column 1: `server-cpu` is not a number of a run; did you mean `server_cpu`?"),
            ("memory/conection < 1KiB", "column 1: `memory/conection` is not a number of a run; did you mean `memory/connection`?"),
            ("error_rate < 0.1",  "column 14: `0.1` is not a percentage"),
            ("messages/s > 2000", "column 14: `2000` is not a rate; did you mean `2000/s`?"),
            ("error_rate < 0%",   "column 14: nothing is below 0%; perhaps `<=` is meant"),
            ("µ < 1ms",           "column 1: `µ` is not a number"),
        ];
        for (text, problem) in table {
            let error = text.parse::<Requirement>().unwrap_err();
            assert!(error.starts_with(problem), "{text}: {error}");
            let grammar = "and a limit, as in `p99 < 20ms` or `p99 <= baseline * 1.10`";
            assert!(error.ends_with(grammar), "{error}");
        }
    }
}
