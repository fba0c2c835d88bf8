//! The numbers of the status line during a block, from the ticks of the feed.

use crate::behind_schedule::flows;
use crate::feed::Tick;
use drive::Phase;
use record::{Counts, Live, LiveOpenLoop, Merge, Traffic};
use stats::per_second;
use units::{Instant, Nanos};

/// Turns the ticks of a run into the numbers to show: those of the last fifth of a second, or of the last second for an
/// open loop.
#[derive(Clone, Debug, Default)]
pub struct LiveView {
    /// The block that is shown; the other fields belong to it.
    block: Option<(usize, usize)>,
    window: Window,
    /// The numbers of the last complete window; until the first one is over, the part so far is shown.
    last: Option<Numbers>,
    phase: Option<Phase>,
    /// The message counts of this phase.
    counts: Counts,
    failed: u64,
}

/// Traffic since some instant.
#[derive(Clone, Debug, Default)]
struct Window {
    since: Instant,
    traffic: Traffic,
}

/// The numbers of a window.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    messages_per_s: f64,
    p50: Option<Nanos>,
    p99: Option<Nanos>,
    sent_per_s: f64,
    lag_p99: Option<Nanos>,
}

impl LiveView {
    /// Adds a tick, and returns what to show.
    pub fn add<'a>(&mut self, tick: &'a Tick) -> Live<'a> {
        if self.block != Some(tick.block) {
            let block = Some(tick.block);
            *self = Self { block, window: Window::new(tick.start), ..Self::default() };
        }
        if self.phase < Some(tick.phase) {
            self.enter(tick);
        }
        let counts = &tick.traffic.counts;
        self.counts.merge(counts);
        self.failed += counts.failed();
        self.window.traffic.add_shown(&tick.traffic);
        let window_len = if tick.due_per_s.is_some() { SECOND } else { Nanos::ZERO };
        if tick.end.since(self.window.since) >= window_len {
            self.last = Some(self.window.numbers(tick.end));
            self.window.begin(tick.end);
        }
        let numbers = self.last.unwrap_or_else(|| self.window.numbers(tick.end));
        Live {
            name: &tick.name,
            block: tick.block,
            phase: phase_name(tick.phase),
            elapsed: tick.end.since(Instant::START),
            messages_per_s: numbers.messages_per_s,
            p50: numbers.p50,
            p99: numbers.p99,
            failed: self.failed,
            open_loop: self.open_loop(tick, numbers),
        }
    }

    fn enter(&mut self, tick: &Tick) {
        let flowed = self.phase.is_some_and(flows);
        self.phase = Some(tick.phase);
        if flows(tick.phase) {
            self.counts = Counts::default();
            if !flowed {
                self.window.begin(tick.start);
            }
        }
    }

    fn open_loop(&self, tick: &Tick, numbers: Numbers) -> Option<LiveOpenLoop> {
        Some(LiveOpenLoop {
            due_per_s: tick.due_per_s.filter(|_| flows(tick.phase))?,
            sent_per_s: numbers.sent_per_s,
            lag_p99: numbers.lag_p99,
            unsent: self.counts.unsent,
            in_flight: self.counts.in_flight(),
        })
    }
}

impl Window {
    fn new(since: Instant) -> Self {
        Self { since, traffic: Traffic::default() }
    }

    fn begin(&mut self, since: Instant) {
        self.since = since;
        self.traffic.clear();
    }

    fn numbers(&self, now: Instant) -> Numbers {
        let time = now.since(self.since);
        let Traffic { counts, replies, open_loop, .. } = &self.traffic;
        let times = self.traffic.times();
        Numbers {
            messages_per_s: per_second(*replies, time),
            p50: times.quantile(0.5).ok(),
            p99: times.quantile(0.99).ok(),
            sent_per_s: per_second(counts.sent, time),
            lag_p99: open_loop.as_ref().and_then(|times| times.lag.quantile(0.99).ok()),
        }
    }
}

/// The name of a phase, as it is shown.
fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Connect | Phase::AwaitStart => "connect",
        Phase::WarmUp => "warm-up",
        Phase::Measure => "measure",
        Phase::Drain => "drain",
        Phase::Close | Phase::Done => "close",
    }
}

const SECOND: Nanos = Nanos::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::Cores;
    use record::OpenLoopTimes;

    /// The tick of tenth number `tenth` of an open loop of 1000/s, with the numbers of messages sent, answered in 1 ms,
    /// and unsent.
    fn tick(tenth: u64, phase: Phase, [sent, replies, unsent]: [u64; 3]) -> Tick {
        let at = |tenth: u64| Instant::START + Nanos::from_millis(100 * tenth);
        let mut times = OpenLoopTimes::default();
        (0..replies).for_each(|_| times.response.record(Nanos::from_millis(1)));
        Tick {
            name: "echo".into(),
            block: (0, 2),
            phase,
            start: at(tenth),
            end: at(tenth + 1),
            due_per_s: Some(1000.0),
            has_rate: false,
            traffic: Traffic {
                counts: Counts { sent, ok: replies, unsent, ..Counts::default() },
                replies,
                open_loop: Some(times),
                ..Traffic::default()
            },
            cores: Cores::default(),
        }
    }

    #[test]
    fn numbers_are_those_of_the_last_second_and_of_what_there_is_before_it() {
        let mut view = LiveView::default();
        let idle = tick(0, Phase::Connect, [0; 3]);
        assert!(view.add(&idle).open_loop.is_none(), "nothing is due yet");
        let tick = |tenth, phase, counts| tick(tenth, phase, counts);
        let first = tick(1, Phase::WarmUp, [100, 90, 0]);
        let first = view.add(&first);
        assert!((first.messages_per_s - 900.0).abs() < 1e-6, "{first:?}");
        for tenth in 2..20 {
            view.add(&tick(tenth, Phase::WarmUp, [100, 90, 0]));
        }
        let later = tick(20, Phase::Measure, [100, 90, 7]);
        let later = view.add(&later);
        let open_loop = later.open_loop.unwrap();
        assert!((later.messages_per_s - 900.0).abs() < 1e-6, "{later:?}");
        assert!((open_loop.sent_per_s - 1000.0).abs() < 1e-6, "{open_loop:?}");
        assert_eq!((open_loop.unsent, open_loop.in_flight), (7, 10), "of the measurement alone");
    }

    #[test]
    fn a_new_block_begins_with_nothing() {
        let mut view = LiveView::default();
        let mut failing = tick(0, Phase::Measure, [100, 0, 0]);
        failing.traffic.counts.error = 100;
        assert_eq!(view.add(&failing).failed, 100);
        let next = Tick { block: (1, 2), ..tick(1, Phase::Connect, [0; 3]) };
        let next = view.add(&next);
        assert_eq!((next.failed, next.messages_per_s, next.p50), (0, 0.0, None));
    }
}
