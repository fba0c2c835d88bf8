//! The half of reading that both roles share: a head, then the body that it announces.

use super::chunked::Decoder;
use super::error::PeerError;
use super::fields::Fields;
use super::limits::Limits;
use crate::contract::Input;
use crate::pieces::Pieces;

/// Reads heads and bodies in turn; `T` holds the facts of a head that one role needs.
///
/// Holds no memory between messages, except for the last head.
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
    /// True if its bytes are asked for later: then it is remembered however long it is.
    pub(super) is_kept: bool,
    /// Length in bytes.
    pub(super) len: usize,
    /// The facts that only one role needs.
    pub(super) says: T,
}

/// The ways to find the end of a body (RFC 9112 §6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// Its chunks say where it ends.
    Chunked,
    /// It has this length.
    Sized(usize),
    /// It goes on until the connection ends.
    UntilEnd,
}

/// The last head as it arrived, and the facts in it.
///
/// Most peers send the same head again and again, some with another date each second. Equal bytes have equal facts, so
/// heads are compared instead of parsed again: a tenth of the instructions.
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

    /// Forgets the last head: the same bytes will be read again.
    pub(super) fn forget_head(&mut self) {
        self.last = None;
    }

    /// Frees the body that was handed out last. Called first, on every input.
    #[inline]
    pub(super) fn release(&mut self) {
        self.pieces.release();
    }

    /// Takes a head from `input` and returns the result of `parse` for it; `None` if it is not complete with all of
    /// `input`.
    ///
    /// `parse` gets all bytes of the head that have arrived so far, and maybe bytes after it. It must not accept a head
    /// that is longer than the limit, and must return the same for the same bytes.
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

    /// Takes the body from `input` and hands it out whole; `None` if it is not complete with all of `input`.
    #[inline]
    pub(super) fn body<'a, 'b: 'a>(
        &'a mut self,
        body: Body,
        input: &mut Input<'b>,
    ) -> Result<Option<&'a [u8]>, PeerError> {
        Ok(self.whole(body, input)?.map(|whole| whole.data))
    }

    /// The same, with the raw head before it, which is empty if it was long and not to be kept.
    #[inline]
    pub(super) fn whole<'a, 'b: 'a>(
        &'a mut self,
        body: Body,
        input: &mut Input<'b>,
    ) -> Result<Option<Part<'a>>, PeerError> {
        let Self { decoder, last, limits, pieces } = self;
        let body = match body {
            Body::Chunked => chunked_body(decoder, pieces, limits, input)?,
            Body::Sized(len) => pieces.take(len, input),
            Body::UntilEnd => {
                let max = limits.body_len_max;
                if pieces.bytes().len() + input.len() > max {
                    return Err(PeerError::BodyOverLimit { len: max as u64 + 1, max });
                }
                pieces.extend(input.take_all());
                None
            }
        };
        let head = head_of(last);
        Ok(body.map(|data| Part { head, data, ends_chunk: false, is_last: true }))
    }

    /// Takes from `input` the part of the body that has arrived, and sets `body` to what is left; `None` if nothing has
    /// arrived.
    ///
    /// Buffers no part of the body, however long it is.
    pub(super) fn part<'a, 'b: 'a>(
        &'a mut self,
        body: &mut Body,
        input: &mut Input<'b>,
    ) -> Result<Option<Part<'a>>, PeerError> {
        let Self { decoder, last, limits, .. } = self;
        let (data, ends_chunk, is_last) = match body {
            Body::Chunked => {
                let found = decoder.get_or_insert_default();
                let mut piece = found.next(input.peek(), limits)?;
                while piece.data.is_empty() && !piece.done && piece.consumed < input.len() {
                    input.take(piece.consumed);
                    piece = found.next(input.peek(), limits)?;
                }
                let data = &input.take(piece.consumed)[piece.data];
                if piece.done {
                    *decoder = None;
                }
                (data, piece.ends_chunk, piece.done)
            }
            Body::Sized(left) => {
                let data = input.take(input.len().min(*left));
                *left -= data.len();
                (&*data, false, *left == 0)
            }
            Body::UntilEnd => (&*input.take_all(), false, false),
        };
        let has_news = is_last || !data.is_empty();
        Ok(has_news.then(|| Part { head: head_of(last), data, ends_chunk, is_last }))
    }

    /// The last head as it arrived; empty if it was long and not to be kept.
    pub(super) fn last_head(&self) -> &[u8] {
        head_of(&self.last)
    }

    /// True if a head or a body has begun and is not complete.
    pub(super) fn is_amid(&self) -> bool {
        self.pieces.are_waiting()
    }

    /// The bytes of the unfinished head or body.
    pub(super) fn unfinished(&self) -> &[u8] {
        self.pieces.bytes()
    }

    /// Hands out the head, and the bytes that have arrived as a body that the end of the connection completes.
    pub(super) fn ended_body(&mut self) -> (&[u8], &[u8]) {
        (head_of(&self.last), self.pieces.hand_out())
    }
}

/// A newly arrived part of a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    /// The head before the body.
    pub(super) head: &'a [u8],
    pub(super) data: &'a [u8],
    /// True if a chunk ends with it.
    pub(super) ends_chunk: bool,
    /// True if the body ends with it.
    pub(super) is_last: bool,
}

fn chunked_body<'a, 'b: 'a>(
    kept: &mut Option<Box<Decoder>>,
    pieces: &'a mut Pieces,
    limits: &Limits,
    input: &mut Input<'b>,
) -> Result<Option<&'a [u8]>, PeerError> {
    if input.is_empty() {
        return Ok(None);
    }
    if kept.is_none()
        && let Some(len) = Decoder::whole_len(input.peek(), limits)?
    {
        return Decoder::join(input.take(len), limits).map(Some);
    }
    let decoder = kept.get_or_insert_default();
    while !input.is_empty() {
        let piece = decoder.next(input.peek(), limits)?;
        pieces.extend(&input.take(piece.consumed)[piece.data]);
        if piece.done {
            *kept = None;
            return Ok(Some(pieces.hand_out()));
        }
    }
    Ok(None)
}

fn head_of<T>(last: &Option<Box<Last<T>>>) -> &[u8] {
    last.as_ref().map_or(&[], |last| &last.bytes)
}

/// Keeps `head`, read from `bytes`, as the last one, unless it is long and nobody asks for it.
fn remember<T>(last: &mut Option<Box<Last<T>>>, bytes: &[u8], head: Head<T>) {
    if bytes.len() > LAST_LEN_MAX && !head.is_kept {
        // The head before this one must not be taken for this one.
        *last = None;
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
