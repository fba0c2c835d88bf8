//! Conversations as they are spoken: what a server says, cut at every place, and what the client makes of it.

use super::*;
use crate::connection::Connection;

use crate::contract::Pushed;
use crate::contract::{PeerError as AnyPeerError, Side};
use crate::conversation::sample::*;
use crate::transcript::{Transcript, check_splits_of_replies};
use crate::websocket::{Limits, WebSocket};
use spec::Conversation;
use spec::conversation::{
    ByteOrder, Cue, LengthWidth, Place, PushRule, READY_MADE, Reply, Separator, Speaks, Step,
};
use spec::rooms::Part;
use spec::stamp::Header;
use units::Bytes;

type Talk = super::Talk<Connection>;

const MESSAGE_MAX: usize = 1 << 10;

/// A conversation, and what a server says in it.
struct Spoken {
    conversation: Conversation,
    /// The messages of the opening, which the server sends before any request.
    greeting: &'static [&'static str],
    /// The exchanges that are asked for once it is open, in this order.
    asked: &'static [u16],
}

/// The events, and the messages that the client sent after the opening request.
#[derive(Debug)]
struct Happened {
    events: Vec<String>,
    said: Vec<String>,
}

impl Spoken {
    /// Lets the server say the greeting, and then `messages`.
    fn hears(&self, messages: &[&str]) -> Happened {
        let compiled = Compiled::new(&self.conversation).unwrap();
        let is_stream = self.conversation.speaks == Speaks::Tcp;
        let bytes_of = |messages: &[&str]| -> Vec<u8> {
            messages
                .iter()
                .flat_map(|text| if is_stream { text.as_bytes().to_vec() } else { frame(text) })
                .collect()
        };
        let greeting = bytes_of(self.greeting);
        let machine = || {
            let inner: Connection = if is_stream {
                compiled.stream(MESSAGE_MAX).into()
            } else {
                WebSocket::established(Side::Client, Limits::default(), 7).into()
            };
            let mut talk = Talk::new(inner, &compiled, 5, 7, MESSAGE_MAX);
            let mut tx = Vec::new();
            let mut is_open = talk.open(&mut tx) == Opening::Done;
            let mut bytes = greeting.clone();
            let mut input = Input::new(&mut bytes);
            while let Ok(Some(event)) = talk.receive(&mut input, &mut tx) {
                is_open |= event == Event::Open;
            }
            for (sequence, exchange) in (0..).zip(self.asked) {
                assert!(is_open, "the greeting opens the conversation");
                let mut cue = [0; Cue::LEN];
                let due = Nanos(1_000_000 + u64::from(sequence));
                Cue { sequence, exchange: *exchange, due }.write(&mut cue);
                talk.send(Message { kind: Kind::Text, payload: &cue }, &mut tx).unwrap();
            }
            Sending { talk, before: tx }
        };
        let Transcript { mut events, tx } = check_splits_of_replies(&bytes_of(messages), &machine);
        events.retain(|event| event != "ping \"\"" && !event.starts_with("end: "));
        let said = [machine().before, tx].concat();
        let said =
            if is_stream { vec![said.escape_ascii().to_string()] } else { said_by_client(&said) };
        Happened { events, said }
    }

    #[track_caller]
    fn check(&self, table: &[(&[&str], &[&str])]) {
        for (messages, events) in table {
            assert_eq!(self.hears(messages).events, *events, "{messages:?}");
        }
    }
}

/// A client that has sent something already.
struct Sending {
    talk: Talk,
    before: Vec<u8>,
}

impl Protocol for Sending {
    fn open(&mut self, tx: &mut Vec<u8>) -> Opening {
        self.talk.open(tx)
    }

    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        self.talk.send(message, tx)
    }

    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, AnyPeerError> {
        self.talk.receive(input, tx)
    }

    fn close(&mut self, tx: &mut Vec<u8>) -> bool {
        self.talk.close(tx)
    }

    fn end(&mut self) -> Result<Event<'_>, AnyPeerError> {
        self.talk.end()
    }
}

#[test]
fn json_rpc_tells_replies_refusals_pushes_and_the_servers_own_requests_apart() {
    let spoken = Spoken { conversation: json_rpc(), greeting: &[], asked: &[0, 0, 0] };
    let echo = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"echo","params":["a"]}}"#);
    assert_eq!(spoken.hears(&[]).said, [10_000_000, 10_000_001, 10_000_002].map(echo));
    #[rustfmt::skip]
    spoken.check(&[
        // Out of order, id first and last, a result with an id of its own.
        (&[r#"{"jsonrpc":"2.0","result":{"id":10000000},"id":10000002}"#, r#"{"id":10000000,"result":[]}"#],
         &[r#"answered 0#2 "{\"jsonrpc\":\"2.0\",\"result\":{\"id\":10000000},\"id\":10000002}""#,
           r#"answered 0#0 "{\"id\":10000000,\"result\":[]}""#]),
        (&[r#"{"id":10000001,"error":{"code":1}}"#], &[r#"refused 0#1 "{\"id\":10000001,\"error\":{\"code\":1}}""#]),
        (&[r#"{"method":"news"}"#], &[r#"Notice 0 "{\"method\":\"news\"}""#]),
        // A request of the server with an id of ours, a batch, an id that was never sent, none at all.
        (&[r#"{"id":10000001,"method":"ask"}"#], &[r#"Unexpected "{\"id\":10000001,\"method\":\"ask\"}""#]),
        (&[r#"[{"id":10000001,"result":1}]"#], &[r#"Unexpected "[{\"id\":10000001,\"result\":1}]""#]),
        (&[r#"{"id":10000003,"result":1}"#], &[r#"Unexpected "{\"id\":10000003,\"result\":1}""#]),
        (&[r#"{"id":null,"error":1}"#], &[r#"Unexpected "{\"id\":null,\"error\":1}""#]),
        (&["{\"id\":10000001,"], &["Unexpected \"{\\\"id\\\":10000001,\""]),
        // Twice, and with an odd spelling.
        (&[r#"{"id":"10000000","result":1}"#, r#"{"\u0069d":10000000,"result":2}"#],
         &[r#"answered 0#0 "{\"id\":\"10000000\",\"result\":1}""#, r#"answered 0#0 "{\"\\u0069d\":10000000,\"result\":2}""#]),
    ]);
}

#[test]
fn socket_io_opens_in_steps_acknowledges_delivers_and_answers_pings() {
    let greeting = &["0{\"sid\":\"x\"}", "40{\"sid\":\"y\"}", "4399999997[\"ok\"]"];
    let spoken = Spoken { conversation: socket_io(), greeting, asked: &[0, 1, 0] };
    let said = [
        "40",
        r#"4299999997["join","r"]"#,
        r#"4210000000["echo","a"]"#,
        r#"42["say",{"at":1000001}]"#,
        r#"4210000002["echo","a"]"#,
    ];
    assert_eq!(spoken.hears(&[]).said, said);
    assert_eq!(spoken.hears(&["2", "4310000000[]", "2"]).said[5..], ["3", "3"]);
    #[rustfmt::skip]
    spoken.check(&[
        (&["2", "4310000002[\"a\"]"], &["answered 0#2 \"4310000002[\\\"a\\\"]\""]),
        (&["42[\"said\",{\"at\":1000001}]"], &["Delivery 0 sent 1000001 \"42[\\\"said\\\",{\\\"at\\\":1000001}]\""]),
        (&["42[\"said\",{}]"], &["Notice 0 \"42[\\\"said\\\",{}]\""]),
        (&["4310000001[]"], &["Unexpected \"4310000001[]\""]),
        (&["42[\"other\"]"], &["Unexpected \"42[\\\"other\\\"]\""]),
    ]);
}

#[test]
fn what_no_step_expects_is_an_error_that_says_what_was_expected() {
    let spoken = Spoken { conversation: socket_io(), greeting: &[], asked: &[] };
    #[rustfmt::skip]
    spoken.check(&[
        (&["2", "0{}", "40{\"sid\":\"y\"}", "4399999996[]"], &["open"]),
        (&["hello"], &["error: step 1 of 3 of opening: got \"hello\", expected a message that starts with \"0{\""]),
        (&["0{}", "44{}"], &["error: step 2 of 3 of opening: got \"44{}\", expected a message that starts with \"40{\""]),
        (&["0{}", "40{}"], &["error: step 2 of 3 of opening: no value for `sid` between \"\\\"sid\\\":\\\"\" and \"\\\"\" in \"40{}\""]),
        (&["0{}", "40{\"sid\":\"y\"}", "4399999996[]"],
         &["error: step 3 of 3 of opening: got \"4399999996[]\", expected its id between \"43\" and \"[\""]),
    ]);
    let closed = {
        let compiled = Compiled::new(&socket_io()).unwrap();
        let inner = WebSocket::established(Side::Client, Limits::default(), 7);
        let mut talk = Talk::new(inner.into(), &compiled, 0, 7, MESSAGE_MAX);
        talk.open(&mut Vec::new());
        let mut close = b"\x88\x06\x11\x39nope".to_vec();
        talk.receive(&mut Input::new(&mut close), &mut Vec::new()).unwrap_err().to_string()
    };
    let expected = "step 1 of 3 of opening: the server closed the connection with code 4409 \"nope\", \
                    expected a message that starts with \"0{\"";
    assert_eq!(closed, expected);
}

/// graphql-transport-ws: a query and a subscription are both streams; the server pings.
#[test]
fn graphql_streams_begin_go_on_and_end_by_id_and_type() {
    let next = matcher(&["$.type=\"next\"", "id $.id"]);
    let conversation = Conversation {
        open: vec![step(r#"{"type":"connection_init"}"#, &["$.type=\"connection_ack\""])],
        requests: vec![spec::conversation::Request {
            refused: Some(matcher(&["$.type=\"error\"", "id $.id"])),
            ..request(
                r#"{"id":"${id}","type":"subscribe"}"#,
                Reply::Stream {
                    first: next.clone(),
                    each: next,
                    last: Some(matcher(&["$.type=\"complete\"", "id $.id"])),
                    may_end: false,
                    resume: None,
                },
            )
        }],
        answers: vec![answer(&["$.type=\"ping\""], r#"{"type":"pong"}"#)],
        ..conversation(Speaks::Ws, Frame::Message)
    };
    let greeting = &[r#"{"type":"connection_ack"}"#];
    let spoken = Spoken { conversation, greeting, asked: &[0, 0] };
    #[rustfmt::skip]
    spoken.check(&[
        (&[r#"{"id":"10000001","type":"next"}"#, r#"{"type":"ping"}"#, r#"{"id":"10000001","type":"next"}"#,
           r#"{"id":"10000000","type":"error"}"#, r#"{"type":"complete","id":"10000001"}"#],
         &[r#"first part 0#1 "{\"id\":\"10000001\",\"type\":\"next\"}""#,
           r#"part 0#1 "{\"id\":\"10000001\",\"type\":\"next\"}""#,
           r#"refused 0#0 "{\"id\":\"10000000\",\"type\":\"error\"}""#,
           r#"answered 0#1 "{\"type\":\"complete\",\"id\":\"10000001\"}""#]),
        (&[r#"{"id":"10000002","type":"next"}"#], &[r#"Unexpected "{\"id\":\"10000002\",\"type\":\"next\"}""#]),
    ]);
    let said = spoken.hears(&[r#"{"type":"ping"}"#]).said;
    assert_eq!(
        (&*said[1], &*said[3]),
        (r#"{"id":"10000000","type":"subscribe"}"#, r#"{"type":"pong"}"#)
    );
}

#[test]
fn phoenix_finds_its_reply_by_ref_and_event() {
    let conversation = Conversation {
        open: vec![step(
            r#"["${id}","${id}","room","phx_join",{}]"#,
            &["$[3]=\"phx_reply\"", "$[4].status=\"ok\"", "id $[1]"],
        )],
        requests: vec![asked(
            r#"["1","${id}","room","new_msg",{}]"#,
            &["$[3]=\"phx_reply\"", "$[4].status=\"ok\"", "id $[1]"],
            &["$[3]=\"phx_reply\"", "$[4].status=\"error\"", "id $[1]"],
        )],
        pushes: vec![push(&["$[3]=\"new_msg\"", "lacks $[1]"], None)],
        ..conversation(Speaks::Ws, Frame::Message)
    };
    let greeting = &[r#"["1","99999999","room","phx_reply",{"status":"ok"}]"#];
    let spoken = Spoken { conversation, greeting, asked: &[0, 0] };
    #[rustfmt::skip]
    spoken.check(&[
        (&[r#"["1",null,"room","new_msg",{}]"#, r#"["1","10000001","room","phx_reply",{"status":"ok"}]"#,
           r#"["1","10000000","room","phx_reply",{"status":"error"}]"#],
         &[r#"Notice 0 "[\"1\",null,\"room\",\"new_msg\",{}]""#,
           r#"answered 0#1 "[\"1\",\"10000001\",\"room\",\"phx_reply\",{\"status\":\"ok\"}]""#,
           r#"refused 0#0 "[\"1\",\"10000000\",\"room\",\"phx_reply\",{\"status\":\"error\"}]""#]),
        // A delivery with the sender's ref is no reply.
        (&[r#"["1","10000001","room","new_msg",{}]"#], &[r#"Unexpected "[\"1\",\"10000001\",\"room\",\"new_msg\",{}]""#]),
    ]);
}

#[test]
fn action_cable_has_json_in_a_string_and_an_id_of_its_own() {
    let identifier = r#""identifier":"{\"channel\":\"C\"}""#;
    let send = format!(r#"{{"command":"message",{identifier},"data":"{{\"n\":${{id}}}}"}}"#);
    let subscribe = format!(r#"{{"command":"subscribe",{identifier}}}"#);
    let conversation = Conversation {
        open: vec![
            step("", &["$.type=\"welcome\""]),
            Step {
                refused: Some(matcher(&["$.type=\"reject_subscription\""])),
                ..step(&subscribe, &["$.type=\"confirm_subscription\""])
            },
        ],
        requests: vec![asked(&send, &["id $.message.n"], &[])],
        pushes: vec![push(&["$.type=\"ping\""], None)],
        ..conversation(Speaks::Ws, Frame::Message)
    };
    let greeting = &[r#"{"type":"welcome"}"#, r#"{"type":"confirm_subscription"}"#];
    let spoken = Spoken { conversation, greeting, asked: &[0] };
    let happened = spoken.hears(&[
        r#"{"type":"ping","message":3}"#,
        r#"{"identifier":"{\"n\":1}","message":{"n":10000000}}"#,
    ]);
    assert_eq!(happened.said[1], send.replace("${id}", "10000000"));
    let answered =
        r#"answered 0#0 "{\"identifier\":\"{\\\"n\\\":1}\",\"message\":{\"n\":10000000}}""#;
    assert_eq!(happened.events, [r#"Notice 0 "{\"type\":\"ping\",\"message\":3}""#, answered]);
    let refusing = Spoken { greeting: &[], asked: &[], ..spoken };
    let messages = [r#"{"type":"welcome"}"#, r#"{"type":"reject_subscription"}"#];
    let refused = r#"error: step 2 of 2 of opening: the server refuses: "{\"type\":\"reject_subscription\"}""#;
    assert_eq!(refusing.hears(&messages).events, [refused]);
}

#[test]
fn stomp_is_cut_at_nul_on_either_transport() {
    for (speaks, end) in [(Speaks::Tcp, "\0"), (Speaks::Ws, "\0\n")] {
        let conversation = Conversation {
            open: vec![step("CONNECT\n\n", &["starts CONNECTED\n"])],
            requests: vec![asked(
                "SEND\nreceipt:${id}\n\nx",
                &["starts RECEIPT\n", "id receipt-id:|\n"],
                &[],
            )],
            pushes: vec![push(&["starts MESSAGE\n"], None)],
            ..conversation(speaks, Frame::Nul)
        };
        let spoken = Spoken { conversation, greeting: &["CONNECTED\n\n\0\n"], asked: &[0, 0] };
        let receipt = format!("MESSAGE\nreceipt-id:7\n\nx\0RECEIPT\nreceipt-id:10000001\n\n{end}");
        let happened = spoken.hears(&["\n", &receipt, "\n", "RECEIPT\nreceipt-id:10000000\n\n\0"]);
        let events = [
            r#"Notice 0 "MESSAGE\nreceipt-id:7\n\nx""#,
            r#"answered 0#1 "RECEIPT\nreceipt-id:10000001\n\n""#,
            r#"answered 0#0 "RECEIPT\nreceipt-id:10000000\n\n""#,
        ];
        assert_eq!(happened.events, events, "{speaks:?}");
        let said = r"CONNECT\n\n\x00SEND\nreceipt:10000000\n\nx\x00SEND\nreceipt:10000001\n\nx\x00";
        let written: String = happened
            .said
            .iter()
            .map(|said| said.replace('\0', "\\x00").replace('\n', "\\n"))
            .collect();
        assert_eq!(written, said, "{speaks:?}");
    }
}

#[test]
fn signalr_has_several_messages_in_one_and_one_in_several() {
    let conversation = Conversation {
        open: vec![step(r#"{"protocol":"json","version":1}"#, &["lacks $.error"])],
        requests: vec![asked(
            r#"{"type":1,"invocationId":"${id}"}"#,
            &["$.type=3", "lacks $.error", "id $.invocationId"],
            &["$.type=3", "has $.error", "id $.invocationId"],
        )],
        pushes: vec![push(&["$.type=1"], None), push(&["$.type=6"], None)],
        ..conversation(Speaks::Ws, Frame::Rs)
    };
    let spoken = Spoken { conversation, greeting: &["{}\u{1e}"], asked: &[0, 0] };
    let push_and_reply =
        "{\"type\":1}\u{1e}{\"type\":3,\"invocationId\":\"10000001\"}\u{1e}{\"type\":6}\u{1e}{\"ty";
    let happened = spoken.hears(&[
        push_and_reply,
        "pe\":3,\"invocationId\":\"10000000\",\"error\":\"no\"",
        "}\u{1e}",
    ]);
    let events = [
        r#"Notice 0 "{\"type\":1}""#,
        r#"answered 0#1 "{\"type\":3,\"invocationId\":\"10000001\"}""#,
        r#"Notice 1 "{\"type\":6}""#,
        r#"refused 0#0 "{\"type\":3,\"invocationId\":\"10000000\",\"error\":\"no\"}""#,
    ];
    assert_eq!(happened.events, events);
    let said = [
        "{\"protocol\":\"json\",\"version\":1}\u{1e}",
        "{\"type\":1,\"invocationId\":\"10000000\"}\u{1e}",
    ];
    assert_eq!(happened.said[..2], said);
}

#[test]
fn centrifugo_has_a_push_before_the_reply_in_one_message_and_empty_beats() {
    let conversation = Conversation {
        open: vec![step(r#"{"id":${id},"connect":{}}"#, &["has $.connect", "id $.id"])],
        requests: vec![asked(
            r#"{"id":${id},"rpc":{}}"#,
            &["has $.rpc", "id $.id"],
            &["has $.error", "id $.id"],
        )],
        pushes: vec![push(&["has $.push"], Some("$.push.at"))],
        answers: vec![answer(&["is {}"], "{}")],
        ..conversation(Speaks::Ws, Frame::Lines)
    };
    let greeting = &["{\"id\":99999999,\"connect\":{}}\n"];
    let spoken = Spoken { conversation, greeting, asked: &[0] };
    let events = [
        r#"Delivery 0 sent 7 "{\"push\":{\"at\":7}}""#,
        r#"answered 0#0 "{\"id\":10000000,\"rpc\":{}}""#,
    ];
    // A WebSocket message ends its last line, with or without a line feed.
    let push_and_reply = "{\"push\":{\"at\":7}}\n{\"id\":10000000,\"rpc\":{}}";
    let ended = format!("{push_and_reply}\n");
    let apart = ["{\"push\":{\"at\":7}}", "{\"id\":10000000,\"rpc\":{}}\r"];
    let cut = [&["{}\n", &ended][..], &["{}", push_and_reply], &["{}", apart[0], apart[1]]];
    for messages in cut {
        assert_eq!(spoken.hears(messages).events, events, "{messages:?}");
    }
    let happened = spoken.hears(&["{}\n"]);
    assert_eq!(happened.said[1..], ["{\"id\":10000000,\"rpc\":{}}\n", "{}\n"]);
}

#[test]
fn replies_in_order_go_to_the_oldest_message_whatever_is_pushed_between() {
    let refused = Some(matcher(&["starts -"]));
    let inline = |send| spec::conversation::Request {
        refused: refused.clone(),
        ..request(send, Reply::Order)
    };
    let conversation = Conversation {
        open: vec![step("HELLO 3", &["starts %"])],
        requests: vec![inline("GET k"), inline("SET k v")],
        pushes: vec![push(&["starts >"], None)],
        ..conversation(Speaks::Tcp, Frame::Resp)
    };
    let greeting = &["%2\r\n$6\r\nserver\r\n$5\r\nre\r\nd\r\n+proto\r\n:3\r\n"];
    let spoken = Spoken { conversation, greeting, asked: &[0, 1, 0, 0] };
    let happened = spoken.hears(&[
        "$4\r\na\r\nb\r\n>3\r\n+message\r\n$1\r\nc\r\n$0\r\n\r\n",
        "-ERR\r\n$-1\r\n*2\r\n*1\r\n:1\r\n_\r\n+c\r\n",
    ]);
    let events = [
        r#"answered 0#0 "$4\r\na\r\nb""#,
        r#"Notice 0 ">3\r\n+message\r\n$1\r\nc\r\n$0\r\n""#,
        r#"refused 1#1 "-ERR""#,
        r#"answered 0#2 "$-1""#,
        r#"answered 0#3 "*2\r\n*1\r\n:1\r\n_""#,
        r#"Unexpected "+c""#,
    ];
    assert_eq!(happened.events, events);
    assert_eq!(happened.said, [r"HELLO 3\r\nGET k\r\nSET k v\r\nGET k\r\nGET k\r\n"]);
}

#[test]
fn a_separator_ends_messages_on_a_stream_and_within_one_of_websocket() {
    let separator = Separator::new("\r\n\r\n").unwrap();
    let frame = Frame::Separator { separator, max: Bytes(64) };
    for speaks in [Speaks::Tcp, Speaks::Ws] {
        let conversation = Conversation {
            open: vec![step("HELLO\r\nme", &["starts WELCOME"])],
            requests: vec![asked("GET\r\n${id}", &["id OK\r\n|"], &[])],
            pushes: vec![push(&["is NEWS"], None)],
            ..conversation(speaks, frame)
        };
        let greeting = &["WELCOME\r\nyou\r\n\r\n"];
        let spoken = Spoken { conversation, greeting, asked: &[0, 0] };
        let happened =
            spoken.hears(&["OK\r\n10000001\r\n\r\nNEWS\r\n\r", "\nOK\r\n10000000\r\n\r\n"]);
        let events = [
            "answered 0#1 \"OK\\r\\n10000001\"",
            "Notice 0 \"NEWS\"",
            "answered 0#0 \"OK\\r\\n10000000\"",
        ];
        assert_eq!(happened.events, events, "{speaks:?}");
        let said = "HELLO\r\nme\r\n\r\nGET\r\n10000000\r\n\r\nGET\r\n10000001\r\n\r\n";
        let is_stream = speaks == Speaks::Tcp;
        let said = if is_stream { said.escape_default().to_string() } else { said.to_owned() };
        assert_eq!(happened.said.concat(), said, "{speaks:?}");
    }
}

#[test]
fn a_length_may_have_any_width_and_order_and_count_itself() {
    #[rustfmt::skip]
    let table: [(_, _, _, &[u8], &[u8]); _] = [
        (LengthWidth::One,    ByteOrder::Big,    false, b"\x02", b"\x08"),
        (LengthWidth::Two,    ByteOrder::Big,    true,  b"\x00\x04", b"\x00\x0a"),
        (LengthWidth::Two,    ByteOrder::Little, false, b"\x02\x00", b"\x08\x00"),
        (LengthWidth::Four,   ByteOrder::Big,    true,  b"\x00\x00\x00\x06", b"\x00\x00\x00\x0c"),
        (LengthWidth::Four,   ByteOrder::Little, true,  b"\x06\x00\x00\x00", b"\x0c\x00\x00\x00"),
        (LengthWidth::Varint, ByteOrder::Big,    false, b"\x02", b"\x08"),
        (LengthWidth::Varint, ByteOrder::Big,    true,  b"\x03", b"\x09"),
    ];
    for (width, order, includes_itself, greeting, length) in table {
        let frame = Frame::Length { width, order, includes_itself, max: Bytes(64) };
        let conversation = Conversation {
            open: vec![step("", &["is hi"])],
            requests: vec![asked("${id}", &["id |"], &[])],
            ..conversation(Speaks::Tcp, frame)
        };
        let bytes = [greeting, b"hi", length, b"10000000"].concat();
        let compiled = Compiled::new(&conversation).unwrap();
        let machine = || {
            let mut talk =
                Talk::new(compiled.stream(MESSAGE_MAX).into(), &compiled, 0, 0, MESSAGE_MAX);
            talk.open(&mut Vec::new());
            talk
        };
        let transcript = check_splits_of_replies(&bytes, &machine);
        let events: Vec<_> =
            transcript.events.iter().filter(|event| *event != "ping \"\"").collect();
        assert_eq!(
            events,
            ["open", "Unexpected \"10000000\"", "end: closed None \"\""],
            "{frame:?}"
        );
        let mut talk = machine();
        let mut opened = [greeting, b"hi"].concat();
        let (mut input, mut tx) = (Input::new(&mut opened), Vec::new());
        while talk.receive(&mut input, &mut tx).unwrap().is_some() {}
        let mut cue = [0; Cue::LEN];
        Cue { sequence: 0, exchange: 0, due: Nanos(0) }.write(&mut cue);
        talk.send(Message { kind: Kind::Binary, payload: &cue }, &mut tx).unwrap();
        assert_eq!(tx, [length, b"10000000"].concat(), "{frame:?}");
    }
}

#[test]
fn lengths_beyond_the_limit_and_lengths_that_are_none_are_errors() {
    let length = |width, includes_itself, max| Frame::Length {
        width,
        order: ByteOrder::Big,
        includes_itself,
        max: Bytes(max),
    };
    let separated =
        |max| Frame::Separator { separator: Separator::new("\r\n\r\n").unwrap(), max: Bytes(max) };
    #[rustfmt::skip]
    let table: [(Frame, &[u8], &str); _] = [
        (Frame::Lines, b"aaaaaaaaa", "a message is longer than 8 bytes, the limit"),
        (Frame::Lines, b"aaaaaaaaa\n", "a message is longer than 8 bytes, the limit"),
        (separated(100), b"aaaaaaaaaaaa", "a message is longer than 8 bytes, the limit"),
        (separated(4), b"aaaaa\r\n\r\n", "a message is longer than 4 bytes, the limit"),
        (Frame::Resp, b"*1\r\n$9\r\n", "a message is longer than 8 bytes, the limit"),
        (length(LengthWidth::Four, false, 100), b"\0\0\0\x09", "a message is longer than 8 bytes, the limit"),
        (length(LengthWidth::Four, false, 4), b"\0\0\0\x05", "a message is longer than 4 bytes, the limit"),
        (length(LengthWidth::Two, true, 4), b"\0\x01", "invalid message length: \"\\x00\\x01\""),
        (length(LengthWidth::Varint, false, 4), b"\xff\xff\xff\xff\xff", "invalid message length: \"\\xff\\xff\\xff\\xff\\xff\""),
    ];
    for (frame, bytes, error) in table {
        let conversation = conversation(Speaks::Tcp, frame);
        let conversation =
            Conversation { requests: vec![asked("a", &["is a"], &[])], ..conversation };
        let compiled = Compiled::new(&conversation).unwrap();
        let machine = || {
            let mut talk = Talk::new(compiled.stream(8).into(), &compiled, 0, 0, 8);
            assert_eq!(talk.open(&mut Vec::new()), Opening::Done);
            talk
        };
        let transcript = check_splits_of_replies(bytes, &machine);
        assert_eq!(transcript.events, [format!("error: {error}")], "{frame:?}");
    }
}

#[test]
fn ids_are_found_by_what_was_learnt_and_never_otherwise_than_by_looking() {
    let conversation = json_rpc();
    let compiled = Compiled::new(&conversation).unwrap();
    let mut learning = talk_of(&compiled);
    ask(&mut learning, 40);
    let texts = |id: u32| {
        [
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"a"}}"#),
            format!(r#"{{"jsonrpc":"2.0","result":{{"id":1}},"id":{id}}}"#),
            format!(r#"{{"jsonrpc":"2.0","result":"{}","id":"{id}"}}"#, "x".repeat(300)),
            format!(r#"{{"jsonrpc":"2.0","error":{{"id":{id}}},"id":9}}"#),
            format!(r#"{{"jsonrpc":"2.0","result":{{"id":{id}}}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":{id}0,"result":"a"}}"#),
        ]
    };
    for sequence in 0..40 {
        for text in texts(10_000_000 + sequence) {
            let mut fresh = talk_of(&compiled);
            ask(&mut fresh, 40);
            assert_eq!(hear(&mut learning, &text), hear(&mut fresh, &text), "{text}");
        }
    }
    let hits = learning.hits();
    assert_eq!((hits.odd, hits.learnt + hits.scanned), (0, 120));
    assert_eq!(hits.scanned, 3, "each shape once: {hits:?}");
}

fn talk_of(compiled: &Arc<Compiled>) -> Talk {
    let inner = WebSocket::established(Side::Client, Limits::default(), 7);
    let mut talk = Talk::new(inner.into(), compiled, 0, 7, MESSAGE_MAX);
    talk.open(&mut Vec::new());
    while talk.receive(&mut Input::new(&mut []), &mut Vec::new()).unwrap().is_some() {}
    talk
}

/// Sends `count` messages of exchange 0.
fn ask(talk: &mut Talk, count: u32) {
    for sequence in 0..count {
        let mut cue = [0; Cue::LEN];
        Cue { sequence, exchange: 0, due: Nanos(0) }.write(&mut cue);
        talk.send(Message { kind: Kind::Text, payload: &cue }, &mut Vec::new()).unwrap();
    }
}

/// The events of one message.
fn hear(talk: &mut Talk, text: &str) -> Vec<String> {
    let mut bytes = frame(text);
    let mut input = Input::new(&mut bytes);
    let mut events = Vec::new();
    while let Some(event) = talk.receive(&mut input, &mut Vec::new()).unwrap() {
        events.push(format!("{event:?}"));
    }
    events
}

#[test]
fn a_farewell_is_said_and_its_answer_awaited() {
    let conversation = Conversation {
        requests: vec![asked("${id}", &["id |"], &[])],
        close: Some(step("QUIT", &["is BYE"])),
        ..conversation(Speaks::Tcp, Frame::Lines)
    };
    let compiled = Compiled::new(&conversation).unwrap();
    let mut talk = Talk::new(compiled.stream(64).into(), &compiled, 0, 0, 64);
    let mut tx = Vec::new();
    assert_eq!(talk.open(&mut tx), Opening::Done);
    assert!(talk.close(&mut tx), "the server owes its answer");
    assert_eq!(tx, b"QUIT\n");
    let mut bytes = b"late\nBYE\n".to_vec();
    let mut input = Input::new(&mut bytes);
    let mut events = Vec::new();
    while let Some(event) = talk.receive(&mut input, &mut tx).unwrap() {
        events.push(event == Event::Closed(Closed::default()));
    }
    assert_eq!(events, [false, false, true]);
    let message = Message { kind: Kind::Text, payload: &[0; Cue::LEN] };
    assert_eq!(talk.send(message, &mut tx), Err(MisuseError::NotOpen));
}

#[test]
fn behind_an_answered_farewell_a_websocket_may_end_without_a_close_frame() {
    let polite = Conversation { close: Some(step("QUIT", &["is BYE"])), ..json_rpc() };
    let compiled = Compiled::new(&polite).unwrap();
    let ended = |messages: &[&str]| {
        let mut talk = talk_of(&compiled);
        assert!(talk.close(&mut Vec::new()), "the server owes its answer");
        for text in messages {
            hear(&mut talk, text);
        }
        talk.end().map(|event| format!("{event:?}")).map_err(|error| error.to_string())
    };
    let closed = Ok(format!("{:?}", Event::Closed(Closed::default())));
    assert_eq!(ended(&["BYE"]), closed);
    assert_eq!(ended(&["late", "BYE"]), closed);
    let compiled = Compiled::new(&json_rpc()).unwrap();
    let mut talk = talk_of(&compiled);
    assert!(talk.close(&mut Vec::new()), "a Close frame is answered");
    let error = talk.end().unwrap_err().to_string();
    assert!(error.contains("without a Close frame"), "{error}");
}

#[test]
fn in_rooms_each_part_takes_its_own_steps_and_deliveries_are_known_by_their_headers() {
    let by = |part, text: &str| Step { by: Some(part), ..step(text, &[]) };
    let place = |before: &str, after: &str| {
        Some(Place::Text { before: before.to_owned(), after: after.to_owned() })
    };
    let mut conversation = Conversation {
        open: vec![
            by(Part::Receiver, "join ${room_number}"),
            by(Part::Publisher, "greet ${client}"),
        ],
        requests: vec![request("to ${room_number} ${header}.", Reply::Nothing)],
        pushes: vec![
            PushRule {
                header: Some(Place::Json("$.data".parse().unwrap())),
                ..push(&["has $.data"], None)
            },
            PushRule { header: place("#", "."), ..push(&["starts m"], None) },
        ],
        ..json_rpc()
    };
    conversation.open.iter_mut().for_each(|step| step.expect = None);
    let [count, publishers, receivers] = [2, 1, 3].map(|it| std::num::NonZeroU32::new(it).unwrap());
    let rooms = spec::Rooms { count, publishers, receivers, conduct: spec::Conduct::default() };
    let said = |client, rooms| {
        let compiled = Compiled::in_rooms(&conversation, rooms, b"").unwrap();
        let inner: Connection = WebSocket::established(Side::Client, Limits::default(), 7).into();
        let mut talk = Talk::new(inner, &compiled, client, 7, MESSAGE_MAX);
        let mut tx = Vec::new();
        assert_eq!(talk.open(&mut tx), Opening::Done);
        let mut cue = [0; Cue::LEN];
        Cue { sequence: 0, exchange: 0, due: Nanos(258) }.write(&mut cue);
        talk.send(Message { kind: Kind::Text, payload: &cue }, &mut tx).unwrap();
        said_by_client(&tx)
    };
    let header = "01000000000000000201000000000000";
    assert_eq!(said(1, Some(rooms)), ["greet 1", &format!("to 1 {header}.")]);
    assert_eq!(said(5, Some(rooms))[0], "join 1");
    // A connection that replaced a lost publisher.
    assert_eq!(said(9, Some(rooms))[0], "greet 9");
    // Without rooms each connection has its own, and both parts in it.
    assert_eq!(said(9, None)[..2], ["join 9", "greet 9"]);

    let heard = |text: &str| {
        let compiled = Compiled::in_rooms(&conversation, Some(rooms), b"").unwrap();
        let mut talk = talk_of(&compiled);
        let mut bytes = frame(text);
        let mut input = Input::new(&mut bytes);
        loop {
            match talk.receive(&mut input, &mut Vec::new()).unwrap() {
                Some(Event::Pushed(pushed)) => {
                    let Pushed { rule, sent, header, .. } = pushed;
                    return (rule, sent, header);
                }
                Some(_) => {}
                None => panic!("nothing was pushed"),
            }
        }
    };
    let known = Header { connection: 1, sequence: 0, due: Nanos(258) };
    let of = |rule| (Some(rule), Some(Nanos(258)), Some(known));
    assert_eq!(heard(&format!(r#"{{"data":"{header} and more"}}"#)), of(0));
    assert_eq!(heard(&format!("m #x #{header}.")), of(1));
    for unknown in
        [r#"{"data":"0100"}"#, "m", "m #", &format!("m #{header}"), &format!("m {header}.")]
    {
        assert_eq!(heard(unknown).2, None, "{unknown}");
    }
}

#[test]
fn a_client_of_socket_io_that_is_restored_takes_no_more_steps() {
    let (name, text) = READY_MADE.iter().find(|(name, _)| *name == "room-socketio").unwrap();
    let compiled = Compiled::new(&Conversation::read(name, text).unwrap()).unwrap();
    let hears = |ticket: Option<&Ticket>, messages: &[&str]| {
        let mut talk = talk_of(&compiled).over_socketio(true);
        ticket.into_iter().for_each(|ticket| talk.come_back(ticket.clone()));
        let (mut tx, mut events) = (Vec::new(), Vec::new());
        for message in messages {
            let mut bytes = frame(message);
            let mut input = Input::new(&mut bytes);
            loop {
                match talk.receive(&mut input, &mut tx) {
                    Ok(None) => break,
                    Ok(Some(Event::Ping(_))) => {}
                    Ok(Some(Event::Pushed(Pushed { kind, .. }))) => {
                        events.push(format!("{kind:?}"))
                    }
                    Ok(Some(event)) => events.push(format!("{event:?}")),
                    Err(error) => {
                        events.push(error.to_string());
                        break;
                    }
                }
            }
        }
        (events.join(", "), said_by_client(&tx), talk.is_restored(), talk.ticket())
    };
    let ticket = |pid: &str, offset: &str| Ticket::new(pid, offset.as_bytes());
    let (greeting, connected) =
        ("0{}", |pid: &str| format!("40{{\"sid\":\"s\",\"pid\":\"{pid}\"}}"));
    let joined = r#"42["message","joined room-0","0"]"#;
    let (join, own) = (r#"42["message","join room-0"]"#, ticket("p", "7"));
    let (new, back) = ("40", r#"40{"pid":"p","offset":"7"}"#);
    let news = r#"42["news","8"]"#;
    let missed = format!(r#"42["message","message room-0\n{} ","9"]"#, "0".repeat(32));
    let [known, unknown] = ["p", "q"].map(connected);
    assert_eq!(
        hears(None, &[greeting, &known, joined]),
        ("Open".to_owned(), vec![new.into(), join.into()], false, Some(ticket("p", "0")))
    );
    // What was missed comes first, whether or not the conversation has a rule for it.
    assert_eq!(
        hears(Some(&own), &[greeting, news, &missed, &known]),
        ("Unexpected, Delivery, Open".to_owned(), vec![back.into()], true, Some(ticket("p", "9")))
    );
    assert_eq!(
        hears(Some(&own), &[greeting, &unknown, joined]),
        ("Open".to_owned(), vec![back.into(), join.into()], false, Some(ticket("q", "0")))
    );
    let (refused, said, ..) = hears(None, &[greeting, news]);
    assert!(refused.contains("step 2 of 3") && said == [new], "{refused}");
}

#[test]
fn a_reply_of_a_learnt_shape_behind_the_farewell_is_late() {
    let conversation = Conversation {
        requests: vec![
            asked("one ${id}", &[r#"$.to="one""#, "id $.id"], &[]),
            asked("two ${id}", &[r#"$.to="two""#, "id $.id"], &[]),
        ],
        close: Some(step("bye", &["is bye"])),
        ..conversation(Speaks::Ws, Frame::Message)
    };
    let mut talk = talk_of(&Compiled::new(&conversation).unwrap());
    let mut tx = Vec::new();
    for sequence in 0..2 {
        let mut cue = [0; Cue::LEN];
        Cue { sequence, exchange: 1, due: Nanos(0) }.write(&mut cue);
        talk.send(Message { kind: Kind::Text, payload: &cue }, &mut tx).unwrap();
    }
    let answered = hear(&mut talk, r#"{"to":"two","id":10000000}"#);
    assert!(answered[0].starts_with("Answer(Answer { sequence: 0, exchange: 1,"), "{answered:?}");
    assert_eq!(talk.learnt().map(|(exchange, _)| exchange).collect::<Vec<_>>(), [1]);
    assert!(talk.close(&mut tx), "the farewell is answered");
    assert_eq!(hear(&mut talk, r#"{"to":"two","id":10000001}"#), ["Ping([])"]);
    assert_eq!(hear(&mut talk, "bye"), ["Ping([])"]);
    assert_eq!(talk.mind.state, State::AwaitEnd);
}

#[test]
fn cues_that_are_none_are_not_sent() {
    let compiled = Compiled::new(&json_rpc()).unwrap();
    let mut talk = talk_of(&compiled);
    let mut tx = Vec::new();
    let mut send = |sequence, exchange, len: usize| {
        let mut cue = [0; Cue::LEN];
        Cue { sequence, exchange, due: Nanos(0) }.write(&mut cue);
        talk.send(Message { kind: Kind::Text, payload: &cue[..len] }, &mut tx).is_ok()
    };
    assert!(!send(0, 0, 3), "a cue has its length");
    assert!(!send(0, 1, Cue::LEN), "there is no exchange 1");
    assert!(!send(1, 0, Cue::LEN), "0 is next");
    assert!(send(0, 0, Cue::LEN) && send(1, 0, Cue::LEN) && !send(1, 0, Cue::LEN));
}

#[test]
fn heartbeats_are_sent_when_their_owner_says_so() {
    let beat = spec::conversation::Beat {
        every: spec::conversation::Every::Millis("interval".to_owned()),
        send: template(r#"[null,"${id}","phoenix","heartbeat",{}]"#),
    };
    let conversation = Conversation {
        open: vec![Step { take: vec![take("interval", "$.ms")], ..step("", &["has $.ms"]) }],
        beat: Some(beat),
        ..json_rpc()
    };
    let compiled = Compiled::new(&conversation).unwrap();
    let mut talk = talk_of(&compiled);
    let mut tx = Vec::new();
    assert_eq!(talk.beat_every(), None, "it is not known yet");
    talk.beat(&mut tx).unwrap();
    assert_eq!(tx, b"", "nor open");
    hear(&mut talk, r#"{"ms":250}"#);
    assert_eq!(talk.beat_every(), Some(Nanos(250_000_000)));
    talk.beat(&mut tx).unwrap();
    assert_eq!(said_by_client(&tx), [r#"[null,"99999998","phoenix","heartbeat",{}]"#]);
}

#[test]
fn what_cannot_be_held_is_refused_when_it_is_made_ready() {
    let error = |change: &dyn Fn(&mut Conversation)| {
        let mut conversation = json_rpc();
        change(&mut conversation);
        Compiled::new(&conversation).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(
        error(&|conversation| conversation.open.push(step("${token}", &[]))),
        "no value is called `token`; `[vars]` or a `take` before must give it"
    );
    let many: Vec<String> = (0..130).map(|index| format!("$.a={index}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(
        error(&|conversation| conversation.pushes.push(push(&many, None))),
        "the conversation has more than 128 different conditions in one state"
    );
    assert_eq!(
        error(&|conversation| conversation.speaks = Speaks::Sse),
        "the conversation `sample` cannot be held: messages are not supported over server-sent events"
    );
}

#[test]
fn an_idle_conversation_is_small() {
    let quiet = size_of::<Talk>();
    assert!(quiet <= 1024, "{quiet} bytes");
}

/// A text as a server sends it.
fn frame(text: &str) -> Vec<u8> {
    let mut frame = Vec::new();
    let message = Message { kind: Kind::Text, payload: text.as_bytes() };
    WebSocket::established(Side::Server, Limits::default(), 0).send(message, &mut frame).unwrap();
    frame
}

/// The texts that a client sent.
fn said_by_client(tx: &[u8]) -> Vec<String> {
    let mut server = WebSocket::established(Side::Server, Limits::default(), 0);
    let mut bytes = tx.to_vec();
    let mut input = Input::new(&mut bytes);
    let mut said = Vec::new();
    while let Some(event) = server.receive(&mut input, &mut Vec::new()).unwrap() {
        let Event::Message(Message { payload, .. }) = event else { panic!("{event:?}") };
        said.push(String::from_utf8(payload.to_vec()).unwrap());
    }
    said
}
