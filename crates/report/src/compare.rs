//! Two records side by side. They were measured at different times, so what moves a row that both have unchanged is
//! the machine: rows have a ratio where they can be divided by such a row, and the two numbers where they cannot.
//! Sweeps are put side by side by where their lines bend and by their capacity.

use crate::document::{Cell, Column, Document, Part, Remark, Section, Table, Tone};
use crate::measured::{Figure, Measured, message_ns};
use crate::number::{self, MISSING, Unit};
use crate::text::{self, Style};
use crate::{row, steps, verdict};
use record::{Knee, Level, Reason, RunRecord, Sweep, SweepLine};
use stats::{Pooled, between};
use std::collections::BTreeSet;

/// The results of `record` beside those of `base`, row by row, those of the same name; both verdicts, and the reasons
/// for which the two may not be compared.
///
/// There is a ratio only where both may be believed, where they may be compared, and where both have
/// [`Pooled::ROUNDS_MIN`] rounds of the row and of the one that it is compared with ([`stats::between`]).
pub fn compare(base: &RunRecord, record: &RunRecord, style: &Style) -> String {
    let differences = record::incomparable(base, record);
    let mut results = Vec::new();
    match (&base.sweep, &record.sweep) {
        (Some(one), Some(other)) => {
            let refused = differences.iter().any(|reason| reason.level == Level::Invalid);
            let tables = [knees(one, other, refused), capacities(one, other, refused)];
            results.extend(Section::of_tables("", tables));
            if !refused {
                results.push(inconclusive());
            }
        }
        _ => {
            let pairs: Vec<Both<'_>> =
                row::all(record).filter_map(|it| Both::of(base, record, it.index)).collect();
            let refusals: Vec<_> = pairs.iter().map(|both| refused(both, &differences)).collect();
            let tables = pairs.iter().zip(&refusals).map(|(both, refused)| {
                let zero = pairs.iter().find(|it| both.zero == Some(it.index()));
                table(both, zero, *refused)
            });
            results.extend(Section::of_tables("", tables));
            let mut all = pairs.iter().zip(&refusals);
            if all.any(|(both, refused)| refused.is_none() && both.zero.is_none()) {
                results.push(inconclusive());
            }
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

/// The next thing to do where the records have nothing in common that tells the machine from the change.
fn inconclusive() -> Section {
    let text = "the two were measured at different times, and no row of both shows what the machine did between them";
    let remark = Remark::new(Tone::Doubtful, "inconclusive:", text);
    let next = "measure both in one run: a lab file with two rows (docs/EXPERIMENTS.md)".to_owned();
    Section::new("", vec![Part::Remark(Remark { next, ..remark })])
}

/// A row of both records: of the base, and of the record.
struct Both<'a> {
    sides: [Measured<'a>; 2],
    /// The number of rounds of each record.
    rounds: [usize; 2],
    /// The index in the record of the row that it is compared with, if that is the same in both: perhaps itself.
    zero: Option<usize>,
}

impl<'a> Both<'a> {
    /// Of row number `index` of `record`; `None` if it has no partner in `base`.
    fn of(base: &'a RunRecord, record: &'a RunRecord, index: usize) -> Option<Self> {
        let partner = record::partner(base, record, index)?;
        let rows = [(base, row::row(base, partner)?), (record, row::row(record, index)?)];
        let is_alone = record.plan.workloads.len() == 1;
        let zero = row::zero(record, index).filter(|zero| {
            let theirs = record::partner(base, record, *zero);
            !is_alone && theirs.is_some() && theirs == row::zero(base, partner)
        });
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

/// The reason for which there is no ratio of these two, whatever their blocks.
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

const FIGURES: [(&str, Unit, Figure); 5] = [
    ("p50", Unit::Time, message_ns),
    ("p99", Unit::Time, |row, numbers| {
        let [closed, open] = [&numbers.round_trip_p99_ns, &numbers.response_p99_ns];
        if row.is_closed() { closed } else { open }.clone()
    }),
    ("messages", Unit::Rate, |_, numbers| numbers.messages_per_s.clone()),
    ("generator CPU", Unit::Cpu, |_, numbers| numbers.generator_cpu_us_per_message.clone()),
    ("server CPU", Unit::Cpu, |_, numbers| numbers.server_cpu_us_per_message.clone()),
];

/// A row for each figure; numbers have their own units, which differ from row to row. `zero` is the row that both are
/// divided by.
fn table(both: &Both<'_>, zero: Option<&Both<'_>>, refused: Option<&str>) -> Table {
    let row = both.sides[1].row;
    let is_zero = zero.is_some_and(|zero| zero.index() == both.index());
    let mut heads = heads(row.time_word());
    heads.insert(3, Column::new("machine", Unit::Ratio));
    let mut table = Table::new(row.name(), heads);
    for (name, unit, of) in FIGURES {
        let figures = both.figures(of);
        if figures.iter().all(Option::is_none) {
            continue;
        }
        let [before, after] = figures.each_ref().map(|it| {
            Cell::words(it.as_ref().map_or_else(|| MISSING.to_owned(), |it| unit.show(it.value())))
        });
        let zeros = zero.filter(|_| refused.is_none()).map(|zero| zero.figures(of));
        let moved = match &zeros {
            Some([Some(before), Some(after)]) => Some(after.value() / before.value()),
            _ => None,
        };
        let ratio = match (refused, &zeros, &figures) {
            (Some(why), ..) => Cell::words(format!("{MISSING} {why}")),
            (None, None, _) => Cell::words(format!("{MISSING} inconclusive")),
            (None, Some(_), _) if is_zero => Cell::words("the machine"),
            (None, Some([Some(before_zero), Some(after_zero)]), [Some(before), Some(after)]) => {
                let [one, other] = [before.over(before_zero), after.over(after_zero)];
                match between(&one, &other, after_zero.value() / before_zero.value()) {
                    Some(found) => Cell::Number(found.value, Some((found.low, found.high))),
                    None => Cell::words(no_interval(both.rounds)),
                }
            }
            (None, Some(_), _) => Cell::Missing,
        };
        table.row(vec![Cell::words(name), before, after, Cell::number(moved), ratio]);
    }
    let by = zero.filter(|zero| refused.is_none() && zero.index() != both.index());
    table.noted(by.map(|zero| {
        let zero = zero.sides[1].row.name();
        format!("machine: {zero} of the record by {zero} of the base; the ratio is divided by it")
    }))
}

fn no_interval(rounds: [usize; 2]) -> String {
    match rounds {
        [1, 1] => format!("{MISSING} one block each: no interval"),
        [base, record] if base.min(record) < Pooled::ROUNDS_MIN => {
            format!("{MISSING} {base} and {record} rounds, {} needed", Pooled::ROUNDS_MIN)
        }
        _ => format!("{MISSING} hangs on few rounds"),
    }
}

fn heads(first: &str) -> Vec<Column> {
    vec![
        Column::new(first, Unit::Words),
        Column::new("base", Unit::Words),
        Column::new("record", Unit::Words),
        Column::new("ratio [95 %]", Unit::Ratio),
    ]
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
                Knee::Found { offered_per_s: before, low_per_s: low, high_per_s: high, .. },
                Knee::Found { offered_per_s: after, low_per_s, high_per_s, .. },
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
