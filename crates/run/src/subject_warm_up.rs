//! The warm-up of a subject that compiles while it runs, until it has reached its speed.
//!
//! Throughput is measured in windows of a quarter of a second. It is steady when the last three windows together are at
//! most 2 % above the three before them. A warm-up takes at least a second, and is given up at a limit.
//!
//! Left out: driving the subject meanwhile (`block` and `client_block`).

use record::WarmUp;
use units::Nanos;

/// The windows of one warm-up.
#[derive(Clone, Debug)]
pub(crate) struct Warming {
    limit: Nanos,
    /// Messages in each window; the last ones may still get more.
    windows: Vec<f64>,
    /// The end of the time for which replies were reported.
    until: Nanos,
}

impl Warming {
    /// The length of a window.
    pub(crate) const WINDOW: Nanos = Nanos::from_millis(250);

    /// A warming that is given up after `limit`.
    pub(crate) fn new(limit: Nanos) -> Self {
        Self { limit, windows: Vec::new(), until: Nanos::ZERO }
    }

    /// Adds replies that arrived between two instants, counted from the start of the warm-up; they are spread evenly
    /// over that time.
    #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 replies and nanoseconds")]
    pub(crate) fn add(&mut self, from: Nanos, until: Nanos, replies: u64) {
        self.until = self.until.max(until);
        let per_ns = replies as f64 / until.0.saturating_sub(from.0).max(1) as f64;
        let mut at = from.0;
        while at < until.0 {
            let index = usize::try_from(at / Self::WINDOW.0).unwrap_or(usize::MAX);
            if index >= WINDOWS_MAX {
                return;
            }
            let end = until.0.min((at / Self::WINDOW.0 + 1) * Self::WINDOW.0);
            if self.windows.len() <= index {
                self.windows.resize(index + 1, 0.0);
            }
            self.windows[index] += per_ns * (end - at) as f64;
            at = end;
        }
    }

    /// Adds one window that was driven separately.
    pub(crate) fn add_window(&mut self, replies: f64) {
        self.windows.push(replies);
        self.until = Nanos(self.windows.len() as u64 * Self::WINDOW.0);
    }

    /// The end of the time for which replies were reported.
    pub(crate) fn until(&self) -> Nanos {
        self.until
    }

    /// The result of the warm-up, if it is over; `took` is the total time that it has taken.
    pub(crate) fn over(&self, took: Nanos) -> Option<WarmUp> {
        let whole = usize::try_from(self.until.0 / Self::WINDOW.0).unwrap_or(usize::MAX);
        let windows = &self.windows[..whole.min(self.windows.len())];
        let is_steady = is_steady(windows) && took >= TIME_MIN;
        let per_s =
            |window: Option<&f64>| window.copied().unwrap_or(0.0) / Self::WINDOW.as_secs_f64();
        (is_steady || took >= self.limit).then(|| WarmUp {
            took_ns: took.0,
            windows: u32::try_from(windows.len()).unwrap_or(u32::MAX),
            first_per_s: per_s(windows.first()),
            last_per_s: per_s(windows.last()),
            is_steady,
        })
    }
}

/// True if throughput has stopped rising.
fn is_steady(windows: &[f64]) -> bool {
    let sum = |windows: &[f64]| windows.iter().sum::<f64>();
    match windows.len().checked_sub(2 * COMPARED) {
        None => false,
        Some(first) => {
            let (before, last) = windows[first..].split_at(COMPARED);
            sum(last) <= sum(before) * (1.0 + RISE_MAX)
        }
    }
}

/// The number of windows that are compared with the same number before them.
const COMPARED: usize = 3;
/// The largest rise that still counts as steady, as a share.
const RISE_MAX: f64 = 0.02;
/// The shortest warm-up.
const TIME_MIN: Nanos = Nanos::from_secs(1);
/// Ten minutes' worth, more than any limit allows.
const WINDOWS_MAX: usize = 2400;

#[cfg(test)]
mod tests {
    use super::*;

    /// Drives a warm-up with `per_window` messages in each window, and returns its result.
    fn drive(limit: Nanos, per_window: impl Fn(usize) -> u64) -> WarmUp {
        let mut warming = Warming::new(limit);
        for index in 0.. {
            let from = Nanos(index as u64 * Warming::WINDOW.0);
            warming.add(from, from + Warming::WINDOW, per_window(index));
            if let Some(over) = warming.over(from + Warming::WINDOW) {
                return over;
            }
        }
        unreachable!("there is a limit")
    }

    #[test]
    fn it_is_over_when_throughput_rises_no_more() {
        let ten = Nanos::from_secs(10);
        type Series = fn(usize) -> u64;
        #[rustfmt::skip]
        let table: [(&str, Series, u32, bool); 6] = [
            ("level from the start",       |_| 1000,                                  6, true),
            ("falls",                      |window| 1000 - 10 * window as u64,        6, true),
            ("rises by 1 % in three",      |window| 30_000 + 100 * window as u64,     6, true),
            ("rises for nine windows",     |window| 1000 * window.min(9) as u64,     15, true),
            ("never stops to rise",        |window| 1000 * (window + 1) as u64,      40, false),
            ("answers nothing",            |_| 0,                                     6, true),
        ];
        for (name, series, windows, is_steady) in table {
            let over = drive(ten, series);
            assert_eq!((over.windows, over.is_steady), (windows, is_steady), "{name}: {over:?}");
            assert_eq!(over.took_ns, u64::from(windows) * Warming::WINDOW.0, "{name}");
        }
    }

    #[test]
    fn it_says_how_fast_it_was_at_first_and_at_last() {
        let over = drive(Nanos::from_secs(5), |window| 1000 * (window + 1) as u64);
        assert_eq!((over.first_per_s, over.last_per_s), (4000.0, 80_000.0));
        assert_eq!((over.took_ns, over.is_steady), (5_000_000_000, false));
    }

    #[test]
    fn replies_belong_to_the_windows_that_their_time_lies_in() {
        let mut warming = Warming::new(Nanos::from_secs(10));
        // Intervals of 100 ms do not divide a window.
        for index in 0..20 {
            let at = |index: u64| Nanos::from_millis(100 * index);
            warming.add(at(index), at(index + 1), 100);
        }
        assert!(warming.windows.iter().all(|window| (window - 250.0).abs() < 1e-6), "{warming:?}");
        assert_eq!(warming.windows.len(), 8);
        // Two workers report about the same time.
        warming.add(Nanos::ZERO, Nanos::from_millis(100), 50);
        assert!((warming.windows[0] - 300.0).abs() < 1e-6);
    }
}
