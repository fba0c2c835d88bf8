//! The frames that a server sends, and the texts that a client sends.

use crate::envelope::{Dialect, Enveloped, Heard, Messages, PeerError};
use crate::styx::write_text;
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use std::fmt;

/// A client's end of a session.
pub type SockJs<C> = Enveloped<C, Frames>;

/// Frames of SockJS.
#[derive(Debug, Default)]
pub struct Frames {
    is_open: bool,
}

impl Dialect for Frames {
    const NAME: &'static str = "SockJS";

    fn awaited(&self) -> Option<&'static str> {
        (!self.is_open).then_some("the frame `o`")
    }

    fn write(&self, message: &str, packet: &mut Vec<u8>) {
        packet.push(b'[');
        write_text(message, packet);
        packet.push(b']');
    }

    fn write_farewell(&self, _packet: &mut Vec<u8>) {}

    #[inline]
    fn read(
        &mut self,
        packet: &str,
        messages: &mut Messages,
        _answer: &mut Vec<u8>,
    ) -> Result<Heard, PeerError> {
        let unexpected = |awaited| Self::unexpected(packet, awaited);
        let broken = |error| Self::broken(packet, &error);
        match (packet.as_bytes(), self.is_open) {
            ([b'c', ..], _) => {
                let (code, reason) = serde_json::from_str(&packet[1..]).map_err(broken)?;
                Ok(Heard::Closed { code: Some(code), reason })
            }
            (b"o", false) => {
                self.is_open = true;
                Ok(Heard::Open)
            }
            (_, false) => Err(unexpected("the frame `o`")),
            (b"h", true) => Ok(Heard::Alive),
            ([b'a', ..], true) => {
                let mut json = serde_json::Deserializer::from_str(&packet[1..]);
                let read = Texts(messages).deserialize(&mut json).and_then(|()| json.end());
                read.map_err(broken)?;
                Ok(Heard::Messages)
            }
            (_, true) => Err(unexpected("a frame `a`, `h` or `c`")),
        }
    }
}

/// An array of texts, each of which is a message.
struct Texts<'m>(&'m mut Messages);

/// One of them.
struct Text<'m>(&'m mut Messages);

impl<'de> DeserializeSeed<'de> for Texts<'_> {
    type Value = ();

    fn deserialize<J: Deserializer<'de>>(self, json: J) -> Result<(), J::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Texts<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of texts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut texts: A) -> Result<(), A::Error> {
        let mut count = 0;
        while texts.next_element_seed(Text(self.0))?.is_some() {
            count += 1;
            if count > MESSAGES_MAX {
                return Err(A::Error::custom(format_args!(
                    "more than {MESSAGES_MAX} messages in a frame"
                )));
            }
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Text<'_> {
    type Value = ();

    fn deserialize<J: Deserializer<'de>>(self, json: J) -> Result<(), J::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Text<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.push(text);
        Ok(())
    }
}

/// Most messages in one frame.
pub const MESSAGES_MAX: usize = 1 << 14;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Event, Input, Kind, Message, MisuseError, Protocol};
    use crate::envelope::fuzz::{client, frame};
    use crate::transcript::check_splits_of_replies;

    #[test]
    fn what_a_server_may_say_and_what_it_may_not() {
        #[rustfmt::skip]
        let table: [(&str, &[&str], &str); _] = [
            ("", &["o"],                     "open"),
            ("", &["x"],                     "error: SockJS: got \"x\", expected the frame `o`"),
            ("", &["h"],                     "error: SockJS: got \"h\", expected the frame `o`"),
            ("", &["c[2010,\"taken\"]"],     "closed Some(2010) \"taken\""),
            ("", &[],                        "end: error: connection ended without a Close frame (RFC 6455 §7.1.5, code 1006)"),
            ("o", &["h"],                    "ping \"\""),
            ("o", &["a[\"Pong\"]"],          "Text \"Pong\""),
            ("o", &["a [ \"a\" , \"\" ] "],  "Text \"a\"; Text \"\""),
            ("o", &["a[\"\\u0041\\n\"]"],    "Text \"A\\n\""),
            ("o", &["a[]", "a[\"x\"]"],      "Text \"x\""),
            ("o", &["c[3000,\"Go away!\"]", "a[\"late\"]"], "closed Some(3000) \"Go away!\""),
            ("o", &["o"],                    "error: SockJS: got \"o\", expected a frame `a`, `h` or `c`"),
            ("o", &[""],                     "error: SockJS: got \"\", expected a frame `a`, `h` or `c`"),
            ("o", &["a[1]"],                 "error: SockJS: invalid type: integer `1`, expected a text at line 1 column 2: \"a[1]\""),
            ("o", &["a[\"x\"]x"],            "error: SockJS: trailing characters at line 1 column 6: \"a[\\\"x\\\"]x\""),
            ("o", &["c[70000,\"\"]"],        "error: SockJS: invalid value: integer `70000`, expected u16 at line 1 column 6: \"c[70000,\\\"\\\"]\""),
        ];
        for (greeting, texts, expected) in table {
            let bytes: Vec<u8> = texts.iter().flat_map(|text| frame(text)).collect();
            let greeting: Vec<&str> = [greeting].into_iter().filter(|it| !it.is_empty()).collect();
            let transcript = check_splits_of_replies(&bytes, &|| client::<Frames>(&greeting));
            let mut events = transcript.events;
            events.retain(|event| !event.starts_with("end: ") || texts.is_empty());
            assert_eq!(events.join("; "), expected, "{texts:?}");
        }
    }

    #[test]
    fn a_frame_has_a_limit_of_messages() {
        let texts = |count: usize| format!("a[{}]", vec!["\"\""; count].join(","));
        let read = |text: &str| {
            let mut messages = Messages::default();
            Frames { is_open: true }.read(text, &mut messages, &mut Vec::new())
        };
        assert_eq!(read(&texts(MESSAGES_MAX)), Ok(Heard::Messages));
        let error = read(&texts(MESSAGES_MAX + 1)).unwrap_err().to_string();
        assert!(error.contains("more than 16384 messages in a frame"), "{error}");
    }

    #[test]
    fn messages_are_sent_as_arrays_and_only_as_text() {
        let mut client = client::<Frames>(&["o"]);
        let mut tx = Vec::new();
        let refused = [
            (Kind::Binary, &b"a"[..], "the message is not text"),
            (Kind::Text, b"\xff", "text message is not UTF-8"),
        ];
        for (kind, payload, expected) in refused {
            let error = client.send(Message { kind, payload }, &mut tx).unwrap_err();
            assert_eq!((error.to_string().as_str(), tx.len()), (expected, 0));
        }
        let payload = "\"é\u{1}\n".as_bytes();
        client.send(Message { kind: Kind::Text, payload }, &mut tx).unwrap();
        let mut server = crate::websocket::WebSocket::established(
            crate::contract::Side::Server,
            crate::websocket::Limits::default(),
            0,
        );
        let event = server.receive(&mut Input::new(&mut tx), &mut Vec::new()).unwrap();
        let payload = r#"["\"é\u0001\n"]"#.as_bytes();
        assert_eq!(event, Some(Event::Message(Message { kind: Kind::Text, payload })));
        assert_eq!(client.layers().encoding_sent, 15 - 5 + 1);
        assert!(client.close(&mut Vec::new()));
        let late = client.send(Message { kind: Kind::Text, payload: b"a" }, &mut tx);
        assert_eq!(late, Err(MisuseError::NotOpen));
    }
}
