//! The server's side of its fronts: their frames become calls of the world, and its mail becomes frames for them.

use super::fronts::{Front, Visitor};
use super::link::{Guest, Mailbag, Up};
use super::mail::Chain;
use super::outgoing::Outgoing;
use super::server::{GameServer, MAIL_LEN_MAX, take_binary};
use super::sessions::{Link, Packing, Place, Route};
use super::totals::Totals;
use super::world::SessionId;
use crate::peers::TX_LEN;
use engine::{ConnectionId, Engine};
use units::Instant;
use wire::{Event, Input, Message, Protocol};

/// The next step before more input of a front is processed.
enum Then {
    /// Nothing: all input is processed.
    Nothing,
    /// Sends the mail, because there is much of it.
    Post,
    Begin(Guest),
    /// Answers the request in `body`.
    Request(Guest),
    Late(Guest),
    Gone(Guest),
    /// Ends the front's connection: it sent a malformed frame.
    Nonsense,
}

impl GameServer {
    /// The totals of this thread plus the last reports of its fronts, which arrive ten times a second.
    pub fn totals_with_fronts(&self) -> Totals {
        self.fronts.all.iter().fold(self.totals(), |totals, front| totals.and(&front.totals))
    }

    /// Adds a new front.
    pub(super) fn let_in(&mut self, id: ConnectionId) {
        self.fronts.all.push(Front::new(id));
        self.mail.bags.push(Mailbag::default());
    }

    /// Forgets a front that has left; all players who were connected through it are gone.
    pub(super) fn front_left<E: Engine>(&mut self, engine: &mut E, front: usize, now: Instant) {
        if let Some(id) = self.fronts.all[front].connection.take() {
            engine.close(id);
        }
        for visitor in std::mem::take(&mut self.fronts.all[front].visitors).into_iter().flatten() {
            self.leave(Place::Front(front, visitor.guest), visitor.link, now);
        }
    }

    /// Processes the frames of a front in `rx`.
    pub(super) fn front_said<E: Engine>(&mut self, engine: &mut E, front: usize, len: usize) {
        let now = engine.now();
        let mut left = len;
        loop {
            let then;
            (left, then) = self.read_front(front, len - left, len, now);
            match then {
                Then::Nothing => return,
                Then::Post => self.post(engine),
                Then::Begin(guest) => {
                    let session = self.world.connect(now);
                    self.sessions.insert(session, Route::Front(front, guest));
                    self.fronts.all[front].greet(guest).link =
                        Link::Session(session, Packing::Binary);
                }
                Then::Request(guest) => {
                    self.fronts.all[front].greet(guest);
                    self.request(engine, Place::Front(front, guest), now);
                }
                Then::Late(guest) => self.late(front, guest, now),
                Then::Gone(guest) => {
                    if let Some(visitor) = self.fronts.forget(front, guest) {
                        self.leave(Place::Front(front, guest), visitor.link, now);
                    }
                }
                Then::Nonsense => return self.front_left(engine, front, now),
            }
        }
    }

    /// Processes `rx` from `taken` to `len`, up to the first input that concerns more than the world. Returns the
    /// number of bytes left, and the next step.
    fn read_front(
        &mut self,
        front: usize,
        taken: usize,
        len: usize,
        now: Instant,
    ) -> (usize, Then) {
        let front = &mut self.fronts.all[front];
        let mut input = Input::new(&mut self.rx[taken..len]);
        let mut out = Outgoing { mail: &mut self.mail, sessions: &mut self.sessions };
        let then = loop {
            if out.mail.len() > MAIL_LEN_MAX {
                break Then::Post;
            }
            let frame = match front.machine.receive(&mut input, &mut self.tx) {
                Ok(None) => break Then::Nothing,
                Ok(Some(Event::Message(Message { payload, .. }))) => payload,
                Ok(Some(_)) | Err(_) => break Then::Nonsense,
            };
            let session =
                |guest: Guest| match front.visitors.get(guest.index()) {
                    Some(Some(Visitor {
                        guest: found, link: Link::Session(session, _), ..
                    })) if *found == guest => Some(*session),
                    Some(_) | None => None,
                };
            match Up::read(frame) {
                Some(Up::Packet(guest, packet)) => {
                    if let Some(session) = session(guest) {
                        take_binary(&mut self.world, session, packet, now, &mut out);
                    }
                }
                Some(Up::Malformed(guest, class_id)) => {
                    if let Some(session) = session(guest) {
                        self.world.malformed(session, class_id, now, &mut out);
                    }
                }
                Some(Up::Post(guest, body)) => {
                    self.body.clear();
                    self.body.extend_from_slice(body);
                    break Then::Request(guest);
                }
                Some(Up::Begin(guest)) => break Then::Begin(guest),
                Some(Up::Late(guest)) => break Then::Late(guest),
                Some(Up::Gone(guest)) => break Then::Gone(guest),
                Some(Up::Totals(totals)) => front.totals = *totals,
                None => break Then::Nonsense,
            }
        };
        (input.len(), then)
    }

    /// Handles a Comet client to which more of the last answer is unsent than is allowed.
    fn late(&mut self, front: usize, guest: Guest, now: Instant) {
        let rode = self.fronts.visitor(front, guest).and_then(|visitor| visitor.rode);
        let Some(session) = rode else { return };
        let Some(Route::Comet(index)) = self.sessions.find(session).map(|found| found.route) else {
            return;
        };
        self.totals.slow += 1;
        self.drop_guest(front, guest);
        self.end_client(index);
        self.lose(session, now);
    }

    /// Makes a front cut a connection, which is forgotten here.
    pub(super) fn drop_guest(&mut self, front: usize, guest: Guest) {
        self.fronts.forget(front, guest);
        self.mail.bags[front].drop(guest);
    }

    /// Sends a front the end or cut in the mail of a session. The packets are in the front's bag already.
    pub(super) fn post_to_guest(
        &mut self,
        receiver: SessionId,
        front: usize,
        guest: Guest,
        chain: Chain,
    ) {
        if chain.ends {
            self.fronts.forget(front, guest);
            self.mail.bags[front].close(guest);
        } else if chain.is_cut {
            self.totals.slow += 1;
            self.drop_guest(front, guest);
            self.lost.push(receiver);
        }
    }

    /// Sends each front the content of its bag.
    #[inline]
    pub(super) fn post_to_fronts<E: Engine>(&mut self, engine: &mut E) {
        let unsent_max = self.options.queue_max.0.saturating_mul(FRONT_QUEUES_MAX);
        for (front, bag) in self.fronts.all.iter().zip(&mut self.mail.bags) {
            let Some(id) = front.connection else {
                bag.bytes.clear(); // The receiver is gone.
                continue;
            };
            if !bag.bytes.is_empty() {
                engine.send(id, &bag.bytes);
                bag.bytes.clear();
                bag.bytes.shrink_to(TX_LEN);
            }
            bag.is_full = engine.unsent(id) as u64 > unsent_max;
        }
    }
}

/// The multiple of [`Options::queue_max`](super::Options::queue_max) that may be unsent for a front before more for any
/// of its players is too much: one player may have it once, and a front has many players.
const FRONT_QUEUES_MAX: u64 = 256;
