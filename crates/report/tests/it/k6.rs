//! A record as the summary of k6.

use crate::{records, requirements};
use record::{Finding, RunRecord};
use report::ExportError;
use serde_json::{Value, json};

fn written(record: &RunRecord) -> Value {
    serde_json::from_str(&report::k6(record).expect("there are times")).expect("it is JSON")
}

#[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
fn number(count: u64) -> f64 {
    count as f64
}

/// The shape of `value`, with kinds for numbers and booleans: all that a reader of k6's summaries may count on.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), shape(value))).collect()
        }
        Value::Array(values) => values.iter().map(shape).collect(),
        Value::Number(_) => json!("number"),
        Value::Bool(_) => json!("bool"),
        Value::String(text) => json!(text),
        Value::Null => Value::Null,
    }
}

#[test]
fn a_summary_has_the_shape_of_what_k6_gives_to_handle_summary() {
    let summary = written(&records::open());
    // As printed in k6's documentation (Grafana k6, custom summary).
    let number = "number";
    let counter = |contains: &str| {
        json!({
            "type": "counter",
            "contains": contains,
            "values": { "count": number, "rate": number },
        })
    };
    let trend = json!({
        "avg": number, "min": number, "med": number, "max": number, "p(90)": number, "p(95)": number,
    });
    let expected = json!({
        "root_group": {
            "name": "", "path": "", "id": "d41d8cd98f00b204e9800998ecf8427e",
            "groups": [], "checks": [],
        },
        "options": {
            "summaryTrendStats": ["avg", "min", "med", "max", "p(90)", "p(95)"],
            "summaryTimeUnit": "", "noColor": "bool",
        },
        "state": { "isStdOutTTY": "bool", "isStdErrTTY": "bool", "testRunDurationMs": number },
        "metrics": {
            "iterations": counter("default"),
            "dropped_iterations": counter("default"),
            "data_sent": counter("data"),
            "data_received": counter("data"),
            "iteration_duration": { "type": "trend", "contains": "time", "values": trend },
            "checks": {
                "type": "rate", "contains": "default",
                "values": { "rate": number, "passes": number, "fails": number },
            },
            "vus": {
                "type": "gauge", "contains": "default",
                "values": { "value": number, "min": number, "max": number },
            },
        },
    });
    assert_eq!(shape(&summary), expected);
}

#[test]
fn the_numbers_are_those_of_the_blocks_in_the_units_of_k6() {
    let record = records::open();
    let values = |name: &str| written(&record)["metrics"][name]["values"].clone();
    let (block, result) = (&record.blocks[0], &record.results[0]);
    let counts = &block.counts;
    let seconds = number(block.measured_ns) / 1e9;
    assert_eq!(values("iterations")["count"], counts.ok);
    assert_eq!(values("iterations")["rate"], number(counts.ok) / seconds);
    assert_eq!(values("dropped_iterations")["count"], counts.unsent);
    assert_eq!(values("checks")["passes"], counts.ok);
    assert_eq!(values("checks")["fails"], counts.failed());
    assert_eq!(values("data_sent")["count"], block.wire.sent_bytes);
    assert_eq!(values("vus")["max"], 50);
    let times = result.response.as_ref().unwrap();
    let milliseconds = |ns: u64| number(ns) / 1e6;
    assert_eq!(values("iteration_duration")["max"], milliseconds(times.max_ns));
    assert_eq!(values("iteration_duration")["avg"], times.mean_ns / 1e6);
    let histogram = times.histogram().unwrap();
    for (name, q) in [("med", 0.5), ("p(90)", 0.9), ("p(95)", 0.95)] {
        let time = histogram.quantile(q).unwrap();
        assert_eq!(values("iteration_duration")[name], milliseconds(time.0), "{name}");
    }
}

#[test]
fn a_threshold_is_ok_if_its_requirement_passes() {
    let metrics = &written(&requirements::with_checks())["metrics"];
    assert_eq!(
        metrics["iteration_duration"]["thresholds"],
        json!({
            "p99 < 20ms": { "ok": true },
            "p50 <= 12ms": { "ok": false },
            "p99.9 < 1s": { "ok": false },
        })
    );
    assert_eq!(metrics["checks"]["thresholds"], json!({ "error_rate < 0.1%": { "ok": false } }));
    assert_eq!(
        metrics["iterations"]["thresholds"],
        json!({ "cpu/message < 5us": { "ok": false } })
    );

    let mut noisy = requirements::with_checks();
    noisy.requirements.truncate(1);
    noisy.requirements[0].finding = Finding::Noisy;
    let ok = |record: &RunRecord| {
        let thresholds = written(record)["metrics"]["iteration_duration"]["thresholds"].clone();
        thresholds["p99 < 20ms"]["ok"].clone()
    };
    assert_eq!(ok(&noisy), !noisy.is_strict());
}

#[test]
fn each_of_several_rows_has_metrics_of_its_own() {
    let mut record = records::open();
    record.plan.workloads.push(record.plan.workloads[0].clone());
    record.blocks.push(record::Block { workload: 1, ..record.blocks[0].clone() });
    record.results.push(record::WorkloadResult { workload: 1, ..record.results[0].clone() });
    for (workload, name) in record.plan.workloads.iter_mut().zip(["tcp", "ws"]) {
        workload.spec.name = name.to_owned();
    }
    let metrics = &written(&record)["metrics"];
    for row in ["tcp", "ws"] {
        assert!(metrics[format!("iteration_duration{{workload:{row}}}")]["values"]["avg"].is_f64());
    }
    assert_eq!(metrics.get("iteration_duration"), None);
    let mut nothing = record;
    nothing.results.clear();
    assert_eq!(report::k6(&nothing), Err(ExportError::NoDistribution));
}
