//! Memory under attack, seen from outside: no peer decides how much of it we use, with room for the program itself.

use crate::harness::{Running, Sandbox, Server};
use crate::peers::{Peer, Stream, echo, open_websocket, websocket_echo};
use record::RunRecord;
use std::io::{self, Write};

#[test]
fn a_server_that_does_not_read_leaves_messages_unsent() {
    let peer = Peer::start(|stream, number| if number == 0 { echo(stream) } else { forever() });
    let line = "--rate 2000/s --size 1MiB -c 10 -d 2s --warm-up 0s --timeout 1s --drain 200ms";
    let (peak, record) = attacked(&format!("{} {line}", peer.url("tcp")));
    assert!(peak <= MOST, "{peak}");
    let counts = record.blocks[0].counts;
    assert_eq!((counts.planned, counts.sent + counts.unsent), (4000, 4000));
    assert!(counts.unsent > 3000, "{counts:?}");
}

#[test]
fn a_server_that_pings_and_does_not_read_is_given_up() {
    let pings = [[0x89, 0x7d].as_slice(), &[7; 0x7d]].concat().repeat(500);
    let peer = Peer::start(move |stream, number| {
        if number == 0 {
            return websocket_echo(stream);
        }
        open_websocket(stream)?;
        loop {
            stream.write_all(&pings)?;
        }
    });
    let (peak, record) = attacked(&format!("{} -c 4 -d 3s --warm-up 0s", peer.url("ws")));
    assert!(peak <= MOST, "{peak}");
    let is_told = record.blocks[0].errors.iter().any(|it| it.example.contains("does not read"));
    assert!(is_told, "{:?}", record.blocks[0].errors);
}

#[test]
fn a_reply_much_longer_than_what_is_due_is_given_up_early() {
    let peer = Peer::start(|stream, number| {
        if number == 0 {
            return websocket_echo(stream);
        }
        open_websocket(stream)?;
        let len = 16_u64 << 20;
        stream.write_all(&[[0x82, 127].as_slice(), &len.to_be_bytes()].concat())?;
        // All but the last byte.
        (0..16).try_for_each(|mib| stream.write_all(&vec![7; (1 << 20) - mib / 15]))?;
        forever()
    });
    let (peak, record) =
        attacked(&format!("{} -c 20 -d 2s --warm-up 0s --timeout 1s", peer.url("ws")));
    assert!(peak <= MOST, "{peak}");
    let errors = &record.blocks[0].errors;
    let limit = "frame of 16777216 bytes, limit is 1048576";
    assert!(errors.iter().any(|it| it.example.contains(limit)), "{errors:?}");
}

#[test]
fn messages_that_come_in_part_do_not_fill_a_server() {
    let game = "game --listen 127.0.0.1:0 --web 127.0.0.1:0 --message-max 17MiB";
    for (server, scheme) in [("tcp-framed", "tcp-framed"), (game, "game")] {
        let sandbox = Sandbox::new();
        let server = Server::start(&sandbox, &format!("{server} --memory-max 64MiB"));
        let address = server.url.strip_prefix(&format!("{scheme}://")).unwrap().to_owned();
        let mut clients: Vec<Stream> = Vec::new();
        for _ in 0..20 {
            let mut client = Stream::connect(&address).unwrap();
            let len = (16_u32 << 20).to_be_bytes();
            let part = [len.as_slice(), &vec![7; (16 << 20) - 1]].concat();
            client.write_all(&part).ok(); // The server may end it halfway.
            clients.push(client);
        }
        let peak = server.process.peak_memory_so_far().unwrap();
        assert!(peak <= MOST, "{scheme}: {peak}");
    }
}

/// Never reads; the end of the test process ends it.
fn forever() -> io::Result<()> {
    loop {
        std::thread::park();
    }
}

/// Runs with a small budget; returns the peak memory and the record.
fn attacked(line: &str) -> (u64, RunRecord) {
    let sandbox = Sandbox::new();
    let running = Running::start(sandbox.command(&format!("{line} --memory-max 64MiB")));
    let peak = running.peak_memory();
    let ended = running.wait();
    let record = sandbox.records().pop();
    (peak, record.unwrap_or_else(|| panic!("{line}: {ended:?}")))
}

/// The budget, and the memory of the program itself.
const MOST: u64 = (64 + 96) << 20;
