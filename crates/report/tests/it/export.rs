//! Records for programs.

use crate::records;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use expect_test::expect;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
use record::{RunRecord, Summary};
use report::ExportError;
use stats::Histogram;
use std::time::Duration;
use units::Nanos;

#[test]
fn a_log_has_an_interval_for_each_block_that_counts() {
    expect![[r#"
        #[Histogram log format version 1.3]
        #[Values are nanoseconds]
        #[StartTime: 1767225600.000 (seconds since epoch)]
        #[BaseTime: 1767225600.000 (seconds since epoch)]
        Tag=tcp,1.250,0.500,2000.000
        Tag=http-new,2.500,0.500,9007.000
        Tag=http-new,5.000,0.500,9007.000
    "#]]
    .assert_eq(&without_histograms(&report::hlog(&small()).unwrap()));
}

#[test]
fn the_reader_of_the_hdrhistogram_crate_takes_a_log_apart_again() {
    let log = report::hlog(&small()).unwrap();
    let (mut times, mut intervals) = (Vec::new(), Vec::new());
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        match entry.unwrap() {
            LogEntry::StartTime(time) | LogEntry::BaseTime(time) => times.push(time),
            LogEntry::Interval(interval) => intervals.push((
                interval.tag().unwrap().as_str().to_owned(),
                interval.start_timestamp().as_millis(),
                interval.duration().as_millis(),
                of_log(interval.encoded_histogram()),
            )),
        }
    }
    assert_eq!(times, [Duration::from_secs(1_767_225_600); 2]); // 2026-01-01
    let expected = [
        ("tcp".to_owned(), 1_250, 500, of(&[1_000, 2_000])),
        ("http-new".to_owned(), 2_500, 500, of(&[9_000])),
        ("http-new".to_owned(), 5_000, 500, of(&[9_000])),
    ];
    assert_eq!(intervals, expected);
}

#[test]
fn names_that_would_break_a_log_are_escaped() {
    let mut record = small();
    record.plan.workloads[0].spec.name = "a, b\r\n\x1b[2J\u{9b}\u{202e}".to_owned();
    record.plan.workloads[1].spec.name.clear();
    let log = report::hlog(&record).unwrap();
    let tags: Vec<&str> = log.lines().filter_map(|line| line.strip_prefix("Tag=")).collect();
    let tags: Vec<&str> = tags.iter().filter_map(|line| line.split(',').next()).collect();
    assert_eq!(tags, ["a__b\\r\\n\\u{1b}[2J\\u{9b}\\u{202e}", "", ""]);
    assert_eq!(IntervalLogIterator::new(log.as_bytes()).filter(Result::is_ok).count(), 5);
}

#[test]
fn a_percentile_table_is_of_all_blocks_of_one_workload() {
    let record = small();
    expect![[r#"
               Value     Percentile TotalCount 1/(1-Percentile)

               1.000 0.000000000000          1           1.00
               1.000 0.100000000000          1           1.11
               1.000 0.200000000000          1           1.25
               1.000 0.300000000000          1           1.43
               1.000 0.400000000000          1           1.67
               1.000 0.500000000000          1           2.00
               2.000 0.550000000000          2           2.22
               2.000 1.000000000000          2
        #[Mean    =        1.500, StdDeviation   =        0.500]
        #[Max     =        2.000, Total count    =            2]
        #[Buckets =           32, SubBuckets     =         2048]
    "#]]
    .assert_eq(&report::hgrm(&record, Some("tcp")).unwrap());
    let mut single = record;
    single.plan.workloads.truncate(1);
    assert_eq!(report::hgrm(&single, None), report::hgrm(&single, Some("tcp")));
}

#[test]
fn which_workload_is_meant_must_be_said() {
    let mut record = small();
    record.plan.workloads[1].spec.name = "evil\n\x1b[2J".to_owned();
    let says = |name, expected: &str| {
        assert_eq!(report::hgrm(&record, name).unwrap_err().to_string(), expected);
    };
    says(None, "a percentile table is for one workload; choose one of tcp, evil\\n\\u{1b}[2J");
    says(Some("\t"), "there is no workload `\\t`; choose one of tcp, evil\\n\\u{1b}[2J");
}

#[test]
fn a_record_without_times_has_nothing_to_write() {
    let mut record = small();
    record.blocks.iter_mut().for_each(|block| block.failed = Some("refused".to_owned()));
    record.results.clear();
    assert_eq!(report::hlog(&record), Err(ExportError::NoDistribution));
    assert_eq!(report::hgrm(&record, Some("tcp")), Err(ExportError::NoDistribution));
    record.plan.workloads.clear();
    assert_eq!(report::hlog(&record), Err(ExportError::NoDistribution));
    assert_eq!(report::hgrm(&record, Some("tcp")), Err(ExportError::NoDistribution));
}

#[test]
fn a_record_that_was_changed_by_hand_says_where() {
    let says = |change: fn(&mut RunRecord), expected: &str| {
        let mut record = small();
        change(&mut record);
        let error = report::hlog(&record).and_then(|_| report::hgrm(&record, Some("tcp")));
        assert_eq!(error.unwrap_err().to_string(), expected);
    };
    says(
        |record| record.started_at = "yester\nday".to_owned(),
        "`started_at` is `yester\\nday`, not a time in UTC such as 2026-01-01T00:00:00Z",
    );
    says(
        |record| record.blocks[0].round_trip.as_mut().unwrap().histogram.clear(),
        "the distribution of block 0 is damaged: histogram is cut off or too long",
    );
    says(
        |record| record.results[0].round_trip.as_mut().unwrap().histogram.clear(),
        "the distribution of tcp is damaged: histogram is cut off or too long",
    );
}

#[test]
fn the_largest_numbers_are_written_like_others() {
    let mut record = small();
    record.started_at = "2554-07-21T23:34:33.709551615Z".to_owned();
    let block = &mut record.blocks[0];
    (block.started_at_ns, block.measured_ns) = (u64::MAX, u64::MAX);
    let log = report::hlog(&record).unwrap();
    assert!(log.contains("Tag=tcp,18446744073.710,18446744073.710,"), "{log}");
    assert!(IntervalLogIterator::new(log.as_bytes()).all(|entry| entry.is_ok()));
}

#[test]
fn json_means_the_same_and_moves_no_terminal() {
    let mut record = small();
    assert_eq!(report::json(&record), record.to_json());
    record.plan.workloads[0].spec.name =
        "\x1b\u{9b}\u{7f}\u{202e}\u{e0041}\n\\u0041 漢字 😀".to_owned();
    let json = report::json(&record);
    assert!(json.contains(r"\u001b\u009b\u007f\u202e\udb40\udc41\n\\u0041 漢字 😀"), "{json}");
    let read = |json: &str| RunRecord::from_json(json).unwrap();
    assert_eq!(read(&json), read(&record.to_json()));
    assert_eq!(read(&json).plan.workloads[0].spec.name, record.plan.workloads[0].spec.name);
}

/// Two rungs of two blocks; the second of `tcp` has failed.
fn small() -> RunRecord {
    let mut record = records::ladder(&["tcp", "http-new"]);
    for (block, start_ms) in record.blocks.iter_mut().zip([1_250, 2_500, 3_750, 5_000]) {
        block.started_at_ns = Nanos::from_millis(start_ms).0;
        block.phases.connect = None;
        if block.workload == 0 {
            block.round_trip = Summary::of(&of(&[1_000, 2_000]));
        } else {
            block.round_trip = Summary::of(&of(&[4_000]));
            block.phases.life = Summary::of(&of(&[9_000]));
        }
    }
    record.blocks[2].failed = Some("connection refused".to_owned());
    record.results[0].round_trip = Summary::of(&of(&[1_000, 2_000]));
    record.results[1].round_trip = Summary::of(&of(&[9_000, 9_000]));
    record
}

fn of(times: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    times.iter().for_each(|time| histogram.record(Nanos(*time)));
    histogram
}

/// A histogram of a log, as the HdrHistogram library reads it.
fn of_log(text: &str) -> Histogram {
    let bytes = STANDARD.decode(text).expect("it is base64");
    let read: hdrhistogram::Histogram<u64> =
        Deserializer::new().deserialize(&mut bytes.as_slice()).expect("it is a histogram");
    let mut plain = Vec::new();
    V2Serializer::new().serialize(&read, &mut plain).expect("it is written to memory");
    Histogram::from_base64(&STANDARD.encode(plain)).expect("it is one of our histograms")
}

fn without_histograms(log: &str) -> String {
    let cut = |line: &str| line.rsplit_once(',').map_or(line, |(head, _)| head).to_owned() + "\n";
    log.lines().map(cut).collect()
}
