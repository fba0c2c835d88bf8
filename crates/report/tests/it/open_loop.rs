//! Open loops, rising numbers of bots, sessions: their pages for readers and their exports for programs.

use crate::pages::{check, details};
use crate::records;
use expect_test::expect;
use record::{
    Block, Counts, Fairness, Identity, Level, Number, Reason, RunRecord, Sessions, Spacing, Stall,
    Stalls, Verdict,
};
use report::{Depth, Style};
use spec::{Load, Stop};
use units::Nanos;

#[test]
fn response_times_stand_first_and_what_they_are_made_of_beside_them() {
    check(
        &records::open(),
        &expect![[r#"
            ws://127.0.0.1:8080/

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

            messages       planned 20000 = sent 20000 + unsent 0
                           sent 20000 = ok 20000 + error 0 + timed out 0 + in flight 0
            replies        lost 0, duplicate 0, reordered 0, corrupted 0
            stalls         none: the generator never stood still
            fairness       399 replies at least, median 400, of 50 connections
            connections    asked 50, opened 50, failed 0, lost 0, opened again 0
            bytes/message  sent 70 B, received 66 B; without TCP and IP

                     min mean max
            phase     us   us  us count
            connect 26.7 84.0 640    50

            verdict        trusted
        "#]],
    );
}

#[test]
fn a_block_that_failed_is_in_every_rate_of_the_page() {
    let mut record = records::open();
    record.plan.workloads[0].spec.phases.stop = Stop::After(Nanos::from_secs(10));
    let block = record.blocks.remove(0);
    let failed = Block {
        failed: Some("refused".to_owned()),
        measured_ns: 0,
        counts: Counts::default(),
        open_loop: None,
        messages_per_s: 0.0,
        ..block.clone()
    };
    let blocks = [block.clone(), failed, block];
    record.blocks = (0..).zip(blocks).map(|(round, block)| Block { round, ..block }).collect();
    record.plan.rounds = vec![vec![0]; 3];
    record.results = record::results(&record.plan, &record.blocks);
    let page = details(&record);
    assert!(page.contains("achieved 1.33 k/s (100 % of offered)"), "{page}");
    assert!(page.contains("asked 2.00 k/s, offered 1.33 k/s, sent 1.33 k/s"), "{page}");
    let html = report::html(&record);
    assert!(html.contains("<p class=\"value\">? 1.33 k/s</p>"), "{html}");
}

#[test]
fn watching_the_clock_is_shown_with_its_cost() {
    let page = |blocks: &[Option<f64>], depth| {
        let mut record = records::open();
        let block = record.blocks.remove(0);
        record.blocks = (0..)
            .zip(blocks)
            .map(|(round, looked)| {
                let mut block = Block { round, ..block.clone() };
                block.cpu.looking_cores_used = *looked;
                block
            })
            .collect();
        report::terminal(&record, depth, &Style::default())
    };
    for depth in [Depth::First, Depth::Details] {
        let page = page(&[Some(0.083)], depth);
        let (_, facts) = page.split_once("\nrate ").unwrap();
        expect![[r#"
                      asked 2.00 k/s, offered 2.00 k/s, sent 2.00 k/s
                           achieved 2.00 k/s (100 % of offered)
            punctual       8.3 % of a core was spent on watching the clock
            CPU/message    generator 5.10 us [5.05, 5.15], server 5.00 us [4.95, 5.05]"#]]
        .assert_eq(facts.split("\n\n").next().unwrap());
    }
    // The total over the total time: a block may have had no CPU to spare.
    let page_of_blocks = page(&[Some(0.08), None, Some(0.04)], Depth::First);
    assert!(page_of_blocks.contains("\npunctual       4.0 % of a core"), "{page_of_blocks}");
    let sleepy = page(&[None], Depth::Details);
    assert!(!sleepy.contains("clock"), "{sleepy}");
}

#[test]
fn a_percentile_that_is_no_result_is_marked_and_no_answer() {
    let judged = |numbers: &[(Number, Level)]| {
        let mut record = records::open();
        record.conclusion = Some("An older version concluded this.".to_owned());
        let reason = Reason {
            code: "generator_bound".to_owned(),
            level: Level::Invalid,
            workload: Some(0),
            numbers: numbers.iter().copied().collect(),
            message: "the generator was the bottleneck".to_owned(),
            ..Reason::default()
        };
        let (level, reasons) = (Level::Invalid, vec![reason]);
        record.verdict = Some(Verdict { level, reasons, ..Verdict::default() });
        record
    };
    let tiles = |record: &RunRecord| {
        let page = report::html(record);
        assert!(!page.contains("older version"), "{page}");
        let values = page.split("<p class=\"value\">").skip(1);
        values.map(|it| it.split('<').next().unwrap().to_owned()).collect::<Vec<String>>()
    };
    let p99 = judged(&[
        (Number::P90, Level::Degraded),
        (Number::P99, Level::Invalid),
        (Number::Tail, Level::Degraded),
    ]);
    let page = details(&p99);
    for line in [
        "response  1250 ?1500 x1880 ?2500 ?10000\n",
        "invalid: the generator was the bottleneck (p99) [generator_bound]",
    ] {
        assert!(page.contains(line), "{line}\n{page}");
    }
    assert_eq!(tiles(&p99), ["1.25 ms", "? 2.50 ms", "191 k/s [189, 193]"]);
    assert_eq!(tiles(&judged(&[])), [""; 0]);
}

#[test]
fn bots_that_rise_have_a_table_of_their_steps() {
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
            response times

            100 bots, ws://127.0.0.1:8080/
            64 B binary, 100 bots, each a message every 1.00 s at equal distances, 10000
            outstanding at most, 1 thread, 10.0 s measured

                       p50  p90  p99   max
                        us   us   us    us
            response  1250 1500 1880 10000
            service   1200 1440 1800  9600
            send lag  50.0 60.0 75.0   400
            own share 12.0 14.4 18.0  96.0
            - response p99.9: 1000 samples, at least 10000 are needed

            rate           asked 100/s, offered 100/s, sent 100/s
                           achieved 100/s (100 % of offered)
            CPU/message    generator 5.10 us [5.05, 5.15], server 5.00 us [4.95, 5.05]

            messages       planned 1000 = sent 1000 + unsent 0
                           sent 1000 = ok 1000 + error 0 + timed out 0 + in flight 0
            replies        lost 0, duplicate 0, reordered 0, corrupted 0
            stalls         none: the generator never stood still
            fairness       399 replies at least, median 400, of 50 connections
            connections    asked 50, opened 50, failed 0, lost 0, opened again 0
            bytes/message  sent 70 B, received 66 B; without TCP and IP

                     min mean max
            phase     us   us  us count
            connect 26.7 84.0 640    50

            200 bots, ws://127.0.0.1:8080/
            64 B binary, 200 bots, each a message every 1.00 s at equal distances, 10000
            outstanding at most, 1 thread, 10.0 s measured

                       p50  p90  p99   max
                        us   us   us    us
            response  1250 1500 1880 10000
            service   1200 1440 1800  9600
            send lag  50.0 60.0 75.0   400
            own share 12.0 14.4 18.0  96.0
            - response p99.9: 2000 samples, at least 10000 are needed

            rate           asked 200/s, offered 200/s, sent 200/s
                           achieved 200/s (100 % of offered)
            CPU/message    generator 5.41 us [5.35, 5.46], server 5.30 us [5.25, 5.35]

            messages       planned 2000 = sent 2000 + unsent 0
                           sent 2000 = ok 2000 + error 0 + timed out 0 + in flight 0
            replies        lost 0, duplicate 0, reordered 0, corrupted 0
            stalls         none: the generator never stood still
            fairness       399 replies at least, median 400, of 50 connections
            connections    asked 50, opened 50, failed 0, lost 0, opened again 0
            bytes/message  sent 70 B, received 66 B; without TCP and IP

                     min mean max
            phase     us   us  us count
            connect 26.7 84.0 640    50

            400 bots, ws://127.0.0.1:8080/
            64 B binary, 400 bots, each a message every 1.00 s at equal distances, 10000
            outstanding at most, 1 thread, 10.0 s measured

                        p50   p90   p99    max
                         us    us    us     us
            response  ?1250 x1500 x1880 x10000
            service    1200  1440  1800   9600
            send lag   50.0  60.0  75.0    400
            own share  12.0  14.4  18.0   96.0
            - response p99.9: 3000 samples, at least 10000 are needed

            rate           asked 400/s, offered 400/s, sent 300/s
                           achieved 300/s (75.0 % of offered)
            CPU/message    generator 5.71 us [5.65, 5.77], server 5.60 us [5.54, 5.66]

            messages       planned 4000 = sent 3000 + unsent 1000
                           sent 3000 = ok 3000 + error 0 + timed out 0 + in flight 0
                           error_rate 25.0 %, refused_rate 0 %
            replies        lost 0, duplicate 0, reordered 0, corrupted 0
            stalls         none: the generator never stood still
            fairness       399 replies at least, median 400, of 50 connections
            connections    asked 50, opened 50, failed 0, lost 0, opened again 0
            bytes/message  sent 70 B, received 66 B; without TCP and IP

                     min mean max
            phase     us   us  us count
            connect 26.7 84.0 640    50

            checks: Little's law was not checked (an open loop); counts add up

            verdict        invalid: the numbers are not valid results
            invalid: only 75.0 % of the requested load was answered in time (400 bots p90,
              p99 and tail) [asked_not_achieved]
              shown by: 1000 of 4000 messages were never sent (25.0 %), and no percentile
                includes them; 300.0 replies a second where 400.0 were due (75.0 %)
              next: use fewer --bots, or a longer --every
        "#]],
    );
}

#[test]
fn sessions_stalls_and_replies_that_went_astray_are_told() {
    let mut record = records::open();
    let workload = &mut record.plan.workloads[0];
    workload.spec.load = Load::Sessions {
        connections: records::count(50),
        rate: "100/s".parse().unwrap(),
        spacing: Spacing::Poisson,
        messages_each: records::count(20),
        think: Nanos::from_secs(1),
    };
    let block = &mut record.blocks[0];
    block.identity = Some(Identity { lost: 1, duplicate: 2, reordered: 3, corrupted: 4 });
    block.stalls = Stalls {
        count: 2,
        longest_ns: 20_000_000,
        total_ns: 31_000_000,
        affected: 62,
        first: vec![Stall { at_ns: 1, duration_ns: 20_000_000, affected: 40 }],
    };
    block.fairness = Some(Fairness { connections: 50, replies_min: 100, replies_median: 400 });
    block.counts =
        Counts { planned: 20_100, sent: 20_000, unsent: 100, ok: 20_000, ..Counts::default() };
    if let Some(times) = &mut block.open_loop {
        times.sessions = Some(Sessions { planned: 1000, started: 990, completed: 980 });
        times.true_delay = times.own_share.clone();
    }
    check(
        &record,
        &expect![[r#"
            ws://127.0.0.1:8080/

            64 B binary, partly open: 100/s sessions of 20 messages due at random (Poisson),
            think time 1.00 s, 50 at a time at most, 1 thread, 10.0 s measured

                         p50   p90   p99 p99.9    max
                          us    us    us    us     us
            response   ?1250 ?1500 ?1880 ?2500 ?10000
            service     1200  1440  1800  2400   9600
            send lag    50.0  60.0  75.0   100    400
            own share   12.0  14.4  18.0  24.0   96.0
            true delay  12.0  14.4  18.0  24.0   96.0

            rate           asked 100/s sessions, offered 2.01 k/s, sent 2.00 k/s
                           achieved 2.00 k/s (99.5 % of offered)
            CPU/message    generator 5.10 us [5.05, 5.15], server 5.00 us [4.95, 5.05]

            messages       planned 20100 = sent 20000 + unsent 100
                           sent 20000 = ok 20000 + error 0 + timed out 0 + in flight 0
                           error_rate 0.5 %, refused_rate 0 %
            sessions       planned 1000, began 990, completed 980
            replies        lost 1, duplicate 2, reordered 3, corrupted 4
            stalls         2, the longest 20.0 ms, 31.0 ms in all; 62 messages affected
            fairness       100 replies at least, median 400, of 50 connections
            connections    asked 50, opened 50, failed 0, lost 0, opened again 0
            bytes/message  sent 70 B, received 66 B; without TCP and IP

                     min mean max
            phase     us   us  us count
            connect 26.7 84.0 640    50

            verdict        degraded: the numbers are less reliable than they look
            degraded: the generator itself stood still for a while: that time is not the
              server's (tail) [generator_stalled]
              shown by: 2 gaps, the longest 20 ms, 31 ms in all; 62 messages were due or in
                flight meanwhile (0.3 %)
              next: end other programs on this machine and run it again; `wirebench doctor`
                lists them
            degraded: replies were lost, repeated, out of order or altered
              [unreliable_replies]
              shown by: 1 lost, 2 duplicate, 3 reordered, 4 corrupted of 20000 messages
              next: look at the server and the network path: this is not a matter of speed
            degraded: some connections were served far less than others [unfair]
              shown by: the least served of 50 connections had 100 replies, the median 400
              next: look at how the server takes turns; with one thread per connection, at
                its number of threads
        "#]],
    );
}

#[test]
fn an_open_loop_in_which_nothing_ended_says_so() {
    let mut record = records::open();
    record.results.clear();
    let block = &mut record.blocks[0];
    block.counts = Counts {
        planned: 20_000,
        sent: 50,
        unsent: 19_950,
        in_flight_at_end: 50,
        ..Counts::default()
    };
    block.messages_per_s = 0.0;
    block.identity = None;
    block.open_loop = Some(record::OpenLoop::default());
    let page = details(&record);
    assert!(page.contains("response       no message came to its end\n"), "{page}");
    assert!(page.contains("replies        not told apart: messages carry no header\n"), "{page}");
    assert!(page.contains("verdict        invalid: the numbers are not valid results\n"), "{page}");
}

#[test]
fn programs_get_the_response_of_an_open_loop() {
    let of = |time| {
        let mut histogram = stats::Histogram::new();
        histogram.record(Nanos(time));
        record::Summary::of(&histogram)
    };
    let mut record = records::open();
    if let Some(times) = &mut record.blocks[0].open_loop {
        (times.response, times.service) = (of(2000), of(1000));
    }
    record.results[0].response = of(2000);
    record.results[0].round_trip = of(1000);
    let log = report::hlog(&record).unwrap();
    // The longest time of the interval.
    assert!(log.contains(",2000.000,"), "{log}");
    let table = report::hgrm(&record, None).unwrap();
    assert!(table.contains("2.000"), "{table}");
}
