//! Servers that misbehave, and requests for more than the machine allows: each is named, has its exit code, and ends in
//! time; what was measured before is kept, and its counts add up.

use crate::harness::{Ended, Running, Sandbox, Server, say_skipped};
use crate::peers::{
    Peer, Stream, echo, echo_some, head, http_echo, http_echo_some, silence, websocket_echo,
    websocket_echo_some, websocket_echo_until_close,
};
use record::{Block, Connections, Counts, RunRecord};
use rustix::fd::OwnedFd;
use rustix::net;
use rustix::process::Signal;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::process::Command;

#[test]
fn a_connection_that_is_reset_is_no_fixed_reply() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            stream.peek(&mut [0]).ok(); // Closing with unread bytes resets it.
        }
    });
    for scheme in ["tcp", "ws", "http"] {
        let ended = Sandbox::new().run(&format!("{scheme}://{address} {}", echo_option(scheme)));
        ended.check(15, &["does not answer as expected", "Check its log for the reason"]);
        assert!(!ended.stderr.contains("--expect"), "{ended:?}");
    }
}

#[test]
fn a_target_that_cannot_be_reached_is_named_with_the_reason() {
    let (_bound, nobody) = nobody();
    #[rustfmt::skip]
    let table = [
        (format!("ws://{nobody}"),                            ["cannot reach", "connection refused"]),
        ("unix:nobody.sock".to_owned(),                       ["cannot reach", "no such file"]),
        ("ws://no-such-host.invalid --timeout 3s".to_owned(), ["cannot resolve", "`no-such-host.invalid`"]),
    ];
    for (line, named) in table {
        let (ended, records) = run(&line);
        ended.check(15, &named);
        ended.check_no_result();
        assert_eq!(records, []);
    }
}

#[test]
fn a_websocket_server_that_breaks_the_protocol_is_named_for_it() {
    #[rustfmt::skip]
    let faults: &[Fault] = &[
        (b"",                                     "ended without a Close frame"),
        (&[0x82, 64, 1, 2, 3],                    "ended in the middle of a frame"),
        (b"\xff\x1b[2J garbage",                  "reserved bits 0b111 are set"),
        (&[0x82, 0x81, 1, 2, 3, 4, 5],            "frame of the server is masked"),
        (&[0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 1], "payload length 0x8000000000000001 has its most significant bit set"),
        (&[0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0],    "frame of 4294967296 bytes, limit is 1048576"),
        (&[0x89, 126, 0, 126],                    "control frame of 126 bytes, at most 125 allowed"),
        (&[0x81, 2, 0xff, 0xff],                  "text message is not UTF-8 from byte 0 on"),
        (b"\x88\x0a\x03\xe8\x1b[2J\x07\xc2\x9b!", r#"closed by the server with code 1000: "\x1b[2J\x07\xc2\x9b!""#),
        (b"\x88\x02\x03\xed",                     "1005"),
    ];
    check_faults("ws", websocket_echo, websocket_echo_some, faults);
}

#[test]
fn an_http_server_that_breaks_the_protocol_is_named_for_it() {
    #[rustfmt::skip]
    let faults: &[Fault] = &[
        (b"",                                                       "unanswered requests"),
        (b"HTTP/1.1 200 O",                                         "ended 14 bytes into a head"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n\x1b[2J",   "ended"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "99999999999"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",          "Content-Length"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx", "chunk"),
        (b"HTTP/1.1 200 \x1b[2J\r\n\r\n",                           "malformed head"),
        (b"\x16\x03\x01\x1b[2J",                                    r#"the peer does not speak HTTP, it sent "\x16\x03\x01\x1b[2J""#),
    ];
    check_faults("http", http_echo, http_echo_some, faults);
}

#[test]
fn a_server_of_bytes_that_breaks_off_is_named_for_it() {
    check_faults(
        "tcp",
        echo,
        |stream, count| echo_some(stream, count, 64),
        &[(b"", "closed by the server"), (b"\x1b[2J", "ended after 4 of 64 bytes of a reply")],
    );
    check_faults(
        "tcp-framed",
        echo,
        |stream, count| echo_some(stream, count, 68),
        &[
            (b"", "closed by the server"),
            (&[0, 0, 0, 64, 0x1b], "ended 5 bytes into a frame"),
            (b"\xff\xff\xff\xff\x1b[2J", "frame of 4294967295 bytes, limit is 1048576"),
        ],
    );
}

#[test]
fn a_server_that_does_not_open_websockets_is_named_for_what_it_does() {
    let answer = |fields: &str| format!("HTTP/1.1 101 Switching Protocols\r\n{fields}\r\n\r\n");
    let upgrade = "Upgrade: websocket\r\nConnection: Upgrade";
    // The example of RFC 6455 §1.3, which belongs to another key.
    let wrong = format!("{upgrade}\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    #[rustfmt::skip]
    let table = [
        (answer(&wrong),                                       "Sec-WebSocket-Accept"),
        (answer(upgrade),                                      "no field sec-websocket-accept"),
        (answer("Connection: Upgrade"),                        "Upgrade"),
        ("HTTP/1.1 200 OK\r\n\r\n\x1b[2J".to_owned(),        "status 200 instead of an upgrade"),
        ("HTTP/1.1 503 \x1b[2J\r\n\r\n".to_owned(),          "malformed head"),
        ("SSH-2.0-\x1b]0;title\x07\r\n\r\n".to_owned(),      r#"the peer does not speak HTTP, it sent "SSH-2.0-\x1b]0;title\x07""#),
        ("HTTP/1.1 101 Swi".to_owned(),                      "ended 16 bytes into a head"),
        (format!("HTTP/1.1 101 a\r\n{}", "A: b\r\n".repeat(9999)), "field lines"),
        ("a".repeat(1 << 20),                                "the peer does not speak HTTP"),
    ];
    for (says, named) in table {
        let script = move |stream: &mut Stream| {
            head(stream)?;
            stream.write_all(says.as_bytes())
        };
        check_refusals(script, named);
    }
}

#[test]
fn a_server_that_asks_for_less_load_is_left_alone_and_that_is_told() {
    for status in ["429 Too Many Requests", "503 Service Unavailable"] {
        let says = format!("HTTP/1.1 {status}\r\nRetry-After: 9\r\nContent-Length: 0\r\n\r\n");
        let peer = Peer::start(move |stream, _| {
            head(stream)?;
            stream.write_all(says.as_bytes())
        });
        for line in [peer.url("ws"), format!("{} --method GET", peer.url("http"))] {
            let (ended, records) = run(&line);
            let less = "nothing was timed. The server asks for less load";
            ended.check(15, &[&status[..3], ", Retry-After 9 s", less]);
            assert_eq!(records, []);
        }
    }
}

#[test]
fn replies_that_are_not_the_expected_ones_are_errors_and_are_not_timed() {
    let wrong = |stream: &mut Stream, count: usize| -> io::Result<()> {
        http_echo_some(stream, count)?;
        loop {
            stream.write_all(b"HTTP/1.1 503 Busy\r\nContent-Length: 6\r\n\r\n\x1b[2J\x07!")?;
            http_echo_some(stream, 0)?;
        }
    };
    let named = r#"refused with status 503: "\x1b[2J\x07!""#;
    check_wrong("http", &Peer::start(move |stream, _| wrong(stream, 0)), named, "refused");
    let later = Peer::start(move |stream, number| match number {
        0 => http_echo(stream),
        _ => wrong(stream, 3),
    });
    check_wrong("http", &later, named, "refused");

    let wrong = |stream: &mut Stream, count: usize| -> io::Result<()> {
        echo_some(stream, count, 64)?;
        loop {
            let mut reply = [b'x'; 64];
            reply[..4].copy_from_slice(b"\x1b[2J");
            stream.write_all(&reply)?;
            echo_some(stream, 0, 64)?;
        }
    };
    let named = r#"byte 0 of 64 is 0x1b, expected 0x"#;
    check_wrong("tcp", &Peer::start(move |stream, _| wrong(stream, 0)), named, "wrong_reply");
    let later = Peer::start(move |stream, number| match number {
        0 => echo(stream),
        _ => wrong(stream, 3),
    });
    check_wrong("tcp", &later, named, "wrong_reply");
}

#[test]
fn who_talks_without_end_and_unasked_is_not_listened_to() {
    for (scheme, named) in [
        ("tcp", r#""\x1b\x1b"#),
        ("tcp-framed", "frame of 454761243 bytes, limit is 1048576"),
        ("ws", "the peer does not speak HTTP"),
        ("http", "the peer does not speak HTTP"),
    ] {
        let peer = Peer::start(move |stream, _| {
            if scheme == "http" {
                http_echo_some(stream, 0)?;
            }
            loop {
                stream.write_all(&[0x1b; 4096])?;
            }
        });
        let url = format!("{} {}", peer.url(scheme), echo_option(scheme));
        let (ended, records) = run(&url);
        ended.check(15, &["does not answer as expected", named]);
        assert_eq!(records, []);
    }
}

#[test]
fn a_web_server_that_does_not_echo_is_asked_for_a_page_next() {
    for (answer, next) in [
        ("200 OK\r\nContent-Length: 4\r\n\r\npage", "leave --echo out to ask for a page"),
        ("405 No\r\nContent-Length: 0\r\n\r\n", "It wants another method"),
    ] {
        let peer = Peer::start(move |stream, _| {
            http_echo_some(stream, 0)?;
            write!(stream, "HTTP/1.1 {answer}")?;
            silence(stream)
        });
        let (ended, records) = run(&format!("{} --echo", peer.url("http")));
        ended.check(15, &["does not answer as expected", next]);
        assert_eq!(records, []);
    }
}

#[test]
fn each_phase_has_its_time_out() {
    let (_full, full) = full_backlog();
    let says = |bytes: &'static [u8]| {
        Peer::start(move |stream, _| {
            stream.write_all(bytes)?;
            silence(stream)
        })
    };
    let deaf = Peer::start(|stream, _| {
        websocket_echo_some(stream, 0)?;
        silence(stream)
    });
    let halting = Peer::start(|stream, _| {
        http_echo_some(stream, 0)?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\nx")?;
        silence(stream)
    });
    let short = Peer::start(|stream, _| {
        stream.read_exact(&mut [0; 64])?;
        stream.write_all(&[0; 63])?;
        silence(stream)
    });
    let silent = says(b"");
    let handshake = "no answer to the opening handshake within 3 s";
    let reply = "no whole reply within 3 s";
    #[rustfmt::skip]
    let table = [
        (format!("tcp://{full}"),                      "no connection within 3 s"),
        (silent.url("ws"),                             handshake),
        (says(b"HTTP/1.1 101 Sw").url("ws"),           handshake),
        (silent.url("tcp"),                            reply),
        (silent.url("http"),                           reply),
        (deaf.url("ws"),                               reply),
        (short.url("tcp"),                             reply),
        (says(&[0, 0, 0, 64, 1]).url("tcp-framed"),    reply),
        (halting.url("http"),                          reply),
    ];
    // All at once, because each takes its time-out, which is long enough for the phases before it on a busy machine.
    let sandbox = Sandbox::new();
    let start = |url: &String| Running::start(sandbox.command(&format!("{url} --timeout 3s")));
    let runs: Vec<Running> = table.iter().map(|(url, _)| start(url)).collect();
    for (run, (url, named)) in runs.into_iter().zip(table) {
        let ended = run.wait();
        let what = if url.contains(&full.to_string()) { "cannot reach" } else { "does not answer" };
        ended.check(15, &[what, named]);
        ended.check_no_result();
    }
}

#[test]
fn a_server_that_falls_silent_costs_the_messages_in_flight() {
    let peer = Peer::start(|stream, number| match number {
        0 => websocket_echo(stream),
        _ => websocket_echo_some(stream, 3).and_then(|()| silence(stream)),
    });
    let (ended, records) = run(&format!("{} -n 200 -c 4 --timeout 2s", peer.url("ws")));
    ended.check(13, &["record: "]);
    let block = only_block(&records);
    assert_eq!(
        block.counts,
        Counts { planned: 200, sent: 16, unsent: 184, ok: 12, timed_out: 4, ..Counts::default() }
    );
    check_class(block, "reply_timed_out", 4, "no whole reply within 2 s");
}

#[test]
fn a_server_that_never_answers_a_close_costs_nothing_but_the_time_out() {
    let peer = Peer::start(|stream, _| {
        websocket_echo_until_close(stream)?;
        silence(stream)
    });
    let (ended, records) = run(&format!("{} -n 20 -c 2 --timeout 1s", peer.url("ws")));
    ended.check(0, &["record: "]);
    assert_eq!(only_block(&records).counts.ok, 20);
}

#[test]
fn half_of_the_connections_refused_leave_the_other_half_to_work() {
    // One connection verifies, four are served, and then nobody listens any more.
    let peer = Peer::of_so_many(5, |stream, _| websocket_echo(stream));
    let line = format!("{} -n 200 -c 8 --connect-rate 20/s", peer.url("ws"));
    let (ended, records) = run(&line);
    ended.check(13, &["record: "]);
    assert!(ended.stdout.contains("partial: 4 connections failed"), "{ended:?}");
    let block = only_block(&records);
    assert_eq!((block.connections.asked, block.connections.opened), (8, 4));
    assert_eq!((block.connections.failed, block.counts.ok), (4, 200));
    // Refused, or cut because the listener was closed before it accepted them.
    let classes: Vec<&str> = block.errors.iter().map(|error| error.class.as_str()).collect();
    assert!(
        classes.iter().all(|class| ["connect_failed", "connection_cut"].contains(class)),
        "{classes:?}"
    );
    assert_eq!(block.errors.iter().map(|error| error.count).sum::<u64>(), 4);
}

#[test]
fn a_server_that_dies_in_the_middle_ends_the_run_and_not_its_result() {
    for kind in ["tcp", "ws", "http"] {
        let sandbox = Sandbox::new();
        let server = Server::start(&sandbox, kind);
        let line = format!("{} -d 1h -c 4 --warm-up 0s", server.url);
        let mut run = Running::start(sandbox.command(&line));
        run.wait_for_word("measure");
        server.process.send(Signal::KILL);
        let ended = run.wait();
        ended.check(13, &["record: "]);
        assert!(ended.stdout.contains("partial: "), "{ended:?}");
        let records = sandbox.records();
        let block = only_block(&records);
        assert_eq!(block.counts.check(), Ok(()));
        assert!(block.counts.ok > 0, "{kind}: {:?}", block.counts);
        assert_eq!(block.connections.lost + block.connections.failed, 4, "{kind}: {block:?}");
    }
}

#[test]
fn more_connections_than_open_files_allow_are_refused_before_the_run() {
    let limited = |limit: &str, line: &str| {
        let sandbox = Sandbox::new();
        Running::start(sandbox.command_in_shell(&format!("ulimit {limit} && exec \"$@\""), line))
            .wait()
    };
    let peer = Peer::start(|stream, _| echo(stream));
    let asked = "100 connections need 132 open files, the limit is 64";
    for line in [format!("{} -c 100", peer.url("tcp")), "ladder -c 100".to_owned()] {
        let ended = limited("-n 64", &line);
        ended.check(2, &[asked, "cannot be raised above 64: at most 32 connections"]);
        ended.check_no_result();
        assert_eq!(ended.stderr.matches(asked).count(), 1, "{ended:?}");
        // If the limit can be raised, that is the cure.
        limited("-Sn 64", &line).check(2, &[asked, "`ulimit -n 132`"]);
    }
    // As many connections as the message says do fit.
    let ended = limited("-n 64", &format!("{} -c 32 -n 320", peer.url("tcp")));
    ended.check(0, &[]);
}

#[test]
fn more_connections_than_ports_allow_are_refused_before_the_run_with_the_cure() {
    if !has_networks_of_its_own() {
        return;
    }
    for (line, cure) in [
        ("tcp://127.0.0.1:7000 -c 50 --source-ip 127.0.0.1", "`--source-ip 127.0.0.2-127.0.0.4`"),
        ("tcp://10.1.2.3:7000 -c 50", "give 3 addresses of this machine with `--source-ip`"),
    ] {
        let sandbox = Sandbox::new();
        let ended = Running::start(command_with_20_ports(&sandbox, "exec \"$@\"", line)).wait();
        ended.check(2, &["50 connections to one target, 1 source address has only 20 ports", cure]);
        ended.check_no_result();
    }
}

#[test]
fn more_connections_than_ports_allow_are_spread_over_loopback() {
    if !has_networks_of_its_own() {
        return;
    }
    let sandbox = Sandbox::new();
    let script = "mkfifo ready
        \"$1\" serve tcp --listen 127.0.0.1:7000 >ready &
        read line <ready
        \"$@\"
        code=$?
        kill $!
        exit $code";
    let line = "tcp://127.0.0.1:7000 -c 50 -n 500 -q";
    Running::start(command_with_20_ports(&sandbox, script, line)).wait().check(0, &[]);
    let records = sandbox.records();
    assert_eq!(only_block(&records).connections.opened, 50);
    let sources = &records[0].plan.workloads[0].source_addresses;
    assert_eq!(*sources, ["127.0.0.1", "127.0.0.2", "127.0.0.3"]);
}

#[test]
fn a_public_address_is_not_even_connected_to() {
    for url in [
        "ws://192.0.2.1",
        "http://[2001:db8::1]:8080",
        "tcp://[::ffff:8.8.8.8]:9",
        // Names that the resolver takes for 8.8.8.8.
        "tcp://134744072:9",
        "tcp://0x08080808:9",
    ] {
        // An attempt to connect would wait for an answer until the test kills the process.
        let (ended, records) = run(&format!("{url} --timeout 1h"));
        ended.check(14, &["is a public address", "--i-may-load-this-target"]);
        assert_eq!(records, []);
    }
}

/// The bytes that a server sends instead of a reply before it ends the connection, and the words that name this fault.
type Fault = (&'static [u8], &'static str);

/// Checks a server that fails at its first message, and one that fails after three good replies on each connection.
fn check_faults(
    scheme: &str,
    well: fn(&mut Stream) -> io::Result<()>,
    some: fn(&mut Stream, usize) -> io::Result<()>,
    faults: &[Fault],
) {
    for &(says, named) in faults {
        let peer = Peer::start(move |stream, _| {
            some(stream, 0)?;
            stream.write_all(says)
        });
        let url = format!("{} {}", peer.url(scheme), echo_option(scheme));
        let (ended, records) = run(&url);
        ended.check(15, &["does not answer as expected", named]);
        ended.check_no_result();
        assert_eq!(records, []);

        let peer = Peer::start(move |stream, number| {
            if number == 0 {
                return well(stream);
            }
            some(stream, 3)?;
            stream.write_all(says)
        });
        let options = format!("-n 200 -c 4 {}", echo_option(scheme));
        let (ended, records) = run(&format!("{} {options}", peer.url(scheme)));
        ended.check(13, &["record: ", "repeat: "]);
        assert!(ended.stdout.contains("partial: 4 connections failed or were lost"), "{ended:?}");
        let block = only_block(&records);
        let (planned, sent, unsent, ok, error) = (200, 16, 184, 12, 4);
        let counts = Counts { planned, sent, unsent, ok, error, ..Counts::default() };
        assert_eq!(block.counts, counts, "{scheme}, {named}");
        let connections =
            Connections { asked: 4, started: 4, opened: 4, lost: 4, ..Connections::default() };
        assert_eq!(block.connections, connections, "{scheme}, {named}");
        let class = &block.errors[0].class;
        assert!(["closed_by_peer", "protocol_broken"].contains(&class.as_str()), "{class}");
        check_class(block, class, 4, named);
    }
}

/// The option that asks for an echo, where that is not the default.
fn echo_option(scheme: &str) -> &'static str {
    if scheme == "http" { "--echo" } else { "" }
}

/// Checks a server that refuses every handshake, and one that refuses every second one.
fn check_refusals(
    refuse: impl Fn(&mut Stream) -> io::Result<()> + Clone + Send + Sync + 'static,
    named: &str,
) {
    let script = refuse.clone();
    let peer = Peer::start(move |stream, _| script(stream));
    let (ended, records) = run(&peer.url("ws"));
    ended.check(15, &["does not answer as expected", named]);
    assert_eq!(records, []);

    let peer = Peer::start(move |stream, number| match number % 2 {
        0 => websocket_echo(stream),
        _ => refuse(stream),
    });
    let (ended, records) = run(&format!("{} -n 200 -c 4", peer.url("ws")));
    ended.check(13, &["record: "]);
    let block = only_block(&records);
    assert_eq!((block.counts.planned, block.counts.ok), (200, 200));
    let connections =
        Connections { asked: 4, started: 4, opened: 2, failed: 2, ..Connections::default() };
    assert_eq!(block.connections, connections, "{named}");
    check_class(block, "protocol_broken", 2, named);
}

/// Checks a `peer` whose replies are wrong from the first one on, or after three good ones.
fn check_wrong(scheme: &str, peer: &Peer, named: &str, class: &str) {
    let options = format!("-n 200 -c 1 {}", echo_option(scheme));
    let (ended, records) = run(&format!("{} {options}", peer.url(scheme)));
    if records.is_empty() {
        return ended.check(15, &["does not answer as expected", named]);
    }
    ended.check(13, &["record: "]);
    let block = only_block(&records);
    let (planned, sent, ok) = (200, 200, 3);
    let (error, refused) = if class == "refused" { (0, 197) } else { (197, 0) };
    assert_eq!(block.counts, Counts { planned, sent, ok, error, refused, ..Counts::default() });
    check_class(block, class, 197, named);
    assert_eq!(block.round_trip.as_ref().map(|times| times.count), Some(3));
}

fn check_class(block: &Block, class: &str, count: u64, named: &str) {
    let [error] = &block.errors[..] else { panic!("{:?}", block.errors) };
    assert_eq!((error.class.as_str(), error.count), (class, count), "{error:?}");
    assert!(error.example.contains(named), "no {named:?} in {error:?}");
}

/// Runs to the end, and checks what is always true: counts add up, and no text moves a terminal.
fn run(line: &str) -> (Ended, Vec<RunRecord>) {
    let sandbox = Sandbox::new();
    let ended = sandbox.run(line);
    let records = sandbox.records();
    let kept = records.iter().map(RunRecord::to_json);
    for text in kept.chain([ended.stdout.clone(), ended.stderr.clone()]) {
        let moves = |letter: char| letter.is_control() && letter != '\n';
        assert_eq!(text.chars().find(|letter| moves(*letter)), None, "{line}: {text:?}");
    }
    for block in records.iter().flat_map(|record| &record.blocks) {
        assert_eq!(block.counts.check(), Ok(()), "{line}");
    }
    (ended, records)
}

fn only_block(records: &[RunRecord]) -> &Block {
    let [record] = records else { panic!("{} records", records.len()) };
    let [block] = &record.blocks[..] else { panic!("{} blocks", record.blocks.len()) };
    block
}

/// A command that runs the program by `script` in a network of its own, where each source address has 20 ports.
fn command_with_20_ports(sandbox: &Sandbox, script: &str, line: &str) -> Command {
    let prepare = "ip link set lo up && echo 40000 40019 >/proc/sys/net/ipv4/ip_local_port_range";
    let enter = "exec unshare --user --map-root-user --net sh -c";
    sandbox.command_in_shell(&format!("{enter} '{prepare} && {script}' sh \"$@\""), line)
}

/// True if this machine lets us create a network of our own; reports it if not.
fn has_networks_of_its_own() -> bool {
    let has = Running::start(command_with_20_ports(&Sandbox::new(), "true", "")).wait();
    if has.code != Some(0) {
        say_skipped(has.stderr.trim());
    }
    has.code == Some(0)
}

/// An address that nobody listens at while the returned socket is open.
fn nobody() -> (OwnedFd, SocketAddr) {
    let socket = net::socket(net::AddressFamily::INET, net::SocketType::STREAM, None).unwrap();
    net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = net::getsockname(&socket).unwrap().try_into().unwrap();
    (socket, address)
}

/// An address whose backlog is full while the returned sockets are open: the kernel drops attempts to connect.
fn full_backlog() -> (Vec<OwnedFd>, SocketAddr) {
    let socket = || net::socket(net::AddressFamily::INET, net::SocketType::STREAM, None).unwrap();
    let (listener, first) = (socket(), socket());
    net::bind(&listener, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    net::listen(&listener, 0).unwrap();
    let address: SocketAddr = net::getsockname(&listener).unwrap().try_into().unwrap();
    net::connect(&first, &address).unwrap();
    (vec![listener, first], address)
}
