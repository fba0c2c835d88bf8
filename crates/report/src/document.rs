//! A document: the content of a report, before it is printed.
//!
//! It is built once from a record ([`crate::page`]) and printed by [`crate::text`], [`crate::markdown`] and
//! [`crate::html`]. Its texts are as in the record: printers escape them. Numbers of a table are values with a
//! [`Unit`], and become text only in [`Table::printed`].

use crate::chart::Figure;
use crate::escape::flow;
use crate::number::{self, MISSING, Scale, Unit};
use record::Level;

/// The first page that shows something; deeper pages show it too.
///
/// This is decided once, where a document is built. A terminal shows the first page or all details, Markdown the
/// details, HTML everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// The page that a run ends with: the answer, one table, one line of verdict.
    #[default]
    First,
    /// All results, with their notes and every reason of the verdict.
    Details,
    /// Everything that the record has: every percentile, the machine, the plan, what is missing.
    Full,
}

/// The content of a report.
#[derive(Default)]
pub(crate) struct Document {
    /// Required limits and their results, before everything else.
    pub(crate) requirements: Vec<Remark>,
    /// The heading, which names what was measured.
    pub(crate) title: String,
    /// `First` for a heading that the answer does not make superfluous.
    pub(crate) title_depth: Depth,
    /// The time and length of the run, and the machine.
    pub(crate) subtitle: String,
    /// The reason why the run did not end as planned.
    pub(crate) partial: Option<String>,
    /// The answer in one sentence.
    pub(crate) conclusion: Option<String>,
    /// The answers in numbers.
    pub(crate) answers: Vec<Answer>,
    /// Drawings, which text leaves out.
    pub(crate) figures: Vec<Figure>,
    /// Sections by their depth: those of the first page come first.
    pub(crate) sections: Vec<Section>,
    /// Explanations needed to read the details, and doubts about them.
    pub(crate) notes: Vec<Part>,
    pub(crate) verdict: Option<Judgement>,
    /// The command that repeats the measurement.
    pub(crate) command: String,
    /// The program that measured.
    pub(crate) tool: String,
}

/// A number that a report begins with.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) label: String,
    pub(crate) value: String,
    pub(crate) notes: Vec<(Depth, String)>,
    pub(crate) depth: Depth,
}

/// Parts under one heading.
#[derive(Default)]
pub(crate) struct Section {
    /// Empty for parts that need none.
    pub(crate) heading: String,
    pub(crate) depth: Depth,
    pub(crate) parts: Vec<Part>,
}

pub(crate) enum Part {
    Facts(Vec<Fact>),
    /// A remark whose evidence is folded away, on a page that can.
    Folded(Remark),
    Remark(Remark),
    Table(Table),
    Text(Tone, String),
}

/// Lines with a label.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fact {
    pub(crate) label: String,
    pub(crate) lines: Vec<String>,
    /// The words for what these lines leave out and every page but a first one has; empty if there is nothing.
    pub(crate) left_out: String,
}

/// Something to heed: a failure, a warning, a reason of the verdict.
pub(crate) struct Remark {
    pub(crate) tone: Tone,
    pub(crate) label: String,
    pub(crate) text: String,
    /// The evidence for it.
    pub(crate) shown_by: String,
    /// The next step to take.
    pub(crate) next: String,
}

/// The verdict on how far the numbers can be trusted.
pub(crate) struct Judgement {
    pub(crate) level: Level,
    /// The rows that are not trusted, with their marks.
    pub(crate) marked: Vec<String>,
    /// The level in one line; if there is a doubt, with the row and the reason that say most about it.
    pub(crate) brief: String,
    /// The number of reasons that this line leaves out.
    pub(crate) more: usize,
    pub(crate) self_test: Option<String>,
    pub(crate) reasons: Vec<Remark>,
}

/// The meaning of a piece of text, for its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    /// A heading, or the answer.
    Strong,
    /// It makes numbers doubtful.
    Doubtful,
    /// It did not work.
    Failed,
}

impl Tone {
    /// The HTML class that has its colour.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain-text",
            Self::Strong => "strong",
            Self::Doubtful => "doubtful",
            Self::Failed => "failed",
        }
    }
}

/// The mark of a row or number; empty for one that is trusted.
pub(crate) fn mark(level: Level) -> &'static str {
    match level {
        Level::Trusted => "",
        Level::Degraded => "?",
        Level::Invalid => "x",
    }
}

/// `? http-new`: words with the mark of their verdict before them.
pub(crate) fn marked(level: Level, words: &str) -> String {
    match mark(level) {
        "" => words.to_owned(),
        mark => format!("{mark} {words}"),
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) heading: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<(Tone, Vec<Cell>)>,
    /// The row whose neighbours are kept on a page that has no room for all rows. The last row is kept too: without a
    /// focus the last one that did not fail, because failed rows are reported elsewhere.
    pub(crate) focus: Option<usize>,
    pub(crate) notes: Vec<(Depth, String)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) head: String,
    pub(crate) unit: Unit,
    pub(crate) depth: Depth,
    /// True for ratios that are drawn as a bar too.
    pub(crate) has_bar: bool,
    /// True for the ratio that the table is about: a narrow page shows it beside the names.
    pub(crate) is_answer: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    /// Nothing, and nothing is missing.
    Blank,
    Missing,
    Words(String),
    /// A value with its 95 % interval, if it has one.
    Number(f64, Option<(f64, f64)>),
    /// The same, with its sign.
    Difference(f64, Option<(f64, f64)>),
    /// A cell with the mark of its verdict.
    Judged(Level, Box<Self>),
}

/// A table as text, escaped.
pub(crate) struct Printed {
    pub(crate) heads: Vec<Head>,
    pub(crate) rows: Vec<(Tone, Vec<String>)>,
}

pub(crate) struct Head {
    pub(crate) name: String,
    /// The unit of all numbers in the column; empty if they have none.
    pub(crate) unit: &'static str,
    /// True for words, and for numbers with an interval.
    pub(crate) is_left: bool,
    /// True for numbers after a bar, whose spaces are kept.
    pub(crate) has_bar: bool,
    /// True for the ratio that the table is about.
    pub(crate) is_answer: bool,
}

impl Head {
    /// `p50, us`.
    pub(crate) fn text(&self) -> String {
        if self.unit.is_empty() {
            self.name.clone()
        } else {
            format!("{}, {}", self.name, self.unit)
        }
    }

    /// The HTML classes of its cells.
    pub(crate) fn classes(&self) -> String {
        let all = [(self.is_left, "words"), (self.has_bar, "bar"), (self.is_answer, "answer")];
        let own = all.iter().filter(|(has, _)| *has).map(|(_, class)| *class);
        own.collect::<Vec<&str>>().join(" ")
    }
}

impl Document {
    /// The answer in one sentence, unless the answers of the first page say the same.
    pub(crate) fn sentence(&self) -> Option<&str> {
        let is_said = self.answers.iter().any(|answer| answer.depth == Depth::First);
        self.conclusion.as_deref().filter(|_| !is_said)
    }

    /// The tables of a page of this depth that have rows.
    pub(crate) fn tables(&self, depth: Depth) -> impl Iterator<Item = &Table> {
        let sections = self.sections.iter().filter(move |section| section.depth <= depth);
        sections.flat_map(|section| &section.parts).filter_map(|part| match part {
            Part::Table(table) if !table.rows.is_empty() => Some(table),
            Part::Facts(_)
            | Part::Folded(_)
            | Part::Remark(_)
            | Part::Table(_)
            | Part::Text(..) => None,
        })
    }
}

impl Section {
    /// The parts that an HTML page has below its first tables, which it does not repeat.
    pub(crate) fn below(&self) -> impl Iterator<Item = &Part> {
        let is_above = |part: &&Part| match part {
            Part::Table(table) => self.depth == Depth::First && table.is_whole(),
            Part::Facts(_) | Part::Folded(_) | Part::Remark(_) | Part::Text(..) => false,
        };
        self.parts.iter().filter(move |part| !is_above(part))
    }

    pub(crate) fn new(heading: &str, parts: Vec<Part>) -> Self {
        Self { heading: heading.to_owned(), depth: Depth::First, parts }
    }

    /// The same section at `depth`.
    pub(crate) fn at(self, depth: Depth) -> Self {
        Self { depth, ..self }
    }

    /// A section with these tables, without those that have no rows; `None` if none has.
    pub(crate) fn of_tables(
        heading: &str,
        tables: impl IntoIterator<Item = Table>,
    ) -> Option<Self> {
        let filled = tables.into_iter().filter(|table| !table.rows.is_empty());
        let parts: Vec<Part> = filled.map(Part::Table).collect();
        (!parts.is_empty()).then(|| Self::new(heading, parts))
    }
}

impl Fact {
    pub(crate) fn new(label: &str, line: impl Into<String>) -> Self {
        Self { label: label.to_owned(), lines: vec![line.into()], ..Self::default() }
    }
}

impl Remark {
    pub(crate) fn new(tone: Tone, label: impl Into<String>, text: impl Into<String>) -> Self {
        let (label, text) = (label.into(), text.into());
        Self { tone, label, text, shown_by: String::new(), next: String::new() }
    }
}

impl Column {
    pub(crate) fn new(head: impl Into<String>, unit: Unit) -> Self {
        Self { head: head.into(), unit, depth: Depth::First, has_bar: false, is_answer: false }
    }

    /// The same column at `depth`.
    pub(crate) fn at(self, depth: Depth) -> Self {
        Self { depth, ..self }
    }

    /// The same column, which is what the table is about, with a bar before each number.
    pub(crate) fn with_bar(self) -> Self {
        Self { has_bar: true, ..self.answering() }
    }

    /// The same column, which is what the table is about.
    pub(crate) fn answering(self) -> Self {
        Self { is_answer: true, ..self }
    }
}

impl Cell {
    pub(crate) fn words(text: impl Into<String>) -> Self {
        Self::Words(text.into())
    }

    pub(crate) fn number(value: Option<f64>) -> Self {
        value.map_or(Self::Missing, |value| Self::Number(value, None))
    }

    pub(crate) fn estimate(value: Option<record::Estimate>) -> Self {
        value.map_or(Self::Missing, |it| Self::Number(it.value, it.low.zip(it.high)))
    }

    /// The same cell with the mark of `level`, if that is one of doubt.
    pub(crate) fn judged(self, level: Level) -> Self {
        match (level, &self) {
            (Level::Trusted, _) | (_, Self::Blank | Self::Missing) => self,
            (Level::Degraded | Level::Invalid, _) => Self::Judged(level, Box::new(self)),
        }
    }

    /// The cell without its mark.
    pub(crate) fn bare(&self) -> &Self {
        if let Self::Judged(_, cell) = self { cell } else { self }
    }

    fn value(&self) -> Option<f64> {
        match self {
            Self::Number(value, _) | Self::Difference(value, _) => Some(*value),
            Self::Judged(_, cell) => cell.value(),
            Self::Blank | Self::Missing | Self::Words(_) => None,
        }
    }

    /// An interval is shown if it is wanted, and wherever a ratio or a difference has one.
    fn text(&self, scale: &Scale, intervals: bool) -> String {
        match self {
            Self::Blank => String::new(),
            Self::Missing => MISSING.to_owned(),
            Self::Words(text) => flow(text),
            Self::Number(value, interval) => {
                scale.estimate(*value, interval.filter(|_| intervals || scale.name.is_empty()))
            }
            Self::Difference(value, interval) => scale.difference(*value, *interval),
            Self::Judged(level, cell) => {
                let gap = if matches!(**cell, Self::Words(_)) { " " } else { "" };
                format!("{}{gap}{}", mark(*level), cell.text(scale, intervals))
            }
        }
    }
}

impl Table {
    pub(crate) fn new(heading: impl Into<String>, columns: Vec<Column>) -> Self {
        Self { heading: heading.into(), columns, ..Self::default() }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push((Tone::Plain, cells));
    }

    /// The same with notes under it.
    pub(crate) fn noted(self, notes: impl IntoIterator<Item = String>) -> Self {
        self.noted_at(Depth::First, notes)
    }

    /// The same with notes under it from `depth` on.
    pub(crate) fn noted_at(
        mut self,
        depth: Depth,
        notes: impl IntoIterator<Item = String>,
    ) -> Self {
        self.notes.extend(notes.into_iter().map(|note| (depth, note)));
        self
    }

    /// True if a first page shows as much of it as any other.
    pub(crate) fn is_whole(&self) -> bool {
        let [first, full] = [Depth::First, Depth::Full].map(|depth| self.printed(depth).rows);
        first == full && self.notes.iter().all(|(from, _)| *from == Depth::First)
    }

    /// The notes of a page of this depth.
    pub(crate) fn notes_at(&self, depth: Depth) -> impl Iterator<Item = &str> {
        self.notes.iter().filter(move |(from, _)| *from <= depth).map(|(_, note)| note.as_str())
    }

    /// The table as text, with those columns of a page of this depth that are not empty. Columns of one unit have one
    /// scale. Numbers have their intervals on a full page, ratios and differences always.
    pub(crate) fn printed(&self, depth: Depth) -> Printed {
        let details = depth == Depth::Full;
        let cells = |column: usize| self.rows.iter().filter_map(move |(_, row)| row.get(column));
        let is_filled = |column: usize| {
            column == 0 || cells(column).any(|cell| !matches!(cell, Cell::Blank | Cell::Missing))
        };
        let shown: Vec<usize> = (0..self.columns.len())
            .filter(|column| self.columns[*column].depth <= depth && is_filled(*column))
            .collect();
        let scale = |unit: Unit| {
            let same = shown.iter().filter(|column| self.columns[**column].unit == unit);
            unit.scale(same.flat_map(|column| cells(*column)).filter_map(Cell::value))
        };
        let scales: Vec<Scale> =
            shown.iter().map(|column| scale(self.columns[*column].unit)).collect();
        let head = |(column, scale): (&usize, &Scale)| {
            let Column { head, unit, has_bar, is_answer, .. } = &self.columns[*column];
            let has_interval = |cell: &Cell| match cell.bare() {
                Cell::Number(_, interval) => {
                    interval.is_some() && (details || scale.name.is_empty())
                }
                Cell::Difference(_, interval) => interval.is_some(),
                Cell::Blank | Cell::Missing | Cell::Judged(..) | Cell::Words(_) => false,
            };
            Head {
                name: flow(head),
                unit: scale.name,
                is_left: *has_bar || *unit == Unit::Words || cells(*column).any(has_interval),
                has_bar: *has_bar,
                is_answer: *is_answer,
            }
        };
        // Names are aligned, marked or not.
        let marks_rows = cells(0).any(|cell| matches!(cell, Cell::Judged(..)));
        let text = |row: &Vec<Cell>| {
            let all = shown.iter().zip(&scales);
            let text = |(column, scale): (&usize, &Scale)| match row.get(*column) {
                Some(Cell::Words(name)) if *column == 0 && marks_rows => {
                    format!("  {}", flow(name))
                }
                Some(cell) => {
                    let bar =
                        cell.value().filter(|it| self.columns[*column].has_bar && it.is_finite());
                    let bar = bar.map_or_else(String::new, number::bar);
                    bar + &cell.text(scale, details)
                }
                None => String::new(),
            };
            all.map(text).collect()
        };
        Printed {
            heads: shown.iter().zip(&scales).map(head).collect(),
            rows: self.rows.iter().map(|(tone, row)| (*tone, text(row))).collect(),
        }
    }
}
