//! The lateness of short sleeps: no schedule can be kept better than that.

use record::TimerFloor;
use units::Nanos;

/// Measures how much longer than asked a short sleep takes on this machine and thread, with its timer slack.
///
/// Sleeps a thousand times for 50 us, which takes about 0.1 s, and gives up after 0.25 s. `sleep` sleeps for the given
/// time and returns how long that took, from just before the wait to just after it; it should use the same wait as the
/// run. The first sleeps, which fill caches, count like all others.
///
/// # Errors
///
/// [`CoarseTimers`] if there was not enough time for the sleeps that a p99 needs.
pub fn timer_floor(mut sleep: impl FnMut(Nanos) -> Nanos) -> Result<TimerFloor, CoarseTimers> {
    let mut overshoots = Vec::with_capacity(SAMPLES);
    let mut spent = Nanos::ZERO;
    while overshoots.len() < SAMPLES && spent < SPENT_MAX {
        let took = sleep(SLEEP);
        spent += took;
        overshoots.push(Nanos(took.0.saturating_sub(SLEEP.0)));
    }
    overshoots.sort_unstable();
    let overshoot_p50 = nearest_rank(&overshoots, 50);
    if overshoots.len() < SAMPLES {
        return Err(CoarseTimers { samples: overshoots.len(), overshoot_p50 });
    }
    Ok(TimerFloor {
        asked_ns: SLEEP.0,
        overshoot_p50_ns: overshoot_p50.0,
        overshoot_p99_ns: nearest_rank(&overshoots, 99).0,
    })
}

/// Short sleeps take so long here that their p99 cannot be measured in the time allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "only {samples} sleeps of {SLEEP} fitted into {SPENT_MAX}, a p99 needs {SAMPLES}; \
     half of them overshot by {overshoot_p50} or more"
)]
pub struct CoarseTimers {
    /// The number of sleeps.
    pub samples: usize,
    /// Their median overshoot.
    pub overshoot_p50: Nanos,
}

/// The smallest of `sorted` that at least `percent` % of them do not exceed; there is at least one.
fn nearest_rank(sorted: &[Nanos], percent: usize) -> Nanos {
    sorted[(sorted.len() * percent).div_ceil(100) - 1]
}

/// A p99 needs 10 / (1 - 0.99) samples (docs/METHOD.md).
const SAMPLES: usize = 1000;
/// Shorter than the gaps of most schedules, and long enough that the kernel really puts the thread to sleep.
const SLEEP: Nanos = Nanos::from_micros(50);
/// Enough for a thousand sleeps that overshoot by 200 us each.
const SPENT_MAX: Nanos = Nanos::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_overshoot() {
        // Every overshoot from 1 to 1000 ns once, in an order that is not sorted.
        let mut index = 0;
        let floor = timer_floor(|asked| {
            index += 1;
            asked + Nanos(index * 7 % 1000 + 1)
        });
        let expected =
            TimerFloor { asked_ns: 50_000, overshoot_p50_ns: 500, overshoot_p99_ns: 990 };
        assert_eq!(floor, Ok(expected));
    }

    #[test]
    fn coarse_timers_end_early_with_what_was_seen() {
        let error = timer_floor(|_| Nanos::from_millis(4)).unwrap_err();
        assert_eq!(error, CoarseTimers { samples: 63, overshoot_p50: Nanos::from_micros(3950) });
        assert_eq!(
            error.to_string(),
            "only 63 sleeps of 50 us fitted into 250 ms, a p99 needs 1000; half of them overshot by 3.95 ms or more"
        );
    }

    #[test]
    fn a_sleep_that_ends_early_or_never_is_no_trouble() {
        assert_eq!(timer_floor(|_| Nanos::ZERO).unwrap().overshoot_p99_ns, 0);
        assert_eq!(timer_floor(|_| Nanos::MAX).unwrap_err().samples, 1);
    }
}
