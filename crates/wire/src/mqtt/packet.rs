//! The bytes of packets: those of a client are written, those of a server read.

use super::PeerError;
use crate::excerpt::Excerpt;
use spec::conversation::{MqttCommand, MqttConnect};

/// A packet that a server sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packet<'p> {
    /// The answer to CONNECT (§3.2).
    ConnAck { session_present: bool, code: u8 },
    /// A message (§3.3); `packet` is `None` for QoS 0.
    Publish { topic: &'p str, packet: Option<u16>, retain: bool, dup: bool, payload: &'p [u8] },
    /// The acknowledgement of a PUBLISH of QoS 1 (§3.4).
    PubAck { packet: u16 },
    /// The answer to a SUBSCRIBE with one filter (§3.9); `qos` is `None` if refused.
    SubAck { packet: u16, qos: Option<u8> },
    /// The answer to UNSUBSCRIBE (§3.11).
    UnsubAck { packet: u16 },
    /// The answer to PINGREQ (§3.13).
    PingResp,
}

/// The lengths of the head of a packet and of what follows it; `None` if the head is not complete (§2.2).
///
/// # Errors
///
/// [`PeerError::RemainingLength`].
#[inline]
pub(crate) fn head(bytes: &[u8]) -> Result<Option<(usize, usize)>, PeerError> {
    let mut len = 0;
    for (index, byte) in bytes.iter().skip(1).take(REMAINING_LEN_MAX).enumerate() {
        len |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Ok(Some((index + 2, len)));
        }
    }
    if bytes.len() <= REMAINING_LEN_MAX {
        return Ok(None);
    }
    Err(PeerError::RemainingLength { said: Excerpt::new(&bytes[..=REMAINING_LEN_MAX]) })
}

impl<'p> Packet<'p> {
    /// Reads the packet whose first byte is `first` and whose head `body` follows.
    ///
    /// # Errors
    ///
    /// The packet breaks a rule of the standard; the error names its section.
    #[inline]
    pub(super) fn read(first: u8, body: &'p [u8]) -> Result<Self, PeerError> {
        let (kind, flags) = (first >> 4, first & 0x0f);
        let malformed = |name, expected, section| PeerError::Malformed {
            name,
            expected,
            section,
            said: Excerpt::new(body),
        };
        let name = match kind {
            CONNACK => "CONNACK",
            PUBLISH => return publish(flags, body),
            PUBACK => "PUBACK",
            PUBREC | PUBREL | PUBCOMP => {
                return Err(PeerError::Unexpected {
                    name: QOS_2_NAMES[usize::from(kind - PUBREC)],
                    when: "belongs to QoS 2, which was not asked for",
                    section: "4.3.3",
                });
            }
            SUBACK => "SUBACK",
            UNSUBACK => "UNSUBACK",
            PINGRESP => "PINGRESP",
            _ => return Err(PeerError::Type { kind }),
        };
        if flags != 0 {
            return Err(PeerError::Flags { name, flags });
        }
        match (kind, body) {
            (CONNACK, [flags @ 0..=1, code]) if *code == 0 || *flags == 0 => {
                Ok(Self::ConnAck { session_present: *flags == 1, code: *code })
            }
            (CONNACK, _) => {
                Err(malformed(name, "two bytes, the first of which is 0 or 1", "3.2.2"))
            }
            (PUBACK, [high, low]) => Ok(Self::PubAck { packet: u16::from_be_bytes([*high, *low]) }),
            (PUBACK, _) => Err(malformed(name, "two bytes", "3.4")),
            (SUBACK, [high, low, code @ (0..=2 | 0x80)]) => Ok(Self::SubAck {
                packet: u16::from_be_bytes([*high, *low]),
                qos: (*code != 0x80).then_some(*code),
            }),
            (SUBACK, _) => {
                Err(malformed(name, "an identifier and a code of 0, 1, 2 or 128", "3.9.3"))
            }
            (UNSUBACK, [high, low]) => {
                Ok(Self::UnsubAck { packet: u16::from_be_bytes([*high, *low]) })
            }
            (UNSUBACK, _) => Err(malformed(name, "two bytes", "3.11")),
            (_, []) => Ok(Self::PingResp),
            (_, _) => Err(malformed(name, "an empty body", "3.13")),
        }
    }
}

#[inline]
fn publish(flags: u8, body: &[u8]) -> Result<Packet<'_>, PeerError> {
    let malformed = |expected, section| PeerError::Malformed {
        name: "PUBLISH",
        expected,
        section,
        said: Excerpt::new(body),
    };
    let qos = flags >> 1 & 0b11;
    match qos {
        0 | 1 => {}
        2 => {
            let when = "of QoS 2, which was not asked for";
            return Err(PeerError::Unexpected { name: "PUBLISH", when, section: "3.8.4" });
        }
        _ => return Err(malformed("QoS 0, 1 or 2", "3.3.1.2")),
    }
    let (topic, rest) = string(body).ok_or_else(|| malformed("a topic and a payload", "3.3.2"))?;
    let topic = std::str::from_utf8(topic).map_err(|_| malformed("a UTF-8 topic", "1.5.3"))?;
    if topic.is_empty() || topic.contains(['#', '+', '\0']) {
        return Err(malformed("a topic without wildcards or NUL", "3.3.2.1"));
    }
    let (packet, payload) = match (qos, rest) {
        (0, payload) => (None, payload),
        (_, [high, low, payload @ ..]) if (*high, *low) != (0, 0) => {
            (Some(u16::from_be_bytes([*high, *low])), payload)
        }
        (_, _) => return Err(malformed("a packet identifier other than 0", "2.3.1")),
    };
    Ok(Packet::Publish { topic, packet, retain: flags & 1 == 1, dup: flags & 8 == 8, payload })
}

/// The string at the front of `bytes`, and what follows it (§1.5.3).
fn string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_at_checked(2)?;
    rest.split_at_checked(usize::from(u16::from_be_bytes([len[0], len[1]])))
}

/// Appends the packet of `command` to `out`; `packet` is its identifier, if it has one. False if it is longer than any
/// packet of MQTT.
#[inline]
pub(super) fn write(command: &MqttCommand<'_>, packet: u16, out: &mut Vec<u8>) -> bool {
    let identifier = packet.to_be_bytes();
    match *command {
        MqttCommand::Connect(connect) => write_connect(connect, out),
        MqttCommand::Disconnect => out.extend_from_slice(&[DISCONNECT << 4, 0]),
        MqttCommand::Ping => out.extend_from_slice(&[PINGREQ << 4, 0]),
        MqttCommand::Publish { topic, acknowledged, retain, payload, .. } => {
            let identifier: &[u8] = if acknowledged { &identifier } else { &[] };
            let len = 2 + topic.len() + identifier.len() + payload.len();
            if len > LEN_MAX {
                return false;
            }
            write_head(PUBLISH << 4 | u8::from(acknowledged) << 1 | u8::from(retain), len, out);
            write_string(topic, out);
            out.extend_from_slice(identifier);
            out.extend_from_slice(payload);
        }
        MqttCommand::Subscribe { filter, acknowledged, .. } => {
            write_head(SUBSCRIBE << 4 | 0b10, 2 + 2 + filter.len() + 1, out);
            out.extend_from_slice(&identifier);
            write_string(filter, out);
            out.push(u8::from(acknowledged));
        }
        MqttCommand::Unsubscribe { filter, .. } => {
            write_head(UNSUBSCRIBE << 4 | 0b10, 2 + 2 + filter.len(), out);
            out.extend_from_slice(&identifier);
            write_string(filter, out);
        }
    }
    true
}

fn write_connect(connect: MqttConnect<'_>, out: &mut Vec<u8>) {
    let MqttConnect { client_id, keep_alive, clean_session, username, password } = connect;
    let strings = [Some(client_id), username, password];
    let len: usize = strings.iter().flatten().map(|string| 2 + string.len()).sum();
    write_head(CONNECT << 4, PROTOCOL.len() + 3 + len, out);
    out.extend_from_slice(PROTOCOL);
    out.push(
        u8::from(username.is_some()) << 7
            | u8::from(password.is_some()) << 6
            | u8::from(clean_session) << 1,
    );
    out.extend_from_slice(&keep_alive.to_be_bytes());
    strings.into_iter().flatten().for_each(|string| write_string(string, out));
}

/// Appends the acknowledgement of a delivery.
pub(super) fn write_puback(packet: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(&[PUBACK << 4, 2]);
    out.extend_from_slice(&packet.to_be_bytes());
}

fn write_head(first: u8, len: usize, out: &mut Vec<u8>) {
    out.reserve(1 + REMAINING_LEN_MAX + len);
    out.push(first);
    let mut rest = len;
    loop {
        let seven = rest.to_le_bytes()[0] & 0x7f;
        rest >>= 7;
        out.push(seven | if rest > 0 { 0x80 } else { 0 });
        if rest == 0 {
            return;
        }
    }
}

/// Appends `string` after its length. It has at most 65 535 bytes: commands are checked.
fn write_string(string: &str, out: &mut Vec<u8>) {
    let len = u16::try_from(string.len()).expect("a command has no longer strings");
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(string.as_bytes());
}

/// The meaning of a CONNACK code other than 0 (§3.2.2.3).
pub(super) const fn refusal(code: u8) -> &'static str {
    match code {
        1 => "unacceptable protocol version",
        2 => "client identifier rejected",
        3 => "server unavailable",
        4 => "bad user name or password",
        5 => "not authorized",
        _ => "a reserved code",
    }
}

const CONNECT: u8 = 1;
const CONNACK: u8 = 2;
const PUBLISH: u8 = 3;
const PUBACK: u8 = 4;
const PUBREC: u8 = 5;
const PUBREL: u8 = 6;
const PUBCOMP: u8 = 7;
const SUBSCRIBE: u8 = 8;
const SUBACK: u8 = 9;
const UNSUBSCRIBE: u8 = 10;
const UNSUBACK: u8 = 11;
const PINGREQ: u8 = 12;
const PINGRESP: u8 = 13;
const DISCONNECT: u8 = 14;

const QOS_2_NAMES: [&str; 3] = ["PUBREC", "PUBREL", "PUBCOMP"];

/// The name of the protocol and its level, which begin the rest of CONNECT (§3.1.2).
const PROTOCOL: &[u8] = b"\0\x04MQTT\x04";

/// The most bytes of a remaining length (§2.2.3).
const REMAINING_LEN_MAX: usize = 4;

/// The largest remaining length (§2.2.3).
pub(super) const LEN_MAX: usize = (1 << (7 * REMAINING_LEN_MAX)) - 1;
