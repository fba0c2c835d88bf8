//! The client of Socket.IO over HTTP polling against scripted servers.

use crate::script::{Step, play};
use crate::sockjs::{bodies, first, lines_with, send};
use wire::{ClientOptions, Connection, Role};

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
    assert_eq!(polls, [&*unnamed, named, named, named], "none is asked for behind the end");
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
    // Each is 17 bytes long, and there is one between them.
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
        (&[opening(), first("bAQID")],             "error: Socket.IO: got \"bAQID\", expected the packet `40`"),
        (&[opening(), first("40{}"), first("bAQID")], "error: Socket.IO: got \"bAQID\", expected a packet of Engine.IO"),
        (&[opening(), first("44{\"message\":\"no\"}")], "error: Socket.IO: refused: \"44{\\\"message\\\":\\\"no\\\"}\""),
        (&[opening(), first("1")],                 "closed None \"\""),
        (&[opening(), Step::End],                  "end: error: the connection ended with 1 requests unanswered"),
    ];
    for (steps, expected) in table {
        let told = play(&client, steps);
        assert_eq!(told.events.last().map(String::as_str), Some(expected), "{steps:?}");
    }
}

fn client() -> Connection {
    let url = "socketio+polling://h/chat?x=1".parse().expect("the script is proper");
    wire::stack(&url, Role::Client(&ClientOptions::default()))
        .expect("the script is proper")
        .connection(7, 0)
}

/// The opening packet, with a name that a query cannot have as it is.
fn opening() -> Step {
    first(
        "0{\"sid\":\"a-/ _\",\"upgrades\":[\"websocket\"],\"pingInterval\":25000,\"maxPayload\":1000000}",
    )
}

fn ok() -> Step {
    Step::Second(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec())
}
