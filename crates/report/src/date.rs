//! Dates, as records have them.

use units::Nanos;

/// The time from 1970 to the instant `text`, which is RFC 3339 in UTC: `2026-11-20T21:46:16Z`, with or without a
/// fraction of the second. `None` if it is not, or is outside the range of [`Nanos`] (1970 to 2554).
///
/// The date is turned into days as in "chrono-Compatible Low-Level Date Algorithms" (Hinnant): years begin in March, so
/// that the leap day is their last, and come in eras of 400 with 146 097 days each.
pub(crate) fn since_1970(text: &str) -> Option<Nanos> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let real = (1970..).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_of(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !real || fraction.is_empty() || fraction.len() > FRACTION_DIGITS_MAX {
        return None;
    }
    let year_from_march = if month > 2 { year } else { year - 1 };
    let month_from_march = (month + 9) % 12;
    let (era, year_of_era) = (year_from_march / 400, year_from_march % 400);
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
    let nanos = number(&format!("{fraction:0<FRACTION_DIGITS_MAX$}"), FRACTION_DIGITS_MAX)?;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos).map(Nanos)
}

/// Three numbers with the given numbers of digits.
fn numbers(text: &str, separator: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; 3];
    for (place, digits) in numbers.iter_mut().zip(digits) {
        *place = number(parts.next()?, digits)?;
    }
    parts.next().is_none().then_some(numbers)
}

fn number(text: &str, digits: usize) -> Option<u64> {
    let plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| plain)
}

fn days_of(year: u64, month: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    match month {
        2 => 28 + u64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The digits of a fraction of a second, to the nanosecond.
const FRACTION_DIGITS_MAX: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // By `date -u -d TEXT +%s`.
        #[rustfmt::skip]
        let table = [
            ("1970-01-01T00:00:00Z", 0),
            ("1972-02-28T23:59:59Z", 68_169_599),
            ("1972-02-29T00:00:00Z", 68_169_600),
            ("1972-03-01T00:00:00Z", 68_256_000),
            ("2000-02-29T00:00:00Z", 951_782_400), // a leap year, as every 400th
            ("2025-11-20T21:46:16Z", 1_763_675_176),
            ("2026-12-31T23:59:59Z", 1_798_761_599),
            ("2100-03-01T00:00:00Z", 4_107_542_400), // no leap year, as most 100ths
        ];
        for (text, seconds) in table {
            assert_eq!(since_1970(text), Some(Nanos::from_secs(seconds)), "{text}");
        }
        assert_eq!(since_1970("1970-01-01T00:00:01.25Z"), Some(Nanos::from_millis(1250)));
        assert_eq!(since_1970("1970-01-01T00:00:00.000000001Z"), Some(Nanos(1)));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "Z",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00+00:00",
            "2026-01-01 00:00:00Z",
            "26-01-01T00:00:00Z",
            "2026-01-01-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00.+1Z",
            "2026-01-01T00:00:00.0000000001Z",
            "2026-01-01T00:00:+1Z",
            "２026-01-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "2555-01-01T00:00:00Z",
            "9999-12-31T23:59:59Z",
        ] {
            assert_eq!(since_1970(text), None, "{text}");
        }
    }
}
