//! The clock of an agent relative to the controller's, from questions and answers over the bus.
//!
//! An exchange has four instants: the question leaves the controller and reaches the agent, the answer leaves the agent
//! and reaches the controller. The error of the offset is at most half of the time that question and answer spent on
//! their way, however unequal the two ways are. Clocks drift apart by at most [`DRIFT_PER_MILLION`] millionths; a clock
//! that has moved further has jumped.
//!
//! Start reading at [`OffsetClock::add`].

use std::collections::VecDeque;
use units::{Instant, Nanos};

/// The clock of an agent, estimated from the latest exchanges.
#[derive(Clone, Debug, Default)]
pub struct OffsetClock {
    /// The latest exchanges, the oldest first.
    samples: VecDeque<Sample>,
    has_jumped: bool,
}

/// The four instants of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The instant at which the question left, by the controller's clock.
    pub asked: Instant,
    /// The instant at which it arrived, by the agent's.
    pub received: Instant,
    /// The instant at which the answer left, by the agent's.
    pub sent: Instant,
    /// The instant at which it arrived, by the controller's.
    pub answered: Instant,
}

/// An offset with its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// The agent's clock less the controller's, in nanoseconds.
    pub ahead_ns: i128,
    /// The largest possible error of that.
    pub bound: Nanos,
    /// The time on the way, in both directions together, of the exchange that gave the offset.
    pub round_trip: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    ahead_ns: i128,
    round_trip: Nanos,
}

impl OffsetClock {
    /// Adds an exchange. Ignores an impossible one (an answer before its question).
    pub fn add(&mut self, exchange: Exchange) {
        let Exchange { asked, received, sent, answered } = exchange;
        let whole = answered.since(asked);
        let (Some(inside), true) = (sent.0.checked_sub(received.0), answered >= asked) else {
            return;
        };
        let Some(round_trip) = whole.0.checked_sub(inside) else { return };
        let middle = |one: Instant, other: Instant| i128::from(one.0) + i128::from(other.0);
        let sample = Sample {
            at: answered,
            ahead_ns: (middle(received, sent) - middle(asked, answered)) / 2,
            round_trip: Nanos(round_trip),
        };
        if let Some(known) = self.offset(answered) {
            let apart = (sample.ahead_ns - known.ahead_ns).unsigned_abs();
            let possible = u128::from(known.bound.0) + u128::from(sample.bound(answered).0);
            if apart > possible {
                self.has_jumped = true;
                self.samples.clear();
            }
        }
        if self.samples.len() == KEPT {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// True if the clock has jumped since the last call.
    pub const fn take_jump(&mut self) -> bool {
        std::mem::replace(&mut self.has_jumped, false)
    }

    /// The best offset at `now`: the one with the smallest bound among those of the latest exchanges. `None` before the
    /// first exchange.
    pub fn offset(&self, now: Instant) -> Option<Offset> {
        let best = self.samples.iter().min_by_key(|sample| sample.bound(now))?;
        let Sample { ahead_ns, round_trip, .. } = *best;
        Some(Offset { ahead_ns, bound: best.bound(now), round_trip })
    }
}

impl Sample {
    fn bound(&self, now: Instant) -> Nanos {
        // One more, because halving truncates half a nanosecond.
        Nanos(self.round_trip.0.div_ceil(2)) + drift(now.since(self.at)) + Nanos(1)
    }
}

/// The most by which an agent's clock can drift from the controller's in this time.
pub(crate) fn drift(time: Nanos) -> Nanos {
    let drift = u128::from(time.0) * DRIFT_PER_MILLION / 1_000_000;
    Nanos(u64::try_from(drift).unwrap_or(u64::MAX))
}

impl Offset {
    /// The instant on the agent's clock that is `at` on the controller's.
    pub fn theirs(self, at: Instant) -> Instant {
        shifted(at, self.ahead_ns)
    }

    /// The instant on the controller's clock that is `at` on the agent's.
    pub fn ours(self, at: Instant) -> Instant {
        shifted(at, -self.ahead_ns)
    }
}

fn shifted(at: Instant, by: i128) -> Instant {
    let moved = (i128::from(at.0) + by).clamp(0, i128::from(u64::MAX));
    Instant(u64::try_from(moved).expect("it is in its bounds"))
}

/// The number of exchanges that are kept.
const KEPT: usize = 16;
/// The largest drift between two quartz clocks, in millionths, with the most that NTP adds to it.
pub const DRIFT_PER_MILLION: u128 = 50;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exchange(asked: u64, there: u64, inside: u64, back: u64, ahead: i128) -> Exchange {
        let theirs = |at: u64| shifted(Instant(at), ahead);
        Exchange {
            asked: Instant(asked),
            received: theirs(asked + there),
            sent: theirs(asked + there + inside),
            answered: Instant(asked + there + inside + back),
        }
    }

    proptest! {
        #[test]
        fn the_true_offset_is_within_the_bound_however_unequal_the_ways_are(
            ways in prop::collection::vec((0..5_000_000_u64, 0..1_000_000_u64, 0..5_000_000_u64), 1..40),
            ahead in -3_000_000_000_i128..3_000_000_000,
        ) {
            let mut clock = OffsetClock::default();
            let mut at = 10_000_000_000;
            for (there, inside, back) in ways {
                clock.add(exchange(at, there, inside, back, ahead));
                at += 250_000_000;
                let known = clock.offset(Instant(at)).unwrap();
                prop_assert!((known.ahead_ns - ahead).unsigned_abs() <= u128::from(known.bound.0));
                prop_assert!(!clock.take_jump());
            }
        }
    }

    #[test]
    fn a_drift_of_50_millionths_is_no_jump_and_a_pause_of_10_ms_is() {
        let mut clock = OffsetClock::default();
        let mut jumped = Vec::new();
        for second in 1..=20_u64 {
            let drift = i128::from(second) * 49_000;
            let pause = if second > 15 { -10_000_000 } else { 0 };
            clock.add(exchange(second * 1_000_000_000, 100_000, 0, 100_000, drift + pause));
            if clock.take_jump() {
                jumped.push(second);
            }
        }
        assert_eq!(jumped, [16]);
        let known = clock.offset(Instant(20_000_200_000)).unwrap();
        assert!(
            (known.ahead_ns - (20 * 49_000 - 10_000_000)).unsigned_abs()
                <= u128::from(known.bound.0)
        );
    }

    #[test]
    fn an_answer_before_its_question_is_left_out() {
        let mut clock = OffsetClock::default();
        let good = exchange(1000, 10, 10, 10, 0);
        clock.add(Exchange { sent: Instant(0), ..good });
        clock.add(Exchange { answered: Instant(0), ..good });
        clock.add(Exchange { sent: Instant(5000), ..good });
        assert_eq!(clock.offset(Instant(2000)), None);
    }
}
