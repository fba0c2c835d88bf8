//! The pace of a worker: which connection sends next, how many messages, and when each of them was due.
//!
//! The caller reports what happens to connections ([`Pace::opened`], [`Pace::replied`], [`Pace::left`]), and a [`Pace`]
//! returns the messages to send. It has no clock: `now` is an argument. All loads share it, and differ only in
//! [`Load`]:
//!
//! - closed: a reply makes the next message due; [`Pace::replied`] and [`Pace::opened`] return it;
//! - open: a message is due by the schedule, whatever becomes of others. [`Pace::take`] takes it, and it waits until a
//!   connection can send ([`Pace::next_send`]): any ([`Pick::Any`]), or its own ([`Pick::Own`]). The number of
//!   outstanding messages is bounded; one beyond the bound is never sent, and counts as unsent;
//! - sessions: each begins when it is due, with a connect ([`Taken::Session`]), and its first message is due at the
//!   same instant, so connect and handshake are inside its response time. Each further message is due some time after
//!   the reply to the last one;
//! - bots that think: as in sessions, but they live through all phases, and after the first only a reply makes a
//!   message due. Their first messages are spread over one think time, by the seed.
//!
//! A message keeps the instant at which it was due: if it cannot be sent then it waits, is sent late, and is measured
//! from due. Messages that were due while the worker's loop stalled are held back for the length of the gap
//! ([`crate::replay`]).
//!
//! Left out: sockets, protocols, and the content of replies (crate `drive`).
//!
//! Start reading at [`Pace`]; `due` handles the messages that become due, and this file the connections that send them.

mod answers;
mod due;

pub use answers::{Batch, Next, Taken};

use crate::replay::Replay;
use crate::waiting::Waiting;
use crate::{Arrival, Arrivals, Lifetime, Pick, Schedule, Stop, Stripe, Workload};
use std::collections::VecDeque;
use units::{Instant, Nanos, Random, Rate};

/// Decides which connection of a worker sends next, and when its messages are due.
#[derive(Debug)]
pub struct Pace {
    load: Load,
    stage: Stage,
    /// The connections by place: each has a place from its connect to its end.
    members: Vec<Member>,
    /// Places without a connection; the one vacant for longest is taken first.
    vacant: VecDeque<u32>,
    stripe: Stripe,
    /// The number of messages that each connection sends during its life.
    messages_each: u32,
    /// Connections that wait for their turn: in a closed loop while the bound on all messages in flight is reached, in
    /// an open one once they can send.
    turns: VecDeque<u32>,
    /// The most messages in flight on each connection, and the number on all together.
    in_flight_each: u32,
    in_flight: u64,
    /// Messages of the measurement that are still to be sent; in an open loop, still to become due. `u64::MAX`: without
    /// end.
    quota: u64,
    /// The start of the schedule.
    start: Instant,
    /// The instant from which on due messages count for the quota.
    begin: Instant,
    /// The end of the schedule: messages due from then on are not sent.
    end: Instant,
    replay: Replay<Whose>,
}

/// The differences between loads.
#[derive(Debug)]
enum Load {
    Closed {
        /// The most messages in flight on all connections together.
        in_flight_max: u64,
    },
    Open {
        arrivals: Arrivals,
        pick: Pick,
        /// The most messages that are due and have not ended.
        outstanding_max: u64,
        /// One queue, or one for each place.
        waiting: Waiting,
    },
    Sessions {
        arrivals: Arrivals,
        thinkers: Thinkers,
        /// The number of sessions that have begun and whose connection is not open yet: their first message waits.
        beginning: u64,
    },
    ThinkingBots {
        thinkers: Thinkers,
        phases: Random,
    },
}

/// Connections whose next message is due some time after the reply to the last one.
#[derive(Debug)]
struct Thinkers {
    /// Time from a reply to the next message.
    think: Nanos,
    /// The thinkers, by the instant at which they are due.
    queue: VecDeque<(Instant, Thinker)>,
}

/// A connection, identified for as long as it has its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Thinker {
    place: u32,
    generation: u32,
}

/// The phases of a run, as far as they matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    BeforeTraffic,
    WarmUp,
    Measure,
    Drain,
    AfterTraffic,
}

/// A connection that sends by this pace.
#[derive(Clone, Copy, Debug)]
struct Member {
    is_open: bool,
    /// True if it is in the queue of those that wait for their turn.
    is_queued: bool,
    /// The number of connections that had this place before.
    generation: u32,
    /// The number of messages that it may still send; `u32::MAX`: without end.
    quota: u32,
    in_flight: u32,
    /// The number of replies left in its turn, where connections take turns.
    turn: u32,
    /// The instant since which it can send, in an open loop; of a session the instant at which it was due.
    since: Instant,
}

/// The owner of a message that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// The schedule, which names the connection at this place.
    Schedule(u32),
    /// A session that has begun, or a bot that has thought.
    Thinker(Thinker),
}

impl Pace {
    /// The memory that each connection takes here, in bytes, besides its place in queues.
    pub const MEMBER_SIZE: usize = size_of::<Member>();

    /// The pace of `workload`. Unless the protocol `pipelines`, an open loop has one message in flight on each
    /// connection: the wait of a second one behind it would be measured as the server's time.
    pub fn new(workload: &Workload, pipelines: bool) -> Self {
        let connections = workload.connections.get();
        let warm_up = match workload.phases.stop {
            Stop::Clients(_) => Nanos::ZERO, // Every client counts.
            Stop::After(_) | Stop::Messages(_) => workload.phases.warm_up,
        };
        let arrivals =
            |schedule: &Schedule| schedule.after_warm_up(warm_up).arrivals(workload.seed);
        let thinkers =
            |think| Thinkers { think, queue: VecDeque::with_capacity(connections as usize) };
        let whole = Stripe::whole(workload.connections);
        let (load, stripe, in_flight_each) = match &workload.arrival {
            Arrival::Closed { in_flight, in_flight_max } => {
                let in_flight_max = in_flight_max.map_or(u64::MAX, |max| max.get().into());
                (Load::Closed { in_flight_max }, whole, in_flight.get())
            }
            Arrival::Open { schedule, pick, in_flight_max } => {
                let queues = if *pick == Pick::Own { connections as usize } else { 1 };
                let outstanding_max = in_flight_max.get().into();
                let expected = usize::try_from(outstanding_max).unwrap_or(0).min(WAITING_RESERVED);
                let load = Load::Open {
                    arrivals: arrivals(schedule),
                    pick: *pick,
                    outstanding_max,
                    waiting: Waiting::new(queues, expected),
                };
                (load, schedule.stripe, if pipelines { u32::MAX } else { 1 })
            }
            Arrival::Sessions { schedule, think } => {
                let (arrivals, thinkers) = (arrivals(schedule), thinkers(*think));
                (Load::Sessions { arrivals, thinkers, beginning: 0 }, schedule.stripe, 1)
            }
            Arrival::Think { think } => {
                let (thinkers, phases) = (thinkers(*think), Random::new(workload.seed));
                (Load::ThinkingBots { thinkers, phases }, whole, 1)
            }
        };
        let is_closed = matches!(load, Load::Closed { .. });
        Self {
            load,
            stage: Stage::BeforeTraffic,
            members: vec![Member::VACANT; connections as usize],
            vacant: (0..connections).collect(),
            stripe,
            messages_each: match workload.lifetime {
                Lifetime::Long => u32::MAX,
                Lifetime::RoundTrips(each) => each.get(),
            },
            turns: VecDeque::new(),
            in_flight_each,
            in_flight: 0,
            quota: match workload.phases.stop {
                Stop::Messages(messages) => messages.get(),
                Stop::Clients(_) if !is_closed => workload.planned().unwrap_or(u64::MAX),
                Stop::After(_) | Stop::Clients(_) => u64::MAX,
            },
            start: Instant::NEVER,
            begin: Instant::NEVER,
            end: Instant::NEVER,
            replay: Replay::new(),
        }
    }

    /// Begins the traffic, and the schedule at `start`: open connections get their first messages ([`Pace::next_send`],
    /// [`Pace::take`]). A warm-up or the measurement follows.
    pub fn start(&mut self, start: Instant) {
        self.start = start;
        let open = |(place, member): (usize, &Member)| member.is_open.then_some(place);
        let open: Vec<u32> = self.members.iter().enumerate().filter_map(open).map(place).collect();
        match &mut self.load {
            Load::Closed { .. } | Load::Open { .. } => {
                open.into_iter().for_each(|place| self.queue_if_wanted(place));
            }
            Load::ThinkingBots { thinkers, phases } => {
                let span = usize::try_from(thinkers.think.0).unwrap_or(usize::MAX).max(1);
                let mut due: Vec<(Instant, Thinker)> = open
                    .into_iter()
                    .map(|place| {
                        let generation = self.members[place as usize].generation;
                        let phase = Nanos(phases.below(span) as u64);
                        (start + phase, Thinker { place, generation })
                    })
                    .collect();
                due.sort_by_key(|(due, _)| *due);
                thinkers.queue.extend(due);
            }
            Load::Sessions { .. } => {}
        }
    }

    /// Begins the warm-up, which lasts until `end`, where the measurement begins.
    pub fn warm_up(&mut self, end: Instant) {
        (self.stage, self.begin, self.end) = (Stage::WarmUp, end, end);
    }

    /// Begins the measurement, which lasts from `begin` to `end` ([`Instant::NEVER`]: to the end of the quota).
    pub fn measure(&mut self, begin: Instant, end: Instant) {
        (self.stage, self.begin, self.end) = (Stage::Measure, begin, end);
    }

    /// Begins the drain: the measurement is over at `end`, and messages that were due before are still sent.
    pub fn drain(&mut self, end: Instant) {
        (self.stage, self.end) = (Stage::Drain, end);
    }

    /// Changes the rate of an open loop whose connections take turns, from `at` on. Returns false, and changes nothing,
    /// for any other load, before the traffic, and for a rate whose instants cannot be exact.
    pub fn change_rate(&mut self, at: Instant, rate: Rate) -> bool {
        match &mut self.load {
            Load::Open { arrivals, pick: Pick::Any, .. } if self.start < at => {
                arrivals.change(at.since(self.start), rate)
            }
            Load::Closed { .. }
            | Load::Open { .. }
            | Load::Sessions { .. }
            | Load::ThinkingBots { .. } => false,
        }
    }

    /// Ends the schedule at `end`, unless it ends earlier.
    pub fn end_at(&mut self, end: Instant) {
        self.end = self.end.min(end);
    }

    /// Begins a connection, for the session that was due at `due` if there are sessions. Returns its place.
    pub fn join(&mut self, due: Instant) -> u32 {
        let place = self.vacant.pop_front().expect("there are no more connections than places");
        self.join_at(place, due);
        place
    }

    /// Begins a connection at a place that is [reserved](Pace::reserve).
    pub fn join_at(&mut self, place: u32, due: Instant) {
        let member = &mut self.members[place as usize];
        *member = Member {
            generation: member.generation.wrapping_add(1),
            quota: self.messages_each,
            since: due,
            ..Member::VACANT
        };
        if let Load::Sessions { beginning, .. } = &mut self.load {
            *beginning += 1;
        }
    }

    /// Opens a connection for messages from `now` on; its opening took `opening`.
    pub fn opened(&mut self, place: u32, opening: Nanos, now: Instant) -> Next {
        let member = &mut self.members[place as usize];
        member.is_open = true;
        let due = std::mem::replace(&mut member.since, now);
        if matches!(self.stage, Stage::BeforeTraffic | Stage::AfterTraffic) {
            return Next::Others;
        }
        match &mut self.load {
            Load::Closed { in_flight_max: u64::MAX } => self.grant(place, self.in_flight_each),
            Load::Closed { .. } => self.queue(place),
            Load::Open { .. } => {
                self.queue_if_wanted(place);
                Next::Others
            }
            Load::Sessions { beginning, .. } => {
                *beginning -= 1;
                member.since = due;
                self.count(place, 1);
                // The time of its connect and its handshake is part of its response time, but not of our lag.
                Next::Send(Batch { place, count: 1, due: Some(due), possible: due + opening })
            }
            Load::ThinkingBots { .. } => self.think(place, now), // Replaces a lost bot.
        }
    }

    /// Takes `replies` that arrived on a connection at `now`: their messages have ended.
    #[inline]
    pub fn replied(&mut self, place: u32, replies: u32, now: Instant) -> Next {
        self.ended(place, replies);
        let member = &mut self.members[place as usize];
        let is_served = member.quota == 0 && member.in_flight == 0;
        match &self.load {
            Load::Closed { .. } if is_served => Next::Served { session: None },
            Load::Closed { in_flight_max: u64::MAX } => self.grant(place, replies),
            Load::Closed { .. } if member.turn > replies => {
                member.turn -= replies;
                self.grant(place, replies)
            }
            Load::Closed { .. } => self.queue(place),
            Load::Open { .. } => {
                if self.in_flight_each == 1 {
                    member.since = now;
                }
                self.queue_if_wanted(place);
                Next::Others
            }
            Load::Sessions { .. } if is_served => Next::Served { session: Some(member.since) },
            Load::Sessions { .. } | Load::ThinkingBots { .. } => self.think(place, now),
        }
    }

    /// Ends `count` messages of a connection, well or not; they make no other one due.
    #[inline]
    pub fn ended(&mut self, place: u32, count: u32) {
        self.members[place as usize].in_flight -= count;
        self.in_flight -= u64::from(count);
    }

    /// Counts a message that is sent on a connection outside of the schedule.
    pub fn besides(&mut self, batch: Batch) -> Batch {
        self.count(batch.place, batch.count);
        batch
    }

    /// Takes back `count` messages that were to be sent on a connection, but were not.
    pub fn take_back(&mut self, place: u32, count: u32) {
        self.ended(place, count);
        if matches!(self.load, Load::Closed { .. }) && self.counts_quota() {
            self.quota += u64::from(count);
        }
    }

    /// True if a message that cannot be sent is left out, because the schedule continues without it: in an open loop.
    pub fn leaves_out(&self) -> bool {
        matches!(self.load, Load::Open { .. })
    }

    /// Leaves out a message that was to be sent on a connection; the connection waits for its next turn.
    pub fn left_out(&mut self, place: u32) {
        self.ended(place, 1);
        self.queue_if_wanted(place);
    }

    /// Shuts a connection, which exists but can no longer send.
    pub fn shut(&mut self, place: u32) {
        self.members[place as usize].is_open = false;
    }

    /// Removes a connection, and what only it could have sent. Returns the instant at which its session was due, if it
    /// had no chance to send its first message.
    pub fn left(&mut self, place: u32) -> Option<Instant> {
        let member = &mut self.members[place as usize];
        let (has_begun, since) = (member.quota < self.messages_each, member.since);
        self.in_flight -= u64::from(member.in_flight);
        *member = Member { generation: member.generation, ..Member::VACANT };
        self.vacant.push_back(place);
        let Load::Sessions { beginning, .. } = &mut self.load else { return None };
        if has_begun {
            return None;
        }
        *beginning -= 1;
        Some(since)
    }

    /// Reserves the place that was just [left](Pace::left) for a connection that returns to it.
    pub fn reserve(&mut self, place: u32) {
        let left = self.vacant.pop_back();
        debug_assert_eq!(left, Some(place), "it was left last");
    }

    /// The next messages to send, on the connection whose turn it is.
    #[inline]
    pub fn next_send(&mut self) -> Option<Batch> {
        if self.turns.is_empty() {
            return None;
        }
        self.next_turn()
    }

    /// The instant at which something is to be [taken](Pace::take) or sent next; [`Instant::NEVER`] while only a reply
    /// can change that.
    pub fn wake_at(&self) -> Instant {
        let is_behind = match &self.load {
            _ if self.stage == Stage::AfterTraffic => return Instant::NEVER,
            Load::Closed { .. } if self.turns.is_empty() || self.allowed() == 0 => {
                return Instant::NEVER;
            }
            Load::Closed { .. } => true,
            Load::Open { waiting, .. } => waiting.len() > 0 && !self.turns.is_empty(),
            Load::Sessions { .. } | Load::ThinkingBots { .. } => false,
        };
        if is_behind {
            return Instant::START;
        }
        let due = match self.next_due().0 {
            // Arrivals are counted together, before the next reply makes room, instead of one by one.
            _ if self.is_full() => Instant::NEVER,
            due if due < self.end => due,
            _ => Instant::NEVER,
        };
        due.min(self.replay.next())
    }

    /// The end of the schedule, as far as it is known: the quota may end it earlier than [`Pace::measure`] set it.
    #[inline]
    pub fn end(&self) -> Instant {
        self.end
    }

    /// True if messages are due at instants of their own: in all loads but a closed one without think times.
    #[inline]
    pub fn is_timed(&self) -> bool {
        !matches!(self.load, Load::Closed { .. })
    }

    /// True for sessions.
    pub fn has_sessions(&self) -> bool {
        matches!(self.load, Load::Sessions { .. })
    }

    /// True if a new connection would have something to send.
    pub fn wants_connections(&self) -> bool {
        match self.stage {
            Stage::WarmUp | Stage::Measure => self.is_timed() || self.quota > 0,
            Stage::Drain => self.is_timed() && self.waits() > 0,
            Stage::BeforeTraffic | Stage::AfterTraffic => false,
        }
    }

    /// True if messages of the measurement are still to be sent.
    pub fn has_quota(&self) -> bool {
        self.quota > 0
    }

    /// True if the bound on outstanding messages is reached.
    #[inline]
    pub fn is_full(&self) -> bool {
        match &self.load {
            Load::Open { outstanding_max, .. } => self.in_flight + self.waits() >= *outstanding_max,
            Load::Closed { .. } | Load::Sessions { .. } | Load::ThinkingBots { .. } => false,
        }
    }

    /// True if nothing is in flight or waits, and nothing is due before the end of the schedule.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.in_flight == 0
            && (!self.is_timed() || (self.waits() == 0 && self.next_due().0 >= self.end))
    }

    /// Messages in flight on all connections.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// The most messages in flight on each connection.
    pub fn in_flight_each(&self) -> u32 {
        self.in_flight_each
    }

    /// The number of messages that are due and not sent.
    #[inline]
    pub fn waits(&self) -> u64 {
        self.replay.len()
            + match &self.load {
                Load::Open { waiting, .. } => waiting.len(),
                Load::Sessions { beginning, .. } => *beginning,
                Load::Closed { .. } | Load::ThinkingBots { .. } => 0,
            }
    }

    /// The number of waiting messages that were due at `since` or later, when none is held back for an earlier stall.
    pub fn waits_since(&self, since: Instant) -> u64 {
        match &self.load {
            Load::Open { waiting, .. } => waiting.due_since(since),
            Load::Sessions { beginning, .. } => *beginning,
            Load::Closed { .. } | Load::ThinkingBots { .. } => 0,
        }
    }

    /// True if the connection has sent all its messages and received their replies.
    pub fn is_served(&self, place: u32) -> bool {
        let member = &self.members[place as usize];
        member.quota == 0 && member.in_flight == 0
    }

    /// The number of the connection at a place, among those of all workers.
    pub fn number(&self, place: u32) -> u32 {
        self.stripe.number(place.min(self.stripe.connections() - 1))
    }

    fn next_turn(&mut self) -> Option<Batch> {
        match &mut self.load {
            Load::Closed { .. } => {
                while self.allowed() > 0 {
                    let place = self.turns.pop_front()?;
                    let member = &mut self.members[place as usize];
                    if !std::mem::take(&mut member.is_queued) {
                        continue; // Left over from a connection that is gone.
                    }
                    member.turn = TURN_LEN;
                    let wanted = self.in_flight_each.saturating_sub(member.in_flight);
                    let next = self.grant(place, wanted);
                    if self.members[place as usize].may_send(self.in_flight_each) {
                        self.queue(place); // The bound was reached in the middle of its turn.
                    }
                    if let Next::Send(batch) = next {
                        return Some(batch);
                    }
                }
                None
            }
            Load::Open { pick, waiting, .. } => {
                while waiting.len() > 0 {
                    let place = self.turns.pop_front()?;
                    let member = &mut self.members[place as usize];
                    let is_queued = std::mem::take(&mut member.is_queued);
                    if !is_queued || !member.may_send(self.in_flight_each) {
                        continue;
                    }
                    let queue = if *pick == Pick::Own { place as usize } else { 0 };
                    let Some(due) = waiting.pop(queue) else { continue };
                    let possible = due.max(member.since);
                    self.count(place, 1);
                    self.queue_if_wanted(place);
                    return Some(Batch { place, count: 1, due: Some(due), possible });
                }
                None
            }
            Load::Sessions { .. } | Load::ThinkingBots { .. } => None,
        }
    }

    /// Grants up to `wanted` messages of a closed loop to a connection: as many as it, the measurement and the bound on
    /// messages in flight allow.
    #[inline]
    fn grant(&mut self, place: u32, wanted: u32) -> Next {
        let allowed = u32::try_from(self.allowed()).unwrap_or(u32::MAX);
        let member = &self.members[place as usize];
        let count = allowed.min(wanted).min(member.quota);
        if count == 0 || !member.is_open {
            return Next::Others;
        }
        self.count(place, count);
        if self.counts_quota() {
            self.quota -= u64::from(count);
        }
        Next::Send(Batch { place, count, due: None, possible: Instant::NEVER })
    }

    /// Counts `count` messages that will be sent on a connection.
    #[inline]
    fn count(&mut self, place: u32, count: u32) {
        let member = &mut self.members[place as usize];
        member.in_flight += count;
        if member.quota != u32::MAX {
            member.quota -= count;
        }
        self.in_flight += u64::from(count);
    }

    /// The number of messages of a closed loop that may be sent now. Short-lived clients that began in the measurement
    /// are followed to their end.
    #[inline]
    fn allowed(&self) -> u64 {
        let by_stage = match self.stage {
            Stage::WarmUp => u64::MAX,
            Stage::Measure => self.quota,
            Stage::Drain if self.messages_each != u32::MAX => self.quota,
            Stage::BeforeTraffic | Stage::Drain | Stage::AfterTraffic => 0,
        };
        match self.load {
            Load::Closed { in_flight_max } => by_stage.min(in_flight_max - self.in_flight),
            Load::Open { .. } | Load::Sessions { .. } | Load::ThinkingBots { .. } => by_stage,
        }
    }

    #[inline]
    fn counts_quota(&self) -> bool {
        self.quota != u64::MAX && self.stage >= Stage::Measure
    }

    /// Queues the connection for its turn, if it has something to send or may have.
    fn queue_if_wanted(&mut self, place: u32) {
        let is_wanted = match &self.load {
            Load::Closed { .. } | Load::Open { pick: Pick::Any, .. } => true,
            Load::Open { pick: Pick::Own, waiting, .. } => !waiting.is_empty(place as usize),
            Load::Open { pick: Pick::Elsewhere, .. }
            | Load::Sessions { .. }
            | Load::ThinkingBots { .. } => false,
        };
        if is_wanted && self.members[place as usize].may_send(self.in_flight_each) {
            self.queue(place);
        }
    }

    fn queue(&mut self, place: u32) -> Next {
        if !std::mem::replace(&mut self.members[place as usize].is_queued, true) {
            self.turns.push_back(place);
        }
        Next::Others
    }

    /// Schedules the next message of a session or a bot: it is due a think time after `now`.
    fn think(&mut self, place: u32, now: Instant) -> Next {
        let generation = self.members[place as usize].generation;
        match &mut self.load {
            Load::Sessions { thinkers, .. } | Load::ThinkingBots { thinkers, .. } => {
                let due = now + thinkers.think;
                thinkers.queue.push_back((due, Thinker { place, generation }));
                let is_waited_for = due < self.end && self.stage != Stage::AfterTraffic;
                if is_waited_for { Next::Thinks(due) } else { Next::Others }
            }
            Load::Closed { .. } | Load::Open { .. } => Next::Others,
        }
    }
}

impl Member {
    const VACANT: Self = Self {
        is_open: false,
        is_queued: false,
        generation: 0,
        quota: 0,
        in_flight: 0,
        turn: 0,
        since: Instant::NEVER,
    };

    /// True if it has more to send, and fewer than `in_flight_each` messages in flight.
    #[inline]
    fn may_send(&self, in_flight_each: u32) -> bool {
        self.is_open && self.quota > 0 && self.in_flight < in_flight_each
    }
}

fn place(index: usize) -> u32 {
    u32::try_from(index).expect("places are numbered by a u32")
}

/// The number of replies in a turn, where connections take turns. A connection that has long been quiet costs the
/// kernel several times as much as a busy one: its memory is cold, and its acknowledgements travel alone.
const TURN_LEN: u32 = 32;

/// The number of waiting messages for which memory is reserved from the start.
const WAITING_RESERVED: usize = 4096;
