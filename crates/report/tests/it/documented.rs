//! Samples in README.md and pages of `docs`: each is what the program prints for a record with the same numbers.

use crate::{records, requirements, sides, sweeps};
use record::{Block, Changed, Counts, Cpu, Drift, Drifting, Entry, EntryRow, Estimate, Exchange};
use record::{Finding, Kind, Knee, Level, Number, PerMetric, RowVerdict, RunRecord, Trend};
use record::{TrendChange, Verdict, WorkloadResult};
use report::{Depth, Style};
use spec::{Metric, Phases, Stop};
use std::collections::BTreeMap;
use units::Nanos;

#[test]
fn a_ladder_is_printed_as_the_readme_shows_it() {
    let page = page("README.md");
    let lines = page.lines().skip_while(|line| !line.ends_with(" messages CPU/message"));
    let shown: Vec<&str> = lines.map_while(|line| line.strip_prefix("    ")).collect();
    let [_, units, rows @ .., _] = &shown[..] else { panic!("no table: {shown:?}") };
    let factor = |unit: &str| match unit {
        "us" => 1e3,
        "ms" | "M/s" => 1e6,
        "k/s" => 1e3,
        _ => 1.0,
    };
    let units: Vec<f64> = units.split_whitespace().skip(1).map(factor).collect();
    let rows: Vec<Rung<'_>> = rows.iter().map(|row| Rung::of(row, &units)).collect();

    let names: Vec<&str> = rows.iter().map(|row| row.name).collect();
    let mut record = records::ladder(&names);
    let first = std::mem::take(&mut record.blocks);
    for round in 0..10 {
        record.blocks.extend(first[..rows.len()].iter().enumerate().map(|(index, block)| {
            let half = Some(rows[index].cpu_us / 2.0);
            let cpu = Cpu {
                generator_us_per_message: half,
                server_us_per_message: half,
                ..Cpu::default()
            };
            Block { round, cpu, ..block.clone() }
        }));
    }
    record.plan.rounds = vec![(0..rows.len()).collect(); 10];
    for workload in &mut record.plan.workloads {
        let stop = Stop::After(Nanos::from_millis(420));
        workload.spec.phases = Phases { stop, ..workload.spec.phases };
    }
    for (result, row) in record.results.iter_mut().zip(&rows) {
        row.write(result);
    }
    let verdicts = rows.iter().map(|row| row.verdict.clone()).collect();
    record.verdict = Some(Verdict { rows: verdicts, ..Verdict::default() });

    // A bar is drawn from more digits than its ratio has.
    let without_bars = |line: &str| {
        let text: String =
            line.chars().map(|it| if "▏▎▍▌▋▊▉▇▸".contains(it) { ' ' } else { it }).collect();
        text.trim_end().to_owned()
    };
    let printed = first_page(&record);
    let printed = printed.lines().skip_while(|line| !line.ends_with(" messages CPU/message"));
    let printed: Vec<String> = printed.take(shown.len()).map(without_bars).collect();
    assert_eq!(printed, shown.iter().map(|line| without_bars(line)).collect::<Vec<String>>());
}

/// A row of the table in README.md.
struct Rung<'a> {
    name: &'a str,
    p50_ns: f64,
    p99_ns: f64,
    messages_per_s: f64,
    cpu_us: f64,
    /// The ratio, and its interval where it has one.
    ratio: Vec<f64>,
    verdict: RowVerdict,
}

impl<'a> Rung<'a> {
    fn of(line: &'a str, units: &[f64]) -> Self {
        let level = |word: &str| match word.chars().next() {
            Some('?') => Level::Degraded,
            Some('x') => Level::Invalid,
            _ => Level::Trusted,
        };
        let mut words = line.split_whitespace().peekable();
        let marked = words.next_if(|word| ["?", "x"].contains(word));
        let name = words.next().expect("a row has a name");
        let words: Vec<&str> = words.collect();
        let value = |word: &str| -> f64 {
            word.trim_matches(['?', 'x', '[', ']', ','])
                .parse()
                .unwrap_or_else(|_| panic!("{word} in {line}"))
        };
        let at = words.iter().position(|word| word.ends_with('x')).expect("a row has a ratio");
        let judged = [(Number::P50, words[0]), (Number::P99, words[1]), (Number::Ratio, words[at])];
        let judged = judged.map(|(number, word)| (number, level(word)));
        let numbers = judged.into_iter().filter(|(_, level)| *level > Level::Trusted);
        Self {
            name,
            p50_ns: value(words[0]) * units[0],
            p99_ns: value(words[1]) * units[1],
            messages_per_s: value(words[2]) * units[2],
            cpu_us: value(words[3]),
            ratio: words[at..].iter().map(|word| value(word)).collect(),
            verdict: RowVerdict {
                level: marked.map_or(Level::Trusted, level),
                numbers: numbers.collect::<BTreeMap<Number, Level>>(),
            },
        }
    }

    fn write(&self, result: &mut WorkloadResult) {
        let estimate = |value| Some(Estimate { value, low: None, high: None });
        result.pooled = PerMetric {
            round_trip_p50_ns: estimate(self.p50_ns),
            round_trip_p99_ns: estimate(self.p99_ns),
            messages_per_s: estimate(self.messages_per_s),
            ..PerMetric::default()
        };
        let to = result.to_baseline.as_mut().and_then(|to| to.round_trip_p50_ns.as_mut());
        if let (Some(to), [ratio, low, high]) = (to, &self.ratio[..]) {
            (to.ratio, to.low, to.high) = (*ratio, Some(*low), Some(*high));
        }
    }
}

#[test]
fn messages_of_conversations_are_printed_as_their_page_shows_them() {
    let rows = [
        (
            "rpc-websockets ws json-rpc",
            Counts { planned: 1179, sent: 1179, ok: 1179, ..Counts::default() },
        ),
        (
            "rpc-websockets ws news",
            Counts { planned: 593, sent: 593, ok: 546, refused: 47, ..Counts::default() },
        ),
    ];
    let verdict = Verdict { rows: vec![RowVerdict::default(); 2], ..Verdict::default() };
    let record = records::ladder(&["ws", "ws"]);
    let mut record = RunRecord { kind: Kind::Lab, verdict: Some(verdict), ..record };
    for (index, (name, counts)) in rows.into_iter().enumerate() {
        record.plan.workloads[index].spec.name = name.to_owned();
        for block in record.blocks.iter_mut().filter(|block| block.workload == index) {
            let counts = if block.round == 0 { counts } else { Counts::default() };
            let kind = Exchange { name: "echo".to_owned(), counts, ..Exchange::default() };
            (block.counts, block.exchanges) = (counts, vec![kind]);
        }
    }
    let page = report::terminal(&record, Depth::Details, &Style::default());
    let lines: Vec<&str> = page.lines().collect();
    let head = lines.iter().position(|line| line.starts_with("messages ")).unwrap();
    let table: Vec<String> = lines[head - 2..=head + 2].iter().map(ToString::to_string).collect();
    check("docs/CONVERSATIONS.md", &table);
}

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

/// The page that a run prints to a terminal at its end.
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
    let text = self::page(page);
    let shown = |line: &String| {
        let indent = if line.is_empty() { "" } else { "    " };
        format!("{indent}{line}\n")
    };
    let block: String = lines.iter().map(shown).collect();
    assert!(!lines.is_empty() && text.contains(&block), "{page} does not have:\n{block}");
}

/// The text of a page, by its path in this repository.
fn page(path: &str) -> String {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the page is in this repository")
}

const COMPARING: &str = "docs/COMPARING.md";
const HISTORY: &str = "docs/HISTORY.md";
const MACHINE: &str = "Intel(R) Xeon(R) Processor, 2 CPUs, KVM";
