//! Thousands of worlds, each from a seed, which a failure prints.

use crate::sim::faults::Fault;
use crate::sim::node::Machine;
use crate::sim::world::{CONTROLLERS, World};
use fleet::merge::Together;
use fleet::protocol::{Plan, SlotKind};
use record::{Counts, Histogram, OpenLoopTimes, Outcome, Stalls, Traffic};
use spec::{Experiment, Load, Server, Stop, Workload};
use std::num::NonZeroU32;
use std::panic::catch_unwind;
use std::sync::Arc;
use units::{Nanos, Random};

/// Runs the worlds of these seeds; the first that fails is run once more, and prints what happens in it.
fn worlds(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        if catch_unwind(|| World::new(seed).run()).is_err() {
            World::new(seed).traced().run();
        }
    }
}

#[test]
fn two_thousand_fleets_keep_their_promises_whatever_goes_wrong() {
    worlds(0..2000);
}

#[test]
#[ignore = "some minutes; `cargo test -p fleet --release -- --ignored hundred_thousand`"]
fn a_hundred_thousand_fleets_keep_their_promises() {
    worlds(0..100_000);
}

#[test]
fn an_agent_that_is_killed_or_stopped_is_missed_within_three_seconds() {
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let at = 6_000_000_000 + random.below(4_000_000_000) as u64;
        let mut world = World::quiet(seed, random, u64::MAX);
        let agents = world.nodes.len() - CONTROLLERS;
        let victim = CONTROLLERS + usize::try_from(seed).unwrap() % agents;
        let fault = if seed % 2 == 0 { Fault::Crash(victim) } else { Fault::Freeze(victim) };
        let name = world.nodes[victim].name.clone();
        world.fault_at(at, fault);
        world.run_until(at);
        // A twin takes no part: nobody waits for it.
        let is_twin = world.nodes.iter().filter(|node| node.name == name).count() > 1;
        let has_ended = world.is_over();
        world.run_until(at + 3_000_000_000);
        let missed =
            world.invariants.missed.iter().any(|(when, _, agent)| *when >= at && *agent == name);
        assert!(missed || is_twin || has_ended, "seed {seed}: nobody misses {name}");
    }
}

#[test]
fn a_run_that_is_stopped_does_not_wait_for_the_block_of_an_agent_that_is_gone() {
    for seed in 0..100 {
        let mut world = World::quiet(seed, Random::new(seed), u64::MAX);
        world.blocks.iter_mut().for_each(|block| block.lasts = Nanos::from_secs(60));
        let agents = world.nodes.len() - CONTROLLERS;
        let at = 10_000_000_000;
        world.fault_at(at, Fault::Crash(CONTROLLERS + usize::try_from(seed).unwrap() % agents));
        (0..CONTROLLERS).for_each(|index| world.fault_at(at + 1_000_000_000, Fault::Stop(index)));
        // The grace of ten seconds, and the messages around it.
        world.run_until(at + 14_000_000_000);
        assert!(world.is_over(), "seed {seed}");
    }
}

#[test]
fn a_load_that_ends_by_count_is_waited_for_as_long_as_its_agents_are_at_work() {
    let (mut measured, mut lost) = (0, 0);
    for seed in 0..100 {
        let mut world = World::quiet(seed, Random::new(seed), u64::MAX);
        let load = Load::Closed {
            connections: NonZeroU32::MIN,
            in_flight: NonZeroU32::MIN,
            in_flight_max: None,
        };
        let server = Server::Given("tcp://h:1".parse().unwrap());
        let counted = Workload::new("counted", server, load);
        assert!(matches!(counted.phases.stop, Stop::Messages(_)));
        let experiment = Experiment { workloads: vec![counted], ..Experiment::default() };
        let plan = (*world.plan).clone();
        world.plan = Arc::new(Plan { experiment, agents_min: 1, repeats: 0, mixed: true, ..plan });
        world.blocks.truncate(1);
        world.overrun = Nanos::from_secs(120);
        let agents = world.nodes.len() - CONTROLLERS;
        let victim =
            world.nodes[CONTROLLERS + usize::try_from(seed).unwrap() % agents].name.clone();
        let is_killed = seed % 2 == 1;
        if is_killed {
            // Once the block has begun, and again if a twin takes the place.
            for index in CONTROLLERS..world.nodes.len() {
                if world.nodes[index].name == victim {
                    world.fault_at(60_000_000_000, Fault::Crash(index));
                }
            }
        }
        world.run_until(200_000_000_000);
        assert!(world.is_over(), "seed {seed}");
        let closed = world.nodes.iter().find_map(|node| match &node.machine {
            Machine::Controller { machine, .. } => machine.closed().first(),
            Machine::Agent { .. } => None,
        });
        let Some(closed) = closed else { continue }; // None of its agents could get ready.
        for (seat, slot) in closed.parts() {
            let is_lost = is_killed && seat.agent == victim;
            let expected = if is_lost { SlotKind::Lost } else { SlotKind::Result };
            assert_eq!(slot.kind(), expected, "seed {seed}: {}", seat.agent);
            (measured, lost) = (measured + u32::from(!is_lost), lost + u32::from(is_lost));
        }
    }
    assert!(measured >= 80 && lost >= 10, "{measured} parts, and {lost} lost");
}

#[test]
fn every_controller_leaves_out_the_same_agents_that_stood_still_or_sent_late() {
    let (mut left_out, mut taken) = (0, 0);
    for seed in 0..60 {
        let mut world = World::quiet(seed, Random::new(seed), 0);
        world.nodes[CONTROLLERS..].iter_mut().for_each(|node| node.outcome = Some(punctual));
        let ill = world.nodes[CONTROLLERS + usize::from(seed % 3 != 0)].name.clone();
        let of_it = world.nodes.iter_mut().filter(|node| node.name == ill);
        of_it.for_each(|node| node.outcome = Some(if seed % 2 == 0 { stood_still } else { late }));
        world.run();
        let machines = world.nodes.iter().filter_map(|node| match &node.machine {
            Machine::Controller { machine, .. } => Some(machine),
            Machine::Agent { .. } => None,
        });
        let blocks: Vec<Vec<Together>> =
            machines.map(|machine| machine.closed().iter().map(Together::of).collect()).collect();
        assert!(blocks.windows(2).all(|pair| pair[0] == pair[1]), "seed {seed}");
        for block in &blocks[0] {
            let load = || block.agents.iter().filter(|part| part.task.is_load());
            for part in load().filter(|part| part.planned.is_some()) {
                assert_eq!(part.agent == ill.as_str(), !part.counts(), "seed {seed}: {part:?}");
            }
            let planned = |counts: bool| -> u64 {
                let parts = load().filter(|part| !counts || part.counts());
                parts.filter_map(|part| part.planned).sum()
            };
            let (trusted, all) = (planned(true), planned(false));
            let takes_all = trusted * 2 < all;
            let expected = if takes_all { all } else { trusted };
            assert_eq!(block.outcome.planned, expected, "seed {seed}");
            assert!(takes_all || block.outcome.stalls == Stalls::default(), "seed {seed}");
            left_out += usize::from(trusted < all && !takes_all);
            taken += usize::from(takes_all);
        }
    }
    assert!(left_out >= 20 && taken >= 5, "{left_out} blocks without an agent, {taken} with all");
}

/// The outcome of an agent that sent `count` messages in time, each answered after 1 ms.
fn punctual(count: u64) -> Outcome {
    sent(count, Nanos(1000))
}

/// The same for an agent whose messages were sent when most of their response time was over.
fn late(count: u64) -> Outcome {
    sent(count, Nanos(600_000))
}

/// The same for an agent whose loop had a gap that affected all of its messages. A p99 takes a thousand of them.
fn stood_still(count: u64) -> Outcome {
    let (longest_ns, affected) = (400_000_000, count);
    let (first, total_ns) = (Vec::new(), longest_ns);
    let mut outcome = sent(1000, Nanos(1000));
    (outcome.planned, outcome.measured.sent) = (count, count);
    Outcome { stalls: Stalls { count: 1, longest_ns, total_ns, affected, first }, ..outcome }
}

fn sent(count: u64, lags: Nanos) -> Outcome {
    let (mut response, mut lag) = (Histogram::new(), Histogram::new());
    response.record_all(Nanos(1_000_000), count);
    lag.record_all(lags, count);
    let counts = Counts { sent: count, ok: count, ..Counts::default() };
    let open_loop = Some(OpenLoopTimes { response, lag, ..OpenLoopTimes::default() });
    let traffic = Traffic { counts, replies: count, open_loop, ..Traffic::default() };
    Outcome { planned: count, measured: counts, traffic, ..Outcome::default() }
}
