//! The English of doc comments: a comment opens with a noun phrase or a sentence, never with an indirect question, nor
//! in the middle of a sentence that a field or a caller would have to begin.

use super::File;
use super::ratchet::Slip;

/// The words that open an indirect question, or continue a sentence.
const OPENERS: &[&str] = &[
    "Because",
    "By which",
    "How",
    "Of",
    "Since when",
    "So many",
    "That",
    "Those",
    "Until when",
    "What",
    "When",
    "Where",
    "Whether",
    "Which",
    "Who",
];

/// The doc comments of a file that open with one of [`OPENERS`].
pub(super) fn check(file: &File) -> Vec<Slip> {
    if !file.is_rust() {
        return Vec::new();
    }
    let mut slips = Vec::new();
    let mut before = "";
    for (line, text) in file.lines() {
        let text = text.trim_start();
        let opens = ["///", "//!"].iter().find_map(|mark| {
            let words = text.strip_prefix(mark)?.trim_start();
            (!before.starts_with(mark)).then_some(words)
        });
        if let Some(opener) = opens.and_then(question) {
            slips.push(Slip::new(
                file,
                line,
                format!("a doc comment opens with `{opener}`: name the thing first"),
            ));
        }
        before = text;
    }
    slips
}

/// The opener of a comment, if it has one.
fn question(words: &str) -> Option<&'static str> {
    let opens = |opener: &&&str| {
        let rest = words.strip_prefix(**opener);
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
    };
    OPENERS.iter().find(opens).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    fn slips(text: &str) -> Vec<usize> {
        check(&file("crates/x/src/lib.rs", text)).iter().map(Slip::line).collect()
    }

    #[test]
    fn an_opener_is_found_where_a_comment_begins() {
        for opener in OPENERS {
            assert_eq!(slips(&format!("//! {opener} it is.")), [1], "{opener}");
            assert_eq!(slips(&format!("fn f() {{\n    /// {opener}, it is.")), [2], "{opener}");
        }
        assert_eq!(slips("//! Whose\nfn f() {}\n/// How it ends.\n/// What it is."), [3]);
    }

    #[test]
    fn other_openings_and_other_lines_are_none() {
        for text in [
            "/// The way it ends.",
            "/// Whatever comes.",
            "/// Whoever asks.",
            "/// Ends.\n/// How, is another matter.",
            "// How it is done.",
            "//// What",
        ] {
            assert_eq!(slips(text), [0; 0], "{text}");
        }
        assert_eq!(check(&file("README.md", "/// What")).len(), 0);
    }
}
