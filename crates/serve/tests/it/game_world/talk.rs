//! Chat, invitations and questions; and what this server has no use for.

use super::stage::{Stage, bad};
use serve::game::world::Options;
use wire::styx::packets::*;

fn stage() -> Stage {
    Stage::new(Options { tables: 2, seats: 3, ..Options::default() })
}

fn chat(tableid: i32, message: &str) -> TableChat<'_> {
    TableChat { tableid, pid: 99, message: message.into() }
}

#[test]
fn chat_reaches_everybody_at_the_table_under_its_true_sender() {
    let mut stage = stage();
    let (one, two, elsewhere) = (stage.seated(1, 1), stage.seated(2, 1), stage.seated(3, 2));
    let watcher = stage.player(4);
    stage.say(watcher, WatchRequest { tableid: 1 });
    stage.mail.sent.clear();
    for (from, pid) in [(one, 1), (watcher, 4)] {
        stage.say(from, chat(1, "hello"));
        let said: Packet<'_> = TableChat { pid, ..chat(1, "hello") }.into();
        for listener in [one, two, watcher] {
            assert_eq!(stage.hear(listener), std::slice::from_ref(&said));
        }
    }
    assert_eq!((stage.hear(elsewhere), stage.world.counters().chat), (vec![], 2));
    let long = "x".repeat(1025);
    for (packet, error) in [(chat(2, "hello"), -2), (chat(3, "hello"), -1), (chat(1, &long), -6)] {
        stage.ask(one, packet, [bad(80, error)]);
    }
}

#[test]
fn a_table_says_who_sits_there() {
    let mut stage = stage();
    let one = stage.seated(1, 1);
    let two = stage.player(2);
    stage.say(two, FilteredJoinTableRequest { address: "/".into(), ..Default::default() });
    let info = |pid: i32, seat, status| SeatInfo {
        tableid: 1,
        seat,
        status,
        player: PlayerInfo { pid, nick: format!("Bot_{pid}").into(), details: Vec::new() },
    };
    let seats = vec![info(1, 0, PlayerStatus::Connected), info(2, 1, PlayerStatus::Reservation)];
    let table = TableQueryResponse { tableid: 1, status: ResponseStatus::Ok, seats };
    stage.ask(one, TableQueryRequest { tableid: 1 }, [table.into()]);
    let none = TableQueryResponse { tableid: 9, status: ResponseStatus::Denied, seats: Vec::new() };
    stage.ask(one, TableQueryRequest { tableid: 9 }, [none.into()]);
}

#[test]
fn players_and_the_server_say_how_they_are() {
    let mut stage = stage();
    let one = stage.player(1);
    let two = stage.seated(2, 1);
    let known = PlayerQueryResponse { pid: 2, nick: "Bot_2".into(), ..Default::default() };
    stage.ask(one, PlayerQueryRequest { pid: 2 }, [known.into()]);
    let unknown =
        PlayerQueryResponse { pid: 7, status: ResponseStatus::Denied, ..Default::default() };
    stage.ask(one, PlayerQueryRequest { pid: 7 }, [unknown.into()]);
    let of = |players| SystemInfoResponse { players, params: Vec::new() }.into();
    stage.ask(one, SystemInfoRequest {}, [of(2)]);
    stage.gone(two);
    stage.ask(one, SystemInfoRequest {}, [of(1)]);
}

#[test]
fn invitations_come_from_those_who_sit_at_the_table() {
    let mut stage = stage();
    let (one, two) = (stage.seated(1, 1), stage.player(2));
    let invite =
        |tableid, invitees: &[i32]| InvitePlayersRequest { tableid, invitees: invitees.to_vec() };
    stage.ask(one, invite(1, &[2, 2, 5]), []);
    let notice: Packet<'_> =
        NotifyInvited { inviter: 1, screenname: "Bot_1".into(), tableid: 1, seat: -1 }.into();
    assert_eq!(stage.hear(two), [notice.clone(), notice]);
    stage.ask(two, invite(1, &[1]), [bad(42, -2)]);
    stage.ask(two, invite(9, &[1]), [bad(42, -1)]);
    stage.ask(one, invite(1, &[2; 33]), [bad(42, -6)]);
}

#[test]
fn what_is_not_served_is_answered_as_the_protocol_has_it() {
    let mut stage = stage();
    let one = stage.player(1);
    for class_id in [3, 5, 11, 14, 15, 31, 43, 60, 143, 155, 174] {
        stage.ask(one, Packet::empty(class_id).unwrap(), [bad(class_id, -5)]);
    }
    for class_id in [0, 1, 7] {
        stage.ask(one, Packet::empty(class_id).unwrap(), []);
    }
    stage.world.malformed(one, 222, stage.now, &mut stage.mail);
    assert_eq!(stage.hear(one), [bad(222, -4)]);
    assert_eq!(stage.world.counters().bad_packets, 12);
}
