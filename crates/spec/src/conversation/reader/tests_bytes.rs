//! Binary messages in files: what is read from them, and the errors for mistakes.

use super::*;
use crate::conversation::{HexBytes, Place, TakeFrom, Template};

const FILE: &str = r#"speaks = "tcp"
frame = { length = 2 }
[vars]
kind = "7"
teams = ["1", "2"]
user = { csv = "users.csv", column = "id" }
[[open]]
send = { bytes = "01 ${user:u32be} ${kind:u8}${teams:u8}" }
expect = { "@0" = "02 00", "@2:u16be" = 513 }
take = { token = "@4:8", level = "@12:i16le", rest = "@14" }
[request.move]
send = { bytes = "10 ${id:u32le} ${now:u64be} ${token}" }
reply = { "@0:u8" = 0x11, id = "@1:u32le" }
[push.moved]
when = { "@0:1" = "20" }
sent = "@1:u64be"
"#;

fn read(text: &str) -> Conversation {
    Conversation::read("talk.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn bytes_become_templates_conditions_and_places() {
    let read = read(FILE);
    let bytes = |at, bytes: &[u8]| Condition::Bytes { at, bytes: HexBytes(bytes.to_vec()) };
    let place = |text: &str| Place::Bytes(text.parse().unwrap());
    let step = &read.open[0];
    assert_eq!(
        step.send.as_ref().map(Template::to_string).unwrap(),
        "01 ${user:u32be} ${kind:u8} ${teams:u8}"
    );
    let expected = vec![bytes(0, b"\x02\0"), bytes(2, b"\x02\x01")];
    assert_eq!(step.expect.as_ref().unwrap().conditions, expected);
    let from: Vec<&TakeFrom> = step.take.iter().map(|take| &take.from).collect();
    let places = ["@4:8", "@12:i16le", "@14"].map(|text| TakeFrom::Message(place(text)));
    assert_eq!(from, places.iter().collect::<Vec<_>>());
    let Reply::Match(reply) = &read.requests[0].reply else { panic!() };
    let expected = Matcher { conditions: vec![bytes(0, b"\x11")], id: Some(place("@1:u32le")) };
    assert_eq!(*reply, expected);
    assert_eq!(read.pushes[0].when.conditions, [bytes(0, b"\x20")]);
    assert_eq!(read.pushes[0].sent, Some(place("@1:u64be")));
    let json = serde_json::to_string(&read).unwrap();
    assert_eq!(serde_json::from_str::<Conversation>(&json).unwrap(), read, "{json}");
}

#[test]
fn mistakes_in_bytes_are_told_with_their_place() {
    #[rustfmt::skip]
    let table = [
        // The text to replace, its replacement, the place of the error, and a part of its message.
        ("\"10 ${id:u32le}",  "\"1 ${id:u32le}",    "12:19", "`send` `1` is not bytes: they have two hexadecimal digits each"),
        ("10 ${id:u32le}",    "10 ${id:u23le}",     "12:22", "`u23le` is not a number format; did you mean `u32le`?"),
        ("10 ${id:u32le}",    "10 ${id:u32}",       "12:22", "say the order of its bytes, `u32le` or `u32be`"),
        ("10 ${id:u32le}",    "10 ${id:u16le}",     "12:22", "`${id:u16le}` holds only 0 to 65535, but an id is a number of eight digits or more"),
        ("${now:u64be}",      "${now:u32be}",       "12:34", "use 8 bytes, or `now_ms`"),
        ("${now:u64be}",      "${now_ms:u16be}",    "12:34", "a run has more milliseconds after a minute"),
        ("${now:u64be}",      "${client % 300:u8}", "12:34", "`${client % 300:u8}` holds only 0 to 255, but there are groups up to 299"),
        ("${token}\"",        "${tokem}\"",         "12:47", "no value is called `tokem`; did you mean `token`?"),
        ("{ bytes = \"10",    "{ byte = \"10",      "12:10", "did you mean `bytes`?"),
        ("= \"7\"",           "= \"256\"",          "8:36",  "`${kind:u8}` holds only 0 to 255, but `kind` is \"256\""),
        ("\"2\"]",            "\"two\"]",           "8:46",  "`${teams:u8}` holds only 0 to 255, but `teams` is \"two\""),
        ("[[open]]\nsend = { bytes = \"01", "[[open]]\nsend = { bytes = \"01 ${now:u64le}", "8:22", "is only available in requests"),
        ("\"@2:u16be\" = 513",  "\"@2:u16be\" = 65536", "9:41", "`@2:u16be` is a whole number from 0 to 65535"),
        ("\"@2:u16be\" = 513",  "\"@2:u16be\" = '0201'", "9:41", "`@2:u16be` is a whole number from 0 to 65535"),
        ("\"@2:u16be\" = 513",  "\"@1:u8\" = 1",   "9:10",  "`expect` can never match: byte 1 cannot be 0"),
        ("\"@2:u16be\" = 513",  "\"2:u16be\" = 513", "9:28", "or a place, as in \"$.type\" = \"next\" or \"@0:u8\" = 1"),
        ("= \"02 00\"",        "= \"2 00\"",       "9:19",  "`@0` `2` is not bytes"),
        ("= \"02 00\"",        "= \"\"",           "9:19",  "`@0` is empty, and matches everything"),
        ("\"@0:1\" = \"20\"",  "\"@0:1\" = \"20 21\"", "15:19", "`@0:1` is 1 B long, but the value is 2 B"),
        ("\"@4:8\"",          "\"@x:8\"",          "10:18", "`take` `@x:8` is not a place in bytes") ,
        ("id = \"@1:u32le\"",  "id = \"@1\"",       "13:33", "`reply` `@1` is not a number; say its format, as in `@1:u32le`"),
        ("id = \"@1:u32le\"",  "id = \"@1:u8\"",    "13:33", "`@1:u8` holds only 0 to 255, but an id is a number of eight digits or more"),
        ("sent = \"@1:u64be\"", "sent = \"@1:8\"",  "16:9",  "`@1:8` is not a number; say its format"),
        ("sent = \"@1:u64be\"", "header = \"@1:u8\"", "16:10", "no request sends one"),
        ("{ length = 2 }",    "\"lines\"",          "8:8",   "is bytes, and `frame` says that messages are texts"),
    ];
    let mut wrong = Vec::new();
    for (good, bad, place, message) in table {
        assert!(FILE.contains(good), "{good}");
        let error = Conversation::read("talk.toml", &FILE.replacen(good, bad, 1)).expect_err(bad);
        if !error.starts_with(&format!("talk.toml:{place}: ")) || !error.contains(message) {
            wrong.push(format!("{bad}\n=> {error}\nexpected {place}: {message}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
