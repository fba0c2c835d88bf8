//! Two records side by side. They were measured at different times, so what moves a row that is unchanged in both is
//! the machine: rows have a ratio where they can be divided by such a row, and a doubtful one where they cannot. Sweeps
//! are compared by where their lines bend and by their capacity.

use crate::answers::would_have_shown;
use crate::document::{
    Cell, Column, Depth, Document, Fact, Judgement, Part, Remark, Section, Table, Tone,
};
use crate::measured::{Figure, Measured, message_ns};
use crate::number::{self, MISSING, Unit};
use crate::text::{self, Style};
use crate::{row, steps, verdict};
use record::{Knee, Level, Number, Reason, RunRecord, Sweep, SweepLine};
use stats::{Between, Pooled, changed};
use std::collections::BTreeSet;

/// The results of `record` beside those of `base`, paired by the names of rows; both verdicts, and the reasons why the
/// two may not be compared. The first page has the p50 of each row.
///
/// There is a ratio only where neither is invalid, where they may be compared, and where both have
/// [`Pooled::ROUNDS_MIN`] rounds of the row and of the row that it is divided by ([`stats::changed`]). Without such a
/// row the ratio is marked as doubtful and claims nothing: its interval covers how the blocks of each run vary, but not
/// what the machine did between the runs.
pub fn compare(base: &RunRecord, record: &RunRecord, depth: Depth, style: &Style) -> String {
    text::print(&document(base, record), depth, style)
}

/// The document of both.
pub(crate) fn document(base: &RunRecord, record: &RunRecord) -> Document {
    let differences = record::incomparable(base, record);
    let mut conclusion = None;
    let mut sections = Vec::new();
    match (&base.sweep, &record.sweep) {
        (Some(one), Some(other)) => {
            let is_invalid =
                [base, record].iter().any(|it| verdict::of(it).level == Level::Invalid);
            let differ = differences.iter().any(|reason| reason.level == Level::Invalid);
            let refused = match (is_invalid, differ) {
                (true, _) => Some("invalid"),
                (false, true) => Some("incomparable"),
                (false, false) => None,
            };
            let tables = [knees(one, other, refused), capacities(one, other, refused)];
            sections.extend(Section::of_tables("", tables));
            if refused.is_none() {
                sections.push(inconclusive());
            }
        }
        _ => {
            let pairs: Vec<Both<'_>> =
                row::all(record).filter_map(|it| Both::of(base, record, it.index)).collect();
            let refusals: Vec<_> = pairs.iter().map(|both| refused(both, &differences)).collect();
            let compared: Vec<Compared<'_>> = pairs
                .iter()
                .zip(&refusals)
                .map(|(both, refused)| Compared {
                    both,
                    zero: pairs.iter().find(|it| both.zero == Some(it.index())),
                    refused: *refused,
                })
                .collect();
            conclusion = answer(&compared);
            sections.extend(Section::of_tables("", [overview(&compared)]));
            let mut all = pairs.iter().zip(&refusals);
            if all.any(|(both, refused)| refused.is_none() && both.zero.is_none()) {
                sections.push(inconclusive());
            }
            let tables = Section::of_tables("", compared.iter().map(table));
            sections.extend(tables.map(|section| section.at(Depth::Details)));
        }
    }
    let doubt = |reason: &Reason| {
        let name = reason.workload.and_then(|index| row::row(record, index));
        let name = name.map_or_else(String::new, |row| format!(" ({})", row.name()));
        let text = format!("{}{name}", reason.message);
        let (shown_by, next) = (reason.evidence.clone(), reason.advice.clone());
        let remark = Remark::new(Tone::Doubtful, "incomparable:", text);
        Part::Remark(Remark { shown_by, next, ..remark })
    };
    let mut doubts: Vec<Part> = differences.iter().map(doubt).collect();
    let more = doubts.split_off(doubts.len().min(DOUBTS_MAX));
    sections.push(Section::new("", doubts));
    sections.push(Section::new("", more).at(Depth::Details));
    let judged = [("base", base), ("record", record)]
        .map(|(whose, it)| (whose, it, verdict::judgement(it, &verdict::of(it))));
    let fact = |(whose, it, judgement): &(&str, &RunRecord, Judgement)| {
        let line = format!("{}: {}", it.started_at, judgement.brief);
        Fact { left_out: judgement.left_out(), ..Fact::new(whose, line) }
    };
    sections.push(Section::new("", vec![Part::Facts(judged.iter().map(fact).collect())]));
    for (whose, it, judgement) in judged {
        let reasons = judgement.reasons.into_iter().map(Part::Folded).collect::<Vec<Part>>();
        let heading = format!("{whose}, {}", it.started_at);
        if !reasons.is_empty() {
            sections.push(Section::new(&heading, reasons).at(Depth::Details));
        }
    }
    Document {
        title: "Two records side by side".to_owned(),
        title_depth: Depth::Full,
        conclusion,
        sections,
        ..Document::default()
    }
}

/// True if a comparison of the two says nothing: one of them is invalid, or they may not be compared.
pub fn compares_nothing(base: &RunRecord, record: &RunRecord) -> bool {
    let is_invalid = |record| verdict::of(record).level == Level::Invalid;
    let differences = record::incomparable(base, record);
    is_invalid(base)
        || is_invalid(record)
        || differences.iter().any(|reason| reason.level == Level::Invalid)
}

/// The next thing to do where the records share no row that tells a change of the machine from one of the server.
fn inconclusive() -> Section {
    let text = "the two were measured at different times, and they share no row that shows the change of the machine";
    let remark = Remark::new(Tone::Doubtful, "inconclusive:", text);
    let next = "measure both in one run: `wirebench ab BASE HEAD`".to_owned();
    Section::new("", vec![Part::Remark(Remark { next, ..remark })])
}

/// A row of both records: of the base, and of the record.
struct Both<'a> {
    sides: [Measured<'a>; 2],
    /// The number of rounds of each record.
    rounds: [usize; 2],
    /// The index in the record of the row that it is compared with, if that is the same in both: possibly itself.
    zero: Option<usize>,
}

impl<'a> Both<'a> {
    /// The two sides of row `index` of `record`; `None` if it has no partner in `base`.
    fn of(base: &'a RunRecord, record: &'a RunRecord, index: usize) -> Option<Self> {
        let partner = record::partner(base, record, index)?;
        let rows = [(base, row::row(base, partner)?), (record, row::row(record, index)?)];
        let zero = record::common_zero(base, record, index).map(|[_, zero]| zero);
        let rounds = |record: &RunRecord| {
            record.blocks.iter().map(|block| block.round).collect::<BTreeSet<usize>>().len()
        };
        Some(Self {
            sides: rows.map(|(record, row)| Measured::of(record, &verdict::of(record), row)),
            rounds: [base, record].map(rounds),
            zero,
        })
    }

    fn index(&self) -> usize {
        self.sides[1].row.index
    }

    /// A figure of both sides.
    fn figures(&self, of: Figure) -> [Option<Pooled>; 2] {
        self.sides.each_ref().map(|it| of(it.row, it.numbers()).filter(|it| it.value() > 0.0))
    }
}

/// The reason why these two have no ratio, whatever their blocks.
fn refused(both: &Both<'_>, differences: &[Reason]) -> Option<&'static str> {
    let differ = differences.iter().any(|reason| {
        reason.level == Level::Invalid && reason.workload.is_none_or(|about| about == both.index())
    });
    match (both.sides.iter().all(|side| side.is_allowed), differ) {
        (false, _) => Some("invalid"),
        (true, true) => Some("incomparable"),
        (true, false) => None,
    }
}

/// The numbers that are compared, each with the number whose verdict judges it.
const FIGURES: [(&str, Unit, Number, Figure); 5] = [
    ("p50", Unit::Time, Number::P50, message_ns),
    ("p99", Unit::Time, Number::P99, |row, numbers| {
        let [closed, open] = [&numbers.round_trip_p99_ns, &numbers.response_p99_ns];
        if row.is_closed() { closed } else { open }.clone()
    }),
    ("messages", Unit::Rate, Number::P50, |_, numbers| numbers.messages_per_s.clone()),
    ("generator CPU", Unit::Cpu, Number::P50, |_, numbers| {
        numbers.generator_cpu_us_per_message.clone()
    }),
    ("server CPU", Unit::Cpu, Number::P50, |_, numbers| numbers.server_cpu_us_per_message.clone()),
];

/// A row of both records beside the one that both are divided by.
struct Compared<'a> {
    both: &'a Both<'a>,
    /// `None` where the two have no such row.
    zero: Option<&'a Both<'a>>,
    /// The reason why there is no ratio.
    refused: Option<&'static str>,
}

impl Compared<'_> {
    /// The worst level of a number of the row in either record.
    fn doubt(&self, number: Number) -> Level {
        let levels = self.both.sides.iter().map(|side| side.trust.of_number(number));
        levels.max().unwrap_or_default()
    }

    /// The change of the zero's p50, and the ratio of the p50 of the two records.
    fn p50(&self) -> (Option<f64>, Cell) {
        self.ratio(Number::P50, message_ns)
    }

    /// The change of a figure of the zero, which is that of the machine; and the ratio of the two records, marked if
    /// the `number` that judges it is in doubt.
    fn ratio(&self, number: Number, of: Figure) -> (Option<f64>, Cell) {
        let is_zero = self.zero.is_some_and(|zero| zero.index() == self.both.index());
        let zeros = self.zero.filter(|_| self.refused.is_none()).map(|zero| zero.figures(of));
        let moved = match &zeros {
            Some([Some(before), Some(after)]) => Some(after.value() / before.value()),
            _ => None,
        };
        let ratio = match (self.refused, &zeros, &self.both.figures(of)) {
            (Some(why), ..) => Cell::words(format!("{MISSING} {why}")),
            (None, None, [Some(before), Some(after)]) => match changed(before, after, None) {
                Some(found) => {
                    Cell::Number(found.value, Some((found.low, found.high))).judged(Level::Degraded)
                }
                None => Cell::words(no_interval(self.both.rounds)),
            },
            (None, None, _) => Cell::Missing,
            (None, Some(_), _) if is_zero => Cell::words("the machine"),
            (None, Some([Some(_), Some(_)]), [Some(_), Some(_)]) => match self.between(of) {
                Some(found) => Cell::Number(found.value, Some((found.low, found.high)))
                    .judged(self.doubt(number)),
                None => Cell::words(no_interval(self.both.rounds)),
            },
            (None, Some(_), _) => Cell::Missing,
        };
        (moved, ratio)
    }

    /// The ratio of a figure of the two records, each divided by its own zero; `None` without an interval.
    fn between(&self, of: Figure) -> Option<Between> {
        let [Some(before_zero), Some(after_zero)] = &self.zero?.figures(of) else { return None };
        let [Some(before), Some(after)] = &self.both.figures(of) else { return None };
        changed(before, after, Some([before_zero, after_zero]))
    }

    /// The row that the ratio is divided by, unless it is this one.
    fn divided_by(&self) -> Option<&str> {
        let other = self.zero.filter(|zero| zero.index() != self.both.index());
        Some(other.filter(|_| self.refused.is_none())?.sides[1].row.name())
    }

    fn name(&self) -> &str {
        self.both.sides[1].row.name()
    }
}

/// The rows whose p50 has changed, with their ratios; or a sentence that none has, or why no ratio is known. `None` if
/// no row is in both.
fn answer(all: &[Compared<'_>]) -> Option<String> {
    let found = all.iter().filter_map(|it| match it.p50() {
        (_, Cell::Number(value, Some(interval))) => Some((it.name(), value, interval)),
        _ => None,
    });
    let found: Vec<(&str, f64, (f64, f64))> = found.collect();
    let words = |(name, value, interval): &(&str, f64, (f64, f64))| {
        format!("{name} {}", number::ratio(*value, Some(*interval)))
    };
    let mut shown: Vec<String> =
        found.iter().filter(|(_, _, (low, high))| *low > 1.0 || *high < 1.0).map(words).collect();
    let unshown = found.len() - shown.len();
    let Some(first) = found.first() else {
        if let Some((it, ratio)) = all.iter().find_map(doubtful) {
            let why = match it.zero {
                None => "how the machine changed between them is not known",
                Some(_) => "it is in doubt",
            };
            return Some(format!(
                "It cannot be determined whether the two differ: the p50 of {} is {ratio} of the base's by the blocks \
                 of both, and {why}.",
                it.name()
            ));
        }
        let why = all.iter().rev().find_map(|it| match it.p50().1 {
            Cell::Words(text) => text.strip_prefix(MISSING).map(|why| why.trim().to_owned()),
            Cell::Blank
            | Cell::Difference(..)
            | Cell::Judged(..)
            | Cell::Missing
            | Cell::Number(..) => None,
        });
        return why.map(|why| format!("It cannot be determined whether the two differ: {why}."));
    };
    let count = shown.len();
    if count == 0 {
        let others = if unshown == 1 { "" } else { ", and the same for the others" };
        let compared = all.iter().filter(|it| matches!(it.p50().1, Cell::Number(..)));
        let smallest = compared.filter_map(|it| Some(it.between(message_ns)?.smallest_detectable));
        let would = would_have_shown(smallest.reduce(f64::max));
        return Some(format!(
            "No difference is shown between the p50 of the record and of the base: {}{others}; {would}.",
            words(first)
        ));
    }
    shown.truncate(SHOWN_MAX);
    let more = match count - shown.len() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let others = match unshown {
        0 => String::new(),
        1 => "; for 1 other row no difference is shown".to_owned(),
        others => format!("; for {others} other rows no difference is shown"),
    };
    Some(format!(
        "The p50 of the record divided by that of the base: {}{more}{others}.",
        shown.join(", ")
    ))
}

/// A row whose p50 is in doubt, and its ratio.
fn doubtful<'a, 'b>(it: &'a Compared<'b>) -> Option<(&'a Compared<'b>, String)> {
    let (_, Cell::Judged(_, cell)) = it.p50() else { return None };
    let Cell::Number(value, interval) = *cell else { return None };
    Some((it, number::ratio(value, interval)))
}

/// A row for each pair: its p50 in both, and their ratio.
fn overview(all: &[Compared<'_>]) -> Table {
    let word = all.first().map_or("", |it| it.both.sides[1].row.compared_time());
    let columns = vec![
        Column::new(word, Unit::Words),
        Column::new("base", Unit::Time),
        Column::new("record", Unit::Time),
        Column::new("machine", Unit::Ratio),
        Column::new("ratio [95 %]", Unit::Ratio).with_bar(),
    ];
    let mut table = Table::new("", columns);
    for it in all {
        let [before, after] =
            it.both.figures(message_ns).map(|it| Cell::number(it.map(|it| it.value())));
        let (moved, ratio) = it.p50();
        let name = Cell::words(it.name()).judged(it.doubt(Number::P50));
        table.row(vec![name, before, after, Cell::number(moved), ratio]);
    }
    let zero = all.iter().find_map(Compared::divided_by);
    table.noted(zero.map(divided))
}

fn divided(zero: &str) -> String {
    format!("machine: {zero} of the record over {zero} of the base; the ratio is divided by it")
}

/// A row for each figure; numbers have their own units, which differ from row to row.
fn table(it: &Compared<'_>) -> Table {
    let mut heads = heads(it.both.sides[1].row.time_word());
    heads.insert(3, Column::new("machine", Unit::Ratio));
    let mut table = Table::new(it.name(), heads);
    for (name, unit, number, of) in FIGURES {
        let figures = it.both.figures(of);
        if figures.iter().all(Option::is_none) {
            continue;
        }
        let [before, after] = figures.each_ref().map(|it| {
            Cell::words(it.as_ref().map_or_else(|| MISSING.to_owned(), |it| unit.show(it.value())))
        });
        let (moved, ratio) = it.ratio(number, of);
        table.row(vec![Cell::words(name), before, after, Cell::number(moved), ratio]);
    }
    table.noted(it.divided_by().map(divided))
}

/// The number of reasons against the comparison that the first page shows.
const DOUBTS_MAX: usize = 2;
/// The number of rows that the answer names.
const SHOWN_MAX: usize = 3;

fn no_interval(rounds: [usize; 2]) -> String {
    match rounds {
        [1, 1] => format!("{MISSING} one block each, no interval"),
        [base, record] if base.min(record) < Pooled::ROUNDS_MIN => {
            format!("{MISSING} {base} and {record} rounds, {} needed", Pooled::ROUNDS_MIN)
        }
        _ => format!("{MISSING} depends on few rounds"),
    }
}

fn heads(first: &str) -> Vec<Column> {
    vec![
        Column::new(first, Unit::Words),
        Column::new("base", Unit::Words),
        Column::new("record", Unit::Words),
        Column::new("ratio [95 %]", Unit::Ratio).answering(),
    ]
}

/// The pairs of lines of two sweeps that have the same name; where both have only one line, those two.
fn lines<'a>(base: &'a Sweep, record: &'a Sweep) -> impl Iterator<Item = [&'a SweepLine; 2]> {
    let is_only = base.lines.len() == 1 && record.lines.len() == 1;
    record.lines.iter().filter_map(move |line| {
        let partner = base.lines.iter().find(|other| is_only || other.name == line.name)?;
        Some([partner, line])
    })
}

/// A ratio with the interval that follows from those of both sides; or the reason why there is none.
type Ratio = Result<(f64, Option<(f64, f64)>), &'static str>;

/// The name of a line with the mark of `level`, the words for both sides, and the ratio, which is marked as doubtful:
/// what the machine did between the two is not known.
fn line_row(name: &str, level: Level, words: [String; 2], ratio: Ratio) -> Vec<Cell> {
    let [before, after] = words.map(Cell::words);
    let ratio = match ratio {
        _ if level == Level::Invalid => Cell::words(format!("{MISSING} invalid")),
        Ok((value, interval)) => Cell::Number(value, interval).judged(Level::Degraded),
        Err(why) => Cell::words(format!("{MISSING} {why}")),
    };
    vec![Cell::words(name).judged(level), before, after, ratio]
}

/// The knees of both, with the ratio where each is one number.
fn knees(base: &Sweep, record: &Sweep, refused: Option<&'static str>) -> Table {
    let mut table = Table::new("Where lines bend", heads("line"));
    for both in lines(base, record) {
        let ratio = match (refused, both.map(|line| &line.knee)) {
            (Some(why), _) => Err(why),
            (
                None,
                [
                    Knee::Found { offered_per_s: before, low_per_s: low, high_per_s: high, .. },
                    Knee::Found { offered_per_s: after, low_per_s, high_per_s, .. },
                ],
            ) => match both.iter().all(|line| is_confirmed(&line.knee)) {
                true => Ok((after / before, Some((low_per_s / high, high_per_s / low)))),
                false => Err("not both confirmed"),
            },
            (None, _) => Err("not both bend"),
        };
        let level = both.map(|line| line.level).into_iter().max().unwrap_or_default();
        let words = both.map(|line| steps::knee_words(&line.knee));
        table.row(line_row(&both[1].name, level, words, ratio));
    }
    table
}

/// True if the page has the knee as one number.
fn is_confirmed(knee: &Knee) -> bool {
    matches!(knee, Knee::Found { confirmed: true, .. })
}

/// The largest loads within the objective.
fn capacities(base: &Sweep, record: &Sweep, refused: Option<&'static str>) -> Table {
    let objective = record.slo.as_deref().unwrap_or_default();
    let mut table = Table::new(format!("Capacity within {objective}"), heads("line"));
    if base.slo != record.slo || record.slo.is_none() {
        return table;
    }
    for both in lines(base, record) {
        let found = both.map(|line| line.capacity);
        let ratio = match (refused, found) {
            (Some(why), _) => Err(why),
            (None, [Some(before), Some(after)]) => match before.confirmed && after.confirmed {
                true => Ok((after.offered_per_s / before.offered_per_s, None)),
                false => Err("not both confirmed"),
            },
            (None, _) => Err("not both have one"),
        };
        let levels = found.into_iter().flatten().map(|capacity| capacity.level);
        let words = found.map(|capacity| {
            capacity.map_or_else(|| "none".to_owned(), |it| steps::capacity_words(&it))
        });
        table.row(line_row(&both[1].name, levels.max().unwrap_or_default(), words, ratio));
    }
    table
}
