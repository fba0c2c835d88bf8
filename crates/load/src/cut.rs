//! The part of one machine of a fleet, cut from the whole workload. Each machine then divides it among its workers.
//!
//! Everything that is counted goes by turns ([`spec::Part`]), so that all parts together are the whole: connections,
//! clients, messages in flight, the end of the measurement, and with uniform spacing every single arrival. Poisson
//! spacing has a process of its own for each part, whose rates add up; bots with random phases have theirs anyway.

use crate::{Arrival, Pick, Stop, Workload};
use spec::{Part, PartError};
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
    /// Rooms stay whole, and are divided evenly.
    #[error(
        "{count} rooms cannot be divided evenly among {parts} agents of one weight each; use a multiple of {parts}"
    )]
    Rooms {
        /// The rooms.
        count: u32,
        /// The parts.
        parts: usize,
    },
    /// A part would have none of something.
    #[error(
        "{total} {what} are too few for {parts} agents: one of them would have none; use more, or fewer agents"
    )]
    TooFew {
        /// The counted thing.
        what: &'static str,
        /// The number of the whole.
        total: u64,
        /// The parts.
        parts: usize,
    },
}

impl Workload {
    /// The part of one machine. With all parts together nothing is missing and nothing is there twice.
    ///
    /// # Errors
    ///
    /// There is no such part; it would have no connections, nothing in flight or nothing to send; or rooms cannot be
    /// divided evenly.
    pub fn cut(&self, part: &Part) -> Result<Self, CutError> {
        let turns = Arc::new(part.turns()?);
        let parts = part.weights.len();
        if let Some(rooms) = self.rooms {
            return self.cut_rooms(part, rooms.count());
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

    /// A room lives on one machine, where all of its receivers are, so that its deliveries are counted at one place and
    /// timed by one clock.
    fn cut_rooms(&self, part: &Part, count: u32) -> Result<Self, CutError> {
        let parts = part.weights.len();
        let uneven = CutError::Rooms { count, parts };
        let is_even = part.weights.iter().all(|weight| *weight == part.weights[0]);
        let whole = u32::try_from(parts).ok().and_then(NonZeroU32::new).ok_or(uneven)?;
        if !is_even || !count.is_multiple_of(whole.get()) {
            return Err(uneven);
        }
        let mut all = self.split(whole);
        if all.len() != parts {
            return Err(uneven);
        }
        let cut = all.swap_remove(part.index as usize);
        Ok(Self { seed: seed_of(self.seed, part.index), ..cut })
    }
}

/// `rate` by this share; `None` (no bound) if that cannot be written.
fn slower(rate: Rate, share: u32, all: u32) -> Option<Rate> {
    let per = u128::from(rate.per().0) * u128::from(all) / u128::from(share);
    Rate::new(rate.count(), Nanos(u64::try_from(per).unwrap_or(u64::MAX)))
}

/// The seed of a part. It is far from those of the workers of any other part, which count up from theirs.
fn seed_of(seed: u64, index: u32) -> u64 {
    let mut parts = Random::new(seed);
    (0..=index).fold(seed, |_, _| parts.next_u64())
}

const IN_FLIGHT: &str = "messages in flight";
