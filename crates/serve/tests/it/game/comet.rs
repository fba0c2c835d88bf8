//! Comet clients: what Bayeux requires of a server.

use super::bots::{Player, Way, drive, play, seat};
use super::stage::{Stage, classes, ms, web};
use engine::{ConnectionId, Engine};
use serde_json::{Value, json};
use serve::game::{Options, world};
use units::Nanos;

#[test]
fn a_session_begins_is_connected_and_ends() {
    Stage::each_kind(|new| {
        let mut stage = new(Options::default());
        let id = stage.connect(&web());
        let welcome = stage.ask(id, HANDSHAKE);
        let client = welcome[0]["clientId"].as_str().unwrap().to_owned();
        let retry = json!({"reconnect": "retry", "interval": 0, "timeout": 30_000});
        assert_eq!(
            welcome,
            json!([{"channel": "/meta/handshake", "id": "1", "clientId": client, "successful": true, "version": "1.0",
            "supportedConnectionTypes": ["long-polling"], "advice": retry}])
        );
        let ask = |stage: &mut Stage, body: &str| stage.ask(id, &body.replace("CLIENT", &client));
        #[rustfmt::skip]
    let table = [
        (r#"[{"channel":"/meta/connect","clientId":"CLIENT","connectionType":"long-polling","id":"2","advice":{"timeout":0}}]"#,
            json!([{"channel": "/meta/connect", "id": "2", "successful": true, "advice": retry}])),
        (r#"[{"channel":"/meta/subscribe","clientId":"CLIENT","subscription":"/service/client","id":"3"}]"#,
            json!([{"channel": "/meta/subscribe", "id": "3", "successful": true, "subscription": "/service/client"}])),
        (r#"[{"channel":"/meta/subscribe","clientId":"CLIENT","subscription":"/chat","id":"4"}]"#,
            json!([{"channel": "/meta/subscribe", "id": "4", "successful": false, "subscription": "/chat",
                "error": "403:/chat:Subscription denied"}])),
        (r#"[{"channel":"/chat","clientId":"CLIENT","data":{},"id":"5"}]"#,
            json!([{"channel": "/chat", "id": "5", "successful": false, "error": "403:/chat:Publish denied"}])),
        (r#"{"channel":"/service/client","clientId":"CLIENT","id":"6"}"#,
            json!([{"channel": "/service/client", "id": "6", "successful": false, "error": "400::No data"}])),
        (r#"[{"channel":"/meta/what","clientId":"CLIENT","id":"7"}]"#,
            json!([{"channel": "/meta/what", "id": "7", "successful": false, "error": "404:/meta/what:Unknown meta channel"}])),
        (r#"[{"channel":"/meta/connect","clientId":"nobody","id":"8"}]"#, unknown("/meta/connect", "8")),
        (r#"[{"channel":"/service/client","data":{},"id":"9"}]"#, unknown("/service/client", "9")),
        (r#"[{"channel":"/meta/handshake","supportedConnectionTypes":["callback-polling"],"id":"10"}]"#,
            json!([{"channel": "/meta/handshake", "id": "10", "successful": false, "version": "1.0",
                "error": "400::Only long-polling is spoken here", "supportedConnectionTypes": ["long-polling"],
                "advice": {"reconnect": "none"}}])),
        (r#"[{"channel":"/meta/disconnect","clientId":"CLIENT","id":"11"}]"#,
            json!([{"channel": "/meta/disconnect", "id": "11", "successful": true}])),
        (r#"[{"channel":"/meta/connect","clientId":"CLIENT","id":"12"}]"#, unknown("/meta/connect", "12")),
        ("[]", json!([])),
    ];
        for (asked, expected) in table {
            assert_eq!(ask(&mut stage, asked), expected, "{asked}");
        }
        for broken in ["", "[{]", "7", r#"[{"id":"1"}]"#, r#"[{"channel":7}]"#] {
            let answer = stage.ask(id, broken);
            let error = answer[0]["error"].as_str().unwrap();
            assert!(
                error.starts_with("400::") && answer[0]["successful"] == json!(false),
                "{answer}"
            );
        }
        assert_eq!(stage.end(id), None);
        assert_eq!((stage.totals().world.connections, stage.totals().sessions.comet), (0, 1));
    });
}

#[test]
fn a_connect_is_held_until_there_is_news_or_its_time_is_over() {
    Stage::each_kind(|new| {
        // Nobody logs in for a long time.
        let patient = Nanos::from_secs(100);
        let world =
            world::Options { login_max: patient, quiet_max: patient, ..world::Options::default() };
        let mut stage = new(Options { world, ..Options::default() });
        let (id, client) = shake_hands(&mut stage);
        let connect = connect(&client);
        stage.ask(id, &connect); // The first one is answered at once.

        // Its time is over.
        stage.post(id, &connect);
        stage.pass(ms(29_900));
        assert_eq!(stage.hear_bodies(id), [] as [Value; 0]);
        stage.pass(ms(700));
        assert_eq!(stage.hear_bodies(id).len(), 1);

        // There is news.
        let publishing = stage.connect(&web());
        stage.post(id, &connect);
        assert_eq!(stage.hear_bodies(id), [] as [Value; 0]);
        let published = stage.ask(publishing, &login(&client, "7"));
        assert_eq!(published.as_array().unwrap().len(), 1, "{published}");
        let news = stage.hear_bodies(id).remove(0);
        assert_eq!(
            (&news[0]["data"]["classId"], &news[1]["channel"]),
            (&json!(11), &json!("/meta/connect"))
        );

        // No connect is held: the answer to what was published brings the news.
        let published = stage.ask(publishing, &login(&client, "8"));
        assert_eq!(
            (&published[0]["data"]["classId"], &published[1]["successful"]),
            (&json!(11), &json!(true))
        );

        // A new connect ends the previous one, and so does anything else that arrives on its connection.
        stage.post(id, &connect);
        let another = stage.connect(&web());
        stage.post(another, &connect);
        assert_eq!(stage.hear_bodies(id).len(), 1);
        assert_eq!(stage.hear_bodies(another), [] as [Value; 0]);
        let subscribe = format!(
            r#"[{{"channel":"/meta/subscribe","clientId":"{client}","subscription":"/service/client"}}]"#
        );
        stage.post(another, &subscribe);
        let both = stage.hear_bodies(another);
        assert_eq!(
            both.iter().map(|body| &body[0]["channel"]).collect::<Vec<_>>(),
            ["/meta/connect", "/meta/subscribe"]
        );

        // A connect among other messages is not held.
        let together =
            format!("[{},{}]", &connect[1..connect.len() - 1], &subscribe[1..subscribe.len() - 1]);
        assert_eq!(stage.ask(another, &together).as_array().unwrap().len(), 2);
    });
}

#[test]
fn a_client_that_never_comes_back_is_dropped_and_its_player_leaves() {
    Stage::each_kind(|new| {
        let mut stage = new(Options::default());
        let mut players = vec![
            Player::new(&mut stage, Way::Comet, 1, 1),
            Player::new(&mut stage, Way::Binary, 2, 1),
        ];
        seat(&mut stage, &mut players);
        play(&mut stage, &mut players, 3);
        // The connections stay open, but nothing arrives on them any more.
        let mut other = vec![players.remove(1)];
        other[0].play(&mut stage); // The news of it answers the connect that was held.
        drive(&mut stage, &mut other, |other| other[0].replies == 4);
        assert_eq!((stage.totals().world.players, stage.totals().lost_clients), (2, 0));
        for _ in 0..12 {
            stage.pass(ms(1000));
            play(&mut stage, &mut other, 1);
        }
        let totals = stage.totals();
        assert_eq!((totals.world.players, totals.world.away, totals.lost_clients), (1, 1, 1));
        for _ in 0..61 {
            stage.pass(ms(1000));
            play(&mut stage, &mut other, 1);
        }
        let totals = stage.totals();
        assert_eq!((totals.world.away, totals.world.not_back, totals.world.seated), (0, 1, 1));
        assert_eq!(other[0].ended, None);
    });
}

#[test]
fn a_client_is_not_its_connection() {
    Stage::each_kind(|new| {
        let mut stage = new(Options::default());
        let (first, client) = shake_hands(&mut stage);
        stage.ask(first, &connect(&client));
        stage.post(first, &connect(&client));
        stage.client.close(first); // While a connect is held there.
        stage.pass(ms(100));
        for _ in 0..3 {
            let id = stage.connect(&web());
            let answer = stage.ask(id, &login(&client, "7"));
            assert_eq!(
                (&answer[0]["data"]["classId"], &answer[1]["successful"]),
                (&json!(11), &json!(true))
            );
            stage.client.close(id);
        }
        assert_eq!(stage.totals().sessions.comet, 1);
    });
}

#[test]
fn a_connect_that_is_the_last_request_of_its_connection_ends_it_once_it_is_answered() {
    Stage::each_kind(|new| {
        let mut stage = new(Options::default());
        let (id, client) = shake_hands(&mut stage);
        stage.ask(id, &connect(&client));
        let (body, last) = (connect(&client), stage.connect(&web()));
        let len = body.len();
        let head = format!(
            "POST /cometd HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: {len}\r\n\r\n"
        );
        stage.say(last, format!("{head}{body}").as_bytes());
        assert_eq!(stage.end(last), None);
        stage.ask(id, &login(&client, "7"));
        assert_eq!(stage.hear_bodies(last).len(), 1);
        assert_eq!(stage.end(last), Some(Ok(())));
    });
}

#[test]
fn a_connect_that_is_held_hears_of_the_disconnect() {
    Stage::each_kind(|new| {
        let mut stage = new(Options::default());
        let (id, client) = shake_hands(&mut stage);
        stage.ask(id, &connect(&client));
        stage.post(id, &connect(&client));
        let other = stage.connect(&web());
        let end = format!(r#"[{{"channel":"/meta/disconnect","clientId":"{client}","id":"9"}}]"#);
        assert_eq!(stage.ask(other, &end)[0]["successful"], json!(true));
        assert_eq!(stage.hear_bodies(id)[0][0]["advice"]["reconnect"], json!("none"));
        assert_eq!(stage.totals().world.connections, 0);
    });
}

#[test]
fn a_player_who_is_forced_out_hears_why_and_is_told_not_to_come_back() {
    Stage::each_kind(|new| {
        let mut stage = new(Options::default());
        let (id, client) = shake_hands(&mut stage);
        stage.ask(id, &connect(&client));
        stage.ask(id, &login(&client, "7"));
        let (other, rival) = shake_hands(&mut stage);
        stage.ask(other, &login(&rival, "7"));
        let last = stage.ask(id, &connect(&client));
        assert_eq!(
            (&last[0]["data"]["classId"], &last[0]["data"]["code"]),
            (&json!(14), &json!(1))
        );
        assert_eq!(last[1]["advice"]["reconnect"], json!("none"));
        assert_eq!(stage.ask(id, &connect(&client)), unknown("/meta/connect", "5"));

        // The same for one that waits for news.
        stage.ask(other, &connect(&rival));
        stage.post(other, &connect(&rival));
        let (id, client) = shake_hands(&mut stage);
        stage.ask(id, &login(&client, "7"));
        let last = stage.hear_bodies(other).remove(0);
        assert_eq!(
            (&last[0]["data"]["classId"], &last[1]["advice"]["reconnect"]),
            (&json!(14), &json!("none"))
        );
    });
}

#[test]
fn a_client_without_a_login_is_ended_by_the_world() {
    Stage::each_kind(|new| {
        let mut stage = new(Options { away_max: Nanos::from_secs(60), ..Options::default() });
        let (id, client) = shake_hands(&mut stage);
        stage.pass(ms(11_000));
        let last = stage.ask(id, &connect(&client));
        let packets: Vec<Value> =
            last.as_array().unwrap().iter().map(|message| message["data"].clone()).collect();
        assert_eq!(classes(&packets[..1]), [14]);
        assert_eq!(last[1]["advice"]["reconnect"], json!("none"));
    });
}

/// A new client, and a connection for its requests.
pub(crate) fn shake_hands(stage: &mut Stage) -> (ConnectionId, String) {
    let id = stage.connect(&web());
    let welcome = stage.ask(id, HANDSHAKE);
    (id, welcome[0]["clientId"].as_str().unwrap().to_owned())
}

fn connect(client: &str) -> String {
    format!(
        r#"[{{"channel":"/meta/connect","clientId":"{client}","connectionType":"long-polling","id":"5"}}]"#
    )
}

fn login(client: &str, password: &str) -> String {
    let packet = json!({"user": "a", "password": password, "operatorid": 0, "credentials": [], "classId": 10});
    format!(r#"[{{"channel":"/service/client","clientId":"{client}","id":"6","data":{packet}}}]"#)
}

fn unknown(channel: &str, id: &str) -> Value {
    json!([{"channel": channel, "id": id, "successful": false, "error": "402::Unknown client",
        "advice": {"reconnect": "handshake", "interval": 0}}])
}

const HANDSHAKE: &str = r#"[{"channel":"/meta/handshake","version":"1.0","minimumVersion":"1.0",
    "supportedConnectionTypes":["websocket","long-polling"],"ext":{"handshakeSignature":666},"id":"1"}]"#;
