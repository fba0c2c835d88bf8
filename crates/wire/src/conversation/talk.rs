//! The machine that holds a conversation.

use super::PeerError;
use super::compiled::{Compiled, Start};
use super::cut::{Cut, Held};
use super::mind::{ALIVE, Mind, State, Understood};
use super::rules::{Heard, Hits};
use super::tape::Note;
use crate::contract::{
    self, Closed, Event, First, InPlace, Input, Kind, Layers, Message, MisuseError, Opening,
    Protocol, Second, Socket, TwoSockets, growth,
};
use crate::excerpt::Excerpt;
use crate::socketio::{Returning, Ticket};
use spec::conversation::Frame;
use std::sync::Arc;
use units::Nanos;

/// A client that holds a conversation over the connection inside.
///
/// **Opening** takes steps, one after the other; [`Event::Open`] follows the last. Meanwhile, pushes and messages that
/// want an answer are told apart from what a step expects; anything else ends the connection with an error.
///
/// **Messages.** The payload of a message is a [`Cue`](spec::conversation::Cue): the message is rendered here. Its
/// reply is an [`Event::Answer`]; replies of a stream before its end are [`Event::Part`]s. An unsolicited message is an
/// [`Event::Pushed`], and so is one that nothing matches ([`Push::Unexpected`](contract::Push::Unexpected)). Messages
/// that are answered here, and those of opening, are each an [`Event::Ping`], a sign of life.
///
/// **Encoding** ([`Layers`]) is the number of bytes by which messages are longer than their cues.
///
/// One message of the connection inside gives one event, which borrows its bytes in place; several messages that arrive
/// in one are copied first. Answers are sent by the next call of [`Protocol::receive`], which the owner repeats until
/// nothing is left.
#[derive(Debug)]
pub struct Talk<C> {
    cut: Cut,
    encoding_sent: i64,
    held: Held,
    inner: C,
    /// The length of the last message that was sent, without framing.
    last_len: usize,
    mind: Mind,
    /// Over Socket.IO: what it needs to come back after its connection was lost.
    returning: Option<Box<Returning>>,
}

impl<C: InPlace> Talk<C> {
    /// Connection number `client`, over `inner`. Random values come from `seed`; messages have at most `message_max`
    /// bytes.
    pub fn new(
        inner: C,
        compiled: &Arc<Compiled>,
        client: u32,
        seed: u64,
        message_max: usize,
    ) -> Self {
        Self::started(inner, compiled, compiled.start(client, seed), message_max)
    }

    /// A connection that has begun, over `inner`.
    pub(crate) fn started(
        inner: C,
        compiled: &Arc<Compiled>,
        start: Start,
        message_max: usize,
    ) -> Self {
        let frame = if compiled.is_on_stream() || compiled.is_mqtt() {
            Frame::Message
        } else {
            compiled.frame
        };
        Self {
            cut: Cut::new(frame, message_max),
            encoding_sent: 0,
            held: Held::default(),
            inner,
            last_len: 0,
            mind: Mind::new(compiled, start),
            returning: None,
        }
    }

    /// The same connection; if `is_socketio`, its messages are Socket.IO packets, and it may come back.
    pub(crate) fn over_socketio(self, is_socketio: bool) -> Self {
        Self { returning: is_socketio.then(Box::default), ..self }
    }

    /// Comes back after a connection was lost, if that is possible. Called before [`Protocol::open`].
    ///
    /// A server that still knows the client sends what it has missed, and the steps of opening are then over: it is in
    /// its rooms again ([`Self::is_restored`]). With any other server the conversation begins anew.
    pub fn come_back(&mut self, ticket: Ticket) {
        if let Some(returning) = &mut self.returning {
            returning.come_back(ticket);
        }
    }

    /// The ticket for coming back over another connection, if this one is lost now; `None` if the protocol or the
    /// server does not allow that.
    pub fn ticket(&self) -> Option<Ticket> {
        self.returning.as_ref()?.ticket()
    }

    /// True once the server has confirmed that it knows the client that came back.
    pub fn is_restored(&self) -> bool {
        self.returning.as_ref().is_some_and(|returning| returning.is_restored())
    }

    /// The number of ids of replies found, by the way in which each was found.
    pub fn hits(&self) -> Hits {
        self.mind.hits
    }

    /// Notes every message from here on, for [`Self::notes`].
    pub fn note(&mut self) {
        self.mind.note();
    }

    /// The messages sent and received since the last call, oldest first, if they are noted. If this is called after
    /// each call of [`Protocol::receive`], there are at most as many as that makes of all its input.
    pub fn notes(&mut self) -> Vec<Note> {
        self.mind.notes()
    }

    /// The step of opening that is under way, and the message that it expects, in words; `None` once all are done.
    pub fn step(&self) -> Option<(String, String)> {
        self.mind.step()
    }

    /// The kinds of requests whose replies are by now recognized by their first bytes, and those bytes.
    pub fn learnt(&self) -> impl Iterator<Item = (u16, &[u8])> {
        self.mind.learnt()
    }

    /// The time between heartbeats, if the conversation has any and it is known by now.
    pub fn beat_every(&self) -> Option<Nanos> {
        self.mind.beat_every()
    }

    /// Appends a heartbeat to `tx`, if the conversation has any and is open.
    ///
    /// # Errors
    ///
    /// The connection inside does not take it.
    pub fn beat(&mut self, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        self.send_pending(tx)?;
        if self.mind.beat() { self.send_pending(tx) } else { Ok(()) }
    }

    /// Does what needs no input: sends the pending message, and goes on with the steps.
    #[inline]
    fn advance(&mut self, tx: &mut Vec<u8>) -> Result<Option<Event<'static>>, PeerError> {
        loop {
            self.send_pending(tx).map_err(PeerError::Mute)?;
            match self.mind.state {
                State::Step(index) => {
                    if !self.mind.begin_step(index) {
                        return Ok(Some(Event::Open));
                    }
                }
                State::Leave => {
                    if !self.leave(tx) {
                        return Ok(Some(Event::Closed(Closed::default())));
                    }
                }
                State::AwaitConnection
                | State::AwaitStep(..)
                | State::Open
                | State::AwaitFarewell(_)
                | State::AwaitClose
                | State::AwaitEnd
                | State::Over => return Ok(None),
            }
        }
    }

    /// Ends the connection inside; `true` if that is answered.
    fn leave(&mut self, tx: &mut Vec<u8>) -> bool {
        let is_answered = self.inner.close(tx);
        self.mind.state = match (is_answered, self.mind.state) {
            (false, _) => State::Over,
            (true, State::Leave) => State::AwaitEnd,
            (true, _) => State::AwaitClose,
        };
        is_answered
    }

    /// Sends the message that is next, if there is one.
    #[inline]
    fn send_pending(&mut self, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        let Some(pending) = self.mind.pending.take() else { return Ok(()) };
        let Self { cut, inner, last_len, mind, returning, .. } = self;
        let is_binary = mind.is_bytes(pending)? || cut.is_binary();
        let kind = if is_binary { Kind::Binary } else { Kind::Text };
        let mut cut_short = None;
        let sent = inner.send_in_place(kind, *last_len, tx, &mut |out| {
            let start = out.len();
            mind.write(pending, out);
            if let Some(returning) = returning {
                returning.say(start, out);
            }
            *last_len = out.len() - start;
            cut_short = cut.finish(start, out).err();
        });
        match cut_short {
            Some(len) => Err(MisuseError::TooLong { len: len as u64, max: cut.len_max() as u64 }),
            None => sent,
        }
    }
}

impl<C: InPlace + TwoSockets> Protocol for Talk<C> {
    fn open(&mut self, tx: &mut Vec<u8>) -> Opening {
        if self.inner.open(tx) == Opening::Awaited {
            return Opening::Awaited;
        }
        self.mind.state = State::Step(0);
        match self.advance(tx) {
            Ok(Some(_)) => Opening::Done,
            Ok(None) => Opening::Awaited,
            Err(_) => {
                self.mind.state = State::Over;
                Opening::Awaited
            }
        }
    }

    #[inline]
    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        if self.mind.state != State::Open {
            return Err(MisuseError::NotOpen);
        }
        self.send_pending(tx)?;
        self.mind.request(message.payload)?;
        self.send_pending(tx)?;
        self.encoding_sent += growth(message.payload.len(), self.last_len);
        Ok(())
    }

    #[inline]
    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, contract::PeerError> {
        self.receive_on::<First>(input, tx)
    }

    fn close(&mut self, tx: &mut Vec<u8>) -> bool {
        // Where nothing can be sent any more, the connection ends without a farewell.
        let _pending: Result<_, _> = self.send_pending(tx);
        let is_answered = self.mind.farewell();
        let _farewell: Result<_, _> = self.send_pending(tx);
        is_answered || self.leave(tx)
    }

    /// The peer will send no more bytes.
    ///
    /// # Errors
    ///
    /// The conversation was not open yet, a message is cut short, or the connection inside reports an error.
    fn end(&mut self) -> Result<Event<'_>, contract::PeerError> {
        let (during, held_len) = (self.mind.step(), self.held.rest().len());
        match std::mem::replace(&mut self.mind.state, State::Over) {
            State::Over | State::Leave | State::AwaitEnd | State::AwaitFarewell(_) => {
                return Ok(Event::Closed(Closed::default()));
            }
            State::AwaitConnection | State::AwaitClose => return self.inner.end(),
            State::Step(_) | State::AwaitStep(..) | State::Open => {}
        }
        let event = self.inner.end().map_err(|error| in_step(during.clone(), error))?;
        match during {
            Some((step, expected)) => Err(PeerError::Cut { step, expected }.into()),
            None if held_len > 0 => Err(PeerError::CutMessage { len: held_len }.into()),
            None => Ok(event),
        }
    }

    fn layers(&self) -> Layers {
        let inside = self.inner.layers();
        Layers { encoding_sent: inside.encoding_sent + self.encoding_sent, ..inside }
    }
}

impl<C: InPlace + TwoSockets> TwoSockets for Talk<C> {
    fn inside(&mut self) -> Option<&mut dyn TwoSockets> {
        Some(&mut self.inner)
    }

    fn receive_second<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, contract::PeerError> {
        self.receive_on::<Second>(input, tx)
    }
}

impl<C: InPlace + TwoSockets> Talk<C> {
    #[inline]
    fn receive_on<'a, 'b: 'a, S: Socket>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, contract::PeerError> {
        self.held.release();
        if let Some(event) = self.advance(tx)? {
            return Ok(Some(event));
        }
        if self.mind.state == State::Over {
            input.take_all();
            return Ok(None);
        }
        if !self.cut.is_whole()
            && let Some(message) = self.held.next(self.cut)?
        {
            let payload = self.held.get(message);
            let understood = self.mind.understand(Heard { bytes: payload, status: None })?;
            return Ok(Some(understood.event(payload)));
        }
        let Self { inner, mind, .. } = self;
        let event = S::receive(inner, input, tx).map_err(|error| in_step(mind.step(), error))?;
        let mut is_missed = false;
        let payload = match event {
            None => return Ok(None),
            Some(Event::Message(Message { kind, payload })) => {
                if let Some(returning) = &mut self.returning {
                    is_missed = returning.heard(kind, payload);
                }
                payload
            }
            Some(Event::Open) => {
                self.mind.state = State::Step(0);
                return Ok(Some(ALIVE));
            }
            Some(Event::Secured(secured)) => {
                return Ok(Some(Event::Secured(self.mind.secured(secured))));
            }
            Some(Event::Closed(closed)) => {
                let during = self.mind.step();
                self.mind.state = State::Over;
                let Some((step, expected)) = during else {
                    return Ok(Some(Event::Closed(closed)));
                };
                let Closed { code, reason } = closed;
                let reason = reason.into_owned();
                return Err(PeerError::Closed { step, expected, code, reason }.into());
            }
            Some(Event::Refused { code, body, .. }) => {
                let opening = || ("the opening request".to_owned(), "the status 200".to_owned());
                let (step, expected) = self.mind.step().unwrap_or_else(opening);
                let said = Excerpt::new(body);
                return Err(PeerError::Status { step, code, expected, said }.into());
            }
            Some(event @ (Event::Ping(_) | Event::Pong(_))) => return Ok(Some(event)),
            Some(
                Event::Answer(_)
                | Event::Part(_)
                | Event::Pushed(_)
                | Event::Redirected
                | Event::Response(_),
            ) => {
                return Ok(Some(ALIVE));
            }
        };
        let mut message = 0..payload.len();
        if !self.cut.is_whole() {
            let first = if self.held.is_empty() { self.cut.first(payload)? } else { None };
            match first {
                Some(first) if first.next == payload.len() => message = first.message,
                // The end of a WebSocket message ends a line, too.
                None if self.cut.is_lines() && !payload.is_empty() => {
                    message.end -= usize::from(payload.ends_with(b"\r"));
                }
                Some(_) if self.cut.is_lines() => {
                    self.held.extend(payload);
                    if !payload.ends_with(b"\n") {
                        self.held.extend(b"\n");
                    }
                    return Ok(Some(ALIVE));
                }
                Some(_) | None => {
                    self.held.extend(payload);
                    return Ok(Some(ALIVE));
                }
            }
        }
        let payload = &payload[message];
        let understood = match self.mind.understand(Heard { bytes: payload, status: None }) {
            // No step expects what the server kept for the client.
            Err(PeerError::Unexpected { .. }) if is_missed => Understood::UNEXPECTED,
            understood => understood?,
        };
        if self.returning.as_ref().is_some_and(|it| it.is_restored()) {
            self.mind.skip_steps();
        }
        Ok(Some(understood.event(payload)))
    }
}

/// An error of the connection inside, with the step that was under way and what it expects, if there was one.
fn in_step(during: Option<(String, String)>, error: contract::PeerError) -> contract::PeerError {
    match during {
        Some((step, expected)) => {
            PeerError::Broken { step, expected, violation: error.to_string() }.into()
        }
        None => error,
    }
}

#[cfg(test)]
mod bytes;
#[cfg(test)]
mod clients;
#[cfg(test)]
mod tests;
