//! Receivers of a stream of server-sent events, parts or chunks, and receivers that poll, against scripted servers.

use crate::script::{Step, play};
use spec::Conversation;
use wire::conversation::Compiled;
use wire::{ClientOptions, Connection, Role};

#[test]
fn each_event_is_a_message_that_comes_unasked() {
    let pieces =
        ["\r\n", ": hello\n\n", "data: a\n\nid: 7\ndata: b\ndata: c\n\n", "data: d\r\n\r\n"];
    let told = play(&receiver, &[stream(&pieces, false)]);
    let pushed = |payload: &str| format!("Notice {payload}");
    let events = [pushed("a"), pushed("b\\nc"), pushed("d")];
    assert_eq!(told.events, events);
    let request =
        "GET /events?room=0 HTTP/1.1\r\nHost: h\r\nX-A: b\r\nAccept: text/event-stream\r\n\r\n";
    assert_eq!(String::from_utf8_lossy(&told.first), request);
    assert_eq!((told.second.len(), told.seconds), (0, 0), "there is one connection");
}

#[test]
fn a_stream_that_ends_ends_its_receiver() {
    let cut = "end: error: the connection ended 0 bytes into a body";
    let told = play(&receiver, &[stream(&["data: a\n\n"], false), Step::End]);
    assert_eq!(told.events, ["Notice a", cut]);
    // An event that the end cuts off does not count.
    let told = play(&receiver, &[stream(&["data: a\n\n", "data: b\n"], true)]);
    assert_eq!(told.events, ["Notice a", "closed None \"\""]);
    let whole = b"HTTP/1.1 200 OK\r\n\r\ndata: a\n\n".to_vec();
    let told = play(&receiver, &[Step::First(whole), Step::End]);
    assert_eq!(told.events, ["Notice a", "end: closed None \"\""]);
}

#[test]
fn what_is_no_stream_of_events_has_a_name() {
    let response = |head: &str, body: &str| {
        let len = body.len();
        Step::First(format!("HTTP/1.1 {head}\r\nContent-Length: {len}\r\n\r\n{body}").into_bytes())
    };
    let long = format!("data: {}\n\n", "x".repeat(100));
    #[rustfmt::skip]
    let table = [
        (response("404 Not Found", "no"),                       "the opening request: HTTP status 404, expected the status 200: \"no\""),
        (response("204 No Content\r\nX: y", ""),                "the opening request: HTTP status 204, expected the status 200: \"\""),
        (response("200 OK\r\nContent-Type: text/html", "<p>"),  "the response is not an event stream (text/event-stream): its type is \"text/html\""),
        (stream(&[&long], false),                               "event of more than 64 bytes"),
        (Step::End,                                             "the connection ended; unanswered requests: 1"),
    ];
    for (step, expected) in table {
        let told = play(&receiver, std::slice::from_ref(&step));
        let last = told.events.last().map_or("", String::as_str);
        let error = last.strip_prefix("end: ").unwrap_or(last).strip_prefix("error: ");
        assert_eq!(error.unwrap_or_default(), expected, "{step:?}");
    }
}

#[test]
fn each_part_is_a_message_as_soon_as_the_boundary_behind_it_has_come() {
    let parts = || receiving("multipart");
    let mixed = "multipart/mixed; boundary=x";
    let pieces = ["--x\r\nETag: 1\r\n\r\na\r\n", "b\r\n--x", "\r\n\r\nc\r\n--x"];
    let told = play(&parts, &[stream_of(mixed, &pieces, false)]);
    assert_eq!(told.events, ["Notice a\\r\\nb", "Notice c"]);
    let request =
        "GET /events?room=0 HTTP/1.1\r\nHost: h\r\nX-A: b\r\nAccept: multipart/mixed\r\n\r\n";
    assert_eq!(String::from_utf8_lossy(&told.first), request);
    let told = play(&parts, &[stream_of(mixed, &["--x\r\n\r\na\r\n--x--"], true)]);
    assert_eq!(told.events, ["Notice a", "closed None \"\""]);
    let no_parts = "error: the response has no parts (multipart/mixed; boundary=…): its type is ";
    for other in ["text/plain", "multipart/mixed"] {
        let told = play(&parts, &[stream_of(other, &["a"], false)]);
        assert_eq!(told.events, [format!("{no_parts}\"{other}\"")]);
    }
}

#[test]
fn each_chunk_is_a_message_however_it_arrives() {
    let chunks = || receiving("chunked");
    let pieces = ["a\nb", "c", "0\r\n"];
    let told = play(&chunks, &[stream_of("text/plain", &pieces, false)]);
    assert_eq!(told.events, ["Notice a\\nb", "Notice c", "Notice 0\\r\\n"]);
    let request = "GET /events?room=0 HTTP/1.1\r\nHost: h\r\nX-A: b\r\n\r\n";
    assert_eq!(String::from_utf8_lossy(&told.first), request);
    let told = play(&chunks, &[stream_of("text/plain", &["a"], true)]);
    assert_eq!(told.events, ["Notice a", "closed None \"\""]);
    let long = "x".repeat(65);
    let over = "error: a frame of more than 64 bytes, which is the limit";
    assert_eq!(play(&chunks, &[stream_of("text/plain", &[&long], false)]).events, [over]);
    let none = "error: the response is not chunked (no Transfer-Encoding: chunked)";
    assert_eq!(play(&chunks, &[answer("200 OK", "", "a")]).events, [none]);
}

#[test]
fn each_poll_names_the_response_before_it_and_each_response_is_a_message() {
    let named = "ETag: \"1\"\r\nLast-Modified: yesterday\r\n";
    let told = play(
        &poller,
        &[
            answer("200 OK", named, "a\nb"),
            answer("204 No Content", "", ""),
            answer("304 Not Modified", "ETag: W/\"2\"\r\n", ""),
            answer("200 OK", "", ""),
        ],
    );
    assert_eq!(told.events, ["Notice a\\nb", "Notice "]);
    let asked = |conditions: &str| {
        format!("GET /events?room=0 HTTP/1.1\r\nHost: h\r\nX-A: b\r\n{conditions}\r\n")
    };
    let first = asked("If-None-Match: \"1\"\r\nIf-Modified-Since: yesterday\r\n");
    let second = asked("If-None-Match: W/\"2\"\r\n");
    let all = [&*asked(""), &first, &first, &second, &second].concat();
    assert_eq!(String::from_utf8_lossy(&told.first), all);
    assert_eq!((told.second.len(), told.seconds), (0, 0), "there is one connection");
}

#[test]
fn what_a_poll_cannot_be_answered_by_has_a_name() {
    let long = "x".repeat(65);
    #[rustfmt::skip]
    let table = [
        (answer("404 Not Found", "", "no"), "the opening request: HTTP status 404, expected the status 200: \"no\""),
        (answer("200 OK", "", &long),       "a frame of more than 64 bytes, which is the limit"),
        (Step::End,                         "the connection ended; unanswered requests: 1"),
    ];
    for (step, expected) in table {
        let told = play(&poller, std::slice::from_ref(&step));
        let last = told.events.last().map_or("", String::as_str);
        let error = last.strip_prefix("end: ").unwrap_or(last).strip_prefix("error: ");
        assert_eq!(error.unwrap_or_default(), expected, "{step:?}");
    }
}

/// A receiver of room 0.
fn receiver() -> Connection {
    receiving("sse")
}

/// The same, but polling.
fn poller() -> Connection {
    receiving("longpoll")
}

fn receiving(speaks: &str) -> Connection {
    let text = "
        path = '/events?room=${room_number}'
        headers = { X-A = 'b' }
        [push.message]
        when = {}
        header = '${header} '
        [publishers]
        speaks = 'http'
        [publishers.request.publish]
        http = 'POST /publish'
        body = '${header} '
    ";
    let text = format!("speaks = '{speaks}'\n{text}");
    let conversation = Conversation::read("events", &text).expect("the script is proper");
    let options = ClientOptions {
        conversation: Some(Compiled::new(&conversation).expect("the script is proper")),
        message_max: 64,
        ..ClientOptions::default()
    };
    let url = "http://h".parse().expect("the script is proper");
    wire::stack(&url, Role::Client(&options)).expect("the script is proper").connection(7, 0)
}

/// A complete response; some statuses imply that it has no body.
fn answer(status: &str, fields: &str, body: &str) -> Step {
    let len = match body {
        "" if !status.starts_with("200") => String::new(),
        _ => format!("Content-Length: {}\r\n", body.len()),
    };
    Step::First(format!("HTTP/1.1 {status}\r\n{fields}{len}\r\n{body}").into_bytes())
}

/// A stream of events in chunks, which ends with them if `is_whole`.
fn stream(chunks: &[&str], is_whole: bool) -> Step {
    stream_of("text/event-stream", chunks, is_whole)
}

/// A response of this type in chunks, which ends with them if `is_whole`.
fn stream_of(content_type: &str, chunks: &[&str], is_whole: bool) -> Step {
    let mut bytes = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    for chunk in chunks {
        bytes += &format!("{:x}\r\n{chunk}\r\n", chunk.len());
    }
    bytes += if is_whole { "0\r\n\r\n" } else { "" };
    Step::First(bytes.into_bytes())
}
