//! Records that were written before experiments were embedded are shown, exported and compared like newer ones.

use record::RunRecord;
use report::{Depth, Style};
use std::path::Path;

#[test]
fn every_kind_of_old_record_is_shown_exported_and_compared() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../record/tests/it/old");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let record = RunRecord::from_json(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let name = &record.plan.workloads[0].spec.name;
        let style = Style::default();
        let pages = [
            report::terminal(&record, Depth::First, &style),
            report::terminal(&record, Depth::Details, &style),
            report::markdown(&record),
            report::csv(&record),
            report::html(&record),
            report::compare(&record, &record, Depth::Details, &style),
        ];
        for page in pages {
            assert!(page.len() > 40, "{}: {name}: {page}", path.display());
        }
        count += 1;
    }
    assert_eq!(count, 11);
}
