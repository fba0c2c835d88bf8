//! Two servers that took turns: the answer, the table, and the line about the regression that is allowed.

use crate::records;
use expect_test::expect;
use record::{
    Change, Difference, Kind, Level, Number, Regression, RowVerdict, RunRecord, Sides, Verdict,
};
use report::{Depth, Style, terminal};
use spec::Metric;

#[test]
fn the_answer_says_by_which_numbers_the_second_is_slower_or_what_would_have_been_shown() {
    let table = [
        (
            vec![(Metric::P50, 1.041, Change::Worse), (Metric::CpuPerMessage, 1.06, Change::Worse)],
            "HEAD is slower: p50 1.041x [1.021, 1.061]; CPU/message 1.060x [1.040, 1.080].",
        ),
        (
            vec![(Metric::P50, 0.9, Change::Better), (Metric::P99, 1.0, Change::NotShown)],
            "HEAD is faster: p50 0.900x [0.880, 0.920].",
        ),
        (
            vec![
                (Metric::P50, 1.0, Change::NotShown),
                (Metric::CpuPerMessage, 1.06, Change::Worse),
            ],
            "HEAD costs more: CPU/message 1.060x [1.040, 1.080]; one of 2.1 % in p50 would have been.",
        ),
        (
            vec![(Metric::P50, 0.9, Change::Better), (Metric::P99, 1.2, Change::Worse)],
            "HEAD is slower by some numbers and faster by others: p50 0.900x [0.880, 0.920]; p99 1.200x [1.180, 1.220].",
        ),
        (
            vec![(Metric::P50, 1.0, Change::NotShown), (Metric::P99, 1.0, Change::NotShown)],
            "No difference is shown: one of 2.1 % in p50 or 2.1 % in p99 would have been.",
        ),
        (
            vec![(Metric::P50, 1.0, Change::Unknown)],
            "No difference is shown: there are no intervals, which take 6 rounds.",
        ),
    ];
    for (differences, expected) in table {
        assert_eq!(report::conclusion(&record(&differences)).as_deref(), Some(expected));
    }
    let mut same = record(&[(Metric::P50, 1.0, Change::NotShown)]);
    same.sides.as_mut().unwrap().is_same = true;
    assert_eq!(
        report::conclusion(&same).unwrap(),
        "The same server on both sides, and no difference is claimed, as it should be: one of 2.1 % in p50 would have \
         been."
    );
    same.sides.as_mut().unwrap().differences[0].change = Change::Worse;
    let alarm = report::conclusion(&same).unwrap();
    assert!(
        alarm.starts_with("A false alarm: p50 1.000x [0.980, 1.020] would have been"),
        "{alarm}"
    );
    same.verdict = Some(Verdict { level: Level::Degraded, ..Verdict::default() });
    assert!(report::conclusion(&same).unwrap().ends_with("; in doubt, see the verdict."));
    same.verdict = Some(Verdict { level: Level::Invalid, ..Verdict::default() });
    assert_eq!(report::conclusion(&same), None);
}

#[test]
fn the_page_has_a_line_for_what_is_allowed_the_answer_and_a_row_for_each_number() {
    let mut record = record(&[
        (Metric::P50, 1.041, Change::Worse),
        (Metric::CpuPerMessage, 1.0, Change::NotShown),
    ]);
    let sides = record.sides.as_mut().unwrap();
    sides.regression_max = Some("3%".parse().unwrap());
    sides.differences[0].regression = Some(Regression::Found);
    sides.differences[1].regression = Some(Regression::NotFound);
    let page = terminal(&record, Depth::First, &Style::default());
    expect![[r#"
        ✗ at most 3% worse: p50 1.041x [1.021, 1.061]

        HEAD is slower: p50 1.041x [1.021, 1.061].

        round trip    base    head    head to base [95 %]   claim
        p50           254 us  270 us  1.041x [1.021, 1.061] slower
        p99           412 us  437 us  -                     -
        messages/s    191 k/s 180 k/s -                     -
        CPU/message   5.00 us 5.30 us 1.000x [0.980, 1.020] none, from 2.1 % on
        bytes/message 128 B   136 B   -                     -
        64 B binary, 50 connections, one message in flight; 2 blocks of 500 ms each, in
        turns

        trusted
    "#]]
    .assert_eq(&page);
    let line = |change: &dyn Fn(&mut RunRecord)| {
        let mut changed = record.clone();
        change(&mut changed);
        let page = terminal(&changed, Depth::First, &Style::default());
        page.lines().next().unwrap_or_default().to_owned()
    };
    let regression = |at: usize, regression: Regression| {
        move |it: &mut RunRecord| {
            it.sides.as_mut().unwrap().differences[at].regression = Some(regression);
        }
    };
    assert_eq!(line(&regression(0, Regression::NotFound)), "✓ at most 3% worse: beyond noise");
    assert_eq!(
        line(&regression(0, Regression::TooNoisy)),
        "~ at most 3% worse: not shown, and more rounds may answer otherwise: p50 1.041x"
    );
    let invalid = |it: &mut RunRecord| {
        it.verdict = Some(Verdict { level: Level::Invalid, ..Verdict::default() });
    };
    assert_eq!(line(&invalid), "x at most 3% worse: invalid: see the verdict");

    // Rounds that differ by factors could not have shown anything.
    for it in &mut record.sides.as_mut().unwrap().differences {
        (it.change, it.smallest_detectable_fraction) = (Change::NotShown, Some(1.5e6));
    }
    let page = terminal(&record, Depth::First, &Style::default());
    assert!(page.contains("1.000x [0.980, 1.020] none: too noisy\n"), "{page}");
    assert!(
        page.contains("No difference is shown: the rounds differ too much to tell one."),
        "{page}"
    );
}

#[test]
fn a_number_that_is_no_result_has_no_ratio_and_no_claim() {
    let mut record =
        record(&[(Metric::P50, 1.041, Change::Worse), (Metric::P99, 1.3, Change::Unknown)]);
    let sides = record.sides.as_mut().unwrap();
    sides.regression_max = Some("10%".parse().unwrap());
    sides.differences[0].regression = Some(Regression::NotFound);
    sides.differences[1].regression = Some(Regression::Unknown);
    let row = |numbers: &[(Number, Level)]| RowVerdict {
        level: Level::Trusted,
        numbers: numbers.iter().copied().collect(),
    };
    let rows = vec![row(&[]), row(&[(Number::P99, Level::Invalid)])];
    record.verdict = Some(Verdict { rows, level: Level::Degraded, ..Verdict::default() });
    let page = terminal(&record, Depth::First, &Style::default());
    expect![[r#"
        ~ at most 10% worse: not shown, and more rounds may answer otherwise: p99 is not
          a valid result

        HEAD is slower: p50 1.041x [1.021, 1.061]; in doubt, see the verdict.

        round trip    base    head    head to base [95 %]   claim
        p50           254 us  270 us  1.041x [1.021, 1.061] slower
        p99           412 us  437 us  x invalid             -"#]]
    .assert_eq(page.split("\nmessages/s").next().unwrap());
}

fn record(all: &[(Metric, f64, Change)]) -> RunRecord {
    let of = |(metric, ratio, change): &(Metric, f64, Change)| Difference {
        smallest_detectable_fraction: (*change != Change::Unknown).then_some(0.021),
        ..difference(*metric, *ratio, [ratio - 0.02, ratio + 0.02], *change, 0.021)
    };
    with(&all.iter().map(of).collect::<Vec<Difference>>())
}

/// A ratio with its interval, and the smallest difference that would have been shown.
pub(crate) fn difference(
    metric: Metric,
    ratio: f64,
    [low, high]: [f64; 2],
    change: Change,
    smallest: f64,
) -> Difference {
    Difference {
        metric,
        ratio,
        low: Some(low),
        high: Some(high),
        change,
        smallest_detectable_fraction: Some(smallest),
        regression: None,
    }
}

/// Two sides with these differences.
pub(crate) fn with(all: &[Difference]) -> RunRecord {
    let mut record = records::ladder(&["tcp", "ws"]);
    record.plan.workloads[0].spec.name = "base".to_owned();
    record.plan.workloads[1].spec.name = "head".to_owned();
    let sides = Sides {
        base: 0,
        head: 1,
        is_same: false,
        confidence: 0.99,
        differences: all.to_vec(),
        regression_max: None,
    };
    let verdict = Some(Verdict::default());
    RunRecord { kind: Kind::Ab, sides: Some(sides), verdict, conclusion: None, ..record }
}
