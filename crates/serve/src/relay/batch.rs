//! Messages that are published in one room and delivered together, and the forms in which receivers get them.

use super::late::Words;
use super::sessions::Given;
use engine::ConnectionId;
use std::ops::Range;
use std::sync::Arc;
use wire::Kind;
use wire::socketio::server::attachment;
use wire::sockjs::server::{Stream, write_text};

/// The form of a connection's messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Speaks {
    /// HTTP requests.
    #[default]
    Requests,
    /// WebSocket messages.
    Messages,
    /// SockJS frames in WebSocket messages.
    Frames,
    /// None: it receives the messages of a room in one response.
    Stream(Stream),
    /// Socket.IO packets in WebSocket messages; a session that polls gets them in its answers.
    Packets,
    /// None: each of its requests is answered with one message.
    Polls,
}

/// Messages of one room, in the order of publication.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// The connection that published them, if they are to be acknowledged to one.
    pub(super) publisher: Option<ConnectionId>,
    pub(super) room: Vec<u8>,
    pub(super) messages: Vec<Published>,
    /// The bytes of all messages.
    bytes: Vec<u8>,
}

/// A message that was published.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) kind: Kind,
    /// The place of its delivery: `message ROOM`, a line end, and what was published.
    delivery: Range<usize>,
    /// The place of the number with which it is acknowledged.
    number: Option<Range<usize>>,
    /// A copy of the delivery, if it must outlive the batch.
    pub(super) words: Option<Arc<Words>>,
    /// The offset with which clients of Socket.IO get it, if they may come back.
    pub(super) offset: Option<u64>,
}

impl Batch {
    /// True if a message of this room from this publisher may be added.
    pub(super) fn takes(&self, publisher: Option<ConnectionId>, room: &[u8]) -> bool {
        self.publisher == publisher && self.room == room && self.bytes.len() < LEN_MAX
    }

    /// Begins an empty batch with a room and a publisher.
    pub(super) fn begin(&mut self, publisher: Option<ConnectionId>, room: &[u8]) {
        self.publisher = publisher;
        self.room.extend_from_slice(room);
    }

    /// Adds a message, to be acknowledged with `number` if there is one. Returns it with the bytes of its delivery.
    pub(super) fn add(
        &mut self,
        kind: Kind,
        data: &[u8],
        number: Option<&[u8]>,
    ) -> (&mut Published, &[u8]) {
        let Self { room, messages, bytes, .. } = self;
        let number = number.map(|number| append(bytes, &[number]));
        let delivery = append(bytes, &[MESSAGE, room, b"\n", data]);
        let index = messages.len();
        messages.push(Published {
            kind,
            delivery: delivery.clone(),
            number,
            words: None,
            offset: None,
        });
        (&mut messages[index], &bytes[delivery])
    }

    /// The texts of each message.
    pub(super) fn texts(&self) -> Vec<Texts<'_>> {
        let all = self.messages.iter();
        all.map(|it| Texts::new(it.kind, &self.bytes[it.delivery.clone()], it.offset)).collect()
    }

    /// The published data of one of its messages.
    pub(super) fn data(&self, message: &Published) -> &[u8] {
        &self.bytes[message.delivery.clone()][MESSAGE.len() + self.room.len() + 1..]
    }

    /// The number with which one of its messages is acknowledged.
    pub(super) fn number(&self, message: &Published) -> Option<&[u8]> {
        message.number.clone().map(|number| &self.bytes[number])
    }

    pub(super) fn clear(&mut self) {
        self.publisher = None;
        self.room.clear();
        self.messages.clear();
        self.bytes.clear();
    }

    /// Frees memory beyond what is kept for later.
    pub(super) fn shrink_to(&mut self, len: usize) {
        self.bytes.shrink_to(len);
        self.messages.shrink_to(len / size_of::<Published>());
    }
}

/// Appends parts. Returns the place of all of them together.
fn append(bytes: &mut Vec<u8>, parts: &[&[u8]]) -> Range<usize> {
    let start = bytes.len();
    for part in parts {
        bytes.extend_from_slice(part);
    }
    start..bytes.len()
}

/// The encoded messages of a batch; each form is written for the first connection that needs it.
#[derive(Debug, Default)]
pub(super) struct Forms {
    message: Form,
    frame: Form,
    event: Form,
    part: Form,
    chunk: Form,
    packet: Form,
    /// The namespace of the packets, as written in packets.
    namespace: String,
}

/// One form of the messages of a batch.
#[derive(Debug, Default)]
pub(super) struct Form {
    pub(super) bytes: Vec<u8>,
    /// For each message, true if it has this form; empty until it is written.
    pub(super) has: Vec<bool>,
}

impl Forms {
    /// The form for connections with these messages, in this namespace of Socket.IO.
    pub(super) fn of(&mut self, speaks: Speaks, namespace: &str) -> &mut Form {
        match speaks {
            Speaks::Messages | Speaks::Polls | Speaks::Requests => &mut self.message,
            Speaks::Frames => &mut self.frame,
            Speaks::Stream(Stream::Events) => &mut self.event,
            Speaks::Stream(Stream::Parts) => &mut self.part,
            Speaks::Stream(Stream::Chunks) => &mut self.chunk,
            Speaks::Packets => {
                if self.namespace != namespace {
                    self.packet.clear();
                    namespace.clone_into(&mut self.namespace);
                }
                &mut self.packet
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.for_each(Form::clear);
    }

    /// Frees memory beyond what is kept for later.
    pub(super) fn shrink_to(&mut self, len: usize) {
        self.for_each(|form| form.bytes.shrink_to(len));
    }

    fn for_each(&mut self, each: impl Fn(&mut Form)) {
        let Self { message, frame, event, part, chunk, packet, namespace: _ } = self;
        [message, frame, event, part, chunk, packet].into_iter().for_each(each);
    }
}

impl Form {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.has.clear();
    }
}

/// The texts that members get of a delivery (`message ROOM`, a line end, and what was published); each is made once.
#[derive(Debug)]
pub(super) struct Texts<'a> {
    pub(super) kind: Kind,
    pub(super) delivery: &'a [u8],
    /// The offset with which clients of Socket.IO get it, if they may come back.
    pub(super) offset: Option<u64>,
    /// The number of receivers that it was sent to, or waits for.
    pub(super) receivers: usize,
    /// The delivery as an attachment of Socket.IO.
    attachment: Option<String>,
    /// The delivery as JSON; the inner `None` means that it is not text.
    json: Option<Option<String>>,
    /// The published text; the inner `None` means that it is not text.
    published: Option<Option<&'a str>>,
}

impl<'a> Texts<'a> {
    const fn new(kind: Kind, delivery: &'a [u8], offset: Option<u64>) -> Self {
        let (attachment, json, published) = (None, None, None);
        Self { kind, delivery, offset, receivers: 0, attachment, json, published }
    }

    pub(super) fn of(words: &'a Words) -> Self {
        Self::new(words.kind, &words.bytes, words.offset)
    }

    pub(super) fn json(&mut self) -> Option<&str> {
        self.json.get_or_insert_with(|| json_of(self.delivery)).as_deref()
    }

    pub(super) fn published(&mut self) -> Option<&'a str> {
        let delivery = self.delivery;
        *self.published.get_or_insert_with(|| {
            let line = delivery.iter().position(|byte| *byte == b'\n')?;
            str::from_utf8(&delivery[line + 1..]).ok()
        })
    }

    /// The form for a session that receives by answers to requests.
    pub(super) fn for_session(&mut self, speaks: Speaks) -> Option<Given<'_>> {
        let offset = self.offset;
        Some(match (speaks, self.kind) {
            (Speaks::Polls, _) => Given { kind: Kind::Text, json: self.published()?, offset },
            (Speaks::Packets, Kind::Binary) => {
                let json = self.attachment.get_or_insert_with(|| attachment(self.delivery));
                Given { kind: Kind::Binary, json, offset }
            }
            (_, _) => Given { kind: Kind::Text, json: self.json()?, offset },
        })
    }
}

/// A message as JSON; `None` if it is not text.
pub(super) fn json_of(message: &[u8]) -> Option<String> {
    let mut json = String::with_capacity(message.len() + 16);
    write_text(str::from_utf8(message).ok()?, &mut json);
    Some(json)
}

/// The word at the beginning of a delivery.
const MESSAGE: &[u8] = b"message ";

/// The length, in bytes, from which on a batch takes no more messages.
const LEN_MAX: usize = 64 * 1024;
