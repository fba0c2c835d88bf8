//! `cargo xtask bench floor`: what wirebench costs beside the least that a correct program can cost, and beside its
//! peers, on this machine, in one interleaved run.
//!
//! It is a benchmark, not a test: a missed target is printed and the exit code stays 0. Start reading at [`rows`], the
//! list of what is compared; [`interleave`] runs the blocks, [`block`] measures one, [`report`] prints.
//!
//! Every contestant is measured from outside, in the same way: messages are counted by the server, CPU time by the
//! kernel, both read at the two ends of the measured window. What a contestant says of itself is kept beside it.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock and waits")]

mod alone;
mod block;
mod driver;
mod interleave;
mod lag;
mod layers;
mod liars;
mod memory;
mod process;
mod report;
mod rows;
mod server;
mod tools;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use report::Line;
use std::path::PathBuf;
use std::time::Duration;

/// Measure wirebench beside programs that do less
#[derive(clap::Args, Debug)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    Floor(FloorArgs),
    Tls(layers::LayersArgs),
    Liars(liars::LiarsArgs),
}

/// The floor programs, the peers, and what an idle connection, a start and the binary cost
#[derive(clap::Args, Debug)]
struct FloorArgs {
    /// How many times every contestant of a row is measured
    #[arg(long, default_value_t = 10)]
    rounds: usize,
    /// How long a measured block lasts
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Only these rows, separated by commas; all of them without it
    #[arg(long, value_delimiter = ',', value_name = "ROW")]
    only: Vec<Row>,
    /// Where the random order of the blocks starts
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Write everything here as JSON, every block included
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What is measured; each has its lines in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Row {
    /// The C floor beside itself: what noise alone does to a ratio
    Same,
    /// TCP echo beside the C floor
    Tcp,
    /// WebSocket echo beside the C floor
    Ws,
    /// WebSocket echo beside tokio-websockets, tokio-tungstenite and k6
    WsPeers,
    /// HTTP GET of nginx beside wrk
    Http,
    /// Short-lived WebSocket clients beside the C floor and k6
    Churn,
    /// 10 000 connections beside 50
    Scale,
    /// The io_uring floor beside the epoll floor
    Uring,
    /// Memory for each idle connection, and 19 000 of them
    Memory,
    /// How late an open loop sends, beside the machine's timer
    Lag,
    /// Recording one message
    Recording,
    /// From start to usage text
    Start,
    /// The release binary
    Size,
}

/// What all rows share.
struct Bench {
    tools: tools::Tools,
    rounds: usize,
    seed: u64,
    timing: Timing,
}

/// How long the parts of a block last.
#[derive(Clone, Copy, Debug)]
struct Timing {
    /// From the first message until the window opens.
    warm_up: Duration,
    /// The measured window.
    measured: Duration,
    /// How much longer a contestant goes on, so that it is still at work when the window closes.
    margin: Duration,
}

/// Runs what the arguments ask for.
pub(crate) fn run(arguments: &BenchArgs) -> Result<()> {
    match &arguments.what {
        What::Floor(arguments) => floor(arguments),
        What::Tls(arguments) => layers::run(arguments),
        What::Liars(arguments) => liars::run(arguments),
    }
}

fn floor(arguments: &FloorArgs) -> Result<()> {
    let rows = if arguments.only.is_empty() {
        Row::value_variants().to_vec()
    } else {
        arguments.only.clone()
    };
    let measured = Duration::try_from_secs_f64(arguments.seconds).context("--seconds")?;
    let bench = Bench {
        tools: tools::Tools::prepare(&rows)?,
        rounds: arguments.rounds,
        seed: arguments.seed,
        timing: Timing {
            warm_up: Duration::from_secs(1),
            measured,
            margin: Duration::from_millis(500),
        },
    };
    let mut report = report::Report::new(arguments.rounds, arguments.seconds, arguments.seed);
    let mut failed = Vec::new();
    for row in rows {
        eprintln!("bench: {}", name(row));
        match measure(&bench, row, &mut report) {
            Ok(lines) => report.print(&name(row), &lines),
            Err(error) => {
                eprintln!("bench: {} FAILED: {error:#}", name(row));
                failed.push(name(row));
            }
        }
    }
    if let Some(path) = &arguments.json {
        report.write(path)?;
    }
    if failed.is_empty() { Ok(()) } else { bail!("could not be measured: {}", failed.join(", ")) }
}

fn measure(bench: &Bench, row: Row, report: &mut report::Report) -> Result<Vec<Line>> {
    match row {
        Row::Memory => memory::measure(bench),
        Row::Lag => lag::measure(bench),
        Row::Recording => alone::recording(bench),
        Row::Start => alone::start(bench),
        Row::Size => alone::size(bench),
        Row::Same
        | Row::Tcp
        | Row::Ws
        | Row::WsPeers
        | Row::Http
        | Row::Churn
        | Row::Scale
        | Row::Uring => interleave::measure(bench, &rows::contest(row, &bench.tools), report),
    }
}

/// The name by which `--only` knows a row.
fn name(row: impl ValueEnum) -> String {
    row.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
