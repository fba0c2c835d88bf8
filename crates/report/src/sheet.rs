//! What `doctor` and `selftest` say: a heading, then paragraphs with a label each.

use crate::Style;
use crate::escape::columns;
use crate::page::{LABEL_COLUMNS, Page, Tone};

/// A heading, then a paragraph for each line that `rows` has, the label of the row before the first of them.
pub fn sheet(heading: &str, rows: &[(&str, Vec<String>)], style: &Style) -> String {
    let mut page = Page::new(style);
    page.prose(Tone::Strong, heading);
    page.blank();
    let longest = rows.iter().map(|(label, _)| columns(label) + 1).max();
    let column = longest.map_or(LABEL_COLUMNS, |longest| longest.max(LABEL_COLUMNS));
    for (label, lines) in rows {
        let mut label = *label;
        for line in lines {
            page.pair_at(column, label, line);
            label = "";
        }
    }
    page.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_label_moves_the_column_for_all() {
        let rows =
            [("a label of thirty columns here", vec!["a".to_owned()]), ("b", vec!["b".to_owned()])];
        let text = sheet("It", &rows, &Style { width: 80, color: false });
        assert_eq!(text, format!("It\n\na label of thirty columns here a\nb{}b\n", " ".repeat(30)));
    }

    #[test]
    fn rows_have_their_label_once_and_lines_fit() {
        let rows = [
            ("open files", vec!["binds at 19968 connections".to_owned(), "word ".repeat(10)]),
            ("ports", vec!["fine\u{1b}[2J".to_owned()]),
        ];
        let text = sheet("What binds first", &rows, &Style { width: 50, color: false });
        let expected = "What binds first\n\n\
            open files     binds at 19968 connections\n\
            \u{20}              word word word word word word word\n\
            \u{20}              word word word\n\
            ports          fine\\u{1b}[2J\n";
        assert_eq!(text, expected);
    }
}
