//! The summary of a step: Markdown for the page that a service for continuous integration shows for a run.

use super::{Case, cases, headline};
use crate::document::Document;
use crate::markdown::{self, plain};
use crate::{number, page, requirements};
use record::RunRecord;

/// The checks of `record` as a table, each with a bar for its number divided by its limit, and then its page; at most
/// 60 000 bytes, cut at the end of a line. Text from a peer stays plain text.
pub fn step_summary(record: &RunRecord) -> String {
    let cases = cases(record);
    let mark = if cases.iter().all(|case| case.outcome.passes()) { "✓" } else { "✗" };
    let mut text = format!("## {mark} wirebench: {}\n\n", headline(&cases));
    text.push_str("| | row | check | found | by limit |\n| --- | --- | --- | --- | --- |\n");
    // Failures first, so that they are not cut off.
    let (passed, failed): (Vec<&Case>, Vec<&Case>) =
        cases.iter().partition(|case| case.outcome.passes());
    failed.into_iter().chain(passed).for_each(|case| text.push_str(&line(case)));
    let document =
        Document { requirements: requirements::baseline(record), ..page::document(record) };
    text.push('\n');
    text.push_str(&markdown::print(&document));
    cut(text)
}

/// The same for a run that has no record, because of `problem`.
pub fn step_summary_of_failure(problem: &str) -> String {
    cut(format!("## ✗ wirebench: nothing was measured\n\n{}\n", plain(problem)))
}

fn line(case: &Case) -> String {
    let Case { row, name, text, outcome, share } = case;
    let bar = share.map_or_else(String::new, |share| number::bar(share).trim_end().to_owned());
    let cells = [row, name, text].map(|text| plain(text));
    format!("| {} | {} | {bar} |\n", outcome.mark(), cells.join(" | "))
}

/// `text`, or as many of its lines as leave room for the sentence that says how many are missing.
fn cut(text: String) -> String {
    if text.len() <= BYTES_MAX {
        return text;
    }
    let mut end = BYTES_MAX - SENTENCE_MAX;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let end = text[..end].rfind('\n').map_or(0, |at| at + 1);
    let left = text[end..].lines().count();
    let more = match left {
        1 => "1 more line is".to_owned(),
        left => format!("{left} more lines are"),
    };
    format!("{}\n{more} in the record.\n", &text[..end])
}

/// The most bytes that are written. GitHub takes 1 MiB for each step; a longer page would not be read.
const BYTES_MAX: usize = 60_000;
/// Room for the sentence on what was cut.
const SENTENCE_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_at_the_end_of_a_line() {
        let short = "é\n".repeat(20_000);
        assert_eq!(cut(short.clone()), short);
        let long = cut("é\n".repeat(20_001));
        assert!(long.len() <= BYTES_MAX, "{}", long.len());
        assert!(long.ends_with("é\n\n23 more lines are in the record.\n"), "{:?}", &long[59_900..]);
        // A single line that has no end.
        assert_eq!(cut("é".repeat(30_001)), "\n1 more line is in the record.\n");
    }
}
