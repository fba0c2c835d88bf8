//! The SockJS client over HTTP, against scripted servers.

use crate::script::{Step, play};
use wire::{ClientOptions, Connection, Role};

#[test]
fn polls_follow_one_another_and_each_frame_is_handed_out() {
    let steps =
        [first("o\n"), first("a[\"x\",\"y\"]\n"), first("h\n"), first("c[3000,\"Go away!\"]\n")];
    let told = play(&|| client("sockjs+xhr"), &steps);
    let expected = ["open", "Text x", "Text y", "ping ", "closed Some(3000) \"Go away!\""];
    assert_eq!(told.events, expected);
    let polls = lines_with(&told.first, "POST ");
    assert_eq!(polls.len(), 4, "no poll follows the end: {polls:?}");
    assert!(polls.iter().all(|line| line.ends_with("/xhr HTTP/1.1")), "{polls:?}");
    assert_eq!((told.second.len(), told.seconds), (0, 0), "there was nothing to post");
}

#[test]
fn scripts_are_polled_and_messages_are_posted_in_a_form() {
    let steps = [
        first("/**/_jp.wirebnch(\"o\");\r\n"),
        send("a b\"+"),
        Step::Second(response("ok")),
        first("_jp.wirebnch(\"a[\\\"x\\\",\\\"y\\\"]\");\r\n"),
        first("/**/_jp.wirebnch(\"c[3000,\\\"Go away!\\\"]\");\r\n"),
    ];
    let told = play(&|| client("sockjs+jsonp"), &steps);
    assert_eq!(told.events, ["open", "Text x", "Text y", "closed Some(3000) \"Go away!\""]);
    let polls = lines_with(&told.first, "GET ");
    assert_eq!(polls.len(), 3, "{polls:?}");
    assert!(polls.iter().all(|line| line.ends_with("/jsonp?c=_jp.wirebnch HTTP/1.1")), "{polls:?}");
    assert_eq!(bodies(&told.second), ["d=%5B%22a%20b%5C%22%2B%22%5D"]);
    assert!(lines_with(&told.second, "POST ")[0].ends_with("/jsonp_send HTTP/1.1"));
    let other = play(&|| client("sockjs+jsonp"), &[first("evil(\"o\");\r\n")]);
    let error = "error: got \"evil(\\\"o\\\");\\r\", expected a call of the callback function with a string";
    assert_eq!(other.events, [error]);
}

#[test]
fn a_stream_begins_again_where_the_server_ends_it() {
    let prelude = format!("{}\n", "h".repeat(2048));
    let head =
        format!("<html>\n<script>\nfunction p(d) {{}}\n</script>{}\r\n\r\n", " ".repeat(100));
    for (scheme, method, pieces) in [
        ("sockjs+xhr-streaming", "POST ", [&*prelude, "o\n", "a[\"x\"]\n", "h\n"]),
        (
            "sockjs+eventsource",
            "GET ",
            ["\r\n", "data: o\r\n\r\n", "data: a[\"x\"]\r\n\r\n", "data: h\r\n\r\n"],
        ),
        (
            "sockjs+htmlfile",
            "GET ",
            [
                &*head,
                "<script>\np(\"o\");\n</script>\r\n",
                "<script>\np(\"a[\\\"x\\\"]\");\n</script>\r\n",
                "<script>\np(\"h\");\n</script>\r\n",
            ],
        ),
    ] {
        let again = [pieces[0], pieces[2]];
        let steps = [chunked(&pieces, true), chunked(&again, false), Step::End];
        let told = play(&|| client(scheme), &steps);
        let cut = "end: error: the connection ended 0 bytes into a body";
        assert_eq!(told.events, ["open", "Text x", "ping ", "Text x", cut], "{scheme}");
        assert_eq!(lines_with(&told.first, method).len(), 2, "{scheme}");
    }
}

#[test]
fn messages_that_come_while_one_is_posted_go_together() {
    let steps = [
        first("o\n"),
        send("1"),
        send("2"),
        send("\u{e9}\"\n"),
        posted(),
        send("4"),
        posted(),
        posted(),
    ];
    let told = play(&|| client("sockjs+xhr"), &steps);
    assert_eq!(told.events, ["open"]);
    assert_eq!(bodies(&told.second), ["[\"1\"]", "[\"2\",\"\u{e9}\\\"\\n\"]", "[\"4\"]"]);
    assert_eq!(told.seconds, 1);
}

#[test]
fn a_second_connection_that_ended_idle_is_made_again_when_it_is_needed() {
    let closing = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
    let closing = Step::Second(closing.as_bytes().to_vec());
    let steps = [
        first("o\n"),
        send("1"),
        posted(),
        Step::EndSecond,
        send("2"),
        send("3"),
        closing,
        Step::EndSecond,
        posted(),
    ];
    let told = play(&|| client("sockjs+xhr"), &steps);
    let no_loss = "the second ended, no loss: true";
    assert_eq!(told.events, ["open", no_loss, no_loss]);
    assert_eq!(bodies(&told.second), ["[\"1\"]", "[\"2\"]", "[\"3\"]"]);
    assert_eq!(told.seconds, 3);
}

#[test]
fn a_second_connection_that_ends_with_a_post_under_way_is_a_loss() {
    let told = play(&|| client("sockjs+xhr"), &[first("o\n"), send("1"), Step::EndSecond]);
    assert_eq!(told.events, ["open", "the second ended, no loss: false"]);
}

#[test]
fn what_waits_at_the_end_is_posted_at_once() {
    let steps = [first("o\n"), send("1"), send("2"), Step::Close, send("3")];
    let told = play(&|| client("sockjs+xhr"), &steps);
    let late = "not sent: the connection is not open";
    assert_eq!(told.events, ["open", "closing, answered: false", late]);
    assert_eq!(bodies(&told.second), ["[\"1\"]", "[\"2\"]"]);
}

#[test]
fn what_a_server_may_not_do_has_a_name() {
    let status = |status: &str, body: &str| {
        let len = body.len();
        format!("HTTP/1.1 {status}\r\nContent-Length: {len}\r\n\r\n{body}").into_bytes()
    };
    let not_found = status("404 Not Found", "");
    let broken = status("500 Internal Server Error", "Broken JSON encoding.");
    let closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\no\n".to_vec();
    #[rustfmt::skip]
    let table: [(&[Step], &str); _] = [
        (&[Step::First(not_found.clone())],               "error: SockJS: refused: status 404, \"\""),
        (&[first("o\n"), Step::First(not_found)],         "error: SockJS: refused: status 404, \"\""),
        (&[first("o\n"), send("1"), Step::Second(broken)], "error: SockJS: refused: status 500, \"Broken JSON encoding.\""),
        (&[first("")],                                    "error: a response without a frame"),
        (&[first("o")],                                   "error: a response ended in the middle of a frame"),
        (&[first("\u{0}\n")],                             "error: SockJS: got \"\\x00\", expected the frame `o`"),
        (&[first("c[2010,\"Another connection still open\"]\n")], "closed Some(2010) \"Another connection still open\""),
        (&[first("o\n"), first("c[1002,\"Connection interrupted\"]\n")], "closed Some(1002) \"Connection interrupted\""),
        (&[Step::First(closing)],                         "closed None \"\""),
        (&[first("o\n"), Step::End],                      "end: error: the connection ended; unanswered requests: 1"),
        (&[Step::End],                                    "end: error: the connection ended; unanswered requests: 1"),
    ];
    for (steps, expected) in table {
        let told = play(&|| client("sockjs+xhr"), steps);
        assert_eq!(told.events.last().map(String::as_str), Some(expected), "{steps:?}");
    }
}

#[test]
fn many_messages_of_one_poll_are_handed_out_and_none_beyond_the_limits() {
    let frame = |count: usize| {
        format!("a[{}]\n", vec![format!("\"{}\"", "x".repeat(1000)); count].join(","))
    };
    let steps = [response("o\n"), response(&frame(10_000))].concat();
    let told = events(&mut client("sockjs+xhr"), &steps);
    assert_eq!(told.len(), 10_001);
    let error =
        events(&mut client("sockjs+xhr"), &[response("o\n"), response(&frame(17_000))].concat());
    let expected = "a frame of more than 16777216 bytes, which is the limit";
    assert_eq!(error.last().map(String::as_str), Some(expected));
}

/// The kinds of events that `bytes` yields, fed 64 KiB at a time.
fn events(machine: &mut Connection, bytes: &[u8]) -> Vec<String> {
    use wire::{Event, Input, Protocol};
    machine.open(&mut Vec::new());
    let mut told = Vec::new();
    for piece in bytes.chunks(64 << 10) {
        let mut piece = piece.to_vec();
        let mut input = Input::new(&mut piece);
        loop {
            match machine.receive(&mut input, &mut Vec::new()) {
                Ok(None) => break,
                Ok(Some(Event::Message(_))) => told.push("message".to_owned()),
                Ok(Some(_)) => told.push("event".to_owned()),
                Err(error) => {
                    told.push(error.to_string());
                    return told;
                }
            }
        }
    }
    told
}

fn client(scheme: &str) -> Connection {
    let url = format!("{scheme}://h/echo").parse().expect("the script is proper");
    wire::stack(&url, Role::Client(&ClientOptions::default()))
        .expect("the script is proper")
        .connection(7, 0)
}

pub(crate) fn response(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

pub(crate) fn first(body: &str) -> Step {
    Step::First(response(body))
}

/// A response in chunks, which ends with them if `is_whole`.
fn chunked(chunks: &[&str], is_whole: bool) -> Step {
    let mut bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned();
    for chunk in chunks {
        bytes += &format!("{:x}\r\n{chunk}\r\n", chunk.len());
    }
    bytes += if is_whole { "0\r\n\r\n" } else { "" };
    Step::First(bytes.into_bytes())
}

fn posted() -> Step {
    Step::Second(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec())
}

pub(crate) fn send(text: &str) -> Step {
    Step::SendText(text.to_owned())
}

pub(crate) fn lines_with<'a>(sent: &'a [u8], start: &str) -> Vec<&'a str> {
    str::from_utf8(sent)
        .expect("the script is proper")
        .lines()
        .filter(|line| line.starts_with(start))
        .collect()
}

/// The bodies of the POST requests, each of which follows its head.
pub(crate) fn bodies(sent: &[u8]) -> Vec<String> {
    let text = str::from_utf8(sent).expect("the script is proper");
    let requests = text.split("POST ").skip(1);
    requests
        .map(|request| request.split_once("\r\n\r\n").expect("the script is proper").1.to_owned())
        .collect()
}
