//! `wirebench selftest`: it runs, reports its findings and leaves a certificate. Whether it passes depends on the
//! machine, which is busy with other tests here; crate `run` tests what passes and what fails.

use crate::harness::{Running, Sandbox, Server};
use record::Certificate;
use rustix::process::Signal;
use std::path::Path;

#[test]
fn a_certificate_is_kept_and_embedded_in_later_records() {
    let sandbox = Sandbox::new();
    let cache = sandbox.path().join("cache");
    let command = |line: &str| {
        let mut command = sandbox.command(line);
        command.env("XDG_CACHE_HOME", &cache);
        command
    };
    let tested = Running::start(command("selftest")).wait();
    assert!(matches!(tested.code, Some(0 | 12)), "{tested:?}");
    assert!(tested.stdout.starts_with("Self-test of wirebench "), "{tested:?}");
    assert!(tested.stdout.lines().all(|line| line.chars().count() <= 80), "{}", tested.stdout);
    let kept = certificate(&cache.join("wirebench"));
    assert_eq!(kept.passed, tested.code == Some(0));
    let codes: Vec<&str> = kept.checks.iter().map(|check| check.code.as_str()).collect();
    let expected = [
        "null_subject",
        "send_lag",
        "delay_fixed",
        "delay_exponential",
        "delay_bimodal",
        "stalled_server",
        "stalled_generator",
    ];
    assert_eq!(codes, expected);
    assert!(kept.messages_per_s_max.is_some() && kept.round_trip_floor_ns.is_some(), "{kept:?}");
    for check in &kept.checks {
        assert!(!check.evidence.contains("could not be measured"), "{check:?}");
    }

    let server = Server::start(&Sandbox::new(), "tcp");
    let run = Running::start(command(&format!("{} -n 10 -c 1 -q", server.url))).wait();
    run.check(0, &[]);
    assert_eq!(sandbox.records()[0].environment.selftest, Some(kept.clone()));

    let doctor = Running::start(command("doctor --json")).wait();
    let doctor: serde_json::Value = serde_json::from_str(&doctor.stdout).unwrap();
    let first = &doctor["first_to_bind"]["messages_per_s"]["at"];
    assert_eq!(first.as_u64(), kept.messages_per_s_max);
}

#[test]
fn a_self_test_that_is_interrupted_leaves_no_certificate() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("selftest");
    command.env("XDG_CACHE_HOME", sandbox.path().join("cache"));
    let mut running = Running::start(command);
    running.wait_for_word("how late messages are sent");
    running.send(Signal::INT);
    let ended = running.wait();
    ended.check(130, &[]);
    ended.check_no_result();
    assert!(!sandbox.path().join("cache").exists());
}

#[test]
#[ignore = "takes five and a half minutes of a quiet machine: cargo test -p wirebench -- --ignored stall_test"]
fn the_stall_test_holds_on_every_transport() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("selftest --full -q");
    command.env("XDG_CACHE_HOME", sandbox.path().join("cache"));
    let tested = Running::start(command).wait();
    let kept = certificate(&sandbox.path().join("cache/wirebench"));
    let stalled = |check: &&record::Check| check.code.starts_with("stalled_server_");
    let failed: Vec<_> = kept.checks.iter().filter(stalled).filter(|check| !check.passed).collect();
    assert_eq!(kept.checks.iter().filter(stalled).count(), 11, "{tested:?}");
    assert!(failed.is_empty(), "{failed:#?}");
}

/// The only file in `folder`.
fn certificate(folder: &Path) -> Certificate {
    let files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    serde_json::from_str(&std::fs::read_to_string(&files[0]).unwrap()).unwrap()
}
