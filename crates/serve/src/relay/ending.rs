//! The end of a relay that was asked to stop: what was published before is delivered, then every client gets the end of
//! its protocol.
//!
//! | client | gets |
//! |---|---|
//! | WebSocket, including Socket.IO | the close code 1001 |
//! | SockJS | the frame `c[3000,"Go away!"]`, and the end of its response, or of its WebSocket with code 1001 |
//! | Socket.IO over polling | the packet `1` |
//! | one response of events, parts or chunks | the end of the response |
//! | a long poll | 204 |
//! | another request | 503 |
//!
//! If no connection receives for a session, its client may ask once more, and gets the waiting messages first. All this
//! takes at most [`DRAIN_MAX`].

use super::batch::Speaks;
use super::{Ending, Relay};
use engine::{Engine, Step};
use units::Nanos;
use wire::socketio::server::CLOSE;
use wire::sockjs::server::{self, Asked, Request};
use wire::{Kind, Message, Protocol, socketio};

impl Relay {
    /// Continues the end. `has_heard` if this step received anything.
    pub(super) fn end<E: Engine>(&mut self, engine: &mut E, has_heard: bool) -> Step {
        let now = engine.now();
        let since = match self.ending {
            Ending::NotAsked => {
                self.ending = Ending::Reads(now);
                return Step::Wait(now);
            }
            Ending::Reads(since) if has_heard && now.since(since) < READ_MAX => {
                return Step::Wait(now);
            }
            Ending::Reads(since) | Ending::SendsAway(since) => since,
        };
        self.ending = Ending::SendsAway(since);
        self.end_feeds(engine);
        let over_at = since + DRAIN_MAX;
        let next_delivery = self.next_look();
        if next_delivery > over_at {
            self.send_away(engine);
        }
        if now >= over_at || self.peers.all().next().is_none() {
            return Step::Done;
        }
        Step::Wait(next_delivery.min(over_at))
    }

    /// True once nothing new is accepted.
    pub(super) fn is_ending(&self) -> bool {
        matches!(self.ending, Ending::SendsAway(_))
    }

    /// True for a request that receives for an existing session.
    pub(super) fn receives_for_known(&self, request: &Request<'_>) -> bool {
        let name = match request.asked {
            Asked::Receive { session, .. } => Some(session),
            Asked::Nothing => match socketio::server::Asked::read(request) {
                Some(socketio::server::Asked::Poll { sid }) => Some(sid),
                Some(_) => None,
                None => request.tag.and_then(super::plain::name_in),
            },
            Asked::Iframe
            | Asked::Info
            | Asked::Post { .. }
            | Asked::Preflight { .. }
            | Asked::Wrong { .. } => None,
        };
        name.is_some_and(|name| self.sessions.named(name).is_some())
    }

    /// Sends away all clients that can be told now.
    fn send_away<E: Engine>(&mut self, engine: &mut E) {
        for number in self.sessions.numbers() {
            self.dismiss(engine, number);
        }
        let is_asked_again = !self.sessions.numbers().is_empty();
        let all = self.peers.all().filter(|peer| !peer.over);
        let all: Vec<_> = all
            .filter(|peer| match peer.state.speaks {
                Speaks::Requests | Speaks::Polls => !is_asked_again && !peer.machine.awaits_rest(),
                // The connection of an upgrade ends with its session.
                Speaks::Packets => peer.state.session.is_none(),
                Speaks::Stream(_) | Speaks::Frames | Speaks::Messages => true,
            })
            .map(|peer| (peer.id, peer.state.speaks))
            .collect();
        for (id, speaks) in all {
            self.write(engine, id, |machine, _origin, tx| match speaks {
                Speaks::Stream(stream) => server::end_stream(machine, stream, tx),
                Speaks::Frames => {
                    machine.send(Message { kind: Kind::Text, payload: GO_AWAY.as_bytes() }, tx)
                }
                Speaks::Messages | Speaks::Packets | Speaks::Polls | Speaks::Requests => Ok(()),
            });
            self.close_socket(engine, id);
        }
    }

    /// Ends a session and tells its client, if a connection receives for it.
    fn dismiss<E: Engine>(&mut self, engine: &mut E, number: u32) {
        let Some(session) = self.sessions.find(number) else { return };
        let Some(receiver) = session.receiver.as_ref().map(|receiver| receiver.id) else { return };
        let last = match (&session.socketio, &session.plain) {
            (Some(_), _) => Some(CLOSE),
            (None, Some(_)) => None,
            (None, None) => Some(GO_AWAY),
        };
        let is_socket = session.socket().is_some();
        if !is_socket {
            self.say_or_beat(engine, number, last);
        }
        if let Some(stream) = self.end_session(engine, number).filter(|_| !is_socket) {
            self.write(engine, stream, |machine, _origin, tx| server::end(machine, tx));
        }
        self.close_socket(engine, receiver);
    }
}

/// The last frame of a SockJS session, as in sockjs-node.
pub(super) const GO_AWAY: &str = "c[3000,\"Go away!\"]";

/// The longest time for reading what had arrived, while more keeps arriving.
const READ_MAX: Nanos = Nanos::from_millis(200);

/// The longest time from the request to stop to the end: servers of a lab have 2 s.
const DRAIN_MAX: Nanos = Nanos::from_millis(1500);
