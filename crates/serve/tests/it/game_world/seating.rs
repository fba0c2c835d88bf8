//! Seats, watching, and tables that players make.

use super::stage::{Stage, bad, event, response};
use serve::game::world::{Options, SessionId};
use units::Nanos;
use wire::styx::load_test::LoadRequest;
use wire::styx::packets::*;

fn stage(tables: u32, seats: u8) -> Stage {
    Stage::new(Options { tables, seats, ..Options::default() })
}

fn join(tableid: i32, seat: i8) -> JoinRequest<'static> {
    JoinRequest { tableid, seat, params: Vec::new() }
}

fn joined(tableid: i32, seat: i8) -> Packet<'static> {
    JoinResponse { tableid, seat, status: JoinResponseStatus::Ok, code: 0 }.into()
}

fn denied(tableid: i32, seat: i8, code: i32) -> Packet<'static> {
    JoinResponse { tableid, seat, status: JoinResponseStatus::Denied, code }.into()
}

fn find(seq: i32, address: &str) -> FilteredJoinTableRequest<'_> {
    FilteredJoinTableRequest { seq, gameid: 1, address: address.into(), params: Vec::new() }
}

fn found(seq: i32, address: &str, status: FilteredJoinResponseStatus) -> Packet<'_> {
    FilteredJoinTableResponse { seq, gameid: 1, address: address.into(), status }.into()
}

fn available(seq: i32, tableid: i32, seat: i8) -> Packet<'static> {
    FilteredJoinTableAvailable { seq, tableid, seat }.into()
}

fn watch(stage: &mut Stage, session: SessionId, tableid: i32, status: WatchResponseStatus) {
    let answer = WatchResponse { tableid, status }.into();
    stage.ask(session, WatchRequest { tableid }, [answer]);
}

#[test]
fn a_seat_is_taken_left_and_told() {
    let mut stage = stage(2, 3);
    let (one, two) = (stage.player(1), stage.player(2));
    stage.ask(one, join(1, 2), [joined(1, 2)]);
    stage.ask(two, join(1, -1), [joined(1, 0)]);
    let notice = NotifyJoin { tableid: 1, pid: 2, nick: "Bot_2".into(), seat: 0 };
    assert_eq!(stage.hear(one), [notice.into()]);
    let left = LeaveResponse { tableid: 1, status: ResponseStatus::Ok, code: 0 };
    stage.ask(two, LeaveRequest { tableid: 1 }, [left.into()]);
    assert_eq!(stage.hear(one), [NotifyLeave { tableid: 1, pid: 2 }.into()]);
    let counters = stage.world.counters();
    assert_eq!((counters.joins, counters.leaves, counters.seated), (2, 1, 1));
}

#[test]
fn a_wish_that_cannot_be_granted_is_denied_with_a_code() {
    let mut stage = stage(10, 1);
    stage.seated(9, 2);
    let session = stage.seated(1, 1);
    #[rustfmt::skip]
    let table = [
        // table, seat, code
        (0,        -1, 1),
        (-1,       -1, 1),
        (11,       -1, 1),
        (i32::MIN, -1, 1),
        (i32::MAX, -1, 1),
        (2,        -1, 2), // full
        (2,         0, 3), // taken
        (1,        -1, 4), // sits there
        (3,         1, 6),
        (3,        -2, 6),
    ];
    for (tableid, seat, code) in table {
        stage.ask(session, join(tableid, seat), [denied(tableid, seat, code)]);
    }
    for tableid in 3..10 {
        stage.ask(session, join(tableid, -1), [joined(tableid, 0)]);
    }
    stage.ask(session, join(10, -1), [denied(10, -1, 5)]);
    for (tableid, code) in [(2, 7), (11, 1)] {
        let refused = LeaveResponse { tableid, status: ResponseStatus::Denied, code };
        stage.ask(session, LeaveRequest { tableid }, [refused.into()]);
    }
    assert_eq!(stage.world.counters().joins_denied, 11);
}

#[test]
fn a_filtered_join_finds_the_fullest_table_and_keeps_a_seat() {
    let mut stage = stage(300, 2);
    stage.seated(9, 150);
    let (one, two, three) = (stage.player(1), stage.player(2), stage.player(3));
    let ok = FilteredJoinResponseStatus::Ok;
    stage.ask(one, find(7, "/"), [found(7, "/", ok), available(7, 150, 1)]);
    stage.ask(two, join(150, 1), [denied(150, 1, 3)]);
    stage.ask(two, find(1, "/load/1"), [found(1, "/load/1", ok), available(1, 101, 0)]);
    stage.ask(three, find(1, "/"), [found(1, "/", ok), available(1, 101, 1)]);
    assert_eq!(stage.world.counters().reserved, 3);
    stage.ask(one, join(150, -1), [joined(150, 1)]);
    stage.ask(two, join(101, 0), [joined(101, 0)]);
    assert_eq!((stage.world.counters().reserved, stage.world.counters().seated), (1, 3));
}

#[test]
fn a_seat_that_was_kept_is_free_again_after_a_time_or_when_cancelled() {
    let mut stage = stage(1, 1);
    let (one, two) = (stage.player(1), stage.player(2));
    let (ok, no) = (FilteredJoinResponseStatus::Ok, FilteredJoinResponseStatus::Denied);
    stage.ask(one, find(1, "/"), [found(1, "/", ok), available(1, 1, 0)]);
    stage.ask(two, find(1, "/"), [found(1, "/", no)]);
    for (seq, status) in [(2, ResponseStatus::Denied), (1, ResponseStatus::Ok)] {
        let answer = FilteredJoinTableCancelResponse { seq, status };
        stage.ask(one, FilteredJoinTableCancelRequest { seq }, [answer.into()]);
    }
    stage.ask(two, find(2, "/"), [found(2, "/", ok), available(2, 1, 0)]);
    stage.pass(Nanos::from_millis(9_999));
    stage.ask(one, join(1, 0), [denied(1, 0, 3)]);
    stage.pass(Nanos::from_millis(1));
    stage.ask(one, join(1, 0), [joined(1, 0)]);
    stage.gone(two);
    assert_eq!(stage.world.counters().reserved, 0);
}

#[test]
fn a_new_wish_gives_back_the_seat_that_was_kept_before() {
    let mut stage = stage(1, 1);
    let one = stage.player(1);
    let ok = FilteredJoinResponseStatus::Ok;
    stage.ask(one, find(1, "/"), [found(1, "/", ok), available(1, 1, 0)]);
    stage.pass(Nanos::from_secs(6));
    stage.ask(one, find(2, "/"), [found(2, "/", ok), available(2, 1, 0)]);
    stage.pass(Nanos::from_secs(6));
    assert_eq!(stage.world.counters().reserved, 1, "its own time counts");
    stage.pass(Nanos::from_secs(4));
    assert_eq!(stage.world.counters().reserved, 0);
}

#[test]
fn filters_compare_how_many_seats_are_taken() {
    let mut stage = stage(5, 3);
    stage.seated(8, 2);
    stage.seated(9, 3);
    stage.seated(10, 3);
    let one = stage.player(1);
    let (ok, no) = (FilteredJoinResponseStatus::Ok, FilteredJoinResponseStatus::Denied);
    #[rustfmt::skip]
    let table = [
        // key,      op, value,    table
        ("_SEATED",   0, 1,        Some((2, 1))),
        ("_SEATED",   0, 3,        None),
        ("_SEATED",   1, 0,        Some((3, 2))),
        ("_SEATED",   2, 2,        Some((2, 1))),
        ("_SEATED",   3, 2,        Some((3, 2))),
        ("_SEATED",   4, 0,        Some((1, 0))),
        ("_SEATED",   1, i32::MAX, None),
        ("_SEATED",   2, i32::MIN, None),
        ("_SEATED",   5, 1,        None),
        ("_SEATED",  -1, 1,        None),
        ("_CAPACITY", 0, 3,        Some((3, 2))),
        ("_CAPACITY", 1, 3,        None),
        ("speed",     0, 3,        None),
    ];
    for row @ (key, op, value, expected) in table {
        let param = Param { key: key.into(), kind: 1, value: value.to_be_bytes().to_vec().into() };
        let request =
            FilteredJoinTableRequest { params: vec![ParamFilter { param, op }], ..find(1, "/") };
        stage.say(one, request);
        let heard = stage.hear(one);
        match expected {
            None => assert_eq!(heard, [found(1, "/", no)], "{row:?}"),
            Some((table, seat)) => {
                assert_eq!(heard, [found(1, "/", ok), available(1, table, seat)], "{row:?}");
            }
        }
    }
    let text = Param { key: "_SEATED".into(), kind: 0, value: vec![0, 1, b'1'].into() };
    let filter = ParamFilter { param: text, op: 0 };
    stage.ask(
        one,
        FilteredJoinTableRequest { params: vec![filter], ..find(1, "/") },
        [found(1, "/", no)],
    );
    stage.ask(one, find(1, "/elsewhere"), [found(1, "/elsewhere", no)]);
}

#[test]
fn a_player_is_not_sent_to_a_table_twice() {
    let mut stage = stage(2, 2);
    let one = stage.seated(1, 1);
    let ok = FilteredJoinResponseStatus::Ok;
    stage.ask(one, find(1, "/"), [found(1, "/", ok), available(1, 2, 0)]);
}

#[test]
fn watchers_hear_the_table_and_have_no_seat() {
    let mut stage = stage(2, 2);
    let (sitter, watcher) = (stage.seated(1, 1), stage.player(2));
    watch(&mut stage, watcher, 1, WatchResponseStatus::Ok);
    watch(&mut stage, watcher, 1, WatchResponseStatus::Ok);
    watch(&mut stage, watcher, 3, WatchResponseStatus::Denied);
    watch(&mut stage, sitter, 1, WatchResponseStatus::DeniedAlreadySeated);
    stage.say(sitter, event(1, LoadRequest { seq: 1, ..LoadRequest::default() }));
    assert_eq!(stage.hear(watcher), [response(1, 1, 1)]);
    assert_eq!((stage.world.counters().deliveries, stage.world.counters().watched), (1, 1));
    stage.ask(watcher, event(1, LoadRequest::default()), [bad(100, -2)]);

    for (tableid, status) in
        [(1, ResponseStatus::Ok), (1, ResponseStatus::Denied), (3, ResponseStatus::Denied)]
    {
        let answer = UnwatchResponse { tableid, status }.into();
        stage.ask(watcher, UnwatchRequest { tableid }, [answer]);
    }
    watch(&mut stage, watcher, 1, WatchResponseStatus::Ok);
    stage.hear(sitter);
    stage.ask(watcher, join(1, -1), [joined(1, 1)]);
    stage.say(sitter, event(1, LoadRequest { seq: 2, ..LoadRequest::default() }));
    assert_eq!(stage.hear(watcher), [response(1, 1, 2)], "once, as a sitter");
    watch(&mut stage, watcher, 2, WatchResponseStatus::Ok);
    stage.gone(watcher);
    stage.gone(sitter);
    stage.pass(Nanos::from_secs(60));
    assert_eq!((stage.world.counters().seated, stage.world.counters().away), (0, 0));
}

#[test]
fn a_table_has_room_for_so_many_watchers() {
    let mut stage = stage(1, 1);
    for pid in 0..64 {
        let watcher = stage.player(pid);
        watch(&mut stage, watcher, 1, WatchResponseStatus::Ok);
    }
    let one_more = stage.player(64);
    watch(&mut stage, one_more, 1, WatchResponseStatus::Denied);
}

fn make(seq: i32, seats: i8, invitees: &[i32]) -> CreateTableRequest<'static> {
    CreateTableRequest { seq, seats, invitees: invitees.to_vec(), ..CreateTableRequest::default() }
}

#[test]
fn a_player_makes_a_table_and_it_goes_with_its_last_player() {
    let mut stage = stage(10, 2);
    let (maker, guest, watcher) = (stage.player(1), stage.player(2), stage.player(3));
    let made = CreateTableResponse { seq: 5, tableid: 11, seat: 0, ..Default::default() };
    stage.ask(maker, make(5, 4, &[2, 77]), [made.into()]);
    let invited = NotifyInvited { inviter: 1, screenname: "Bot_1".into(), tableid: 11, seat: -1 };
    assert_eq!(stage.hear(guest), [invited.into()]);
    stage.ask(guest, join(11, -1), [joined(11, 1)]);
    watch(&mut stage, watcher, 11, WatchResponseStatus::Ok);
    assert_eq!(stage.world.counters().tables, 11);

    stage.gone(maker);
    stage.pass(Nanos::from_secs(19));
    stage.say(guest, Logout { leave_tables: true });
    stage.hear(watcher);
    stage.say(watcher, Ping { id: 1 });
    stage.pass(Nanos::from_secs(41));
    let end = [NotifyLeave { tableid: 11, pid: 1 }.into(), TableRemoved { tableid: 11 }.into()];
    let heard = stage.hear(watcher);
    assert_eq!(heard.last_chunk(), Some(&end), "{heard:?}");
    stage.ask(
        watcher,
        TableQueryRequest { tableid: 11 },
        [TableQueryResponse { tableid: 11, status: ResponseStatus::Denied, seats: Vec::new() }
            .into()],
    );
    assert_eq!(stage.world.counters().tables, 10);
}

#[test]
fn tables_that_may_not_be_made_are_denied() {
    let mut stage = Stage::new(Options { tables: 1, made_tables_max: 2, ..Options::default() });
    let one = stage.player(1);
    let no = |seq, code| CreateTableResponse {
        seq,
        tableid: -1,
        seat: -1,
        status: ResponseStatus::Denied,
        code,
    };
    for seats in [0, -1, i8::MIN] {
        stage.ask(one, make(1, seats, &[]), [no(1, 8).into()]);
    }
    for tableid in [2, 3] {
        let made = CreateTableResponse { seq: 2, tableid, ..Default::default() };
        stage.ask(one, make(2, 127, &[]), [made.into()]);
    }
    stage.ask(one, make(3, 1, &[]), [no(3, 8).into()]);
    stage.say(one, LeaveRequest { tableid: 2 });
    stage.hear(one);
    stage.ask(one, make(4, 1, &[]), [no(4, 8).into()]);
    stage.pass(Nanos::from_millis(250));
    let made = CreateTableResponse { seq: 5, tableid: 2, ..Default::default() };
    stage.ask(one, make(5, 1, &[]), [made.into()]);
}
