//! The agents of a fleet: a line for each, over all blocks of a row.

use crate::document::{Cell, Column, Table};
use crate::measured::Measured;
use crate::number::{self, Unit};
use record::{AgentPart, AgentTask, Block};
use std::collections::BTreeMap;

/// Each agent with its parts, what it sent, and how far its machine can be trusted. Times and shares are those of its
/// worst block; counts are sums, and a watch, which sends nothing, has none. Empty where one machine measured.
pub(crate) fn table(it: &Measured<'_>) -> Table {
    let columns = vec![
        Column::new("agent", Unit::Words),
        Column::new("parts that count", Unit::Words),
        Column::new("sent", Unit::Count),
        Column::new("ok", Unit::Count),
        Column::new("delivered", Unit::Count),
        Column::new("own p99", Unit::Time),
        Column::new("began late", Unit::Time),
        Column::new("clock off by", Unit::Time),
        Column::new("send lag p99", Unit::Time),
        Column::new("busiest worker", Unit::Share),
        Column::new("stalls", Unit::Count),
        Column::new("throttled", Unit::Count),
        Column::new("sent again", Unit::Count),
    ];
    let mut by_name: BTreeMap<&str, Vec<&AgentPart>> = BTreeMap::new();
    for part in it.all.iter().flat_map(|block| &block.agents) {
        by_name.entry(&part.agent).or_default().push(part);
    }
    let mut table = Table::new("", columns);
    for (name, parts) in &by_name {
        let counting = parts.iter().filter(|part| part.is_trusted()).count();
        let task = parts.first().map_or(AgentTask::Load, |part| part.task);
        let name = match task {
            AgentTask::Load => (*name).to_owned(),
            AgentTask::Probe => format!("{name} (prober)"),
            AgentTask::Watch => format!("{name} (watch)"),
        };
        let sends = task != AgentTask::Watch;
        let most = |of: fn(&AgentPart) -> Option<u64>| {
            let most = parts.iter().filter_map(|part| of(part)).max();
            Cell::number(most.map(number::float))
        };
        let sum = |of: fn(&AgentPart) -> u64| {
            let sum = parts.iter().fold(0_u64, |sum, part| sum.saturating_add(of(part)));
            Cell::number(sends.then(|| number::float(sum)))
        };
        let busy = parts.iter().filter_map(|part| part.busiest_worker_fraction);
        table.row(vec![
            Cell::words(name),
            Cell::words(format!("{counting} of {}", parts.len())),
            sum(|part| part.sent.unwrap_or(0)),
            sum(|part| part.ok.unwrap_or(0)),
            delivered(parts),
            most(|part| part.p99_ns),
            most(|part| part.late_ns),
            most(|part| part.clock_bound_ns),
            most(|part| part.send_lag_p99_ns),
            Cell::number(busy.reduce(f64::max)),
            sum(|part| part.stalls),
            sum(|part| part.throttled_periods),
            sum(|part| part.retransmitted_segments),
        ]);
    }
    let note = "agents: times and shares are those of each one's worst block; a part that does not count is left out of \
                the numbers above";
    let table = table.noted((!by_name.is_empty()).then(|| note.to_owned()));
    table.noted(who_queues(it))
}

/// The deliveries to the receivers of an agent; without rooms there is no such column.
fn delivered(parts: &[&AgentPart]) -> Cell {
    let all = parts.iter().filter_map(|part| part.delivered);
    Cell::number(all.reduce(u64::saturating_add).map(number::float))
}

/// The p99 of the load beside that of a prober in the same blocks, and what follows from the two.
fn who_queues(it: &Measured<'_>) -> Option<String> {
    let pair = |block: &&Block| {
        let is_prober = |part: &&AgentPart| part.task == AgentTask::Probe && part.is_trusted();
        let prober = block.agents.iter().filter(is_prober).find_map(|part| part.p99_ns)?;
        Some((number::float(block.times()?.p99_ns?), number::float(prober)))
    };
    let (load, prober): (Vec<f64>, Vec<f64>) = it.all.iter().filter_map(pair).unzip();
    let (load, prober) = (stats::median(&load).ok()?, stats::median(&prober).ok()?);
    let reading = if load >= APART * prober {
        "the load queues in its own generators or connections, not only at the server"
    } else {
        "a light client waits about as long, so the times are the server's and not the generators'"
    };
    let of = |ns: f64| number::micros(ns / 1e3);
    Some(format!("prober: its p99 is {} beside {} of the load: {reading}", of(prober), of(load)))
}

/// The ratio from which on the p99 of the load counts as different from that of a prober.
const APART: f64 = 2.0;
