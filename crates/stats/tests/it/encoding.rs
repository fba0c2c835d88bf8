//! Histograms as others read them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use expect_test::expect;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
use stats::{DecodeError, Histogram, LogInterval, interval_log};
use units::{Instant, Nanos, Random};

#[test]
fn what_is_written_reads_back() {
    for histogram in [Histogram::new(), of([0]), of([u64::MAX]), spread(1), spread(5000)] {
        assert_eq!(Histogram::from_base64(&histogram.to_base64()), Ok(histogram));
    }
}

#[test]
fn the_reference_library_reads_it_alike() {
    let histogram = spread(5000);
    let bytes = STANDARD.decode(histogram.to_base64()).unwrap();
    let theirs: hdrhistogram::Histogram<u64> =
        Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
    assert_eq!(theirs.len(), 5000);
    assert_eq!((theirs.low(), theirs.high(), theirs.sigfig()), (1, Histogram::MAX.0, 3));
    for q in [0.5, 0.9, 0.99] {
        assert_eq!(Ok(Nanos(theirs.value_at_quantile(q))), histogram.quantile(q));
    }
}

#[test]
fn what_is_not_a_histogram_of_ours_is_refused() {
    let good = STANDARD.decode(of([5]).to_base64()).unwrap();
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        read(&bytes)
    };
    assert!(read(&good).is_ok());
    assert!(matches!(Histogram::from_base64("not base64!"), Err(DecodeError::NotBase64(_))));
    assert_eq!(Histogram::from_base64(""), Err(DecodeError::CutOff));
    assert_eq!(with(3, 0x14), Err(DecodeError::NotV2)); // compressed
    assert_eq!(with(4, 0xff), Err(DecodeError::CutOff)); // a length of 4 GB
    assert_eq!(with(11, 1), Err(DecodeError::OtherBounds)); // normalizing offset
    assert_eq!(with(15, 5), Err(DecodeError::OtherBounds)); // digits
    assert_eq!(with(24, 0xff), Err(DecodeError::OtherBounds)); // highest value
    assert_eq!(read(&[good.as_slice(), &[0]].concat()), Err(DecodeError::CutOff));
}

#[test]
fn hostile_counts_are_refused() {
    #[rustfmt::skip]
    let table: [(&[u8], Result<u64, DecodeError>); 7] = [
        (&[],                              Ok(0)),
        (&[0x02],                          Ok(1)), // one of 0 ns
        (&[0x80],                          Err(DecodeError::CutOff)), // in the middle of a number
        (&[0xff; 9],                       Ok(0)), // 2^63 zeros
        (&[[0xff; 9], [0xff; 9]].concat(), Ok(0)), // twice that
        (&[&[0xff; 9][..], &[2]].concat(),  Err(DecodeError::OutOfBounds { index: 1 << 63 })),
        (&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], Err(DecodeError::OverLimit)),
    ];
    let header = &STANDARD.decode(Histogram::new().to_base64()).unwrap()[..40];
    for (payload, expected) in table {
        let mut bytes = [header, payload].concat();
        bytes[7] = u8::try_from(payload.len()).unwrap();
        assert_eq!(read(&bytes).map(|histogram| histogram.count()), expected, "{payload:x?}");
    }
}

#[test]
fn no_bytes_bring_the_decoder_down() {
    let good = STANDARD.decode(spread(300).to_base64()).unwrap();
    let mut random = Random::new(7);
    for len in 0..good.len() {
        assert!(read(&good[..len]).is_err(), "cut at {len}");
        let mut changed = good.clone();
        changed[len] ^= 1 << random.below(8);
        if let Ok(histogram) = read(&changed) {
            assert_eq!(Histogram::from_base64(&histogram.to_base64()), Ok(histogram));
        }
    }
}

#[test]
fn an_interval_log_reads_back() {
    let (first, second) = (of([1000, 2000]), spread(50));
    let interval = |start, tag, histogram| LogInterval {
        start: Instant(start),
        length: Nanos::from_millis(1500),
        tag,
        histogram,
    };
    let log = interval_log(
        Nanos::from_millis(1_700_000_000_250),
        [interval(0, "ws", &first), interval(1_500_000_000, "a, b", &second)],
    );
    let head: Vec<&str> = log.lines().take(4).collect();
    expect![[r##"
        [
            "#[Histogram log format version 1.3]",
            "#[Values are nanoseconds]",
            "#[StartTime: 1700000000.250 (seconds since epoch)]",
            "#[BaseTime: 1700000000.250 (seconds since epoch)]",
        ]
    "##]]
    .assert_debug_eq(&head);
    let mut read = Vec::new();
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        if let LogEntry::Interval(interval) = entry.unwrap() {
            let tag = interval.tag().unwrap().as_str().to_owned();
            let histogram = of_log(interval.encoded_histogram());
            read.push((
                tag,
                interval.start_timestamp().as_millis(),
                interval.duration().as_millis(),
                histogram,
            ));
        }
    }
    assert_eq!(read, [("ws".into(), 0, 1500, first), ("a__b".into(), 1500, 1500, second)]);
}

#[test]
fn the_percentile_table_is_that_of_hdrhistogram() {
    expect![[r#"
               Value     Percentile TotalCount 1/(1-Percentile)

               1.000 0.000000000000          1           1.00
               1.000 0.100000000000          1           1.11
               1.000 0.200000000000          1           1.25
               2.000 0.300000000000          2           1.43
               2.000 0.400000000000          2           1.67
               2.000 0.500000000000          2           2.00
               3.001 0.550000000000          3           2.22
               3.001 0.600000000000          3           2.50
               3.001 0.650000000000          3           2.86
               3.001 0.700000000000          3           3.33
              40.031 0.750000000000          4           4.00
              40.031 1.000000000000          4
        #[Mean    =       11.504, StdDeviation   =       16.476]
        #[Max     =       40.031, Total count    =            4]
        #[Buckets =           32, SubBuckets     =         2048]
    "#]]
    .assert_eq(&of([1000, 2000, 3000, 40_000]).to_hgrm());
}

fn read(bytes: &[u8]) -> Result<Histogram, DecodeError> {
    Histogram::from_base64(&STANDARD.encode(bytes))
}

fn of(times: impl IntoIterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::new();
    for time in times {
        histogram.record(Nanos(time));
    }
    histogram
}

/// Times of every magnitude.
fn spread(count: usize) -> Histogram {
    let mut random = Random::new(7);
    of((0..count).map(|_| random.next_u64() >> 23 >> random.below(41)))
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
