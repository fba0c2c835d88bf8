//! The machine that holds a conversation over HTTP.

use super::awaited::FIRST_ID;
use super::compiled::{Compiled, Start};
use super::cookies::Cookies;
use super::reading::{Found, Reading};
use super::request::Site;
use super::response::Judged;
use super::tape::{Note, Sense, Tape};
use super::template::{Filling, Member};
use super::{PeerError, mind::ALIVE};
use crate::contract::{
    self, Answer, Closed, Event, InPlace, Input, Kind, Layers, Message, MisuseError, Opening, Part,
    Protocol, Response, Verdict, growth,
};
use crate::http1::redirect::Hops;
use crate::http1::{self, Delivery, Maker, RetryAfter};
use spec::conversation::{Cue, Speaks};
use std::collections::VecDeque;
use std::sync::Arc;
use units::{Nanos, Random};

/// A client that makes the requests of a conversation over HTTP: the connection inside is one of
/// [`Http1::exchanges`](crate::http1::Http1::exchanges).
///
/// **Messages.** The payload of a message is a [`Cue`]: the request is rendered here, with the cookies that the server
/// has set. Responses arrive in the order of requests. An awaited response or a refusal is an [`Event::Answer`]; one
/// with another status is an [`Event::Refused`], as without a conversation.
///
/// **Redirects** that a request follows are each an [`Event::Redirected`]; the last response answers the request. The
/// next request goes over the same connection, or over another if the redirect ended it.
///
/// **Streams.** Each event of a response that is a stream of events is an [`Event::Part`], starting with the first that
/// [`first`](spec::conversation::Reply::Stream) matches; events that nothing matches are skipped. The event that ends
/// the stream is the [`Event::Answer`]; without one, the end of the response is. If the connection ends with the
/// response, the answer waits for that end, so that no request is lost on it.
///
/// **Streams that break off** are resumed over another connection if the conversation says so: after the end of this
/// one, as after a redirect, the owner calls [`crate::Connection::go_on`].
///
/// **Encoding** ([`Layers`]) is the number of bytes by which bodies are longer than their cues.
#[derive(Debug)]
pub struct Calls<C> {
    asked: VecDeque<Asked>,
    member: Member,
    compiled: Arc<Compiled>,
    cookies: Cookies,
    encoding_sent: i64,
    /// The redirects of the request that is under way.
    hops: Hops,
    inner: C,
    /// Makes the connection inside, and another one for the rest of a stream.
    make: Maker<C>,
    /// The bytes that the layers of earlier connections have added.
    earlier: Layers,
    message_max: usize,
    random: Random,
    /// The state for writing the last request again, if its stream may be resumed.
    last: Option<Last>,
    /// The response that has begun, where responses are streams.
    reading: Option<Box<Reading>>,
    /// The number of the next message.
    sequence: u32,
    site: Arc<Site>,
    /// `Some` if the messages are noted.
    tape: Option<Box<Tape>>,
    values: Box<[Box<[u8]>]>,
}

/// A request that was written: the state of the generator before it, and the instant at which it was due.
#[derive(Clone, Debug)]
struct Last {
    random: Random,
    due: Nanos,
}

/// A request whose response has not arrived in full.
#[derive(Clone, Copy, Debug)]
struct Asked {
    sequence: u32,
    exchange: u16,
}

impl<C: InPlace> Calls<C> {
    /// A connection to `site` over one that `make` makes, with the state that `start` gives it. Events have at most
    /// `message_max` bytes.
    pub(crate) fn new(
        make: &Maker<C>,
        compiled: &Arc<Compiled>,
        site: &Arc<Site>,
        start: Start,
        message_max: usize,
    ) -> Self {
        let Start { member, random, values, cookies, tape, .. } = start;
        Self {
            asked: VecDeque::new(),
            member,
            cookies,
            encoding_sent: 0,
            hops: Hops::default(),
            inner: make.make(compiled.delivery()),
            make: make.clone(),
            earlier: Layers::default(),
            last: None,
            message_max,
            values,
            random,
            reading: None,
            sequence: 0,
            site: Arc::clone(site),
            tape,
            compiled: Arc::clone(compiled),
        }
    }

    /// Notes every request, response and event from here on, for [`Self::notes`].
    pub(crate) fn note(&mut self) {
        self.tape = Some(Box::default());
    }

    /// The messages sent and received since the last call, oldest first, if they are noted. Requests and whole
    /// responses include their heads.
    pub(crate) fn notes(&mut self) -> Vec<Note> {
        self.tape.as_mut().map(|tape| tape.take()).unwrap_or_default()
    }

    /// Goes on over another connection, after a redirect that ended this one, or to resume a stream that broke off with
    /// it. Returns the time to wait before that connection is made; `None` if there is neither, or the stream is not
    /// resumed.
    pub(crate) fn go_on(&mut self) -> Option<Nanos> {
        let wait = if self.hops.is_due() { Nanos::ZERO } else { self.resume()? };
        self.earlier = self.earlier + self.inner.layers();
        self.inner = self.make.make(self.compiled.delivery());
        Some(wait)
    }

    fn resume(&mut self) -> Option<Nanos> {
        let (Some(asked), 1) = (self.asked.front(), self.asked.len()) else { return None };
        let call = &self.compiled.calls[usize::from(asked.exchange)];
        self.reading.as_mut()?.resume(call)
    }

    /// Requests the target of a redirect, if there is one, unless it waits for another connection.
    fn follow(&mut self, tx: &mut Vec<u8>) {
        if self.hops.ask(&mut self.inner, tx)
            && let (Some(asked), Some(tape)) = (self.asked.front(), &mut self.tape)
        {
            tape.sent(Sense::Request(asked.exchange), self.hops.request());
        }
    }

    /// Requests the rest of the stream that broke off, if there is one, on the connection made for it.
    fn ask_again(&mut self, tx: &mut Vec<u8>) {
        let Self { asked, member, compiled, cookies, inner, last, site, tape, values, .. } = self;
        let Some(reading) = self.reading.as_ref().filter(|it| it.is_asked_again()) else { return };
        let (Some(asked), Some(last)) = (asked.front(), last) else { return };
        let call = &compiled.calls[usize::from(asked.exchange)];
        let (id, mut random) = (id(asked.sequence), last.random.clone());
        let filling = Filling { id, now: last.due, member: *member, values };
        let sent = inner.send_in_place(Kind::Binary, 0, tx, &mut |out| {
            let start = out.len();
            call.request.write(site, cookies, filling, &mut random, out);
            let line_len = out[start..].windows(2).position(|end| end == b"\r\n").unwrap_or(0) + 2;
            let field = [b"Last-Event-ID: ", reading.last_id(), b"\r\n"].concat();
            out.splice(start + line_len..start + line_len, field);
            if let Some(tape) = tape {
                tape.sent(Sense::Request(asked.exchange), &out[start..]);
            }
        });
        debug_assert!(sent.is_ok(), "a connection that is new takes a request");
    }

    /// Reads on in the stream that has begun; `None` if it needs more bytes, or there is no stream.
    fn read_on(&mut self) -> Result<Option<Found>, contract::PeerError> {
        let Some(reading) = &mut self.reading else { return Ok(None) };
        let Some(asked) = self.asked.front().copied() else { return Ok(None) };
        let call = &self.compiled.calls[usize::from(asked.exchange)];
        let found = reading.next(call, id(asked.sequence))?;
        if found.is_none() && reading.is_whole() {
            self.asked.pop_front();
            self.reading = None;
        }
        Ok(found)
    }

    /// The next event of a connection whose responses are streams.
    fn receive_of_streams(
        &mut self,
        input: &mut Input<'_>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'_>>, contract::PeerError> {
        loop {
            if let Some(found) = self.read_on()? {
                return Ok(Some(self.event(found)));
            }
            if self.ends_too_early() {
                return Ok(Some(Event::Closed(Closed::default())));
            }
            let Self { cookies, inner, message_max, reading, .. } = self;
            match inner.receive(input, tx)? {
                None => return Ok(None),
                Some(Event::Response(response)) => {
                    Self::begin_or_go_on(reading, cookies, &response, *message_max);
                }
                Some(Event::Secured(secured)) => {
                    self.ask_again(tx);
                    return Ok(Some(Event::Secured(secured)));
                }
                Some(Event::Closed(_)) => return Ok(Some(Event::Closed(Closed::default()))),
                Some(
                    Event::Open
                    | Event::Message(_)
                    | Event::Answer(_)
                    | Event::Part(_)
                    | Event::Ping(_)
                    | Event::Pong(_)
                    | Event::Pushed(_)
                    | Event::Redirected
                    | Event::Refused { .. },
                ) => return Ok(Some(ALIVE)),
            }
        }
    }

    /// True, once, if the response being read has ended before its stream, which can be resumed.
    fn ends_too_early(&mut self) -> bool {
        let (Some(reading), Some(asked)) = (&mut self.reading, self.asked.front()) else {
            return false;
        };
        reading.is_first_told_short(&self.compiled.calls[usize::from(asked.exchange)])
    }

    /// The end of a connection whose responses are streams. All events were handed out before; what is left is the end
    /// of a stream.
    fn end_of_streams(&mut self) -> Result<Event<'_>, contract::PeerError> {
        let Self { cookies, inner, message_max, reading, .. } = self;
        match inner.end() {
            Ok(Event::Response(response)) => {
                Self::begin_or_go_on(reading, cookies, &response, *message_max);
            }
            Ok(_) => return Ok(Event::Closed(Closed::default())),
            Err(error) => {
                let broken = reading.as_ref().and_then(|reading| reading.broken_off());
                return Err(broken.map_or(error, |events| PeerError::BrokenOff { events }.into()));
            }
        }
        let found = self.read_on()?;
        Ok(found.map_or_else(|| Event::Closed(Closed::default()), |found| self.event(found)))
    }

    /// The event for something found in the stream.
    fn event(&mut self, found: Found) -> Event<'_> {
        let (Some(reading), Some(asked)) = (&self.reading, self.asked.front()) else {
            return ALIVE;
        };
        let Asked { sequence, exchange } = *asked;
        let payload = reading.payload(found);
        if let Some(tape) = &mut self.tape {
            let sense = match found {
                Found::Part { .. } => Sense::Part(exchange),
                Found::Answer(verdict) | Found::End(verdict) => Sense::of(verdict, exchange),
                Found::Status => Sense::Refused(exchange),
            };
            tape.heard(sense, payload);
        }
        match found {
            Found::Part { first } => Event::Part(Part { sequence, exchange, first, payload }),
            Found::Answer(verdict) | Found::End(verdict) => {
                Event::Answer(Answer { sequence, exchange, verdict, payload })
            }
            Found::Status => {
                let (code, retry_after) = reading.refusal();
                Event::Refused { code, body: payload, retry_after }
            }
        }
    }

    /// Takes in a part of a response, where responses are streams.
    fn begin_or_go_on(
        reading: &mut Option<Box<Reading>>,
        cookies: &mut Cookies,
        response: &Response<'_>,
        event_len_max: usize,
    ) {
        if response.is_first {
            cookies.learn(response);
        }
        match reading {
            Some(before) if before.is_asked_again() => {
                **before = before.resumed(response, event_len_max);
            }
            Some(_) => {}
            None => *reading = Some(Box::new(Reading::new(response, event_len_max))),
        }
        if let Some(reading) = reading {
            reading.extend(response);
        }
    }

    /// Turns an event of the connection inside into one of this connection, where responses arrive whole: each answers
    /// the oldest request.
    fn answer<'a>(
        compiled: &Compiled,
        site: &Site,
        asked: &mut VecDeque<Asked>,
        cookies: &mut Cookies,
        hops: &mut Hops,
        tape: Option<&mut Tape>,
        event: Event<'a>,
    ) -> Result<Event<'a>, contract::PeerError> {
        let Event::Response(response) = event else { return Ok(event) };
        cookies.learn(&response);
        let Some(Asked { sequence, exchange }) = asked.front().copied() else { return Ok(ALIVE) };
        let call = &compiled.calls[usize::from(exchange)];
        let judged = call.awaits.judge(&response, id(sequence));
        if judged == Judged::Status {
            let followed = call.request.follow(&response, site, cookies, hops);
            if followed.map_err(http1::PeerError::from)? {
                if let Some(tape) = tape {
                    let whole = [response.head, response.body].concat();
                    tape.heard(Sense::Redirect(exchange), &whole);
                }
                return Ok(Event::Redirected);
            }
        }
        asked.pop_front();
        let verdict = match judged {
            Judged::Expected => Verdict::Good,
            Judged::Refused | Judged::Status => Verdict::Refused,
            Judged::Body => Verdict::Wrong(OTHER_BODY),
        };
        if let Some(tape) = tape {
            tape.heard(Sense::of(verdict, exchange), &[response.head, response.body].concat());
        }
        Ok(match judged {
            Judged::Status => {
                let retry_after = RetryAfter::of_response(&response);
                let body = response.location().unwrap_or(response.body);
                Event::Refused { code: response.status, body, retry_after }
            }
            Judged::Expected | Judged::Refused | Judged::Body => {
                Event::Answer(Answer { sequence, exchange, verdict, payload: response.body })
            }
        })
    }
}

impl Compiled {
    /// The way in which responses are handed out, where HTTP carries it.
    pub(crate) fn delivery(&self) -> Delivery {
        if self.speaks == Speaks::Sse { Delivery::AsItArrives } else { Delivery::Whole }
    }
}

impl<C: InPlace> Protocol for Calls<C> {
    fn open(&mut self, tx: &mut Vec<u8>) -> Opening {
        let opening = self.inner.open(tx);
        if opening == Opening::Done {
            self.follow(tx);
            self.ask_again(tx);
        }
        opening
    }

    #[inline]
    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        let malformed = |expected| MisuseError::Malformed { expected };
        let Cue { sequence, exchange, due } =
            Cue::read(message.payload).ok_or_else(|| malformed("a cue of a conversation"))?;
        if sequence != self.sequence {
            return Err(malformed("the cue of the next message"));
        }
        let Self {
            member, compiled, cookies, hops, inner, last, random, site, tape, values, ..
        } = self;
        let call = compiled.calls.get(usize::from(exchange));
        let call = call.ok_or_else(|| malformed("the cue of an exchange"))?;
        *last = call.resume().map(|_| Last { random: random.clone(), due });
        let filling = Filling { id: id(sequence), now: due, member: *member, values };
        let mut body_len = 0;
        inner.send_in_place(Kind::Binary, message.payload.len(), tx, &mut |out| {
            let start = out.len();
            body_len = call.request.write(site, cookies, filling, random, out);
            hops.begin(call.request.redirects, &out[start..]);
            if let Some(tape) = tape {
                tape.sent(Sense::Request(exchange), &out[start..]);
            }
        })?;
        self.asked.push_back(Asked { sequence, exchange });
        self.sequence = sequence.wrapping_add(1);
        self.encoding_sent += growth(message.payload.len(), body_len);
        Ok(())
    }

    #[inline]
    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, contract::PeerError> {
        if self.compiled.speaks == Speaks::Sse {
            return self.receive_of_streams(input, tx);
        }
        self.follow(tx);
        let Self { asked, compiled, cookies, hops, inner, site, tape, .. } = self;
        let Some(event) = inner.receive(input, tx)? else { return Ok(None) };
        let tape = tape.as_deref_mut();
        Self::answer(compiled, site, asked, cookies, hops, tape, event).map(Some)
    }

    fn close(&mut self, tx: &mut Vec<u8>) -> bool {
        self.inner.close(tx)
    }

    fn end(&mut self) -> Result<Event<'_>, contract::PeerError> {
        if self.compiled.speaks == Speaks::Sse {
            return self.end_of_streams();
        }
        let Self { asked, compiled, cookies, hops, inner, site, tape, .. } = self;
        let tape = tape.as_deref_mut();
        Self::answer(compiled, site, asked, cookies, hops, tape, inner.end()?)
    }

    fn layers(&self) -> Layers {
        let encoding = Layers { encoding_sent: self.encoding_sent, ..Layers::default() };
        self.inner.layers() + self.earlier + encoding
    }
}

/// The id of a message. Over HTTP, too, it has eight digits, and it starts over after 90 million messages.
const fn id(sequence: u32) -> u32 {
    FIRST_ID + sequence % IDS
}

/// The number of ids with eight digits.
const IDS: u32 = 90_000_000;

/// The reason why a response with the right status is wrong.
const OTHER_BODY: &str = "the body is not the one that `reply` describes";

#[cfg(test)]
mod tests;
