//! Detection of an open loop that falls behind its schedule.

use crate::feed::Behind;
use drive::{Interval, Phase};
use engine::clock::own_cpu;
use load::{Arrival, Lifetime, RoomShare, Workload};
use spec::Conduct;
use stats::per_second;
use units::{Instant, Nanos};

/// Messages due per second; `None` in a closed loop, where none is due.
pub(crate) fn due_per_s(workload: &Workload) -> Option<f64> {
    match (&workload.arrival, workload.lifetime) {
        (Arrival::Closed { .. } | Arrival::Think { .. }, _) => None,
        (Arrival::Sessions { schedule, .. }, Lifetime::RoundTrips(each)) => {
            Some(schedule.rate.per_second() * f64::from(each.get()))
        }
        (Arrival::Sessions { schedule, .. } | Arrival::Open { schedule, .. }, _) => {
            Some(schedule.rate.per_second())
        }
    }
}

/// The pursuit of a schedule by an open loop, a second at a time.
///
/// A server that stalls for a moment, or takes a second for each reply, is not behind: being behind takes one second
/// with less than about half of the replies, or two seconds in a row with too few.
pub(crate) struct Pursuit {
    /// Messages due per second.
    due_per_s: f64,
    /// Replies due for each message: one, or in rooms a delivery to each receiver.
    replies_each: f64,
    threads: f64,
    /// The start of the second that is counted; `None` before the first message.
    since: Option<Instant>,
    /// The last reading of this process's CPU time: its instant, and the time used by then.
    used: (Instant, Nanos),
    replies: u64,
    unsent: u64,
    /// The doubts so far, of [`DOUBTS_MAX`].
    doubts: u32,
    is_told: bool,
}

impl Pursuit {
    /// The pursuit for a block of `workload` on `threads` threads; `None` in a closed loop, which has no schedule, for
    /// sessions, which send most of their messages long after they began, and where receivers are gone on purpose.
    pub(crate) fn of(workload: &Workload, threads: usize) -> Option<Self> {
        // While receivers are gone on purpose, fewer deliveries arrive than are due.
        let are_gone = workload.rooms.is_some_and(|rooms| {
            let Conduct { storm, restart, .. } = rooms.all().conduct;
            storm.is_some() || restart.is_some()
        });
        let is_pursued = matches!(workload.arrival, Arrival::Open { .. }) && !are_gone;
        let due_per_s = due_per_s(workload).filter(|_| is_pursued)?;
        let receivers = workload.rooms.map(RoomShare::receivers_each);
        let threads = f64::from(u32::try_from(threads).unwrap_or(u32::MAX));
        Some(Self::new(due_per_s, receivers.map_or(1.0, |each| each.get().into()), threads))
    }

    fn new(due_per_s: f64, replies_each: f64, threads: f64) -> Self {
        Self {
            due_per_s,
            replies_each,
            threads,
            since: None,
            used: (Instant::START, Nanos::ZERO),
            replies: 0,
            unsent: 0,
            doubts: 0,
            is_told: false,
        }
    }

    /// Sets another rate, and starts counting a new second.
    pub(crate) fn change_rate(&mut self, due_per_s: f64) {
        *self = Self::new(due_per_s, self.replies_each, self.threads);
    }

    /// Adds an interval of a worker, and returns the lag once, as soon as the loop is behind.
    pub(crate) fn add(&mut self, interval: &Interval) -> Option<Behind> {
        if self.is_told || !flows(interval.phase) {
            return None;
        }
        // Replies at the beginning do not belong to messages due then.
        let since = *self.since.get_or_insert_with(|| {
            self.used = (interval.end, own_cpu());
            interval.start + RUN_UP
        });
        if interval.start < since {
            return None;
        }
        self.replies += interval.traffic.replies;
        self.unsent += interval.traffic.counts.unsent;
        let time = interval.end.since(since);
        if time < SECOND {
            return None;
        }
        let used = (interval.end, own_cpu());
        let behind = Behind {
            asked_per_s: self.due_per_s * self.replies_each,
            achieved_per_s: per_second(self.replies, time),
            generator_busy: cores(self.used, used) / self.threads,
        };
        self.doubts = match behind.achieved_per_s / behind.asked_per_s {
            _ if self.due_per_s * time.as_secs_f64() < DUE_MIN => 0,
            _ if per_second(self.unsent, time) > 0.01 * self.due_per_s => DOUBTS_MAX,
            ..0.45 => DOUBTS_MAX,
            ..0.8 => self.doubts + 1,
            _ => 0,
        };
        self.is_told = self.doubts >= DOUBTS_MAX;
        (self.since, self.used) = (Some(interval.end), used);
        (self.replies, self.unsent) = (0, 0);
        self.is_told.then_some(behind)
    }
}

/// True if messages are due in this phase.
pub(crate) fn flows(phase: Phase) -> bool {
    matches!(phase, Phase::WarmUp | Phase::Measure)
}

/// The number of cores that were busy between two readings of CPU time.
fn cores((since, before): (Instant, Nanos), (now, after): (Instant, Nanos)) -> f64 {
    let used = Nanos(after.0.saturating_sub(before.0)).as_secs_f64();
    if since < now { used / now.since(since).as_secs_f64() } else { 0.0 }
}

const SECOND: Nanos = Nanos::from_secs(1);
/// The time that an open loop runs before it can be behind.
const RUN_UP: Nanos = Nanos::from_millis(500);
/// The number of doubts that amount to certainty.
const DOUBTS_MAX: u32 = 2;
/// The number of messages due in a second below which a single message would be too large a share.
const DUE_MIN: f64 = 20.0;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use load::{Content, Expect, Phases, Pick, Schedule, Spacing, Stop, Timeouts};
    use record::Counts;
    use std::num::NonZeroU32;
    use units::Bytes;

    pub(crate) fn workload(arrival: Arrival) -> Workload {
        let second = Nanos::from_secs(1);
        Workload {
            connections: NonZeroU32::MIN,
            rooms: None,
            connect_rate: None,
            lifetime: Lifetime::Long,
            closing: load::Closing::Complete,
            arrival,
            content: Content::binary(Bytes(64), 7),
            expect: Expect::Echo,
            requests: None,
            phases: Phases { warm_up: second, stop: Stop::After(second), drain: second },
            timeouts: Timeouts::all(second),
            last_replies: false,
            seed: 7,
        }
    }

    pub(crate) fn open(rate: &str) -> Arrival {
        let schedule = Schedule::new(rate.parse().unwrap(), Spacing::Uniform, NonZeroU32::MIN);
        Arrival::Open { schedule, pick: Pick::Any, in_flight_max: NonZeroU32::MAX }
    }

    /// The interval of tenth number `tenth`, with the numbers of messages sent, answered in 1 ms, and unsent.
    fn interval(tenth: u64, phase: Phase, [sent, replies, unsent]: [u64; 3]) -> Interval {
        let at = |tenth: u64| Instant::START + Nanos::from_millis(100 * tenth);
        let mut interval = Interval::new(&open("1000/s"));
        (interval.phase, interval.start, interval.end) = (phase, at(tenth), at(tenth + 1));
        interval.traffic.counts = Counts { sent, ok: replies, unsent, ..Counts::default() };
        interval.traffic.replies = replies;
        let times = interval.traffic.open_loop.as_mut().unwrap();
        (0..replies).for_each(|_| times.response.record(Nanos::from_millis(1)));
        interval
    }

    /// The tenths after which an open loop of 1000/s is reported as behind, if each tenth is as `tenths` says.
    fn told_behind(tenths: impl Fn(u64) -> [u64; 3]) -> Vec<u64> {
        told_behind_with(&workload(open("1000/s")), tenths)
    }

    fn told_behind_with(workload: &Workload, tenths: impl Fn(u64) -> [u64; 3]) -> Vec<u64> {
        let mut pursuit = Pursuit::of(workload, 1).unwrap();
        let behind =
            |tenth: &u64| pursuit.add(&interval(*tenth, Phase::Measure, tenths(*tenth))).is_some();
        (0..50).filter(behind).collect()
    }

    #[test]
    fn an_open_loop_that_is_far_behind_is_told_once_and_within_two_seconds() {
        assert_eq!(told_behind(|_| [100, 10, 0]), [14]);
        assert_eq!(told_behind(|_| [100, 90, 10]), [14], "what is not sent is behind");
        assert_eq!(told_behind(|_| [100, 60, 0]), [24], "too few for two seconds");
    }

    #[test]
    fn in_rooms_each_receiver_is_due_a_delivery() {
        let [one, hundred] = [1, 100].map(|count| NonZeroU32::new(count).unwrap());
        let conduct = Conduct::default();
        let rooms = spec::Rooms { count: one, publishers: one, receivers: hundred, conduct };
        let rooms = Some(RoomShare::whole(rooms));
        let workload = Workload { rooms, ..workload(open("1000/s")) };
        assert_eq!(told_behind_with(&workload, |_| [100, 1_000, 0]), [14], "a tenth of them");
        assert_eq!(told_behind_with(&workload, |_| [100, 10_000, 0]), [0; 0]);
        let restart = Some(Nanos::from_secs(1));
        let all = rooms
            .map(|rooms| spec::Rooms { conduct: Conduct { restart, ..conduct }, ..rooms.all() });
        let workload = Workload { rooms: all.map(RoomShare::whole), ..workload };
        assert!(Pursuit::of(&workload, 1).is_none(), "receivers are gone on purpose");
    }

    #[test]
    fn what_keeps_up_or_stumbles_is_not_behind() {
        let none: [u64; 0] = [];
        assert_eq!(told_behind(|_| [100, 99, 0]), none);
        // Replies that take a second.
        assert_eq!(told_behind(|tenth| [100, if tenth < 10 { 0 } else { 100 }, 0]), none);
        // A server that stalls for 400 ms and then catches up.
        let stall = |tenth| match tenth {
            20..24 => [100, 0, 0],
            24 => [100, 500, 0],
            _ => [100, 100, 0],
        };
        assert_eq!(told_behind(stall), none);
    }
}
