//! Subjects and labs: what is installed can be measured, what misbehaves is named, and nothing is left running.

use crate::harness::{Ended as How, Running, Sandbox, pause, record_of, say_skipped};
use crate::third_party::installed_subjects;
use record::{Counts, Ended, Kind, RunRecord};
use rustix::process::Signal;
use spec::Conversation;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

#[test]
fn every_subject_that_is_installed_passes_its_checks() {
    let Some(installed) = installed_subjects() else { return };
    let sandbox = Sandbox::new();
    let mut failed = Vec::new();
    for name in all_subjects() {
        if is_skipped(&name, &installed) {
            continue;
        }
        let line = format!(
            "subjects check {name} --subjects {} --installed {}",
            subjects().display(),
            installed.display()
        );
        let checked = run(&sandbox, &line);
        if checked.code != Some(0) {
            failed.push(checked);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn every_subject_that_is_installed_is_measured() {
    let Some(installed) = installed_subjects() else { return };
    let sandbox = Sandbox::new();
    let measured = || measured_quickly(&sandbox, "experiments/smoke/lab.toml", &installed);
    let reasons = |record: &RunRecord| -> Vec<String> {
        record.blocks.iter().filter_map(|block| block.failed.clone()).collect()
    };
    let mut record = measured();
    // If the machine stalls at the wrong moment, the windows of a client and of wirebench differ, and so does the CPU
    // time in them, which rightly fails the block.
    let is_of_window = |reason: &String| {
        reason.contains(": it reports a window of ") || reason.contains(" of CPU time, and we saw ")
    };
    let failed = reasons(&record);
    if !failed.is_empty() && failed.iter().all(is_of_window) {
        record = measured();
    }
    assert_eq!(reasons(&record), Vec::<String>::new());
    let lab = record.lab.as_ref().unwrap();
    let left_out: Vec<&str> = lab.left_out.iter().map(|left| left.name.as_str()).collect();
    assert!(left_out.is_empty() || left_out == ["ratchet"], "{:?}", lab.left_out);
    // Those that hold conversations have an experiment of their own.
    let echo = |name: &&String| !left_out.contains(&name.as_str()) && !talks(name);
    for name in all_subjects().iter().filter(echo) {
        let is_it =
            |subject: &Option<record::Subject>| subject.as_ref().is_some_and(|it| it.name == *name);
        let took_part =
            record.plan.workloads.iter().any(|it| is_it(&it.server) || is_it(&it.client));
        assert!(took_part, "experiments/smoke/lab.toml has no row of {name}");
    }
    assert_nothing_runs_in(&installed);
}

#[test]
fn every_subject_that_holds_conversations_is_measured_with_each() {
    let Some(installed) = installed_subjects() else { return };
    let sandbox = Sandbox::new();
    let record = measured_quickly(&sandbox, "experiments/conversations.toml", &installed);
    assert!(record.lab.as_ref().unwrap().left_out.is_empty(), "{:?}", record.lab);
    for block in &record.blocks {
        let name = &names_of(&record)[block.workload];
        assert_eq!(block.failed, None, "{name}");
        block.counts.check().unwrap();
        let Counts { ok, refused, error, timed_out, .. } = block.counts;
        assert_eq!((error, timed_out), (0, 0), "{name}: {:?}", block.errors);
        assert!(ok > 0, "{name}: {:?}", block.counts);
        let by_kind = |count: fn(&Counts) -> u64| -> u64 {
            block.exchanges.iter().map(|kind| count(&kind.counts)).sum()
        };
        if !block.exchanges.is_empty() {
            assert_eq!(by_kind(|kind| kind.ok), ok, "{name}");
            assert_eq!(by_kind(|kind| kind.refused), refused, "{name}");
            assert_eq!(by_kind(|kind| kind.sent), block.counts.sent, "{name}");
        }
    }
    for name in all_subjects().iter().filter(|name| talks(name) && !receives(name)) {
        let workloads = &record.plan.workloads;
        let is_it = |it: &&record::Workload| it.server.as_ref().is_some_and(|it| it.name == *name);
        let held: Vec<_> = workloads
            .iter()
            .filter(is_it)
            .filter_map(|it| it.spec.conversation.as_ref().map(|held| held.name.clone()))
            .collect();
        // Conversations with separate publishers have no requests: they are only measured in rooms.
        for expected in conversations_of(name, |held| held.publishers.is_none()) {
            assert!(
                held.contains(&expected),
                "experiments/conversations.toml has no row of {name} with {expected}"
            );
        }
    }
    let shown = run(&sandbox, "show --details");
    let words = [
        "rpc-websockets ws news",
        "tenth",
        "refused p50",
        "delivery p50",
        "first part p50",
        "refused error   out at end",
    ];
    assert!(words.iter().all(|words| shown.stdout.contains(words)), "{shown:?}");
    assert_nothing_runs_in(&installed);
}

#[test]
fn every_relay_delivers_what_is_published_to_every_receiver_once() {
    let Some(installed) = installed_subjects() else { return };
    for (file, receivers) in [
        ("experiments/push.toml", [10, 40]),
        ("experiments/published/cargomedia-relay.toml", [20, 40]),
        ("experiments/published/emq-fanout.toml", [20, 40]),
        ("experiments/published/anycable-jitter.toml", [20, 20]),
        ("experiments/push-faults.toml", [20, 20]),
    ] {
        let sandbox = Sandbox::new();
        let record = measured_quickly(&sandbox, file, &installed);
        assert!(record.lab.as_ref().unwrap().left_out.is_empty(), "{:?}", record.lab);
        for block in &record.blocks {
            let workload = &record.plan.workloads[block.workload];
            let name = workload.name();
            assert_eq!(block.failed, None, "{name}");
            let deliveries = block.deliveries.as_ref().unwrap();
            let counts = deliveries.counts;
            counts.check().unwrap();
            let rooms = workload.spec.load.rooms().unwrap();
            assert!(receivers.contains(&rooms.receivers.get()), "{name}");
            let all = counts.published * u64::from(rooms.receivers.get());
            // Deliveries that receivers are owed while away are counted apart, and add up with the rest.
            // If half of the receivers waited as long as the edge, the machine stalled: a delivery that a leaving
            // receiver has not had by then is not an omission of the relay.
            let median_max = deliveries.median.as_ref().map_or(0, |median| median.max_ns);
            let cut = if median_max >= EDGE_NS { counts.cut } else { 0 };
            assert_eq!((counts.whole(), counts.missing()), (all, cut), "{name}: {counts:?}");
            let is_restored = name.contains("with recovery");
            assert_eq!(counts.restored > 0, is_restored, "{name}: {counts:?}");
            let is_steady = rooms.conduct.is_steady() || is_restored;
            assert_eq!(counts.owed == all, is_steady, "{name}: {counts:?}");
            let others = [counts.duplicate, counts.foreign, counts.reordered, counts.early];
            assert_eq!(others, [0; 4], "{name}");
            assert_eq!(counts.published, block.counts.sent, "{name}");
            let is_fault = rooms.conduct.storm.is_some() || rooms.conduct.restart.is_some();
            assert_eq!(block.restart.is_some(), rooms.conduct.restart.is_some(), "{name}");
            let gone = if is_fault { u64::from(rooms.receivers.get()) } else { 0 };
            // Receivers that do not come back within so short a measurement do so in the drain.
            assert_eq!(counts.torn_off, gone, "{name}: {counts:?}");
            assert!(counts.recovered <= gone && counts.attempts >= gone, "{name}: {counts:?}");
            assert!(block.errors.is_empty() && counts.published > 0, "{name}: {:?}", block.errors);
        }
        let is_measured = |name: &str| {
            let subject =
                |it: &record::Workload| it.server.as_ref().is_some_and(|it| it.name == name);
            record.plan.workloads.iter().any(subject)
        };
        let is_relay = |name: &&String| {
            !receives(name) && !conversations_of(name, Conversation::is_for_rooms).is_empty()
        };
        let relays = all_subjects();
        let missing: Vec<&String> =
            relays.iter().filter(is_relay).filter(|name| !is_measured(name)).collect();
        assert!(
            missing.is_empty() || file != "experiments/push.toml",
            "{file} has no row of {missing:?}"
        );
        assert_nothing_runs_in(&installed);
    }
}

#[test]
fn relays_of_others_go_on_when_their_redis_is_killed_and_nobody_is_cut() {
    let Some(installed) = installed_subjects() else { return };
    let sandbox = Sandbox::new();
    let record = measured_quickly(&sandbox, "experiments/push-redis.toml", &installed);
    assert!(record.lab.as_ref().unwrap().left_out.is_empty(), "{:?}", record.lab);
    assert!(!record.blocks.is_empty());
    for block in &record.blocks {
        let name = record.plan.workloads[block.workload].name();
        assert_eq!(block.failed, None, "{name}");
        assert!(block.restart.is_some_and(|restart| restart.ready_after_ns > 0), "{name}");
        let connections = &block.connections;
        assert_eq!((connections.lost, connections.failed), (0, 0), "{name}");
        let counts = block.deliveries.as_ref().unwrap().counts;
        assert_eq!(counts.check(), Ok(()), "{name}: {counts:?}");
        assert_eq!((counts.owed, counts.whole()), (20 * counts.published, counts.owed), "{name}");
        // All receivers got a later message after the last lost one, if only in the drain.
        assert_eq!((counts.cut, counts.in_flight_at_end), (0, 0), "{name}: {counts:?}");
        assert_eq!((counts.torn_off, counts.attempts), (20, 0), "{name}: {counts:?}");
        let others = [counts.duplicate, counts.foreign, counts.reordered, counts.early];
        assert_eq!(others, [0; 4], "{name}");
    }
    assert_nothing_runs_in(&installed);
}

#[test]
fn tabs_of_a_browser_have_every_message_once_beside_our_own_receivers() {
    let Some(installed) = installed_subjects() else { return };
    let sandbox = Sandbox::new();
    let record = measured_quickly(&sandbox, "experiments/browser-receivers.toml", &installed);
    assert!(record.lab.as_ref().unwrap().left_out.is_empty(), "{:?}", record.lab);
    // The first row has no tabs.
    let transports = ["", "xhr-streaming", "polling"];
    assert_eq!(record.blocks.len(), transports.len());
    for block in record.blocks.iter().filter(|block| block.workload > 0) {
        let name = record.plan.workloads[block.workload].name();
        assert_eq!((&block.failed, &block.errors[..]), (&None, &[][..]), "{name}");
        let ours = block.deliveries.as_ref().unwrap().counts;
        let tabs = block.tabs.as_ref().unwrap();
        assert_eq!(tabs.transport, transports[block.workload], "{name}");
        // Ten tabs, and ten receivers of ours, have received everything that was published.
        assert_eq!((tabs.tabs, ours.owed), (10, 10 * ours.published), "{name}");
        assert_eq!((ours.delivered, ours.missing()), (ours.owed, 0), "{name}");
        let odd = [tabs.counts.missing(), tabs.duplicate, tabs.reordered, tabs.foreign];
        assert_eq!((tabs.counts.owed, odd), (ours.owed, [0; 4]), "{name}: {tabs:?}");
        assert!(ours.published > 0, "{name}");
        let delivery = tabs.delivery.as_ref().unwrap();
        assert_eq!((delivery.count, tabs.counts.delivered), (ours.owed, ours.owed), "{name}");
        assert!(tabs.clock_bound_ns > 0, "comparing two clocks leaves an uncertainty: {name}");
    }
    let shown = run(&sandbox, "show");
    let words = ["in tabs ", "xhr-streaming", "± "];
    assert!(words.iter().all(|words| shown.stdout.contains(words)), "{shown:?}");
    assert_nothing_runs_in(&installed);
}

#[test]
fn what_receivers_say_is_held_against_what_was_published() {
    let sandbox = Sandbox::new();
    let header = "00000000630000000000000000000040"; // number 99, due in a hundred years
    let message = format!("message {header} {{time}}\\n");
    #[rustfmt::skip]
    let table = [
        ("deaf",  EXCHANGE.to_owned(),                         ""),
        ("early", format!("{EXCHANGE}{message}"),              "before it was due"),
        ("vague", String::new(),                               "a tab did not compare its clock with ours"),
        ("alone", format!("{EXCHANGE}receiver 0 cut 1 ws\\n"), "room 0 has 2 tabs, not 1"),
    ];
    for (name, said, _) in &table {
        python(&sandbox, name, "client", &[]);
        let manifest = format!("{name}/subject.toml");
        change(
            &sandbox,
            &manifest,
            "speaks = [\"tcp\"]",
            "speaks = [\"ws\"]\nconversation = \"room\"",
        );
        let script = RECEIVERS.replace("SAID", said);
        fs::write(sandbox.path().join("subjects").join(name).join("client.py"), script).unwrap();
    }
    run(&sandbox, "subjects install --all").check(0, &[]);
    let names: Vec<String> = table.iter().map(|(name, ..)| format!("'{name}'")).collect();
    let text = format!(
        "question = 'x?'\nbaseline = 'relay'\nrounds = 1\nduration = '300ms'\npublish = '50/s'\nreceivers = 1\n\
         timeout = '1s'\n[[row]]\nname = 'relay'\nserver = 'embedded'\ntransport = 'ws'\nconversation = 'room'\n\
         [[row]]\nserver = 'embedded'\nclient = [{}]\ntransport = 'ws'\n",
        names.join(", ")
    );
    fs::write(sandbox.path().join("x.toml"), text).unwrap();
    let ended = run(&sandbox, "lab x.toml --json");
    ended.check_measured(&[]);
    let record = record_of(&ended.stdout);
    for (name, _, reason) in table {
        let is_it = |it: &&record::Block| {
            let client = record.plan.workloads[it.workload].client.as_ref();
            client.is_some_and(|client| client.name == name)
        };
        let block = record.blocks.iter().find(is_it).unwrap();
        let failed = block.failed.as_deref().unwrap_or_default();
        let is_as_expected = failed.contains(reason) && failed.is_empty() == reason.is_empty();
        assert!(is_as_expected, "{name}: {failed}");
        if reason.is_empty() {
            // It received the end mark, and nothing else.
            let published = block.deliveries.as_ref().unwrap().counts.published;
            let counts = block.tabs.as_ref().unwrap().counts;
            assert!(published > 0, "{block:?}");
            assert_eq!((counts.owed, counts.lost), (published, published), "{counts:?}");
        }
    }
    assert_nothing_runs_in(sandbox.path());
}

/// A client that joins nothing, and reports SAID about its one receiver.
const RECEIVERS: &str = r#"
import sys
print("ready script 1", flush=True)
while line := sys.stdin.readline():
    if line.startswith("receive"):
        print("receiving", flush=True)
    else:
        print("clock", flush=True)
        time = int(sys.stdin.readline().split()[1])
        print(f"receiver 0 ended 1000 websocket\nSAIDdone", flush=True)
"#;

/// A comparison of the clock of that client with ours.
const EXCHANGE: &str = "exchange_ns {time} {time} {time}\\n";

#[test]
fn the_labs_of_this_repository_name_subjects_that_there_are() {
    let sandbox = Sandbox::new();
    for name in [
        "published/accelbyte",
        "published/anycable-jitter",
        "published/cargomedia",
        "published/cargomedia-relay",
        "browser-receivers",
        "push",
        "published/emq-fanout",
        "published/kifi",
        "clients/websocket",
        "floor",
        "floor-push",
    ] {
        let file = repository().join(format!("experiments/{name}.toml"));
        // Nothing is installed there: only row zero and our own servers are left.
        let line = format!(
            "lab {} --quick --rounds 1 --block 50ms --only {} --subjects {} --installed {}",
            file.display(),
            if name == "floor" { "floor" } else { "embedded" },
            subjects().display(),
            sandbox.path().display()
        );
        let ended = run(&sandbox, &line);
        if name.ends_with("accelbyte") {
            // That lab has no server of ours.
            ended.check(2, &["it has nothing called `embedded`, which --only names"]);
        } else {
            ended.check_measured(&[]);
        }
    }
}

#[test]
fn a_new_subject_passes_its_checks_and_is_measured_at_once() {
    let sandbox = Sandbox::new();
    let mut rows = String::new();
    for (language, program) in [("python", "python3"), ("javascript", "node"), ("go", "go")] {
        if sandbox.other(program, "version").env("PATH", path()).output().is_err() {
            say_skipped(&format!("there is no {program}"));
            continue;
        }
        for role in ["server", "client"] {
            let name = format!("{language}-{role}");
            run(&sandbox, &format!("subjects new {name} --role {role} --language {language}"))
                .check(0, &["next: "]);
            run(&sandbox, &format!("subjects install {name}")).check(0, &[": installing"]);
            let checked = run(&sandbox, &format!("subjects check {name}"));
            checked.check(0, &[]);
            assert!(checked.stdout.contains(&format!("{name}: ok, ")), "{checked:?}");
            if name == "javascript-server" {
                // As the worked example shows it.
                let shown = checked.stdout.replace(&name, "my-ws");
                let page = include_str!("../../../../docs/SUBJECTS.md");
                assert!(page.contains(&format!("check my-ws\n{shown}```")), "{checked:?}");
            }
        }
        rows += &format!(
            "[[row]]\nserver = '{language}-server'\nclient = ['wirebench', '{language}-client']\ntransport = 'tcp'\n"
        );
    }
    let listed = run(&sandbox, "subjects list");
    listed.check(0, &[]);
    assert!(listed.stdout.starts_with("NAME"), "{listed:?}");
    if rows.is_empty() {
        return;
    }
    let record = measured(&sandbox, &rows, "--quick");
    assert!(
        record.blocks.iter().all(|block| block.failed.is_none() && block.counts.ok > 0),
        "{record:?}"
    );
    assert!(record.lab.unwrap().left_out.is_empty());
    assert_eq!(record.ended, Ended::Completed);
    run(&sandbox, "subjects new python-server --role server --language python")
        .check(2, &["already exists; take another name"]);
}

#[test]
fn a_manifest_with_errors_is_named_with_its_place_and_the_others_are_measured() {
    let sandbox = Sandbox::new();
    python(&sandbox, "good", "server", &[]);
    python(&sandbox, "bad", "server", &[]);
    change(&sandbox, "bad/subject.toml", "speaks =", "speeks =");
    run(&sandbox, "subjects install good").check(0, &[]);
    let place = "bad/subject.toml:10:1: ";
    run(&sandbox, "subjects list").check(13, &[place, "speeks", "speaks"]);
    run(&sandbox, "subjects install bad").check(15, &[place]);
    let ended = lab(&sandbox, "[[row]]\nserver = ['good', 'bad']\ntransport = 'tcp'\n", "");
    ended.check_measured(&["bad is left out", place]);
    assert!(ended.stdout.contains("left out: bad") || ended.stdout.contains("bad"), "{ended:?}");
    run(&sandbox, "subjects check god").check(2, &["god", "good"]);
}

#[test]
fn what_is_missing_is_named_with_what_brings_it_and_the_others_are_measured() {
    let sandbox = Sandbox::new();
    python(&sandbox, "good", "server", &[]);
    python(&sandbox, "needy", "server", &[]);
    change(
        &sandbox,
        "needy/subject.toml",
        "python3 = [\"python3\"]",
        "no-such-tool = [\"no-such-package\"]",
    );
    let installed = run(&sandbox, "subjects install --all");
    installed.check(13, &["needy: ", "no-such-tool", "apt-get install", "no-such-package"]);
    let record = measured(&sandbox, "[[row]]\nserver = ['good', 'needy']\ntransport = 'tcp'\n", "");
    assert_eq!(record.ended, Ended::Partial { reason: "left out: needy".to_owned() });
    let left_out = &record.lab.as_ref().unwrap().left_out;
    assert!(left_out[0].reason.contains("wirebench subjects install needy"), "{left_out:?}");
    assert_eq!(names_of(&record), ["tcp", "good tcp"]);
}

#[test]
fn a_server_that_misbehaves_is_failed_with_the_reason_and_the_others_are_measured() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let at_port = format!("HOST, {port}, backlog");
    #[rustfmt::skip]
    let table: [(&str, Changes<'_>, &str); 6] = [
        ("quitter", &[("async def main():", "raise SystemExit('no use')\nasync def main():")],      "no use"),
        ("garbage", &[("    print(f\"ready", "    print('Listening!', flush=True)\n    print(f\"ready")], "Listening!"),
        ("wrong",   &[("writer.write(data)", "writer.write(data[::-1].replace(b'a', b'b'))")],       "echo of"),
        ("squeeze", &[("HOST, PORT, backlog", &at_port)],                                            "is taken"),
        ("mortal",  &[("    owed = 0", "    owed, left = 0, 5"), ("            await writer.drain()", DIES)], "exit code 3"),
        ("chatty",  &[("            await writer.drain()", CHATTERS)],                               ""),
    ];
    let sandbox = Sandbox::new();
    python(&sandbox, "good", "server", &[]);
    for (name, changes, _) in table {
        python(&sandbox, name, "server", changes);
    }
    run(&sandbox, "subjects install --all").check(0, &[]);
    let all: Vec<String> = table.iter().map(|(name, ..)| format!("'{name}'")).collect();
    let rows = format!("[[row]]\nserver = ['good', {}]\ntransport = 'tcp'\n", all.join(", "));
    let record = measured(&sandbox, &rows, "");
    for (name, _, reason) in table {
        let index = index_of(&record, &format!("{name} tcp"));
        for block in record.blocks.iter().filter(|block| block.workload == index) {
            let failed = block.failed.as_deref().unwrap_or_default();
            assert!(
                failed.contains(reason) && failed.is_empty() == reason.is_empty(),
                "{name}: {block:?}"
            );
        }
    }
    let good = index_of(&record, "good tcp");
    let blocks = || record.blocks.iter().filter(|block| block.workload == good);
    assert!(blocks().all(|block| block.failed.is_none() && block.counts.ok > 0), "{record:?}");
    assert_nothing_runs_in(sandbox.path());
}

#[test]
fn a_server_that_is_never_ready_is_waited_for_as_long_as_was_said() {
    let sandbox = Sandbox::new();
    python(
        &sandbox,
        "silent",
        "server",
        &[("    print(f\"ready", "    str(f\"ready"), (", flush=True)", ")")],
    );
    run(&sandbox, "subjects install silent").check(0, &[]);
    let checked = run(&sandbox, "subjects check silent --ready-timeout 1s");
    checked.check(12, &[]);
    assert!(checked.stdout.contains("did not say `ready tcp://…` within 1 s"), "{checked:?}");
    assert_nothing_runs_in(sandbox.path());
}

#[test]
fn a_client_that_misbehaves_is_failed_with_the_reason() {
    #[rustfmt::skip]
    let table: [(&str, Changes<'_>, &str); 4] = [
        ("garbage", &[("        print(\"cpu_ns\", self.cpu)", "        print('cpu time', self.cpu)")],  "cpu time"),
        ("boaster", &[("print(\"ok\", len(", "print(\"ok\", 7 + len(")],                              "ok"),
        ("mortal",  &[("        print(\"cpu_ns\", self.cpu)", "        os._exit(3)")],                  "3"),
        ("stranger", &[("        print(\"measuring\", flush=True)", "        print(\"unsupported of course\", flush=True)\n        os.write(2, b'of course')\n        os._exit(127)")], "of course"),
    ];
    let sandbox = Sandbox::new();
    for (name, changes, _) in table {
        python(&sandbox, name, "client", changes);
    }
    run(&sandbox, "subjects install --all").check(0, &[]);
    let all: Vec<String> = table.iter().map(|(name, ..)| format!("'{name}'")).collect();
    let rows =
        format!("[[row]]\nserver = 'embedded'\nclient = [{}]\ntransport = 'tcp'\n", all.join(", "));
    let record = measured(&sandbox, &rows, "");
    for (name, _, reason) in table {
        let index = index_of(&record, &format!("{name} to embedded tcp"));
        for block in record.blocks.iter().filter(|block| block.workload == index) {
            let failed = block.failed.as_deref().unwrap_or_default();
            assert!(failed.contains(reason), "{name}: {failed:?}");
        }
    }
    assert_nothing_runs_in(sandbox.path());
}

#[test]
fn children_of_a_subject_are_ended_with_it_and_told_of() {
    let sandbox = Sandbox::new();
    let fork = "import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\nasync def main():";
    python(&sandbox, "parent", "server", &[("async def main():", fork)]);
    run(&sandbox, "subjects install parent").check(0, &[]);
    let record = measured(&sandbox, "[[row]]\nserver = 'parent'\ntransport = 'tcp'\n", "");
    assert!(record.blocks.iter().all(|block| block.failed.is_none()), "{record:?}");
    assert_nothing_runs_in(sandbox.path());
}

#[test]
fn an_interrupted_lab_leaves_nothing_running_and_goes_on_where_it_was() {
    for (signal, code) in
        [(Signal::INT, Some(130)), (Signal::TERM, Some(143)), (Signal::KILL, None)]
    {
        let sandbox = Sandbox::new();
        python(&sandbox, "server", "server", &[]);
        python(&sandbox, "client", "client", &[]);
        run(&sandbox, "subjects install --all").check(0, &[]);
        let rows = "[[row]]\nserver = ['server', 'embedded']\nclient = ['wirebench', 'client']\ntransport = 'tcp'\n";
        write_lab(&sandbox, rows);
        let line = "lab x.toml --rounds 6 --block 150ms -v";
        let mut lab = Running::start(command(&sandbox, line));
        lab.wait_for_word("block 3/30 ");
        lab.send(signal);
        let ended = lab.wait();
        assert_eq!(ended.code, code, "{ended:?}");
        assert_nothing_runs_in(sandbox.path());
        if let Some(code) = code {
            ended.check(code, &["run the same command again to continue"]);
            let [record] = &sandbox.records()[..] else { panic!("no record") };
            assert!(matches!(record.ended, Ended::Interrupted { .. }));
        }

        let again = run(&sandbox, line);
        again.check_measured(&["goes on where it was interrupted"]);
        let last = sandbox.records().into_iter().max_by_key(|record| record.blocks.len()).unwrap();
        assert_eq!((last.kind, last.blocks.len()), (Kind::Lab, 30));
        let left = fs::read_dir(sandbox.path().join(".wirebench/journals")).unwrap().count();
        assert_eq!(left, 0, "a lab that is done leaves no journal");
    }
}

#[test]
fn what_a_lab_shows_of_footprints_is_measured_once_and_anew_when_a_subject_has_changed() {
    let sandbox = Sandbox::new();
    python(&sandbox, "server", "server", &[]);
    let footprint_of = |options: &str| {
        run(&sandbox, "subjects install server").check(0, &[]);
        write_lab(&sandbox, "[[row]]\nserver = 'server'\ntransport = 'tcp'\n");
        let file = sandbox.path().join("x.toml");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("show = ['footprint']\n{text}")).unwrap();
        let ended = run(&sandbox, &format!("lab x.toml --json {options}"));
        ended.check_measured(&[]);
        let [footprint] = &record_of(&ended.stdout).lab.unwrap().footprints[..] else {
            panic!("one subject: {ended:?}");
        };
        (footprint.clone(), ended.stderr.contains("server: measuring its footprint"))
    };
    let is_unknown = |(footprint, is_weighed): (record::Footprint, bool)| {
        let reason = &footprint.missing["packages"];
        assert!(reason.contains("`wirebench footprint server`"), "{footprint:?}");
        footprint.packages.is_none() && !is_weighed
    };
    assert!(is_unknown(footprint_of("--quick")));
    let (measured, is_weighed) = footprint_of("");
    assert!(is_weighed && measured.packages.is_some(), "{measured:?}");
    for options in ["", "--quick"] {
        assert_eq!(footprint_of(options), (measured.clone(), false));
    }
    change(
        &sandbox,
        "server/server.py",
        "async def main():",
        "async def main():\n    # Not as it was.",
    );
    assert!(is_unknown(footprint_of("--quick")));
    run(&sandbox, "footprint server").check(0, &["server: measuring its footprint"]);
    assert!(footprint_of("--quick").0.packages.is_some());
}

#[test]
fn what_a_file_should_not_say_is_named_with_its_place() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path().join("subjects")).unwrap();
    #[rustfmt::skip]
    let table = [
        ("[[row]]\nserver = 'nobody'\ntransport = 'ws'\n",                  "x.toml:9:10: ", "nobody"),
        ("[[row]]\nserver = 'embedded'\ntransport = 'wss'\nbase = 'x'\n",   "x.toml:11:8: ", "no row is called `x`"),
        ("[[row]]\nserver = 'embedded'\ntransprot = 'ws'\n",                "x.toml:10:1: ", "unknown field `transprot`"),
        ("[[row]]\nserver = 'embedded'\ntransport = 'ws'\nsise = '5B'\n",   "x.toml:11:1: ", "`size`"),
        ("[[row]]\nserver = 'embedded'\ntransport = 'ws'\nsize = '5K'\n",   "x.toml:11:8: ", "did you mean `5KiB` or `5kB`?"),
        ("[[row]]\nserver = 'embedded'\ntransport = 'ws'\nbots = 5\nmethod = 'GET'\n", "embedded ws: ", "method: does not apply to ws://"),
    ];
    for (rows, place, what) in table {
        let ended = lab(&sandbox, rows, "");
        ended.check(2, &[place, what]);
        ended.check_no_result();
    }
    run(&sandbox, "lab none.toml").check(2, &["cannot read none.toml"]);
    assert_eq!(sandbox.records(), []);
}

#[test]
fn a_lab_is_exported_for_other_tools() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path().join("subjects")).unwrap();
    let rows = "[[row]]\nserver = 'embedded'\ntransport = 'ws'\n";
    let exports = "--export csv=x.csv --export markdown=x.md --export google-benchmark=x.json";
    lab(&sandbox, rows, exports).check_measured(&[]);
    let read = |name: &str| fs::read_to_string(sandbox.path().join(name)).unwrap();
    assert!(read("x.csv").contains("embedded ws"));
    assert!(read("x.md").contains("embedded ws"));
    assert!(read("x.json").contains("\"context\""));
    lab(&sandbox, rows, "--export xml=x").check(2, &["unknown format `xml`; use one of csv, "]);
    lab(&sandbox, rows, "--export csv=none/x.csv").check(74, &["cannot export to none/x.csv"]);
}

#[test]
fn subjects_and_experiments_travel_in_the_program_and_own_subjects_go_first() {
    let sandbox = Sandbox::new();
    let far = |line: &str| {
        let mut command = sandbox.command(line);
        command.env("HOME", sandbox.path().join("home"));
        Running::start(command).wait()
    };
    let listed = far("subjects list");
    listed.check(0, &[]);
    assert!(listed.stdout.contains("node-ws"), "{listed:?}");
    let data = sandbox.path().join("home/.local/share/wirebench");
    assert_eq!(fs::read_dir(&data).unwrap().count(), 1);

    let experiment = far("lab kifi --dry-run");
    experiment.check(0, &["left out: not installed; `wirebench subjects install"]);
    assert!(experiment.stdout.starts_with('{'), "{experiment:?}");
    far("lab kifu").check(2, &["cannot read kifu: No such file", "ladder, published/accelbyte"]);
    let unknown = far("subjects check nod-ws");
    unknown.check(2, &["no subject \"nod-ws\" in ", &data.display().to_string(), "`node-ws`"]);
    sandbox.run("subjects list").check(2, &["no folder `subjects` here", "WIREBENCH_DATA"]);

    fs::create_dir(sandbox.path().join("subjects")).unwrap();
    let own = far("subjects list");
    own.check(0, &[]);
    assert!(!own.stdout.contains("node-ws"), "{own:?}");
}

/// Creates a subject from the Python template with `changes`, each a text and its replacement.
fn python(sandbox: &Sandbox, name: &str, role: &str, changes: Changes<'_>) {
    run(sandbox, &format!("subjects new {name} --role {role} --language python")).check(0, &[]);
    for (from, to) in changes {
        change(sandbox, &format!("{name}/{role}.py"), from, to);
    }
}

fn change(sandbox: &Sandbox, file: &str, from: &str, to: &str) {
    let path = sandbox.path().join("subjects").join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file} has no {from:?}");
    fs::write(path, text.replace(from, to)).unwrap();
}

/// Runs a lab of these rows to its end.
fn lab(sandbox: &Sandbox, rows: &str, options: &str) -> How {
    write_lab(sandbox, rows);
    run(sandbox, &format!("lab x.toml {options}"))
}

fn write_lab(sandbox: &Sandbox, rows: &str) {
    let head = "question = 'x?'\nrounds = 2\nduration = '50ms'\n[[load]]\nname = 'l'\nconnections = 2\nsize = '16B'\n";
    fs::write(sandbox.path().join("x.toml"), format!("{head}{rows}")).unwrap();
}

/// The record of a lab of these rows.
fn measured(sandbox: &Sandbox, rows: &str, options: &str) -> RunRecord {
    let ended = lab(sandbox, rows, &format!("--json {options}"));
    ended.check_measured(&[]);
    record_of(&ended.stdout)
}

fn run(sandbox: &Sandbox, line: &str) -> How {
    Running::start(command(sandbox, line)).wait()
}

/// The program with a PATH to find other programs; it installs below the sandbox.
fn command(sandbox: &Sandbox, line: &str) -> Command {
    let mut command = sandbox.command(line);
    command.env("PATH", path()).env("HOME", std::env::var_os("HOME").unwrap_or_default());
    let folder = |name: &str| sandbox.path().join(name);
    command.env("WIREBENCH_SUBJECTS", folder("subjects"));
    command.env("WIREBENCH_INSTALLED", folder("installed"));
    command
}

fn path() -> std::ffi::OsString {
    std::env::var_os("PATH").unwrap()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn subjects() -> PathBuf {
    repository().join("subjects")
}

/// The names of all subjects in the repository.
fn all_subjects() -> Vec<String> {
    let catalogue = lab::Catalogue::read(&subjects()).unwrap();
    assert_eq!(catalogue.broken, []);
    catalogue.subjects.into_iter().map(|subject| subject.name).collect()
}

/// True if the subject holds any conversation.
fn talks(name: &str) -> bool {
    !conversations_of(name, |_| true).is_empty()
}

/// True for a client that receives in rooms, and sends nothing.
fn receives(name: &str) -> bool {
    lab::Catalogue::read(&subjects()).unwrap().find(name).unwrap().manifest.receives()
}

/// The names of the wanted conversations that the subject holds.
fn conversations_of(name: &str, is_wanted: impl Fn(&Conversation) -> bool) -> Vec<String> {
    let catalogue = lab::Catalogue::read(&subjects()).unwrap();
    let held = catalogue.find(name).unwrap().conversations.iter().map(|held| &held.conversation);
    held.filter(|held| is_wanted(held)).map(|held| held.name.clone()).collect()
}

/// True if this is the subject whose registry may be unreachable, and was; reports that.
fn is_skipped(name: &str, installed: &Path) -> bool {
    let skipped = name == "ratchet" && !installed.join(name).join("vendor").exists();
    if skipped {
        say_skipped("ratchet: Packagist not reached");
    }
    skipped
}

fn names_of(record: &RunRecord) -> Vec<&str> {
    record.plan.workloads.iter().map(record::Workload::name).collect()
}

fn index_of(record: &RunRecord, name: &str) -> usize {
    let names = names_of(record);
    names.iter().position(|it| *it == name).unwrap_or_else(|| panic!("no {name} in {names:?}"))
}

/// The record of an experiment of this repository, with its quick settings and the subjects in `installed`.
fn measured_quickly(sandbox: &Sandbox, file: &str, installed: &Path) -> RunRecord {
    let line = format!(
        "lab {} --quick --json --subjects {} --installed {}",
        repository().join(file).display(),
        subjects().display(),
        installed.display()
    );
    let ended = Running::start_with_patience(command(sandbox, &line), SMOKE_PATIENCE).wait();
    ended.check_measured(&[]);
    record_of(&ended.stdout)
}

/// Checks that no process works in a folder, after giving processes that are ending some time. Ignores those that still
/// have an owner, such as the lab of another test: a process that loses its owner becomes a child of another process.
fn assert_nothing_runs_in(folder: &Path) {
    let folder = folder.canonicalize().unwrap();
    let mut left = working_in(&folder);
    for _ in 0..LOOKS {
        if left.is_empty() {
            return;
        }
        pause();
        left = working_in(&folder);
    }
    assert_eq!(left, Vec::<String>::new());
}

/// The command lines of the processes whose directory is in `folder`, and that no command of this program owns.
fn working_in(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap() {
        let process = entry.unwrap().path();
        if fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
            && !is_ours(&process)
        {
            found.push(fs::read_to_string(process.join("cmdline")).unwrap_or_default());
        }
    }
    found
}

/// True for a process that a command of this program has started, and still owns.
fn is_ours(process: &Path) -> bool {
    let mut process = process.to_owned();
    loop {
        // The parent is the second word after the name, which is in parentheses and may contain any characters.
        let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        let Some(parent) = parent.and_then(|parent| parent.parse::<u32>().ok()) else {
            return false;
        };
        if parent == std::process::id() {
            return true;
        }
        process = Path::new("/proc").join(parent.to_string());
    }
}

/// Texts of a program, each with its replacement.
type Changes<'a> = &'a [(&'a str, &'a str)];

/// A server that ends after some messages.
const DIES: &str = "            await writer.drain()\n            left -= 1\n            if left == 0:\n                os._exit(3)";
/// A server that logs each message at length.
const CHATTERS: &str = "            await writer.drain()\n            os.write(2, b'a message came, and went\\n' * 100)";
/// A smoke run starts some fifty processes, virtual machines among them.
const SMOKE_PATIENCE: Duration = Duration::from_secs(600);
/// The most looks for processes that have not ended: for 10 s.
const LOOKS: usize = 2000;
/// The age up to which a message counts as on its way to a receiver that leaves.
const EDGE_NS: u64 = 250_000_000;
