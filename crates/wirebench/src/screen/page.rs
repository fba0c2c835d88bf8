//! The lines of the screen: as many as there is room for, the numbers of the moment first.

use super::state::{Now, Row, State};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use record::Traffic;
use report::{escape, nanos, per_second};
use run::HeatLine;
use units::Nanos;

/// The choices of the reader.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct View {
    /// True if warnings and rows are shown instead of latency over time.
    pub(super) has_details: bool,
    /// True if the screen is frozen while the run goes on.
    pub(super) is_frozen: bool,
}

/// Returns all lines for a screen of `width` columns and `height` lines.
pub(super) fn lines(state: &State, view: View, width: usize, height: usize) -> Vec<Line<'static>> {
    let mut lines =
        vec![heading(state, width), progress(state, width), light(state), Line::default()];
    if let Some(now) = &state.now {
        lines.push(labelled("rate", vec![rate(now).into()]));
        lines.push(labelled("now", vec![moment(now).into()]));
        let measured = state.board.measured().get(&now.name);
        lines.push(labelled("in all", vec![in_all(measured).into()]));
        lines.push(labelled("failed", vec![failed(now, measured)]));
        lines.push(labelled("CPU", vec![cpu(state).into()]));
    }
    lines.push(Line::default());
    let left = height.saturating_sub(lines.len() + KEYS_HEIGHT);
    if view.has_details {
        lines.extend(warnings(state, width, left / 2));
        let left = height.saturating_sub(lines.len() + KEYS_HEIGHT);
        lines.extend(rows(&state.rows, width, left));
    } else {
        // The table gets what it needs, up to a half; with one measurement the lines above say all that it would.
        let wanted = if state.rows.len() > 1 { state.rows.len() + 2 } else { 0 };
        let below = wanted.min(left / 2);
        lines.extend(heat(state, width, left - below));
        if below > 0 {
            lines.push(Line::default());
            lines.extend(rows(&state.rows, width, below - 1));
        }
    }
    lines.truncate(height.saturating_sub(KEYS_HEIGHT));
    lines.resize(height.saturating_sub(1), Line::default());
    lines.push(keys(view, state.now.as_ref().is_some_and(|now| now.has_rate)));
    lines
}

fn heading(state: &State, width: usize) -> Line<'static> {
    let elapsed = seconds(state.elapsed);
    let time = match state.expected {
        Some(expected) => format!("{elapsed} of about {} s", expected.as_secs_f64().ceil()),
        None => elapsed,
    };
    let room = width.saturating_sub(time.len() + 1);
    let name: String = escape(&state.heading).chars().take(room).collect();
    let blanks = " ".repeat(width.saturating_sub(name.chars().count() + time.len()));
    Line::from(vec![Span::styled(name, Modifier::BOLD), blanks.into(), time.into()])
}

/// A bar of the elapsed time.
fn progress(state: &State, width: usize) -> Line<'static> {
    let Some(expected) = state.expected.filter(|expected| *expected > Nanos::ZERO) else {
        let text = state.waits_for.as_deref().unwrap_or("getting ready");
        return Line::raw(escape(text));
    };
    let over = (state.elapsed.as_secs_f64() / expected.as_secs_f64()).min(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a share of a line"
    )]
    let full = (over * width as f64) as usize;
    let bar = [Span::styled("━".repeat(full), Color::Cyan), "╌".repeat(width - full).into()];
    Line::from(bar.to_vec())
}

/// The light: green while nothing is wrong, and what is measured.
fn light(state: &State) -> Line<'static> {
    let (color, words) = match state.warnings.last() {
        None => (Color::Green, "nothing suspicious so far".to_owned()),
        Some(last) => (Color::Yellow, format!("warning: {}", escape(last))),
    };
    let mut spans = vec![Span::styled("● ", color)];
    if let Some(Now { name, phase, block: (index, total), .. }) = &state.now {
        let block =
            if *total > 1 { format!(" block {} of {total},", index + 1) } else { String::new() };
        spans.push(Span::raw(format!("{}:{block} {phase}; ", escape(name))));
    }
    spans.push(Span::raw(words));
    Line::from(spans)
}

fn labelled(label: &'static str, mut rest: Vec<Span<'static>>) -> Line<'static> {
    rest.insert(0, Span::styled(format!("{label:<LABEL_WIDTH$}"), Modifier::DIM));
    Line::from(rest)
}

fn rate(now: &Now) -> String {
    let achieved = per_second(now.messages_per_s);
    let Some(open_loop) = &now.open_loop else { return achieved };
    let due = per_second(open_loop.due_per_s);
    let sent = per_second(open_loop.sent_per_s);
    format!(
        "{achieved} answered, {sent} sent of {due} due; {} in flight, {} unsent",
        open_loop.in_flight, open_loop.unsent
    )
}

fn moment(now: &Now) -> String {
    let lag = now
        .open_loop
        .as_ref()
        .map(|open_loop| format!("  send lag p99 {}", time(open_loop.lag_p99)));
    format!("p50 {}  p99 {}{}", padded(now.p50), padded(now.p99), lag.unwrap_or_default())
}

/// The percentiles of the measurement so far, if there are enough messages for them.
fn in_all(measured: Option<&Traffic>) -> String {
    let Some(times) = measured.map(Traffic::times) else { return "-".to_owned() };
    let known = |q: f64| times.quantile(q).ok();
    let shown =
        [("p50", known(0.5)), ("p99", known(0.99)), ("p99.9", known(0.999)), ("max", times.max())];
    let text = shown.map(|(name, value)| format!("{name} {}", padded(value)));
    text.join("  ").trim_end().to_owned()
}

fn failed(now: &Now, measured: Option<&Traffic>) -> Span<'static> {
    let Some(Traffic { counts, .. }) = measured.filter(|it| it.counts.failed() > 0) else {
        let style = if now.failed > 0 { BAD } else { Style::new() };
        return Span::styled(now.failed.to_string(), style);
    };
    let classes = [
        (counts.error, "wrong or cut off"),
        (counts.refused, "refused"),
        (counts.timed_out, "timed out"),
    ];
    let some = classes.into_iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = some.map(|(count, name)| format!("{count} {name}")).collect();
    Span::styled(words.join(", "), BAD)
}

fn cpu(state: &State) -> String {
    let cores = state.board.cores();
    let show = |cores: Option<f64>| {
        cores.map_or_else(|| "unknown".to_owned(), |cores| format!("{cores:.2} cores"))
    };
    format!("generator {}, server {}", show(cores.generator), show(cores.server))
}

/// Latency over time.
fn heat(state: &State, width: usize, height: usize) -> Vec<Line<'static>> {
    if height < HEAT_HEIGHT_MIN {
        return Vec::new();
    }
    let lines = state.board.heat().lines(width.saturating_sub(LABEL_WIDTH), height - 1);
    if lines.is_empty() {
        return Vec::new();
    }
    let legend = "each 0.2 s; share of messages: · < 1 %  ░ 1 %  ▒ 10 %  ▓ 30 %  █ 60 %";
    let mut shown = vec![labelled("latency", vec![legend.into()])];
    shown.extend(lines.iter().map(heat_line));
    shown
}

fn heat_line(line: &HeatLine) -> Line<'static> {
    let from = if line.from == Nanos::ZERO { "< 1 us".to_owned() } else { nanos(line.from.0) };
    let shades: String = line.shares.iter().map(|share| shade(*share)).collect();
    let label = format!("{from:>width$} ", width = LABEL_WIDTH - 1);
    Line::from(vec![Span::styled(label, Modifier::DIM), Span::styled(shades, Color::Cyan)])
}

/// The shade of a share of the messages of a column.
fn shade(share: f64) -> char {
    match share {
        share if share <= 0.0 => ' ',
        ..0.01 => '·',
        ..0.1 => '░',
        ..0.3 => '▒',
        ..0.6 => '▓',
        _ => '█',
    }
}

/// The last warnings.
fn warnings(state: &State, width: usize, height: usize) -> Vec<Line<'static>> {
    let style = report::Style { width, ..report::Style::default() };
    let mut shown = Vec::new();
    for text in &state.warnings {
        let text = report::paragraph("warning:", text, &style);
        shown.extend(text.lines().map(|line| Line::styled(line.to_owned(), Color::Yellow)));
    }
    shown.drain(..shown.len().saturating_sub(height.saturating_sub(1)));
    if !shown.is_empty() {
        shown.push(Line::default());
    }
    shown
}

/// The table of rows, or of the last ones if there is no room for all. Each row has a bar of its messages per second,
/// so that the bars of a sweep are a curve.
fn rows(rows: &[Row], width: usize, height: usize) -> Vec<Line<'static>> {
    let Some(room) = height.checked_sub(1).filter(|room| *room > 0 && !rows.is_empty()) else {
        return Vec::new();
    };
    let head = format!(
        "{:<NAME_WIDTH$} {:>6} {:>10} {:>9} {:>9} {:>8}",
        "done", "blocks", "messages", "p50", "p99", "failed"
    );
    let columns = width.saturating_sub(head.len() + 1).min(BAR_WIDTH_MAX);
    let most = rows.iter().map(|row| row.messages_per_s).fold(0.0, f64::max);
    let mut shown = vec![Line::styled(head, Modifier::DIM)];
    let last = rows.iter().skip(rows.len().saturating_sub(room));
    shown.extend(last.map(|one| row(one, bar(one.messages_per_s / most, columns))));
    shown
}

fn row(row: &Row, bar: String) -> Line<'static> {
    let name: String = escape(&row.name).chars().take(NAME_WIDTH).collect();
    let begin = format!("{name:<NAME_WIDTH$} {:>6} ", row.blocks);
    if let Some(reason) = &row.reason {
        return Line::from(vec![
            begin.into(),
            Span::styled(format!("failed: {}", escape(reason)), BAD),
        ]);
    }
    let style = if row.failed > 0 { BAD } else { Style::new() };
    let numbers = format!(
        "{:>10} {:>9} {:>9} ",
        per_second(row.messages_per_s),
        time(row.p50),
        time(row.p99)
    );
    Line::from(vec![
        begin.into(),
        numbers.into(),
        Span::styled(format!("{:>8} ", row.failed), style),
        Span::styled(bar, Color::Cyan),
    ])
}

/// A bar with `columns` columns for a share of 1, to an eighth of a column.
fn bar(share: f64, columns: usize) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a share of some columns"
    )]
    let eighths = (share * columns as f64 * 8.0) as usize;
    report::bar_of(eighths)
}

fn keys(view: View, has_rate: bool) -> Line<'static> {
    let details = if view.has_details { "latency" } else { "details" };
    let freeze = if view.is_frozen { "go on" } else { "freeze" };
    let mut spans = Vec::new();
    let rate = has_rate.then_some(("+/-", "rate"));
    let keys = [("q", "end and keep"), ("d", details), ("space", freeze)];
    for (key, does) in keys.into_iter().chain(rate) {
        spans.push(Span::styled(key, Modifier::BOLD));
        spans.push(Span::raw(format!(" {does}   ")));
    }
    if view.is_frozen {
        spans.push(Span::styled("frozen: the run goes on", Color::Yellow));
    }
    Line::from(spans)
}

fn time(time: Option<Nanos>) -> String {
    time.map_or_else(|| "-".to_owned(), |time| nanos(time.0))
}

/// Pads a time to a fixed width, so that only digits change.
fn padded(value: Option<Nanos>) -> String {
    format!("{:<7}", time(value))
}

fn seconds(time: Nanos) -> String {
    if time < Nanos::from_secs(60) {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        time.to_string()
    }
}

const BAD: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
/// The last line, and a blank one before it.
const KEYS_HEIGHT: usize = 2;
/// The legend and two bands.
const HEAT_HEIGHT_MIN: usize = 3;
const LABEL_WIDTH: usize = 9;
const NAME_WIDTH: usize = 24;
const BAR_WIDTH_MAX: usize = 40;
