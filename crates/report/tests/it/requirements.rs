//! The block of check marks, which comes first.

use crate::records;
use record::{Against, Estimate, Finding, Level, Reason, Relative, RequirementCheck, RunRecord};
use report::{Depth, Style, html, markdown, terminal};

#[test]
fn what_became_of_limits_is_the_first_thing_of_every_page() {
    let record = with_checks();
    let page = terminal(&record, Depth::First, &Style::default());
    let expected = "\
✓ p99 < 20ms: 12.1 ms [11.8, 12.5]
✗ p50 <= 12ms: 12.1 ms [11.8, 12.5]; the interval contains the limit
✗ error_rate < 0.1%: 0.2 %
? p99.9 < 1s: unknown: 500 samples, at least 10000 are needed
x cpu/message < 5us: 6.00 us, invalid: the generator was the bottleneck

";
    assert!(page.starts_with(expected), "{page}");
    let markdown = markdown(&record);
    assert!(
        markdown.starts_with("- **✓** p99 &lt; 20ms: 12.1 ms \\[11.8, 12.5\\]\n"),
        "{markdown}"
    );
    let html = html(&record);
    let [marks, verdict] = [">✗</strong> p50 &#60;= 12ms: 12.1 ms", "aria-label=\"Verdict\""]
        .map(|part| html.find(part).unwrap_or_else(|| panic!("no {part:?} in {html}")));
    assert!(marks < verdict);
}

#[test]
fn a_line_names_its_row_where_there_are_several() {
    let mut record = records::ladder(&["tcp", "ws"]);
    let check = with_checks().requirements.remove(0);
    record.requirements = vec![RequirementCheck { workload: 1, ..check }];
    let page = terminal(&record, Depth::First, &Style::default());
    assert!(page.starts_with("✓ ws p99 < 20ms: 12.1 ms"), "{page}");
}

#[test]
fn a_relative_limit_has_the_ratio_and_the_page_names_the_baseline_and_what_differs() {
    let mut record = relative(false);
    let page = |record: &RunRecord| terminal(record, Depth::First, &Style::default());
    let expected = "\
✓ p99 <= baseline * 1.10: 1.02x [0.99, 1.05] (12.1 ms, baseline 11.9 ms)
~ p99 <= baseline: 1.02x [0.99, 1.05] (12.1 ms, baseline 11.9 ms); noise is
  larger than the margin: more rounds
✗ p99 <= baseline * 0.90: 1.02x [0.99, 1.05] (12.1 ms, baseline 11.9 ms)
baseline: main.json of 2026-11-01T00:00:00Z, wirebench 0.1.0
different: the two differ in: kernel: 6.1 against 6.5

";
    assert!(page(&record).starts_with(expected), "{}", page(&record));
    assert!(page(&relative(true)).contains("--strict lets no noise pass"), "{}", page(&record));
    for check in &mut record.requirements {
        check.finding = Finding::Noisy;
        check.relative.as_mut().unwrap().machine = None;
    }
    let page = page(&record);
    for words in ["baseline 11.9 ms); inconclusive", "wirebench 0.1.0; the ratio contains\n"] {
        assert!(page.contains(words), "{words}: {page}");
    }
}

pub(crate) fn relative(is_strict: bool) -> RunRecord {
    let mut record = with_checks();
    let first = RequirementCheck {
        number: Some(Estimate { value: 12.1e6, low: Some(11.8e6), high: Some(12.5e6) }),
        relative: Some(Relative {
            baseline: 11.9e6,
            ratio: Estimate { value: 1.02, low: Some(0.99), high: Some(1.05) },
            machine: Some(1.01),
        }),
        ..record.requirements.remove(0)
    };
    let table = [
        ("p99 <= baseline * 1.10", Finding::Met),
        ("p99 <= baseline", Finding::Noisy),
        ("p99 <= baseline * 0.90", Finding::NotMet),
    ];
    let check = |(text, finding): (&str, _)| {
        let requirement = text.parse().expect("a requirement");
        RequirementCheck { requirement, finding, ..first.clone() }
    };
    record.requirements = table.map(check).into();
    record.against = Some(Against {
        file: "main.json".to_owned(),
        started_at: "2026-11-01T00:00:00Z".to_owned(),
        tool_version: "0.1.0".to_owned(),
        differences: vec![Reason {
            level: Level::Invalid,
            message: "the two differ in: kernel".to_owned(),
            evidence: "6.1 against 6.5".to_owned(),
            ..Reason::default()
        }],
        allows_different: true,
    });
    record.spec.get_or_insert_default().strict = is_strict;
    record
}

pub(crate) fn with_checks() -> RunRecord {
    let alone = |value| Some(Estimate { value, low: None, high: None });
    let time = Some(Estimate { value: 12.1e6, low: Some(11.8e6), high: Some(12.5e6) });
    let too_few = Some("500 samples, at least 10000 are needed");
    let bound = Some("the generator was the bottleneck");
    let table = [
        ("p99 < 20ms", time, Finding::Met, None),
        ("p50 <= 12ms", time, Finding::NotMet, None),
        ("error_rate < 0.1%", alone(0.002), Finding::NotMet, None),
        ("p99.9 < 1s", None, Finding::Unknown, too_few),
        ("cpu/message < 5us", alone(6.0), Finding::Invalid, bound),
    ];
    let check = |(requirement, number, finding, reason): (&str, _, _, Option<&str>)| {
        let requirement = requirement.parse().expect("a requirement");
        RequirementCheck {
            requirement,
            workload: 0,
            number,
            relative: None,
            finding,
            reason: reason.map(str::to_owned),
        }
    };
    RunRecord { requirements: table.map(check).into(), ..records::run() }
}
