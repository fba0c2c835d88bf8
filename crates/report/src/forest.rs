//! Ratios to the baseline with their intervals, one below the other: what a ladder says, as a drawing.

use crate::escape::{columns, cut, escape};
use crate::lab::rows::{Group, Ratio, message_heading, message_ns};
use crate::number;
use crate::svg::{self, Place, xml};
use crate::verdict;
use record::{Kind, RunRecord};

/// A drawing of ratios to one baseline.
pub(crate) struct Forest {
    /// Its file name without an ending, and its place on the page.
    pub(crate) id: String,
    /// The load that it is of; empty where there is no other.
    pub(crate) load: String,
    /// What is compared.
    pub(crate) what: &'static str,
    pub(crate) svg: String,
}

/// A row for each workload that was compared; of a lab, a drawing for each load. Empty if there is nothing to draw.
pub(crate) fn draw(record: &RunRecord, place: Place) -> Vec<Forest> {
    let mut all = Vec::new();
    let mut add = |load: &str, what: &'static str, baseline: &str, rows: Vec<(String, Ratio)>| {
        let rows: Vec<(String, Ratio)> =
            rows.into_iter().filter(|(_, ratio)| ratio.value.is_finite()).collect();
        if !rows.is_empty() {
            let id = match all.len() {
                0 => "ratios".to_owned(),
                before => format!("ratios-{}", before + 1),
            };
            let svg = Drawing { id: &id, what, baseline: &escape(baseline), place }.of(&rows);
            all.push(Forest { id, load: escape(load), what, svg });
        }
    };
    if record.kind == Kind::Lab {
        let verdict = verdict::of(record);
        for group in Group::all(record, &verdict) {
            let Some(zero) = group.zero().filter(|zero| zero.is_allowed) else { continue };
            let ranked = group.ranked(message_ns).into_iter();
            let rows = ranked.filter_map(|row| Some((row.name.clone(), row.to(zero, message_ns)?)));
            let what = message_heading(zero.workload);
            add(&group.load, what, zero.base_name(), rows.collect());
        }
        return all;
    }
    let Some(baseline) = record.plan.baseline.and_then(|index| record.plan.workloads.get(index))
    else {
        return all;
    };
    let rows = record.results.iter().filter_map(|result| {
        let name = record.plan.workloads.get(result.workload)?.name.clone();
        let it = result.to_baseline.as_ref()?.round_trip_p50_ns.as_ref()?;
        let interval = it.low.zip(it.high);
        Some((name, Ratio { value: it.ratio, interval, smallest: None }))
    });
    add("", "Median round trip", &baseline.name, rows.collect());
    all
}

/// Equal factors are equal distances.
struct Logarithmic {
    min: f64,
    max: f64,
    /// Where the smallest lies.
    left: f64,
}

impl Logarithmic {
    /// As far as `rows` go, and 1.
    fn of(rows: &[(String, Ratio)], left: f64) -> Self {
        let high = |(_, it): &(String, Ratio)| it.interval.map_or(it.value, |(_, high)| high);
        let low = |(_, it): &(String, Ratio)| it.interval.map_or(it.value, |(low, _)| low);
        let max = rows.iter().map(high).filter(|edge| edge.is_finite()).fold(1.0, f64::max);
        let min = rows.iter().map(low).filter(|low| *low > 0.0).fold(1.0, f64::min);
        Self { min: min / 1.1, max: max * 1.1, left }
    }

    fn place(&self, value: f64) -> f64 {
        let share = (value / self.min).ln() / (self.max / self.min).ln();
        self.left + share.clamp(0.0, 1.0) * (RIGHT - self.left)
    }
}

/// What a drawing is told besides its rows.
struct Drawing<'a> {
    id: &'a str,
    what: &'static str,
    baseline: &'a str,
    place: Place,
}

impl Drawing<'_> {
    fn of(&self, rows: &[(String, Ratio)]) -> String {
        let Self { id, what, baseline, place } = *self;
        let is_long = rows.iter().any(|(name, _)| columns(&escape(name)) > NAME_MAX);
        let (name_max, left) = if is_long { (NAME_MAX_LONG, LEFT_LONG) } else { (NAME_MAX, LEFT) };
        let scale = Logarithmic::of(rows, left);
        let count = rows.iter().fold(0.0, |count, _| count + 1.0);
        let top = if place == Place::Alone { 36.0 } else { 12.0 };
        let bottom = top + count * ROW;
        let height = bottom + 40.0;
        let title = xml(&format!("{what} by that of {baseline}"));
        let mut lines = Vec::new();
        let namespace =
            if place == Place::Alone { " xmlns=\"http://www.w3.org/2000/svg\"" } else { "" };
        lines.push(format!(
            "<svg{namespace} class=\"chart rows\" role=\"img\" viewBox=\"0 0 480 {height}\" aria-labelledby=\"{id}-title {id}-text\">"
        ));
        lines.push(format!("<title id=\"{id}-title\">{title}</title>"));
        lines.push(format!(
            "<desc id=\"{id}-text\">Each row a workload: its ratio and the 95 % interval. An interval that meets the line \
             at 1 shows no difference.</desc>"
        ));
        if place == Place::Alone {
            lines.push(format!("<style>{}</style>", svg::STYLE));
            lines.push(format!("<rect class=\"paper\" width=\"480\" height=\"{height}\"/>"));
            lines.push(format!("<text class=\"heading\" x=\"12\" y=\"20\">{title}</text>"));
        }
        for tick in ticks(&scale) {
            let x = scale.place(tick);
            let (class, label) = (if tick == 1.0 { "axis" } else { "grid" }, number::three(tick));
            let label = label.trim_end_matches('0').trim_end_matches('.');
            lines.push(format!(
                "<path class=\"{class}\" d=\"M{x:.1} {top:.1}L{x:.1} {bottom:.1}\"/>"
            ));
            let y = bottom + 17.0;
            lines.push(format!(
                "<text class=\"tick middle\" x=\"{x:.1}\" y=\"{y:.1}\">{label}x</text>"
            ));
        }
        for (index, (name, ratio)) in rows.iter().enumerate() {
            let above = rows.iter().take(index).fold(0.0, |above, _| above + ROW);
            let name = cut(&escape(name), name_max);
            lines.push(row(&name, *ratio, &scale, top + above + ROW / 2.0));
        }
        lines.push("</svg>\n".to_owned());
        lines.join("\n")
    }
}

fn row(name: &str, ratio: Ratio, scale: &Logarithmic, y: f64) -> String {
    let x = scale.place(ratio.value);
    let text = y + 4.0;
    let whisker = ratio.interval.map_or_else(String::new, |(low, high)| {
        let (from, to) = (scale.place(low), scale.place(high));
        format!("<path class=\"line\" d=\"M{from:.1} {y:.1}L{to:.1} {y:.1}\"/>")
    });
    format!(
        "<g class=\"c0 d0 m0\">{whisker}<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/></g>\
         <text class=\"tick\" x=\"12\" y=\"{text:.1}\">{}</text>\
         <text class=\"tick end\" x=\"468\" y=\"{text:.1}\">{}</text>",
        xml(name),
        xml(&ratio.cell())
    )
}

/// 1, 2, 5 and so on, as far as they lie within.
fn ticks(scale: &Logarithmic) -> Vec<f64> {
    let all: &[f64] = if scale.max / scale.min < 2.2 {
        &[0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0]
    } else {
        &[0.01, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0]
    };
    all.iter().copied().filter(|tick| (scale.min..=scale.max).contains(tick)).collect()
}

const NAME_MAX: usize = 14;
const ROW: f64 = 22.0;
const LEFT: f64 = 116.0;
/// Where a name is longer than [`NAME_MAX`].
const NAME_MAX_LONG: usize = 24;
const LEFT_LONG: f64 = 176.0;
const RIGHT: f64 = 338.0;
