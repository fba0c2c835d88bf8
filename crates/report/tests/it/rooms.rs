//! Rooms: the page of a run and of a lab with deliveries, and the columns of CSV.

use crate::pages::{check, details};
use crate::records;
use expect_test::expect;
use record::{
    AgentPart, Counts, Deliveries, DeliveryCounts, DeliveryEnds, DeliverySecond, Kind, Memory,
    MemoryBefore, Restart, RunRecord, Second, TabDeliveries, Wire,
};
use report::{Depth, Style};
use spec::{Conduct, Load, Rooms, Spacing};
use units::Nanos;

/// Four rooms, in which the relay lost, duplicated and cut off some deliveries.
fn record() -> RunRecord {
    let mut record = records::open();
    let spec = &mut record.plan.workloads[0].spec;
    let [count, publishers, receivers] = [4, 1, 100].map(records::count);
    spec.load = Load::Publish {
        rooms: Rooms { count, publishers, receivers, conduct: Conduct::default() },
        rate: "5/s".parse().expect("a rate"),
        spacing: Spacing::Uniform,
        in_flight_max: records::count(200),
    };
    spec.publish_to = Some("tcp://127.0.0.1:6379".parse().expect("a URL"));
    let block = &mut record.blocks[0];
    block.counts = Counts { planned: 200, sent: 200, ok: 200, ..Counts::default() };
    let open_loop = block.open_loop.as_mut().expect("it is an open loop");
    open_loop.service = Some(records::summary(1_200_000, 200));
    open_loop.send_lag = Some(records::summary(50_000, 200));
    block.deliveries = Some(Deliveries {
        counts: DeliveryCounts {
            published: 200,
            owed: 20_000,
            delivered: 19_991,
            lost: 6,
            cut: 3,
            in_flight_at_end: 0,
            duplicate: 2,
            reordered: 4,
            early: 5,
            foreign: 7,
            incomplete: 9,
            ..DeliveryCounts::default()
        },
        first: Some(records::summary(900_000, 200)),
        median: Some(records::summary(1_300_000, 200)),
        last: Some(records::summary(2_100_000, 200)),
        spread: Some(records::summary(1_200_000, 191)),
        ..Deliveries::default()
    });
    record
}

#[test]
fn the_page_of_a_run_has_the_sums_and_the_times_of_messages_as_wholes() {
    check(
        &record(),
        &expect![[r#"
            ws://127.0.0.1:8080/

            64 B binary, 4 rooms, each with 1 publisher and 100 receivers, 20.0/s published
            in all to tcp://127.0.0.1:6379 at equal distances, 200 outstanding at most, 1
            thread, 10.0 s measured

                              p50   p90   p99 p99.9   max
                               ms    ms    ms    ms    ms
            delivery        ?1.25 ?1.50 ?1.88 ?2.50 ?10.0
            first receiver  0.900  1.08  1.35     -  7.20
            median receiver  1.30  1.56  1.95     -  10.4
            last receiver    2.10  2.52  3.15     -  16.8
            spread           1.20  1.44  1.80     -  9.60
            acknowledged     1.20  1.44  1.80     -  9.60
            send lag        0.050 0.060 0.075     - 0.400
            own share       0.012 0.014 0.018 0.024 0.096
            - first receiver p99.9: too few messages: 200, at least 100000 needed
            - spread p99.9: too few messages: 191, at least 100000 needed

            rate           asked 20.0/s, offered 20.0/s, sent 20.0/s
                           delivered 2.00 k/s to receivers
            deliveries     published 200 messages, 20000 deliveries owed
                           owed 20000 = delivered 19991 + lost 6 + cut off 3 + in flight 0
                           missing 0.04 % of owed, of 9 messages
                           duplicate 2, out of order 4, not owed yet 5, foreign 7
            CPU/message    generator 5.10 us [5.05, 5.15], server 5.00 us [4.95, 5.05]

            messages       planned 200 = sent 200 + unsent 0
                           sent 200 = ok 200 + error 0 + timed out 0 + in flight 0
                           error_rate 0.04 %, refused_rate 0 %
            replies        lost 0, duplicate 0, reordered 0, corrupted 0
            stalls         none: the generator never stood still
            fairness       399 replies at least, median 400, of 50 connections
            connections    asked 50, opened 50, failed 0, lost 0, opened again 0
            bytes/message  sent 70 B, received 66 B; without TCP and IP

                     min mean max
            phase     us   us  us count
            connect 26.7 84.0 640    50

            verdict        degraded: the numbers are less reliable than they look
            degraded: messages did not reach all receivers that they were owed to
              [undelivered]
              shown by: 9 of 20000 deliveries (0.04 %), of 9 messages: 6 lost, 3 cut off
                with their receivers, 0 still under way when the drain ended
              next: look at what the server says about slow receivers and full queues, or
                ask for less; a longer --drain waits for what is still under way
            degraded: replies were lost, repeated, out of order or altered
              [unreliable_replies]
              shown by: 2 duplicate, 4 reordered, 7 from another room or never published,
                beside 20000 deliveries that were owed
              next: look at the server and the network path: this is not a matter of speed
        "#]],
    );
}

#[test]
fn the_memory_of_each_receiver_stands_on_the_page_in_tables_and_in_csv_or_the_reason_why_not() {
    let mut record = record();
    let before =
        MemoryBefore { rss_bytes: Some(9 << 20), pss_bytes: Some(8 << 20), is_first: true };
    record.blocks[0].memory = Some(Memory {
        server_rss_bytes: Some(11 << 20),
        server_pss_bytes: Some((8 << 20) + 409_600),
        generator_rss_bytes: None,
        server_before: Some(before),
    });
    let page = details(&record);
    let line = "memory / receiver 1 KiB: 8 MiB before the first connection, 8.39 MiB with 400 receivers at the end (PSS)";
    let words = |page: &str| page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&page).contains(line), "{page}");
    let columns = report::csv(&record);
    let mut lines = columns.lines().map(|line| line.split(','));
    let (mut names, mut values) = (lines.next().expect("names"), lines.next().expect("a row"));
    let at =
        names.position(|name| name == "server_memory_bytes_per_receiver").expect("it is there");
    assert_eq!(values.nth(at), Some("1024"));
    record.kind = Kind::Lab;
    let page = details(&record);
    assert!(page.contains("memory /") && page.contains(" 1024"), "{page}");

    record.kind = Kind::Run;
    let memory = record.blocks[0].memory.as_mut().expect("it has some");
    memory.server_before.as_mut().expect("it was looked at").is_first = false;
    let page = details(&record);
    let line = "memory / receiver - (the server had served before in this run";
    assert!(words(&page).contains(line), "{page}");
}

#[test]
fn the_first_and_the_last_receiver_stand_over_time_with_a_band_between_them() {
    let mut record = record();
    let drawn = |record: &RunRecord, name: &str| {
        let drawings = report::figures(record);
        drawings.into_iter().find(|(file, _)| file == name).map(|(_, drawing)| drawing)
    };
    assert_eq!(drawn(&record, "receivers.svg"), None, "an older record has no seconds");
    let second = |first_us: u32, last_us: u32| DeliverySecond {
        messages: 20,
        first_mean_ns: Some(f64::from(first_us) * 1e3),
        last_mean_ns: Some(f64::from(last_us) * 1e3),
    };
    let none = DeliverySecond::default();
    let of_block = record.blocks[0].deliveries.as_mut().expect("they are rooms");
    of_block.seconds = vec![second(900, 2100), none, second(1000, 4300)];
    let drawing = drawn(&record, "receivers.svg").expect("it is drawn");
    for words in [">First and last receiver<", ">first receiver<", ">last receiver<"] {
        assert!(drawing.contains(words), "{words}: {drawing}");
    }
    // The outline of the band: two seconds with messages, on two lines.
    let (_, band) = drawing.split_once("<path class=\"band\" d=\"").expect("a band");
    let (band, _) = band.split_once("Z\"").expect("it is closed");
    assert_eq!(band.split(['M', 'L']).filter(|place| !place.is_empty()).count(), 4, "{band}");
    let page = report::html(&record);
    for text in ["900 us", "2.10 ms", "1.00 ms", "4.30 ms", "\"band\":true"] {
        assert!(page.contains(text), "{text}");
    }
    assert!(page.contains("\"id\":\"receivers\""), "the interactive chart has it too");
}

#[test]
fn charts_and_answers_of_rooms_speak_of_deliveries() {
    let over_time = |mut record: RunRecord| {
        let second = Second {
            duration_ns: 1_000_000_000,
            response_p50_ns: Some(1_250_000),
            ..Second::default()
        };
        record.blocks[0].series = vec![second];
        report::html(&record)
    };
    let (rooms, others) = (over_time(record()), over_time(records::open()));
    for (of_rooms, of_others) in [
        ("Delivery time over time", "Response time over time"),
        ("needs enough deliveries", "needs enough replies"),
        ("<p class=\"soft\">deliveries</p>", "<p class=\"soft\">replies</p>"),
    ] {
        assert!(rooms.contains(of_rooms) && !rooms.contains(of_others), "{of_rooms}");
        assert!(others.contains(of_others) && !others.contains(of_rooms), "{of_others}");
    }
    let lab = |record| details(&RunRecord { kind: Kind::Lab, ..record });
    let has_column = |page: &str, name: &str| {
        page.lines().any(|line| {
            line.split_whitespace().collect::<Vec<_>>().contains(&name) && line.contains(" p99 ")
        })
    };
    assert!(has_column(&lab(record()), "deliveries") && !has_column(&lab(record()), "messages"));
    assert!(has_column(&lab(records::open()), "messages"));
}

#[test]
fn the_answer_of_rooms_counts_deliveries_and_not_what_was_published() {
    let mut record = record();
    let deliveries = record.blocks[0].deliveries.as_mut().expect("they are rooms");
    let DeliveryCounts { published, owed, .. } = deliveries.counts;
    deliveries.counts =
        DeliveryCounts { published, owed, delivered: owed, ..DeliveryCounts::default() };
    let page = report::terminal(&record, Depth::First, &Style::default());
    let answer =
        "ws://127.0.0.1:8080/ delivers 2.00 k/s of the 2.00 k/s that are owed: delivery time";
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.starts_with(answer), "{page}");
}

#[test]
fn a_program_that_publishes_is_named_in_the_load() {
    let mut record = record();
    let spec = &mut record.plan.workloads[0].spec;
    (spec.publish_to, spec.publish_with) = (None, Some("php publish.php".to_owned()));
    let page = details(&record).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains("20.0/s published in all by `php publish.php` at equal"), "{page}");
}

#[test]
fn rooms_that_agents_share_say_beside_their_times_how_far_clocks_are_apart() {
    let mut record = record();
    let block = &mut record.blocks[0];
    block.deliveries.as_mut().expect("it has rooms").clock_bound_ns = Some(412_000);
    let part = |agent: &str| AgentPart {
        agent: agent.to_owned(),
        delivered: Some(9_995),
        ..AgentPart::default()
    };
    block.agents = ["a0", "a1"].map(part).into();
    let words = "clocks of 2 agents agree within 412 us: delivery times may be wrong by that;";
    let page = details(&record);
    assert!(page.contains(words), "{page}");
    assert!(page.contains("9995"), "each agent has the deliveries to its receivers: {page}");
    let lab = details(&RunRecord { kind: Kind::Lab, ..record });
    assert!(lab.contains("ws: clocks of 2 agents agree within 412 us"), "{lab}");
}

#[test]
fn the_page_of_a_lab_has_a_line_of_deliveries_for_each_row() {
    let record = RunRecord { kind: Kind::Lab, ..record() };
    let page = details(&record);
    let lines: Vec<&str> = page.lines().collect();
    let head = lines.iter().position(|line| line.starts_with("deliveries ")).expect("a table");
    let table: String = lines[head - 3..head + 6].iter().map(|line| format!("{line}\n")).collect();
    expect![[r#"

                                                                 out         first
                                                                  of           p50
        deliveries published  owed delivered missing duplicate order foreign    ms
        ? ws             200 20000     19991       9         2     4       7 0.900
                   median last last spread
                      p50  p50  p99    p50
        deliveries     ms   ms   ms     ms
        ? ws         1.30 2.10 3.15   1.20
    "#]]
    .assert_eq(&table);
}

#[test]
fn tabs_of_a_browser_stand_beside_our_own_receivers_with_the_bound_of_their_clocks() {
    let mut record = record();
    record.blocks[0].tabs = Some(TabDeliveries {
        tabs: 10,
        transport: "xhr-streaming".to_owned(),
        counts: DeliveryEnds { owed: 2000, delivered: 1999, lost: 1, ..DeliveryEnds::default() },
        reordered: 3,
        delivery: Some(records::summary(26_000_000, 2000)),
        clock_offset_ns: -410_000,
        clock_bound_ns: 96_000,
        ..TabDeliveries::default()
    });
    let lab = RunRecord { kind: Kind::Lab, ..record.clone() };
    let page = report::terminal(&lab, Depth::First, &Style::default());
    let lines: Vec<&str> = page.lines().collect();
    let head = lines.iter().position(|line| line.starts_with("in tabs ")).expect("a table");
    let table: String = lines[head..head + 9].iter().map(|line| format!("{line}\n")).collect();
    expect![[r#"
        in tabs transport     clock                    tabs owed missing order   ms   ms
        ? ws    xhr-streaming 410 us behind, ± 96.0 us   10 2000       1     3 26.0 31.2
                         ours ours ours ours
                 p99 max  p50  p90  p99  max
        in tabs   ms  ms   ms   ms   ms   ms
        ? ws    39.0 208 1.25 1.50 1.88 10.0
        From due until a page had the message, by its own clock, corrected by its
        offset: the clock column shows the offset and how exactly it is known. Ours:
        wirebench's own receivers, as many in the same rooms over the same transport,
    "#]]
    .assert_eq(&table);
    let page = details(&record);
    let words = page.split_whitespace().collect::<Vec<&str>>().join(" ");
    for line in [
        "10 over xhr-streaming: owed 2000 = delivered 1999 + lost 1 + cut off 0 + in flight 0",
        "duplicate 0, out of order 3, foreign 0",
        "clocks of the pages: 410 us behind, ± 96.0 us",
    ] {
        assert!(words.contains(line), "{line}: {page}");
    }
}

#[test]
fn bytes_of_a_delivery_stand_by_layer_with_the_requests_that_it_took() {
    let mut record = record();
    record.blocks[0].wire = Wire { requests: Some(500), ..records::wire("http") };
    let page = details(&record);
    let line = "requests       0.500 for each message: polls, streams and posts";
    assert!(page.contains(line), "{page}");
    let lab = details(&RunRecord { kind: Kind::Lab, ..record });
    let head = lab.find("Bytes of a message by layer").expect("a table");
    let table: String = lab[head..].lines().take(4).map(|line| format!("{line}\n")).collect();
    expect![[r#"
        Bytes of a message by layer
            payload out in framing out in TCP/IP out in
        row           B  B           B  B          B  B requests
        ws           64 64         112 82         52 52    0.500
    "#]]
    .assert_eq(&table);
}

#[test]
fn receivers_that_are_slow_or_leave_have_sums_of_their_own() {
    let mut record = record();
    let ends = |owed, [delivered, lost, cut]: [u64; 3]| DeliveryEnds {
        owed,
        delivered,
        lost,
        cut,
        ..DeliveryEnds::default()
    };
    let of_block = record.blocks[0].deliveries.as_mut().expect("they are rooms");
    of_block.counts = DeliveryCounts {
        slow: ends(200, [50, 0, 150]),
        away: ends(60, [40, 20, 0]),
        edge: ends(5, [3, 2, 0]),
        absences: 4,
        torn_off: 30,
        recovered: 29,
        attempts: 35,
        restored: 24,
        caught_up: 500,
        ..of_block.counts
    };
    of_block.recovered = Some(records::summary(1_400_000_000, 29));
    let page = details(&record);
    let words = page.split_whitespace().collect::<Vec<&str>>().join(" ");
    for line in [
        "slow receivers: owed 200 = delivered 50 + lost 0 + cut off 150 + in flight 0",
        "slow receivers: the relay kept 25.0 %, lost with the connections that it ended 75.0 %",
        "away: owed 60 = replayed 40 + lost 20; edge: owed 5 = delivered 3 + lost 2",
        "owed to all 20065 = present 20000 + away 60 + edge 5",
        "4 absences, 30 torn off at once, 29 of them back in time, 35 connects to come back",
        "24 of these were restored by the server: 500 deliveries were caught up, 2.5 % of owed",
        "29 of them within the measured time; 22 deliveries were missed by those who were gone, and 500 were caught up",
    ] {
        assert!(words.contains(line), "{line}: {page}");
    }
    assert!(page.lines().any(|line| line.starts_with("recovery ")), "{page}");
}

#[test]
fn a_server_that_was_killed_has_its_recovery_on_every_page() {
    let mut record = record();
    let rooms = record.plan.workloads[0].spec.load.rooms().expect("they are rooms");
    let restart = Some(Nanos::from_secs(3));
    let conduct = Conduct { restart, ..Conduct::default() };
    if let Load::Publish { rooms: all, .. } = &mut record.plan.workloads[0].spec.load {
        *all = Rooms { conduct, ..rooms };
    }
    let block = &mut record.blocks[0];
    block.restart = Some(Restart { at_ns: 3_000_000_000, ready_after_ns: 240_000_000 });
    let of_block = block.deliveries.as_mut().expect("they are rooms");
    let ends = |owed, delivered| DeliveryEnds {
        owed,
        delivered,
        lost: owed - delivered,
        ..DeliveryEnds::default()
    };
    of_block.counts = DeliveryCounts {
        away: ends(800, 0),
        edge: ends(30, 10),
        torn_off: 400,
        recovered: 400,
        attempts: 400,
        unacknowledged: 2,
        ..of_block.counts
    };
    of_block.recovered = Some(records::summary(1_000_000_000, 400));
    let page = details(&record);
    let words = page.split_whitespace().collect::<Vec<&str>>().join(" ");
    for line in [
        "100 receivers, the server killed and started again after 3 s",
        "recovery the server was killed, and ready again after 240 ms",
        "half of 400 receivers were back after 1.00 s, 99 % after 1.00 s, all after 1.00 s",
        "400 of them within the measured time; 820 deliveries were missed by those who were gone",
        "2 messages were not acknowledged when the server was killed",
    ] {
        assert!(words.contains(line), "{line}: {page}");
    }
    let mut of_part = record.clone();
    of_part.plan.workloads[0].spec.restart_of = Some("redis-server".to_owned());
    let counts = &mut of_part.blocks[0].deliveries.as_mut().expect("they are rooms").counts;
    let stayed = DeliveryEnds::default();
    *counts = DeliveryCounts { away: stayed, edge: stayed, attempts: 0, ..*counts };
    let missing = counts.missing();
    let page = details(&of_part);
    let words = page.split_whitespace().collect::<Vec<&str>>().join(" ");
    let lost = format!("400 of them within the measured time; {missing} deliveries did not come");
    for line in [
        "100 receivers, redis-server killed and started again after 3 s",
        "recovery redis-server was killed, and ready again after 240 ms",
        "half of 400 receivers were reached again after 1.00 s, 99 % after 1.00 s, all after 1.00 s",
        "2 messages were not acknowledged when redis-server was killed",
        &lost,
    ] {
        assert!(words.contains(line), "{line}: {page}");
    }
    assert!(!words.contains("torn off") && !words.contains("away: owed"), "all stayed: {page}");
    let lab = details(&RunRecord { kind: Kind::Lab, ..record.clone() });
    assert!(["ready", "240"].iter().all(|words| lab.contains(words)), "{lab}");
    let first = report::terminal(
        &RunRecord { kind: Kind::Lab, ..record.clone() },
        Depth::First,
        &Style::default(),
    );
    assert!(first.contains("recovery"), "{first}");
    // The rounds together have a time for 99 %, and one of them has none.
    let mut short = record.clone();
    let mut second = short.blocks[0].clone();
    second.round += 1;
    let of_block = second.deliveries.as_mut().expect("they are rooms");
    (of_block.counts.recovered, of_block.recovered) = (0, None);
    short.blocks.push(second);
    let page = details(&short);
    let words = page.split_whitespace().collect::<Vec<&str>>().join(" ");
    let line = "half of 800 receivers in 2 blocks were back after 1.00 s, 99 % not in each block, ";
    assert!(words.contains(line), "{line}: {page}");
    let of_block = record.blocks[0].deliveries.as_mut().expect("they are rooms");
    of_block.missed = vec![0, 0, 9, 820];
    let html = report::html(&record);
    assert!(html.contains("Missed deliveries"), "missed deliveries have a chart over time");
    assert!(html.contains(">restart</text>"), "the line at the kill has its name");
}

#[test]
fn csv_has_a_column_for_each_count_and_each_time() {
    let csv = report::csv(&record());
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let [names, values] = &lines[..] else { panic!("{csv}") };
    let of_rooms: String = names
        .iter()
        .zip(values)
        .filter(|(name, _)| {
            ["published", "deliver", "receiver_", "spread"].iter().any(|part| name.contains(part))
        })
        .map(|(name, value)| format!("{name} {value}\n"))
        .collect();
    expect![[r#"
        published 200
        deliveries_owed 20000
        delivered 19991
        deliveries_lost 6
        deliveries_cut_off 3
        deliveries_in_flight_at_end 0
        deliveries_duplicate 2
        deliveries_out_of_order 4
        deliveries_not_owed_yet 5
        deliveries_foreign 7
        slow_deliveries_owed 0
        slow_delivered 0
        slow_deliveries_lost 0
        slow_deliveries_cut_off 0
        slow_deliveries_in_flight_at_end 0
        away_deliveries_owed 0
        away_delivered 0
        away_deliveries_lost 0
        edge_deliveries_owed 0
        edge_delivered 0
        edge_deliveries_lost 0
        first_receiver_p50_ns 900000
        first_receiver_p99_ns 1350000
        median_receiver_p50_ns 1300000
        median_receiver_p99_ns 1950000
        last_receiver_p50_ns 2100000
        last_receiver_p99_ns 3150000
        spread_p50_ns 1200000
        spread_p99_ns 1800000
    "#]]
    .assert_eq(&of_rooms);
}
