//! The line that moves while a run goes on.

use expect_test::expect;
use record::{Environment, Live, LiveOpenLoop, TimerFloor};
use units::Nanos;

#[test]
fn digits_move_and_nothing_else() {
    let first = Live {
        name: "tcp",
        block: (0, 70),
        phase: "warm-up",
        elapsed: Nanos::from_millis(900),
        messages_per_s: 950.0,
        p50: Some(Nanos(254_321)),
        p99: None,
        failed: 0,
        open_loop: None,
    };
    let later = Live {
        name: "tcp-framed",
        block: (22, 70),
        phase: "measure",
        elapsed: Nanos::from_millis(12_340),
        messages_per_s: 191_234.0,
        p50: Some(Nanos(12_345)),
        p99: Some(Nanos(1_049_999)),
        failed: 3,
        open_loop: None,
    };
    let alone = Live { block: (0, 1), ..first };
    let lines = [first, later, alone].map(|live| report::live_line(&live, 100));
    expect![[r#"
         0.9 s  tcp           950/s  p50  254 us  p99       -  warm-up  block 1/70
        12.3 s  tcp-framed  191 k/s  p50 12.3 us  p99 1.05 ms  measure  block 23/70  failed 3
         0.9 s  tcp           950/s  p50  254 us  p99       -  warm-up"#]]
    .assert_eq(&lines.join("\n"));
    assert_eq!(report::live_line(&later, 30).chars().count(), 30);
}

#[test]
fn an_open_loop_shows_how_far_it_keeps_up_with_its_schedule() {
    let open_loop = LiveOpenLoop {
        due_per_s: 2000.0,
        sent_per_s: 1998.0,
        lag_p99: Some(Nanos(45_600)),
        unsent: 0,
        in_flight: 3,
    };
    let calm = Live {
        name: "ws://127.0.0.1:8080",
        block: (0, 1),
        phase: "measure",
        elapsed: Nanos::from_millis(900),
        messages_per_s: 1999.0,
        p50: Some(Nanos(254_321)),
        p99: Some(Nanos(1_049_999)),
        failed: 0,
        open_loop: Some(open_loop),
    };
    let full = LiveOpenLoop {
        due_per_s: 10e6,
        sent_per_s: 123_456.0,
        lag_p99: None,
        unsent: 12_345_678,
        in_flight: 50_000,
    };
    let swamped = Live { elapsed: Nanos::from_secs(90), failed: 12, open_loop: Some(full), ..calm };
    let step = Live { block: (1, 3), ..calm };
    let lines = [calm, swamped, step].map(|live| report::live_line(&live, 79));
    expect![[r#"
        | 0.9 s sent 100 % of 2.00 k/s p50  254 us p99 1.05 ms lag 45.6 us in flight   3
        | 1m30s sent   1 % of 10.0 M/s p50  254 us p99 1.05 ms lag       - unsent 12M
        | 0.9 s sent 100 % of 2.00 k/s p50  254 us p99 1.05 ms lag 45.6 us in flight   3
    "#]]
    .assert_eq(&edged(&lines));
    assert!(lines.iter().all(|line| line.chars().count() <= 79), "{lines:?}");
    // Everything, if there is room.
    let wide = [swamped, step].map(|live| report::live_line(&live, 120));
    expect![[r#"
        | 1m30s sent   1 % of 10.0 M/s p50  254 us p99 1.05 ms lag       - unsent 12M failed  12 in flight 50k
        | 0.9 s sent 100 % of 2.00 k/s p50  254 us p99 1.05 ms lag 45.6 us in flight   3 step 2/3
    "#]].assert_eq(&edged(&wide));
}

#[test]
fn the_machine_is_told_in_a_line() {
    let mut environment = Environment {
        cpus_online: Some(2),
        timer_floor: Some(TimerFloor {
            asked_ns: 100_000,
            overshoot_p50_ns: 24_100,
            overshoot_p99_ns: 70_400,
        }),
        steal_before_fraction: Some(0.002),
        ..Environment::default()
    };
    environment.limits.open_files_soft = Some(20_000);
    expect!["machine: 2 CPUs, open files 20000, timer floor 24.1 us/70.4 us, steal 0.2 %"]
        .assert_eq(&report::machine_line(&environment, 80));
    assert_eq!(report::machine_line(&Environment::default(), 80), "machine: unknown");
}

/// The lines with a mark at their left edge, so that an expectation keeps leading spaces.
fn edged(lines: &[String]) -> String {
    lines.iter().map(|line| format!("|{line}\n")).collect()
}
