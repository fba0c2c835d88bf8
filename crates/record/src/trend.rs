//! Trends: how a number of one row moved from record to record, and where it changed to another level.
//!
//! Numbers of different machines, experiments or loads are never in one series. Each change names what else changed
//! there: the version of wirebench, the kernel, the commit of the user's repository.

use crate::{Entry, EntryRow, Level};
use serde::Serialize;
use spec::Metric;
use std::collections::BTreeMap;

/// A number of one row across the records of one machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trend {
    /// The name of the experiment.
    pub experiment: String,
    /// The name of the row.
    pub row: String,
    /// The machine.
    pub machine: String,
    /// The conditions of the load, as [`EntryRow::conditions`].
    pub conditions: String,
    /// The number.
    pub metric: Metric,
    /// The records that have it, the oldest first.
    pub records: usize,
    /// The start of the first of them.
    pub from: String,
    /// The start of the last one.
    pub to: String,
    /// The median since the last change.
    pub now: f64,
    /// The changes, the oldest first.
    pub changes: Vec<TrendChange>,
}

/// A place where a number changes to another level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrendChange {
    /// The first record after it.
    pub id: String,
    /// The start of that record.
    pub at: String,
    /// The median from the change before it up to this one.
    pub before: f64,
    /// The median from it on, up to the next one.
    pub after: f64,
    /// The circumstances that differ between the third record before it and the third after it: the true place may be
    /// two records off.
    pub with: Vec<Changed>,
}

/// A circumstance that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Its name: `version`, `kernel`, `commit`.
    pub what: &'static str,
    /// The value before.
    pub from: String,
    /// The value after.
    pub to: String,
}

/// The trends of all numbers that at least [`RECORDS_MIN`] of `entries` have for the same row under the same load on
/// the same machine. Invalid rows are left out. `entries` may be in any order.
pub fn trends(entries: &[Entry]) -> Vec<Trend> {
    let mut entries: Vec<&Entry> = entries.iter().collect();
    entries.sort_by_key(|entry| (&entry.started_at, &entry.id));
    let mut series: BTreeMap<[&str; 4], Vec<(&Entry, &EntryRow)>> = BTreeMap::new();
    for entry in entries {
        for row in entry.rows.iter().filter(|row| row.verdict < Level::Invalid) {
            let key = [&entry.experiment, &row.name, &entry.machine, &row.conditions];
            series.entry(key.map(String::as_str)).or_default().push((entry, row));
        }
    }
    let all = series.into_iter().flat_map(|([experiment, row, machine, conditions], points)| {
        EntryRow::METRICS.into_iter().filter_map(move |metric| {
            let known = points.iter().map(|&(entry, row)| Some((entry, row.number(metric)?)));
            let points: Vec<(&Entry, f64)> = known.flatten().collect();
            let ([(first, _), ..], [.., (last, _)]) = (&points[..], &points[..]) else {
                return None;
            };
            let (now, changes) = changes(&points)?;
            Some(Trend {
                experiment: experiment.to_owned(),
                row: row.to_owned(),
                machine: machine.to_owned(),
                conditions: conditions.to_owned(),
                metric,
                records: points.len(),
                from: first.started_at.clone(),
                to: last.started_at.clone(),
                now,
                changes,
            })
        })
    });
    all.collect()
}

/// The median after the last change, and all changes; `None` if there are too few points.
fn changes(points: &[(&Entry, f64)]) -> Option<(f64, Vec<TrendChange>)> {
    let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
    if values.len() < RECORDS_MIN {
        return None;
    }
    let found = stats::change_points(&values, SEED);
    let ends = found.iter().copied().chain([values.len()]);
    let starts = [0].into_iter().chain(found.iter().copied());
    let levels = starts.zip(ends).map(|(start, end)| stats::median(&values[start..end]).ok());
    let levels = levels.collect::<Option<Vec<f64>>>()?;
    let change = |(at, levels): (&usize, &[f64])| {
        let first = points[*at].0;
        let around = [at.saturating_sub(1 + NEAR), (at + NEAR).min(points.len() - 1)];
        let [last, next] = around.map(|at| points[at].0);
        TrendChange {
            id: first.id.clone(),
            at: first.started_at.clone(),
            before: levels[0],
            after: levels[1],
            with: changed(last, next),
        }
    };
    let changes = found.iter().zip(levels.windows(2)).map(change).collect();
    Some((*levels.last()?, changes))
}

/// The circumstances that differ between two records.
fn changed(before: &Entry, after: &Entry) -> Vec<Changed> {
    let of = |entry: &Entry| {
        [
            ("version", Some(entry.version.clone())),
            ("kernel", entry.kernel.clone()),
            ("commit", entry.repository.clone()),
        ]
    };
    let pairs = of(before).into_iter().zip(of(after));
    let differ = pairs.filter_map(|((what, from), (_, to))| {
        let word = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
        (from != to).then(|| Changed { what, from: word(from), to: word(to) })
    });
    differ.collect()
}

/// The least number of records for a trend: a change needs [`stats::SEGMENT_MIN`] on either side.
pub const RECORDS_MIN: usize = 2 * stats::SEGMENT_MIN;
/// The number of records by which a change may be found too early or too late.
const NEAR: usize = 2;
/// Arbitrary but fixed: the same history gives the same answer.
const SEED: u64 = 7;
