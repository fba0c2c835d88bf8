//! Runs and records in a browser: start one, watch it, change its rate, stop it; find records again, and compare them.
//!
//! A run is a process of its own, `wirebench run FILE --feed`, so that the server shares no thread and no heap with the
//! measurement. Its lines are kept and passed on to every browser that asks (server-sent events). A browser that
//! connects late or reconnects gets all of them, and one that does not read is dropped.
//!
//! A request needs the token, which is the first part of every path, and has to come from our own page (`guard`). The
//! page shows words of records and peers as text, never as HTML. Reports are pages of their own, which may request
//! nothing.
//!
//! Left out: measuring (`run`), the rule about public addresses (the process that measures applies it), and TLS: this
//! is plain HTTP for the machine in front of you.
//!
//! Start reading at [`Ui`]; `api` has every path.

mod api;
mod ask;
mod guard;
mod lines;
mod page;
mod patience;
mod runs;
mod server;

pub use api::History;
pub use runs::{Over, Runs, StartError};
pub use server::{Settings, Ui, UiError};
