//! A single row in full: everything that was measured of one target.

use crate::agents;
use crate::deliveries;
use crate::document::{Cell, Column, Depth, Fact, Part, Remark, Section, Table, Tone};
use crate::exchanges;
use crate::layers;
use crate::measured::{Measured, Spread, hangs_by, merged, server_bytes};
use crate::number::{self, MISSING, Unit};
use crate::row;
use crate::tabs;
use record::{
    Block, Counts, ErrorCount, Estimate, Fairness, Identity, Level, Little, Number, OpenLoop,
    PerMetric, Phases, ReceiverMemory, ServerMachine, Sessions, Stalls, Summary,
};
use stats::{Merge, Pooled};

/// Times, rates, errors and cost; and as details counts, connections and their phases, bytes and checks. `heading`
/// names the row where there are several.
pub(crate) fn sections(heading: &str, it: &Measured<'_>) -> [Section; 2] {
    let threads = number::counted(it.row.threads(), "thread");
    let (message, load) = (it.row.message(), it.row.load());
    let blocks = match it.all.len() {
        0 | 1 => String::new(),
        count => format!(" in {count} blocks"),
    };
    let measured = number::nanos(it.measured_ns());
    let about = format!("{message}, {load}, {threads}, {measured} measured{blocks}");
    let mut parts = vec![Part::Text(Tone::Plain, about)];
    parts.extend(
        it.failed.iter().map(|why| Part::Remark(Remark::new(Tone::Failed, "failed:", *why))),
    );
    parts.push(Part::Table(times(it)));
    for table in exchanges::all(it) {
        parts.extend((!table.rows.is_empty()).then_some(Part::Table(table)));
    }
    let mut facts = Facts(Vec::new());
    if it.row.is_closed() {
        throughput(&mut facts, it);
    } else {
        rate(&mut facts, it);
    }
    facts.lines("deliveries", deliveries::lines(it));
    facts.lines("recovery", deliveries::recovery(it));
    facts.lines("tabs", tabs::lines(it));
    cost(&mut facts, it);
    intervals(&mut facts, it);
    errors(&mut facts, it);
    parts.push(Part::Facts(facts.0));

    let mut facts = Facts(Vec::new());
    if it.row.is_closed() && it.row.think_ns().is_none() {
        facts.add("response", "none: a closed loop has no schedule; --rate has one");
    }
    counts(&mut facts, it);
    if !it.row.publishes() {
        pushed(&mut facts, it);
    }
    if !it.row.is_closed() {
        outcomes(&mut facts, it);
    }
    stalls(&mut facts, it);
    fairness(&mut facts, it);
    connections(&mut facts, it);
    encryption(&mut facts, it);
    bytes(&mut facts, it);
    receiver_memory(&mut facts, it);
    if let Some(block) = it.only_block().filter(|_| it.row.is_closed()) {
        little(&mut facts, block);
    }
    let mut details = vec![Part::Facts(facts.0), Part::Table(phases(it))];
    let agents = agents::table(it);
    details.extend((!agents.rows.is_empty()).then_some(Part::Table(agents)));
    [Section::new(heading, parts), Section::new("", details).at(Depth::Details)]
}

struct Facts(Vec<Fact>);

impl Facts {
    fn add(&mut self, label: &str, line: impl Into<String>) {
        self.0.push(Fact::new(label, line));
    }

    /// Several lines under one label; nothing if there are none.
    fn lines(&mut self, label: &str, lines: Vec<String>) {
        if !lines.is_empty() {
            self.0.push(Fact { label: label.to_owned(), lines, ..Fact::default() });
        }
    }
}

/// A column for each percentile. In an open loop response times come first, and below them what they are made of; in a
/// closed loop round trips; for short-lived clients their lives come first.
fn times(it: &Measured<'_>) -> Table {
    let known: Vec<(&str, Summary)> = match it.row.is_closed() {
        true => {
            let of_block = it.only_block().and_then(|block| block.round_trip.clone());
            let merged = it.result.and_then(|result| result.round_trip.clone());
            let all = match it.row.round_trips() {
                Some(_) => vec![("life", merged), ("round trip", of_block)],
                None => vec![("round trip", merged.or(of_block))],
            };
            all.into_iter().filter_map(|(name, times)| Some((name, times?))).collect()
        }
        false => {
            let response = it.result.and_then(|result| result.response.clone());
            let column = |(name, of): (&'static str, Times)| {
                let known = response.clone().filter(|_| name == RESPONSE);
                let known =
                    known.or_else(|| merged(&it.all, |block| of(block.open_loop.as_ref()?)));
                Some((it.row.time_called(name), known?))
            };
            let [response, rest @ ..] = OPEN_TIMES;
            let times = column(response).into_iter();
            let times = times.chain(deliveries::times(it));
            times.chain(rest.into_iter().filter_map(column)).collect()
        }
    };
    let mut columns = vec![Column::new("", Unit::Words)];
    columns.extend(PERCENTILES.map(|(name, ..)| Column::new(name, Unit::Time)));
    let mut table = Table::new("", columns);
    let mut notes: Vec<String> = Vec::new();
    for (row, (name, times)) in known.iter().enumerate() {
        let mut cells = vec![Cell::words(*name)];
        for (column, field, number, of) in PERCENTILES {
            let value = of(times);
            // The first row has the times that results are made of, which are the ones that were judged.
            let level = if row == 0 { it.trust.of_number(number) } else { Level::Trusted };
            cells.push(Cell::number(value.map(number::float)).judged(level));
            let reason = times.missing.get(field).map_or("too few messages", String::as_str);
            if value.is_none() && !notes.iter().any(|note| note.ends_with(reason)) {
                notes.push(format!("{MISSING} {name} {column}: {reason}"));
            }
        }
        table.row(cells);
    }
    for (name, times) in known.iter().filter(|(_, times)| times.saturated > 0) {
        notes.push(format!("{name}: {} above one hour, shown as one hour", times.saturated));
    }
    notes.extend(deliveries::clocks(it));
    table.noted(notes)
}

/// The time that a user waits: the headline of an open loop.
const RESPONSE: &str = "response";

type Times = fn(&OpenLoop) -> Option<&Summary>;
const OPEN_TIMES: [(&str, Times); 5] = [
    (RESPONSE, |times| times.response.as_ref()),
    ("service", |times| times.service.as_ref()),
    ("send lag", |times| times.send_lag.as_ref()),
    ("own share", |times| times.own_share.as_ref()),
    ("true delay", |times| times.true_delay.as_ref()),
];

type Percentile = fn(&Summary) -> Option<u64>;
const PERCENTILES: [(&str, &str, Number, Percentile); 5] = [
    ("p50", "p50_ns", Number::P50, |summary| summary.p50_ns),
    ("p90", "p90_ns", Number::P90, |summary| summary.p90_ns),
    ("p99", "p99_ns", Number::P99, |summary| summary.p99_ns),
    ("p99.9", "p99_9_ns", Number::Tail, |summary| summary.p99_9_ns),
    ("max", "max_ns", Number::Tail, |summary| Some(summary.max_ns)),
];

/// Replies a second of a closed loop, and what it says about response times.
fn throughput(facts: &mut Facts, it: &Measured<'_>) {
    if it.times().is_none() && it.blocks.iter().all(|block| block.round_trip.is_none()) {
        facts.add(it.row.time_word(), "no reply was measured");
    }
    match it.row.think_ns() {
        None => {}
        // Messages that bots did not send while they waited for replies: how far the loop gave way to the server.
        Some(think_ns) => {
            let regular = it.row.regular_per_s(think_ns.max(1)) * it.seconds();
            let sent = number::float(it.sum(|block| block.counts.sent));
            let share = number::percent((1.0 - sent / regular).max(0.0));
            facts.add(
                "response",
                "none: these bots have no schedule; without --closed they have one",
            );
            facts.add(
                "left out",
                format!(
                    "{share} of the {} messages that as many bots on a schedule send",
                    number::three(regular)
                ),
            );
        }
    }
    let only = || it.only_block().map(|block| number::per_second(block.messages_per_s));
    let rate = it.pooled().and_then(|pooled| pooled.messages_per_s);
    let rate = rate.map(|rate| shown(Unit::Rate, rate)).or_else(only);
    facts.lines("throughput", rate.into_iter().collect());
    if it.row.is_of_lives() {
        let lives = it.all.iter().filter_map(|block| block.phases.life.as_ref());
        let clients = lives.fold(0_u64, |sum, life| sum.saturating_add(life.count));
        let rate = number::float(clients) / it.seconds();
        facts.add("clients", format!("{} ({clients} served)", number::per_second(rate)));
    }
}

/// Messages a second of an open loop: asked, offered, sent, and achieved.
fn rate(facts: &mut Facts, it: &Measured<'_>) {
    if it.all.iter().all(|block| block.open_loop.as_ref().is_none_or(|it| it.response.is_none())) {
        facts.add(it.row.time_called(RESPONSE), "no message came to its end");
    }
    let each = |count: f64| number::per_second(count / it.seconds());
    let offered = number::float(it.sum(|block| block.counts.planned));
    let most = number::float(it.sum(Block::planned_most));
    let sent = number::float(it.sum(|block| block.counts.sent));
    let replies = it.replies_per_s();
    let share = replies * it.seconds() / offered;
    let share = number::percent(if offered > 0.0 { share } else { f64::NAN });
    let offered = match most > offered {
        true => format!("{} to {}", each(offered), each(most)),
        false => each(offered),
    };
    let (asked, sent) = (it.row.asked(), each(sent));
    facts.lines(
        "rate",
        vec![
            format!("asked {asked}, offered {offered}, sent {sent}"),
            match it.row.publishes() {
                true => format!("delivered {} to receivers", number::per_second(replies)),
                false => format!("achieved {} ({share} of offered)", number::per_second(replies)),
            },
        ],
    );
    let looked = |block: &&Block| {
        block.cpu.looking_cores_used.unwrap_or(0.0) * number::float(block.measured_ns) / 1e9
    };
    let looked = it.all.iter().map(looked).sum::<f64>() / it.seconds();
    if looked > 0.0 {
        let share = number::percent(looked);
        facts.add("punctual", format!("{share} of a core was spent on watching the clock"));
    }
}

/// Two sums, and an error if they do not add up.
fn counts(facts: &mut Facts, it: &Measured<'_>) {
    let [planned, sent, unsent] = [
        it.sum(|block| block.counts.planned),
        it.sum(|block| block.counts.sent),
        it.sum(|block| block.counts.unsent),
    ];
    let all = Counts::merged(it.all.iter().map(|block| &block.counts));
    let mut lines = vec![format!("planned {planned} = sent {sent} + unsent {unsent}"), ends(&all)];
    let rates = record::failure_rates(&it.all).filter(|rates| *rates != (0.0, 0.0));
    lines.extend(rates.map(|(errors, refused)| {
        let [errors, refused] = [errors, refused].map(number::percent);
        format!("error_rate {errors}, refused_rate {refused}")
    }));
    let redirects = all.redirects;
    lines.extend((redirects > 0).then(|| format!("redirects {redirects}, followed")));
    let unexpected = it.sum(|block| block.pushed.map_or(0, |pushed| pushed.unexpected));
    lines.extend(
        (unexpected > 0).then(|| format!("unexpected {unexpected}, which no rule matches")),
    );
    lines.extend(warm_up(it));
    let broken = it.all.iter().find_map(|block| block.counts.check().err());
    lines.extend(broken.map(|error| format!("ERROR: the counts do not add up: {error}")));
    facts.lines("messages", lines);
}

/// The messages of the warm-up, where not all of them were answered.
fn warm_up(it: &Measured<'_>) -> Option<String> {
    let all = Counts::merged(it.all.iter().filter_map(|block| block.warm_up.as_ref()));
    (all.ok < all.sent || all.unsent > 0)
        .then(|| format!("warm-up, apart: {}; unsent {}", ends(&all), all.unsent))
}

/// The ends of the messages that were sent, which add up; refusals where there were any.
fn ends(counts: &Counts) -> String {
    let Counts { sent, ok, error, refused, timed_out, in_flight_at_end, .. } = counts;
    let refusals = if *refused > 0 { format!(" + refused {refused}") } else { String::new() };
    format!(
        "sent {sent} = ok {ok} + error {error}{refusals} + timed out {timed_out} + in flight {in_flight_at_end}"
    )
}

/// Unasked messages, and the times as the published test of bots shows them.
fn pushed(facts: &mut Facts, it: &Measured<'_>) {
    if it.all.iter().all(|block| block.pushed.is_none()) {
        return;
    }
    let deliveries = it.sum(|block| block.pushed.map_or(0, |pushed| pushed.deliveries));
    let notices = it.sum(|block| block.pushed.map_or(0, |pushed| pushed.notices));
    let rate = number::per_second(number::float(deliveries) / it.seconds());
    facts.add(
        "deliveries",
        format!("{deliveries} to others at the table ({rate}), {notices} notices"),
    );
    let last =
        it.only_block().and_then(|block| block.last_1000_mean_ms.zip(block.last_1000_mean_ns));
    if let Some((whole, exact)) = last {
        let exact = number::nanos(exact);
        facts.add("last 1000", format!("mean {whole} ms as published, {exact} without rounding"));
    }
}

/// The fate of sessions, and of replies that can be told apart.
fn outcomes(facts: &mut Facts, it: &Measured<'_>) {
    let of_sessions = it.all.iter().filter_map(|block| block.open_loop.as_ref()?.sessions);
    let sessions = of_sessions.reduce(|one, other| Sessions {
        planned: one.planned.saturating_add(other.planned),
        started: one.started.saturating_add(other.started),
        completed: one.completed.saturating_add(other.completed),
    });
    if let Some(Sessions { planned, started, completed }) = sessions {
        facts.add("sessions", format!("planned {planned}, began {started}, completed {completed}"));
    }
    let identities = it.all.iter().filter_map(|block| block.identity);
    let identity = identities.reduce(|one, other| Identity {
        lost: one.lost.saturating_add(other.lost),
        duplicate: one.duplicate.saturating_add(other.duplicate),
        reordered: one.reordered.saturating_add(other.reordered),
        corrupted: one.corrupted.saturating_add(other.corrupted),
    });
    let text = match identity {
        Some(Identity { lost, duplicate, reordered, corrupted }) => format!(
            "lost {lost}, duplicate {duplicate}, reordered {reordered}, corrupted {corrupted}"
        ),
        None if it.row.publishes() => return,
        None if it.row.is_in_sequence() => {
            "in the order of their events: one out of its turn ends its bot".to_owned()
        }
        None => "not told apart: messages carry no header".to_owned(),
    };
    facts.add("replies", text);
}

/// Gaps in the workers' own loops; in an open loop also that there were none.
fn stalls(facts: &mut Facts, it: &Measured<'_>) {
    let (mut count, mut longest, mut total, mut touched) = (0_u64, 0, 0_u64, 0_u64);
    for Stalls { count: more, longest_ns, total_ns, affected, .. } in
        it.all.iter().map(|block| &block.stalls)
    {
        count = count.saturating_add(*more);
        longest = longest.max(*longest_ns);
        total = total.saturating_add(*total_ns);
        touched = touched.saturating_add(*affected);
    }
    if count > 0 {
        let (longest, total) = (number::nanos(longest), number::nanos(total));
        facts.add(
            "stalls",
            format!("{count}, the longest {longest}, {total} in all; {touched} messages affected"),
        );
    } else if !it.row.is_closed() {
        facts.add("stalls", "none: the generator never stood still");
    }
}

/// The block in which connections were served least evenly.
fn fairness(facts: &mut Facts, it: &Measured<'_>) {
    let all = it.all.iter().filter_map(|block| block.fairness);
    let share =
        |it: &Fairness| number::float(it.replies_min) / number::float(it.replies_median.max(1));
    let worst = all.min_by(|one, other| share(one).total_cmp(&share(other)));
    if let Some(Fairness { connections, replies_min, replies_median }) = worst {
        facts.add(
            "fairness",
            format!(
                "{replies_min} replies at least, median {replies_median}, of {connections} connections"
            ),
        );
    }
}

fn connections(facts: &mut Facts, it: &Measured<'_>) {
    let [asked, opened] =
        [it.sum(|block| block.connections.asked), it.sum(|block| block.connections.opened)];
    let [failed, lost, again] = [
        it.sum(|block| block.connections.failed),
        it.sum(|block| block.connections.lost),
        it.sum(|block| block.connections.reconnects),
    ];
    facts.add(
        "connections",
        format!(
            "asked {asked}, opened {opened}, failed {failed}, lost {lost}, opened again {again}"
        ),
    );
}

/// The parameters that TLS handshakes agreed on, and the number of handshakes.
fn encryption(facts: &mut Facts, it: &Measured<'_>) {
    match it.row.tls(&it.all) {
        Some((agreed, full, resumed)) => {
            facts.add("TLS", format!("{agreed}; {full} full, {resumed} resumed handshakes"));
        }
        None if it.row.is_encrypted() => facts.add("TLS", "no handshake was completed"),
        None => {}
    }
}

/// The phases of connections that were measured, over all blocks.
fn phases(it: &Measured<'_>) -> Table {
    let columns = vec![
        Column::new("phase", Unit::Words),
        Column::new("min", Unit::Time),
        Column::new("mean", Unit::Time),
        Column::new("max", Unit::Time),
        Column::new("count", Unit::Count),
    ];
    let mut table = Table::new("", columns);
    for (name, of) in PHASES {
        let found = it.all.iter().filter_map(|block| of(&block.phases));
        let Some(Spread { count, min_ns, mean_ns, max_ns }) = Spread::of(found) else { continue };
        let mut cells = vec![Cell::words(name)];
        cells.extend([min_ns, mean_ns, max_ns].map(|ns| Cell::Number(ns, None)));
        cells.push(Cell::Number(number::float(count), None));
        table.row(cells);
    }
    table
}

/// A phase of a connection.
pub(crate) type Phase = fn(&Phases) -> Option<&Summary>;

/// The phases of a connection in their order, and last its whole life.
pub(crate) const PHASES: [(&str, Phase); 9] = [
    ("resolve", |phases| phases.resolve.as_ref()),
    ("before", |phases| phases.before.as_ref()),
    ("connect", |phases| phases.connect.as_ref()),
    ("TLS full", |phases| phases.tls_full.as_ref()),
    ("TLS resumed", |phases| phases.tls_resumed.as_ref()),
    ("handshake", |phases| phases.handshake.as_ref()),
    ("first reply", |phases| phases.first_reply.as_ref()),
    ("close", |phases| phases.close.as_ref()),
    ("life", |phases| phases.life.as_ref()),
];

/// CPU time of a message.
fn cost(facts: &mut Facts, it: &Measured<'_>) {
    let cpu = |of: fn(&PerMetric<Estimate>) -> Option<Estimate>, field: &str| {
        let reason = || it.without_cpu(field).map(|reason| format!("{MISSING} ({reason})"));
        let known = it.pooled().and_then(of).map(|cpu| shown(Unit::Cpu, cpu));
        known.or_else(reason).unwrap_or_else(|| MISSING.to_owned())
    };
    let generator = cpu(|all| all.generator_cpu_us_per_message, "generator_us_per_message");
    let server = cpu(|all| all.server_cpu_us_per_message, "server_us_per_message");
    facts.add("CPU/message", format!("generator {generator}, server {server}"));
    if let Some(answer) = it.row.found() {
        facts.add("found", answer);
    }
    server_found(facts, it);
    server_watched(facts, it);
}

/// The processes of somebody else's server, to which CPU time and memory belong.
fn server_found(facts: &mut Facts, it: &Measured<'_>) {
    let processes = it.row.processes();
    let Some(first) = processes.first() else { return };
    let others = match processes.len() - 1 {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    let memory = it.median(server_bytes);
    let memory =
        memory.map_or_else(String::new, |bytes| format!(", memory {}", number::bytes(bytes)));
    facts.add("server", format!("{} (process {}{others}){memory}", first.name, first.pid));
}

/// A server that somebody watched on its own machine: its memory, and that machine over all blocks.
fn server_watched(facts: &mut Facts, it: &Measured<'_>) {
    let machines: Vec<ServerMachine> =
        it.all.iter().filter_map(|block| block.server_machine).collect();
    if machines.is_empty() {
        return;
    }
    let mut words = vec!["watched on its machine".to_owned()];
    let memory = it.median(server_bytes);
    words.extend(memory.map(|bytes| format!("memory {}", number::bytes(bytes))));
    let idle: Vec<f64> = machines.iter().filter_map(|machine| machine.idle_fraction).collect();
    let idle = stats::median(&idle).ok();
    words.extend(idle.map(|idle| format!("{:.0} % of its CPU time idle", idle * 100.0)));
    let sum = |of: fn(&ServerMachine) -> Option<u64>| machines.iter().map(of).sum::<Option<u64>>();
    let again = sum(|machine| machine.retransmitted_segments);
    words.extend(again.map(|again| format!("{again} TCP segments sent again")));
    let refused = sum(|machine| machine.listen_overflows);
    words.extend(refused.map(|refused| format!("{refused} connections refused by a full queue")));
    facts.add("server", words.join(", "));
}

/// Bytes of a message, by layer where that is known, and the effect of compression.
fn bytes(facts: &mut Facts, it: &Measured<'_>) {
    let both = it.pooled().and_then(|pooled| pooled.wire_bytes_per_message);
    let wire = it.only_block().map(|block| &block.wire);
    let each =
        wire.and_then(|wire| wire.sent_bytes_per_message.zip(wire.received_bytes_per_message));
    let split = it.only_block().and_then(|block| layers::directions(&[block]));
    let lines = match (each, split, both) {
        (Some((sent, received)), Some([of_sent, of_received]), _) => {
            let mut lines = vec![
                format!("sent {}", layers::sum(&of_sent, sent)),
                format!("received {}", layers::sum(&of_received, received)),
            ];
            let reason = wire.and_then(layers::without_tcp_ip);
            lines.extend(reason.map(|reason| format!("TCP/IP {MISSING} ({reason})")));
            lines
        }
        (Some((sent, received)), None, _) => {
            let (sent, received) = (number::bytes(sent), number::bytes(received));
            vec![format!("sent {sent}, received {received}; without TCP and IP")]
        }
        (None, _, Some(both)) => vec![format!("{}; without TCP and IP", shown(Unit::Size, both))],
        (None, _, None) => vec![format!("{MISSING} (no reply was measured)")],
    };
    facts.lines("bytes/message", lines);
    let requests = it.only_block().and_then(|block| layers::requests(&[block]));
    let words =
        |each| format!("{} for each message: polls, streams and posts", number::three(each));
    facts.lines("requests", requests.map(words).into_iter().collect());
    if let Some(offered) = it.row.deflate() {
        let ratios = it.all.iter().filter_map(|block| block.wire.compression_ratio);
        let ratio = stats::median(&ratios.collect::<Vec<f64>>());
        let ratio = ratio.map_or_else(|_| MISSING.to_owned(), row::compression);
        let offered = if offered.is_empty() { "default parameters" } else { offered };
        facts.add("deflate", format!("{ratio} ({offered})"));
    }
}

/// The memory of the server for each receiver, from before the first connection of a block to the end of its
/// measurement.
fn receiver_memory(facts: &mut Facts, it: &Measured<'_>) {
    if let Some(reason) = it.without_receiver_memory() {
        return facts.add(MEMORY, format!("{MISSING} ({reason})"));
    }
    let known = it.blocks.iter().filter_map(|block| it.row.receiver_memory(block)?.ok());
    let line = |memory: ReceiverMemory| {
        let ReceiverMemory { each, receivers, before, end, is_proportional } = memory;
        let kind = if is_proportional { "PSS" } else { "RSS" };
        let [before, end] = [before, end].map(|bytes| number::bytes(number::float(bytes)));
        format!(
            "{}: {before} before the first connection, {end} with {receivers} receivers at the end ({kind})",
            number::bytes(each)
        )
    };
    facts.lines(MEMORY, known.map(line).collect());
}

const MEMORY: &str = "memory / receiver";

/// The percentiles of several blocks with their intervals, or the reason why one has none.
fn intervals(facts: &mut Facts, it: &Measured<'_>) {
    if it.all.len() < 2 {
        return;
    }
    let numbers = it.numbers();
    let known = match it.row.is_closed() {
        true => [&numbers.round_trip_p50_ns, &numbers.round_trip_p99_ns],
        false => [&numbers.response_p50_ns, &numbers.response_p99_ns],
    };
    for (name, number) in ["p50", "p99"].into_iter().zip(known) {
        let Some(number) = number else { continue };
        let text = number::interval(Unit::Time, number.value(), number.interval());
        let why = match number.rounds() {
            _ if number.interval().is_some() => {
                let moved = hangs_by(number.interval(), number.moved_most());
                moved.map_or_else(String::new, |moved| {
                    let moved = number::percent(moved);
                    format!(" (one block alone moves it by {moved}; more rounds tell more)")
                })
            }
            rounds if rounds < Pooled::ROUNDS_MIN => {
                format!(" (no interval: {rounds} blocks, {} needed)", Pooled::ROUNDS_MIN)
            }
            _ => " (no interval: it depends on few of the blocks)".to_owned(),
        };
        facts.add(name, format!("{text}{why}"));
    }
}

/// Errors by class, the most frequent first.
fn errors(facts: &mut Facts, it: &Measured<'_>) {
    let mut classes: Vec<ErrorCount> = Vec::new();
    for error in it.all.iter().flat_map(|block| &block.errors) {
        match classes.iter_mut().find(|class| class.class == error.class) {
            Some(class) => class.count = class.count.saturating_add(error.count),
            None => classes.push(error.clone()),
        }
    }
    classes.sort_by(|one, other| {
        other.count.cmp(&one.count).then_with(|| one.class.cmp(&other.class))
    });
    let line = |ErrorCount { class, count, example }: &ErrorCount| {
        format!("{count} x {}, first: {example}", class.replace('_', " "))
    };
    let early = it.all.iter().filter_map(|block| block.warm_up).map(|it| it.failed()).sum::<u64>();
    let among =
        (early > 0).then(|| format!("{early} of them in the warm-up, which is in no table"));
    facts.lines("errors", classes.iter().map(line).chain(among).collect());
}

fn little(facts: &mut Facts, block: &Block) {
    let text = match &block.little {
        Little::Checked { expected_in_flight, measured_in_flight, deviation_fraction, holds } => {
            let holds = if *holds { "holds" } else { "BROKEN" };
            let expected = number::three(*expected_in_flight);
            let measured = number::three(*measured_in_flight);
            let off = number::percent(*deviation_fraction);
            format!("{holds}: {expected} in flight expected, {measured} measured ({off})")
        }
        Little::NotChecked { reason } => format!("not checked: {reason}"),
    };
    facts.add("Little's law", text);
}

/// `191 k/s [189, 193]`: a number, with its 95 % interval if it has one.
fn shown(unit: Unit, estimate: Estimate) -> String {
    number::interval(unit, estimate.value, estimate.low.zip(estimate.high))
}
