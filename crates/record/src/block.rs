//! A block: some seconds of one workload, the unit of all statistics.

use crate::{
    AgentPart, AgentTask, ClientReport, Counts, Deliveries, ErrorCount, Exchange, IdsFound,
    Interface, Memory, Missing, PartEnd, PushCount, Sample, ServerMachine, Summary, TabDeliveries,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Rate};

/// Some seconds of one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// The index of its workload in the plan.
    pub workload: usize,
    /// The round it belongs to, from 0.
    pub round: usize,
    /// The start of its measured window, from the start of the run.
    pub started_at_ns: u64,
    /// The length of its measured window: after the warm-up, before the drain.
    pub measured_ns: u64,
    /// The reason why it failed, if so: the target could not be reached, or no message got its reply. It counts as 0
    /// messages/s; in percentiles its messages count as long as the reply timeout.
    pub failed: Option<String>,
    /// The reason why its load ended before its time: nearly everything failed. The counts until then stand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<String>,
    /// The rates that somebody asked for while it ran, instead of the one of its load; empty: nobody did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rate_changes: Vec<RateChange>,
    /// The restart of the server in the middle of it; `null`: it was not killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<Restart>,
    /// Messages by their end.
    pub counts: Counts,
    /// Messages of the warm-up by their end, which may lie anywhere in the block; `null` where a third-party program
    /// sends, and in records from before they were kept.
    #[serde(default)]
    pub warm_up: Option<Counts>,
    /// Connections by their end.
    pub connections: Connections,
    /// TLS handshakes and the parameters that they agreed on; `null` without TLS, or if none was completed.
    #[serde(default)]
    pub tls: Option<TlsSeen>,
    /// Errors and timeouts by class, the most frequent first; those of the warm-up are among them.
    pub errors: Vec<ErrorCount>,
    /// Times of the phases of connections.
    pub phases: Phases,
    /// Closed loop: from handing a message's first byte to the kernel until its whole reply was decoded; in the
    /// measured window. `null` if there was none.
    pub round_trip: Option<Summary>,
    /// Times of an open loop; `null` for a closed one, which has no schedule.
    #[serde(default)]
    pub open_loop: Option<OpenLoop>,
    /// Times of the messages that were refused, from the instant at which they were due (closed loop: sent) until the
    /// answer that says no was decoded; `null` if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Summary>,
    /// The messages of a conversation by kind, in the order of its file; empty where there is no conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<Exchange>,
    /// Messages of a conversation that came unasked, by the rule that they match, in the order of its file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pushes: Vec<PushCount>,
    /// Deliveries of what was published in rooms, whose times are those of `open_loop.response`; `null` without rooms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliveries: Option<Deliveries>,
    /// Deliveries of the same to the tabs of a browser, which no other number includes; `null` without a browser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tabs: Option<TabDeliveries>,
    /// The ways in which the ids of replies were found; `null` where replies have no ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids_found: Option<IdsFound>,
    /// Gaps in the workers' own loops in the measured window.
    #[serde(default)]
    pub stalls: Stalls,
    /// Replies that were lost, duplicate, out of order or altered; `null` where messages carry no header.
    #[serde(default)]
    pub identity: Option<Identity>,
    /// The spread of replies over connections that live through the block; `null` where there are fewer than two.
    #[serde(default)]
    pub fairness: Option<Fairness>,
    /// Messages that the server sent unasked; `null` where the protocol has no such thing.
    #[serde(default)]
    pub pushed: Option<Pushed>,
    /// The mean round trip as the published test of bots computes it, for comparison: of the last 1000 right replies in
    /// the measured window (of all workers, by the time of their decoding), the whole milliseconds by which the clock
    /// advanced from sending the message to decoding the reply, added up and divided by their number without remainder.
    /// `null` in a closed loop without bots, and if none came.
    #[serde(default)]
    pub last_1000_mean_ms: Option<u64>,
    /// The mean of the same times without any rounding of each.
    #[serde(default)]
    pub last_1000_mean_ns: Option<u64>,
    /// Replies in the measured window, by its length.
    pub messages_per_s: f64,
    /// CPU time.
    pub cpu: Cpu,
    /// The use that others made of the machine.
    #[serde(default)]
    pub neighbours: Neighbours,
    /// Bytes on the wire.
    pub wire: Wire,
    /// Events of TCP that the kernel counted; `null` where it does not tell, and without TCP.
    #[serde(default)]
    pub tcp: Option<TcpEvents>,
    /// Context switches of both sides.
    pub context_switches: ContextSwitches,
    /// Little's law, held against the block.
    pub little: Little,
    /// The measured window second by second.
    pub series: Vec<Second>,
    /// Usage of machine and processes, ten times a second; in sweeps, and of a server that is watched on its machine.
    #[serde(default)]
    pub samples: Vec<Sample>,
    /// Counters of the network interface; sweeps only.
    #[serde(default)]
    pub interface: Option<Interface>,
    /// Memory of both sides; `null` on the ladder, and where the measurement did not reach its end.
    #[serde(default)]
    pub memory: Option<Memory>,
    /// The share of one core that taking the samples cost, 0 to 1.
    #[serde(default)]
    pub sampling_cpu_fraction: Option<f64>,
    /// The client's own report, where it is a subject that sends.
    #[serde(default)]
    pub client: Option<ClientReport>,
    /// The parts that the agents of a fleet measured, by their names; empty where this machine measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentPart>,
    /// The server's machine, where it is another one and somebody watched the server there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_machine: Option<ServerMachine>,
}

impl Block {
    /// The parts of the load that agents measured, without agents that probe or watch.
    pub fn load_parts(&self) -> impl Iterator<Item = &AgentPart> + Clone {
        self.agents.iter().filter(|part| part.task == AgentTask::Load)
    }

    /// The most messages that the server may have been offered. If parts of the load are missing, this exceeds the
    /// messages that count: it includes those of every agent that measured, plus for each missing part the average that
    /// those agents planned.
    pub fn planned_most(&self) -> u64 {
        let (mut parts, mut measured, mut planned) = (0_u128, 0_u128, 0_u128);
        for part in self.load_parts() {
            parts += 1;
            if part.end == PartEnd::Measured {
                measured += 1;
                planned += u128::from(part.planned.unwrap_or(0));
            }
        }
        let is_whole = measured == parts;
        let most = (planned * parts).checked_div(measured).filter(|_| !is_whole);
        let most = most.and_then(|most| u64::try_from(most).ok());
        most.map_or(self.counts.planned, |most| most.max(self.counts.planned))
    }

    /// Response times in an open loop, round trips in a closed one.
    pub fn times(&self) -> Option<&Summary> {
        match &self.open_loop {
            Some(times) => times.response.as_ref(),
            None => self.round_trip.as_ref(),
        }
    }

    /// Replies that were due: one for each message; in rooms the deliveries owed, or the messages if those are more.
    pub fn replies_due(&self) -> u64 {
        match &self.deliveries {
            Some(deliveries) => deliveries.counts.owed.max(self.counts.planned),
            None => self.counts.planned,
        }
    }

    /// True if right replies arrived in the measured window: to its own messages or, under overload, to messages due
    /// earlier, which must then outnumber the failed ones.
    pub fn is_answered(&self) -> bool {
        let failed = self.counts.failed();
        let replies = self.messages_per_s * Nanos(self.measured_ns).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
        let is_overloaded = replies > failed as f64;
        self.failed.is_none() && (self.counts.ok > 0 || is_overloaded)
    }

    /// A block in which nothing happened; `unchecked` is the reason why Little's law was not checked.
    pub fn empty(workload: usize, round: usize, started_at_ns: u64, unchecked: &str) -> Self {
        Self {
            workload,
            round,
            started_at_ns,
            measured_ns: 0,
            failed: None,
            cut_short: None,
            rate_changes: Vec::new(),
            restart: None,
            counts: Counts::default(),
            warm_up: None,
            connections: Connections::default(),
            tls: None,
            errors: Vec::new(),
            phases: Phases::default(),
            round_trip: None,
            open_loop: None,
            refused: None,
            exchanges: Vec::new(),
            pushes: Vec::new(),
            deliveries: None,
            tabs: None,
            ids_found: None,
            stalls: Stalls::default(),
            identity: None,
            fairness: None,
            pushed: None,
            last_1000_mean_ms: None,
            last_1000_mean_ns: None,
            messages_per_s: 0.0,
            cpu: Cpu::default(),
            neighbours: Neighbours::default(),
            wire: Wire::default(),
            tcp: None,
            context_switches: ContextSwitches::default(),
            little: Little::NotChecked { reason: unchecked.to_owned() },
            series: Vec::new(),
            samples: Vec::new(),
            interface: None,
            memory: None,
            sampling_cpu_fraction: None,
            client: None,
            agents: Vec::new(),
            server_machine: None,
        }
    }
}

/// Times of an open loop, of the messages that were due in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenLoop {
    /// Time from the instant at which the schedule wanted a message sent until its whole reply was decoded: what a user
    /// waits. Messages that failed or timed out count with at least the reply timeout. In rooms until a receiver had
    /// decoded it, for each of its receivers; deliveries that are lost or cut off likewise.
    pub response: Option<Summary>,
    /// Time from handing a message's first byte to the kernel until its whole reply was decoded; right replies only.
    pub service: Option<Summary>,
    /// The generator's lateness: from the instant at which the schedule wanted a message sent until its first byte was
    /// handed to the kernel, without the time in which no connection was free for it.
    pub send_lag: Option<Summary>,
    /// Time from the kernel's stamp on the arrival of a reply's last byte until it was decoded: our own share of its
    /// time. Of messages that were alone on their connection; in rooms of deliveries. `null` where nobody gives stamps.
    pub own_share: Option<Summary>,
    /// The wait before the answer, as the server reports it; oracle servers only.
    #[serde(default)]
    pub true_delay: Option<Summary>,
    /// Partly open: what became of the sessions.
    #[serde(default)]
    pub sessions: Option<Sessions>,
}

/// Sessions that were due in the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sessions {
    /// Sessions that were to begin.
    pub planned: u64,
    /// Sessions that began.
    pub started: u64,
    /// Sessions that had all their replies while the block lasted; the others failed, or were cut by its end.
    pub completed: u64,
}

/// Gaps in the workers' own loops, each from the instant at which the loop was to go on to the instant at which it did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stalls {
    /// The number of gaps.
    pub count: u64,
    /// The longest.
    pub longest_ns: u64,
    /// All together.
    pub total_ns: u64,
    /// Messages whose times they changed, each counted once: that were due or awaited a reply meanwhile.
    pub affected: u64,
    /// The first of them, [`Stalls::KEPT_MAX`] at most.
    pub first: Vec<Stall>,
}

impl Stalls {
    /// The number of stalls that are kept one by one.
    pub const KEPT_MAX: usize = 100;
}

/// A gap in a worker's own loop.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Stall {
    /// The start of the gap, from the start of the measured window.
    pub at_ns: u64,
    /// The length of the gap.
    pub duration_ns: u64,
    /// Messages that were due or awaited a reply meanwhile.
    pub affected: u64,
}

/// Replies that went astray, by the connection and sequence number that messages carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// Messages without a reply, on a connection that answered a later one.
    pub lost: u64,
    /// Replies to messages that had been answered already.
    pub duplicate: u64,
    /// Right replies that came after the reply to a later message.
    pub reordered: u64,
    /// Replies whose bytes differ from what was sent.
    pub corrupted: u64,
}

/// Messages from the server that answer no message of the connection they came on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pushed {
    /// Replies to others at the same table, in the measured window.
    pub deliveries: u64,
    /// Other messages of the measured window: who came and went, a lobby that changed.
    pub notices: u64,
    /// Messages of a conversation that match none of its rules, in the measured window.
    #[serde(default)]
    pub unexpected: u64,
    /// The payloads of all of them.
    pub payload_bytes: u64,
    /// The counts from the first message to the last, warm-up and drain included: these add up.
    pub whole: Whole,
}

/// Events of a game from the first to the last: where all tables are full all the time, each has as many replies and
/// deliveries together as a table has players.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Whole {
    /// Messages that were sent.
    pub events: u64,
    /// Replies that reached their sender.
    pub replies: u64,
    /// Replies that reached the others at the table.
    pub deliveries: u64,
}

/// Replies of the measured window, by connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fairness {
    /// The number of connections.
    pub connections: u64,
    /// The fewest that one of them had.
    pub replies_min: u64,
    /// The replies that half of them had at most.
    pub replies_median: u64,
}

/// Connections of a block, each counted once by its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Connections {
    /// Connections that were to be opened.
    pub asked: u64,
    /// Attempts that were started, those that replace ended connections included; 0 in records from before it was
    /// counted.
    #[serde(default)]
    pub started: u64,
    /// Connections that became ready for messages.
    pub opened: u64,
    /// Connections that never became ready.
    pub failed: u64,
    /// Connections that became ready and ended before they should.
    pub lost: u64,
    /// Connections opened to replace one that the protocol allowed the peer to end; in an open loop also one that was
    /// lost, or could not be made.
    pub reconnects: u64,
}

/// Times of the phases of connections; `null` where the transport has no such phase or none was completed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phases {
    /// Time from the name to its addresses.
    pub resolve: Option<Summary>,
    /// Time from starting to connect for the exchanges before a conversation, such as a login, until the last of them
    /// was answered.
    #[serde(default)]
    pub before: Option<Summary>,
    /// Time from starting to connect until the connection was established; that for the exchanges before it is not
    /// counted.
    pub connect: Option<Summary>,
    /// Time from the established connection until the client's TLS handshake was complete, where a new session was
    /// begun.
    #[serde(default)]
    pub tls_full: Option<Summary>,
    /// The same where an earlier session was resumed.
    #[serde(default)]
    pub tls_resumed: Option<Summary>,
    /// Time from the established connection, with TLS from the end of its handshake, until the protocol's opening
    /// handshake was complete.
    pub handshake: Option<Summary>,
    /// Time from handing the first message to the kernel until its reply was decoded.
    pub first_reply: Option<Summary>,
    /// Time from starting the proper end until it was complete.
    pub close: Option<Summary>,
    /// Short-lived clients: from starting to connect until the last whole reply was decoded; the close is apart.
    pub life: Option<Summary>,
}

/// CPU time of the measured window: user and system, from the processes' own accounting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// CPU time of the generator for each reply.
    pub generator_us_per_message: Option<f64>,
    /// CPU time of the server for each reply.
    pub server_us_per_message: Option<f64>,
    /// The number of cores that the generator kept busy.
    pub generator_cores_used: Option<f64>,
    /// The number of cores that the server kept busy.
    pub server_cores_used: Option<f64>,
    /// The number of cores that everybody else on the machine kept busy; known where the server is ours or on another
    /// machine.
    #[serde(default)]
    pub others_cores_used: Option<f64>,
    /// The part of the generator's cores that was spent polling for due messages instead of sleeping; `null` where it
    /// slept.
    #[serde(default)]
    pub looking_cores_used: Option<f64>,
    /// The largest share of one core that a worker thread of the generator was busy, without that polling, 0 to 1.
    #[serde(default)]
    pub busiest_worker_fraction: Option<f64>,
    /// Share of the machine's CPU time that nobody used, 0 to 1.
    pub machine_idle_fraction: Option<f64>,
    /// The reason why a field is `null`, under its name.
    #[serde(default)]
    pub missing: Missing,
}

/// The use that others made of the machine in the measured window; the cores that they used are
/// [`Cpu::others_cores_used`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Neighbours {
    /// The share of the machine's CPU time that its hypervisor gave to others, 0 to 1.
    pub steal_fraction: Option<f64>,
    /// The time that threads of the generator were ready to run and waited for a CPU, all together, by the length of
    /// the window.
    pub generator_wait_fraction: Option<f64>,
    /// The same of the server's threads; a server with more threads than CPUs makes them wait for each other.
    pub server_wait_fraction: Option<f64>,
    /// The share of the window in which some program of the machine, ours among them, waited for a CPU, 0 to 1.
    pub pressure_fraction: Option<f64>,
    /// The reason why a field is `null`, under its name.
    #[serde(default)]
    pub missing: Missing,
}

/// TLS handshakes and the parameters that they agreed on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TlsSeen {
    /// The version, e.g. `1.3`; this and the next three are what most full handshakes agreed on, or else most resumed
    /// ones.
    pub version: String,
    /// The cipher suite, by its IANA name.
    pub suite: String,
    /// The group of the key exchange, e.g. `X25519MLKEM768`; `null` if there was none.
    pub group: Option<String>,
    /// The protocol that was chosen (ALPN); `null` if none was offered or chosen.
    pub alpn: Option<String>,
    /// Handshakes that began a new session.
    pub full: u64,
    /// Handshakes that resumed an earlier session.
    pub resumed: u64,
}

/// Bytes that the generator wrote to and read from its sockets in the measured window: payload, what encodes, frames
/// and encrypts it, and handshakes; without what TCP and IP add.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wire {
    /// Bytes written.
    pub sent_bytes: u64,
    /// Bytes read.
    pub received_bytes: u64,
    /// Bytes written for each reply; `null` if there was none.
    pub sent_bytes_per_message: Option<f64>,
    /// Bytes read for each reply; `null` if there was none.
    pub received_bytes_per_message: Option<f64>,
    /// The written bytes by layer; `null` in records from before they were told apart.
    #[serde(default)]
    pub sent: Option<Split>,
    /// The same of the read ones.
    #[serde(default)]
    pub received: Option<Split>,
    /// Requests of HTTP that sessions of SockJS and Socket.IO made, and long polls: polls, streams that were asked
    /// for, and posts; `null` in records from before they were counted.
    #[serde(default)]
    pub requests: Option<u64>,
    /// The size of payloads divided by their size on the wire, both directions: above 1 if they became shorter. `null`
    /// without compression.
    #[serde(default)]
    pub compression_ratio: Option<f64>,
    /// The reason why a field is `null`, under its name.
    #[serde(default)]
    pub missing: Missing,
}

impl Split {
    /// The bytes of the stream: all layers but TCP and IP.
    pub const fn total(&self) -> u64 {
        (self.payload_bytes + self.framing_bytes + self.tls_bytes)
            .saturating_add_signed(self.encoding_bytes)
    }
}

/// Bytes of one direction by layer. All but those of TCP and IP together are the bytes of the stream, exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Split {
    /// Bytes of messages, before anything is done to them.
    pub payload_bytes: u64,
    /// Growth of messages by their encoding; negative where they were compressed.
    pub encoding_bytes: i64,
    /// Bytes of the protocol: lengths, headers, masks, control frames, its opening handshake and its end.
    pub framing_bytes: u64,
    /// Bytes of TLS: its handshakes, the headers, padding and tags of its records, alerts and tickets.
    pub tls_bytes: u64,
    /// Bytes that TCP and IP add to the stream: not counted but estimated, from the number of segments.
    pub tcp_ip_estimated_bytes: Option<u64>,
}

/// Events of TCP on all connections of the generator's network namespace, from before the first connect of the block to
/// after its last close; a field that this kernel does not count is `null`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpEvents {
    /// Acknowledgements that waited for something to travel with until a timer sent them.
    pub delayed_acks: Option<u64>,
    /// Segments sent again.
    pub retransmitted_segments: Option<u64>,
    /// The segments sent again that asked for a connection.
    pub retransmitted_syns: Option<u64>,
}

/// Context switches in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextSwitches {
    /// The generator waited.
    pub generator_voluntary: Option<u64>,
    /// The generator had to yield.
    pub generator_involuntary: Option<u64>,
    /// The server waited.
    pub server_voluntary: Option<u64>,
    /// The server had to yield.
    pub server_involuntary: Option<u64>,
    /// The reason why a field is `null`, under its name.
    #[serde(default)]
    pub missing: Missing,
}

/// Little's law on a closed loop: messages in flight = replies a second x mean round trip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Little {
    /// It was checked.
    Checked {
        /// The number that was requested: connections x messages in flight on each.
        expected_in_flight: f64,
        /// The product of the two measurements, replies a second x mean round trip, and the mean number of messages in
        /// flight that got no right reply.
        measured_in_flight: f64,
        /// The deviation as a share of the requested number; negative if it is less.
        deviation_fraction: f64,
        /// True if that is within the limit of 5 %.
        holds: bool,
    },
    /// It was not.
    NotChecked {
        /// The reason.
        reason: String,
    },
}

/// The restart of a server that we killed and started again, or of a part of it, which something else started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Restart {
    /// The instant at which it was killed, from the start of the measured window.
    pub at_ns: u64,
    /// Time from then until it was ready again.
    pub ready_after_ns: u64,
}

/// A change of the rate of an open loop while it ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RateChange {
    /// The instant from which on messages were due at it, from the start of the run.
    pub at_ns: u64,
    /// The rate of all connections together.
    pub rate: Rate,
}

/// One second of the measured window.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Second {
    /// The start of the second, from the start of the measured window.
    pub at_ns: u64,
    /// Its length: a second, or the rest of the window.
    pub duration_ns: u64,
    /// Messages sent in it.
    pub sent: u64,
    /// Right replies that came in it.
    pub ok: u64,
    /// Errors that came to light in it.
    pub error: u64,
    /// Answers that came in it and say no.
    #[serde(default)]
    pub refused: u64,
    /// Messages whose time was over in it.
    pub timed_out: u64,
    /// The median round trip of its replies (open loop: service time); `null` below 20 of them.
    pub p50_ns: Option<u64>,
    /// The time that 99 % of its round trips stayed within; `null` below 1000 of them.
    pub p99_ns: Option<u64>,
    /// Its longest round trip; `null` without one.
    pub max_ns: Option<u64>,
    /// Open loop: messages that were due in it and never sent.
    #[serde(default)]
    pub unsent: u64,
    /// Open loop: the median response time of the messages whose end came in it; `null` below 20 of them.
    #[serde(default)]
    pub response_p50_ns: Option<u64>,
    /// Open loop: what 99 % of those stayed within; `null` below 1000 of them.
    #[serde(default)]
    pub response_p99_ns: Option<u64>,
    /// Open loop: the longest of them; `null` without one.
    #[serde(default)]
    pub response_max_ns: Option<u64>,
    /// Open loop: the longest send lag in it; `null` if nothing was sent.
    #[serde(default)]
    pub send_lag_max_ns: Option<u64>,
}
