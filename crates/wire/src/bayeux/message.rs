//! The messages of Bayeux: reading a batch of them, and writing one.
//!
//! A batch is the body of a request or of a response: a JSON array of objects. Every object is an [`Envelope`]; its
//! properties depend on its channel and its sender. Texts without escapes borrow from the batch, and `data` and `ext`
//! remain raw JSON.
//!
//! Left out: what the messages mean.

use serde::de::{self, Deserializer, IgnoredAny, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// The channel of the handshake, which begins a session.
pub const HANDSHAKE: &str = "/meta/handshake";
/// The channel on which a client asks for news.
pub const CONNECT: &str = "/meta/connect";
/// The channel of the end of a session.
pub const DISCONNECT: &str = "/meta/disconnect";
/// The channel for subscribing to channels.
pub const SUBSCRIBE: &str = "/meta/subscribe";
/// The channel for ending subscriptions.
pub const UNSUBSCRIBE: &str = "/meta/unsubscribe";
/// The only channel for packets of the game, both ways.
pub const SERVICE: &str = "/service/client";
/// The only transport that is supported.
pub const LONG_POLLING: &str = "long-polling";

/// Any message of Bayeux. Absent properties are not written.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope<'a> {
    /// The channel that the message belongs to.
    #[serde(borrow)]
    pub channel: Text<'a>,
    /// An id that the requester chooses and the answer repeats.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Text<'a>>,
    /// The session, from the answer to the handshake on.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<Text<'a>>,
    /// In an answer: true if the request was granted. A message without it is an event or a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successful: Option<bool>,
    /// The reason for a refusal, as `code:arguments:text`.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Text<'a>>,
    /// In a handshake: the version of Bayeux.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Text<'a>>,
    /// In a handshake: the oldest version that the sender accepts.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub minimum_version: Option<Text<'a>>,
    /// In a handshake: the transports that the sender supports.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub supported_connection_types: Option<Vec<Text<'a>>>,
    /// In a connect: the transport of the client.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub connection_type: Option<Text<'a>>,
    /// In a subscribe or an unsubscribe: the channels.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub subscription: Option<Channels<'a>>,
    /// In a publish or a delivery: the content.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub data: Option<&'a RawValue>,
    /// The data of extensions.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub ext: Option<&'a RawValue>,
    /// The advice of the server on what to do next; in a connect, the client's wishes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
}

/// Advice on what a client should do next. A field that is absent keeps its last value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Advice {
    /// The step that the client is to take next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconnect: Option<Reconnect>,
    /// Time to wait before the next connect, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<i64>,
    /// Time for which a connect is held, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
}

/// The ways in which a client can continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reconnect {
    /// Starts with a new handshake: the session is gone.
    Handshake,
    /// Does not reconnect.
    None,
    /// Continues with the next connect.
    Retry,
}

/// A text that borrows from its batch if it has no escapes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Text<'a>(pub Cow<'a, str>);

/// One channel, or several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Channels<'a>(pub Vec<Text<'a>>);

/// The limits of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest number of messages.
    pub messages_max: usize,
}

impl Default for Limits {
    /// 4096 messages.
    fn default() -> Self {
        Self { messages_max: 4096 }
    }
}

/// Reads a batch: an array of messages, or a message alone. Unknown properties are skipped.
///
/// # Errors
///
/// It is not JSON, a message has no channel or a property of a wrong type, or there are too many.
pub fn read<'a>(batch: &'a [u8], limits: &Limits) -> Result<Vec<Envelope<'a>>, ReadError> {
    if batch.trim_ascii_start().first() == Some(&b'{') {
        return Ok(vec![serde_json::from_slice(batch).map_err(|error| ReadError::new(&error))?]);
    }
    let mut deserializer = serde_json::Deserializer::from_slice(batch);
    let read = deserializer
        .deserialize_seq(Batch { messages_max: limits.messages_max })
        .and_then(|read| deserializer.end().map(|()| read));
    let (envelopes, count) = read.map_err(|error| ReadError::new(&error))?;
    if count > limits.messages_max {
        return Err(ReadError::TooMany { count, max: limits.messages_max });
    }
    Ok(envelopes)
}

/// The reasons why a body is not a batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is not JSON, or not the JSON of messages.
    #[error("{reason}")]
    Json {
        /// The fault and its place.
        reason: Box<str>,
    },
    /// There are more messages than [`Limits::messages_max`].
    #[error("{count} messages in a batch, limit is {max}")]
    TooMany {
        /// The number of messages.
        count: usize,
        /// The limit.
        max: usize,
    },
}

impl ReadError {
    fn new(error: &serde_json::Error) -> Self {
        Self::Json { reason: error.to_string().into() }
    }
}

/// Writes a batch: opens it, takes messages, closes it.
#[derive(Debug)]
pub struct Writer<'o> {
    is_empty: bool,
    out: &'o mut Vec<u8>,
}

impl<'o> Writer<'o> {
    /// Begins a batch at the end of `out`.
    pub fn new(out: &'o mut Vec<u8>) -> Self {
        out.push(b'[');
        Self { is_empty: true, out }
    }

    /// Adds a message.
    pub fn push(&mut self, message: &Envelope<'_>) {
        self.separate();
        append(message, self.out);
    }

    /// Adds a delivery of `data`, which must be JSON and is written verbatim.
    pub fn deliver(&mut self, data: &[u8]) {
        self.separate();
        self.out.extend_from_slice(br#"{"channel":"/service/client","data":"#);
        self.out.extend_from_slice(data);
        self.out.push(b'}');
    }

    /// Ends the batch.
    pub fn finish(self) {
        self.out.push(b']');
    }

    fn separate(&mut self) {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push(b',');
        }
    }
}

/// Appends one message to `out`.
pub(super) fn append(message: &Envelope<'_>, out: &mut Vec<u8>) {
    serde_json::to_writer(out, message)
        .expect("a vector takes everything, and no key is not a text");
}

impl<'a> Text<'a> {
    /// The same text with memory of its own.
    pub fn into_owned(self) -> Text<'static> {
        Text(Cow::Owned(self.0.into_owned()))
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor).map(Self)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Channels<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ChannelsVisitor).map(Self)
    }
}

impl Serialize for Channels<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [channel] => channel.serialize(serializer),
            channels => channels.serialize(serializer),
        }
    }
}

struct ChannelsVisitor;

impl<'de> Visitor<'de> for ChannelsVisitor {
    type Value = Vec<Text<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a channel or an array of channels")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(vec![text.into()])
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(vec![text.to_owned().into()])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut channels: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(channel) = channels.next_element()? {
            all.push(channel);
        }
        Ok(all)
    }
}

impl<'de> Deserialize<'de> for Reconnect {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Text::deserialize(deserializer)?;
        match &*text {
            "handshake" => Ok(Self::Handshake),
            "none" => Ok(Self::None),
            "retry" => Ok(Self::Retry),
            other => Err(de::Error::invalid_value(
                Unexpected::Str(other),
                &"\"retry\", \"handshake\" or \"none\"",
            )),
        }
    }
}

/// Takes as many messages as are allowed, and counts the rest.
struct Batch {
    messages_max: usize,
}

impl<'de> Visitor<'de> for Batch {
    type Value = (Vec<Envelope<'de>>, usize);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut batch: A) -> Result<Self::Value, A::Error> {
        let mut envelopes = Vec::new();
        while envelopes.len() < self.messages_max {
            match batch.next_element()? {
                Some(envelope) => envelopes.push(envelope),
                None => break,
            }
        }
        let mut count = envelopes.len();
        while let Some(IgnoredAny) = batch.next_element()? {
            count += 1;
        }
        Ok((envelopes, count))
    }
}

impl fmt::Display for Reconnect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Handshake => "handshake",
            Self::None => "none",
            Self::Retry => "retry",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_captured_exchange_is_read() {
        let request = br#"[{"channel":"/meta/handshake","version":"1.0","minimumVersion":"1.0",
            "supportedConnectionTypes":["long-polling"],"ext":{"handshakeSignature":666},"id":"1"}]"#;
        let [handshake] = &read(request, &Limits::default()).unwrap()[..] else { panic!() };
        assert_eq!(&*handshake.channel, HANDSHAKE);
        assert_eq!(handshake.version.as_deref(), Some("1.0"));
        assert_eq!(handshake.minimum_version.as_deref(), Some("1.0"));
        assert_eq!(handshake.supported_connection_types, Some(vec![LONG_POLLING.into()]));
        assert_eq!(handshake.ext.unwrap().get(), r#"{"handshakeSignature":666}"#);
        assert_eq!(handshake.id.as_deref(), Some("1"));
        assert_eq!(handshake.successful, None);

        let response =
            br#"[{"id":"1","channel":"/meta/handshake","successful":true,"clientId":"28a3",
            "version":"1.0","supportedConnectionTypes":["long-polling"],
            "advice":{"reconnect":"retry","timeout":5000,"interval":0}}]"#;
        let [answer] = &read(response, &Limits::default()).unwrap()[..] else { panic!() };
        assert_eq!((answer.successful, answer.client_id.as_deref()), (Some(true), Some("28a3")));
        let advice =
            Advice { reconnect: Some(Reconnect::Retry), interval: Some(0), timeout: Some(5000) };
        assert_eq!(answer.advice, Some(advice));

        let response = br#"[{"channel":"/service/client","data":{"classId":7,"id":5}},
            {"id":"4","channel":"/service/client","successful":true}]"#;
        let [delivery, published] = &read(response, &Limits::default()).unwrap()[..] else {
            panic!()
        };
        assert_eq!(delivery.data.unwrap().get(), r#"{"classId":7,"id":5}"#);
        assert_eq!((published.data.is_none(), published.successful), (true, Some(true)));
    }

    #[test]
    fn what_is_written_is_read_back() {
        let data = serde_json::from_str(r#"{"a": 1}"#).unwrap();
        let message = Envelope {
            channel: "/x\"\u{1b}".into(),
            id: Some("7".into()),
            successful: Some(false),
            subscription: Some(Channels(vec!["/a".into(), "/b".into()])),
            data: Some(data),
            advice: Some(Advice { reconnect: Some(Reconnect::None), ..Advice::default() }),
            ..Envelope::default()
        };
        let mut out = Vec::new();
        let mut batch = Writer::new(&mut out);
        batch.push(&message);
        batch.deliver(br#"{"classId":7}"#);
        batch.finish();
        let expected = concat!(
            r#"[{"channel":"/x\"\u001b","id":"7","successful":false,"subscription":["/a","/b"],"data":{"a": 1},"#,
            r#""advice":{"reconnect":"none"}},{"channel":"/service/client","data":{"classId":7}}]"#,
        );
        assert_eq!(str::from_utf8(&out), Ok(expected));
        let read = read(&out, &Limits::default()).unwrap();
        let mut again = Vec::new();
        let mut batch = Writer::new(&mut again);
        read.iter().for_each(|message| batch.push(message));
        batch.finish();
        assert_eq!(again, out);
    }

    #[test]
    fn a_message_alone_is_a_batch_and_so_is_none() {
        let limits = Limits { messages_max: 1 };
        assert_eq!(read(br#" {"channel":"/a","subscription":"/b"}"#, &limits).unwrap().len(), 1);
        assert_eq!(read(b"[]", &limits).unwrap().len(), 0);
    }

    #[test]
    fn what_is_no_batch_is_refused_with_the_reason() {
        #[rustfmt::skip]
        let table: [(&[u8], &str); _] = [
            (b"", "EOF while parsing a value at line 1 column 0"),
            (b"1", "invalid type: integer `1`, expected an array of messages at line 1 column 1"),
            (b"[{}]", "missing field `channel` at line 1 column 3"),
            (b"[{\"channel\":1}]", "invalid type: integer `1`, expected a text at line 1 column 13"),
            (b"[{\"channel\":\"/a\",\"data\":}]", "expected value at line 1 column 25"),
            (b"[{\"channel\":\"/a\"}]x", "trailing characters at line 1 column 19"),
            (b"[{\"channel\":\"\xff\"}]", "invalid unicode code point at line 1 column 14"),
            (b"[{\"channel\":\"/a\"},2,{\"channel\":\"/c\"}]", "3 messages in a batch, limit is 1"),
            (br#"{"channel":"/a","advice":{"reconnect":"\u001b[2J"}}"#,
                "invalid value: string \"\\u{1b}[2J\", expected \"retry\", \"handshake\" or \"none\" at line 1 column 50"),
        ];
        for (batch, reason) in table {
            let error = read(batch, &Limits { messages_max: 1 }).unwrap_err();
            assert_eq!(error.to_string(), reason, "{}", batch.escape_ascii());
        }
    }
}
