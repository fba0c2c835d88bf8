//! The page of a sweep.

use crate::pages::details;
use crate::sweeps;
use expect_test::{Expect, expect};
use record::{Ended, Knee, Level, RunRecord};
use report::{Depth, Style};

#[test]
fn every_step_of_every_line_is_a_row_and_every_line_says_where_it_bends() {
    check(
        &sweeps::cubeia(),
        &expect![[r#"
            Sweep of bots (cubeia): game://127.0.0.1:4123, game-ws://127.0.0.1:4123,
            game-comet://127.0.0.1:4123

            binary         bends at 24.0 k/s [23.8, 24.2] (confirmed)
                           What ran out: CPU of the server: 0.98 of the one core it may use.
                           23.0 k/s kept p99 < 50ms with less than 1 % missing in 2 of 2
                           blocks (confirmed); from 23.8 k/s on none does.
                           From there on less than 99 % of what is offered is achieved:
                           blocks that kept 99 %: 2 of 2 at 23.8 k/s, 0 of 2 at 24.2 k/s.
            WebSocket      bends at 15.2 k/s [15.0, 15.4] (confirmed)
                           What ran out: CPU of the server: 0.98 of the one core it may use.
                           14.6 k/s kept p99 < 50ms with less than 1 % missing in 2 of 2
                           blocks (confirmed); from 15.0 k/s on none does.
                           From there on less than 99 % of what is offered is achieved:
                           blocks that kept 99 %: 2 of 2 at 15.0 k/s, 0 of 2 at 15.4 k/s.
            Comet          bends at 5.10 k/s [5.05, 5.15] (confirmed)
                           What ran out: CPU of the server: 0.98 of the one core it may use.
                           4.90 k/s kept p99 < 50ms with less than 1 % missing in 2 of 2
                           blocks (confirmed); from 5.05 k/s on none does.
                           From there on less than 99 % of what is offered is achieved:
                           blocks that kept 99 %: 2 of 2 at 5.05 k/s, 0 of 2 at 5.15 k/s.

            binary
                         achieved kept   p50   p99     last server ours idle stream
            offered, k/s      k/s    %    us    us 1000, ms      %    %    %  MiB/s verdict
                   0.100    0.100  100   172   278        1    2.4  3.2 95.6  0.024 degraded
                   0.200    0.200  100   172   279        1    2.8  3.5 95.3  0.048 degraded
                   0.500    0.500  100   173   281        1    4.0  4.2 94.2  0.119 degraded
                    1.00     1.00  100   174   284        1    6.1  5.5 92.4  0.238 degraded
                    2.00     2.00  100   176   291        1   10.2  8.0 88.8  0.477 degraded
                    4.00     4.00  100   181   307        1   18.3 13.0 81.7  0.953 degraded
                    8.00     8.00  100   194   351        1   34.7 23.0 67.3   1.91 degraded
                    12.0     12.0  100   216   423        1   51.0 33.0 53.0   2.86 degraded
                    16.0     16.0  100   258   562        1   67.3 43.0 38.7   3.81 degraded
                    20.0     20.0  100   376   951        1   83.7 53.0 24.3   4.77 degraded
                    23.0     23.0 99.9   899  2680        9   96.1 60.6 13.4   5.49 degraded
                    23.8     23.7  100  1660  5200        9   99.0 62.4 10.9   5.66 degraded
                    24.2     23.6 97.5 18400 60600      400    100 63.0 10.0   5.64 degraded
                    25.2     23.6 93.7 18400 60600      400    100 63.0 10.0   5.63 degraded
                    26.0     23.6 90.8 18400 60600      400    100 63.0 10.0   5.63 degraded
                    30.0     23.5 78.4 18400 60600      400    100 63.0 10.0   5.61 degraded

            WebSocket
                         achieved kept   p50   p99     last server ours idle stream
            offered, k/s      k/s    %    us    us 1000, ms      %    %    %  MiB/s verdict
                   0.100    0.100  100   249   402        1    2.6  3.4 95.4  0.049 degraded
                   0.200    0.200  100   249   403        1    3.3  3.8 94.9  0.099 degraded
                   0.500    0.500  100   250   408        1    5.2  5.0 93.2  0.247 degraded
                    1.00     1.00  100   253   415        1    8.4  6.9 90.3  0.494 degraded
                    2.00     2.00  100   258   433        1   14.9 10.9 84.7  0.988 degraded
                    4.00     4.00  100   271   476        1   27.8 18.8 73.4   1.98 degraded
                    8.00     8.00  100   318   633        1   53.6 34.6 50.7   3.95 degraded
                    12.0     12.0  100   474  1150        1   79.4 50.4 28.1   5.93 degraded
                    14.6     14.6  100  1300  3870        9   96.1 60.6 13.4   7.20 degraded
                    15.0     15.0  100  2400  7510        9   99.0 62.4 10.9   7.43 degraded
                    15.4     15.0 97.5 26600 87600      400    100 63.0 10.0   7.39 degraded
                    16.0     15.0 93.7 26600 87600      400    100 63.0 10.0   7.39 degraded
                    16.0     15.0 93.5 26600 87600      400    100 63.0 10.0   7.39 degraded
                    20.0     14.9 74.4 26600 87600      400    100 63.0 10.0   7.35 degraded

            Comet
                         achieved kept   p50  p99     last server ours idle stream
            offered, k/s      k/s    %    ms   ms 1000, ms      %    %    %  MiB/s verdict
                   0.100    0.100  100 0.863 1.40        1    3.9  4.2 94.3  0.236 degraded
                   0.200    0.200  100 0.868 1.42        1    5.8  5.4 92.6  0.473 degraded
                   0.500    0.500  100 0.883 1.47        1   11.6  8.9 87.6   1.18 degraded
                    1.00     1.00  100 0.913 1.57        1   21.2 14.8 79.1   2.36 degraded
                    2.00     2.00  100  1.00 1.86        1   40.4 26.5 62.3   4.73 degraded
                    4.00     4.00  100  1.62 3.90        1   78.9 50.1 28.5   9.46 degraded
                    4.90     4.89  100  4.49 13.4        9   96.1 60.6 13.4   11.6 degraded
                    5.05     5.05  100  8.30 26.0        9   99.0 62.4 10.9   11.9 degraded
                    5.15     5.02 97.5  92.1  303      400    100 63.0 10.0   11.9 degraded
                    5.36     5.02 93.7  92.1  303      400    100 63.0 10.0   11.9 degraded

            offered: what was due. kept: achieved of that. p50, p99: response time. last
            1000: the mean of the last 1000 replies, in whole ms. server, ours: CPU of one
            core. idle: of the machine. stream: both ways.

            Bytes of an event at the last step below the knee, both directions
                                     + + framing + TCP/IP,    on the
                      payload encoding   and TLS estimated interface
            line            B        B         B         B         B
            binary        160      250       250       874       874
            WebSocket     160      490       518      1142      1142
            Comet         160      580      2480      4040      4040

            Against the published figures
            Cubeia, made up.
            The knee        published: about 1500 events/s
                            here: holds: WebSocket 15.2 k/s [15.0, 15.4], binary 24.0 k/s
                            [23.8, 24.2]: WebSocket gives way first. How many events that is
                            depends on the machine.
            Throughput      published: within 1 % of each other
                            here: holds: at 8 loads that both carried they differ by 0 % at
                            most. By the rule itself it cannot be much more: whoever carries
                            a load misses less than 1 % of it.
            Response time   published: well under 60 ms at 2000 events/s
                            here: holds: WebSocket at 2.00 k/s: p50 258 us, p99 433 us, mean
                            272 us; binary at 2.00 k/s: p50 176 us, p99 291 us, mean 185 us.
                            Ours count from when an event was due, and the percentile is
                            beside the mean that hides it.
            Bandwidth       published: WebSocket takes about 20 % more
                            here: does not hold: an event at 2.00 k/s costs WebSocket more
                            by: payload 0 %, encoded messages (packets or JSON) +96.0 %, the
                            stream, framing included +107 %, the stream with TCP and IP as
                            estimated +30.7 %, what the interface counted +30.6 %. It is
                            true of none of them. At 12.0 k/s, where more events share a
                            segment, the stream with TCP and IP is +30.7 %.
            CPU idle        published: falls in parallel for both
                            here: does not hold: for each 1000 events/s it falls by 3.58
                            points on binary and by 5.66 on WebSocket: 1.58x as fast.
                            Generator and server share this machine, and both are included.
            The closed loop published: 1 % missing is the knee
                            here: by arithmetic: WebSocket at 15.0 k/s, its last step below
                            the knee: a mean of 2.80 ms would take off 0.3 %.
            Pigeons         published: are slower
                            here: not shown: there is no line `carrier pigeon`.
            Machines and years differ: compare the shape and the ratios.

            verdict        degraded: the numbers are less reliable than they look
            degraded: generator and server share cores [shared_cores]
              shown by: 2 CPUs for 3 parties
              next: more CPUs, or fewer threads
        "#]],
    );
}

#[test]
fn one_line_without_a_knee_says_why_and_doubtful_steps_are_marked() {
    let mut record = sweeps::cubeia();
    record.ended = Ended::Interrupted { signal: 2 };
    let sweep = record.sweep.as_mut().unwrap();
    sweep.preset = None;
    sweep.slo = Some("p99 < 5ms".to_owned());
    sweep.lines.truncate(1);
    sweep.steps.retain(|step| step.line == 0);
    sweep.steps.truncate(3);
    sweep.steps[1].level = Level::Degraded;
    sweep.steps[1].response = None;
    sweep.steps[1].last_1000_mean_ms = None;
    sweep.steps[2].level = Level::Invalid;
    sweep.steps[2].server_cores_used = None;
    let line = &mut sweep.lines[0];
    line.knee =
        Knee::NotReached { offered_max_per_s: 400.0, reason: "the time was over".to_owned() };
    line.ran_out = "nothing up to 400/s; the time of 10m was over".to_owned();
    let capacity = line.capacity.as_mut().unwrap();
    (capacity.offered_per_s, capacity.low_per_s) = (200.0, 200.0);
    (capacity.high_per_s, capacity.confirmed) = (None, false);
    check(
        &record,
        &expect![[r#"
            partial: ended by SIGINT, Ctrl-C; this is what was measured until then.

            Sweep of bots: game://127.0.0.1:4123

            binary         does not bend up to 400/s
                           What ran out: nothing up to 400/s; the time of 10m was over.
                           200/s kept p99 < 5ms with less than 1 % missing in 2 of 2 blocks
                           (not confirmed); nothing more was asked for.
                           the time was over

                        achieved kept p50 p99               server ours idle stream
            offered, /s       /s    %  us  us last 1000, ms      %    %    %  KiB/s verdict
                    100      100  100 172 278             1    2.4  3.2 95.6   24.4 degraded
                    200      200  100   -   -             -    2.8  3.5 95.3   48.8 degraded
                    500      500  100 173 281             1      -  4.2 94.2    122 invalid

            offered: what was due. kept: achieved of that. p50, p99: response time. last
            1000: the mean of the last 1000 replies, in whole ms. server, ours: CPU of one
            core. idle: of the machine. stream: both ways.

            Bytes of an event at the last step below the knee, both directions
                   payload + encoding + framing and TLS + TCP/IP, estimated on the interface
            line         B          B                 B                   B                B
            binary     160        250               250                 874              884

            Against the published figures
            Cubeia, made up.
            The knee        published: about 1500 events/s
                            here: not shown: there is no line `WebSocket`. How many events
                            that is depends on the machine.
            Throughput      published: within 1 % of each other
                            here: not shown: there is no line `WebSocket`.
            Response time   published: well under 60 ms at 2000 events/s
                            here: not shown: there is no line `WebSocket`.
            Bandwidth       published: WebSocket takes about 20 % more
                            here: not shown: there is no line `WebSocket`.
            CPU idle        published: falls in parallel for both
                            here: not shown: there is no line `WebSocket`.
            The closed loop published: 1 % missing is the knee
                            here: not shown: there is no line `WebSocket`.
            Pigeons         published: are slower
                            here: not shown: there is no line `carrier pigeon`.
            Machines and years differ: compare the shape and the ratios.

            verdict        degraded: the numbers are less reliable than they look
            degraded: generator and server share cores [shared_cores]
              shown by: 2 CPUs for 3 parties
              next: more CPUs, or fewer threads
        "#]],
    );

    let conclusion = report::conclusion(&record);
    assert_eq!(conclusion.unwrap(), "On this machine binary does not bend up to 400/s.");
}

#[test]
fn what_rests_on_steps_in_doubt_has_their_mark_and_what_is_invalid_is_no_answer() {
    let mut record = sweeps::cubeia();
    record.conclusion = None;
    let lines = &mut record.sweep.as_mut().unwrap().lines;
    lines[0].level = Level::Degraded;
    lines[1].level = Level::Invalid;
    lines[1].capacity.as_mut().unwrap().level = Level::Degraded;
    lines[2].capacity.as_mut().unwrap().level = Level::Invalid;
    let page = report::terminal(&record, Depth::First, &Style::default());
    let (_, answers) = page.split_once("\n\n").unwrap();
    expect![[r#"
        ? binary       bends at 24.0 k/s [23.8, 24.2] (confirmed)
                       What ran out: CPU of the server: 0.98 of the one core it may use.
                       23.0 k/s kept p99 < 50ms with less than 1 % missing in 2 of 2
                       blocks (confirmed); from 23.8 k/s on none does.
        x WebSocket    the steps that show where it bends are not valid results
                       ? 14.6 k/s kept p99 < 50ms with less than 1 % missing in 2 of 2
                       blocks (confirmed); from 15.0 k/s on none does.
        Comet          bends at 5.10 k/s [5.05, 5.15] (confirmed)
                       What ran out: CPU of the server: 0.98 of the one core it may use.
                       x The steps that show which load keeps p99 < 50ms are not valid
                       results.

        degraded: generator and server share cores
    "#]]
    .assert_eq(answers);
    let conclusion = report::conclusion(&record);
    assert_eq!(
        conclusion.unwrap(),
        "On this machine ? binary bends at 24.0 k/s [23.8, 24.2] (confirmed), Comet bends at 5.10 k/s [5.05, 5.15] \
         (confirmed)."
    );
    let (markdown, html) = (report::markdown(&record), report::html(&record));
    for words in ["- **? binary** bends at 24.0", "- **x WebSocket** the steps that show"] {
        assert!(markdown.contains(words), "{words}\n{markdown}");
    }
    for words in [">? binary</p>", ">x WebSocket</p>", "here: not shown: where WebSocket bends is"]
    {
        assert!(html.contains(words), "{words}");
    }
    let marks = knees(&record);
    assert_eq!(marks, ["? binary 24.0 k/s [23.8, 24.2]", "Comet 5.10 k/s [5.05, 5.15]"]);

    // Nothing in an invalid record is an answer, a mark in a chart, or a statement that holds.
    record.verdict.as_mut().unwrap().level = Level::Invalid;
    assert_eq!((report::conclusion(&record), knees(&record)), (None, Vec::new()));
    let page = details(&record);
    assert!(!page.contains("bends at") && !page.contains("holds"), "{page}");
    assert_eq!(
        page.matches("not shown: the measurement is not a valid result").count(),
        7,
        "{page}"
    );
}

#[test]
fn what_is_not_confirmed_is_one_number_on_no_page() {
    let mut record = sweeps::cubeia();
    let line = &mut record.sweep.as_mut().unwrap().lines[0];
    line.knee = Knee::Found {
        offered_per_s: 24_000.0,
        low_per_s: 20_000.0,
        high_per_s: 26_000.0,
        confirmed: false,
    };
    let capacity = line.capacity.as_mut().unwrap();
    (capacity.low_per_s, capacity.confirmed) = (20_000.0, false);
    let between = "between 20.0 k/s and 26.0 k/s";
    assert_eq!(knees(&record)[0], format!("binary {between}"));
    assert!(report::html(&record).contains(&format!("\"label\":\"binary {between}\"")));
    let page = details(&record);
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        &format!("binary bends somewhere {between} (not confirmed)"),
        "23.0 k/s kept p99 < 50ms with less than 1 % missing in 2 of 2 blocks; the largest such load is somewhere \
         between 20.0 k/s and 23.8 k/s (not confirmed).",
    ] {
        assert!(page.contains(words), "{words}\n{page}");
    }
}

/// The names of the knees in the first chart.
fn knees(record: &RunRecord) -> Vec<String> {
    let (_, svg) = report::figures(record).swap_remove(0);
    let marks = svg.split("<path class=\"mark\"").skip(1);
    let name = |mark: &str| mark.split('>').nth(2)?.split('<').next().map(str::to_owned);
    marks.filter_map(name).collect()
}

#[test]
fn a_sweep_that_says_nothing_has_a_page_too() {
    let mut record = sweeps::cubeia();
    let sweep = record.sweep.as_mut().unwrap();
    sweep.lines.truncate(1);
    sweep.steps.clear();
    sweep.lines[0].knee =
        Knee::NotReached { offered_max_per_s: 0.0, reason: "nobody answers".to_owned() };
    sweep.lines[0].capacity = None;
    let page = details(&record);
    assert!(
        page.contains("no step was measured") && page.contains("was not carried at any load"),
        "{page}"
    );
    assert_eq!(report::conclusion(&record), None);
    record.sweep = None;
    assert!(details(&record).contains("has no sweep in it"));
}

#[test]
fn an_address_of_several_lines_is_named_once() {
    let mut record = sweeps::cubeia();
    for workload in &mut record.plan.workloads {
        workload.target = "ws://127.0.0.1:9/".to_owned();
    }
    let page = details(&record);
    assert!(page.starts_with("Sweep of bots (cubeia): ws://127.0.0.1:9/\n"), "{page}");
}

fn check(record: &RunRecord, expected: &Expect) {
    let page = details(record);
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    expected.assert_eq(&page);
}
