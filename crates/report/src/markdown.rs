//! A document as Markdown, with GitHub tables: for a README or an issue.

use crate::document::{Depth, Document, Part, Remark, Table};
use crate::escape::flow;
use crate::page;
use record::RunRecord;

/// The answers of `record`, its tables and its verdict. Text from a peer stays plain text.
///
/// Works for any record; rows that are compared with the same one share a table.
pub fn markdown(record: &RunRecord) -> String {
    print(&page::document(record))
}

/// A document as Markdown.
pub(crate) fn print(document: &Document) -> String {
    let checks: Vec<String> = document.requirements.iter().map(remark).collect();
    let mut paragraphs: Vec<String> =
        (!checks.is_empty()).then(|| checks.join("\n")).into_iter().collect();
    paragraphs.push(sentence(&document.title));
    let mut add = |text: String| paragraphs.extend((!text.is_empty()).then_some(text));
    if let Some(words) = &document.partial {
        add(format!("**partial:** {}", plain(words)));
    }
    if let Some(words) = document.sentence() {
        add(sentence(words));
    }
    for answer in &document.answers {
        let notes: String = answer.notes.iter().map(|(_, note)| format!("; {note}")).collect();
        let text = plain(&format!("{}{notes}", answer.value));
        add(format!("- **{}** {text}", plain(&answer.label)));
    }
    for section in document.sections.iter().filter(|it| it.depth <= DEPTH) {
        if !section.heading.is_empty() {
            add(format!("**{}**", plain(&section.heading)));
        }
        section.parts.iter().for_each(|it| add(part(it)));
    }
    document.notes.iter().for_each(|it| add(part(it)));
    if let Some(judgement) = &document.verdict {
        add(format!("Verdict: **{}**", judgement.level.name()));
        judgement.reasons.iter().for_each(|reason| add(remark(reason)));
    }
    add(sentence(&format!("{}, {}", document.tool, document.subtitle)));
    let mut text = paragraphs.join("\n\n");
    text.truncate(text.trim_end().len());
    text + "\n"
}

fn part(part: &Part) -> String {
    match part {
        Part::Facts(facts) => {
            let lines = facts.iter().flat_map(|fact| {
                fact.lines.iter().map(|line| format!("- {}: {}", plain(&fact.label), plain(line)))
            });
            lines.collect::<Vec<String>>().join("\n")
        }
        Part::Folded(it) | Part::Remark(it) => remark(it),
        Part::Table(it) => table(it),
        Part::Text(_, text) => sentence(text),
    }
}

fn remark(remark: &Remark) -> String {
    let Remark { label, text, shown_by, .. } = remark;
    let shown = if shown_by.is_empty() { "" } else { "; shown by: " };
    format!("- **{}** {}{shown}{}", plain(label), plain(text), plain(shown_by))
}

/// A table with numbers aligned right and words aligned left.
fn table(table: &Table) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    let printed = table.printed(DEPTH);
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| plain(cell.trim())).collect();
        format!("| {} |", cells.join(" | "))
    };
    let heads: Vec<String> = printed.heads.iter().map(|head| head.text()).collect();
    let rule: Vec<&str> =
        printed.heads.iter().map(|head| if head.is_left { "---" } else { "---:" }).collect();
    let mut lines = Vec::new();
    if !table.heading.is_empty() {
        lines.extend([format!("**{}**", plain(&table.heading)), String::new()]);
    }
    lines.extend([row(&heads), format!("| {} |", rule.join(" | "))]);
    lines.extend(printed.rows.iter().map(|(_, cells)| row(cells)));
    let notes = table.notes_at(DEPTH).map(|note| format!("\n{}", sentence(note)));
    lines.extend(notes);
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

/// `text` with everything escaped that a terminal, Markdown, or HTML within Markdown would interpret.
pub(crate) fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in flow(text).chars() {
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
    // Nor may it become a link.
    safe.replace("://", "\\://").replace("www.", "www\\.")
}

/// Markdown has the results; what few readers look for is in the record.
const DEPTH: Depth = Depth::Details;
