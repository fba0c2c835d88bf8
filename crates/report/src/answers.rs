//! Answers: the result of a record in one sentence, and in a few numbers.

use crate::document::Answer;
use crate::measured::{Group, Measured, Metric, cpu_us, message_ns};
use crate::number::{self, MISSING, Unit};
use crate::row::{self, Row};
use crate::{sweep, verdict};
use record::{Comparison, Kind, Level, RunRecord, Summary, Verdict, WorkloadResult};

/// The answer in one sentence: the cost of WebSocket against the baseline or, if that was not measured, that of the
/// first rung that was; and what TLS adds to a WebSocket message, if that was measured and shows. `None` if there is
/// nothing to compare, or if the verdict says that it is no result. It has the record's numbers and texts as they are,
/// unescaped, for the record itself.
///
/// Of a sweep: where its lines bend. Of a lab: the fastest row under its first load.
pub fn conclusion(record: &RunRecord) -> Option<String> {
    let verdict = verdict::of(record);
    match (&record.sweep, record.kind) {
        (Some(sweep), _) => sweep::conclusion(sweep).filter(|_| verdict.level < Level::Invalid),
        (None, Kind::Lab) => fastest_row(&Group::all(record, &verdict)),
        (None, Kind::Imported) => None,
        (None, _) => cost(record, &verdict),
    }
}

/// The cost of a rung against the baseline.
fn cost(record: &RunRecord, verdict: &Verdict) -> Option<String> {
    let baseline = row::baseline(record).filter(|it| !verdict::forbids(verdict, it.index))?;
    let allowed =
        record.results.iter().filter(|result| !verdict::forbids(verdict, result.workload));
    let compared: Vec<(Row<'_>, &Comparison)> =
        allowed.filter_map(|result| compared(record, result)).collect();
    let websocket = compared.iter().find(|(row, _)| row.name() == "ws");
    let (row, comparison) = *websocket.or_else(|| compared.first())?;

    let (what, than, size) = (row.title(), baseline.title(), row.size());
    let time = if row.round_trips().is_some() { "life of a client" } else { "round trip" };
    let condition = format!("{time} p50, {}", row.condition());
    let interval = comparison.low.zip(comparison.high);
    let ratio = number::ratio(comparison.ratio, interval);
    Some(match interval {
        Some((low, high)) if low <= 1.0 && high >= 1.0 => {
            let smallest = comparison.smallest_detectable_fraction;
            let smallest = smallest.map_or_else(|| "unknown".to_owned(), number::percent);
            format!(
                "On this machine no difference is shown between {what} and {than} at {size}: {ratio}, \
                 smallest detectable difference {smallest} ({condition})."
            )
        }
        Some(_) => {
            let tls = tls_adds(record, verdict).filter(|_| websocket.is_some());
            let tls = tls.unwrap_or_default();
            format!("On this machine {what} costs {ratio} of {than} at {size} ({condition}){tls}.")
        }
        None => format!(
            "On this machine {what} took {ratio} of {than} at {size}, in too few blocks for an interval ({condition})."
        ),
    })
}

/// The row of `result` and how its round trip compares with the baseline's, if it does.
fn compared<'a>(
    record: &'a RunRecord,
    result: &'a WorkloadResult,
) -> Option<(Row<'a>, &'a Comparison)> {
    let row = row::row(record, result.workload)?;
    Some((row, result.to_baseline.as_ref()?.round_trip_p50_ns.as_ref()?))
}

/// The CPU time that TLS adds to a WebSocket message, where that is shown and allowed.
fn tls_adds(record: &RunRecord, verdict: &Verdict) -> Option<String> {
    let is_wss = |added: &&record::Added| {
        let all = [added.workload, added.base];
        all.map(|index| row::name(record, index)) == ["wss", "ws"]
            && !all.iter().any(|index| verdict::forbids(verdict, *index))
    };
    let cpu = record.added.iter().find(is_wss)?.cpu_us_per_message?;
    let interval = cpu.low.zip(cpu.high).filter(|(low, _)| *low > 0.0)?;
    let cpu = number::interval(Unit::Cpu, cpu.value, Some(interval));
    Some(format!(", and TLS adds {cpu} of CPU to each of its messages"))
}

/// The fastest row of the first load that has one.
fn fastest_row(groups: &[Group<'_>]) -> Option<String> {
    let (group, ranked) = groups.iter().find_map(|group| {
        let ranked = group.ranked(message_ns);
        (!ranked.is_empty()).then_some((group, ranked))
    })?;
    let first = *ranked.first()?;
    let count = match ranked.len() {
        1 => "alone".to_owned(),
        count => format!("the fastest of {count}"),
    };
    let ratio = to_zero(group, first, message_ns);
    let next = ranked.get(1).and_then(|next| against(next, first, message_ns));
    let next = next.map_or_else(String::new, |next| format!("; {next}"));
    Some(format!(
        "On this machine {} is {count} at {}, {} ({} {}{ratio}){next}.",
        first.name,
        first.row.size(),
        first.row.condition(),
        first.row.compared_time(),
        number::time(first.median(message_ns)?)
    ))
}

/// The numbers that a report begins with: where a sweep bends, the fastest row and the least CPU time of each load of a
/// lab, the percentiles of a run.
pub(crate) fn all(record: &RunRecord, groups: &[Group<'_>]) -> Vec<Answer> {
    match (&record.sweep, record.kind, groups) {
        (Some(sweep), ..) => sweep.lines.iter().map(|line| sweep::answer(sweep, line)).collect(),
        (None, Kind::Lab, _) => groups.iter().flat_map(of_load).collect(),
        (None, Kind::Run | Kind::Other, [Group { rows, .. }]) if rows.len() == 1 => {
            rows.first().map(of_run).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// The answers of a load; none if nothing was measured but the row that all are compared with.
fn of_load(group: &Group<'_>) -> Vec<Answer> {
    let what = group.rows.first().map_or("", |it| it.row.compared_time());
    let time = |ns: f64| format!("{what} {}", number::time(ns));
    let cpu = |us: f64| format!("{} a message, both sides together", number::micros(us));
    [answer(group, "fastest", message_ns, &time), answer(group, "least CPU", cpu_us, &cpu)]
        .into_iter()
        .flatten()
        .collect()
}

fn answer(
    group: &Group<'_>,
    label: &str,
    metric: Metric,
    show: &dyn Fn(f64) -> String,
) -> Option<Answer> {
    let ranked = group.ranked(metric);
    let first = ranked.first()?;
    let (name, value) = (&first.name, show(first.median(metric)?));
    let next = ranked.get(1).and_then(|next| against(next, first, metric));
    Some(Answer {
        label: format!("{label}{}", group.suffix()),
        value: format!("{name}: {value}{}", to_zero(group, first, metric)),
        notes: next.into_iter().collect(),
        is_repeated: false,
    })
}

/// `, 2.00x of raw TCP`; empty where there is nothing to compare with.
fn to_zero(group: &Group<'_>, it: &Measured<'_>, metric: Metric) -> String {
    let zero = group.zero().filter(|zero| zero.is_allowed);
    let ratio = zero.and_then(|zero| Some((zero.base_name(), it.to(zero, metric)?)));
    ratio.map_or_else(String::new, |(of, ratio)| format!(", {} of {of}", ratio.text()))
}

/// `play takes 1.06x [1.04, 1.08] of that`, or that no difference is shown.
fn against(next: &Measured<'_>, first: &Measured<'_>, metric: Metric) -> Option<String> {
    let ratio = next.to(first, metric)?;
    let (name, text) = (&next.name, ratio.text());
    Some(match ratio.is_shown() {
        Some(true) => format!("{name} comes next, with {text} of that"),
        Some(false) => format!("no difference is shown to {name}: {text}; {}", ratio.could_see()),
        None => {
            format!("{name} comes next, with {text} of that, in too few blocks for an interval")
        }
    })
}

/// Percentiles and throughput, which the page has again below.
fn of_run(it: &Measured<'_>) -> Vec<Answer> {
    let Some((result, times)) = it.result.zip(it.times()) else { return Vec::new() };
    let percentile = |name: &str, field: &str, value: Option<u64>| Answer {
        label: format!("{} {name}", it.row.time_word()),
        value: value.map_or_else(|| MISSING.to_owned(), number::nanos),
        notes: times.missing.get(field).cloned().into_iter().collect(),
        is_repeated: true,
    };
    let Summary { p50_ns, p99_ns, p99_9_ns, .. } = *times;
    let mut answers = vec![
        percentile("p50", "p50_ns", p50_ns),
        percentile("p99", "p99_ns", p99_ns),
        percentile("p99.9", "p99_9_ns", p99_9_ns),
    ];
    answers.extend(result.medians.messages_per_s.map(|rate| Answer {
        label: "replies".to_owned(),
        value: number::interval(Unit::Rate, rate.value, rate.low.zip(rate.high)),
        is_repeated: true,
        ..Answer::default()
    }));
    answers
}
