//! Players who log in, are forced out, and come back.

use super::stage::{Stage, bad, event, logged_in, login, response};
use serve::game::world::Options;
use units::Nanos;
use wire::styx::load_test::LoadRequest;
use wire::styx::packets::*;

fn stage() -> Stage {
    Stage::new(Options { tables: 3, seats: 2, ..Options::default() })
}

fn forced(code: i32, message: &'static str) -> Packet<'static> {
    ForcedLogout { code, message: message.into() }.into()
}

fn seated_at(tableid: i32, seat: i8, seated: i16) -> Packet<'static> {
    let snapshot = TableSnapshot {
        tableid,
        address: "/load/0".into(),
        name: format!("Table {tableid}").into(),
        capacity: 2,
        seated,
        params: Vec::new(),
    };
    NotifySeated { tableid, seat, mttid: -1, snapshot }.into()
}

#[test]
fn the_password_becomes_the_player_id() {
    let mut stage = stage();
    let session = stage.connect();
    stage.ask(session, login(17), [logged_in(17)]);
    assert_eq!((stage.world.counters().logins, stage.world.counters().players), (1, 1));
}

#[test]
fn refused_logins_say_why_and_may_be_tried_again() {
    use ResponseStatus::{Denied, Failed};
    let mut stage = Stage::new(Options { players_max: 1, ..Options::default() });
    stage.player(1);
    let session = stage.connect();
    let long = "x".repeat(65);
    let table = [
        ("Bot", "", Failed, 1, "Password must be an integer"),
        ("Bot", "2147483648", Failed, 1, "Password must be an integer"),
        (&*long, "7", Denied, 2, "the name is longer than 64 bytes"),
        ("Bot", "7", Denied, 3, "the server is full"),
    ];
    for (user, password, status, code, message) in table {
        let request = LoginRequest {
            user: user.into(),
            password: password.into(),
            ..LoginRequest::default()
        };
        let refused = LoginResponse {
            screenname: user.into(),
            status,
            code,
            message: message.into(),
            ..LoginResponse::default()
        };
        stage.ask(session, request, [refused.into()]);
    }
    assert_eq!(stage.world.counters().logins_refused, 4);
    stage.say(session, login(1));
    assert_eq!(stage.hear(session), [logged_in(1)], "known players are let in when it is full");
}

#[test]
fn a_second_login_on_one_connection_is_denied() {
    let mut stage = stage();
    let session = stage.player(1);
    stage.say(session, login(2));
    let heard = stage.hear(session);
    let [Packet::LoginResponse(response)] = &heard[..] else { panic!("{heard:?}") };
    assert_eq!((response.status, response.code), (ResponseStatus::Denied, 4));
    assert_eq!(stage.world.counters().players, 1);
}

#[test]
fn nothing_but_a_login_is_served_before_it() {
    let mut stage = stage();
    let session = stage.connect();
    for class_id in 0..=u8::MAX {
        let Some(packet) = Packet::empty(class_id) else { continue };
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "whatever else it is, it comes too early"
        )]
        let expected = match packet {
            Packet::LoginRequest(_) => continue,
            Packet::Version(_) | Packet::GameVersion(_) | Packet::Ping(_) => vec![],
            _ => vec![bad(class_id, -3)],
        };
        stage.say(session, packet);
        assert_eq!(stage.hear(session), expected, "class id {class_id}");
    }
    assert_eq!(stage.world.counters().bad_packets, 47);
}

#[test]
fn a_login_from_another_place_forces_the_first_out_and_takes_its_seats() {
    let mut stage = stage();
    let first = stage.seated(1, 2);
    let neighbour = stage.seated(9, 2);
    stage.ask(
        first,
        WatchRequest { tableid: 3 },
        [WatchResponse { tableid: 3, status: WatchResponseStatus::Ok }.into()],
    );
    stage.say(first, event(2, LoadRequest { seq: 1, ..LoadRequest::default() }));
    stage.mail.sent.clear();

    let second = stage.connect();
    let watching = NotifyWatching { tableid: 3 }.into();
    stage.ask(second, login(1), [logged_in(1), seated_at(2, 0, 2), watching]);
    assert_eq!(stage.hear(first), [forced(1, "You have logged in from another place")]);
    assert_eq!(stage.mail.closed, [first]);
    assert_eq!(stage.hear(neighbour), [], "the table is not told");

    stage.say(second, event(2, LoadRequest { seq: 2, ..LoadRequest::default() }));
    assert_eq!(stage.hear(second), [response(2, 1, 2)]);
    stage.say(first, event(2, LoadRequest { seq: 3, ..LoadRequest::default() }));
    stage.gone(first);
    assert_eq!(stage.hear(first), [], "it is gone");
    let counters = stage.world.counters();
    assert_eq!((counters.forced_logouts, counters.logged_in_remotely), (1, 1));
    assert_eq!((counters.reconnects, counters.sequence_errors), (1, 0));
    assert_eq!((counters.players, counters.seated), (2, 2));
}

#[test]
fn a_player_who_comes_back_in_time_sits_where_before() {
    let mut stage = stage();
    let first = stage.seated(1, 2);
    let neighbour = stage.seated(9, 2);
    stage.say(first, event(2, LoadRequest { seq: 5, ..LoadRequest::default() }));
    stage.gone(first);
    stage.mail.sent.clear();
    stage.say(neighbour, TableQueryRequest { tableid: 2 });
    let heard = stage.hear(neighbour);
    let [Packet::TableQueryResponse(table)] = &heard[..] else { panic!("{heard:?}") };
    assert_eq!(table.seats[0].status, PlayerStatus::WaitingRejoin);
    assert_eq!(stage.world.counters().away, 1);

    stage.pass(Nanos::from_millis(19_000));
    let back = stage.connect();
    stage.ask(back, login(1), [logged_in(1), seated_at(2, 0, 2)]);
    let again = LoadRequest { seq: 5, resend: true, ..LoadRequest::default() };
    stage.say(back, event(2, again));
    stage.say(back, event(2, LoadRequest { seq: 6, ..LoadRequest::default() }));
    let counters = stage.world.counters();
    assert_eq!((counters.resent, counters.sequence_errors, counters.reconnects), (1, 0, 1));
    assert_eq!((counters.away, counters.players), (0, 2));
    assert_eq!(counters.deliveries, 2 + 2 + 2);
}

#[test]
fn a_player_who_does_not_come_back_loses_the_seat() {
    let mut stage = stage();
    let first = stage.seated(1, 2);
    stage.gone(first);
    stage.pass(Nanos::from_secs(45));
    let neighbour = stage.seated(9, 2);
    stage.pass(Nanos::from_secs(14));
    assert_eq!(stage.hear(neighbour), []);
    stage.pass(Nanos::from_secs(1));
    assert_eq!(stage.hear(neighbour), [NotifyLeave { tableid: 2, pid: 1 }.into()]);
    let counters = stage.world.counters();
    assert_eq!((counters.not_back, counters.away, counters.seated), (1, 0, 1));
    let anew = stage.connect();
    stage.ask(anew, login(1), [logged_in(1)]);
}

#[test]
fn a_break_without_a_seat_ends_the_player() {
    let mut stage = stage();
    let session = stage.player(1);
    stage.gone(session);
    stage.gone(session);
    let counters = stage.world.counters();
    assert_eq!((counters.players, counters.away, counters.connections), (0, 0, 0));
}

#[test]
fn a_logout_leaves_the_tables_or_keeps_them_as_it_says() {
    for (leave_tables, seated, away) in [(true, 0, 0), (false, 1, 1)] {
        let mut stage = stage();
        let session = stage.seated(1, 1);
        stage.say(session, Logout { leave_tables });
        assert_eq!(stage.mail.closed, [session]);
        let counters = stage.world.counters();
        assert_eq!((counters.seated, counters.away, counters.players), (seated, away, 0));
        assert_eq!(counters.connections, 0);
    }
}
