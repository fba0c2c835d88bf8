//! Rooms through the binary: publishers that connect elsewhere than receivers, and addresses where nobody answers.

use crate::harness::{Sandbox, Server, ended, record_of};
use crate::peers::Stream;
use crate::third_party::{Server as Subject, installed, installed_subjects, run_client};
use record::DeliveryCounts;
use rustix::process::Signal;
use std::io::{Read, Write};

/// Receivers in rooms of `wirebench serve relay`; publishers follow.
const RECEIVERS: &str = r#"
speaks = "ws"
[[open]]
send = "join room-${room_number}"
expect = { starts = "joined " }
[push.message]
when = { starts = "message " }
header = "\n${header} "
"#;

/// Publishers that hold a conversation of their own.
const APART: &str = r#"
[publishers]
speaks = "ws"
[publishers.request.publish]
send = "publish room-${room_number} id=${id}\n${header} ${pad:31}"
reply = { starts = "published ", id = "published id=${id} " }
"#;

/// Publishers that send POST requests.
const POSTED: &str = r#"
[publishers]
speaks = "http"
[publishers.request.publish]
http = "POST /publish?room=room-${room_number}"
body = "${header} ${pad:31}"
"#;

/// Receivers over Socket.IO, which get bytes as attachments; publishers send them over WebSocket.
const BYTES: &str = r#"
speaks = "ws"
path = "/socket.io/?EIO=4&transport=websocket"
[[open]]
expect = { starts = '0{' }
[[open]]
send = '40'
expect = { starts = '40{' }
[[open]]
send = '42["message","join room-${room_number}"]'
expect = { starts = '42["message","joined ' }
[push.event]
when = { is = '451-["message",{"_placeholder":true,"num":0}]' }
[push.message]
when = { starts = "message " }
header = "\n${header} "
[answer.ping]
when = { is = '2' }
send = '3'
[publishers]
speaks = "ws"
[publishers.request.publish]
# publish room-, id=, a line end, the header, and a byte that is in no text
send = { bytes = "7075626c69736820726f6f6d2d ${room_number} 2069643d ${id} 0a ${header} 20 ff" }
reply = { starts = "published ", id = "published id=${id} " }
"#;

const LOAD: &str =
    "--publish 20/s --rooms 4 --publishers 2 --receivers 5 -d 1s --warm-up 0s --drain 5s";

#[test]
fn publishers_reach_the_receivers_of_a_relay_that_they_connect_to_by_themselves() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("apart.toml"), [RECEIVERS, APART].concat()).unwrap();
    std::fs::write(sandbox.path().join("posted.toml"), [RECEIVERS, POSTED].concat()).unwrap();
    std::fs::write(sandbox.path().join("bytes.toml"), BYTES).unwrap();
    let apart = "./apart.toml";
    for (conversation, receive, publish, threads) in [
        (apart, "ws", "ws", 1),
        (apart, "ws", "ws", 2),
        ("room", "ws", "ws", 1),
        ("./posted.toml", "ws", "http", 1),
        ("room-events", "http", "http", 1),
        ("room-parts", "http", "http", 1),
        ("room-chunks", "http", "http", 2),
        ("room-longpoll", "http", "http", 2),
        ("room-socketio", "socketio+polling", "socketio+polling", 2),
        ("room-socketio", "socketio+upgrade", "socketio+upgrade", 1),
        ("room-socketio", "socketio", "socketio", 1),
        ("./bytes.toml", "socketio+polling", "ws", 1),
        ("./bytes.toml", "socketio+upgrade", "ws", 1),
        ("./bytes.toml", "socketio", "ws", 2),
    ] {
        let server = Server::start(&sandbox, "relay --listen 127.0.0.1:0 --json");
        let at = |scheme: &str| server.url.replace("ws://", &format!("{scheme}://"));
        let (url, publish_to) = (at(receive), at(publish));
        let ended = sandbox.run(&format!(
            "run {url} --conversation {conversation} --publish-to {publish_to} {LOAD} --threads {threads} --json"
        ));
        let record = record_of(&ended.stdout);
        let block = &record.blocks[0];
        let counts = block.deliveries.as_ref().unwrap().counts;
        let all = DeliveryCounts { published: 80, owed: 400, delivered: 400, ..Default::default() };
        assert_eq!(counts, all, "{conversation}: {ended:?}");
        assert_eq!((block.counts.sent, block.counts.ok), (80, 80), "{conversation}");
        assert_eq!(block.exchanges[0].name, "publish");
        assert_eq!(record.plan.workloads[0].spec.publish_to, Some(publish_to.parse().unwrap()));
        server.process.send(Signal::TERM);
        let totals: serde_json::Value =
            serde_json::from_str(&server.process.wait().stdout).unwrap();
        let of = |name: &str| totals[name].as_u64().unwrap();
        // The totals include the messages that prove subscriptions.
        assert!(of("published") > 80 && of("deliveries") > 400, "{totals}");
        assert_eq!((of("refused"), of("slow_receivers_dropped")), (0, 0), "{totals}");
    }
}

#[test]
fn known_faults_of_a_relay_are_found_with_tls_and_without() {
    let load = "--publish 20/s --rooms 2 --receivers 5 -d 1s --warm-up 0s --drain 5s";
    for (scheme, trust) in [("ws", ""), ("wss", "--insecure")] {
        let sandbox = Sandbox::new();
        let faults = "--delay fixed:20ms --reorder 20% --drop 10% --duplicate 10%";
        let line = format!("relay {scheme} --listen 127.0.0.1:0 --json {faults}");
        let server = Server::start(&sandbox, &line);
        let url = &server.url;
        let ended = sandbox
            .run(&format!("run {url} {trust} --conversation room {load} --timeout 1s --json"));
        let record = record_of(&ended.stdout);
        let block = &record.blocks[0];
        let counts = block.deliveries.as_ref().unwrap().counts;
        assert_eq!(counts.check(), Ok(()), "{scheme}: {ended:?}");
        assert_eq!((counts.owed, counts.foreign, counts.cut), (200, 0, 0), "{scheme}: {counts:?}");
        // No delivery is earlier than the delay, except by what histograms round away.
        let open = block.open_loop.as_ref().unwrap();
        let response = open.response.as_ref().unwrap();
        assert!(response.min_ns >= 19_900_000, "{scheme}: {response:?}");
        server.process.send(Signal::TERM);
        let totals: serde_json::Value =
            serde_json::from_str(&server.process.wait().stdout).unwrap();
        // The relay also counts the messages that prove subscriptions.
        for (name, found) in [
            ("dropped", counts.lost),
            ("duplicated", counts.duplicate),
            ("reordered", counts.reordered),
        ] {
            let known = totals["faults"][name].as_u64().unwrap();
            assert!((1..=known).contains(&found), "{scheme}: {found} {name}, known: {totals}");
        }
        assert_eq!(totals["broken_connections"], 0, "{totals}");
    }
}

/// A program that posts what it is told, and misbehaves in the way that its second argument names.
const PUBLISH: &str = r#"
import http.client, json, os, sys, time

relay = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
lie = sys.argv[2]
with open("pids", "a") as pids:
    print(os.getpid(), file=pids)

def publish(room, text):
    relay.request("POST", f"/publish?room=room-{room}", text)
    relay.getresponse().read()

for count, line in enumerate(sys.stdin):
    told = json.loads(line)
    room, text = told["room"], told["text"]
    if lie == "stops" and count == 20:
        time.sleep(1000)
    if lie == "ends" and count == 20:
        sys.exit("out of luck")
    publish(room, text)
    if lie == "doubles":
        publish(room, text)
    if lie == "strays":
        publish((room + 1) % 4, text)
    if lie == "invents":
        publish(room, "f" * 32 + text[32:])
"#;

/// Publishes with that program, checks that it was started once and is gone, and returns the record.
fn published_with(lie: &str, load: &str) -> record::RunRecord {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("publish.py"), PUBLISH).unwrap();
    let server = Server::start(&sandbox, "relay --listen 127.0.0.1:0");
    let line = format!("run {} --conversation room {load} --json", server.url);
    let program = format!("exec python3 publish.py {{port}} {lie}");
    let mut command = sandbox.command(&line);
    let ended = ended(&command.args(["--publish-with", &program]).output().unwrap());
    let record = record_of(&ended.stdout);
    assert_eq!(record.plan.workloads[0].spec.publish_with, Some(program));
    assert_is_gone(&sandbox);
    record
}

/// Checks that one program was started in the folder, and is gone.
fn assert_is_gone(sandbox: &Sandbox) {
    let pids = std::fs::read_to_string(sandbox.path().join("pids")).unwrap();
    assert_eq!(pids.lines().count(), 1, "{pids}");
    assert!(!std::path::Path::new("/proc").join(pids.trim()).exists(), "it is still running");
}

#[test]
fn a_program_publishes_what_it_is_told_and_what_it_adds_of_its_own_is_found() {
    let all = DeliveryCounts { published: 80, owed: 400, delivered: 400, ..Default::default() };
    for (lie, threads) in [("none", 2), ("doubles", 1), ("strays", 1), ("invents", 2)] {
        let record = published_with(lie, &format!("{LOAD} --threads {threads}"));
        let block = &record.blocks[0];
        let counts = block.deliveries.as_ref().unwrap().counts;
        // It also publishes the messages that prove subscriptions, which only appear in the count of foreign ones.
        assert_eq!(DeliveryCounts { duplicate: 0, foreign: 0, ..counts }, all, "{lie}: {counts:?}");
        assert_eq!((block.counts.sent, block.counts.unsent), (80, 0), "{lie}");
        assert_eq!(counts.duplicate, if lie == "doubles" { 400 } else { 0 }, "{lie}");
        let is_foreign = matches!(lie, "strays" | "invents");
        assert_eq!(counts.foreign >= 400, is_foreign, "{lie}: {counts:?}");
        assert!(is_foreign || counts.foreign == 0, "{lie}: {counts:?}");
    }
}

#[test]
fn a_program_that_reads_no_more_is_not_waited_for() {
    let load = "--publish 200/s --receivers 2 --size 8KiB -d 1s --warm-up 0s --drain 200ms";
    let record = published_with("stops", load);
    let block = &record.blocks[0];
    let counts = block.deliveries.as_ref().unwrap().counts;
    // Messages that were handed over before its pipe and our sockets were full are owed.
    assert_eq!((counts.check(), block.counts.check()), (Ok(()), Ok(())));
    assert!(block.counts.unsent >= 50 && block.counts.planned == 200, "{:?}", block.counts);
    assert!(counts.delivered > 0 && counts.missing() > 0, "{counts:?}");
    assert_eq!(counts.owed, 2 * counts.published, "{counts:?}");
    // If the machine stalls it ends late; the program itself sleeps for 1000 s.
    assert!(block.measured_ns < 10_000_000_000, "{}", block.measured_ns);
}

#[test]
fn a_program_that_ends_fails_its_block_with_its_last_words() {
    let record = published_with("ends", "--publish 50/s --receivers 2 -d 1s --warm-up 0s");
    let block = &record.blocks[0];
    let failed = block.failed.as_deref().unwrap_or_default();
    let words =
        "the program of --publish-with has ended: exit code 1; its last output: out of luck";
    assert!(failed.starts_with(words), "{failed}");
    assert_eq!(block.counts.check(), Ok(()));
}

#[test]
fn a_program_publishes_in_each_round_of_a_row_and_to_the_port_of_its_server() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("publish.py"), PUBLISH).unwrap();
    let file = "baseline = 'relay'\npublish = '20/s'\nreceivers = 3\nrounds = 2\nduration = '500ms'\nwarm-up = '0s'\n\
                drain = '5s'\n[[row]]\nname = 'relay'\nserver = 'embedded'\ntransport = 'ws'\n\
                conversation = 'room'\npublish-with = 'python3 publish.py {port} none'\n";
    std::fs::write(sandbox.path().join("program.toml"), file).unwrap();
    let ended = sandbox.run("lab program.toml --json");
    let record = record_of(&ended.stdout);
    assert_eq!(record.blocks.len(), 2, "{ended:?}");
    for block in &record.blocks {
        let counts = block.deliveries.as_ref().unwrap().counts;
        let all = DeliveryCounts { published: 10, owed: 30, delivered: 30, ..Default::default() };
        assert_eq!(counts, all, "{ended:?}");
    }
    assert_is_gone(&sandbox);
}

/// Messages of 60 kB: for a receiver that does not read, the kernel buffers fewer of them than are published in 3 s.
const LONG: &str = r#"
[request.publish]
send = "publish room-${room_number} id=${id}\n${header} ${pad:60000}"
reply = { starts = "published ", id = "published id=${id} " }
"#;

#[test]
fn a_relay_drops_receivers_that_read_nothing_and_the_others_get_all() {
    let sandbox = Sandbox::new();
    let receivers = RECEIVERS.replace("[[open]]", "[[open]]\nby = \"receivers\"");
    std::fs::write(sandbox.path().join("long.toml"), [&receivers, LONG].concat()).unwrap();
    let server = Server::start(&sandbox, "relay --listen 127.0.0.1:0 --json --queue-max 64KiB");
    let load = "--publish 300/s --receivers 2 --slow-receivers 1% -d 3s --warm-up 0s --drain 5s";
    let ended =
        sandbox.run(&format!("run {} --conversation ./long.toml {load} --json", server.url));
    let record = record_of(&ended.stdout);
    let counts = record.blocks[0].deliveries.as_ref().unwrap().counts;
    assert_eq!((counts.check(), counts.published), (Ok(()), 900), "{ended:?}");
    let DeliveryCounts { owed, delivered, slow, .. } = counts;
    // It reconnects in the drain: messages that are still handed over then count as owed to a slow receiver.
    assert_eq!((owed, delivered, counts.whole()), (900, 900, 1800), "{counts:?}");
    assert!(slow.cut > 0 && slow.delivered > 0 && slow.lost == 0, "{counts:?}");
    let shown = sandbox.run("show").stdout;
    assert!(shown.contains("slow receivers: the relay kept"), "{shown}");
    server.process.send(Signal::TERM);
    let totals: serde_json::Value = serde_json::from_str(&server.process.wait().stdout).unwrap();
    assert_eq!(totals["slow_receivers_dropped"], 1, "{totals}");
}

#[test]
fn receivers_that_leave_or_are_torn_off_come_back_and_the_sums_close() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "relay --listen 127.0.0.1:0 --json");
    let load = "--publish 50/s --rooms 2 --receivers 10 -d 3s --warm-up 0s --drain 5s --threads 2";
    let leaves = ["--away", "every 500ms for 50ms", "--storm", "1s"];
    let line = format!("run {} --conversation room {load} --json", server.url);
    let ended = ended(&sandbox.command(&line).args(leaves).output().unwrap());
    let record = record_of(&ended.stdout);
    let deliveries = record.blocks[0].deliveries.as_ref().unwrap();
    let counts = deliveries.counts;
    assert_eq!((counts.check(), counts.missing()), (Ok(()), 0), "{ended:?}");
    assert_eq!(counts.whole(), 10 * counts.published, "{counts:?}");
    // Those that were away at that very instant are not torn off.
    assert!((1..=20).contains(&counts.torn_off) && counts.absences > 0, "{counts:?}");
    assert!(counts.attempts >= counts.torn_off + counts.absences, "{counts:?}");
    assert_eq!(counts.away.lost, counts.away.owed, "{counts:?}");
    let recovered = deliveries.recovered.as_ref().unwrap();
    assert_eq!(recovered.count, counts.recovered);
    assert!(recovered.min_ns >= 499_000_000, "nobody is back before: {recovered:?}");
    assert!(record.blocks[0].errors.is_empty(), "{:?}", record.blocks[0].errors);
}

#[test]
fn receivers_over_socket_io_are_restored_and_miss_nothing() {
    for transport in ["socketio", "socketio+upgrade"] {
        let sandbox = Sandbox::new();
        let server = Server::start(&sandbox, "relay --listen 127.0.0.1:0 --json --recovery 1m");
        let url = server.url.replace("ws://", &format!("{transport}://"));
        let load = "--publish 50/s --rooms 2 --receivers 10 -d 3s --warm-up 0s --drain 5s";
        let ended = sandbox.run(&format!(
            "run {url} --conversation room-socketio {load} --storm 500ms --threads 2 --json"
        ));
        let record = record_of(&ended.stdout);
        let deliveries = record.blocks[0].deliveries.as_ref().unwrap();
        let counts = deliveries.counts;
        let (published, all) = (counts.published, 10 * counts.published);
        let expected = DeliveryCounts {
            published,
            owed: all,
            delivered: all,
            torn_off: 20,
            recovered: 20,
            attempts: 20,
            restored: 20,
            caught_up: counts.caught_up,
            ..DeliveryCounts::default()
        };
        assert_eq!(counts, expected, "{transport}: {ended:?}");
        // A receiver that is away for at least half a second misses what is due meanwhile.
        assert!(published > 0 && counts.caught_up >= 20 * 24, "{transport}: {counts:?}");
        let replayed = deliveries.replayed.as_ref().unwrap();
        assert_eq!(replayed.count, counts.caught_up, "{transport}");
        assert!(replayed.max_ns >= 400_000_000, "{transport}: {replayed:?}");
        assert!(record.blocks[0].errors.is_empty(), "{:?}", record.blocks[0].errors);
        let shown = sandbox.run("show --details").stdout;
        assert!(shown.contains("20 of these were restored by the server"), "{transport}: {shown}");
        server.process.send(Signal::TERM);
        let totals: serde_json::Value =
            serde_json::from_str(&server.process.wait().stdout).unwrap();
        assert!(totals["recovered"].as_u64().unwrap() >= counts.caught_up, "{totals}");
        assert_eq!(totals["broken_connections"], 0, "{totals}");
    }
}

#[test]
fn a_server_that_is_killed_under_load_is_started_again_and_the_sums_close() {
    let ours = "[[row]]\nname = 'relay'\nserver = 'embedded'\ntransport = 'ws'\n".to_owned();
    let relay = "serve relay --listen 127.0.0.1:{port}";
    let of_user = format!(
        "[[row]]\nname = 'relay'\nurl = 'ws://127.0.0.1:1'\nstart = '{} {relay}'\n",
        program()
    );
    for row in [ours, of_user] {
        let sandbox = Sandbox::new();
        let file = format!("baseline = 'relay'\n{RESTART}{row}conversation = 'room'\n");
        std::fs::write(sandbox.path().join("restart.toml"), file).unwrap();
        let ended = sandbox.run("run restart.toml --json");
        let record = record_of(&ended.stdout);
        assert_eq!(record.blocks.len(), 2, "{ended:?}");
        for block in &record.blocks {
            assert_eq!((&block.failed, &block.errors[..]), (&None, &[][..]), "{ended:?}");
            let restart = block.restart.unwrap();
            assert!(restart.at_ns >= 500_000_000 && restart.ready_after_ns > 0, "{restart:?}");
            let deliveries = block.deliveries.as_ref().unwrap();
            let counts = deliveries.counts;
            assert_eq!((counts.check(), counts.missing()), (Ok(()), 0), "{counts:?}");
            assert_eq!(counts.whole(), 10 * counts.published, "{counts:?}");
            assert_eq!((counts.torn_off, counts.recovered), (20, 20), "{counts:?}");
            assert!(counts.away.lost > 0 && counts.away.delivered == 0, "{counts:?}");
            let recovered = deliveries.recovered.as_ref().unwrap();
            assert!(recovered.min_ns >= 499_000_000, "nobody is back before: {recovered:?}");
            assert_eq!(deliveries.recovery().unwrap().0, recovered.max_ns, "the last of 20");
            // The CPU time of the killed server counts as well.
            assert!(block.cpu.server_us_per_message.is_some(), "{:?}", block.cpu);
        }
        let shown = sandbox.run("show --details").stdout;
        assert!(shown.contains("recovery") && shown.contains("ready"), "{shown}");
    }
}

/// A relay of lines that keeps 64 KiB for each receiver.
const KEEPS_64_KIB: &str = r#"
import asyncio, sys

rooms = {}

class Peer(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.rest, self.kept = transport, b"", None

    def data_received(self, data):
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            word, room, text = line.split(b" ", 2)
            if word == b"join":
                self.kept = b"x" * 65536
                rooms.setdefault(room, set()).add(self.transport)
                self.transport.write(b"joined\n")
            else:
                for receiver in rooms.get(room, ()):
                    receiver.write(b"message " + text + b"\n")

    def connection_lost(self, error):
        for receivers in rooms.values():
            receivers.discard(self.transport)

async def serve():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Peer, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()

asyncio.run(serve())
"#;

/// The conversation of its receivers and publishers.
const OF_LINES: &str = r#"
speaks = "tcp"
frame = "lines"
[[open]]
by = "receivers"
send = "join ${room_number} ."
expect = { is = "joined" }
[request.publish]
send = "publish ${room_number} ${header} ."
reply = "none"
[push.message]
when = { starts = "message " }
header = "message ${header} "
"#;

#[test]
fn the_memory_of_a_receiver_is_known_of_the_first_block_of_a_server() {
    let sandbox = Sandbox::new();
    let file = "baseline = 'relay'\npublish = '20/s'\nrooms = 2\nreceivers = 50\nrounds = 2\nduration = '500ms'\n\
                warm-up = '0s'\ndrain = '5s'\n[[row]]\nname = 'relay'\nurl = 'tcp://127.0.0.1:1'\n\
                start = 'exec python3 relay.py {port}'\nconversation = './lines.toml'\n";
    for (name, text) in
        [("memory.toml", file), ("relay.py", KEEPS_64_KIB), ("lines.toml", OF_LINES)]
    {
        std::fs::write(sandbox.path().join(name), text).unwrap();
    }
    let ended = sandbox.run("run memory.toml --json");
    let record = record_of(&ended.stdout);
    let before = |block: &record::Block| block.memory.unwrap().server_before.unwrap();
    let is_first: Vec<bool> = record.blocks.iter().map(|block| before(block).is_first).collect();
    assert_eq!(is_first, [true, false], "{ended:?}");
    let of = |block| record.plan.workloads[0].receiver_memory(block).unwrap();
    let memory = of(&record.blocks[0]).unwrap();
    // The other memory that Python takes for a connection is less than half as much.
    assert_eq!(memory.receivers, 100);
    assert!((65_536.0..98_304.0).contains(&memory.each), "{memory:?}");
    assert!(of(&record.blocks[1]).is_err());
    let shown = sandbox.run("show --details").stdout;
    assert!(shown.contains("memory /"), "{shown}");
}

#[test]
fn a_server_that_is_killed_and_does_not_start_again_fails_the_block() {
    let sandbox = Sandbox::new();
    let once = "test ! -e there && touch there && exec";
    let relay = "serve relay --listen 127.0.0.1:{port}";
    let file = format!(
        "baseline = 'relay'\n{RESTART}[[row]]\nname = 'relay'\nurl = 'ws://127.0.0.1:1'\n\
         start = '{once} {} {relay}'\nconversation = 'room'\n",
        program()
    );
    std::fs::write(sandbox.path().join("restart.toml"), file).unwrap();
    let ended = sandbox.run("run restart.toml --json");
    let record = record_of(&ended.stdout);
    for (block, expected) in
        record.blocks.iter().zip(["killed by --restart, and is not back", "killed by --restart"])
    {
        let failed = block.failed.as_deref().unwrap_or_default();
        assert!(failed.contains(expected), "{failed}: {ended:?}");
        assert_eq!(block.counts.check(), Ok(()));
    }
}

#[test]
fn other_loads_go_on_with_a_server_of_their_own_where_a_restart_fails() {
    let sandbox = Sandbox::new();
    // Only its second start fails, which is the one after the first kill.
    let second_fails = "echo >> starts; test $(wc -l < starts) != 2 && exec";
    let file = format!(
        "baseline = 'relay'\npublish = '50/s'\nreceivers = 2\nrounds = 2\nduration = '1s'\nwarm-up = '0s'\n\
         drain = '5s'\n[[load]]\nname = 'restart'\nrestart = '200ms'\n[[load]]\nname = 'steady'\n\
         [[row]]\nname = 'relay'\nurl = 'ws://127.0.0.1:1'\n\
         start = '{second_fails} {} serve relay --listen 127.0.0.1:{{port}}'\nconversation = 'room'\n",
        program()
    );
    std::fs::write(sandbox.path().join("restart.toml"), file).unwrap();
    let ended = sandbox.run("run restart.toml --json");
    let record = record_of(&ended.stdout);
    let failed = |restarts: bool| {
        let of_load = |block: &&record::Block| {
            let rooms = record.plan.workloads[block.workload].spec.load.rooms().unwrap();
            rooms.conduct.restart.is_some() == restarts
        };
        let blocks = record.blocks.iter().filter(of_load);
        blocks.map(|block| block.failed.clone().unwrap_or_default()).collect::<Vec<String>>()
    };
    assert!(failed(true).iter().any(|reason| reason.contains("is not back")), "{ended:?}");
    assert_eq!(failed(false), ["", ""], "{ended:?}");
}

#[test]
fn a_server_that_was_there_before_is_not_killed() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "relay --listen 127.0.0.1:0");
    let line = format!("run {} --conversation room {LOAD} --restart 500ms", server.url);
    let words = "--restart: only a server that wirebench starts itself can be started again by it";
    sandbox.run(&line).check(2, &[words]);
}

/// A relay behind Redis, whose port is its second argument, and how Redis is run there.
const BEHIND_REDIS: &str = r#"
redis() { 'REDIS' --bind 127.0.0.1 --port "$1" --save '' >&2; }
RUN &
exec 'WIREBENCH' serve relay --listen "127.0.0.1:$1" --redis "redis://127.0.0.1:$2"
"#;

/// Writes a relay behind a real Redis, with publishers that connect to Redis, and an experiment that kills it. `None`
/// if Redis is not installed.
fn restart_redis(sandbox: &Sandbox, run: &str, more: &str) -> Option<()> {
    let redis = installed_subjects()?.join("redis/package/usr/bin/redis-server");
    let port = engine::free_port([127, 0, 0, 1].into()).unwrap();
    let script = BEHIND_REDIS.replace("RUN", run).replace("WIREBENCH", program());
    let script = script.replace("REDIS", redis.to_str().unwrap());
    let file = format!(
        "baseline = 'relay'\npublish = '50/s'\nrooms = 2\nreceivers = 10\nrounds = 1\nwarm-up = '100ms'\n{more}\n\
         restart-of = 'redis-server'\npublish-to = 'tcp://127.0.0.1:{port}'\n[[row]]\nname = 'relay'\n\
         url = 'ws://127.0.0.1:1'\nstart = 'exec sh relay.sh {{port}} {port}'\nconversation = './to.toml'\n"
    );
    for (name, text) in
        [("relay.sh", script), ("to.toml", [RECEIVERS, AT_REDIS].concat()), ("redis.toml", file)]
    {
        std::fs::write(sandbox.path().join(name), text).unwrap();
    }
    Some(())
}

#[test]
fn receivers_stay_while_the_redis_behind_their_relay_is_killed_and_started_again() {
    let sandbox = Sandbox::new();
    let run = "while :; do redis \"$2\"; done";
    let more = "duration = '4s'\ndrain = '1s'\nrestart = '500ms'";
    let Some(()) = restart_redis(&sandbox, run, more) else { return };
    let ended = sandbox.run("run redis.toml --json");
    let record = record_of(&ended.stdout);
    let block = &record.blocks[0];
    // Publishers that Redis has cut are excused, and nobody else is cut.
    assert_eq!((&block.failed, &block.errors[..]), (&None, &[][..]), "{ended:?}");
    let restart = block.restart.unwrap();
    assert!(restart.at_ns >= 500_000_000 && restart.ready_after_ns > 0, "{restart:?}");
    let deliveries = block.deliveries.as_ref().unwrap();
    let counts = deliveries.counts;
    assert_eq!(counts.check(), Ok(()), "{counts:?}");
    assert_eq!(
        (counts.whole(), counts.owed),
        (10 * counts.published, counts.whole()),
        "{counts:?}"
    );
    assert_eq!((counts.torn_off, counts.recovered, counts.attempts), (20, 20, 0), "{counts:?}");
    assert_eq!(counts.cut, 0, "nobody is cut: {counts:?}");
    // The relay tries again 100 ms after it has lost Redis.
    let recovered = deliveries.recovered.as_ref().unwrap();
    assert!(recovered.min_ns >= 99_000_000, "{recovered:?}");
    assert_eq!(deliveries.recovery().unwrap().0, recovered.max_ns, "the last of 20");
    let shown = sandbox.run("show --details").stdout;
    let words = shown.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(words.contains("redis-server killed and started again after 500 ms"), "{shown}");
}

#[test]
fn a_redis_that_nobody_starts_again_fails_the_block_in_words() {
    let sandbox = Sandbox::new();
    let more = "duration = '1s'\ndrain = '500ms'\nrestart = '200ms'";
    let Some(()) = restart_redis(&sandbox, "redis \"$2\"", more) else { return };
    let ended = sandbox.run("run redis.toml --json");
    let record = record_of(&ended.stdout);
    let block = &record.blocks[0];
    let failed = block.failed.as_deref().unwrap_or_default();
    let words =
        "redis-server was killed by --restart-of, and is not back: nothing has started it again";
    assert!(failed.starts_with(words), "{failed}: {ended:?}");
    assert_eq!((block.counts.check(), block.restart), (Ok(()), None), "{ended:?}");
}

#[test]
fn a_restart_of_what_the_server_has_not_started_or_receivers_connect_to_is_refused() {
    let relay = format!(
        "baseline = 'relay'\npublish = '50/s'\nreceivers = 2\nduration = '1s'\nrestart = '200ms'\n[[row]]\nname = 'relay'\n\
         url = 'ws://127.0.0.1:1'\nstart = '{} serve relay --listen 127.0.0.1:{{port}}'\nconversation = 'room'\n",
        program()
    );
    for (program, words) in [
        ("redis-server", "the server has started no program of that name; name one of"),
        ("wirebench", "receivers connect to it and would be disconnected; use --restart alone"),
    ] {
        let sandbox = Sandbox::new();
        std::fs::write(sandbox.path().join("relay.toml"), &relay).unwrap();
        let ended = sandbox.run(&format!("run relay.toml --restart-of {program} --json"));
        let record = record_of(&ended.stdout);
        let failed = record.blocks[0].failed.as_deref().unwrap_or_default();
        let expected = format!("--restart-of {program}: {words}");
        assert!(failed.starts_with(&expected), "{failed}: {ended:?}");
    }
}

/// A restart half a second after the start, of a server with twenty receivers.
const RESTART: &str = "
publish = '50/s'
rooms = 2
receivers = 10
rounds = 2
duration = '4s'
warm-up = '100ms'
drain = '5s'
restart = '500ms'
";

/// The path of this program, for a shell.
fn program() -> &'static str {
    env!("CARGO_BIN_EXE_wirebench")
}

#[test]
fn a_relay_that_is_asked_to_stop_delivers_what_was_published_before_and_ends_well() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "relay --listen 127.0.0.1:0 --json");
    let address = server.url.trim_start_matches("ws://").trim_end_matches('/');
    let mut receiver = Stream::connect(address).unwrap();
    receiver.write_all(b"GET /events?room=a HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    let mut heard = Vec::new();
    while !heard.ends_with(b"\r\n\r\n2\r\n\r\n\r\n") {
        let mut byte = [0];
        receiver.read_exact(&mut byte).unwrap();
        heard.extend(byte);
    }
    let mut publisher = Stream::connect(address).unwrap();
    let post = b"POST /publish?room=a HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nlast";
    publisher.write_all(post).unwrap();
    server.process.send(Signal::TERM);
    let mut rest = String::new();
    receiver.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "c\r\ndata: last\n\n\r\n0\r\n\r\n");
    drop(receiver);
    publisher.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("receivers=1\n"), "{rest}");
    drop(publisher);
    let ended = server.process.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// Publishers at Redis, with the login step for when it requires a password, and at NATS; they publish 64 bytes.
const AT_REDIS: &str = r#"
[publishers]
speaks = "tcp"
frame = "resp"
[publishers.request.publish]
send = "PUBLISH room-${room_number} \"${header} ${pad:31}\"\r"
reply = { starts = ":" }
"#;
const REDIS_LOGIN: &str = r#"
[[publishers.open]]
send = "AUTH hush\r"
expect = { is = "+OK" }
"#;
const AT_NATS: &str = r#"
[publishers]
speaks = "tcp"
frame = "lines"
[[publishers.open]]
expect = { starts = "INFO {" }
[[publishers.open]]
send = "CONNECT {\"verbose\":false}\r\nPING\r"
expect = { is = "PONG" }
[publishers.request.publish]
send = "PUB room-${room_number} 64\r\n${header} ${pad:31}\r"
reply = "none"
[publishers.answer.ping]
when = { is = "PING" }
send = "PONG\r"
"#;

#[test]
fn a_relay_delivers_what_is_published_at_brokers_that_we_did_not_write_and_says_that_one_is_gone() {
    for (name, publishers) in
        [("redis", [AT_REDIS, REDIS_LOGIN].concat()), ("nats", AT_NATS.to_owned())]
    {
        let Some(broker) = Subject::start(name) else { return };
        let publish_to = broker.url("tcp", "");
        let address = publish_to.trim_start_matches("tcp://");
        let sandbox = Sandbox::new();
        std::fs::write(sandbox.path().join("to.toml"), [RECEIVERS, &publishers].concat()).unwrap();
        let login = if name == "redis" { ":hush@" } else { "" };
        let url = format!("{name}://{login}{address}\n");
        std::fs::write(sandbox.path().join("broker"), url).unwrap();
        if name == "redis" {
            let mut redis = Stream::connect(address).unwrap();
            redis.write_all(b"CONFIG SET requirepass hush\r\n").unwrap();
            let mut answer = [0; 5];
            redis.read_exact(&mut answer).unwrap();
            assert_eq!(&answer, b"+OK\r\n");
            std::fs::write(sandbox.path().join("wrong"), format!("redis://:no@{address}")).unwrap();
            for (given, words) in [
                (format!("redis://{address}"), "Redis requires a login, and none was given"),
                ("@wrong".to_owned(), "Redis refuses: \"WRONGPASS"),
            ] {
                let line = format!("relay --listen 127.0.0.1:0 --redis {given}");
                Server::start(&sandbox, &line).process.wait_for_word(words);
            }
        }
        let line = format!("relay --listen 127.0.0.1:0 --json --{name} @broker");
        let mut server = Server::start(&sandbox, &line);
        let ended = sandbox.run(&format!(
            "run {} --conversation ./to.toml --publish-to {publish_to} {LOAD} --json",
            server.url
        ));
        let counts = record_of(&ended.stdout).blocks[0].deliveries.as_ref().unwrap().counts;
        let all = DeliveryCounts { published: 80, owed: 400, delivered: 400, ..Default::default() };
        assert_eq!(counts, all, "{name}: {ended:?}");
        drop(broker);
        let gone = format!("{name}://{address}: lost: ");
        server.process.wait_for_word(&gone);
        server.process.send(Signal::TERM);
        let ended = server.process.wait();
        assert!(!ended.stderr.contains("hush"), "{ended:?}");
        let totals: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        let of = |name: &str| totals["brokers"][name].as_u64().unwrap();
        assert!(of("published") > 80 && of("connections") == 1, "{totals}");
        assert!(of("failed_connections") > 0 && totals["refused"] == 0, "{totals}");
    }
}

#[test]
fn a_broker_is_given_to_a_relay_alone_and_by_an_address() {
    let sandbox = Sandbox::new();
    sandbox
        .run("serve ws --redis redis://127.0.0.1:1")
        .check(2, &["--redis is only for serve relay"]);
    let relay = |given: &str| sandbox.run(&format!("serve relay {given}"));
    relay("--nats redis://127.0.0.1:1").check(2, &["--nats takes nats://HOST:PORT"]);
    relay("--redis @none").check(2, &["--redis @none: No such file"]);
    let told = relay("--redis redis://ada:hush@127.0.0.1:1");
    told.check(2, &["--redis takes no login on the command line", "@FILE"]);
    assert!(!told.stderr.contains("hush"), "{told:?}");
}

#[test]
fn relays_refuse_options_that_do_not_apply_to_them() {
    let sandbox = Sandbox::new();
    for (option, given) in [("--cap", "--cap 1/s"), ("--corrupt", "--corrupt 1%")] {
        let words = format!("{option} does not apply to serve relay; leave it out");
        sandbox.run(&format!("serve relay {given}")).check(2, &[&words]);
    }
}

#[test]
fn clients_of_sockjs_that_we_did_not_write_meet_in_a_room_over_each_transport() {
    let Some(folder) = installed("sockjs-client") else { return };
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "relay --listen 127.0.0.1:0 --json");
    let url = server.url.replace("ws://", "http://");
    let url = format!("{}/rooms", url.trim_end_matches('/'));
    let transports = ["eventsource", "websocket", "xhr-polling", "xhr-streaming"];
    let arguments = [&[&*url, "a", "25"][..], &transports].concat();
    let each = transports.map(|name| format!("{name}: 25 acknowledged, 100 delivered\n"));
    assert_eq!(run_client(&folder, &arguments), each.concat());
    server.process.send(Signal::TERM);
    let totals: serde_json::Value = serde_json::from_str(&server.process.wait().stdout).unwrap();
    let of = |name: &str| totals[name].as_u64().unwrap();
    assert_eq!((of("published"), of("deliveries"), of("refused")), (100, 400, 0), "{totals}");
    assert_eq!((of("broken_connections"), of("slow_receivers_dropped")), (0, 0), "{totals}");
}

#[test]
fn clients_of_socket_io_that_we_did_not_write_meet_in_a_room_over_each_transport() {
    let Some(folder) = installed("socketio-client") else { return };
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "relay --listen 127.0.0.1:0 --json");
    let url = server.url.replace("ws://", "http://");
    // The last one starts with polling, as the library does by default, and upgrades while messages arrive.
    let clients = ["polling", "websocket", "polling,websocket"];
    let each = ["polling,websocket", "polling", "websocket"]
        .map(|name| format!("{name}: 25 acknowledged, 75 delivered\n"));
    for namespace in ["", "#/other"] {
        let url = format!("{url}{namespace}");
        let arguments = [&[&*url, "room", "25"][..], &clients].concat();
        assert_eq!(run_client(&folder, &arguments), each.concat(), "{namespace}");
    }
    server.process.send(Signal::TERM);
    let totals: serde_json::Value = serde_json::from_str(&server.process.wait().stdout).unwrap();
    let of = |name: &str| totals[name].as_u64().unwrap();
    assert_eq!((of("published"), of("deliveries"), of("refused")), (150, 450, 0), "{totals}");
    assert_eq!((of("broken_connections"), of("slow_receivers_dropped")), (0, 0), "{totals}");
}

#[test]
fn clients_of_socket_io_that_we_did_not_write_come_back_to_what_they_have_missed() {
    let Some(folder) = installed("socketio-client") else { return };
    for transport in ["websocket", "polling"] {
        let sandbox = Sandbox::new();
        let server = Server::start(&sandbox, "relay --listen 127.0.0.1:0 --json --recovery 1m");
        let url = server.url.replace("ws://", "http://");
        let url = url.trim_end_matches('/');
        let heard = run_client(&folder, &["recover", url, "room", transport]);
        assert_eq!(heard, "before, while away, bytes, after\n", "{transport}");
        server.process.send(Signal::TERM);
        let totals: serde_json::Value =
            serde_json::from_str(&server.process.wait().stdout).unwrap();
        assert!(totals["recovered"].as_u64().unwrap() >= 2, "{transport}: {totals}");
    }
}

#[test]
fn a_place_where_nobody_answers_is_named_before_anything_is_timed() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("apart.toml"), [RECEIVERS, APART].concat()).unwrap();
    let server = Server::start(&sandbox, "relay --listen 127.0.0.1:0");
    let run = |url: &str, publish_to: &str| {
        sandbox.run(&format!(
            "run {url} --conversation ./apart.toml --publish-to {publish_to} {LOAD} --timeout 2s"
        ))
    };
    let nobody = "ws://127.0.0.1:1/";
    run(&server.url, nobody).check(15, &[nobody]);
    run(nobody, &server.url).check(15, &[nobody]);
    // An echo is not a relay: it answers a publication, and tells nobody that they have joined.
    let echo = Server::start(&sandbox, "ws --listen 127.0.0.1:0");
    run(&echo.url, &server.url).check(15, &[&echo.url, "joined "]);
    let words = ["--publish-to", "connect over ws:// or sockjs:// or socketio://, without TLS"];
    run(&server.url, "tcp://127.0.0.1:1").check(2, &words);
}
