//! The machine: texts of a conversation become packets, and packets become texts.

use super::PeerError;
use super::in_flight::{InFlight, Kind as Awaited};
use super::packet::{self, Packet};
use crate::contract::{
    Event, InPlace, Input, Kind, Layers, Message, MisuseError, Opening, PeerError as AnyPeerError,
    Protocol, growth,
};
use crate::conversation::{Cut, Held};
use spec::conversation::{Frame, MqttCommand};
use std::io::Write as _;

/// A client of MQTT over the connection inside, whose messages are texts.
///
/// The connection inside may deliver packets whole, in parts, or several at once. CONNECT is the first message of the
/// owner; nothing is accepted before the answer to it. [`Protocol::close`] sends DISCONNECT.
///
/// **Encoding** ([`Layers`]) is the growth of texts into packets, which is negative: packets are shorter.
#[derive(Debug)]
pub struct Mqtt<C> {
    cut: Cut,
    held: Held,
    inner: C,
    session: Session,
}

/// The state of a client, without the connection that carries it.
#[derive(Debug, Default)]
struct Session {
    /// The delivery to acknowledge with the next output.
    acknowledge: Option<u16>,
    encoding: (i64, i64),
    in_flight: InFlight,
    state: State,
    /// The text that is read or written. Holds no memory between messages, except for a few bytes.
    text: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// CONNECT was not sent.
    #[default]
    Fresh,
    /// The answer to CONNECT is awaited.
    AwaitConnAck,
    Open,
    /// DISCONNECT was sent.
    Over,
}

impl<C: InPlace> Mqtt<C> {
    /// A client over `inner`. Packets have at most `packet_max` bytes after their heads.
    pub fn new(inner: C, packet_max: usize) -> Self {
        let cut = Cut::new(Frame::Mqtt, packet_max);
        Self { cut, held: Held::default(), inner, session: Session::default() }
    }

    /// Sends the packet for the text of about `len` bytes that `append` appends.
    ///
    /// # Errors
    ///
    /// The text is not a command, is sent at the wrong time, or is refused by the connection inside.
    #[inline]
    pub(crate) fn send_in_place(
        &mut self,
        len: usize,
        tx: &mut Vec<u8>,
        append: &mut dyn FnMut(&mut Vec<u8>),
    ) -> Result<(), MisuseError> {
        self.acknowledge(tx)?;
        let mut text = std::mem::take(&mut self.session.text);
        text.clear();
        text.reserve(len);
        append(&mut text);
        let sent = self.write(&text, tx);
        self.session.text = text;
        self.session.release();
        sent
    }

    fn write(&mut self, text: &[u8], tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        let Self { inner, session, .. } = self;
        let command = MqttCommand::parse(text)?;
        let awaited = session.check(&command)?;
        let mut packet = 0;
        if let Some((kind, id)) = awaited {
            let full = MisuseError::Malformed {
                expected: "one of at most 65535 packets that await an acknowledgement (MQTT 3.1.1, §2.3.1)",
            };
            packet = session.in_flight.take(kind, id).ok_or(full)?;
        }
        let (mut is_written, mut len) = (true, 0);
        let sent = inner.send_in_place(Kind::Binary, text.len(), tx, &mut |out| {
            let start = out.len();
            is_written = packet::write(&command, packet, out);
            len = out.len() - start;
        });
        if !is_written {
            session.in_flight.forget(packet);
            let (len, max) = (text.len() as u64, packet::LEN_MAX as u64);
            return Err(MisuseError::TooLong { len, max });
        }
        sent.inspect_err(|_| session.in_flight.forget(packet))?;
        session.sent(&command, text.len(), len);
        Ok(())
    }

    /// Acknowledges the delivery that was handed out last, if it requires that.
    #[inline]
    fn acknowledge(&mut self, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        let Some(packet) = self.session.acknowledge.take() else { return Ok(()) };
        let write = &mut |out: &mut Vec<u8>| packet::write_puback(packet, out);
        self.inner.send_in_place(Kind::Binary, PUBACK_LEN, tx, write)
    }
}

impl Session {
    /// Refuses a packet at the wrong time; returns the acknowledgement that it awaits, and its `id`.
    fn check(
        &self,
        command: &MqttCommand<'_>,
    ) -> Result<Option<(Awaited, Option<u64>)>, MisuseError> {
        let is_connect = matches!(command, MqttCommand::Connect(_));
        match self.state {
            State::Fresh if !is_connect => Err(MisuseError::Malformed {
                expected: "CONNECT, which comes first (MQTT 3.1.1, §3.1)",
            }),
            State::AwaitConnAck | State::Open if is_connect => Err(MisuseError::Malformed {
                expected: "other than CONNECT, which is sent once (MQTT 3.1.1, §3.1)",
            }),
            State::Over => Err(MisuseError::NotOpen),
            State::Fresh | State::AwaitConnAck | State::Open => Ok(match *command {
                MqttCommand::Publish { acknowledged: true, id, .. } => Some((Awaited::Publish, id)),
                MqttCommand::Subscribe { id, .. } => Some((Awaited::Subscribe, id)),
                MqttCommand::Unsubscribe { id, .. } => Some((Awaited::Unsubscribe, id)),
                MqttCommand::Publish { .. }
                | MqttCommand::Connect(_)
                | MqttCommand::Disconnect
                | MqttCommand::Ping => None,
            }),
        }
    }

    /// Notes that a text of `text_len` bytes was sent as a packet of `len` bytes.
    fn sent(&mut self, command: &MqttCommand<'_>, text_len: usize, len: usize) {
        self.encoding.0 += growth(text_len, len);
        match command {
            MqttCommand::Connect(_) => self.state = State::AwaitConnAck,
            MqttCommand::Disconnect => self.state = State::Over,
            MqttCommand::Publish { .. }
            | MqttCommand::Subscribe { .. }
            | MqttCommand::Unsubscribe { .. }
            | MqttCommand::Ping => {}
        }
    }

    /// Writes the text of the packet in `bytes`.
    ///
    /// # Errors
    ///
    /// It is not a packet of MQTT, or not allowed at this time.
    #[inline]
    fn read(&mut self, bytes: &[u8]) -> Result<(), PeerError> {
        let unexpected = |name, when, section| PeerError::Unexpected { name, when, section };
        let start = packet::head(bytes)?.map_or(bytes.len(), |(start, _)| start);
        let packet = Packet::read(bytes[0], &bytes[start..])?;
        match (self.state, packet) {
            (State::Fresh, _) => return Err(unexpected("a packet", "before CONNECT", "3.1")),
            (State::AwaitConnAck, Packet::ConnAck { .. }) => self.state = State::Open,
            (State::AwaitConnAck, _) => {
                return Err(unexpected("another packet", "before CONNACK", "3.2"));
            }
            (State::Open | State::Over, Packet::ConnAck { .. }) => {
                return Err(unexpected("CONNACK", "was sent twice", "3.2"));
            }
            (State::Open | State::Over, _) => {}
        }
        self.text.clear();
        self.tell(packet)?;
        self.encoding.1 += growth(self.text.len(), bytes.len());
        Ok(())
    }

    /// Writes the text of a packet, and ends what it acknowledges.
    #[inline]
    fn tell(&mut self, packet: Packet<'_>) -> Result<(), PeerError> {
        let Self { text, in_flight, .. } = self;
        let mut end = |kind, name, packet| {
            in_flight.end(kind, packet).ok_or(PeerError::Identifier { name, packet })
        };
        let mut id = None;
        match packet {
            Packet::ConnAck { session_present: true, code: 0 } => {
                text.extend_from_slice(b"CONNACK accepted session-present");
            }
            Packet::ConnAck { code: 0, .. } => text.extend_from_slice(b"CONNACK accepted"),
            Packet::ConnAck { code, .. } => {
                let reason = packet::refusal(code);
                put(text, format_args!("CONNACK refused {code}: {reason}"));
            }
            Packet::Publish { topic, packet, retain, dup, payload } => {
                text.reserve(topic.len() + payload.len() + PUBLISH_WORDS_LEN_MAX);
                text.extend_from_slice(b"PUBLISH ");
                text.extend_from_slice(topic.as_bytes());
                text.extend_from_slice(if packet.is_some() { b" qos=1" } else { b" qos=0" });
                text.extend_from_slice(if retain { b" retain" } else { b"" });
                text.extend_from_slice(if dup { b" dup" } else { b"" });
                text.push(b'\n');
                text.extend_from_slice(payload);
                self.acknowledge = packet;
            }
            Packet::PubAck { packet } => {
                id = end(Awaited::Publish, "PUBACK", packet)?;
                text.extend_from_slice(b"PUBACK");
            }
            Packet::SubAck { packet, qos } => {
                id = end(Awaited::Subscribe, "SUBACK", packet)?;
                match qos {
                    Some(qos) => put(text, format_args!("SUBACK qos={qos}")),
                    None => text.extend_from_slice(b"SUBACK refused"),
                }
            }
            Packet::UnsubAck { packet } => {
                id = end(Awaited::Unsubscribe, "UNSUBACK", packet)?;
                text.extend_from_slice(b"UNSUBACK");
            }
            Packet::PingResp => text.extend_from_slice(b"PINGRESP"),
        }
        if let Some(id) = id {
            put(text, format_args!(" id={id}"));
        }
        Ok(())
    }

    /// Frees the text that was handed out, unless it is short.
    #[inline]
    fn release(&mut self) {
        if self.text.capacity() > KEPT_LEN_MAX {
            self.text = Vec::new();
        }
    }

    fn message(&self) -> Event<'_> {
        Event::Message(Message { kind: Kind::Binary, payload: &self.text })
    }
}

impl<C: InPlace> Protocol for Mqtt<C> {
    fn open(&mut self, tx: &mut Vec<u8>) -> Opening {
        self.inner.open(tx)
    }

    #[inline]
    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        self.send_in_place(message.payload.len(), tx, &mut |text| {
            text.extend_from_slice(message.payload)
        })
    }

    #[inline]
    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, AnyPeerError> {
        self.held.release();
        self.session.release();
        // If nothing can be sent any more, nothing is acknowledged.
        let _acknowledged: Result<_, _> = self.acknowledge(tx);
        let Self { cut, held, inner, session } = self;
        if let Some(packet) = held.next(*cut)? {
            session.read(held.get(packet))?;
            return Ok(Some(session.message()));
        }
        match inner.receive(input, tx)? {
            Some(Event::Message(Message { payload, .. })) => {
                let first = if held.is_empty() { cut.first(payload)? } else { None };
                if first.is_none_or(|first| first.next < payload.len()) {
                    held.extend(payload);
                    return Ok(Some(ALIVE));
                }
                session.read(payload)?;
                Ok(Some(session.message()))
            }
            event => Ok(event),
        }
    }

    fn close(&mut self, tx: &mut Vec<u8>) -> bool {
        if matches!(self.session.state, State::AwaitConnAck | State::Open) {
            // If nothing can be sent any more, the connection ends without a DISCONNECT.
            let _farewell: Result<_, _> = self.write(b"DISCONNECT", tx);
        }
        self.inner.close(tx)
    }

    fn end(&mut self) -> Result<Event<'_>, AnyPeerError> {
        match self.held.rest().len() {
            0 => self.inner.end(),
            len => Err(PeerError::Cut { len }.into()),
        }
    }

    fn layers(&self) -> Layers {
        let inside = self.inner.layers();
        let (sent, received) = self.session.encoding;
        Layers {
            encoding_sent: inside.encoding_sent + sent,
            encoding_received: inside.encoding_received + received,
            ..inside
        }
    }
}

/// Appends words to a text.
fn put(text: &mut Vec<u8>, words: std::fmt::Arguments<'_>) {
    text.write_fmt(words).expect("memory takes all");
}

/// A sign of life, which does not concern the owner.
const ALIVE: Event<'static> = Event::Ping(b"");

/// The most bytes of the text of a PUBLISH besides its topic and its payload.
const PUBLISH_WORDS_LEN_MAX: usize = b"PUBLISH  qos=1 retain dup\n".len();

/// The bytes of an acknowledgement.
const PUBACK_LEN: usize = 4;

/// Most memory that a quiet connection keeps, in bytes.
const KEPT_LEN_MAX: usize = 256;
