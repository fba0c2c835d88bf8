//! Plans of few short blocks, and how they are carried out.

use load::{Arrival, Closing, Content, Expect, Lifetime, Phases, Stop, Timeouts, Workload};
use record::{Kind, RunRecord, Tool};
use run::{
    Commands, Event, Feed, Host, Journal, Measurement, NoJournal, Order, Peer, Plan, RunError,
    Speech,
};
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::atomic::AtomicUsize;
use tempfile::TempDir;
use units::Nanos;

/// So many messages each block has.
pub(crate) const MESSAGES: u64 = 200;

/// One connection and [`MESSAGES`] messages to `peer`, by this program.
pub(crate) fn measurement(name: &str, peer: Peer) -> Measurement {
    let patience = Nanos::from_secs(20);
    Measurement {
        name: name.to_owned(),
        peer,
        reply: None,
        client: None,
        baseline: None,
        speech: Speech::default(),
        workload: Workload {
            connections: NonZeroU32::MIN,
            connect_rate: None,
            lifetime: Lifetime::Long,
            closing: Closing::Complete,
            arrival: Arrival::Closed { in_flight: NonZeroU32::MIN, in_flight_max: None },
            content: Content::exactly(b"Ping", false),
            expect: Expect::Echo,
            phases: Phases {
                warm_up: Nanos::ZERO,
                stop: Stop::Messages(NonZeroU64::new(MESSAGES).unwrap()),
                drain: patience,
            },
            timeouts: Timeouts::all(patience),
            last_replies: false,
            seed: 7,
        },
        content_source: "Ping".to_owned(),
        payload_kind: None,
        threads: NonZeroU32::MIN,
        sources: Vec::new(),
        busy_poll: Nanos::ZERO,
    }
}

pub(crate) fn plan(measurements: Vec<Measurement>, rounds: u32) -> Plan {
    Plan {
        measurements,
        rounds,
        order: Order::Shuffled,
        baseline: Some(0),
        layers: Vec::new(),
        seed: 7,
        public_allowed: false,
        jit_warm_up_max: Nanos::from_secs(1),
    }
}

/// Carries `plan` out.
pub(crate) fn execute(plan: &Plan) -> RunRecord {
    execute_with(plan, &mut NoJournal, &AtomicUsize::new(0)).unwrap()
}

/// The same, and all events of the run.
pub(crate) fn execute_and_listen(plan: &Plan) -> (RunRecord, Vec<Event>) {
    let feed = Feed::default();
    let listener = feed.listen();
    let record = execute_telling(plan, &feed, &mut NoJournal, &AtomicUsize::new(0)).unwrap();
    drop(feed);
    (record, listener.collect())
}

/// The same as [`execute`], with a journal, and a number that asks to stop.
pub(crate) fn execute_with(
    plan: &Plan,
    journal: &mut dyn Journal,
    interrupt: &AtomicUsize,
) -> Result<RunRecord, RunError> {
    execute_telling(plan, &Feed::default(), journal, interrupt)
}

fn execute_telling(
    plan: &Plan,
    feed: &Feed,
    journal: &mut dyn Journal,
    interrupt: &AtomicUsize,
) -> Result<RunRecord, RunError> {
    let scratch = TempDir::new().unwrap();
    let host = Host {
        launch: lab::Launch::new(std::env::current_exe().unwrap(), environment()),
        scratch: scratch.path().to_owned(),
        command_line: Vec::new(),
        started_at: "2026-11-21T12:00:00Z".to_owned(),
        tool: Tool::default(),
        kind: Kind::Lab,
        selftest: None,
    };
    let record = run::execute(plan, &host, feed, journal, Commands::new(interrupt));
    let left: Vec<_> = std::fs::read_dir(scratch.path()).unwrap().flatten().collect();
    assert!(left.is_empty(), "left behind: {left:?}");
    record
}

/// The reasons for which blocks of a measurement failed, in their order; empty for those that did not.
pub(crate) fn failures(record: &RunRecord, workload: usize) -> Vec<String> {
    let blocks = record.blocks.iter().filter(|block| block.workload == workload);
    blocks.map(|block| block.failed.clone().unwrap_or_default()).collect()
}

/// The variables that subjects get.
fn environment() -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    ["PATH", "HOME"].map(|name| (name.into(), std::env::var_os(name).unwrap())).to_vec()
}
