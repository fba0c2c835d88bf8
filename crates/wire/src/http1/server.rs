//! The server's half: treats the bodies of requests as messages, and answers each with one. At a [`Site`] only some
//! requests are messages; the others are answered here.

use super::error::PeerError;
use super::fields::Fields;
use super::head;
use super::limits::Limits;
use super::reader::{Body, Head, Reader};
use super::site::{AtSite, Route, Site};
use crate::contract::{Closed, Event, Input, Kind, Message, MisuseError};
use crate::decimal::append_decimal;
use std::io::Write;
use std::sync::Arc;

/// A piece of the stream of events with which a server answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamPiece<'a> {
    /// Status and head of the response.
    Head,
    /// The same, as written by the owner of a server of whole requests; the head announces chunks.
    OwnHead(&'a [u8]),
    /// Bytes of the stream, as one chunk of the body; no bytes, no chunk.
    Bytes(&'a [u8]),
    /// The end of the response.
    End,
}

/// The server's end of a connection.
#[derive(Debug)]
pub(super) struct Server {
    /// True while the client has not yet been asked for the body of the request that is being read.
    owes_continue: bool,
    reader: Reader<Request>,
    /// `None` if the body of every request is a message.
    special: Option<Box<Special>>,
    state: State,
    unanswered: Unanswered,
    /// True if the client must be told that the connection stays open, because it speaks HTTP/1.0.
    tells_keep_alive: bool,
}

/// The requests that are messages, if not the body of every request is one.
#[derive(Debug)]
enum Special {
    /// Requests at one place of a site, which answers the others on its own.
    Site(AtSite),
    /// Whole requests, answered by whole responses: the one that was handed out last, head and body.
    Whole(Vec<u8>),
}

/// The next thing that is awaited.
#[derive(Clone, Copy, Debug)]
enum State {
    AwaitHead,
    AwaitBody(Request, Body),
    /// The last request was handed out; the end of the conversation is reported once it is answered.
    AwaitAnswer,
    Over,
}

/// The facts from the head of a request.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// True if the client waits for a 100 before it sends the body.
    expects_continue: bool,
    /// True if the answer has no body, whatever its head says.
    is_head: bool,
    minor_version: u8,
    /// True if the connection stays open after the answer.
    persists: bool,
    route: Route,
}

/// The requests that were handed out and not answered yet.
#[derive(Clone, Copy, Debug, Default)]
struct Unanswered {
    count: u32,
    /// A bit for each of them that is `HEAD`; the next in line has the lowest bit.
    heads: u64,
}

impl Server {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            owes_continue: false,
            reader: Reader::new(limits),
            special: None,
            state: State::AwaitHead,
            unanswered: Unanswered::default(),
            tells_keep_alive: false,
        }
    }

    pub(super) fn at(site: Arc<Site>, limits: Limits) -> Self {
        let special = Some(Box::new(Special::Site(AtSite::new(site))));
        Self { special, ..Self::new(limits) }
    }

    pub(super) fn whole(limits: Limits) -> Self {
        Self { special: Some(Box::new(Special::Whole(Vec::new()))), ..Self::new(limits) }
    }

    #[inline]
    pub(super) fn send(
        &mut self,
        message: Message<'_>,
        tx: &mut Vec<u8>,
    ) -> Result<(), MisuseError> {
        if self.unanswered.count == 0 {
            return Err(MisuseError::NotOpen);
        }
        let is_head = self.unanswered.pop();
        if self.is_whole() {
            tx.extend_from_slice(message.payload);
            self.tell_continue(tx);
            return Ok(());
        }
        tx.extend_from_slice(b"HTTP/1.1 200 OK\r\nContent-Length: ");
        append_decimal(message.payload.len() as u64, tx);
        tx.extend_from_slice(b"\r\nContent-Type: ");
        match self.site() {
            None => tx.extend_from_slice(b"application/octet-stream\r\n"),
            Some(site) => {
                tx.extend_from_slice(site.content_type().as_bytes());
                tx.extend_from_slice(b"\r\n");
                site.append_permission(tx);
            }
        }
        if matches!(self.state, State::AwaitAnswer) && self.unanswered.count == 0 {
            tx.extend_from_slice(b"Connection: close\r\n");
        } else if self.tells_keep_alive {
            tx.extend_from_slice(b"Connection: keep-alive\r\n");
        }
        tx.extend_from_slice(b"\r\n");
        if !is_head {
            tx.extend_from_slice(message.payload);
        }
        self.tell_continue(tx);
        Ok(())
    }

    /// Sends a piece of a stream of events, which answers the next request in line and has no length (RFC 9112 §7.1).
    ///
    /// # Errors
    ///
    /// No request waits for an answer, or its client speaks HTTP/1.0, which has no chunks.
    pub(super) fn stream(
        &mut self,
        piece: StreamPiece<'_>,
        tx: &mut Vec<u8>,
    ) -> Result<(), MisuseError> {
        if self.unanswered.count == 0 || self.tells_keep_alive {
            return Err(MisuseError::NotOpen);
        }
        let is_head = self.unanswered.heads & 1 == 1;
        match piece {
            StreamPiece::Head => {
                tx.extend_from_slice(STREAM_HEAD);
                if matches!(self.state, State::AwaitAnswer) && self.unanswered.count == 1 {
                    tx.extend_from_slice(b"Connection: close\r\n");
                }
                tx.extend_from_slice(b"\r\n");
            }
            StreamPiece::OwnHead(head) => tx.extend_from_slice(head),
            StreamPiece::Bytes(bytes) if !is_head && !bytes.is_empty() => {
                write!(tx, "{:x}\r\n", bytes.len()).ok(); // A vector takes everything.
                tx.extend_from_slice(bytes);
                tx.extend_from_slice(b"\r\n");
            }
            StreamPiece::Bytes(_) => {}
            StreamPiece::End => {
                if !is_head {
                    tx.extend_from_slice(b"0\r\n\r\n");
                }
                self.unanswered.pop();
                self.tell_continue(tx);
            }
        }
        Ok(())
    }

    #[inline]
    pub(super) fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, PeerError> {
        self.reader.release();
        if let Some(Special::Whole(request)) = self.special.as_deref_mut() {
            request.clear();
            request.shrink_to(WHOLE_LEN_KEPT_MAX);
        }
        let (may_refuse, is_whole) = (self.unanswered.count == 0, self.is_whole());
        let result = self.understand(input, tx);
        if let Err(error) = &result
            && may_refuse
        {
            // Sent before the answer to an earlier request, this one would be taken for that.
            refuse(error, is_whole, tx);
        }
        result
    }

    pub(super) fn close(&mut self) {
        self.state = State::Over;
    }

    pub(super) fn end(&mut self) -> Result<Event<'_>, PeerError> {
        self.reader.release();
        let unfinished = self.reader.unfinished();
        match std::mem::replace(&mut self.state, State::Over) {
            State::AwaitHead if !head::without_empty_lines(unfinished).is_empty() => {
                Err(head::HeadError::CutOff { len: unfinished.len() }.into())
            }
            State::AwaitBody(..) => Err(PeerError::BodyCutOff { len: unfinished.len() }),
            State::AwaitHead | State::AwaitAnswer | State::Over => {
                Ok(Event::Closed(Closed::default()))
            }
        }
    }

    /// The head of the request whose body is incomplete, if requests are handed out whole.
    pub(super) fn begun(&self) -> Option<&[u8]> {
        let is_begun = matches!(self.state, State::AwaitBody(..)) && self.is_whole();
        is_begun.then(|| self.reader.last_head())
    }

    /// True while the rest of a request is awaited. A body that waits for our 100 does not count.
    pub(super) fn awaits_rest(&self) -> bool {
        match self.state {
            State::AwaitHead => self.reader.is_amid(),
            State::AwaitBody(..) => !self.owes_continue,
            State::AwaitAnswer | State::Over => false,
        }
    }

    #[inline]
    fn understand<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, PeerError> {
        if matches!(self.state, State::AwaitHead) {
            self.head(input, tx)?;
        }
        while let State::AwaitBody(request, body) = self.state
            && request.route != Route::Message
        {
            if self.reader.body(body, input)?.is_none() {
                return Ok(None);
            }
            self.reader.release();
            self.answer_alone(request, tx)?;
            if request.persists {
                self.state = State::AwaitHead;
                self.head(input, tx)?;
            } else {
                self.state = State::AwaitAnswer;
            }
        }
        match self.state {
            State::AwaitHead => Ok(None),
            State::AwaitBody(request, body) => {
                let Some(part) = self.reader.whole(body, input)? else {
                    return Ok(None);
                };
                self.unanswered.push(request.is_head)?;
                self.state = if request.persists { State::AwaitHead } else { State::AwaitAnswer };
                let payload = match self.special.as_deref_mut() {
                    None | Some(Special::Site(_)) => part.data,
                    Some(Special::Whole(whole)) => {
                        whole.extend_from_slice(part.head);
                        whole.extend_from_slice(part.data);
                        &whole[..]
                    }
                };
                Ok(Some(Event::Message(Message { kind: Kind::Binary, payload })))
            }
            State::AwaitAnswer => {
                // RFC 9112 §9.6: whatever follows the last request is ignored.
                input.take_all();
                if self.unanswered.count > 0 {
                    return Ok(None);
                }
                self.state = State::Over;
                Ok(Some(Event::Closed(Closed::default())))
            }
            State::Over => {
                input.take_all();
                Ok(None)
            }
        }
    }

    /// Reads the next head, if all of it has arrived.
    #[inline]
    fn head(&mut self, input: &mut Input<'_>, tx: &mut Vec<u8>) -> Result<(), PeerError> {
        let is_kept = self.is_whole();
        let site = site_of(&self.special);
        let head = self.reader.head(input, |bytes, limits| {
            let head = Request::read(bytes, limits, site)?;
            Ok(head.map(|head| Head { is_kept, ..head }))
        })?;
        let Some(head) = head else { return Ok(()) };
        self.tells_keep_alive = head.says.minor_version == 0;
        self.owes_continue = head.says.expects_continue;
        self.state = State::AwaitBody(head.says, head.body);
        self.tell_continue(tx);
        Ok(())
    }

    /// Answers a request that is not a message.
    ///
    /// # Errors
    ///
    /// An earlier request waits for its answer, and this one would be taken for it.
    fn answer_alone(&self, request: Request, tx: &mut Vec<u8>) -> Result<(), PeerError> {
        if self.unanswered.count > 0 {
            return Err(PeerError::Pipelined { max: self.unanswered.count });
        }
        tx.extend_from_slice(b"HTTP/1.1 ");
        tx.extend_from_slice(request.route.answer().as_bytes());
        if let Some(site) = self.site() {
            site.append_permission(tx);
        }
        if !request.persists {
            tx.extend_from_slice(b"Connection: close\r\n");
        } else if self.tells_keep_alive {
            tx.extend_from_slice(b"Connection: keep-alive\r\n");
        }
        tx.extend_from_slice(b"\r\n");
        Ok(())
    }

    /// Asks for the body that the client holds back (RFC 9110 §10.1.1), once all earlier requests are answered.
    #[inline]
    fn tell_continue(&mut self, tx: &mut Vec<u8>) {
        if self.owes_continue
            && self.unanswered.count == 0
            && matches!(self.state, State::AwaitBody(..))
        {
            self.owes_continue = false;
            tx.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
    }
}

impl Server {
    fn is_whole(&self) -> bool {
        matches!(self.special.as_deref(), Some(Special::Whole(_)))
    }

    fn site(&self) -> Option<&AtSite> {
        site_of(&self.special)
    }
}

fn site_of(special: &Option<Box<Special>>) -> Option<&AtSite> {
    match special.as_deref() {
        Some(Special::Site(site)) => Some(site),
        Some(Special::Whole(_)) | None => None,
    }
}

impl Request {
    /// Reads a head from the front of `bytes`; `None` if it is not complete. RFC 9112 §6.3, the rules for requests,
    /// decides which body follows.
    #[inline]
    fn read(
        bytes: &[u8],
        limits: &Limits,
        site: Option<&AtSite>,
    ) -> Result<Option<Head<Self>>, PeerError> {
        let mut slots = head::slots();
        let Some(head) = head::request(bytes, &mut slots, limits.head())? else { return Ok(None) };
        let minor_version = head.minor_version;
        let fields = Fields::read(head.headers, minor_version)?;
        if fields.hosts > 1 || (fields.hosts == 0 && minor_version >= 1) {
            return Err(PeerError::Host { count: fields.hosts });
        }
        let body = Body::announced(&fields, limits)?.unwrap_or(Body::Sized(0));
        let route = site.map_or(Route::Message, |site| site.look(&head));
        let says = Self {
            expects_continue: fields.expects_continue
                && minor_version >= 1
                && body != Body::Sized(0),
            is_head: head.method == "HEAD",
            minor_version,
            persists: fields.persists(minor_version),
            route,
        };
        Ok(Some(Head { body, is_kept: false, len: head.len, says }))
    }
}

impl Unanswered {
    /// Counts one more request that was handed out.
    #[inline]
    fn push(&mut self, is_head: bool) -> Result<(), PeerError> {
        if self.count == PIPELINED_MAX {
            return Err(PeerError::Pipelined { max: PIPELINED_MAX });
        }
        self.heads |= u64::from(is_head) << self.count;
        self.count += 1;
        Ok(())
    }

    /// Counts the next request in line as answered; true if it was a `HEAD`.
    #[inline]
    fn pop(&mut self) -> bool {
        let is_head = self.heads & 1 == 1;
        self.heads >>= 1;
        self.count -= 1;
        is_head
    }
}

/// Reports its fault to the client, in words where requests are whole and come from people, and announces the end of
/// the connection.
#[cold]
fn refuse(error: &PeerError, in_words: bool, tx: &mut Vec<u8>) {
    let words = if in_words { format!("{error}\n") } else { String::new() };
    let content_type = if in_words { "Content-Type: text/plain\r\n" } else { "" };
    let (status, len) = (error.status(), words.len());
    let response = format!(
        "HTTP/1.1 {status}\r\n{content_type}Content-Length: {len}\r\nConnection: close\r\n\r\n{words}"
    );
    tx.extend_from_slice(response.as_bytes());
}

/// Largest buffer that is kept for the next request, where requests are handed out whole.
const WHOLE_LEN_KEPT_MAX: usize = 512;

/// The head of a response that is a stream of events, without its end.
const STREAM_HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
    Cache-Control: no-store\r\nTransfer-Encoding: chunked\r\n";

/// The most requests that may wait for their answers at once: as many as the bits of [`Unanswered::heads`].
const PIPELINED_MAX: u32 = u64::BITS;
