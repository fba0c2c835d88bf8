//! google-benchmark's JSON: read, written, refused.

use record::google_benchmark::{AggregateUnit, ReadError, RunType, TimeUnit, read};

/// The output of version 1.7.1, shortened.
const PRINTED: &str = r#"{
  "context": {
    "date": "2026-11-21T10:00:00+00:00",
    "host_name": "secret-host",
    "executable": "./client",
    "num_cpus": 2,
    "mhz_per_cpu": 2000,
    "cpu_scaling_enabled": false,
    "caches": [{"type": "Data", "level": 1, "size": 32768, "num_sharing": 1}],
    "load_avg": [0.5, 0.4, 0.3],
    "library_build_type": "release"
  },
  "benchmarks": [
    {
      "name": "ws_echo/iterations:100/real_time", "family_index": 0, "per_family_instance_index": 0,
      "run_name": "ws_echo/iterations:100/real_time", "run_type": "iteration", "repetitions": 2,
      "repetition_index": 0, "threads": 1, "iterations": 100,
      "real_time": 4.3e+01, "cpu_time": 2.1500000000000000e+01, "time_unit": "us", "bytes_per_second": 1.0
    },
    {
      "name": "failed", "run_name": "failed", "run_type": "iteration", "repetitions": 2, "repetition_index": 1,
      "threads": 1, "error_occurred": true, "error_message": "refused", "iterations": 0,
      "real_time": 0.0, "cpu_time": 0.0, "time_unit": "us"
    },
    {
      "name": "ws_echo_cv", "run_name": "ws_echo", "run_type": "aggregate", "repetitions": 2, "threads": 1,
      "aggregate_name": "cv", "aggregate_unit": "percentage", "iterations": 2,
      "real_time": 0.013, "cpu_time": 0.02, "time_unit": "us"
    },
    {
      "name": "ws_echo_BigO", "run_name": "ws_echo", "run_type": "aggregate", "repetitions": 2, "threads": 1,
      "aggregate_name": "BigO", "aggregate_unit": "time", "cpu_coefficient": 1.0, "real_coefficient": 1.0,
      "big_o": "N", "time_unit": "us"
    }
  ]
}"#;

#[test]
fn repetitions_failures_and_aggregates_are_told_apart() {
    let file = read(PRINTED).unwrap();
    assert_eq!(file.context.num_cpus, Some(2));
    let [measured, failed, spread] = &file.benchmarks[..] else { panic!("{file:?}") };
    assert_eq!((measured.run_type, measured.time_unit), (RunType::Iteration, TimeUnit::Us));
    assert_eq!((measured.real_time_ns(), measured.cpu_time_ns()), (43_000.0, 21_500.0));
    assert_eq!(measured.result().iterations, 100);
    assert_eq!(failed.error_message.as_deref(), Some("refused"));
    assert_eq!(spread.aggregate_unit, Some(AggregateUnit::Percentage));
    assert_eq!(spread.real_time_ns(), 0.013, "a share has no unit");
}

#[test]
fn what_was_read_and_written_reads_the_same_and_names_no_host() {
    let file = read(PRINTED).unwrap();
    let json = file.to_json();
    assert_eq!(read(&json).unwrap(), file);
    assert!(!json.contains("secret-host"), "{json}");
}

#[test]
fn what_is_not_of_that_shape_says_where_and_why() {
    #[rustfmt::skip]
    let table = [
        ("",                      "line 1, column 0: EOF while parsing a value"),
        ("{}",                    "line 1, column 2: missing field `benchmarks`"),
        (r#"{"benchmarks": []}"#, "no benchmark in it: `benchmarks` is empty"),
        (r#"{"benchmarks": [{"name": "a", "real_time": NaN}]}"#, "line 1, column 44: expected value"),
        (r#"{"benchmarks": [{"name": "a", "real_time": 1}]}"#,
         r#"benchmarks[0] ("a"): cpu_time is missing; it must be a time from 0 to 584 years"#),
        (r#"{"benchmarks": [{"name": "a", "real_time": -1, "cpu_time": 1}]}"#,
         r#"benchmarks[0] ("a"): real_time is -1.0; it must be a time from 0 to 584 years"#),
        (r#"{"benchmarks": [{"name": "a", "real_time": 1, "cpu_time": 2e10, "time_unit": "s"}]}"#,
         r#"benchmarks[0] ("a"): cpu_time is 20000000000.0; it must be a time from 0 to 584 years"#),
        (r#"{"benchmarks": [{"name": "a", "real_time": 1e300, "cpu_time": 1}]}"#,
         r#"benchmarks[0] ("a"): real_time is 1e300; it must be a time from 0 to 584 years"#),
        (r#"{"benchmarks": [{"name": "a", "real_time": 1, "cpu_time": 1, "time_unit": "h"}]}"#,
         "line 1, column 77: unknown variant `h`, expected one of `ms`, `ns`, `s`, `us`"),
    ];
    for (json, expected) in table {
        assert_eq!(read(json).unwrap_err().to_string(), expected, "{json}");
    }
}

#[test]
fn cut_off_anywhere_it_is_refused_and_does_not_panic() {
    for len in (0..PRINTED.len()).filter(|len| PRINTED.is_char_boundary(*len)) {
        assert!(matches!(read(&PRINTED[..len]), Err(ReadError::Invalid { .. })), "{len}");
    }
}
