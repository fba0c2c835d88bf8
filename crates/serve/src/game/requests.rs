//! Requests of Comet clients: each message of a request is carried out, and all are answered together.

use super::comet::{self, Asked};
use super::outgoing::Outgoing;
use super::server::{GameServer, take_text};
use super::sessions::{Link, Place, Route};
use super::world::SessionId;
use crate::peers::TX_LEN;
use engine::Engine;
use units::Instant;
use wire::bayeux::message::{self, Envelope, Writer};
use wire::{Event, Input, Kind, Message, Protocol};

/// Requests of Comet clients.
impl GameServer {
    /// Answers the request in `body`, or holds it if it is a connect without news.
    pub(super) fn request<E: Engine>(&mut self, engine: &mut E, at: Place, now: Instant) {
        self.totals.requests += 1;
        // Answers are sent in the order of requests: a connect that is held on this connection ends here.
        if let Link::Http { held_for: Some(client), .. } = self.link_of(at) {
            self.answer_held(engine, client);
        }
        self.link(at, Link::Http { heard_at: now, held_for: None });
        let body = std::mem::take(&mut self.body);
        match message::read(&body, &LIMITS) {
            Ok(batch) => self.batch(engine, at, &batch, now),
            Err(error) => {
                let mut writer = Writer::new(&mut self.answer);
                writer.push(&comet::not_a_batch(&error.to_string()));
                writer.finish();
                self.send_answer(engine, at);
            }
        }
        self.body = body;
        self.body.shrink_to(TX_LEN);
    }

    fn batch<E: Engine>(
        &mut self,
        engine: &mut E,
        at: Place,
        batch: &[Envelope<'_>],
        now: Instant,
    ) {
        let mut answers = Vec::with_capacity(batch.len());
        // The client whose packets go with the answer, and the client to forget after it.
        let (mut rider, mut leaver, mut connect) = (None, None, None);
        for envelope in batch {
            match self.clients.read(envelope, batch.len() == 1) {
                Asked::Answer(answer) => answers.push(answer),
                Asked::Session(answer) => answers.push(self.welcome(answer, now)),
                Asked::News { client, envelope, now: at_once } => {
                    self.answer_held(engine, client); // A client has one connect at a time.
                    rider = Some(client);
                    connect = Some((envelope, at_once));
                }
                Asked::Packet { client, json, answer } => {
                    answers.push(answer);
                    rider = rider.or(Some(client));
                    let session = self.clients.get(client).and_then(|client| client.session);
                    if let Some(session) = session {
                        let mut out =
                            Outgoing { mail: &mut self.mail, sessions: &mut self.sessions };
                        take_text(&mut self.world, session, json, now, &mut out);
                    }
                }
                Asked::End { client, answer } => {
                    answers.push(answer);
                    leaver = Some(client);
                }
            }
        }
        self.post(engine);
        let hold_max = self.options.hold_max;
        if let (Some((asked, at_once)), Some(index)) = (connect, rider)
            && let Some(client) = self.clients.get(index)
        {
            if !at_once && !client.has_news() {
                client.hold(at, now + hold_max, asked);
                return self.link(at, Link::Http { heard_at: now, held_for: Some(index) });
            }
            answers.push(client.news(asked, now, hold_max));
            if client.session.is_none() {
                leaver = Some(index); // This answer tells the client that.
            }
        }
        // The session is over, so a held connect is answered with that.
        let left = leaver.and_then(|index| self.clients.get(index)?.session.take());
        if let Some(index) = leaver {
            self.answer_held(engine, index);
        }
        let mut writer = Writer::new(&mut self.answer);
        if let Some(client) = rider.and_then(|index| self.clients.get(index))
            && client.held.is_none()
        {
            client.deliver(&mut writer);
        }
        for answer in &answers {
            writer.push(answer);
        }
        writer.finish();
        if let Some(index) = leaver {
            self.end_client(index);
        }
        if let Some(session) = left {
            self.lose(session, now);
        }
        self.send_answer(engine, at);
    }

    /// Makes a client and its session, and completes the answer that tells the client about them.
    fn welcome<'a>(&mut self, answer: Envelope<'a>, now: Instant) -> Envelope<'a> {
        let Some(index) = self.clients.insert(now) else { return comet::full(answer) };
        let session = self.world.connect(now);
        self.sessions.insert(session, Route::Comet(index));
        if let Some(client) = self.clients.get(index) {
            client.session = Some(session);
        }
        self.totals.sessions.comet += 1;
        comet::welcome(answer, self.clients.id(index), self.options.hold_max)
    }

    /// Answers the held connect of a client, if there is one. A client whose session is over is told so and forgotten.
    pub(super) fn answer_held<E: Engine>(&mut self, engine: &mut E, index: usize) {
        let Some(client) = self.clients.get(index) else { return };
        let Some(held) = client.held.take() else { return };
        let (now, at) = (engine.now(), held.at);
        client.answer_held(held, now, self.options.hold_max, &mut self.answer);
        if client.session.is_none() {
            self.clients.remove(index);
        }
        self.link(at, Link::Http { heard_at: now, held_for: None });
        self.send_answer(engine, at);
        let Place::Here(connection) = at else { return };
        // Checked here: no further input would show that this was the last answer on its connection.
        let last = self.peers.find(connection).is_some_and(|peer| {
            let over = peer.machine.receive(&mut Input::new(&mut []), &mut self.tx);
            matches!(over, Ok(Some(Event::Closed(_))))
        });
        if last {
            self.finish(engine, connection, now);
        }
    }

    /// Forgets a client and returns its session, if it still had one.
    pub(super) fn end_client(&mut self, index: usize) -> Option<SessionId> {
        self.clients.remove(index)?.session
    }

    /// Sends `answer` as the response to the oldest unanswered request.
    fn send_answer<E: Engine>(&mut self, engine: &mut E, at: Place) {
        match at {
            Place::Here(id) => {
                if let Some(peer) = self.peers.find(id) {
                    let message = Message { kind: Kind::Text, payload: &self.answer };
                    // A connection that closed meanwhile no longer waits for an answer.
                    peer.machine.send(message, &mut self.tx).ok();
                    self.send_own(engine, id);
                }
            }
            Place::Front(front, guest) => self.mail.bags[front].answer(guest, &self.answer),
        }
        self.answer.clear();
        self.answer.shrink_to(TX_LEN);
    }
}

/// The limits of one request of Bayeux.
const LIMITS: message::Limits = message::Limits { messages_max: 1024 };
