//! [`Metrics`] in OTLP: the request that a collector takes as `application/x-protobuf`.
//!
//! Counters and histograms are cumulative, so that each request has everything since the start and a lost one costs
//! nothing. The types are those of the library; its SDK is not used, because it measures on its own and takes no
//! distribution that was counted elsewhere.

use crate::exponential::{Buckets, SCALE};
use crate::metrics::{Family, Labels, Metrics, Values, sum_s};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::exponential_histogram_data_point::Buckets as Counts;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, ExponentialHistogram, ExponentialHistogramDataPoint, Gauge, Metric,
    NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum, metric, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message as _;
use stats::Histogram;
use units::Nanos;

/// The program whose metrics are sent.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Its version.
    pub version: String,
    /// A text that is unique to this process.
    pub instance: String,
}

/// The time that metrics cover, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The instant from which everything is counted.
    pub start_unix_ns: u64,
    /// The instant up to which it is counted.
    pub end_unix_ns: u64,
}

/// The metrics of a run as the body of a request.
pub fn otlp(metrics: &Metrics<'_>, sender: &Sender, span: Span) -> Vec<u8> {
    let metrics = metrics.families().iter().map(|family| metric(family, span)).collect();
    let attributes = [
        ("service.name", NAME),
        ("service.version", &sender.version),
        ("service.instance.id", &sender.instance),
    ];
    let resource = Resource {
        attributes: attributes.into_iter().map(attribute).collect(),
        ..Resource::default()
    };
    let scope = InstrumentationScope {
        name: NAME.to_owned(),
        version: sender.version.clone(),
        ..InstrumentationScope::default()
    };
    let scope_metrics = ScopeMetrics { scope: Some(scope), metrics, ..ScopeMetrics::default() };
    let resource_metrics = ResourceMetrics {
        resource: Some(resource),
        scope_metrics: vec![scope_metrics],
        ..ResourceMetrics::default()
    };
    ExportMetricsServiceRequest { resource_metrics: vec![resource_metrics] }.encode_to_vec()
}

/// Checks that a collector that answered with success took all of a request.
///
/// # Errors
///
/// The reason why it did not.
pub fn otlp_taken(response: &[u8]) -> Result<(), String> {
    let response = ExportMetricsServiceResponse::decode(response)
        .map_err(|error| format!("its answer is not that of a collector: {error}"))?;
    match response.partial_success {
        Some(some) if some.rejected_data_points > 0 => Err(format!(
            "{} data points rejected: {}",
            some.rejected_data_points, some.error_message
        )),
        Some(_) | None => Ok(()),
    }
}

fn metric(family: &Family<'_>, span: Span) -> Metric {
    let temporality = AggregationTemporality::Cumulative.into();
    let data = match &family.values {
        Values::Counters(all) => metric::Data::Sum(Sum {
            data_points: all
                .iter()
                .map(|(labels, count)| {
                    let count = i64::try_from(*count).unwrap_or(i64::MAX);
                    number(labels, number_data_point::Value::AsInt(count), span)
                })
                .collect(),
            aggregation_temporality: temporality,
            is_monotonic: true,
        }),
        Values::Gauges(all) => metric::Data::Gauge(Gauge {
            data_points: all
                .iter()
                .map(|(labels, it)| number(labels, number_data_point::Value::AsDouble(*it), span))
                .collect(),
        }),
        Values::Histograms(all) => metric::Data::ExponentialHistogram(ExponentialHistogram {
            data_points: all.iter().map(|(labels, it)| histogram(labels, it, span)).collect(),
            aggregation_temporality: temporality,
        }),
    };
    Metric {
        name: family.name.to_owned(),
        description: family.help.to_owned(),
        unit: if family.unit.is_empty() { "1" } else { family.unit }.to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}

fn number(labels: &Labels, value: number_data_point::Value, span: Span) -> NumberDataPoint {
    NumberDataPoint {
        attributes: attributes(labels),
        start_time_unix_nano: span.start_unix_ns,
        time_unix_nano: span.end_unix_ns,
        value: Some(value),
        ..NumberDataPoint::default()
    }
}

fn histogram(labels: &Labels, times: &Histogram, span: Span) -> ExponentialHistogramDataPoint {
    let Buckets { zero, first, counts } = Buckets::of(times);
    ExponentialHistogramDataPoint {
        attributes: attributes(labels),
        start_time_unix_nano: span.start_unix_ns,
        time_unix_nano: span.end_unix_ns,
        count: times.count(),
        sum: Some(sum_s(times)),
        scale: SCALE,
        zero_count: zero,
        positive: Some(Counts { offset: first, bucket_counts: counts }),
        min: times.min().map(Nanos::as_secs_f64),
        max: times.max().map(Nanos::as_secs_f64),
        ..ExponentialHistogramDataPoint::default()
    }
}

fn attributes(labels: &Labels) -> Vec<KeyValue> {
    labels.iter().map(|(name, value)| attribute((name, value))).collect()
}

fn attribute((name, value): (&str, &str)) -> KeyValue {
    let value = AnyValue { value: Some(Value::StringValue(value.to_owned())) };
    KeyValue { key: name.to_owned(), value: Some(value), ..KeyValue::default() }
}

/// The name of the program, as a service and as its instrumentation.
const NAME: &str = "wirebench";
