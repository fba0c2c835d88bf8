//! Impossible numbers, whatever is measured: laws of counting and arithmetic that our measurement broke.

use super::subject::{Finding, Numbers, Outvoted, Rule, Subject, float, headline, percent};
use crate::{
    Block, Connections, Counts, Deliveries, Ended, Level, Little, Reason, RunRecord, Split,
    Summary, Wire,
};
use spec::Load;
use units::Nanos;

/// Histograms have three digits, so a number computed from two of them may be this far off.
const ROUNDING: f64 = 0.01;

pub(super) fn judge(subject: &Subject<'_>) -> Vec<Reason> {
    [littles_law(subject), impossible(subject), mean_above_p99(subject)]
        .into_iter()
        .flatten()
        .collect()
}

/// No message of a workload, or of the whole record, got its reply, so there is no result. A server that answers fewer
/// messages than it is sent is another matter, even if it only answered some of the warm-up.
pub(super) fn nothing_succeeded(record: &RunRecord) -> Vec<Reason> {
    let has_errors = record.blocks.iter().any(|block| !block.errors.is_empty());
    let errors = if has_errors { " The errors say how it failed" } else { "" };
    let reason = |workload, evidence| Reason {
        code: "nothing_succeeded".to_owned(),
        level: Level::Invalid,
        workload,
        numbers: Numbers::new(),
        message: "no message got its reply: this is an error, not a result".to_owned(),
        evidence,
        advice: format!("is a server listening there, and does it answer as expected?{errors}"),
    };
    if record.blocks.is_empty() {
        return vec![reason(None, "nothing was measured".to_owned())];
    }
    let failed = (0..record.plan.workloads.len()).filter_map(|index| {
        let blocks: Vec<&Block> =
            record.blocks.iter().filter(|block| block.workload == index).collect();
        let evidence = match blocks.iter().find_map(|block| why(block)) {
            Some(why) => why,
            None => {
                let waiting = |counts: Counts| counts.in_flight_at_end;
                let all = blocks.iter().map(|block| {
                    waiting(block.counts).saturating_add(block.warm_up.map_or(0, waiting))
                });
                format!(
                    "no right reply; {} messages, including the warm-up's, were still waiting at the end",
                    all.sum::<u64>()
                )
            }
        };
        let all_nothing = !blocks.iter().any(|block| block.is_answered());
        (!blocks.is_empty() && all_nothing).then(|| reason(Some(index), evidence))
    });
    failed.collect()
}

fn why(block: &Block) -> Option<String> {
    let error = || {
        let worst = block.errors.iter().max_by_key(|error| error.count)?;
        Some(format!("{} x {}, first: {}", worst.count, worst.class, worst.example))
    };
    block.failed.clone().or_else(error)
}

/// Messages in flight = replies a second x mean round trip, on every block of a closed loop. A client subject that
/// works between a reply and the next message breaks it legitimately, and its times say less than they seem to.
fn littles_law(subject: &Subject<'_>) -> Option<Reason> {
    let (message, advice) = if subject.has_client() {
        (
            "much of the time is spent between a reply and the client's next message, outside all round trips",
            "read its messages a second and its time by messages, which include all of it",
        )
    } else {
        (
            "Little's law does not hold: messages, time or replies are not accounted for",
            "measure longer (-d 10s) on a quieter machine; if it stays, report it: wirebench has a bug",
        )
    };
    let rule = Rule {
        code: "littles_law",
        message: message.to_owned(),
        advice: advice.to_owned(),
        outvoted: Outvoted::Softened,
    };
    let level = if subject.has_client() { Level::Degraded } else { Level::Invalid };
    subject.reason(rule, |block| match &block.little {
        Little::Checked {
            expected_in_flight,
            measured_in_flight,
            deviation_fraction,
            holds: false,
        } => Some(Finding {
            level,
            numbers: Numbers::new(),
            weight: deviation_fraction.abs(),
            evidence: format!(
                "{expected_in_flight:.1} messages in flight expected, {measured_in_flight:.1} measured ({})",
                percent(*deviation_fraction)
            ),
        }),
        Little::Checked { holds: true, .. } | Little::NotChecked { .. } => None,
    })
}

/// Numbers that no measurement can give.
fn impossible(subject: &Subject<'_>) -> Option<Reason> {
    let rule = Rule {
        code: "impossible",
        message: "these numbers are impossible: wirebench has a bug".to_owned(),
        advice: "do not believe this run; report it with its record".to_owned(),
        outvoted: Outvoted::Never,
    };
    subject.reason(rule, |block| {
        let warm_up = block.warm_up.map_or(Ok(()), |counts| counts.check());
        let evidence = block
            .counts
            .check()
            .and(warm_up)
            .err()
            .map(|error| error.to_string())
            .or_else(|| deliveries_missing(block))
            .map(|error| format!("the counts do not add up: {error}"))
            .or_else(|| samples_missing(subject, block))
            .or_else(|| bytes_missing(&block.wire))
            .or_else(|| in_named_times(block, out_of_order))
            .or_else(|| in_never_zero(block))
            .or_else(|| not_a_sum(subject, block))
            .or_else(|| rate_without_replies(subject.record, block))?;
        Some(Finding { level: Level::Invalid, numbers: Numbers::new(), weight: 0.0, evidence })
    })
}

/// Reports owed deliveries that do not have exactly one end.
fn deliveries_missing(block: &Block) -> Option<String> {
    let of_tabs = block.tabs.as_ref().and_then(|tabs| tabs.counts.check().err());
    let of_tabs = of_tabs.map(|error| format!("in tabs: {error}"));
    let of_ours = || block.deliveries.as_ref()?.counts.check().err();
    of_tabs.or_else(|| of_ours().map(|error| error.to_string()))
}

/// Reports messages that are not in each distribution of their end exactly once. A client subject reports right replies
/// only, and not how late it sent.
fn samples_missing(subject: &Subject<'_>, block: &Block) -> Option<String> {
    let counts = block.counts;
    let count = |summary: &Option<Summary>| summary.as_ref().map_or(0, |summary| summary.count);
    // A message that expects no answer is ok once it is sent, and has no time.
    let untimed = block.exchanges.iter().filter(|kind| kind.no_reply).map(|kind| kind.counts.ok);
    let timed = counts.ok.saturating_sub(untimed.fold(0, u64::saturating_add));
    let ended = match &block.deliveries {
        Some(Deliveries { counts, .. }) => counts.owed.saturating_sub(counts.in_flight_at_end),
        None => timed.saturating_add(counts.failed()),
    };
    let all = match &block.open_loop {
        None => vec![("round trip", count(&block.round_trip), timed)],
        Some(times) if subject.has_client() => {
            vec![("service", count(&times.service), timed)]
        }
        Some(times) => vec![
            ("response", count(&times.response), ended),
            ("service", count(&times.service), timed),
            ("send lag", count(&times.send_lag), counts.sent),
        ],
    };
    all.into_iter().find(|(_, samples, messages)| samples != messages).map(
        |(name, samples, messages)| format!("{name} has {samples} samples, of {messages} messages"),
    )
}

/// Reports bytes of the stream that do not belong to exactly one layer.
fn bytes_missing(wire: &Wire) -> Option<String> {
    let sides =
        [("sent", wire.sent_bytes, wire.sent), ("received", wire.received_bytes, wire.received)];
    sides.into_iter().find_map(|(name, bytes, split)| {
        let Split { payload_bytes, encoding_bytes, framing_bytes, tls_bytes, .. } = split?;
        let sum = i128::from(payload_bytes)
            + i128::from(encoding_bytes)
            + i128::from(framing_bytes)
            + i128::from(tls_bytes);
        (sum != i128::from(bytes))
            .then(|| format!("{bytes} bytes were {name}, but their layers add up to {sum}"))
    })
}

/// The first fault that `find` finds in the times of a block.
fn in_named_times(block: &Block, find: fn(&Summary) -> Option<String>) -> Option<String> {
    let open = block.open_loop.as_ref();
    let all = [
        ("round trip", block.round_trip.as_ref()),
        ("response", open.and_then(|times| times.response.as_ref())),
        ("service", open.and_then(|times| times.service.as_ref())),
        ("send lag", open.and_then(|times| times.send_lag.as_ref())),
        ("own share", open.and_then(|times| times.own_share.as_ref())),
        ("life", block.phases.life.as_ref()),
        ("before", block.phases.before.as_ref()),
        ("connect", block.phases.connect.as_ref()),
        ("full TLS handshake", block.phases.tls_full.as_ref()),
        ("resumed TLS handshake", block.phases.tls_resumed.as_ref()),
    ];
    all.into_iter().find_map(|(name, times)| Some(format!("{name}: {}", find(times?)?)))
}

/// Reports percentiles that do not rise, or a mean that they leave no room for.
fn out_of_order(times: &Summary) -> Option<String> {
    let known = [times.p50_ns, times.p90_ns, times.p99_ns, times.p99_9_ns, times.p99_99_ns];
    let rising: Vec<u64> = std::iter::once(times.min_ns)
        .chain(known.into_iter().flatten())
        .chain(std::iter::once(times.max_ns))
        .collect();
    if let Some(pair) =
        rising.windows(2).find(|pair| float(pair[0]) > float(pair[1]) * (1.0 + ROUNDING))
    {
        return Some(format!(
            "a lower percentile of {} is above a higher one of {}",
            Nanos(pair[0]),
            Nanos(pair[1])
        ));
    }
    let bound = mean_max(times);
    let lowest = float(times.min_ns) * (1.0 - ROUNDING);
    let fits = times.mean_ns >= lowest && times.mean_ns <= bound * (1.0 + ROUNDING);
    (!fits).then(|| {
        format!(
            "a mean of {:.0} ns, but with p99 {} and maximum {} it is at most {bound:.0} ns",
            times.mean_ns,
            times.p99_ns.map_or_else(|| "unknown".to_owned(), |p99| Nanos(p99).to_string()),
            Nanos(times.max_ns)
        )
    })
}

/// The largest mean that a distribution with this p99 and this maximum can have: 99 % of the samples at the p99, 1 % at
/// the maximum.
fn mean_max(times: &Summary) -> f64 {
    let max = float(times.max_ns);
    times.p99_ns.map_or(max, |p99| 0.99 * float(p99) + 0.01 * max)
}

/// Reports replies that took no time. A send lag may be zero, on a clock that does not advance meanwhile.
fn in_never_zero(block: &Block) -> Option<String> {
    let open = block.open_loop.as_ref();
    let all = [
        ("round trip", block.round_trip.as_ref()),
        ("service", open.and_then(|times| times.service.as_ref())),
        ("response", open.and_then(|times| times.response.as_ref())),
        ("life", block.phases.life.as_ref()),
    ];
    all.into_iter()
        .find(|(_, times)| times.is_some_and(|times| times.min_ns == 0))
        .map(|(name, _)| format!("{name}: a time of 0 ns"))
}

/// Response = wait for a connection + send lag + service, message by message, hence mean by mean if all messages are in
/// all of them. The wait is not recorded, but it is never negative, and zero if some connection was always free.
fn not_a_sum(subject: &Subject<'_>, block: &Block) -> Option<String> {
    let is_answered = block.counts.ok == block.counts.sent && block.deliveries.is_none();
    let times = block.open_loop.as_ref().filter(|_| is_answered)?;
    let (response, service) = (times.response.as_ref()?, times.service.as_ref()?);
    let lag = times.send_lag.as_ref()?;
    let waited = response.mean_ns - service.mean_ns - lag.mean_ns;
    let tolerance = ROUNDING * response.mean_ns + 1.0;
    let could_wait = could_wait(subject, block, response.max_ns);
    (waited < -tolerance || (waited > tolerance && !could_wait)).then(|| {
        format!(
            "mean send lag {:.0} ns + mean service {:.0} ns is not mean response {:.0} ns",
            lag.mean_ns, service.mean_ns, response.mean_ns
        )
    })
}

/// True if all connections may have been busy: if at least half as many messages are due within the longest response as
/// there are connections (they are not evenly spaced), or if some connections were lost. In a session the first message
/// waits for its own connection to open.
fn could_wait(subject: &Subject<'_>, block: &Block, longest_ns: u64) -> bool {
    let due = u128::from(block.counts.planned) * u128::from(longest_ns);
    let meanwhile = due / u128::from(block.measured_ns.max(1));
    matches!(subject.workload.spec.load, Load::Sessions { .. })
        || !all_lived(block.connections)
        || meanwhile * 2 >= u128::from(subject.connections())
}

/// True if every connection was opened and lived, and none replaced another.
fn all_lived(connections: Connections) -> bool {
    let Connections { asked, opened, failed, lost, reconnects, started: _ } = connections;
    asked == opened && failed == 0 && lost == 0 && reconnects == 0
}

/// Reports a rate that is negative or not finite, or right replies in no time. Replies to messages of the warm-up count
/// for the rate only, so a rate without right replies proves nothing.
fn rate_without_replies(record: &RunRecord, block: &Block) -> Option<String> {
    let is_whole = record.ended == Ended::Completed;
    let rate = block.messages_per_s;
    if !rate.is_finite() || rate < 0.0 {
        return Some(format!("{rate} messages a second"));
    }
    (is_whole && block.measured_ns == 0 && block.counts.ok > 0)
        .then(|| format!("{} right replies in no time", block.counts.ok))
}

/// The mean is above the p99: less than 1 % of the messages took most of the time, and a p99 hides them.
fn mean_above_p99(subject: &Subject<'_>) -> Option<Reason> {
    let advice = if subject.is_open() {
        "read the p99.9, the maximum and the series beside it"
    } else {
        "a closed loop sends nothing while a server stalls, so few messages see it: measure with --rate"
    };
    let rule = Rule {
        code: "mean_above_p99",
        message: "the mean is above the p99: few messages took most of the time, and percentiles up to p99 hide them"
            .to_owned(),
        advice: advice.to_owned(),
        outvoted: Outvoted::Dropped,
    };
    subject.reason(rule, |block| {
        let times = headline(subject.workload, block)?;
        let p99 = float(times.p99_ns?);
        let is_possible = times.mean_ns <= mean_max(times) * (1.0 + ROUNDING);
        (is_possible && times.mean_ns > p99 * (1.0 + ROUNDING)).then(|| Finding {
            level: Level::Degraded,
            numbers: Numbers::new(),
            weight: times.mean_ns / p99,
            evidence: format!(
                "mean {}, p99 {}, maximum {}",
                nanos(times.mean_ns),
                nanos(p99),
                Nanos(times.max_ns)
            ),
        })
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, and is shown with three digits"
)]
fn nanos(ns: f64) -> Nanos {
    Nanos(ns as u64)
}
