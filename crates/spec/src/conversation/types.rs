//! The parts of a conversation.

use super::{ByteOrder, Matcher, Piece, Place, Separator, Template, Var};
use crate::Protocol;
use crate::rooms::Part;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use units::{Bytes, Nanos};

/// A conversation with a server: how it opens, what is asked and answered, what comes unasked, how it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conversation {
    /// The name: that of a ready-made conversation, or of its file.
    pub name: String,
    /// A line about it for lists.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The protocol below it.
    pub speaks: Speaks,
    /// The path and query that are asked for where the URL has none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Template>,
    /// WebSocket: the subprotocols that are offered, the best first.
    #[serde(default, deserialize_with = "offered", skip_serializing_if = "Vec::is_empty")]
    pub subprotocols: Vec<Template>,
    /// Header fields of the opening request of WebSocket, and of every request of HTTP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<Field>,
    /// The extent of a message.
    #[serde(default)]
    pub frame: Frame,
    /// Values that each connection is given when it begins, in the order in which they are filled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vars: Vec<Var>,
    /// Exchanges of HTTP before the connection is made, one after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Before>,
    /// The steps by which a connection opens, one after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<Step>,
    /// The kinds of requests that are timed; at least one, unless the publishers have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Request>,
    /// The kinds of messages that come unasked; the first that matches counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pushes: Vec<PushRule>,
    /// Messages of the server that are answered at once; the first that matches counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AnswerRule>,
    /// The heartbeat that the client sends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beat: Option<Beat>,
    /// The farewell; without one the protocol below ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close: Option<Step>,
    /// Rooms: the conversation of connections that publish, where they hold another than those that receive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publishers: Option<Box<Self>>,
}

/// The protocol that carries a conversation, inside TLS or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Speaks {
    /// WebSocket; SockJS, whose messages are texts as well; and Socket.IO, whose packets are.
    Ws,
    /// HTTP/1.1: each request has one response.
    Http,
    /// HTTP/1.1 whose responses are server-sent events.
    Sse,
    /// HTTP/1.1 that is polled: each response is one message, which the server may wait for.
    #[serde(rename = "longpoll")]
    LongPoll,
    /// HTTP/1.1 whose response has parts (RFC 2046 §5.1): each is one message.
    Multipart,
    /// HTTP/1.1 whose response has the chunked transfer coding (RFC 9112 §7.1): each chunk is one message.
    Chunked,
    /// TCP, cut into messages by [`Conversation::frame`].
    Tcp,
}

impl Speaks {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Ws,
        Self::Http,
        Self::Sse,
        Self::LongPoll,
        Self::Multipart,
        Self::Chunked,
        Self::Tcp,
    ];

    /// Its name in a file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ws => "ws",
            Self::Http => "http",
            Self::Sse => "sse",
            Self::LongPoll => "longpoll",
            Self::Multipart => "multipart",
            Self::Chunked => "chunked",
            Self::Tcp => "tcp",
        }
    }

    /// True if messages are HTTP responses, or parts of them.
    pub const fn is_http(self) -> bool {
        match self {
            Self::Http | Self::Sse | Self::LongPoll | Self::Multipart | Self::Chunked => true,
            Self::Ws | Self::Tcp => false,
        }
    }

    /// True if a connection only sends the requests that fetch its messages: others publish.
    pub const fn only_receives(self) -> bool {
        match self {
            Self::LongPoll | Self::Multipart | Self::Chunked => true,
            Self::Ws | Self::Http | Self::Sse | Self::Tcp => false,
        }
    }
}

/// The extent of a message in what the transport delivers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Frame {
    /// A message of the transport: of WebSocket, a response of HTTP, an event.
    #[default]
    Message,
    /// A line that ends with LF or CRLF, neither of which belongs to it. LF is appended to what is sent.
    Lines,
    /// Everything up to a NUL, which does not belong to it. Line ends before a message are skipped. NUL is appended to
    /// what is sent.
    Nul,
    /// Everything up to a record separator (0x1E), which does not belong to it, and is appended to what is sent.
    Rs,
    /// Everything up to a text of the user's, which does not belong to it, and is appended to what is sent.
    Separator {
        /// The text.
        separator: Separator,
        /// The longest message that is taken.
        max: Bytes,
    },
    /// A reply of RESP, the protocol of Redis, as it came but for the last line end. CR and LF are appended to what is
    /// sent.
    Resp,
    /// A packet of MQTT 3.1.1, for which a text stands ([`MqttCommand`](super::MqttCommand)).
    Mqtt,
    /// A length, and as many bytes behind it.
    Length {
        /// The kind of number that the length is.
        width: LengthWidth,
        /// The order of its bytes; a varint has its lowest seven bits first in any case.
        order: ByteOrder,
        /// True if the length counts its own bytes.
        includes_itself: bool,
        /// The longest message that is taken.
        max: Bytes,
    },
}

/// The kind of number that the length of a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LengthWidth {
    /// One byte.
    One,
    /// Two bytes.
    Two,
    /// Four bytes.
    Four,
    /// Seven bits in each byte, whose highest bit says that another follows; at most five bytes.
    Varint,
}

/// A header field whose value may have holes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Template,
}

/// A request of HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpRequest {
    /// The method, e.g. `POST`.
    pub method: String,
    /// The path and query; empty: those of the URL.
    pub path: Template,
    /// Header fields besides the protocol's own and those of the conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<Field>,
    /// The body; `null`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Template>,
    /// The most redirects that are followed, one after the other; 0: none is.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redirects: u8,
}

/// The largest number of redirects that a request may ask for; a browser gives up after 20.
pub const REDIRECTS_MAX: u8 = 10;

/// True for a count that is left out when it is written.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(crate) const fn is_zero(count: &u8) -> bool {
    *count == 0
}

/// An exchange of HTTP before a connection is made, e.g. a login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Before {
    /// The request.
    pub request: HttpRequest,
    /// The response that is awaited; `null`: any of the 2xx kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Matcher>,
    /// The values that are taken from the response.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub take: Vec<Take>,
}

/// A step of opening or closing: something is sent, then something is awaited; one of the two may be missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The connections that take this step, where there are rooms; `null`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Part>,
    /// The message that is sent; `null`: none, the server speaks first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send: Option<Template>,
    /// The message that is awaited; `null`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Matcher>,
    /// The message by which the server refuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Matcher>,
    /// The values that are taken from the message that was awaited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub take: Vec<Take>,
}

/// A value that is taken from a message and kept for the connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Take {
    /// The name by which templates refer to it.
    pub var: String,
    /// The place where it stands.
    pub from: TakeFrom,
}

/// A place that a value is taken from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TakeFrom {
    /// The message, or the body of a response: a string without its quotes, anything else as it is written.
    Message(Place),
    /// The header field of a response, by its name. Of `Set-Cookie` it is `NAME=VALUE`, without attributes; several are
    /// joined as `Cookie` wants them.
    Header(String),
}

/// A kind of request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The name in results.
    pub name: String,
    /// Its share of all requests, beside the weights of the others; at least 1.
    pub weight: u32,
    /// The message that is sent.
    pub send: Send,
    /// The messages that answer it.
    pub reply: Reply,
    /// The message by which the server says no; it answers the request too, and is counted apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Matcher>,
}

/// The message of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Send {
    /// A message of the connection.
    Message(Template),
    /// A request of HTTP.
    Http(HttpRequest),
}

/// The messages that answer a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One that matches, by its id or, if the matcher has none, by order.
    Match(Matcher),
    /// The next one that is neither pushed nor answered by itself: replies come in the order of requests.
    Order,
    /// None: the request is complete when it is sent, and has no round trip.
    Nothing,
    /// Several: the stream has begun with `first`, goes on with each `each`, and ends with `last`.
    Stream {
        /// The event from which on the stream has begun, e.g. the first token; it is one of `each`.
        first: Matcher,
        /// An event of the stream.
        each: Matcher,
        /// The message that ends it; `null`: the end of the response, which HTTP alone has.
        last: Option<Matcher>,
        /// True if the end of the response ends it, too, where there is a `last` that did not come.
        #[serde(default, skip_serializing_if = "is_false")]
        may_end: bool,
        /// The way in which a stream is resumed that breaks off; `null`: it is an error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resume: Option<Resume>,
    },
}

/// The way in which a stream of events goes on that broke off: on another connection, by the same request with the
/// `Last-Event-ID` of the last event that had one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// The most connections that are made to go on with one stream; at least 1.
    pub times: u32,
    /// The time before each of them, where the server has not said another (`retry`).
    pub wait: Nanos,
}

/// A kind of message that comes unasked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PushRule {
    /// The name in results.
    pub name: String,
    /// The messages that are of this kind.
    pub when: Matcher,
    /// The place of the `${now}` of the request that made it, by which its delivery is timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Place>,
    /// The place of its `${header}`, by which it is told from every other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<Place>,
}

/// A kind of message of the server that is answered at once, e.g. a heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRule {
    /// The name in results.
    pub name: String,
    /// The messages that are answered.
    pub when: Matcher,
    /// The values that are taken from such a message before the answer is made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub take: Vec<Take>,
    /// The answer.
    pub send: Template,
}

/// A heartbeat that the client sends by itself, from the end of the opening on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Beat {
    /// The time from one to the next.
    pub every: Every,
    /// The message.
    pub send: Template,
}

/// A time between heartbeats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Every {
    /// This time.
    Time(Nanos),
    /// As many milliseconds as a value says that was taken while the connection opened.
    Millis(String),
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Reads subprotocols, which are texts without holes in older records.
fn offered<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Template>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Offered {
        Template(Template),
        Text(String),
    }
    let all = Vec::<Offered>::deserialize(deserializer)?;
    Ok(all
        .into_iter()
        .map(|offered| match offered {
            Offered::Template(template) => template,
            Offered::Text(text) => Template(vec![Piece::Text(text)]),
        })
        .collect())
}

impl Frame {
    /// The length prefix of tcp-framed:// URLs.
    const LENGTH: Self = Self::Length {
        width: LengthWidth::Four,
        order: ByteOrder::Big,
        includes_itself: false,
        max: Self::MAX,
    };
    /// The longest message between separators or with a length before it, unless its file names another.
    pub(super) const MAX: Bytes = Bytes(16 << 20);
}

impl Conversation {
    /// The protocols of URLs that can carry it, the usual one first. A protocol that has a framing of its own carries
    /// it if its frame does not contradict that.
    pub fn carriers(&self) -> &'static [Protocol] {
        use LengthWidth::Four;
        match (self.speaks, self.frame) {
            (Speaks::Ws, _) => &[Protocol::WebSocket, Protocol::SockJs, Protocol::SocketIo],
            (
                Speaks::Http | Speaks::Sse | Speaks::LongPoll | Speaks::Multipart | Speaks::Chunked,
                _,
            ) => &[Protocol::Http],
            (Speaks::Tcp, Frame::Message) => &[Protocol::Lines, Protocol::TcpFramed],
            (Speaks::Tcp, Frame::Lines) => &[Protocol::Tcp, Protocol::Unix, Protocol::Lines],
            (
                Speaks::Tcp,
                Frame::Length {
                    width: Four, order: ByteOrder::Big, includes_itself: false, ..
                },
            ) => &[Protocol::Tcp, Protocol::Unix, Protocol::TcpFramed],
            (
                Speaks::Tcp,
                Frame::Nul
                | Frame::Rs
                | Frame::Separator { .. }
                | Frame::Resp
                | Frame::Mqtt
                | Frame::Length { .. },
            ) => &[Protocol::Tcp, Protocol::Unix],
        }
    }

    /// The same conversation over `protocol`, whose framing applies where the file names none.
    #[must_use]
    pub fn over(self, protocol: Protocol) -> Self {
        let is_open = self.speaks == Speaks::Tcp && self.frame == Frame::Message;
        let frame = match is_open {
            true if protocol == Protocol::Lines => Frame::Lines,
            true if protocol == Protocol::TcpFramed => Frame::LENGTH,
            true | false => self.frame,
        };
        Self { frame, ..self }
    }

    /// The conversation of connections that publish: their own, or this one.
    pub fn of_publishers(&self) -> &Self {
        self.publishers.as_deref().unwrap_or(self)
    }

    /// True for receivers that only request their messages, which are responses, or parts of one response.
    pub fn is_one_stream(&self) -> bool {
        let may_be = self.speaks == Speaks::Sse || self.speaks.only_receives();
        may_be && self.publishers.is_some()
    }

    /// True if it says what receivers of rooms get.
    pub fn is_for_rooms(&self) -> bool {
        self.pushes.iter().any(|rule| rule.header.is_some())
    }

    /// True if a message has a `${payload}`, which options fill.
    pub fn has_payload(&self) -> bool {
        self.all_requests().any(Request::has_payload)
    }

    /// True if requests are bytes, so that all messages are shown as bytes.
    pub fn has_bytes(&self) -> bool {
        let is_bytes =
            |request: &Request| matches!(&request.send, Send::Message(it) if it.is_bytes());
        self.all_requests().any(is_bytes)
    }

    /// Its requests, and those of its publishers.
    fn all_requests(&self) -> impl Iterator<Item = &Request> {
        let of_publishers = self.publishers.iter().flat_map(|it| &it.requests);
        self.requests.iter().chain(of_publishers)
    }

    /// The values of the secrets that were read, and of the columns that are named like secrets.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let of_publishers = self.publishers.iter().flat_map(|it| &it.vars);
        self.vars.iter().chain(of_publishers).flat_map(Var::secrets).map(String::as_str)
    }

    /// The same without secrets, and without the rows of files.
    #[must_use]
    pub fn bare(&self) -> Self {
        let mut bare = self.clone();
        bare.vars.iter_mut().for_each(Var::forget);
        bare.publishers = bare.publishers.map(|publishers| Box::new(publishers.bare()));
        bare
    }
}

impl Request {
    /// The texts of its message.
    pub fn templates_mut(&mut self) -> Vec<&mut Template> {
        match &mut self.send {
            Send::Message(template) => vec![template],
            Send::Http(HttpRequest { path, headers, body, .. }) => {
                let fields = headers.iter_mut().map(|field| &mut field.value);
                fields.chain(body).chain([path]).collect()
            }
        }
    }

    /// True if its message has a `${payload}`, which options fill.
    fn has_payload(&self) -> bool {
        match &self.send {
            Send::Message(template) => template.has_payload(),
            Send::Http(HttpRequest { path, headers, body, .. }) => {
                let fields = headers.iter().map(|field| &field.value);
                fields.chain(body).chain([path]).any(Template::has_payload)
            }
        }
    }

    /// True if its message has a `${header}`, which identifies it where it is delivered.
    pub fn has_header(&self) -> bool {
        match &self.send {
            Send::Message(template) => template.has_header(),
            Send::Http(request) => request.body.as_ref().is_some_and(Template::has_header),
        }
    }

    /// The matchers of its replies and of its refusal.
    pub fn matchers(&self) -> impl Iterator<Item = &Matcher> {
        let of_reply: Vec<&Matcher> = match &self.reply {
            Reply::Match(matcher) => vec![matcher],
            Reply::Order | Reply::Nothing => Vec::new(),
            Reply::Stream { first, each, last, .. } => {
                [first, each].into_iter().chain(last).collect()
            }
        };
        of_reply.into_iter().chain(&self.refused)
    }
}
