//! Conversations over HTTP: responses, cut at every place, and what the client makes of them.

use super::*;
use crate::connection::Connection;
use crate::conversation::sample::{http, over_http, resumable, stream};
use crate::http1::redirect::Origin;
use crate::http1::{Http1, Limits};
use crate::transcript::{Transcript, check_splits_of_replies};
use spec::Conversation;
use spec::conversation::Send;
use units::Nanos;

type Calls = super::Calls<Connection>;

/// A client that has made the requests for these exchanges, and their bytes.
fn asking(conversation: &Conversation, exchanges: &[u16]) -> (Calls, Vec<u8>) {
    let compiled = Compiled::new(conversation).unwrap();
    let site = Arc::new(Site::new(Origin::new(false, "h"), &[]).unwrap().at("/base").unwrap());
    let limits = Limits { body_len_max: 64, ..Limits::default() };
    let make = Maker::new(move |delivery| Connection::from(Http1::exchanges(delivery, limits)));
    let (mut calls, mut tx) =
        (Calls::new(&make, &compiled, &site, compiled.start(5, 7), 64), Vec::new());
    assert_eq!(calls.open(&mut tx), Opening::Done);
    for (sequence, exchange) in (0..).zip(exchanges) {
        let mut cue = [0; Cue::LEN];
        Cue { sequence, exchange: *exchange, due: Nanos(0) }.write(&mut cue);
        calls.send(Message { kind: Kind::Binary, payload: &cue }, &mut tx).unwrap();
    }
    (calls, tx)
}

#[track_caller]
fn check(conversation: &Conversation, exchanges: &[u16], table: &[(&str, &[&str])]) {
    for (responses, expected) in table {
        let machine = || asking(conversation, exchanges).0;
        let Transcript { mut events, .. } = check_splits_of_replies(responses.as_bytes(), &machine);
        events.retain(|event| event != "ping \"\"");
        assert_eq!(events, *expected, "{responses:?}");
    }
}

const CLOSED: &str = "end: closed None \"\"";

#[test]
fn responses_answer_requests_in_their_order() {
    let ok =
        |body: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let both = ok("one") + &ok("{\"id\":10000001}");
    let other = ok("one") + &ok("{\"id\":10000000}");
    let refused = ok("one") + &ok("{\"error\":1}");
    let moved = "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 1\r\n\r\n-".to_owned()
        + &ok("{\"id\":10000001}");
    let busy =
        "HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\nno".to_owned() + &refused;
    check(
        &over_http(),
        &[0, 1],
        &[
            (&both, &["answered 0#0 \"one\"", "answered 1#1 \"{\\\"id\\\":10000001}\"", CLOSED]),
            (&refused, &["answered 0#0 \"one\"", "refused 1#1 \"{\\\"error\\\":1}\"", CLOSED]),
            (
                &other,
                &[
                    "answered 0#0 \"one\"",
                    "the body is not the one that `reply` describes 1#1 \"{\\\"id\\\":10000000}\"",
                    CLOSED,
                ],
            ),
            (&moved, &["refused 302 \"/x\"", "answered 1#1 \"{\\\"id\\\":10000001}\"", CLOSED]),
            (
                &busy.replace("one", "{\"error\":1}").replace("Length: 3", "Length: 11"),
                &[
                    "refused 429 \"no\"",
                    "refused 1#1 \"{\\\"error\\\":1}\"",
                    "error: received bytes that answer no request",
                ],
            ),
            (
                &ok("one"),
                &[
                    "answered 0#0 \"one\"",
                    "end: error: the connection ended; unanswered requests: 1",
                ],
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\none",
                &["end: error: the connection ended 3 bytes into a body"],
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 65\r\n\r\n",
                &["error: body of 65 bytes, limit is 64"],
            ),
        ],
    );
}

#[test]
fn a_server_may_end_the_connection_with_a_response() {
    check(
        &over_http(),
        &[0],
        &[
            (
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na",
                &["answered 0#0 \"a\"", "closed None \"\"", CLOSED],
            ),
            ("HTTP/1.0 200 OK\r\n\r\nall", &["end: answered 0#0 \"all\""]),
            ("HTTP/1.0 500 No\r\n\r\nall", &["end: refused 500 \"all\""]),
        ],
    );
}

#[test]
fn requests_are_written_whole_with_the_cookies_of_their_connection() {
    let (mut calls, mut tx) = asking(&over_http(), &[0]);
    assert_eq!(tx, b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
    let mut bytes = b"HTTP/1.1 204 No\r\nSet-Cookie: s=1; Path=/\r\n\r\n".to_vec();
    calls.receive(&mut Input::new(&mut bytes), &mut tx).unwrap();
    tx.clear();
    let mut cue = [0; Cue::LEN];
    Cue { sequence: 1, exchange: 1, due: Nanos(0) }.write(&mut cue);
    calls.send(Message { kind: Kind::Binary, payload: &cue }, &mut tx).unwrap();
    assert_eq!(tx, b"GET /b?id=10000001 HTTP/1.1\r\nHost: h\r\nCookie: s=1\r\n\r\n");
    let again = calls.send(Message { kind: Kind::Binary, payload: &cue }, &mut tx);
    assert_eq!(again, Err(MisuseError::Malformed { expected: "the cue of the next message" }));
    let mut conversation = over_http();
    conversation.requests[0].send = Send::Http(spec::conversation::HttpRequest {
        path: spec::conversation::Template::default(),
        ..http("POST /", Some("x"))
    });
    assert_eq!(
        asking(&conversation, &[0]).1,
        b"POST /base HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx"
    );
}

#[test]
fn redirects_are_followed_where_the_file_says_so() {
    let mut conversation = over_http();
    conversation.requests[0].send =
        Send::Http(spec::conversation::HttpRequest { redirects: 2, ..http("POST /a", Some("x")) });
    let moved = |status: u16, place: &str| {
        format!(
            "HTTP/1.1 {status} X\r\nLocation: {place}\r\nSet-Cookie: at={status}; Path=/\r\nContent-Length: 1\r\n\r\n-"
        )
    };
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let (kept, seen) = (moved(308, "b"), moved(303, "/c"));
    let (other, found) = (moved(302, "http://other/"), moved(404, "/d"));
    check(
        &conversation,
        &[0],
        &[
            (
                &format!("{kept}{seen}{ok}"),
                &["redirected", "redirected", "answered 0#0 \"ok\"", CLOSED],
            ),
            (&format!("{kept}{found}"), &["redirected", "refused 404 \"-\"", CLOSED]),
            (
                &format!("{kept}{kept}{kept}"),
                &[
                    "redirected",
                    "redirected",
                    "error: HTTP status 308 redirects to \"b\" after 2 redirects, the limit that `redirects` sets",
                ],
            ),
            (
                &other,
                &[
                    "error: HTTP status 302 redirects to \"http://other/\", but only redirects to http://h are followed; \
                   to measure the new location, use it as the URL",
                ],
            ),
        ],
    );
    // The other kind of request follows no redirect.
    check(&conversation, &[1], &[(&seen, &["refused 303 \"/c\"", CLOSED])]);
    let (mut calls, mut tx) = asking(&conversation, &[0]);
    for (said, next) in [
        (&kept, "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nCookie: at=308\r\n\r\nx"),
        (&seen, "GET /c HTTP/1.1\r\nHost: h\r\nCookie: at=303\r\n\r\n"),
    ] {
        tx.clear();
        let mut bytes = said.clone().into_bytes();
        let mut input = Input::new(&mut bytes);
        assert_eq!(calls.receive(&mut input, &mut tx), Ok(Some(Event::Redirected)));
        assert_eq!(calls.receive(&mut input, &mut tx), Ok(None));
        assert_eq!(String::from_utf8_lossy(&tx), next);
        assert_eq!(calls.go_on(), None, "it goes over the same connection");
    }
}

/// A response that is a stream of `events`, in chunks.
fn sse(events: &str) -> String {
    let chunks: String = events
        .split_inclusive("\n\n")
        .map(|event| format!("{:x}\r\n{event}\r\n", event.len()))
        .collect();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"
    )
}

#[test]
fn a_stream_is_parts_and_the_event_that_ends_it() {
    let tokens = stream(&["has $.t"], &[], Some(&["is [DONE]"]));
    let whole =
        sse("data: {\"role\":1}\n\n: beat\n\ndata: {\"t\":1}\n\ndata: {}\n\ndata: [DONE]\n\n");
    let parts = ["first part 0#0 \"{\\\"t\\\":1}\"", "part 0#0 \"{}\"", "answered 0#0 \"[DONE]\""];
    let two = whole.clone() + &whole;
    let second =
        ["first part 0#1 \"{\\\"t\\\":1}\"", "part 0#1 \"{}\"", "answered 0#1 \"[DONE]\"", CLOSED];
    check(&tokens, &[0, 0], &[(&two, &[&parts[..], &second].concat())]);
    let closing = whole
        .replace("Transfer-Encoding: chunked", "Connection: close\r\nTransfer-Encoding: chunked");
    let early = sse("data: {\"t\":1}\n\n");
    let none = sse("data: {}\n\ndata: [DONE]\n\n");
    let error = sse("data: {\"error\":1}\n\n");
    let cut = whole.split_once("data: [").unwrap().0.to_owned();
    let first = parts[0];
    check(
        &tokens,
        &[0],
        &[
            (
                &early,
                &[
                    first,
                    "the stream ended without the event that `last` describes 0#0 \"\"",
                    CLOSED,
                ],
            ),
            (
                &none,
                &[
                    "the stream ended without an event that `first` describes 0#0 \"[DONE]\"",
                    CLOSED,
                ],
            ),
            (&error, &["refused 0#0 \"{\\\"error\\\":1}\"", CLOSED]),
            (&cut, &[first, parts[1], "end: error: the stream of events broke off after 2 events"]),
            (
                "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nwait",
                &["refused 503 \"wait\"", CLOSED],
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<p/>",
                &["the response is not an event stream (text/event-stream) 0#0 \"<p/>\"", CLOSED],
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
                &["error: unexpected byte 0x78 in a size of a chunked body"],
            ),
            (
                &sse(&format!("data: {}\n\n", "x".repeat(64))),
                &["error: event of more than 64 bytes"],
            ),
        ],
    );
    // The answer waits if the connection ends with the response; the outcome is the same however the bytes are cut.
    let (mut calls, mut tx) = asking(&tokens, &[0]);
    let (head, tail) = closing.split_at(closing.len() - "0\r\n\r\n".len());
    let mut happened = Vec::new();
    for piece in [head, tail] {
        let mut bytes = piece.as_bytes().to_vec();
        let mut input = Input::new(&mut bytes);
        while let Some(event) = calls.receive(&mut input, &mut tx).unwrap() {
            match event {
                Event::Part(_) => happened.push("part"),
                Event::Answer(answer) => {
                    assert_eq!(answer.verdict, Verdict::Good);
                    happened.push("answer");
                }
                Event::Closed(_) => happened.push("closed"),
                Event::Message(_)
                | Event::Open
                | Event::Ping(_)
                | Event::Pong(_)
                | Event::Pushed(_)
                | Event::Redirected
                | Event::Refused { .. }
                | Event::Response(_)
                | Event::Secured(_) => happened.push("other"),
            }
        }
        happened.push("|");
    }
    assert_eq!(happened, ["part", "part", "|", "answer", "closed", "|"]);
}

#[test]
fn a_stream_without_a_last_event_ends_with_its_response() {
    let all = stream(&[], &[], None);
    let whole = sse("data: a\n\ndata: b\n\n");
    let parts = ["first part 0#0 \"a\"", "part 0#0 \"b\""];
    check(&all, &[0], &[(&whole, &[parts[0], parts[1], "answered 0#0 \"\"", CLOSED])]);
    let amid = sse("data: a\n\ndata: b\n");
    let cut = "the stream ended within an event 0#0 \"\"";
    check(&all, &[0], &[(&amid, &[parts[0], cut, CLOSED])]);
    let until_end =
        "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: a\n\ndata: b\n\n";
    check(&all, &[0], &[(until_end, &[parts[0], parts[1], "end: answered 0#0 \"\""])]);
}

/// The events of a stream whose connections receive `responses` in turn, each after the first one to a request for the
/// rest. A stream that is requested again is listed with the request.
fn resumed(conversation: &Conversation, responses: &[&str]) -> Vec<String> {
    let (mut calls, mut tx) = asking(conversation, &[0]);
    let mut told = Vec::new();
    for response in responses {
        let mut bytes = response.as_bytes().to_vec();
        let mut input = Input::new(&mut bytes);
        let mut is_closed = false;
        while !is_closed && let Some(event) = calls.receive(&mut input, &mut tx).unwrap() {
            is_closed = matches!(event, Event::Closed(_));
            told.push(crate::transcript::describe(&event));
        }
        if !is_closed {
            told.push(match calls.end() {
                Ok(event) => crate::transcript::describe(&event),
                Err(error) => error.to_string(),
            });
        }
        let Some(wait) = calls.go_on() else { continue };
        tx.clear();
        assert_eq!(calls.open(&mut tx), Opening::Done);
        let request = String::from_utf8(tx.clone()).unwrap();
        told.push(format!("after {wait}: {}", request.replace("\r\n", "|")));
    }
    told
}

#[test]
fn a_stream_that_breaks_off_is_asked_for_again_behind_its_last_event() {
    let tokens = stream(&[], &[], Some(&["is [DONE]"]));
    let tokens = resumable(tokens, 2, Nanos::from_millis(5));
    let part = |number: u32| format!("id: {number}\ndata: {number}\n\n");
    let whole = sse(&(part(1) + &part(2) + &part(3) + "data: [DONE]\n\n"));
    let cut = |whole: &str, at: &str| whole.split_once(at).unwrap().0.to_owned();
    let rest = |from: &str| {
        let (head, rest) = whole.split_once("\r\n\r\n").unwrap();
        let at = rest.find(from).unwrap();
        format!("{head}\r\n\r\n{}", &rest[rest[..at].rfind("\n\r\n").unwrap() + 3..])
    };
    let again = |id: u32, wait: &str| {
        format!(
            "after {wait}: GET / HTTP/1.1|Last-Event-ID: {id}|Host: h|Accept: text/event-stream||"
        )
    };
    let told = |number: u32, first: &str| format!("{first}part 0#0 \"{number}\"");
    let broke = |events: u32| format!("the stream of events broke off after {events} events");
    let done = "answered 0#0 \"[DONE]\"".to_owned();
    let closed = "closed None \"\"".to_owned();
    // Cut within an event, within its response.
    let found = resumed(&tokens, &[&cut(&whole, ": 3\n\n"), &rest("id: 3")]);
    let expected = [
        told(1, "first "),
        told(2, ""),
        broke(2),
        again(2, "5 ms"),
        told(3, ""),
        done.clone(),
        closed.clone(),
    ];
    assert_eq!(found, expected);
    // The response ends properly, but the stream does not; the server wishes for another wait.
    let short = sse(&("retry: 70\n\n".to_owned() + &part(1)));
    let found = resumed(&tokens, &[&short, &rest("id: 2")]);
    let expected = [
        told(1, "first "),
        closed.clone(),
        again(1, "70 ms"),
        told(2, ""),
        told(3, ""),
        done,
        closed.clone(),
    ];
    assert_eq!(found, expected);
    // At most twice; then the outcome is what it would have been.
    let found = resumed(&tokens, &[&sse(&part(1)), &sse(&part(2)), &sse(&part(3))]);
    assert_eq!(
        found[found.len() - 2],
        "the stream ended without the event that `last` describes 0#0 \"\""
    );
    // Nothing is resumed without an id, nor by a server that does not have the rest.
    let without = resumed(&tokens, &[&cut(&sse("data: 1\n\ndata: 2\n\n"), ": 2\n")]);
    assert_eq!(without, [told(1, "first "), broke(1)]);
    for status in ["404 No", "200 OK"] {
        let other =
            format!("HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nno");
        let found = resumed(&tokens, &[&short, &other]);
        let words =
            "the stream broke off, and the server does not resume it by Last-Event-ID 0#0 \"no\"";
        assert_eq!(found[3], words, "{found:?}");
    }
    // With 204 the server says that nothing follows; one that answers nothing is asked once more.
    let found = resumed(&tokens, &[&short, "HTTP/1.1 204 No Content\r\n\r\n"]);
    assert_eq!(found[3], "the stream ended without the event that `last` describes 0#0 \"\"");
    let found = resumed(&tokens, &[&short, "", &rest("id: 2")]);
    assert_eq!(found[3..5], [broke(1), again(1, "70 ms")]);
    assert_eq!(found.last(), Some(&closed));
}
