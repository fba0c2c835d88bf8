//! Heads: the start line and the field lines of a message (RFC 9112 §2 to §5), for HTTP itself and for the opening
//! handshake of WebSocket.
//!
//! `httparse` reads them; this adds a check that it leaves out (bare line feeds), limits, and an error that shows what
//! is not HTTP at all. Start reading at [`request`] and [`response`].

use crate::excerpt::Excerpt;
use httparse::{Header, ParserConfig, Status};
use std::mem::MaybeUninit;

/// The limits of a head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeadLimits {
    /// The longest head in bytes, with the empty line that ends it.
    pub(crate) head_len_max: usize,
    /// The most field lines; more than [`HEADERS_MAX`] are never allowed.
    pub(crate) headers_max: usize,
}

/// Most field lines of any head, whatever the limits are: their slots are on the stack.
pub(crate) const HEADERS_MAX: usize = 128;

/// Memory for the field lines of one head.
pub(crate) type Slots<'b> = [MaybeUninit<Header<'b>>; HEADERS_MAX];

/// Memory for the field lines of one head.
pub(crate) const fn slots<'b>() -> Slots<'b> {
    [const { MaybeUninit::uninit() }; HEADERS_MAX]
}

/// The head of a request.
#[derive(Debug)]
pub(crate) struct RequestHead<'h, 'b> {
    pub(crate) headers: &'h [Header<'b>],
    /// Length in bytes, with the empty line that ends the head.
    pub(crate) len: usize,
    pub(crate) method: &'b str,
    /// The 0 or 1 of HTTP/1.0 or HTTP/1.1.
    pub(crate) minor_version: u8,
    pub(crate) target: &'b str,
}

/// The head of a response.
#[derive(Debug)]
pub(crate) struct ResponseHead<'h, 'b> {
    pub(crate) headers: &'h [Header<'b>],
    /// Length in bytes, with the empty line that ends the head.
    pub(crate) len: usize,
    /// The 0 or 1 of HTTP/1.0 or HTTP/1.1.
    pub(crate) minor_version: u8,
    pub(crate) status: u16,
}

/// Reads the head of a request from the front of `bytes`; `None` if it is not complete.
///
/// # Errors
///
/// It is malformed, or beyond the limits; found as soon as the bytes show it.
pub(crate) fn request<'h, 'b>(
    bytes: &'b [u8],
    slots: &'h mut Slots<'b>,
    limits: HeadLimits,
) -> Result<Option<RequestHead<'h, 'b>>, HeadError> {
    let bytes = &bytes[..bytes.len().min(limits.head_len_max)];
    let slots = &mut slots[..limits.headers_max.min(HEADERS_MAX)];
    let mut head = httparse::Request::new(&mut []);
    match ParserConfig::default().parse_request_with_uninit_headers(&mut head, bytes, slots) {
        Ok(Status::Complete(len)) => {
            check_line_ends(&bytes[..len])?;
            Ok(Some(RequestHead {
                headers: head.headers,
                len,
                method: head.method.unwrap_or_default(),
                minor_version: head.version.unwrap_or_default(),
                target: head.path.unwrap_or_default(),
            }))
        }
        Ok(Status::Partial) => limits.unfinished(bytes),
        Err(httparse::Error::Version) if !names_other_version(bytes) => {
            Err(HeadError::Syntax(httparse::Error::Token))
        }
        Err(error) => Err(limits.broken(error)),
    }
}

/// Reads the head of a response from the front of `bytes`; `None` if it is not complete.
///
/// # Errors
///
/// It is malformed, beyond the limits, or not HTTP at all; found as soon as the bytes show it.
pub(crate) fn response<'h, 'b>(
    bytes: &'b [u8],
    slots: &'h mut Slots<'b>,
    limits: HeadLimits,
) -> Result<Option<ResponseHead<'h, 'b>>, HeadError> {
    let bytes = &bytes[..bytes.len().min(limits.head_len_max)];
    match looks_like_response(bytes) {
        Look::Http => {}
        Look::NotYetClear => return limits.unfinished(bytes),
        Look::Other(start) => return Err(HeadError::NotHttp { start: Excerpt::new(start) }),
    }
    let slots = &mut slots[..limits.headers_max.min(HEADERS_MAX)];
    let mut head = httparse::Response::new(&mut []);
    match ParserConfig::default().parse_response_with_uninit_headers(&mut head, bytes, slots) {
        Ok(Status::Complete(len)) => {
            check_line_ends(&bytes[..len])?;
            Ok(Some(ResponseHead {
                headers: head.headers,
                len,
                minor_version: head.version.unwrap_or_default(),
                status: head.code.unwrap_or_default(),
            }))
        }
        Ok(Status::Partial) => limits.unfinished(bytes),
        Err(error) => Err(limits.broken(error)),
    }
}

/// The error for a response that ended after `bytes`, inside its head.
pub(crate) fn cut_off_response(bytes: &[u8]) -> HeadError {
    let start = without_empty_lines(bytes);
    if start.iter().zip(HTTP).all(|(byte, expected)| byte == expected) {
        HeadError::CutOff { len: bytes.len() }
    } else {
        HeadError::NotHttp { start: Excerpt::new(line(start)) }
    }
}

/// The members of a comma-separated list (RFC 9110 §5.6.1) of tokens, without the empty ones.
pub(crate) fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(trim).filter(|member| !member.is_empty())
}

/// True if the comma-separated list `value` has the member `token`, in upper or lower case.
pub(crate) fn has_member(value: &[u8], token: &str) -> bool {
    members(value).any(|member| member.eq_ignore_ascii_case(token.as_bytes()))
}

/// `value` without the spaces and tabs around it.
pub(crate) fn trim(value: &[u8]) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = value.iter().position(|byte| !blank(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    &value[start..end]
}

/// `bytes` without the line ends at their front, which may precede a head (RFC 9112 §2.2).
pub(crate) fn without_empty_lines(bytes: &[u8]) -> &[u8] {
    let blank = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    &bytes[blank..]
}

/// The reasons why some bytes are not a head of HTTP/1.1.
///
/// Running out of bytes is not an error: the reader waits for more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeadError {
    /// A line of the head ends in a line feed alone (RFC 9112 §2.2): two readers may disagree about it.
    #[error("a line of the head ends with a bare line feed")]
    BareLineFeed,
    /// The connection ended inside a head.
    #[error("the connection ended {len} bytes into a head")]
    CutOff {
        /// The bytes of the head that arrived.
        len: usize,
    },
    /// The peer speaks another protocol.
    #[error("the peer does not speak HTTP, it sent {start}")]
    NotHttp {
        /// The beginning of the head.
        start: Excerpt,
    },
    /// The head does not end within the limit.
    #[error("head of more than {max} bytes")]
    OverLimit {
        /// The limit in bytes.
        max: usize,
    },
    /// A byte occurs where the grammar does not allow it.
    #[error("malformed head: {0}")]
    Syntax(httparse::Error),
    /// There are more field lines than the limit.
    #[error("head of more than {max} field lines")]
    TooManyHeaders {
        /// The limit.
        max: usize,
    },
    /// The version is not HTTP/1.0 or HTTP/1.1.
    #[error("unsupported version of HTTP")]
    Version,
}

impl HeadLimits {
    /// The result for `bytes` that are all within the limit and do not end the head.
    fn unfinished<T>(self, bytes: &[u8]) -> Result<Option<T>, HeadError> {
        let max = self.head_len_max;
        if bytes.len() < max { Ok(None) } else { Err(HeadError::OverLimit { max }) }
    }

    fn broken(self, error: httparse::Error) -> HeadError {
        match error {
            httparse::Error::TooManyHeaders => {
                HeadError::TooManyHeaders { max: self.headers_max.min(HEADERS_MAX) }
            }
            httparse::Error::Version => HeadError::Version,
            httparse::Error::HeaderName
            | httparse::Error::HeaderValue
            | httparse::Error::NewLine
            | httparse::Error::Status
            | httparse::Error::Token => HeadError::Syntax(error),
        }
    }
}

/// The result of looking for the beginning of a response.
enum Look<'b> {
    Http,
    NotYetClear,
    /// It is not HTTP; these are its first bytes.
    Other(&'b [u8]),
}

/// Looks for the beginning of a response. Says no only after a line or [`GARBAGE_LEN`] bytes, so that an error can show
/// what the peer speaks, and shows the same however the bytes are split.
fn looks_like_response(bytes: &[u8]) -> Look<'_> {
    if bytes.starts_with(HTTP) {
        return Look::Http;
    }
    let start = without_empty_lines(bytes);
    if start.starts_with(HTTP) {
        return Look::Http;
    }
    let start = &start[..start.len().min(GARBAGE_LEN)];
    let line = line(start);
    let ended = line.len() < start.len() || start.len() == GARBAGE_LEN;
    if ended { Look::Other(line) } else { Look::NotYetClear }
}

/// The first line of `bytes`, without its end.
fn line(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(bytes.len());
    &bytes[..end]
}

/// True if a request whose version is not supported names a version at all: `HTTP/` and a digit.
fn names_other_version(bytes: &[u8]) -> bool {
    let version = bytes.splitn(3, |byte| *byte == b' ').nth(2).unwrap_or_default();
    version.strip_prefix(HTTP).is_some_and(|number| number.first().is_some_and(u8::is_ascii_digit))
}

/// Refuses line feeds without a carriage return before them, which `httparse` accepts as line ends.
#[inline]
fn check_line_ends(head: &[u8]) -> Result<(), HeadError> {
    // No branch in the loop, so that it compiles to vector instructions.
    let bare = head
        .iter()
        .zip(head.iter().skip(1))
        .fold(head.first() == Some(&b'\n'), |bare, (before, byte)| {
            bare | ((*byte == b'\n') & (*before != b'\r'))
        });
    if bare { Err(HeadError::BareLineFeed) } else { Ok(()) }
}

const HTTP: &[u8] = b"HTTP/";

/// Number of bytes without a line end after which a peer is known not to speak HTTP; enough to show what it speaks.
const GARBAGE_LEN: usize = 32;
