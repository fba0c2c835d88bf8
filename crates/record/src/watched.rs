//! A server on another machine, as seen by a watch on that machine while others loaded it.

use crate::{Block, Memory, Missing, Sample, ServerMachine};
use serde::{Deserialize, Serialize};
use stats::per_message;
use units::Nanos;

/// The usage of a server in the measured window of a block. Several watches of one block add up, for a service that
/// spans several machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Watched {
    /// The length of the window, by the clock of the server's machine.
    pub window_ns: u64,
    /// CPU time of the server's processes in it.
    pub cpu_ns: Option<u64>,
    /// Context switches of their threads, voluntary and involuntary.
    pub switches: Option<(u64, u64)>,
    /// The time that their threads were ready to run and waited for a CPU, all together, divided by the length of the
    /// window.
    pub wait_fraction: Option<f64>,
    /// Their memory at its end (RSS).
    pub rss_bytes: Option<u64>,
    /// The same, where pages that are shared count in proportion (PSS).
    pub pss_bytes: Option<u64>,
    /// Their machine.
    pub machine: ServerMachine,
    /// Usage ten times a second.
    pub samples: Vec<Sample>,
    /// CPU time that the watching took.
    pub cost_ns: u64,
}

impl Watched {
    /// Combines this with `other`, which watched another part of the service: sums, the longer of both windows, and the
    /// idle share of the busier machine.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| one?.checked_add(other?);
        let both = |one: (u64, u64), other: (u64, u64)| (one.0 + other.0, one.1 + other.1);
        let samples = self.samples.iter().zip(&other.samples);
        Self {
            window_ns: self.window_ns.max(other.window_ns),
            cpu_ns: sum(self.cpu_ns, other.cpu_ns),
            switches: self.switches.zip(other.switches).map(|(one, other)| both(one, other)),
            wait_fraction: added(self.wait_fraction, other.wait_fraction),
            rss_bytes: sum(self.rss_bytes, other.rss_bytes),
            pss_bytes: sum(self.pss_bytes, other.pss_bytes),
            machine: self.machine.with(other.machine),
            samples: samples.map(|(one, other)| beside(one, other)).collect(),
            cost_ns: self.cost_ns + other.cost_ns,
        }
    }

    /// Writes it into `block`, in the fields of a server on this machine. `replies` are those of all clients in the
    /// window; `None`: not all of them are known.
    pub fn fill(self, block: &mut Block, replies: Option<u64>) {
        let window = Nanos(self.window_ns).as_secs_f64();
        let share = |nanos: u64| (window > 0.0).then(|| Nanos(nanos).as_secs_f64() / window);
        let cpu = &mut block.cpu;
        cpu.server_cores_used = self.cpu_ns.and_then(share);
        cpu.server_us_per_message = self
            .cpu_ns
            .zip(replies)
            .and_then(|(used, replies)| per_message(used, replies).map(|nanos| nanos / 1e3));
        let not_per_message = match replies {
            None => "parts of the load are missing, and with them the number of its replies",
            Some(0) => "no reply arrived",
            Some(_) => NOT_READ,
        };
        let switches = &mut block.context_switches;
        (switches.server_voluntary, switches.server_involuntary) = self.switches.unzip();
        block.neighbours.server_wait_fraction = self.wait_fraction;
        let tell = |missing: &mut Missing, field: &str, is_known: bool, reason: &str| {
            match is_known {
                true => missing.remove(field),
                false => missing.insert(field.to_owned(), reason.to_owned()),
            };
        };
        let is_per_message = cpu.server_us_per_message.is_some();
        tell(&mut cpu.missing, "server_cores_used", cpu.server_cores_used.is_some(), NOT_READ);
        tell(&mut cpu.missing, "server_us_per_message", is_per_message, not_per_message);
        for field in ["server_voluntary", "server_involuntary"] {
            tell(&mut switches.missing, field, self.switches.is_some(), NOT_READ);
        }
        let waits = &mut block.neighbours.missing;
        tell(waits, "server_wait_fraction", self.wait_fraction.is_some(), NOT_READ);
        block.memory = Some(Memory {
            server_rss_bytes: self.rss_bytes,
            server_pss_bytes: self.pss_bytes,
            ..Memory::default()
        });
        block.samples = self.samples;
        block.sampling_cpu_fraction = share(self.cost_ns);
        block.server_machine = Some(self.machine);
    }
}

/// Combines two samples of the same tenth of a second, from two machines.
fn beside(one: &Sample, other: &Sample) -> Sample {
    let sum = |one: Option<u64>, other: Option<u64>| one?.checked_add(other?);
    Sample {
        at_ns: one.at_ns.max(other.at_ns),
        machine_idle_fraction: least(one.machine_idle_fraction, other.machine_idle_fraction),
        server_cores_used: added(one.server_cores_used, other.server_cores_used),
        server_memory_bytes: sum(one.server_memory_bytes, other.server_memory_bytes),
        server_switches: sum(one.server_switches, other.server_switches),
        server_retransmitted_segments: sum(
            one.server_retransmitted_segments,
            other.server_retransmitted_segments,
        ),
        server_listen_overflows: sum(one.server_listen_overflows, other.server_listen_overflows),
        ..Sample::default()
    }
}

fn added(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    Some(one? + other?)
}

fn least(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::min)
}

const NOT_READ: &str = "could not be read on the server's machine";

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(cpu_ns: u64) -> Watched {
        Watched {
            window_ns: 2_000_000_000,
            cpu_ns: Some(cpu_ns),
            switches: Some((9, 2)),
            wait_fraction: Some(0.25),
            rss_bytes: Some(4 << 20),
            pss_bytes: Some(3 << 20),
            machine: ServerMachine {
                idle_fraction: Some(0.5),
                cpus_allowed: Some(4),
                retransmitted_segments: Some(7),
                listen_overflows: Some(1),
            },
            samples: vec![Sample {
                at_ns: 100_000_000,
                server_cores_used: Some(0.5),
                ..Sample::default()
            }],
            cost_ns: 2_000_000,
        }
    }

    fn block() -> Block {
        let mut block = Block::empty(0, 0, 0, "not looked at");
        for field in ["server_us_per_message", "server_cores_used", "generator_cores_used"] {
            block.cpu.missing.insert(field.to_owned(), "elsewhere".to_owned());
        }
        block
            .context_switches
            .missing
            .insert("server_voluntary".to_owned(), "elsewhere".to_owned());
        block
    }

    #[test]
    fn a_server_that_is_watched_stands_where_one_of_this_machine_does() {
        let mut block = block();
        watched(1_000_000_000).fill(&mut block, Some(500_000));
        assert_eq!(block.cpu.server_us_per_message, Some(2.0));
        assert_eq!(block.cpu.server_cores_used, Some(0.5));
        assert_eq!(block.context_switches.server_voluntary, Some(9));
        assert_eq!(block.context_switches.server_involuntary, Some(2));
        assert_eq!(block.neighbours.server_wait_fraction, Some(0.25));
        assert_eq!(block.memory.unwrap().server_pss_bytes, Some(3 << 20));
        assert_eq!(block.samples[0].server_cores_used, Some(0.5));
        assert_eq!(block.sampling_cpu_fraction, Some(0.001));
        assert_eq!(block.server_machine.unwrap().listen_overflows, Some(1));
        let missing: Vec<&String> = block.cpu.missing.keys().collect();
        assert_eq!(missing, ["generator_cores_used"]);
        assert!(block.context_switches.missing.is_empty());
    }

    #[test]
    fn its_cpu_time_is_divided_by_no_messages_that_are_not_known() {
        for (replies, reason) in [(None, "parts of the load are missing"), (Some(0), "no reply")] {
            let mut block = block();
            watched(1_000_000_000).fill(&mut block, replies);
            assert_eq!(block.cpu.server_cores_used, Some(0.5));
            assert_eq!(block.cpu.server_us_per_message, None);
            assert!(block.cpu.missing["server_us_per_message"].starts_with(reason));
        }
        let mut unread = block();
        Watched { cpu_ns: None, ..watched(0) }.fill(&mut unread, Some(5));
        assert_eq!(unread.cpu.missing["server_us_per_message"], NOT_READ);
    }

    #[test]
    fn machines_of_one_service_add_up() {
        let idle = |idle| ServerMachine { idle_fraction: Some(idle), ..watched(0).machine };
        let one = Watched { machine: idle(0.1), ..watched(1_000_000_000) };
        let both = watched(500_000_000).with(one.clone());
        assert_eq!(both, one.with(watched(500_000_000)));
        assert_eq!((both.cpu_ns, both.switches), (Some(1_500_000_000), Some((18, 4))));
        assert_eq!(
            both.machine,
            ServerMachine {
                idle_fraction: Some(0.1),
                cpus_allowed: Some(8),
                retransmitted_segments: Some(14),
                listen_overflows: Some(2),
            }
        );
        assert_eq!(both.samples[0].server_cores_used, Some(1.0));
        assert_eq!(Watched { cpu_ns: None, ..watched(0) }.with(watched(1)).cpu_ns, None);
    }
}
