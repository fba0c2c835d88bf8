//! The half of reading that both roles share: a head, then the body that it announces.

use super::chunked::Decoder;
use super::error::PeerError;
use super::fields::Fields;
use super::limits::Limits;
use crate::contract::Input;
use crate::pieces::Pieces;

/// Reads heads and bodies in turn. Holds no memory while it waits for neither.
#[derive(Debug)]
pub(super) struct Reader {
    limits: Limits,
    /// A part of the head or of the body that is being read.
    pieces: Pieces,
}

/// A head that was read.
#[derive(Debug)]
pub(super) struct Head<T> {
    /// What follows it.
    pub(super) body: Body,
    /// In bytes.
    pub(super) len: usize,
    /// What it says beside, which each role has its own fields for.
    pub(super) says: T,
}

/// How the end of a body is found (RFC 9112 §6.3).
#[derive(Debug)]
pub(super) enum Body {
    /// In chunks; the decoder is there once it has seen a part of them.
    Chunked(Option<Box<Decoder>>),
    /// By its length.
    Sized(usize),
    /// It goes on until the connection ends.
    UntilEnd,
}

impl Body {
    /// The body that `fields` announce; `Ok(None)` if they say nothing about it.
    ///
    /// # Errors
    ///
    /// It is longer than the limit.
    #[inline]
    pub(super) fn announced(fields: &Fields, limits: &Limits) -> Result<Option<Self>, PeerError> {
        match fields.content_length {
            _ if fields.chunked => Ok(Some(Self::Chunked(None))),
            Some(len) => {
                limits.check_body_len(len)?;
                let over_limit = PeerError::BodyOverLimit { len, max: limits.body_len_max };
                Ok(Some(Self::Sized(usize::try_from(len).map_err(|_| over_limit)?)))
            }
            None => Ok(None),
        }
    }
}

impl Reader {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, pieces: Pieces::default() }
    }

    /// Frees the body that was handed out before. Called first, on every input.
    #[inline]
    pub(super) fn release(&mut self) {
        self.pieces.release();
    }

    /// Takes a head from `input` and answers what `parse` made of it; `None` if it goes on after all of `input`.
    ///
    /// `parse` is given all bytes of the head that came so far, and maybe more than the head. It must not accept one that
    /// is longer than the limit.
    #[inline]
    pub(super) fn head<T>(
        &mut self,
        input: &mut Input<'_>,
        parse: impl Fn(&[u8], &Limits) -> Result<Option<Head<T>>, PeerError>,
    ) -> Result<Option<Head<T>>, PeerError> {
        if input.is_empty() {
            return Ok(None);
        }
        let before = self.pieces.bytes().len();
        let found = if before == 0 {
            parse(input.peek(), &self.limits)?
        } else {
            let room = self.limits.head_len_max.saturating_sub(before);
            self.pieces.extend(&input.peek()[..input.len().min(room)]);
            parse(self.pieces.bytes(), &self.limits)?
        };
        if let Some(head) = found {
            input.take(head.len - before);
            self.pieces.clear();
            return Ok(Some(head));
        }
        let rest = input.take_all();
        if before == 0 {
            self.pieces.extend(rest);
        }
        Ok(None)
    }

    /// Takes the body from `input` and hands it out whole; `None` if it goes on after all of `input`.
    #[inline]
    pub(super) fn body<'a, 'b: 'a>(
        &'a mut self,
        body: &mut Body,
        input: &mut Input<'b>,
    ) -> Result<Option<&'a [u8]>, PeerError> {
        match body {
            Body::Chunked(decoder) => self.chunked_body(decoder, input),
            Body::Sized(len) => Ok(self.pieces.take(*len, input)),
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

    /// What came of the head or body that is being read.
    pub(super) fn unfinished(&self) -> &[u8] {
        self.pieces.bytes()
    }

    /// Hands out what came, as a body that the connection has ended.
    pub(super) fn ended_body(&mut self) -> &[u8] {
        self.pieces.hand_out()
    }

    fn chunked_body<'a, 'b: 'a>(
        &'a mut self,
        decoder: &mut Option<Box<Decoder>>,
        input: &mut Input<'b>,
    ) -> Result<Option<&'a [u8]>, PeerError> {
        if input.is_empty() {
            return Ok(None);
        }
        if decoder.is_none()
            && let Some(len) = Decoder::whole_len(input.peek(), &self.limits)?
        {
            return Decoder::join(input.take(len), &self.limits).map(Some);
        }
        let decoder = decoder.get_or_insert_default();
        while !input.is_empty() {
            let piece = decoder.next(input.peek(), &self.limits)?;
            self.pieces.extend(&input.take(piece.consumed)[piece.data]);
            if piece.done {
                return Ok(Some(self.pieces.hand_out()));
            }
        }
        Ok(None)
    }
}
