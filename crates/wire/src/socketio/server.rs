//! The server's half of Engine.IO 4 and of the packets of Socket.IO in it, without sessions: it reads the requests of
//! HTTP polling and packets, and writes the answers.

use super::address::query_of;
use super::{PLACE, announcement_of, digits_of, is_binary_message, message_of};
use crate::connection::Connection;
use crate::contract::MisuseError;
use crate::excerpt::cut;
use crate::over_http::{SEPARATOR, binary_packet, bytes_in, is_binary};
use crate::sockjs::server::{JSON, Receiver, Request, respond};
use serde::de::IgnoredAny;
use spec::Transport;
use units::{Nanos, Random};

pub use super::upgrade::{NOOP, PROBE, PROBED, UPGRADE};

/// The action that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked<'a> {
    /// It asks for a new session.
    Open,
    /// It asks for the packets of a session.
    Poll {
        /// The name of the session.
        sid: &'a str,
    },
    /// It posts packets to a session.
    Post {
        /// The name of the session.
        sid: &'a str,
    },
    /// A browser asks if the page of another origin may make a request (CORS).
    Preflight,
    /// It breaks a rule.
    Wrong(Fault),
}

/// The ways in which a request can be wrong, by the numbers that Engine.IO gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It names a transport that does not exist.
    UnknownTransport = 0,
    /// It names a session that does not exist.
    UnknownSession = 1,
    /// It asks for a new session with a method other than `GET`.
    BadHandshakeMethod = 2,
    /// It is wrong in another way.
    BadRequest = 3,
    /// It is for a version of the protocol other than 4.
    UnsupportedVersion = 5,
}

impl<'a> Asked<'a> {
    /// Reads a request; `None` if its address is not one of Socket.IO.
    pub fn read(request: &Request<'a>) -> Option<Self> {
        let value = query_of(request.target)?;
        Some(match (request.method, value("transport"), value("sid"), value("EIO")) {
            ("OPTIONS", ..) => Self::Preflight,
            (_, None, ..) => Self::Wrong(Fault::UnknownTransport),
            (_, Some("websocket"), ..) => Self::Wrong(Fault::BadRequest), // It does not ask for an upgrade.
            (_, Some(transport), ..) if transport != "polling" => {
                Self::Wrong(Fault::UnknownTransport)
            }
            ("GET", _, Some(sid), _) => Self::Poll { sid },
            ("POST", _, Some(sid), _) => Self::Post { sid },
            (_, _, Some(_), _) => Self::Wrong(Fault::BadRequest),
            ("GET", _, None, Some("4")) => Self::Open,
            ("GET", _, None, _) => Self::Wrong(Fault::UnsupportedVersion),
            (_, _, None, _) => Self::Wrong(Fault::BadHandshakeMethod),
        })
    }
}

/// A packet of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// An attachment of the packet that has announced it.
    Attachment(Box<[u8]>),
    /// It ends the session.
    Close,
    /// A packet of Socket.IO.
    Inside {
        /// The namespace as written in packets, with its leading slash and a trailing comma; empty for the default one.
        namespace: String,
        /// The packet.
        packet: Packet,
        /// The attachments that follow.
        attachments: usize,
    },
    /// One that needs no answer.
    Nothing,
    /// It answers a ping.
    Pong,
}

/// A packet of a client of Socket.IO, which is about a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet {
    /// It acknowledges an event of the server.
    Acknowledged,
    /// An event called `message` whose only attachment is a message.
    Binary {
        /// The number under which the client wants an acknowledgement.
        ack: Option<u64>,
    },
    /// It joins the namespace.
    Connect,
    /// It joins the namespace again, after a lost connection.
    Return {
        /// The id with which it comes back.
        pid: String,
        /// The offset of the last event that it has seen.
        offset: u64,
    },
    /// It leaves the namespace.
    Disconnect,
    /// An event called `message` with one text.
    Message {
        /// The text.
        text: String,
        /// The number under which the client wants an acknowledgement.
        ack: Option<u64>,
    },
    /// Any other event.
    OtherEvent {
        /// The number under which the client wants an acknowledgement.
        ack: Option<u64>,
    },
}

/// The packets in the body of a post; `None` if one of them is not a packet: the session must be closed.
pub fn packets(body: &[u8]) -> Option<Vec<Said>> {
    let read = |packet| match is_binary(packet) {
        true => Some(Said::Attachment(bytes_in(packet)?.into())),
        false => Said::read(str::from_utf8(packet).ok()?),
    };
    body.split(|byte| *byte == SEPARATOR).map(read).collect()
}

/// The data of a client that joins a namespace again.
#[derive(serde::Deserialize)]
struct Return {
    pid: String,
    offset: String,
}

impl Said {
    /// Reads one packet of text; `None` if it is not one that a client sends in a session: the session must be closed.
    pub fn read(packet: &str) -> Option<Self> {
        match (packet, packet.split_at_checked(1)?) {
            _ if packet.contains(char::from(SEPARATOR)) => None,
            ("1", _) => Some(Self::Close),
            (_, ("3", _)) => Some(Self::Pong),
            (_, ("4", packet)) => Self::read_inside(packet),
            ("6", _) => Some(Self::Nothing),
            // Only servers send pings and the opening packet; an upgrade has a connection of its own.
            _ => None,
        }
    }

    /// Reads a packet of Socket.IO.
    fn read_inside(packet: &str) -> Option<Self> {
        let (kind, rest) = packet.split_at_checked(1)?;
        let (attachments, rest) = match kind {
            "5" | "6" => announcement_of(packet, rest).ok()?,
            _ => (0, rest),
        };
        let (name, rest) = match rest.starts_with('/') {
            true => rest.split_once(',').unwrap_or((rest, "")),
            false => ("/", rest),
        };
        let namespace = if name == "/" { String::new() } else { format!("{name},") };
        let (ack, data) = rest.split_at(digits_of(rest));
        let ack = if ack.is_empty() { None } else { Some(ack.parse().ok()?) };
        let packet = match kind {
            "0" => match serde_json::from_str(data) {
                Ok(Return { pid, offset }) => match offset.parse() {
                    Ok(offset) => Packet::Return { pid, offset },
                    Err(_) => Packet::Connect,
                },
                Err(_) => Packet::Connect,
            },
            "1" => Packet::Disconnect,
            "2" => match message_of(data, false) {
                Ok(Some(text)) => Packet::Message { text: text.into_owned(), ack },
                Ok(None) => Packet::OtherEvent { ack },
                // A message that carries something other than a text.
                Err(_) => {
                    let _event: Vec<IgnoredAny> = serde_json::from_str(data).ok()?;
                    Packet::OtherEvent { ack }
                }
            },
            "3" => Packet::Acknowledged,
            "5" | "6" => match (kind, is_binary_message(packet, data, attachments, false).ok()?) {
                ("5", true) => Packet::Binary { ack },
                ("5", false) => Packet::OtherEvent { ack },
                (_, _) => Packet::Acknowledged,
            },
            _ => return None,
        };
        Some(Self::Inside { namespace, packet, attachments })
    }
}

/// The event of a namespace that carries a text, given as JSON, followed by an offset if it has one.
pub fn message(namespace: &str, json: &str, offset: Option<u64>) -> String {
    format!("42{namespace}[\"message\",{json}{}]", behind(offset))
}

/// The event of a namespace that announces a binary message, which is its attachment.
pub fn binary_message(namespace: &str, offset: Option<u64>) -> String {
    format!("451-{namespace}[\"message\",{PLACE}{}]", behind(offset))
}

/// An offset, as written after what an event carries.
fn behind(offset: Option<u64>) -> String {
    offset.map_or_else(String::new, |offset| format!(",\"{offset}\""))
}

/// The packet of a binary message, as delivered by polls.
pub fn attachment(bytes: &[u8]) -> String {
    String::from_utf8(binary_packet(bytes)).expect("Base64 is ASCII")
}

/// The packet that acknowledges an event.
pub fn acknowledged(namespace: &str, ack: u64) -> String {
    format!("43{namespace}{ack}[]")
}

/// The packet that opens a session: the settings of both ends, and the transport to which polling may be upgraded.
pub fn opening(sid: &str, transport: Transport) -> String {
    let [every, timeout] = [PING_EVERY, PING_TIMEOUT].map(|time| time.0 / 1_000_000);
    let upgrades = if transport == Transport::Polling { "\"websocket\"" } else { "" };
    format!(
        "0{{\"sid\":\"{sid}\",\"upgrades\":[{upgrades}],\"pingInterval\":{every},\"pingTimeout\":{timeout},\
         \"maxPayload\":{PAYLOAD_LEN_MAX}}}"
    )
}

/// The packet that says that a client has joined a namespace, where its name is `sid`, and may come back with `pid`.
pub fn connected(namespace: &str, sid: &str, pid: Option<&str>) -> String {
    let pid = pid.map_or_else(String::new, |pid| format!(",\"pid\":\"{pid}\""));
    format!("40{namespace}{{\"sid\":\"{sid}\"{pid}}}")
}

/// The packet that says that a client cannot join a namespace; it has only the beginning of a long name.
pub fn no_namespace(namespace: &str) -> String {
    let name = cut(namespace.strip_suffix(',').unwrap_or(namespace), NAMESPACE_LEN_MAX);
    format!("44{name},{{\"message\":\"Invalid namespace\"}}")
}

/// Adds a packet to those that wait for the same response.
pub fn add(packet: &str, waiting: &mut String) {
    if !waiting.is_empty() {
        waiting.push(char::from(SEPARATOR));
    }
    waiting.push_str(packet);
}

/// A new name for a session. It contains a dot, unlike names of SockJS sessions.
pub fn new_sid(random: &mut Random) -> String {
    let letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    let mut sid: String =
        (0..20).map(|_| char::from(letters[random.below(letters.len())])).collect();
    sid.insert(10, '.');
    sid
}

/// Refuses a request.
///
/// # Errors
///
/// No request waits for an answer.
pub fn refuse(
    machine: &mut Connection,
    fault: Fault,
    origin: Option<&str>,
    tx: &mut Vec<u8>,
) -> Result<(), MisuseError> {
    let words = match fault {
        Fault::UnknownTransport => "Transport unknown",
        Fault::UnknownSession => "Session ID unknown",
        Fault::BadHandshakeMethod => "Bad handshake method",
        Fault::BadRequest => "Bad request",
        Fault::UnsupportedVersion => "Unsupported protocol version",
    };
    let body = format!("{{\"code\":{},\"message\":\"{words}\"}}", fault as u8);
    respond(machine, "400 Bad Request", JSON, &body, origin, tx)
}

/// The way in which packets reach a client that polls.
pub const POLL: Receiver<'static> = Receiver { transport: Transport::Polling, callback: "" };

/// The way in which packets reach a client over WebSocket: each is a message.
pub const SOCKET: Receiver<'static> = Receiver { transport: Transport::Usual, callback: "" };

/// Time from the opening of its WebSocket after which an incomplete upgrade is given up, as with Socket.IO.
pub const UPGRADE_TIMEOUT: Nanos = Nanos::from_secs(10);

/// The packet that answers a poll of a session that the server has ended.
pub const CLOSE: &str = "1";

/// The packet that a client answers with a pong.
pub const PING: &str = "2";

/// The longest name of a namespace that is kept or repeated, in bytes, including its slash.
pub const NAMESPACE_LEN_MAX: usize = 256;

/// The longest body of a post, in bytes, as with Socket.IO.
pub const PAYLOAD_LEN_MAX: usize = 1_000_000;

/// Time from the last pong to the next ping, as with Socket.IO.
pub const PING_EVERY: Nanos = Nanos::from_secs(25);

/// Time after which a session ends whose ping is not answered, as with Socket.IO.
pub const PING_TIMEOUT: Nanos = Nanos::from_secs(20);

/// Time after its beginning at which a session ends if its client has not joined the default namespace, as with
/// Socket.IO.
pub const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(45);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Event, Input, Protocol};
    use crate::http1::Http1;
    use crate::transcript::HTTP_LIMITS;

    #[test]
    fn requests_are_known_by_path_query_and_method() {
        let wrong = |fault| Some(Asked::Wrong(fault));
        #[rustfmt::skip]
        let table = [
            ("GET /socket.io/?EIO=4&transport=polling",              Some(Asked::Open)),
            ("GET /a/socket.io?transport=polling&t=1&EIO=4",         Some(Asked::Open)),
            ("GET /socket.io/?EIO=4&transport=polling&sid=a.b",      Some(Asked::Poll { sid: "a.b" })),
            ("GET /socket.io/?transport=polling&sid=a.b",            Some(Asked::Poll { sid: "a.b" })),
            ("POST /socket.io/?EIO=4&transport=polling&sid=a.b",     Some(Asked::Post { sid: "a.b" })),
            ("OPTIONS /socket.io/?EIO=4&transport=polling&sid=a.b",  Some(Asked::Preflight)),
            ("GET /socket.io/?EIO=4",                                wrong(Fault::UnknownTransport)),
            ("GET /socket.io/?EIO=4&transport=abc",                  wrong(Fault::UnknownTransport)),
            ("GET /socket.io/?EIO=4&transport=websocket",            wrong(Fault::BadRequest)),
            ("GET /socket.io/",                                      wrong(Fault::UnknownTransport)),
            ("POST /socket.io/?EIO=4&transport=polling",             wrong(Fault::BadHandshakeMethod)),
            ("PUT /socket.io/?EIO=4&transport=polling",              wrong(Fault::BadHandshakeMethod)),
            ("PUT /socket.io/?EIO=4&transport=polling&sid=a.b",      wrong(Fault::BadRequest)),
            ("GET /socket.io/?transport=polling",                    wrong(Fault::UnsupportedVersion)),
            ("GET /socket.io/?EIO=3&transport=polling",              wrong(Fault::UnsupportedVersion)),
            ("GET /socket.io/?EIO=abc&transport=polling",            wrong(Fault::UnsupportedVersion)),
            ("GET /socket.iox/?EIO=4&transport=polling",             None),
            ("GET /rooms",                                           None),
        ];
        for (line, expected) in table {
            let request = format!("{line} HTTP/1.1\r\nHost: h\r\n\r\n");
            assert_eq!(Asked::read(&Request::read(request.as_bytes())), expected, "{line}");
        }
    }

    #[test]
    fn packets_of_a_client_are_read_and_nonsense_is_not() {
        let announced = |namespace: &str, packet, attachments| Said::Inside {
            namespace: namespace.to_owned(),
            packet,
            attachments,
        };
        let inside = |namespace: &str, packet| announced(namespace, packet, 0);
        let with = |attachments, packet| Some(vec![announced("", packet, attachments)]);
        let binary = |ack| Packet::Binary { ack };
        let other = |ack| Packet::OtherEvent { ack };
        let places = "{\"_placeholder\":true,\"num\":1},{\"_placeholder\":true,\"num\":0}";
        let two = format!("452-3[\"message\",{places}]");
        let with_its_attachment = format!("451-/admin,7[\"message\",{PLACE}]\u{1e}bAQID");
        let in_one_body =
            vec![announced("/admin,", binary(Some(7)), 1), Said::Attachment([1, 2, 3].into())];
        let message = |text: &str, ack| inside("", Packet::Message { text: text.to_owned(), ack });
        let in_admin = |packet| Some(vec![inside("/admin,", packet)]);
        let one = |packet| Some(vec![inside("", packet)]);
        let a = Packet::Message { text: "a".to_owned(), ack: Some(7) };
        #[rustfmt::skip]
        let table = [
            ("40",                                   one(Packet::Connect)),
            ("40{\"token\":\"a\"}",                  one(Packet::Connect)),
            ("40{\"pid\":\"p\",\"offset\":\"7\"}",   one(Packet::Return { pid: "p".to_owned(), offset: 7 })),
            ("40/admin,{\"offset\":\"7\",\"pid\":\"p\",\"token\":1}", in_admin(Packet::Return { pid: "p".to_owned(), offset: 7 })),
            ("40{\"pid\":\"p\",\"offset\":\"a\"}",   one(Packet::Connect)),
            ("40{\"pid\":\"p\"}",                   one(Packet::Connect)),
            ("40/,",                                 one(Packet::Connect)),
            ("40/admin",                             in_admin(Packet::Connect)),
            ("40/admin,",                            in_admin(Packet::Connect)),
            ("40/admin,{}",                          in_admin(Packet::Connect)),
            ("42/admin,7[\"message\",\"a\"]",        in_admin(a)),
            ("42/admin,[\"news\"]",                  in_admin(Packet::OtherEvent { ack: None })),
            ("43/admin,0[]",                         in_admin(Packet::Acknowledged)),
            ("41/admin,",                            in_admin(Packet::Disconnect)),
            ("41",                                   one(Packet::Disconnect)),
            ("42[\"message\",\"a\"]",                Some(vec![message("a", None)])),
            ("4212[\"message\",\"\\u0041\"]",       Some(vec![message("A", Some(12))])),
            ("42/,[\"message\",\"a\"]",              Some(vec![message("a", None)])),
            ("42[\"news\",{}]",                      one(Packet::OtherEvent { ack: None })),
            ("4212[\"message\",1]",                  one(Packet::OtherEvent { ack: Some(12) })),
            ("430[]",                                one(Packet::Acknowledged)),
            ("1",                                    Some(vec![Said::Close])),
            ("3",                                    Some(vec![Said::Pong])),
            ("6",                                    Some(vec![Said::Nothing])),
            ("3\u{1e}42[\"message\",\"a\"]\u{1e}1", Some(vec![Said::Pong, message("a", None), Said::Close])),
            ("",                                     None),
            ("3\u{1e}",                              None),
            ("0{}",                                  None),
            ("2",                                    None), // Only servers send pings.
            ("5",                                    None),
            ("abc",                                  None),
            ("bAQID",                                Some(vec![Said::Attachment([1, 2, 3].into())])),
            ("b",                                    Some(vec![Said::Attachment([].into())])),
            (&*with_its_attachment,                 Some(in_one_body)),
            (&*two,                                 with(2, other(Some(3)))),
            ("451-[\"message\",{\"_placeholder\":true,\"num\":0}]", with(1, binary(None))),
            ("451-[\"news\",{\"_placeholder\":true,\"num\":0}]", with(1, other(None))),
            ("451-[\"message\",{\"_placeholder\":true,\"num\":0},1]", with(1, other(None))),
            ("451-[\"message\",\"a\"]",              with(1, other(None))),
            ("450-[\"message\",\"a\"]",              None),
            ("461-7[{\"_placeholder\":true,\"num\":0}]", with(1, Packet::Acknowledged)),
            ("bAQ",                                  None),
            ("bA:ID",                                None),
            ("45[\"message\",\"a\"]",                None),
            ("45-[\"message\",\"a\"]",               None),
            ("45+1-[\"message\"]",                   None),
            ("4511-[\"message\"]",                   None),
            ("451-{}",                               None),
            ("451-[\"message\"",                     None),
            ("451-[\"message\",{\"_placeholder\":true,\"num\":1}]", None),
            ("451-[\"message\",{\"_placeholder\":true,\"num\":-1}]", None),
            ("451-[\"message\",{\"_placeholder\":true}]", None),
            ("462-[{\"_placeholder\":true,\"num\":2}]", None),
            ("4",                                    None),
            ("4abc",                                 None),
            ("42{}",                                 None),
            ("42[\"message\",\"a\"",                 None),
            ("42[\"message\",\"a\"]x",               None),
            ("4299999999999999999999[\"message\",\"a\"]", None),
        ];
        for (body, expected) in table {
            assert_eq!(packets(body.as_bytes()), expected, "{body:?}");
        }
        assert_eq!(packets(b"4\xff"), None);
        assert_eq!(Said::read("3\u{1e}3"), None);
    }

    #[test]
    fn a_refusal_has_the_number_and_the_words_of_engine_io() {
        #[rustfmt::skip]
        let table = [
            (Fault::UnknownTransport,   r#"{"code":0,"message":"Transport unknown"}"#),
            (Fault::UnknownSession,     r#"{"code":1,"message":"Session ID unknown"}"#),
            (Fault::BadHandshakeMethod, r#"{"code":2,"message":"Bad handshake method"}"#),
            (Fault::BadRequest,         r#"{"code":3,"message":"Bad request"}"#),
            (Fault::UnsupportedVersion, r#"{"code":5,"message":"Unsupported protocol version"}"#),
        ];
        for (fault, expected) in table {
            let mut machine = Connection::from(Http1::whole_requests(HTTP_LIMITS));
            let (mut request, mut tx) = (b"GET / HTTP/1.1\r\nHost: h\r\n\r\n".to_vec(), Vec::new());
            let heard = machine.receive(&mut Input::new(&mut request), &mut tx);
            assert!(matches!(heard, Ok(Some(Event::Message(_)))), "{heard:?}");
            refuse(&mut machine, fault, None, &mut tx).unwrap();
            let answer = String::from_utf8(tx).unwrap();
            assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
            assert!(answer.contains("\r\nContent-Type: application/json"), "{answer}");
            assert!(answer.ends_with(&format!("\r\n\r\n{expected}")), "{answer}");
        }
    }

    #[test]
    fn the_opening_packet_says_what_both_ends_keep_to() {
        for (way, upgrades) in [(POLL, &["websocket"][..]), (SOCKET, &[])] {
            let opening = opening("a.b", way.transport);
            let json: serde_json::Value =
                serde_json::from_str(opening.strip_prefix('0').unwrap()).unwrap();
            let expected = serde_json::json!({
                "sid": "a.b", "upgrades": upgrades, "pingInterval": 25_000, "pingTimeout": 20_000,
                "maxPayload": 1_000_000,
            });
            assert_eq!(json, expected);
        }
        let mut random = Random::new(7);
        let (sid, other) = (new_sid(&mut random), new_sid(&mut random));
        assert!(sid != other && sid.len() == 21, "{sid} {other}");
    }
}
