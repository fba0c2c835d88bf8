//! The questions to a server.

use super::content::{compare, lens, payload};
use super::conversation::{Conversation, Heard, kind_text};
use super::{Check, Extent, ServerQuestions};
use crate::Speech;
use crate::reach::{Context, check_public, resolve, stack, tls};
use drive::Target;
use engine::Address;
use engine::clock::Clock;
use spec::{Carries, Endpoint, Protocol};
use std::sync::atomic::AtomicUsize;
use units::Nanos;
use wire::Kind;
use wire::tls::Client;

/// Asks a listening server for everything that it is to be timed at, and returns the outcome of each question, in
/// order. A server that does not even accept a connection gets a single, failed check.
///
/// `interrupt` has the number of the signal that asks to stop; questions after that fail.
pub(crate) fn verify_server(
    questions: &ServerQuestions<'_>,
    interrupt: &AtomicUsize,
) -> Vec<Check> {
    let context = Context { clock: Clock::start(), interrupt };
    let asking = Asking::new(questions, context)
        .and_then(|asking| asking.connect(1, &questions.url.path).map(|_| asking));
    let asking = match asking {
        Ok(asking) => asking,
        Err(reason) => return vec![Check::new("connection", Err(reason))],
    };
    let scheme = questions.url.scheme();
    match (scheme.facts().carries == Carries::Events, scheme.protocol) {
        (true, _) => {
            vec![Check::not_asked("echo", "an event of a game is not sent back as it came")]
        }
        (false, Protocol::Http) if questions.limits.files_only => asking.files(),
        (false, Protocol::Http) => asking.posts(),
        (false, plain) => asking.messages(plain),
    }
}

/// A server that is being asked.
struct Asking<'a> {
    address: Address,
    context: Context<'a>,
    questions: &'a ServerQuestions<'a>,
    tls: Option<Client>,
}

impl<'a> Asking<'a> {
    fn new(questions: &'a ServerQuestions<'a>, context: Context<'a>) -> Result<Self, String> {
        let url = questions.url;
        let words = |error: crate::RunError| error.to_string();
        let addresses = resolve(url, RESOLVE_MAX, context.clock).map_err(words)?.addresses;
        check_public(&addresses, false).map_err(words)?;
        let address = addresses.into_iter().next().ok_or("the host has no address")?;
        let tls = tls(url, &Speech::usual(url.scheme()), questions.authority_pem).map_err(words)?;
        Ok(Self { address, context, questions, tls })
    }

    /// Opens a connection for replies of `reply_len` bytes, to the service at `path`.
    fn connect(&self, reply_len: usize, path: &str) -> Result<Conversation<'a>, String> {
        let url = Endpoint { path: path.to_owned(), ..self.questions.url.clone() };
        let mut speech = Speech::usual(url.scheme());
        if self.questions.limits.files_only {
            "GET".clone_into(&mut speech.options.method);
        }
        let stack = stack(&url, &speech, reply_len, self.tls.clone());
        let stack = stack.map_err(|error| error.to_string())?;
        let target = Target {
            address: self.address.clone(),
            sources: Vec::new(),
            stack,
            publishers: None,
            lives_on: false,
        };
        Conversation::open(&target, self.context)
    }

    /// True if the protocol does not delimit messages.
    fn is_stream(&self) -> bool {
        self.questions.url.facts().carries == Carries::Bytes
    }

    /// The name of an answer in checks.
    fn answer_text(&self) -> &'static str {
        if self.questions.reply.is_some() { "reply to a message" } else { "echo" }
    }

    /// The answer that a message must get.
    fn answer<'m>(&'m self, sent: &'m [u8]) -> &'m [u8] {
        self.questions.reply.unwrap_or(sent)
    }

    /// The reason why a message of this kind and length is not sent.
    fn why_not(&self, kind: Kind, len: usize) -> Option<String> {
        let (limits, scheme) = (self.questions.limits, self.questions.url.protocol);
        let is_binary = kind == Kind::Binary && scheme.facts().carries.has_text();
        let is_long = limits.message_max.is_some_and(|max| len as u64 > max);
        if limits.text_only && is_binary || is_long {
            return Some(limits.why.clone());
        }
        let is_unseen = len < scheme.facts().message_min;
        is_unseen.then(|| format!("{scheme} carries no empty message"))
    }
}

/// Messages on a connection.
impl<'a> Asking<'a> {
    fn messages(&self, plain: Protocol) -> Vec<Check> {
        let carries = plain.facts().carries;
        let kinds = match (carries.has_text(), carries.is_text()) {
            (_, true) => &[Kind::Text][..],
            (true, false) => &[Kind::Text, Kind::Binary],
            (false, false) => &[Kind::Binary],
        };
        let mut checks = self.echoes(kinds);
        if plain == Protocol::WebSocket && self.questions.extent == Extent::Full {
            checks.push(Check::new("ping", self.pong()));
        }
        if self.questions.url.scheme().over_websocket() && self.questions.extent == Extent::Full {
            checks.push(Check::new("close", self.end()));
        }
        checks
    }

    /// Sends messages of every length, of each of the kinds.
    fn echoes(&self, kinds: &[Kind]) -> Vec<Check> {
        let lens = match self.questions.reply {
            // Without framing, a message gets as many bytes in reply as it has.
            Some(reply) if self.is_stream() => vec![reply.len()],
            _ => lens(self.questions.extent).to_vec(),
        };
        let mut open = None;
        let mut checks = Vec::new();
        for kind in kinds {
            for len in &lens {
                let what = format!("{} of {len} B, {}", self.answer_text(), kind_text(*kind));
                checks.push(match self.why_not(*kind, *len) {
                    Some(why) => Check::not_asked(what, why),
                    None => Check::new(what, self.echo(&mut open, *kind, *len)),
                });
            }
        }
        checks
    }

    /// Asks for an echo, on the open connection if that can be reused; puts the connection back if all went well.
    fn echo(
        &self,
        open: &mut Option<Conversation<'a>>,
        kind: Kind,
        len: usize,
    ) -> Result<(), String> {
        let mut conversation = match open.take().filter(|_| !self.is_stream()) {
            Some(open) => open,
            None => self.connect(len, &self.questions.url.path)?,
        };
        let sent = payload(kind, len);
        let (kind_of_reply, reply) = conversation.ask(kind, &sent)?;
        if kind_of_reply != kind {
            let (kind, came) = (kind_text(kind), kind_text(kind_of_reply));
            return Err(format!("the reply to a {kind} message is {came}"));
        }
        compare(self.answer(&sent), &reply)?;
        *open = Some(conversation);
        Ok(())
    }

    /// A ping is answered with its payload (RFC 6455 §5.5.3).
    fn pong(&self) -> Result<(), String> {
        let mut conversation = self.connect(1, &self.questions.url.path)?;
        conversation.ping(PING)?;
        let heard = conversation.hear("the pong")?;
        if let Heard::Pong(payload) = heard {
            return compare(PING, &payload);
        }
        Err(heard.instead_of("the pong"))
    }

    /// A Close is answered with one (RFC 6455 §5.5.1).
    fn end(&self) -> Result<(), String> {
        let mut conversation = self.connect(1, &self.questions.url.path)?;
        conversation.close();
        let heard = conversation.hear("the answer to a Close")?;
        if let Heard::Closed(_) = heard { Ok(()) } else { Err(heard.instead_of("it")) }
    }
}

/// HTTP requests: each on its own connection, and then two on one.
impl Asking<'_> {
    fn posts(&self) -> Vec<Check> {
        let what = |len: usize| format!("{} of {len} B, POST", self.answer_text());
        self.requests(what, |lens| self.post(lens))
    }

    fn post(&self, lens: &[usize]) -> Result<(), String> {
        let mut conversation = self.connect(1, &self.questions.url.path)?;
        for len in lens {
            let sent = payload(Kind::Binary, *len);
            let (_, reply) = conversation.ask(Kind::Binary, &sent)?;
            compare(self.answer(&sent), &reply)?;
        }
        Ok(())
    }

    /// Asks a server that only has files, named by their lengths.
    fn files(&self) -> Vec<Check> {
        let mut checks = self.requests(|len| format!("GET /{len}"), |lens| self.file(lens));
        let why = self.questions.limits.why.clone();
        checks.push(Check::not_asked("echo of a POST", why));
        checks
    }

    /// Gets the file of the first length, as many times as there are lengths.
    fn file(&self, lens: &[usize]) -> Result<(), String> {
        let len = lens[0];
        let mut conversation = self.connect(1, &format!("/{len}"))?;
        for _ in lens {
            let (_, body) = conversation.ask(Kind::Binary, b"")?;
            if body.len() != len {
                return Err(format!("a body of {} B, {len} B expected", body.len()));
            }
        }
        Ok(())
    }

    fn requests(
        &self,
        what: impl Fn(usize) -> String,
        ask: impl Fn(&[usize]) -> Result<(), String>,
    ) -> Vec<Check> {
        let of_len = |len: &usize| match self.why_not(Kind::Binary, *len) {
            Some(why) => Check::not_asked(what(*len), why),
            None => Check::new(what(*len), ask(&[*len])),
        };
        let mut checks: Vec<Check> = match self.questions.extent {
            Extent::Full => lens(Extent::Full).iter().map(of_len).collect(),
            Extent::Short => return vec![of_len(&1)],
        };
        checks.push(Check::new("two requests on a connection", ask(&[1, 1])));
        checks
    }
}

/// The payload of a ping.
const PING: &[u8] = b"are you there?";

/// The longest time for resolving a name.
const RESOLVE_MAX: Nanos = Nanos::from_secs(5);
