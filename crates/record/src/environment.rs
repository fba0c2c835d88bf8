//! The machine, as far as it changes numbers.

use crate::Missing;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The machine, as far as it changes numbers; its name is not recorded.
///
/// Everything that could not be read is `null`, with the reason in `missing`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The operating system and its release, e.g. `Debian GNU/Linux 12`.
    pub os: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The processor as it calls itself.
    pub cpu_model: Option<String>,
    /// The number of CPUs that are online.
    pub cpus_online: Option<u32>,
    /// The numbers of the CPUs that this process may run on.
    #[serde(default)]
    pub cpus_allowed: Vec<u32>,
    /// The same CPUs by core: those of one core are threads of it. Empty: not known.
    #[serde(default)]
    pub cores_allowed: Vec<Vec<u32>>,
    /// True if two threads of one core are both online.
    pub smt: Option<bool>,
    /// The frequency governor.
    pub governor: Option<String>,
    /// The hypervisor, if one shows itself.
    pub hypervisor: Option<String>,
    /// Mitigations of processor faults that are switched on, in short.
    #[serde(default)]
    pub mitigations: Vec<String>,
    /// The kernel's source of time, e.g. `tsc`.
    pub clock_source: Option<String>,
    /// The frequency of the kernel's timer ticks, in hertz.
    pub timer_tick_hz: Option<u32>,
    /// The time by which the kernel may delay timers of the measuring threads.
    pub timer_slack_ns: Option<u64>,
    /// The precision of a short sleep on this machine.
    pub timer_floor: Option<TimerFloor>,
    /// TCP congestion control in force.
    pub congestion_control: Option<String>,
    /// Limits of the kernel and the process that bind first.
    #[serde(default)]
    pub limits: Limits,
    /// Memory installed.
    pub memory_total_bytes: Option<u64>,
    /// Memory that was free for use before the run.
    pub memory_available_bytes: Option<u64>,
    /// Limits of the container or control group, if there are any.
    pub container: Option<Container>,
    /// Share of CPU time that the hypervisor took away just before the run, 0 to 1.
    pub steal_before_fraction: Option<f64>,
    /// The same while it ran.
    pub steal_during_fraction: Option<f64>,
    /// The result of `wirebench selftest` on this machine since it was started; `null` if it did not run.
    #[serde(default)]
    pub selftest: Option<Certificate>,
    /// Versions of what matters besides, e.g. `rustc`.
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
    /// The reason why a field is `null`, under its name.
    #[serde(default)]
    pub missing: Missing,
}

/// The precision of a short sleep: the time that it took beyond the requested one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimerFloor {
    /// The requested length of each sleep.
    pub asked_ns: u64,
    /// The median overshoot.
    pub overshoot_p50_ns: u64,
    /// The overshoot that 99 % of the sleeps stayed within.
    pub overshoot_p99_ns: u64,
}

/// Limits of the kernel and the process that bind first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Open files of this process, as in force.
    pub open_files_soft: Option<u64>,
    /// The limit up to which it may raise that.
    pub open_files_hard: Option<u64>,
    /// The longest queue of connections that wait to be accepted (`net.core.somaxconn`).
    pub somaxconn: Option<u64>,
    /// The lowest port for outgoing connections (`net.ipv4.ip_local_port_range`).
    pub port_first: Option<u16>,
    /// The highest one.
    pub port_last: Option<u16>,
    /// Early reuse of the ports of finished connections: 0 no, 1 yes, 2 on loopback (`net.ipv4.tcp_tw_reuse`).
    pub tcp_tw_reuse: Option<u32>,
    /// Receive buffer of a TCP socket (`net.ipv4.tcp_rmem`).
    pub receive_buffer: Option<SocketBuffer>,
    /// Send buffer of a TCP socket (`net.ipv4.tcp_wmem`).
    pub send_buffer: Option<SocketBuffer>,
}

/// The size that the kernel gives a buffer of a TCP socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SocketBuffer {
    /// Kept even when memory is short.
    pub min_bytes: u64,
    /// The size at first.
    pub default_bytes: u64,
    /// The largest size.
    pub max_bytes: u64,
}

/// Limits of the container or control group that the process is in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Container {
    /// The kind of container, if it shows itself, e.g. `docker`.
    pub kind: Option<String>,
    /// The CPU time that it may use, in cores; `null` if it is not limited.
    pub cpu_cores_max: Option<f64>,
    /// The memory that it may use; `null` if it is not limited.
    pub memory_max_bytes: Option<u64>,
}

/// The result of a self-test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Certificate {
    /// The time of the test: RFC 3339, UTC.
    pub at: String,
    /// The version of the program that ran it.
    pub version: String,
    /// Identifies the start of the machine that it holds for.
    pub boot_id: String,
    /// True if every check passed.
    pub passed: bool,
    /// The checks, in the order of time.
    pub checks: Vec<Check>,
    /// The median round trip of one connection to an echo within the generator's own process: less cannot be measured.
    #[serde(default)]
    pub round_trip_floor_ns: Option<u64>,
    /// The messages a second that one thread of the generator carries with that echo on another.
    #[serde(default)]
    pub messages_per_s_max: Option<u64>,
}

/// One check of a self-test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// A stable name for programs, e.g. `stalled_server`.
    pub code: String,
    /// True if it passed.
    pub passed: bool,
    /// The measured values beside the true ones.
    pub evidence: String,
}
