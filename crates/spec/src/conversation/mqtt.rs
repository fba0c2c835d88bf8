//! The texts that represent MQTT 3.1.1 packets in a conversation whose frame is `"mqtt"`.
//!
//! ```text
//! CONNECT                      PUBLISH bench/3 qos=1 retain id=10000017     SUBSCRIBE bench/# qos=0 id=10000018
//! client-id=bench-3            the payload, to the end of the message       UNSUBSCRIBE bench/# id=10000019
//! keep-alive=60                                                             PINGREQ
//! clean-session=true                                                        DISCONNECT
//! username=u
//! password=p
//! ```
//!
//! `id` is not sent: the text of the packet's acknowledgement repeats it. Words may be left out: `qos` is then 0, and a
//! session clean.
//!
//! Start reading at [`MqttCommand::parse`]. Left out: bytes, and texts of what a server sends (`wire::mqtt`).

use super::{Piece, Template};
use crate::suggestions::expected;

/// A packet that a client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MqttCommand<'t> {
    /// CONNECT, the first packet (§3.1).
    Connect(MqttConnect<'t>),
    /// DISCONNECT, the last one (§3.14).
    Disconnect,
    /// PINGREQ (§3.12).
    Ping,
    /// PUBLISH (§3.3).
    Publish {
        /// The topic.
        topic: &'t str,
        /// True for QoS 1, which the server acknowledges; false for QoS 0.
        acknowledged: bool,
        /// True if the server keeps the message for those who subscribe later.
        retain: bool,
        /// The number that the text of the acknowledgement repeats; `None`: without one.
        id: Option<u64>,
        /// The payload.
        payload: &'t [u8],
    },
    /// SUBSCRIBE with one filter (§3.8).
    Subscribe {
        /// The filter of topics.
        filter: &'t str,
        /// True for QoS 1, false for QoS 0.
        acknowledged: bool,
        /// As above.
        id: Option<u64>,
    },
    /// UNSUBSCRIBE with one filter (§3.10).
    Unsubscribe {
        /// The filter of topics.
        filter: &'t str,
        /// As above.
        id: Option<u64>,
    },
}

/// The fields of CONNECT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MqttConnect<'t> {
    /// The name of the client, which identifies its session; the server disconnects another client of the same name.
    pub client_id: &'t str,
    /// The longest silence of the client, in seconds; 0: any (§3.1.2.10).
    pub keep_alive: u16,
    /// True if the server keeps nothing of the session.
    pub clean_session: bool,
    /// The name of the user.
    pub username: Option<&'t str>,
    /// The password.
    pub password: Option<&'t str>,
}

/// A text that is not a packet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct MqttError {
    message: String,
}

impl<'t> MqttCommand<'t> {
    /// The packet that `text` describes.
    ///
    /// # Errors
    ///
    /// There is no such packet, or MQTT does not allow it. The payload of PUBLISH may be any bytes.
    pub fn parse(text: &'t [u8]) -> Result<Self, MqttError> {
        let end = text.iter().position(|byte| *byte == b'\n');
        let (line, rest) = text.split_at(end.unwrap_or(text.len()));
        let rest = rest.get(1..);
        let line = utf8(line, "the first line")?;
        let (name, words) =
            line.split_once(' ').map_or((line, None), |(name, words)| (name, Some(words)));
        let alone = |command| match (words, rest) {
            (None, None | Some([])) => Ok(command),
            _ => Err(error(format!("{name} stands alone; leave out what follows it"))),
        };
        match name {
            "CONNECT" if words.is_none() => connect(utf8(rest.unwrap_or_default(), "CONNECT")?),
            "CONNECT" => Err(error(
                "CONNECT stands alone in its line; a field is a line of its own below it, as in client-id=bench",
            )),
            "DISCONNECT" => alone(Self::Disconnect),
            "PINGREQ" => alone(Self::Ping),
            "PUBLISH" => publish(words, rest.unwrap_or_default()),
            "SUBSCRIBE" | "UNSUBSCRIBE" if !rest.unwrap_or_default().is_empty() => {
                Err(error(format!("{name} is one line; only PUBLISH has a payload below it")))
            }
            "SUBSCRIBE" => {
                let (filter, Words { acknowledged, id, .. }) = place(words, name, &["qos", "id"])?;
                Ok(Self::Subscribe { filter: check_filter(filter)?, acknowledged, id })
            }
            "UNSUBSCRIBE" => {
                let (filter, Words { id, .. }) = place(words, name, &["id"])?;
                Ok(Self::Unsubscribe { filter: check_filter(filter)?, id })
            }
            _ => {
                let expected = expected(name, NAMES.into_iter());
                Err(error(format!("`{name}` is not a packet that an MQTT client sends{expected}")))
            }
        }
    }
}

fn connect(fields: &str) -> Result<MqttCommand<'_>, MqttError> {
    let mut connect = MqttConnect {
        client_id: "",
        keep_alive: 0,
        clean_session: true,
        username: None,
        password: None,
    };
    for line in fields.lines().filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        check_string(value, name)?;
        match name {
            "client-id" => connect.client_id = value,
            "keep-alive" => {
                let range = || {
                    error(format!(
                        "keep-alive=`{value}` is not a number of seconds from 0 to 65535"
                    ))
                };
                connect.keep_alive = value.parse().map_err(|_| range())?;
            }
            "clean-session" => {
                let truth = || error(format!("clean-session=`{value}` is neither true nor false"));
                connect.clean_session = value.parse().map_err(|_| truth())?;
            }
            "username" => connect.username = Some(value),
            "password" => connect.password = Some(value),
            _ => {
                let expected = expected(name, FIELDS.into_iter());
                return Err(error(format!("CONNECT has no field `{name}`{expected}")));
            }
        }
    }
    if connect.client_id.is_empty() && !connect.clean_session {
        return Err(error("a session that is kept needs a client-id (MQTT 3.1.1, §3.1.3.1)"));
    }
    if connect.password.is_some() && connect.username.is_none() {
        return Err(error("a password needs a username (MQTT 3.1.1, §3.1.2.9)"));
    }
    Ok(MqttCommand::Connect(connect))
}

fn publish<'t>(words: Option<&'t str>, payload: &'t [u8]) -> Result<MqttCommand<'t>, MqttError> {
    let (topic, Words { acknowledged, retain, id }) =
        place(words, "PUBLISH", &["qos", "retain", "id"])?;
    if topic.contains(['#', '+']) {
        return Err(error(format!(
            "the topic `{topic}` has a wildcard, which only a filter can have (MQTT 3.1.1, §3.3.2.1)"
        )));
    }
    if id.is_some() && !acknowledged {
        return Err(error(
            "`id` is reported with the acknowledgement, and QoS 0 has none; say qos=1, or leave it out",
        ));
    }
    Ok(MqttCommand::Publish { topic, acknowledged, retain, id, payload })
}

/// The words after a topic or filter.
#[derive(Default)]
struct Words {
    acknowledged: bool,
    retain: bool,
    id: Option<u64>,
}

/// The topic or filter, and the words after it; only those in `known` are allowed.
fn place<'t>(
    words: Option<&'t str>,
    name: &str,
    known: &[&str],
) -> Result<(&'t str, Words), MqttError> {
    let mut words = words.unwrap_or_default().split(' ');
    let place = words.next().unwrap_or_default();
    if place.is_empty() {
        return Err(error(format!("{name} needs a topic after a space, as in {name} bench/1")));
    }
    check_string(place, "the topic")?;
    let mut found = Words::default();
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key {
            _ if !known.contains(&key) => {
                let expected = expected(key, known.iter().copied());
                return Err(error(format!(
                    "{name} has no option `{word}`{expected}; a topic has no spaces here"
                )));
            }
            "retain" if value.is_empty() => found.retain = true,
            "qos" if matches!(value, "0" | "1") => found.acknowledged = value == "1",
            "qos" => return Err(error(format!("`{word}`: only qos=0 and qos=1 are supported"))),
            "id" if value.parse::<u64>().is_ok() => found.id = value.parse().ok(),
            _ => {
                return Err(error(format!(
                    "{name} has no option `{word}`: an id is a number, and retain has no value"
                )));
            }
        }
    }
    Ok((place, found))
}

/// Refuses a filter with a wildcard that is only a part of a level, or with `#` before its end (§4.7.1).
fn check_filter(filter: &str) -> Result<&str, MqttError> {
    let levels: Vec<&str> = filter.split('/').collect();
    let is_whole = |level: &&str| level.len() == 1 || !level.contains(['#', '+']);
    let is_last = !levels[..levels.len() - 1].contains(&"#");
    if levels.iter().all(is_whole) && is_last {
        return Ok(filter);
    }
    Err(error(format!(
        "the filter `{filter}`: `+` stands for a whole level, and `#` for all levels at the end (MQTT 3.1.1, §4.7.1)"
    )))
}

fn check_string(value: &str, name: &str) -> Result<(), MqttError> {
    let max = usize::from(u16::MAX);
    if value.len() > max {
        let len = value.len();
        return Err(error(format!(
            "{name} has {len} bytes; at most {max} are possible (MQTT 3.1.1, §1.5.3)"
        )));
    }
    if value.contains('\0') {
        return Err(error(format!(
            "{name} has a NUL, which no string of MQTT may have (MQTT 3.1.1, §1.5.3)"
        )));
    }
    Ok(())
}

fn utf8<'t>(bytes: &'t [u8], name: &str) -> Result<&'t str, MqttError> {
    std::str::from_utf8(bytes)
        .map_err(|_| error(format!("{name} is not UTF-8 (MQTT 3.1.1, §1.5.3)")))
}

fn error(message: impl Into<String>) -> MqttError {
    MqttError { message: message.into() }
}

/// Refuses a template that does not make a packet, CONNECT anywhere but first, and anything else first.
pub(super) fn check(template: &Template, is_first: bool) -> Result<(), MqttError> {
    match (MqttCommand::parse(sample(template).as_bytes())?, is_first) {
        (MqttCommand::Connect(_), true) => Ok(()),
        (MqttCommand::Connect(_), false) => {
            Err(error("CONNECT is sent once, first (MQTT 3.1.1, §3.1)"))
        }
        (_, true) => Err(error("MQTT begins with \"CONNECT\\nclient-id=…\" (MQTT 3.1.1, §3.1)")),
        (_, false) => Ok(()),
    }
}

/// The template with its holes filled in: values with `1`, paddings with as many letters.
fn sample(template: &Template) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Bytes(_) | Piece::Number { .. } => String::new(),
        Piece::Id
        | Piece::Now
        | Piece::NowMs
        | Piece::Client
        | Piece::ClientModulo(_)
        | Piece::Room
        | Piece::Header
        | Piece::Payload { .. }
        | Piece::Var { .. } => "1".to_owned(),
        Piece::Pad(len) | Piece::Random(len) => "x".repeat(*len as usize),
    };
    template.0.iter().map(piece).collect()
}

/// The packets that a client sends here.
const NAMES: [&str; 6] =
    ["CONNECT", "DISCONNECT", "PINGREQ", "PUBLISH", "SUBSCRIBE", "UNSUBSCRIBE"];

/// The fields of CONNECT.
const FIELDS: [&str; 5] = ["client-id", "keep-alive", "clean-session", "username", "password"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Conversation;

    const PLAIN: MqttConnect<'_> = MqttConnect {
        client_id: "c",
        keep_alive: 0,
        clean_session: true,
        username: None,
        password: None,
    };

    #[test]
    fn a_text_is_a_packet() {
        use MqttCommand::{Connect, Disconnect, Ping, Publish, Subscribe, Unsubscribe};
        let publish = |topic, acknowledged, retain, id, payload| Publish {
            topic,
            acknowledged,
            retain,
            id,
            payload,
        };
        let all = MqttConnect {
            client_id: "a b",
            keep_alive: 65_535,
            clean_session: false,
            username: Some("u=v"),
            password: Some(""),
        };
        #[rustfmt::skip]
        let table: [(&[u8], MqttCommand<'_>); _] = [
            (b"CONNECT\nclient-id=c",             Connect(PLAIN)),
            (b"CONNECT\n\nclient-id=c\n",         Connect(PLAIN)),
            (b"CONNECT",                          Connect(MqttConnect { client_id: "", ..PLAIN })),
            (b"CONNECT\nclient-id=a b\nkeep-alive=65535\nclean-session=false\nusername=u=v\npassword=", Connect(all)),
            (b"DISCONNECT",                       Disconnect),
            (b"PINGREQ\n",                        Ping),
            (b"PUBLISH a/b",                      publish("a/b", false, false, None, b"")),
            (b"PUBLISH a qos=1 retain id=7\nx\ny\xff", publish("a", true, true, Some(7), b"x\ny\xff")),
            (b"PUBLISH a qos=0\n",                publish("a", false, false, None, b"")),
            (b"SUBSCRIBE a/+/# qos=1 id=1",       Subscribe { filter: "a/+/#", acknowledged: true, id: Some(1) }),
            (b"SUBSCRIBE #",                      Subscribe { filter: "#", acknowledged: false, id: None }),
            (b"UNSUBSCRIBE + id=2",               Unsubscribe { filter: "+", id: Some(2) }),
        ];
        for (text, command) in table {
            assert_eq!(MqttCommand::parse(text), Ok(command), "{}", text.escape_ascii());
        }
    }

    #[test]
    fn a_text_that_is_none_is_told_with_what_to_write() {
        let long = format!("PUBLISH {}", "a".repeat(65_536));
        #[rustfmt::skip]
        let table: [(&[u8], &str); _] = [
            (b"",                            "`` is not a packet that an MQTT client sends; expected CONNECT,"),
            (b"PUBLSH a",                    "`PUBLSH` is not a packet that an MQTT client sends; did you mean `PUBLISH`?"),
            (b"PUBACK 1",                    "`PUBACK` is not a packet that an MQTT client sends"),
            (b"\xff",                        "the first line is not UTF-8"),
            (b"CONNECT client-id=c",         "a field is a line of its own below it"),
            (b"CONNECT\nclientid=c",         "no field `clientid`; did you mean `client-id`?"),
            (b"CONNECT\nkeep-alive=65536",   "keep-alive=`65536` is not a number of seconds"),
            (b"CONNECT\nclean-session=no",   "clean-session=`no` is neither true nor false"),
            (b"CONNECT\nclean-session=false", "a session that is kept needs a client-id"),
            (b"CONNECT\npassword=p",         "a password needs a username"),
            (b"CONNECT\nclient-id=a\0",      "client-id has a NUL"),
            (b"PINGREQ now",                 "PINGREQ stands alone"),
            (b"DISCONNECT\nx",               "DISCONNECT stands alone"),
            (b"PUBLISH",                     "PUBLISH needs a topic"),
            (b"PUBLISH  a",                  "PUBLISH needs a topic"),
            (b"PUBLISH a/#",                 "the topic `a/#` has a wildcard"),
            (b"PUBLISH a qos=2",             "only qos=0 and qos=1 are supported"),
            (b"PUBLISH a qoss=1",            "PUBLISH has no option `qoss=1`; did you mean `qos`?"),
            (b"PUBLISH a id=1",              "QoS 0 has none"),
            (b"PUBLISH a qos=1 id=x",        "PUBLISH has no option `id=x`: an id is a number"),
            (b"PUBLISH a retain=1",          "retain has no value"),
            (b"SUBSCRIBE a\nb",              "SUBSCRIBE is one line"),
            (b"SUBSCRIBE a retain",          "SUBSCRIBE has no option `retain`"),
            (b"SUBSCRIBE a/b#",              "the filter `a/b#`"),
            (b"SUBSCRIBE #/a",               "the filter `#/a`"),
            (long.as_bytes(),                "the topic has 65536 bytes; at most 65535"),
        ];
        for (text, message) in table {
            let error = MqttCommand::parse(text).unwrap_err().to_string();
            assert!(error.contains(message), "{}: {error}", text.escape_ascii());
        }
    }

    #[test]
    fn a_file_is_told_where_it_makes_no_packet() {
        let file = |head: &str, open: &str, send: &str, rest: &str| {
            let text = format!(
                "{head}\nframe = \"mqtt\"\n[[open]]\nsend = \"{open}\"\nexpect = {{ starts = \"CONNACK accepted\" }}\n\
                 [request.publish]\nsend = \"{send}\"\nreply = {{ starts = \"PUBACK\" }}\n{rest}"
            );
            Conversation::read("m", &text)
        };
        let (tcp, connect) = ("speaks = \"tcp\"", "CONNECT\\nclient-id=c-${client}\\nkeep-alive=9");
        let good = "PUBLISH a/${client} qos=1 id=${id}\\n${pad:8}";
        file(tcp, connect, good, "").unwrap();
        file("speaks = \"ws\"\nsubprotocols = [\"mqtt\"]", connect, good, "").unwrap();
        #[rustfmt::skip]
        let table = [
            (file("speaks = \"ws\"", connect, good, ""),  "needs [\"mqtt\"]"),
            (file(tcp, "PINGREQ", good, ""),              "MQTT begins with"),
            (file(tcp, "CONNECT\\nclientid=c", good, ""), "did you mean `client-id`?"),
            (file(tcp, connect, "PUBLISH a qos=3", ""),   "only qos=0 and qos=1"),
            (file(tcp, connect, "CONNECT", ""),           "CONNECT is sent once, first"),
            (file(tcp, connect, good, "[beat]\nevery = \"1s\"\nsend = \"PING\""), "did you mean `PINGREQ`?"),
        ];
        for (read, message) in table {
            let error = read.unwrap_err().to_string();
            assert!(error.contains(message) && error.starts_with("m:"), "{error}");
        }
    }
}
