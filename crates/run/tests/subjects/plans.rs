//! Plans of a few short blocks, and their execution.

use crate::scripts::installed;
use record::{Kind, RunRecord, Tool};
use run::{Commands, Event, Feed, Host, Journal, NoJournal, Plan, RunError};
use spec::{Context, Experiment, Options, Order, Server, Workload};
use std::sync::atomic::AtomicUsize;
use tempfile::TempDir;
use units::{Count, Nanos};

/// The messages of each block.
pub(crate) const MESSAGES: u64 = 200;

/// One connection and [`MESSAGES`] messages to `server`, by this program.
pub(crate) fn workload(name: &str, server: Server) -> Workload {
    let patience = Nanos::from_secs(20);
    let options = Options {
        connections: Some(Count(1)),
        messages: Some(Count(MESSAGES)),
        payload: Some("Ping".to_owned()),
        binary: server.scheme().facts().carries.has_text(),
        timeout: Some(patience),
        drain: Some(patience),
        ..Options::default()
    };
    workload_by(&options, name, &server)
}

/// The load of `server` that these options ask for.
pub(crate) fn workload_by(options: &Options, name: &str, server: &Server) -> Workload {
    let read = |path: &str, _| Err(format!("{path} is not there"));
    let pack = |_: &str, _: &[u8], _| Err("nothing is packed".to_owned());
    let context = Context { read: &read, environment: &|_| None, pack: &pack, seed: 7 };
    options.workloads(name, server, &context).unwrap().remove(0)
}

/// A plan of these workloads with that many rounds.
pub(crate) fn plan(workloads: Vec<Workload>, rounds: u32) -> Plan {
    let experiment = Experiment {
        workloads,
        rounds,
        order: Order::Shuffled,
        baseline: Some(0),
        seed: 7,
        jit_warm_up_max: Nanos::from_secs(1),
        ..Experiment::default()
    };
    Plan::new(experiment, &installed).unwrap()
}

/// Executes `plan`.
pub(crate) fn execute(plan: &Plan) -> RunRecord {
    execute_with(plan, &mut NoJournal, &AtomicUsize::new(0)).unwrap()
}

/// The same; also returns all events of the run.
pub(crate) fn execute_and_listen(plan: &Plan) -> (RunRecord, Vec<Event>) {
    let feed = Feed::default();
    let listener = feed.listen();
    let record = execute_telling(plan, &feed, &mut NoJournal, &AtomicUsize::new(0)).unwrap();
    drop(feed);
    (record, listener.collect())
}

/// The same as [`execute`], with a journal, and a signal number that asks to stop unless it is 0.
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
        repository: None,
        launch: lab::Launch::new(
            std::env::current_exe().unwrap(),
            environment(),
            scratch.path().to_owned(),
        ),
        command_line: Vec::new(),
        started_at: "2026-11-21T12:00:00Z".to_owned(),
        tool: Tool::default(),
        kind: Kind::Lab,
        selftest: None,
        server_pid: None,
        lab: None,
        baseline: None,
    };
    let record = run::execute(plan, &host, feed, journal, Commands::new(interrupt));
    let left: Vec<_> = std::fs::read_dir(scratch.path()).unwrap().flatten().collect();
    assert!(left.is_empty(), "left behind: {left:?}");
    record
}

/// The reason why each block of a workload failed, in order; empty for blocks that did not fail.
pub(crate) fn failures(record: &RunRecord, workload: usize) -> Vec<String> {
    let blocks = record.blocks.iter().filter(|block| block.workload == workload);
    blocks.map(|block| block.failed.clone().unwrap_or_default()).collect()
}

/// The variables that subjects get.
fn environment() -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    ["PATH", "HOME"].map(|name| (name.into(), std::env::var_os(name).unwrap())).to_vec()
}
