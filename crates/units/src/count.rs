//! Numbers of things, as people type them.

/// How many: `50`, `10k`, `1M`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Count(pub u64);
