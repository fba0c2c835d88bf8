//! The load at which a server bends: the loads to measure to find it, and what the measurements say about it.
//!
//! A load is a number of units: messages per second, or bots. Each measurement of it says whether the load was kept.
//! The caller decides when a load is kept: for the knee if 99 % of what was offered was achieved, for a capacity if an
//! objective was met as well.
//!
//! Left out: what a measurement is, and who makes it.
//!
//! Start reading at [`Search::next`]; [`Fit`] is the model behind it.

mod fit;
mod search;

pub use fit::{Fit, Trial};
pub use search::{Interval, Next, Range, Search, WIDTH_MAX};
