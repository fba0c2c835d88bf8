//! The cells of a lab by their load: what belongs beside each other, and how two of them compare.

use crate::number;
use crate::verdict;
use record::{Block, Lifetime, RunRecord, Summary, Verdict, Workload, WorkloadResult};
use stats::{Bootstrap, Pair};

/// All cells under one load, and what they are compared with.
pub(crate) struct Group<'a> {
    /// The name of the load, where names of cells end in it; else empty.
    pub(crate) load: String,
    /// What all are compared with: a bare TCP socket, or the baseline of the plan.
    pub(crate) zero: Option<usize>,
    /// In the order of the plan.
    pub(crate) rows: Vec<Row<'a>>,
}

/// A cell.
pub(crate) struct Row<'a> {
    /// The index of its workload.
    pub(crate) index: usize,
    /// Its name, without that of its load.
    pub(crate) name: String,
    pub(crate) workload: &'a Workload,
    /// Those that count.
    pub(crate) blocks: Vec<&'a Block>,
    /// Why others do not.
    pub(crate) failed: Vec<&'a str>,
    /// What it came to; `None` if no block counts.
    pub(crate) result: Option<&'a WorkloadResult>,
    /// Whether the verdict leaves its numbers as a result.
    pub(crate) is_allowed: bool,
    seed: u64,
}

/// How two cells compare in one number: the median of one by that of the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) value: f64,
    /// Of 95 %; `None` in too few blocks.
    pub(crate) interval: Option<(f64, f64)>,
    /// The smallest difference that blocks this noisy would have shown.
    pub(crate) smallest: Option<f64>,
}

impl Ratio {
    /// Whether the interval leaves out 1; `None` without one.
    pub(crate) fn is_shown(self) -> Option<bool> {
        self.interval.map(|(low, high)| low > 1.0 || high < 1.0)
    }

    /// `1.06x [1.04, 1.08]`.
    pub(crate) fn cell(self) -> String {
        number::ratio(self.value, self.interval)
    }

    /// `3.1 % would have shown`: what more blocks, or a quieter machine, would be for.
    pub(crate) fn could_see(self) -> String {
        match self.smallest.filter(|smallest| smallest.is_finite()) {
            Some(smallest) => format!("{} would have shown", number::percent(smallest)),
            None => "what would have shown is not known".to_owned(),
        }
    }
}

/// A number that blocks have.
pub(crate) type Metric = fn(&Workload, &Block) -> Option<f64>;

/// What a message takes, which is what rows are ranked and compared by: of an open loop the median response time, of
/// short-lived clients their median life, and of a closed loop the mean round trip by Little's law: what is in flight
/// by the throughput. A median would favour a server that answers some connections at once and lets others wait.
pub(crate) fn message_ns(workload: &Workload, block: &Block) -> Option<f64> {
    if block.open_loop.is_some() || workload.lifetime != Lifetime::Long {
        return Some(number::float(times(workload, block)?.p50_ns?));
    }
    let all = workload.connections.saturating_mul(workload.in_flight.into());
    let in_flight = workload.in_flight_max.map_or(all, |max| all.min(max.into()));
    (block.messages_per_s > 0.0).then(|| number::float(in_flight) * 1e9 / block.messages_per_s)
}

/// What [`message_ns`] is, in words.
pub(crate) fn message_words(workload: &Workload) -> &'static str {
    match workload.lifetime {
        _ if !workload.arrival.is_closed() => "p50 response time",
        Lifetime::Long => "mean round trip",
        Lifetime::RoundTrips(_) => "p50 life",
    }
}

/// Their mean.
pub(crate) fn mean_ns(workload: &Workload, block: &Block) -> Option<f64> {
    Some(times(workload, block)?.mean_ns)
}

/// The same at the beginning of a line.
pub(crate) fn message_heading(workload: &Workload) -> &'static str {
    match workload.lifetime {
        _ if !workload.arrival.is_closed() => "Median response time",
        Lifetime::Long => "Mean round trip",
        Lifetime::RoundTrips(_) => "Median life",
    }
}

/// CPU time of both sides for a message.
pub(crate) fn cpu_us(_: &Workload, block: &Block) -> Option<f64> {
    Some(block.cpu.generator_us_per_message? + block.cpu.server_us_per_message?)
}

/// Wall time by messages: the inverse of throughput.
pub(crate) fn wall_per_message_us(_: &Workload, block: &Block) -> Option<f64> {
    (block.messages_per_s > 0.0).then(|| 1e6 / block.messages_per_s)
}

/// What the server holds at the end of a block.
pub(crate) fn server_bytes(_: &Workload, block: &Block) -> Option<f64> {
    let memory = block.memory.as_ref()?;
    memory.server_pss_bytes.or(memory.server_rss_bytes).map(number::float)
}

/// Response times of open loops, round trips of closed ones, and the lives of short-lived clients.
pub(crate) fn times<'a>(workload: &Workload, block: &'a Block) -> Option<&'a Summary> {
    match (&block.open_loop, workload.lifetime) {
        (Some(times), _) => times.response.as_ref(),
        (None, Lifetime::Long) => block.round_trip.as_ref(),
        (None, Lifetime::RoundTrips(_)) => block.phases.life.as_ref().or(block.round_trip.as_ref()),
    }
}

impl<'a> Group<'a> {
    /// All groups of `record`, in the order of their first cells.
    pub(crate) fn all(record: &'a RunRecord, verdict: &Verdict) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for (index, workload) in record.plan.workloads.iter().enumerate() {
            let zero = zero(record, index);
            let row = Row::of(record, verdict, index, workload);
            match groups.iter_mut().find(|group| group.zero == zero) {
                Some(group) => group.rows.push(row),
                None => groups.push(Self { load: String::new(), zero, rows: vec![row] }),
            }
        }
        if groups.len() > 1 {
            groups.iter_mut().for_each(Self::name_apart);
        }
        groups
    }

    /// The cell that all are compared with.
    pub(crate) fn zero(&self) -> Option<&Row<'a>> {
        self.rows.iter().find(|row| Some(row.index) == self.zero)
    }

    /// Those that were measured and stay a result, without the one that all are compared with, by `metric`, the least
    /// first.
    pub(crate) fn ranked(&self, metric: Metric) -> Vec<&Row<'a>> {
        let is_one = |row: &&Row<'_>| row.is_allowed && Some(row.index) != self.zero;
        let mut ranked: Vec<(f64, &Row<'a>)> = self
            .rows
            .iter()
            .filter(is_one)
            .filter_map(|row| Some((row.median(metric)?, row)))
            .collect();
        ranked.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        ranked.into_iter().map(|(_, row)| row).collect()
    }

    /// Takes what all names end in, from a separator on, as the name of the load.
    fn name_apart(&mut self) {
        let Some(first) = self.rows.first().map(|row| row.name.clone()) else { return };
        let ends = |suffix: &&str| {
            self.rows.iter().all(|row| row.name.len() > suffix.len() && row.name.ends_with(suffix))
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

impl<'a> Row<'a> {
    fn of(record: &'a RunRecord, verdict: &Verdict, index: usize, workload: &'a Workload) -> Self {
        let all = || record.blocks.iter().filter(move |block| block.workload == index);
        Self {
            index,
            name: workload.name.clone(),
            workload,
            blocks: all().filter(|block| block.failed.is_none()).collect(),
            failed: all().filter_map(|block| block.failed.as_deref()).collect(),
            result: record
                .results
                .iter()
                .find(|result| result.workload == index && result.blocks > 0),
            is_allowed: !verdict::forbids(verdict, index),
            seed: record.plan.seed,
        }
    }

    /// What it is called as what others are compared with.
    pub(crate) fn base_name(&self) -> &str {
        let is_ours = self.workload.server.is_none() && self.workload.client.is_none();
        if is_ours && self.workload.transport == "tcp" { "raw TCP" } else { &self.name }
    }

    /// The median of `metric` over its blocks.
    pub(crate) fn median(&self, metric: Metric) -> Option<f64> {
        stats::median(&self.values(metric)).ok()
    }

    /// What `metric` is on each of its blocks.
    pub(crate) fn values(&self, metric: Metric) -> Vec<f64> {
        self.blocks.iter().filter_map(|block| metric(self.workload, block)).collect()
    }

    /// How its `metric` compares with that of `base`: in the rounds that both have.
    pub(crate) fn to(&self, base: &Self, metric: Metric) -> Option<Ratio> {
        let of_round = |row: &Self, round| {
            let block = row.blocks.iter().find(|block| block.round == round)?;
            metric(row.workload, block)
        };
        let pairs: Vec<Pair> = self
            .blocks
            .iter()
            .filter_map(|block| {
                Some(Pair {
                    subject: metric(self.workload, block)?,
                    baseline: of_round(base, block.round)?,
                })
            })
            .collect();
        let smallest = stats::smallest_detectable(&pairs).ok();
        if let Ok(stats::Ratio { value, low, high }) = Bootstrap::new(self.seed).ratio(&pairs) {
            return Some(Ratio { value, interval: Some((low, high)), smallest });
        }
        let value = self.median(metric)? / base.median(metric)?;
        value.is_finite().then_some(Ratio { value, interval: None, smallest })
    }
}

/// What a workload is compared with in the end: the baseline of its baseline, and so on. Of what is compared with
/// nothing, itself, unless the plan has a baseline.
fn zero(record: &RunRecord, index: usize) -> Option<usize> {
    let workloads = &record.plan.workloads;
    let is_base = |index: usize| workloads.iter().any(|other| other.baseline == Some(index));
    let mut at = index;
    // No chain is longer, unless it is a circle.
    for _ in 0..workloads.len() {
        match workloads.get(at).and_then(|workload| workload.baseline) {
            Some(base) if base < workloads.len() && base != at => at = base,
            Some(_) | None => break,
        }
    }
    if at == index && !is_base(index) { record.plan.baseline } else { Some(at) }
}

/// What may stand between the name of a row and that of its load.
const SEPARATORS: [char; 5] = [' ', ',', '/', '@', ':'];
