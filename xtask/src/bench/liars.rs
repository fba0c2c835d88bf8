//! `cargo xtask bench liars`: what load generators say about a server that was stopped, and the truth.
//!
//! Every tool is to send 1000 messages a second for 20 s over 100 connections, by its own best options. In the middle
//! the server is stopped for two seconds, measured by the clock. By arithmetic ([`stats::Stall`]), one user in a
//! hundred then waits 1.8 s or longer; the table says what each tool said.
//!
//! The servers are ours, `wirebench serve`, on a core of their own if there are two; a tool may use all. Start reading
//! at [`contest::ALL`], the list. [`tool_report`] reads what tools print, [`tools`] installs them, [`table`] prints.

mod contest;
mod table;
mod tool_report;
mod tools;

use super::SERVER_CORE;
use crate::process::{self, Process};
use crate::shell;
use anyhow::{Context as _, Result, ensure};
use contest::{Contestant, Place};
use stats::Stall;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};
use table::{Row, Table};
use tool_report::ToolReport;
use tools::Tool;
use units::{Nanos, Rate};

/// Stop a server under load generators, and compare what they say with what it was
#[derive(clap::Args, Debug)]
pub(super) struct LiarsArgs {
    /// Only tools whose name contains one of these, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    only: Vec<String>,
    /// Print the table as Markdown
    #[arg(long)]
    markdown: bool,
    /// Write everything here as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Runs every contestant, one after the other. One that cannot be installed, or fails, gets a line that says why.
pub(super) fn run(arguments: &LiarsArgs) -> Result<()> {
    super::wirebench()?;
    let scratch = super::scratch("liars")?;
    let is_wanted = |contestant: &&Contestant| {
        arguments.only.is_empty()
            || arguments.only.iter().any(|part| contestant.name.contains(part.as_str()))
    };
    let mut table = Table::new(shell::output(shell::command("date").arg("+%Y-%m-%d"))?.trim());
    for contestant in contest::ALL.iter().filter(is_wanted) {
        eprintln!("liars: {}", contestant.name);
        let row = row(contestant, &scratch);
        eprintln!("{}", table::line(&row));
        table.rows.push(row);
    }
    ensure!(!table.rows.is_empty(), "no tool has such a name");
    if let Some(path) = &arguments.json {
        std::fs::write(path, serde_json::to_string_pretty(&table.json())? + "\n")
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    println!("{}", if arguments.markdown { table.markdown() } else { table.text() });
    Ok(())
}

fn row(contestant: &Contestant, scratch: &Path) -> Row {
    let mut row =
        Row { contestant: *contestant, version: None, command: None, found: Err(String::new()) };
    let program = match tools::install(contestant.tool) {
        Ok(program) => program,
        Err(error) => {
            row.found = Err(format!("not installed: {}", reason(&error)));
            return row;
        }
    };
    row.version = tools::version(contestant.tool, &program).ok();
    let measured = measure(contestant, &program, scratch, &mut row.command);
    row.found = measured.map_err(|error| format!("failed: {}", reason(&error)));
    row
}

/// The text of an error, on one line.
fn reason(error: &anyhow::Error) -> String {
    format!("{error:#}").split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// The report of a tool, and the true waits of users who arrive on schedule meanwhile.
struct Found {
    said: ToolReport,
    truth: Stall,
}

/// Runs a tool against a server of its own, which is stopped half way.
fn measure(
    contestant: &Contestant,
    program: &Path,
    scratch: &Path,
    command: &mut Option<String>,
) -> Result<Found> {
    let mut serve = Command::new(shell::target().join("release/wirebench"));
    serve.args(["serve", contestant.transport.name(), "--listen", "127.0.0.1:0"]);
    let mut server = Process::start("server", SERVER_CORE, &serve, scratch)?;
    let address = process::await_ready(&mut server)?;
    let place = Place { program, address, transport: contestant.transport, scratch };
    let generate = contestant.command(&place)?;
    *command = Some(table::shown(&generate, &place));
    let idle = server.open_files()?;
    // Erlang would start its name server on its own and leave it behind; this one ends with the row.
    let _names = (contestant.tool == Tool::Tsung)
        .then(|| Process::start("epmd", ALL_CORES, &Command::new("epmd"), scratch))
        .transpose()?;
    let mut generator = Process::start("generator", ALL_CORES, &within(&generate), scratch)?;
    generator
        .wait_for("a connection", START_MAX, |_| Ok((server.open_files()? > idle).then_some(())))?;
    sleep(BEFORE_STOP);
    let stopped = stop(&server)?;
    let printed = generator.finish_with(contestant.tool.exit_codes(), END_MAX)?;
    let words = contestant.collect(&place, printed)?;
    // For anyone who doubts that it was read correctly.
    std::fs::write(scratch.join(contestant.name.replace(' ', "-") + ".txt"), &words)?;
    let said = tool_report::read(contestant.tool, &words)?;
    Ok(Found { said, truth: truth(stopped) })
}

/// Stops the server, lets it go on, and returns the time that it was stopped.
fn stop(server: &Process) -> Result<Nanos> {
    server.signal("STOP")?;
    let start = Instant::now();
    sleep(STOP.saturating_sub(start.elapsed()));
    server.signal("CONT")?;
    Ok(Nanos(u64::try_from(start.elapsed().as_nanos())?))
}

/// Wraps `command`: it is ended, with everything that it has started, if it does not end on its own.
fn within(command: &Command) -> Command {
    let mut within = Command::new("timeout");
    within.args(["--kill-after=5", TOOL_SECONDS_MAX]).arg(command.get_program());
    within.args(command.get_args());
    for (name, value) in command.get_envs() {
        within.env(name, value.unwrap_or_default());
    }
    within
}

/// The truth about messages that are due at the rate asked for, regardless of what the tool sent.
fn truth(stopped: Nanos) -> Stall {
    Stall {
        rate: per_second(RATE),
        measured: Nanos::from_secs(SECONDS),
        stopped,
        drain_rate: per_second(DRAIN_RATE),
    }
}

fn per_second(count: u32) -> Rate {
    NonZeroU32::new(count)
        .and_then(|count| Rate::new(count, Nanos::from_secs(1)))
        .expect("neither is zero")
}

/// Messages per second, and the number of seconds.
const RATE: u32 = 1_000;
const SECONDS: u64 = 20;
/// Connections.
const CONNECTIONS: u32 = 100;
/// The rate at which a server works off its backlog: more than 20 000 a second with all of these tools, and a higher
/// rate moves the truth by less than a hundredth.
const DRAIN_RATE: u32 = 20_000;
/// The cores of a tool.
const ALL_CORES: &str = "0-1";

/// Time from a tool's first connection to the stop.
const BEFORE_STOP: Duration = Duration::from_secs(10);
/// The time for which the server is stopped.
const STOP: Duration = Duration::from_secs(2);
/// The longest time until a tool's first connection.
const START_MAX: Duration = Duration::from_secs(60);
/// The longest run of a tool, as `timeout` takes it, and the longest wait after the stop.
const TOOL_SECONDS_MAX: &str = "100";
const END_MAX: Duration = Duration::from_secs(110);
