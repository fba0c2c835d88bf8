//! What workloads are called in sentences.

use crate::number;
use record::{Arrival, Block, Lifetime, MessageKind, PayloadKind, Spacing, Workload};
use units::Bytes;

/// What it is called in a sentence: rungs of the ladder have a name for people, others their own.
pub(crate) fn name(workload: &Workload) -> &str {
    match workload.name.as_str() {
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

/// `64 B`, `1 KiB`: as it was asked for, to the last byte.
pub(crate) fn size(workload: &Workload) -> String {
    Bytes(workload.message.size_bytes).to_string()
}

/// `64 B binary`, `1.0 KiB text (JSON)`.
pub(crate) fn message(workload: &Workload) -> String {
    let kind = match workload.message.kind {
        MessageKind::Binary => "binary",
        MessageKind::Text => "text",
    };
    let holds = workload.message.payload_kind.filter(|kind| *kind != PayloadKind::Random);
    let holds = holds.map_or_else(String::new, |kind| format!(" ({})", payload(kind)));
    format!("{} {kind}{holds}", size(workload))
}

/// What a payload holds.
pub(crate) fn payload(kind: PayloadKind) -> &'static str {
    match kind {
        PayloadKind::Zero => "zeros",
        PayloadKind::Json => "JSON",
        PayloadKind::Text => "words",
        PayloadKind::Random => "random bytes",
    }
}

/// `3.40 : 1`.
pub(crate) fn compression(ratio: f64) -> String {
    format!("{} : 1", number::three(ratio))
}

/// `1.3, TLS13_AES_256_GCM_SHA384, X25519MLKEM768, verified`, and how many handshakes were full and resumed; `None`
/// without any.
pub(crate) fn tls(workload: &Workload, blocks: &[&Block]) -> Option<(String, u64, u64)> {
    let asked = workload.tls.as_ref()?;
    let all = || blocks.iter().filter_map(|block| block.tls.as_ref());
    let first = all().next()?;
    let verified = if asked.verified { "verified" } else { "NOT verified" };
    let alpn = first.alpn.as_ref().map(|alpn| format!("ALPN {alpn}"));
    let parts = [Some(&first.version), Some(&first.suite), first.group.as_ref(), alpn.as_ref()];
    let facts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    let full = all().fold(0, |sum: u64, seen| sum.saturating_add(seen.full));
    let resumed = all().fold(0, |sum: u64, seen| sum.saturating_add(seen.resumed));
    Some((format!("{}, {verified}", facts.join(", ")), full, resumed))
}

/// `50 connections, one message in flight on each`; `2.00 k/s due at equal distances over 50 connections`.
pub(crate) fn load(workload: &Workload) -> String {
    let outstanding = workload
        .in_flight_max
        .map_or_else(String::new, |max| format!(", {max} outstanding at most"));
    let connections = workload.connections;
    let schedule = match workload.arrival {
        Arrival::Closed => return closed_loop(workload),
        Arrival::Open { messages_per_s, spacing } => {
            let (rate, spacing) = (number::per_second(messages_per_s), spaced(spacing));
            format!("{rate} due {spacing} over {connections} connections")
        }
        Arrival::Bots { every_ns, spacing } => {
            let (every, spacing) = (number::nanos(every_ns), spaced(spacing));
            format!("{connections} bots, each a message every {every} {spacing}")
        }
        Arrival::ClosedBots { think_ns } => {
            let think = number::nanos(think_ns);
            format!("{connections} bots, each a message {think} after the reply to its last")
        }
        Arrival::PartlyOpen { sessions_per_s, spacing, think_ns } => {
            let (rate, spacing) = (number::per_second(sessions_per_s), spaced(spacing));
            let each = match workload.lifetime {
                Lifetime::Long => String::new(),
                Lifetime::RoundTrips(each) => format!(" of {each} messages"),
            };
            let think = number::nanos(think_ns);
            format!(
                "partly open: {rate} sessions{each} due {spacing}, think time {think}, {connections} at a time at most"
            )
        }
    };
    format!("{schedule}{outstanding}")
}

fn spaced(spacing: Spacing) -> &'static str {
    match spacing {
        Spacing::Uniform => "at equal distances",
        Spacing::Phases => "from a random phase on",
        Spacing::Poisson => "at random (Poisson)",
    }
}

fn closed_loop(workload: &Workload) -> String {
    let flight = in_flight(workload);
    let bound =
        workload.in_flight_max.map_or_else(String::new, |max| format!(", {max} on all at most"));
    match (workload.lifetime, workload.connections) {
        (Lifetime::Long, 1) => format!("1 connection, {flight}{bound}"),
        (Lifetime::Long, connections) => {
            format!("{connections} connections, {flight} on each{bound}")
        }
        (Lifetime::RoundTrips(1), connections) => {
            format!("{connections} clients at a time, 1 round trip each")
        }
        (Lifetime::RoundTrips(each), connections) => {
            format!("{connections} clients at a time, {each} round trips each")
        }
    }
}

/// `one message in flight`.
fn in_flight(workload: &Workload) -> String {
    match workload.in_flight {
        1 => "one message in flight".to_owned(),
        count => format!("{count} messages in flight"),
    }
}

/// `50 connections, one message in flight`: what numbers of a comparison hold for.
pub(crate) fn condition(workload: &Workload) -> String {
    load(workload).replacen(" on each", "", 1)
}
