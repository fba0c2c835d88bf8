//! `--feed`: shows a run to other programs while it is in progress. Events come as JSON lines on stdout, and commands
//! go as JSON lines to stdin. docs/UI.md has all fields.
//!
//! The page in the browser is such a program. Neither side waits for the other: a reader that is too slow misses
//! intervals, and one that goes away loses nothing but the lines.

use crate::signals::Wish;
use crate::terminal::Terminal;
use engine::thread::{self, ThreadError};
use record::{Block, LiveOpenLoop, RunRecord};
use run::{Board, Event, Heat, Listener, RateWish, Tick};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT};
use std::io::{BufRead as _, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use units::{Instant, Nanos, Rate};

/// Prints what `listener` hears until the run is over.
pub(crate) fn print(listener: Listener, terminal: &Terminal) {
    let mut board = Board::default();
    for event in listener {
        let line = match &event {
            Event::Machine(environment) => {
                Line::Machine { text: report::machine_line(environment, usize::MAX) }
            }
            Event::Begin { expected } => Line::Begin { expected_s: expected.as_secs_f64() },
            Event::Interval(tick) => Line::Interval(Box::new(Interval::of(tick, &mut board))),
            Event::Block { name, block, index, total } => {
                Line::Block(Done::of(name, block, (*index, *total)))
            }
            Event::Warning(warning) => Line::Warning {
                text: format!("{} ({})", warning.message, warning.evidence),
                next: warning.advice.clone(),
            },
            Event::Waiting(what) => Line::Waiting { text: what.to_string() },
            Event::Behind(behind) => {
                Line::Warning { text: behind.to_string(), next: String::new() }
            }
        };
        // If it cannot be written, the record still is, and says more.
        terminal.result(&line.text()).ok();
    }
}

/// Returns the line of the record, which is the last one: the verdict, the answer, and where the record is.
pub(crate) fn record(record: &RunRecord, path: Option<&Path>) -> String {
    let verdict = record.verdict.as_ref();
    let line = Line::Record {
        id: store::id(&record.to_json()),
        file: path.map(|path| path.display().to_string()),
        verdict: verdict.map_or("trusted", |verdict| verdict.level.name()).to_owned(),
        answer: record.conclusion.clone(),
        limits: report::limits(record),
        reasons: verdict
            .map(|it| it.reasons.iter().map(|reason| reason.message.clone()).collect())
            .unwrap_or_default(),
    };
    line.text()
}

/// Obeys the commands that arrive on stdin, until it ends. Warns about any other line. The end of stdin is a hang-up if
/// the run `is_tied` to whoever started it.
///
/// # Errors
///
/// No thread can be started.
pub(crate) fn obey(
    wish: &Wish,
    rate: &Arc<RateWish>,
    is_tied: bool,
    terminal: &Terminal,
) -> Result<(), ThreadError> {
    let (stop, rate) = (Arc::clone(&wish.signal), Arc::clone(rate));
    let told = terminal.clone();
    // It waits for stdin, and ends with the program.
    let body = move || {
        let ask_to_stop =
            |signal| stop.store(usize::try_from(signal).unwrap_or(2), Ordering::Relaxed);
        let lines = std::io::BufReader::new(std::io::stdin().lock().take(COMMANDS_MAX)).lines();
        for line in lines.map_while(Result::ok) {
            match serde_json::from_str::<Command>(&line) {
                Ok(Command { rate: Some(wanted), stop: false }) => rate.ask(wanted),
                Ok(Command { stop: true, .. }) => ask_to_stop(SIGINT),
                Ok(Command { rate: None, stop: false }) => {}
                Err(error) => {
                    let what = format!("stdin: not a command: {error}; {COMMANDS}");
                    told.say_labelled(crate::terminal::Label::Warning, &what);
                }
            }
        }
        if is_tied {
            ask_to_stop(SIGHUP);
        }
    };
    thread::start("commands", body).map(drop)
}

/// A command to the run.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Command {
    rate: Option<Rate>,
    stop: bool,
}

#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Line {
    Machine {
        text: String,
    },
    Begin {
        expected_s: f64,
    },
    Interval(Box<Interval>),
    Block(Done),
    Warning {
        text: String,
        next: String,
    },
    Waiting {
        text: String,
    },
    Record {
        id: String,
        file: Option<String>,
        verdict: String,
        answer: Option<String>,
        limits: Vec<String>,
        reasons: Vec<String>,
    },
}

impl Line {
    fn text(&self) -> String {
        serde_json::to_string(self).expect("its keys are texts") + "\n"
    }
}

/// A tenth of a second of a block. Rates and percentiles are those of this time, but percentiles of an open loop those
/// of its last second; `all` is the measurement so far.
#[derive(Debug, Serialize)]
struct Interval {
    name: String,
    block: usize,
    blocks: usize,
    phase: String,
    at_s: f64,
    due_per_s: Option<f64>,
    has_rate: bool,
    sent_per_s: f64,
    messages_per_s: f64,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    lag_p99_ns: Option<u64>,
    in_flight: Option<u64>,
    unsent: Option<u64>,
    generator_cores: Option<f64>,
    server_cores: Option<f64>,
    /// The measurement so far, over all its blocks.
    all: All,
    /// The shortest time of a band, in nanoseconds, and its messages.
    bands: Vec<(u64, u64)>,
}

#[derive(Debug, Default, Serialize)]
struct All {
    replies: u64,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    p999_ns: Option<u64>,
    max_ns: Option<u64>,
    error: u64,
    refused: u64,
    timed_out: u64,
}

impl Interval {
    fn of(tick: &Tick, board: &mut Board) -> Self {
        let live = board.add(tick);
        let (phase, open_loop) = (live.phase.to_owned(), live.open_loop);
        let [p50, p99] = [live.p50, live.p99];
        let time = tick.end.since(tick.start);
        let measured = board.measured().get(&tick.name);
        Self {
            name: tick.name.to_string(),
            block: tick.block.0,
            blocks: tick.block.1,
            phase,
            at_s: tick.end.since(Instant::START).as_secs_f64(),
            due_per_s: open_loop.and(tick.due_per_s),
            has_rate: tick.has_rate,
            sent_per_s: per_second(tick.traffic.counts.sent, time),
            messages_per_s: per_second(tick.traffic.replies, time),
            p50_ns: p50.map(|nanos| nanos.0),
            p99_ns: p99.map(|nanos| nanos.0),
            lag_p99_ns: open_loop.and_then(|it| it.lag_p99).map(|nanos| nanos.0),
            in_flight: open_loop.map(|LiveOpenLoop { in_flight, .. }| in_flight),
            unsent: open_loop.map(|LiveOpenLoop { unsent, .. }| unsent),
            generator_cores: tick.cores.generator,
            server_cores: tick.cores.server,
            all: measured.map(All::of).unwrap_or_default(),
            bands: Heat::bands(tick).into_iter().map(|(from, count)| (from.0, count)).collect(),
        }
    }
}

impl All {
    fn of(traffic: &record::Traffic) -> Self {
        let times = traffic.times();
        let nanos = |quantile: f64| times.quantile(quantile).ok().map(|nanos| nanos.0);
        Self {
            replies: traffic.replies,
            p50_ns: nanos(0.5),
            p99_ns: nanos(0.99),
            p999_ns: nanos(0.999),
            max_ns: times.max().map(|nanos| nanos.0),
            error: traffic.counts.error,
            refused: traffic.counts.refused,
            timed_out: traffic.counts.timed_out,
        }
    }
}

/// A block that is over.
#[derive(Debug, Serialize)]
struct Done {
    name: String,
    block: usize,
    blocks: usize,
    round: usize,
    messages_per_s: f64,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    failed: u64,
    reason: Option<String>,
}

impl Done {
    fn of(name: &str, block: &Block, (index, total): (usize, usize)) -> Self {
        let responses = block.open_loop.as_ref().and_then(|times| times.response.as_ref());
        let times = block.round_trip.as_ref().or(responses);
        Self {
            name: name.to_string(),
            block: index,
            blocks: total,
            round: block.round,
            messages_per_s: block.messages_per_s,
            p50_ns: times.and_then(|times| times.p50_ns),
            p99_ns: times.and_then(|times| times.p99_ns),
            failed: block.counts.failed(),
            reason: block.failed.clone(),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
fn per_second(count: u64, time: Nanos) -> f64 {
    if time == Nanos::ZERO { 0.0 } else { count as f64 / time.as_secs_f64() }
}

/// The commands that there are, for a warning.
const COMMANDS: &str = r#"commands are {"rate": "2000/s"} and {"stop": true}"#;
/// The most bytes that all commands together may have.
const COMMANDS_MAX: u64 = 1 << 20;
