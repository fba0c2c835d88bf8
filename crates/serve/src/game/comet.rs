//! Clients of Bayeux: their ids, their waiting packets, and the answers to them (Bayeux 1.0, long-polling).
//!
//! A client is not a connection: its requests may arrive over any. A publish is answered at once; the world's packets
//! for the client ride on its held connect, or on the next answer to it. Left out: channels other than
//! `/service/client`, cookies, and the meaning of packets.

use super::sessions::Place;
use super::world::SessionId;
use units::{Instant, Nanos, Random};
use wire::bayeux::message::{
    Advice, CONNECT, DISCONNECT, Envelope, HANDSHAKE, LONG_POLLING, Reconnect, SERVICE, SUBSCRIBE,
    Text, UNSUBSCRIBE, Writer,
};

/// All clients, at the index that their id names.
#[derive(Debug)]
pub(super) struct Clients {
    all: Vec<Option<Box<Client>>>,
    free: Vec<usize>,
    random: Random,
}

/// A client, from its handshake on.
#[derive(Debug)]
pub(super) struct Client {
    /// The part of its id that cannot be guessed.
    nonce: u64,
    /// Its session in the world, until that ends.
    pub(super) session: Option<SessionId>,
    /// Its connect that waits for news.
    pub(super) held: Option<Held>,
    /// The instant of the last answer to a connect, or to the handshake.
    pub(super) away_since: Instant,
    has_connected: bool,
    queue: Queue,
}

/// A connect without an answer yet.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) at: Place,
    pub(super) until: Instant,
    /// The id of the request.
    id: Option<Text<'static>>,
}

/// Packets, as JSON, that wait for an answer to ride on.
#[derive(Debug, Default)]
struct Queue {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// The action that a client's message requires of the server.
pub(super) enum Asked<'a> {
    /// Nothing but this answer.
    Answer(Envelope<'a>),
    /// A session for a new client.
    Session(Envelope<'a>),
    /// An answer with news, once there are any; at once if `now` is set.
    News { client: usize, envelope: &'a Envelope<'a>, now: bool },
    /// The client sends a packet to the world, and gets this answer.
    Packet { client: usize, json: &'a [u8], answer: Envelope<'a> },
    /// The client ends its session, and gets this answer.
    End { client: usize, answer: Envelope<'a> },
}

impl Clients {
    pub(super) fn new(seed: u64) -> Self {
        Self { all: Vec::new(), free: Vec::new(), random: Random::new(seed) }
    }

    /// Makes a client. Returns its index; `None` if there are too many.
    pub(super) fn insert(&mut self, now: Instant) -> Option<usize> {
        let client = Box::new(Client {
            nonce: self.random.next_u64(),
            session: None,
            held: None,
            away_since: now,
            has_connected: false,
            queue: Queue::default(),
        });
        if let Some(index) = self.free.pop() {
            self.all[index] = Some(client);
            return Some(index);
        }
        if self.all.len() == CLIENTS_MAX {
            return None;
        }
        self.all.push(Some(client));
        Some(self.all.len() - 1)
    }

    pub(super) fn get(&mut self, index: usize) -> Option<&mut Client> {
        self.all.get_mut(index)?.as_deref_mut()
    }

    pub(super) fn remove(&mut self, index: usize) -> Option<Box<Client>> {
        let client = self.all.get_mut(index)?.take()?;
        self.free.push(index);
        Some(client)
    }

    /// The number of clients, and an upper bound of their indices.
    pub(super) fn len(&self) -> (usize, usize) {
        (self.all.len() - self.free.len(), self.all.len())
    }

    /// The id of the client with this index.
    pub(super) fn id(&self, index: usize) -> String {
        let nonce = self.all[index].as_ref().map_or(0, |client| client.nonce);
        format!("{nonce:016x}{index:x}")
    }

    /// The index of the client with the id `id`.
    fn find(&mut self, id: &str) -> Option<usize> {
        let (nonce, index) = id.split_at_checked(16)?;
        let nonce = u64::from_str_radix(nonce, 16).ok()?;
        let index = usize::from_str_radix(index, 16).ok()?;
        self.get(index).filter(|client| client.nonce == nonce).map(|_| index)
    }

    /// Reads the message in `envelope`; `is_alone` if its HTTP request contains nothing else: only then is a connect
    /// held.
    pub(super) fn read<'a>(&mut self, envelope: &'a Envelope<'a>, is_alone: bool) -> Asked<'a> {
        let channel = &*envelope.channel;
        if channel == HANDSHAKE {
            return handshake(envelope);
        }
        let found = envelope.client_id.as_deref().and_then(|id| self.find(id));
        let Some((index, client)) = found.and_then(|index| Some((index, self.get(index)?))) else {
            let advice =
                Advice { reconnect: Some(Reconnect::Handshake), interval: Some(0), timeout: None };
            let answer = refused(envelope, "402::Unknown client");
            return Asked::Answer(Envelope { advice: Some(advice), ..answer });
        };
        match channel {
            CONNECT => {
                let wants_now = envelope.advice.is_some_and(|advice| advice.timeout == Some(0));
                let is_first = !std::mem::replace(&mut client.has_connected, true);
                let now = wants_now || is_first || !is_alone || client.has_news();
                Asked::News { client: index, envelope, now }
            }
            DISCONNECT => Asked::End { client: index, answer: done(envelope) },
            SUBSCRIBE | UNSUBSCRIBE => Asked::Answer(subscription(envelope)),
            SERVICE => match envelope.data {
                Some(data) if client.session.is_some() => {
                    let (json, answer) = (data.get().as_bytes(), done(envelope));
                    Asked::Packet { client: index, json, answer }
                }
                Some(_) => Asked::Answer(refused(envelope, "402::Session is over")),
                None => Asked::Answer(refused(envelope, "400::No data")),
            },
            meta if meta.starts_with("/meta/") => {
                Asked::Answer(refused(envelope, format!("404:{meta}:Unknown meta channel")))
            }
            other => Asked::Answer(refused(envelope, format!("403:{other}:Publish denied"))),
        }
    }
}

impl Client {
    /// Adds `packet`, as JSON, to the next answer. Returns the number of bytes that wait now.
    pub(super) fn push(&mut self, packet: &[u8]) -> usize {
        self.queue.bytes.extend_from_slice(packet);
        self.queue.ends.push(self.queue.bytes.len());
        self.queue.bytes.len()
    }

    /// True if there is news for the client: packets, or the end of its session.
    pub(super) fn has_news(&self) -> bool {
        !self.queue.ends.is_empty() || self.session.is_none()
    }

    /// Holds a connect until there is news.
    pub(super) fn hold(&mut self, at: Place, until: Instant, asked: &Envelope<'_>) {
        let id = asked.id.clone().map(Text::into_owned);
        self.held = Some(Held { at, until, id });
    }

    /// Writes the answer to the held connect, after all waiting packets.
    pub(super) fn answer_held(&mut self, held: Held, now: Instant, max: Nanos, out: &mut Vec<u8>) {
        let asked = Envelope { channel: CONNECT.into(), id: held.id, ..Envelope::default() };
        let mut writer = Writer::new(out);
        self.deliver(&mut writer);
        writer.push(&self.news(&asked, now, max));
        writer.finish();
    }

    /// Returns the answer to a connect, which goes after the waiting packets.
    pub(super) fn news<'a>(
        &mut self,
        asked: &'a Envelope<'a>,
        now: Instant,
        hold_max: Nanos,
    ) -> Envelope<'a> {
        self.away_since = now;
        let reconnect = if self.session.is_some() { Reconnect::Retry } else { Reconnect::None };
        Envelope { advice: Some(advice(reconnect, hold_max)), ..done(asked) }
    }

    /// Writes all waiting packets.
    pub(super) fn deliver(&mut self, writer: &mut Writer<'_>) {
        let mut start = 0;
        for end in self.queue.ends.drain(..) {
            writer.deliver(&self.queue.bytes[start..end]);
            start = end;
        }
        self.queue = Queue::default(); // A client that waits for news needs no buffer.
    }
}

/// The answer to a body that is not a batch.
pub(super) fn not_a_batch(reason: &str) -> Envelope<'static> {
    Envelope {
        channel: "/meta".into(),
        successful: Some(false),
        error: Some(format!("400::{reason}").into()),
        ..Envelope::default()
    }
}

/// The answer to a handshake, for the client that it makes.
pub(super) fn welcome<'a>(answer: Envelope<'a>, id: String, hold_max: Nanos) -> Envelope<'a> {
    Envelope {
        client_id: Some(id.into()),
        advice: Some(advice(Reconnect::Retry, hold_max)),
        ..answer
    }
}

/// The answer to a handshake when there are too many clients.
pub(super) fn full<'a>(answer: Envelope<'a>) -> Envelope<'a> {
    Envelope {
        successful: Some(false),
        error: Some("503::Too many clients".into()),
        advice: Some(Advice { reconnect: Some(Reconnect::None), interval: None, timeout: None }),
        ..answer
    }
}

fn handshake<'a>(asked: &'a Envelope<'a>) -> Asked<'a> {
    let offered = asked.supported_connection_types.as_deref().unwrap_or_default();
    let answer = Envelope {
        version: Some("1.0".into()),
        supported_connection_types: Some(vec![LONG_POLLING.into()]),
        ..done(asked)
    };
    if offered.iter().any(|kind| &**kind == LONG_POLLING) {
        return Asked::Session(answer);
    }
    let error = Some("400::Only long-polling is spoken here".into());
    let advice = Advice { reconnect: Some(Reconnect::None), interval: None, timeout: None };
    Asked::Answer(Envelope { successful: Some(false), error, advice: Some(advice), ..answer })
}

/// Answers a subscribe or an unsubscribe: only one channel is possible.
fn subscription<'a>(asked: &'a Envelope<'a>) -> Envelope<'a> {
    let channels = asked.subscription.as_ref().map_or(&[][..], |channels| &channels.0);
    let denied = channels.iter().find(|channel| &***channel != SERVICE);
    let answer = match denied {
        Some(channel) => refused(asked, format!("403:{channel}:Subscription denied")),
        None if channels.is_empty() => refused(asked, "400::No subscription"),
        None => done(asked),
    };
    Envelope { subscription: asked.subscription.clone(), ..answer }
}

fn done<'a>(asked: &'a Envelope<'a>) -> Envelope<'a> {
    Envelope {
        channel: Text::from(&*asked.channel),
        id: asked.id.as_deref().map(Text::from),
        successful: Some(true),
        ..Envelope::default()
    }
}

fn refused<'a>(asked: &'a Envelope<'a>, error: impl Into<Text<'a>>) -> Envelope<'a> {
    Envelope { successful: Some(false), error: Some(error.into()), ..done(asked) }
}

fn advice(reconnect: Reconnect, hold_max: Nanos) -> Advice {
    let timeout = i64::try_from(hold_max.0 / 1_000_000).ok();
    Advice { reconnect: Some(reconnect), interval: Some(0), timeout }
}

/// The most clients at a time.
const CLIENTS_MAX: usize = 100_000;
