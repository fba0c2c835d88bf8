//! The parts of a message and of a control frame that arrived in earlier reads.

use super::deflate::Codec;
use super::utf8;
use super::{Limits, PeerError};
use crate::contract::{Kind, Message};

/// Parts that wait for their rest; exists only while there are any.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The payload of the control frame that is arriving, or of the last one.
    pub(super) control: Vec<u8>,
    /// The message that is arriving.
    pub(super) message: Option<Partial>,
}

impl Held {
    /// Drops the data that the previous call handed out; `true` if nothing is left. Called between frames.
    pub(super) fn release(&mut self) -> bool {
        self.control.clear();
        self.message.take_if(|message| message.is_complete);
        self.message.is_none()
    }

    /// True if more fragments of a message are awaited.
    pub(super) fn is_amid_message(&self) -> bool {
        self.message.as_ref().is_some_and(|message| !message.is_complete)
    }

    /// The message that a fragment belongs to.
    ///
    /// # Errors
    ///
    /// `LoneContinuation`: there is none.
    pub(super) fn message_mut(&mut self) -> Result<&mut Partial, PeerError> {
        self.message.as_mut().ok_or(PeerError::LoneContinuation)
    }
}

/// A message that did not arrive in one piece.
#[derive(Debug)]
pub(super) struct Partial {
    bytes: Vec<u8>,
    /// The number of bytes of a compressed message that have arrived; `bytes` has them inflated.
    compressed_len: Option<u64>,
    /// The number of its frames so far, including the one that is arriving.
    fragments: u32,
    /// True if everything has arrived and was handed out.
    is_complete: bool,
    kind: Kind,
    utf8: utf8::Progress,
}

impl Partial {
    /// A message whose first frame has `frame_len` bytes.
    pub(super) fn new(kind: Kind, frame_len: u64) -> Self {
        let capacity = usize::try_from(frame_len).map_or(CAPACITY_MAX, |len| len.min(CAPACITY_MAX));
        Self { bytes: Vec::with_capacity(capacity), ..Self::empty(kind) }
    }

    /// A compressed message.
    pub(super) fn compressed(kind: Kind) -> Self {
        Self { compressed_len: Some(0), ..Self::empty(kind) }
    }

    fn empty(kind: Kind) -> Self {
        Self {
            bytes: Vec::new(),
            compressed_len: None,
            fragments: 1,
            is_complete: false,
            kind,
            utf8: utf8::Progress::default(),
        }
    }

    /// Admits one more fragment of `frame_len` bytes.
    ///
    /// # Errors
    ///
    /// `LongFrame`, `LongMessage` or `TooManyFragments`.
    pub(super) fn admit(&mut self, frame_len: u64, limits: &Limits) -> Result<(), PeerError> {
        self.fragments = self.fragments.saturating_add(1);
        if self.fragments > limits.fragments_max {
            return Err(PeerError::TooManyFragments {
                fragments: self.fragments,
                max: limits.fragments_max,
            });
        }
        match self.compressed_len {
            Some(_) => limits.admit_compressed(frame_len),
            None => limits.admit(frame_len, self.bytes.len() as u64),
        }
    }

    /// Appends the bytes that have arrived, inflated by `codec` if they are compressed.
    ///
    /// # Errors
    ///
    /// `BadDeflate`, `LongInflated` or `NotUtf8`: whichever is first in the message, however it is split.
    pub(super) fn append(
        &mut self,
        part: &[u8],
        codec: Option<&mut Codec>,
        limits: &Limits,
    ) -> Result<(), PeerError> {
        let inflated = match (&mut self.compressed_len, codec) {
            (Some(len), Some(codec)) => {
                *len += part.len() as u64;
                codec.inflate(part, &mut self.bytes, limits.message_len_max)
            }
            _ => {
                self.bytes.extend_from_slice(part);
                Ok(())
            }
        };
        if self.kind == Kind::Text {
            let len = self.bytes.len().min(limits.message_len_max);
            self.utf8.advance(&self.bytes[..len])?;
        }
        inflated
    }

    /// Completes the message: everything has arrived.
    ///
    /// # Errors
    ///
    /// `NotUtf8`: the text ends in the middle of a character. `BadDeflate`: the compressed data is incomplete.
    pub(super) fn complete(
        &mut self,
        codec: Option<&mut Codec>,
        limits: &Limits,
    ) -> Result<(), PeerError> {
        self.is_complete = true;
        if let (Some(len), Some(codec)) = (self.compressed_len, codec) {
            codec.finish(len, &mut self.bytes, limits.message_len_max)?;
        }
        match self.kind {
            Kind::Binary => Ok(()),
            Kind::Text => self.utf8.finish(&self.bytes),
        }
    }

    /// The number of its frames so far.
    pub(super) const fn fragments(&self) -> u32 {
        self.fragments
    }

    /// The bytes that have arrived, as a message.
    pub(super) fn message(&self) -> Message<'_> {
        Message { kind: self.kind, payload: &self.bytes }
    }
}

/// Most memory that is set aside for a message before its bytes arrive: a header alone must not cost much.
const CAPACITY_MAX: usize = 64 << 10;
