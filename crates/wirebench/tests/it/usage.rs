//! Help, typos, and arguments that make no sense.

use crate::harness::Sandbox;
use spec::Scheme;

const COMMANDS: [&str; 16] = [
    "",
    "ladder",
    "run",
    "sweep",
    "lab",
    "subjects",
    "footprint",
    "gate",
    "history",
    "serve",
    "talk",
    "init",
    "certs",
    "config",
    "completions",
    "man",
];

#[test]
fn short_help_fits_a_screen_and_has_three_examples() {
    let sandbox = Sandbox::new();
    for command in COMMANDS {
        let help = sandbox.run(&format!("{command} -h"));
        help.check(0, &[]);
        assert_eq!(help.stderr, "");
        let lines: Vec<&str> = help.stdout.lines().collect();
        assert!(lines.len() <= 25, "{} lines:\n{}", lines.len(), help.stdout);
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{}", help.stdout);
        let examples = lines.iter().skip_while(|line| **line != "Examples:").skip(1);
        let examples = examples.take_while(|line| line.starts_with("  ")).count();
        assert_eq!(examples, 3, "{}", help.stdout);
    }
}

#[test]
fn short_help_of_every_command_fits_eighty_columns() {
    let sandbox = Sandbox::new();
    for command in ["ab", "show", "compare", "report", "ui", "doctor", "import", "selftest"] {
        let help = sandbox.run(&format!("{command} -h"));
        help.check(0, &[]);
        assert!(help.stdout.contains("Usage: "), "{help:?}");
        let is_wide = |line: &&str| line.chars().count() > 80;
        assert_eq!(help.stdout.lines().find(is_wide), None, "{command}");
    }
}

#[test]
fn long_help_is_complete_and_has_its_examples_first() {
    let sandbox = Sandbox::new();
    for command in COMMANDS {
        let help = sandbox.run(&format!("{command} --help")).stdout;
        assert!(help.find("Examples:") < help.find("Options:"), "{help}");
        let short = sandbox.run(&format!("{command} -h")).stdout;
        let options = |text: &str| -> Vec<String> {
            let words = text.split([' ', '\n', ',']).filter(|word| word.starts_with("--"));
            words.map(str::to_owned).collect()
        };
        let all = options(&help);
        assert!(options(&short).iter().all(|option| all.contains(option)), "{help}");
    }
    let run = sandbox.run("run --help").stdout;
    for scheme in Scheme::all() {
        assert!(
            run.contains(&format!("{scheme}:// ")) || run.contains(&format!("{scheme}://,")),
            "{scheme}: {run}"
        );
    }
    for option in [
        "connections",
        "duration",
        "messages",
        "size",
        "payload",
        "payload-kind",
        "deflate",
        "text",
        "binary",
        "in-flight",
        "in-flight-max",
        "busy-poll",
        "sleepy",
        "memory-max",
        "contact",
        "keep-going",
        "rate",
        "spacing",
        "bots",
        "every",
        "sessions",
        "messages-each",
        "think",
        "oracle",
        "clients",
        "concurrency",
        "round-trips",
        "header",
        "subprotocol",
        "method",
        "expect",
        "connect-rate",
        "source-ip",
        "threads",
        "warm-up",
        "timeout",
        "drain",
        "seed",
        "i-may-load-this-target",
        "ca",
        "insecure",
        "server-name",
        "client-cert",
        "client-key",
        "tls-version",
        "tls-suite",
        "tls-resumption",
        "alpn",
        "output",
        "json",
        "color",
        "quiet",
        "verbose",
    ] {
        assert!(run.contains(&format!("--{option}")), "{option}");
    }
    let serve = sandbox.run("serve --help").stdout;
    assert!(!serve.contains("--cpu"), "{serve}");
}

#[test]
fn a_typo_gets_a_suggestion() {
    let sandbox = Sandbox::new();
    #[rustfmt::skip]
    let table = [
        ("lader",                        "'ladder'"),
        ("run ws://h --conections 5",    "'--connections'"),
        ("ladder --only htpp",           "'http'"),
        ("serve htpp",                   "'http'"),
        ("wsss://h",                     "did you mean `wss`?"),
        ("wss://h --insecure --tls-version 1.4", "neither 1.2 nor 1.3"),
        ("wss://h --insecure --tls-suite TLS13_AES_128_GCM_SHA265", "did you mean `TLS13_AES_128_GCM_SHA256`?"),
        ("wss://h --insecure --tls-resumption ticket", "'tickets'"),
        ("ws://h --payload-kind jsn",    "'json'"),
        ("ws://h --deflate=client_max_window_bits=16", "client_max_window_bits"),
        ("localhost:8080",               "did you mean `ws://localhost:8080`?"),
        ("ws://h -d 10",                 "did you mean `10s`?"),
        ("ws://h --size 64K",            "did you mean `64KiB` or `64kB`?"),
        ("ws://h --connect-rate 100",    "did you mean `100/s`?"),
        ("ws://h --rate 2000",           "did you mean `2000/s`?"),
        ("ws://h --bots 5 --every 5",    "did you mean `5s`?"),
        ("ws://h --rate 5/s --spacing poison", "'poisson'"),
        ("ws://h --source-ip 127.0.0.9-127.0.0.2", "did you mean 127.0.0.2-127.0.0.9?"),
        ("serve tcp --listen 8080",      "did you mean 127.0.0.1:8080?"),
        ("serve tcp --listen :8080",     "did you mean 127.0.0.1:8080?"),
        ("completions zhs",              "bash, fish, zsh"),
        ("man rnu",                      "the commands are ladder, run, sweep, lab"),
    ];
    for (line, suggestion) in table {
        let ended = sandbox.run(line);
        ended.check(2, &["error: ", suggestion]);
        ended.check_no_result();
    }
}

#[test]
fn what_makes_no_sense_together_names_both_and_the_cure() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("latin1"), [b'a', 0xe9]).unwrap();
    std::fs::write(sandbox.path().join("empty.pem"), "").unwrap();
    for folder in ["a", "b"] {
        sandbox.run(&format!("certs {folder}")).check(0, &[]);
    }
    #[rustfmt::skip]
    let table: [(&str, &[&str]); _] = [
        ("ws://h -d 1s -n 5",                        &["--duration", "--messages", "leave one out"]),
        ("ws://h --payload x --size 5", &["--size: ", "--payload", "leave one of the two out"]),
        ("ws://h --text --binary",                   &["--text", "--binary", "leave one out"]),
        ("ws://h --clients 5 --warm-up 1s", &["--warm-up: ", "--clients", "leave it out"]),
        ("ws://h --clients 5 -n 5", &["--messages: ", "--clients", "leave it out"]),
        ("ws://h --concurrency 5 -c 5", &["--concurrency and --connections are the same", "leave one out"]),
        ("ws://h --clients 5 -d 5s",                 &["--clients", "--duration", "leave one out"]),
        ("http://h --in-flight 2", &["--in-flight: 2 ", "http://", "use more --connections"]),
        ("ws://h --rate 5/s --in-flight 2", &["--in-flight: ", "wait for replies", "bound an open loop with --in-flight-max"]),
        ("ws://h --rate 5/s --clients 2", &["--rate and --clients", "leave one out"]),
        ("ws://h --rate 5/s -n 2", &["--messages: ", "a closed loop", "send for --duration", "leave it out"]),
        ("ws://h --rate 5/s --bots 2",               &["--rate", "--bots", "leave one out"]),
        ("ws://h --rate 5/s --sessions 2/s",         &["--rate", "--sessions", "leave one out"]),
        ("ws://h --rate 5/s --every 1s", &["--every: ", "--bots", "leave it out"]),
        ("ws://h --bots 5 -c 2", &["--connections: ", "--bots", "one connection each"]),
        ("ws://h --bots 5 --in-flight 2", &["--in-flight: ", "--in-flight-max"]),
        ("ws://h --bots 5,6,5", &["--bots: 5", "twice"]),
        ("ws://h --sessions 5/s --in-flight-max 2",  &["--sessions", "--in-flight-max", "--connections"]),
        ("ws://h --sessions 5/s --round-trips 2", &["--sessions and --round-trips", "leave one out"]),
        ("ws://h --every 1s", &["--every: ", "belongs to --bots"]),
        ("ws://h --think 1s --clients 5", &["--think: ", "belongs to --sessions"]),
        ("ws://h --spacing poisson",                 &["--spacing", "--rate"]),
        ("ws://h --oracle",                          &["--oracle", "--rate"]),
        ("ws://h --rate 1/1h",                       &["1/h", "less than one message is due in 10 s", "1h"]),
        ("ws://h --rate 20M/s --spacing poisson",     &["20M/s", "10000000/s", "--spacing uniform"]),
        ("ws://h --bots 5 --every 2m",               &["less than one message is due in 10 s", "24 s"]),
        ("ws://h --rate 5/s --oracle --size 23B",    &["--oracle", "24 bytes", "24B"]),
        ("ws://h --rate 5/s --oracle --text --size 47B", &["--oracle", "48 bytes"]),
        ("ws://h --rate 5/s --oracle --payload x",   &["--oracle", "--payload"]),
        ("ws://h --rate 5/s --oracle --expect x", &["--expect: ", "oracle", "leave --expect out"]),
        ("http://h --method GET --size 5",           &["--size", "--method GET", "leave one out"]),
        ("http://h --method get --payload x",        &["--payload", "--method GET", "leave one out"]),
        ("http://h --method HEAD --expect x",        &["--expect", "--method HEAD", "use GET"]),
        ("ws://h --payload @latin1 --text", &["--payload: @latin1", "UTF-8", "use --binary"]),
        ("tcp://h:1 --size 0",                       &["0 bytes", "tcp://", "use tcp-framed://"]),
        ("unix:a.sock --expect @/dev/null",          &["0 bytes", "unix://"]),
        ("tcp://h:1 --header A:b",                   &["--header", "tcp://", "leave it out"]),
        ("http://h --subprotocol a",                 &["--subprotocol", "http://", "leave it out"]),
        ("ws://h --method GET",                      &["--method", "ws://", "leave it out"]),
        ("tcp://h:1 --text",                         &["--text", "tcp://", "leave it out"]),
        ("unix:a.sock --source-ip 127.0.0.2",        &["--source-ip", "unix://", "leave it out"]),
        ("ws://h --insecure", &["--insecure: does not apply to ws://", "only to wss://", "leave it out"]),
        ("http://h --ca a/ca.pem", &["--ca: does not apply to http://", "only to https://"]),
        ("tcp://h:1 --tls-version 1.2", &["--tls-version: does not apply to tcp://", "only to tls://"]),
        ("tcp-framed://h:1 --alpn a", &["--alpn: does not apply to tcp-framed://", "only to tls-framed://"]),
        ("unix:a.sock --server-name a", &["--server-name: does not apply to unix://", "leave it out"]),
        ("https://h --deflate", &["--deflate: does not apply to https://", "ws:// and wss://"]),
        ("sockjs://h --binary", &["--binary: is not possible over sockjs://", "ws://"]),
        ("socketio://h --payload @latin1",         &["is not UTF-8", "use --binary"]),
        ("tls://h:1 --text", &["--text: does not apply to tls://", "ws:// and wss://"]),
        ("wss://h --method GET", &["--method: does not apply to wss://", "https://"]),
        ("https://h --insecure --in-flight 2", &["--in-flight: 2 ", "https://", "use more --connections"]),
        ("tls://h:1 --insecure --size 0",            &["0 bytes", "tls://"]),
        ("wss://h --insecure --ca a/ca.pem", &["--ca: ", "--insecure", "leave one of the two out"]),
        ("wss://h --ca none.pem",                    &["--ca: cannot read none.pem: "]),
        ("wss://h --ca empty.pem", &["--ca: empty.pem: ", "-----BEGIN CERTIFICATE-----"]),
        ("wss://h --ca a/ca-key.pem", &["--ca: a/ca-key.pem: ", "-----BEGIN CERTIFICATE-----"]),
        ("wss://h --insecure --client-cert a/client.pem", &["--client-cert: a/client.pem needs its key", "--client-key FILE"]),
        ("wss://h --insecure --client-key a/client-key.pem", &["needs its certificate", "--client-cert FILE"]),
        ("wss://h --insecure --client-cert a/client.pem --client-key b/client-key.pem", &["a/client.pem", "b/client-key.pem", "does not belong"]),
        ("wss://h --insecure --client-cert a/client.pem --client-key a/client.pem", &["--client-key a/client.pem", "no private key"]),
        ("wss://h --insecure --tls-version 1.2 --tls-suite TLS13_AES_128_GCM_SHA256", &["--tls-suite", "TLS13_AES_128_GCM_SHA256 belongs to TLS 1.3"]),
        ("wss://h --insecure --server-name a:b", &["--server-name: `a:b` is not the name of a server", "`example.org`"]),
        ("wss://h --insecure --alpn h2", &["--alpn: h2: ", "http/1.1"]),
        ("ws://h --payload x --payload-kind json", &["--payload-kind: ", "--payload", "leave one of the two out"]),
        ("http://h --method GET --payload-kind zero", &["--payload-kind", "--method GET", "leave one out"]),
        ("ws://h --rate 5/s --oracle --payload-kind json", &["--oracle", "--payload-kind json"]),
        ("ws://h --source-ip 10.0.0.0-10.255.0.0", &["--source-ip: ", "more than 65536 addresses"]),
        ("ws://127.0.0.1:1 --source-ip ::1", &["--source-ip ::1 is IPv6", "127.0.0.1:1 is IPv4"]),
        ("ws://[::1]:1 --source-ip 127.0.0.2", &["--source-ip 127.0.0.2 is IPv4", "[::1]:1 is IPv6"]),
        ("ws://h --source-ip ::1 --source-ip 127.0.0.2", &["--source-ip: ", "one family"]),
        ("ws://h --header NoColon",                  &["--header", "`Name: value`"]),
        ("ws://h -q -v",                             &["--quiet", "--verbose"]),
        ("serve unix",                               &["--listen /tmp/echo.sock"]),
        ("serve tcp --subprotocol a",                &["--subprotocol", "ws"]),
        ("serve game --reply a",                     &["--reply does not apply to serve game"]),
        ("serve oracle ws --reply a",                &["--reply does not apply to serve oracle"]),
        ("serve tcp --reply=",                       &["a reply of 0 bytes", "tcp-framed"]),
    ];
    for (line, words) in table {
        let ended = sandbox.run(line);
        ended.check(2, words);
        ended.check_no_result();
        assert_eq!(sandbox.records(), []);
    }
}

#[test]
fn a_header_cannot_carry_a_second_one() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("ws://127.0.0.1:1 --header");
    let ended = crate::harness::ended(&command.arg("A: b\r\nC: d").output().unwrap());
    ended.check(2, &["--header: a header field cannot have `\\r` in it"]);

    // The content of a file may be secret, so only the line is named.
    std::fs::write(sandbox.path().join("secrets"), "A: b\n\nhunter2\n").unwrap();
    let ended = sandbox.run("ws://127.0.0.1:1 --header @secrets");
    ended.check(2, &["--header: @secrets: line 3 is not `Name: value`"]);
    assert!(!ended.stderr.contains("hunter2"), "{ended:?}");
}

#[test]
fn a_system_without_authorities_says_so_only_where_they_are_needed() {
    let sandbox = Sandbox::new();
    let of_none = |line: &str| {
        let mut command = sandbox.command(line);
        command.env("SSL_CERT_FILE", "none.pem").env("SSL_CERT_DIR", "none");
        crate::harness::ended(&command.output().unwrap())
    };
    let ended = of_none("wss://127.0.0.1:1");
    ended.check(2, &["no certificate authorities", "--ca FILE", "ca-certificates", "--insecure"]);
    for line in ["wss://127.0.0.1:1 --insecure", "ws://127.0.0.1:1"] {
        of_none(line).check(15, &["cannot reach"]);
    }
}

#[test]
fn completions_and_manual_pages_come_from_the_same_definitions() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = sandbox.run(&format!("completions {shell}"));
        script.check(0, &[]);
        for option in ["messages-each", "tls-suite", "payload-kind"] {
            assert!(script.stdout.contains(option), "{option} for {shell}");
        }
    }
    for (page, words) in [
        ("man", [".TH wirebench", "wirebench\\-ladder"]),
        ("man run", [".TH wirebench-run", "messages\\-each"]),
    ] {
        let page = sandbox.run(page);
        page.check(0, &[]);
        assert!(words.iter().all(|word| page.stdout.contains(word)), "{}", page.stdout);
    }
}

#[test]
fn the_version_names_the_program() {
    let version = Sandbox::new().run("--version");
    version.check(0, &[]);
    assert_eq!(version.stdout, format!("wirebench {}\n", env!("CARGO_PKG_VERSION")));
}
