//! The HTTP exchanges before a connection, such as a login.
//!
//! They have a connection of their own, to the same server and inside the same TLS, which is closed when the last is
//! answered. Only then is the connection of the conversation made ([`Before::go_on`]), so that no server waits on it
//! for a late handshake, and path and header fields of that handshake may use values that were taken. If a server ends
//! the connection after a response, the next exchange goes over another.
//!
//! Cookies that they set are sent with every later request of the connection, including the next request of a redirect.

use super::PeerError;
use super::asking::Asking;
use super::compiled::{Compiled, Start};
use super::mind::ALIVE;
use super::request::Site;
use super::tape::{Note, Sense};
use super::template::Filling;
use crate::contract::{
    self, Closed, Event, InPlace, Input, Kind, Layers, Message, MisuseError, Opening, Protocol,
    Response,
};
use crate::http1::redirect::Hops;
use std::fmt;
use std::sync::Arc;
use units::Nanos;

/// The connections that make up a conversation with exchanges before it.
pub(crate) struct Plan<C> {
    pub(crate) compiled: Arc<Compiled>,
    /// The server that is asked.
    pub(crate) site: Site,
    /// Makes a connection for exchanges.
    pub(crate) http: Box<dyn Fn() -> C + Send + Sync>,
    /// Makes the connection that holds the conversation.
    pub(crate) conversation: Box<dyn Fn(Start) -> C + Send + Sync>,
}

/// A client that makes HTTP exchanges before it holds a conversation.
///
/// [`Event::Closed`] follows the last exchange, and each that ends the connection: the owner then calls
/// [`crate::Connection::go_on`].
#[derive(Debug)]
pub struct Before<C> {
    inner: C,
    plan: Arc<Plan<C>>,
    /// `None` once the conversation has taken it over.
    start: Option<Start>,
    /// The exchange that is under way, or comes next.
    next: usize,
    /// The redirects of the exchange that is under way.
    hops: Hops,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The connection inside is not open yet.
    AwaitConnection,
    AwaitResponse,
    /// The connection has served: the next exchange, or the conversation, uses another.
    Served,
}

/// The machine to use after a connection that has served.
#[derive(Debug)]
pub(crate) enum Next<C> {
    /// None: the connection has not served.
    Nothing,
    /// The same machine, opened anew.
    Same,
    /// This machine.
    Conversation(C),
}

impl<C: InPlace> Before<C> {
    pub(crate) fn new(plan: Arc<Plan<C>>, start: Start) -> Self {
        let inner = (plan.http)();
        let hops = Hops::default();
        Self { inner, plan, start: Some(start), next: 0, hops, state: State::AwaitConnection }
    }

    /// Ends the connection if it has served, and appends its last bytes to `tx`.
    pub(crate) fn go_on(&mut self, tx: &mut Vec<u8>) -> Next<C> {
        if self.state != State::Served {
            return Next::Nothing;
        }
        self.inner.close(tx);
        if self.next < self.plan.compiled.before.len() {
            (self.inner, self.state) = ((self.plan.http)(), State::AwaitConnection);
            return Next::Same;
        }
        let start = self.start.take();
        start.map_or(Next::Nothing, |start| Next::Conversation((self.plan.conversation)(start)))
    }

    /// Notes every message from here on, those of the conversation too.
    pub(crate) fn note(&mut self) {
        if let Some(start) = &mut self.start {
            start.tape = Some(Box::default());
        }
    }

    /// The messages that were noted since the last call. Those that are not taken pass to the conversation.
    pub(crate) fn notes(&mut self) -> Vec<Note> {
        let tape = self.start.as_mut().and_then(|start| start.tape.as_mut());
        tape.map(|tape| tape.take()).unwrap_or_default()
    }

    /// The exchange that is under way, and the response that it expects, in words; `None` once all are answered.
    pub(crate) fn step(&self) -> Option<(String, String)> {
        self.asking().map(|asking| (asking.name.clone(), asking.expected().to_owned()))
    }

    /// Sends the request of the next exchange.
    fn ask(&mut self, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        let plan = Arc::clone(&self.plan);
        let (Some(asking), Some(start)) = (plan.compiled.before.get(self.next), &mut self.start)
        else {
            return Ok(());
        };
        let Start { member, random, values, cookies, tape, .. } = start;
        if self.hops.is_due() {
            if !self.hops.ask(&mut self.inner, tx) {
                return Err(MisuseError::NotOpen);
            }
            if let Some(tape) = tape {
                tape.sent(Sense::Before(self.next), self.hops.request());
            }
            self.state = State::AwaitResponse;
            return Ok(());
        }
        let filling = Filling { id: 0, now: Nanos(0), member: *member, values };
        let request = asking.request(&plan.site, cookies, filling, random);
        self.inner.send(Message { kind: Kind::Binary, payload: &request }, tx)?;
        self.hops.begin(asking.redirects(), &request);
        if let Some(tape) = tape {
            tape.sent(Sense::Before(self.next), &request);
        }
        self.state = State::AwaitResponse;
        Ok(())
    }

    /// The exchange that is under way, or came last.
    fn asking(&self) -> Option<&Asking> {
        self.plan.compiled.before.get(self.next)
    }

    /// An error of the connection inside, with the exchange that it ended.
    fn blame(&self, error: contract::PeerError) -> contract::PeerError {
        match (error, self.asking()) {
            (contract::PeerError::Http1(error), Some(asking)) => {
                PeerError::Http { step: asking.name.clone(), error }.into()
            }
            (error, _) => error,
        }
    }

    fn cut(&self) -> PeerError {
        let (step, expected) = self.step().unwrap_or_default();
        PeerError::Cut { step, expected }
    }
}

impl<C: InPlace> Protocol for Before<C> {
    fn open(&mut self, tx: &mut Vec<u8>) -> Opening {
        if self.inner.open(tx) == Opening::Done && self.ask(tx).is_err() {
            self.state = State::Served; // No connection refuses its first request.
        }
        Opening::Awaited
    }

    fn send(&mut self, _message: Message<'_>, _tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        Err(MisuseError::NotOpen)
    }

    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, contract::PeerError> {
        if self.state == State::Served {
            input.take_all();
            return Ok(None);
        }
        let is_ended = match self.inner.receive(input, tx) {
            Ok(None) => return Ok(None),
            Ok(Some(Event::Response(response))) => {
                answered(&self.plan, &mut self.next, &mut self.start, &mut self.hops, &response)?;
                false
            }
            Ok(Some(Event::Closed(_))) => true,
            Ok(Some(_)) if self.state == State::AwaitConnection => false,
            Ok(Some(_)) => return Ok(Some(ALIVE)),
            Err(error) => return Err(self.blame(error)),
        };
        if is_ended && self.state == State::AwaitResponse {
            return Err(self.cut().into());
        }
        // A connection that the server has ended takes no other request.
        let is_over = self.next == self.plan.compiled.before.len();
        if is_over || is_ended || self.ask(tx).is_err() {
            self.state = State::Served;
            return Ok(Some(Event::Closed(Closed::default())));
        }
        Ok(Some(ALIVE))
    }

    fn close(&mut self, tx: &mut Vec<u8>) -> bool {
        self.inner.close(tx);
        false
    }

    /// The peer will send no more bytes.
    ///
    /// # Errors
    ///
    /// An exchange was not answered, or not as it should be.
    fn end(&mut self) -> Result<Event<'_>, contract::PeerError> {
        match self.inner.end() {
            Ok(Event::Response(response)) => {
                answered(&self.plan, &mut self.next, &mut self.start, &mut self.hops, &response)?;
            }
            Ok(_) if self.state == State::AwaitResponse => return Err(self.cut().into()),
            Ok(_) => {}
            Err(error) => return Err(self.blame(error)),
        }
        self.state = State::Served;
        Ok(Event::Closed(Closed::default()))
    }

    fn layers(&self) -> Layers {
        self.inner.layers()
    }
}

/// Takes the response to exchange `next`, and advances `next` unless a redirect is followed.
///
/// # Errors
///
/// It is not the expected one, lacks a value that is taken from it, or has one that does not make a subprotocol.
fn answered<C>(
    plan: &Plan<C>,
    next: &mut usize,
    start: &mut Option<Start>,
    hops: &mut Hops,
    response: &Response<'_>,
) -> Result<(), PeerError> {
    if let (Some(asking), Some(start)) = (plan.compiled.before.get(*next), start) {
        if let Some(tape) = &mut start.tape {
            tape.heard(Sense::Before(*next), &[response.head, response.body].concat());
        }
        start.cookies.learn(response);
        let Start { member, cookies, values, .. } = start;
        if !asking.answered(response, &plan.site, cookies, hops, values)? {
            return Ok(());
        }
        if *next + 1 == plan.compiled.before.len() {
            let filling = Filling { id: 0, now: Nanos(0), member: *member, values };
            plan.compiled.subprotocols.check(filling, &asking.name)?;
        }
    }
    *next += 1;
    Ok(())
}

impl<C> fmt::Debug for Plan<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plan({:?})", self.site)
    }
}
