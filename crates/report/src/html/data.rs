//! The data of the front end: charts as JSON inside a page.

use crate::chart::Chart;

/// `charts` as JSON in which nothing can end the element that contains it: `<`, `>`, `&` and the two separators that
/// are line ends to a script are written as `\u…`, which means the same to a program.
pub(super) fn of(charts: &[&Chart]) -> String {
    let json = serde_json::to_string(charts).expect("all keys are texts");
    let mut safe = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            _ => safe.push(letter),
        }
    }
    safe
}
