//! What a lab comes to at one glance: who is fastest, who takes the least CPU time, by how much, and whether the one
//! that comes next is shown to differ at all.

use super::rows::{Group, Metric, Row, cpu_us, message_ns, message_words};
use crate::number;
use crate::words;
use record::RunRecord;

/// An answer, and what the number two has to say to it.
pub(crate) struct Answer {
    /// `fastest`, `least CPU`.
    pub(crate) label: &'static str,
    /// Who it is.
    pub(crate) name: String,
    /// With what number.
    pub(crate) found: String,
    /// Of the next in rank; `None` if nobody is.
    pub(crate) next: Option<String>,
}

/// The answers of a group; none if nothing was measured but what all are compared with.
pub(crate) fn answers(group: &Group<'_>) -> Vec<Answer> {
    let what = group.rows.first().map_or("", |row| message_words(row.workload));
    let times = |ns: f64| format!("{what} {}", number::time(ns));
    let cpu = |us: f64| format!("{} a message, both sides together", number::micros(us));
    [answer(group, "fastest", message_ns, &times), answer(group, "least CPU", cpu_us, &cpu)]
        .into_iter()
        .flatten()
        .collect()
}

fn answer(
    group: &Group<'_>,
    label: &'static str,
    metric: Metric,
    show: &dyn Fn(f64) -> String,
) -> Option<Answer> {
    let ranked = group.ranked(metric);
    let first = ranked.first()?;
    let value = show(first.median(metric)?);
    let ratio = group.zero().filter(|zero| zero.is_allowed).and_then(|zero| {
        Some(format!(", {} of {}", first.to(zero, metric)?.cell(), zero.base_name()))
    });
    let next = ranked.get(1).and_then(|next| against(next, first, metric));
    Some(Answer {
        label,
        name: first.name.clone(),
        found: format!("{value}{}", ratio.unwrap_or_default()),
        next,
    })
}

/// `play takes 1.06x [1.04, 1.08] of that`, or that no difference is shown.
fn against(next: &Row<'_>, first: &Row<'_>, metric: Metric) -> Option<String> {
    let ratio = next.to(first, metric)?;
    let (name, cell) = (&next.name, ratio.cell());
    Some(match ratio.is_shown() {
        Some(true) => format!("{name} comes next, with {cell} of that"),
        Some(false) => format!("no difference is shown to {name}: {cell}; {}", ratio.could_see()),
        None => {
            format!("{name} comes next, with {cell} of that, in too few blocks for an interval")
        }
    })
}

/// The answer in one sentence, of the first load that has one; unescaped.
pub(crate) fn conclusion(groups: &[Group<'_>]) -> Option<String> {
    let (group, first, ranked) = groups.iter().find_map(|group| {
        let ranked = group.ranked(message_ns);
        Some((group, *ranked.first()?, ranked))
    })?;
    let what = message_words(first.workload);
    let count = match ranked.len() {
        1 => "alone".to_owned(),
        count => format!("the fastest of {count}"),
    };
    let zero = group
        .zero()
        .filter(|zero| zero.is_allowed)
        .and_then(|zero| Some(format!(" of {}", zero.base_name())).zip(first.to(zero, message_ns)));
    let ratio = zero.map_or_else(String::new, |(of, ratio)| format!(", {}{of}", ratio.cell()));
    let next = ranked.get(1).and_then(|next| against(next, first, message_ns));
    let next = next.map_or_else(String::new, |next| format!("; {next}"));
    Some(format!(
        "On this machine {} is {count} at {}, {} ({what} {}{ratio}){next}.",
        first.name,
        words::size(first.workload),
        words::condition(first.workload),
        number::time(first.median(message_ns)?)
    ))
}

/// The heading of a group: its name and what is asked of each row.
pub(crate) fn heading(record: &RunRecord, group: &Group<'_>) -> String {
    let Some(row) = group.zero().or_else(|| group.rows.first()) else { return String::new() };
    let name = if group.load.is_empty() { String::new() } else { format!("{}: ", group.load) };
    let length = match row.workload.stop {
        record::Stop::DurationNs(ns) => format!("of {}", number::nanos(ns)),
        record::Stop::Messages(count) => format!("of {count} messages"),
        record::Stop::Clients(count) => format!("of {count} clients"),
    };
    let message = words::message(row.workload);
    let is_of_all = group.rows.iter().all(|other| words::message(other.workload) == message);
    let message = if is_of_all { message } else { words::size(row.workload) };
    let blocks = match record.plan.rounds.len() {
        1 => format!("1 block {length}"),
        count => format!("{count} blocks {length} each"),
    };
    format!("{name}{message}, {}; {blocks}", words::load(row.workload))
}
