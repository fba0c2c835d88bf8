//! TLS 1.2 and 1.3 as a layer: [`Tls`] is a [`Protocol`](crate::Protocol) around the protocol inside.
//!
//! Bytes of the stream go in and out as with every other machine, but protected. A quiet connection holds no buffer:
//! plaintext is freed when the protocol inside has taken it, a record that was cut is kept until its rest arrives, and
//! output is encrypted in place at the end of the caller's own buffer.
//!
//! rustls does the work, through its unbuffered interface and behind our trait `session::Session`. It draws its keys
//! from the system's randomness, and its ticket keys change by the system's clock; those are the only two inputs here
//! that are not arguments. The time at which certificates are checked is one.
//!
//! Left out: early data (0-RTT), revocation lists, and renegotiation, which TLS 1.3 no longer has.
//!
//! Start reading at [`Tls`]. `options` makes the configuration of either end, `records` finds where records end,
//! `unbuffered` is the only file that knows rustls's connections, `trust` notes which certificate was refused and why.

mod certificate;
mod error;
mod facts;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzz;
mod kept;
mod layer;
mod options;
mod options_error;
mod records;
mod session;
mod suites;
mod tickets;
mod trust;
mod unbuffered;

pub use certificate::{Refusal, RefusedCertificate};
pub use error::PeerError;
pub use facts::{Facts, ParseVersionError, Version};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use fuzz::{fuzz_tls_files, fuzz_tls_handshake, fuzz_tls_records};
pub use layer::Tls;
pub use options::{Client, ClientOptions, Identity, Server, ServerOptions, Trust};
pub use options_error::OptionsError;
pub use suites::suites;
