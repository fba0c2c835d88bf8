//! Every command of README.md and of the pages in `docs`, run as a reader would run it: those in code blocks, and the
//! complete ones in sentences.
//!
//! A shell runs each command in a folder with the files that its page names. Servers of ours replace the addresses in
//! it, small numbers its numbers, and only one row of a lab is measured. Commands that cannot be carried out here are
//! listed with the reason ([`NOT_CARRIED_OUT`]); no other command is left out. If a sentence only names a command, or
//! leaves something open, the test only parses the arguments.

use crate::harness::{Ended, Running, Sandbox, Server, say_skipped};
use crate::peers::{self, Peer, Stream};
use crate::third_party::{installed, installed_subjects};
use rustix::process::Signal;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[test]
fn the_commands_of_the_readme_do_what_they_say() {
    assert!(check(&["README.md"]) >= 12);
}

#[test]
fn the_commands_about_comparing_do_what_they_say() {
    assert!(check(COMPARING) >= 15);
}

#[test]
fn the_commands_of_all_other_pages_do_what_they_say() {
    let pages = pages();
    let others = pages.iter().map(String::as_str).filter(|page| !COMPARING.contains(page));
    assert!(check(&others.collect::<Vec<_>>()) >= 30);
}

#[test]
fn what_sentences_leave_open_is_understood() {
    let mut commands = BTreeSet::new();
    for (page, text) in texts() {
        let open = mentioned(&text).into_iter().filter(|command| !is_whole(command));
        commands.extend(open.map(|command| (command, page.clone())));
    }
    assert!(commands.len() >= 40, "{commands:?}");
    let sandbox = Sandbox::new();
    for (command, page) in commands {
        let Some(arguments) = command.strip_prefix("wirebench") else { continue };
        let word = |word| OPEN.iter().find(|(open, _)| *open == word).map_or(word, |(_, it)| *it);
        let arguments = arguments.split_whitespace().map(word).collect::<Vec<_>>().join(" ");
        let ended = sandbox.run(&format!("{arguments} --help"));
        assert_eq!(ended.code, Some(0), "{page}: {command}: {ended:?}");
    }
}

#[test]
fn what_is_not_carried_out_stands_on_a_page() {
    let all: BTreeSet<String> = texts().iter().flat_map(|(_, text)| followed(text)).collect();
    for (command, reason) in NOT_CARRIED_OUT {
        assert!(all.contains(*command) || !is_built(command), "on no page: {command} ({reason})");
    }
}

/// README.md and the pages in `docs`, each with its text.
fn texts() -> Vec<(String, String)> {
    let mut all = pages();
    all.push("README.md".to_owned());
    let text = |page: &String| fs::read_to_string(repository().join(page)).unwrap();
    all.into_iter().map(|page| (page.clone(), text(&page))).collect()
}

/// The pages in `docs`, by their paths.
fn pages() -> Vec<String> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(repository().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        pages.extend(name.ends_with(".md").then(|| format!("docs/{name}")));
    }
    pages.sort();
    pages
}

/// The pages whose commands measure longest: several rounds, and records that are compared.
const COMPARING: &[&str] = &["docs/CI.md", "docs/COMPARING.md", "docs/HISTORY.md"];

/// Follows all commands of these pages and returns their number.
fn check(pages: &[&str]) -> usize {
    let mut count = 0;
    let mut failed = Vec::new();
    for page in pages {
        let text = fs::read_to_string(repository().join(page)).unwrap();
        let commands = followed(&text);
        if commands.is_empty() {
            continue;
        }
        let reader = Reader::of(&text);
        for command in &commands {
            // Every failure is reported, each with its own words.
            let followed = catch_unwind(AssertUnwindSafe(|| reader.follow(page, command)));
            failed.extend(followed.is_err().then(|| format!("{page}: {command}")));
        }
        count += commands.len();
    }
    assert!(failed.is_empty(), "{failed:#?}");
    count
}

/// All commands of a page to follow: those in blocks, and then any others in sentences.
fn followed(text: &str) -> Vec<String> {
    let mut all = commands(text);
    for command in mentioned(text).into_iter().filter(|command| is_whole(command)) {
        if !all.contains(&command) {
            all.push(command);
        }
    }
    all
}

/// The commands in the blocks of a page.
fn commands(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut in_fence = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        in_fence ^= line.starts_with("```");
        let Some(line) = in_fence.then_some(line).or_else(|| line.strip_prefix("    ")) else {
            continue;
        };
        let mut line = line.trim_start_matches("$ ").to_owned();
        while let Some(begun) = line.strip_suffix('\\') {
            line = format!("{} {}", begun.trim_end(), lines.next().unwrap_or_default().trim());
        }
        let line = line.split(" # ").next().unwrap_or_default();
        commands.extend(line.split(" && ").filter_map(|part| command(part.trim())));
    }
    commands.retain(|command| is_built(command));
    commands
}

/// The commands in the sentences and tables of a page.
fn mentioned(text: &str) -> Vec<String> {
    let mut in_fence = false;
    let mut prose = String::new();
    for line in text.lines() {
        in_fence ^= line.starts_with("```");
        if !in_fence && !line.starts_with("    ") {
            prose += line.trim_start();
            prose.push(' ');
        }
    }
    let mut mentioned = Vec::new();
    for program in PROGRAMS.iter().chain(&["wirebench"]) {
        for part in prose.split(&format!("`{program} ")).skip(1) {
            let line = part.split('`').next().unwrap_or_default();
            // Arguments in brackets are optional.
            let line = line.split(" [").next().unwrap_or_default();
            let line = format!("{program} {line}");
            mentioned.extend(line.split(" && ").filter_map(|part| command(part.trim())));
        }
    }
    mentioned.retain(|command| is_built(command));
    mentioned
}

/// True for a command in a sentence that can be carried out as written, and is more than the name of a command.
fn is_whole(command: &str) -> bool {
    let words: Vec<&str> = command.split(' ').collect();
    // `wirebench lab` is a name; so is `cargo`.
    let words_min = if words[0] == "wirebench" { 3 } else { 2 };
    words.len() >= words_min && !words.iter().any(|word| is_open(word)) && !NAMES.contains(&command)
}

/// True for a placeholder, such as a word in capitals.
fn is_open(word: &str) -> bool {
    let mut capitals = word.split(|letter: char| !letter.is_ascii_uppercase());
    capitals.any(|part| part.len() > 1) || OPEN.iter().any(|(open, _)| *open == word)
}

/// Names of commands that have several words, and need more arguments.
const NAMES: &[&str] =
    &["wirebench import google-benchmark", "wirebench run game://", "wirebench subjects check"];

/// Placeholders, each with a possible value.
#[rustfmt::skip]
const OPEN: &[(&str, &str)] = &[
    ("COMMAND",   "run"),
    ("FORMAT",    "csv"),
    ("NAME",      "my-ws"),
    ("TRANSPORT", "ws"),
    ("URL",       "ws://127.0.0.1:8080"),
    ("…",         ""),
];

/// True unless the command needs a feature that this build lacks.
fn is_built(command: &str) -> bool {
    let is_of = |word: &str| command.contains(word);
    (cfg!(feature = "fleet") || !["fleet", "agent ", "watch "].into_iter().any(is_of))
        && (cfg!(feature = "web") || !command.starts_with("wirebench ui"))
        && (cfg!(feature = "otlp") || !is_of("--otlp "))
}

/// A command line of this program, in its installed form, or of another known one; `None` for other text.
fn command(line: &str) -> Option<String> {
    ours(line).or_else(|| {
        // Environment variables may precede the program.
        let mut words = line.split_whitespace().skip_while(|word| word.contains('='));
        words.next().filter(|word| PROGRAMS.contains(word)).map(|_| line.to_owned())
    })
}

/// The third-party programs in the commands of pages.
#[rustfmt::skip]
const PROGRAMS: &[&str] = &[
    "ab", "apt-get", "benchstat", "cargo", "compare.py", "curl", "docker", "export", "git", "go", "hey", "kubectl",
    "node", "npm", "oha", "pip", "podman", "sqlite3", "sudo", "sysctl", "systemctl", "tcpkali", "websocket-bench", "wrk",
];

/// The third-party programs whose commands are carried out.
const FOLLOWED: &[&str] = &["benchstat", "compare.py", "curl", "sqlite3"];

/// A command line of this program, in its installed form; `None` for another program.
fn ours(line: &str) -> Option<String> {
    let rest = line.strip_prefix("wirebench").or_else(|| {
        let rest = line.strip_prefix("cargo run --release")?;
        let rest = rest.strip_prefix(" --features fleet").unwrap_or(rest);
        Some(rest.strip_prefix(" --").unwrap_or(rest))
    })?;
    (rest.is_empty() || rest.starts_with(' ')).then(|| format!("wirebench{rest}"))
}

/// Commands that are not carried out here, each with the reason. Remove a command that is no longer on any page.
#[rustfmt::skip]
const NOT_CARRIED_OUT: &[(&str, &str)] = &[
    ("ab -n 20000 -c 10 http://127.0.0.1:8080/",     "a third-party tool that the gate lacks"),
    ("hey -z 30s -c 100 -q 20 http://127.0.0.1:8080/", "the same"),
    ("oha -z 30s -c 100 -q 2000 --latency-correction http://127.0.0.1:8080/", "the same"),
    ("tcpkali -c100 -r200 -T30s -m 'ping' 127.0.0.1:7000", "the same"),
    ("websocket-bench broadcast ws://127.0.0.1:8080/ws --concurrent 4 --sample-size 100 --step-size 1000", "the same"),
    ("wrk -t2 -c100 -d30s --latency http://127.0.0.1:8080/", "the same"),
    ("wrk -t2 -c100 -d30s -R2000 --latency http://127.0.0.1:8080/", "the same"),
    ("apt-get update",                               "changes the machine"),
    ("cargo build --release --features otlp",        "these tests run on a build with that feature"),
    ("cargo build --release --features postgres",    "these tests run on a build with that feature"),
    ("cargo install --locked --path crates/wirebench", "minutes of compiling; `anywhere` tries the program alone"),
    ("cargo xtask bench fleet",                      "90 minutes of a quiet machine"),
    ("cargo xtask bench knee",                       "an hour of a quiet machine"),
    ("cargo xtask bench liars",                      "installs every load generator, and needs a quiet machine"),
    ("cargo xtask bench noise",                      "hours of a quiet machine"),
    ("cargo xtask bench noise --sockets",            "80 minutes of a quiet machine"),
    ("cargo xtask bench noise --sockets --only quiet", "7 minutes of a quiet machine"),
    ("cargo xtask bench noise --sockets --only quiet --truth tail", "15 minutes of a quiet machine"),
    ("cargo xtask bench pairs",                      "15 minutes of a quiet machine"),
    ("cargo xtask bench pairs --neighbours 1 --rounds 20", "takes as long"),
    ("cargo xtask check",                            "runs this test"),
    ("cargo xtask dist",                             "half an hour of compiling"),
    ("cargo xtask dist --try",                       "the same, and a system of its own"),
    ("cargo xtask dist --twice",                     "the same twice"),
    ("cargo xtask mutants",                          "a step of the gate beside this test"),
    ("cargo xtask tidy",                             "a step of the gate beside this test"),
    ("compare.py benchmarks before after",           "two third-party programs; the output of wirebench is compared"),
    ("export WIREBENCH_STORE=postgres://ada@db.example/bench?sslmode=verify-full", "another user's machine; `postgres` has a server"),
    ("node chat.js",                                 "a server, which `third_party` starts, as does this test"),
    ("npm ci",                                       "the gate does it earlier, to install the subject"),
    ("npm install ws@8.23.0",                        "asks a registry"),
    ("sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"", "changes the machine"),
    ("systemctl enable --now wirebench-serve@ws",    "changes the machine; `deploying` has the unit verified"),
    ("wirebench agent --join a0.join --allow-target chat.example", "one of many machines; `fleet` has agents on this one"),
    ("wirebench agent --join a0.join -H @fields",    "the same"),
    ("wirebench fleet status --fleet keys/controller.join", "the same"),
    ("wirebench watch --join w0.join --port 8080",   "the same"),
    ("wirebench ws://chat.example --rate 64k/s -c 10k --fleet keys/controller.join", "the same"),
    ("WIREBENCH_INSTALLED=~/.cache/wirebench/subjects cargo test -p wirebench --test it looking_subjects -- --ignored --nocapture", "minutes: connections are a second apart"),
];

/// The way to follow a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trial {
    /// It is started, and interrupted once it prints this.
    Begins(&'static str),
    /// It runs to its end.
    Ends,
    /// Its experiment is resolved: `--dry-run` is appended.
    Resolved,
    /// It serves, and is stopped once it has printed its address.
    Serves,
    /// It keeps running while its page is followed.
    Stays,
}

/// Parts of commands that are not simply followed to their ends; the first part that a command contains decides.
#[rustfmt::skip]
const TRIALS: &[(&str, Trial)] = &[
    ("wirebench fleet up",   Trial::Stays),
    ("wirebench selftest",   Trial::Begins("how late messages are sent")), // takes a minute, and has a test of its own
    ("--dry-run",            Trial::Resolved),
    ("fan-out.toml",         Trial::Resolved), // 35 minutes
    ("wirebench serve ",     Trial::Serves),
    ("wirebench ui",         Trial::Serves),
];

/// Values that let a command end soon, by their options.
#[rustfmt::skip]
const SHORT: &[(&str, &str)] = &[
    ("--bots",        "5"),
    ("--clients",     "20"),
    ("--concurrency", "4"),
    ("--connections", "4"),
    ("-c",            "4"),
    ("--duration",    "200ms"),
    ("-d",            "200ms"),
    ("--every",       "10ms"),
    ("--listen",      "127.0.0.1:0"),
    ("--receivers",   "4"),
    ("--rooms",       "2"),
    ("--rounds",      "6"),
    ("--storm",       "50ms"),
    ("--think",       "1ms"),
];

/// Servers for the addresses in a command: a part of the command, the arguments of `wirebench serve`, and the number,
/// from 0, of the line in which the server prints the address. The first part that a command contains decides.
#[rustfmt::skip]
const SERVERS: &[(&str, &str, usize)] = &[
    ("curl ",                   "relay",                                       0),
    ("--conversation json-rpc", "oracle ws --speak json-rpc",                  0),
    ("--conversation room",     "relay",                                       0),
    ("wirebench init ",         "oracle ws --speak json-rpc",                  0),
    ("--expect-body",           "http --reply {\"status\":\"ok\"}",            0),
    ("game://",                 "game --listen 127.0.0.1:0 --web 127.0.0.1:0", 0),
    ("game-ws://",              "game --listen 127.0.0.1:0 --web 127.0.0.1:0", 1),
    ("https://",                "https --ca-out ca.pem",                       0),
    ("wss://",                  "wss --ca-out ca.pem",                         0),
    ("http://",                 "http",                                        0),
    ("tcp://",                  "tcp",                                         0),
    ("--deflate",               "ws --deflate",                                0),
    ("ws://",                   "ws",                                          0),
];

/// A reader who follows a page in a folder of their own.
struct Reader {
    sandbox: Sandbox,
    /// The page.
    text: String,
    /// The server of `chat.toml`.
    _server: Server,
    /// The program that was started and keeps running.
    stays: RefCell<Option<Running>>,
}

impl Reader {
    /// Creates everything that the commands of a page name.
    fn of(page: &str) -> Self {
        let sandbox = Sandbox::new();
        let server = Server::start(&sandbox, "ws");
        let chat = match page.contains("--conversation ./chat.toml") {
            true => {
                let page = repository().join("docs/CONVERSATIONS.md");
                block(&fs::read_to_string(page).unwrap(), "client % 1000").unwrap().to_owned()
            }
            false => EXPERIMENT.replace("URL", &server.url),
        };
        let stays = RefCell::default();
        let reader = Self { sandbox, text: page.to_owned(), _server: server, stays };
        reader.write("chat.toml", &chat);
        reader.write("x.toml", &chat);
        reader.write("relay.toml", block(page, "[publishers]").unwrap_or_default());
        let python = page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next());
        reader.write("publish.py", python.unwrap_or_default());
        // Its template speaks TCP, not what the steps of the page turn it into.
        let mine = block(page, "How does mine do?").unwrap_or_default();
        reader.write("mine.toml", &mine.replace("transport = \"ws\"", "transport = \"tcp\""));
        let mut restart = block(page, "restart = ").unwrap_or_default().to_owned();
        for (long, short) in SHORT_RESTART {
            restart = restart.replace(long, short);
        }
        reader.write("restart.toml", &restart);
        symlink(repository().join("experiments"), reader.sandbox.path().join("experiments"))
            .unwrap();
        reader.write("order.json", ORDER);
        reader.write("token", "X-Token: secret");
        let program = env!("CARGO_BIN_EXE_wirebench");
        let start = format!("#!/bin/sh\nexec '{program}' serve ws --listen 127.0.0.1:$2\n");
        for server in ["old", "new", "main/server", "change/server"] {
            if page.contains(&format!("'./{server} ")) {
                let file = reader.write(server, &start);
                fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        let programs = reader.sandbox.path().join("bin");
        fs::create_dir(&programs).unwrap();
        symlink(program, programs.join("wirebench")).unwrap();
        for (name, folder) in READERS {
            let is_named = page.contains(&format!("    {name} "));
            if let Some(start) = is_named.then(|| start_of(folder)).flatten() {
                let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", start.display());
                let file = reader.write(&format!("bin/{name}"), &script);
                fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        if page.contains("wirebench footprint cpp-") {
            for name in ["own-server", "own-client"] {
                let role = name.trim_start_matches("own-");
                let new = format!("wirebench subjects new {name} --role {role} --language python");
                reader.run(&new).check(0, &[]);
            }
        }
        for record in ["before.json", "after.json", "3f9a", "81c0"] {
            if page.contains(&format!(" {record}")) {
                let file = if record.ends_with(".json") { record } else { "kept.json" };
                reader.run(&format!("wirebench run chat.toml -o {file}")).check_measured(&[]);
            }
        }
        reader
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.sandbox.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }

    fn follow(&self, page: &str, command: &str) {
        if NOT_CARRIED_OUT.iter().any(|(known, _)| *known == command) {
            return;
        }
        let program = command.split(' ').next().unwrap_or_default();
        assert!(
            program == "wirebench" || FOLLOWED.contains(&program),
            "{page}: {command}: carry it out here, or say in NOT_CARRIED_OUT why it is not"
        );
        if let Some(missing) = self.missing(command) {
            say_skipped(&format!("{page}: {command}: {missing}"));
            if command.starts_with("wirebench") {
                let ended = self.run(&format!("{command} --help"));
                assert_eq!(ended.code, Some(0), "{page}: {command}: {ended:?}");
            }
            return;
        }
        if command.contains("--recover") {
            let mut killed =
                Running::start(self.command("wirebench run chat.toml --rounds 100 -v"));
            killed.wait_for_word("block 3/");
            killed.send(Signal::KILL);
        }
        if command.contains(" --fleet ") && self.stays.borrow().is_none() {
            self.stay("wirebench fleet up --local 2");
        }
        let trial = TRIALS.iter().find(|(part, _)| command.contains(part));
        let trial = trial.map_or(Trial::Ends, |(_, trial)| *trial);
        let short = self.with_names(&short(command));
        match trial {
            Trial::Begins(word) => {
                let mut begun = Running::start(self.command(&short));
                begun.wait_for_word(word);
                begun.send(Signal::INT);
                let ended = begun.wait();
                assert_eq!(ended.code, Some(130), "{page}: {command}: {ended:?}");
            }
            Trial::Stays => self.stay(&short),
            Trial::Resolved => {
                let dry = if short.contains("--dry-run") { "" } else { "--dry-run" };
                let ended = self.run(&format!("{short} {dry}"));
                assert_eq!(ended.code, Some(0), "{page}: {command}: {ended:?}");
                assert!(ended.stdout.starts_with('{'), "{page}: {command}: {ended:?}");
            }
            Trial::Serves => {
                let mut server = Running::start(self.command(&short));
                let ready = server.line();
                assert!(ready.contains("://127.0.0.1:"), "{page}: {command}: {ready}");
                let mut said = vec![form(&ready)];
                let shown = self.answer_to(command);
                said.resize_with(shown.len().max(1), || form(&server.line()));
                let shown: Vec<String> = shown.into_iter().map(form).collect();
                assert!(shown.is_empty() || said == shown, "{page}: {command}: {said:?}");
                server.send(Signal::INT);
                let ended = server.wait();
                assert_eq!(ended.code, Some(0), "{page}: {command}: {ended:?}");
            }
            Trial::Ends => {
                let (started, _servers) = self.with_servers(&short);
                let ended = self.run(&started);
                let codes: &[i32] = if measures(command) {
                    // On a busy machine a measurement may be invalid, or a limit not met.
                    &[0, 10, 11, 12, 13]
                } else if command.starts_with("curl ") {
                    &[0, CURL_TIMED_OUT]
                } else {
                    &[0, 12]
                };
                // Agents that begin too late have measured nothing.
                let is_late = command.contains(" --fleet ") && ended.code == Some(15);
                let may_be_busy = ended.stderr.contains(INVALID_BASELINE) || is_late;
                let is_fine = ended.code.is_some_and(|code| codes.contains(&code));
                assert!(is_fine || may_be_busy, "{page}: {command}: {started}: {ended:?}");
                let has_record = ended.stderr.contains("record: ");
                assert!(has_record || may_be_busy || !measures(command), "{command}: {ended:?}");
            }
        }
    }

    /// The reason why this machine cannot carry out a command, if there is one.
    fn missing(&self, command: &str) -> Option<String> {
        let program = command.split_whitespace().next().unwrap_or_default();
        let is_there =
            |program: &str| self.run(&format!("sh -c 'command -v {program}'")).code == Some(0);
        let lacks = |program: &str| Some(format!("there is no {program}"));
        if !is_there(program) {
            return lacks(program);
        }
        if command.contains("--language javascript") || command.contains(" my-ws") {
            return lacks("node").filter(|_| !is_there("node"));
        }
        if command.contains(" --fleet ") || command.starts_with("wirebench fleet up") {
            return lacks("nats-server").filter(|_| start_of("nats-server").is_none());
        }
        let row = if chats(command) { Some(CHAT) } else { row(command) };
        let row = row.filter(|row| *row != OURS)?;
        let known = SUBJECTS.iter().find(|(known, _)| *known == row);
        let (_, needed) =
            known.unwrap_or_else(|| panic!("{command}: say in SUBJECTS what {row} needs"));
        // Nothing is installed here: other tests use these folders meanwhile.
        let folder = installed_subjects();
        let is_there = |name| folder.as_ref().is_some_and(|folder| folder.join(name).exists());
        let missing = needed.iter().find(|name| !is_there(**name))?;
        Some(format!("{missing} is not installed"))
    }

    /// Starts a program that keeps running, and waits until it is ready.
    fn stay(&self, command: &str) {
        let mut started = Running::start(self.command(command));
        started.wait_for_line("next: ");
        *self.stays.borrow_mut() = Some(started);
    }

    /// The lines that the page has below the prompt with this command.
    fn answer_to(&self, command: &str) -> Vec<&str> {
        let mut lines = self.text.lines();
        lines.find(|line| line.trim_start().strip_prefix("$ ") == Some(command));
        lines.map_while(|line| line.strip_prefix("    ")).collect()
    }

    /// The command, with the invented names of its page replaced by what exists in this folder.
    fn with_names(&self, command: &str) -> String {
        let mut command =
            command.replace("10k bots", "10 bots").replace("/etc/bash_completion.d/", "./");
        for (other, own) in OWN {
            command = command.replace(other, own);
        }
        if command.contains("3f9a") || command.contains("81c0") {
            let list = self.run("wirebench history --json").stdout;
            let list: Vec<Value> = serde_json::from_str(&list).unwrap();
            let id = |index: usize| list[index]["id"].as_str().unwrap();
            command = command.replace("3f9a", id(1)).replace("81c0", id(0));
        }
        if command.contains("/RECORD.json") {
            let records = fs::read_dir(self.sandbox.path().join(".wirebench/records")).unwrap();
            let mut names = records.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let name = names.find(|name| name.ends_with(".json")).unwrap();
            command = command.replace("RECORD.json", &name);
        }
        command
    }

    /// The command with the addresses of servers that listen until they are dropped.
    fn with_servers(&self, command: &str) -> (String, Vec<Server>) {
        let mut servers = Vec::new();
        let mut changed = command.to_owned();
        if command.contains("--conversation ./relay.toml") {
            let [receivers, publishers] = peers::relay();
            changed = changed.replace("sockjs://127.0.0.1:8090", &receivers.url("sockjs"));
            return (changed.replace("http://127.0.0.1:8080", &publishers.url("http")), servers);
        }
        let (measured, _) = command.split_once(" --otlp ").unwrap_or((command, ""));
        let known = SERVERS.iter().find(|(part, ..)| measured.contains(part));
        for address in addresses(command) {
            if command.contains(&format!("--otlp http://{address}")) {
                // A collector that accepts everything with empty responses.
                let collector = Server::start(&self.sandbox, "http --reply=");
                let (_, place) = collector.url.split_once("://").unwrap();
                changed = changed.replace(address, place.trim_end_matches('/'));
                servers.push(collector);
                continue;
            }
            if let Some(url) = self.other(command) {
                changed = changed.replace(address, url.split_once("://").unwrap().1);
                continue;
            }
            let (_, line, skipped) = known.unwrap_or_else(|| panic!("no server for {command}"));
            let mut server = Server::start(&self.sandbox, line);
            for _ in 0..*skipped {
                server.url = server.process.line().trim().trim_start_matches("ready ").to_owned();
            }
            let (_, rest) = server.url.split_once("://").unwrap();
            changed = changed.replace(address, rest.split('/').next().unwrap());
            servers.push(server);
        }
        (changed, servers)
    }

    /// The URL of a server other than `wirebench serve`, if a command needs one.
    fn other(&self, command: &str) -> Option<String> {
        if command.contains("--expect-status 201") {
            return Some(Peer::start(|stream, _| take_orders(stream)).url("http"));
        }
        if !chats(command) {
            return None;
        }
        let folder = installed_subjects()?.join(CHAT);
        let mut chat = Command::new("node");
        chat.arg("chat.js").current_dir(folder);
        chat.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut chat = Running::start(chat);
        let port = chat.line();
        // It keeps running until the next one.
        *self.stays.borrow_mut() = Some(chat);
        Some(format!("ws://127.0.0.1:{}", port.trim()))
    }

    fn command(&self, line: &str) -> Command {
        let mut shell = self.sandbox.other("/bin/sh", "-c");
        shell.arg(format!("exec {line}"));
        let folder = |name: &str| self.sandbox.path().join(name);
        let mut path = folder("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        shell.env("PATH", path);
        shell.env("HOME", folder("home"));
        // Labs use the subjects of this repository, except `mine.toml`. Everything else uses the subjects that the page
        // creates, or else those in the program.
        if line.starts_with("wirebench lab") && !line.contains("mine.toml") {
            shell.env("WIREBENCH_SUBJECTS", repository().join("subjects"));
        }
        let others = row(line).filter(|row| *row != OURS).and_then(|_| installed_subjects());
        shell.env("WIREBENCH_INSTALLED", others.unwrap_or_else(|| folder("installed")));
        if line.contains("fleet up") {
            shell.envs(start_of("nats-server").map(|start| ("WIREBENCH_NATS_SERVER", start)));
        }
        shell
    }

    fn run(&self, line: &str) -> Ended {
        Running::start(self.command(line)).wait()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(stays) = self.stays.take() {
            stays.send(Signal::INT);
            stays.wait();
        }
    }
}

/// The third-party program called `name`, if it is installed.
fn start_of(name: &str) -> Option<PathBuf> {
    installed(name).map(|folder| folder.join("start")).filter(|start| start.exists())
}

/// True if the command talks to the chat server of the page on conversations.
fn chats(command: &str) -> bool {
    command.contains(" --conversation ./chat.toml") && !command.contains("--dry-run")
}

/// Answers each order with "created".
fn take_orders(stream: &mut Stream) -> io::Result<()> {
    loop {
        peers::head(stream)?;
        stream.read_exact(&mut [0; ORDER.len()])?;
        stream.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")?;
    }
}

/// The row of a lab to measure; `None` for another command.
fn row(command: &str) -> Option<&str> {
    let file = command.strip_prefix("wirebench lab ")?;
    if let Some((_, named)) = command.split_once(" --only ") {
        return named.split(' ').next();
    }
    let known = ROWS.iter().find(|(part, _)| file.contains(part));
    Some(known.map_or(OURS, |(_, row)| row))
}

/// The rows to measure of labs in which every row has third-party programs, by a part of the lab's name.
const ROWS: &[(&str, &str)] = &[
    ("accelbyte", "cpp-raw"),
    ("browser-receivers", TABS),
    ("cargomedia-relay", "redis"),
    ("conversations", CHAT),
];
/// The row to measure of all other labs.
const OURS: &str = "embedded";
/// The subject with the chat server.
const CHAT: &str = "node-ws";
/// A row with tabs of a browser.
const TABS: &str = "WebSocket";

/// The subjects that third-party rows need.
const SUBJECTS: &[(&str, &[&str])] = &[
    ("cpp-raw", &["cpp-raw", "nginx", "simple-websocket-server"]),
    ("go-gorilla-client", &["go-gorilla-client", "simple-websocket-server"]),
    (CHAT, &[CHAT]),
    ("redis", &["redis"]),
    (TABS, &["chromium-push"]),
];

/// Programs that read what this one writes, and the folders in which they are installed.
const READERS: &[(&str, &str)] = &[("benchstat", "benchstat"), ("compare.py", "compare-py")];

/// Names in commands that do not exist here, and their replacements.
const OWN: &[(&str, &str)] = &[
    ("chat.example", "127.0.0.1:8080"),
    ("--fleet controller.join", "--fleet .wirebench/fleet.join"),
    ("footprint cpp-cpprest cpp-libcurl", "footprint own-server own-client"),
];

/// Numbers of the file about a restart, and small ones to replace them.
const SHORT_RESTART: &[(&str, &str)] = &[
    ("receivers = 1000", "receivers = 4"),
    ("duration = \"30s\"", "duration = \"2s\""),
    ("restart = \"3s\"", "restart = \"200ms\""),
    ("rounds = 6", "rounds = 1"),
];

/// The exit code of curl when its time is over: a stream of events has no end.
const CURL_TIMED_OUT: i32 = 28;

/// An order.
const ORDER: &str = "{}";

/// An experiment of one server, with a limit that every machine meets.
const EXPERIMENT: &str = "require = 'p50 < 60s'\nrounds = 6\nduration = '200ms'\nwarm-up = '0s'\n\
    connections = 4\n[[row]]\nurl = 'URL'\n";

/// Words of the error about a baseline that a busy machine has made invalid.
const INVALID_BASELINE: &str = "is invalid, so nothing can be compared with it";

/// The first block of TOML with `word` in it.
fn block<'a>(page: &'a str, word: &str) -> Option<&'a str> {
    let mut blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.find(|block| block.contains(word))
}

/// The command with small numbers, and with an end if it has none.
fn short(command: &str) -> String {
    if command.starts_with("curl ") {
        return format!("{command} --fail --max-time 0.5");
    }
    let mut words: Vec<&str> = Vec::new();
    let mut value = None;
    for word in command.split(' ') {
        words.push(value.take().unwrap_or(word));
        value = SHORT.iter().find(|(option, _)| *option == word).map(|(_, value)| *value);
    }
    let has = |option: &str| words.contains(&option);
    let mut more = Vec::new();
    let only = row(command).map(|row| format!("--only {row}"));
    if command == "wirebench" {
        more.push("--rounds 1 --block 1ms -c 1");
    } else if let Some(only) = &only {
        more.push("--rounds 1");
        // A storm comes at a set time, which so short a block would not reach.
        more.extend((!command.contains("-faults")).then_some("--block 50ms"));
        more.extend((!has("--quick")).then_some("--quick"));
        more.extend((!has("--only") && !command.contains("mine.toml")).then_some(only.as_str()));
    } else if command == "wirebench serve game" {
        more.push("--listen 127.0.0.1:0 --web 127.0.0.1:0");
    } else if measures(command) && !words.iter().any(|word| is_experiment(word)) {
        if !has("--clients") && !has("--duration") && !has("-d") {
            // A block of a sweep has a hundred messages.
            more.push(if has("receivers") { "-d 2s" } else { "-d 200ms" });
        }
        if !has("--clients") && !has("--warm-up") {
            more.push("--warm-up 0s");
        }
        if has("sweep") {
            more.push("--quick --to 200 --budget 5s");
            if !has("receivers") {
                more.push("--every 50ms");
            }
        } else if has("--bots") && !has("--every") {
            more.push("--every 10ms");
        }
        if has("--until") {
            more.push("--rounds 10");
        } else if has("ab") {
            more.push("--rounds 6");
        }
    }
    [words, more].concat().join(" ")
}

/// True for the file of an experiment; a conversation's is written with its folder.
fn is_experiment(word: &str) -> bool {
    word.ends_with(".toml") && !word.starts_with("./")
}

/// True if the command ends with a record.
fn measures(command: &str) -> bool {
    command.starts_with("wirebench")
        && command.split(' ').nth(1).is_none_or(|word| {
            word.contains("://") || ["ab", "gate", "lab", "run", "sweep"].contains(&word)
        })
}

/// The loopback addresses in a command.
fn addresses(command: &str) -> BTreeSet<&str> {
    let starts = command.match_indices("127.0.0.1:");
    let address = |(at, start): (usize, &str)| {
        let rest = &command[at + start.len()..];
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        &command[at..at + start.len() + digits]
    };
    starts.map(address).collect()
}

/// Replaces all numbers in `text` with `#`, including hexadecimal ones and names of runs of a fleet.
pub(crate) fn form(text: &str) -> String {
    let mut form = String::new();
    for part in text.trim_end().split_inclusive(|letter: char| !letter.is_ascii_alphanumeric()) {
        let word = part.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
        let digits = word.strip_prefix('r').unwrap_or(word);
        let is_hexadecimal = digits.bytes().all(|letter| letter.is_ascii_hexdigit());
        let is_number = is_hexadecimal && word.contains(|letter: char| letter.is_ascii_digit());
        form += if is_number { "#" } else { word };
        form += &part[word.len()..];
    }
    form
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
