//! Programs to be measured, as subjects: servers and client libraries, and all other programs that we start.
//!
//! A subject is a folder with a manifest and one small program in its own language. It is installed into a folder of
//! its own, started in a process group of its own, given its settings by environment and stdin, and reliably ended.
//!
//! Left out: the cost of messages, which `drive` and `run` measure, and the check of replies, which `run` does.
//!
//! Start reading at [`Manifest`]; then [`Home::install`], [`Server::start`], [`Client::run`], and [`Process`], the only
//! way to start and end programs.

mod catalogue;
mod claim;
mod client;
mod client_report;
mod conversations;
mod descendants;
mod error;
mod files;
mod footprint;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod home;
pub mod keeper;
mod lines;
mod manifest;
mod manifest_reader;
mod needs;
mod private_folder;
mod process;
mod ready;
mod receivers_report;
mod server;
mod tail;
mod tools;

pub use catalogue::{Catalogue, CatalogueError, MANIFEST, NoSuchSubject, SHARED, Subject};
pub use claim::{Locked, claim, remove_unclaimed};
pub use client::{Client, ClientError, ClientSettings, Method, Receive, Run, Until};
pub use client_report::{GarbageError, Moment, Report, ResultLimits};
pub use conversations::Held;
pub use error::InstallError;
pub use footprint::{footprint, not_weighed};
pub use home::{Home, State, VERSION_TIMEOUT, VersionError, version};
pub use manifest::{From, Limits, Manifest, Needs, Role};
pub use manifest_reader::ManifestError;
pub use private_folder::PrivateFolder;
pub use process::{Ended, Launch, Part, Process, Program, Purpose};
pub use ready::StartError;
pub use receivers_report::{ClockExchange, Received, Receiver, ReceiverEnd};
pub use server::{OfUser, Server, ServerSettings, TlsFiles};
pub use tools::Tools;
