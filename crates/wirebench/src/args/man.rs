//! `wirebench man`: prints manual pages.

use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use anyhow::Context;
use clap::Command;

/// Print a manual page
#[derive(Debug, clap::Args)]
#[command(help_template = super::help::TEMPLATE, before_help = EXAMPLES)]
pub(crate) struct Man {
    /// The command [default: the program itself]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench man > wirebench.1
  wirebench man run > wirebench-run.1
  wirebench man run | man -l -";

impl Man {
    /// Prints the page of `program`, or of a command of it, in the format of `man`.
    pub(crate) fn run(self, mut program: Command, terminal: &Terminal) -> Result<Exit, Failure> {
        program.build();
        let page = match &self.command {
            None => program,
            Some(name) => find(&program, name)?,
        };
        let mut text = Vec::new();
        clap_mangen::Man::new(page).render(&mut text).context("cannot write a manual page")?;
        terminal.result(&String::from_utf8_lossy(&text))?;
        Ok(Exit::DONE)
    }
}

fn find(program: &Command, name: &str) -> Result<Command, Failure> {
    let names: Vec<&str> = program.get_subcommands().map(Command::get_name).collect();
    match program.find_subcommand(name) {
        Some(command) => Ok(command.clone().name(format!("wirebench-{name}"))),
        None => Err(Failure::usage(format!(
            "no command `{name}`; the commands are {}",
            names.join(", ")
        ))),
    }
}
