//! Answers: the result of a record in one sentence, and in a few numbers.

use crate::document::{self, Answer};
use crate::measured::{Figure, Group, Measured, Ratio, cpu_us, message_ns};
use crate::number::{self, MISSING, Unit};
use crate::row::{self, Row};
use crate::{sweep, verdict};
use record::{Comparison, Kind, Level, Number, RunRecord, Summary, Verdict, WorkloadResult};

/// The answer in one sentence. `None` if there is nothing to compare, or if no row that is compared is without doubt.
/// It has the record's numbers and texts as they are, unescaped, for the record itself.
///
/// Of a comparison: the cost of WebSocket against the baseline or, if that is not shown, of the first row that
/// differs; what TLS adds to a WebSocket message, if that was measured and shows. Of a sweep: where its lines bend. Of
/// a lab: the fastest row under its first load.
pub fn conclusion(record: &RunRecord) -> Option<String> {
    let verdict = verdict::of(record);
    if verdict.level == Level::Invalid {
        return None;
    }
    match (&record.sweep, record.kind) {
        (Some(sweep), _) => sweep::conclusion(sweep),
        (None, Kind::Lab) => fastest_row(&Group::all(record, &verdict)),
        (None, Kind::Imported) => None,
        (None, _) => cost(record, &verdict),
    }
}

/// The cost of a row against the baseline, by rows without doubt alone.
fn cost(record: &RunRecord, verdict: &Verdict) -> Option<String> {
    let baseline = row::baseline(record).filter(|it| verdict::allows(verdict, it.index))?;
    let allowed = record.results.iter().filter(|it| verdict::allows(verdict, it.workload));
    let compared: Vec<(Row<'_>, &Comparison)> =
        allowed.filter_map(|result| compared(record, result)).collect();
    let websocket_or_first = |of: &dyn Fn(&Comparison) -> bool| {
        let all = || compared.iter().filter(|(_, comparison)| of(comparison)).copied();
        all().find(|(row, _)| row.name() == "ws").or_else(|| all().next())
    };
    let shown = websocket_or_first(&|it| is_shown(it) == Some(true));
    let (row, comparison) = shown.or_else(|| websocket_or_first(&|_| true))?;

    let (what, than, size) = (row.title(), baseline.title(), row.size());
    let time = if row.round_trips().is_some() { "life of a client" } else { "round trip" };
    let condition = format!("{time} p50, {}", row.condition());
    let ratio = number::ratio(comparison.ratio, comparison.low.zip(comparison.high));
    Some(match is_shown(comparison) {
        Some(false) => format!(
            "On this machine no difference is shown between {what} and {than} at {size}: {ratio}; {} ({condition}).",
            would_have_been(comparison)
        ),
        Some(true) => {
            let is_websocket = |row: &Row<'_>| row.name() == "ws";
            let more = match compared.iter().find(|(other, _)| is_websocket(other)) {
                Some(_) if is_websocket(&row) => tls_adds(record, verdict).unwrap_or_default(),
                Some((other, alike)) if is_shown(alike) == Some(false) => {
                    let (what, would) = (other.title(), would_have_been(alike));
                    format!("; of {what} no difference is shown: {would}")
                }
                Some(_) | None => String::new(),
            };
            format!("On this machine {what} costs {ratio} of {than} at {size} ({condition}){more}.")
        }
        None => format!(
            "On this machine {what} took {ratio} of {than} at {size}, in too few blocks for an interval ({condition})."
        ),
    })
}

/// True if the interval leaves out 1; `None` without one.
fn is_shown(comparison: &Comparison) -> Option<bool> {
    let interval = comparison.low.zip(comparison.high);
    interval.map(|(low, high)| low > 1.0 || high < 1.0)
}

/// `4 % or more would have been`.
fn would_have_been(comparison: &Comparison) -> String {
    let smallest = comparison.smallest_detectable_fraction.filter(|smallest| smallest.is_finite());
    smallest.map_or_else(
        || "what would have been is not known".to_owned(),
        |smallest| format!("{} or more would have been", number::percent(smallest)),
    )
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
            && all.iter().all(|index| verdict.row(*index).level == Level::Trusted)
    };
    let cpu = record.added.iter().find(is_wss)?.cpu_us_per_message?;
    let interval = cpu.low.zip(cpu.high).filter(|(low, _)| *low > 0.0)?;
    let cpu = number::interval(Unit::Cpu, cpu.value, Some(interval));
    Some(format!(", and TLS adds {cpu} of CPU to each of its messages"))
}

/// The fastest row of the first load that has one, of those without doubt; the two fastest if they are not shown to
/// differ.
fn fastest_row(groups: &[Group<'_>]) -> Option<String> {
    let (group, ranked) = groups.iter().find_map(|group| {
        let ranked = group.unmarked(message_ns);
        (!ranked.is_empty()).then_some((group, ranked))
    })?;
    let first = *ranked.first()?;
    let marked = match group.ranked(message_ns).len() - ranked.len() {
        0 => String::new(),
        1 => ", without one that is in doubt".to_owned(),
        count => format!(", without {count} that are in doubt"),
    };
    let (size, condition) = (first.row.size(), first.row.condition());
    let time = format!("{} {}", first.row.compared_time(), number::time(first.number(message_ns)?));
    let next = ranked.get(1).and_then(|next| Some((next, next.to(first, message_ns)?)));
    if let Some((next, ratio)) = next.as_ref().filter(|(_, ratio)| ratio.is_shown() == Some(false))
    {
        return Some(format!(
            "On this machine no difference is shown between {} and {}, the fastest of {}{marked}, at {size}, {condition} \
             ({time}; {}; {}).",
            first.name,
            next.name,
            ranked.len(),
            ratio.text(),
            ratio.could_see()
        ));
    }
    let count = match ranked.len() {
        1 => "alone".to_owned(),
        count => format!("the fastest of {count}"),
    };
    let ratio = to_zero(group, first, message_ns);
    let next = next.map_or_else(String::new, |(next, ratio)| format!("; {}", behind(next, ratio)));
    Some(format!(
        "On this machine {} is {count}{marked} at {size}, {condition} ({time}{ratio}){next}.",
        first.name
    ))
}

/// The numbers that a report begins with: where a sweep bends, the fastest row and the least CPU time of each load of a
/// lab, the percentiles of a run. What is invalid is no answer.
pub(crate) fn all(record: &RunRecord, verdict: &Verdict, groups: &[Group<'_>]) -> Vec<Answer> {
    match (&record.sweep, record.kind, groups) {
        // One of its percentiles may hold where another does not.
        (None, Kind::Run | Kind::Other, [Group { rows, .. }]) if rows.len() == 1 => {
            rows.first().map(of_run).unwrap_or_default()
        }
        _ if verdict.level == Level::Invalid => Vec::new(),
        (Some(sweep), ..) => {
            (0..sweep.lines.len()).map(|line| sweep::answer(sweep, line)).collect()
        }
        (None, Kind::Lab, _) => groups.iter().flat_map(of_load).collect(),
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

/// The first row by `figure` of those without doubt; both of the first two if they are not shown to differ.
fn answer(
    group: &Group<'_>,
    label: &str,
    figure: Figure,
    show: &dyn Fn(f64) -> String,
) -> Option<Answer> {
    let ranked = group.unmarked(figure);
    let first = ranked.first()?;
    let value = show(first.number(figure)?);
    let next = ranked.get(1).and_then(|next| Some((next, next.to(first, figure)?)));
    let (names, note) = match next {
        Some((next, ratio)) if ratio.is_shown() == Some(false) => (
            format!("{} or {}", first.name, next.name),
            Some(format!("no difference is shown: {}; {}", ratio.text(), ratio.could_see())),
        ),
        Some((next, ratio)) => (first.name.clone(), Some(behind(next, ratio))),
        None => (first.name.clone(), None),
    };
    Some(Answer {
        label: format!("{label}{}", group.suffix()),
        value: format!("{names}: {value}{}", to_zero(group, first, figure)),
        notes: note.into_iter().collect(),
        is_repeated: false,
    })
}

/// `, 2.00x of raw TCP`; empty where there is nothing to compare with.
fn to_zero(group: &Group<'_>, it: &Measured<'_>, figure: Figure) -> String {
    let zero = group.zero().filter(|zero| zero.trust.level == Level::Trusted);
    let ratio = zero.and_then(|zero| Some((zero.base_name(), it.to(zero, figure)?)));
    ratio.map_or_else(String::new, |(of, ratio)| format!(", {} of {of}", ratio.text()))
}

/// `play comes next, with 1.06x [1.04, 1.08] of that`.
fn behind(next: &Measured<'_>, ratio: Ratio) -> String {
    let (name, text) = (&next.name, ratio.text());
    let blocks = if ratio.interval.is_none() { ", in too few blocks for an interval" } else { "" };
    format!("{name} comes next, with {text} of that{blocks}")
}

/// Percentiles and throughput, which the page has again below.
fn of_run(it: &Measured<'_>) -> Vec<Answer> {
    let Some((result, times)) = it.result.zip(it.times()) else { return Vec::new() };
    let judged = |level: Level, value: String| match document::mark(level) {
        "" => value,
        mark => format!("{mark} {value}"),
    };
    let percentile = |name: &str, field: &str, number: Number, value: Option<u64>| {
        let level = it.trust.of_number(number);
        let value = value.map_or_else(|| MISSING.to_owned(), number::nanos);
        (level < Level::Invalid).then(|| Answer {
            label: format!("{} {name}", it.row.time_word()),
            value: judged(level, value),
            notes: times.missing.get(field).cloned().into_iter().collect(),
            is_repeated: true,
        })
    };
    let Summary { p50_ns, p99_ns, p99_9_ns, .. } = *times;
    let percentiles = [
        percentile("p50", "p50_ns", Number::P50, p50_ns),
        percentile("p99", "p99_ns", Number::P99, p99_ns),
        percentile("p99.9", "p99_9_ns", Number::Tail, p99_9_ns),
    ];
    let rate = result.pooled.messages_per_s.filter(|_| it.is_allowed).map(|rate| Answer {
        label: "replies".to_owned(),
        value: judged(
            it.trust.level,
            number::interval(Unit::Rate, rate.value, rate.low.zip(rate.high)),
        ),
        is_repeated: true,
        ..Answer::default()
    });
    percentiles.into_iter().flatten().chain(rate).collect()
}
