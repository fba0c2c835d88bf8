//! Places in text: between two others.

use super::json;
use memchr::memchr;

/// The index of the first `needle` in `bytes` at or after `from`.
pub(super) fn position(bytes: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let Some((first, others)) = needle.split_first() else { return Some(from) };
    let mut at = 0;
    loop {
        at += memchr(*first, rest.get(at..)?)?;
        if rest[at + 1..].starts_with(others) {
            return Some(from + at);
        }
        at += 1;
    }
}

/// The index of each `needle` in `bytes`.
pub(super) fn positions(bytes: &[u8], needle: &[u8]) -> impl Iterator<Item = usize> {
    std::iter::successors(position(bytes, needle, 0), move |at| position(bytes, needle, at + 1))
}

/// The number at the first place where `before`, digits and `after` follow each other.
pub(super) fn number_between(bytes: &[u8], before: &[u8], after: &[u8]) -> Option<u64> {
    let mut from = 0;
    loop {
        let at = position(bytes, before, from)?;
        let rest = &bytes[at + before.len()..];
        let len = rest.iter().take(DIGITS_MAX).take_while(|byte| byte.is_ascii_digit()).count();
        let number = json::natural(&rest[..len]).filter(|_| rest[len..].starts_with(after));
        if number.is_some() {
            return number;
        }
        from = at + 1;
        if from > bytes.len() {
            return None;
        }
    }
}

/// The text at the first place where `before`, something and `after` follow each other: as short as possible, and up to
/// the end if `after` is empty.
pub(super) fn between<'a>(bytes: &'a [u8], before: &[u8], after: &[u8]) -> Option<&'a [u8]> {
    let start = position(bytes, before, 0)? + before.len();
    let end = if after.is_empty() { bytes.len() } else { position(bytes, after, start)? };
    Some(&bytes[start..end])
}

/// The most digits that are looked at: one more than a number may have.
const DIGITS_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_between_texts() {
        #[rustfmt::skip]
        let table = [
            ("4310000007[\"a\"]",    "43", "[",  Some(10_000_007)),
            ("43[\"a\"] 437[",       "43", "[",  Some(7)),
            ("43x 435] 436[",        "43", "[",  Some(6)),
            ("id:7",                 "id:", "",  Some(7)),
            ("receipt-id:7\n\n",     "receipt-id:", "\n", Some(7)),
            ("7 x",                  "",   " x", Some(7)),
            ("4343[",                "43", "[",  Some(43)),
            ("43[",                  "43", "[",  None),
            ("43007[",               "43", "[",  None),
            ("4399999999999999999999[", "43", "[",  None),
            ("",                     "",   "",   None),
        ];
        for (text, before, after, expected) in table {
            let found = number_between(text.as_bytes(), before.as_bytes(), after.as_bytes());
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn texts_are_found_between_others() {
        #[rustfmt::skip]
        let table = [
            ("version:1.2\nsession:a b\n\n", "session:", "\n", Some("a b")),
            ("0{\"sid\":\"x\"}",             "0",        "",   Some("{\"sid\":\"x\"}")),
            ("aab",                          "aab",      "",   Some("")),
            ("ab",                           "b",        "c",  None),
            ("ab",                           "abc",      "",   None),
        ];
        for (text, before, after, expected) in table {
            let found = between(text.as_bytes(), before.as_bytes(), after.as_bytes());
            assert_eq!(found, expected.map(str::as_bytes), "{text}");
        }
    }
}
