//! Servers that refuse, advise against it, or speak something else.

use super::{CONNECTED, HANDSHAKEN, SUBSCRIBED, comet, comet_with, first, opened, second, send};
use crate::script::{Step, play};
use wire::bayeux::{Limits, message};

#[test]
fn a_refused_opening_says_who_refused_what() {
    let not_found = b"HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\nno \x1b[2J".to_vec();
    let cases = [
        (vec![Step::First(not_found)], r#"HTTP status 404: "no \x1b[2J""#),
        (
            vec![first("<html>")],
            r#"not a batch of Bayeux messages: expected value at line 1 column 1: "<html>""#,
        ),
        (
            vec![first(
                r#"[{"channel":"/meta/handshake","successful":false,"error":"403::denied"}]"#,
            )],
            r#"unsuccessful on "/meta/handshake": "403::denied""#,
        ),
        (vec![first("[]")], "the response contains no answer on /meta/handshake"),
        (
            vec![first(r#"[{"channel":"/meta/handshake","successful":true}]"#)],
            "the answer on /meta/handshake has no clientId",
        ),
        (
            vec![first(&HANDSHAKEN.replace("retry", "none"))],
            "the answer on /meta/handshake advises reconnect: none",
        ),
        (
            vec![first(&HANDSHAKEN.replace(r#""interval":0"#, r#""interval":2000"#))],
            "advice to wait 2000 ms before the next connect, only 0 is supported",
        ),
        (
            vec![
                first(HANDSHAKEN),
                first(
                    r#"[{"channel":"/meta/subscribe","successful":false,"error":"403:/service/client:denied"}]"#,
                ),
            ],
            r#"unsuccessful on "/meta/subscribe": "403:/service/client:denied""#,
        ),
        (
            vec![first(HANDSHAKEN), first(CONNECTED)],
            "the response contains no answer on /meta/subscribe",
        ),
        (
            vec![Step::First(
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n[]".to_vec(),
            )],
            "the response contains no answer on /meta/handshake",
        ),
    ];
    for (steps, error) in cases {
        let told = play(&comet, &steps);
        assert_eq!(told.events, [format!("error: {error}")]);
    }
}

#[test]
fn a_session_that_breaks_says_why() {
    let unknown = concat!(
        r#"[{"channel":"/meta/connect","successful":false,"error":"402::Unknown client","#,
        r#""advice":{"reconnect":"handshake"}}]"#,
    );
    let connected = &CONNECTED[..CONNECTED.len() - 2];
    let cases = [
        (
            first(unknown),
            r#"unsuccessful on "/meta/connect": "402::Unknown client", advice reconnect: handshake"#,
        ),
        (
            first(&format!(r#"{connected},"advice":{{"reconnect":"handshake"}}}}]"#)),
            "the answer on /meta/connect advises reconnect: handshake",
        ),
        (
            first(&format!(r#"{connected},"advice":{{"interval":1}}}}]"#)),
            "advice to wait 1 ms before the next connect, only 0 is supported",
        ),
        (first(SUBSCRIBED), "the response contains no answer on /meta/connect"),
        (
            second(
                r#"[{"channel":"/service/client","successful":false,"error":"404::no \"game\""}]"#,
            ),
            r#"unsuccessful on "/service/client": "404::no \"game\"""#,
        ),
        (
            second("null"),
            concat!(
                "not a batch of Bayeux messages: ",
                r#"invalid type: null, expected an array of messages at line 1 column 4: "null""#,
            ),
        ),
        (
            Step::Second(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".to_vec()),
            r#"HTTP status 500: """#,
        ),
    ];
    for (broken, error) in cases {
        let told = play(&comet, &opened([send("0"), broken]));
        assert_eq!(told.events, ["open".to_owned(), format!("error: {error}")]);
    }
}

#[test]
fn a_connection_that_ends_in_the_session_is_an_error() {
    let close = |body: &str| {
        format!(
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    };
    let told = play(&comet, &opened([Step::End]));
    assert_eq!(told.events, ["open", "end: error: the connection ended; unanswered requests: 1"]);
    let told = play(&comet, &opened([Step::First(close(CONNECTED))]));
    assert_eq!(
        told.events,
        ["open", "error: the server ended the first connection in the middle of the session"]
    );
    let told = play(&comet, &opened([send("0"), Step::Second(close("[]")), Step::End]));
    assert_eq!(
        told.events,
        ["open", "error: the server ended the second connection in the middle of the session"]
    );
}

#[test]
fn a_response_holds_no_more_messages_than_the_limit() {
    let batch = message::Limits { messages_max: 2 };
    let delivery = r#"{"channel":"/service/client","data":1}"#;
    for (count, is_error) in [(1, false), (2, true)] {
        let body = format!("[{}{}", format!("{delivery},").repeat(count), &CONNECTED[1..]);
        let limits = Limits { batch, ..Limits::default() };
        let told = play(&|| comet_with(limits), &opened([first(&body)]));
        let last = told.events.last().unwrap();
        assert_eq!(last.contains("3 messages in a batch, limit is 2"), is_error, "{last}");
    }
}
