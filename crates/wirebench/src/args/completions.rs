//! `wirebench completions`: scripts that let a shell complete our command lines.

use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use clap::Command;
use clap_complete::Shell;

/// Print the completion script of a shell
#[derive(Debug, clap::Args)]
#[command(help_template = super::help::TEMPLATE, before_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: Known,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench completions bash > /etc/bash_completion.d/wirebench
  wirebench completions zsh > ~/.zfunc/_wirebench
  wirebench completions fish > ~/.config/fish/completions/wirebench.fish";

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Known {
    Bash,
    Fish,
    Zsh,
}

impl Completions {
    /// Prints the script of `program` for the shell.
    pub(crate) fn run(self, mut program: Command, terminal: &Terminal) -> Result<Exit, Failure> {
        let shell = match self.shell {
            Known::Bash => Shell::Bash,
            Known::Fish => Shell::Fish,
            Known::Zsh => Shell::Zsh,
        };
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut program, "wirebench", &mut script);
        terminal.result(&String::from_utf8_lossy(&script))?;
        Ok(Exit::DONE)
    }
}
