//! Deliveries of what was published in rooms: their sums, and the times of messages as wholes.

use crate::document::{Cell, Column, Table};
use crate::measured::{Group, Measured, merged};
use crate::number::{self, Unit, percent};
use record::{Deliveries, DeliveryCounts, Summary};
use stats::Merge;

const FIRST: &str = "first receiver";
const MEDIAN: &str = "median receiver";
const LAST: &str = "last receiver";
const SPREAD: &str = "spread";

/// The names of the [`times`].
pub(crate) const TIMES: [&str; 4] = [FIRST, MEDIAN, LAST, SPREAD];

/// The times of messages until their receivers had them, by their names; none without rooms.
pub(crate) fn times(it: &Measured<'_>) -> Vec<(&'static str, Summary)> {
    type Of = fn(&Deliveries) -> Option<&Summary>;
    let all: [(&str, Of); 4] = [
        (FIRST, |all| all.first.as_ref()),
        (MEDIAN, |all| all.median.as_ref()),
        (LAST, |all| all.last.as_ref()),
        (SPREAD, |all| all.spread.as_ref()),
    ];
    let found = |(name, of): (&'static str, Of)| {
        Some((name, merged(&it.all, |block| of(block.deliveries.as_ref()?))?))
    };
    all.into_iter().filter_map(found).collect()
}

/// The deliveries of all blocks; `None` without rooms.
pub(crate) fn counts(it: &Measured<'_>) -> Option<DeliveryCounts> {
    let mut all = it.all.iter().filter_map(|block| block.deliveries.as_ref()).peekable();
    all.peek()?;
    Some(DeliveryCounts::merged(all.map(|deliveries| &deliveries.counts)))
}

/// The deliveries of the rows of a group, and the times of messages as wholes; empty without rooms.
pub(crate) fn table(group: &Group<'_>) -> Table {
    let mut columns = vec![Column::new("deliveries", Unit::Words)];
    for head in
        ["published", "owed", "delivered", "missing", "duplicate", "out of order", "foreign"]
    {
        columns.push(Column::new(head, Unit::Count));
    }
    for head in ["first p50", "median p50", "last p50", "last p99", "spread p50"] {
        columns.push(Column::new(head, Unit::Time));
    }
    let mut table = Table::new("", columns);
    for it in &group.rows {
        let Some(counts) = counts(it) else { continue };
        let DeliveryCounts { published, owed, delivered, duplicate, reordered, foreign, .. } =
            counts;
        let mut cells = vec![Cell::words(format!("{}{}", it.name, group.suffix()))];
        cells.extend(
            [published, owed, delivered].map(|count| Cell::Number(number::float(count), None)),
        );
        // Columns of zeros are left out.
        let fault = |count: u64| Cell::number((count > 0).then(|| number::float(count)));
        cells.extend([counts.missing(), duplicate, reordered, foreign].map(fault));
        let times = times(it);
        let time = |name: &str, of: fn(&Summary) -> Option<u64>| {
            let found = times.iter().find(|(known, _)| *known == name);
            Cell::number(found.and_then(|(_, times)| of(times)).map(number::float))
        };
        cells.extend([
            time(FIRST, |it| it.p50_ns),
            time(MEDIAN, |it| it.p50_ns),
            time(LAST, |it| it.p50_ns),
            time(LAST, |it| it.p99_ns),
            time(SPREAD, |it| it.p50_ns),
        ]);
        table.row(cells);
    }
    table
}

/// The sums, and what came besides.
pub(crate) fn lines(counts: &DeliveryCounts) -> Vec<String> {
    let DeliveryCounts { published, owed, delivered, lost, cut, in_flight_at_end, .. } = counts;
    let DeliveryCounts { duplicate, reordered, early, foreign, incomplete, .. } = counts;
    let mut lines = vec![
        format!("published {published}, which {owed} deliveries were owed of"),
        format!(
            "owed {owed} = delivered {delivered} + lost {lost} + cut off {cut} + in flight {in_flight_at_end}"
        ),
    ];
    if counts.missing() > 0 {
        let share = percent(number::float(counts.missing()) / number::float((*owed).max(1)));
        lines.push(format!("missing {share} of owed, of {incomplete} messages"));
    }
    lines.push(format!(
        "duplicate {duplicate}, out of order {reordered}, not owed yet {early}, foreign {foreign}"
    ));
    let broken = counts.check().err();
    lines.extend(broken.map(|error| format!("ERROR: the counts do not add up: {error}")));
    lines
}
