//! Sessions with a server that keeps to the protocol.

use super::{
    CONNECTED, HANDSHAKEN, SUBSCRIBED, bodies, comet, comet_with, first, opened, second, send,
};
use crate::script::{Step, play};
use wire::bayeux::Limits;

#[test]
fn a_session_opens_talks_and_ends() {
    let steps = opened([
        send(r#"{"classId":7}"#),
        second(r#"[{"id":"4","channel":"/service/client","successful":true}]"#),
        first(concat!(
            r#"[{"channel":"/service/client","data":{"classId":7, "id":5}},"#,
            r#"{"id":"3","channel":"/meta/connect","successful":true}]"#,
        )),
        Step::Close,
        Step::End,
    ]);
    let told = play(&comet, &steps);
    assert_eq!(
        told.events,
        [
            "open",
            r#"Text {\"classId\":7, \"id\":5}"#,
            "closing, answered: false",
            "end: closed None \"\"",
        ]
    );
    assert_eq!(
        bodies(&told.first),
        [
            concat!(
                r#"[{"channel":"/meta/handshake","id":"1","version":"1.0","minimumVersion":"1.0","#,
                r#""supportedConnectionTypes":["long-polling"]}]"#,
            ),
            r#"[{"channel":"/meta/subscribe","id":"2","clientId":"28a3","subscription":"/service/client"}]"#,
            r#"[{"channel":"/meta/connect","id":"3","clientId":"28a3","connectionType":"long-polling"}]"#,
            r#"[{"channel":"/meta/connect","id":"5","clientId":"28a3","connectionType":"long-polling"}]"#,
        ]
    );
    assert_eq!(
        bodies(&told.second),
        [
            r#"[{"channel":"/service/client","id":"4","clientId":"28a3","data":{"classId":7}}]"#,
            r#"[{"channel":"/meta/disconnect","id":"6","clientId":"28a3"}]"#,
        ]
    );
}

#[test]
fn publishes_wait_while_one_is_under_way_and_then_go_together() {
    let answer = r#"[{"channel":"/service/client","successful":true}]"#;
    let steps =
        opened([send("1"), send("2"), send("3"), second(answer), send("4"), second(answer)]);
    let told = play(&comet, &steps);
    assert_eq!(told.events, ["open"]);
    let publish = |id: u32, data: u32| {
        format!(r#"{{"channel":"/service/client","id":"{id}","clientId":"28a3","data":{data}}}"#)
    };
    let expected = [
        format!("[{}]", publish(4, 1)),
        format!("[{},{}]", publish(5, 2), publish(6, 3)),
        format!("[{}]", publish(7, 4)),
    ];
    assert_eq!(bodies(&told.second), expected);
}

#[test]
fn what_waits_at_the_end_goes_out_with_the_disconnect() {
    let told = play(&comet, &opened([send("1"), send("2"), Step::Close]));
    let sent = bodies(&told.second);
    assert_eq!(sent.len(), 2);
    assert_eq!(
        sent[1],
        concat!(
            r#"[{"channel":"/service/client","id":"5","clientId":"28a3","data":2},"#,
            r#"{"channel":"/meta/disconnect","id":"6","clientId":"28a3"}]"#,
        )
    );
}

#[test]
fn deliveries_come_with_any_answer_on_either_connection() {
    let delivery = |data| format!(r#"{{"channel":"/service/client","data":{data}}}"#);
    let steps = [
        first(HANDSHAKEN),
        first(&format!("[{},{}", delivery(1), &SUBSCRIBED[1..])),
        send("0"),
        second(&format!(
            r#"[{},{{"channel":"/service/client","successful":true}},{}]"#,
            delivery(2),
            delivery(3)
        )),
        first(&format!("[{},{}", delivery(4), &CONNECTED[1..])),
        first(&format!(r#"[{{"channel":"/elsewhere","data":0}},{}"#, &CONNECTED[1..])),
        first(CONNECTED),
    ];
    let told = play(&comet, &steps);
    assert_eq!(told.events, ["open", "Text 1", "Text 2", "Text 3", "Text 4"]);
    assert_eq!(bodies(&told.first).len(), 6, "a connect follows each");
}

#[test]
fn a_server_may_end_the_session() {
    let connected = &CONNECTED[..CONNECTED.len() - 2];
    let delivery = r#"{"channel":"/service/client","data":1}"#;
    let disconnect = r#"[{"channel":"/meta/disconnect","successful":true}]"#;
    let not_again = format!(r#"{connected},"advice":{{"reconnect":"none"}}}},{delivery}]"#);
    let ends = [
        (first(&not_again), &["Text 1"][..], "the server advises reconnect: none"),
        (first(disconnect), &[][..], "the server disconnected"),
        (second(disconnect), &[][..], "the server disconnected"),
    ];
    for (end, before, reason) in ends {
        let told = play(&comet, &opened([send("0"), end, first("late"), send("0"), Step::End]));
        let expected: Vec<_> = ["open"]
            .iter()
            .chain(before)
            .map(|event| (*event).to_owned())
            .chain([
                format!("closed None {reason:?}"),
                "not sent: the connection is not open".to_owned(),
                "end: closed None \"\"".to_owned(),
            ])
            .collect();
        assert_eq!(told.events, expected);
        assert_eq!(bodies(&told.first).len(), 3, "no request follows");
    }
}

#[test]
fn a_closed_session_listens_to_nothing() {
    let told = play(&comet, &opened([Step::Close, first(CONNECTED), second("[]"), send("0")]));
    assert_eq!(
        told.events,
        ["open", "closing, answered: false", "not sent: the connection is not open"]
    );
    assert_eq!(bodies(&told.first).len(), 3);
}

#[test]
fn a_client_without_a_session_has_none_to_end() {
    let told = play(&comet, &[send("0"), Step::Close]);
    assert_eq!(told.events, ["not sent: the connection is not open", "closing, answered: false"]);
    assert_eq!(told.second, b"");
}

#[test]
fn messages_are_json_and_not_too_many_of_them_wait() {
    let limits = Limits { waiting_len_max: 132, ..Limits::default() };
    let steps = opened([
        send("{"),
        send("\"\u{7f}"),
        Step::Send(b"\"\xff\"".to_vec()),
        send("1"),
        send("2"),
        send("3"),
        send("4"),
        Step::Close,
    ]);
    let told = play(&|| comet_with(limits), &steps);
    assert_eq!(
        told.events,
        [
            "open",
            "not sent: the message is not JSON",
            "not sent: the message is not JSON",
            "not sent: the message is not JSON",
            "not sent: message of 198 bytes, limit is 132",
            "closing, answered: false",
        ]
    );
    let sent = bodies(&told.second);
    assert_eq!(sent.len(), 2);
    assert!(sent[1].contains(r#""data":2}"#) && sent[1].contains(r#""data":3}"#));
    assert!(!sent[1].contains(r#""data":4}"#));
}
