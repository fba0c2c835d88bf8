//! The league's table: as text at 80 columns, as Markdown, as JSON.

use super::contest::{ABSENT, Contestant, Place};
use super::{CONNECTIONS, Found, RATE, SECONDS};
use crate::shell;
use serde_json::{Value, json};
use std::process::Command;
use units::Nanos;

/// A contestant, and its result.
pub(super) struct Row {
    pub(super) contestant: Contestant,
    pub(super) version: Option<String>,
    pub(super) command: Option<String>,
    /// The result, or the reason that there is none.
    pub(super) found: Result<Found, String>,
}

impl Row {
    fn name(&self) -> String {
        let Contestant { name, .. } = self.contestant;
        match &self.version {
            // The version belongs to the tool, not to its mode.
            Some(version) => match name.split_once([' ', ',']) {
                Some((tool, mode)) => format!("{tool} {version}, {}", mode.trim_start()),
                None => format!("{name} {version}"),
            },
            None => name.to_owned(),
        }
    }

    /// The factor by which its p99 is too low.
    fn factor(&self) -> Option<f64> {
        let found = self.found.as_ref().ok()?;
        let said = found.said.p99?.as_secs_f64();
        (said > 0.0).then(|| found.truth.quantile(0.99).as_secs_f64() / said)
    }

    fn cells(&self, found: &Found) -> [String; 8] {
        let time = |time: Option<Nanos>| match time {
            None => "-".to_owned(),
            Some(Nanos::ZERO) => "0".to_owned(),
            Some(time) => time.to_string(),
        };
        [
            self.name(),
            self.contestant.loops.name().to_owned(),
            found.said.count.to_string(),
            time(found.said.p50),
            time(found.said.p99),
            time(found.said.max),
            found.truth.quantile(0.99).to_string(),
            self.factor().map_or_else(|| "-".to_owned(), shown_factor),
        ]
    }

    /// The notes on a row: its command, its other counts, the meaning of its times.
    fn note(&self) -> String {
        let mut note = self.name();
        if let Some(command) = &self.command {
            note += &format!(": `{command}`");
        }
        if let Ok(found) = &self.found
            && !found.said.besides.is_empty()
        {
            note += &format!("; it also says: {}", found.said.besides.join(", "));
        }
        if !self.contestant.remark.is_empty() {
            note += &format!("; {}", self.contestant.remark);
        }
        note
    }

    fn json(&self) -> Value {
        let found = self.found.as_ref();
        let said = found.map(|found| &found.said);
        let ns =
            |of: fn(&super::ToolReport) -> Option<Nanos>| said.ok().and_then(of).map(|time| time.0);
        json!({
            "name": self.contestant.name,
            "version": self.version,
            "loop": self.contestant.loops.name(),
            "transport": self.contestant.transport.name(),
            "command": self.command,
            "missing": found.err(),
            "count": said.ok().map(|said| said.count),
            "p50_ns": ns(|said| said.p50),
            "p99_ns": ns(|said| said.p99),
            "max_ns": ns(|said| said.max),
            "besides": said.ok().map(|said| said.besides.clone()),
            "stopped_ns": found.ok().map(|found| found.truth.stopped.0),
            "true_count": found.ok().map(|found| found.truth.count()),
            "true_p99_ns": found.ok().map(|found| found.truth.quantile(0.99).0),
            "p99_too_low_by": self.factor(),
        })
    }
}

/// All rows.
pub(super) struct Table {
    pub(super) rows: Vec<Row>,
    date: String,
}

impl Table {
    pub(super) fn new(date: &str) -> Self {
        Self { rows: Vec::new(), date: date.to_owned() }
    }

    /// The table for a terminal.
    pub(super) fn text(&self) -> String {
        let mut text = format!("{}\n\n", wrapped(&self.words()));
        text += &format!("{}\n", columns(&HEADS.map(str::to_owned)));
        for row in &self.rows {
            text += &format!("{}\n", line(row));
        }
        text.push('\n');
        for note in self.notes() {
            text += &format!("{note}\n");
        }
        text
    }

    /// The table for a page.
    pub(super) fn markdown(&self) -> String {
        let mut text = format!("{}\n\n", wrapped(&self.words()));
        text += &format!("| {} |\n|---|---|--:|--:|--:|--:|--:|--:|\n", HEADS.join(" | "));
        for row in &self.rows {
            let cells = match &row.found {
                Ok(found) => row.cells(found).join(" | "),
                Err(why) => format!("{} | {why} | | | | | |", row.name()),
            };
            text += &format!("| {cells} |\n");
        }
        text.push('\n');
        for note in self.notes() {
            text += &format!("- {note}\n");
        }
        text
    }

    /// The table for a program.
    pub(super) fn json(&self) -> Value {
        json!({
            "date": self.date,
            "rate_per_s": RATE,
            "seconds": SECONDS,
            "connections": CONNECTIONS,
            "rows": self.rows.iter().map(Row::json).collect::<Vec<Value>>(),
        })
    }

    fn words(&self) -> String {
        format!(
            "{}: {RATE} messages a second for {SECONDS} s over {CONNECTIONS} connections, or the nearest that a tool \
             can be told. Half way the server was stopped for 2 s. One in a hundred of all who come in these {SECONDS} \
             s then waits as long as \"p99 was\" says, or longer; \"too low\" is that by the p99 that the tool said. \
             closed: it sends when the reply to the last message has come; paced: the same, with pauses; open: when a \
             message is due.",
            self.date
        )
    }

    fn notes(&self) -> Vec<String> {
        let absent = ABSENT.iter().map(|(name, why)| format!("{name}: {why}"));
        self.rows.iter().map(Row::note).chain(absent).collect()
    }
}

/// A line of the text.
pub(super) fn line(row: &Row) -> String {
    match &row.found {
        Ok(found) => columns(&row.cells(found)),
        Err(why) => format!("{:<24} {why}", row.name()),
    }
}

fn columns([name, loops, count, p50, p99, max, was, factor]: &[String; 8]) -> String {
    format!("{name:<24} {loops:<6} {count:>7} {p50:>7} {p99:>7} {max:>7} {was:>7} {factor:>7}")
}

const HEADS: [&str; 8] = ["", "loop", "count", "p50", "p99", "max", "p99 was", "too low"];

fn shown_factor(factor: f64) -> String {
    let digits = if factor < 10.0 { 2 } else { 0 };
    format!("{factor:.digits$}x")
}

/// Shows a command without the paths and the address of this machine.
pub(super) fn shown(command: &Command, place: &Place<'_>) -> String {
    let tool = place.program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    shell::shown(command)
        .replace(&*place.program.to_string_lossy(), &tool)
        .replace(&format!("{}/", shell::root().join("bench/liars").display()), "")
        .replace(&format!("{}/", place.scratch.display()), "")
        .replace(&place.address.to_string(), "HOST:PORT")
}

/// The words, wrapped at 80 columns.
fn wrapped(words: &str) -> String {
    let mut text = String::new();
    let mut width = 0;
    for word in words.split_whitespace() {
        if width + word.len() >= 80 {
            text.push('\n');
            width = 0;
        } else if width > 0 {
            text.push(' ');
            width += 1;
        }
        text.push_str(word);
        width += word.len();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::contest::ALL;
    use super::super::{ToolReport, truth};
    use super::*;

    fn row(name: &str, p99: Option<Nanos>) -> Row {
        let contestant = *ALL.iter().find(|contestant| contestant.name == name).unwrap();
        let said =
            ToolReport { count: 18_200, p50: Some(Nanos::ZERO), p99, ..ToolReport::default() };
        let truth = truth(Nanos::from_secs(2));
        let (version, command) = (Some("1.2.3".to_owned()), Some(format!("{name} -z 20s")));
        Row { contestant, version, command, found: Ok(Found { said, truth }) }
    }

    #[test]
    fn a_line_fits_eighty_columns_and_says_how_far_off_the_tool_was() {
        let hey = row("hey", Some(Nanos::from_micros(22_200)));
        assert_eq!(
            line(&hey),
            "hey 1.2.3                paced    18200       0 22.2 ms       -  1.81 s     82x"
        );
        let longest = ALL.iter().map(|of| line(&row(of.name, None)).len()).max().unwrap();
        assert!(longest <= 80, "{longest}");
    }

    #[test]
    fn who_says_no_percentile_is_off_by_nothing_that_could_be_said() {
        assert_eq!(row("siege", None).factor(), None);
        assert_eq!(row("ab", Some(Nanos::ZERO)).factor(), None);
        let right = row("wirebench", Some(Nanos::from_millis(1_810))).factor().unwrap();
        assert!((0.999..1.001).contains(&right), "{right}");
    }

    #[test]
    fn who_cannot_be_had_is_a_line_that_says_why() {
        let mut table = Table::new("2026-01-31");
        let found = Err("not installed: no network".to_owned());
        table.rows.push(Row { version: None, command: None, found, ..row("k6 ws", None) });
        table.rows.push(row("hey", Some(Nanos::from_micros(22_200))));
        let text = table.text();
        assert!(text.contains("\nk6 ws                    not installed: no network\n"), "{text}");
        assert!(text.contains("\nhey 1.2.3: `hey -z 20s`"), "{text}");
        let page = table.markdown();
        assert!(page.contains("| k6 ws | not installed: no network | | | | | | |\n"), "{page}");
        assert!(page.contains("| hey 1.2.3 | paced | 18200 | 0 | 22.2 ms | - | 1.81 s | 82x |"));
        let json = table.json();
        assert_eq!(json["rows"][0]["missing"], "not installed: no network");
        assert_eq!(json["rows"][1]["true_count"], 20_000);
        assert_eq!(json["rows"][1]["p99_ns"], 22_200_000);
    }
}
