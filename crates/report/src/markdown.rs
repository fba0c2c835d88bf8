//! What a record came to as Markdown, with tables as GitHub has them: for a README or an issue.

use crate::chart::Table;
use crate::escape::escape;
use crate::lab::rows::Group;
use crate::lab::{self, glance};
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
        paragraph(&plain(&lab.question));
    }
    let conclusion = record.conclusion.clone().or_else(|| ladder::conclusion(record));
    paragraph(&conclusion.map_or_else(String::new, |words| plain(&words)));
    if record.kind == Kind::Lab {
        for group in &groups {
            for glance::Answer { label, name, found, next } in glance::answers(group) {
                let next = next.map_or_else(String::new, |next| format!("; {next}"));
                paragraph(&format!("- **{label}** {}", plain(&format!("{name}: {found}{next}"))));
            }
        }
    }
    for section in lab::all_tables(record, &verdict) {
        paragraph(&table(&section.table));
        section.notes.iter().for_each(|note| paragraph(&plain(note)));
    }
    for it in lab::unmeasured(record, &groups) {
        paragraph(&format!("- **{}** {}", plain(&it.what), plain(&it.reason)));
    }
    paragraph(&format!("Verdict: **{}**", steps::name(verdict.level)));
    for told in verdict::told(record, &verdict) {
        let evidence = plain(&told.evidence);
        paragraph(&format!("- {}; shown by: {evidence}", plain(&told.text)));
    }
    let tool = plain(&format!("{} {}", record.tool.name, record.tool.version));
    paragraph(&format!("{tool}, {}", plain(&record.started_at)));
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
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
