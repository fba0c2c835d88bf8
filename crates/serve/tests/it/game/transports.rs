//! Addresses, first requests and time-outs.

use super::stage::{Stage, binary, classes, ms, web};
use engine::Engine;
use serve::game::{Options, Silence};
use units::Nanos;
use wire::styx::packets::LoginRequest;

#[test]
fn who_says_nothing_is_closed_in_time() {
    Stage::each_kind(|new| {
        let mut stage = new(Options::default());
        let (silent, binary, begun) =
            (stage.connect(&web()), stage.connect(&binary()), stage.connect(&web()));
        stage.say(begun, b"GET /sock"); // It goes on too late.
        stage.pass(ms(9_900));
        assert_eq!([silent, binary, begun].map(|id| stage.end(id)), [None; 3]);
        stage.pass(ms(800));
        assert_eq!([silent, binary, begun].map(|id| stage.end(id)), [Some(Ok(())); 3]);
        assert_eq!(classes(&stage.hear_packets(binary)), [14], "the world says why");
        let totals = stage.totals();
        assert_eq!((totals.connections, totals.silent, totals.world.connections), (3, 2, 0));
    });
}

#[test]
fn a_connection_of_http_is_closed_when_it_is_not_used_any_more() {
    Stage::each_kind(|new| {
        let silence = Silence { next_max: Nanos::from_secs(20), ..Options::default().silence };
        let mut stage = new(Options { silence, ..Options::default() });
        let id = stage.connect(&web());
        for _ in 0..3 {
            stage.ask(id, "[]");
            stage.pass(ms(19_000));
            assert_eq!(stage.end(id), None);
        }
        stage.pass(ms(2_000));
        assert_eq!(stage.end(id), Some(Ok(())));
        assert_eq!(stage.totals().silent, 1);
    });
}

#[test]
fn a_web_address_answers_what_is_no_game_in_its_own_way() {
    Stage::each_kind(|new| {
        let mut stage = new(Options::default());
        #[rustfmt::skip]
    let table = [
        ("GET / HTTP/1.1\r\nHost: h\r\n\r\n",        "HTTP/1.1 404 Not Found", None),
        ("GET /socket HTTP/1.1\r\nHost: h\r\n\r\n",  "HTTP/1.1 426 Upgrade Required", None),
        ("GET /cometd HTTP/1.1\r\nHost: h\r\n\r\n",  "HTTP/1.1 405 Method Not Allowed", None),
        ("OPTIONS /cometd/handshake HTTP/1.1\r\nHost: h\r\nOrigin: http://a\r\n\r\n", "HTTP/1.1 204 No Content", None),
        ("GET /cometd HTTP/1.1\r\n\r\n",               "HTTP/1.1 400 Bad Request", Some(Ok(()))),
        ("POST /cometd HTTP/1.1\r\nHost: h\r\nContent-Length: 99999\r\n\r\n", "HTTP/1.1 413 Content Too Large", Some(Ok(()))),
        ("\0\0\0\x05\x12",                              "HTTP/1.1 400 Bad Request", Some(Ok(()))),
    ];
        for (said, status, end) in table {
            let id = stage.connect(&web());
            stage.say(id, said.as_bytes());
            let heard = String::from_utf8(stage.hear(id)).unwrap();
            assert_eq!(heard.lines().next(), Some(status), "{said:?}");
            assert_eq!(stage.end(id), end, "{said:?}");
        }
        assert_eq!((stage.totals().broken, stage.totals().world.connections), (3, 0));
    });
}

#[test]
fn a_player_whose_connection_breaks_or_ends_keeps_the_seat_for_a_time() {
    Stage::each_kind(|new| {
        let mut stage = new(Options::default());
        for (player, ends) in [("1", true), ("2", false)] {
            let id = stage.connect(&binary());
            let login =
                LoginRequest { user: "a".into(), password: player.into(), ..Default::default() };
            stage.say_packet(id, &login.into());
            let join =
                wire::styx::packets::JoinRequest { tableid: 1, seat: -1, params: Vec::new() };
            stage.say_packet(id, &join.into());
            if ends {
                stage.client.shutdown(id);
                stage.pass(ms(1));
                assert_eq!(stage.end(id), Some(Ok(())));
            } else {
                stage.client.close(id);
                stage.pass(ms(1));
            }
        }
        let world = stage.totals().world;
        assert_eq!((world.connections, world.players, world.away, world.seated), (0, 0, 2, 2));
    });
}
