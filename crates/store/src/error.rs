//! Errors of stores, each with what to do about it.

use units::Nanos;

/// The reason why a store cannot be read or written. No record is lost by it: each is a file too.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another program kept it locked for too long.
    #[error(
        "{store} is locked by another program for more than {patience}; wait for its end, or end it, then \
         `wirebench history import` adds what is missing"
    )]
    Busy {
        /// The store.
        store: String,
        /// The time that was spent waiting for it.
        patience: Nanos,
    },
    /// Its content is broken.
    #[error(
        "{store} is damaged: {what}; move it away, and `wirebench history import` fills a new one from the records"
    )]
    Damaged {
        /// The store.
        store: String,
        /// The damage.
        what: String,
    },
    /// It is a database of something else.
    #[error("{store} is a database, but not one of wirebench; move it away")]
    Foreign {
        /// The store.
        store: String,
    },
    /// The address of a store has a mistake.
    #[error(
        "`{address}` is not a store: {what}; write postgres://USER@HOST/DATABASE, or leave it out for a file of this project"
    )]
    Address {
        /// The address, without a password.
        address: String,
        /// The mistake.
        what: String,
    },
    /// The disk, or a quota, is full.
    #[error(
        "{store} cannot grow: the disk is full; make room, then `wirebench history import` adds what is missing"
    )]
    Full {
        /// The store.
        store: String,
    },
    /// A newer program made it.
    #[error(
        "{store} has version {version}, this program knows up to {known}; use a newer program, whose `wirebench history \
         import` adds what is missing"
    )]
    Newer {
        /// The store.
        store: String,
        /// Its version.
        version: i64,
        /// The newest known one.
        known: usize,
    },
    /// It is read-only.
    #[error(
        "{store} may not be written: give yourself the right to write it, the files {store}-* beside it and its folder, \
         then `wirebench history import` adds what is missing"
    )]
    ReadOnly {
        /// The store.
        store: String,
    },
    /// The server does not let this user in, or does not permit what is asked for.
    #[error(
        "{store} refuses: {what}; check user, password and rights, then `wirebench history import` adds what is missing"
    )]
    Refused {
        /// The store.
        store: String,
        /// The reason that it gives.
        what: String,
    },
    /// Its server does not answer, or went away.
    #[error(
        "{store} cannot be reached, tried {attempts} times: {what}; once it answers, `wirebench history import` adds \
         what is missing"
    )]
    Unreachable {
        /// The store.
        store: String,
        /// The reason.
        what: String,
        /// The number of attempts.
        attempts: u32,
    },
    /// It cannot be opened.
    #[error(
        "{store} cannot be opened; it has to be a file that you may read and write, in a folder that you may write"
    )]
    Unopened {
        /// The store.
        store: String,
    },
    /// Anything else.
    #[error("{store}: {what}")]
    Other {
        /// The store.
        store: String,
        /// The problem.
        what: String,
    },
}
