//! Samples in pages of `docs`: each is what the program prints of a record with the same numbers.

use crate::{records, requirements, sides, sweeps};
use record::{Changed, Drift, Drifting, Entry, EntryRow, Finding, Kind, Knee, Level, RunRecord};
use record::{Trend, TrendChange};
use report::{Depth, Style};
use spec::Metric;

#[test]
fn a_drift_is_printed_as_the_page_on_comparing_shows_it() {
    const MIB: f64 = 1024.0 * 1024.0;
    let drift = Drift {
        workload: 0,
        number: Drifting::ServerMemoryBytes,
        blocks: 34,
        span_minutes: 37.7 / 60.0,
        median: 50.0 * MIB,
        per_minute: 28.8 * MIB,
        low: 28.7 * MIB,
        high: 29.0 * MIB,
        p_value: 1e-9,
        is_shown: true,
    };
    let record = RunRecord { drifts: vec![drift], ..records::run() };
    check(COMPARING, &lines(&first_page(&record), &["drift: "]));
}

#[test]
fn answers_about_two_sides_are_printed_as_the_page_on_comparing_shows_them() {
    use record::Change::{NotShown, Worse};
    let answer = |all: &[_]| report::conclusion(&sides::with(all)).unwrap();
    let slower = answer(&[
        sides::difference(Metric::P50, 1.041, [1.028, 1.054], Worse, 0.021),
        sides::difference(Metric::CpuPerMessage, 1.060, [1.041, 1.079], Worse, 0.013),
    ]);
    let same = answer(&[
        sides::difference(Metric::P50, 1.002, [0.989, 1.015], NotShown, 0.021),
        sides::difference(Metric::CpuPerMessage, 0.998, [0.990, 1.006], NotShown, 0.013),
    ]);
    check(COMPARING, &[slower, same]);
}

#[test]
fn limits_are_printed_as_the_page_on_comparing_shows_them() {
    let mut record = requirements::with_checks();
    record.requirements.retain(|check| {
        check.reason.is_none() && {
            let text = check.requirement.to_string();
            text.starts_with("p99 ") || text.starts_with("error_rate")
        }
    });
    check(COMPARING, &lines(&first_page(&record), &["✓", "✗"]));

    let mut record = requirements::relative(false);
    record.requirements.retain(|check| check.finding == Finding::Met);
    let against = record.against.as_mut().unwrap();
    against.started_at = "2026-11-23T09:00:00Z".to_owned();
    against.differences.clear();
    check(COMPARING, &lines(&first_page(&record), &["✓", "baseline: "]));
}

#[test]
fn a_list_of_records_is_printed_as_the_page_on_the_history_shows_it() {
    let entry = |id: &str, kind, experiment: &str, rows: Vec<EntryRow>| Entry {
        id: format!("{id}00000000"),
        file: None,
        tags: Vec::new(),
        baselines: Vec::new(),
        started_at: "2026-11-23T15:03:20Z".to_owned(),
        kind,
        experiment: experiment.to_owned(),
        machine: MACHINE.to_owned(),
        kernel: None,
        version: "0.1.0".to_owned(),
        repository: None,
        verdict: Level::Degraded,
        rows,
    };
    let row = EntryRow {
        target: "ws://127.0.0.1:18099/".to_owned(),
        p50_ns: Some(1.06e6),
        messages_per_s: Some(497.0),
        ..EntryRow::default()
    };
    let ladder = entry("6f990d65", Kind::Ladder, "ladder", vec![EntryRow::default(); 3]);
    let run = entry("2a5f10e4", Kind::Run, "run", vec![row]);
    let list = report::history(&[ladder, run], &Style::default());
    check(HISTORY, &lines(&list, &[""]));
}

#[test]
fn a_trend_is_printed_as_the_page_on_the_history_shows_it() {
    let change = TrendChange {
        id: "81c03b5e00000000".to_owned(),
        at: "2026-04-07T10:00:00Z".to_owned(),
        before: 1.00e6,
        after: 1.04e6,
        with: vec![Changed { what: "version", from: "0.1.0".to_owned(), to: "0.2.0".to_owned() }],
    };
    let trend = Trend {
        experiment: "chat".to_owned(),
        row: "ws".to_owned(),
        machine: MACHINE.to_owned(),
        conditions: String::new(),
        metric: Metric::P50,
        records: 140,
        from: "2026-01-01T10:00:00Z".to_owned(),
        to: "2026-05-20T10:00:00Z".to_owned(),
        now: 1.04e6,
        changes: vec![change],
    };
    check(HISTORY, &lines(&report::trends(&[trend], &Style::default()), &[""]));
}

#[test]
fn where_lines_of_a_sweep_bend_is_printed_as_the_page_on_experiments_shows_it() {
    let mut record = sweeps::cubeia();
    let sweep = record.sweep.as_mut().unwrap();
    let found = |[low_per_s, offered_per_s, high_per_s]: [f64; 3]| Knee::Found {
        offered_per_s,
        low_per_s,
        high_per_s,
        confirmed: true,
    };
    let generator = "the generator's CPU: it used 100 % of a core";
    let knees = [
        (found([190e3, 191e3, 192e3]), "the server's CPU: it used 96 % of a core"),
        (found([145e3, 146e3, 146.4e3]), "the server's CPU: it used 97 % of a core"),
        (Knee::NotReached { offered_max_per_s: 120e3, reason: generator.to_owned() }, generator),
    ];
    for (line, (knee, ran_out)) in sweep.lines.iter_mut().zip(knees) {
        (line.knee, line.ran_out, line.level) = (knee, ran_out.to_owned(), Level::Trusted);
    }
    let page = first_page(&record);
    check("docs/EXPERIMENTS.md", &lines(&page, &["bends at", "does not bend", "What ran out"]));
}

/// The page of a terminal that a run ends with.
fn first_page(record: &RunRecord) -> String {
    report::terminal(record, Depth::First, &Style::default())
}

/// The lines with one of `words` in them, as they are printed.
fn lines(printed: &str, words: &[&str]) -> Vec<String> {
    let is_wanted = |line: &&str| words.iter().any(|word| line.contains(word));
    printed.lines().filter(is_wanted).map(str::to_owned).collect()
}

/// Checks that `page` has these lines as a block, or as a part of one.
fn check(page: &str, lines: &[String]) {
    let path = format!("{}/../../{page}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the page is in this repository");
    let shown = |line: &String| {
        let indent = if line.is_empty() { "" } else { "    " };
        format!("{indent}{line}\n")
    };
    let block: String = lines.iter().map(shown).collect();
    assert!(!lines.is_empty() && text.contains(&block), "{page} does not have:\n{block}");
}

const COMPARING: &str = "docs/COMPARING.md";
const HISTORY: &str = "docs/HISTORY.md";
const MACHINE: &str = "Intel(R) Xeon(R) Processor, 2 CPUs, KVM";
