//! Two servers that took turns, and the numbers by which they are shown to differ.
//!
//! Several numbers are compared, and each would differ by chance in 5 % of all runs. A difference is therefore claimed
//! by an interval wider than that of 95 %: wide enough for all numbers together to be wrong in at most 2 % of runs in
//! which nothing differs (Bonferroni).
//!
//! Left out: memory. Blocks show how the memory of one process varies, not how it varies between processes of the same
//! program.
//!
//! Start reading at [`sides`].

use crate::pooling::{figure, pooled};
use crate::{Block, Plan, Required, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::{Experiment, Metric, Server};
use stats::Pooled;
use units::Share;

/// The result of two servers that took turns, the second one compared with the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sides {
    /// The index of the workload that the other one is compared with.
    pub base: usize,
    /// The index of the other one.
    pub head: usize,
    /// True if both are the same server, or started by the same command: a difference is a false alarm then.
    pub is_same: bool,
    /// The confidence of the interval by which each difference is claimed, so that it is 98 % for all of them.
    pub confidence: f64,
    /// The numbers that both have.
    pub differences: Vec<Difference>,
    /// The most that the second one may be worse; `null` if nobody asked.
    #[serde(default)]
    pub regression_max: Option<Share>,
}

/// A number of the second side divided by that of the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The number.
    pub metric: Metric,
    /// The ratio of the two.
    pub ratio: f64,
    /// The lower end of its 95 % interval; `null` with too few rounds for one, or where it depends on few of them.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// The claim.
    pub change: Change,
    /// The smallest difference that would have been claimed four times out of five, as a share.
    pub smallest_detectable_fraction: Option<f64>,
    /// The answer to the most that is allowed; `null` if nobody asked.
    #[serde(default)]
    pub regression: Option<Regression>,
}

/// The claim about a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is better: a shorter time, a higher rate, a smaller cost.
    Better,
    /// No difference is shown.
    NotShown,
    /// There is no interval, or the number is not valid for one of them, so that nothing can be shown.
    Unknown,
    /// It is worse.
    Worse,
}

/// The answer to the most by which a number may be worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Regression {
    /// It is worse by more, beyond noise.
    Found,
    /// It is not.
    NotFound,
    /// The interval contains the limit: the noise is larger than what is allowed.
    TooNoisy,
    /// There is no interval, or the number is not valid for one of them, so that nothing is known.
    Unknown,
}

impl Sides {
    /// The answer to the most that is allowed; with `is_strict`, noise passes nothing. It is not met if no number has
    /// an interval.
    pub fn required(&self, is_strict: bool) -> Required {
        let has = |one| self.differences.iter().any(|it| it.regression == Some(one));
        let is_unknown = !(has(Regression::NotFound) || has(Regression::TooNoisy));
        let is_noise = has(Regression::TooNoisy) || has(Regression::Unknown);
        match self.regression_max {
            None => Required::Met,
            Some(_) if has(Regression::Found) => Required::Regressed,
            Some(_) if is_unknown || is_strict && is_noise => Required::NotMet,
            Some(_) => Required::Met,
        }
    }

    /// Withdraws the claims about numbers that are invalid according to `verdict`.
    pub fn without_invalid(&mut self, verdict: &Verdict) {
        let sides = [self.base, self.head];
        let is_invalid = |metric| sides.iter().any(|side| verdict.invalid(*side, metric).is_some());
        for it in self.differences.iter_mut().filter(|it| is_invalid(it.metric)) {
            (it.low, it.high, it.smallest_detectable_fraction) = (None, None, None);
            it.change = Change::Unknown;
            it.regression = it.regression.map(|_| Regression::Unknown);
        }
    }

    /// The differences that are claimed.
    pub fn claimed(&self) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(|it| matches!(it.change, Change::Better | Change::Worse))
    }
}

/// Compares both sides of `experiment` by all their blocks; `None` if it does not have two ([`Experiment::sides`]).
pub fn sides(experiment: &Experiment, plan: &Plan, blocks: &[Block]) -> Option<Sides> {
    let [base, head] = experiment.sides()?;
    let [of_base, of_head] = [base, head].map(|index| pooled(plan, blocks, index));
    let ratio = |metric: Metric| {
        let [of_base, of_head] = [figure(&of_base, metric)?, figure(&of_head, metric)?];
        let ratio = of_head.over(of_base);
        ratio.value().is_finite().then_some((metric, ratio))
    };
    let ratios: Vec<(Metric, Pooled)> = CLAIMED.into_iter().filter_map(ratio).collect();
    let known = ratios.iter().filter(|(_, ratio)| ratio.interval().is_some()).count();
    let confidence = 1.0 - WRONG / f64::from(u32::try_from(known.max(1)).unwrap_or(1));
    let allowed = experiment.regression_max;
    let servers = [base, head].map(|index| &experiment.workloads[index].server);
    Some(Sides {
        base,
        head,
        is_same: is_same(servers),
        confidence,
        differences: ratios
            .iter()
            .map(|(metric, ratio)| difference(*metric, ratio, confidence, allowed))
            .collect(),
        regression_max: allowed,
    })
}

fn difference(
    metric: Metric,
    ratio: &Pooled,
    confidence: f64,
    allowed: Option<Share>,
) -> Difference {
    let interval = ratio.interval();
    // Where higher is better, the inverse makes larger mean worse.
    let is_inverse = metric == Metric::MessagesPerS;
    let worse = ratio.interval_of(confidence);
    let worse =
        worse.map(|(low, high)| if is_inverse { (1.0 / high, 1.0 / low) } else { (low, high) });
    let change = match worse {
        None => Change::Unknown,
        Some((low, _)) if low > 1.0 => Change::Worse,
        Some((_, high)) if high < 1.0 => Change::Better,
        Some(_) => Change::NotShown,
    };
    let regression = allowed.map(|allowed| match (worse, 1.0 + allowed.fraction()) {
        (None, _) => Regression::Unknown,
        (Some((low, _)), limit) if low > limit => Regression::Found,
        (Some((_, high)), limit) if high <= limit => Regression::NotFound,
        (Some(_), _) => Regression::TooNoisy,
    });
    Difference {
        metric,
        ratio: ratio.value(),
        low: interval.map(|(low, _)| low),
        high: interval.map(|(_, high)| high),
        change,
        smallest_detectable_fraction: ratio.smallest_detectable_of(confidence),
        regression,
    }
}

/// True for one server that is already listening, and for two processes of one command.
fn is_same([base, head]: [&Server; 2]) -> bool {
    match (base, head) {
        (Server::Started(base), Server::Started(head)) => {
            (&base.url, &base.command, &base.folder) == (&head.url, &head.command, &head.folder)
        }
        (base, head) => base == head,
    }
}

/// The numbers by which a difference is claimed.
const CLAIMED: [Metric; 5] = [
    Metric::P50,
    Metric::P99,
    Metric::MessagesPerS,
    Metric::CpuPerMessage,
    Metric::BytesPerMessage,
];
/// The largest share of runs without any difference in which one is claimed.
///
/// The probability that more than 2 of 40 such runs claim something is then at most 4.6 %. With 5 % it would be 32 %: a
/// sound machine would fail that check every third time.
const WRONG: f64 = 0.02;
