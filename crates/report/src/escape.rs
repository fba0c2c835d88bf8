//! Text from outside, made safe for a terminal; and the number of columns that text takes.

use std::borrow::Cow;
use unicode_width::UnicodeWidthChar;

/// `text` with everything that is not plainly visible written as an escape (`\n`, `\u{1b}`).
///
/// That is: control characters and thereby ANSI sequences; whatever has no width of its own (combining marks, joiners,
/// direction marks and overrides); line and paragraph separators; and letters that are written from right to left,
/// which would turn the order of the numbers beside them. Escaping again changes nothing: a backslash stays as it is.
pub fn escape(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_plain(letter) {
            safe.push(letter);
        } else {
            safe.extend(letter.escape_default());
        }
    }
    safe
}

/// `text` in one line and escaped: line breaks, with the blanks around them, become one blank.
pub(crate) fn flow(text: &str) -> String {
    if !text.bytes().any(|byte| matches!(byte, b'\n' | b'\r')) {
        return escape(text);
    }
    let lines = text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
    escape(&lines.collect::<Vec<&str>>().join(" "))
}

/// True if [`escape`] leaves the letter as it is.
pub(crate) fn is_plain(letter: char) -> bool {
    // Control characters have no width, nor have combining marks and direction marks of any kind.
    let visible = letter.width().is_some_and(|width| width > 0);
    let separator =
        matches!(letter, '\u{115f}' | '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}');
    let leftward = matches!(
        letter,
        '\u{590}'..='\u{8ff}'
            | '\u{fb1d}'..='\u{fdff}'
            | '\u{fe70}'..='\u{feff}'
            | '\u{10800}'..='\u{10fff}'
            | '\u{1e800}'..='\u{1efff}'
    );
    visible && !separator && !leftward
}

/// The number of columns that escaped text takes.
pub(crate) fn columns(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.chars().map(|letter| letter.width().unwrap_or(0)).sum()
}

/// The length in bytes of the front of escaped `text` that fits into `max` columns.
pub(crate) fn fitting(text: &str, max: usize) -> usize {
    if text.is_ascii() {
        return text.len().min(max);
    }
    let mut taken = 0;
    let too_far = text.char_indices().find(|(_, letter)| {
        taken += letter.width().unwrap_or(0);
        taken > max
    });
    too_far.map_or(text.len(), |(at, _)| at)
}

/// Escaped `text` if it fits into `max` columns, else as much of it as does with `…` at the end.
pub(crate) fn cut(text: &str, max: usize) -> Cow<'_, str> {
    if columns(text) <= max {
        return Cow::Borrowed(text);
    }
    match max.checked_sub(1) {
        Some(room) => Cow::Owned(format!("{}…", &text[..fitting(text, room)])),
        None => Cow::Borrowed(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_move_a_terminal_is_escaped() {
        #[rustfmt::skip]
        let table = [
            ("plain text, 100 %: \\ \"'", "plain text, 100 %: \\ \"'"),
            ("\x1b[2J\x1b[31mred",        "\\u{1b}[2J\\u{1b}[31mred"),
            ("\x1b]0;title\x07",          "\\u{1b}]0;title\\u{7}"),
            ("a\r\nb\tc\0d\x7f",          "a\\r\\nb\\tc\\u{0}d\\u{7f}"),
            ("\u{9b}31m\u{85}",           "\\u{9b}31m\\u{85}"),                   // C1: CSI and next line
            ("ok\u{202e}ko\u{2066}\u{200f}", "ok\\u{202e}ko\\u{2066}\\u{200f}"), // overrides, isolates, marks
            ("1 \u{5d0}\u{5d1} 2",        "1 \\u{5d0}\\u{5d1} 2"),                // Hebrew turns 1 and 2 round
            ("e\u{301}\u{301}\u{200b}",   "e\\u{301}\\u{301}\\u{200b}"),
            ("a\u{2028}b\u{feff}\u{ad}",  "a\\u{2028}b\\u{feff}\\u{ad}"),
            ("\u{e0041}\u{fe0f}",         "\\u{e0041}\\u{fe0f}"),                 // tags, variation selectors
            ("für 漢字 … 😀",             "für 漢字 … 😀"),
        ];
        for (text, expected) in table {
            assert_eq!(escape(text), expected, "{text:?}");
            assert_eq!(escape(&escape(text)), expected, "{text:?} twice");
        }
    }

    #[test]
    fn text_of_several_lines_flows() {
        assert_eq!(
            flow("TOML parse error\r\n  |\n\n1 | a\x1b\n"),
            "TOML parse error | 1 | a\\u{1b}"
        );
        assert_eq!(flow(" as it is "), " as it is ");
    }

    #[test]
    fn text_is_cut_at_columns_not_at_letters() {
        #[rustfmt::skip]
        let table = [
            ("abc",  3, "abc"),
            ("abcd", 3, "ab…"),
            ("漢字", 4, "漢字"),
            ("漢字", 3, "漢…"),
            ("漢字", 2, "…"),
            ("a",    0, ""),
        ];
        for row @ (text, max, expected) in table {
            assert_eq!(cut(text, max), expected, "{row:?}");
        }
    }
}
