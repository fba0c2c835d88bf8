//! Known causes by their signatures: what shows them, and what comes close and must not.

use crate::good::{self, times};
use record::{ErrorCount, Lifetime, OpenLoop, Resumption, RunRecord, Workload, signatures};

#[test]
fn good_records_show_none() {
    for record in [good::open(), good::closed(), good::ladder()] {
        assert_eq!(codes(&record), [""; 0]);
    }
}

#[test]
fn replies_of_40_ms_are_a_delayed_ack() {
    // One of a hundred, beside the usual ones.
    assert_eq!(codes(&slow_replies(400, 40_300_000)), ["delayed_ack"]);
    assert_eq!(codes(&slow_replies(9, 40_300_000)), [""; 0]);
    assert_eq!(codes(&slow_replies(400, 36_000_000)), [""; 0]);
    // A tail that passes through 40 ms has no edge there.
    let tail = |index: u64| if index < 4000 { 1_000_000 + index * 20_000 } else { 1_000_000 };
    let mut record = good::closed();
    record.blocks[0].round_trip = times(40_000, tail);
    assert_eq!(codes(&record), [""; 0]);
    // Nor has a Unix socket ACKs.
    let mut record = slow_replies(400, 40_300_000);
    record.plan.workloads[0].transport = "unix".to_owned();
    assert_eq!(codes(&record), [""; 0]);
}

#[test]
fn the_service_time_of_an_open_loop_is_looked_at_and_not_its_response() {
    let slow = |index: u64| if index < 400 { 40_300_000 } else { 1_000_000 };
    let with = |change: fn(&mut OpenLoop, Option<record::Summary>)| {
        let mut record = good::open();
        change(record.blocks[0].open_loop.as_mut().unwrap(), times(20_000, slow));
        codes(&record)
    };
    assert_eq!(with(|times_of, slow| times_of.service = slow), ["delayed_ack"]);
    // What makes a response longer than its reply is the wait for a connection.
    assert_eq!(with(|times_of, slow| times_of.response = slow), ["waiting_for_connections"]);
}

#[test]
fn replies_of_200_ms_are_retransmissions_and_connects_of_200_ms_are_not() {
    assert_eq!(codes(&slow_replies(400, 204_000_000)), ["retransmission"]);
    assert_eq!(codes(&slow_replies(400, 190_000_000)), [""; 0]);
    assert_eq!(codes(&slow_connects(20, 204_000_000)), ["happy_eyeballs"]);
    assert_eq!(codes(&slow_connects(20, 251_000_000)), ["happy_eyeballs"]);
    assert_eq!(codes(&slow_connects(20, 300_000_000)), [""; 0]);
}

#[test]
fn connects_of_1_s_and_3_s_are_syn_retries() {
    assert_eq!(codes(&slow_connects(1, 1_010_000_000)), ["syn_retries"]);
    assert_eq!(codes(&slow_connects(1, 3_030_000_000)), ["syn_retries"]);
    assert_eq!(codes(&slow_connects(1, 2_000_000_000)), [""; 0]);
    let mut record = slow_connects(3, 1_010_000_000);
    assert_eq!(signatures(&record)[0].evidence, "3 of 50 between 995 ms and 1.1 s");
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
    let says_so = "no free port, or not an address of this machine";
    assert_eq!(held(20_000, 100, 0, says_so), ["ephemeral_ports"]);
    let mut clients = good::closed();
    clients.plan.workloads[0].lifetime = Lifetime::RoundTrips(1);
    clients.blocks[0].connections.opened = 28_000;
    clients.blocks[0].connections.failed = 1;
    assert_eq!(codes(&clients), [""; 0]);
}

#[test]
fn refused_beside_others_that_were_accepted_is_the_backlog() {
    let refused = |opened, class: &str| {
        let mut record = good::closed();
        record.blocks[0].connections.opened = opened;
        record.blocks[0].errors = vec![error(class, 7, "connection refused")];
        codes(&record)
    };
    assert_eq!(refused(43, "connect_failed"), ["backlog"]);
    // Nobody listens there.
    assert_eq!(refused(0, "connect_failed"), [""; 0]);
    assert_eq!(refused(43, "wrong_reply"), [""; 0]);
}

#[test]
fn messages_that_wait_for_a_connection_are_told_from_a_late_generator() {
    let slow = |waited_ns: u64, lag_ns: u64| {
        let mut record = good::open();
        let times_of = record.blocks[0].open_loop.as_mut().unwrap();
        times_of.send_lag = times(20_000, |_| lag_ns);
        times_of.response = times(20_000, |index| 1_000_000 + waited_ns + lag_ns + index * 20);
        record
    };
    assert_eq!(codes(&slow(200_000, 5_000)), ["waiting_for_connections"]);
    assert_eq!(codes(&slow(100_000, 5_000)), [""; 0]);
    assert_eq!(codes(&slow(0, 15_000_000)), [""; 0]);
    // After a gap of our own loop many wait.
    let mut stalled = slow(200_000, 5_000);
    stalled.blocks[0].stalls.affected = 201;
    assert_eq!(codes(&stalled), [""; 0]);
    // A message that failed is in the response alone.
    let mut failed = slow(200_000, 5_000);
    failed.blocks[0].counts.ok -= 1;
    assert_eq!(codes(&failed), [""; 0]);
}

#[test]
fn clients_that_came_with_tickets_for_nothing_are_named() {
    let with = |full, resumed, change: fn(&mut Workload)| {
        let mut record = good::closed();
        record.plan.workloads[0].lifetime = Lifetime::RoundTrips(1);
        change(&mut record.plan.workloads[0]);
        let seen = record.blocks[0].tls.as_mut().unwrap();
        (seen.full, seen.resumed) = (full, resumed);
        codes(&record)
    };
    assert_eq!(with(1000, 0, |_| ()), ["not_resumed"]);
    assert_eq!(with(1000, 1, |_| ()), [""; 0]);
    // 50 at a time: these need not have seen a ticket.
    assert_eq!(with(100, 0, |_| ()), [""; 0]);
    assert_eq!(with(1000, 0, |asked| asked.lifetime = Lifetime::Long), [""; 0]);
    let none = |asked: &mut Workload| asked.tls.as_mut().unwrap().resumption = Resumption::None;
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
    record.blocks[1].round_trip = slow_replies(400, 40_300_000).blocks.remove(0).round_trip;
    let all = signatures(&record);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].evidence, "ws: 400 of 400000 between 39.5 ms and 46 ms");
}

fn codes(record: &RunRecord) -> Vec<String> {
    signatures(record).into_iter().map(|warning| warning.code).collect()
}

fn slow_replies(count: u64, slow_ns: u64) -> RunRecord {
    let mut record = good::closed();
    record.blocks[0].round_trip =
        times(40_000, |index| if index < count { slow_ns } else { 1_000_000 + index });
    record
}

fn slow_connects(count: u64, slow_ns: u64) -> RunRecord {
    let mut record = good::closed();
    record.blocks[0].phases.connect =
        times(50, |index| if index < count { slow_ns } else { 80_000 + index });
    record
}

#[test]
fn connections_that_are_opened_again_all_the_time_are_named() {
    let reopened = |reconnects| {
        let mut record = good::closed();
        record.blocks[0].connections.reconnects = reconnects;
        codes(&record)
    };
    // There are 40 000 replies.
    assert_eq!(reopened(0), [""; 0]);
    assert_eq!(reopened(399), [""; 0]);
    assert_eq!(reopened(400), ["reopened_connections"]);
    assert_eq!(reopened(39_950), ["reopened_connections"]);
}

fn error(class: &str, count: u64, example: &str) -> ErrorCount {
    ErrorCount { class: class.to_owned(), count, example: example.to_owned() }
}
