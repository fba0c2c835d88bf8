//! The plan as it was carried out, every default resolved.

use crate::Subject;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::{Layer, PayloadKind, Spacing};

/// The plan of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The workloads; the other parts of the record point here by index, from 0.
    pub workloads: Vec<Workload>,
    /// The order of blocks: in each round the indexes of the workloads, in the order they run.
    pub rounds: Vec<Vec<usize>>,
    /// The index of the workload that the others are compared with.
    pub baseline: Option<usize>,
    /// The workloads that are another one with a layer more.
    #[serde(default)]
    pub layers: Vec<Layer>,
    /// The origin of all random choices: the order of blocks, payloads, intervals.
    pub seed: u64,
}

impl Plan {
    /// The index of the workload that number `index` is compared with in the end: the baseline of its baseline, and so
    /// on. A workload that is compared with nothing is its own, unless the plan has a baseline.
    pub fn zero(&self, index: usize) -> Option<usize> {
        let workloads = &self.workloads;
        let is_base = |index: usize| workloads.iter().any(|other| other.baseline == Some(index));
        let mut at = index;
        // No chain is longer, unless it is a circle.
        for _ in 0..workloads.len() {
            match workloads.get(at).and_then(|workload| workload.baseline) {
                Some(base) if base < workloads.len() && base != at => at = base,
                Some(_) | None => break,
            }
        }
        if at == index && !is_base(index) { self.baseline } else { Some(at) }
    }
}

/// One thing that is measured: a product of independent parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// Its name, unique in the plan.
    pub name: String,
    /// The URL of the server, without user name and password.
    pub target: String,
    /// The scheme of the URL, e.g. `tcp-framed`, `ws`.
    pub transport: String,
    /// Connections that are open at a time.
    pub connections: u64,
    /// The lifetime of each of them.
    pub lifetime: Lifetime,
    /// True if the answer to our own end is awaited, where the protocol has one (WebSocket).
    #[serde(default = "awaited")]
    pub closing_awaited: bool,
    /// The rule by which messages are sent.
    #[serde(default)]
    pub arrival: Arrival,
    /// Closed loop: how many messages wait for their reply at a time, on each connection.
    pub in_flight: u32,
    /// Messages that may be outstanding on all connections together; `null`: no such bound.
    #[serde(default)]
    pub in_flight_max: Option<u32>,
    /// The messages.
    pub message: Message,
    /// The end of the measurement.
    pub stop: Stop,
    /// Time in which a worker looked for replies again and again before it slept.
    #[serde(default)]
    pub busy_poll_ns: u64,
    /// Time in which messages run before they are measured.
    pub warm_up_ns: u64,
    /// Time in which replies are awaited after the last message.
    pub drain_ns: u64,
    /// The time that each phase may take.
    pub time_outs: TimeOuts,
    /// Connections that are opened a second, at most; `null`: as fast as it goes.
    pub connects_per_s: Option<f64>,
    /// Threads that send.
    pub threads: u32,
    /// Local addresses that connections start from; empty: the kernel chooses.
    #[serde(default)]
    pub source_addresses: Vec<String>,
    /// Names of the headers that are sent besides the protocol's own; values may be secrets and are left out.
    #[serde(default)]
    pub header_names: Vec<String>,
    /// Subprotocols that are offered, in order of preference.
    #[serde(default)]
    pub subprotocols: Vec<String>,
    /// The TLS that was asked for; `null`: not at all.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// The parameters of permessage-deflate that were offered, as typed, with the level of compression; `null`: no
    /// compression was asked for.
    #[serde(default)]
    pub deflate: Option<String>,
    /// The check of replies.
    pub verify: Verify,
    /// The origin of this workload's random choices.
    pub seed: u64,
    /// The CPUs that the two sides are bound to.
    pub pinning: Pinning,
    /// The server, where it is a subject.
    #[serde(default)]
    pub server: Option<Subject>,
    /// The client, where it is a subject; `null`: this program.
    #[serde(default)]
    pub client: Option<Subject>,
    /// The workload that this one is compared with; `null`: with the plan's baseline.
    #[serde(default)]
    pub baseline: Option<usize>,
}

impl Workload {
    /// True if the server is on the machine of the generator, as far as the target says: a Unix socket, or a loopback
    /// address.
    pub fn is_local(&self) -> bool {
        let Some((scheme, rest)) = self.target.split_once(':') else { return false };
        let host = rest.trim_start_matches('/');
        scheme == "unix"
            || ["127.", "localhost", "[::1]"].iter().any(|start| host.starts_with(start))
    }
}

/// The value in records from before there was a choice.
fn awaited() -> bool {
    true
}

/// The lifetime of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lifetime {
    /// As long as the block.
    Long,
    /// A number of round trips; then it is closed and a new one takes its place.
    RoundTrips(u64),
}

/// The rule by which messages are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "loop", rename_all = "snake_case")]
pub enum Arrival {
    /// The next message is sent when a reply has arrived. There is no schedule, hence no response time.
    #[default]
    Closed,
    /// By a schedule, on any connection that can send.
    Open {
        /// Messages that are due each second.
        messages_per_s: f64,
        /// The distances between them.
        spacing: Spacing,
    },
    /// By a schedule, each connection at its own times: as many bots as connections.
    Bots {
        /// From a message of a bot to its next.
        every_ns: u64,
        /// The distances between them.
        spacing: Spacing,
    },
    /// Sessions begin by a schedule; in a session, each message waits for the reply to the last one.
    PartlyOpen {
        /// Sessions that are due each second.
        sessions_per_s: f64,
        /// The distances between them.
        spacing: Spacing,
        /// From a reply to the next message of its session.
        think_ns: u64,
    },
    /// As many bots as connections, each with its next message some time after the reply to its last one. There is no
    /// schedule, hence no response time.
    ClosedBots {
        /// From a reply to the next message of its bot.
        think_ns: u64,
    },
}

impl Arrival {
    /// True if there is no schedule: messages wait for the replies to those before them.
    pub const fn is_closed(self) -> bool {
        match self {
            Self::Closed | Self::ClosedBots { .. } => true,
            Self::Open { .. } | Self::Bots { .. } | Self::PartlyOpen { .. } => false,
        }
    }
}

/// The messages of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// The kind of payload.
    pub kind: MessageKind,
    /// The length of the payload.
    pub size_bytes: u64,
    /// The source of the payload, e.g. `random bytes of seed 7`.
    pub source: String,
    /// The kind of payload that was generated, which decides how well it compresses; `null` for one that was given, and
    /// in records from before there was a choice.
    #[serde(default)]
    pub payload_kind: Option<PayloadKind>,
}

/// The TLS that was asked for; the one that was agreed on is in [`crate::TlsSeen`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tls {
    /// The versions that were offered, e.g. `1.3`; empty: all that this program knows.
    pub versions: Vec<String>,
    /// The cipher suites that were offered, by their IANA names; empty: all that this program knows.
    pub suites: Vec<String>,
    /// The resumption of sessions.
    pub resumption: Resumption,
    /// The protocols that were offered (ALPN), in order of preference.
    pub alpn: Vec<String>,
    /// True if the server's certificate was verified; `false`: `--insecure`.
    pub verified: bool,
    /// True if a certificate of our own was at hand for a server that asks for one.
    pub client_certificate: bool,
}

/// The resumption of TLS sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resumption {
    /// With the tickets that the server gave.
    Tickets,
    /// Never: every handshake is a full one.
    None,
}

/// The kind of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// Any bytes.
    Binary,
    /// UTF-8.
    Text,
}

/// The end of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// After so much measured time.
    DurationNs(u64),
    /// After so many messages.
    Messages(u64),
    /// After so many clients have lived and ended.
    Clients(u64),
}

/// The time that each phase of a connection may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeOuts {
    /// Turning a name into addresses.
    pub resolve_ns: u64,
    /// Connecting to one address.
    pub connect_ns: u64,
    /// The opening handshake.
    pub handshake_ns: u64,
    /// The reply to a message.
    pub reply_ns: u64,
    /// The proper end.
    pub close_ns: u64,
}

/// The check of replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verify {
    /// Every byte against what was sent.
    EveryByte,
    /// The length alone.
    Length,
    /// Not at all.
    Nothing,
    /// The number that the game gives each message: replies come in the order of messages, none is missing.
    Sequence,
}

/// The CPUs that the two sides are bound to; empty: not bound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pinning {
    /// Of the generator.
    pub generator_cpus: Vec<u32>,
    /// Of the server, if it is ours.
    pub server_cpus: Vec<u32>,
}
