//! Two records side by side: ratios of medians where there are enough blocks for an interval, the two numbers where
//! there are not.

use crate::number::{self, MISSING};
use crate::page::{Page, Style, Tone};
use crate::verdict;
use record::{Block, Level, Lifetime, Reason, RunRecord, Summary, Workload};
use stats::{Bootstrap, Sides};

/// What `record` came to beside `base`, workload by workload, those of the same name; both verdicts, and why the two
/// may not be compared, if so.
///
/// There is a ratio only where both may be believed, where they may be compared, and where both have
/// [`Bootstrap::BLOCKS_MIN`] blocks: its interval comes from drawing the blocks of each for themselves.
pub fn compare(base: &RunRecord, record: &RunRecord, style: &Style) -> String {
    let differences = record::incomparable(base, record);
    let mut page = Page::new(style);
    for (index, workload) in record.plan.workloads.iter().enumerate() {
        if let Some(other) = record::partner(base, record, index) {
            page.blank();
            page.line(Tone::Strong, &workload.name);
            let sides = [Side { record: base, index: other }, Side { record, index }];
            let refused = refused(&sides, &differences);
            table(&mut page, &sides, refused);
        }
    }
    page.blank();
    for reason in &differences {
        page.remark(
            Tone::Doubtful,
            "incomparable:",
            &format!("{}{}", reason.message, name(record, reason)),
        );
        page.under("shown by", &reason.evidence);
        page.under("next", &reason.advice);
    }
    for (whose, record) in [("base", base), ("record", record)] {
        page.blank();
        page.line(Tone::Strong, &format!("{whose}, {}", record.started_at));
        verdict::show(&mut page, record, &verdict::of(record));
    }
    page.finish()
}

/// Whether a comparison of the two says nothing: one of them is no result, or they may not be compared.
pub fn compares_nothing(base: &RunRecord, record: &RunRecord) -> bool {
    let is_invalid = |record| verdict::of(record).level == Level::Invalid;
    let differences = record::incomparable(base, record);
    is_invalid(base)
        || is_invalid(record)
        || differences.iter().any(|reason| reason.level == Level::Invalid)
}

fn name(record: &RunRecord, reason: &Reason) -> String {
    let workload = reason.workload.and_then(|index| record.plan.workloads.get(index));
    workload.map_or_else(String::new, |workload| format!(" ({})", workload.name))
}

/// A workload of one of the two.
struct Side<'a> {
    record: &'a RunRecord,
    index: usize,
}

impl<'a> Side<'a> {
    /// What `metric` is on each block that counts.
    fn values(&self, metric: &Metric) -> Vec<f64> {
        let workload = &self.record.plan.workloads[self.index];
        self.blocks().filter_map(|block| (metric.of)(workload, block)).collect()
    }

    fn blocks(&self) -> impl Iterator<Item = &'a Block> {
        let index = self.index;
        let counts = move |block: &&Block| block.workload == index && block.failed.is_none();
        self.record.blocks.iter().filter(counts)
    }
}

/// Why there is no ratio of these two, whatever their blocks.
fn refused(sides: &[Side<'_>; 2], differences: &[Reason]) -> Option<&'static str> {
    let [_, record] = sides;
    let differ = differences.iter().any(|reason| {
        let about = reason.workload.is_none_or(|workload| workload == record.index);
        reason.level == Level::Invalid && about
    });
    let invalid = sides.iter().any(|side| verdict::forbids(&verdict::of(side.record), side.index));
    match (invalid, differ) {
        (true, _) => Some("invalid"),
        (false, true) => Some("incomparable"),
        (false, false) => None,
    }
}

/// A number that blocks have.
struct Metric {
    name: &'static str,
    of: fn(&Workload, &Block) -> Option<f64>,
    show: fn(f64) -> String,
}

const METRICS: [Metric; 5] = [
    Metric {
        name: "p50",
        of: |workload, block| Some(number::float(times(workload, block)?.p50_ns?)),
        show: number::time,
    },
    Metric {
        name: "p99",
        of: |workload, block| Some(number::float(times(workload, block)?.p99_ns?)),
        show: number::time,
    },
    Metric {
        name: "messages",
        of: |_, block| (block.counts.ok > 0).then_some(block.messages_per_s),
        show: number::per_second,
    },
    Metric {
        name: "generator CPU",
        of: |_, block| block.cpu.generator_us_per_message,
        show: number::micros,
    },
    Metric {
        name: "server CPU",
        of: |_, block| block.cpu.server_us_per_message,
        show: number::micros,
    },
];

/// The times that results are made of.
fn times<'a>(workload: &Workload, block: &'a Block) -> Option<&'a Summary> {
    match (&block.open_loop, workload.lifetime) {
        (Some(times), _) => times.response.as_ref(),
        (None, Lifetime::Long) => block.round_trip.as_ref(),
        (None, Lifetime::RoundTrips(_)) => block.phases.life.as_ref(),
    }
}

fn table(page: &mut Page, sides: &[Side<'_>; 2], refused: Option<&str>) {
    let what = match sides[1].blocks().next().map(|block| block.open_loop.is_some()) {
        Some(true) => "response",
        Some(false) | None => "round trip",
    };
    page.line(
        Tone::Plain,
        &format!("{what:<15}{:>12}{:>12}  ratio [95 % interval]", "base", "record"),
    );
    for metric in METRICS {
        let [base, subject] = [&sides[0], &sides[1]].map(|side| side.values(&metric));
        if base.is_empty() && subject.is_empty() {
            continue;
        }
        let median =
            |values: &[f64]| stats::median(values).map_or_else(|_| MISSING.to_owned(), metric.show);
        let seed = sides[1].record.plan.seed;
        let drawn =
            Bootstrap::new(seed).ratio_unpaired(Sides { subject: &subject, baseline: &base });
        let ratio = match (refused, drawn) {
            (Some(why), _) => format!("{MISSING} {why}"),
            (None, Ok(ratio)) => number::ratio(ratio.value, Some((ratio.low, ratio.high))),
            (None, Err(_)) => no_interval(base.len(), subject.len()),
        };
        page.line(
            Tone::Plain,
            &format!("{:<15}{:>12}{:>12}  {ratio}", metric.name, median(&base), median(&subject)),
        );
    }
}

fn no_interval(base: usize, subject: usize) -> String {
    match (base, subject) {
        (1, 1) => format!("{MISSING} one block each: no interval"),
        _ => format!("{MISSING} {base} and {subject} blocks, {} needed", Bootstrap::BLOCKS_MIN),
    }
}
