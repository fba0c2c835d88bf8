//! Sweeps through the binary: the knee of a known cap, what is refused, and what a signal leaves.

use crate::harness::{Running, Sandbox, Server, is_invalid};
use record::{Ended, Kind, Knee, Level, RunRecord, SweepOf};
use rustix::process::Signal;

#[test]
fn a_sweep_finds_that_a_capped_server_bends_and_writes_down_each_step() {
    let (record, stdout) = sweep_of_a_cap();
    let sweep = record.sweep.as_ref().unwrap();
    let Knee::Found { low_per_s, high_per_s, .. } = sweep.lines[0].knee else {
        panic!("{:?}", sweep.lines)
    };
    // On a busy machine it bends earlier, and never later.
    assert!(low_per_s < high_per_s && low_per_s <= 1545.0, "{low_per_s} {high_per_s}");
    assert_eq!((sweep.of, sweep.slo.as_deref()), (SweepOf::Rate, Some("p99 < 2s")));
    for step in &sweep.steps {
        assert!(!step.blocks.is_empty());
        assert!(step.blocks.iter().all(|block| record.blocks[*block].workload == step.workload));
        assert!(step.interface_bytes_per_s > step.stream_bytes_per_s, "{step:?}");
    }
    for block in &record.blocks {
        assert!((1..=7).contains(&block.samples.len()), "{} samples", block.samples.len());
        assert_eq!(block.interface.as_ref().unwrap().name, "lo");
        assert!(block.memory.unwrap().generator_rss_bytes > Some(0));
    }
    assert!(stdout.contains(" bends "), "{stdout}");
}

#[test]
#[ignore = "needs a machine that does nothing else: cargo test -p wirebench -- --ignored within_3_percent"]
fn the_knee_of_a_server_that_is_capped_is_found_within_3_percent() {
    let (record, _) = sweep_of_a_cap();
    let line = &record.sweep.as_ref().unwrap().lines[0];
    let Knee::Found { offered_per_s, low_per_s, high_per_s, .. } = line.knee else {
        panic!("{line:?}")
    };
    assert!((1455.0..=1545.0).contains(&offered_per_s), "{offered_per_s}");
    assert!(high_per_s / low_per_s <= 1.021, "{low_per_s} {high_per_s}");
    let capacity = line.capacity.unwrap();
    assert!(capacity.confirmed && capacity.low_per_s <= high_per_s, "{capacity:?}");
}

/// Sweeps an oracle of 1500 replies a second; returns the record and the output.
fn sweep_of_a_cap() -> (RunRecord, String) {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "oracle ws --cap 1500/s");
    let line = format!(
        "sweep {} --from 1k --factor 1.5 --repeats 1 -d 500ms --settle 200ms --slo p99<2s --seed 7 -o sweep.json",
        server.url
    );
    let ended = sandbox.run(&line);
    assert!([Some(0), Some(12)].contains(&ended.code), "{ended:?}");
    let text = std::fs::read_to_string(sandbox.path().join("sweep.json")).unwrap();
    let record = RunRecord::from_json(&text).unwrap();
    assert_eq!((record.kind, &record.ended), (Kind::Sweep, &Ended::Completed));
    (record, ended.stdout)
}

#[test]
fn what_a_sweep_cannot_do_is_refused_with_the_cure() {
    let sandbox = Sandbox::new();
    std::fs::write(
        sandbox.path().join("bad.toml"),
        "speed = 3\n[[row]]\nname='a'\nserver='embedded'\ntransport='ws'\n",
    )
    .unwrap();
    #[rustfmt::skip]
    let table = [
        ("sweep",                                       "nothing to sweep: name a URL, a file, or --preset cubeia"),
        ("sweep nowhere.toml",                          "cannot read nowhere.toml"),
        ("sweep bad.toml",                              "bad.toml:1:1: unknown field `speed`, expected one of `connections`"),
        ("sweep ws://h --preset cubeia",                "leave the URL or the file out"),
        ("sweep --preset kubeia",                       "cubeia"),
        ("sweep ws://h --from 5 -d 1s",                 "too few to miss 1 % of them; ask for --from more"),
        ("sweep ws://h --from 10k --to 5k",             "--from: 10000 is above the largest load, 5000"),
        ("sweep ws://h --every 2s",                     "--every: belongs to sweeps of bots and connections; leave it out"),
        ("sweep ws://h --bots-max 5",                   "--bots-max: belongs to sweeps of bots; leave it out"),
        ("sweep ws://h --slo fast",                     "as in `p99 < 50ms`"),
        ("sweep ws://h --factor 1",                     "is not between 1.05 and 10"),
        ("sweep ws://h --of cats",                      "bots, connections, rate, receivers"),
        ("sweep ws://h --of receivers",                 "say with --publish how often messages are due"),
        ("sweep ws://h --conversation room --publish 9/s --of bots", "use --of receivers or --of rate"),
        ("sweep ws://h --conversation room --publish 9/s --of receivers", "has 18 messages due in a block of 2 s: too few to miss 1 % of them; ask for --publish more"),
        ("sweep ws://h --conversation room --publish 9/s --of receivers --receivers 5", "--receivers does not apply to a sweep"),
        ("sweep ws://h --size 1B --payload x",          "--size: --payload already sets the whole message; leave one of the two out"),
        ("sweep wsss://h",                              "did you mean `wss`?"),
        ("sweep tcp://127.0.0.1:1 --header A:b",        "--header: does not apply to tcp://"),
    ];
    for (line, message) in table {
        let ended = sandbox.run(line);
        ended.check(2, &["error: ", message]);
        ended.check_no_result();
    }
}

#[test]
fn in_rooms_it_is_receivers_that_rise_and_deliveries_that_are_offered() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "relay");
    let line = format!(
        "sweep {} --conversation room --publish 100/s --rooms 2 --of receivers --from 4 --to 16 --factor 4 --repeats 1 \
         -d 500ms --settle 100ms -o sweep.json",
        server.url
    );
    let ended = sandbox.run(&line);
    assert!([Some(0), Some(12)].contains(&ended.code), "{ended:?}");
    let text = std::fs::read_to_string(sandbox.path().join("sweep.json")).unwrap();
    let record = RunRecord::from_json(&text).unwrap();
    let sweep = record.sweep.as_ref().unwrap();
    assert_eq!(sweep.of, SweepOf::Receivers);
    assert!(!sweep.steps.is_empty());
    for step in &sweep.steps {
        let spec = &record.plan.workloads[step.workload].spec;
        let receivers = spec.load.rooms().unwrap().receivers.get();
        assert_eq!(spec.name, format!("{receivers} receivers"));
        assert!((step.offered_per_s - 200.0 * f64::from(receivers)).abs() < 1e-6, "{step:?}");
        for block in &step.blocks {
            let counts = record.blocks[*block].deliveries.as_ref().unwrap().counts;
            assert_eq!(counts.check(), Ok(()), "{counts:?}");
            assert_eq!(counts.whole(), counts.published * u64::from(receivers), "{counts:?}");
        }
    }
    assert!(ended.stdout.contains("receivers"), "{}", ended.stdout);
    let shares = ended.stderr.lines().filter_map(|line| {
        line.split(" % of what was due").next()?.split(' ').next_back()?.parse().ok()
    });
    let shares: Vec<f64> = shares.collect();
    assert!(!shares.is_empty() && shares.iter().all(|share| *share < 200.0), "{}", ended.stderr);
}

#[test]
fn nobody_who_answers_is_an_error_and_no_record() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run("sweep tcp://127.0.0.1:1");
    ended.check(15, &["cannot reach tcp://127.0.0.1:1"]);
    ended.check_no_result();
}

#[test]
fn a_server_that_dies_gets_no_knee_and_its_steps_stay() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "ws");
    let line = format!(
        "sweep {} --from 1000 --to 16k -d 500ms --settle 200ms --repeats 1 --timeout 1s --budget 25s \
         -o sweep.json",
        server.url
    );
    let mut sweep = Running::start(sandbox.command(&line));
    sweep.wait_for_word("block 3/");
    let server_name = server.url.clone();
    drop(server);
    let ended = sweep.wait();
    assert!(!ended.stdout.contains("bends at"), "{}", ended.stdout);
    let text = std::fs::read_to_string(sandbox.path().join("sweep.json")).unwrap();
    let record = RunRecord::from_json(&text).unwrap();
    // A step during which the machine stalled is invalid, which takes precedence.
    let expected = if is_invalid(&record) { 12 } else { 13 };
    assert_eq!(ended.code, Some(expected), "{ended:?}");
    let Ended::Partial { reason } = &record.ended else { panic!("{:?}", record.ended) };
    assert!(reason.contains("the server failed at "), "{reason}");
    assert!(reason.contains(&server_name), "{reason} does not name {server_name}");
    assert!(record.duration_ns < 30_000_000_000, "{} ns", record.duration_ns);
    let sweep = record.sweep.as_ref().unwrap();
    let Knee::NotReached { offered_max_per_s, .. } = sweep.lines[0].knee else {
        panic!("{:?}", sweep.lines)
    };
    assert!(offered_max_per_s >= 1000.0, "{offered_max_per_s}");
    let last = record.blocks.last().unwrap();
    assert!(last.failed.as_ref().is_some_and(|reason| reason.contains("nothing")), "{last:?}");
    let earlier = &record.blocks[..record.blocks.len() - 1];
    assert!(earlier.iter().all(|block| block.failed.is_none()), "{earlier:?}");
}

#[test]
fn a_loss_that_does_not_depend_on_the_load_is_a_failure_and_no_knee() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "oracle ws --drop 5% --seed 7");
    let line = format!(
        "sweep {} --from 2000 -d 500ms --warm-up 0s --repeats 1 --timeout 500ms --drain 600ms \
         --slo p99<2s -o sweep.json",
        server.url
    );
    let ended = sandbox.run(&line);
    assert!(!ended.stdout.contains("bends"), "{}", ended.stdout);
    let text = std::fs::read_to_string(sandbox.path().join("sweep.json")).unwrap();
    let record = RunRecord::from_json(&text).unwrap();
    let line = &record.sweep.as_ref().unwrap().lines[0];
    let Knee::NotReached { reason, .. } = &line.knee else { panic!("{line:?}") };
    assert!(reason.contains("the failure does not depend on the load"), "{reason}");
    assert_eq!(line.capacity, None);
    assert!(matches!(record.ended, Ended::Partial { .. }), "{:?}", record.ended);
    assert!([Some(12), Some(13)].contains(&ended.code), "{ended:?}");
}

#[test]
fn the_budget_holds_though_the_server_stands_still() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "ws");
    let line = format!(
        "sweep {} --from 400 -d 500ms --warm-up 0s --repeats 1 --budget 4s --timeout 60s -o sweep.json",
        server.url
    );
    let mut sweep = Running::start(sandbox.command(&line));
    sweep.wait_for_word("block 2/");
    server.process.send(Signal::STOP);
    sweep.wait();
    let text = std::fs::read_to_string(sandbox.path().join("sweep.json")).unwrap();
    let took = RunRecord::from_json(&text).unwrap().duration_ns;
    // One reply alone may take 60 s.
    assert!(took < 30_000_000_000, "{took} ns of 4 s");
}

#[test]
fn the_budget_holds_whatever_the_server_does() {
    let sandbox = Sandbox::new();
    let sweep = |behaviour: &str| {
        let server = Server::start(&sandbox, &format!("oracle ws {behaviour}"));
        let line = format!(
            "sweep {} --from 400 -d 500ms --warm-up 0s --repeats 9 --budget 3s --timeout 60s --keep-going \
             -o {}.json",
            server.url,
            behaviour.len()
        );
        (sandbox.run(&line), sandbox.path().join(format!("{}.json", behaviour.len())))
    };
    // A slow server, one that drops most replies, and one that ends connections. None keeps up with any load, so that
    // the sweep goes on looking for more of them.
    for behaviour in ["--delay fixed:2s", "--drop 60%", "--close-after 3"] {
        let (ended, path) = sweep(behaviour);
        assert!([0, 12, 13, 15].map(Some).contains(&ended.code), "{behaviour}: {ended:?}");
        let text = std::fs::read_to_string(path).unwrap();
        let took = RunRecord::from_json(&text).unwrap().duration_ns;
        assert!(took < 30_000_000_000, "{behaviour}: {took} ns of 3 s");
    }
    // A server that never answers is not waited for any longer.
    let (ended, _) = sweep("--drop 100%");
    ended.check(15, &["no whole reply within 3 s"]);
}

#[test]
fn a_signal_ends_a_sweep_and_keeps_what_is_known() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "tcp");
    let line =
        format!("sweep {} -d 300ms --warm-up 0s --repeats 1 --from 500 -o sweep.json", server.url);
    let mut sweep = Running::start(sandbox.command(&line));
    sweep.wait_for_word("block 2/");
    sweep.send(Signal::INT);
    let ended = sweep.wait();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let text = std::fs::read_to_string(sandbox.path().join("sweep.json")).unwrap();
    let record = RunRecord::from_json(&text).unwrap();
    assert_eq!(record.ended, Ended::Interrupted { signal: 2 });
    let sweep = record.sweep.unwrap();
    assert!(sweep.steps.len() >= 2, "{:?}", sweep.steps);
    let Knee::NotReached { offered_max_per_s, .. } = sweep.lines[0].knee else {
        panic!("{:?}", sweep.lines)
    };
    assert!(offered_max_per_s >= 500.0);
    assert!(sweep.steps.iter().all(|step| step.level <= Level::Invalid));
}

#[test]
fn lines_of_a_file_are_swept_side_by_side_on_servers_of_their_own() {
    let sandbox = Sandbox::new();
    let text = "duration = '500ms'\nwarm-up = '100ms'\n\
        [axis]\nof = 'bots'\nevery = '100ms'\nfrom = 20\nto = 45\nbots-max = 40\nrepeats = 1\n\
        [[row]]\nname = 'bare'\nserver = 'embedded'\ntransport = 'tcp'\n\
        [[row]]\nname = 'WebSocket'\nserver = 'embedded'\ntransport = 'ws'\n";
    std::fs::write(sandbox.path().join("two.toml"), text).unwrap();
    let ended = sandbox.run("sweep two.toml --seed 7 -o sweep.json");
    assert!([Some(0), Some(12)].contains(&ended.code), "{ended:?}");
    let text = std::fs::read_to_string(sandbox.path().join("sweep.json")).unwrap();
    let record = RunRecord::from_json(&text).unwrap();
    let sweep = record.sweep.as_ref().unwrap();
    // Above 40, the same bots send more often. How far a busy machine gets is left open.
    for step in &sweep.steps {
        let of_bots = f64::from(u32::try_from(step.bots).unwrap()) * 10.0;
        assert!(step.bots <= 40 && step.offered_per_s <= 450.1, "{step:?}");
        assert!(step.bots == 40 || (step.offered_per_s - of_bots).abs() < 0.1, "{step:?}");
    }
    let lines: Vec<usize> = sweep.steps.iter().map(|step| step.line).collect();
    assert!(lines.is_sorted() && lines.contains(&0) && lines.contains(&1), "{lines:?}");
    assert!(
        sweep
            .steps
            .iter()
            .all(|step| step.server_cores_used.is_some() && step.server_memory_bytes.is_some())
    );
    assert_eq!(record.plan.rounds[0].len(), 2, "a round has both lines");
}
