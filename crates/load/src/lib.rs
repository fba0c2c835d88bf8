//! The messages of a worker and the instants at which they are sent: a workload is a product of independent parts.
//!
//! Each part is one type: [`Arrival`] (when a message is sent), [`Lifetime`] (how long a connection lives), [`Content`]
//! (what a message contains), [`Expect`] (what the reply must be), [`Phases`] (warm-up, measurement, drain),
//! [`Timeouts`]. Only [`Workload`] combines them.
//!
//! Left out: where messages are sent (crate `drive`, `Target`) and how they are framed (crate `wire`).

mod content;
mod curve;
mod cut;
mod pace;
mod payload;
mod replay;
mod requests;
mod room_share;
mod schedule;
mod waiting;

pub use content::{Content, Expect, Mismatch};
pub use cut::CutError;
pub use pace::{Batch, Next, Pace, Taken};
pub use requests::Requests;
pub use room_share::RoomShare;
pub use schedule::{Arrivals, Cut, Due, Schedule, Stripe};
pub use spec::stamp::{Header, TrueDelay};
pub use spec::{Closing, Lifetime, PayloadKind, PayloadKindError, Phases, Spacing, Stop, Timeouts};

use std::num::{NonZeroU32, NonZeroU64};
use units::{Nanos, Rate};

/// Everything that one worker should do.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The number of connections open at the same time.
    pub connections: NonZeroU32,
    /// The rooms of the connections, if any; the connections of the schedule are then the publishers.
    pub rooms: Option<RoomShare>,
    /// The rate at which connections are opened; `None`: as fast as a bounded number of simultaneous attempts allows.
    pub connect_rate: Option<Rate>,
    /// The lifetime of each.
    pub lifetime: Lifetime,
    /// The way connections are closed.
    pub closing: Closing,
    /// The rule by which messages are sent.
    pub arrival: Arrival,
    /// The content of messages.
    pub content: Content,
    /// The reply expected for each message.
    pub expect: Expect,
    /// The requests of a conversation: messages are made of them, and `content` is the note that asks for one. `None`
    /// if messages are [`Content`] itself.
    pub requests: Option<Requests>,
    /// Warm-up, measurement, drain.
    pub phases: Phases,
    /// The timeouts after which a peer is given up.
    pub timeouts: Timeouts,
    /// True if the times of the last 1000 replies are kept one by one, for comparison with a published experiment.
    pub last_replies: bool,
    /// The seed of mask keys, handshake keys, Poisson arrivals and the phases of bots.
    pub seed: u64,
}

/// The rule by which messages are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A closed loop: the next message is sent as soon as a reply arrived. There is no schedule, hence no response
    /// time, only round trips.
    Closed {
        /// Messages in flight on each connection.
        in_flight: NonZeroU32,
        /// Messages in flight on all connections together; the connections take turns of 32 messages.
        /// `None`: no such bound.
        in_flight_max: Option<NonZeroU32>,
    },
    /// An open loop: messages are due by a schedule, whatever becomes of those before them.
    Open {
        /// The instants of messages, and the connection of each. It has as many connections as
        /// [`Workload::connections`], or in rooms as many as there are publishers.
        schedule: Schedule,
        /// The choice of the connection that sends.
        pick: Pick,
        /// The most messages outstanding on all connections together: due, and neither answered nor given up. Those due
        /// beyond it are not sent, and count as unsent.
        in_flight_max: NonZeroU32,
    },
    /// Partly open: sessions begin by a schedule, each on a connection of its own that lives for
    /// [`Lifetime::RoundTrips`]; in a session the next message is due some time after the reply to the last one. A
    /// session that would exceed [`Workload::connections`] at a time does not begin.
    Sessions {
        /// The instants at which sessions begin. It has as many connections as [`Workload::connections`].
        schedule: Schedule,
        /// Time from a reply to the next message of its session.
        think: Nanos,
    },
    /// A closed loop of bots: each sends its first message at a random phase of the think time, and every next one a
    /// think time after the reply to the last. There is no schedule, hence no response time: a bot whose reply is slow
    /// sends less.
    Think {
        /// Time from a reply to the next message of its bot.
        think: Nanos,
    },
}

impl Arrival {
    /// True if there is no schedule: messages wait for the replies to those before them.
    pub const fn is_closed(&self) -> bool {
        match self {
            Self::Closed { .. } | Self::Think { .. } => true,
            Self::Open { .. } | Self::Sessions { .. } => false,
        }
    }
}

/// The connection on which a message of an open loop is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// Any connection that can send; the connections take turns.
    Any,
    /// The connection that the schedule names, once it can send: a bot.
    Own,
    /// A connection of another machine: this one sends nothing, and the schedule says what is sent there.
    Elsewhere,
}

impl Workload {
    /// True if each message carries a [`Header`] that identifies its reply: in any loop but a closed one, if replies
    /// are echoes with room for it.
    pub fn carries_headers(&self) -> bool {
        let is_echo = matches!(self.expect, Expect::Echo | Expect::Oracle);
        is_echo && !self.arrival.is_closed() && self.content.carries_header()
    }

    /// The number of messages that the measurement should send, if one was requested.
    pub fn planned(&self) -> Option<u64> {
        match (self.phases.stop, self.lifetime) {
            (Stop::Messages(messages), _) => Some(messages.get()),
            (Stop::Clients(clients), Lifetime::RoundTrips(each)) => {
                Some(clients.get().saturating_mul(each.get().into()))
            }
            (Stop::Clients(_), Lifetime::Long) | (Stop::After(_), _) => None,
        }
    }

    /// Divides the work among at most `workers`: connections, messages in flight, stop counts, connect rate and
    /// schedule add up exactly to the whole. There are fewer parts than workers if there is not enough to divide.
    ///
    /// # Panics
    ///
    /// If the schedule of an open loop has fewer connections than the workload.
    pub fn split(&self, workers: NonZeroU32) -> Vec<Self> {
        let in_flight_max = match self.arrival {
            Arrival::Closed { in_flight_max, .. } => in_flight_max,
            Arrival::Open { in_flight_max, .. } => Some(in_flight_max),
            Arrival::Sessions { .. } | Arrival::Think { .. } => None,
        };
        let count_max = match self.phases.stop {
            Stop::After(_) => u64::MAX,
            Stop::Clients(count) | Stop::Messages(count) => count.get(),
        };
        let parts = workers.min(self.connections).min(in_flight_max.unwrap_or(NonZeroU32::MAX));
        let parts = NonZeroU32::try_from(
            NonZeroU64::from(parts).min(NonZeroU64::new(count_max).unwrap_or(NonZeroU64::MIN)),
        )
        .unwrap_or(parts);
        let parts = self.rooms.map_or(parts, |share| share.all().workers(parts));
        let part = |index: u32| Self {
            connections: share(self.connections, index, parts),
            rooms: self.rooms.map(|rooms| rooms.part(index, parts)),
            connect_rate: self.connect_rate.and_then(|rate| {
                Rate::new(rate.count(), Nanos(rate.per().0.saturating_mul(parts.get().into())))
            }),
            arrival: match &self.arrival {
                Arrival::Closed { in_flight, in_flight_max } => Arrival::Closed {
                    in_flight: *in_flight,
                    in_flight_max: in_flight_max.map(|max| share(max, index, parts)),
                },
                Arrival::Open { schedule, pick, in_flight_max } => Arrival::Open {
                    schedule: schedule.part(index, parts),
                    pick: *pick,
                    in_flight_max: share(*in_flight_max, index, parts),
                },
                Arrival::Sessions { schedule, think } => {
                    Arrival::Sessions { schedule: schedule.part(index, parts), think: *think }
                }
                Arrival::Think { think } => Arrival::Think { think: *think },
            },
            phases: Phases {
                stop: match self.phases.stop {
                    Stop::After(time) => Stop::After(time),
                    Stop::Clients(clients) => Stop::Clients(share_of_many(clients, index, parts)),
                    Stop::Messages(messages) => {
                        Stop::Messages(share_of_many(messages, index, parts))
                    }
                },
                ..self.phases
            },
            seed: self.seed.wrapping_add(u64::from(index) << 32),
            ..self.clone()
        };
        (0..parts.get()).map(part).collect()
    }
}

/// The share of part `index` of `parts`, which are at most `total`.
fn share_of_many(total: NonZeroU64, index: u32, parts: NonZeroU32) -> NonZeroU64 {
    let (index, parts) = (u64::from(index), u64::from(parts.get()));
    let share = total.get() / parts + u64::from(index < total.get() % parts);
    NonZeroU64::new(share).expect("there are at most as many parts as there is to share")
}

fn share(total: NonZeroU32, index: u32, parts: NonZeroU32) -> NonZeroU32 {
    NonZeroU32::try_from(share_of_many(total.into(), index, parts))
        .expect("a share is at most the whole")
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    fn workload(connections: u32, messages: u64, in_flight_max: Option<u32>) -> Workload {
        Workload {
            connections: NonZeroU32::new(connections).unwrap(),
            rooms: None,
            connect_rate: Some("10/s".parse().unwrap()),
            lifetime: Lifetime::Long,
            closing: Closing::Complete,
            arrival: Arrival::Closed {
                in_flight: NonZeroU32::MIN,
                in_flight_max: in_flight_max.and_then(NonZeroU32::new),
            },
            content: Content::binary(Bytes(64), 7),
            expect: Expect::Echo,
            requests: None,
            phases: Phases {
                warm_up: Nanos::ZERO,
                stop: Stop::Messages(NonZeroU64::new(messages).unwrap()),
                drain: Nanos::from_secs(1),
            },
            timeouts: Timeouts::all(Nanos::from_secs(1)),
            last_replies: false,
            seed: 7,
        }
    }

    #[test]
    fn the_parts_of_the_workers_add_up_to_the_whole() {
        let parts = workload(10, 1001, Some(7)).split(NonZeroU32::new(3).unwrap());
        let connections: Vec<u32> = parts.iter().map(|part| part.connections.get()).collect();
        let stops: Vec<Stop> = parts.iter().map(|part| part.phases.stop).collect();
        assert_eq!(connections, [4, 3, 3]);
        assert_eq!(
            stops,
            [334, 334, 333].map(|count| Stop::Messages(NonZeroU64::new(count).unwrap()))
        );
        let maxima: Vec<_> = parts
            .iter()
            .map(|part| match part.arrival {
                Arrival::Closed { in_flight_max, .. } => in_flight_max.map(NonZeroU32::get),
                Arrival::Open { .. } | Arrival::Sessions { .. } | Arrival::Think { .. } => None,
            })
            .collect();
        assert_eq!(maxima, [Some(3), Some(2), Some(2)]);
        assert_eq!(parts[0].connect_rate.map(|rate| rate.due(1)), Some(Nanos::from_millis(300)));
        assert_ne!(parts[0].seed, parts[1].seed);
    }

    #[test]
    fn there_are_no_more_parts_than_there_is_to_divide() {
        let workers = NonZeroU32::new(8).unwrap();
        assert_eq!(workload(2, 100, None).split(workers).len(), 2);
        assert_eq!(workload(10, 3, None).split(workers).len(), 3);
        assert_eq!(workload(10, 100, Some(1)).split(workers).len(), 1);
    }
}
