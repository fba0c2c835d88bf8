//! A single run: everything that was measured of one target, in one measurement or in several.

use crate::number::{self, MISSING};
use crate::page::{Page, Style, Tone};
use crate::{layers, notes, open_loop, steps, verdict, words};
use record::{
    Arrival, Block, Connections, Counts, ErrorCount, Estimate, Fairness, Lifetime, Little, Phases,
    Pushed, RunRecord, Stalls, Summary, Workload, WorkloadResult,
};

/// What a single run came to: response times or round trips, rates, counts, connections and their phases, cost, errors,
/// checks, and whether all that may be believed.
///
/// Works for any record; one with several workloads has a table of them, and a section for each.
pub fn run(record: &RunRecord, style: &Style) -> String {
    let verdict = verdict::of(record);
    let mut page = Page::new(style);
    notes::ended(&mut page, record);
    if record.plan.workloads.len() > 1 {
        page.blank();
        steps::table(&mut page, record, &verdict);
    }
    for (index, workload) in record.plan.workloads.iter().enumerate() {
        page.blank();
        section(&mut page, &Measured::of(record, index, workload));
    }
    page.blank();
    if record.blocks.len() > 1 {
        notes::checks(&mut page, record);
    }
    notes::warnings(&mut page, record);
    verdict::show(&mut page, record, &verdict);
    page.finish()
}

/// A workload with all that was measured of it.
struct Measured<'a> {
    workload: &'a Workload,
    blocks: Vec<&'a Block>,
    result: Option<&'a WorkloadResult>,
}

impl<'a> Measured<'a> {
    fn of(record: &'a RunRecord, index: usize, workload: &'a Workload) -> Self {
        Self {
            workload,
            blocks: record.blocks.iter().filter(|block| block.workload == index).collect(),
            result: record.results.iter().find(|result| result.workload == index),
        }
    }

    /// Its only block, if it has no other.
    fn only_block(&self) -> Option<&'a Block> {
        match self.blocks[..] {
            [block] => Some(block),
            _ => None,
        }
    }

    /// What the result merges of all blocks: round trips, or the lives of short-lived clients.
    fn merged(&self) -> Option<&'a Summary> {
        self.result?.round_trip.as_ref()
    }

    /// Whether messages are due by a schedule.
    fn is_open(&self) -> bool {
        !self.workload.arrival.is_closed()
    }

    /// Whether it is about clients that come and go. Sessions do so too, but what is measured of them are messages.
    fn is_short_lived(&self) -> bool {
        !self.is_open() && matches!(self.workload.lifetime, Lifetime::RoundTrips(_))
    }

    /// How long was measured in all.
    fn measured_ns(&self) -> u64 {
        self.blocks.iter().fold(0, |sum, block| sum.saturating_add(block.measured_ns))
    }
}

fn section(page: &mut Page, measured: &Measured<'_>) {
    let workload = measured.workload;
    page.line(Tone::Strong, &workload.target);
    let threads = match workload.threads {
        1 => "1 thread".to_owned(),
        count => format!("{count} threads"),
    };
    page.prose(
        Tone::Plain,
        &format!(
            "{}, {}, {threads}, {} measured",
            words::message(workload),
            words::load(workload),
            number::nanos(measured.measured_ns())
        ),
    );
    for block in &measured.blocks {
        if let Some(reason) = &block.failed {
            page.remark(Tone::Failed, "failed:", reason);
        }
    }
    page.blank();
    if measured.is_open() {
        let response = measured.result.and_then(|result| result.response.as_ref());
        open_loop::times(page, &measured.blocks, response);
        open_loop::rate(page, workload, &measured.blocks);
    } else {
        headline(page, measured);
        throughput(page, measured);
    }
    counts(page, measured);
    pushed(page, measured);
    if measured.is_open() {
        open_loop::outcomes(page, workload, &measured.blocks);
    }
    stalls(page, measured);
    fairness(page, measured);
    connections(page, measured);
    encryption(page, measured);
    phases(page, measured);
    cost(page, measured);
    errors(page, measured);
    if let Some(block) = measured.only_block().filter(|_| !measured.is_open()) {
        little(page, block);
    }
}

/// Round trips; for short-lived clients their lives too.
fn headline(page: &mut Page, measured: &Measured<'_>) {
    let of_block = measured.only_block().and_then(|block| block.round_trip.as_ref());
    if measured.is_short_lived() {
        percentiles(page, "life", measured.merged());
        percentiles(page, "round trip", of_block);
    } else {
        percentiles(page, "round trip", measured.merged().or(of_block));
    }
    match measured.workload.arrival {
        Arrival::ClosedBots { think_ns } => left_out(page, measured, think_ns),
        Arrival::Closed
        | Arrival::Open { .. }
        | Arrival::Bots { .. }
        | Arrival::PartlyOpen { .. } => {
            page.pair("response", "none: a closed loop has no schedule; --rate has one");
        }
    }
}

/// What bots that wait for their replies did not send: how far the loop has given way to the server.
fn left_out(page: &mut Page, measured: &Measured<'_>, think_ns: u64) {
    let bots = number::float(measured.workload.connections);
    let regular = bots * number::float(measured.measured_ns()) / number::float(think_ns.max(1));
    let sent = measured.blocks.iter().map(|block| number::float(block.counts.sent)).sum::<f64>();
    let share = number::percent((1.0 - sent / regular).max(0.0));
    page.pair("response", "none: these bots have no schedule; without --closed they have one");
    page.pair(
        "left out",
        &format!(
            "{share} of the {} messages that as many bots on a schedule send",
            number::three(regular)
        ),
    );
}

/// What came unasked, and what the published test shows of times.
fn pushed(page: &mut Page, measured: &Measured<'_>) {
    let all = || measured.blocks.iter().filter_map(|block| block.pushed);
    if all().next().is_none() {
        return;
    }
    let sum = |of: fn(Pushed) -> u64| all().fold(0_u64, |sum, it| sum.saturating_add(of(it)));
    let deliveries = sum(|pushed| pushed.deliveries);
    let seconds = number::float(measured.measured_ns()) / 1e9;
    let rate = number::per_second(number::float(deliveries) / seconds);
    let notices = sum(|pushed| pushed.notices);
    page.pair(
        "deliveries",
        &format!("{deliveries} to others at the table ({rate}), {notices} notices"),
    );
    if let Some((whole, exact)) =
        measured.only_block().and_then(|block| block.last_1000_mean_ms.zip(block.last_1000_mean_ns))
    {
        let exact = number::nanos(exact);
        page.pair("last 1000", &format!("mean {whole} ms as published, {exact} without rounding"));
    }
}

/// Percentiles, each with the reason if it is missing.
fn percentiles(page: &mut Page, mut label: &str, summary: Option<&Summary>) {
    let Some(summary) = summary else { return page.pair(label, "no reply was measured") };
    let percentiles = [
        ("p50", "p50_ns", summary.p50_ns),
        ("p90", "p90_ns", summary.p90_ns),
        ("p99", "p99_ns", summary.p99_ns),
        ("p99.9", "p99_9_ns", summary.p99_9_ns),
    ];
    for (name, field, value) in percentiles {
        let value = match (value, summary.missing.get(field)) {
            (Some(value), _) => number::nanos(value),
            (None, Some(reason)) => format!("{MISSING}  {reason}"),
            (None, None) => format!("{MISSING}  too few messages"),
        };
        page.pair(label, &format!("{name:<6} {value}"));
        label = "";
    }
    page.pair("", &format!("{:<6} {}", "max", number::nanos(summary.max_ns)));
    if summary.saturated > 0 {
        page.pair("", &format!("{} of them above one hour, shown as that", summary.saturated));
    }
}

fn throughput(page: &mut Page, measured: &Measured<'_>) {
    let median = measured.result.and_then(|result| result.medians.messages_per_s);
    let only = || measured.only_block().map(|block| number::per_second(block.messages_per_s));
    if let Some(rate) = median.map(|estimate| shown(estimate, number::per_second)).or_else(only) {
        page.pair("throughput", &rate);
    }
    if measured.is_short_lived() {
        let lives = measured.blocks.iter().filter_map(|block| block.phases.life.as_ref());
        let clients = lives.fold(0_u64, |sum, life| sum.saturating_add(life.count));
        let rate = number::float(clients) * 1e9 / number::float(measured.measured_ns());
        page.pair("clients", &format!("{} ({clients} served)", number::per_second(rate)));
    }
}

/// Two sums that add up, or that they do not.
fn counts(page: &mut Page, measured: &Measured<'_>) {
    let mut sum = Counts::default();
    for Counts { planned, sent, unsent, ok, error, timed_out, in_flight_at_end } in
        measured.blocks.iter().map(|block| block.counts)
    {
        for (total, part) in [
            (&mut sum.planned, planned),
            (&mut sum.sent, sent),
            (&mut sum.unsent, unsent),
            (&mut sum.ok, ok),
            (&mut sum.error, error),
            (&mut sum.timed_out, timed_out),
            (&mut sum.in_flight_at_end, in_flight_at_end),
        ] {
            *total = total.saturating_add(part);
        }
    }
    let Counts { planned, sent, unsent, ok, error, timed_out, in_flight_at_end } = sum;
    page.pair("messages", &format!("planned {planned} = sent {sent} + unsent {unsent}"));
    page.pair(
        "",
        &format!("sent {sent} = ok {ok} + error {error} + timed out {timed_out} + in flight {in_flight_at_end}"),
    );
    if let Some(error) = measured.blocks.iter().find_map(|block| block.counts.check().err()) {
        page.remark(Tone::Failed, "error:", &format!("the counts do not add up: {error}"));
    }
}

/// Gaps in the workers' own loops; in an open loop also that there were none.
fn stalls(page: &mut Page, measured: &Measured<'_>) {
    let all = measured.blocks.iter().map(|block| &block.stalls);
    let (mut count, mut longest, mut total, mut touched) = (0_u64, 0, 0_u64, 0_u64);
    for Stalls { count: more, longest_ns, total_ns, affected, .. } in all {
        count = count.saturating_add(*more);
        longest = longest.max(*longest_ns);
        total = total.saturating_add(*total_ns);
        touched = touched.saturating_add(*affected);
    }
    if count > 0 {
        let (longest, total) = (number::nanos(longest), number::nanos(total));
        page.pair(
            "stalls",
            &format!("{count}, the longest {longest}, {total} in all; {touched} messages affected"),
        );
    } else if measured.is_open() {
        page.pair("stalls", "none: the generator never stood still");
    }
}

/// The block in which connections were served least evenly.
fn fairness(page: &mut Page, measured: &Measured<'_>) {
    let all = measured.blocks.iter().filter_map(|block| block.fairness);
    let share =
        |it: &Fairness| number::float(it.replies_min) / number::float(it.replies_median.max(1));
    let worst = all.min_by(|one, other| share(one).total_cmp(&share(other)));
    if let Some(Fairness { connections, replies_min, replies_median }) = worst {
        page.pair(
            "fairness",
            &format!("{replies_min} replies at least, median {replies_median}, of {connections} connections"),
        );
    }
}

fn connections(page: &mut Page, measured: &Measured<'_>) {
    let mut sum = Connections::default();
    for Connections { asked, opened, failed, lost, reconnects, .. } in
        measured.blocks.iter().map(|block| block.connections)
    {
        for (total, part) in [
            (&mut sum.asked, asked),
            (&mut sum.opened, opened),
            (&mut sum.failed, failed),
            (&mut sum.lost, lost),
            (&mut sum.reconnects, reconnects),
        ] {
            *total = total.saturating_add(part);
        }
    }
    let Connections { asked, opened, failed, lost, reconnects, .. } = sum;
    let text = format!(
        "asked {asked}, opened {opened}, failed {failed}, lost {lost}, opened again {reconnects}"
    );
    page.pair("connections", &text);
}

/// What TLS handshakes agreed on, and how many there were.
fn encryption(page: &mut Page, measured: &Measured<'_>) {
    if measured.workload.tls.is_none() {
        return;
    }
    match words::tls(measured.workload, &measured.blocks) {
        Some((facts, full, resumed)) => {
            page.pair("TLS", &format!("{facts}; {full} full, {resumed} resumed handshakes"));
        }
        None => page.pair("TLS", "no handshake was completed"),
    }
}

/// The phases of connections that were measured, over all blocks.
fn phases(page: &mut Page, measured: &Measured<'_>) {
    let mut label = "phases";
    for (index, name) in PHASES.into_iter().enumerate() {
        let of_blocks = measured.blocks.iter().filter_map(|block| in_order(&block.phases)[index]);
        let summaries: Vec<&Summary> = of_blocks.collect();
        let Some(whole) = Spread::of(&summaries) else { continue };
        if !label.is_empty() {
            page.pair(
                label,
                &format!("{:<11} {:>9} {:>9} {:>9}  {:>8}", "", "min", "mean", "max", "count"),
            );
            label = "";
        }
        let times =
            [number::nanos(whole.min_ns), number::time(whole.mean_ns), number::nanos(whole.max_ns)];
        let [min, mean, max] = times;
        page.pair("", &format!("{name:<11} {min:>9} {mean:>9} {max:>9}  {:>8}", whole.count));
    }
}

const PHASES: [&str; 8] =
    ["resolve", "connect", "tls full", "tls resumed", "handshake", "first reply", "close", "life"];

fn in_order(phases: &Phases) -> [Option<&Summary>; PHASES.len()] {
    let Phases { resolve, connect, tls_full, tls_resumed, handshake, first_reply, close, life } =
        phases;
    [resolve, connect, tls_full, tls_resumed, handshake, first_reply, close, life]
        .map(Option::as_ref)
}

/// What can be said of several distributions together without merging them.
struct Spread {
    count: u64,
    min_ns: u64,
    mean_ns: f64,
    max_ns: u64,
}

impl Spread {
    /// `None` if there is no sample.
    fn of(summaries: &[&Summary]) -> Option<Self> {
        let count = summaries.iter().fold(0_u64, |sum, summary| sum.saturating_add(summary.count));
        let weighted = |summary: &&Summary| summary.mean_ns * number::float(summary.count);
        let total: f64 = summaries.iter().map(weighted).sum();
        Some(Self {
            count,
            min_ns: summaries.iter().map(|summary| summary.min_ns).min()?,
            mean_ns: total / number::float(count),
            max_ns: summaries.iter().map(|summary| summary.max_ns).max()?,
        })
    }
}

/// CPU time and bytes for each message.
fn cost(page: &mut Page, measured: &Measured<'_>) {
    let medians = measured.result.map(|result| &result.medians);
    let missing = |field: &str| {
        let reason = measured.blocks.iter().find_map(|block| block.cpu.missing.get(field));
        reason.map_or_else(|| MISSING.to_owned(), |reason| format!("{MISSING} ({reason})"))
    };
    let generator = medians.and_then(|medians| medians.generator_cpu_us_per_message);
    let server = medians.and_then(|medians| medians.server_cpu_us_per_message);
    let generator = generator
        .map_or_else(|| missing("generator_us_per_message"), |cpu| shown(cpu, number::micros));
    let server =
        server.map_or_else(|| missing("server_us_per_message"), |cpu| shown(cpu, number::micros));
    page.pair("CPU/message", &format!("generator {generator}, server {server}"));

    bytes(page, measured);
}

/// Bytes of a message, by layer where that is known, and what compression made of them.
fn bytes(page: &mut Page, measured: &Measured<'_>) {
    let label = "bytes/message";
    let both = measured.result.and_then(|result| result.medians.wire_bytes_per_message);
    let wire = measured.only_block().map(|block| &block.wire);
    let each =
        wire.and_then(|wire| wire.sent_bytes_per_message.zip(wire.received_bytes_per_message));
    let split = measured.only_block().and_then(|block| layers::directions(&[block]));
    match (each, split, both) {
        (Some((sent, received)), Some([of_sent, of_received]), _) => {
            page.pair(label, &format!("sent {}", layers::sum(&of_sent, sent)));
            page.pair("", &format!("received {}", layers::sum(&of_received, received)));
            if let Some(reason) = wire.and_then(layers::without_tcp_ip) {
                page.pair("", &format!("TCP/IP {MISSING} ({reason})"));
            }
        }
        (Some((sent, received)), None, _) => {
            let (sent, received) = (number::bytes(sent), number::bytes(received));
            page.pair(label, &format!("sent {sent}, received {received}; without TCP and IP"));
        }
        (None, _, Some(both)) => {
            page.pair(label, &format!("{}; without TCP and IP", shown(both, number::bytes)));
        }
        (None, _, None) => page.pair(label, &format!("{MISSING} (no reply was measured)")),
    }
    if let Some(offered) = &measured.workload.deflate {
        let ratios = measured.blocks.iter().filter_map(|block| block.wire.compression_ratio);
        let ratio = stats::median(&ratios.collect::<Vec<f64>>());
        let ratio = ratio.map_or_else(|_| MISSING.to_owned(), words::compression);
        let offered = if offered.is_empty() { "default parameters" } else { offered };
        page.pair("deflate", &format!("{ratio} ({offered})"));
    }
}

/// Errors by class, the most frequent first.
fn errors(page: &mut Page, measured: &Measured<'_>) {
    let mut classes: Vec<ErrorCount> = Vec::new();
    for error in measured.blocks.iter().flat_map(|block| &block.errors) {
        match classes.iter_mut().find(|class| class.class == error.class) {
            Some(class) => class.count = class.count.saturating_add(error.count),
            None => classes.push(error.clone()),
        }
    }
    classes.sort_by(|one, other| {
        other.count.cmp(&one.count).then_with(|| one.class.cmp(&other.class))
    });
    let mut label = "errors";
    for ErrorCount { class, count, example } in &classes {
        page.pair(label, &format!("{count} x {}, first: {example}", class.replace('_', " ")));
        label = "";
    }
}

fn little(page: &mut Page, block: &Block) {
    match &block.little {
        Little::Checked { expected_in_flight, measured_in_flight, deviation_fraction, holds } => {
            let holds = if *holds { "holds" } else { "BROKEN" };
            let expected = number::three(*expected_in_flight);
            let measured = number::three(*measured_in_flight);
            let off = number::percent(*deviation_fraction);
            let text =
                format!("{holds}: {expected} in flight expected, {measured} measured ({off})");
            page.pair("Little's law", &text);
        }
        Little::NotChecked { reason } => {
            page.pair("Little's law", &format!("not checked: {reason}"));
        }
    }
}

/// `191 k/s [189 k/s, 193 k/s]`: a median, with its 95 % interval if it has one.
fn shown(estimate: Estimate, show: fn(f64) -> String) -> String {
    let value = show(estimate.value);
    match estimate.low.zip(estimate.high) {
        Some((low, high)) => format!("{value} [{}, {}]", show(low), show(high)),
        None => value,
    }
}
