//! The chunked transfer coding (RFC 9112 §7.1): decoding only.
//!
//! A body is a sequence of chunks: a size in hexadecimal digits, extensions, CRLF, that many bytes, CRLF; then a chunk
//! of size zero without bytes, fields as in a head, and an empty line. Extensions and trailers are checked for syntax,
//! counted against their limits and dropped.

use super::error::{ChunkPart, PeerError};
use super::grammar::{is_text_byte, is_token_byte};
use super::limits::Limits;
use std::ops::Range;

/// Decodes one body, however it is split.
#[derive(Clone, Debug, Default)]
pub(super) struct Decoder {
    /// Length of all chunks so far, the current one included.
    body_len: u64,
    extensions_len: u32,
    /// The bytes of the current chunk still to arrive.
    left: u64,
    state: State,
    trailers_len: u32,
}

/// The next thing that is awaited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// The first digit of a size.
    #[default]
    Size,
    /// Another digit of a size; the number counts those before it.
    SizeMore {
        digits: u8,
    },
    /// White space after a size, which may precede an extension.
    BeforeExtension,
    Extension,
    /// The line feed after a size.
    SizeEnd,
    Data,
    /// The carriage return after the data.
    DataEnd,
    /// The line feed after that.
    DataEndFeed,
    /// A field, or the carriage return of the empty line.
    TrailerStart,
    TrailerName,
    TrailerValue,
    /// The line feed after a field.
    TrailerEnd,
    /// The line feed of the empty line.
    LastFeed,
    Done,
}

/// The result of decoding some bytes.
#[derive(Debug)]
pub(super) struct Piece {
    /// The number of bytes that were understood.
    pub(super) consumed: usize,
    /// The range of them that belongs to the body.
    pub(super) data: Range<usize>,
    /// True if a chunk ends with this data.
    pub(super) ends_chunk: bool,
    /// True if the body ends with them.
    pub(super) done: bool,
}

impl Decoder {
    /// Decodes `bytes` up to the end of the first data in them, or all of them.
    pub(super) fn next(&mut self, bytes: &[u8], limits: &Limits) -> Result<Piece, PeerError> {
        for (at, byte) in bytes.iter().enumerate() {
            if self.state == State::Data {
                let end = usize::try_from(self.left)
                    .map_or(bytes.len(), |left| bytes.len().min(at.saturating_add(left)));
                self.left -= (end - at) as u64;
                if self.left == 0 {
                    self.state = State::DataEnd;
                }
                let ends_chunk = self.left == 0;
                return Ok(Piece { consumed: end, data: at..end, ends_chunk, done: false });
            }
            self.state = self.step(*byte, limits)?;
            if self.state == State::Done {
                return Ok(Piece { consumed: at + 1, data: 0..0, ends_chunk: false, done: true });
            }
        }
        Ok(Piece { consumed: bytes.len(), data: 0..0, ends_chunk: false, done: false })
    }

    /// The length of the body at the front of `bytes`; `None` if it is not complete.
    pub(super) fn whole_len(bytes: &[u8], limits: &Limits) -> Result<Option<usize>, PeerError> {
        let mut decoder = Self::default();
        let mut len = 0;
        while len < bytes.len() {
            let piece = decoder.next(&bytes[len..], limits)?;
            len += piece.consumed;
            if piece.done {
                return Ok(Some(len));
            }
        }
        Ok(None)
    }

    /// Joins the data of a complete body in place; [`Decoder::whole_len`] gave its length. A single chunk stays where
    /// it is.
    pub(super) fn join<'b>(bytes: &'b mut [u8], limits: &Limits) -> Result<&'b [u8], PeerError> {
        let mut decoder = Self::default();
        let mut body = 0..0;
        let mut read = 0;
        while read < bytes.len() {
            let piece = decoder.next(&bytes[read..], limits)?;
            let data = read + piece.data.start..read + piece.data.end;
            read += piece.consumed;
            if body.is_empty() {
                body = data;
            } else {
                let len = data.len();
                bytes.copy_within(data, body.end);
                body.end += len;
            }
        }
        Ok(&bytes[body])
    }

    /// The state after `byte`, for all states but [`State::Data`].
    fn step(&mut self, byte: u8, limits: &Limits) -> Result<State, PeerError> {
        let wrong = |part| Err(PeerError::Chunk { byte, part });
        Ok(match (self.state, byte) {
            (State::Size, _) => match hex(byte) {
                Some(digit) => self.first_digit(digit),
                None => return wrong(ChunkPart::Size),
            },
            (State::SizeMore { .. } | State::BeforeExtension, b'\r') => State::SizeEnd,
            (State::SizeMore { .. } | State::BeforeExtension, b';') => {
                self.extension(State::Extension, limits)?
            }
            (State::SizeMore { .. } | State::BeforeExtension, b' ' | b'\t') => {
                self.extension(State::BeforeExtension, limits)?
            }
            (State::SizeMore { digits }, _) => match hex(byte) {
                Some(digit) if digits < SIZE_DIGITS_MAX => self.further_digit(digit, digits),
                _ => return wrong(ChunkPart::Size),
            },
            (State::Extension, b'\r') => State::SizeEnd,
            (State::Extension, _) if is_text_byte(byte) => {
                self.extension(State::Extension, limits)?
            }
            (State::BeforeExtension | State::Extension, _) => return wrong(ChunkPart::Extension),
            (State::SizeEnd, b'\n') => self.begin_chunk(limits)?,
            (State::DataEnd, b'\r') => State::DataEndFeed,
            (State::DataEndFeed, b'\n') => State::Size,
            (State::TrailerStart, b'\r') => State::LastFeed,
            (State::TrailerStart | State::TrailerName, _) if is_token_byte(byte) => {
                self.trailer(State::TrailerName, limits)?
            }
            (State::TrailerName, b':') => self.trailer(State::TrailerValue, limits)?,
            (State::TrailerValue, b'\r') => self.trailer(State::TrailerEnd, limits)?,
            (State::TrailerValue, _) if is_text_byte(byte) => {
                self.trailer(State::TrailerValue, limits)?
            }
            (State::TrailerEnd, b'\n') => self.trailer(State::TrailerStart, limits)?,
            (State::LastFeed, b'\n') => State::Done,
            (State::TrailerStart | State::TrailerName | State::TrailerValue, _) => {
                return wrong(ChunkPart::Trailer);
            }
            (
                State::SizeEnd
                | State::DataEnd
                | State::DataEndFeed
                | State::TrailerEnd
                | State::LastFeed,
                _,
            )
            | (State::Data | State::Done, _) => return wrong(ChunkPart::End),
        })
    }

    fn first_digit(&mut self, digit: u64) -> State {
        self.left = digit;
        State::SizeMore { digits: 1 }
    }

    fn further_digit(&mut self, digit: u64, digits: u8) -> State {
        self.left = self.left << 4 | digit;
        State::SizeMore { digits: digits + 1 }
    }

    /// Begins a chunk whose size is complete: its data follows, or the trailers if it is the last chunk.
    fn begin_chunk(&mut self, limits: &Limits) -> Result<State, PeerError> {
        if self.left == 0 {
            return Ok(State::TrailerStart);
        }
        self.body_len = self.body_len.saturating_add(self.left);
        limits.check_body_len(self.body_len)?;
        Ok(State::Data)
    }

    /// Counts one more byte of an extension.
    fn extension(&mut self, next: State, limits: &Limits) -> Result<State, PeerError> {
        self.extensions_len = self.extensions_len.saturating_add(1);
        let max = limits.chunk_extensions_len_max;
        if self.extensions_len > max {
            Err(PeerError::ChunkExtensionsOverLimit { max })
        } else {
            Ok(next)
        }
    }

    /// Counts one more byte of the trailers.
    fn trailer(&mut self, next: State, limits: &Limits) -> Result<State, PeerError> {
        self.trailers_len = self.trailers_len.saturating_add(1);
        let max = limits.trailers_len_max;
        if self.trailers_len > max { Err(PeerError::TrailersOverLimit { max }) } else { Ok(next) }
    }
}

fn hex(byte: u8) -> Option<u64> {
    char::from(byte).to_digit(16).map(u64::from)
}

/// Hexadecimal digits that fill 64 bits.
const SIZE_DIGITS_MAX: u8 = 16;
