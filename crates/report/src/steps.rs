//! Steps of a sweep: which of them a line carried, and the bytes of an event at one.

use crate::layers::signed;
use crate::number::{self, Unit};
use record::{Block, Capacity, Knee, Level, RunRecord, Split, Sweep, SweepStep};

/// Bytes of an event, both directions, by how much of the path is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct EventBytes {
    pub(crate) payload: f64,
    pub(crate) encoded: f64,
    pub(crate) stream: f64,
    pub(crate) with_tcp_ip: Option<f64>,
    pub(crate) interface: Option<f64>,
}

/// The steps of one line.
pub(crate) fn of_line(sweep: &Sweep, line: usize) -> impl Iterator<Item = &SweepStep> {
    sweep.steps.iter().filter(move |step| step.line == line)
}

/// The step of a line with the largest load that it carried; without a knee, its largest step.
pub(crate) fn last_carried(sweep: &Sweep, line: usize) -> Option<&SweepStep> {
    let bound = match sweep.lines.get(line)?.knee {
        Knee::Found { low_per_s, .. } => low_per_s,
        Knee::NotReached { offered_max_per_s, .. } => offered_max_per_s,
    };
    of_line(sweep, line)
        .filter(|step| step.offered_per_s <= bound * 1.000_001)
        .max_by(|one, other| one.offered_per_s.total_cmp(&other.offered_per_s))
}

/// Steps of two lines at the same load, below both knees, by load; without invalid ones.
pub(crate) fn carried_by_both(sweep: &Sweep, lines: [usize; 2]) -> Vec<[&SweepStep; 2]> {
    let bounds = lines.map(|line| last_carried(sweep, line).map_or(0.0, |it| it.offered_per_s));
    let bound = bounds[0].min(bounds[1]) * 1.000_001;
    let is_same = |one: &SweepStep, other: &SweepStep| {
        (one.offered_per_s / other.offered_per_s - 1.0).abs() < 0.001
    };
    let mut pairs: Vec<[&SweepStep; 2]> = of_line(sweep, lines[0])
        .filter(|step| step.offered_per_s <= bound)
        .filter_map(|one| Some([one, of_line(sweep, lines[1]).find(|other| is_same(one, other))?]))
        .filter(|pair| pair.iter().all(|step| step.level < Level::Invalid))
        .collect();
    pairs.sort_by(|one, other| one[0].offered_per_s.total_cmp(&other[0].offered_per_s));
    pairs
}

/// `2.10 k/s [2.08, 2.12]`, `between 1.50 k/s and 2.12 k/s` if it is not confirmed, or `above 2.12 k/s` if it was not
/// reached.
pub(crate) fn knee_words(knee: &Knee) -> String {
    match *knee {
        Knee::Found { offered_per_s, low_per_s, high_per_s, confirmed: true } => {
            number::interval(Unit::Rate, offered_per_s, Some((low_per_s, high_per_s)))
        }
        Knee::Found { low_per_s, high_per_s, .. } => {
            let [low, high] = [low_per_s, high_per_s].map(number::per_second);
            format!("between {low} and {high}")
        }
        Knee::NotReached { offered_max_per_s, .. } => {
            format!("above {}", number::per_second(offered_max_per_s))
        }
    }
}

/// `2.10 k/s`, or `between 1.50 k/s and 2.12 k/s` where the largest load within the objective is not known better.
pub(crate) fn capacity_words(capacity: &Capacity) -> String {
    let Capacity { offered_per_s, low_per_s, high_per_s, confirmed, .. } = *capacity;
    match high_per_s.filter(|_| !confirmed) {
        Some(high) => {
            let [low, high] = [low_per_s, high].map(number::per_second);
            format!("between {low} and {high}")
        }
        None => number::per_second(offered_per_s),
    }
}

/// `bends at 2.10 k/s [2.08, 2.12] (confirmed)`, or `bends somewhere between 1.50 k/s and 2.12 k/s (not confirmed)`.
pub(crate) fn bends(knee: &Knee, confirmed: bool) -> String {
    let (at, is) = if confirmed { ("at", "confirmed") } else { ("somewhere", "not confirmed") };
    format!("bends {at} {} ({is})", knee_words(knee))
}

/// The bytes of an event of each line at the last step that it carried.
pub(crate) fn event_bytes(record: &RunRecord, sweep: &Sweep) -> Vec<(String, EventBytes)> {
    let of = |(index, line): (usize, &record::SweepLine)| {
        Some((line.name.clone(), bytes(record, last_carried(sweep, index)?)?))
    };
    sweep.lines.iter().enumerate().filter_map(of).collect()
}

/// The bytes of an event at `step`: those of its blocks divided by their replies.
pub(crate) fn bytes(record: &RunRecord, step: &SweepStep) -> Option<EventBytes> {
    let blocks: Vec<&Block> =
        step.blocks.iter().filter_map(|index| record.blocks.get(*index)).collect();
    let seconds = |block: &Block| number::float(block.measured_ns) / 1e9;
    let replies: f64 = blocks.iter().map(|block| block.messages_per_s * seconds(block)).sum();
    let splits: Option<Vec<[Split; 2]>> =
        blocks.iter().map(|block| Some([block.wire.sent?, block.wire.received?])).collect();
    let splits = splits.filter(|all| !all.is_empty() && replies > 0.0)?.concat();
    let sum = |of: fn(&Split) -> f64| splits.iter().map(of).sum::<f64>() / replies;
    let payload = sum(|split| number::float(split.payload_bytes));
    let encoded = payload + sum(|split| signed(split.encoding_bytes));
    let stream =
        encoded + sum(|split| number::float(split.framing_bytes.saturating_add(split.tls_bytes)));
    let is_known = splits.iter().all(|split| split.tcp_ip_estimated_bytes.is_some());
    let tcp_ip = sum(|split| number::float(split.tcp_ip_estimated_bytes.unwrap_or(0)));
    Some(EventBytes {
        payload,
        encoded,
        stream,
        with_tcp_ip: is_known.then_some(stream + tcp_ip),
        interface: step.interface_bytes_per_s.map(|rate| rate / step.achieved_per_s.value),
    })
}
