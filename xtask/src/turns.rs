//! Calls of one kind, a few of them at a time.

use anyhow::Result;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Makes `count` calls, `jobs` of them at a time, and returns their results in order. Each call gets its index, and a
/// number below `jobs` that no other call has at this time. After the first error no call begins.
///
/// # Errors
///
/// The first error, by the order of the calls.
pub(crate) fn in_turns<T: Send>(
    jobs: usize,
    count: usize,
    call: impl Fn(usize, usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = |job| {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            let result = call(index, job);
            if result.is_err() {
                next.store(count, Ordering::Relaxed);
            }
            results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    };
    thread::scope(|scope| {
        for job in 0..jobs {
            let work = &work;
            scope.spawn(move || work(job));
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::ensure;

    #[test]
    fn results_keep_the_order_of_their_calls() {
        let all = in_turns(3, 20, |index, job| {
            assert!(job < 3);
            Ok(index * 2)
        });
        assert_eq!(all.unwrap(), (0..20).map(|index| index * 2).collect::<Vec<_>>());
    }

    #[test]
    fn no_call_begins_after_an_error() {
        let called = AtomicUsize::new(0);
        let failed = in_turns(1, 20, |index, _| {
            called.fetch_add(1, Ordering::Relaxed);
            ensure!(index < 4, "the fifth");
            Ok(())
        });
        assert_eq!(failed.unwrap_err().to_string(), "the fifth");
        assert_eq!(called.into_inner(), 5);
    }
}
