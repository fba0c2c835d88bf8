//! What an idle WebSocket connection costs the generator: resident memory over the number of connections.

use super::Bench;
use super::process::Process;
use super::report::{Line, Target};
use super::{driver, server};
use anyhow::Result;
use std::net::SocketAddr;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// The slope is taken between these two.
const CONNECTIONS: [usize; 2] = [1_000, 10_000];
/// How many one process must be able to hold.
const CONNECTIONS_MAX: usize = 19_000;
/// How long connections rest before memory is read.
const REST: Duration = Duration::from_secs(2);

/// Memory at two numbers of connections, and the most of them.
pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let few = resident_with(bench, CONNECTIONS[0])?;
    let many = resident_with(bench, CONNECTIONS[1])?;
    let most = resident_with(bench, CONNECTIONS_MAX)?;
    let slope = (many - few) / as_f64(CONNECTIONS[1] - CONNECTIONS[0]);
    Ok(vec![
        Line::figure("bytes/connection", slope, Target::AtMost(1024.0)),
        Line::figure(
            "connections, 1 process",
            as_f64(CONNECTIONS_MAX),
            Target::AtLeast(as_f64(CONNECTIONS_MAX)),
        ),
        Line::figure("MB with all of them", most / 1e6, Target::Shown),
    ])
}

/// Resident bytes of a generator that holds so many connections.
fn resident_with(bench: &Bench, connections: usize) -> Result<f64> {
    let tools = &bench.tools;
    let mut serve = Command::new(&tools.wirebench);
    serve.args(["serve", "ws", "--listen", "127.0.0.1:0"]);
    let mut process = Process::start("server", server::CORE, &serve, &tools.scratch)?;
    let address = server::await_ready(&mut process)?;
    let mut generator = Process::start(
        "generator",
        driver::CORE,
        &idle(bench, address, connections),
        &tools.scratch,
    )?;
    generator.wait_for("all connections", Duration::from_secs(60), |generator| {
        Ok((generator.open_files()? >= connections).then_some(()))
    })?;
    sleep(REST);
    let resident = generator.resident()?;
    eprintln!("  {connections:>6} connections: {resident} bytes");
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    Ok(resident as f64)
}

/// Holds connections of which hardly any is busy.
fn idle(bench: &Bench, address: SocketAddr, connections: usize) -> Command {
    let mut command = Command::new(&bench.tools.wirebench);
    command
        .arg("run")
        .arg(format!("ws://{address}/"))
        .args(["--connections", &connections.to_string()]);
    command.args(["--in-flight-max", "1", "--duration", "60s", "--output", "-"]);
    command
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn as_f64(count: usize) -> f64 {
    count as f64
}
