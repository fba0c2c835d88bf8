//! The drawings of a record: of a sweep, of a run, of a ladder, of a lab.
//!
//! Left out: the drawing itself ([`crate::svg`]).

use crate::chart::{
    Axis, Chart, Figure, Layers, Mark, Point, RatioRow, Ratios, Scale, Series, Unit,
};
use crate::deliveries;
use crate::document::{Cell, Column, Table, marked};
use crate::escape::escape;
use crate::measured::{Group, Measured, Ratio, message_ns};
use crate::number;
use crate::row::{self, Row};
use crate::steps::{EventBytes, event_bytes, knee_words, last_carried, of_line};
use record::{
    Block, DeliverySecond, Kind, Knee, Level, Number, RunRecord, Second, Summary, Sweep, SweepLine,
    SweepStep, Verdict,
};
use stats::Histogram;

/// All drawings of `record` that have something to show, in the order of the page.
pub(crate) fn all(record: &RunRecord, verdict: &Verdict, groups: &[Group<'_>]) -> Vec<Figure> {
    let charts = match &record.sweep {
        Some(sweep) => {
            let marks = knees(sweep, verdict);
            let stepped =
                [throughput(sweep), cpu(record, sweep), response(sweep), bandwidth(sweep)];
            let stepped = stepped.map(|chart| Chart { marks: marks.clone(), ..chart });
            stepped.into_iter().chain([sweep_spectrum(sweep)]).collect()
        }
        None if row::rounds(record) > 1 && row::count(record) > 1 => match record.kind {
            Kind::Lab => vec![lab_spectrum(record, verdict, groups)],
            Kind::Ab | Kind::Imported | Kind::Ladder | Kind::Other | Kind::Run | Kind::Sweep => {
                vec![spectrum(record, verdict)]
            }
        },
        None => {
            let mut charts = over_time(record, verdict);
            charts.push(spectrum(record, verdict));
            charts
        }
    };
    let drawable = charts.into_iter().map(Chart::without_the_undrawable);
    let mut all: Vec<Figure> =
        drawable.filter(|chart| !chart.is_empty()).map(Figure::Lines).collect();
    all.extend(record.sweep.as_ref().and_then(|sweep| layers(record, sweep)).map(Figure::Layers));
    all.extend(ratios(record, groups).into_iter().map(Figure::Ratios));
    all
}

/// Every point of a chart as text: a row for each x, a column for each line.
pub(crate) fn table(chart: &Chart) -> Table {
    let mut all: Vec<f64> = chart.points().map(|point| point.x).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let column = |head: String| Column::new(head, number::Unit::Words);
    let mut columns = vec![column(chart.x.label.to_owned())];
    columns.extend(chart.series.iter().map(|series| column(chart.name(series))));
    let mut table = Table::new(chart.title.clone(), columns);
    for x in all {
        let cell = |series: &Series| {
            let point = series.points.iter().find(|point| point.x.total_cmp(&x).is_eq());
            point.map_or(Cell::Missing, |point| Cell::words(chart.y.unit.cell(point)))
        };
        let mut row = vec![Cell::words(chart.x.unit.shown(x))];
        row.extend(chart.series.iter().map(cell));
        table.row(row);
    }
    table
}

/// A bar for each line whose bytes are known by layer; `None` if there is none.
fn layers(record: &RunRecord, sweep: &Sweep) -> Option<Layers> {
    let bar = |(name, bytes): (String, EventBytes)| {
        let EventBytes { payload, encoded, stream, with_tcp_ip, .. } = bytes;
        let total = with_tcp_ip.unwrap_or(stream);
        // Bytes saved by compression have no length.
        let parts = [payload.min(encoded), encoded - payload, stream - encoded, total - stream];
        (escape(&name), parts.map(|part| part.max(0.0)))
    };
    let bars: Vec<_> = event_bytes(record, sweep).into_iter().map(bar).collect();
    bars.iter().any(|(_, parts)| parts.iter().sum::<f64>() > 0.0).then_some(Layers { bars })
}

/// Ratios to the baseline; for a lab one drawing per load.
fn ratios(record: &RunRecord, groups: &[Group<'_>]) -> Vec<Ratios> {
    let mut all = Vec::new();
    for group in groups {
        let Some(zero) = group.zero().filter(|zero| zero.is_allowed) else { continue };
        let what = zero.row.compared_time();
        let rows: Vec<&Measured<'_>> = match record.kind {
            Kind::Lab => group.ranked(message_ns),
            Kind::Ab | Kind::Imported | Kind::Ladder | Kind::Other | Kind::Run | Kind::Sweep => {
                group.rows.iter().filter(|it| it.is_allowed).collect()
            }
        };
        let others = rows.into_iter().filter(|it| Some(it.row.index) != group.zero);
        let row = |it: &Measured<'_>| -> Option<RatioRow> {
            let Ratio { value, interval, .. } = it.to_zero(zero)?;
            let name = marked(it.trust.of_number(Number::Ratio), &it.name);
            value.is_finite().then(|| (escape(&name), value, interval))
        };
        let rows: Vec<RatioRow> = others.filter_map(row).collect();
        if !rows.is_empty() {
            let id = match all.len() {
                0 => "ratios".to_owned(),
                before => format!("ratios-{}", before + 1),
            };
            let (base, load) = (zero.base_name(), group.suffix());
            let title = escape(&format!("{what} relative to that of {base}{load}"));
            all.push(Ratios { id, title, rows });
        }
    }
    all
}

fn throughput(sweep: &Sweep) -> Chart {
    let achieved = |step: &SweepStep| {
        let interval = step.achieved_per_s.low.zip(step.achieved_per_s.high);
        Some((step.achieved_per_s.value, interval))
    };
    let measures: [Measure<'_>; 1] = [("achieved", &achieved)];
    Chart {
        ideal: true,
        names_marks: true,
        caption: "Replies a second against the theoretical maximum; on the dotted line nothing is missing. A vertical \
                  line is a knee, or the middle of where one is, the band its interval."
            .to_owned(),
        ..stepped("throughput", "Throughput", (PER_SECOND, &measures), sweep)
    }
}

fn cpu(record: &RunRecord, sweep: &Sweep) -> Chart {
    let cpus = record.environment.cpus_online.map(f64::from).filter(|cpus| *cpus > 0.0);
    let share = |cores: Option<f64>| Some((cores? / cpus?, None));
    let server = |step: &SweepStep| share(step.server_cores_used);
    let generator = |step: &SweepStep| share(step.generator_cores_used);
    let idle = |step: &SweepStep| Some((step.machine_idle_fraction?, None));
    let measures: [Measure<'_>; 3] =
        [("machine idle", &idle), ("server", &server), ("generator", &generator)];
    let axis = Axis { label: "share of all CPUs", unit: Unit::Share, scale: Scale::Linear };
    let mut chart = Chart {
        caption: "The idle share of all CPUs, and the shares of the server and the generator."
            .to_owned(),
        ..stepped("cpu", "CPU", (axis, &measures), sweep)
    };
    if cpus.is_none() {
        chart.notes.push(
            "How many CPUs there are is not known: server and generator have no share.".to_owned(),
        );
    }
    chart
}

fn response(sweep: &Sweep) -> Chart {
    let percentile = |value: Option<u64>| Some((number::float(value?), None));
    let p50 = |step: &SweepStep| percentile(step.response.as_ref()?.p50_ns);
    let p99 = |step: &SweepStep| percentile(step.response.as_ref()?.p99_ns);
    let last = |step: &SweepStep| Some((number::float(step.last_1000_mean_ms?) * 1e6, None));
    let measures: [Measure<'_>; 3] =
        [("p50", &p50), ("p99", &p99), ("mean of the last 1000", &last)];
    let has_last = sweep.steps.iter().any(|step| step.last_1000_mean_ms.is_some());
    let measures = if has_last { &measures[..] } else { &measures[..2] };
    let axis = Axis { label: "response time", unit: Unit::Time, scale: Scale::Logarithmic };
    let mut chart = Chart {
        caption: match has_last {
            true => "From due to received, and beside it the mean of the last 1000 replies in whole milliseconds.",
            false => "From due to received.",
        }
        .to_owned(),
        ..stepped("response", "Response time", (axis, measures), sweep)
    };
    if sweep.steps.iter().any(|step| step.last_1000_mean_ms == Some(0)) {
        chart.notes.push(
            "A mean of 0 ms has no place on a logarithmic axis; it is in the table of steps."
                .to_owned(),
        );
    }
    for (index, line) in sweep.lines.iter().enumerate() {
        let without: Vec<&Summary> = of_line(sweep, index)
            .filter_map(|step| step.response.as_ref().filter(|times| times.p99_ns.is_none()))
            .collect();
        if let Some(first) = without.first() {
            let reason = first.missing.get("p99_ns").map_or("too few replies", String::as_str);
            chart.notes.push(escape(&format!(
                "{}: no p99 at {} of its steps ({reason}).",
                line.name,
                without.len()
            )));
        }
    }
    chart
}

fn bandwidth(sweep: &Sweep) -> Chart {
    let rate = |value: Option<f64>| Some((value?, None));
    let payload = |step: &SweepStep| rate(step.payload_bytes_per_s);
    let stream = |step: &SweepStep| rate(step.stream_bytes_per_s);
    let interface = |step: &SweepStep| rate(step.interface_bytes_per_s);
    let measures: [Measure<'_>; 3] =
        [("stream", &stream), ("payload", &payload), ("interface", &interface)];
    let axis = Axis { label: "bytes a second", unit: Unit::BytesPerSecond, scale: Scale::Linear };
    Chart {
        caption: "Both directions: payload alone, the stream with encoding and framing, and what the interface counted, \
                  TCP and IP included."
            .to_owned(),
        ..stepped("bandwidth", "Bandwidth", (axis, &measures), sweep)
    }
}

/// A number of each step, and its name.
type Measure<'a> = (&'static str, &'a dyn Fn(&SweepStep) -> Option<(f64, Option<(f64, f64)>)>);

/// A chart over the theoretical maximum, with a line for each line of the sweep and each measure.
fn stepped(
    id: &'static str,
    title: &str,
    (y, measures): (Axis, &[Measure<'_>]),
    sweep: &Sweep,
) -> Chart {
    let mut series = Vec::new();
    for (measure, (_, value)) in measures.iter().enumerate() {
        for subject in 0..sweep.lines.len() {
            let point = |step: &SweepStep| {
                let (y, interval) = value(step)?;
                Some(Point { x: step.offered_per_s, y, interval })
            };
            let mut points: Vec<Point> = of_line(sweep, subject).filter_map(point).collect();
            points.sort_by(|one, other| one.x.total_cmp(&other.x));
            series.push(Series { subject, measure, points });
        }
    }
    let notes = measures
        .iter()
        .enumerate()
        .filter(|(index, _)| {
            series.iter().all(|line| line.measure != *index || line.points.is_empty())
        })
        .map(|(_, (name, _))| format!("{name}: not known for any step."))
        .collect();
    let scale = scale(sweep);
    // Where loads grow by factors, the rates that follow from them do too.
    let y = match y.unit {
        Unit::PerSecond | Unit::BytesPerSecond => Axis { scale, ..y },
        Unit::Nines | Unit::Seconds | Unit::Share | Unit::Time => y,
    };
    Chart {
        id,
        title: title.to_owned(),
        caption: String::new(),
        group: "sweep",
        x: Axis { label: "theoretical maximum, a second", unit: Unit::PerSecond, scale },
        y,
        subjects: sweep.lines.iter().map(|line| escape(&line.name)).collect(),
        measures: measures.iter().map(|(name, _)| (*name).to_owned()).collect(),
        series,
        marks: Vec::new(),
        band: false,
        ideal: false,
        names_marks: false,
        strip: false,
        notes,
    }
}

/// Linear, unless that would crowd more than half of the steps into the first tenth of the axis.
fn scale(sweep: &Sweep) -> Scale {
    let loads = || sweep.steps.iter().map(|step| step.offered_per_s);
    let max = loads().fold(0.0, f64::max);
    let crowded = loads().filter(|load| *load < max / 10.0).count();
    if crowded * 2 > sweep.steps.len() { Scale::Logarithmic } else { Scale::Linear }
}

/// The knees of lines, worded as in the text, with the names of lines if there are several; none in an invalid record,
/// nor for an invalid line.
fn knees(sweep: &Sweep, verdict: &Verdict) -> Vec<Mark> {
    let is_only = sweep.lines.len() == 1;
    let knee = |(subject, line): (usize, &SweepLine)| match line.knee {
        _ if verdict.level.max(line.level) == Level::Invalid => None,
        Knee::Found { offered_per_s, low_per_s, high_per_s, .. } => Some(Mark {
            subject,
            label: {
                let words = knee_words(&line.knee);
                let named = if is_only { words } else { format!("{} {words}", line.name) };
                escape(&marked(line.level, &named))
            },
            at: offered_per_s,
            low: low_per_s,
            high: high_per_s,
        }),
        Knee::NotReached { .. } => None,
    };
    sweep.lines.iter().enumerate().filter_map(knee).collect()
}

/// Response times of each line at its last step below the knee.
fn sweep_spectrum(sweep: &Sweep) -> Chart {
    let mut subjects = Vec::new();
    let mut series = Vec::new();
    for (index, line) in sweep.lines.iter().enumerate() {
        let Some(step) = last_carried(sweep, index) else { continue };
        let rate = number::per_second(step.offered_per_s);
        subjects.push(escape(&format!("{} at {rate}", marked(step.level, &line.name))));
        let points = step.response.as_ref().map_or_else(Vec::new, quantiles);
        series.push(Series { subject: subjects.len() - 1, measure: 0, points });
    }
    Chart {
        title: "Percentile spectrum below the knee".to_owned(),
        caption: "The response time within which each share of the replies stayed, at the last step that each line carried; \
                  every line to the right is ten times rarer."
            .to_owned(),
        subjects,
        series,
        ..empty_spectrum("response time")
    }
}

/// The spectrum of a lab with many rows, under its first load: the row that all are compared with, and the fastest.
/// More lines could not be told apart.
fn lab_spectrum(record: &RunRecord, verdict: &Verdict, groups: &[Group<'_>]) -> Chart {
    let all = spectrum(record, verdict);
    let rows = row::count(record);
    let Some(group) = groups.first().filter(|_| rows > SPECTRUM_LINES_MAX) else { return all };
    let fastest = group.ranked(message_ns);
    let shown: Vec<usize> = group
        .zero()
        .into_iter()
        .chain(fastest)
        .take(SPECTRUM_LINES_MAX)
        .map(|it| it.row.index)
        .collect();
    let load = if group.load.is_empty() { "" } else { &format!(" at {}", group.load) };
    let place = |series: Series| {
        let subject = shown.iter().position(|index| *index == series.subject)?;
        Some(Series { subject, ..series })
    };
    Chart {
        caption: format!(
            "{} Here are {} of {rows} rows{}: the one that all are compared with, and the fastest.",
            all.caption,
            shown.len(),
            escape(load)
        ),
        subjects: shown.iter().map(|index| all.subjects[*index].clone()).collect(),
        series: all.series.into_iter().filter_map(place).collect(),
        ..all
    }
}

/// The names of all rows, with the marks of their verdict.
fn names(record: &RunRecord, verdict: &Verdict) -> Vec<String> {
    let name = |row: Row<'_>| escape(&marked(verdict.row(row.index).level, row.name()));
    row::all(record).map(name).collect()
}

/// The words of the charts for the times and counts of a load.
struct Words {
    /// The time that is drawn.
    time: &'static str,
    /// The title of the chart of its seconds.
    title: &'static str,
    /// The events that must be numerous enough for a percentile.
    counted: &'static str,
    /// A message whose sender has its reply.
    replied: &'static str,
    /// The time from a message's sending to its reply.
    service: &'static str,
}

const ROUND_TRIPS: Words = Words {
    time: "round trip",
    title: "Round trip over time",
    counted: "replies",
    replied: "answered",
    service: "service time",
};

const RESPONSES: Words =
    Words { time: "response time", title: "Response time over time", ..ROUND_TRIPS };

const DELIVERIES: Words = Words {
    time: DELIVERY_TIME,
    title: "Delivery time over time",
    counted: "deliveries",
    replied: "acknowledged",
    service: "acknowledged",
};

impl Words {
    fn of(record: &RunRecord) -> &'static Self {
        if !is_open(record) {
            &ROUND_TRIPS
        } else if row::all(record).all(Row::publishes) {
            &DELIVERIES
        } else {
            &RESPONSES
        }
    }
}

/// True if any block is an open loop.
fn is_open(record: &RunRecord) -> bool {
    record.blocks.iter().any(|block| block.open_loop.is_some())
}

/// The distributions of a run or a ladder.
fn spectrum(record: &RunRecord, verdict: &Verdict) -> Chart {
    let words = Words::of(record);
    let mut series = Vec::new();
    for result in &record.results {
        let times = result.response.as_ref().or(result.round_trip.as_ref());
        let points = times.map_or_else(Vec::new, quantiles);
        series.push(Series { subject: result.workload, measure: 0, points });
    }
    let mut measures = vec![words.time.to_owned()];
    if let [block] = &record.blocks[..]
        && let Some(all) = &block.open_loop
    {
        for (name, times) in [(words.service, &all.service), ("send lag", &all.send_lag)] {
            measures.push(name.to_owned());
            let points = times.as_ref().map_or_else(Vec::new, quantiles);
            series.push(Series { subject: block.workload, measure: measures.len() - 1, points });
        }
    }
    Chart { subjects: names(record, verdict), measures, series, ..empty_spectrum(words.time) }
}

fn empty_spectrum(label: &'static str) -> Chart {
    Chart {
        id: "spectrum",
        title: "Percentile spectrum".to_owned(),
        caption: "The time within which each share of the messages stayed; every line to the right is ten times rarer."
            .to_owned(),
        group: "spectrum",
        x: Axis { label: "share of messages", unit: Unit::Nines, scale: Scale::Linear },
        y: Axis { label, unit: Unit::Time, scale: Scale::Logarithmic },
        subjects: Vec::new(),
        measures: vec![label.to_owned()],
        series: Vec::new(),
        marks: Vec::new(),
        band: false,
        ideal: false,
        names_marks: false,
        strip: false,
        notes: Vec::new(),
    }
}

/// A distribution, as far as there are ten samples beyond; empty if the record was edited by hand.
fn quantiles(times: &Summary) -> Vec<Point> {
    let Ok(histogram): Result<Histogram, _> = times.histogram() else { return Vec::new() };
    let all = std::iter::successors(Some(0.0), |nines| Some(nines + NINES_STEP));
    all.map_while(|nines: f64| {
        let time = histogram.quantile(1.0 - 10_f64.powf(-nines)).ok()?;
        (nines < NINES_MAX).then(|| Point { x: nines, y: number::float(time.0), interval: None })
    })
    .collect()
}

/// The measured seconds, one after the other.
fn over_time(record: &RunRecord, verdict: &Verdict) -> Vec<Chart> {
    let is_open = is_open(record);
    let start = record.blocks.iter().map(|block| block.started_at_ns).min().unwrap_or(0);
    let rate = |count: u64, second: &Second| {
        (second.duration_ns > 0)
            .then(|| number::float(count) * 1e9 / number::float(second.duration_ns))
    };
    let time = |ns: Option<u64>| ns.map(number::float);
    let due = |second: &Second| rate(second.sent.saturating_add(second.unsent), second);
    let answered = |second: &Second| rate(second.ok, second);
    let failed = |second: &Second| {
        let failed = second.error.saturating_add(second.refused).saturating_add(second.timed_out);
        rate(failed, second)
    };
    let [p50, p99, max]: [fn(&Second) -> Option<u64>; 3] = if is_open {
        [
            |second| second.response_p50_ns,
            |second| second.response_p99_ns,
            |second| second.response_max_ns,
        ]
    } else {
        [|second| second.p50_ns, |second| second.p99_ns, |second| second.max_ns]
    };
    let (p50, p99, max) = (
        move |second: &Second| time(p50(second)),
        move |second: &Second| time(p99(second)),
        move |second: &Second| time(max(second)),
    );
    let lag = |second: &Second| time(second.send_lag_max_ns);
    let Words { time: label, title, counted, replied, .. } = *Words::of(record);
    let times = Axis { label, unit: Unit::Time, scale: Scale::Logarithmic };
    let mut charts = vec![
        Chart {
            caption: format!(
                "Messages that were due and messages that were {replied} in each second of the measured time."
            ),
            ..timed(
                "rate",
                "Messages a second",
                PER_SECOND,
                &[(replied, &answered), ("due", &due), ("failed", &failed)],
                (record, start),
            )
        },
        Chart {
            caption: format!(
                "Percentiles of each second, and its longest; a percentile needs enough {counted}."
            ),
            ..timed(
                "latency",
                title,
                times,
                &[("p50", &p50), ("p99", &p99), ("longest", &max)],
                (record, start),
            )
        },
    ];
    charts.push(receivers(record, start));
    if is_open {
        let axis = Axis { label: "longest send lag", unit: Unit::Time, scale: Scale::Logarithmic };
        charts.push(Chart {
            caption: "How late we ourselves were: the longest from due to sent in each second."
                .to_owned(),
            strip: true,
            ..timed("send-lag", "Send lag", axis, &[("send lag", &lag)], (record, start))
        });
    }
    charts.push(missed(record, start));
    let marks = faults(record, start);
    let named = |chart| Chart {
        subjects: names(record, verdict),
        marks: marks.clone(),
        names_marks: !marks.is_empty(),
        ..chart
    };
    charts.into_iter().map(named).collect()
}

/// The mean times until the first and until the last receiver of a message had it, by the second in which the messages
/// were due, with the area between them filled; without lines where there are no rooms.
fn receivers(record: &RunRecord, start: u64) -> Chart {
    let axis = Axis { label: DELIVERY_TIME, unit: Unit::Time, scale: Scale::Logarithmic };
    let measures: [OfSecond<'_>; 2] =
        [(deliveries::FIRST, &|_| None), (deliveries::LAST, &|_| None)];
    let mut chart = timed("receivers", "First and last receiver", axis, &measures, (record, start));
    let means: [fn(&DeliverySecond) -> Option<f64>; 2] =
        [|second| second.first_mean_ns, |second| second.last_mean_ns];
    for block in &record.blocks {
        let seconds = block.deliveries.as_ref().map_or(&[][..], |it| &it.seconds);
        for series in chart.series.iter_mut().filter(|it| it.subject == block.workload) {
            let mean = means[series.measure];
            series.points.extend((0_u32..).zip(seconds).filter_map(|(second, of)| {
                Some(Point { x: middle(block, start, second), y: mean(of)?, interval: None })
            }));
        }
    }
    Chart {
        caption: "Mean time from due until the first and until the last receiver of a message had it, by the second in \
                  which the messages were due."
            .to_owned(),
        band: true,
        ..chart
    }
}

/// The middle of a second of a block, in seconds since the first block began.
fn middle(block: &Block, start: u64, second: u32) -> f64 {
    let begin = number::float(block.started_at_ns.saturating_sub(start)) / 1e9;
    begin + f64::from(second) + 0.5
}

/// The deliveries of each second that had not arrived when the drain was over; without lines where none is missing.
fn missed(record: &RunRecord, start: u64) -> Chart {
    let axis = Axis { label: "deliveries a second", unit: Unit::PerSecond, scale: Scale::Linear };
    let mut chart =
        timed("missed", "Missed deliveries", axis, &[("missed", &|_| None)], (record, start));
    for block in &record.blocks {
        let missed = block.deliveries.as_ref().map_or(&[][..], |it| &it.missed);
        if missed.is_empty() {
            continue;
        }
        // The list ends with the last second that has one.
        let rest = std::iter::repeat_n(0, block.series.len().saturating_sub(missed.len()));
        let seconds = missed.iter().copied().chain(rest);
        let points = (0_u32..).zip(seconds).map(|(second, count)| Point {
            x: middle(block, start, second),
            y: number::float(count),
            interval: None,
        });
        let series = chart.series.iter_mut().find(|series| series.subject == block.workload);
        series.into_iter().for_each(|series| series.points.extend(points.clone()));
    }
    Chart {
        caption: "Deliveries that had not come when the drain was over, by the second in which their messages were \
                  due: to receivers that were there, gone, or on their way back."
            .to_owned(),
        strip: true,
        ..chart
    }
}

/// The instants at which all receivers of a row were torn off, or its server was killed; the latter with the time until
/// it was ready again.
fn faults(record: &RunRecord, start: u64) -> Vec<Mark> {
    let of_block = |block: &Block| {
        let rooms = record.plan.workloads.get(block.workload)?.spec.load.rooms()?;
        let (label, after, lasts) = match (rooms.conduct.storm, block.restart) {
            (_, Some(restart)) => ("restart", restart.at_ns, restart.ready_after_ns),
            (Some(storm), None) if block.failed.is_none() => ("storm", storm.0, 0),
            (_, None) => return None,
        };
        let at = block.started_at_ns.saturating_sub(start).saturating_add(after);
        let [at, high] = [at, at.saturating_add(lasts)].map(|ns| number::float(ns) / 1e9);
        Some(Mark { subject: block.workload, label: label.to_owned(), at, low: at, high })
    };
    record.blocks.iter().filter_map(of_block).collect()
}

/// A number of each second, and its name.
type OfSecond<'a> = (&'static str, &'a dyn Fn(&Second) -> Option<f64>);

fn timed(
    id: &'static str,
    title: &str,
    y: Axis,
    measures: &[OfSecond<'_>],
    (record, start): (&RunRecord, u64),
) -> Chart {
    let mut series = Vec::new();
    for (measure, (_, value)) in measures.iter().enumerate() {
        for subject in 0..row::count(record) {
            let blocks = record.blocks.iter().filter(|block| block.workload == subject);
            let point = |block: &Block, second: &Second| {
                let begin = block.started_at_ns.saturating_sub(start).saturating_add(second.at_ns);
                let middle = number::float(begin) + number::float(second.duration_ns) / 2.0;
                Some(Point { x: middle / 1e9, y: value(second)?, interval: None })
            };
            let points = blocks
                .flat_map(|block| {
                    block.series.iter().filter_map(move |second| point(block, second))
                })
                .collect();
            series.push(Series { subject, measure, points });
        }
    }
    Chart {
        id,
        title: title.to_owned(),
        caption: String::new(),
        group: "time",
        x: Axis { label: "measured time", unit: Unit::Seconds, scale: Scale::Linear },
        y,
        subjects: Vec::new(),
        measures: measures.iter().map(|(name, _)| (*name).to_owned()).collect(),
        series,
        marks: Vec::new(),
        band: false,
        ideal: false,
        names_marks: false,
        strip: false,
        notes: Vec::new(),
    }
}

const PER_SECOND: Axis =
    Axis { label: "messages a second", unit: Unit::PerSecond, scale: Scale::Linear };

const DELIVERY_TIME: &str = "delivery time";

/// The distance between the points of a spectrum.
const NINES_STEP: f64 = 0.1;
/// A spectrum ends at a millionth.
const NINES_MAX: f64 = 6.05;

/// The number of lines of a spectrum that an eye tells apart.
const SPECTRUM_LINES_MAX: usize = 8;
