//! TLS as a layer around another protocol.

use super::error::PeerError;
use super::kept::Kept;
use super::options::{Client, Server};
use super::records::{self, HELD_LEN_MAX, Held};
use super::session::{End, Session};
use super::unbuffered::Rustls;
use crate::contract::{
    self, Closed, Event, Input, Layers, Message, MisuseError, Opening, Protocol, Secured,
};

/// One end of a TLS connection around the protocol inside.
///
/// [`Protocol::open`] always returns [`Opening::Awaited`]. When the handshake is complete, the protocol inside is
/// opened, [`Event::Secured`] reports it, and from then on the events are those of the protocol inside, as if there
/// were no TLS.
///
/// **The end.** We send `close_notify` with the last output of the protocol inside: with its proper end, with
/// [`Event::Closed`], and after an error of the peer. We answer the peer's, which ends the protocol inside as the end
/// of the connection would. A connection that ends without one was truncated, perhaps by somebody in between (RFC 8446
/// §6.1). Many servers omit it all the same, so that is an error only where the protocol inside cannot tell that it has
/// everything: not after WebSocket's Close or complete replies, but inside a message, and for an HTTP body that only
/// the end of the connection ends.
///
/// The keys of TLS 1.2 with AES last for 2^24 records, and cannot be renewed: the next message is not sent but fails
/// with [`MisuseError::NotOpen`], and `close_notify` is in `tx`. TLS 1.3 renews its keys on its own.
///
/// **Bytes of TLS** ([`Layers`]): all bytes of the stream that are not plaintext: handshakes, tickets, alerts, and what
/// every record adds. A record that arrives counts once it is complete.
#[derive(Debug)]
pub struct Tls<P> {
    /// The reason why the stream is over; `None` while it goes on.
    end: Option<End>,
    held: Held,
    inner: P,
    /// The last event, if it could not borrow from `inner`.
    kept: Option<Box<Kept>>,
    plain: Plain,
    session: Rustls,
    state: State,
    tls_received: u64,
    tls_sent: u64,
}

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    AwaitHandshake,
    /// The protocol inside is open.
    Open,
    /// The protocol inside is closed.
    Over,
}

/// Plaintext that was decrypted and not taken yet.
#[derive(Debug, Default)]
struct Plain {
    bytes: Vec<u8>,
    taken: usize,
}

impl<P: Protocol> Tls<P> {
    /// The client's end.
    pub fn client(client: &Client, inner: P) -> Self {
        Self::new(Rustls::NewClient(client.clone()), inner)
    }

    /// The server's end.
    pub fn server(server: &Server, inner: P) -> Self {
        Self::new(Rustls::NewServer(server.clone()), inner)
    }

    fn new(session: Rustls, inner: P) -> Self {
        Self {
            end: None,
            held: Held::default(),
            inner,
            kept: None,
            plain: Plain::default(),
            session,
            state: State::AwaitHandshake,
            tls_received: 0,
            tls_sent: 0,
        }
    }
}

impl<P: Protocol> Protocol for Tls<P> {
    fn open(&mut self, tx: &mut Vec<u8>) -> Opening {
        let from = tx.len();
        if let Err(error) = self.session.begin(tx) {
            self.end = Some(End::Failed(Box::new(error)));
        }
        self.tls_sent += (tx.len() - from) as u64;
        Opening::Awaited
    }

    #[inline]
    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        self.send_by(tx, |inner, tx| inner.send(message, tx))
    }

    fn ping(&mut self, payload: &[u8], tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        if self.state != State::Open {
            return Err(MisuseError::NotOpen);
        }
        let from = tx.len();
        self.inner.ping(payload, tx)?;
        if self.outgoing().protect(from, tx) { Ok(()) } else { Err(MisuseError::NotOpen) }
    }

    #[inline]
    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, contract::PeerError> {
        self.plain.release();
        if !input.is_empty() {
            self.read(input, tx);
        }
        match (self.state, &self.end) {
            (State::AwaitHandshake, _) => self.await_handshake(tx),
            (State::Open, None) => self.receive_inside(tx),
            (State::Open, Some(_)) => self.receive_last(tx),
            (State::Over, _) => Ok(None),
        }
    }

    fn close(&mut self, tx: &mut Vec<u8>) -> bool {
        self.close_by(tx, P::close)
    }

    /// The end of the connection.
    ///
    /// # Errors
    ///
    /// `CutHandshake`, `CutRecord`, or `Truncated`: the connection ended without `close_notify`, and the protocol
    /// inside cannot tell that it has everything.
    fn end(&mut self) -> Result<Event<'_>, contract::PeerError> {
        let is_handshaking = self.state == State::AwaitHandshake;
        if std::mem::replace(&mut self.state, State::Over) == State::Over {
            return Ok(Event::Closed(Closed::default()));
        }
        match self.end.take() {
            Some(End::Failed(error)) => return Err((*error).into()),
            Some(End::CloseNotify) => return self.inner.end(),
            None if is_handshaking => {
                let awaited = self.session.awaited();
                return Err(PeerError::CutHandshake { awaited }.into());
            }
            None => {}
        }
        if self.held.cut_len() > 0 {
            let (len, expected) = (self.held.cut_len(), self.held.expected_len());
            return Err(PeerError::CutRecord { len, expected }.into());
        }
        match self.inner.end() {
            Ok(event @ Event::Closed(_)) => Ok(event),
            Ok(_) => Err(PeerError::Truncated { inside: None }.into()),
            Err(inside) => {
                Err(PeerError::Truncated { inside: Some(inside.to_string().into()) }.into())
            }
        }
    }

    fn awaits_rest(&self) -> bool {
        match self.state {
            State::AwaitHandshake => true,
            State::Open => self.held.cut_len() > 0 || self.inner.awaits_rest(),
            State::Over => false,
        }
    }

    fn layers(&self) -> Layers {
        let inside = self.inner.layers();
        Layers {
            tls_sent: inside.tls_sent + self.tls_sent,
            tls_received: inside.tls_received + self.tls_received,
            ..inside
        }
    }
}

impl<P: Protocol> Tls<P> {
    /// The protocol inside.
    pub(crate) fn inner(&self) -> &P {
        &self.inner
    }

    /// Sends what `send` makes the protocol inside append.
    ///
    /// # Errors
    ///
    /// As `send`, or the connection is not open.
    #[inline]
    pub(crate) fn send_by(
        &mut self,
        tx: &mut Vec<u8>,
        send: impl FnOnce(&mut P, &mut Vec<u8>) -> Result<(), MisuseError>,
    ) -> Result<(), MisuseError> {
        if self.state != State::Open {
            return Err(MisuseError::NotOpen);
        }
        let from = tx.len();
        send(&mut self.inner, tx)?;
        if self.outgoing().protect(from, tx) { Ok(()) } else { Err(MisuseError::NotOpen) }
    }

    /// Starts a proper end like [`Protocol::close`]; `close` starts that of the protocol inside.
    pub(crate) fn close_by(
        &mut self,
        tx: &mut Vec<u8>,
        close: impl FnOnce(&mut P, &mut Vec<u8>) -> bool,
    ) -> bool {
        if self.state != State::Open {
            return false;
        }
        let from = tx.len();
        let is_answered = close(&mut self.inner, tx);
        self.outgoing().protect(from, tx);
        if !is_answered {
            self.outgoing().close(tx);
        }
        is_answered
    }
}

/// The way from records to plaintext.
impl<P: Protocol> Tls<P> {
    /// Takes all of `input`: decrypts its complete records and keeps the one that is cut.
    fn read(&mut self, input: &mut Input<'_>, tx: &mut Vec<u8>) {
        let from = tx.len();
        self.read_records(input, tx);
        self.tls_sent += (tx.len() - from) as u64;
        if self.end.is_some() {
            // Bytes after the end do not count (RFC 8446 §6.1).
            self.tls_received += input.take_all().len() as u64;
            self.held = Held::default();
        }
    }

    fn read_records(&mut self, input: &mut Input<'_>, tx: &mut Vec<u8>) {
        if self.state == State::AwaitHandshake && self.tls_received == 0 {
            if let Some(said) = records::not_tls(&self.held.bytes, input.peek()) {
                tx.extend_from_slice(&records::UNEXPECTED_MESSAGE);
                return self.fail(PeerError::NotTls { said });
            }
            if let Err(error) = self.session.begin(tx) {
                return self.fail(error);
            }
        }
        while !self.held.bytes.is_empty() && self.end.is_none() {
            let Some(len) = self.held.fill(input) else { return };
            let used = self.read_whole(len, None, tx);
            self.held.release(used);
            if self.held.bytes.len() > HELD_LEN_MAX {
                let len = self.held.bytes.len();
                return self.fail(PeerError::HandshakeOverLimit { len, max: HELD_LEN_MAX });
            }
        }
        if self.end.is_none() && !input.is_empty() {
            let bytes = input.take_all();
            let whole = records::whole_len(bytes);
            let used = self.read_whole(whole, Some(&mut bytes[..whole]), tx);
            self.held.keep(&bytes[used..], whole - used);
        }
    }

    /// Decrypts complete records: those given, else those held. `len` of their bytes are new. Returns how many of their
    /// bytes are done with.
    fn read_whole(&mut self, len: usize, records: Option<&mut [u8]>, tx: &mut Vec<u8>) -> usize {
        let records = records.unwrap_or(&mut self.held.bytes);
        let before = self.plain.bytes.len();
        if self.state == State::Open && len > SEVERAL_LEN {
            self.plain.bytes.reserve_exact(len);
        }
        let read = self.session.read(records, &mut self.plain.bytes, tx);
        self.tls_received += (len - (self.plain.bytes.len() - before)) as u64;
        self.end = read.end;
        read.used
    }

    fn outgoing(&mut self) -> Outgoing<'_> {
        Outgoing {
            is_cut_off: matches!(self.end, Some(End::Failed(_))),
            session: &mut self.session,
            tls_sent: &mut self.tls_sent,
            waiting: &mut self.held.bytes,
        }
    }

    fn fail(&mut self, error: PeerError) {
        self.end = Some(End::Failed(Box::new(error)));
    }
}

/// The way from plaintext to events.
impl<P: Protocol> Tls<P> {
    /// Opens the protocol inside, if the handshake is complete.
    #[cold]
    fn await_handshake(
        &mut self,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'_>>, contract::PeerError> {
        let Some(facts) = self.session.facts() else {
            return match self.end.take() {
                Some(End::Failed(error)) => {
                    self.state = State::Over;
                    Err((*error).into())
                }
                Some(End::CloseNotify) | None => Ok(None),
            };
        };
        self.state = State::Open;
        let from = tx.len();
        let opening = self.inner.open(tx);
        self.outgoing().protect(from, tx);
        Ok(Some(Event::Secured(Secured { facts, opening })))
    }

    /// Lets the protocol inside read the available plaintext.
    #[inline]
    fn receive_inside(
        &mut self,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'_>>, contract::PeerError> {
        let from = tx.len();
        let Plain { bytes, taken } = &mut self.plain;
        let mut input = Input::new(&mut bytes[*taken..]);
        let len = input.len();
        let received = self.inner.receive(&mut input, tx);
        *taken += len - input.len();
        let mut outgoing = Outgoing {
            is_cut_off: matches!(self.end, Some(End::Failed(_))),
            session: &mut self.session,
            tls_sent: &mut self.tls_sent,
            waiting: &mut self.held.bytes,
        };
        outgoing.protect(from, tx);
        if matches!(received, Ok(Some(Event::Closed(_))) | Err(_)) {
            self.state = State::Over;
            outgoing.close(tx);
        }
        received
    }

    /// The same, when no more can arrive. An end or an error follows the last event, so this must ask for it in the
    /// same call in which the protocol inside needs more bytes; an event therefore cannot borrow from that protocol,
    /// and is copied.
    #[cold]
    fn receive_last(&mut self, tx: &mut Vec<u8>) -> Result<Option<Event<'_>>, contract::PeerError> {
        if let Some(event) = self.receive_inside(tx)? {
            let kept = Kept::of(event);
            return Ok(Some(self.kept.insert(Box::new(kept)).event()));
        }
        self.kept = None;
        self.state = State::Over;
        match &self.end {
            Some(End::Failed(error)) => Err((**error).clone().into()),
            Some(End::CloseNotify) | None => {
                self.outgoing().close(tx);
                self.inner.end().map(Some)
            }
        }
    }
}

/// The way from plaintext to records: all fields except the protocol inside, from which an event may still borrow.
struct Outgoing<'t> {
    /// True if a fatal error was reported to the peer: nothing may follow that.
    is_cut_off: bool,
    session: &'t mut Rustls,
    tls_sent: &'t mut u64,
    waiting: &'t mut [u8],
}

impl Outgoing<'_> {
    /// Encrypts what the protocol inside appended to `tx`, from `from` on. If nothing may be sent any more, removes it
    /// and returns `false`.
    #[inline]
    fn protect(&mut self, from: usize, tx: &mut Vec<u8>) -> bool {
        let len = tx.len() - from;
        if len == 0 {
            return true;
        }
        if self.is_cut_off {
            tx.truncate(from);
            return false;
        }
        let is_sent = self.session.write(self.waiting, from, tx);
        *self.tls_sent += (tx.len() - from - if is_sent { len } else { 0 }) as u64;
        is_sent
    }

    fn close(&mut self, tx: &mut Vec<u8>) {
        let from = tx.len();
        if !self.is_cut_off {
            self.session.close(self.waiting, tx);
        }
        *self.tls_sent += (tx.len() - from) as u64;
    }
}

impl Plain {
    /// Frees the plaintext, once all of it was taken.
    #[inline]
    fn release(&mut self) {
        if self.taken == self.bytes.len() {
            *self = Self::default();
        }
    }
}

/// Input longer than this is more than one record: memory for its plaintext is allocated at once.
const SEVERAL_LEN: usize = 17 * 1024;
