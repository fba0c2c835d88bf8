//! A short ladder over real sockets: its table, and what its record has for every block.

use crate::harness::{Running, Sandbox, say_skipped};
use record::{Block, Ended, Kind, Level, Little, Number, RunRecord, Workload};
use units::Nanos;

/// The number of replies above which Little's law is checked.
const REPLIES_FOR_LITTLE: f64 = 100.0;

const RUNGS: [&str; 14] = [
    "tcp",
    "tcp-framed",
    "unix",
    "ws",
    "ws-text",
    "http",
    "http-new",
    "tls",
    "wss",
    "ws-json",
    "ws-deflate",
    "https",
    "https-new",
    "https-resume",
];

#[test]
fn every_rung_is_measured_and_its_counts_add_up() {
    let sandbox = Sandbox::new();
    let ladder = sandbox.run("ladder --all --rounds 3 --block 100ms -c 1 --seed 7");
    ladder.check_measured(&["machine: ", "record: ", "repeat: wirebench run .wirebench/records/"]);
    check_page(&ladder.stdout);
    // Neither stream is a terminal.
    assert!(!ladder.stderr.contains(['\x1b', '\r']), "{ladder:?}");

    let records = sandbox.records();
    let [record] = &records[..] else { panic!("{} records", records.len()) };
    assert_eq!((record.kind, &record.ended), (Kind::Ladder, &Ended::Completed));
    assert_eq!(workload_names(record), RUNGS);
    assert_eq!(record.blocks.len(), 3 * RUNGS.len());
    let order: Vec<usize> = record.blocks.iter().map(|block| block.workload).collect();
    assert_eq!(order, record.plan.rounds.concat());
    for block in &record.blocks {
        check_block(&record.plan.workloads[block.workload], block);
    }
    for result in &record.results {
        let is_baseline = record.plan.baseline == Some(result.workload);
        assert_eq!((result.blocks, result.blocks_failed), (3, 0));
        assert_eq!(result.to_baseline.is_none(), is_baseline);
    }
    check_every_rung_has_replies(record);
    // A busy machine casts doubt on rows, which are then left out of the answer.
    let is_unmarked = |name: &str| {
        let index = RUNGS.iter().position(|rung| *rung == name).unwrap();
        let verdict = record.verdict.as_ref().unwrap();
        verdict.row(index).of_number(Number::Ratio) == Level::Trusted
    };
    if is_unmarked("tcp") && is_unmarked("ws") {
        assert!(record.conclusion.as_ref().is_some_and(|text| text.contains("WebSocket")));
    }
}

#[test]
fn a_ladder_has_five_rungs_their_layers_and_a_report_unless_more_is_asked_for() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run("ladder --rounds 1 --block 1ms -c 1 --seed 7");
    ended.check_measured(&[
        "report: .wirebench/records/",
        "repeat: wirebench run .wirebench/records/",
    ]);
    let report = ended.stderr.lines().find_map(|line| line.strip_prefix("report: ")).unwrap();
    let report = std::fs::read_to_string(sandbox.path().join(report)).unwrap();
    assert!(report.contains("<h1>The ladder</h1>"), "{report}");
    let record = sandbox.records().remove(0);
    let names = workload_names(&record);
    assert_eq!(names, ["tcp", "ws", "http", "http-new", "wss"]);
    let layers = record.plan.layers.iter();
    let layers: Vec<_> =
        layers.map(|it| (names[it.workload], names[it.base], it.name.as_str())).collect();
    let expected = [
        ("ws", "tcp", "framing"),
        ("http", "tcp", "HTTP/1.1"),
        ("http-new", "http", "connect"),
        ("wss", "ws", "TLS"),
    ];
    assert_eq!(layers, expected);
    let details = sandbox.run("show --details");
    details.check(0, &[]);
    for part in ["Bytes of a message by layer", "checks: ", "verdict  "] {
        let (is_here, is_there) = (ended.stdout.contains(part), details.stdout.contains(part));
        assert_eq!((is_here, is_there), (false, true), "{part}: {}", details.stdout);
    }
}

#[test]
fn a_newcomer_waits_less_than_45_s_and_for_every_rung_less_than_90() {
    for (line, seconds) in [("--dry-run", 45), ("ladder --all --dry-run", 90)] {
        let dry = Sandbox::new().run(line);
        dry.check(0, &["would take about "]);
        let (_, told) = dry.stderr.split_once("would take about ").unwrap();
        let time = told.split(';').next().unwrap().replace(' ', "").parse::<Nanos>().unwrap();
        assert!(time < Nanos::from_secs(seconds), "{line}: {time}");
    }
}

#[test]
fn the_order_follows_from_the_seed() {
    let order = |seed: u32| {
        let sandbox = Sandbox::new();
        let line = format!("ladder --only ws,unix --rounds 6 --block 1ms -c 1 --seed {seed} -q");
        sandbox.run(&line).check_measured(&[]);
        let record = sandbox.records().remove(0);
        assert_eq!(workload_names(&record), ["tcp", "unix", "ws"], "tcp belongs to every ladder");
        let blocks: Vec<usize> = record.blocks.iter().map(|block| block.workload).collect();
        assert_eq!(blocks, record.plan.rounds.concat());
        blocks
    };
    let one = order(7);
    assert_eq!(one, order(7));
    // Another seed might give the same one of 6^6 orders; this one does not.
    assert_ne!(one, order(8));
}

#[test]
fn larger_messages_are_larger_on_every_rung() {
    let sandbox = Sandbox::new();
    sandbox.run("ladder --all --size 70kB --rounds 3 --block 50ms -c 2 -q").check_measured(&[]);
    let record = sandbox.records().remove(0);
    for block in &record.blocks {
        let workload = &record.plan.workloads[block.workload];
        assert_eq!(workload.size_bytes, 70_000);
        assert_eq!(block.counts.check(), Ok(()));
    }
    check_every_rung_has_replies(&record);
}

#[test]
fn a_terminal_gets_colours_unless_it_or_somebody_refuses_them() {
    // `script` gives its command a terminal.
    let sandbox = Sandbox::new();
    let script = "command -v script >/dev/null || exit 99
        exec script --quiet --return --command \"$*\" /dev/null";
    let line = "ladder --only ws --rounds 1 --block 20ms -c 1";
    for (prefix, colours) in [("", true), ("NO_COLOR=1 ", false), ("TERM=dumb ", false)] {
        let script = script.replace("$*", &format!("{prefix}$*"));
        let ended = Running::start(sandbox.command_in_shell(&script, line)).wait();
        if ended.code == Some(99) {
            return say_skipped("there is no `script` that makes terminals");
        }
        ended.check_measured(&[]);
        // A colour sequence ends in `m`; rewriting a line needs other sequences.
        let has_colour = ended.stdout.contains("\x1b[1m");
        assert_eq!(has_colour, colours, "{prefix}: {ended:?}");
    }
}

/// Checks that the table has all rungs in their order, fits a terminal of 80 columns, and moves none.
fn check_page(page: &str) {
    let table = page.lines().skip_while(|line| !line.starts_with("rung "));
    let rows: Vec<&str> = table.skip(1).take(RUNGS.len()).collect();
    for (row, rung) in rows.iter().zip(RUNGS) {
        let name = row.split_whitespace().find(|word| !["?", "x"].contains(word));
        assert_eq!(name, Some(rung), "{page}");
    }
    for line in page.lines() {
        assert!(line.chars().count() <= 80, "{line:?}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
}

/// Checks that every rung has replies in at least one of its blocks.
fn check_every_rung_has_replies(record: &RunRecord) {
    for (index, name) in workload_names(record).into_iter().enumerate() {
        let mut blocks = record.blocks.iter().filter(|block| block.workload == index);
        assert!(blocks.any(|block| block.counts.ok > 0), "{name}");
    }
}

fn check_block(workload: &Workload, block: &Block) {
    let name = workload.name();
    assert_eq!(block.failed, None, "{name}");
    assert_eq!(block.counts.check(), Ok(()), "{name}");
    let counts = block.counts;
    assert_eq!(counts.ok, counts.sent, "{name}: {counts:?}");
    assert_eq!(block.errors, [], "{name}");
    if counts.ok == 0 {
        return; // A busy machine gave it no time.
    }

    let wire = &block.wire;
    for (bytes, split) in [(wire.sent_bytes, wire.sent), (wire.received_bytes, wire.received)] {
        let split = split.unwrap();
        let sum = split.payload_bytes + split.framing_bytes + split.tls_bytes;
        assert_eq!(sum.checked_add_signed(split.encoding_bytes), Some(bytes), "{name}: {split:?}");
        assert_eq!(split.tls_bytes > 0, workload.spec.tls.is_some(), "{name}: {split:?}");
        assert_eq!(split.encoding_bytes < 0, workload.spec.deflate.is_some(), "{name}: {split:?}");
    }
    check_handshakes(workload, block);
    // Tickets arrive at any time, and compression shrinks each message differently.
    let Some([sent, received]) = bytes_per_message(workload) else { return };
    if name == "http-new" {
        // The first reply may answer a request before the window, and the last request may be answered after it.
        assert_eq!(wire.received_bytes_per_message, Some(received));
        let replies = exact(wire.received_bytes) / received;
        let requests = exact(wire.sent_bytes) / sent;
        assert!((requests - replies).abs() <= 1.0 && requests.fract() == 0.0, "{name}: {wire:?}");
    } else {
        // In a closed loop each reply is followed by the next message at once.
        assert_eq!(wire.sent_bytes_per_message, Some(sent), "{name}: {wire:?}");
        assert_eq!(wire.received_bytes_per_message, Some(received), "{name}: {wire:?}");
    }
    match &block.little {
        Little::Checked { expected_in_flight, .. } => {
            assert!((expected_in_flight - 1.0).abs() < 1e-9)
        }
        // On a busy machine there may be too few replies for it.
        Little::NotChecked { reason } => {
            let replies = exact(wire.received_bytes) / received;
            assert!(
                replies <= REPLIES_FOR_LITTLE && reason.contains("are needed"),
                "{name}: {reason}"
            );
        }
    }
}

/// Checks that sessions are resumed where they should be, and nowhere else.
fn check_handshakes(workload: &Workload, block: &Block) {
    assert_eq!(workload.spec.tls.is_some(), block.tls.is_some(), "{}", workload.name());
    let Some(seen) = &block.tls else { return };
    let (is_full, is_resumed) = (seen.full > 0, seen.resumed > 0);
    match workload.name() {
        "https-new" => assert!(is_full && !is_resumed, "{seen:?}"),
        "https-resume" => assert!(is_resumed, "{seen:?}"),
        _ => {
            let connections = u64::from(workload.spec.load.connections().get());
            assert_eq!(seen.full + seen.resumed, connections, "{seen:?}");
        }
    }
}

/// Bytes of one message and of its reply, payload and framing; `None` where they differ from message to message.
fn bytes_per_message(workload: &Workload) -> Option<[f64; 2]> {
    let host = workload.target.trim_start_matches("http://").trim_end_matches('/');
    let request = format!("POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 64\r\n\r\n").len();
    let reply =
        "HTTP/1.1 200 OK\r\nContent-Length: 64\r\nContent-Type: application/octet-stream\r\n\
                 \r\n"
            .len();
    let [sent, received] = match workload.transport.as_str() {
        _ if workload.spec.deflate.is_some() => return None,
        "tcp" | "unix" => [64, 64],
        "tcp-framed" => [4 + 64, 4 + 64],
        // Two bytes of header, and the mask of clients.
        "ws" => [2 + 4 + 64, 2 + 64],
        "http" => [request as u64 + 64, reply as u64 + 64],
        "tls" | "wss" | "https" => return None,
        other => panic!("{other}"),
    };
    Some([exact(sent), exact(received)])
}

#[expect(clippy::cast_precision_loss, reason = "the bytes of a tenth of a second")]
fn exact(bytes: u64) -> f64 {
    bytes as f64
}

fn workload_names(record: &RunRecord) -> Vec<&str> {
    record.plan.workloads.iter().map(Workload::name).collect()
}
