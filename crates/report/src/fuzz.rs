//! Properties that hold for any input: fuzz targets (`cargo xtask fuzz`), whose corpora the tests replay.

use crate::{
    Depth, Style, annotations, compare, csv, escape, figures, google_benchmark, hgrm, hlog, html,
    json, junit, k6, markdown, step_summary, terminal,
};
use record::RunRecord;

/// A corpus in `fuzz/corpus`, and the check of each of its inputs.
pub type Target = (&'static str, fn(&[u8]));

/// The targets of this crate.
pub const TARGETS: &[Target] = &[("record_shown", record_shown)];

/// A record of any version: each output format can be written, and none has a character that controls a terminal.
fn record_shown(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let Ok(record) = RunRecord::from_json(text) else { return };
    let style = Style { lines: Some(18), ..Style::default() };
    for depth in [Depth::First, Depth::Details] {
        let page = terminal(&record, depth, &style);
        assert!(page.lines().all(|line| escape(line) == line), "{page}");
        assert!(!compare(&record, &record, depth, &style).is_empty());
    }
    assert!(annotations(&record).iter().all(|line| escape(line) == *line));
    let of_gate = [junit(&record), step_summary(&record)];
    for written in
        [html(&record), csv(&record), markdown(&record), json(&record)].iter().chain(&of_gate)
    {
        assert!(!written.contains('\u{1b}'), "{written}");
    }
    drop((
        figures(&record),
        google_benchmark(&record),
        hgrm(&record, None),
        hlog(&record),
        k6(&record),
    ));
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;
