//! The commands that are killed, and what they need: a server, an installed subject, a fleet.

#![expect(clippy::disallowed_types, reason = "a request to the page of `wirebench ui`")]

use super::super::{SERVER_CORE, nats};
use super::sandbox::{Sandbox, Started};
use crate::process::{self, Process};
use crate::third_party;
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command as Program;
use std::time::Duration;

/// A command that is killed.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) name: &'static str,
    /// Its arguments, split at spaces outside of quotation marks. [`Given::words`] replaces `{echo}`, `{port}` and
    /// other words in braces.
    line: &'static str,
    /// The experiment, if it has one in the file [`EXPERIMENT`].
    experiment: &'static str,
    /// Set for a command that goes on until a signal ends it.
    pub(super) stays: Option<Stays>,
}

/// The life of a command that does not end on its own.
#[derive(Debug)]
pub(super) struct Stays {
    /// A part of the line that says that it is ready.
    pub(super) ready: &'static str,
    /// The time after its start within which it is killed.
    pub(super) life: Duration,
    /// The step that gives it something to do.
    pub(super) task: Task,
}

/// A step that gives a command something to do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Task {
    /// There is none.
    Nothing,
    /// These lines on its input, which stays open.
    Lines(&'static str),
    /// A run, requested as the page of `wirebench ui` does.
    AskPage,
}

/// Everything that is killed. The loads are short, so that a life takes a second or two.
pub(super) static COMMANDS: [Command; 19] = [
    ends("ladder", "ladder --all --rounds 2 --block 10ms -c 2 --feed", ""),
    ends("run", "run asked.toml --feed", ECHOES),
    ends("run given server", "run {echo} --rounds 20 -d 20ms --warm-up 5ms -c 2 --feed", ""),
    ends("run rooms", "run asked.toml --feed", ROOMS),
    ends(
        "sweep",
        "sweep {echo} --from 2000 --to 16k --repeats 1 -d 100ms --settle 20ms --budget 4s --feed",
        "",
    ),
    ends("lab", "lab asked.toml --installed installed --feed", LAB),
    ends(
        "ab",
        "ab tcp://127.0.0.1:9 --start-base \"{serve}\" --start-head \"{serve} --work 10us\" --rounds 6 -c 2 -d 20ms \
         --warm-up 5ms --feed",
        "",
    ),
    ends(
        "gate",
        "gate {echo} --require \"p50 < 10s\" --rounds 10 -d 20ms --warm-up 5ms -c 2 --feed",
        "",
    ),
    ends("footprint", "footprint floor --installed installed", ""),
    ends("selftest", "selftest", ""),
    stays("ui", "ui", "http://", 2000, Task::AskPage),
    stays("talk", "talk {echo}", "connected", 300, Task::Lines("one\ntwo\n")),
    stays("serve ws", "serve ws", "ready ", 300, Task::Nothing),
    stays("serve wss", "serve wss", "ready ", 300, Task::Nothing),
    stays("serve unix", "serve unix --listen at.sock", "ready ", 300, Task::Nothing),
    stays(
        "serve game",
        "serve game --listen 127.0.0.1:0 --web 127.0.0.1:0 --threads 2",
        "ready ",
        300,
        Task::Nothing,
    ),
    stays("fleet up", FLEET_UP, "next: ", 2000, Task::Nothing),
    stays("agent", "agent --join {keys}/a{job}.join", "is connected", 700, Task::Nothing),
    stays(
        "watch",
        "watch --join {keys}/w{job}.join --port {port}",
        "is connected",
        700,
        Task::Nothing,
    ),
];

const fn ends(name: &'static str, line: &'static str, experiment: &'static str) -> Command {
    Command { name, line, experiment, stays: None }
}

const fn stays(
    name: &'static str,
    line: &'static str,
    ready: &'static str,
    life_ms: u64,
    task: Task,
) -> Command {
    let life = Duration::from_millis(life_ms);
    Command { name, line, experiment: "", stays: Some(Stays { ready, life, task }) }
}

impl Command {
    /// True if it needs a NATS server.
    pub(super) fn is_of_fleet(&self) -> bool {
        self.line == FLEET_UP || self.line.contains("{keys}")
    }

    /// True if it needs an installed subject.
    pub(super) fn needs_subjects(&self) -> bool {
        self.line.contains("--installed")
    }

    /// Makes a sandbox for it in the new folder `outside`.
    pub(super) fn sandbox<'a>(&self, given: &'a Given, outside: PathBuf) -> Result<Sandbox<'a>> {
        let sandbox = Sandbox::new(&given.wirebench, outside)?;
        if !self.experiment.is_empty() {
            fs::write(sandbox.path().join(EXPERIMENT), self.experiment)?;
        }
        if self.needs_subjects() {
            copy(&given.installed, &sandbox.path().join(INSTALLED))?;
        }
        Ok(sandbox)
    }

    /// Gives it something to do if it is ready for that; returns false if it is not yet.
    pub(super) fn give_task(&self, given: &Given, started: &mut Started) -> Result<bool> {
        let Some(Stays { ready, task, .. }) = &self.stays else { return Ok(true) };
        match task {
            Task::Nothing => {}
            Task::Lines(lines) => return started.tell(lines).map(|()| true),
            Task::AskPage => {
                let Some(url) = started.line_with(ready) else { return Ok(false) };
                ask(&url, &given.url)?;
            }
        }
        Ok(true)
    }
}

/// Everything that commands need. It ends when this is dropped.
pub(super) struct Given {
    wirebench: PathBuf,
    /// The URL of a server.
    url: String,
    _server: Process,
    /// A folder in which one subject is installed.
    installed: PathBuf,
    fleet: Option<Fleet>,
}

struct Fleet {
    nats_server: PathBuf,
    /// The folder of the join files.
    keys: PathBuf,
    _server: Process,
}

impl Given {
    /// Starts everything in `folder`, with a fleet for this many jobs at a time, or without one.
    pub(super) fn start(wirebench: &Path, folder: &Path, fleet: Option<usize>) -> Result<Self> {
        let mut serve = Program::new(wirebench);
        serve.args(["serve", "ws", "--listen", "127.0.0.1:0"]);
        let mut server = Process::start("echo", SERVER_CORE, &serve, folder)?;
        let url = format!("ws://{}/", process::await_ready(&mut server)?);
        let installed = folder.join(INSTALLED);
        let sandbox = Sandbox::new(wirebench, folder.join("given"))?;
        let words = format!("subjects install floor --installed {}", installed.display());
        sandbox.finish(&split(&words), &[0])?;
        let fleet = fleet.map(|jobs| Fleet::start(&sandbox, folder, jobs)).transpose()?;
        Ok(Self { wirebench: wirebench.to_owned(), url, _server: server, installed, fleet })
    }

    /// The arguments of a command, for one of several that run at a time.
    pub(super) fn words(&self, command: &Command, job: usize) -> Result<Vec<String>> {
        let port = self.url.trim_end_matches('/').rsplit(':').next().unwrap_or_default();
        let serve = format!("'{}' serve tcp --listen 127.0.0.1:{{port}}", self.wirebench.display());
        let mut line = command.line.replace("{port}", port).replace("{serve}", &serve);
        line = line.replace("{echo}", &self.url).replace("{job}", &job.to_string());
        if command.is_of_fleet() {
            let Fleet { keys, nats_server, .. } = self.fleet.as_ref().context("without a fleet")?;
            line = line.replace("{keys}", &keys.display().to_string());
            line = line.replace("{nats-server}", &nats_server.display().to_string());
        }
        Ok(split(&line))
    }
}

impl Fleet {
    fn start(sandbox: &Sandbox<'_>, folder: &Path, jobs: usize) -> Result<Self> {
        let nats_server = third_party::install_nats_server()?;
        // A free port may be taken before it is used; here nobody else looks for one at this time.
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let keys = folder.join("keys");
        let words = format!("--agents {jobs} --watch {jobs} --url nats://127.0.0.1:{port}");
        sandbox.finish(&split(&format!("fleet keys {} {words}", keys.display())), &[0])?;
        let server = nats::start(&format!("127.0.0.1:{port}"), SERVER_CORE, folder)?;
        // The first controller creates the log, and no agent can join without it.
        let status = format!("fleet status --fleet {}/controller.join", keys.display());
        sandbox.finish(&split(&status), &[0])?;
        Ok(Self { nats_server, keys, _server: server })
    }
}

/// The words of a line, split at spaces outside of quotation marks.
fn split(line: &str) -> Vec<String> {
    let parts = line.split('"').enumerate();
    let words = parts.flat_map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

/// Asks the page at `page` for a run against `server`.
fn ask(page: &str, server: &str) -> Result<()> {
    let place = page.trim().trim_start_matches("http://").trim_end_matches('/');
    let (host, token) = place.split_once('/').context("the page has a token")?;
    let options = r#"{"connections": 2, "duration": "100ms", "warm-up": "10ms"}"#;
    let body = format!(
        r#"{{"target": {{"url": "{server}", "options": {options}, "criteria": {{"rounds": 100}}}}}}"#
    );
    let request = format!(
        "POST /{token}/api/runs HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(host)?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    ensure!(answer.starts_with("HTTP/1.1 200 "), "the page starts no run: {answer}");
    Ok(())
}

/// Copies a folder with everything in it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    crate::shell::output(crate::shell::command("cp").arg("-a").arg(from).arg(to)).map(drop)
}

/// The file of an experiment in a sandbox.
pub(super) const EXPERIMENT: &str = "asked.toml";
/// The folder of installed subjects in a sandbox.
pub(super) const INSTALLED: &str = "installed";
const FLEET_UP: &str = "fleet up --local 2 --nats-server {nats-server}";

const ECHOES: &str = r#"
rounds = 6
duration = "20ms"
warm-up = "5ms"
connections = 2
[[row]]
server = "embedded"
transport = ["ws", "unix", "wss"]
"#;

const ROOMS: &str = r#"
baseline = "relay"
rounds = 6
duration = "100ms"
publish = "100/s"
rooms = 2
receivers = 4
[[row]]
name = "relay"
server = "embedded"
transport = "ws"
conversation = "room"
"#;

const LAB: &str = r#"
question = "What is left of it?"
rounds = 6
duration = "20ms"
warm-up = "5ms"
connections = 2
[[row]]
server = ["embedded", "floor"]
transport = "ws"
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_line_is_split_at_spaces_outside_of_quotation_marks() {
        assert_eq!(split("run  a --b \"c d\" e"), ["run", "a", "--b", "c d", "e"]);
    }

    #[test]
    fn names_are_different_and_those_that_need_a_fleet_are_known() {
        let names: BTreeSet<&str> = COMMANDS.iter().map(|command| command.name).collect();
        assert_eq!(names.len(), COMMANDS.len());
        let fleet = COMMANDS.iter().filter(|command| command.is_of_fleet());
        let fleet: Vec<&str> = fleet.map(|command| command.name).collect();
        assert_eq!(fleet, ["fleet up", "agent", "watch"]);
    }
}
