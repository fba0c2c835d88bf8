//! Options that say when a run has measured enough, and what its numbers have to be.

use crate::exit::Failure;
use record::{Level, RunRecord};
use spec::file::Asked;
use spec::{Experiment, Goal, Requirement};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use units::Nanos;

/// The goals that end a run, the time for them, and limits for its numbers.
#[derive(Debug, clap::Args)]
pub(crate) struct Deciding {
    /// Measure rounds until an interval is that narrow: 'p99 within 3%'; repeatable
    ///
    /// It ends after 10, 13, 17, 22, 28, ... rounds, a quarter more each time, so that the interval keeps its promise.
    #[arg(long, value_name = "GOAL", hide_short_help = true)]
    until: Vec<Goal>,
    /// With --until: begin no round that could not end within this time [default: 10m]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    budget: Option<Nanos>,
    /// End with exit code 10 unless it is so: 'p99 < 20ms', 'error_rate < 0.1%'; repeatable
    ///
    /// It is a number of each row, one of < <= > >=, and a limit: times (p50, p90, p99, p99.9), messages/s, CPU time
    /// (cpu/message of the server, generator_cpu/message), bytes (bytes/message, memory/connection), and shares
    /// (error_rate, refused_rate, achieved/offered, server_cpu). With --baseline also 'p99 <= baseline * 1.10'. A
    /// number of too few messages is unknown, and does not pass.
    #[arg(long, value_name = "LIMIT", hide_short_help = true)]
    require: Vec<Requirement>,
    /// Fail a limit if noise is larger than the margin that it leaves
    ///
    /// So does a number on the right side of its limit if the limit lies within its 95 % interval.
    #[arg(long, hide_short_help = true)]
    strict: bool,
    #[command(flatten)]
    against: Against,
}

/// The way to read a record.
pub(crate) type ReadRecord = fn(&Path) -> Result<RunRecord, String>;

/// The earlier record that limits are relative to.
#[derive(Debug, clap::Args)]
pub(crate) struct Against {
    /// The record that limits such as 'p99 <= baseline * 1.10' are relative to
    ///
    /// It has to be of the same machine, kernel, payload and load, and each of the two needs 6 rounds or more. The exit
    /// code is 11 where a number is worse than such a limit allows, beyond noise.
    #[arg(long, value_name = "RECORD", hide_short_help = true)]
    baseline: Option<PathBuf>,
    /// Compare with the baseline even if machine, kernel, payload or load differ
    #[arg(long, requires = "baseline", hide_short_help = true)]
    allow_different: bool,
}

impl Against {
    /// Reads the baseline, if there is one.
    ///
    /// # Errors
    ///
    /// It cannot be read, or says nothing since its numbers are invalid.
    fn read(&self, read: ReadRecord) -> Result<Option<Arc<run::Baseline>>, Failure> {
        let Some(path) = &self.baseline else { return Ok(None) };
        let file = path.display().to_string();
        let record =
            read(path).map_err(|problem| Failure::usage(format!("--baseline: {problem}")))?;
        let verdict = record.verdict.clone().unwrap_or_else(|| record::judge(&record));
        if verdict.level == Level::Invalid {
            let reason = verdict.reasons.first().map_or("", |reason| &reason.message);
            return Err(Failure::usage(format!(
                "--baseline: {file} is invalid, so that nothing can be relative to it: {}; measure it again",
                report::escape(reason)
            )));
        }
        Ok(Some(Arc::new(run::Baseline { file, record, allows_different: self.allow_different })))
    }
}

/// Checks that an experiment has limits relative to a baseline if and only if there is one, and that a gate has limits.
///
/// # Errors
///
/// The limit, or the option, that has no counterpart.
pub(crate) fn check(
    experiment: &Experiment,
    has_baseline: bool,
    is_gate: bool,
) -> Result<(), Failure> {
    let has_sides = experiment.sides().is_some();
    let may_regress = experiment.regression_max.is_some() && has_sides;
    if is_gate && experiment.require.is_empty() && !may_regress {
        return Err(Failure::usage(
            "a gate without a limit lets everything pass; add one: `require` in the file, or --require 'p99 < 20ms'",
        ));
    }
    if experiment.strict && experiment.require.is_empty() && !may_regress {
        return Err(Failure::usage(
            "strict: there is no limit that noise could pass; add one, as in --require 'p99 < 20ms'",
        ));
    }
    let relative = experiment.require.iter().find(|limit| limit.factor().is_some());
    match (relative, has_baseline) {
        (_, true) if has_sides => Err(Failure::usage(
            "--baseline: two servers take turns, and limits are relative to BASE; leave the record out",
        )),
        (Some(_), false) if has_sides => Ok(()),
        (Some(limit), false) => Err(Failure::usage(format!(
            "require: `{limit}` is relative to a baseline, and there is none: name one, as in `wirebench run FILE \
             --baseline RECORD.json`"
        ))),
        (None, true) => Err(Failure::usage(
            "--baseline: no limit is relative to it; add one, as in --require 'p99 <= baseline * 1.10'",
        )),
        (Some(_), true) | (None, false) => Ok(()),
    }
}

impl Deciding {
    /// The earlier record that limits are relative to, if there is one.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is invalid.
    pub(crate) fn baseline(&self, read: ReadRecord) -> Result<Option<Arc<run::Baseline>>, Failure> {
        self.against.read(read)
    }

    /// The same, as part of everything that is asked.
    pub(crate) fn over(self, asked: Asked) -> Asked {
        let Self { until, budget, require, strict, against: _ } = self;
        Asked { until, budget, require, strict, ..asked }
    }

    /// The first of its options that is set.
    pub(crate) fn first(&self) -> Option<&'static str> {
        let all = [
            (!self.until.is_empty(), "until"),
            (self.budget.is_some(), "budget"),
            (!self.require.is_empty(), "require"),
            (self.strict, "strict"),
        ];
        all.into_iter().find_map(|(is_set, name)| is_set.then_some(name))
    }
}
