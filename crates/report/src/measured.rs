//! Rows with their measurements, in groups of rows that belong side by side, and the comparison of two rows.

use crate::number;
use crate::row::{self, Row};
use crate::verdict;
use record::{
    Block, Comparison, Cpu, Estimate, Kind, Level, Number, PerMetric, RowVerdict, RunRecord,
    Summary, Verdict, WorkloadResult,
};
use stats::{Histogram, Pooled};
use std::cell::OnceCell;

/// All rows under one load, and the one that they are compared with.
pub(crate) struct Group<'a> {
    /// The name of the load, where names of rows end in it; else empty.
    pub(crate) load: String,
    /// The index of the row that all are compared with: a bare TCP socket, or the baseline of the plan.
    pub(crate) zero: Option<usize>,
    /// The rows in the order of the plan.
    pub(crate) rows: Vec<Measured<'a>>,
}

/// A row with its blocks.
pub(crate) struct Measured<'a> {
    pub(crate) row: Row<'a>,
    /// Its name, without that of its load.
    pub(crate) name: String,
    /// All its blocks.
    pub(crate) all: Vec<&'a Block>,
    /// The blocks that count.
    pub(crate) blocks: Vec<&'a Block>,
    /// The reasons why the others do not.
    pub(crate) failed: Vec<&'a str>,
    /// `None` if no block counts.
    pub(crate) result: Option<&'a WorkloadResult>,
    /// The trust in it and its numbers.
    pub(crate) trust: RowVerdict,
    /// True unless the verdict calls it invalid.
    pub(crate) is_allowed: bool,
    record: &'a RunRecord,
    /// Computed on first use.
    numbers: OnceCell<PerMetric<Pooled>>,
}

/// The number of one row divided by that of another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) value: f64,
    /// The 95 % interval; `None` with too few rounds, or if the number depends on few of them.
    pub(crate) interval: Option<(f64, f64)>,
    /// The smallest difference that blocks this noisy would have shown.
    pub(crate) smallest: Option<f64>,
    /// The most by which one round moves it, as a share of it.
    pub(crate) moved_most: Option<f64>,
}

/// A number of a block.
pub(crate) type Metric = fn(Row<'_>, &Block) -> Option<f64>;

/// A number that all blocks of a row have together, by which rows are ranked and compared.
pub(crate) type Figure = fn(Row<'_>, &PerMetric<Pooled>) -> Option<Pooled>;

/// The time of a message that tables show: the median response time of an open loop, the median life of short-lived
/// clients, and the median round trip of a closed loop.
pub(crate) fn message_ns(row: Row<'_>, numbers: &PerMetric<Pooled>) -> Option<Pooled> {
    if row.is_closed() { &numbers.round_trip_p50_ns } else { &numbers.response_p50_ns }.clone()
}

/// CPU time of both sides for a message.
pub(crate) fn cpu_us(_: Row<'_>, numbers: &PerMetric<Pooled>) -> Option<Pooled> {
    record::cpu_of_both(numbers)
}

/// Memory of the server at the end of a block.
pub(crate) fn server_bytes(_: Row<'_>, block: &Block) -> Option<f64> {
    let memory = block.memory.as_ref()?;
    memory.server_pss_bytes.or(memory.server_rss_bytes).map(number::float)
}

/// Memory of the server for each receiver of rooms.
pub(crate) fn receiver_bytes(row: Row<'_>, block: &Block) -> Option<f64> {
    row.receiver_memory(block)?.ok().map(|memory| memory.each)
}

/// Shortest, mean and longest of several distributions together, in nanoseconds, and the number of samples.
#[derive(Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) count: u64,
    pub(crate) min_ns: f64,
    pub(crate) mean_ns: f64,
    pub(crate) max_ns: f64,
}

impl Spread {
    /// `None` if there is no sample.
    pub(crate) fn of<'a>(all: impl IntoIterator<Item = &'a Summary>) -> Option<Self> {
        let all: Vec<&Summary> = all.into_iter().collect();
        let count = all.iter().fold(0_u64, |sum, summary| sum.saturating_add(summary.count));
        let weighted = |summary: &&Summary| summary.mean_ns * number::float(summary.count);
        let total: f64 = all.iter().map(weighted).sum();
        Some(Self {
            count,
            min_ns: number::float(all.iter().map(|summary| summary.min_ns).min()?),
            mean_ns: total / number::float(count),
            max_ns: number::float(all.iter().map(|summary| summary.max_ns).max()?),
        })
    }
}

impl Ratio {
    /// True if the interval excludes 1; `None` without one.
    pub(crate) fn is_shown(self) -> Option<bool> {
        self.interval.map(|(low, high)| low > 1.0 || high < 1.0)
    }

    /// The share by which one block moves it, if it depends on that block.
    pub(crate) fn hangs_by(self) -> Option<f64> {
        hangs_by(self.interval, self.moved_most?)
    }

    /// `1.06x [1.04, 1.08]`.
    pub(crate) fn text(self) -> String {
        number::ratio(self.value, self.interval)
    }

    /// `3.1 % would have shown`: the reason for more blocks, or a quieter machine.
    pub(crate) fn could_see(self) -> String {
        match self.smallest.filter(|smallest| smallest.is_finite()) {
            Some(smallest) => format!("{} would have shown", number::percent(smallest)),
            None => "the smallest detectable difference is not known".to_owned(),
        }
    }
}

impl From<&Comparison> for Ratio {
    fn from(it: &Comparison) -> Self {
        Self {
            value: it.ratio,
            interval: it.low.zip(it.high),
            smallest: it.smallest_detectable_fraction,
            moved_most: it.moved_most_fraction,
        }
    }
}

/// The share by which one round moves a number, if the number depends on that round: it accounts for most of the width
/// of the interval.
pub(crate) fn hangs_by(interval: Option<(f64, f64)>, moved_most: f64) -> Option<f64> {
    let (low, high) = interval?;
    let half = (high / low).ln() / 2.0;
    (moved_most >= SEEN_FROM && moved_most >= HANGS_FROM * half).then_some(moved_most)
}

/// From this part of half an interval on, one of 10 rounds accounts for 56 % of the variance, and one of 40 for 49 %.
/// If rounds vary by chance alone, the largest does so in fewer than a tenth of rows (Cochran's C).
const HANGS_FROM: f64 = 0.35;
/// Less does not show in the digits of a ratio.
const SEEN_FROM: f64 = 0.005;

impl<'a> Group<'a> {
    /// All groups of `record`, in the order of their first rows.
    pub(crate) fn all(record: &'a RunRecord, verdict: &Verdict) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for row in row::all(record) {
            let zero = row::zero(record, row.index);
            let measured = Measured::of(record, verdict, row);
            match groups.iter_mut().find(|group| group.zero == zero) {
                Some(group) => group.rows.push(measured),
                None => groups.push(Self { load: String::new(), zero, rows: vec![measured] }),
            }
        }
        if groups.len() > 1 {
            groups.iter_mut().for_each(Self::name_apart);
        }
        groups
    }

    /// The row that all are compared with.
    pub(crate) fn zero(&self) -> Option<&Measured<'a>> {
        self.rows.iter().find(|it| Some(it.row.index) == self.zero)
    }

    /// All rows but the one that they are compared with.
    pub(crate) fn others(&self) -> impl Iterator<Item = &Measured<'a>> {
        self.rows.iter().filter(|it| Some(it.row.index) != self.zero)
    }

    /// The measured rows that are not invalid, without the one that all are compared with; sorted by `figure`, the
    /// least first.
    pub(crate) fn ranked(&self, figure: Figure) -> Vec<&Measured<'a>> {
        let all = self.others().filter(|it| it.is_allowed && it.result.is_some());
        let mut ranked: Vec<(f64, &Measured<'a>)> =
            all.filter_map(|it| Some((it.number(figure)?, it))).collect();
        ranked.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        ranked.into_iter().map(|(_, row)| row).collect()
    }

    /// The rows of [`Group::ranked`] whose ratio is trusted.
    pub(crate) fn unmarked(&self, figure: Figure) -> Vec<&Measured<'a>> {
        let is_unmarked = |it: &&Measured<'_>| it.trust.of_number(Number::Ratio) == Level::Trusted;
        self.ranked(figure).into_iter().filter(is_unmarked).collect()
    }

    /// `, 50 connections`: the load as the end of a name; empty where there is no other.
    pub(crate) fn suffix(&self) -> String {
        if self.load.is_empty() { String::new() } else { format!(", {}", self.load) }
    }

    /// Takes the end that all names share, from a separator on, as the name of the load.
    fn name_apart(&mut self) {
        let Some(first) = self.rows.first().map(|it| it.name.clone()) else { return };
        let ends = |suffix: &&str| {
            self.rows.iter().all(|it| it.name.len() > suffix.len() && it.name.ends_with(suffix))
        };
        let suffixes = first.char_indices().filter(|(_, letter)| SEPARATORS.contains(letter));
        let Some(common) = suffixes.map(|(at, _)| &first[at..]).find(ends) else { return };
        let is_separator = |letter: char| SEPARATORS.contains(&letter);
        for row in &mut self.rows {
            let len = row.name.len() - common.len();
            row.name.truncate(len);
            row.name.truncate(row.name.trim_end_matches(is_separator).len());
        }
        self.load = common.trim_matches(is_separator).to_owned();
    }
}

impl<'a> Measured<'a> {
    pub(crate) fn of(record: &'a RunRecord, verdict: &Verdict, row: Row<'a>) -> Self {
        let all: Vec<&Block> =
            record.blocks.iter().filter(|block| block.workload == row.index).collect();
        let mut results = record.results.iter();
        Self {
            row,
            name: row.name().to_owned(),
            blocks: all.iter().copied().filter(|block| block.failed.is_none()).collect(),
            failed: all.iter().filter_map(|block| block.failed.as_deref()).collect(),
            all,
            result: results.find(|result| result.workload == row.index && result.blocks > 0),
            trust: verdict.row(row.index),
            is_allowed: !verdict::forbids(verdict, row.index),
            record,
            numbers: OnceCell::new(),
        }
    }

    /// The only block, if there is no other.
    pub(crate) fn only_block(&self) -> Option<&'a Block> {
        match self.all[..] {
            [block] => Some(block),
            _ => None,
        }
    }

    /// The times of all blocks together, or of the only block.
    pub(crate) fn times(&self) -> Option<&'a Summary> {
        let merged = self.result.and_then(|result| self.row.merged(result));
        merged.or_else(|| {
            self.blocks
                .first()
                .filter(|_| self.blocks.len() == 1)
                .and_then(|block| self.row.times(block))
        })
    }

    /// The numbers of all its blocks together, each with its interval.
    pub(crate) fn pooled(&self) -> Option<&'a PerMetric<Estimate>> {
        self.result.map(|result| &result.pooled)
    }

    /// The measured time of all blocks in seconds; failed blocks count with their planned time at least.
    pub(crate) fn seconds(&self) -> f64 {
        self.all.iter().map(|block| self.row.seconds(block)).sum()
    }

    /// Replies that were due each second, over all blocks; in rooms they are deliveries.
    pub(crate) fn due_per_s(&self) -> f64 {
        number::float(self.sum(Block::replies_due)) / self.seconds()
    }

    /// Replies a second over all blocks.
    pub(crate) fn replies_per_s(&self) -> f64 {
        let replies =
            |block: &&Block| block.messages_per_s * number::float(block.measured_ns) / 1e9;
        self.all.iter().map(replies).sum::<f64>() / self.seconds()
    }

    pub(crate) fn measured_ns(&self) -> u64 {
        self.all.iter().fold(0, |sum, block| sum.saturating_add(block.measured_ns))
    }

    /// The sum of a count over all blocks.
    pub(crate) fn sum(&self, of: fn(&Block) -> u64) -> u64 {
        self.all.iter().fold(0, |sum, block| sum.saturating_add(of(block)))
    }

    /// The reason why a number of [`Cpu`] is missing.
    pub(crate) fn without_cpu(&self, field: &str) -> Option<&'a str> {
        let missing = |cpu: &'a Cpu| cpu.missing.get(field).map(String::as_str);
        self.all.iter().find_map(|block| missing(&block.cpu))
    }

    /// The reason why none of its blocks has a memory for each receiver, where the server's memory is known.
    pub(crate) fn without_receiver_memory(&self) -> Option<&'static str> {
        let mut known = self.blocks.iter().filter_map(|block| self.row.receiver_memory(block));
        let first = known.next()?.err()?;
        known.all(|memory| memory.is_err()).then_some(first)
    }

    /// Its name as the row that others are compared with.
    pub(crate) fn base_name(&self) -> &str {
        let is_ours = self.row.server().is_none() && self.row.client().is_none();
        if is_ours && self.row.transport() == "tcp" { "raw TCP" } else { &self.name }
    }

    /// The doubt about one of its numbers that the mark of the row does not show.
    pub(crate) fn doubt(&self, number: Number) -> Level {
        self.trust.numbers.get(&number).copied().unwrap_or_default()
    }

    /// Wall time divided by messages: the inverse of throughput.
    pub(crate) fn wall_per_message_us(&self) -> Option<f64> {
        let per_s = self.number(|_, numbers| numbers.messages_per_s.clone())?;
        (per_s > 0.0).then(|| 1e6 / per_s)
    }

    /// The median of `metric` over the blocks that count.
    pub(crate) fn median(&self, metric: Metric) -> Option<f64> {
        stats::median(&self.values(metric)).ok()
    }

    /// `metric` on each of the blocks that count.
    pub(crate) fn values(&self, metric: Metric) -> Vec<f64> {
        self.blocks.iter().filter_map(|block| metric(self.row, block)).collect()
    }

    /// `figure` of all its blocks together.
    pub(crate) fn number(&self, figure: Figure) -> Option<f64> {
        Some(figure(self.row, self.numbers())?.value())
    }

    /// Its `figure` divided by that of `base`; the interval pairs the rounds of both.
    pub(crate) fn to(&self, base: &Self, figure: Figure) -> Option<Ratio> {
        self.result.and(base.result)?;
        let ratio = figure(self.row, self.numbers())?.over(&figure(base.row, base.numbers())?);
        Comparison::of(&ratio).as_ref().map(Ratio::from)
    }

    /// Its p50 divided by that of the row that all are compared with: the record's ratio, or computed here if the
    /// record compares it with another row.
    pub(crate) fn to_zero(&self, zero: &Self) -> Option<Ratio> {
        let record = self.record;
        let is_known =
            record.kind != Kind::Lab && record.plan.base_of(self.row.index) == Some(zero.row.index);
        if !is_known {
            return self.to(zero, message_ns);
        }
        let known = self.result?.to_baseline.as_ref()?;
        record::figure(known, spec::Metric::P50).map(Ratio::from)
    }

    /// The time until 99 % of the receivers were back, after all were torn off or their server was killed.
    pub(crate) fn recovery(&self) -> Option<Pooled> {
        record::recovery(&self.record.plan, &self.record.blocks, self.row.index)
    }

    /// The numbers of all its blocks together, with their rounds.
    pub(crate) fn numbers(&self) -> &PerMetric<Pooled> {
        let pooled = || record::pooled(&self.record.plan, &self.record.blocks, self.row.index);
        self.numbers.get_or_init(pooled)
    }
}

/// Characters that may separate the name of a row from that of its load.
const SEPARATORS: [char; 5] = [' ', ',', '/', '@', ':'];

/// The times of all blocks together; `None` if there are none, or if they cannot be read.
pub(crate) fn merged<'a>(
    blocks: &[&'a Block],
    of: impl Fn(&'a Block) -> Option<&'a Summary>,
) -> Option<Summary> {
    let mut all = blocks.iter().filter_map(|block| of(block));
    match (all.next()?, all.next()) {
        (only, None) => Some(only.clone()),
        (first, Some(second)) => {
            let mut merged = Histogram::new();
            for summary in [first, second].into_iter().chain(all) {
                merged.add(&summary.histogram().ok()?);
            }
            Summary::of(&merged)
        }
    }
}
