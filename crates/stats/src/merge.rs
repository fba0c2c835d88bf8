//! The operation that adds up results.

use crate::Histogram;
use std::collections::{BTreeMap, BTreeSet};
use units::Nanos;

/// Results that can be added up in any order and any grouping: of workers, intervals, blocks and machines.
///
/// The operation is associative and commutative, and `Default` is its neutral element. Property tests check that for
/// every implementation. Means, percentiles and verdicts have no such operation: they are derived after the last merge.
pub trait Merge: Default {
    /// Adds `other` to this.
    fn merge(&mut self, other: &Self);

    /// All of `parts` together; the neutral element if there is none.
    fn merged<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self
    where
        Self: 'a,
    {
        let mut all = Self::default();
        parts.into_iter().for_each(|part| all.merge(part));
        all
    }
}

/// The sum; it saturates at the largest number instead of wrapping.
impl Merge for u64 {
    fn merge(&mut self, other: &Self) {
        *self = self.saturating_add(*other);
    }
}

/// The sum; it saturates at the largest number as well.
impl Merge for Nanos {
    fn merge(&mut self, other: &Self) {
        *self += *other;
    }
}

/// The samples of both.
impl Merge for Histogram {
    fn merge(&mut self, other: &Self) {
        self.add(other);
    }
}

/// Unknown and known is known.
impl<T: Merge + Clone> Merge for Option<T> {
    fn merge(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Some(one), Some(other)) => one.merge(other),
            (None, Some(_)) => self.clone_from(other),
            (_, None) => {}
        }
    }
}

/// The keys of both; values with the same key are merged.
impl<K: Ord + Clone, V: Merge + Clone> Merge for BTreeMap<K, V> {
    fn merge(&mut self, other: &Self) {
        for (key, value) in other {
            match self.get_mut(key) {
                Some(known) => known.merge(value),
                None => {
                    self.insert(key.clone(), value.clone());
                }
            }
        }
    }
}

/// The union.
impl<T: Ord + Clone> Merge for BTreeSet<T> {
    fn merge(&mut self, other: &Self) {
        self.extend(other.iter().cloned());
    }
}
