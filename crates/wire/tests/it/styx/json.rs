//! Packets as JSON: the published examples, leniency, and what is refused.

use super::memory::event;
use wire::styx::load_test::LoadRequest;
use wire::styx::packets::{
    JoinResponse, JoinResponseStatus, NotifySeated, Ping, TableChat, TableSnapshot,
};
use wire::styx::{Definition, JsonError, Packet, json_packets};

#[test]
fn an_event_is_the_published_json() {
    let request = LoadRequest { pid: 1, tableid: 1, seq: 1, ..LoadRequest::default() };
    let gamedata = request.pack();
    let packet = event(&gamedata);
    let text = r#"{"tableid":1,"pid":1,"gamedata":"AAAAFgEAAAABAAAAAQAAAAEAAAAAAA==","attributes":[],"classId":100}"#;
    assert_eq!(write(&packet), text);
    assert_eq!(Packet::read_json(text.as_bytes()), Ok(packet));
}

#[test]
fn enums_are_ordinals_and_nested_structs_have_a_class_id() {
    let joined = JoinResponse { tableid: 1, seat: -1, status: JoinResponseStatus::Denied, code: 0 };
    assert_eq!(
        write(&joined.into()),
        r#"{"tableid":1,"seat":-1,"status":2,"code":0,"classId":31}"#
    );
    let snapshot = TableSnapshot { tableid: 2, name: "\"\\\u{1}\n".into(), ..Default::default() };
    let seated = NotifySeated { tableid: 2, seat: 0, mttid: -1, snapshot };
    assert_eq!(
        write(&seated.into()),
        concat!(
            r#"{"tableid":2,"seat":0,"mttid":-1,"snapshot":{"tableid":2,"address":"","#,
            r#""name":"\"\\\u0001\n","capacity":0,"seated":0,"params":[],"classId":143},"classId":62}"#
        )
    );
}

#[test]
fn reading_is_as_lenient_as_the_server() {
    let ping = Packet::from(Ping { id: 5 });
    let message = TableChat { message: "a\"é".into(), pid: 1, ..Default::default() };
    let message = Packet::from(message);
    #[rustfmt::skip]
    let table: [(&str, &Packet<'_>); _] = [
        (r#"{"classId":7,"id":5}"#, &ping),
        (" {\t\"id\" : 5 ,\r\n \"classId\" : 7 } ", &ping),
        (r#"{"id":5,"later":{"classId":9,"x":[{}]},"classId":7}"#, &ping),
        (r#"{"id":5,"classId":7,"other":null}"#, &ping),
        (r#"{"id":4,"classId":8,"id":5,"classId":7}"#, &ping),
        (r#"{"id":5,"class\u0049d":7}"#, &ping),
        (r#"{"id":5,"x\"classId":8,"classId":7,"y":"\"classId\":8}"}"#, &ping),
        (r#"{"message":"a\"\u00e9","pid":1,"classId":80}"#, &message),
        (r#"{"message":"a\"é","tableid":null,"pid":1,"classId":80}"#, &message),
    ];
    for (text, packet) in table {
        assert_eq!(Packet::read_json(text.as_bytes()).as_ref(), Ok(packet), "{text}");
    }
    let empty = event(b"");
    for text in [r#"{"gamedata":[],"#, r#"{"gamedata":"","#, r#"{"attributes":null,"#, "{"] {
        let text = format!(r#"{text}"tableid":1,"pid":1,"classId":100}}"#);
        assert_eq!(Packet::read_json(text.as_bytes()).as_ref(), Ok(&empty), "{text}");
    }
}

#[test]
fn values_of_the_wrong_type_are_named_with_their_property() {
    #[rustfmt::skip]
    let table = [
        (r#"{"id":"5","classId":7}"#, "invalid type: string \"5\", expected int32 for property `id`"),
        (r#"{"id":5.0,"classId":7}"#, "invalid type: floating point `5.0`, expected int32 for property `id`"),
        (r#"{"id":2147483648,"classId":7}"#, "invalid value: integer `2147483648`, expected int32 for property `id`"),
        (r#"{"id":99999999999999999999,"classId":7}"#, "expected int32 for property `id`"),
        (r#"{"id":[],"classId":7}"#, "invalid type: sequence, expected int32 for property `id`"),
        (r#"{"leaveTables":1,"classId":12}"#, "invalid type: integer `1`, expected bool for property `leaveTables`"),
        (r#"{"status":3,"classId":31}"#, "invalid value: integer `3`, expected an ordinal of JoinResponseStatus for property `status`"),
        (r#"{"status":"OK","classId":31}"#, "expected an ordinal of JoinResponseStatus for property `status`"),
        (r#"{"seat":128,"classId":31}"#, "invalid value: integer `128`, expected int8 for property `seat`"),
        (r#"{"gamedata":[1],"classId":100}"#, "invalid type: sequence, expected bytes in Base64 for property `gamedata`"),
        (r#"{"gamedata":"A===","classId":100}"#, "bad Base64 in property `gamedata`: "),
        (r#"{"gamedata":"AA","classId":100}"#, "bad Base64 in property `gamedata`: "),
        (r#"{"gamedata":"AA*=","classId":100}"#, "bad Base64 in property `gamedata`: "),
        (r#"{"attributes":{},"classId":100}"#, "invalid type: map, expected a list for property `attributes`"),
        (r#"{"attributes":[7],"classId":100}"#, "invalid type: integer `7`, expected Attribute for property `attributes`"),
        (r#"{"attributes":[{"name":1}],"classId":100}"#, "invalid type: integer `1`, expected string for property `name`"),
        (r#"{"id":5,"classId":"7"}"#, "invalid type: string \"7\", expected u8"),
        (r#"{"id":5,"classId":256}"#, "invalid value: integer `256`, expected u8"),
        ("[]", "invalid type: sequence, expected a packet"),
        ("5", "invalid type: integer `5`, expected a packet"),
    ];
    for (text, message) in table {
        let error = Packet::read_json(text.as_bytes()).unwrap_err();
        assert!(matches!(error, JsonError::Value { .. }), "{text}: {error:?}");
        assert!(error.to_string().contains(message), "{text}: {error}");
        assert!(Definition::firebase().pack_json(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn what_is_no_packet_is_refused() {
    let error = |text: &str| Packet::read_json(text.as_bytes()).unwrap_err();
    assert_eq!(error("{}"), JsonError::NoClassId);
    assert_eq!(error(r#"{"x":{"classId":7}}"#), JsonError::NoClassId);
    assert_eq!(error(r#"{"classId":9}"#), JsonError::UnknownClass { class_id: 9 });
    let deep = format!("{}\"classId\":7}}", "{\"x\":[".repeat(100_000));
    for text in [
        "",
        "{",
        "x",
        r#"{"classId":7}}"#,
        r#"{"id":5,"classId":7"#,
        r#"{"id":5 "classId":7}"#,
        &deep,
    ] {
        assert!(matches!(error(text), JsonError::Syntax { .. }), "{:?}", error(text));
    }
    let long = format!(r#"{{"message":"{}","classId":80}}"#, "a".repeat(1 << 16));
    assert_eq!(
        error(&long).to_string().split(" at ").next(),
        Some("text of 65536 bytes in property `message`, limit is 65535")
    );
    // An error does not keep a whole string from the peer.
    assert!(error(&long.replace("message", "tableid")).to_string().len() <= 256);
}

#[test]
fn every_cut_of_a_packet_is_refused() {
    let snapshot = TableSnapshot { name: "\u{1F0A1}\"".into(), ..Default::default() };
    let text = write(&NotifySeated { snapshot, ..Default::default() }.into());
    for len in 0..text.len() {
        let cut = Packet::read_json(&text.as_bytes()[..len]);
        assert!(cut.is_err(), "cut at {len}: {cut:?}");
    }
}

#[test]
fn a_text_holds_one_packet_or_an_array_of_them() {
    #[rustfmt::skip]
    let table: [(&str, Option<&[&str]>); _] = [
        (r#"{"classId":7}"#, Some(&[r#"{"classId":7}"#])),
        ("[]", Some(&[])),
        (" [ {\"a\": [1]} , {} ] ", Some(&["{\"a\": [1]}", "{}"])),
        ("[{}", None),
        ("[{},]", None),
        ("[{}]x", None),
    ];
    for (text, packets) in table {
        let found: Option<Vec<_>> = json_packets(text.as_bytes()).ok().map(Iterator::collect);
        let packets: Option<Vec<_>> =
            packets.map(|packets| packets.iter().map(|packet| packet.as_bytes()).collect());
        assert_eq!(found, packets, "{text}");
    }
}

fn write(packet: &Packet<'_>) -> String {
    let mut text = Vec::new();
    packet.write_json(&mut text);
    String::from_utf8(text).expect("JSON is UTF-8")
}
