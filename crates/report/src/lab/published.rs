//! What others published beside what was found here, row for row.

use super::rows::{self, Group, Row};
use super::tables::{Section, heads, millis, spread};
use crate::benchmark::{Aggregates, Mean};
use crate::chart::Table;
use crate::escape::escape;
use crate::number::{self, MISSING};
use record::{PublishedRow, RunRecord, Summary};

/// A table for each kind of number that was published, with their notes under the last; none if nothing was.
pub(crate) fn sections(record: &RunRecord, groups: &[Group<'_>]) -> Vec<Section> {
    let Some(published) = record.lab.as_ref().and_then(|lab| lab.published.as_ref()) else {
        return Vec::new();
    };
    let mut sections: Vec<Section> = KINDS
        .iter()
        .map(|fields| Section {
            table: table(record, groups, &published.rows, fields, &published.source),
            notes: Vec::new(),
        })
        .filter(|section| !section.table.rows.is_empty())
        .collect();
    let unmatched: Vec<&str> = published
        .rows
        .iter()
        .filter(|row| here(record, groups, row).is_none())
        .map(|row| row.name.as_str())
        .collect();
    if let Some(last) = sections.last_mut() {
        if !unmatched.is_empty() {
            let names = unmatched.join(", ");
            last.notes.push(format!("Without a counterpart that was measured here: {names}."));
        }
        last.notes.push(
            "There are other machines and years: what compares is the shape and the ratios."
                .to_owned(),
        );
        last.notes.extend(published.notes.iter().cloned());
    }
    sections
}

/// The fields of a kind that were published, and the rows that have the first of them.
fn table(
    record: &RunRecord,
    groups: &[Group<'_>],
    all: &[PublishedRow],
    fields: &[Field],
    source: &str,
) -> Table {
    let has = |field: &Field, row: &PublishedRow| (field.there)(row).is_some();
    let first = fields.first();
    let fields: Vec<&Field> =
        fields.iter().filter(|field| all.iter().any(|row| has(field, row))).collect();
    let row = |row: &PublishedRow| {
        let mut cells = vec![escape(&row.name)];
        for field in &fields {
            let there = (field.there)(row).map_or_else(|| MISSING.to_owned(), as_published);
            let found = here(record, groups, row);
            let ours = found.and_then(|found| match field.here {
                Here::Of(of) => of(found),
                Here::ToBase => {
                    row.ratio?;
                    let base = here(record, groups, base(all, row)?)?;
                    Some(found.median(rows::message_ns)? / base.median(rows::message_ns)?)
                }
            });
            cells.extend([there, ours.map_or_else(|| MISSING.to_owned(), field.show)]);
        }
        cells
    };
    let mut head = vec!["published row".to_owned()];
    for field in &fields {
        head.extend(["there", "here"].map(|side| format!("{} {side}", field.name)));
    }
    Table {
        caption: escape(&format!("Published: {source}")),
        head: heads(&head.iter().map(String::as_str).collect::<Vec<_>>()),
        rows: all
            .iter()
            .filter(|row| first.is_some_and(|first| has(first, row)))
            .map(row)
            .collect(),
    }
}

/// To the digit: what differs in its fourth one may have been published as a difference.
fn as_published(value: f64) -> String {
    let text = value.to_string();
    if text.len() > PUBLISHED_MAX { number::three(value) } else { text }
}

/// The cell that is the counterpart of `row`, if it was measured.
fn here<'a>(
    record: &RunRecord,
    groups: &'a [Group<'a>],
    row: &PublishedRow,
) -> Option<&'a Row<'a>> {
    let name = row.here.as_deref()?;
    let index = record.plan.workloads.iter().position(|workload| workload.name == name)?;
    let mut all = groups.iter().flat_map(|group| &group.rows);
    all.find(|row| row.index == index && row.result.is_some())
}

/// What a published ratio is to: the last row before it whose own is 1.
fn base<'a>(all: &'a [PublishedRow], row: &PublishedRow) -> Option<&'a PublishedRow> {
    let at = all.iter().position(|other| std::ptr::eq(other, row))?;
    let is_base = |row: &&PublishedRow| row.ratio.is_some_and(|ratio| (ratio - 1.0).abs() < 1e-9);
    all[..=at].iter().rev().find(is_base)
}

/// A number that was published, and what it is here.
struct Field {
    name: &'static str,
    there: fn(&PublishedRow) -> Option<f64>,
    here: Here,
    show: fn(f64) -> String,
}

enum Here {
    Of(fn(&Row<'_>) -> Option<f64>),
    /// What a message takes by that of the published base.
    ToBase,
}

/// By how much a row is more than the base.
const RATIO: Field =
    Field { name: "ratio", there: |row| row.ratio, here: Here::ToBase, show: number::three };

/// What was published together is one table.
const KINDS: [&[Field]; 3] = [
    &[
        Field {
            name: "wall by messages, us",
            there: |row| row.wall_per_message_us,
            here: Here::Of(|row| row.median(rows::wall_per_message_us)),
            show: number::micros_cell,
        },
        RATIO,
    ],
    &[
        Field {
            name: "Min, ms",
            there: |row| row.life_min_ms,
            here: Here::Of(|row| Some(life(row)?.0)),
            show: millis,
        },
        Field {
            name: "Mean, ms",
            there: |row| row.life_mean_ms,
            here: Here::Of(|row| Some(life(row)?.1)),
            show: millis,
        },
        Field {
            name: "Max, ms",
            there: |row| row.life_max_ms,
            here: Here::Of(|row| Some(life(row)?.2)),
            show: millis,
        },
    ],
    &[
        Field {
            name: "wall, us",
            there: |row| row.wall_us,
            here: Here::Of(wall_us),
            show: number::micros_cell,
        },
        Field {
            name: "stddev, us",
            there: |row| row.wall_stddev_us,
            here: Here::Of(|row| Some(Aggregates::of(&walls(row))?.stddev)),
            show: number::micros_cell,
        },
        Field {
            name: "CPU, us",
            there: |row| row.cpu_us,
            here: Here::Of(cpu_us),
            show: number::micros_cell,
        },
        RATIO,
    ],
];

/// Shortest, mean and longest, in nanoseconds.
fn life(row: &Row<'_>) -> Option<(f64, f64, f64)> {
    let lives: Vec<&Summary> =
        row.blocks.iter().filter_map(|block| block.phases.life.as_ref()).collect();
    spread(&lives)
}

fn walls(row: &Row<'_>) -> Vec<f64> {
    let means = row.blocks.iter().filter_map(|block| Mean::of(row.workload, block));
    means.map(|mean| mean.wall_ns / 1e3).collect()
}

fn wall_us(row: &Row<'_>) -> Option<f64> {
    Some(Aggregates::of(&walls(row))?.mean)
}

fn cpu_us(row: &Row<'_>) -> Option<f64> {
    let means = row.blocks.iter().filter_map(|block| Mean::of(row.workload, block));
    let cpu: Option<Vec<f64>> = means.map(|mean| Some(mean.cpu_ns? / 1e3)).collect();
    Some(Aggregates::of(&cpu?)?.mean)
}

/// What is longer was not published so.
const PUBLISHED_MAX: usize = 9;
