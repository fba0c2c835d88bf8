//! Machines that measure instead of this one: the blocks that they are asked for, and the merged parts.

use crate::RunError;
use crate::behind_schedule::due_per_s;
use crate::feed::{Cores, Tick};
use crate::plan::{Measurement, Place};
use crate::reach::Context;
use drive::Phase;
use engine::clock::Clock;
use record::{AgentPart, Outcome, Traffic, Watched};
use spec::{Experiment, Load};
use std::sync::atomic::AtomicUsize;
use units::{Instant, Nanos};

/// Machines that measure instead of this one.
pub trait Elsewhere {
    /// Measures a block on all of the machines.
    ///
    /// The inner error is the reason why this block has no result; the run goes on.
    ///
    /// # Errors
    ///
    /// Nothing can be measured any more; see [`RunError`]. After [`RunError::Over`] the record keeps the blocks
    /// measured before.
    fn measure(&mut self, asked: &Asked<'_>) -> Result<Result<Merged, String>, RunError>;
}

/// A block that other machines are to measure.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The index of its workload in the experiment.
    pub workload: usize,
    /// Its index among the blocks, from 0, and their number.
    pub number: (usize, usize),
    /// Its round, from 0.
    pub round: usize,
    /// The load that replaces the workload's, for a step of a sweep.
    pub load: Option<&'a Load>,
    /// The load before it is divided among the machines.
    pub measurement: &'a Measurement,
    /// The longest time from its start to its end, closing included. An estimate where the load ends after a number of
    /// messages or clients.
    pub lasts: Nanos,
    /// The number of the signal that asks to stop; 0 if none did. If the machines are stopped by someone else, they set
    /// it.
    pub interrupt: &'a AtomicUsize,
    /// The clock of the run.
    pub clock: Clock,
}

impl Asked<'_> {
    /// One second of the block, as sent to the views of this machine. `start` counts from the start of the run.
    pub fn tick(&self, start: Instant, phase: Phase, traffic: Traffic) -> Tick {
        Tick {
            name: self.measurement.spec.name.as_str().into(),
            block: self.number,
            phase,
            start,
            end: start + Nanos::from_secs(1),
            due_per_s: due_per_s(&self.measurement.workload),
            has_rate: false,
            traffic,
            cores: Cores::default(),
        }
    }
}

/// All parts of a block together.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The counts of all their workers, merged; instants count from the start of the block.
    pub outcome: Outcome,
    /// The start of the block, counted from the start of the run.
    pub began: Instant,
    /// The busy share of the measurement of the busiest worker on any of the machines.
    pub busiest_worker: Option<f64>,
    /// Each part, in the order of names.
    pub agents: Vec<AgentPart>,
    /// The reason why the block is incomplete, if it is.
    pub cut_short: Option<String>,
    /// The server as observed on its machine, or the reason why it was not observed.
    pub watched: Result<Watched, String>,
    /// The replies that the server sent to all agents in the measured window; `None` if not all are known.
    pub replies: Option<u64>,
}

/// The request for a block of `experiment`; `measurement` is its workload at `place`, or a step of that.
pub(crate) fn asked<'a>(
    experiment: &Experiment,
    measurement: &'a Measurement,
    place: Place,
    number: (usize, usize),
    context: Context<'a>,
) -> Asked<'a> {
    let workload = measurement.line;
    let known = experiment.workloads.get(workload).map(|workload| &workload.load);
    let load = Some(&measurement.spec.load).filter(|load| Some(*load) != known);
    let timeouts = measurement.workload.timeouts;
    let drain = measurement.workload.phases.drain;
    let lasts = measurement.spec.block_time() + drain + timeouts.close + BESIDES;
    Asked {
        workload,
        number,
        round: place.round,
        load,
        measurement,
        lasts,
        interrupt: context.interrupt,
        clock: context.clock,
    }
}

/// Allowance for the end of a block in addition to its phases.
const BESIDES: Nanos = Nanos::from_secs(1);
