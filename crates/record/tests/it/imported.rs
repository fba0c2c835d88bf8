//! The output of google-benchmark as a record.

use record::{Importer, Kind, Level, RunRecord, google_benchmark, imported};
use units::Nanos;

/// The output of google-benchmark 1.7.1 of Debian 12: three repetitions each of `echo/64` and `echo/65536`, one of
/// `once` in microseconds, and `refused`, which failed.
const PRINTED: &str = include_str!("google_benchmark_1.7.1.json");

#[test]
fn a_benchmark_is_a_workload_and_a_repetition_a_block() {
    let record = read(PRINTED).unwrap();
    assert_eq!(record.kind, Kind::Imported);
    let blocks = |index| record.blocks.iter().filter(|it| it.workload == index).count();
    let named: Vec<(&str, usize)> =
        record.plan.workloads.iter().map(record::Workload::name).zip((0..4).map(blocks)).collect();
    assert_eq!(
        named,
        [
            ("echo/64/min_time:0.010/repeats:3", 3),
            ("echo/65536/min_time:0.010/repeats:3", 3),
            ("once/min_time:0.010", 1),
            ("refused", 1),
        ]
    );
    let block = &record.blocks[0];
    assert_eq!(block.counts.ok, 887_544);
    // 15.83 ns for each of 887544.
    assert_eq!(block.measured_ns, 14_050_059);
    assert!((block.messages_per_s * 15.830_267_568_358_733 / 1e9 - 1.0).abs() < 1e-12);
    let cpu = block.cpu.generator_us_per_message.unwrap();
    assert!((cpu * 1e3 - 15.768_740_479_345_25).abs() < 1e-9);
    assert_eq!(record.blocks[7].failed.as_deref(), Some("connection refused"));
    assert!(record.blocks.iter().all(|block| block.counts.check().is_ok()));
}

#[test]
fn times_in_other_units_are_the_same_times() {
    let record = read(PRINTED).unwrap();
    let once = record.blocks[6].client.as_ref().unwrap().google_benchmark.as_ref().unwrap();
    assert!((once.real_time_ns - 0.460_237_764_510_302_4).abs() < 1e-12, "{once:?}");
}

#[test]
fn a_time_that_no_clock_tells_from_0_has_no_throughput() {
    let with_time = |time: &str| {
        let json = format!(
            r#"{{"benchmarks": [{{"name": "a", "iterations": 1, "real_time": {time}, "cpu_time": 0}}]}}"#
        );
        let record = read(&json).unwrap();
        assert_eq!(RunRecord::from_json(&record.to_json()).unwrap(), record);
        record.blocks[0].messages_per_s
    };
    assert_eq!([with_time("0"), with_time("5e-324"), with_time("1e-10")], [0.0; 3]);
    assert!((with_time("1e-9") / 1e18 - 1.0).abs() < 1e-9);
}

#[test]
fn what_is_worked_out_is_worked_out_anew() {
    let record = read(PRINTED).unwrap();
    // All iterations divided by all time.
    let rate = record.results[0].pooled.messages_per_s.unwrap();
    let repetitions: Vec<(f64, f64)> = record.blocks[..3]
        .iter()
        .map(|block| (block.messages_per_s, Nanos(block.measured_ns).as_secs_f64()))
        .collect();
    let all: f64 = repetitions.iter().map(|(rate, secs)| rate * secs).sum();
    let secs: f64 = repetitions.iter().map(|(_, secs)| secs).sum();
    assert!((rate.value / (all / secs) - 1.0).abs() < 1e-12, "{rate:?}");
    assert!((rate.value * 15.82 / 1e9 - 1.0).abs() < 0.05, "{rate:?}");
    assert_eq!((rate.low, rate.high), (None, None));
    assert_eq!((record.results[3].blocks, record.results[3].blocks_failed), (0, 1));
}

#[test]
fn it_is_never_trusted_and_reads_back() {
    let record = read(PRINTED).unwrap();
    let verdict = record.verdict.clone().unwrap();
    assert_eq!(verdict.level, Level::Degraded);
    assert_eq!(verdict.reasons.iter().map(|it| &it.code[..]).collect::<Vec<_>>(), ["imported"]);
    assert_eq!(RunRecord::from_json(&record.to_json()).unwrap(), record);
}

#[test]
fn aggregates_alone_are_no_measurement() {
    let (head, _) = PRINTED.split_once("\"benchmarks\"").unwrap();
    let entry = r#""benchmarks": [{"name": "echo_mean", "run_name": "echo", "run_type": "aggregate",
        "aggregate_name": "mean", "iterations": 3, "real_time": 1.0, "cpu_time": 1.0, "time_unit": "ns"}]}"#;
    let error = read(&format!("{head}{entry}")).unwrap_err();
    assert!(
        error.starts_with("\"echo\" has aggregates and no repetitions; run it without"),
        "{error}"
    );
}

#[test]
fn the_largest_numbers_are_still_a_record() {
    let entry = r#"{"benchmarks": [{"name": "a", "threads": 18446744073709551615, "iterations":
        18446744073709551615, "real_time": 18446744073, "cpu_time": 18446744073, "time_unit": "s"}]}"#;
    let record = read(entry).unwrap();
    assert_eq!(RunRecord::from_json(&record.to_json()).unwrap(), record);
    assert_eq!(record.duration_ns, u64::MAX);
    let zero = r#"{"benchmarks": [{"name": "a", "iterations": 0, "real_time": 0, "cpu_time": 0}]}"#;
    let record = read(zero).unwrap();
    assert_eq!(record.blocks[0].messages_per_s, 0.0);
    assert_eq!(record.results[0].pooled.messages_per_s, None);
}

fn read(json: &str) -> Result<RunRecord, String> {
    let file = google_benchmark::read(json).map_err(|error| error.to_string())?;
    imported(&file, Importer::default()).map_err(|error| error.to_string())
}
