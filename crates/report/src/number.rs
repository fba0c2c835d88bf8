//! Every number that is shown is written here: three significant digits, and its unit.
//!
//! Cells of a table, whose unit stands in the header, are the `*_cell` functions: short, with a unit of their own where
//! the header's would need more room. What is not a number, or cannot be one of its kind (a negative time), is
//! [`MISSING`].

use units::{Bytes, Nanos};

/// Stands where a number is missing.
pub(crate) const MISSING: &str = "-";

/// No [`micros_cell`] is wider.
pub(crate) const MICROS_CELL_MAX: usize = 5;
/// No [`per_second_cell`] or [`bytes_cell`] is wider.
pub(crate) const CELL_MAX: usize = 6;

/// `191`, `12.3`, `1.05`, `0.012`, `41200`: three significant digits, at most three decimals; `0` for less.
pub(crate) fn three(value: f64) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    if value.abs() < 0.000_5 {
        return "0".to_owned();
    }
    let rounded = round(value);
    let decimals = match rounded.abs() {
        ..1.0 => 3,
        1.0..10.0 => 2,
        10.0..100.0 => 1,
        100.0..1e15 => 0,
        _ => return format!("{rounded:.2e}"),
    };
    format!("{rounded:.decimals$}")
}

/// `254 us`, `1.05 ms`, `1m30s`, from nanoseconds.
pub(crate) fn time(ns: f64) -> String {
    if !ns.is_finite() || ns < 0.0 {
        return MISSING.to_owned();
    }
    match round(ns) {
        ..1e3 => format!("{ns:.0} ns"),
        us if us < 1e6 => format!("{} us", three(us / 1e3)),
        ms if ms < 1e9 => format!("{} ms", three(ms / 1e6)),
        s if s < 6e10 => format!("{} s", three(s / 1e9)),
        long => Nanos(whole(long)).to_string(),
    }
}

/// The same from whole nanoseconds.
pub(crate) fn nanos(ns: u64) -> String {
    time(float(ns))
}

/// `5.10 us`, from microseconds.
pub(crate) fn micros(us: f64) -> String {
    time(us * 1e3)
}

/// `191 k/s`, `950/s`.
pub(crate) fn per_second(rate: f64) -> String {
    match magnitude(rate) {
        (value, "") => format!("{value}/s"),
        (value, prefix) => format!("{value} {prefix}/s"),
    }
}

/// `70 B`, `70.5 B`, `1.5 KiB`.
pub(crate) fn bytes(bytes: f64) -> String {
    if !bytes.is_finite() || bytes < 0.0 {
        return MISSING.to_owned();
    }
    match round(bytes) {
        small if small < 1000.0 && bytes.fract() == 0.0 => format!("{bytes:.0} B"),
        small if small < 1000.0 => format!("{} B", three(small)),
        large => Bytes(whole(large)).to_string(),
    }
}

/// `3.1 %`, `0.05 %`, from a fraction of one.
pub(crate) fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    match percent.abs() {
        0.005..0.095 => format!("{percent:.2} %"),
        0.095..99.95 => format!("{percent:.1} %"),
        _ => format!("{} %", three(percent)),
    }
}

/// `1.06x [1.04, 1.08]`: a ratio with its 95 % interval, as many decimals as fit the largest of the three.
pub(crate) fn ratio(value: f64, interval: Option<(f64, f64)>) -> String {
    let (low, high) = interval.unwrap_or((value, value));
    let all = [value, low, high];
    if all.iter().any(|value| !value.is_finite() || *value < 0.0) {
        return MISSING.to_owned();
    }
    let decimals = match all.into_iter().fold(0.0, f64::max) {
        ..9.995 => 2,
        9.995..99.95 => 1,
        99.95..9999.5 => 0,
        _ => return ">9999x".to_owned(),
    };
    match interval {
        Some(_) => format!("{value:.decimals$}x [{low:.decimals$}, {high:.decimals$}]"),
        None => format!("{value:.decimals$}x"),
    }
}

/// A time in microseconds, with a unit of its own from 0.1 s on: `254`, `99900`, `100ms`, `1m30s`.
pub(crate) fn micros_cell(us: f64) -> String {
    if !us.is_finite() || us < 0.0 {
        return MISSING.to_owned();
    }
    match round(us) {
        ..1e5 => three(us),
        ..6e8 => time(us * 1e3).replace(' ', ""),
        _ => ">=10m".to_owned(),
    }
}

/// How often a second: `191 k`.
pub(crate) fn per_second_cell(rate: f64) -> String {
    match magnitude(rate) {
        (value, "") => value,
        (_, "T") => ">1 T".to_owned(),
        (value, prefix) => format!("{value} {prefix}"),
    }
}

/// How many bytes, with a unit of their own from 100 000 on.
pub(crate) fn bytes_cell(bytes: f64) -> String {
    if !bytes.is_finite() || bytes < 0.0 {
        return MISSING.to_owned();
    }
    match round(bytes) {
        ..1e3 if bytes.fract() == 0.0 => format!("{bytes:.0}"),
        ..1e5 => three(bytes),
        kilo if kilo < 1e6 => format!("{:.0} kB", kilo / 1e3),
        mega if mega < 1e9 => format!("{:.0} MB", mega / 1e6),
        _ => ">=1 GB".to_owned(),
    }
}

/// How much longer or shorter, in microseconds, with a unit of its own from 10 ms on: `+1.90 [1.70, 2.10]`,
/// `-123ms [-126, -120]`; as many decimals as fit the largest of the three.
pub(crate) fn difference_cell(us: f64, interval: Option<(f64, f64)>) -> String {
    let (low, high) = interval.unwrap_or((us, us));
    let all = [us, low, high];
    if all.iter().any(|value| !value.is_finite()) {
        return MISSING.to_owned();
    }
    let (scale, unit, decimals) = match all.into_iter().map(f64::abs).fold(0.0, f64::max) {
        ..9.995 => (1.0, "", 2),
        ..99.95 => (1.0, "", 1),
        ..9999.5 => (1.0, "", 0),
        ..999_500.0 => (1e3, "ms", 0),
        ..9.95e6 => (1e6, "s", 1),
        ..999.5e6 => (1e6, "s", 0),
        _ => return if us < 0.0 { "<-999s" } else { ">999s" }.to_owned(),
    };
    let [us, low, high] = all.map(|value| without_minus_zero(value / scale, decimals));
    match interval {
        Some(_) => format!("{us:+.decimals$}{unit} [{low:.decimals$}, {high:.decimals$}]"),
        None => format!("{us:+.decimals$}{unit}"),
    }
}

/// No [`difference_cell`] is wider.
pub(crate) const DIFFERENCE_CELL_MAX: usize = 20;

/// How many bytes in five columns: `64`, `70.5`, `-20`, `1234`, `12k`. What is within a twentieth of a whole number is
/// one: messages at the edges of the measurement make that.
pub(crate) fn few_bytes(bytes: f64) -> String {
    let size = bytes.abs();
    let digits = match size {
        _ if !bytes.is_finite() => return MISSING.to_owned(),
        ..99.95 if (size - size.round()).abs() >= 0.05 => format!("{size:.1}"),
        ..9999.5 => format!("{size:.0}"),
        ..999_500.0 => format!("{:.0}k", size / 1e3),
        ..999.5e6 => format!("{:.0}M", size / 1e6),
        _ => ">1G".to_owned(),
    };
    if bytes < 0.0 && digits != "0" { format!("-{digits}") } else { digits }
}

/// The same in as many columns as it takes: `16412`.
pub(crate) fn exact_bytes(bytes: f64) -> String {
    match bytes.abs() {
        9999.5..1e15 => format!("{bytes:.0}"),
        _ => few_bytes(bytes),
    }
}

/// [`few_bytes`] with its sign, as a difference: `+22`.
pub(crate) fn more_bytes(bytes: f64) -> String {
    let text = few_bytes(bytes);
    if bytes > 0.0 && text != "0" && text != MISSING { format!("+{text}") } else { text }
}

/// `value`, and 0 where so many decimals leave nothing of it.
fn without_minus_zero(value: f64, decimals: usize) -> f64 {
    let shown: f64 = format!("{value:.decimals$}").parse().unwrap_or(value);
    if shown == 0.0 { 0.0 } else { value }
}

/// The value in the largest unit that leaves at least one digit before the point, and the unit's prefix.
fn magnitude(value: f64) -> (String, &'static str) {
    if !value.is_finite() || value < 0.0 {
        return (MISSING.to_owned(), "");
    }
    match round(value) {
        ..1e3 => (three(value), ""),
        kilo if kilo < 1e6 => (three(kilo / 1e3), "k"),
        mega if mega < 1e9 => (three(mega / 1e6), "M"),
        giga if giga < 1e12 => (three(giga / 1e9), "G"),
        tera => (three(tera / 1e12), "T"),
    }
}

/// `value` with all but its first three digits rounded to zeros.
fn round(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// Of a count, to say how large it is.
#[expect(clippy::cast_precision_loss, reason = "three digits are left of it")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates; callers pass no negative"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(show: fn(f64) -> String, table: &[(f64, &str)]) {
        for row @ (value, expected) in table {
            assert_eq!(show(*value), *expected, "{row:?}");
        }
    }

    #[test]
    fn three_digits_are_shown() {
        #[rustfmt::skip]
        check(three, &[
            (0.0, "0"), (0.000_12, "0"), (0.01234, "0.012"), (0.999_6, "1.00"), (1.0, "1.00"), (9.996, "10.0"),
            (12.34, "12.3"), (99.96, "100"), (191.4, "191"), (41_234.0, "41200"), (-0.25, "-0.250"),
            (1e300, "1.00e300"), (f64::NAN, "-"), (f64::INFINITY, "-"),
        ]);
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        #[rustfmt::skip]
        check(time, &[
            (0.0, "0 ns"), (64.0, "64 ns"), (999.4, "999 ns"), (999.6, "1.00 us"), (12_345.0, "12.3 us"),
            (1_049_999.0, "1.05 ms"), (999_600_000.0, "1.00 s"), (59.9e9, "59.9 s"), (59.99e9, "1m"), (90e9, "1m30s"),
            (-1.0, "-"), (f64::NAN, "-"),
        ]);
        check(micros, &[(5.1, "5.10 us"), (0.19, "190 ns"), (1234.0, "1.23 ms")]);
        assert_eq!(nanos(254_321), "254 us");
    }

    #[test]
    fn rates_sizes_and_shares_have_their_unit() {
        check(
            per_second,
            &[
                (191_234.0, "191 k/s"),
                (950.0, "950/s"),
                (999.6, "1.00 k/s"),
                (0.5, "0.500/s"),
                (2.5e6, "2.50 M/s"),
            ],
        );
        check(
            bytes,
            &[
                (70.0, "70 B"),
                (70.5, "70.5 B"),
                (1536.0, "1.5 KiB"),
                (16_777_216.0, "16 MiB"),
                (-1.0, "-"),
            ],
        );
        check(
            percent,
            &[
                (0.031, "3.1 %"),
                (-0.002, "-0.2 %"),
                (0.0005, "0.05 %"),
                (0.0, "0 %"),
                (12.0, "1200 %"),
            ],
        );
    }

    #[test]
    fn ratios_have_their_interval_and_fit_eighteen_columns() {
        #[rustfmt::skip]
        let table = [
            (1.06, Some((1.04, 1.08)), "1.06x [1.04, 1.08]"),
            (1.06, None, "1.06x"),
            (5.0, Some((0.98, 10.3)), "5.0x [1.0, 10.3]"),
            (9.999, Some((9.5, 9.999)), "10.0x [9.5, 10.0]"),
            (123.0, Some((119.6, 126.0)), "123x [120, 126]"),
            (9999.0, Some((9998.0, 9999.4)), "9999x [9998, 9999]"),
            (9999.0, Some((9998.0, 1e9)), ">9999x"),
            (f64::NAN, None, "-"),
            (1.0, Some((-1.0, 2.0)), "-"),
        ];
        for row @ (value, interval, expected) in table {
            assert_eq!(ratio(value, interval), expected, "{row:?}");
            assert!(expected.len() <= 18, "{row:?}");
        }
    }

    #[test]
    fn differences_have_their_sign_and_their_interval() {
        #[rustfmt::skip]
        let table = [
            (1.9, Some((1.7, 2.1)), "+1.90 [1.70, 2.10]"),
            (-1.9, Some((-2.1, -1.7)), "-1.90 [-2.10, -1.70]"),
            (9.8, Some((9.1, 10.44)), "+9.8 [9.1, 10.4]"),
            (412.3, Some((401.0, 9999.4)), "+412 [401, 9999]"),
            (12_345.0, Some((11_800.0, 13_400.0)), "+12ms [12, 13]"),
            (-2e6, Some((-2.5e6, -1e6)), "-2.0s [-2.5, -1.0]"),
            (1.9, None, "+1.90"),
            (-0.001, None, "+0.00"),
            (1e11, None, ">999s"),
            (f64::NAN, None, "-"),
        ];
        for row @ (value, interval, expected) in table {
            assert_eq!(difference_cell(value, interval), expected, "{row:?}");
        }
        for exponent in -5..12 {
            let value = -9.994 * 10_f64.powi(exponent);
            let cell = difference_cell(value, Some((value, value)));
            assert!(cell.len() <= DIFFERENCE_CELL_MAX, "{cell}");
        }
    }

    #[test]
    fn few_bytes_take_five_columns_and_edges_of_the_measurement_none() {
        check(
            few_bytes,
            &[
                (64.0, "64"),
                (64.04, "64"),
                (-64.04, "-64"),
                (70.5, "70.5"),
                (-0.01, "0"),
                (123.4, "123"),
                (12_345.0, "12k"),
                (f64::INFINITY, "-"),
            ],
        );
        check(exact_bytes, &[(64.04, "64"), (16_412.2, "16412"), (1e300, ">1G")]);
        check(more_bytes, &[(22.0, "+22"), (-20.0, "-20"), (0.01, "0"), (f64::NAN, "-")]);
        for exponent in -5..300 {
            for value in [9.94, -9.94] {
                let text = few_bytes(value * 10_f64.powi(exponent));
                assert!(text.len() <= 5, "{text}");
            }
        }
    }

    #[test]
    fn cells_never_outgrow_their_column() {
        #[rustfmt::skip]
        check(micros_cell, &[
            (5.1, "5.10"), (0.0123, "0.012"), (254.3, "254"), (99_940.0, "99900"), (99_960.0, "100ms"),
            (1.234e6, "1.23s"), (59.99e6, "1m"), (90e6, "1m30s"), (599.4e6, "9m59s"), (599.6e6, ">=10m"),
            (-5.0, "-"), (f64::NAN, "-"), (f64::INFINITY, "-"),
        ]);
        check(
            per_second_cell,
            &[
                (191_234.0, "191 k"),
                (950.0, "950"),
                (12_345.0, "12.3 k"),
                (1e15, ">1 T"),
                (f64::NAN, "-"),
            ],
        );
        check(
            bytes_cell,
            &[
                (128.0, "128"),
                (133.25, "133"),
                (13.25, "13.2"),
                (32_768.0, "32800"),
                (131_072.0, "131 kB"),
                (999_600.0, "1 MB"),
                (3.4e7, "34 MB"),
                (1e9, ">=1 GB"),
                (f64::NAN, "-"),
            ],
        );
        for exponent in -40..400 {
            let value = 1.2345 * 10_f64.powi(exponent);
            for value in [value, -value] {
                assert!(micros_cell(value).len() <= MICROS_CELL_MAX, "{value}");
                assert!(per_second_cell(value).len() <= CELL_MAX, "{value}");
                assert!(bytes_cell(value).len() <= CELL_MAX, "{value}");
            }
        }
    }
}
