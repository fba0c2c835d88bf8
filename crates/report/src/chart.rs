//! Drawings as data, before they are drawn: the same for the SVG, its table, and the front end.
//!
//! A chart has subjects (what is compared: each has a colour and dashes) and measures (what is shown of each subject:
//! each has a width and a mark). Whoever makes a drawing escapes its texts.
//!
//! Left out: the positions of points ([`crate::svg`]).

use crate::number;
use serde::Serialize;

/// A drawing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Figure {
    Layers(Layers),
    Lines(Chart),
    Ratios(Ratios),
}

/// Bytes of an event by layer: a bar for each line of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layers {
    /// The length of each layer, from the inside out.
    pub(crate) bars: Vec<(String, [f64; LAYERS.len()])>,
}

/// Ratios to one baseline with their 95 % intervals, one below the other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ratios {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) rows: Vec<RatioRow>,
}

/// A name, its ratio, and the 95 % interval if there is one.
pub(crate) type RatioRow = (String, f64, Option<(f64, f64)>);

/// The layers of [`Layers`].
pub(crate) const LAYERS: [&str; 4] =
    ["payload", "encoding", "framing and TLS", "TCP/IP, estimated"];

impl Figure {
    /// Its file name without extension, and its id on the page.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Layers(_) => "layers",
            Self::Lines(chart) => chart.id,
            Self::Ratios(ratios) => &ratios.id,
        }
    }

    pub(crate) fn title(&self) -> &str {
        match self {
            Self::Layers(_) => "Bytes of an event by layer",
            Self::Lines(chart) => &chart.title,
            Self::Ratios(ratios) => &ratios.title,
        }
    }

    /// A sentence on what it shows.
    pub(crate) fn caption(&self) -> &str {
        match self {
            Self::Layers(_) => {
                "Both directions, at the last step below the knee of each line. What TCP and IP add is estimated from \
                 the number of segments."
            }
            Self::Lines(chart) => &chart.caption,
            Self::Ratios(_) => {
                "Each row's ratio to the baseline with its 95 % interval. An interval that meets the line at 1 shows no \
                 difference."
            }
        }
    }

    /// The chart, if it is one that the front end draws.
    pub(crate) fn lines(&self) -> Option<&Chart> {
        match self {
            Self::Lines(chart) => Some(chart),
            Self::Layers(_) | Self::Ratios(_) => None,
        }
    }
}

/// A chart with everything that is needed to draw it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Chart {
    /// Its file name without extension, and its id on the page.
    pub(crate) id: &'static str,
    pub(crate) title: String,
    /// A sentence on what it shows.
    pub(crate) caption: String,
    /// Charts of one group share their x axis and one cursor.
    pub(crate) group: &'static str,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) subjects: Vec<String>,
    pub(crate) measures: Vec<String>,
    pub(crate) series: Vec<Series>,
    pub(crate) marks: Vec<Mark>,
    /// True if the area between the lines of the first two measures of each subject is filled.
    pub(crate) band: bool,
    /// True if the line on which y is x is drawn.
    pub(crate) ideal: bool,
    /// True if marks are named in the chart.
    pub(crate) names_marks: bool,
    /// True if it is half as high: a strip under another chart.
    pub(crate) strip: bool,
    /// Data that is missing, with the reason.
    pub(crate) notes: Vec<String>,
}

/// One side of a chart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Axis {
    pub(crate) label: &'static str,
    pub(crate) unit: Unit,
    pub(crate) scale: Scale,
}

/// The unit of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    /// Bytes a second.
    BytesPerSecond,
    /// The number of nines of a share: 2 is 99 %.
    Nines,
    /// Events per second.
    PerSecond,
    /// Seconds since a start.
    Seconds,
    /// A share of one.
    Share,
    /// Nanoseconds.
    Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scale {
    Linear,
    Logarithmic,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Series {
    /// Its index in [`Chart::subjects`].
    pub(crate) subject: usize,
    /// Its index in [`Chart::measures`].
    pub(crate) measure: usize,
    /// The points, by x.
    pub(crate) points: Vec<Point>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// The 95 % interval, where there is one.
    pub(crate) interval: Option<(f64, f64)>,
}

/// A position on the x axis that belongs to a subject, e.g. its knee.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Mark {
    pub(crate) subject: usize,
    pub(crate) label: String,
    pub(crate) at: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// A line of a legend. Without a subject it is about all subjects, without a measure about all measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) subject: Option<usize>,
    pub(crate) measure: Option<usize>,
    /// Its colour and dashes, see [`Chart::look`]; `None`: those of no subject.
    pub(crate) look: Option<usize>,
    pub(crate) name: String,
    /// True if the name is also written at the end of its line ([`Chart::ends`]).
    pub(crate) is_at_line: bool,
}

/// The end of a line, where its name is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct End {
    /// Its colour, see [`Chart::look`].
    pub(crate) look: usize,
    pub(crate) name: String,
    pub(crate) at: Point,
}

impl Chart {
    /// True if there is nothing to draw.
    pub(crate) fn is_empty(&self) -> bool {
        self.series.iter().all(|series| series.points.is_empty())
    }

    /// Leaves out what cannot be drawn: numbers that are not finite, and on a logarithmic axis those not above zero.
    pub(crate) fn without_the_undrawable(mut self) -> Self {
        let fits = |axis: &Axis, value: f64| {
            value.is_finite() && (value > 0.0 || axis.scale == Scale::Linear)
        };
        for series in &mut self.series {
            series.points.retain(|point| fits(&self.x, point.x) && fits(&self.y, point.y));
            for point in &mut series.points {
                point.interval = point
                    .interval
                    .filter(|(low, high)| fits(&self.y, *low) && fits(&self.y, *high));
            }
        }
        self.series.retain(|series| !series.points.is_empty());
        // A band that starts at zero begins at the first point if the axis has no zero.
        let first = self.points().map(|point| point.x).fold(f64::INFINITY, f64::min);
        for mark in &mut self.marks {
            if !fits(&self.x, mark.low) {
                mark.low = first.min(mark.at);
            }
        }
        self.marks.retain(|mark| {
            [mark.at, mark.low, mark.high].into_iter().all(|value| fits(&self.x, value))
        });
        self
    }

    /// The two lines of each subject that have a band between them.
    pub(crate) fn bands(&self) -> Vec<[&Series; 2]> {
        let line = |subject, measure| {
            self.series.iter().find(|it| (it.subject, it.measure) == (subject, measure))
        };
        let both = |subject| Some([line(subject, 0)?, line(subject, 1)?]);
        (0..self.subjects.len()).filter(|_| self.band).filter_map(both).collect()
    }

    /// The largest x of points and of marks; 0 without any.
    pub(crate) fn x_max(&self) -> f64 {
        let points = self.points().map(|point| point.x);
        points.chain(self.marks.iter().map(|mark| mark.high)).fold(0.0, f64::max)
    }

    /// All points of all lines.
    pub(crate) fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|series| &series.points)
    }

    /// The number that gives a line its colour and dashes: its subject or, if there is only one, its measure.
    pub(crate) fn look(&self, subject: usize, measure: usize) -> usize {
        if self.subjects.len() > 1 { subject } else { measure }
    }

    /// The name of a line.
    pub(crate) fn name(&self, series: &Series) -> String {
        let of = |names: &[String], index: usize| names.get(index).cloned().unwrap_or_default();
        let (subject, measure) =
            (of(&self.subjects, series.subject), of(&self.measures, series.measure));
        match (self.subjects.len() > 1, self.measures.len() > 1) {
            (true, true) => format!("{subject} {measure}"),
            (true, false) => subject,
            (false, _) => measure,
        }
    }

    /// The ends of lines that get a name: with several subjects the first line of each, otherwise every line. None if
    /// the only line needs no name, or if there is no room for that many names one below the other.
    pub(crate) fn ends(&self) -> Vec<End> {
        let is_named = |index: usize, series: &Series| match self.subjects.len() {
            ..2 => self.measures.len() > 1,
            _ => !self.series[..index].iter().any(|before| before.subject == series.subject),
        };
        let named = self.series.iter().enumerate().filter(|(index, it)| is_named(*index, it));
        let end = |(_, series): (usize, &Series)| {
            let names = if self.subjects.len() > 1 { &self.subjects } else { &self.measures };
            let look = self.look(series.subject, series.measure);
            Some(End { look, name: names.get(look)?.clone(), at: *series.points.last()? })
        };
        let ends: Vec<End> = named.filter_map(end).collect();
        let most = if self.strip { STRIP_ENDS_MAX } else { ENDS_MAX };
        if ends.len() > most { Vec::new() } else { ends }
    }

    /// The lines of its legend: subjects where there are several, then measures. A single line needs none.
    pub(crate) fn keys(&self) -> Vec<Key> {
        let (subjects, measures) = (self.subjects.len() > 1, self.measures.len() > 1);
        let has_ends = !self.ends().is_empty();
        let subject = |(index, name): (usize, &String)| Key {
            subject: Some(index),
            measure: None,
            look: Some(index),
            name: name.clone(),
            is_at_line: has_ends,
        };
        let measure = |(index, name): (usize, &String)| Key {
            subject: None,
            measure: Some(index),
            look: (!subjects).then_some(index),
            name: name.clone(),
            is_at_line: has_ends && !subjects,
        };
        let of_subjects = self.subjects.iter().enumerate().filter(|_| subjects).map(subject);
        let of_measures = self.measures.iter().enumerate().filter(|_| measures).map(measure);
        of_subjects.chain(of_measures).collect()
    }
}

impl Unit {
    /// A value with its unit.
    pub(crate) fn shown(self, value: f64) -> String {
        match self {
            Self::BytesPerSecond => format!("{}/s", number::bytes(value.round())),
            Self::Nines => percentile(value),
            Self::PerSecond => number::per_second(value),
            Self::Seconds => format!("{} s", number::three(value)),
            Self::Share => number::percent(value),
            Self::Time => number::time(value),
        }
    }

    /// A value and its interval.
    pub(crate) fn cell(self, point: &Point) -> String {
        match point.interval {
            Some((low, high)) => {
                format!("{} [{}, {}]", self.shown(point.y), self.shown(low), self.shown(high))
            }
            None => self.shown(point.y),
        }
    }

    /// A value of an axis: as short as it can be.
    pub(crate) fn tick(self, value: f64) -> String {
        match self {
            Self::BytesPerSecond => {
                prefixed(value, &[(1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1.0, " B")])
            }
            Self::Nines => percentile(value),
            Self::PerSecond => prefixed(value, &[(1e6, " M"), (1e3, " k"), (1.0, "")]),
            Self::Seconds => format!("{} s", trimmed(value)),
            Self::Share => format!("{} %", trimmed(value * 100.0)),
            Self::Time => prefixed(value, &[(1e9, " s"), (1e6, " ms"), (1e3, " us"), (1.0, " ns")]),
        }
    }
}

/// `99.9 %` for 3 nines, `50 %` for 0.301: with as many digits as distinguish it from its neighbours.
fn percentile(nines: f64) -> String {
    let decimals = match nines - 1e-9 {
        ..2.0 => 0,
        ..3.0 => 1,
        ..4.0 => 2,
        ..5.0 => 3,
        ..6.0 => 4,
        _ => 5,
    };
    format!("{:.decimals$} %", (1.0 - 10_f64.powf(-nines)) * 100.0)
}

/// `value` with the largest of `prefixes` that it reaches.
fn prefixed(value: f64, prefixes: &[(f64, &str)]) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let reached = prefixes.iter().find(|(unit, _)| value.abs() >= unit * 0.999_999);
    let (unit, name) = reached.or_else(|| prefixes.last()).copied().unwrap_or((1.0, ""));
    format!("{}{name}", trimmed(value / unit))
}

/// At most two decimals, without trailing zeros.
fn trimmed(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The number of names that fit one below the other at the ends of lines.
const ENDS_MAX: usize = 15;
/// The same in a strip.
const STRIP_ENDS_MAX: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    /// A chart in which each subject has a line for each measure.
    fn chart(subjects: usize, measures: usize) -> Chart {
        let names =
            |count: usize, of: &str| (0..count).map(|index| format!("{of}{index}")).collect();
        let point = |x: f64, y: usize| Point { x, y: number::float(y as u64), interval: None };
        let line = |(measure, subject): (usize, usize)| Series {
            subject,
            measure,
            points: vec![point(1.0, 7), point(2.0, 10 * measure + subject)],
        };
        let all = (0..measures).flat_map(|measure| (0..subjects).map(move |it| (measure, it)));
        let axis = Axis { label: "", unit: Unit::PerSecond, scale: Scale::Linear };
        Chart {
            id: "it",
            title: String::new(),
            caption: String::new(),
            group: "it",
            x: axis.clone(),
            y: axis,
            subjects: names(subjects, "s"),
            measures: names(measures, "m"),
            series: all.map(line).collect(),
            marks: Vec::new(),
            band: false,
            ideal: false,
            names_marks: false,
            strip: false,
            notes: Vec::new(),
        }
    }

    #[test]
    fn lines_have_names_at_their_ends_as_long_as_these_have_room() {
        let shown = |chart: &Chart| {
            let ends = chart.ends().into_iter().map(|end| format!("{}@{}", end.name, end.at.y));
            let keys = chart.keys().into_iter().filter(|key| !key.is_at_line);
            (
                ends.collect::<Vec<_>>().join(" "),
                keys.map(|key| key.name).collect::<Vec<_>>().join(" "),
            )
        };
        // The subjects and measures, the names at the ends of lines, and those that are only in the legend.
        #[rustfmt::skip]
        let table = [
            (1, 1,  "",               ""),
            (1, 3,  "m0@0 m1@10 m2@20", ""),
            (2, 1,  "s0@0 s1@1",      ""),
            (2, 3,  "s0@0 s1@1",      "m0 m1 m2"),
        ];
        for (subjects, measures, ends, keys) in table {
            let found = shown(&chart(subjects, measures));
            assert_eq!(found, (ends.to_owned(), keys.to_owned()), "{subjects} {measures}");
        }
        assert_eq!(chart(ENDS_MAX, 1).ends().len(), ENDS_MAX);
        let many = chart(ENDS_MAX + 1, 1);
        assert_eq!((many.ends().len(), many.keys().len()), (0, ENDS_MAX + 1));
        let strip = Chart { strip: true, ..chart(STRIP_ENDS_MAX + 1, 1) };
        assert_eq!(strip.ends(), []);
        // A line that could not be drawn has no end, and the next one of its subject replaces it.
        let mut gone = chart(2, 2);
        gone.series.remove(0);
        assert_eq!(shown(&gone).0, "s1@1 s0@10");
    }

    #[test]
    fn ticks_are_short_and_have_their_unit() {
        #[rustfmt::skip]
        let table = [
            (Unit::PerSecond,      0.0,         "0"),
            (Unit::PerSecond,      500.0,       "500"),
            (Unit::PerSecond,      1_500.0,     "1.5 k"),
            (Unit::PerSecond,      12_000_000.0, "12 M"),
            (Unit::BytesPerSecond, 2_500_000.0, "2.5 MB"),
            (Unit::Time,           1e3,         "1 us"),
            (Unit::Time,           2e8,         "200 ms"),
            (Unit::Time,           0.5,         "0.5 ns"),
            (Unit::Share,          0.2,         "20 %"),
            (Unit::Seconds,        2.5,         "2.5 s"),
            (Unit::Nines,          0.0,         "0 %"),
            (Unit::Nines,          std::f64::consts::LOG10_2, "50 %"),
            (Unit::Nines,          1.0,         "90 %"),
            (Unit::Nines,          2.0,         "99 %"),
            (Unit::Nines,          3.0,         "99.9 %"),
            (Unit::Nines,          5.0,         "99.999 %"),
        ];
        for row @ (unit, value, expected) in table {
            assert_eq!(unit.tick(value), expected, "{row:?}");
        }
    }
}
