//! The comparison of measured with true values: pure, so that tests can make each check pass and fail.

use record::{Check, TimerFloor};
use stats::{Histogram, Stall, kolmogorov_smirnov_beyond};
use units::{Count, Nanos};

/// The null subject: an echo within our own process.
#[derive(Clone, Debug)]
pub(super) struct Null {
    /// The median round trip of one connection.
    pub(super) floor: Nanos,
    /// Replies per second over many connections.
    pub(super) messages_per_s: u64,
    /// Messages that did not get their reply.
    pub(super) failed: u64,
}

impl Null {
    pub(super) const CODE: &str = "null_subject";

    pub(super) fn judge(&self) -> Check {
        let mut line = Line::default();
        line.holds(
            Nanos::ZERO < self.floor && self.floor <= FLOOR_MAX,
            format!(
                "a round trip to an echo of our own takes {} (at most {FLOOR_MAX})",
                self.floor
            ),
        );
        line.holds(
            self.messages_per_s >= CEILING_MIN,
            format!(
                "one thread carries {} messages/s (at least {})",
                Count(self.messages_per_s),
                Count(CEILING_MIN)
            ),
        );
        line.nothing_lost(self.failed);
        line.check(Self::CODE)
    }
}

/// The lateness of sent messages.
#[derive(Clone, Debug)]
pub(super) struct SendLag {
    pub(super) lag: Histogram,
    /// `None` where it could not be measured.
    pub(super) timer_floor: Option<TimerFloor>,
    pub(super) failed: u64,
}

impl SendLag {
    pub(super) const CODE: &str = "send_lag";

    pub(super) fn judge(&self) -> Check {
        let mut line = Line::default();
        let Some(floor) = self.timer_floor else {
            line.holds(false, "the timer floor is not known, timers are too coarse".to_owned());
            return line.check(Self::CODE);
        };
        line.says("1000 messages/s on 10 connections are late by".to_owned());
        let table = [
            ("p50", 0.5, floor.overshoot_p50_ns, LAG_P50_MORE),
            ("p99", 0.99, floor.overshoot_p99_ns, LAG_P99_MORE),
        ];
        for (name, q, floor, more) in table {
            let max = Nanos(floor.saturating_mul(LAG_OF_FLOOR)) + more;
            line.within(name, self.lag.quantile(q).ok(), Nanos::ZERO, max);
            line.says(format!("timers alone {}", Nanos(floor)));
        }
        line.nothing_lost(self.failed);
        line.check(Self::CODE)
    }
}

/// The times measured on a server with known delays.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    /// Times from sent to received.
    pub(super) measured: Histogram,
    /// The server's own times for the same messages.
    pub(super) truth: Histogram,
    pub(super) failed: u64,
}

impl Delays {
    pub(super) fn judge(&self, code: &str) -> Check {
        let mut line = Line::default();
        for (name, q, max) in [("p50", 0.5, P50_OFF_MAX), ("p99", 0.99, P99_OFF_MAX)] {
            let (Ok(measured), Ok(truth)) = (self.measured.quantile(q), self.truth.quantile(q))
            else {
                line.holds(false, format!("too few replies for a {name}"));
                continue;
            };
            let max = if q > 0.5 { Nanos(max.0.max(truth.0 / 100 * P99_OFF_PERCENT)) } else { max };
            let off = Nanos(measured.0.abs_diff(truth.0));
            let sign = if measured < truth { "-" } else { "+" };
            let over = over(off, max);
            line.holds(off <= max, format!("{name} {truth} {sign} {off} (at most {max}{over})"));
        }
        let distance = kolmogorov_smirnov_beyond(&self.measured, &self.truth, P50_OFF_MAX);
        line.holds(
            distance.is_some_and(|distance| distance <= DISTANCE_MAX),
            format!(
                "Kolmogorov-Smirnov {:.3} beyond {P50_OFF_MAX} (at most {DISTANCE_MAX})",
                distance.unwrap_or(1.0)
            ),
        );
        line.holds(
            self.measured.count() == self.truth.count(),
            format!("{} of {} replies", self.measured.count(), self.truth.count()),
        );
        line.nothing_lost(self.failed);
        line.check(code)
    }
}

/// The measurements of a server that was stopped once.
#[derive(Clone, Debug)]
pub(super) struct StalledServer {
    /// The response times that must have been measured.
    pub(super) truth: Stall,
    pub(super) response: Histogram,
    pub(super) planned: u64,
    /// Messages that got their reply.
    pub(super) ok: u64,
}

impl StalledServer {
    pub(super) const CODE: &str = "stalled_server";

    pub(super) fn judge(&self, code: &str) -> Check {
        let mut line = Line::default();
        let Self { truth, response, planned, ok } = self;
        line.says(format!("stopped {} of {}", truth.stopped, truth.measured));
        let count = truth.count();
        line.holds(
            [*planned, *ok, response.count()] == [count; 3],
            format!("{} of {count} messages answered and timed", response.count().min(*ok)),
        );
        for (name, q, [low, high]) in QUANTILE_BOUNDS {
            let truth = truth.quantile(q);
            line.within(name, response.quantile(q).ok(), share(truth, low), share(truth, high));
        }
        let mean = response.mean_ns().map(whole);
        let [low, high] = MEAN_BOUNDS;
        line.within("mean", mean, share(truth.mean(), low), share(truth.mean(), high));
        line.check(code)
    }
}

/// The findings about a stop of the generator itself.
#[derive(Clone, Debug)]
pub(super) struct StalledGenerator {
    /// The length of the stop.
    pub(super) stopped: Nanos,
    /// Messages that were due during the stop.
    pub(super) due: u64,
    /// The longest gap that the generator found in itself.
    pub(super) longest: Nanos,
    /// Messages that it reports as affected.
    pub(super) affected: u64,
    /// True if its verdict names a stalled generator.
    pub(super) is_named: bool,
    pub(super) service_p99: Option<Nanos>,
    /// Messages that did not get their reply.
    pub(super) failed: u64,
}

impl StalledGenerator {
    pub(super) const CODE: &str = "stalled_generator";

    pub(super) fn judge(&self) -> Check {
        let mut line = Line::default();
        let Self { stopped, due, .. } = *self;
        line.says(format!("stopped {stopped}"));
        let (low, high) = (Nanos(stopped.0.saturating_sub(GAP_OFF_MAX.0)), stopped + GAP_OFF_MAX);
        line.within("the gap found is", Some(self.longest), low, high);
        let off = self.affected.abs_diff(due);
        line.holds(
            off.saturating_mul(100) <= due.saturating_mul(AFFECTED_OFF_PERCENT),
            format!(
                "{} messages affected ({due} were due, within {AFFECTED_OFF_PERCENT} %)",
                self.affected
            ),
        );
        line.holds(self.is_named, "the verdict names it".to_owned());
        line.within("service p99", self.service_p99, Nanos::ZERO, share(stopped, BLAME_MAX));
        line.nothing_lost(self.failed);
        line.check(Self::CODE)
    }
}

/// The evidence of a check, in parts.
#[derive(Default)]
struct Line {
    parts: Vec<String>,
    failed: bool,
}

impl Line {
    fn says(&mut self, text: String) {
        self.parts.push(text);
    }

    fn holds(&mut self, holds: bool, text: String) {
        self.failed |= !holds;
        self.parts.push(if holds { text } else { format!("FAILS: {text}") });
    }

    fn within(&mut self, name: &str, value: Option<Nanos>, low: Nanos, high: Nanos) {
        let holds = value.is_some_and(|value| (low..=high).contains(&value));
        let over = value.map_or_else(String::new, |value| over(value, high));
        let value = value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        let bounds = match low {
            Nanos::ZERO => format!("at most {high}"),
            low => format!("{low} to {high}"),
        };
        self.holds(holds, format!("{name} {value} ({bounds}{over})"));
    }

    fn nothing_lost(&mut self, failed: u64) {
        if failed > 0 {
            self.holds(false, format!("messages without their reply: {failed}"));
        }
    }

    fn check(self, code: &str) -> Check {
        Check { code: code.to_owned(), passed: !self.failed, evidence: self.parts.join(", ") }
    }
}

/// The part by which `value` is above its limit; empty if it is not.
fn over(value: Nanos, limit: Nanos) -> String {
    let over = value.0.saturating_sub(limit.0);
    match over.saturating_mul(100).checked_div(limit.0) {
        Some(percent) if over > 0 => format!("; {percent} % over"),
        Some(_) | None => String::new(),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "times of some seconds"
)]
fn share(time: Nanos, share: f64) -> Nanos {
    Nanos((time.0 as f64 * share) as u64)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times of some seconds"
)]
fn whole(ns: f64) -> Nanos {
    Nanos(ns as u64)
}

/// A machine that takes longer for a round trip within one process cannot tell servers apart.
const FLOOR_MAX: Nanos = Nanos::from_millis(1);
/// Ten times the rate that the other checks use.
const CEILING_MIN: u64 = 10_000;

/// Send lag may be this many times the timer floor, which was measured on an otherwise idle thread, plus an allowance:
/// after the wake-up, earlier messages of the same instant are written first.
const LAG_OF_FLOOR: u64 = 2;
const LAG_P50_MORE: Nanos = Nanos::from_micros(50);
const LAG_P99_MORE: Nanos = Nanos::from_micros(250);

/// The largest errors at known delays (docs/METHOD.md, section 7): at p50; and at p99, where 3 % is allowed if that is
/// more.
const P50_OFF_MAX: Nanos = Nanos::from_micros(100);
const P99_OFF_MAX: Nanos = Nanos::from_micros(150);
const P99_OFF_PERCENT: u64 = 3;
/// The share of all messages that may be further off than the error allowed at p50.
const DISTANCE_MAX: f64 = 0.05;

/// The windows of the stall test, relative to the true values. For 2 s of 20 s at 1000/s they are p95 in [0.95, 1.20] s
/// of 1.050 s, p99 in [1.70, 1.95] s of 1.810 s, p99.9 in [1.93, 2.10] s of 1.981 s, mean in [0.095, 0.130] s of 0.105
/// s.
const QUANTILE_BOUNDS: [(&str, f64, [f64; 2]); 3] = [
    ("p95", 0.95, [0.95 / 1.05, 1.20 / 1.05]),
    ("p99", 0.99, [1.70 / 1.81, 1.95 / 1.81]),
    ("p99.9", 0.999, [1.93 / 1.981, 2.10 / 1.981]),
];
const MEAN_BOUNDS: [f64; 2] = [0.095 / 0.105_263, 0.130 / 0.105_263];

/// The largest error of the gap that a generator finds in itself.
const GAP_OFF_MAX: Nanos = Nanos::from_millis(50);
/// The largest error of its count of affected messages.
const AFFECTED_OFF_PERCENT: u64 = 10;
/// The server is not blamed if its apparent service time is less than this share of the stop.
const BLAME_MAX: f64 = 0.1;

#[cfg(test)]
mod tests;
