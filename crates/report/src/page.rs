//! The document of a record: its parts, depending on what was asked.
//!
//! Start reading at [`document`].

use crate::deliveries;
use crate::document::{Depth, Document, Part, Remark, Section, Tone};
use crate::exchanges;
use crate::figures;
use crate::measured::Group;
use crate::row;
use crate::sides;
use crate::{
    answers, details, layers, notes, published, requirements, rows, run, sweep, tabs, verdict,
    views,
};
use record::{Footprint, Kind, Level, RunRecord, Verdict};

/// Everything that a report says about `record`.
pub(crate) fn document(record: &RunRecord) -> Document {
    let verdict = verdict::of(record);
    let groups = Group::all(record, &verdict);
    let mut sections = match (&record.sweep, record.kind) {
        (Some(sweep), _) => {
            let mut sections = sweep::sections(record, sweep);
            sections.extend(published::section(record, &groups));
            sections
        }
        (None, Kind::Sweep) => {
            let text = "This record has no sweep in it.".to_owned();
            vec![Section::new("", vec![Part::Text(Tone::Failed, text)])]
        }
        (None, Kind::Ab) => ab(record, &verdict, &groups),
        (None, Kind::Ladder) => ladder(record, &verdict, &groups),
        (None, Kind::Imported | Kind::Lab) => lab(record, &verdict, &groups),
        (None, Kind::Run | Kind::Other) => runs(record, &groups),
    };
    let drifts: Vec<Part> = notes::drifts(record).map(Part::Remark).collect();
    sections.extend((!drifts.is_empty()).then(|| Section::new("", drifts)));
    sections.extend(details::all(record));
    // Conclusions of an older version from an invalid measurement are not shown either.
    let kept = record.conclusion.clone().filter(|_| verdict.level < Level::Invalid);
    let conclusion = kept.or_else(|| answers::conclusion(record));
    let missing = "No conclusion: ".to_owned()
        + match verdict.level {
            Level::Invalid => "the measurement is invalid, see the verdict.",
            Level::Degraded => "every pair of rows to compare is in doubt, see the verdict.",
            Level::Trusted => "no row can be compared with the baseline.",
        };
    let conclusion = conclusion.or_else(|| (record.kind == Kind::Ladder).then_some(missing));
    Document {
        requirements: limits(record).collect(),
        title: title(record),
        title_depth: match record.kind {
            // The answer names what was measured.
            Kind::Ladder => Depth::Details,
            Kind::Ab | Kind::Lab if conclusion.is_some() => Depth::Details,
            Kind::Run | Kind::Other if row::count(record) == 1 && conclusion.is_some() => {
                Depth::Details
            }
            Kind::Ab | Kind::Imported | Kind::Lab | Kind::Other | Kind::Run | Kind::Sweep => {
                Depth::First
            }
        },
        subtitle: details::subtitle(record),
        partial: notes::partial(record),
        conclusion,
        answers: answers::all(record, &verdict, &groups),
        figures: figures::all(record, &verdict, &groups),
        sections,
        notes: notes(record, &groups),
        verdict: Some(verdict::judgement(record, &verdict)),
        command: details::command(record),
        tool: format!("{} {}", record.tool.name, record.tool.version),
    }
}

/// The footprints of subjects.
pub(crate) fn footprints(all: &[Footprint]) -> Document {
    let section = Section::of_tables("", [views::footprints(all)]);
    Document { sections: section.into_iter().collect(), ..Document::default() }
}

/// The lines that the page begins with: required limits and their results.
pub(crate) fn limits(record: &RunRecord) -> impl Iterator<Item = Remark> {
    requirements::all(record).into_iter().chain(sides::allowed(record))
}

/// The subject of the measurement.
pub(crate) fn title(record: &RunRecord) -> String {
    let lab = record.lab.as_ref().map(|lab| lab.question.clone());
    match (&record.sweep, record.kind, row::all(record).next()) {
        (Some(sweep), ..) => sweep::title(record, sweep),
        (None, Kind::Ladder, _) => "The ladder".to_owned(),
        (None, Kind::Imported, _) => {
            "Not measured by wirebench: imported from the output of another program.".to_owned()
        }
        (None, Kind::Lab, _) => {
            lab.filter(|question| !question.is_empty()).unwrap_or_else(|| "A lab".to_owned())
        }
        (None, Kind::Ab, Some(base)) => {
            let head = row::all(record).nth(1).map_or("?", |head| head.target());
            format!("{} against {head}", base.target())
        }
        (None, _, None) => "A run without a measurement".to_owned(),
        (None, _, Some(only)) if row::count(record) == 1 => only.target().to_owned(),
        (None, _, Some(first)) => format!("{}: {} rows", first.target(), row::count(record)),
    }
}

fn ladder(record: &RunRecord, verdict: &Verdict, groups: &[Group<'_>]) -> Vec<Section> {
    let tables = groups.iter().map(|group| rows::table(record, group));
    let layers = [layers::added(record, verdict), layers::bytes(record)];
    let mut sections = with_unmeasured(Section::of_tables("", tables), record, groups);
    sections.extend(Section::of_tables("", layers).map(|section| section.at(Depth::Details)));
    sections
}

/// The numbers of both sides; as details each side in full.
fn ab(record: &RunRecord, verdict: &Verdict, groups: &[Group<'_>]) -> Vec<Section> {
    let results = Section::of_tables("", sides::table(record, verdict, groups));
    let mut all = with_unmeasured(results, record, groups);
    let tables = groups.iter().map(|group| rows::table(record, group));
    all.extend(Section::of_tables("", tables).map(|section| section.at(Depth::Details)));
    for it in groups.iter().flat_map(|group| &group.rows) {
        let heading = format!("{}, {}", it.row.name(), it.row.target());
        all.extend(run::sections(&heading, it).map(|section| section.at(Depth::Details)));
    }
    all
}

fn lab(record: &RunRecord, verdict: &Verdict, groups: &[Group<'_>]) -> Vec<Section> {
    let tables =
        groups.iter().map(|group| rows::table(record, group).noted(rows::of_work(group, groups)));
    let is_ours = record.kind == Kind::Lab;
    let results = Section::of_tables("", tables.filter(|_| is_ours));
    let mut sections = with_unmeasured(results, record, groups);
    let views = [layers::added(record, verdict)].into_iter().chain(views::all(record, groups));
    // An imported record has no other result.
    let depth = if is_ours { Depth::Details } else { Depth::First };
    sections.extend(Section::of_tables("", views).map(|section| section.at(depth)));
    let of_tabs = Section::of_tables("", groups.iter().map(tabs::table));
    // For rows with tabs these are the results, and all other numbers are what they are compared with.
    sections.extend(of_tabs.map(|section| section.at(Depth::First)));
    let of_rooms = Section::of_tables("", groups.iter().map(deliveries::table));
    sections.extend(of_rooms.map(|section| section.at(Depth::Details)));
    if record.blocks.iter().any(|block| block.deliveries.is_some()) {
        let bytes = Section::of_tables("", [layers::bytes(record)]);
        sections.extend(bytes.map(|section| section.at(Depth::Details)));
    }
    let ends = Section::of_tables("", groups.iter().map(exchanges::ends));
    sections.extend(ends.map(|section| section.at(Depth::Details)));
    sections.extend(groups.iter().flat_map(conversations));
    sections.extend(published::section(record, groups));
    sections
}

/// The sections of each row that holds a conversation: its requests by kind, its streams, and its unasked messages.
fn conversations(group: &Group<'_>) -> impl Iterator<Item = Section> {
    group.rows.iter().filter_map(|it| {
        let heading = format!("{}{}", it.name, group.suffix());
        Section::of_tables(&heading, exchanges::all(it)).map(|section| section.at(Depth::Details))
    })
}

/// The results and what is missing from them: on the first page only the first reasons.
fn with_unmeasured(
    results: Option<Section>,
    record: &RunRecord,
    groups: &[Group<'_>],
) -> Vec<Section> {
    let mut section = results.unwrap_or_default();
    let mut parts = rows::unmeasured(record, groups);
    let more = parts.split_off(parts.len().min(UNMEASURED_MAX));
    section.parts.extend(parts);
    let more = (!more.is_empty()).then(|| Section::new("", more).at(Depth::Details));
    [section].into_iter().chain(more).collect()
}

/// A table of all rows where there are several, and each of them in full.
fn runs(record: &RunRecord, groups: &[Group<'_>]) -> Vec<Section> {
    let several = row::count(record) > 1;
    let tables = groups.iter().map(|group| rows::table(record, group));
    let mut all: Vec<Section> =
        Section::of_tables("", tables.filter(|_| several)).into_iter().collect();
    for it in groups.iter().flat_map(|group| &group.rows) {
        let heading = match (several, it.row.name() == it.row.target()) {
            (false, _) => String::new(),
            (true, true) => it.row.target().to_owned(),
            (true, false) => format!("{}, {}", it.row.name(), it.row.target()),
        };
        let [results, details] = run::sections(&heading, it);
        all.extend([if several { results.at(Depth::Details) } else { results }, details]);
    }
    all
}

/// Explanations needed to read the tables, and doubts about them.
fn notes(record: &RunRecord, groups: &[Group<'_>]) -> Vec<Part> {
    let mut parts = Vec::new();
    let text = |text: &str| Part::Text(Tone::Plain, text.to_owned());
    match record.kind {
        Kind::Ladder => parts.push(text(
            "Numbers of all blocks together; intervals are of 95 %. CPU: user and system time of the whole process, for each message. \
             Bytes: both directions of the stream, without TCP and IP; what these add is estimated from the number of \
             segments.",
        )),
        Kind::Lab => {
            let seed = row::seed(record);
            parts.push(text(&format!(
                "Numbers of all blocks together, in random order (seed {seed}); intervals are of 95 %. CPU: user and system time of \
                 all its processes, for each message. Memory: of the server, at the end of a block."
            )));
            let subjects = views::subjects(record, groups);
            parts.extend(subjects.into_iter().map(|it| Part::Text(Tone::Plain, it)));
        }
        Kind::Ab | Kind::Imported | Kind::Other | Kind::Run | Kind::Sweep => {}
    }
    if record.kind == Kind::Ladder {
        parts.extend(rows::footnotes(groups));
    }
    let is_checked = match record.kind {
        Kind::Imported | Kind::Sweep => false,
        Kind::Ab | Kind::Ladder | Kind::Lab => true,
        Kind::Run | Kind::Other => record.blocks.len() > 1,
    };
    parts.extend(is_checked.then(|| Part::Remark(notes::checks(record))));
    parts.extend(notes::warnings(record).map(Part::Remark));
    parts
}

/// The number of reasons for missing rows that the first page shows.
const UNMEASURED_MAX: usize = 2;
