//! Executes a plan: servers up, verify, warm up, measure, drain, collect.
//!
//! Start reading at [`execute`]. A single run is a plan of one measurement and one round; a ladder is a plan of several
//! measurements whose blocks are interleaved in random order. `block` runs one block on its worker threads;
//! `block_record`, `results` and `ending` write the results down; `feed` reports progress meanwhile.
//!
//! Left out: arguments, files and output (the binary), and the life of a message (crate `drive`).

mod advice;
mod answer;
mod baseline;
mod behind_schedule;
mod block;
mod block_record;
mod breaker;
mod by_hand;
mod children;
mod client_block;
mod client_checks;
pub mod discover;
mod ending;
mod error;
mod feed;
mod found_server;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod greeting;
mod host;
mod intervals;
mod journal;
mod latency_over_time;
mod live;
mod live_board;
mod memory;
mod neighbours;
mod one_block;
mod other_machines;
mod part;
mod plan;
mod plan_record;
pub mod play;
mod post;
mod precision_goals;
mod publishers;
mod reach;
mod recognition;
mod restart;
mod results;
pub mod safety;
mod sampling;
pub mod selftest;
mod setup;
mod signals;
mod subject_warm_up;
mod sweep;
mod tabs;
pub mod talk;
pub mod verify;
mod watch;
mod watching;

pub use baseline::Baseline;
pub use drive::OPENING_MAX;
pub use drive::{Phase, RawTime, TimeOf};
pub use error::RunError;
pub use feed::{Behind, Commands, Cores, Event, Feed, Heard, Listener, RateWish, Tick};
pub use host::Host;
pub use intervals::RawTimes;
pub use journal::{Entry, Journal, JournalFile, NoJournal, RecoverError, recovered};
pub use latency_over_time::{Heat, HeatLine};
pub use live::LiveView;
pub use live_board::{Board, Measured};
pub use memory::budget as memory_budget;
pub use other_machines::{Asked, Elsewhere, Merged};
pub use part::{Part, PartMeasured, Starter};
pub use plan::{
    Installed, Measurement, Peer, Plan, PlanError, Speech, SubjectClient, SubjectServer, Tls,
};
pub use post::Post;
pub use setup::measure_timer_floor;
pub use watching::{Looked, Watching};

use block::Stage;
use engine::clock::Clock;
use one_block::one_block;
use plan::Place;
use precision_goals::Enough;
use reach::Context;
use record::RunRecord;
use results::Kept;
use setup::{Known, SetUp};
use std::sync::atomic::Ordering;
use units::Instant;

/// Executes `plan` and returns its record, which is a partial one if `commands` stop it. Listeners of `feed` receive
/// the progress. Blocks that `journal` has are not run again; blocks that are run are added to it.
///
/// # Errors
///
/// Nothing could be measured; see [`RunError`]. A fault of one of several measurements is in the record.
pub fn execute(
    plan: &Plan,
    host: &Host,
    feed: &Feed,
    journal: &mut dyn Journal,
    commands: Commands<'_>,
) -> Result<RunRecord, RunError> {
    execute_on(plan, host, feed, journal, commands, None)
}

/// Like [`execute`], but with machines `elsewhere` that measure instead of this one. The targets are still resolved and
/// verified from here.
///
/// # Errors
///
/// As above.
pub fn execute_on<'a>(
    plan: &Plan,
    host: &Host,
    feed: &'a Feed,
    journal: &mut dyn Journal,
    commands: Commands<'a>,
    elsewhere: Option<&'a mut dyn Elsewhere>,
) -> Result<RunRecord, RunError> {
    if let Some(axis) = &plan.experiment.axis {
        return sweep::sweep(plan, axis, host, feed, journal, commands, elsewhere);
    }
    let (clock, interrupt) = (Clock::start(), commands.stop_flag());
    let context = Context { clock, interrupt };
    let order = plan.experiment.blocks();
    let (mut kept, known) = already(plan, journal);
    let is_kept = |kept: &[Kept], place| kept.iter().any(|kept| kept.place() == place);
    let left: Vec<Place> = places(&order).filter(|place| !is_kept(&kept, *place)).collect();
    let wanted = |workload| left.iter().any(|place| place.workload == workload);
    let mut set_up = SetUp::new(plan, host, context, &wanted, feed, elsewhere.is_some())?;
    set_up.known = known;
    set_up.warn_resumed(kept.len(), left.len(), feed);
    feed.tell(&Event::Begin { expected: plan.expected_of(&blocks_of(plan, &left)) });
    let frame = ending::frame(plan, host, &order, &set_up);
    if let Some(baseline) = &host.baseline {
        baseline.check(&frame)?;
    }
    journal.begin(&frame);
    let mut stage = Stage::new(&mut set_up, context, feed);
    stage.is_weighed = host.kind != record::Kind::Ladder;
    stage.elsewhere = elsewhere;
    stage.rate_wish = commands.rate_wish();
    // Blocks from before the interruption come first.
    let before = kept.iter().map(|kept| kept.block.started_at_ns + kept.block.measured_ns).max();
    let total = kept.len() + left.len();
    let enough = Enough { plan, order: &order };
    let mut over = None;
    for place in left {
        if interrupt.load(Ordering::Relaxed) != 0 {
            break;
        }
        let one = one_block(&mut stage, plan, &mut set_up, place, (kept.len(), total));
        let Some(mut one) = ending::unless_over(one, &mut over)? else { break };
        one.block.started_at_ns += before.unwrap_or(0);
        if interrupt.load(Ordering::Relaxed) != 0 && one.block.failed.is_some() {
            // The block failed because of the interruption.
            break;
        }
        if interrupt.load(Ordering::Relaxed) == 0 && set_up.ready[place.workload].is_ok() {
            let (server, client) =
                set_up.subjects(&plan.measurements[place.workload], place.workload);
            journal.keep(&Entry { block: one.block.clone(), server, client });
        }
        stage.tell_block(&plan.measurements[place.workload], &one.block, (kept.len(), total));
        kept.push(one);
        if enough.is_reached(&kept, &set_up, clock.now()) {
            break;
        }
    }
    let ran = kept.iter().map(|kept| kept.block.round + 1).max().unwrap_or(0);
    let order = match plan.experiment.until {
        Some(_) => &order[..ran],
        None => &order[..],
    };
    let signal = interrupt.load(Ordering::Relaxed);
    if kept.is_empty() {
        return Err(ending::nothing(signal, over));
    }
    let took = clock.now().since(Instant::START);
    let frame = ending::frame(plan, host, order, &set_up);
    let record = ending::ended(ending::with_blocks(frame, kept), signal, over, took);
    Ok(ending::judge(record, host.baseline.as_deref(), feed))
}

/// The number of blocks of each measurement among `places`.
fn blocks_of(plan: &Plan, places: &[Place]) -> Vec<usize> {
    let of = |workload| places.iter().filter(|place| place.workload == workload).count();
    (0..plan.measurements.len()).map(of).collect()
}

/// All blocks of a run, in their order.
fn places(order: &[Vec<usize>]) -> impl Iterator<Item = Place> {
    let of_round = |(round, order): (usize, &Vec<usize>)| {
        let place = move |workload: &usize| Place { workload: *workload, round };
        order.iter().map(place).collect::<Vec<_>>()
    };
    order.iter().enumerate().flat_map(of_round)
}

/// The blocks of `plan` that `journal` has, each once, and their subjects, by measurement.
fn already(plan: &Plan, journal: &mut dyn Journal) -> (Vec<Kept>, Known) {
    let (mut kept, mut known): (Vec<Kept>, Known) = Default::default();
    for Entry { block, server, client } in journal.take() {
        let place = Place { workload: block.workload, round: block.round };
        let Some(measurement) = plan.measurements.get(place.workload) else { continue };
        let is_known = kept.iter().any(|kept| kept.place() == place);
        if is_known || place.round >= plan.experiment.rounds as usize {
            continue;
        }
        if let Some(one) = Kept::of(&measurement.spec.load, block) {
            known.insert(place.workload, (server, client));
            kept.push(one);
        }
    }
    (kept, known)
}
