//! Quantities as they are shown: short by default, exact on demand.

use std::fmt::Display;
use units::{Bytes, Count, Nanos, Rate};

#[test]
fn times_are_short_and_exact_on_demand() {
    #[rustfmt::skip]
    let table = [
        (0,                  "0 ns",     "0 ns"),
        (999,                "999 ns",   "999 ns"),
        (12_345,             "12.3 us",  "12.345 us"),
        (1_050_000,          "1.05 ms",  "1.05 ms"),
        (999_999,            "1 ms",     "999.999 us"), // the unit is chosen after rounding
        (2_000_000_000,      "2 s",      "2 s"),
        (59_960_000_000,     "1m",       "59.96 s"),
        (90_400_000_000,     "1m30s",    "1m30.4s"),
        (3_661_000_000_000,  "1h1m1s",   "1h1m1s"),
        (u64::MAX, "5124095h34m33s", "5124095h34m33.709551615s"),
    ];
    check(&table, Nanos);
}

#[test]
fn sizes_are_short_and_exact_on_demand() {
    #[rustfmt::skip]
    let table = [
        (0,                    "0 B",         "0 B"),
        (1000,                 "1000 B",      "1000 B"),
        (1024,                 "1 KiB",       "1 KiB"),
        (1536,                 "1.5 KiB",     "1536 B"),
        (1_000_000,            "977 KiB",     "1000000 B"),
        (1_048_064,            "1 MiB",       "1048064 B"), // 1023.5 KiB
        (1_048_575,            "1 MiB",       "1048575 B"),
        (3 << 40,              "3 TiB",       "3 TiB"),
        (u64::MAX,             "16777216 TiB", "18446744073709551615 B"),
    ];
    check(&table, Bytes);
}

#[test]
fn counts_are_exact() {
    #[rustfmt::skip]
    let table = [
        (0,          "0",      "0"),
        (2_000,      "2000",   "2000"),
        (10_000,     "10k",    "10k"),
        (12_500,     "12.5k",  "12.5k"),
        (12_345,     "12345",  "12345"),
        (1_230_000,  "1.23M",  "1.23M"),
        (u64::MAX,   "18446744073709551615", "18446744073709551615"),
    ];
    check(&table, Count);
}

#[test]
fn rates_are_shown_as_they_are_typed() {
    for text in ["2000/s", "10k/s", "30/min", "1/1m30s", "1/ms", "5/10s", "1/10ms", "1/1m0.5s"] {
        assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
    }
}

#[test]
fn columns_line_up() {
    assert_eq!(format!("[{:>9}|{:<8}]", Nanos(12_345), Bytes(64)), "[  12.3 us|64 B    ]");
}

fn check<T: Display>(table: &[(u64, &str, &str)], of: fn(u64) -> T) {
    for (value, short, exact) in table {
        let quantity = of(*value);
        assert_eq!(
            (format!("{quantity}"), format!("{quantity:#}")),
            ((*short).into(), (*exact).into()),
            "{value}"
        );
    }
}
