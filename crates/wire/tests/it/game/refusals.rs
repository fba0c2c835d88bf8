//! Servers that do not let a bot in, or break the rules of the game.

use super::{
    arrives, available, binary, event, json, line, logged_in, opening, response, says, searching,
    seated, text, transport,
};
use crate::script::{Step, play};
use wire::styx::Packet;
use wire::styx::packets::{
    Bad, FilteredJoinResponseStatus, FilteredJoinTableResponse, JoinResponse, JoinResponseStatus,
    LoginResponse, ResponseStatus,
};

#[test]
fn a_refused_opening_says_which_packet_refused_it() {
    let login = |status, code, message: &'static str| {
        LoginResponse { status, code, message: message.into(), ..LoginResponse::default() }.into()
    };
    let search = |status| {
        FilteredJoinTableResponse { status, ..FilteredJoinTableResponse::default() }.into()
    };
    let join = |status, code| JoinResponse { tableid: 21, seat: 2, status, code }.into();
    let cases: [(Vec<Packet<'_>>, &str); 7] = [
        (
            vec![login(ResponseStatus::Failed, -1, "Password must be an integer")],
            r#"LoginResponse: status FAILED, code -1, "Password must be an integer""#,
        ),
        (
            vec![login(ResponseStatus::Denied, 5, "\u{1b}[2J")],
            r#"LoginResponse: status DENIED, code 5, "\x1b[2J""#,
        ),
        (
            vec![logged_in(), search(FilteredJoinResponseStatus::Denied)],
            r#"FilteredJoinTableResponse: status DENIED, code 0, """#,
        ),
        (
            vec![logged_in(), search(FilteredJoinResponseStatus::Failed)],
            r#"FilteredJoinTableResponse: status FAILED, code 0, """#,
        ),
        (
            vec![logged_in(), searching(), available(), join(JoinResponseStatus::Denied, 1)],
            r#"JoinResponse: status DENIED, code 1, """#,
        ),
        (
            vec![logged_in(), available(), join(JoinResponseStatus::Failed, 0)],
            r#"JoinResponse: status FAILED, code 0, """#,
        ),
        (vec![Bad { cmd: 10, error: -1 }.into()], "BadPacket: cmd 10, error -1"),
    ];
    for (packets, error) in cases {
        let expected = format!("error: {error}");
        let steps: Vec<_> = packets.iter().cloned().map(arrives).collect();
        assert_eq!(play(&binary, &steps).events.last(), Some(&expected));
        let steps: Vec<_> = packets.into_iter().map(|packet| says(&text(packet))).collect();
        assert_eq!(play(&json, &steps).events.last(), Some(&expected));
    }
}

#[test]
fn an_answer_out_of_sequence_is_an_error() {
    let cases = [
        (0, vec![1], "got the answer to event 1 (next: 1, sent: 0)"),
        (2, vec![2], "got the answer to event 2 (next: 1, sent: 2)"),
        (2, vec![1, 1], "got the answer to event 1 (next: 2, sent: 2)"),
        (3, vec![1, 3], "got the answer to event 3 (next: 2, sent: 3)"),
        (1, vec![1, 2], "got the answer to event 2 (next: 2, sent: 1)"),
        (1, vec![0], "got the answer to event 0 (next: 1, sent: 1)"),
        (1, vec![-1], "got the answer to event -1 (next: 1, sent: 1)"),
    ];
    for (events, answers, error) in cases {
        let events = (0..events).map(|_| event(0, false));
        let answers = answers.iter().map(|seq| arrives(transport(response(7, *seq))));
        let told = play(&binary, &seated(events.chain(answers)));
        assert_eq!(told.events.last(), Some(&format!("error: out of sequence: {error}")));
    }
}

#[test]
fn what_is_no_packet_is_an_error() {
    let frames: [&[u8]; 3] =
        [&[0, 0, 0, 8, 7, 0, 0, 0], &[0, 0, 0, 10, 7, 0, 0, 0, 1, 0], &[0, 0, 0, 4]];
    for frame in frames {
        let told = play(&binary, &seated([Step::First(frame.to_vec())]));
        let error = told.events.last().unwrap();
        assert!(error.starts_with("error: "), "{error}");
    }
    for said in ["", "{", "1", "[{]", "{}", r#"{"id":"x","classId":7}"#] {
        let steps: Vec<_> =
            opening().into_iter().map(|packet| says(&text(packet))).chain([says(said)]).collect();
        let told = play(&json, &steps);
        let error = told.events.last().unwrap();
        assert!(error.starts_with("error: "), "{said}: {error}");
    }
}

/// Servers of later versions, and those that hold tournaments, say more than a bot understands.
#[test]
fn a_packet_of_an_unknown_class_is_a_notice_and_the_game_goes_on() {
    let unknown = Step::First(vec![0, 0, 0, 6, 4, 200]);
    let answer = arrives(transport(response(7, 1)));
    let told = play(&binary, &seated([unknown, event(0, false), answer]));
    let payload = response(7, 1).pack();
    assert_eq!(told.events[4..], [line("Notice", &[4, 200]), line("Binary", &payload)]);
    let said = r#"{"message":"hello","classId":4}"#;
    let steps: Vec<_> =
        [says(said)].into_iter().chain(opening().map(|packet| says(&text(packet)))).collect();
    let told = play(&json, &steps);
    assert_eq!(told.events.first(), Some(&line("Notice", said.as_bytes())));
    assert_eq!(told.events.last().map(String::as_str), Some("open"));
}

#[test]
fn a_bad_packet_in_the_middle_of_a_game_is_an_error() {
    let told = play(&binary, &seated([event(0, false), arrives(Bad { cmd: 100, error: -1 })]));
    assert_eq!(told.events[4..], ["error: BadPacket: cmd 100, error -1"]);
}
