//! The response times that an open loop must measure when its server stalls once: the stalled server of METHOD.
//!
//! Messages are due at a constant rate, and the server answers at once, except during one stop, after which it works
//! off the backlog in order. The message that is due as the stop begins waits for the full stop; each later one waits
//! less by its distance from that, minus the time for the messages before it. So response times fall to zero on a
//! straight line, and every number here follows from that line.
//!
//! Left out: the response time of a server that does not stall, which is negligible compared with the stop.

use units::{Nanos, Rate};

/// A measurement at a constant rate in which the server stalled once. The server must drain faster than messages are
/// due, and must have drained before the measurement ended; otherwise the numbers are meaningless.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    /// The rate at which messages are due.
    pub rate: Rate,
    /// The measured time.
    pub measured: Nanos,
    /// The length of the stall.
    pub stopped: Nanos,
    /// The rate at which the server works off the backlog.
    pub drain_rate: Rate,
}

impl Stall {
    /// The number of messages, each with its response time: all messages that were due.
    pub fn count(&self) -> u64 {
        let due = u128::from(self.measured.0) * u128::from(self.rate.count().get());
        u64::try_from(due.div_ceil(u128::from(self.rate.per().0))).unwrap_or(u64::MAX)
    }

    /// The mean of all response times.
    pub fn mean(&self) -> Nanos {
        nanos(self.stopped_secs() * self.affected_secs() / (2.0 * self.measured_secs()))
    }

    /// The response time within which the share `q` of all stays.
    pub fn quantile(&self, q: f64) -> Nanos {
        let waited_less = (1.0 - q) * self.measured_secs() / self.affected_secs();
        nanos(self.stopped_secs() * (1.0 - waited_less))
    }

    /// The number of response times longer than `length`.
    pub fn samples_over(&self, length: Nanos) -> f64 {
        let share = 1.0 - length.as_secs_f64() / self.stopped_secs();
        self.rate.per_second() * self.affected_secs() * share.max(0.0)
    }

    /// The time from the beginning of the stop during which messages that become due must wait.
    fn affected_secs(&self) -> f64 {
        let drain = self.drain_rate.per_second();
        self.stopped_secs() * drain / (drain - self.rate.per_second())
    }

    fn stopped_secs(&self) -> f64 {
        self.stopped.as_secs_f64()
    }

    fn measured_secs(&self) -> f64 {
        self.measured.as_secs_f64()
    }
}

/// Converts seconds to nanoseconds; zero for negative ones.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, which is what is meant"
)]
pub(crate) fn nanos(secs: f64) -> Nanos {
    Nanos((secs * 1e9).round() as u64)
}
