//! Decisions: rounds of one target, goals of precision, thresholds, two sides.

use crate::harness::{Sandbox, Server};

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
