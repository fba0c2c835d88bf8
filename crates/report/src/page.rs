//! A page of text under construction: lines of a bounded width, escaped, coloured if wanted.

use crate::escape::{columns, cut, escape, fitting};

/// How a page is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// How many columns there are. Prose is wrapped to it, within 40 and 80; the table of the ladder always takes 80.
    pub width: usize,
    /// Whether to colour. Colours repeat what the words say.
    pub color: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { width: WIDTH_MAX, color: false }
    }
}

/// Lines that were added so far. Whatever is added is escaped here, so nothing that a peer said gets past it.
pub(crate) struct Page {
    text: String,
    width: usize,
    color: bool,
}

/// What a piece of text is, for its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    /// A heading, or the answer.
    Strong,
    /// Makes numbers doubtful.
    Doubtful,
    /// Did not work.
    Failed,
}

impl Page {
    pub(crate) fn new(style: &Style) -> Self {
        let width = style.width.clamp(WIDTH_MIN, WIDTH_MAX);
        Self { text: String::new(), width, color: style.color }
    }

    /// An empty line, unless there is one already or nothing above it.
    pub(crate) fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// A line as it is, cut at 80 columns.
    pub(crate) fn line(&mut self, tone: Tone, text: &str) {
        let line = cut(&escape(text), WIDTH_MAX);
        self.toned(tone, line.trim_end());
        self.text.push('\n');
    }

    /// A paragraph.
    pub(crate) fn prose(&mut self, tone: Tone, text: &str) {
        self.put((Tone::Plain, ""), 0, 0, (tone, text));
    }

    /// A paragraph that a word of some colour begins, e.g. `warning:`.
    pub(crate) fn remark(&mut self, tone: Tone, label: &str, text: &str) {
        self.put((tone, label), 0, 2, (Tone::Plain, text));
    }

    /// A paragraph with a label before it, from this column on.
    pub(crate) fn pair_at(&mut self, column: usize, label: &str, text: &str) {
        self.put((Tone::Plain, label), column, column, (Tone::Plain, text));
    }

    /// A paragraph with a label before it, in a column of its own.
    pub(crate) fn pair(&mut self, label: &str, text: &str) {
        self.labelled(label, (Tone::Plain, text));
    }

    /// The same with a colour for the text.
    pub(crate) fn labelled(&mut self, label: &str, text: (Tone, &str)) {
        self.put((Tone::Plain, label), LABEL_COLUMNS, LABEL_COLUMNS, text);
    }

    /// A paragraph that belongs to the remark above it; nothing if it is empty.
    pub(crate) fn under(&mut self, label: &str, text: &str) {
        if !text.is_empty() {
            self.put((Tone::Plain, &format!("  {label}:")), 2, 4, (Tone::Plain, text));
        }
    }

    /// A row of cells to the right of a label, each in a column of the same width.
    pub(crate) fn row(
        &mut self,
        label: &str,
        width: usize,
        cells: impl Iterator<Item = (Tone, String)>,
    ) {
        let label = cut(&escape(label), LABEL_COLUMNS - 1);
        let mut gap = LABEL_COLUMNS - 2 - columns(&label);
        self.text.push_str(&label);
        for (tone, cell) in cells {
            let cell = cut(&escape(&cell), width);
            self.spaces(gap + width - columns(&cell));
            self.toned(tone, &cell);
            gap = 0;
        }
        self.text.push('\n');
    }

    /// The text, which ends with one newline.
    pub(crate) fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end_matches('\n').len());
        self.text.push('\n');
        self.text
    }

    /// A label, then text, wrapped: on the first line behind the label and not before column `start`, on the others
    /// from column `indent` on.
    fn put(&mut self, label: (Tone, &str), start: usize, indent: usize, text: (Tone, &str)) {
        let (label_tone, label) = (label.0, cut(&escape(label.1), self.width / 2));
        let (tone, text) = (text.0, cut(&escape(text.1), PARAGRAPH_COLUMNS_MAX));
        self.toned(label_tone, &label);
        let label_columns = columns(&label);
        let mut begins = if label.is_empty() { start } else { start.max(label_columns + 1) };
        self.spaces(begins - label_columns);
        let mut rest = text.trim_end_matches(' ');
        loop {
            let (line, after) = split(rest, self.width - begins);
            self.toned(tone, line);
            self.text.truncate(self.text.trim_end_matches(' ').len());
            self.text.push('\n');
            if after.is_empty() {
                return;
            }
            self.spaces(indent);
            begins = indent;
            rest = after;
        }
    }

    fn spaces(&mut self, count: usize) {
        self.text.extend(std::iter::repeat_n(' ', count));
    }

    fn toned(&mut self, tone: Tone, text: &str) {
        let code = match tone {
            Tone::Plain => None,
            Tone::Strong => Some("1"),
            Tone::Doubtful => Some("33"),
            Tone::Failed => Some("31"),
        };
        match code.filter(|_| self.color && !text.is_empty()) {
            Some(code) => self.text.extend(["\u{1b}[", code, "m", text, "\u{1b}[0m"]),
            None => self.text.push_str(text),
        }
    }
}

/// What of `text` goes on a line of `width` columns, and what is left: broken at a space, or within a word that is
/// longer than a line.
fn split(text: &str, width: usize) -> (&str, &str) {
    let fits = fitting(text, width);
    if fits == text.len() {
        return (text, "");
    }
    let break_at = match text[..fits].rfind(' ') {
        _ if text[fits..].starts_with(' ') => fits,
        Some(space) if space > 0 => space,
        Some(_) | None => fits,
    };
    (text[..break_at].trim_end_matches(' '), text[break_at..].trim_start_matches(' '))
}

/// No line is wider.
pub(crate) const WIDTH_MAX: usize = 80;
/// In less, prose could not be read.
const WIDTH_MIN: usize = 40;
/// How wide labels of pairs are, space behind included.
pub(crate) const LABEL_COLUMNS: usize = 15;
/// What is longer was not written to be read.
const PARAGRAPH_COLUMNS_MAX: usize = 800;

#[cfg(test)]
mod tests {
    use super::*;

    fn page(add: impl FnOnce(&mut Page)) -> String {
        let mut page = Page::new(&Style { width: 40, color: false });
        add(&mut page);
        page.finish()
    }

    #[test]
    fn paragraphs_are_wrapped_at_spaces_and_indented_behind_their_label() {
        let text = "one two three four five six seven eight nine ten eleven";
        assert_eq!(
            page(|page| page.pair("label", text)),
            "label          one two three four five\n               six seven eight nine ten\n               eleven\n"
        );
        assert_eq!(
            page(|page| page.remark(Tone::Doubtful, "warning:", text)),
            "warning: one two three four five six\n  seven eight nine ten eleven\n"
        );
    }

    #[test]
    fn a_word_longer_than_a_line_is_broken() {
        let lines = page(|page| page.prose(Tone::Plain, &"漢".repeat(45)));
        assert_eq!(lines.lines().map(columns).collect::<Vec<_>>(), [40, 40, 10]);
    }

    #[test]
    fn colours_are_ours_alone() {
        let mut page = Page::new(&Style { width: 80, color: true });
        page.remark(Tone::Doubtful, "warning:", "\x1b[31mred");
        assert_eq!(page.finish(), "\x1b[33mwarning:\x1b[0m \\u{1b}[31mred\n");
    }
}
