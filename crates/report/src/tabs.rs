//! Deliveries to the tabs of a browser, beside those to our own receivers in the same rooms over the same transport.

use crate::document::{Cell, Column, Table};
use crate::measured::{Group, Measured, merged};
use crate::number::{self, Unit};
use record::{DeliveryEnds, Summary, TabDeliveries};
use stats::Merge;

/// The tabs of the rows of a group; empty without any.
pub(crate) fn table(group: &Group<'_>) -> Table {
    let words = ["in tabs", "transport", "clock"];
    let mut columns: Vec<Column> = words.map(|head| Column::new(head, Unit::Words)).into();
    for head in ["tabs", "owed", "missing", "duplicate", "out of order", "foreign"] {
        columns.push(Column::new(head, Unit::Count));
    }
    for head in ["p50", "p90", "p99", "max", "ours p50", "ours p90", "ours p99", "ours max"] {
        columns.push(Column::new(head, Unit::Time));
    }
    let mut table = Table::new("", columns);
    for it in &group.rows {
        let Some(Seen { tabs, all, counts, duplicate, reordered, foreign }) = seen(it) else {
            continue;
        };
        let mut cells: Vec<Cell> = vec![
            Cell::words(format!("{}{}", it.name, group.suffix())).judged(it.trust.level),
            Cell::words(tabs.transport.clone()),
            Cell::words(clock(&all)),
        ];
        cells
            .extend([tabs.tabs, counts.owed].map(|count| Cell::Number(number::float(count), None)));
        // Columns of zeros are left out.
        let fault = |count: u64| Cell::number((count > 0).then(|| number::float(count)));
        cells.extend([counts.missing(), duplicate, reordered, foreign].map(fault));
        for times in [theirs(it), ours(it)] {
            let value = |of: Of| Cell::number(times.as_ref().and_then(of).map(number::float));
            cells.extend(TIMES.map(value));
        }
        table.row(cells);
    }
    let note = "From due until a page had the message, by its own clock, corrected by its offset: the clock column shows \
                the offset and how exactly it is known. Ours: wirebench's own receivers, as many in the same rooms over \
                the same transport, which all other tables are about.";
    let notes = (!table.rows.is_empty()).then(|| note.to_owned());
    table.noted(notes)
}

type Of = fn(&Summary) -> Option<u64>;

const TIMES: [Of; 4] = [|it| it.p50_ns, |it| it.p90_ns, |it| it.p99_ns, |it| Some(it.max_ns)];

/// The tabs of one row in words; empty without tabs.
pub(crate) fn lines(it: &Measured<'_>) -> Vec<String> {
    let Some(Seen { tabs, all, counts, duplicate, reordered, foreign }) = seen(it) else {
        return Vec::new();
    };
    let DeliveryEnds { owed, delivered, lost, cut, in_flight_at_end } = counts;
    let percentiles = |times: &Summary| {
        let known = [("p50", times.p50_ns), ("p99", times.p99_ns), ("max", Some(times.max_ns))];
        let of =
            |(name, value): (&str, Option<u64>)| Some(format!("{name} {}", number::nanos(value?)));
        known.into_iter().filter_map(of).collect::<Vec<_>>().join(", ")
    };
    let mut lines = vec![
        format!(
            "{} over {}: owed {owed} = delivered {delivered} + lost {lost} + cut off {cut} + in flight {in_flight_at_end}",
            tabs.tabs, tabs.transport
        ),
        format!("duplicate {duplicate}, out of order {reordered}, foreign {foreign}"),
    ];
    let times =
        |name: &str, times: Option<Summary>| Some(format!("{name}: {}", percentiles(&times?)));
    lines.extend(times("delivery, by the pages", theirs(it)));
    lines.extend(times("delivery, to our own receivers", ours(it)));
    lines.push(format!("clocks of the pages: {}", clock(&all)));
    lines
}

/// The tabs of all blocks of a row.
struct Seen<'a> {
    tabs: &'a TabDeliveries,
    all: Vec<&'a TabDeliveries>,
    counts: DeliveryEnds,
    duplicate: u64,
    reordered: u64,
    foreign: u64,
}

fn seen<'a>(it: &Measured<'a>) -> Option<Seen<'a>> {
    let all: Vec<&TabDeliveries> = it.all.iter().filter_map(|block| block.tabs.as_ref()).collect();
    let sum = |of: fn(&TabDeliveries) -> u64| {
        all.iter().fold(0_u64, |sum, tabs| sum.saturating_add(of(tabs)))
    };
    Some(Seen {
        tabs: *all.first()?,
        counts: DeliveryEnds::merged(all.iter().map(|tabs| &tabs.counts)),
        duplicate: sum(|tabs| tabs.duplicate),
        reordered: sum(|tabs| tabs.reordered),
        foreign: sum(|tabs| tabs.foreign),
        all,
    })
}

fn theirs(it: &Measured<'_>) -> Option<Summary> {
    merged(&it.all, |block| block.tabs.as_ref()?.delivery.as_ref())
}

fn ours(it: &Measured<'_>) -> Option<Summary> {
    merged(&it.all, |block| block.open_loop.as_ref()?.response.as_ref())
}

/// The words for the clocks of pages: the offset that is furthest from ours, and the largest bound.
fn clock(all: &[&TabDeliveries]) -> String {
    let offset = all.iter().map(|tabs| tabs.clock_offset_ns).max_by_key(|it| it.unsigned_abs());
    let (offset, bound) = (offset.unwrap_or(0), all.iter().map(|tabs| tabs.clock_bound_ns).max());
    let side = if offset < 0 { "behind" } else { "ahead" };
    let (off, bound) = (number::nanos(offset.unsigned_abs()), number::nanos(bound.unwrap_or(0)));
    format!("{off} {side}, ± {bound}")
}
