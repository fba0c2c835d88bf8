//! Shows a record to people and to other programs: it returns strings, and measures, reads and prints nothing.
//!
//! A record becomes one `Document` (`page::document`): sections, tables, drawings, notes, the verdict. Its printers are
//! [`terminal`] (80 columns), [`html`] (one page, with [`figures`]) and [`markdown`]; [`csv`] prints its rows with all
//! digits. [`compare`] shows two records side by side, [`live_line`] is the line that changes while a run goes on, and
//! [`Metrics`] has what other programs read meanwhile, as [`prometheus()`] writes it. For programs: [`json`], [`hlog`],
//! [`hgrm`], [`google_benchmark`] and [`go_benchmark()`]; for continuous integration: [`junit`], [`step_summary`] and
//! [`annotations`]. `web` beside `src` makes the charts of the page interactive.
//!
//! Everything is computed from the record, so a report can be redrawn from any old one. Colours only repeat what the
//! words say. Text that may come from a peer passes through [`escape`] before it becomes part of a page.
//!
//! Left out: where pages go, and whether a terminal wants colours.
//!
//! Start reading at `page::document`; `document` has its types, `number` the spelling of numbers, and `row` is the
//! only module that knows how a record describes what was asked.

mod agents;
mod answers;
mod benchmark;
mod chart;
mod compare;
mod csv;
mod date;
mod deliveries;
mod details;
mod document;
mod escape;
mod exchanges;
#[cfg(feature = "otlp")]
mod exponential;
mod export;
mod figures;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod gate;
mod go_benchmark;
mod history;
mod html;
mod k6;
mod layers;
mod live;
mod markdown;
mod measured;
mod metrics;
mod notes;
mod number;
#[cfg(feature = "otlp")]
mod otlp;
mod page;
mod prometheus;
#[cfg(feature = "otlp")]
mod protobuf;
mod published;
mod requirements;
mod row;
mod rows;
mod run;
mod sides;
mod steps;
mod svg;
mod sweep;
mod tabs;
mod text;
mod verdict;
mod views;

pub use answers::conclusion;
pub use benchmark::google_benchmark;
pub use compare::{compare, compares_nothing};
pub use csv::csv;
pub use document::Depth;
pub use escape::escape;
pub use export::{ExportError, hgrm, hlog, json};
pub use gate::{
    annotation, annotations, junit, junit_of_failure, step_summary, step_summary_of_failure,
};
pub use go_benchmark::go_benchmark;
pub use html::{compare_html, figures, html};
pub use k6::k6;
pub use live::{live_line, machine_line};
pub use markdown::markdown;
pub use metrics::{Exposed, Metrics};
pub use number::{bar_of, nanos, per_second};
#[cfg(feature = "otlp")]
pub use otlp::{Sender, Span, otlp, otlp_taken};
pub use prometheus::prometheus;
#[cfg(feature = "otlp")]
pub use protobuf::{PROMETHEUS_PROTOBUF, prometheus_protobuf};
pub use text::{Style, paragraph, sheet};

use record::{Entry, Footprint, RunRecord, Trend};

/// The page that a run ends with, or with all details, for a terminal.
pub fn terminal(record: &RunRecord, depth: Depth, style: &Style) -> String {
    text::print(&page::document(record), depth, style)
}

/// The lines that the page of a record begins with: each required limit, with its mark and the finding.
pub fn limits(record: &RunRecord) -> Vec<String> {
    page::limits(record).map(|it| escape(&format!("{} {}", it.label, it.text))).collect()
}

/// A line for each record of a history.
pub fn history(entries: &[Entry], style: &Style) -> String {
    text::print(&history::document(entries), Depth::Details, style)
}

/// The changes of the numbers of a history, row by row.
pub fn trends(all: &[Trend], style: &Style) -> String {
    text::print(&history::trends(all), Depth::Details, style)
}

/// The footprints of subjects, as a table.
pub fn footprints(all: &[Footprint], style: &Style) -> String {
    text::print(&page::footprints(all), Depth::Details, style)
}
