//! Deliveries: a published message goes to all members of its room.
//!
//! The messages of one room that arrive in the same piece of a publisher's stream are gathered, and each receiver gets
//! them in one write: under a load too high for one write per message, the pieces grow and each delivery costs less.
//! This delays nothing: what arrived is delivered before anything else is read.

use super::Relay;
use super::batch::{Batch, Forms, Speaks, Texts};
use super::hub::{Seat, Who};
use super::late::Words;
use crate::peers::flush;
use engine::{ConnectionId, Engine};
use std::sync::Arc;
use wire::socketio::server::{binary_message, message as message_packet};
use wire::sockjs::server::{self, message_frame};
use wire::{Connection, Kind, Message, Protocol};

impl Relay {
    /// Sends `data` at once to all members of a room. Returns their number.
    pub(super) fn publish<E: Engine>(
        &mut self,
        engine: &mut E,
        room: &[u8],
        kind: Kind,
        data: &[u8],
    ) -> usize {
        self.deliver(engine);
        self.batch.begin(None, room);
        self.add(engine, kind, data, None);
        self.deliver(engine)
    }

    /// Adds `data` to the batch for all members of a room, to be sent together with what is published there next; the
    /// publisher then gets an acknowledgement, if there is a number. The caller must call [`deliver`](Self::deliver)
    /// before anything else happens.
    pub(super) fn gather<E: Engine>(
        &mut self,
        engine: &mut E,
        (publisher, number): (Option<ConnectionId>, Option<&[u8]>),
        room: &[u8],
        (kind, data): (Kind, &[u8]),
    ) {
        if !self.batch.takes(publisher, room) {
            self.deliver(engine);
            self.batch.begin(publisher, room);
        }
        self.add(engine, kind, data, number);
        if self.fate.is_some() {
            self.deliver(engine); // Faults are drawn for one message after another.
        }
    }

    /// Adds a message to the batch.
    fn add<E: Engine>(&mut self, engine: &E, kind: Kind, data: &[u8], number: Option<&[u8]>) {
        self.totals.published += 1;
        let (message, delivery) = self.batch.add(kind, data, number);
        let offset = self.recovery.next_offset();
        message.offset = offset;
        if self.recovery.is_on() || self.fate.is_some() {
            let words = Arc::new(Words { kind, bytes: delivery.into(), offset });
            message.words = Some(Arc::clone(&words));
            self.recovery.keep(&self.batch.room, &words, engine.now());
        }
    }

    /// Sends the batch to all members of its room, and acknowledges it. Returns the number of receivers of the last
    /// message.
    pub(super) fn deliver<E: Engine>(&mut self, engine: &mut E) -> usize {
        if self.batch.messages.is_empty() {
            return 0;
        }
        let mut batch = std::mem::take(&mut self.batch);
        if let Some(id) = batch.publisher {
            // Its earlier answers go before its deliveries.
            flush(engine, id, &mut self.tx, &mut self.totals.bytes_sent);
        }
        let mut texts = batch.texts();
        if let Some(room) = self.hub.find(&batch.room) {
            if self.fate.is_some() {
                self.let_all_wait(engine, room, &batch, &mut texts);
            } else {
                self.hand_over_to_all(engine, room, &mut texts);
            }
        }
        self.totals.delivered += texts.iter().map(|text| text.receivers as u64).sum::<u64>();
        self.drop_slow(engine);
        if self.fate.is_some() {
            let now = engine.now();
            self.hand_over_late(engine, now);
        }
        if let Some(id) = batch.publisher {
            for (message, text) in batch.messages.iter().zip(&texts) {
                let Some(number) = batch.number(message) else { continue };
                self.acknowledge(engine, Who::Socket(id), number, text.receivers);
            }
        }
        let receivers = texts.last().map_or(0, |text| text.receivers);
        batch.clear();
        self.batch = batch;
        receivers
    }

    /// Tells a publisher how many receivers its message had.
    pub(super) fn acknowledge<E: Engine>(
        &mut self,
        engine: &mut E,
        who: Who,
        number: &[u8],
        receivers: usize,
    ) {
        let receivers = receivers.to_string();
        self.answer(engine, who, &[b"published id=", number, b" receivers=", receivers.as_bytes()]);
    }

    /// Sends messages to all members of a room.
    fn hand_over_to_all<E: Engine>(&mut self, engine: &mut E, room: u32, texts: &mut [Texts<'_>]) {
        let mut forms = std::mem::take(&mut self.forms);
        forms.clear();
        let mut seat = Seat { room, member: 0 };
        while let Some((who, speaks)) = self.next_member(&mut seat) {
            if !self.hand_over(engine, (who, speaks), texts, &mut forms) {
                self.slow.push(who);
            }
        }
        self.forms = forms;
    }

    /// Queues messages for all members of a room.
    fn let_all_wait<E: Engine>(
        &mut self,
        engine: &E,
        room: u32,
        batch: &Batch,
        texts: &mut [Texts<'_>],
    ) {
        let now = engine.now();
        for (message, text) in batch.messages.iter().zip(texts) {
            let Some(words) = &message.words else { continue };
            let data = batch.data(message);
            let mut seat = Seat { room, member: 0 };
            while let Some((who, speaks)) = self.next_member(&mut seat) {
                text.receivers += usize::from(self.let_wait(who, speaks, words, data, now));
            }
        }
    }

    /// Returns the member at a seat, or at the next seat whose member still exists; advances the seat.
    fn next_member(&mut self, seat: &mut Seat) -> Option<(Who, Speaks)> {
        while let Some(who) = self.hub.member(*seat) {
            let Some(speaks) = self.speaks(who) else {
                self.vacate(*seat);
                continue;
            };
            seat.member += 1;
            return Some((who, speaks));
        }
        None
    }

    /// Sends messages to a member in one write, or gives their texts to a session that receives by answers to requests.
    /// Returns false for a member that does not read. Leaves out messages that the member cannot receive.
    pub(super) fn hand_over<E: Engine>(
        &mut self,
        engine: &mut E,
        (who, speaks): (Who, Speaks),
        texts: &mut [Texts<'_>],
        forms: &mut Forms,
    ) -> bool {
        let connection = match who {
            Who::Session(number, _) => self.socket_of(number),
            Who::Socket(id) => Some(id),
        };
        let to = match (connection, who) {
            (Some(to), _) | (None, Who::Socket(to)) => to,
            (None, Who::Session(number, _)) => {
                let namespace = self.sessions.namespace(who).to_owned();
                let Some(session) = self.sessions.find(number) else { return true };
                let mut has_any = false;
                for text in texts {
                    let Some(given) = text.for_session(speaks) else { continue };
                    session.add(&namespace, given);
                    text.receivers += 1;
                    has_any = true;
                }
                return !has_any || self.hand_out(engine, number);
            }
        };
        let Self { peers, sessions, stack, .. } = self;
        let namespace = sessions.namespace(who);
        let form = forms.of(speaks, namespace);
        if form.bytes.is_empty() || stack.has_layers() {
            let Some(peer) = peers.find(to) else { return true };
            form.clear();
            for text in texts.iter_mut() {
                let is_written =
                    encode(&mut peer.machine, speaks, namespace, text, &mut form.bytes);
                form.has.push(is_written);
            }
        }
        for (text, has) in texts.iter_mut().zip(&form.has) {
            text.receivers += usize::from(*has);
        }
        if form.bytes.is_empty() {
            return true;
        }
        engine.send(to, &form.bytes);
        self.totals.bytes_sent += form.bytes.len() as u64;
        engine.unsent(to) <= self.queue_max
    }
}

/// Appends a message in the form of a connection. Returns false if the message has no such form.
fn encode(
    machine: &mut Connection,
    speaks: Speaks,
    namespace: &str,
    texts: &mut Texts<'_>,
    form: &mut Vec<u8>,
) -> bool {
    let message = Message { kind: texts.kind, payload: texts.delivery };
    let offset = texts.offset;
    let written = match speaks {
        Speaks::Messages | Speaks::Polls | Speaks::Requests => machine.send(message, form),
        Speaks::Packets if message.kind == Kind::Binary => {
            let event = binary_message(namespace, offset);
            let event = Message { kind: Kind::Text, payload: event.as_bytes() };
            machine.send(event, form).and_then(|()| machine.send(message, form))
        }
        Speaks::Frames | Speaks::Packets => {
            let Some(json) = texts.json() else { return false };
            let text = if speaks == Speaks::Packets {
                message_packet(namespace, json, offset)
            } else {
                message_frame(json)
            };
            machine.send(Message { kind: Kind::Text, payload: text.as_bytes() }, form)
        }
        Speaks::Stream(stream) => {
            let Some(text) = texts.published() else { return false };
            server::append(machine, stream, text, form)
        }
    };
    written.is_ok()
}
