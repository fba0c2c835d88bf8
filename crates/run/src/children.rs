//! The programs of a run: its servers and client subjects, started once, paused between their blocks, and ended.
//!
//! `servers` and `clients` have the running programs; `embedded` has the manifests of our own servers, `started` starts
//! the user's servers, and `program` starts a program that publishes. `processes` observes all processes of one
//! program; `certificates` makes the certificate files that programs are given.

pub(crate) mod certificates;
pub(crate) mod clients;
pub(crate) mod embedded;
pub(crate) mod processes;
pub(crate) mod program;
pub(crate) mod servers;
pub(crate) mod started;
