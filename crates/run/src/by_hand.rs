//! One connection that is driven step by step: for probes before a measurement, and for people who talk to a server.

use crate::RunError;
use engine::clock::Clock;
use engine::epoll::Epoll;
use engine::{Address, Completion, ConnectionId, Engine};
use spec::Endpoint;
use units::Instant;
use wire::conversation::{Note, Talk};
use wire::{
    Closed, Connection, Event, Input, Message, MisuseError, Opening, PeerError, Protocol,
    TwoSockets,
};

/// A connection with its engine and state machine. It is closed when dropped.
pub(crate) struct ByHand {
    address: Address,
    engine: Epoll,
    id: ConnectionId,
    machine: Connection,
    /// The second connection of a protocol that uses two, while it is open.
    second: Option<ConnectionId>,
    /// The instant at which the machine continues over another connection, if it is waiting for that.
    returns_at: Option<Instant>,
    rx: Vec<u8>,
    tx: Vec<u8>,
}

/// Something that happened.
#[derive(Debug)]
pub(crate) enum News<'a> {
    /// The machine found a violation of its protocol.
    Broken(String),
    /// The connection is established; the protocol's opening handshake has begun, if it has one.
    Connected(Opening),
    /// The connection could not be made, or was cut.
    Cut(String),
    /// The machine's event for the end of the connection, after which the peer sends nothing more.
    Ended(Event<'a>),
    /// An event of the machine.
    Event(Event<'a>),
}

/// The end of a connection.
enum End {
    /// The exchanges before a conversation have been made on it.
    OfExchanges,
    /// The end is reported as news.
    Told(News<'static>),
}

impl End {
    fn closed(closed: Closed<'_>, news: fn(Event<'static>) -> News<'static>) -> Self {
        let Closed { code, reason } = closed;
        Self::Told(news(Event::Closed(Closed { code, reason: reason.into_owned().into() })))
    }
}

impl ByHand {
    /// Starts connecting `machine` to `address`.
    ///
    /// # Errors
    ///
    /// The system provides no engine.
    pub(crate) fn connect(
        address: &Address,
        machine: Connection,
        clock: Clock,
    ) -> Result<Self, RunError> {
        let mut engine = Epoll::new(clock).map_err(RunError::Engine)?;
        let id = engine.connect(address, None);
        Ok(Self {
            address: address.clone(),
            engine,
            id,
            machine,
            second: None,
            returns_at: None,
            rx: vec![0; RX_LEN],
            tx: Vec::new(),
        })
    }

    /// The current instant.
    pub(crate) fn now(&self) -> Instant {
        self.engine.now()
    }

    /// Waits until something happens, or until `until`.
    pub(crate) fn wait(&mut self, until: Instant) {
        self.engine.wait(self.returns_at.map_or(until, |at| until.min(at)));
    }

    /// Sends a message.
    ///
    /// # Errors
    ///
    /// The protocol does not allow it.
    pub(crate) fn send(&mut self, message: Message<'_>) -> Result<(), MisuseError> {
        let sent = self.machine.send(message, &mut self.tx);
        self.flush();
        sent
    }

    /// Sends a ping.
    ///
    /// # Errors
    ///
    /// The protocol does not allow it.
    pub(crate) fn ping(&mut self, payload: &[u8]) -> Result<(), MisuseError> {
        let sent = self.machine.ping(payload, &mut self.tx);
        self.flush();
        sent
    }

    /// The connection's conversation, if it has one.
    pub(crate) fn talk(&mut self) -> Option<&mut Talk<Connection>> {
        self.machine.talk()
    }

    /// Starts recording the messages of its conversation.
    pub(crate) fn note(&mut self) {
        self.machine.note();
    }

    /// The messages of its conversation that were recorded since the last call.
    pub(crate) fn notes(&mut self) -> Vec<Note> {
        self.machine.notes()
    }

    /// True until the exchanges before its conversation are answered.
    pub(crate) fn is_before(&self) -> bool {
        self.machine.is_before()
    }

    /// The step of the opening that is under way, and what it expects, as text.
    pub(crate) fn step(&self) -> Option<(String, String)> {
        self.machine.step()
    }

    /// Sends a heartbeat, if the conversation has any.
    ///
    /// # Errors
    ///
    /// The protocol does not allow it.
    pub(crate) fn beat(&mut self) -> Result<(), MisuseError> {
        let Self { machine, tx, .. } = self;
        let sent = machine.talk().map_or(Ok(()), |talk| talk.beat(tx));
        self.flush();
        sent
    }

    /// Starts closing; true if the peer has to answer.
    pub(crate) fn close(&mut self) -> bool {
        let is_answered = self.machine.close(&mut self.tx);
        self.flush();
        is_answered
    }

    /// Handles the engine's next completion and reports what came of it; false if there is none.
    pub(crate) fn take(&mut self, tell: &mut dyn FnMut(News<'_>)) -> bool {
        if self.returns_at.is_some_and(|at| at <= self.engine.now()) {
            self.returns_at = None;
            self.id = self.engine.connect(&self.address, None);
        }
        let Some(completion) = self.engine.complete(&mut self.rx) else { return false };
        // The end of the connection, unless the machine continues over another one.
        let mut end = None;
        match completion {
            Completion::Connected(id) if self.second == Some(id) => self.machine.open_second(),
            Completion::Ended(id) if self.second == Some(id) => {
                self.engine.close(id);
                self.second_is_gone("the server ended the second of two connections", tell);
            }
            Completion::Failed(id, error) if self.second == Some(id) => {
                self.second_is_gone(&error.to_string(), tell);
            }
            Completion::Connected(_) => tell(News::Connected(self.machine.open(&mut self.tx))),
            Completion::Received { connection, len } => {
                let mut input = Input::new(&mut self.rx[..len]);
                let is_before = self.machine.is_before();
                let is_second = self.second == Some(connection);
                while end.is_none() {
                    match receive(&mut self.machine, is_second, &mut input, &mut self.tx) {
                        Ok(Some(Event::Closed(_))) if is_before => end = Some(End::OfExchanges),
                        Ok(Some(Event::Closed(closed))) => {
                            end = Some(End::closed(closed, News::Event))
                        }
                        Ok(Some(event)) => tell(News::Event(event)),
                        Ok(None) => break,
                        Err(error) => {
                            tell(News::Broken(error.to_string()));
                            break;
                        }
                    }
                }
            }
            Completion::Ended(_) => {
                let is_before = self.machine.is_before();
                match self.machine.end() {
                    Ok(_) if is_before => end = Some(End::OfExchanges),
                    Ok(Event::Closed(closed)) => end = Some(End::closed(closed, News::Ended)),
                    Ok(event) => tell(News::Ended(event)),
                    Err(error) => end = Some(End::Told(News::Broken(error.to_string()))),
                }
            }
            Completion::Failed(_, error) => end = Some(End::Told(News::Cut(error.to_string()))),
            Completion::Accepted(_) => {}
        }
        let returns = end.as_ref().and_then(|_| self.machine.go_on(&mut self.tx));
        self.flush();
        match (returns, end) {
            (Some(after), _) => {
                self.engine.close(self.id);
                self.returns_at = Some(self.engine.now() + after);
            }
            (None, Some(End::Told(news))) => tell(news),
            (None, Some(End::OfExchanges) | None) => {}
        }
        true
    }

    /// Handles the end of the second connection, which the machine may tolerate.
    fn second_is_gone(&mut self, reason: &str, tell: &mut dyn FnMut(News<'_>)) {
        self.second = None;
        if !self.machine.end_second() {
            tell(News::Cut(reason.to_owned()));
        }
    }

    fn flush(&mut self) {
        if !self.tx.is_empty() {
            self.engine.send(self.id, &self.tx);
            self.tx.clear();
        }
        if self.second.is_none() && self.machine.wants_second() {
            self.second = Some(self.engine.connect(&self.address, None));
        }
        let waits = self.machine.take_second();
        if let Some(second) = self.second
            && !waits.is_empty()
        {
            self.engine.send(second, &waits);
        }
    }
}

/// The next event from what one of the two connections received.
fn receive<'a, 'b: 'a>(
    machine: &'a mut Connection,
    is_second: bool,
    input: &mut Input<'b>,
    tx: &mut Vec<u8>,
) -> Result<Option<Event<'a>>, PeerError> {
    if is_second { machine.receive_second(input, tx) } else { machine.receive(input, tx) }
}

/// The result of talking to one address of a server.
pub(crate) enum Attempt<T> {
    /// All was said.
    Done(T),
    /// The address accepts no connection, for this reason.
    NotThere(String),
    /// Something unexpected arrived.
    Wrong {
        /// The fault.
        reason: String,
        /// The next thing to try.
        next: String,
    },
}

/// Tries each of the addresses of `url` in turn, until one accepts the connection.
///
/// # Errors
///
/// [`RunError::Unreachable`] if none does, [`RunError::WrongAnswer`] if something unexpected arrived, and the errors of
/// `attempt`.
pub(crate) fn first_of<T>(
    url: &Endpoint,
    addresses: &[Address],
    mut attempt: impl FnMut(&Address) -> Result<Attempt<T>, RunError>,
) -> Result<T, RunError> {
    let target = url.to_string();
    let mut attempts = Vec::new();
    for address in addresses {
        match attempt(address)? {
            Attempt::Done(result) => return Ok(result),
            Attempt::Wrong { reason, next } => {
                return Err(RunError::WrongAnswer { target, reason, next });
            }
            Attempt::NotThere(reason) => attempts.push((address.clone(), reason)),
        }
    }
    Err(RunError::Unreachable { target, attempts })
}

/// The most bytes received at once.
const RX_LEN: usize = 64 << 10;
