//! Deliveries of messages that were published in rooms: their sums, and the times of entire messages.

use crate::document::{Cell, Column, Table};
use crate::measured::{Group, Measured, merged};
use crate::number::{self, Unit, percent};
use crate::row::Row;
use record::{Block, Deliveries, DeliveryCounts, DeliveryEnds, Estimate, Summary};
use stats::Merge;

const REPLAYED: &str = "replayed";
const RETURNED: &str = "returned";
const RECOVERED: &str = "recovery";
pub(crate) const FIRST: &str = "first receiver";
const MEDIAN: &str = "median receiver";
pub(crate) const LAST: &str = "last receiver";
const SPREAD: &str = "spread";

/// The names of the [`times`].
pub(crate) const TIMES: [&str; 7] = [FIRST, MEDIAN, LAST, SPREAD, REPLAYED, RETURNED, RECOVERED];

/// The times of messages until their receivers had them, by their names; none without rooms.
pub(crate) fn times(it: &Measured<'_>) -> Vec<(&'static str, Summary)> {
    type Of = fn(&Deliveries) -> Option<&Summary>;
    let all: [(&str, Of); 7] = [
        (FIRST, |all| all.first.as_ref()),
        (MEDIAN, |all| all.median.as_ref()),
        (LAST, |all| all.last.as_ref()),
        (SPREAD, |all| all.spread.as_ref()),
        (REPLAYED, |all| all.replayed.as_ref()),
        (RETURNED, |all| all.returned.as_ref()),
        (RECOVERED, |all| all.recovered.as_ref()),
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

/// The words for how far the times of rooms that agents share can be wrong; `None` where one clock timed each delivery.
pub(crate) fn clocks(it: &Measured<'_>) -> Option<String> {
    let known = |block: &Block| {
        let bound = block.deliveries.as_ref()?.clock_bound_ns?;
        Some((bound, block.load_parts().count()))
    };
    let (bound, agents) = it.all.iter().filter_map(|block| known(block)).max()?;
    Some(format!(
        "clocks of {agents} agents agree within {}: delivery times may be wrong by that; first, median and last \
         receiver are those of each agent",
        number::micros(number::float(bound) / 1e3)
    ))
}

/// The deliveries of the rows of a group, and the times of entire messages; empty without rooms.
pub(crate) fn table(group: &Group<'_>) -> Table {
    let mut columns = vec![Column::new("deliveries", Unit::Words)];
    for head in
        ["published", "owed", "delivered", "missing", "duplicate", "out of order", "foreign"]
    {
        columns.push(Column::new(head, Unit::Count));
    }
    // Columns of receivers that are slow, or leave, appear only if some do.
    let apart = ["slow owed", "slow missing", "away owed", "away missing", "edge", "caught up"];
    for head in apart {
        columns.push(Column::new(head, Unit::Count));
    }
    for head in [
        "first p50",
        "median p50",
        "last p50",
        "last p99",
        "spread p50",
        "recovery p50",
        "recovery",
        "recovery max",
        "ready again",
    ] {
        columns.push(Column::new(head, Unit::Time));
    }
    let mut table = Table::new("", columns);
    for it in &group.rows {
        let Some(counts) = counts(it) else { continue };
        let DeliveryCounts { published, owed, delivered, duplicate, reordered, foreign, .. } =
            counts;
        let name = Cell::words(format!("{}{}", it.name, group.suffix()));
        let mut cells = vec![name.judged(it.trust.level)];
        cells.extend(
            [published, owed, delivered].map(|count| Cell::Number(number::float(count), None)),
        );
        // Columns of zeros are left out.
        let fault = |count: u64| Cell::number((count > 0).then(|| number::float(count)));
        cells.extend([counts.missing(), duplicate, reordered, foreign].map(fault));
        let DeliveryCounts { slow, away, edge, caught_up, .. } = counts;
        let missing = |ends: DeliveryEnds| ends.owed - ends.delivered.min(ends.owed);
        let gone = [away.owed, missing(away), edge.owed, caught_up];
        cells.extend([slow.owed, missing(slow)].into_iter().chain(gone).map(fault));
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
            time(RECOVERED, |it| it.p50_ns),
            Cell::estimate(it.recovery().as_ref().map(Estimate::of)),
            time(RECOVERED, |it| Some(it.max_ns)),
            Cell::number(it.median(ready_again)),
        ]);
        table.row(cells);
    }
    let named = |it: &Measured<'_>| Some(format!("{}: {}", it.name, clocks(it)?));
    table.noted(group.rows.iter().filter_map(named))
}

/// The time from the kill of a server until it was ready again.
pub(crate) fn ready_again(_: Row<'_>, block: &Block) -> Option<f64> {
    block.restart.map(|restart| number::float(restart.ready_after_ns))
}

/// The recovery of receivers that were all torn off, or whose server, or a part of it, was killed: the time until 99 %
/// of them were back in each block, and that of all of them; empty without a recovery.
pub(crate) fn recovery(it: &Measured<'_>) -> Vec<String> {
    let Some(counts) = counts(it).filter(|counts| counts.torn_off > 0) else { return Vec::new() };
    let DeliveryCounts { torn_off, recovered, away, edge, unacknowledged, .. } = counts;
    let part = it.row.restart_of();
    let killed = part.unwrap_or("the server");
    // Nobody has left where only a part was killed.
    let back = if part.is_some() { "reached again" } else { "back" };
    let mut lines = Vec::new();
    if let Some(ready) = it.median(ready_again) {
        lines.push(format!("{killed} was killed, and ready again after {}", number::time(ready)));
    }
    let times = times(it).into_iter().find(|(name, _)| *name == RECOVERED);
    let times = times.and_then(|(_, times)| times.histogram().ok());
    let back_by = |place: u64| Some(number::nanos(times.as_ref()?.at_place(place)?.0));
    let of_block = |block: &Block| block.deliveries.as_ref().map_or(0, |all| all.counts.torn_off);
    let receivers = match it.all.iter().filter(|block| of_block(block) > 0).count() {
        1 => format!("{torn_off} receivers"),
        blocks => format!("{torn_off} receivers in {blocks} blocks"),
    };
    let half = match back_by(torn_off.div_ceil(2)) {
        Some(time) => format!("half of {receivers} were {back} after {time}"),
        None => format!("fewer than half of {receivers} were {back}"),
    };
    // All blocks together may have one although a block has none, and the number needs one from each.
    let of_99 = match it.recovery() {
        Some(number) => {
            let words = number::interval(Unit::Time, number.value(), number.interval());
            format!("99 % after {words}")
        }
        None => "99 % not in each block".to_owned(),
    };
    let all = match back_by(torn_off) {
        Some(time) => format!("all after {time}"),
        None => format!("not all were {back}"),
    };
    lines.push(format!("{half}, {of_99}, {all}"));
    let missed = away.lost.saturating_add(edge.lost);
    let caught_up = match counts.restored {
        0 => String::new(),
        _ => format!(", and {} were caught up", counts.caught_up),
    };
    let missed = match part {
        Some(_) => format!("{} deliveries did not come", counts.missing()),
        None => format!("{missed} deliveries were missed by those who were gone"),
    };
    lines.push(format!("{recovered} of them within the measured time; {missed}{caught_up}"));
    if unacknowledged > 0 {
        lines.push(format!(
            "{unacknowledged} messages were not acknowledged when {killed} was killed"
        ));
    }
    lines
}

/// The sums, and deliveries that arrived besides.
pub(crate) fn lines(it: &Measured<'_>) -> Vec<String> {
    let Some(counts) = counts(it) else { return Vec::new() };
    let counts = &counts;
    let DeliveryCounts { published, owed, delivered, lost, cut, in_flight_at_end, .. } = counts;
    let DeliveryCounts { duplicate, reordered, early, foreign, incomplete, .. } = counts;
    let mut lines = vec![
        format!("published {published} messages, {owed} deliveries owed"),
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
    lines.extend(apart(counts, it.row.restart_of().is_some()));
    let broken = counts.check().err();
    lines.extend(broken.map(|error| format!("ERROR: the counts do not add up: {error}")));
    lines
}

/// The deliveries that are counted separately: to slow receivers, and to those that were gone. `stay` is true if
/// receivers stayed while a part of their server was killed.
fn apart(counts: &DeliveryCounts, stay: bool) -> Vec<String> {
    let DeliveryCounts { slow, away, edge, absences, torn_off, recovered, attempts, .. } = counts;
    let DeliveryCounts { restored, caught_up, .. } = counts;
    let mut lines = Vec::new();
    if !slow.is_none() {
        let DeliveryEnds { owed, delivered, lost, cut, in_flight_at_end } = slow;
        lines.push(format!(
            "slow receivers: owed {owed} = delivered {delivered} + lost {lost} + cut off {cut} + in flight {in_flight_at_end}"
        ));
        lines.push(format!("slow receivers: the relay {}", policy(slow)));
    }
    let torn_off = if stay { 0 } else { *torn_off };
    let leaves = absences + torn_off;
    if leaves + attempts > 0 {
        lines.push(format!(
            "away: owed {} = replayed {} + lost {}; edge: owed {} = delivered {} + lost {}",
            away.owed, away.delivered, away.lost, edge.owed, edge.delivered, edge.lost
        ));
        lines.push(format!(
            "owed to all {} = present {} + away {} + edge {}",
            counts.whole() - slow.owed,
            counts.owed,
            away.owed,
            edge.owed
        ));
        let storm = match torn_off {
            0 => String::new(),
            _ => format!("{torn_off} torn off at once, {recovered} of them back in time, "),
        };
        lines.push(format!("{absences} absences, {storm}{attempts} connects to come back"));
    }
    if *restored > 0 {
        lines.push(format!(
            "{restored} of these were restored by the server: {caught_up} deliveries were caught up, {} of owed",
            percent(number::float(*caught_up) / number::float(counts.owed.max(1)))
        ));
    }
    lines
}

/// The words for what a relay did with the messages of receivers that did not read.
fn policy(slow: &DeliveryEnds) -> String {
    let DeliveryEnds { owed, delivered, lost, cut, in_flight_at_end } = slow;
    let did = [
        (*delivered, "kept"),
        (*lost, "dropped"),
        (*cut, "lost with the connections that it ended"),
        (*in_flight_at_end, "had not handed over when the drain ended"),
    ];
    let share = |count: u64| percent(number::float(count) / number::float((*owed).max(1)));
    let parts: Vec<String> = did
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{what} {}", share(*count)))
        .collect();
    parts.join(", ")
}
