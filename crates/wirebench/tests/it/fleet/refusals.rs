//! Permissions that a member of a fleet lacks: each is named at once.
//!
//! No time-out has these words: if nobody answers, a member says that there is no stream or no agent, or nothing.

use super::{Coordination, nats_server};
use crate::harness::{Running, Sandbox};
use crate::namespace::Namespace;
use std::fs;
use std::io::Write as _;

#[test]
fn who_lacks_a_permission_is_told_which_one_and_what_to_look_at() {
    if nats_server().is_none() {
        return;
    }
    let network = Some(Namespace::enter());
    let members = "--agents 8 --watch 7";
    let coordination =
        Coordination::with(("nats", "127.0.0.1"), network, members, |sandbox, address, users| {
            let users = ["a0 a1 a2 a3 a4 a5 a6 a7", "w0 w1 w2 w3 w4 w5 w6"]
                .iter()
                .flat_map(|names| names.split(' '))
                .fold(users.to_owned(), |users, name| {
                    let (list, subject) = lacks(name);
                    without(&users, name, (list, &subject))
                });
            let mut entries = String::new();
            for (index, (lacking, _)) in OF_CONTROLLERS.iter().enumerate() {
                let keys = format!("fleet keys --agents 1 --url nats://{address} c{index}");
                sandbox.run(&keys).check(0, &[]);
                let path = sandbox.path().join(format!("c{index}/users.conf"));
                let own = fs::read_to_string(path).unwrap();
                entries += &without(entry(&own, "controller"), "controller", *lacking);
            }
            users.replace("users: [\n", &format!("users: [\n{entries}"))
        });
    let Some(coordination) = coordination else { return };
    let sandbox = &coordination.sandbox;
    let port = coordination.target.url.rsplit(':').next().unwrap().trim_end_matches('/');
    let start = |name: &str| {
        let task = match name.starts_with('w') {
            true => format!("watch --port {port}"),
            false => "agent".to_owned(),
        };
        start(sandbox, &format!("{task} --join keys/{name}.join --state {name}"))
    };

    // Those that cannot do without the permission end.
    let names = ["a0", "a1", "a2", "a3", "w0", "w1", "w2", "w3"];
    let ends = names.map(|name| (name, start(name)));
    for (name, running) in ends {
        let refused = refused_at_the_start(name);
        let says = format!("refuses {name}: ");
        let code = if name.ends_with(['0', '1']) { 15 } else { 2 };
        let remedy =
            "is the join file the one for this name and task, and users.conf the one that was";
        running.wait().check(code, &[&refused, &says, remedy]);
    }

    // The others miss it in a run.
    let names = ["a4", "a5", "a6", "a7", "w4", "w5", "w6"];
    let mut members = names.map(|name| (name, start(name)));
    members.iter_mut().for_each(|(_, member)| drop(member.wait_for_word("is connected")));
    let url = &coordination.target.url;
    let load = "--rate 120/s -c 6 -d 1500ms --warm-up 0s";
    let join = "--fleet keys/controller.join";
    let mut run = self::start(sandbox, &format!("run {url} {load} --agents 3 {join}"));
    let told = run.wait_for_word("continues it elsewhere");
    let name = told.split_whitespace().nth(1).unwrap().to_owned();
    run.wait_for_word("block 0-0 begins");
    // A member reads a slot again if somebody else has written it first.
    let mut owner = coordination.owner(&[]);
    for agent in ["a5", "w5"] {
        let subject = format!("wb.log.{name}.slot.0-0.{agent}");
        write!(owner.get_mut(), "PUB {subject} 2\r\n{{}}\r\n").unwrap();
    }
    for (member, running) in &mut members {
        let words = match &member[1..] {
            "4" | "5" => {
                format!("the server refuses wb.log.{name}.slot.0-0.{member} with these credentials")
            }
            "6" => "Publish to \"_INBOX_controller.".to_owned(),
            _ => format!("Publish to \"wb.live.{member}\": its seconds are not shown"),
        };
        let told = running.wait_for_word(&words);
        assert_eq!(told.contains("its answers are lost"), member.ends_with('6'), "{told}");
    }
    drop(run);

    // Controllers.
    let started = OF_CONTROLLERS.iter().enumerate().flat_map(|(index, (_, commands))| {
        let commands = commands.iter().filter(|(line, ..)| *line != AFTER);
        commands.map(move |(line, code, words)| (index, *line, *code, *words))
    });
    let command = |index: usize, line: &str| {
        let line = line.replace("RUN", &name).replace("URL", url);
        self::start(sandbox, &format!("{line} --fleet c{index}/controller.join"))
    };
    let started: Vec<_> =
        started.map(|(index, line, code, words)| (command(index, line), code, words)).collect();
    for (running, code, words) in started {
        let words = words.replace("RUN", &name);
        running.wait().check(code, &[&words]);
    }
    drop(members);
    let deleted = coordination.asked("$JS.API.STREAM.DELETE.WB", "");
    assert_eq!(deleted["success"], true, "{deleted}");
    let index = OF_CONTROLLERS.iter().position(|(_, all)| all[0].0 == AFTER).unwrap();
    let (_, code, words) = OF_CONTROLLERS[index].1[0];
    command(index, "fleet status").wait().check(code, &[words]);
}

/// The permission that each controller lacks, and its commands with exit codes and words: RUN is the run in the log,
/// and URL the target.
const OF_CONTROLLERS: [((&str, &str), &[Refused]); 7] = [
    (
        ("publish", "wb.>"),
        &[
            ("run URL -d 200ms", 15, ".plan with these credentials"),
            ("fleet stop RUN", 15, "Publish to \"wb.lead.RUN\""),
        ],
    ),
    (
        ("publish", "$JS.API.DIRECT.GET.WB"),
        &[("run URL -d 200ms", 15, "no permission to publish to \"$JS.API.DIRECT.GET.WB\"")],
    ),
    (
        ("publish", "$JS.API.DIRECT.GET.WB.>"),
        &[
            ("fleet resume RUN", 2, "refuses wb.log.RUN.plan with these credentials"),
            ("fleet stop RUN", 2, "refuses wb.log.RUN.plan with these credentials"),
        ],
    ),
    (
        ("publish", "$JS.API.STREAM.INFO.WB"),
        &[("fleet status", 2, "Publish to \"$JS.API.STREAM.INFO.WB\"")],
    ),
    (
        ("publish", "$JS.API.STREAM.CREATE.WB"),
        &[(AFTER, 2, "Publish to \"$JS.API.STREAM.CREATE.WB\"")],
    ),
    (
        ("subscribe", "_INBOX_controller.>"),
        &[("fleet status", 2, "Subscription to \"_INBOX_controller.")],
    ),
    (
        ("subscribe", "wb.>"),
        &[
            ("run URL -d 200ms", 15, "Subscription to \"wb.hb.*\""),
            ("fleet status", 15, "Subscription to \"wb.hb.*\""),
            ("fleet resume RUN", 15, "Subscription to \"wb.hb.*\""),
            ("fleet stop RUN", 15, "Subscription to \"wb.hb.*\""),
        ],
    ),
];

/// A command, its exit code, and words of its message.
type Refused = (&'static str, i32, &'static str);

/// A `fleet status` once the log is gone.
const AFTER: &str = "fleet status, without a log";

/// The permission that this agent or watch lacks.
fn lacks(name: &str) -> (&'static str, String) {
    match &name[1..] {
        "0" => ("publish", format!("wb.hb.{name}")),
        "1" => ("subscribe", format!("wb.cmd.{name}.>")),
        "2" => ("subscribe", format!("_INBOX_{name}.>")),
        "3" => ("publish", "$JS.API.DIRECT.GET.WB.wb.log.*.plan".to_owned()),
        "4" => ("publish", format!("wb.log.*.slot.*.{name}")),
        "5" => ("publish", format!("$JS.API.DIRECT.GET.WB.wb.log.*.slot.*.{name}")),
        "6" => ("allow_responses", String::new()),
        _ => ("publish", format!("wb.live.{name}")),
    }
}

/// The server's words for refusing what one of the first four needs when it starts.
fn refused_at_the_start(name: &str) -> String {
    match &name[1..] {
        "0" => format!("Publish to \"wb.hb.{name}\""),
        "1" => format!("Subscription to \"wb.cmd.{name}."),
        "2" => format!("Subscription to \"_INBOX_{name}."),
        _ => "Publish to \"$JS.API.DIRECT.GET.WB.wb.log.none.plan\"".to_owned(),
    }
}

/// The entry of a member.
fn entry<'a>(users: &'a str, name: &str) -> &'a str {
    let from = &users[users.find(&format!("  {{\n    # {name}\n")).unwrap()..];
    let end = "\n  }\n";
    &from[..from.find(end).unwrap() + end.len()]
}

/// The users, with one permission of a member removed.
fn without(users: &str, name: &str, (list, subject): (&str, &str)) -> String {
    let entry = entry(users, name);
    let lines =
        entry.lines().map(|line| match line.trim_start().starts_with(&format!("{list}: ")) {
            true if subject.is_empty() => String::new(),
            true => line.replace(&format!("\"{subject}\""), "\"none\"") + "\n",
            false => line.to_owned() + "\n",
        });
    let changed: String = lines.collect();
    assert_ne!(changed, entry, "{name} has {list} {subject}");
    users.replace(entry, &changed)
}

fn start(sandbox: &Sandbox, line: &str) -> Running {
    Running::start(sandbox.command(line))
}
