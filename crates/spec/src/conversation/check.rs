//! The faults of a conversation: what cannot be sent, what can never match, what matches twice.
//!
//! It looks at plain data, so that a conversation out of a record is checked like one out of a file. Where both are
//! known the fault names the part and the key, which the reader of files turns into a line and a column.
//!
//! Start reading at [`Conversation::check`].

use super::template::RESERVED;
use super::{
    AnswerRule, Before, Condition, Conversation, Every, Field, Fill, Frame, HttpRequest, Matcher,
    Mix, Piece, Place, PushRule, Reply, Request, Send, Speaks, Step, Take, TakeFrom, Template,
    mqtt, overlap,
};
use crate::near::expected;
use std::fmt;

/// A fault of a conversation, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The part.
    pub part: Part,
    /// The key of that part; empty: the part as a whole.
    pub key: &'static str,
    /// The text in the value of that key that is wrong, such as `${nmae`; empty: the whole value.
    pub text: String,
    /// The reason, with what to do.
    pub message: String,
}

/// A part of a conversation, by its index where there are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The whole.
    Top,
    /// A header field.
    Field(usize),
    /// A value of `vars`.
    Var(usize),
    /// An exchange before the connection.
    Before(usize),
    /// A step of opening.
    Open(usize),
    /// A kind of request.
    Request(usize),
    /// A kind of push.
    Push(usize),
    /// A kind of message that is answered at once.
    Answer(usize),
    /// The heartbeat.
    Beat,
    /// The farewell.
    Close,
    /// The conversation of connections that publish.
    Publishers,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top => f.write_str("the conversation"),
            Self::Field(index) => write!(f, "header {}", index + 1),
            Self::Var(index) => write!(f, "value {}", index + 1),
            Self::Before(index) => write!(f, "exchange {} before the connection", index + 1),
            Self::Open(index) => write!(f, "opening step {}", index + 1),
            Self::Request(index) => write!(f, "request {}", index + 1),
            Self::Push(index) => write!(f, "push {}", index + 1),
            Self::Answer(index) => write!(f, "answer {}", index + 1),
            Self::Beat => f.write_str("the heartbeat"),
            Self::Close => f.write_str("the farewell"),
            Self::Publishers => f.write_str("the publishers"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key {
            "" => write!(f, "{}: {}", self.part, self.message),
            key => write!(f, "{}, `{key}`: {}", self.part, self.message),
        }
    }
}

impl Conversation {
    /// The most parts of one kind: requests, pushes, steps, values, header fields.
    pub const PARTS_MAX: usize = 256;

    /// Refuses a conversation that cannot be held.
    ///
    /// # Errors
    ///
    /// Its first fault.
    pub fn check(&self) -> Result<(), Fault> {
        let mut checker = Checker { conversation: self, known: Vec::new(), part: Part::Top };
        checker.check_counts()?;
        checker.check_values()?;
        checker.check_transport()?;
        for (index, step) in self.open.iter().enumerate() {
            checker.part = Part::Open(index);
            checker.check_step(step)?;
        }
        for (index, request) in self.requests.iter().enumerate() {
            checker.part = Part::Request(index);
            checker.check_request(request)?;
        }
        checker.check_unasked()?;
        checker.part = Part::Close;
        self.close.iter().try_for_each(|step| checker.check_step(step))?;
        checker.part = Part::Publishers;
        self.publishers.iter().try_for_each(|publishers| checker.check_publishers(publishers))
    }
}

/// A check that has come to a part, where values are known that were filled or taken before it.
struct Checker<'c> {
    conversation: &'c Conversation,
    known: Vec<&'c str>,
    part: Part,
}

/// Holes that a template may have besides those for values and the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holes {
    /// None.
    Plain,
    /// The id.
    Id,
    /// The id and the instant.
    All,
}

impl<'c> Checker<'c> {
    fn fault(&self, key: &'static str, message: impl Into<String>) -> Fault {
        Fault { part: self.part, key, text: String::new(), message: message.into() }
    }

    fn check_counts(&self) -> Result<(), Fault> {
        let all = self.conversation;
        let counts = [
            ("subprotocols", all.subprotocols.len()),
            ("headers", all.headers.len()),
            ("vars", all.vars.len()),
            ("before", all.before.len()),
            ("open", all.open.len()),
            ("request", all.requests.len()),
            ("push", all.pushes.len()),
            ("answer", all.answers.len()),
        ];
        if let Some((key, count)) =
            counts.into_iter().find(|(_, count)| *count > Conversation::PARTS_MAX)
        {
            let max = Conversation::PARTS_MAX;
            return Err(self.fault(key, format!("there are {count}; at most {max} are possible")));
        }
        if all.requests.is_empty() && all.publishers.is_none() {
            return Err(self.fault(
                "request",
                "nothing is sent; a conversation needs a `[request.NAME]`, whose replies are timed",
            ));
        }
        let weights: Vec<u32> = all.requests.iter().map(|request| request.weight).collect();
        if let Some(index) = weights.iter().position(|weight| *weight == 0) {
            let message = "a weight of 0 sends nothing; leave the request out, or say 1 or more";
            let fault = self.fault("weight", message);
            return Err(Fault { part: Part::Request(index), ..fault });
        }
        let (turn, max) = (Mix::turn_len(&weights), Mix::TURN_MAX);
        if turn > max {
            let message = format!(
                "the weights repeat after {turn} messages only; at most {max} are possible; use smaller weights"
            );
            return Err(Fault { part: Part::Request(0), ..self.fault("weight", message) });
        }
        Ok(())
    }

    /// Checks values, exchanges before the connection, path and header fields, in the order in which they are filled.
    fn check_values(&mut self) -> Result<(), Fault> {
        let all = self.conversation;
        for (index, var) in all.vars.iter().enumerate() {
            self.part = Part::Var(index);
            self.check_name(&var.name, "")?;
            match &var.fill {
                Fill::Template(template) => self.check_template("", template, Holes::Plain)?,
                Fill::Pick(values) if values.is_empty() => {
                    return Err(self.fault("", "a list of no values has none to pick"));
                }
                Fill::Pick(_) | Fill::Column { .. } | Fill::Secret { .. } => {}
            }
            self.known.push(&var.name);
        }
        for (index, before) in all.before.iter().enumerate() {
            self.part = Part::Before(index);
            self.check_before(before)?;
        }
        self.part = Part::Top;
        if let Some(path) = &all.path {
            self.check_template("path", path, Holes::Plain)?;
        }
        for (index, field) in all.headers.iter().enumerate() {
            self.part = Part::Field(index);
            self.check_template("", &field.value, Holes::Plain)?;
        }
        Ok(())
    }

    /// Refuses publishers that are not told from receivers.
    fn check_publishers(&self, publishers: &Conversation) -> Result<(), Fault> {
        if !self.conversation.requests.is_empty() {
            return Err(self.fault(
                "",
                "publish, and a `[request.NAME]` beside them would be sent by nobody; put it into \
                 `[publishers.request.NAME]`",
            ));
        }
        if publishers.publishers.is_some() {
            return Err(self.fault("", "have publishers of their own; leave those out"));
        }
        if !publishers.pushes.is_empty() {
            return Err(
                self.fault("", "have a `push`, and it is receivers that are timed; put it there")
            );
        }
        publishers.check().map_err(|fault| self.fault("", format!("cannot publish: {fault}")))
    }

    /// Refuses parts that the protocol below has no place for.
    fn check_transport(&mut self) -> Result<(), Fault> {
        let all = self.conversation;
        self.part = Part::Top;
        let (is_ws, is_tcp) = (all.speaks == Speaks::Ws, all.speaks == Speaks::Tcp);
        let is_http = !is_ws && !is_tcp;
        let nowhere = |is_there: bool, key: &'static str, place: &str| match is_there {
            true => Err(Fault {
                part: Part::Top,
                key,
                text: String::new(),
                message: format!("belongs to {place}; leave it out"),
            }),
            false => Ok(()),
        };
        let with_http = "WebSocket and HTTP, not to `speaks = \"tcp\"`";
        nowhere(!is_ws && !all.subprotocols.is_empty(), "subprotocols", "`speaks = \"ws\"`")?;
        nowhere(is_tcp && all.path.is_some(), "path", with_http)?;
        nowhere(is_tcp && !all.headers.is_empty(), "headers", with_http)?;
        nowhere(is_tcp && !all.before.is_empty(), "before", with_http)?;
        let requests =
            "connections with messages of their own; HTTP has requests and responses only";
        nowhere(
            is_http && all.path.is_some(),
            "path",
            "WebSocket; over HTTP each request has its own",
        )?;
        if is_http {
            all.headers.iter().try_for_each(|field| self.check_field("headers", field))?;
        }
        nowhere(is_http && all.frame != Frame::Message, "frame", requests)?;
        nowhere(is_http && !all.open.is_empty(), "open", requests)?;
        nowhere(is_http && !all.pushes.is_empty(), "push", requests)?;
        nowhere(is_http && !all.answers.is_empty(), "answer", requests)?;
        nowhere(is_http && all.beat.is_some(), "beat", requests)?;
        nowhere(is_http && all.close.is_some(), "close", requests)?;
        if is_ws && all.frame == Frame::Mqtt && all.subprotocols.is_empty() {
            return Err(self.fault(
                "subprotocols",
                "are missing: MQTT over WebSocket needs [\"mqtt\"] (MQTT 3.1.1, §6)",
            ));
        }
        if all.frame == Frame::Mqtt && all.open.first().is_none_or(|step| step.send.is_none()) {
            return Err(self.fault(
                "open",
                "is missing or sends nothing first: MQTT begins with a step whose `send` is \"CONNECT\\nclient-id=…\" \
                 (MQTT 3.1.1, §3.1)",
            ));
        }
        if is_tcp && all.frame == Frame::Message {
            return Err(self.fault(
                "frame",
                "TCP has no messages of its own; say where one ends: \"lines\", \"nul\", \"rs\", \"mqtt\", or a length",
            ));
        }
        Ok(())
    }

    fn check_before(&mut self, before: &'c Before) -> Result<(), Fault> {
        self.check_http(&before.request, Holes::Plain)?;
        if let Some(expect) = &before.expect {
            self.check_matcher("expect", expect, true, None)?;
        }
        self.take(&before.take, true)
    }

    fn check_step(&mut self, step: &'c Step) -> Result<(), Fault> {
        if let Some(send) = &step.send {
            self.check_template("send", send, Holes::Id)?;
        }
        if step.send.is_none() && step.expect.is_none() {
            return Err(self.fault("", "a step needs `send`, `expect`, or both"));
        }
        if step.expect.is_none() {
            let idle = [("refused", step.refused.is_some()), ("take", !step.take.is_empty())];
            if let Some((key, _)) = idle.into_iter().find(|(_, is_there)| *is_there) {
                return Err(self.fault(key, "nothing is awaited here; say `expect` too"));
            }
        }
        let send = step.send.as_ref();
        for (key, matcher) in [("expect", &step.expect), ("refused", &step.refused)] {
            if let Some(matcher) = matcher {
                self.check_matcher(key, matcher, false, Some(send.is_some_and(Template::has_id)))?;
            }
        }
        self.check_apart(step.expect.as_ref(), "expect", step.refused.as_ref())?;
        self.take(&step.take, false)
    }

    fn check_request(&self, request: &'c Request) -> Result<(), Fault> {
        let speaks = self.conversation.speaks;
        let is_http = matches!(speaks, Speaks::Http | Speaks::Sse);
        let has_id = match &request.send {
            Send::Message(_) if is_http => {
                return Err(self.fault(
                    "send",
                    "over HTTP a request has a method and a path: say `http = \"POST /path\"`, and a `body`",
                ));
            }
            Send::Message(template) => {
                if template.0.is_empty() {
                    return Err(self.fault("send", "is empty; a request needs a message"));
                }
                self.check_template("send", template, Holes::All)?;
                template.has_id()
            }
            Send::Http(_) if !is_http => {
                return Err(self.fault(
                    "http",
                    "belongs to `speaks = \"http\"` and \"sse\"; use `send`, or `[[before]]` for an HTTP request \
                     before the connection",
                ));
            }
            Send::Http(http) => {
                self.check_http(http, Holes::All)?;
                http.body.as_ref().is_some_and(Template::has_id) || http.path.has_id()
            }
        };
        let key = |matcher: &Matcher| match &request.reply {
            _ if request.refused.as_ref().is_some_and(|refused| std::ptr::eq(refused, matcher)) => {
                "refused"
            }
            Reply::Stream { first, .. } if std::ptr::eq(first, matcher) => "first",
            Reply::Stream { each, .. } if std::ptr::eq(each, matcher) => "each",
            Reply::Stream { .. } => "last",
            Reply::Match(_) | Reply::Order | Reply::Nothing => "reply",
        };
        for matcher in request.matchers() {
            self.check_matcher(key(matcher), matcher, is_http, Some(has_id))?;
        }
        match &request.reply {
            Reply::Match(reply) => self.check_reply(reply, request.refused.as_ref())?,
            Reply::Nothing if request.refused.is_some() => {
                return Err(self.fault(
                    "refused",
                    "is a reply, and the request has none; leave one of the two out",
                ));
            }
            Reply::Nothing if is_http => {
                return Err(self.fault("reply", "is \"none\", and HTTP answers every request"));
            }
            Reply::Order | Reply::Nothing => {}
            Reply::Stream { each, last, may_end, resume, .. } => {
                if *may_end && (last.is_none() || !is_http) {
                    return Err(self.fault(
                        "may-end",
                        "says that the end of a response of HTTP ends the stream as well as `last`; leave it out",
                    ));
                }
                if resume.is_some() && !is_http {
                    return Err(self.fault(
                        "resume",
                        "asks for the rest of a response of HTTP by `Last-Event-ID`; leave it out",
                    ));
                }
                if resume.is_some_and(|resume| resume.times == 0) {
                    return Err(
                        self.fault("resume", "is 0; leave it out for streams that are not resumed")
                    );
                }
                if last.is_none() && !is_http {
                    return Err(self.fault(
                        "last",
                        "is missing: a stream that is no response of HTTP needs the message that ends it",
                    ));
                }
                if last.as_ref().is_some_and(|last| overlap::is_same(last, each)) {
                    return Err(self.fault(
                        "last",
                        "matches every message that `each` does, so that the first ends the stream",
                    ));
                }
            }
        }
        if let Send::Message(_) = request.send {
            return Ok(());
        }
        match (speaks, &request.reply) {
            (Speaks::Sse, Reply::Stream { .. }) | (Speaks::Http, Reply::Match(_)) => Ok(()),
            (Speaks::Sse, _) => Err(self.fault(
                "reply",
                "of `speaks = \"sse\"` is a stream; say `each` event, the `first`, and the `last`",
            )),
            (_, Reply::Stream { .. }) => {
                Err(self.fault("each", "is of a stream of events; say `speaks = \"sse\"`"))
            }
            (_, _) => Err(self.fault("reply", "of HTTP is a matcher, as in { status = \"2xx\" }")),
        }
    }

    fn check_reply(&self, reply: &Matcher, refused: Option<&Matcher>) -> Result<(), Fault> {
        if reply.conditions.is_empty() && reply.id.is_none() {
            return Err(self.fault(
                "reply",
                "matches every message; say \"order\" if replies come in the order of requests",
            ));
        }
        self.check_apart(Some(reply), "reply", refused)
    }

    /// Refuses a refusal that counts as what is awaited, or the other way round.
    fn check_apart(
        &self,
        awaited: Option<&Matcher>,
        key: &str,
        refused: Option<&Matcher>,
    ) -> Result<(), Fault> {
        let (Some(awaited), Some(refused)) = (awaited, refused) else { return Ok(()) };
        if overlap::implies(refused, awaited) || overlap::implies(awaited, refused) {
            return Err(self.fault(
                "refused",
                format!(
                    "and `{key}` match the same message; say in one of them what tells them apart, as in \
                     lacks = \"$.error\""
                ),
            ));
        }
        Ok(())
    }

    /// Checks pushes, answers and the heartbeat.
    fn check_unasked(&mut self) -> Result<(), Fault> {
        let all = self.conversation;
        for (index, PushRule { when, sent, header, .. }) in all.pushes.iter().enumerate() {
            self.part = Part::Push(index);
            self.check_matcher("when", when, false, None)?;
            self.check_free(when)?;
            let rules = all.pushes[..index].iter();
            let reached = rules.map(|rule| ("push", &rule.name, &rule.when));
            let answers = all.answers.iter().map(|rule| ("answer", &rule.name, &rule.when));
            self.check_reached(when, answers.chain(reached))?;
            let stamps = |request: &Request| match &request.send {
                Send::Message(template) => template.has_now(),
                Send::Http(_) => false,
            };
            if sent.is_some() && !all.requests.iter().any(stamps) {
                return Err(self.fault(
                    "sent",
                    "is the place of a `${now}`, and no request sends one; put `${now}` into the request that is \
                     delivered",
                ));
            }
            if header.is_some() && !all.of_publishers().requests.iter().any(Request::has_header) {
                return Err(self.fault(
                    "header",
                    "is the place of a `${header}`, and no request sends one; put `${header}` into the request that \
                     is delivered",
                ));
            }
            if let Some(Place::Text { before, after }) = header
                && before.is_empty()
                && after.is_empty()
            {
                return Err(self.fault("header", "is a hole without a text beside it"));
            }
        }
        for (index, AnswerRule { when, take, send, .. }) in all.answers.iter().enumerate() {
            self.part = Part::Answer(index);
            self.check_matcher("when", when, false, None)?;
            if when.conditions.is_empty() {
                return Err(self.fault("when", "matches every message; say which is answered"));
            }
            self.check_free(when)?;
            let rules = all.answers[..index].iter();
            self.check_reached(when, rules.map(|rule| ("answer", &rule.name, &rule.when)))?;
            let known = self.known.len();
            self.take(take, false)?;
            self.check_template("send", send, Holes::Plain)?;
            self.known.truncate(known);
        }
        if let Some(beat) = &all.beat {
            self.part = Part::Beat;
            match &beat.every {
                Every::Time(units::Nanos::ZERO) => {
                    return Err(self.fault("every", "0s is no time; name a longer one"));
                }
                Every::Time(_) => {}
                Every::Millis(name) => self.check_known("every", name)?,
            }
            self.check_template("send", &beat.send, Holes::Plain)?;
        }
        Ok(())
    }

    /// Refuses a rule for messages that come unasked which takes all replies of a request too.
    fn check_free(&self, when: &Matcher) -> Result<(), Fault> {
        for request in &self.conversation.requests {
            if request.matchers().any(|reply| overlap::implies(reply, when)) {
                let name = &request.name;
                return Err(self.fault(
                    "when",
                    format!(
                        "matches the replies to `{name}` too; say what tells them apart, as in lacks = \"$.id\""
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Refuses a rule whose messages an earlier one takes all.
    fn check_reached<'r>(
        &self,
        when: &Matcher,
        earlier: impl Iterator<Item = (&'static str, &'r String, &'r Matcher)>,
    ) -> Result<(), Fault> {
        for (kind, name, before) in earlier {
            if overlap::implies(when, before) {
                return Err(self.fault(
                    "when",
                    format!(
                        "matches nothing that `[{kind}.{name}]`, which comes first, does not match"
                    ),
                ));
            }
        }
        Ok(())
    }

    /// `asked`: whether the message that it answers has an id; `None` where it answers none.
    fn check_matcher(
        &self,
        key: &'static str,
        matcher: &Matcher,
        is_http: bool,
        asked: Option<bool>,
    ) -> Result<(), Fault> {
        let has_status = |condition: &Condition| matches!(condition, Condition::Status(_));
        if !is_http && matcher.conditions.iter().any(has_status) {
            return Err(self.fault(key, "has a `status`, which responses of HTTP alone have"));
        }
        match (&matcher.id, asked) {
            (Some(_), None) => {
                return Err(self.fault(key, "has an `id`, and nothing was asked; leave it out"));
            }
            (Some(_), Some(false)) => {
                return Err(
                    self.fault(key, "has an `id`, and what is sent has none; put `${id}` into it")
                );
            }
            (Some(Place::Text { before, after }), _) if before.is_empty() && after.is_empty() => {
                return Err(self.fault(key, "has an `id` without a text beside it"));
            }
            _ => {}
        }
        match overlap::contradiction(matcher) {
            Some(message) => Err(self.fault(key, format!("can never match: {message}"))),
            None => Ok(()),
        }
    }

    fn check_http(&self, request: &HttpRequest, holes: Holes) -> Result<(), Fault> {
        self.check_template("http", &request.path, holes)?;
        let is_odd = |letter: char| !letter.is_ascii_graphic() || letter == '#';
        for piece in &request.path.0 {
            if let Piece::Text(text) = piece
                && let Some(odd) = text.chars().find(|letter| is_odd(*letter))
            {
                return Err(
                    self.fault("http", format!("has {odd:?} in its path; percent-encode it"))
                );
            }
        }
        for field in &request.headers {
            self.check_field("headers", field)?;
            self.check_template("headers", &field.value, holes)?;
        }
        match &request.body {
            Some(_) if matches!(request.method.as_str(), "GET" | "HEAD") => {
                Err(self.fault("body", format!("{} has no body; use POST", request.method)))
            }
            Some(body) => self.check_template("body", body, holes),
            None => Ok(()),
        }
    }

    /// Refuses a field that is written by the protocol itself.
    fn check_field(&self, key: &'static str, field: &Field) -> Result<(), Fault> {
        let is_own = WRITTEN_FIELDS.iter().any(|own| field.name.eq_ignore_ascii_case(own));
        match is_own {
            true => {
                let name = &field.name;
                Err(self
                    .fault(key, format!("has `{name}`, which is written by itself; leave it out")))
            }
            false => Ok(()),
        }
    }

    fn check_template(
        &self,
        key: &'static str,
        template: &Template,
        holes: Holes,
    ) -> Result<(), Fault> {
        for piece in &template.0 {
            let misplaced = match piece {
                Piece::Id if holes == Holes::Plain => {
                    "is the id of a request or of an opening step"
                }
                Piece::Now | Piece::NowMs if holes != Holes::All => {
                    "is the instant at which a request is due"
                }
                Piece::Header if holes != Holes::All => "is the header of a request",
                Piece::Var { name, .. } => {
                    self.check_known(key, name)?;
                    continue;
                }
                Piece::Text(_)
                | Piece::Id
                | Piece::Now
                | Piece::NowMs
                | Piece::Client
                | Piece::ClientModulo(_)
                | Piece::Room
                | Piece::Header
                | Piece::Pad(_)
                | Piece::Random(_) => continue,
            };
            let text = Template(vec![piece.clone()]).to_string();
            let fault = self.fault(key, format!("`{text}` {misplaced}, and this is none"));
            return Err(Fault { text, ..fault });
        }
        let (len, max) = (template.len_min(), Template::LEN_MAX);
        if len > u64::from(max) {
            return Err(self.fault(key, format!("is {len} bytes long; at most {max} are possible")));
        }
        if self.conversation.frame == Frame::Mqtt && key == "send" {
            let packet = mqtt::check(template, self.part == Part::Open(0));
            return packet.map_err(|error| self.fault(key, error.to_string()));
        }
        Ok(())
    }

    fn check_known(&self, key: &'static str, name: &str) -> Result<(), Fault> {
        if self.known.contains(&name) {
            return Ok(());
        }
        let message = if self.taken_anywhere().any(|taken| taken == name) {
            format!("`{name}` is not known yet: it is taken from a message that comes later")
        } else {
            let all = RESERVED.into_iter().chain(self.known.iter().copied());
            format!("no value is called `{name}`{}", expected(name, all))
        };
        Err(Fault { text: format!("${{{name}}}"), ..self.fault(key, message) })
    }

    /// The names of all values, wherever they are taken.
    fn taken_anywhere(&self) -> impl Iterator<Item = &'c str> {
        let all = self.conversation;
        let vars = all.vars.iter().map(|var| var.name.as_str());
        let before = all.before.iter().flat_map(|before| &before.take);
        let steps = all.open.iter().chain(&all.close).flat_map(|step| &step.take);
        vars.chain(before.chain(steps).map(|take| take.var.as_str()))
    }

    fn take(&mut self, takes: &'c [Take], is_http: bool) -> Result<(), Fault> {
        for Take { var, from } in takes {
            self.check_name(var, "take")?;
            match from {
                TakeFrom::Header(_) if !is_http => {
                    return Err(
                        self.fault("take", "messages have no headers; only `[[before]]` has")
                    );
                }
                TakeFrom::Message(Place::Text { before, after })
                    if before.is_empty() && after.is_empty() =>
                {
                    return Err(self.fault("take", format!("`{var}` has no text beside its hole")));
                }
                TakeFrom::Header(_) | TakeFrom::Message(_) => {}
            }
            self.known.push(var);
        }
        Ok(())
    }

    fn check_name(&self, name: &str, key: &'static str) -> Result<(), Fault> {
        if !super::template::is_name(name) {
            return Err(self.fault(
                key,
                format!("`{name}` is no name for a value; it has letters, digits and `_`, and no digit first"),
            ));
        }
        if RESERVED.contains(&name) {
            return Err(
                self.fault(key, format!("`${{{name}}}` is known already; choose another name"))
            );
        }
        Ok(())
    }
}

/// The fields of a request of HTTP, in lower case, that the protocol writes itself: for each message, or because they
/// determine the end of the request.
pub const WRITTEN_FIELDS: [&str; 5] =
    ["content-length", "expect", "host", "transfer-encoding", "upgrade"];
