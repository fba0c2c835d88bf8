//! The contract with the bus: the operations on the log, and the possible ends of each.
//!
//! A driver owes three things. An operation has exactly one end, within [`OPERATION_MAX`]. `TimedOut` means "unknown":
//! the operation may have happened, or may still happen later. A refusal that arrives as an event of the connection (a
//! permission) becomes the end of the operation that it belongs to.

use crate::protocol::{Entry, Subject};
use units::Nanos;

/// The end of writing an entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Put {
    /// It is in the log, permanently.
    Done,
    /// The subject has a value already, or the log is full: the server does not say which. Reading the subject resolves
    /// this.
    Refused,
    /// These credentials may not write this subject.
    Denied,
    /// Unknown.
    TimedOut,
}

/// The end of reading a subject.
#[derive(Clone, Debug, PartialEq)]
pub enum Read {
    /// Its value.
    Found(Entry),
    /// It has no value yet.
    Nothing,
    /// It has a value that this version cannot read; the reason.
    Unreadable(String),
    /// These credentials may not read this subject.
    Denied,
    /// Unknown.
    TimedOut,
}

/// Something that happened on the bus.
#[derive(Clone, Debug, PartialEq)]
pub enum BusEvent {
    /// The connection is up, with all its subscriptions.
    Connected,
    /// The connection is lost. Operations underway end as timed out.
    Disconnected,
    /// A write has ended.
    Put(Subject, Put),
    /// A read has ended.
    Read(Subject, Read),
}

/// The longest time from an operation to its end.
pub const OPERATION_MAX: Nanos = Nanos::from_secs(2);
