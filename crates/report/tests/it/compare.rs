//! Two records side by side.

use crate::{records, sweeps};
use expect_test::{Expect, expect};
use record::{Block, Knee, Level, Reason, RunRecord, Verdict};
use report::Style;

#[test]
fn enough_blocks_have_a_ratio_with_its_interval() {
    check(
        &with_blocks(8, 250_000),
        &with_blocks(8, 275_000),
        false,
        &expect![[r#"
            ws
            round trip    base    record  ratio [95 %]
            p50           254 us  278 us  1.10x [1.09, 1.11]
            p99           380 us  418 us  1.10x [1.09, 1.11]
            messages      190 k/s 190 k/s 1.00x [1.00, 1.00]
            generator CPU 5.10 us 5.10 us 1.00x [1.00, 1.00]
            server CPU    5.00 us 5.00 us 1.00x [1.00, 1.00]

            base, 2026-01-01T00:00:00Z
            verdict: trusted

            record, 2026-01-01T00:00:00Z
            verdict: trusted
        "#]],
    );
}

#[test]
fn one_block_each_has_two_numbers_and_no_interval() {
    check(
        &records::open(),
        &records::open(),
        false,
        &expect![[r#"
            ws
            response time base     record                    ratio [95 %]
            p50           1.25 ms  1.25 ms  - one block each: no interval
            p99           1.88 ms  1.88 ms  - one block each: no interval
            messages      2.00 k/s 2.00 k/s - one block each: no interval
            generator CPU 5.10 us  5.10 us  - one block each: no interval
            server CPU    5.00 us  5.00 us  - one block each: no interval

            base, 2026-01-01T00:00:00Z
            verdict: trusted

            record, 2026-01-01T00:00:00Z
            verdict: trusted
        "#]],
    );
}

#[test]
fn what_is_invalid_or_differs_has_no_ratio() {
    let mut other = with_blocks(8, 275_000);
    other.environment.kernel = Some("6.5.0 \x1b[31m".to_owned());
    let mut base = with_blocks(8, 250_000);
    base.environment.kernel = Some("6.1.0".to_owned());
    check(
        &base,
        &other,
        true,
        &expect![[r#"
            ws
            round trip    base    record    ratio [95 %]
            p50           254 us  278 us  - incomparable
            p99           380 us  418 us  - incomparable
            messages      190 k/s 190 k/s - incomparable
            generator CPU 5.10 us 5.10 us - incomparable
            server CPU    5.00 us 5.00 us - incomparable

            incomparable: the two differ in: kernel
              shown by: 6.1.0 against 6.5.0 \u{1b}[31m
              next: measure both with the same settings on the same machine, one after the
                other

            base, 2026-01-01T00:00:00Z
            verdict: trusted

            record, 2026-01-01T00:00:00Z
            verdict: trusted
        "#]],
    );

    let mut invalid = with_blocks(8, 275_000);
    invalid.verdict = Some(Verdict {
        level: Level::Invalid,
        reasons: vec![Reason {
            code: "impossible".to_owned(),
            level: Level::Invalid,
            workload: None,
            message: "it cannot be".to_owned(),
            evidence: String::new(),
            advice: String::new(),
            ..Reason::default()
        }],
        ..Verdict::default()
    });
    assert!(report::compares_nothing(&with_blocks(8, 250_000), &invalid));
    let page = report::compare(&with_blocks(8, 250_000), &invalid, &Style::default());
    assert!(page.contains("- invalid\n"), "{page}");
}

#[test]
fn sweeps_are_compared_by_where_their_lines_bend() {
    let base = sweeps::cubeia();
    let mut record = sweeps::cubeia();
    let sweep = record.sweep.as_mut().unwrap();
    sweep.lines[0].knee =
        Knee::Found { offered_per_s: 27_000.0, low_per_s: 26_700.0, high_per_s: 27_300.0 };
    sweep.lines[1].knee =
        Knee::NotReached { offered_max_per_s: 30_000.0, reason: "it is over".to_owned() };
    sweep.lines[1].capacity = None;
    let page = report::compare(&base, &record, &Style::default());
    let (tables, _) = page.split_once("\nbase, ").unwrap();
    expect![[r#"
        Where lines bend
        line      base                  record                ratio [95 %]
        binary    24.0 k/s [23.8, 24.2] 27.0 k/s [26.7, 27.3] 1.12x [1.10, 1.15]
        WebSocket 15.2 k/s [15.0, 15.4] above 30.0 k/s        - not both bend
        Comet     5.10 k/s [5.05, 5.15] 5.10 k/s [5.05, 5.15] 1.00x [0.98, 1.02]

        Capacity within p99 < 50ms
        line      base     record   ratio [95 %]
        binary    23.0 k/s 23.0 k/s        1.00x
        WebSocket 14.6 k/s none                -
        Comet     4.90 k/s 4.90 k/s        1.00x
    "#]]
    .assert_eq(tables);
}

#[test]
fn workloads_without_a_partner_are_left_out_and_none_at_all_is_incomparable() {
    let (base, other) = (records::ladder(&["tcp", "ws"]), records::ladder(&["unix", "http"]));
    let page = report::compare(&base, &other, &Style::default());
    assert!(page.starts_with("incomparable: the two differ in: workloads\n"), "{page}");
    assert!(report::compares_nothing(&base, &other));
    // Two single runs are of two servers, and each is named by its URL.
    let mut single = with_blocks(8, 275_000);
    single.plan.workloads[0].name = "ws://127.0.0.1:9090/".to_owned();
    assert!(!report::compares_nothing(&with_blocks(8, 250_000), &single));
}

/// A closed loop of so many blocks whose median round trips lie around `p50`.
fn with_blocks(count: u32, p50: u32) -> RunRecord {
    let mut record = records::run();
    let block = record.blocks.remove(0);
    let blocks = (0..count).map(|index| Block {
        round_trip: Some(records::summary(p50 + index * 1000, 95_000)),
        ..block.clone()
    });
    record.blocks = blocks.collect();
    record
}

fn check(base: &RunRecord, record: &RunRecord, nothing: bool, expected: &Expect) {
    expected.assert_eq(&report::compare(base, record, &Style::default()));
    assert_eq!(report::compares_nothing(base, record), nothing);
}
