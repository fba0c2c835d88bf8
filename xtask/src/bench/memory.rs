//! The memory of a WebSocket connection in the generator: resident memory over the number of connections.

use super::{Figure, GENERATOR_CORE, SERVER_CORE, as_f64};
use crate::process::{self, Process};
use anyhow::Result;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// Measures the slopes between two numbers of connections, and the memory of one process with many.
pub(super) fn measure(wirebench: &Path, scratch: &Path) -> Result<Vec<Figure>> {
    let generator = Generator { wirebench, scratch };
    let idle = generator.bytes_each([1_000, 10_000], IDLE)?;
    let most = generator.resident(CONNECTIONS_MAX, IDLE)?;
    let json = |options: &[&str]| {
        let payload = ["--payload-kind", "json", "--size", "1024"];
        generator.bytes_each([200, 1_200], &[&payload, options].concat())
    };
    let plain = json(&HARDLY)?;
    let before = json(&[&HARDLY[..], &["--deflate=level=1"]].concat())?;
    let freed = json(&["--deflate=client_no_context_takeover,server_no_context_takeover,level=1"])?;
    let kept = json(&["--deflate=level=1"])?;
    Ok(vec![
        Figure::at_most("bytes an idle connection", idle, 1024.0),
        Figure::shown("MB with 19 000 of them", most / 1e6),
        Figure::shown("bytes each, without deflate", plain),
        Figure::at_most("deflate, before a message", before, plain + WINDOW_MIN),
        Figure::at_most("deflate, no context takeover", freed, plain + WINDOW_MIN),
        Figure::shown("deflate, context takeover", kept),
    ])
}

/// The program that is weighed.
struct Generator<'a> {
    wirebench: &'a Path,
    scratch: &'a Path,
}

impl Generator<'_> {
    /// Bytes for each connection, from the slope between two numbers of them.
    fn bytes_each(&self, [few, many]: [usize; 2], options: &[&str]) -> Result<f64> {
        let less = self.resident(few, options)?;
        let more = self.resident(many, options)?;
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let connections = (many - few) as f64;
        Ok((more - less) / connections)
    }

    /// Measures resident bytes with this many connections, after a rest.
    fn resident(&self, connections: usize, options: &[&str]) -> Result<f64> {
        let mut serve = Command::new(self.wirebench);
        serve.args(["serve", "ws", "--listen", "127.0.0.1:0", "--deflate"]);
        let mut server = Process::start("server", SERVER_CORE, &serve, self.scratch)?;
        let address = process::await_ready(&mut server)?;
        let mut run = Command::new(self.wirebench);
        run.args(["run", &format!("ws://{address}/"), "--duration", "60s", "--output", "-"]);
        run.args(["--connections", &connections.to_string()]).args(options);
        let mut generator = Process::start("generator", GENERATOR_CORE, &run, self.scratch)?;
        generator.wait_for("all connections", PATIENCE, |generator| {
            Ok((generator.open_files()? >= connections).then_some(()))
        })?;
        sleep(REST);
        let resident = generator.resident()?;
        eprintln!("  {connections:>6} connections, {}: {resident} bytes", options.join(" "));
        Ok(as_f64(resident))
    }
}

/// One message in flight over all connections.
const IDLE: &[&str] = &["--in-flight-max", "1"];
/// One message a second over all connections.
const HARDLY: [&str; 2] = ["--rate", "1/s"];
/// Connections that one process must be able to hold.
const CONNECTIONS_MAX: usize = 19_000;
/// No window of a compressor is smaller than this, so no connection that costs less has one.
const WINDOW_MIN: f64 = 512.0;
/// The time for which connections rest, or exchange messages, before memory is read.
const REST: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(90);
