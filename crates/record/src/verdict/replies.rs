//! Messages and connections that failed or were treated unevenly: the numbers are right, and mean less than they seem
//! to.

use super::generator::P99_MOVED;
use super::subject::{
    Finding, Numbers, Outvoted, Rule, Subject, float, fraction, moved_by, percent,
};
use crate::{
    Block, Counts, DeliveryCounts, Ended, Identity, Level, RateChange, Reason, TabDeliveries,
};
use units::Nanos;

/// Messages that a median needs: ten on each side of it.
const MESSAGES_MIN: u64 = 20;
/// Ten ticks of the kernel's slowest clock, which counts CPU times and time slices.
const TIME_MIN: Nanos = Nanos::from_millis(100);
/// More failures than this move the p99.9, the highest percentile that a page has.
const FAILED_MAX: f64 = 0.001;
/// A connection with less than this share of the median's replies is served at another rate, and percentiles of all
/// connections together mix two kinds of users.
const FAIR_MIN: f64 = 0.5;
/// The number of replies on a connection, if they are due at random, varies by its root; five times that happens to one
/// connection in three million. Half of the median is then unlikely only if the median is above 100.
const FAIR_SIGMAS: f64 = 5.0;

/// With more replies per connection than this on average, the median connection has some by any chance.
const STARVED_MEAN_MIN: f64 = 10.0;

pub(super) fn judge(subject: &Subject<'_>) -> Vec<Reason> {
    [
        too_little(subject),
        rate_changed(subject),
        failed_blocks(subject),
        failures(subject),
        unanswered(subject),
        undelivered(subject),
        undelivered_to_tabs(subject),
        unreliable(subject),
        unfair(subject),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A few messages only show that they are answered, and a few milliseconds only what the scheduler did in them.
fn too_little(subject: &Subject<'_>) -> Option<Reason> {
    let sum = |of: fn(&Block) -> u64| -> u64 { subject.blocks.iter().map(|block| of(block)).sum() };
    let (ok, measured) = (sum(|block| block.counts.ok), Nanos(sum(|block| block.measured_ns)));
    ((1..MESSAGES_MIN).contains(&ok) || (ok > 0 && measured < TIME_MIN)).then(|| Reason {
        code: "too_little_measured".to_owned(),
        level: Level::Degraded,
        workload: Some(subject.index),
        numbers: Numbers::new(),
        message: "too little was measured to say how fast it is".to_owned(),
        evidence: format!(
            "{ok} right replies in {measured}; at least {MESSAGES_MIN} in {TIME_MIN} are needed"
        ),
        advice: "measure longer: -d 10s, or more messages with -n".to_owned(),
    })
}

/// Numbers of several rates together are those of a load that no experiment describes.
fn rate_changed(subject: &Subject<'_>) -> Option<Reason> {
    let changes: Vec<&RateChange> =
        subject.blocks.iter().flat_map(|block| &block.rate_changes).collect();
    let rates: Vec<String> = changes.iter().map(|change| change.rate.to_string()).collect();
    (!rates.is_empty()).then(|| Reason {
        code: "rate_changed".to_owned(),
        level: Level::Degraded,
        workload: Some(subject.index),
        numbers: Numbers::new(),
        message: "the rate was changed by hand while it was measured".to_owned(),
        evidence: format!("changed to {}", rates.join(", ")),
        advice: "run it again with the rate that is wanted, and leave it as it is".to_owned(),
    })
}

/// The percentiles are those of the blocks that did not fail, but for a few messages: a failed block adds no more of
/// them than were due or in flight.
fn failed_blocks(subject: &Subject<'_>) -> Option<Reason> {
    let blocks = subject.record.blocks.iter().filter(|block| block.workload == subject.index);
    let failed: Vec<(usize, &str)> =
        blocks.filter_map(|block| Some((block.round, block.failed.as_deref()?))).collect();
    let &(round, why) = failed.first()?;
    let (count, all) = (failed.len(), failed.len() + subject.blocks.len());
    Some(Reason {
        code: "failed_blocks".to_owned(),
        level: if count * 2 >= all { Level::Invalid } else { Level::Degraded },
        workload: Some(subject.index),
        numbers: Numbers::new(),
        message: "blocks failed, and the percentiles are mostly those of the others".to_owned(),
        evidence: format!(
            "{count} of {all} blocks, the first in round {}: {why}",
            round.saturating_add(1)
        ),
        advice: "fix their cause first; throughput counts them as blocks without replies"
            .to_owned(),
    })
}

fn failures(subject: &Subject<'_>) -> Option<Reason> {
    let message = if subject.is_open() {
        "messages failed; each counts with at least the reply timeout"
    } else {
        "messages failed, and the times are those of the others alone"
    };
    let rule = Rule {
        code: "failures",
        message: message.to_owned(),
        advice: "look at the errors before any percentile".to_owned(),
        outvoted: Outvoted::Softened,
    };
    subject.reason(rule, |block| {
        let of = |counts: Counts, whose: &str| {
            let Counts { sent, error, refused, timed_out, .. } = counts;
            let failed = fraction(counts.failed(), sent);
            let refusals = if refused > 0 { format!(", {refused} refusals") } else { String::new() };
            (failed > FAILED_MAX).then(|| Finding {
                level: Level::Degraded,
                numbers: Numbers::new(),
                weight: failed,
                evidence: format!(
                    "{error} errors{refusals} and {timed_out} timeouts of {sent} messages{whose} ({})",
                    percent(failed)
                ),
            })
        };
        let warm_up = block.warm_up.and_then(|counts| of(counts, " of the warm-up"));
        of(block.counts, "").into_iter().chain(warm_up).reduce(Finding::and)
    })
}

/// Messages that still wait when the drain ends are in no distribution, and they are the slowest. A signal ends
/// everything at once, so after one they prove nothing.
fn unanswered(subject: &Subject<'_>) -> Option<Reason> {
    if matches!(subject.record.ended, Ended::Interrupted { .. }) {
        return None;
    }
    let drain = subject.workload.spec.phases.drain;
    let rule = Rule {
        code: "unanswered",
        message:
            "messages were still waiting for replies when the drain ended: no percentile includes them"
                .to_owned(),
        advice: format!(
            "wait longer than {drain:#} for the last replies (--drain), or ask for less"
        ),
        outvoted: Outvoted::Softened,
    };
    subject.reason(rule, |block| {
        let counts = block.counts;
        // We killed the server that would have answered them.
        let unacknowledged = block.deliveries.as_ref().map_or(0, |it| it.counts.unacknowledged);
        let waiting = counts.in_flight_at_end.saturating_sub(unacknowledged);
        let evidence = format!("{waiting} of {} messages", counts.sent);
        let waiting = fraction(waiting, counts.sent);
        let level = if subject.is_open() { Level::Invalid } else { Level::Degraded };
        let moved = moved_by(waiting).map(|number| (number, level));
        let evidence = format!("{evidence} ({})", percent(waiting));
        let measured =
            Finding::of_some(moved.collect(), waiting, evidence).filter(|_| waiting > P99_MOVED);
        measured.into_iter().chain(silent(subject, block)).reduce(Finding::and)
    })
}

/// Messages of the warm-up that waited through the whole measurement. In a closed loop each of them stands for a user
/// who got no reply, however many messages the others exchanged.
fn silent(subject: &Subject<'_>, block: &Block) -> Option<Finding> {
    let Counts { sent, in_flight_at_end, .. } = block.warm_up?;
    let all = if subject.is_open() { sent } else { sent.min(subject.connections()) };
    let waiting = fraction(in_flight_at_end, all);
    (waiting > P99_MOVED).then(|| Finding {
        level: Level::Degraded,
        numbers: Numbers::new(),
        weight: waiting,
        evidence: format!(
            "{in_flight_at_end} messages of the warm-up were never answered, over {} connections",
            block.connections.opened
        ),
    })
}

fn unreliable(subject: &Subject<'_>) -> Option<Reason> {
    let rule = Rule {
        code: "unreliable_replies",
        message: "replies were lost, repeated, out of order or altered".to_owned(),
        advice: "look at the server and the network path: this is not a matter of speed".to_owned(),
        outvoted: Outvoted::Softened,
    };
    subject.reason(rule, |block| {
        if let Some(finding) = odd_deliveries(block) {
            return Some(finding);
        }
        let Identity { lost, duplicate, reordered, corrupted } = block.identity?;
        let all = [lost, duplicate, reordered, corrupted];
        let sum = all.iter().fold(0_u64, |sum, count| sum.saturating_add(*count));
        (sum > 0).then(|| Finding {
            level: Level::Degraded,
            numbers: Numbers::new(),
            weight: float(sum),
            evidence: format!(
                "{lost} lost, {duplicate} duplicate, {reordered} reordered, {corrupted} corrupted of {} messages",
                block.counts.sent
            ),
        })
    })
}

/// Deliveries to the tabs of a browser that did not arrive, or not once and in order. They are in none of the numbers
/// that other reasons are about.
fn undelivered_to_tabs(subject: &Subject<'_>) -> Option<Reason> {
    let rule = Rule {
        code: "undelivered_to_tabs",
        message: "not every tab got each message once and in order".to_owned(),
        advice: "a longer --drain lets a slow page catch up; look at the server, and at the library of the page"
            .to_owned(),
        outvoted: Outvoted::Softened,
    };
    subject.reason(rule, |block| {
        let TabDeliveries { counts, duplicate, reordered, foreign, .. } = block.tabs.as_ref()?;
        let odd = duplicate.saturating_add(*reordered).saturating_add(*foreign);
        let wrong = counts.missing().saturating_add(odd);
        (wrong > 0).then(|| Finding {
            level: Level::Degraded,
            numbers: Numbers::new(),
            weight: fraction(wrong, counts.owed),
            evidence: format!(
                "{counts}; {duplicate} duplicate, {reordered} out of order, {foreign} from another room"
            ),
        })
    })
}

/// Deliveries that arrived more than once, out of order, or without a subscription.
fn odd_deliveries(block: &Block) -> Option<Finding> {
    let DeliveryCounts { owed, duplicate, reordered, foreign, .. } =
        block.deliveries.as_ref()?.counts;
    let sum = duplicate.saturating_add(reordered).saturating_add(foreign);
    (sum > 0).then(|| Finding {
        level: Level::Degraded,
        numbers: Numbers::new(),
        weight: float(sum),
        evidence: format!(
            "{duplicate} duplicate, {reordered} reordered, {foreign} from another room or never published, beside \
             {owed} deliveries that were owed"
        ),
    })
}

/// Deliveries that did not arrive. Those that are lost count with the time-out of replies at least; those that may
/// still be in flight are in no distribution, and they are the slowest.
fn undelivered(subject: &Subject<'_>) -> Option<Reason> {
    let rule = Rule {
        code: "undelivered",
        message: "messages did not reach all receivers that they were owed to".to_owned(),
        advice: "look at what the server says about slow receivers and full queues, or ask for less; a longer --drain \
                 waits for what is still under way"
            .to_owned(),
        outvoted: Outvoted::Softened,
    };
    subject.reason(rule, |block| {
        let counts = block.deliveries.as_ref()?.counts;
        let DeliveryCounts { owed, lost, cut, in_flight_at_end, incomplete, .. } = counts;
        let missing = fraction(counts.missing(), owed);
        let waiting = fraction(in_flight_at_end, owed);
        let is_ended = !matches!(subject.record.ended, Ended::Interrupted { .. });
        let numbers = match is_ended && waiting > P99_MOVED {
            true => moved_by(waiting).map(|number| (number, Level::Invalid)).collect(),
            false => Numbers::new(),
        };
        let level = if numbers.is_empty() { Level::Degraded } else { Level::Invalid };
        let evidence = format!(
            "{} of {owed} deliveries ({}), of {incomplete} messages: {lost} lost, {cut} cut off with their receivers, \
             {in_flight_at_end} still under way when the drain ended",
            counts.missing(),
            percent(missing)
        );
        (missing > 0.0 && (is_ended || lost > 0 || cut > 0)).then_some(Finding {
            level,
            numbers,
            weight: missing,
            evidence,
        })
    })
}

fn unfair(subject: &Subject<'_>) -> Option<Reason> {
    let rule = Rule {
        code: "unfair",
        message: "some connections were served far less than others".to_owned(),
        advice: "look at how the server takes turns; with one thread per connection, at its number of threads"
            .to_owned(),
        outvoted: Outvoted::Shared,
    };
    subject.reason(rule, |block| {
        let fairness = block.fairness?;
        let (min, median) = (float(fairness.replies_min), float(fairness.replies_median));
        let mean = float(block.counts.ok) / float(fairness.connections.max(1));
        if fairness.replies_median == 0 && mean > STARVED_MEAN_MIN {
            // The times are those of the connections that were served, and no longer of all.
            return Some(Finding {
                level: Level::Invalid,
                numbers: Numbers::new(),
                weight: mean,
                evidence: format!(
                    "at least half of the {} connections had no reply, the others {} in all",
                    fairness.connections, block.counts.ok
                ),
            });
        }
        let by_chance = median - FAIR_SIGMAS * median.sqrt();
        (min < FAIR_MIN * median && min < by_chance).then(|| Finding {
            level: Level::Degraded,
            numbers: Numbers::new(),
            weight: 1.0 - min / median,
            evidence: format!(
                "the least served of {} connections had {} replies, the median {}",
                fairness.connections, fairness.replies_min, fairness.replies_median
            ),
        })
    })
}
