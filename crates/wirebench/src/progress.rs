//! The progress of a run on stderr: on a terminal the [`Screen`], once it is known that the run takes some seconds, and
//! before that one line that is rewritten in place; elsewhere a plain line each second, with `--quiet` nothing.

use crate::screen::{End, Screen};
use crate::terminal::{Label, Talk, Terminal};
use engine::clock::Clock;
use record::{Block, Live};
use run::{Event, Listener, LiveView, RateWish, Tick};
use std::sync::atomic::AtomicUsize;
use units::{Instant, Nanos};

/// Writes the progress of a run to a [`Terminal`].
#[derive(Debug)]
pub(crate) struct Progress<'a> {
    terminal: &'a Terminal,
    /// The name of the run.
    heading: String,
    clock: Clock,
    view: LiveView,
    pace: Pace,
    /// True while a rewritable line is on the screen.
    line_stands: bool,
    /// True if warnings are shown as they arrive; otherwise the page of the result has them.
    shows_warnings: bool,
    /// True if each block gets a line of its own.
    pub(crate) shows_blocks: bool,
    /// True in a sweep, which overloads the server on purpose: falling behind is then not reported.
    pub(crate) expects_lag: bool,
}

impl<'a> Progress<'a> {
    /// Starts the clock; `heading` names the run. Warnings are shown as they arrive unless the result is a page, which
    /// has them.
    pub(crate) fn new(terminal: &'a Terminal, heading: String, has_page: bool) -> Self {
        Self {
            terminal,
            heading,
            clock: Clock::start(),
            view: LiveView::default(),
            pace: Pace::default(),
            line_stands: false,
            shows_warnings: !has_page,
            shows_blocks: terminal.talk >= Talk::Verbose,
            expects_lag: false,
        }
    }

    /// Shows what `listener` hears until the run is over. `stopped_by` is the number of the signal that asked it to
    /// stop; wishes for another rate go to `rate`.
    pub(crate) fn show(
        mut self,
        mut listener: Listener,
        stopped_by: &AtomicUsize,
        rate: &RateWish,
    ) {
        while let Some(event) = listener.next() {
            if self.terminal.talk == Talk::Quiet {
                continue;
            }
            let begins = matches!(event, Event::Begin { expected } if expected >= WORTH_TELLING);
            if begins && self.terminal.has_screen {
                self.fill(&event, &listener, stopped_by, rate);
            } else {
                self.event(&event);
            }
        }
    }

    /// Shows the rest of the run on the full screen, or as lines if that cannot be opened.
    fn fill(
        &mut self,
        begin: &Event,
        listener: &Listener,
        stopped_by: &AtomicUsize,
        rate: &RateWish,
    ) {
        self.end_line();
        let Ok(mut screen) = Screen::open(&self.heading, self.expects_lag) else {
            return self.event(begin);
        };
        screen.take(begin, self.clock.now().since(Instant::START));
        let end = screen.show(listener, &self.clock, stopped_by, rate);
        let warnings = screen.warnings().to_vec();
        drop(screen);
        if self.shows_warnings {
            warnings.iter().for_each(|text| self.terminal.say_labelled(Label::Warning, text));
        }
        if matches!(end, Ok(End::Stopped)) {
            self.say("stopping; what was measured is kept");
        }
    }

    /// Shows what `tick` adds, `elapsed` after the start: agents of a fleet report a second when it is over, and lines
    /// are in the order of their times.
    fn live(&mut self, tick: &Tick, elapsed: Nanos) {
        let live = self.view.add(tick);
        let is_due = self.terminal.animated || self.pace.allows(live.elapsed, live.p50.is_some());
        if !is_due {
            return;
        }
        // One column less: a full line would make some terminals wrap.
        let columns = self.terminal.columns_of_words().saturating_sub(1);
        let line = report::live_line(&Live { elapsed, ..live }, columns);
        if self.terminal.animated {
            self.terminal.rewrite(&line);
            self.line_stands = true;
        } else {
            self.terminal.say(&line);
        }
    }

    fn block(&mut self, name: &str, block: &Block, (index, total): (usize, usize)) {
        if !self.shows_blocks {
            return;
        }
        let p50 = block.times().and_then(|times| times.p50_ns).map(Nanos);
        let due = block.replies_due().max(1);
        #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
        let kept = block.messages_per_s * Nanos(block.measured_ns).as_secs_f64() / due as f64;
        let is_open = block.open_loop.is_some();
        let result = match (&block.failed, p50) {
            (Some(reason), _) => format!("failed: {reason}"),
            (None, None) => format!("{:.0} messages/s", block.messages_per_s),
            (None, Some(p50)) if is_open => {
                let kept = kept * 100.0;
                format!(
                    "{:.0} messages/s, {kept:.1} % of what was due, p50 {p50}",
                    block.messages_per_s
                )
            }
            (None, Some(p50)) => format!("{:.0} messages/s, p50 {p50}", block.messages_per_s),
        };
        self.say(&format!("block {}/{total}  {name}: {result}", index + 1));
    }

    /// Writes the current step of the run. On a terminal the next line replaces it, so that the page of the result has
    /// the entire screen.
    fn step(&mut self, elapsed: Nanos, text: &str) {
        let line = format!("{:>4.1} s  {text}", elapsed.as_secs_f64());
        if self.terminal.animated && self.terminal.talk < Talk::Verbose {
            let columns = self.terminal.columns_of_words().saturating_sub(1);
            self.terminal.rewrite(&report::escape(&line).chars().take(columns).collect::<String>());
            self.line_stands = true;
        } else {
            self.say(&line);
        }
    }

    /// Writes `text` as a line that stays.
    fn say(&mut self, text: &str) {
        self.end_line();
        self.terminal.say(text);
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.line_stands) {
            self.terminal.clear();
        }
    }

    fn event(&mut self, event: &Event) {
        let elapsed = self.clock.now().since(Instant::START);
        match event {
            Event::Machine(environment) => {
                let width = self.terminal.columns_of_words().saturating_sub(ELAPSED_COLUMNS + 1);
                self.step(elapsed, &report::machine_line(environment, width));
            }
            Event::Begin { expected } if *expected >= WORTH_TELLING => {
                let seconds = (elapsed + *expected).as_secs_f64().ceil();
                self.step(elapsed, &format!("done in about {seconds} s"));
            }
            Event::Begin { .. } => {}
            Event::Interval(tick) => self.live(tick, elapsed),
            Event::Block { name, block, index, total } => self.block(name, block, (*index, *total)),
            Event::Warning(warning) if self.shows_warnings => {
                self.end_line();
                let text =
                    format!("{} ({}): {}", warning.message, warning.evidence, warning.advice);
                self.terminal.say_labelled(Label::Warning, &text);
            }
            Event::Warning(_) => {}
            Event::Waiting(what) => self.step(elapsed, what),
            Event::Behind(_) if self.expects_lag => {}
            Event::Behind(behind) => {
                self.end_line();
                self.terminal.say_labelled(Label::Warning, &behind.to_string());
            }
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.end_line();
    }
}

/// The schedule of plain lines: the first as soon as there is a number, then one each second.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// The instant at which the last line was due.
    last: Option<Nanos>,
}

impl Pace {
    fn allows(&mut self, elapsed: Nanos, has_number: bool) -> bool {
        let Some(last) = self.last else {
            let allows = has_number || elapsed >= PLAIN_PERIOD;
            self.last = allows.then_some(elapsed);
            return allows;
        };
        let periods = elapsed.0.saturating_sub(last.0) / PLAIN_PERIOD.0;
        // Counted from when the line was due, not shown: otherwise every line might fall into a warm-up of a ladder.
        self.last = Some(Nanos(last.0 + periods * PLAIN_PERIOD.0));
        periods > 0
    }
}

/// The period of plain lines.
const PLAIN_PERIOD: Nanos = Nanos::from_secs(1);
/// The shortest run whose expected duration is announced.
const WORTH_TELLING: Nanos = Nanos::from_secs(3);
/// The columns before the description of the machine: `12.3 s  `.
const ELAPSED_COLUMNS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_is_shown_at_once_and_then_one_each_second() {
        let mut pace = Pace::default();
        let shown: Vec<u64> = (0..40)
            .map(|tenth| tenth * 100)
            .filter(|millis| pace.allows(Nanos::from_millis(*millis), *millis >= 400))
            .collect();
        assert_eq!(shown, [400, 1400, 2400, 3400]);
    }

    #[test]
    fn lines_that_come_late_do_not_put_off_those_after_them() {
        let mut pace = Pace::default();
        let shown: Vec<u64> = (0..12)
            .map(|index| index * 520)
            .filter(|millis| pace.allows(Nanos::from_millis(*millis), true))
            .collect();
        assert_eq!(shown, [0, 1040, 2080, 3120, 4160, 5200]);
        assert!(!pace.allows(Nanos::from_millis(5999), true));
        assert!(pace.allows(Nanos::from_millis(6000), true));
    }

    #[test]
    fn a_run_without_numbers_is_still_seen_to_live() {
        let mut pace = Pace::default();
        let shown = (0..30).filter(|tenth| pace.allows(Nanos::from_millis(tenth * 100), false));
        assert_eq!(shown.count(), 2);
    }
}
