//! From a URL to a target that answers: names resolved, the safety rail, what is said in the protocol, and a first
//! message whose echo is checked before anything is timed.

use crate::plan::{Measurement, Speech};
use crate::url::{Place, Scheme};
use crate::watch::Impatient;
use crate::{RunError, Url, safety};
use drive::{Control, Outcome, Target, Transport, Worker};
use engine::clock::Clock;
use engine::epoll::Epoll;
use engine::{Address, run};
use load::{Arrival, Expect, Lifetime, Phases, Stop, Workload};
use std::net::{SocketAddr, ToSocketAddrs};
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use units::Nanos;
use wire::{framed, http1, websocket};

/// What the set-up keeps time with, and by what it is stopped.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) clock: Clock,
    /// The number of the signal that asks to stop; 0 if none did.
    pub(crate) interrupt: &'a AtomicUsize,
}

impl Context<'_> {
    /// Stops what is being set up.
    ///
    /// # Errors
    ///
    /// [`RunError::Interrupted`] if a signal came.
    pub(crate) fn check(self) -> Result<(), RunError> {
        match self.interrupt.load(Ordering::Relaxed) {
            0 => Ok(()),
            signal => Err(RunError::interrupted(signal)),
        }
    }
}

/// A place that was looked up.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    /// In the order of the resolver.
    pub(crate) addresses: Vec<Address>,
    /// From the question to the answer; `None` where nothing had to be asked.
    pub(crate) took: Option<Nanos>,
}

/// Looks the place of `url` up.
///
/// # Errors
///
/// [`RunError::Unresolved`], [`RunError::ResolveTimedOut`].
pub(crate) fn resolve(url: &Url, timeout: Nanos, clock: Clock) -> Result<Resolved, RunError> {
    let (name, port) = match &url.place {
        Place::Path(path) => {
            return Ok(Resolved { addresses: vec![Address::Unix(path.clone())], took: None });
        }
        Place::Host { name, port } => (name.clone(), *port),
    };
    if let Ok(address) = name.parse() {
        return Ok(Resolved {
            addresses: vec![Address::Tcp(SocketAddr::new(address, port))],
            took: None,
        });
    }
    let began = clock.now();
    let (sender, receiver) = channel();
    let question = (name.clone(), port);
    // On a thread of its own, because the system's resolver cannot be told when to give up.
    std::thread::spawn(move || {
        drop(sender.send(question.to_socket_addrs().map(Iterator::collect::<Vec<_>>)))
    });
    match receiver.recv_timeout(timeout.into()) {
        Ok(Ok(found)) if !found.is_empty() => Ok(Resolved {
            addresses: found.into_iter().map(Address::Tcp).collect(),
            took: Some(clock.now().since(began)),
        }),
        Ok(Ok(_)) => Err(RunError::Unresolved { name, reason: "it has no address".to_owned() }),
        Ok(Err(error)) => Err(RunError::Unresolved { name, reason: error.to_string() }),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            Err(RunError::ResolveTimedOut { name, timeout })
        }
    }
}

/// Lets public addresses pass only with consent.
///
/// # Errors
///
/// [`RunError::PublicTarget`].
pub(crate) fn check_public(addresses: &[Address], allowed: bool) -> Result<(), RunError> {
    for address in addresses {
        if let Address::Tcp(address) = address
            && !allowed
            && safety::is_public(address.ip())
        {
            return Err(RunError::PublicTarget { address: address.ip() });
        }
    }
    Ok(())
}

/// What a client says at `url`.
///
/// # Errors
///
/// [`RunError::InvalidRequest`] if a header or the path cannot be said.
pub(crate) fn transport(
    url: &Url,
    speech: &Speech,
    workload: &Workload,
) -> Result<Transport, RunError> {
    let reply_max = usize::try_from(speech.reply_max.0).unwrap_or(usize::MAX);
    Ok(match url.scheme {
        Scheme::Tcp | Scheme::Unix => Transport::Raw {
            reply_len: match &workload.expect {
                Expect::Exactly(reply) => reply.len(),
                Expect::Anything | Expect::Echo | Expect::Oracle => {
                    workload.content.payload().len()
                }
            },
        },
        Scheme::TcpFramed => Transport::Framed(framed::Limits {
            frame_len_max: u32::try_from(speech.reply_max.0).unwrap_or(u32::MAX),
        }),
        Scheme::Http => {
            let parts = http1::RequestParts {
                method: speech.method.clone(),
                target: url.path.clone(),
                host: url.authority(),
                headers: speech.headers.clone(),
            };
            let request = http1::Request::new(&parts)
                .map_err(|error| RunError::InvalidRequest(error.to_string()))?;
            let limits = http1::Limits { body_len_max: reply_max, ..http1::Limits::default() };
            Transport::Http(Arc::new(request), limits)
        }
        Scheme::WebSocket => {
            let request = websocket::handshake::Request {
                host: url.authority(),
                target: url.path.clone(),
                subprotocols: speech.subprotocols.clone(),
                headers: speech.headers.clone(),
            };
            request.check().map_err(|error| RunError::InvalidRequest(error.to_string()))?;
            let limits = websocket::Limits {
                frame_len_max: reply_max,
                message_len_max: reply_max,
                ..websocket::Limits::default()
            };
            Transport::WebSocket(Arc::new(request), limits)
        }
    })
}

/// An address that answers as it should, and those before it that did not.
#[derive(Clone, Debug)]
pub(crate) struct Reached {
    pub(crate) target: Target,
    pub(crate) failed: Vec<(Address, String)>,
}

/// Sends one message to each address in turn until one answers, and checks the answer.
///
/// # Errors
///
/// [`RunError::Unreachable`] if no address takes a connection, [`RunError::WrongAnswer`] if the first that does
/// answers something else than expected, or nothing.
pub(crate) fn verify(
    url: &Url,
    addresses: &[Address],
    measurement: &Measurement,
    transport: &Transport,
    context: Context<'_>,
) -> Result<Reached, RunError> {
    let mut failed = Vec::new();
    for address in addresses {
        let target = Target {
            address: address.clone(),
            sources: measurement.sources.iter().take(1).copied().collect(),
            transport: transport.clone(),
        };
        let outcome = one_message(&measurement.workload, target.clone(), context)?;
        if outcome.measured.ok == 1 {
            return Ok(Reached { target, failed });
        }
        context.check()?;
        let what = outcome
            .errors
            .first()
            .map_or("it ended the connection", |tally| &tally.example)
            .to_owned();
        if !outcome.times.connect.is_empty() {
            return Err(RunError::WrongAnswer { target: url.to_string(), reason: what });
        }
        failed.push((address.clone(), what));
    }
    Err(RunError::Unreachable { target: url.to_string(), attempts: failed })
}

fn one_message(
    workload: &Workload,
    target: Target,
    context: Context<'_>,
) -> Result<Outcome, RunError> {
    let once = Workload {
        connections: NonZeroU32::MIN,
        connect_rate: None,
        lifetime: Lifetime::Long,
        arrival: Arrival::Closed { in_flight: NonZeroU32::MIN, in_flight_max: None },
        phases: Phases {
            warm_up: Nanos::ZERO,
            stop: Stop::Messages(NonZeroU64::MIN),
            drain: Nanos::ZERO,
        },
        ..workload.clone()
    };
    let mut engine = Epoll::new(context.clock).map_err(RunError::Engine)?;
    let control = Arc::new(Control::new(1));
    let observer = Impatient { interrupt: context.interrupt, control: Arc::clone(&control) };
    let mut worker = Worker::new(once, target, control, observer);
    run(&mut engine, &mut worker);
    Ok(worker.finish().0)
}
