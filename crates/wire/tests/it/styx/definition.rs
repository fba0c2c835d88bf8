//! Definitions: ours, those of others, and invalid ones.

use expect_test::expect_file;
use wire::styx::load_test::{LoadRequest, LoadResponse};
use wire::styx::{DecodeError, Definition, PackError};

#[test]
fn the_table_of_packets_as_a_definition() {
    let definition = Definition::firebase();
    let xml = definition.to_xml();
    expect_file!["firebase.xml"].assert_eq(&xml);
    assert_eq!(Definition::from_xml(&xml), Ok(definition));
}

#[test]
fn events_of_the_load_test_game_can_be_defined() {
    let game = Definition::from_xml(
        r#"<protocol>
             <struct name="load_request">
               <var name="pid" type="int32"/><var name="tableid" type="int32"/>
               <var name="seq" type="int32"/><var name="delay" type="int32"/>
               <var name="resend" type="bool"/>
             </struct>
             <struct name="load_response">
               <var name="pid" type="int32"/><var name="tableid" type="int32"/>
               <var name="seq" type="int32"/><var name="resend" type="bool"/>
             </struct>
           </protocol>"#,
    );
    let game = game.unwrap();
    let request = LoadRequest { pid: 1, tableid: -2, seq: 3, delay: 4, resend: true };
    let json = r#"{"pid":1,"tableid":-2,"seq":3,"delay":4,"resend":true,"classId":1}"#;
    assert_eq!(game.pack_json(json.as_bytes()).unwrap(), request.pack()[4..]);
    let response = LoadResponse::from(&request).pack();
    let json = r#"{"pid":1,"tableid":-2,"seq":3,"resend":true,"classId":2}"#;
    assert_eq!(game.unpack_json(&response[4..]).unwrap(), json);
}

#[test]
fn the_example_of_the_documentation_holds() {
    let page = include_str!("../../../../../docs/FORMATS.md");
    let block = |language: &str| {
        let (_, after) = page.split_once(&format!("```{language}\n")).unwrap();
        after.split_once("```").unwrap().0
    };
    let definition = Definition::from_xml(block("xml")).unwrap();
    let payload = definition.pack_json(block("json").as_bytes()).unwrap();
    let packed = b"\x07\0\0\0\x01\0\0\0\x01\x01\x0c\0\0\0\x02\x01\x02\0\x02\xc3\xa9";
    assert_eq!(payload.escape_ascii().to_string(), packed.escape_ascii().to_string());
}

/// Every type, lists of each kind, a type used before its definition, and ids assigned where none are given.
#[test]
fn a_protocol_of_ones_own_is_packed() {
    let definition = Definition::from_xml(OWN).unwrap();
    assert_eq!(definition.packets().collect::<Vec<_>>(), [(1, "Card"), (2, "Empty"), (7, "Hand")]);
    assert_eq!(Definition::from_xml(&definition.to_xml()), Ok(definition.clone()));
    let json = concat!(
        r#"{"cards":[{"suit":1,"rank":255,"classId":1},{"suit":0,"rank":0,"classId":1}],"#,
        r#""flag":true,"a":-1,"b":-32768,"c":2147483647,"d":-9223372036854775808,"e":65535,"#,
        r#""f":4294967295,"raw":"AQI=","numbers":[1,2],"rows":[["é"],[]],"best":{"suit":1,"rank":9,"classId":1},"#,
        r#""classId":7}"#
    );
    #[rustfmt::skip]
    let payload = [
        &b"\x07"[..], b"\0\0\0\x02", b"\x01\xff", b"\0\0", b"\x01", b"\xff", b"\x80\0", b"\x7f\xff\xff\xff",
        b"\x80\0\0\0\0\0\0\0", b"\xff\xff", b"\xff\xff\xff\xff", b"\0\0\0\x02\x01\x02", b"\0\0\0\x02\x01\x02",
        b"\0\0\0\x02", b"\0\0\0\x01\0\x02\xc3\xa9", b"\0\0\0\0", b"\x01\x09",
    ]
    .concat();
    assert_eq!(definition.pack_json(json.as_bytes()), Ok(payload.clone()));
    assert_eq!(definition.unpack_json(&payload).as_deref(), Ok(json));
    for len in 0..payload.len() {
        assert!(definition.unpack_json(&payload[..len]).is_err(), "cut at {len}");
    }
    // Absent fields are empty or 0.
    let empty = definition.pack_json(br#"{"classId":7}"#).unwrap();
    assert_eq!(empty, [&b"\x07"[..], &[0; 40]].concat());
    assert_eq!(definition.pack_json(br#"{"classId":2}"#), Ok(vec![2]));
}

#[test]
fn values_that_cannot_be_packed_are_named_with_their_place() {
    let definition = Definition::from_xml(OWN).unwrap();
    #[rustfmt::skip]
    let table = [
        (r#"{"cards":[{},{"rank":256}],"classId":7}"#, "`cards[1].rank` is 256, expected uint8"),
        (r#"{"cards":[{"suit":2}],"classId":7}"#, "`cards[0].suit` is 2, expected Suit"),
        (r#"{"cards":{},"classId":7}"#, "`cards` is {}, expected Card[]"),
        (r#"{"a":128,"classId":7}"#, "`a` is 128, expected int8"),
        (r#"{"b":-32769,"classId":7}"#, "`b` is -32769, expected int16"),
        (r#"{"e":-1,"classId":7}"#, "`e` is -1, expected uint16"),
        (r#"{"f":4294967296,"classId":7}"#, "`f` is 4294967296, expected uint32"),
        (r#"{"d":9223372036854775808,"classId":7}"#, "`d` is 9223372036854775808, expected int64"),
        (r#"{"flag":0,"classId":7}"#, "`flag` is 0, expected bool"),
        (r#"{"raw":[1],"classId":7}"#, "`raw` is [1], expected int8[]"),
        (r#"{"rows":[["a",1]],"classId":7}"#, "`rows[0][1]` is 1, expected string"),
        (r#"{"best":7,"classId":7}"#, "`best` is 7, expected Card"),
        (r#"{"raw":"*","classId":7}"#, "`raw` is bad Base64: "),
        (r#"{"classId":9}"#, "unknown class id 9"),
        (r#"{"classId":-1}"#, "invalid value: integer `-1`, expected u8"),
        ("{}", "no property `classId`"),
        ("[]", "a packet is an object"),
        ("{", "not JSON: "),
    ];
    for (json, message) in table {
        let error = definition.pack_json(json.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(message), "{json}: {error}");
    }
}

#[test]
fn structs_in_themselves_have_a_depth() {
    let xml = r#"<p><struct name="tree"><list name="of" type="tree"/></struct></p>"#;
    let definition = Definition::from_xml(xml).unwrap();
    let json = |depth: usize| {
        let (left, right) = (r#"{"of":["#.repeat(depth), "]}".repeat(depth));
        let inner = format!("{left}{right}");
        format!(r#"{{"classId":1,{}"#, &inner[1..])
    };
    assert!(definition.pack_json(json(20).as_bytes()).is_ok());
    assert_eq!(definition.pack_json(json(40).as_bytes()), Err(PackError::TooDeep { max: 64 }));
    let payload = |depth: usize| [&b"\x01"[..], &b"\0\0\0\x01".repeat(depth), b"\0\0\0\0"].concat();
    assert!(definition.unpack_json(&payload(20)).is_ok());
    assert_eq!(definition.unpack_json(&payload(8000)), Err(DecodeError::TooDeep { max: 64 }));
}

#[test]
fn what_is_no_definition_is_named_with_its_place() {
    let many = "<struct name=\"a\"/>".repeat(70_000);
    let values: String = (0..257).map(|index| format!("<value>v{index}</value>")).collect();
    let structs: String = (0..256).map(|index| format!("<struct name=\"s{index}\"/>")).collect();
    let doubles: String = (1..30)
        .map(|index| {
            let type_name = if index == 1 { "bool".to_owned() } else { format!("s{}", index - 1) };
            let field = |name| format!("<var name=\"{name}\" type=\"{type_name}\"/>");
            format!("<struct name=\"s{index}\">{}{}</struct>", field("a"), field("b"))
        })
        .collect();
    let deep = "<struct>".repeat(20_000);
    let long = " ".repeat((1 << 20) + 1);
    #[rustfmt::skip]
    let table = [
        ("", "line 1, column 1: not XML: "),
        ("<p>", "line 1, column 1: not XML: "),
        ("<p>\n <struct name='a'/>\n <struct name='a'/></p>", "line 3, column 2: the name \"a\" is already used"),
        ("<p><struct name='int8'/></p>", "line 1, column 4: the name \"int8\" is already used"),
        ("<p><enum name='a'><value>X</value></enum><struct name='a'/></p>", "line 1, column 42: the name \"a\" is already used"),
        ("<p><struct/></p>", "line 1, column 4: no attribute `name`"),
        ("<p><struct name='a b'/></p>", "line 1, column 4: \"a b\" is not a name"),
        ("<p><struct name='1'/></p>", "line 1, column 4: \"1\" is not a name"),
        ("<p><struct name='a' id='256'/></p>", "line 1, column 4: class id \"256\", expected a number from 0 to 255"),
        ("<p><struct name='a' id='-1'/></p>", "line 1, column 4: class id \"-1\", expected"),
        ("<p><struct name='a' id='x'/></p>", "line 1, column 4: class id \"x\", expected"),
        ("<p><struct name='a' id='1'/><struct name='b'/></p>", "line 1, column 29: class id 1 is already used by \"a\""),
        ("<p><struct name='a' class='1'/></p>", "line 1, column 4: unknown attribute \"class\""),
        ("<p><union/></p>", "line 1, column 4: <union>, expected <enum> or <struct>"),
        ("<p>text</p>", "line 1, column 4: text, expected an element"),
        ("<p><struct name='a'><value/></struct></p>", "line 1, column 21: <value>, expected <var> or <list>"),
        ("<p><struct name='a'><var name='b'/></struct></p>", "line 1, column 21: no attribute `type`"),
        ("<p><struct name='a'><var name='b' type='int9'/></struct></p>", "line 1, column 21: unknown type \"int9\""),
        ("<p><struct name='a'><var name='b' type='[]'/></struct></p>", "line 1, column 21: unknown type \"[]\""),
        ("<p><struct name='a'><var name='b' type='bool'><x/></var></struct></p>", "line 1, column 47: <x>, expected nothing"),
        ("<p><struct name='a'><var name='classId' type='bool'/></struct></p>", "line 1, column 21: the name \"classId\" is already used"),
        ("<p><struct name='a'><var name='b' type='bool'/><list name='b' type='bool'/></struct></p>", "line 1, column 48: the name \"b\" is already used"),
        ("<p><struct name='a'><var name='b' type='a'/></struct></p>", "line 1, column 21: \"a\" contains itself"),
        ("<p><struct name='a'><var name='b' type='c'/></struct><struct name='c'><var name='d' type='a'/></struct></p>", "line 1, column 71: \"a\" contains itself"),
        ("<p><struct name='a'/><struct name='b'><list name='c' type='a'/></struct></p>", "line 1, column 39: \"a\" has no fields"),
        ("<p><enum name='a'/></p>", "line 1, column 4: enum of 0 values, expected 1 to 256"),
        ("<p><enum name='a'><value>X</value><value>X</value></enum></p>", "line 1, column 35: the name \"X\" is already used"),
        ("<p><enum name='a'><value> </value></enum></p>", "line 1, column 19: \"\" is not a name"),
        ("<!DOCTYPE p [<!ENTITY a 'b'>]><p/>", "line 1, column 1: not XML: "),
        (&*format!("<p><enum name='a'>{values}</enum></p>"), "line 1, column 4: enum of 257 values, expected 1 to 256"),
        (&*format!("<p>{structs}</p>"), "line 1, column 5249: class id \"256\", expected a number from 0 to 255"),
        (&*format!("<p>{doubles}</p>"), "line 1, column 1179: \"s16\" is too long for any frame"),
        (&*format!("<p>{many}</p>"), "line 1, column 1: definition of 1260007 bytes, limit is 1048576"),
        (&*format!("<p>{}</p>", &many[..many.len() / 2]), "line 1, column 22: the name \"a\" is already used"),
        (&*format!("<p>{deep}"), "line 1, column 1: not XML: "),
        (&*long, "line 1, column 1: definition of 1048577 bytes, limit is 1048576"),
    ];
    for (xml, message) in table {
        let error = Definition::from_xml(xml).unwrap_err().to_string();
        assert!(error.starts_with(message), "{xml:.200}: {error}");
    }
}

/// One of each.
const OWN: &str = r#"<?xml version="1.0"?>
<protocol>
  <!-- In any order. -->
  <struct name="Card"><var name="suit" type="Suit"/><var name="rank" type="uint8"/></struct>
  <struct name="Hand" id="7">
    <list name="cards" type="Card"/>
    <var name="flag" type="bool"/>
    <var name="a" type="int8"/>
    <var name="b" type="int16"/>
    <var name="c" type="int32"/>
    <var name="d" type="int64"/>
    <var name="e" type="uint16"/>
    <var name="f" type="uint32"/>
    <list name="raw" type="int8"/>
    <var name="numbers" type="uint8[]"/>
    <list name="rows" type="string[]"/>
    <var name="best" type="Card"/>
  </struct>
  <struct name="Empty"/>
  <enum name="Suit"><value>CLUBS</value><value> HEARTS </value></enum>
</protocol>"#;
