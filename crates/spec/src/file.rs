//! Experiments in files: rows under loads, as TOML that a person writes (docs/EXPERIMENTS.md).
//!
//! A [`File`] is read with the place of every problem ([`File::read`]). With the available subjects it becomes an
//! [`Experiment`](crate::Experiment) ([`File::experiment`]): every server with every client, over every transport,
//! under every load, as far as manifests allow it.

mod cells;
mod description;
mod sides;
mod subject_conversations;

pub use cells::{Facts, Role, Subjects};
pub use description::{Asked, AxisKeys, File};
pub use sides::Side;
pub use subject_conversations::Held;

#[cfg(test)]
mod tests;
