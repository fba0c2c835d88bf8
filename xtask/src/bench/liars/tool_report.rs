//! The reports of tools, read from what they print.
//!
//! Each reader takes text, and returns numbers with the meaning that the tool gives them. The tests read output of the
//! tools that is kept in `xtask/fixtures/liars`.

use super::tools::Tool;
use anyhow::{Context as _, Result};
use serde_json::Value;
use units::Nanos;

/// The report of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ToolReport {
    /// The number of messages that its times cover.
    pub(super) count: u64,
    pub(super) p50: Option<Nanos>,
    pub(super) p99: Option<Nanos>,
    pub(super) max: Option<Nanos>,
    /// Its other counts: messages not sent, errors, samples made up.
    pub(super) besides: Vec<String>,
}

/// Reads what `tool` printed.
///
/// # Errors
///
/// A value that `tool` should have printed is missing or cannot be read.
pub(super) fn read(tool: Tool, printed: &str) -> Result<ToolReport> {
    match tool {
        Tool::Ab => ab(printed),
        Tool::Artillery => artillery(&json(printed)?),
        Tool::Autocannon => autocannon(&json(printed)?),
        Tool::Hey => hey(printed),
        Tool::K6 => k6(&json(printed)?),
        Tool::Oha => oha(&json(printed)?),
        Tool::Siege => siege(&json(printed)?),
        Tool::Tsung => tsung(printed),
        Tool::Wirebench => wirebench(&json(printed)?),
        Tool::Wrk => wrk(printed),
    }
}

/// The part of a text that is JSON: some tools print other words before it.
fn json(printed: &str) -> Result<Value> {
    let start = printed.find('{').with_context(|| format!("no JSON in {printed:?}"))?;
    serde_json::from_str(&printed[start..]).context("its JSON cannot be read")
}

fn wrk(printed: &str) -> Result<ToolReport> {
    let percentile = |name: &str| after(printed, name)?.parse().context(name.to_owned());
    // `Latency`, average, standard deviation, and then the maximum.
    let statistics = line(printed, "Latency ")?;
    let max = statistics.split_whitespace().nth(2).context("no maximum")?;
    let (count, _) = printed.split_once(" requests in ").context("no count")?;
    let count = count.split_whitespace().next_back().context("no count")?;
    Ok(ToolReport {
        count: count.parse()?,
        p50: Some(percentile("50%")?),
        p99: Some(percentile("99%")?),
        max: Some(max.parse()?),
        besides: line(printed, "Socket errors:")
            .map(|line| format!("errors:{line}"))
            .into_iter()
            .collect(),
    })
}

fn ab(printed: &str) -> Result<ToolReport> {
    let whole_ms = |name: &str| -> Result<Option<Nanos>> {
        Ok(Some(Nanos::from_millis(after(printed, name)?.parse().context(name.to_owned())?)))
    };
    let failed = after(printed, "Failed requests:")?;
    Ok(ToolReport {
        count: after(printed, "Complete requests:")?.parse()?,
        p50: whole_ms("50%")?,
        p99: whole_ms("99%")?,
        max: whole_ms("100%")?,
        besides: (failed != "0").then(|| format!("{failed} failed")).into_iter().collect(),
    })
}

fn siege(report: &Value) -> Result<ToolReport> {
    let failed = number(report, "/failed_transactions")?;
    Ok(ToolReport {
        count: count(report, "/transactions")?,
        p50: None,
        p99: None,
        max: Some(seconds(number(report, "/longest_transaction")?)),
        besides: (failed > 0.0).then(|| format!("{failed} failed")).into_iter().collect(),
    })
}

fn hey(printed: &str) -> Result<ToolReport> {
    let in_seconds = |name: &str| -> Result<Option<Nanos>> {
        Ok(Some(seconds(after(printed, name)?.parse().context(name.to_owned())?)))
    };
    let responses = |line: &str| -> Option<u64> {
        line.trim().strip_suffix(" responses")?.split_whitespace().next_back()?.parse().ok()
    };
    Ok(ToolReport {
        count: printed.lines().filter_map(responses).sum(),
        p50: in_seconds("50% in")?,
        p99: in_seconds("99% in")?,
        max: in_seconds("Slowest:")?,
        besides: printed
            .split_once("Error distribution:")
            .map(|(_, errors)| {
                format!("errors: {}", errors.split_whitespace().collect::<Vec<_>>().join(" "))
            })
            .into_iter()
            .collect(),
    })
}

fn oha(report: &Value) -> Result<ToolReport> {
    let errors = report.get("errorDistribution").and_then(Value::as_object);
    let status = report.get("statusCodeDistribution").and_then(Value::as_object);
    Ok(ToolReport {
        count: status
            .into_iter()
            .flat_map(|status| status.values())
            .filter_map(Value::as_u64)
            .sum(),
        p50: Some(seconds(number(report, "/latencyPercentiles/p50")?)),
        p99: Some(seconds(number(report, "/latencyPercentiles/p99")?)),
        max: Some(seconds(number(report, "/summary/slowest")?)),
        besides: errors
            .into_iter()
            .flatten()
            .map(|(what, count)| format!("{count} {what}"))
            .collect(),
    })
}

fn autocannon(report: &Value) -> Result<ToolReport> {
    let ms = |pointer: &str| Ok::<_, anyhow::Error>(Some(milliseconds(number(report, pointer)?)));
    let answered = count(report, "/2xx")?;
    let samples = count(report, "/latency/totalCount")?;
    let mut besides = Vec::new();
    if samples > answered {
        besides
            .push(format!("{} samples more than replies, by its correction", samples - answered));
    }
    for what in ["errors", "timeouts", "resets"] {
        let count = count(report, &format!("/{what}"))?;
        besides.extend((count > 0).then(|| format!("{count} {what}")));
    }
    let (p50, p99, max) = (ms("/latency/p50")?, ms("/latency/p99")?, ms("/latency/max")?);
    Ok(ToolReport { count: answered, p50, p99, max, besides })
}

fn k6(report: &Value) -> Result<ToolReport> {
    let dropped = count(report, "/dropped")?;
    Ok(ToolReport {
        count: count(report, "/count")?,
        p50: Some(milliseconds(number(report, "/med")?)),
        p99: Some(milliseconds(number(report, "/p(99)")?)),
        max: Some(milliseconds(number(report, "/max")?)),
        besides: (dropped > 0).then(|| format!("{dropped} dropped")).into_iter().collect(),
    })
}

fn artillery(report: &Value) -> Result<ToolReport> {
    let of = |name: &str| {
        let times = report.pointer("/aggregate/summaries/http.response_time");
        times.and_then(|times| number(times, name).ok()).with_context(|| format!("no {name}"))
    };
    let counters = report.pointer("/aggregate/counters").and_then(Value::as_object);
    let counter = |(what, count): (&String, &Value)| {
        let tells =
            what.starts_with("errors.") || what == "vusers.failed" || what == "vusers.skipped";
        (tells && count != 0).then(|| format!("{count} {what}"))
    };
    Ok(ToolReport {
        count: count(
            report.pointer("/aggregate/summaries/http.response_time").context("no times")?,
            "/count",
        )?,
        p50: Some(milliseconds(of("/p50")?)),
        p99: Some(milliseconds(of("/p99")?)),
        max: Some(milliseconds(of("/max")?)),
        besides: counters.into_iter().flatten().filter_map(counter).collect(),
    })
}

/// Reads the section about requests from the output of its script.
fn tsung(printed: &str) -> Result<ToolReport> {
    let section = printed
        .split("Read : ")
        .find(|section| {
            section.lines().next().is_some_and(|line| line.ends_with("values for sample,request"))
        })
        .context("no samples of requests")?;
    let percentile = |name: &str| -> Result<Option<Nanos>> {
        Ok(Some(milliseconds(after(section, &format!("Percentile {name} :"))?.parse()?)))
    };
    Ok(ToolReport {
        count: section.split_whitespace().next().context("no count")?.parse()?,
        p50: percentile("50")?,
        p99: percentile("99")?,
        max: percentile("100")?,
        besides: Vec::new(),
    })
}

/// The response time of an open loop, the round trip of a closed one.
fn wirebench(record: &Value) -> Result<ToolReport> {
    let block = record.pointer("/blocks/0").context("its record has no block")?;
    let response = block.pointer("/open_loop/response").filter(|response| !response.is_null());
    let times = response.or_else(|| block.get("round_trip")).context("its record has no times")?;
    let ns = |name: &str| times.get(name).and_then(Value::as_u64).map(Nanos);
    let besides = ["unsent", "error", "timed_out"].iter().filter_map(|what| {
        let count = block.pointer(&format!("/counts/{what}"))?.as_u64()?;
        (count > 0).then(|| format!("{count} {}", what.replace('_', " ")))
    });
    Ok(ToolReport {
        count: count(times, "/count")?,
        p50: ns("p50_ns"),
        p99: ns("p99_ns"),
        max: ns("max_ns"),
        besides: besides.collect(),
    })
}

/// The rest of the line that begins with `name`.
fn line<'a>(printed: &'a str, name: &str) -> Result<&'a str> {
    let found = printed.lines().find_map(|line| line.trim_start().strip_prefix(name));
    found.with_context(|| format!("no `{name}` in {printed:?}"))
}

/// The first word after `name` in that line.
fn after<'a>(printed: &'a str, name: &str) -> Result<&'a str> {
    line(printed, name)?
        .split_whitespace()
        .next()
        .with_context(|| format!("nothing behind `{name}`"))
}

fn number(report: &Value, pointer: &str) -> Result<f64> {
    report
        .pointer(pointer)
        .and_then(Value::as_f64)
        .with_context(|| format!("no number at {pointer}"))
}

fn count(report: &Value, pointer: &str) -> Result<u64> {
    report
        .pointer(pointer)
        .and_then(Value::as_u64)
        .with_context(|| format!("no count at {pointer}"))
}

fn milliseconds(value: f64) -> Nanos {
    seconds(value / 1e3)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, and is not negative"
)]
fn seconds(value: f64) -> Nanos {
    Nanos((value * 1e9).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the count, and p50, p99 and maximum in microseconds.
    fn check(tool: Tool, printed: &str, count: u64, us: [Option<u64>; 3], besides: &[&str]) {
        let [p50, p99, max] = us.map(|us| us.map(Nanos::from_micros));
        let besides = besides.iter().map(ToString::to_string).collect();
        let said = read(tool, printed).unwrap();
        let rounded = |time: Option<Nanos>| time.map(|time| Nanos(time.0 / 1_000 * 1_000));
        let [said_p50, said_p99, said_max] = [said.p50, said.p99, said.max].map(rounded);
        let said = ToolReport { p50: said_p50, p99: said_p99, max: said_max, ..said };
        assert_eq!(said, ToolReport { count, p50, p99, max, besides });
    }

    #[test]
    fn wrk_is_read() {
        let printed = include_str!("../../../fixtures/liars/wrk.txt");
        let us = [Some(328), Some(1_750_000), Some(2_010_000)];
        check(Tool::Wrk, printed, 1_975_085, us, &[]);
        let failed = printed.replace(
            "Requests/sec:",
            "  Socket errors: connect 0, read 0, write 0, timeout 100\nRequests/sec:",
        );
        let errors = "errors: connect 0, read 0, write 0, timeout 100";
        check(Tool::Wrk, &failed, 1_975_085, us, &[errors]);
    }

    #[test]
    fn ab_is_read() {
        let printed = include_str!("../../../fixtures/liars/ab.txt");
        let us = [Some(0), Some(6_000), Some(2_007_000)];
        check(Tool::Ab, printed, 2_400_690, us, &[]);
    }

    #[test]
    fn siege_is_read_and_says_no_percentile() {
        let printed = include_str!("../../../fixtures/liars/siege.txt");
        check(Tool::Siege, printed, 16_731, [None, None, Some(2_000_000)], &[]);
    }

    #[test]
    fn hey_is_read() {
        let printed = include_str!("../../../fixtures/liars/hey.txt");
        let us = [Some(2_200), Some(22_200), Some(1_917_200)];
        check(Tool::Hey, printed, 18_200, us, &[]);
        let failed = format!("{printed}\nError distribution:\n  [3]\tGet: EOF\n");
        check(Tool::Hey, &failed, 18_200, us, &["errors: [3] Get: EOF"]);
    }

    #[test]
    fn oha_is_read() {
        let printed = include_str!("../../../fixtures/liars/oha.txt");
        let us = [Some(161), Some(1_805_862), Some(2_004_158)];
        check(Tool::Oha, printed, 20_000, us, &[]);
        let aborted = r#""errorDistribution": {"aborted due to deadline": 7}"#;
        let printed = printed.replace(r#""errorDistribution": {}"#, aborted);
        check(Tool::Oha, &printed, 20_000, us, &["7 aborted due to deadline"]);
    }

    #[test]
    fn autocannon_is_read_and_what_it_made_up_is_told() {
        let printed = include_str!("../../../fixtures/liars/autocannon.txt");
        let us = [Some(682_000), Some(1_965_000), Some(1_993_000)];
        let besides = ["225102 samples more than replies, by its correction"];
        check(Tool::Autocannon, printed, 19_392, us, &besides);
    }

    #[test]
    fn k6_is_read() {
        let printed = include_str!("../../../fixtures/liars/k6.txt");
        let us = [Some(121), Some(8_509), Some(2_002_169)];
        check(Tool::K6, printed, 18_097, us, &["1904 dropped"]);
    }

    #[test]
    fn artillery_is_read() {
        let printed = include_str!("../../../fixtures/liars/artillery.txt");
        let us = [Some(5_000), Some(64_700), Some(2_028_000)];
        check(Tool::Artillery, printed, 20_000, us, &[]);
        let failed = printed.replace(r#""vusers.failed": 0"#, r#""vusers.failed": 3"#);
        check(Tool::Artillery, &failed, 20_000, us, &["3 vusers.failed"]);
    }

    #[test]
    fn tsung_is_read_where_it_tells_of_requests() {
        let printed = include_str!("../../../fixtures/liars/tsung.txt");
        let us = [Some(1_003), Some(1_877_055), Some(2_024_886)];
        check(Tool::Tsung, printed, 15_660, us, &[]);
    }

    #[test]
    fn wirebench_is_read_from_due_in_an_open_loop() {
        let times = |p99: u64| {
            format!(r#"{{"count": 20000, "p50_ns": 80000, "p99_ns": {p99}, "max_ns": 2001000000}}"#)
        };
        let block = |open_loop: &str| {
            let (round_trip, counts) =
                (times(5_000_000), r#"{"unsent": 2, "error": 0, "timed_out": 1}"#);
            format!(
                r#"{{"blocks": [{{"counts": {counts}, "round_trip": {round_trip}, "open_loop": {open_loop}}}]}}"#
            )
        };
        let open = block(&format!(r#"{{"response": {}}}"#, times(1_811_000_000)));
        let besides = ["2 unsent", "1 timed out"];
        let us = [Some(80), Some(1_811_000), Some(2_001_000)];
        check(Tool::Wirebench, &open, 20_000, us, &besides);
        let us = [Some(80), Some(5_000), Some(2_001_000)];
        check(Tool::Wirebench, &block("null"), 20_000, us, &besides);
    }

    #[test]
    fn what_is_not_there_is_named() {
        for (tool, printed, why) in [
            (Tool::Wrk, "", "no `Latency ` in \"\""),
            (Tool::Hey, "[200]\t5 responses", "no `50% in` in \"[200]\\t5 responses\""),
            (Tool::Oha, "no", "no JSON in \"no\""),
            (Tool::K6, "{\"count\": 1}", "no count at /dropped"),
        ] {
            let error = read(tool, printed).unwrap_err();
            assert!(error.to_string().starts_with(why), "{error}");
        }
    }
}
