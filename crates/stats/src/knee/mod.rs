//! The load at which a server bends: the loads to measure to find it, and what the measurements say of it.
//!
//! A load is a number of units: messages a second, or bots. Each measurement of it says whether the load was kept. What
//! is kept is the caller's rule: for the knee that 99 % of what was offered was achieved, for a capacity that an
//! objective was met besides.
//!
//! Left out: what a measurement is, and who makes it.
//!
//! Start reading at [`Search::next`]; [`Fit`] is the model behind it.

mod fit;
mod search;

pub use fit::{Fit, Trial};
pub use search::{Interval, Next, Range, Search, WIDTH_MAX};
