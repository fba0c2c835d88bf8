//! The relay over SockJS's HTTP transports, judged by what raw clients hear: the rules of sessions. The WebSocket
//! clients are for sessions that go on there.

use engine::sim::{Conditions, Network, Outcome, Party, Sim};
use engine::{Address, Completion, ConnectionId, Engine, Node, Step};
use serve::relay::Totals;
use serve::{Patience, Relay};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Instant, Nanos, Random};
use wire::socketio::server::new_sid;
use wire::{
    ClientOptions, Connection, Event, Input, Kind, Message, Opening, Protocol, Role, ServerOptions,
};

#[test]
fn between_two_polls_messages_wait_and_come_in_one_frame() {
    let heard = play(&[
        (0, 0, poll("s")),
        (100, 1, post("s", r#"["join a"]"#)),
        (200, 0, poll("s")),
        (300, 1, post("s", r#"["publish a\nx","publish a\ny"]"#)),
        (400, 0, poll("s")),
    ]);
    let messages = r#"a["message a\nx","message a\ny"]"#;
    assert_eq!(
        heard.answers(0),
        ["200 o\n", "200 a[\"joined a\"]\n", &format!("200 {messages}\n")]
    );
    assert_eq!(heard.answers(1), ["204 ", "204 "]);
}

#[test]
fn a_poll_that_is_held_is_answered_by_the_first_message_alone() {
    let heard = play(&[
        (0, 0, poll("s")),
        (100, 0, poll("s")),
        (200, 1, post("s", r#"["join a","publish a\nx","publish a\ny"]"#)),
        (300, 0, poll("s")),
    ]);
    let rest = "200 a[\"message a\\nx\",\"message a\\ny\"]\n";
    assert_eq!(heard.answers(0), ["200 o\n", "200 a[\"joined a\"]\n", rest]);
}

#[test]
fn a_second_receiver_is_told_that_there_is_one() {
    let taken = "c[2010,\"Another connection still open\"]";
    let heard = play(&[
        (0, 0, stream("s", "xhr_streaming")),
        (100, 1, poll("s")),
        (200, 2, stream("s", "eventsource")),
        (300, 3, post("s", r#"["join a"]"#)),
    ]);
    assert_eq!(heard.answers(1), [format!("200 {taken}\n")]);
    assert_eq!(heard.stream(2), (format!("\r\ndata: {taken}\r\n\r\n"), true));
    let prelude = "h".repeat(2048);
    assert_eq!(heard.stream(0), (format!("{prelude}\no\na[\"joined a\"]\n"), false));
}

#[test]
fn scripts_carry_the_frames_of_a_session_that_is_posted_to_in_forms() {
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let jsonp_send = |fields: &str, body: &str| say("POST", "/r/1/s/jsonp_send", fields, body);
    let heard = play(&[
        (0, 0, get("/r/0/s/jsonp?c=_jp.a")),
        (100, 1, jsonp_send(form, "d=%5B%22join+a%22%5D")),
        (200, 0, get("/r/0/s/jsonp?c=_jp.b")),
        (300, 1, jsonp_send("Content-Type: text/plain\r\n", "[\"publish a\\n</script>\"]")),
        (400, 0, get("/r/0/s/jsonp?c=_jp.c")),
        (500, 0, get("/r/0/s/jsonp")),
        (600, 0, get("/r/0/s/htmlfile?c=a%20b")),
        (700, 1, jsonp_send(form, "d=")),
        (800, 1, jsonp_send(form, "d=[")),
        (900, 2, get("/r/0/s/htmlfile?c=_jp.d")),
        (1_000, 3, get("/r/0/s/jsonp?c=x")),
        (1_100, 1, jsonp_send(form, "d=[\"publish a\\ny\"]")),
    ]);
    let answers = heard.answers(0);
    let expected = [
        "200 /**/_jp.a(\"o\");\r\n",
        "200 /**/_jp.b(\"a[\\\"joined a\\\"]\");\r\n",
        "200 /**/_jp.c(\"a[\\\"message a\\\\n<\\/script>\\\"]\");\r\n",
        "500 \"callback\" parameter required",
        "500 invalid \"callback\" parameter",
    ];
    assert_eq!(answers, expected);
    let posted = [
        "200 ok",
        "200 ok",
        "500 Payload expected.",
        "500 Broken JSON encoding.",
        "500 Broken JSON encoding.",
    ];
    let found = heard.answers(1);
    assert_eq!(found[..4], posted[..4]);
    let taken = "200 /**/x(\"c[2010,\\\"Another connection still open\\\"]\");\r\n";
    assert_eq!(heard.answers(3), [taken]);
    let (page, has_ended) = heard.stream(2);
    let head_len = 1023 + "_jp.d".len() + "\r\n\r\n".len();
    assert!(
        page.starts_with("<!doctype html>\n") && page[..head_len].contains("parent._jp.d;"),
        "{page}"
    );
    assert_eq!(&page[head_len..], "<script>\np(\"a[\\\"message a\\\\ny\\\"]\");\n</script>\r\n");
    assert!(!has_ended && found[4] == "200 ok", "{found:?}");
    assert_eq!((heard.totals.refused, heard.totals.broken), (4, 0));
}

#[test]
fn each_frame_of_a_stream_is_a_chunk_and_so_is_what_comes_before_the_first() {
    let joined = r#"a["joined a"]"#;
    for (transport, prelude, [before, behind]) in [
        ("xhr_streaming", format!("{}\n", "h".repeat(2048)), ["", "\n"]),
        ("eventsource", "\r\n".to_owned(), ["data: ", "\r\n\r\n"]),
    ] {
        let heard = play(&[(0, 0, stream("s", transport)), (100, 1, post("s", r#"["join a"]"#))]);
        let (_, chunks) = heard.all[0].split_once("\r\n\r\n").unwrap();
        let frames = ["o", joined].map(|frame| format!("{before}{frame}{behind}"));
        let chunk = |text: &String| format!("{:x}\r\n{text}\r\n", text.len());
        let expected: Vec<String> = [prelude].iter().chain(&frames).map(chunk).collect();
        assert_eq!(chunks, expected.concat(), "{transport}");
    }
}

#[test]
fn a_post_has_any_type_and_the_address_of_a_websocket_takes_no_other_request() {
    let typed = |kind: &str, body: &str| {
        say("POST", "/rooms/1/s/xhr_send", &format!("Content-Type: {kind}\r\n"), body)
    };
    let heard = play(&[
        (0, 0, poll("s")),
        (100, 1, typed("application/xml;charset=utf-8", r#"["join a"]"#)),
        (200, 1, typed("T", r#"["join b"]"#)),
        (300, 1, say("POST", "/rooms/1/s/xhr_send", "", r#"["join c"]"#)),
        (400, 0, poll("s")),
        (500, 1, get("/rooms/1/s/websocket")),
        (600, 1, say("POST", "/rooms/1/s/websocket", "", "")),
        (700, 1, say("PUT", "/rooms/websocket", "", "")),
    ]);
    assert_eq!(heard.answers(0)[1], "200 a[\"joined a\",\"joined b\",\"joined c\"]\n");
    let refused = ["400 Can \"Upgrade\" only to \"WebSocket\".", "405 ", "405 "];
    assert_eq!(heard.answers(1)[3..], refused);
    assert_eq!(heard.all[1].matches("\r\nAllow: GET\r\n").count(), 2);
    // An answer without text has no type.
    let untyped = heard.all[1].split("HTTP/1.1 405").skip(1);
    assert!(untyped.into_iter().all(|answer| !answer.contains("Content-Type")));
}

#[test]
fn whoever_asks_for_the_address_of_a_service_is_greeted_and_nothing_else_is_there() {
    let greeted = ["/rooms", "/rooms/", "/rooms?t=1"];
    let not_found =
        ["/rooms/a", "/rooms/a.html", "/rooms//", "/rooms///", "/rooms/a/a", "/rooms/a/a/"];
    let paths = greeted.iter().chain(&not_found);
    let mut script: Vec<_> = (0..).zip(paths).map(|(at, path)| (at * 100, 0, get(path))).collect();
    script.push((1_000, 1, say("POST", "/rooms", "", "")));
    let heard = play(&script);
    let answers = heard.answers(0);
    assert_eq!(answers[..3], ["200 Welcome to SockJS!\n"; 3]);
    let (first, _) = heard.all[0].split_once("\r\n\r\n").unwrap();
    assert!(first.contains("\r\nContent-Type: text/plain; charset=UTF-8\r\n"), "{first}");
    assert!(!heard.all[0].contains("Set-Cookie"));
    assert_eq!(answers.len(), 9);
    assert!(answers[3..].iter().all(|answer| answer.starts_with("404 ")), "{answers:?}");
    assert!(heard.all[1].starts_with("HTTP/1.1 405 Method Not Allowed\r\nAllow: GET\r\n"));
}

#[test]
fn the_page_for_iframes_is_kept_for_a_year_and_known_by_its_tag() {
    let pages = [
        "/rooms/iframe.html",
        "/rooms/iframe-a.html",
        "/rooms/iframe-.html",
        "/rooms/iframe-0.1.2.html",
        "/rooms/iframe-0.1.2abc-dirty.2144.html",
        "/rooms/iframe-a.html?t=1234",
        "/rooms/iframe-0.1.2.html?t=123414",
        "/rooms/iframe-0.1.2abc-dirty.2144.html?t=qweqweq123",
        "/a/b/c/d/rooms/iframe.html",
    ];
    let malformed = ["iframe.htm", "iframe", "IFRAME.HTML", "IFRAME", "iframe.HTML", "iframe.xml"];
    let malformed = malformed.iter().copied().chain(["iframe-/.html"]);
    let malformed: Vec<String> = malformed.map(|name| format!("/rooms/{name}")).collect();
    let paths = pages.iter().copied().chain(malformed.iter().map(String::as_str));
    let script: Vec<_> = (0..).zip(paths).map(|(at, path)| (at * 100, 0, get(path))).collect();
    let heard = play(&script);
    let answers = heard.answers(0);
    assert_eq!(answers.len(), pages.len() + malformed.len());
    let body = "<!DOCTYPE html>\n<html>\n<head>\n  <meta http-equiv=\"X-UA-Compatible\" content=\"IE=edge\" />\n  \
        <meta http-equiv=\"Content-Type\" content=\"text/html; charset=UTF-8\" />\n  \
        <script src=\"https://cdn.jsdelivr.net/npm/sockjs-client@1/dist/sockjs.min.js\"></script>\n  \
        <script>\n    document.domain = document.domain;\n    SockJS.bootstrap_iframe();\n  </script>\n\
        </head>\n<body>\n  <h2>Don't panic!</h2>\n  \
        <p>This is a SockJS hidden iframe. It's used for cross domain magic.</p>\n</body>\n</html>";
    for answer in &answers[..pages.len()] {
        assert_eq!(*answer, format!("200 {body}"));
    }
    assert!(answers[pages.len()..].iter().all(|answer| answer.starts_with("404 ")), "{answers:?}");
    let heads: Vec<&str> = heard.all[0].split("HTTP/1.1 200 OK\r\n").skip(1).collect();
    let tags: Vec<&str> = heads
        .iter()
        .map(|head| {
            let (head, _) = head.split_once("\r\n\r\n").unwrap();
            for field in [
                "Content-Type: text/html; charset=UTF-8",
                "Cache-Control: public, max-age=31536000",
                "Expires: Thu, 31 Dec 2037 23:55:55 GMT",
            ] {
                assert!(head.split("\r\n").any(|line| line == field), "{field}: {head}");
            }
            assert!(!head.contains("Last-Modified") && !head.contains("Set-Cookie"), "{head}");
            head.split("\r\n").find_map(|line| line.strip_prefix("ETag: ")).unwrap()
        })
        .collect();
    let tag = tags[0];
    assert!(tag.len() > 2 && tag.starts_with('"') && tag.ends_with('"'), "{tag}");
    assert!(tags.iter().all(|it| *it == tag), "the same page has the same tag: {tags:?}");
    let asks =
        |tags: &str| say("GET", "/rooms/iframe.html", &format!("If-None-Match: {tags}\r\n"), "");
    let known = play(&[
        (0, 0, asks(tag)),
        (100, 0, asks(&format!("\"other\", W/{tag}"))),
        (200, 0, asks("*")),
        (300, 0, asks("\"other\"")),
    ]);
    let answers = known.answers(0);
    assert_eq!(answers[..3], ["304 "; 3]);
    assert_eq!(answers[3], format!("200 {body}"));
    let (first, _) = known.all[0].split_once("\r\n\r\n").unwrap();
    assert!(!first.contains("Content-Type") && first.contains(&format!("\r\nETag: {tag}\r\n")));
}

#[test]
fn a_session_ends_five_seconds_after_its_last_receiver_has_left() {
    let heard = play(&[
        (0, 0, poll("s")),
        (4_000, 1, post("s", r#"["join a"]"#)),
        (4_900, 0, poll("s")),
        (9_000, 1, post("s", r#"["join b"]"#)),
        (11_500, 1, post("s", r#"["join c"]"#)),
        (11_600, 0, poll("s")),
    ]);
    assert_eq!(heard.answers(0), ["200 o\n", "200 a[\"joined a\"]\n", "200 o\n"]);
    let statuses: Vec<String> =
        heard.answers(1).iter().map(|answer| answer[..3].to_owned()).collect();
    assert_eq!(statuses, ["204", "204", "404"]);
}

#[test]
fn a_receiver_that_is_torn_off_ends_the_session_at_once() {
    for how in [poll("s"), stream("s", "eventsource")] {
        let heard = play(&[
            (0, 0, poll("s")),
            (100, 0, how),
            (200, 0, Do::Leave),
            (300, 1, post("s", r#"["join a"]"#)),
            (400, 2, poll("s")),
        ]);
        assert!(heard.answers(1)[0].starts_with("404 unknown session; "));
        assert_eq!(heard.answers(2), ["200 o\n"]);
    }
}

#[test]
fn what_makes_no_sense_is_refused_and_the_session_goes_on() {
    let heard = play(&[
        (0, 0, poll("s")),
        (100, 1, post("s", r#"["join a""#)),
        (200, 1, post("s", "")),
        (300, 1, post("t", r#"["join a"]"#)),
        (400, 1, get("/r/0/s/xhr")),
        (500, 1, get("/")),
        (600, 1, post("s", "[]")),
        (700, 1, post("s", r#"["join a"]"#)),
        (800, 0, poll("s")),
    ]);
    let answers = heard.answers(1);
    let expected = ["500 Broken", "500 Payload expected.", "404 ", "404 ", "404 ", "204 ", "204 "];
    assert_eq!(answers.len(), expected.len());
    for (answer, expected) in answers.iter().zip(expected) {
        assert!(answer.starts_with(expected), "{answer} {expected}");
    }
    assert_eq!(heard.answers(0)[1], "200 a[\"joined a\"]\n");
    assert_eq!((heard.totals.refused, heard.totals.broken), (5, 0));
}

#[test]
fn a_page_of_another_origin_may_ask_connect_and_post() {
    let origin = "Origin: http://page.example\r\n";
    let asked = "Origin: null\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: x-a\r\n";
    let heard = play(&[
        (0, 0, say("GET", "/rooms/info", origin, "")),
        (100, 0, say("GET", "/rooms/info", "", "")),
        (200, 0, say("OPTIONS", "/rooms/info", origin, "")),
        (300, 0, say("OPTIONS", "/rooms/0/s/xhr_send", asked, "")),
        (400, 1, say("POST", "/rooms/0/s/xhr", origin, "")),
        (500, 1, say("POST", "/rooms/0/s/xhr", origin, "")),
        (600, 0, say("POST", "/rooms/0/s/xhr_send", origin, r#"["join a"]"#)),
        (700, 0, say("POST", "/rooms/0/none/xhr_send", origin, r#"["join a"]"#)),
        (800, 0, say("GET", "/rooms/none", "", "")),
        (900, 2, say("POST", "/rooms/0/t/xhr_streaming", origin, "")),
    ]);
    let answers = heard.answers(0);
    let entropies: Vec<u32> = answers[..2]
        .iter()
        .map(|answer| {
            let facts: serde_json::Value = serde_json::from_str(&answer[4..]).unwrap();
            let entropy = facts["entropy"].as_u64().unwrap();
            let expected = serde_json::json!({
                "websocket": true, "origins": ["*:*"], "cookie_needed": false, "entropy": entropy
            });
            assert_eq!(facts, expected);
            entropy.try_into().unwrap()
        })
        .collect();
    assert_ne!(entropies[0], entropies[1]);
    let statuses: Vec<&str> = answers.iter().map(|answer| &answer[..3]).collect();
    assert_eq!(statuses, ["200", "200", "204", "204", "204", "404", "404"]);
    let (page, null) = ("http://page.example", "null");
    assert_eq!(heard.origins(0), [page, "*", page, null, page, page, "*"]);
    assert_eq!(heard.origins(1), [page, page]);
    assert_eq!(heard.origins(2), [page]);
    // Credentials are allowed wherever the origin is named, never for all origins.
    let [named, all] = [": http", ": *"].map(|start| {
        let start = format!("Access-Control-Allow-Origin{start}");
        heard.all.iter().map(|text| text.matches(&start).count()).sum::<usize>()
    });
    let credentials = "Access-Control-Allow-Credentials: true\r\n";
    let credentials: usize = heard.all.iter().map(|it| it.matches(credentials).count()).sum();
    assert_eq!((named, all, credentials), (7, 2, 8));
    for line in
        ["Access-Control-Allow-Methods: OPTIONS, GET\r\n", "Access-Control-Allow-Headers: x-a\r\n"]
    {
        assert_eq!(heard.all[0].matches(line).count(), 1, "{line}");
    }
}

#[test]
fn streams_of_events_have_what_is_posted_to_their_room() {
    let publish = |room: &str, body: &str| say("POST", &format!("/publish?room={room}"), "", body);
    let heard = play(&[
        (0, 0, get("/events?room=a")),
        (0, 1, say("GET", "/rooms/events?room=%61", "Origin: http://page.example\r\n", "")),
        (0, 2, get("/events?room=b")),
        (100, 3, publish("a", "x")),
        (200, 3, publish("a", "two\nlines\r\n")),
        (300, 3, publish("c", "nobody")),
        (400, 4, poll("s")),
        (500, 3, post("s", r#"["join a","publish a\ny"]"#)),
        (600, 1, Do::Leave),
        (700, 3, publish("a", "last")),
        (800, 4, poll("s")),
    ]);
    let before = "\r\ndata: x\n\ndata: two\ndata: lines\ndata: \n\ndata: y\n\n";
    assert_eq!(heard.stream(0), (format!("{before}data: last\n\n"), false));
    assert_eq!(heard.stream(1), (before.to_owned(), false));
    assert_eq!(heard.stream(2), ("\r\n".to_owned(), false));
    assert_eq!(heard.origins(1), ["http://page.example"]);
    let head = &heard.all[0][..heard.all[0].find("\r\n\r\n").unwrap()];
    assert!(head.contains("Content-Type: text/event-stream"), "{head}");
    let mut answers = receivers(&[2, 2, 0, 2]);
    answers.insert(3, "204 ".to_owned());
    assert_eq!(heard.answers(3), answers);
    let frame = r#"a["joined a","message a\ny","message a\nlast"]"#;
    assert_eq!(heard.answers(4), ["200 o\n".to_owned(), format!("200 {frame}\n")]);
    let Totals { published, delivered, refused, broken, .. } = heard.totals;
    assert_eq!((published, delivered, refused, broken), (5, 9, 0, 0));
}

#[test]
fn streams_of_parts_and_of_chunks_have_what_is_posted_to_their_room() {
    let publish = |body: &str| say("POST", "/publish?room=a", "", body);
    let boundary = "part-of-a-room-8c1f6a0e2d9b4735";
    let heard = play(&[
        (0, 0, get("/parts?room=a")),
        (0, 1, get("/chunks?room=a")),
        (100, 2, publish("x")),
        (200, 2, publish("two\r\nlines")),
        (300, 2, publish("")),
        (400, 2, publish(boundary)),
        (500, 1, Do::Leave),
        (600, 2, publish("last")),
    ]);
    let part = |text: &str| {
        format!("\r\nContent-Type: text/plain; charset=UTF-8\r\n\r\n{text}\r\n--{boundary}")
    };
    let parts = ["x", "two\r\nlines", "", "last"].map(part).concat();
    assert_eq!(heard.stream(0), (format!("--{boundary}{parts}"), false));
    assert_eq!(heard.stream(1), (format!("xtwo\r\nlines{boundary}"), false));
    // Each a chunk of its own.
    assert!(
        heard.all[1].ends_with(&format!("1\r\nx\r\na\r\ntwo\r\nlines\r\n1f\r\n{boundary}\r\n"))
    );
    let content_type = format!("Content-Type: multipart/mixed; boundary={boundary}\r\n");
    assert!(heard.all[0].contains(&content_type), "{}", heard.all[0]);
    assert_eq!(heard.answers(2), receivers(&[2, 2, 1, 1, 1]));
    let Totals { published, delivered, refused, broken, .. } = heard.totals;
    assert_eq!((published, delivered, refused, broken), (5, 7, 0, 0));
}

#[test]
fn a_poll_is_answered_by_the_next_message_and_between_two_messages_wait() {
    let publish = |text: &str| say("POST", "/publish?room=a", "", text);
    let name = new_sid(&mut Random::new(0));
    let named = format!("If-None-Match: \"{name}\"\r\n");
    let heard = play(&[
        (0, 0, poll_room("a", "")),
        (100, 1, publish("x")),
        (200, 1, publish("y\n")),
        (300, 1, publish("")),
        (400, 0, poll_room("a", &named)),
        (500, 0, poll_room("a", &named)),
        (600, 0, poll_room("a", &named)), // It is held.
        (700, 2, poll_room("a", &named)),
        (800, 1, publish("z")),
        (900, 0, poll_room("b", &named)), // It is in both rooms, and gets a sign of life after 25 s.
        (28_000, 1, publish("late")),
        (28_100, 0, poll_room("a", &format!("Origin: http://page.example\r\n{named}"))),
        (35_000, 1, publish("nobody")),
        (35_100, 2, poll_room("a", &named)), // Nobody has this name any more.
        (35_200, 1, publish("new")),
    ]);
    let answers = ["200 x", "200 y\n", "200 ", "200 z", "204 ", "200 late"];
    assert_eq!(heard.answers(0), answers);
    assert_eq!(heard.all[0].matches(&format!("ETag: \"{name}\"\r\n")).count(), answers.len());
    assert_eq!(
        heard.answers(2),
        ["409 another poll of this receiver is already waiting\n", "200 new"]
    );
    assert!(!heard.all[2].contains(&name));
    assert_eq!(heard.answers(1), receivers(&[1, 1, 1, 1, 1, 0, 1]));
    assert_eq!(heard.origins(0).last(), Some(&"http://page.example"));
    let Totals { published, delivered, refused, broken, .. } = heard.totals;
    assert_eq!((published, delivered, refused, broken), (7, 6, 1, 0));
}

#[test]
fn a_receiver_that_polls_is_forgotten_when_it_is_torn_off_or_too_much_waits_for_it() {
    let publish = |len: usize| say("POST", "/publish?room=a", "", &"x".repeat(len));
    let mut names = Random::new(0);
    let [_, name] = [(); 2].map(|()| new_sid(&mut names));
    let named = format!("If-None-Match: \"{name}\"\r\n");
    let mut script = vec![
        (0, 0, poll_room("a", "")),
        (100, 0, Do::Leave),
        (200, 1, publish(1)), // Nobody is there.
        (300, 2, poll_room("a", "")),
        (400, 1, publish(1)),
        (500, 1, publish(1500)),
        (600, 1, publish(1500)), // It is the last one that the receiver is owed.
        (700, 1, publish(1)),
        (800, 2, poll_room("a", &named)),
        (900, 1, publish(2)),
    ];
    // A message takes memory even if it has no byte.
    script.extend((1_000..1_200).map(|ms| (ms, 1, publish(0))));
    script.push((1_300, 3, poll_room("a", "")));
    script.push((1_400, 3, poll_room("a", ""))); // Ends the connection and its receiver.
    script.push((1_500, 1, publish(1)));
    let heard = play_with(2000, &script);
    let empty = 2000 / size_of::<Box<str>>() + 1;
    let counts = [vec![0, 1, 1, 1, 0, 1], vec![1; empty], vec![0; 200 - empty], vec![0]].concat();
    assert_eq!(heard.answers(1), receivers(&counts));
    assert_eq!(heard.answers(2), ["200 x", "200 xx"]);
    assert_eq!(heard.all[3], "");
    assert_eq!((heard.totals.slow, heard.totals.broken, heard.totals.refused), (2, 1, 0));
}

#[test]
fn receivers_that_poll_and_sessions_of_libraries_are_told_apart_by_their_names() {
    let name = new_sid(&mut Random::new(0));
    let tag = |name: &str| format!("If-None-Match: {name}\r\n");
    let heard = play(&[
        (0, 0, poll_room("a", "")),
        (100, 1, poll("s")),
        (200, 1, post("s", r#"["join a"]"#)),
        (300, 2, poll_room("a", &tag("\"s\""))), // That is a session of SockJS.
        (400, 3, poll_room("a", &tag(&name))),   // A tag is written in quotes.
        (500, 4, get(&format!("/socket.io/?EIO=4&transport=polling&sid={name}"))),
        (600, 4, poll(&name)),
        (700, 4, say("POST", "/publish?room=a", "", "x")),
        (800, 1, poll("s")),
    ]);
    let answers =
        ["400 {\"code\":1,\"message\":\"Session ID unknown\"}", "404 ", "200 receivers=4\n"];
    let found = heard.answers(4);
    assert_eq!(found.len(), answers.len(), "{found:?}");
    assert!(found.iter().zip(answers).all(|(found, start)| found.starts_with(start)), "{found:?}");
    for client in [0, 2, 3] {
        assert_eq!(heard.answers(client), ["200 x"], "{client}");
    }
    assert_eq!(heard.answers(1)[2], "200 a[\"joined a\",\"message a\\nx\"]\n");
}

#[test]
fn requests_that_are_refused_say_what_is_wrong() {
    let large = "POST /publish?room=a HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n";
    let heard = play(&[
        (0, 0, say("POST", "/events?room=a", "", "x")),
        (100, 0, get("/publish?room=a")),
        (200, 0, get("/events")),
        (300, 0, get("/events?room=a%20b")),
        (400, 0, get(&format!("/events?room={}", "x".repeat(257)))),
        (500, 0, get("/rooms/nothing")),
        (600, 0, say("POST", "/publish?room=a", "", "x")),
        (700, 1, Do::Say(large.to_owned())),
        (800, 2, get("/events?room=a")),
        (900, 2, get("/events?room=a")),
        (1_000, 0, say("POST", "/publish?room=a", "", "x")),
    ]);
    let answers = heard.answers(0);
    let expected = [
        "405 use GET to receive the messages of a room\n",
        "405 use POST to publish; the body is the message\n",
        "400 which room? add ?room= and its name\n",
        "400 the name of a room must not contain spaces or control characters\n",
        "400 the name of a room may have at most 256 bytes\n",
        "404 this is a relay: ",
        "200 receivers=0\n",
        "200 receivers=0\n",
    ];
    assert_eq!(answers.len(), expected.len());
    for (answer, expected) in answers.iter().zip(expected) {
        assert!(answer.starts_with(expected), "{answer} {expected}");
    }
    let allowed = heard.all[0].split("Allow: OPTIONS, ").skip(1).map(|rest| &rest[..4]);
    assert_eq!(allowed.collect::<Vec<_>>(), ["GET\r", "POST"]);
    let limit = 16 << 20;
    let too_long = format!("413 body of 99999999 bytes, limit is {limit}\n");
    assert_eq!(heard.answers(1), [too_long]);
    // A request after one whose answer does not end breaks the protocol, as the large one does.
    assert_eq!((heard.totals.refused, heard.totals.broken), (6, 2));
}

#[test]
fn polls_that_overlap_on_a_connection_end_it_and_the_session() {
    let heard = play(&[
        (0, 0, poll("s")),
        (100, 0, poll("s")),
        (200, 0, poll("s")),
        (300, 1, post("s", r#"["join a"]"#)),
    ]);
    assert_eq!(heard.answers(0), ["200 o\n"]);
    assert!(heard.answers(1)[0].starts_with("404 "));
    assert_eq!(heard.totals.broken, 1);
}

#[test]
fn a_stream_ends_after_128_kib_and_nothing_is_lost() {
    let text = "x".repeat(1000);
    let publish = format!("[{}]", vec![format!(r#""publish a\n{text}""#); 140].join(","));
    let heard = play(&[
        (0, 0, stream("s", "eventsource")),
        (100, 1, post("s", r#"["join a"]"#)),
        (200, 1, post("s", &publish)),
        (900, 0, stream("s", "eventsource")),
        (1_000, 1, post("s", r#"["publish a\nlast"]"#)),
    ]);
    let (first, rest) = heard.all[0].split_once("\r\n0\r\n\r\n").unwrap();
    assert_eq!(first.matches("message a").count() + rest.matches("message a").count(), 141);
    // The limit counts the bytes of frames: the stream ends with the frame that reaches it.
    let frame_len = format!("data: a[\"message a\\n{text}\"]\r\n\r\n").len();
    let opening = "data: o\r\n\r\n".len() + "data: a[\"joined a\"]\r\n\r\n".len();
    let before_end = (128 * 1024 - opening).div_ceil(frame_len);
    assert_eq!(first.matches("message a").count(), before_end);
    assert!(rest.contains("last"));
}

#[test]
fn a_quiet_receiver_gets_signs_of_life() {
    let heard = play(&[(0, 0, stream("s", "xhr_streaming")), (60_000, 1, poll("t"))]);
    let (body, _) = heard.stream(0);
    assert_eq!(body.strip_prefix(&"h".repeat(2048)), Some("\no\nh\nh\n"));
}

#[test]
fn a_session_whose_receiver_is_closed_for_its_silence_ends() {
    let patience = Patience { receive_max: Nanos::from_secs(10), idle_max: Nanos::from_secs(30) };
    let script = [
        (0, 0, stream("s", "xhr_streaming")),
        (100, 1, post("s", r#"["join a"]"#)),
        (40_000, 2, say("POST", "/publish?room=a", "", "x")),
        (40_100, 2, post("s", r#"["join b"]"#)),
    ];
    let heard = play_against(&script, |relay| relay.patient(patience));
    let answers = heard.answers(2);
    assert_eq!(answers[0], "200 receivers=0\n");
    assert!(answers[1].starts_with("404 "), "{answers:?}");
    assert_eq!(heard.totals.timed_out, 2);
}

#[test]
fn a_session_for_which_too_much_waits_is_dropped() {
    let publish =
        format!("[{}]", vec![format!(r#""publish a\n{}""#, "x".repeat(1000)); 3].join(","));
    let heard = play_with(
        2000,
        &[
            (0, 0, poll("s")),
            (100, 1, post("s", r#"["join a"]"#)),
            (200, 0, poll("s")),
            (300, 1, post("s", &publish)),
            (400, 1, post("s", r#"["join a"]"#)),
            // It hears of its end as often as it asks, over any transport, until its time is over.
            (500, 0, poll("s")),
            (600, 0, poll("s")),
            (700, 2, stream("s", "eventsource")),
            (5_200, 0, poll("s")),
            (5_400, 0, poll("s")),
        ],
    );
    assert_eq!(heard.totals.slow, 1);
    assert!(heard.answers(1)[2].starts_with("404 "));
    let closed = "c[3000,\"Go away!\"]";
    let last = format!("200 {closed}\n");
    assert_eq!(heard.answers(0)[2..], [&*last, &last, &last, "200 o\n"]);
    assert_eq!(heard.stream(2), (format!("\r\ndata: {closed}\r\n\r\n"), true));
}

/// The next thing that a client does.
#[derive(Clone, Debug)]
pub(crate) enum Do {
    /// Asks the relay to stop. The relay has stood still for the 100 ms before, and has not read what was said then.
    /// From here on, clients close what the relay has ended.
    End,
    Leave,
    /// Connects, and opens a WebSocket at a path.
    Open(String),
    Say(String),
    /// Sends a message over its WebSocket.
    Tell(Kind, String),
}

pub(crate) fn say(method: &str, path: &str, fields: &str, body: &str) -> Do {
    let len = body.len();
    Do::Say(format!(
        "{method} {path} HTTP/1.1\r\nHost: h\r\n{fields}Content-Length: {len}\r\n\r\n{body}"
    ))
}

pub(crate) fn get(path: &str) -> Do {
    say("GET", path, "", "")
}

pub(crate) fn poll(session: &str) -> Do {
    say("POST", &format!("/rooms/000/{session}/xhr"), "", "")
}

pub(crate) fn poll_room(room: &str, fields: &str) -> Do {
    say("GET", &format!("/rooms/poll?room={room}"), fields, "")
}

/// The answers to publications that reach `counts` receivers.
fn receivers(counts: &[u32]) -> Vec<String> {
    counts.iter().map(|count| format!("200 receivers={count}\n")).collect()
}

pub(crate) fn stream(session: &str, transport: &str) -> Do {
    let method = if transport == "eventsource" { "GET" } else { "POST" };
    let path = format!("/rooms/000/{session}/{transport}");
    Do::Say(format!("{method} {path} HTTP/1.1\r\nHost: h\r\n\r\n"))
}

pub(crate) fn post(session: &str, body: &str) -> Do {
    say("POST", &format!("/rooms/001/{session}/xhr_send"), "", body)
}

/// All that the clients heard.
pub(crate) struct Heard {
    pub(crate) all: Vec<String>,
    /// The messages that came over WebSocket, binary ones prefixed with `bytes: `, and `closed` for a proper close,
    /// followed by any code other than 1000.
    pub(crate) messages: Vec<Vec<String>>,
    pub(crate) totals: Totals,
    /// The time from the request to stop to the end of the relay, if it has ended.
    pub(crate) took: Option<Nanos>,
}

impl Heard {
    /// The status and body of each response that a client got, by their lengths.
    pub(crate) fn answers(&self, client: usize) -> Vec<String> {
        let mut answers = Vec::new();
        let mut rest = &*self.all[client];
        while let Some((head, after)) = rest.split_once("\r\n\r\n") {
            let len = head
                .split_once("Content-Length: ")
                .map_or(0, |(_, len)| len.split("\r\n").next().unwrap().parse::<usize>().unwrap());
            answers.push(format!("{} {}", &head[9..12], &after[..len]));
            rest = &after[len..];
        }
        assert_eq!(rest, "");
        answers
    }

    /// The origin that each response to a client names.
    fn origins(&self, client: usize) -> Vec<&str> {
        let fields = self.all[client].split("Access-Control-Allow-Origin: ").skip(1);
        fields.map(|rest| rest.split("\r\n").next().unwrap()).collect()
    }

    /// The body of the one chunked response that a client got, and true if it has ended.
    pub(crate) fn stream(&self, client: usize) -> (String, bool) {
        let (_, mut rest) = self.all[client].split_once("\r\n\r\n").unwrap();
        let mut body = String::new();
        while let Some((len, after)) = rest.split_once("\r\n") {
            let len = usize::from_str_radix(len, 16).unwrap();
            if len == 0 {
                return (body, true);
            }
            body.push_str(&after[..len]);
            rest = &after[len + 2..];
        }
        (body, false)
    }
}

pub(crate) fn play(script: &[(u64, usize, Do)]) -> Heard {
    play_with(1 << 20, script)
}

/// Plays clients that do each thing at its time, in milliseconds, against a relay that keeps `queue_max` bytes for each
/// receiver.
pub(crate) fn play_with(queue_max: usize, script: &[(u64, usize, Do)]) -> Heard {
    play_against(script, |relay| relay.with_queue_max(queue_max))
}

/// The same against the relay that `made` makes of the usual one.
pub(crate) fn play_against(
    script: &[(u64, usize, Do)],
    made: impl FnOnce(Relay) -> Relay,
) -> Heard {
    play_beside(script, made, None)
}

/// The same with a further party in the network, which listens at an address.
pub(crate) fn play_beside(
    script: &[(u64, usize, Do)],
    made: impl FnOnce(Relay) -> Relay,
    beside: Option<(&Address, &mut dyn Node<Sim>)>,
) -> Heard {
    let options = ServerOptions { takes_requests: true, ..ServerOptions::default() };
    let url: spec::Endpoint = "ws://relay.example".parse().unwrap();
    let server = wire::stack(&url, Role::Server(&options)).unwrap();
    let address = Address::Tcp(([10, 0, 0, 1], 80).into());
    let mut network = Network::new(7, Conditions::default());
    let (mut one, mut other) = (network.engine(), network.engine());
    other.listen(&address).unwrap();
    let clients = script.iter().map(|(_, client, _)| client + 1).max().unwrap();
    let mut people = People {
        address,
        ids: vec![None; clients],
        script: script.iter().rev().cloned().collect(),
        heard: vec![Vec::new(); clients],
        machines: (0..clients).map(|_| None).collect(),
        messages: vec![Vec::new(); clients],
        rx: vec![0; 1 << 16],
        stop: Arc::default(),
    };
    let mut relay = made(Relay::new(server, Arc::clone(&people.stop)));
    let at = |ms: u64| Instant::START + Nanos::from_millis(ms);
    let asked = script.iter().find(|(_, _, what)| matches!(what, Do::End)).map(|(ms, ..)| at(*ms));
    if let Some(asked) = asked {
        other.freeze(Instant(asked.0 - 100_000_000), asked);
    }
    let relaying = match asked {
        Some(_) => Party::awaited(&mut other, &mut relay),
        None => Party::background(&mut other, &mut relay),
    };
    let mut parties = vec![Party::background(&mut one, &mut people), relaying];
    let mut third;
    if let Some((address, node)) = beside {
        third = network.engine();
        third.listen(address).unwrap();
        parties.push(Party::background(&mut third, node));
    }
    let (last, ..) = script.last().unwrap();
    let ended = network.run(&mut parties, at(last + if asked.is_some() { 5_000 } else { 500 }));
    let took = asked.map(|asked| network.now().since(asked));
    assert_eq!(ended, if took.is_some() { Outcome::Done } else { Outcome::TimeUp });
    // What the relay has written reaches those who wait for it.
    let mut people_alone = [Party::background(&mut one, &mut people)];
    let rest = Instant(network.now().0 + 100_000_000);
    if took.is_some() {
        assert_ne!(network.run(&mut people_alone, rest), Outcome::Done);
    }
    let texts = people.heard.into_iter().map(|heard| String::from_utf8(heard).unwrap());
    Heard { all: texts.collect(), messages: people.messages, totals: relay.totals(), took }
}

struct People {
    address: Address,
    ids: Vec<Option<ConnectionId>>,
    /// In reverse order: the next step is last.
    script: Vec<(u64, usize, Do)>,
    heard: Vec<Vec<u8>>,
    machines: Vec<Option<Connection>>,
    messages: Vec<Vec<String>>,
    rx: Vec<u8>,
    stop: Arc<AtomicBool>,
}

impl People {
    /// Handles a new connection; one for WebSocket starts its handshake.
    fn connected(&mut self, engine: &mut Sim, id: ConnectionId) {
        let client = self.client(id);
        if let Some(machine) = &mut self.machines[client] {
            let mut tx = Vec::new();
            assert_eq!(machine.open(&mut tx), Opening::Awaited);
            engine.send(id, &tx);
        }
    }

    fn received(&mut self, engine: &mut Sim, id: ConnectionId, len: usize) {
        let client = self.client(id);
        let Some(machine) = &mut self.machines[client] else {
            return self.heard[client].extend_from_slice(&self.rx[..len]);
        };
        let (mut input, mut tx) = (Input::new(&mut self.rx[..len]), Vec::new());
        while let Some(event) = machine.receive(&mut input, &mut tx).unwrap() {
            if let Event::Message(Message { kind, payload }) = event {
                let text = String::from_utf8(payload.to_vec()).unwrap();
                self.messages[client].push(match kind {
                    Kind::Binary => format!("bytes: {text}"),
                    Kind::Text => text,
                });
            } else if let Event::Closed(closed) = event {
                let code = closed.code.filter(|code| *code != 1000);
                let code = code.map_or_else(String::new, |code| format!(" {code}"));
                self.messages[client].push(format!("closed{code}"));
            } else {
                assert_eq!(event, Event::Open);
            }
        }
        engine.send(id, &tx);
    }

    fn client(&self, id: ConnectionId) -> usize {
        self.ids.iter().position(|known| *known == Some(id)).unwrap()
    }
}

impl Node<Sim> for People {
    fn step(&mut self, engine: &mut Sim) -> Step {
        while let Some(completion) = engine.complete(&mut self.rx) {
            match completion {
                Completion::Connected(id) => self.connected(engine, id),
                Completion::Received { connection, len } => self.received(engine, connection, len),
                Completion::Ended(id) if self.stop.load(Ordering::Relaxed) => {
                    let client = self.client(id);
                    self.ids[client] = None;
                    engine.close(id);
                }
                Completion::Accepted(_) | Completion::Ended(_) | Completion::Failed(..) => {}
            }
        }
        while let Some((at, client, what)) = self.script.last().cloned() {
            let at = Instant::START + Nanos::from_millis(at);
            if engine.now() < at {
                return Step::Wait(at);
            }
            self.script.pop();
            match what {
                Do::End => self.stop.store(true, Ordering::Relaxed),
                Do::Leave => engine.close(self.ids[client].take().unwrap()),
                Do::Open(path) => {
                    let url = format!("ws://relay.example{path}").parse().unwrap();
                    let stack = wire::stack(&url, Role::Client(&ClientOptions::default())).unwrap();
                    self.machines[client] = Some(stack.connection(1, 0));
                    self.ids[client] = Some(engine.connect(&self.address, None));
                }
                Do::Tell(kind, text) => {
                    let (machine, mut tx) = (&mut self.machines[client], Vec::new());
                    let message = Message { kind, payload: text.as_bytes() };
                    machine.as_mut().unwrap().send(message, &mut tx).unwrap();
                    engine.send(self.ids[client].unwrap(), &tx);
                }
                Do::Say(text) => {
                    let id = *self.ids[client]
                        .get_or_insert_with(|| engine.connect(&self.address, None));
                    engine.send(id, text.as_bytes());
                }
            }
        }
        Step::Wait(Instant::NEVER)
    }
}
