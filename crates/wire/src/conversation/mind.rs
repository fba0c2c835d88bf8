//! The state of a conversation, and the meaning of messages in it.

use super::awaited::{Awaited, FIRST_ID, Ids};
use super::call::Role;
use super::compiled::{Compiled, Interval, Phase, Start, What};
use super::learnt::Learnt;
use super::rules::{Heard, Hits};
use super::taking::take;
use super::tape::{Note, Sense, Tape};
use super::template::{self, Filling, Member};
use super::{PeerError, json, places, text};
use crate::contract::{Answer, Event, MisuseError, Opening, Part, Push, Pushed, Secured, Verdict};
use crate::excerpt::Excerpt;
use spec::conversation::{Cue, Place};
use spec::stamp::Header;
use std::sync::Arc;
use units::{Nanos, Random};

/// The state of a conversation, without the connection that carries it.
#[derive(Debug)]
pub(super) struct Mind {
    compiled: Arc<Compiled>,
    awaited: Awaited,
    member: Member,
    pub(super) hits: Hits,
    ids: Ids,
    learnt: Learnt,
    /// The message that is to be sent next.
    pub(super) pending: Option<Pending>,
    random: Random,
    pub(super) state: State,
    /// `Some` if the messages are noted.
    tape: Option<Box<Tape>>,
    values: Box<[Box<[u8]>]>,
}

/// The state of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The connection inside is not open.
    AwaitConnection,
    /// This step comes next.
    Step(usize),
    /// The message that this step expects is awaited; the id of the step.
    AwaitStep(usize, u32),
    Open,
    /// The answer to the farewell is awaited; the id of the farewell.
    AwaitFarewell(u32),
    /// The answer to the farewell has arrived.
    Leave,
    /// The end of the connection inside is awaited; no farewell was answered.
    AwaitClose,
    /// The farewell was answered. The connection inside is being closed, and may end at once: STOMP brokers end it
    /// after their receipt, without a Close frame.
    AwaitEnd,
    Over,
}

/// A message that is to be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    template: Template,
    id: u32,
    now: Nanos,
}

/// The messages that a client sends.
#[derive(Clone, Copy, Debug)]
enum Template {
    Answer(usize),
    Beat,
    Close,
    Request(usize),
    Step(usize),
}

/// A message that was understood, without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Understood {
    /// It does not concern the owner.
    Alive,
    Answer {
        sequence: u32,
        exchange: u16,
        verdict: Verdict,
    },
    Part {
        sequence: u32,
        exchange: u16,
        first: bool,
    },
    Pushed {
        rule: Option<u16>,
        sent: Option<Nanos>,
        header: Option<Header>,
    },
}

/// A message that a rule matches.
#[derive(Clone, Copy, Debug)]
enum Matched {
    Answer(usize),
    Expected,
    Push(u16),
    Refused,
    Reply { sequence: u32, exchange: u16, role: Role },
}

impl Mind {
    pub(super) fn new(compiled: &Arc<Compiled>, start: Start) -> Self {
        let Start { member, random, values, tape, .. } = start;
        Self {
            awaited: Awaited::default(),
            member,
            hits: Hits::default(),
            ids: Ids::default(),
            learnt: Learnt::default(),
            pending: None,
            random,
            state: State::AwaitConnection,
            tape,
            values,
            compiled: Arc::clone(compiled),
        }
    }

    /// Begins the next step that this connection takes: what it sends is the next message. `false` if there is none:
    /// the conversation is open.
    pub(super) fn begin_step(&mut self, index: usize) -> bool {
        let part = self.member.part;
        let mut steps = self.compiled.steps.iter().enumerate().skip(index);
        let next = steps.find(|(_, step)| step.is_for(part));
        let Some((index, Phase { send, expected, .. })) = next else {
            self.state = State::Open;
            return false;
        };
        let id = self.ids.take();
        let (has_message, is_answered) = (send.is_some(), expected.is_some());
        self.state = if is_answered { State::AwaitStep(index, id) } else { State::Step(index + 1) };
        if has_message {
            self.say(Template::Step(index), id, Nanos(0));
        }
        true
    }

    /// Skips the steps that have not begun.
    pub(super) fn skip_steps(&mut self) {
        if let State::Step(next) = &mut self.state {
            *next = self.compiled.steps.len();
        }
    }

    /// Makes the message that a cue asks for the next one to send.
    ///
    /// # Errors
    ///
    /// The bytes are not a cue of this conversation.
    #[inline]
    pub(super) fn request(&mut self, cue: &[u8]) -> Result<(), MisuseError> {
        let malformed = |expected| MisuseError::Malformed { expected };
        let Cue { sequence, exchange, due } =
            Cue::read(cue).ok_or_else(|| malformed("a cue of a conversation"))?;
        let has_reply = match self.compiled.exchanges.get(usize::from(exchange)) {
            Some(exchange) => exchange.has_reply,
            None => return Err(malformed("the cue of an exchange")),
        };
        if !self.awaited.push(sequence, exchange, has_reply) {
            return Err(malformed("the cue of the next message"));
        }
        self.say(Template::Request(exchange.into()), FIRST_ID + sequence, due);
        Ok(())
    }

    /// Makes a heartbeat the next message to send; `false` if there is none.
    pub(super) fn beat(&mut self) -> bool {
        let has_beat = self.compiled.beat.is_some() && self.state == State::Open;
        if has_beat {
            let id = self.ids.take();
            self.say(Template::Beat, id, Nanos(0));
        }
        has_beat
    }

    /// Makes the farewell the next message to send, if there is one; `true` if it is answered.
    pub(super) fn farewell(&mut self) -> bool {
        let Some(step) = self.compiled.close.as_ref().filter(|_| self.state == State::Open) else {
            return false;
        };
        let (has_message, is_answered) = (step.send.is_some(), step.expected.is_some());
        let id = self.ids.take();
        if has_message {
            self.say(Template::Close, id, Nanos(0));
        }
        if is_answered {
            self.state = State::AwaitFarewell(id);
        }
        is_answered
    }

    /// Takes note that the TLS handshake is complete; if the connection inside has no handshake, the steps come next.
    pub(super) fn secured(&mut self, secured: Secured) -> Secured {
        let mut opening = Opening::Awaited;
        if secured.opening == Opening::Done {
            self.state = State::Step(0);
            if self.compiled.steps.is_empty() {
                (self.state, opening) = (State::Open, Opening::Done);
            }
        }
        Secured { opening, ..secured }
    }

    pub(super) fn beat_every(&self) -> Option<Nanos> {
        let every = match self.compiled.beat.as_ref()?.0 {
            Interval::Time(time) => time,
            Interval::Value(number) => {
                Nanos(json::natural(&self.values[number])?.checked_mul(NANOS_IN_MILLI)?)
            }
        };
        Some(every).filter(|every| every.0 > 0)
    }

    /// The step that is under way, and the message that it expects; `None` once the conversation is open.
    pub(super) fn step(&self) -> Option<(String, String)> {
        match self.state {
            State::Step(index) | State::AwaitStep(index, _) => {
                let step = self.compiled.steps.get(index)?;
                Some((step.name.clone(), step.expected.clone().unwrap_or_default()))
            }
            State::AwaitConnection
            | State::Open
            | State::AwaitFarewell(_)
            | State::Leave
            | State::AwaitClose
            | State::AwaitEnd
            | State::Over => None,
        }
    }

    /// Notes all messages from here on.
    pub(super) fn note(&mut self) {
        self.tape = Some(Box::default());
    }

    /// The messages that were noted since the last call.
    pub(super) fn notes(&mut self) -> Vec<Note> {
        self.tape.as_mut().map(|tape| tape.take()).unwrap_or_default()
    }

    /// The requests whose replies are by now recognized by the bytes before their ids, and those bytes.
    pub(super) fn learnt(&self) -> impl Iterator<Item = (u16, &[u8])> {
        self.learnt.shapes().filter_map(|(rule, before)| match self.compiled.rules.what(rule) {
            What::Reply(roles) => Some((roles.first()?.0, before)),
            What::Answer(_) | What::Expected | What::Push(_) | What::Refused => None,
        })
    }

    /// Decides what a message means.
    ///
    /// # Errors
    ///
    /// It is not what a step expects, or lacks a value that is taken from it.
    #[inline]
    pub(super) fn understand(&mut self, heard: Heard<'_>) -> Result<Understood, PeerError> {
        if self.tape.is_none() {
            return self.decide(heard);
        }
        let before = self.state;
        let understood = self.decide(heard);
        let answer = self.pending.and_then(|pending| match pending.template {
            Template::Answer(index) => Some(index),
            Template::Beat | Template::Close | Template::Request(_) | Template::Step(_) => None,
        });
        let sense = sense(&understood, (before, self.state), answer);
        if let Some(tape) = &mut self.tape {
            tape.heard(sense, heard.bytes);
        }
        understood
    }

    #[inline]
    fn decide(&mut self, heard: Heard<'_>) -> Result<Understood, PeerError> {
        match self.state {
            State::Open => self.hear(heard),
            State::AwaitStep(index, id) => self.hear_step(index, id, heard),
            State::AwaitFarewell(id) => {
                let Self { compiled, hits, .. } = self;
                let is_it = compiled.close.as_ref().and_then(|step| {
                    // The learnt shapes belong to other rules.
                    let learnt = &mut Learnt::never();
                    step.rules.decide(heard, learnt, hits, |what, given| of_step(what, given, id))
                });
                if is_it.is_some() {
                    self.state = State::Leave;
                }
                Ok(Understood::Alive)
            }
            State::AwaitConnection
            | State::Step(_)
            | State::Leave
            | State::AwaitClose
            | State::AwaitEnd
            | State::Over => Ok(Understood::Alive),
        }
    }

    #[inline]
    fn hear(&mut self, heard: Heard<'_>) -> Result<Understood, PeerError> {
        let Self { compiled, awaited, learnt, hits, .. } = self;
        let matched = compiled.rules.decide(heard, learnt, hits, |what, id| match what {
            What::Answer(index) => Some(Matched::Answer(*index)),
            What::Push(index) => Some(Matched::Push(*index)),
            What::Reply(roles) => reply(compiled, awaited, roles, id),
            What::Expected | What::Refused => None,
        });
        Ok(match matched {
            Some(Matched::Reply { sequence, exchange, role: Role::Last }) => {
                awaited.end(sequence);
                Understood::Answer { sequence, exchange, verdict: Verdict::Good }
            }
            Some(Matched::Reply { sequence, exchange, role: Role::Refused }) => {
                awaited.end(sequence);
                Understood::Answer { sequence, exchange, verdict: Verdict::Refused }
            }
            Some(Matched::Reply { sequence, exchange, role: Role::First }) => {
                Understood::Part { sequence, exchange, first: awaited.begin(sequence) }
            }
            Some(Matched::Reply { sequence, exchange, role: Role::Each }) => {
                Understood::Part { sequence, exchange, first: false }
            }
            Some(Matched::Answer(index)) => return self.answer(index, heard.bytes),
            Some(Matched::Push(rule)) => self.pushed(rule, heard.bytes),
            Some(Matched::Expected | Matched::Refused) | None => Understood::UNEXPECTED,
        })
    }

    fn hear_step(
        &mut self,
        index: usize,
        id: u32,
        heard: Heard<'_>,
    ) -> Result<Understood, PeerError> {
        let Self { compiled, hits, .. } = self;
        let step = &compiled.steps[index];
        let matched = step
            .rules
            .decide(heard, &mut Learnt::never(), hits, |what, given| of_step(what, given, id));
        match matched {
            Some(Matched::Expected) => {
                take(&step.takes, &step.name, heard.bytes, None, &mut self.values)?;
                self.state = State::Step(index + 1);
                Ok(Understood::Alive)
            }
            Some(Matched::Refused) => {
                let said = Excerpt::new(heard.bytes);
                Err(PeerError::Refused { step: step.name.clone(), said })
            }
            Some(Matched::Answer(answer)) => self.answer(answer, heard.bytes),
            Some(Matched::Push(rule)) => Ok(self.pushed(rule, heard.bytes)),
            Some(Matched::Reply { .. }) | None => Err(PeerError::Unexpected {
                step: step.name.clone(),
                expected: step.expected.clone().unwrap_or_default(),
                said: Excerpt::new(heard.bytes),
            }),
        }
    }

    /// Makes the answer to a message the next message to send.
    fn answer(&mut self, index: usize, heard: &[u8]) -> Result<Understood, PeerError> {
        let answer = &self.compiled.answers[index];
        take(&answer.takes, &answer.name, heard, None, &mut self.values)?;
        let id = self.ids.take();
        self.say(Template::Answer(index), id, Nanos(0));
        Ok(Understood::Alive)
    }

    fn pushed(&self, rule: u16, heard: &[u8]) -> Understood {
        let stamps = &self.compiled.pushes[usize::from(rule)];
        let header = stamps.header.as_ref().and_then(|place| header(place, heard));
        let sent = stamps.sent.as_ref().and_then(|place| stamp(place, heard)).map(Nanos);
        let sent = sent.or_else(|| header.map(|header| header.due));
        Understood::Pushed { rule: Some(rule), sent, header }
    }

    fn say(&mut self, template: Template, id: u32, now: Nanos) {
        self.pending = Some(Pending { template, id, now });
    }

    /// True if a message is bytes, not text.
    ///
    /// # Errors
    ///
    /// It has a value that does not fit its bytes.
    #[inline]
    pub(super) fn is_bytes(&self, pending: Pending) -> Result<bool, MisuseError> {
        let Self { compiled, member, values, .. } = self;
        let filling = Filling { id: pending.id, now: pending.now, member: *member, values };
        pending.template.of(compiled).map_or(Ok(false), |template| template.is_bytes(filling))
    }

    /// Writes a message to `out`.
    #[inline]
    pub(super) fn write(&mut self, pending: Pending, out: &mut Vec<u8>) {
        let start = out.len();
        let Self { compiled, member, random, tape, values, .. } = self;
        let filling = Filling { id: pending.id, now: pending.now, member: *member, values };
        if let Some(template) = pending.template.of(compiled) {
            template.write(filling, random, out);
        }
        if let Some(tape) = tape {
            tape.sent(pending.template.sense(), &out[start..]);
        }
    }
}

impl Template {
    /// The message, made ready; `None` if there is none.
    #[inline]
    fn of(self, compiled: &Compiled) -> Option<&template::Compiled> {
        match self {
            Self::Answer(index) => Some(&compiled.answers[index].send),
            Self::Beat => compiled.beat.as_ref().map(|(_, send)| send),
            Self::Close => compiled.close.as_ref().and_then(|step| step.send.as_ref()),
            Self::Request(index) => Some(&compiled.exchanges[index].send),
            Self::Step(index) => compiled.steps[index].send.as_ref(),
        }
    }

    fn sense(self) -> Sense {
        match self {
            Self::Answer(index) => Sense::Answer(index),
            Self::Beat => Sense::Beat,
            Self::Close => Sense::Farewell,
            // Compiled conversations have at most MAX requests.
            Self::Request(index) => Sense::Request(u16::try_from(index).unwrap_or(u16::MAX)),
            Self::Step(index) => Sense::Step(index),
        }
    }
}

/// The part played by a message that was taken for `understood`, and that took the conversation from state `before` to
/// `after`. `answer` is the answer that it gets.
fn sense(
    understood: &Result<Understood, PeerError>,
    (before, after): (State, State),
    answer: Option<usize>,
) -> Sense {
    let understood = match (understood, before) {
        (Ok(understood), _) => *understood,
        (Err(PeerError::Refused { .. }), State::AwaitStep(index, _)) => {
            return Sense::StepRefused(index);
        }
        (Err(_), _) => return Sense::Unexpected,
    };
    match understood {
        Understood::Answer { exchange, verdict, .. } => Sense::of(verdict, exchange),
        Understood::Part { exchange, .. } => Sense::Part(exchange),
        Understood::Pushed { rule: Some(rule), .. } => Sense::Push(rule),
        Understood::Pushed { rule: None, .. } => Sense::Unexpected,
        Understood::Alive => match (before, answer) {
            (State::AwaitStep(index, _), _) if before != after => Sense::Step(index),
            (State::AwaitFarewell(_), _) if before != after => Sense::Farewell,
            (_, Some(answer)) => Sense::Answer(answer),
            (_, None) => Sense::Late,
        },
    }
}

impl Understood {
    /// A message that no rule matches.
    pub(super) const UNEXPECTED: Self = Self::Pushed { rule: None, sent: None, header: None };

    /// The event of a message with this payload.
    #[inline]
    pub(super) const fn event(self, payload: &[u8]) -> Event<'_> {
        match self {
            Self::Alive => ALIVE,
            Self::Answer { sequence, exchange, verdict } => {
                Event::Answer(Answer { sequence, exchange, verdict, payload })
            }
            Self::Part { sequence, exchange, first } => {
                Event::Part(Part { sequence, exchange, first, payload })
            }
            Self::Pushed { rule, sent, header } => {
                let kind = match (rule, sent) {
                    (None, _) => Push::Unexpected,
                    (Some(_), Some(_)) => Push::Delivery,
                    (Some(_), None) => Push::Notice,
                };
                Event::Pushed(Pushed { kind, rule, sent, header, payload })
            }
        }
    }
}

/// The message that a reply answers: the one with its id, or the oldest whose replies come in order.
#[inline]
fn reply(
    compiled: &Compiled,
    awaited: &Awaited,
    roles: &[(u16, Role)],
    id: Option<u64>,
) -> Option<Matched> {
    let is_listed = |exchange: u16| roles.iter().any(|(listed, _)| *listed == exchange);
    let is_in_order = |exchange: u16| compiled.exchanges[usize::from(exchange)].is_in_order;
    let (sequence, exchange) = match id {
        Some(id) => {
            let (sequence, exchange) = awaited.find(id)?;
            (sequence, exchange.or_else(|| roles.first().map(|(listed, _)| *listed))?)
        }
        None => awaited.oldest(|exchange| is_in_order(exchange) || is_listed(exchange))?,
    };
    let mut of_exchange = roles.iter().filter(|(listed, _)| *listed == exchange);
    let (_, role) = *of_exchange.next()?;
    Some(Matched::Reply { sequence, exchange, role })
}

/// The instant at a place.
fn stamp(place: &Place, heard: &[u8]) -> Option<u64> {
    match place {
        Place::Bytes(place) => place.number(heard).and_then(|instant| u64::try_from(instant).ok()),
        Place::Json(path) => places::number(path, heard),
        Place::Text { before, after } => {
            text::number_between(heard, before.as_bytes(), after.as_bytes())
        }
    }
}

/// The header that begins at a place.
fn header(place: &Place, heard: &[u8]) -> Option<Header> {
    match place {
        Place::Bytes(place) => Header::read(place.bytes(heard)?, true),
        Place::Json(path) => Header::read(&places::text(path, heard)?, true),
        Place::Text { before, after } => {
            let (before, after) = (before.as_bytes(), after.as_bytes());
            text::positions(heard, before).find_map(|at| {
                let rest = &heard[at + before.len()..];
                let header = Header::read(rest, true)?;
                rest[Header::len(true)..].starts_with(after).then_some(header)
            })
        }
    }
}

/// The meaning of a message while a step with this id is under way.
fn of_step(what: &What, given: Option<u64>, id: u32) -> Option<Matched> {
    match what {
        What::Answer(index) => Some(Matched::Answer(*index)),
        What::Push(index) => Some(Matched::Push(*index)),
        What::Expected if given.is_none_or(|given| given == u64::from(id)) => {
            Some(Matched::Expected)
        }
        What::Refused if given.is_none_or(|given| given == u64::from(id)) => Some(Matched::Refused),
        What::Expected | What::Refused | What::Reply(_) => None,
    }
}

/// The event of a message that does not concern the owner.
pub(super) const ALIVE: Event<'static> = Event::Ping(b"");

const NANOS_IN_MILLI: u64 = 1_000_000;
