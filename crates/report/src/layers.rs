//! The costs that layers add to a message, and the split of its bytes by layer.

use crate::document::{Cell, Column, Table};
use crate::number::{self, MISSING, Unit};
use crate::{row, verdict};
use record::{Added, Block, Estimate, Kind, RunRecord, Split, Verdict, Wire};

/// A row for each layer: CPU time, round trip and bytes of a rung, less those of the same rung without the layer.
pub(crate) fn added(record: &RunRecord, verdict: &Verdict) -> Table {
    let mut table = Table::new(
        "What a layer adds [95 % interval]",
        vec![
            Column::new("rung = base + layer", Unit::Words),
            Column::new("CPU of both", Unit::Cpu),
            Column::new("round trip p50", Unit::Time),
            Column::new("bytes out", Unit::MessageBytes),
            Column::new("bytes in", Unit::MessageBytes),
        ],
    );
    for added in &record.added {
        let Some(equation) = equation(record, added) else { continue };
        let bytes =
            |bytes: Option<f64>| bytes.map_or(Cell::Missing, |bytes| Cell::Difference(bytes, None));
        let ends = [added.workload, added.base];
        let cells = match ends.iter().any(|index| verdict::forbids(verdict, *index)) {
            true => vec![Cell::words("invalid"), Cell::Blank, Cell::Blank, Cell::Blank],
            false => vec![
                difference(added.cpu_us_per_message),
                difference(added.round_trip_p50_ns),
                bytes(added.sent_bytes_per_message),
                bytes(added.received_bytes_per_message),
            ],
        };
        let level = ends.iter().map(|index| verdict.row(*index).level).max().unwrap_or_default();
        table.row([vec![Cell::words(equation).judged(level)], cells].concat());
    }
    table.noted([
        "CPU of generator and server together is what a layer costs. The round trip is that of the closed loop: with \
         many in flight, most of its growth is queueing."
            .to_owned(),
    ])
}

/// `wss = ws + TLS`; `None` for what the plan does not have.
fn equation(record: &RunRecord, added: &Added) -> Option<String> {
    let name = |index: usize| Some(row::row(record, index)?.name());
    let (whole, base) = (name(added.workload)?, name(added.base)?);
    // The common end of both names, a load, is written once.
    let load = whole.rsplit_once(" @ ").map(|(_, load)| format!(" @ {load}"));
    let base = load.and_then(|load| base.strip_suffix(&load)).unwrap_or(base);
    Some(format!("{whole} = {base} + {}", added.layer))
}

fn difference(estimate: Option<Estimate>) -> Cell {
    let Some(estimate) = estimate else { return Cell::Missing };
    match estimate.low.zip(estimate.high) {
        Some((low, high)) if low <= 0.0 && high >= 0.0 => Cell::words("no difference shown"),
        interval => Cell::Difference(estimate.value, interval),
    }
}

/// A row for each rung: bytes of a message in both directions by layer, and the requests that a session made for it. A
/// layer that adds nothing is left blank, and one that adds nothing anywhere has no column.
pub(crate) fn bytes(record: &RunRecord) -> Table {
    let head = if record.kind == Kind::Ladder { "rung" } else { "row" };
    let mut columns = vec![Column::new(head, Unit::Words)];
    for layer in LAYERS {
        let heads = [format!("{layer} out"), "in".to_owned()];
        columns.extend(heads.map(|head| Column::new(head, Unit::MessageBytes)));
    }
    columns.push(Column::new("requests", Unit::Plain));
    let mut table = Table::new("Bytes of a message by layer", columns);
    let mut unknown: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in row::all(record) {
        let good = |block: &&Block| block.workload == row.index && block.failed.is_none();
        let blocks: Vec<&Block> = record.blocks.iter().filter(good).collect();
        let Some([sent, received]) = directions(&blocks) else { continue };
        let both = sent.into_iter().zip(received).flat_map(|(sent, received)| [sent, received]);
        let cell = |bytes: Option<f64>| match bytes {
            Some(bytes) if is_nothing(bytes) => Cell::Blank,
            bytes => Cell::number(bytes),
        };
        let requests = requests(&blocks).map_or(Cell::Blank, |each| Cell::number(Some(each)));
        let name = Cell::words(row.name());
        table.row([name].into_iter().chain(both.map(cell)).chain([requests]).collect());
        let reason = blocks.iter().find_map(|block| without_tcp_ip(&block.wire));
        match reason.map(|reason| (unknown.iter_mut().find(|(known, _)| *known == reason), reason))
        {
            Some((Some((_, names)), _)) => names.push(row.name()),
            Some((None, reason)) => unknown.push((reason, vec![row.name()])),
            None => {}
        }
    }
    let note = |(reason, names): (&str, Vec<&str>)| {
        format!("{MISSING} TCP/IP: {reason} ({})", names.join(", "))
    };
    let notes: Vec<String> = unknown.into_iter().map(note).collect();
    table.noted(notes)
}

/// The reason why the bytes that TCP and IP add are not known.
pub(crate) fn without_tcp_ip(wire: &Wire) -> Option<&str> {
    wire.missing.get("tcp_ip_estimated_bytes").map(String::as_str)
}

/// True if it is shown as 0: messages at the edges of the measurement can leave that much.
fn is_nothing(bytes: f64) -> bool {
    number::message_bytes(bytes) == "0"
}

/// Bytes of a message by layer, in the order of [`LAYERS`]; `None`: not known.
pub(crate) type Parts = [Option<f64>; LAYERS.len()];

/// The layers of a message's bytes, from the inside out; the last of them is not part of the stream.
pub(crate) const LAYERS: [&str; 5] = ["payload", "encoding", "framing", "TLS", "TCP/IP"];

/// Sent and received, as means of the blocks that have them; `None` if none has.
pub(crate) fn directions(blocks: &[&Block]) -> Option<[Parts; 2]> {
    let mean = |of: fn(&Wire) -> Option<Parts>| {
        let known: Vec<Parts> = blocks.iter().filter_map(|block| of(&block.wire)).collect();
        (!known.is_empty()).then(|| -> Parts {
            std::array::from_fn(|layer| {
                let values: Vec<f64> = known.iter().filter_map(|parts| parts[layer]).collect();
                let count = number::float(values.len() as u64);
                (!values.is_empty()).then(|| values.iter().sum::<f64>() / count)
            })
        })
    };
    Some([
        mean(|wire| parts(wire.sent?, wire.sent_bytes, wire.sent_bytes_per_message?))?,
        mean(|wire| parts(wire.received?, wire.received_bytes, wire.received_bytes_per_message?))?,
    ])
}

/// Requests that sessions over HTTP made for each message, the mean of the blocks; `None` if they made none.
pub(crate) fn requests(blocks: &[&Block]) -> Option<f64> {
    let each = |block: &&Block| {
        let Wire { requests, sent_bytes, sent_bytes_per_message, .. } = &block.wire;
        let messages = number::float(*sent_bytes) / (*sent_bytes_per_message)?;
        let requests = requests.filter(|count| *count > 0)?;
        messages.is_finite().then(|| number::float(requests) / messages)
    };
    let known: Vec<f64> = blocks.iter().filter_map(each).collect();
    let count = number::float(known.len() as u64);
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / count)
}

/// The share of one message; `None` if there were no bytes.
fn parts(split: Split, bytes: u64, per_message: f64) -> Option<Parts> {
    let messages = number::float(bytes) / per_message;
    let share = |part: f64| part / messages;
    let Split { payload_bytes, encoding_bytes, framing_bytes, tls_bytes, tcp_ip_estimated_bytes } =
        split;
    (bytes > 0 && messages.is_finite()).then(|| {
        [
            Some(share(number::float(payload_bytes))),
            Some(share(signed(encoding_bytes))),
            Some(share(number::float(framing_bytes))),
            Some(share(number::float(tls_bytes))),
            // An estimate has no tenths.
            tcp_ip_estimated_bytes.map(|bytes| share(number::float(bytes)).round()),
        ]
    })
}

/// A signed count as a float.
pub(crate) fn signed(count: i64) -> f64 {
    let size = number::float(count.unsigned_abs());
    if count < 0 { -size } else { size }
}

/// `92 B = payload 64 + framing 6 + TLS 22; TCP/IP about 52`: one direction in a sentence.
pub(crate) fn sum(parts: &Parts, total: f64) -> String {
    let mut text = format!("{} B =", number::message_bytes(total));
    for (layer, bytes) in LAYERS.iter().zip(&parts[..4]) {
        let Some(bytes) = bytes.filter(|bytes| !is_nothing(*bytes)) else { continue };
        let sign = match (text.ends_with('='), bytes < 0.0) {
            (_, true) => " -",
            (true, false) => "",
            (false, false) => " +",
        };
        text += &format!("{sign} {layer} {}", number::message_bytes(bytes.abs()));
    }
    if let Some(bytes) = parts[4] {
        text += &format!("; TCP/IP about {}", number::message_bytes(bytes));
    }
    text
}
