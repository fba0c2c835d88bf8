//! A conversation by hand: sends what is typed, and reports everything that a server sends, with times.
//!
//! Left out: input and display (the binary).

use crate::RunError;
use crate::by_hand::{Attempt, ByHand, News, first_of};
use crate::plan::{Measurement, Speech};
use crate::reach::{self, Context};
use engine::Address;
use engine::clock::Clock;
use spec::{Carries, Endpoint, Protocol, Server, Workload};
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::{Receiver, TryRecvError};
use units::{Instant, Nanos};
use wire::conversation::Note;
use wire::http1::{self, Delivery};
use wire::{Event, Kind, Message, Opening, Response, Stack};

/// The parameters of a conversation by hand.
#[derive(Clone, Copy, Debug)]
pub struct Talk<'a> {
    /// The server, a given one, and the way to speak to it. Its load and messages are ignored.
    pub workload: &'a Workload,
    /// True if a public address may be talked to.
    pub public_allowed: bool,
    /// The time to wait for what the server sends after the last message.
    pub wait: Nanos,
}

/// A message to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The kind of the message, where the protocol tells text from bytes.
    pub kind: Kind,
    /// The message; over HTTP, a line in the form that [`request_of`] reads.
    pub bytes: Vec<u8>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said<'a> {
    /// The server ended the conversation, properly, with a code and a reason.
    Closed(Option<u16>, &'a str),
    /// The connection to this address is established.
    Connected(&'a Address),
    /// A message of a conversation, and the part that it plays.
    Noted(&'a Note),
    /// The opening handshake is complete.
    Open,
    /// The server sent a ping, which was answered.
    Ping(&'a [u8]),
    /// The server sent this.
    Received(Kind, &'a [u8]),
    /// An HTTP response, or a part of one.
    Response(Response<'a>),
    /// TLS was negotiated, with this version and suite.
    Secured(String),
    /// We sent this.
    Sent(Kind, &'a [u8]),
}

/// The totals of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Messages that were sent.
    pub sent: u64,
    /// Messages that arrived; over HTTP, complete responses.
    pub received: u64,
}

/// Connects, sends every line of `lines` and reports every event, with the time since the connect began. Ends when the
/// server ends the conversation, when a signal asks for it, or when there are no more lines and either as many messages
/// arrived as were sent, or none arrived for [`Talk::wait`].
///
/// # Errors
///
/// The name has no address, nothing answers there, the address is public, or the server breaks the protocol.
pub fn talk(
    asked: Talk<'_>,
    lines: &Receiver<Line>,
    interrupt: &AtomicUsize,
    tell: &mut dyn FnMut(Nanos, Said<'_>),
) -> Result<Total, RunError> {
    let context = Context { clock: Clock::start(), interrupt };
    let way = Way::to(asked, Some(Delivery::AsItArrives), context.clock)?;
    let timeouts = way.measurement.workload.timeouts;
    way.of_first_address(context, |address, by_hand| {
        let began = by_hand.now();
        let mut session = Session {
            asked,
            address,
            speech: &way.measurement.speech,
            by_hand,
            began,
            last: began,
            is_there: false,
            is_open: false,
            end: None,
            total: Total::default(),
            tell: &mut *tell,
        };
        Ok(match session.play(lines, timeouts.connect + timeouts.handshake, context)? {
            End::Over => Attempt::Done(session.total),
            End::Failed(reason) if session.is_there => {
                Attempt::Wrong { reason, next: "Its log may say why".to_owned() }
            }
            End::Failed(reason) => Attempt::NotThere(reason),
        })
    })
}

/// The way to a server that is talked to: its addresses, and the machine for each connection.
pub(crate) struct Way<'a> {
    pub(crate) url: &'a Endpoint,
    pub(crate) measurement: Measurement,
    pub(crate) addresses: Vec<Address>,
    stack: Stack,
}

impl<'a> Way<'a> {
    /// Resolves the name, and prepares the state machine. `exchanges` is set if whole HTTP requests are sent, and says
    /// how their responses are handed out.
    ///
    /// # Errors
    ///
    /// The protocol of the URL cannot be talked by hand; its host has no address, or a public one.
    pub(crate) fn to(
        asked: Talk<'a>,
        exchanges: Option<Delivery>,
        clock: Clock,
    ) -> Result<Self, RunError> {
        let Server::Given(url) = &asked.workload.server else {
            return Err(RunError::InvalidRequest(
                "name the URL of a server that listens".to_owned(),
            ));
        };
        if url.facts().carries == Carries::Events || url.protocol == Protocol::GameComet {
            return Err(RunError::InvalidRequest(format!(
                "the bots of {}:// talk by themselves; use `wirebench run {url}`",
                url.scheme()
            )));
        }
        let mut measurement =
            Measurement::new(asked.workload, false, &|_| unreachable!("no subjects"))
                .map_err(|error| RunError::InvalidRequest(error.to_string()))?;
        let resolved = reach::resolve(url, measurement.workload.timeouts.resolve, clock)?;
        reach::check_public(&resolved.addresses, asked.public_allowed)?;
        measurement.speech.options.exchanges = exchanges;
        let tls = reach::tls(url, &measurement.speech, None)?;
        let stack = reach::stack(url, &measurement.speech, 0, tls)?;
        Ok(Self { url, measurement, addresses: resolved.addresses, stack })
    }

    /// Tries each address in turn until one accepts the connection.
    ///
    /// # Errors
    ///
    /// [`RunError::Unreachable`] if none does, [`RunError::WrongAnswer`] if something unexpected arrived, and the
    /// errors of `talk`.
    pub(crate) fn of_first_address<T>(
        &self,
        context: Context<'_>,
        mut talk: impl FnMut(&Address, ByHand) -> Result<Attempt<T>, RunError>,
    ) -> Result<T, RunError> {
        first_of(self.url, &self.addresses, |address| {
            let machine = self.stack.connection(SEED, 0);
            talk(address, ByHand::connect(address, machine, context.clock)?)
        })
    }
}

/// The bytes of the request that a line describes: `METHOD PATH BODY`; a line that begins with a slash is a `GET` of
/// that path, an empty line a `GET` of the URL's path, and any other line is posted there.
///
/// # Errors
///
/// The request cannot be written.
pub fn request_of(line: &str, workload: &Workload, speech: &Speech) -> Result<Vec<u8>, String> {
    let Server::Given(url) = &workload.server else { return Err("there is no URL".to_owned()) };
    let own = url.path.as_str();
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    let is_method = first.len() >= 3 && first.bytes().all(|byte| byte.is_ascii_uppercase());
    let (method, target, body) = match (line, rest) {
        ("", _) => ("GET", own, ""),
        _ if is_method && rest.starts_with('/') => {
            let (target, body) = rest.split_once(' ').unwrap_or((rest, ""));
            (first, target, body)
        }
        _ if is_method => (first, own, rest),
        _ if line.starts_with('/') => ("GET", line, ""),
        _ => ("POST", own, line),
    };
    let parts = http1::RequestParts {
        method: method.to_owned(),
        target: target.to_owned(),
        host: url.authority(),
        headers: speech.options.headers.clone(),
    };
    let request = http1::Request::new(&parts).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    request.write(body.as_bytes(), &mut bytes);
    Ok(bytes)
}

/// The end of a conversation.
enum End {
    Failed(String),
    Over,
}

/// One connection, and the reports about it.
struct Session<'t> {
    asked: Talk<'t>,
    address: &'t Address,
    speech: &'t Speech,
    by_hand: ByHand,
    began: Instant,
    /// The last time at which something was sent or arrived.
    last: Instant,
    /// True once the connection is made.
    is_there: bool,
    is_open: bool,
    end: Option<End>,
    total: Total,
    tell: &'t mut dyn FnMut(Nanos, Said<'_>),
}

impl Session<'_> {
    /// Sends the lines that arrive in `lines`, and reports events, until the end; the connection has to open within
    /// `opening_max`.
    fn play(
        &mut self,
        lines: &Receiver<Line>,
        opening_max: Nanos,
        context: Context<'_>,
    ) -> Result<End, RunError> {
        let mut is_closing = false;
        let mut has_lines = true;
        loop {
            while self.take() {}
            if let Some(end) = self.end.take() {
                return Ok(end);
            }
            context.check()?;
            let now = self.by_hand.now();
            if !self.is_open && now >= self.began + opening_max {
                return Ok(End::Failed(format!(
                    "the connection did not open within {opening_max}"
                )));
            }
            while self.is_open && has_lines && !is_closing {
                match lines.try_recv() {
                    Ok(line) => self.say(&line)?,
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => has_lines = false,
                }
            }
            let is_answered = self.total.sent > 0 && self.total.received >= self.total.sent;
            let is_silent = now >= self.last + self.asked.wait;
            if is_closing && is_silent {
                return Ok(End::Over);
            }
            if self.is_open && !has_lines && !is_closing && (is_answered || is_silent) {
                if !self.by_hand.close() {
                    return Ok(End::Over);
                }
                (is_closing, self.last) = (true, now);
            }
            self.by_hand.wait(now + POLL);
        }
    }

    fn say(&mut self, line: &Line) -> Result<(), RunError> {
        let workload = self.asked.workload;
        let is_http = workload.scheme().protocol == Protocol::Http;
        let bytes = match is_http {
            true => request_of(&String::from_utf8_lossy(&line.bytes), workload, self.speech)
                .map_err(RunError::InvalidRequest)?,
            false => line.bytes.clone(),
        };
        let message = Message { kind: line.kind, payload: &bytes };
        self.by_hand.send(message).map_err(|error| RunError::InvalidRequest(error.to_string()))?;
        self.last = self.by_hand.now();
        (self.tell)(self.last.since(self.began), Said::Sent(line.kind, &bytes));
        self.total.sent += 1;
        Ok(())
    }

    fn take(&mut self) -> bool {
        let Self { by_hand, last, is_there, is_open, end, total, tell, .. } = self;
        let (address, began) = (self.address, self.began);
        let now = by_hand.now();
        by_hand.take(&mut |news| {
            *last = now;
            let at = now.since(began);
            match news {
                News::Broken(error) | News::Cut(error) => *end = Some(End::Failed(error)),
                News::Connected(opening) => {
                    *is_there = true;
                    tell(at, Said::Connected(address));
                    *is_open = opening == Opening::Done;
                }
                News::Event(event) => {
                    if let Event::Secured(secured) = &event {
                        *is_open |= secured.opening == Opening::Done;
                    }
                    *is_open |= matches!(event, Event::Open);
                    heard(event, at, total, end, tell);
                }
                News::Ended(event) => {
                    heard(event, at, total, end, tell);
                    *end = Some(End::Over);
                }
            }
        })
    }
}

fn heard(
    event: Event<'_>,
    at: Nanos,
    total: &mut Total,
    end: &mut Option<End>,
    tell: &mut dyn FnMut(Nanos, Said<'_>),
) {
    match event {
        Event::Closed(closed) => {
            *end = Some(End::Over);
            tell(at, Said::Closed(closed.code, &closed.reason));
        }
        Event::Message(message) => {
            total.received += 1;
            tell(at, Said::Received(message.kind, message.payload));
        }
        Event::Open => tell(at, Said::Open),
        Event::Ping(payload) => tell(at, Said::Ping(payload)),
        Event::Answer(wire::Answer { payload, .. }) | Event::Part(wire::Part { payload, .. }) => {
            total.received += 1;
            tell(at, Said::Received(Kind::Text, payload));
        }
        Event::Pushed(pushed) => tell(at, Said::Received(Kind::Text, pushed.payload)),
        Event::Refused { body, .. } => {
            total.received += 1;
            tell(at, Said::Received(Kind::Text, body));
        }
        Event::Response(response) => {
            total.received += u64::from(response.is_last);
            tell(at, Said::Response(response));
        }
        Event::Secured(secured) => {
            let facts = &secured.facts;
            tell(at, Said::Secured(format!("{} with {}", facts.version, facts.suite)));
        }
        Event::Pong(_) | Event::Redirected => {}
    }
}

/// The time between two checks for lines and signals.
const POLL: Nanos = Nanos::from_millis(10);

/// The seed of mask keys.
const SEED: u64 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_request() {
        let endpoint: Endpoint = "http://h:8/own?x".parse().unwrap();
        let load = spec::Load::Closed {
            connections: std::num::NonZeroU32::MIN,
            in_flight: std::num::NonZeroU32::MIN,
            in_flight_max: None,
        };
        let workload = Workload::new("a name", Server::Given(endpoint.clone()), load);
        let speech = Speech::usual(endpoint.scheme());
        let host = "HTTP/1.1\r\nHost: h:8\r\n";
        #[rustfmt::skip]
        let table = [
            ("",                    format!("GET /own?x {host}\r\n")),
            ("/a",                  format!("GET /a {host}\r\n")),
            ("DELETE /a",           format!("DELETE /a {host}Content-Length: 0\r\n\r\n")),
            ("DELETE",              format!("DELETE /own?x {host}Content-Length: 0\r\n\r\n")),
            ("PUT /a {\"b\": 1}", format!("PUT /a {host}Content-Length: 8\r\n\r\n{{\"b\": 1}}")),
            ("PUT {\"b\": 1}",    format!("PUT /own?x {host}Content-Length: 8\r\n\r\n{{\"b\": 1}}")),
            ("{\"b\": 1}",        format!("POST /own?x {host}Content-Length: 8\r\n\r\n{{\"b\": 1}}")),
        ];
        for (line, expected) in table {
            let request = request_of(line, &workload, &speech).unwrap();
            assert_eq!(String::from_utf8(request).unwrap(), expected, "{line}");
        }
        assert!(request_of("CONNECT /a", &workload, &speech).is_err());
        assert!(request_of("GET /a\u{7}", &workload, &speech).is_err());
    }
}
