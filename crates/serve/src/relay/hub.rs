//! The members of rooms. A room exists while it has members.

use engine::ConnectionId;
use std::collections::HashMap;

/// All rooms that have members.
#[derive(Debug, Default)]
pub(super) struct Hub {
    by_name: HashMap<Box<[u8]>, u32>,
    rooms: Vec<Room>,
    /// Rooms without a name, to be re-used.
    vacant: Vec<u32>,
    /// The rooms opened and closed since the last call of [`Hub::take_changes`]; `None` if nobody needs them.
    changes: Option<Vec<Change>>,
}

/// A room that was opened or closed.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) room: Box<[u8]>,
    pub(super) is_open: bool,
}

#[derive(Debug, Default)]
struct Room {
    name: Box<[u8]>,
    /// The members, each with the index of its seat here in its own list.
    members: Vec<(Who, u32)>,
}

/// A member of rooms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    /// A session of SockJS over HTTP, of Socket.IO, or of long polls, in the namespace with this index. The first
    /// namespace is the default one; only Socket.IO has others.
    Session(u32, u32),
    /// A WebSocket connection without a session, or a connection that reads one response.
    Socket(ConnectionId),
}

impl Who {
    /// A session in its default namespace.
    pub(super) const fn session(number: u32) -> Self {
        Self::Session(number, 0)
    }
}

/// A place in a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seat {
    pub(super) room: u32,
    /// The index among its members.
    pub(super) member: u32,
}

impl Hub {
    /// Notes from here on which rooms are opened and closed.
    pub(super) fn note_changes(&mut self) {
        self.changes.get_or_insert_default();
    }

    /// Takes the changes since the last call, in order.
    pub(super) fn take_changes(&mut self) -> Vec<Change> {
        self.changes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The names of all rooms.
    pub(super) fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.rooms.iter().map(|room| &*room.name).filter(|name| !name.is_empty())
    }

    /// The room with this name, if it has members.
    pub(super) fn find(&self, name: &[u8]) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// The member at a seat.
    pub(super) fn member(&self, seat: Seat) -> Option<Who> {
        self.rooms[seat.room as usize].members.get(seat.member as usize).map(|(who, _)| *who)
    }

    /// Adds a member to a room that it is not in; the member keeps the seat at `index` of its own list.
    pub(super) fn join(&mut self, name: &[u8], who: Who, index: u32) -> Seat {
        let room = self.find(name).unwrap_or_else(|| self.open(name));
        let members = &mut self.rooms[room as usize].members;
        members.push((who, index));
        Seat { room, member: number(members.len() - 1) }
    }

    /// True if the seat is in the room with this name.
    pub(super) fn is_in(&self, seat: Seat, name: &[u8]) -> bool {
        self.name(seat) == name
    }

    /// The name of the room that a seat is in.
    pub(super) fn name(&self, seat: Seat) -> &[u8] {
        &self.rooms[seat.room as usize].name
    }

    /// Removes the member at a seat. Returns the member that moves to the seat, if one does, with the index of its seat
    /// in its own list.
    pub(super) fn leave(&mut self, seat: Seat) -> Option<(Who, u32)> {
        let room = &mut self.rooms[seat.room as usize];
        room.members.swap_remove(seat.member as usize);
        if room.members.is_empty() {
            let name = std::mem::take(&mut room.name);
            room.members = Vec::new();
            self.by_name.remove(&name);
            if let Some(changes) = &mut self.changes {
                changes.push(Change { room: name, is_open: false });
            }
            self.vacant.push(seat.room);
            return None;
        }
        room.members.get(seat.member as usize).copied()
    }

    fn open(&mut self, name: &[u8]) -> u32 {
        let room = self.vacant.pop().unwrap_or_else(|| {
            self.rooms.push(Room::default());
            number(self.rooms.len() - 1)
        });
        if let Some(changes) = &mut self.changes {
            changes.push(Change { room: name.into(), is_open: true });
        }
        self.rooms[room as usize].name = name.into();
        self.by_name.insert(name.into(), room);
        room
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).expect("there are fewer rooms and members than 2^32")
}
