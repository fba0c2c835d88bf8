//! Redirects that are followed: within the time of their message, over the same connection or another.

use crate::conversations::hold;
use crate::peers::{Answering, Then};
use crate::world::{Play, Played, ROUND_TRIP, Speech, always, ms};
use load::Expect;
use record::{Connections, Counts, ErrorClass};
use spec::Conversation;
use units::Nanos;

/// The answer of a server to the request with this number: every `of`th is answered, and the others are redirected.
fn answer(number: u64, of: u64, redirect: &str, echo: Vec<u8>) -> (Vec<u8>, Then) {
    if number % of == of - 1 {
        return (echo, Then::GoOn);
    }
    let ends = redirect.contains("Connection: close") || !redirect.contains("Content-Length");
    let head = format!("HTTP/1.1 {redirect}\r\n\r\n");
    (head.into_bytes(), if ends { Then::End } else { Then::GoOn })
}

/// Plays against a server that redirects each request `of - 1` times.
fn play(play: Play, of: u64, redirect: &str) -> Played {
    play.against(&mut Answering::new(Speech::Http, |number, echo| {
        answer(number, of, redirect, echo)
    }))
}

fn following(redirects: u8) -> Play {
    let mut play = Play::new(Speech::Http);
    play.options.redirects = redirects;
    play
}

const SAME: &str = "307 X\r\nLocation: /next\r\nContent-Length: 0";
const CLOSING: &str = "308 X\r\nLocation: next\r\nConnection: close\r\nContent-Length: 0";
/// A redirect whose body ends only with the connection.
const ENDLESS: &str = "307 X\r\nLocation: /next";

#[test]
fn a_message_takes_until_the_last_response_of_its_redirects() {
    // A redirect over another connection also takes a connect.
    for (redirect, hop) in [(SAME, 1), (CLOSING, 2), (ENDLESS, 2)] {
        for (of, redirects) in [(2, 1), (4, 3), (2, 10)] {
            let time = Nanos(ROUND_TRIP.0 * (1 + hop * (of - 1)));
            let counts = Counts { sent: 10, ok: 10, redirects: 10 * (of - 1), ..Counts::default() };
            // Every byte of the body comes back from the last place: 307 and 308 keep it.
            let closed = play(following(redirects), of, redirect);
            assert_eq!(closed.outcome.measured, counts, "{redirect} {of}: {:?}", closed.errors());
            assert_eq!(closed.notes.round_trips, always(time, 10), "{redirect} {of}");
            assert_eq!(closed.outcome.connections.lost, 0);
            let open = following(redirects).rate("10/s").duration(ms(1000));
            let open = play(open, of, redirect);
            assert_eq!(open.outcome.measured, counts, "{redirect} {of}: {:?}", open.errors());
            assert_eq!(open.notes.response, always(time, 10), "{redirect} {of}");
        }
    }
}

#[test]
fn clients_with_a_connection_for_each_request_follow_redirects_too() {
    for (redirect, connects) in [(SAME, 1), (CLOSING, 2)] {
        let played = play(following(1).clients(10, 1), 2, redirect);
        let counts = Counts { sent: 10, ok: 10, redirects: 10, ..Counts::default() };
        assert_eq!(played.outcome.measured, counts, "{redirect}: {:?}", played.errors());
        assert_eq!(played.outcome.clients_served, 10);
        let life = Nanos(ROUND_TRIP.0 * (connects + 2));
        assert_eq!(played.outcome.times.life, always(life, 10), "{redirect}");
    }
}

#[test]
fn each_status_redirects_and_those_that_change_the_method_send_no_body() {
    for (status, len) in [(301, 0), (302, 0), (303, 0), (307, 16), (308, 16)] {
        let redirect = format!("{status} X\r\nLocation: ?q\r\nContent-Length: 0");
        let mut bodies = Vec::new();
        let mut server = Answering::new(Speech::Http, |number, echo: Vec<u8>| {
            let end = echo.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
            bodies.push(echo.len() - end);
            answer(number, 2, &redirect, echo)
        });
        let mut play = following(1);
        play.workload.expect = Expect::Anything;
        let played = play.against(&mut server);
        let counts = Counts { sent: 10, ok: 10, redirects: 10, ..Counts::default() };
        assert_eq!(played.outcome.measured, counts, "{status}");
        assert_eq!(bodies, [16, len].repeat(10), "{status}");
    }
}

#[test]
fn a_redirect_that_cannot_be_followed_is_an_error_and_unasked_a_refusal() {
    let elsewhere = "302 X\r\nLocation: http://other.example/\r\nContent-Length: 0";
    #[rustfmt::skip]
    let table = [
        // redirects, what is said, counted, class, and words
        (0, SAME,      0,  ErrorClass::Refused,  "refused with status 307: \"/next\""),
        (1, elsewhere, 0,  ErrorClass::Protocol, "HTTP status 302 redirects to \"http://other.example/\", but only redirects to http://server.example are followed"),
        (3, SAME,      30, ErrorClass::Protocol, "HTTP status 307 redirects to \"/next\" after 3 redirects, the limit"),
        (3, CLOSING,   30, ErrorClass::Protocol, "HTTP status 308 redirects to \"next\" after 3 redirects, the limit"),
    ];
    for (redirects, redirect, counted, class, words) in table {
        // A connection that is given up is replaced for what is due next.
        let open = following(redirects).rate("10/s").duration(ms(1000));
        let played = play(open, u64::MAX, redirect);
        let (error, refused) = if class == ErrorClass::Refused { (0, 10) } else { (10, 0) };
        let counts = Counts { sent: 10, error, refused, redirects: counted, ..Counts::default() };
        assert_eq!(played.outcome.measured, counts, "{redirect}");
        let errors = played.errors();
        let (found, count, said) = errors[0];
        assert_eq!((found, count, errors.len()), (class, 10, 1));
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn requests_of_a_conversation_follow_as_many_as_each_may() {
    let file = "speaks = 'http'\n[request.a]\nhttp = 'POST /a'\nbody = 'hi'\nredirects = 2\n";
    for (redirect, hop) in [(SAME, 1), (CLOSING, 2)] {
        let conversation = Conversation::read("sample", file).unwrap();
        let played = play(hold(Play::new(Speech::Http), conversation), 3, redirect);
        let counts = Counts { sent: 10, ok: 10, redirects: 20, ..Counts::default() };
        assert_eq!(played.outcome.measured, counts, "{redirect}: {:?}", played.errors());
        let of = &played.outcome.exchanges[&0];
        assert_eq!((of.counts.redirects, of.resumed), (20, 0));
        assert_eq!(of.service, always(Nanos(ROUND_TRIP.0 * (1 + 2 * hop)), 10), "{redirect}");
        let Connections { lost, .. } = played.outcome.connections;
        assert_eq!(lost, 0);
    }
}
