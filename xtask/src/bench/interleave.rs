//! Blocks of several contestants in random order, and what may be compared of them.
//!
//! The host moves our cores about: a cache line crosses between them in about 61 ns or in about 160 ns, and every
//! result shifts with it. So the crossing is measured before and after each block, and blocks are compared within
//! one placement only.

use super::Bench;
use super::block::{self, Contestant, Measured};
use super::report::{Line, Report, Target};
use super::tools::Tools;
use crate::shell;
use anyhow::{Context as _, Result};
use stats::Pair;
use units::Random;

/// A crossing of this many nanoseconds or more is called far, where there is nothing to tell it from.
const FAR_NS: f64 = 110.0;
/// Crossings that differ by less than this factor are of one placement; those of two differ by 2.6.
const ONE_PLACEMENT: f64 = 2.0;
/// A crossing of more nanoseconds says that a core was busy with something else, not where it was.
const CROSSING_NS_MAX: f64 = 400.0;

/// Several contestants, and who is set beside whom.
pub(super) struct Contest {
    pub(super) contestants: Vec<Contestant>,
    pub(super) comparisons: Vec<Comparison>,
}

/// Two contestants by their index, and what is compared of them.
pub(super) struct Comparison {
    pub(super) ours: usize,
    pub(super) beside: usize,
    pub(super) figures: Vec<(Figure, Target)>,
}

/// A number of a block.
#[derive(Clone, Copy, Debug)]
pub(super) enum Figure {
    PerSecond,
    GeneratorCpu,
    ServerCpu,
}

/// Where the two cores are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    Near,
    Far,
    /// The host moved them during the block, or it cannot be told.
    Moved,
}

/// A block that was run.
pub(super) struct Block {
    pub(super) round: usize,
    pub(super) contestant: usize,
    /// Worked out when all blocks have been run.
    pub(super) placement: Placement,
    /// How long a cache line took from core to core before and after it.
    pub(super) crossing_ns: [f64; 2],
    pub(super) measured: Measured,
}

/// Runs a contest and compares.
pub(super) fn measure(bench: &Bench, contest: &Contest, report: &mut Report) -> Result<Vec<Line>> {
    let blocks = run_blocks(bench, contest)?;
    let Some(chosen) = choose(&blocks, contest.contestants.len()) else {
        anyhow::bail!(
            "no placement of the cores has a block of every contestant; more --rounds may"
        );
    };
    let mut lines = vec![Line::heading(describe(&blocks, chosen, contest))];
    lines.extend(
        contest
            .comparisons
            .iter()
            .flat_map(|comparison| compare(bench, contest, comparison, &blocks, chosen)),
    );
    lines.extend(own_reports(contest, &blocks));
    report.keep(contest, blocks);
    Ok(lines)
}

/// Every contestant once a round, in an order drawn anew for each.
fn run_blocks(bench: &Bench, contest: &Contest) -> Result<Vec<Block>> {
    let mut random = Random::new(bench.seed);
    let mut blocks = Vec::new();
    let mut before = crossing_ns(&bench.tools)?;
    for round in 0..bench.rounds {
        let mut order: Vec<usize> = (0..contest.contestants.len()).collect();
        random.shuffle(&mut order);
        for contestant in order {
            let who = &contest.contestants[contestant];
            let measured = block::run(bench, who).with_context(|| who.name.to_owned())?;
            let after = crossing_ns(&bench.tools)?;
            let Measured { per_s, generator_us, .. } = measured;
            let name = format!("{:>3}/{} {:<20}", round + 1, bench.rounds, who.name);
            eprintln!(
                "  {name} {per_s:>9.0}/s {generator_us:>8.3} us, crossing {before:.0} to {after:.0} ns"
            );
            let crossing_ns = [before, after];
            blocks.push(Block {
                round,
                contestant,
                placement: Placement::Moved,
                crossing_ns,
                measured,
            });
            before = after;
        }
    }
    place(&mut blocks);
    Ok(blocks)
}

/// Works out where the cores were during each block.
fn place(blocks: &mut [Block]) {
    let crossings: Vec<f64> = blocks.iter().flat_map(|block| block.crossing_ns).collect();
    let far_from = far_from(&crossings);
    for block in blocks {
        block.placement = placement(block.crossing_ns, far_from);
    }
}

/// How long a cache line takes from one core to the other, now.
pub(super) fn crossing_ns(tools: &Tools) -> Result<f64> {
    let printed = shell::output(&mut shell::command(tools.floor("calib")))?;
    let last =
        printed.split_whitespace().nth(2).with_context(|| format!("calib printed {printed:?}"))?;
    Ok(last.parse()?)
}

/// From which crossing on the cores are far apart: half way between the extremes, by their factor, if those are two
/// placements.
pub(super) fn far_from(crossings: &[f64]) -> f64 {
    let told = crossings.iter().copied().filter(|crossing| *crossing <= CROSSING_NS_MAX);
    let told: Vec<f64> = told.collect();
    let least = told.iter().copied().fold(f64::INFINITY, f64::min);
    let most = told.iter().copied().fold(0.0, f64::max);
    if most >= least * ONE_PLACEMENT {
        return (least * most).sqrt();
    }
    if stats::median(&told).is_ok_and(|crossing| crossing < FAR_NS) { f64::INFINITY } else { 0.0 }
}

pub(super) fn placement(crossing_ns: [f64; 2], far_from: f64) -> Placement {
    if crossing_ns.iter().any(|crossing| *crossing > CROSSING_NS_MAX) {
        return Placement::Moved;
    }
    match crossing_ns.map(|crossing| crossing >= far_from) {
        [false, false] => Placement::Near,
        [true, true] => Placement::Far,
        [false, true] | [true, false] => Placement::Moved,
    }
}

/// The placement that has more blocks of the contestant that has fewest; `None` if neither has one of each.
fn choose(blocks: &[Block], contestants: usize) -> Option<Placement> {
    let fewest = |placement| {
        let of = |who| {
            blocks
                .iter()
                .filter(|block| block.contestant == who && block.placement == placement)
                .count()
        };
        (0..contestants).map(of).min().unwrap_or(0)
    };
    let (near, far) = (fewest(Placement::Near), fewest(Placement::Far));
    (near.max(far) > 0).then_some(if near >= far { Placement::Near } else { Placement::Far })
}

fn describe(blocks: &[Block], chosen: Placement, contest: &Contest) -> String {
    let kept = blocks.iter().filter(|block| block.placement == chosen).count();
    format!(
        "{kept} blocks of {} contestants, cores {chosen:?}; {} blocks dropped for their placement",
        contest.contestants.len(),
        blocks.len() - kept
    )
    .to_lowercase()
}

fn compare(
    bench: &Bench,
    contest: &Contest,
    comparison: &Comparison,
    blocks: &[Block],
    chosen: Placement,
) -> Vec<Line> {
    let &Comparison { ours, beside, ref figures } = comparison;
    let who = &contest.contestants;
    let unit = who[ours].workload.unit();
    let line = |&(figure, target): &(Figure, Target)| {
        let in_round = |round, contestant| {
            let mut kept = blocks.iter().filter(|block| block.placement == chosen);
            let block =
                kept.find(|block| block.round == round && block.contestant == contestant)?;
            Some(figure.of(&block.measured))
        };
        let pair = |round| {
            Some(Pair { subject: in_round(round, ours)?, baseline: in_round(round, beside)? })
        };
        let rounds: Vec<Pair> = (0..bench.rounds).filter_map(pair).collect();
        Line::ratio(figure.name(unit), &rounds, bench.seed, target)
    };
    let title = Line::heading(format!("{} beside {}", who[ours].name, who[beside].name));
    std::iter::once(title).chain(figures.iter().map(line)).collect()
}

/// How far what the contestants say of themselves is from what was measured from outside.
fn own_reports(contest: &Contest, blocks: &[Block]) -> Option<Line> {
    let off = |block: &Block| {
        let own = block.measured.own?;
        let unit = contest.contestants[block.contestant].workload.unit();
        (unit == "message").then_some((own.messages_per_s / block.measured.per_s - 1.0).abs())
    };
    let off: Vec<f64> = blocks.iter().filter_map(off).collect();
    let (usual, most) = (stats::median(&off).ok()?, off.iter().copied().fold(0.0, f64::max));
    let words = format!(
        "messages/s by their own count differ by {:.1} %, {:.1} % at most",
        usual * 100.0,
        most * 100.0
    );
    Some(Line::heading(words))
}

impl Figure {
    fn of(self, measured: &Measured) -> f64 {
        match self {
            Self::PerSecond => measured.per_s,
            Self::GeneratorCpu => measured.generator_us,
            Self::ServerCpu => measured.server_us,
        }
    }

    fn name(self, unit: &str) -> String {
        match self {
            Self::PerSecond => format!("{unit}s/s"),
            Self::GeneratorCpu => format!("CPU us/{unit}"),
            Self::ServerCpu => format!("server CPU us/{unit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(of: &[(usize, Placement)]) -> Vec<Block> {
        let measured = Measured { per_s: 1.0, generator_us: 1.0, server_us: 1.0, own: None };
        let block = |&(contestant, placement)| Block {
            round: 0,
            contestant,
            placement,
            crossing_ns: [0.0; 2],
            measured,
        };
        of.iter().map(block).collect()
    }

    #[test]
    fn two_placements_are_told_apart_by_their_crossings() {
        let far = far_from(&[61.0, 64.0, 160.0, 155.0, 61.0]);
        assert_eq!(placement([61.0, 64.0], far), Placement::Near);
        assert_eq!(placement([160.0, 155.0], far), Placement::Far);
        assert_eq!(placement([64.0, 160.0], far), Placement::Moved);
    }

    #[test]
    fn one_placement_is_not_cut_in_two() {
        assert_eq!(placement([101.0, 121.0], far_from(&[101.0, 103.0, 121.0])), Placement::Near);
        assert_eq!(placement([130.0, 160.0], far_from(&[130.0, 150.0, 160.0])), Placement::Far);
        assert_eq!(placement([101.0, 2e6], far_from(&[101.0, 2e6, 103.0])), Placement::Moved);
        assert_eq!(placement([101.0, 121.0], far_from(&[101.0, 2e6, 103.0])), Placement::Near);
    }

    #[test]
    fn the_placement_with_more_of_the_rarest_contestant_is_compared() {
        use Placement::{Far, Moved, Near};
        assert_eq!(
            choose(&blocks(&[(0, Near), (1, Near), (0, Far), (0, Far), (0, Far)]), 2),
            Some(Near)
        );
        assert_eq!(choose(&blocks(&[(0, Far), (1, Far), (0, Near), (1, Moved)]), 2), Some(Far));
        assert_eq!(choose(&blocks(&[(0, Near), (1, Far), (1, Moved)]), 2), None);
    }
}
