//! The document of a record: which parts it has, by what was asked.
//!
//! Start reading at [`document`].

use crate::document::{Document, Part, Section, Table, Tone};
use crate::figures;
use crate::measured::Group;
use crate::row;
use crate::{answers, details, layers, notes, published, rows, run, sweep, verdict, views};
use record::{Footprint, Kind, Level, RunRecord, Verdict};

/// Everything that a report says of `record`.
pub(crate) fn document(record: &RunRecord) -> Document {
    let verdict = verdict::of(record);
    let groups = Group::all(record, &verdict);
    let results = match (&record.sweep, record.kind) {
        (Some(sweep), _) => {
            let mut results = vec![sweep::section(record, sweep)];
            results.extend(published::section(record, &groups));
            results
        }
        (None, Kind::Sweep) => {
            let text = "This record has no sweep in it.".to_owned();
            vec![Section::new("", vec![Part::Text(Tone::Failed, text)])]
        }
        (None, Kind::Ladder) => ladder(record, &verdict, &groups),
        (None, Kind::Imported | Kind::Lab) => lab(record, &verdict, &groups),
        (None, Kind::Run | Kind::Other) => runs(record, &groups),
    };
    // What an older version concluded from an invalid measurement is not shown either.
    let kept = record.conclusion.clone().filter(|_| verdict.level < Level::Invalid);
    let conclusion = kept.or_else(|| answers::conclusion(record));
    let missing = "No conclusion: ".to_owned()
        + match verdict.level {
            Level::Invalid => "the measurement is invalid, see the verdict.",
            Level::Degraded => "no pair of rows to compare is without doubt, see the verdict.",
            Level::Trusted => "no row can be compared with the baseline.",
        };
    Document {
        title: title(record),
        subtitle: details::subtitle(record),
        partial: notes::partial(record),
        conclusion: conclusion.or_else(|| (record.kind == Kind::Ladder).then_some(missing)),
        answers: answers::all(record, &verdict, &groups),
        figures: figures::all(record, &groups),
        results,
        notes: notes(record, &groups),
        details: details::all(record),
        verdict: Some(verdict::judgement(record, &verdict)),
        command: details::command(record),
        tool: format!("{} {}", record.tool.name, record.tool.version),
    }
}

/// The needs of subjects that are to be shipped.
pub(crate) fn footprints(all: &[Footprint]) -> Document {
    let results = Section::of_tables("", [views::footprints(all)]);
    Document { results: results.into_iter().collect(), ..Document::default() }
}

/// The subject of the measurement.
fn title(record: &RunRecord) -> String {
    let lab = record.lab.as_ref().map(|lab| lab.question.clone());
    match (&record.sweep, record.kind, row::all(record).next()) {
        (Some(sweep), ..) => sweep::title(record, sweep),
        (None, Kind::Ladder, _) => "The ladder".to_owned(),
        (None, Kind::Imported, _) => {
            "Not measured by wirebench: read from what another program printed.".to_owned()
        }
        (None, Kind::Lab, _) => {
            lab.filter(|question| !question.is_empty()).unwrap_or_else(|| "A lab".to_owned())
        }
        (None, _, None) => "A run without a measurement".to_owned(),
        (None, _, Some(only)) if row::count(record) == 1 => only.target().to_owned(),
        (None, _, Some(first)) => format!("{}: {} rows", first.target(), row::count(record)),
    }
}

fn ladder(record: &RunRecord, verdict: &Verdict, groups: &[Group<'_>]) -> Vec<Section> {
    let mut tables: Vec<Table> = groups.iter().map(|group| rows::table(record, group)).collect();
    tables.extend([layers::added(record, verdict), layers::bytes(record)]);
    let mut section = Section::of_tables("", tables).unwrap_or_default();
    section.parts.splice(1..1, rows::unmeasured(record, groups));
    vec![section]
}

fn lab(record: &RunRecord, verdict: &Verdict, groups: &[Group<'_>]) -> Vec<Section> {
    let tables = groups.iter().map(|group| rows::table(record, group));
    let is_ours = record.kind == Kind::Lab;
    let mut section = Section::of_tables("", tables.filter(|_| is_ours)).unwrap_or_default();
    section.parts.extend(rows::unmeasured(record, groups));
    let views = views::all(record, groups);
    let views = [layers::added(record, verdict)].into_iter().chain(views);
    section.parts.extend(views.filter(|table| !table.rows.is_empty()).map(Part::Table));
    [section].into_iter().chain(published::section(record, groups)).collect()
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
        all.push(run::section(&heading, it));
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
        Kind::Imported | Kind::Other | Kind::Run | Kind::Sweep => {}
    }
    if record.kind == Kind::Ladder {
        parts.extend(rows::footnotes(groups));
    }
    let is_checked = match record.kind {
        Kind::Imported | Kind::Sweep => false,
        Kind::Ladder | Kind::Lab => true,
        Kind::Run | Kind::Other => record.blocks.len() > 1,
    };
    parts.extend(is_checked.then(|| Part::Remark(notes::checks(record))));
    parts.extend(notes::warnings(record).map(Part::Remark));
    parts
}
