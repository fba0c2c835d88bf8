//! Runs and records in a browser: start one, watch it, change its rate, stop it; find records again, and compare them.
//!
//! A run is a process of its own, `wirebench run FILE --feed`, so that nothing here shares a thread, a heap or a number
//! with what is measured. Its lines are kept, and passed on to every browser that asks (server-sent events): one that
//! comes late or again gets all of them, and one that does not read is dropped.
//!
//! Whoever asks has to know the token, which is the first part of every path, and has to come from our own page
//! (`guard`). What a record or a peer says is data to the page, which writes it as text alone; reports, which are pages
//! of their own, are shown without any right to ask for more.
//!
//! Left out: what is measured and how (`run`), the rule which addresses may be loaded (it is that of the process which
//! measures), and other people's certificates: this is plain HTTP for the machine in front of you.
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

pub use runs::{Over, Runs, StartError};
pub use server::{Settings, Ui, UiError};
