//! The counters of a world.

/// The current state of a world in numbers, and the counts of events since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Now: connections, with or without a player.
    pub connections: u64,
    /// Now: players that are logged in and connected.
    pub players: u64,
    /// Now: players whose connection broke and whose seats are kept.
    pub away: u64,
    /// Now: tables.
    pub tables: u64,
    /// Now: seats with a player, away or not.
    pub seated: u64,
    /// Now: reserved seats.
    pub reserved: u64,
    /// Now: subscriptions to the lobby.
    pub lobby_subscriptions: u64,
    /// Packets that were read, good or bad.
    pub packets: u64,
    /// Logins that succeeded.
    pub logins: u64,
    /// Logins that failed.
    pub logins_refused: u64,
    /// Players that came back, after a break or from another connection, and got their seats back.
    pub reconnects: u64,
    /// Players forced out, for any reason.
    pub forced_logouts: u64,
    /// Players forced out because they logged in from another place.
    pub logged_in_remotely: u64,
    /// Clients, with a player or without, that were silent for too long.
    pub idle: u64,
    /// Clients, with a player or without, that sent too many packets.
    pub floods: u64,
    /// Players that did not come back in time and lost their seats.
    pub not_back: u64,
    /// Seats taken.
    pub joins: u64,
    /// Requests for a seat that were denied.
    pub joins_denied: u64,
    /// Seats given up or lost.
    pub leaves: u64,
    /// Tables made by players.
    pub tables_made: u64,
    /// Events of the load-test game that were carried out.
    pub events: u64,
    /// Responses to these events that were sent to players seated at the table: for each event, as many as there are
    /// connected players at its table.
    pub deliveries: u64,
    /// Responses to these events that were sent to players who watch the table.
    pub watched: u64,
    /// Events whose number did not follow that of the same player's previous event.
    pub sequence_errors: u64,
    /// Events that were sent again after a break, with the number of the previous event.
    pub resent: u64,
    /// Delayed events whose player left before they were due.
    pub events_dropped: u64,
    /// Packets that were answered with BadPacket.
    pub bad_packets: u64,
    /// Chat messages that were passed on.
    pub chat: u64,
    /// Complete tables sent to lobby subscribers.
    pub lobby_snapshots: u64,
    /// Changes of tables, including removals, sent to lobby subscribers.
    pub lobby_updates: u64,
    /// Pings sent to quiet players.
    pub pings: u64,
}
