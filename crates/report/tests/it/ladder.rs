//! The table of the ladder.

use crate::pages::{check, details};
use crate::records;
use expect_test::expect;
use record::{
    Certificate, Check, Ended, Estimate, Level, Little, Number, Reason, RunRecord, Verdict, Warning,
};
use report::{Depth, Style};

#[test]
fn every_rung_stands_beside_the_floor() {
    let record =
        records::ladder(&["tcp", "tcp-framed", "unix", "ws", "ws-text", "http", "http-new"]);
    check(
        &record,
        &expect![[r#"
            The ladder

            Compared with bare TCP, a round trip on this machine takes 18 % more [16, 20]
            over WebSocket, 30 % more [28, 32] over HTTP, 36 % more [34, 38] over HTTP with
            a connection for each request and 6 % more [4, 8] over length-framed TCP.

                                                           CPU    CPU bytes
                       p50 p90 p99 messages CPU/message client server  each
            rung        us  us  us      k/s          us     us     us     B
            tcp        254 301 412      191        10.1   5.10   5.00   128
            tcp-framed 270 319 437      180        10.1   5.41   5.30   136
            unix       285 337 461      171        10.1   5.71   5.60   144
            ws         300 355 486      162        10.1   6.02   5.90   152
            ws-text    315 373 511      154        10.1   6.32   6.20   160
            http       331 391 536      147        10.1   6.63   6.50   168
            http-new   346 409 560      141        10.1   6.94   6.80   176
            rung       p50 to tcp [interval]
            tcp        ▇▇▇▇     1.00x
            tcp-framed ▇▇▇▇▎    1.06x [1.04, 1.08]
            unix       ▇▇▇▇▌    1.12x [1.10, 1.14]
            ws         ▇▇▇▇▊    1.18x [1.16, 1.20]
            ws-text    ▇▇▇▇▇    1.24x [1.22, 1.26]
            http       ▇▇▇▇▇▎   1.30x [1.28, 1.32]
            http-new   ▇▇▇▇▇▌   1.36x [1.34, 1.38]
            64 B binary, 50 connections, one message in flight; 2 blocks of 500 ms each
            blocks in random order (seed 7); round trips, all blocks together

            Numbers of all blocks together; intervals are of 95 %. CPU: user and system time
            of the whole process, for each message. Bytes: both directions of the stream,
            without TCP and IP; what these add is estimated from the number of segments.
            http-new       its round trip includes the connect
            checks: Little's law held on 14 of 14 blocks; counts add up

            verdict        trusted
        "#]],
    );
}

#[test]
fn a_rung_that_failed_is_shown_as_failed_with_the_reason() {
    let mut record = records::ladder(&["tcp", "ws", "http"]);
    for block in record.blocks.iter_mut().filter(|block| block.workload == 1) {
        block.failed = Some("connection refused by 127.0.0.1:4000".to_owned());
    }
    record.results.remove(1);
    let last = record.blocks.last_mut().unwrap();
    last.failed = Some("every message failed: \x1b[31mno echo".to_owned());
    check(
        &record,
        &expect![[r#"
            The ladder

            No conclusion: the measurement is invalid, see the verdict.

                                                       CPU    CPU bytes
                   p50 p90 p99 messages CPU/message client server  each p50 to tcp
            rung    us  us  us      k/s          us     us     us     B [interval]
              tcp  254 301 412      191        10.1   5.10   5.00   128 ▇▇▇▇     1.00x
            x ws     -   -   -        -           -      -      -     - failed, see below
            x http 285 337 461      171        10.1   5.71   5.60   144 invalid
            64 B binary, 50 connections, one message in flight; 2 blocks of 500 ms each
            blocks in random order (seed 7); round trips, all blocks together

            ws failed: connection refused by 127.0.0.1:4000
            http failed in part: 1 of 2 blocks, which count as 0 messages/s: every message
              failed: \u{1b}[31mno echo

            Numbers of all blocks together; intervals are of 95 %. CPU: user and system time
            of the whole process, for each message. Bytes: both directions of the stream,
            without TCP and IP; what these add is estimated from the number of segments.
            checks: Little's law held on 3 of 3 blocks; counts add up

            verdict        invalid: the numbers are not valid results
            invalid: no message got its reply: this is an error, not a result (ws)
              [nothing_succeeded]
              shown by: connection refused by 127.0.0.1:4000
              next: is a server listening there, and does it answer as expected?
            invalid: blocks failed, and the percentiles are mostly those of the others
              (http) [failed_blocks]
              shown by: 1 of 2 blocks, the first in round 2: every message failed:
                \u{1b}[31mno echo
              next: fix their cause first; throughput counts them as blocks without replies
        "#]],
    );
}

#[test]
fn a_partial_record_says_what_was_not_reached() {
    let mut record = records::ladder(&["tcp", "ws", "http"]);
    record.ended = Ended::Interrupted { signal: 2 };
    record.blocks.truncate(2);
    record.results.truncate(2);
    for result in &mut record.results {
        result.blocks = 1;
        if let Some(comparison) =
            result.to_baseline.as_mut().and_then(|all| all.round_trip_p50_ns.as_mut())
        {
            (comparison.low, comparison.high) = (None, None);
        }
    }
    check(
        &record,
        &expect![[r#"
            partial: ended by SIGINT, Ctrl-C; this is what was measured until then.

            The ladder

            On this machine a round trip over WebSocket takes 1.06x of one over bare TCP, in
            too few blocks for an interval.

                                                     CPU    CPU bytes
                 p50 p90 p99 messages CPU/message client server  each p50 to tcp
            rung  us  us  us      k/s          us     us     us     B [interval]
            tcp  254 301 412      191        10.1   5.10   5.00   128 ▇▇▇▇     1.00x
            ws   270 319 437      180        10.1   5.41   5.30   136 ▇▇▇▇▎    1.06x
            http   -   -   -        -           -      -      -     - not reached
            64 B binary, 50 connections, one message in flight; 2 blocks of 500 ms each
            blocks in random order (seed 7); round trips, all blocks together

            http not reached: the run ended before its first block

            Numbers of all blocks together; intervals are of 95 %. CPU: user and system time
            of the whole process, for each message. Bytes: both directions of the stream,
            without TCP and IP; what these add is estimated from the number of segments.
            checks: Little's law held on 2 of 2 blocks; counts add up

            verdict        trusted
        "#]],
    );
}

#[test]
fn a_number_that_is_missing_says_why() {
    let mut record = records::ladder(&["tcp", "ws"]);
    for block in &mut record.blocks {
        block
            .cpu
            .missing
            .insert("server_us_per_message".to_owned(), "the server is not ours".to_owned());
        let summary = block.round_trip.as_mut().unwrap();
        summary
            .missing
            .insert("p99_ns".to_owned(), "too few messages: 500, at least 1000 needed".to_owned());
    }
    for result in &mut record.results {
        result.pooled.server_cpu_us_per_message = None;
    }
    record.results[1].pooled.round_trip_p99_ns = None;
    check(
        &record,
        &expect![[r#"
            The ladder

            Compared with bare TCP, a round trip on this machine takes 6 % more [4, 8] over
            WebSocket.

                                                     CPU bytes
                 p50 p90 p99 messages CPU/message client  each
            rung  us  us  us      k/s          us     us     B p50 to tcp [interval]
            tcp  254 301 412      191        10.1   5.10   128 ▇▇▇▇     1.00x
            ws   270 319   -      180        10.1   5.41   136 ▇▇▇▇▎    1.06x [1.04, 1.08]
            64 B binary, 50 connections, one message in flight; 2 blocks of 500 ms each
            blocks in random order (seed 7); round trips, all blocks together
            - CPU of the server: the server is not ours (tcp, ws)
            - round trip p99: too few messages: 500, at least 1000 needed (ws)

            Numbers of all blocks together; intervals are of 95 %. CPU: user and system time
            of the whole process, for each message. Bytes: both directions of the stream,
            without TCP and IP; what these add is estimated from the number of segments.
            checks: Little's law held on 4 of 4 blocks; counts add up

            verdict        trusted
        "#]],
    );
}

#[test]
fn doubts_are_told_with_their_advice() {
    let mut record = records::ladder(&["tcp", "ws"]);
    record.warnings = vec![Warning {
        code: "shared_cores".to_owned(),
        message: "generator and server share a core".to_owned(),
        evidence: "1 CPU allowed".to_owned(),
        advice: "allow at least 2 CPUs; ratios still hold, times do not".to_owned(),
    }];
    record.blocks[1].little = Little::Checked {
        expected_in_flight: 50.0,
        measured_in_flight: 43.1,
        deviation_fraction: -0.138,
        holds: false,
    };
    record.blocks[2].little = Little::NotChecked { reason: "fewer than 100 messages".to_owned() };
    record.blocks[3].counts.ok -= 1;
    check(
        &record,
        &expect![[r#"
            The ladder

            No conclusion: the measurement is invalid, see the verdict.

                                                      CPU    CPU bytes
                  p50 p90 p99 messages CPU/message client server  each p50 to tcp
            rung   us  us  us      k/s          us     us     us     B [interval]
              tcp 254 301 412      191        10.1   5.10   5.00   128 ▇▇▇▇     1.00x
            x ws  270 319 437      180        10.1   5.41   5.30   136 invalid
            64 B binary, 50 connections, one message in flight; 2 blocks of 500 ms each
            blocks in random order (seed 7); round trips, all blocks together

            Numbers of all blocks together; intervals are of 95 %. CPU: user and system time
            of the whole process, for each message. Bytes: both directions of the stream,
            without TCP and IP; what these add is estimated from the number of segments.
            checks: Little's law held on 2 of 3 blocks (broken first in ws, round 1: 50.0 in
              flight expected, 43.1 measured), not checked on 1 (fewer than 100 messages);
              counts do NOT add up in ws, round 2: sent 95050 is not ok 94999 + error 0 +
              refused 0 + timed out 0 + in flight at the end 50
            warning: generator and server share a core (1 CPU allowed); allow at least 2
              CPUs; ratios still hold, times do not

            verdict        invalid: the numbers are not valid results
            invalid: Little's law does not hold: messages, time or replies are not accounted
              for (ws) [littles_law]
              shown by: on 1 of 2 blocks, the worst in round 1: 50.0 messages in flight
                expected, 43.1 measured (-13.8 %)
              next: measure longer (-d 10s) on a quieter machine; if it stays, report it:
                wirebench has a bug
            invalid: these numbers are impossible: wirebench has a bug (ws) [impossible]
              shown by: on 1 of 2 blocks, the worst in round 2: the counts do not add up:
                sent 95050 is not ok 94999 + error 0 + refused 0 + timed out 0 + in flight
                at the end 50
              next: do not believe this run; report it with its record
        "#]],
    );
}

#[test]
fn slow_rungs_keep_their_columns() {
    let mut record = records::ladder(&["tcp", "ws"]);
    let pooled = &mut record.results[1].pooled;
    let estimate = |value: f64| Some(Estimate { value, low: None, high: None });
    pooled.round_trip_p50_ns = estimate(123e6);
    pooled.round_trip_p90_ns = estimate(1.234e9);
    pooled.round_trip_p99_ns = estimate(90e9);
    pooled.messages_per_s = estimate(4.0);
    pooled.generator_cpu_us_per_message = estimate(12_345.0);
    pooled.wire_bytes_per_message = estimate(33_554_432.0);
    let table = details(&record);
    let row = table.lines().find(|line| line.starts_with("ws ")).unwrap();
    expect!["ws   123000 1230000 90000000     4.00        10.1  12300   5.30 33554432"]
        .assert_eq(row);
}

#[test]
fn a_ratio_that_hangs_on_one_block_says_so_among_the_details() {
    let mut record = records::ladder(&["tcp", "ws", "http", "wss"]);
    // Intervals reach 1.9, 1.8 and 1.7 % to either side.
    for (row, moved) in [(1, 0.0078), (2, 0.006), (3, 0.016)] {
        let to = record.results[row].to_baseline.as_mut().unwrap().round_trip_p50_ns.as_mut();
        to.unwrap().moved_most_fraction = Some(moved);
    }
    let note = "One block alone makes most of the interval, and moves the ratio: ws by 0.8 %, wss by 1.6 %. More rounds \
                tell more.";
    let page = details(&record).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains(note), "{page}");
    assert!(report::markdown(&record).contains(note), "{}", report::markdown(&record));
    let first = report::terminal(&record, Depth::First, &Style::default());
    assert!(!first.contains("One block"), "{first}");
}

#[test]
fn every_format_has_the_ratio_of_the_table() {
    let record = records::ladder(&["tcp", "ws"]);
    assert!(details(&record).contains("1.06x [1.04, 1.08]"));
    let csv = report::csv(&record);
    let line = csv.lines().find(|line| line.starts_with("ws,")).unwrap();
    assert_eq!(ends_of_line(line), "ws: 1.06,1.04,1.08,,,trusted,,\n");
}

#[test]
fn the_conclusion_is_as_strong_as_the_interval() {
    let sentence = |low, high, ratio| {
        let mut record = records::ladder(&["tcp", "ws"]);
        let comparison =
            record.results[1].to_baseline.as_mut().and_then(|all| all.round_trip_p50_ns.as_mut());
        let comparison = comparison.unwrap();
        (comparison.low, comparison.high, comparison.ratio) = (low, high, ratio);
        report::conclusion(&record).unwrap()
    };
    assert_eq!(
        sentence(Some(1.04), Some(1.08), 1.06),
        "Compared with bare TCP, a round trip on this machine takes 6 % more [4, 8] over WebSocket."
    );
    assert_eq!(
        sentence(Some(0.98), Some(1.02), 1.0),
        "In a round trip on this machine, no difference from bare TCP is shown for WebSocket (3.1 % or more would \
         have shown)."
    );
    assert_eq!(
        sentence(None, None, 1.06),
        "On this machine a round trip over WebSocket takes 1.06x of one over bare TCP, in too few blocks for an interval."
    );
}

#[test]
fn the_conclusion_is_about_what_was_measured() {
    let mut record = records::ladder(&["tcp", "unix", "http-new"]);
    assert!(
        report::conclusion(&record).unwrap().ends_with(" and 6 % more [4, 8] over a Unix socket.")
    );
    record.results.remove(1);
    assert_eq!(
        report::conclusion(&record).unwrap(),
        "Compared with bare TCP, the life of a client on this machine takes 12 % more [10, 14] over HTTP with a \
         connection for each request."
    );
    record.results.truncate(1);
    assert_eq!(report::conclusion(&record), None);
    assert!(details(&record).contains("No conclusion"));
}

#[test]
fn what_an_invalid_verdict_is_about_is_not_claimed() {
    let about = |workload: Option<usize>| {
        let mut record = records::ladder(&["tcp", "unix", "ws"]);
        // The answer needs the baseline.
        let is_needed = workload.is_none_or(|workload| workload == 0);
        record.verdict = Some(Verdict {
            level: if is_needed { Level::Invalid } else { Level::Trusted },
            reasons: vec![Reason {
                code: "littles_law".to_owned(),
                level: Level::Invalid,
                workload,
                message: "Little's law does not hold".to_owned(),
                evidence: "on 2 of 2 blocks".to_owned(),
                advice: "measure longer".to_owned(),
                ..Reason::default()
            }],
            ..Verdict::default()
        });
        record
    };
    let conclusion = |workload| report::conclusion(&about(workload));
    assert_eq!(conclusion(None), None);
    assert_eq!(conclusion(Some(0)), None);
    assert!(conclusion(Some(1)).unwrap().contains("WebSocket"));
    assert!(conclusion(Some(2)).unwrap().contains("Unix socket"));
    let page = details(&about(Some(0)));
    assert!(page.contains("No conclusion: the measurement is invalid, see the verdict."), "{page}");
    expect![[r#"
        verdict.

                                                   CPU    CPU bytes
               p50 p90 p99 messages CPU/message client server  each p50 to tcp
        rung    us  us  us      k/s          us     us     us     B [interval]
        x tcp  254 301 412      191        10.1   5.10   5.00   128 ▇▇▇▇     1.00x
          unix 270 319 437      180        10.1   5.41   5.30   136 -
          ws   285 337 461      171        10.1   5.71   5.60   144 -
        64 B binary, 50 connections, one message in flight; 2 blocks of 500 ms each
        blocks in random order (seed 7); round trips, all blocks together

        Numbers of all blocks together; intervals are of 95 %. CPU: user and system time
        of the whole process, for each message. Bytes: both directions of the stream,
        without TCP and IP; what these add is estimated from the number of segments.
        checks: Little's law held on 6 of 6 blocks; counts add up

        verdict        invalid: the numbers are not valid results
        invalid: Little's law does not hold (tcp) [littles_law]
          shown by: on 2 of 2 blocks
          next: measure longer
    "#]]
    .assert_eq(&page[page.find("verdict").unwrap()..]);
}

/// Rungs, their doubted numbers (none: all of them), and the level of the doubt.
type Doubts<'a> = &'a [(usize, &'a [Number], Level)];

/// A ladder with a reason for doubt about some rungs, or some of their numbers.
fn doubted(names: &[&str], doubts: Doubts<'_>) -> RunRecord {
    let mut record = records::ladder(names);
    let reasons = doubts.iter().map(|(workload, numbers, level)| Reason {
        code: "generator_bound".to_owned(),
        level: *level,
        workload: Some(*workload),
        numbers: numbers.iter().map(|number| (*number, *level)).collect(),
        message: "the generator was the bottleneck".to_owned(),
        evidence: "98 % of a core".to_owned(),
        advice: "more threads".to_owned(),
    });
    record.verdict = Some(Verdict { reasons: reasons.collect(), ..Verdict::default() });
    record
}

#[test]
fn doubt_stands_beside_the_row_and_the_number_that_it_is_about() {
    let (degraded, invalid) = (Level::Degraded, Level::Invalid);
    let record = doubted(
        &["tcp", "unix", "ws", "http"],
        &[
            (1, &[], invalid),
            (2, &[], degraded),
            (3, &[Number::P90], degraded),
            (3, &[Number::P99, Number::Tail], invalid),
        ],
    );
    check(
        &record,
        &expect![[r#"
            The ladder

            Compared with bare TCP, a round trip on this machine takes 18 % more [16, 20]
            over HTTP.

                                                         CPU    CPU bytes
                   p50  p90  p99 messages CPU/message client server  each
            rung    us   us   us      k/s          us     us     us     B
              tcp  254  301  412      191        10.1   5.10   5.00   128
            x unix 270  319  437      180        10.1   5.41   5.30   136
            ? ws   285  337  461      171        10.1   5.71   5.60   144
              http 300 ?355 x486      162        10.1   6.02   5.90   152
            rung   p50 to tcp [interval]
              tcp  ▇▇▇▇     1.00x
            x unix invalid
            ? ws   ▇▇▇▇▌    1.12x [1.10, 1.14]
              http ▇▇▇▇▊    1.18x [1.16, 1.20]
            64 B binary, 50 connections, one message in flight; 2 blocks of 500 ms each
            blocks in random order (seed 7); round trips, all blocks together

            Numbers of all blocks together; intervals are of 95 %. CPU: user and system time
            of the whole process, for each message. Bytes: both directions of the stream,
            without TCP and IP; what these add is estimated from the number of segments.
            checks: Little's law held on 8 of 8 blocks; counts add up

            verdict        trusted, but not x unix; ? ws
            invalid: the generator was the bottleneck (unix, http p99 and tail)
              [generator_bound]
              shown by: unix: 98 % of a core
              next: more threads
            degraded: the generator was the bottleneck (ws, http p90) [generator_bound]
              shown by: ws: 98 % of a core
              next: more threads
        "#]],
    );
    let markdown = report::markdown(&record);
    let csv = report::csv(&record);
    expect![[r#"
        | rung | p50, us | p90, us | p99, us | messages, k/s | CPU/message, us | CPU client, us | CPU server, us | bytes each, B | p50 to tcp \[interval\] |
        | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
        | tcp | 254 | 301 | 412 | 191 | 10.1 | 5.10 | 5.00 | 128 | ▇▇▇▇     1.00x |
        | x unix | 270 | 319 | 437 | 180 | 10.1 | 5.41 | 5.30 | 136 | invalid |
        | ? ws | 285 | 337 | 461 | 171 | 10.1 | 5.71 | 5.60 | 144 | ▇▇▇▇▌    1.12x \[1.10, 1.14\] |
        | http | 300 | ?355 | x486 | 162 | 10.1 | 6.02 | 5.90 | 152 | ▇▇▇▇▊    1.18x \[1.16, 1.20\] |
    "#]].assert_eq(&lines_with(&markdown, "| "));
    expect![[r#"
        name: p50_ratio,p50_ratio_low,p50_ratio_high,server_memory_bytes,server_memory_bytes_per_receiver,believed,doubted,failed
        tcp: ,,,,,trusted,,
        unix: ,,,,,invalid,,
        ws: 1.12,1.1,1.1400000000000001,,,degraded,,
        http: 1.1800000000000002,1.1600000000000001,1.2000000000000002,,,trusted,p90=degraded p99=invalid tail=invalid,
    "#]]
    .assert_eq(&csv.lines().map(ends_of_line).collect::<String>());
    let html = report::html(&record);
    for cell in ["x unix", "? ws", "?355 [", "x486 ["] {
        assert!(html.contains(&format!(">{cell}")), "{cell}");
    }
    // A row without a result is not drawn with the others.
    let (_, ratios) = &report::figures(&record)[0];
    assert!(!ratios.contains(">unix<") && ratios.contains(">? ws<"), "{ratios}");
}

fn lines_with(text: &str, start: &str) -> String {
    let lines = text.lines().filter(|line| line.starts_with(start));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The name in a line of CSV, and its cells from the ratio on.
fn ends_of_line(line: &str) -> String {
    let cells: Vec<&str> = line.split(',').collect();
    format!("{}: {}\n", cells[0], cells[cells.len() - 8..].join(","))
}

#[test]
fn the_answer_rests_on_rows_without_doubt() {
    let names = ["tcp", "unix", "ws", "http"];
    let conclusion = |doubts: Doubts<'_>, alike: &[usize]| {
        let mut record = doubted(&names, doubts);
        for result in record.results.iter_mut().filter(|it| alike.contains(&it.workload)) {
            let to = result.to_baseline.as_mut().unwrap().round_trip_p50_ns.as_mut().unwrap();
            (to.low, to.smallest_detectable_fraction) = (Some(0.99), Some(0.04));
        }
        report::conclusion(&record).unwrap_or_else(|| "none".to_owned())
    };
    let degraded = Level::Degraded;
    #[rustfmt::skip]
    let table: [(Doubts<'_>, &[usize], &str); 8] = [
        (&[],                                                &[],        "takes 12 % more [10, 14] over WebSocket, "),
        (&[(2, &[], degraded)],                              &[],        "takes 18 % more [16, 20] over HTTP and "),
        (&[(2, &[Number::Ratio], degraded)],                 &[],        "takes 18 % more [16, 20] over HTTP and "),
        (&[(2, &[Number::P99], Level::Invalid)],             &[],        "takes 12 % more [10, 14] over WebSocket, "),
        (&[],                                                &[2],       "; no difference is shown for WebSocket (4.0 % or more would have shown)."),
        (&[(1, &[], Level::Invalid)],                        &[2, 3],    "no difference from bare TCP is shown for WebSocket and HTTP (4.0 %"),
        (&[(0, &[], degraded)],                              &[],        "none"),
        (&[(1, &[], degraded), (2, &[], degraded), (3, &[], degraded)], &[], "none"),
    ];
    for row @ (doubts, alike, words) in table {
        let conclusion = conclusion(doubts, alike);
        assert!(conclusion.contains(words), "{row:?}: {conclusion}");
    }
}

#[test]
fn a_reason_that_rungs_share_is_told_once() {
    let mut record = records::ladder(&["tcp", "unix", "ws"]);
    let reason = |workload, evidence: &str| Reason {
        code: "noisy_machine".to_owned(),
        level: Level::Degraded,
        workload: Some(workload),
        message: "other processes used CPU time".to_owned(),
        evidence: evidence.to_owned(),
        advice: "end them".to_owned(),
        ..Reason::default()
    };
    record.verdict = Some(Verdict {
        level: Level::Degraded,
        reasons: vec![reason(0, "0.30 cores"), reason(2, "0.50 cores")],
        ..Verdict::default()
    });
    let page = details(&record);
    expect![[r#"
        verdict.

                                                   CPU    CPU bytes
               p50 p90 p99 messages CPU/message client server  each
        rung    us  us  us      k/s          us     us     us     B
        ? tcp  254 301 412      191        10.1   5.10   5.00   128
          unix 270 319 437      180        10.1   5.41   5.30   136
        ? ws   285 337 461      171        10.1   5.71   5.60   144
        rung   p50 to tcp [interval]
        ? tcp  ▇▇▇▇     1.00x
          unix ▇▇▇▇▎    1.06x [1.04, 1.08]
        ? ws   ▇▇▇▇▌    1.12x [1.10, 1.14]
        64 B binary, 50 connections, one message in flight; 2 blocks of 500 ms each
        blocks in random order (seed 7); round trips, all blocks together

        Numbers of all blocks together; intervals are of 95 %. CPU: user and system time
        of the whole process, for each message. Bytes: both directions of the stream,
        without TCP and IP; what these add is estimated from the number of segments.
        checks: Little's law held on 6 of 6 blocks; counts add up

        verdict        degraded: the numbers are less reliable than they look
        degraded: other processes used CPU time (tcp, ws) [noisy_machine]
          shown by: tcp: 0.30 cores
          next: end them
    "#]]
    .assert_eq(&page[page.find("verdict").unwrap()..]);
}

#[test]
fn the_verdict_is_the_last_block_and_a_certificate_stands_beside_it() {
    let mut record = records::ladder(&["tcp", "ws"]);
    record.environment.selftest = Some(Certificate {
        at: "2026-01-01T00:00:00Z".to_owned(),
        version: "0.1.0".to_owned(),
        passed: true,
        checks: vec![Check { passed: true, ..Check::default() }; 5],
        ..Certificate::default()
    });
    let page = details(&record);
    expect![[r#"
        self-test      passed on this machine at 2026-01-01T00:00:00Z (5 of 5 checks,
                       version 0.1.0)
        verdict        trusted
    "#]]
    .assert_eq(&page[page.find("self-test").unwrap()..]);
}
