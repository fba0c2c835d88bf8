//! Programs that others wrote, as subjects: servers and client libraries.
//!
//! A subject is a folder with a manifest and one small program in its own language. It is installed into a folder of
//! its own, started in a process group of its own, told what to do by environment and stdin, and ended for certain.
//!
//! Left out: what a message costs (`drive` and `run` measure that), and whether answers are right (`run` verifies).
//!
//! Start reading at [`Manifest`].

mod manifest;

pub use manifest::{From, Limits, Manifest, Needs, Role};
