//! Output: the world's mail, with one write for each receiver, and the bytes of protocol machines.
//!
//! A player who does not read is dropped here, once more than [`Options::queue_max`](super::Options::queue_max) is
//! unsent.

use super::mail::Chain;
use super::server::GameServer;
use super::sessions::{Link, Packing, Place, Route};
use super::world::SessionId;
use crate::peers::flush;
use engine::{ConnectionId, Engine};
use wire::{Kind, Message, Protocol};

impl GameServer {
    /// Writes the bytes that the machine of a connection wants to send.
    pub(super) fn send_own<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        flush(engine, id, &mut self.tx, &mut self.totals.bytes_sent);
    }

    /// Writes all mail, with one write for each receiver, and the mail that this causes in turn.
    pub(super) fn post<E: Engine>(&mut self, engine: &mut E) {
        while !self.mail.is_empty() {
            let receivers = self.mail.take_receivers();
            for receiver in &receivers {
                self.post_to(engine, *receiver);
            }
            self.mail.clear(receivers);
            let now = engine.now();
            while let Some(session) = self.lost.pop() {
                self.lose(session, now);
            }
        }
        self.post_to_fronts(engine);
    }

    #[inline]
    fn post_to<E: Engine>(&mut self, engine: &mut E, receiver: SessionId) {
        let Some(session) = self.sessions.find(receiver) else { return };
        let (route, chain) = (session.route, std::mem::replace(&mut session.chain, Chain::EMPTY));
        match route {
            Route::Connection(id, packing) => {
                self.post_to_connection(engine, receiver, id, packing, chain);
            }
            Route::Comet(index) => self.post_to_client(engine, receiver, index, chain),
            Route::Front(front, guest) => self.post_to_guest(receiver, front, guest, chain),
        }
        if chain.ends {
            self.sessions.remove(receiver);
        }
    }

    #[inline]
    fn post_to_connection<E: Engine>(
        &mut self,
        engine: &mut E,
        receiver: SessionId,
        id: ConnectionId,
        packing: Packing,
        chain: Chain,
    ) {
        let Some(peer) = self.peers.find(id) else { return };
        let kind = match packing {
            Packing::Binary => Kind::Binary,
            Packing::Json => Kind::Text,
        };
        for payload in self.mail.packets(chain) {
            if peer.machine.send(Message { kind, payload }, &mut self.tx).is_ok() {
                self.totals.packets_sent += 1;
            }
        }
        if chain.ends {
            peer.state = Link::Done;
            peer.over = true;
            peer.machine.close(&mut self.tx);
        }
        self.send_own(engine, id);
        if chain.ends {
            self.peers.linger(engine, id);
        } else if chain.is_cut
            || engine.unsent(id) as u64 > self.options.queue_max.0
            || self.peers.holds_too_much(engine, id, 0)
        {
            self.totals.slow += 1;
            self.peers.close(engine, id);
            self.lost.push(receiver);
        }
    }

    fn post_to_client<E: Engine>(
        &mut self,
        engine: &mut E,
        receiver: SessionId,
        index: usize,
        chain: Chain,
    ) {
        let Some(client) = self.clients.get(index) else { return };
        let mut waiting = 0;
        for packet in self.mail.packets(chain) {
            waiting = client.push(packet);
            self.totals.packets_sent += 1;
        }
        if chain.ends {
            client.session = None;
        }
        let place = client.held.as_ref().map(|held| held.at);
        self.answer_held(engine, index);
        let unsent = match place {
            None => waiting,
            Some(Place::Here(id)) => engine.unsent(id),
            Some(Place::Front(front, guest)) => {
                self.fronts.ride(front, guest, receiver); // The front reports if this is too much.
                0
            }
        };
        if chain.is_cut || unsent as u64 > self.options.queue_max.0 {
            self.totals.slow += 1;
            match place {
                None => {}
                Some(Place::Here(id)) => self.peers.close(engine, id),
                Some(Place::Front(front, guest)) => self.drop_guest(front, guest),
            }
            if self.end_client(index).is_some() {
                self.lost.push(receiver);
            }
        }
    }
}
