//! Distributions of known times.

use stats::{Histogram, PERCENTILES, TooFewSamples};
use units::{Nanos, Random};

#[test]
fn an_empty_one_knows_nothing() {
    let histogram = Histogram::new();
    assert!(histogram.is_empty());
    assert_eq!((histogram.count(), histogram.saturated()), (0, 0));
    assert_eq!((histogram.min(), histogram.max()), (None, None));
    assert_eq!((histogram.mean_ns(), histogram.stddev_ns()), (None, None));
    assert_eq!(histogram.quantile(0.5), Err(TooFewSamples { count: 0, needed: 20 }));
}

#[test]
fn small_times_are_counted_exactly() {
    let histogram = of(1..=1000);
    assert_eq!(histogram.count(), 1000);
    assert_eq!((histogram.min(), histogram.max()), (Some(Nanos(1)), Some(Nanos(1000))));
    assert_eq!(histogram.mean_ns().map(f64::round), Some(501.0)); // 500.5
    assert_eq!(histogram.stddev_ns().map(f64::floor), Some(288.0)); // sqrt((1000^2 - 1) / 12)
    let shown = histogram.percentiles().map(|time| time.map(|time| time.0).ok());
    assert_eq!(shown, [Some(500), Some(900), Some(990), None, None]);
}

#[test]
fn every_time_is_within_a_thousandth() {
    let mut random = Random::new(7);
    for _ in 0..10_000 {
        let time = random.next_u64() >> 23 >> random.below(41);
        let histogram = of([time]);
        let (low, high) = (histogram.min().unwrap().0, histogram.max().unwrap().0);
        assert!(
            low <= time && time <= high && high - low <= time / 1000,
            "{time}: {low} to {high}"
        );
    }
}

#[test]
fn percentiles_need_ten_samples_beyond_them() {
    let needed = [20, 100, 1000, 10_000, 100_000];
    for (index, needed) in needed.into_iter().enumerate() {
        let (name, q) = PERCENTILES[index];
        assert_eq!(
            of(1..needed).quantile(q),
            Err(TooFewSamples { count: needed - 1, needed }),
            "{name}"
        );
        assert!(of(1..=needed).quantile(q).is_ok(), "{name}");
    }
    let too_few = of(1..=98).quantile(0.99).unwrap_err();
    assert_eq!(too_few.to_string(), "98 samples, at least 1000 are needed");
    // The longest of all can never have ten beyond it.
    assert!(of(1..=1000).quantile(1.0).is_err());
}

#[test]
fn times_above_an_hour_are_counted_as_an_hour() {
    let hour = Histogram::MAX.0;
    let histogram = of([hour - hour / 500, hour, hour + 1, u64::MAX]);
    assert_eq!((histogram.count(), histogram.saturated()), (4, 3));
    let max = histogram.max().unwrap().0;
    assert!(max >= hour && max <= hour + hour / 1000, "{max}");
}

#[test]
fn no_time_at_all_is_a_time() {
    let histogram = of([0, 0, 5]);
    assert_eq!((histogram.count(), histogram.min()), (3, Some(Nanos(0))));
}

#[test]
fn adding_is_counting_both() {
    let mut both = of(1..=500);
    both.add(&of(400..=3_000_000));
    both.add(&Histogram::new());
    assert_eq!(both, of((1..=500).chain(400..=3_000_000)));
}

#[test]
fn resetting_forgets_everything() {
    let mut histogram = of([1, 2, u64::MAX]);
    histogram.reset();
    assert_eq!(histogram, Histogram::new());
    histogram.record(Nanos(9));
    assert_eq!(histogram, of([9]));
}

fn of(times: impl IntoIterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::new();
    for time in times {
        histogram.record(Nanos(time));
    }
    histogram
}
