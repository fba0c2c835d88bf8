//! `wirebench sweep URL|FILE`: steps of load, until it is known where a server bends.

mod definition;
mod from_run;
mod objective;

use super::outcome::{self, Output};
use super::values;
use crate::config::{Conflict, Settings};
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use clap::CommandFactory;
use definition::{Definition, Line, Of};
use from_run::FromRun;
use objective::objective;
use run::{Measurement, Objective};
use std::num::NonZeroU32;
use units::{Count, Nanos, Rate};

/// As it is typed.
pub(crate) const NAME: &str = "sweep";

/// Step the load of a server up until it bends, and say where
///
/// Loads rise by --factor from --from on, each measured --repeats times. Where less than 99 % of what was offered is
/// achieved in two steps running, the interval between is halved until its ends are 2 % apart, and measured again: the
/// knee. With --slo the largest load within an objective is looked for besides. Every step is what `wirebench run`
/// measures at that load; its options stand below.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_help = "`--help` has all options, and those of `wirebench run`",
    after_long_help = super::exit_codes(),
    help_template = super::TEMPLATE,
)]
pub(crate) struct Sweep {
    /// The server; or a file that says what to sweep (docs/SWEEP.md)
    #[arg(value_name = "URL|FILE.toml")]
    what: Option<String>,
    /// A published experiment: cubeia
    ///
    /// `cubeia` is a game server over its binary socket, over WebSocket and over Comet, as bots rise.
    #[arg(long, value_name = "NAME", value_parser = ["cubeia"], hide_possible_values = true)]
    preset: Option<String>,
    /// What rises: rate, bots, connections [default: rate]
    #[arg(long, value_name = "WHAT", value_enum, hide_possible_values = true)]
    of: Option<Of>,
    /// The first load, e.g. 100/s, or 100 bots [default: 100]
    #[arg(long, value_name = "LOAD", value_parser = load)]
    from: Option<u64>,
    /// The largest load [default: 10M]
    #[arg(long, value_name = "LOAD", value_parser = load)]
    to: Option<u64>,
    /// From one load to the next [default: 2]
    #[arg(long, value_name = "NUMBER", value_parser = factor, hide_short_help = true)]
    factor: Option<f64>,
    /// How many blocks each load has [default: 2]
    #[arg(long, value_name = "COUNT", value_parser = repeats, hide_short_help = true)]
    repeats: Option<u32>,
    /// How long each block is measured [default: 2s]
    #[arg(short, long, value_name = "TIME", value_parser = values::some_time)]
    duration: Option<Nanos>,
    /// How long messages are exchanged in each block before any is measured [default: 1s]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    settle: Option<Nanos>,
    /// Bots and connections: how often each of them sends [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = values::some_time, hide_short_help = true)]
    every: Option<Nanos>,
    /// Bots: how many at most; for more load the same bots send more often [default: no bound]
    #[arg(long, value_name = "COUNT", value_parser = values::count, hide_short_help = true)]
    bots_max: Option<NonZeroU32>,
    /// Find the largest load within this too: 'p99 < 50ms'
    ///
    /// p50, p90, p99 or p99.9 of the response time, and less than 1 % missing.
    #[arg(long, value_name = "OBJECTIVE", value_parser = objective)]
    slo: Option<Objective>,
    /// No block begins that would not end within this time [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = values::some_time, hide_short_help = true)]
    budget: Option<Nanos>,
    /// Fewer and shorter blocks, in under two minutes
    #[arg(long)]
    quick: bool,
    /// What order, payload and keys follow from [default: from the clock]
    #[arg(long, value_name = "NUMBER", hide_short_help = true)]
    seed: Option<u64>,
    /// Load a public address; do so only with those that are yours to load
    #[arg(long, hide_short_help = true)]
    i_may_load_this_target: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    from_run: FromRun,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench sweep ws://127.0.0.1:8080 --slo 'p99<50ms'
  wirebench sweep ws://127.0.0.1:8080 --of bots --from 100 --every 1s
  wirebench sweep --preset cubeia --quick";

#[rustfmt::skip]
pub(crate) const CONFLICTS: &[Conflict] = &[
    Conflict { between: ["size", "payload"], cure: "a payload has its own size; leave one out" },
    Conflict { between: ["payload-kind", "payload"], cure: "a payload is what it is; leave one out" },
    Conflict { between: ["text", "binary"], cure: "messages are one or the other; leave one out" },
    Conflict { between: ["ca", "insecure"], cure: "with --insecure nobody's certificate is looked at; leave one out" },
];

impl Sweep {
    /// Sweeps, keeps the record, shows it.
    pub(crate) fn run(self, settings: &Settings, terminal: &Terminal) -> Result<Exit, Failure> {
        let seed = values::seed_or_clock(self.seed);
        let program = super::Program::command();
        let words = from_run::words(settings, &program);
        let plan = Plan::new(&self, words, seed).map_err(Failure::usage)?;
        let sweep = plan.sweep(self.i_may_load_this_target);
        let repeat = outcome::Repeat::new(NAME, self.what.clone(), settings, seed);
        let at_load = |line, load| plan.at_load(line, load);
        outcome::carry_out_by(record::Kind::Sweep, &repeat, &self.output, terminal, |with| {
            run::sweep(&sweep, &at_load, with.host, with.feed, with.commands)
        })
    }
}

/// What is to be swept, every default resolved.
struct Plan {
    preset: Option<String>,
    published: Option<record::Published>,
    of: Of,
    lines: Vec<Line>,
    range: stats::knee::Range,
    repeats: u32,
    duration: Nanos,
    settle: Nanos,
    every: Nanos,
    bots_max: u64,
    objective: Option<Objective>,
    budget: Nanos,
    /// What is said to `wirebench run` besides.
    words: Vec<String>,
    seed: u64,
}

impl Plan {
    /// From the flags, over what the file says for --quick, over what it says, over defaults.
    fn new(sweep: &Sweep, words: Vec<String>, seed: u64) -> Result<Self, String> {
        let Definition { lines, all, quick, published } = match (&sweep.what, &sweep.preset) {
            (None, Some(_)) => definition::read("cubeia", CUBEIA)?,
            (Some(what), None) if what.contains("://") || what.starts_with("unix:") => {
                Definition::of_url(what)
            }
            (Some(file), None) => definition::read_file(file)?,
            (Some(_), Some(_)) => {
                return Err(
                    "--preset says itself what to sweep; leave the URL or the file out".to_owned()
                );
            }
            (None, None) => {
                return Err("what to sweep? a URL, a file, or --preset cubeia".to_owned());
            }
        };
        let usual = if sweep.quick { QUICK } else { USUAL };
        let quick = quick.filter(|_| sweep.quick).unwrap_or_default();
        let of = sweep.of.or(quick.of).or(all.of).unwrap_or(Of::Rate);
        let range = stats::knee::Range {
            from: sweep.from.or(quick.from).or(all.from).unwrap_or(100),
            to: sweep.to.or(quick.to).or(all.to).unwrap_or(10_000_000),
            factor: sweep.factor.or(quick.factor).or(all.factor).unwrap_or(usual.factor),
        };
        let bots_max = sweep.bots_max.or(quick.bots_max).or(all.bots_max);
        let plan = Self {
            preset: sweep.preset.clone(),
            published,
            of,
            lines,
            range,
            repeats: sweep.repeats.or(quick.repeats).or(all.repeats).unwrap_or(usual.repeats),
            duration: sweep.duration.or(quick.duration).or(all.duration).unwrap_or(usual.duration),
            settle: sweep.settle.or(quick.settle).or(all.settle).unwrap_or(usual.settle),
            every: sweep.every.or(quick.every).or(all.every).unwrap_or(Nanos::from_secs(1)),
            bots_max: bots_max.map_or(u64::MAX, |bots| bots.get().into()),
            objective: sweep.slo.clone().or(quick.slo).or(all.slo),
            budget: sweep.budget.or(quick.budget).or(all.budget).unwrap_or(usual.budget),
            words: [all.run, words].concat(),
            seed,
        };
        plan.check(sweep)?;
        Ok(plan)
    }

    /// That there is something to measure, and that every line can be spoken to.
    fn check(&self, sweep: &Sweep) -> Result<(), String> {
        let stats::knee::Range { from, to, .. } = self.range;
        if from > to {
            return Err(format!("--from {from} is above --to {to}"));
        }
        if self.of == Of::Rate && sweep.every.is_some() {
            return Err("--every is for --of bots and connections; leave it out".to_owned());
        }
        if self.of != Of::Bots && sweep.bots_max.is_some() {
            return Err("--bots-max is for --of bots; leave it out".to_owned());
        }
        let due = self.rate(from)?.per_second() * self.duration.as_secs_f64();
        if due < DUE_MIN {
            return Err(format!(
                "the first load, {from}, has {due:.0} messages due in a block of {}: too few to miss 1 % of them; \
                 ask for --from more, or a longer --duration",
                self.duration
            ));
        }
        (0..self.lines.len()).try_for_each(|line| self.at_load(line, from).map(drop))
    }

    /// The sweep, without its loads.
    fn sweep(&self, public_allowed: bool) -> run::Sweep {
        run::Sweep {
            of: self.of.into(),
            preset: self.preset.clone(),
            published: self.published.clone(),
            lines: self.lines.iter().map(|line| line.name.clone()).collect(),
            range: self.range,
            repeats: self.repeats,
            objective: self.objective.clone(),
            budget: self.budget,
            seed: self.seed,
            public_allowed,
        }
    }

    /// What `wirebench run` would measure.
    fn at_load(&self, line: usize, load: u64) -> Result<Measurement, String> {
        let line = &self.lines[line];
        let nanos = |time: Nanos| format!("{}ns", time.0);
        let mut words = vec![line.url.clone()];
        words.extend(line.run.iter().chain(&self.words).cloned());
        let mut say = |name: &str, value: String| words.extend([format!("--{name}"), value]);
        match self.of {
            Of::Rate => say("rate", format!("{load}/s")),
            Of::Bots => {
                let bots = load.min(self.bots_max);
                say("bots", bots.to_string());
                say("every", nanos(scaled(self.every, bots, load)));
            }
            Of::Connections => {
                say("connections", load.to_string());
                say("rate", format!("{load}/{}", nanos(self.every)));
            }
        }
        say("duration", nanos(self.duration));
        say("warm-up", nanos(self.settle));
        say("seed", self.seed.to_string());
        if !words.iter().any(|word| word == "--drain") {
            words.extend(["--drain".to_owned(), nanos(DRAIN)]);
        }
        let mut measurement = super::run::measurement(&words)?;
        if let Some(embedded) = line.embedded {
            measurement.peer = run::Peer::Embedded(embedded);
        }
        let step = if self.of == Of::Bots && load > self.bots_max {
            // The same bots, and more of what they send.
            format!("{:.0}/s", self.rate(load)?.per_second())
        } else {
            format!("{}{}", Count(load), self.of.unit())
        };
        measurement.name = match self.lines.len() {
            1 => step,
            _ => format!("{} {step}", line.name),
        };
        Ok(measurement)
    }

    /// How many messages are due at a load.
    fn rate(&self, load: u64) -> Result<Rate, String> {
        let count = u32::try_from(load).ok().and_then(NonZeroU32::new);
        let count = count.ok_or_else(|| format!("a load of {load} is too large"))?;
        let per = if self.of == Of::Rate { Nanos::from_secs(1) } else { self.every };
        Rate::new(count, per).ok_or_else(|| "--every is no time".to_owned())
    }
}

/// `every`, less where fewer bots make up for more.
fn scaled(every: Nanos, bots: u64, load: u64) -> Nanos {
    let scaled = u128::from(every.0) * u128::from(bots) / u128::from(load.max(1));
    Nanos(u64::try_from(scaled).unwrap_or(u64::MAX).max(1))
}

/// A load, with or without `/s`.
fn load(text: &str) -> Result<u64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text);
    values::count(number).map(|count| count.get().into())
}

fn factor(text: &str) -> Result<f64, String> {
    let factor: f64 = text.parse().map_err(|_| format!("`{text}` is not a number; try 2"))?;
    match factor {
        1.05..=10.0 => Ok(factor),
        _ => Err(format!("{factor} is not between 1.05 and 10")),
    }
}

fn repeats(text: &str) -> Result<u32, String> {
    match values::count(text)?.get() {
        count @ 1..=100 => Ok(count),
        count => Err(format!("{count} is too many; at most 100 are possible")),
    }
}

/// What is meant where nobody says anything.
struct Usual {
    factor: f64,
    repeats: u32,
    duration: Nanos,
    settle: Nanos,
    budget: Nanos,
}

const USUAL: Usual = Usual {
    factor: 2.0,
    repeats: 2,
    duration: Nanos::from_secs(2),
    settle: Nanos::from_secs(1),
    budget: Nanos::from_secs(600),
};
const QUICK: Usual = Usual {
    factor: 4.0,
    repeats: 1,
    duration: Nanos::from_secs(1),
    settle: Nanos::from_millis(500),
    budget: Nanos::from_secs(110),
};
/// Replies after the end of a block say nothing new of it.
const DRAIN: Nanos = Nanos::from_millis(300);
/// With fewer messages in a block, one more or less is more than 1 %.
const DUE_MIN: f64 = 100.0;
/// The published comparison of a binary socket with WebSocket and Comet, under bots.
const CUBEIA: &str = include_str!("../../../../experiments/published/cubeia.toml");
