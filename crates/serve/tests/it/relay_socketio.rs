//! The relay over Engine.IO's polling and WebSocket, judged by what raw clients hear: the rules of Engine.IO 4 and of
//! Socket.IO 5.

use crate::relay_over_http::{
    Do, get, play, play_against, play_with, poll as poll_sockjs, post as post_sockjs, say,
};
use serve::relay::{Fault, Totals};
use units::{Nanos, Random};
use wire::Kind;
use wire::socketio::server::{
    CLOSE, NOOP, POLL, SOCKET, attachment, binary_message, new_sid, opening,
};

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
        (900, 0, request("GET", "?EIO=4&transport=websocket")),
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
        "{\"code\":3,\"message\":\"Bad request\"}",
    ];
    assert_eq!(heard.answers(0), expected.map(|body| format!("400 {body}")));
    assert_eq!((heard.totals.refused, heard.totals.broken), (10, 0));
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
fn posts_that_overlap_close_the_session() {
    let sid = sid(0);
    let (begun, rest) = halves(&sid, "42[\"message\",\"publish a\\nx\"]");
    let joined = post(&sid, "40\u{1e}42[\"message\",\"join a\"]");
    // The second one arrives complete, or its end arrives after the session is closed.
    for is_whole in [true, false] {
        let mut script = vec![
            (0, 0, open()),
            (100, 1, joined.clone()),
            (200, 0, poll(&sid)),
            (300, 0, poll(&sid)),
            (400, 1, begun.clone()),
        ];
        match is_whole {
            true => script.push((500, 2, post(&sid, "3"))),
            false => script.extend([(500, 2, begun.clone()), (600, 2, rest.clone())]),
        }
        script.push((700, 0, poll(&sid)));
        let heard = play(&script);
        assert_eq!(heard.answers(0)[2..], [format!("200 {CLOSE}"), UNKNOWN.to_owned()]);
        assert_eq!(heard.answers(1), ["200 ok"], "its connection is closed");
        assert_eq!(heard.answers(2), [if is_whole { BAD } else { UNKNOWN }]);
        assert_eq!((heard.totals.published, heard.totals.broken), (0, 0), "{is_whole}");
    }
}

#[test]
fn posts_one_after_the_other_are_taken_on_any_connections_and_in_any_pieces() {
    let sid = sid(0);
    let (begun, rest) = halves(&sid, "42[\"message\",\"publish a\\nx\"]");
    let heard = play(&[
        (0, 0, open()),
        (100, 1, post(&sid, "40\u{1e}42[\"message\",\"join a\"]")),
        (200, 2, begun.clone()),
        (300, 2, rest.clone()),
        (400, 1, begun.clone()),
        (500, 0, poll(&sid)),
        (600, 1, rest.clone()),
        (700, 1, begun),
        (800, 1, rest),
    ]);
    assert_eq!(heard.answers(1), ["200 ok"; 3]);
    assert_eq!(heard.answers(2), ["200 ok"]);
    assert_eq!((heard.totals.published, heard.totals.refused, heard.totals.broken), (3, 0, 0));
}

#[test]
fn a_post_that_is_torn_off_ends_the_session() {
    let sid = sid(0);
    let (begun, _) = halves(&sid, "42[\"message\",\"publish a\\nx\"]");
    let heard = play(&[
        (0, 0, open()),
        (100, 0, poll(&sid)),
        (200, 1, begun),
        (300, 1, Do::Leave),
        (400, 0, poll(&sid)),
    ]);
    assert_eq!(heard.answers(0)[1..], [format!("200 {CLOSE}"), UNKNOWN.to_owned()]);
}

#[test]
fn a_post_that_stalls_ends_the_session_when_its_time_is_over() {
    let sid = sid(0);
    let (begun, _) = halves(&sid, "42[\"message\",\"publish a\\nx\"]");
    let heard = play(&[
        (0, 0, open()),
        (100, 0, poll(&sid)),
        (200, 1, begun),
        (11_000, 2, post(&sid, "40")),
        (11_100, 0, poll(&sid)),
    ]);
    assert_eq!(heard.answers(0)[1..], [format!("200 {CLOSE}"), UNKNOWN.to_owned()]);
    assert_eq!(heard.answers(2), [UNKNOWN], "the session has ended before");
    assert_eq!((heard.totals.timed_out, heard.totals.refused), (1, 2));
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
    let elsewhere = "451-[\"message\",{\"_placeholder\":true,\"num\":1}]";
    let too_many = "4511-[\"message\"]";
    for body in ["abc", "", "2", "5", "4", "42{}", "bA:ID", "45[\"a\"]", too_many, elsewhere] {
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
    let before_another = "40/x,\u{1e}42/x,[\"message\",\"join a\"]\u{1e}";
    for before in ["", before_another, "40\u{1e}42[\"message\",\"join a\"]\u{1e}41\u{1e}"] {
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
fn other_events_mean_nothing_and_are_acknowledged_all_the_same() {
    let sid = sid(0);
    let packets = "40{\"token\":1}\u{1e}42[\"news\",1]\u{1e}430[]\u{1e}4217[\"message\",1]\u{1e}6";
    let heard = play(&[(0, 0, open()), (100, 1, post(&sid, packets)), (200, 0, poll(&sid))]);
    let error = format!("42[\"message\",\"error {NO_MESSAGE}\"]");
    let packets = [&*format!("40{{\"sid\":\"{sid}\"}}"), &error, &error, "4317[]"];
    assert_eq!(heard.answers(0)[1], format!("200 {}", packets.join("\u{1e}")));
    assert_eq!((heard.totals.refused, heard.totals.broken), (2, 0));
}

#[test]
fn what_is_published_as_bytes_comes_as_bytes_to_every_client_that_can_have_them() {
    let (polling, over_websocket) = (sid(0), sid(2));
    let join = "42[\"message\",\"join a\"]";
    let with_ack = binary_message("", None).replace("-[", "-7[");
    let posted = [with_ack, attachment(b"publish a id=1\n\x01")].join("\u{1e}");
    let binary = |payload: &str| Do::Tell(Kind::Binary, payload.to_owned());
    let script = [
        (0, 0, open()),
        (50, 1, post(&polling, &["40", join].join("\u{1e}"))),
        (100, 0, poll(&polling)),
        (150, 2, Do::Open("/socket.io/?EIO=4&transport=websocket".to_owned())),
        (200, 2, tell("40/x,")),
        (250, 2, tell("42/x,[\"message\",\"join a\"]")),
        (300, 3, Do::Open("/".to_owned())),
        (350, 3, tell("join a")),
        (400, 4, poll_sockjs("s")),
        (450, 5, post_sockjs("s", "[\"join a\"]")),
        (500, 4, poll_sockjs("s")),
        (600, 1, post(&polling, &posted)),
        (700, 0, poll(&polling)),
        (800, 2, tell(&binary_message("/x,", None))),
        (850, 2, tell("3")), // It belongs to Engine.IO.
        (900, 2, binary("publish a\nb")),
        (1_000, 0, poll(&polling)),
        (1_100, 3, binary("publish a\nc")),
        (1_200, 0, poll(&polling)),
        (1_300, 3, tell("publish a\nd")),
        (1_400, 0, poll(&polling)),
        (1_500, 4, poll_sockjs("s")),
    ];
    let heard = play(&script);
    let delivered = |payload: &str| {
        [binary_message("", None), attachment(format!("message a\n{payload}").as_bytes())]
            .join("\u{1e}")
    };
    let published = "42[\"message\",\"published id=1 receivers=4\"]";
    let expected = [
        format!("200 {}", [&*delivered("\u{1}"), published, "437[]"].join("\u{1e}")),
        format!("200 {}", delivered("b")),
        format!("200 {}", delivered("c")),
        "200 42[\"message\",\"message a\\nd\"]".to_owned(),
    ];
    assert_eq!(heard.answers(0)[2..], expected);
    let event = binary_message("/x,", None);
    let over = [
        &*opening(&sid(1), SOCKET.transport),
        &format!("40/x,{{\"sid\":\"{over_websocket}\"}}"),
        "42/x,[\"message\",\"joined a\"]",
        &event,
        "bytes: message a\n\u{1}",
        &event,
        "bytes: message a\nb",
        &event,
        "bytes: message a\nc",
        "42/x,[\"message\",\"message a\\nd\"]",
    ];
    assert_eq!(heard.messages[2], over);
    let plain =
        ["joined a", "bytes: message a\n\u{1}", "bytes: message a\nb", "bytes: message a\nc"];
    assert_eq!(heard.messages[3][..4], plain);
    assert_eq!(heard.messages[3][4..], ["message a\nd"]);
    // What is valid text also reaches clients that accept nothing else.
    let frame = r#"200 a["message a\n\u0001","message a\nb","message a\nc","message a\nd"]"#;
    assert_eq!(heard.answers(4)[1..], ["200 a[\"joined a\"]\n", &format!("{frame}\n")]);
    assert_eq!((heard.totals.refused, heard.totals.broken), (0, 0));
    assert_eq!((heard.totals.published, heard.totals.delivered), (4, 16));
}

#[test]
fn bytes_that_wait_for_a_session_go_with_it_from_polling_to_websocket() {
    let sid = sid(0);
    let heard = play(&[
        (0, 0, open()),
        (100, 1, post(&sid, "40\u{1e}42[\"message\",\"join a\"]")),
        (200, 0, poll(&sid)),
        (300, 2, socket(&sid)),
        (400, 2, tell("2probe")),
        (450, 3, Do::Open("/".to_owned())),
        (500, 3, Do::Tell(Kind::Binary, "publish a\nx".to_owned())),
        // Its attachment arrives over the other transport.
        (600, 1, post(&sid, &binary_message("", None))),
        (700, 2, tell("5")),
        (800, 2, Do::Tell(Kind::Binary, "publish a\ny".to_owned())),
    ]);
    let event = binary_message("", None);
    let expected = ["3probe", &event, "bytes: message a\nx", &event, "bytes: message a\ny"];
    assert_eq!(heard.messages[2], expected);
    assert_eq!((heard.totals.refused, heard.totals.broken), (0, 0));
}

#[test]
fn bytes_wait_for_their_turns_where_a_relay_has_faults() {
    let sid = sid(0);
    let script = [
        (0, 0, open()),
        (100, 1, post(&sid, "40\u{1e}42[\"message\",\"join a\"]")),
        (200, 0, poll(&sid)),
        (300, 2, Do::Open("/".to_owned())),
        (400, 2, Do::Tell(Kind::Binary, "publish a\nx".to_owned())),
        (500, 0, poll(&sid)),
        (2_000, 0, poll(&sid)),
    ];
    let late = Fault { copies: 2, delay: Nanos::from_millis(1_000), ..Fault::default() };
    let heard = play_against(&script, |relay| relay.with_faults(move |_| late));
    let message = [binary_message("", None), attachment(b"message a\nx")].join("\u{1e}");
    assert_eq!(heard.answers(0)[2..], [format!("200 {message}"), format!("200 {message}")]);
    assert_eq!((heard.totals.delivered, heard.totals.duplicated), (1, 1));
}

#[test]
fn an_event_with_attachments_that_is_no_message_is_refused_once_all_have_come() {
    let sid = sid(0);
    let places = "{\"_placeholder\":true,\"num\":0},{\"_placeholder\":true,\"num\":1}";
    let body = [
        "40",
        &format!("452-5[\"message\",{places}]"),
        "bAQID",
        "3",
        "b",
        "451-[\"news\",\"a\"]",
        "bAQID",
        "461-7[{\"_placeholder\":true,\"num\":0}]",
        "bAQID",
    ]
    .join("\u{1e}");
    let heard = play(&[(0, 0, open()), (100, 1, post(&sid, &body)), (200, 0, poll(&sid))]);
    let error = format!("42[\"message\",\"error {NO_MESSAGE}\"]");
    let packets = [&*format!("40{{\"sid\":\"{sid}\"}}"), &error, "435[]", &error];
    assert_eq!(heard.answers(0)[1], format!("200 {}", packets.join("\u{1e}")));
    assert_eq!(heard.answers(1), ["200 ok"]);
    assert_eq!((heard.totals.refused, heard.totals.broken), (2, 0));
}

#[test]
fn attachments_that_nobody_announced_or_that_do_not_follow_close_the_session() {
    let event = binary_message("", None);
    let elsewhere = binary_message("/x,", None);
    // What follows a NUL is bytes.
    let table: [&[&str]; _] = [
        &["\0publish a\nx"],
        &[&event, "42[\"message\",\"join a\"]"],
        &[&event, "430[]"],
        &[&event, "40/y,"],
        &[&event, "41"],
        &[&event, &event],
        &[&elsewhere],
        &[&event, "\0join a", "\0publish a\nx"],
    ];
    for packets in table {
        let sid = sid(0);
        let posted = packets.iter().map(|packet| match packet.strip_prefix('\0') {
            Some(bytes) => attachment(bytes.as_bytes()),
            None => (*packet).to_owned(),
        });
        let body = ["40".to_owned()].into_iter().chain(posted).collect::<Vec<_>>().join("\u{1e}");
        let told = packets.iter().map(|packet| match packet.strip_prefix('\0') {
            Some(bytes) => Do::Tell(Kind::Binary, bytes.to_owned()),
            None => tell(packet),
        });
        let told = (0..).zip(told).map(|(step, what)| (1_000 + step * 100, 2, what));
        let script: Vec<_> = [
            (0, 0, open()),
            (100, 1, post(&sid, &body)),
            (200, 0, poll(&sid)),
            (300, 2, Do::Open("/socket.io/?EIO=4&transport=websocket".to_owned())),
            (400, 2, tell("40")),
        ]
        .into_iter()
        .chain(told)
        .collect();
        let heard = play(&script);
        assert_eq!(heard.answers(0)[1..], [UNKNOWN], "{packets:?}");
        assert_eq!(heard.answers(1), ["200 ok"], "{packets:?}");
        assert_eq!(heard.messages[2].last().unwrap(), "closed", "{packets:?}");
        let Totals { published, refused, broken, .. } = heard.totals;
        assert_eq!((published, refused, broken), (0, 1, 2), "{packets:?}");
    }
}

#[test]
fn a_client_whose_connection_was_lost_gets_what_it_has_missed_and_is_called_as_before() {
    let (name, pid) = (sid(2), sid(3));
    let returns = format!("40/x,{{\"pid\":\"{pid}\",\"offset\":\"1\"}}");
    let published =
        |room: &str, text: &str| say("POST", &format!("/publish?room={room}"), "", text);
    let heard = play_against(
        &[
            (0, 0, Do::Open(OVER_WEBSOCKET.to_owned())),
            (50, 1, open()),
            (100, 0, tell("40/x,")),
            (200, 0, tell("42/x,[\"message\",\"join a\"]")),
            (300, 9, published("a", "seen")),
            (400, 0, Do::Leave),
            (500, 9, published("a", "missed")),
            (550, 9, published("b", "elsewhere")),
            (600, 8, Do::Open("/".to_owned())),
            (650, 8, Do::Tell(Kind::Binary, "publish a\n\u{1}".to_owned())),
            (700, 2, Do::Open(OVER_WEBSOCKET.to_owned())),
            (800, 2, tell(&returns)),
            (900, 9, published("a", "after")),
            // And once more, to a session that polls.
            (1_000, 2, tell("1")),
            (1_100, 9, published("a", "missed again")),
            (1_200, 7, post(&sid(1), &returns.replace("\"1\"", "\"5\""))),
            (1_300, 1, poll(&sid(1))),
        ],
        |relay| relay.with_recovery(Nanos::from_secs(10)),
    );
    let event = |text: &str, offset: u64| format!("42/x,[\"message\",\"{text}\",\"{offset}\"]");
    let connected = format!("40/x,{{\"sid\":\"{name}\",\"pid\":\"{pid}\"}}");
    assert_eq!(
        heard.messages[0][1..],
        [connected.clone(), event("joined a", 0), event("message a\\nseen", 1)]
    );
    let expected = [
        event("message a\\nmissed", 2),
        binary_message("/x,", Some(4)),
        "bytes: message a\n\u{1}".to_owned(),
        connected.clone(),
        event("message a\\nafter", 5),
        "closed".to_owned(),
    ];
    assert_eq!(heard.messages[2][1..], expected);
    let packets = [event("message a\\nmissed again", 6), connected].join("\u{1e}");
    assert_eq!(heard.answers(1)[1..], [format!("200 {packets}")]);
    let receivers: Vec<String> =
        [1, 0, 0, 1, 0].map(|count| format!("200 receivers={count}\n")).into();
    assert_eq!(heard.answers(9), receivers);
    let Totals { delivered, recovered, refused, broken, .. } = heard.totals;
    assert_eq!((delivered, recovered, refused, broken), (2, 3, 0, 0));
}

#[test]
fn a_client_that_does_not_answer_pings_may_come_back() {
    let sid_of = sid(0);
    let returns = format!("40{{\"pid\":\"{}\",\"offset\":\"1\"}}", sid(1));
    let heard = play_against(
        &[
            (0, 0, open()),
            (100, 1, post(&sid_of, "40\u{1e}42[\"message\",\"join a\"]")),
            (200, 2, publish("seen")),
            (300, 0, poll(&sid_of)),
            (60_000, 2, publish("missed")),
            (61_000, 3, Do::Open(OVER_WEBSOCKET.to_owned())),
            (61_100, 3, tell(&returns)),
        ],
        |relay| relay.with_recovery(Nanos::from_secs(120)),
    );
    let expected = [
        "42[\"message\",\"message a\\nmissed\",\"2\"]".to_owned(),
        format!("40{{\"sid\":\"{sid_of}\",\"pid\":\"{}\"}}", sid(1)),
    ];
    assert_eq!(heard.messages[3][1..], expected);
}

#[test]
fn whoever_has_left_is_unknown_or_is_late_begins_anew() {
    let returns =
        |pid: &str, offset: &str| format!("40{{\"pid\":\"{pid}\",\"offset\":\"{offset}\"}}");
    let pid = sid(1);
    #[rustfmt::skip]
    let table = [
        // the end,                 at,      what it comes back with
        (Some(tell("41")),          1_000,   returns(&pid, "1")),
        (Some(tell("42{}")),        1_000,   returns(&pid, "1")),
        (None,                      1_000,   returns("none", "1")),
        (None,                      1_000,   returns(&pid, "3")),
        (None,                      1_000,   returns(&pid, "a")),
        (None,                      1_000,   format!("40{{\"pid\":\"{pid}\"}}")),
        (None,                      1_000,   format!("40/x,{{\"pid\":\"{pid}\",\"offset\":\"1\"}}")),
        (None,                      12_000,  returns(&pid, "1")),
    ];
    for (end, at, returns) in table {
        let script: Vec<_> = [
            (0, 0, Do::Open(OVER_WEBSOCKET.to_owned())),
            (100, 0, tell("40")),
            (200, 0, tell("42[\"message\",\"join a\"]")),
            (300, 9, publish("seen")),
        ]
        .into_iter()
        .chain(end.clone().map(|end| (400, 0, end)))
        .chain([
            (500, 0, Do::Leave),
            (600, 9, publish("missed")),
            (at, 2, Do::Open(OVER_WEBSOCKET.to_owned())),
            (at + 100, 2, tell(&returns)),
            (at + 200, 9, publish("after")),
        ])
        .collect();
        let heard = play_against(&script, |relay| relay.with_recovery(Nanos::from_secs(10)));
        let [_, connected] = &heard.messages[2][..] else { panic!("{:?}", heard.messages[2]) };
        assert!(connected.contains("\"pid\":") && !connected.contains(&pid), "{connected}");
        assert_eq!(heard.totals.recovered, 0, "{end:?} {returns}");
    }
}

#[test]
fn a_relay_without_recovery_has_neither_ids_nor_offsets() {
    let heard = play(&[
        (0, 0, Do::Open(OVER_WEBSOCKET.to_owned())),
        (100, 0, tell("40{\"pid\":\"p\",\"offset\":\"1\"}")),
        (200, 0, tell("42[\"message\",\"join a\"]")),
        (300, 9, publish("m")),
    ]);
    let expected = [
        format!("40{{\"sid\":\"{}\"}}", sid(0)),
        "42[\"message\",\"joined a\"]".to_owned(),
        "42[\"message\",\"message a\\nm\"]".to_owned(),
    ];
    assert_eq!(heard.messages[0][1..], expected);
}

#[test]
fn a_client_has_in_each_namespace_what_it_has_joined_there() {
    let (first, second) = (sid(0), sid(3));
    let join = |namespace: &str| format!("42{namespace}[\"message\",\"join a\"]");
    let in_both = ["40".to_owned(), "40/x/y".to_owned(), join(""), join("/x/y,"), join("/x/y,")]
        .join("\u{1e}");
    let heard = play(&[
        (0, 0, open()),
        (100, 1, post(&first, &in_both)),
        (200, 0, poll(&first)),
        (300, 3, Do::Open("/socket.io/?EIO=4&transport=websocket".to_owned())),
        (400, 3, tell("40/z,{}")),
        (500, 3, tell(&join("/z,"))),
        (600, 3, tell("42/z,1[\"message\",\"publish a id=7\\nm\"]")),
        (700, 0, poll(&first)),
        (800, 1, post(&first, "41/x/y,")),
        (900, 2, publish("n")),
        (1_000, 0, poll(&first)),
        (1_100, 1, post(&first, "40/x/y,\u{1e}42/x/y,[\"message\",\"join a\"]\u{1e}41")),
        (1_200, 0, poll(&first)),
        (1_300, 2, publish("o")),
        (1_400, 0, poll(&first)),
        (1_500, 3, tell("42[\"message\",\"join a\"]")), // It is not in that namespace.
        (1_600, 2, publish("p")),
    ]);
    let answers = heard.answers(0);
    let event = |namespace: &str, text: &str| format!("42{namespace}[\"message\",\"{text}\"]");
    let connected = |namespace: &str, sid: &str| format!("40{namespace}{{\"sid\":\"{sid}\"}}");
    let joined = |namespace: &str| event(namespace, "joined a");
    let packets = |packets: &[String]| format!("200 {}", packets.join("\u{1e}"));
    let expected = [
        opened(&first),
        packets(&[
            connected("", &first),
            connected("/x/y,", &sid(1)),
            joined(""),
            joined("/x/y,"),
            joined("/x/y,"),
        ]),
        packets(&[event("", "message a\\nm"), event("/x/y,", "message a\\nm")]),
        packets(&[event("", "message a\\nn")]),
        packets(&[connected("/x/y,", &sid(4)), joined("/x/y,")]),
        packets(&[event("/x/y,", "message a\\no")]),
    ];
    assert_eq!(answers, expected);
    let over_websocket = [
        opening(&sid(2), SOCKET.transport),
        connected("/z,", &second),
        joined("/z,"),
        event("/z,", "message a\\nm"),
        event("/z,", "published id=7 receivers=3"),
        "43/z,1[]".to_owned(),
        event("/z,", "message a\\nn"),
        event("/z,", "message a\\no"),
        "closed".to_owned(),
    ];
    assert_eq!(heard.messages[3], over_websocket);
    let receivers: Vec<String> = [2, 2, 1].map(|count| format!("200 receivers={count}\n")).into();
    assert_eq!(heard.answers(2), receivers, "nobody is left but the one that polls");
}

#[test]
fn a_session_that_ends_leaves_a_room_in_which_it_is_by_several_namespaces() {
    let (ended, stays) = (sid(0), sid(1));
    let joins = |names: &[&str], room: &str| {
        let joins =
            names.iter().map(|name| format!("40{name}\u{1e}42{name}[\"message\",\"join {room}\"]"));
        joins.collect::<Vec<_>>().join("\u{1e}")
    };
    let heard = play(&[
        (0, 0, open()),
        (50, 1, open()),
        (100, 2, post(&ended, &joins(&["", "/x,"], "a"))),
        (200, 2, post(&ended, &joins(&["", "/x,"], "b"))),
        (300, 2, post(&stays, &joins(&["", "/x,", "/y,"], "a"))),
        (400, 2, post(&ended, &joins(&["/y,"], "a"))),
        (500, 2, post(&ended, "1")),
        (600, 2, publish("m")),
        (700, 2, say("POST", "/publish?room=b", "", "n")),
        (800, 2, post(&stays, "1")),
        (900, 2, publish("o")),
    ]);
    let answers = heard.answers(2);
    let receivers: Vec<&str> =
        answers.iter().filter_map(|answer| answer.strip_prefix("200 receivers=")).collect();
    assert_eq!(receivers, ["3\n", "0\n", "0\n"]);
}

#[test]
fn a_delivery_that_waits_for_its_turn_does_not_come_to_a_namespace_that_was_left() {
    let sid = sid(0);
    let joins = ["", "/x,", "/y,"]
        .map(|name| format!("40{name}\u{1e}42{name}[\"message\",\"join a\"]"))
        .join("\u{1e}");
    let script = [
        (0, 0, open()),
        (100, 1, post(&sid, &joins)),
        (200, 0, poll(&sid)),
        (300, 2, publish("m")),
        (400, 1, post(&sid, "41\u{1e}41/x,")),
        (500, 1, post(&sid, "40\u{1e}40/x,")),
        (600, 0, poll(&sid)),
        (2_000, 0, poll(&sid)),
    ];
    let late = Fault { delay: Nanos::from_millis(1_000), ..Fault::default() };
    let heard = play_against(&script, |relay| relay.with_faults(move |_| late));
    assert_eq!(heard.answers(0)[3..], ["200 42/y,[\"message\",\"message a\\nm\"]"]);
}

#[test]
fn members_over_websocket_in_several_namespaces_get_each_message_in_theirs() {
    let ways = ["", "/x,", "/y,", "", "/x,"];
    let mut script = Vec::new();
    for (client, namespace) in ways.iter().enumerate() {
        let at = 100 * client as u64;
        script.extend([
            (at, client, Do::Open("/socket.io/?EIO=4&transport=websocket".to_owned())),
            (at + 30, client, tell(&format!("40{namespace}"))),
            (at + 60, client, tell(&format!("42{namespace}[\"message\",\"join a\"]"))),
        ]);
    }
    script.extend([(1_000, 9, publish("m")), (1_100, 9, publish("n"))]);
    let heard = play(&script);
    for (client, namespace) in ways.iter().enumerate() {
        let of = |text: &str| format!("42{namespace}[\"message\",\"message a\\n{text}\"]");
        assert_eq!(heard.messages[client][3..], [of("m"), of("n")], "{client}");
    }
}

#[test]
fn a_session_has_a_limit_of_namespaces() {
    let sid = sid(0);
    let all: Vec<String> = (0..65).map(|number| format!("40/n{number},")).collect();
    let again = ["41/n0,", "40/n0,"].map(str::to_owned);
    let heard = play(&[
        (0, 0, open()),
        (100, 1, post(&sid, &[&all[..], &again].concat().join("\u{1e}"))),
        (200, 0, poll(&sid)),
    ]);
    let answers = heard.answers(0);
    let packets: Vec<&str> = answers[1].split('\u{1e}').collect();
    assert_eq!(packets[64], "44/n64,{\"message\":\"Invalid namespace\"}");
    assert!(packets.len() == 66 && packets[65].starts_with("40/n0,{\"sid\":"), "{packets:?}");
}

#[test]
fn the_name_of_a_namespace_has_a_limit_and_a_longer_one_is_not_repeated() {
    let sid = sid(0);
    let longest = format!("/{}", "n".repeat(255));
    // The limit falls inside a letter of two bytes.
    let longer = format!("/{}\u{e9}", "n".repeat(254));
    let longer_by_far = format!("/{}", "n".repeat(100_000));
    let join = [&longest, &longer, &longer_by_far].map(|name| format!("40{name},")).join("\u{1e}");
    let heard = play(&[(0, 0, open()), (100, 1, post(&sid, &join)), (600, 0, poll(&sid))]);
    let answers = heard.answers(0);
    let packets: Vec<&str> = answers[1].split('\u{1e}').collect();
    assert!(packets[0].starts_with(&format!("200 40{longest},{{\"sid\":")), "{packets:?}");
    let invalid = "{\"message\":\"Invalid namespace\"}";
    let refused = [format!("44{},{invalid}", &longer[..255]), format!("44{longest},{invalid}")];
    assert_eq!(packets[1..], refused);
}

#[test]
fn a_session_is_in_so_many_rooms_in_all_its_namespaces_together() {
    let sid = sid(0);
    let joins = |namespace: &str, rooms: std::ops::Range<usize>| {
        let joins = rooms.map(|room| format!("42{namespace}[\"message\",\"join r{room}\"]"));
        format!("40{namespace}\u{1e}{}", joins.collect::<Vec<_>>().join("\u{1e}"))
    };
    let heard = play(&[
        (0, 0, open()),
        (100, 1, post(&sid, &joins("", 0..1_000))),
        (400, 1, post(&sid, &joins("/x,", 0..25))),
        (700, 0, poll(&sid)),
        (900, 1, post(&sid, "41\u{1e}42/x,[\"message\",\"join r25\"]")),
        (1_000, 0, poll(&sid)),
    ]);
    let answers = heard.answers(0);
    let error = "42/x,[\"message\",\"error a connection or session may join at most 1024 rooms\"]";
    assert!(answers[1].ends_with(&format!("42/x,[\"message\",\"joined r23\"]\u{1e}{error}")));
    assert_eq!(answers[2], "200 42/x,[\"message\",\"joined r25\"]");
    assert_eq!(heard.totals.refused, 1);
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
        (50, 1, post(&sid, "40")),
        (70, 0, poll(&sid)),
        (100, 0, poll(&sid)),
        (27_000, 1, post(&sid, "3")),
        (27_100, 0, poll(&sid)),
        (55_000, 0, poll(&sid)),
        (80_000, 0, poll(&sid)),
    ]);
    let answers = heard.answers(0);
    let (opened, connected) = (opened(&sid), format!("200 40{{\"sid\":\"{sid}\"}}"));
    let closed = format!("200 {CLOSE}");
    assert_eq!(answers, [&*opened, &connected, "200 2", "200 2", &closed, UNKNOWN]);
    assert_eq!(heard.answers(1), ["200 ok", "200 ok"]);
}

#[test]
fn a_client_that_joins_no_namespace_within_45_s_is_closed() {
    let (polling, over_websocket) = (sid(0), sid(1));
    let heard = play(&[
        (0, 0, open()),
        (100, 1, Do::Open("/socket.io/?EIO=4&transport=websocket".to_owned())),
        (200, 2, Do::Open("/socket.io/?EIO=4&transport=websocket".to_owned())),
        (300, 2, tell("40")),
        (20_000, 3, post(&polling, "3")),
        (20_000, 1, tell("3")),
        (20_000, 2, tell("3")),
        (40_000, 3, post(&polling, "3")),
        (40_000, 1, tell("3")),
        (40_000, 2, tell("3")),
        (44_000, 0, poll(&polling)),
        (47_000, 3, post(&polling, "40")),
        (60_000, 2, tell("41")), // It has left, and may join again.
        (60_500, 2, tell("3")),
        (84_000, 2, tell("40")),
    ]);
    assert_eq!(heard.answers(0)[1..], [format!("200 {CLOSE}")]);
    assert_eq!(heard.answers(3), ["200 ok", "200 ok", UNKNOWN]);
    let first = opening(&over_websocket, SOCKET.transport);
    assert_eq!(heard.messages[1], [&*first, "closed"]);
    let connected = format!("40{{\"sid\":\"{}\"}}", sid(2));
    assert_eq!(heard.messages[2][1..], [&*connected, &*connected]);
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
fn a_session_that_is_slow_in_several_namespaces_counts_once() {
    let sid = sid(0);
    let joins = ["", "/x,", "/y,"]
        .map(|name| format!("40{name}\u{1e}42{name}[\"message\",\"join a\"]"))
        .join("\u{1e}");
    let script =
        [(0, 0, open()), (100, 1, post(&sid, &joins)), (200, 2, publish(&"x".repeat(3000)))];
    let heard = play_with(2000, &script);
    assert_eq!(heard.totals.slow, 1);
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

#[test]
fn a_session_may_begin_over_websocket_where_each_packet_is_a_message() {
    let (sid, other) = (sid(0), sid(1));
    let heard = play(&[
        (0, 0, Do::Open("/rooms/socket.io/?EIO=4&transport=websocket".to_owned())),
        (100, 0, tell("40")),
        (200, 0, tell("42[\"message\",\"join a\"]")),
        (300, 1, open()),
        (400, 2, post(&other, "40\u{1e}42[\"message\",\"join a\"]")),
        (500, 0, tell("421[\"message\",\"publish a id=7\\nx\"]")),
        (600, 3, publish("\u{1e}\"\u{e9}")),
        (700, 1, poll(&other)),
        (800, 0, tell("40/admin,")),
        (900, 3, poll(&sid)),
        (1_000, 0, tell("1")),
        (1_100, 3, publish("y")),
    ]);
    let connected = |sid: &str| format!("40{{\"sid\":\"{sid}\"}}");
    let (first, second) = (opening(&sid, SOCKET.transport), connected(&sid));
    let deliveries =
        ["42[\"message\",\"message a\\nx\"]", "42[\"message\",\"message a\\n\\u001e\\\"\u{e9}\"]"];
    let joined = "42[\"message\",\"joined a\"]";
    let expected = [
        &*first,
        &*second,
        joined,
        deliveries[0],
        "42[\"message\",\"published id=7 receivers=2\"]",
        "431[]",
        deliveries[1],
        &format!("40/admin,{{\"sid\":\"{}\"}}", self::sid(2)),
        "closed",
    ];
    assert_eq!(heard.messages[0], expected);
    let polled = [&*connected(&other), joined, deliveries[0], deliveries[1]].join("\u{1e}");
    assert_eq!(heard.answers(1)[1], format!("200 {polled}"));
    assert_eq!(heard.answers(3), ["200 receivers=2\n", BAD, "200 receivers=1\n"]);
    assert_eq!((heard.totals.refused, heard.totals.broken), (1, 0));
}

#[test]
fn a_session_goes_on_over_websocket_and_nothing_is_lost() {
    let sid = sid(0);
    let heard = play(&[
        (0, 0, open()),
        (100, 1, post(&sid, "40\u{1e}42[\"message\",\"join a\"]")),
        (200, 0, poll(&sid)),
        (300, 0, poll(&sid)),
        (400, 2, socket(&sid)),
        (500, 3, publish("to the poll that waits")),
        (600, 0, poll(&sid)),
        (700, 2, tell("2probe")), // The poll is answered by a noop.
        (800, 3, publish("to the next poll")),
        (900, 0, poll(&sid)),
        (1_000, 0, poll(&sid)), // It is answered at once: the client has to stop.
        (1_100, 1, post(&sid, "42[\"message\",\"join b\"]")),
        (1_200, 3, publish("between")),
        (1_300, 2, tell("5")),
        (1_400, 3, publish("behind")),
        (1_500, 2, tell("421[\"message\",\"publish b\\nx\"]")),
    ]);
    let message = |room: &str, text: &str| format!("42[\"message\",\"message {room}\\n{text}\"]");
    let expected = [
        "3probe",
        "42[\"message\",\"joined b\"]",
        &message("a", "between"),
        &message("a", "behind"),
        &message("b", "x"),
        "431[]",
    ];
    assert_eq!(heard.messages[2], expected);
    let polled = [
        format!("200 {}", message("a", "to the poll that waits")),
        format!("200 {NOOP}"),
        format!("200 {}", message("a", "to the next poll")),
        format!("200 {NOOP}"),
    ];
    assert_eq!(heard.answers(0)[2..], polled);
    assert_eq!(heard.answers(3), ["200 receivers=1\n"; 4]);
    let Totals { published, delivered, refused, broken, .. } = heard.totals;
    assert_eq!((published, delivered, refused, broken), (5, 5, 0, 0));
}

#[test]
fn behind_the_upgrade_there_are_no_requests_and_no_second_websocket() {
    let sid = sid(0);
    let heard = play(&[
        (0, 0, open()),
        (100, 1, socket(&sid)),
        (200, 2, socket(&sid)), // While the first one is tried.
        (300, 1, tell("2probe")),
        (400, 3, socket(&sid)),
        (500, 1, tell("5")),
        (600, 4, socket(&sid)),
        (700, 0, poll(&sid)),
        (800, 0, post(&sid, "40")),
        (900, 1, tell("40")),
    ]);
    let connected = format!("40{{\"sid\":\"{sid}\"}}");
    assert_eq!(heard.messages[1], ["3probe", &*connected]);
    assert_eq!(heard.messages[2..], vec![vec!["closed".to_owned()]; 3]);
    assert_eq!(heard.answers(0)[1..], [BAD, BAD]);
    assert_eq!((heard.totals.refused, heard.totals.broken), (5, 0));
}

#[test]
fn a_post_to_a_session_that_has_upgraded_is_refused_and_does_not_close_it() {
    let sid = sid(0);
    let (begun, rest) = halves(&sid, "40");
    let heard = play(&[
        (0, 0, open()),
        (100, 1, socket(&sid)),
        (200, 1, tell("2probe")),
        (300, 4, begun.clone()),
        (350, 4, rest.clone()),
        (400, 4, begun.clone()), // It does not end before the upgrade.
        (500, 1, tell("5")),
        (600, 2, begun.clone()),
        (700, 2, Do::Leave),
        (800, 3, begun.clone()),
        (900, 0, begun),
        (1_000, 3, rest.clone()),
        (1_100, 0, rest),
        (1_200, 4, Do::Leave),
        (1_300, 1, tell("42[\"message\",\"join a\"]")),
        (1_400, 0, post(&sid, "40")),
    ]);
    let connected = format!("40{{\"sid\":\"{sid}\"}}");
    assert_eq!(heard.messages[1], ["3probe", &*connected, "42[\"message\",\"joined a\"]"]);
    assert_eq!(heard.answers(3), [BAD]);
    assert_eq!(heard.answers(0)[1..], [BAD, BAD]);
    assert_eq!(heard.answers(4), ["200 ok"]);
    assert_eq!((heard.totals.refused, heard.totals.broken), (3, 0));
}

#[test]
fn an_upgrade_half_done_ends_and_the_session_goes_on_by_polling() {
    let binary = |packet: &str| Do::Tell(Kind::Binary, packet.to_owned());
    #[rustfmt::skip]
    let table: [(Vec<Do>, &[&str], u64); _] = [
        // said over its WebSocket,                     heard there,           broke the protocol
        (vec![tell("5")],                               &["closed"],               1),
        (vec![tell("42[\"message\",\"join b\"]")],     &["closed"],               1),
        (vec![tell("2")],                               &["closed"],               1),
        (vec![tell("")],                                &["closed"],               1),
        (vec![binary("2probe")],                        &["closed"],               1),
        (vec![Do::Leave],                               &[],                       0),
        (vec![tell("2probe"), tell("2probe")],          &["3probe", "3probe", "closed"], 1),
        (vec![tell("2probe"), tell("3")],               &["3probe", "closed"],     1),
        (vec![tell("2probe"), tell("40")],              &["3probe", "closed"],     1),
        (vec![tell("2probe"), tell("6")],               &["3probe", "closed"],     1),
        (vec![tell("2probe"), binary("5")],             &["3probe", "closed"],     1),
        (vec![tell("2probe"), Do::Leave],               &["3probe"],               0),
        (vec![tell("2probe")],                          &["3probe", "closed"],     1), // Given up after 10 s.
        (vec![],                                        &["closed"],               1),
    ];
    for (said, expected, broken) in table {
        let sid = sid(0);
        let what = format!("{said:?}");
        let steps = (0..).zip(said).map(|(step, what)| (500 + 100 * step, 2, what));
        let script: Vec<_> = [
            (0, 0, open()),
            (100, 1, post(&sid, "40\u{1e}42[\"message\",\"join a\"]")),
            (200, 0, poll(&sid)),
            (300, 2, socket(&sid)),
        ]
        .into_iter()
        .chain(steps)
        .chain([
            (12_000, 0, poll(&sid)),
            (12_100, 1, post(&sid, "421[\"message\",\"publish a\\nx\"]")),
            (12_200, 0, poll(&sid)),
        ])
        .collect();
        let heard = play(&script);
        assert_eq!(heard.messages[2], expected, "{what}");
        let answers = heard.answers(0);
        // The poll is held until there is something, as before the upgrade.
        let delivery = "200 42[\"message\",\"message a\\nx\"]";
        assert_eq!(answers[2..], [delivery, "200 431[]"], "{what}");
        let Totals { refused, broken: found, .. } = heard.totals;
        assert_eq!((refused, found), (0, broken), "{what}");
    }
}

#[test]
fn a_session_takes_its_upgrade_with_it_when_it_ends() {
    for (end, answer) in [("1", "200 ok"), ("abc", BAD)] {
        let sid = sid(0);
        let heard = play(&[
            (0, 0, open()),
            (100, 2, socket(&sid)),
            (200, 2, tell("2probe")),
            (300, 1, post(&sid, end)),
            (400, 0, poll(&sid)),
        ]);
        assert_eq!(heard.messages[2], ["3probe", "closed"], "{end}");
        assert_eq!(heard.answers(1), [answer], "{end}");
        assert_eq!(heard.answers(0)[1..], [UNKNOWN], "{end}");
    }
}

#[test]
fn a_websocket_whose_address_breaks_a_rule_is_closed() {
    let script: Vec<_> = [
        "",
        "?EIO=4",
        "?transport=websocket",
        "?EIO=3&transport=websocket",
        "?EIO=4&transport=abc",
        "?EIO=4&transport=polling",
        "?EIO=4&transport=websocket&sid=none",
    ]
    .into_iter()
    .enumerate()
    .map(|(client, query)| (100 * client as u64, client, Do::Open(format!("/socket.io/{query}"))))
    .collect();
    let heard = play(&script);
    assert_eq!(heard.messages, vec![vec!["closed".to_owned()]; script.len()]);
    assert_eq!((heard.totals.refused, heard.totals.broken), (7, 0));
}

#[test]
fn packets_that_are_none_close_the_websocket_of_a_session() {
    let binary = |packet: &str| Do::Tell(Kind::Binary, packet.to_owned());
    for said in [
        tell(""),
        tell("2"),
        tell("2probe"),
        tell("5"),
        tell("42{}"),
        tell("3\u{1e}3"),
        tell("41"), // It has not joined.
        binary("3"),
        Do::Leave,
    ] {
        let sid = sid(0);
        let heard = play(&[
            (0, 0, Do::Open("/socket.io/?EIO=4&transport=websocket".to_owned())),
            (100, 0, said.clone()),
            (200, 1, socket(&sid)),
        ]);
        let is_left = matches!(said, Do::Leave);
        let closed: &[&str] = if is_left { &[] } else { &["closed"] };
        assert_eq!(heard.messages[0][1..], *closed, "{said:?}");
        assert_eq!(heard.messages[1], ["closed"], "{said:?}");
        let Totals { refused, broken, .. } = heard.totals;
        assert_eq!((refused, broken), (1, u64::from(!is_left)), "{said:?}");
    }
}

#[test]
fn a_ping_that_is_not_answered_closes_the_websocket_of_a_session() {
    let sid = sid(0);
    let heard = play(&[
        (0, 0, Do::Open("/socket.io/?EIO=4&transport=websocket".to_owned())),
        (100, 0, tell("40")),
        (27_000, 0, tell("3")),
        (100_000, 1, socket(&sid)),
    ]);
    assert_eq!(heard.messages[0][2..], ["2", "2", "closed"]);
    assert_eq!(heard.messages[1], ["closed"]);
    assert_eq!((heard.totals.refused, heard.totals.broken), (1, 0));
}

/// The name of a session, by its number from 0.
pub(crate) fn sid(number: usize) -> String {
    let mut random = Random::new(0);
    (0..=number).map(|_| new_sid(&mut random)).last().unwrap()
}

fn address(sid: &str) -> String {
    format!("/rooms/socket.io/?EIO=4&transport=polling&sid={sid}")
}

pub(crate) fn open() -> Do {
    get("/rooms/socket.io/?EIO=4&transport=polling&t=1")
}

/// The head of a post with the first byte of its body, and the rest of it.
fn halves(sid: &str, body: &str) -> (Do, Do) {
    let Do::Say(whole) = post(sid, body) else { unreachable!("a post is said") };
    let (first, rest) = whole.split_at(whole.len() - body.len() + 1);
    (Do::Say(first.to_owned()), Do::Say(rest.to_owned()))
}

fn opened(sid: &str) -> String {
    format!("200 {}", opening(sid, POLL.transport))
}

/// Opens a WebSocket for a session.
fn socket(sid: &str) -> Do {
    Do::Open(format!("/rooms/socket.io/?EIO=4&transport=websocket&sid={sid}"))
}

fn tell(packet: &str) -> Do {
    Do::Tell(Kind::Text, packet.to_owned())
}

/// Publishes in room `a`, as a client without any library.
fn publish(text: &str) -> Do {
    say("POST", "/publish?room=a", "", text)
}

pub(crate) fn poll(sid: &str) -> Do {
    get(&address(sid))
}

pub(crate) fn post(sid: &str, body: &str) -> Do {
    say("POST", &address(sid), "Content-Type: text/plain;charset=UTF-8\r\n", body)
}

const OVER_WEBSOCKET: &str = "/socket.io/?EIO=4&transport=websocket";
const NO_MESSAGE: &str =
    "a message must be an event named `message` with exactly one text or one attachment";
const UNKNOWN: &str = "400 {\"code\":1,\"message\":\"Session ID unknown\"}";
const BAD: &str = "400 {\"code\":3,\"message\":\"Bad request\"}";
