//! The bus on NATS: one connection, on a thread of its own. It carries out the orders of state machines, and reports to
//! them what happens.
//!
//! The log is a JetStream stream in which each subject can be written once; everything else is plain NATS. The thread
//! runs a single-threaded runtime; nothing else in this program depends on either.
//!
//! This module does three things that the library does not: a refused permission becomes the end of its operation,
//! within a second; messages published while the connection is down are dropped, so that no stale beat is sent
//! afterwards; and the log is read without a consumer, so that no state is left on the server.
//!
//! Start reading at [`Bus::connect`].

mod connection;
mod log;
mod refusal;

pub use connection::ConnectError;

use crate::bus::{BusEvent, OPERATION_MAX, Put, Read};
use crate::controller::{self, NoAnswer};
use crate::join::Join;
use crate::protocol::{
    Answer, Beat, Command, Entry, Instance, Lead, Live, Name, Subject, decode, encode, limits,
};
use async_nats::{Client, Event, Message, Request, RequestErrorKind, connection::State};
use connection::Connection;
use futures_util::StreamExt as _;
use log::Log;
use refusal::Refusal;
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;
use tokio::sync::{broadcast, mpsc};
use tokio::task::{LocalSet, spawn_local};
use units::Nanos;

/// A member of the fleet, as the bus sees it.
#[derive(Clone, Debug)]
pub enum Member {
    /// One process of an agent, which receives its questions.
    Agent(Name, Instance),
    /// A controller, which receives every agent's messages and those of leaders.
    Controller,
}

/// Something that arrived from the bus.
#[derive(Clone, Debug)]
pub enum Heard {
    /// An event of the connection, or the end of an operation.
    Bus(BusEvent),
    /// Something that only controllers receive.
    Controller(controller::Event),
    /// The totals of an agent.
    Live(Live),
    /// A question to an agent, with the number of its answer.
    Command(u64, Command),
    /// Something that the user should know, and that ends nothing.
    Problem(String),
    /// The server no longer lets us in: this is the last event.
    Over(String),
}

/// Something to do on the bus.
#[derive(Debug)]
pub enum Order {
    /// Write an entry.
    Put(Subject, Entry),
    /// Read one subject.
    Read(Subject),
    /// Report all entries of a run, and new ones as they are written.
    Follow(Name),
    /// Ask a process of an agent.
    Ask(u64, Name, Instance, Command, Nanos),
    /// Answer a question.
    Answer(u64, Answer),
    /// Say that we are alive.
    Beat(Beat),
    /// Say what we have counted.
    Live(Live),
    /// Say who leads.
    Lead(Lead),
}

/// The connection to the bus. It ends when this is dropped.
#[derive(Debug)]
pub struct Bus {
    orders: mpsc::UnboundedSender<Order>,
}

impl Bus {
    /// Connects as `member` with the credentials of `join`, and passes everything that arrives to `hear`, on the
    /// connection's thread.
    ///
    /// # Errors
    ///
    /// [`ConnectError`]: no server answers, it does not let us in, or it cannot keep the log.
    pub fn connect(
        join: &Join,
        member: Member,
        hear: impl Fn(Heard) + Send + 'static,
    ) -> Result<Self, ConnectError> {
        let (orders, ordered) = mpsc::unbounded_channel();
        let (tell, told) = sync_channel(1);
        let join = join.clone();
        engine::thread::start("fleet", move || work(&join, &member, hear, ordered, &tell))
            .map_err(|error| ConnectError::Thread(error.to_string()))?;
        told.recv().unwrap_or_else(|_| Err(ConnectError::Thread("it has ended".to_owned())))?;
        Ok(Self { orders })
    }

    /// Carries out an order as soon as possible; its end arrives as [`Heard`].
    pub fn order(&self, order: Order) {
        // A connection that is over has already reported so.
        drop(self.orders.send(order));
    }
}

/// The loop of the thread.
fn work(
    join: &Join,
    member: &Member,
    hear: impl Fn(Heard) + 'static,
    ordered: mpsc::UnboundedReceiver<Order>,
    told: &SyncSender<Result<(), ConnectError>>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            drop(told.send(Err(ConnectError::Thread(error.to_string()))));
            return;
        }
    };
    LocalSet::new().block_on(&runtime, async {
        let connected = async {
            let connection = Connection::open(join).await?;
            let log = Log::open(&connection, join).await?;
            Ok((connection, log))
        };
        match connected.await {
            Ok((connection, log)) => {
                drop(told.send(Ok(())));
                serve(connection, log, hear, (join, member), ordered).await;
            }
            Err(error) => drop(told.send(Err(error))),
        }
    });
}

/// A connection that is up, or reconnects on its own.
struct Session {
    client: Client,
    log: Log,
    hear: Box<dyn Fn(Heard)>,
    /// Refusals in the words of the server, which include the subject.
    denied: broadcast::Sender<String>,
    /// The subjects of answers to questions, the oldest first.
    asked: RefCell<BTreeMap<u64, async_nats::Subject>>,
    number: Cell<u64>,
    /// True if the user has been told, since the last connection, that the server's certificate is not valid now.
    is_expired: Cell<bool>,
    /// The name and the address of the member, for messages about refusals.
    join: Join,
    /// The costs of refusals that the user has been told about.
    losses: RefCell<BTreeSet<&'static str>>,
}

/// Carries out orders until their channel is closed, or until the server no longer lets us in.
async fn serve(
    connection: Connection,
    log: Log,
    hear: impl Fn(Heard) + 'static,
    (join, member): (&Join, &Member),
    mut ordered: mpsc::UnboundedReceiver<Order>,
) {
    let Connection { client, mut events, denied } = connection;
    let session = Rc::new(Session {
        client,
        log,
        hear: Box::new(hear),
        denied,
        asked: RefCell::default(),
        number: Cell::new(0),
        is_expired: Cell::new(false),
        join: join.clone(),
        losses: RefCell::default(),
    });
    session.listen(member).await;
    session.tell(Heard::Bus(BusEvent::Connected));
    loop {
        tokio::select! {
            order = ordered.recv() => match order {
                Some(order) => session.obey(order),
                None => break,
            },
            event = events.recv() => match event {
                Some(event) => if session.is_over(&event) { break },
                None => break,
            },
        }
    }
    // The last messages may still be in the buffer.
    drop(tokio::time::timeout(LAST_WORDS, session.client.flush()).await);
}

impl Session {
    fn tell(&self, heard: Heard) {
        (self.hear)(heard);
    }

    /// Subscribes to the subjects of a member.
    async fn listen(self: &Rc<Self>, member: &Member) {
        let subjects = match member {
            Member::Agent(name, instance) => vec![Command::subject(name, *instance)],
            Member::Controller => {
                vec!["wb.hb.*".to_owned(), "wb.live.*".to_owned(), "wb.lead.*".to_owned()]
            }
        };
        for subject in subjects {
            match self.client.subscribe(subject.clone()).await {
                Ok(mut messages) => {
                    let session = Rc::clone(self);
                    spawn_local(async move {
                        while let Some(message) = messages.next().await {
                            session.hear(message);
                        }
                    });
                }
                Err(error) => {
                    self.tell(Heard::Problem(format!("cannot listen to {subject}: {error}")))
                }
            }
        }
    }

    /// Takes a message on one of the subscribed subjects.
    fn hear(&self, message: Message) {
        let subject = message.subject.as_str();
        let heard = if subject.starts_with("wb.hb.") {
            decode(&message.payload, limits::TALK_MAX)
                .map(controller::Event::Beat)
                .map(Heard::Controller)
        } else if subject.starts_with("wb.live.") {
            decode(&message.payload, limits::TALK_MAX).map(Heard::Live)
        } else if subject.starts_with("wb.lead.") {
            decode(&message.payload, limits::TALK_MAX)
                .map(controller::Event::Lead)
                .map(Heard::Controller)
        } else {
            let Some(reply) = message.reply.clone() else { return };
            decode(&message.payload, limits::COMMAND_MAX).map(|command| {
                let number = self.number.replace(self.number.get() + 1);
                let mut asked = self.asked.borrow_mut();
                if asked.len() == UNANSWERED_MAX {
                    asked.pop_first();
                }
                asked.insert(number, reply);
                Heard::Command(number, command)
            })
        };
        self.tell(heard.unwrap_or_else(|error| Heard::Problem(format!("{subject}: {error}"))));
    }

    /// Takes an event of the connection. True if it is the last one.
    fn is_over(&self, event: &Event) -> bool {
        match event {
            Event::Connected => {
                self.is_expired.set(false);
                self.tell(Heard::Bus(BusEvent::Connected));
            }
            Event::Disconnected => self.tell(Heard::Bus(BusEvent::Disconnected)),
            Event::SlowConsumer(_) => {
                self.tell(Heard::Problem(
                    "messages arrived faster than they were read: some are lost".to_owned(),
                ));
            }
            Event::ServerError(error) => {
                let error = error.to_string();
                return self.is_refused(&error) || self.is_shut_out(&error);
            }
            // An attempt to reconnect.
            Event::ClientError(error) => {
                let error = error.to_string();
                // A new certificate resolves this, and nothing here needs a restart.
                if connection::is_of_time(&error) && !self.is_expired.replace(true) {
                    self.tell(Heard::Problem(format!(
                        "the certificate of the coordination server is not valid now ({error}): connecting is tried \
                         again until it has another one"
                    )));
                }
                return self.is_shut_out(&error);
            }
            Event::LameDuckMode | Event::Draining => {}
            Event::Closed => return true,
        }
        false
    }

    /// True, and reported, if this server error refuses something that is indispensable here. Any other refusal that
    /// ends no operation is reported once.
    fn is_refused(&self, error: &str) -> bool {
        let Some(refusal) = Refusal::of(error) else { return false };
        match refusal {
            Refusal::Final => self.tell(Heard::Over(self.denied(error.to_owned()))),
            Refusal::Loss(cost) if self.losses.borrow_mut().insert(cost) => {
                self.tell(Heard::Problem(self.denied(format!("{error}: {cost}"))));
            }
            Refusal::Loss(_) | Refusal::OfOperation => {}
        }
        refusal == Refusal::Final
    }

    /// The words for the user about a refusal by the server.
    fn denied(&self, refusal: String) -> String {
        let (url, name) = (self.join.url.clone(), self.join.name.to_string());
        ConnectError::Denied { url, name, refusal }.to_string()
    }

    /// True, and reported, if the server refuses our credentials with this error.
    fn is_shut_out(&self, error: &str) -> bool {
        let is_shut_out = connection::is_shut_out(error);
        if is_shut_out {
            self.tell(Heard::Over(format!(
                "the coordination server no longer lets us in: {error}; was its key withdrawn, or has it expired?"
            )));
        }
        is_shut_out
    }

    fn obey(self: &Rc<Self>, order: Order) {
        match order {
            Order::Beat(beat) => self.say(Beat::subject(&beat.agent), &beat),
            Order::Live(live) => self.say(Live::subject(&live.agent), &live),
            Order::Lead(lead) => self.say(Lead::subject(&lead.run), &lead),
            Order::Answer(number, answer) => {
                let reply = self.asked.borrow_mut().remove(&number);
                if let Some(reply) = reply {
                    self.say(reply.to_string(), &answer);
                }
            }
            Order::Put(subject, entry) => {
                let session = Rc::clone(self);
                spawn_local(async move {
                    let put = session.put(&subject, &entry).await;
                    session.tell(Heard::Bus(BusEvent::Put(subject, put)));
                });
            }
            Order::Read(subject) => {
                let session = Rc::clone(self);
                spawn_local(async move {
                    let read = session.read(&subject).await;
                    session.tell(Heard::Bus(BusEvent::Read(subject, read)));
                });
            }
            Order::Follow(run) => {
                let session = Rc::clone(self);
                spawn_local(async move { session.follow(run).await });
            }
            Order::Ask(number, agent, instance, command, timeout) => {
                let session = Rc::clone(self);
                spawn_local(async move {
                    let answer = session.ask(&agent, instance, &command, timeout).await;
                    session.tell(Heard::Controller(controller::Event::Answer(number, answer)));
                });
            }
        }
    }

    /// Publishes a message that may get lost. Drops it if the connection is down.
    fn say<T: Serialize>(self: &Rc<Self>, subject: String, message: &T) {
        if self.client.connection_state() != State::Connected {
            return;
        }
        match encode(message, limits::TALK_MAX) {
            Ok(bytes) => {
                let client = self.client.clone();
                spawn_local(async move { drop(client.publish(subject, bytes.into()).await) });
            }
            Err(error) => self.tell(Heard::Problem(format!("{subject}: {error}"))),
        }
    }

    async fn put(&self, subject: &Subject, entry: &Entry) -> Put {
        let bytes = match encode(entry, entry.size_max()) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.tell(Heard::Problem(format!("{subject}: {error}")));
                return Put::Refused;
            }
        };
        let subject = subject.to_string();
        match self.unless_denied(&subject, self.log.put(subject.clone(), bytes)).await {
            Ok(put) => put,
            Err(NotDone::Denied) => Put::Denied,
            Err(NotDone::TimedOut) => Put::TimedOut,
        }
    }

    async fn read(&self, subject: &Subject) -> Read {
        let max = match subject {
            Subject::Plan(_) => limits::PLAN_MAX,
            Subject::Step(..) => limits::STEP_MAX,
            Subject::Slot(..) => limits::SLOT_MAX,
        };
        let text = subject.to_string();
        let asked = Log::read_subject(&text);
        match self.unless_denied(&asked, self.log.read(&text)).await {
            Ok(Some(Some(bytes))) => match decode(&bytes, max) {
                Ok(entry) => Read::Found(entry),
                Err(error) => Read::Unreadable(error.to_string()),
            },
            Ok(Some(None)) => Read::Nothing,
            Ok(None) | Err(NotDone::TimedOut) => Read::TimedOut,
            Err(NotDone::Denied) => Read::Denied,
        }
    }

    /// Reports the entries of a run in order, from the first, for as long as the connection exists.
    async fn follow(&self, run: Name) {
        let filter = format!("{}.{run}.>", Subject::PREFIX);
        // A hint announces an entry to read. An entry without a hint is found a little later.
        let mut hints = self.client.subscribe(filter.clone()).await.ok();
        let (mut next, mut has_caught_up) = (1, false);
        let mut patience = LOOK_AGAIN;
        loop {
            let asked = self.unless_denied(Log::NEXT, self.log.next(&filter, next)).await;
            match asked {
                Ok(Some(Some((sequence, subject, bytes)))) => {
                    next = sequence + 1;
                    self.logged(&subject, &bytes);
                    continue;
                }
                Ok(Some(None)) if !has_caught_up => {
                    has_caught_up = true;
                    self.tell(Heard::Controller(controller::Event::CaughtUp));
                }
                Err(NotDone::Denied) => {
                    let refusal = format!("no permission to publish to \"{}\"", Log::NEXT);
                    return self.tell(Heard::Over(self.denied(refusal)));
                }
                Ok(_) | Err(NotDone::TimedOut) => {}
            }
            let hint = async {
                match &mut hints {
                    Some(hints) => drop(hints.next().await),
                    None => std::future::pending().await,
                }
            };
            let is_hinted = tokio::time::timeout(patience, hint).await.is_ok();
            patience = if is_hinted { HINT_AHEAD } else { LOOK_AGAIN };
        }
    }

    fn logged(&self, subject: &str, bytes: &[u8]) {
        let parsed: Result<Subject, _> = subject.parse();
        let entry = parsed.map_err(|error| error.to_string()).and_then(|subject| {
            let entry = decode(bytes, limits::SLOT_MAX).map_err(|error| error.to_string())?;
            Ok((subject, entry))
        });
        match entry {
            Ok((subject, entry)) => {
                self.tell(Heard::Controller(controller::Event::Logged(subject, entry)));
            }
            Err(error) => self.tell(Heard::Problem(format!("{subject} cannot be read: {error}"))),
        }
    }

    async fn ask(
        &self,
        agent: &Name,
        instance: Instance,
        command: &Command,
        timeout: Nanos,
    ) -> Result<Answer, NoAnswer> {
        let subject = Command::subject(agent, instance);
        let Ok(bytes) = encode(command, limits::COMMAND_MAX) else {
            return Err(NoAnswer::TimedOut);
        };
        let request = Request::new().payload(bytes.into()).timeout(Some(timeout.into()));
        let asked = self.unless_denied_in(
            &subject,
            timeout,
            self.client.send_request(subject.clone(), request),
        );
        match asked.await {
            Ok(Ok(message)) => decode(&message.payload, limits::TALK_MAX).map_err(|error| {
                self.tell(Heard::Problem(format!("the answer of {agent}: {error}")));
                NoAnswer::TimedOut
            }),
            Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders => Err(NoAnswer::Gone),
            Ok(Err(_)) | Err(NotDone::TimedOut) => Err(NoAnswer::TimedOut),
            Err(NotDone::Denied) => Err(NoAnswer::Denied),
        }
    }

    async fn unless_denied<T>(
        &self,
        subject: &str,
        done: impl Future<Output = T>,
    ) -> Result<T, NotDone> {
        self.unless_denied_in(subject, OPERATION_MAX, done).await
    }

    /// Waits for `done`, until the server refuses `subject` or the time `most` is over.
    async fn unless_denied_in<T>(
        &self,
        subject: &str,
        most: Nanos,
        done: impl Future<Output = T>,
    ) -> Result<T, NotDone> {
        let quoted = format!("\"{subject}\"");
        let mut denied = self.denied.subscribe();
        let refused = async {
            loop {
                match denied.recv().await {
                    Ok(text) if text.contains(&quoted) => return,
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
                }
            }
        };
        tokio::select! {
            done = done => Ok(done),
            () = refused => Err(NotDone::Denied),
            () = tokio::time::sleep(most.into()) => Err(NotDone::TimedOut),
        }
    }
}

/// The reasons why an operation has no result.
enum NotDone {
    /// The permissions do not allow it.
    Denied,
    /// Its outcome is unknown.
    TimedOut,
}

/// The most questions that may wait for their answers.
const UNANSWERED_MAX: usize = 1024;
/// The longest time between two checks for a new entry, whose hint may be lost, e.g. with a connection.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// The time from a hint until its entry is looked for again: the server sends the hint before it has stored the entry.
const HINT_AHEAD: Duration = Duration::from_millis(100);
/// The longest wait until the last messages are sent.
const LAST_WORDS: Duration = Duration::from_millis(500);
