//! Samples of usage, taken ten times per second while a block is measured, from files that stay open.
//!
//! Sampling costs CPU time of the collecting thread only; that cost is measured and reported.

use crate::children::processes::{Processes, Together};
use engine::Address;
use engine::clock::{own_cpu, thread_cpu};
use probe::{
    InterfaceCounters, InterfaceSampler, ProcessSample, Switches, SystemSampler, SystemTimes,
    TcpCounters, TcpSampler, interface_to,
};
use record::{Interface, Memory, MemoryBefore, Sample};
use std::collections::BTreeSet;
use units::{Instant, Nanos};

/// Takes the samples of one block.
#[derive(Debug)]
pub(crate) struct Sampler {
    server: Option<Processes>,
    server_together: Option<Together>,
    ourselves: Together,
    system: Option<SystemSampler>,
    /// TCP's counters in the network namespace of the server.
    tcp: Option<TcpSampler>,
    interface: Option<InterfaceSampler>,
    /// The snapshot at the start of the measured window.
    first: Option<Snapshot>,
    last: Option<Snapshot>,
    taken: Samples,
}

/// The samples of a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    pub(crate) samples: Vec<Sample>,
    pub(crate) interface: Option<Interface>,
    pub(crate) memory: Option<Memory>,
    /// CPU time that the sampling took.
    pub(crate) cost: Nanos,
}

/// Usage up to some instant.
#[derive(Clone, Debug)]
struct Snapshot {
    at: Instant,
    system: Option<SystemTimes>,
    server: Option<Nanos>,
    held: Option<ProcessSample>,
    tcp: Option<TcpCounters>,
    generator: Nanos,
    interface: Option<InterfaceCounters>,
}

impl Sampler {
    /// Opens the files to sample. Values of a file that cannot be opened are unknown, which is not an error. The
    /// interface is the one to `target`, if that is given.
    pub(crate) fn new(server: Option<&Processes>, target: Option<&Address>) -> Self {
        let name = match target {
            Some(Address::Tcp(address)) => interface_to(address.ip()),
            Some(Address::Unix(_)) | None => None,
        };
        Self {
            server: server.cloned(),
            server_together: server.map(Processes::sampler),
            ourselves: Processes::one(std::process::id()).sampler(),
            system: SystemSampler::open().ok(),
            tcp: server.and_then(Processes::tcp),
            interface: name.and_then(|name| InterfaceSampler::open(&name).ok()),
            first: None,
            last: None,
            taken: Samples::default(),
        }
    }

    /// Starts the measured window.
    pub(crate) fn begin(&mut self, now: Instant) {
        let used = thread_cpu();
        let first = self.snapshot(now);
        (self.first, self.last) = (Some(first.clone()), Some(first));
        self.pay(used);
    }

    /// Takes a sample if one is due.
    pub(crate) fn tick(&mut self, now: Instant) {
        if self.last.as_ref().is_some_and(|last| now.since(last.at) >= EVERY) {
            self.take(now);
        }
    }

    /// Ends the measured window. The kernel walks the server's memory once for this, which takes a moment.
    pub(crate) fn end(&mut self, now: Instant) {
        self.take(now);
        let Some(first) = self.first.take() else { return };
        let used = thread_cpu();
        self.taken.memory = Some(memory(self.server_together.as_mut(), &mut self.ourselves));
        let last = self.last.take().and_then(|last| last.interface);
        self.taken.interface = self.interface.as_ref().zip(last.zip(first.interface)).map(
            |(interface, (last, first))| {
                let counted = last.since(first);
                Interface {
                    name: interface.name().to_owned(),
                    sent_bytes: counted.sent_bytes,
                    received_bytes: counted.received_bytes,
                    sent_packets: counted.sent_packets,
                    received_packets: counted.received_packets,
                }
            },
        );
        self.pay(used);
    }

    /// The samples taken.
    pub(crate) fn finish(self) -> Samples {
        self.taken
    }

    fn take(&mut self, now: Instant) {
        let used = thread_cpu();
        let next = self.snapshot(now);
        if let (Some(first), Some(last)) = (&self.first, &self.last)
            && self.taken.samples.len() < SAMPLES_MAX
        {
            let mut sample = next.since(last);
            sample.at_ns = now.since(first.at).0;
            self.taken.samples.push(sample);
        }
        self.last = Some(next);
        self.pay(used);
    }

    fn snapshot(&mut self, at: Instant) -> Snapshot {
        let there = self.server.as_ref().map(Processes::there).unwrap_or_default();
        let server = self.server.as_ref().and_then(|server| server.cpu_of(&there));
        let together = self.server_together.as_mut();
        if together.is_some_and(|together| together.renew(&there))
            && let Some(last) = &mut self.last
        {
            last.held = None; // It belongs to other processes.
        }
        Snapshot {
            at,
            system: self.system.as_mut().and_then(|system| system.sample().ok()),
            server,
            held: self.server_together.as_mut().and_then(Together::sample),
            tcp: self.tcp.as_mut().and_then(|tcp| tcp.sample().ok()),
            generator: own_cpu(),
            interface: self.interface.as_mut().and_then(|interface| interface.sample().ok()),
        }
    }

    fn pay(&mut self, since: Nanos) {
        self.taken.cost += Nanos(thread_cpu().0.saturating_sub(since.0));
    }
}

/// Reads the memory of both sides. The kernel walks the server's memory once for this, which takes a moment.
pub(crate) fn memory(server: Option<&mut Together>, generator: &mut Together) -> Memory {
    let rss = |together: &mut Together| Some(together.sample()?.rss.0);
    let mut memory = Memory { generator_rss_bytes: rss(generator), ..Memory::default() };
    if let Some(server) = server {
        memory.server_rss_bytes = rss(server);
        memory.server_pss_bytes = server.pss().map(|pss| pss.0);
    }
    memory
}

/// The servers that a run has driven, each identified by the process that its others descend from.
#[derive(Debug, Default)]
pub(crate) struct Driven(BTreeSet<u32>);

impl Driven {
    /// The memory of a server that is about to be driven.
    pub(crate) fn before(&mut self, server: &Processes) -> MemoryBefore {
        let mut together = server.sampler();
        MemoryBefore {
            rss_bytes: together.sample().map(|sample| sample.rss.0),
            pss_bytes: together.pss().map(|pss| pss.0),
            is_first: self.add(server),
        }
    }

    /// Notes that a server is driven, or has been since it was started again. True if it was not noted before.
    pub(crate) fn add(&mut self, server: &Processes) -> bool {
        server.origin().is_some_and(|origin| self.0.insert(origin))
    }
}

impl Snapshot {
    /// The usage since `earlier`.
    fn since(&self, earlier: &Self) -> Sample {
        let time = self.at.since(earlier.at);
        let cores = |now: Nanos, then: Nanos| {
            let used = Nanos(now.0.saturating_sub(then.0)).as_secs_f64();
            (time > Nanos::ZERO).then(|| used / time.as_secs_f64())
        };
        let machine = self.system.as_ref().zip(earlier.system.as_ref());
        let switches = self.held.zip(earlier.held).map(|(now, then)| {
            let Switches { voluntary, involuntary } = now.switches.since(then.switches);
            voluntary + involuntary
        });
        let tcp = self.tcp.zip(earlier.tcp).map(|(now, then)| now.since(then));
        let counted = self.interface.zip(earlier.interface).map(|(now, then)| now.since(then));
        Sample {
            at_ns: 0,
            machine_idle_fraction: machine
                .and_then(|(now, then)| now.since(then).machine.idle_fraction()),
            server_cores_used: self
                .server
                .zip(earlier.server)
                .and_then(|(now, then)| cores(now, then)),
            generator_cores_used: cores(self.generator, earlier.generator),
            interface_sent_bytes: counted.map(|counted| counted.sent_bytes),
            interface_received_bytes: counted.map(|counted| counted.received_bytes),
            server_memory_bytes: self.held.map(|process| process.rss.0),
            server_switches: switches,
            server_retransmitted_segments: tcp.and_then(|tcp| tcp.retransmitted_segments),
            server_listen_overflows: tcp.and_then(|tcp| tcp.listen_overflows),
        }
    }
}

/// The time between two samples. A little less than the interval of workers, which wakes the collector.
const EVERY: Nanos = Nanos::from_millis(95);
/// The most samples that are kept of a block: ten minutes of them.
const SAMPLES_MAX: usize = 6000;

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(at_ms: u64, generator_ms: u64, server_ms: Option<u64>, sent: u64) -> Snapshot {
        Snapshot {
            at: Instant::START + Nanos::from_millis(at_ms),
            system: None,
            server: server_ms.map(Nanos::from_millis),
            held: None,
            tcp: None,
            generator: Nanos::from_millis(generator_ms),
            interface: Some(InterfaceCounters { sent_bytes: sent, ..InterfaceCounters::default() }),
        }
    }

    #[test]
    fn a_sample_is_what_was_used_between_two_looks() {
        let sample = snapshot(1100, 525, Some(25), 5000).since(&snapshot(1000, 500, Some(0), 2000));
        assert_eq!(
            (sample.generator_cores_used, sample.server_cores_used),
            (Some(0.25), Some(0.25))
        );
        assert_eq!((sample.interface_sent_bytes, sample.machine_idle_fraction), (Some(3000), None));
        let unknown = snapshot(1100, 530, None, 0).since(&snapshot(1100, 500, Some(0), 0));
        assert_eq!((unknown.generator_cores_used, unknown.server_cores_used), (None, None));
    }

    #[test]
    fn a_server_is_driven_for_the_first_time_once_and_again_when_it_was_started_again() {
        let mut driven = Driven::default();
        let server = Processes::one(std::process::id());
        let before = driven.before(&server);
        assert!(before.is_first && before.rss_bytes > Some(0) && before.pss_bytes > Some(0));
        assert!(!driven.before(&server).is_first);
        // The server that replaced it in the middle of a block has been driven by that block.
        server.go_on_as(Processes::one(1), None);
        assert!(driven.add(&server));
        assert!(!driven.before(&Processes::one(1)).is_first);
    }

    #[test]
    fn switches_of_one_process_are_not_taken_from_those_of_another() {
        let ourselves = Processes::one(std::process::id());
        let mut sampler = Sampler::new(Some(&ourselves), None);
        let at = |ms| Instant::START + Nanos::from_millis(ms);
        sampler.begin(at(1000));
        sampler.tick(at(1100));
        ourselves.go_on_as(Processes::one(std::os::unix::process::parent_id()), Some(Nanos::ZERO));
        for ms in [1200, 1300] {
            sampler.tick(at(ms));
        }
        let samples = sampler.finish().samples;
        let known: Vec<bool> = samples.iter().map(|it| it.server_switches.is_some()).collect();
        assert_eq!(known, [true, false, true]);
        assert!(samples.iter().all(|sample| sample.server_memory_bytes > Some(0)));
    }

    #[test]
    fn samples_are_a_tenth_of_a_second_apart_and_the_end_is_one() {
        let target = Address::Tcp("127.0.0.1:1".parse().unwrap());
        let ourselves = Processes::one(std::process::id());
        let mut sampler = Sampler::new(Some(&ourselves), Some(&target));
        let at = |ms| Instant::START + Nanos::from_millis(ms);
        sampler.tick(at(0));
        sampler.begin(at(1000));
        for ms in [1050, 1100, 1130, 1200, 1290] {
            sampler.tick(at(ms));
        }
        sampler.end(at(1300));
        sampler.tick(at(1500));
        let Samples { samples, interface, memory, cost } = sampler.finish();
        let times: Vec<u64> = samples.iter().map(|sample| sample.at_ns / 1_000_000).collect();
        assert_eq!(times, [100, 200, 300]);
        assert!(samples.iter().all(|sample| sample.server_memory_bytes > Some(0)));
        assert_eq!(interface.unwrap().name, "lo");
        let memory = memory.unwrap();
        assert!(memory.server_rss_bytes > Some(0) && memory.generator_rss_bytes > Some(0));
        assert!(cost > Nanos::ZERO);
    }
}
