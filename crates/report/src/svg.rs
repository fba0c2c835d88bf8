//! Drawings as SVG: charts with axes, lines, intervals, marks and their bands; ratios one below the other; bars of
//! layers.
//!
//! Everything that is drawn has a class and no colour of its own: [`STYLE`] has the colours, for light and dark. Within
//! a page that style is among the page's style sheets, so that its Content-Security-Policy can do without inline
//! styles.
//!
//! Start reading at [`draw`].

use crate::chart::{
    Axis, Chart, End, Figure, Key, LAYERS, Layers, Mark, Point, RatioRow, Ratios, Scale, Series,
    Unit,
};
use crate::escape::{columns, cut};
use crate::number;
use std::fmt::Write as _;

/// The place of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A drawing in a file of its own: with title, legend, style and background.
    Alone,
    /// A drawing in a page that has all these.
    Page,
}

/// `figure` as an `svg` element.
pub(crate) fn draw(figure: &Figure, place: Place) -> String {
    let mut svg = Writer { text: String::new() };
    match figure {
        Figure::Layers(layers) => svg.layers(figure, layers, place),
        Figure::Lines(chart) => svg.chart(figure, chart, place),
        Figure::Ratios(ratios) => svg.ratios(figure, ratios, place),
    }
    svg.text.push_str("</svg>\n");
    svg.text
}

/// The sample of a line in a legend of a page.
pub(crate) fn swatch(key: &Key) -> String {
    format!(
        "<svg class=\"swatch\" aria-hidden=\"true\" viewBox=\"0 0 28 12\" width=\"28\" height=\"12\">{}</svg>",
        piece(key)
    )
}

/// A short piece of a line, 28 wide and 12 high.
fn piece(key: &Key) -> String {
    let classes = key.look.map_or_else(|| "plain".to_owned(), subject_classes);
    let measure = key.measure.unwrap_or(0);
    let dot = key.measure.map_or_else(String::new, |measure| mark(measure, 14.0, 6.0));
    format!("<g class=\"{classes} m{measure}\"><path class=\"line\" d=\"M1 6L27 6\"/>{dot}</g>")
}

/// The positions of data on the drawing.
struct Frame {
    x: Range,
    y: Range,
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
    height: f64,
}

impl Frame {
    fn of(chart: &Chart, place: Place) -> Self {
        let heading = if place == Place::Alone { 26.0 } else { 0.0 };
        let top = heading + 30.0;
        let bottom = top + if chart.strip { 84.0 } else { 210.0 };
        let legend = match (place, rows(chart)) {
            (Place::Alone, rows) if rows > 0.0 => 20.0 * rows + 10.0,
            _ => 0.0,
        };
        // Room for the names of lines is left beside the plot.
        let names = chart.ends().into_iter().map(|end| width_of(&cut(&end.name, LINE_NAME)));
        let beside = names.map(|width| width * NARROW + 8.0).fold(0.0, f64::max);
        let x_max = chart.x_max();
        let xs = chart.points().map(|point| point.x);
        let ys = chart.points().flat_map(|point| {
            let (low, high) = point.interval.unwrap_or((point.y, point.y));
            [point.y, low, high]
        });
        // The ideal line goes on where the lines leave it.
        let ys = ys.chain(chart.ideal.then_some(x_max));
        let x = match (chart.x.unit, chart.x.scale) {
            // Up to the last point: beyond it, up to a round end, there would be nothing.
            (Unit::Seconds | Unit::Nines | Unit::PerSecond, Scale::Linear) => Range {
                min: 0.0,
                max: if x_max > 0.0 { x_max * 1.02 } else { 1.0 },
                scale: Scale::Linear,
            },
            _ => Range::of(&chart.x, xs.chain(chart.marks.iter().map(|mark| mark.high))),
        };
        let y = if chart.y.unit == Unit::Share {
            Range { min: 0.0, max: 1.0, scale: Scale::Linear }
        } else {
            Range::of(&chart.y, ys)
        };
        Self {
            x,
            y,
            left: 56.0,
            top,
            right: WIDTH - MARGIN - beside,
            bottom,
            height: bottom + 44.0 + legend,
        }
    }

    /// The position of a point of the data.
    fn place(&self, x: f64, y: f64) -> [f64; 2] {
        let across = self.left + self.x.share(x) * (self.right - self.left);
        let down = self.bottom - self.y.share(y) * (self.bottom - self.top);
        [across, down]
    }
}

/// The ends of an axis.
struct Range {
    min: f64,
    max: f64,
    scale: Scale,
}

impl Range {
    /// Round ends around all `values`; a linear axis begins at zero.
    fn of(axis: &Axis, values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        match axis.scale {
            Scale::Linear => {
                let max = if high > 0.0 { high } else { 1.0 };
                let step = round_step(max / 5.0);
                Self { min: 0.0, max: (max / step - 1e-9).ceil() * step, scale: Scale::Linear }
            }
            Scale::Logarithmic => {
                let (low, high) = if low <= high { (low, high) } else { (1.0, 10.0) };
                let decade = |value: f64| 10_f64.powf(value.log10().floor());
                let down = ONE_TWO_FIVE.map(|part| part * decade(low));
                let min = down
                    .into_iter()
                    .filter(|edge| *edge <= low * 1.000_001)
                    .fold(decade(low), f64::max);
                let up = ONE_TWO_FIVE.map(|part| part * decade(high));
                let max = up
                    .into_iter()
                    .filter(|edge| *edge >= high * 0.999_999)
                    .fold(10.0 * decade(high), f64::min);
                let max = if max / min < 9.9 { min * 10.0 } else { max };
                Self { min, max, scale: Scale::Logarithmic }
            }
        }
    }

    /// The share of the axis before a value: 0 to 1.
    fn share(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.min) / (self.max - self.min),
            Scale::Logarithmic => (value / self.min).ln() / (self.max / self.min).ln(),
        };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The values of its ticks.
    fn ticks(&self, unit: Unit) -> Vec<f64> {
        match (self.scale, unit) {
            (_, Unit::Nines) => {
                let whole = std::iter::successors(Some(1.0), |nines| Some(nines + 1.0));
                let mut ticks = vec![0.0, 0.5_f64.log10().abs()];
                ticks.extend(whole.take_while(|nines| *nines <= self.max + 1e-9));
                ticks
            }
            (Scale::Linear, _) => {
                let step = round_step((self.max - self.min) / 5.0);
                let all = std::iter::successors(Some(0.0), |count| Some(count + 1.0));
                all.map(|count| self.min + count * step)
                    .take_while(|tick| *tick <= self.max + step * 1e-6)
                    .collect()
            }
            (Scale::Logarithmic, _) => {
                let decades = (self.max / self.min).log10();
                let parts: &[f64] = if decades > 3.5 { &[1.0] } else { &ONE_TWO_FIVE };
                let first = 10_f64.powf((self.min.log10() + 1e-9).floor());
                std::iter::successors(Some(first), |decade| Some(decade * 10.0))
                    .take_while(|decade| *decade <= self.max * 1.000_001)
                    .flat_map(|decade| parts.iter().map(move |part| part * decade))
                    .filter(|tick| (self.min * 0.999_999..=self.max * 1.000_001).contains(tick))
                    .collect()
            }
        }
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least `least`.
fn round_step(least: f64) -> f64 {
    let decade = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|part| part * decade);
    steps.into_iter().find(|step| *step >= least * 0.999_999).unwrap_or(1.0)
}

const ONE_TWO_FIVE: [f64; 3] = [1.0, 2.0, 5.0];

/// An SVG so far.
struct Writer {
    text: String,
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Everything before the drawing itself.
    fn open(&mut self, figure: &Figure, class: &str, height: f64, place: Place) {
        let namespace = match place {
            Place::Alone => " xmlns=\"http://www.w3.org/2000/svg\"",
            Place::Page => "",
        };
        let (id, title, caption) = (figure.id(), xml(figure.title()), xml(figure.caption()));
        self.line(&format!(
            "<svg{namespace} class=\"{class}\" role=\"img\" viewBox=\"0 0 {WIDTH} {height}\" \
             aria-labelledby=\"{id}-title {id}-text\">"
        ));
        self.line(&format!("<title id=\"{id}-title\">{title}</title>"));
        self.line(&format!("<desc id=\"{id}-text\">{caption}</desc>"));
        if place == Place::Alone {
            self.line(&format!("<style>{STYLE}</style>"));
            self.line(&format!("<rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>"));
            self.line(&format!("<text class=\"heading\" x=\"{MARGIN}\" y=\"20\">{title}</text>"));
        }
    }

    fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let text = xml(text);
        self.line(&format!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"));
    }

    fn chart(&mut self, figure: &Figure, chart: &Chart, place: Place) {
        let frame = Frame::of(chart, place);
        self.open(figure, "chart", frame.height, place);
        self.axes(chart, &frame);
        self.marks(chart, &frame);
        if chart.ideal {
            let end = frame.x.max.min(frame.y.max);
            let start = frame.x.min.max(frame.y.min);
            let [x1, y1] = frame.place(start, start);
            let [x2, y2] = frame.place(end, end);
            self.line(&format!("<path class=\"ideal\" d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\"/>"));
        }
        for lines in chart.bands() {
            self.between(lines, chart.look(lines[0].subject, 0), &frame);
        }
        for series in &chart.series {
            self.series(series, chart.look(series.subject, series.measure), &frame);
        }
        self.ends(chart, &frame);
        if place == Place::Alone {
            self.legend(chart, &frame);
        }
    }

    /// A row for each ratio: its name, its dot on a logarithmic axis, its interval, its numbers. A name that has no
    /// room beside the axis is written above its row.
    fn ratios(&mut self, figure: &Figure, ratios: &Ratios, place: Place) {
        let long = ratios.rows.iter().any(|(name, ..)| columns(name) > SHORT_NAME);
        let (name_max, left) = if long { (24, 176.0) } else { (SHORT_NAME, 116.0) };
        let above = |name: &str| if columns(name) > name_max { NAME_HEIGHT } else { 0.0 };
        let right = 338.0;
        let ends = |(_, value, interval): &RatioRow| {
            let (low, high) = interval.unwrap_or((*value, *value));
            [low, high, 1.0]
        };
        let all = || ratios.rows.iter().flat_map(ends).filter(|end| end.is_finite() && *end > 0.0);
        let (low, high) =
            all().fold((1.0_f64, 1.0_f64), |(low, high), it| (low.min(it), high.max(it)));
        let scale = Range { min: low / 1.1, max: high * 1.1, scale: Scale::Logarithmic };
        let place_of = |value: f64| left + scale.share(value) * (right - left);
        let top = if place == Place::Alone { 36.0 } else { 12.0 };
        let bottom = ratios.rows.iter().fold(top, |bottom, (name, ..)| bottom + 22.0 + above(name));
        self.open(figure, "chart rows", bottom + 40.0, place);
        // As many ticks as have room side by side.
        let ticks: &[f64] = match scale.max / scale.min {
            ..2.2 => &[0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0],
            ..80.0 => &[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0],
            _ => &[0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0],
        };
        for tick in ticks.iter().copied().filter(|it| (scale.min..=scale.max).contains(it)) {
            let (x, class) = (place_of(tick), if tick == 1.0 { "axis" } else { "grid" });
            self.line(&format!(
                "<path class=\"{class}\" d=\"M{x:.1} {top:.1}L{x:.1} {bottom:.1}\"/>"
            ));
            self.text("tick middle", x, bottom + 17.0, &format!("{tick}x"));
        }
        let mut y = top + 11.0;
        for (name, value, interval) in &ratios.rows {
            let name_y = y + 4.0;
            y += above(name);
            let x = place_of(*value);
            let whisker = interval.map_or_else(String::new, |(low, high)| {
                let (from, to) = (place_of(low), place_of(high));
                format!("<path class=\"line\" d=\"M{from:.1} {y:.1}L{to:.1} {y:.1}\"/>")
            });
            self.line(&format!(
                "<g class=\"c0 d0 m0\">{whisker}<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/></g>"
            ));
            self.text("tick", MARGIN, name_y, &cut(name, WIDE_NAME));
            self.text("tick end", WIDTH - MARGIN, y + 4.0, &number::ratio(*value, *interval));
            y += 22.0;
        }
    }

    /// A bar for each line, one layer after the other.
    fn layers(&mut self, figure: &Figure, layers: &Layers, place: Place) {
        let (left, right) = (104.0, 408.0);
        let total = |parts: &[f64]| parts.iter().sum::<f64>();
        let max = layers.bars.iter().map(|(_, parts)| total(parts)).fold(0.0, f64::max);
        let top = if place == Place::Alone { 84.0 } else { 58.0 };
        let height = layers.bars.iter().fold(top + 8.0, |height, _| height + 32.0);
        self.open(figure, "chart", height, place);
        let places = [(12.0, 42.0), (232.0, 42.0), (12.0, 20.0), (232.0, 20.0)];
        for (index, (name, (x, above))) in LAYERS.iter().zip(places).enumerate() {
            let y = top - above;
            self.bar(index, [x, y - 10.0, 11.0, 11.0]);
            self.text("label", x + 16.0, y, name);
        }
        let mut y = top;
        for (name, parts) in &layers.bars {
            self.text("tick", MARGIN, y + 16.0, &cut(name, SHORT_NAME));
            let mut x = left;
            for (index, part) in parts.iter().enumerate() {
                let width = part * (right - left) / max;
                self.bar(index, [x, y, width, 22.0]);
                x += width;
            }
            self.text("tick", x + 6.0, y + 16.0, &number::bytes(total(parts).round()));
            y += 32.0;
        }
    }

    fn bar(&mut self, layer: usize, [x, y, width, height]: [f64; 4]) {
        self.line(&format!(
            "<rect class=\"l{layer}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
        ));
    }

    fn axes(&mut self, chart: &Chart, frame: &Frame) {
        let Frame { left, top, right, bottom, .. } = *frame;
        for tick in frame.y.ticks(chart.y.unit) {
            let [_, y] = frame.place(frame.x.min, tick);
            self.line(&format!("<path class=\"grid\" d=\"M{left:.1} {y:.1}L{right:.1} {y:.1}\"/>"));
            self.text("tick end", left - 6.0, y + 4.0, &chart.y.unit.tick(tick));
        }
        let mut free_from = 0.0;
        for tick in frame.x.ticks(chart.x.unit) {
            let [x, _] = frame.place(tick, frame.y.min);
            let label = chart.x.unit.tick(tick);
            self.line(&format!("<path class=\"grid\" d=\"M{x:.1} {top:.1}L{x:.1} {bottom:.1}\"/>"));
            let half = width_of(&label) / 2.0 + 3.0;
            // A tick whose label would overlap its neighbour's has none.
            if x - half >= free_from {
                self.text("tick middle", x, bottom + 17.0, &label);
                free_from = x + half;
            }
        }
        let base = format!("M{left:.1} {top:.1}L{left:.1} {bottom:.1}L{right:.1} {bottom:.1}");
        self.line(&format!("<path class=\"axis\" d=\"{base}\"/>"));
        self.text("label", MARGIN, top - 12.0, chart.y.label);
        self.text("label end", right, bottom + 36.0, chart.x.label);
    }

    fn marks(&mut self, chart: &Chart, frame: &Frame) {
        let mut y = frame.top + 13.0;
        for Mark { subject, label, at, low, high } in &chart.marks {
            let (top, bottom) = (frame.top, frame.bottom);
            let [x1, x, x2] = [*low, *at, *high].map(|value| frame.place(value, frame.y.min)[0]);
            let (width, height) = (x2 - x1, bottom - top);
            let classes = subject_classes(chart.look(*subject, 0));
            self.line(&format!("<g class=\"{classes}\">"));
            self.line(&format!(
                "<rect class=\"band\" x=\"{x1:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
            ));
            self.line(&format!("<path class=\"mark\" d=\"M{x:.1} {top:.1}L{x:.1} {bottom:.1}\"/>"));
            if chart.names_marks {
                let width = width_of(label) * NARROW;
                let left = x - frame.left > width + 8.0;
                let right_most = frame.right - width - 2.0;
                let (side, at) =
                    if left { ("end", x - 5.0) } else { ("start", (x + 5.0).min(right_most)) };
                self.text(&format!("name {side}"), at, y, label);
                y += 16.0;
                if y > frame.bottom - 4.0 {
                    y = frame.top + 13.0;
                }
            }
            self.line("</g>");
        }
    }

    /// The area between two lines.
    fn between(&mut self, [one, other]: [&Series; 2], look: usize, frame: &Frame) {
        let places = one.points.iter().chain(other.points.iter().rev());
        let mut path = String::new();
        for (index, point) in places.enumerate() {
            let [across, down] = frame.place(point.x, point.y);
            let step = if index == 0 { 'M' } else { 'L' };
            write!(path, "{step}{across:.1} {down:.1}").expect("writing to memory does not fail");
        }
        let classes = subject_classes(look);
        self.line(&format!("<g class=\"{classes}\"><path class=\"band\" d=\"{path}Z\"/></g>"));
    }

    fn series(&mut self, series: &Series, look: usize, frame: &Frame) {
        let (subject, measure) = (subject_classes(look), series.measure);
        self.line(&format!("<g class=\"{subject} m{measure}\">"));
        let mut path = String::new();
        let (mut intervals, mut dots) = (String::new(), String::new());
        let few = series.points.len() <= DOTS_MAX;
        for (index, point) in series.points.iter().enumerate() {
            let Point { x, y, interval } = *point;
            let [across, down] = frame.place(x, y);
            let step = if index == 0 { 'M' } else { 'L' };
            write!(path, "{step}{across:.1} {down:.1}").expect("writing to memory does not fail");
            if let Some((low, high)) = interval {
                let ([_, from], [_, to]) = (frame.place(x, low), frame.place(x, high));
                // An interval shorter than its own dot would not be visible.
                if from - to > 2.0 * DOT {
                    write!(intervals, "M{across:.1} {from:.1}L{across:.1} {to:.1}")
                        .expect("writing to memory does not fail");
                }
            }
            if few {
                dots += &mark(measure, across, down);
            }
        }
        self.line(&format!("<path class=\"line\" d=\"{path}\"/>"));
        if !intervals.is_empty() {
            self.line(&format!("<path class=\"interval\" d=\"{intervals}\"/>"));
        }
        if !dots.is_empty() {
            self.line(&dots);
        }
        self.line("</g>");
    }

    /// The names of lines, one below the other beside the plot, where no line runs through them; a thin line leads from
    /// the end of a line to its name.
    fn ends(&mut self, chart: &Chart, frame: &Frame) {
        let place = |end: End| (frame.place(end.at.x, end.at.y), end);
        let mut ends: Vec<([f64; 2], End)> = chart.ends().into_iter().map(place).collect();
        ends.sort_by(|([_, one], _), ([_, other], _)| one.total_cmp(other));
        let wanted: Vec<f64> = ends.iter().map(|([_, y], _)| *y).collect();
        let heights = spread(&wanted, frame.bottom - 4.0);
        let right = frame.right;
        for (([x, y], end), height) in ends.into_iter().zip(heights) {
            self.line(&format!("<g class=\"{}\">", subject_classes(end.look)));
            let to = right + 5.0;
            let leader = format!("M{x:.1} {y:.1}L{right:.1} {y:.1}L{to:.1} {height:.1}");
            self.line(&format!("<path class=\"leader\" d=\"{leader}\"/>"));
            self.text("name beside", right + 7.0, height + 4.0, &cut(&end.name, LINE_NAME));
            self.line("</g>");
        }
    }

    /// The legend, for everything that has no name at a line.
    fn legend(&mut self, chart: &Chart, frame: &Frame) {
        let (mut x, mut y) = (MARGIN, frame.bottom + 60.0);
        for key in chart.keys().into_iter().filter(|key| !key.is_at_line) {
            let width = key_width(&key.name);
            if x + width > WIDTH && x > MARGIN {
                (x, y) = (MARGIN, y + 20.0);
            }
            let (top, piece) = (y - 10.0, piece(&key));
            self.line(&format!("<g transform=\"translate({x:.1} {top:.1})\">{piece}</g>"));
            self.text("label", x + 32.0, y, &key.name);
            x += width;
        }
    }
}

/// Heights for names whose lines end at `wanted`, from the top down: there, or moved just far enough to keep each below
/// the one before it and above `bottom`.
fn spread(wanted: &[f64], bottom: f64) -> Vec<f64> {
    let mut heights: Vec<f64> = wanted.to_vec();
    let mut least = f64::NEG_INFINITY;
    for height in &mut heights {
        *height = height.max(least);
        least = *height + NAME_HEIGHT;
    }
    let mut most = bottom;
    for height in heights.iter_mut().rev() {
        *height = height.min(most);
        most = *height - NAME_HEIGHT;
    }
    heights
}

/// The number of rows that the legend takes.
fn rows(chart: &Chart) -> f64 {
    let (mut rows, mut x) = (0.0, WIDTH);
    for Key { name, .. } in chart.keys().iter().filter(|key| !key.is_at_line) {
        let width = key_width(name);
        if x + width > WIDTH && x > MARGIN {
            (x, rows) = (MARGIN, rows + 1.0);
        }
        x += width;
    }
    rows
}

fn key_width(name: &str) -> f64 {
    34.0 + width_of(name) + 14.0
}

/// Colour and dashes of a subject. They repeat with different periods, so 42 subjects differ.
pub(crate) fn subject_classes(subject: usize) -> String {
    format!("c{} d{}", subject % COLOURS, (subject % COLOURS + subject / COLOURS) % DASHES)
}

/// The mark on a point: a disc, a triangle, a ring.
fn mark(measure: usize, x: f64, y: f64) -> String {
    match measure {
        0 => format!("<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{DOT}\"/>"),
        1 => {
            let (top, low, left, right) = (y - DOT - 0.5, y + DOT - 0.5, x - DOT, x + DOT);
            format!(
                "<path class=\"dot\" d=\"M{x:.1} {top:.1}L{right:.1} {low:.1}L{left:.1} {low:.1}Z\"/>"
            )
        }
        _ => format!("<circle class=\"ring\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{DOT}\"/>"),
    }
}

/// The approximate width of a text, in the letters of a wide page.
fn width_of(text: &str) -> f64 {
    text.chars().fold(0.0, |width, _| width + 6.7)
}

/// `text` escaped for XML, also within quotes.
pub(crate) fn xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // XML has no way to write these.
            '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                safe.push('\u{fffd}')
            }
            _ => safe.push(letter),
        }
    }
    safe
}

/// The colours and widths of charts, light and dark.
pub(crate) const STYLE: &str = include_str!("../templates/chart.css");

const WIDTH: f64 = 480.0;
/// The width of a name in the larger letters of a narrow page (`page.css`), relative to that on a wide one.
const NARROW: f64 = 1.15;
const MARGIN: f64 = 12.0;
/// The radius of the mark on a point.
const DOT: f64 = 3.0;
/// The number of points beyond which a line has no marks.
const DOTS_MAX: usize = 60;
/// The distance between two names of lines.
const NAME_HEIGHT: f64 = 14.0;
/// The longest name beside a line.
const LINE_NAME: usize = 18;
/// The longest name above a row.
const WIDE_NAME: usize = 58;
/// The length of a name beside a row, if no other is longer.
const SHORT_NAME: usize = 14;
const COLOURS: usize = 7;
const DASHES: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(scale: Scale, unit: Unit, values: &[f64]) -> Vec<String> {
        let range = Range::of(&Axis { label: "", unit, scale }, values.iter().copied());
        range.ticks(unit).into_iter().map(|tick| unit.tick(tick)).collect()
    }

    #[test]
    fn axes_have_round_ticks_around_all_that_they_show() {
        use Scale::{Linear, Logarithmic};
        #[rustfmt::skip]
        let table: [(Scale, Unit, &[f64], &str); 7] = [
            (Linear,      Unit::PerSecond, &[100.0, 2_000.0],  "0, 500, 1 k, 1.5 k, 2 k"),
            (Linear,      Unit::PerSecond, &[17.0],            "0, 5, 10, 15, 20"),
            (Linear,      Unit::PerSecond, &[],                "0, 0.2, 0.4, 0.6, 0.8, 1"),
            (Logarithmic, Unit::Time,      &[3e3, 4e7],        "10 us, 100 us, 1 ms, 10 ms"),
            (Logarithmic, Unit::Time,      &[5e3, 5e3],        "5 us, 10 us, 20 us, 50 us"),
            (Logarithmic, Unit::Time,      &[1e3, 1e9],        "1 us, 10 us, 100 us, 1 ms, 10 ms, 100 ms, 1 s"),
            (Logarithmic, Unit::Time,      &[],                "1 ns, 2 ns, 5 ns, 10 ns"),
        ];
        for (scale, unit, values, expected) in table {
            assert_eq!(ticks(scale, unit, values).join(", "), expected, "{values:?}");
        }
    }

    #[test]
    fn names_of_lines_stand_apart_and_above_the_axis() {
        #[rustfmt::skip]
        let table: [(&[f64], &[f64]); 5] = [
            (&[],                        &[]),
            (&[50.0, 90.0],              &[50.0, 90.0]),
            (&[50.0, 51.0, 52.0],        &[50.0, 64.0, 78.0]),
            (&[195.0, 199.0],            &[186.0, 200.0]),
            (&[100.0, 180.0, 199.0, 200.0], &[100.0, 172.0, 186.0, 200.0]),
        ];
        for (wanted, expected) in table {
            assert_eq!(spread(wanted, 200.0), expected, "{wanted:?}");
        }
    }

    #[test]
    fn ticks_of_ratios_have_room_beside_each_other() {
        let labels = |low: f64, high: f64| {
            let rows = vec![("ws".to_owned(), 1.0, Some((low, high)))];
            let ratios = Ratios { id: String::new(), title: String::new(), rows };
            let drawing = draw(&Figure::Ratios(ratios), Place::Page);
            let texts = drawing.split("<text class=\"tick middle\"").skip(1);
            let label = |text: &str| {
                let (_, text) = text.split_once('>').unwrap();
                text.split_once('<').unwrap().0.to_owned()
            };
            texts.map(label).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(labels(0.95, 1.7), "1x 1.2x 1.4x 1.6x 1.8x");
        assert_eq!(labels(0.9, 6.2), "1x 2x 5x");
        assert_eq!(labels(0.09, 219.0), "0.1x 1x 10x 100x");
    }

    #[test]
    fn long_names_of_ratios_stand_whole_above_their_rows() {
        let names =
            ["Socket.IO", "PHP, Redis, SockJS-node xhr", "PHP, Redis, SockJS-node xhr-streaming"];
        let rows = names.map(|name| (name.to_owned(), 2.0, None)).to_vec();
        let ratios = Ratios { id: String::new(), title: String::new(), rows };
        let drawing = draw(&Figure::Ratios(ratios), Place::Page);
        let heights = |class: &str| -> Vec<f64> {
            let texts = drawing
                .lines()
                .filter(|line| line.starts_with(&format!("<text class=\"{class}\"")));
            let down = |line: &str| line.split_once(" y=\"")?.1.split_once('"')?.0.parse().ok();
            texts.map(|line| down(line).unwrap()).collect()
        };
        for name in names {
            assert!(drawing.contains(&format!(">{name}</text>")), "{drawing}");
        }
        assert_eq!(heights("tick"), [27.0, 49.0, 85.0]);
        assert_eq!(heights("tick end"), [27.0, 63.0, 99.0]);
    }

    #[test]
    fn names_of_marks_stay_in_a_strip() {
        let axis = |label| Axis { label, unit: Unit::PerSecond, scale: Scale::Linear };
        let mark = |at: u32| Mark {
            subject: 0,
            label: "restart".to_owned(),
            at: f64::from(at),
            low: f64::from(at),
            high: f64::from(at),
        };
        let point = |x| Point { x, y: 1.0, interval: None };
        let chart = Chart {
            id: "missed",
            title: String::new(),
            caption: String::new(),
            group: "",
            x: axis(""),
            y: axis(""),
            subjects: vec!["ws".to_owned()],
            measures: vec!["missed".to_owned()],
            series: vec![Series { subject: 0, measure: 0, points: vec![point(0.0), point(9.0)] }],
            marks: (0..9).map(mark).collect(),
            band: false,
            ideal: false,
            names_marks: true,
            strip: true,
            notes: Vec::new(),
        };
        let frame = Frame::of(&chart, Place::Page);
        let drawing = draw(&Figure::Lines(chart), Place::Page);
        let names = drawing.lines().filter(|line| line.contains(">restart</text>"));
        let down = |line: &str| -> f64 {
            let (_, from) = line.split_once(" y=\"").unwrap();
            from.split_once('"').unwrap().0.parse().unwrap()
        };
        let all: Vec<f64> = names.map(down).collect();
        assert_eq!(all.len(), 9, "{drawing}");
        assert!(all.iter().all(|y| frame.top < *y && *y < frame.bottom), "{all:?}");
    }

    #[test]
    fn no_text_leaves_its_element() {
        assert_eq!(xml("a<b>&\"'\u{1}"), "a&lt;b&gt;&amp;&quot;&#39;\u{fffd}");
    }

    #[test]
    fn many_subjects_look_different() {
        let all: std::collections::BTreeSet<String> = (0..42).map(subject_classes).collect();
        assert_eq!(all.len(), 42);
    }
}
