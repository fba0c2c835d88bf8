//! The Socket.IO clients over HTTP polling, alone or upgraded to WebSocket, against scripted servers.

use crate::script::{Step, Told, describe, play};
use crate::sockjs::{bodies, first, lines_with, response, send};
use wire::{ClientOptions, Connection, Input, Kind, Message, Protocol, Role, ServerOptions};

#[test]
fn the_first_poll_opens_a_session_whose_name_is_in_all_requests_behind_it() {
    let steps = [
        opening(),
        ok(),
        first("40{\"sid\":\"b\"}"),
        send("x"),
        ok(),
        first("42[\"message\",\"x\"]"),
        first("41"),
    ];
    let told = play(&client, &steps);
    assert_eq!(told.events, ["open", "Text x", "closed None \"disconnected\""]);
    let polls = lines_with(&told.first, "GET ");
    let named = "GET /chat/socket.io/?EIO=4&transport=polling&x=1&sid=a-%2F%20_ HTTP/1.1";
    let unnamed = named.replace("&sid=a-%2F%20_", "");
    assert_eq!(polls, [&*unnamed, named, named, named], "no poll follows the end");
    assert_eq!(bodies(&told.second)[..2], ["40", "42[\"message\",\"x\"]"]);
    let posts = lines_with(&told.second, "POST ");
    assert!(posts.iter().all(|line| *line == named.replace("GET", "POST")), "{posts:?}");
}

#[test]
fn packets_of_one_poll_are_handed_out_in_order_and_pings_are_answered() {
    let payload = concat!(
        "42[\"message\",\"a\"]\u{1e}2\u{1e}6\u{1e}42[\"message\",\"b\\u001e\"]\u{1e}",
        "42[\"message\",\"\u{e9}\"]"
    );
    let told = play(&client, &[opening(), ok(), first("40{}"), first(payload), ok(), first("6")]);
    assert_eq!(told.events, ["open", "Text a", "ping ", "Text b\\x1e", "Text \\xc3\\xa9"]);
    assert_eq!(bodies(&told.second), ["40", "3"]);
    assert_eq!(lines_with(&told.first, "GET ").len(), 5, "a noop only ends a poll");
}

#[test]
fn packets_that_come_while_one_is_posted_go_together_in_a_body() {
    let steps = [opening(), ok(), first("40{}"), send("1"), send("2\u{1e}"), send("3"), ok(), ok()];
    let told = play(&client, &steps);
    let event = |text: &str| format!("42[\"message\",\"{text}\"]");
    let both = format!("{}\u{1e}{}", event("2\\u001e"), event("3"));
    assert_eq!(bodies(&told.second), ["40".to_owned(), event("1"), both]);
}

#[test]
fn what_waits_is_never_longer_than_the_server_takes() {
    let small = first("0{\"sid\":\"a\",\"maxPayload\":40}");
    let steps = [small, ok(), first("40{}"), send("1"), send("2"), send("3"), send("4"), ok()];
    let told = play(&client, &steps);
    let [open, refused] = &told.events[..] else { panic!("{:?}", told.events) };
    assert!(open == "open" && refused.starts_with("not sent: "), "{refused}");
    // Each packet is 17 bytes long, and there is one byte between two of them.
    let lens: Vec<usize> = bodies(&told.second).iter().map(String::len).collect();
    assert_eq!(lens, [2, 17, 35]);
}

#[test]
fn a_client_that_goes_says_so() {
    let told = play(&client, &[opening(), ok(), first("40{}"), Step::Close]);
    assert_eq!(told.events, ["open", "closing, answered: false"]);
    assert_eq!(bodies(&told.second), ["40", "41"]);
}

#[test]
fn posts_never_overlap_not_even_at_the_end() {
    let told = play(&client, &[opening(), ok(), first("40{}"), send("1"), Step::Close]);
    assert_eq!(bodies(&told.second), ["40", "42[\"message\",\"1\"]"]);
}

#[test]
fn what_a_server_may_not_do_has_a_name() {
    let bad = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 41\r\n\r\n{\"code\":1,\"message\":\"Session ID unknown\"}";
    let large = b"HTTP/1.1 413 Payload Too Large\r\nContent-Length: 0\r\n\r\n".to_vec();
    #[rustfmt::skip]
    let table: [(&[Step], &str); _] = [
        (&[opening(), Step::First(bad.to_vec())],  "error: Socket.IO: refused: status 400, \"{\\\"code\\\":1,\\\"message\\\":\\\"Session ID unknown\\\"}\""),
        (&[opening(), ok(), first("40{}"), send("1"), Step::Second(large)], "error: Socket.IO: refused: status 413, \"\""),
        (&[first("")],                             "error: a response without a frame"),
        (&[first("0{}")],                          "error: got \"0{}\", expected the packet `0` with the `sid` of the session"),
        (&[first("40{}")],                         "error: got \"40{}\", expected the packet `0` with the `sid` of the session"),
        (&[opening(), first("40{}\u{1e}")],        "error: Socket.IO: got \"\", expected a packet of Engine.IO"),
        (&[first("bAQID")],                        "error: got \"\\x01\\x02\\x03\", expected the packet `0` with the `sid` of the session"),
        (&[opening(), first("bAQID")],             "error: Socket.IO: binary message of 3 bytes that no event has announced"),
        (&[opening(), first("40{}"), first("bAQID")], "error: Socket.IO: binary message of 3 bytes that no event has announced"),
        (&[opening(), first("40{}"), first("bAQI")], "error: got \"bAQI\", expected Base64 after `b`"),
        (&[opening(), first("40{}"), first(EVENT), first("2")], "ping "),
        (&[opening(), first("40{}"), first(EVENT), first("41")], "error: Socket.IO: got \"41\", expected the attachments of the previous packet"),
        (&[opening(), first("40{}"), first(EVENT), first("b\u{1e}b")], "error: Socket.IO: binary message of 0 bytes that no event has announced"),
        (&[opening(), first("40{}"), first(EVENT), first("1")], "closed None \"\""),
        (&[opening(), first("44{\"message\":\"no\"}")], "error: Socket.IO: refused: \"44{\\\"message\\\":\\\"no\\\"}\""),
        (&[opening(), first("1")],                 "closed None \"\""),
        (&[opening(), Step::End],                  "end: error: the connection ended; unanswered requests: 1"),
    ];
    for (steps, expected) in table {
        let told = play(&client, steps);
        assert_eq!(told.events.last().map(String::as_str), Some(expected), "{steps:?}");
    }
}

#[test]
fn bytes_go_and_come_behind_their_event_as_base64() {
    let both = format!("{EVENT}\u{1e}bAf8=");
    let steps =
        [opening(), ok(), first("40{}"), Step::Send(vec![1, 0xff]), ok(), first(&both), first("6")];
    let told = play(&client, &steps);
    assert_eq!(told.events, ["open", "Binary \\x01\\xff"]);
    assert_eq!(bodies(&told.second), ["40", &both], "one body has both");
    // The event, a letter, and two bytes that became four.
    let grew = EVENT.len() as i64 + 3;
    assert_eq!((told.layers.encoding_sent, told.layers.encoding_received), (grew, grew));
    // The attachment may arrive with the next poll.
    let told = play(&client, &[opening(), ok(), first("40{}"), first(EVENT), first("b")]);
    assert_eq!(told.events, ["open", "Binary "]);
}

#[test]
fn bytes_for_which_there_is_no_room_leave_no_event_behind() {
    let sent = |max: usize, steps: &[Step]| {
        let small = first(&format!("0{{\"sid\":\"a\",\"maxPayload\":{max}}}"));
        let told = play(&client, &[&[small, ok(), first("40{}")][..], steps, &[ok()]].concat());
        let refused = told.events.iter().filter(|event| event.starts_with("not sent: ")).count();
        (refused, bodies(&told.second)[2..].to_vec())
    };
    let bytes = |byte: u8| Step::Send(vec![byte]);
    let with = |packets: &[&str]| vec![packets.join("\u{1e}")];
    let (text, event) = ("42[\"message\",\"2\"]", EVENT);
    // While the first one is posted the others wait.
    assert_eq!(
        sent(200, &[send("1"), bytes(1), bytes(2)]),
        (0, with(&[event, "bAQ==", event, "bAg=="]))
    );
    assert_eq!(sent(70, &[send("1"), bytes(1), bytes(2)]), (1, with(&[event, "bAQ=="])));
    // There is room for the event only.
    assert_eq!(sent(66, &[send("1"), send("2"), bytes(1)]), (1, with(&[text])));
    // A packet that waits alone may exceed the limit: it is no longer than messages are anyway.
    assert_eq!(sent(40, &[send("1"), bytes(1)]), (0, with(&[event, "bAQ=="])));
}

#[test]
fn bytes_go_on_over_websocket_as_they_are() {
    let steps = [
        named(),
        ok(),
        second("40{}"),
        Step::First(accepted()),
        Step::Send(b"6".to_vec()),
        frame("3probe"),
        second(&format!("{EVENT}\u{1e}bNg==\u{1e}6")),
        Step::Send(b"\xff".to_vec()),
    ];
    let told = play(&upgrading, &steps);
    assert_eq!(told.events, ["open", "Binary 6"]);
    assert_eq!(heard(&told), ["2probe", "5", EVENT, "bytes: 6", EVENT, "bytes: xff"]);
    assert_eq!(told.layers.encoding_sent, 2 * EVENT.len() as i64, "nothing was posted");
    assert_eq!(told.layers.encoding_received, EVENT.len() as i64 + 4);
}

#[test]
fn a_session_goes_on_over_websocket_once_the_probe_and_the_last_request_are_answered() {
    let event = |text: &str| format!("42[\"message\",\"{text}\"]");
    let steps = [
        named(),
        ok(),
        second("40{\"sid\":\"b\"}"),
        Step::First(accepted()),
        send("1"),
        frame("3probe"),
        send("2"),
        second(&format!("{}\u{1e}6", event("before"))),
        send("3"),
        frame(&event("after")),
        Step::EndSecond,
        frame("2"),
        Step::Close,
    ];
    let told = play(&upgrading, &steps);
    assert_eq!(
        told.events,
        [
            "open",
            "Text before",
            "Text after",
            "the second ended, no loss: true",
            "ping ",
            "closing, answered: true"
        ]
    );
    let polls = "EIO=4&transport=polling&x=1";
    let (named, unnamed) = (format!("{polls}&sid=a-%2F%20_"), polls);
    let asked = requests(&told.second);
    assert_eq!(
        asked,
        [
            format!("GET /chat/socket.io/?{unnamed}"),
            format!("POST /chat/socket.io/?{named}"),
            format!("GET /chat/socket.io/?{named}"),
            format!("GET /chat/socket.io/?{named}"),
        ],
        "packets that wait for the last poll go over WebSocket"
    );
    assert_eq!((told.seconds, told.layers.requests), (1, 4));
    let upgrade = "GET /chat/socket.io/?EIO=4&transport=websocket&x=1&sid=a-%2F%20_";
    assert_eq!(requests(&told.first), [upgrade]);
    let said = ["2probe", "5", &event("1"), &event("2"), &event("3"), "3", "41"];
    assert_eq!(heard(&told), said);
}

#[test]
fn nothing_goes_over_websocket_while_a_request_is_not_answered() {
    let steps = [named(), Step::First(accepted()), frame("3probe")];
    assert_eq!(heard(&play(&upgrading, &steps)), ["2probe"]);
    // The answer to a post counts like that to a poll.
    let told = play(&upgrading, &[&steps[..], &[ok()]].concat());
    assert_eq!(heard(&told), ["2probe", "5"]);
    assert_eq!(requests(&told.second).len(), 2, "it does not poll again");
}

#[test]
fn an_upgrade_that_fails_has_a_name() {
    let refused = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec();
    let broken = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 40\r\n\r\n{\"code\":1,\"message\":\"Session ID unknown\"}";
    let accepted = || Step::First(accepted());
    #[rustfmt::skip]
    let table: [(&[Step], &str); _] = [
        (&[named(), Step::First(refused)],         "error: status 400 instead of an upgrade: "),
        (&[named(), accepted(), frame("42[]")],    "error: got \"42[]\", expected the packet `3probe`"),
        (&[named(), accepted(), frame("3probe"), frame("3probe")], "error: got \"3probe\", expected the packet `3probe`"),
        (&[named(), accepted(), Step::First(b"\x88\x02\x03\xe8".to_vec())], "closed Some(1000) \"\""),
        (&[named(), accepted(), Step::End],        "end: error: connection ended without a Close frame"),
        (&[named(), accepted(), Step::EndSecond],  "the second ended, no loss: false"),
        (&[named(), Step::Second(broken.to_vec())], "error: Socket.IO: refused: status 400"),
        (&[second("40{}")],                        "error: got \"40{}\", expected the packet `0` with the `sid` of the session"),
        (&[second("")],                            "error: a response without a frame"),
        (&[named(), Step::Close],                  "closing, answered: false"),
    ];
    for (steps, expected) in table {
        let told = play(&upgrading, steps);
        let last = told.events.last().map(String::as_str).unwrap_or_default();
        assert!(last.starts_with(expected), "{last:?}, not {expected:?}");
    }
}

/// The event that carries bytes.
const EVENT: &str = "451-[\"message\",{\"_placeholder\":true,\"num\":0}]";

fn client() -> Connection {
    client_of("socketio+polling://h/chat?x=1")
}

fn upgrading() -> Connection {
    client_of("socketio+upgrade://h/chat?x=1")
}

fn client_of(url: &str) -> Connection {
    let url = url.parse().expect("the script is proper");
    wire::stack(&url, Role::Client(&ClientOptions::default()))
        .expect("the script is proper")
        .connection(7, 0)
}

/// The opening packet, on the connection that carries the requests of an upgrading client.
fn named() -> Step {
    let Step::First(bytes) = opening() else { unreachable!("it is the first connection's") };
    Step::Second(bytes)
}

/// A response on that connection.
fn second(body: &str) -> Step {
    Step::Second(response(body))
}

/// A packet that a server sends over WebSocket.
fn frame(packet: &str) -> Step {
    let mut server = server();
    let mut bytes = play(&upgrading, &[named()]).first;
    let mut tx = Vec::new();
    server.receive(&mut Input::new(&mut bytes), &mut tx).expect("the request is proper");
    tx.clear();
    let message = Message { kind: Kind::Text, payload: packet.as_bytes() };
    server.send(message, &mut tx).expect("it is open");
    Step::First(tx)
}

/// The response that accepts the WebSocket of such a client.
fn accepted() -> Vec<u8> {
    let mut bytes = play(&upgrading, &[named()]).first;
    let mut tx = Vec::new();
    server().receive(&mut Input::new(&mut bytes), &mut tx).expect("the request is proper");
    tx
}

fn server() -> Connection {
    let options = ServerOptions::default();
    let url = "ws://h/".parse().expect("the script is proper");
    wire::stack(&url, Role::Server(&options)).expect("the script is proper").connection(0, 0)
}

/// The packets that a client sent over WebSocket.
fn heard(told: &Told) -> Vec<String> {
    let (mut server, mut bytes, mut heard) = (server(), told.first.clone(), Vec::new());
    let mut input = Input::new(&mut bytes);
    while let Ok(Some(event)) = server.receive(&mut input, &mut Vec::new()) {
        let said = describe(&event).replace('\\', "");
        heard.extend(said.strip_prefix("Text ").map(str::to_owned));
        heard.extend(said.strip_prefix("Binary ").map(|bytes| format!("bytes: {bytes}")));
    }
    heard
}

/// Methods and targets of requests.
fn requests(sent: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(sent);
    let ends = text.match_indices(" HTTP/1.1\r\n").map(|(end, _)| end);
    let begin = |end: usize| text[..end].rfind("GET ").max(text[..end].rfind("POST "));
    ends.map(|end| text[begin(end).expect("the script is proper")..end].to_owned()).collect()
}

/// The opening packet, with a session name that must be escaped in a query.
fn opening() -> Step {
    first(
        "0{\"sid\":\"a-/ _\",\"upgrades\":[\"websocket\"],\"pingInterval\":25000,\"maxPayload\":1000000}",
    )
}

fn ok() -> Step {
    Step::Second(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec())
}
