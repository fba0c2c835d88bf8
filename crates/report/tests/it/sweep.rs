//! The page of a sweep.

use crate::sweeps;
use expect_test::{Expect, expect};
use record::{Capacity, Ended, Knee, Level, RunRecord};
use report::Style;

#[test]
fn every_step_of_every_line_is_a_row_and_every_line_says_where_it_bends() {
    check(
        &sweeps::cubeia(),
        &expect![[r#"
        Sweep of bots (cubeia): game://127.0.0.1:4123, game-ws://127.0.0.1:4123,
        game-comet://127.0.0.1:4123

        binary
           offered  achieved    kept     p50     p99   mean server  ours  idle wire B/s
            ?100/s     100/s   100 %  172 us  278 us    1ms    2 %   3 %  96 %    25000
            ?200/s     200/s   100 %  172 us  279 us    1ms    3 %   3 %  95 %    50000
            ?500/s     500/s   100 %  173 us  281 us    1ms    4 %   4 %  94 %   125 kB
           ?1000/s    1000/s   100 %  174 us  284 us    1ms    6 %   5 %  92 %   250 kB
           ?2000/s    1999/s   100 %  176 us  291 us    1ms   10 %   8 %  89 %   500 kB
           ?4000/s    3998/s   100 %  181 us  307 us    1ms   18 %  13 %  82 %     1 MB
           ?8000/s    7996/s   100 %  194 us  351 us    1ms   35 %  23 %  67 %     2 MB
          ?12000/s   11994/s   100 %  216 us  423 us    1ms   51 %  33 %  53 %     3 MB
          ?16000/s   15992/s   100 %  258 us  562 us    1ms   67 %  43 %  39 %     4 MB
          ?20000/s   19990/s   100 %  376 us  951 us    1ms   84 %  53 %  24 %     5 MB
          ?23040/s   23028/s  99.9 %  899 us 2.68 ms    9ms   96 %  61 %  13 %     6 MB
          ?23760/s   23748/s   100 % 1.66 ms 5.20 ms    9ms   99 %  62 %  11 %     6 MB
          ?24240/s   23635/s  97.5 % 18.4 ms 60.6 ms  400ms  100 %  63 %  10 %     6 MB
          ?25200/s   23616/s  93.7 % 18.4 ms 60.6 ms  400ms  100 %  63 %  10 %     6 MB
          ?26000/s   23600/s  90.8 % 18.4 ms 60.6 ms  400ms  100 %  63 %  10 %     6 MB
          ?30000/s   23520/s  78.4 % 18.4 ms 60.6 ms  400ms  100 %  63 %  10 %     6 MB

        WebSocket
           offered  achieved    kept     p50     p99   mean server  ours  idle wire B/s
            ?100/s     100/s   100 %  249 us  402 us    1ms    3 %   3 %  95 %    51800
            ?200/s     200/s   100 %  249 us  403 us    1ms    3 %   4 %  95 %   104 kB
            ?500/s     500/s   100 %  250 us  408 us    1ms    5 %   5 %  93 %   259 kB
           ?1000/s    1000/s   100 %  253 us  415 us    1ms    8 %   7 %  90 %   518 kB
           ?2000/s    1999/s   100 %  258 us  433 us    1ms   15 %  11 %  85 %     1 MB
           ?4000/s    3998/s   100 %  271 us  476 us    1ms   28 %  19 %  73 %     2 MB
           ?8000/s    7996/s   100 %  318 us  633 us    1ms   54 %  35 %  51 %     4 MB
          ?12000/s   11994/s   100 %  474 us 1.15 ms    1ms   79 %  50 %  28 %     6 MB
          ?14592/s   14585/s   100 % 1.30 ms 3.87 ms    9ms   96 %  61 %  13 %     8 MB
          ?15048/s   15040/s   100 % 2.40 ms 7.51 ms    9ms   99 %  62 %  11 %     8 MB
          ?15352/s   14969/s  97.5 % 26.6 ms 87.6 ms  400ms  100 %  63 %  10 %     8 MB
          ?15960/s   14957/s  93.7 % 26.6 ms 87.6 ms  400ms  100 %  63 %  10 %     8 MB
          ?16000/s   14956/s  93.5 % 26.6 ms 87.6 ms  400ms  100 %  63 %  10 %     8 MB
          ?20000/s   14876/s  74.4 % 26.6 ms 87.6 ms  400ms  100 %  63 %  10 %     8 MB

        Comet
           offered  achieved    kept     p50     p99   mean server  ours  idle wire B/s
            ?100/s     100/s   100 %  863 us 1.40 ms    1ms    4 %   4 %  94 %   248 kB
            ?200/s     200/s   100 %  868 us 1.42 ms    1ms    6 %   5 %  93 %   496 kB
            ?500/s     500/s   100 %  883 us 1.47 ms    1ms   12 %   9 %  88 %     1 MB
           ?1000/s    1000/s   100 %  913 us 1.57 ms    1ms   21 %  15 %  79 %     2 MB
           ?2000/s    1999/s   100 % 1.00 ms 1.86 ms    1ms   40 %  27 %  62 %     5 MB
           ?4000/s    3998/s   100 % 1.62 ms 3.90 ms    1ms   79 %  50 %  29 %    10 MB
           ?4896/s    4894/s   100 % 4.49 ms 13.4 ms    9ms   96 %  61 %  13 %    12 MB
           ?5049/s    5046/s   100 % 8.30 ms 26.0 ms    9ms   99 %  62 %  11 %    12 MB
           ?5151/s    5022/s  97.5 % 92.1 ms  303 ms  400ms  100 %  63 %  10 %    12 MB
           ?5355/s    5018/s  93.7 % 92.1 ms  303 ms  400ms  100 %  63 %  10 %    12 MB

        binary         bends at 24000/s [23760, 24240]: from there on less than 99 % of
                       what is offered is achieved.
                       What ran out: CPU of the server: 0.98 of the one core it may use.
                       23040/s kept p99 < 50ms with less than 1 % missing (confirmed);
                       23760/s did not.
        WebSocket      bends at 15200/s [15048, 15352]: from there on less than 99 % of
                       what is offered is achieved.
                       What ran out: CPU of the server: 0.98 of the one core it may use.
                       14592/s kept p99 < 50ms with less than 1 % missing (confirmed);
                       15048/s did not.
        Comet          bends at 5100/s [5049, 5151]: from there on less than 99 % of
                       what is offered is achieved.
                       What ran out: CPU of the server: 0.98 of the one core it may use.
                       4896/s kept p99 < 50ms with less than 1 % missing (confirmed);
                       5049/s did not.

        offered: what was due. kept: achieved of that. p50, p99: response time. mean: of
        the last 1000 replies, in whole ms. server, ours: CPU of one core. idle: of the
        machine. wire: the stream, both ways.
        Steps: ? degraded.

        verdict        degraded: the numbers say less than they seem to
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
    line.capacity = Some(Capacity {
        offered_per_s: 200.0,
        low_per_s: 200.0,
        high_per_s: None,
        confirmed: false,
    });
    check(
        &record,
        &expect![[r#"
        partial: ended by SIGINT, Ctrl-C; this is what was measured until then.

        Sweep of bots: game://127.0.0.1:4123

           offered  achieved    kept     p50     p99   mean server  ours  idle wire B/s
            ?100/s     100/s   100 %  172 us  278 us    1ms    2 %   3 %  96 %    25000
            ?200/s     200/s   100 %       -       -      -    3 %   3 %  95 %    50000
            !500/s     500/s   100 %  173 us  281 us    1ms      -   4 %  94 %   125 kB

        binary         does not bend up to 400/s.
                       What ran out: nothing up to 400/s; the time of 10m was over.
                       200/s kept p99 < 5ms with less than 1 % missing (not confirmed);
                       nothing more was asked for.

        offered: what was due. kept: achieved of that. p50, p99: response time. mean: of
        the last 1000 replies, in whole ms. server, ours: CPU of one core. idle: of the
        machine. wire: the stream, both ways.
        Steps: ? degraded, ! invalid.

        verdict        degraded: the numbers say less than they seem to
        degraded: generator and server share cores [shared_cores]
          shown by: 2 CPUs for 3 parties
          next: more CPUs, or fewer threads
    "#]],
    );

    let conclusion = report::conclusion(&record);
    assert_eq!(conclusion.unwrap(), "On this machine binary does not bend up to 400/s.");
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
    let page = report::sweep(&record, &Style::default());
    assert!(
        page.contains("no step was measured") && page.contains("was not carried at any load"),
        "{page}"
    );
    assert_eq!(report::conclusion(&record), None);
    record.sweep = None;
    assert!(report::sweep(&record, &Style::default()).contains("has no sweep in it"));
}

fn check(record: &RunRecord, expected: &Expect) {
    let page = report::sweep(record, &Style::default());
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    expected.assert_eq(&page);
}
