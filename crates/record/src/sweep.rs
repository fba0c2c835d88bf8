//! A sweep: steps of load on one or several lines, and where each of them bends.

use crate::{Estimate, Level, Published, ServerMachine, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The findings of a sweep. Its blocks are those of the record; each step names its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sweep {
    /// The quantity that is stepped.
    pub of: SweepOf,
    /// The name of the published experiment, if it is one, e.g. `cubeia`.
    pub preset: Option<String>,
    /// The published results of others for the same experiment; `null` where this repeats nobody's test.
    #[serde(default)]
    pub published: Option<Published>,
    /// The objective that the capacity is about, e.g. `p99 < 50ms`; `null` if none was given.
    pub slo: Option<String>,
    /// The lines that are compared, e.g. one for each transport.
    pub lines: Vec<SweepLine>,
    /// The steps, by line, and within a line by offered load.
    pub steps: Vec<SweepStep>,
}

/// A quantity that can be stepped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SweepOf {
    /// The number of bots, each with its own pace; and where no more are allowed, their pace.
    Bots,
    /// The number of connections, each with its own pace.
    Connections,
    /// The rate of messages, over a fixed number of connections; in rooms, of each.
    Rate,
    /// The receivers of each room.
    Receivers,
    /// Something that this version does not know.
    #[serde(other)]
    Other,
}

/// One of the things compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepLine {
    /// Its name, e.g. `binary`.
    pub name: String,
    /// The load at which it bends.
    pub knee: Knee,
    /// The trust in that: that of the largest step that was carried, and of the next one as far as the generator or the
    /// machine may have kept it from being carried. Trusted in records from before it was judged.
    #[serde(default)]
    pub level: Level,
    /// The load that it carries within the objective; `null` without one, or if no step was within it.
    pub capacity: Option<Capacity>,
    /// The resource that ran out at its last step, in words.
    pub ran_out: String,
}

/// The knee of a line: the largest offered load of which at least 99 % is achieved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Knee {
    /// It bends.
    Found {
        /// The middle of the interval: as many knees are probable below as above. Its upper end where nothing was
        /// carried.
        offered_per_s: f64,
        /// The lower end of its 95 % interval; 0 if no load was carried.
        low_per_s: f64,
        /// The upper end.
        high_per_s: f64,
        /// True if the interval is at most 5 % wide and both ends were measured; else it bends somewhere between them.
        #[serde(default)]
        confirmed: bool,
    },
    /// It did not bend, or what bent was not the server.
    NotReached {
        /// The largest offered load that was carried.
        offered_max_per_s: f64,
        /// The reason why no more was offered, or why the next steps say nothing of the server.
        reason: String,
    },
}

/// The largest load with less than 1 % missing and the objective kept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    /// The largest offered load whose messages, of all its blocks together, kept it.
    pub offered_per_s: f64,
    /// The lower end of the interval in which the largest such load lies.
    pub low_per_s: f64,
    /// The upper end; `null` if every load kept it.
    pub high_per_s: Option<f64>,
    /// True if the interval is at most 5 % wide, both ends were measured, and no load on either side of them
    /// contradicts; else it lies somewhere between them.
    pub confirmed: bool,
    /// The trust in it, as [`SweepLine::level`], for the percentile of the objective.
    #[serde(default)]
    pub level: Level,
}

/// One offered load on one line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepStep {
    /// The index of its line.
    pub line: usize,
    /// The index of its workload in the plan.
    pub workload: usize,
    /// The indexes of its blocks, which repeat it, in the record.
    pub blocks: Vec<usize>,
    /// The messages that were due each second: the theoretical maximum.
    pub offered_per_s: f64,
    /// The number of bots, or connections, that sent.
    pub bots: u64,
    /// Replies each second, of all blocks together.
    pub achieved_per_s: Estimate,
    /// The share (0 to 1) of the messages due that was answered rightly, and in the time of the measurement, of all
    /// blocks together.
    pub achieved_fraction: Estimate,
    /// The number of blocks of which at least 99 % was achieved.
    #[serde(default)]
    pub blocks_kept: Option<u32>,
    /// The number of those that met the objective besides; `null` without one.
    #[serde(default)]
    pub blocks_within: Option<u32>,
    /// Time from due to received, of all blocks together.
    pub response: Option<Summary>,
    /// The mean of the last 1000 replies in whole milliseconds, as the published test showed it: the median of the
    /// blocks.
    #[serde(default)]
    pub last_1000_mean_ms: Option<u64>,
    /// Share of the machine's CPU time that nobody used, 0 to 1: the mean of the blocks. All that follow are means too.
    pub machine_idle_fraction: Option<f64>,
    /// The number of cores that the server kept busy.
    pub server_cores_used: Option<f64>,
    /// The number of cores that the generator kept busy.
    pub generator_cores_used: Option<f64>,
    /// Payload, both directions.
    pub payload_bytes_per_s: Option<f64>,
    /// Bytes written to and read from the sockets.
    pub stream_bytes_per_s: Option<f64>,
    /// Bytes that the interface counted, both directions; on `lo` every byte is counted where it is sent and where it
    /// is received, and is here once.
    pub interface_bytes_per_s: Option<f64>,
    /// Memory of the server (PSS, or RSS where that is not known), the largest of the blocks.
    pub server_memory_bytes: Option<u64>,
    /// The server's machine, where it is another one and somebody watched the server there; its counts are sums.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_machine: Option<ServerMachine>,
    /// The trust in its numbers. A load that is offered and not achieved is no reason for doubt here.
    pub level: Level,
}

/// Usage in a tenth of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// The end of that time, from the start of the measured window.
    pub at_ns: u64,
    /// Share of the machine's CPU time that nobody used, 0 to 1.
    pub machine_idle_fraction: Option<f64>,
    /// The number of cores that the server kept busy.
    pub server_cores_used: Option<f64>,
    /// The number of cores that the generator kept busy.
    pub generator_cores_used: Option<f64>,
    /// Bytes that the interface counted as sent.
    pub interface_sent_bytes: Option<u64>,
    /// Bytes that the interface counted as received.
    pub interface_received_bytes: Option<u64>,
    /// Memory of the server then (RSS).
    pub server_memory_bytes: Option<u64>,
    /// Context switches of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_switches: Option<u64>,
    /// TCP segments sent again in the server's network namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_retransmitted_segments: Option<u64>,
    /// Connections that were not accepted there because the queue of a listener was full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_listen_overflows: Option<u64>,
}

/// Counters of the network interface in the measured window, everybody's traffic included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interface {
    /// Its name, e.g. `lo`.
    pub name: String,
    /// Bytes that went out through it, headers included.
    pub sent_bytes: u64,
    /// Bytes that came in.
    pub received_bytes: u64,
    /// Packets that went out.
    pub sent_packets: u64,
    /// Packets that came in.
    pub received_packets: u64,
}

/// Memory at the end of the measured window, and of the server of rooms also before the block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// The server's memory (RSS); `null` if nobody looks into it: it is on another machine and no `wirebench watch` is
    /// there, or belongs to another user.
    pub server_rss_bytes: Option<u64>,
    /// The same, where pages that are shared count in proportion (PSS).
    pub server_pss_bytes: Option<u64>,
    /// The generator's memory (RSS).
    pub generator_rss_bytes: Option<u64>,
    /// The server's memory before the first connection of the block; rooms only, and `null` where nobody on this
    /// machine looks into it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_before: Option<MemoryBefore>,
}

/// Memory of a server before the first connection of a block was opened, and before the warm-up of what compiles while
/// it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryBefore {
    /// Its memory (RSS).
    pub rss_bytes: Option<u64>,
    /// The same, where pages that are shared count in proportion (PSS).
    pub pss_bytes: Option<u64>,
    /// True if the run had not driven these processes before. A server keeps memory of earlier loads, and grows by less
    /// in those that follow.
    pub is_first: bool,
}
