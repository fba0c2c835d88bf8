//! Tables of inputs, each of which is fed whole, byte by byte, and cut at every position.

use super::{Delivery, Http1, Limits, PeerError, Request, RequestParts};
use crate::contract::{Event, Input, Kind, Message, MisuseError, Protocol, Response};
use crate::transcript::{HTTP_LIMITS, check_splits, check_splits_of_replies, http1_client};
use std::sync::Arc;

#[test]
fn responses_become_replies() {
    #[rustfmt::skip]
    let table: [(&str, &[&str]); _] = [
        // the response, and the events of a connection with two requests in flight
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", &["Binary \"ab\"", UNANSWERED]),
        ("HTTP/1.1 200\r\ncontent-LENGTH:2 \r\n\r\nab", &["Binary \"ab\"", UNANSWERED]),
        ("\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", &["Binary \"ab\"", UNANSWERED]),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 404 x\r\nContent-Length: 1\r\n\r\n-\r\n",
            &["Binary \"\"", "refused 404 \"-\"", CLOSED]),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x\r\nc\r\n0\r\nT: x\r\n\r\n",
            &["Binary \"abc\"", UNANSWERED]),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nbc",
            &["Binary \"a\"", "Binary \"bc\"", CLOSED]),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb",
            &["Binary \"a\"", "Binary \"b\"", CLOSED]),
        ("HTTP/1.1 200 OK\r\n\r\nab", &["end: Binary \"ab\""]),
        ("HTTP/1.1 500 OK\r\n\r\n", &["end: refused 500 \"\""]),
        ("HTTP/1.1 204 OK\r\nContent-Length: 9\r\n\r\n", &["Binary \"\"", UNANSWERED]),
        ("HTTP/1.1 304 OK\r\nContent-Length: 9\r\n\r\n", &["refused 304 \"\"", UNANSWERED]),
        ("HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 E\r\nA: b\r\n\r\nHTTP/1.1 201 OK\r\nContent-Length: 1\r\n\r\na",
            &["Binary \"a\"", UNANSWERED]),
        // when the connection ends (RFC 9112 §9.3)
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nabc",
            &["Binary \"a\"", "closed None \"\"", CLOSED]),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: x, CLOSE\r\n\r\na",
            &["Binary \"a\"", "closed None \"\"", CLOSED]),
        ("HTTP/1.1 404 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\na",
            &["refused 404 \"a\"", "closed None \"\"", CLOSED]),
        ("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", &["Binary \"a\"", "closed None \"\"", CLOSED]),
        ("HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\na", &["Binary \"a\"", UNANSWERED]),
        ("HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive, close\r\n\r\na",
            &["Binary \"a\"", "closed None \"\"", CLOSED]),
        // what is cut off
        ("", &["end: error: the connection ended; unanswered requests: 2"]),
        ("HTT", &["end: error: the connection ended 3 bytes into a head"]),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", &["end: error: the connection ended 2 bytes into a body"]),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
            &["end: error: the connection ended 2 bytes into a body"]),
        // what is not asked for
        ("HTTP/1.1 101 S\r\nUpgrade: x\r\n\r\n", &["error: the server switched to another protocol unasked"]),
        ("HTTP/1.1 204 x\r\n\r\nHTTP/1.1 204 x\r\n\r\nH",
            &["Binary \"\"", "Binary \"\"", "error: received bytes that answer no request"]),
        ("HTTP/1.1 204 x\r\n\r\nHTTP/1.1 204 x\r\n\r\n\r\n", &["Binary \"\"", "Binary \"\"", CLOSED]),
        // what is not HTTP
        ("SSH-2.0-OpenSSH_9.2\r\n", &["error: the peer does not speak HTTP, it sent \"SSH-2.0-OpenSSH_9.2\""]),
        ("\x15\x03\x01\0\x02\x02F",
            &["end: error: the peer does not speak HTTP, it sent \"\\x15\\x03\\x01\\x00\\x02\\x02F\""]),
        ("a very long greeting without any end of a line",
            &["error: the peer does not speak HTTP, it sent \"a very long greeting without any\""]),
        ("HTTP/2.0 200 OK\r\n\r\n", &["error: unsupported version of HTTP"]),
    ];
    for (input, events) in table {
        check_client(input, "POST", events);
    }
}

#[test]
fn a_response_to_head_has_no_body() {
    let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
    check_client(&response.repeat(2), "HEAD", &["Binary \"\"", "Binary \"\"", CLOSED]);
    check_client("HTTP/1.1 200 OK\r\n\r\n", "HEAD", &["Binary \"\"", UNANSWERED]);
}

#[test]
fn a_redirect_is_a_refusal_that_names_its_place() {
    let long = format!("X: {}\r\n", "y".repeat(600));
    for (fields, said) in [
        ("Location: /new\r\n", "/new"),
        ("location:\t http://h/a?b \r\n", "http://h/a?b"),
        (&format!("{long}Location: /new\r\n"), "/new"),
        ("", "body"),
    ] {
        let response = format!("HTTP/1.1 302 Found\r\nContent-Length: 4\r\n{fields}\r\nbody");
        let limits = Limits::default();
        let transcript = check_splits_of_replies(response.repeat(2).as_bytes(), &|| {
            http1_client("GET", 2, limits)
        });
        let refused = format!("refused 302 \"{said}\"");
        assert_eq!(transcript.events, [&refused, &refused, CLOSED]);
    }
}

#[test]
fn the_statuses_that_are_replies_are_those_asked_for() {
    let request = Request::new(&parts("GET", "/", "h")).unwrap();
    let request = Arc::new(request.accepting(vec!["3xx".parse().unwrap(), "404".parse().unwrap()]));
    for (status, is_reply) in [(200, false), (302, true), (304, true), (404, true), (405, false)] {
        let response = format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n");
        let transcript = check_splits_of_replies(response.as_bytes(), &|| {
            let mut client = Http1::client(Arc::clone(&request), Limits::default());
            client.send(message(""), &mut Vec::new()).unwrap();
            client
        });
        let event =
            if is_reply { "Binary \"\"".to_owned() } else { format!("refused {status} \"\"") };
        assert_eq!(transcript.events, [&event, CLOSED]);
    }
}

#[test]
fn responses_to_requests_of_the_owner_come_with_their_status_and_head() {
    let head = "HTTP/1.1 404 Nope\r\nContent-Length: 2\r\nX: y\r\n\r\n";
    let long =
        format!("HTTP/1.1 200 OK\r\nX: {}\r\nTransfer-Encoding: chunked\r\n\r\n", "y".repeat(600));
    let input = format!("{head}ab{long}1\r\nc\r\n2\r\nde\r\n0\r\n\r\n");
    let shown = |text: &str| text.escape_default().to_string();
    let events = [
        format!("response 404 \"{}\" \"ab\"", shown(head)),
        format!("response 200 \"{}\" \"cde\"", shown(&long)),
        CLOSED.to_owned(),
    ];
    let transcript = check_splits_of_replies(input.as_bytes(), &|| {
        exchanges(Delivery::Whole, &["GET /a HTTP/1.1\r\nHost: h\r\n\r\n"; 2])
    });
    assert_eq!(transcript.events, events);

    let without_body = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
    let transcript = check_splits_of_replies(without_body.as_bytes(), &|| {
        exchanges(Delivery::Whole, &["HEAD / HTTP/1.1\r\nHost: h\r\n\r\n"])
    });
    assert_eq!(
        transcript.events,
        [&format!("response 200 \"{}\" \"\"", shown(without_body)), CLOSED]
    );
}

#[test]
fn fields_of_a_response_are_found_by_name() {
    let head = "HTTP/1.1 200 OK: no\r\nSet-Cookie: a=1\r\nX:\r\nset-cookie:b=2 \r\n\r\n";
    let response = Response { head: head.as_bytes(), ..RESPONSE };
    assert_eq!(response.fields("SET-COOKIE").collect::<Vec<_>>(), [&b"a=1"[..], b"b=2"]);
    assert_eq!(response.field("x"), Some(&b""[..]));
    for absent in ["HTTP/1.1 200 OK", "y", ""] {
        assert_eq!(response.field(absent), None, "{absent}");
    }
}

#[test]
fn a_body_that_is_handed_out_as_it_arrives_is_the_same_however_it_is_split() {
    #[rustfmt::skip]
    let table = [
        // the fields, the body as it is sent and as it is, its end
        ("Transfer-Encoding: chunked", "3\r\nabc\r\n1;x\r\nd\r\n0\r\nT: x\r\n\r\n", "abcd", CLOSED),
        ("Content-Length: 4", "abcd", "abcd", CLOSED),
        ("Content-Length: 0", "", "", CLOSED),
        ("X: until the end", "abcd", "abcd", "end: response 200 last"),
        ("Content-Length: 5", "abcd", "abcd", "end: error: the connection ended 0 bytes into a body"),
    ];
    for (fields, sent, body, end) in table {
        let input = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n{sent}");
        for cut in 0..=input.len() {
            let mut machine =
                exchanges(Delivery::AsItArrives, &["GET / HTTP/1.1\r\nHost: h\r\n\r\n"]);
            let (mut came, mut firsts, mut lasts) = (Vec::new(), 0, 0);
            for piece in [&input[..cut], &input[cut..]] {
                let mut bytes = piece.as_bytes().to_vec();
                let mut rest = Input::new(&mut bytes);
                while let Some(event) = machine.receive(&mut rest, &mut Vec::new()).unwrap() {
                    let Event::Response(part) = event else { panic!("{event:?}") };
                    came.extend_from_slice(part.body);
                    firsts += usize::from(part.is_first);
                    lasts += usize::from(part.is_last);
                }
            }
            let ended = match machine.end() {
                Ok(Event::Response(last)) => format!("end: response {} last", last.status),
                Ok(Event::Closed(_)) => CLOSED.to_owned(),
                Ok(other) => panic!("{other:?}"),
                Err(error) => format!("end: error: {error}"),
            };
            assert_eq!((came, firsts), (body.as_bytes().to_vec(), 1), "{fields}, cut at {cut}");
            assert_eq!(
                (lasts == 1, ended.as_str()),
                (end == CLOSED, end),
                "{fields}, cut at {cut}"
            );
        }
    }
}

#[test]
fn a_body_that_is_handed_out_as_it_arrives_has_no_limit_and_is_not_held() {
    let mut machine = exchanges(Delivery::AsItArrives, &["GET / HTTP/1.1\r\nHost: h\r\n\r\n"]);
    let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    let mut came = 0;
    for _ in 0..1000 {
        bytes.extend_from_slice(b"40\r\n");
        bytes.extend_from_slice(&[b'x'; 0x40]);
        bytes.extend_from_slice(b"\r\n");
        let mut input = Input::new(&mut bytes);
        while let Some(event) = machine.receive(&mut input, &mut Vec::new()).unwrap() {
            let Event::Response(part) = event else { panic!("{event:?}") };
            came += part.body.len();
        }
        bytes.clear();
    }
    assert_eq!(came, 64_000);
}

#[test]
fn a_request_of_the_owner_is_whole_and_of_the_kind_of_those_before_it() {
    let mut machine = exchanges(Delivery::Whole, &[]);
    let mut send = |text: &str| machine.send(message(text), &mut Vec::new());
    assert!(matches!(send("GET / HTTP/1.1\r\n"), Err(MisuseError::Malformed { .. })));
    assert_eq!(send("POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\na"), Ok(()));
    assert_eq!(send("HEAD / HTTP/1.1\r\n\r\n"), Err(MisuseError::NotOpen));
    assert_eq!(send("GET / HTTP/1.1\r\n\r\n"), Ok(()));
}

#[test]
fn the_same_head_has_a_body_behind_get_and_none_behind_head() {
    for delivery in [Delivery::Whole, Delivery::AsItArrives] {
        let mut client = exchanges(delivery, &[]);
        let mut tx = Vec::new();
        for method in ["GET", "HEAD", "GET", "HEAD"] {
            let request = format!("{method} / HTTP/1.1\r\n\r\n");
            client.send(message(&request), &mut tx).unwrap();
            let body = if method == "GET" { "xyz" } else { "" };
            let mut response = ok("keep-alive", "xyz").into_bytes();
            response.truncate(response.len() - 3 + body.len());
            let mut input = Input::new(&mut response);
            match client.receive(&mut input, &mut tx) {
                Ok(Some(Event::Response(response))) => {
                    assert_eq!((response.body, response.is_last), (body.as_bytes(), true));
                }
                other => panic!("{method}: {other:?}"),
            }
            assert!(input.is_empty(), "{method}");
        }
    }
}

#[test]
fn doubtful_heads_of_responses_are_refused() {
    #[rustfmt::skip]
    let table = [
        ("Content-Length: 1\r\nTransfer-Encoding: chunked", "both Content-Length and Transfer-Encoding"),
        ("Transfer-Encoding: chunked\r\nContent-Length: 1", "both Content-Length and Transfer-Encoding"),
        ("Content-Length: 1\r\nContent-Length: 2", "Content-Length \"2\" is not one number"),
        ("Content-Length: 1, 2", "Content-Length \"1, 2\" is not one number"),
        ("Content-Length: 1,", "Content-Length \"1,\" is not one number"),
        ("Content-Length:", "Content-Length \"\" is not one number"),
        ("Content-Length: +1", "Content-Length \"+1\" is not one number"),
        ("Content-Length: -1", "Content-Length \"-1\" is not one number"),
        ("Content-Length: 1 1", "Content-Length \"1 1\" is not one number"),
        ("Content-Length: 0x1", "Content-Length \"0x1\" is not one number"),
        ("Content-Length: 18446744073709551616", "Content-Length \"18446744073709551616\" is not one number"),
        ("Content-Length: 18446744073709551615", "body of 18446744073709551615 bytes, limit is 64"),
        ("Transfer-Encoding: gzip", "Transfer-Encoding \"gzip\" is not understood"),
        ("Transfer-Encoding: gzip, chunked", "Transfer-Encoding \"gzip, chunked\" is not understood"),
        ("Transfer-Encoding: chunked, chunked", "Transfer-Encoding \"chunked, chunked\" is not understood"),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding \"chunked\" is not understood"),
        ("Transfer-Encoding: xchunked", "Transfer-Encoding \"xchunked\" is not understood"),
        ("Transfer-Encoding:", "Transfer-Encoding \"\" is not understood"),
        ("A: b\r\n c", "malformed head: invalid header name"),
        ("A : b", "malformed head: invalid header name"),
        ("A", "malformed head: invalid header name"),
        (": b", "malformed head: invalid header name"),
        ("A: b\0", "malformed head: invalid header value"),
        ("A: b\rC: d", "malformed head: invalid header value"),
        ("A: b\nC: d", "a line of the head ends with a bare line feed"),
        ("A: b\n", "a line of the head ends with a bare line feed"),
    ];
    for (fields, error) in table {
        let response = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n");
        check_client(&response, "POST", &[&format!("error: {error}")]);
    }
}

#[test]
fn equal_content_lengths_are_one() {
    for fields in ["Content-Length: 1, 1", "Content-Length: 1\r\nContent-Length: 01"] {
        let response = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\na");
        check_client(&response, "POST", &["Binary \"a\"", UNANSWERED]);
    }
}

#[test]
fn chunked_bodies_are_put_together() {
    #[rustfmt::skip]
    let table: [(&str, &str); _] = [
        ("0\r\n\r\n", "Binary \"\""),
        ("000\r\n\r\n", "Binary \"\""),
        ("a\r\n0123456789\r\n0\r\n\r\n", "Binary \"0123456789\""),
        ("A\r\n0123456789\r\n0\r\n\r\n", "Binary \"0123456789\""),
        ("0000000000000001\r\na\r\n0\r\n\r\n", "Binary \"a\""),
        ("1\r\n\r\r\n2\r\n\n\n\r\n0\r\n\r\n", "Binary \"\\r\\n\\n\""),
        ("1 \t\r\na\r\n0\r\n\r\n", "Binary \"a\""),
        ("1;a\r\na\r\n0 ;b=\"c\"\r\n\r\n", "Binary \"a\""),
        ("0\r\nA: b\r\nC:\r\n\r\n", "Binary \"\""),
        // sizes
        ("\r\n", "error: unexpected byte 0x0d in a size of a chunked body"),
        ("g\r\n", "error: unexpected byte 0x67 in a size of a chunked body"),
        ("-1\r\n", "error: unexpected byte 0x2d in a size of a chunked body"),
        ("0x1\r\n", "error: unexpected byte 0x78 in a size of a chunked body"),
        (" 1\r\n", "error: unexpected byte 0x20 in a size of a chunked body"),
        ("00000000000000001\r\n", "error: unexpected byte 0x31 in a size of a chunked body"),
        ("ffffffffffffffff\r\n", "error: body of 18446744073709551615 bytes, limit is 64"),
        ("1\r\na\r\nffffffffffffffff\r\n", "error: body of 18446744073709551615 bytes, limit is 64"),
        // ends of lines and of chunks
        ("1\na\r\n", "error: unexpected byte 0x0a in a size of a chunked body"),
        ("1\ra", "error: unexpected byte 0x61 at the end of a line of a chunked body"),
        ("1\r\nab\r\n", "error: unexpected byte 0x62 at the end of a line of a chunked body"),
        ("1\r\na\n", "error: unexpected byte 0x0a at the end of a line of a chunked body"),
        ("1\r\na\rb", "error: unexpected byte 0x62 at the end of a line of a chunked body"),
        // extensions
        ("1 2\r\n", "error: unexpected byte 0x32 in an extension of a chunked body"),
        ("1;a\n", "error: unexpected byte 0x0a in an extension of a chunked body"),
        ("1;a\0", "error: unexpected byte 0x00 in an extension of a chunked body"),
        // trailers
        ("0\r\n: a\r\n", "error: unexpected byte 0x3a in a trailer of a chunked body"),
        ("0\r\n a\r\n", "error: unexpected byte 0x20 in a trailer of a chunked body"),
        ("0\r\na\r\n", "error: unexpected byte 0x0d in a trailer of a chunked body"),
        ("0\r\na: b\n", "error: unexpected byte 0x0a in a trailer of a chunked body"),
        ("0\r\na: b\rc", "error: unexpected byte 0x63 at the end of a line of a chunked body"),
        ("0\r\n\n", "error: unexpected byte 0x0a in a trailer of a chunked body"),
        ("0\r\n\r\r", "error: unexpected byte 0x0d at the end of a line of a chunked body"),
    ];
    for (body, event) in table {
        let response = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        let events = [event, UNANSWERED];
        check_client(
            &response,
            "POST",
            if event.starts_with("error") { &events[..1] } else { &events },
        );
    }
}

#[test]
fn requests_become_messages_and_are_answered() {
    let head = ok("", "ab").replace("\r\nab", "\r\n");
    #[rustfmt::skip]
    let table: [(&str, &[&str], &[&str]); _] = [
        // request, events, answers
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab", &["Binary \"ab\"", CLOSED], &[&ok("", "ab")]),
        ("GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", &["Binary \"\"", "Binary \"\"", CLOSED],
            &[&ok("", ""), &ok("", "")]),
        ("\r\nGET * HTTP/1.1\r\nHost:\r\n\r\n\r\n", &["Binary \"\"", CLOSED], &[&ok("", "")]),
        ("HEAD / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab", &["Binary \"ab\"", CLOSED], &[&head]),
        ("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
            &["Binary \"ab\"", CLOSED], &[&ok("", "ab")]),
        // when the connection ends (RFC 9112 §9.3)
        ("POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\nGET", &["Binary \"\"", "closed None \"\"", CLOSED],
            &[&ok("close", "")]),
        ("GET / HTTP/1.0\r\n\r\n", &["Binary \"\"", "closed None \"\"", CLOSED], &[&ok("close", "")]),
        ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", &["Binary \"\"", CLOSED], &[&ok("keep-alive", "")]),
        // clients that wait before they send a body (RFC 9110 §10.1.1)
        ("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\na",
            &["Binary \"a\"", CLOSED], &["HTTP/1.1 100 Continue\r\n\r\n", &ok("", "a")]),
        ("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n", &["Binary \"\"", CLOSED], &[&ok("", "")]),
        ("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\na",
            &["Binary \"a\"", "closed None \"\"", CLOSED], &[&ok("close", "a")]),
        // what is cut off
        ("", &[CLOSED], &[]),
        ("GET", &["end: error: the connection ended 3 bytes into a head"], &[]),
        ("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\na",
            &["end: error: the connection ended 1 bytes into a body"], &[]),
    ];
    for (input, events, answers) in table {
        check_server(input, events, &answers.concat());
    }
}

#[test]
fn malformed_requests_are_told_why() {
    #[rustfmt::skip]
    let table = [
        ("GET / HTTP/1.1\r\n\r\n", "400 Bad Request", "0 Host fields in a request, not one"),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "400 Bad Request", "2 Host fields in a request, not one"),
        ("GET / HTTP/1.1\r\nHost: a\n\r\n", "400 Bad Request", "a line of the head ends with a bare line feed"),
        ("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400 Bad Request", "a line of the head ends with a bare line feed"),
        ("GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", "400 Bad Request", "malformed head: invalid header name"),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", "400 Bad Request", "malformed head: invalid header name"),
        ("GET / HTTP/1.1\rHost: a\r\n\r\n", "400 Bad Request", "malformed head: invalid new line"),
        ("GET  / HTTP/1.1\r\n", "400 Bad Request", "malformed head: invalid token"),
        ("G(T / HTTP/1.1\r\n", "400 Bad Request", "malformed head: invalid token"),
        ("GET / FTP/1.1\r\n", "400 Bad Request", "malformed head: invalid token"),
        ("GET /\r\n", "400 Bad Request", "malformed head: invalid token"),
        ("\x16\x03\x01", "400 Bad Request", "malformed head: invalid token"),
        ("GET / HTTP/2.0\r\n", "505 HTTP Version Not Supported", "unsupported version of HTTP"),
        ("GET / HTTP/1.2\r\n", "505 HTTP Version Not Supported", "unsupported version of HTTP"),
        ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "400 Bad Request",
            "both Content-Length and Transfer-Encoding"),
        ("PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "400 Bad Request",
            "Transfer-Encoding \"chunked\" is not understood"),
        ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: a\r\n\r\n", "400 Bad Request",
            "Content-Length \"a\" is not one number"),
        ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 65\r\n\r\n", "413 Content Too Large",
            "body of 65 bytes, limit is 64"),
        ("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx", "400 Bad Request",
            "unexpected byte 0x78 in a size of a chunked body"),
    ];
    for (input, status, error) in table {
        let refusal =
            format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        check_server(input, &[&format!("error: {error}")], &refusal);
        // The answer to an earlier request stays in place, before the refusal.
        let twice = format!("GET / HTTP/1.1\r\nHost: h\r\n\r\n{input}");
        check_server(
            &twice,
            &["Binary \"\"", &format!("error: {error}")],
            &(ok("", "") + &refusal),
        );
    }
}

#[test]
fn limits_let_pass_what_is_exactly_as_long() {
    let limits = HTTP_LIMITS;
    let post = "POST / HTTP/1.1\r\nHost: h\r\n";
    let chunked = format!("{post}Transfer-Encoding: chunked\r\n\r\n");
    let head_of = |len: usize| format!("{post}A: {}\r\n\r\n", "a".repeat(len - post.len() - 7));
    let lines_of = |count: usize| format!("{post}{}\r\n", "A: b\r\n".repeat(count - 1));
    let body_of = |len: usize| format!("{post}Content-Length: {len}\r\n\r\n{}", "a".repeat(len));
    let chunks_of = |len: usize| format!("{chunked}{}0\r\n\r\n", "1\r\na\r\n".repeat(len));
    let extensions_of =
        |len: usize| format!("{chunked}1;{}\r\na\r\n0;\r\n\r\n", "e".repeat(len - 2));
    let trailers_of = |len: usize| format!("{chunked}0\r\nT: {}\r\n\r\n", "t".repeat(len - 5));
    #[rustfmt::skip]
    let table: [(InputOf<'_>, usize, &str, &str); _] = [
        (&head_of, limits.head_len_max as usize, "431 Request Header Fields Too Large", "head of more than 256 bytes"),
        (&lines_of, limits.headers_max as usize, "431 Request Header Fields Too Large",
            "head of more than 8 field lines"),
        (&body_of, limits.body_len_max, "413 Content Too Large", "body of 65 bytes, limit is 64"),
        (&chunks_of, limits.body_len_max, "413 Content Too Large", "body of 65 bytes, limit is 64"),
        (&extensions_of, limits.chunk_extensions_len_max as usize, "400 Bad Request",
            "chunk extensions of more than 16 bytes"),
        (&trailers_of, limits.trailers_len_max as usize, "431 Request Header Fields Too Large",
            "trailers of more than 32 bytes"),
    ];
    for (input_of, max, status, error) in table {
        let transcript = check_splits(input_of(max).as_bytes(), &|| Http1::server(limits));
        assert_eq!(transcript.events.last().unwrap(), CLOSED, "{error}");
        let refusal =
            format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        check_server(&input_of(max + 1), &[&format!("error: {error}")], &refusal);
    }
}

#[test]
fn a_body_that_the_end_ends_has_a_limit_too() {
    let response = |len: usize| format!("HTTP/1.1 200 OK\r\n\r\n{}", "a".repeat(len));
    check_client(&response(64), "POST", &[&format!("end: Binary \"{}\"", "a".repeat(64))]);
    check_client(&response(65), "POST", &["error: body of 65 bytes, limit is 64"]);
}

#[test]
fn more_headers_than_there_are_places_are_refused_whatever_the_limit() {
    let limits = Limits { headers_max: 1_000, ..Limits::default() };
    let mut server = Http1::server(limits);
    let mut request =
        format!("GET / HTTP/1.1\r\nHost: h\r\n{}\r\n", "A: b\r\n".repeat(128)).into_bytes();
    let error = server.receive(&mut Input::new(&mut request), &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "head of more than 128 field lines");
}

#[test]
fn a_request_is_written_with_its_body() {
    let headers = vec![("X".to_owned(), "y z".to_owned())];
    #[rustfmt::skip]
    let table = [
        // method, body, what is sent
        ("POST", "ab", "POST /p?q HTTP/1.1\r\nHost: h:80\r\nX: y z\r\nContent-Length: 2\r\n\r\nab"),
        ("POST", "",   "POST /p?q HTTP/1.1\r\nHost: h:80\r\nX: y z\r\nContent-Length: 0\r\n\r\n"),
        ("GET",  "",   "GET /p?q HTTP/1.1\r\nHost: h:80\r\nX: y z\r\n\r\n"),
        ("HEAD", "",   "HEAD /p?q HTTP/1.1\r\nHost: h:80\r\nX: y z\r\n\r\n"),
        ("GET",  "ab", "GET /p?q HTTP/1.1\r\nHost: h:80\r\nX: y z\r\nContent-Length: 2\r\n\r\nab"),
    ];
    for (method, body, sent) in table {
        let parts = RequestParts { headers: headers.clone(), ..parts(method, "/p?q", "h:80") };
        let mut client = Http1::client(Arc::new(Request::new(&parts).unwrap()), Limits::default());
        let mut tx = Vec::new();
        client.send(message(body), &mut tx).unwrap();
        assert_eq!(String::from_utf8(tx).unwrap(), sent);
    }
}

#[test]
fn requests_that_cannot_be_written_are_refused() {
    #[rustfmt::skip]
    let table = [
        (parts("", "/", "h"), "\"\" is not a method that carries messages"),
        (parts("G T", "/", "h"), "\"G T\" is not a method that carries messages"),
        (parts("CONNECT", "/", "h"), "\"CONNECT\" is not a method that carries messages"),
        (parts("GET", "", "h"), "\"\" is not a path"),
        (parts("GET", "p", "h"), "\"p\" is not a path"),
        (parts("GET", "/a b", "h"), "\"/a b\" is not a path"),
        (parts("GET", "/a\r\n", "h"), "\"/a\\r\\n\" is not a path"),
        (parts("GET", "/a#b", "h"), "\"/a#b\" is not a path"),
        (parts("GET", "/", "h\r\nA: b"), "\"h\\r\\nA: b\" is not a host"),
        (parts("GET", "/", "a,b"), "\"a,b\" is not a host"),
        (with_header("A b", "c"), "\"A b\" is not the name of a header field"),
        (with_header("", "c"), "\"\" is not the name of a header field"),
        (with_header("A", "b\r\nC: d"), "the header field A cannot be \"b\\r\\nC: d\""),
        (with_header("host", "b"), "the header field host is written by the protocol itself"),
        (with_header("Content-Length", "1"), "the header field Content-Length is written by the protocol itself"),
        (with_header("Transfer-Encoding", "x"), "the header field Transfer-Encoding is written by the protocol itself"),
    ];
    for (parts, error) in table {
        assert_eq!(Request::new(&parts).unwrap_err().to_string(), error, "{parts:?}");
    }
}

#[test]
fn nothing_is_sent_where_nothing_may_be() {
    let mut tx = Vec::new();
    let mut server = Http1::server(Limits::default());
    assert_eq!(
        server.send(message("a"), &mut tx),
        Err(MisuseError::NotOpen),
        "there is no request to answer"
    );

    let mut client = http1_client("GET", 1, Limits::default());
    let mut response = b"HTTP/1.0 204 OK\r\n\r\n".to_vec();
    let mut input = Input::new(&mut response);
    assert_eq!(client.receive(&mut input, &mut tx), Ok(Some(Event::Message(message("")))));
    assert_eq!(
        client.send(message("a"), &mut tx),
        Err(MisuseError::NotOpen),
        "the response was the last"
    );

    let request = Request::new(&with_header("Connection", "Close")).unwrap();
    let mut client = Http1::client(Arc::new(request), Limits::default());
    client.send(message("a"), &mut Vec::new()).unwrap();
    assert_eq!(
        client.send(message("a"), &mut tx),
        Err(MisuseError::NotOpen),
        "the request was the last"
    );

    let mut client = http1_client("GET", 0, Limits::default());
    assert!(!client.close(&mut tx), "HTTP has no farewell");
    assert_eq!(client.send(message("a"), &mut tx), Err(MisuseError::NotOpen), "we closed");
    assert_eq!(tx, b"");
}

#[test]
fn a_request_that_says_close_ends_the_connection_even_if_the_response_does_not_say_it() {
    let request = Arc::new(Request::new(&with_header("Connection", "close")).unwrap());
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na";
    let transcript = check_splits_of_replies(response, &|| {
        let mut client = Http1::client(Arc::clone(&request), Limits::default());
        client.send(message("a"), &mut Vec::new()).unwrap();
        client
    });
    assert_eq!(transcript.events, ["Binary \"a\"", "closed None \"\"", CLOSED]);
}

#[test]
fn answers_may_come_after_further_requests() {
    let mut server = Http1::server(Limits::default());
    let mut requests = b"GET / HTTP/1.1\r\nHost: h\r\n\r\nHEAD / HTTP/1.1\r\nHost: h\r\n\r\n\
        PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 1\r\n\r\n"
        .to_vec();
    let mut tx = Vec::new();
    let mut input = Input::new(&mut requests);
    for _ in 0..2 {
        assert_eq!(server.receive(&mut input, &mut tx), Ok(Some(Event::Message(message("")))));
    }
    assert_eq!(server.receive(&mut input, &mut tx), Ok(None));
    assert_eq!(tx, b"", "100 would be taken for the first answer");
    server.send(message("1"), &mut tx).unwrap();
    server.send(message("2"), &mut tx).unwrap();
    assert_eq!(
        server.receive(&mut Input::new(&mut b"3".to_vec()), &mut tx),
        Ok(Some(Event::Message(message("3"))))
    );
    assert_eq!(server.receive(&mut Input::new(&mut []), &mut tx), Ok(None), "an answer is owed");
    server.send(message("3"), &mut tx).unwrap();
    let closed = server.receive(&mut Input::new(&mut []), &mut tx);
    assert_eq!(closed, Ok(Some(Event::Closed(crate::Closed::default()))));
    let head = ok("", "2");
    let expected = [
        &ok("", "1"),
        head.trim_end_matches('2'),
        "HTTP/1.1 100 Continue\r\n\r\n",
        &ok("close", "3"),
    ];
    assert_eq!(String::from_utf8(tx).unwrap(), expected.concat());
}

#[test]
fn a_fault_after_an_unanswered_request_is_not_told_in_its_place() {
    let mut server = Http1::server(Limits::default());
    let mut requests = b"GET / HTTP/1.1\r\nHost: h\r\n\r\nG(T".to_vec();
    let mut tx = Vec::new();
    let mut input = Input::new(&mut requests);
    assert!(server.receive(&mut input, &mut tx).unwrap().is_some());
    assert!(server.receive(&mut input, &mut tx).is_err());
    assert_eq!(tx, b"");
}

#[test]
fn only_so_many_requests_wait_for_their_answers() {
    let mut server = Http1::server(Limits::default());
    let mut requests = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n".repeat(65);
    let mut tx = Vec::new();
    let mut input = Input::new(&mut requests);
    for _ in 0..64 {
        assert!(server.receive(&mut input, &mut tx).unwrap().is_some());
    }
    let error = server.receive(&mut input, &mut tx).unwrap_err();
    assert_eq!(error, PeerError::Pipelined { max: 64 }.into());
}

#[test]
fn what_arrives_whole_is_handed_out_from_where_it_lies() {
    let inputs = [
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
    ];
    for input in inputs {
        let mut bytes = input.as_bytes().to_vec();
        let range = bytes.as_ptr_range();
        let mut client = http1_client("POST", 1, Limits::default());
        let event = client.receive(&mut Input::new(&mut bytes), &mut Vec::new()).unwrap().unwrap();
        let Event::Message(Message { payload, .. }) = event else { panic!("{event:?}") };
        assert_eq!(payload, b"abc");
        assert!(range.contains(&payload.as_ptr()), "{input}");
    }
}

#[track_caller]
fn check_client(input: &str, method: &str, events: &[&str]) {
    let transcript =
        check_splits_of_replies(input.as_bytes(), &|| http1_client(method, 2, HTTP_LIMITS));
    assert_eq!(transcript.events, events, "{input:?}");
    assert_eq!(transcript.tx, b"", "{input:?}");
}

#[track_caller]
fn check_server(input: &str, events: &[&str], tx: &str) {
    let transcript = check_splits(input.as_bytes(), &|| Http1::server(HTTP_LIMITS));
    assert_eq!(transcript.events, events, "{input:?}");
    assert_eq!(String::from_utf8(transcript.tx).unwrap(), tx, "{input:?}");
}

/// The answer of a server, with a `Connection` field unless that is empty.
fn ok(connection: &str, body: &str) -> String {
    let connection =
        if connection.is_empty() { String::new() } else { format!("Connection: {connection}\r\n") };
    let len = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {len}\r\nContent-Type: application/octet-stream\r\n{connection}\r\n{body}"
    )
}

fn parts(method: &str, target: &str, host: &str) -> RequestParts {
    RequestParts {
        method: method.to_owned(),
        target: target.to_owned(),
        host: host.to_owned(),
        headers: Vec::new(),
    }
}

fn with_header(name: &str, value: &str) -> RequestParts {
    RequestParts { headers: vec![(name.to_owned(), value.to_owned())], ..parts("POST", "/", "h") }
}

/// A machine that has sent `requests`.
fn exchanges(delivery: Delivery, requests: &[&str]) -> Http1 {
    let mut machine = Http1::exchanges(delivery, Limits { body_len_max: 64, ..Limits::default() });
    for request in requests {
        let mut tx = Vec::new();
        machine.send(message(request), &mut tx).unwrap();
        assert_eq!(tx, request.as_bytes());
    }
    machine
}

fn message(payload: &str) -> Message<'_> {
    Message { kind: Kind::Binary, payload: payload.as_bytes() }
}

/// Makes an input of a given size, in bytes or in whatever else the limit counts.
type InputOf<'f> = &'f dyn Fn(usize) -> String;

const RESPONSE: Response<'_> = Response {
    status: 200,
    head: b"",
    body: b"",
    is_first: true,
    ends_chunk: false,
    is_last: true,
};
const CLOSED: &str = "end: closed None \"\"";
const UNANSWERED: &str = "end: error: the connection ended; unanswered requests: 1";
