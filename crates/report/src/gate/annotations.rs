//! GitHub annotations: lines of output that become marks on its pages.

use super::{Case, Outcome, cases};
use crate::escape::flow;
use record::RunRecord;

/// A line for each check of `record` that fails or is doubtful, as GitHub reads it in the output of a step. GitHub
/// shows ten of a kind per step: if there are more, the last line says how many.
pub fn annotations(record: &RunRecord) -> Vec<String> {
    let all = cases(record);
    let failed: Vec<&Case> = all.iter().filter(|case| !case.outcome.passes()).collect();
    let doubtful: Vec<&Case> =
        all.iter().filter(|case| case.outcome == Outcome::Doubtful).collect();
    let mut lines = of_kind(Kind::Error, &failed);
    lines.extend(of_kind(Kind::Warning, &doubtful));
    lines
}

/// The line of an error with this title.
pub fn annotation(title: &str, text: &str) -> String {
    Kind::Error.line(title, text)
}

fn of_kind(kind: Kind, cases: &[&Case]) -> Vec<String> {
    let shown = if cases.len() > SHOWN_MAX { SHOWN_MAX - 1 } else { cases.len() };
    let line = |case: &&Case| {
        let Case { row, name, text, .. } = case;
        let title = if row.is_empty() { name.clone() } else { format!("{row}: {name}") };
        kind.line(&title, text)
    };
    let mut lines: Vec<String> = cases[..shown].iter().map(line).collect();
    if shown < cases.len() {
        let more = cases.len() - shown;
        lines.push(kind.line("wirebench", &format!("{more} more: the page has all of them")));
    }
    lines
}

#[derive(Clone, Copy)]
enum Kind {
    Error,
    Warning,
}

impl Kind {
    fn line(self, title: &str, text: &str) -> String {
        let kind = match self {
            Self::Error => "error",
            Self::Warning => "warning",
        };
        let title = data(title).replace(':', "%3A").replace(',', "%2C");
        format!("::{kind} title={title}::{}", data(text))
    }
}

/// Text in one line as the value of a command.
fn data(text: &str) -> String {
    flow(text).replace('%', "%25")
}

/// The number of lines of a kind that GitHub shows per step.
const SHOWN_MAX: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_begins_another_command() {
        assert_eq!(
            annotation("a: b, 5%", "100 %\n::error::x\x1b"),
            "::error title=a%3A b%2C 5%25::100 %25 ::error::x\\u{1b}"
        );
    }

    #[test]
    fn of_many_the_last_says_how_many_there_are() {
        let case = |_| Case {
            row: String::new(),
            name: "p50 < 1ms".to_owned(),
            text: "2 ms".to_owned(),
            outcome: Outcome::Failed("not_met"),
            share: None,
        };
        let cases: Vec<Case> = (0..11).map(case).collect();
        let all: Vec<&Case> = cases.iter().collect();
        assert_eq!(of_kind(Kind::Error, &all[..10]).len(), 10);
        let lines = of_kind(Kind::Error, &all);
        assert_eq!(lines.len(), 10);
        assert_eq!(lines[9], "::error title=wirebench::2 more: the page has all of them");
    }
}
