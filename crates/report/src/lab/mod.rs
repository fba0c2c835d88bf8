//! A lab: programs of others beside each other and beside a bare TCP socket.
//!
//! First the answers, then a table for each load, then what layers add, then the views that were asked for, what others
//! published, and all that is needed to believe it. Tables are the same on a terminal, on a page and as Markdown.
//!
//! Start reading at [`lab`].

pub(crate) mod glance;
mod published;
pub(crate) mod rows;
pub(crate) mod tables;

use crate::number;
use crate::page::{Page, Style, Tone};
use crate::{grid, layers, notes, verdict};
use record::{Ended, Footprint, Kind, RunRecord, Subject, Verdict};
use rows::Group;
use tables::Section;

/// The page of a lab. Also of results that were imported from another program, which it says.
///
/// Tables take 80 columns. What failed, was not reached or left out stands in it with its reason.
pub fn lab(record: &RunRecord, style: &Style) -> String {
    let verdict = verdict::of(record);
    let groups = Group::all(record, &verdict);
    let mut page = Page::new(style);
    notes::ended(&mut page, record);
    if record.kind == Kind::Imported {
        page.prose(Tone::Doubtful, NOT_OURS);
    }
    page.blank();
    if let Some(lab) = record.lab.as_ref().filter(|lab| !lab.question.is_empty()) {
        page.prose(Tone::Strong, &lab.question);
    }
    for group in groups.iter().filter(|_| record.kind != Kind::Imported) {
        page.blank();
        let cells = tables::cells(record, group);
        page.prose(Tone::Strong, &cells.table.caption);
        for answer in glance::answers(group) {
            let text = format!("{}: {}", answer.name, answer.found);
            page.labelled(answer.label, (Tone::Strong, &text));
            if let Some(next) = answer.next {
                page.labelled("", (Tone::Plain, &next));
            }
        }
        page.blank();
        grid::show(&mut page, &cells.table);
        cells.notes.iter().for_each(|note| page.prose(Tone::Plain, note));
    }
    failures(&mut page, record, &groups);
    layers::added(&mut page, record, &verdict);
    for view in sections(record, &groups) {
        page.blank();
        section(&mut page, &view);
    }
    page.blank();
    if record.kind != Kind::Imported {
        footnotes(&mut page, record);
        page.blank();
        notes::checks(&mut page, record);
    }
    notes::warnings(&mut page, record);
    verdict::show(&mut page, record, &verdict);
    page.finish()
}

/// What subjects need to be shipped, as a table.
pub fn footprints(all: &[Footprint], style: &Style) -> String {
    let mut page = Page::new(style);
    section(&mut page, &tables::footprints(all));
    page.finish()
}

/// Who is fastest under the first load of `record`, in one sentence; unescaped.
pub(crate) fn conclusion(record: &RunRecord, verdict: &Verdict) -> Option<String> {
    glance::conclusion(&Group::all(record, verdict))
}

/// All tables besides those of the cells.
fn sections(record: &RunRecord, groups: &[Group<'_>]) -> Vec<Section> {
    let mut all = tables::views(record, groups);
    all.extend(published::sections(record, groups));
    all
}

/// All tables, for whoever shows them elsewhere.
pub(crate) fn all_tables(record: &RunRecord, verdict: &Verdict) -> Vec<Section> {
    let groups = Group::all(record, verdict);
    let mut all = Vec::new();
    if record.kind != Kind::Imported {
        all.extend(groups.iter().map(|group| tables::cells(record, group)));
    }
    all.extend(sections(record, &groups));
    all
}

fn section(page: &mut Page, section: &Section) {
    if !section.table.rows.is_empty() {
        page.prose(Tone::Strong, &section.table.caption);
        grid::show(page, &section.table);
        section.notes.iter().for_each(|note| page.prose(Tone::Plain, note));
    }
}

/// What has no row of numbers, and why.
fn failures(page: &mut Page, record: &RunRecord, groups: &[Group<'_>]) {
    let all = unmeasured(record, groups);
    if !all.is_empty() {
        page.blank();
    }
    for Unmeasured { what, reason, tone } in all {
        page.remark(tone, &format!("{what}:"), &reason);
    }
}

/// Something without numbers, or with fewer than planned.
pub(crate) struct Unmeasured {
    /// Its name and what became of it.
    pub(crate) what: String,
    pub(crate) reason: String,
    tone: Tone,
}

/// All that failed, in whole or in part, was not reached, or was left out; reasons are said once for names that share
/// them.
pub(crate) fn unmeasured(record: &RunRecord, groups: &[Group<'_>]) -> Vec<Unmeasured> {
    let mut all: Vec<Unmeasured> = Vec::new();
    let mut put = |name: &str, state: &str, reason: &str, tone| match all
        .iter_mut()
        .find(|it| it.reason == reason && it.what.ends_with(state))
    {
        Some(it) => {
            it.what = format!("{}, {name} {state}", it.what.trim_end_matches(state).trim_end())
        }
        None => all.push(Unmeasured {
            what: format!("{name} {state}"),
            reason: reason.to_owned(),
            tone,
        }),
    };
    for row in groups.iter().flat_map(|group| &group.rows) {
        let name = &row.workload.name;
        match (row.result, row.failed.first()) {
            (Some(_), None) => {}
            (Some(_), Some(reason)) => {
                let count = row.failed.len();
                let all = count + row.blocks.len();
                let reason = format!("{count} of {all} blocks do not count: {reason}");
                put(name, "failed in part", &reason, Tone::Doubtful);
            }
            (None, Some(reason)) => put(name, "failed", reason, Tone::Failed),
            (None, None) => {
                let reason = match &record.ended {
                    Ended::Completed => "it has no block that counts",
                    Ended::Interrupted { .. } | Ended::Partial { .. } => {
                        "the run ended before its first block"
                    }
                };
                put(name, "not reached", reason, Tone::Failed);
            }
        }
    }
    for left_out in record.lab.iter().flat_map(|lab| &lab.left_out) {
        put(&left_out.name, "left out", &left_out.reason, Tone::Doubtful);
    }
    all
}

/// What is needed to read the tables, and who the subjects are.
fn footnotes(page: &mut Page, record: &RunRecord) {
    page.prose(
        Tone::Plain,
        &format!(
            "Medians of blocks, in random order (seed {}); intervals are of 95 %. CPU: user and system time of all its processes, for each \
             message. Memory: of the server, at the end of a block.",
            record.plan.seed
        ),
    );
    for text in subjects(record) {
        page.prose(Tone::Plain, &text);
    }
}

/// `netty: Java, Netty 4.1.140.Final, default; …`: each subject once.
pub(crate) fn subjects(record: &RunRecord) -> Vec<String> {
    let workloads = &record.plan.workloads;
    let mut shown: Vec<&Subject> = Vec::new();
    for subject in
        workloads.iter().flat_map(|workload| [&workload.server, &workload.client]).flatten()
    {
        match shown.iter_mut().find(|other| other.name == subject.name) {
            // One of them may have been warmed up, and says more.
            Some(other) if other.warm_up.is_none() => *other = subject,
            Some(_) => {}
            None => shown.push(subject),
        }
    }
    shown.into_iter().map(of_subject).collect()
}

fn of_subject(subject: &Subject) -> String {
    let declared = || format!("{} (declared, not confirmed)", subject.version);
    let version = subject.version_found.clone().unwrap_or_else(declared);
    let class = match subject.class {
        record::Class::Default => "default",
        record::Class::Tuned => "TUNED",
    };
    let mut text = format!(
        "{}: {}, {} {version}, {}, {class}",
        subject.name, subject.language, subject.library, subject.licence
    );
    if !subject.options.is_empty() {
        text += &format!("; options: {}", subject.options.join(", "));
    }
    if let Some(warm_up) = subject.warm_up {
        let steady = if warm_up.is_steady { "until steady" } else { "and still not steady" };
        text += &format!(
            "; warmed up for {}, from {} to {}, {steady}",
            number::nanos(warm_up.took_ns),
            number::per_second(warm_up.first_per_s),
            number::per_second(warm_up.last_per_s)
        );
    }
    format!("{text}.")
}

/// What stands above everything that was read from elsewhere.
pub(crate) const NOT_OURS: &str =
    "Not measured by wirebench: read from what another program printed.";
