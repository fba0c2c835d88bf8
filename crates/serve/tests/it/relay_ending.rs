//! The end of a relay that is asked to stop, judged by what its clients hear.

use crate::relay_over_http::{Do, get, play, play_against, poll, poll_room, post, say, stream};
use crate::relay_socketio as socketio;
use crate::world::ms;
use serve::relay::Fault;
use wire::Kind;
use wire::socketio::server::{CLOSE, SOCKET, opening};

#[test]
fn what_was_published_before_is_delivered_and_every_client_gets_the_end_of_its_protocol() {
    let [polling, over_websocket, plain] = [0, 1, 2].map(socketio::sid);
    let join = r#"["join a"]"#;
    let jsonp = || get("/rooms/0/j/jsonp?c=f");
    let tagged = format!("If-None-Match: \"{plain}\"\r\n");
    let heard = play(&[
        (0, 0, open("/")),
        (10, 0, tell("join a")),
        (20, 1, open("/rooms/0/w/websocket")),
        (30, 1, tell(join)),
        (40, 2, poll("p")),
        (50, 12, post("p", join)),
        (60, 2, poll("p")),
        (70, 2, poll("p")),
        (80, 3, stream("x", "xhr_streaming")),
        (90, 12, post("x", join)),
        (100, 4, stream("e", "eventsource")),
        (110, 12, post("e", join)),
        (120, 5, get("/rooms/0/h/htmlfile?c=f")),
        (130, 12, post("h", join)),
        (140, 6, jsonp()),
        (150, 12, post("j", join)),
        (160, 6, jsonp()),
        (170, 6, jsonp()),
        (180, 7, socketio::open()),
        (190, 12, socketio::post(&polling, "40\u{1e}42[\"message\",\"join a\"]")),
        (200, 7, socketio::poll(&polling)),
        (210, 7, socketio::poll(&polling)),
        (220, 8, open("/socket.io/?EIO=4&transport=websocket")),
        (230, 8, tell("40")),
        (240, 8, tell("42[\"message\",\"join a\"]")),
        (250, 9, get("/events?room=a")),
        (260, 10, poll_room("a", "")),
        (270, 11, get("/nothing")),
        (950, 12, publish("last")), // Not read yet when the request to stop comes.
        (1_000, 12, Do::End),
        // Those that poll are told when they ask again.
        (1_020, 11, publish("late")),
        (1_030, 2, poll("p")),
        (1_040, 6, jsonp()),
        (1_050, 7, socketio::poll(&polling)),
        (1_060, 10, poll_room("a", &tagged)),
    ]);
    let (joined, last) = (r#"a["joined a"]"#, r#"a["message a\nlast"]"#);
    let texts = ["42[\"message\",\"joined a\"]", "42[\"message\",\"message a\\nlast\"]"];
    let connected = |sid: &str| format!("40{{\"sid\":\"{sid}\"}}");
    assert_eq!(heard.messages[0], ["joined a", "message a\nlast", GOING_AWAY]);
    assert_eq!(heard.messages[1], ["o", joined, last, GO_AWAY, GOING_AWAY]);
    let polled = ["o", joined, last, GO_AWAY].map(|frame| format!("200 {frame}\n"));
    assert_eq!(heard.answers(2), polled);
    let prelude = "h".repeat(2048);
    let lines = format!("{prelude}\no\n{joined}\n{last}\n{GO_AWAY}\n");
    assert_eq!(heard.stream(3), (lines, true));
    let events = ["o", joined, last, GO_AWAY].map(|frame| format!("data: {frame}\r\n\r\n"));
    assert_eq!(heard.stream(4), (format!("\r\n{}", events.concat()), true));
    let (page, has_ended) = heard.stream(5);
    let script = "p(\"c[3000,\\\"Go away!\\\"]\");\n</script>\r\n";
    assert!(has_ended && page.contains("message a\\\\nlast") && page.ends_with(script), "{page}");
    let scripts = heard.answers(6);
    assert!(scripts[2].contains("message a\\\\nlast"), "{scripts:?}");
    assert_eq!(scripts[3], "200 /**/f(\"c[3000,\\\"Go away!\\\"]\");\r\n");
    let packets = [&*connected(&polling), texts[0]].join("\u{1e}");
    let polled = [format!("200 {packets}"), format!("200 {}", texts[1]), format!("200 {CLOSE}")];
    assert_eq!(heard.answers(7)[1..], polled);
    let first = opening(&over_websocket, SOCKET.transport);
    let packets = [&*first, &*connected(&over_websocket), texts[0], texts[1], GOING_AWAY];
    assert_eq!(heard.messages[8], packets);
    assert_eq!(heard.stream(9), ("\r\ndata: last\n\n".to_owned(), true));
    assert_eq!(heard.answers(10), ["200 last", "204 "]);
    assert_eq!(heard.answers(11)[1], ENDING);
    assert_eq!(heard.answers(12).last().unwrap(), "200 receivers=11\n");
    assert!(heard.took < Some(ms(200)), "{:?}", heard.took);
    assert_eq!((heard.totals.slow, heard.totals.broken), (0, 0));
}

#[test]
fn what_waits_for_a_client_that_polls_comes_before_the_end() {
    let name = socketio::sid(0);
    let room = || poll_room("a", &format!("If-None-Match: \"{name}\"\r\n"));
    let heard = play(&[
        (0, 0, poll("s")),
        (100, 1, post("s", r#"["join a"]"#)),
        (200, 2, poll_room("a", "")),
        (300, 1, publish("x")),
        (400, 1, publish("y")),
        (500, 1, publish("z")),
        (600, 1, Do::End),
        (650, 0, poll("s")),
        (700, 0, poll("s")),
        (750, 2, room()),
        (800, 2, room()),
        (850, 2, room()),
    ]);
    let waiting = r#"a["joined a","message a\nx","message a\ny","message a\nz"]"#;
    let polled = ["o", waiting, GO_AWAY].map(|frame| format!("200 {frame}\n"));
    assert_eq!(heard.answers(0), polled);
    assert_eq!(heard.answers(2), ["200 x", "200 y", "200 z", "204 "]);
    assert!(heard.took < Some(ms(400)), "{:?}", heard.took);
}

#[test]
fn nothing_new_is_taken_while_a_client_that_asks_no_more_is_waited_for() {
    let heard = play(&[
        (0, 0, poll("s")),
        (500, 0, Do::End),
        (700, 1, publish("x")),
        (750, 1, get("/rooms/info")),
        (800, 1, poll("t")),
        (850, 1, post("s", r#"["join a"]"#)),
        (900, 1, get("/events?room=a")),
        (950, 1, poll_room("a", "")),
        (1_000, 1, socketio::open()),
        (1_050, 2, open("/")),
        (1_100, 3, open("/rooms/0/w/websocket")),
        (1_150, 4, open("/socket.io/?EIO=4&transport=websocket")),
    ]);
    assert_eq!(heard.answers(0), ["200 o\n"]);
    assert_eq!(heard.answers(1), [ENDING; 7]);
    assert_eq!(heard.messages[2], [GOING_AWAY]);
    assert_eq!(heard.messages[3], ["o", GO_AWAY, GOING_AWAY]);
    assert_eq!(heard.messages[4].last().unwrap(), GOING_AWAY);
    // It checks for the request to stop ten times a second.
    assert!((ms(1500)..=ms(1601)).contains(&heard.took.unwrap()), "{:?}", heard.took);
}

#[test]
fn deliveries_that_wait_for_their_turn_come_before_the_end() {
    let script =
        [(0, 0, open("/")), (100, 0, tell("join a")), (150, 1, publish("x")), (300, 1, Do::End)];
    let delay = |time| move |_: &[u8]| Fault { delay: ms(time), ..Fault::default() };
    let heard = play_against(&script, |relay| relay.with_faults(delay(1_000)));
    assert_eq!(heard.messages[0], ["joined a", "message a\nx", GOING_AWAY]);
    assert!((ms(800)..ms(900)).contains(&heard.took.unwrap()), "{:?}", heard.took);
    // One whose turn comes after the end is lost, and holds nothing up.
    let heard = play_against(&script, |relay| relay.with_faults(delay(5_000)));
    assert_eq!(heard.messages[0], ["joined a", GOING_AWAY]);
    assert!(heard.took < Some(ms(200)), "{:?}", heard.took);
}

fn open(path: &str) -> Do {
    Do::Open(path.to_owned())
}

fn tell(text: &str) -> Do {
    Do::Tell(Kind::Text, text.to_owned())
}

fn publish(text: &str) -> Do {
    say("POST", "/publish?room=a", "", text)
}

const GO_AWAY: &str = "c[3000,\"Go away!\"]";
const GOING_AWAY: &str = "closed 1001";
const ENDING: &str = "503 the relay is shutting down\n";
