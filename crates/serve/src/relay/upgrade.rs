//! Clients that speak Socket.IO over WebSocket, from the first packet on or after polling.
//!
//! ```text
//!            a WebSocket with `sid`          2probe: 3probe, and 6 to a poll            5
//! polls ------------------------> tried --------------------------------> probed ---------> over WebSocket
//!   ^                               |                                        |
//!   +-------------------------------+----------------------------------------+
//!     it ends, says anything else, or is not done within 10 s: it is closed
//! ```
//!
//! Until the last step the session polls: published messages answer polls, or wait.

use super::Relay;
use super::sessions::Upgrade;
use engine::{ConnectionId, Engine};
use units::Instant;
use wire::socketio::Entry;
use wire::socketio::server::{NOOP, PROBE, PROBED, SOCKET, Said, UPGRADE};
use wire::{Kind, Message, Protocol};

impl Relay {
    /// Handles a WebSocket that was opened at an address of Socket.IO.
    pub(super) fn enter<E: Engine>(&mut self, engine: &mut E, id: ConnectionId, entry: &Entry) {
        let may_enter = match entry {
            Entry::Open => self.open_session(engine, id, SOCKET),
            Entry::Upgrade { sid } => self.begin_upgrade(id, sid, engine.now()),
            Entry::Wrong => false,
        };
        if !may_enter {
            self.totals.refused += 1;
            self.close_socket(engine, id);
        }
    }

    /// Begins the upgrade of a session to a connection. Returns false if there is no such session, or it already has a
    /// WebSocket or an upgrade.
    fn begin_upgrade(&mut self, id: ConnectionId, sid: &str, since: Instant) -> bool {
        let Some(number) = self.session_of_socketio(sid) else { return false };
        let Some(session) = self.sessions.find(number) else { return false };
        let is_free = session.socket().is_none();
        let Some(state) = session.socketio.as_mut().filter(|it| is_free && it.upgrade.is_none())
        else {
            return false;
        };
        state.upgrade = Some(Upgrade { id, since, is_probed: false });
        if let Some(peer) = self.peers.find(id) {
            peer.state.session = Some(number);
        }
        true
    }

    /// Handles a message over WebSocket: a packet, or a step of the upgrade.
    pub(super) fn packet<E: Engine>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        kind: Kind,
        packet: &[u8],
    ) {
        let Some(number) = self.session_of(id) else { return };
        let Some(session) = self.sessions.find(number) else { return };
        let is_text = kind == Kind::Text;
        if let Some(state) = &mut session.socketio
            && let Some(upgrade) = &mut state.upgrade
        {
            match packet {
                PROBE if is_text => {
                    upgrade.is_probed = true;
                    self.write(engine, id, |machine, _origin, tx| {
                        machine.send(Message { kind, payload: PROBED.as_bytes() }, tx)
                    });
                    self.say(engine, number, NOOP);
                }
                UPGRADE if is_text && upgrade.is_probed => {
                    self.end_upgrade(number);
                    self.attach(engine, id, number, SOCKET);
                }
                _ => self.give_up_upgrade(engine, number),
            }
            return;
        }
        let said = match kind {
            Kind::Binary => Some(Said::Attachment(packet.into())),
            Kind::Text => str::from_utf8(packet).ok().and_then(Said::read),
        };
        match said {
            Some(said) => self.understand_packet(engine, number, said),
            None => self.break_off(engine, number),
        };
    }

    /// Ends an upgrade, in whatever way. Returns the connection of the upgrade.
    pub(super) fn end_upgrade(&mut self, number: u32) -> Option<ConnectionId> {
        let upgrade = self.sessions.find(number)?.socketio.as_mut()?.upgrade.take()?;
        if let Some(peer) = self.peers.find(upgrade.id) {
            peer.state.session = None;
        }
        Some(upgrade.id)
    }

    /// Gives up an upgrade that cannot be completed, and closes its connection.
    pub(super) fn give_up_upgrade<E: Engine>(&mut self, engine: &mut E, number: u32) {
        if let Some(id) = self.end_upgrade(number) {
            self.totals.broken += 1;
            self.close_socket(engine, id);
        }
    }

    /// Closes a connection properly; no session receives over it any more.
    pub(super) fn close_socket<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        let is_ending = self.is_ending();
        self.write(engine, id, |machine, _origin, tx| {
            if is_ending {
                machine.go_away(tx)
            } else {
                machine.close(tx)
            };
            Ok(())
        });
        if let Some(peer) = self.peers.find(id).filter(|peer| !peer.over) {
            peer.over = true;
            peer.state.session = None;
            self.peers.linger(engine, id);
        }
    }
}
