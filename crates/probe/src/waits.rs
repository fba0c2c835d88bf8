//! Waits for a CPU: of the threads of some processes, and of all programs of the machine.

use std::collections::BTreeMap;
use units::Nanos;

/// The time that each thread of some processes has spent ready to run, without a CPU, since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunQueue(pub(crate) BTreeMap<u32, Nanos>);

impl RunQueue {
    /// The wait of all threads since `earlier`. A thread that has ended since is left out, and one that has started
    /// since counts from its start.
    pub fn since(&self, earlier: &Self) -> Nanos {
        let waited = self.0.iter().map(|(thread, now)| match earlier.0.get(thread) {
            Some(then) if then <= now => Nanos(now.0 - then.0),
            // A new thread, or an id that another thread had before.
            Some(_) | None => *now,
        });
        waited.fold(Nanos::ZERO, |sum, one| sum + one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_come_and_go_do_not_make_a_wait_negative() {
        let waits = |threads: &[(u32, u64)]| {
            RunQueue(threads.iter().map(|(id, waited)| (*id, Nanos(*waited))).collect())
        };
        #[rustfmt::skip]
        let table = [
            // earlier,          now,               between
            (&[][..],            &[][..],           0),
            (&[(1, 5)],          &[(1, 9)],         4),
            (&[(1, 5), (2, 3)],  &[(1, 5)],         0),
            (&[(1, 5)],          &[(1, 6), (2, 3)], 4),
            (&[(1, 5)],          &[(1, 2)],         2), // a new thread took the id
        ];
        for row @ (earlier, now, between) in table {
            assert_eq!(waits(now).since(&waits(earlier)), Nanos(between), "{row:?}");
        }
    }
}
