//! The part of one machine of a fleet, cut from the whole workload. Each machine then divides it among its workers.
//!
//! Everything that is counted is dealt out in turns ([`spec::Part`]), so that all parts together are the whole:
//! connections, clients, messages in flight, the end of the measurement, and with uniform spacing every single arrival.
//! With Poisson spacing each part has a process of its own, and the rates add up; bots with random phases have their
//! own anyway.
//!
//! Rooms are not divided if each machine can have equally many: one clock then times their deliveries. Otherwise the
//! first machine has all publishers, and each machine has some receivers of each room. All of them know from the
//! schedule when messages are due.

use crate::{Arrival, Pick, RoomShare, Spacing, Stop, Workload};
use spec::{Part, PartError, Turns};
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use units::{Nanos, Random, Rate};

/// The reason why a workload cannot be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CutError {
    /// There is no such part.
    #[error(transparent)]
    Part(#[from] PartError),
    /// Machines that share rooms must know when each message is due.
    #[error(
        "{parts} agents divide the receivers of each room, and {what}; use a multiple of {parts} rooms on agents of one \
         weight, or {instead}"
    )]
    Shared {
        /// The parts.
        parts: usize,
        /// The reason why they do not know it.
        what: &'static str,
        /// The load that they can divide.
        instead: &'static str,
    },
    /// A part would have none of something.
    #[error(
        "{total} {what} are too few for {parts} agents: one of them would have none; use more, or fewer agents"
    )]
    TooFew {
        /// The things that are counted.
        what: &'static str,
        /// The number in the whole workload.
        total: u64,
        /// The parts.
        parts: usize,
    },
}

impl Workload {
    /// The part of one machine. In all parts together nothing is missing and nothing is duplicated.
    ///
    /// # Errors
    ///
    /// There is no such part; it would have no connections, nothing in flight or nothing to send; or machines would
    /// share rooms without knowing when each message is due.
    pub fn cut(&self, part: &Part) -> Result<Self, CutError> {
        let turns = Arc::new(part.turns()?);
        let parts = part.weights.len();
        if let Some(rooms) = self.rooms {
            return match self.whole_rooms(part, rooms.count()) {
                Some(cut) => Ok(cut),
                None => self.shared_rooms(part, &turns, rooms),
            };
        }
        let own = |what, total: NonZeroU32| {
            let own = u32::try_from(turns.count(total.get().into())).ok();
            let too_few = CutError::TooFew { what, total: total.get().into(), parts };
            own.and_then(NonZeroU32::new).ok_or(too_few)
        };
        let connections = own("connections", self.connections)?;
        let arrival = match &self.arrival {
            Arrival::Closed { in_flight, in_flight_max } => Arrival::Closed {
                in_flight: *in_flight,
                in_flight_max: in_flight_max.map(|max| own(IN_FLIGHT, max)).transpose()?,
            },
            Arrival::Open { schedule, pick, in_flight_max } => Arrival::Open {
                schedule: schedule.cut(&turns, *pick == Pick::Own, connections),
                pick: *pick,
                in_flight_max: own(IN_FLIGHT, *in_flight_max)?,
            },
            Arrival::Sessions { schedule, think } => {
                let schedule = schedule.cut(&turns, false, connections);
                Arrival::Sessions { schedule, think: *think }
            }
            Arrival::Think { think } => Arrival::Think { think: *think },
        };
        let own_of = |what, total: NonZeroU64| {
            let own = match &arrival {
                Arrival::Open { schedule, .. } | Arrival::Sessions { schedule, .. } => {
                    schedule.cut.own(total.get())
                }
                Arrival::Closed { .. } | Arrival::Think { .. } => turns.count(total.get()),
            };
            NonZeroU64::new(own).ok_or_else(|| CutError::TooFew { what, total: total.get(), parts })
        };
        let stop = match self.phases.stop {
            Stop::After(time) => Stop::After(time),
            Stop::Clients(clients) => Stop::Clients(own_of("clients", clients)?),
            Stop::Messages(messages) => Stop::Messages(own_of("messages", messages)?),
        };
        let (share, all) = turns.share();
        Ok(Self {
            connections,
            connect_rate: self.connect_rate.and_then(|rate| slower(rate, share, all)),
            arrival,
            phases: crate::Phases { stop, ..self.phases },
            seed: seed_of(self.seed, part.index),
            ..self.clone()
        })
    }

    /// The part with rooms of its own, if each machine can have equally many.
    fn whole_rooms(&self, part: &Part, count: u32) -> Option<Self> {
        let parts = u32::try_from(part.weights.len()).ok().and_then(NonZeroU32::new)?;
        let is_even = part.weights.iter().all(|weight| *weight == part.weights[0]);
        if !is_even || !count.is_multiple_of(parts.get()) {
            return None;
        }
        let mut all = self.split(parts);
        if all.len() != part.weights.len() {
            return None;
        }
        let cut = all.swap_remove(part.index as usize);
        Some(Self { seed: seed_of(self.seed, part.index), ..cut })
    }

    /// The part with receivers of every room. The first machine also has the publishers; the others keep the schedule,
    /// to know what their receivers are owed.
    fn shared_rooms(&self, part: &Part, turns: &Turns, rooms: RoomShare) -> Result<Self, CutError> {
        let (parts, all) = (part.weights.len(), rooms.all());
        let shared = |what, instead| CutError::Shared { parts, what, instead };
        let Arrival::Open { schedule, in_flight_max, .. } = &self.arrival else {
            return Err(shared("they need a schedule", "a rate"));
        };
        if schedule.spacing != Spacing::Uniform {
            return Err(shared("only one of them knows random instants", "uniform spacing"));
        }
        if !matches!(self.phases.stop, Stop::After(_)) {
            return Err(shared("only one of them knows when all messages are sent", "a duration"));
        }
        let receivers = u64::from(all.receivers.get());
        let mut before = 0;
        for index in 0..part.index {
            before += Part { index, ..part.clone() }.turns()?.count(receivers);
        }
        let before = u32::try_from(before).expect("it is below the number of receivers");
        let own = u32::try_from(turns.count(receivers)).ok().and_then(NonZeroU32::new);
        let what = "receivers of each room";
        let own = own.ok_or(CutError::TooFew { what, total: receivers, parts })?;
        let publishes = part.index == 0;
        let rooms = rooms.divided(publishes, before, own);
        let (share, of) = turns.share();
        Ok(Self {
            connections: NonZeroU32::new(rooms.connections()).unwrap_or(NonZeroU32::MIN),
            rooms: Some(rooms),
            connect_rate: self.connect_rate.and_then(|rate| slower(rate, share, of)),
            arrival: Arrival::Open {
                schedule: schedule.clone(),
                pick: if publishes { Pick::Own } else { Pick::Elsewhere },
                in_flight_max: *in_flight_max,
            },
            seed: seed_of(self.seed, part.index),
            ..self.clone()
        })
    }
}

/// `rate` times this share; `None` (no bound) if that cannot be represented.
fn slower(rate: Rate, share: u32, all: u32) -> Option<Rate> {
    let per = u128::from(rate.per().0) * u128::from(all) / u128::from(share);
    Rate::new(rate.count(), Nanos(u64::try_from(per).unwrap_or(u64::MAX)))
}

/// The seed of a part. It is far from the seeds of the workers of other parts, which count up from their part's.
fn seed_of(seed: u64, index: u32) -> u64 {
    let mut parts = Random::new(seed);
    (0..=index).fold(seed, |_, _| parts.next_u64())
}

const IN_FLIGHT: &str = "messages in flight";
