//! Two records side by side: ratios of medians where there are enough blocks for an interval, the two numbers where
//! there are not. Sweeps are compared by where their lines bend and by their capacity.

use crate::document::{Cell, Column, Document, Part, Remark, Section, Table, Tone};
use crate::measured::{Measured, Metric};
use crate::number::{self, MISSING, Unit};
use crate::text::{self, Style};
use crate::{row, steps, verdict};
use record::{Knee, Level, Reason, RunRecord, Sweep, SweepLine};
use stats::{Bootstrap, Sides};

/// The results of `record` beside those of `base`, row by row, those of the same name; both verdicts, and the reasons
/// for which the two may not be compared.
///
/// There is a ratio only where both may be believed, where they may be compared, and where both have
/// [`Bootstrap::BLOCKS_MIN`] blocks: its interval comes from drawing the blocks of each for themselves.
pub fn compare(base: &RunRecord, record: &RunRecord, style: &Style) -> String {
    let differences = record::incomparable(base, record);
    let mut results = Vec::new();
    match (&base.sweep, &record.sweep) {
        (Some(one), Some(other)) => {
            let refused = differences.iter().any(|reason| reason.level == Level::Invalid);
            let tables = [knees(one, other, refused), capacities(one, other, refused)];
            results.extend(Section::of_tables("", tables));
        }
        _ => {
            let tables = row::all(record).filter_map(|it| {
                let other = row::row(base, record::partner(base, record, it.index)?)?;
                let [before, after] = [(base, other), (record, it)]
                    .map(|(record, row)| Measured::of(record, &verdict::of(record), row));
                let refused = refused([&before, &after], &differences);
                Some(table(it.name(), [&before, &after], refused, row::seed(record)))
            });
            results.extend(Section::of_tables("", tables));
        }
    }
    let mut doubts = Section::default();
    for reason in &differences {
        let name = reason.workload.and_then(|index| row::row(record, index));
        let name = name.map_or_else(String::new, |row| format!(" ({})", row.name()));
        let text = format!("{}{name}", reason.message);
        let (shown_by, next) = (reason.evidence.clone(), reason.advice.clone());
        let remark = Remark::new(Tone::Doubtful, "incomparable:", text);
        doubts.parts.push(Part::Remark(Remark { shown_by, next, ..remark }));
    }
    results.push(doubts);
    for (whose, record) in [("base", base), ("record", record)] {
        let judgement = verdict::judgement(record, &verdict::of(record));
        let words = format!("verdict: {}", judgement.sentence());
        let mut parts = vec![Part::Text(verdict::tone(judgement.level), words)];
        parts.extend(judgement.reasons.into_iter().map(Part::Remark));
        results.push(Section::new(&format!("{whose}, {}", record.started_at), parts));
    }
    text::print(&Document { results, ..Document::default() }, style)
}

/// True if a comparison of the two says nothing: one of them is no result, or they may not be compared.
pub fn compares_nothing(base: &RunRecord, record: &RunRecord) -> bool {
    let is_invalid = |record| verdict::of(record).level == Level::Invalid;
    let differences = record::incomparable(base, record);
    is_invalid(base)
        || is_invalid(record)
        || differences.iter().any(|reason| reason.level == Level::Invalid)
}

/// The reason for which there is no ratio of these two, whatever their blocks.
fn refused(sides: [&Measured<'_>; 2], differences: &[Reason]) -> Option<&'static str> {
    let index = sides[1].row.index;
    let differ = differences.iter().any(|reason| {
        reason.level == Level::Invalid && reason.workload.is_none_or(|about| about == index)
    });
    match (sides.iter().all(|side| side.is_allowed), differ) {
        (false, _) => Some("invalid"),
        (true, true) => Some("incomparable"),
        (true, false) => None,
    }
}

const METRICS: [(&str, Unit, Metric); 5] = [
    ("p50", Unit::Time, |row, block| Some(number::float(row.times(block)?.p50_ns?))),
    ("p99", Unit::Time, |row, block| Some(number::float(row.times(block)?.p99_ns?))),
    ("messages", Unit::Rate, |_, block| (block.counts.ok > 0).then_some(block.messages_per_s)),
    ("generator CPU", Unit::Cpu, |_, block| block.cpu.generator_us_per_message),
    ("server CPU", Unit::Cpu, |_, block| block.cpu.server_us_per_message),
];

fn heads(first: &str) -> Vec<Column> {
    vec![
        Column::new(first, Unit::Words),
        Column::new("base", Unit::Words),
        Column::new("record", Unit::Words),
        Column::new("ratio [95 %]", Unit::Ratio),
    ]
}

/// A row for each metric; numbers have their own units, which differ from row to row.
fn table(name: &str, sides: [&Measured<'_>; 2], refused: Option<&str>, seed: u64) -> Table {
    let mut table = Table::new(name, heads(sides[1].row.time_word()));
    for (metric, unit, of) in METRICS {
        let [base, subject] = sides.map(|side| side.values(of));
        if base.is_empty() && subject.is_empty() {
            continue;
        }
        let median = |values: &[f64]| {
            Cell::words(
                stats::median(values).map_or_else(|_| MISSING.to_owned(), |it| unit.show(it)),
            )
        };
        let drawn =
            Bootstrap::new(seed).ratio_unpaired(Sides { subject: &subject, baseline: &base });
        let ratio = match (refused, drawn) {
            (Some(why), _) => Cell::words(format!("{MISSING} {why}")),
            (None, Ok(ratio)) => Cell::Number(ratio.value, Some((ratio.low, ratio.high))),
            (None, Err(_)) => Cell::words(no_interval(base.len(), subject.len())),
        };
        table.row(vec![Cell::words(metric), median(&base), median(&subject), ratio]);
    }
    table
}

fn no_interval(base: usize, subject: usize) -> String {
    match (base, subject) {
        (1, 1) => format!("{MISSING} one block each: no interval"),
        _ => format!("{MISSING} {base} and {subject} blocks, {} needed", Bootstrap::BLOCKS_MIN),
    }
}

/// The lines of two sweeps that have the same name; where both have one line only, those.
fn lines<'a>(base: &'a Sweep, record: &'a Sweep) -> impl Iterator<Item = [&'a SweepLine; 2]> {
    let is_only = base.lines.len() == 1 && record.lines.len() == 1;
    record.lines.iter().filter_map(move |line| {
        let partner = base.lines.iter().find(|other| is_only || other.name == line.name)?;
        Some([partner, line])
    })
}

/// The knees of both, with the ratio that their intervals leave.
fn knees(base: &Sweep, record: &Sweep, refused: bool) -> Table {
    let mut table = Table::new("Where lines bend", heads("line"));
    for [one, other] in lines(base, record) {
        let ratio = match (&one.knee, &other.knee) {
            _ if refused => Cell::words(format!("{MISSING} incomparable")),
            (
                Knee::Found { offered_per_s: before, low_per_s: low, high_per_s: high },
                Knee::Found { offered_per_s: after, low_per_s, high_per_s },
            ) => Cell::Number(after / before, Some((low_per_s / high, high_per_s / low))),
            _ => Cell::words(format!("{MISSING} not both bend")),
        };
        let [one, other] = [one, other].map(|line| (&line.name, steps::knee_words(&line.knee)));
        table.row(vec![
            Cell::words(other.0.clone()),
            Cell::words(one.1),
            Cell::words(other.1),
            ratio,
        ]);
    }
    table
}

/// The largest loads within the objective.
fn capacities(base: &Sweep, record: &Sweep, refused: bool) -> Table {
    let objective = record.slo.as_deref().unwrap_or_default();
    let mut table = Table::new(format!("Capacity within {objective}"), heads("line"));
    if base.slo != record.slo || record.slo.is_none() {
        return table;
    }
    for both in lines(base, record) {
        let values = both.map(|line| line.capacity.map(|capacity| capacity.offered_per_s));
        let [before, after] = values
            .map(|value| Cell::words(value.map_or_else(|| "none".to_owned(), number::per_second)));
        let ratio = match values {
            [Some(before), Some(after)] if !refused => Cell::Number(after / before, None),
            _ => Cell::Missing,
        };
        table.row(vec![Cell::words(both[1].name.clone()), before, after, ratio]);
    }
    table
}
