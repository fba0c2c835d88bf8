//! `wirebench agent`: this machine's part in a fleet.

use super::fleet_way::{instance, machine, not_connected, version};
use super::outcome;
use crate::exit::{Exit, Failure};
use crate::signals;
use crate::terminal::Terminal;
use ::fleet::join::{Join, Role};
use ::fleet::protocol::{Hello, Kind as Task};
use ::fleet::target::{Target, Targets};
use ::fleet::work::{Asked, WorkError, work};
use record::Kind;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Take part in a fleet: measure what its controller asks for, from this machine
///
/// It loads its own machine, and besides that only what --allow-target names, whatever a controller asks for. It runs
/// until a signal ends it: the first lets it finish its words, the second ends it at once.
#[derive(Debug, clap::Args)]
#[command(after_long_help = super::help::exit_codes(), help_template = super::help::TEMPLATE)]
pub(crate) struct Agent {
    /// Its join file, by `wirebench fleet keys`
    #[arg(long, value_name = "FILE")]
    join: PathBuf,
    /// A host, or a port of it, that it may load; repeatable [default: this machine]
    #[arg(long, value_name = "HOST[:PORT]")]
    allow_target: Vec<Target>,
    /// The folder for results that the server does not have yet [default: .wirebench/agent-NAME]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Its share: of a load it takes this by the sum of all weights
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    weight: NonZeroU32,
}

impl Agent {
    /// Works until a signal comes.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let join = Join::read(&self.join, Role::Agent).map_err(Failure::usage)?;
        let host = outcome::host(Kind::Run)?;
        let wish = signals::listen()?;
        let hello = Hello {
            agent: join.name.clone(),
            instance: instance()?,
            kind: Task::Load,
            weight: self.weight,
            version: version(&host),
            wall_s: engine::clock::unix_seconds().unwrap_or(0),
            machine: machine(),
        };
        let state =
            self.state.unwrap_or_else(|| PathBuf::from(format!(".wirebench/agent-{}", join.name)));
        let targets = Targets::new(self.allow_target);
        let asked = Asked { join, hello, spool: state, targets, host };
        let ended = work(asked, &wish.signal, &mut |words| terminal.say(words));
        ended.map(|()| Exit::DONE).map_err(|error| match error {
            WorkError::Connect(error) => not_connected(error),
            error @ WorkError::Spool { .. } => Failure::new(Exit::NOT_WRITTEN, error),
            error @ (WorkError::Over(_) | _) => Failure::new(Exit::UNREACHABLE, error),
        })
    }
}
