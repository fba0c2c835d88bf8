//! HTTP as commonly loaded: a page is requested, and its status decides whether that is a reply.

use crate::harness::{Ended, Sandbox, Server};
use crate::peers::{Peer, Stream, head};
use record::RunRecord;
use std::io::Write;

#[test]
fn a_page_is_asked_for_and_any_body_with_a_status_of_2xx_is_a_reply() {
    let peer = Peer::start(|stream, _| {
        for count in 0.. {
            let asked = request(stream)?;
            assert!(asked.starts_with("GET /page?x=1 HTTP/1.1\r\n"), "{asked}");
            assert!(!asked.to_lowercase().contains("content-"), "{asked}");
            answer(stream, "200 OK", "", &"x".repeat(count % 7))?;
        }
        Ok(())
    });
    let (ended, records) = run(&format!("{}/page?x=1 -n 100 -c 3", peer.url("http")));
    ended.check_measured(&["repeat: "]);
    assert_eq!(records[0].blocks[0].counts.ok, 100);
    let spec = &records[0].spec.as_ref().unwrap().workloads[0];
    assert_eq!((spec.http.method.as_str(), &spec.expect), ("GET", &spec::Expect::Anything));
    assert_eq!(spec.message.content, spec::Content::Nothing);
    assert!(ended.stdout.contains("\nGET, 3 connections"), "{}", ended.stdout);
}

#[test]
fn a_body_is_posted_and_need_not_come_back() {
    let peer = Peer::start(|stream, _| {
        loop {
            let asked = request(stream)?;
            assert!(asked.starts_with("POST / HTTP/1.1\r\n"), "{asked}");
            assert!(
                asked.contains("Content-Length: 0\r\n") || asked.contains("Content-Length: 4\r\n")
            );
            if asked.contains("Length: 4") {
                let mut body = [0; 4];
                std::io::Read::read_exact(stream, &mut body)?;
                assert_eq!(&body, b"ping");
            }
            answer(stream, "201 Created", "", "{\"id\":7}")?;
        }
    });
    for options in ["--payload ping", "--method POST", "--payload ping --expect-body \"id\":7"] {
        let (ended, records) = run(&format!("{} -n 20 -c 2 {options}", peer.url("http")));
        ended.check_measured(&[]);
        assert_eq!(records[0].blocks[0].counts.ok, 20, "{options}");
    }
}

#[test]
fn a_status_that_is_no_reply_is_told_with_what_to_do_next() {
    #[rustfmt::skip]
    let table = [
        // the status, a field, and what is said
        ("301 Moved Permanently", "Location: /new\r\n", "try http://HOST/new, or follow it with --redirects 1; or take that for a reply with --expect-status 301"),
        ("302 Found", "Location: http://other.test/a?b\r\n", "try http://other.test/a?b, or"),
        ("307 Temporary Redirect", "", "It redirects, and redirects are not followed: name the place"),
        ("401 Unauthorized", "", "It wants a login: give it with -H @FILE"),
        ("403 Forbidden", "", "Access is denied without a reason"),
        ("404 Not Found", "", "Nothing is there: name the path in the URL"),
        ("405 Method Not Allowed", "", "It wants another method: name it with --method"),
        ("426 Upgrade Required", "", "It is a WebSocket endpoint: try ws://HOST/"),
        ("500 Internal Server Error", "", "To take that for a reply: --expect-status 500"),
    ];
    for (status, field, said) in table {
        let peer = Peer::start(move |stream, _| {
            loop {
                head(stream)?;
                answer(stream, status, field, "sorry")?;
            }
        });
        let url = peer.url("http");
        let host = url.trim_start_matches("http://").trim_end_matches('/');
        let (ended, records) = run(&format!("{url} -n 10 -c 1"));
        let refused = format!("refused with status {}", &status[..3]);
        ended.check(15, &["does not answer as expected", &refused, &said.replace("HOST", host)]);
        assert_eq!(records, []);

        let accepts = format!("--expect-status 2xx --expect-status {}", &status[..3]);
        let (ended, records) = run(&format!("{url} -n 10 -c 1 {accepts}"));
        ended.check_measured(&[]);
        assert_eq!(records[0].blocks[0].counts.ok, 10, "{status}");
    }
}

#[test]
fn every_reply_must_have_in_it_what_is_expected() {
    let peer = Peer::start(|stream, number| {
        for count in 0.. {
            head(stream)?;
            let is_on = number == 0 || count % 2 == 0;
            answer(stream, "200 OK", "", if is_on { "state: on" } else { "state: off" })?;
        }
        Ok(())
    });
    let (ended, records) = run(&format!("{} -n 10 -c 1 --expect-body :", peer.url("http")));
    ended.check_measured(&[]);
    assert_eq!(records[0].blocks[0].counts.ok, 10);

    let (ended, records) = run(&format!("{} -n 10 -c 1 --expect-body off", peer.url("http")));
    let said = "the expected text is not in the 9 bytes that came back";
    assert!(ended.code == Some(15) && ended.stderr.contains(said), "{ended:?}");
    assert_eq!(records, []);

    // The digests that `sha256sum` prints for "on" and "off".
    let on = "sha256:b8d31e852725afb1e26d53bab6095b2bff1749c9275be13ed1c05a56ed31ec09";
    let off = "sha256:b4dc66dde806261bdda8607d8707aa727d308cd80272381a5583f63899918467";
    for (body, said) in [("on", "not in the 3 bytes"), (on, off)] {
        let fresh = Peer::start(|stream, number| {
            for count in 0.. {
                head(stream)?;
                let is_on = number == 0 || count % 2 == 0;
                answer(stream, "200 OK", "", if is_on { "on" } else { "off" })?;
            }
            Ok(())
        });
        let line = format!("{} -n 10 -c 1 --expect-body {body}", fresh.url("http"));
        let (ended, records) = run(&line);
        ended.check(13, &["record: "]);
        let block = &records[0].blocks[0];
        assert_eq!((block.counts.ok, block.counts.error), (5, 5), "{block:?}");
        assert_eq!(block.errors[0].class, "wrong_reply");
        assert!(block.errors[0].example.contains(said), "{:?}", block.errors);
    }
    let wrong = run(&format!("{} -n 1 --expect-body sha256:b8d3", peer.url("http"))).0;
    wrong.check(2, &["a SHA-256 digest is 64 hexadecimal digits, and these are 4 characters"]);
}

#[test]
fn an_echo_is_compared_where_it_is_asked_for() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "http");
    let (ended, records) = run(&format!("{} -n 20 -c 2 --echo --size 100B", server.url));
    ended.check_measured(&[]);
    let spec = &records[0].spec.as_ref().unwrap().workloads[0];
    assert_eq!((spec.http.method.as_str(), &spec.expect), ("POST", &spec::Expect::Echo));
    let constant = Server::start(&sandbox, "http --reply Pong");
    let (ended, _) = run(&format!("{} -n 20 -c 2 --echo", constant.url));
    ended.check(15, &["4 bytes came back, expected 64", "leave --echo out to ask for a page"]);
}

/// The head of a request.
fn request(stream: &mut Stream) -> std::io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        std::io::Read::read_exact(stream, &mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn answer(stream: &mut Stream, status: &str, field: &str, body: &str) -> std::io::Result<()> {
    let len = body.len();
    write!(stream, "HTTP/1.1 {status}\r\n{field}Content-Length: {len}\r\n\r\n{body}")
}

fn run(line: &str) -> (Ended, Vec<RunRecord>) {
    let sandbox = Sandbox::new();
    let ended = sandbox.run(line);
    (ended, sandbox.records())
}
