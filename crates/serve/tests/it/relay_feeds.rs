//! The relay and the brokers that it subscribes at, which answer by a script.

use crate::relay_over_http::{Do, Heard, get, play_beside, poll, post};
use engine::sim::Sim;
use engine::{Address, Completion, ConnectionId, Engine, Node, Step};
use serve::relay::{Feed, FeedTotals};
use std::sync::{Arc, Mutex};
use units::{Instant, Nanos};
use wire::broker::{Broker, Login};

const PONG: &str = "+PONG\r\n";
const INFO: &str = "INFO {\"server_id\":\"a\"}\r\n";

#[test]
fn what_is_published_at_redis_goes_to_the_room_of_the_same_name_as_long_as_that_has_members() {
    let scripted = vec![vec![
        (command(&["PING"]), PONG.to_owned()),
        (command(&["SUBSCRIBE", "a"]), published("a", "hi") + &published("b", "nobody")),
        (command(&["SUBSCRIBE", "b"]), published("b", "two\nlines") + &published("a", "\u{e9}")),
        (command(&["UNSUBSCRIBE", "a"]), published("a", "late")),
    ]];
    let (heard, told, broker) = play(
        &[
            (500, 0, get("/events?room=a")),
            (1_000, 1, get("/events?room=b")),
            (1_500, 0, Do::Leave),
            (2_500, 2, get("/events?room=b")),
        ],
        Broker::Redis,
        scripted,
    );
    assert_eq!(heard.stream(0).0, "\r\ndata: hi\n\ndata: \u{e9}\n\n");
    assert_eq!(heard.stream(1).0, "\r\ndata: two\ndata: lines\n\n");
    assert_eq!(heard.stream(2).0, "\r\n", "a room is subscribed to once");
    assert_eq!(told, Vec::<String>::new());
    assert!(broker.connections[0].script.is_empty());
    let (published, delivered) = (heard.totals.published, heard.totals.delivered);
    assert_eq!((published, delivered), (5, 3));
    assert_eq!(heard.totals.feeds, FeedTotals { published: 5, opened: 1, failed: 0 });
}

#[test]
fn what_is_published_at_nats_goes_to_the_room_of_the_same_name() {
    let scripted = vec![vec![
        (String::new(), INFO.to_owned()),
        ("PING\r\n".to_owned(), "PONG\r\nPING\r\n".to_owned()),
        ("PONG\r\n".to_owned(), String::new()),
        ("SUB a.b 1\r\n".to_owned(), "MSG a.b 1 2\r\nhi\r\n".to_owned()),
        ("UNSUB 1\r\n".to_owned(), String::new()),
    ]];
    let (heard, told, broker) = play(
        &[
            (500, 0, get("/events?room=a.b")),
            (600, 1, get("/events?room=*")), // No subject has this name: it is a wildcard.
            (1_000, 0, Do::Leave),
            (2_000, 2, get("/events?room=c")),
        ],
        Broker::Nats,
        scripted,
    );
    assert_eq!(heard.stream(0).0, "\r\ndata: hi\n\n");
    assert_eq!(heard.stream(1).0, "\r\n");
    assert_eq!(told, Vec::<String>::new());
    let connection = &broker.connections[0];
    assert!(connection.script.is_empty(), "{:?}", connection.script);
    assert!(!connection.all.contains("SUB *"), "{}", connection.all);
    assert!(connection.all.ends_with("SUB c 2\r\n"), "{}", connection.all);
}

#[test]
fn a_broker_that_is_lost_is_tried_again_ever_later_and_told_all_rooms() {
    let close = || CLOSE.to_owned();
    let subscribed = command(&["SUBSCRIBE", "a"]);
    let scripted = vec![
        vec![(command(&["PING"]), PONG.to_owned()), (subscribed.clone(), close())],
        vec![(String::new(), close())],
        vec![(String::new(), close())],
        vec![(String::new(), "HTTP/1.1 400 Bad Request\r\n\r\n".to_owned())],
        vec![
            (command(&["PING"]), PONG.to_owned()),
            (subscribed, published("a", "again")),
            (command(&["PING"]), PONG.to_owned()),
        ],
    ];
    let script = [(500, 0, get("/events?room=a")), (15_000, 1, get("/none/at/all"))];
    let (heard, told, broker) = play(&script, Broker::Redis, scripted);
    assert_eq!(heard.stream(0).0, "\r\ndata: again\n\n", "its receivers have stayed");
    let name = "redis://broker";
    assert_eq!(
        told,
        [
            format!("{name}: lost: the connection ended; trying again"),
            format!(
                "{name}: cannot subscribe: Redis: got \"H\", expected a reply of Redis; trying again"
            ),
            format!("{name}: connected again"),
        ],
        "the same reason is reported once"
    );
    let at: Vec<u64> = broker.connections.iter().map(|it| it.at.0 / 1_000_000).collect();
    let apart: Vec<u64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let expected = [100, 200, 400, 800];
    // The first was open for half a second, and the relay looks every 100 ms.
    let holds =
        apart[1..].iter().zip(&expected[1..]).all(|(is, least)| (*least..least + 250).contains(is));
    assert!(holds && apart.len() == 4, "{apart:?}");
    assert_eq!(heard.totals.feeds, FeedTotals { published: 1, opened: 2, failed: 4 });
}

#[test]
fn a_broker_is_tried_at_all_of_its_addresses_before_it_is_said_to_be_away() {
    let nobody: Vec<_> =
        [3, 4].map(|host| Address::Tcp(([10, 0, 0, host], 6379).into())).into_iter().collect();
    let taken = vec![
        (command(&["PING"]), PONG.to_owned()),
        (command(&["SUBSCRIBE", "a"]), published("a", "hi")),
    ];
    let script = [(500, 0, get("/events?room=a")), (1_000, 1, get("/none/at/all"))];
    let (heard, told, broker) =
        play_with(&script, Broker::Redis, None, nobody.clone(), vec![taken.clone()]);
    assert_eq!((heard.stream(0).0, told), ("\r\ndata: hi\n\n".to_owned(), vec![]));
    assert!(broker.connections[0].at < Instant(100_000_000), "they are tried at once");
    assert_eq!(heard.totals.feeds, FeedTotals { published: 1, opened: 1, failed: 2 });
    // When all have failed, the first one is next, after a while.
    let scripted = vec![vec![(String::new(), CLOSE.to_owned())], taken];
    let (heard, told, broker) = play_with(&script, Broker::Redis, None, nobody, scripted);
    assert_eq!(told, ["redis://broker: cannot subscribe: the connection ended; trying again"]);
    let [first, second] = &broker.connections[..] else { panic!("two connections reach it") };
    assert!(second.at.since(first.at) >= Nanos::from_millis(100));
    assert_eq!(heard.totals.feeds, FeedTotals { published: 1, opened: 1, failed: 5 });
}

#[test]
fn a_broker_that_refuses_or_is_none_is_named_with_its_reason_and_the_relay_goes_on() {
    #[rustfmt::skip]
    let table = [
        (Broker::Redis, "-NOAUTH Authentication required.\r\n", "Redis requires a login, and none was given"),
        (Broker::Redis, "-ERR max number of clients reached\r\n", "Redis refuses: \"ERR max number of clients reached\""),
        (Broker::Redis, "\u{0}\u{1}\u{2}garbage",             "Redis: got \"\\x00\", expected a reply of Redis"),
        (Broker::Redis, ":1\r\n",                             "Redis: got \":1\", expected PONG"),
        (Broker::Redis, CLOSE,                                "the connection ended"),
        (Broker::Redis, "",                                   "it has sent nothing for 10 s"),
        (Broker::Nats,  "INFO {\"auth_required\":true}\r\n",  "NATS requires a login, and none was given"),
        (Broker::Nats,  "INFO {\"tls_required\":true}\r\n",   "NATS requires TLS, which wirebench does not support for it"),
        (Broker::Nats,  "-ERR 'maximum connections exceeded'\r\n", "NATS refuses: \"maximum connections exceeded\""),
        (Broker::Nats,  "+PONG\r\n",                          "NATS: got \"+PONG\", expected INFO"),
    ];
    for (kind, answer, reason) in table {
        let scripted = vec![vec![(String::new(), answer.to_owned())]; 20];
        let script = [
            (500, 0, get("/events?room=a")),
            (25_000, 1, crate::relay_over_http::say("POST", "/publish?room=a", "", "x")),
        ];
        let (heard, told, _) = play(&script, kind, scripted);
        assert!(told.len() == 1 && told[0].contains(reason), "{answer:?}: {told:?}");
        assert_eq!(heard.stream(0).0, "\r\ndata: x\n\n", "{answer:?}");
        let FeedTotals { published, opened, failed } = heard.totals.feeds;
        assert!((published, opened) == (0, 0) && failed > 1, "{answer:?}: {failed}");
    }
}

#[test]
fn a_subscription_that_is_refused_is_told_once_and_the_others_go_on() {
    let redis = "-NOPERM No permissions to access a channel\r\n";
    let nats = "-ERR 'Permissions Violation for Subscription to \"x\"'\r\n";
    let subscribe = |channel| command(&["SUBSCRIBE", channel]);
    let table = [
        (
            Broker::Redis,
            vec![
                (command(&["PING"]), PONG.to_owned()),
                (subscribe("x"), redis.to_owned()),
                (subscribe("y"), redis.to_owned()),
                (subscribe("a"), published("a", "hi")),
            ],
            "\"NOPERM No permissions to access a channel\"",
        ),
        (
            Broker::Nats,
            vec![
                (String::new(), INFO.to_owned()),
                ("PING\r\n".to_owned(), "PONG\r\n".to_owned()),
                ("SUB x 1\r\n".to_owned(), nats.to_owned()),
                ("SUB y 2\r\n".to_owned(), "-ERR 'maximum subscriptions exceeded'\r\n".to_owned()),
                ("SUB a 3\r\n".to_owned(), "MSG a 3 2\r\nhi\r\n".to_owned()),
            ],
            "\"Permissions Violation for Subscription to \\\"x\\\"\"",
        ),
    ];
    for (kind, scripted, reason) in table {
        let script = [
            (500, 0, get("/events?room=x")),
            (1_000, 1, get("/events?room=y")),
            (1_500, 2, get("/events?room=a")),
        ];
        let (heard, told, broker) = play(&script, kind, vec![scripted]);
        assert_eq!(heard.stream(2).0, "\r\ndata: hi\n\n", "{kind}");
        let words =
            format!("redis://broker: refused a subscription: {reason}; the others continue");
        assert_eq!(told, [words]);
        assert!(broker.connections[0].script.is_empty(), "{kind}");
        assert_eq!(heard.totals.feeds, FeedTotals { published: 1, opened: 1, failed: 0 });
    }
}

#[test]
fn a_connection_that_fails_once_it_is_open_is_told_once_for_each_reason() {
    let opened = (command(&["PING"]), PONG.to_owned());
    for (answer, reason) in [
        ("-ERR no such thing\r\n", "refuses: \"ERR no such thing\""),
        ("", "it did not answer a ping within 10 s"),
    ] {
        let subscribe = (command(&["SUBSCRIBE", "a"]), answer.to_owned());
        let scripted = vec![vec![opened.clone(), subscribe.clone()]; 200];
        let script = [(500, 0, get("/events?room=a")), (45_000, 1, get("/none/at/all"))];
        let (heard, told, broker) = play(&script, Broker::Redis, scripted);
        assert!(told[0].contains(": lost: ") && told[0].contains(reason), "{told:?}");
        assert_eq!(told.len(), 1, "{told:?}");
        let FeedTotals { opened, failed, .. } = heard.totals.feeds;
        assert!(opened >= 2 && (1..=opened).contains(&failed), "{opened} {failed}");
        assert!(broker.connections.len() < 20, "it waits between two attempts");
    }
}

#[test]
fn a_broker_that_is_quiet_is_asked_for_a_sign_of_life() {
    let pong = || (command(&["PING"]), PONG.to_owned());
    let scripted = vec![vec![pong(), pong(), pong(), pong()]];
    let script = [(500, 0, get("/events?room=a")), (35_000, 1, get("/none/at/all"))];
    let (heard, told, broker) = play(&script, Broker::Redis, scripted);
    assert_eq!(told, Vec::<String>::new());
    assert_eq!(broker.connections[0].all.matches("PING").count(), 4);
    assert_eq!(heard.totals.feeds, FeedTotals { published: 0, opened: 1, failed: 0 });
}

#[test]
fn subscriptions_of_many_rooms_may_go_out_at_once() {
    let rooms = 61 * 1024;
    let rest = "x".repeat(250);
    let joins = |session: usize| {
        let joins = (0..1024).map(|room| format!("\"join {:06}{rest}\"", 1024 * session + room));
        format!("[{}]", joins.collect::<Vec<_>>().join(","))
    };
    let mut script = Vec::new();
    for session in 0..61 {
        let (at, name) = (30 * session as u64, format!("s{session}"));
        script.push((at, 0, poll(&name)));
        script.push((at + 10, 1, post(&name, &joins(session))));
    }
    script.push((4_000, 2, get("/none/at/all")));
    // The broker takes subscriptions only once the rooms are there.
    let mut scripted = vec![vec![(String::new(), CLOSE.to_owned())]; 5];
    scripted.push(vec![(command(&["PING"]), PONG.to_owned())]);
    let (heard, told, broker) = play(&script, Broker::Redis, scripted);
    assert_eq!(told, ["redis://broker: cannot subscribe: the connection ended; trying again"]);
    let last = broker.connections.last().unwrap();
    assert_eq!(last.all.matches("SUBSCRIBE").count(), rooms);
    assert!(last.all.len() > 16 << 20 && !last.has_ended);
    assert_eq!(heard.totals.feeds.opened, 1);
}

#[test]
fn a_relay_that_ends_delivers_what_a_broker_has_published_and_leaves_it() {
    let scripted = vec![vec![
        (command(&["PING"]), PONG.to_owned()),
        (command(&["SUBSCRIBE", "a"]), published("a", "last")),
    ]];
    let script = [(500, 0, get("/events?room=a")), (1_000, 0, Do::End)];
    let (heard, told, broker) = play(&script, Broker::Redis, scripted);
    assert_eq!(heard.stream(0), ("\r\ndata: last\n\n".to_owned(), true));
    assert_eq!(told, Vec::<String>::new());
    assert!(broker.connections[0].has_ended, "the relay leaves it");
}

#[test]
fn a_login_is_said_to_the_broker_and_to_nobody_else() {
    let login = Login { user: Some("ada".to_owned()), password: "hush".to_owned() };
    let scripted = vec![
        vec![(
            command(&["AUTH", "ada", "hush"]) + &command(&["PING"]),
            "-ERR unknown command `AUTH`, with args beginning with: `ada` `hush`\r\n".to_owned(),
        )];
        20
    ];
    let script = [(500, 0, get("/events?room=a")), (2_000, 1, get("/none/at/all"))];
    let (_, told, broker) = play_with(&script, Broker::Redis, Some(login), vec![], scripted);
    assert!(broker.connections[0].script.is_empty());
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("Redis refuses: \"***\"") && !told[0].contains("hush"), "{told:?}");
}

fn play(
    script: &[(u64, usize, Do)],
    kind: Broker,
    scripted: Vec<Vec<(String, String)>>,
) -> (Heard, Vec<String>, Scripted) {
    play_with(script, kind, None, vec![], scripted)
}

/// Plays clients against a relay that subscribes at a broker with a script for each connection: once it has received
/// one text, it sends the other. Its name also has the addresses `elsewhere`, where nobody listens. Also returns what
/// the relay has reported about it.
fn play_with(
    script: &[(u64, usize, Do)],
    kind: Broker,
    login: Option<Login>,
    elsewhere: Vec<Address>,
    scripted: Vec<Vec<(String, String)>>,
) -> (Heard, Vec<String>, Scripted) {
    let address = Address::Tcp(([10, 0, 0, 2], 6379).into());
    let feed = Feed {
        broker: kind,
        name: "redis://broker".to_owned(),
        addresses: [elsewhere, vec![address.clone()]].concat(),
        login,
        message_max: 1 << 10,
    };
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let all = Arc::clone(&told);
    let mut broker =
        Scripted { scripts: scripted.into_iter().rev().collect(), ..Scripted::default() };
    let heard = play_beside(
        script,
        |relay| {
            relay.with_feeds(vec![feed], move |words| all.lock().unwrap().push(words.to_owned()))
        },
        Some((&address, &mut broker)),
    );
    let told = std::mem::take(&mut *told.lock().unwrap());
    (heard, told, broker)
}

/// A broker that answers by a script.
#[derive(Default)]
struct Scripted {
    /// The scripts of the connections that have not been made yet, the next one last.
    scripts: Vec<Vec<(String, String)>>,
    connections: Vec<Played>,
    rx: Vec<u8>,
}

/// A connection to the broker.
struct Played {
    id: ConnectionId,
    at: Instant,
    script: Vec<(String, String)>,
    /// Everything that it was told, and the part that is not answered yet.
    all: String,
    rest: String,
    has_ended: bool,
}

impl Played {
    fn answer(&mut self, engine: &mut Sim) {
        while let Some((awaited, _)) = self.script.first()
            && let Some(at) = self.rest.find(awaited.as_str())
        {
            self.rest.drain(..at + awaited.len());
            let (_, answer) = self.script.remove(0);
            if answer == CLOSE {
                engine.shutdown(self.id);
            } else {
                engine.send(self.id, answer.as_bytes());
            }
        }
    }
}

impl Node<Sim> for Scripted {
    fn step(&mut self, engine: &mut Sim) -> Step {
        self.rx.resize(1 << 16, 0);
        while let Some(completion) = engine.complete(&mut self.rx) {
            match completion {
                Completion::Accepted(id) => {
                    let script = self.scripts.pop().unwrap_or_default();
                    let (all, rest, at) = (String::new(), String::new(), engine.now());
                    let mut played = Played { id, at, script, all, rest, has_ended: false };
                    played.answer(engine);
                    self.connections.push(played);
                }
                Completion::Received { connection, len } => {
                    let said = String::from_utf8(self.rx[..len].to_vec()).unwrap();
                    let of = self.connections.iter_mut().find(|it| it.id == connection).unwrap();
                    of.all.push_str(&said);
                    of.rest.push_str(&said);
                    of.answer(engine);
                }
                Completion::Ended(id) | Completion::Failed(id, _) => {
                    let of = self.connections.iter_mut().find(|it| it.id == id).unwrap();
                    of.has_ended = true;
                    engine.close(id);
                }
                Completion::Connected(_) => {}
            }
        }
        Step::Wait(Instant::NEVER)
    }
}

/// A Redis command.
fn command(words: &[&str]) -> String {
    let words = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len()));
    let words: Vec<String> = words.collect();
    format!("*{}\r\n{}", words.len(), words.concat())
}

/// A Redis message.
fn published(channel: &str, text: &str) -> String {
    command(&["message", channel, text])
}

/// The answer of a broker that ends the connection.
const CLOSE: &str = "(close)";
