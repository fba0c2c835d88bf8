//! Programs that others wrote, as subjects: servers and client libraries.
//!
//! A subject is a folder with a manifest and one small program in its own language. It is installed into a folder of
//! its own, started in a process group of its own, told what to do by environment and stdin, and ended for certain.
//!
//! Left out: what a message costs (`drive` and `run` measure that), and whether answers are right (`run` verifies).
//!
//! Start reading at [`Manifest`]; then [`Home::install`], [`Server::start`], [`Client::run`], and [`keeper`], which
//! ends whatever was started.

mod catalogue;
mod client;
mod command;
mod descendants;
mod files;
mod footprint;
mod home;
pub mod keeper;
mod launch;
mod lines;
mod manifest;
mod needs;
mod process;
mod reading;
mod results;
mod said;
mod server;

pub use catalogue::{Catalogue, CatalogueError, MANIFEST, NoSuchSubject, SHARED, Subject};
pub use client::{Client, ClientError};
pub use footprint::{footprint, not_weighed};
pub use home::{Home, InstallError, Options, State, VersionError};
pub use launch::{ClientSettings, Launch, Method, Run, ServerSettings, TlsFiles, Until};
pub use manifest::{From, Limits, Manifest, Needs, Role};
pub use process::{Ended, Process};
pub use reading::ManifestError;
pub use results::{GarbageError, Moment, Report, ResultLimits};
pub use server::{Server, StartError};
