//! The response times that an open loop must measure when its server stands still once: the stalled server of METHOD.
//!
//! Messages are due at a constant rate, and the server answers at once but for one stop, after which it works off what
//! came in the meantime, in order. The message that is due as the stop begins waits for all of it; each later one waits
//! less by its distance, of which the work on those before it takes a part back. So response times fall on a straight
//! line to zero, and every number here follows from that line.
//!
//! Left out: the response time of a server that does not stand still, which is taken as nothing beside the stop.

use units::{Nanos, Rate};

/// A measurement at a constant rate in which the server stood still once. It drains faster than messages are due, and
/// had done so when the measurement ended; elsewhere the numbers mean nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    /// The rate at which messages are due.
    pub rate: Rate,
    /// The measured time.
    pub measured: Nanos,
    /// The time that the server stood still.
    pub stopped: Nanos,
    /// The rate at which the server works off the backlog.
    pub drain_rate: Rate,
}

impl Stall {
    /// The number of messages, each with its response time: all that were due.
    pub fn count(&self) -> u64 {
        let due = u128::from(self.measured.0) * u128::from(self.rate.count().get());
        u64::try_from(due.div_ceil(u128::from(self.rate.per().0))).unwrap_or(u64::MAX)
    }

    /// The mean of all response times.
    pub fn mean(&self) -> Nanos {
        nanos(self.stopped_secs() * self.affected_secs() / (2.0 * self.measured_secs()))
    }

    /// The response time that the share `q` of all stays within.
    pub fn quantile(&self, q: f64) -> Nanos {
        let waited_less = (1.0 - q) * self.measured_secs() / self.affected_secs();
        nanos(self.stopped_secs() * (1.0 - waited_less))
    }

    /// The number of response times longer than `length`.
    pub fn samples_over(&self, length: Nanos) -> f64 {
        let share = 1.0 - length.as_secs_f64() / self.stopped_secs();
        self.rate.per_second() * self.affected_secs() * share.max(0.0)
    }

    /// The time from the beginning of the stop in which messages that are due have to wait.
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

/// Zero for what is negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, which is what is meant"
)]
pub(crate) fn nanos(secs: f64) -> Nanos {
    Nanos((secs * 1e9).round() as u64)
}
