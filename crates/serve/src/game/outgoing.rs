//! The world's outbox: each packet goes into the mail, by the routes of its receivers.

use super::mail::{LEN_MAX, Mail};
use super::sessions::{Packing, Route, Sessions};
use super::world::{Outbox, SessionId};
use wire::styx::Packet;

/// The outbox into which the world puts its packets.
pub(super) struct Outgoing<'a> {
    pub(super) mail: &'a mut Mail,
    pub(super) sessions: &'a mut Sessions,
}

impl Outbox for Outgoing<'_> {
    fn send(&mut self, to: SessionId, packet: &Packet<'_>) {
        self.broadcast(&[to], packet);
    }

    #[inline]
    fn broadcast(&mut self, to: &[SessionId], packet: &Packet<'_>) {
        let (mut binary, mut json) = (None, None);
        for id in to {
            let Some(session) = self.sessions.find(*id) else { continue };
            if self.mail.len() > LEN_MAX {
                session.chain.is_cut = true;
                self.mail.note(*id, &mut session.chain);
                continue;
            }
            let packed = match session.route {
                Route::Connection(_, Packing::Binary) => binary
                    .get_or_insert_with(|| self.mail.pack(|bytes| packet.encode(bytes)))
                    .clone(),
                Route::Connection(_, Packing::Json) | Route::Comet(_) => json
                    .get_or_insert_with(|| self.mail.pack(|bytes| packet.write_json(bytes)))
                    .clone(),
                Route::Front(front, guest) => {
                    match &mut self.mail.bags[front] {
                        bag if bag.is_full => {
                            session.chain.is_cut = true;
                            self.mail.note(*id, &mut session.chain);
                        }
                        bag => bag.address(guest),
                    }
                    continue;
                }
            };
            self.mail.add(*id, &mut session.chain, packed);
        }
        for bag in &mut self.mail.bags {
            bag.enclose(|bytes| packet.encode(bytes));
        }
    }

    fn close(&mut self, session: SessionId) {
        if let Some(found) = self.sessions.find(session) {
            found.chain.ends = true;
            self.mail.note(session, &mut found.chain);
        }
    }
}
