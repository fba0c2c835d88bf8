//! The page of a lab: what it answers, and what it says about what it cannot answer.

use crate::first::doubt;
use crate::pages::details;
use crate::records;
use expect_test::{expect, expect_file};
use record::{Block, Ended, Kind, Level, PublishedRow, Reason, RunRecord, Summary, Verdict, View};
use report::Style;
use stats::Histogram;
use units::Nanos;

#[test]
fn the_page_of_a_lab_answers_first_and_shows_its_views_after() {
    expect_file!["golden/lab.txt"].assert_eq(&page(&records::lab()));
}

#[test]
fn the_answer_is_one_sentence() {
    expect!["On this machine no difference is shown between netty and node-ws, the fastest of 4, at 4 B, 50 connections, one message in flight (p50 round trip 201 us; 1.00x [1.00, 1.01]; 0.6 % would have shown)."]
    .assert_eq(&report::conclusion(&records::lab()).unwrap());
}

#[test]
fn the_fastest_are_of_those_without_doubt_and_the_others_are_counted() {
    let mut record = records::lab();
    let at = |name: &str| record.plan.workloads.iter().position(|it| it.spec.name == name).unwrap();
    let [play, netty] = ["play, pings", "netty, pings"].map(at);
    doubt(&mut record, play);
    let answer = report::conclusion(&record).unwrap();
    assert!(
        answer.contains("netty and node-ws, the fastest of 3 (one more is in doubt), at 4 B"),
        "{answer}"
    );
    record.verdict.as_mut().unwrap().rows[netty].level = Level::Degraded;
    let answer = report::conclusion(&record).unwrap();
    assert!(
        answer.contains("node-ws is the fastest of 2 (2 more are in doubt), at 4 B"),
        "{answer}"
    );
}

#[test]
fn rows_of_unlike_conversations_are_not_said_to_be_compared_at_one_size() {
    let mut record = records::lab();
    let text = "speaks = 'ws'\n[request.ask]\nsend = 'a'\nreply = 'order'";
    let held = spec::Conversation::read("json-rpc", text).unwrap();
    let row = record.plan.workloads.iter_mut().find(|it| it.spec.name == "netty, pings").unwrap();
    row.spec.conversation = Some(held);
    expect!["On this machine no difference is shown between netty and node-ws, the fastest of 4, each with requests of its own, 50 connections, one message in flight (p50 round trip 201 us; 1.00x [1.00, 1.01]; 0.6 % would have shown)."].assert_eq(&report::conclusion(&record).unwrap());
    let page = page(&record);
    assert!(page.contains("each with requests of its own, 50 connections"), "{page}");
    // With one conversation for all, its name says more than the size of an echo that is not sent.
    for row in &mut record.plan.workloads {
        row.spec.conversation = Some(spec::Conversation::read("json-rpc", text).unwrap());
    }
    let answer = report::conclusion(&record).unwrap();
    assert!(answer.contains("of 4, with conversation json-rpc, 50 connections"), "{answer}");
}

#[test]
fn a_load_with_work_for_each_message_says_what_is_left_of_the_differences() {
    let mut record = records::lab();
    // The rows of the second load are those of the first, with work: Play then takes what Netty took without work, and
    // all others what raw TCP took.
    let half = record.plan.workloads.len() / 2;
    let at = |name: &str| record.plan.workloads.iter().position(|it| it.spec.name == name).unwrap();
    let [tcp, netty, play] = ["tcp, pings", "netty, pings", "play, pings"].map(at);
    for index in 0..half {
        let name = record.plan.workloads[half + index].spec.name.clone();
        let spec = record.plan.workloads[index].spec.clone();
        let server = spec::Server::Subject(spec::ServerSubject {
            work: Some(Nanos::from_micros(50)),
            ..spec::ServerSubject::new("works", spec.server.scheme())
        });
        let baseline = spec.baseline.map(|_| half);
        record.plan.workloads[half + index].spec =
            spec::Workload { name, server, baseline, ..spec };
    }
    let idle = record.blocks.clone();
    for block in record.blocks.iter_mut().filter(|block| block.workload >= half) {
        let like = if block.workload == half + play { netty } else { tcp };
        let same = |it: &&Block| (it.workload, it.round) == (like, block.round);
        let like = idle.iter().find(same).unwrap().clone();
        *block = Block { workload: block.workload, ..like };
    }
    record.results = record::results(&record.plan, &record.blocks);
    let page = page(&record);
    let words = page.split_whitespace().collect::<Vec<&str>>().join(" ");
    let said = "Without that work play takes 4.00x [3.99, 4.01] of raw TCP, the most of all servers; with it, 2.00x \
                [1.99, 2.01].";
    assert!(words.contains(said), "{page}");
    assert!(
        words.contains("one message in flight, 50 us of work for each message; 8 blocks"),
        "{page}"
    );
}

#[test]
fn many_rows_have_a_spectrum_of_the_fastest_alone() {
    let mut record = records::lab();
    for result in &mut record.results {
        let mut times = Histogram::new();
        (1..=1000).for_each(|number| times.record(Nanos(number * 1000)));
        result.round_trip = Summary::of(&times);
    }
    let figures = report::figures(&record);
    let (_, spectrum) = figures.iter().find(|(name, _)| name == "spectrum.svg").unwrap();
    for words in ["Here are 5 of 12 rows at pings", ">tcp, pings<", ">netty, pings<"] {
        assert!(spectrum.contains(words), "{words}\n{spectrum}");
    }
    assert!(!spectrum.contains("lives"), "{spectrum}");
}

#[test]
fn few_blocks_have_no_interval_and_say_so() {
    let mut record = records::lab();
    record.blocks.retain(|block| block.round < 3);
    let page = page(&record);
    for words in [
        "fastest, pings   netty or node-ws: p50 round trip 201 us, 2.00x of raw TCP\n",
        "On this machine netty comes first of ",
        "node-ws comes next, with 1.00x of that, in too few blocks for\n",
        "lives: 6 of 6 pairs of rows have too few blocks for an interval",
    ] {
        assert!(page.contains(words), "{words}\n{page}");
    }
    assert!(!page.contains("no difference"), "{page}");
}

#[test]
fn what_the_verdict_takes_away_is_no_answer() {
    let mut record = records::lab();
    let reason = |workload| Reason {
        code: "unfair".to_owned(),
        level: Level::Invalid,
        workload: Some(workload),
        message: "half of the connections had no reply".to_owned(),
        evidence: String::new(),
        advice: String::new(),
        ..Reason::default()
    };
    record.verdict = Some(Verdict {
        level: Level::Degraded,
        reasons: vec![reason(1), reason(6)],
        ..Verdict::default()
    });
    let page = page(&record);
    let fastest = "fastest, pings   node-ws: p50 round trip 202 us, 2.01x [2.00, 2.02] of raw TCP";
    assert!(page.contains(fastest), "{page}");
    assert!(row(&page, "netty").starts_with("x "), "{page}");
    assert!(page.contains("\nx netty                    38.3 invalid\n"), "{page}");
    // The baseline of the second load is invalid, too; and nobody is ahead of another by chance.
    assert!(page.contains("fastest, lives   netty or node-ws: p50 life 322 us\n"), "{page}");
    // An invalid record names nobody.
    record.verdict.as_mut().unwrap().level = Level::Invalid;
    let page = report::html(&record);
    assert!(!page.contains("class=\"value\"") && !page.contains("class=\"conclusion\""), "{page}");
}

#[test]
fn a_row_may_be_compared_with_another_one_than_raw_tcp() {
    let mut record = records::lab();
    record.plan.workloads[2].spec.baseline = Some(1);
    record.plan.workloads[3].spec.baseline = Some(1);
    let page = page(&record);
    assert!(
        page.contains("\n  play                     76.5 ▇▇▇▇▇▇▇▸ 4.00x [3.99, 4.01]\n"),
        "{page}"
    );
    assert!(page.contains("\nplay takes 2.00x [1.99, 2.01] of netty.\n"), "{page}");
    assert!(page.contains("\nNo difference is shown between node-ws and netty: 1.00x"), "{page}");
}

#[test]
fn wall_by_messages_is_told_from_the_round_trip_by_the_number_in_flight() {
    let page = page(&shows(View::WallPerMessage));
    let (_, view) = page.split_once("Wall time by messages, beside").unwrap();
    expect![[r#"
         the true round trip
                                           wall by messages           mean round trip
        row                                              us in flight              us
        tcp, pings                                     2.10        50             119
        netty, pings                                   4.20        50             239
        play, pings                                    8.40        50             478
        node-ws, pings                                 4.21        50             240
        netty driven by Boost.Beast, pings             5.25        50             299
        Wall time by messages is the inverse of throughput, not a time that any message
        took: by Little's law the round trip is that times the number in flight (tcp:
        2.10 us x 50 = 105 us, measured 119 us).
    "#]]
    .assert_eq(&view[..view.find("\n\n").unwrap() + 1]);
}

#[test]
fn a_ratio_beside_a_published_one_is_that_of_the_two_numbers_beside_it() {
    let against = |change: &dyn Fn(&mut PublishedRow), of_block: &dyn Fn(&mut Block)| {
        let mut record = records::lab();
        record.blocks.iter_mut().filter(|block| block.workload == 2).for_each(of_block);
        record.results = record::results(&record.plan, &record.blocks);
        let published = record.lab.as_mut().unwrap().published.as_mut().unwrap();
        published.rows.truncate(2);
        published.rows.iter_mut().for_each(change);
        let page = page(&record);
        let (_, page) = page.split_once("another machine, 2013.\n\n").unwrap();
        page.split_once("Machines and years").unwrap().0.to_owned()
    };
    // Half the throughput, with unchanged round trips.
    expect![[r#"
                                          ratio of ratio of
                        wall by   wall by  wall by  wall by
                      messages, messages, messages messages
        published row  us there   us here    there     here
        bare socket           2      2.10        1     1.00
        framework            20      16.8       10     8.00
        Each ratio is that of the two times beside it, as it was published: of means,
        which one slow message moves. Other tables compare by the p50, with an interval.

    "#]]
    .assert_eq(&against(&|_| (), &|block| block.messages_per_s /= 2.0));
    // One of eight blocks is three times as slow, which their median does not show.
    let walls = |row: &mut PublishedRow| row.wall_us = row.wall_per_message_us.take();
    let slow = |block: &mut Block| {
        if block.round == 3 {
            block.round_trip = Some(records::summary(1_200_000, 5000));
        }
    };
    expect![[r#"
                      wall, us   wall,   ratio of  ratio of
        published row    there us here wall there wall here
        bare socket          2     105          1      1.00
        framework           20     525         10      5.00
        Each ratio is that of the two times beside it, as it was published: of means,
        which one slow message moves. Other tables compare by the p50, with an interval.

    "#]]
    .assert_eq(&against(&walls, &slow));
}

#[test]
fn who_waits_on_its_cpu_is_named() {
    let spins =
        |record: &RunRecord| page(record).contains("\nSpins: netty driven by Boost.Beast, ");
    let mut record = shows(View::Benchmark);
    assert!(spins(&record));
    for block in &mut record.blocks {
        // 66 us of CPU for each of five messages, in a life of 420 us: less than 80 %.
        block.cpu.generator_us_per_message = Some(66.0);
    }
    assert!(!spins(&record), "{}", page(&record));
}

#[test]
fn a_client_that_ran_google_benchmark_is_shown_as_that_found_it() {
    let mut record = shows(View::Benchmark);
    for workload in &mut record.plan.workloads {
        workload.spec.load = records::closed(1);
    }
    let page = page(&record);
    // 4.75 us of its 5 us are on the CPU.
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(" 5.00 5.00 0.016 4.75 4.75 0.015 40000 "), "{page}");
    assert!(page.contains("\nSpins: netty driven by Boost.Beast, pings"), "{page}");
}

#[test]
fn what_was_not_reached_says_why() {
    let mut record = records::lab();
    record.blocks.retain(|block| block.workload != 2);
    record.results.retain(|result| result.workload != 2);
    assert!(page(&record).contains("\nplay, pings not reached: it has no block that counts\n"));
    record.ended = Ended::Interrupted { signal: 2 };
    let page = page(&record);
    assert!(page.starts_with("partial: ended by SIGINT, Ctrl-C"), "{page}");
    assert!(page.contains("\nplay, pings not reached: the run ended before its first block\n"));
    assert!(page.contains("not reached\n"));
}

#[test]
fn a_reason_of_several_lines_flows() {
    let mut record = records::lab();
    let lab = record.lab.as_mut().unwrap();
    lab.left_out[0].reason = "it said:\n  error: no such module\r\n".to_owned();
    let page = page(&record);
    assert!(page.contains("socket.io left out: it said: error: no such module\n"), "{page}");
    assert!(!page.contains("\\n") && !report::html(&record).contains("said:\\n"), "{page}");
}

#[test]
fn a_subject_has_the_name_of_its_row() {
    let mut record = records::lab();
    for (workload, load) in [(5, "pings"), (11, "lives")] {
        record.plan.workloads[workload].spec.name = format!("Ratchet on PHP, {load}");
    }
    let page = page(&record);
    assert!(page.contains("\nRatchet on PHP: Java, libratchet 1.0"), "{page}");
    assert!(!page.contains("\nratchet: "), "{page}");
}

#[test]
fn one_load_leaves_names_as_they_are() {
    let mut record = records::lab();
    record.plan.workloads.truncate(6);
    record.blocks.retain(|block| block.workload < 6);
    record.results.retain(|result| result.workload < 6);
    assert!(
        page(&record)
            .contains("fastest        netty, pings or node-ws, pings: p50 round trip 201 us")
    );
}

#[test]
fn baselines_in_a_circle_end() {
    let mut record = records::lab();
    record.plan.workloads[0].spec.baseline = Some(1);
    record.plan.workloads[1].spec.baseline = Some(0);
    record.plan.workloads[2].spec.baseline = Some(99);
    assert!(page(&record).contains("verdict"));
}

#[test]
fn what_was_imported_says_that_it_is_not_ours() {
    let mut record = shows(View::Benchmark);
    record.kind = Kind::Imported;
    let page = page(&record);
    assert!(page.starts_with("Not measured by wirebench: "), "{page}");
    for words in ["fastest", "checks:", "Spins:"] {
        assert!(!page.contains(words), "{words}: {page}");
    }
}

#[test]
fn footprints_stand_for_themselves() {
    let footprints = records::lab().lab.unwrap().footprints;
    expect![[r#"
        What each needs to be shipped
                                                installed floor download program build
        subject                   from packages       KiB   KiB      KiB     KiB     s
        beast (libboost-dev 1.74) apt        69    229000 41000    57600     634  17.0
        node-ws (ws 8.23.0)       npm         1       158     -     39.1       -     -
        Measured on this machine, with all that the library needs. Floor: the part that
        every program in that language needs. Build: from clean, with everything fetched
        before.
        - node-ws, build: nothing is built
    "#]]
    .assert_eq(&report::footprints(&footprints, &Style::default()));
}

fn page(record: &RunRecord) -> String {
    details(record)
}

/// The first row of that name.
fn row<'a>(page: &'a str, name: &str) -> &'a str {
    // After its mark, or the space for one.
    let is_it =
        |line: &&str| line.get(2..).is_some_and(|row| row.starts_with(&format!("{name}  ")));
    page.lines().find(is_it).expect("a row")
}

/// The lab with only this view.
fn shows(view: View) -> RunRecord {
    let mut record = records::lab();
    let lab = record.lab.as_mut().expect("a lab");
    (lab.views, lab.published) = (vec![view], None);
    record
}
