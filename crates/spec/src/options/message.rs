//! Messages and replies from options.

use super::{Context, Options};
use crate::{
    Blob, Carries, Content, Conversation, Expect, Http, Message, PayloadKind, Problem, Protocol,
    Scheme, Server, Sha256,
};
use units::{Bytes, Nanos};

impl Options {
    /// The text that fills the `${payload}` of a conversation.
    pub(super) fn payload_of(
        &self,
        conversation: &Conversation,
        context: &Context<'_>,
    ) -> Result<Message, Problem> {
        if !conversation.has_payload() {
            return Ok(Message { text: true, content: Content::Nothing });
        }
        let why = "and the messages of a conversation are text";
        self.check_generated(self.generated())?;
        let content = if let Some(typed) = &self.payload {
            let bytes = bytes("payload", typed, context)?;
            if std::str::from_utf8(&bytes).is_err() {
                return Err(Problem::new("payload", format!("{typed} is not UTF-8, {why}")));
            }
            Content::Given { source: typed.clone(), bytes: Blob(bytes) }
        } else {
            let kind = self.payload_kind.unwrap_or(PayloadKind::Text);
            if !kind.is_text() {
                let message = format!("{} is binary, {why}; use text or json", kind.name());
                return Err(Problem::new("payload-kind", message));
            }
            Content::Generated { kind, size: self.some_size()?, varied: false }
        };
        Ok(Message { text: true, content })
    }

    /// The option that says how messages are generated, if one is set.
    fn generated(&self) -> Option<&'static str> {
        let generated = [
            ("payload-kind", self.payload_kind.is_some()),
            ("size", self.size.is_some()),
            ("varied", self.varied),
        ];
        generated.into_iter().find_map(|(field, is_set)| is_set.then_some(field))
    }

    /// Refuses an option that says how messages are generated together with one that gives them.
    fn check_generated(&self, generated: Option<&'static str>) -> Result<(), Problem> {
        match (&self.payload, generated) {
            (Some(_), Some(field)) => Err(Problem::new(
                field,
                "--payload already sets the whole message; leave one of the two out",
            )),
            (_, _) => Ok(()),
        }
    }

    fn some_size(&self) -> Result<Bytes, Problem> {
        let size = self.size.unwrap_or(SIZE);
        match size > SIZE_MAX {
            true => Err(Problem::new(
                "size",
                format!("{size} is too large; messages have at most {SIZE_MAX}"),
            )),
            false => Ok(size),
        }
    }

    /// The content of messages, and the reply that each is due, without a conversation.
    pub(super) fn messages_and_replies(
        &self,
        server: &Server,
        http: &Http,
        context: &Context<'_>,
    ) -> Result<(Message, Expect), Problem> {
        let scheme = server.scheme();
        let carries = scheme.facts().carries;
        let payload = self.payload.as_ref().map(|_| "payload");
        let generated = self.generated();
        self.check_generated(generated)?;
        if self.text && self.binary {
            return Err(Problem::new("binary", "messages are --text or --binary; leave one out"));
        }
        if carries == Carries::Events {
            let foreign = [
                ("text", self.text),
                ("binary", self.binary),
                ("expect", self.expect.is_some()),
                ("oracle", self.oracle),
                ("codec", self.codec.is_some()),
            ];
            let foreign = foreign.into_iter().find_map(|(field, is_set)| is_set.then_some(field));
            if let Some(field) = payload.or(generated).or(foreign) {
                return Err(Problem::new(
                    field,
                    format!(
                        "does not apply to {scheme}://, where each message is an event of the game, and its reply what \
                         the game makes of it; leave it out"
                    ),
                ));
            }
            let content = Content::GameEvent { delay_ms: self.event_delay_ms()? };
            return Ok((Message { text: false, content }, Expect::InSequence));
        }
        if carries.is_text() && self.binary {
            return Err(Problem::new(
                "binary",
                format!(
                    "is not possible over {scheme}://, where messages are text; leave it out, or use ws://"
                ),
            ));
        }
        let may_have_none = carries == Carries::Requests;
        let is_bodiless = may_have_none && matches!(http.method.as_str(), "GET" | "HEAD");
        let has_no_body = is_bodiless || may_have_none && !self.has_body(server);
        let message = match has_no_body {
            true => self.no_message(&http.method, payload.or(generated))?,
            false => self.message(server, context)?,
        };
        let expect = self.expectation(server, http, has_no_body, context)?;
        Ok((message, expect))
    }

    fn no_message(&self, method: &str, given: Option<&'static str>) -> Result<Message, Problem> {
        let echo = || [("oracle", self.oracle), ("echo", self.echo)];
        let given =
            given.or_else(|| echo().iter().find_map(|(field, is_set)| is_set.then_some(*field)));
        match given {
            Some(field) => Err(Problem::new(
                field,
                format!("cannot be sent with --method {method}, which has no body; leave one out"),
            )),
            None => Ok(Message { text: false, content: Content::Nothing }),
        }
    }

    fn message(&self, server: &Server, context: &Context<'_>) -> Result<Message, Problem> {
        let scheme = server.scheme();
        let facts = scheme.facts();
        let has_text = facts.carries.has_text();
        let is_usually_text = facts.carries.is_usually_text();
        let message = if let Some(typed) = &self.payload {
            let bytes = bytes("payload", typed, context)?;
            let is_file = typed.starts_with('@') && !typed.starts_with("@@");
            let is_text = is_usually_text || has_text && (self.text || !is_file);
            let text = is_text && !self.binary;
            let (bytes, source, text) = match self.packed(server, &bytes, context)? {
                Some(packed) => (packed, format!("{typed}, packed by --codec"), has_text),
                None => (bytes, typed.clone(), text),
            };
            if !facts.carries.may_hold(&bytes) {
                return Err(Problem::new(
                    "payload",
                    format!(
                        "has a line feed in it, which ends a message over {scheme}://; leave it out, or use ws://"
                    ),
                ));
            }
            if text && std::str::from_utf8(&bytes).is_err() {
                let cure = match facts.carries.is_text() {
                    true => format!("over {scheme}:// messages are text"),
                    false => "use --binary".to_owned(),
                };
                return Err(Problem::new(
                    "payload",
                    format!("{typed} is not UTF-8, and text is; {cure}"),
                ));
            }
            Message { text, content: Content::Given { source, bytes: Blob(bytes) } }
        } else {
            if self.codec.is_some() {
                return Err(Problem::new(
                    "codec",
                    "packs a --payload; add one, as in --payload '{\"id\":1,\"classId\":7}'",
                ));
            }
            let kind = self.payload_kind.unwrap_or(PayloadKind::Random);
            let is_text = is_usually_text || kind.is_text() && has_text;
            let text = self.text || is_text && !self.binary;
            let size = self.some_size()?;
            // Without compression it does not matter what came before, and one message is easier on caches.
            Message {
                text,
                content: Content::Generated {
                    kind,
                    size,
                    varied: self.varied || self.deflate.is_some(),
                },
            }
        };
        let len = message.content.len();
        if len < facts.message_min as u64 {
            return Err(Problem::new(
                "size",
                format!(
                    "a message of {len} bytes cannot be seen on {scheme}://; use tcp-framed://, or a --size from {} B on",
                    facts.message_min
                ),
            ));
        }
        if self.oracle {
            let may_be_overwritten = matches!(
                message.content,
                Content::Generated {
                    kind: PayloadKind::Random | PayloadKind::Text | PayloadKind::Zero,
                    ..
                }
            );
            let needed = if message.text { ORACLE_TEXT_LEN } else { ORACLE_LEN };
            if !may_be_overwritten || len < needed {
                return Err(Problem::new(
                    "oracle",
                    format!(
                        "needs {needed} bytes of a message for itself; use a --size from {needed}B on, and neither \
                         --payload nor --payload-kind json"
                    ),
                ));
            }
        }
        Ok(message)
    }

    /// The payload as a packet of `--codec`; `None` without it.
    fn packed(
        &self,
        server: &Server,
        payload: &[u8],
        context: &Context<'_>,
    ) -> Result<Option<Vec<u8>>, Problem> {
        let Some(file) = &self.codec else { return Ok(None) };
        let scheme = server.scheme();
        let as_json = scheme.protocol == Protocol::WebSocket;
        if !as_json && scheme.protocol != Protocol::Styx {
            return Err(Problem::new(
                "codec",
                format!(
                    "does not apply to {scheme}://, only to styx://, styx-tls://, ws:// and wss://; leave it out"
                ),
            ));
        }
        if self.expect.is_some() || self.oracle {
            let field = if self.oracle { "oracle" } else { "expect" };
            return Err(Problem::new(
                field,
                "a packet of --codec comes back as it was sent; leave it out",
            ));
        }
        let problem = |problem: String| Problem::new("codec", problem);
        let definition = (context.read)(file, CODEC_MAX).map_err(problem)?;
        let definition =
            String::from_utf8(definition).map_err(|_| problem(format!("{file} is not UTF-8")))?;
        let packed = (context.pack)(&definition, payload, as_json);
        packed.map(Some).map_err(|error| problem(format!("{file}: {error}")))
    }

    fn expectation(
        &self,
        server: &Server,
        http: &Http,
        has_no_body: bool,
        context: &Context<'_>,
    ) -> Result<Expect, Problem> {
        let facts = server.scheme().facts();
        let named = [
            ("expect", self.expect.is_some()),
            ("expect-body", self.expect_body.is_some()),
            ("echo", self.echo),
        ];
        let mut named = named.into_iter().filter_map(|(field, is_set)| is_set.then_some(field));
        if let (Some(field), Some(other)) = (named.next(), named.next()) {
            return Err(Problem::new(
                field,
                format!("says what a reply is, and so does --{other}; leave one out"),
            ));
        }
        if let Some(typed) = &self.expect_body {
            return self.part_of_reply(typed, http, context);
        }
        let Some(typed) = &self.expect else {
            return Ok(match (has_no_body || !self.is_echoed(server), self.oracle) {
                (true, _) => Expect::Anything,
                (false, true) => Expect::Oracle,
                (false, false) => Expect::Echo,
            });
        };
        if self.oracle {
            return Err(Problem::new(
                "expect",
                "an oracle server answers with what was sent; leave --expect out",
            ));
        }
        if http.method == "HEAD" && facts.carries == Carries::Requests {
            return Err(Problem::new(
                "expect",
                "cannot be met with --method HEAD, whose replies are empty; use GET",
            ));
        }
        let reply = bytes("expect", typed, context)?;
        if !facts.carries.may_hold(&reply) {
            let scheme = server.scheme();
            return Err(Problem::new(
                "expect",
                format!("has a line feed in it, which no reply over {scheme}:// has; leave it out"),
            ));
        }
        if reply.is_empty() && facts.carries == Carries::Bytes {
            let scheme = server.scheme();
            return Err(Problem::new(
                "expect",
                format!("a reply of 0 bytes cannot be seen on {scheme}://; expect more"),
            ));
        }
        Ok(Expect::Exactly(Blob(reply)))
    }

    fn part_of_reply(
        &self,
        typed: &str,
        http: &Http,
        context: &Context<'_>,
    ) -> Result<Expect, Problem> {
        let problem = |message: &str| Problem::new("expect-body", message);
        if self.oracle {
            return Err(problem(
                "an oracle server answers with what was sent; leave --expect-body out",
            ));
        }
        if http.method == "HEAD" {
            return Err(problem(
                "cannot be met with --method HEAD, whose replies are empty; use GET",
            ));
        }
        if let Some(digest) = typed.strip_prefix(DIGEST) {
            let digest = digest.parse::<Sha256>();
            return digest.map(Expect::Sha256).map_err(|error| problem(&error.to_string()));
        }
        let part = bytes("expect-body", typed, context)?;
        if part.is_empty() {
            return Err(problem("is empty, and every reply contains that; leave it out"));
        }
        Ok(Expect::Contains(Blob(part)))
    }

    fn event_delay_ms(&self) -> Result<i32, Problem> {
        let Some(time) = self.event_delay else { return Ok(0) };
        let whole = time.0 / Nanos::from_millis(1).0;
        if Nanos::from_millis(whole) != time {
            return Err(Problem::new(
                "event-delay",
                format!("{time} is not a whole number of milliseconds"),
            ));
        }
        i32::try_from(whole).map_err(|_| {
            Problem::new("event-delay", format!("{time} is too long; at most {} ms", i32::MAX))
        })
    }
}

impl Content {
    /// The length of each message, in bytes; 0 for events of a game, whose protocol makes them.
    pub fn len(&self) -> u64 {
        match self {
            Self::Generated { size, .. } => size.0,
            Self::Given { bytes, .. } => bytes.0.len() as u64,
            Self::GameEvent { .. } | Self::Nothing => 0,
        }
    }

    /// True if messages are empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The bytes that an option stands for: its text itself, the contents of a file for `@FILE`, of stdin for `@-`. A text
/// that begins with `@` is written `@@…`.
fn bytes(field: &'static str, text: &str, context: &Context<'_>) -> Result<Vec<u8>, Problem> {
    match text.strip_prefix('@') {
        None => Ok(text.as_bytes().to_vec()),
        Some(path) if path.starts_with('@') => Ok(path.as_bytes().to_vec()),
        Some(path) => {
            (context.read)(path, SIZE_MAX).map_err(|problem| Problem::new(field, problem))
        }
    }
}

impl Message {
    /// True if this is the message of a run over `scheme` whose options say nothing about messages.
    pub fn is_usual(&self, scheme: Scheme) -> bool {
        let kind = PayloadKind::Random;
        let content = Content::Generated { kind, size: SIZE, varied: false };
        *self == Self { text: scheme.facts().carries.is_usually_text(), content }
    }
}

/// The prefix of a digest, in an option that otherwise has a part of a reply.
const DIGEST: &str = "sha256:";
const SIZE: Bytes = Bytes(64);
/// The longest message; what embedded servers accept.
const SIZE_MAX: Bytes = Bytes(16 << 20);
/// The largest definition of packets; real ones are much smaller.
const CODEC_MAX: Bytes = Bytes(16 << 20);
/// The number of bytes that the header of a message and the true delay of an oracle take, in a binary message and in a
/// text; the tests of `load` check them against `TrueDelay`.
const ORACLE_LEN: u64 = 24;
const ORACLE_TEXT_LEN: u64 = 48;
