//! A record as k6's summary: the `data` that k6 passes to `handleSummary`, for tools that read it.
//!
//! Metrics have k6's names where they mean the same; times are milliseconds, as in k6. A record of several rows has one
//! metric per row, with its tag, `iteration_duration{workload:ws}`, and none over all rows, which were different loads.

use crate::escape::escape;
use crate::export::ExportError;
use crate::number;
use crate::row::{self, Row};
use record::{Block, Counts, Required, RequirementCheck, RunRecord};
use serde_json::{Map, Value, json};
use spec::Metric;

/// `record` as k6's summary:
///
/// | metric | type | |
/// |---|---|---|
/// | `iterations` | counter | right replies; `rate` by the measured time |
/// | `iteration_duration` | trend, ms | round trips, response times of an open loop, or lives of short-lived clients |
/// | `dropped_iterations` | counter | messages that were due and never sent |
/// | `checks` | rate | messages with an end; those with the right reply pass |
/// | `data_sent`, `data_received` | counter, bytes | on the wire, without TCP and IP |
/// | `vus` | gauge | connections |
///
/// A percentile that depends on too few messages is left out. Requirements are `thresholds` of the metric that they are
/// about.
///
/// # Errors
///
/// [`ExportError::NoDistribution`] if nothing was measured, [`ExportError::Damaged`] for a record that was changed by
/// hand.
pub fn k6(record: &RunRecord) -> Result<String, ExportError> {
    let mut metrics = Map::new();
    let mut is_measured = false;
    for row in row::all(record) {
        let all = of_row(record, row)?;
        is_measured |= all.iter().any(|metric| metric.name == TIMES);
        for Named { name, metric } in all {
            let tag = match row::count(record) {
                1 => String::new(),
                _ => format!("{{workload:{}}}", escape(row.name())),
            };
            metrics.insert(format!("{name}{tag}"), metric);
        }
    }
    if !is_measured {
        return Err(ExportError::NoDistribution);
    }
    let ends = record.blocks.iter().map(|block| block.started_at_ns + block.measured_ns);
    let data = json!({
        "root_group": { "name": "", "path": "", "id": ROOT, "groups": [], "checks": [] },
        "options": {
            "summaryTrendStats": ["avg", "min", "med", "max", "p(90)", "p(95)"],
            "summaryTimeUnit": "",
            "noColor": false,
        },
        "state": {
            "isStdOutTTY": false,
            "isStdErrTTY": false,
            "testRunDurationMs": millis(number::float(ends.max().unwrap_or(0))),
        },
        "metrics": metrics,
    });
    Ok(serde_json::to_string_pretty(&data).expect("its keys are texts") + "\n")
}

/// A metric under its name.
struct Named {
    name: &'static str,
    metric: Value,
}

/// The metrics of one row; without times if none of its messages was answered.
fn of_row(record: &RunRecord, row: Row<'_>) -> Result<Vec<Named>, ExportError> {
    let counted = |block: &&Block| block.workload == row.index && block.failed.is_none();
    let blocks: Vec<&Block> = record.blocks.iter().filter(counted).collect();
    let sum = |of: fn(&Block) -> u64| blocks.iter().map(|block| of(block)).sum::<u64>();
    let seconds = number::float(sum(|block| block.measured_ns)) / 1e9;
    let counter = |count: u64, contains: &str| {
        let rate = if seconds > 0.0 { number::float(count) / seconds } else { 0.0 };
        json!({ "type": "counter", "contains": contains, "values": { "count": count, "rate": rate } })
    };
    let ok = sum(|block| block.counts.ok);
    let ended = ok + sum(|block| Counts::failed(&block.counts));
    let share = if ended > 0 { number::float(ok) / number::float(ended) } else { 0.0 };
    let connections = row.connections();
    let mut all = vec![
        ("iterations", counter(ok, "default")),
        ("dropped_iterations", counter(sum(|block| block.counts.unsent), "default")),
        ("data_sent", counter(sum(|block| block.wire.sent_bytes), "data")),
        ("data_received", counter(sum(|block| block.wire.received_bytes), "data")),
        (
            "checks",
            json!({
                "type": "rate",
                "contains": "default",
                "values": { "rate": share, "passes": ok, "fails": ended - ok },
            }),
        ),
        (
            "vus",
            json!({
                "type": "gauge",
                "contains": "default",
                "values": { "value": connections, "min": connections, "max": connections },
            }),
        ),
    ];
    if let Some(values) = times(record, row)? {
        all.push((TIMES, json!({ "type": "trend", "contains": "time", "values": values })));
    }
    let named = |(name, mut metric): (&'static str, Value)| {
        let about = |check: &&RequirementCheck| {
            check.workload == row.index && of_metric(check.requirement.metric) == name
        };
        let thresholds: Map<String, Value> = record
            .requirements
            .iter()
            .filter(about)
            .map(|check| {
                let passes = check.required(record.is_strict()) == Required::Met;
                (check.requirement.to_string(), json!({ "ok": passes }))
            })
            .collect();
        if !thresholds.is_empty() {
            metric["thresholds"] = Value::Object(thresholds);
        }
        Named { name, metric }
    };
    Ok(all.into_iter().map(named).collect())
}

/// The values of the trend; `None` without times.
fn times(record: &RunRecord, row: Row<'_>) -> Result<Option<Map<String, Value>>, ExportError> {
    let result = record.results.iter().find(|result| result.workload == row.index);
    let Some(times) = result.and_then(|result| row.merged(result)) else { return Ok(None) };
    let damaged = |error| ExportError::Damaged { whose: escape(row.name()), error };
    let histogram = times.histogram().map_err(damaged)?;
    let at = |q| histogram.quantile(q).ok().map(|time| number::float(time.0));
    let values = [
        ("avg", Some(times.mean_ns)),
        ("min", Some(number::float(times.min_ns))),
        ("med", at(0.5)),
        ("max", Some(number::float(times.max_ns))),
        ("p(90)", at(0.9)),
        ("p(95)", at(0.95)),
    ];
    let known =
        values.into_iter().filter_map(|(name, ns)| Some((name.to_owned(), json!(millis(ns?)))));
    Ok(Some(known.collect()))
}

/// The k6 metric that has a requirement as its threshold.
const fn of_metric(metric: Metric) -> &'static str {
    match metric {
        Metric::P50 | Metric::P90 | Metric::P99 | Metric::P999 => TIMES,
        Metric::ErrorRate | Metric::RefusedRate => "checks",
        Metric::BytesPerMessage => "data_sent",
        Metric::AchievedOfOffered => "dropped_iterations",
        Metric::MessagesPerS
        | Metric::CpuPerMessage
        | Metric::GeneratorCpuPerMessage
        | Metric::MemoryPerConnection
        | Metric::Recovery
        | Metric::ServerCpu => "iterations",
    }
}

fn millis(ns: f64) -> f64 {
    ns / 1e6
}

/// The metric with the times of a row.
const TIMES: &str = "iteration_duration";
/// k6's id of the root group: the MD5 of nothing.
const ROOT: &str = "d41d8cd98f00b204e9800998ecf8427e";
