//! A single run.

use crate::pages::{check, details};
use crate::records;
use expect_test::{Expect, expect};
use record::{
    AgentPart, AgentTask, Block, Counts, Drift, Drifting, Ended, ErrorCount, Little, PartEnd,
    Phases, Pushed, RunRecord, ServerMachine, Summary, Warning, Whole,
};
use report::{Depth, Style, terminal};
use spec::{Load, Stop};
use stats::Histogram;
use std::num::NonZeroU64;
use units::Nanos;

#[test]
fn all_that_was_measured_of_one_target_is_shown() {
    check(
        &records::run(),
        &expect![[r#"
            ws://127.0.0.1:8080/

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

            response       none: a closed loop has no schedule; --rate has one
            messages       planned 95050 = sent 95050 + unsent 0
                           sent 95050 = ok 95000 + error 0 + timed out 0 + in flight 50
            connections    asked 50, opened 50, failed 0, lost 0, opened again 0
            bytes/message  sent 70 B, received 66 B; without TCP and IP
            Little's law   holds: 50.0 in flight expected, 49.9 measured (-0.2 %)

                     min mean max
            phase     us   us  us count
            connect 26.7 84.0 640    50

            verdict        trusted
        "#]],
    );
}

#[test]
fn a_percentile_that_hangs_on_one_block_says_so() {
    let with = |slow: u64| {
        let mut record = records::run();
        let block = record.blocks.remove(0);
        let times = |us: u64| {
            let mut times = Histogram::new();
            (0..1000).for_each(|index| times.record(Nanos(us * (800 + index * 2 / 5))));
            Summary::of(&times)
        };
        let blocks = (0..8).map(|round| {
            let us = if round == 3 { slow } else { 200 + u64::from(round % 3 == 0) };
            Block { round, round_trip: times(us), ..block.clone() }
        });
        record.blocks = blocks.collect();
        record.plan.rounds = vec![vec![0]; 8];
        record.results = record::results(&record.plan, &record.blocks);
        details(&record).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let page = with(230);
    assert!(page.contains("(one block alone moves it by 1."), "{page}");
    let page = with(201);
    assert!(!page.contains("one block alone"), "{page}");
}

#[test]
fn bots_that_wait_for_replies_are_told_what_they_left_out() {
    let mut record = records::run();
    let workload = &mut record.plan.workloads[0];
    workload.target = "game://127.0.0.1:4123".to_owned();
    let think = Nanos::from_secs(1);
    workload.spec.load = Load::ClosedBots { bots: records::count(1060), think };
    let block = &mut record.blocks[0];
    block.measured_ns = 10_000_000_000;
    block.counts = Counts { planned: 10_000, sent: 10_000, ok: 10_000, ..Counts::default() };
    block.pushed = Some(Pushed {
        deliveries: 40_000,
        notices: 12,
        unexpected: 0,
        payload_bytes: 720_000,
        whole: Whole { events: 11_000, replies: 11_000, deliveries: 44_000 },
    });
    block.last_1000_mean_ms = Some(60);
    block.last_1000_mean_ns = Some(60_100_000);
    check_lines(
        &record,
        &["game://", "1060 bots", "response", "left out", "deliveries", "last 1000"],
        &expect![[r#"
            game://127.0.0.1:4123
            64 B binary, 1060 bots, each a message 1.00 s after the reply to its last, 1
            response       none: these bots have no schedule; without --closed they have one
            left out       5.7 % of the 10600 messages that as many bots on a schedule send
            deliveries     40000 to others at the table (4.00 k/s), 12 notices
            last 1000      mean 60 ms as published, 60.1 ms without rounding
        "#]],
    );
}

#[test]
fn clients_that_live_shortly_have_their_phases_apart() {
    let mut record = records::run();
    let workload = &mut record.plan.workloads[0];
    workload.spec.load = records::clients(10, 5);
    workload.spec.phases.stop = Stop::Clients(NonZeroU64::new(20_000).unwrap());
    let block = &mut record.blocks[0];
    block.measured_ns = 1_260_000_000;
    block.phases = Phases {
        resolve: Some(records::summary(1_000, 1)),
        connect: Some(records::summary(60_000, 20_000)),
        handshake: Some(records::summary(110_000, 20_000)),
        first_reply: Some(records::summary(70_000, 20_000)),
        close: Some(records::summary(90_000, 20_000)),
        life: Some(records::summary(600_000, 20_000)),
        ..Phases::default()
    };
    block.little = Little::NotChecked { reason: "connections are short-lived".to_owned() };
    check(
        &record,
        &expect![[r#"
            ws://127.0.0.1:8080/

            ws://127.0.0.1:8080/ answers 191 k/s [189, 193]: life p50 254 us [252, 257], p99
            381 us [408, 416].

            64 B binary, 10 clients at a time, 5 round trips each, 1 thread, 1.26 s measured

                       p50 p90 p99  max
                        us  us  us   us
            life       254 305 381 2030
            round trip 254 305 381 2030
            - life p99.9: too few messages: 95000, at least 100000 needed

            throughput     191 k/s [189, 193]
            clients        15.9 k/s (20000 served)
            CPU/message    generator 5.10 us [5.05, 5.15], server 5.00 us [4.95, 5.05]

            response       none: a closed loop has no schedule; --rate has one
            messages       planned 95050 = sent 95050 + unsent 0
                           sent 95050 = ok 95000 + error 0 + timed out 0 + in flight 50
            connections    asked 50, opened 50, failed 0, lost 0, opened again 0
            bytes/message  sent 70 B, received 66 B; without TCP and IP
            Little's law   not checked: connections are short-lived

                          min mean  max
            phase          us   us   us count
            resolve     0.333 1.05 8.00     1
            connect      20.0 63.0  480 20000
            handshake    36.7  116  880 20000
            first reply  23.3 73.5  560 20000
            close        30.0 94.5  720 20000
            life          200  630 4800 20000

            verdict        trusted
        "#]],
    );
}

#[test]
fn errors_are_told_by_class_and_a_partial_run_is_marked() {
    let mut record = records::run();
    record.ended = Ended::Partial { reason: "the server ended in the middle".to_owned() };
    let workload = &mut record.plan.workloads[0].spec;
    workload.message.text = true;
    workload.load = Load::Closed {
        connections: records::count(50),
        in_flight: records::count(4),
        in_flight_max: None,
    };
    let error = |class: &str, count, example: &str| ErrorCount {
        class: class.to_owned(),
        count,
        example: example.to_owned(),
    };
    let block = &mut record.blocks[0];
    block.counts = Counts {
        planned: 100,
        sent: 90,
        unsent: 10,
        ok: 30,
        error: 40,
        refused: 7,
        timed_out: 13,
        in_flight_at_end: 0,
        redirects: 12,
    };
    block.round_trip = Some(records::summary(254_321, 30));
    block.errors = vec![
        error("reply_timed_out", 13, "no whole reply within 1 s"),
        error("wrong_reply", 40, "byte 3 of 64 is 0x00, expected 0x7f: \"\x1b]0;owned\x07\""),
    ];
    block
        .cpu
        .missing
        .insert("server_us_per_message".to_owned(), "the server is not ours".to_owned());
    let result = &mut record.results[0];
    result.pooled.server_cpu_us_per_message = None;
    record.warnings = vec![Warning {
        code: "many_errors".to_owned(),
        message: "two of three messages failed".to_owned(),
        evidence: "60 of 90".to_owned(),
        advice: "look at the errors above first".to_owned(),
    }];
    check(
        &record,
        &expect![[r#"
            partial: the server ended in the middle

            ws://127.0.0.1:8080/

            64 B text, 50 connections, 4 messages in flight on each, 1 thread, 500 ms
            measured

                        p50  p90  p99   max
                         us   us   us    us
            round trip ?254 ?305 ?381 ?2030
            - round trip p99.9: too few messages: 95000, at least 100000 needed

            throughput     191 k/s [189, 193]
            CPU/message    generator 5.10 us [5.05, 5.15], server - (the server is not ours)
            errors         40 x wrong reply, first: byte 3 of 64 is 0x00, expected 0x7f:
                           "\u{1b}]0;owned\u{7}"
                           13 x reply timed out, first: no whole reply within 1 s

            response       none: a closed loop has no schedule; --rate has one
            messages       planned 100 = sent 90 + unsent 10
                           sent 90 = ok 30 + error 40 + refused 7 + timed out 13 + in flight
                           0
                           error_rate 70.0 %, refused_rate 7.0 %
                           redirects 12, followed
            connections    asked 50, opened 50, failed 0, lost 0, opened again 0
            bytes/message  sent 70 B, received 66 B; without TCP and IP
            Little's law   holds: 50.0 in flight expected, 49.9 measured (-0.2 %)

                     min mean max
            phase     us   us  us count
            connect 26.7 84.0 640    50

            warning: two of three messages failed (60 of 90); look at the errors above first

            verdict        degraded: the numbers are less reliable than they look
            degraded: only 90.0 % of the requested load was sent [asked_not_achieved]
              shown by: 10 of 100 messages were never sent (10.0 %), and no percentile
                includes them
              next: look at the errors: more connections or messages failed than not
            degraded: messages failed, and the times are those of the others alone
              [failures]
              shown by: 40 errors, 7 refusals and 13 timeouts of 90 messages (66.7 %)
              next: look at the errors before any percentile
        "#]],
    );
}

#[test]
fn a_target_that_was_never_reached_says_so() {
    let mut record = records::run();
    record.results.clear();
    let block = &mut record.blocks[0];
    block.failed = Some("connection refused".to_owned());
    block.counts = Counts::default();
    block.connections =
        record::Connections { asked: 50, failed: 50, ..record::Connections::default() };
    block.phases = Phases::default();
    block.round_trip = None;
    block.messages_per_s = 0.0;
    block.measured_ns = 0;
    block.wire = record::Wire::default();
    block.cpu = record::Cpu::default();
    check(
        &record,
        &expect![[r#"
            ws://127.0.0.1:8080/

            64 B binary, 50 connections, one message in flight on each, 1 thread, 0 ns
            measured
            failed: connection refused
            round trip     no reply was measured
            throughput     0/s
            CPU/message    generator -, server -

            response       none: a closed loop has no schedule; --rate has one
            messages       planned 0 = sent 0 + unsent 0
                           sent 0 = ok 0 + error 0 + timed out 0 + in flight 0
            connections    asked 50, opened 0, failed 50, lost 0, opened again 0
            bytes/message  - (no reply was measured)
            Little's law   holds: 50.0 in flight expected, 49.9 measured (-0.2 %)

            verdict        invalid: the numbers are not valid results
            invalid: no message got its reply: this is an error, not a result
              [nothing_succeeded]
              shown by: connection refused
              next: is a server listening there, and does it answer as expected?
        "#]],
    );
}

/// Checks the lines that contain one of `words`.
fn check_lines(record: &RunRecord, words: &[&str], expected: &Expect) {
    let page = details(record);
    let is_wanted = |line: &&str| words.iter().any(|word| line.contains(word));
    let lines: Vec<&str> = page.lines().filter(is_wanted).collect();
    expected.assert_eq(&format!("{}\n", lines.join("\n")));
}

#[test]
fn what_drifts_has_a_line_and_what_does_not_has_none() {
    let drift = |number, per_minute: f64, is_shown| Drift {
        workload: 0,
        number,
        blocks: 50,
        span_minutes: 1.96,
        median: 50e6,
        per_minute,
        low: per_minute - 0.05 * per_minute.abs(),
        high: per_minute + 0.05 * per_minute.abs(),
        p_value: 1e-9,
        is_shown,
    };
    let drifts = vec![
        drift(Drifting::ServerMemoryBytes, 1.2 * 1024.0 * 1024.0, true),
        drift(Drifting::P99Ns, -12_000.0, true),
        drift(Drifting::ServerCpuUsPerMessage, 0.5, true),
        drift(Drifting::P50Ns, 1e6, false),
    ];
    let record = RunRecord { drifts, ..records::run() };
    let page = terminal(&record, Depth::First, &Style::default());
    let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("drift: ")).collect();
    assert_eq!(
        lines,
        [
            "drift: memory grows 1.20 MiB/min [1.14, 1.26], over 50 blocks in 1m58s",
            "drift: p99 falls 12.0 us/min [11.4, 12.6], over 50 blocks in 1m58s",
            "drift: CPU/message rises 0.500 us/min [0.475, 0.525], over 50 blocks in 1m58s",
        ],
        "{page}"
    );
}

#[test]
fn a_fleet_has_a_line_for_each_agent() {
    let mut record = records::run();
    let part = AgentPart {
        agent: "a0".to_owned(),
        planned: Some(47_525),
        sent: Some(47_500),
        ok: Some(47_480),
        p99_ns: Some(381_000),
        late_ns: Some(120_000),
        clock_bound_ns: Some(64_000),
        busiest_worker_fraction: Some(0.42),
        ..AgentPart::default()
    };
    let doubted = AgentPart {
        agent: "a1".to_owned(),
        late_ns: Some(12_000_000),
        doubts: vec!["it began 12.0 ms late".to_owned()],
        ..part.clone()
    };
    let lost = AgentPart { agent: "a2".to_owned(), end: PartEnd::Lost, ..AgentPart::default() };
    let watch = AgentPart {
        agent: "w0".to_owned(),
        task: AgentTask::Watch,
        late_ns: Some(90_000),
        clock_bound_ns: Some(71_000),
        ..AgentPart::default()
    };
    record.blocks[0].agents = vec![part, doubted, lost, watch];
    record.blocks[0].server_machine = Some(ServerMachine {
        idle_fraction: Some(0.4),
        cpus_allowed: Some(4),
        retransmitted_segments: Some(3),
        listen_overflows: Some(0),
    });
    let page = details(&record);
    let shown = page.split_once("\nagent ").expect("there is a table of agents").1;
    expect![[r#"
             count   sent    ok  us    us    us       % stalls throttled again
        a0         1 of 1 47500 47480 381   120  64.0    42.0      0         0     0
        a1         0 of 1 47500 47480 381 12000  64.0    42.0      0         0     0
        a2         0 of 1     0     0   -     -     -       -      0         0     0
        w0 (watch) 1 of 1     -     -   -  90.0  71.0       -      -         -     -
        agents: times and shares are those of each one's worst block; a part that does
        not count is left out of the numbers above

        verdict        degraded: the numbers are less reliable than they look
        degraded: agents of the fleet were lost: their parts are missing [agent_lost]
          shown by: 2 of 3 parts were measured: a2 was lost; it was offered at least
            190100/s, at most 285150/s
          next: look at the machines of these agents; --repeat-lost 1 measures such a
            block again
        degraded: agents of the fleet are not trusted: their parts are left out
          [agent_not_trusted]
          shown by: a1: it began 12.0 ms late
          next: give these agents machines of their own, or the fleet more machines
    "#]]
    .assert_eq(shown);
    let first = terminal(&record, Depth::First, &Style::default());
    assert!(!first.contains("\nagent "));
    let words = first.split_whitespace().collect::<Vec<_>>().join(" ");
    let watched = "40 % of its CPU time idle, 3 TCP segments sent again, 0 connections refused by a full queue";
    assert!(words.contains(watched), "{first}");
}

#[test]
fn what_was_offered_is_a_range_where_an_agent_was_lost() {
    let mut record = records::open();
    let planned = Some(record.blocks[0].counts.planned);
    let part = |agent: &str| AgentPart { agent: agent.to_owned(), ..AgentPart::default() };
    let measured = AgentPart { planned, ..part("a0") };
    let lost = AgentPart { end: PartEnd::Lost, ..part("a1") };
    record.blocks[0].agents = vec![measured.clone(), lost];
    let offered = |record: &RunRecord| {
        let page = details(record);
        let line = page.lines().find(|line| line.contains("offered ")).expect("a line of rates");
        line.split_once("offered ").expect("it has the word").1.to_owned()
    };
    assert_eq!(offered(&record), "2.00 k/s to 4.00 k/s, sent 2.00 k/s");
    // What an untrusted part planned was offered too, but is in none of the numbers of the page.
    let doubted = AgentPart { planned, doubts: vec!["it began late".to_owned()], ..part("a2") };
    record.blocks[0].agents.push(doubted.clone());
    assert_eq!(offered(&record), "2.00 k/s to 6.00 k/s, sent 2.00 k/s");
    record.blocks[0].agents = vec![measured, doubted];
    assert_eq!(offered(&record), "2.00 k/s, sent 2.00 k/s");
}
