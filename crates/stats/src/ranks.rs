//! Tests and estimates that look only at which block is larger: robust against outliers, whatever the distribution.

use crate::normal;
use crate::sample::{SampleError, Sides, check, float, median};

/// The Mann-Whitney U test, two-sided: would equal sides differ as much?
///
/// Exact where no two values are equal and neither side has more than 40 blocks; else by the normal distribution,
/// corrected for ties and continuity.
///
/// # Errors
///
/// A side is empty or has a value that is not finite.
pub fn mann_whitney(sides: Sides<'_>) -> Result<MannWhitney, SampleError> {
    let Sides { subject, baseline } = sides;
    check(subject, 1)?;
    check(baseline, 1)?;
    let (rank_sum, ties) = rank_sum(subject, baseline);
    let (subjects, baselines) = (float(subject.len()), float(baseline.len()));
    let u = rank_sum - subjects * (subjects + 1.0) / 2.0;
    let larger = u.max(subjects * baselines - u);
    let one_sided = if ties == 0.0 && subject.len().max(baseline.len()) <= EXACT_MAX {
        exact_at_least(larger, subject.len(), baseline.len())
    } else {
        let all = subjects + baselines;
        let variance = subjects * baselines / 12.0 * ((all + 1.0) - ties / (all * (all - 1.0)));
        // Where all values are equal there is no variance, and no difference.
        let excess = larger - subjects * baselines / 2.0 - 0.5;
        if variance > 0.0 { normal::below(-excess / variance.sqrt()) } else { 1.0 }
    };
    Ok(MannWhitney { u, p_value: (2.0 * one_sided).min(1.0) })
}

/// The outcome of a Mann-Whitney test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// In how many pairs of blocks the subject's is larger; equal ones count half.
    pub u: f64,
    /// The probability that equal sides would differ at least as much.
    pub p_value: f64,
}

/// By how much the subject is larger: the median of the differences of all pairs of blocks (Hodges and Lehmann).
///
/// # Errors
///
/// A side is empty or has a value that is not finite.
pub fn hodges_lehmann(sides: Sides<'_>) -> Result<f64, SampleError> {
    let Sides { subject, baseline } = sides;
    check(subject, 1)?;
    check(baseline, 1)?;
    let differences: Vec<f64> = subject
        .iter()
        .flat_map(|subject| baseline.iter().map(move |baseline| subject - baseline))
        .collect();
    median(&differences)
}

/// Holm's correction: what each of `p_values` is worth when all of them were tried, in the same order.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut corrected = vec![0.0; p_values.len()];
    let mut highest: f64 = 0.0;
    for (rank, index) in order.into_iter().enumerate() {
        highest = highest.max(p_values[index] * float(p_values.len() - rank)).min(1.0);
        corrected[index] = highest;
    }
    corrected
}

/// The sum of the subject's ranks among all values, and the sum of t^3 - t over groups of t equal values.
fn rank_sum(subject: &[f64], baseline: &[f64]) -> (f64, f64) {
    let ours = subject.iter().map(|value| (*value, 1.0));
    let mut all: Vec<(f64, f64)> = ours.chain(baseline.iter().map(|value| (*value, 0.0))).collect();
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut sum, mut ties, mut before) = (0.0, 0.0, 0);
    #[expect(clippy::float_cmp, reason = "a tie is an exact one")]
    for equal in all.chunk_by(|a, b| a.0 == b.0) {
        let size = float(equal.len());
        let rank = float(before) + (size + 1.0) / 2.0;
        sum += rank * equal.iter().map(|(_, ours)| ours).sum::<f64>();
        ties += size.powi(3) - size;
        before += equal.len();
    }
    (sum, ties)
}

/// The probability that U is at least `u` for equal sides, by counting the orders of blocks (Mann and Whitney's
/// recursion).
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "U without ties is a small whole number"
)]
fn exact_at_least(u: f64, subjects: usize, baselines: usize) -> f64 {
    // `shares[n][u]`: the probability of U = u with n subjects and as many baselines as the outer loop has come to.
    let mut shares = vec![vec![0.0; subjects * baselines + 1]; subjects + 1];
    shares.iter_mut().for_each(|share| share[0] = 1.0);
    for b in 1..=baselines {
        for s in 1..=subjects {
            // The largest of all is a subject with s / (s + b), and then beats all b; else it is a baseline.
            let is_subject = float(s) / float(s + b);
            for u in (0..=s * b).rev() {
                let beaten = if u >= b { shares[s - 1][u - b] } else { 0.0 };
                shares[s][u] = is_subject * beaten + (1.0 - is_subject) * shares[s][u];
            }
        }
    }
    shares[subjects][u as usize..].iter().sum()
}

/// Up to here the exact test is quick (a few million steps); beyond, the normal distribution is as good.
const EXACT_MAX: usize = 40;
