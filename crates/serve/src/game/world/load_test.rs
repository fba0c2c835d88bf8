//! The load-test game: the response to each event goes to everybody at the table.
//!
//! A measurement consists of this, so nothing here allocates or looks beyond the table.

use super::deadlines::{Deadline, DelayedEvent};
use super::dispatch::{Sender, World};
use super::outbox::Outbox;
use super::refusal::Refusal;
use super::tables::{Table, table_id};
use std::borrow::Cow;
use units::Nanos;
use wire::styx::load_test::{LoadRequest, LoadResponse};
use wire::styx::packets::GameTransport;

impl World {
    /// Carries an event out, or keeps it until its delay is over. The events of one player are carried out one after
    /// another: each begins when the previous one is done. Other players do not wait for them.
    pub(super) fn event(
        &mut self,
        from: Sender,
        transport: &GameTransport<'_>,
        out: &mut impl Outbox,
    ) -> Result<(), Refusal> {
        let index = self.tables.find(transport.tableid).ok_or(Refusal::NotThere)?;
        let player = self.players.get(from.player).ok_or(Refusal::NotAtTable)?;
        let seat = player.seat_at(index).ok_or(Refusal::NotAtTable)?;
        let request = LoadRequest::unpack(&transport.gamedata).map_err(|_| Refusal::Malformed)?;
        let delay = Nanos::from_millis(u64::try_from(request.delay).unwrap_or_default());
        let delay = delay.min(self.options.delay_max);
        let (pid, now) = (player.pid, self.now);
        let table = self.tables.get_mut(index).ok_or(Refusal::NotThere)?;
        let sitter = table.sitter_mut(seat).ok_or(Refusal::NotAtTable)?;
        let event = DelayedEvent {
            table: index,
            seat,
            is_resent: request.resend,
            ticket: sitter.ticket,
            sequence: request.seq,
        };
        if delay == Nanos::ZERO && sitter.waiting == 0 {
            self.carry_out(event, pid, out);
            return Ok(());
        }
        if sitter.waiting >= WAITING_MAX {
            return Err(Refusal::TooMuch);
        }
        sitter.waiting += 1;
        sitter.busy_until = sitter.busy_until.max(now) + delay;
        let due = sitter.busy_until;
        self.deadlines.push(due, Deadline::Event(event));
        Ok(())
    }

    /// Carries out an event whose delay is over, if its sender still has the seat.
    pub(super) fn delay_over(&mut self, event: DelayedEvent, out: &mut impl Outbox) {
        let sitter =
            self.tables.get_mut(event.table).and_then(|table| table.sitter_mut(event.seat));
        let Some(sitter) = sitter.filter(|sitter| sitter.ticket == event.ticket) else {
            self.counters.events_dropped += 1;
            return;
        };
        sitter.waiting -= 1;
        let Some(player) = self.players.get(sitter.player) else { return };
        let pid = player.pid;
        self.carry_out(event, pid, out);
    }

    /// Checks the number of an event, and sends the response to the table.
    #[inline]
    fn carry_out(&mut self, event: DelayedEvent, pid: i32, out: &mut impl Outbox) {
        let Some(table) = self.tables.get_mut(event.table) else { return };
        match check(table, event) {
            Sequence::Next => {}
            Sequence::Resent => self.counters.resent += 1,
            Sequence::Wrong => self.counters.sequence_errors += 1,
        }
        let tableid = table_id(event.table);
        let response = LoadResponse { pid, tableid, seq: event.sequence, resend: event.is_resent };
        let gamedata = response.pack();
        let transport = GameTransport {
            tableid,
            pid,
            gamedata: Cow::Borrowed(&gamedata),
            attributes: Vec::new(),
        };
        self.counters.events += 1;
        self.counters.deliveries += table.listening as u64;
        self.counters.watched += (table.audience.len() - table.listening) as u64;
        out.broadcast(&table.audience, &transport.into());
    }
}

/// The relation of an event's number to that of the previous event.
enum Sequence {
    /// It is the next, or the first.
    Next,
    /// It is the same, and the client says so.
    Resent,
    Wrong,
}

fn check(table: &mut Table, event: DelayedEvent) -> Sequence {
    let Some(sitter) = table.sitter_mut(event.seat) else { return Sequence::Wrong };
    let last = sitter.sequence.replace(event.sequence);
    match last {
        Some(last) if event.is_resent && last == event.sequence => Sequence::Resent,
        None => Sequence::Next,
        Some(_) if event.sequence == FIRST => Sequence::Next,
        Some(last) if event.sequence == last.wrapping_add(1) => Sequence::Next,
        Some(_) => Sequence::Wrong,
    }
}

/// The number of a client's first event, also when the client begins anew.
const FIRST: i32 = 1;

/// The most events of one player that may wait for their time.
const WAITING_MAX: u16 = 64;
