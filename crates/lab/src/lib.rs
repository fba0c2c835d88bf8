//! Programs that others wrote, as subjects: servers and client libraries.
//!
//! A subject is a folder with a manifest and one small program in its own language. It is installed into a folder of
//! its own, started in a process group of its own, told what to do by environment and stdin, and ended for certain.
//!
//! Left out: what a message costs (`drive` and `run` measure that), and whether answers are right (`run` verifies).
//!
//! Start reading at [`Manifest`].

mod catalogue;
mod footprint;
mod home;
pub mod keeper;
mod launch;
mod manifest;
mod reading;
mod results;

pub use catalogue::{Catalogue, Subject};
pub use footprint::footprint;
pub use home::{Home, Options, State};
pub use launch::{ClientSettings, Launch, Method, Run, ServerSettings, TlsFiles, Until};
pub use manifest::{From, Limits, Manifest, Needs, Role};
pub use reading::ManifestError;
pub use results::{Moment, Report};
