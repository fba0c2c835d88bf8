//! The half of reading that both roles share: a head, then the body that it announces.

use super::chunked::Decoder;
use super::error::PeerError;
use super::fields::Fields;
use super::limits::Limits;
use crate::contract::Input;
use crate::pieces::Pieces;

/// Reads heads and bodies in turn; `T` holds the facts of a head that one role needs.
///
/// Holds no memory while it waits for neither, except for the last head.
#[derive(Debug)]
pub(super) struct Reader<T> {
    /// The decoder of the body that is being read, if that is chunked and a part of it has been seen.
    decoder: Option<Box<Decoder>>,
    last: Option<Box<Last<T>>>,
    limits: Limits,
    /// A part of the head or of the body that is being read.
    pieces: Pieces,
}

/// A head that was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head<T> {
    /// The kind of body that follows the head.
    pub(super) body: Body,
    /// Length in bytes.
    pub(super) len: usize,
    /// The facts that only one role needs.
    pub(super) says: T,
}

/// The ways in which the end of a body is found (RFC 9112 §6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// By its chunks.
    Chunked,
    /// By its length.
    Sized(usize),
    /// It goes on until the connection ends.
    UntilEnd,
}

/// The last head as it came, and the facts in it.
///
/// Most peers send the same head again and again, some with another date each second. The same bytes say the same, so
/// they are compared and not read again: a tenth of the instructions.
#[derive(Debug)]
struct Last<T> {
    bytes: Vec<u8>,
    head: Head<T>,
}

impl Body {
    /// The body that `fields` announce; `Ok(None)` if they announce none.
    ///
    /// # Errors
    ///
    /// It is longer than the limit.
    pub(super) fn announced(fields: &Fields, limits: &Limits) -> Result<Option<Self>, PeerError> {
        if fields.chunked {
            return Ok(Some(Self::Chunked));
        }
        let Some(len) = fields.content_length else { return Ok(None) };
        limits.check_body_len(len)?;
        let over_limit = PeerError::BodyOverLimit { len, max: limits.body_len_max };
        Ok(Some(Self::Sized(usize::try_from(len).map_err(|_| over_limit)?)))
    }
}

impl<T: Copy> Reader<T> {
    pub(super) fn new(limits: Limits) -> Self {
        Self { decoder: None, last: None, limits, pieces: Pieces::default() }
    }

    /// Frees the body that was handed out before. Called first, on every input.
    #[inline]
    pub(super) fn release(&mut self) {
        self.pieces.release();
    }

    /// Takes a head from `input` and returns the result of `parse` for it; `None` if it goes on after all of `input`.
    ///
    /// `parse` is given all bytes of the head that came so far, and maybe more than the head. It must not accept one
    /// that is longer than the limit, and must answer the same to the same bytes.
    #[inline]
    pub(super) fn head(
        &mut self,
        input: &mut Input<'_>,
        parse: impl Fn(&[u8], &Limits) -> Result<Option<Head<T>>, PeerError>,
    ) -> Result<Option<Head<T>>, PeerError> {
        if input.is_empty() {
            return Ok(None);
        }
        let before = self.pieces.bytes().len();
        if before > 0 {
            let room = (self.limits.head_len_max as usize).saturating_sub(before);
            self.pieces.extend(&input.peek()[..input.len().min(room)]);
        } else if let Some(last) = &self.last
            && input.peek().starts_with(&last.bytes)
        {
            input.take(last.bytes.len());
            return Ok(Some(last.head));
        }
        let bytes = if before > 0 { self.pieces.bytes() } else { input.peek() };
        let Some(head) = parse(bytes, &self.limits)? else {
            let rest = input.take_all();
            if before == 0 {
                self.pieces.extend(rest);
            }
            return Ok(None);
        };
        remember(&mut self.last, &bytes[..head.len], head);
        input.take(head.len - before);
        self.pieces.clear();
        Ok(Some(head))
    }

    /// Takes the body from `input` and hands it out whole; `None` if it goes on after all of `input`.
    #[inline]
    pub(super) fn body<'a, 'b: 'a>(
        &'a mut self,
        body: Body,
        input: &mut Input<'b>,
    ) -> Result<Option<&'a [u8]>, PeerError> {
        match body {
            Body::Chunked => self.chunked_body(input),
            Body::Sized(len) => Ok(self.pieces.take(len, input)),
            Body::UntilEnd => {
                let max = self.limits.body_len_max;
                if self.pieces.bytes().len() + input.len() > max {
                    return Err(PeerError::BodyOverLimit { len: max as u64 + 1, max });
                }
                self.pieces.extend(input.take_all());
                Ok(None)
            }
        }
    }

    /// True if a head or a body has begun and is not complete.
    pub(super) fn is_amid(&self) -> bool {
        self.pieces.are_waiting()
    }

    /// The bytes of the unfinished head or body.
    pub(super) fn unfinished(&self) -> &[u8] {
        self.pieces.bytes()
    }

    /// Hands out the bytes that came, as a body that the connection has ended.
    pub(super) fn ended_body(&mut self) -> &[u8] {
        self.pieces.hand_out()
    }

    fn chunked_body<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
    ) -> Result<Option<&'a [u8]>, PeerError> {
        if input.is_empty() {
            return Ok(None);
        }
        if self.decoder.is_none()
            && let Some(len) = Decoder::whole_len(input.peek(), &self.limits)?
        {
            return Decoder::join(input.take(len), &self.limits).map(Some);
        }
        let decoder = self.decoder.get_or_insert_default();
        while !input.is_empty() {
            let piece = decoder.next(input.peek(), &self.limits)?;
            self.pieces.extend(&input.take(piece.consumed)[piece.data]);
            if piece.done {
                self.decoder = None;
                return Ok(Some(self.pieces.hand_out()));
            }
        }
        Ok(None)
    }
}

/// Keeps `head`, read from `bytes`, as the last one, unless it is long.
fn remember<T>(last: &mut Option<Box<Last<T>>>, bytes: &[u8], head: Head<T>) {
    if bytes.len() > LAST_LEN_MAX {
        return;
    }
    match last {
        Some(last) => {
            last.bytes.clear();
            last.bytes.extend_from_slice(bytes);
            last.head = head;
        }
        None => *last = Some(Box::new(Last { bytes: bytes.to_vec(), head })),
    }
}

/// Longest head that is remembered, so that ten thousand connections stay small.
const LAST_LEN_MAX: usize = 512;
