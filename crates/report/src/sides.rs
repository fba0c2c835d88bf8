//! Two servers that took turns: the answer, the table of their numbers, and the answer to the most that is allowed.
//!
//! The claims are those of the record ([`record::sides`]); nothing is computed again here.

use crate::document::Cell;
use crate::document::{Column, Remark, Table, Tone};
use crate::measured::{Group, Measured, server_bytes};
use crate::number::{self, MISSING, Unit};
use crate::requirements::{STRICT, unit};
use crate::verdict;
use record::{Change, Difference, Level, Regression, Required, RunRecord, Sides, Verdict};
use spec::Metric;
use stats::Pooled;

/// The answer in one sentence: whether the second side is slower, or how large a difference would have been shown.
pub(crate) fn conclusion(record: &RunRecord, verdict: &Verdict) -> Option<String> {
    let sides = record.sides.as_ref()?;
    let answer = if sides.is_same { of_same(sides) } else { of_two(sides) }?;
    let is_sure = verdict::allows(verdict, sides.head) && verdict.level == Level::Trusted;
    let doubt = if is_sure { "" } else { "; in doubt, see the verdict" };
    Some(format!("{answer}{doubt}."))
}

fn of_two(sides: &Sides) -> Option<String> {
    let claimed: Vec<&Difference> = sides.claimed().collect();
    let all: Vec<String> = claimed.iter().map(|it| shown(it)).collect();
    let all = all.join("; ");
    let has = |is_meant: &dyn Fn(Metric) -> bool, change| {
        claimed.iter().any(|it| is_meant(it.metric) && it.change == change)
    };
    let cost = |metric| !is_speed(metric);
    let speed = [Change::Worse, Change::Better].map(|change| has(&is_speed, change));
    let costs = [Change::Worse, Change::Better].map(|change| has(&cost, change));
    Some(match (speed, costs) {
        ([true, true], _) => format!("HEAD is slower by some numbers and faster by others: {all}"),
        ([true, false], _) => format!("HEAD is slower: {all}"),
        ([false, true], _) => format!("HEAD is faster: {all}"),
        (_, [true, true]) => format!("HEAD costs more of one thing and less of another: {all}"),
        (_, [true, false]) => format!("HEAD costs more: {all}; {}", unshown(sides)?),
        (_, [false, true]) => format!("HEAD costs less: {all}; {}", unshown(sides)?),
        _ => format!("No difference is shown: {}", unshown(sides)?),
    })
}

fn of_same(sides: &Sides) -> Option<String> {
    let claimed: Vec<String> = sides.claimed().map(shown).collect();
    Some(match claimed.is_empty() {
        true => {
            format!(
                "The same server on both sides, and no difference is claimed, as it should be: {}",
                unshown(sides)?
            )
        }
        false => format!(
            "A false alarm: {} would have been claimed, and both sides are the same server",
            claimed.join("; ")
        ),
    })
}

/// `p50 1.041x [1.028, 1.054]`.
fn shown(it: &Difference) -> String {
    format!("{} {}", label(it.metric), ratio(it))
}

/// `one of 2.1 % in p50 would have been`; the reason, if there is no such number.
fn unshown(sides: &Sides) -> Option<String> {
    let is_open =
        |it: &&Difference| it.change == Change::NotShown && it.metric != Metric::BytesPerMessage;
    let open = || sides.differences.iter().filter(is_open);
    let told: Vec<String> = open()
        .filter_map(|it| {
            let smallest = told_from(it)?;
            Some(format!("{} in {}", number::percent(smallest), label(it.metric)))
        })
        .collect();
    if sides.differences.is_empty() {
        return None;
    }
    Some(match &told[..] {
        [] if open().next().is_some() => "the rounds differ too much to tell one".to_owned(),
        [] => format!("there are no intervals, which take {} rounds", Pooled::ROUNDS_MIN),
        [only] => format!("one of {only} would have been"),
        [others @ .., last] => {
            format!("one of {} or {last} would have been", others.join(", "))
        }
    })
}

/// The numbers of both sides and their ratios.
pub(crate) fn table(record: &RunRecord, verdict: &Verdict, groups: &[Group<'_>]) -> Option<Table> {
    let sides = record.sides.as_ref()?;
    let find = |index| groups.iter().flat_map(|it| &it.rows).find(|it| it.row.index == index);
    let both = [find(sides.base)?, find(sides.head)?];
    let columns = vec![
        Column::new(both[0].row.time_word(), Unit::Words),
        Column::new("base", Unit::Words),
        Column::new("head", Unit::Words),
        Column::new("head to base [95 %]", Unit::Words).answering(),
        Column::new("claim", Unit::Words),
    ];
    let mut table = Table::new("", columns);
    for metric in SHOWN {
        let value = |it: &Measured<'_>| {
            let number = record::figure(it.pooled()?, metric)?;
            Some(unit(metric).show(number.value))
        };
        let values = both.map(value);
        if values.iter().all(Option::is_none) && metric != Metric::CpuPerMessage {
            continue;
        }
        let found = sides.differences.iter().find(|it| it.metric == metric);
        let level = doubt(verdict, sides, metric);
        table.row(match level {
            Level::Invalid => cells(label(metric), values, Some("invalid".to_owned()), None, level),
            Level::Trusted | Level::Degraded => {
                cells(label(metric), values, found.map(ratio), found.map(claim), level)
            }
        });
    }
    let memory = both.map(|it| it.median(server_bytes));
    if let [Some(base), Some(head)] = memory {
        let found = (base > 0.0).then(|| number::ratio(head / base, None));
        let values = memory.map(|bytes| bytes.map(|bytes| Unit::Size.show(bytes)));
        let level = doubt(verdict, sides, Metric::MemoryPerConnection);
        let found = found.filter(|_| level < Level::Invalid);
        table.row(cells("memory", values, found, None, level));
    }
    if let [Some(base), Some(head)] = both.map(Measured::recovery) {
        let found = head.over(&base);
        let found = number::ratio(found.value(), found.interval());
        let values = [base, head].map(|it| Some(Unit::Time.show(it.value())));
        let level = doubt(verdict, sides, Metric::Recovery);
        let found = Some(found).filter(|_| level < Level::Invalid);
        table.row(cells("recovery", values, found, None, level));
    }
    Some(table.noted(notes(&both, memory.iter().all(Option::is_some))))
}

fn cells(
    name: &str,
    values: [Option<String>; 2],
    ratio: Option<String>,
    claim: Option<String>,
    level: Level,
) -> Vec<Cell> {
    let words = |text: Option<String>| Cell::words(text.unwrap_or_else(|| MISSING.to_owned()));
    let [base, head] = values.map(words);
    vec![Cell::words(name), base, head, words(ratio).judged(level), words(claim)]
}

/// The load, and the reasons for what is missing.
fn notes([base, head]: &[&Measured<'_>; 2], has_memory: bool) -> Vec<String> {
    let (message, load, length) = (base.row.message(), base.row.condition(), base.row.length());
    let blocks = match base.all.len() {
        1 => "1 block".to_owned(),
        count => format!("{count} blocks"),
    };
    let mut notes = vec![format!("{message}, {load}; {blocks} {length} each, in turns")];
    let missing = [base, head].into_iter().find_map(|it| it.without_cpu("server_us_per_message"));
    notes.extend(missing.map(|why| format!("{MISSING} CPU/message of the server: {why}")));
    if has_memory {
        notes.push(
            "memory: that of these two processes; another start may take more or less".to_owned(),
        );
    }
    notes
}

/// The worst level of a number on either side.
fn doubt(verdict: &Verdict, sides: &Sides, metric: Metric) -> Level {
    let is_p99 = metric == Metric::P99;
    let judged = if is_p99 { record::Number::P99 } else { record::Number::P50 };
    let [base, head] = [sides.base, sides.head].map(|side| verdict.row(side).of_number(judged));
    base.max(head)
}

/// The smallest difference that would have been shown, as a share; `None` if it is more than tenfold, which says
/// nothing.
fn told_from(it: &Difference) -> Option<f64> {
    it.smallest_detectable_fraction.filter(|smallest| *smallest <= 10.0)
}

/// `slower`, or the smallest difference that would have been shown.
fn claim(it: &Difference) -> String {
    match (it.change, is_speed(it.metric)) {
        (Change::Worse, true) => "slower".to_owned(),
        (Change::Worse, false) => "more".to_owned(),
        (Change::Better, true) => "faster".to_owned(),
        (Change::Better, false) => "less".to_owned(),
        (Change::NotShown, _) => told_from(it).map_or_else(
            || "none: too noisy".to_owned(),
            |smallest| format!("none, from {} on", number::percent(smallest)),
        ),
        (Change::Unknown, _) => "none, no interval".to_owned(),
    }
}

/// The line on the most by which a number may be worse: `✗ at most 3% worse: p50 1.041x [1.028, 1.054]`.
pub(crate) fn allowed(record: &RunRecord) -> Option<Remark> {
    let sides = record.sides.as_ref()?;
    let asked = format!("at most {} worse", sides.regression_max?);
    let verdict = verdict::of(record);
    let of = |regression: Regression| {
        let found = sides.differences.iter().filter(move |it| it.regression == Some(regression));
        let words = |it: &Difference| match doubt(&verdict, sides, it.metric) {
            Level::Invalid => format!("{} is not a valid result", label(it.metric)),
            Level::Trusted | Level::Degraded => shown(it),
        };
        found.map(words).collect::<Vec<String>>().join("; ")
    };
    let open = [of(Regression::TooNoisy), of(Regression::Unknown)];
    let open = open.into_iter().filter(|it| !it.is_empty()).collect::<Vec<String>>().join("; ");
    let is_known = sides.differences.iter().any(|it| it.regression != Some(Regression::Unknown));
    let required = sides.required(record.is_strict());
    let (tone, mark, text) = match required {
        _ if verdict.level == Level::Invalid => {
            (Tone::Failed, "x", "invalid: see the verdict".to_owned())
        }
        Required::Regressed => (Tone::Failed, "✗", of(Regression::Found)),
        Required::NotMet if sides.differences.is_empty() => {
            (Tone::Failed, "?", "nothing was measured".to_owned())
        }
        Required::NotMet if !is_known => {
            (Tone::Failed, "?", format!("unknown, there is no interval: {open}; more rounds"))
        }
        Required::NotMet => {
            let text = format!("noise is larger than the margin{STRICT}: {open}; more rounds");
            (Tone::Failed, "~", text)
        }
        Required::Met | Required::Invalid if open.is_empty() => {
            (Tone::Plain, "✓", "beyond noise".to_owned())
        }
        Required::Met | Required::Invalid => {
            let text = format!("not shown, and more rounds may answer otherwise: {open}");
            (Tone::Doubtful, "~", text)
        }
    };
    Some(Remark::new(tone, mark, format!("{asked}: {text}")))
}

/// `1.041x [1.028, 1.054]`: a digit more than other tables have.
fn ratio(it: &Difference) -> String {
    let interval = it.low.zip(it.high);
    let (low, high) = interval.unwrap_or((it.ratio, it.ratio));
    if low < 0.1 || high > 9.0 {
        return number::ratio(it.ratio, interval);
    }
    match interval {
        Some((low, high)) => format!("{:.3}x [{low:.3}, {high:.3}]", it.ratio),
        None => format!("{:.3}x", it.ratio),
    }
}

fn label(metric: Metric) -> &'static str {
    if metric == Metric::CpuPerMessage { "CPU/message" } else { metric.name() }
}

/// True for a number that says how fast a side is, false for a cost.
fn is_speed(metric: Metric) -> bool {
    matches!(metric, Metric::P50 | Metric::P99 | Metric::MessagesPerS)
}

/// The numbers of the table.
const SHOWN: [Metric; 5] = [
    Metric::P50,
    Metric::P99,
    Metric::MessagesPerS,
    Metric::CpuPerMessage,
    Metric::BytesPerMessage,
];
