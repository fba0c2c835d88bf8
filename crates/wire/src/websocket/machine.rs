//! The machine: the meaning of frames in sequence, for both roles.
//!
//! ```text
//!   client, server                 established
//!        |                              |
//!   AwaitHandshake --- complete ----> Open --- close() ----> AwaitClose
//!        |                              |                         |
//!        | close()                      | Close of the peer       | Close of the peer
//!        +--------------------------> Closed <--------------------+
//!
//!   from each of the first three: an error of the peer ----> Failed
//! ```
//!
//! `Open` and `AwaitClose` read frames alike, but in `AwaitClose` no message can be sent. `Closed` and `Failed` discard
//! whatever still arrives (§5.5.1, §7.1.7).
//!
//! A message that is one complete frame in the input is unmasked and handed out in place: by far the most common case,
//! and the only one that is made fast. Everything else (control frames, fragments, frames that a read has cut) is
//! collected in [`Held`], which exists only while it is needed; the start of a header is kept in 14 bytes of the
//! machine itself. Compressed messages are inflated into [`Held`] and handed out from there.
//!
//! Start reading at [`WebSocket::receive`].

use super::close_codes;
use super::deflate::{Agreed, Codec};
use super::frame::{self, Control, Frame, HeaderReader, Opcode};
use super::handshake::{Request, ServerOptions};
use super::held::{Held, Partial};
use super::mask::{Key, Keys};
use super::opening::Handshake;
use super::{Limits, PeerError, close, utf8};
use crate::contract::{
    self, Closed, Event, Input, Kind, Layers, Message, MisuseError, Opening, Protocol, Side,
};
use std::sync::Arc;

/// One end of a WebSocket connection (RFC 6455).
///
/// A quiet open connection is this struct and nothing on the heap.
#[derive(Debug)]
pub struct WebSocket {
    /// The compression of messages, if it was agreed on.
    codec: Option<Box<Codec>>,
    /// Data that is not in one piece in the input; `None` between messages.
    held: Option<Box<Held>>,
    /// The mask keys of a client; a server has no use for them.
    keys: Keys,
    limits: Limits,
    /// The end whose frames are read; we are the other one.
    peer: Side,
    reading: Reading,
    state: State,
}

/// The state of the connection.
#[derive(Debug)]
enum State {
    /// Our Close is sent, the peer's is awaited.
    AwaitClose,
    /// The handshake is awaited from the peer.
    AwaitHandshake(Box<Handshake>),
    /// The peer sent its Close; nothing is awaited any more.
    Closed,
    /// The peer broke the protocol; nothing is awaited any more.
    Failed,
    /// Messages go both ways.
    Open,
}

/// The part that the next byte of the peer belongs to.
#[derive(Debug)]
enum Reading {
    /// The header of a frame.
    Header(HeaderReader),
    /// The payload of this frame; its `len` counts the bytes still to arrive.
    Payload(Frame),
}

/// A part that was read, without its payload: only [`WebSocket::receive`] borrows from the machine.
enum Found {
    /// The peer's Close.
    Closed(Closed<'static>),
    /// A message, in [`Held::message`].
    Message,
    /// The end of the opening handshake.
    Open,
    /// A ping, with its payload in [`Held::control`].
    Ping,
    /// A pong, likewise.
    Pong,
}

impl WebSocket {
    /// The client's end: sends `request`, then awaits the response. Its key and all mask keys come from `seed`.
    pub fn client(request: Arc<Request>, limits: Limits, seed: u64) -> Self {
        let handshake = Handshake::client(request, seed);
        Self::new(Side::Client, limits, seed, State::AwaitHandshake(Box::new(handshake)))
    }

    /// The server's end: awaits a request. Speaks no subprotocol.
    pub fn server(limits: Limits) -> Self {
        Self::server_with(Arc::default(), limits)
    }

    /// The server's end: awaits a request, and agrees to what `options` say.
    pub fn server_with(options: Arc<ServerOptions>, limits: Limits) -> Self {
        let handshake = Handshake::server(options);
        Self::new(Side::Server, limits, 0, State::AwaitHandshake(Box::new(handshake)))
    }

    /// Either end of a connection whose opening handshake was made elsewhere: it is open at once. The mask keys of a
    /// client come from `seed`.
    pub fn established(role: Side, limits: Limits, seed: u64) -> Self {
        Self::new(role, limits, seed, State::Open)
    }

    /// The same, with compression as it was agreed on there.
    pub fn established_with(agreed: Agreed, role: Side, limits: Limits, seed: u64) -> Self {
        let codec = Some(Box::new(Codec::new(agreed)));
        Self { codec, ..Self::established(role, limits, seed) }
    }

    /// Starts a proper end as [`Protocol::close`] does, for a server that is going down.
    pub(crate) fn go_away(&mut self, tx: &mut Vec<u8>) -> bool {
        self.close_by(close_codes::GOING_AWAY, tx)
    }

    fn close_by(&mut self, code: u16, tx: &mut Vec<u8>) -> bool {
        match self.state {
            State::AwaitClose => true,
            State::AwaitHandshake(_) => {
                self.state = State::Closed;
                false
            }
            State::Closed | State::Failed => false,
            State::Open => {
                frame::write(CLOSE, self.fresh_key(), &code.to_be_bytes(), tx);
                self.state = State::AwaitClose;
                true
            }
        }
    }

    fn new(role: Side, limits: Limits, seed: u64, state: State) -> Self {
        let peer = match role {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        };
        Self {
            codec: None,
            held: None,
            keys: Keys::new(seed),
            limits,
            peer,
            reading: Reading::default(),
            state,
        }
    }
}

impl Protocol for WebSocket {
    fn open(&mut self, tx: &mut Vec<u8>) -> Opening {
        match &self.state {
            State::AwaitHandshake(handshake) => {
                handshake.write(tx);
                Opening::Awaited
            }
            State::AwaitClose | State::Closed | State::Failed | State::Open => Opening::Done,
        }
    }

    #[inline]
    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        if !matches!(self.state, State::Open) {
            return Err(MisuseError::NotOpen);
        }
        if message.kind == Kind::Text && utf8::check(message.payload).is_err() {
            return Err(MisuseError::NotUtf8);
        }
        let key = self.fresh_key();
        match &mut self.codec {
            None => frame::write(Opcode::Message(message.kind), key, message.payload, tx),
            Some(codec) => {
                frame::write_in_place(message.kind, true, key, message.payload.len(), tx, |tx| {
                    codec.compress(message.payload, tx);
                })
            }
        }
        Ok(())
    }

    #[inline]
    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, contract::PeerError> {
        if self.held.is_some() {
            self.release();
        }
        if self.is_between_messages() {
            match self.read_whole_message(input) {
                Ok(Some(message)) => return Ok(Some(Event::Message(message))),
                Ok(None) if input.is_empty() => return Ok(None),
                Ok(None) => {}
                Err(error) => return Err(self.fail(error, tx).into()),
            }
        }
        self.receive_in_parts(input, tx)
    }

    fn close(&mut self, tx: &mut Vec<u8>) -> bool {
        self.close_by(close_codes::NORMAL, tx)
    }

    /// The peer will send no more bytes. That is a proper end only after its Close frame, whose code and reason were in
    /// [`Event::Closed`] already and are not repeated.
    ///
    /// # Errors
    ///
    /// `CutFrame`, `CutMessage` or `Handshake`, for what was cut off; `NoClose` if only the Close is missing (§7.1.5).
    fn end(&mut self) -> Result<Event<'_>, contract::PeerError> {
        match &self.state {
            State::AwaitClose | State::Open => Err(self.cut_off().into()),
            State::AwaitHandshake(handshake) => Err(PeerError::from(handshake.cut_off()).into()),
            State::Closed => Ok(Event::Closed(Closed::default())),
            State::Failed => Err(PeerError::NoClose.into()),
        }
    }

    fn awaits_rest(&self) -> bool {
        match self.state {
            State::AwaitHandshake(_) => true,
            State::AwaitClose | State::Open => self.is_amid(),
            State::Closed | State::Failed => false,
        }
    }

    fn ping(&mut self, payload: &[u8], tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        let (len, max) = (payload.len() as u64, frame::CONTROL_LEN_MAX);
        if !matches!(self.state, State::Open) {
            return Err(MisuseError::NotOpen);
        }
        if len > max {
            return Err(MisuseError::TooLong { len, max });
        }
        frame::write(PING, self.fresh_key(), payload, tx);
        Ok(())
    }

    fn layers(&self) -> Layers {
        match &self.codec {
            Some(codec) => Layers {
                encoding_received: codec.encoding_received,
                encoding_sent: codec.encoding_sent,
                ..Layers::default()
            },
            None => Layers::default(),
        }
    }
}

impl Default for Reading {
    fn default() -> Self {
        Self::Header(HeaderReader::default())
    }
}

/// Reading whole messages: by far the most common input, so with as few instructions as possible.
impl WebSocket {
    /// True if the next byte begins a frame and no part of an earlier message is held.
    #[inline]
    fn is_between_messages(&self) -> bool {
        matches!(self.state, State::AwaitClose | State::Open)
            && self.held.is_none()
            && matches!(&self.reading, Reading::Header(reader) if !reader.is_within())
    }

    /// True if a frame or a fragmented message is incomplete.
    fn is_amid(&self) -> bool {
        match &self.reading {
            Reading::Header(reader) if !reader.is_within() => {
                self.held.as_ref().is_some_and(|held| held.is_amid_message())
            }
            Reading::Header(_) | Reading::Payload(_) => true,
        }
    }

    /// Takes a message that is one complete frame off the front of `input`, and unmasks it in place. Returns `None` and
    /// takes nothing if something else is there: [`Self::read_parts`] finds out what.
    #[inline]
    fn read_whole_message<'b>(
        &self,
        input: &mut Input<'b>,
    ) -> Result<Option<Message<'b>>, PeerError> {
        let Ok(Some((frame, header_len))) = Frame::read(input.peek(), self.peer, false) else {
            return Ok(None);
        };
        let Opcode::Message(kind) = frame.opcode else { return Ok(None) };
        let Ok(len) = usize::try_from(frame.len) else { return Ok(None) };
        if !frame.is_final
            || len > input.len() - header_len
            || self.limits.admit(frame.len, 0).is_err()
        {
            return Ok(None);
        }
        input.take(header_len);
        let payload = input.take(len);
        if let Some(key) = frame.key {
            key.apply(payload);
        }
        if kind == Kind::Text {
            utf8::check(payload)?;
        }
        Ok(Some(Message { kind, payload }))
    }
}

/// Reading everything else, in the parts in which it arrives.
impl WebSocket {
    #[inline(never)]
    fn receive_in_parts<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, contract::PeerError> {
        let found = match &mut self.state {
            State::AwaitClose | State::Open => self.read_parts(input, tx),
            State::AwaitHandshake(handshake) => match handshake.read(input, tx) {
                Ok(Some(accepted)) => {
                    self.codec = accepted.deflate.map(|agreed| Box::new(Codec::new(agreed)));
                    self.state = State::Open;
                    Ok(Some(Found::Open))
                }
                Ok(None) => Ok(None),
                Err(error) => Err(error.into()),
            },
            State::Closed | State::Failed => {
                input.take_all();
                Ok(None)
            }
        };
        match found {
            Ok(Some(Found::Closed(closed))) => Ok(Some(Event::Closed(closed))),
            Ok(Some(Found::Message)) => Ok(self.held_message().map(Event::Message)),
            Ok(Some(Found::Open)) => Ok(Some(Event::Open)),
            Ok(Some(Found::Ping)) => Ok(Some(Event::Ping(self.held_control()))),
            Ok(Some(Found::Pong)) => Ok(Some(Event::Pong(self.held_control()))),
            Ok(None) => Ok(None),
            Err(error) => Err(self.fail(error, tx).into()),
        }
    }

    /// Reads frames, or parts of them, until they give an event or all of `input` is taken.
    fn read_parts(
        &mut self,
        input: &mut Input<'_>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Found>, PeerError> {
        loop {
            let mut frame = match &mut self.reading {
                Reading::Header(reader) => {
                    let may_compress = self.codec.is_some();
                    let Some(frame) = reader.read(input, self.peer, may_compress)? else {
                        return Ok(None);
                    };
                    self.begin(frame)?;
                    frame
                }
                Reading::Payload(frame) => *frame,
            };
            self.collect(&mut frame, input)?;
            if frame.len > 0 {
                self.reading = Reading::Payload(frame);
                return Ok(None);
            }
            self.reading = Reading::default();
            if let Some(found) = self.finish(frame, tx)? {
                return Ok(Some(found));
            }
        }
    }

    /// Checks a new frame against the message that it belongs to, and against our limits; makes room for it.
    fn begin(&mut self, frame: Frame) -> Result<(), PeerError> {
        let held = self.held.get_or_insert_default();
        match (frame.opcode, &mut held.message) {
            (Opcode::Continuation, None) => Err(PeerError::LoneContinuation),
            (Opcode::Continuation, Some(message)) => message.admit(frame.len, &self.limits),
            (Opcode::Control(_), _) => Ok(()),
            (Opcode::Message(kind), message @ None) if frame.is_compressed => {
                self.limits.admit_compressed(frame.len)?;
                *message = Some(Partial::compressed(kind));
                Ok(())
            }
            (Opcode::Message(kind), message @ None) => {
                self.limits.admit(frame.len, 0)?;
                *message = Some(Partial::new(kind, frame.len));
                Ok(())
            }
            (Opcode::Message(_), Some(message)) => {
                Err(PeerError::InterruptedMessage { fragments: message.fragments() })
            }
        }
    }

    /// Takes the available part of the payload of `frame` off the front of `input`; its `len` becomes the number of
    /// bytes still to arrive.
    fn collect(&mut self, frame: &mut Frame, input: &mut Input<'_>) -> Result<(), PeerError> {
        let part =
            input.take(usize::try_from(frame.len).map_or(input.len(), |len| len.min(input.len())));
        if let Some(key) = &mut frame.key {
            key.apply(part);
            *key = key.after(part.len());
        }
        frame.len -= part.len() as u64;
        let held = self.held.get_or_insert_default();
        match frame.opcode {
            Opcode::Continuation | Opcode::Message(_) => {
                held.message_mut()?.append(part, self.codec.as_deref_mut(), &self.limits)
            }
            Opcode::Control(_) => {
                held.control.extend_from_slice(part);
                Ok(())
            }
        }
    }

    /// Handles a frame whose payload is complete; a fragment that is not the last gives no event.
    fn finish(&mut self, frame: Frame, tx: &mut Vec<u8>) -> Result<Option<Found>, PeerError> {
        match frame.opcode {
            Opcode::Continuation | Opcode::Message(_) if !frame.is_final => Ok(None),
            Opcode::Continuation | Opcode::Message(_) => {
                let message = self.held.get_or_insert_default().message_mut()?;
                message.complete(self.codec.as_deref_mut(), &self.limits)?;
                Ok(Some(Found::Message))
            }
            Opcode::Control(Control::Close) => Ok(Some(Found::Closed(self.answer_close(tx)?))),
            Opcode::Control(Control::Ping) => {
                let key = self.fresh_key();
                frame::write(PONG, key, self.held_control(), tx);
                Ok(Some(Found::Ping))
            }
            Opcode::Control(Control::Pong) => Ok(Some(Found::Pong)),
        }
    }

    /// Handles the peer's Close, and answers it with its own code unless it is the answer to ours (§5.5.1).
    fn answer_close(&mut self, tx: &mut Vec<u8>) -> Result<Closed<'static>, PeerError> {
        let Closed { code, reason } = close::read(self.held_control())?;
        let closed = Closed { code, reason: reason.into_owned().into() };
        if matches!(self.state, State::Open) {
            let code = closed.code.map(u16::to_be_bytes);
            frame::write(CLOSE, self.fresh_key(), code.as_slice().as_flattened(), tx);
        }
        self.state = State::Closed;
        self.forget();
        Ok(closed)
    }

    /// Handles a violation by the peer: reports it to the peer, unless our Close was already sent (§7.1.7).
    #[cold]
    fn fail(&mut self, error: PeerError, tx: &mut Vec<u8>) -> PeerError {
        if let (State::Open, Some(code)) = (&self.state, error.close_code()) {
            frame::write(CLOSE, self.fresh_key(), &code.to_be_bytes(), tx);
        }
        self.state = State::Failed;
        self.forget();
        error
    }

    /// The error of a connection that ends without being closed.
    fn cut_off(&self) -> PeerError {
        let message = self.held.as_ref().and_then(|held| held.message.as_ref());
        match (&self.reading, message) {
            (Reading::Payload(frame), _) => PeerError::CutFrame { missing: frame.len },
            (Reading::Header(reader), _) if reader.is_within() => {
                PeerError::CutFrame { missing: 1 }
            }
            (Reading::Header(_), Some(message)) => {
                PeerError::CutMessage { fragments: message.fragments() }
            }
            (Reading::Header(_), None) => PeerError::NoClose,
        }
    }

    /// Frees the data that the previous call handed out.
    #[cold]
    fn release(&mut self) {
        if matches!(self.reading, Reading::Header(_))
            && self.held.as_mut().is_some_and(|held| held.release())
        {
            self.held = None;
        }
    }

    /// Frees all collected data.
    fn forget(&mut self) {
        if let Some(codec) = &mut self.codec {
            codec.release();
        }
        self.held = None;
        self.reading = Reading::default();
    }

    fn held_message(&self) -> Option<Message<'_>> {
        self.held.as_ref()?.message.as_ref().map(Partial::message)
    }

    fn held_control(&self) -> &[u8] {
        self.held.as_ref().map_or(&[], |held| &held.control)
    }
}

/// Writing.
impl WebSocket {
    /// Like [`Protocol::send`], for a message of about `len` bytes that `append` appends: without a copy, unless it is
    /// compressed.
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    pub(crate) fn send_in_place(
        &mut self,
        kind: Kind,
        len: usize,
        tx: &mut Vec<u8>,
        append: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), MisuseError> {
        if self.codec.is_some() || !matches!(self.state, State::Open) {
            let mut payload = Vec::new();
            append(&mut payload);
            return self.send(Message { kind, payload: &payload }, tx);
        }
        let (start, mut is_valid) = (tx.len(), true);
        frame::write_in_place(kind, false, self.fresh_key(), len, tx, |tx| {
            let start = tx.len();
            append(tx);
            is_valid = kind == Kind::Binary || utf8::check(&tx[start..]).is_ok();
        });
        if !is_valid {
            tx.truncate(start);
            return Err(MisuseError::NotUtf8);
        }
        Ok(())
    }

    /// The key of the next frame that we write.
    #[inline]
    const fn fresh_key(&mut self) -> Option<Key> {
        match self.peer {
            Side::Client => None,
            Side::Server => Some(self.keys.next()),
        }
    }
}

const CLOSE: Opcode = Opcode::Control(Control::Close);
const PING: Opcode = Opcode::Control(Control::Ping);
const PONG: Opcode = Opcode::Control(Control::Pong);

#[cfg(test)]
mod tests;
