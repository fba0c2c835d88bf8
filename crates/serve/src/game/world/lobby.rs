//! The lobby: the tree of addresses, and the subscribers of each.

use super::outbox::SessionId;
use super::tables::Tables;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use units::Instant;

/// A part of the lobby: a range of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Address {
    /// `/`: all tables.
    Root,
    /// `/load`: the tables that exist from the start.
    Load,
    /// `/load/3`: a hundred of these tables.
    Hundred(u32),
    /// `/made`: the tables that players made.
    Made,
}

impl Address {
    /// Reads an address; `None` if the tree has no such address. A slash at the end makes no difference.
    pub(super) fn parse(text: &str, tables: &Tables) -> Option<Self> {
        let text = text.strip_suffix('/').unwrap_or(text);
        match text {
            "" => Some(Self::Root),
            "/load" => Some(Self::Load),
            "/made" => Some(Self::Made),
            text => {
                let number = text.strip_prefix("/load/")?.parse().ok()?;
                (number < tables.standing().div_ceil(HUNDRED)).then_some(Self::Hundred(number))
            }
        }
    }

    /// The address of a table.
    pub(super) const fn of(table: u32, tables: &Tables) -> Self {
        if table < tables.standing() { Self::Hundred(table / HUNDRED) } else { Self::Made }
    }

    /// The indices of its tables, including those that may yet be made.
    pub(super) fn tables(self, tables: &Tables) -> Range<u32> {
        let standing = tables.standing();
        match self {
            Self::Root => 0..u32::MAX,
            Self::Load => 0..standing,
            Self::Hundred(number) => number * HUNDRED..(number * HUNDRED + HUNDRED).min(standing),
            Self::Made => standing..u32::MAX,
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Root => f.write_str("/"),
            Self::Load => f.write_str("/load"),
            Self::Hundred(number) => write!(f, "/load/{number}"),
            Self::Made => f.write_str("/made"),
        }
    }
}

/// The subscribers of each address, and the pending news for them.
#[derive(Debug)]
pub(super) struct Lobby {
    /// The subscribers by address; no entry is empty.
    pub(super) parts: BTreeMap<Address, Part>,
    /// Tables that changed since the last news, each once.
    pub(super) changed: Vec<u32>,
    /// The instant at which news are told next; [`Instant::NEVER`] if there are none.
    pub(super) due: Instant,
    subscriptions: usize,
}

/// The subscribers of one address.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// Subscribers that have been told of all tables.
    pub(super) followers: BTreeSet<SessionId>,
    /// Subscribers that have been told of all tables before this index.
    pub(super) newcomers: BTreeMap<SessionId, u32>,
}

impl Lobby {
    pub(super) const fn new() -> Self {
        Self { parts: BTreeMap::new(), changed: Vec::new(), due: Instant::NEVER, subscriptions: 0 }
    }

    /// Adds a subscriber that has been told of all tables before `next`, or of all tables if that is `None`.
    pub(super) fn subscribe(&mut self, address: Address, session: SessionId, next: Option<u32>) {
        let part = self.parts.entry(address).or_default();
        match next {
            None => drop(part.followers.insert(session)),
            Some(next) => drop(part.newcomers.insert(session, next)),
        }
        self.subscriptions += 1;
    }

    pub(super) fn unsubscribe(&mut self, address: Address, session: SessionId) {
        let Some(part) = self.parts.get_mut(&address) else { return };
        if part.followers.remove(&session) || part.newcomers.remove(&session).is_some() {
            self.subscriptions -= 1;
        }
        if part.followers.is_empty() && part.newcomers.is_empty() {
            self.parts.remove(&address);
        }
    }

    /// The number of subscriptions to all addresses together.
    pub(super) const fn subscriptions(&self) -> usize {
        self.subscriptions
    }
}

/// The number of tables in an address below `/load`.
const HUNDRED: u32 = 100;
