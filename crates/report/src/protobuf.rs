//! [`Metrics`] in Prometheus' protobuf format, which has native histograms.
//!
//! The messages are those of `io.prometheus.client` (client_model's `metrics.proto`), without the fields that we do not
//! write. Histograms have both kinds of buckets, for servers that keep only one of them.

use crate::exponential::{Buckets, SCALE};
use crate::metrics::{Labels, Metrics, Values, sum_s};
use crate::prometheus::BUCKETS;
use prost::Message as _;
use stats::Histogram;
use units::Nanos;

/// The media type of [`prometheus_protobuf`].
pub const PROMETHEUS_PROTOBUF: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// The metrics of a run as messages, each preceded by its length.
pub fn prometheus_protobuf(metrics: &Metrics<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for family in metrics.families() {
        let (kind, metric) = match &family.values {
            Values::Counters(all) => (KIND_COUNTER, each(all, counter)),
            Values::Gauges(all) => (KIND_GAUGE, each(all, gauge)),
            Values::Histograms(all) => (KIND_HISTOGRAM, each(all, |it| histogram(it))),
        };
        let message = MetricFamily {
            name: family.name.to_owned(),
            help: family.help.to_owned(),
            kind,
            metric,
        };
        message.encode_length_delimited(&mut bytes).expect("memory grows");
    }
    bytes
}

fn each<T>(all: &[(Labels, T)], value: impl Fn(&T) -> Metric) -> Vec<Metric> {
    let label = |(name, value): &(&str, String)| LabelPair {
        name: (*name).to_owned(),
        value: value.clone(),
    };
    let with = |(labels, it): &(Labels, T)| Metric {
        label: labels.iter().map(label).collect(),
        ..value(it)
    };
    all.iter().map(with).collect()
}

#[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
fn counter(count: &u64) -> Metric {
    Metric { counter: Some(Number { value: Some(*count as f64) }), ..Metric::default() }
}

fn gauge(value: &f64) -> Metric {
    Metric { gauge: Some(Number { value: Some(*value) }), ..Metric::default() }
}

fn histogram(times: &Histogram) -> Metric {
    let bucket = |(bound, _): (Nanos, &str)| Bucket {
        cumulative_count: Some(times.count_between(Nanos::ZERO, bound)),
        upper_bound: Some(bound.as_secs_f64()),
    };
    let Buckets { zero, first, counts } = Buckets::of(times);
    // An index is that of the upper end here, and a span of length 0 marks the histogram as native.
    let span = match u32::try_from(counts.len()).unwrap_or(u32::MAX) {
        0 => BucketSpan { offset: Some(0), length: Some(0) },
        length => BucketSpan { offset: Some(first + 1), length: Some(length) },
    };
    let before = std::iter::once(&0).chain(&counts);
    let positive_delta =
        counts.iter().zip(before).map(|(count, before)| count.wrapping_sub(*before).cast_signed());
    let histogram = NativeHistogram {
        sample_count: Some(times.count()),
        sample_sum: Some(sum_s(times)),
        bucket: BUCKETS.into_iter().map(bucket).collect(),
        schema: Some(SCALE),
        zero_threshold: Some(0.0),
        zero_count: Some(zero),
        positive_span: vec![span],
        positive_delta: positive_delta.collect(),
    };
    Metric { histogram: Some(histogram), ..Metric::default() }
}

#[derive(prost::Message)]
struct MetricFamily {
    #[prost(string, required, tag = "1")]
    name: String,
    #[prost(string, required, tag = "2")]
    help: String,
    #[prost(int32, required, tag = "3")]
    kind: i32,
    #[prost(message, repeated, tag = "4")]
    metric: Vec<Metric>,
}

#[derive(prost::Message)]
struct Metric {
    #[prost(message, repeated, tag = "1")]
    label: Vec<LabelPair>,
    #[prost(message, optional, tag = "2")]
    gauge: Option<Number>,
    #[prost(message, optional, tag = "3")]
    counter: Option<Number>,
    #[prost(message, optional, tag = "7")]
    histogram: Option<NativeHistogram>,
}

#[derive(prost::Message)]
struct LabelPair {
    #[prost(string, required, tag = "1")]
    name: String,
    #[prost(string, required, tag = "2")]
    value: String,
}

/// A `Gauge` or a `Counter`.
#[derive(prost::Message)]
struct Number {
    #[prost(double, optional, tag = "1")]
    value: Option<f64>,
}

#[derive(prost::Message)]
struct NativeHistogram {
    #[prost(uint64, optional, tag = "1")]
    sample_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    sample_sum: Option<f64>,
    #[prost(message, repeated, tag = "3")]
    bucket: Vec<Bucket>,
    #[prost(sint32, optional, tag = "5")]
    schema: Option<i32>,
    #[prost(double, optional, tag = "6")]
    zero_threshold: Option<f64>,
    #[prost(uint64, optional, tag = "7")]
    zero_count: Option<u64>,
    #[prost(message, repeated, tag = "12")]
    positive_span: Vec<BucketSpan>,
    /// Each count less the one before it.
    #[prost(sint64, repeated, packed = "false", tag = "13")]
    positive_delta: Vec<i64>,
}

#[derive(prost::Message)]
struct Bucket {
    #[prost(uint64, optional, tag = "1")]
    cumulative_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    upper_bound: Option<f64>,
}

#[derive(PartialEq, prost::Message)]
struct BucketSpan {
    #[prost(sint32, optional, tag = "1")]
    offset: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    length: Option<u32>,
}

const KIND_COUNTER: i32 = 0;
const KIND_GAUGE: i32 = 1;
const KIND_HISTOGRAM: i32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: &[u64]) -> NativeHistogram {
        let mut histogram = Histogram::new();
        times.iter().for_each(|time| histogram.record(Nanos(*time)));
        let bytes = super::histogram(&histogram).encode_to_vec();
        Metric::decode(&bytes[..]).unwrap().histogram.unwrap()
    }

    #[test]
    fn the_deltas_of_a_span_add_up_to_its_counts() {
        // The two of 100 ms are in (2^(-27/8), 2^(-26/8)] s, that of 200 ms eight buckets further on.
        let it = of(&[0, 100_000_000, 100_000_000, 200_000_000]);
        assert_eq!((it.sample_count, it.zero_count), (Some(4), Some(1)));
        assert_eq!(it.positive_span, [BucketSpan { offset: Some(-26), length: Some(9) }]);
        assert_eq!(it.positive_delta, [2, -2, 0, 0, 0, 0, 0, 0, 1]);
        let classic: Vec<u64> = it.bucket.iter().map(|it| it.cumulative_count.unwrap()).collect();
        assert_eq!((classic.first(), classic.last()), (Some(&1), Some(&4)));
    }

    #[test]
    fn a_histogram_without_times_is_native_too() {
        let it = of(&[]);
        assert_eq!(it.positive_span, [BucketSpan { offset: Some(0), length: Some(0) }]);
        assert_eq!((it.sample_count, &it.positive_delta[..]), (Some(0), &[][..]));
    }
}
