//! What a record came to as Markdown, with tables as GitHub has them: for a README or an issue.

use crate::chart::Table;
use crate::escape::escape;
use crate::lab;
use crate::lab::glance::{self, Answer};
use crate::lab::rows::Group;
use crate::{ladder, notes, steps, verdict};
use record::{Kind, RunRecord};

/// The answers of `record`, its tables and its verdict. Whatever a peer said stays text.
///
/// Works for any record; workloads that are compared with the same one share a table.
pub fn markdown(record: &RunRecord) -> String {
    let verdict = verdict::of(record);
    let groups = Group::all(record, &verdict);
    let mut text = String::new();
    let mut paragraph = |words: &str| {
        if !words.is_empty() {
            text.push_str(words);
            text.push_str("\n\n");
        }
    };
    if record.kind == Kind::Imported {
        paragraph(&format!("**{}**", lab::NOT_OURS));
    }
    if let Some(words) = notes::ended_words(record) {
        paragraph(&format!("**partial:** {}", plain(&words)));
    }
    if let Some(lab) = &record.lab {
        paragraph(&sentence(&lab.question));
    }
    if record.kind == Kind::Lab {
        groups.iter().flat_map(answers).for_each(|answer| paragraph(&answer));
    } else {
        let conclusion = record.conclusion.clone().or_else(|| ladder::conclusion(record));
        paragraph(&conclusion.map_or_else(String::new, |words| sentence(&words)));
    }
    for section in lab::all_tables(record, &verdict) {
        paragraph(&table(&section.table));
        section.notes.iter().for_each(|note| paragraph(&sentence(note)));
    }
    for it in lab::unmeasured(record, &groups) {
        paragraph(&format!("- **{}** {}", plain(&it.what), plain(&it.reason)));
    }
    paragraph(&format!("Verdict: **{}**", steps::name(verdict.level)));
    for told in verdict::told(record, &verdict) {
        let evidence = plain(&told.evidence);
        paragraph(&format!("- {}; shown by: {evidence}", plain(&told.text)));
    }
    let RunRecord { tool, started_at, .. } = record;
    paragraph(&sentence(&format!("{} {}, {started_at}", tool.name, tool.version)));
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The answers of a load, a line each.
fn answers(group: &Group<'_>) -> Vec<String> {
    let load = if group.load.is_empty() { "" } else { &format!(", {}", group.load) };
    let line = |Answer { label, name, found, next }| {
        let next = next.map_or_else(String::new, |next| format!("; {next}"));
        let label = plain(&format!("{label}{load}"));
        format!("- **{label}** {}", plain(&format!("{name}: {found}{next}")))
    };
    glance::answers(group).into_iter().map(line).collect()
}

/// Numbers at the right, words at the left.
fn table(table: &Table) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| plain(cell)).collect();
        format!("| {} |", cells.join(" | "))
    };
    let rule: Vec<&str> = (0..table.head.len())
        .map(|column| if column == 0 || table.has_words(&column) { "---" } else { "---:" })
        .collect();
    let mut lines = vec![
        format!("**{}**", plain(&table.caption)),
        String::new(),
        row(&table.head),
        format!("| {} |", rule.join(" | ")),
    ];
    lines.extend(table.rows.iter().map(|cells| row(cells)));
    lines.join("\n")
}

/// [`plain`] text that begins a paragraph, and begins nothing else: no list, no heading, no block.
fn sentence(text: &str) -> String {
    let safe = plain(text.trim_start());
    let digits = safe.len() - safe.trim_start_matches(|it: char| it.is_ascii_digit()).len();
    match safe[digits..].chars().next() {
        Some('-' | '+' | '=') if digits == 0 => format!("\\{safe}"),
        Some('.' | ')') if digits > 0 => format!("{}\\{}", &safe[..digits], &safe[digits..]),
        Some(_) | None => safe,
    }
}

/// `text` with everything escaped that would be more than text: to a terminal, to Markdown, and to HTML within it.
fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in escape(text).chars() {
        match letter {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' | '@' => {
                safe.push('\\');
                safe.push(letter);
            }
            _ => safe.push(letter),
        }
    }
    // Nor a link.
    safe.replace("://", "\\://").replace("www.", "www\\.")
}
