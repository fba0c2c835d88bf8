//! `wirebench fleet status`, `stop` and `resume`: the agents of a fleet, and its runs in progress.

use super::super::experiment::Execution;
use super::super::fleet_way::{agents_heard, connect, options, unreachable};
use super::super::outcome;
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use ::fleet::Word;
use ::fleet::bus::{BusEvent, Read};
use ::fleet::controller_driver::{In, Lead};
use ::fleet::nats::{Heard, Order};
use ::fleet::protocol::{Entry, Name, Plan, Subject};
use record::{AgentTask, Kind};
use run::Feed;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;
use units::Nanos;

/// List the agents and watches that are connected
#[derive(Debug, clap::Args)]
#[command(help_template = super::super::help::TEMPLATE)]
pub(super) struct Status {
    /// The join file of a controller
    #[arg(long = "fleet", value_name = "JOIN")]
    join: PathBuf,
}

/// Stop a run; what was measured stays in the log
#[derive(Debug, clap::Args)]
#[command(help_template = super::super::help::TEMPLATE)]
pub(super) struct Stop {
    /// The name of the run, as printed when it began
    #[arg(value_name = "RUN")]
    run: Name,
    /// The join file of a controller
    #[arg(long = "fleet", value_name = "JOIN")]
    join: PathBuf,
}

/// Continue a run whose controller is gone, and make its record
#[derive(Debug, clap::Args)]
#[command(help_template = super::super::help::TEMPLATE)]
pub(super) struct Resume {
    /// The name of the run, as printed when it began
    #[arg(value_name = "RUN")]
    run: Name,
    #[command(flatten)]
    execution: Execution,
}

impl Status {
    pub(super) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let (tell, told) = channel();
        let _bus = connect(&self.join, tell.clone())?;
        let agents = agents_heard(&tell, &told)?;
        let of = |task: AgentTask| -> Vec<&str> {
            let names = agents.iter().filter(|(_, of)| **of == task).map(|(name, _)| name.as_str());
            names.collect()
        };
        let line = |one: &str, many: &str, names: Vec<&str>| match names.len() {
            1 => format!("1 {one} is connected: {}\n", names[0]),
            count => format!("{count} {many} are connected: {}\n", names.join(", ")),
        };
        let mut text = match of(AgentTask::Load) {
            none if none.is_empty() => "no agent is connected\n".to_owned(),
            names => line("agent", "agents", names),
        };
        for (one, many, task) in
            [("prober", "probers", AgentTask::Probe), ("watch", "watches", AgentTask::Watch)]
        {
            let names = of(task);
            if !names.is_empty() {
                text += &line(one, many, names);
            }
        }
        terminal.result(&text)?;
        Ok(Exit::DONE)
    }
}

impl Stop {
    pub(super) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        plan_of(&self.join, &self.run)?;
        let host = outcome::host(Kind::Run)?;
        let (tell, told) = channel();
        let bus = connect(&self.join, tell.clone())?;
        let feed = Feed::default();
        let lead =
            Lead::begin(options(&host, self.run.clone(), None, true)?, bus, (tell, told), &feed)?;
        match lead.finish().map_err(unreachable)? {
            Some(words) => {
                terminal.say(&words);
                Ok(Exit::DONE)
            }
            None => Err(Failure::new(
                Exit::PARTIAL,
                anyhow::anyhow!("run {} has not ended within 30 s; ask again", self.run),
            )),
        }
    }
}

impl Resume {
    pub(super) fn run(mut self, terminal: &Terminal) -> Result<Exit, Failure> {
        let join = self.execution.fleet.join.clone();
        let join = join.ok_or_else(|| {
            Failure::usage("no fleet is named; name its join file with --fleet JOIN")
        })?;
        let plan = plan_of(&join, &self.run)?;
        self.execution.fleet.resumed = Some(self.run);
        self.execution.fleet.agents = Some(plan.agents_min);
        self.execution.i_may_load_this_target |= plan.experiment.public_allowed;
        self.execution.of_experiment(plan.experiment.clone(), None, terminal)
    }
}

/// Reads the plan of a run from the log.
fn plan_of(join: &Path, run: &Name) -> Result<Arc<Plan>, Failure> {
    let (tell, told) = channel();
    let bus = connect(join, tell)?;
    let subject = Subject::Plan(run.clone());
    bus.order(Order::Read(subject.clone()));
    loop {
        match told.recv_timeout(ANSWER_MAX.into()) {
            Ok(In::Heard(Heard::Bus(BusEvent::Read(_, Read::Found(Entry::Plan(plan)))))) => {
                return Ok(plan);
            }
            Ok(In::Heard(Heard::Bus(BusEvent::Read(_, Read::Nothing)))) => {
                return Err(Failure::usage(format!(
                    "the log has no run {run}; runs are kept for a week"
                )));
            }
            Ok(In::Heard(Heard::Bus(BusEvent::Read(_, Read::Denied)))) => {
                return Err(Failure::usage(Word::Denied(subject)));
            }
            Ok(In::Heard(Heard::Over(words))) => return Err(unreachable(words)),
            Ok(In::Heard(Heard::Bus(BusEvent::Read(_, read)))) => {
                return Err(Failure::usage(format!(
                    "the plan of run {run} cannot be read: {read:?}"
                )));
            }
            Ok(_) => {}
            Err(_) => {
                return Err(unreachable("the log does not answer".to_owned()));
            }
        }
    }
}

/// Longer than any read takes.
const ANSWER_MAX: Nanos = Nanos::from_secs(5);
