//! A run that goes on, in the text format of Prometheus (exposition format 0.0.4).
//!
//! Left out: native histograms, which that text has no place for.

use crate::escape::escape;
use record::Traffic;
use stats::Histogram;
use std::fmt::Write as _;
use units::Nanos;

/// The traffic of a workload in the measured time of all its blocks so far.
#[derive(Clone, Copy, Debug)]
pub struct Exposed<'a> {
    /// The name of the workload.
    pub name: &'a str,
    /// Messages that are due each second; `None` in a closed loop.
    pub due_per_s: Option<f64>,
    /// All of it.
    pub traffic: &'a Traffic,
}

/// The metrics of a run: `block` is the index of the one that goes on, from 0, and the number of blocks; `dropped` the
/// intervals that are missing from the numbers.
pub fn prometheus(workloads: &[Exposed<'_>], block: (usize, usize), dropped: u64) -> String {
    let mut text = String::new();
    family(&mut text, "wirebench_messages_total", "counter", "Messages by outcome.");
    for it in workloads {
        let counts = &it.traffic.counts;
        for (outcome, count) in [
            ("sent", counts.sent),
            ("unsent", counts.unsent),
            ("ok", counts.ok),
            ("error", counts.error),
            ("refused", counts.refused),
            ("timed_out", counts.timed_out),
        ] {
            let labels = format!("{},outcome=\"{outcome}\"", workload(it));
            sample(&mut text, "wirebench_messages_total", &labels, count);
        }
    }
    family(&mut text, "wirebench_bytes_total", "counter", "Bytes on the wire, without TCP and IP.");
    for it in workloads {
        let Traffic { bytes_sent, bytes_received, .. } = *it.traffic;
        for (direction, bytes) in [("sent", bytes_sent), ("received", bytes_received)] {
            let labels = format!("{},direction=\"{direction}\"", workload(it));
            sample(&mut text, "wirebench_bytes_total", &labels, bytes);
        }
    }
    let help = "Response time of an open loop, from due to received; round trip of a closed one.";
    family(&mut text, "wirebench_time_seconds", "histogram", help);
    for it in workloads {
        histogram(&mut text, "wirebench_time_seconds", &workload(it), it.traffic.times());
    }
    if workloads.iter().any(|it| it.traffic.open_loop.is_some()) {
        let help = "The generator's lateness in an open loop, from due to sent.";
        family(&mut text, "wirebench_send_lag_seconds", "histogram", help);
        for (it, times) in
            workloads.iter().filter_map(|it| Some((it, it.traffic.open_loop.as_ref()?)))
        {
            histogram(&mut text, "wirebench_send_lag_seconds", &workload(it), &times.lag);
        }
    }
    let due = workloads.iter().filter_map(|it| Some((it, it.due_per_s?)));
    let due: Vec<(&Exposed<'_>, f64)> = due.collect();
    if !due.is_empty() {
        let help = "Messages that an open loop has due each second.";
        family(&mut text, "wirebench_due_per_second", "gauge", help);
        for (it, due) in due {
            sample(&mut text, "wirebench_due_per_second", &workload(it), due);
        }
    }
    family(&mut text, "wirebench_block", "gauge", "The block that goes on, from 1.");
    sample(&mut text, "wirebench_block", "", block.0.saturating_add(1).min(block.1));
    family(&mut text, "wirebench_blocks", "gauge", "The number of blocks of the run.");
    sample(&mut text, "wirebench_blocks", "", block.1);
    let help = "Tenths of a second that are missing here, since this view was too slow for them.";
    family(&mut text, "wirebench_intervals_dropped_total", "counter", help);
    sample(&mut text, "wirebench_intervals_dropped_total", "", dropped);
    text
}

fn family(text: &mut String, name: &str, kind: &str, help: &str) {
    writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}").expect(MEMORY);
}

fn sample(text: &mut String, name: &str, labels: &str, value: impl std::fmt::Display) {
    let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
    writeln!(text, "{name}{labels} {value}").expect(MEMORY);
}

/// Cumulative buckets, the sum and the count.
fn histogram(text: &mut String, name: &str, labels: &str, times: &Histogram) {
    for (bound, seconds) in BUCKETS {
        let within = times.count_between(Nanos::ZERO, bound);
        sample(text, &format!("{name}_bucket"), &format!("{labels},le=\"{seconds}\""), within);
    }
    let count = times.count();
    sample(text, &format!("{name}_bucket"), &format!("{labels},le=\"+Inf\""), count);
    #[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
    let sum = times.mean_ns().unwrap_or(0.0) * count as f64 / 1e9;
    sample(text, &format!("{name}_sum"), labels, sum);
    sample(text, &format!("{name}_count"), labels, count);
}

/// `workload="echo"`, with the escapes of label values.
fn workload(it: &Exposed<'_>) -> String {
    let name = escape(it.name).replace('\\', "\\\\").replace('"', "\\\"");
    format!("workload=\"{name}\"")
}

/// The upper ends of buckets: four for each factor of ten.
const BUCKETS: [(Nanos, &str); 25] = [
    (Nanos(10_000), "0.00001"),
    (Nanos(20_000), "0.00002"),
    (Nanos(30_000), "0.00003"),
    (Nanos(50_000), "0.00005"),
    (Nanos(100_000), "0.0001"),
    (Nanos(200_000), "0.0002"),
    (Nanos(300_000), "0.0003"),
    (Nanos(500_000), "0.0005"),
    (Nanos(1_000_000), "0.001"),
    (Nanos(2_000_000), "0.002"),
    (Nanos(3_000_000), "0.003"),
    (Nanos(5_000_000), "0.005"),
    (Nanos(10_000_000), "0.01"),
    (Nanos(20_000_000), "0.02"),
    (Nanos(30_000_000), "0.03"),
    (Nanos(50_000_000), "0.05"),
    (Nanos(100_000_000), "0.1"),
    (Nanos(200_000_000), "0.2"),
    (Nanos(300_000_000), "0.3"),
    (Nanos(500_000_000), "0.5"),
    (Nanos(1_000_000_000), "1"),
    (Nanos(2_000_000_000), "2"),
    (Nanos(3_000_000_000), "3"),
    (Nanos(5_000_000_000), "5"),
    (Nanos(10_000_000_000), "10"),
];
const MEMORY: &str = "writing to memory does not fail";
