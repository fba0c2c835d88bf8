//! Executes a plan: servers up, verify, warm up, measure, drain, collect.
//!
//! Start reading at [`execute`]. A single run is a plan of one measurement and one round; a ladder is one of several,
//! whose blocks are interleaved in random order. `block` runs one block on its worker threads; `collect`, `results` and
//! `ending` write down what came of it.
//!
//! Left out: arguments, files and output (the binary), and what a message goes through (crate `drive`).

mod block;
mod collect;
mod ending;
mod error;
mod journal;
mod live;
mod plan;
mod progress;
mod reach;
mod results;
pub mod safety;
mod sampling;
pub mod selftest;
mod servers;
mod setup;
mod sweep;
pub mod url;
pub mod verify;
mod watch;
mod written;

pub use drive::OPENING_MAX;
pub use error::RunError;
pub use journal::{Entry, Journal, JournalFile, NoJournal};
pub use plan::{
    Bots, Embedded, Measurement, Order, Peer, Plan, Speech, SubjectClient, SubjectServer, Tls,
};
pub use progress::{Behind, News, Progress};
pub use setup::measure_timer_floor;
pub use sweep::{AtLoad, Objective, Sweep, sweep};
pub use url::{Scheme, Url};

use block::{Stage, Task};
use collect::Place;
use ending::Ending;
use engine::clock::Clock;
use reach::Context;
use record::{RunRecord, Tool};
use results::{Headline, Kept};
use setup::{Ready, SetUp};
use stats::Histogram;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use units::Instant;

/// What the binary knows and a run needs.
#[derive(Clone, Debug)]
pub struct Host {
    /// Our own program, to start embedded servers with.
    pub program: PathBuf,
    /// A directory for the sockets of embedded servers.
    pub scratch: PathBuf,
    /// The arguments as they were typed, without secrets.
    pub command_line: Vec<String>,
    /// Now, as RFC 3339 in UTC.
    pub started_at: String,
    /// Who we are.
    pub tool: Tool,
    /// Whether this is a ladder or a single run.
    pub kind: record::Kind,
    /// What the last self-test since the start of this machine found; `None` if there was none.
    pub selftest: Option<record::Certificate>,
}

/// Executes `plan` and answers with all that it left behind. `interrupt` holds the number of the signal that asks to
/// stop, 0 while none does: the record is then a partial one, and says so. Blocks that `journal` has are not run again,
/// and it keeps those that are.
///
/// # Errors
///
/// Nothing could be measured; see [`RunError`]. What goes wrong with one of several measurements is in the record.
pub fn execute(
    plan: &Plan,
    host: &Host,
    progress: &mut dyn Progress,
    journal: &mut dyn Journal,
    interrupt: &AtomicUsize,
) -> Result<RunRecord, RunError> {
    let clock = Clock::start();
    let mut set_up = SetUp::new(plan, host, Context { clock, interrupt }, progress)?;
    progress.report(News::Begin { expected: set_up.expected });
    let mut stage = Stage::new(&mut set_up, Context { clock, interrupt }, progress);
    let mut kept: Vec<Kept> =
        journal.take().into_iter().filter_map(|entry| Kept::again(plan, entry.block)).collect();
    let order = plan.blocks();
    let total = plan.measurements.len() * order.len();
    for (round, workload) in order
        .iter()
        .enumerate()
        .flat_map(|(round, order)| order.iter().map(move |workload| (round, *workload)))
    {
        if interrupt.load(Ordering::Relaxed) != 0 {
            break;
        }
        let place = Place { workload, round };
        if kept.iter().any(|kept| kept.place() == place) {
            continue;
        }
        let one = one_block(&mut stage, plan, &mut set_up, place, (kept.len(), total))?;
        let name = &plan.measurements[workload].name;
        stage.progress.report(News::Block { name, block: &one.block, index: kept.len(), total });
        if interrupt.load(Ordering::Relaxed) == 0 {
            journal.keep(&Entry { block: one.block.clone(), server: None, client: None });
        }
        kept.push(one);
    }
    let signal = interrupt.load(Ordering::Relaxed);
    if kept.is_empty() {
        return Err(RunError::interrupted(signal));
    }
    let took = clock.now().since(Instant::START);
    let ending = Ending { plan, host, order: &order, kept, signal, took };
    Ok(ending::judge(ending.record(&mut set_up), stage.progress))
}

/// Runs one block, or says why it cannot be run.
pub(crate) fn one_block(
    stage: &mut Stage<'_>,
    plan: &Plan,
    set_up: &mut SetUp,
    place: Place,
    number: (usize, usize),
) -> Result<Kept, RunError> {
    let Place { workload, .. } = place;
    let failed = |reason: String, now: Instant| Kept {
        block: collect::failed(place, now, reason),
        headline: Headline::RoundTrip(Histogram::new()),
    };
    if let Some(died) = set_up.server_died(workload) {
        return Ok(failed(died, stage.clock.now()));
    }
    let Ready { target, resolve, .. } = match &set_up.ready[workload] {
        Ok(ready) => ready,
        Err(reason) => return Ok(failed(reason.clone(), stage.clock.now())),
    };
    let task = Task {
        measurement: &plan.measurements[workload],
        target,
        server: set_up.server_pid(workload),
        cpus: &set_up.generator_cpus,
        number,
    };
    let measured = stage.run(&task).map_err(RunError::Engine)?;
    let block = collect::block(place, &task, &measured, *resolve);
    let headline = Headline::of(task.measurement, &measured);
    Ok(Kept { block, headline })
}
