//! Results published by others beside ours: rows of numbers, and statements about the lines of a sweep.
//!
//! The numbers and statements are data of the record, which has them from the file of the experiment. Absolute numbers
//! are of other machines and years; shapes and ratios can be compared. Everything said about our numbers is computed
//! from the record.

use crate::benchmark::{Aggregates, Mean};
use crate::document::{Cell, Column, Depth, Fact, Part, Section, Table, Tone, marked};
use crate::measured::{Group, Measured, Spread};
use crate::number::{self, MISSING, Unit};
use crate::steps::{self, EventBytes, carried_by_both, last_carried, of_line};
use crate::verdict;
use record::{
    Claim, ClaimMeasure, Knee, Level, Published, PublishedRow, RunRecord, Sweep, SweepStep, Verdict,
};

/// Everything that was published; `None` if nothing was.
pub(crate) fn section(record: &RunRecord, groups: &[Group<'_>]) -> Option<Section> {
    let of_lab = record.lab.as_ref().and_then(|lab| lab.published.as_ref());
    let of_sweep = record.sweep.as_ref().and_then(|sweep| sweep.published.as_ref());
    let published = of_lab.or(of_sweep)?;
    let Published { source, rows, notes, claims } = published;
    let mut parts = vec![Part::Text(Tone::Plain, format!("{source}."))];
    let tables = KINDS.iter().map(|fields| table(groups, rows, fields));
    parts.extend(tables.filter(|table| !table.rows.is_empty()).map(Part::Table));
    let unmatched = rows.iter().filter(|row| here(groups, row).is_none());
    let unmatched: Vec<&str> = unmatched.map(|row| row.name.as_str()).collect();
    if !unmatched.is_empty() {
        let text = format!("Without a valid counterpart here: {}.", unmatched.join(", "));
        parts.push(Part::Text(Tone::Plain, text));
    }
    if let Some(sweep) = record.sweep.as_ref().filter(|_| !claims.is_empty()) {
        let verdict = verdict::of(record);
        let fact = |claim| fact(record, sweep, &verdict, claim);
        parts.push(Part::Facts(claims.iter().map(fact).collect()));
    }
    let years = "Machines and years differ: compare the shape and the ratios.";
    parts.push(Part::Text(Tone::Plain, years.to_owned()));
    parts.extend(notes.iter().map(|note| Part::Text(Tone::Plain, note.clone())));
    Some(Section::new("Against the published figures", parts).at(Depth::Details))
}

/// The fields of a kind that were published, and the rows that have the first of them.
fn table(groups: &[Group<'_>], all: &[PublishedRow], fields: &[Field]) -> Table {
    let has = |field: &Field, row: &PublishedRow| (field.there)(row).is_some();
    let first = fields.first();
    let fields: Vec<&Field> =
        fields.iter().filter(|field| all.iter().any(|row| has(field, row))).collect();
    let mut columns = vec![Column::new("published row", Unit::Words)];
    for field in &fields {
        let head = |side| Column::new(format!("{} {side}", field.name), Unit::Plain);
        columns.extend(["there", "here"].map(head));
    }
    let mut table = Table::new("", columns);
    for row in all.iter().filter(|row| first.is_some_and(|first| has(first, row))) {
        let found = here(groups, row);
        let level = found.map(|found| found.trust.level).unwrap_or_default();
        let mut cells = vec![Cell::words(row.name.clone()).judged(level)];
        for field in &fields {
            let there = (field.there)(row).map_or(Cell::Missing, as_published);
            let ours = found.and_then(|found| match field.here {
                Here::Of(of) => of(found),
                Here::ToBase(of) => {
                    row.ratio?;
                    Some(of(found)? / of(here(groups, base(all, row)?)?)?)
                }
            });
            cells.extend([there, Cell::number(ours)]);
        }
        table.row(cells);
    }
    let has_ratio = fields.iter().any(|field| matches!(field.here, Here::ToBase(_)));
    table.noted(has_ratio.then(|| OF_MEANS.to_owned()))
}

/// The ratios here are not those of other tables.
const OF_MEANS: &str = "Each ratio is that of the two times beside it, as it was published: of means, which one slow \
                        message moves. Other tables compare by the p50, with an interval.";

/// A value to the digit: a difference in the fourth one may have been published as one.
fn as_published(value: f64) -> Cell {
    let text = value.to_string();
    if text.len() > PUBLISHED_MAX { Cell::Number(value, None) } else { Cell::words(text) }
}

/// The row that is the counterpart of a published one, if it was measured and is valid.
fn here<'a>(groups: &'a [Group<'a>], row: &PublishedRow) -> Option<&'a Measured<'a>> {
    let name = row.here.as_deref()?;
    let mut all = groups.iter().flat_map(|group| &group.rows);
    all.find(|it| it.row.name() == name).filter(|it| it.result.is_some() && it.is_allowed)
}

/// The row that a published ratio refers to: the last row up to it whose own ratio is 1.
fn base<'a>(all: &'a [PublishedRow], row: &PublishedRow) -> Option<&'a PublishedRow> {
    let at = all.iter().position(|other| std::ptr::eq(other, row))?;
    let is_base = |row: &&PublishedRow| row.ratio.is_some_and(|ratio| (ratio - 1.0).abs() < 1e-9);
    all[..=at].iter().rev().find(is_base)
}

/// A number that was published, and the same one here.
struct Field {
    name: &'static str,
    there: fn(&PublishedRow) -> Option<f64>,
    here: Here,
}

enum Here {
    Of(fn(&Measured<'_>) -> Option<f64>),
    /// The number divided by that of the published base, as those results were compared.
    ToBase(fn(&Measured<'_>) -> Option<f64>),
}

const fn field(
    name: &'static str,
    there: fn(&PublishedRow) -> Option<f64>,
    here: fn(&Measured<'_>) -> Option<f64>,
) -> Field {
    Field { name, there, here: Here::Of(here) }
}

/// The ratio of a row's number to that of the base.
const fn ratio(name: &'static str, here: fn(&Measured<'_>) -> Option<f64>) -> Field {
    Field { name, there: |row| row.ratio, here: Here::ToBase(here) }
}

/// Numbers that were published together share a table.
const KINDS: [&[Field]; 3] = [
    &[
        field("wall by messages, us", |row| row.wall_per_message_us, |it| it.wall_per_message_us()),
        ratio("ratio of wall by messages", |it| it.wall_per_message_us()),
    ],
    &[
        field("Min, ms", |row| row.life_min_ms, |it| Some(life(it)?.min_ns / 1e6)),
        field("Mean, ms", |row| row.life_mean_ms, |it| Some(life(it)?.mean_ns / 1e6)),
        field("Max, ms", |row| row.life_max_ms, |it| Some(life(it)?.max_ns / 1e6)),
    ],
    &[
        field("wall, us", |row| row.wall_us, wall_us),
        field(
            "stddev, us",
            |row| row.wall_stddev_us,
            |it| Some(Aggregates::of(&walls(it))?.stddev),
        ),
        field("CPU, us", |row| row.cpu_us, cpu_us),
        ratio("ratio of wall", wall_us),
    ],
];

fn life(it: &Measured<'_>) -> Option<Spread> {
    Spread::of(it.blocks.iter().filter_map(|block| block.phases.life.as_ref()))
}

fn wall_us(it: &Measured<'_>) -> Option<f64> {
    Some(Aggregates::of(&walls(it))?.mean)
}

fn walls(it: &Measured<'_>) -> Vec<f64> {
    Mean::all(it).iter().map(|mean| mean.wall_ns / 1e3).collect()
}

fn cpu_us(it: &Measured<'_>) -> Option<f64> {
    let cpu: Option<Vec<f64>> = Mean::all(it).iter().map(|mean| Some(mean.cpu_ns? / 1e3)).collect();
    Some(Aggregates::of(&cpu?)?.mean)
}

/// A published statement, and the finding about it.
fn fact(record: &RunRecord, sweep: &Sweep, verdict: &Verdict, claim: &Claim) -> Fact {
    let found = match verdict.level {
        Level::Invalid => Err("the measurement is not a valid result".to_owned()),
        Level::Trusted | Level::Degraded => found(record, sweep, claim),
    };
    let Found { text, holds } =
        found.unwrap_or_else(|missing| Found { text: missing, holds: Holds::NotShown });
    let note = claim.note.as_ref().map_or_else(String::new, |note| format!(" {note}"));
    Fact {
        label: claim.about.clone(),
        lines: vec![
            format!("published: {}", claim.published),
            format!("here: {}: {text}.{note}", holds.words()),
        ],
        ..Fact::default()
    }
}

/// The finding of a record about a statement.
struct Found {
    text: String,
    holds: Holds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Yes,
    No,
    Partly,
    NotShown,
    /// It follows from arithmetic, whatever is measured.
    ByArithmetic,
}

impl Holds {
    fn words(self) -> &'static str {
        match self {
            Self::Yes => "holds",
            Self::No => "does not hold",
            Self::Partly => "holds in part",
            Self::NotShown => "not shown",
            Self::ByArithmetic => "by arithmetic",
        }
    }

    /// A claim holds if a number that it is about is within the bounds, and in part if another one is.
    fn of(claim: &Claim, main: &[f64], others: &[f64]) -> Self {
        let is_within = |value: &f64| within(claim, *value);
        match (main.iter().any(is_within), others.iter().any(is_within)) {
            _ if main.is_empty() => Self::NotShown,
            (true, _) => Self::Yes,
            (false, true) => Self::Partly,
            (false, false) => Self::No,
        }
    }
}

fn within(claim: &Claim, value: f64) -> bool {
    claim.min.is_none_or(|min| value >= min) && claim.max.is_none_or(|max| value <= max)
}

/// The finding about a statement; `Err` says what is missing.
fn found(record: &RunRecord, sweep: &Sweep, claim: &Claim) -> Result<Found, String> {
    let line = |name: &str| {
        let found = sweep.lines.iter().position(|line| line.name == name);
        found.ok_or_else(|| format!("there is no line `{name}`"))
    };
    let one = line(&claim.line)?;
    let other = claim.to.as_deref().map_or(Ok(one), line)?;
    let both = [one, other];
    match claim.measure {
        ClaimMeasure::Bytes => bytes(record, sweep, claim, both),
        ClaimMeasure::ClosedLoop => Ok(closed_loop(sweep, claim, one)),
        ClaimMeasure::Idle => idle(sweep, claim, both),
        ClaimMeasure::Knee => knee(sweep, claim, both),
        ClaimMeasure::Response => response(sweep, claim, both),
        ClaimMeasure::Throughput => throughput(sweep, claim, both),
        ClaimMeasure::Other => Err("this version does not know how it is measured".to_owned()),
    }
}

/// The knee of one line divided by that of the other, with the interval that follows from both.
fn knee(sweep: &Sweep, claim: &Claim, lines: [usize; 2]) -> Result<Found, String> {
    let invalid = lines.iter().find(|line| sweep.lines[**line].level == Level::Invalid);
    if let Some(line) = invalid {
        return Err(format!("where {} bends is not a valid result", sweep.lines[*line].name));
    }
    let told = lines.map(|line| {
        let line = &sweep.lines[line];
        format!("{} {}", marked(line.level, &line.name), steps::knee_words(&line.knee))
    });
    let [one, other] = lines.map(|line| match sweep.lines[line].knee {
        Knee::Found { low_per_s, high_per_s, .. } => (low_per_s, high_per_s),
        Knee::NotReached { offered_max_per_s, .. } => (offered_max_per_s, f64::INFINITY),
    });
    let [name, to] = lines.map(|line| &sweep.lines[line].name);
    let (low, high) = (one.0 / other.1, one.1 / other.0);
    let (holds, words) = if one.1.is_infinite() && other.1.is_infinite() {
        (Holds::NotShown, "neither was reached".to_owned())
    } else if high < 1.0 {
        let holds = if within(claim, low) && within(claim, high) { Holds::Yes } else { Holds::No };
        (holds, format!("{name} gives way first"))
    } else if low > 1.0 {
        let holds = if within(claim, low) && within(claim, high) { Holds::Yes } else { Holds::No };
        (holds, format!("{to} gives way first"))
    } else {
        (
            Holds::NotShown,
            "which of the two gives way first is not shown: the intervals meet".to_owned(),
        )
    };
    Ok(Found { text: format!("{}: {words}", told.join(", ")), holds })
}

/// The largest difference between the two lines at loads that both carried.
fn throughput(sweep: &Sweep, claim: &Claim, lines: [usize; 2]) -> Result<Found, String> {
    let pairs = carried_by_both(sweep, lines);
    let difference = |[one, other]: &[&SweepStep; 2]| {
        (one.achieved_per_s.value / other.achieved_per_s.value - 1.0).abs()
    };
    let worst = pairs.iter().map(difference).reduce(f64::max);
    let worst = worst.ok_or("no load was offered to both and carried by both")?;
    let (count, difference) = (pairs.len(), number::percent(worst));
    Ok(Found {
        text: format!(
            "at {count} loads that both carried they differ by {difference} at most. By the rule itself it cannot be \
             much more: whoever carries a load misses less than 1 % of it"
        ),
        holds: Holds::of(claim, &[worst], &[]),
    })
}

/// The response times of both lines in ms at the load that was published, or the next one above.
fn response(sweep: &Sweep, claim: &Claim, lines: [usize; 2]) -> Result<Found, String> {
    let at = claim.at_per_s.unwrap_or(0.0);
    // More load does not make it shorter.
    let step = |line: usize| {
        of_line(sweep, line)
            .filter(|step| step.level != Level::Invalid)
            .filter(|step| step.offered_per_s >= 0.9 * at && step.response.is_some())
            .min_by(|one, other| one.offered_per_s.total_cmp(&other.offered_per_s))
    };
    let (mut told, mut tail, mut mean) = (Vec::new(), 0.0_f64, 0.0_f64);
    for line in lines {
        let name = &sweep.lines[line].name;
        let of_step = step(line).and_then(|step| Some((step, step.response.as_ref()?)));
        let (step, times) = of_step
            .ok_or_else(|| format!("{name} has no step of {} or more", number::per_second(at)))?;
        let time = |ns: Option<u64>| ns.map_or_else(|| MISSING.to_owned(), number::nanos);
        told.push(format!(
            "{name} at {}: p50 {}, p99 {}, mean {}",
            number::per_second(step.offered_per_s),
            time(times.p50_ns),
            time(times.p99_ns),
            number::time(times.mean_ns)
        ));
        tail = tail.max(number::float(times.p99_ns.unwrap_or(times.max_ns)) / 1e6);
        mean = mean.max(times.mean_ns / 1e6);
    }
    told.dedup();
    Ok(Found {
        text: format!(
            "{}. Ours count from when an event was due, and the percentile is beside the mean that hides it",
            told.join("; ")
        ),
        holds: Holds::of(claim, &[tail], &[mean]),
    })
}

/// The bytes of an event on one line divided by those on the other, by how much of the path is counted.
fn bytes(
    record: &RunRecord,
    sweep: &Sweep,
    claim: &Claim,
    lines: [usize; 2],
) -> Result<Found, String> {
    let pairs = carried_by_both(sweep, lines);
    let known = |[one, other]: &[&SweepStep; 2]| {
        Some((one.offered_per_s, steps::bytes(record, one)?, steps::bytes(record, other)?))
    };
    // The more load, the more events share a segment.
    let at = claim.at_per_s.unwrap_or(1.0);
    let distance = |pair: &&[&SweepStep; 2]| (pair[0].offered_per_s / at).ln().abs();
    let near = pairs.iter().min_by(|one, other| distance(one).total_cmp(&distance(other)));
    let (rate, one, other) =
        near.and_then(known).ok_or("bytes by layer are not known at a load that both carried")?;
    let ratio = |of: fn(&EventBytes) -> Option<f64>| Some(of(&one)? / of(&other)?);
    let inner = [
        ("payload", ratio(|bytes| Some(bytes.payload))),
        ("encoded messages (packets or JSON)", ratio(|bytes| Some(bytes.encoded))),
        ("the stream, framing included", ratio(|bytes| Some(bytes.stream))),
    ];
    let wire = [
        ("the stream with TCP and IP as estimated", ratio(|bytes| bytes.with_tcp_ip)),
        ("what the interface counted", ratio(|bytes| bytes.interface)),
    ];
    let all = || inner.iter().chain(&wire).filter_map(|(name, ratio)| Some((*name, (*ratio)?)));
    let told: Vec<String> = all().map(|(name, ratio)| format!("{name} {}", more(ratio))).collect();
    let true_of: Vec<&str> =
        all().filter(|(_, ratio)| within(claim, *ratio)).map(|(name, _)| name).collect();
    let true_of = match &true_of[..] {
        [] => "It is true of none of them".to_owned(),
        names => format!("It is true of {}, and of nothing else", names.join(" and of ")),
    };
    let most = pairs.last().and_then(known).filter(|(most, ..)| *most > rate * 1.001);
    let at_most = most.and_then(|(rate, one, other)| {
        let (more, rate) = (more(one.with_tcp_ip? / other.with_tcp_ip?), number::per_second(rate));
        Some(format!(
            ". At {rate}, where more events share a segment, the stream with TCP and IP is {more}"
        ))
    });
    let values =
        |all: &[(&str, Option<f64>)]| all.iter().filter_map(|it| it.1).collect::<Vec<f64>>();
    Ok(Found {
        text: format!(
            "an event at {} costs {} more by: {}. {true_of}{}",
            number::per_second(rate),
            claim.line,
            told.join(", "),
            at_most.unwrap_or_default()
        ),
        holds: Holds::of(claim, &values(&wire), &values(&inner)),
    })
}

/// The slope at which CPU idle falls on one line, divided by that on the other.
fn idle(sweep: &Sweep, claim: &Claim, lines: [usize; 2]) -> Result<Found, String> {
    let pairs = carried_by_both(sweep, lines);
    let slope_of = |side: usize| {
        let steps = pairs.iter().map(|pair| pair[side]);
        slope(
            &steps
                .filter_map(|step| Some((step.offered_per_s, step.machine_idle_fraction?)))
                .collect::<Vec<(f64, f64)>>(),
        )
    };
    let slopes = slope_of(0).zip(slope_of(1)).filter(|(_, other)| *other < 0.0);
    let (one, other) = slopes.ok_or("too few loads that both carried, or CPU idle is not known")?;
    let points = |slope: f64| number::three(-slope * 1000.0 * 100.0);
    let [name, to] = lines.map(|line| &sweep.lines[line].name);
    Ok(Found {
        text: format!(
            "for each 1000 events/s it falls by {} points on {to} and by {} on {name}: {} as fast. Generator and server \
             share this machine, and both are included",
            points(other),
            points(one),
            number::ratio(one / other, None)
        ),
        holds: Holds::of(claim, &[one / other], &[]),
    })
}

/// The share of its load that a bot drops by waiting for its reply before it pauses.
fn closed_loop(sweep: &Sweep, claim: &Claim, line: usize) -> Found {
    let pause_ns = claim.pause_ms.unwrap_or(0.0) * 1e6;
    let step = last_carried(sweep, line);
    let mean = step.and_then(|step| Some((step, step.response.as_ref()?.mean_ns)));
    let text = mean.map_or_else(
        || "no step was carried".to_owned(),
        |(step, mean_ns)| {
            format!(
                "{} at {}, its last step below the knee: a mean of {} would take off {}",
                claim.line,
                number::per_second(step.offered_per_s),
                number::time(mean_ns),
                number::percent(mean_ns / (pause_ns + mean_ns))
            )
        },
    );
    Found { text, holds: Holds::ByArithmetic }
}

/// `+19.7 %`, `0 %`: a ratio as a difference.
fn more(ratio: f64) -> String {
    let fraction = ratio - 1.0;
    if fraction.abs() < 0.000_5 {
        return "0 %".to_owned();
    }
    let sign = if fraction > 0.0 { "+" } else { "" };
    format!("{sign}{}", number::percent(fraction))
}

/// The slope by least squares; `None` for fewer than three points, or for a single x.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = number::float(u64::try_from(points.len()).ok()?);
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x_mean, y_mean) = (mean(|point| point.0), mean(|point| point.1));
    let (mut both, mut square) = (0.0, 0.0);
    for (x, y) in points {
        both += (x - x_mean) * (y - y_mean);
        square += (x - x_mean).powi(2);
    }
    (points.len() >= 3 && square > 0.0).then(|| both / square)
}

/// The length of the longest number that can have been published as it is.
const PUBLISHED_MAX: usize = 9;
