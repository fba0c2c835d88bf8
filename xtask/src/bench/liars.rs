//! `cargo xtask bench liars`: what load generators say of a server that stood still, and what it was.
//!
//! Every tool is to send 1000 messages a second for 20 s over 100 connections, by its own best options. In the middle
//! the server is stopped for two seconds, measured by the clock. By arithmetic ([`stats::Stall`]), one user in a
//! hundred then waits 1.8 s or longer; the table says what each tool said.
//!
//! The servers are ours, `wirebench serve`, on a core of their own as far as there are two; a tool may use all. Start
//! reading at [`contest::ALL`], the list. [`tool_report`] reads what tools print, [`tools`] installs them, [`table`]
//! prints.

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

/// Runs every contestant, one after the other. One that cannot be had, or fails, is a line that says why.
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

/// The words of an error, on one line.
fn reason(error: &anyhow::Error) -> String {
    format!("{error:#}").split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// The words of a tool, and the waits of users who arrive on time meanwhile.
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
    // Erlang would start its name server by itself and leave it behind; this one ends with the row.
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
    // For whoever doubts how it was read.
    std::fs::write(scratch.join(contestant.name.replace(' ', "-") + ".txt"), &words)?;
    let said = tool_report::read(contestant.tool, &words)?;
    Ok(Found { said, truth: truth(stopped) })
}

/// Stops the server and has it go on; how long it stood still.
fn stop(server: &Process) -> Result<Nanos> {
    server.signal("STOP")?;
    let start = Instant::now();
    sleep(STOP.saturating_sub(start.elapsed()));
    server.signal("CONT")?;
    Ok(Nanos(u64::try_from(start.elapsed().as_nanos())?))
}

/// `command`, which is ended when it does not end itself, with all that it has started.
fn within(command: &Command) -> Command {
    let mut within = Command::new("timeout");
    within.args(["--kill-after=5", TOOL_SECONDS_MAX]).arg(command.get_program());
    within.args(command.get_args());
    for (name, value) in command.get_envs() {
        within.env(name, value.unwrap_or_default());
    }
    within
}

/// The truth about messages that are due at the rate asked for, whatever the tool made of it.
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

/// Messages a second, and for how long.
const RATE: u32 = 1_000;
const SECONDS: u64 = 20;
/// Connections.
const CONNECTIONS: u32 = 100;
/// The rate at which a server works off what has piled up: more than 20 000 a second with all of these tools, and with
/// more the truth moves by less than a hundredth.
const DRAIN_RATE: u32 = 20_000;
/// The cores of a tool.
const ALL_CORES: &str = "0-1";

/// Time from a tool's first connection to the stop.
const BEFORE_STOP: Duration = Duration::from_secs(10);
/// The time for which the server stands still.
const STOP: Duration = Duration::from_secs(2);
/// The longest time until a tool's first connection.
const START_MAX: Duration = Duration::from_secs(60);
/// The longest run of a tool, in the words of `timeout`, and the longest wait after the stop.
const TOOL_SECONDS_MAX: &str = "100";
const END_MAX: Duration = Duration::from_secs(110);
