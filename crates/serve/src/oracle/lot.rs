//! The fate of a message, drawn from the seed.

use crate::behaviour::{Behaviour, Delay};
use units::{Nanos, Random};

/// Draws the lots of messages, one after another.
#[derive(Debug)]
pub(crate) struct Lots {
    behaviour: Behaviour,
    random: Random,
    /// Random numbers for the faults of a language, drawn separately so that they do not change the other lots.
    spoken: Random,
}

/// The fate of one message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lot {
    pub(crate) delay: Nanos,
    pub(crate) drop: bool,
    pub(crate) duplicate: bool,
    pub(crate) reorder: bool,
    pub(crate) corrupt: bool,
    pub(crate) refuse: bool,
    pub(crate) push: bool,
    pub(crate) ask: bool,
}

impl Lots {
    pub(crate) fn new(behaviour: Behaviour) -> Self {
        let random = Random::new(behaviour.seed);
        let spoken = Random::new(behaviour.seed ^ SPOKEN);
        Self { behaviour, random, spoken }
    }

    /// Draws the lot of the next message. Each takes the same number of random numbers, so that no part of the
    /// behaviour changes the effect of another.
    pub(crate) fn draw(&mut self) -> Lot {
        let Behaviour { delay, drop, duplicate, reorder, corrupt, refuse, push, ask, .. } =
            &self.behaviour;
        let random = &mut self.random;
        Lot {
            delay: delayed(*delay, random.unit_f64()),
            drop: drop.draw(random),
            duplicate: duplicate.draw(random),
            reorder: reorder.draw(random),
            corrupt: corrupt.draw(random),
            refuse: refuse.draw(&mut self.spoken),
            push: push.draw(&mut self.spoken),
            ask: ask.draw(&mut self.spoken),
        }
    }
}

/// Returns the delay at the quantile `at` of its distribution, from 0 to below 1.
fn delayed(delay: Delay, at: f64) -> Nanos {
    match delay {
        Delay::None => Nanos::ZERO,
        Delay::Fixed(length) => length,
        Delay::Exponential { mean } => times(mean, -libm::log1p(-at)),
        Delay::Bimodal { usual, other, share } => {
            if at < share.fraction() {
                other
            } else {
                usual
            }
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "exact below 2^53 ns, which is 104 days; not negative; too much is the most there is"
)]
fn times(length: Nanos, factor: f64) -> Nanos {
    Nanos((length.0 as f64 * factor) as u64)
}

/// Distinguishes the seed for the faults of a language from that for the other lots.
const SPOKEN: u64 = 0x5350_4f4b_454e;

#[cfg(test)]
mod tests {
    use super::*;

    fn lots(behaviour: Behaviour, count: usize) -> Vec<Lot> {
        let mut lots = Lots::new(behaviour);
        (0..count).map(|_| lots.draw()).collect()
    }

    /// The share of `delays` that are at most `length`.
    #[expect(clippy::cast_precision_loss, reason = "they are few")]
    fn share_until(lots: &[Lot], length: f64) -> f64 {
        let until = lots.iter().filter(|lot| lot.delay.0 as f64 <= length).count();
        until as f64 / lots.len() as f64
    }

    #[test]
    fn exponential_delays_have_their_distribution() {
        let delay = Delay::Exponential { mean: Nanos::from_millis(1) };
        let lots = lots(Behaviour { delay, ..Behaviour::default() }, 100_000);
        for tenth in 1..80 {
            let length = f64::from(tenth) * 100_000.0;
            let expected = 1.0 - (-length / 1e6).exp();
            // Kolmogorov and Smirnov: a fair source is 1.95 / sqrt(n) off once in a thousand seeds.
            assert!((share_until(&lots, length) - expected).abs() < 0.0062, "{length}");
        }
    }

    #[test]
    fn bimodal_delays_have_two_lengths_and_their_share() {
        let delay: Delay = "bimodal:1ms,50ms@10%".parse().unwrap();
        let lots = lots(Behaviour { delay, ..Behaviour::default() }, 100_000);
        let other = lots.iter().filter(|lot| lot.delay == Nanos::from_millis(50)).count();
        let usual = lots.iter().filter(|lot| lot.delay == Nanos::from_millis(1)).count();
        assert_eq!(other + usual, lots.len());
        assert!((9_700..10_300).contains(&other), "{other}"); // The standard deviation is 95.
    }

    #[test]
    fn no_part_of_a_behaviour_changes_what_another_does() {
        let one_percent = "1%".parse().unwrap();
        let alone = Behaviour { corrupt: one_percent, ..Behaviour::default() };
        let delay = Delay::Exponential { mean: Nanos::from_millis(1) };
        let together =
            Behaviour { delay, drop: one_percent, reorder: one_percent, ..alone.clone() };
        let corrupt = |lots: Vec<Lot>| lots.iter().map(|lot| lot.corrupt).collect::<Vec<_>>();
        assert_eq!(corrupt(lots(alone, 10_000)), corrupt(lots(together, 10_000)));
    }

    #[test]
    fn the_default_seed_spares_the_first_message_below_80_percent() {
        let most = "80%".parse().unwrap();
        let behaviour = Behaviour {
            drop: most,
            duplicate: most,
            reorder: most,
            corrupt: most,
            ..Behaviour::default()
        };
        let Lot { drop, duplicate, reorder, corrupt, .. } = lots(behaviour, 1)[0];
        assert_eq!([drop, duplicate, reorder, corrupt], [false; 4]);
    }
}
