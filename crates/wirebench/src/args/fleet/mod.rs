//! `wirebench fleet …`: many machines that load a server together.
//!
//! Start reading at [`Fleet`]; `fleet_way` connects every command that measures with a fleet.

mod keys;
mod runs;
mod up;

use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;

/// Load a server from many machines, as one
///
/// Each machine runs an agent (`wirebench agent --join FILE`). A measurement with --fleet is cut into parts that add up
/// to the whole; all agents begin their parts at the same instant, and the parts become one record. They communicate
/// through a NATS server with JetStream.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
)]
pub(crate) struct Fleet {
    #[command(subcommand)]
    command: Subcommand,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench fleet up --local 4           a server and four agents, on this machine
  wirebench ws://127.0.0.1:8080 --rate 9000/s --fleet .wirebench/fleet.join
  wirebench fleet keys --agents 8 keys   for agents on other machines";

#[derive(Debug, clap::Subcommand)]
enum Subcommand {
    Up(up::Up),
    Keys(keys::Keys),
    Status(runs::Status),
    Stop(runs::Stop),
    Resume(Box<runs::Resume>),
}

impl Fleet {
    /// Does what was asked for.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        match self.command {
            Subcommand::Up(up) => up.run(terminal),
            Subcommand::Keys(keys) => keys.run(terminal),
            Subcommand::Status(status) => status.run(terminal),
            Subcommand::Stop(stop) => stop.run(terminal),
            Subcommand::Resume(resume) => resume.run(terminal),
        }
    }
}
