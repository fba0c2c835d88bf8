//! The open loop: from the schedule to what waits, and from there to a connection.
//!
//! A message is due at an instant that follows from its index, and keeps it, whatever happens: if it cannot be sent
//! then it waits, is sent late, and is measured from due. Three things decide when it is sent:
//!
//! - at most so many messages are outstanding; an arrival beyond that is counted as unsent, and nothing else is;
//! - it waits for a connection: any that can send ([`Pick::Any`]), or its own ([`Pick::Own`]);
//! - what was due while our own loop stood still is held back as long as the gap was: the schedule of the gap is
//!   replayed beside the current one, so a server never sees more than twice the rate because of us.
//!
//! Partly open: a session begins when it is due, with a connect, and its first message is due at the same instant, so
//! connect and handshake are inside its response time; they are timed apart as phases too. Each next message is due
//! some time after the reply to the last one.
//!
//! Closed bots think too, but live through all phases, and nothing is due that has not been made so by a reply: their
//! first messages are spread over one think time, by the seed.
//!
//! Start reading at [`Worker::keep_schedule`].

use crate::Worker;
use crate::connection::{Connection, State, find};
use crate::recorder::{Observer, Phase};
use crate::waiting::Waiting;
use engine::{ConnectionId, Engine};
use load::{Arrival, Arrivals, Pick, Stripe, Workload};
use std::collections::VecDeque;
use units::{Instant, Nanos, Random};

/// What an open loop keeps besides its connections.
#[derive(Debug)]
pub(crate) struct Pacing {
    /// None where bots think.
    arrivals: Option<Arrivals>,
    /// When the schedule starts.
    start: Instant,
    /// What is due from here on is none of ours.
    pub(crate) end: Instant,
    loops: Loops,
    outstanding_max: u64,
    waiting: Waiting,
    replay: Replay,
    /// Sessions and bots whose next message is due later, by that.
    thinking: VecDeque<(Instant, ConnectionId)>,
    /// Sessions that have begun and whose connection is not open yet: their first message waits.
    beginning: u64,
    /// Places without a connection: which connection of this part a new one becomes, from 0.
    vacant: VecDeque<u32>,
    stripe: Stripe,
    /// The phases of bots that think.
    phases: Random,
}

/// Which message goes where.
#[derive(Debug)]
enum Loops {
    /// Each on any connection that can send.
    Any,
    /// Each on its own: the connection of each place, if there is one.
    Own(Vec<Option<ConnectionId>>),
    /// Each on its own, some time after the reply to the last one.
    Thinking {
        /// From a reply to the next message.
        think: Nanos,
    },
    /// Each on the connection of its session.
    Sessions {
        /// From a reply to the next message.
        think: Nanos,
    },
}

/// Whose message is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// The schedule's, and on its part the one of this connection, from 0.
    Schedule(u32),
    /// A session's that has begun, or a bot's that has thought.
    Thinker(ConnectionId),
}

/// What has become of a message that was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// To be sent.
    Due(Instant, Whose),
    /// To be sent, after it was held.
    Released(Instant, Whose),
    /// Due in the gap that ended at the second instant, and to be sent later.
    Held(Instant, Instant),
    /// Not to be sent: so many from this instant on, in the gap that ended at this instant if in one.
    Unsent(Instant, u64, Option<Instant>),
}

impl Pacing {
    /// None for a closed loop.
    pub(crate) fn new(workload: &Workload) -> Option<Self> {
        let (schedule, loops, outstanding_max) = match &workload.arrival {
            Arrival::Closed { .. } => return None,
            Arrival::Open { schedule, pick: Pick::Any, in_flight_max } => {
                (Some(schedule), Loops::Any, in_flight_max.get().into())
            }
            Arrival::Open { schedule, pick: Pick::Own, in_flight_max } => {
                let connections = workload.connections.get() as usize;
                (Some(schedule), Loops::Own(vec![None; connections]), in_flight_max.get().into())
            }
            Arrival::Sessions { schedule, think } => {
                (Some(schedule), Loops::Sessions { think: *think }, u64::MAX)
            }
            Arrival::Think { think } => (None, Loops::Thinking { think: *think }, u64::MAX),
        };
        let queues = if let Loops::Own(places) = &loops { places.len() } else { 1 };
        let expected = usize::try_from(outstanding_max).unwrap_or(0).min(WAITING_RESERVED);
        Some(Self {
            arrivals: schedule.map(|schedule| schedule.arrivals(workload.seed)),
            start: Instant::NEVER,
            end: Instant::NEVER,
            loops,
            outstanding_max,
            waiting: Waiting::new(queues, expected),
            replay: Replay::default(),
            thinking: VecDeque::with_capacity(workload.connections.get() as usize),
            beginning: 0,
            vacant: (0..workload.connections.get()).collect(),
            stripe: schedule
                .map_or_else(|| Stripe::whole(workload.connections), |schedule| schedule.stripe),
            phases: Random::new(workload.seed),
        })
    }

    pub(crate) fn start_at(&mut self, start: Instant) {
        self.start = start;
    }

    pub(crate) fn has_sessions(&self) -> bool {
        matches!(self.loops, Loops::Sessions { .. })
    }

    /// Whether all that is ever due was made so by a reply.
    pub(crate) fn has_bots_that_think(&self) -> bool {
        matches!(self.loops, Loops::Thinking { .. })
    }

    /// All bots begin, each at a random phase of its think time from the start on.
    pub(crate) fn begin_thinking(&mut self, bots: &[ConnectionId]) {
        let Loops::Thinking { think } = self.loops else { return };
        let span = usize::try_from(think.0).unwrap_or(usize::MAX).max(1);
        let mut due: Vec<(Instant, ConnectionId)> = bots
            .iter()
            .map(|id| (self.start + Nanos(self.phases.below(span) as u64), *id))
            .collect();
        due.sort_by_key(|(due, _)| *due);
        self.thinking.extend(due);
    }

    /// A place for a new connection, and the connection's number among those of all workers.
    pub(crate) fn place(&mut self) -> (u32, u32) {
        let place = self.vacant.pop_front().unwrap_or(0);
        (place, self.stripe.number(place.min(self.stripe.connections() - 1)))
    }

    /// Whether nothing waits any more, and nothing is due before the end.
    pub(crate) fn is_done(&self) -> bool {
        self.waits() == 0 && self.next_due().0 >= self.end
    }

    fn is_full(&self, in_flight: u64) -> bool {
        in_flight + self.waits() >= self.outstanding_max
    }

    /// How many messages are due and not sent.
    pub(crate) fn waits(&self) -> u64 {
        self.waiting.len() + self.replay.held.len() as u64 + self.beginning
    }

    /// How many of them were due at `since` or later, which no message is that is held back for a stall before that.
    pub(crate) fn waits_since(&self, since: Instant) -> u64 {
        self.waiting.due_since(since) + self.beginning
    }

    /// When the schedule has its next arrival.
    pub(crate) fn next_arrival(&self) -> Instant {
        let arrivals = self.arrivals.as_ref();
        arrivals.map_or(Instant::NEVER, |arrivals| self.start + arrivals.next_due().at)
    }

    /// The message of a session or of a bot is due `think` from `now` on.
    fn think(&mut self, id: ConnectionId, now: Instant) {
        if let Loops::Sessions { think } | Loops::Thinking { think } = self.loops {
            self.thinking.push_back((now + think, id));
        }
    }

    /// When something is due next.
    fn wake_at(&self) -> Instant {
        let due = self.next_due().0;
        let due = if due < self.end { due } else { Instant::NEVER };
        due.min(self.replay.next())
    }

    fn next_due(&self) -> (Instant, Option<ConnectionId>) {
        let arrival = self.next_arrival();
        match self.thinking.front() {
            Some((due, id)) if *due < arrival => (*due, Some(*id)),
            _ => (arrival, None),
        }
    }

    /// The loop stood still: what is due meanwhile is held back, and what is held back already is so for longer.
    pub(crate) fn stalled(&mut self, from: Instant, until: Instant) {
        self.replay.forget_before(self.next_due().0);
        self.replay.stalled(from, until);
    }

    /// The next message that is due by `now`, while `in_flight` messages are in flight. Those that will not be sent
    /// come together, `quota` of them at most, but not those before `boundary` with those after it.
    fn take(
        &mut self,
        now: Instant,
        in_flight: u64,
        quota: u64,
        boundary: Instant,
    ) -> Option<Taken> {
        if let Some((due, whose)) = self.replay.release(now) {
            return Some(Taken::Released(due, whose));
        }
        let (due, thinker) = self.next_due();
        if due > now || due >= self.end {
            return None;
        }
        self.replay.forget_before(due);
        let gap = self.replay.gap_of(due).map(|gap| gap.until);
        if thinker.is_none() && self.is_full(in_flight) {
            let limit = self.end.min(now + Nanos(1)).min(gap.unwrap_or(Instant::NEVER));
            let count = self.skip(due, limit.min(due + SKIPPED_MAX), boundary, quota);
            return Some(Taken::Unsent(due, count, gap));
        }
        let whose = match (thinker, &mut self.arrivals) {
            (None, Some(arrivals)) => {
                let connection = arrivals.next_due().connection;
                arrivals.advance();
                Whose::Schedule(connection)
            }
            (thinker, _) => {
                self.thinking.pop_front();
                Whose::Thinker(thinker?)
            }
        };
        let Some(until) = gap else { return Some(Taken::Due(due, whose)) };
        self.replay.held.push_back((due, whose));
        Some(Taken::Held(due, until))
    }

    /// Takes everything that is due before the end and was not sent: so many from an instant on, at a time.
    fn take_unsent(&mut self, boundary: Instant, mut each: impl FnMut(Instant, u64)) {
        self.take_waiting(&mut each);
        if self.has_bots_that_think() {
            return; // No schedule wanted it.
        }
        while let Some((due, _)) = self.thinking.pop_front()
            && due < self.end
        {
            each(due, 1);
        }
        loop {
            let due = self.next_arrival();
            if due >= self.end {
                return;
            }
            let count = self.skip(due, self.end, boundary, u64::MAX);
            each(due, count);
        }
    }

    /// Leaves out the arrivals from `due` on that are due before `limit`, at most `count_max`, but not those before
    /// `boundary` together with those after it. Says how many.
    fn skip(&mut self, due: Instant, limit: Instant, boundary: Instant, count_max: u64) -> u64 {
        let limit = if due < boundary { limit.min(boundary) } else { limit };
        let Some(arrivals) = &mut self.arrivals else { return 0 };
        if count_max == u64::MAX {
            return arrivals.skip_before(limit.since(self.start));
        }
        let mut count = 0;
        while count < count_max && self.start + arrivals.next_due().at < limit {
            arrivals.advance();
            count += 1;
        }
        count
    }

    /// Takes everything that was to be sent and waits.
    fn take_waiting(&mut self, each: &mut impl FnMut(Instant, u64)) {
        self.waiting.drain(|due| each(due, 1));
        self.replay.held.drain(..).for_each(|(due, _)| each(due, 1));
    }
}

/// What was due while the worker's loop stood still, to be sent later at the pace of the schedule.
#[derive(Debug, Default)]
struct Replay {
    /// By due.
    held: VecDeque<(Instant, Whose)>,
    /// Those that held messages were due in, and those that arrivals not taken yet may be due in.
    gaps: VecDeque<Gap>,
}

/// A gap in the worker's loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    from: Instant,
    until: Instant,
    /// How much later than due its messages are sent.
    shift: Nanos,
}

impl Replay {
    /// Each gap is replayed when the one before it was. The clock of replaying stands still in a gap.
    fn stalled(&mut self, from: Instant, until: Instant) {
        let length = until.since(from);
        self.gaps.iter_mut().for_each(|gap| gap.shift += length);
        let free = self.gaps.back().map_or(until, |gap| until.max(gap.until + gap.shift));
        self.gaps.push_back(Gap { from, until, shift: free.since(from) });
    }

    /// Takes the next message that is to be sent by `now`.
    fn release(&mut self, now: Instant) -> Option<(Instant, Whose)> {
        if self.next() <= now { self.held.pop_front() } else { None }
    }

    /// When the next message is to be sent.
    fn next(&self) -> Instant {
        self.held.front().map_or(Instant::NEVER, |(due, _)| {
            self.gap_of(*due).map_or(*due, |gap| *due + gap.shift)
        })
    }

    fn gap_of(&self, due: Instant) -> Option<&Gap> {
        self.gaps.iter().find(|gap| gap.from <= due && due < gap.until)
    }

    /// Nothing that is due before `due` is taken any more.
    fn forget_before(&mut self, due: Instant) {
        let oldest = self.held.front().map_or(due, |(held, _)| due.min(*held));
        while self.gaps.front().is_some_and(|gap| gap.until <= oldest) {
            self.gaps.pop_front();
        }
    }
}

impl<O: Observer> Worker<O> {
    /// Takes what has become due, and sends what can be sent.
    pub(crate) fn keep_schedule<E: Engine>(&mut self, engine: &mut E, now: Instant) {
        let mut is_behind = true;
        for _ in 0..TAKEN_MAX {
            match self.take(now) {
                Some(Taken::Due(due, whose) | Taken::Released(due, whose)) => {
                    self.line_up(engine, due, whose);
                }
                Some(Taken::Held(_, gap)) => self.recorder.affected(gap, 1),
                Some(Taken::Unsent(due, count, gap)) => {
                    self.recorder.unsent(due, count);
                    if let Some(gap) = gap {
                        self.recorder.affected(gap, count);
                    }
                }
                None => {
                    is_behind = false;
                    break;
                }
            }
        }
        self.send_in_line(engine);
        self.attend_if_done();
        let Some(pacing) = &self.pacing else { return };
        is_behind |= pacing.waiting.len() > 0 && !self.turns.is_empty();
        self.due_at = if is_behind {
            Instant::START
        } else if self.is_full() {
            // Arrivals are counted before the next reply makes room, and not one by one.
            pacing.replay.next().min(now + BEAT)
        } else {
            pacing.wake_at().min(now + BEAT)
        };
    }

    /// Whether as many messages are outstanding as may be.
    pub(crate) fn is_full(&self) -> bool {
        self.pacing.as_ref().is_some_and(|pacing| pacing.is_full(self.in_flight))
    }

    /// The next message that is due; it is one less of those that the measurement was asked for.
    fn take(&mut self, now: Instant) -> Option<Taken> {
        let pacing = self.pacing.as_mut()?;
        let begin = self.recorder.measured_from();
        let taken = pacing.take(now, self.in_flight, self.quota, begin)?;
        let (due, count) = match taken {
            Taken::Due(due, _) | Taken::Held(due, _) => (due, 1),
            Taken::Unsent(due, count, _) => (due, count),
            Taken::Released(..) => return Some(taken),
        };
        if self.quota != u64::MAX && due >= begin {
            self.quota -= count;
            if self.quota == 0 {
                // The measurement goes on until one more would be due.
                let next = match pacing.loops {
                    Loops::Any | Loops::Own(_) => pacing.next_arrival(),
                    Loops::Sessions { .. } | Loops::Thinking { .. } => now,
                };
                pacing.end = next;
                self.phase_end = next;
                self.attend();
            }
        }
        Some(taken)
    }

    /// A message is due: it waits for a connection, begins a session, or goes on with one.
    fn line_up<E: Engine>(&mut self, engine: &mut E, due: Instant, whose: Whose) {
        let Some(pacing) = &mut self.pacing else { return };
        match (whose, &pacing.loops) {
            (Whose::Schedule(_), Loops::Any) => pacing.waiting.push(0, due),
            (Whose::Schedule(place), Loops::Own(places)) => {
                let connection = places[place as usize];
                pacing.waiting.push(place as usize, due);
                if let Some(id) = connection {
                    self.wait_for_turn(id);
                }
            }
            (Whose::Schedule(_), Loops::Sessions { .. }) => self.begin_session(engine, due),
            (Whose::Schedule(_), Loops::Thinking { .. }) => {} // It has none.
            (Whose::Thinker(id), _) => self.go_on(engine, id, due),
        }
    }

    /// Sends what waits on the connections whose turn it is, as far as there are such.
    pub(crate) fn send_in_line<E: Engine>(&mut self, engine: &mut E) {
        for _ in 0..SENDS_MAX {
            let Some(pacing) = &mut self.pacing else { return };
            if pacing.waiting.len() == 0 {
                return;
            }
            let Some(id) = self.turns.pop_front() else { return };
            // An entry may be left over from a connection that was closed; its index may belong to another one.
            let Some(connection) = find(&mut self.connections, id) else { continue };
            connection.queued = false;
            if !connection.may_send(self.in_flight_each) {
                continue;
            }
            let queue =
                if let Loops::Own(_) = pacing.loops { connection.place as usize } else { 0 };
            let Some(due) = pacing.waiting.pop(queue) else { continue };
            let free_since = connection.free_since;
            self.send_due(engine, id, due, due.max(free_since));
            self.wait_if_free(id);
        }
        self.due_at = Instant::START; // There may be more than is sent at once.
    }

    /// A connection that can send waits for its turn, if there is something for it to send or may be.
    fn wait_if_free(&mut self, id: ConnectionId) {
        let Some(pacing) = &self.pacing else { return };
        let Some(connection) = find(&mut self.connections, id) else { return };
        let is_wanted = match &pacing.loops {
            Loops::Any => true,
            Loops::Own(_) => !pacing.waiting.is_empty(connection.place as usize),
            Loops::Sessions { .. } | Loops::Thinking { .. } => false,
        };
        if is_wanted && connection.may_send(self.in_flight_each) {
            self.wait_for_turn(id);
        }
    }

    /// A connection is open for messages.
    pub(crate) fn begin_due<E: Engine>(&mut self, engine: &mut E, id: ConnectionId) {
        let Some(pacing) = &mut self.pacing else { return };
        let Some(connection) = find(&mut self.connections, id) else { return };
        match &mut pacing.loops {
            Loops::Any => {}
            Loops::Own(places) => places[connection.place as usize] = Some(id),
            Loops::Sessions { .. } => {
                pacing.beginning -= 1;
                // The time that its connect and its handshake took is in its response time, but it is not ours.
                let opening = connection.free_since.since(connection.began);
                let due = connection.due;
                return self.send_due(engine, id, due, due + opening);
            }
            Loops::Thinking { .. } => {
                let now = connection.since;
                pacing.think(id, now); // In the place of one that was lost.
                self.due_at = self.due_at.min(pacing.wake_at());
            }
        }
        self.flush(engine, id); // Before others have their turn.
        self.wait_if_free(id);
        self.send_in_line(engine);
    }

    /// Replies came at `now`: the connection may be free for what waits, or its session has had one more.
    pub(crate) fn replied_due<E: Engine>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        now: Instant,
    ) {
        let Some(connection) = find(&mut self.connections, id) else { return };
        let Some(pacing) = &mut self.pacing else { return };
        if self.in_flight_each == 1 {
            connection.free_since = now;
        }
        if matches!(pacing.loops, Loops::Any | Loops::Own(_)) {
            self.flush(engine, id); // Before others have their turn.
            self.wait_if_free(id);
            self.send_in_line(engine);
        } else if connection.is_served() {
            if self.recorder.is_measured(connection.due) {
                self.recorder.sessions.completed += 1;
            }
            self.client_served(engine, id);
        } else {
            pacing.think(id, now);
            self.due_at = self.due_at.min(pacing.wake_at());
        }
        self.attend_if_done();
    }

    /// In the drain nothing is waited for once everything has ended.
    pub(crate) fn attend_if_done(&mut self) {
        if self.phase == Phase::Drain
            && self.in_flight == 0
            && self.pacing.as_ref().is_none_or(Pacing::is_done)
        {
            self.attend();
        }
    }

    /// A session is due: it begins if there is room for it.
    fn begin_session<E: Engine>(&mut self, engine: &mut E, due: Instant) {
        let is_measured = self.recorder.is_measured(due);
        let has_room = self.live < self.workload.connections.get();
        if is_measured {
            self.recorder.sessions.planned += 1;
            self.recorder.sessions.started += u64::from(has_room);
        }
        if !has_room {
            return self.recorder.unsent(due, 1);
        }
        self.notice(engine.now());
        self.connect(engine, due);
        if let Some(pacing) = &mut self.pacing {
            pacing.beginning += 1;
        }
    }

    /// The next message of a session or of a bot is due.
    fn go_on<E: Engine>(&mut self, engine: &mut E, id: ConnectionId, due: Instant) {
        match find(&mut self.connections, id) {
            Some(connection) if connection.may_send(1) => self.send_due(engine, id, due, due),
            _ if self.pacing.as_ref().is_some_and(Pacing::has_bots_that_think) => {}
            _ => self.recorder.unsent(due, 1), // Its connection was lost meanwhile.
        }
    }

    /// Counts what was due and will not be sent any more.
    pub(crate) fn leave_unsent(&mut self) {
        let Some(pacing) = &mut self.pacing else { return };
        let recorder = &mut self.recorder;
        let begin = recorder.measured_from();
        if self.quota == u64::MAX {
            pacing.take_unsent(begin, |due, count| recorder.unsent(due, count));
        } else {
            pacing.take_waiting(&mut |due, count| recorder.unsent(due, count));
            if self.window.is_some() {
                recorder.unsent(begin, std::mem::take(&mut self.quota));
            }
        }
    }

    /// The connection is gone, and with it what only it could have sent.
    pub(crate) fn gone(&mut self, connection: &Connection) {
        let Some(pacing) = &mut self.pacing else { return };
        pacing.vacant.push_back(connection.place);
        match &mut pacing.loops {
            Loops::Any | Loops::Thinking { .. } => {}
            Loops::Own(places) => places[connection.place as usize] = None,
            Loops::Sessions { .. } => match connection.state {
                State::AwaitConnect | State::AwaitTls | State::AwaitHandshake => {
                    pacing.beginning -= 1;
                    self.recorder.unsent(connection.due, 1);
                }
                State::Open | State::AwaitClose => {}
            },
        }
    }
}

/// How many arrivals are looked at, and how many messages that wait are sent, before completions are looked at again.
const TAKEN_MAX: u32 = 1024;
const SENDS_MAX: u32 = 256;

/// Of how long a time arrivals that are not sent are left out at once.
const SKIPPED_MAX: Nanos = Nanos::from_millis(1);

/// A worker with a schedule looks at its clock this often at least, so that a gap in its loop is known so exactly.
const BEAT: Nanos = Nanos::from_millis(20);

/// For how many waiting messages there is memory from the start.
const WAITING_RESERVED: usize = 4096;
