//! Distributions as the record keeps them.

use crate::example::histogram;
use record::Summary;
use stats::Histogram;

#[test]
fn percentiles_that_are_missing_say_why() {
    let summary = Summary::of(&histogram()).unwrap();
    assert_eq!((summary.count, summary.saturated), (1000, 0));
    assert_eq!(
        (summary.p50_ns, summary.p90_ns, summary.p99_ns),
        (Some(10_007), Some(18_015), Some(20_015))
    );
    assert_eq!((summary.p99_9_ns, summary.p99_99_ns), (None, None));
    let reasons: Vec<(&str, &str)> =
        summary.missing.iter().map(|(field, reason)| (field.as_str(), reason.as_str())).collect();
    assert_eq!(
        reasons,
        [
            ("p99_99_ns", "1000 samples, at least 100000 are needed"),
            ("p99_9_ns", "1000 samples, at least 10000 are needed"),
        ]
    );
}

#[test]
fn every_reason_is_under_the_name_of_a_field() {
    let mut one = Histogram::new();
    one.record(units::Nanos(5));
    let summary = serde_json::to_value(Summary::of(&one).unwrap()).unwrap();
    let missing = summary["missing"].as_object().unwrap();
    assert_eq!(missing.len(), 5);
    for field in missing.keys() {
        assert_eq!(summary.get(field), Some(&serde_json::Value::Null), "{field}");
    }
}

#[test]
fn the_whole_distribution_is_kept() {
    assert_eq!(Summary::of(&histogram()).unwrap().histogram(), Ok(histogram()));
    assert_eq!(Summary::of(&Histogram::new()), None);
}
