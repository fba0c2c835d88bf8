//! One suite for every kind of store, and the faults that each kind may meet.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect ends there")]

mod files;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "postgres")]
mod postgres_server;
mod suite;

use record::{Entry, Level, RunRecord, Verdict};
use std::path::Path;

/// A record that was started in the given second of a year.
fn record(second: u32, change: impl FnOnce(&mut RunRecord)) -> (Entry, String) {
    let mut record = RunRecord::from_json(RECORD).unwrap();
    let (day, hour) = (second / 86_400, second / 3_600 % 24);
    record.started_at = format!(
        "2026-{:02}-{:02}T{hour:02}:{:02}:{:02}Z",
        day / 28 + 1,
        day % 28 + 1,
        second / 60 % 60,
        second % 60
    );
    record.verdict = Some(Verdict { level: Level::Degraded, ..Verdict::default() });
    change(&mut record);
    let json = record.to_json();
    (Entry::of(&record, store::id(&json), Some(Path::new("records/it.json"))), json)
}

/// A record of the first version of the format.
const RECORD: &str = include_str!("../../../record/tests/it/version_1.json");
