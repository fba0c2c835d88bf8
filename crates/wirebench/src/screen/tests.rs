//! The lines of the screen for states that are made here, as a terminal of a given size shows them.

use super::page::{View, lines};
use super::state::State;
use expect_test::{Expect, expect, expect_file};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::widgets::Paragraph;
use record::{RunRecord, Traffic};
use run::{Behind, Cores, Event, Phase, Tick};
use std::sync::Arc;
use units::{Instant, Nanos};

/// A tick of a tenth of a second. `times` has pairs of microseconds and the number of messages that took them; `failed`
/// more messages failed.
fn tick(name: &str, tenth: u64, times: &[(u64, u64)], failed: u64) -> Event {
    let at = |tenth: u64| Instant::START + Nanos::from_millis(100 * tenth);
    let mut traffic = Traffic::default();
    for (us, count) in times {
        traffic.round_trips.record_all(Nanos(us * 1_000), *count);
        traffic.replies += count;
        traffic.counts.ok += count;
    }
    traffic.counts.sent = traffic.counts.ok + failed;
    traffic.counts.timed_out = failed;
    Event::Interval(Arc::new(Tick {
        name: name.into(),
        block: (3, 8),
        phase: Phase::Measure,
        start: at(tenth),
        end: at(tenth + 1),
        due_per_s: None,
        has_rate: false,
        traffic,
        cores: Cores { generator: Some(0.35), server: Some(0.22) },
    }))
}

/// The end of a block, with everything else as in an old record.
fn block(name: &str, messages_per_s: f64) -> Event {
    let old = include_str!("../../../record/tests/it/old/run-closed.json");
    let mut block = RunRecord::from_json(old).unwrap().blocks.remove(0);
    block.messages_per_s = messages_per_s;
    Event::Block { name: name.into(), block: Arc::new(block), index: 0, total: 8 }
}

#[test]
fn keys_ask_for_a_tenth_more_or_less_and_for_at_least_one_message() {
    let asked = |due_per_s: f64, has_rate: bool, is_more: bool| {
        let Event::Interval(one) = tick("tcp", 0, &[(12, 900)], 0) else { panic!() };
        let one = Tick { due_per_s: Some(due_per_s), has_rate, ..(*one).clone() };
        let mut state = State::new("wirebench run", false);
        state.take(&Event::Interval(Arc::new(one)), Nanos::ZERO);
        state.other_rate(is_more).map(|rate| rate.to_string())
    };
    #[rustfmt::skip]
    let table = [
        (2000.0,  true,  true,  Some("2200/s")),
        (2200.0,  true,  false, Some("2000/s")),
        (3.0,     true,  true,  Some("4/s")),
        (3.0,     true,  false, Some("2/s")),
        (1.0,     true,  false, None),
        (4.2e9,   true,  true,  Some("4294967295/s")),
        (2000.0,  false, true,  None),
    ];
    for (due, has_rate, is_more, expected) in table {
        assert_eq!(asked(due, has_rate, is_more).as_deref(), expected, "{due} {is_more}");
    }
}

/// A run of two targets, in the middle.
fn state() -> State {
    let mut state = State::new("wirebench ladder --quick", false);
    let mut tell = |event: &Event, tenth: u64| state.take(event, Nanos::from_millis(100 * tenth));
    tell(&Event::Begin { expected: Nanos::from_secs(10) }, 5);
    for tenth in 0..30 {
        let slow = if tenth % 10 == 7 { 40 } else { 1 };
        tell(&tick("tcp", tenth, &[(12, 900), (31, 90), (260, slow)], 0), 5 + tenth);
    }
    tell(&block("tcp", 75_300.0), 35);
    tell(&block("ws", 70_100.0), 36);
    for tenth in 31..50 {
        tell(&tick("ws", tenth, &[(14, 800), (40, 200)], u64::from(tenth == 40)), 5 + tenth);
    }
    tell(&block("tcp", 74_000.0), 55);
    state
}

/// The screen as text.
fn drawn(state: &State, view: View, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let page = Paragraph::new(lines(state, view, width.into(), height.into()));
    terminal.draw(|frame| frame.render_widget(page, frame.area())).unwrap();
    let cells: Vec<&str> =
        terminal.backend().buffer().content().iter().map(|it| it.symbol()).collect();
    let line = |cells: &[&str]| format!("{}\n", cells.concat().trim_end());
    cells.chunks(width.into()).map(line).collect()
}

fn shows(state: &State, view: View, expected: &Expect) {
    expected.assert_eq(&drawn(state, view, 80, 24));
}

#[test]
fn a_run_of_two_targets_fits_24_lines_of_80_columns() {
    shows(
        &state(),
        View::default(),
        &expect![[r#"
            wirebench ladder --quick                                     5.5 s of about 11 s
            ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
            ● ws: block 4 of 8, measure; nothing suspicious so far

            rate     10.0 k/s
            now      p50 14.0 us  p99 40.0 us
            in all   p50 14.0 us  p99 40.0 us  p99.9 40.0 us  max 40.0 us
            failed   1 timed out
            CPU      generator 0.35 cores, server 0.22 cores

            latency  each 0.2 s; share of messages: · < 1 %  ░ 1 %  ▒ 10 %  ▓ 30 %  █ 60 %
              200 us ···░····░····░·
              100 us
             50.0 us
             20.0 us ░░░░░░░░░░░░░░░▒▒▒▒▒▒▒▒▒▒
             10.0 us █████████████████████████

            done                     blocks   messages       p50       p99   failed
            tcp                           2   74.0 k/s   46.2 us   77.3 us        0 ▇▇▇▇▇▇▇▇
            ws                            1   70.1 k/s   46.2 us   77.3 us        0 ▇▇▇▇▇▇▇▌



            q end and keep   d details   space freeze
        "#]],
    );
}

#[test]
fn a_larger_terminal_shows_more_of_the_past() {
    expect_file!["pictures/120x40.txt"].assert_eq(&drawn(&state(), View::default(), 120, 40));
    expect_file!["pictures/200x60.txt"].assert_eq(&drawn(&state(), View::default(), 200, 60));
}

#[test]
fn details_are_warnings_and_all_that_is_done() {
    let mut state = state();
    let behind = Behind { asked_per_s: 1e5, achieved_per_s: 8e4, generator_busy: 0.4 };
    state.take(&Event::Behind(behind), Nanos::from_secs(6));
    shows(
        &state,
        View { has_details: true, is_frozen: true },
        &expect![[r#"
            wirebench ladder --quick                                     6.0 s of about 11 s
            ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
            ● ws: block 4 of 8, measure; warning: 100000 messages/s are due, 80000 replies/s

            rate     10.0 k/s
            now      p50 14.0 us  p99 40.0 us
            in all   p50 14.0 us  p99 40.0 us  p99.9 40.0 us  max 40.0 us
            failed   1 timed out
            CPU      generator 0.35 cores, server 0.22 cores

            warning: 100000 messages/s are due, 80000 replies/s arrive: the server cannot
              keep up (our threads are busy for 40 % of the time); lower the rate, or look
              at the server

            done                     blocks   messages       p50       p99   failed
            tcp                           2   74.0 k/s   46.2 us   77.3 us        0 ▇▇▇▇▇▇▇▇
            ws                            1   70.1 k/s   46.2 us   77.3 us        0 ▇▇▇▇▇▇▇▌






            q end and keep   d latency   space go on   frozen: the run goes on
        "#]],
    );
}

#[test]
fn before_the_first_message_the_screen_says_what_is_waited_for() {
    let mut state = State::new("wirebench run ws://127.0.0.1:9001/", false);
    state.take(&Event::Waiting("asking bun for its version".into()), Nanos::from_secs(1));
    shows(
        &state,
        View::default(),
        &expect![[r#"
        wirebench run ws://127.0.0.1:9001/                                         1.0 s
        asking bun for its version
        ● nothing suspicious so far




















        q end and keep   d details   space freeze
    "#]],
    );
}

#[test]
fn in_a_sweep_each_step_has_a_row_and_falling_behind_is_expected() {
    let mut state = State::new("wirebench sweep", true);
    for rate in [1e3, 2e3, 4e3] {
        state.take(&block("echo", rate), Nanos::from_secs(1));
    }
    let behind = Behind { asked_per_s: 1e5, achieved_per_s: 8e4, generator_busy: 0.4 };
    state.take(&Event::Behind(behind), Nanos::from_secs(2));
    assert_eq!((state.rows.len(), state.warnings.len()), (3, 0));
    let screen = drawn(&state, View::default(), 100, 24);
    let bars = screen.lines().filter_map(|line| line.split_once(" 0 "));
    let columns: Vec<usize> = bars.map(|(_, bar)| bar.chars().count()).collect();
    assert_eq!(columns, [7, 14, 28]);
}

#[test]
fn no_size_of_a_terminal_breaks_the_screen() {
    for (width, height) in [(1, 1), (9, 3), (30, 8), (80, 5), (400, 2)] {
        drawn(&state(), View::default(), width, height);
        drawn(&state(), View { has_details: true, is_frozen: false }, width, height);
    }
}
