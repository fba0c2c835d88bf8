//! What an open loop has besides: response times beside what they are made of, what was offered and what was achieved,
//! what became of replies that can be told apart.

use crate::number::{self, MISSING};
use crate::page::{Page, Tone};
use record::{Arrival, Block, Identity, OpenLoop, Sessions, Summary, Verify, Workload};
use stats::Histogram;

/// Response times first; service times and lags beside them.
///
/// `response` is what the results have of all blocks together, if they do.
pub(crate) fn times(page: &mut Page, blocks: &[&Block], response: Option<&Summary>) {
    let columns: Vec<(&str, Summary)> = COLUMNS
        .into_iter()
        .filter_map(|(name, of)| {
            let known = response.filter(|_| name == RESPONSE).cloned();
            Some((name, known.or_else(|| merged(blocks, of))?))
        })
        .collect();
    if columns.is_empty() {
        return page.pair(RESPONSE, "no message came to its end");
    }
    let tone = |name: &str| if name == RESPONSE { Tone::Strong } else { Tone::Plain };
    let cells = columns.iter().map(|(name, _)| (tone(name), (*name).to_owned()));
    page.row("", CELL_COLUMNS, cells);
    for (row, _, of) in ROWS {
        let cell =
            |summary: &Summary| of(summary).map_or_else(|| MISSING.to_owned(), number::nanos);
        let cells = columns.iter().map(|(name, summary)| (tone(name), cell(summary)));
        page.row(row, CELL_COLUMNS, cells);
    }
    let mut told: Vec<&str> = Vec::new();
    for (row, field, of) in ROWS {
        for (name, summary) in columns.iter().filter(|(_, summary)| of(summary).is_none()) {
            let reason = summary.missing.get(field).map_or("too few messages", String::as_str);
            if !told.contains(&reason) {
                page.pair("", &format!("{MISSING} {name} {row}: {reason}"));
                told.push(reason);
            }
        }
    }
    for (name, summary) in columns.iter().filter(|(_, summary)| summary.saturated > 0) {
        page.pair("", &format!("{name}: {} above one hour, shown as that", summary.saturated));
    }
}

/// What the user waits: the headline.
const RESPONSE: &str = "response";
/// How wide a column of the table is, the space before it included.
const CELL_COLUMNS: usize = 12;

type Times = fn(&OpenLoop) -> Option<&Summary>;
const COLUMNS: [(&str, Times); 5] = [
    (RESPONSE, |times| times.response.as_ref()),
    ("service", |times| times.service.as_ref()),
    ("send lag", |times| times.send_lag.as_ref()),
    ("own share", |times| times.own_share.as_ref()),
    ("true delay", |times| times.true_delay.as_ref()),
];

type Percentile = fn(&Summary) -> Option<u64>;
const ROWS: [(&str, &str, Percentile); 5] = [
    ("p50", "p50_ns", |summary| summary.p50_ns),
    ("p90", "p90_ns", |summary| summary.p90_ns),
    ("p99", "p99_ns", |summary| summary.p99_ns),
    ("p99.9", "p99_9_ns", |summary| summary.p99_9_ns),
    ("max", "max_ns", |summary| Some(summary.max_ns)),
];

/// The times of all blocks together; `None` if there are none, or if they cannot be read.
fn merged(blocks: &[&Block], of: Times) -> Option<Summary> {
    let mut all = blocks.iter().filter_map(|block| of(block.open_loop.as_ref()?));
    match (all.next()?, all.next()) {
        (only, None) => Some(only.clone()),
        (first, Some(second)) => {
            let mut merged = Histogram::new();
            for summary in [first, second].into_iter().chain(all) {
                merged.add(&summary.histogram().ok()?);
            }
            Summary::of(&merged)
        }
    }
}

/// What was asked a second, what was offered of it, what was sent, and what came back.
pub(crate) fn rate(page: &mut Page, workload: &Workload, blocks: &[&Block]) {
    let sum = |of: fn(&Block) -> u64| blocks.iter().map(|block| number::float(of(block))).sum();
    let time: f64 = blocks.iter().map(|block| seconds(block)).sum();
    let (offered, sent): (f64, f64) =
        (sum(|block| block.counts.planned), sum(|block| block.counts.sent));
    let replies: f64 = blocks.iter().map(|block| block.messages_per_s * seconds(block)).sum();
    let each = |count: f64| number::per_second(count / time);
    let of_offered = if offered > 0.0 { replies / offered } else { f64::NAN };
    let (asked, offered, sent) = (asked(workload), each(offered), each(sent));
    page.pair("rate", &format!("asked {asked}, offered {offered}, sent {sent}"));
    let share = number::percent(of_offered);
    page.pair("", &format!("achieved {} ({share} of offered)", each(replies)));
}

/// `2.00 k/s`, or sessions of a second.
fn asked(workload: &Workload) -> String {
    match workload.arrival {
        Arrival::Open { messages_per_s, .. } => number::per_second(messages_per_s),
        Arrival::Bots { every_ns, .. } => {
            let rate = number::float(workload.connections) * 1e9 / number::float(every_ns);
            number::per_second(rate)
        }
        Arrival::PartlyOpen { sessions_per_s, .. } => {
            format!("{} sessions", number::per_second(sessions_per_s))
        }
        Arrival::Closed | Arrival::ClosedBots { .. } => MISSING.to_owned(),
    }
}

fn seconds(block: &Block) -> f64 {
    number::float(block.measured_ns) / 1e9
}

/// What became of sessions and of replies that can be told apart.
pub(crate) fn outcomes(page: &mut Page, workload: &Workload, blocks: &[&Block]) {
    let of_sessions = blocks.iter().filter_map(|block| block.open_loop.as_ref()?.sessions);
    let sessions = of_sessions.reduce(|one, other| Sessions {
        planned: one.planned.saturating_add(other.planned),
        started: one.started.saturating_add(other.started),
        completed: one.completed.saturating_add(other.completed),
    });
    if let Some(Sessions { planned, started, completed }) = sessions {
        page.pair(
            "sessions",
            &format!("planned {planned}, began {started}, completed {completed}"),
        );
    }
    let identities = blocks.iter().filter_map(|block| block.identity);
    let identity = identities.reduce(|one, other| Identity {
        lost: one.lost.saturating_add(other.lost),
        duplicate: one.duplicate.saturating_add(other.duplicate),
        reordered: one.reordered.saturating_add(other.reordered),
        corrupted: one.corrupted.saturating_add(other.corrupted),
    });
    let text = match identity {
        Some(Identity { lost, duplicate, reordered, corrupted }) => {
            format!(
                "lost {lost}, duplicate {duplicate}, reordered {reordered}, corrupted {corrupted}"
            )
        }
        None if workload.verify == Verify::Sequence => {
            "in the order of their events: one out of its turn ends its bot".to_owned()
        }
        None => "not told apart: messages carry no header".to_owned(),
    };
    page.pair("replies", &text);
}
