//! Dates in UTC.

/// `seconds` since 1970-01-01 as RFC 3339: `2026-11-20T21:46:16Z`.
///
/// Uses "chrono-Compatible Low-Level Date Algorithms" (Hinnant): years begin in March, so that the leap day is the last
/// of the year, and are grouped into eras of 400 years with 146 097 days each.
pub(crate) fn rfc3339(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // By `date -u -d @SECONDS +%FT%TZ`.
        #[rustfmt::skip]
        let table = [
            (0,              "1970-01-01T00:00:00Z"),
            (68_169_599,     "1972-02-28T23:59:59Z"),
            (68_169_600,     "1972-02-29T00:00:00Z"),
            (68_256_000,     "1972-03-01T00:00:00Z"),
            (951_782_400,    "2000-02-29T00:00:00Z"), // a leap year, as every 400th
            (1_763_675_176,  "2025-11-20T21:46:16Z"),
            (1_798_761_599,  "2026-12-31T23:59:59Z"),
            (4_107_542_400,  "2100-03-01T00:00:00Z"), // no leap year, as most 100ths
        ];
        for (seconds, expected) in table {
            assert_eq!(rfc3339(seconds), expected);
        }
    }
}
