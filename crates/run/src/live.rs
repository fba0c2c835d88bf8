//! What is told of a block while it goes on, worked out from the intervals of its workers.

use crate::progress::Behind;
use drive::{Interval, Phase};
use engine::clock::own_cpu;
use load::{Arrival, Lifetime, Workload};
use record::{Counts, LiveOpenLoop, Merge, Traffic};
use stats::per_second;
use units::{Instant, Nanos};

/// Adds up what is told next.
pub(crate) struct LiveView {
    /// Messages that are due each second; `None` in a closed loop, where none is.
    due_per_s: Option<f64>,
    /// How long the numbers are collected that are shown; a part of that time is shown before the first is over.
    window_len: Nanos,
    window: Window,
    /// What the last whole window came to.
    last: Option<Numbers>,
    told: Instant,
    phase: Phase,
    /// Of this phase.
    counts: Counts,
    failed: u64,
    pursuit: Option<Pursuit>,
}

/// Traffic since some instant.
struct Window {
    since: Instant,
    traffic: Traffic,
}

/// What a window came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    pub(crate) messages_per_s: f64,
    pub(crate) p50: Option<Nanos>,
    pub(crate) p99: Option<Nanos>,
    sent_per_s: f64,
    lag_p99: Option<Nanos>,
}

/// What is to be told now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) numbers: Numbers,
    pub(crate) failed: u64,
    pub(crate) open_loop: Option<LiveOpenLoop>,
}

impl LiveView {
    /// The view of a block of `workload` on so many workers, from `now` on.
    pub(crate) fn new(workload: &Workload, workers: usize, now: Instant) -> Self {
        let due_per_s = match (&workload.arrival, workload.lifetime) {
            (Arrival::Closed { .. } | Arrival::Think { .. }, _) => None,
            (Arrival::Sessions { schedule, .. }, Lifetime::RoundTrips(each)) => {
                Some(schedule.rate.per_second() * f64::from(each.get()))
            }
            (Arrival::Sessions { schedule, .. } | Arrival::Open { schedule, .. }, _) => {
                Some(schedule.rate.per_second())
            }
        };
        // Sessions send most of their messages long after they began.
        let is_pursued = matches!(workload.arrival, Arrival::Open { .. });
        Self {
            due_per_s,
            window_len: if due_per_s.is_some() { SECOND } else { TOLD_EVERY },
            window: Window::new(now),
            last: None,
            told: now,
            phase: Phase::Connect,
            counts: Counts::default(),
            failed: 0,
            pursuit: due_per_s
                .filter(|_| is_pursued)
                .map(|due_per_s| Pursuit::new(due_per_s, workers)),
        }
    }

    /// Takes what a worker handed over. Gives back what is to be told, if it is time to tell something.
    pub(crate) fn add(&mut self, interval: &Interval) -> Option<Now> {
        if interval.phase > self.phase {
            self.enter(interval);
        }
        let counts = &interval.traffic.counts;
        self.counts.merge(counts);
        self.failed += counts.error + counts.timed_out;
        self.window.traffic.merge(&interval.traffic);
        if interval.end.since(self.told) < TOLD_EVERY {
            return None;
        }
        self.told = interval.end;
        let current = self.window.numbers(interval.end);
        if interval.end.since(self.window.since) >= self.window_len {
            self.last = Some(current);
            self.window.begin(interval.end);
        }
        Some(Now {
            numbers: self.last.unwrap_or(current),
            failed: self.failed,
            open_loop: self.open_loop(self.last.unwrap_or(current)),
        })
    }

    fn enter(&mut self, interval: &Interval) {
        let flowed = flows(self.phase);
        self.phase = interval.phase;
        if flows(self.phase) {
            self.counts = Counts::default();
            if !flowed {
                self.window.begin(interval.start);
            }
        }
    }

    fn open_loop(&self, numbers: Numbers) -> Option<LiveOpenLoop> {
        Some(LiveOpenLoop {
            due_per_s: self.due_per_s.filter(|_| flows(self.phase))?,
            sent_per_s: numbers.sent_per_s,
            lag_p99: numbers.lag_p99,
            unsent: self.counts.unsent,
            // Workers change their phase at slightly different instants.
            in_flight: self.counts.in_flight(),
        })
    }

    /// How far an open loop is behind, if that is to be told now.
    pub(crate) fn behind(&mut self, interval: &Interval) -> Option<Behind> {
        self.pursuit.as_mut()?.add(interval)
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
        let Traffic { counts, replies, round_trips, open_loop, .. } = &self.traffic;
        let times = open_loop.as_ref().map_or(round_trips, |times| &times.response);
        Numbers {
            messages_per_s: per_second(*replies, time),
            p50: times.quantile(0.5).ok(),
            p99: times.quantile(0.99).ok(),
            sent_per_s: per_second(counts.sent, time),
            lag_p99: open_loop.as_ref().and_then(|times| times.lag.quantile(0.99).ok()),
        }
    }
}

/// Looks whether an open loop keeps up with its schedule, a second at a time.
///
/// A server that stalls for a moment, or takes a second for each reply, is not behind: it takes one second with hardly
/// half of the replies, or two with too few of them, that none better comes between.
struct Pursuit {
    due_per_s: f64,
    threads: f64,
    /// From when on is counted; `None` before the first message.
    since: Option<Instant>,
    /// When the CPU time that this process has used was looked at, and what it was.
    used: (Instant, Nanos),
    replies: u64,
    unsent: u64,
    /// Of [`DOUBTS_MAX`].
    doubts: u32,
    is_told: bool,
}

impl Pursuit {
    fn new(due_per_s: f64, threads: usize) -> Self {
        Self {
            due_per_s,
            threads: f64::from(u32::try_from(threads).unwrap_or(u32::MAX)),
            since: None,
            used: (Instant::START, Nanos::ZERO),
            replies: 0,
            unsent: 0,
            doubts: 0,
            is_told: false,
        }
    }

    fn add(&mut self, interval: &Interval) -> Option<Behind> {
        if self.is_told || !flows(interval.phase) {
            return None;
        }
        // What is answered in the beginning is not what is due in it.
        let since = *self.since.get_or_insert_with(|| {
            self.used = (interval.end, own_cpu());
            interval.start + RUN_UP
        });
        if interval.start < since {
            return None;
        }
        self.replies += interval.traffic.replies;
        self.unsent += interval.traffic.counts.unsent;
        let time = interval.end.since(since);
        if time < SECOND {
            return None;
        }
        let used = (interval.end, own_cpu());
        let behind = Behind {
            asked_per_s: self.due_per_s,
            achieved_per_s: per_second(self.replies, time),
            generator_busy: cores(self.used, used) / self.threads,
        };
        self.doubts = match behind.achieved_per_s / behind.asked_per_s {
            _ if self.due_per_s * time.as_secs_f64() < DUE_MIN => 0,
            _ if per_second(self.unsent, time) > 0.01 * self.due_per_s => DOUBTS_MAX,
            ..0.45 => DOUBTS_MAX,
            ..0.8 => self.doubts + 1,
            _ => 0,
        };
        self.is_told = self.doubts >= DOUBTS_MAX;
        (self.since, self.used) = (Some(interval.end), used);
        (self.replies, self.unsent) = (0, 0);
        self.is_told.then_some(behind)
    }
}

/// Whether messages are due in this phase.
fn flows(phase: Phase) -> bool {
    matches!(phase, Phase::WarmUp | Phase::Measure)
}

/// How many cores were busy between two readings of CPU time.
fn cores((since, before): (Instant, Nanos), (now, after): (Instant, Nanos)) -> f64 {
    let used = Nanos(after.0.saturating_sub(before.0)).as_secs_f64();
    if since < now { used / now.since(since).as_secs_f64() } else { 0.0 }
}

/// How often something is told.
pub(crate) const TOLD_EVERY: Nanos = Nanos::from_millis(100);
const SECOND: Nanos = Nanos::from_secs(1);
/// How long an open loop runs before it can be behind.
const RUN_UP: Nanos = Nanos::from_millis(500);
/// So many doubts are a certainty.
const DOUBTS_MAX: u32 = 2;
/// With fewer messages due in a second, one more or less would be too large a share.
const DUE_MIN: f64 = 20.0;

#[cfg(test)]
mod tests {
    use super::*;
    use load::{Content, Expect, Phases, Pick, Schedule, Spacing, Stop, Timeouts};
    use std::num::NonZeroU32;
    use units::Bytes;

    fn workload(arrival: Arrival) -> Workload {
        let second = Nanos::from_secs(1);
        Workload {
            connections: NonZeroU32::MIN,
            connect_rate: None,
            lifetime: Lifetime::Long,
            closing: load::Closing::Complete,
            arrival,
            content: Content::binary(Bytes(64), 7),
            expect: Expect::Echo,
            phases: Phases { warm_up: second, stop: Stop::After(second), drain: second },
            timeouts: Timeouts::all(second),
            last_replies: false,
            seed: 7,
        }
    }

    fn open(rate: &str) -> Arrival {
        let schedule = Schedule::new(rate.parse().unwrap(), Spacing::Uniform, NonZeroU32::MIN);
        Arrival::Open { schedule, pick: Pick::Any, in_flight_max: NonZeroU32::MAX }
    }

    /// The interval of the tenth number `tenth`, in which so many were sent, answered in 1 ms, and not sent.
    fn interval(tenth: u64, phase: Phase, [sent, replies, unsent]: [u64; 3]) -> Interval {
        let at = |tenth: u64| Instant::START + Nanos::from_millis(100 * tenth);
        let mut interval = Interval::new(&open("1000/s"));
        (interval.phase, interval.start, interval.end) = (phase, at(tenth), at(tenth + 1));
        interval.traffic.counts = Counts { sent, ok: replies, unsent, ..Counts::default() };
        interval.traffic.replies = replies;
        let times = interval.traffic.open_loop.as_mut().unwrap();
        (0..replies).for_each(|_| times.response.record(Nanos::from_millis(1)));
        interval
    }

    /// After which tenth an open loop of 1000/s is told to be behind, if each of them is like `tenths` says.
    fn told_behind(tenths: impl Fn(u64) -> [u64; 3]) -> Vec<u64> {
        let mut view = LiveView::new(&workload(open("1000/s")), 1, Instant::START);
        let behind =
            |tenth: &u64| view.behind(&interval(*tenth, Phase::Measure, tenths(*tenth))).is_some();
        (0..50).filter(behind).collect()
    }

    #[test]
    fn numbers_are_those_of_the_last_second_and_of_what_there_is_before_it() {
        let mut view = LiveView::new(&workload(open("1000/s")), 1, Instant::START);
        let idle = view.add(&interval(0, Phase::Connect, [0; 3])).unwrap();
        assert!(idle.open_loop.is_none(), "nothing is due yet");
        let first = view.add(&interval(1, Phase::WarmUp, [100, 90, 0])).unwrap();
        assert!((first.numbers.messages_per_s - 900.0).abs() < 1e-6, "{first:?}");
        for tenth in 2..20 {
            view.add(&interval(tenth, Phase::WarmUp, [100, 90, 0]));
        }
        let later = view.add(&interval(20, Phase::Measure, [100, 90, 7])).unwrap();
        let open_loop = later.open_loop.unwrap();
        assert!((later.numbers.messages_per_s - 900.0).abs() < 1e-6, "{later:?}");
        assert!((open_loop.sent_per_s - 1000.0).abs() < 1e-6, "{open_loop:?}");
        assert_eq!((open_loop.unsent, open_loop.in_flight), (7, 10), "of the measurement alone");
    }

    #[test]
    fn an_open_loop_that_is_far_behind_is_told_once_and_within_two_seconds() {
        assert_eq!(told_behind(|_| [100, 10, 0]), [14]);
        assert_eq!(told_behind(|_| [100, 90, 10]), [14], "what is not sent is behind");
        assert_eq!(told_behind(|_| [100, 60, 0]), [24], "too few for two seconds");
    }

    #[test]
    fn what_keeps_up_or_stumbles_is_not_behind() {
        let none: [u64; 0] = [];
        assert_eq!(told_behind(|_| [100, 99, 0]), none);
        // Replies that take a second.
        assert_eq!(told_behind(|tenth| [100, if tenth < 10 { 0 } else { 100 }, 0]), none);
        // A server that stands still for 400 ms and then catches up.
        let stall = |tenth| match tenth {
            20..24 => [100, 0, 0],
            24 => [100, 500, 0],
            _ => [100, 100, 0],
        };
        assert_eq!(told_behind(stall), none);
    }
}
