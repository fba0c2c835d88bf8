//! Two records side by side.

use crate::{records, sweeps};
use expect_test::{Expect, expect};
use record::{Block, Knee, Level, Number, Reason, RunRecord, Summary, Verdict};
use report::{Depth, Style};
use stats::Histogram;
use units::Nanos;

#[test]
fn what_the_baseline_did_is_the_machine() {
    // Everything takes a quarter longer than in the base.
    check(
        &with_rounds([200_000, 250_000]),
        &with_rounds([250_000, 312_500]),
        false,
        &expect![[r#"
            No difference is shown between the p50 of the record and of the base: ws 1.00x
            [0.95, 1.05]; 7.1 % or more would have shown.

                           base record
            p50 round trip   us     us machine ratio [95 %]
            tcp             202    252   1.25x the machine
            ws              252    315   1.25x ▇▇▇▇     1.00x [0.95, 1.05]
            machine: tcp of the record over tcp of the base; the ratio is divided by it

            tcp
            round trip    base    record  machine ratio [95 %]
            p50           202 us  252 us    1.25x  the machine
            p99           301 us  376 us    1.25x  the machine
            messages      248 k/s 198 k/s   0.80x  the machine
            generator CPU 5.10 us 5.10 us   1.00x  the machine
            server CPU    5.00 us 5.00 us   1.00x  the machine

            ws
            round trip    base    record  machine ratio [95 %]
            p50           252 us  315 us    1.25x 1.00x [0.95, 1.05]
            p99           376 us  470 us    1.25x 1.00x [0.94, 1.06]
            messages      198 k/s 159 k/s   0.80x 1.00x [0.95, 1.05]
            generator CPU 5.10 us 5.10 us   1.00x 1.00x [1.00, 1.00]
            server CPU    5.00 us 5.00 us   1.00x 1.00x [1.00, 1.00]
            machine: tcp of the record over tcp of the base; the ratio is divided by it

            base           2026-01-01T00:00:00Z: trusted
            record         2026-01-01T00:00:00Z: trusted
        "#]],
    );
    // The machine takes a tenth longer, and the second row another tenth.
    let page = page(&with_rounds([200_000, 250_000]), &with_rounds([220_000, 302_500]));
    let of_second = page.lines().filter(|line| line.starts_with("p50   ")).nth(1).unwrap();
    assert!(of_second.contains(" 1.10x 1.10x [1.0"), "{of_second}");
    assert!(!page.contains("inconclusive"), "{page}");
}

#[test]
fn a_number_in_doubt_is_marked_and_no_answer() {
    let base = with_rounds([200_000, 250_000]);
    let doubted = |numbers: &[(Number, Level)]| {
        let mut record = with_rounds([200_000, 500_000]);
        let reason = Reason {
            level: Level::Degraded,
            workload: Some(1),
            numbers: numbers.iter().copied().collect(),
            ..Reason::default()
        };
        record.verdict = Some(Verdict { reasons: vec![reason], ..Verdict::default() });
        page(&base, &record)
    };
    let told = doubted(&[(Number::P99, Level::Degraded)]);
    assert!(
        told.starts_with("The p50 of the record divided by that of the base: ws 2.00x"),
        "{told}"
    );
    assert_eq!(told.matches(" ?2.00x ").count(), 1, "{told}");
    let told = doubted(&[]);
    let untold = "It cannot be determined whether the two differ: the p50 of ws is 2.00x";
    assert!(told.starts_with(untold) && told.contains("it is in doubt."), "{told}");
    assert!(told.matches(" ?2.00x ").count() > 2, "{told}");
}

#[test]
fn without_a_baseline_numbers_stand_side_by_side_and_claim_nothing() {
    check(
        &with_blocks(8, 250_000),
        &with_blocks(8, 275_000),
        false,
        &expect![[r#"
            It cannot be determined whether the two differ: the p50 of ws is 1.10x [1.07,
            1.13] of the base's by the blocks of both, and how the machine changed between
            them is not known.

                           base record
            p50 round trip   us     us ratio [95 %]
            ws              254    279 ▇▇▇▇▍    ?1.10x [1.07, 1.13]

            inconclusive: the two were measured at different times, and they share no row
              that shows the change of the machine
              next: measure both in one run: `wirebench ab BASE HEAD`

            ws
            round trip    base    record  ratio [95 %]
            p50           254 us  279 us  ?1.10x [1.07, 1.13]
            p99           379 us  416 us  ?1.10x [1.06, 1.14]
            messages      190 k/s 190 k/s ?1.00x [1.00, 1.00]
            generator CPU 5.10 us 5.10 us ?1.00x [1.00, 1.00]
            server CPU    5.00 us 5.00 us ?1.00x [1.00, 1.00]

            base           2026-01-01T00:00:00Z: trusted
            record         2026-01-01T00:00:00Z: trusted
        "#]],
    );
    // Nor is there a baseline if only one of the two has one.
    let mut other = with_rounds([200_000, 250_000]);
    other.plan.baseline = None;
    let page = page(&with_rounds([200_000, 250_000]), &other);
    assert!(page.contains("inconclusive:") && page.contains("?1.00x [0.99, 1.01]\n"), "{page}");
}

#[test]
fn few_rounds_have_no_ratio() {
    let mut few = with_rounds([200_000, 250_000]);
    few.blocks.retain(|block| block.round < 5);
    let page = page(&few, &with_rounds([200_000, 250_000]));
    assert!(page.contains("- 5 and 8 rounds, 6 needed\n"), "{page}");
}

#[test]
fn one_block_each_has_two_numbers_and_no_interval() {
    check(
        &records::open(),
        &records::open(),
        false,
        &expect![[r#"
            It cannot be determined whether the two differ: one block each, no interval.

                              base record
            p50 response time   ms     ms ratio [95 %]
            ws                1.25   1.25 - one block each, no interval

            inconclusive: the two were measured at different times, and they share no row
              that shows the change of the machine
              next: measure both in one run: `wirebench ab BASE HEAD`

            ws
            response time base     record                    ratio [95 %]
            p50           1.25 ms  1.25 ms  - one block each, no interval
            p99           1.88 ms  1.88 ms  - one block each, no interval
            messages      2.00 k/s 2.00 k/s - one block each, no interval
            generator CPU 5.10 us  5.10 us  - one block each, no interval
            server CPU    5.00 us  5.00 us  - one block each, no interval

            base           2026-01-01T00:00:00Z: trusted
            record         2026-01-01T00:00:00Z: trusted
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
            It cannot be determined whether the two differ: incomparable.

                           base record
            p50 round trip   us     us ratio [95 %]
            ws              254    279 - incomparable

            ws
            round trip    base    record    ratio [95 %]
            p50           254 us  279 us  - incomparable
            p99           379 us  416 us  - incomparable
            messages      190 k/s 190 k/s - incomparable
            generator CPU 5.10 us 5.10 us - incomparable
            server CPU    5.00 us 5.00 us - incomparable

            incomparable: the two differ in: kernel
              shown by: 6.1.0 against 6.5.0 \u{1b}[31m
              next: measure both with the same settings on the same machine, one after the
                other

            base           2026-01-01T00:00:00Z: trusted
            record         2026-01-01T00:00:00Z: trusted
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
    let page =
        report::compare(&with_blocks(8, 250_000), &invalid, Depth::Details, &Style::default());
    assert!(page.contains("- invalid\n"), "{page}");
}

#[test]
fn reasons_that_a_first_page_leaves_out_are_folded_in_a_browser_and_named_by_no_option() {
    let mut record = with_blocks(8, 275_000);
    let reason = |message: &str| Reason {
        level: Level::Degraded,
        message: message.to_owned(),
        evidence: format!("evidence that {message}"),
        advice: "measure again".to_owned(),
        ..Reason::default()
    };
    let reasons = ["it was busy", "it was far", "it was old"].map(reason).to_vec();
    record.verdict = Some(Verdict { level: Level::Degraded, reasons, ..Verdict::default() });
    let base = with_blocks(8, 250_000);
    // The page as one line.
    let told = |depth| {
        let page = report::compare(&base, &record, depth, &Style::default());
        page.split_whitespace().collect::<Vec<&str>>().join(" ")
    };
    let left_out = "degraded: it was busy; 2 more reasons: --details";
    assert!(told(Depth::First).contains(left_out), "{}", told(Depth::First));
    let all = told(Depth::Details);
    assert!(!all.contains("--details") && all.contains("evidence that it was old"), "{all}");

    let page = report::compare_html(&base, &record);
    let (page, _) = page.split_once("<script").unwrap();
    assert!(!page.contains("--details"), "{page}");
    let folded = "<details><summary>it was old []</summary>\n<p>shown by: evidence that it was old<br>\
                  next: measure again</p></details>";
    assert!(page.contains(folded), "{page}");
    // What a gate says about the record names no option either.
    let cases = report::junit(&record);
    assert!(
        cases.contains("it was busy; 2 more reasons") && !cases.contains("--details"),
        "{cases}"
    );
}

#[test]
fn sweeps_are_compared_by_where_their_lines_bend() {
    let base = sweeps::cubeia();
    let mut record = sweeps::cubeia();
    let sweep = record.sweep.as_mut().unwrap();
    sweep.lines[0].knee = Knee::Found {
        offered_per_s: 27_000.0,
        low_per_s: 26_700.0,
        high_per_s: 27_300.0,
        confirmed: true,
    };
    sweep.lines[1].knee =
        Knee::NotReached { offered_max_per_s: 30_000.0, reason: "it is over".to_owned() };
    sweep.lines[1].capacity = None;
    let page = report::compare(&base, &record, Depth::Details, &Style::default());
    let (tables, _) = page.split_once("\nbase, ").unwrap();
    expect![[r#"
        Where lines bend
        line      base                  record                ratio [95 %]
        binary    24.0 k/s [23.8, 24.2] 27.0 k/s [26.7, 27.3] ?1.12x [1.10, 1.15]
        WebSocket 15.2 k/s [15.0, 15.4] above 30.0 k/s        - not both bend
        Comet     5.10 k/s [5.05, 5.15] 5.10 k/s [5.05, 5.15] ?1.00x [0.98, 1.02]

        Capacity within p99 < 50ms
        line      base     record          ratio [95 %]
        binary    23.0 k/s 23.0 k/s              ?1.00x
        WebSocket 14.6 k/s none     - not both have one
        Comet     4.90 k/s 4.90 k/s              ?1.00x

        inconclusive: the two were measured at different times, and they share no row
          that shows the change of the machine
          next: measure both in one run: `wirebench ab BASE HEAD`

        base           2026-01-01T00:00:00Z: degraded: generator and server share cores
        record         2026-01-01T00:00:00Z: degraded: generator and server share cores
    "#]]
    .assert_eq(tables);
}

#[test]
fn lines_that_are_no_result_or_no_single_number_have_no_ratio() {
    let base = sweeps::cubeia();
    let mut record = sweeps::cubeia();
    let lines = &mut record.sweep.as_mut().unwrap().lines;
    lines[0].level = Level::Invalid;
    if let Knee::Found { low_per_s, confirmed, .. } = &mut lines[1].knee {
        (*low_per_s, *confirmed) = (12_000.0, false);
    }
    lines[1].level = Level::Degraded;
    lines[2].capacity.as_mut().unwrap().confirmed = false;
    let tables = |record: &RunRecord| {
        let page = report::compare(&base, record, Depth::First, &Style::default());
        page.split_once("\n\nbase").unwrap().0.to_owned()
    };
    expect![[r#"
        Where lines bend
        line        base                  record
        x binary    24.0 k/s [23.8, 24.2] 24.0 k/s [23.8, 24.2]
        ? WebSocket 15.2 k/s [15.0, 15.4] between 12.0 k/s and 15.4 k/s
          Comet     5.10 k/s [5.05, 5.15] 5.10 k/s [5.05, 5.15]
        line        ratio [95 %]
        x binary    - invalid
        ? WebSocket - not both confirmed
          Comet     ?1.00x [0.98, 1.02]

        Capacity within p99 < 50ms
        line      base     record                                ratio [95 %]
        binary    23.0 k/s 23.0 k/s                                    ?1.00x
        WebSocket 14.6 k/s 14.6 k/s                                    ?1.00x
        Comet     4.90 k/s between 4.90 k/s and 5.05 k/s - not both confirmed

        inconclusive: the two were measured at different times, and they share no row
          that shows the change of the machine
          next: measure both in one run: `wirebench ab BASE HEAD`"#]]
    .assert_eq(&tables(&record));
    record.verdict.as_mut().unwrap().level = Level::Invalid;
    let page = tables(&record);
    assert_eq!(page.matches("- invalid").count(), 6, "{page}");
    assert!(report::compares_nothing(&base, &record));
}

#[test]
fn workloads_without_a_partner_are_left_out_and_none_at_all_is_incomparable() {
    let (base, other) = (records::ladder(&["tcp", "ws"]), records::ladder(&["unix", "http"]));
    let page = report::compare(&base, &other, Depth::Details, &Style::default());
    assert!(page.starts_with("incomparable: the two differ in: workloads\n"), "{page}");
    assert!(report::compares_nothing(&base, &other));
    // Two single runs of different servers are comparable, though each is named by its URL.
    let mut single = with_blocks(8, 275_000);
    single.plan.workloads[0].spec.name = "ws://127.0.0.1:9090/".to_owned();
    assert!(!report::compares_nothing(&with_blocks(8, 250_000), &single));
}

/// Eight rounds of `tcp`, which is the baseline, and of `ws`, with median round trips near these.
fn with_rounds(p50: [u32; 2]) -> RunRecord {
    let mut record = records::ladder(&["tcp", "ws"]);
    record.plan.baseline = Some(0);
    let blocks = (0..8).flat_map(|round| {
        let both = record.blocks[..2].iter().cloned().zip(p50);
        both.map(move |(block, p50)| {
            // Rounds differ by up to 2 %.
            let p50 = p50 + p50 / 400 * (round * 5 % 8);
            let round = usize::try_from(round).expect("eight rounds");
            let per_s = 50e9 / f64::from(p50);
            Block { round, round_trip: Some(times(p50)), messages_per_s: per_s, ..block }
        })
    });
    record.blocks = blocks.collect();
    record
}

/// Round trips spread evenly between a half and one and a half times `p50`.
fn times(p50: u32) -> Summary {
    let mut times = Histogram::new();
    (0..95_000).for_each(|index| {
        times.record(Nanos(u64::from(p50 / 2) + u64::from(p50) * index / 95_000))
    });
    Summary::of(&times).expect("it has times")
}

fn page(base: &RunRecord, record: &RunRecord) -> String {
    report::compare(base, record, Depth::Details, &Style::default())
}

/// A closed loop of `count` blocks with median round trips near `p50`.
fn with_blocks(count: u32, p50: u32) -> RunRecord {
    let mut record = records::run();
    let block = record.blocks.remove(0);
    let blocks = (0..count).map(|index| Block {
        round: index as usize,
        round_trip: Some(times(p50 + index * 1000)),
        ..block.clone()
    });
    record.blocks = blocks.collect();
    record
}

fn check(base: &RunRecord, record: &RunRecord, nothing: bool, expected: &Expect) {
    expected.assert_eq(&report::compare(base, record, Depth::Details, &Style::default()));
    assert_eq!(report::compares_nothing(base, record), nothing);
}
