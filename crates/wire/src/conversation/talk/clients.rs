//! Ready-made conversations compared with the official clients of their protocols: transcripts of the clients, which
//! `tests/transcripts/record.js` writes, are replayed with our conversations in the client's place.

use super::Talk;
use crate::connection::Connection;
use crate::contract::{Event, Input, Kind, Message, Protocol, Side, Verdict};
use crate::conversation::Compiled;
use crate::websocket::{Limits, WebSocket};
use serde_json::Value;
use spec::Conversation;
use spec::conversation::{Cue, Frame, READY_MADE};
use std::collections::BTreeMap;
use units::Nanos;

#[test]
fn phoenix_says_and_takes_what_its_official_client_does() {
    let transcript = include_str!("../../../../../tests/transcripts/phoenix.txt");
    Replay::new("phoenix", transcript).play(|message| match message[3].as_str() {
        Some("phx_join") => Turn::Open,
        Some("heartbeat") => Turn::Beat,
        Some("phx_leave") => Turn::Close,
        _ => Turn::Request,
    });
}

#[test]
fn signalr_says_and_takes_what_its_official_client_does() {
    let transcript = include_str!("../../../../../tests/transcripts/signalr.txt");
    Replay::new("signalr", transcript).play(|message| match message["type"].as_u64() {
        None => Turn::Open,
        Some(6) => Turn::Beat,
        Some(7) => Turn::Close,
        Some(_) => Turn::Request,
    });
}

#[test]
fn stomp_says_and_takes_what_a_widely_used_client_does() {
    let transcript = include_str!("../../../../../tests/transcripts/stomp.txt");
    Replay::new("stomp", transcript).play(|frame| match frame["command"].as_str() {
        Some("CONNECT" | "SUBSCRIBE") => Turn::Open,
        Some("DISCONNECT") => Turn::Close,
        _ => Turn::Request,
    });
}

#[test]
fn action_cable_says_and_takes_what_its_official_client_does() {
    let transcript = include_str!("../../../../../tests/transcripts/actioncable.txt");
    Replay::new("actioncable", transcript).play(|message| match message["command"].as_str() {
        Some("subscribe") => Turn::Open,
        _ => Turn::Request,
    });
}

/// The reason why a client says something.
enum Turn {
    /// It says it on its own.
    Open,
    Request,
    Beat,
    Close,
}

/// A conversation that follows a transcript.
struct Replay {
    conversation: Conversation,
    talk: Talk<Connection>,
    transcript: &'static str,
    tx: Vec<u8>,
    /// The ids and texts of the official client as JSON, and ours that replace them.
    ours: BTreeMap<String, String>,
    /// The outcomes of messages, in the words of the transcript.
    outcomes: Vec<&'static str>,
    requests: u32,
}

impl Replay {
    fn new(name: &str, transcript: &'static str) -> Self {
        let (_, text) = READY_MADE.iter().find(|(known, _)| *known == name).unwrap();
        let conversation = Conversation::read(name, text).unwrap();
        let compiled = Compiled::new(&conversation).unwrap();
        let inner = WebSocket::established(Side::Client, Limits::default(), 7);
        Self {
            talk: Talk::new(inner.into(), &compiled, 0, 7, 1 << 10),
            conversation,
            transcript,
            tx: Vec::new(),
            ours: BTreeMap::new(),
            outcomes: Vec::new(),
            requests: 0,
        }
    }

    /// Says what the client of the transcript says, hears what it heard, and checks that the outcomes are the same.
    fn play(mut self, turn: impl Fn(&Value) -> Turn) {
        let mut told = Vec::new();
        for line in self.transcript.lines() {
            let (mark, text) = line.split_once(' ').unwrap();
            match mark {
                "?" => {
                    let path = self.conversation.path.as_ref().unwrap().to_string();
                    assert_eq!(format!("GET {path}"), text);
                    self.talk.open(&mut self.tx);
                }
                ">" => {
                    let theirs = self.parse(text);
                    self.say(&turn(&theirs));
                    let said = self.said();
                    self.pair(&theirs, &said);
                }
                "<" => self.hear(text),
                _ => told.push(text.split(' ').next().unwrap()),
            }
        }
        assert_eq!(self.outcomes, told);
    }

    fn say(&mut self, turn: &Turn) {
        match turn {
            Turn::Open => {}
            Turn::Request => {
                let mut cue = [0; Cue::LEN];
                let sequence = self.requests;
                Cue { sequence, exchange: 0, due: Nanos(0) }.write(&mut cue);
                self.talk.send(Message { kind: Kind::Text, payload: &cue }, &mut self.tx).unwrap();
                self.requests += 1;
            }
            Turn::Beat => self.talk.beat(&mut self.tx).unwrap(),
            Turn::Close => {
                self.talk.close(&mut self.tx);
            }
        }
    }

    /// The message that was sent last, without the end of WebSocket that follows a farewell that nobody answers.
    fn said(&mut self) -> Value {
        let mut server = WebSocket::established(Side::Server, Limits::default(), 7);
        let mut bytes = std::mem::take(&mut self.tx);
        let mut input = Input::new(&mut bytes);
        let said = server.receive(&mut input, &mut Vec::new()).unwrap();
        let Some(Event::Message(Message { payload, .. })) = said else { panic!("{said:?}") };
        let text = std::str::from_utf8(payload).unwrap();
        match self.conversation.frame {
            Frame::Nul => frame_of(text.strip_suffix('\0').expect("it ends with a NUL")),
            Frame::Rs => {
                let text = text.strip_suffix('\u{1e}').expect("it ends with a separator");
                serde_json::from_str(text).unwrap()
            }
            Frame::Message
            | Frame::Lines
            | Frame::Separator { .. }
            | Frame::Resp
            | Frame::Mqtt
            | Frame::Length { .. } => serde_json::from_str(text).unwrap(),
        }
    }

    /// A message of the transcript.
    fn parse(&self, text: &str) -> Value {
        let message: Value = serde_json::from_str(text).unwrap();
        if self.conversation.frame == Frame::Nul {
            return frame_of(message.as_str().unwrap());
        }
        message
    }

    /// Checks that two messages are equal except for ids and the text that is sent, and maps theirs to ours.
    fn pair(&mut self, theirs: &Value, ours: &Value) {
        match (theirs, ours) {
            (Value::Array(theirs), Value::Array(ours)) => {
                assert_eq!(theirs.len(), ours.len(), "{theirs:?} {ours:?}");
                theirs.iter().zip(ours).for_each(|(theirs, ours)| self.pair(theirs, ours));
            }
            (Value::Object(theirs), Value::Object(ours)) => {
                let names = |object: &serde_json::Map<String, Value>| -> Vec<String> {
                    object.keys().cloned().collect()
                };
                let (mut known, mut said) = (names(theirs), names(ours));
                known.sort();
                said.sort();
                assert_eq!(known, said);
                theirs.iter().for_each(|(name, value)| self.pair(value, &ours[name]));
            }
            (Value::String(theirs), Value::String(ours)) if theirs.starts_with('{') => {
                let inner = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
                self.pair(&inner(theirs), &inner(ours));
            }
            (Value::String(theirs), Value::String(ours)) if theirs != ours => {
                let is_id = theirs.bytes().all(|byte| byte.is_ascii_digit());
                assert!(is_id || matches!(theirs.as_str(), "hello" | "refuse"), "{theirs} {ours}");
                self.ours.insert(format!("\"{theirs}\""), format!("\"{ours}\""));
            }
            // Numbers of at least eight digits are ids and instants.
            (Value::Number(theirs), Value::Number(ours)) if theirs.as_u64() >= Some(10_000_000) => {
                self.ours.insert(theirs.to_string(), ours.to_string());
            }
            (theirs, ours) => assert_eq!(theirs, ours),
        }
    }

    fn hear(&mut self, text: &str) {
        let frame = self.conversation.frame;
        let mut text = text.to_owned();
        if frame == Frame::Nul {
            text = serde_json::from_str(&text).unwrap();
        }
        for (theirs, ours) in &self.ours {
            text = text.replace(theirs, ours);
        }
        text.extend((frame == Frame::Nul).then_some('\0'));
        text.extend((frame == Frame::Rs).then_some('\u{1e}'));
        let mut bytes = Vec::new();
        let mut server = WebSocket::established(Side::Server, Limits::default(), 7);
        server.send(Message { kind: Kind::Text, payload: text.as_bytes() }, &mut bytes).unwrap();
        let mut input = Input::new(&mut bytes);
        while let Some(event) = self.talk.receive(&mut input, &mut self.tx).unwrap() {
            match event {
                Event::Open => self.outcomes.push("ok"),
                Event::Answer(answer) => {
                    self.outcomes.push(if answer.verdict == Verdict::Good {
                        "ok"
                    } else {
                        "error"
                    });
                }
                Event::Pushed(pushed) => {
                    let rule = pushed.rule.unwrap_or_else(|| panic!("nothing matches {text}"));
                    let rule = &self.conversation.pushes[usize::from(rule)];
                    if !matches!(&*rule.name, "heartbeat" | "ping") {
                        assert_eq!(pushed.sent.is_some(), rule.sent.is_some(), "{text}");
                        self.outcomes.push("pushed");
                    }
                }
                Event::Ping(_) => {}
                event @ (Event::Closed(_)
                | Event::Message(_)
                | Event::Part(_)
                | Event::Pong(_)
                | Event::Redirected
                | Event::Refused { .. }
                | Event::Response(_)
                | Event::Secured(_)) => panic!("{event:?}"),
            }
        }
    }
}

/// A STOMP frame as an object: its command, headers and body. Headers come in any order.
fn frame_of(text: &str) -> Value {
    let (head, body) = text.split_once("\n\n").expect("an empty line ends the headers");
    let (command, headers) = head.split_once('\n').expect("a command and headers");
    let number_or_text = |text: &str| match text.parse::<u64>() {
        Ok(number) => Value::from(number),
        Err(_) => Value::from(text),
    };
    let headers: serde_json::Map<String, Value> = headers
        .lines()
        .map(|line| line.split_once(':').expect("a name and a value"))
        .map(|(name, value)| (name.to_owned(), number_or_text(value)))
        .collect();
    serde_json::json!({ "command": command, "headers": headers, "body": body })
}
