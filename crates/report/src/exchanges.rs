//! The messages of a conversation by kind, its streams, and unasked messages by rule: a table for each.

use crate::document::{Cell, Column, Table};
use crate::measured::{Group, Measured};
use crate::number::{self, Unit};
use record::{Counts, Exchange, Parts, PushCount, Summary};
use stats::Merge;

/// All of these tables; those that have nothing to say are empty.
pub(crate) fn all(it: &Measured<'_>) -> [Table; 3] {
    [exchanges(it), streams(it), pushes(it)]
}

/// The messages of all rows of a group that hold a conversation, each counted once by its end: planned is the sum of
/// sent and unsent, and sent that of the columns after them. Empty without such a row.
pub(crate) fn ends(group: &Group<'_>) -> Table {
    let mut columns = vec![Column::new("messages", Unit::Words)];
    for head in
        ["planned", "sent", "unsent", "ok", "refused", "error", "timed out", "in flight at end"]
    {
        columns.push(Column::new(head, Unit::Count));
    }
    let mut table = Table::new("", columns);
    let holds = |it: &&Measured<'_>| it.all.iter().any(|block| !block.exchanges.is_empty());
    for it in group.rows.iter().filter(holds) {
        let Counts {
            planned, sent, unsent, ok, error, refused, timed_out, in_flight_at_end, ..
        } = Counts::merged(it.all.iter().map(|block| &block.counts));
        let ends = [planned, sent, unsent, ok, refused, error, timed_out, in_flight_at_end];
        let mut cells = vec![Cell::words(&it.name).judged(it.trust.level)];
        cells.extend(ends.map(|count| Cell::Number(number::float(count), None)));
        table.row(cells);
    }
    table
}

/// The times of each kind of message: response times in an open loop, round trips in a closed one. Empty without a
/// conversation.
fn exchanges(it: &Measured<'_>) -> Table {
    let time = if it.row.is_closed() { "round trip" } else { "response" };
    let mut columns = vec![Column::new("exchange", Unit::Words)];
    for head in ["sent", "ok", "refused", "error", "timed out"] {
        columns.push(Column::new(head, Unit::Count));
    }
    for percentile in ["p50", "p99"] {
        columns.push(Column::new(format!("{time} {percentile}"), Unit::Time));
    }
    columns.push(Column::new("refused p50", Unit::Time));
    let mut table = Table::new("", columns);
    let mut notes = Vec::new();
    for kinds in by_name(it, |block| &block.exchanges, |kind: &Exchange| &kind.name) {
        let Counts { sent, ok, refused, error, timed_out, .. } =
            Counts::merged(kinds.iter().map(|kind| &kind.counts));
        let of = |kind: &Exchange| {
            if it.row.is_closed() { &kind.service } else { &kind.response }.clone()
        };
        let times = merged(kinds.iter().filter_map(|kind| of(kind)));
        let refusals = merged(kinds.iter().filter_map(|kind| kind.refused.clone()));
        let mut cells = vec![Cell::words(&kinds[0].name)];
        cells.extend([sent, ok].map(|count| Cell::Number(number::float(count), None)));
        // Columns of zeros are left out.
        let failed = |count: u64| Cell::number((count > 0).then(|| number::float(count)));
        cells.extend([refused, error, timed_out].map(failed));
        cells.push(p50(times.as_ref()));
        cells.push(p99(times.as_ref()));
        cells.push(p50(refusals.as_ref()));
        table.row(cells);
        if kinds[0].no_reply {
            notes.push(format!("{} has no reply: it is ok once it is sent", kinds[0].name));
        }
    }
    table.noted(notes)
}

/// The replies that come in parts. Empty where none do.
fn streams(it: &Measured<'_>) -> Table {
    // With the ready-made conversation an event that counts has one token.
    let events = if it.row.conversation() == Some("openai-stream") { "tokens" } else { "events" };
    let columns = vec![
        Column::new("stream", Unit::Words),
        Column::new(events, Unit::Count),
        Column::new(format!("{events}/s"), Unit::Rate),
        Column::new("of one stream", Unit::Rate),
        Column::new("resumed", Unit::Count),
        Column::new("first part p50", Unit::Time),
        Column::new("first part p99", Unit::Time),
        Column::new("between p50", Unit::Time),
        Column::new("between p99", Unit::Time),
    ];
    let mut table = Table::new("", columns);
    for kinds in by_name(it, |block| &block.exchanges, |kind: &Exchange| &kind.name) {
        let parts: Vec<&Parts> = kinds.iter().filter_map(|kind| kind.parts.as_ref()).collect();
        let count = parts.iter().fold(0_u64, |sum, parts| sum.saturating_add(parts.count));
        let resumed = parts.iter().fold(0_u64, |sum, parts| sum.saturating_add(parts.resumed));
        if count == 0 {
            continue;
        }
        let first = merged(parts.iter().filter_map(|parts| parts.first.clone()));
        let between = merged(parts.iter().filter_map(|parts| parts.between.clone()));
        table.row(vec![
            Cell::words(&kinds[0].name),
            Cell::Number(number::float(count), None),
            Cell::Number(number::float(count) / it.seconds(), None),
            Cell::number(between.as_ref().and_then(Summary::per_s)),
            Cell::Number(number::float(resumed), None),
            p50(first.as_ref()),
            p99(first.as_ref()),
            p50(between.as_ref()),
            p99(between.as_ref()),
        ]);
    }
    table
}

/// Unasked messages, by rule. Empty without rules. The times of a room's deliveries are those of the block.
fn pushes(it: &Measured<'_>) -> Table {
    let rules = by_name(it, |block| &block.pushes, |rule: &PushCount| &rule.name);
    let is_timed = rules.iter().flatten().any(|rule| rule.delivery.is_some());
    let mut columns = vec![Column::new("push", Unit::Words), Column::new("count", Unit::Count)];
    if is_timed {
        let times = ["delivery p50", "delivery p99"];
        columns.extend(times.map(|name| Column::new(name, Unit::Time)));
    }
    let mut table = Table::new("", columns);
    for rules in rules {
        let count = rules.iter().fold(0_u64, |sum, rule| sum.saturating_add(rule.count));
        let delivery = merged(rules.iter().filter_map(|rule| rule.delivery.clone()));
        let mut cells = vec![Cell::words(&rules[0].name), Cell::Number(number::float(count), None)];
        if is_timed {
            cells.extend([p50(delivery.as_ref()), p99(delivery.as_ref())]);
        }
        table.row(cells);
    }
    table
}

/// The entries of a row's blocks grouped by name, in the order of their first appearance.
fn by_name<'a, T>(
    it: &Measured<'a>,
    of: impl Fn(&'a record::Block) -> &'a Vec<T>,
    name: impl Fn(&T) -> &String,
) -> Vec<Vec<&'a T>> {
    let mut all: Vec<Vec<&'a T>> = Vec::new();
    for one in it.all.iter().flat_map(|block| of(block)) {
        match all.iter_mut().find(|same| name(same[0]) == name(one)) {
            Some(same) => same.push(one),
            None => all.push(vec![one]),
        }
    }
    all
}

/// All of them together; `None` if there are none, or if they cannot be read.
fn merged(mut all: impl Iterator<Item = Summary>) -> Option<Summary> {
    let first = all.next()?;
    let mut rest = all.peekable();
    if rest.peek().is_none() {
        return Some(first);
    }
    let mut merged = first.histogram().ok()?;
    for summary in rest {
        merged.add(&summary.histogram().ok()?);
    }
    Summary::of(&merged)
}

fn p50(times: Option<&Summary>) -> Cell {
    Cell::number(times.and_then(|times| times.p50_ns).map(number::float))
}

fn p99(times: Option<&Summary>) -> Cell {
    Cell::number(times.and_then(|times| times.p99_ns).map(number::float))
}
