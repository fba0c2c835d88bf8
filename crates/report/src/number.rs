//! Numbers as text: three significant digits and a unit.
//!
//! In a sentence a number has the unit that fits it ([`Unit::show`]). In a table all numbers of a kind have one unit,
//! which is in the head of their columns ([`Unit::scale`]). A number that is not finite, or that its kind cannot have
//! (a negative time), is [`MISSING`].

use units::{Bytes, Nanos};

/// The text for a missing number.
pub(crate) const MISSING: &str = "-";

/// A kind of number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A count, with all its digits.
    Count,
    /// CPU time of a message, in microseconds.
    Cpu,
    /// Bytes of one message.
    MessageBytes,
    /// A number without a unit.
    Plain,
    /// Events a second.
    Rate,
    /// A ratio to something of the same kind.
    Ratio,
    /// A share of one.
    Share,
    /// A size in bytes.
    Size,
    /// Bytes a second.
    SizeRate,
    /// A time in nanoseconds.
    Time,
    /// No number.
    Words,
}

/// The unit of a column: a value is shown divided by `factor`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    unit: Unit,
    factor: f64,
    /// The unit's name; empty if it has none.
    pub(crate) name: &'static str,
}

impl Unit {
    /// A value with its own unit, for a sentence.
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::Cpu => micros(value),
            Self::Rate => per_second(value),
            Self::Ratio => ratio(value, None),
            Self::Share => percent(value),
            Self::Size => bytes(value),
            Self::SizeRate => format!("{}/s", bytes(value.round())),
            Self::Time => time(value),
            Self::Count | Self::MessageBytes | Self::Plain | Self::Words => {
                let scale = self.scale([value]);
                format!("{} {}", scale.number(value), scale.name).trim_end().to_owned()
            }
        }
    }

    /// The unit for a column with these values: the one that fits their median, or a smaller one if that would leave
    /// too few digits of the smallest.
    pub(crate) fn scale(self, values: impl IntoIterator<Item = f64>) -> Scale {
        let is_some = |value: &f64| value.is_finite() && *value > 0.0;
        let mut sizes: Vec<f64> = values.into_iter().map(f64::abs).filter(is_some).collect();
        sizes.sort_by(f64::total_cmp);
        let median = sizes.get(sizes.len().saturating_sub(1) / 2).copied().unwrap_or(0.0);
        let least = sizes.first().copied().unwrap_or(0.0);
        let fits =
            |(factor, _): &&(f64, &str)| round(median) >= *factor && least >= *factor * LEAST;
        let steps = self.steps();
        let (factor, name) = steps.iter().rev().find(fits).unwrap_or(&steps[0]);
        Scale { unit: self, factor: *factor, name }
    }

    /// Its units, the smallest first.
    fn steps(self) -> &'static [(f64, &'static str)] {
        match self {
            Self::Count | Self::Plain | Self::Ratio | Self::Words => &[(1.0, "")],
            Self::Cpu => &[(1.0, "us")],
            Self::MessageBytes => &[(1.0, "B")],
            Self::Rate => &RATES,
            Self::Share => &[(0.01, "%")],
            Self::Size => &SIZES,
            Self::SizeRate => {
                &[(1.0, "B/s"), (KIB, "KiB/s"), (KIB * KIB, "MiB/s"), (KIB * KIB * KIB, "GiB/s")]
            }
            Self::Time => &TIMES,
        }
    }
}

impl Scale {
    /// A value in this unit, without its name.
    pub(crate) fn number(&self, value: f64) -> String {
        match self.unit {
            _ if !value.is_finite() => MISSING.to_owned(),
            Unit::Count if value.abs() < 1e15 => format!("{value:.0}"),
            Unit::Count | Unit::Plain | Unit::Words => three(value),
            Unit::MessageBytes => message_bytes(value),
            Unit::Ratio => ratio(value, None),
            Unit::Share => percent(value).trim_end_matches(" %").to_owned(),
            Unit::Cpu | Unit::Rate | Unit::Size | Unit::SizeRate | Unit::Time if value < 0.0 => {
                MISSING.to_owned()
            }
            Unit::Cpu | Unit::Rate | Unit::Size | Unit::SizeRate | Unit::Time => {
                three(value / self.factor)
            }
        }
    }

    /// The same with its 95 % interval, if there is one: `24.0 [23.8, 24.2]`.
    pub(crate) fn estimate(&self, value: f64, interval: Option<(f64, f64)>) -> String {
        match (self.unit, interval) {
            (Unit::Ratio, _) => ratio(value, interval),
            (_, None) => self.number(value),
            (_, Some((low, high))) => {
                format!("{} [{}, {}]", self.number(value), self.number(low), self.number(high))
            }
        }
    }

    /// A difference with its sign: `+1.90 [1.70, 2.10]`, with as many decimals as fit the largest of the three.
    pub(crate) fn difference(&self, value: f64, interval: Option<(f64, f64)>) -> String {
        if self.unit == Unit::MessageBytes {
            let text = message_bytes(value);
            return if value > 0.0 && text != "0" && text != MISSING {
                format!("+{text}")
            } else {
                text
            };
        }
        let (low, high) = interval.unwrap_or((value, value));
        let all = [value, low, high].map(|value| value / self.factor);
        let largest = all.into_iter().map(f64::abs).fold(0.0, f64::max);
        let decimals = match largest {
            _ if all.iter().any(|value| !value.is_finite()) => return MISSING.to_owned(),
            ..9.995 => 2,
            ..99.95 => 1,
            ..1e15 => 0,
            _ => return format!("{:+.2e}", all[0]),
        };
        let [value, low, high] = all.map(|value| without_minus_zero(value, decimals));
        match interval {
            Some(_) => format!("{value:+.decimals$} [{low:.decimals$}, {high:.decimals$}]"),
            None => format!("{value:+.decimals$}"),
        }
    }
}

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
    match round(ns) {
        _ if !ns.is_finite() || ns < 0.0 => MISSING.to_owned(),
        ..1e3 => format!("{ns:.0} ns"),
        long if long >= 6e10 => Nanos(whole(long)).to_string(),
        some => of_steps(some, &TIMES, " "),
    }
}

/// `12.3 us`: a time of whole nanoseconds in three digits.
pub fn nanos(ns: u64) -> String {
    time(float(ns))
}

/// The same from microseconds.
pub(crate) fn micros(us: f64) -> String {
    time(us * 1e3)
}

/// `64.7 k/s`, `950/s`: the one spelling of a rate.
pub fn per_second(rate: f64) -> String {
    match rate {
        _ if !rate.is_finite() || rate < 0.0 => format!("{MISSING}/s"),
        _ if round(rate) < 1e3 => format!("{}/s", three(rate)),
        _ => of_steps(round(rate), &RATES, " "),
    }
}

/// `24.0 k/s [23.8, 24.2]`: a value with its interval, in the unit of the value. All three are rounded alike, so that
/// the value is never shown outside its interval.
pub(crate) fn interval(unit: Unit, value: f64, interval: Option<(f64, f64)>) -> String {
    let Some((low, high)) = interval else { return unit.show(value) };
    let scale = unit.scale([value]);
    let blank = if scale.name.is_empty() || scale.name == "/s" { "" } else { " " };
    let [value, low, high] = [value, low, high].map(|number| scale.number(number));
    format!("{value}{blank}{} [{low}, {high}]", scale.name)
}

/// `70 B`, `70.5 B`, `1.5 KiB`.
pub(crate) fn bytes(bytes: f64) -> String {
    match round(bytes) {
        _ if !bytes.is_finite() || bytes < 0.0 => MISSING.to_owned(),
        small if small < 1000.0 && bytes.fract() == 0.0 => format!("{bytes:.0} B"),
        small if small < 1000.0 => format!("{} B", three(small)),
        _ => Bytes(whole(bytes)).to_string(),
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

/// `1.06x [1.04, 1.08]`: a ratio with its 95 % interval, with as many decimals as fit the largest of the three. An end
/// beyond 9999 is not shown: `0.80x [0.0, >9999]`.
pub(crate) fn ratio(value: f64, interval: Option<(f64, f64)>) -> String {
    let (low, high) = interval.unwrap_or((value, value));
    let all = [value, low, high];
    if all.iter().any(|value| !value.is_finite() || *value < 0.0) {
        return MISSING.to_owned();
    }
    let decimals = |largest: f64| match largest {
        ..9.995 => Some(2_usize),
        9.995..99.95 => Some(1),
        99.95..9999.5 => Some(0),
        _ => None,
    };
    match (decimals(all.into_iter().fold(0.0, f64::max)), decimals(value), interval) {
        (Some(decimals), _, Some(_)) => {
            format!("{value:.decimals$}x [{low:.decimals$}, {high:.decimals$}]")
        }
        (Some(decimals), _, None) => format!("{value:.decimals$}x"),
        (None, Some(decimals), _) if value < 999.5 => {
            let fewer = decimals.saturating_sub(1);
            format!("{value:.decimals$}x [{low:.fewer$}, >9999]")
        }
        (None, Some(_), _) => ">999x".to_owned(),
        (None, None, _) => ">9999x".to_owned(),
    }
}

/// A ratio as a bar of nine columns, with the space after it: four for 1.00x, an eighth of a column for each 3 %; cut
/// at 2.00x, with an arrow.
pub(crate) fn bar(ratio: f64) -> String {
    let eighths = whole((ratio.max(0.0) * BAR_EIGHTHS).min(f64::from(u16::MAX)));
    let columns = usize::try_from(eighths / 8).unwrap_or(usize::MAX);
    let bar = match columns {
        BAR_COLUMNS.. => "▇".repeat(BAR_COLUMNS - 1) + "▸",
        _ => bar_of(usize::try_from(eighths).unwrap_or(0)),
    };
    format!("{bar:BAR_COLUMNS$} ")
}

/// A bar of this many eighths of a column.
pub fn bar_of(eighths: usize) -> String {
    let parts = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    "▇".repeat(eighths / 8) + parts[eighths % 8]
}

/// Bytes of a message: `64`, `70.5`, `-20`, `16412`. A number within a twentieth of a whole one is shown as the whole
/// one: messages at the edges of the measurement make the difference.
pub(crate) fn message_bytes(bytes: f64) -> String {
    let size = bytes.abs();
    let digits = match size {
        _ if !bytes.is_finite() => return MISSING.to_owned(),
        ..99.95 if (size - size.round()).abs() >= 0.05 => format!("{size:.1}"),
        ..1e15 => format!("{size:.0}"),
        _ => format!("{size:.2e}"),
    };
    if bytes < 0.0 && digits != "0" { format!("-{digits}") } else { digits }
}

/// `1 bot`, `2 bots`: a count of things whose plural ends in an `s`.
pub(crate) fn counted(count: impl Into<u64>, noun: &str) -> String {
    match count.into() {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

/// A count as a float, to be shown with three digits.
#[expect(clippy::cast_precision_loss, reason = "three digits are left of it")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

/// `value` in the largest unit that it reaches.
fn of_steps(value: f64, steps: &[(f64, &str)], between: &str) -> String {
    let reached = steps.iter().rev().find(|(factor, _)| value >= *factor);
    let (factor, name) = reached.or_else(|| steps.first()).copied().unwrap_or((1.0, ""));
    format!("{}{between}{name}", three(value / factor))
}

/// `value`, or 0 if this many decimals leave nothing of it.
fn without_minus_zero(value: f64, decimals: usize) -> f64 {
    let shown: f64 = format!("{value:.decimals$}").parse().unwrap_or(value);
    if shown == 0.0 { 0.0 } else { value }
}

/// `value` with all but its first three digits rounded to zeros.
fn round(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates; callers pass no negative"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

const TIMES: [(f64, &str); 4] = [(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")];
const RATES: [(f64, &str); 5] =
    [(1.0, "/s"), (1e3, "k/s"), (1e6, "M/s"), (1e9, "G/s"), (1e12, "T/s")];
const KIB: f64 = 1024.0;
const SIZES: [(f64, &str); 5] = [
    (1.0, "B"),
    (KIB, "KiB"),
    (KIB * KIB, "MiB"),
    (KIB * KIB * KIB, "GiB"),
    (KIB * KIB * KIB * KIB, "TiB"),
];
/// The width of a bar.
const BAR_COLUMNS: usize = 8;
/// The eighths of a column that a bar of 1.00x has.
const BAR_EIGHTHS: f64 = 32.0;
/// The smallest value of a column is at least this fraction of its unit, and so has a digit within three decimals.
const LEAST: f64 = 0.001;

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
        #[rustfmt::skip]
        check(per_second, &[
            (191_234.0, "191 k/s"), (64_700.0, "64.7 k/s"), (950.0, "950/s"), (999.6, "1.00 k/s"), (0.5, "0.500/s"),
            (2.5e6, "2.50 M/s"), (1e300, "1.00e288 T/s"), (-1.0, "-/s"),
        ]);
        #[rustfmt::skip]
        check(bytes, &[
            (70.0, "70 B"), (70.5, "70.5 B"), (1536.0, "1.5 KiB"), (16_777_216.0, "16 MiB"), (-1.0, "-"),
        ]);
        #[rustfmt::skip]
        check(percent, &[
            (0.031, "3.1 %"), (-0.002, "-0.2 %"), (0.0005, "0.05 %"), (0.0, "0 %"), (12.0, "1200 %"),
        ]);
    }

    #[test]
    fn one_thing_is_in_the_singular() {
        for (count, expected) in [(0_u64, "0 bots"), (1, "1 bot"), (2, "2 bots")] {
            assert_eq!(counted(count, "bot"), expected);
        }
    }

    #[test]
    fn an_interval_has_the_unit_of_its_value() {
        let shown = |unit, value, ends| interval(unit, value, ends);
        assert_eq!(shown(Unit::Rate, 24e3, Some((980.0, 24.2e3))), "24.0 k/s [0.980, 24.2]");
        assert_eq!(shown(Unit::Cpu, 1.11, Some((0.935, 1.25))), "1.11 us [0.935, 1.25]");
        assert_eq!(shown(Unit::Time, 5e6, None), "5.00 ms");
        assert_eq!(shown(Unit::Rate, 950.0, Some((940.0, 960.0))), "950/s [940, 960]");
        assert_eq!(shown(Unit::Share, 0.99, Some((0.98, 1.0))), "99.0 % [98.0, 100]");
    }

    #[test]
    fn a_value_is_never_shown_outside_of_the_interval_that_it_lies_in() {
        // Rounded to three digits of bytes first, it would be 2.77.
        let (low, value, high) = (2_899_000.0, 2_899_100.0, 2_899_200.0);
        assert_eq!(interval(Unit::Size, value, Some((low, high))), "2.76 MiB [2.76, 2.76]");
        assert_eq!(bytes(value), "2.76 MiB");
        assert_eq!(interval(Unit::Time, 64.4, Some((64.2, 64.6))), "64.4 ns [64.2, 64.6]");
        assert_eq!(interval(Unit::Time, 90.4e9, Some((90.3e9, 90.5e9))), "90.4 s [90.3, 90.5]");
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
            (9999.0, Some((9998.0, 1e9)), ">999x"),
            (0.804, Some((0.0, 1e6)), "0.80x [0.0, >9999]"),
            (12.34, Some((1.23, 1e6)), "12.3x [1, >9999]"),
            (999.4, Some((998.0, 1e9)), "999x [998, >9999]"),
            (123_456.0, None, ">9999x"),
            (f64::NAN, None, "-"),
            (1.0, Some((-1.0, 2.0)), "-"),
        ];
        for row @ (value, interval, expected) in table {
            assert_eq!(ratio(value, interval), expected, "{row:?}");
            assert!(expected.len() <= 18, "{row:?}");
        }
    }

    #[test]
    fn a_column_has_one_unit() {
        #[rustfmt::skip]
        let table: [(Unit, &[f64], &str, &str); 9] = [
            (Unit::Time, &[254e3, 301e3, 412e3],             "us", "254 301 412"),
            (Unit::Time, &[254e3, 301e3, 412e3, 123e6, 9e9], "us", "254 301 412 123000 9000000"),
            (Unit::Time, &[12e6, 5e6, f64::NAN],             "ms", "12.0 5.00 -"),
            // In ms nothing would be left of the first.
            (Unit::Time, &[300.0, 5e6, 6e6],                 "us", "0.300 5000 6000"),
            (Unit::Rate, &[64_700.0, 113_137.0, 950.0],      "k/s", "64.7 113 0.950"),
            (Unit::Size, &[3.4e7, 4e7],                      "MiB", "32.4 38.1"),
            (Unit::Share, &[0.999, 0.784, 1.0],              "%", "99.9 78.4 100"),
            (Unit::Count, &[1_234_567.0],                    "", "1234567"),
            (Unit::Time, &[],                                "ns", ""),
        ];
        for (unit, values, name, expected) in table {
            let scale = unit.scale(values.iter().copied());
            let shown: Vec<String> = values.iter().map(|value| scale.number(*value)).collect();
            assert_eq!((scale.name, &shown.join(" ")[..]), (name, expected));
        }
        assert_eq!(
            Unit::Rate.scale([24e3]).estimate(24e3, Some((23.8e3, 24.2e3))),
            "24.0 [23.8, 24.2]"
        );
    }

    #[test]
    fn differences_have_their_sign_and_the_unit_of_their_column() {
        let us = Unit::Time.scale([1e3]);
        #[rustfmt::skip]
        let table = [
            (1.9, Some((1.7, 2.1)), "+1.90 [1.70, 2.10]"),
            (-1.9, Some((-2.1, -1.7)), "-1.90 [-2.10, -1.70]"),
            (9.8, Some((9.1, 10.44)), "+9.8 [9.1, 10.4]"),
            (412.3, Some((401.0, 9999.4)), "+412 [401, 9999]"),
            (12_345.0, Some((11_800.0, 13_400.0)), "+12345 [11800, 13400]"),
            (1.9, None, "+1.90"),
            (-0.001, None, "+0.00"),
            (f64::NAN, None, "-"),
        ];
        for row @ (value, interval, expected) in table {
            let interval = interval.map(|(low, high)| (low * 1e3, high * 1e3));
            assert_eq!(us.difference(value * 1e3, interval), expected, "{row:?}");
        }
    }

    #[test]
    fn a_bar_shows_a_thirtieth_more_and_ends_at_twice_as_much() {
        let table = [
            (0.0, ""),
            (0.52, "▇▇▏"),
            (1.0, "▇▇▇▇"),
            (1.01, "▇▇▇▇"),
            (1.03, "▇▇▇▇▏"),
            (1.19, "▇▇▇▇▊"),
            (1.98, "▇▇▇▇▇▇▇▉"),
            (2.0, "▇▇▇▇▇▇▇▸"),
            (6.09, "▇▇▇▇▇▇▇▸"),
            (f64::MAX, "▇▇▇▇▇▇▇▸"),
        ];
        for row @ (ratio, expected) in table {
            assert_eq!(bar(ratio).trim_end(), expected, "{row:?}");
            assert_eq!(bar(ratio).chars().count(), BAR_COLUMNS + 1, "{row:?}");
        }
    }

    #[test]
    fn edges_of_the_measurement_make_no_byte_of_a_message() {
        #[rustfmt::skip]
        check(message_bytes, &[
            (64.0, "64"), (64.04, "64"), (-64.04, "-64"), (70.5, "70.5"), (-0.01, "0"), (123.4, "123"),
            (16_412.2, "16412"), (f64::INFINITY, "-"),
        ]);
        let more = |value| Unit::MessageBytes.scale([]).difference(value, None);
        for (value, expected) in [(22.0, "+22"), (-20.0, "-20"), (0.01, "0"), (f64::NAN, "-")] {
            assert_eq!(more(value), expected);
        }
    }
}
