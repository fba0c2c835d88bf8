//! Little's law: in a closed loop, messages in flight = replies per second x mean round trip, with messages that get no
//! reply counted separately.
//!
//! It follows from counting alone, so a measurement that violates it has lost or invented something: replies, time, or
//! messages that were supposed to be in flight.

use units::Nanos;

/// The measurements of a closed loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosedLoop {
    /// The number of messages that should be in flight at any time: connections x messages on each.
    pub in_flight: u64,
    /// The number of replies that arrived in the measured window.
    pub replies: u64,
    /// The length of the window.
    pub measured: Nanos,
    /// The mean of their round trips.
    pub round_trip_mean_ns: f64,
    /// The longest round trip, by which the window's edges may move the product.
    pub longest: Nanos,
    /// The time in the window for which messages without a right reply were in flight, summed over all of them.
    pub unanswered: Nanos,
}

/// The outcome of checking Little's law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Little {
    /// It was checked.
    Checked {
        /// The requested number of messages in flight.
        expected_in_flight: f64,
        /// Replies per second x mean round trip, plus the mean number of messages in flight that got no right reply.
        measured_in_flight: f64,
        /// The deviation as a share of the requested number; negative if it is less.
        deviation: f64,
        /// True if that is within [`Little::DEVIATION_MAX`] and the longest round trip as a share of the window.
        holds: bool,
    },
    /// It could not be checked.
    NotChecked {
        /// The reason.
        reason: NotChecked,
    },
}

impl Little {
    /// The largest deviation of the two sides, as a share of the requested number.
    pub const DEVIATION_MAX: f64 = 0.05;

    /// The least number of replies for each message in flight: the first and the last round trips are only partly in
    /// the window.
    pub const REPLIES_PER_IN_FLIGHT_MIN: u64 = 100;
}

/// The reason why Little's law was not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotChecked {
    /// No message should be in flight, or no time was measured.
    #[error("nothing was measured")]
    Nothing,
    /// The edges of the window would weigh too much.
    #[error("{replies} replies, at least {needed} are needed")]
    TooFewReplies {
        /// The number of replies.
        replies: u64,
        /// The least number.
        needed: u64,
    },
}

/// Checks Little's law on `closed`.
#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
pub fn little(closed: ClosedLoop) -> Little {
    let ClosedLoop { in_flight, replies, measured, round_trip_mean_ns, longest, unanswered } =
        closed;
    let needed = in_flight.saturating_mul(Little::REPLIES_PER_IN_FLIGHT_MIN);
    if in_flight == 0 || measured == Nanos::ZERO {
        return Little::NotChecked { reason: NotChecked::Nothing };
    }
    if replies < needed {
        return Little::NotChecked { reason: NotChecked::TooFewReplies { replies, needed } };
    }
    let expected_in_flight = in_flight as f64;
    let answered = replies as f64 * round_trip_mean_ns;
    let measured_in_flight = (answered + unanswered.0 as f64) / measured.0 as f64;
    let deviation = measured_in_flight / expected_in_flight - 1.0;
    let edges = longest.0 as f64 / measured.0 as f64;
    let holds = deviation.abs() <= Little::DEVIATION_MAX + edges;
    Little::Checked { expected_in_flight, measured_in_flight, deviation, holds }
}
