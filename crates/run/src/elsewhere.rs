//! Machines that measure in place of this one: the blocks that are asked of them, and their parts, merged.

use crate::RunError;
use crate::feed::{Cores, Tick};
use crate::plan::{Measurement, Place};
use crate::pursuit::due_per_s;
use crate::reach::Context;
use drive::Phase;
use engine::clock::Clock;
use record::{AgentPart, Outcome, Traffic, Watched};
use spec::{Experiment, Load};
use std::sync::atomic::AtomicUsize;
use units::{Instant, Nanos};

/// Machines that measure in place of this one.
pub trait Elsewhere {
    /// Measures a block on all of them.
    ///
    /// The inner error is the reason why there is no such block; the run goes on.
    ///
    /// # Errors
    ///
    /// Nothing can be measured any more; see [`RunError`]. After [`RunError::Over`] the record has the blocks before.
    fn measure(&mut self, asked: &Asked<'_>) -> Result<Result<Merged, String>, RunError>;
}

/// A block that others are to measure.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The index of its workload in the experiment.
    pub workload: usize,
    /// Its index among the blocks, from 0, and their number.
    pub number: (usize, usize),
    /// Its round, from 0.
    pub round: usize,
    /// The load in place of that of the workload: of a step of a sweep.
    pub load: Option<&'a Load>,
    /// The whole load, as it is before it is divided.
    pub measurement: &'a Measurement,
    /// Time from its begin to its end at the latest, closing included. A guess where the load ends after a number of
    /// messages or clients.
    pub lasts: Nanos,
    /// The number of the signal that asks to stop; 0 if none did. Machines that were stopped by somebody else set it.
    pub interrupt: &'a AtomicUsize,
    /// The clock of the run.
    pub clock: Clock,
}

impl Asked<'_> {
    /// A second of the block, as the views of this machine are told of it. `start` counts from the start of the run.
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
    /// The counts of all their workers, merged; instants count from the begin of the block.
    pub outcome: Outcome,
    /// The begin of the block, from the start of the run.
    pub began: Instant,
    /// The largest share of the measurement that a worker of one of them was busy.
    pub busiest_worker: Option<f64>,
    /// Each part, in the order of names.
    pub agents: Vec<AgentPart>,
    /// The reason why it is not the whole block, if it is not.
    pub cut_short: Option<String>,
    /// The server, as it was seen on its machine; or the reason why it was not.
    pub watched: Result<Watched, String>,
    /// The replies that it sent in the measured window to all who asked; `None`: not all of them are known.
    pub replies: Option<u64>,
}

/// The request for a block of `experiment`, of which `measurement` is the workload at `place` or a step of it.
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

/// Room for the end of a block beside its phases.
const BESIDES: Nanos = Nanos::from_secs(1);
