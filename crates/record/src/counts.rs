//! Messages by their end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Messages, each counted once by its end: those of the measured window, whose last ones end in the drain, and apart
/// from them those of the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Messages that were to be sent.
    pub planned: u64,
    /// Messages that were handed to the kernel, whole or in part.
    pub sent: u64,
    /// Messages that were due and never sent.
    pub unsent: u64,
    /// Messages that got the right reply in time.
    pub ok: u64,
    /// Messages that got a wrong reply, or lost their connection.
    pub error: u64,
    /// Messages that were answered with no: an error of the application, an HTTP status that is not 2xx. Records from
    /// before they were told apart have them among the errors.
    #[serde(default)]
    pub refused: u64,
    /// Messages that got no reply in time.
    pub timed_out: u64,
    /// Messages that were still waiting for their replies when the drain ended.
    pub in_flight_at_end: u64,
    /// Redirects that were followed, of all messages. They end none: this stands beside the other counts.
    #[serde(default)]
    pub redirects: u64,
}

impl Counts {
    /// Messages that were sent and whose end is not known (yet).
    pub const fn in_flight(&self) -> u64 {
        self.sent.saturating_sub(self.ok.saturating_add(self.failed()))
    }

    /// Messages that were sent and ended without the right reply.
    pub const fn failed(&self) -> u64 {
        self.error.saturating_add(self.refused).saturating_add(self.timed_out)
    }

    /// Checks that every message is counted once: planned = sent + unsent, and sent = ok + error + refused +
    /// timed out + in flight at the end.
    ///
    /// # Errors
    ///
    /// The identity that does not hold, with its numbers.
    pub fn check(&self) -> Result<(), CountError> {
        let sum = |parts: &[u64]| parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(*part));
        if sum(&[self.sent, self.unsent]) != Some(self.planned) {
            return Err(CountError::Planned(*self));
        }
        if sum(&[self.ok, self.error, self.refused, self.timed_out, self.in_flight_at_end])
            != Some(self.sent)
        {
            return Err(CountError::Sent(*self));
        }
        Ok(())
    }
}

/// The identity of the counts that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CountError {
    /// Planned messages were neither sent nor counted as unsent, or some were counted twice.
    #[error("planned {} is not sent {} + unsent {}", .0.planned, .0.sent, .0.unsent)]
    Planned(Counts),
    /// Sent messages have no outcome, or some have two.
    #[error(
        "sent {} is not ok {} + error {} + refused {} + timed out {} + in flight at the end {}",
        .0.sent, .0.ok, .0.error, .0.refused, .0.timed_out, .0.in_flight_at_end
    )]
    Sent(Counts),
}
