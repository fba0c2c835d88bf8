//! Reads this very machine: whatever it is, nothing fails and nothing contradicts itself.

#![cfg(target_os = "linux")]

use probe::{InterfaceSampler, ProcessSampler, ReadError, SystemSampler, TcpSampler, place};
use std::num::NonZeroUsize;
use std::process::{Command, Stdio};
use units::{Bytes, Nanos};

#[test]
fn every_fact_of_this_machine_is_there_or_has_a_reason() {
    let machine = probe::machine();
    assert!(machine.kernel.is_some());
    assert!(
        machine.timer_tick_hz.is_some_and(|hertz| (24..=10_000).contains(&hertz)),
        "{machine:?}"
    );
    assert!(machine.memory_available_bytes <= machine.memory_total_bytes);
    let facts = [
        ("cpu_model", machine.cpu_model.is_some()),
        ("cpus_allowed", !machine.cpus_allowed.is_empty()),
        ("cpus_online", machine.cpus_online.is_some()),
        ("governor", machine.governor.is_some()),
        ("hypervisor", machine.hypervisor.is_some()),
        ("smt", machine.smt.is_some()),
        ("container", machine.container.is_some()),
        ("os", machine.os.is_some()),
    ];
    for (name, known) in facts {
        assert_ne!(known, machine.missing.contains_key(name), "{name}: {machine:?}");
    }
}

#[test]
fn the_topology_is_of_the_allowed_cpus_and_has_a_place_for_everybody() {
    let topology = probe::topology();
    // The standard library also takes a quota of CPU time into account.
    assert!(topology.cpu_count() >= std::thread::available_parallelism().unwrap().get());
    let placement = place(&topology, NonZeroUsize::new(3).unwrap()).unwrap();
    assert_eq!(placement.generator.len(), 3);
    assert_eq!(placement.shared(), topology.core_count() == 1);
}

#[test]
fn a_pinned_thread_has_one_cpu() {
    let server = place(&probe::topology(), NonZeroUsize::MIN).unwrap().server;
    let pinned = std::thread::spawn(move || {
        probe::pin_current_thread(&[server]).unwrap();
        (probe::topology().cpu_count(), probe::machine().cpus_allowed)
    });
    assert_eq!(pinned.join().unwrap(), (1, vec![u32::try_from(server).unwrap()]));
}

#[test]
fn the_times_of_all_cpus_only_grow() {
    let mut sampler = SystemSampler::open().unwrap();
    let (first, second) = (sampler.sample().unwrap(), sampler.sample().unwrap());
    assert!(first.machine.total() > Nanos::ZERO);
    assert!(!first.cpus.is_empty());
    assert!(
        second.machine.user >= first.machine.user && second.machine.system >= first.machine.system
    );
    assert_eq!(second.since(&first).cpus.len(), second.cpus.len());
}

#[test]
fn a_process_shows_its_memory_threads_and_files() {
    let mut sampler = ProcessSampler::open(std::process::id()).unwrap();
    let before = sampler.sample().unwrap();
    assert!(before.rss > Bytes(0) && before.threads > 0);

    let files = sampler.footprint().unwrap().open_files.unwrap();
    let kept: Vec<_> = (0..100).map(|_| std::fs::File::open("/proc/self/stat").unwrap()).collect();
    let footprint = sampler.footprint().unwrap();
    // Other tests open and close files meanwhile.
    assert!(footprint.open_files.unwrap() > files + 50, "{files} {footprint:?}");
    assert!(footprint.pss.is_none_or(|pss| pss > Bytes(0)));
    drop(kept);

    let after = sampler.sample().unwrap().switches;
    assert!(
        after.voluntary >= before.switches.voluntary
            && after.involuntary >= before.switches.involuntary
    );
}

#[test]
fn a_process_that_ended_says_so() {
    let mut child =
        Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut sampler = ProcessSampler::open(child.id()).unwrap();
    assert_eq!(sampler.sample().unwrap().threads, 1);
    drop(child.stdin.take());
    child.wait().unwrap();
    let ended = |error| matches!(error, ReadError::Ended { pid } if pid == child.id());
    assert!(ended(sampler.sample().unwrap_err()));
    assert!(ended(sampler.footprint().unwrap_err()));
    assert!(ended(ProcessSampler::open(child.id()).unwrap_err()));
}

#[test]
fn tcp_counters_of_this_machine_are_known() {
    let mut sampler = TcpSampler::open().unwrap();
    let (first, second) = (sampler.sample().unwrap(), sampler.sample().unwrap());
    assert!(first.retransmitted_segments.is_some());
    assert!(second.since(first).listen_drops.is_some());
}

#[test]
fn limits_of_this_machine_leave_room_for_one_connection() {
    let limits = probe::limits();
    assert!(limits.open_files.soft <= limits.open_files.hard);
    assert_eq!(
        probe::capacity(&limits, 1, probe::Sources::Fixed { count: 1, loopback: true }),
        Ok(())
    );
}

#[test]
fn what_goes_to_this_machine_is_counted_by_its_loopback() {
    let name = probe::interface_to("127.0.0.1".parse().unwrap()).unwrap();
    assert_eq!(name, "lo");
    let mut sampler = InterfaceSampler::open(&name).unwrap();
    let (first, second) = (sampler.sample().unwrap(), sampler.sample().unwrap());
    assert!(second.sent_bytes >= first.sent_bytes);
    assert!(InterfaceSampler::open("no-such").unwrap().sample().is_err());
}
