//! Runs of one load in two ways, set side by side: their times and replies, each with the interval of its ratio.

use anyhow::{Context as _, Result};
use serde_json::Value;
use stats::{Histogram, Part, Pooled};

/// A run that is over.
pub(super) struct Loaded {
    /// Replies, by the measured time in seconds.
    replies: [f64; 2],
    /// The times of an open loop, or those of a closed one, by name.
    times: Vec<(&'static str, Histogram)>,
}

impl Loaded {
    /// Reads the first block of a record.
    pub(super) fn of(record: &Value) -> Result<Self> {
        let block = &record["blocks"][0];
        let number = |value: &Value| value.as_f64().context("the record has no messages");
        let times = |of: &Value, key: &str, name: &'static str| -> Result<_> {
            let text = of[key]["histogram"].as_str();
            let text = text.with_context(|| format!("the record has no {name}"))?;
            Ok((name, Histogram::from_base64(text)?))
        };
        let open_loop = &block["open_loop"];
        let times = if open_loop.is_null() {
            vec![times(block, "round_trip", "round trip")?]
        } else {
            vec![
                times(open_loop, "response", "response")?,
                times(open_loop, "send_lag", "send lag")?,
            ]
        };
        let replies = [number(&block["counts"]["ok"])?, number(&block["measured_ns"])? / 1e9];
        Ok(Self { replies, times })
    }

    /// Its percentiles, in a line: `response p50 55.1 us, p90 80.2 us, p99 120 us`.
    pub(super) fn told(&self) -> String {
        let of = |(name, times): &(&str, Histogram)| {
            let percentiles = PERCENTILES.map(|(percentile, q)| match times.quantile(q) {
                Ok(time) => format!("{percentile} {time}"),
                Err(_) => format!("{percentile} -"),
            });
            format!("{name} {}", percentiles.join(", "))
        };
        self.times.iter().map(of).collect::<Vec<_>>().join("; ")
    }
}

/// The table of runs in both ways, which took turns, as Markdown.
pub(super) fn table(names: [&str; 2], sides: [&[Loaded]; 2]) -> Result<String> {
    let [of_one, of_other] = names;
    let mut lines = vec![format!(
        "| number of all runs together | {of_one} | {of_other} | ratio [95 %] | would have been shown \
         | middle of the pairs [95 %] | would have been shown |\n\
         |---|--:|--:|--:|--:|--:|--:|"
    )];
    let mut row = |name: &str, both: [Pooled; 2], pairs: &[f64], show: fn(f64) -> String| {
        let [one, other] = &both;
        let ratio = one.over(other);
        let least = percent(ratio.smallest_detectable());
        let (one, other) = (show(one.value()), show(other.value()));
        let (middle, middle_least) = middle(pairs);
        lines.push(format!(
            "| {name} | {one} | {other} | {} | {least} | {middle} | {middle_least} |",
            with_interval(&ratio)
        ));
    };
    let [first, _] = sides.map(|side| side.first());
    for (at, (name, _)) in first.context("there is no run")?.times.iter().enumerate() {
        for (percentile, q) in PERCENTILES {
            let [one, other] = sides.map(|side| {
                let times = side.iter().map(|run| run.times.get(at).map(|(_, times)| times));
                let [pooled] = Pooled::quantiles(&times.collect::<Vec<_>>(), [q]);
                pooled.context("too few messages for a percentile")
            });
            let of =
                |run: &Loaded| run.times.get(at)?.1.quantile(q).ok().map(|it| it.as_secs_f64());
            let pairs = ratios(sides, of);
            row(&format!("{name} {percentile}"), [one?, other?], &pairs, |it| {
                format!("{:.1} us", it / 1e3)
            });
        }
    }
    let [one, other] = sides.map(|side| {
        let parts = side.iter().map(|run| Some(Part { of: run.replies[0], by: run.replies[1] }));
        Pooled::quotient(&parts.collect::<Vec<_>>()).context("no time was measured")
    });
    let pairs = ratios(sides, |run| Some(run.replies[0] / run.replies[1]));
    row("replies/s", [one?, other?], &pairs, |it| format!("{it:.1}"));
    Ok(lines.join("\n"))
}

/// The ratio of a number in each pair of runs, one of either way; pairs in which a run lacks the number are left out.
fn ratios(sides: [&[Loaded]; 2], of: impl Fn(&Loaded) -> Option<f64>) -> Vec<f64> {
    let [one, other] = sides;
    one.iter().zip(other).filter_map(|(one, other)| Some(of(one)? / of(other)?)).collect()
}

/// The middle of the ratios of pairs with its interval, and the difference that would have been shown four times out of
/// five. A pair in which the machine stalled counts as one pair, however much it differs.
///
/// On a logarithmic scale it is the median of the means of any two ratios (Hodges and Lehmann, 1963), and the interval
/// is that of the signed-rank test of Wilcoxon (1945).
fn middle(ratios: &[f64]) -> (String, String) {
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let logs = &logs[..];
    let upward = |at: usize| logs[at..].iter().map(move |other| f64::midpoint(logs[at], *other));
    let mut means: Vec<f64> = (0..logs.len()).flat_map(upward).collect();
    means.sort_by(f64::total_cmp);
    let outside = outside(logs.len());
    let (Ok(median), Some(outside)) = (stats::median(&means), outside) else {
        return ("-".to_owned(), "-".to_owned());
    };
    let [low, high] = [means[outside], means[means.len() - 1 - outside]];
    let text = format!("{:.3}x [{:.3}, {:.3}]", median.exp(), low.exp(), high.exp());
    (text, percent(Some(((high - low) / 2.0 * BY_POWER).exp_m1())))
}

/// The number of means of two that are outside of the 95 % interval on either side, for this many pairs; `None` below
/// six pairs, where not even all means together make an interval.
fn outside(pairs: usize) -> Option<usize> {
    // The chance of each sum of ranks, if a coin decides the sign of each rank.
    let mut chances = vec![0.0; pairs * (pairs + 1) / 2 + 1];
    chances[0] = 1.0;
    for rank in 1..=pairs {
        for sum in (0..=rank * (rank + 1) / 2).rev() {
            let with = sum.checked_sub(rank).map_or(0.0, |sum| chances[sum]);
            chances[sum] = f64::midpoint(chances[sum], with);
        }
    }
    let mut within = 0.0;
    let unlikely = chances.iter().take_while(|chance| {
        within += **chance;
        within <= 0.025
    });
    unlikely.count().checked_sub(1)
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |it| format!("{:.1} %", it * 100.0))
}

/// The distance that is found four times out of five, relative to half of a 95 % interval: (1.960 + 0.842) / 1.960.
const BY_POWER: f64 = 1.429;
const PERCENTILES: [(&str, f64); 3] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)];

/// A ratio with its 95 % interval.
pub(super) fn with_interval(ratio: &Pooled) -> String {
    ratio.interval().map_or_else(
        || format!("{:.3}x, which hangs on too few of the runs", ratio.value()),
        |(low, high)| format!("{:.3}x [{low:.3}, {high:.3}]", ratio.value()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use units::Nanos;

    /// A run of ten seconds in which each message took `micros` microseconds.
    fn run(micros: u64) -> Loaded {
        let mut times = Histogram::new();
        times.record_all(Nanos(micros * 1000), 20_000);
        let times = vec![("response", times.clone()), ("send lag", times)];
        Loaded { replies: [20_000.0, 10.0], times }
    }

    #[test]
    fn runs_in_two_ways_are_set_side_by_side() {
        let sides = [[100, 100, 100, 100, 100, 100].map(run), [200; 6].map(run)];
        let table = table(["one", "other"], [&sides[0], &sides[1]]).unwrap();
        assert!(table.starts_with("| number of all runs together | one | other |"), "{table}");
        assert!(table.contains("| response p99 | 100.0 us | 200.1 us | 0.500x ["), "{table}");
        assert!(table.contains("| send lag p90 | 100.0 us | 200.1 us | 0.500x ["), "{table}");
        assert!(
            table.contains("| replies/s | 2000.0 | 2000.0 | 1.000x [1.000, 1.000] |"),
            "{table}"
        );
        assert!(table.contains("| 0.500x [0.500, 0.500] | 0.0 % |"), "{table}");
    }

    #[test]
    fn the_middle_of_pairs_does_not_hang_on_a_pair_in_which_the_machine_stood_still() {
        // Wilcoxon's table for 5 % on both sides: no sum with 5 pairs, 0 with 6, 8 with 10, 52 with 20.
        assert_eq!([5, 6, 10, 20].map(outside), [None, Some(0), Some(8), Some(52)]);
        let pairs = [0.97, 0.98, 0.99, 1.0, 1.0, 1.01, 1.02, 1.03, 0.96];
        let (quiet, least) = middle(&[&pairs[..], &[1.04]].concat());
        assert_eq!((&*quiet, &*least), ("1.000x [0.980, 1.020]", "2.9 %"));
        let (stalled, _) = middle(&[&pairs[..], &[80.0]].concat());
        assert!(stalled.starts_with("1.00"), "{stalled}");
        assert_eq!(middle(&pairs[..5]).0, "-");
    }

    #[test]
    fn the_record_of_a_run_is_read_and_one_without_times_is_refused() {
        let mut times = Histogram::new();
        times.record_all(Nanos(5_000), 100);
        let side = json!({ "histogram": times.to_base64() });
        let record = |round_trip: &Value, open_loop: Value| {
            json!({ "blocks": [{
                "counts": { "ok": 100 },
                "measured_ns": 5e8,
                "round_trip": round_trip,
                "open_loop": open_loop,
            }] })
        };
        let names = |record: &Value| -> Vec<&str> {
            Loaded::of(record).unwrap().times.iter().map(|(name, _)| *name).collect()
        };
        let open = record(&side, json!({ "response": side, "send_lag": side }));
        assert_eq!(names(&open), ["response", "send lag"]);
        let closed = record(&side, Value::Null);
        assert_eq!(names(&closed), ["round trip"]);
        let run = Loaded::of(&closed).unwrap();
        assert_eq!((run.replies, run.times[0].1.count()), ([100.0, 0.5], 100));
        assert_eq!(run.told(), "round trip p50 5 us, p90 5 us, p99 -");
        let error = |record| Loaded::of(&record).err().unwrap().to_string();
        assert_eq!(error(record(&Value::Null, Value::Null)), "the record has no round trip");
        let half = record(&side, json!({ "response": side }));
        assert_eq!(error(half), "the record has no send lag");
    }
}
