//! The table at 80 columns, and the same as JSON.

use super::interleave::{Block, Contest};
use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use stats::{Bootstrap, Pair, Ratio};
use std::path::Path;

/// What a number should keep to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Target {
    /// The ratio, or the figure where nothing is set beside it.
    AtLeast(f64),
    AtMost(f64),
    /// For the reader; nothing to miss.
    Shown,
}

impl Target {
    /// Whether `value` keeps to it; `None` where nothing can be missed or nothing was measured.
    fn met(self, value: Option<f64>) -> Option<bool> {
        match (self, value?) {
            (Self::AtLeast(least), value) => Some(value >= least),
            (Self::AtMost(most), value) => Some(value <= most),
            (Self::Shown, _) => None,
        }
    }

    fn shown(self) -> String {
        match self {
            Self::AtLeast(least) => format!(">= {}", number(least)),
            Self::AtMost(most) => format!("<= {}", number(most)),
            Self::Shown => String::new(),
        }
    }
}

/// A line of the table.
pub(super) enum Line {
    /// Words over the lines that follow.
    Heading(String),
    /// Our figure, and what is set beside it.
    Figure { name: String, ours: f64, beside: Option<f64>, ratio: Option<Ratio>, target: Target },
}

impl Line {
    pub(super) fn heading(words: impl Into<String>) -> Self {
        Self::Heading(words.into())
    }

    /// A figure that stands alone.
    pub(super) fn figure(name: impl Into<String>, ours: f64, target: Target) -> Self {
        Self::Figure { name: name.into(), ours, beside: None, ratio: None, target }
    }

    /// The medians of two contestants over the rounds that have a block of each, and their ratio.
    ///
    /// Without an interval if those are too few to carry one.
    pub(super) fn ratio(name: String, rounds: &[Pair], seed: u64, target: Target) -> Self {
        let median = |side: fn(&Pair) -> f64| {
            stats::median(&rounds.iter().map(side).collect::<Vec<f64>>()).unwrap_or(f64::NAN)
        };
        let (ours, beside) = (median(|round| round.subject), median(|round| round.baseline));
        let ratio = Bootstrap::new(seed).ratio(rounds).ok();
        Self::Figure { name, ours, beside: Some(beside), ratio, target }
    }

    fn met(&self) -> Option<bool> {
        match self {
            Self::Heading(_) => None,
            Self::Figure { ours, beside: Some(beside), target, .. } => {
                target.met(Some(ours / beside))
            }
            Self::Figure { ours, beside: None, target, .. } => target.met(Some(*ours)),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Heading(words) => format!("  {words}"),
            Self::Figure { name, ours, beside, ratio, target } => {
                let beside = beside.map(number).unwrap_or_default();
                let ratio = ratio
                    .map(|Ratio { value, low, high }| format!("{value:.2} [{low:.2}, {high:.2}]"));
                let verdict = self.met().map_or("", |met| if met { "ok" } else { "MISSED" });
                let line = format!(
                    "    {name:<21} {:>9} {beside:>9}  {:<18} {:<7} {verdict}",
                    number(*ours),
                    ratio.unwrap_or_default(),
                    target.shown()
                );
                line.trim_end().to_owned()
            }
        }
    }

    fn json(&self, row: &str) -> Value {
        match self {
            Self::Heading(words) => json!({ "row": row, "heading": words }),
            Self::Figure { name, ours, beside, ratio, target } => json!({
                "row": row,
                "figure": name,
                "ours": ours,
                "beside": beside,
                "ratio": ratio.map(|ratio| ratio.value),
                "ratio_low": ratio.map(|ratio| ratio.low),
                "ratio_high": ratio.map(|ratio| ratio.high),
                "target": target.shown(),
                "met": self.met(),
            }),
        }
    }
}

/// Everything that a run of the benchmark found.
pub(super) struct Report {
    settings: Value,
    lines: Vec<Value>,
    blocks: Vec<Value>,
}

impl Report {
    pub(super) fn new(rounds: usize, seconds: f64, seed: u64) -> Self {
        let settings = json!({ "rounds": rounds, "seconds": seconds, "seed": seed });
        Self { settings, lines: Vec::new(), blocks: Vec::new() }
    }

    /// Prints the lines of a row and keeps them.
    pub(super) fn print(&mut self, row: &str, lines: &[Line]) {
        if self.lines.is_empty() {
            let columns = ["", "ours", "beside", "ratio [95 %]", "target"];
            println!(
                "    {:<21} {:>9} {:>9}  {:<18}  {}",
                columns[0], columns[1], columns[2], columns[3], columns[4]
            );
        }
        println!("{row}");
        for line in lines {
            println!("{}", line.text());
            self.lines.push(line.json(row));
        }
    }

    /// Keeps every block of a contest.
    pub(super) fn keep(&mut self, contest: &Contest, blocks: Vec<Block>) {
        self.blocks.extend(blocks.into_iter().map(|block| {
            let who = &contest.contestants[block.contestant];
            json!({
                "contestant": who.name,
                "server": format!("{:?}", who.server),
                "workload": format!("{:?}", who.workload),
                "round": block.round,
                "placement": format!("{:?}", block.placement).to_lowercase(),
                "crossing_ns": block.crossing_ns,
                "per_s": block.measured.per_s,
                "generator_us": block.measured.generator_us,
                "server_us": block.measured.server_us,
                "own_messages_per_s": block.measured.own.map(|own| own.messages_per_s),
                "own_generator_us": block.measured.own.and_then(|own| own.cpu_us),
            })
        }));
    }

    /// Writes everything into a file.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let all = json!({ "settings": self.settings, "lines": self.lines, "blocks": self.blocks });
        let text = serde_json::to_string_pretty(&all)?;
        std::fs::write(path, text + "\n")
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Three digits at least, thousands apart.
fn number(value: f64) -> String {
    if value.abs() < 1000.0 {
        let digits = if value.abs() < 10.0 { 2 } else { 1 };
        return format!("{value:.digits$}");
    }
    let digits = format!("{value:.0}");
    let first = digits.len() % 3;
    let mut shown = digits[..first].to_owned();
    for start in (first..digits.len()).step_by(3) {
        if !shown.is_empty() {
            shown.push(' ');
        }
        shown.push_str(&digits[start..start + 3]);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_eighty_columns_and_says_whether_the_target_is_met() {
        let rounds = [100_000.0, 102_000.0, 98_000.0, 101_000.0, 99_000.0, 100_000.0]
            .map(|baseline| Pair { subject: baseline * 1.06, baseline });
        let text = |name: &str, target| Line::ratio(name.to_owned(), &rounds, 7, target).text();
        assert_eq!(
            text("messages/s", Target::AtLeast(0.97)),
            "    messages/s              106 000   100 000  1.06 [1.06, 1.06]  >= 0.97 ok"
        );
        let longest = text("server CPU us/message", Target::AtMost(1.05));
        assert!(longest.ends_with("<= 1.05 MISSED") && longest.len() <= 80, "{longest}");
    }

    #[test]
    fn two_rounds_carry_no_interval() {
        let rounds = [Pair { subject: 1.0, baseline: 2.0 }; 2];
        let line = Line::ratio("messages/s".to_owned(), &rounds, 7, Target::AtMost(0.6));
        assert!(matches!(line, Line::Figure { ratio: None, .. }));
        assert_eq!(line.met(), Some(true));
    }

    #[test]
    fn a_figure_alone_is_held_against_its_target() {
        assert_eq!(Line::figure("start ms", 19.0, Target::AtMost(20.0)).met(), Some(true));
        assert_eq!(Line::figure("start ms", 21.0, Target::AtMost(20.0)).met(), Some(false));
        assert_eq!(Line::figure("start ms", f64::NAN, Target::AtMost(20.0)).met(), Some(false));
        assert_eq!(Line::figure("start ms", 21.0, Target::Shown).met(), None);
    }

    #[test]
    fn numbers_are_short_and_thousands_apart() {
        for (value, shown) in [
            (0.194, "0.19"),
            (63.04, "63.0"),
            (999.94, "999.9"),
            (1000.0, "1 000"),
            (1_234_567.8, "1 234 568"),
        ] {
            assert_eq!(number(value), shown);
        }
    }
}
