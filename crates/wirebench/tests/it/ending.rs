//! Runs that cannot be made, lose something, or are ended: exit codes, and what is kept.

use crate::harness::{Running, Sandbox, Server, ended};
use record::Ended;
use rustix::fd::OwnedFd;
use rustix::net;
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Stdio;

/// A server that answers the first bytes of each connection with `answer` and closes.
fn answering(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut some = [0; 1024];
            if connection.read(&mut some).is_ok() {
                connection.write_all(answer).ok();
            }
        }
    });
    address.to_string()
}

/// An address that nobody listens at, as long as the socket lives that has it.
fn nobody() -> (OwnedFd, SocketAddr) {
    let socket = net::socket(net::AddressFamily::INET, net::SocketType::STREAM, None).unwrap();
    net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = net::getsockname(&socket).unwrap().try_into().unwrap();
    (socket, address)
}

#[test]
fn a_target_that_cannot_be_used_has_its_own_code() {
    let sandbox = Sandbox::new();
    let (_bound, nobody) = nobody();
    // The kernel accepts for it, and it never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_at = silent.local_addr().unwrap();
    let ordinary = answering(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    let hostile = answering(b"\x1b]0;title\x07\x1b[2J\r\n\r\n");
    #[rustfmt::skip]
    let table: [(String, i32, &[&str]); 8] = [
        (format!("ws://{nobody}"),                       15, &["cannot reach", "connection refused"]),
        ("unix:nobody.sock".to_owned(),                  15, &["cannot reach", "no such file"]),
        ("ws://no-such-host.invalid --timeout 3s".to_owned(), 15, &["cannot resolve `no-such-host.invalid`"]),
        (format!("ws://{silent_at} --timeout 200ms"),    15, &["within 200 ms"]),
        (format!("ws://{ordinary}"),                     15, &["does not answer as expected", "404"]),
        (format!("ws://{hostile}"),                      15, &["does not answer as expected"]),
        ("ws://192.0.2.1".to_owned(),                    14, &["192.0.2.1 is a public address", "--i-may-load-this-target"]),
        (format!("ws://{nobody} -c 100M"),                2, &["100000000 connections need", "open files"]),
    ];
    for (line, code, words) in table {
        let ended = sandbox.run(&line);
        ended.check(code, words);
        ended.check_no_result();
        assert!(!ended.stderr.contains('\x1b') && !ended.stderr.contains('\x07'), "{ended:?}");
    }
    assert_eq!(sandbox.records(), []);
}

#[test]
fn a_record_that_cannot_be_written_does_not_take_the_result_with_it() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "tcp");
    let line = format!("{} -n 10 -c 1", server.url);
    let ended = sandbox.run(&format!("{line} -o nowhere/record.json"));
    ended.check(74, &["cannot write the record to nowhere/record.json", "`-o FILE`"]);
    assert!(ended.stdout.contains("round trip"), "{ended:?}");

    std::fs::write(sandbox.path().join(".wirebench"), "in the way").unwrap();
    let ended = sandbox.run(&line);
    ended.check(74, &["cannot write the record to .wirebench/records/", "`-o FILE`"]);
    assert!(ended.stdout.contains("round trip"), "{ended:?}");
}

#[test]
fn a_result_that_cannot_be_written_is_kept_all_the_same() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "tcp");
    let mut command = sandbox.command(&format!("{} -n 10 -c 1", server.url));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ended = ended(&command.stdout(full).output().unwrap());
    ended.check(74, &["cannot write the result to stdout"]);
    assert_eq!(sandbox.records().len(), 1);
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "tcp");
    let run = format!("{} -n 10 -c 1", server.url);
    for line in ["--help", "completions bash", "config show", &run] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = sandbox.command(line);
        ended(&command.stdout(writer).stderr(Stdio::piped()).output().unwrap()).check(0, &[]);
    }
}

#[test]
fn a_signal_ends_a_run_and_keeps_what_was_measured() {
    for (signal, code, number) in [(Signal::INT, 130, 2), (Signal::TERM, 143, 15)] {
        let sandbox = Sandbox::new();
        let server = Server::start(&sandbox, "ws");
        let line = format!("{} -d 1h -c 2 --warm-up 0s", server.url);
        let mut run = Running::start(sandbox.command(&line));
        run.wait_for_word("measure");
        run.send(signal);
        let ended = run.wait();
        ended.check(code, &["record: "]);
        assert!(ended.stdout.contains("round trip"), "{ended:?}");
        let record = &sandbox.records()[0];
        assert_eq!(record.ended, Ended::Interrupted { signal: number });
        assert_eq!(record.blocks[0].counts.check(), Ok(()));
        assert!(record.blocks[0].counts.ok > 0);
    }
}

#[test]
fn a_ladder_that_is_ended_takes_its_servers_with_it() {
    let sandbox = Sandbox::new();
    let line = "ladder --rounds 1000 --only ws -c 2";
    let mut ladder = Running::start(sandbox.command(line));
    ladder.wait_for_word("measure");
    ladder.send(Signal::INT);
    // The servers hold no end of its streams, so what is waited for is the ladder, which waits for them.
    ladder.wait().check(130, &["record: "]);
    assert_eq!(sandbox.records()[0].ended, Ended::Interrupted { signal: 2 });
}

#[test]
fn the_second_signal_ends_at_once() {
    let sandbox = Sandbox::new();
    // The connection is made and nothing is ever said on it: without a signal this would take an hour.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let line = format!("tcp://{} --timeout 1h", silent.local_addr().unwrap());
    let mut run = Running::start(sandbox.command(&line));
    run.wait_for_word("machine");
    drop(silent.accept().map(|(connection, _)| {
        run.send(Signal::INT);
        run.send(Signal::TERM);
        connection
    }));
    let code = run.wait().code;
    assert!(code == Some(130) || code == Some(143), "{code:?}");
}
