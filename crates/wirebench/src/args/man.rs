//! `wirebench man`: prints manual pages.

use crate::exit::{Exit, Failure};
use crate::files;
use crate::terminal::Terminal;
use anyhow::{Context, anyhow};
use clap::Command;
use std::path::PathBuf;
use std::{fs, io};

/// Print a manual page
#[derive(Debug, clap::Args)]
#[command(help_template = super::help::TEMPLATE, before_help = EXAMPLES)]
pub(crate) struct Man {
    /// The command [default: the program itself]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
    /// Write the pages of the program and of all its commands into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    folder: Option<PathBuf>,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench man > wirebench.1
  wirebench man --folder ~/.local/share/man/man1
  wirebench man run | man -l -";

impl Man {
    /// Prints the page of `program`, or of a command of it, in the format of `man`.
    pub(crate) fn run(self, mut program: Command, terminal: &Terminal) -> Result<Exit, Failure> {
        program.build();
        if let Some(folder) = &self.folder {
            let commands = program.get_subcommands().filter(|command| command.get_name() != "help");
            for page in commands.map(named).chain([program.clone()]) {
                let file = folder.join(format!("{}.1", page.get_name()));
                let written = fs::create_dir_all(folder);
                let written = written.and_then(|()| files::write(&file, &render(page)?));
                written.map_err(|error| {
                    let what = anyhow!("cannot write {}: {error}", file.display());
                    Failure::new(Exit::NOT_WRITTEN, what)
                })?;
            }
            return Ok(Exit::DONE);
        }
        let page = match &self.command {
            None => program,
            Some(name) => find(&program, name)?,
        };
        let text = render(page).context("cannot write a manual page")?;
        terminal.result(&String::from_utf8_lossy(&text))?;
        Ok(Exit::DONE)
    }
}

fn render(page: Command) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    Ok(text)
}

/// Returns a command under the name of its page.
fn named(command: &Command) -> Command {
    command.clone().name(format!("wirebench-{}", command.get_name()))
}

fn find(program: &Command, name: &str) -> Result<Command, Failure> {
    let names: Vec<&str> = program.get_subcommands().map(Command::get_name).collect();
    match program.find_subcommand(name) {
        Some(command) => Ok(named(command)),
        None => Err(Failure::usage(format!(
            "no command `{name}`; the commands are {}",
            names.join(", ")
        ))),
    }
}
