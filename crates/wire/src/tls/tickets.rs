//! The store of a client's tickets.

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// The tickets of one server, shared by all connections of one [`Client`](super::Client).
///
/// rustls's own store keeps eight for a server, enough for the few connections of a browser; a generator has thousands,
/// and each needs its own ticket (RFC 8446 §C.4: a ticket is used once).
#[derive(Debug, Default)]
pub(super) struct Tickets(Mutex<Stored>);

#[derive(Debug, Default)]
struct Stored {
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    tls13: VecDeque<Tls13ClientSessionValue>,
}

impl Tickets {
    fn with<T>(&self, use_it: impl FnOnce(&mut Stored) -> T) -> T {
        // A thread that panicked left a complete ticket or none.
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _server: ServerName<'static>, group: NamedGroup) {
        self.with(|stored| stored.group = Some(group));
    }

    fn kx_hint(&self, _server: &ServerName<'_>) -> Option<NamedGroup> {
        self.with(|stored| stored.group)
    }

    fn set_tls12_session(&self, _server: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.with(|stored| stored.tls12 = Some(session));
    }

    fn tls12_session(&self, _server: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.with(|stored| stored.tls12.clone())
    }

    fn remove_tls12_session(&self, _server: &ServerName<'static>) {
        self.with(|stored| stored.tls12 = None);
    }

    fn insert_tls13_ticket(&self, _server: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        self.with(|stored| {
            if stored.tls13.len() == TICKETS_MAX {
                stored.tls13.pop_front();
            }
            stored.tls13.push_back(ticket);
        });
    }

    fn take_tls13_ticket(&self, _server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.with(|stored| stored.tls13.pop_back())
    }
}

/// Most tickets that are kept, the newest: as many as clients may be opening at once, and some for those that fail.
const TICKETS_MAX: usize = 4096;
