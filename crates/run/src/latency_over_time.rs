//! Latency over time: the distribution of message times in each fifth of a second.

use crate::feed::Tick;
use std::collections::VecDeque;
use units::{Instant, Nanos};

/// One column per fifth of a second, of which the latest are kept; each column has bands at 1, 2 and 5 of each power of
/// ten.
#[derive(Clone, Debug, Default)]
pub struct Heat {
    columns: VecDeque<Column>,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    from: Instant,
    bands: [u64; BANDS],
}

/// The bands of one line.
#[derive(Debug, PartialEq)]
pub struct HeatLine {
    /// The shortest time that the line shows.
    pub from: Nanos,
    /// Its share of the messages of each column, 0 to 1; the oldest column first.
    pub shares: Vec<f64>,
}

impl Heat {
    /// The times of the messages that ended in `tick`: the shortest time of each band that has any, and its messages.
    pub fn bands(tick: &Tick) -> Vec<(Nanos, u64)> {
        let counts: [u64; BANDS] = tick.traffic.times().counts_from(std::array::from_fn(edge));
        let all = counts.into_iter().enumerate().map(|(band, count)| (edge(band), count));
        all.filter(|(_, count)| *count > 0).collect()
    }

    /// Adds the times of the messages that ended in a tick.
    pub fn add(&mut self, tick: &Tick) {
        let is_over = |last: &Column| tick.start.since(last.from) >= COLUMN;
        if self.columns.back().is_none_or(is_over) {
            self.columns.push_back(Column { from: tick.start, bands: [0; BANDS] });
            if self.columns.len() > COLUMNS_MAX {
                self.columns.pop_front();
            }
        }
        let Some(column) = self.columns.back_mut() else { return };
        let counts: [u64; BANDS] = tick.traffic.times().counts_from(std::array::from_fn(edge));
        column.bands.iter_mut().zip(counts).for_each(|(band, count)| *band += count);
    }

    /// The last columns, as lines of one or more bands, the slowest first; none before the first message.
    pub fn lines(&self, columns: usize, lines: usize) -> Vec<HeatLine> {
        let skipped = self.columns.len().saturating_sub(columns);
        let shown: Vec<&Column> = self.columns.iter().skip(skipped).collect();
        let is_used = |band: &usize| shown.iter().any(|column| column.bands[*band] > 0);
        let (Some(lowest), Some(highest)) =
            ((0..BANDS).find(is_used), (0..BANDS).rev().find(is_used))
        else {
            return Vec::new();
        };
        let bands_each = (highest - lowest + 1).div_ceil(lines.max(1));
        let line = |from: usize| HeatLine {
            from: edge(from),
            shares: shown.iter().map(|column| column.share(from, bands_each)).collect(),
        };
        let mut lines: Vec<HeatLine> = (lowest..=highest).step_by(bands_each).map(line).collect();
        lines.reverse();
        lines
    }
}

impl Column {
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    fn share(&self, from: usize, bands: usize) -> f64 {
        let all: u64 = self.bands.iter().sum();
        let some: u64 = self.bands.iter().skip(from).take(bands).sum();
        if all == 0 { 0.0 } else { some as f64 / all as f64 }
    }
}

/// The shortest time of a band; the first band includes everything below a microsecond.
fn edge(band: usize) -> Nanos {
    let decade = u32::try_from(band / 3).expect("there are few bands");
    let at = Nanos([1_000, 2_000, 5_000][band % 3] * 10_u64.pow(decade));
    if band == 0 { Nanos::ZERO } else { at }
}

/// The number of bands, from below a microsecond to 20 s and more.
const BANDS: usize = 23;
/// The time of a column.
const COLUMN: Nanos = Nanos::from_millis(200);
/// The number of columns that the widest terminal shows.
const COLUMNS_MAX: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::Cores;
    use drive::Phase;
    use record::Traffic;

    /// A tick that starts at `ms`, with messages given as pairs of microseconds and count.
    fn tick(ms: u64, times: &[(u64, u64)]) -> Tick {
        let mut traffic = Traffic::default();
        let micros = |us: u64| Nanos(us.saturating_mul(1_000));
        times.iter().for_each(|(us, count)| traffic.round_trips.record_all(micros(*us), *count));
        let start = Instant::START + Nanos::from_millis(ms);
        Tick {
            name: "echo".into(),
            block: (0, 1),
            phase: Phase::Measure,
            start,
            end: start + Nanos::from_millis(100),
            due_per_s: None,
            has_rate: false,
            traffic,
            cores: Cores::default(),
        }
    }

    fn line(us: u64, shares: &[f64]) -> HeatLine {
        HeatLine { from: Nanos(us * 1_000), shares: shares.to_vec() }
    }

    #[test]
    fn a_message_is_in_the_column_and_the_band_of_its_time() {
        let mut heat = Heat::default();
        assert_eq!(heat.lines(10, 5), []);
        heat.add(&tick(0, &[(15, 99)]));
        heat.add(&tick(100, &[(30, 1)]));
        heat.add(&tick(200, &[(15, 40), (60, 60)]));
        heat.add(&tick(400, &[]));
        let (none, all) = (line(20, &[0.01, 0.0, 0.0]), line(10, &[0.99, 0.4, 0.0]));
        assert_eq!(heat.lines(10, 5), [line(50, &[0.0, 0.6, 0.0]), none, all]);
        let last = heat.lines(2, 5);
        assert_eq!(last[0], line(50, &[0.6, 0.0]), "the last two columns");
        let joined = heat.lines(10, 2);
        assert_eq!(joined, [line(50, &[0.0, 0.6, 0.0]), line(10, &[1.0, 0.4, 0.0])]);
    }

    #[test]
    fn every_time_has_a_band() {
        let mut heat = Heat::default();
        heat.add(&tick(0, &[(0, 1), (1, 1), (999, 1), (1_000, 1), (u64::MAX, 1)]));
        assert_eq!(heat.columns[0].bands.iter().sum::<u64>(), 5);
        assert_eq!(heat.lines(1, 1), [line(0, &[1.0])]);
    }

    #[test]
    fn as_many_columns_are_kept_as_a_terminal_shows() {
        let mut heat = Heat::default();
        (0..1_000).for_each(|column| heat.add(&tick(200 * column, &[(10, 1)])));
        assert_eq!(heat.columns.len(), COLUMNS_MAX);
    }
}
