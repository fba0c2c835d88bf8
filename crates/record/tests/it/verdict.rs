//! Every reason for doubt: what provokes it, and what comes close and must not.

use crate::example;
use crate::good::{self, times};
use record::{
    AgentPart, Block, Capacity, Certificate, Check, Comparison, Container, Counts, Deliveries,
    DeliveryCounts, DeliveryEnds, Ended, ErrorCount, Estimate, Fairness, Identity, Kind, Knee,
    Level, Little, Neighbours, Number, OpenLoop, PartEnd, PayloadKind, Pinning, Reason, RunRecord,
    Sessions, Spacing, Split, Stalls, Subject, Sweep, SweepLine, SweepOf, SweepStep, TabDeliveries,
    TlsSeen, Verdict, Workload, generator_faults, incomparable, judge, judge_sweep,
};
use spec::{
    ClientSubject, Conduct, Content, Conversation, Load, Pem, Protocol, Rooms, Server,
    ServerSubject, Tls, Trust,
};
use std::num::NonZeroU32;
use units::{Bytes, Nanos};

#[test]
fn good_records_are_trusted() {
    for record in [good::open(), good::closed(), good::ladder()] {
        let verdict = judge(&record);
        assert_eq!((verdict.level, &verdict.reasons[..]), (Level::Trusted, &[][..]));
    }
}

#[test]
fn a_sweep_is_judged_by_the_steps_that_were_carried_and_each_reason_once() {
    let codes = |busy: [f64; 4], unsent: [u64; 4]| {
        let record = sweep(|index, block| {
            block.cpu.busiest_worker_fraction = Some(busy[index]);
            block.counts.planned += unsent[index];
            block.counts.unsent = unsent[index];
        });
        let all = judge(&record).reasons.into_iter();
        (all.map(|reason| (reason.code, reason.workload)).collect::<Vec<_>>(), levels(&record))
    };
    use Level::{Degraded, Trusted};
    let idle = [0.5; 4];
    assert_eq!(codes(idle, [0; 4]), (vec![], vec![Trusted; 4]));
    // The last step is above the knee: it is not supposed to be carried.
    assert_eq!(codes(idle, [0, 0, 0, 20_000]), (vec![], vec![Trusted; 4]));
    assert_eq!(
        codes([0.5, 0.5, 0.5, 0.95], [0; 4]),
        (vec![], vec![Trusted, Trusted, Trusted, Degraded])
    );
    assert_eq!(
        codes([0.5, 0.93, 0.95, 0.95], [0; 4]),
        (
            vec![("generator_bound".to_owned(), Some(1))],
            vec![Trusted, Degraded, Degraded, Degraded]
        )
    );
}

#[test]
fn what_is_invalid_on_a_few_steps_degrades_a_sweep() {
    let level = |late: usize| {
        let record = sweep(|index, block| {
            let times_of = block.open_loop.as_mut().unwrap();
            if index < late {
                times_of.send_lag = times(20_000, |_| 1_600_000);
                times_of.response = times(20_000, |index| 2_600_000 + index * 20);
            }
        });
        (judge(&record).level, levels(&record)[0])
    };
    assert_eq!(level(0), (Level::Trusted, Level::Trusted));
    assert_eq!(level(1), (Level::Degraded, Level::Invalid));
    assert_eq!(level(3), (Level::Invalid, Level::Invalid));
}

#[test]
fn a_knee_is_trusted_as_the_steps_on_either_side_of_it_are() {
    use Level::{Degraded, Invalid, Trusted};
    let found = |slo: Option<&str>, change: &dyn Fn(usize, &mut Block)| {
        let mut record = sweep(change);
        record.sweep.as_mut().unwrap().slo = slo.map(str::to_owned);
        judge_sweep(&mut record);
        let line = record.sweep.unwrap().lines.remove(0);
        (line.level, line.capacity.unwrap().level)
    };
    let busy = |at: usize| {
        move |index: usize, block: &mut Block| {
            if index == at {
                block.cpu.busiest_worker_fraction = Some(0.95);
            }
        }
    };
    // 100, 200 and 400/s were carried, 100 and 200/s of them within the objective.
    assert_eq!(found(None, &|_, _| ()), (Trusted, Trusted));
    assert_eq!(found(None, &busy(0)), (Trusted, Trusted), "it rests on larger loads");
    assert_eq!(found(None, &busy(1)), (Trusted, Degraded));
    assert_eq!(found(None, &busy(2)), (Degraded, Degraded));
    assert_eq!(found(None, &busy(3)), (Degraded, Trusted), "it may be the generator that bends");
    // The effects of an overload are no reason for doubt.
    let failed = |index: usize, block: &mut Block| {
        if index == 3 {
            (block.counts.ok, block.counts.timed_out) = (10_000, 10_000);
        }
    };
    assert_eq!(found(None, &failed), (Trusted, Trusted));
    // Lateness that makes up most of the p99 only.
    let late = |index: usize, block: &mut Block| {
        if index == 1 {
            let lag = |message| if message < 300 { 5_000_000 } else { 1_000 };
            let times_of = block.open_loop.as_mut().unwrap();
            times_of.send_lag = times(20_000, lag);
            times_of.response = times(20_000, |index| 1_000_000 + lag(index) + index * 20);
        }
    };
    assert_eq!(found(Some("p50 < 5ms"), &late), (Trusted, Trusted));
    assert_eq!(found(Some("p99 < 5ms"), &late), (Trusted, Invalid));
    // Lateness that makes up most of the p50: the times are no result, but the counts still are.
    let later = |index: usize, block: &mut Block| {
        if index == 2 {
            let times_of = block.open_loop.as_mut().unwrap();
            times_of.send_lag = times(20_000, |_| 1_600_000);
            times_of.response = times(20_000, |index| 2_600_000 + index * 20);
        }
    };
    assert_eq!(found(None, &later).0, Degraded);
    // Without a knee, the step above it does not count.
    let mut record = sweep(busy(3));
    record.sweep.as_mut().unwrap().lines[0].knee =
        Knee::NotReached { offered_max_per_s: 400.0, reason: "the generator".to_owned() };
    judge_sweep(&mut record);
    assert_eq!(record.sweep.unwrap().lines[0].level, Trusted);
}

/// The trust in the numbers of each step of a sweep.
fn levels(record: &RunRecord) -> Vec<Level> {
    let mut record = record.clone();
    judge_sweep(&mut record);
    record.sweep.expect("a sweep").steps.iter().map(|step| step.level).collect()
}

/// Three steps that were carried, and one that was not, each changed by `change`.
fn sweep(change: impl Fn(usize, &mut Block)) -> RunRecord {
    let mut record = good::open();
    let (workload, block) = (record.plan.workloads[0].clone(), record.blocks[0].clone());
    record.plan.workloads = vec![workload; 4];
    record.results.clear();
    record.blocks = (0..4).map(|index| Block { workload: index, ..block.clone() }).collect();
    record.blocks.iter_mut().enumerate().for_each(|(index, block)| change(index, block));
    let estimate = Estimate { value: 1.0, low: None, high: None };
    let step = |index: usize| SweepStep {
        line: 0,
        workload: index,
        blocks: vec![index],
        offered_per_s: [100.0, 200.0, 400.0, 800.0][index],
        bots: 50,
        achieved_per_s: estimate,
        achieved_fraction: estimate,
        blocks_kept: None,
        blocks_within: None,
        response: None,
        last_1000_mean_ms: None,
        machine_idle_fraction: None,
        server_cores_used: None,
        generator_cores_used: None,
        payload_bytes_per_s: None,
        stream_bytes_per_s: None,
        interface_bytes_per_s: None,
        server_memory_bytes: None,
        server_machine: None,
        level: Level::Trusted,
    };
    let knee =
        Knee::Found { offered_per_s: 600.0, low_per_s: 400.0, high_per_s: 800.0, confirmed: false };
    record.sweep = Some(Sweep {
        of: SweepOf::Rate,
        preset: None,
        published: None,
        slo: None,
        lines: vec![SweepLine {
            name: "ws".to_owned(),
            knee,
            level: Level::Trusted,
            capacity: Some(Capacity {
                offered_per_s: 200.0,
                low_per_s: 200.0,
                high_per_s: Some(400.0),
                confirmed: false,
                level: Level::Trusted,
            }),
            ran_out: "the server".to_owned(),
        }],
        steps: (0..4).map(step).collect(),
    });
    record
}

#[test]
fn an_open_loop_is_generator_bound_where_its_own_lateness_shows() {
    let late = |lag_ns: u64| {
        let record = open(move |block, times_of| {
            times_of.send_lag = times(20_000, |_| lag_ns);
            times_of.response = times(20_000, |index| 1_000_000 + lag_ns + index * 20);
            block.cpu.busiest_worker_fraction = Some(0.5);
        });
        codes(&record)
    };
    // The response is 1.0 to 1.4 ms and the lag, its p50 1.2 ms; the timer floor explains 140 us of the p99.
    assert_eq!(late(130_000), []);
    assert_eq!(late(400_000), [("generator_bound", Level::Degraded)]);
    assert_eq!(late(1_100_000), [("generator_bound", Level::Degraded)]);
    assert_eq!(late(1_300_000), [("generator_bound", Level::Invalid)]);
}

#[test]
fn a_percentile_that_is_mostly_our_own_lateness_is_doubted_alone() {
    let judged = |late_messages: u64| {
        let mut record = open(|block, times_of| {
            let lag = move |index| if index < late_messages { 5_000_000 } else { 5_000 };
            times_of.send_lag = times(20_000, lag);
            times_of.response = times(20_000, |index| 1_000_000 + lag(index) + index * 20);
            block.cpu.busiest_worker_fraction = Some(0.5);
        });
        record.kind = Kind::Run;
        let verdict = judge(&record);
        (verdict.level, verdict.row(0).level, verdict.row(0).numbers)
    };
    use Level::{Degraded, Invalid, Trusted};
    let doubted = |numbers: &[Number]| numbers.iter().map(|it| (*it, Invalid)).collect();
    // One message in 200, in 50, in 5, and most of them are late.
    assert_eq!(judged(100), (Trusted, Trusted, doubted(&[])));
    assert_eq!(judged(400), (Degraded, Trusted, doubted(&[Number::P99, Number::Tail])));
    assert_eq!(
        judged(4000),
        (Degraded, Trusted, doubted(&[Number::P90, Number::P99, Number::Tail]))
    );
    assert_eq!(judged(12_000), (Invalid, Invalid, doubted(&[])));
}

#[test]
fn a_comparison_is_as_good_as_the_rows_that_answer_it() {
    use Level::{Degraded, Invalid, Trusted};
    let judged = |kind: Kind, rows: &[Level]| {
        let mut record = good::ladder();
        record.kind = kind;
        while record.plan.workloads.len() < rows.len() {
            let index = record.plan.workloads.len();
            let name = format!("ws-{index}");
            let mut workload = record.plan.workloads[1].clone();
            workload.spec.name = name;
            record.plan.workloads.push(workload);
            let like = record.blocks.iter().filter(|block| block.workload == 1);
            let more: Vec<Block> =
                like.map(|block| Block { workload: index, ..block.clone() }).collect();
            record.blocks.extend(more);
        }
        for block in &mut record.blocks {
            match rows[block.workload] {
                Trusted => {}
                Degraded => block.identity = Some(Identity { lost: 1, ..Identity::default() }),
                Invalid => {
                    block.fairness = Some(Fairness { connections: 50, ..Fairness::default() })
                }
            }
        }
        let verdict = judge(&record);
        let found: Vec<Level> = (0..rows.len()).map(|index| verdict.row(index).level).collect();
        assert_eq!(found, rows);
        verdict.level
    };
    #[rustfmt::skip]
    let table = [
        // kind,       rows, the baseline first,                      the record
        (Kind::Ladder, &[Trusted,  Trusted,  Trusted][..],            Trusted),
        (Kind::Ladder, &[Trusted,  Invalid,  Trusted],                Trusted),
        (Kind::Ladder, &[Trusted,  Invalid,  Degraded],               Degraded),
        (Kind::Ladder, &[Trusted,  Invalid,  Invalid],                Invalid),
        (Kind::Ladder, &[Degraded, Trusted,  Trusted],                Degraded),
        (Kind::Ladder, &[Invalid,  Trusted,  Trusted],                Invalid),
        // A ranking needs two.
        (Kind::Lab,    &[Trusted,  Trusted,  Invalid, Trusted],       Trusted),
        (Kind::Lab,    &[Trusted,  Trusted,  Invalid, Degraded],      Degraded),
        (Kind::Lab,    &[Trusted,  Trusted,  Invalid, Invalid],       Degraded),
        (Kind::Lab,    &[Trusted,  Invalid,  Invalid],                Invalid),
        (Kind::Lab,    &[Trusted,  Trusted],                          Trusted),
    ];
    for row @ (kind, rows, level) in table {
        assert_eq!(judged(kind, rows), level, "{row:?}");
    }
    // A row that is compared with no other was asked for on its own.
    let mut alone = good::ladder();
    (alone.kind, alone.plan.baseline) = (Kind::Run, None);
    alone.plan.workloads.iter_mut().for_each(|workload| workload.spec.baseline = None);
    let of_second = alone.blocks.iter_mut().filter(|block| block.workload == 1);
    of_second.for_each(|block| {
        block.fairness = Some(Fairness { connections: 50, ..Fairness::default() })
    });
    assert_eq!(judge(&alone).level, Invalid);
    // A failure beside a result is shown as a failure.
    let of_second = alone.blocks.iter_mut().filter(|block| block.workload == 1);
    of_second.for_each(|block| block.failed = Some("connection refused".to_owned()));
    assert_eq!((judge(&alone).level, judge(&alone).row(1).level), (Degraded, Invalid));
}

#[test]
fn a_record_is_as_good_as_the_percentiles_that_its_answer_needs() {
    use Level::{Degraded, Invalid, Trusted};
    // `count` of 20 000 messages are late by 5 ms, which is most of their response time.
    let late = |count: u64| {
        move |block: &mut Block| {
            let lag = move |index| if index < count { 5_000_000 } else { 5_000 };
            let times_of = block.open_loop.as_mut().unwrap();
            times_of.send_lag = times(20_000, lag);
            times_of.response = times(20_000, |index| 1_000_000 + lag(index) + index * 20);
        }
    };
    let run = |count| {
        let mut record = good::open();
        late(count)(&mut record.blocks[0]);
        judge(&record)
    };
    let levels = |verdict: &Verdict| (verdict.row(0).of_number(Number::P99), verdict.level);
    assert_eq!(levels(&run(0)), (Trusted, Trusted));
    assert_eq!(levels(&run(300)), (Invalid, Degraded), "the p99 alone");
    assert_eq!(levels(&run(15_000)), (Invalid, Invalid), "the p50 too");

    let of_sweep = |slo: Option<&str>| {
        let mut record = sweep(|_, block| late(300)(block));
        record.sweep.as_mut().unwrap().slo = slo.map(str::to_owned);
        judge(&record).level
    };
    assert_eq!(of_sweep(None), Degraded, "a knee needs no percentile");
    assert_eq!(of_sweep(Some("p50 < 5ms")), Degraded);
    assert_eq!(of_sweep(Some("p99 < 5ms")), Invalid);
}

#[test]
fn rows_of_a_verdict_from_before_they_were_judged_follow_from_its_reasons() {
    let mut record = good::ladder();
    record.environment.steal_during_fraction = Some(0.05);
    let of_second = record.blocks.iter_mut().filter(|block| block.workload == 1);
    of_second.for_each(|block| block.identity = Some(Identity { lost: 1, ..Identity::default() }));
    let verdict = judge(&record);
    let old = Verdict { rows: Vec::new(), ..verdict.clone() };
    assert_eq!([old.row(0), old.row(1)], verdict.rows[..]);
    // Steal is a reason of the whole run, and marks no row.
    assert_eq!([old.row(0).level, old.row(1).level], [Level::Trusted, Level::Degraded]);
}

#[test]
fn a_slow_server_makes_no_generator_bound() {
    // All connections are taken: messages wait seconds for one, while the generator idles.
    let waiting = open(|block, times_of| {
        times_of.response = times(20_000, |index| 1_000_000 + index * 100_020);
        block.cpu.busiest_worker_fraction = Some(0.1);
    });
    assert_eq!(codes(&waiting), []);
    // The server is slow, and we are late by what would be much for a fast one.
    let slow = open(|block, times_of| {
        times_of.send_lag = times(20_000, |_| 10_000_000);
        times_of.service = times(20_000, |index| 200_000_000 + index * 20);
        times_of.response = times(20_000, |index| 210_000_000 + index * 20);
        block.cpu.busiest_worker_fraction = None;
    });
    assert_eq!(codes(&slow), []);
}

#[test]
fn a_worker_without_rest_is_bound_even_if_it_still_keeps_up() {
    let busy = |fraction, busy_poll_ns| {
        let mut record = good::open();
        record.plan.workloads[0].spec.busy_poll = Nanos(busy_poll_ns);
        record.blocks[0].cpu.busiest_worker_fraction = Some(fraction);
        record
    };
    assert_eq!(codes(&busy(0.91, 0)), [("generator_bound", Level::Degraded)]);
    assert_eq!(codes(&busy(0.89, 0)), []);
    // A worker that polls is always busy.
    assert_eq!(codes(&busy(1.0, 10_000)), []);
}

#[test]
fn a_closed_loop_is_generator_bound_only_where_the_server_has_slack() {
    let used = |generator, server| {
        closed(move |block| {
            block.cpu.busiest_worker_fraction = Some(generator);
            block.cpu.generator_cores_used = Some(generator);
            block.cpu.server_cores_used = server;
            block.cpu.machine_idle_fraction = Some(0.2);
        })
    };
    assert_eq!(codes(&used(0.99, Some(0.8))), [("generator_bound", Level::Degraded)]);
    assert_eq!(codes(&used(0.99, Some(0.91))), []);
    assert_eq!(codes(&used(0.85, Some(0.2))), []);
    // For a server that is not ours, all CPU time but our own counts: 2 cores, 20 % idle, 0.99 of a core ours.
    assert_eq!(codes(&used(0.99, None)), [("generator_bound", Level::Degraded)]);
    let mut busy = used(0.99, None);
    busy.blocks[0].cpu.machine_idle_fraction = Some(0.01);
    assert_eq!(codes(&busy), []);
    // Nothing is known about a server on another machine.
    busy.plan.workloads[0].target = "ws://10.0.0.7/".to_owned();
    assert_eq!(codes(&busy), [("generator_bound", Level::Degraded)]);
}

#[test]
fn stalls_count_by_the_messages_they_touched() {
    let stalled = |affected, longest_ns| {
        closed(move |block| {
            block.stalls =
                Stalls { count: 1, longest_ns, total_ns: longest_ns, affected, first: vec![] };
        })
    };
    assert_eq!(codes(&stalled(0, 20_000_000)), []);
    assert_eq!(codes(&stalled(1, 20_000_000)), [("generator_stalled", Level::Degraded)]);
    assert_eq!(codes(&stalled(399, 20_000_000)), [("generator_stalled", Level::Degraded)]);
    assert_eq!(codes(&stalled(400, 20_000_000)), [("generator_stalled", Level::Invalid)]);
    // 130 us is not above 10 % of a p99 of 1.4 ms.
    assert_eq!(codes(&stalled(400, 130_000)), [("generator_stalled", Level::Degraded)]);
    let numbers = |affected| judge(&stalled(affected, 20_000_000)).reasons.remove(0).numbers;
    assert_eq!(numbers(399), [(Number::Tail, Level::Degraded)].into());
    assert_eq!(
        numbers(4000),
        [Number::Tail, Number::P99, Number::P90].map(|number| (number, Level::Invalid)).into()
    );
    assert_eq!(judge(&stalled(20_000, 20_000_000)).row(0).level, Level::Invalid);
}

#[test]
fn a_stall_on_one_of_ten_blocks_counts_if_it_touches_one_message_of_a_hundred_of_all() {
    let stalled = |affected| {
        let mut record = good::ladder();
        record.blocks[0].stalls = Stalls {
            count: 1,
            longest_ns: 1_000_000_000,
            total_ns: 1_000_000_000,
            affected,
            first: vec![],
        };
        let reasons = judge(&record).reasons.into_iter();
        reasons.map(|reason| reason.numbers.into_keys().collect()).collect::<Vec<Vec<Number>>>()
    };
    assert_eq!(stalled(399), [[]; 0]);
    assert_eq!(stalled(3999), [[Number::Tail]]);
    assert_eq!(stalled(4000), [[Number::P90, Number::P99, Number::Tail]]);
}

#[test]
fn one_bad_block_among_many_slightly_bad_ones_is_outvoted_by_them() {
    let mut record = good::ladder();
    for block in record.blocks.iter_mut().filter(|block| block.workload == 0) {
        let affected = if block.round == 0 { 400 } else { 1 };
        let (longest_ns, total_ns) = (20_000_000, 20_000_000);
        block.stalls = Stalls { count: 1, longest_ns, total_ns, affected, first: vec![] };
    }
    let reason = judge(&record).reasons.remove(0);
    assert_eq!(reason.numbers, [(Number::Tail, Level::Degraded)].into());
}

#[test]
fn the_lag_of_a_stalled_generator_is_named_once() {
    let record = open(|block, times_of| {
        times_of.send_lag = times(20_000, |index| if index < 1000 { 500_000_000 } else { 5_000 });
        times_of.response =
            times(20_000, |index| if index < 1000 { 501_000_000 } else { 1_005_000 + index * 20 });
        block.stalls = Stalls {
            count: 1,
            longest_ns: 500_000_000,
            total_ns: 500_000_000,
            affected: 1000,
            first: vec![],
        };
    });
    assert!(
        !codes(&record).iter().any(|(code, _)| *code == "generator_bound"),
        "{:?}",
        codes(&record)
    );
    assert!(codes(&record).contains(&("generator_stalled", Level::Invalid)));
}

#[test]
fn a_generator_is_at_fault_where_a_run_of_its_block_alone_would_be_invalid() {
    let faults = |record: &RunRecord| {
        let ours = ["generator_bound", "generator_stalled"];
        let judged = codes(record).into_iter().filter(|(code, _)| ours.contains(code));
        let worst = judged.map(|(_, level)| level).max();
        let faults = generator_faults(&record.blocks[0], record.environment.timer_floor);
        assert_eq!(faults.is_empty(), worst != Some(Level::Invalid), "{faults:?}, {worst:?}");
        faults
    };
    let late = |messages: u64, lag_ns: u64| {
        open(|block, times_of| {
            let lag = move |index| if index < messages { lag_ns } else { 5_000 };
            times_of.send_lag = times(20_000, lag);
            times_of.response = times(20_000, |index| 1_000_000 + lag(index) + index * 20);
            block.cpu.busiest_worker_fraction = Some(0.5);
        })
    };
    let gap = |longest_ns, affected| {
        let (count, total_ns) = (2, longest_ns + 5_000_000);
        Stalls { count, longest_ns, total_ns, affected, first: vec![] }
    };
    assert_eq!(faults(&late(0, 0)), [""; 0]);
    assert_eq!(faults(&late(20_000, 1_100_000)), [""; 0], "half of a time is not most of it");
    let words =
        "it sent late: send lag p50 1.3 ms is 52.0 % of response p50 2.5 ms, own share 3 us";
    assert_eq!(faults(&late(20_000, 1_300_000)), [words]);
    assert_eq!(faults(&late(100, 5_000_000)), [""; 0], "one message of two hundred moves no p99");
    assert_eq!(faults(&late(400, 5_000_000)).len(), 1);
    // The timers of this machine explain it.
    let mut coarse = late(20_000, 1_300_000);
    let floor = coarse.environment.timer_floor.as_mut().unwrap();
    (floor.overshoot_p50_ns, floor.overshoot_p99_ns) = (200_000, 200_000);
    assert_eq!(faults(&coarse), [""; 0]);

    let stood =
        |longest_ns, affected| closed(move |block| block.stalls = gap(longest_ns, affected));
    assert_eq!(faults(&stood(20_000_000, 399)), [""; 0]);
    assert_eq!(faults(&stood(130_000, 400)), [""; 0]);
    let words = "it stood still: 2 gaps, the longest 20 ms, 25 ms in all; 400 messages were due or in flight \
                 meanwhile (1.0 %)";
    assert_eq!(faults(&stood(20_000_000, 400)), [words]);
    // The gaps explain the lag, so there is only one fault.
    let mut both = late(1000, 500_000_000);
    both.blocks[0].stalls = gap(500_000_000, 1000);
    assert_eq!(faults(&both).len(), 1);
    let mut short_lived = stood(20_000_000, 400);
    short_lived.blocks[0].phases.life = times(40_000, |_| 900_000_000);
    let faults = generator_faults(&short_lived.blocks[0], None);
    assert_eq!(faults, [""; 0], "the gap is nothing beside a life");
}

#[test]
fn agents_that_are_not_trusted_are_left_out_unless_most_of_the_load_is_theirs() {
    let planned_each = |planned: u64, doubted: usize| {
        let part = |index: usize| AgentPart {
            agent: format!("a{index}"),
            planned: Some(planned),
            doubts: (index < doubted).then(|| "it sent late".to_owned()).into_iter().collect(),
            ..AgentPart::default()
        };
        let record = closed(|block| block.agents = (0..4).map(part).collect());
        judge(&record).reasons.into_iter().find(|reason| reason.code == "agent_not_trusted")
    };
    let with = |doubted| planned_each(100, doubted);
    assert_eq!(with(0), None);
    let few = with(2).unwrap();
    assert_eq!(few.level, Level::Degraded);
    assert_eq!(few.message, "agents of the fleet are not trusted: their parts are left out");
    assert_eq!(few.evidence, "a0: it sent late, a1: it sent late");
    let most = with(3).unwrap();
    assert_eq!(most.level, Level::Invalid);
    assert!(most.message.ends_with("are not trusted: these numbers describe them"), "{most:?}");
    let end = "; less than half of the load is trusted, so all parts count";
    assert!(most.evidence.ends_with(end), "{most:?}");

    // A load without messages has no half.
    let one_left = planned_each(0, 3).unwrap();
    assert_eq!((one_left.level, &one_left.message), (Level::Degraded, &few.message));
    let none_left = planned_each(0, 4).unwrap();
    assert_eq!((none_left.level, &none_left.message), (Level::Invalid, &few.message));
    let end = "; no part is trusted, and no measured part planned any message, so none counts";
    assert!(none_left.evidence.ends_with(end), "{none_left:?}");
}

#[test]
fn messages_of_agents_that_are_left_out_were_due_too() {
    let of_two = |doubts: &[&str], end| {
        let mut record = good::open();
        let load = &mut record.plan.workloads[0].spec.load;
        *load = load.times(NonZeroU32::new(2).unwrap()).unwrap();
        let block = &mut record.blocks[0];
        let planned = Some(block.counts.planned).filter(|_| end == PartEnd::Measured);
        let doubts = doubts.iter().map(|doubt| (*doubt).to_owned()).collect();
        let first = AgentPart { planned: Some(block.counts.planned), ..AgentPart::default() };
        block.agents = vec![first, AgentPart { planned, doubts, end, ..AgentPart::default() }];
        judge(&record).reasons
    };
    let named = |reasons: &[Reason]| -> Vec<String> {
        reasons.iter().map(|reason| reason.code.clone()).collect()
    };
    let late = of_two(&["it began late"], PartEnd::Measured);
    assert_eq!(named(&late), ["agent_not_trusted"]);
    let lost = of_two(&[], PartEnd::Lost);
    assert_eq!(named(&lost), ["asked_not_achieved", "agent_lost"]);
    // A lower rate would bring no agent back.
    assert!(lost.iter().all(|it| it.advice.starts_with("look at the machines")), "{lost:?}");
}

#[test]
fn connections_that_were_not_opened_were_asked_and_not_achieved() {
    let opened = |opened| {
        closed(move |block| {
            block.connections.asked = 1000;
            block.connections.opened = opened;
        })
    };
    assert_eq!(codes(&opened(990)), []);
    assert_eq!(codes(&opened(989)), [("asked_not_achieved", Level::Degraded)]);
}

#[test]
fn more_than_one_unsent_message_of_a_hundred_is_no_result() {
    let unsent = |unsent| {
        open(move |block, _| {
            block.counts.planned += unsent;
            block.counts.unsent = unsent;
        })
    };
    assert_eq!(codes(&unsent(200)), []);
    assert_eq!(codes(&unsent(300)), [("asked_not_achieved", Level::Invalid)]);
}

#[test]
fn a_server_that_died_is_no_reason_for_a_lower_rate() {
    let advice = |failed| {
        let record = open(move |block, _| {
            block.counts.planned += 683;
            block.counts.unsent = 683;
            block.connections.failed = failed;
        });
        let verdict = judge(&record);
        verdict
            .reasons
            .into_iter()
            .find(|reason| reason.code == "asked_not_achieved")
            .unwrap()
            .advice
    };
    assert!(advice(0).starts_with("lower the --rate"), "{}", advice(0));
    assert!(advice(4019).starts_with("look at the errors"), "{}", advice(4019));
}

#[test]
fn a_rate_that_was_not_achieved_is_named() {
    let replied = |messages_per_s| open(move |block, _| block.messages_per_s = messages_per_s);
    // 20 000 were due; a handful of replies is on its way at either end.
    assert_eq!(codes(&replied(1980.0)), []);
    assert_eq!(codes(&replied(1975.0)), [("asked_not_achieved", Level::Degraded)]);
    let mut behind = good::open();
    behind.plan.workloads[0].spec.load = example::open("2030/s", Spacing::Uniform);
    assert_eq!(codes(&behind), [("asked_not_achieved", Level::Degraded)]);
    // That many may be missing by chance.
    behind.plan.workloads[0].spec.load = example::open("2030/s", Spacing::Poisson);
    assert_eq!(codes(&behind), []);
    behind.plan.workloads[0].spec.load = example::bots(Nanos::from_millis(25));
    assert_eq!(codes(&behind), []);
}

#[test]
fn sessions_that_did_not_begin_are_named() {
    let began = |started| {
        let mut record = open(move |_, times_of| {
            times_of.sessions = Some(Sessions { planned: 1000, started, completed: 900 });
        });
        record.plan.workloads[0].spec.load = Load::Sessions {
            connections: NonZeroU32::new(50).unwrap(),
            rate: "100/s".parse().unwrap(),
            spacing: Spacing::Uniform,
            messages_each: NonZeroU32::new(20).unwrap(),
            think: Nanos::from_secs(1),
        };
        codes(&record)
    };
    assert_eq!(began(990), []);
    assert_eq!(began(989), [("asked_not_achieved", Level::Degraded)]);
}

#[test]
fn what_still_waits_after_the_drain_is_in_no_percentile() {
    let waiting = |mut record: RunRecord, share: u64| {
        let counts = &mut record.blocks[0].counts;
        counts.in_flight_at_end = counts.sent * share / 1000;
        counts.ok -= counts.in_flight_at_end;
        let ok = counts.ok;
        if let Some(times_of) = &mut record.blocks[0].open_loop {
            times_of.response = times(ok, |index| 1_005_000 + index * 20);
            times_of.service = times(ok, |index| 1_000_000 + index * 20);
        } else {
            record.blocks[0].round_trip = times(ok, |index| 1_000_000 + index * 10);
        }
        record
    };
    assert_eq!(codes(&waiting(good::open(), 10)), []);
    assert_eq!(codes(&waiting(good::open(), 11)), [("unanswered", Level::Invalid)]);
    assert_eq!(codes(&waiting(good::closed(), 11)), [("unanswered", Level::Degraded)]);
    let mut cut = waiting(good::open(), 11);
    cut.ended = Ended::Interrupted { signal: 2 };
    assert_eq!(codes(&cut), []);
}

#[test]
fn littles_law_is_broken_or_not() {
    let off = |deviation_fraction: f64, holds| {
        closed(move |block| {
            block.little = Little::Checked {
                expected_in_flight: 50.0,
                measured_in_flight: 50.0 * (1.0 + deviation_fraction),
                deviation_fraction,
                holds,
            };
        })
    };
    assert_eq!(codes(&off(-0.05, true)), []);
    assert_eq!(codes(&off(-0.06, false)), [("littles_law", Level::Invalid)]);
    let mut one_of_ten = good::ladder();
    one_of_ten.blocks[0].little = off(-0.06, false).blocks[0].little.clone();
    assert_eq!(codes(&one_of_ten), [("littles_law", Level::Degraded)]);
}

#[test]
fn what_a_client_subject_does_of_itself_is_no_limit_of_ours() {
    let client = |change: fn(&mut Block)| {
        let mut record = closed(|block| {
            block.cpu.busiest_worker_fraction = None;
            block.cpu.generator_cores_used = Some(1.0);
            block.cpu.server_cores_used = Some(0.3);
        });
        change(&mut record.blocks[0]);
        record.plan.workloads[0].client = Some(Subject::default());
        record
    };
    assert_eq!(codes(&client(|_| {})), [], "its core is busy all the time");
    let gaps = client(|block| {
        block.little = Little::Checked {
            expected_in_flight: 50.0,
            measured_in_flight: 35.0,
            deviation_fraction: -0.3,
            holds: false,
        };
    });
    assert_eq!(codes(&gaps), [("littles_law", Level::Degraded)]);
    // In an open loop it reports right replies only, and not how late it sent.
    let mut open = good::open();
    open.plan.workloads[0].client = Some(Subject::default());
    let times = times_of(&mut open);
    times.send_lag = None;
    times.response = None;
    assert_eq!(codes(&open), []);
    // What it fails to do is still named.
    let failed = client(|block| {
        (block.counts.ok, block.counts.error) = (0, block.counts.sent);
        block.messages_per_s = 0.0;
    });
    assert!(codes(&failed).iter().any(|(code, _)| *code == "nothing_succeeded"));
}

#[test]
fn counts_that_do_not_add_up_are_a_bug_of_ours() {
    let impossible = [("impossible", Level::Invalid)];
    assert_eq!(codes(&closed(|block| block.counts.ok -= 1)), impossible);
    assert_eq!(codes(&closed(|block| block.counts.planned += 1)), impossible);
    // One block of many is enough.
    let mut one_of_ten = good::ladder();
    one_of_ten.blocks[0].counts.ok -= 1;
    assert_eq!(codes(&one_of_ten), impossible);
    // An error counts in the response times, but not in the service times.
    let with_error = |responses| {
        codes(&open(move |block, times_of| {
            block.counts.ok -= 1;
            block.counts.error += 1;
            times_of.service = times(19_999, |index| 1_000_000 + index * 20);
            times_of.response = times(responses, |index| 1_005_000 + index * 20);
        }))
    };
    assert_eq!(with_error(20_000), []);
    assert_eq!(with_error(19_999), impossible);
}

#[test]
fn times_that_cannot_be_are_a_bug_of_ours() {
    let impossible = [("impossible", Level::Invalid)];
    let round_trip = |change: fn(&mut record::Summary)| {
        codes(&closed(move |block| change(block.round_trip.as_mut().unwrap())))
    };
    assert_eq!(round_trip(|times| times.min_ns = 0), impossible);
    assert_eq!(round_trip(|times| times.min_ns = 1), []);
    assert_eq!(round_trip(|times| times.p90_ns = Some(2_000_000)), impossible);
    assert_eq!(round_trip(|times| times.mean_ns = -1.0), impossible);
    assert_eq!(round_trip(|times| times.mean_ns = f64::NAN), impossible);
    assert_eq!(round_trip(|times| times.mean_ns = 1_500_000.0), impossible);
    assert_eq!(codes(&closed(|block| block.messages_per_s = -1.0)), impossible);
}

#[test]
fn a_mean_above_the_p99_is_possible_with_few_slow_messages() {
    let slow = |slow_ns| {
        codes(&closed(move |block| {
            block.round_trip = times(40_000, |index| if index < 100 { slow_ns } else { 1_000_000 });
        }))
    };
    assert_eq!(slow(2_000_000_000), [("mean_above_p99", Level::Degraded)]);
    assert_eq!(slow(2_000_000), []);
}

#[test]
fn a_response_is_the_sum_of_lag_service_and_the_wait_for_a_connection() {
    let impossible = [("impossible", Level::Invalid)];
    let with = |more_ns: u64, lag_ns: u64, connections| {
        let mut record = open(move |_, times_of| {
            times_of.send_lag = times(20_000, |_| lag_ns);
            times_of.response = times(20_000, |index| 1_000_000 + more_ns + index * 20);
        });
        let Load::Open { connections: held, .. } = &mut record.plan.workloads[0].spec.load else {
            panic!("it is an open loop");
        };
        *held = NonZeroU32::new(connections).unwrap();
        record
    };
    assert_eq!(codes(&with(10_000, 5_000, 50)), []);
    // In 1.5 ms three messages are due: of 50 connections some are free, of five none needs to be.
    assert_eq!(codes(&with(105_000, 5_000, 50)), impossible);
    assert_eq!(codes(&with(105_000, 5_000, 5)), []);
    let mut lost = with(105_000, 5_000, 50);
    lost.blocks[0].connections.lost = 1;
    assert_eq!(codes(&lost), []);
    // Response times that were counted from the send.
    assert_eq!(codes(&with(0, 130_000, 50)), impossible);
    assert_eq!(codes(&with(0, 130_000, 5)), impossible);
}

#[test]
fn a_server_that_gets_no_further_than_the_warm_up_is_overloaded_and_not_absent() {
    let asked = |messages_per_s, timed_out| {
        codes(&open(move |block, times_of| {
            let unsent = 6_000_000 - timed_out;
            block.counts = Counts {
                planned: 6_000_000,
                sent: timed_out,
                unsent,
                timed_out,
                ..Counts::default()
            };
            block.messages_per_s = messages_per_s;
            *times_of =
                OpenLoop { response: times(timed_out, |_| 10_000_000_000), ..OpenLoop::default() };
            times_of.send_lag = times(timed_out, |_| 5_000);
        }))
    };
    assert_eq!(asked(115_000.0, 0), [("asked_not_achieved", Level::Invalid)]);
    let given_up = asked(115_000.0, 4000);
    assert!(!given_up.iter().any(|(code, _)| *code == "nothing_succeeded"), "{given_up:?}");
    assert!(asked(0.0, 4000).contains(&("nothing_succeeded", Level::Invalid)));
}

#[test]
fn advice_names_bots_only_where_there_are_some() {
    let stalls = Stalls {
        count: 1,
        longest_ns: 50_000_000,
        total_ns: 50_000_000,
        affected: 400,
        ..Stalls::default()
    };
    let mut all = [good::open(), good::closed()];
    for record in &mut all {
        let block = &mut record.blocks[0];
        block.stalls = stalls.clone();
        (block.counts.planned, block.counts.unsent) = (block.counts.planned + 10_000, 10_000);
        let advice: Vec<String> =
            judge(record).reasons.into_iter().map(|reason| reason.advice).collect();
        assert!(advice.len() >= 2 && advice.iter().all(|it| !it.contains("bots")), "{advice:?}");
    }
}

#[test]
fn a_single_message_or_a_microsecond_shows_no_speed() {
    let of = |ok: u64, measured_ns| {
        codes(&closed(|block| {
            block.counts = Counts { planned: ok, sent: ok, ok, ..Counts::default() };
            block.round_trip = times(ok, |index| 1_000_000 + index * 10);
            block.measured_ns = measured_ns;
            block.fairness = None;
        }))
    };
    let too_little = [("too_little_measured", Level::Degraded)];
    assert_eq!(of(1, 10_000_000_000), too_little);
    assert_eq!(of(19, 10_000_000_000), too_little);
    assert_eq!(of(20, 10_000_000_000), []);
    assert_eq!(of(50, 1_000), too_little);
    assert_eq!(of(4_000, 99_999_999), too_little);
    assert_eq!(of(4_000, 100_000_000), []);
    // All blocks count together.
    let mut ladder = good::ladder();
    ladder.blocks.iter_mut().for_each(|block| block.measured_ns = 10_000_000);
    assert_eq!(codes(&ladder), []);
}

#[test]
fn a_rate_that_was_changed_by_hand_is_doubted() {
    let rates = |texts: &[&str]| {
        let of = |text: &&str| record::RateChange { at_ns: 7, rate: text.parse().unwrap() };
        closed(|block| block.rate_changes = texts.iter().map(of).collect())
    };
    assert_eq!(codes(&rates(&[])), []);
    let changed = rates(&["900/s", "1000/s"]);
    assert_eq!(codes(&changed), [("rate_changed", Level::Degraded)]);
    assert_eq!(judge(&changed).reasons[0].evidence, "changed to 900/s, 1000/s");
}

#[test]
fn an_agent_of_another_version_is_another_instrument() {
    let with = |version: Option<&str>| {
        let agent = AgentPart { agent: "a1".to_owned(), ..AgentPart::default() };
        closed(|block| {
            block.agents = vec![AgentPart { version: version.map(str::to_owned), ..agent.clone() }];
        })
    };
    assert_eq!(codes(&with(None)), []);
    let mixed = with(Some("0.2.0"));
    assert_eq!(codes(&mixed), [("agents_mixed", Level::Degraded)]);
    assert_eq!(judge(&mixed).reasons[0].evidence, "a1 is 0.2.0");
}

#[test]
fn messages_of_the_warm_up_that_got_no_reply_are_a_reason_of_their_own() {
    let with = |warm_up| {
        let verdict = judge(&closed(|block| block.warm_up = Some(warm_up)));
        let told = verdict.reasons.into_iter();
        told.map(|reason| format!("{}: {}", reason.code, reason.evidence)).collect::<Vec<_>>()
    };
    let all = Counts { planned: 4000, sent: 4000, ok: 4000, ..Counts::default() };
    assert_eq!(with(all), [""; 0]);
    let timed_out = Counts { ok: 3966, timed_out: 34, ..all };
    let words = "failures: 0 errors and 34 timeouts of 4000 messages of the warm-up (0.9 %)";
    assert_eq!(with(timed_out), [words]);
    // 2 of 50 connections.
    let silent = Counts { ok: 3998, in_flight_at_end: 2, ..all };
    let words = "unanswered: 2 messages of the warm-up were never answered, over 50 connections";
    assert_eq!(with(silent), [words]);
    assert_eq!(with(Counts { ok: 3999, ..all }).len(), 1, "counts that do not add up");
}

#[test]
fn the_errors_are_pointed_at_where_there_are_some() {
    let reason = |errors: Vec<ErrorCount>| {
        let record = closed(|block| {
            block.counts = Counts::default();
            block.warm_up =
                Some(Counts { planned: 50, sent: 50, in_flight_at_end: 50, ..Counts::default() });
            (block.messages_per_s, block.round_trip, block.errors) = (0.0, None, errors);
        });
        let mut all = judge(&record).reasons.into_iter();
        let reason = all.find(|reason| reason.code == "nothing_succeeded").unwrap();
        (reason.evidence, reason.advice.contains("errors"))
    };
    let words =
        "no right reply; 50 messages, including the warm-up's, were still waiting at the end";
    assert_eq!(reason(Vec::new()), (words.to_owned(), false));
    let error = ErrorCount { class: "cut".to_owned(), count: 7, example: "reset".to_owned() };
    assert_eq!(reason(vec![error]), ("7 x cut, first: reset".to_owned(), true));
}

#[test]
fn nothing_that_succeeded_is_an_error_and_no_result() {
    let failed = |block: &mut Block| {
        block.counts.error = block.counts.sent;
        block.counts.ok = 0;
        // The last replies of a server that then died.
        block.messages_per_s = 5.0;
        block.round_trip = None;
    };
    assert!(codes(&closed(failed)).contains(&("nothing_succeeded", Level::Invalid)));
    let mut one = good::ladder();
    for block in one.blocks.iter_mut().filter(|block| block.workload == 1) {
        block.failed = Some("connection refused".to_owned());
        block.counts = Counts::default();
    }
    assert_eq!(codes(&one), [("nothing_succeeded", Level::Invalid)]);
    assert_eq!(
        [judge(&one).row(0).level, judge(&one).row(1).level],
        [Level::Trusted, Level::Invalid]
    );
    one.blocks.clear();
    assert_eq!(codes(&one), [("nothing_succeeded", Level::Invalid)]);
    // One reply is a success, and a workload that was not reached is no failure.
    let mut cut = good::ladder();
    cut.ended = Ended::Interrupted { signal: 2 };
    cut.blocks.truncate(1);
    assert_eq!(codes(&cut), []);
}

#[test]
fn failures_and_replies_that_went_astray_degrade() {
    let errors = |error| {
        codes(&closed(move |block| {
            block.counts.error = error;
            block.counts.ok -= error;
            block.round_trip = times(block.counts.ok, |index| 1_000_000 + index * 10);
        }))
    };
    assert_eq!(errors(40), []);
    assert_eq!(errors(41), [("failures", Level::Degraded)]);
    for identity in [
        Identity { lost: 1, ..Identity::default() },
        Identity { duplicate: 1, ..Identity::default() },
        Identity { reordered: 1, ..Identity::default() },
        Identity { corrupted: 1, ..Identity::default() },
    ] {
        let record = closed(move |block| block.identity = Some(identity));
        assert_eq!(codes(&record), [("unreliable_replies", Level::Degraded)]);
    }
    assert_eq!(codes(&closed(|block| block.identity = None)), []);
}

#[test]
fn deliveries_that_did_not_come_or_went_astray_are_told() {
    let all = DeliveryCounts { published: 4000, owed: 4000, ..DeliveryCounts::default() };
    let found = |counts: DeliveryCounts| {
        codes(&open(|block, times_of| {
            let ended = counts.owed.saturating_sub(counts.in_flight_at_end);
            times_of.response = times(ended, |index| 1_000_000 + index * 10);
            block.deliveries = Some(Deliveries { counts, ..Deliveries::default() });
        }))
    };
    let delivered = |missing: u64| DeliveryCounts { delivered: 4000 - missing, ..all };
    assert_eq!(found(delivered(0)), []);
    let undelivered = |level| [("undelivered", level)];
    assert_eq!(found(DeliveryCounts { lost: 1, ..delivered(1) }), undelivered(Level::Degraded));
    assert_eq!(found(DeliveryCounts { cut: 1, ..delivered(1) }), undelivered(Level::Degraded));
    let in_flight = |count| DeliveryCounts { in_flight_at_end: count, ..delivered(count) };
    assert_eq!(found(in_flight(40)), undelivered(Level::Degraded));
    assert_eq!(found(in_flight(41)), undelivered(Level::Invalid));
    assert_eq!(found(delivered(1)), [("impossible", Level::Invalid)]);
    // All arrived, but half of them after the window in which they were due.
    let late = DeliveryCounts { owed: 40_000, delivered: 40_000, ..all };
    assert_eq!(found(late), [("asked_not_achieved", Level::Degraded)]);
    let astray = [("unreliable_replies", Level::Degraded)];
    assert_eq!(found(DeliveryCounts { duplicate: 1, ..delivered(0) }), astray);
    assert_eq!(found(DeliveryCounts { reordered: 1, ..delivered(0) }), astray);
    assert_eq!(found(DeliveryCounts { foreign: 1, ..delivered(0) }), astray);
    assert_eq!(found(DeliveryCounts { early: 1, ..delivered(0) }), []);
}

#[test]
fn deliveries_that_tabs_did_not_have_once_and_in_order_are_told() {
    let whole = TabDeliveries {
        tabs: 10,
        counts: DeliveryEnds { owed: 100, delivered: 100, ..DeliveryEnds::default() },
        ..TabDeliveries::default()
    };
    let found = |tabs: &TabDeliveries| codes(&closed(|block| block.tabs = Some(tabs.clone())));
    assert_eq!(found(&whole), []);
    let ends = |delivered, lost, cut, in_flight_at_end| TabDeliveries {
        counts: DeliveryEnds { owed: 100, delivered, lost, cut, in_flight_at_end },
        ..whole.clone()
    };
    let told = [("undelivered_to_tabs", Level::Degraded)];
    for tabs in [
        ends(99, 1, 0, 0),
        ends(99, 0, 1, 0),
        ends(99, 0, 0, 1),
        TabDeliveries { duplicate: 1, ..whole.clone() },
        TabDeliveries { reordered: 1, ..whole.clone() },
        TabDeliveries { foreign: 1, ..whole.clone() },
    ] {
        assert_eq!(found(&tabs), told, "{tabs:?}");
    }
    assert_eq!(found(&ends(99, 0, 0, 0)), [("impossible", Level::Invalid)]);
}

#[test]
fn a_row_whose_blocks_failed_in_part_is_in_doubt_and_with_half_of_them_no_result() {
    let failed = |count: usize, of: usize| {
        let mut record = good::closed();
        record.blocks = vec![record.blocks.remove(0); of];
        for (round, block) in record.blocks.iter_mut().enumerate() {
            block.round = round;
            block.failed = (round < count).then(|| "connection refused".to_owned());
        }
        record
    };
    assert_eq!(codes(&failed(0, 6)), []);
    assert_eq!(codes(&failed(1, 4)), [("failed_blocks", Level::Degraded)]);
    assert_eq!(codes(&failed(3, 6)), [("failed_blocks", Level::Invalid)]);
    let reasons = judge(&failed(3, 4)).reasons;
    assert_eq!(reasons[0].evidence, "3 of 4 blocks, the first in round 1: connection refused");
}

#[test]
fn a_problem_of_some_blocks_is_one_of_the_percentiles_that_their_messages_move() {
    let noisy = |count: usize| {
        let mut record = good::closed();
        record.blocks = vec![record.blocks.remove(0); 20];
        for (round, block) in record.blocks.iter_mut().enumerate() {
            block.round = round;
            if round < count {
                block.cpu.others_cores_used = Some(1.5);
            }
        }
        let reasons = judge(&record).reasons;
        reasons.into_iter().map(|reason| (reason.code, reason.numbers)).collect::<Vec<_>>()
    };
    let doubted = |numbers: &[Number]| {
        let numbers = numbers.iter().map(|number| (*number, Level::Degraded));
        vec![("noisy_machine".to_owned(), numbers.collect())]
    };
    // In one block half of the messages or more were disturbed: 2.5 % of all.
    assert_eq!(noisy(1), doubted(&[Number::P99, Number::Tail]));
    assert_eq!(noisy(3), doubted(&[Number::P99, Number::Tail]));
    assert_eq!(noisy(4), doubted(&[Number::P90, Number::P99, Number::Tail]));
    assert_eq!(noisy(10), doubted(&[]), "all numbers are doubted");
}

#[test]
fn connections_are_served_unfairly_only_beyond_chance() {
    let served = |replies_min, replies_median| {
        codes(&closed(move |block| {
            block.fairness = Some(Fairness { connections: 50, replies_min, replies_median });
        }))
    };
    assert_eq!(served(399, 800), [("unfair", Level::Degraded)]);
    assert_eq!(served(400, 800), []);
    // A fifth of 20 is what one of many connections may have by chance.
    assert_eq!(served(4, 20), []);
    // The median connection had none, and all together had thousands.
    assert_eq!(served(0, 0), [("unfair", Level::Invalid)]);
}

#[test]
fn parties_that_share_cores_are_named() {
    let shared = [("shared_cores", Level::Degraded)];
    let placed = |generator: &[u32], server: &[u32], cores: &[&[u32]]| {
        let mut record = good::closed();
        record.plan.workloads[0].pinning =
            Pinning { generator_cpus: generator.to_vec(), server_cpus: server.to_vec() };
        record.plan.workloads[0].spec.threads =
            NonZeroU32::new(u32::try_from(generator.len().max(1)).unwrap()).unwrap();
        record.environment.cores_allowed = cores.iter().map(|core| core.to_vec()).collect();
        record.environment.cpus_allowed = cores.concat();
        codes(&record)
    };
    assert_eq!(placed(&[1], &[0], &[&[0], &[1]]), []);
    assert_eq!(placed(&[0], &[0], &[&[0]]), shared);
    assert_eq!(placed(&[1], &[0], &[&[0, 1]]), shared);
    assert_eq!(placed(&[1, 1], &[0], &[&[0], &[1]]), shared);
    assert_eq!(placed(&[1, 2], &[0], &[&[0], &[1, 3], &[2]]), []);
}

#[test]
fn fewer_cores_than_parties_are_named() {
    let shared = [("shared_cores", Level::Degraded)];
    let given = |target: &str, change: fn(&mut RunRecord)| {
        let mut record = good::closed();
        record.plan.workloads[0].pinning = Pinning::default();
        record.plan.workloads[0].target = target.to_owned();
        change(&mut record);
        codes(&record)
    };
    let one_cpu = |record: &mut RunRecord| {
        record.environment.cpus_online = Some(1);
        record.environment.cpus_allowed = vec![0];
    };
    assert_eq!(given("tcp://127.0.0.1:4000", |_| ()), []);
    for local in [
        "tcp://127.0.0.1:4000",
        "ws://localhost:80/",
        "http://[::1]:80/",
        "unix:///run/it",
        "unix:it",
    ] {
        assert_eq!(given(local, one_cpu), shared, "{local}");
    }
    // With a server elsewhere, only the generator is here.
    let elsewhere = |record: &mut RunRecord| {
        record.environment.cpus_allowed = vec![0];
        record.blocks[0].cpu.busiest_worker_fraction = Some(0.5);
    };
    assert_eq!(given("tcp://10.0.0.7:4000", elsewhere), []);
    let quota = |record: &mut RunRecord| {
        record.environment.container =
            Some(Container { cpu_cores_max: Some(1.5), ..Container::default() });
    };
    assert_eq!(given("tcp://127.0.0.1:4000", quota), shared);
}

#[test]
fn a_machine_that_does_other_things_is_noisy() {
    let noisy = [("noisy_machine", Level::Degraded)];
    let steal = |steal| {
        let mut record = good::closed();
        record.environment.steal_during_fraction = Some(steal);
        codes(&record)
    };
    assert_eq!(steal(0.01), []);
    assert_eq!(steal(0.011), noisy);
    let others = |cores, online| {
        let mut record = closed(move |block| block.cpu.others_cores_used = Some(cores));
        record.environment.cpus_online = Some(online);
        codes(&record)
    };
    assert_eq!(others(0.1, 2), []);
    assert_eq!(others(0.11, 2), noisy);
    // There is a core to spare.
    assert_eq!(others(0.9, 3), []);
    let mut crowded = closed(|block| block.cpu.others_cores_used = Some(1.2));
    crowded.environment.cpus_online = Some(2);
    assert_eq!(
        judge(&crowded).reasons[0].evidence,
        "other programs used 1.20 of 2 CPUs, beside 2 parties of ours; threads of the generator waited 0.2 % of the \
         time for a CPU; some program waited 1.0 % of it; the hypervisor took 0.1 % of all CPU time"
    );
    // A reason that all rows share is reported once, and marks none of them.
    let mut shared = good::ladder();
    shared.blocks.iter_mut().for_each(|block| block.cpu.others_cores_used = Some(0.5));
    let verdict = judge(&shared);
    assert_eq!((codes(&shared), verdict.reasons[0].workload), (noisy.to_vec(), None));
    assert_eq!((verdict.level, verdict.row(0).level), (Level::Degraded, Level::Trusted));
    let of_first = shared.blocks.iter_mut().filter(|block| block.workload == 0);
    of_first.for_each(|block| block.cpu.others_cores_used = Some(0.0));
    assert_eq!(judge(&shared).reasons[0].workload, Some(1));
}

#[test]
fn waits_for_a_cpu_doubt_the_percentiles_that_they_move() {
    use Number::{P90, P99, Tail};
    let numbers = |change: fn(&mut RunRecord)| {
        let mut record = good::closed();
        change(&mut record);
        let reason = judge(&record).reasons.pop();
        assert!(reason.as_ref().is_none_or(|it| it.code == "noisy_machine"), "{reason:?}");
        reason.map(|reason| reason.numbers.into_keys().collect::<Vec<Number>>())
    };
    fn near(record: &mut RunRecord) -> &mut Neighbours {
        &mut record.blocks[0].neighbours
    }
    #[rustfmt::skip]
    let table: [(Change, Option<&[Number]>); 9] = [
        (|record| near(record).generator_wait_fraction = Some(0.01),  None),
        (|record| near(record).generator_wait_fraction = Some(0.011), Some(&[P99, Tail])),
        (|record| near(record).generator_wait_fraction = Some(0.11),  Some(&[P90, P99, Tail])),
        (|record| near(record).generator_wait_fraction = Some(0.6),   Some(&[])), // all of them
        // Each of four threads waits a quarter of it.
        (|record| {
            near(record).generator_wait_fraction = Some(0.04);
            record.plan.workloads[0].spec.threads = NonZeroU32::new(4).unwrap();
            record.environment.cpus_online = Some(8);
            record.environment.cpus_allowed = (0..8).collect();
        }, None),
        // A server with many threads waits for itself.
        (|record| near(record).server_wait_fraction = Some(3.0),      None),
        // If the kernel does not count our waits, those of all programs count, above 10 % only: they may not be ours.
        (|record| {
            near(record).generator_wait_fraction = None;
            near(record).pressure_fraction = Some(0.1);
        }, None),
        (|record| {
            near(record).generator_wait_fraction = None;
            near(record).pressure_fraction = Some(0.11);
        }, Some(&[P90, P99, Tail])),
        (|record| near(record).steal_fraction = Some(0.02),           Some(&[P99, Tail])),
    ];
    for (index, (change, expected)) in table.into_iter().enumerate() {
        assert_eq!(numbers(change).as_deref(), expected, "row {index}");
    }
}

#[test]
fn a_doubt_about_the_tail_of_all_rows_is_none_about_the_comparison_of_their_p50() {
    let level = |wait| {
        let mut record = good::ladder();
        let blocks = record.blocks.iter_mut();
        blocks.for_each(|block| block.neighbours.generator_wait_fraction = Some(wait));
        let verdict = judge(&record);
        assert_eq!(
            (&verdict.reasons[0].code[..], verdict.reasons[0].workload),
            ("noisy_machine", None)
        );
        verdict.level
    };
    assert_eq!(level(0.05), Level::Trusted);
    assert_eq!(level(0.6), Level::Degraded);
}

#[test]
fn a_difference_that_the_noise_would_hide_is_named() {
    let compared = |low, smallest| {
        let mut record = good::ladder();
        let comparison = comparison(&mut record);
        (comparison.low, comparison.smallest_detectable_fraction) = (Some(low), Some(smallest));
        codes(&record)
    };
    assert_eq!(compared(1.01, 0.059), []);
    assert_eq!(compared(1.01, 0.061), [("noisy_machine", Level::Degraded)]);
    // No difference is claimed.
    assert_eq!(compared(0.99, 0.061), []);
}

#[test]
fn a_row_over_tcp_that_is_faster_than_the_bare_socket_is_doubted() {
    let judged = |p50: [f64; 3], rate: [f64; 3], change: fn(&mut RunRecord)| {
        let mut record = beside_a_bare_socket(p50, rate);
        change(&mut record);
        let doubts = judge(&record).reasons.into_iter();
        doubts
            .filter(|reason| reason.code == "faster_than_bare_tcp")
            .map(|it| {
                assert_eq!((it.level, it.workload), (Level::Degraded, Some(1)));
                assert_eq!(judge(&record).row(1).level, Level::Degraded);
                it.message.split(" is ").next().map(str::to_owned)
            })
            .collect::<Vec<_>>()
    };
    let named = |names: &str| vec![Some(names.to_owned())];
    let (same, same_rate) = ([1.0, 0.96, 1.04], [1.0, 0.97, 1.03]);
    let (faster, more) = ([0.9, 0.86, 0.94], [1.08, 1.05, 1.11]);
    let unchanged: fn(&mut RunRecord) = |_| {};
    assert_eq!(judged(same, same_rate, unchanged), []);
    assert_eq!(judged(faster, same_rate, unchanged), named("its p50"));
    assert_eq!(judged(same, more, unchanged), named("its throughput"));
    assert_eq!(judged(faster, more, unchanged), named("its p50 and throughput"));
    // A layer makes a row slower, and within the noise nothing is shown: the smallest detectable difference is 3 %.
    assert_eq!(judged([1.1, 1.05, 1.15], [0.9, 0.85, 0.95], unchanged), []);
    assert_eq!(judged([0.975, 0.96, 0.99], same_rate, unchanged), []);
    // Rows that have less to do, or were asked to do something else, may be faster.
    let others: [fn(&mut RunRecord); 12] = [
        |it| row(it).server = Server::Embedded(Protocol::Unix.plain().into()),
        |it| row(it).server = subject("go-raw", Protocol::Tcp),
        |it| row(it).server = subject("floor", Protocol::WebSocket),
        |it| row(it).server = Server::Given("ws://127.0.0.1:9/".parse().unwrap()),
        |it| row(it).client = Some(ClientSubject { name: "floor-client".to_owned(), host: None }),
        |it| row(it).load = example::closed(49),
        |it| row(it).deflate = Some(String::new()),
        |it| row(it).threads = NonZeroU32::new(2).unwrap(),
        |it| row(it).http.method = "GET".to_owned(),
        |it| it.plan.workloads[1].size_bytes += 1,
        |it| it.plan.workloads[0].spec.server = subject("netty", Protocol::Tcp),
        |it| {
            let of_row = it.blocks.iter_mut().filter(|block| block.workload == 1);
            of_row.for_each(|block| block.cpu.server_cores_used = Some(1.8));
        },
    ];
    for (index, change) in others.into_iter().enumerate() {
        assert_eq!(judged(faster, more, change), [], "number {index}");
    }
    let by_others: fn(&mut RunRecord) = |it| row(it).server = subject("netty", Protocol::WebSocket);
    assert_eq!(judged(faster, same_rate, by_others), named("its p50"));
    let in_frames: fn(&mut RunRecord) = |it| {
        row(it).server = subject("artemis", Protocol::Tcp);
        let text =
            "speaks = 'tcp'\nframe = 'lines'\n[request.a]\nsend = 'a'\nreply = { starts = 'a' }";
        row(it).conversation = Some(Conversation::read("frames", text).unwrap());
    };
    assert_eq!(judged(faster, same_rate, in_frames), named("its p50"));
}

#[test]
fn a_row_with_a_lower_p50_and_fewer_messages_a_second_is_uneven_and_not_faster() {
    let found = |p50: [f64; 3], rate: [f64; 3], change: fn(&mut RunRecord)| {
        let mut record = beside_a_bare_socket(p50, rate);
        // Three of four messages are fast, and the fourth waits.
        let of_row = record.blocks.iter_mut().filter(|block| block.workload == 1);
        let waits = |index: u64| if index % 4 == 3 { 6_000_000 } else { 600_000 };
        of_row.for_each(|block| block.round_trip = times(40_000, waits));
        change(&mut record);
        let about_speed = ["faster_than_bare_tcp", "uneven"];
        let judged = judge(&record);
        let is_degraded = judged.row(1).of_number(Number::Ratio) == Level::Degraded;
        let found: Vec<Reason> = (judged.reasons.into_iter())
            .filter(|reason| about_speed.contains(&&reason.code[..]))
            .collect();
        assert_eq!(is_degraded, !found.is_empty());
        found
    };
    let codes = |p50, rate, change| {
        let found = found(p50, rate, change).into_iter();
        found.map(|reason| reason.code).collect::<Vec<_>>()
    };
    let unchanged: fn(&mut RunRecord) = |_| {};
    let (faster, fewer) = ([0.58, 0.55, 0.61], [0.8, 0.77, 0.83]);
    let with_p99: fn(&mut RunRecord) = |it| {
        let ratios = it.results[1].to_baseline.as_mut().unwrap();
        let p99 = ratios.messages_per_s.clone().map(|ratio| Comparison { ratio: 9.0, ..ratio });
        ratios.round_trip_p99_ns = p99;
    };
    let reasons = found(faster, fewer, with_p99);
    let [reason] = &reasons[..] else { panic!("{reasons:?}") };
    assert_eq!(
        (&reason.code[..], reason.level, reason.workload),
        ("uneven", Level::Degraded, Some(1))
    );
    let shown = "p50 42.0 % lower [39.0 %, 45.0 %], throughput 20.0 % lower [17.0 %, 23.0 %], mean 1.62x, p99 9.00x, \
                 against tcp";
    assert_eq!(reason.evidence, shown);
    // More messages, as many, or a p50 that is not shown to be lower.
    assert_eq!(codes(faster, [1.1, 1.05, 1.15], unchanged), ["faster_than_bare_tcp"]);
    assert_eq!(codes(faster, [0.98, 0.95, 1.01], unchanged), ["faster_than_bare_tcp"]);
    assert_eq!(codes([0.98, 0.95, 1.01], fewer, unchanged), [""; 0]);
    assert_eq!(codes([1.1, 1.05, 1.15], fewer, unchanged), [""; 0]);
    // If the number in flight differs or is not known, fewer messages do not imply a longer mean.
    let of_others: [fn(&mut RunRecord); 4] = [
        |it| {
            for workload in &mut it.plan.workloads {
                workload.spec.load = example::open("2000/s", Spacing::Uniform);
            }
            let ratios = it.results[1].to_baseline.as_mut().unwrap();
            ratios.response_p50_ns = ratios.round_trip_p50_ns.clone();
        },
        |it| row(it).load = example::closed(49),
        |it| row(it).client = Some(ClientSubject { name: "beast".to_owned(), host: None }),
        |it| {
            let of_row = it.blocks.iter_mut().filter(|block| block.workload == 1);
            of_row.for_each(|block| block.round_trip = times(40_000, |index| 580_000 + index));
        },
    ];
    for (index, change) in of_others.into_iter().enumerate() {
        let found = codes(faster, fewer, change);
        assert!(!found.contains(&"uneven".to_owned()), "number {index}: {found:?}");
    }
    // A failed block says nothing about the mean.
    let without_blocks: fn(&mut RunRecord) = |it| {
        let of_base = it.blocks.iter_mut().filter(|block| block.workload == 0);
        of_base.for_each(|block| block.failed = Some("refused".to_owned()));
    };
    assert!(!codes(faster, fewer, without_blocks).contains(&"uneven".to_owned()));
}

/// A WebSocket row with these ratios of its p50 and throughput to those of the bare socket, each with its interval.
fn beside_a_bare_socket(p50: [f64; 3], rate: [f64; 3]) -> RunRecord {
    let ratio = |[ratio, low, high]: [f64; 3]| Comparison {
        ratio,
        low: Some(low),
        high: Some(high),
        smallest_detectable_fraction: Some(0.03),
        moved_most_fraction: None,
    };
    let mut record = good::ladder();
    for workload in &mut record.plan.workloads {
        (workload.spec.deflate, workload.spec.tls) = (None, None);
    }
    record.plan.workloads[0].spec.server = Server::Embedded(Protocol::Tcp.plain().into());
    row(&mut record).server = Server::Embedded(Protocol::WebSocket.plain().into());
    let compared = record.results[1].to_baseline.as_mut().expect("it is compared");
    compared.round_trip_p50_ns = Some(ratio(p50));
    compared.messages_per_s = Some(ratio(rate));
    record
}

/// The description of the second row.
fn row(record: &mut RunRecord) -> &mut spec::Workload {
    &mut record.plan.workloads[1].spec
}

fn subject(name: &str, protocol: Protocol) -> Server {
    Server::Subject(ServerSubject::new(name, protocol.plain()))
}

#[test]
fn an_open_loop_on_coarse_timers_is_below_the_floor() {
    let lag = |lag_ns: u64, floor_ns| {
        let mut record = open(move |block, times_of| {
            block.cpu.machine_idle_fraction = Some(0.4);
            times_of.send_lag = times(20_000, |_| lag_ns);
            times_of.response = times(20_000, |index| 1_000_000 + lag_ns + index * 20);
        });
        let floor = record.environment.timer_floor.as_mut().unwrap();
        (floor.overshoot_p50_ns, floor.overshoot_p99_ns) = (floor_ns, floor_ns);
        codes(&record)
    };
    // 200 us are above 10 % of 1.6 ms.
    assert_eq!(lag(200_000, 101_000), [("below_the_floor", Level::Degraded)]);
    // Timers do not explain it.
    assert_eq!(lag(200_000, 90_000), [("generator_bound", Level::Degraded)]);
    assert_eq!(lag(100_000, 100_000), []);
    // Most of what is reported is our own lateness: no result, unless it is of the order of timers.
    assert_eq!(lag(1_600_000, 159_000), [("generator_bound", Level::Invalid)]);
    assert_eq!(lag(1_600_000, 161_000), [("generator_bound", Level::Degraded)]);
}

#[test]
fn late_wake_ups_of_an_idle_machine_are_no_limit_of_the_generator() {
    /// Service time and lag of a message.
    type Message = fn(u64) -> (u64, u64);
    let judged = |busiest: f64, idle: f64, message: Message| {
        let mut record = open(move |block, times_of| {
            block.cpu.busiest_worker_fraction = Some(busiest);
            block.cpu.machine_idle_fraction = Some(idle);
            times_of.service = times(20_000, |index| message(index).0);
            times_of.send_lag = times(20_000, |index| message(index).1);
            times_of.response = times(20_000, |index| message(index).0 + message(index).1);
        });
        record.environment.timer_floor.as_mut().unwrap().overshoot_p99_ns = 20_000;
        let reasons = judge(&record).reasons;
        reasons.into_iter().map(|reason| reason.code).collect::<Vec<_>>()
    };
    // 4 % of a core, as in an open loop of 500/s to an idle echo. Wake-ups are five timer floors late.
    let late: Message = |index| (100_000 + index * 2, 100_000);
    assert_eq!(judged(0.04, 0.95, late), ["below_the_floor"]);
    // A generator or a machine that has something to do is late for another reason.
    assert_eq!(judged(0.6, 0.95, late), ["generator_bound"]);
    assert_eq!(judged(0.04, 0.4, late), ["generator_bound"]);
    assert_eq!(judged(0.04, 0.95, |index| (100_000 + index * 2, 201_000)), ["generator_bound"]);
    // The late messages are not the slow ones: the p99 of the response times is that of the service times.
    let others: Message = |index| match index {
        ..400 => (1_000_000, 0),
        400..800 => (100_000, 150_000),
        _ => (100_000, 0),
    };
    assert_eq!(judged(0.04, 0.95, others), [""; 0]);
}

#[test]
fn a_difference_of_open_loops_below_the_timer_floor_is_named() {
    let compared = |floor_ns, is_open: bool| {
        let mut record = good::ladder();
        if is_open {
            for workload in &mut record.plan.workloads {
                workload.spec.load = example::bots(Nanos::from_millis(25));
            }
            for block in &mut record.blocks {
                *block = Block {
                    workload: block.workload,
                    round: block.round,
                    ..good::open().blocks.remove(0)
                };
            }
        }
        record.environment.timer_floor.as_mut().unwrap().overshoot_p50_ns = floor_ns;
        codes(&record)
    };
    // 6 % of 1 ms, counted from the subject: 56.6 us.
    assert_eq!(compared(56_000, true), []);
    assert_eq!(compared(57_000, true), [("below_the_floor", Level::Degraded)]);
    assert_eq!(compared(57_000, false), []);
}

#[test]
fn a_machine_that_failed_its_selftest_is_doubtful() {
    let tested = |passed| {
        let mut record = good::closed();
        let checks = vec![Check {
            code: "stalled_server".to_owned(),
            passed,
            evidence: "p99 5 ms".to_owned(),
        }];
        record.environment.selftest =
            Some(Certificate { passed, checks, ..Certificate::default() });
        judge(&record)
    };
    assert_eq!(tested(true).reasons, []);
    let failed = tested(false).reasons.remove(0);
    assert_eq!(
        (&failed.code[..], &failed.evidence[..]),
        ("selftest_failed", "stalled_server: p99 5 ms")
    );
}

#[test]
fn the_worst_reason_stands_first_and_is_the_level() {
    let mut record = good::ladder();
    record.environment.steal_during_fraction = Some(0.05);
    record.blocks[3].counts.planned += 1;
    let verdict = judge(&record);
    assert_eq!(verdict.level, Level::Invalid);
    let reasons: Vec<_> =
        verdict.reasons.iter().map(|reason| (&reason.code[..], reason.workload)).collect();
    assert_eq!(reasons, [("impossible", Some(1)), ("noisy_machine", None)]);
    assert_eq!(
        verdict.reasons[0].evidence,
        "on 1 of 10 blocks, the worst in round 2: the counts do not add up: planned 40001 is not sent 40000 + unsent 0"
    );
}

#[test]
fn every_reason_says_what_to_do() {
    let mut record = good::open();
    record.blocks[0].cpu.busiest_worker_fraction = Some(0.97);
    times_of(&mut record).send_lag = times(20_000, |_| 1_000_000);
    times_of(&mut record).response = times(20_000, |index| 2_000_000 + index * 20);
    times_of(&mut record).own_share = times(20_000, |_| 1_000_000);
    let verdict = judge(&record);
    let reason = &verdict.reasons[0];
    assert_eq!(
        reason.evidence,
        "its busiest worker used 97.0 % of a core, send lag p50 1 ms is 45.4 % of response p50 2.2 ms, \
         own share 1 ms"
    );
    assert_eq!(
        reason.advice,
        "run the generator on a machine of its own, with more cores; or lower the --rate"
    );
}

#[test]
fn records_of_the_same_settings_and_machine_are_comparable() {
    let mut other = good::ladder();
    // The subject of comparisons, and the fields that differ from run to run.
    other.started_at = "2026-12-01T00:00:00Z".to_owned();
    other.plan.seed = 8;
    other.plan.workloads[0].target = "ws://127.0.0.1:9090/".to_owned();
    other.environment.memory_available_bytes = None;
    other.environment.governor = Some("performance".to_owned());
    assert_eq!(incomparable(&good::ladder(), &other), []);
}

#[test]
fn what_changes_results_makes_records_incomparable() {
    let changes: [(Change, &str); 8] = [
        (|record| record.environment.cpu_model = Some("Another".to_owned()), "processor"),
        (|record| record.environment.kernel = Some("6.5.0".to_owned()), "kernel"),
        (
            |record| record.environment.congestion_control = Some("cubic".to_owned()),
            "congestion control",
        ),
        (|record| workload(record).size_bytes = 65, "payload"),
        (
            |record| {
                workload(record).spec.load = Load::ClosedBots {
                    bots: NonZeroU32::new(50).unwrap(),
                    think: Nanos::from_secs(1),
                };
            },
            "arrival",
        ),
        (|record| workload(record).transport = "tls".to_owned(), "transport"),
        (|record| workload(record).pinning = Pinning::default(), "placement"),
        (|record| workload(record).spec.load = example::closed(51), "number of connections"),
    ];
    for (change, what) in changes {
        let mut other = good::ladder();
        change(&mut other);
        let reasons = incomparable(&good::ladder(), &other);
        assert_eq!(reasons.len(), 1, "{what}: {reasons:?}");
        assert_eq!(reasons[0].message, format!("the two differ in: {what}"));
        assert_eq!(reasons[0].level, Level::Invalid);
    }
}

#[test]
fn differences_are_told_in_words() {
    let mut other = good::ladder();
    workload(&mut other).spec.load = example::open("2000/s", Spacing::Poisson);
    other.environment.kernel = Some("6.5.0".to_owned());
    let mut evidence: Vec<String> =
        incomparable(&good::ladder(), &other).into_iter().map(|reason| reason.evidence).collect();
    evidence.sort_unstable();
    let expected =
        ["6.1.0 against 6.5.0", "closed against open, 2000/s, poisson", "none against 1000"];
    assert_eq!(evidence, expected);
}

#[test]
fn another_way_of_encrypting_or_compressing_makes_records_incomparable() {
    let changes: [(Change, &str); 9] = [
        (|record| seen(record, |tls| tls.version = "1.2".to_owned()), "version of TLS"),
        (|record| seen(record, |tls| tls.suite = "TLS13_AES_256".to_owned()), "cipher suite"),
        (
            |record| seen(record, |tls| tls.group = Some("X25519".to_owned())),
            "group of the key exchange",
        ),
        (|record| tls(record).resumption = false, "resumption of TLS sessions"),
        (|record| tls(record).trust = Trust::Anyone, "verification of the server's certificate"),
        (
            |record| {
                let certificate = Pem { file: "own.pem".to_owned(), text: String::new() };
                let key_file = "own.key".to_owned();
                tls(record).identity = Some(spec::Identity { certificate, key_file, key: None });
            },
            "certificate of the client",
        ),
        (|record| workload(record).spec.deflate = Some("level=1".to_owned()), "compression"),
        (|record| workload(record).spec.deflate = None, "compression"),
        (
            |record| {
                let (kind, size) = (PayloadKind::Json, Bytes(64));
                let content = Content::Generated { kind, size, varied: false };
                workload(record).spec.message.content = content;
            },
            "kind of payload",
        ),
    ];
    for (change, what) in changes {
        let mut other = good::ladder();
        change(&mut other);
        let reasons = incomparable(&good::ladder(), &other);
        assert_eq!(reasons.len(), 1, "{what}: {reasons:?}");
        assert_eq!(reasons[0].message, format!("the two differ in: {what}"));
        assert_eq!((reasons[0].level, reasons[0].workload), (Level::Invalid, Some(1)));
    }
}

#[test]
fn the_handshakes_of_all_blocks_count() {
    let mut other = good::ladder();
    let mut of_second = other.blocks.iter_mut().filter(|block| block.workload == 1);
    let last = of_second.next_back().and_then(|block| block.tls.as_mut()).unwrap();
    last.group = Some("X25519".to_owned());
    let reasons = incomparable(&good::ladder(), &other);
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    assert_eq!(reasons[0].message, "the two differ in: group of the key exchange");
    assert_eq!(reasons[0].evidence, "X25519MLKEM768 against X25519, X25519MLKEM768");
}

#[test]
fn another_conversation_and_other_rooms_make_records_incomparable() {
    let differences = |base: &RunRecord, record: &RunRecord| -> Vec<String> {
        let all = incomparable(base, record).into_iter();
        all.map(|reason| format!("{}: {}", reason.message, reason.evidence)).collect()
    };
    let held = |name: &str, message: &str| {
        let text = format!(
            "speaks = 'tcp'\nframe = 'lines'\n[request.a]\nsend = '{message}'\nreply = {{ starts = 'a' }}"
        );
        let mut record = good::ladder();
        workload(&mut record).spec.conversation = Some(Conversation::read(name, &text).unwrap());
        record
    };
    let chat = held("chat", "hello");
    let mut described = chat.clone();
    let conversation = workload(&mut described).spec.conversation.as_mut();
    conversation.unwrap().about = "What people say".to_owned();
    assert_eq!(differences(&chat, &described), [""; 0]);
    for (other, words) in [
        (good::ladder(), "chat against none"),
        (held("game", "hello"), "chat against game"),
        (held("chat", "goodbye"), "chat against chat, changed since"),
    ] {
        let expected = [format!("the two differ in: conversation: {words}")];
        assert_eq!(differences(&chat, &other), expected);
    }

    let in_rooms = |storm: Option<Nanos>| {
        let [count, receivers, in_flight_max] =
            [1, 10, 200].map(|count| NonZeroU32::new(count).unwrap());
        let conduct = Conduct { storm, ..Conduct::default() };
        let rooms = Rooms { count, publishers: count, receivers, conduct };
        let (rate, spacing) = ("5/s".parse().unwrap(), Spacing::Uniform);
        let mut record = good::ladder();
        workload(&mut record).spec.load = Load::Publish { rooms, rate, spacing, in_flight_max };
        record
    };
    assert_eq!(differences(&in_rooms(None), &in_rooms(None)), [""; 0]);
    let found = differences(&in_rooms(None), &in_rooms(Some(Nanos::from_secs(3))));
    assert!(found.len() == 1 && found[0].contains("in: rooms: "), "{found:?}");
    assert!(found[0].contains("storm 3s"), "{found:?}");
}

#[test]
fn what_was_agreed_on_counts_and_not_what_was_asked_for() {
    let mut other = good::ladder();
    tls(&mut other).versions.clear();
    tls(&mut other).suites.clear();
    tls(&mut other).alpn.clear();
    // A resumed session of TLS 1.2 has no key exchange, and a given payload no kind.
    seen(&mut other, |tls| tls.group = None);
    seen(&mut other, |tls| (tls.full, tls.resumed) = (1000, 0));
    workload(&mut other).spec.message.content = Content::Nothing;
    assert_eq!(incomparable(&good::ladder(), &other), []);
    // The transport says whether there is TLS at all.
    workload(&mut other).spec.tls = None;
    other.blocks.iter_mut().for_each(|block| block.tls = None);
    assert_eq!(incomparable(&good::ladder(), &other), []);
}

#[test]
fn blocks_that_were_encrypted_differently_are_named() {
    let with = |change: fn(&mut TlsSeen)| {
        let mut record = good::ladder();
        // Round 10 of `ws`.
        change(record.blocks[19].tls.as_mut().unwrap());
        record
    };
    let record = with(|tls| tls.suite = "TLS13_CHACHA20_POLY1305_SHA256".to_owned());
    assert_eq!(codes(&record), [("tls_differs", Level::Degraded)]);
    let reason = &judge(&record).reasons[0];
    assert_eq!(reason.workload, Some(1));
    assert_eq!(
        reason.evidence,
        "on 1 of 10 blocks, the worst in round 10: TLS 1.3 with TLS13_CHACHA20_POLY1305_SHA256, \
         at first TLS 1.3 with TLS13_AES_128_GCM_SHA256"
    );
    assert_eq!(
        codes(&with(|tls| tls.version = "1.2".to_owned())),
        [("tls_differs", Level::Degraded)]
    );
    assert_eq!(codes(&with(|tls| tls.resumed += 1)), []);
    assert_eq!(codes(&with(|tls| tls.group = None)), []);
    // A row that was not reached agreed on nothing.
    let mut record = good::ladder();
    record.blocks[19].tls = None;
    assert_eq!(codes(&record), []);
}

#[test]
fn bytes_that_belong_to_no_layer_are_a_bug_of_ours() {
    let split = |change: fn(&mut Split)| {
        codes(&closed(move |block| change(block.wire.received.as_mut().unwrap())))
    };
    let impossible = [("impossible", Level::Invalid)];
    assert_eq!(split(|split| split.framing_bytes += 1), impossible);
    assert_eq!(split(|split| split.encoding_bytes += 1), impossible);
    assert_eq!(split(|split| split.payload_bytes = u64::MAX), impossible);
    assert_eq!(split(|split| split.tcp_ip_estimated_bytes = Some(1)), []);
    assert_eq!(codes(&closed(|block| block.wire.sent = None)), []);
}

#[test]
fn another_version_of_the_program_is_told_and_workloads_without_a_partner_are_not_compared() {
    let mut other = good::ladder();
    other.tool.version = "0.2.0".to_owned();
    other.plan.workloads[0].spec.name = "udp".to_owned();
    other.plan.workloads[0].spec.load = example::closed(7);
    let reasons = incomparable(&good::ladder(), &other);
    assert_eq!(reasons.len(), 1);
    assert_eq!(
        (reasons[0].level, &reasons[0].evidence[..]),
        (Level::Degraded, "0.1.0 against 0.2.0")
    );
    other.plan.workloads.truncate(1);
    assert_eq!(incomparable(&good::ladder(), &other)[1].message, "the two differ in: workloads");
}

fn codes(record: &RunRecord) -> Vec<(&'static str, Level)> {
    let name = |code: &str| {
        *CODES.iter().find(|known| **known == code).expect("a code that is documented")
    };
    judge(record).reasons.iter().map(|reason| (name(&reason.code), reason.level)).collect()
}

const CODES: [&str; 22] = [
    "agents_mixed",
    "failed_blocks",
    "rate_changed",
    "too_little_measured",
    "generator_bound",
    "generator_stalled",
    "asked_not_achieved",
    "unanswered",
    "littles_law",
    "impossible",
    "mean_above_p99",
    "nothing_succeeded",
    "failures",
    "undelivered",
    "undelivered_to_tabs",
    "unreliable_replies",
    "unfair",
    "shared_cores",
    "noisy_machine",
    "below_the_floor",
    "selftest_failed",
    "tls_differs",
];

/// Changes the TLS parameters that the second workload agreed on.
fn seen(record: &mut RunRecord, change: fn(&mut TlsSeen)) {
    let of_second = record.blocks.iter_mut().filter(|block| block.workload == 1);
    of_second.filter_map(|block| block.tls.as_mut()).for_each(change);
}

fn tls(record: &mut RunRecord) -> &mut Tls {
    workload(record).spec.tls.as_mut().expect("it has TLS")
}

type Change = fn(&mut RunRecord);

fn closed(change: impl FnOnce(&mut Block)) -> RunRecord {
    let mut record = good::closed();
    change(&mut record.blocks[0]);
    record
}

fn open(change: impl FnOnce(&mut Block, &mut OpenLoop)) -> RunRecord {
    let mut record = good::open();
    let mut times_of = record.blocks[0].open_loop.take().expect("it is an open loop");
    change(&mut record.blocks[0], &mut times_of);
    record.blocks[0].open_loop = Some(times_of);
    record
}

fn times_of(record: &mut RunRecord) -> &mut OpenLoop {
    record.blocks[0].open_loop.as_mut().expect("it is an open loop")
}

fn workload(record: &mut RunRecord) -> &mut Workload {
    &mut record.plan.workloads[1]
}

fn comparison(record: &mut RunRecord) -> &mut Comparison {
    let compared = record.results[1].to_baseline.as_mut();
    compared.and_then(|all| all.round_trip_p50_ns.as_mut()).expect("it is compared")
}
