//! Walks over JSON without building anything of it.
//!
//! The bytes of the places that are asked for are found; everything else is skipped, and not checked.

/// A string that was walked over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Text {
    /// The index of its closing quote.
    pub(super) end: usize,
    /// True if it has a backslash.
    pub(super) is_escaped: bool,
}

/// The index of the first byte at or after `at` that is not white space.
#[inline]
pub(super) fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// The end of the string whose first character is at `at`; `None` if it has no end.
#[inline]
pub(super) fn string(bytes: &[u8], mut at: usize) -> Option<Text> {
    let mut is_escaped = false;
    loop {
        while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            let word = u64::from_le_bytes(*word);
            let hits = zeros(word ^ QUOTES) | zeros(word ^ BACKSLASHES);
            at += (hits.trailing_zeros() / 8) as usize;
            if hits != 0 {
                break;
            }
        }
        match bytes.get(at)? {
            b'"' => return Some(Text { end: at, is_escaped }),
            b'\\' => {
                is_escaped = true;
                at += 2;
            }
            _ => at += 1,
        }
    }
}

/// The index after the value that begins at `at`; `None` if it has no end, or none begins there.
#[inline]
pub(super) fn skip_value(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => string(bytes, at + 1).map(|text| text.end + 1),
        b'{' | b'[' => skip_container(bytes, at),
        _ => literal(bytes, at),
    }
}

/// The index after the number, `true`, `false` or `null` that begins at `at`.
#[inline]
pub(super) fn literal(bytes: &[u8], at: usize) -> Option<usize> {
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let len = bytes[at..].iter().take_while(is_part).count();
    (len > 0).then_some(at + len)
}

fn skip_container(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match bytes.get(at)? {
            b'"' => at = string(bytes, at + 1)?.end,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// The value of a token, if it is a natural number without sign, leading zeros, point or exponent.
#[inline]
pub(super) fn natural(token: &[u8]) -> Option<u64> {
    if token.is_empty() || token.len() > DIGITS_MAX || (token[0] == b'0' && token.len() > 1) {
        return None;
    }
    token.iter().try_fold(0, |number: u64, byte| {
        byte.is_ascii_digit().then(|| number * 10 + u64::from(byte - b'0'))
    })
}

/// The highest bit of each zero byte of `word`, and of no byte below the first zero byte.
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & (ONES << 7)
}

const ONES: u64 = u64::MAX / 255;
const QUOTES: u64 = ONES * b'"' as u64;
const BACKSLASHES: u64 = ONES * b'\\' as u64;

/// The most digits of a number that is read: the largest instant in nanoseconds has twenty, and no run takes 317 years.
const DIGITS_MAX: usize = 19;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_end_at_the_first_quote_that_is_not_escaped() {
        #[rustfmt::skip]
        let table: [(&str, Option<(usize, bool)>); _] = [
            (r#"""#,                         Some((0, false))),
            (r#"a"b""#,                      Some((1, false))),
            (r#"a\"b""#,                     Some((4, true))),
            (r#"abcdefgh"ijklmnop""#,        Some((8, false))),
            (r#"abcdefg\"ijklmnop""#,        Some((17, true))),
            (r#"abcdefghij\\""#,             Some((12, true))),
            ("ébcdéfgh\u{7f}\"",             Some((11, false))),
            ("abcdefghijkl",                 None),
            ("abcdefg\\",                    None),
            ("",                             None),
        ];
        for (text, expected) in table {
            let found = string(text.as_bytes(), 0).map(|text| (text.end, text.is_escaped));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn values_are_skipped_whole() {
        #[rustfmt::skip]
        let table = [
            ("1,",                     Some(1)),
            ("-1.5e+3]",               Some(7)),
            ("null",                   Some(4)),
            (r#""a]" "#,               Some(4)),
            (r#"{"a":[{"}":1}]},"#,    Some(15)),
            ("[]]",                    Some(2)),
            ("[",                      None),
            (",",                      None),
            ("",                       None),
        ];
        for (text, expected) in table {
            assert_eq!(skip_value(text.as_bytes(), 0), expected, "{text}");
        }
    }

    #[test]
    fn only_plain_numbers_are_natural() {
        #[rustfmt::skip]
        let table = [
            ("0", Some(0)), ("7", Some(7)), ("10000000", Some(10_000_000)),
            ("9999999999999999999", Some(9_999_999_999_999_999_999)), ("10000000000000000000", None),
            ("", None), ("01", None), ("-1", None), ("1.0", None), ("1e3", None), ("+1", None),
        ];
        for (text, expected) in table {
            assert_eq!(natural(text.as_bytes()), expected, "{text}");
        }
    }
}
