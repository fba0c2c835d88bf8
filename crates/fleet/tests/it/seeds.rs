//! Thousands of worlds, each from its seed; a failure prints it.

use crate::sim::faults::Fault;
use crate::sim::world::{CONTROLLERS, World};
use std::panic::catch_unwind;
use units::{Nanos, Random};

/// Runs the worlds of these seeds; the first that fails is run once more, and tells what happened in it.
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
