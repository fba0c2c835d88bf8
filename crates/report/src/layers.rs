//! What layers add to a message, and which of its bytes are whose: two tables under that of the ladder.

use crate::escape::{columns, cut, escape};
use crate::number::{self, MISSING};
use crate::page::{Page, Tone};
use crate::verdict;
use record::{Added, Block, Estimate, RunRecord, Split, Verdict, Wire};

/// A row for each layer: CPU time, round trip and bytes of a rung, less those of the rung that it is with a layer more.
pub(crate) fn added(page: &mut Page, record: &RunRecord, verdict: &Verdict) {
    let rows: Vec<(String, &Added)> =
        record.added.iter().filter_map(|added| Some((equation(record, added)?, added))).collect();
    if rows.is_empty() {
        return;
    }
    page.blank();
    for (left, times, bytes) in [
        ("what a layer adds", ["CPU, us/message", "round trip p50, us"], "bytes each"),
        ("rung = base + layer", ["[95 % interval]"; 2], "out    in"),
    ] {
        let [cpu, round_trip] = times;
        let line = format!("{left:EQUATION$}{cpu:>CELL$} {round_trip:>CELL$}{bytes:>13}");
        page.line(Tone::Strong, &line);
    }
    for (equation, added) in rows {
        let forbidden =
            [added.workload, added.base].iter().any(|index| verdict::forbids(verdict, *index));
        let cells = match forbidden {
            true => format!("{:>CELL$}", "invalid"),
            false => cells(added),
        };
        if columns(&equation) > EQUATION {
            page.line(Tone::Plain, &equation);
            page.line(Tone::Plain, &format!("{:EQUATION$}{cells}", ""));
        } else {
            let gap = " ".repeat(EQUATION - columns(&equation));
            page.line(Tone::Plain, &format!("{equation}{gap}{cells}"));
        }
    }
}

/// `wss = ws + TLS`; `None` for what the plan does not have.
fn equation(record: &RunRecord, added: &Added) -> Option<String> {
    let name = |index: usize| Some(record.plan.workloads.get(index)?.name.as_str());
    let (whole, base) = (name(added.workload)?, name(added.base)?);
    // What both names end in, a load, is said once.
    let load = whole.rsplit_once(" @ ").map(|(_, load)| format!(" @ {load}"));
    let base = load.and_then(|load| base.strip_suffix(&load)).unwrap_or(base);
    Some(format!("{} = {} + {}", escape(whole), escape(base), escape(&added.layer)))
}

fn cells(added: &Added) -> String {
    let time = |estimate: Option<Estimate>, unit_us: f64| {
        estimate.map_or_else(|| MISSING.to_owned(), |estimate| difference(estimate, unit_us))
    };
    let bytes = |bytes: Option<f64>| bytes.map_or_else(|| MISSING.to_owned(), number::more_bytes);
    format!(
        "{:>CELL$} {:>CELL$}{:>7}{:>6}",
        time(added.cpu_us_per_message, 1.0),
        time(added.round_trip_p50_ns, 1e-3),
        bytes(added.sent_bytes_per_message),
        bytes(added.received_bytes_per_message),
    )
}

/// `+1.90 [1.70, 2.10]`, in microseconds.
fn difference(estimate: Estimate, unit_us: f64) -> String {
    let interval = interval(estimate);
    match interval {
        Some((low, high)) if low <= 0.0 && high >= 0.0 => "no difference shown".to_owned(),
        Some(_) | None => {
            let interval = interval.map(|(low, high)| (low * unit_us, high * unit_us));
            number::difference_cell(estimate.value * unit_us, interval)
        }
    }
}

pub(crate) fn interval(estimate: Estimate) -> Option<(f64, f64)> {
    estimate.low.zip(estimate.high)
}

/// How wide the left sides of the rows of [`added`] are.
const EQUATION: usize = 26;
/// How wide the cells with an interval are: as no [`number::difference_cell`] is wider.
const CELL: usize = number::DIFFERENCE_CELL_MAX;

/// A row for each rung: bytes of a message in both directions by layer. What is nothing is left blank, and a layer that
/// is nothing everywhere has no column.
pub(crate) fn bytes(page: &mut Page, record: &RunRecord) {
    let rows: Vec<(&str, [Parts; 2])> = record
        .plan
        .workloads
        .iter()
        .enumerate()
        .filter_map(|(index, workload)| {
            let good = |block: &&Block| block.workload == index && block.failed.is_none();
            let blocks: Vec<&Block> = record.blocks.iter().filter(good).collect();
            Some((workload.name.as_str(), directions(&blocks)?))
        })
        .collect();
    let is_used = |column: &usize| {
        let all = rows.iter().flat_map(|(_, parts)| parts);
        all.filter_map(|parts| parts[*column]).any(|bytes| !is_nothing(bytes))
    };
    let used: Vec<usize> = (0..LAYERS.len()).filter(is_used).collect();
    if used.is_empty() {
        return;
    }
    page.blank();
    let names = used.iter().map(|column| format!("{:>PAIR$}", LAYERS[*column]));
    page.line(Tone::Strong, &format!("{:NAME$}{}", "bytes/message", names.collect::<String>()));
    let sides = used.iter().map(|_| format!("{:>PAIR$}", "out    in"));
    page.line(Tone::Strong, &format!("{:NAME$}{}", "rung", sides.collect::<String>()));
    for (name, [sent, received]) in &rows {
        let name = cut(&escape(name), NAME);
        let mut row = format!("{name}{}", " ".repeat(NAME - columns(&name)));
        for column in &used {
            row += &format!("{:>7}{:>6}", part(sent[*column]), part(received[*column]));
        }
        page.line(Tone::Plain, &row);
    }
    unknown(page, record);
}

/// Why what TCP and IP add is not known; rungs with the same reason share a line.
fn unknown(page: &mut Page, record: &RunRecord) {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for (index, workload) in record.plan.workloads.iter().enumerate() {
        let mut of_rung = record.blocks.iter().filter(|block| block.workload == index);
        let Some(reason) = of_rung.find_map(|block| without_tcp_ip(&block.wire)) else { continue };
        match all.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(&workload.name),
            None => all.push((reason, vec![&workload.name])),
        }
    }
    for (reason, names) in all {
        let text = format!("{reason} ({})", names.join(", "));
        page.remark(Tone::Plain, &format!("{MISSING} TCP/IP:"), &text);
    }
}

/// Why what TCP and IP add is not known, where it is not.
pub(crate) fn without_tcp_ip(wire: &Wire) -> Option<&str> {
    wire.missing.get("tcp_ip_estimated_bytes").map(String::as_str)
}

/// Blank for nothing.
fn part(bytes: Option<f64>) -> String {
    match bytes {
        None => MISSING.to_owned(),
        Some(bytes) if is_nothing(bytes) => String::new(),
        Some(bytes) => number::few_bytes(bytes),
    }
}

/// Less than messages at the edges of the measurement make of nothing.
fn is_nothing(bytes: f64) -> bool {
    number::few_bytes(bytes) == "0"
}

/// Bytes of a message by layer, in the order of [`LAYERS`]; `None`: not known.
pub(crate) type Parts = [Option<f64>; LAYERS.len()];

/// The layers of a message's bytes, from the inside out; the last of them is no part of the stream.
pub(crate) const LAYERS: [&str; 5] = ["payload", "encoding", "framing", "TLS", "TCP/IP"];

/// Sent and received, means of the blocks that know it; `None` if none does.
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

/// The share of one message; `None` if there were no bytes.
fn parts(split: Split, bytes: u64, per_message: f64) -> Option<Parts> {
    let messages = number::float(bytes) / per_message;
    let share = |part: f64| part / messages;
    let Split { payload_bytes, encoding_bytes, framing_bytes, tls_bytes, tcp_ip_estimated_bytes } =
        split;
    let encoding = number::float(encoding_bytes.unsigned_abs());
    let encoding = if encoding_bytes < 0 { -encoding } else { encoding };
    (bytes > 0 && messages.is_finite()).then(|| {
        [
            Some(share(number::float(payload_bytes))),
            Some(share(encoding)),
            Some(share(number::float(framing_bytes))),
            Some(share(number::float(tls_bytes))),
            // An estimate has no tenths.
            tcp_ip_estimated_bytes.map(|bytes| share(number::float(bytes)).round()),
        ]
    })
}

/// `92 B = payload 64 + framing 6 + TLS 22; TCP/IP about 52`: one direction in a sentence.
pub(crate) fn sum(parts: &Parts, total: f64) -> String {
    let mut text = format!("{} B =", number::exact_bytes(total));
    for (layer, bytes) in LAYERS.iter().zip(&parts[..4]) {
        let Some(bytes) = bytes.filter(|bytes| !is_nothing(*bytes)) else { continue };
        let sign = match (text.ends_with('='), bytes < 0.0) {
            (_, true) => " -",
            (true, false) => "",
            (false, false) => " +",
        };
        text += &format!("{sign} {layer} {}", number::exact_bytes(bytes.abs()));
    }
    if let Some(bytes) = parts[4] {
        text += &format!("; TCP/IP about {}", number::exact_bytes(bytes));
    }
    text
}

/// How wide the names of rungs are.
const NAME: usize = 13;
/// How wide the two numbers of a layer are.
const PAIR: usize = 13;
