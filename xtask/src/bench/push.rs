//! `cargo xtask bench push`: the CPU time of our receivers for each delivery, relative to that of receivers in C, and
//! the memory that the relay takes for each receiver, over WebSocket and by polling.
//!
//! The receivers in C (`subjects/floor-relay/receivers.c`) hold as many connections to the same relay and read the same
//! bytes from it. Both sides publish as well, at the same rate, and take turns. Our time is that of the entire process
//! in the measured window; the time in C is that of the entire process from the first measured message to the last
//! delivery. The memory is what `wirebench run` records (docs/PUSH.md, "Memory of a receiver"), with a new relay each
//! time.
//!
//! Left out: TLS, compression, several rooms, and what sockets take in the kernel.

use super::{Figure, GENERATOR_CORE, SERVER_CORE, as_f64};
use crate::packages::{self, Need};
use crate::process::{self, Process};
use crate::shell;
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde_json::Value;
use stats::{Part, Pooled};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Measure our receivers of pushes beside receivers in C, and the memory that the relay takes for each receiver
#[derive(clap::Args, Debug)]
pub(super) struct PushArgs {
    /// Rounds, each of a run of ours and one of the receivers in C; from 6 on the ratio has its interval
    #[arg(long, default_value_t = 6, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// The measured seconds of each run
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// The binary to measure with, in place of the release build of this tree
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// Measures the figures, each with its bound. Fails if a side did not get each delivery exactly once.
pub(super) fn measure(arguments: &PushArgs) -> Result<Vec<Figure>> {
    let scratch = super::scratch("push")?;
    let receivers = build(&scratch)?;
    let wirebench = super::program(arguments.program.as_deref())?;
    let bench = Bench { wirebench, receivers, scratch };
    let mut figures = vec![bench.against_c(arguments.rounds, arguments.seconds)?];
    for held in HELD {
        figures.push(bench.memory(&held)?);
    }
    Ok(figures)
}

/// Builds the receivers in C, and returns the path of the program.
fn build(scratch: &Path) -> Result<PathBuf> {
    packages::ensure(&[
        Need::debian("cc", "gcc"),
        Need::debian("/usr/include/stdio.h", "libc6-dev"),
    ])?;
    let program = scratch.join("receivers");
    let mut cc = shell::command("cc");
    cc.args(["-std=gnu11", "-O2", "-march=native", "-Wall", "-Wextra", "-Wno-unused-function"]);
    cc.args(["-I", "subjects/shared", "-o"]).arg(&program).arg("subjects/floor-relay/receivers.c");
    shell::output(&mut cc)
        .context("the receivers in C cannot be built; see what the compiler says")?;
    Ok(program)
}

/// The programs that are measured.
struct Bench {
    wirebench: PathBuf,
    /// The receivers in C.
    receivers: PathBuf,
    scratch: PathBuf,
}

impl Bench {
    /// Measures the CPU time of a delivery, ours relative to that in C, from pairs of runs against one relay.
    fn against_c(&self, rounds: u32, seconds: u32) -> Result<Figure> {
        let (_relay, address) = self.relay()?;
        let mut parts = [Vec::new(), Vec::new()];
        for round in 0..rounds {
            // Neither side always goes first.
            for side in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
                let side_name = NAMES[side];
                let used = match side {
                    0 => self.ours(address, seconds),
                    _ => self.in_c(address, seconds),
                };
                let used = used.and_then(|used| used.checked(RECEIVERS));
                let used = used.with_context(|| format!("round {}, {side_name}", round + 1))?;
                let part = used.part();
                eprintln!(
                    "  round {} of {rounds}, {side_name}: {:.3} us a delivery, {} deliveries, {:.2} ms after due",
                    round + 1,
                    part.of / part.by,
                    used.deliveries,
                    used.mean_ms
                );
                parts[side].push(Some(part));
            }
        }
        let (figure, words) = ratio(&parts)?;
        eprintln!("  {words}");
        Ok(figure)
    }

    /// Runs our receivers once.
    fn ours(&self, address: SocketAddr, seconds: u32) -> Result<Used> {
        let record = self.scratch.join("push.json");
        super::forget(&record)?;
        let mut run = Command::new(&self.wirebench);
        run.args(["run", &format!("ws://{address}/"), "--quiet", "--conversation", "room"]);
        run.args(["--publish", &format!("{RATE}/s"), "--rooms", "1"]);
        run.args(["--receivers", &RECEIVERS.to_string(), "--warm-up", &format!("{WARM_UP_S}s")]);
        run.args(["--duration", &format!("{seconds}s"), "--output"]).arg(&record);
        self.finish("run", &run, &GOOD, seconds)?;
        Used::of_record(&super::record(&record)?)
    }

    /// Runs the receivers in C once.
    fn in_c(&self, address: SocketAddr, seconds: u32) -> Result<Used> {
        let mut run = Command::new(&self.receivers);
        run.args([address.ip().to_string(), address.port().to_string()]);
        let counts = [RECEIVERS, RATE, RATE * WARM_UP_S, RATE * seconds];
        run.args(counts.map(|count| count.to_string()));
        Used::of_line(&self.finish("receivers", &run, &[0], seconds)?)
    }

    /// Measures the bytes that a new relay takes for each of these receivers.
    fn memory(&self, held: &Held) -> Result<Figure> {
        let Held { name, scheme, path, conversation, receivers, at_most } = *held;
        eprintln!("  {name}: {receivers} of them");
        let (relay, address) = self.relay()?;
        let record = self.scratch.join("memory.json");
        super::forget(&record)?;
        let mut run = Command::new(&self.wirebench);
        run.args(["run", &format!("{scheme}://{address}{path}"), "--quiet"]);
        run.args(["--conversation", conversation, "--publish", HARDLY, "--rooms", "1"]);
        run.args(["--receivers", &receivers.to_string(), "--server-pid", &relay.id().to_string()]);
        run.args(["--warm-up", &format!("{WARM_UP_S}s"), "--duration", &format!("{REST_S}s")]);
        run.arg("--output").arg(&record);
        let bytes = self.finish("run", &run, &GOOD, REST_S).and_then(|_| {
            let record = super::record(&record)?;
            bytes_each(&record, receivers)
        });
        let bytes = bytes.with_context(|| format!("{receivers} receivers: {name}"))?;
        Ok(Figure::at_most(name, bytes, at_most))
    }

    /// Starts a relay; it ends when the first value is dropped.
    fn relay(&self) -> Result<(Process, SocketAddr)> {
        let mut serve = Command::new(&self.wirebench);
        serve.args(["serve", "relay", "--listen", "127.0.0.1:0"]);
        let mut relay = Process::start("relay", SERVER_CORE, &serve, &self.scratch)?;
        let address = process::await_ready(&mut relay).with_context(|| {
            format!("the relay did not start; see what `{}` says", shell::shown(&serve))
        })?;
        Ok((relay, address))
    }

    /// Runs a command that measures for `seconds` to its end, and returns what it printed.
    fn finish(&self, name: &str, run: &Command, codes: &[i32], seconds: u32) -> Result<String> {
        let patience = PATIENCE + Duration::from_secs(2 * u64::from(seconds));
        let mut process = Process::start(name, GENERATOR_CORE, run, &self.scratch)?;
        process.finish_with(codes, patience).map_err(|error| {
            anyhow!(
                "{error:#}\n  to try it alone, start `wirebench serve relay`, and give its address and process id to \
                 `{}`",
                shell::shown(run)
            )
        })
    }
}

/// The CPU time that one run of a side used, and its deliveries.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Used {
    cpu_us: f64,
    published: u64,
    deliveries: u64,
    /// Deliveries that arrived twice, early, out of order or damaged.
    wrong: u64,
    /// The mean time from when a message was due until a receiver had it.
    mean_ms: f64,
}

impl Used {
    /// Reads the one block of a record.
    fn of_record(record: &Value) -> Result<Self> {
        let block = block(record)?;
        let counts = &block["deliveries"]["counts"];
        let count = |name: &str| {
            let count = counts[name].as_u64();
            count.with_context(|| format!("the record has no deliveries that are `{name}`"))
        };
        let wrong = ["duplicate", "reordered", "early", "foreign"].into_iter().map(count);
        let cores = block["cpu"]["generator_cores_used"].as_f64();
        let cores = cores.context("the record has no CPU time of the generator")?;
        let measured_ns = block["measured_ns"].as_f64();
        let measured_ns = measured_ns.context("the record has no length of its block")?;
        let mean_ns = block["open_loop"]["response"]["mean_ns"].as_f64();
        Ok(Self {
            cpu_us: cores * measured_ns / 1e3,
            published: count("published")?,
            deliveries: count("delivered")?,
            wrong: wrong.sum::<Result<u64>>()?,
            mean_ms: mean_ns.context("the record has no time of deliveries")? / 1e6,
        })
    }

    /// Reads the last line that the receivers in C have printed.
    fn of_line(printed: &str) -> Result<Self> {
        let unread = || format!("the receivers in C ended without their counts, with {printed:?}");
        let line = printed.lines().last().with_context(unread)?;
        let line: Value = serde_json::from_str(line).with_context(unread)?;
        let count = |name: &str| {
            line[name].as_u64().with_context(|| format!("the receivers in C have no `{name}`"))
        };
        Ok(Self {
            cpu_us: as_f64(count("cpu_ns")?) / 1e3,
            published: count("published")?,
            deliveries: count("deliveries")?,
            wrong: count("wrong")?,
            mean_ms: as_f64(count("mean_ns")?) / 1e6,
        })
    }

    /// Returns `self` if each message reached each receiver exactly once.
    fn checked(self, receivers: u32) -> Result<Self> {
        let Self { published, deliveries, wrong, .. } = self;
        ensure!(published > 0, "nothing was published; measure for longer (--seconds)");
        let owed = published * u64::from(receivers);
        ensure!(
            deliveries == owed && wrong == 0,
            "{published} messages to {receivers} receivers are {owed} deliveries, but {deliveries} came as they should \
             and {wrong} otherwise: the figure would not be that of the same work; try again on a quiet machine"
        );
        Ok(self)
    }

    fn part(self) -> Part {
        Part { of: self.cpu_us, by: as_f64(self.deliveries) }
    }
}

/// The one block of a record.
fn block(record: &Value) -> Result<&Value> {
    let block = record["blocks"].get(0).context("the record has no block")?;
    let failed = ["failed", "cut_short"].into_iter().find_map(|key| block[key].as_str());
    match failed {
        Some(reason) => bail!("the run failed: {reason}"),
        None => Ok(block),
    }
}

/// The CPU time of a delivery relative to that in C, and the same in words with its interval.
fn ratio(parts: &[Vec<Option<Part>>; 2]) -> Result<(Figure, String)> {
    let side = |side: usize| Pooled::quotient(&parts[side]).context("no delivery was measured");
    let [ours, in_c] = [side(0)?, side(1)?];
    let ratio = ours.over(&in_c);
    let interval = ratio.interval().map_or_else(
        || format!("no interval of {} rounds", ratio.rounds()),
        |(low, high)| format!("{low:.3}, {high:.3}"),
    );
    let [value, ours, in_c] = [ratio.value(), ours.value(), in_c.value()];
    let words = format!("{value:.3}x [{interval}], {ours:.3} us by {in_c:.3} us");
    Ok((Figure::at_most("CPU a delivery, % of that in C", 100.0 * value, CPU_PERCENT_MAX), words))
}

/// The growth of the relay for each of its receivers, if all of them were there to the end.
fn bytes_each(record: &Value, receivers: u32) -> Result<f64> {
    let block = block(record)?;
    let connections = &block["connections"];
    for missing in ["failed", "lost"] {
        let count = connections[missing].as_u64().context("the record has no connections")?;
        ensure!(
            count == 0,
            "{count} connections {missing}: raise `ulimit -n`, stop other programs, and try again"
        );
    }
    let memory = &block["memory"];
    let both = |before: &str, end: &str| {
        memory["server_before"][before].as_f64().zip(memory[end].as_f64())
    };
    // As in the record itself: proportional memory if the kernel reports it, else resident memory.
    let known =
        both("pss_bytes", "server_pss_bytes").or_else(|| both("rss_bytes", "server_rss_bytes"));
    let (before, end) = known.context("the record has no memory of the relay; is /proc there?")?;
    Ok((end - before) / f64::from(receivers))
}

/// Receivers that a relay is to hold.
#[derive(Clone, Copy, Debug)]
struct Held {
    name: &'static str,
    scheme: &'static str,
    path: &'static str,
    conversation: &'static str,
    receivers: u32,
    /// The most bytes that the relay may take for each.
    at_most: f64,
}

#[rustfmt::skip]
const HELD: [Held; 3] = [
    Held { name: "bytes a receiver, WebSocket",    scheme: "ws",         path: "/",      conversation: "room",          receivers: 10_000, at_most: 1024.0 },
    Held { name: "bytes a receiver, long polling", scheme: "http",       path: "/",      conversation: "room-longpoll", receivers: 4_000,  at_most: 4096.0 },
    Held { name: "bytes a receiver, SockJS xhr",   scheme: "sockjs+xhr", path: "/rooms", conversation: "room",          receivers: 4_000,  at_most: 4096.0 },
];

/// The two sides.
const NAMES: [&str; 2] = ["ours", "in C"];
/// The exit codes of a run that was measured: trusted or degraded, invalid, partial. Deliveries are checked separately.
const GOOD: [i32; 3] = [0, 12, 13];
/// The most that a delivery may cost us, in percent of its cost in C.
const CPU_PERCENT_MAX: f64 = 110.0;
/// Receivers of the one room of a comparison.
const RECEIVERS: u32 = 1000;
/// Messages that are published in a second: 50 000 deliveries, which leave both cores time to sleep.
const RATE: u32 = 50;
/// Seconds of a warm-up.
const WARM_UP_S: u32 = 1;
/// The rate at which receivers get messages while the memory for them is read: the least that proves them within a
/// warm-up.
const HARDLY: &str = "1/s";
/// Seconds for which receivers are held before the memory is read.
const REST_S: u32 = 4;
/// The time for everything besides the measurement.
const PATIENCE: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_closing_line_of_the_receivers_in_c_is_read() {
        let line =
            r#"{"published":2,"deliveries":2000,"wrong":0,"cpu_ns":3000000,"mean_ns":1500000}"#;
        let used = Used::of_line(&format!("{line}\n")).unwrap();
        let expected =
            Used { cpu_us: 3000.0, published: 2, deliveries: 2000, wrong: 0, mean_ms: 1.5 };
        assert_eq!(used, expected);
        let error = |printed: &str| Used::of_line(printed).unwrap_err().to_string();
        assert_eq!(error(""), "the receivers in C ended without their counts, with \"\"");
        assert!(error("connect: refused").contains("with \"connect: refused\""));
        assert_eq!(error(r#"{"cpu_ns":1}"#), "the receivers in C have no `published`");
    }

    /// A record of one block.
    fn record(change: impl FnOnce(&mut Value)) -> Value {
        let counts = json!({
            "published": 2, "delivered": 2000, "duplicate": 0, "reordered": 0, "early": 0, "foreign": 0,
        });
        let before = json!({ "pss_bytes": 3_000_000, "is_first": true });
        let mut block = json!({
            "failed": null,
            "measured_ns": 2_000_000_000_u64,
            "cpu": { "generator_cores_used": 0.5 },
            "open_loop": { "response": { "mean_ns": 1.5e6 } },
            "deliveries": { "counts": counts },
            "connections": { "failed": 0, "lost": 0 },
            "memory": { "server_pss_bytes": 4_000_000, "server_before": before },
        });
        change(&mut block);
        json!({ "blocks": [block] })
    }

    #[test]
    fn a_record_has_the_cpu_time_of_its_window_and_the_growth_of_the_relay() {
        let used = Used::of_record(&record(|_| ())).unwrap();
        let expected = Used { cpu_us: 1e6, published: 2, deliveries: 2000, wrong: 0, mean_ms: 1.5 };
        assert_eq!(used, expected);
        assert!((bytes_each(&record(|_| ()), 1000).unwrap() - 1000.0).abs() < 1e-9);
        let failed = record(|block| block["failed"] = "no relay".into());
        let error = Used::of_record(&failed).unwrap_err().to_string();
        assert_eq!(error, "the run failed: no relay");
        let lost = record(|block| block["connections"]["lost"] = 3.into());
        let error = bytes_each(&lost, 1000).unwrap_err().to_string();
        assert!(error.starts_with("3 connections lost"), "{error}");
        let unknown = record(|block| block["memory"]["server_pss_bytes"] = Value::Null);
        assert!(bytes_each(&unknown, 1000).is_err());
    }

    #[test]
    fn a_side_has_to_get_each_delivery_exactly_once() {
        let used = Used { cpu_us: 1.0, published: 2, deliveries: 2000, wrong: 0, mean_ms: 1.0 };
        assert_eq!(used.checked(1000).unwrap(), used);
        let error = |used: Used| used.checked(1000).unwrap_err().to_string();
        let lost = error(Used { deliveries: 1999, ..used });
        assert!(lost.contains("are 2000 deliveries, but 1999 came"), "{lost}");
        assert!(error(Used { wrong: 1, ..used }).contains("and 1 otherwise"));
        assert!(error(Used { published: 0, deliveries: 0, ..used }).contains("--seconds"));
    }

    #[test]
    fn a_ratio_is_held_against_its_bound_and_has_an_interval_from_six_rounds_on() {
        let side = |us: f64, rounds: usize| vec![Some(Part { of: us, by: 1.0 }); rounds];
        let found = |ours: f64, rounds| {
            let (figure, words) = ratio(&[side(ours, rounds), side(2.0, rounds)]).unwrap();
            (figure.text(), words)
        };
        let (held, words) = found(2.0, 6);
        assert_eq!(words, "1.000x [1.000, 1.000], 2.000 us by 2.000 us");
        assert!(held.starts_with("CPU a delivery, % of that in C "), "{held}");
        assert!(held.ends_with(" 100.0  at most 110"), "{held}");
        let (missed, words) = found(2.4, 2);
        assert!(words.starts_with("1.200x [no interval of 2 rounds]"), "{words}");
        assert!(missed.ends_with(" 120.0  at most 110: MISSED"), "{missed}");
    }
}
