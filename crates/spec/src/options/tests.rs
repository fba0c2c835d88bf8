//! Options, and the workloads that they become.

use super::*;
use crate::{Content, Expect, Lifetime, Load, Profile, Scheme, ServerSubject, Stop, Trust};
use std::num::NonZeroU64;

/// The one workload of a URL without options.
pub(crate) fn resolved(url: &str) -> Workload {
    of(url, &Options::default()).unwrap().remove(0)
}

fn of(url: &str, options: &Options) -> Result<Vec<Workload>, Problem> {
    of_server(&Server::Given(url.parse().unwrap()), options)
}

fn of_server(server: &Server, options: &Options) -> Result<Vec<Workload>, Problem> {
    let read = |path: &str, _: Bytes| match path {
        "ping" => Ok(b"Ping".to_vec()),
        "bytes" => Ok(vec![0, 255]),
        "headers" => Ok(b"A: b\n\nC: d\n".to_vec()),
        "ca" => Ok(b"-----BEGIN".to_vec()),
        _ => Err(format!("cannot read {path}")),
    };
    let pack = |_: &str, json: &[u8], _: bool| Ok(json.to_vec());
    options.workloads(
        "a name",
        server,
        &Context { read: &read, environment: &|_| None, pack: &pack, seed: 7 },
    )
}

/// Options from the keys of a file.
fn options(text: &str) -> Options {
    toml::from_str(&text.replace("; ", "\n")).unwrap()
}

fn one(url: &str, text: &str) -> Workload {
    let mut all = of(url, &options(text)).unwrap();
    assert_eq!(all.len(), 1, "{text}");
    all.remove(0)
}

fn problem(url: &str, text: &str) -> String {
    of(url, &options(text)).unwrap_err().to_string()
}

fn count(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

#[test]
fn a_block_ends_after_a_time_or_after_so_many_messages_or_clients() {
    let (long, short) = (Lifetime::Long, |trips| Lifetime::RoundTrips(count(trips)));
    let messages = |count| Stop::Messages(NonZeroU64::new(count).unwrap());
    let clients = |count| Stop::Clients(NonZeroU64::new(count).unwrap());
    let seconds = |count| Stop::After(Nanos::from_secs(count));
    #[rustfmt::skip]
    let table = [
        // options,                                        lifetime, connections, stop,       warm-up in ms
        ("",                                               long,     50, seconds(10),   1000),
        ("connections = 3; duration = '2s'; warm-up = '0s'", long,    3, seconds(2),       0),
        ("messages = 5",                                   long,     50, messages(5),      0),
        ("messages = 5; warm-up = '1ms'",                  long,     50, messages(5),      1),
        ("clients = '20k'",                                short(1), 10, clients(20_000),  0),
        ("clients = 9; concurrency = 2; round-trips = 5",  short(5),  2, clients(9),       0),
        ("round-trips = 5",                                short(5), 10, seconds(10),   1000),
        ("concurrency = 5; duration = '3s'",               short(1),  5, seconds(3),    1000),
    ];
    for (text, lifetime, connections, stop, warm_up) in table {
        let found = one("ws://h", text);
        assert_eq!(found.load.lifetime(), lifetime, "{text}");
        assert_eq!(found.load.connections(), count(connections), "{text}");
        assert_eq!(found.phases.stop, stop, "{text}");
        assert_eq!(found.phases.warm_up, Nanos::from_millis(warm_up), "{text}");
    }
}

#[test]
fn a_message_does_not_end_in_its_middle() {
    for field in ["payload", "expect"] {
        let text = format!("{field} = \"a\\nb\"");
        let error = problem("lines://h:1", &text);
        assert!(error.contains("has a line feed in it"), "{error}");
        one("ws://h", &text);
    }
}

#[test]
fn messages_and_replies_are_those_asked_for() {
    let exactly = |text: &str| Expect::Exactly(text.as_bytes().into());
    #[rustfmt::skip]
    let table = [
        // URL and options,                                length, text,  the reply
        ("ws://h",           "",                               64, false, Expect::Echo),
        ("ws://h",           "text = true; size = '1KiB'",   1024, true,  Expect::Echo),
        ("ws://h",           "payload = 'Ping'",                4, true,  Expect::Echo),
        ("ws://h",           "payload = '@ping'",               4, false, Expect::Echo),
        ("ws://h",           "payload = '@@ping'",              5, true,  Expect::Echo),
        ("ws://h",           "payload = 'Ping'; binary = true", 4, false, Expect::Echo),
        ("tcp://h:1",        "payload = 'Ping'",                4, false, Expect::Echo),
        ("tcp-framed://h:1", "size = '0B'",                     0, false, Expect::Echo),
        ("lines://h:1",      "size = '0B'",                     0, true,  Expect::Echo),
        ("lines://h:1",      "payload = '@ping'",               4, true,  Expect::Echo),
        ("ws://h",           "payload = 'Ping'; expect = 'Pong'", 4, true, exactly("Pong")),
        ("http://h",         "",                                0, false, Expect::Anything),
        ("http://h",         "method = 'get'",                  0, false, Expect::Anything),
        ("http://h",         "method = 'DELETE'",               0, false, Expect::Anything),
        ("http://h",         "payload = 'Ping'",                4, false, Expect::Anything),
        ("http://h",         "payload = 'Ping'; expect-body = 'on'", 4, false, Expect::Contains(b"on".as_slice().into())),
        ("http://h",         "expect-body = 'sha256:00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00FF'", 0, false, Expect::Sha256(crate::Sha256(core::array::from_fn(|at| if at % 2 == 0 { 0 } else { 0xff })))),
        ("http://h",         "echo = true",                    64, false, Expect::Echo),
        ("http://h",         "echo = true; method = 'PUT'; size = '9B'", 9, false, Expect::Echo),
        ("http://h",         "rate = '9/s'; oracle = true",    64, false, Expect::Oracle),
        ("https://h",        "method = 'GET'; insecure = true", 0, false, Expect::Anything),
        ("ws://h",           "payload-kind = 'json'",          64, true,  Expect::Echo),
        ("ws://h",           "payload-kind = 'text'; binary = true", 64, false, Expect::Echo),
        ("http://h",         "payload-kind = 'text'",          64, false, Expect::Anything),
        ("ws://h",           "payload-kind = 'zero'; text = true", 64, true, Expect::Echo),
        ("sockjs://h",       "",                               64, true,  Expect::Echo),
        ("socketio://h",     "",                               64, true,  Expect::Echo),
        ("socketio://h",     "binary = true",                  64, false, Expect::Echo),
        ("socketio://h",     "payload = '@ping'",               4, true,  Expect::Echo),
        ("socketio+polling://h", "payload = 'Ping'; binary = true", 4, false, Expect::Echo),
        ("socketio://h",     "payload-kind = 'json'; binary = true", 64, false, Expect::Echo),
        ("http://h",         "method = 'GET'; expect = 'x'",    0, false, exactly("x")),
        ("game://h",         "bots = 3; event-delay = '60ms'",  0, false, Expect::InSequence),
        ("ws://h",           "rate = '9/s'; oracle = true",    64, false, Expect::Oracle),
    ];
    for (url, text, len, is_text, expect) in table {
        let found = one(url, text);
        assert_eq!(
            (found.message.content.len(), found.message.text),
            (len, is_text),
            "{url} {text}"
        );
        assert_eq!(found.expect, expect, "{url} {text}");
    }
    let varied = |text: &str| match one("ws://h", text).message.content {
        Content::Generated { varied, .. } => varied,
        Content::Given { .. } | Content::GameEvent { .. } | Content::Nothing => panic!("{text}"),
    };
    assert!(!varied("payload-kind = 'json'"));
    assert!(varied("payload-kind = 'json'; deflate = 'level=1'"));
}

#[test]
fn a_request_has_a_body_where_there_is_one_to_send() {
    for (text, method, statuses) in [
        ("", "GET", vec![]),
        ("payload = 'x'", "POST", vec![]),
        ("size = '9B'", "POST", vec![]),
        ("echo = true", "POST", vec![]),
        ("method = 'put'", "PUT", vec![]),
        ("expect-status = '404'", "GET", vec!["404".parse().unwrap()]),
        (
            "expect-status = ['2xx', '404']",
            "GET",
            vec!["2xx".parse().unwrap(), "404".parse().unwrap()],
        ),
    ] {
        let http = one("http://h", text).http;
        assert_eq!((http.method.as_str(), http.statuses), (method, statuses), "{text}");
    }
    let ours = Server::Embedded("http://h".parse::<crate::Endpoint>().unwrap().scheme().into());
    let echo = of_server(&ours, &Options::default()).unwrap().remove(0);
    assert_eq!((echo.http.method.as_str(), echo.expect), ("POST", Expect::Echo));
}

#[test]
fn loads_are_those_asked_for() {
    let uniform = Spacing::Uniform;
    let outstanding = count(10_000); // 2000/s for the time-out of 5 s.
    let open = |connections, spacing| Load::Open {
        connections: count(connections),
        rate: "2000/s".parse::<Profile>().unwrap(),
        spacing,
        in_flight_max: outstanding,
    };
    let every = Nanos::from_secs(2);
    #[rustfmt::skip]
    let table = [
        ("rate = '2000/s'", open(50, uniform)),
        ("rate = '2000/s'; connections = 7; spacing = 'poisson'", open(7, Spacing::Poisson)),
        ("bots = 30; every = '2s'", Load::Bots { bots: count(30), every, spacing: Spacing::Phases, in_flight_max: count(75) }),
        ("bots = 30; every = '2s'; closed = true", Load::ClosedBots { bots: count(30), think: every }),
        ("sessions = '50/s'; messages-each = 3; think = '2s'", Load::Sessions {
            // Two think times and the time-out of the last reply: 9 s at 50/s.
            connections: count(450), rate: "50/s".parse().unwrap(), spacing: uniform, messages_each: count(3), think: every,
        }),
        ("in-flight = 4; in-flight-max = 9", Load::Closed { connections: count(50), in_flight: count(4), in_flight_max: Some(count(9)) }),
    ];
    for (text, load) in table {
        assert_eq!(one("ws://h", text).load, load, "{text}");
    }
    let steps = of("ws://h", &options("bots = ['1k', 2000]")).unwrap();
    let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["1000 bots", "2000 bots"]);
}

#[test]
fn options_that_are_not_possible_are_named_with_the_cure() {
    #[rustfmt::skip]
    let table = [
        ("ws://h", "rate = '9/s'; bots = 3",            "bots: --rate and --bots are two different loads"),
        ("ws://h", "sessions = '9/s'; round-trips = 3", "round-trips: --sessions and --round-trips are two"),
        ("ws://h", "every = '1s'",                      "every: belongs to --bots"),
        ("ws://h", "rate = '9/s'; think = '1s'",        "think: belongs to --sessions"),
        ("ws://h", "bots = 3; connections = 3",         "connections: belongs to loads other than --publish"),
        ("ws://h", "rate = '9/s'; in-flight = 3",       "in-flight: belongs to loads that wait for replies"),
        ("ws://h", "rate = '9/s'; messages = 3",        "messages: belongs to a closed loop"),
        ("ws://h", "bots = 3; closed = true; oracle = true", "oracle: belongs to --rate"),
        ("ws://h", "concurrency = 3; connections = 3",  "concurrency: --concurrency and --connections are the same"),
        ("ws://h", "clients = 3; warm-up = '1s'",       "warm-up: belongs to loads that end after a time"),
        ("ws://h", "messages = 3; duration = '1s'",     "messages: a run ends after a --duration or after so many messages"),
        ("ws://h", "duration = '0s'",                   "duration: 0s is too short"),
        ("ws://h", "connections = 0",                   "connections: must be at least 1"),
        ("ws://h", "threads = 1025",                    "threads: 1025 is too many; at most 1024"),
        ("ws://h", "bots = [3, 3]",                     "bots: 3 is named twice"),
        ("ws://h", "rate = '1/90s'",                    "rate: at 1/1m30s less than one message is due in 10 s"),
        ("ws://h", "rate = '20M/s'; spacing = 'poisson'", "rate: 20M/s is more than --spacing poisson can draw"),
        ("ws://h", "rate = '9/s'; spacing = 'phases'",  "spacing: phases belong to --bots"),
        ("ws://h", "payload = 'x'; size = '1B'",        "size: --payload already sets the whole message"),
        ("ws://h", "text = true; binary = true",        "binary: messages are --text or --binary"),
        ("ws://h", "payload = '@bytes'; text = true",   "payload: @bytes is not UTF-8, and text is; use --binary"),
        ("ws://h", "payload = '@none'",                 "payload: cannot read none"),
        ("ws://h", "size = '17MiB'",                    "size: 17 MiB is too large"),
        ("ws://h", "rate = '9/s'; oracle = true; size = '9B'", "oracle: needs 24 bytes of a message"),
        ("ws://h", "method = 'GET'",                    "method: does not apply to ws://, only to http:// and https://"),
        ("ws://h", "insecure = true",                   "insecure: does not apply to ws://, only to wss:// and other schemes inside TLS"),
        ("ws://h", "lobby = '1%'",                      "lobby: does not apply to ws://, only to bots of a game"),
        ("tcp://h:1", "header = 'A: b'",                "header: does not apply to tcp://"),
        ("tcp://h:1", "size = '0B'",                    "size: a message of 0 bytes cannot be seen on tcp://"),
        ("tcp://h:1", "expect = ''",                    "expect: a reply of 0 bytes cannot be seen on tcp://"),
        ("http://h", "in-flight = 2",                   "in-flight: 2 is not possible over http://"),
        ("http://h", "method = 'GET'; size = '9B'",     "size: cannot be sent with --method GET"),
        ("http://h", "method = 'HEAD'; expect = 'x'",   "expect: cannot be met with --method HEAD"),
        ("http://h", "echo = true; method = 'GET'",     "echo: cannot be sent with --method GET"),
        ("http://h", "echo = true; expect = 'x'",       "expect: says what a reply is, and so does --echo"),
        ("http://h", "expect-body = 'x'; expect = 'x'", "expect: says what a reply is, and so does --expect-body"),
        ("http://h", "method = 'HEAD'; expect-body = 'x'", "expect-body: cannot be met with --method HEAD"),
        ("http://h", "expect-body = ''",                "expect-body: is empty"),
        ("ws://h", "echo = true",                       "echo: does not apply to ws://, only to http:// and https://; over others"),
        ("ws://h", "expect-status = '200'",               "expect-status: does not apply to ws://"),
        ("ws://h", "redirects = 1",                     "redirects: does not apply to ws://"),
        ("http://h", "redirects = 11",                  "redirects: 11 is too many; at most 10 are followed"),
        ("ws://h", "expect-body = 'x'",                 "expect-body: does not apply to ws://"),
        ("sockjs://h", "binary = true",                 "binary: is not possible over sockjs://"),
        ("game://h", "bots = 3; size = '9B'",           "size: does not apply to game://"),
        ("game://h", "bots = 3; event-delay = '1us'",   "event-delay: 1 us is not a whole number of milliseconds"),
        ("wss://h", "ca = 'ca'; insecure = true",       "ca: with --insecure no certificate is verified"),
        ("wss://h", "client-cert = 'ca'",               "client-cert: ca needs its key"),
        ("wss://h", "tls-version = '1.1'",              "tls-version: `1.1` is neither 1.2 nor 1.3"),
        ("wss://h", "alpn = 'h2'",                      "alpn: h2: wss:// is supported only over http/1.1"),
        ("unix:/s", "source-ip = '127.0.0.1'",          "source-ip: does not apply to unix://"),
        ("ws://h", "header = 'A'",                      "header: it has no colon"),
        ("ws://h", "codec = 'x'",                       "codec: packs a --payload"),
    ];
    for (url, text, expected) in table {
        let found = problem(url, text);
        assert!(found.starts_with(expected), "{url} {text}: {found}");
    }
}

#[test]
fn header_fields_keep_their_values_and_nothing_that_ends_a_line() {
    let field =
        |text| header(text).map(|Header { name, value }| format!("{name}={}", value.unwrap()));
    assert_eq!(field("A: b: c "), Ok("A=b: c".to_owned()));
    assert_eq!(field("A:"), Ok("A=".to_owned()));
    for text in ["A: b\nC: d", "A: b\r", "A: \0", "A", ": b", "A B: c"] {
        assert!(header(text).is_err(), "{text:?}");
    }
    let names: Vec<String> = one("ws://h", "header = ['@headers', 'E: f']")
        .http
        .headers
        .into_iter()
        .map(|it| it.name)
        .collect();
    assert_eq!(names, ["A", "C", "E"]);
}

#[test]
fn what_is_secret_is_read_and_never_written() {
    let workload = one("wss://h", "header = 'A: secret'; client-cert = 'ca'; client-key = 'ping'");
    let json = serde_json::to_string(&workload).unwrap();
    assert!(!json.contains("secret") && !json.contains("Ping"), "{json}");
    let read: Workload = serde_json::from_str(&json).unwrap();
    assert_eq!(read.http.headers[0].name, "A");
    assert_eq!(read.tls.unwrap().identity.unwrap().key_file, "ping");
}

#[test]
fn tls_is_as_asked_for() {
    assert!(one("ws://h", "").tls.is_none());
    let usual = one("wss://h", "").tls.unwrap();
    assert_eq!((&usual.alpn[..], usual.resumption), (&["http/1.1".to_owned()][..], true));
    assert_eq!(usual.trust, Trust::System);
    let tls = one(
        "tls://h:1",
        "insecure = true; tls-version = '1.2'; tls-resumption = 'none'; alpn = ['a', 'b']; server-name = 'x'",
    );
    let tls = tls.tls.unwrap();
    assert_eq!(
        (tls.versions, tls.alpn),
        (vec!["1.2".to_owned()], vec!["a".to_owned(), "b".to_owned()])
    );
    assert_eq!(
        (tls.trust, tls.resumption, tls.server_name),
        (Trust::Anyone, false, Some("x".to_owned()))
    );
}

#[test]
fn a_higher_layer_replaces_what_it_answers_anew() {
    let lower =
        "rate = '9/s'; connections = 3; size = '9B'; duration = '3s'; text = true; timeout = '1s'";
    #[rustfmt::skip]
    let table = [
        ("",                  "rate connections size duration text timeout"),
        ("bots = 3",          "bots size duration text timeout"),
        ("payload = 'x'",     "rate connections payload duration text timeout"),
        ("messages = 3",      "connections size messages text timeout"),
        ("binary = true",     "rate connections size duration binary timeout"),
        ("timeout = '2s'",    "rate connections size duration text timeout"),
        ("payload-kind = 'json'", "rate connections size payload-kind duration text timeout"),
        ("clients = 3",       "clients connections size text timeout"),
    ];
    for (upper, expected) in table {
        let mut found = options(upper).over(options(lower)).set();
        let mut expected: Vec<&str> = expected.split(' ').collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{upper}");
    }
    assert_eq!(options("timeout = '2s'").over(options(lower)).timeout, Some(Nanos::from_secs(2)));
}

#[test]
fn a_load_keeps_what_a_lower_layer_says_of_its_kind() {
    let lower = "rate = '9/s'; every = '20ms'; round-trips = 5; think = '2s'; in-flight = 3";
    for (upper, expected) in [
        ("bots = 3", vec!["bots", "every"]),
        ("clients = 3", vec!["clients", "round-trips", "in-flight"]),
        ("sessions = '1/s'", vec!["sessions", "think"]),
    ] {
        assert_eq!(options(upper).over(options(lower)).set(), expected, "{upper}");
        let between = options("size = '9B'").over(options(lower));
        assert_eq!(options(upper).over(between).set().len(), expected.len() + 1, "{upper}");
    }
}

#[test]
fn an_experiment_reads_back_as_it_was_written() {
    for (url, text) in [
        ("ws://h/a?b=c", ""),
        ("unix:///run/x", "rate = '1/s..9/s over 1m, 9/s for 5m'"),
        (
            "wss://h",
            "payload = '@bytes'; source-ip = '127.0.0.2-127.0.0.9'; ca = 'ca'; deflate = ''",
        ),
        ("game-comet://h", "bots = 3; lobby = '10%'"),
        ("http://h", "clients = 9; expect = 'x'"),
    ] {
        let experiment = crate::Experiment::one(one(url, text));
        let json = serde_json::to_string(&experiment).unwrap();
        assert_eq!(serde_json::from_str::<crate::Experiment>(&json).unwrap(), experiment, "{json}");
    }
}

/// A conversation in a file, with a secret, and a column of a file beside it.
const ROOM: &str = r#"
speaks = "ws"
[vars]
user = { csv = "users.csv", column = "name", end = "stop" }
token = { env = "TOKEN" }
[request.say]
send = '{"id":${id},"user":"${user}","token":"${token}"}'
reply = { id = "$.id" }
"#;

/// A relay whose publishers connect to another server than its receivers.
const RELAY: &str = r#"
speaks = "ws"
[push.message]
when = { "$.event" = "message" }
header = "$.data"
[publishers]
speaks = "tcp"
frame = "lines"
[publishers.vars]
token = { env = "TOKEN" }
[publishers.request.publish]
send = "publish ${token} ${header}"
reply = "order"
"#;

#[test]
fn publishers_may_connect_elsewhere_than_receivers() {
    let relay = "conversation = './relay.toml'; publish = '10/s'".replace("./", "");
    let to = |url: &str| format!("{relay}; publish-to = '{url}'");
    for url in ["ws://h", "sockjs://h"] {
        let found = talking(url, &to("tcp://h:6379")).unwrap().remove(0);
        assert_eq!(found.publish_to, Some("tcp://h:6379".parse().unwrap()));
        let conversation = found.conversation.clone().unwrap();
        assert_eq!(
            (conversation.requests.len(), conversation.of_publishers().requests.len()),
            (0, 1)
        );
        let bare = serde_json::to_string(&found.bare()).unwrap();
        assert!(!bare.contains("hush") && bare.contains("tcp://h:6379"), "{bare}");
        let experiment = crate::Experiment::one(found);
        assert!(
            experiment.secrets().cut("say hush").contains("hush"),
            "it is too short to be told"
        );
        let json = serde_json::to_string(&experiment).unwrap();
        serde_json::from_str::<crate::Experiment>(&json).unwrap();
    }
    // Publishers that speak the protocol of the server connect to it.
    assert_eq!(one("tcp://h:1", "conversation = 'redis-rooms'; publish = '10/s'").publish_to, None);
    // One conversation may be held with two servers, such as those of a cluster.
    let both = "conversation = 'room'; publish = '10/s'; publish-to = 'ws://other'";
    assert_eq!(one("ws://h", both).publish_to, Some("ws://other".parse().unwrap()));
    #[rustfmt::skip]
    let table = [
        (relay.clone(),                           "publish-to: is missing: publishers of `relay` connect elsewhere than receivers; say where, e.g. tcp://127.0.0.1:6379"),
        (to("ws://h"),                            "publish-to: publishers of `relay` connect over tcp:// or unix:// or lines://, without TLS, and not over ws://"),
        (to("tls://h:1"),                         "publish-to: publishers of `relay` connect over tcp:// or unix:// or lines://, without TLS, and not over tls://"),
        (to("redis://h"),                         "publish-to: `redis://h` "),
        ("conversation = 'relay.toml'".into(),    "conversation: connections of `relay` receive, and others publish: ask for rooms, with --publish"),
        ("publish-to = 'tcp://h:1'".into(),       "publish-to: belongs to --publish"),
        ("publish-with = 'php publish.php'".into(), "publish-with: belongs to --publish"),
        (format!("{relay}; publish-with = ' '"),  "publish-with: names no program"),
        (format!("{}; publish-with = 'x'", to("tcp://h:6379")), "publish-with: the program chooses where to publish"),
    ];
    for (text, expected) in table {
        let found = talking("ws://h", &text).unwrap_err().to_string();
        assert!(found.starts_with(expected), "{text}: {found}");
    }
}

/// A conversation whose path has a value.
const TICKET: &str = r#"
speaks = "ws"
path = "/ws?ticket=${ticket}"
vars = { ticket = "t${client}" }
[request.say]
send = '{"id":${id}}'
reply = { id = "$.id" }
"#;

#[test]
fn options_fill_the_payload_of_a_conversation_that_has_one() {
    let asks = |text: &str| talking("ws://h", &format!("conversation = './payload.toml'; {text}"));
    let generated = |kind, size| Content::Generated { kind, size: Bytes(size), varied: false };
    #[rustfmt::skip]
    let table = [
        ("",                                      generated(PayloadKind::Text, 64)),
        ("size = '1KiB'",                         generated(PayloadKind::Text, 1024)),
        ("size = '2KiB'; payload-kind = 'json'",  generated(PayloadKind::Json, 2048)),
        ("payload = 'a\"b'",                      Content::Given { source: "a\"b".to_owned(), bytes: b"a\"b".as_slice().into() }),
    ];
    for (text, content) in table {
        let asked = asks(text).unwrap_or_else(|problem| panic!("{text}: {problem}")).remove(0);
        assert_eq!((asked.message.content, asked.message.text), (content, true), "{text}");
        assert_eq!(asked.expect, Expect::Anything);
    }
    #[rustfmt::skip]
    let table = [
        ("payload-kind = 'random'",        "payload-kind: random is binary, and the messages of a conversation are text; use text or json"),
        ("payload-kind = 'zero'",          "payload-kind: zero is binary"),
        ("payload = '@bytes'",             "payload: @bytes is not UTF-8, and the messages of a conversation are text"),
        ("payload = 'x'; size = '1B'",     "size: --payload already sets the whole message"),
        ("size = '1GiB'",                  "size: 1 GiB is too large"),
        ("varied = true",                  "varied: is set by the conversation `payload`; leave one of the two out"),
    ];
    for (text, message) in table {
        let problem = asks(text).expect_err(text).to_string();
        assert!(problem.contains(message), "{text}: {problem}");
    }
}

const OPEN: &str = "speaks = 'tcp'\n[request.x]\nsend = 'x'\nreply = 'order'\n";

#[test]
fn a_url_says_what_a_message_is_where_the_conversation_does_not() {
    use crate::conversation::{ByteOrder, Frame, LengthWidth};
    let length = |max| Frame::Length {
        width: LengthWidth::Four,
        order: ByteOrder::Big,
        includes_itself: false,
        max: Bytes(max),
    };
    #[rustfmt::skip]
    let table = [
        ("lines://h:1",      "./open.toml", Frame::Lines),
        ("lines-tls://h:1",  "./open.toml", Frame::Lines),
        ("lines://h:1",      "ndjson",      Frame::Lines),
        ("tcp-framed://h:1", "./open.toml", length(16 << 20)),
        ("tls-framed://h:1", "./long.toml", length(1 << 10)),
        ("tcp://h:1",        "./long.toml", length(1 << 10)),
        ("tcp://h:1",        "resp",        Frame::Resp),
    ];
    for (url, name, frame) in table {
        let held = talking(url, &format!("conversation = '{name}'")).unwrap().remove(0);
        assert_eq!(held.conversation.unwrap().frame, frame, "{url} {name}");
    }
}

fn talking(url: &str, text: &str) -> Result<Vec<Workload>, Problem> {
    let read = |path: &str, _: Bytes| match path {
        "talks/room.toml" => Ok(ROOM.as_bytes().to_vec()),
        "talks/users.csv" => Ok(b"name\nann\nbob\n".to_vec()),
        "relay.toml" => Ok(RELAY.as_bytes().to_vec()),
        "ticket.toml" => Ok(TICKET.as_bytes().to_vec()),
        "./payload.toml" => {
            Ok(OPEN.replace("tcp", "ws").replace("'x'", "'${payload}'").into_bytes())
        }
        "bytes" => Ok(b"\xff".to_vec()),
        "./open.toml" => Ok(OPEN.as_bytes().to_vec()),
        "./short.toml" => Ok(format!("frame = {{ length = 2 }}\n{OPEN}").into_bytes()),
        "./long.toml" => Ok(format!("frame = {{ length = 4, max = '1KiB' }}\n{OPEN}").into_bytes()),
        "wrong.toml" => Ok(b"speaks = 'ws'\nopne = 1\n".to_vec()),
        _ => Err(format!("cannot read {path}")),
    };
    let environment = |name: &str| (name == "TOKEN").then(|| "hush".to_owned());
    let pack = |_: &str, json: &[u8], _: bool| Ok(json.to_vec());
    let context = Context { read: &read, environment: &environment, pack: &pack, seed: 7 };
    options(text).workloads(url, &Server::Given(url.parse().unwrap()), &context)
}

#[test]
fn a_conversation_is_named_or_read_from_a_file_with_its_secrets() {
    let ready = talking("ws://h", "conversation = 'socketio'").unwrap().remove(0);
    let conversation = ready.conversation.unwrap();
    assert_eq!((conversation.name.as_str(), conversation.requests.len()), ("socketio", 1));

    let text = "conversation = 'talks/room.toml'; connections = 2";
    let room = talking("wss://h", text).unwrap().remove(0);
    let json = serde_json::to_string(&room).unwrap();
    assert!(!json.contains("hush") && !json.contains("ann"), "{json}");
    let conversation = room.conversation.unwrap();
    let values: Vec<_> = conversation.vars.iter().map(|var| format!("{:?}", var.fill)).collect();
    assert!(values[0].contains("[\"ann\", \"bob\"]") && values[1].contains("hush"), "{values:?}");
}

#[test]
fn a_conversation_that_cannot_be_held_is_refused() {
    #[rustfmt::skip]
    let table = [
        ("ws://h",     "conversation = 'socketoi'",               "conversation: no conversation that comes with wirebench is called `socketoi`; did you mean `socketio`?"),
        ("ws://h",     "conversation = 'chat'",                   "as in ./chat.toml"),
        ("ws://h",     "conversation = './chat'",                 "conversation: cannot read ./chat"),
        ("ws://h",     "conversation = 'wrong.toml'",             "conversation: wrong.toml:2:1: unknown key `opne`; did you mean `open`?"),
        ("http://h",   "conversation = 'socketio'",               "cannot be held over http://; it speaks WebSocket: use ws:// or wss://, or sockjs:// or socketio://"),
        ("tcp://h:1",  "conversation = 'socketio'",               "cannot be held over tcp://"),
        ("tcp://h:1",  "conversation = './open.toml'",            "`open` cannot be held over tcp://; it does not say where a message ends: say it in `frame`"),
        ("lines://h:1", "conversation = 'resp'",                  "`resp` cannot be held over lines://; a message there is a line, and its `frame` says something else"),
        ("tcp-framed://h:1", "conversation = 'ndjson'",           "a message there has a length of 4 bytes before it"),
        ("tcp-framed://h:1", "conversation = './short.toml'",     "a message there has a length of 4 bytes before it"),
        ("ws://h",     "conversation = './open.toml'",            "it speaks TCP: use tcp://, tls:// or unix:, or lines:// or tcp-framed://"),
        ("ws://h",     "conversation = 'socketio'; size = '1KiB'", "size: is set by the conversation `socketio`; leave one of the two out, or put `${payload}` into a message of its file"),
        ("ws://h",     "conversation = 'socketio'; payload = 'x'", "payload: is set by the conversation"),
        ("ws://h",     "conversation = 'socketio'; expect = 'x'", "expect: is set by the conversation"),
        ("ws://h/x?token=hush", "conversation = 'ticket.toml'",   "the path of `ticket`, /ws?ticket=${ticket}, has values that /x?token=*** of the URL leaves out; leave the path out"),
        ("ws://h",     "conversation = 'talks/room.toml'; connections = 3", "3 connections are more than the 2 rows of talks/users.csv"),
        ("ws://h",     "conversation = 'talks/room.toml'; clients = 2", "connections follow each other without end"),
        ("ws://h",     "conversation = 'talks/room.toml'; bots = [2, 3]", "3 connections are more than the 2 rows"),
    ];
    for (url, text, message) in table {
        let problem = talking(url, text).expect_err(text).to_string();
        assert!(problem.contains(message), "{text}: {problem}");
    }
}

#[test]
fn a_conversation_replaces_the_messages_of_a_lower_layer() {
    let lower = options("size = '1KiB'; text = true; connections = 3");
    let both = options("conversation = 'socketio'").over(lower);
    assert_eq!(both.set(), ["connections", "conversation"]);
}

#[test]
fn a_program_may_publish_in_place_of_connections() {
    // The program replaces publishers that have a conversation of their own, and those that have that of receivers.
    for relay in ["relay.toml", "room"] {
        let asked = format!(
            "conversation = '{relay}'; publish = '10/s'; publish-with = 'php p.php'; size = '100B'"
        );
        let found = talking("ws://h", &asked).unwrap().remove(0);
        assert_eq!((found.publish_with.as_deref(), found.publish_to), (Some("php p.php"), None));
        let Content::Generated { size, .. } = found.message.content else { panic!("{relay}") };
        assert_eq!(size, Bytes(100), "{relay}");
        let conversation = found.conversation.unwrap();
        assert!(conversation.requests.is_empty(), "{relay}");
        assert_eq!(conversation.of_publishers().requests.len(), 1, "{relay}");
    }
}

#[test]
fn what_is_published_in_rooms_has_a_rate_for_each_room() {
    let rooms = "conversation = 'room'; publish = '10/s'";
    let found = one("ws://h", &format!("{rooms}; rooms = 4; receivers = 25; publishers = 2"));
    let Load::Publish { rooms: all, rate, spacing, in_flight_max } = &found.load else {
        panic!("{:?}", found.load)
    };
    assert_eq!([all.count, all.publishers, all.receivers], [4, 2, 25].map(count));
    assert_eq!((rate.to_string().as_str(), *spacing), ("10/s", Spacing::Uniform));
    assert_eq!(found.load.connections(), count(108));
    assert_eq!(found.load.due_per_s(), Some(40.0));
    // Messages that are due within the time-out of replies.
    assert_eq!(in_flight_max.get(), 200);
    let usual = one("ws://h", rooms).load.rooms().unwrap();
    assert_eq!([usual.count, usual.publishers, usual.receivers], [1, 1, 10].map(count));

    let slow = |share: &str| {
        let text = format!("{rooms}; receivers = 150; slow-receivers = '{share}'");
        one("ws://h", &text).load.rooms().unwrap().conduct.slow
    };
    assert_eq!(["0%", "0.1%", "1%", "2%"].map(slow), [0, 1, 2, 3]);
    let leave = one("ws://h", &format!("{rooms}; away = 'every 15s for 2s'; storm = '3s'"));
    let conduct = leave.load.rooms().unwrap().conduct;
    assert_eq!(conduct.away.map(|away| away.to_string()).as_deref(), Some("every 15s for 2s"));
    assert_eq!(conduct.storm, Some(Nanos::from_secs(3)));
    let ours = Server::Embedded(Scheme::named("ws").unwrap().into());
    let again = options(&format!("{rooms}; away = 'every 15s for 2s'; restart = '3s'"));
    let conduct = of_server(&ours, &again).unwrap()[0].load.rooms().unwrap().conduct;
    assert_eq!((conduct.restart, conduct.away.is_some()), (Some(Nanos::from_secs(3)), true));
    let subject = Server::Subject(ServerSubject::new("s", Scheme::named("ws").unwrap()));
    let part = options(&format!("{rooms}; restart = '3s'; restart-of = 'redis-server'"));
    let of_part = &of_server(&subject, &part).unwrap()[0];
    assert_eq!(of_part.restart_of.as_deref(), Some("redis-server"));
    #[rustfmt::skip]
    let table = [
        (&ours,    "restart = '3s'; restart-of = 'a'",     "restart-of: wirebench's own server has no other processes"),
        (&subject, "restart-of = 'a'",                     "restart-of: it names what --restart kills; add that"),
        (&subject, "restart = '3s'; restart-of = ''",      "restart-of: `` is not the name of a program"),
        (&subject, "restart = '3s'; restart-of = '/bin/a'", "restart-of: `/bin/a` is not the name of a program"),
    ];
    for (server, text, expected) in table {
        let found =
            of_server(server, &options(&format!("{rooms}; {text}"))).unwrap_err().to_string();
        assert!(found.starts_with(expected), "{text}: {found}");
    }

    let talked = "conversation = 'centrifugo'; publish = '10/s'";
    #[rustfmt::skip]
    let table = [
        ("publish = '10/s'",                  "publish: how connections publish and receive is up to the server"),
        (talked,                              "conversation: `centrifugo` does not say what is published"),
        ("conversation = 'room'; rooms = 2",  "rooms: belongs to --publish"),
        ("conversation = 'room'; receivers = 2", "receivers: belongs to --publish"),
        ("conversation = 'room'; publishers = 2", "publishers: belongs to --publish"),
        ("conversation = 'room'; away = 'every 2s for 1s'", "away: belongs to --publish"),
        (&format!("{rooms}; slow-receivers = '91%'"), "slow-receivers: 10 of 10 receivers of a room would be slow"),
        (&format!("{rooms}; slow-receivers = '1%'; storm = '3s'"), "storm: receivers that leave and --slow-receivers are two"),
        (&format!("{rooms}; storm = '10s'"),  "storm: 10 s is not inside the measurement of 10 s"),
        ("conversation = 'room'; restart = '3s'", "restart: belongs to --publish"),
        ("conversation = 'room'; restart-of = 'a'", "restart-of: belongs to --publish"),
        (&format!("{rooms}; restart = '3s'"), "restart: only a server that wirebench starts itself"),
        (&format!("{rooms}; slow-receivers = '1%'; restart = '3s'"), "restart: receivers that leave and --slow-receivers are two"),
        (&format!("{rooms}; restart = '10s'"), "restart: 10 s is not inside the measurement of 10 s"),
        (&format!("{rooms}; storm = '3s'; restart = '3s'"), "restart: a run has one recovery time: use --storm or --restart"),
        (&format!("{rooms}; rate = '1/s'"),   "publish: --rate and --publish are two different loads"),
        (&format!("{rooms}; connections = 2"), "connections: belongs to loads other than --publish"),
        (&format!("{rooms}; rooms = 0"),      "rooms: must be at least 1"),
        (&format!("{rooms}; rooms = '10M'; receivers = '1'"), "rooms: 10000000 rooms of 2 connections are more than 16777216"),
        (&format!("{rooms}; spacing = 'phases'"), "spacing: phases belong to --bots"),
        ("conversation = 'room'; publish = '4G/s'; rooms = 2", "publish: 4G/s in each of 2 rooms is more than can be scheduled"),
        ("conversation = 'room'; publish = '10k/s'; receivers = '100k'", "publish: 100000 receivers of 110000 messages each are more deliveries than can be kept apart"),
        ("conversation = 'room'; publish = '1/20s'", "publish: at 1/20s less than one message is due"),
    ];
    for (text, expected) in table {
        let found = problem("ws://h", text);
        assert!(found.starts_with(expected), "{text}: {found}");
    }
}
