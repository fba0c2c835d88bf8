//! The phases of a worker, and everything that happens ten times a second or less: deadlines, intervals, the window.

use crate::Worker;
use crate::absences::Absences;
use crate::connections::{Connection, State};
use crate::recorder::{INTERVAL, Observer, Phase};
use crate::rooms::Rooms;
use engine::{ConnectionId, Metered};
use load::{Batch, Lifetime, Stop};
use record::ErrorClass;
use units::{Instant, Nanos};

impl<O: Observer> Worker<O> {
    /// Lets `keep_time` run at the end of this step: something happened that it may have been waiting for.
    pub(crate) fn attend(&mut self) {
        self.wake_at = Instant::START;
    }

    /// Lets `keep_time` run if everything has been sent and has ended: then there is nothing left to wait for.
    #[inline]
    pub(crate) fn attend_if_idle(&mut self) {
        let sends_no_more = self.phase == Phase::Drain || !self.pace.has_quota();
        if sends_no_more && self.pace.is_idle() {
            self.attend();
        }
    }

    /// Does all that is due, and sets when something is due next.
    pub(crate) fn keep_time<E: Metered>(&mut self, engine: &mut E, now: Instant) {
        if self.phase == Phase::AwaitStart && self.control.is_too_late(now) {
            self.control.stop();
        }
        if self.control.is_stopped() && self.phase < Phase::Done {
            self.stop(engine, now);
        }
        if let Some(change) = self.control.changed_since(&mut self.changes_seen)
            && self.pace.change_rate(change.at, change.rate)
        {
            self.due_at = Instant::START;
        }
        self.start_due(engine, now);
        self.return_due(engine, now);
        self.leave_and_return(engine, now);
        for id in self.connections.late(now, self.pace.is_timed()) {
            self.give_up(engine, id, now);
        }
        self.send_beats(engine, now);
        self.rooms.iter_mut().for_each(|rooms| rooms.note(now));
        self.call_receivers(engine, now);
        self.listen_for_quiet(now);
        while let Some(next) = self.next_phase(now) {
            self.enter(engine, next, now);
        }
        if now >= self.recorder.interval_start() + INTERVAL {
            self.recorder.hand_over(&mut self.observer, self.phase, now);
        }
        self.wake_at = (self.recorder.interval_start() + INTERVAL)
            .min(self.phase_end())
            .min(self.connections.deadlines_from())
            .min(self.connections.next_beat())
            .min(self.connections.next_return())
            .min(self.absences.as_ref().map_or(Instant::NEVER, Absences::next))
            .min(self.next_start());
        if self.calls() {
            self.wake_at = self.wake_at.min(self.call_at);
        }
        if self.phase == Phase::Drain && self.is_pushed_to() {
            self.wake_at = self.wake_at.min(now + QUIET);
        }
        if self.phase == Phase::AwaitStart {
            self.wake_at = self.wake_at.min(now + START_POLL).min(self.control.started_at());
        }
    }

    /// The latest end of the phase.
    pub(crate) fn phase_end(&self) -> Instant {
        match self.phase {
            Phase::WarmUp | Phase::Measure => self.pace.end(),
            Phase::Connect | Phase::AwaitStart | Phase::Drain | Phase::Close | Phase::Done => {
                self.patience_end
            }
        }
    }

    /// True before the traffic, while the connections that live through all phases are opened.
    pub(crate) fn is_connecting(&self) -> bool {
        self.phase == Phase::Connect && self.workload.lifetime == Lifetime::Long
    }

    /// True once all connections that live through all phases have opened or failed.
    fn is_connected(&self) -> bool {
        self.connections.opening() == 0 && self.connections.to_start == 0
    }

    /// True if publishers send unscheduled messages: until all subscriptions are proved, those on other machines too,
    /// and in the drain, after the last scheduled message, until no delivery is missing.
    fn calls(&self) -> bool {
        let Some(rooms) = &self.rooms else { return false };
        match self.phase {
            Phase::Connect => self.is_connected() && rooms.unproved() > 0,
            Phase::Drain => self.pace.waits() == 0 && !rooms.is_complete(),
            Phase::AwaitStart => {
                rooms.calls_others() && self.control.started_at() == Instant::NEVER
            }
            Phase::WarmUp | Phase::Measure | Phase::Close | Phase::Done => false,
        }
    }

    /// Has each publisher send an unscheduled message to its room, if it is time. Its due instant is the very
    /// beginning, so that it belongs to no measurement.
    fn call_receivers<E: Metered>(&mut self, engine: &mut E, now: Instant) {
        if now < self.call_at || !self.calls() {
            return;
        }
        if self.phase == Phase::Connect {
            self.give_up_unproved(engine, now);
        }
        let publishers = self.rooms.as_ref().map_or(0..0, Rooms::publishers);
        for place in publishers {
            let Some(connection) = self.connections.at(place) else { continue };
            if connection.state == State::Open {
                let due = Some(Instant::START);
                let batch = self.pace.besides(Batch { place, count: 1, due, possible: now });
                self.send(engine, batch);
            }
        }
        if self.phase == Phase::Drain {
            self.rooms.iter_mut().for_each(Rooms::marked);
        }
        self.call_at = now + CALL_EVERY;
    }

    /// Drops receivers that no message of their room has reached in time.
    fn give_up_unproved<E: Metered>(&mut self, engine: &mut E, now: Instant) {
        let Some(rooms) = &self.rooms else { return };
        let (waited, from) = (self.workload.timeouts.handshake, rooms.proved_from());
        let is_late = |connection: &&Connection| {
            rooms.is_unproved(connection.place) && now >= connection.since.max(from) + waited
        };
        let late: Vec<ConnectionId> =
            self.connections.iter().filter(is_late).map(|connection| connection.id).collect();
        for id in late {
            self.lose(engine, id, ErrorClass::HandshakeTimedOut, || {
                format!(
                    "no message of its room arrived within {waited}, so its subscription is not proved"
                )
            });
        }
    }

    /// Gives up the deliveries that are still missing.
    fn give_up_deliveries(&mut self, now: Instant) {
        let least = self.workload.timeouts.reply;
        let begin = self.window.map_or(now, |(begin, _)| begin);
        if let Some(rooms) = &mut self.rooms {
            rooms.give_up(begin, now, least, |due| self.recorder.undelivered(due, now));
        }
    }

    /// True if a connection may receive messages that do not answer its own.
    fn is_pushed_to(&self) -> bool {
        self.target.pushes() || self.workload.requests.is_some()
    }

    /// True once we end connections.
    pub(crate) fn is_closing(&self) -> bool {
        self.phase >= Phase::Close
    }

    /// Notes whether replies still arrive. The very last replies are also delivered to other players at their tables,
    /// and these deliveries are awaited so that the sums add up.
    fn listen_for_quiet(&mut self, now: Instant) {
        let heard = self.recorder.heard();
        if self.phase < Phase::Drain || self.pace.in_flight() > 0 || heard != self.quiet.1 {
            self.quiet = (now, heard);
        }
    }

    /// The phase to enter now, if the current one is over.
    fn next_phase(&self, now: Instant) -> Option<Phase> {
        let time_is_up = now >= self.phase_end();
        let short_lived = self.workload.lifetime != Lifetime::Long;
        let every_client_counts = matches!(self.workload.phases.stop, Stop::Clients(_));
        // A due message waits for a connection, if there has ever been one.
        let nothing_left = match self.pace.is_timed() {
            true => !short_lived && self.recorder.connections.opened == 0,
            false => self.connections.none_left(),
        };
        match self.phase {
            Phase::Connect if short_lived => Some(Phase::AwaitStart),
            Phase::Connect => (self.is_connected() && !self.calls()).then_some(Phase::AwaitStart),
            Phase::AwaitStart if now < self.control.started_at() => None,
            Phase::AwaitStart
                if self.workload.phases.warm_up == Nanos::ZERO || every_client_counts =>
            {
                Some(Phase::Measure)
            }
            Phase::AwaitStart => Some(Phase::WarmUp),
            Phase::WarmUp => (time_is_up || nothing_left).then_some(Phase::Measure),
            Phase::Measure => {
                let all_sent =
                    !self.pace.is_timed() && !self.pace.has_quota() && self.pace.is_idle();
                (time_is_up || nothing_left || all_sent).then_some(Phase::Drain)
            }
            Phase::Drain => {
                let follows_clients = !self.pace.is_timed() && short_lived && self.pace.has_quota();
                let all_ended = match follows_clients {
                    true => self.connections.live() == 0,
                    false => self.pace.is_idle(),
                };
                let is_quiet = !self.is_pushed_to() || now >= self.quiet.0 + QUIET;
                let all_delivered = self.rooms.as_ref().is_none_or(Rooms::is_complete);
                (time_is_up || (all_ended && all_delivered && is_quiet)).then_some(Phase::Close)
            }
            Phase::Close => (time_is_up || self.connections.live() == 0).then_some(Phase::Done),
            Phase::Done => None,
        }
    }

    fn enter<E: Metered>(&mut self, engine: &mut E, phase: Phase, now: Instant) {
        let traffic_began = self.phase >= Phase::WarmUp;
        if self.phase == Phase::Measure {
            self.end_window(engine, now);
        }
        if phase == Phase::Close {
            self.stop_sending();
            self.give_up_deliveries(now);
            self.absences = None; // No receiver comes back any more.
        }
        self.recorder.hand_over(&mut self.observer, phase, now);
        let begin = self.nominal(phase, now);
        self.phase = phase;
        let phases = self.workload.phases;
        match phase {
            Phase::Connect | Phase::Done => {}
            Phase::AwaitStart => {
                let is_timed = self.pace.is_timed();
                let lead = if is_timed { START_POLL + START_POLL } else { Nanos::ZERO };
                self.control.arrive(now, lead);
            }
            Phase::WarmUp => self.pace.warm_up(begin + phases.warm_up),
            Phase::Measure => {
                let end = match phases.stop {
                    Stop::After(time) => begin + time,
                    Stop::Clients(_) | Stop::Messages(_) => Instant::NEVER,
                };
                self.begin_window(engine, begin, now);
                self.pace.measure(self.recorder.measured_from(), end);
            }
            Phase::Drain => {
                self.patience_end = now + phases.drain;
                self.connections.to_start = 0;
                self.call_at = now;
                self.observer.phase(Phase::Drain, now);
            }
            Phase::Close => {
                self.patience_end = now + self.workload.timeouts.close;
                self.close_all(engine, now);
            }
        }
        if matches!(phase, Phase::WarmUp | Phase::Measure) {
            self.due_at = Instant::START;
            if !traffic_began {
                self.begin_traffic(engine, now);
            }
        }
    }

    /// The nominal start of the phase that is entered at `now`: an open loop keeps to its schedule, which starts with
    /// the traffic.
    fn nominal(&self, phase: Phase, now: Instant) -> Instant {
        let start = self.control.started_at();
        if self.pace.is_timed() && phase == Phase::WarmUp {
            start
        } else if self.pace.is_timed() && phase == Phase::Measure {
            now.min(start + self.workload.phases.warm_up)
        } else {
            now
        }
    }

    /// Begins the measured window at `begin`; it is `now`.
    fn begin_window<E: Metered>(&mut self, engine: &mut E, begin: Instant, now: Instant) {
        self.window = Some((begin, begin));
        self.observer.phase(Phase::Measure, now);
        self.begin_stream(engine);
        self.slow_down(engine, true);
        if let (Some(absences), Some(rooms)) = (&mut self.absences, &self.rooms) {
            absences.begin(begin, rooms.receivers());
        }
        for connection in self.connections.iter_mut() {
            connection.replies = 0;
        }
        if self.pace.is_timed() {
            return self.recorder.measure_from(begin);
        }
        // Messages that the warm-up sent at this very instant belong to the warm-up.
        let newest = self.connections.iter().filter_map(|it| it.in_flight.newest());
        let newest = newest.map(|flight| flight.sent).max();
        self.recorder.measure_from(newest.map_or(now, |sent| now.max(sent + Nanos(1))));
        if let (Lifetime::RoundTrips(each), Stop::Messages(messages)) =
            (self.workload.lifetime, self.workload.phases.stop)
        {
            // As many clients as the messages need: what failing clients leave over is not sent.
            self.connections.to_start = messages.get().div_ceil(u64::from(each.get()));
        }
    }

    /// Ends the measured window at `now`, or at the end that the pace had set before.
    fn end_window<E: Metered>(&mut self, engine: &mut E, now: Instant) {
        self.end_stream(engine);
        self.slow_down(engine, false);
        self.absences.iter_mut().for_each(|absences| absences.end(now));
        self.rooms.iter_mut().for_each(Rooms::measured);
        let Some((begin, end)) = &mut self.window else { return };
        *end = now;
        if self.pace.is_timed() {
            *end = now.min(self.pace.end()).max(*begin);
        }
        self.recorder.measure_until(*end);
        self.pace.drain(*end);
        if self.workload.lifetime == Lifetime::Long {
            let lived_through = self
                .connections
                .iter()
                .filter(|connection| connection.state == State::Open && connection.since <= *begin)
                .filter(|it| self.rooms.as_ref().is_none_or(|rooms| rooms.is_read(it.place)));
            for connection in lived_through {
                self.recorder.lived_through(connection.replies);
            }
        }
    }

    /// Makes slow receivers stop reading (`stops`), or read again.
    fn slow_down<E: Metered>(&mut self, engine: &mut E, stops: bool) {
        for place in self.rooms.as_ref().map_or(0..0, Rooms::slow) {
            let open = self.connections.at(place).filter(|it| it.state == State::Open);
            open.into_iter().for_each(|connection| engine.pause(connection.id, stops));
        }
    }

    /// Starts the traffic: the first messages on all open connections.
    fn begin_traffic<E: Metered>(&mut self, engine: &mut E, now: Instant) {
        let start = self.control.started_at();
        if self.pace.is_timed() && self.phase == Phase::WarmUp {
            self.recorder.measure_from(self.pace.end());
        }
        self.rooms.iter_mut().for_each(|rooms| rooms.begin(start, &self.workload));
        self.pace.start(start);
        self.send_in_turn(engine);
        self.start_due(engine, now);
        self.alive_until = engine.now();
    }

    fn close_all<E: Metered>(&mut self, engine: &mut E, now: Instant) {
        self.forget_returning(engine);
        let all: Vec<ConnectionId> =
            self.connections.iter().map(|connection| connection.id).collect();
        for id in all {
            let Some(connection) = self.connections.find(id) else { continue };
            match connection.state {
                State::Open if connection.in_flight.is_empty() => self.begin_end(engine, id, now),
                State::AwaitClose => {}
                State::AwaitConnect
                | State::AwaitBefore
                | State::AwaitTls
                | State::AwaitHandshake
                | State::Open
                | State::Unfit => self.forget(engine, id),
            }
        }
    }

    /// Ends at once; messages in flight stay without a reply.
    fn stop<E: Metered>(&mut self, engine: &mut E, now: Instant) {
        if self.phase == Phase::Measure {
            self.end_window(engine, now);
            self.observer.phase(Phase::Drain, now);
        } else {
            self.pace.end_at(now);
        }
        self.stop_sending();
        self.give_up_deliveries(now);
        self.recorder.hand_over(&mut self.observer, Phase::Done, now);
        self.phase = Phase::Done;
    }

    /// Stops sending, and counts what was due and will not be sent.
    fn stop_sending(&mut self) {
        self.pace.stop(|due, count| self.recorder.unsent(due, count));
        self.alive_until = Instant::NEVER;
        self.due_at = Instant::NEVER;
    }
}

/// The time without a delivery after which a drain believes that nothing follows.
const QUIET: Nanos = Nanos::from_millis(50);

/// The time between two unscheduled messages of a publisher.
const CALL_EVERY: Nanos = Nanos::from_millis(100);

/// The time between two checks whether all other workers are ready.
const START_POLL: Nanos = Nanos::from_millis(1);
