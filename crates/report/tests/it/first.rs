//! First pages: the answer, one table, one line of verdict, on a screen of 80 columns and 24 lines.

use crate::records::{self, RUNGS};
use crate::sweeps;
use expect_test::{Expect, expect};
use record::{Level, Reason, RunRecord, Verdict};
use report::{Depth, Style};
use std::collections::BTreeMap;

/// The lines of a page on a screen of 24: the others are for what is printed below it.
const LINES: usize = 18;

#[test]
fn a_ladder_answers_in_its_first_sentence_and_marks_the_row_in_doubt() {
    let mut record = records::ladder(&["tcp", "ws", "http", "wss", "http-new"]);
    doubt(&mut record, 4);
    check(
        &record,
        &expect![[r#"
            Compared with bare TCP, a round trip on this machine takes 6 % more [4, 8] over
            WebSocket, 12 % more [10, 14] over HTTP and 18 % more [16, 20] over WebSocket
            inside TLS.

                       p50 p99 messages CPU/message
            rung        us  us      k/s          us p50 to tcp [interval]
              tcp      254 412      191        10.1 ▇▇▇▇     1.00x
              ws       270 437      180        10.1 ▇▇▇▇▎    1.06x [1.04, 1.08]
              http     285 461      171        10.1 ▇▇▇▇▌    1.12x [1.10, 1.14]
              wss      300 486      162        10.1 ▇▇▇▇▊    1.18x [1.16, 1.20]
            ? http-new 315 511      154        10.1 ▇▇▇▇▇    1.24x [1.22, 1.26]
            64 B binary, 50 connections, one message in flight; 2 blocks of 500 ms each

            trusted, but ? http-new: the generator was the bottleneck
        "#]],
    );
}

#[test]
fn a_difference_that_is_not_shown_says_what_would_have_been() {
    let mut record = records::ladder(&["tcp", "ws", "http", "wss"]);
    for (index, (ratio, low, high)) in
        [(1.02, 0.99, 1.04), (0.55, 0.52, 0.59), (1.01, 0.98, 1.05)].iter().enumerate()
    {
        let to = record.results[index + 1].to_baseline.as_mut().unwrap();
        let to = to.round_trip_p50_ns.as_mut().unwrap();
        (to.ratio, to.low, to.high) = (*ratio, Some(*low), Some(*high));
        to.smallest_detectable_fraction =
            Some(0.03 + 0.01 * f64::from(u32::try_from(index).unwrap()));
    }
    let page = first(&record);
    expect![[r#"
        Compared with bare TCP, a round trip on this machine takes 45 % less [41, 48]
        over HTTP; no difference is shown for WebSocket and WebSocket inside TLS (5.0 %
        or more would have shown)."#]]
    .assert_eq(page.split("\n\n").next().unwrap());
}

#[test]
fn all_rungs_are_there_where_the_terminal_has_room() {
    let record = records::ladder(&RUNGS);
    check(
        &record,
        &expect![[r#"
            Compared with bare TCP, a round trip on this machine takes 18 % more [16, 20]
            over WebSocket, 30 % more [28, 32] over HTTP, 48 % more [46, 50] over WebSocket
            inside TLS and 36 % more [34, 38] over HTTP with a connection for each request.

                         p50 p99 messages CPU/message
            rung          us  us      k/s          us p50 to tcp [interval]
            tcp          254 412      191        10.1 ▇▇▇▇     1.00x
            tcp-framed   270 437      180        10.1 ▇▇▇▇▎    1.06x [1.04, 1.08]
            unix         285 461      171        10.1 ▇▇▇▇▌    1.12x [1.10, 1.14]
            ws           300 486      162        10.1 ▇▇▇▇▊    1.18x [1.16, 1.20]
            ws-text      315 511      154        10.1 ▇▇▇▇▇    1.24x [1.22, 1.26]
            http         331 536      147        10.1 ▇▇▇▇▇▎   1.30x [1.28, 1.32]
            http-new     346 560      141        10.1 ▇▇▇▇▇▌   1.36x [1.34, 1.38]
              … 6 more rows: --details
            https-resume 453 733      107        10.1 ▇▇▇▇▇▇▇▏ 1.78x [1.76, 1.80]
            64 B, 50 connections, one message in flight; 2 blocks of 500 ms each

            trusted
        "#]],
    );
    let style = Style { lines: Some(40), ..Style::default() };
    let page = report::terminal(&record, Depth::First, &style);
    assert!(RUNGS.iter().all(|name| page.contains(&format!("\n{name} "))), "{page}");
    assert_eq!(report::terminal(&record, Depth::First, &Style::default()), page);
}

#[test]
fn a_run_says_what_it_reached_and_how_long_replies_took() {
    check(
        &records::run(),
        &expect![[r#"
            ws://127.0.0.1:8080/ answers 191 k/s [189, 193]: round trip p50 254 us [252,
            257], p99 381 us [408, 416].

            64 B binary, 50 connections, one message in flight on each, 1 thread, 500 ms
            measured

                       p50 p90 p99  max
                        us  us  us   us
            round trip 254 305 381 2030
            - round trip p99.9: too few messages: 95000, at least 100000 needed

            throughput     191 k/s [189, 193]
            CPU/message    generator 5.10 us [5.05, 5.15], server 5.00 us [4.95, 5.05]

            trusted
        "#]],
    );
    check(
        &records::open(),
        &expect![[r#"
        ws://127.0.0.1:8080/ answers 2.00 k/s of the 2.00 k/s that were due: response
        time p50 1.25 ms, p99 1.88 ms.

        64 B binary, 2.00 k/s due at equal distances over 50 connections, 10000
        outstanding at most, 1 thread, 10.0 s measured

                   p50  p90  p99 p99.9   max
                    us   us   us    us    us
        response  1250 1500 1880  2500 10000
        service   1200 1440 1800  2400  9600
        send lag  50.0 60.0 75.0   100   400
        own share 12.0 14.4 18.0  24.0  96.0

        rate           asked 2.00 k/s, offered 2.00 k/s, sent 2.00 k/s
                       achieved 2.00 k/s (100 % of offered)
        CPU/message    generator 5.10 us [5.05, 5.15], server 5.00 us [4.95, 5.05]

        trusted
    "#]],
    );
}

#[test]
fn a_page_that_is_still_too_long_has_no_blank_lines() {
    let mut record = records::open();
    record.conclusion = report::conclusion(&record);
    let style = Style { lines: Some(15), ..Style::default() };
    let page = report::terminal(&record, Depth::First, &style);
    assert_eq!(page.lines().count(), 14, "{page}");
    assert!(page.starts_with("ws://127.0.0.1:8080/ answers 2.00 k/s"), "{page}");
    assert!(page.contains("\nown share ") && page.ends_with("\ntrusted\n"), "{page}");
}

#[test]
fn steps_of_a_run_are_a_table() {
    check(
        &records::bots(),
        &expect![[r#"
            ws://127.0.0.1:8080/: 3 rows

                        p50   p99   max offered achieved
            step         ms    ms    ms      /s       /s verdict
              100 bots 1.25  1.88  10.0     100      100 trusted
              200 bots 1.25  1.88  10.0     200      200 trusted
            ? 400 bots 1.25 x1.88 x10.0     400      300 invalid
            64 B binary; 1 block of 500 ms

            invalid: x 400 bots p90, p99 and tail: only 75.0 % of the requested load was
              answered in time
        "#]],
    );
}

#[test]
fn a_sweep_of_several_lines_says_where_each_bends_and_what_ran_out() {
    check(
        &sweeps::cubeia(),
        &expect![[r#"
            Sweep of bots (cubeia): game://127.0.0.1:4123, game-ws://127.0.0.1:4123,
            game-comet://127.0.0.1:4123

            binary         bends at 24.0 k/s [23.8, 24.2] (confirmed)
                           What ran out: CPU of the server: 0.98 of the one core it may use.
                           23.0 k/s kept p99 < 50ms with less than 1 % missing in 2 of 2
                           blocks (confirmed); from 23.8 k/s on none does.
            WebSocket      bends at 15.2 k/s [15.0, 15.4] (confirmed)
                           What ran out: CPU of the server: 0.98 of the one core it may use.
                           14.6 k/s kept p99 < 50ms with less than 1 % missing in 2 of 2
                           blocks (confirmed); from 15.0 k/s on none does.
            Comet          bends at 5.10 k/s [5.05, 5.15] (confirmed)
                           What ran out: CPU of the server: 0.98 of the one core it may use.
                           4.90 k/s kept p99 < 50ms with less than 1 % missing in 2 of 2
                           blocks (confirmed); from 5.05 k/s on none does.

            degraded: generator and server share cores
        "#]],
    );
}

#[test]
fn a_sweep_of_one_line_keeps_the_steps_around_the_knee() {
    let mut record = sweeps::cubeia();
    let sweep = record.sweep.as_mut().unwrap();
    sweep.lines.truncate(1);
    sweep.steps.retain(|step| step.line == 0);
    check(
        &record,
        &expect![[r#"
            Sweep of bots (cubeia): game://127.0.0.1:4123

            binary         bends at 24.0 k/s [23.8, 24.2] (confirmed)
                           What ran out: CPU of the server: 0.98 of the one core it may use.
                           23.0 k/s kept p99 < 50ms with less than 1 % missing in 2 of 2
                           blocks (confirmed); from 23.8 k/s on none does.

                         achieved kept   p50   p99 server ours idle
            offered, k/s      k/s    %    us    us      %    %    % verdict
              … 10 more rows: --details
                    23.0     23.0 99.9   899  2680   96.1 60.6 13.4 degraded
                    23.8     23.7  100  1660  5200   99.0 62.4 10.9 degraded
                    24.2     23.6 97.5 18400 60600    100 63.0 10.0 degraded
                    25.2     23.6 93.7 18400 60600    100 63.0 10.0 degraded
                    26.0     23.6 90.8 18400 60600    100 63.0 10.0 degraded
                    30.0     23.5 78.4 18400 60600    100 63.0 10.0 degraded

            degraded: generator and server share cores
        "#]],
    );
}

#[test]
fn a_lab_names_the_fastest_and_keeps_the_slowest() {
    check(
        &records::lab(),
        &expect![[r#"
            On this machine no difference is shown between netty and node-ws, the fastest of
            4, at 4 B, 50 connections, one message in flight (p50 round trip 201 us; 1.00x
            [1.00, 1.01]; 0.6 % would have shown).

            pings
                                    p50 p99 messages CPU/message
            row                      us  us      k/s          us p50 to raw TCP [interval]
              tcp                   100 151      476        1.90 ▇▇▇▇     1.00x
              netty                 201 302      238        4.10 ▇▇▇▇▇▇▇▸ 2.00x [1.99, 2.01]
              … 2 more rows: --details
              play                  402 603      119        8.10 ▇▇▇▇▇▇▇▸ 4.00x [3.99, 4.01]
            4 B text, 50 connections, one message in flight; 8 blocks of 2.00 s each
            1 more table: --details
            ratchet, pings, ratchet, lives failed: the server was never ready: it said
              nothing for 60 s
            socket.io left out: skipped: Packagist not reached

            trusted
        "#]],
    );
}

#[test]
fn two_records_are_compared_in_one_table() {
    let record = records::ladder(&["tcp", "ws", "http"]);
    let page = report::compare(&record, &record, Depth::First, &style());
    expect![[r#"
        It cannot be determined whether the two differ: 2 and 2 rounds, 6 needed.

                       base record
        p50 round trip   us     us machine ratio [95 %]
        tcp             254    254   1.00x the machine
        ws              254    254   1.00x - 2 and 2 rounds, 6 needed
        http            254    254   1.00x - 2 and 2 rounds, 6 needed
        machine: tcp of the record over tcp of the base; the ratio is divided by it

        base           2026-01-01T00:00:00Z: trusted
        record         2026-01-01T00:00:00Z: trusted
    "#]]
    .assert_eq(&page);
    check_size(&page);
}

/// A doubt about one row.
pub(crate) fn doubt(record: &mut RunRecord, row: usize) {
    let mut verdict = Verdict {
        reasons: vec![Reason {
            level: Level::Degraded,
            code: "generator_busy".to_owned(),
            message: "the generator was the bottleneck".to_owned(),
            evidence: "98 % of a core".to_owned(),
            advice: "give it more threads".to_owned(),
            workload: Some(row),
            numbers: BTreeMap::new(),
        }],
        ..Verdict::default()
    };
    verdict.rows =
        (0..record.plan.workloads.len()).map(|_| record::RowVerdict::default()).collect();
    verdict.rows[row].level = Level::Degraded;
    record.verdict = Some(verdict);
}

fn style() -> Style {
    Style { lines: Some(LINES), ..Style::default() }
}

fn first(record: &RunRecord) -> String {
    report::terminal(record, Depth::First, &style())
}

fn check(record: &RunRecord, expected: &Expect) {
    let mut record = record.clone();
    record.conclusion = report::conclusion(&record);
    let page = first(&record);
    expected.assert_eq(&page);
    check_size(&page);
}

fn check_size(page: &str) {
    assert!(page.lines().count() <= LINES, "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
}
