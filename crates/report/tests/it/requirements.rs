//! The block of check marks, which stands first.

use crate::records;
use record::{Estimate, Finding, RequirementCheck, RunRecord};
use report::{Depth, Style, html, markdown, terminal};

#[test]
fn what_became_of_limits_is_the_first_thing_of_every_page() {
    let record = with_checks();
    let page = terminal(&record, Depth::First, &Style::default());
    let expected = "\
✓ p99 < 20ms: 12.1 ms [11.8, 12.5]
✗ p50 <= 12ms: 12.1 ms [11.8, 12.5]; the interval has the limit in it
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

fn with_checks() -> RunRecord {
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
            finding,
            reason: reason.map(str::to_owned),
        }
    };
    RunRecord { requirements: table.map(check).into(), ..records::run() }
}
