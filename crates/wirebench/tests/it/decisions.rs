//! Decisions: rounds of one target, goals of precision, thresholds, two sides.

use crate::harness::{Ended, Running, Sandbox, Server};

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
    let record = crate::harness::record_of(&text);
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
    refused.check(2, &["--rounds: 3 rounds mean nothing to a sweep; --repeats is"]);
}

#[test]
fn a_goal_ends_the_run_at_a_round_that_is_looked_at_or_is_told_not_to_be_reached() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "oracle tcp --delay fixed:5ms");
    // A known delay of 5 ms does not double.
    let line = format!("{} -c 2 -d 60ms --warm-up 20ms", server.url);
    let ended = with(&sandbox, &format!("{line} --json"), &["--until", "p50 within 100%"]);
    ended.check_measured(&[]);
    let record = crate::harness::record_of(&ended.stdout);
    assert_eq!((record.blocks.len(), record.plan.rounds.len()), (10, 10));
    let [goal] = &record.precision[..] else { panic!("{:?}", record.precision) };
    assert!(goal.is_reached && goal.rounds == 10 && goal.half_width_fraction.is_some(), "{goal:?}");
    assert_eq!(goal.goal.to_string(), "p50 within 100%");

    // Nothing is known within a millionth; the budget has room for 12 rounds.
    let ended =
        with(&sandbox, &format!("{line} --json --budget 1s"), &["--until", "p50 within 0.0001%"]);
    let record = crate::harness::record_of(&ended.stdout);
    let [goal] = &record.precision[..] else { panic!("{:?}", record.precision) };
    assert!((10..=12).contains(&goal.rounds) && !goal.is_reached, "{goal:?}");
    // The steps of a histogram alone leave a thousandth.
    assert!(goal.half_width_fraction >= Some(1e-3) && goal.rounds_needed > Some(1_000_000));
    let record::Ended::Partial { reason } = &record.ended else { panic!("{:?}", record.ended) };
    assert!(reason.contains("not within 0.0001%: about "), "{reason}");
    assert!(ended.code == Some(13) || ended.code == Some(12), "{ended:?}");

    let refused = with(&sandbox, &format!("{line} --budget 500ms"), &["--until", "p50 within 3%"]);
    refused.check(2, &["--budget: 500 ms is too short: 10 rounds", "take 800 ms"]);
    let refused = with(&sandbox, &line, &["--until", "p98 within 3%"]);
    refused.check(2, &["`p98` is no number that has an interval; did you mean `p9"]);
    std::fs::write(sandbox.path().join("x.json"), "{}").unwrap();
    sandbox.run("run x.json --budget 1s").check(2, &["x.json: --budget: an experiment in JSON"]);
}

/// Runs the program with `line` as its arguments, and more that have spaces in them.
fn with(sandbox: &Sandbox, line: &str, more: &[&str]) -> Ended {
    let mut command = sandbox.command(line);
    command.args(more);
    Running::start(command).wait()
}
