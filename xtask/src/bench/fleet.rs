//! `cargo xtask bench fleet`: fleets in network namespaces on this machine: what agents reach together, how soon a
//! missing one is noticed, how well starts and clocks agree, what coordination costs, and what is left of a run when
//! something is killed. docs/FLEET.md has the figures.

mod arrivals;
mod harness;

use super::two_ways::{self, Loaded};
use crate::process::Process;
use crate::shell;
use anyhow::{Context as _, Result, bail, ensure};
use arrivals::{Arrivals, SIZE};
use harness::{Fleet, PATIENCE};
use serde_json::{Value, json};
use stats::{Part, Pooled};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};
use units::Random;

/// Measure fleets in network namespaces of their own, as root
#[derive(clap::Args, Debug)]
pub(super) struct FleetArgs {
    /// Only these, with commas between them
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME")]
    only: Vec<Figure>,
    /// Rounds of each, in place of its own number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rounds: Option<u32>,
    /// A tenth of the rounds: to see that it works
    #[arg(long, conflicts_with = "rounds")]
    quick: bool,
    /// The binary to measure with, which has the feature `fleet`, in place of the release build of this tree
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// The same, for the call inside the namespaces.
    #[arg(long, hide = true, value_name = "PATH")]
    inside: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Figure {
    /// Rates that 1, 2 and 4 agents reach on links of 16 Mbit/s (6 rounds, 3 minutes)
    Share,
    /// The time until agents that are killed, stopped or cut off are noticed (50 of each, 10 minutes)
    Notice,
    /// The spread of the begins of 8 agents (12 rounds, 2 minutes)
    Start,
    /// The offsets of clocks that begin 3 s apart, half of which are slow by 50 millionths (12 rounds, 4 minutes)
    Clocks,
    /// CPU time of coordination, and an open loop with and without it (12 rounds, 4 minutes)
    Cost,
    /// A closed loop with and without it, whose p99 differs less from run to run (12 rounds, 3 minutes)
    CostClosed,
    /// Records when something is killed at a random instant of a sweep: their sums, and what they have of one that
    /// nothing disturbed (200 rounds, 60 minutes)
    Kills,
    /// 100 000 idle connections and 20 000 bots over 7 agents (1 round, 2 minutes)
    Idle,
}

/// Prints a line, or a few, for each figure.
pub(super) fn run(arguments: &FleetArgs) -> Result<()> {
    let Some(wirebench) = &arguments.inside else {
        return harness::enter(arguments.program.as_deref());
    };
    let all = <Figure as clap::ValueEnum>::value_variants();
    for figure in all {
        if !arguments.only.is_empty() && !arguments.only.contains(figure) {
            continue;
        }
        let rounds = |own: u32| {
            let own = if arguments.quick { own.div_ceil(10) } else { own };
            arguments.rounds.unwrap_or(own) as usize
        };
        eprintln!("  {figure:?}");
        let text = match figure {
            Figure::Share => share(wirebench, rounds(6)),
            Figure::Notice => notice(wirebench, rounds(50)),
            Figure::Start => begins(wirebench, rounds(12), false),
            Figure::Clocks => begins(wirebench, rounds(12), true),
            Figure::Cost => cost(wirebench, rounds(12)),
            Figure::CostClosed => with_and_without(wirebench, rounds(12), ""),
            Figure::Kills => kills(wirebench, rounds(200)),
            Figure::Idle => idle(wirebench, rounds(1)),
        };
        println!("{}", text?);
    }
    Ok(())
}

/// Measures how many messages 1, 2 and 4 agents exchange per second on saturated links.
fn share(wirebench: &Path, rounds: usize) -> Result<String> {
    let mut fleet = Fleet::up(wirebench, 4, Some(LINK))?;
    let url = fleet.serve(None, "ws")?;
    let counts = [1, 2, 4];
    let mut reached = [const { Vec::new() }; 3];
    for round in 0..rounds {
        // No number of agents always goes first.
        for side in if round % 2 == 0 { [0, 1, 2] } else { [2, 1, 0] } {
            let agents = counts[side];
            fleet.keep(agents)?;
            let load = format!("-c {} --size 1KiB -d 4s --seed {round}", 20 * agents);
            let mut run = fleet.start_run(None, &format!("run {url} {load} --agents {agents}"))?;
            let rate = number(&fleet.record(&mut run)?["blocks"][0]["messages_per_s"])?;
            reached[side].push(Some(Part { of: rate, by: float(agents) }));
        }
    }
    let [one, two, four] = reached.map(|rates| Pooled::quotient(&rates));
    let [one, two, four] = [one, two, four].map(|rate| rate.context("no round was measured"));
    let (one, two, four) = (one?, two?, four?);
    Ok(format!(
        "share: on links of {LINK} one agent exchanges {:.0} messages/s, each of two {}, of four {}; at least 0.97x \
         ({rounds} rounds)",
        one.value(),
        two_ways::with_interval(&two.over(&one)),
        two_ways::with_interval(&four.over(&one))
    ))
}

/// Measures the time from killing, stopping or cutting off an agent until that is reported.
fn notice(wirebench: &Path, rounds: usize) -> Result<String> {
    let mut fleet = Fleet::up(wirebench, 8, None)?;
    let url = fleet.serve(None, "ws")?;
    let mut random = Random::new(7);
    let mut seconds = [const { Vec::new() }; 3];
    let is_open = |seconds: &[Vec<f64>; 3], kind: usize| seconds[kind].len() < rounds;
    while (0..3).any(|kind| is_open(&seconds, kind)) {
        fleet.keep(8)?;
        let load = "--rate 80/s -c 8 -d 55s --warm-up 100ms --agents 8";
        let mut run = fleet.start_run(None, &format!("run {url} {load}"))?;
        run.wait_for_words(0, &["begins in"], PATIENCE)?;
        sleep(Duration::from_millis(1500));
        let (began, mut alive) = (Instant::now(), (0..8).collect::<Vec<usize>>());
        while began.elapsed() < Duration::from_secs(40) {
            let kinds = (0..3).filter(|kind| is_open(&seconds, *kind));
            let kinds: Vec<usize> =
                kinds.filter(|kind| *kind != KILLED || alive.len() > 2).collect();
            if kinds.is_empty() {
                break;
            }
            sleep(random_time(&mut random, 600));
            let (kind, place) = (kinds[random.below(kinds.len())], random.below(alive.len()));
            seconds[kind].push(missed(&fleet, &mut run, kind, alive[place])?);
            if kind == KILLED {
                alive.swap_remove(place);
            }
        }
        run.signal("INT")?;
        run.finish_with(&[130], PATIENCE)?;
        eprintln!("  {:?} of {rounds}", seconds.each_ref().map(Vec::len));
    }
    let lines = ["killed", "stopped", "cut off"].iter().zip(&seconds).map(|(kind, seconds)| {
        Ok(format!("notice: {kind}: {}; at most 3 s", spread(seconds, "s", 2)?))
    });
    Ok(lines.collect::<Result<Vec<_>>>()?.join("\n"))
}

/// Returns the seconds until this agent is reported missing. Unless it was killed, brings it back, and waits for that
/// to be reported.
fn missed(fleet: &Fleet<'_>, run: &mut Process, kind: usize, agent: usize) -> Result<f64> {
    let (from, began) = (run.words().len(), Instant::now());
    let process = &fleet.agents[agent];
    match kind {
        KILLED => process.signal("KILL")?,
        STOPPED => process.signal("STOP")?,
        _ => fleet.link(agent, "down")?,
    }
    let said = [format!("a{agent} is gone"), format!("a{agent} has been silent")];
    let from = run.wait_for_words(from, &[&said[0], &said[1]], PATIENCE)?;
    let seconds = began.elapsed().as_secs_f64();
    match kind {
        KILLED => return Ok(seconds),
        STOPPED => process.signal("CONT")?,
        _ => fleet.link(agent, "up")?,
    }
    run.wait_for_words(from, &[&format!("a{agent} is back")], PATIENCE)?;
    Ok(seconds)
}

/// Measures the starts of 8 agents by the arrival of their messages at one server, and so by one clock: the spread of
/// the first messages, each less the time by which it was due after that of the first agent; and the true errors of
/// their clocks, relative to the median start, next to the bounds of these errors. An error common to all agents does
/// not show.
fn begins(wirebench: &Path, rounds: usize, has_slow: bool) -> Result<String> {
    let mut fleet = Fleet::up(wirebench, AGENTS, None)?;
    let slow = format!("LD_PRELOAD={}", slow_clock(fleet.folder())?.display());
    let arrivals = Arrivals::listen()?;
    let mut micros = [const { Vec::new() }; 4];
    let (mut within, mut left_out) = (0, 0);
    for _ in 0..rounds {
        if has_slow {
            // The clock of an agent counts from the start of its process.
            fleet.agents.clear();
            for agent in 0..AGENTS {
                let before: &[&str] = if agent < AGENTS / 2 { &["env", &slow] } else { &[] };
                sleep(Duration::from_secs(if agent == AGENTS / 2 { 3 } else { 0 }));
                let started = fleet.start_agent(agent, before)?;
                fleet.agents.push(started);
            }
        }
        fleet.keep(AGENTS)?;
        arrivals.forget();
        let load = format!("--rate 400/s -c 8 --size {SIZE}B -d 2s --warm-up 200ms --agents 8");
        let mut run = fleet.start_run(None, &format!("run {} {load}", arrivals.url))?;
        let record = fleet.record(&mut run)?;
        let [Ok(first), Ok(best)] = [1, 20].map(|count| arrivals.late(EVERY, AGENTS, count)) else {
            left_out += 1;
            continue;
        };
        let [most, least] = [1.0, 0.0].map(|end| stats::quantile(&first, end));
        micros[0].push((most? - least?) * 1e6);
        let median = stats::median(&best)?;
        for (part, begin) in parts(&record["blocks"][0]).zip(&best) {
            let bound = number(&part["clock_bound_ns"])? / 1e3;
            let error = (begin - median).abs() * 1e6;
            within += usize::from(error <= bound);
            [number(&part["late_ns"])? / 1e3, bound, error]
                .into_iter()
                .zip(&mut micros[1..])
                .for_each(|(value, all)| all.push(value));
        }
    }
    let count = micros[3].len();
    let [apart, late, bound, error] = micros.map(|all| spread(&all, "us", 0));
    Ok(format!(
        "{}: first messages of {AGENTS} agents lie apart by {}; they began late by their own clocks by {}; clocks: bound \
         {}, true error {}, within its bound {within} of {count}; {left_out} rounds left out: an agent did not begin",
        if has_slow { "clocks, half of them slow by 50 millionths and 3 s ahead" } else { "start" },
        apart?,
        late?,
        bound?,
        error?
    ))
}

/// Builds a library that makes the monotonic clock of a program slow from its first reading on. Timers tolerate a slow
/// clock: they follow the true one, so they end early and are set again.
fn slow_clock(folder: &Path) -> Result<PathBuf> {
    let (source, library) = (folder.join("slow.c"), folder.join("slow.so"));
    fs::write(&source, SLOW_CLOCK)?;
    let mut build = shell::command("cc");
    build.args(["-O2", "-shared", "-fPIC", "-o"]).arg(&library).arg(source);
    shell::output(build.arg("-ldl"))?;
    Ok(library)
}

/// Measures the CPU time of the threads that coordinate, and the times of an open loop with and without a fleet.
fn cost(wirebench: &Path, rounds: usize) -> Result<String> {
    let mut lines = Vec::new();
    for agents in [4, 16] {
        let mut fleet = Fleet::up(wirebench, agents, None)?;
        let url = fleet.serve(None, "ws")?;
        let idle = coordination(wirebench, &fleet)?;
        let load = format!("--rate {}/s -c {} -d 12s", 20 * agents, 2 * agents);
        let mut run = fleet.start_run(None, &format!("run {url} {load} --agents {agents}"))?;
        run.wait_for_words(0, &["begins in"], PATIENCE)?;
        sleep(Duration::from_secs(2));
        let busy = coordination(wirebench, &fleet)?;
        fleet.record(&mut run)?;
        lines.push(format!(
            "cost: {agents} agents, % of a core: control of each {:.2} idle and {:.2} in a block, nats-server {:.2} and \
             {:.2}",
            idle[0], busy[0], idle[1], busy[1]
        ));
    }
    lines.push(with_and_without(wirebench, rounds, "--rate 20000/s")?);
    Ok(lines.join("\n"))
}

/// Measures the times of a load by one agent and by a run without a fleet, in turns.
fn with_and_without(wirebench: &Path, rounds: usize, rate: &str) -> Result<String> {
    let mut fleet = Fleet::up(wirebench, 1, None)?;
    // In both ways server and generator have one core each, so that the agent's control takes its time from the load.
    // Runs of the same kind differ less than on two cores, and less than at a rate at which a core sleeps between
    // messages.
    let url = fleet.serve_on(&super::SERVER_CORE.to_string(), None, "ws")?;
    let core = super::GENERATOR_CORE.to_string();
    let pinned = ["taskset", "--cpu-list", &core];
    fleet.agents.clear();
    fleet.agents.push(fleet.start_agent(0, &pinned)?);
    let line = format!("run {url} {rate} -c 50 -d 2s");
    let mut sides = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        for side in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            let mut run = match side {
                0 => fleet.start_run(Some(0), &line)?,
                _ => fleet.start(Some(0), &pinned, &line)?,
            };
            let run = Loaded::of(&fleet.record(&mut run)?)?;
            eprintln!("  round {} of {rounds}, {}: {}", round + 1, WAYS[side], run.told());
            sides[side].push(run);
        }
    }
    two_ways::table(WAYS, [&sides[0], &sides[1]])
}

/// The two sides of [`with_and_without`].
const WAYS: [&str; 2] = ["one agent", "no fleet"];

/// Measures the share of a core, in percent, that the coordinating threads of an agent take, and the NATS server.
fn coordination(wirebench: &Path, fleet: &Fleet<'_>) -> Result<[f64; 2]> {
    // The main thread, which drives its state machine; the bus; and the thread that adds up the reports of each second.
    let main = wirebench.file_name().and_then(|name| name.to_str()).context("it has a name")?;
    let control = [main, "fleet", "live"];
    let used = || -> Result<[Duration; 2]> {
        let agents = fleet.agents.iter().map(|agent| agent.on_cpu(&control));
        Ok([agents.sum::<Result<Duration>>()?, fleet.server.on_cpu(&[])?])
    };
    let (began, before) = (Instant::now(), used()?);
    sleep(Duration::from_secs(8));
    let (after, time) = (used()?, began.elapsed().as_secs_f64());
    let share = |side: usize| 100.0 * after[side].saturating_sub(before[side]).as_secs_f64() / time;
    Ok([share(0) / float(fleet.agents.len()), share(1)])
}

/// Compares the records of sweeps in which an agent, the controller or the NATS server was killed, each made twice from
/// the log, with that of the same sweep undisturbed.
fn kills(wirebench: &Path, rounds: usize) -> Result<String> {
    let mut fleet = Fleet::up(wirebench, 3, None)?;
    let url = fleet.serve(None, "tcp")?;
    let undisturbed = undisturbed(&mut fleet, &url)?;
    let (mut equal, mut exact, mut same, mut unbegun, mut missing) = (0, 0, 0, 0, 0);
    let (mut lost, mut wrong) = (0, Vec::new());
    for round in 0..rounds {
        match killed(&mut fleet, &url, round) {
            Ok(None) => unbegun += 1,
            Ok(Some(records)) => {
                equal += usize::from(
                    records.windows(2).all(|pair| counted(&pair[0]) == counted(&pair[1])),
                );
                match difference(&undisturbed, &records[0]) {
                    None => same += 1,
                    Some(difference) => wrong.push(format!("\n  round {round}: {difference}")),
                }
                let blocks = records[0]["blocks"].as_array().context("the record has no blocks")?;
                exact += usize::from(blocks.iter().all(is_exact));
                missing +=
                    blocks.iter().flat_map(parts).filter(|part| part["end"] != "measured").count();
            }
            Err(error) => {
                lost += 1;
                wrong.push(format!("\n  round {round}: {error:#}"));
            }
        }
        let done = round + 1;
        eprintln!(
            "  {done} of {rounds}: {equal} equal, {exact} exact, {same} same{}",
            wrong.concat()
        );
    }
    Ok(format!(
        "kills: {rounds} sweeps with a kill: of {} that had begun {equal} records are equal, of {exact} every sum is \
         exact, and {same} have the steps and shares of an undisturbed one; {missing} parts not measured; without a \
         record {lost}{}",
        rounds - unbegun,
        wrong.concat()
    ))
}

/// Measures the sweep until nothing in its record is in doubt; nothing is killed.
fn undisturbed(fleet: &mut Fleet<'_>, url: &str) -> Result<Value> {
    for _ in 0..5 {
        fleet.keep(3)?;
        let mut run = fleet.start_run(None, &format!("sweep {url} {SWEEP}"))?;
        let record = fleet.record(&mut run)?;
        if blocks(&record).all(is_whole) {
            return Ok(record);
        }
    }
    bail!("this machine is too busy for a sweep without a doubt")
}

/// Returns the first difference of a record from that of the same sweep undisturbed, apart from measured numbers: it is
/// of another experiment, or it lacks a block or has another one, or an agent had another share of the step. A sweep
/// follows what it measures, so after a block that is not whole its search may go another way; even then, steps that
/// both have are the same.
fn difference(undisturbed: &Value, record: &Value) -> Option<String> {
    if record["spec"] != undisturbed["spec"] {
        return Some("it is of another experiment".to_owned());
    }
    let known: Vec<_> = blocks(undisturbed).map(|block| step(undisturbed, block)).collect();
    let (mut may_differ, mut count) = (false, 0);
    for (index, block) in blocks(record).enumerate() {
        let (spec, shares) = step(record, block);
        let same = known
            .iter()
            .enumerate()
            .find(|(place, (of, _))| *of == spec && (may_differ || *place == index));
        match same {
            Some((_, (_, of_step))) => {
                let is_same = |(agent, share): (&&str, &Option<u64>)| {
                    of_step.get(agent).is_some_and(|of_step| share.is_none() || share == of_step)
                };
                if of_step.len() != shares.len() || !shares.iter().all(is_same) {
                    return Some(format!("block {index}: shares {shares:?}, and not {of_step:?}"));
                }
            }
            None if may_differ => {}
            None => return Some(format!("block {index} is another step: {spec}")),
        }
        may_differ |= !is_whole(block);
        count += 1;
    }
    (count < known.len() && !may_differ).then(|| format!("{count} of {} blocks", known.len()))
}

/// The workload of a block with its load, and the messages that each agent planned: `None` for a part that is missing.
fn step<'a>(record: &'a Value, block: &'a Value) -> (&'a Value, BTreeMap<&'a str, Option<u64>>) {
    let workload = block["workload"].as_u64().and_then(|index| usize::try_from(index).ok());
    let spec = &record["plan"]["workloads"][workload.unwrap_or(usize::MAX)]["spec"];
    let share = |part: &'a Value| (part["agent"].as_str().unwrap_or(""), part["planned"].as_u64());
    (spec, parts(block).map(share).collect())
}

/// True if every part of a block was measured and is trusted, and all that was planned was answered.
fn is_whole(block: &Value) -> bool {
    let counts = &block["counts"];
    block["failed"].is_null()
        && counts["ok"] == counts["planned"]
        && parts(block).all(|part| part["end"] == "measured" && part["doubts"] == json!([]))
}

/// The blocks of a record.
fn blocks(record: &Value) -> impl Iterator<Item = &Value> {
    record["blocks"].as_array().into_iter().flatten()
}

/// Kills something during a sweep. Returns the record of the sweep, unless the controller was killed, and two more made
/// from the log; `None` if the controller was killed before the log had its plan.
fn killed(fleet: &mut Fleet<'_>, url: &str, round: usize) -> Result<Option<Vec<Value>>> {
    let mut random = Random::new(round as u64);
    fleet.keep(3)?;
    let mut run = fleet.start_run(None, &format!("sweep {url} {SWEEP}"))?;
    run.wait_for_words(0, &["continues it elsewhere"], PATIENCE)?;
    let words = run.words();
    let name = words.split_once("run ").and_then(|(_, rest)| rest.split(' ').next());
    let name = name.context("the run has no name")?.to_owned();
    let kind = random.below(3);
    sleep(random_time(&mut random, 5000));
    let mut records = Vec::new();
    match kind {
        0 => {
            let agent = random.below(3);
            fleet.agents[agent].signal("KILL")?;
            sleep(random_time(&mut random, 2000));
            fleet.keep(3)?;
        }
        1 => {
            fleet.server.signal("KILL")?;
            sleep(random_time(&mut random, 3000));
            fleet.restart_server()?;
        }
        _ => drop(run.signal("KILL")),
    }
    if kind < 2 {
        records.push(fleet.record(&mut run)?);
    }
    for _ in 0..2 {
        let mut resumed = fleet.start_run(None, &format!("fleet resume {name}"))?;
        match fleet.record(&mut resumed) {
            Err(error) if kind == 2 && format!("{error:#}").contains("the log has no run") => {
                return Ok(None);
            }
            record => records.push(record?),
        }
    }
    Ok(Some(records))
}

/// Everything in a record that follows from the log.
fn counted(record: &Value) -> Value {
    let of = |block: &Value| {
        ["workload", "counts", "open_loop", "agents"].map(|name| block[name].clone())
    };
    blocks(record).map(|block| json!(of(block))).collect()
}

/// True if the counts of a block add up, and match its parts: the trusted ones, or all if less than half of the load is
/// trusted.
fn is_exact(block: &Value) -> bool {
    let count = |name: &str| block["counts"][name].as_u64().unwrap_or(0);
    let planned = |is_wanted: fn(&Value) -> bool| -> u64 {
        parts(block)
            .filter(|part| is_wanted(part))
            .filter_map(|part| part["planned"].as_u64())
            .sum()
    };
    let all = planned(|_| true);
    let trusted = planned(|part| part["end"] == "measured" && part["doubts"] == json!([]));
    let expected = if trusted * 2 < all { all } else { trusted };
    let ends = ["ok", "error", "refused", "timed_out", "in_flight_at_end"].map(count);
    (parts(block).next().is_none() || count("planned") == expected)
        && count("planned") == count("sent") + count("unsent")
        && count("sent") == ends.iter().sum::<u64>()
}

/// All parts of a block. Here they make up its entire load: these fleets have no probers and no watches.
fn parts(block: &Value) -> impl Iterator<Item = &Value> {
    block["agents"].as_array().into_iter().flatten()
}

/// Many idle connections, and many bots, over seven agents with a server in the namespace of each.
fn idle(wirebench: &Path, rounds: usize) -> Result<String> {
    let mut fleet = Fleet::up(wirebench, 7, None)?;
    let urls: Vec<String> =
        (0..7).map(|agent| fleet.serve(Some(agent), "ws")).collect::<Result<_>>()?;
    let mut lines = Vec::new();
    let loads = ["-c 100000 --rate 2000/s -d 15s", "--bots 20000 --every 1s -d 15s"];
    for load in (0..rounds).flat_map(|_| loads) {
        let memory = || -> Result<[u64; 3]> {
            let sum = |all: &[Process]| all.iter().map(Process::resident).sum::<Result<u64>>();
            Ok([sum(&fleet.agents)?, sum(&fleet.targets)?, available()?])
        };
        let before = memory()?;
        let mut most = before;
        let mut run = fleet.start_run(Some(0), &format!("run {} {load} --agents 7", urls[0]))?;
        while !run.has_ended()? {
            let now = memory()?;
            most = [most[0].max(now[0]), most[1].max(now[1]), most[2].min(now[2])];
            sleep(Duration::from_millis(500));
        }
        let record = fleet.record(&mut run)?;
        let block = &record["blocks"][0];
        let measured = parts(block).filter(|part| part["end"] == "measured").count();
        let [agents, servers, machine] = [most[0], most[1], before[2] - most[2]].map(|it| it >> 20);
        lines.push(format!(
            "idle: {load}: {} of {} connections opened, {} of {} messages answered, {measured} of 7 parts measured, {}; \
             MiB: agents {agents} ({} before), servers {servers} ({}), the machine {machine}",
            block["connections"]["opened"],
            block["connections"]["asked"],
            block["counts"]["ok"],
            block["counts"]["planned"],
            record["verdict"]["level"].as_str().unwrap_or("without a verdict"),
            before[0] >> 20,
            before[1] >> 20
        ));
    }
    Ok(lines.join("\n"))
}

/// Bytes of memory that this machine has for new programs.
fn available() -> Result<u64> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(kib.context("/proc/meminfo has no MemAvailable")? << 10)
}

/// `p50 0.18, max 0.26 s (50 times)`.
fn spread(values: &[f64], unit: &str, digits: usize) -> Result<String> {
    ensure!(!values.is_empty(), "no round was measured");
    let [p50, max] = [stats::quantile(values, 0.5)?, stats::quantile(values, 1.0)?];
    Ok(format!("p50 {p50:.digits$}, max {max:.digits$} {unit} ({} times)", values.len()))
}

fn number(value: &Value) -> Result<f64> {
    value.as_f64().context("the record lacks a number")
}

fn random_time(random: &mut Random, millis_max: usize) -> Duration {
    Duration::from_millis(random.below(millis_max) as u64)
}

#[expect(clippy::cast_precision_loss, reason = "agents are few")]
const fn float(count: usize) -> f64 {
    count as f64
}

/// A sweep of three steps; the server can carry each of them.
const SWEEP: &str =
    "--of rate --from 300 --to 1200 --factor 2 --repeats 1 -d 700ms --settle 100ms -c 6 --seed 7";
/// The rate of a link: less than a core of this machine carries.
const LINK: &str = "16mbit";
const KILLED: usize = 0;
const STOPPED: usize = 1;
/// The number of agents whose starts are compared, and the time between two messages of one agent.
const AGENTS: usize = 8;
const EVERY: Duration = Duration::from_millis(20);
const SLOW_CLOCK: &str = "\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  static long long begin;
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, \"clock_gettime\");
  int status = real(id, time);
  if (status || id != CLOCK_MONOTONIC) return status;
  long long now = time->tv_sec * 1000000000LL + time->tv_nsec;
  if (!begin) begin = now;
  now -= (now - begin) / 20000;
  time->tv_sec = now / 1000000000;
  time->tv_nsec = now % 1000000000;
  return 0;
}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_parts_are_exact_or_are_not() {
        let part = |planned: u64, doubts: Value| json!({ "end": "measured", "planned": planned, "doubts": doubts });
        let lost = json!({ "end": "lost", "planned": null, "doubts": [] });
        let late = || part(100, json!(["late"]));
        let block = |planned: u64, agents: Value| {
            let counts = json!({ "planned": planned, "sent": planned - 1, "unsent": 1, "ok": planned - 2, "timed_out": 1 });
            json!({ "counts": counts, "agents": agents })
        };
        let whole = json!([part(100, json!([])), part(100, json!([])), lost]);
        assert!(is_exact(&block(200, whole.clone())));
        assert!(!is_exact(&block(300, whole)));
        assert!(is_exact(&block(200, json!([part(200, json!([])), late()]))));
        assert!(is_exact(&block(300, json!([part(100, json!([])), late(), late()]))));
        let mut lossy = block(200, json!([part(200, json!([]))]));
        lossy["counts"]["ok"] = json!(100);
        assert!(!is_exact(&lossy));
    }

    #[test]
    fn a_disturbed_sweep_differs_in_what_was_measured_and_lost_and_in_nothing_else() {
        // A step of `planned` messages for each of two agents; the second agent may be lost.
        let block = |workload: usize, planned: u64, is_lost: bool| {
            let first =
                json!({ "agent": "a0", "end": "measured", "planned": planned, "doubts": [] });
            let second = match is_lost {
                true => json!({ "agent": "a1", "end": "lost", "planned": null, "doubts": [] }),
                false => {
                    json!({ "agent": "a1", "end": "measured", "planned": planned, "doubts": [] })
                }
            };
            let all = if is_lost { planned } else { 2 * planned };
            let counts = json!({ "planned": all, "ok": all });
            json!({ "workload": workload, "counts": counts, "failed": null, "agents": [first, second] })
        };
        let record = |loads: &[u64], blocks: &[Value]| {
            let workloads = loads.iter().map(|load| json!({ "spec": { "load": load } }));
            let workloads: Vec<Value> = workloads.collect();
            json!({ "spec": { "seed": 7 }, "plan": { "workloads": workloads }, "blocks": blocks })
        };
        let undisturbed = record(&[300, 600], &[block(0, 100, false), block(1, 200, false)]);
        let of = |record: &Value| difference(&undisturbed, record);
        assert_eq!(of(&undisturbed), None);
        let lost = [block(0, 100, false), block(1, 200, true), block(2, 150, false)];
        assert_eq!(of(&record(&[300, 600, 450], &lost)), None);
        let again = [block(0, 100, true), block(0, 100, false), block(1, 200, false)];
        assert_eq!(of(&record(&[300, 600], &again)), None);

        let other = of(&record(&[300, 450], &[block(0, 100, false), block(1, 150, false)]));
        assert!(other.unwrap().starts_with("block 1 is another step"));
        let share = of(&record(&[300, 600], &[block(0, 100, true), block(1, 201, false)]));
        assert!(share.unwrap().starts_with("block 1: shares"));
        let few = of(&record(&[300, 600], &[block(0, 100, false)]));
        assert_eq!(few.as_deref(), Some("1 of 2 blocks"));
        let mut experiment = undisturbed.clone();
        experiment["spec"]["seed"] = json!(8);
        assert_eq!(of(&experiment).as_deref(), Some("it is of another experiment"));
    }
}
