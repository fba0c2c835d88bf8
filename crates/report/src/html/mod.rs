//! A document as one HTML page that needs nothing else: readable without scripts and without a network.
//!
//! The contents of a record get into the page in three ways, each with its own guard: as text by the template, which
//! escapes for HTML what was escaped for a terminal here; in drawings by [`crate::svg`], which escapes; and as data for
//! the front end by [`data`], in which no character is left that could end its element. A Content-Security-Policy
//! allows the page's own script and styles by their hashes, and nothing else.
//!
//! Left out: where the page is written.
//!
//! Start reading at [`html`].

mod data;

use crate::chart::{Chart, Figure, Key};
use crate::compare;
use crate::document::{Depth, Document, Part, Table};
use crate::escape::flow;
use crate::figures::table;
use crate::page;
use crate::svg::{self, Place};
use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use record::RunRecord;
use sha2::{Digest as _, Sha256};

/// `record` as one page.
pub fn html(record: &RunRecord) -> String {
    printed(&page::document(record))
}

/// `record` beside `base`, as [`crate::compare`] has them, as one page.
pub fn compare_html(base: &RunRecord, record: &RunRecord) -> String {
    printed(&compare::document(base, record))
}

fn printed(document: &Document) -> String {
    let charts: Vec<&Chart> = document.figures.iter().filter_map(Figure::lines).collect();
    let is_ratio = |figure: &&Figure| matches!(figure, Figure::Ratios(_));
    let (ratios, curves): (Vec<&Figure>, Vec<&Figure>) =
        document.figures.iter().partition(is_ratio);
    let page = Page {
        document,
        ratios: ratios.into_iter().map(Shown::of).collect(),
        first: document.tables(Depth::First).collect(),
        curves: curves.into_iter().map(Shown::of).collect(),
        data: data::of(&charts),
        policy: policy(),
        style: PAGE_STYLE,
        chart_style: svg::STYLE,
        front_end_style: FRONT_END_STYLE,
        script: FRONT_END,
    };
    page.render().expect("writing to memory does not fail")
}

/// Only the drawings of `record`: each as a file name and a self-contained SVG.
pub fn figures(record: &RunRecord) -> Vec<(String, String)> {
    let figures = page::document(record).figures;
    let alone = |figure: &Figure| (format!("{}.svg", figure.id()), svg::draw(figure, Place::Alone));
    figures.iter().map(alone).collect()
}

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    document: &'a Document,
    /// The drawings that answer, above everything else.
    ratios: Vec<Shown<'a>>,
    /// The tables of the first page of a terminal, with their bars.
    first: Vec<&'a Table>,
    /// All other drawings.
    curves: Vec<Shown<'a>>,
    data: String,
    policy: String,
    style: &'a str,
    chart_style: &'a str,
    front_end_style: &'a str,
    script: &'a str,
}

#[derive(Template)]
#[template(path = "part.html")]
struct PartShown<'a> {
    part: &'a Part,
}

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysShown<'a> {
    keys: &'a [KeyShown],
}

/// A legend as HTML.
fn legend(keys: &[KeyShown]) -> String {
    KeysShown { keys }.render().expect("writing to memory does not fail")
}

#[derive(Template)]
#[template(path = "table.html")]
struct TableShown<'a> {
    table: &'a Table,
    depth: Depth,
}

/// `table` as HTML, as a page of this depth has it.
fn table_of(table: &Table, depth: Depth) -> String {
    TableShown { table, depth }.render().expect("writing to memory does not fail")
}

/// `part` as HTML.
fn part(part: &Part) -> String {
    PartShown { part }.render().expect("writing to memory does not fail")
}

/// A drawing on the page.
struct Shown<'a> {
    figure: &'a Figure,
    svg: String,
    /// The legend, for everything that has no name at a line.
    legend: Vec<KeyShown>,
    /// The lines that have one.
    lines: Vec<KeyShown>,
    notes: &'a [String],
    /// Every point of a chart.
    table: Option<Part>,
}

/// A line of a legend, and what the front end switches with it.
struct KeyShown {
    swatch: String,
    name: String,
    subject: String,
    measure: String,
    /// True for the first measure after subjects.
    begins_measures: bool,
}

impl<'a> Shown<'a> {
    fn of(figure: &'a Figure) -> Self {
        let chart = figure.lines();
        let keys = chart.map_or_else(Vec::new, Chart::keys);
        let (lines, legend): (Vec<Key>, Vec<Key>) =
            keys.into_iter().partition(|key| key.is_at_line);
        let has_subjects = legend.iter().any(|key| key.subject.is_some());
        let index = |index: Option<usize>| index.map_or_else(String::new, |it| it.to_string());
        let key = |key: Key| KeyShown {
            swatch: svg::swatch(&key),
            begins_measures: has_subjects && key.measure == Some(0),
            subject: index(key.subject),
            measure: index(key.measure),
            name: key.name,
        };
        Self {
            figure,
            svg: svg::draw(figure, Place::Page),
            legend: legend.into_iter().map(key).collect(),
            lines: lines.into_iter().map(key).collect(),
            notes: chart.map_or(&[], |chart| &chart.notes),
            table: chart.map(|chart| Part::Table(table(chart))),
        }
    }

    fn is_strip(&self) -> bool {
        self.figure.lines().is_some_and(|chart| chart.strip)
    }
}

/// The permissions of the page: its own script and styles, and nothing fetched.
fn policy() -> String {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let styles = [PAGE_STYLE, svg::STYLE, FRONT_END_STYLE].map(hash).join(" ");
    let script = hash(FRONT_END);
    format!(
        "default-src 'none'; script-src {script}; style-src {styles}; base-uri 'none'; form-action 'none'"
    )
}

/// The look of the page around its charts.
const PAGE_STYLE: &str = include_str!("../../templates/page.css");
/// The script that makes charts interactive, as built by `npm run build` in `web`.
const FRONT_END: &str = include_str!("../../web/dist/report.js");
/// The look of the interactive parts.
const FRONT_END_STYLE: &str = include_str!("../../web/dist/report.css");
