//! `wirebench agent`: this machine's part in a fleet.

use super::fleet_way::{instance, machine, not_connected, version};
use super::{outcome, values};
use crate::exit::{Exit, Failure};
use crate::signals;
use crate::terminal::Terminal;
use ::fleet::agent_driver::{Asked, Secrets, WorkError, work};
use ::fleet::join::{Join, Role};
use ::fleet::protocol::{Hello, Kind as Task};
use ::fleet::target::{Target, Targets};
use record::Kind;
use run::Watching;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

/// Take part in a fleet: measure what its controller asks for, from this machine
///
/// It loads only its own machine and what --allow-target names, whatever a controller asks for. It runs until a signal
/// ends it: the first lets it finish what is underway, the second ends it at once.
#[derive(Debug, clap::Args)]
#[command(after_long_help = super::help::exit_codes(), help_template = super::help::TEMPLATE)]
pub(crate) struct Agent {
    /// Its join file, written by `wirebench fleet keys`
    #[arg(long, value_name = "FILE")]
    join: PathBuf,
    /// A host, or a port of it, that it may load; repeatable [default: this machine]
    #[arg(long, value_name = "HOST[:PORT]")]
    allow_target: Vec<Target>,
    /// The folder for results that the server does not have yet [default: .wirebench/agent-NAME]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Write every response time, service time and send lag of a part to a file in this folder, to check histograms
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    raw_times: Option<PathBuf>,
    /// Its share of each load: this, divided by the sum of the weights of all agents
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    weight: NonZeroU32,
    /// Send a light load (100 messages/s) instead of a share; comparing its p99 with the others' shows whether the
    /// server or the agents queue
    #[arg(long, conflicts_with = "weight")]
    probe: bool,
    /// A file with header fields, one per line: the secrets of targets that a run names; repeatable
    #[arg(short = 'H', long, value_name = "@FILE", value_parser = secrets_file)]
    header: Vec<String>,
}

/// Accepts a file but no value: everybody on the machine can read arguments.
fn secrets_file(text: &str) -> Result<String, String> {
    match text.starts_with('@') {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "`{}`: write the field to a file, and name it as @FILE",
            text.split(':').next().unwrap_or_default()
        )),
    }
}

impl Agent {
    /// Works until a signal arrives.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let membership = Membership {
            role: Role::Agent,
            task: if self.probe { Task::Probe } else { Task::Load },
            weight: self.weight,
            state: self.state,
            raw_times: self.raw_times,
            targets: Targets::new(self.allow_target),
            watching: None,
            secrets: self.header,
        };
        membership.work(&self.join, terminal)
    }
}

/// The task of one process in a fleet.
pub(super) struct Membership {
    pub(super) role: Role,
    pub(super) task: Task,
    pub(super) weight: NonZeroU32,
    /// The folder for results that the server does not have yet.
    pub(super) state: Option<PathBuf>,
    /// The folder for the raw times of its parts.
    pub(super) raw_times: Option<PathBuf>,
    pub(super) targets: Targets,
    pub(super) watching: Option<Watching>,
    /// Files with the secrets of targets, as `@FILE`.
    pub(super) secrets: Vec<String>,
}

impl Membership {
    /// Works until a signal arrives.
    pub(super) fn work(self, join: &Path, terminal: &Terminal) -> Result<Exit, Failure> {
        let Self { role, task, weight, state, raw_times, targets, watching, secrets } = self;
        let join = Join::read(join, role).map_err(Failure::usage)?;
        let host = outcome::host(Kind::Run)?;
        let wish = signals::listen()?;
        let hello = Hello {
            agent: join.name.clone(),
            instance: instance()?,
            kind: task,
            weight,
            version: version(&host),
            wall_s: engine::clock::unix_seconds().unwrap_or(0),
            machine: machine(),
        };
        let default = || PathBuf::from(format!(".wirebench/agent-{}", join.name));
        let spool = state.unwrap_or_else(default);
        let secrets = Secrets { fields: secrets, read: values::content };
        let asked = Asked { join, hello, spool, raw_times, targets, watching, secrets, host };
        let ended = work(asked, &wish.signal, &mut |words| terminal.say(words));
        ended.map(|()| Exit::DONE).map_err(|error| match error {
            WorkError::Connect(error) => not_connected(error),
            error @ (WorkError::Spool { .. } | WorkError::RawTimes { .. }) => {
                Failure::new(Exit::NOT_WRITTEN, error)
            }
            error @ (WorkError::Over(_) | _) => Failure::new(Exit::UNREACHABLE, error),
        })
    }
}
