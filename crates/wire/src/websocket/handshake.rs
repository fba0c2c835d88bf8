//! The opening handshake of WebSocket (RFC 6455 §4), both roles: an HTTP/1.1 request to upgrade and its answer.
//!
//! Pass all bytes that have arrived so far to [`ClientHandshake::read`] or [`ServerHandshake::read`] until it returns
//! how many of them the handshake took; the frames follow those.
//!
//! Left out: extensions other than permessage-deflate, none of which is offered or accepted; redirects, cookies and
//! authentication, which are reported but not handled.

use super::deflate::{self, Agreed, EXTENSION, Parameters};
use super::extensions;
use crate::excerpt::Excerpt;
use crate::http1::RetryAfter;
use crate::http1::grammar::is_token;
use crate::http1::head::{self, HeadError, HeadLimits, RequestHead, ResponseHead};
use crate::http1::request::{InvalidRequest, check_fields, check_host, check_target};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use httparse::Header;
use sha1::{Digest, Sha1};
use std::sync::Arc;
use units::Random;

/// The request of a client; shared by all connections that ask for the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The value of the `Host` field.
    pub host: String,
    /// The path and query, e.g. `/echo?size=1`.
    pub target: String,
    /// The subprotocols to offer, the best first.
    pub subprotocols: Vec<String>,
    /// Further fields.
    pub headers: Vec<(String, String)>,
    /// The compression to offer. A server that does not agree to it is an error.
    pub deflate: Option<deflate::Offer>,
}

impl Request {
    /// Checks that the request can be written as HTTP.
    ///
    /// # Errors
    ///
    /// A part of it has characters that HTTP does not allow there, or a field is one that the handshake writes itself.
    pub fn check(&self) -> Result<(), InvalidRequest> {
        check_host(&self.host)?;
        check_target(&self.target)?;
        check_fields(&self.headers, &RESERVED)?;
        self.deflate.as_ref().map_or(Ok(()), deflate::Offer::check)?;
        match self.subprotocols.iter().find(|name| !is_token(name)) {
            Some(name) => Err(InvalidRequest::Subprotocol(name.clone())),
            None => Ok(()),
        }
    }
}

/// The options that a server agrees to; shared by all its connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerOptions {
    /// The subprotocols that it speaks; it chooses the first one that the client offers and that is among them.
    pub subprotocols: Vec<String>,
    /// The compression that it agrees to; it accepts the first offer that it can agree to.
    pub deflate: Option<deflate::Accept>,
}

/// A completed handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The length of the handshake in bytes; frames follow.
    pub head_len: usize,
    /// The subprotocol that both agreed on.
    pub subprotocol: Option<String>,
    /// The compression that both agreed on.
    pub deflate: Option<Agreed>,
}

/// The client's side: asks, and checks the answer (RFC 6455 §4.1).
#[derive(Clone, Debug)]
pub struct ClientHandshake {
    request: Arc<Request>,
    seed: u64,
}

impl ClientHandshake {
    /// A handshake whose key is made from `seed`; no two connections should share one.
    pub fn new(request: Arc<Request>, seed: u64) -> Self {
        Self { request, seed }
    }

    /// Appends the request to `tx`.
    pub fn write(&self, tx: &mut Vec<u8>) {
        let request = &*self.request;
        append(tx, &["GET ", &request.target, " HTTP/1.1\r\nHost: ", &request.host]);
        append(tx, &["\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: "]);
        tx.extend_from_slice(&key(self.seed));
        append(tx, &["\r\nSec-WebSocket-Version: 13\r\n"]);
        for (index, name) in request.subprotocols.iter().enumerate() {
            append(tx, &[if index == 0 { "Sec-WebSocket-Protocol: " } else { ", " }, name]);
        }
        if !request.subprotocols.is_empty() {
            append(tx, &["\r\n"]);
        }
        if let Some(offer) = &request.deflate {
            append_deflate(tx, &Parameters::from(offer));
            append(tx, &["\r\n"]);
        }
        for (name, value) in &request.headers {
            append(tx, &[name, ": ", value, "\r\n"]);
        }
        append(tx, &["\r\n"]);
    }

    /// Reads the answer from `bytes`, all that have arrived so far; `None` if it is not complete.
    ///
    /// # Errors
    ///
    /// The answer is not what RFC 6455 §4.1 asks for; [`HandshakeError::Status`] if it is an ordinary HTTP response.
    pub fn read(&mut self, bytes: &[u8]) -> Result<Option<Accepted>, HandshakeError> {
        let mut head_len = 0;
        loop {
            let mut slots = head::slots();
            let Some(head) = head::response(&bytes[head_len..], &mut slots, HEAD_LIMITS)? else {
                return Ok(None);
            };
            head_len += head.len;
            // Interim responses may precede the final one (RFC 9110 §15.2).
            if head.status == 101 || !(100..200).contains(&head.status) {
                let (deflate, subprotocol) = self.check(&head)?;
                return Ok(Some(Accepted { head_len, subprotocol, deflate }));
            }
        }
    }

    /// The error for a connection that ends after `bytes`, inside the handshake.
    pub fn cut_off(&self, bytes: &[u8]) -> HandshakeError {
        head::cut_off_response(bytes).into()
    }

    /// The steps of RFC 6455 §4.1, from "Once the client's opening handshake has been sent".
    fn check(
        &self,
        head: &ResponseHead<'_, '_>,
    ) -> Result<(Option<Agreed>, Option<String>), HandshakeError> {
        let headers = head.headers;
        if head.status != 101 {
            let location = values(headers, "location").next().map(Excerpt::new);
            let retry_after = RetryAfter::of(headers);
            return Err(HandshakeError::Status { code: head.status, location, retry_after });
        }
        if head.minor_version == 0 {
            return Err(HandshakeError::HttpVersion);
        }
        let mut upgrades = values(headers, "upgrade").flat_map(head::members).peekable();
        if upgrades.peek().is_none()
            || !upgrades.all(|name| name.eq_ignore_ascii_case(b"websocket"))
        {
            return Err(HandshakeError::Upgrade);
        }
        check_connection(headers)?;
        let accept = only(headers, "sec-websocket-accept")?;
        if head::trim(accept) != accept_of(&key(self.seed)) {
            return Err(HandshakeError::Accept { value: Excerpt::new(accept) });
        }
        let deflate = self.check_extensions(headers)?;
        let Some(chosen) = at_most_one(headers, "sec-websocket-protocol")? else {
            return Ok((deflate, None));
        };
        match self.request.subprotocols.iter().find(|name| name.as_bytes() == chosen) {
            Some(name) => Ok((deflate, Some(name.clone()))),
            None => Err(HandshakeError::Subprotocol { value: Excerpt::new(chosen) }),
        }
    }

    /// The extensions that the server uses: permessage-deflate if it was offered, and no other.
    fn check_extensions(&self, headers: &[Header<'_>]) -> Result<Option<Agreed>, HandshakeError> {
        let mut agreed = None;
        for value in values(headers, "sec-websocket-extensions") {
            for extension in read_extensions(value)? {
                let Some(offer) = self
                    .request
                    .deflate
                    .as_ref()
                    .filter(|_| extension.name == EXTENSION.as_bytes())
                else {
                    return Err(HandshakeError::Extension { value: Excerpt::new(extension.text) });
                };
                let answer = Parameters::read(extension.pairs());
                let answer = answer.map_err(deflate::AnswerError::from)?;
                if agreed.replace(offer.agree(&answer)?).is_some() {
                    return Err(deflate::AnswerError::Twice.into());
                }
            }
        }
        if agreed.is_none() && self.request.deflate.is_some() {
            return Err(HandshakeError::DeflateDeclined);
        }
        Ok(agreed)
    }
}

/// The server's side: checks the request and answers it (RFC 6455 §4.2).
#[derive(Clone, Debug)]
pub struct ServerHandshake {
    options: Arc<ServerOptions>,
}

impl ServerHandshake {
    /// A handshake with these options.
    pub fn new(options: Arc<ServerOptions>) -> Self {
        Self { options }
    }

    /// Reads the request from `bytes`, all that have arrived so far, and appends the answer to `tx`; `None` if the
    /// request is not complete.
    ///
    /// # Errors
    ///
    /// The request is not what RFC 6455 §4.2.1 asks for. A refusal (400, 426, 431) is in `tx`.
    pub fn read(
        &mut self,
        bytes: &[u8],
        tx: &mut Vec<u8>,
    ) -> Result<Option<Accepted>, HandshakeError> {
        self.answer(bytes, tx)
            .inspect_err(|error| append(tx, &["HTTP/1.1 ", error.refusal(), REFUSAL_END]))
    }

    /// The error for a connection that ends after `bytes`, inside the handshake.
    pub fn cut_off(&self, bytes: &[u8]) -> HandshakeError {
        HeadError::CutOff { len: bytes.len() }.into()
    }

    fn answer(&self, bytes: &[u8], tx: &mut Vec<u8>) -> Result<Option<Accepted>, HandshakeError> {
        let mut slots = head::slots();
        let Some(head) = head::request(bytes, &mut slots, HEAD_LIMITS)? else { return Ok(None) };
        let key = check_request(&head)?;
        // The order of the client's list is its preference.
        let subprotocol =
            values(head.headers, "sec-websocket-protocol").flat_map(head::members).find_map(
                |offer| self.options.subprotocols.iter().find(|name| name.as_bytes() == offer),
            );
        let deflate = self.choose_deflate(head.headers)?;
        append(
            tx,
            &["HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"],
        );
        append(tx, &["Sec-WebSocket-Accept: "]);
        tx.extend_from_slice(&accept_of(key));
        if let Some(name) = subprotocol {
            append(tx, &["\r\nSec-WebSocket-Protocol: ", name]);
        }
        append(tx, &["\r\n"]);
        if let Some((answer, _)) = &deflate {
            append_deflate(tx, answer);
            append(tx, &["\r\n"]);
        }
        append(tx, &["\r\n"]);
        Ok(Some(Accepted {
            head_len: head.len,
            subprotocol: subprotocol.cloned(),
            deflate: deflate.map(|(_, agreed)| agreed),
        }))
    }

    /// Our answer to the first offer that we can agree to, and the parameters that follow from it. An offer that makes
    /// no sense is declined (RFC 7692 §7.1); a list that breaks its grammar is an error.
    fn choose_deflate(
        &self,
        headers: &[Header<'_>],
    ) -> Result<Option<(Parameters, Agreed)>, HandshakeError> {
        let mut chosen = None;
        for value in values(headers, "sec-websocket-extensions") {
            for extension in read_extensions(value)? {
                if chosen.is_none() && extension.name == EXTENSION.as_bytes() {
                    let offer = Parameters::read(extension.pairs()).ok();
                    let accept = self.options.deflate.as_ref();
                    chosen = accept.zip(offer).and_then(|(accept, offer)| accept.answer(&offer));
                }
            }
        }
        Ok(chosen)
    }
}

/// Checks the list of RFC 6455 §4.2.1, and returns the key.
fn check_request<'b>(head: &RequestHead<'_, 'b>) -> Result<&'b [u8], HandshakeError> {
    let headers = head.headers;
    if head.method != "GET" {
        return Err(HandshakeError::Method { value: Excerpt::new(head.method.as_bytes()) });
    }
    if head.minor_version == 0 {
        return Err(HandshakeError::HttpVersion);
    }
    if !["/", "http://", "https://"].iter().any(|start| head.target.starts_with(start)) {
        return Err(HandshakeError::Target { value: Excerpt::new(head.target.as_bytes()) });
    }
    only(headers, "host")?;
    if !values(headers, "upgrade").any(|value| head::has_member(value, "websocket")) {
        return Err(HandshakeError::Upgrade);
    }
    check_connection(headers)?;
    let key = only(headers, "sec-websocket-key")?;
    if !STANDARD.decode_slice(key, &mut [0; 18]).is_ok_and(|len| len == 16) {
        return Err(HandshakeError::Key { value: Excerpt::new(key) });
    }
    match at_most_one(headers, "sec-websocket-version")?.unwrap_or_default() {
        b"13" => Ok(key),
        value => Err(HandshakeError::Version { value: Excerpt::new(value) }),
    }
}

fn check_connection(headers: &[Header<'_>]) -> Result<(), HandshakeError> {
    if values(headers, "connection").any(|value| head::has_member(value, "upgrade")) {
        Ok(())
    } else {
        Err(HandshakeError::Connection)
    }
}

fn read_extensions(value: &[u8]) -> Result<Vec<extensions::Extension<'_>>, HandshakeError> {
    extensions::read(value).ok_or_else(|| HandshakeError::Extensions { value: Excerpt::new(value) })
}

/// The values of all fields called `name`, which is in lower case.
fn values<'h, 'b>(
    headers: &'h [Header<'b>],
    name: &'static str,
) -> impl Iterator<Item = &'b [u8]> + use<'h, 'b> {
    headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case(name))
        .map(|header| header.value)
}

fn at_most_one<'b>(
    headers: &[Header<'b>],
    name: &'static str,
) -> Result<Option<&'b [u8]>, HandshakeError> {
    let mut values = values(headers, name);
    let first = values.next();
    if values.next().is_some() { Err(HandshakeError::Duplicate { name }) } else { Ok(first) }
}

fn only<'b>(headers: &[Header<'b>], name: &'static str) -> Result<&'b [u8], HandshakeError> {
    at_most_one(headers, name)?.ok_or(HandshakeError::Missing { name })
}

/// The key that a client with `seed` sends: 16 random bytes in base64.
fn key(seed: u64) -> [u8; 24] {
    let mut nonce = [0; 16];
    Random::new(seed).fill(&mut nonce);
    let mut key = [0; 24];
    STANDARD.encode_slice(nonce, &mut key).expect("16 bytes are 24 characters of base64");
    key
}

/// The answer that proves that the server read `key` as WebSocket (RFC 6455 §4.2.2, step 5.4).
fn accept_of(key: &[u8]) -> [u8; 28] {
    let hash = Sha1::new().chain_update(key).chain_update(GUID).finalize();
    let mut accept = [0; 28];
    STANDARD.encode_slice(hash, &mut accept).expect("20 bytes are 28 characters of base64");
    accept
}

/// The field that offers, or accepts, permessage-deflate with `parameters`.
fn append_deflate(tx: &mut Vec<u8>, parameters: &Parameters) {
    append(tx, &["Sec-WebSocket-Extensions: ", EXTENSION]);
    for parameter in parameters.written() {
        append(tx, &["; ", &parameter]);
    }
}

fn append(tx: &mut Vec<u8>, parts: &[&str]) {
    for part in parts {
        tx.extend_from_slice(part.as_bytes());
    }
}

/// The reasons why an opening handshake failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The server's answer is for another key, or the server does not know WebSocket.
    #[error("Sec-WebSocket-Accept is {value}, which does not answer our key")]
    Accept {
        /// The value that was sent.
        value: Excerpt,
    },
    /// The `Connection` field does not say `Upgrade`.
    #[error("the Connection field does not say Upgrade")]
    Connection,
    /// The server's answer to permessage-deflate does not fit our offer.
    #[error("the server's answer to permessage-deflate: {0}")]
    DeflateAnswer(#[from] deflate::AnswerError),
    /// The server does not agree to permessage-deflate, which was offered.
    #[error("the server does not agree to permessage-deflate, which was offered (RFC 7692 §5)")]
    DeflateDeclined,
    /// A field that may occur once occurs more than once.
    #[error("more than one field {name}")]
    Duplicate {
        /// The field.
        name: &'static str,
    },
    /// The server uses an extension that was not offered.
    #[error("the server uses the extension {value}, which was not asked for")]
    Extension {
        /// The extension.
        value: Excerpt,
    },
    /// The list of extensions breaks its grammar.
    #[error("Sec-WebSocket-Extensions is {value}, not a list of extensions (RFC 6455 §9.1)")]
    Extensions {
        /// The list.
        value: Excerpt,
    },
    /// The bytes are not an HTTP head.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// The request or the answer is not HTTP/1.1.
    #[error("the handshake is HTTP/1.0, and a WebSocket needs HTTP/1.1")]
    HttpVersion,
    /// The key is not the base64 of 16 bytes.
    #[error("Sec-WebSocket-Key is {value}, not 16 bytes in base64")]
    Key {
        /// The value that the client sent.
        value: Excerpt,
    },
    /// The request is not a `GET`.
    #[error("the method is {value}, not GET")]
    Method {
        /// The value.
        value: Excerpt,
    },
    /// A required field is missing.
    #[error("no field {name}")]
    Missing {
        /// The field.
        name: &'static str,
    },
    /// The server gave an ordinary answer instead of an upgrade.
    #[error(
        "status {code} instead of an upgrade: {}{}{}",
        meaning(*code),
        see(location.as_ref()),
        later(*retry_after)
    )]
    Status {
        /// The status.
        code: u16,
        /// The location that it points to, if it names one.
        location: Option<Excerpt>,
        /// The time at which it wants a retry.
        retry_after: Option<RetryAfter>,
    },
    /// The server chose a subprotocol that was not offered.
    #[error("the server chose the subprotocol {value}, which was not offered")]
    Subprotocol {
        /// The chosen protocol.
        value: Excerpt,
    },
    /// The target of the request is neither a path nor a URL.
    #[error("the target is {value}, not a path")]
    Target {
        /// The value.
        value: Excerpt,
    },
    /// The `Upgrade` field does not say `websocket`.
    #[error("the Upgrade field does not say websocket")]
    Upgrade,
    /// The client speaks another version of WebSocket.
    #[error("Sec-WebSocket-Version is {value}, not \"13\"")]
    Version {
        /// The version that it asks for; empty if it names none.
        value: Excerpt,
    },
}

impl HandshakeError {
    /// The status line and the fields of the server's refusal.
    fn refusal(&self) -> &'static str {
        match self {
            Self::Head(HeadError::OverLimit { .. } | HeadError::TooManyHeaders { .. }) => {
                "431 Request Header Fields Too Large"
            }
            Self::Version { .. } => VERSION_REFUSAL,
            Self::Accept { .. }
            | Self::Connection
            | Self::DeflateAnswer(_)
            | Self::DeflateDeclined
            | Self::Duplicate { .. }
            | Self::Extension { .. }
            | Self::Extensions { .. }
            | Self::Head(_)
            | Self::HttpVersion
            | Self::Key { .. }
            | Self::Method { .. }
            | Self::Missing { .. }
            | Self::Status { .. }
            | Self::Subprotocol { .. }
            | Self::Target { .. }
            | Self::Upgrade => "400 Bad Request",
        }
    }
}

/// The meaning of a status for an upgrade, in a few words.
fn meaning(code: u16) -> &'static str {
    match code {
        200..=299 => "an ordinary page, not a WebSocket",
        300..=399 => "it has moved",
        401 | 407 => "a login is needed",
        403 => "access is denied",
        404 | 410 => "not found",
        426 => "another version or protocol is required",
        429 => "too many requests",
        400..=499 => "the server does not accept the request",
        500..=599 => "the server failed",
        _ => "no answer to an upgrade",
    }
}

fn see(location: Option<&Excerpt>) -> String {
    location.map(|location| format!(", see {location}")).unwrap_or_default()
}

fn later(retry_after: Option<RetryAfter>) -> String {
    retry_after.map_or_else(String::new, |after| format!(", {after}"))
}

/// The refusal that names the right version (RFC 6455 §4.4).
const VERSION_REFUSAL: &str = "426 Upgrade Required\r\nSec-WebSocket-Version: 13\r\n\
    Upgrade: websocket\r\nConnection: Upgrade";

/// The end of every refusal, after its fields.
const REFUSAL_END: &str = "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// Appended to the key before it is hashed (RFC 6455 §1.3).
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Limits of the heads of both sides: [`HEAD_LEN_MAX`] and the most field lines that can be read.
const HEAD_LIMITS: HeadLimits =
    HeadLimits { head_len_max: HEAD_LEN_MAX, headers_max: head::HEADERS_MAX };

/// The longest request and the longest answer in bytes.
pub const HEAD_LEN_MAX: usize = 16 << 10;

/// Fields that the handshake writes itself.
const RESERVED: [&str; 10] = [
    "connection",
    "content-length",
    "host",
    "sec-websocket-accept",
    "sec-websocket-extensions",
    "sec-websocket-key",
    "sec-websocket-protocol",
    "sec-websocket-version",
    "transfer-encoding",
    "upgrade",
];

#[cfg(test)]
mod tests;
