//! A made-up history, whose changes are known.

use crate::good;
use record::{Changed, Entry, EntryRow, Kind, Level, Number, RowVerdict, Trend, Verdict, trends};
use spec::Metric;
use units::Random;

/// The entry of record number `index` of a machine, with this p50.
fn entry(index: usize, p50_ns: f64) -> Entry {
    Entry {
        id: format!("{index:016}"),
        file: None,
        tags: Vec::new(),
        baselines: Vec::new(),
        started_at: format!("2026-{:02}-{:02}T00:00:00Z", index / 28 + 1, index % 28 + 1),
        kind: Kind::Run,
        experiment: "chat".to_owned(),
        machine: "A processor, 2 CPUs".to_owned(),
        kernel: Some("6.1".to_owned()),
        version: "0.1.0".to_owned(),
        repository: Some("a".repeat(40)),
        verdict: Level::Trusted,
        rows: vec![EntryRow { name: "ws".to_owned(), p50_ns: Some(p50_ns), ..EntryRow::default() }],
    }
}

/// A history of levels, each with its number of records, which vary by 1 %.
fn history(levels: &[(usize, f64)], seed: u64) -> Vec<Entry> {
    let mut random = Random::new(seed);
    let all = levels.iter().flat_map(|(count, level)| vec![*level; *count]);
    let noisy = all.map(|level| {
        let noise = (0..12).map(|_| random.unit_f64()).sum::<f64>() - 6.0;
        level * (1.0 + 0.01 * noise)
    });
    noisy.collect::<Vec<f64>>().into_iter().enumerate().map(|(at, p50)| entry(at, p50)).collect()
}

#[test]
fn a_history_has_no_number_that_is_no_result() {
    let row = |level, numbers: &[(Number, Level)]| {
        let mut record = good::open();
        record.results = record::results(&record.plan, &record.blocks);
        let row = RowVerdict { level, numbers: numbers.iter().copied().collect() };
        record.verdict = Some(Verdict { rows: vec![row], ..Verdict::default() });
        let row = Entry::of(&record, String::new(), None).rows.remove(0);
        (row.p50_ns.is_some(), row.p99_ns.is_some(), row.messages_per_s.is_some())
    };
    use Level::{Degraded, Invalid, Trusted};
    assert_eq!(row(Trusted, &[]), (true, true, true));
    assert_eq!(row(Trusted, &[(Number::P99, Degraded)]), (true, true, true));
    assert_eq!(row(Trusted, &[(Number::P99, Invalid)]), (true, false, true));
    assert_eq!(row(Invalid, &[]), (false, false, false));
}

#[test]
fn three_changes_are_found_with_what_changed_beside_them() {
    let mut all = history(&[(90, 1e6), (70, 1.05e6), (60, 0.98e6), (80, 1.04e6)], 1);
    all[90..].iter_mut().for_each(|it| it.version = "0.2.0".to_owned());
    all[160..].iter_mut().for_each(|it| it.repository = Some("b".repeat(40)));
    all[220..].iter_mut().for_each(|it| it.kernel = None);
    all.reverse();
    let found = trends(&all);
    let [Trend { metric: Metric::P50, records: 300, changes, .. }] = &found[..] else {
        panic!("{found:?}")
    };
    let changed = |what, from: &str, to: &str| {
        vec![Changed { what, from: from.to_owned(), to: to.to_owned() }]
    };
    let expected = [
        (90, 1.05, changed("version", "0.1.0", "0.2.0")),
        (160, 0.98 / 1.05, changed("commit", &"a".repeat(40), &"b".repeat(40))),
        (220, 1.04 / 0.98, changed("kernel", "6.1", "unknown")),
    ];
    assert_eq!(changes.len(), 3, "{changes:?}");
    for (change, (at, ratio, with)) in changes.iter().zip(expected) {
        let found: usize = change.id.parse().unwrap();
        assert!(found.abs_diff(at) <= 2, "{found} for {at}");
        assert!((change.after / change.before / ratio - 1.0).abs() < 0.005, "{change:?}");
        assert_eq!(change.with, with);
    }
}

#[test]
fn none_is_invented_in_twenty_histories_without() {
    for seed in 0..20 {
        let found = trends(&history(&[(300, 1e6)], 50 + seed));
        assert_eq!((found.len(), &found[0].changes), (1, &Vec::new()), "seed {seed}");
    }
}

#[test]
fn other_machines_loads_and_experiments_are_other_trends_and_invalid_rows_are_none() {
    let mut all = history(&[(60, 1e6)], 3);
    for (index, it) in all.iter_mut().enumerate() {
        // Each of five kinds is twice as slow as the one before.
        let kind = index % 5;
        it.rows[0].p50_ns = it.rows[0].p50_ns.map(|p50| p50 * f64::from(1 << kind));
        match kind {
            0 => it.machine = "Another".to_owned(),
            1 => it.experiment = "game".to_owned(),
            2 => it.rows[0].conditions = "{\"payload\":64}".to_owned(),
            3 => it.rows[0].verdict = Level::Invalid,
            _ => {}
        }
    }
    let found = trends(&all);
    assert_eq!(found.len(), 4);
    assert!(found.iter().all(|it| it.records == 12 && it.changes.is_empty()), "{found:?}");
    assert_eq!(trends(&all[..40]), [], "eight of each are too few");
}
