//! Every command in a block of README.md and of the pages in `docs`, followed as a reader would follow it; of those in
//! sentences the arguments are read.
//!
//! A command is given to a shell, in a folder with the files that its page names. The addresses in it become those of
//! servers of ours, and its numbers become small. What needs machines, packages or servers of others is not carried
//! out: its experiment is resolved, or its arguments are read.

use crate::harness::{Ended, Running, Sandbox, Server};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

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
fn the_commands_in_sentences_are_understood() {
    let mut commands = BTreeSet::new();
    for page in pages().iter().map(String::as_str).chain(["README.md"]) {
        let text = fs::read_to_string(repository().join(page)).unwrap();
        commands.extend(mentioned(&text).into_iter().map(|command| (command, page.to_owned())));
    }
    assert!(commands.len() >= 60, "{commands:?}");
    let sandbox = Sandbox::new();
    for (command, page) in commands {
        let ended = sandbox.run(&format!("{command} --help"));
        assert_eq!(ended.code, Some(0), "{page}: {command}: {ended:?}");
    }
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

/// Follows all commands of these pages; gives their number.
fn check(pages: &[&str]) -> usize {
    let mut count = 0;
    for page in pages {
        let text = fs::read_to_string(repository().join(page)).unwrap();
        let commands = commands(&text);
        if commands.is_empty() {
            continue;
        }
        let reader = Reader::of(&text);
        for command in &commands {
            reader.follow(page, command);
        }
        count += commands.len();
    }
    count
}

/// The commands of this program in the blocks of a page.
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
        commands.extend(line.split(" && ").filter_map(|part| ours(part.trim())));
    }
    commands.retain(|command| is_built(command));
    commands
}

/// The arguments of the commands of this program in the sentences and tables of a page, with values in the places of
/// what they leave open.
fn mentioned(text: &str) -> Vec<String> {
    let mut in_fence = false;
    let mut prose = String::new();
    for line in text.lines() {
        in_fence ^= line.starts_with("```");
        if !in_fence && !line.starts_with("    ") {
            prose += line;
            prose.push(' ');
        }
    }
    let mut mentioned = Vec::new();
    for part in prose.split("`wirebench ").skip(1) {
        let line = part.split('`').next().unwrap_or_default();
        // What is in brackets may be left out.
        let line = line.split(" [").next().unwrap_or_default();
        for command in line.split(" && wirebench ").filter(|command| is_built(command)) {
            let word =
                |word| OPEN.iter().find(|(open, _)| *open == word).map_or(word, |(_, it)| *it);
            mentioned.push(command.split_whitespace().map(word).collect::<Vec<_>>().join(" "));
        }
    }
    mentioned
}

/// Words that stand for something of a reader's own, each with what it may be.
#[rustfmt::skip]
const OPEN: &[(&str, &str)] = &[
    ("COMMAND",   "run"),
    ("FORMAT",    "csv"),
    ("NAME",      "my-ws"),
    ("TRANSPORT", "ws"),
    ("URL",       "ws://127.0.0.1:8080"),
    ("…",         ""),
];

/// True unless a feature that this build lacks has the command.
fn is_built(command: &str) -> bool {
    let is_of = |word: &str| command.contains(word);
    (cfg!(feature = "fleet") || !["fleet", "agent ", "watch "].into_iter().any(is_of))
        && (cfg!(feature = "web")
            || !["ui", "wirebench ui"].into_iter().any(|it| command.starts_with(it)))
}

/// A command line of this program, as it is once the program is installed; `None` for another program.
fn ours(line: &str) -> Option<String> {
    let rest = line.strip_prefix("wirebench").or_else(|| {
        let rest = line.strip_prefix("cargo run --release")?;
        let rest = rest.strip_prefix(" --features fleet").unwrap_or(rest);
        Some(rest.strip_prefix(" --").unwrap_or(rest))
    })?;
    (rest.is_empty() || rest.starts_with(' ')).then(|| format!("wirebench{rest}"))
}

/// The way in which a command is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trial {
    /// Its arguments are read: `--help` stands behind them.
    Arguments,
    /// It runs to its end.
    Ends,
    /// Its experiment is resolved: `--dry-run` stands behind it.
    Resolved,
    /// It serves, and is ended once it says where.
    Serves,
}

/// Parts of commands that are followed in another way than to their ends; the first that a command has decides.
#[rustfmt::skip]
const TRIALS: &[(&str, Trial)] = &[
    ("wirebench fleet ",     Trial::Arguments),
    ("--fleet ",             Trial::Arguments),
    ("--otlp ",              Trial::Arguments), // a collector, which has a test of its own
    ("wirebench footprint ", Trial::Arguments), // subjects of others: `lab` and `footprint` have tests of their own
    ("wirebench lab ",       Trial::Arguments),
    ("wirebench subjects ",  Trial::Arguments),
    ("wirebench selftest",   Trial::Arguments), // takes a minute, and has a test of its own
    ("talk ws://127.0.0.1:8080 --conversation ./", Trial::Arguments), // servers of others
    ("--conversation ./",    Trial::Resolved),
    ("/orders ",             Trial::Resolved),
    ("--preset ",            Trial::Resolved), // takes minutes
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

/// Servers for the addresses in a command: a part of the command, what stands after `wirebench serve`, and the number
/// of the line, from 0, in which that says the address. The first that a command has decides.
#[rustfmt::skip]
const SERVERS: &[(&str, &str, usize)] = &[
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

/// Somebody who follows a page, in a folder of their own.
struct Reader {
    sandbox: Sandbox,
    /// The page.
    text: String,
    /// The server of `chat.toml`.
    _server: Server,
}

impl Reader {
    /// Makes everything that the commands of a page name.
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
        let reader = Self { sandbox, text: page.to_owned(), _server: server };
        reader.write("chat.toml", &chat);
        reader.write("relay.toml", block(page, "[publishers]").unwrap_or_default());
        reader.write("order.json", "{}");
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
        let trial = TRIALS.iter().find(|(part, _)| command.contains(part));
        let trial = trial.map_or(Trial::Ends, |(_, trial)| *trial);
        let short = self.with_names(&short(command));
        match trial {
            Trial::Arguments => {
                let ended = self.run(&format!("{command} --help"));
                assert_eq!(ended.code, Some(0), "{page}: {command}: {ended:?}");
            }
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
                // A machine that is busy makes a measurement invalid, or lets a limit not hold.
                let codes: &[i32] = if measures(command) { &[0, 10, 11, 12, 13] } else { &[0, 12] };
                let may_be_busy = ended.stderr.contains(INVALID_BASELINE);
                let is_fine = ended.code.is_some_and(|code| codes.contains(&code));
                assert!(is_fine || may_be_busy, "{page}: {command}: {started}: {ended:?}");
                let has_record = ended.stderr.contains("record: ");
                assert!(has_record || may_be_busy || !measures(command), "{command}: {ended:?}");
            }
        }
    }

    /// The lines that the page has below the prompt with this command.
    fn answer_to(&self, command: &str) -> Vec<&str> {
        let mut lines = self.text.lines();
        lines.find(|line| line.trim_start().strip_prefix("$ ") == Some(command));
        lines.map_while(|line| line.strip_prefix("    ")).collect()
    }

    /// The command with what there is in this folder in place of what its page makes up.
    fn with_names(&self, command: &str) -> String {
        let mut command =
            command.replace("10k bots", "10 bots").replace("/etc/bash_completion.d/", "./");
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

    /// The command with addresses at which servers listen, as long as these live.
    fn with_servers(&self, command: &str) -> (String, Vec<Server>) {
        let mut servers = Vec::new();
        let mut changed = command.to_owned();
        let known = SERVERS.iter().find(|(part, ..)| command.contains(part));
        for address in addresses(command) {
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

    fn command(&self, line: &str) -> Command {
        let mut shell = self.sandbox.other("/bin/sh", "-c");
        shell.arg(format!("exec {line}"));
        let programs = self.sandbox.path().join("bin");
        shell.env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
        shell
    }

    fn run(&self, line: &str) -> Ended {
        Running::start(self.command(line)).wait()
    }
}

/// An experiment of one server, with a limit that every machine keeps.
const EXPERIMENT: &str = "require = 'p50 < 60s'\nrounds = 6\nduration = '200ms'\nwarm-up = '0s'\n\
    connections = 4\n[[row]]\nurl = 'URL'\n";

/// Words of the error about a baseline that a busy machine has made invalid.
const INVALID_BASELINE: &str = "is invalid, so that nothing can be relative to it";

/// The first block of TOML with `word` in it.
fn block<'a>(page: &'a str, word: &str) -> Option<&'a str> {
    let mut blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.find(|block| block.contains(word))
}

/// The command with small numbers, and with an end where it has none.
fn short(command: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    let mut value = None;
    for word in command.split(' ') {
        words.push(value.take().unwrap_or(word));
        value = SHORT.iter().find(|(option, _)| *option == word).map(|(_, value)| *value);
    }
    let has = |option: &str| words.contains(&option);
    let mut more = Vec::new();
    if command == "wirebench" {
        more.push("--rounds 1 --block 1ms -c 1");
    } else if command == "wirebench serve game" {
        more.push("--listen 127.0.0.1:0 --web 127.0.0.1:0");
    } else if measures(command) && !command.contains(".toml") {
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

/// True if the command ends with a record.
fn measures(command: &str) -> bool {
    command
        .split(' ')
        .nth(1)
        .is_none_or(|word| word.contains("://") || ["ab", "gate", "run", "sweep"].contains(&word))
}

/// The addresses of loopback in a command.
fn addresses(command: &str) -> BTreeSet<&str> {
    let starts = command.match_indices("127.0.0.1:");
    let address = |(at, start): (usize, &str)| {
        let rest = &command[at + start.len()..];
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        &command[at..at + start.len() + digits]
    };
    starts.map(address).collect()
}

/// `text` with `#` in place of all numbers, those in base 16 and names of runs of a fleet too.
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
