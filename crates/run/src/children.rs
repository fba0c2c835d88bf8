//! The programs of a run: its servers and client subjects, started once, paused between their blocks, and ended.
//!
//! `servers` and `clients` have those that run; `embedded` has the manifests of our own servers, `started` starts those
//! of the user, and `program` one that publishes. `processes` looks at all processes of one program;
//! `certificates` are files that programs are given.

pub(crate) mod certificates;
pub(crate) mod clients;
pub(crate) mod embedded;
pub(crate) mod processes;
pub(crate) mod program;
pub(crate) mod servers;
pub(crate) mod started;
