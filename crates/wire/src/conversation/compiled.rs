//! A conversation, made ready: once for a workload, and shared by all its connections.

use super::CompileError;
use super::asking::Asking;
use super::call::{Call, Role};
use super::cookies::Cookies;
use super::cut::Cut;
use super::offered::Offered;
use super::rules::Rules;
use super::show;
use super::stream::Stream;
use super::taking::{Taking, takings};
use super::tape::Tape;
use super::template::{self, Filling, Member, compile, fill_payload, number};
use spec::conversation::{
    AtEnd, Beat, Every, Fill, Frame, Matcher, Place, PushRule, Reply, Request, Send, Speaks, Step,
    Take, Template,
};
use spec::rooms::Part;
use spec::{Conversation, Rooms};
use std::sync::Arc;
use units::{Nanos, Random};

/// A conversation that connections can hold.
#[derive(Debug)]
pub struct Compiled {
    pub(super) speaks: Speaks,
    pub(super) frame: Frame,
    path: Option<template::Compiled>,
    pub(super) subprotocols: Offered,
    headers: Vec<(String, template::Compiled)>,
    /// The values that are given when a connection begins: the first ones, in order.
    fills: Vec<Given>,
    names: Vec<String>,
    /// The rooms that connections are in; `None`: each has one of its own.
    rooms: Option<Rooms>,
    /// The exchanges before the connection.
    pub(super) before: Vec<Asking>,
    pub(super) steps: Vec<Phase>,
    pub(super) exchanges: Vec<Exchange>,
    /// The kinds of HTTP requests, where HTTP carries the conversation.
    pub(super) calls: Vec<Call>,
    /// The messages that may arrive once the connection is open.
    pub(super) rules: Rules<What>,
    pub(super) answers: Vec<Answer>,
    pub(super) pushes: Vec<Stamps>,
    pub(super) beat: Option<(Interval, template::Compiled)>,
    pub(super) close: Option<Phase>,
}

/// A connection that begins: its number, the values that it was given, and its source of random values.
#[derive(Debug)]
pub(crate) struct Start {
    pub(super) member: Member,
    pub(crate) seed: u64,
    pub(super) random: Random,
    pub(super) values: Box<[Box<[u8]>]>,
    /// The cookies that its server has set.
    pub(crate) cookies: Cookies,
    /// `Some` if the messages are noted.
    pub(super) tape: Option<Box<Tape>>,
}

/// The way in which a connection is given a value.
#[derive(Debug)]
enum Given {
    Template(template::Compiled),
    Pick(Vec<String>),
    Rows(Vec<String>, AtEnd),
    Secret(String),
}

/// The time between heartbeats.
#[derive(Clone, Copy, Debug)]
pub(super) enum Interval {
    Time(Nanos),
    /// The value with this number, in milliseconds.
    Value(usize),
}

/// A step of opening or closing.
#[derive(Debug)]
pub(super) struct Phase {
    /// Its name in errors.
    pub(super) name: String,
    /// The connections that take it; `None`: all.
    by: Option<Part>,
    pub(super) send: Option<template::Compiled>,
    /// The message that is awaited, in words; `None`: none is.
    pub(super) expected: Option<String>,
    pub(super) rules: Rules<What>,
    pub(super) takes: Vec<Taking>,
}

/// The places of the stamps that a push carries.
#[derive(Debug)]
pub(super) struct Stamps {
    pub(super) sent: Option<Place>,
    pub(super) header: Option<Place>,
}

/// A kind of request.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) send: template::Compiled,
    pub(super) has_reply: bool,
    /// True if a reply answers the oldest message.
    pub(super) is_in_order: bool,
}

/// An answer that is given at once.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) name: String,
    pub(super) takes: Vec<Taking>,
    pub(super) send: template::Compiled,
}

/// The kinds of messages.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// A push that is answered at once, by the answer with this index.
    Answer(usize),
    /// The message that a step awaits.
    Expected,
    /// The push with this index.
    Push(u16),
    /// The refusal of a step.
    Refused,
    /// A reply, to a message of one of these exchanges.
    Reply(Box<[(u16, Role)]>),
}

impl Stamps {
    fn of(rule: &PushRule) -> Self {
        Self { sent: rule.sent.clone(), header: rule.header.clone() }
    }
}

impl Phase {
    /// True if a connection with this part takes it.
    pub(super) fn is_for(&self, part: Option<Part>) -> bool {
        part.is_none() || self.by.is_none() || self.by == part
    }
}

impl Compiled {
    /// Makes `conversation` ready.
    ///
    /// # Errors
    ///
    /// It is beyond one of the limits, names a value that nothing gives, or its secrets and rows were not read.
    pub fn new(conversation: &Conversation) -> Result<Arc<Self>, CompileError> {
        Self::in_rooms(conversation, None, b"")
    }

    /// The same for connections that are in `rooms`, with `payload` in the holes for it.
    ///
    /// # Errors
    ///
    /// As [`Compiled::new`].
    pub fn in_rooms(
        conversation: &Conversation,
        rooms: Option<Rooms>,
        payload: &[u8],
    ) -> Result<Arc<Self>, CompileError> {
        let mut requests = conversation.requests.clone();
        let templates = requests.iter_mut().flat_map(Request::templates_mut);
        templates.for_each(|template| fill_payload(template, payload));
        let part = |part| CompileError::Part {
            name: conversation.name.clone(),
            part,
            carrier: carrier(conversation.speaks),
        };
        let names = names(conversation);
        let compile = |template: &Template| compile(template, &names);
        let taking = |takes: &[Take]| takings(takes, &names);
        let is_http = matches!(conversation.speaks, Speaks::Http | Speaks::Sse);
        let (mut exchanges, mut calls) = (Vec::new(), Vec::new());
        for request in &requests {
            match (&request.send, is_http) {
                (Send::Http(http), true) => {
                    calls.push(Call::new(http, request, &conversation.headers, &names)?);
                }
                (Send::Message(send), false) => exchanges.push(Exchange {
                    send: compile(send)?,
                    has_reply: request.reply != Reply::Nothing,
                    is_in_order: is_in_order(&request.reply),
                }),
                (Send::Http(_), false) => return Err(part("HTTP requests")),
                (Send::Message(_), true) => return Err(part("messages")),
            }
        }
        let count = conversation.open.len();
        let mut steps = Vec::new();
        for (index, step) in conversation.open.iter().enumerate() {
            let mut rules = Rules::default();
            expect(step, &mut rules)?;
            aside(conversation, &mut rules)?;
            steps.push(Phase {
                name: format!("step {} of {count} of opening", index + 1),
                by: step.by,
                send: step.send.as_ref().map(compile).transpose()?,
                expected: step.expect.as_ref().map(show::matcher),
                rules,
                takes: taking(&step.take),
            });
        }
        let mut close = None;
        if let Some(step) = &conversation.close {
            let mut rules = Rules::default();
            expect(step, &mut rules)?;
            close = Some(Phase {
                name: "closing".to_owned(),
                by: step.by,
                send: step.send.as_ref().map(compile).transpose()?,
                expected: step.expect.as_ref().map(show::matcher),
                rules,
                takes: taking(&step.take),
            });
        }
        let mut answers = Vec::new();
        for rule in &conversation.answers {
            let (takes, send) = (taking(&rule.take), compile(&rule.send)?);
            answers.push(Answer { name: format!("answer `{}`", rule.name), takes, send });
        }
        let beat = conversation.beat.as_ref().map(|beat| interval(beat, &names)).transpose()?;
        let fields = conversation.headers.iter();
        let fields = fields.map(|field| Ok((field.name.clone(), compile(&field.value)?)));
        Ok(Arc::new(Self {
            speaks: conversation.speaks,
            frame: conversation.frame,
            path: conversation.path.as_ref().map(compile).transpose()?,
            subprotocols: Offered::of(conversation, &names)?,
            headers: fields.collect::<Result<_, CompileError>>()?,
            fills: fills(conversation, &names)?,
            before: Asking::all(&conversation.before, &names)?,
            steps,
            rules: if calls.is_empty() { rules(conversation)? } else { Rules::default() },
            exchanges,
            calls,
            answers,
            pushes: conversation.pushes.iter().map(Stamps::of).collect(),
            beat,
            close,
            names,
            rooms,
        }))
    }

    /// The protocol that carries it.
    pub fn speaks(&self) -> Speaks {
        self.speaks
    }

    /// True if its connections send nothing of their own: others publish what they get.
    pub(crate) fn only_receives(&self) -> bool {
        self.calls.is_empty() && self.exchanges.is_empty()
    }

    /// True if exchanges come before the connection.
    pub(crate) fn has_before(&self) -> bool {
        !self.before.is_empty()
    }

    /// True if a byte stream carries it.
    pub(super) fn is_on_stream(&self) -> bool {
        self.speaks == Speaks::Tcp
    }

    /// True if its messages are packets of MQTT.
    pub(crate) fn is_mqtt(&self) -> bool {
        self.frame == Frame::Mqtt
    }

    /// The connection below it, where a byte stream carries it.
    pub(crate) fn stream(&self, message_max: usize) -> Stream {
        Stream::new(Cut::new(self.frame, message_max))
    }

    /// Begins connection number `client`; random values come from `seed`.
    pub(crate) fn start(&self, client: u32, seed: u64) -> Start {
        let mut random = Random::new(seed);
        let member = Member::new(client, self.rooms);
        let values = self.values(member, &mut random);
        Start { member, seed, random, values, cookies: Cookies::default(), tape: None }
    }

    /// The values of a connection as it begins; those that are taken later are empty.
    fn values(&self, member: Member, random: &mut Random) -> Box<[Box<[u8]>]> {
        let mut values = vec![Box::<[u8]>::default(); self.names.len()];
        for (number, fill) in self.fills.iter().enumerate() {
            values[number] = match fill {
                Given::Template(template) => {
                    let filling = Filling { id: 0, now: Nanos(0), member, values: &values };
                    let mut value = Vec::new();
                    template.write(filling, random, &mut value);
                    value.into()
                }
                Given::Pick(from) if from.is_empty() => Box::default(),
                Given::Pick(from) => from[random.below(from.len())].as_bytes().into(),
                Given::Rows(rows, end) => {
                    let client = member.client;
                    let row = match end {
                        AtEnd::Wrap => (client as usize).checked_rem(rows.len()),
                        AtEnd::Stop => Some(client as usize),
                    };
                    let row = row.and_then(|row| rows.get(row));
                    row.map_or_else(Box::default, |row| row.as_bytes().into())
                }
                Given::Secret(secret) => secret.as_bytes().into(),
            };
        }
        values.into()
    }

    /// The subprotocols that a connection offers.
    pub(crate) fn subprotocols(&self, start: &mut Start) -> Vec<String> {
        let Start { member, random, values, .. } = start;
        let filling = Filling { id: 0, now: Nanos(0), member: *member, values };
        self.subprotocols.filled(filling, random)
    }

    /// The path, where the conversation has one, and the header fields of the opening request of a connection.
    pub(crate) fn request(&self, start: &mut Start) -> (Option<String>, Vec<(String, String)>) {
        let Start { member, random, values, .. } = start;
        let mut text = |template: &template::Compiled| {
            let mut text = Vec::new();
            let filling = Filling { id: 0, now: Nanos(0), member: *member, values };
            template.write(filling, random, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        };
        let path = self.path.as_ref().map(&mut text);
        let fields = self.headers.iter().map(|(name, value)| (name.clone(), text(value)));
        (path, fields.collect())
    }

    /// True if the opening request is the same on every connection.
    pub(crate) fn has_constant_request(&self) -> bool {
        let values = self.headers.iter().map(|(_, value)| value);
        self.path.iter().chain(values).all(template::Compiled::is_constant)
            && self.subprotocols.is_constant()
    }
}

/// The rules for messages that may arrive once a connection is open, in the order in which they are tried: replies by
/// id, messages to answer, pushes, and replies in order.
fn rules(conversation: &Conversation) -> Result<Rules<What>, CompileError> {
    let mut rules = Rules::default();
    let mut replies: Vec<(&Matcher, Vec<(u16, Role)>)> = Vec::new();
    let mut in_order = Vec::new();
    let max = MAX;
    let requests = &conversation.requests;
    let count = u16::try_from(requests.len()).ok().filter(|count| *count <= MAX);
    let count = count.ok_or(CompileError::Parts { parts: "requests", max })?;
    for (exchange, request) in (0..count).zip(requests) {
        let mut add = |matcher, role| match replies.iter_mut().find(|(known, _)| *known == matcher)
        {
            Some((_, roles)) => roles.push((exchange, role)),
            None => replies.push((matcher, vec![(exchange, role)])),
        };
        match &request.reply {
            Reply::Match(matcher) => add(matcher, Role::Last),
            Reply::Order => in_order.push((exchange, Role::Last)),
            Reply::Nothing => {}
            Reply::Stream { first, each, last, .. } => {
                if let Some(last) = last {
                    add(last, Role::Last);
                }
                add(first, Role::First);
                add(each, Role::Each);
            }
        }
        if let Some(refused) = &request.refused {
            add(refused, Role::Refused);
        }
    }
    for (matcher, roles) in replies {
        rules.add(matcher, What::Reply(roles.into()))?;
    }
    aside(conversation, &mut rules)?;
    if !in_order.is_empty() {
        let any = Matcher { conditions: Vec::new(), id: None };
        rules.add(&any, What::Reply(in_order.into()))?;
    }
    Ok(rules)
}

/// Adds the rules for messages that may arrive at any time: those that are answered, and pushes.
fn aside(conversation: &Conversation, rules: &mut Rules<What>) -> Result<(), CompileError> {
    let max = MAX;
    if conversation.pushes.len() > usize::from(MAX) {
        return Err(CompileError::Parts { parts: "pushes", max });
    }
    for (index, answer) in conversation.answers.iter().enumerate() {
        rules.add(&answer.when, What::Answer(index))?;
    }
    for (index, push) in (0..).zip(&conversation.pushes) {
        rules.add(&push.when, What::Push(index))?;
    }
    Ok(())
}

fn expect(step: &Step, rules: &mut Rules<What>) -> Result<(), CompileError> {
    if let Some(refused) = &step.refused {
        rules.add(refused, What::Refused)?;
    }
    if let Some(expected) = &step.expect {
        rules.add(expected, What::Expected)?;
    }
    Ok(())
}

/// True if replies are matched by their order, not by an id.
fn is_in_order(reply: &Reply) -> bool {
    match reply {
        Reply::Match(matcher) => matcher.id.is_none(),
        Reply::Order => true,
        Reply::Nothing => false,
        Reply::Stream { each, .. } => each.id.is_none(),
    }
}

/// The names of all values: those that are given, then those that are taken.
fn names(conversation: &Conversation) -> Vec<String> {
    let mut names: Vec<String> = conversation.vars.iter().map(|var| var.name.clone()).collect();
    let before = conversation.before.iter().map(|before| &before.take);
    let steps = conversation.open.iter().chain(&conversation.close).map(|step| &step.take);
    let takes = before.chain(steps).chain(conversation.answers.iter().map(|answer| &answer.take));
    for take in takes.flatten() {
        if !names.contains(&take.var) {
            names.push(take.var.clone());
        }
    }
    names
}

fn fills(conversation: &Conversation, names: &[String]) -> Result<Vec<Given>, CompileError> {
    let unread = |name: &String| CompileError::Unread { name: name.clone() };
    let fill = |var: &spec::conversation::Var| {
        Ok(match &var.fill {
            Fill::Template(template) => Given::Template(compile(template, names)?),
            Fill::Pick(from) => Given::Pick(from.clone()),
            Fill::Column { end, values, .. } => {
                Given::Rows(values.clone().ok_or_else(|| unread(&var.name))?, *end)
            }
            Fill::Secret { value, .. } => {
                Given::Secret(value.clone().ok_or_else(|| unread(&var.name))?)
            }
        })
    };
    conversation.vars.iter().map(fill).collect()
}

fn interval(beat: &Beat, names: &[String]) -> Result<(Interval, template::Compiled), CompileError> {
    let every = match &beat.every {
        Every::Time(time) => Interval::Time(*time),
        Every::Millis(name) => Interval::Value(
            number(name, names).ok_or_else(|| CompileError::UnknownVar { name: name.clone() })?,
        ),
    };
    Ok((every, compile(&beat.send, names)?))
}

const fn carrier(speaks: Speaks) -> &'static str {
    match speaks {
        Speaks::Ws => "WebSocket",
        Speaks::Http => "HTTP",
        Speaks::LongPoll => "long polling",
        Speaks::Sse => "server-sent events",
        Speaks::Multipart => "multipart HTTP",
        Speaks::Chunked => "chunked HTTP",
        Speaks::Tcp => "TCP",
    }
}

/// The most requests, and the most pushes.
const MAX: u16 = 1000;
