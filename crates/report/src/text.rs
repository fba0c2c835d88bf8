//! A document for a terminal: lines of at most 80 columns, coloured on request.
//!
//! Everything is escaped where it is added, so text from a peer never reaches a terminal unescaped. Figures are left
//! out, and so is everything deeper than the requested page. A first page that is longer than its terminal leaves rows
//! out, and says so.
//!
//! Start reading at [`print`]; tables are laid out by `Grid`.

use crate::document::{
    Answer, Depth, Document, Fact, Head, Judgement, Part, Printed, Remark, Table, Tone,
};
use crate::escape::{columns, cut, fitting, flow};
use crate::verdict;

/// The look of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// The number of columns. Prose is wrapped to it, within 40 and 80; tables take up to 80.
    pub width: usize,
    /// The number of lines that a first page should fit into; `None`: no limit.
    pub lines: Option<usize>,
    /// True for colours, which repeat what the words say.
    pub color: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { width: WIDTH_MAX, lines: None, color: false }
    }
}

/// A heading, then a paragraph for each line of each row, with the row's label before the first of them.
pub fn sheet(heading: &str, rows: &[(&str, Vec<String>)], style: &Style) -> String {
    let mut page = Page::new(Depth::Details, ALL, style);
    page.prose(Tone::Strong, heading);
    page.blank();
    let fact = |(label, lines): &(&str, Vec<String>)| Fact {
        label: (*label).to_owned(),
        lines: lines.clone(),
        ..Fact::default()
    };
    page.facts(&rows.iter().map(fact).collect::<Vec<Fact>>());
    page.finish()
}

/// A label, then text, in lines that are broken at spaces.
pub fn paragraph(label: &str, text: &str, style: &Style) -> String {
    let mut page = Page::new(Depth::Details, ALL, style);
    page.remark(&Remark::new(Tone::Strong, label, text));
    page.finish()
}

/// The page of `document` down to `depth`: what it is about, the answer, the results, doubts, and last the verdict. A
/// first page that does not fit leaves out rows first, at most down to [`ROWS_MIN`] of each table, then tables, then
/// blank lines and notes below tables.
pub(crate) fn print(document: &Document, depth: Depth, style: &Style) -> String {
    let tables: Vec<&Table> = document.tables(depth).collect();
    let rows_max = tables.iter().map(|table| table.rows.len()).max().unwrap_or(0);
    let whole = printed(document, depth, Room { rows: rows_max, ..ALL }, style);
    let Some(lines) = style.lines.filter(|_| depth == Depth::First) else { return whole };
    let fewer_rows = (ROWS_MIN..rows_max).rev().map(|rows| Room { rows, ..ALL });
    let least = Room { rows: ROWS_MIN, ..ALL };
    let fewer_tables = (1..tables.len()).rev().map(|tables| Room { tables, ..least });
    let tight = Room { tables: 1, is_tight: true, ..least };
    let mut page = whole;
    for room in fewer_rows.chain(fewer_tables).chain([tight]) {
        if page.lines().count() <= lines {
            break;
        }
        page = printed(document, depth, room, style);
    }
    page
}

/// The number of tables that a page has room for, and of rows in each; a tight page has neither blank lines nor notes
/// below tables.
#[derive(Clone, Copy)]
struct Room {
    rows: usize,
    tables: usize,
    is_tight: bool,
}

fn printed(document: &Document, depth: Depth, room: Room, style: &Style) -> String {
    let mut page = Page::new(depth, room, style);
    document.requirements.iter().for_each(|it| page.remark(it));
    page.blank();
    if let Some(reason) = &document.partial {
        page.remark(&Remark::new(Tone::Failed, "partial:", reason.clone()));
        page.blank();
    }
    if document.title_depth <= depth && !document.title.is_empty() {
        page.prose(Tone::Strong, &document.title);
        page.blank();
    }
    if let Some(conclusion) = document.sentence() {
        page.prose(Tone::Strong, conclusion);
        page.blank();
    }
    page.answers(&document.answers);
    for section in document.sections.iter().filter(|section| section.depth <= depth) {
        page.blank();
        if !section.heading.is_empty() {
            page.prose(Tone::Strong, &section.heading);
        }
        section.parts.iter().for_each(|part| page.part(part));
    }
    page.left_out();
    page.blank();
    if depth > Depth::First {
        document.notes.iter().for_each(|part| page.part(part));
        page.blank();
    }
    if let Some(judgement) = &document.verdict {
        page.judgement(judgement);
    }
    page.finish()
}

/// The rows, out of `count`, that are kept if there is room for `limit`: the `last` one, and those around `focus`.
fn kept(count: usize, focus: usize, last: usize, limit: usize) -> Vec<usize> {
    // A line that says how many are left out would take the place of the only row left out.
    if count <= limit.saturating_add(1) {
        return (0..count).collect();
    }
    let others = limit.saturating_sub(1).min(last);
    let around = focus.saturating_sub(others / 2).min(last - others);
    let first = if focus < others { 0 } else { around };
    (first..first + others).chain([last]).collect()
}

/// Lines that were added so far.
struct Page {
    text: String,
    width: usize,
    color: bool,
    depth: Depth,
    room: Room,
    /// The tables for which there was no room.
    tables_left_out: usize,
}

impl Page {
    fn new(depth: Depth, room: Room, style: &Style) -> Self {
        let width = style.width.clamp(WIDTH_MIN, WIDTH_MAX);
        let color = style.color;
        Self { text: String::new(), width, color, depth, room, tables_left_out: 0 }
    }

    /// Writes the number of tables that were just left out.
    fn left_out(&mut self) {
        let text = match std::mem::take(&mut self.tables_left_out) {
            0 => return,
            1 => "1 more table".to_owned(),
            count => format!("{count} more tables"),
        };
        self.text.truncate(self.text.trim_end_matches('\n').len());
        self.text.push('\n');
        self.prose(Tone::Plain, &format!("{text}: {MORE}"));
    }

    fn part(&mut self, part: &Part) {
        if !matches!(part, Part::Table(_)) {
            self.left_out();
        }
        match part {
            Part::Facts(facts) => self.facts(facts),
            Part::Folded(remark) | Part::Remark(remark) => self.remark(remark),
            Part::Table(table) => self.table(table),
            Part::Text(tone, text) => self.prose(*tone, text),
        }
    }

    /// An empty line, unless there is one already or nothing above it.
    fn blank(&mut self) {
        if !self.room.is_tight && !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// A paragraph.
    fn prose(&mut self, tone: Tone, text: &str) {
        self.put((Tone::Plain, ""), 0, 0, (tone, text));
    }

    fn facts(&mut self, facts: &[Fact]) {
        let longest = facts.iter().map(|fact| columns(&flow(&fact.label)) + 1).max();
        let column = longest.unwrap_or(0).clamp(LABEL_COLUMNS, LABEL_COLUMNS_MAX);
        for fact in facts {
            let mut lines = fact.lines.clone();
            if let (Depth::First, Some(last)) = (self.depth, lines.last_mut()) {
                last.push_str(&pointer(&fact.left_out));
            }
            let mut label = &fact.label[..];
            for line in &lines {
                self.put((Tone::Plain, label), column, column, (Tone::Plain, line));
                label = "";
            }
        }
    }

    fn answers(&mut self, answers: &[Answer]) {
        let shown = || answers.iter().filter(|it| it.depth <= self.depth);
        let longest = shown().map(|it| columns(&flow(&it.label)) + 1).max();
        let column = longest.unwrap_or(0).clamp(LABEL_COLUMNS, LABEL_COLUMNS_MAX);
        let depth = self.depth;
        for Answer { label, value, notes, .. } in answers.iter().filter(|it| it.depth <= depth) {
            self.put((Tone::Plain, label), column, column, (Tone::Strong, value));
            for (_, note) in notes.iter().filter(|(from, _)| *from <= depth) {
                self.put((Tone::Plain, ""), column, column, (Tone::Plain, note));
            }
        }
    }

    fn remark(&mut self, remark: &Remark) {
        let Remark { tone, label, text, shown_by, next } = remark;
        self.put((*tone, label), 0, 2, (Tone::Plain, text));
        for (label, text) in [("  shown by:", shown_by), ("  next:", next)] {
            if !text.is_empty() {
                self.put((Tone::Plain, label), 2, 4, (Tone::Plain, text));
            }
        }
    }

    /// Writes the judgement: one line on a first page, all reasons on others.
    fn judgement(&mut self, judgement: &Judgement) {
        if self.depth == Depth::First {
            let words = judgement.brief.clone() + &pointer(&judgement.left_out());
            self.put((Tone::Plain, ""), 0, 2, (verdict::tone(judgement.level), &words));
            return;
        }
        if let Some(words) = &judgement.self_test {
            self.facts(&[Fact::new("self-test", words.clone())]);
        }
        let (tone, words) = (verdict::tone(judgement.level), judgement.sentence());
        let tone = if tone == Tone::Plain { Tone::Strong } else { tone };
        self.put((Tone::Plain, "verdict"), LABEL_COLUMNS, LABEL_COLUMNS, (tone, &words));
        judgement.reasons.iter().for_each(|reason| self.remark(reason));
    }

    /// A table under its heading; nothing if it has no rows.
    fn table(&mut self, table: &Table) {
        if table.rows.is_empty() {
            return;
        }
        if self.room.tables == 0 {
            self.tables_left_out += 1;
            return;
        }
        self.room.tables -= 1;
        self.blank();
        if !table.heading.is_empty() {
            self.prose(Tone::Strong, &table.heading);
        }
        let printed = table.printed(self.depth);
        let count = printed.rows.len();
        let measured = printed.rows.iter().rposition(|(tone, _)| *tone != Tone::Failed);
        let last = match table.focus {
            Some(_) => count - 1,
            None => measured.unwrap_or(count - 1), // Failed rows are reported below.
        };
        let kept = kept(count, table.focus.unwrap_or(0), last, self.room.rows);
        for grid in Grid::all(&printed) {
            grid.head().iter().for_each(|line| self.line(Tone::Strong, line));
            let mut next = 0;
            for index in &kept {
                self.gap(index - next);
                let (tone, row) = &printed.rows[*index];
                grid.row(row).iter().for_each(|line| self.line(*tone, line));
                next = index + 1;
            }
            self.gap((last + 1).saturating_sub(next));
        }
        if !self.room.is_tight {
            table.notes_at(self.depth).for_each(|note| self.prose(Tone::Plain, note));
        }
        self.blank();
    }

    /// Writes a line instead of `rows` rows.
    fn gap(&mut self, rows: usize) {
        let text = match rows {
            0 => return,
            1 => "1 more row".to_owned(),
            count => format!("{count} more rows"),
        };
        self.line(Tone::Plain, &format!("  … {text}: {MORE}"));
    }

    /// An escaped line, cut at 80 columns.
    fn line(&mut self, tone: Tone, text: &str) {
        let line = cut(text, WIDTH_MAX);
        self.toned(tone, line.trim_end());
        self.text.push('\n');
    }

    /// The text, which ends with one newline.
    fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end_matches('\n').len());
        self.text.push('\n');
        self.text
    }

    /// A label, then text, wrapped: on the first line after the label, from column `start` at the earliest; on the
    /// others from column `indent` on.
    fn put(&mut self, label: (Tone, &str), start: usize, indent: usize, text: (Tone, &str)) {
        let ((label_tone, label), (tone, text)) = (label, text);
        let (label, text) = (flow(label), flow(text));
        let (label, text) = (cut(&label, self.width / 2), cut(&text, PARAGRAPH_COLUMNS_MAX));
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

/// The front of `text` that fits on a line of `width` columns, and the rest: broken at a space, or within a word that
/// is longer than a line.
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

/// Columns of a table that fit side by side, always with the first one.
struct Grid<'a> {
    /// Columns of the table, each with its width; without the first.
    columns: Vec<(usize, usize)>,
    heads: &'a [Head],
    /// The width of the first column.
    name: usize,
}

impl<'a> Grid<'a> {
    /// One grid, or several below each other for a table that is wider than a page.
    fn all(table: &'a Printed) -> Vec<Self> {
        let widest = |column: usize| {
            let cells = table.rows.iter().filter_map(|(_, row)| row.get(column));
            cells.map(|cell| columns(cell)).max().unwrap_or(0)
        };
        let widest: Vec<usize> = (0..table.heads.len()).map(widest).collect();
        let name = table.heads.first().map_or(0, |head| columns(&head.text()).max(widest[0]));
        let least = |(column, head): (usize, &Head)| {
            widest[column].max(longest_word(&head.name)).max(columns(head.unit)).min(CELL_MAX)
        };
        let others = || table.heads.iter().enumerate().skip(1);
        let taken = |widths: &[usize]| widths.iter().map(|width| width + 1).sum::<usize>();
        let in_lines = |lines: usize| -> Vec<usize> {
            let width = |(column, head): (usize, &Head)| {
                let fits = |width: &usize| broken(&head.name, *width).len() <= lines;
                (least((column, head))..CELL_MAX).find(fits).unwrap_or(CELL_MAX)
            };
            others().map(width).collect()
        };
        let roomy = [1, 2].map(in_lines).into_iter().find(|it| name + taken(it) <= WIDTH_MAX);
        let widths = roomy.unwrap_or_else(|| others().map(least).collect());
        let name = match WIDTH_MAX.checked_sub(taken(&widths)) {
            Some(room) if room >= NAME_MIN => name.min(room),
            Some(_) | None => name.min(NAME_MAX),
        };
        let mut grids = vec![Self { columns: Vec::new(), heads: &table.heads, name }];
        let mut used = name;
        for (column, width) in (1..).zip(widths) {
            if used + 1 + width > WIDTH_MAX {
                grids.push(Self { columns: Vec::new(), heads: &table.heads, name });
                used = name;
            }
            used += 1 + width;
            if let Some(grid) = grids.last_mut() {
                grid.columns.push((column, width));
            }
        }
        grids
    }

    /// The names of columns, broken at blanks, and below them their units.
    fn head(&self) -> Vec<String> {
        let lines = |(column, width): &(usize, usize)| {
            let head = &self.heads[*column];
            let mut lines = broken(&head.name, *width);
            lines.extend((!head.unit.is_empty()).then(|| head.unit.to_owned()));
            lines
        };
        let first = self.heads.first().map(Head::text).into_iter().collect();
        let mut heads: Vec<Vec<String>> = vec![first];
        heads.extend(self.columns.iter().map(lines));
        let height = heads.iter().map(Vec::len).max().unwrap_or(0);
        let line = |at: usize| {
            let cells = heads.iter().map(|lines| {
                let above = height - lines.len();
                at.checked_sub(above).and_then(|at| lines.get(at)).map_or("", String::as_str)
            });
            self.line(&cells.collect::<Vec<&str>>())
        };
        (0..height).map(line).collect()
    }

    /// A row; a name that leaves no room for the others has a line of its own.
    fn row(&self, row: &[String]) -> Vec<String> {
        let cell = |column: usize| row.get(column).map_or("", String::as_str);
        let mut cells = vec![cell(0)];
        cells.extend(self.columns.iter().map(|(column, _)| cell(*column)));
        if columns(cells[0]) <= self.name {
            return vec![self.line(&cells)];
        }
        let name = std::mem::take(&mut cells[0]);
        vec![name.to_owned(), self.line(&cells)]
    }

    fn line(&self, cells: &[&str]) -> String {
        let widths = std::iter::once((0, self.name)).chain(self.columns.iter().copied());
        let mut line = String::new();
        for (cell, (column, width)) in cells.iter().zip(widths) {
            let cell = cut(cell, width);
            let gap = width - columns(&cell);
            let (before, after) = if self.heads[column].is_left { (0, gap) } else { (gap, 0) };
            let between = usize::from(column > 0);
            line.extend(std::iter::repeat_n(' ', between + before));
            line += &cell;
            line.extend(std::iter::repeat_n(' ', after));
        }
        line
    }
}

fn longest_word(head: &str) -> usize {
    head.split(' ').map(columns).max().unwrap_or(0)
}

/// `head` in lines of at most `width` columns, broken at blanks.
fn broken(head: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in head.split(' ') {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `; 2 more reasons: --details`: the end of a line of a first page, by what the line leaves out; empty for nothing.
fn pointer(left_out: &str) -> String {
    if left_out.is_empty() { String::new() } else { format!("; {left_out}: {MORE}") }
}

/// Room for everything.
const ALL: Room = Room { rows: usize::MAX, tables: usize::MAX, is_tight: false };
/// The rows that a table keeps even if it has no room.
const ROWS_MIN: usize = 3;
/// The option that shows what a first page leaves out.
const MORE: &str = "--details";
/// No line is wider.
const WIDTH_MAX: usize = 80;
/// The width below which prose would be unreadable.
const WIDTH_MIN: usize = 40;
/// The least and the largest width of a column of labels, the space after it included.
const LABEL_COLUMNS: usize = 15;
const LABEL_COLUMNS_MAX: usize = 32;
/// The longest paragraph that is shown; a longer one was not written to be read.
const PARAGRAPH_COLUMNS_MAX: usize = 1200;
/// The least width of the first column, and the largest in a table that is wider than a page.
const NAME_MIN: usize = 8;
const NAME_MAX: usize = 24;
/// No cell but a name is wider.
const CELL_MAX: usize = 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Cell, Column};
    use crate::number::Unit;

    fn page(add: impl FnOnce(&mut Page)) -> String {
        let style = Style { width: 40, ..Style::default() };
        let mut page = Page::new(Depth::Details, ALL, &style);
        add(&mut page);
        page.finish()
    }

    #[test]
    fn paragraphs_are_wrapped_at_spaces_and_indented_behind_their_label() {
        let text = "one two three four five six seven eight nine ten eleven";
        assert_eq!(
            page(|page| page.facts(&[Fact::new("label", text)])),
            "label          one two three four five\n               six seven eight nine ten\n               eleven\n"
        );
        assert_eq!(
            page(|page| page.remark(&Remark::new(Tone::Doubtful, "warning:", text))),
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
        let style = Style { color: true, ..Style::default() };
        let mut page = Page::new(Depth::Details, ALL, &style);
        page.remark(&Remark::new(Tone::Doubtful, "warning:", "\x1b[31mred"));
        assert_eq!(page.finish(), "\x1b[33mwarning:\x1b[0m \\u{1b}[31mred\n");
    }

    #[test]
    fn a_table_wider_than_a_page_goes_on_below() {
        let columns = (0..12).map(|at| Column::new(format!("column {at:02}"), Unit::Count));
        let mut table =
            Table::new("", [Column::new("row", Unit::Words)].into_iter().chain(columns).collect());
        let numbers = (0..12).map(|at| Cell::Number(f64::from(at) + 1e9, None));
        table.row([Cell::words("a")].into_iter().chain(numbers).collect());
        let text = page(|page| page.table(&table));
        assert_eq!(text.lines().filter(|line| line.starts_with("a ")).count(), 2, "{text}");
        assert!(text.contains("1000000000") && text.contains("1000000011"), "{text}");
    }

    #[test]
    fn the_last_row_stays_and_those_around_the_focus() {
        #[rustfmt::skip]
        let table: [(usize, usize, usize, usize, &[usize]); 9] = [
            // rows, focus, last, limit
            (4, 0, 3, 4, &[0, 1, 2, 3]),
            (9, 0, 8, 4, &[0, 1, 2, 8]),
            (9, 2, 8, 4, &[0, 1, 2, 8]),
            (9, 5, 8, 4, &[4, 5, 6, 8]),
            (9, 8, 8, 4, &[5, 6, 7, 8]),
            (5, 0, 4, 4, &[0, 1, 2, 3, 4]),
            (9, 7, 8, 3, &[6, 7, 8]),
            (9, 0, 6, 4, &[0, 1, 2, 6]),
            (9, 0, 0, 4, &[0]),
        ];
        for row @ (count, focus, last, limit, expected) in table {
            assert_eq!(kept(count, focus, last, limit), expected, "{row:?}");
        }
    }

    #[test]
    fn rows_that_failed_stay_around_the_focus_and_are_left_out_without_one() {
        let mut table = Table::new("", vec![Column::new("row", Unit::Words)]);
        for row in 1..=9 {
            let tone = if row > 5 { Tone::Failed } else { Tone::Plain };
            table.rows.push((tone, vec![Cell::words(format!("step {row}"))]));
        }
        let room = Room { rows: 4, ..ALL };
        let shown = |table: &Table| {
            let mut page = Page::new(Depth::Details, room, &Style::default());
            page.table(table);
            page.finish()
        };
        let expected =
            "row\nstep 1\nstep 2\nstep 3\n  … 1 more row: --details\nstep 5\n".to_owned();
        assert_eq!(shown(&table), expected);
        table.focus = Some(6);
        let expected = "row\n  … 5 more rows: --details\nstep 6\nstep 7\nstep 8\nstep 9\n";
        assert_eq!(shown(&table), expected);
    }

    #[test]
    fn a_long_label_moves_the_column_for_all() {
        let rows =
            [("a label of thirty columns here", vec!["a".to_owned()]), ("b", vec!["b".to_owned()])];
        let text = sheet("It", &rows, &Style::default());
        assert_eq!(text, format!("It\n\na label of thirty columns here a\nb{}b\n", " ".repeat(30)));
    }

    #[test]
    fn rows_have_their_label_once_and_lines_fit() {
        let rows = [
            ("open files", vec!["binds at 19968 connections".to_owned(), "word ".repeat(10)]),
            ("ports", vec!["fine\u{1b}[2J".to_owned()]),
        ];
        let text = sheet("What binds first", &rows, &Style { width: 50, ..Style::default() });
        let expected = "What binds first\n\n\
            open files     binds at 19968 connections\n\
            \u{20}              word word word word word word word\n\
            \u{20}              word word word\n\
            ports          fine\\u{1b}[2J\n";
        assert_eq!(text, expected);
    }
}
