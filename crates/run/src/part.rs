//! A part of a block that begins on request: the work of an agent.
//!
//! The part is prepared like every measurement: its name is resolved, one message verifies it, and all connections are
//! opened. Then it waits for its start, an instant of its own clock.

use crate::block::{Gate, Measured, Stage, Task};
use crate::intervals::RawTimes;
use crate::plan::Plan;
use crate::reach::Context;
use crate::setup::{NO_PROGRAM, SetUp};
use crate::{Commands, Feed, Host, RunError};
use drive::Control;
use engine::clock::Clock;
use record::{Origin, Outcome, TimerFloor};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::Mutex;
use units::{Instant, Nanos};

/// A part of a block.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The whole block: an experiment of one workload.
    pub plan: &'a Plan,
    /// The position of this part among all parts.
    pub part: &'a spec::Part,
    /// The host.
    pub host: &'a Host,
    /// The clock by which its start is given.
    pub clock: Clock,
    /// True if every single time is kept in addition to the histograms.
    pub keeps_raw_times: bool,
}

/// Starts or ends a part that is ready.
#[derive(Clone, Debug)]
pub struct Starter {
    control: Arc<Control>,
    at: Arc<Mutex<Option<Instant>>>,
}

impl Starter {
    /// Lets the part begin at `at`, by the clock that it was given. If it wakes up after `latest`, it sends nothing.
    pub fn begin(&self, at: Instant, latest: Instant) {
        *self.at.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(at);
        self.control.begin(at, latest);
    }

    /// A starter for a part without workers, which polls [`Starter::begins`].
    pub(crate) fn alone() -> Self {
        Self { control: Arc::new(Control::waiting(0)), at: Arc::default() }
    }

    /// The start; `None` until it has been given.
    pub(crate) fn begins(&self) -> Option<Instant> {
        *self.at.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Ends the part; what was measured until then is kept.
    pub fn stop(&self) {
        self.control.stop();
    }
}

/// The results of a part.
#[derive(Clone, Debug)]
pub struct PartMeasured {
    /// The counts of its workers; instants count from its start.
    pub outcome: Outcome,
    /// Time from the planned start of its measurement to the actual one. `None` if the measurement did not start.
    pub late: Option<Nanos>,
    /// False if it sent nothing, not even to warm up.
    pub has_begun: bool,
    /// The busy share of the measurement of its busiest worker.
    pub busiest_worker: Option<f64>,
    /// The lateness of this machine's timers before the part began; `None` if unknown.
    pub timer_floor: Option<TimerFloor>,
    /// TCP segments that this machine retransmitted in that time.
    pub retransmitted: Option<u64>,
    /// The reason why the load ended early, if it did.
    pub cut_short: Option<String>,
    /// The individual times behind the outcome's histograms, if they are kept.
    pub raw_times: RawTimes,
}

impl Part<'_> {
    /// Prepares the part, calls `ready` as soon as it is ready, waits for its start, and measures. `None` if it was
    /// ended before it began.
    ///
    /// # Errors
    ///
    /// The part cannot be measured; see [`RunError`].
    pub fn measure(
        &self,
        feed: &Feed,
        commands: Commands<'_>,
        ready: impl FnOnce(Starter),
    ) -> Result<Option<PartMeasured>, RunError> {
        let context = Context { clock: self.clock, interrupt: commands.stop_flag() };
        if self.plan.measurements.iter().any(|it| it.spec.publish_with.is_some()) {
            return Err(RunError::InvalidRequest(NO_PROGRAM.to_owned()));
        }
        let mut plan = self.plan.clone();
        for measurement in &mut plan.measurements {
            let cut = measurement.workload.cut(self.part);
            measurement.workload =
                cut.map_err(|error| RunError::InvalidRequest(error.to_string()))?;
        }
        let mut set_up = SetUp::new(&plan, self.host, context, &|_| true, feed, false)?;
        let opened = Opened { ready: Cell::new(Some(ready)), at: Arc::default() };
        let mut stage = Stage::new(&mut set_up, context, feed);
        stage.gate = Some(&opened);
        stage.keeps_raw_times = self.keeps_raw_times;
        // No two parts use the same connection number.
        stage.numbered = u64::from(self.part.index) << 32;
        let measurement = &plan.measurements[0];
        let reached = match &set_up.ready[0] {
            Ok(reached) => reached,
            Err(reason) => return Err(RunError::InvalidRequest(reason.clone())),
        };
        let task = Task {
            measurement,
            target: &reached.target,
            server: set_up.server(measurement, 0),
            cpus: &set_up.generator_cpus,
            memory: set_up.memory(measurement),
            looks: set_up.lets_workers_look(measurement, &reached.target.address),
            number: (0, 1),
        };
        let measured = stage.run(&task)?;
        let at = *opened.at.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let warm_up = measurement.workload.phases.warm_up;
        let timer_floor = set_up.timer_floor();
        Ok(at.map(|at| self.measured(measured, at, warm_up, timer_floor)))
    }

    /// The results of the block, on a machine with this lateness of its timers.
    fn measured(
        &self,
        measured: Measured,
        at: Instant,
        warm_up: Nanos,
        timer_floor: Option<TimerFloor>,
    ) -> PartMeasured {
        let planned = at + warm_up;
        let Outcome { measured: counts, warm_up: before, .. } = &measured.outcome;
        PartMeasured {
            has_begun: measured.outcome.window.is_some() || counts.sent + before.sent > 0,
            late: measured.before.as_ref().map(|before| before.cpu.at.since(planned)),
            busiest_worker: measured.busiest_worker,
            timer_floor,
            retransmitted: measured.tcp.and_then(|tcp| tcp.retransmitted_segments),
            cut_short: measured.broken.map(|broken| broken.to_string()),
            raw_times: measured.raw_times,
            outcome: measured.outcome.from_instant(at, Origin(self.part.index + 1)),
        }
    }
}

/// The gate of a part: reports once that the part is ready.
struct Opened<F> {
    ready: Cell<Option<F>>,
    at: Arc<Mutex<Option<Instant>>>,
}

impl<F: FnOnce(Starter)> Gate for Opened<F> {
    fn is_ready(&self, control: &Arc<Control>) {
        if let Some(ready) = self.ready.take() {
            ready(Starter { control: Arc::clone(control), at: Arc::clone(&self.at) });
        }
    }
}
