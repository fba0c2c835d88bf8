//! The noise bench on sockets: labs of real servers, beside real disturbances.
//!
//! Each lab has five servers of ours: the one that others are compared with, the same again, and three that are slower
//! by 3, 5 and 10 % in a known number ([`Truth`]). So each lab gives, for its disturbance, one pair of equal sides and
//! three pairs of sides that differ by a known amount.

use super::super::neighbours::Disturbance;
use super::super::{GENERATOR_CORE, SERVER_CORE};
use crate::process::Process;
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use units::Nanos;

/// The program that measures, and how long.
pub(super) struct Bench {
    pub(super) wirebench: PathBuf,
    pub(super) scratch: PathBuf,
    pub(super) truth: Truth,
    pub(super) pairs: usize,
    pub(super) rounds: usize,
    /// The measured time of each block.
    pub(super) block: String,
}

/// The known difference of the servers of a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Truth {
    /// The CPU time for each message, of an echo under a closed loop. It works 5 us for each message anyway, so that it
    /// is the slower end, and times and rates have the same truth as its CPU time
    Work,
    /// The delay of each reply, exponential with a mean of 2 ms, under an open loop: all percentiles of the response
    /// times are known, and far above what else a message takes
    Tail,
}

/// Prints the table as Markdown, a disturbance at a time; only those whose name contains `only`.
pub(super) fn run(bench: &Bench, only: &str) -> Result<()> {
    let least = match bench.truth {
        Truth::Work => bench.server_time()?,
        Truth::Tail => DELAY,
    };
    eprintln!("a message takes the server {least} of {}", bench.truth.name());
    println!("{HEAD}");
    for (name, disturbance) in Disturbance::ALL.into_iter().filter(|(name, _)| name.contains(only))
    {
        let mut found = Found::of(bench.truth);
        for pair in 0..bench.pairs {
            eprintln!("  {name}: {} of {}", pair + 1, bench.pairs);
            let seed = u64::try_from(pair).unwrap_or(0) + 1;
            found.add(bench.lab(&bench.truth.rows(least), disturbance, seed)?.as_ref());
        }
        found.rows(name).iter().for_each(|row| println!("{row}"));
    }
    Ok(())
}

impl Truth {
    fn name(self) -> &'static str {
        match self {
            Self::Work => "CPU time",
            Self::Tail => "mean delay",
        }
    }

    /// The five rows; a message takes the server `least` if it is not slower.
    fn rows(self, least: Nanos) -> Vec<Row> {
        let own = match self {
            Self::Work => WORK,
            Self::Tail => DELAY,
        };
        let slower =
            SLOWER.map(|(name, share)| Row { name, own: Nanos(own.0 + least.0 * share / 100) });
        let same = [BASE, AGAIN].map(|name| Row { name, own });
        same.into_iter().chain(slower).collect()
    }

    /// The numbers that have this truth.
    fn figures(self) -> &'static [Figure] {
        match self {
            Self::Work => &FIGURES,
            Self::Tail => &TAILS,
        }
    }
}

impl Bench {
    /// Measures the server's CPU time for each message in a lab without neighbours.
    fn server_time(&self) -> Result<Nanos> {
        let [(_, quiet), ..] = Disturbance::ALL;
        let record = self.lab(&[BASE, AGAIN].map(|name| Row { name, own: WORK }), quiet, 1)?;
        let record = record.context("no right reply on a machine without disturbance")?;
        let each = number(&record["results"][0]["pooled"]["server_cpu_us_per_message"]["value"]);
        let each = each.context("the record has no CPU time of the server")?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "some microseconds"
        )]
        Ok(Nanos((each * 1e3) as u64))
    }

    /// Runs a lab of `rows`, and returns its record; `None` if nothing was answered.
    fn lab(&self, rows: &[Row], disturbance: Disturbance, seed: u64) -> Result<Option<Value>> {
        let file = self.scratch.join("lab.toml");
        std::fs::write(&file, self.file(rows))?;
        let _busy = disturbance.beside(&self.scratch)?;
        let mut lab = Command::new(&self.wirebench);
        lab.arg("lab").arg(&file).args(["--quiet", "--output", "-", "--seed", &seed.to_string()]);
        let cores = format!("{SERVER_CORE},{GENERATOR_CORE}");
        let mut lab = Process::start("lab", cores, &lab, &self.scratch)?;
        let acts = disturbance.upon(lab.id(), seed);
        // A server that is stopped while it starts may be unreachable: that is an outcome too, without a record.
        let record = lab.finish_with(&[0, 1, 12, 13, 15], PATIENCE)?;
        drop(acts);
        if record.is_empty() {
            return Ok(None);
        }
        let record: Value = serde_json::from_str(&record).context("the lab's record is no JSON")?;
        let has_results = record["results"].as_array().is_some_and(|all| !all.is_empty());
        Ok(has_results.then_some(record))
    }

    fn file(&self, rows: &[Row]) -> String {
        let Self { truth, rounds, block, .. } = self;
        let program = self.wirebench.display();
        let rows = rows.iter().enumerate().map(|(index, Row { name, own: Nanos(own) })| match truth {
            // Another text for the same time gives the row a process of its own.
            Truth::Work => {
                let work =
                    if index == 0 { format!("{}us", own / 1000) } else { format!("{own}ns") };
                format!(
                    "[[row]]\nname = '{name}'\nserver = 'embedded'\ntransport = 'ws'\nserve-options = ['--work={work}']\n"
                )
            }
            Truth::Tail => format!(
                "[[row]]\nname = '{name}'\nurl = 'ws://127.0.0.1:9'\nstart = \"exec '{program}' serve oracle ws --quiet \
                 --listen 127.0.0.1:{{port}} --delay exponential:{own}ns\"\n",
            ),
        });
        let load = match truth {
            Truth::Work => "connections = 50",
            Truth::Tail => "connections = 200\nrate = '10k/s'",
        };
        format!(
            "question = 'Does an interval miss the truth beside a disturbance?'\nbaseline = '{BASE}'\nrounds = {rounds}\n\
             duration = '{block}'\nwarm-up = '50ms'\n{load}\nsize = '64B'\n{}",
            rows.collect::<String>()
        )
    }
}

/// A row of the lab.
#[derive(Debug, PartialEq)]
struct Row {
    name: &'static str,
    /// The known part of its server: its own work for each message, or the mean of its delays.
    own: Nanos,
}

/// The outcomes of the pairs beside one disturbance.
struct Found {
    figures: &'static [Figure],
    /// The counts of each figure: of equal sides, and of the slower ones.
    counts: Vec<[Count; 4]>,
    /// Records by their verdicts: trusted, degraded, invalid, without any result.
    verdicts: [usize; 4],
}

impl Found {
    fn of(truth: Truth) -> Self {
        let figures = truth.figures();
        Self { figures, counts: vec![Default::default(); figures.len()], verdicts: [0; 4] }
    }

    /// Adds a lab; `None`: it measured nothing.
    fn add(&mut self, record: Option<&Value>) {
        let level = record.map_or("", |record| record["verdict"]["level"].as_str().unwrap_or(""));
        let place = LEVELS.iter().position(|known| *known == level).unwrap_or(LEVELS.len());
        self.verdicts[place] += 1;
        for (counts, figure) in self.counts.iter_mut().zip(self.figures) {
            for (count, (name, _)) in counts.iter_mut().zip([(AGAIN, 0)].into_iter().chain(SLOWER))
            {
                count.add(record.and_then(|record| interval(record, name, figure)), figure.rises);
            }
        }
    }

    fn rows(&self, name: &str) -> Vec<String> {
        let verdicts = self.verdicts.map(|count| count.to_string()).join(" / ");
        let row = |(counts, figure): (&[Count; 4], &Figure)| {
            let [same, slower @ ..] = counts;
            let found = slower.each_ref().map(|count| count.right.to_string());
            let wrong: usize = slower.iter().map(|count| count.wrong).sum();
            let half = stats::median(&same.half_widths)
                .map_or_else(|_| "-".to_owned(), |half| format!("{:.1}", 100.0 * half));
            format!(
                "| {name} | {} | {} | {} | {} | {half} | {} | {wrong} | {verdicts} |",
                figure.name,
                same.pairs,
                same.right + same.wrong,
                same.silent,
                found.join(" | "),
            )
        };
        self.counts.iter().zip(self.figures).map(row).collect()
    }
}

/// The pairs of one figure and one truth.
#[derive(Clone, Debug, Default)]
struct Count {
    pairs: usize,
    /// Pairs without an interval, or whose number is invalid.
    silent: usize,
    /// The claims of a difference with the sign of more work, and those with the other sign.
    right: usize,
    wrong: usize,
    /// Half of the width of each interval, as a share of the ratio.
    half_widths: Vec<f64>,
}

impl Count {
    fn add(&mut self, interval: Option<[f64; 2]>, rises: bool) {
        self.pairs += 1;
        let Some([low, high]) = interval else {
            self.silent += 1;
            return;
        };
        let (is_above, is_below) = (low > 1.0, high < 1.0);
        self.right += usize::from(if rises { is_above } else { is_below });
        self.wrong += usize::from(if rises { is_below } else { is_above });
        self.half_widths.push((high / low).sqrt() - 1.0);
    }
}

/// A number that rows are compared by.
#[derive(Clone, Copy)]
struct Figure {
    name: &'static str,
    /// Its field in a comparison.
    field: &'static str,
    /// Its name among the numbers that are judged on their own; `None`: it is judged with its row.
    judged: Option<&'static str>,
    /// True if more work makes it larger.
    rises: bool,
}

const FIGURES: [Figure; 4] = [
    Figure { name: "messages/s", field: "messages_per_s", judged: None, rises: false },
    Figure { name: "p50", field: "round_trip_p50_ns", judged: Some("ratio"), rises: true },
    Figure { name: "p99", field: "round_trip_p99_ns", judged: Some("p99"), rises: true },
    Figure { name: "CPU", field: "server_cpu_us_per_message", judged: None, rises: true },
];
const TAILS: [Figure; 2] = [
    Figure { name: "p50", field: "response_p50_ns", judged: Some("ratio"), rises: true },
    Figure { name: "p99", field: "response_p99_ns", judged: Some("p99"), rises: true },
];

/// The interval of a row's ratio; `None` if there is none, or if the verdict calls the number invalid.
fn interval(record: &Value, row: &str, figure: &Figure) -> Option<[f64; 2]> {
    let workloads = record["plan"]["workloads"].as_array()?;
    let index = workloads.iter().position(|workload| workload["spec"]["name"] == row)?;
    let trust = &record["verdict"]["rows"][index];
    let of_number = figure.judged.map(|name| &trust["numbers"][name]);
    if trust["level"] == "invalid" || of_number.is_some_and(|level| level == "invalid") {
        return None;
    }
    let results = record["results"].as_array()?;
    let result = results.iter().find(|result| result["workload"] == index)?;
    let ratio = &result["to_baseline"][figure.field];
    Some([number(&ratio["low"])?, number(&ratio["high"])?])
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

/// The row that others are compared with, and the same again.
const BASE: &str = "same";
const AGAIN: &str = "again";
/// The rows with slower servers, and the percentage by which each is slower.
const SLOWER: [(&str, u64); 3] = [("slower by 3", 3), ("slower by 5", 5), ("slower by 10", 10)];
/// The work of every server for each message, and the mean delay of every reply.
const WORK: Nanos = Nanos::from_micros(5);
const DELAY: Nanos = Nanos::from_millis(2);
const LEVELS: [&str; 3] = ["trusted", "degraded", "invalid"];
/// The longest time of a lab; a longer one has failed.
const PATIENCE: Duration = Duration::from_secs(900);
pub(super) const HEAD: &str = "\
| machine | figure | pairs | false claims | no answer | half-width % | +3 % found | +5 % | +10 % | wrong sign | verdicts: trusted / degraded / invalid / nothing |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A record in which a row's p50 and throughput have these ratios.
    fn record(row: &str, p50: [f64; 2], rate: [f64; 2], level: &str) -> Value {
        let ends = |[low, high]: [f64; 2]| json!({"low": low, "high": high});
        json!({
            "plan": {"workloads": [{"spec": {"name": BASE}}, {"spec": {"name": row}}]},
            "verdict": {"level": level, "rows": [
                {"level": "trusted", "numbers": {}},
                {"level": level, "numbers": {"p99": "invalid"}},
            ]},
            "results": [
                {"workload": 0, "to_baseline": null},
                {"workload": 1, "to_baseline": {
                    "round_trip_p50_ns": ends(p50),
                    "round_trip_p99_ns": ends(p50),
                    "messages_per_s": ends(rate),
                    "server_cpu_us_per_message": {"low": null, "high": null},
                }},
            ],
        })
    }

    #[test]
    fn claims_are_counted_by_their_truth_and_their_sign() {
        let mut found = Found::of(Truth::Work);
        found.add(Some(&record(AGAIN, [1.02, 1.1], [0.9, 1.1], "trusted")));
        found.add(Some(&record(AGAIN, [0.9, 1.1], [0.8, 0.9], "invalid")));
        found.add(Some(&record("slower by 10", [1.05, 1.2], [0.8, 0.95], "degraded")));
        found.add(Some(&record("slower by 3", [0.9, 0.95], [0.97, 1.01], "degraded")));
        found.add(None);
        // A row that is not in a record has no answer; nor has one that the verdict calls invalid.
        let verdicts = "1 / 2 / 1 / 1 |";
        #[rustfmt::skip]
        let expected = [
            format!("| quiet | messages/s | 5 | 0 | 4 | 10.6 | 0 | 0 | 1 | 0 | {verdicts}"),
            format!("| quiet | p50 | 5 | 1 | 4 | 3.8 | 0 | 0 | 1 | 1 | {verdicts}"),
            format!("| quiet | p99 | 5 | 0 | 5 | - | 0 | 0 | 0 | 0 | {verdicts}"),
            format!("| quiet | CPU | 5 | 0 | 5 | - | 0 | 0 | 0 | 0 | {verdicts}"),
        ];
        assert_eq!(found.rows("quiet"), expected);
        let columns = |row: &str| row.split(" | ").count();
        assert_eq!(columns(&expected[0]), columns(HEAD.lines().next().unwrap()));
    }

    #[test]
    fn servers_differ_by_what_is_known_of_them() {
        let own = |truth: Truth, least| truth.rows(least).into_iter().map(|row| row.own.0);
        let work = own(Truth::Work, Nanos(8_000)).collect::<Vec<u64>>();
        assert_eq!(work, [5_000, 5_000, 5_240, 5_400, 5_800]);
        let delays = own(Truth::Tail, DELAY).collect::<Vec<u64>>();
        assert_eq!(delays, [2_000_000, 2_000_000, 2_060_000, 2_100_000, 2_200_000]);
    }

    #[test]
    fn each_row_of_a_lab_has_a_server_of_its_own() {
        let bench = |truth| Bench {
            wirebench: PathBuf::from("/wirebench"),
            scratch: PathBuf::new(),
            truth,
            pairs: 1,
            rounds: 10,
            block: "150ms".to_owned(),
        };
        for truth in [Truth::Work, Truth::Tail] {
            let text = bench(truth).file(&truth.rows(DELAY));
            let servers: Vec<&str> = text
                .lines()
                .filter(|line| line.contains("serve"))
                .filter(|line| !line.starts_with("server"))
                .collect();
            assert_eq!(servers.len(), 5, "{text}");
            assert!(truth == Truth::Tail || servers[0] != servers[1], "{text}");
        }
    }
}
