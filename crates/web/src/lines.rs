//! The lines that a run has written so far, for viewers that connect at any time.

use std::collections::VecDeque;
use std::sync::Arc;

/// A line and its number, which rises from line to line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) number: u64,
    /// One line of JSON.
    pub(crate) text: Arc<str>,
}

/// The lines of a run. A long run keeps every second interval of its past, later every fourth, and so on.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    all: VecDeque<Line>,
    next: u64,
    is_over: bool,
}

impl Lines {
    /// Adds a line, and makes room for it if there is none.
    pub(crate) fn push(&mut self, text: &str) {
        if self.all.len() >= LINES_MAX {
            self.thin();
        }
        self.all.push_back(Line { number: self.next, text: text.into() });
        self.next += 1;
    }

    /// Marks the end: no more lines will follow.
    pub(crate) fn end(&mut self) {
        self.is_over = true;
    }

    /// True if no more lines will follow.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The first lines from `number` on, at most `most` of them.
    pub(crate) fn from(&self, number: u64, most: usize) -> Vec<Line> {
        let first = self.all.partition_point(|line| line.number < number);
        self.all.iter().skip(first).take(most).cloned().collect()
    }

    /// Drops every second interval. Other events are kept; only if there is no interval to drop, the oldest event is
    /// dropped.
    fn thin(&mut self) {
        let mut intervals = 0_usize;
        self.all.retain(|line| {
            let is_interval = line.text.starts_with(INTERVAL);
            intervals += usize::from(is_interval);
            !is_interval || intervals % 2 == 1
        });
        if self.all.len() >= LINES_MAX {
            self.all.pop_front();
        }
    }
}

/// The most lines that are kept: ten minutes of intervals of 100 ms, or twenty minutes of every second one.
const LINES_MAX: usize = 6_000;
/// The beginning of a line that is an interval.
const INTERVAL: &str = r#"{"event":"interval""#;

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(index: usize) -> String {
        format!(r#"{{"event":"interval","at_s":{index}}}"#)
    }

    #[test]
    fn a_viewer_reads_on_from_any_number() {
        let mut lines = Lines::default();
        (0..10).for_each(|index| lines.push(&interval(index)));
        let numbers = |from, most| -> Vec<u64> {
            lines.from(from, most).iter().map(|line| line.number).collect()
        };
        assert_eq!(numbers(0, 3), [0, 1, 2]);
        assert_eq!(numbers(8, 100), [8, 9]);
        assert_eq!(numbers(10, 100), [0; 0]);
    }

    #[test]
    fn of_a_long_run_the_past_is_thinned_and_no_other_event_is_lost() {
        let mut lines = Lines::default();
        lines.push(r#"{"event":"machine"}"#);
        (0..100_000).for_each(|index| lines.push(&interval(index)));
        lines.push(r#"{"event":"record"}"#);
        let all = lines.from(0, usize::MAX);
        assert!(all.len() <= LINES_MAX, "{}", all.len());
        assert_eq!((all[0].number, all.last().unwrap().number), (0, 100_001));
        assert!(all.is_sorted_by_key(|line| line.number));
        // Nothing is missing at the end, where viewers are.
        assert_eq!(all[all.len() - 2].number, 100_000);
    }

    #[test]
    fn other_events_have_a_bound_too() {
        let mut lines = Lines::default();
        (0..LINES_MAX + 5).for_each(|_| lines.push(r#"{"event":"warning"}"#));
        let all = lines.from(0, usize::MAX);
        assert_eq!((all.len(), all[0].number), (LINES_MAX, 5));
    }
}
