//! Answers: the result of a record in one sentence, and in a few numbers.

use crate::document::{Answer, Depth, marked};
use crate::measured::{Figure, Group, Measured, Ratio, cpu_us, message_ns};
use crate::number::{self, MISSING, Unit};
use crate::row::{self, Row};
use crate::{sides, sweep, verdict};
use record::{
    Comparison, Estimate, Kind, Level, Number, RunRecord, Summary, Verdict, WorkloadResult,
};

/// The answer in one sentence. `None` if there is nothing to compare, or if every compared row is in doubt. The
/// record's numbers and texts are in it as they are, unescaped, for the record itself.
///
/// For a ladder: the costs of rungs against the baseline, and the rungs for which no difference is shown. For a sweep:
/// the loads at which its lines bend. For a lab: the fastest row under its first load. For a single run: its throughput
/// and its percentiles.
pub fn conclusion(record: &RunRecord) -> Option<String> {
    let verdict = verdict::of(record);
    if verdict.level == Level::Invalid {
        return None;
    }
    match (&record.sweep, record.kind) {
        (Some(sweep), _) => sweep::conclusion(sweep),
        (None, Kind::Lab) => fastest_row(&Group::all(record, &verdict)),
        (None, Kind::Ab) => sides::conclusion(record, &verdict),
        (None, Kind::Imported) => None,
        (None, Kind::Run | Kind::Other) if row::count(record) == 1 => {
            let row = row::all(record).next()?;
            served(&Measured::of(record, &verdict, row))
        }
        (None, Kind::Run | Kind::Other) => carried(&Group::all(record, &verdict)),
        (None, Kind::Ladder | Kind::Sweep) => cost(record, &verdict),
    }
}

/// The largest of several loads that is answered nearly in full and not in doubt; `None` if loads have no rates.
fn carried(groups: &[Group<'_>]) -> Option<String> {
    let rows = groups.iter().flat_map(|group| &group.rows);
    let rows = rows.filter(|it| !it.row.is_closed() && it.seconds() > 0.0);
    let share = |it: &Measured<'_>| it.replies_per_s() / it.due_per_s();
    let mut rows: Vec<&Measured<'_>> = rows.collect();
    rows.sort_by(|one, other| one.due_per_s().total_cmp(&other.due_per_s()));
    let sure = |it: &&&Measured<'_>| it.trust.level == Level::Trusted && share(it) >= CARRIED_MIN;
    let largest = rows.iter().rfind(sure)?;
    let rate = number::per_second(largest.due_per_s());
    let (name, time) = (&largest.name, largest.row.time_word());
    let p50 = number::time(largest.number(message_ns)?);
    let above =
        rows.iter().find(|it| it.due_per_s() > largest.due_per_s() && share(it) < CARRIED_MIN);
    let above = above.map_or_else(String::new, |above| {
        format!("; of {}, {} are answered", above.name, number::percent(share(above)))
    });
    Some(format!("{name} ({rate}) are answered, with a {time} p50 of {p50}{above}."))
}

/// The throughput of a single run, and those of its percentiles that are not in doubt.
fn served(it: &Measured<'_>) -> Option<String> {
    let (result, times) = it.result.zip(it.times())?;
    let percentile = |name: &str, number: Number, value: Option<u64>, known: Option<Estimate>| {
        let is_sure = it.trust.of_number(number) == Level::Trusted;
        let value = number::float(value.filter(|_| is_sure)?);
        let interval = known.and_then(|it| it.low.zip(it.high));
        Some(format!("{name} {}", number::interval(Unit::Time, value, interval)))
    };
    let [p50, p99] = match it.row.is_closed() {
        true => [result.pooled.round_trip_p50_ns, result.pooled.round_trip_p99_ns],
        false => [result.pooled.response_p50_ns, result.pooled.response_p99_ns],
    };
    let percentiles = [
        percentile("p50", Number::P50, times.p50_ns, p50),
        percentile("p99", Number::P99, times.p99_ns, p99),
    ];
    let percentiles: Vec<String> = percentiles.into_iter().flatten().collect();
    let target = it.row.target();
    if percentiles.is_empty() {
        return None;
    }
    let answered = match it.row.is_closed() {
        true => {
            let rate = result.pooled.messages_per_s?;
            let rate = number::interval(Unit::Rate, rate.value, rate.low.zip(rate.high));
            format!("answers {rate}")
        }
        false => {
            let replies = number::per_second(it.replies_per_s());
            match it.row.publishes() {
                true => {
                    let owed = number::per_second(it.due_per_s());
                    format!("delivers {replies} of the {owed} that are owed")
                }
                false => format!("answers {replies} of the {} that were due", it.row.asked()),
            }
        }
    };
    Some(format!("{target} {answered}: {} {}.", it.row.time_word(), percentiles.join(", ")))
}

/// The costs of rows against the baseline, without the rows that are in doubt.
fn cost(record: &RunRecord, verdict: &Verdict) -> Option<String> {
    let baseline = row::baseline(record).filter(|it| verdict::allows(verdict, it.index))?;
    let allowed = record.results.iter().filter(|it| verdict::allows(verdict, it.workload));
    let mut compared: Vec<(Row<'_>, &Comparison)> =
        allowed.filter_map(|result| compared(record, result)).collect();
    let first = compared.first()?.0;
    // Those that most people ask for come first.
    let place = |row: &Row<'_>| {
        let known = ASKED_FOR.iter().position(|name| *name == row.name());
        known.unwrap_or(ASKED_FOR.len())
    };
    compared.sort_by_key(|(row, _)| place(row));
    compared.truncate(ASKED_FOR.len());
    let costs = compared.iter().filter(|(_, it)| is_shown(it) == Some(true));
    let costs: Vec<String> =
        costs.map(|(row, it)| format!("{} over {}", more(it), row.title())).collect();
    let mut alike = compared.iter().filter(|(_, it)| is_shown(it) == Some(false));
    let unshown = alike.next().map(|(row, first)| {
        let names: Vec<String> = [row]
            .into_iter()
            .chain(alike.clone().map(|(row, _)| row))
            .map(|row| row.title().to_owned())
            .collect();
        let smallest = alike.map(|(_, it)| *it).chain([*first]).max_by(|one, other| {
            let of = |it: &Comparison| it.smallest_detectable_fraction.unwrap_or(f64::INFINITY);
            of(one).total_cmp(&of(other))
        });
        let would = would_have_shown(smallest.and_then(|it| it.smallest_detectable_fraction));
        (listed(&names), would)
    });
    let time = if first.round_trips().is_some() { "the life of a client" } else { "a round trip" };
    let than = baseline.title();
    Some(match (&costs[..], unshown) {
        ([], None) => {
            let (row, it) = compared.first()?;
            let (what, ratio) = (row.title(), number::ratio(it.ratio, None));
            format!(
                "On this machine {time} over {what} takes {ratio} of one over {than}, in too few blocks for an interval."
            )
        }
        ([], Some((names, would))) => {
            format!(
                "In {time} on this machine, no difference from {than} is shown for {names} ({would})."
            )
        }
        (costs, unshown) => {
            let unshown = unshown.map_or_else(String::new, |(names, would)| {
                format!("; no difference is shown for {names} ({would})")
            });
            let costs = listed(costs);
            format!("Compared with {than}, {time} on this machine takes {costs}{unshown}.")
        }
    })
}

/// `3 % more [1, 5]`, `2.1 % more [0.3, 4.0]`, `45 % less [41, 48]`, `6.09x as long [5.91, 6.24]`: a comparison whose
/// interval excludes 1.
fn more(comparison: &Comparison) -> String {
    let Comparison { ratio, low, high, .. } = *comparison;
    let interval = low.zip(high);
    if !(0.0..2.0).contains(&ratio) {
        let text = number::ratio(ratio, interval);
        return text.replacen('x', "x as long", 1);
    }
    let sign = if ratio < 1.0 { -1.0 } else { 1.0 };
    // An end below half a percent would be shown as 0, as if the interval contained it.
    let ends_at_0 =
        interval.is_some_and(|(low, high)| [low, high].iter().any(|end| (end - 1.0).abs() < 0.005));
    let digits = usize::from(ends_at_0);
    let percent = |value: f64| format!("{:.digits$}", (value - 1.0) * 100.0 * sign);
    let word = if ratio < 1.0 { "less" } else { "more" };
    let ends = interval.map_or_else(String::new, |(low, high)| {
        let ends = if sign < 0.0 { [high, low] } else { [low, high] };
        format!(" [{}]", ends.map(percent).join(", "))
    });
    format!("{} % {word}{ends}", percent(ratio))
}

/// `a, b and c`.
fn listed(all: &[String]) -> String {
    match all {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// The least share of the messages due that must be answered for a load to count as answered.
const CARRIED_MIN: f64 = 0.99;
/// The rows that the answer names first; it names at most this many.
const ASKED_FOR: [&str; 4] = ["ws", "http", "wss", "http-new"];

/// True if the interval excludes 1; `None` without one.
fn is_shown(comparison: &Comparison) -> Option<bool> {
    let interval = comparison.low.zip(comparison.high);
    interval.map(|(low, high)| low > 1.0 || high < 1.0)
}

/// `4.0 % or more would have shown`; no number above 100 %.
pub(crate) fn would_have_shown(smallest: Option<f64>) -> String {
    let smallest = smallest.filter(|smallest| smallest.is_finite());
    match smallest {
        None => "the smallest detectable difference is not known".to_owned(),
        Some(smallest) if smallest > 1.0 => "blocks differ too much to tell".to_owned(),
        Some(smallest) => format!("{} or more would have shown", number::percent(smallest)),
    }
}

/// The row of `result`, and its round trip compared with the baseline's, if there is such a comparison.
fn compared<'a>(
    record: &'a RunRecord,
    result: &'a WorkloadResult,
) -> Option<(Row<'a>, &'a Comparison)> {
    let row = row::row(record, result.workload)?;
    Some((row, result.to_baseline.as_ref()?.round_trip_p50_ns.as_ref()?))
}

/// The fastest row that is not in doubt, of the first load that has one; the two fastest if they are not shown to
/// differ.
fn fastest_row(groups: &[Group<'_>]) -> Option<String> {
    let (group, ranked) = groups.iter().find_map(|group| {
        let ranked = group.unmarked(message_ns);
        (!ranked.is_empty()).then_some((group, ranked))
    })?;
    let first = *ranked.first()?;
    let marked = match group.ranked(message_ns).len() - ranked.len() {
        0 => String::new(),
        1 => " (one more is in doubt)".to_owned(),
        count => format!(" ({count} more are in doubt)"),
    };
    let conversation = first.row.conversation();
    let are_alike = ranked.iter().all(|other| other.row.conversation() == conversation);
    let at = match conversation {
        Some(name) if are_alike => format!("with conversation {name}"),
        None if are_alike => format!("at {}", first.row.size()),
        Some(_) | None => "each with requests of its own".to_owned(),
    };
    let condition = first.row.condition();
    let time = format!("{} {}", first.row.compared_time(), number::time(first.number(message_ns)?));
    let next = ranked.get(1).and_then(|next| Some((next, next.to(first, message_ns)?)));
    if let Some((next, ratio)) = next.as_ref().filter(|(_, ratio)| ratio.is_shown() == Some(false))
    {
        return Some(format!(
            "On this machine no difference is shown between {} and {}, the fastest of {}{marked}, {at}, {condition} \
             ({time}; {}; {}).",
            first.name,
            next.name,
            ranked.len(),
            ratio.text(),
            ratio.could_see()
        ));
    }
    let count = ranked.len();
    let names = match &next {
        None => format!("{} is alone", first.name),
        Some((_, ratio)) if ratio.is_shown().is_some() => {
            format!("{} is the fastest of {count}", first.name)
        }
        Some(_) => format!("{} comes first of {count}", first.name),
    };
    let ratio = to_zero(group, first, message_ns);
    let next = next.map_or_else(String::new, |(next, ratio)| format!("; {}", behind(next, ratio)));
    Some(format!(
        "On this machine {names}{marked}{} {at}, {condition} ({time}{ratio}){next}.",
        if are_alike && marked.is_empty() { "" } else { "," }
    ))
}

/// The numbers that a report begins with: where a sweep bends, the fastest row and the least CPU time of each load of a
/// lab, the percentiles of a run. Invalid numbers are not answers.
pub(crate) fn all(record: &RunRecord, verdict: &Verdict, groups: &[Group<'_>]) -> Vec<Answer> {
    match (&record.sweep, record.kind, groups) {
        // One of its percentiles may be valid where another is not.
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

/// The first row by `figure` that is not in doubt; both of the first two if they are not shown to differ.
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
    let either = |next: &Measured<'_>| format!("{} or {}", first.name, next.name);
    let (names, note) = match next {
        Some((next, ratio)) => match ratio.is_shown() {
            Some(true) => (first.name.clone(), Some(behind(next, ratio))),
            Some(false) => {
                let would = ratio.could_see();
                (either(next), Some(format!("no difference is shown: {}; {would}", ratio.text())))
            }
            None => (either(next), Some(behind(next, ratio))),
        },
        None => (first.name.clone(), None),
    };
    Some(Answer {
        label: format!("{label}{}", group.suffix()),
        value: format!("{names}: {value}{}", to_zero(group, first, figure)),
        notes: note.into_iter().map(|note| (Depth::Details, note)).collect(),
        depth: Depth::Details,
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

/// Percentiles and throughput, which the page repeats below.
fn of_run(it: &Measured<'_>) -> Vec<Answer> {
    let Some((result, times)) = it.result.zip(it.times()) else { return Vec::new() };
    let percentile = |name: &str, field: &str, number: Number, value: Option<u64>| {
        let level = it.trust.of_number(number);
        let value = value.map_or_else(|| MISSING.to_owned(), number::nanos);
        (level < Level::Invalid).then(|| Answer {
            label: format!("{} {name}", it.row.time_word()),
            value: marked(level, &value),
            notes: times
                .missing
                .get(field)
                .map(|why| (Depth::Full, why.clone()))
                .into_iter()
                .collect(),
            depth: Depth::Full,
        })
    };
    let Summary { p50_ns, p99_ns, p99_9_ns, .. } = *times;
    let percentiles = [
        percentile("p50", "p50_ns", Number::P50, p50_ns),
        percentile("p99", "p99_ns", Number::P99, p99_ns),
        percentile("p99.9", "p99_9_ns", Number::Tail, p99_9_ns),
    ];
    let rate = result.pooled.messages_per_s.filter(|_| it.is_allowed).map(|rate| Answer {
        label: if it.row.publishes() { "deliveries" } else { "replies" }.to_owned(),
        value: marked(
            it.trust.level,
            &number::interval(Unit::Rate, rate.value, rate.low.zip(rate.high)),
        ),
        depth: Depth::Full,
        ..Answer::default()
    });
    percentiles.into_iter().flatten().chain(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_leaves_out_1_is_not_shown_with_0() {
        for (ratio, [low, high], expected) in [
            (1.06, [1.04, 1.08], "6 % more [4, 8]"),
            (1.02, [1.003, 1.04], "2.0 % more [0.3, 4.0]"),
            (0.98, [0.96, 0.997], "2.0 % less [0.3, 4.0]"),
            (0.55, [0.52, 0.59], "45 % less [41, 48]"),
        ] {
            let comparison = Comparison {
                ratio,
                low: Some(low),
                high: Some(high),
                smallest_detectable_fraction: None,
                moved_most_fraction: None,
            };
            assert_eq!(more(&comparison), expected);
        }
    }

    #[test]
    fn what_would_have_shown_is_no_number_above_100_percent() {
        assert_eq!(would_have_shown(Some(0.04)), "4.0 % or more would have shown");
        assert_eq!(would_have_shown(Some(1.0)), "100 % or more would have shown");
        assert_eq!(would_have_shown(Some(3.4)), "blocks differ too much to tell");
        assert_eq!(
            would_have_shown(Some(f64::INFINITY)),
            "the smallest detectable difference is not known"
        );
        assert_eq!(would_have_shown(None), "the smallest detectable difference is not known");
    }
}
