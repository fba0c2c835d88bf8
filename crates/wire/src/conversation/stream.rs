//! Messages of a conversation on a byte stream.

use super::PeerError;
use super::cut::{Cut, Found, Held};
use crate::contract::{
    Closed, Event, Input, Kind, Message, MisuseError, Opening, PeerError as AnyPeerError, Protocol,
};

/// Either end of a byte stream that is cut into messages.
#[derive(Debug)]
pub struct Stream {
    closed: bool,
    cut: Cut,
    held: Held,
}

impl Stream {
    pub(super) fn new(cut: Cut) -> Self {
        Self { closed: false, cut, held: Held::default() }
    }

    /// Sends the message that `append` appends.
    ///
    /// # Errors
    ///
    /// As [`Protocol::send`].
    #[inline]
    pub(crate) fn send_in_place(
        &self,
        tx: &mut Vec<u8>,
        append: &mut dyn FnMut(&mut Vec<u8>),
    ) -> Result<(), MisuseError> {
        if self.closed {
            return Err(MisuseError::NotOpen);
        }
        let start = tx.len();
        append(tx);
        let max = self.cut.len_max() as u64;
        self.cut.finish(start, tx).map_err(|len| MisuseError::TooLong { len: len as u64, max })
    }

    fn kind(&self) -> Kind {
        if self.cut.is_binary() { Kind::Binary } else { Kind::Text }
    }
}

/// A byte stream that is cut into MQTT packets of at most `packet_max` bytes after their heads.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn packets(packet_max: usize) -> Stream {
    Stream::new(Cut::new(spec::conversation::Frame::Mqtt, packet_max))
}

impl Protocol for Stream {
    fn open(&mut self, _tx: &mut Vec<u8>) -> Opening {
        Opening::Done
    }

    #[inline]
    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        self.send_in_place(tx, &mut |tx| tx.extend_from_slice(message.payload))
    }

    #[inline]
    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        _tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, AnyPeerError> {
        self.held.release();
        if self.closed {
            input.take_all();
        }
        let kind = self.kind();
        if self.held.is_empty() {
            input.take(self.cut.idle_len(input.peek()));
            if let Some(Found { message, next }) = self.cut.first(input.peek())? {
                let payload = &input.take(next)[message];
                return Ok(Some(Event::Message(Message { kind, payload })));
            }
        }
        let message = loop {
            let missing = self.cut.missing(self.held.rest(), input.peek());
            self.held.extend(input.take(missing));
            match self.held.next(self.cut)? {
                Some(message) => break message,
                None if input.is_empty() => return Ok(None),
                None => {}
            }
        };
        let payload = self.held.get(message);
        Ok(Some(Event::Message(Message { kind, payload })))
    }

    fn close(&mut self, _tx: &mut Vec<u8>) -> bool {
        self.closed = true;
        false
    }

    fn end(&mut self) -> Result<Event<'_>, AnyPeerError> {
        self.held.release();
        self.closed = true;
        match self.held.rest().len() {
            0 => Ok(Event::Closed(Closed::default())),
            len => Err(PeerError::CutMessage { len }.into()),
        }
    }

    fn awaits_rest(&self) -> bool {
        !self.closed && !self.held.is_empty()
    }
}
