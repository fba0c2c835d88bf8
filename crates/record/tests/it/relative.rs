//! Limits relative to an earlier record.

use crate::good;
use record::{
    Against, Estimate, Finding, Level, Memory, Reason, Required, RequirementCheck, RunRecord,
    Verdict, checks, results,
};
use spec::Experiment;

#[test]
fn a_change_of_the_machine_is_taken_out_and_what_is_left_is_held_against_the_factor() {
    let base = ladder([1.0, 1.0], 0.01);
    let found = |scale, text| {
        let check = checked(ladder(scale, 0.01), Some(&base), text);
        (check.finding, check.relative.unwrap())
    };
    let (finding, relative) = found([1.0, 1.0], "messages/s >= baseline * 0.95");
    assert_eq!((finding, relative.machine), (Finding::Met, Some(1.0)));
    assert!((relative.ratio.value - 1.0).abs() < 1e-9, "{relative:?}");
    assert!(relative.ratio.low < Some(1.0) && Some(1.0) < relative.ratio.high, "{relative:?}");
    // The row became slower, and its baseline did not.
    let (finding, relative) = found([1.0, 0.5], "messages/s >= baseline * 0.95");
    assert_eq!((finding, relative.machine), (Finding::NotMet, Some(1.0)));
    assert!((relative.ratio.value - 0.5).abs() < 1e-9, "{relative:?}");
    // Both became slower by half: that is the machine, and its effect on the row adds uncertainty.
    let (finding, relative) = found([0.5, 0.5], "messages/s >= baseline * 0.95");
    assert_eq!(finding, Finding::Noisy);
    assert!((relative.ratio.value - 1.0).abs() < 1e-9, "{relative:?}");
    assert!((relative.machine.unwrap() - 0.5).abs() < 1e-9, "{relative:?}");
    assert_eq!(found([0.5, 0.5], "messages/s >= baseline * 0.7").0, Finding::Met);

    // Without a baseline the machine's change is part of the ratio, which then decides only what no machine moves.
    let alone = |scale| {
        let mut record = ladder([1.0, scale], 0.01);
        record.plan.workloads.remove(0);
        record.plan.baseline = None;
        record.blocks.retain(|block| block.workload == 1);
        record.blocks.iter_mut().for_each(|block| block.workload = 0);
        record
    };
    let base = alone(1.0);
    for (text, finding) in [
        ("messages/s >= baseline * 0.95", Finding::Noisy),
        ("messages/s >= baseline * 0.1", Finding::Noisy),
        ("bytes/message <= baseline * 1.05", Finding::Met),
        ("bytes/message <= baseline * 0.95", Finding::NotMet),
    ] {
        let check = checked(alone(0.5), Some(&base), text);
        assert_eq!((check.finding, check.relative.unwrap().machine), (finding, None), "{text}");
    }
}

#[test]
fn noise_larger_than_the_margin_fails_only_where_it_is_asked_to() {
    let base = ladder([1.0, 1.0], 0.3);
    let check = checked(ladder([1.0, 1.0], 0.3), Some(&base), "messages/s >= baseline * 0.95");
    assert_eq!(check.finding, Finding::Noisy);
    assert!(check.is_close());
    assert_eq!(
        [false, true].map(|strict| check.required(strict)),
        [Required::Met, Required::NotMet]
    );
    let mut record = RunRecord { requirements: vec![check], ..base };
    assert_eq!(record.required(), Required::Met);
    record.spec = Some(Experiment { strict: true, ..Experiment::default() });
    assert_eq!(record.required(), Required::NotMet);
}

#[test]
fn a_ratio_that_is_not_known_or_no_result_does_not_pass() {
    let base = ladder([1.0, 1.0], 0.01);
    let text = "messages/s >= baseline * 0.5";
    let answer = |record: &RunRecord, base: Option<&RunRecord>| {
        let check = checked(record.clone(), base, text);
        assert_eq!(check.relative.is_some(), check.reason.is_none(), "{check:?}");
        (check.finding, check.reason.unwrap_or_default())
    };
    let unknown = |reason: &str| (Finding::Unknown, reason.to_owned());
    assert_eq!(answer(&base, Some(&base)), (Finding::Met, String::new()));
    assert_eq!(answer(&base, None), unknown("the record of the baseline is not there"));
    let mut other = base.clone();
    other.plan.workloads[1].spec.name = "another".to_owned();
    assert_eq!(answer(&base, Some(&other)), unknown("the baseline has no row of this name"));
    let mut few = base.clone();
    few.blocks.retain(|block| block.round < 5);
    let reason = "rounds: 10, in the baseline 5; each needs 6 (--rounds 6)";
    assert_eq!(answer(&base, Some(&few)), unknown(reason));

    let mut invalid = base.clone();
    let doubt = Reason { level: Level::Invalid, message: "why".to_owned(), ..Reason::default() };
    invalid.verdict = Some(Verdict { reasons: vec![doubt.clone()], ..Verdict::default() });
    let no_result = (Finding::Invalid, "of the baseline: why".to_owned());
    assert_eq!(answer(&base, Some(&invalid)), no_result);

    // A difference forbids the ratio of the rows that it is about, unless it is allowed.
    let mut record = base.clone();
    for (workload, allowed, finding) in [
        (None, false, Finding::Invalid),
        (Some(1), false, Finding::Invalid),
        (Some(0), false, Finding::Met),
        (None, true, Finding::Met),
    ] {
        let difference = Reason { workload, ..doubt.clone() };
        let against = against(vec![difference]);
        record.against = Some(Against { allows_different: allowed, ..against });
        assert_eq!(answer(&record, Some(&base)).0, finding, "{workload:?} {allowed}");
    }
}

#[test]
fn requirements_together_are_as_good_as_the_one_that_says_most() {
    let base = ladder([1.0, 1.0], 0.01);
    let check = |text| checked(ladder([1.0, 0.5], 0.01), Some(&base), text);
    let [met, regressed, broken, unknown] = [
        "messages/s > 1/s",
        "messages/s >= baseline * 0.95",
        "messages/s < 1/s",
        "error_rate < 0.0001%",
    ]
    .map(check);
    let mut record = base.clone();
    for (checks, expected) in [
        (vec![], Required::Met),
        (vec![&met], Required::Met),
        (vec![&regressed, &met], Required::Regressed),
        (vec![&regressed, &broken], Required::NotMet),
        (vec![&unknown, &met], Required::NotMet),
    ] {
        record.requirements = checks.into_iter().cloned().collect();
        assert_eq!(record.required(), expected, "{:?}", record.requirements);
    }
    let invalid = RequirementCheck { finding: Finding::Invalid, ..met };
    record.requirements = vec![broken, invalid, regressed];
    assert_eq!(record.required(), Required::Invalid);
}

#[test]
fn memory_and_cpu_of_the_server_are_by_connections_and_by_the_cpus_it_may_use() {
    let mut record = ladder([1.0, 1.0], 0.01);
    for block in &mut record.blocks {
        block.cpu.server_cores_used = Some(0.5);
        block.memory = Some(Memory {
            server_rss_bytes: Some(900_000),
            server_pss_bytes: Some(500_000),
            ..Memory::default()
        });
    }
    let number = |record: &RunRecord, text| {
        let check = checked(record.clone(), None, text);
        check.number.map(|number| number.value).ok_or_else(|| check.reason.unwrap_or_default())
    };
    // On 50 connections.
    assert_eq!(number(&record, "memory/connection < 1GiB"), Ok(10_000.0));
    // It was watched on its own machine, where it may use four CPUs.
    assert_eq!(number(&record, "server_cpu < 70%"), Ok(0.125));
    record.blocks.iter_mut().for_each(|block| block.server_machine = None);
    record.plan.workloads[1].pinning.server_cpus = vec![1];
    assert_eq!(number(&record, "server_cpu < 70%"), Ok(0.5));
    record.plan.workloads[1].pinning.server_cpus = Vec::new();
    record.environment.cpus_allowed = vec![0, 1, 2, 3];
    assert_eq!(number(&record, "server_cpu < 70%"), Ok(0.125));
    for block in &mut record.blocks {
        (block.cpu.server_cores_used, block.memory) = (None, None);
        let reason = "the server is not ours to look into".to_owned();
        block.cpu.missing = ["server_cores_used", "server_us_per_message"]
            .map(|field| (field.to_owned(), reason.clone()))
            .into();
    }
    for text in ["memory/connection < 1GiB", "server_cpu < 70%"] {
        assert_eq!(number(&record, text), Err("the server is not ours to look into".to_owned()));
    }
}

/// The one check of the row that is compared with bare TCP.
fn checked(mut record: RunRecord, base: Option<&RunRecord>, require: &str) -> RequirementCheck {
    record.results = results(&record.plan, &record.blocks);
    record.spec = Some(Experiment {
        require: vec![require.parse().expect("a requirement")],
        ..Experiment::default()
    });
    checks(&record, base).remove(0)
}

/// Ten rounds of two rows; their replies per second are `scale` times the usual and vary by `noise` between rounds.
fn ladder(scale: [f64; 2], noise: f64) -> RunRecord {
    let mut record = good::ladder();
    record.verdict = Some(Verdict::default());
    for block in &mut record.blocks {
        // Without a drift from the first half of the rounds to the second.
        let sign = [1.0, -1.0, -1.0, 1.0][(block.round + block.workload) % 4];
        block.messages_per_s *= scale[block.workload] * (1.0 + sign * noise);
    }
    record
}

fn against(differences: Vec<Reason>) -> Against {
    Against {
        file: "base.json".to_owned(),
        started_at: "2026-11-21T12:00:00Z".to_owned(),
        tool_version: "0.1.0".to_owned(),
        differences,
        allows_different: false,
    }
}

#[test]
fn a_record_of_before_says_itself_how_strictly_it_is_held_against_its_baseline() {
    let base = ladder([1.0, 1.0], 0.3);
    let check = checked(ladder([1.0, 1.0], 0.3), Some(&base), "messages/s >= baseline * 0.95");
    let against = Some(against(Vec::new()));
    let spec = Some(Experiment::default());
    let record = RunRecord { requirements: vec![check], against, spec, ..base };
    let mut json: serde_json::Value = serde_json::from_str(&record.to_json()).unwrap();
    json["against"]["is_strict"] = true.into();
    let read = RunRecord::from_json(&json.to_string()).unwrap();
    assert_eq!([&record, &read].map(RunRecord::required), [Required::Met, Required::NotMet]);
}

#[test]
fn a_number_within_noise_of_its_own_limit_passes_unless_noise_passes_nothing() {
    let requirement = "messages/s >= 100/s".parse().unwrap();
    let check = |value: f64, finding| {
        let number = Estimate { value, low: Some(value - 10.0), high: Some(value + 10.0) };
        let all = [false, true];
        let check = RequirementCheck {
            requirement,
            workload: 0,
            number: Some(number),
            relative: None,
            finding,
            reason: None,
        };
        all.map(|is_strict| check.required(is_strict))
    };
    assert_eq!(check(105.0, Finding::Met), [Required::Met, Required::NotMet]);
    assert_eq!(check(115.0, Finding::Met), [Required::Met, Required::Met]);
    assert_eq!(check(95.0, Finding::NotMet), [Required::NotMet, Required::NotMet]);
}
