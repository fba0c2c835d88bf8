//! The life of a connection: connect, opening handshake, end, and the ways in which it can end early.

use crate::Worker;
use crate::connections::{Connection, State};
use crate::identity::{Answer, Check, numbered};
use crate::in_flight::{Flight, InFlight};
use crate::peer_end::End;
use crate::recorder::{Failure, Observer, Phase, status_words};
use crate::rooms::Leaving;
use crate::text::Words;
use engine::{ConnectionError, ConnectionId, Metered};
use load::{Closing, Lifetime};
use record::ErrorClass;
use units::{Instant, Nanos};
use wire::{Event, MisuseError, Opening, Protocol, TwoSockets};

impl<O: Observer> Worker<O> {
    /// Starts connections that are due and allowed.
    pub(crate) fn start_due<E: Metered>(&mut self, engine: &mut E, now: Instant) {
        while now >= self.next_start() {
            if self.connections.take_start(now) {
                self.recorder.connections.reconnects += 1;
            }
            self.connect(engine, now);
        }
    }

    /// Starts a connection; `due` is the instant at which its session was due, if it is one.
    pub(crate) fn connect<E: Metered>(&mut self, engine: &mut E, due: Instant) {
        let place = self.pace.join(due);
        self.connect_at(engine, place);
    }

    /// Starts a connection that has taken a place.
    fn connect_at<E: Metered>(&mut self, engine: &mut E, place: u32) {
        let nth = self.recorder.connections.started;
        self.recorder.connections.started += 1;
        let target = self.target_at(place);
        let turn = usize::try_from(nth).unwrap_or(0) % target.sources.len().max(1);
        let turn = u16::try_from(turn).unwrap_or(0);
        let source = target.source(turn);
        let now = engine.now(); // Others may have been started since the caller read the clock.
        let id = engine.connect(&target.address, source);
        if target.uses_two() {
            self.expect_second(id, place, source);
        }
        let (first, step) = self.numbers;
        let (among_all, number) = match &mut self.rooms {
            Some(rooms) => {
                rooms.note(now);
                let number = rooms.join(place);
                (number.into(), number)
            }
            None => (first + nth * step, self.pace.number(place)),
        };
        let sampled = self.join_stream();
        self.connections.insert(Connection {
            id,
            place,
            number,
            machine: self
                .target_at(place)
                .stack
                .connection(self.workload.seed.wrapping_add(first + nth * step), among_all),
            state: State::AwaitConnect,
            source: turn,
            replied: false,
            resumes: false,
            is_redirected: false,
            since: now,
            began: now,
            in_flight: InFlight::default(),
            replies: 0,
            sampled,
        });
    }

    /// Notes that a connection is established, the first if the protocol uses two: starts the second if that is needed
    /// now.
    pub(crate) fn connected<E: Metered>(&mut self, engine: &mut E, id: ConnectionId) {
        let needs_second = self.seconds.is_expected(id)
            && self.connections.find(id).is_some_and(|it| it.machine.wants_second());
        if needs_second {
            self.seconds.connect(engine, id, &self.target);
        } else {
            self.established(engine, id);
        }
    }

    /// Begins the opening handshake, if there is one, on a connection that is established.
    pub(crate) fn established<E: Metered>(&mut self, engine: &mut E, id: ConnectionId) {
        let Some(connection) = self.connections.find(id) else { return };
        let now = engine.now();
        let is_before = connection.machine.is_before();
        if let Some(times) = self.recorder.times(connection.began)
            && !is_before
            && !connection.resumes
        {
            times.connect.record(now.since(connection.since));
        }
        connection.since = now;
        let place = connection.place;
        if let Some(ticket) = self.rooms.as_ref().and_then(|rooms| rooms.ticket(place))
            && let Some(talk) = connection.machine.talk()
        {
            talk.come_back(ticket.clone());
        }
        match connection.machine.open(&mut self.tx) {
            Opening::Done => {
                self.opened(id, now);
                self.begin_messages(engine, id);
            }
            Opening::Awaited => {
                let has_tls = self.target_at(place).stack.is_secured();
                let Some(connection) = self.connections.find(id) else { return };
                connection.state = match has_tls {
                    _ if is_before => State::AwaitBefore,
                    true => State::AwaitTls,
                    false => State::AwaitHandshake,
                };
                self.flush(engine, id);
            }
        }
    }

    /// Returns the time after which the machine goes on over another connection that replaces this one; `None` if it
    /// does not. It goes on with the next exchange before a conversation, with the conversation itself, or with a
    /// stream that broke off. A stream is not resumed if the time-out of its reply, or the end of the run, would come
    /// first.
    pub(crate) fn goes_on<E: Metered>(&mut self, engine: &E, id: ConnectionId) -> Option<Nanos> {
        let is_closing = self.is_closing();
        let connection = self.connections.find(id)?;
        if is_closing || matches!(connection.state, State::AwaitClose | State::Unfit) {
            return None;
        }
        let after = connection.machine.go_on(&mut self.tx)?;
        let deadline = connection.reply_deadline(&self.workload.timeouts);
        (engine.now() + after < deadline).then_some(after)
    }

    /// Has the machine go on over another connection ([`Self::goes_on`]), which is made once the time `after` has
    /// passed.
    #[cold]
    pub(crate) fn go_on_anew<E: Metered>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        after: Nanos,
    ) {
        self.flush(engine, id);
        let Some(mut connection) = self.connections.remove(id) else { return };
        self.leave_stream(engine, &connection, None);
        self.seconds.remove(id);
        engine.close(id);
        let now = engine.now();
        connection.resumes |= connection.state == State::Open;
        if !connection.resumes
            && !connection.machine.is_before()
            && let Some(times) = self.recorder.times(connection.began)
        {
            times.before.record(now.since(connection.began));
        }
        if after == Nanos::ZERO {
            return self.connect_anew(engine, connection);
        }
        connection.state = State::AwaitConnect;
        self.connections.keep(connection, now + after);
        self.attend();
    }

    /// Connects the connections that return by `now`.
    pub(crate) fn return_due<E: Metered>(&mut self, engine: &mut E, now: Instant) {
        while let Some(connection) = self.connections.take_returning(now) {
            self.connect_anew(engine, connection);
        }
    }

    /// Connects a connection again that existed before.
    fn connect_anew<E: Metered>(&mut self, engine: &mut E, mut connection: Connection) {
        let now = engine.now();
        let (place, turn) = (connection.place, connection.source);
        let target = self.target_at(place);
        let source = target.source(turn);
        connection.id = engine.connect(&target.address, source);
        if target.uses_two() {
            self.expect_second(connection.id, place, source);
        }
        connection.sampled = self.join_stream();
        (connection.state, connection.since) = (State::AwaitConnect, now);
        self.connections.insert(connection);
    }

    /// Has receivers leave that are due to by `now`, and reconnects those whose absence is over.
    pub(crate) fn leave_and_return<E: Metered>(&mut self, engine: &mut E, now: Instant) {
        while let Some((place, until)) = self.absences.as_mut().and_then(|it| it.take_leave(now)) {
            if let Some(rooms) = self.rooms.as_mut().filter(|rooms| rooms.is_present(place)) {
                rooms.absent();
                self.tear_off(engine, place, until);
            }
        }
        if self.absences.as_mut().is_some_and(|it| it.take_storm(now))
            && let Some(rooms) = &mut self.rooms
        {
            rooms.note(now);
            rooms.storm(now);
            let present: Vec<u32> =
                rooms.receivers().filter(|place| rooms.is_present(*place)).collect();
            for place in present {
                let wait = self.absences.as_mut().map_or(Nanos::ZERO, |it| it.back_off(place));
                self.tear_off(engine, place, now + wait);
            }
        }
        while let Some((place, at)) = self.absences.as_mut().and_then(|it| it.take_return(now)) {
            if let Some(rooms) = &mut self.rooms {
                rooms.comes_back(place, at);
            }
            self.pace.join_at(place, now);
            self.connect_at(engine, place);
        }
    }

    /// Cuts the connection of a receiver, as a network failure would; the receiver comes back at `until`.
    fn tear_off<E: Metered>(&mut self, engine: &mut E, place: u32, until: Instant) {
        let (Some(connection), Some(absences)) = (self.connections.at(place), &mut self.absences)
        else {
            return;
        };
        absences.leave_until(until);
        let id = connection.id;
        self.remove_for(engine, id, Leaving::Planned);
    }

    /// Excuses the end of a connection, or of an attempt to make one, if the run itself has killed what it was
    /// connected to: that is not an error of the server. Returns true if so.
    #[cold]
    fn is_excused<E: Metered>(&mut self, engine: &mut E, id: ConnectionId) -> bool {
        let Some(place) = self.connections.find(id).map(|it| it.place) else { return false };
        if self.target_at(place).lives_on {
            return false;
        }
        let Some(connection) = self.connections.find(id) else { return false };
        let (began, now) = (connection.began, engine.now());
        let Some(killed) = self.control.killed_under(began, now) else { return false };
        if let Some(rooms) = &mut self.rooms {
            rooms.unacknowledged(connection.in_flight.due_since(self.recorder.measured_from()));
        }
        self.connections.failed(now);
        self.reopen(place);
        self.remove_for(engine, id, Leaving::Killed(killed));
        true
    }

    /// True if the connection at a place belongs to a receiver that comes back on its own.
    fn comes_back(&self, place: u32) -> bool {
        let publishes = self.rooms.as_ref().is_none_or(|rooms| rooms.publishes(place));
        let is_traffic = matches!(self.phase, Phase::WarmUp | Phase::Measure | Phase::Drain);
        self.absences.is_some() && is_traffic && !publishes
    }

    /// Has another connection replace the one at a place, which is gone, unless its receiver comes back on its own.
    fn reopen(&mut self, place: u32) {
        if !self.comes_back(place) {
            self.connections.reopen();
        }
    }

    /// Notes that the connection is open for messages.
    pub(crate) fn opened(&mut self, id: ConnectionId, now: Instant) {
        let Some(connection) = self.connections.find(id) else { return };
        if connection.resumes {
            // It was open before, and its message is in flight.
            connection.state = State::Open;
            return self.connections.opened();
        }
        if connection.state == State::AwaitHandshake
            && let Some(times) = self.recorder.times(connection.began)
        {
            times.handshake.record(now.since(connection.since));
        }
        connection.state = State::Open;
        connection.since = now;
        let expected = if self.pace.is_timed() { IN_FLIGHT_RESERVED } else { u32::MAX };
        connection.in_flight.reserve(self.pace.in_flight_each().min(expected) as usize);
        let (mut beat, mut is_restored) = (None, false);
        if let Some(talk) = connection.machine.talk() {
            (beat, is_restored) = (talk.beat_every(), talk.is_restored());
        }
        if let Some(rooms) = &mut self.rooms
            && !is_restored
        // A restored receiver was reported to the rooms as soon as that was known.
        {
            rooms.opened(connection.place);
        }
        if let Some(absences) = &mut self.absences {
            absences.is_back(connection.place);
        }
        self.connections.opened();
        if let Some(every) = beat {
            self.connections.beat_at(now + every.max(BEAT_MIN), id);
        }
        self.recorder.opened();
        self.attend();
    }

    /// Sends the heartbeats that are due by `now`. A connection's heartbeats are due at fixed intervals from its
    /// opening; those that the loop is too late for are skipped.
    pub(crate) fn send_beats<E: Metered>(&mut self, engine: &mut E, now: Instant) {
        while let Some((due, id)) = self.connections.take_beat(now) {
            let Some(connection) = self.connections.find(id) else { continue };
            if connection.state != State::Open {
                continue;
            }
            let Some(talk) = connection.machine.talk() else { continue };
            let Some(every) = talk.beat_every().map(|every| every.max(BEAT_MIN)) else { continue };
            if let Err(error) = talk.beat(&mut self.tx) {
                self.lose(engine, id, ErrorClass::Unsendable, || format!("not sent: {error}"));
                continue;
            }
            let late = now.since(due).0 / every.0;
            self.connections.beat_at(due + Nanos(every.0.saturating_mul(late + 1)), id);
            self.flush(engine, id);
        }
    }

    /// Sends the first messages on an open connection, if it is time for messages.
    pub(crate) fn begin_messages<E: Metered>(&mut self, engine: &mut E, id: ConnectionId) {
        let Some(connection) = self.connections.find(id) else { return };
        if std::mem::take(&mut connection.resumes) {
            if !connection.is_redirected {
                connection.in_flight.oldest().into_iter().for_each(|it| self.recorder.resumed(it));
            }
            return self.flush(engine, id);
        }
        let opening = connection.since.since(connection.began);
        let next = self.pace.opened(connection.place, opening, connection.since);
        self.go_on(engine, id, next);
    }

    /// Records that a short-lived client has completed all its round trips, and ends its connection.
    pub(crate) fn client_served<E: Metered>(&mut self, engine: &mut E, id: ConnectionId) {
        let Some(connection) = self.connections.find(id) else { return };
        let now = engine.now();
        self.recorder.served(connection.began, now);
        self.begin_end(engine, id, now);
    }

    /// Ends a connection properly: sends the protocol's closing messages first.
    pub(crate) fn begin_end<E: Metered>(&mut self, engine: &mut E, id: ConnectionId, now: Instant) {
        let Some(connection) = self.connections.find(id) else { return };
        let answer_owed =
            connection.machine.close(&mut self.tx) && self.workload.closing == Closing::Complete;
        connection.state = State::AwaitClose;
        connection.since = now;
        self.flush(engine, id);
        if !answer_owed {
            self.forget(engine, id);
        }
    }

    /// Notes that the peer will send no more bytes.
    pub(crate) fn ended<E: Metered>(&mut self, engine: &mut E, id: ConnectionId) {
        let Some(connection) = self.connections.find(id) else { return };
        let mut replies = 0;
        let end = match connection.machine.end() {
            Ok(Event::Message(message)) => {
                self.recorder.stream.received(message.payload.len());
                let (workload, recorder) = (&self.workload, &mut self.recorder);
                let check = Check { workload, recorder, received: engine.now() };
                let number = connection.number;
                let answer =
                    check.answer(&mut connection.in_flight, self.has_header, number, message);
                replies = u32::from(matches!(answer, Answer::Ended(_)));
                End::closed()
            }
            Ok(Event::Refused { code, body, retry_after }) => {
                self.recorder.stream.received(body.len());
                if let Some((_, flight)) = connection.in_flight.take_oldest() {
                    let words = || status_words(code, body, retry_after);
                    self.recorder.refused(flight, engine.now(), words);
                    replies = 1;
                }
                End::closed()
            }
            Ok(Event::Answer(answer)) => {
                let ended =
                    numbered(&mut connection.in_flight, &mut self.recorder, answer, engine.now());
                replies = u32::from(ended.is_some());
                End::closed()
            }
            Ok(Event::Redirected) => {
                connection.redirected(&mut self.recorder);
                End::closed()
            }
            Ok(_) => End::closed(),
            Err(error) => End::broken(&error),
        };
        let place = connection.place;
        connection.replies += u64::from(replies);
        if let Some(after) = self.goes_on(engine, id) {
            return self.go_on_anew(engine, id, after);
        }
        self.pace.ended(place, replies);
        self.peer_ended(engine, id, end);
    }

    /// Handles a connection that could not be made, or was cut. The engine has forgotten it.
    pub(crate) fn failed<E: Metered>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        error: ConnectionError,
    ) {
        if let Some(after) = self.goes_on(engine, id) {
            return self.go_on_anew(engine, id, after);
        }
        let Some(state) = self.connections.find(id).map(|it| it.state) else { return };
        match state {
            State::AwaitClose | State::Unfit => self.remove(engine, id),
            _ if self.is_excused(engine, id) => {}
            State::AwaitConnect => {
                self.lose(engine, id, ErrorClass::ConnectFailed, || error.to_string())
            }
            State::AwaitBefore | State::AwaitTls | State::AwaitHandshake | State::Open => {
                self.lose(engine, id, ErrorClass::Cut, || error.to_string())
            }
        }
    }

    /// Handles a peer that ended the conversation: as we asked, as its protocol allows, or out of turn.
    pub(crate) fn peer_ended<E: Metered>(&mut self, engine: &mut E, id: ConnectionId, end: End) {
        let is_closing = self.is_closing();
        let Some(connection) = self.connections.find(id) else { return };
        let asked = connection.state == State::AwaitClose || is_closing;
        let quiet = connection.state == State::Open && connection.in_flight.is_empty();
        let place = connection.place;
        let long = self.workload.lifetime == Lifetime::Long;
        match end {
            _ if asked => self.forget(engine, id),
            _ if self.is_excused(engine, id) => {}
            _ if quiet && self.pace.is_served(place) => self.client_served(engine, id),
            End::Closed(_) if quiet && long && self.target_at(place).takes_requests() => {
                self.forget(engine, id);
                self.reopen(place);
            }
            End::Closed(words) => self.lose(engine, id, ErrorClass::ClosedByPeer, || words),
            End::Broken(class, words) => self.lose(engine, id, class, || words),
        }
    }

    /// Removes a connection that has ended as it should, and starts the next client at once, without waiting for the
    /// replies of others.
    pub(crate) fn forget<E: Metered>(&mut self, engine: &mut E, id: ConnectionId) {
        if let Some(connection) = self.connections.find(id)
            && connection.state == State::AwaitClose
            && let Some(times) = self.recorder.times(connection.began)
        {
            times.close.record(engine.now().since(connection.since));
        }
        self.remove(engine, id);
        let now = engine.now();
        self.start_due(engine, now);
    }

    /// Removes a connection, which frees its place for another.
    fn remove<E: Metered>(&mut self, engine: &mut E, id: ConnectionId) {
        self.remove_for(engine, id, Leaving::Unplanned);
    }

    /// Removes a connection for the reason `why`, which matters if it received in a room.
    fn remove_for<E: Metered>(&mut self, engine: &mut E, id: ConnectionId, why: Leaving) {
        let Some(connection) = self.connections.remove(id) else { return };
        let second = self.seconds.remove(id);
        self.leave_stream(engine, &connection, second);
        engine.close(id);
        if let Some(second) = second {
            engine.close(second);
        }
        self.let_go(engine, connection, why);
    }

    /// Forgets the connections that were to return.
    pub(crate) fn forget_returning<E: Metered>(&mut self, engine: &mut E) {
        while let Some(connection) = self.connections.take_returning(Instant::NEVER) {
            self.let_go(engine, connection, Leaving::Unplanned);
        }
    }

    /// Settles the accounts of a connection that is already removed: its messages, its place, its rooms.
    fn let_go<E: Metered>(&mut self, engine: &mut E, mut connection: Connection, why: Leaving) {
        self.recorder.ids_found(&mut connection.machine);
        if let Some(due) = self.pace.left(connection.place) {
            self.recorder.unsent(due, 1);
        }
        let (place, now) = (connection.place, engine.now());
        if self.comes_back(place)
            && let Some(absences) = &mut self.absences
        {
            absences.gone(place, now);
            self.pace.reserve(place);
        }
        if let Some(rooms) = &mut self.rooms {
            let ticket = connection.machine.talk().and_then(|talk| talk.ticket());
            rooms.left(place, now, why, ticket);
        }
        self.recorder.forget_messages(&mut connection.in_flight, now);
        self.attend();
        self.send_in_turn(engine);
    }

    /// Counts an error and ends its connection: the messages in flight fail with it.
    pub(crate) fn lose<E: Metered, T: Into<Words>>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        class: ErrorClass,
        example: impl FnOnce() -> T,
    ) {
        self.recorder.tally(class, example);
        self.cut_off(engine, id);
    }

    /// Ends a connection that can carry no more messages; those in flight fail with it.
    fn cut_off<E: Metered>(&mut self, engine: &mut E, id: ConnectionId) {
        let Some(connection) = self.connections.find(id) else { return };
        let (now, place) = (engine.now(), connection.place);
        let measured_from = self.recorder.measured_from();
        while let Some(flight) = connection.in_flight.give_up(Instant::NEVER, measured_from) {
            self.recorder.failed(flight, Failure::Error, now);
        }
        if connection.is_opening() && !connection.resumes {
            self.recorder.connections.failed += 1;
        } else if connection.state != State::AwaitClose {
            self.recorder.connections.lost += 1;
        }
        self.connections.failed(now);
        if self.pace.is_timed() && self.workload.lifetime == Lifetime::Long {
            self.reopen(place); // The schedule goes on, whatever became of earlier messages.
        }
        self.remove(engine, id);
    }

    /// Records that a machine refused to send a message: the message has failed, and the connection carries no more.
    #[cold]
    pub(crate) fn refused_by_machine(
        &mut self,
        id: ConnectionId,
        flight: Flight,
        error: &MisuseError,
    ) {
        let Some(connection) = self.connections.find(id) else { return };
        connection.state = State::Unfit;
        self.pace.shut(connection.place);
        self.connections.look_at_deadlines();
        self.attend();
        self.recorder.failed(flight, Failure::Error, flight.sent);
        self.recorder.tally(ErrorClass::Unsendable, || format!("not sent: {error}"));
    }

    /// Gives up a peer that did not answer in time.
    pub(crate) fn give_up<E: Metered>(&mut self, engine: &mut E, id: ConnectionId, now: Instant) {
        let timeouts = self.workload.timeouts;
        let Some(connection) = self.connections.find(id) else { return };
        let is_late = now >= connection.reply_deadline(&timeouts);
        let state = if connection.resumes && is_late { State::Open } else { connection.state };
        let (class, waited, what) = match state {
            State::AwaitConnect => (ErrorClass::ConnectTimedOut, timeouts.connect, "no connection"),
            State::AwaitBefore => (
                ErrorClass::HandshakeTimedOut,
                timeouts.handshake,
                "the exchanges before the connection did not complete",
            ),
            State::AwaitTls => {
                (ErrorClass::TlsTimedOut, timeouts.handshake, "no answer in the TLS handshake")
            }
            State::AwaitHandshake => (
                ErrorClass::HandshakeTimedOut,
                timeouts.handshake,
                "no answer to the opening handshake",
            ),
            State::Open => (ErrorClass::ReplyTimedOut, timeouts.reply, "no whole reply"),
            State::AwaitClose => {
                (ErrorClass::CloseTimedOut, timeouts.close, "no answer to our close")
            }
            State::Unfit => return self.cut_off(engine, id), // Its error was counted with the message.
        };
        if connection.is_opening() && !connection.resumes && self.is_excused(engine, id) {
            return;
        }
        let Some(connection) = self.connections.find(id) else { return };
        let example = || format!("{what} within {waited}");
        // A message queued after the late one would never get its turn.
        let pipelines = self.pace.in_flight_each() > 1;
        let takes_requests = self.target.of_senders().takes_requests();
        let is_numbered = self.workload.requests.is_some() && !takes_requests;
        let makes_due = is_numbered && !self.pace.is_timed();
        let loses_message_alone = (makes_due || pipelines && (self.has_header || is_numbered))
            && connection.state == State::Open;
        let (place, mut lost) = (connection.place, 0);
        let (sent_max, measured_from) = (now - timeouts.reply, self.recorder.measured_from());
        while let Some(flight) = connection.in_flight.give_up(sent_max, measured_from) {
            self.recorder.failed(flight, Failure::TimedOut, now);
            lost += 1;
            if loses_message_alone {
                self.recorder.tally(class, example);
            }
        }
        if loses_message_alone && makes_due {
            let next = self.pace.replied(place, lost, now);
            return self.go_on(engine, id, next);
        }
        self.pace.ended(place, lost);
        if !loses_message_alone {
            self.lose(engine, id, class, example);
        }
    }

    /// The instant at which the next connection may be started; [`Instant::NEVER`] while none may.
    pub(crate) fn next_start(&self) -> Instant {
        let started = self.recorder.connections.started;
        self.connections.next_start(self.is_connecting(), &self.pace, started)
    }
}

/// The least time between two heartbeats of a connection: a server that asks for a shorter one would cause a flood.
const BEAT_MIN: Nanos = Nanos::from_millis(1);

/// The number of messages in flight for which a connection of an open loop has memory from the start.
const IN_FLIGHT_RESERVED: u32 = 16;
