//! The lobby's news for its subscribers: first all tables, some in each period, then the changes.

use super::dispatch::{Sender, World};
use super::lobby::Address;
use super::outbox::{Outbox, SessionId};
use super::refusal::Refusal;
use super::tables::table_id;
use std::borrow::Cow;
use units::Instant;
use wire::styx::packets::{
    LobbySubscribe, LobbyType, LobbyUnsubscribe, TableRemoved, TableSnapshot, TableSnapshotList,
    TableUpdate, TableUpdateList, TournamentSnapshotList,
};

impl World {
    /// Subscribes a session to a part of the lobby. Has no effect if it is already subscribed.
    pub(super) fn subscribe(
        &mut self,
        from: Sender,
        request: &LobbySubscribe<'_>,
        out: &mut impl Outbox,
    ) -> Result<(), Refusal> {
        if request.kind == LobbyType::Mtt {
            out.send(from.session, &TournamentSnapshotList { snapshots: Vec::new() }.into());
            return Ok(());
        }
        let address = Address::parse(&request.address, &self.tables).ok_or(Refusal::NotThere)?;
        let session = self.sessions.get_mut(from.session.0).ok_or(Refusal::NotThere)?;
        if session.subscriptions.contains(&address) {
            return Ok(());
        }
        if session.subscriptions.len() >= SUBSCRIPTIONS_MAX {
            return Err(Refusal::TooMuch);
        }
        session.subscriptions.push(address);
        let next = address.tables(&self.tables).start;
        let next = self.tell_tables(address, next, &[from.session], out);
        self.lobby.subscribe(address, from.session, next);
        if next.is_some() {
            self.schedule_lobby();
        }
        Ok(())
    }

    /// Ends [`World::subscribe`].
    pub(super) fn unsubscribe(&mut self, from: Sender, request: &LobbyUnsubscribe<'_>) {
        let Some(address) = Address::parse(&request.address, &self.tables) else { return };
        let Some(session) = self.sessions.get_mut(from.session.0) else { return };
        session.subscriptions.retain(|subscribed| *subscribed != address);
        self.lobby.unsubscribe(address, from.session);
    }

    /// Notes that the lobby's subscribers must be told of a table.
    pub(super) fn mark_changed(&mut self, index: u32) {
        let table = self.tables.at_mut(index);
        if !table.is_changed {
            table.is_changed = true;
            self.lobby.changed.push(index);
            self.schedule_lobby();
        }
    }

    /// Tells all subscribers what is new: each changed table once, and to newcomers some more of the existing tables.
    pub(super) fn tell_lobby(&mut self, out: &mut impl Outbox) {
        let mut changed = std::mem::take(&mut self.lobby.changed);
        changed.sort_unstable();
        let mut parts = std::mem::take(&mut self.lobby.parts);
        let mut has_newcomers = false;
        for (&address, part) in &mut parts {
            let followers: Vec<SessionId> = part.followers.iter().copied().collect();
            let range = address.tables(&self.tables);
            self.tell_changes(within(&changed, range.start, range.end), &followers, out);
            // Newcomers that have got equally far are told together, so that their packets are encoded once.
            let mut newcomers: Vec<_> = std::mem::take(&mut part.newcomers)
                .into_iter()
                .map(|(id, next)| (next, id))
                .collect();
            newcomers.sort_unstable();
            for group in newcomers.chunk_by(|(a, _), (b, _)| a == b) {
                let mut next = Some(group[0].0);
                let group: Vec<SessionId> = group.iter().map(|&(_, session)| session).collect();
                self.tell_changes(within(&changed, range.start, next.unwrap_or(0)), &group, out);
                for _ in 0..LISTS_PER_PERIOD {
                    let Some(table) = next else { break };
                    next = self.tell_tables(address, table, &group, out);
                }
                match next {
                    None => part.followers.extend(group),
                    Some(next) => part.newcomers.extend(group.into_iter().map(|id| (id, next))),
                }
            }
            has_newcomers |= !part.newcomers.is_empty();
        }
        self.lobby.parts = parts;
        self.lobby.due = Instant::NEVER;
        self.settle_changes(changed);
        if has_newcomers {
            self.schedule_lobby();
        }
    }

    /// The state of a table for the lobby.
    pub(super) fn snapshot(&self, index: u32) -> Option<TableSnapshot<'static>> {
        let table = self.tables.get(index)?;
        let tableid = table_id(index);
        Some(TableSnapshot {
            tableid,
            address: Cow::Owned(Address::of(index, &self.tables).to_string()),
            name: Cow::Owned(format!("Table {tableid}")),
            capacity: i16::try_from(table.seats.len()).unwrap_or(i16::MAX),
            seated: table.seated.into(),
            params: Vec::new(),
        })
    }

    /// Sends one list of tables from `next` on, empty if there are none. Returns the first table that is left.
    fn tell_tables(
        &mut self,
        address: Address,
        next: u32,
        to: &[SessionId],
        out: &mut impl Outbox,
    ) -> Option<u32> {
        let end = address.tables(&self.tables).end.min(self.tables.end());
        let stop = next.saturating_add(TABLES_PER_LIST).min(end);
        let snapshots: Vec<_> = (next..stop).filter_map(|index| self.snapshot(index)).collect();
        self.counters.lobby_snapshots += (snapshots.len() * to.len()) as u64;
        out.broadcast(to, &TableSnapshotList { snapshots }.into());
        (stop < end).then_some(stop)
    }

    /// Sends the changes of tables: updates, new tables, and removed tables.
    fn tell_changes(&mut self, changed: &[u32], to: &[SessionId], out: &mut impl Outbox) {
        if to.is_empty() {
            return;
        }
        for changed in changed.chunks(TABLES_PER_LIST as usize) {
            let (mut updates, mut snapshots) = (Vec::new(), Vec::new());
            for &index in changed {
                match self.tables.get(index) {
                    None => out.broadcast(to, &TableRemoved { tableid: table_id(index) }.into()),
                    Some(table) if table.is_known => updates.push(TableUpdate {
                        tableid: table_id(index),
                        seated: table.seated.into(),
                        ..TableUpdate::default()
                    }),
                    Some(_) => snapshots.extend(self.snapshot(index)),
                }
            }
            let told = changed.len() - snapshots.len();
            self.counters.lobby_updates += (told * to.len()) as u64;
            self.counters.lobby_snapshots += (snapshots.len() * to.len()) as u64;
            if !snapshots.is_empty() {
                out.broadcast(to, &TableSnapshotList { snapshots }.into());
            }
            if !updates.is_empty() {
                out.broadcast(to, &TableUpdateList { updates }.into());
            }
        }
    }

    /// Notes that all subscribers have been told: new tables are known now, and places of removed tables may be
    /// re-used.
    fn settle_changes(&mut self, mut changed: Vec<u32>) {
        for &index in &changed {
            let table = self.tables.at_mut(index);
            table.is_changed = false;
            table.is_known = true;
            if !table.exists {
                self.tables.release(index);
            }
        }
        changed.clear();
        self.lobby.changed = changed;
    }

    fn schedule_lobby(&mut self) {
        if self.lobby.due == Instant::NEVER {
            self.lobby.due = self.now + self.options.lobby_period;
        }
    }
}

/// The part of sorted tables from `start` to before `end`.
fn within(changed: &[u32], start: u32, end: u32) -> &[u32] {
    let from = changed.partition_point(|&index| index < start);
    let to = changed.partition_point(|&index| index < end.max(start));
    &changed[from..to]
}

/// The number of tables in one packet: well below 32 KiB, in JSON too.
const TABLES_PER_LIST: u32 = 100;

/// The number of lists of tables that a newcomer gets in one period: few enough that a large lobby fits into any
/// player's queue.
const LISTS_PER_PERIOD: u32 = 10;

/// The most parts of the lobby that a session may subscribe to.
const SUBSCRIPTIONS_MAX: usize = 8;
