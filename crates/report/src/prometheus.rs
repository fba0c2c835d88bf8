//! [`Metrics`] in the text format of Prometheus (exposition format 0.0.4).
//!
//! Left out: native histograms, which that text cannot express.

use crate::metrics::{Labels, Metrics, Values, sum_s};
use stats::Histogram;
use std::fmt::{Display, Write as _};
use units::Nanos;

/// The metrics of a run as a page of text.
pub fn prometheus(metrics: &Metrics<'_>) -> String {
    let mut text = String::new();
    for family in metrics.families() {
        let name = family.name;
        let kind = match &family.values {
            Values::Counters(_) => "counter",
            Values::Gauges(_) => "gauge",
            Values::Histograms(_) => "histogram",
        };
        writeln!(text, "# HELP {name} {}\n# TYPE {name} {kind}", family.help).expect(MEMORY);
        match &family.values {
            Values::Counters(all) => {
                all.iter().for_each(|(of, it)| sample(&mut text, name, of, it))
            }
            Values::Gauges(all) => all.iter().for_each(|(of, it)| sample(&mut text, name, of, it)),
            Values::Histograms(all) => {
                all.iter().for_each(|(of, it)| histogram(&mut text, name, of, it));
            }
        }
    }
    text
}

fn sample(text: &mut String, name: &str, labels: &Labels, value: impl Display) {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let label = |(name, value): &(&str, String)| format!("{name}=\"{}\"", quoted(value));
    let labels = labels.iter().map(label).collect::<Vec<String>>().join(",");
    let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
    writeln!(text, "{name}{labels} {value}").expect(MEMORY);
}

/// Cumulative buckets, the sum and the count.
fn histogram(text: &mut String, name: &str, labels: &Labels, times: &Histogram) {
    let mut bucket = |bound: &str, within| {
        let bound = [("le", bound.to_owned())];
        let labels = [labels.as_slice(), &bound].concat();
        sample(text, &format!("{name}_bucket"), &labels, within);
    };
    for (bound, seconds) in BUCKETS {
        bucket(seconds, times.count_between(Nanos::ZERO, bound));
    }
    bucket("+Inf", times.count());
    sample(text, &format!("{name}_sum"), labels, sum_s(times));
    sample(text, &format!("{name}_count"), labels, times.count());
}

/// The upper ends of buckets: four for each factor of ten.
pub(crate) const BUCKETS: [(Nanos, &str); 25] = [
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
