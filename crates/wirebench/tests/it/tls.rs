//! Runs inside TLS and with compression, and what can be wrong with either: each fault is named, has its exit code, and
//! says what to do next.

use crate::harness::{Ended, Running, Sandbox, Server, record_of};
use crate::peers::{Peer, Stream, silence};
use flate2::{Compress, Compression, FlushCompress};
use record::{Block, RunRecord, TlsSeen};
use serve::certificates::{Authority, KeyType, Leaf, Name, Usage, Validity, local_names};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::path::Path;
use tungstenite::handshake::server::{Request, Response};

/// The transports inside TLS, each with the same transport without it.
const SECURE: [(&str, &str); 5] = [
    ("tls", "tcp"),
    ("tls-framed", "tcp-framed"),
    ("lines-tls", "lines"),
    ("wss", "ws"),
    ("https", "http"),
];

#[test]
fn every_transport_runs_inside_every_version_with_every_kind_of_key() {
    let sandbox = Sandbox::new();
    for key in ["ecdsa", "rsa"] {
        for (scheme, _) in SECURE {
            let server =
                Server::start(&sandbox, &format!("{scheme} --ca-out ca.pem --tls-key {key}"));
            let echo = if scheme == "https" { "--echo" } else { "" };
            for version in ["1.2", "1.3"] {
                let line = format!(
                    "{} --ca ca.pem --tls-version {version} -n 200 -c 4 {echo}",
                    server.url
                );
                let (ended, record) = run(&sandbox, &line);
                ended.check_measured(&["repeat: wirebench run "]);
                let asked = record.spec.as_ref().unwrap().workloads[0].tls.as_ref().unwrap();
                let spec::Trust::Authorities(trusted) = &asked.trust else { panic!("{asked:?}") };
                assert_eq!(
                    trusted[0].file, "ca.pem",
                    "the record names the file, and has its text to repeat the run"
                );
                let block = only_block(&record);
                assert_eq!((block.counts.planned, block.counts.ok), (200, 200), "{line}");
                let seen = seen(&record);
                assert_eq!(
                    (seen.version.as_str(), seen.full + seen.resumed),
                    (version, 4),
                    "{line}"
                );
                check_bytes(block);
                let asked = &record.plan.workloads[0].spec;
                let wanted = asked.tls.as_ref().unwrap();
                assert!(asked.is_verified() && wanted.identity.is_none(), "{wanted:?}");
                assert_eq!(wanted.versions, [version]);
            }
        }
    }
}

#[test]
fn suites_and_protocols_are_those_that_were_offered() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "tls --ca-out ca.pem --alpn other --alpn echo");
    for suite in [
        "TLS13_CHACHA20_POLY1305_SHA256",
        "TLS13_AES_128_GCM_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    ] {
        let line = format!("{} --ca ca.pem --tls-suite {suite} --alpn echo -n 9 -c 1", server.url);
        let (ended, record) = run(&sandbox, &line);
        ended.check_measured(&[]);
        let seen = seen(&record);
        assert_eq!((seen.suite.as_str(), seen.alpn.as_deref()), (suite, Some("echo")));
    }
}

#[test]
fn full_and_resumed_handshakes_are_counted_and_timed_apart() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "https --ca-out ca.pem");
    let clients = format!("{} --ca ca.pem --clients 40 --concurrency 1", server.url);
    for version in ["1.2", "1.3"] {
        for (how, resumption, full, resumed) in [
            // The connection that verified before left its ticket.
            ("tickets", true, 0, 40),
            ("none", false, 40, 0),
        ] {
            let options = format!("--tls-version {version} --tls-resumption {how}");
            let (ended, record) = run(&sandbox, &format!("{clients} {options}"));
            ended.check_measured(&[]);
            let seen = seen(&record);
            assert_eq!((seen.full, seen.resumed), (full, resumed), "{options}");
            let phases = &only_block(&record).phases;
            let count = |times: Option<&record::Summary>| times.map_or(0, |times| times.count);
            assert_eq!(count(phases.tls_full.as_ref()), full, "{options}");
            assert_eq!(count(phases.tls_resumed.as_ref()), resumed, "{options}");
            assert_eq!(record.plan.workloads[0].spec.tls.as_ref().unwrap().resumption, resumption);
        }
    }
    let server = Server::start(&sandbox, "https --ca-out ca.pem --tls-resumption none");
    let (_, record) = run(&sandbox, &format!("{} --ca ca.pem --clients 5", server.url));
    assert_eq!((seen(&record).full, seen(&record).resumed), (5, 0), "the server issues no tickets");
}

#[test]
fn a_certificate_is_shown_to_servers_that_ask_for_one() {
    let sandbox = Sandbox::new();
    sandbox.run("certs certs").check(0, &[]);
    sandbox.run("certs others").check(0, &[]);
    let server = Server::start(
        &sandbox,
        "wss --cert certs/server.pem --key certs/server-key.pem --client-ca certs/ca.pem",
    );
    let line = format!("{} --ca certs/ca.pem -n 50 -c 2", server.url);
    for version in ["1.2", "1.3"] {
        let line = format!("{line} --tls-version {version}");
        let own = "--client-cert certs/client.pem --client-key certs/client-key.pem";
        let (ended, record) = run(&sandbox, &format!("{line} {own}"));
        ended.check_measured(&["repeat: wirebench run "]);
        let asked = record.spec.as_ref().unwrap().workloads[0].tls.as_ref().unwrap();
        let identity = asked.identity.as_ref().unwrap();
        assert_eq!((identity.key_file.as_str(), &identity.key), ("certs/client-key.pem", &None));
        assert_eq!(only_block(&record).counts.ok, 50);
        let planned = record.plan.workloads[0].spec.tls.as_ref().unwrap();
        assert_eq!(planned.identity.as_ref().unwrap().key_file, identity.key_file);
        assert!(!record.to_json().contains("PRIVATE KEY"));

        let none = sandbox.run(&line);
        none.check(15, &["does not answer as expected", "alert", "--client-cert"]);
        let others = "--client-cert others/client.pem --client-key others/client-key.pem";
        let others = sandbox.run(&format!("{line} {others}"));
        others.check(15, &["alert unknown_ca", "--client-cert"]);
    }
}

#[test]
fn nobody_is_verified_where_that_was_asked_for_and_the_record_says_so() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "wss --name other.example");
    let (ended, record) = run(&sandbox, &format!("{} --insecure -n 50 -c 2", server.url));
    ended.check_measured(&["repeat: wirebench run "]);
    let asked = record.spec.as_ref().unwrap().workloads[0].tls.as_ref().unwrap();
    assert_eq!(asked.trust, spec::Trust::Anyone);
    assert!(!record.plan.workloads[0].spec.is_verified());
    assert_eq!(only_block(&record).counts.ok, 50);
}

#[test]
fn a_name_other_than_that_of_the_url_can_be_asked_for() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "wss --name other.example --ca-out ca.pem");
    let line = format!("{} --ca ca.pem -n 50 -c 2", server.url);
    sandbox.run(&line).check(15, &["is not for 127.0.0.1, but for other.example", "--server-name"]);
    let (ended, _) = run(&sandbox, &format!("{line} --server-name other.example"));
    ended.check_measured(&[]);
}

#[test]
fn a_certificate_that_does_not_hold_is_named_with_the_reason_and_the_cure() {
    let sandbox = Sandbox::new();
    let now_unix_s = engine::clock::unix_seconds().unwrap();
    let today = Validity::days(now_unix_s, 1);
    let long_ago = Validity { from_unix_s: 1_000_000_000, until_unix_s: 1_000_086_400 };
    let one_day = Validity { from_unix_s: now_unix_s + 86_400, until_unix_s: now_unix_s + 172_800 };
    let authority = Authority::new(KeyType::Ecdsa, today).unwrap();
    let other = Authority::new(KeyType::Ecdsa, today).unwrap();
    let (local, elsewhere) = (local_names(), ["other.example".parse::<Name>().unwrap()]);
    let leaf = |names, validity, usage| {
        let identity = authority.issue(&Leaf { names, usage, validity }).unwrap();
        (identity.chain_pem, identity.key_pem)
    };
    let of_authority = (other.certificate_pem().as_bytes().to_vec(), other.key_pem().into_bytes());
    let self_signed = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let self_signed =
        (self_signed.cert.pem().into_bytes(), self_signed.signing_key.serialize_pem().into_bytes());
    let foreign =
        other.issue(&Leaf { names: &local, usage: Usage::Server, validity: today }).unwrap();
    write(sandbox.path(), "ca.pem", authority.certificate_pem().as_bytes());
    let mut table = vec![
        ("expired at 2001-09-10T01:46:40Z", leaf(&local, long_ago, Usage::Server)),
        ("is not valid before", leaf(&local, one_day, Usage::Server)),
        ("is not for 127.0.0.1, but for other.example", leaf(&elsewhere, today, Usage::Server)),
        ("is not meant for this use", leaf(&local, today, Usage::Client)),
        ("is a CA certificate (CA:TRUE)", of_authority),
        ("is self-signed, and not among the authorities that we trust", self_signed),
        ("is not issued by an authority that we trust", (foreign.chain_pem, foreign.key_pem)),
    ];
    for (reason, (chain, key)) in table.drain(..) {
        write(sandbox.path(), "server.pem", &chain);
        write(sandbox.path(), "key.pem", &key);
        let server = Server::start(&sandbox, "https --cert server.pem --key key.pem");
        for version in ["1.2", "1.3"] {
            let ended = sandbox.run(&format!("{} --ca ca.pem --tls-version {version}", server.url));
            ended
                .check(15, &["does not answer as expected", "the certificate of ", ", issued by "]);
            ended.check(15, &[reason, "--ca FILE", "--server-name NAME", "--insecure"]);
            ended.check_no_result();
        }
        let (ended, _) = run(&sandbox, &format!("{} --insecure -n 9 -c 1", server.url));
        ended.check_measured(&[]);
    }
}

#[test]
fn ends_without_a_version_a_suite_or_a_protocol_in_common_are_told_so() {
    let sandbox = Sandbox::new();
    #[rustfmt::skip]
    let table: [(&str, &str, &[&str]); 4] = [
        ("--tls-version 1.2", "--tls-version 1.3", &["protocol_version", "no version of TLS in common", "--tls-version"]),
        ("--tls-version 1.3", "--tls-version 1.2", &["protocol_version", "no version of TLS in common", "--tls-version"]),
        ("--tls-suite TLS13_AES_128_GCM_SHA256", "--tls-suite TLS13_AES_256_GCM_SHA384", &["handshake_failure", "--tls-suite"]),
        ("--alpn one", "--alpn two", &["no_application_protocol", "--alpn"]),
    ];
    for (serve, options, words) in table {
        let server = Server::start(&sandbox, &format!("tls --ca-out ca.pem {serve}"));
        let ended = sandbox.run(&format!("{} --ca ca.pem {options}", server.url));
        ended.check(15, &["does not answer as expected: the peer refused the handshake: alert "]);
        ended.check(15, words);
        ended.check_no_result();
    }
    assert_eq!(sandbox.records(), []);
}

#[test]
fn a_server_of_the_other_kind_is_recognised_and_the_url_that_fits_is_said() {
    let sandbox = Sandbox::new();
    for (secure, plain) in SECURE {
        let server = Server::start(&sandbox, plain);
        let url = server.url.replace(plain, secure);
        let ended = sandbox.run(&format!("{url} --insecure"));
        let meant = format!("Did you mean {}", server.url);
        ended.check(15, &["does not answer as expected", &meant]);

        let server = Server::start(&sandbox, secure);
        let ended = sandbox.run(&server.url.replace(secure, plain));
        let meant = format!("The server speaks TLS: try {}", server.url);
        ended.check(15, &["does not answer as expected", &meant]);
        ended.check_no_result();
    }
    assert_eq!(sandbox.records(), []);
}

#[test]
fn a_server_that_goes_wrong_inside_the_handshake_is_named_for_it() {
    /// The bytes that a server sends after a ClientHello before it ends the connection, and the words that name it.
    type Says = (&'static [u8], &'static str);
    #[rustfmt::skip]
    let ends: [Says; 5] = [
        (b"",                                 "the connection ended inside the TLS handshake"),
        (&[22, 3, 3, 0, 100, 2, 0],           "the connection ended inside the TLS handshake, before the server's hello"),
        (&[21, 3, 3, 0, 2, 2, 80],            "the peer refused the handshake: alert internal_error"),
        (&[22, 3, 3, 0, 4, 99, 0, 0, 0],      "TLS"),
        (b"SSH-2.0-\x1b]0;title\x07\r\n",     r#"the peer does not speak TLS: it sent "SSH-2.0-\x1b]0;title\x07"#),
    ];
    let sandbox = Sandbox::new();
    for (says, named) in ends {
        let peer = Peer::start(move |stream, _| {
            stream.read_exact(&mut [0; 5])?;
            stream.write_all(says)
        });
        let ended = sandbox.run(&format!("{} --insecure", peer.url("wss")));
        ended.check(15, &["does not answer as expected", named]);
        assert!(!ended.stderr.contains('\x1b'), "{ended:?}");
    }
    let stops: [&[u8]; 2] = [b"", &[22, 3, 3, 0, 100, 2, 0]];
    for says in stops {
        let peer = Peer::start(move |stream, _| {
            stream.write_all(says)?;
            silence(stream)
        });
        let ended = sandbox.run(&format!("{} --insecure --timeout 1s", peer.url("wss")));
        ended.check(15, &["in the TLS handshake", "1 s", "If it does not speak TLS at all: ws://"]);
    }
    assert_eq!(sandbox.records(), []);
}

#[test]
fn a_record_that_is_cut_or_changed_on_its_way_is_an_error_of_its_connection() {
    for (fault, named) in [
        (Fault::Cut, "the connection ended inside a TLS record, after 7 of "),
        (Fault::Change, "a TLS record failed its integrity check"),
        (Fault::End, "the connection ended without close_notify"),
    ] {
        let sandbox = Sandbox::new();
        let server = Server::start(&sandbox, "wss --ca-out ca.pem");
        let address = server.url.trim_start_matches("wss://").trim_end_matches('/').to_owned();
        let proxy = Peer::start(move |stream, number| {
            let fault = if number == 0 { None } else { Some(fault) };
            forward(stream, &address, fault)
        });
        let line = format!("{} --ca ca.pem -n 400 -c 4 --tls-version 1.3", proxy.url("wss"));
        let (ended, record) = run(&sandbox, &line);
        ended.check(13, &["record: "]);
        let block = only_block(&record);
        assert_eq!((block.connections.opened, block.connections.lost), (4, 4), "{named}");
        assert_eq!(block.counts.check(), Ok(()));
        assert!(block.counts.ok > 0 && block.counts.error == 4, "{:?}", block.counts);
        let [error] = &block.errors[..] else { panic!("{:?}", block.errors) };
        assert_eq!((error.class.as_str(), error.count), ("tls_failed", 4));
        assert!(error.example.contains(named), "no {named:?} in {error:?}");
    }
}

#[test]
fn compression_is_measured_with_whatever_was_asked_for() {
    let sandbox = Sandbox::new();
    for scheme in ["ws", "wss"] {
        let server = Server::start(&sandbox, &format!("{scheme} --deflate"));
        let trust = if scheme == "wss" { "--insecure" } else { "" };
        let compressed = |options: &str| {
            let line = format!("{} {trust} -n 400 -c 2 --size 1KiB {options}", server.url);
            let (ended, record) = run(&sandbox, &line);
            ended.check_measured(&[]);
            assert_eq!(only_block(&record).counts.ok, 400, "{line}");
            check_bytes(only_block(&record));
            (only_block(&record).wire.compression_ratio.unwrap(), record)
        };
        let (json, record) = compressed("--deflate --payload-kind json");
        let workload = &record.plan.workloads[0];
        assert_eq!(workload.spec.deflate.as_deref(), Some(""));
        assert_eq!(workload.spec.message.content.kind(), Some(record::PayloadKind::Json));
        let (forgetful, record) = compressed(
            "--deflate=server_no_context_takeover,client_no_context_takeover --payload-kind json",
        );
        assert!(
            record.plan.workloads[0].spec.deflate.as_ref().unwrap().contains("client_no_context")
        );
        let (narrow, _) = compressed(
            "--deflate=server_max_window_bits=9,client_max_window_bits=9 --payload-kind json",
        );
        let (text, _) = compressed("--deflate --payload-kind text");
        let (random, _) = compressed("--deflate --payload-kind random");
        let (zero, _) = compressed("--deflate=level=1 --payload-kind zero");
        assert!(
            json > forgetful && json > narrow && forgetful > 1.5,
            "{json} {forgetful} {narrow}"
        );
        assert!(
            text > 1.5 && zero > 30.0 && (0.9..1.0).contains(&random),
            "{text} {zero} {random}"
        );
    }
}

#[test]
fn a_server_that_does_not_agree_to_compression_ends_the_run() {
    let sandbox = Sandbox::new();
    let declines = Server::start(&sandbox, "ws");
    let ended = sandbox.run(&format!("{} --deflate", declines.url));
    ended.check(15, &["does not answer as expected", "permessage-deflate", "leave --deflate out"]);

    #[rustfmt::skip]
    let table = [
        ("--deflate", "permessage-deflate; client_max_window_bits=12", "client_max_window_bits"),
        ("--deflate=server_no_context_takeover", "permessage-deflate", "server_no_context_takeover"),
        ("--deflate=server_max_window_bits=10", "permessage-deflate; server_max_window_bits=11", "server_max_window_bits"),
        ("--deflate", "permessage-deflate; server_max_window_bits=7", "server_max_window_bits"),
        ("--deflate", "x-webkit-deflate-frame", "x-webkit-deflate-frame"),
        ("", "permessage-deflate", "permessage-deflate"),
    ];
    for (options, answer, named) in table {
        let peer = Peer::start(move |stream, _| agree(stream, answer).map(drop));
        let ended = sandbox.run(&format!("{} {options}", peer.url("ws")));
        ended.check(15, &["does not answer as expected", named]);
    }
    assert_eq!(sandbox.records(), []);
}

#[test]
fn a_message_that_inflates_beyond_all_measure_is_refused_before_memory_is_gone() {
    let bomb = deflated(64 << 20);
    assert!(bomb.len() < 1 << 16, "{} bytes", bomb.len());
    let memory = |is_hostile: bool| {
        let bomb = bomb.clone();
        let peer = Peer::start(move |stream, number| {
            // The first connections are good ones, so that the run lasts longer than a bomb takes.
            if number < 2 || !is_hostile {
                return echo_uncompressed(stream);
            }
            agree(stream, "permessage-deflate")?;
            stream.read_exact(&mut [0; 2])?;
            stream.write_all(&compressed_frame(&bomb))?;
            silence(stream)
        });
        let sandbox = Sandbox::new();
        let line = format!("{} --deflate -d 1s --warm-up 0s -c 9", peer.url("ws"));
        let running = Running::start(sandbox.command(&line));
        let peak = running.peak_memory();
        let ended = running.wait();
        (ended, sandbox.records().remove(0), peak)
    };
    let (_, _, usual) = memory(false);
    let (ended, record, peak) = memory(true);
    ended.check(13, &["record: "]);
    let block = only_block(&record);
    assert_eq!(block.connections.lost, 8);
    let [error] = &block.errors[..] else { panic!("{:?}", block.errors) };
    assert!(error.example.contains("limit is 1048576"), "{error:?}");
    let growth = peak.saturating_sub(usual);
    assert!(growth <= 2 * (16 << 20), "{usual} B without, {peak} B with bombs");
}

/// A fault of a record from the server on its way.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// One of its bits is flipped.
    Change,
    /// It is cut after 7 bytes.
    Cut,
    /// Neither it nor any later record arrives.
    End,
}

/// Forwards both directions; with a `fault`, only the first 40 records of the server, and the next one with that fault.
fn forward(stream: &mut Stream, address: &str, fault: Option<Fault>) -> io::Result<()> {
    let mut server = Stream::connect(address)?;
    server.set_nodelay(true)?;
    let (mut from, mut to) = (stream.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || {
        io::copy(&mut from, &mut to).ok();
        to.shutdown(Shutdown::Write).ok();
    });
    for index in 0.. {
        let mut record = vec![0; 5];
        if server.read_exact(&mut record).is_err() {
            break;
        }
        record.resize(5 + usize::from(u16::from_be_bytes([record[3], record[4]])), 0);
        server.read_exact(&mut record[5..])?;
        match fault.filter(|_| index == 40) {
            None => stream.write_all(&record)?,
            Some(Fault::Change) => {
                record[9] ^= 1;
                stream.write_all(&record)?;
                break;
            }
            Some(Fault::Cut) => {
                stream.write_all(&record[..7])?;
                break;
            }
            Some(Fault::End) => break,
        }
    }
    Ok(())
}

/// Opens a WebSocket connection and agrees to these extensions.
fn agree(stream: &Stream, extensions: &'static str) -> io::Result<tungstenite::WebSocket<Stream>> {
    #[expect(clippy::result_large_err, reason = "the signature is tungstenite's")]
    let answer = |_: &Request, mut response: Response| {
        let value = extensions.parse().unwrap();
        response.headers_mut().append("Sec-WebSocket-Extensions", value);
        Ok(response)
    };
    tungstenite::accept_hdr(stream.try_clone()?, answer).map_err(io::Error::other)
}

/// Echoes frames, which may be compressed: without context takeover the same bytes are the same message. Removes the
/// client's mask.
fn echo_uncompressed(stream: &mut Stream) -> io::Result<()> {
    agree(stream, "permessage-deflate; client_no_context_takeover")?;
    loop {
        let mut header = [0; 2];
        stream.read_exact(&mut header)?;
        let mut len = usize::from(header[1] & 127);
        let mut answer = vec![header[0], header[1] & 127];
        if len == 126 {
            let mut long = [0; 2];
            stream.read_exact(&mut long)?;
            len = usize::from(u16::from_be_bytes(long));
            answer.extend(long);
        }
        let mut key = [0; 4];
        stream.read_exact(&mut key)?;
        let mut payload = vec![0; len];
        stream.read_exact(&mut payload)?;
        payload.iter_mut().zip(key.iter().cycle()).for_each(|(byte, key)| *byte ^= key);
        answer.extend(payload);
        stream.write_all(&answer)?;
    }
}

/// A number of zeros, compressed as a message (RFC 7692 §7.2.1).
fn deflated(zeros: usize) -> Vec<u8> {
    let mut deflate = Compress::new(Compression::best(), false);
    let mut out = Vec::with_capacity(1 << 20);
    deflate.compress_vec(&vec![0; zeros], &mut out, FlushCompress::Sync).unwrap();
    assert_eq!(deflate.total_in(), zeros as u64);
    out.truncate(out.len() - 4);
    out
}

/// A frame with a whole compressed binary message.
fn compressed_frame(payload: &[u8]) -> Vec<u8> {
    let len = u16::try_from(payload.len()).unwrap();
    [&[0b1100_0010, 126], len.to_be_bytes().as_slice(), payload].concat()
}

/// Checks that the parts of both directions add up to the bytes.
fn check_bytes(block: &Block) {
    let wire = &block.wire;
    for (bytes, split) in [(wire.sent_bytes, &wire.sent), (wire.received_bytes, &wire.received)] {
        let split = split.as_ref().unwrap();
        let sum = split.payload_bytes + split.framing_bytes + split.tls_bytes;
        assert_eq!(sum.checked_add_signed(split.encoding_bytes), Some(bytes), "{split:?}");
    }
}

fn run(sandbox: &Sandbox, line: &str) -> (Ended, RunRecord) {
    let ended = sandbox.run(&format!("{line} --json"));
    assert!(!ended.stdout.is_empty(), "{line}: {ended:?}");
    let record = record_of(&ended.stdout);
    (ended, record)
}

fn seen(record: &RunRecord) -> &TlsSeen {
    only_block(record).tls.as_ref().unwrap()
}

fn only_block(record: &RunRecord) -> &Block {
    let [block] = &record.blocks[..] else { panic!("{} blocks", record.blocks.len()) };
    block
}

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    std::fs::write(folder.join(name), bytes).unwrap();
}
