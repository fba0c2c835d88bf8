//! Decisions: rounds of one target, goals of precision, thresholds, two sides.

use crate::harness::{Ended, Running, Sandbox, Server, is_invalid, record_of};
use record::Finding;

#[test]
fn rounds_of_one_url_give_every_headline_its_interval_and_two_runs_are_compared_by_their_blocks() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "tcp");
    let line = |file: &str| {
        format!("{} -c 2 -d 60ms --warm-up 20ms --repeat 6 --seed 7 -o {file}", server.url)
    };
    let ended = sandbox.run(&line("a.json"));
    ended.check_measured(&["repeat: wirebench run "]);
    assert!(ended.stdout.contains("measured in 6 blocks"), "{}", ended.stdout);
    sandbox.run(&line("b.json")).check_measured(&[]);
    let text = std::fs::read_to_string(sandbox.path().join("a.json")).unwrap();
    let record = record_of(&text);
    assert_eq!((record.blocks.len(), &record.plan.rounds), (6, &vec![vec![0]; 6]));
    assert_eq!(record.spec.as_ref().map(|spec| spec.rounds), Some(6));
    let pooled = &record.results[0].pooled;
    for estimate in
        [pooled.messages_per_s, pooled.round_trip_p50_ns, pooled.generator_cpu_us_per_message]
    {
        let estimate = estimate.unwrap();
        let (low, high) = estimate.low.zip(estimate.high).unwrap();
        assert!(low <= estimate.value && estimate.value <= high, "{estimate:?}");
    }
    let compared = sandbox.run("compare a.json b.json");
    compared.check_measured(&[]);
    assert!(compared.stdout.contains("x [") || compared.code == Some(12), "{}", compared.stdout);

    let refused = sandbox.run(&format!("sweep {} --rounds 3", server.url));
    refused.check(2, &["--rounds: does not apply to a sweep; set the number"]);
}

#[test]
fn a_goal_ends_the_run_at_a_round_that_is_looked_at_or_is_told_not_to_be_reached() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "oracle tcp --delay fixed:5ms");
    // The known delay of 5 ms does not double. A p50 needs 20 replies, which even a block with only 10 ms left has.
    let line = format!("{} -c 10 -d 60ms --warm-up 20ms", server.url);
    let ended = with(&sandbox, &format!("{line} --json"), &["--until", "p50 within 100%"]);
    ended.check_measured(&[]);
    let record = record_of(&ended.stdout);
    assert_eq!((record.blocks.len(), record.plan.rounds.len()), (10, 10));
    let [goal] = &record.precision[..] else { panic!("{:?}", record.precision) };
    assert!(goal.is_reached && goal.rounds == 10 && goal.half_width_fraction.is_some(), "{goal:?}");
    assert_eq!(goal.goal.to_string(), "p50 within 100%");

    // No number is known to within a millionth; the budget has room for 12 rounds.
    let ended =
        with(&sandbox, &format!("{line} --json --budget 1s"), &["--until", "p50 within 0.0001%"]);
    let record = record_of(&ended.stdout);
    let [goal] = &record.precision[..] else { panic!("{:?}", record.precision) };
    assert!((10..=12).contains(&goal.rounds) && !goal.is_reached, "{goal:?}");
    // The resolution of the histogram alone leaves a thousandth.
    assert!(goal.half_width_fraction >= Some(1e-3) && goal.rounds_needed > Some(1_000_000));
    let record::Ended::Partial { reason } = &record.ended else { panic!("{:?}", record.ended) };
    assert!(reason.contains("not within 0.0001%: about "), "{reason}");
    assert!(ended.code == Some(13) || ended.code == Some(12), "{ended:?}");

    let refused = with(&sandbox, &format!("{line} --budget 500ms"), &["--until", "p50 within 3%"]);
    refused.check(2, &["--budget: 500 ms is too short: 10 rounds", "take 800 ms"]);
    sandbox.run(&format!("{line} --budget 1s")).check(2, &["--budget: 1 s: belongs to `until`"]);
    let dry = format!("{line} --budget 1s --dry-run");
    with(&sandbox, &dry, &["--until", "p50 within 3%"]).check(0, &["would take at most "]);
    let refused = with(&sandbox, &line, &["--until", "p98 within 3%"]);
    refused.check(2, &["`p98` is not a number that has an interval; did you mean `p9"]);
    std::fs::write(sandbox.path().join("x.json"), "{}").unwrap();
    sandbox.run("run x.json --budget 1s").check(2, &["x.json: --budget: an experiment in JSON"]);
}

#[test]
fn a_required_limit_decides_the_exit_code_and_stands_first_on_the_page() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "oracle ws --delay fixed:5ms");
    // A p50 needs 20 replies, which remain even if the machine stalls for most of the block.
    let line = format!("{} -c 10 -d 300ms --warm-up 20ms", server.url);
    // A busy machine may make the verdict invalid: then nothing passes.
    let check = |require: &[&str], code: i32, findings: &[Finding]| {
        let options: Vec<&str> = require.iter().flat_map(|one| ["--require", one]).collect();
        let ended = with(&sandbox, &format!("{line} --json"), &options);
        let record = record_of(&ended.stdout);
        let found: Vec<Finding> = record.requirements.iter().map(|it| it.finding).collect();
        if is_invalid(&record) {
            return assert_eq!(ended.code, Some(12), "{ended:?}");
        }
        assert_eq!((ended.code, &found[..]), (Some(code), findings), "{ended:?}");
    };
    check(&["p50 < 50ms"], 0, &[Finding::Met]);
    check(&["p50 < 1ms"], 10, &[Finding::NotMet]);
    check(&["p50 >= 5ms", "p50<1ms"], 10, &[Finding::Met, Finding::NotMet]);
    // At most 600 messages: too few for these limits.
    check(&["p99.9 < 50ms"], 10, &[Finding::Unknown]);
    check(&["error_rate < 0.1%"], 10, &[Finding::Unknown]);
    check(&["error_rate <= 0%"], 0, &[Finding::Met]);

    let page = with(&sandbox, &line, &["--require", "p50 < 1ms"]);
    let first = page.stdout.lines().next().unwrap_or_default();
    assert!(["✗ p50 < 1ms: ", "x p50 < 1ms: "].iter().any(|it| first.starts_with(it)), "{page:?}");
    // The record has the requirement, and its page the same first line.
    let again = sandbox.run("show");
    assert_eq!(again.stdout.lines().next(), Some(first));

    let refused = with(&sandbox, &line, &["--require", "eror_rate < 1%"]);
    refused
        .check(2, &["column 1: `eror_rate` is not a number of a run; did you mean `error_rate`?"]);
    let refused = with(&sandbox, &line, &["--require", "achieved/offered >= 99%"]);
    refused.check(2, &["achieved/offered: a closed loop offers no rate; --rate"]);
}

#[test]
fn a_file_has_limits_and_a_sweep_has_none() {
    let sandbox = Sandbox::new();
    let file = |name: &str, text: &str| {
        std::fs::write(sandbox.path().join(name), text).unwrap();
    };
    let rows = "[[row]]\nurl = \"tcp://127.0.0.1:9\"\n";
    file("a.toml", &format!("require = \"p99 < 20ms\"\n{rows}"));
    let ended = sandbox.run("run a.toml --dry-run");
    ended.check(0, &[]);
    let asked: spec::Experiment = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(asked.require, ["p99 < 20ms".parse().unwrap()]);
    let ended = with(&sandbox, "run a.toml --dry-run", &["--require", "p50 < 1ms"]);
    let asked: spec::Experiment = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(asked.require, ["p50 < 1ms".parse().unwrap()], "instead of the file's");

    file("b.toml", &format!("require = [\"p50 < 1ms\", \"p99 < 20\"]\n{rows}"));
    sandbox.run("run b.toml").check(2, &["b.toml", "1:", "column 7: `20`"]);
    let ended = sandbox.run("sweep a.toml");
    ended.check(2, &["require: does not apply to a sweep", "--slo"]);
    file("x.json", "{}");
    let ended = with(&sandbox, "run x.json", &["--require", "p50 < 1ms"]);
    ended.check(2, &["x.json: --require: an experiment in JSON"]);
}

/// Runs the program with the arguments in `line` and with those in `more`, which may contain spaces.
fn with(sandbox: &Sandbox, line: &str, more: &[&str]) -> Ended {
    let mut command = sandbox.command(line);
    command.args(more);
    Running::start(command).wait()
}
