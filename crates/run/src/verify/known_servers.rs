//! Servers of our own, on a thread of ours, which report afterwards what clients really did.

use crate::children::certificates::server_identity;
use engine::clock::{Clock, sharpen_timers, unix_seconds};
use engine::epoll::Epoll;
use engine::{Address, Engine};
use serve::{Behaviour, Oracle, Relay, Server, Totals};
use spec::{Endpoint, Protocol, Scheme};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use wire::{Role, ServerOptions, Stack, tls};

/// The answer of a server to a message.
#[derive(Clone, Debug)]
pub(super) enum Answers {
    /// It answers with this instead of the message.
    Always(Vec<u8>),
    /// It sends the message back.
    Echo,
    /// It sends the message back with this behaviour.
    Oracle(Behaviour),
    /// It sends what is published in a room to all who have joined the room.
    Relay,
}

/// A server that listens until it is dropped.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) url: Endpoint,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Totals>>,
}

/// The certificate of a server, and the authority that clients trust.
pub(super) struct Secrets {
    pub(super) authority_pem: String,
    server: tls::Server,
}

impl Secrets {
    /// Makes an authority, and a certificate that it issued for this machine.
    ///
    /// # Errors
    ///
    /// The system provides no randomness.
    pub(super) fn new(scheme: Scheme) -> Result<Self, String> {
        let (identity, authority_pem) = server_identity()?;
        let now_unix_s = unix_seconds().unwrap_or(0);
        let alpn = scheme.alpn();
        let server = tls::Server::new(&tls::ServerOptions {
            versions: Vec::new(),
            suites: Vec::new(),
            identity,
            client_authorities_pem: None,
            alpn,
            resumption: true,
            now_unix_s,
        });
        Ok(Self { authority_pem, server: server.map_err(|error| error.to_string())? })
    }
}

impl Known {
    /// Starts a server for messages of `len` bytes, over TLS if there are `secrets`.
    ///
    /// # Errors
    ///
    /// There is no server of that scheme, or it cannot listen.
    pub(super) fn start(
        scheme: Scheme,
        len: usize,
        answers: Answers,
        secrets: Option<&Secrets>,
    ) -> Result<Self, String> {
        if scheme.protocol == Protocol::Unix {
            return Err("it listens at no port".to_owned());
        }
        let options = ServerOptions {
            message_len: NonZeroUsize::new(len),
            takes_requests: matches!(answers, Answers::Relay),
            tls: secrets.map(|secrets| secrets.server.clone()),
            ..ServerOptions::default()
        };
        let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let endpoint = Endpoint::new(scheme, anywhere.into());
        let stack = wire::stack(&endpoint, Role::Server(&options));
        let stack = stack.map_err(|error| error.to_string())?;
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, told) = channel();
        let thread = engine::thread::start("known", {
            let stop = Arc::clone(&stop);
            move || {
                serve(stack, answers, stop, &tell).unwrap_or_else(|error| {
                    drop(tell.send(Err(error)));
                    Totals::default()
                })
            }
        });
        let thread = thread.map_err(|error| error.to_string())?;
        let Address::Tcp(address) = told.recv().map_err(|error| error.to_string())?? else {
            return Err("it listens at no port".to_owned());
        };
        let url = Endpoint { address: address.into(), ..endpoint };
        Ok(Self { url, stop, thread: Some(thread) })
    }

    /// Ends the server, and returns what clients did.
    pub(super) fn finish(mut self) -> Totals {
        self.end()
    }

    fn end(&mut self) -> Totals {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reports the address that it listens at, then serves; the engine is made here because engines do not move between
/// threads.
fn serve(
    stack: Stack,
    answers: Answers,
    stop: Arc<AtomicBool>,
    tell: &Sender<Result<Address, String>>,
) -> Result<Totals, String> {
    drop(sharpen_timers());
    let words = |error: engine::ConnectionError| error.to_string();
    let mut engine = Epoll::new(Clock::start()).map_err(words)?;
    let address = engine.listen(&Address::Tcp(([127, 0, 0, 1], 0).into())).map_err(words)?;
    let mut server = match answers {
        Answers::Relay => {
            drop(tell.send(Ok(address)));
            engine::run(&mut engine, &mut Relay::new(stack, stop));
            return Ok(Totals::default());
        }
        Answers::Always(reply) => Server::new(stack, stop).replying(reply),
        Answers::Echo => Server::new(stack, stop),
        Answers::Oracle(behaviour) => {
            let oracle = Oracle::new(stack, behaviour, stop);
            let mut oracle = oracle.map_err(|error| error.to_string())?;
            drop(tell.send(Ok(address)));
            oracle.run(&mut engine);
            return Ok(oracle.totals());
        }
    };
    drop(tell.send(Ok(address)));
    server.run(&mut engine);
    Ok(server.totals())
}
