//! Chat, invitations, and questions about tables, players and the server.

use super::dispatch::{Sender, World};
use super::outbox::Outbox;
use super::refusal::Refusal;
use super::seating::ANY_SEAT;
use super::slab::Key;
use super::tables::{Seat, Table, table_id};
use std::borrow::Cow;
use wire::styx::packets::{
    InvitePlayersRequest, NotifyInvited, PlayerInfo, PlayerQueryRequest, PlayerQueryResponse,
    PlayerStatus, ResponseStatus, SeatInfo, SystemInfoResponse, TableChat, TableQueryRequest,
    TableQueryResponse,
};

impl World {
    /// Sends a chat message to everybody at the table, including its sender.
    pub(super) fn chat(
        &mut self,
        from: Sender,
        chat: &TableChat<'_>,
        out: &mut impl Outbox,
    ) -> Result<(), Refusal> {
        let index = self.tables.find(chat.tableid).ok_or(Refusal::NotThere)?;
        let player = self.players.get(from.player).ok_or(Refusal::NotAtTable)?;
        if player.seat_at(index).is_none() && !player.watching.contains(&index) {
            return Err(Refusal::NotAtTable);
        }
        if chat.message.len() > CHAT_LEN_MAX {
            return Err(Refusal::TooMuch);
        }
        let table = self.tables.get(index).ok_or(Refusal::NotThere)?;
        let message = Cow::Borrowed(&*chat.message);
        let said = TableChat { tableid: chat.tableid, pid: player.pid, message };
        out.broadcast(&table.audience, &said.into());
        self.counters.chat += 1;
        Ok(())
    }

    /// Sends invitations to a table at which the player sits.
    pub(super) fn invite(
        &self,
        from: Sender,
        request: &InvitePlayersRequest,
        out: &mut impl Outbox,
    ) -> Result<(), Refusal> {
        let index = self.tables.find(request.tableid).ok_or(Refusal::NotThere)?;
        let player = self.players.get(from.player).ok_or(Refusal::NotAtTable)?;
        player.seat_at(index).ok_or(Refusal::NotAtTable)?;
        if request.invitees.len() > INVITEES_MAX {
            return Err(Refusal::TooMuch);
        }
        self.tell_invited(from.player, index, &request.invitees, out);
        Ok(())
    }

    /// Tells the invited players who are connected, up to the limit.
    pub(super) fn tell_invited(
        &self,
        inviter: Key,
        table: u32,
        invitees: &[i32],
        out: &mut impl Outbox,
    ) {
        let Some(player) = self.players.get(inviter) else { return };
        for &pid in invitees.iter().take(INVITEES_MAX) {
            let invitee = self.players.find(pid).and_then(|key| self.players.get(key));
            let Some(session) = invitee.and_then(|invitee| invitee.session) else { continue };
            let notice = NotifyInvited {
                inviter: player.pid,
                screenname: Cow::Borrowed(&player.nick),
                tableid: table_id(table),
                seat: ANY_SEAT,
            };
            out.send(session, &notice.into());
        }
    }

    /// Answers with the players at a table.
    pub(super) fn query_table(
        &self,
        from: Sender,
        request: &TableQueryRequest,
        out: &mut impl Outbox,
    ) {
        let tableid = request.tableid;
        let table = self.tables.find(tableid).and_then(|index| self.tables.get(index));
        let response = match table {
            None => {
                let status = ResponseStatus::Denied;
                TableQueryResponse { tableid, status, seats: Vec::new() }
            }
            Some(table) => {
                let seats = self.seat_infos(tableid, table);
                TableQueryResponse { tableid, status: ResponseStatus::Ok, seats }
            }
        };
        out.send(from.session, &response.into());
    }

    /// Answers with the name of a player.
    pub(super) fn query_player(
        &self,
        from: Sender,
        request: &PlayerQueryRequest,
        out: &mut impl Outbox,
    ) {
        let pid = request.pid;
        let player = self.players.find(pid).and_then(|key| self.players.get(key));
        let (status, nick) = match player {
            None => (ResponseStatus::Denied, ""),
            Some(player) => (ResponseStatus::Ok, &*player.nick),
        };
        let (nick, data) = (Cow::Borrowed(nick), Cow::Borrowed(&[][..]));
        out.send(from.session, &PlayerQueryResponse { pid, nick, status, data }.into());
    }

    /// Answers with the number of players.
    pub(super) fn query_system(&self, from: Sender, out: &mut impl Outbox) {
        let players = i32::try_from(self.counters().players).unwrap_or(i32::MAX);
        out.send(from.session, &SystemInfoResponse { players, params: Vec::new() }.into());
    }

    fn seat_infos(&self, tableid: i32, table: &Table) -> Vec<SeatInfo<'_>> {
        let infos = table.seats.iter().zip(0..).filter_map(|(seat, number)| {
            let (key, is_reserved) = match seat {
                Seat::Free => return None,
                Seat::Reserved(key) => (*key, true),
                Seat::Taken(sitter) => (sitter.player, false),
            };
            let player = self.players.get(key)?;
            let status = match player.session {
                _ if is_reserved => PlayerStatus::Reservation,
                Some(_) => PlayerStatus::Connected,
                None => PlayerStatus::WaitingRejoin,
            };
            let nick = Cow::Borrowed(&*player.nick);
            let player = PlayerInfo { pid: player.pid, nick, details: Vec::new() };
            Some(SeatInfo { tableid, seat: number, status, player })
        });
        infos.collect()
    }
}

/// The longest chat message, in bytes: at a full table with all its watchers, it is passed on 191 times.
const CHAT_LEN_MAX: usize = 1024;

/// The most players that may be invited at once.
const INVITEES_MAX: usize = 32;
