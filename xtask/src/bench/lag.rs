//! How late an open loop sends, beside the timer of the machine itself.
//!
//! Send lag is the generator's own error: from due to sent. The timer floor is how much longer than asked a short sleep
//! takes, measured by the same process before it sends: no generator that sleeps can be more punctual than that.

use super::Bench;
use super::process::Process;
use super::report::{Line, Target};
use super::{driver, server};
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

/// What is asked, of both.
const RATE: u32 = 5_000;
const CONNECTIONS: u32 = 100;
const SECONDS: u32 = 10;
/// The targets, in microseconds.
const P50_US_MAX: f64 = 40.0;
const P99_US_MAX: f64 = 150.0;

/// The medians over the rounds in which the machine let the generator run: one whose record has stalls says how late a
/// machine is, not a program. How many those were is said. Generator and server have a core each.
pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let mut rounds = Vec::new();
    let mut floor_max = Vec::new();
    for round in 0..bench.rounds {
        let lag = Lag::read(&wirebench(bench)?)?;
        floor_max.push(floor(bench)?);
        let [p50, p99] = lag.lag_us;
        let stalls = lag.stalls;
        eprintln!(
            "  {:>3}/{} lag p50 {p50:.1} us, p99 {p99:.1} us, {stalls} stalls",
            round + 1,
            bench.rounds
        );
        rounds.push(lag);
    }
    let calm: Vec<&Lag> = rounds.iter().filter(|lag| lag.stalls == 0).collect();
    ensure!(!calm.is_empty(), "the machine took the core away in every round: {rounds:?}");
    let median =
        |of: fn(&Lag) -> f64| stats::median(&calm.iter().map(|lag| of(lag)).collect::<Vec<f64>>());
    let worst = rounds.iter().map(|lag| lag.lag_us[1]).fold(0.0, f64::max);
    Ok(vec![
        Line::heading(format!("{RATE}/s over {CONNECTIONS} tcp connections, {SECONDS} s")),
        Line::heading(format!("{} of {} rounds without a stall:", calm.len(), rounds.len())),
        Line::figure("send lag p50 us", median(|lag| lag.lag_us[0])?, Target::AtMost(P50_US_MAX)),
        Line::figure("send lag p99 us", median(|lag| lag.lag_us[1])?, Target::AtMost(P99_US_MAX)),
        Line::figure("timer floor p50 us", median(|lag| lag.timer_us[0])?, Target::Shown),
        Line::figure("timer floor p99 us", median(|lag| lag.timer_us[1])?, Target::Shown),
        Line::heading("all rounds:"),
        Line::figure("worst send lag p99 us", worst, Target::Shown),
        Line::heading("floor_epoll -m open wakes up once in a ms, and says its worst alone"),
        Line::figure("its latest us", stats::median(&floor_max)?, Target::Shown),
    ])
}

/// The record of a run against the embedded server.
fn wirebench(bench: &Bench) -> Result<String> {
    let tools = &bench.tools;
    let mut serve = Command::new(&tools.wirebench);
    serve.args(["serve", "tcp", "--listen", "127.0.0.1:0"]);
    let mut server = Process::start("server", server::CORE, &serve, &tools.scratch)?;
    let address = server::await_ready(&mut server)?;
    let mut command = Command::new(&tools.wirebench);
    command.args(["run", &format!("tcp://{address}"), "--rate", &format!("{RATE}/s")]);
    command.args(["-c", &CONNECTIONS.to_string(), "-d", &format!("{SECONDS}s"), "--output", "-"]);
    let mut generator = Process::start("generator", driver::CORE, &command, &tools.scratch)?;
    generator.finish_with(&EXIT_CODES, PATIENCE)
}

/// The latest send of the floor program, in microseconds.
fn floor(bench: &Bench) -> Result<f64> {
    let tools = &bench.tools;
    let server = server::Server::start(server::Kind::TcpEpoll, tools)?;
    let mut command = Command::new(tools.floor("floor_epoll"));
    command.args(["-m", "open", "-P", "tcp", "-p", &server.address.port().to_string(), "-s", "64"]);
    command.args(["-c", &CONNECTIONS.to_string(), "-r", &(RATE / CONNECTIONS).to_string()]);
    command.args(["-d", &SECONDS.to_string()]);
    let printed =
        Process::start("generator", driver::CORE, &command, &tools.scratch)?.finish(PATIENCE)?;
    late_max_us(&printed)
}

/// `RESULT … late_max_us=…`
fn late_max_us(printed: &str) -> Result<f64> {
    let mut pairs = printed.split_whitespace().filter_map(|pair| pair.split_once('='));
    let (_, value) =
        pairs.find(|(name, _)| *name == "late_max_us").context("it printed no late_max_us")?;
    value.parse().with_context(|| format!("late_max_us={value}"))
}

/// What a record says of it, p50 and p99 in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Lag {
    lag_us: [f64; 2],
    timer_us: [f64; 2],
    /// How often the worker stood still.
    stalls: u64,
}

impl Lag {
    fn read(record: &str) -> Result<Self> {
        let record: Value = serde_json::from_str(record).context("it printed no JSON")?;
        let us = |pointer: &str| -> Result<f64> {
            let ns = record.pointer(pointer).and_then(Value::as_f64);
            Ok(ns.with_context(|| format!("its record has no {pointer}"))? / 1e3)
        };
        let lag = "/blocks/0/open_loop/send_lag";
        let timer = "/environment/timer_floor/overshoot";
        let stalls = record.pointer("/blocks/0/stalls/count").and_then(Value::as_u64);
        Ok(Self {
            lag_us: [us(&format!("{lag}/p50_ns"))?, us(&format!("{lag}/p99_ns"))?],
            timer_us: [us(&format!("{timer}_p50_ns"))?, us(&format!("{timer}_p99_ns"))?],
            stalls: stalls.context("its record has no stalls")?,
        })
    }
}

/// Done, and invalid: a generator that is late says that it is, and is a row all the same.
const EXIT_CODES: [i32; 2] = [0, 12];
/// How long either may take to end.
const PATIENCE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lag_and_timer_floor_are_read_from_a_record() {
        let record = r#"{"environment": {"timer_floor": {"overshoot_p50_ns": 6000, "overshoot_p99_ns": 52000}},
            "blocks": [{"open_loop": {"send_lag": {"p50_ns": 9500, "p99_ns": 70000}}, "stalls": {"count": 2}}]}"#;
        let lag = Lag::read(record).unwrap();
        assert_eq!(lag, Lag { lag_us: [9.5, 70.0], timer_us: [6.0, 52.0], stalls: 2 });
        let error = Lag::read(&record.replace("send_lag", "lag")).unwrap_err();
        assert_eq!(error.to_string(), "its record has no /blocks/0/open_loop/send_lag/p50_ns");
    }

    #[test]
    fn the_latest_send_of_the_floor_program_is_read() {
        let printed =
            "UP conns=100\nRESULT rts=50000 secs=10.0 errs=0 rss_kb=2000 late_max_us=1063.2\n";
        assert_eq!(late_max_us(printed).unwrap(), 1063.2);
        assert!(late_max_us("RESULT rts=1").is_err());
    }
}
