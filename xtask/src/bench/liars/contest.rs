//! The list of contestants: the tools, how each sends, and its command.

use super::tools::Tool;
use super::{CONNECTIONS, RATE, SECONDS};
use crate::shell;
use anyhow::{Context as _, Result};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A tool with options.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contestant {
    pub(super) name: &'static str,
    pub(super) tool: Tool,
    pub(super) mode: Mode,
    pub(super) loops: Loop,
    pub(super) transport: Transport,
    /// A remark that its times need.
    pub(super) remark: &'static str,
}

/// One of the ways in which a tool can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The only one that is compared, or the best.
    Best,
    /// The plain one, without its best options.
    Plain,
}

/// The moment at which a tool means to send a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loop {
    /// After the reply to the message before.
    Closed,
    /// The same, with a pause that yields the rate if the server keeps up.
    Paced,
    /// At the due time of the message.
    Open,
}

impl Loop {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Paced => "paced",
            Self::Open => "open",
        }
    }
}

/// The protocol of a contest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Http,
    WebSocket,
}

impl Transport {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::WebSocket => "ws",
        }
    }
}

/// Everyone, closed loops first.
pub(super) const ALL: &[Contestant] = &[
    http("wrk", Tool::Wrk, Mode::Best, Loop::Closed, "it adds samples for what it did not send"),
    http("ab", Tool::Ab, Mode::Best, Loop::Closed, ""),
    http("siege", Tool::Siege, Mode::Best, Loop::Paced, "it says no percentile"),
    http("hey", Tool::Hey, Mode::Best, Loop::Paced, ""),
    http("oha", Tool::Oha, Mode::Plain, Loop::Paced, ""),
    http("oha corrected", Tool::Oha, Mode::Best, Loop::Open, ""),
    http("autocannon -C", Tool::Autocannon, Mode::Plain, Loop::Paced, "without its correction"),
    http("autocannon", Tool::Autocannon, Mode::Best, Loop::Paced, "look at its median too"),
    http("k6, 100 users", Tool::K6, Mode::Plain, Loop::Open, ""),
    http("k6, 2500 users", Tool::K6, Mode::Best, Loop::Open, "over 2500 connections"),
    http("artillery pool", Tool::Artillery, Mode::Plain, Loop::Open, "over 100 connections"),
    http("artillery", Tool::Artillery, Mode::Best, Loop::Open, "a connection for each message"),
    http("tsung", Tool::Tsung, Mode::Best, Loop::Open, "a connection for each message"),
    ws("tsung ws", Tool::Tsung, Mode::Best, Loop::Paced, ""),
    ws("k6 ws", Tool::K6, Mode::Best, Loop::Open, "timed by the script, in whole milliseconds"),
    http("wirebench closed", Tool::Wirebench, Mode::Plain, Loop::Closed, "its words: round trip"),
    http("wirebench", Tool::Wirebench, Mode::Best, Loop::Open, ""),
    ws("wirebench ws", Tool::Wirebench, Mode::Best, Loop::Open, ""),
];

const fn http(
    name: &'static str,
    tool: Tool,
    mode: Mode,
    loops: Loop,
    remark: &'static str,
) -> Contestant {
    Contestant { name, tool, mode, loops, transport: Transport::Http, remark }
}

const fn ws(
    name: &'static str,
    tool: Tool,
    mode: Mode,
    loops: Loop,
    remark: &'static str,
) -> Contestant {
    Contestant { transport: Transport::WebSocket, ..http(name, tool, mode, loops, remark) }
}

/// The tools that are not among them, with the reason.
pub(super) const ABSENT: &[(&str, &str)] = &[
    ("artillery over WebSocket", "it sends, and times no reply"),
    ("vegeta", "the Go module proxy at hand does not have it"),
    ("wrk2", "no registry has it; it is built from its repository"),
];

/// The server and the folder that a contestant is given.
pub(super) struct Place<'a> {
    pub(super) program: &'a Path,
    pub(super) address: SocketAddr,
    pub(super) transport: Transport,
    /// The folder that it may write to.
    pub(super) scratch: &'a Path,
}

impl Place<'_> {
    fn url(&self) -> String {
        format!("{}://{}/", self.transport.name(), self.address)
    }

    fn report(&self) -> PathBuf {
        self.scratch.join("artillery.json")
    }

    fn log(&self) -> PathBuf {
        self.scratch.join("tsung")
    }
}

impl Contestant {
    /// Its command.
    pub(super) fn command(&self, place: &Place<'_>) -> Result<Command> {
        let mut command = Command::new(place.program);
        let (url, connections) = (place.url(), CONNECTIONS.to_string());
        let duration = format!("{SECONDS}s");
        let is_best = self.mode == Mode::Best;
        match self.tool {
            Tool::Wrk => {
                command.args(["--threads", "1", "--connections", &connections, "--latency"]);
                command.args(["--duration", &duration, "--timeout", "10s", &url]);
            }
            Tool::Ab => {
                // A number of requests that is not reached; it comes after `-t`, which sets one of its own.
                command.args(["-q", "-k", "-c", &connections, "-t", &SECONDS.to_string()]);
                command.args(["-n", "10000000", &url]);
            }
            Tool::Siege => {
                // A user pauses for a random time up to this: a tenth of a second on average.
                command.arg("-R").arg(config("siegerc")).args(["-c", &connections, "-d", "0.2"]);
                command.args(["-t", &format!("{SECONDS}S"), &url]);
            }
            Tool::Hey => {
                let each = (RATE / CONNECTIONS).to_string();
                command.args(["-c", &connections, "-q", &each, "-z", &duration, &url]);
            }
            Tool::Oha => {
                command.args(["-c", &connections, "-q", &RATE.to_string(), "-z", &duration, "-w"]);
                command.args(is_best.then_some("--latency-correction"));
                command.args(["--no-tui", "--output-format", "json", &url]);
            }
            Tool::Autocannon => {
                command.args(["-c", &connections, "-R", &RATE.to_string()]);
                command.args((!is_best).then_some("-C"));
                command.args(["-d", &SECONDS.to_string(), "-j", "-n", &url]);
            }
            Tool::K6 => self.k6(&mut command, &url),
            Tool::Artillery => {
                command
                    .env("ARTILLERY_DISABLE_TELEMETRY", "true")
                    .env("URL", url.trim_end_matches('/'));
                command.args(["run", "--quiet", "--output"]).arg(place.report());
                command.arg(config(if is_best { "artillery.yml" } else { "artillery-pool.yml" }));
            }
            Tool::Tsung => {
                let name = format!("tsung-{}.xml", place.transport.name());
                let text = std::fs::read_to_string(config(&name))?;
                let filled = place.scratch.join(name);
                std::fs::write(&filled, text.replace("@PORT@", &place.address.port().to_string()))?;
                if place.log().exists() {
                    std::fs::remove_dir_all(place.log())?;
                }
                command.arg("-f").arg(filled).arg("-l").arg(place.log()).arg("start");
            }
            Tool::Wirebench => {
                command.args(["run", &url]);
                if is_best {
                    command.args(["--rate", &format!("{RATE}/s")]);
                }
                command.args(["-c", &connections, "-d", &duration, "--output", "-"]);
            }
        }
        Ok(command)
    }

    fn k6(&self, command: &mut Command, url: &str) {
        command.args(["run", "--quiet", "--no-usage-report", "-e", &format!("URL={url}")]);
        if self.transport == Transport::Http {
            // One request at a time for each user: while the server is stopped, 2000 are due.
            let users = if self.mode == Mode::Best { 2500 } else { CONNECTIONS };
            command.args(["-e", &format!("USERS={users}")]);
        }
        command.arg(config(&format!("k6-{}.js", self.transport.name())));
    }

    /// Its report: printed, or left in a file.
    pub(super) fn collect(&self, place: &Place<'_>, printed: String) -> Result<String> {
        match self.tool {
            Tool::Artillery => std::fs::read_to_string(place.report()).context("it left no report"),
            Tool::Tsung => tsung_percentiles(&place.log()),
            Tool::Wrk
            | Tool::Ab
            | Tool::Siege
            | Tool::Hey
            | Tool::Oha
            | Tool::Autocannon
            | Tool::K6
            | Tool::Wirebench => Ok(printed),
        }
    }
}

/// The report of tsung's own script on all samples that it has logged.
fn tsung_percentiles(log: &Path) -> Result<String> {
    let run = std::fs::read_dir(log)?.next().context("it left no log")??.path();
    let mut script = shell::command("perl");
    script.arg(TSUNG_PERCENTILE).arg("--stats").arg(run.join("tsung-fullstats.log"));
    script.args(["50", "99", "100"].iter().flat_map(|percent| ["--percentiles", percent]));
    shell::output(&mut script)
}

/// A file of `bench/liars`.
fn config(name: &str) -> PathBuf {
    shell::root().join("bench/liars").join(name)
}

/// The script, as Debian installs it.
const TSUNG_PERCENTILE: &str = "/usr/lib/x86_64-linux-gnu/tsung/bin/tsung_percentile.pl";
