//! Known causes by their signatures: what shows them, and what comes close and must not.

use crate::example;
use crate::good::{self, times};
use record::{Block, ErrorCount, OpenLoop, RunRecord, Second, TcpEvents, Workload, signatures};

#[test]
fn good_records_show_none() {
    for record in [good::open(), good::closed(), good::ladder()] {
        assert_eq!(codes(&record), [""; 0]);
    }
}

#[test]
fn replies_of_40_ms_are_a_delayed_ack() {
    // One reply in a hundred, besides the usual ones.
    assert_eq!(codes(&slow_replies(400, 40_300_000)), ["delayed_ack"]);
    assert_eq!(codes(&slow_replies(399, 40_300_000)), [""; 0]);
    assert_eq!(codes(&slow_replies(400, 36_000_000)), [""; 0]);
    // A tail that passes through 40 ms has no edge there.
    let tail = |index: u64| if index < 4000 { 1_000_000 + index * 20_000 } else { 1_000_000 };
    let mut record = slow_replies(0, 40_300_000);
    record.blocks[0].round_trip = times(40_000, tail);
    assert_eq!(codes(&record), [""; 0]);
    // A Unix socket has no ACKs either.
    let mut record = slow_replies(400, 40_300_000);
    record.blocks[0].tcp = None;
    assert_eq!(codes(&record), [""; 0]);
}

#[test]
fn a_pause_is_no_delayed_ack() {
    // One of 40 ms, with ten in flight.
    let mut record = slow_replies(10, 40_300_000);
    record.blocks[0].round_trip =
        times(437_362, |index| if index < 10 { 40_300_000 } else { 200_000 + index });
    assert_eq!(codes(&record), [""; 0]);
    // The same where ten are a hundredth of all, at a rate that makes ten due in three pauses.
    let rare = |slow_seconds: usize| {
        let mut record = slow_replies(10, 40_300_000);
        let block = &mut record.blocks[0];
        block.round_trip =
            times(1000, |index| if index < 10 { 40_300_000 } else { 200_000 + index });
        block.messages_per_s = 100.0;
        let fast = Second { max_ns: Some(201_000), ..Second::default() };
        block.series[slow_seconds..].fill(fast);
        record
    };
    assert_eq!(codes(&rare(1)), [""; 0]);
    assert_eq!(codes(&rare(2)), [""; 0]);
    assert_eq!(codes(&rare(3)), ["delayed_ack"]);
    // In a block of one second, only their number shows that slow replies do not fit in a pause.
    let mut short = slow_replies(400, 40_300_000);
    short.blocks[0].series.truncate(1);
    assert_eq!(
        codes(&short),
        [""; 0],
        "three pauses of 46 ms at 4000 messages/s could explain 552 slow replies, so 400 prove nothing"
    );
    short.blocks[0].messages_per_s = 1000.0;
    assert_eq!(codes(&short), ["delayed_ack"]);
    // Pauses of the generator itself.
    let mut ours = rare(3);
    ours.blocks[0].stalls.affected = 10;
    assert_eq!(codes(&ours), [""; 0]);
}

#[test]
fn what_takes_as_long_without_its_cause_is_something_else() {
    let counted = |slow_ns, events: TcpEvents, target: &str| {
        let mut record = slow_replies(400, slow_ns);
        record.plan.workloads[0].target = target.to_owned();
        record.blocks[0].tcp = Some(events);
        codes(&record)
    };
    let (here, there) = ("ws://127.0.0.1:8080", "ws://192.0.2.7:8080");
    let acks = |count| TcpEvents { delayed_acks: Some(count), ..TcpEvents::default() };
    // A server that takes 42 ms for one reply in a hundred.
    assert_eq!(counted(42_000_000, acks(20), there), [""; 0]);
    assert_eq!(counted(42_000_000, acks(200), there), ["delayed_ack"]);
    let again = |count| TcpEvents { retransmitted_segments: Some(count), ..TcpEvents::default() };
    assert_eq!(counted(204_000_000, again(20), here), [""; 0]);
    assert_eq!(counted(204_000_000, again(200), here), ["retransmission"]);
    // A server elsewhere that takes 204 ms.
    assert_eq!(counted(204_000_000, again(0), there), [""; 0]);
    assert_eq!(counted(204_000_000, again(200), there), ["retransmission"]);
    let mut connects = slow_connects(3, 1_010_000_000);
    connects.blocks[0].tcp = Some(TcpEvents { retransmitted_syns: Some(1), ..acks(9) });
    assert_eq!(codes(&connects), [""; 0]);
}

#[test]
fn the_service_time_of_an_open_loop_is_looked_at_and_not_its_response() {
    let slow = |index: u64| if index < 400 { 40_300_000 } else { 1_000_000 };
    let with = |change: fn(&mut OpenLoop, Option<record::Summary>)| {
        let mut record = good::open();
        let Block { mut series, tcp, .. } = slow_replies(400, 40_300_000).blocks.remove(0);
        for second in &mut series {
            (second.response_p99_ns, second.p99_ns) = (Some(40_300_000), Some(1_000_000));
        }
        record.blocks[0] = Block { series, tcp, ..record.blocks[0].clone() };
        change(record.blocks[0].open_loop.as_mut().unwrap(), times(20_000, slow));
        codes(&record)
    };
    assert_eq!(with(|times_of, slow| times_of.service = slow), ["delayed_ack"]);
    // A response time is longer than its service time by the wait for a connection.
    assert_eq!(with(|times_of, slow| times_of.response = slow), ["waiting_for_connections"]);
}

#[test]
fn replies_of_200_ms_are_retransmissions_and_connects_of_200_ms_are_not() {
    assert_eq!(codes(&slow_replies(400, 204_000_000)), ["retransmission"]);
    assert_eq!(codes(&slow_replies(400, 190_000_000)), [""; 0]);
    let in_blocks = |blocks: usize, count, ns| {
        let mut record = slow_connects(count, ns);
        record.blocks = vec![record.blocks.remove(0); blocks];
        codes(&record)
    };
    assert_eq!(in_blocks(3, 25, 204_000_000), ["happy_eyeballs"]);
    assert_eq!(in_blocks(3, 25, 251_000_000), ["happy_eyeballs"]);
    assert_eq!(in_blocks(3, 25, 300_000_000), [""; 0]);
    assert_eq!(in_blocks(3, 24, 204_000_000), [""; 0], "not an address, but a pause");
    assert_eq!(in_blocks(2, 25, 204_000_000), [""; 0], "two pauses");
    let mut clients = slow_connects(25, 204_000_000);
    clients.plan.workloads[0].spec.load = example::clients(1);
    assert_eq!(codes(&clients), ["happy_eyeballs"]);
}

#[test]
fn connects_of_1_s_and_3_s_are_syn_retries() {
    assert_eq!(codes(&slow_connects(3, 3_030_000_000)), ["syn_retries"]);
    assert_eq!(codes(&slow_connects(3, 2_000_000_000)), [""; 0]);
    assert_eq!(codes(&slow_connects(2, 1_010_000_000)), [""; 0]);
    let mut record = slow_connects(3, 1_010_000_000);
    assert_eq!(
        signatures(&record)[0].evidence,
        "3 of 50 between 995 ms and 1.1 s; the kernel sent 400 SYNs again"
    );
    // Where connects take about a second in any case, none stands out.
    record.blocks[0].phases.connect = times(50, |index| 800_000_000 + index * 10_000_000);
    assert_eq!(codes(&record), [""; 0]);
}

#[test]
fn ports_that_ran_short_are_named() {
    // 28 232 ports on one address.
    let held = |opened: u64, failed: u64, sources: usize, example: &str| {
        let mut record = good::closed();
        record.plan.workloads[0].source_addresses = vec!["127.0.0.2".to_owned(); sources];
        let block = &mut record.blocks[0];
        (block.connections.opened, block.connections.failed) = (opened, failed);
        block.errors = vec![error("connect_failed", failed, example)];
        codes(&record)
    };
    assert_eq!(held(28_000, 100, 0, "timed out"), ["ephemeral_ports"]);
    assert_eq!(held(28_000, 100, 2, "timed out"), [""; 0]);
    assert_eq!(held(28_000, 0, 0, "timed out"), [""; 0]);
    assert_eq!(held(20_000, 100, 0, "timed out"), [""; 0]);
    let says_so = "no free port, or the local address does not belong to this machine";
    assert_eq!(held(20_000, 100, 0, says_so), ["ephemeral_ports"]);
    let mut clients = good::closed();
    clients.plan.workloads[0].spec.load = example::clients(1);
    clients.blocks[0].connections.opened = 28_000;
    clients.blocks[0].connections.failed = 1;
    assert_eq!(codes(&clients), [""; 0]);
}

#[test]
fn messages_that_wait_for_a_connection_are_told_from_a_late_generator() {
    let slow_in = |seconds: usize, waited_ns: u64, lag_ns: u64| {
        let mut record = good::open();
        let second = |waited_ns| Second {
            p50_ns: Some(1_000_000),
            response_p50_ns: Some(1_000_000 + waited_ns + lag_ns),
            ..Second::default()
        };
        record.blocks[0].series = vec![second(0); 10];
        record.blocks[0].series[..seconds].fill(second(waited_ns));
        let times_of = record.blocks[0].open_loop.as_mut().unwrap();
        times_of.send_lag = times(20_000, |_| lag_ns);
        times_of.response = times(20_000, |index| 1_000_000 + waited_ns + lag_ns + index * 20);
        record
    };
    let slow = |waited_ns, lag_ns| slow_in(10, waited_ns, lag_ns);
    assert_eq!(codes(&slow(200_000, 5_000)), ["waiting_for_connections"]);
    assert_eq!(codes(&slow(100_000, 5_000)), [""; 0]);
    assert_eq!(codes(&slow(0, 15_000_000)), [""; 0]);
    // After one pause of the server as many messages wait, but only for a second or two.
    assert_eq!(codes(&slow_in(2, 200_000, 5_000)), [""; 0]);
    assert_eq!(codes(&slow_in(3, 200_000, 5_000)), ["waiting_for_connections"]);
    let mut short = slow_in(3, 200_000, 5_000);
    short.blocks[0].series.truncate(1);
    assert_eq!(codes(&short), ["waiting_for_connections"], "a block of a second");
    // After a gap in our own loop, many messages wait.
    let mut stalled = slow(200_000, 5_000);
    stalled.blocks[0].stalls.affected = 201;
    assert_eq!(codes(&stalled), [""; 0]);
    // A message that failed counts in the response times only.
    let mut failed = slow(200_000, 5_000);
    failed.blocks[0].counts.ok -= 1;
    assert_eq!(codes(&failed), [""; 0]);
}

#[test]
fn clients_that_came_with_tickets_for_nothing_are_named() {
    let with = |full, resumed, change: fn(&mut Workload)| {
        let mut record = good::closed();
        record.plan.workloads[0].spec.load = example::clients(1);
        change(&mut record.plan.workloads[0]);
        let seen = record.blocks[0].tls.as_mut().unwrap();
        (seen.full, seen.resumed) = (full, resumed);
        codes(&record)
    };
    assert_eq!(with(1000, 0, |_| ()), ["not_resumed"]);
    assert_eq!(with(1000, 1, |_| ()), [""; 0]);
    // 50 at a time: these need not have seen a ticket.
    assert_eq!(with(100, 0, |_| ()), [""; 0]);
    assert_eq!(with(1000, 0, |asked| asked.spec.load = example::closed(50)), [""; 0]);
    let none = |asked: &mut Workload| asked.spec.tls.as_mut().unwrap().resumption = false;
    assert_eq!(with(1000, 0, none), [""; 0]);
}

#[test]
fn compression_that_makes_payloads_longer_is_named() {
    let with = |ratio| {
        let mut record = good::closed();
        record.blocks[0].wire.compression_ratio = ratio;
        record
    };
    assert_eq!(codes(&with(Some(0.9998))), ["payload_grows"]);
    assert_eq!(signatures(&with(Some(0.8)))[0].evidence, "by 25.00 %");
    assert_eq!(codes(&with(Some(1.0))), [""; 0]);
    assert_eq!(codes(&with(None)), [""; 0]);
}

#[test]
fn a_damaged_histogram_shows_nothing() {
    let mut record = slow_replies(400, 40_300_000);
    record.blocks[0].round_trip.as_mut().unwrap().histogram = "?".to_owned();
    assert_eq!(codes(&record), [""; 0]);
}

#[test]
fn of_several_workloads_the_evidence_says_which() {
    let mut record = good::ladder();
    record.blocks.truncate(2);
    let slow = slow_replies(400, 40_300_000).blocks.remove(0);
    record.blocks[1] = Block { workload: 1, ..slow };
    let all = signatures(&record);
    assert_eq!(all.len(), 1);
    assert_eq!(
        all[0].evidence,
        "ws: 400 of 40000 between 39.5 ms and 46 ms; the kernel counted 400 delayed ACKs"
    );
}

fn codes(record: &RunRecord) -> Vec<String> {
    signatures(record).into_iter().map(|warning| warning.code).collect()
}

/// Ten seconds with a slow reply in each, and enough TCP events for every signature.
fn counted(slow_ns: u64) -> RunRecord {
    let mut record = good::closed();
    let block = &mut record.blocks[0];
    block.series = vec![Second { max_ns: Some(slow_ns), ..Second::default() }; 10];
    block.tcp = Some(TcpEvents {
        delayed_acks: Some(400),
        retransmitted_segments: Some(400),
        retransmitted_syns: Some(400),
    });
    record
}

fn slow_replies(count: u64, slow_ns: u64) -> RunRecord {
    let mut record = counted(slow_ns);
    record.blocks[0].round_trip =
        times(40_000, |index| if index < count { slow_ns } else { 1_000_000 + index });
    record
}

fn slow_connects(count: u64, slow_ns: u64) -> RunRecord {
    let mut record = counted(slow_ns);
    record.blocks[0].phases.connect =
        times(50, |index| if index < count { slow_ns } else { 80_000 + index });
    record
}

#[test]
fn connections_that_are_opened_again_all_the_time_are_named() {
    let opened_again = |reconnects, failed| {
        let mut record = good::closed();
        record.blocks[0].connections.reconnects = reconnects;
        record.blocks[0].connections.failed = failed;
        codes(&record)
    };
    let reopened = |reconnects| opened_again(reconnects, 0);
    // There are 40 000 replies.
    assert_eq!(reopened(0), [""; 0]);
    assert_eq!(reopened(399), [""; 0]);
    assert_eq!(reopened(400), ["reopened_connections"]);
    assert_eq!(reopened(39_950), ["reopened_connections"]);
    // A server that restarts ends all 50 connections at once, however few replies there are.
    let mut short = good::closed();
    short.blocks[0].counts.ok = 4000;
    short.blocks[0].connections.reconnects = 100;
    assert_eq!(codes(&short), [""; 0]);
    short.blocks[0].connections.reconnects = 150;
    assert_eq!(codes(&short), ["reopened_connections"]);
    // The server has died, and every later connect fails.
    assert_eq!(opened_again(4019, 4019), [""; 0]);
}

fn error(class: &str, count: u64, example: &str) -> ErrorCount {
    ErrorCount { class: class.to_owned(), count, example: example.to_owned() }
}
