//! `wirebench serve`.

use crate::harness::{Sandbox, Server};
use crate::peers::Stream;
use record::RunRecord;
use rustix::process::Signal;
use std::io::{Read, Write};

#[test]
fn a_server_says_where_it_listens_and_prints_its_totals_at_the_end() {
    let sandbox = Sandbox::new();
    for (kind, signal) in [
        ("tcp", Signal::TERM),
        ("tcp-framed", Signal::INT),
        ("unix --listen a.sock", Signal::TERM),
        ("ws", Signal::INT),
        ("http", Signal::TERM),
    ] {
        let server = Server::start(&sandbox, kind);
        sandbox.run(&format!("run {} -n 100 -c 2 -q", server.url)).check(0, &[]);
        server.process.send(signal);
        let ended = server.process.wait();
        ended.check(0, &[]);
        assert_eq!(ended.stderr, "");
        let totals = ended.stdout.strip_prefix("served ").unwrap_or_else(|| panic!("{ended:?}"));
        assert_eq!(totals.lines().count(), 1, "{totals}");
        // Two connections of the run, and the one that verified before it.
        assert!(
            totals.starts_with("3 connections (0 broke the protocol, 0 timed out), 10"),
            "{totals}"
        );
    }
    assert!(!sandbox.path().join("a.sock").exists());
}

#[test]
fn the_ready_line_is_a_url_that_can_be_run() {
    let sandbox = Sandbox::new();
    let absolute = sandbox.path().join("b.sock").display().to_string();
    for (line, expected) in [
        ("tcp --listen [::1]:0", "tcp://[::1]:"),
        ("ws", "ws://127.0.0.1:"),
        ("http --listen 127.0.0.9:0", "http://127.0.0.9:"),
        ("unix --listen a.sock", "unix:a.sock"),
        (&format!("unix --listen {absolute}"), &format!("unix://{absolute}")),
    ] {
        let server = Server::start(&sandbox, line);
        assert!(server.url.starts_with(expected), "{}", server.url);
        sandbox.run(&format!("run {} -n 10 -c 1 -q", server.url)).check(0, &[]);
    }
}

#[test]
fn the_totals_are_what_a_run_has_sent() {
    for (kind, message_bytes) in [
        ("tcp", Some(64)),
        ("tcp-framed", Some(4 + 64)),
        ("styx", Some(4 + 64)),
        ("lines", Some(64 + 1)),
        ("unix --listen a.sock", Some(64)),
        // Their connections take bytes too.
        ("ws", None),
        ("http", None),
    ] {
        let sandbox = Sandbox::new();
        let server = Server::start(&sandbox, &format!("{kind} --json"));
        sandbox.run(&format!("run {} -n 500 -c 5 -q", server.url)).check_measured(&[]);
        server.process.send(Signal::TERM);
        let ended = server.process.wait();
        ended.check(0, &[]);
        let totals: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        let number = |name: &str| totals[name].as_u64().unwrap();
        // One more connection verified, with one message, that the server answers at all.
        assert_eq!((number("connections"), number("broken_connections")), (5 + 1, 0), "{kind}");
        assert_eq!(number("messages"), 500 + 1, "{kind}");
        if let Some(each) = message_bytes {
            let bytes = (number("received_bytes"), number("sent_bytes"));
            assert_eq!(bytes, (501 * each, 501 * each), "{kind}");
        }
    }
}

#[test]
fn a_client_that_does_not_finish_or_falls_silent_is_closed_and_counted() {
    for (option, said) in [("--receive-timeout", &b"GET / HT"[..]), ("--idle-timeout", b"")] {
        let sandbox = Sandbox::new();
        let server = Server::start(&sandbox, &format!("http --json {option} 50ms"));
        let address = server.url.trim_start_matches("http://").trim_end_matches('/');
        let mut client = Stream::connect(address).unwrap();
        client.write_all(said).unwrap();
        assert_eq!(client.read_to_end(&mut Vec::new()).unwrap(), 0);
        server.process.send(Signal::TERM);
        let totals: serde_json::Value =
            serde_json::from_str(&server.process.wait().stdout).unwrap();
        assert_eq!(totals["timed_out_connections"], 1, "{totals}");
    }
    let sandbox = Sandbox::new();
    sandbox.run("serve game --idle-timeout 1s").check(2, &["use --idle"]);
}

#[test]
fn a_fixed_reply_answers_every_message() {
    for kind in ["tcp", "tcp-framed", "lines", "unix --listen a.sock", "ws", "http"] {
        let sandbox = Sandbox::new();
        let server = Server::start(&sandbox, &format!("{kind} --reply Pong! --json"));
        let line = format!("run {} -n 100 -c 2 -q --payload Ping! --expect Pong!", server.url);
        sandbox.run(&line).check_measured(&[]);
        server.process.send(Signal::TERM);
        let ended = server.process.wait();
        let totals: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(totals["messages"], 101, "{kind}: {totals}");
        let wrong = Server::start(&sandbox, &format!("{kind} --reply Pang!"));
        let line = format!("run {} -n 100 -c 2 -q --payload Ping! --expect Pong!", wrong.url);
        sandbox.run(&line).check(15, &["Pang!"]);
    }
}

#[test]
fn no_reply_comes_before_its_work_is_done() {
    let sandbox = Sandbox::new();
    for kind in ["ws --work 3ms", "oracle ws --work 3ms"] {
        let server = Server::start(&sandbox, kind);
        let ended = sandbox.run(&format!("run {} -n 20 -c 2 -q -o work.json", server.url));
        ended.check(0, &[]);
        let text = std::fs::read_to_string(sandbox.path().join("work.json")).unwrap();
        let record = RunRecord::from_json(&text).unwrap();
        let least = record.blocks[0].round_trip.as_ref().unwrap().min_ns;
        // Histograms have three digits.
        assert!(least >= 2_997_000, "{kind}: {least} ns");
    }
}

#[test]
fn totals_are_json_for_programs() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "ws --json");
    sandbox.run(&format!("run {} -n 9 -c 1 --size 1B -q", server.url)).check(0, &[]);
    server.process.send(Signal::TERM);
    let ended = server.process.wait();
    let totals: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&totals["connections"], &totals["messages"]), (&2.into(), &10.into()), "{totals}");
    assert_eq!(totals["broken_connections"], 0);
    assert!(totals["received_bytes"].as_u64() > totals["sent_bytes"].as_u64(), "masks: {totals}");
}

#[test]
fn an_oracle_answers_on_every_transport_and_says_what_it_did() {
    for kind in ORACLES {
        let sandbox = Sandbox::new();
        let line = format!("oracle {kind} --delay fixed:200us --corrupt 5% --close-after 1k");
        let server = Server::start(&sandbox, &format!("{line} --json"));
        let echo = if kind == "http" { "--echo" } else { "" };
        let run = sandbox.run(&format!("run {} -n 200 -c 2 -q {echo}", server.url));
        server.process.send(Signal::TERM);
        let ended = server.process.wait();
        ended.check(0, &[]);
        let totals: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        let corrupted = totals["faults"]["corrupted"].as_u64().unwrap();
        assert!(corrupted > 0, "{totals}");
        let records = sandbox.records();
        let counts = records[0].blocks[0].counts;
        assert_eq!(counts.error, corrupted, "{kind} {totals} {run:?}");
        // The verification at the start of a run is answered too.
        assert_eq!(totals["messages"].as_u64(), Some(counts.ok + counts.error + 1), "{kind}");
        let none = ["dropped", "duplicated", "reordered", "closed_connections"];
        assert!(none.iter().all(|fault| totals["faults"][fault] == 0), "{totals}");
    }
}

#[test]
fn the_totals_of_an_oracle_are_one_line_for_people() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "oracle tcp-framed --close-after 1");
    let ended = sandbox.run(&format!("run {} --clients 5 --concurrency 1 -q", server.url));
    ended.check(0, &[]);
    server.process.send(Signal::TERM);
    let ended = server.process.wait();
    let faults = "0 dropped, 0 duplicated, 0 reordered, 0 corrupted, 6 connections closed\n";
    assert!(ended.stdout.ends_with(faults), "{ended:?}");
    assert_eq!(ended.stdout.lines().count(), 1);
}

#[test]
fn an_oracle_that_cannot_be_says_why_and_what_to_do() {
    let sandbox = Sandbox::new();
    #[rustfmt::skip]
    let table: [(&str, &[&str]); 28] = [
        ("oracle",                                &["needs a transport", "use one of tcp, tls, tcp-framed, tls-framed, "]),
        ("oracle htpp",                           &["'htpp'", "'http'"]),
        ("orcale ws",                             &["'orcale'", "'oracle'"]),
        ("oracle oracle",                         &["'oracle'", "tcp-framed"]),
        ("oracle unix",                           &["--listen /tmp/echo.sock"]),
        ("tcp ws",                                &["serve tcp", "serve oracle ws"]),
        ("tcp --delay fixed:1ms",                 &["--delay", "serve oracle tcp"]),
        ("ws --seed 5",                           &["--seed", "serve oracle ws"]),
        ("oracle http --duplicate 1%",            &["HTTP/1.1", "duplicate", "use ws"]),
        ("oracle http --reorder 1%",              &["HTTP/1.1", "reorder", "use ws"]),
        ("oracle https --duplicate 1%",           &["HTTP/1.1", "duplicate", "use ws"]),
        ("oracle ws --size 64B",                  &["--size", "ws", "leave it out"]),
        ("oracle tcp --size 0B",                  &["--size 0", "tcp-framed"]),
        ("oracle tcp --size 1GiB",                &["1 GiB is too large", "16 MiB"]),
        ("oracle ws --drop 150%",                 &["--drop", "`150%`", "at most 100%"]),
        ("oracle ws --corrupt -1%",               &["--corrupt", "`-1%` is negative", "at least 0%"]),
        ("oracle ws --drop 0.01",                 &["`0.01` is not a percentage", "`1%`"]),
        ("oracle ws --delay 1ms",                 &["--delay", "did you mean `fixed:1ms`?"]),
        ("oracle ws --delay exp:1ms",             &["did you mean `exponential`?"]),
        ("oracle ws --delay bimodal:1ms,50ms",    &["`bimodal:1ms,50ms@10%`"]),
        ("oracle ws --stall 2s",                  &["has no start", "`2s@5s`"]),
        ("oracle ws --cap 0/s",                   &["`0/s` is a rate of zero", "--drop 100%"]),
        ("oracle ws --cap 1500",                  &["did you mean `1500/s`?"]),
        ("oracle ws --events 20",                 &["an event stream can only answer an HTTP request", "use http"]),
        ("oracle http --first 1s",                &["--events"]),
        ("oracle http --events 0",                &["--events", "0"]),
        ("oracle http --events 9 --delay fixed:1ms", &["leave out the delay"]),
        ("oracle ws --close-after 0",             &["--close-after", "at least 1"]),
    ];
    for (line, words) in table {
        let ended = sandbox.run(&format!("serve {line}"));
        ended.check(2, words);
        ended.check_no_result();
    }
}

#[test]
fn every_transport_is_served_inside_tls_and_its_handshakes_are_counted() {
    let sandbox = Sandbox::new();
    for kind in SECURE {
        for line in [kind.to_owned(), format!("oracle {kind}")] {
            let server = Server::start(&sandbox, &format!("{line} --ca-out ca.pem"));
            assert!(server.url.starts_with(&format!("{kind}://127.0.0.1:")), "{}", server.url);
            sandbox
                .run(&format!("run {} --ca ca.pem -n 100 -c 2 -q", server.url))
                .check_measured(&[]);
            server.process.send(Signal::TERM);
            let ended = server.process.wait();
            ended.check(
                0,
                &["TLS 1.2 or 1.3", "ECDSA P-256", "localhost, 127.0.0.1, ::1", "--ca ca.pem"],
            );
            assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
            // Two connections of the run, and the one that verified before it.
            assert!(
                ended
                    .stdout
                    .starts_with("served 3 connections (0 broke the protocol, 0 timed out), 10")
            );
            let words =
                ended.stdout.split_once("TLS handshakes: ").unwrap_or_else(|| panic!("{ended:?}"));
            let numbers: Vec<u64> =
                words.1.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
            assert_eq!((numbers[0] + numbers[1], numbers[2]), (3, 0), "{ended:?}");
        }
    }
}

#[test]
fn compression_is_agreed_to_where_it_was_asked_for() {
    let sandbox = Sandbox::new();
    let limits = "=server_no_context_takeover,client_max_window_bits=9,level=1";
    for (kind, ca) in [("ws", ""), ("wss --ca-out ca.pem", "--ca ca.pem")] {
        for (agreed, offered) in [("", ""), (limits, "=client_max_window_bits")] {
            let server = Server::start(&sandbox, &format!("{kind} --deflate{agreed} --json"));
            let json = "--payload-kind json --size 1KiB";
            let run = format!("run {} {ca} --deflate{offered} {json} -n 200 -c 2 -q", server.url);
            sandbox.run(&run).check_measured(&[]);
            server.process.send(Signal::TERM);
            let ended = server.process.wait();
            let totals: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
            let number = |name: &str| totals[name].as_u64().unwrap();
            assert_eq!((number("messages"), number("broken_connections")), (201, 0), "{kind}");
            for bytes in [number("received_bytes"), number("sent_bytes")] {
                assert!(bytes < 201 * 1024, "{bytes} {kind} {agreed}");
            }
        }
    }
}

#[test]
fn what_makes_no_sense_about_tls_is_told_before_anything_listens() {
    let sandbox = Sandbox::new();
    for folder in ["a", "b"] {
        sandbox.run(&format!("certs {folder}")).check(0, &[]);
    }
    std::fs::write(sandbox.path().join("empty.pem"), "").unwrap();
    std::fs::write(sandbox.path().join("large.pem"), vec![b'-'; (1 << 20) + 1]).unwrap();
    let own = "--cert a/server.pem --key a/server-key.pem";
    #[rustfmt::skip]
    let table: [(&str, &[&str]); _] = [
        ("ws --tls-key rsa",                                  &["--tls-key does not apply to ws", "tls, tls-framed, "]),
        ("oracle tcp --ca-out ca.pem",                        &["--ca-out does not apply to tcp", "leave it out"]),
        ("unix --listen a.sock --alpn a",                     &["--alpn does not apply to unix"]),
        ("tls --deflate",                                     &["--deflate is only for ws and wss"]),
        ("http --deflate=level=1",                            &["--deflate is only for ws and wss"]),
        ("wss --deflate=client_max_window_bits=16",           &["client_max_window_bits", "16", "15"]),
        ("https --subprotocol a",                             &["--subprotocol is only for ws and wss"]),
        ("wss --size 1B",                                     &["--size", "serve oracle wss"]),
        ("wss --cert a/server.pem",                           &["--cert a/server.pem needs its key", "--key FILE"]),
        ("wss --key a/server-key.pem",                        &["--key a/server-key.pem needs its certificate", "--cert FILE"]),
        (&format!("wss {own} --tls-key rsa"),                 &["--tls-key is for a certificate made at start", "a/server.pem"]),
        (&format!("wss {own} --name a"),                      &["--name is for a certificate made at start"]),
        (&format!("wss {own} --ca-out ca.pem"),               &["--ca-out is for a certificate made at start"]),
        ("wss --cert none.pem --key a/server-key.pem",        &["--cert: cannot read none.pem: "]),
        ("wss --cert a/server.pem --key none.pem",            &["--key: cannot read none.pem: "]),
        ("wss --cert large.pem --key none.pem",               &["--cert: cannot read large.pem", "1 MiB"]),
        ("wss --cert empty.pem --key a/server-key.pem",       &["--cert empty.pem", "certificate"]),
        ("wss --cert a/server.pem --key empty.pem",           &["empty.pem", "key"]),
        ("wss --cert a/server.pem --key a/server.pem",        &["a/server.pem", "key"]),
        ("wss --cert a/server.pem --key b/server-key.pem",    &["a/server.pem", "b/server-key.pem"]),
        ("wss --client-ca none.pem",                          &["--client-ca: cannot read none.pem: "]),
        ("wss --client-ca empty.pem",                         &["--client-ca empty.pem"]),
        ("wss --tls-version 1.1",                             &["1.1", "1.2", "1.3"]),
        ("wss --tls-suite TLS_RSA_WITH_RC4_128_MD5",          &["TLS_RSA_WITH_RC4_128_MD5", "TLS13_AES_128_GCM_SHA256"]),
        ("wss --tls-suite TLS13_AES_128_GCM_SHA265",          &["a similar value exists: 'TLS13_AES_128_GCM_SHA256'"]),
        ("wss --tls-version 1.2 --tls-suite TLS13_AES_128_GCM_SHA256", &["TLS13_AES_128_GCM_SHA256 belongs to TLS 1.3", "--tls-version 1.3"]),
        ("wss --tls-version 1.2 --tls-version 1.3 --tls-suite TLS13_AES_128_GCM_SHA256", &["--tls-version 1.2", "add a --tls-suite"]),
        ("wss --tls-suite TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", &["ECDSA key", "another --tls-key"]),
        ("wss --tls-key dsa",                                 &["'dsa'", "ecdsa, rsa"]),
        ("wss --tls-resumption id",                           &["'id'", "none, tickets"]),
        ("wss --alpn h2",                                     &["--alpn h2", "http/1.1"]),
        ("wss --name a:80",                                   &["`a:80` contains ':'"]),
    ];
    for (line, words) in table {
        let ended = sandbox.run(&format!("serve {line}"));
        ended.check(2, words);
        ended.check_no_result();
    }
    let ended = sandbox.run("serve wss --ca-out none/ca.pem");
    ended.check(74, &["cannot write none/ca.pem: "]);
    ended.check_no_result();
}

#[test]
fn what_an_oracle_can_do_is_in_the_long_help() {
    let help = Sandbox::new().run("serve --help").stdout;
    let options =
        ["delay", "stall", "cap", "drop", "duplicate", "reorder", "corrupt", "close-after", "seed"];
    for option in options {
        assert!(help.contains(&format!("--{option} <")), "{option} in {help}");
    }
}

#[test]
fn a_place_that_cannot_be_listened_at_is_named_with_the_cure() {
    let sandbox = Sandbox::new();
    let taken = Server::start(&sandbox, "tcp");
    let place = taken.url.strip_prefix("tcp://").unwrap();
    #[rustfmt::skip]
    let table = [
        (format!("serve tcp --listen {place}"),          "address already in use; try port 0"),
        ("serve tcp --listen 192.0.2.1:0".to_owned(),    "does not belong to this machine; use an address of this machine"),
        ("serve unix --listen //host/a".to_owned(),      "did you mean `unix:///host/a`"),
    ];
    for (line, words) in table {
        let ended = sandbox.run(&line);
        ended.check(2, &[words]);
        ended.check_no_result();
    }
}

/// The transports inside TLS.
const SECURE: [&str; 4] = ["tls", "tls-framed", "wss", "https"];

/// The arguments of `wirebench serve oracle` for each transport.
const ORACLES: [&str; 6] = ["tcp", "tcp-framed", "lines", "unix --listen a.sock", "ws", "http"];
