//! Options that say when a run has measured enough, and what its numbers have to be.

use crate::exit::Failure;
use record::{Level, RunRecord};
use spec::file::Asked;
use spec::{Criteria, Experiment};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The criteria of a run, and the record that its limits are relative to.
#[derive(Debug, clap::Args)]
pub(crate) struct Deciding {
    #[command(flatten)]
    criteria: Criteria,
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
    /// It has to be of the same machine, kernel, payload and load, and both need 6 rounds or more. The exit code is 11
    /// if a number is worse than such a limit allows, beyond noise.
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
    /// The baseline cannot be read, or its numbers are invalid.
    fn read(&self, read: ReadRecord) -> Result<Option<Arc<run::Baseline>>, Failure> {
        let Some(path) = &self.baseline else { return Ok(None) };
        let file = path.display().to_string();
        let record =
            read(path).map_err(|problem| Failure::usage(format!("--baseline: {problem}")))?;
        let verdict = record.verdict.clone().unwrap_or_else(|| record::judge(&record));
        if verdict.level == Level::Invalid {
            let reason = verdict.reasons.first().map_or("", |reason| &reason.message);
            return Err(Failure::usage(format!(
                "--baseline: {file} is invalid, so nothing can be compared with it: {}; measure it again",
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
/// A limit, or an option, has no counterpart; the error names it.
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
            "strict: there is no limit to be strict about; add one, as in --require 'p99 < 20ms'",
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

    /// Returns `asked` with these criteria over its own.
    pub(crate) fn over(self, asked: Asked) -> Asked {
        Asked { criteria: self.criteria.over(asked.criteria), ..asked }
    }

    /// The first of its options that is set.
    pub(crate) fn first(&self) -> Option<&'static str> {
        let Criteria { rounds: _, until, budget, require, strict } = &self.criteria;
        let all = [
            (!until.is_empty(), "until"),
            (budget.is_some(), "budget"),
            (!require.is_empty(), "require"),
            (*strict, "strict"),
        ];
        all.into_iter().find_map(|(is_set, name)| is_set.then_some(name))
    }
}
