//! A record as one HTML page that needs nothing else: readable without scripts and without a network.
//!
//! Whatever a record says gets into the page in three ways, each with its own guard: as text by the template, which
//! escapes; in drawings by [`crate::svg`], which escapes; and as data for the front end by [`data`], in which no
//! character is left that could end its element. A Content-Security-Policy allows the page's own script and styles by
//! their hashes, and nothing else.
//!
//! Left out: where the page is written.
//!
//! Start reading at [`html`].

mod data;
mod facts;
mod tables;

use crate::chart::{Chart, Table};
use crate::escape::escape;
use crate::forest::{self, Forest};
use crate::lab::tables::Section;
use crate::page::Style;
use crate::published::{self, Finding};
use crate::svg::{self, Place};
use crate::{notes, stack, verdict};
use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use record::{Level, RunRecord};
use sha2::{Digest as _, Sha256};

/// `record` as one page.
pub fn html(record: &RunRecord) -> String {
    let verdict = verdict::of(record);
    let charts = crate::figures::of(record);
    let data = data::of(&charts);
    let page = Page {
        title: facts::title(record),
        subtitle: facts::subtitle(record),
        level: crate::steps::name(verdict.level),
        meaning: meaning(verdict.level),
        reasons: verdict::told(record, &verdict),
        ended: notes::ended_words(record).map(|text| escape(&text)),
        conclusion: facts::conclusion(record).map(|text| escape(&text)),
        tiles: facts::tiles(record),
        summaries: tables::summaries(record),
        figures: charts.iter().map(Figure::of).collect(),
        forests: forest::draw(record, Place::Page),
        stack: stack::draw(record, Place::Page),
        findings: findings(record),
        details: tables::details(record),
        warnings: facts::warnings(record),
        environment: facts::environment(record),
        plan: facts::plan(record),
        command: escape(&facts::command(record)),
        terminal: crate::terminal(record, &Style::default()),
        tool: escape(&format!("{} {}", record.tool.name, record.tool.version)),
        policy: policy(),
        style: PAGE_STYLE,
        chart_style: svg::STYLE,
        front_end_style: FRONT_END_STYLE,
        script: FRONT_END,
        data,
    };
    page.render().expect("writing to memory does not fail")
}

/// The charts of `record` alone: each as the name of a file and an SVG that needs nothing else.
pub fn figures(record: &RunRecord) -> Vec<(String, String)> {
    let charts = crate::figures::of(record);
    let mut all: Vec<(String, String)> = charts
        .iter()
        .map(|chart| (format!("{}.svg", chart.id), svg::draw(chart, Place::Alone)))
        .collect();
    all.extend(stack::draw(record, Place::Alone).map(|svg| ("layers.svg".to_owned(), svg)));
    let forests = forest::draw(record, Place::Alone).into_iter();
    all.extend(forests.map(|forest| (format!("{}.svg", forest.id), forest.svg)));
    all
}

/// Whether the front end is part of this program: without it pages have static charts.
pub const HAS_FRONT_END: bool = !FRONT_END.is_empty();

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    title: String,
    subtitle: String,
    level: &'a str,
    meaning: &'a str,
    reasons: Vec<verdict::Told>,
    ended: Option<String>,
    conclusion: Option<String>,
    tiles: Vec<facts::Tile>,
    summaries: Vec<Section>,
    figures: Vec<Figure<'a>>,
    forests: Vec<Forest>,
    stack: Option<String>,
    findings: Vec<Finding>,
    details: Vec<Table>,
    warnings: Vec<facts::Row>,
    environment: Vec<facts::Row>,
    plan: Vec<facts::Row>,
    command: String,
    terminal: String,
    tool: String,
    policy: String,
    style: &'a str,
    chart_style: &'a str,
    front_end_style: &'a str,
    script: &'a str,
    data: String,
}

/// A chart on the page.
struct Figure<'a> {
    chart: &'a Chart,
    svg: String,
    keys: Vec<KeyShown>,
    table: Table,
}

/// A line of a legend, and what the front end switches with it.
struct KeyShown {
    swatch: String,
    name: String,
    subject: String,
    measure: String,
    /// Whether subjects stand before it and measures from it on.
    begins_measures: bool,
}

impl<'a> Figure<'a> {
    fn of(chart: &'a Chart) -> Self {
        let index =
            |index: Option<usize>| index.map_or_else(String::new, |index| index.to_string());
        let key = |key: crate::chart::Key| KeyShown {
            swatch: svg::swatch(&key),
            begins_measures: key.look.is_none() && key.measure == Some(0),
            subject: index(key.subject),
            measure: index(key.measure),
            name: key.name,
        };
        Self {
            chart,
            svg: svg::draw(chart, Place::Page),
            keys: chart.keys().into_iter().map(key).collect(),
            table: chart.table(),
        }
    }
}

fn meaning(level: Level) -> &'static str {
    match level {
        Level::Trusted => "the numbers say what they seem to say",
        Level::Degraded => "the numbers say less than they seem to",
        Level::Invalid => "the numbers are no result",
    }
}

fn findings(record: &RunRecord) -> Vec<Finding> {
    let sweep = record.sweep.as_ref().filter(|sweep| sweep.preset.as_deref() == Some("cubeia"));
    let findings = sweep.and_then(|sweep| published::cubeia(record, sweep)).unwrap_or_default();
    let safe = |finding: Finding| Finding { here: escape(&finding.here), ..finding };
    findings.into_iter().map(safe).collect()
}

/// What the page may do: run and look as it was built, and fetch nothing.
fn policy() -> String {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let styles: Vec<String> = [PAGE_STYLE, svg::STYLE, FRONT_END_STYLE]
        .into_iter()
        .filter(|style| !style.is_empty())
        .map(hash)
        .collect();
    let script = if HAS_FRONT_END { hash(FRONT_END) } else { "'none'".to_owned() };
    format!(
        "default-src 'none'; script-src {script}; style-src {}; base-uri 'none'; form-action 'none'",
        styles.join(" ")
    )
}

/// The look of the page around its charts.
const PAGE_STYLE: &str = include_str!("../../templates/page.css");
/// What makes charts move; empty where it could not be built (see `build.rs`).
const FRONT_END: &str = include_str!(concat!(env!("OUT_DIR"), "/front_end.js"));
/// The look of what moves.
const FRONT_END_STYLE: &str = include_str!(concat!(env!("OUT_DIR"), "/front_end.css"));
