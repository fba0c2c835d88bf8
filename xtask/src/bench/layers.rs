//! `cargo xtask bench tls`: what TLS and compression cost in wirebench beside what the libraries cost by themselves, in
//! memory, with the same configuration, in one interleaved run.
//!
//! A row sets one part beside the sum of others: a `wss` message beside a `ws` message plus one encryption and one
//! decryption of it. Every part is measured once a round, in an order drawn anew; a round counts if the cores were in
//! one placement all the while. Start reading at [`Row::contest`].

use super::interleave::{self, Placement};
use super::process::Process;
use super::report::{Line, Report, Target};
use super::tools::Tools;
use super::{driver, server};
use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use serde_json::Value;
use stats::Pair;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;
use units::Random;

/// What TLS and compression cost beside the libraries alone, in memory
#[derive(clap::Args, Debug)]
pub(super) struct LayersArgs {
    /// How many times every part of a row is measured
    #[arg(long, default_value_t = 10)]
    rounds: usize,
    /// How long a part is measured
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Only these rows, separated by commas; all of them without it
    #[arg(long, value_delimiter = ',', value_name = "ROW")]
    only: Vec<Row>,
    /// Where the random order of the parts starts
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Write the lines here as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Row {
    /// A wss message of 64 B beside ws and the library
    Small,
    /// A wss message of 16 KiB beside ws and the library
    Large,
    /// A client with a full handshake beside one over tcp and the library
    Full,
    /// A client with a resumed handshake beside one over tcp and the library
    Resumed,
    /// A message of 1 KiB of JSON, compressed and inflated, beside the library
    Deflate,
    /// Memory of idle connections that agreed on compression
    Memory,
}

/// One part beside the sum of others.
struct Contest {
    unit: &'static str,
    ours: Part,
    beside: Vec<Part>,
    target: Target,
}

/// Something that costs CPU time of the generator's end, in microseconds for each message or client.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// A closed loop of 50 connections against our server of this scheme.
    Messages { scheme: &'static str, size: &'static str },
    /// Clients of one round trip each, ten at a time, with or without session tickets.
    Clients { scheme: &'static str, resumption: Option<&'static str> },
    /// A figure of the library by itself, in memory.
    Alone { size: &'static str, figure: &'static str },
}

/// How many connections exchange messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Busy {
    All,
    /// One, once a second.
    Hardly,
}

impl Row {
    fn contest(self) -> Option<Contest> {
        use Part::{Clients, Messages};
        let tls = |size, figure| Part::Alone { size, figure };
        let messages = |size, bound| Contest {
            unit: "message",
            ours: Messages { scheme: "wss", size },
            beside: vec![Messages { scheme: "ws", size }, tls(size, "/records_us")],
            target: Target::AtMost(bound),
        };
        let clients = |resumption, figure| Contest {
            unit: "client",
            ours: Clients { scheme: "tls", resumption: Some(resumption) },
            beside: vec![Clients { scheme: "tcp", resumption: None }, tls("64", figure)],
            target: Target::AtMost(1.15),
        };
        Some(match self {
            Self::Small => messages("64", 1.15),
            Self::Large => messages("16384", 1.25),
            Self::Full => clients("none", "/full_client_us"),
            Self::Resumed => clients("tickets", "/resumed_client_us"),
            Self::Deflate | Self::Memory => return None,
        })
    }
}

struct Bench {
    tools: Tools,
    rounds: usize,
    seconds: f64,
    seed: u64,
}

pub(super) fn run(arguments: &LayersArgs) -> Result<()> {
    let rows = match &arguments.only[..] {
        [] => Row::value_variants(),
        only => only,
    };
    let bench = Bench {
        tools: Tools::prepare_layers()?,
        rounds: arguments.rounds,
        seconds: arguments.seconds,
        seed: arguments.seed,
    };
    let mut report = Report::new(arguments.rounds, arguments.seconds, arguments.seed);
    let mut failed = Vec::new();
    for row in rows {
        let name = super::name(*row);
        eprintln!("bench: {name}");
        let lines = match row.contest() {
            Some(contest) => bench.contest(&contest),
            None if *row == Row::Deflate => bench.deflate(),
            None => bench.memory(),
        };
        match lines {
            Ok(lines) => report.print(&name, &lines),
            Err(error) => {
                eprintln!("bench: {name} FAILED: {error:#}");
                failed.push(name);
            }
        }
    }
    if let Some(path) = &arguments.json {
        report.write(path)?;
    }
    if failed.is_empty() { Ok(()) } else { bail!("could not be measured: {}", failed.join(", ")) }
}

/// All parts of a contest, measured once.
struct Round {
    crossing_ns: Vec<f64>,
    /// Ours first.
    us: Vec<f64>,
}

impl Bench {
    fn contest(&self, contest: &Contest) -> Result<Vec<Line>> {
        let parts: Vec<Part> =
            std::iter::once(contest.ours).chain(contest.beside.iter().copied()).collect();
        let mut random = Random::new(self.seed);
        let mut rounds = Vec::new();
        for number in 1..=self.rounds {
            let round = self.round(&parts, &mut random)?;
            let shown: Vec<String> = round.us.iter().map(|us| format!("{us:.3}")).collect();
            eprintln!("  {number:>3}/{} {} us", self.rounds, shown.join(" beside "));
            rounds.push(round);
        }
        let (kept, placement) = one_placement(&rounds);
        if kept.is_empty() {
            bail!("the cores stayed in one placement in no round; more --rounds may");
        }
        let sum =
            |round: &&Round| Pair { subject: round.us[0], baseline: round.us[1..].iter().sum() };
        let pairs: Vec<Pair> = kept.iter().map(sum).collect();
        let medians = |index: usize| {
            stats::median(&kept.iter().map(|round| round.us[index]).collect::<Vec<f64>>())
        };
        let mut lines = vec![Line::heading(format!(
            "{} of {} rounds, cores {}",
            kept.len(),
            rounds.len(),
            format!("{placement:?}").to_lowercase()
        ))];
        for (index, part) in parts.iter().enumerate() {
            lines.push(Line::figure(part.name(), medians(index)?, Target::Shown));
        }
        let unit = contest.unit;
        lines.push(Line::ratio(format!("CPU us/{unit}"), &pairs, self.seed, contest.target));
        Ok(lines)
    }

    fn round(&self, parts: &[Part], random: &mut Random) -> Result<Round> {
        let mut order: Vec<usize> = (0..parts.len()).collect();
        random.shuffle(&mut order);
        let mut round = Round {
            crossing_ns: vec![interleave::crossing_ns(&self.tools)?],
            us: vec![0.0; parts.len()],
        };
        for index in order {
            let part = parts[index];
            round.us[index] = self.measure(part).with_context(|| part.name())?;
            round.crossing_ns.push(interleave::crossing_ns(&self.tools)?);
        }
        Ok(round)
    }

    fn measure(&self, part: Part) -> Result<f64> {
        match part {
            Part::Messages { scheme, size } => {
                let duration = format!("{:.3}s", self.seconds);
                self.generator(
                    scheme,
                    &["--size", size, "--connections", "50", "--duration", &duration],
                )
            }
            Part::Clients { scheme, resumption } => {
                let mut words =
                    vec!["--clients", CLIENTS, "--concurrency", "10", "--round-trips", "1"];
                if let Some(resumption) = resumption {
                    words.extend(["--tls-resumption", resumption]);
                }
                self.generator(scheme, &words)
            }
            Part::Alone { size, figure } => {
                let mut command = Command::new(&self.tools.tls_memory);
                command.args(["--size", size, "--seconds", &format!("{:.3}", self.seconds)]);
                number(&self.alone(&command)?, figure)
            }
        }
    }

    /// What a program prints that works in memory.
    fn alone(&self, command: &Command) -> Result<String> {
        let mut process = Process::start("alone", driver::CORE, command, &self.tools.scratch)?;
        process.finish(PATIENCE)
    }

    /// Our WebSocket machines beside the codec alone; both take turns in one process.
    fn deflate(&self) -> Result<Vec<Line>> {
        let mut levels = [Vec::new(), Vec::new()];
        for _ in 0..self.rounds {
            let printed = self.alone(&Command::new(&self.tools.deflate_memory))?;
            for (line, pairs) in printed.lines().zip(&mut levels) {
                let us = |name: &str| Ok::<f64, anyhow::Error>(number(line, name)? / 1e3);
                let pair = Pair { subject: us("/websocket_ns")?, baseline: us("/flate2_ns")? };
                pairs.push((number(line, "/level")?, pair));
            }
        }
        let ratio = |pairs: &Vec<(f64, Pair)>| {
            let (level, _) = pairs.first().context("it printed nothing")?;
            let name = format!("CPU us, level {level}");
            let pairs: Vec<Pair> = pairs.iter().map(|(_, pair)| *pair).collect();
            Ok(Line::ratio(name, &pairs, self.seed, Target::AtMost(1.15)))
        };
        levels.iter().map(ratio).collect()
    }

    /// CPU microseconds of the generator for each message, by the accounting of its process.
    fn generator(&self, scheme: &str, words: &[&str]) -> Result<f64> {
        let authority = self.tools.scratch.join("ca.pem");
        let mut serve = Command::new(&self.tools.wirebench);
        serve.args(["serve", scheme, "--listen", "127.0.0.1:0"]);
        let is_secure = ["tls", "wss"].contains(&scheme);
        if is_secure {
            serve.arg("--ca-out").arg(&authority);
        }
        let mut process = Process::start("server", server::CORE, &serve, &self.tools.scratch)?;
        let address = server::await_ready(&mut process)?;
        let mut run = Command::new(&self.tools.wirebench);
        run.args(["run", &format!("{scheme}://{address}")]).args(words);
        if is_secure {
            run.arg("--ca").arg(&authority);
        }
        run.args(["--output", "-"]);
        let mut generator = Process::start("generator", driver::CORE, &run, &self.tools.scratch)?;
        let record = generator.finish(PATIENCE)?;
        for outcome in ["error", "timed_out", "unsent"] {
            let count = number(&record, &format!("/blocks/0/counts/{outcome}"))?;
            anyhow::ensure!(count == 0.0, "it counted {count} of {outcome}");
        }
        number(&record, "/blocks/0/cpu/generator_us_per_message")
    }

    /// Resident memory for each idle connection: without compression, with it before the first message, after
    /// messages without context takeover, and with it.
    fn memory(&self) -> Result<Vec<Line>> {
        let plain = self.bytes_each(None, Busy::Hardly)?;
        let idle = self.bytes_each(Some(TAKEOVER), Busy::Hardly)?;
        let freed = self.bytes_each(Some(NO_TAKEOVER), Busy::All)?;
        let kept = self.bytes_each(Some(TAKEOVER), Busy::All)?;
        Ok(vec![
            Line::heading("resident bytes of the generator for each connection"),
            Line::figure("without deflate", plain, Target::Shown),
            Line::figure("before a message", idle, Target::AtMost(plain + WINDOW_MIN)),
            Line::figure("no context takeover", freed, Target::AtMost(plain + WINDOW_MIN)),
            Line::figure("context takeover", kept, Target::Shown),
        ])
    }

    /// The slope between two numbers of connections.
    fn bytes_each(&self, deflate: Option<&str>, busy: Busy) -> Result<f64> {
        let [few, many] = CONNECTIONS;
        let resident = [few, many].map(|connections| self.resident(deflate, busy, connections));
        let [less, more] = resident;
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let connections = (many - few) as f64;
        Ok((more? - less?) / connections)
    }

    fn resident(&self, deflate: Option<&str>, busy: Busy, connections: usize) -> Result<f64> {
        let scratch = &self.tools.scratch;
        let mut serve = Command::new(&self.tools.wirebench);
        serve.args(["serve", "ws", "--listen", "127.0.0.1:0", "--deflate"]);
        let mut process = Process::start("server", server::CORE, &serve, scratch)?;
        let address = server::await_ready(&mut process)?;
        let mut run = Command::new(&self.tools.wirebench);
        run.args(["run", &format!("ws://{address}/"), "--duration", "60s", "--output", "-"]);
        run.args(["--payload-kind", "json", "--size", "1024"]);
        run.args(["--connections", &connections.to_string()]);
        if busy == Busy::Hardly {
            run.args(["--rate", "1/s"]);
        }
        run.args(deflate.map(|parameters| format!("--deflate={parameters}")));
        let mut generator = Process::start("generator", driver::CORE, &run, scratch)?;
        generator.wait_for("all connections", PATIENCE, |generator| {
            Ok((generator.open_files()? >= connections).then_some(()))
        })?;
        sleep(REST);
        let resident = generator.resident()?;
        eprintln!("  {connections:>6} connections, {busy:?} busy, {deflate:?}: {resident} bytes");
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        Ok(resident as f64)
    }
}

impl Part {
    fn name(self) -> String {
        match self {
            Self::Messages { scheme, .. } => format!("{scheme} message"),
            Self::Clients { scheme, resumption: Some(resumption) } => {
                format!("{scheme} client, {resumption}")
            }
            Self::Clients { scheme, resumption: None } => format!("{scheme} client"),
            Self::Alone { figure, .. } => format!("in memory, {}", shortened(figure)),
        }
    }
}

/// The rounds in which the cores stayed in one placement, of whichever has more of them.
fn one_placement(rounds: &[Round]) -> (Vec<&Round>, Placement) {
    let crossings: Vec<f64> = rounds.iter().flat_map(|round| round.crossing_ns.clone()).collect();
    let far_from = interleave::far_from(&crossings);
    let of = |wanted: Placement| -> Vec<&Round> {
        let is_there = |round: &&Round| {
            let mut pairs = round.crossing_ns.windows(2).map(|pair| [pair[0], pair[1]]);
            pairs.all(|pair| interleave::placement(pair, far_from) == wanted)
        };
        rounds.iter().filter(is_there).collect()
    };
    let (near, far) = (of(Placement::Near), of(Placement::Far));
    if near.len() >= far.len() { (near, Placement::Near) } else { (far, Placement::Far) }
}

/// A figure's name without what it is measured in, and at which end: all are ours.
fn shortened(figure: &str) -> &str {
    figure.trim_start_matches('/').trim_end_matches("_us").trim_end_matches("_client")
}

/// A number of a JSON text.
fn number(printed: &str, pointer: &str) -> Result<f64> {
    let value: Value = serde_json::from_str(printed).context("it printed no JSON")?;
    let number = value.pointer(pointer).and_then(Value::as_f64);
    number.with_context(|| format!("what it printed has no number at {pointer}"))
}

/// How many clients a block has.
const CLIENTS: &str = "4000";
/// The slope of memory is taken between these.
const CONNECTIONS: [usize; 2] = [200, 1200];
/// How long connections rest, or exchange messages, before memory is read.
const REST: Duration = Duration::from_secs(3);
/// No window is smaller than this, so no connection that costs less has one.
const WINDOW_MIN: f64 = 512.0;
const TAKEOVER: &str = "level=1";
const NO_TAKEOVER: &str = "client_no_context_takeover,server_no_context_takeover,level=1";
const PATIENCE: Duration = Duration::from_secs(90);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_counts_if_the_cores_stayed_where_they_were() {
        let round = |crossing_ns: &[f64]| Round { crossing_ns: crossing_ns.to_vec(), us: vec![] };
        let rounds = [
            round(&[61.0, 62.0, 61.0]),
            round(&[61.0, 160.0, 160.0]),
            round(&[160.0, 158.0, 160.0]),
            round(&[62.0, 63.0, 61.0]),
        ];
        let (kept, placement) = one_placement(&rounds);
        assert_eq!((kept.len(), placement), (2, Placement::Near));
        assert_eq!(one_placement(&rounds[1..3]).1, Placement::Far);
    }

    #[test]
    fn numbers_are_found_by_where_they_stand() {
        let printed = r#"{"blocks": [{"counts": {"error": 2}}]}"#;
        assert_eq!(number(printed, "/blocks/0/counts/error").unwrap(), 2.0);
        assert!(number(printed, "/blocks/0/counts/unsent").is_err());
        assert!(number("", "/any").is_err());
        assert_eq!(shortened("/full_client_us"), "full");
    }
}
