//! Executes a plan: servers up, verify, warm up, measure, drain, collect.
//!
//! Start reading at [`execute`].

mod plan;
mod progress;
pub mod url;

pub use plan::{Measurement, Peer, Plan, Speech};
pub use progress::{Live, News, Progress};
pub use url::{Scheme, Url};
