//! Open loops of one load in two ways, set side by side: response times, send lag and replies, each with the interval
//! of its ratio.

use anyhow::{Context as _, Result};
use serde_json::Value;
use stats::{Histogram, Part, Pooled};

/// A run that is over.
pub(super) struct OpenLoop {
    /// Replies, by the measured time in seconds.
    replies: [f64; 2],
    response: Histogram,
    send_lag: Histogram,
}

impl OpenLoop {
    /// The first block of a record.
    pub(super) fn of(record: &Value) -> Result<Self> {
        let block = &record["blocks"][0];
        let number = |value: &Value| value.as_f64().context("the record has no messages");
        let times = |name: &str| -> Result<Histogram> {
            let text = block["open_loop"][name]["histogram"].as_str();
            let text = text.with_context(|| format!("the record has no {name}"))?;
            Ok(Histogram::from_base64(text)?)
        };
        Ok(Self {
            replies: [number(&block["counts"]["ok"])?, number(&block["measured_ns"])? / 1e9],
            response: times("response")?,
            send_lag: times("send_lag")?,
        })
    }
}

/// The table of runs in both ways, which took turns, as Markdown.
pub(super) fn table(names: [&str; 2], sides: [&[OpenLoop]; 2]) -> Result<String> {
    let replies = sides.map(|side| {
        let parts = side.iter().map(|run| Some(Part { of: run.replies[0], by: run.replies[1] }));
        Pooled::quotient(&parts.collect::<Vec<_>>()).context("no time was measured")
    });
    let quantiles = |times: fn(&OpenLoop) -> &Histogram, q: f64| {
        sides.map(|side| {
            let rounds: Vec<Option<&Histogram>> = side.iter().map(|it| Some(times(it))).collect();
            let [pooled] = Pooled::quantiles(&rounds, [q]);
            pooled.context("too few messages for a percentile")
        })
    };
    let micros = |value: f64| format!("{:.1} us", value / 1e3);
    let mut lines = vec![format!(
        "| number of all runs together | {} | {} | ratio [95 %] | would have been shown |\n|---|--:|--:|--:|--:|",
        names[0], names[1]
    )];
    for (name, numbers, show) in [
        ("response p50", quantiles(|run| &run.response, 0.5), micros as fn(f64) -> String),
        ("response p99", quantiles(|run| &run.response, 0.99), micros),
        ("send lag p50", quantiles(|run| &run.send_lag, 0.5), micros),
        ("send lag p99", quantiles(|run| &run.send_lag, 0.99), micros),
        ("replies/s", replies, |value| format!("{value:.1}")),
    ] {
        let [one, other] = numbers;
        let (one, other) = (one?, other?);
        let ratio = one.over(&other);
        let least = ratio.smallest_detectable();
        let least = least.map_or_else(|| "-".to_owned(), |it| format!("{:.1} %", it * 100.0));
        let (one, other) = (show(one.value()), show(other.value()));
        lines.push(format!("| {name} | {one} | {other} | {} | {least} |", with_interval(&ratio)));
    }
    Ok(lines.join("\n"))
}

/// A ratio with the interval of 95 %.
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

    /// A run of ten seconds in which messages took so many microseconds.
    fn run(micros: u64) -> OpenLoop {
        let mut times = Histogram::new();
        times.record_all(Nanos(micros * 1000), 20_000);
        OpenLoop { replies: [20_000.0, 10.0], response: times.clone(), send_lag: times }
    }

    #[test]
    fn runs_in_two_ways_are_set_side_by_side() {
        let sides = [[100, 100, 100, 100, 100, 100].map(run), [200; 6].map(run)];
        let table = table(["one", "other"], [&sides[0], &sides[1]]).unwrap();
        assert!(table.starts_with("| number of all runs together | one | other |"), "{table}");
        assert!(table.contains("| response p99 | 100.0 us | 200.1 us | 0.500x ["), "{table}");
        assert!(
            table.contains("| replies/s | 2000.0 | 2000.0 | 1.000x [1.000, 1.000] |"),
            "{table}"
        );
    }

    #[test]
    fn the_record_of_a_run_is_read_and_one_without_times_is_refused() {
        let mut times = Histogram::new();
        times.record_all(Nanos(5_000), 100);
        let record = |open_loop: Value| {
            let block =
                json!({ "counts": { "ok": 100 }, "measured_ns": 5e8, "open_loop": open_loop });
            json!({ "blocks": [block] })
        };
        let side = json!({ "histogram": times.to_base64() });
        let whole = record(json!({ "response": side, "send_lag": side }));
        let run = OpenLoop::of(&whole).unwrap();
        assert_eq!((run.replies, run.send_lag.count()), ([100.0, 0.5], 100));
        let error = OpenLoop::of(&record(Value::Null)).err().unwrap().to_string();
        assert_eq!(error, "the record has no response");
    }
}
