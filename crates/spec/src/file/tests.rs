//! Files and the experiments that they become.

use super::*;
use crate::{AxisOf, Content, Context, Criteria, Experiment, Load, Protocol, Stop};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use units::{Bytes, Count, Nanos};

/// Subjects with the facts in which their manifests differ from the usual ones.
struct Those(BTreeMap<&'static str, Result<Facts, String>>);

impl Subjects for Those {
    fn find(&self, name: &str) -> Result<Result<Facts, String>, String> {
        self.0.get(name).cloned().ok_or_else(|| format!("there is no subject `{name}`"))
    }

    fn ready(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn refusal(&self, name: &str, method: &str, path: &str) -> Option<String> {
        (name == "files" && (method != "GET" || path != "/64"))
            .then(|| format!("not `{method} {path}`"))
    }
}

fn those() -> Those {
    let usual = |name: &str, role, speaks: &[&str]| Facts {
        name: name.to_owned(),
        role,
        speaks: speaks.iter().map(|it| (*it).to_owned()).collect(),
        conversations: Vec::new(),
        replies: false,
        works: false,
        text_only: false,
        connections_max: None,
        why: "select".to_owned(),
    };
    let server = Role::Server;
    let all = [
        ("plain", Ok(usual("plain", server, &["tcp", "ws"]))),
        (
            "replying",
            Ok(Facts { replies: true, works: true, ..usual("replying", server, &["ws", "wss"]) }),
        ),
        ("small", Ok(Facts { connections_max: Some(100), ..usual("small", server, &["ws"]) })),
        ("texts", Ok(Facts { text_only: true, ..usual("texts", server, &["ws"]) })),
        ("files", Ok(usual("files", server, &["http"]))),
        ("relay", Ok(Facts { conversations: of_relay(), ..usual("relay", server, &["tcp"]) })),
        ("talker", Ok(Facts { conversations: held(), ..usual("talker", server, &["ws", "tcp"]) })),
        ("library", Ok(usual("library", Role::Client, &["ws"]))),
        (
            "tabs",
            Ok(Facts {
                conversations: of_tabs(),
                ..usual("tabs", Role::Client, &["ws", "sockjs", "socketio"])
            }),
        ),
        ("absent", Err("not installed".to_owned())),
    ];
    Those(all.into())
}

fn held() -> Vec<Held> {
    vec![
        ready_made("json-rpc", &[Protocol::WebSocket], [false; 2]),
        ready_made("graphql-ws", &[Protocol::WebSocket], [false; 2]),
    ]
}

/// Conversations in whose rooms a client receives.
fn of_tabs() -> Vec<Held> {
    vec![
        ready_made("room", &[Protocol::WebSocket, Protocol::SockJs], [true, false]),
        // It can be held over WebSocket, too, but not by a client of SockJS.
        ready_made("room-socketio", &[Protocol::WebSocket, Protocol::SocketIo], [true, false]),
    ]
}

/// Conversations of a relay: one without rooms, and one that is only held in rooms.
fn of_relay() -> Vec<Held> {
    vec![
        ready_made("resp", &[Protocol::Tcp], [false; 2]),
        ready_made("redis-rooms", &[Protocol::Tcp], [true; 2]),
    ]
}

fn ready_made(
    name: &str,
    carriers: &'static [Protocol],
    [has_rooms, needs_rooms]: [bool; 2],
) -> Held {
    let (name, asked) = (name.to_owned(), name.to_owned());
    Held { name, asked, carriers, has_rooms, needs_rooms }
}

fn asked(quick: bool, only: &[&str]) -> Asked {
    let only = only.iter().map(|name| (*name).to_owned()).collect();
    Asked { quick, only, ..Asked::default() }
}

fn made_with(text: &str, asked: &Asked) -> Result<Experiment, String> {
    let read = |path: &str, _: Bytes| Err(format!("cannot read {path}"));
    let pack = |_: &str, json: &[u8], _: bool| Ok(json.to_vec());
    let context = Context { read: &read, environment: &|_| None, pack: &pack, seed: 7 };
    File::read("x.toml", text)?.experiment(asked, &those(), &context)
}

fn made(text: &str, quick: bool, only: &[&str]) -> Result<Experiment, String> {
    made_with(&format!("question = 'q'\n{text}"), &asked(quick, only))
}

fn names(experiment: &Experiment) -> Vec<&str> {
    experiment.workloads.iter().map(|workload| workload.name.as_str()).collect()
}

const LOAD: &str = "[[load]]\nname = 'l'\nconnections = 50\n";

#[test]
fn a_row_is_a_product_as_far_as_manifests_allow_it() {
    let text = format!(
        "{LOAD}[[row]]\nserver = ['plain', 'replying', 'embedded']\ntransport = ['tcp', 'ws']\n"
    );
    let made = made(&text, false, &[]).unwrap();
    let expected = ["tcp", "plain tcp", "plain ws", "replying ws", "embedded tcp", "embedded ws"];
    assert_eq!(names(&made), expected);
    assert!(made.left_out.is_empty(), "replying is in another row: {:?}", made.left_out);
    let bases: Vec<_> = made.workloads.iter().map(|workload| workload.baseline).collect();
    assert_eq!(bases, [None, Some(0), Some(0), Some(0), Some(0), Some(0)]);
    assert_eq!((made.rounds, made.baseline), (10, Some(0)));
}

#[test]
fn row_zero_is_there_for_every_load_that_is_kept() {
    let text = "[quick]\nloads = 'b'\n[[load]]\nname = 'a'\n[[load]]\nname = 'b'\nquick = { connections = 7 }\n\
        [[row]]\nserver = 'plain'\ntransport = 'ws'\n[[row]]\nname = 'n'\nserver = 'plain'\nload = 'a'\ntransport = 'tcp'\n";
    let all = made(text, false, &[]).unwrap();
    assert_eq!(names(&all), ["tcp @ a", "tcp @ b", "plain ws @ a", "plain ws @ b", "n @ a"]);
    assert_eq!(all.workloads[3].baseline, Some(1));
    let quick = made(text, true, &[]).unwrap();
    assert_eq!(names(&quick), ["tcp @ b", "plain ws @ b"]);
    assert_eq!(quick.workloads[0].load.connections().get(), 7);
}

#[test]
fn subjects_that_cannot_take_part_are_left_out_with_the_reason() {
    #[rustfmt::skip]
    let table = [
        ("server = 'absent'\ntransport = 'ws'",                       "absent", "not installed"),
        ("server = 'plain'\ntransport = 'wss'",                       "plain", "it speaks tcp, ws, not wss"),
        ("server = 'plain'\nclient = 'library'\ntransport = 'tcp'",   "library", "it speaks ws, not tcp"),
        ("server = 'plain'\nreply = 'Pong'\ntransport = 'ws'",        "plain", "it can only echo"),
        ("server = 'texts'\ntransport = 'ws'",                        "texts", "it accepts only text"),
        ("server = 'small'\nload = 'm'\ntransport = 'ws'",            "small ws @ m", "at most 100 connections: select"),
        ("server = 'files'\nload = 'm'\ntransport = 'http'",          "files http @ m", "files: not `POST /`"),
    ];
    for (row, name, reason) in table {
        let text = format!("{LOAD}[[load]]\nname = 'm'\nconnections = 101\n[[row]]\n{row}\n");
        let left_out = made(&text, false, &[]).unwrap().left_out;
        assert_eq!(left_out.len(), 1, "{row}: {left_out:?}");
        assert_eq!(left_out[0].name, name, "{row}");
        assert!(left_out[0].reason.contains(reason), "{row}: {left_out:?}");
    }
    let text = format!(
        "{LOAD}[[row]]\nserver = 'files'\ntransport = 'http'\nmethod = 'GET'\npath = '/64'\n"
    );
    assert!(made(&text, false, &[]).unwrap().left_out.is_empty());
}

#[test]
fn a_server_that_holds_conversations_is_measured_with_each_of_them() {
    let both = ["talker ws json-rpc", "talker ws graphql-ws"];
    #[rustfmt::skip]
    let table: [(&str, &[&str]); 5] = [
        ("transport = 'ws'",                                             &both),
        // The conversations have no payload of a size; over TCP the server echoes.
        ("transport = ['ws', 'tcp']\nsize = '64B'",                      &[both[0], both[1], "talker tcp"]),
        ("transport = 'ws'\nconversation = 'json-rpc'",                  &[both[0]]),
        ("name = 'n'\ntransport = 'ws'\nconversation = 'json-rpc'",      &["n"]),
        ("name = 'n'\ntransport = 'ws'",                                 &["n json-rpc", "n graphql-ws"]),
    ];
    for (row, expected) in table {
        let made = made(&format!("{LOAD}[[row]]\nserver = 'talker'\n{row}\n"), false, &[]).unwrap();
        assert_eq!(names(&made)[1..], *expected, "{row}");
        for workload in &made.workloads {
            let of_name = workload.conversation.as_ref().is_some_and(|it| {
                workload.name.ends_with(&it.name) || row.contains(&format!("'{}'", it.name))
            });
            let echoes = workload.name.ends_with("tcp");
            assert_eq!(of_name, !echoes, "{}", workload.name);
        }
    }
    let left_out = |row: &str| {
        let text = format!("{LOAD}[[row]]\nserver = 'talker'\ntransport = 'ws'\n{row}\n");
        made(&text, false, &[]).unwrap().left_out
    };
    #[rustfmt::skip]
    let table = [
        ("conversation = 'socketio'", "talker",  "over ws it holds json-rpc, graphql-ws, not the conversation socketio"),
        ("client = 'library'",        "library", "it sends echoes, and talker holds the conversation json-rpc over ws"),
    ];
    for (row, name, reason) in table {
        let left = left_out(row);
        assert_eq!((left.len(), left[0].name.as_str(), left[0].reason.as_str()), (1, name, reason));
    }
}

#[test]
fn a_relay_is_measured_in_rooms_with_what_has_rooms_and_else_with_what_can_be_asked() {
    let row = "[[row]]\nserver = 'relay'\ntransport = 'tcp'\n";
    let plain = made(&format!("{LOAD}{row}"), false, &[]).unwrap();
    assert_eq!(names(&plain)[1..], ["relay tcp resp"]);
    let rooms =
        "publish = '10/s'\nreceivers = 2\nduration = '1s'\nbaseline = 'relay tcp redis-rooms'\n";
    let in_rooms = made(&format!("{rooms}{row}"), false, &[]).unwrap();
    assert_eq!(names(&in_rooms), ["relay tcp redis-rooms"]);
}

#[test]
fn a_row_of_our_relay_is_there_for_each_transport_that_it_speaks() {
    let rooms = "publish = '10/s'\nreceivers = 2\nduration = '1s'\nbaseline = 'embedded ws'\n";
    let row = |schemes: &[&str], conversation: &str| {
        format!(
            "[[row]]\nserver = 'embedded'\ntransport = {schemes:?}\nconversation = '{conversation}'\n"
        )
    };
    let schemes = ["ws", "sockjs", "sockjs+xhr", "sockjs+jsonp", "wss"];
    let rows = [row(&schemes, "room"), row(&["tcp", "socketio+polling"], "room-socketio")].concat();
    let all = made(&format!("{rooms}{rows}"), false, &[]).unwrap();
    let expected = ["ws", "sockjs", "sockjs+xhr", "sockjs+jsonp", "wss", "socketio+polling"];
    assert_eq!(names(&all), expected.map(|scheme| format!("embedded {scheme}")));
    assert!(all.left_out.is_empty(), "it is in other rows: {:?}", all.left_out);
    // Without rooms it would have to echo.
    let text =
        format!("{LOAD}{}[[row]]\nserver = 'plain'\ntransport = 'ws'\n", row(&["sockjs"], "room"));
    let echoes = made(&text, false, &[]).unwrap();
    assert_eq!(echoes.left_out[0].reason, "none of our servers echoes over sockjs");
}

#[test]
fn a_client_that_only_receives_has_the_rooms_of_our_relay_and_no_other_row() {
    let rooms = "publish = '10/s'\nreceivers = 2\nduration = '1s'\nbaseline = 'embedded ws'\n\
                 [[row]]\nserver = 'embedded'\ntransport = 'ws'\nconversation = 'room'\n";
    let row = |server: &str| {
        format!(
            "[[row]]\nserver = '{server}'\nclient = 'tabs'\ntransport = ['ws', 'sockjs', 'socketio']\n"
        )
    };
    let all = made(&format!("{rooms}{}", row("embedded")), false, &[]).unwrap();
    let of_client = |it: &&crate::Workload| it.client.is_some();
    let held = |it: &crate::Workload| it.conversation.as_ref().map(|it| it.name.clone());
    let found: Vec<_> = all.workloads.iter().filter(of_client).filter_map(held).collect();
    assert_eq!(found, ["room", "room", "room-socketio"]);
    assert!(all.left_out.is_empty(), "{:?}", all.left_out);
    let left_out = |text: String| made(&text, false, &[]).unwrap().left_out[0].reason.clone();
    let of_others =
        left_out(format!("{rooms}{}", row("talker").replace(", 'sockjs', 'socketio'", "")));
    assert_eq!(of_others, "it receives only from our relay, not from talker");
    let plain = "[[row]]\nserver = 'plain'\ntransport = 'ws'\n";
    let echoes =
        left_out(format!("{LOAD}{plain}{}", row("embedded").replace(", 'sockjs', 'socketio'", "")));
    assert!(echoes.starts_with("it receives what is published in rooms"), "{echoes}");
}

#[test]
fn rows_are_compared_with_the_row_that_they_name_under_the_same_load() {
    let text = format!(
        "{LOAD}[[row]]\nname = 'a'\nserver = 'plain'\ntransport = 'ws'\n\
         [[row]]\nname = 'b'\nserver = 'replying'\ntransport = 'ws'\nbase = 'a'\nlayer = {{ over = 'a', adds = 'x' }}\n"
    );
    let both = made(&text, false, &[]).unwrap();
    assert_eq!(both.workloads[2].baseline, Some(1));
    let layer = &both.layers[0];
    assert_eq!((layer.workload, layer.base, &layer.name[..]), (2, 1, "x"));
    // Without that row, the base is row zero, and there is no layer.
    let alone = made(&text, false, &["b"]).unwrap();
    assert_eq!(names(&alone), ["tcp", "b"]);
    assert_eq!((alone.workloads[1].baseline, alone.layers.len()), (Some(0), 0));
}

#[test]
fn problems_are_named_with_their_place() {
    #[rustfmt::skip]
    let table = [
        ("server = 'nobody'\ntransport = 'ws'",                   "x.toml:6:10: there is no subject `nobody`"),
        ("server = 'library'\ntransport = 'ws'",                  "x.toml:6:10: `library` is a client, no server"),
        ("server = 'plain'\ntransport = 'pigeon'",                "x.toml:7:13: no transport is called `pigeon`; there are tcp,"),
        ("server = 'plain'\ntransport = 'ws'\nbase = 'another'",  "x.toml:8:8: no row is called `another`"),
        ("server = 'plain'\ntransport = 'ws'\ncolour = 1",        "x.toml:8:1: unknown field `colour`, expected one of `connections`"),
        ("server = 'plain'\ntransport = 'ws'\nsize = 64",         "x.toml:8:8: invalid type: integer `64`, expected a size with its unit, e.g. \"64KiB\""),
        ("server = 'plain'\ntransport = 'ws'\nload = 'x'",        "x.toml:8:8: no load is called `x`; there are l"),
        ("server = 'plain'",                                      "x.toml:6:10: a row has both a `server` and a `transport`"),
        ("url = 'ws://h'\nwork = '1us'",                          "x.toml:7:8: `work` is what our servers and subjects do"),
        ("url = 'ws://h'\nserver-cpus = 2",                       "x.toml:7:15: `server-cpus` are those of a subject"),
        ("server = 'plain'\ntransport = 'ws'\nserver-cpus = 0",   "x.toml:8:15: "),
        ("url = 'ws:/h'",                                         "x.toml:6:7: "),
        ("name = 'a'\nserver = 'plain'\ntransport = 'ws'\nmethod = 'GET'", "x.toml:6:8: method: does not apply to ws://"),
        ("server = ['plain', 'plain']\ntransport = 'ws'",         "x.toml: two rows are called `plain ws`"),
    ];
    for (row, problem) in table {
        let text = format!("{LOAD}\n[[row]]\n{row}\n").replacen("\n\n", "\n", 1);
        let error = made(&text, false, &[]).unwrap_err();
        assert!(error.starts_with(problem), "{row}: {error}");
    }
    let text = format!("{LOAD}[[row]]\nserver = 'plain'\ntransport = 'ws'\n");
    assert!(made(&text, false, &["none"]).unwrap_err().contains("--only"));
    assert!(made("row = 3", false, &[]).unwrap_err().contains("x.toml:2:7: expected `[[row]]`"));
    assert!(made("", false, &[]).unwrap_err().contains("no `[[row]]`"));
    assert!(made("question =", false, &[]).unwrap_err().starts_with("x.toml:2:"));
}

#[test]
fn a_block_ends_after_its_time_unless_the_options_say_more() {
    let text = "text = true\nreply = 'Pong'\npayload = 'Ping'\n[[load]]\nname = 'l'\n\
        [[load]]\nname = 'm'\nmessages = 9\n[[row]]\nserver = 'replying'\ntransport = 'wss'\n";
    let made = made(text, false, &[]).unwrap();
    let [tcp, tcp_9, _, wss_9] = &made.workloads[..] else { panic!("{:?}", names(&made)) };
    assert_eq!(tcp.phases.stop, Stop::After(Nanos::from_secs(1)));
    assert_eq!(tcp.phases.warm_up, Nanos::from_millis(200));
    assert_eq!(
        tcp.message.content,
        Content::Given { source: "Ping".to_owned(), bytes: b"Ping".as_slice().into() }
    );
    assert!(!tcp.message.text && wss_9.message.text, "text where the transport knows it");
    assert!(matches!(tcp_9.phases.stop, Stop::Messages(count) if count.get() == 9));
    assert_eq!(wss_9.server.answer().reply.as_deref(), Some("Pong"));
    assert_eq!(wss_9.expect, crate::Expect::Exactly(b"Pong".as_slice().into()));
}

#[test]
fn the_work_of_servers_is_that_of_the_row_the_load_or_the_file() {
    let text = "work = '1us'\nserver-cpus = 2\n[[load]]\nname = 'l'\n[[load]]\nname = 'm'\nwork = '2us'\n\
        [[row]]\nserver = ['replying', 'plain']\ntransport = 'ws'\n\
        [[row]]\nname = 'idle'\nserver = 'plain'\ntransport = 'ws'\nload = 'm'\nwork = '0us'\nserver-cpus = 3\n";
    let made = made(text, false, &[]).unwrap();
    let of = |name: &str| {
        let server = &made.workloads.iter().find(|it| it.name == name).unwrap().server;
        (server.answer().work.map(|work| work.0), server.cpus().map(NonZeroU32::get))
    };
    assert_eq!(of("tcp @ l"), (Some(1000), None), "the baseline works as well");
    assert_eq!(of("tcp @ m"), (Some(2000), None));
    assert_eq!(of("replying ws @ l"), (Some(1000), Some(2)));
    assert_eq!(of("replying ws @ m"), (Some(2000), Some(2)));
    assert_eq!(of("idle @ m"), (None, Some(3)));
    let left: Vec<String> =
        made.left_out.iter().map(|it| format!("{}: {}", it.name, it.reason)).collect();
    let why = |load, work| {
        format!("plain ws @ {load}: plain: it cannot simulate {work} of work before it answers")
    };
    assert_eq!(left, [why("l", "1 us"), why("m", "2 us")]);
}

#[test]
fn a_quick_run_is_shorter_whether_the_file_says_how_or_not() {
    let text =
        format!("rounds = 9\nduration = '1s'\n{LOAD}[[row]]\nserver = 'plain'\ntransport = 'ws'\n");
    let quick = made(&text, true, &[]).unwrap();
    assert_eq!(
        (quick.rounds, quick.workloads[1].phases.stop),
        (3, Stop::After(Nanos::from_millis(300)))
    );
    let said = format!(
        "[quick]\nrounds = 2\nduration = '100ms'\n{LOAD}[[row]]\nserver = 'plain'\ntransport = 'ws'\n"
    );
    let quick = made(&said, true, &[]).unwrap();
    assert_eq!(
        (quick.rounds, quick.workloads[1].phases.stop),
        (2, Stop::After(Nanos::from_millis(100)))
    );
}

#[test]
fn an_axis_makes_lines_of_rows() {
    let text = "question = 'which?'\nlobby = '10%'\n[axis]\nof = 'bots'\nfrom = 200\nfactor = 1.5\nevery = '2s'\n\
        bots-max = 300\nslo = 'p99<50ms'\n[quick]\naxis = { repeats = 1 }\n\
        [[row]]\nname = 'a'\nserver = 'embedded'\ntransport = 'game'\nserve-options = ['--threads', '2']\n\
        [[row]]\nname = 'b'\nurl = 'tcp://127.0.0.1:9'\nsize = '32B'\n";
    let made = made_with(text, &asked(true, &[])).unwrap();
    let axis = made.axis.as_ref().unwrap();
    assert_eq!((axis.of, axis.from, axis.factor, axis.repeats), (AxisOf::Bots, 200, 1.5, 1));
    assert_eq!(axis.slo.unwrap().to_string(), "p99 < 50ms");
    assert_eq!((names(&made), made.baseline, made.rounds), (vec!["a", "b"], None, 1));
    let bots = |load| axis.at(&made.workloads[0], load, 2).unwrap();
    assert_eq!(bots(200).name, "a 200 bots");
    assert!(matches!(bots(200).load, Load::Bots { every, .. } if every == Nanos::from_secs(2)));
    // The number of bots stays the same, and each of them sends more.
    assert_eq!(bots(600).name, "a 300/s");
    assert!(
        matches!(bots(600).load, Load::Bots { bots, every, .. } if bots.get() == 300 && every == Nanos::from_secs(1))
    );
    let of_rate =
        made_with("[axis]\nfrom = 500\n[[row]]\nurl = 'ws://h'\n", &asked(false, &[])).unwrap();
    let axis = of_rate.axis.as_ref().unwrap();
    let step = axis.at(&of_rate.workloads[0], 4000, 1).unwrap();
    assert_eq!(step.name, "4000/s");
    assert!(
        matches!(step.load, Load::Open { in_flight_max, .. } if in_flight_max.get() == 20_000),
        "{step:?}"
    );
    for (keys, problem) in [
        ("from = 0", "from: must be at least 1"),
        ("from = 9\nto = 8", "from: 9 is above the largest load, 8"),
        ("factor = 1", "factor: 1 is not between 1.05 and 10"),
        ("repeats = 101", "repeats: 101 is not between 1 and 100"),
        ("every = '1s'", "every: belongs to sweeps of bots and connections"),
        ("bots-max = 3", "bots-max: belongs to sweeps of bots"),
        ("slo = 'fast'", "`fast` has no `<` in it"),
        ("of = 'cats'", "unknown variant `cats`"),
    ] {
        let error =
            made_with(&format!("[axis]\n{keys}\n[[row]]\nurl = 'ws://h'\n"), &asked(false, &[]))
                .unwrap_err();
        assert!(error.contains(problem), "{keys}: {error}");
    }
}

#[test]
fn a_url_is_an_experiment_of_one_row() {
    let read = |path: &str, _: Bytes| Err(format!("cannot read {path}"));
    let pack = |_: &str, json: &[u8], _: bool| Ok(json.to_vec());
    let context = Context { read: &read, environment: &|_| None, pack: &pack, seed: 7 };
    let of = |text: &str| {
        let asked = Asked { options: toml::from_str(text).unwrap(), ..Asked::default() };
        File::of_url("ws://h").experiment(&asked, &those(), &context)
    };
    let one = of("connections = 3").unwrap();
    assert_eq!((names(&one), one.rounds, one.baseline), (vec!["ws://h"], 1, None));
    assert_eq!(one.workloads[0].phases.stop, Stop::After(Nanos::from_secs(10)));
    let repeated = |rounds, is_sweep| {
        let options = toml::from_str("bots = [3, 5]").unwrap();
        let criteria = Criteria { rounds: Some(Count(rounds)), ..Criteria::default() };
        let asked = Asked { options, criteria, ..Asked::default() };
        File::of_url("ws://h").experiment(&Asked { is_sweep, ..asked }, &those(), &context)
    };
    let rounds = repeated(7, false).unwrap();
    assert_eq!((rounds.rounds, rounds.order), (7, crate::Order::Shuffled));
    assert_eq!(repeated(0, false).unwrap_err(), "--rounds: 0: between 1 and 10000 are possible");
    let of_sweep = repeated(7, true).unwrap_err();
    assert!(of_sweep.starts_with("--rounds: does not apply to a sweep"), "{of_sweep}");
    let criteria = Criteria { budget: Some(Nanos::from_secs(60)), ..Criteria::default() };
    let endless = Asked { criteria, ..Asked::default() };
    let endless = File::of_url("ws://h").experiment(&endless, &those(), &context).unwrap_err();
    assert!(
        endless.starts_with("--budget: 1m: belongs to `until`, whose goals it ends"),
        "{endless}"
    );
    assert_eq!(names(&of("bots = [3, 5]").unwrap()), ["3 bots", "5 bots"]);
    assert!(of("every = '1s'").unwrap_err().starts_with("--every: belongs to --bots"));
}

mod ladder {
    use super::*;

    const LADDER: &str = include_str!("../../../../experiments/ladder.toml");

    fn ladder(quick: bool, only: &[&str], options: &str) -> Experiment {
        let options = toml::from_str(options).unwrap();
        made_with(LADDER, &Asked { options, ..asked(quick, only) }).unwrap()
    }

    fn all() -> Experiment {
        made_with(LADDER, &Asked { all: true, ..Asked::default() }).unwrap()
    }

    #[test]
    fn the_baseline_belongs_to_every_ladder() {
        let usual = ["tcp", "ws", "http", "http-new", "wss"];
        assert_eq!(names(&ladder(false, &[], "")), usual);
        assert_eq!(names(&ladder(true, &[], "")), usual);
        assert_eq!(all().workloads.len(), 14);
        assert_eq!(
            names(&ladder(false, &["tcp-framed", "unix"], "")),
            ["tcp", "tcp-framed", "unix"]
        );
        assert_eq!(names(&ladder(false, &["wss", "ws"], "")), ["tcp", "ws", "wss"]);
        assert_eq!(names(&ladder(false, &["tcp"], "")), ["tcp"]);
    }

    #[test]
    fn every_rung_sends_the_same_amount_over_as_many_connections() {
        let options = toml::from_str("connections = 9\nsize = '1KiB'").unwrap();
        let asked = Asked { options, all: true, ..Asked::default() };
        for workload in made_with(LADDER, &asked).unwrap().workloads {
            let amount = (workload.message.content.len(), workload.load.connections().get());
            assert_eq!(amount, (1024, 9), "{}", workload.name);
        }
    }

    #[test]
    fn json_is_the_same_with_and_without_compression() {
        let ladder = ladder(false, &["ws-json", "ws-deflate"], "");
        let [_, json, deflate] = &ladder.workloads[..] else { panic!("{:?}", names(&ladder)) };
        assert_eq!(json.message, deflate.message);
        assert!(matches!(json.message.content, Content::Generated { varied: true, .. }));
        assert_ne!(json.server, deflate.server, "their servers differ");
    }

    #[test]
    fn a_layer_is_added_to_a_rung_that_is_there() {
        let shown = |ladder: &Experiment| -> Vec<String> {
            let names = names(ladder);
            let layers = ladder.layers.iter();
            layers
                .map(|it| format!("{} = {} + {}", names[it.workload], names[it.base], it.name))
                .collect()
        };
        let layers = [
            "tcp-framed = tcp + length",
            "ws = tcp + framing",
            "http = tcp + HTTP/1.1",
            "http-new = http + connect",
            "tls = tcp + TLS",
            "wss = ws + TLS",
            "ws-deflate = ws-json + deflate",
            "https = http + TLS",
            "https-new = http-new + full handshake",
            "https-resume = http-new + resumed handshake",
        ];
        assert_eq!(shown(&all()), layers);
        assert_eq!(shown(&ladder(false, &[], "")), [layers[1], layers[2], layers[3], layers[5]]);
        assert_eq!(shown(&ladder(false, &["wss", "http"], "")), ["http = tcp + HTTP/1.1"]);
    }

    #[test]
    fn all_blocks_together_leave_time_for_all_that_is_between_them() {
        for (ladder, seconds_max) in
            [(all(), 80), (ladder(false, &[], ""), 40), (ladder(true, &[], ""), 20)]
        {
            let time = ladder.block_time();
            assert!(time <= Nanos::from_secs(seconds_max), "{time}");
        }
    }
}
