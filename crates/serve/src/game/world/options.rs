//! The size and the patience of a world.

use std::num::NonZeroU32;
use units::Nanos;

/// The size and patience of a world. Where the protocol leaves a choice, the default is ours: see `docs/GAME.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Tables that exist from the start, with ids from 1. At most [`Options::TABLES_MAX`].
    pub tables: u32,
    /// Seats at each of them, from 1 to [`Options::SEATS_MAX`]; values outside are clamped.
    pub seats: u8,
    /// The most tables made by players at any one time, in addition to those.
    pub made_tables_max: u32,
    /// The most players that may be logged in, or away with a seat kept, at any one time.
    pub players_max: u32,
    /// The time between two rounds of news in the lobby.
    pub lobby_period: Nanos,
    /// The longest time that a connection may stay without a player.
    pub login_max: Nanos,
    /// Silence of a player after which a ping is sent.
    pub quiet_max: Nanos,
    /// Silence of a player after which the session is ended; longer than [`Options::quiet_max`].
    pub idle_max: Nanos,
    /// The time for which the seats of a player are kept after the connection broke.
    pub away_max: Nanos,
    /// The time for which a seat that was found for a player is reserved.
    pub reservation_max: Nanos,
    /// The longest delay of an event in the load-test game; longer ones are shortened to it.
    pub delay_max: Nanos,
    /// The highest packet rate of a connection; `None`: no limit.
    pub flood: Option<Flood>,
}

impl Options {
    /// The most tables from the start: their ids stay far below the largest possible.
    pub const TABLES_MAX: u32 = 1_000_000;
    /// The most seats at a table: a seat is a signed byte on the wire.
    pub const SEATS_MAX: u8 = 127;
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tables: 1_000,
            seats: 5,
            made_tables_max: 1_000,
            players_max: 100_000,
            lobby_period: Nanos::from_millis(250),
            login_max: Nanos::from_secs(10),
            quiet_max: Nanos::from_secs(20),
            idle_max: Nanos::from_secs(60),
            away_max: Nanos::from_secs(60),
            reservation_max: Nanos::from_secs(10),
            delay_max: Nanos::from_secs(60),
            flood: Some(Flood::default()),
        }
    }
}

/// The packet rate above which a connection is a flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flood {
    /// The rate in the long run.
    pub packets_per_s: NonZeroU32,
    /// The most packets at once, after a time without any.
    pub burst: NonZeroU32,
}

impl Default for Flood {
    fn default() -> Self {
        Self { packets_per_s: TEN_THOUSAND, burst: TEN_THOUSAND }
    }
}

/// A rate far above that of any bot, yet little work: a flood is ended within some milliseconds.
const TEN_THOUSAND: NonZeroU32 = NonZeroU32::new(10_000).expect("ten thousand is not zero");
