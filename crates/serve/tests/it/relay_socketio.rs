//! The relay over Engine.IO's polling, by the bytes of raw clients: the rules of Engine.IO 4 and of Socket.IO 5.

use crate::relay_over_http::{Do, get, play, play_with, poll as poll_sockjs, say};
use units::Random;
use wire::socketio::server::{CLOSE, NOOP, new_sid, opening};

const JOINED: &str = "200 42[\"message\",\"joined a\"]";

#[test]
fn between_two_polls_packets_wait_and_come_in_one_body() {
    let sid = sid(0);
    let heard = play(&[
        (0, 0, open()),
        (100, 1, post(&sid, "40")),
        (200, 0, poll(&sid)),
        (300, 1, post(&sid, "42[\"message\",\"join a\"]")),
        (400, 0, poll(&sid)),
        (
            500,
            1,
            post(
                &sid,
                "42[\"message\",\"publish a\\nx\"]\u{1e}421[\"message\",\"publish a id=7\\ny\"]",
            ),
        ),
        (600, 0, poll(&sid)),
    ]);
    let connected = format!("200 40{{\"sid\":\"{sid}\"}}");
    let packets = [
        "42[\"message\",\"message a\\nx\"]",
        "42[\"message\",\"message a\\ny\"]",
        "42[\"message\",\"published id=7 receivers=1\"]",
        "431[]",
    ];
    let packets = format!("200 {}", packets.join("\u{1e}"));
    assert_eq!(heard.answers(0), [&*opened(&sid), &connected, JOINED, &packets]);
    assert_eq!(heard.answers(1), ["200 ok", "200 ok", "200 ok"]);
    assert_eq!((heard.totals.refused, heard.totals.broken), (0, 0));
}

#[test]
fn a_poll_that_is_held_is_answered_by_the_first_packet() {
    let sid = sid(0);
    let heard = play(&[(0, 0, open()), (100, 0, poll(&sid)), (200, 1, post(&sid, "40"))]);
    assert_eq!(heard.answers(0)[1], format!("200 40{{\"sid\":\"{sid}\"}}"));
}

#[test]
fn what_opens_no_session_is_refused_by_its_number() {
    let request = |method: &str, query: &str| say(method, &format!("/socket.io/{query}"), "", "");
    let heard = play(&[
        (0, 0, request("GET", "?EIO=4")),
        (100, 0, request("GET", "?EIO=4&transport=abc")),
        (200, 0, request("GET", "?EIO=4&transport=polling&sid=none")),
        (300, 0, request("POST", "?EIO=4&transport=polling&sid=none")),
        (400, 0, request("POST", "?EIO=4&transport=polling")),
        (500, 0, request("PUT", "?EIO=4&transport=polling")),
        (600, 0, request("PUT", "?EIO=4&transport=polling&sid=none")),
        (700, 0, request("GET", "?transport=polling")),
        (800, 0, request("GET", "?EIO=3&transport=polling")),
    ]);
    let expected = [
        "{\"code\":0,\"message\":\"Transport unknown\"}",
        "{\"code\":0,\"message\":\"Transport unknown\"}",
        "{\"code\":1,\"message\":\"Session ID unknown\"}",
        "{\"code\":1,\"message\":\"Session ID unknown\"}",
        "{\"code\":2,\"message\":\"Bad handshake method\"}",
        "{\"code\":2,\"message\":\"Bad handshake method\"}",
        "{\"code\":3,\"message\":\"Bad request\"}",
        "{\"code\":5,\"message\":\"Unsupported protocol version\"}",
        "{\"code\":5,\"message\":\"Unsupported protocol version\"}",
    ];
    assert_eq!(heard.answers(0), expected.map(|body| format!("400 {body}")));
    assert_eq!((heard.totals.refused, heard.totals.broken), (9, 0));
}

#[test]
fn polls_that_overlap_close_the_session() {
    let sid = sid(0);
    let heard = play(&[
        (0, 0, open()),
        (100, 0, poll(&sid)),
        (200, 1, poll(&sid)),
        (300, 0, poll(&sid)),
        (400, 1, post(&sid, "40")),
    ]);
    assert_eq!(heard.answers(0), [&*opened(&sid), &format!("200 {CLOSE}"), UNKNOWN]);
    assert_eq!(heard.answers(1), [BAD, UNKNOWN]);
}

#[test]
fn a_client_that_ends_its_session_has_its_poll_answered_by_a_noop() {
    let sid = sid(0);
    let heard = play(&[
        (0, 0, open()),
        (100, 1, post(&sid, "40\u{1e}42[\"message\",\"join a\"]")),
        (200, 0, poll(&sid)),
        (300, 0, poll(&sid)),
        (400, 1, post(&sid, "41\u{1e}1")),
        (500, 0, poll(&sid)),
        (600, 1, say("POST", "/publish?room=a", "", "x")),
    ]);
    let answers = heard.answers(0);
    assert_eq!(answers[2..], [format!("200 {NOOP}"), UNKNOWN.to_owned()]);
    assert_eq!(heard.answers(1), ["200 ok", "200 ok", "200 receivers=0\n"]);
}

#[test]
fn packets_that_are_none_close_the_session() {
    for body in [
        "abc",
        "",
        "2",
        "5",
        "4",
        "42{}",
        "bAQID",
        "451-[\"message\",{}]",
        "42/x,[\"message\",\"a\"]",
    ] {
        let sid = sid(0);
        let heard = play(&[
            (0, 0, open()),
            (100, 0, poll(&sid)),
            (200, 1, post(&sid, body)),
            (300, 0, poll(&sid)),
        ]);
        assert_eq!(heard.answers(0)[1..], [format!("200 {CLOSE}"), UNKNOWN.to_owned()], "{body:?}");
        assert_eq!(heard.answers(1), [BAD], "{body:?}");
    }
}

#[test]
fn events_before_connect_and_behind_disconnect_close_the_session() {
    for before in ["", "40\u{1e}42[\"message\",\"join a\"]\u{1e}41\u{1e}"] {
        let sid = sid(0);
        let heard = play(&[
            (0, 0, open()),
            (100, 1, post(&sid, &format!("{before}42[\"message\",\"publish a\\nx\"]"))),
            (200, 0, poll(&sid)),
        ]);
        assert_eq!(heard.answers(1), ["200 ok"], "{before:?}");
        assert_eq!(heard.answers(0)[1..], [UNKNOWN], "{before:?}");
        assert_eq!((heard.totals.published, heard.totals.broken), (0, 1), "{before:?}");
    }
}

#[test]
fn other_namespaces_are_not_there_and_other_events_mean_nothing() {
    let sid = sid(0);
    let heard = play(&[
        (0, 0, open()),
        (
            100,
            1,
            post(&sid, "40/admin,{\"token\":1}\u{1e}40\u{1e}42[\"news\",1]\u{1e}430[]\u{1e}6"),
        ),
        (200, 0, poll(&sid)),
    ]);
    let packets = [
        "44/admin,{\"message\":\"Invalid namespace\"}",
        &format!("40{{\"sid\":\"{sid}\"}}"),
        "42[\"message\",\"error a message is an event called `message` with one text\"]",
    ];
    assert_eq!(heard.answers(0)[1], format!("200 {}", packets.join("\u{1e}")));
    assert_eq!((heard.totals.refused, heard.totals.broken), (1, 0));
}

#[test]
fn a_body_above_the_limit_is_refused_and_the_session_goes_on() {
    let sid = sid(0);
    let long = format!("42[\"message\",\"{}\"]", "x".repeat(1_000_000));
    let heard = play(&[(0, 0, open()), (100, 1, post(&sid, &long)), (400, 1, post(&sid, "40"))]);
    assert_eq!(heard.answers(1), ["413 ", "200 ok"]);
}

#[test]
fn a_ping_comes_25_s_after_the_last_pong_and_one_that_is_not_answered_ends_the_session() {
    let sid = sid(0);
    let heard = play(&[
        (0, 0, open()),
        (100, 0, poll(&sid)),
        (27_000, 1, post(&sid, "3")),
        (27_100, 0, poll(&sid)),
        (55_000, 0, poll(&sid)),
        (80_000, 0, poll(&sid)),
    ]);
    let answers = heard.answers(0);
    assert_eq!(answers, [&*opened(&sid), "200 2", "200 2", &format!("200 {CLOSE}"), UNKNOWN]);
    assert_eq!(heard.answers(1), ["200 ok"]);
}

#[test]
fn a_poll_that_is_torn_off_ends_the_session_at_once() {
    let sid = sid(0);
    let heard = play(&[
        (0, 0, open()),
        (100, 0, poll(&sid)),
        (200, 0, Do::Leave),
        (300, 1, post(&sid, "40")),
    ]);
    assert_eq!(heard.answers(1), [UNKNOWN]);
}

#[test]
fn sessions_of_sockjs_and_of_socket_io_do_not_meet() {
    let sid = sid(0);
    let heard = play(&[
        (0, 0, open()),
        (100, 1, poll_sockjs("s")),
        (200, 1, poll("s")),
        (300, 1, post("s", "40")),
        (400, 1, poll_sockjs(&sid)),
        (500, 0, poll(&sid)),
        (600, 2, post(&sid, "40")),
    ]);
    let answers = heard.answers(1);
    assert_eq!(answers[..3], ["200 o\n", UNKNOWN, UNKNOWN]);
    assert!(answers[3].starts_with("404 "), "{answers:?}");
    assert_eq!(heard.answers(0)[1], format!("200 40{{\"sid\":\"{sid}\"}}"));
}

#[test]
fn a_session_that_does_not_poll_is_dropped_when_too_much_waits() {
    let sid = sid(0);
    let publish = format!("42[\"message\",\"publish a\\n{}\"]", "x".repeat(1000));
    let heard = play_with(
        2000,
        &[
            (0, 0, open()),
            (100, 1, post(&sid, "40\u{1e}42[\"message\",\"join a\"]")),
            (200, 1, post(&sid, &[&*publish; 3].join("\u{1e}"))),
            (300, 0, poll(&sid)),
        ],
    );
    assert_eq!(heard.totals.slow, 1);
    assert_eq!(heard.answers(0)[1..], [UNKNOWN]);
}

#[test]
fn a_page_of_another_origin_may_poll_and_post() {
    let sid = sid(0);
    let origin = "Origin: http://page.example\r\n";
    let asks = format!("{origin}Access-Control-Request-Headers: x-a\r\n");
    let heard = play(&[
        (0, 0, say("OPTIONS", "/socket.io/?EIO=4&transport=polling", &asks, "")),
        (100, 0, say("GET", "/socket.io/?EIO=4&transport=polling", origin, "")),
        (200, 0, say("POST", &address(&sid), origin, "40")),
        (300, 0, say("GET", &address("none"), origin, "")),
    ]);
    let answers = heard.answers(0);
    assert_eq!(answers, ["204 ", &*opened(&sid), "200 ok", UNKNOWN]);
    assert!(heard.all[0].contains("Access-Control-Allow-Methods: OPTIONS, GET, POST\r\n"));
    let named = "Access-Control-Allow-Origin: http://page.example\r\n";
    assert_eq!(heard.all[0].matches(named).count(), 4, "{}", heard.all[0]);
}

/// The name of a session, by its number from 0.
fn sid(number: usize) -> String {
    let mut random = Random::new(0);
    (0..=number).map(|_| new_sid(&mut random)).last().unwrap()
}

fn address(sid: &str) -> String {
    format!("/rooms/socket.io/?EIO=4&transport=polling&sid={sid}")
}

fn open() -> Do {
    get("/rooms/socket.io/?EIO=4&transport=polling&t=1")
}

fn opened(sid: &str) -> String {
    format!("200 {}", opening(sid))
}

fn poll(sid: &str) -> Do {
    get(&address(sid))
}

fn post(sid: &str, body: &str) -> Do {
    say("POST", &address(sid), "Content-Type: text/plain;charset=UTF-8\r\n", body)
}

const UNKNOWN: &str = "400 {\"code\":1,\"message\":\"Session ID unknown\"}";
const BAD: &str = "400 {\"code\":3,\"message\":\"Bad request\"}";
