//! `wirebench watch`: the server's machine in a fleet.

use super::agent::Membership;
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use ::fleet::join::Role;
use ::fleet::protocol::Kind as Task;
use ::fleet::target::Targets;
use run::Watching;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Watch the server on this machine while a fleet loads it, so that the record has its CPU time and memory
///
/// In each block of a run it reads ten times a second what the processes of the server use (CPU time, memory, context
/// switches), and of their machine the idle CPU time, retransmitted TCP segments, and connections that were not
/// accepted because the queue of a listener was full. It sends no load. It runs until a signal ends it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = super::help::exit_codes(), help_template = super::help::TEMPLATE)]
#[command(group(clap::ArgGroup::new("server").required(true)))]
pub(crate) struct Watch {
    /// Its join file, written by `wirebench fleet keys --watch 1`
    #[arg(long, value_name = "FILE")]
    join: PathBuf,
    /// The port that the server listens at
    #[arg(long, value_name = "PORT", group = "server", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// The process of the server, if its port cannot be seen because it is in a container
    #[arg(long, value_name = "PID", group = "server")]
    pid: Option<u32>,
    /// The folder for results that the NATS server does not have yet [default: .wirebench/agent-NAME]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

impl Watch {
    /// Works until a signal arrives.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let watching = match (self.pid, self.port) {
            (Some(pid), _) => Watching::Pid(pid),
            (None, port) => Watching::Port(port.expect("one of both is required")),
        };
        let processes = watching.processes().map_err(Failure::usage)?;
        terminal.say(&format!("watching {processes}"));
        let membership = Membership {
            role: Role::Watch,
            task: Task::Watch,
            weight: NonZeroU32::MIN,
            state: self.state,
            raw_times: None,
            targets: Targets::default(),
            watching: Some(watching),
            secrets: Vec::new(),
        };
        membership.work(&self.join, terminal)
    }
}
