//! The line that moves while a run goes on.

use expect_test::expect;
use record::{Environment, TimerFloor};
use report::Live;
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
