//! Quantities as people type them, and the errors for what cannot be read.

use std::fmt::Debug;
use std::str::FromStr;
use units::{Bytes, Count, Nanos, ParseError, Rate};

#[test]
fn times_are_read_exactly() {
    #[rustfmt::skip]
    check::<Nanos>(&[
        ("5ns",                                5),
        ("100us",                        100_000),
        ("100µs",                        100_000), // micro sign
        ("100μs",                        100_000), // Greek letter
        ("250ms",                    250_000_000),
        ("250 ms",                   250_000_000),
        (" 2s ",                   2_000_000_000),
        ("1.5s",                   1_500_000_000),
        ("0.1s",                     100_000_000),
        ("0.000000001s",                       1),
        ("0s",                                 0),
        ("2m",                   120_000_000_000),
        ("2min",                 120_000_000_000),
        ("1m30s",                 90_000_000_000),
        ("1m 30s",                90_000_000_000),
        ("1h",                 3_600_000_000_000),
        ("1h2m3s4ms5us6ns",    3_723_004_005_006),
        ("18446744073709551615ns",      u64::MAX),
    ], Nanos);
}

#[test]
fn times_that_cannot_be_read_say_why() {
    refuse::<Nanos>(&[
        ("", "`` is empty; try `250ms`"),
        ("  ", "`  ` is empty; try `250ms`"),
        ("10", "`10` has no unit; did you mean `10s`?"),
        ("1m30", "`1m30` has no unit after `30`; did you mean `30s`?"),
        ("-5s", "`-5s` is negative"),
        ("NaN", "`NaN` does not start with a digit; try `250ms`"),
        ("inf", "`inf` does not start with a digit; try `250ms`"),
        (".5s", "`.5s` does not start with a digit; try `250ms`"),
        ("٣s", "`٣s` does not start with a digit; try `250ms`"),
        ("1.s", "`1.s` has a point with no digit after it"),
        ("1,5s", "`1,5s` has a comma; write thousands as `1_000` and fractions as `1.5`"),
        ("1e3s", "`1e3s` has the unknown unit `e`; known are ns, us, ms, s, m, h"),
        ("10S", "`10S` has the unknown unit `S`; did you mean `10s`?"),
        ("10 days", "`10 days` has the unknown unit `days`; known are ns, us, ms, s, m, h"),
        ("30s1m", "`30s1m` must go from large units to small ones, as `1m30s` does"),
        ("1s1s", "`1s1s` must go from large units to small ones, as `1m30s` does"),
        ("0.5ns", "`0.5ns` is not a whole number of nanoseconds"),
        ("0.0000000000000000001s", "`0.0000000000000000001s` has 19 decimals, at most 18 are read"),
        ("18446744073709551616ns", "`18446744073709551616ns` is too large"),
        ("6000000h", "`6000000h` is too large"),
        ("5124095h35m", "`5124095h35m` is too large"),
        (
            "1s\u{1b}[31m",
            "`1s\\u{1b}[31m` has the unknown unit `s\\u{1b}[`; known are ns, us, ms, s, m, h",
        ),
        ("1s/", "`1s/` has no number at `/`"),
    ]);
}

#[test]
fn sizes_are_read_exactly() {
    #[rustfmt::skip]
    check::<Bytes>(&[
        ("0",                       0),
        ("64",                     64),
        ("64B",                    64),
        ("64 B",                   64),
        ("64KiB",              65_536),
        ("1.5KiB",              1_536),
        ("1MiB",            1_048_576),
        ("1kB",                 1_000),
        ("1MB",             1_000_000),
        ("2GiB",        2_147_483_648),
        ("1_000",               1_000),
    ], Bytes);
}

#[test]
fn sizes_that_cannot_be_read_say_why() {
    refuse::<Bytes>(&[
        ("64K", "`64K` is ambiguous; did you mean `64KiB` or `64kB`?"),
        ("64k", "`64k` is ambiguous; did you mean `64KiB` or `64kB`?"),
        ("64KB", "`64KB` is ambiguous; did you mean `64KiB` or `64kB`?"),
        ("1M", "`1M` is ambiguous; did you mean `1MiB` or `1MB`?"),
        ("1 mb", "`1 mb` is ambiguous; did you mean `1MiB` or `1MB`?"),
        ("1kib", "`1kib` has the unknown unit `kib`; did you mean `1KiB`?"),
        ("1.5B", "`1.5B` is not a whole number of bytes"),
        ("1.3KiB", "`1.3KiB` is not a whole number of bytes"),
        ("20000000TiB", "`20000000TiB` is too large"),
        ("-1", "`-1` is negative"),
        ("64B64B", "`64B64B` goes on with `64B` where it should end"),
    ]);
}

#[test]
fn counts_are_read_exactly() {
    #[rustfmt::skip]
    check::<Count>(&[
        ("0",                    0),
        ("50",                  50),
        ("10k",             10_000),
        ("10K",             10_000),
        ("1.5k",             1_500),
        ("1M",           1_000_000),
        ("1_000_000",    1_000_000),
        ("2G",       2_000_000_000),
    ], Count);
}

#[test]
fn counts_that_cannot_be_read_say_why() {
    refuse::<Count>(&[
        ("", "`` is empty; try `10k`"),
        ("1.5", "`1.5` is not a whole number of things"),
        ("1,000", "`1,000` has a comma; write thousands as `1_000` and fractions as `1.5`"),
        ("1m", "`1m` has the unknown unit `m`; did you mean `1M`?"),
        ("18446744073709551616", "`18446744073709551616` is too large"),
        ("20000000000G", "`20000000000G` is too large"),
        ("1 000", "`1 000` goes on with `000` where it should end"),
        (
            &"x".repeat(100),
            "`xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…` does not start with a digit; try `10k`",
        ),
    ]);
}

#[test]
fn rates_are_read_exactly() {
    let table = [
        // text, count, nanoseconds
        ("2000/s", 2000, 1_000_000_000),
        ("2000 / s", 2000, 1_000_000_000),
        ("10k/s", 10_000, 1_000_000_000),
        ("30/min", 30, 60_000_000_000),
        ("30/m", 30, 60_000_000_000),
        ("1/90s", 1, 90_000_000_000),
        ("1/1m30s", 1, 90_000_000_000),
        ("1/ms", 1, 1_000_000),
        ("0.5/s", 5, 10_000_000_000),
        ("1.5k/s", 1500, 1_000_000_000),
        ("21.1k/s", 21_100, 1_000_000_000),
        ("10G/s", 10, 1),
    ];
    for row @ (text, count, per) in table {
        let rate: Rate = text.parse().unwrap();
        assert_eq!((rate.count().get(), rate.per()), (count, Nanos(per)), "{row:?}");
    }
}

#[test]
fn rates_that_cannot_be_read_say_why() {
    refuse::<Rate>(&[
        ("2000", "`2000` is not a rate; did you mean `2000/s`?"),
        ("1k", "`1k` is not a rate; did you mean `1k/s`?"),
        (" 1.5k ", "` 1.5k ` is not a rate; did you mean `1.5k/s`?"),
        ("2000s", "`2000s` is not a rate; did you mean `2000/s`?"),
        ("2000/", "`2000/` has no unit after `1`; did you mean `1s`?"),
        ("2000/10", "`2000/10` has no unit after `10`; did you mean `10s`?"),
        ("0/s", "`0/s` is a rate of zero; the slowest rates are like `1/h`"),
        ("0.0/s", "`0.0/s` is a rate of zero; the slowest rates are like `1/h`"),
        ("1/0s", "`1/0s` has a period of zero"),
        ("-1/s", "`-1/s` is negative"),
        ("/s", "`/s` does not start with a digit; try `2000/s`"),
        ("1/s/s", "`1/s/s` goes on with `/s` where it should end"),
        ("1 2/s", "`1 2/s` has no `/` after the count"),
        (
            "7000000007/s",
            "`7000000007/s` does not fit; the largest rates are 4 G/ns, the finest have 9 digits",
        ),
    ]);
}

#[test]
fn due_times_do_not_drift() {
    #[rustfmt::skip]
    let table = [
        // rate,  index,      due in ns
        ("3/s",   0,                   0),
        ("3/s",   1,         333_333_333),
        ("3/s",   3,       1_000_000_000), // whole again
        ("1/90s", 2,     180_000_000_000),
        ("1/s",   u64::MAX,     u64::MAX), // saturates
    ];
    for row @ (rate, index, due) in table {
        let rate: Rate = rate.parse().unwrap();
        assert_eq!(rate.due(index), Nanos(due), "{row:?}");
    }
}

fn check<T: FromStr<Err = ParseError> + PartialEq + Debug>(
    table: &[(&str, u64)],
    of: fn(u64) -> T,
) {
    for (text, expected) in table {
        assert_eq!(text.parse::<T>(), Ok(of(*expected)), "`{text}`");
    }
}

fn refuse<T: FromStr<Err = ParseError> + Debug>(table: &[(&str, &str)]) {
    for (text, message) in table {
        let error = text.parse::<T>().err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some(*message), "`{text}`");
    }
}
