//! The keeper: a process of ours around each subject, which outlives us for as long as it takes to end the subject.

/// The hidden subcommand that makes our binary a keeper.
pub const SUBCOMMAND: &str = "subject-keeper";
