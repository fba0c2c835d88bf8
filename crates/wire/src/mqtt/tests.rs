//! Packets as servers send them, whole and in pieces, and as clients do.

use super::fuzz::{PACKET_MAX, awaiting};
use super::packet::{self, Packet};
use super::{Mqtt, PeerError};
use crate::connection::Connection;
use crate::contract::{Event, Input, Kind, Message, MisuseError, Protocol, Side};
use crate::conversation::packets;
use crate::transcript::check_splits_of_replies;
use crate::websocket::{Limits, WebSocket};
use spec::conversation::{MqttCommand, MqttConnect};
use units::Random;

const ACCEPTED: &[u8] = b"\x20\x02\0\0";

fn events(bytes: &[u8]) -> Vec<String> {
    let mut events =
        check_splits_of_replies(bytes, &|| awaiting(packets(PACKET_MAX).into())).events;
    events.retain(|event| !event.starts_with("end: closed"));
    events
}

#[test]
fn commands_are_the_bytes_of_the_standard() {
    let connect = "CONNECT\nclient-id=c\nkeep-alive=60\nusername=u\npassword=p";
    #[rustfmt::skip]
    let table: [(&str, &[u8]); _] = [
        (connect,                          b"\x10\x13\0\x04MQTT\x04\xc2\0\x3c\0\x01c\0\x01u\0\x01p"),
        ("PUBLISH a qos=0 retain\nhi",     b"\x31\x05\0\x01ahi"),
        ("PUBLISH a qos=1 id=9\nhi",       b"\x32\x07\0\x01a\0\x01hi"),
        ("SUBSCRIBE a qos=1",              b"\x82\x06\0\x02\0\x01a\x01"),
        ("UNSUBSCRIBE a",                  b"\xa2\x05\0\x03\0\x01a"),
        ("PINGREQ",                        b"\xc0\0"),
        ("DISCONNECT",                     b"\xe0\0"),
    ];
    let mut client = Mqtt::new(Connection::from(packets(PACKET_MAX)), PACKET_MAX);
    let mut say = |text: &str| {
        let mut tx = Vec::new();
        let sent = client.send(Message { kind: Kind::Text, payload: text.as_bytes() }, &mut tx);
        sent.map(|()| tx)
    };
    let early = say("PINGREQ").unwrap_err();
    assert!(early.to_string().contains("CONNECT, which comes first"), "{early}");
    for (text, bytes) in table {
        assert_eq!(say(text).unwrap().escape_ascii().to_string(), bytes.escape_ascii().to_string());
    }
    assert_eq!(say("PINGREQ"), Err(MisuseError::NotOpen), "DISCONNECT was the last");
}

#[test]
fn packets_of_a_server_are_texts_however_they_are_cut() {
    #[rustfmt::skip]
    let table: [(&[u8], &[&str]); _] = [
        (b"",                              &[r#"Binary "CONNACK accepted""#]),
        (b"\x40\x02\0\x01",                &[r#"Binary "PUBACK id=7""#]),
        (b"\x90\x03\0\x02\0",              &[r#"Binary "SUBACK qos=0 id=8""#]),
        (b"\x90\x03\0\x02\x80",            &[r#"Binary "SUBACK refused id=8""#]),
        (b"\xb0\x02\0\x03",                &[r#"Binary "UNSUBACK""#]),
        (b"\xd0\0",                        &[r#"Binary "PINGRESP""#]),
        (b"\x30\x05\0\x03a/bx",            &["error"]),
        (b"\x30\x06\0\x03a/bx",            &[r#"Binary "PUBLISH a/b qos=0\nx""#]),
        (b"\x30\x06\0\x03a/b\xff",         &[r#"Binary "PUBLISH a/b qos=0\n\xff""#]),
        (b"\x31\x03\0\x01a",               &[r#"Binary "PUBLISH a qos=0 retain\n""#]),
        (b"\x3a\x05\0\x01a\0\x05",         &[r#"Binary "PUBLISH a qos=1 dup\n""#]),
        (b"\x40\x02\0\x01\xd0\0",          &[r#"Binary "PUBACK id=7""#, r#"Binary "PINGRESP""#]),
    ];
    for (bytes, expected) in table {
        let found = events(&[ACCEPTED, bytes].concat());
        let found: Vec<_> = found.iter().map(String::as_str).collect();
        match expected {
            ["error"] => {
                assert!(found[1].starts_with("end: error") || found.len() == 3, "{found:?}")
            }
            expected => assert_eq!(found[found.len() - expected.len()..], *expected),
        }
    }
    assert_eq!(events(b"\x20\x02\x01\0"), [r#"Binary "CONNACK accepted session-present""#]);
    for (code, reason) in [
        (1, "1: unacceptable protocol version"),
        (2, "2: client identifier rejected"),
        (3, "3: server unavailable"),
        (4, "4: bad user name or password"),
        (5, "5: not authorized"),
        (9, "9: a reserved code"),
    ] {
        let expected = format!("Binary \"CONNACK refused {reason}\"");
        assert_eq!(events(&[0x20, 2, 0, code]), [expected]);
    }
}

#[test]
fn what_a_server_must_not_send_is_an_error_that_names_the_section() {
    let long = [&b"\x30\xc9\x01\0\x01a"[..], &[b'x'; 198]].concat();
    #[rustfmt::skip]
    let table: [(&[u8], &str); _] = [
        (b"\x30\x80\x80\x80\x80\x01",  "a remaining length of more than four bytes (MQTT 3.1.1, §2.2.3)"),
        (&long,                        "a message is longer than 200 bytes, the limit"),
        (b"\x00\0",                    "a packet of type 0, which no server sends (MQTT 3.1.1, §2.2.1)"),
        (b"\xf0\0",                    "a packet of type 15, which no server sends (MQTT 3.1.1, §2.2.1)"),
        (b"\x10\0",                    "a packet of type 1, which no server sends"),
        (b"\x42\x02\0\x01",            "PUBACK with flags 0b0010 (MQTT 3.1.1, §2.2.2)"),
        (b"\x20\x02\0\0",              "CONNACK was sent twice (MQTT 3.1.1, §3.2)"),
        (b"\x40\x02\0\x09",            "PUBACK for packet 9, which is not waiting for one (MQTT 3.1.1, §2.3.1)"),
        (b"\x40\x02\0\x02",            "PUBACK for packet 2, which is not waiting for one"),
        (b"\x90\x03\0\x02\x03",        "malformed SUBACK, expected an identifier and a code of 0, 1, 2 or 128 (MQTT 3.1.1, §3.9.3)"),
        (b"\xd0\x01x",                 "malformed PINGRESP, expected an empty body (MQTT 3.1.1, §3.13)"),
        (b"\x36\x05\0\x01a\0\x01",     "malformed PUBLISH, expected QoS 0, 1 or 2 (MQTT 3.1.1, §3.3.1.2)"),
        (b"\x34\x05\0\x01a\0\x01",     "PUBLISH of QoS 2, which was not asked for (MQTT 3.1.1, §3.8.4)"),
        (b"\x32\x05\0\x01a\0\0",       "malformed PUBLISH, expected a packet identifier other than 0 (MQTT 3.1.1, §2.3.1)"),
        (b"\x30\x01\0",                "malformed PUBLISH, expected a topic and a payload (MQTT 3.1.1, §3.3.2)"),
        (b"\x30\x03\0\x01\xff",        "malformed PUBLISH, expected a UTF-8 topic (MQTT 3.1.1, §1.5.3)"),
        (b"\x30\x03\0\x01#",           "malformed PUBLISH, expected a topic without wildcards or NUL (MQTT 3.1.1, §3.3.2.1)"),
        (b"\x50\x02\0\x01",            "PUBREC belongs to QoS 2, which was not asked for (MQTT 3.1.1, §4.3.3)"),
    ];
    for (bytes, message) in table {
        let found = events(&[ACCEPTED, bytes].concat());
        let last = found.last().unwrap();
        assert!(last.starts_with("error: ") && last.contains(message), "{last}");
    }
    let first = events(b"\xd0\0");
    assert_eq!(first, ["error: MQTT: another packet before CONNACK (MQTT 3.1.1, §3.2)"]);
    let cut = events(&[ACCEPTED, b"\x30\x05\0"].concat());
    assert!(cut.last().unwrap().starts_with("end: error: "), "{cut:?}");
}

#[test]
fn websocket_messages_are_binary_and_cut_packets_anywhere() {
    let packets: &[u8] = b"\x20\x02\0\0\x32\x06\0\x01a\0\x05\xff\x40\x02\0\x01";
    let texts = ["CONNACK accepted", r"PUBLISH a qos=1\n\xff", "PUBACK id=7"];
    for len in 1..=packets.len() {
        let mut bytes = Vec::new();
        let mut server = WebSocket::established(Side::Server, Limits::default(), 7);
        for payload in packets.chunks(len) {
            server.send(Message { kind: Kind::Binary, payload }, &mut bytes).unwrap();
        }
        let websocket = || WebSocket::established(Side::Client, Limits::default(), 7).into();
        let transcript = check_splits_of_replies(&bytes, &|| awaiting(websocket()));
        let found: Vec<_> =
            transcript.events.iter().filter(|event| event.starts_with("Binary")).collect();
        assert_eq!(
            found,
            texts.map(|text| format!("Binary \"{text}\"")).iter().collect::<Vec<_>>()
        );
        // The delivery is acknowledged, in a binary message.
        let mut sent = transcript.tx;
        let mut input = Input::new(&mut sent);
        let acknowledged = server.receive(&mut input, &mut Vec::new()).unwrap();
        let puback = Message { kind: Kind::Binary, payload: b"\x40\x02\0\x05" };
        assert_eq!(acknowledged, Some(Event::Message(puback)));
        assert!(input.is_empty());
    }
}

#[test]
fn a_client_that_goes_says_so_once() {
    let mut client = awaiting(packets(PACKET_MAX).into());
    let mut tx = Vec::new();
    assert!(!client.close(&mut tx));
    assert_eq!(tx, b"\xe0\0");
    let mut fresh = Mqtt::new(Connection::from(packets(PACKET_MAX)), PACKET_MAX);
    tx.clear();
    fresh.close(&mut tx);
    assert_eq!(tx, b"", "it had not begun");
}

#[test]
fn heads_of_all_lengths_read_back() {
    #[rustfmt::skip]
    let table: [(usize, &[u8]); _] = [
        (0,           b"\x00"),
        (127,         b"\x7f"),
        (128,         b"\x80\x01"),
        (16_383,      b"\xff\x7f"),
        (16_384,      b"\x80\x80\x01"),
        (2_097_152,   b"\x80\x80\x80\x01"),
        (268_435_455, b"\xff\xff\xff\x7f"),
    ];
    for (len, bytes) in table {
        let whole = [b"\x30", bytes].concat();
        assert_eq!(packet::head(&whole), Ok(Some((whole.len(), len))));
        for cut in 0..whole.len() {
            assert_eq!(packet::head(&whole[..cut]), Ok(None));
        }
    }
    assert!(matches!(
        packet::head(b"\x30\xff\xff\xff\xff"),
        Err(PeerError::RemainingLength { .. })
    ));
}

#[test]
fn what_is_written_reads_back() {
    let mut random = Random::new(7);
    for _ in 0..2_000 {
        let mut text = |max: usize| -> String {
            (0..random.below(max) + 1).map(|_| ["a", "/", "é", "0"][random.below(4)]).collect()
        };
        let (topic, client_id, secret) = (text(300), text(20), text(9));
        let payload: Vec<u8> = (0..random.below(400)).map(|byte| byte.to_le_bytes()[0]).collect();
        let identifier = u16::try_from(random.below(65_535) + 1).unwrap();
        let flags = [0, 1, 2, 3].map(|_| random.below(2) == 1);
        let commands = [
            MqttCommand::Connect(MqttConnect {
                client_id: &client_id,
                keep_alive: identifier,
                clean_session: flags[0],
                username: flags[1].then_some(&topic),
                password: (flags[1] && flags[2]).then_some(&secret),
            }),
            MqttCommand::Publish {
                topic: &topic,
                acknowledged: flags[0],
                retain: flags[1],
                id: None,
                payload: &payload,
            },
            MqttCommand::Subscribe { filter: &topic, acknowledged: flags[0], id: None },
            MqttCommand::Unsubscribe { filter: &topic, id: None },
        ];
        for command in commands {
            let mut bytes = Vec::new();
            assert!(packet::write(&command, identifier, &mut bytes));
            let (start, len) = packet::head(&bytes).unwrap().unwrap();
            assert_eq!(start + len, bytes.len());
            let (read, number) = read_command(bytes[0], &bytes[start..]);
            assert_eq!(read, command);
            assert!(number == identifier || number == 0 && bytes[0] & 2 == 0, "{number}");
            if let MqttCommand::Publish { retain, acknowledged, .. } = command {
                let packet = acknowledged.then_some(identifier);
                let expected = Packet::Publish {
                    topic: &topic,
                    packet,
                    retain,
                    dup: false,
                    payload: &payload,
                };
                assert_eq!(Packet::read(bytes[0], &bytes[start..]), Ok(expected));
            }
        }
    }
}

/// The command of a packet and its identifier, read as a server does. The identifier is 0 if it has none, and the
/// keep-alive for CONNECT.
fn read_command(first: u8, body: &[u8]) -> (MqttCommand<'_>, u16) {
    let number = |at: usize| u16::from_be_bytes([body[at], body[at + 1]]);
    let string = |at: usize| {
        let end = at + 2 + usize::from(number(at));
        (std::str::from_utf8(&body[at + 2..end]).unwrap(), end)
    };
    match first >> 4 {
        1 => {
            assert_eq!(body[..7], *b"\0\x04MQTT\x04");
            let flags = body[7];
            let (client_id, end) = string(10);
            let (username, end) = if flags >> 7 == 1 {
                let (username, end) = string(end);
                (Some(username), end)
            } else {
                (None, end)
            };
            let connect = MqttConnect {
                client_id,
                keep_alive: number(8),
                clean_session: flags & 2 == 2,
                username,
                password: (flags & 0x40 == 0x40).then(|| string(end).0),
            };
            (MqttCommand::Connect(connect), number(8))
        }
        3 => {
            let (topic, end) = string(0);
            let acknowledged = first & 2 == 2;
            let at = if acknowledged { end + 2 } else { end };
            let (retain, payload) = (first & 1 == 1, &body[at..]);
            let publish = MqttCommand::Publish { topic, acknowledged, retain, id: None, payload };
            (publish, if acknowledged { number(end) } else { 0 })
        }
        8 => {
            let (filter, end) = string(2);
            let acknowledged = body[end] == 1;
            (MqttCommand::Subscribe { filter, acknowledged, id: None }, number(0))
        }
        _ => (MqttCommand::Unsubscribe { filter: string(2).0, id: None }, number(0)),
    }
}
