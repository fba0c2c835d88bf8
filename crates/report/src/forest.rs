//! Ratios to the baseline with their intervals, one below the other: what a ladder says, as a drawing.

use crate::escape::{cut, escape};
use crate::number;
use crate::svg::{self, Place, xml};
use record::{Comparison, RunRecord};

/// A row for each workload that was compared; `None` if there is none.
pub(crate) fn draw(record: &RunRecord, place: Place) -> Option<String> {
    let baseline = record.plan.workloads.get(record.plan.baseline?)?;
    let rows: Vec<(String, Comparison)> = record
        .results
        .iter()
        .filter_map(|result| {
            let name = &record.plan.workloads.get(result.workload)?.name;
            let comparison = result.to_baseline.as_ref()?.round_trip_p50_ns.clone()?;
            comparison.ratio.is_finite().then(|| (cut(&escape(name), NAME_MAX), comparison))
        })
        .collect();
    let edge = |(_, comparison): &(String, Comparison)| comparison.high.unwrap_or(comparison.ratio);
    let max = rows.iter().map(edge).filter(|edge| edge.is_finite()).fold(1.0, f64::max);
    let min = rows
        .iter()
        .map(|(_, it)| it.low.unwrap_or(it.ratio))
        .filter(|low| *low > 0.0)
        .fold(1.0, f64::min);
    (!rows.is_empty()).then(|| {
        let scale = Logarithmic { min: min / 1.1, max: max * 1.1 };
        drawn(&rows, &escape(&baseline.name), &scale, place)
    })
}

/// Equal factors are equal distances.
struct Logarithmic {
    min: f64,
    max: f64,
}

impl Logarithmic {
    fn place(&self, value: f64) -> f64 {
        let share = (value / self.min).ln() / (self.max / self.min).ln();
        LEFT + share.clamp(0.0, 1.0) * (RIGHT - LEFT)
    }
}

fn drawn(
    rows: &[(String, Comparison)],
    baseline: &str,
    scale: &Logarithmic,
    place: Place,
) -> String {
    let count = rows.iter().fold(0.0, |count, _| count + 1.0);
    let top = if place == Place::Alone { 36.0 } else { 12.0 };
    let bottom = top + count * ROW;
    let height = bottom + 40.0;
    let title = xml(&format!("Median round trip by that of {baseline}"));
    let mut lines = Vec::new();
    let namespace =
        if place == Place::Alone { " xmlns=\"http://www.w3.org/2000/svg\"" } else { "" };
    lines.push(format!(
        "<svg{namespace} class=\"chart rows\" role=\"img\" viewBox=\"0 0 480 {height}\" aria-labelledby=\"ratios-title ratios-text\">"
    ));
    lines.push(format!("<title id=\"ratios-title\">{title}</title>"));
    lines.push(
        "<desc id=\"ratios-text\">Each row a workload: its ratio and the 95 % interval. An interval that meets the line \
         at 1 shows no difference.</desc>"
            .to_owned(),
    );
    if place == Place::Alone {
        lines.push(format!("<style>{}</style>", svg::STYLE));
        lines.push(format!("<rect class=\"paper\" width=\"480\" height=\"{height}\"/>"));
        lines.push(format!("<text class=\"heading\" x=\"12\" y=\"20\">{title}</text>"));
    }
    for tick in ticks(scale) {
        let x = scale.place(tick);
        let (class, label) = (if tick == 1.0 { "axis" } else { "grid" }, number::three(tick));
        let label = label.trim_end_matches('0').trim_end_matches('.');
        lines.push(format!("<path class=\"{class}\" d=\"M{x:.1} {top:.1}L{x:.1} {bottom:.1}\"/>"));
        let y = bottom + 17.0;
        lines
            .push(format!("<text class=\"tick middle\" x=\"{x:.1}\" y=\"{y:.1}\">{label}x</text>"));
    }
    for (index, (name, comparison)) in rows.iter().enumerate() {
        let above = rows.iter().take(index).fold(0.0, |above, _| above + ROW);
        lines.push(row(name, comparison, scale, top + above + ROW / 2.0));
    }
    lines.push("</svg>\n".to_owned());
    lines.join("\n")
}

fn row(name: &str, comparison: &Comparison, scale: &Logarithmic, y: f64) -> String {
    let x = scale.place(comparison.ratio);
    let text = y + 4.0;
    let interval = comparison.low.zip(comparison.high);
    let whisker = interval.map_or_else(String::new, |(low, high)| {
        let (from, to) = (scale.place(low), scale.place(high));
        format!("<path class=\"line\" d=\"M{from:.1} {y:.1}L{to:.1} {y:.1}\"/>")
    });
    let ratio = number::ratio(comparison.ratio, interval);
    format!(
        "<g class=\"c0 d0 m0\">{whisker}<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/></g>\
         <text class=\"tick\" x=\"12\" y=\"{text:.1}\">{}</text>\
         <text class=\"tick end\" x=\"468\" y=\"{text:.1}\">{}</text>",
        xml(name),
        xml(&ratio)
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
const RIGHT: f64 = 338.0;
