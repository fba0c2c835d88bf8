//! `Retry-After`: the time at which a server that refuses wants a retry (RFC 9110 §10.2.3).

use super::head;
use crate::contract::Response;
use std::fmt;

/// The time at which a server wants a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// A date in UTC. Its parts are numbers of the right length; whether the day exists is not checked.
    Date {
        /// The year of the common era.
        year: u16,
        /// The month, from 1.
        month: u8,
        /// The day, from 1.
        day: u8,
        /// The hour of the day.
        hour: u8,
        /// The minute of the hour.
        minute: u8,
        /// The second of the minute.
        second: u8,
    },
    /// Seconds after the answer; [`u32::MAX`] means that many or more.
    Seconds(u32),
}

impl RetryAfter {
    /// The first `Retry-After` of `headers` that is valid.
    pub(crate) fn of(headers: &[httparse::Header<'_>]) -> Option<Self> {
        let mut named =
            headers.iter().filter(|header| header.name.eq_ignore_ascii_case("retry-after"));
        named.find_map(|header| Self::read(head::trim(header.value)))
    }

    /// The time that a refusal names; `None` for a response that is not a refusal.
    pub(crate) fn of_response(response: &Response<'_>) -> Option<Self> {
        let is_refusal = !(200..300).contains(&response.status);
        response.field(NAME).filter(|_| is_refusal).and_then(Self::read)
    }

    /// A number of seconds, or a date as everybody writes it today (IMF-fixdate); `None` for anything else.
    fn read(value: &[u8]) -> Option<Self> {
        let text = str::from_utf8(value).ok()?;
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(Self::Seconds(text.parse().unwrap_or(u32::MAX)));
        }
        let (_weekday, date) = text.split_once(", ")?;
        let date = date.strip_suffix(" GMT")?;
        let [day, month, year, time] = parts(date, ' ')?;
        let [hour, minute, second] = parts(time, ':')?;
        let month = MONTHS.iter().position(|name| *name == month)?;
        let two = |digits: &str| digits.parse::<u8>().ok().filter(|_| is_number(digits, 2));
        Some(Self::Date {
            year: year.parse().ok().filter(|_| is_number(year, 4))?,
            month: u8::try_from(month + 1).ok()?,
            day: two(day)?,
            hour: two(hour)?,
            minute: two(minute)?,
            second: two(second)?,
        })
    }
}

/// The parts of `text`, if there are exactly `COUNT`.
fn parts<const COUNT: usize>(text: &str, separator: char) -> Option<[&str; COUNT]> {
    text.split(separator).collect::<Vec<_>>().try_into().ok()
}

fn is_number(text: &str, len: usize) -> bool {
    text.len() == len && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `Retry-After 120 s`, or the date as RFC 3339.
impl fmt::Display for RetryAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seconds(seconds) => write!(f, "{NAME} {seconds} s"),
            Self::Date { year, month, day, hour, minute, second } => {
                write!(f, "{NAME} {year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
            }
        }
    }
}

const NAME: &str = "Retry-After";

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_read_and_nothing_else() {
        #[rustfmt::skip]
        let table = [
            ("120",                            Some("Retry-After 120 s")),
            ("0",                              Some("Retry-After 0 s")),
            ("99999999999999999999",           Some("Retry-After 4294967295 s")),
            ("Fri, 31 Dec 1999 23:59:59 GMT",  Some("Retry-After 1999-12-31T23:59:59Z")),
            ("Fri, 31 Dec 1999 23:59:59 CET",  None),
            ("Fri, 31 Dez 1999 23:59:59 GMT",  None),
            ("Fri, 1 Dec 1999 23:59:59 GMT",   None),
            ("Fri, 31 Dec 1999 23:59 GMT",     None),
            ("-1",                             None),
            ("1.5",                            None),
            ("",                               None),
        ];
        for (value, expected) in table {
            let read = RetryAfter::read(value.as_bytes()).map(|after| after.to_string());
            assert_eq!(read.as_deref(), expected, "{value}");
        }
        assert_eq!(RetryAfter::read(b"\xff"), None);
    }
}
