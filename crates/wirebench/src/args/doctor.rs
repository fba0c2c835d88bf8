//! `wirebench doctor`: the limits of this machine, and the load that reaches each of them, before a run.

use crate::certificate;
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use engine::clock::{Clock, sharpen_timers, sleep};
use engine::epoll::Epoll;
use probe::{Diagnosis, Facts, Finding, Place, Question, State, SystemSampler, Unit, Wish, place};
use record::Environment;
use serde_json::{Value, json};
use std::num::NonZeroUsize;
use units::{Count, Nanos};

/// Show the limits of this machine, and which is reached first
///
/// Checks open files, ports, the backlog, memory, cores, timers, steal and other settings that change results, and
/// names the command that raises each limit. Nothing is changed. With --for the exit code is 2 if the load does not
/// fit.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
)]
pub(crate) struct Doctor {
    /// The load to check, e.g. `10k bots every 1s`, `20000 connections`, `2000/s`
    #[arg(long = "for", value_name = "WHAT")]
    wish: Option<Wish>,
    /// Assume that the server runs on another machine
    #[arg(long)]
    remote: bool,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench doctor                               every limit
  wirebench doctor --for \"10k bots every 1s\"     does this load fit?
  wirebench doctor --for \"50k clients\" --remote  against another machine";

impl Doctor {
    /// Reads the limits of the machine and prints the findings.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let server = if self.remote { Place::Elsewhere } else { Place::Here };
        let diagnosis = probe::diagnose(&facts(), Question { wish: self.wish, server });
        let shown = if self.json {
            format!("{:#}\n", json_of(&diagnosis))
        } else {
            report::sheet(&heading(&diagnosis), &rows(&diagnosis), &terminal.style())
        };
        terminal.result(&shown)?;
        Ok(if diagnosis.fits() { Exit::DONE } else { Exit::USAGE })
    }
}

/// Reads everything that `probe` can read; takes [`STEAL_OVER`] and a little more.
fn facts() -> Facts {
    drop(sharpen_timers());
    let topology = probe::topology();
    let mut environment = probe::machine();
    steal(&mut environment);
    match Epoll::new(Clock::start()) {
        Ok(mut engine) => run::measure_timer_floor(&mut environment, &mut engine),
        Err(error) => {
            environment.missing.insert("timer_floor".to_owned(), error.to_string());
        }
    }
    Facts {
        environment,
        limits: probe::limits(),
        cores: topology.core_count(),
        sharing: place(&topology, NonZeroUsize::MIN).map(|placement| placement.sharing),
        kernel_memory: probe::kernel_memory(),
        connects_at_once: run::OPENING_MAX.into(),
        messages_per_s_max: certificate::of_this_boot().and_then(|found| found.messages_per_s_max),
    }
}

/// Measures steal since boot, and over [`STEAL_OVER`].
fn steal(environment: &mut Environment) {
    let read = || SystemSampler::open()?.sample();
    let before = read();
    sleep(STEAL_OVER);
    match (before, read()) {
        (Ok(before), Ok(after)) => {
            environment.steal_before_fraction = before.machine.steal_fraction();
            environment.steal_during_fraction = after.since(&before).machine.steal_fraction();
        }
        (Err(error), _) | (_, Err(error)) => {
            environment.missing.insert("steal".to_owned(), error.to_string());
        }
    }
}

/// The answer in one or two sentences.
fn heading(diagnosis: &Diagnosis) -> String {
    let Question { wish, server } = diagnosis.question;
    let place = match server {
        Place::Here => "with the server on this machine",
        Place::Elsewhere => "with the server on another machine",
    };
    let Some(wish) = wish else { return format!("First limit {place}: {}.", first(diagnosis)) };
    let too_small: Vec<&str> = diagnosis
        .findings
        .iter()
        .filter(|finding| finding.suffices == Some(false))
        .map(|finding| finding.name)
        .collect();
    let unknown: Vec<&str> = diagnosis.unknown().map(|finding| finding.name).collect();
    let answer = match (&too_small[..], &unknown[..]) {
        ([], []) => "fits".to_owned(),
        ([], names) => format!("fits as far as is known (not known: {})", names.join(", ")),
        (names, _) => format!("does not fit ({})", names.join(", ")),
    };
    format!("{wish} {place}: {answer}. First limit: {}.", first(diagnosis))
}

/// The limit that is reached first, in connections, and in messages per second where that is known.
fn first(diagnosis: &Diagnosis) -> String {
    let first = [Unit::Connections, Unit::MessagesPerSecond].into_iter().filter_map(|unit| {
        let (finding, at) = diagnosis.first_to_bind(unit)?;
        Some(format!("{}, at {}", finding.name, amount(at, unit)))
    });
    let first: Vec<String> = first.collect();
    if first.is_empty() { "no limit is known".to_owned() } else { first.join("; ") }
}

fn rows(diagnosis: &Diagnosis) -> Vec<(&'static str, Vec<String>)> {
    diagnosis.findings.iter().map(|finding| (finding.name, lines(finding))).collect()
}

/// The lines of a finding: its state, the evidence and its effect, the command that raises the limit.
fn lines(finding: &Finding) -> Vec<String> {
    let suffices = match finding.suffices {
        Some(true) => "enough: ",
        Some(false) => "TOO LOW: ",
        None => "",
    };
    let state = match &finding.state {
        State::Fine => "fine".to_owned(),
        State::Binds { at, of } => format!("{suffices}limit {}", amount(*at, *of)),
        State::Changes => "changes results".to_owned(),
        State::Unknown { because } => format!("unknown: {because}"),
    };
    let why = [&finding.evidence, &finding.effect].map(String::as_str);
    let why: Vec<&str> = why.into_iter().filter(|text| !text.is_empty()).collect();
    let mut lines = vec![state];
    if !why.is_empty() {
        lines.push(format!("{}.", why.join("; ")));
    }
    lines.extend(finding.cure.as_ref().map(|cure| format!("to change it: {cure}")));
    lines
}

fn amount(at: u64, of: Unit) -> String {
    let of = match of {
        Unit::Connections => " connections",
        Unit::Connects => " connects at the same time",
        Unit::MessagesPerSecond => " messages/s",
    };
    format!("{}{of}", Count(at))
}

/// Returns `None` if no known limit is too small, but some limit is unknown.
fn fits(diagnosis: &Diagnosis) -> Option<bool> {
    let fits = diagnosis.fits();
    (!fits || diagnosis.unknown().next().is_none()).then_some(fits)
}

fn json_of(diagnosis: &Diagnosis) -> Value {
    let Question { wish, server } = diagnosis.question;
    let first = |unit| {
        let (finding, at) = diagnosis.first_to_bind(unit)?;
        Some(json!({ "code": finding.code, "at": at }))
    };
    json!({
        "asked": wish.map(|wish| json!({
            "connections": wish.connections,
            "messages_per_s": wish.messages_per_s(),
        })),
        "server": match server { Place::Here => "here", Place::Elsewhere => "elsewhere" },
        "fits": wish.and_then(|_| fits(diagnosis)),
        "unknown": diagnosis.unknown().map(|finding| finding.code).collect::<Vec<_>>(),
        "first_to_bind": {
            "connections": first(Unit::Connections),
            "messages_per_s": first(Unit::MessagesPerSecond),
        },
        "findings": diagnosis.findings.iter().map(json_of_finding).collect::<Vec<_>>(),
    })
}

fn json_of_finding(finding: &Finding) -> Value {
    let (state, at, of, because) = match &finding.state {
        State::Fine => ("fine", None, None, None),
        State::Binds { at, of } => ("binds", Some(at), Some(of), None),
        State::Changes => ("changes", None, None, None),
        State::Unknown { because } => ("unknown", None, None, Some(because)),
    };
    json!({
        "code": finding.code,
        "state": state,
        "at": at,
        "of": of.map(|of| match of {
            Unit::Connections => "connections",
            Unit::Connects => "connects",
            Unit::MessagesPerSecond => "messages_per_s",
        }),
        "because": because,
        "suffices": finding.suffices,
        "evidence": finding.evidence,
        "effect": finding.effect,
        "cure": finding.cure,
    })
}

/// The time over which steal is measured: a hundred ticks of 10 ms on each CPU.
const STEAL_OVER: Nanos = Nanos::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_fits_no_further_than_is_known() {
        let finding = |name, state, suffices| Finding {
            code: name,
            name,
            state,
            suffices,
            evidence: String::new(),
            effect: String::new(),
            cure: None,
        };
        let files = |suffices| {
            let binds = State::Binds { at: 100, of: Unit::Connections };
            finding("open files", binds, Some(suffices))
        };
        let unknown = || finding("messages", State::Unknown { because: String::new() }, None);
        let answer = |findings| {
            let wish = Some("100 connections".parse().unwrap());
            let question = Question { wish, server: Place::Here };
            let diagnosis = Diagnosis { question, findings };
            let heading = heading(&diagnosis);
            let answer = heading.split_once(": ").unwrap().1.split_once(". ").unwrap().0.to_owned();
            (answer, json_of(&diagnosis)["fits"].clone())
        };
        let said = |words: &str, fits: Value| (words.to_owned(), fits);
        assert_eq!(answer(vec![files(true)]), said("fits", json!(true)));
        let partly = answer(vec![files(true), unknown()]);
        assert_eq!(partly, said("fits as far as is known (not known: messages)", Value::Null));
        let no = answer(vec![files(false), unknown()]);
        assert_eq!(no, said("does not fit (open files)", json!(false)));
    }
}
