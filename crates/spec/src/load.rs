//! Loads: who sends, when, and for how long.

use crate::{Profile, Rooms};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::{NonZeroU32, NonZeroU64};
use units::Nanos;

/// The rule by which messages are sent, with the connections that carry them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Load {
    /// A closed loop: each connection sends its next message when a reply has arrived. There is no schedule, hence no
    /// response time, only round trips.
    Closed {
        /// Connections that are held.
        connections: NonZeroU32,
        /// Messages in flight on each connection.
        in_flight: NonZeroU32,
        /// Messages in flight on all connections together, which then take turns; `null`: no such bound.
        in_flight_max: Option<NonZeroU32>,
    },
    /// An open loop: messages are due by a schedule, on any connection that can send.
    Open {
        /// Connections that are held.
        connections: NonZeroU32,
        /// The rate at which messages are due, over time.
        rate: Profile,
        /// The distances between them.
        spacing: Spacing,
        /// Messages that may be outstanding (due, neither answered nor given up); those due beyond it stay unsent.
        in_flight_max: NonZeroU32,
    },
    /// Bots: an open loop in which each connection has a schedule of its own.
    Bots {
        /// Bots, each with a connection of its own.
        bots: NonZeroU32,
        /// Time from one message of a bot to its next.
        every: Nanos,
        /// The distances between messages.
        spacing: Spacing,
        /// Messages that may be outstanding, as in [`Load::Open`].
        in_flight_max: NonZeroU32,
    },
    /// Bots that wait for each reply: a closed loop with a think time.
    ClosedBots {
        /// Bots, each with a connection of its own.
        bots: NonZeroU32,
        /// Time from a reply to the next message of its bot.
        think: Nanos,
    },
    /// Sessions begin by a schedule; in a session each message waits for the reply to the last one (partly open).
    Sessions {
        /// Sessions that may last at a time; one more does not begin, and its messages are unsent.
        connections: NonZeroU32,
        /// The rate at which sessions begin, over time.
        rate: Profile,
        /// The distances between their beginnings.
        spacing: Spacing,
        /// Messages of each session.
        messages_each: NonZeroU32,
        /// Time from a reply to the next message of its session.
        think: Nanos,
    },
    /// Short-lived clients, one after the other: connect, exchange messages, close.
    Clients {
        /// Clients at the same time.
        concurrency: NonZeroU32,
        /// Round trips of each client.
        round_trips: NonZeroU32,
        /// Messages in flight on each connection.
        in_flight: NonZeroU32,
        /// Messages in flight on all connections together; `null`: no such bound.
        in_flight_max: Option<NonZeroU32>,
    },
    /// Rooms: messages are published in each by a schedule, and every receiver of the room is owed each of them.
    Publish {
        /// The rooms, with their publishers and receivers.
        rooms: Rooms,
        /// The rate at which messages are due in each room, over time.
        rate: Profile,
        /// The distances between them.
        spacing: Spacing,
        /// Publications that may be outstanding, as in [`Load::Open`].
        in_flight_max: NonZeroU32,
    },
}

impl Load {
    /// The maximum number of connections that are open at a time.
    pub const fn connections(&self) -> NonZeroU32 {
        match self {
            Self::Closed { connections, .. }
            | Self::Open { connections, .. }
            | Self::Sessions { connections, .. } => *connections,
            Self::Bots { bots, .. } | Self::ClosedBots { bots, .. } => *bots,
            Self::Clients { concurrency, .. } => *concurrency,
            Self::Publish { rooms, .. } => rooms.connections(),
        }
    }

    /// The combined load of `count` machines that make this one each; `None` if it is too large.
    pub fn times(&self, count: NonZeroU32) -> Option<Self> {
        let more = |number: NonZeroU32| number.checked_mul(count);
        let maybe_more = |number: Option<NonZeroU32>| match number {
            Some(number) => more(number).map(Some),
            None => Some(None),
        };
        let mut all = self.clone();
        match &mut all {
            Self::Closed { connections: each, in_flight_max, in_flight: _ }
            | Self::Clients { concurrency: each, in_flight_max, in_flight: _, round_trips: _ } => {
                *each = more(*each)?;
                *in_flight_max = maybe_more(*in_flight_max)?;
            }
            Self::Open { connections, rate, spacing: _, in_flight_max } => {
                *connections = more(*connections)?;
                *rate = rate.times(count)?;
                *in_flight_max = more(*in_flight_max)?;
            }
            Self::Bots { bots, every: _, spacing: _, in_flight_max } => {
                *bots = more(*bots)?;
                *in_flight_max = more(*in_flight_max)?;
            }
            Self::ClosedBots { bots, think: _ } => *bots = more(*bots)?,
            Self::Sessions { connections, rate, spacing: _, messages_each: _, think: _ } => {
                *connections = more(*connections)?;
                *rate = rate.times(count)?;
            }
            // The rate is that of each room.
            Self::Publish { rooms, rate: _, spacing: _, in_flight_max } => {
                rooms.count = more(rooms.count)?;
                *in_flight_max = more(*in_flight_max)?;
            }
        }
        Some(all)
    }

    /// True if there is no schedule: messages wait for the replies to those before them.
    pub const fn is_closed(&self) -> bool {
        match self {
            Self::Closed { .. } | Self::ClosedBots { .. } | Self::Clients { .. } => true,
            Self::Bots { .. }
            | Self::Open { .. }
            | Self::Publish { .. }
            | Self::Sessions { .. } => false,
        }
    }

    /// The rooms that connections are in, if any.
    pub const fn rooms(&self) -> Option<Rooms> {
        match self {
            Self::Publish { rooms, .. } => Some(*rooms),
            Self::Bots { .. }
            | Self::Closed { .. }
            | Self::ClosedBots { .. }
            | Self::Clients { .. }
            | Self::Open { .. }
            | Self::Sessions { .. } => None,
        }
    }

    /// The number of replies due to each message: one, or in rooms a delivery to each receiver.
    pub fn replies_each(&self) -> f64 {
        self.rooms().map_or(1.0, |rooms| f64::from(rooms.receivers.get()))
    }

    /// The lifetime of each connection.
    pub const fn lifetime(&self) -> Lifetime {
        match self {
            Self::Sessions { messages_each, .. } => Lifetime::RoundTrips(*messages_each),
            Self::Clients { round_trips, .. } => Lifetime::RoundTrips(*round_trips),
            Self::Bots { .. }
            | Self::Closed { .. }
            | Self::ClosedBots { .. }
            | Self::Open { .. }
            | Self::Publish { .. } => Lifetime::Long,
        }
    }

    /// The maximum number of messages in flight on each connection.
    pub const fn in_flight(&self) -> NonZeroU32 {
        match self {
            Self::Closed { in_flight, .. } | Self::Clients { in_flight, .. } => *in_flight,
            Self::Bots { .. }
            | Self::ClosedBots { .. }
            | Self::Open { .. }
            | Self::Publish { .. }
            | Self::Sessions { .. } => NonZeroU32::MIN,
        }
    }

    /// Messages that may be outstanding on all connections together; `None`: no such bound.
    pub const fn in_flight_max(&self) -> Option<NonZeroU32> {
        match self {
            Self::Closed { in_flight_max, .. } | Self::Clients { in_flight_max, .. } => {
                *in_flight_max
            }
            Self::Bots { in_flight_max, .. }
            | Self::Open { in_flight_max, .. }
            | Self::Publish { in_flight_max, .. } => Some(*in_flight_max),
            Self::ClosedBots { .. } | Self::Sessions { .. } => None,
        }
    }

    /// Messages (or sessions) that are due per second; `None` for closed loops.
    pub fn due_per_s(&self) -> Option<f64> {
        match self {
            Self::Open { rate, .. } | Self::Sessions { rate, .. } => Some(rate.per_second()),
            Self::Publish { rooms, rate, .. } => {
                Some(rate.per_second() * f64::from(rooms.count.get()))
            }
            Self::Bots { bots, every, .. } => Some(f64::from(bots.get()) / every.as_secs_f64()),
            Self::Closed { .. } | Self::ClosedBots { .. } | Self::Clients { .. } => None,
        }
    }
}

/// The lifetime of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// All phases. Connections are opened before the warm-up, so that no round trip includes a connect.
    Long,
    /// A number of round trips, after which it is closed. Opening is part of the measurement, and timed apart.
    RoundTrips(NonZeroU32),
}

/// The distances between arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// At equal distances, the first at once; the connections take turns
    Uniform,
    /// Each bot at equal distances, from a random phase on
    Phases,
    /// Independently of each other, as those of many users are: exponential gaps
    Poisson,
}

/// The phases of a block, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// Time in which messages are exchanged before any of them counts.
    pub warm_up: Nanos,
    /// The end of the measurement.
    pub stop: Stop,
    /// Time in which replies to messages of the measurement are awaited after its end.
    pub drain: Nanos,
}

/// The end of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// Stops after a time.
    After(Nanos),
    /// Stops at the end of this many short-lived clients.
    Clients(NonZeroU64),
    /// Stops at the end of this many messages: answered, failed or timed out.
    Messages(NonZeroU64),
}

impl Stop {
    /// The end of a measurement by `count` machines together, each of which ends here; `None` if the number is too
    /// large.
    pub fn times(self, count: NonZeroU32) -> Option<Self> {
        let more = |number: NonZeroU64| number.checked_mul(count.into());
        Some(match self {
            Self::After(time) => Self::After(time),
            Self::Clients(clients) => Self::Clients(more(clients)?),
            Self::Messages(messages) => Self::Messages(more(messages)?),
        })
    }
}

/// The time after which a peer is given up, for each phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timeouts {
    /// The time for turning a name into addresses.
    pub resolve: Nanos,
    /// Time from the start of the attempt to the established connection.
    pub connect: Nanos,
    /// Time from there to the completed opening handshake of the protocol; of TLS likewise, each of the two by itself.
    pub handshake: Nanos,
    /// Time from the sending of a message to its whole reply.
    pub reply: Nanos,
    /// Time from the start of a proper end to its completion.
    pub close: Nanos,
}

impl Timeouts {
    /// The same time for every phase.
    pub const fn all(time: Nanos) -> Self {
        Self { resolve: time, connect: time, handshake: time, reply: time, close: time }
    }

    /// The same, each of them at most `time`.
    pub fn at_most(self, time: Nanos) -> Self {
        let Self { resolve, connect, handshake, reply, close } = self;
        let [resolve, connect, handshake, reply, close] =
            [resolve, connect, handshake, reply, close].map(|each| each.min(time));
        Self { resolve, connect, handshake, reply, close }
    }
}

/// The way in which connections are ended by us, in protocols whose end is answered (WebSocket's Close). Others are
/// closed at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum Closing {
    /// By the closing handshake: the server's answer is awaited (RFC 6455 section 7.1.1)
    #[default]
    Complete,
    /// Right after our own Close, as clients do when they leave
    #[serde(alias = "at-once")]
    AtOnce,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Conduct;
    use units::Rate;

    fn n(number: u32) -> NonZeroU32 {
        NonZeroU32::new(number).unwrap()
    }

    #[test]
    fn what_each_of_three_makes_is_three_times_as_much_together() {
        let rate = |per_s| Profile::from(Rate::new(n(per_s), Nanos::from_secs(1)).unwrap());
        let open = |per_s, connections, in_flight_max| Load::Open {
            connections: n(connections),
            rate: rate(per_s),
            spacing: Spacing::Poisson,
            in_flight_max: n(in_flight_max),
        };
        assert_eq!(open(200, 7, 100).times(n(3)), Some(open(600, 21, 300)));
        let closed = |connections, in_flight_max: Option<u32>| Load::Closed {
            connections: n(connections),
            in_flight: n(4),
            in_flight_max: in_flight_max.map(n),
        };
        assert_eq!(closed(5, None).times(n(3)), Some(closed(15, None)));
        assert_eq!(closed(5, Some(9)).times(n(3)), Some(closed(15, Some(27))));
        let room = |count| Rooms {
            count: n(count),
            publishers: n(1),
            receivers: n(10),
            conduct: Conduct::default(),
        };
        let publish = |count, in_flight_max| Load::Publish {
            rooms: room(count),
            rate: rate(10),
            spacing: Spacing::Uniform,
            in_flight_max: n(in_flight_max),
        };
        assert_eq!(publish(2, 50).times(n(3)), Some(publish(6, 150)));
        assert_eq!(closed(u32::MAX / 2, None).times(n(3)), None);
        assert_eq!(Stop::Messages(NonZeroU64::MAX).times(n(3)), None);
        assert_eq!(Stop::After(Nanos(5)).times(n(3)), Some(Stop::After(Nanos(5))));
    }
}
