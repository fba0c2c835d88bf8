//! Gates in CI: JUnit XML, the summary of a step, annotations.

use crate::hostile::saying;
use crate::records;
use crate::requirements::{relative, with_checks};
use record::{Ended, RequirementCheck, RunRecord};
use report::{annotations, junit, junit_of_failure, step_summary, step_summary_of_failure};
use roxmltree::Document;

#[test]
fn every_check_is_a_test_case_with_its_outcome() {
    let record = RunRecord { ended: Ended::Completed, ..with_checks() };
    let text = junit(&record);
    let xml = Document::parse(&text).unwrap();
    let suite = xml.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
    let counts = ["tests", "failures", "errors"].map(|name| suite.attribute(name));
    assert_eq!(counts, [Some("7"), Some("3"), Some("1")], "{text}");
    let cases = suite.children().filter(|node| node.has_tag_name("testcase"));
    let cases: Vec<_> = cases
        .map(|case| {
            let outcome = case.first_element_child().unwrap();
            let kind = outcome.attribute("type").unwrap_or_default();
            (case.attribute("name").unwrap(), outcome.tag_name().name(), kind)
        })
        .collect();
    let expected = [
        ("verdict", "system-out", ""),
        ("complete", "system-out", ""),
        ("p99 < 20ms", "system-out", ""),
        ("p50 <= 12ms", "failure", "not_met"),
        ("error_rate < 0.1%", "failure", "not_met"),
        ("p99.9 < 1s", "failure", "unknown"),
        ("cpu/message < 5us", "error", "invalid"),
    ];
    assert_eq!(cases, expected);

    let kinds = |record: &RunRecord| {
        let text = junit(record);
        let xml = Document::parse(&text).unwrap();
        let kinds = xml.descendants().filter_map(|node| node.attribute("type").map(str::to_owned));
        kinds.collect::<Vec<_>>()
    };
    let ended = Ended::Partial { reason: "2 blocks failed".to_owned() };
    let record = |is_strict| RunRecord { ended: ended.clone(), ..relative(is_strict) };
    assert_eq!(kinds(&record(false)), ["partial", "regression"]);
    assert_eq!(kinds(&record(true)), ["partial", "noise", "regression"]);

    let text = junit_of_failure("a.toml", "cannot reach <b>");
    let xml = Document::parse(&text).unwrap();
    let error = xml.descendants().find(|node| node.has_tag_name("error")).unwrap();
    assert_eq!(error.attribute("message"), Some("cannot reach <b>"));
}

#[test]
fn the_summary_begins_with_what_failed_and_has_a_bar_for_each_number() {
    let record = RunRecord { ended: Ended::Completed, ..with_checks() };
    let expected = "\
## ✗ wirebench: 4 of 7 checks failed

| | row | check | found | by limit |
| --- | --- | --- | --- | --- |
| ✗ | ws | p50 &lt;= 12ms | 12.1 ms \\[11.8, 12.5\\]; the interval contains the limit | ▇▇▇▇ |
| ✗ | ws | error\\_rate &lt; 0.1% | 0.2 % | ▇▇▇▇▇▇▇▸ |
| ✗ | ws | p99.9 &lt; 1s | unknown: 500 samples, at least 10000 are needed |  |
| x | ws | cpu/message &lt; 5us | 6.00 us, invalid: the generator was the bottleneck | ▇▇▇▇▊ |
";
    let text = step_summary(&record);
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("| ✓ | ws | p99 &lt; 20ms | 12.1 ms \\[11.8, 12.5\\] | ▇▇▍ |"), "{text}");
    // The page follows, and does not repeat the checks.
    assert_eq!(text.matches("p99 &lt; 20ms").count(), 1, "{text}");
    assert!(text.contains("Verdict: **"), "{text}");
    let text = step_summary(&relative(false));
    assert!(text.contains("**baseline:** main.json"), "{text}");
    assert!(text.contains("| ~ |"), "{text}");
    assert_eq!(
        step_summary_of_failure("cannot reach <b>"),
        "## ✗ wirebench: nothing was measured\n\ncannot reach &lt;b&gt;\n"
    );

    let check = record.requirements[0].clone();
    let many = RunRecord { requirements: vec![check; 2_000], ..record };
    let text = step_summary(&many);
    assert!((50_000..=60_000).contains(&text.len()), "{}", text.len());
    assert!(text.ends_with(" more lines are in the record.\n"), "{text}");
}

#[test]
fn annotations_are_errors_and_doubts_are_warnings() {
    let lines = annotations(&RunRecord { ended: Ended::Completed, ..relative(false) });
    let is_error = |line: &&String| line.starts_with("::error title=");
    assert_eq!(lines.iter().filter(is_error).count(), 1, "{lines:?}");
    assert!(lines[0].contains("p99 <= baseline * 0.90::1.02x [0.99, 1.05]"), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("::warning title=")), "{lines:?}");
}

#[test]
fn nothing_that_a_peer_said_is_markup_or_a_command() {
    let attack = "</failure>]]><x>&x;\u{0}\u{fffe}\u{1b}[31m\r\n::error::x\n<b>|![a](b) ##[error]x";
    for record in [with_checks(), records::ladder(&["tcp", "ws"])] {
        let mut record = saying(&record, attack);
        record.requirements.iter_mut().for_each(|check: &mut RequirementCheck| {
            check.reason = check.reason.as_ref().map(|_| attack.to_owned());
        });
        record.ended = Ended::Partial { reason: attack.to_owned() };
        let text = junit(&record);
        let xml = Document::parse(&text).unwrap();
        let known = ["testsuites", "testsuite", "testcase", "failure", "error", "system-out"];
        for node in xml.descendants().filter(roxmltree::Node::is_element) {
            assert!(known.contains(&node.tag_name().name()), "{text}");
        }
        let summary = step_summary(&record);
        for markup in ["<b>", "<x>", "![a](b)", "\u{1b}", "\n::error"] {
            assert!(!summary.contains(markup), "{markup:?}: {summary}");
        }
        for line in annotations(&record) {
            assert!(line.starts_with("::error title=") || line.starts_with("::warning title="));
            assert!(!line.contains(['\n', '\r', '\u{1b}']), "{line:?}");
            // The title contains nothing that would end it.
            let title = line.split_once("title=").unwrap().1.split_once("::").unwrap().0;
            assert!(!title.contains([':', ',']), "{line}");
        }
    }
}
