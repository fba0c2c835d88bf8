//! The number of rounds of an experiment: as asked for or, if it has goals, as many as its budget has time for. Also
//! the limits that its numbers are checked against.

use super::Cells;
use crate::file::description::ROUNDS;
use crate::{Criteria, Experiment, Metric, Requirement, Until};
use units::{Count, Nanos};

impl Cells<'_> {
    /// The number of blocks of each workload; a single one for one URL, unless more are asked for.
    pub(super) fn rounds(&self, compares: bool) -> Result<u32, String> {
        let problem = |text: String| Err(self.file.named(&format!("rounds: {text}")));
        let asked = self.asked.criteria.rounds;
        if self.axis.is_some() && asked.is_some() {
            return problem(
                "does not apply to a sweep; set the number of blocks at each load with --repeats"
                    .to_owned(),
            );
        }
        let rounds = match compares {
            true => {
                let quick = self.quick.as_ref().and_then(|quick| quick.rounds);
                asked.or(quick).or(self.file.criteria.rounds).unwrap_or(ROUNDS)
            }
            false => asked.unwrap_or(Count(1)),
        };
        let most = Experiment::ROUNDS_MAX;
        let known = u32::try_from(rounds.0).ok().filter(|rounds| (1..=most).contains(rounds));
        match known {
            Some(rounds) => Ok(rounds),
            None => problem(format!("{}: between 1 and {most} are possible", rounds.0)),
        }
    }

    /// The goals, and the time for them.
    pub(super) fn until(&self) -> Result<Option<Until>, String> {
        let Criteria { until: goals, budget, .. } = &self.criteria;
        match *budget {
            Some(budget) if goals.is_empty() => Err(self.file.named(&format!(
                "budget: {budget}: belongs to `until`, whose goals it ends; name one, as in until = \"p99 within 3%\""
            ))),
            budget => Ok((!goals.is_empty()).then(|| Until {
                goals: goals.clone(),
                budget: budget.unwrap_or(Until::BUDGET),
            })),
        }
    }

    /// The limits that the numbers are checked against.
    pub(super) fn require(&self) -> Result<Vec<Requirement>, String> {
        let require = &self.criteria.require;
        let problem = |text: &str| Err(self.file.named(text));
        if !require.is_empty() && self.axis.is_some() {
            return problem(
                "require: does not apply to a sweep, which overloads the server on purpose; --slo is its objective",
            );
        }
        let is_about_offered = |it: &Requirement| it.metric == Metric::AchievedOfOffered;
        let is_closed = self.made.iter().any(|cell| cell.workload.load.is_closed());
        if is_closed && require.iter().any(is_about_offered) {
            return problem(
                "require: achieved/offered: a closed loop offers no rate; --rate, or `rate` in a file, has one",
            );
        }
        Ok(require.clone())
    }

    /// The number of rounds that the budget has time for.
    pub(super) fn rounds_until(&self, until: &Until) -> Result<u32, String> {
        let problem = |text: String| Err(self.file.named(&text));
        if self.axis.is_some() {
            return problem(
                "until: does not apply to a sweep, which ends by its own rule".to_owned(),
            );
        }
        let each = self.made.iter().fold(Nanos::ZERO, |sum, it| sum + it.workload.block_time());
        let budget = until.budget;
        let rounds = u32::try_from(budget.0 / each.0.max(1)).unwrap_or(u32::MAX);
        let rounds = rounds.min(Experiment::ROUNDS_MAX);
        if rounds < Until::ROUNDS_MIN {
            let (least, all) = (Until::ROUNDS_MIN, Nanos(each.0 * u64::from(Until::ROUNDS_MIN)));
            return problem(format!(
                "budget: {budget} is too short: {least} rounds, which a goal needs at least, take {all}; name a longer \
                 one, or a shorter duration of blocks"
            ));
        }
        let asked = self.asked.criteria.rounds.map(|Count(rounds)| rounds);
        let Some(asked) = asked else { return Ok(rounds) };
        let least = u64::from(Until::ROUNDS_MIN);
        match u32::try_from(asked).ok().filter(|_| asked >= least) {
            Some(asked) => Ok(rounds.min(asked)),
            None => {
                problem(format!("rounds: {asked} is not enough for a goal, which needs {least}"))
            }
        }
    }
}
