//! The description of a row: what was asked of it. The only module that knows how a record stores that.

use crate::number::{self, MISSING};
use record::{
    Block, PayloadKind, ReceiverMemory, RunRecord, Spacing, Subject, Summary, Workload,
    WorkloadResult,
};
use spec::{Conduct, Content, Expect, Lifetime, Load, Rooms, Stop};
use units::{Bytes, Nanos};

/// A row of a record's plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) index: usize,
    workload: &'a Workload,
}

/// All rows, in the order of the plan.
pub(crate) fn all(record: &RunRecord) -> impl Iterator<Item = Row<'_>> {
    record.plan.workloads.iter().enumerate().map(|(index, workload)| Row { index, workload })
}

/// The number of rows.
pub(crate) fn count(record: &RunRecord) -> usize {
    record.plan.workloads.len()
}

/// The row at `index`.
pub(crate) fn row(record: &RunRecord, index: usize) -> Option<Row<'_>> {
    record.plan.workloads.get(index).map(|workload| Row { index, workload })
}

/// The name of row `index`; `?` for a row that the plan does not have.
pub(crate) fn name(record: &RunRecord, index: usize) -> &str {
    row(record, index).map_or("?", Row::name)
}

/// The row that others are compared with.
pub(crate) fn baseline(record: &RunRecord) -> Option<Row<'_>> {
    row(record, record.plan.baseline?)
}

/// The number of rounds: how often each row has its turn.
pub(crate) fn rounds(record: &RunRecord) -> usize {
    record.plan.rounds.len()
}

/// The seed of all random choices.
pub(crate) fn seed(record: &RunRecord) -> u64 {
    record.plan.seed
}

/// The row that row `index` is ultimately compared with.
pub(crate) fn zero(record: &RunRecord, index: usize) -> Option<usize> {
    record.plan.zero(index)
}

impl<'a> Row<'a> {
    pub(crate) fn name(self) -> &'a str {
        self.workload.name()
    }

    /// The first answer of its server, where that is the user's.
    pub(crate) fn found(self) -> Option<&'a str> {
        self.workload.found.as_deref()
    }

    /// The processes of its server, where somebody else had started them.
    pub(crate) fn processes(self) -> &'a [record::Process] {
        &self.workload.processes
    }

    /// Its name in a sentence: rungs of the ladder have one for people, others their own.
    pub(crate) fn title(self) -> &'a str {
        match self.name() {
            "tcp" => "bare TCP",
            "tcp-framed" => "length-framed TCP",
            "unix" => "a Unix socket",
            "ws" => "WebSocket",
            "ws-text" => "WebSocket text",
            "http" => "HTTP",
            "http-new" => "HTTP with a connection for each request",
            "tls" => "TCP inside TLS",
            "tls-framed" => "length-framed TCP inside TLS",
            "wss" => "WebSocket inside TLS",
            "ws-json" => "WebSocket with JSON",
            "ws-deflate" => "WebSocket with compression",
            "https" => "HTTPS",
            "https-new" => "HTTPS with a full handshake for each request",
            "https-resume" => "HTTPS with a resumed handshake for each request",
            own => own,
        }
    }

    /// The description of what was asked.
    fn spec(self) -> &'a spec::Workload {
        &self.workload.spec
    }

    /// The program of its server whose processes a restart kills; `None`: all of the server, if there is a restart.
    pub(crate) fn restart_of(self) -> Option<&'a str> {
        self.spec().restart_of.as_deref()
    }

    /// The URL of its server.
    pub(crate) fn target(self) -> &'a str {
        &self.workload.target
    }

    pub(crate) fn transport(self) -> &'a str {
        &self.workload.transport
    }

    pub(crate) fn server(self) -> Option<&'a Subject> {
        self.workload.server.as_ref()
    }

    /// `None`: this program.
    pub(crate) fn client(self) -> Option<&'a Subject> {
        self.workload.client.as_ref()
    }

    /// The row that this one alone is compared with.
    pub(crate) fn base(self) -> Option<usize> {
        self.workload.spec.baseline
    }

    pub(crate) fn connections(self) -> u64 {
        self.spec().load.connections().get().into()
    }

    pub(crate) fn threads(self) -> u32 {
        self.spec().threads.get()
    }

    /// True for a closed loop: messages wait for the replies to those before them.
    pub(crate) fn is_closed(self) -> bool {
        self.spec().load.is_closed()
    }

    /// The round trips of a short-lived client; `None` for connections that live as long as the block.
    pub(crate) fn round_trips(self) -> Option<u64> {
        match self.spec().load.lifetime() {
            Lifetime::Long => None,
            Lifetime::RoundTrips(each) => Some(each.get().into()),
        }
    }

    /// True for clients that come and go. Sessions do so too, but it is their messages that are measured.
    pub(crate) fn is_of_lives(self) -> bool {
        self.is_closed() && self.round_trips().is_some()
    }

    /// Messages in flight on all connections together.
    pub(crate) fn in_flight(self) -> u64 {
        self.workload.in_flight_all()
    }

    /// True for a single connection with one message in flight.
    pub(crate) fn is_one_by_one(self) -> bool {
        self.connections() == 1 && self.spec().load.in_flight().get() == 1
    }

    /// The pause of a bot between a reply and its next message, where there is one and no schedule.
    pub(crate) fn think_ns(self) -> Option<u64> {
        match self.spec().load {
            Load::ClosedBots { think, .. } => Some(think.0),
            Load::Bots { .. }
            | Load::Clients { .. }
            | Load::Closed { .. }
            | Load::Open { .. }
            | Load::Publish { .. }
            | Load::Sessions { .. } => None,
        }
    }

    /// True if replies are checked against the order of their events alone.
    pub(crate) fn is_in_sequence(self) -> bool {
        self.spec().expect == Expect::InSequence
    }

    /// The permessage-deflate that was offered; empty for its defaults.
    pub(crate) fn deflate(self) -> Option<&'a str> {
        self.spec().deflate.as_deref()
    }

    /// The name of the conversation that is held.
    pub(crate) fn conversation(self) -> Option<&'a str> {
        self.spec().conversation.as_ref().map(|held| held.name.as_str())
    }

    pub(crate) fn size_bytes(self) -> u64 {
        self.workload.size_bytes
    }

    /// `64 B`, `1 KiB`: as it was asked for, to the last byte.
    pub(crate) fn size(self) -> String {
        Bytes(self.size_bytes()).to_string()
    }

    /// `64 B binary`, `1.0 KiB text (JSON)`, `GET`: requests without a body are shown as their method.
    pub(crate) fn message(self) -> String {
        if let Some(name) = self.conversation() {
            return format!("conversation {name}");
        }
        if self.spec().message.content == Content::Nothing {
            return self.spec().http.method.clone();
        }
        let kind = if self.spec().message.text { "text" } else { "binary" };
        let holds = self.payload().map_or_else(String::new, |payload| format!(" ({payload})"));
        format!("{} {kind}{holds}", self.size())
    }

    /// The content of a payload that is not random.
    pub(crate) fn payload(self) -> Option<&'static str> {
        match self.spec().message.content.kind()? {
            PayloadKind::Zero => Some("zeros"),
            PayloadKind::Json => Some("JSON"),
            PayloadKind::Text => Some("words"),
            PayloadKind::Random => None,
        }
    }

    /// `1.3, TLS13_AES_256_GCM_SHA384, X25519MLKEM768, verified`, and the numbers of full and resumed handshakes;
    /// `None` without any.
    pub(crate) fn tls(self, blocks: &[&Block]) -> Option<(String, u64, u64)> {
        self.spec().tls.as_ref()?;
        let all = || blocks.iter().filter_map(|block| block.tls.as_ref());
        let first = all().next()?;
        let verified = if self.spec().is_verified() { "verified" } else { "NOT verified" };
        let alpn = first.alpn.as_ref().map(|alpn| format!("ALPN {alpn}"));
        let parts = [Some(&first.version), Some(&first.suite), first.group.as_ref(), alpn.as_ref()];
        let facts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        let full = all().fold(0, |sum: u64, seen| sum.saturating_add(seen.full));
        let resumed = all().fold(0, |sum: u64, seen| sum.saturating_add(seen.resumed));
        Some((format!("{}, {verified}", facts.join(", ")), full, resumed))
    }

    pub(crate) fn is_encrypted(self) -> bool {
        self.spec().tls.is_some()
    }

    pub(crate) fn warm_up(self) -> String {
        number::nanos(self.spec().phases.warm_up.0)
    }

    /// `of 500 ms`, `of 1000 clients`: the length of a block.
    pub(crate) fn length(self) -> String {
        match self.spec().phases.stop {
            Stop::After(time) => format!("of {}", number::nanos(time.0)),
            Stop::Messages(count) => format!("of {}", number::counted(count, "message")),
            Stop::Clients(count) => format!("of {}", number::counted(count, "client")),
        }
    }

    /// `50 connections, one message in flight on each`; `2.00 k/s due at equal distances over 50 connections`.
    pub(crate) fn load(self) -> String {
        let load = &self.spec().load;
        let outstanding = load
            .in_flight_max()
            .map_or_else(String::new, |max| format!(", {max} outstanding at most"));
        let connections = self.connections();
        let rate = load.due_per_s().map_or_else(String::new, number::per_second);
        let schedule = match load {
            Load::Closed { .. } | Load::Clients { .. } => return self.closed_load(),
            Load::Open { spacing, .. } => {
                let connections = number::counted(connections, "connection");
                format!("{rate} due {} over {connections}", spaced(*spacing))
            }
            Load::Bots { every, spacing, .. } => {
                let (every, spacing) = (number::nanos(every.0), spaced(*spacing));
                let bots = number::counted(connections, "bot");
                format!("{bots}, each a message every {every} {spacing}")
            }
            Load::ClosedBots { think, .. } => {
                let think = number::nanos(think.0);
                let bots = number::counted(connections, "bot");
                format!("{bots}, each a message {think} after the reply to its last")
            }
            Load::Publish { rooms, spacing, .. } => {
                rooms_load(*rooms, &rate, *spacing, &self.publishing(), self.restart_of())
            }
            Load::Sessions { messages_each, spacing, think, .. } => {
                let (spacing, think) = (spaced(*spacing), number::nanos(think.0));
                format!(
                    "partly open: {rate} sessions of {messages_each} messages due {spacing}, think time {think}, \
                     {connections} at a time at most"
                )
            }
        };
        format!("{schedule}{outstanding}")
    }

    /// ` to tcp://127.0.0.1:6379`: the path of published messages, where it is not that of receivers; else empty.
    fn publishing(self) -> String {
        let spec::Workload { publish_to, publish_with, .. } = self.spec();
        let to = publish_to.as_ref().map(|url| format!(" to {url}"));
        let with = publish_with.as_ref().map(|command| format!(" by `{command}`"));
        to.or(with).unwrap_or_default()
    }

    fn closed_load(self) -> String {
        let flight = match self.spec().load.in_flight().get() {
            1 => "one message in flight".to_owned(),
            count => format!("{count} messages in flight"),
        };
        let bound = self
            .spec()
            .load
            .in_flight_max()
            .map_or_else(String::new, |max| format!(", {max} on all at most"));
        match (self.round_trips(), self.connections()) {
            (None, 1) => format!("1 connection, {flight}{bound}"),
            (None, connections) => format!("{connections} connections, {flight} on each{bound}"),
            (Some(each), connections) => {
                let clients = number::counted(connections, "client");
                format!("{clients} at a time, {} each", number::counted(each, "round trip"))
            }
        }
    }

    /// `50 connections, one message in flight`: the load that the numbers of a comparison apply to.
    pub(crate) fn condition(self) -> String {
        let work = self.work().map(|work| format!(", {work} of work for each message"));
        self.load().replacen(" on each", "", 1) + &work.unwrap_or_default()
    }

    /// The time that its server works before each reply; `None` for an echo, and for a server that has its own work.
    pub(crate) fn work(self) -> Option<Nanos> {
        self.spec().server.answer().work
    }

    /// True if it has the messages and the load of `other`, whatever work their servers do.
    pub(crate) fn is_asked_the_same(self, other: Self) -> bool {
        self.message() == other.message() && self.load() == other.load()
    }

    /// The rate that was asked for; for sessions, the rate of sessions.
    pub(crate) fn asked(self) -> String {
        let load = &self.spec().load;
        let sessions = if matches!(load, Load::Sessions { .. }) { " sessions" } else { "" };
        let rate = |rate| format!("{}{sessions}", number::per_second(rate));
        load.due_per_s().map_or_else(|| MISSING.to_owned(), rate)
    }

    /// Messages a second if as many bots each send one every `every_ns`.
    pub(crate) fn regular_per_s(self, every_ns: u64) -> f64 {
        number::float(self.connections()) * 1e9 / number::float(every_ns)
    }

    /// The memory of the server for each receiver of rooms ([`record::Workload::receiver_memory`]).
    pub(crate) fn receiver_memory(
        self,
        block: &Block,
    ) -> Option<Result<ReceiverMemory, &'static str>> {
        self.workload.receiver_memory(block)
    }

    /// The times that results are made of: response times of open loops, round trips of closed ones, and the lives of
    /// short-lived clients.
    pub(crate) fn times(self, block: &Block) -> Option<&Summary> {
        self.workload.times(block)
    }

    /// The length of the measured window of a block, in seconds; for a failed block at least the planned length.
    pub(crate) fn seconds(self, block: &Block) -> f64 {
        self.workload.seconds(block)
    }

    /// [`Row::times`] of all blocks together.
    pub(crate) fn merged(self, result: &WorkloadResult) -> Option<&Summary> {
        if self.is_closed() { result.round_trip.as_ref() } else { result.response.as_ref() }
    }

    /// True if messages are published in rooms: then deliveries take the place of replies.
    pub(crate) fn publishes(self) -> bool {
        self.spec().load.rooms().is_some()
    }

    /// The name of those times of an open loop that are called `name` elsewhere.
    pub(crate) fn time_called(self, name: &'static str) -> &'static str {
        match name {
            "response" if self.publishes() => "delivery",
            "service" if self.publishes() => "acknowledged",
            name => name,
        }
    }

    /// The name, in the plural, of the times that results are made of.
    pub(crate) fn time_words(self) -> &'static str {
        match self.round_trips() {
            _ if self.publishes() => "delivery times",
            _ if !self.is_closed() => "response times",
            None => "round trips",
            Some(_) => "times are whole lives of clients",
        }
    }

    /// The same in the singular, e.g. `round trip`.
    pub(crate) fn time_word(self) -> &'static str {
        match self.round_trips() {
            _ if self.publishes() => "delivery time",
            _ if !self.is_closed() => "response time",
            None => "round trip",
            Some(_) => "life",
        }
    }

    /// The name of the time by which rows of a lab are compared ([`crate::measured::message_ns`]).
    pub(crate) fn compared_time(self) -> &'static str {
        match self.round_trips() {
            _ if self.publishes() => "p50 delivery time",
            _ if !self.is_closed() => "p50 response time",
            None => "p50 round trip",
            Some(_) => "p50 life",
        }
    }
}

/// `4 rooms, each 1 publisher and 100 receivers, 40 /s published in all at equal distances`.
fn rooms_load(
    rooms: Rooms,
    rate: &str,
    spacing: Spacing,
    elsewhere: &str,
    restart_of: Option<&str>,
) -> String {
    let several = |count: u32, one: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
    let Rooms { count, publishers, receivers, conduct } = rooms;
    let each = if count.get() == 1 { "with" } else { "each with" };
    let Conduct { slow, away, storm, restart } = conduct;
    let mut receivers = several(receivers.get(), "receiver");
    if slow > 0 {
        receivers.push_str(&format!(", {slow} of them slow"));
    }
    if let Some(away) = away {
        receivers.push_str(&format!(", each away {away}"));
    }
    if let Some(storm) = storm {
        receivers.push_str(&format!(", all torn off after {storm}"));
    }
    if let Some(restart) = restart {
        let killed = restart_of.unwrap_or("the server");
        receivers.push_str(&format!(", {killed} killed and started again after {restart}"));
    }
    format!(
        "{}, {each} {} and {receivers}, {rate} published in all{elsewhere} {}",
        several(count.get(), "room"),
        several(publishers.get(), "publisher"),
        spaced(spacing),
    )
}

fn spaced(spacing: Spacing) -> &'static str {
    match spacing {
        Spacing::Uniform => "at equal distances",
        Spacing::Phases => "from a random phase on",
        Spacing::Poisson => "at random (Poisson)",
    }
}

/// `3.40 : 1`.
pub(crate) fn compression(ratio: f64) -> String {
    format!("{} : 1", number::three(ratio))
}
