//! The load that the machine should carry, as people write it: `10k bots`, `2000/s`, `10k bots every 1s`.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use units::{Count, Nanos, Rate};

/// The load that the machine should carry; at least one of the two is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wish {
    /// Connections at the same time.
    pub connections: Option<u64>,
    /// The message rate over all connections together.
    pub rate: Option<Rate>,
}

impl Wish {
    /// Messages per second, rounded up.
    pub fn messages_per_s(&self) -> Option<u64> {
        let rate = self.rate?;
        let nanos = u128::from(rate.count().get()) * 1_000_000_000;
        Some(u64::try_from(nanos.div_ceil(u128::from(rate.per().0))).unwrap_or(u64::MAX))
    }
}

impl FromStr for Wish {
    type Err = WishError;

    fn from_str(text: &str) -> Result<Self, WishError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let of = |connections: u64, rate| Self { connections: Some(connections), rate };
        match words[..] {
            [rate] if rate.contains('/') => {
                Ok(Self { connections: None, rate: Some(quantity(text, rate)?) })
            }
            [count, noun] => Ok(of(connections(text, count, noun)?, None)),
            [count, noun, "every", time] => {
                let (count, time) = (connections(text, count, noun)?, quantity(text, time)?);
                Ok(of(count, Some(each(text, count, time)?)))
            }
            [count, noun, "at", rate] | [rate, "over", count, noun] => {
                let count = connections(text, count, noun)?;
                Ok(of(count, Some(quantity(text, rate)?)))
            }
            _ => Err(WishError::new(text, "is not understood")),
        }
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |count: u64, noun: &str| {
            let s = if count == 1 { "" } else { "s" };
            format!("{} {noun}{s}", Count(count))
        };
        let connections = self.connections.map(|connections| counted(connections, "connection"));
        let rate = self.messages_per_s().map(|rate| format!("{}/s", counted(rate, "message")));
        f.write_str(&connections.into_iter().chain(rate).collect::<Vec<_>>().join(", "))
    }
}

/// The reason why a text is not a wish, with examples of valid ones.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; say {UNDERSTOOD}")]
pub struct WishError(String);

impl WishError {
    fn new(text: &str, problem: impl fmt::Display) -> Self {
        let mut shown: String = text.chars().take(60).flat_map(char::escape_debug).collect();
        if text.chars().nth(60).is_some() {
            shown.push('…');
        }
        Self(format!("`{shown}` {problem}"))
    }
}

/// A number of connections, which is what every accepted noun means.
fn connections(text: &str, count: &str, noun: &str) -> Result<u64, WishError> {
    if !NOUNS.contains(&noun.trim_end_matches('s')) {
        return Err(WishError::new(text, format_args!("has `{noun}` where connections should be")));
    }
    match quantity::<Count>(text, count)? {
        Count(0) => Err(WishError::new(text, "asks for nothing")),
        Count(count) => Ok(count),
    }
}

/// The rate of one message every `time` from each of `count` connections.
fn each(text: &str, count: u64, time: Nanos) -> Result<Rate, WishError> {
    let count = u32::try_from(count).ok().and_then(NonZeroU32::new);
    let rate = count.and_then(|count| Rate::new(count, time));
    rate.ok_or_else(|| WishError::new(text, "is more than can be scheduled"))
}

fn quantity<T: FromStr<Err: fmt::Display>>(text: &str, part: &str) -> Result<T, WishError> {
    part.parse().map_err(|error| WishError::new(text, format_args!("is not clear: {error}")))
}

/// The nouns, in the singular.
const NOUNS: &[&str] = &["bot", "client", "connection", "user"];

/// Examples of every accepted form.
const UNDERSTOOD: &str = "`10k bots`, `20000 connections`, `5k clients`, `2000/s`, `10k bots every 1s` or \
                          `100 connections at 2000/s`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_read_as_people_say_them() {
        #[rustfmt::skip]
        let table = [
            // text,                        connections,   messages/s, shown
            ("10k bots",                    Some(10_000),  None,         "10k connections"),
            ("20000 connections",           Some(20_000),  None,         "20k connections"),
            ("  5k   clients ",             Some(5_000),   None,         "5000 connections"),
            ("1 bot",                       Some(1),       None,         "1 connection"),
            ("2000/s",                      None,          Some(2_000),  "2000 messages/s"),
            ("10k bots every 1s",           Some(10_000),  Some(10_000), "10k connections, 10k messages/s"),
            ("10k bots every 3s",           Some(10_000),  Some(3_334),  "10k connections, 3334 messages/s"),
            ("7 users every 1m30s",         Some(7),       Some(1),      "7 connections, 1 message/s"),
            ("100 connections at 2k/s",     Some(100),     Some(2_000),  "100 connections, 2000 messages/s"),
            ("90/min over 3 bots",          Some(3),       Some(2),      "3 connections, 2 messages/s"),
        ];
        for (text, connections, rate, shown) in table {
            let wish: Wish = text.parse().unwrap();
            assert_eq!((wish.connections, wish.messages_per_s()), (connections, rate), "{text}");
            assert_eq!(wish.to_string(), shown, "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_says_what_would_be() {
        #[rustfmt::skip]
        let table = [
            ("",                     "`` is not understood"),
            ("10k",                  "`10k` is not understood"),
            ("bots 10k",             "has `10k` where connections should be"),
            ("10k penguins",         "has `penguins` where connections should be"),
            ("0 bots",               "asks for nothing"),
            ("-1 bots",              "is negative"),
            ("1.5 bots",             "is not clear"),
            ("10k bots every 1",     "did you mean `1s`?"),
            ("10k bots every 0s",    "is more than can be scheduled"),
            ("5G bots every 1s",     "is more than can be scheduled"),
            ("10k bots each 1s",     "is not understood"),
            ("x/s",                  "does not start with a digit"),
            ("0/s",                  "is a rate of zero"),
            ("\u{1b}[2J",            "`\\u{1b}[2J` is not understood"),
        ];
        for (text, problem) in table {
            let error = text.parse::<Wish>().unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
            assert!(error.ends_with("`100 connections at 2000/s`"), "{error}");
        }
    }
}
