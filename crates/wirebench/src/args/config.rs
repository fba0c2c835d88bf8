//! `wirebench config`: shows the defaults of the project.

use crate::config::{FILE, Project};
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use anyhow::Context;
use std::path::Path;

/// Show the defaults of the project and their source
#[derive(Debug, clap::Args)]
#[command(help_template = super::help::TEMPLATE, before_help = EXAMPLES)]
pub(crate) struct Config {
    #[command(subcommand)]
    action: Action,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Flags override an experiment's file, which overrides wirebench.toml in the current
directory ([run] warm-up = \"2s\"), which overrides the defaults in `run --help`.

Examples:
  wirebench config show
  wirebench config show --json
  wirebench config show --json | jq .connections";

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List every option that the project file sets
    Show(Show),
}

#[derive(Debug, clap::Args)]
struct Show {
    /// Print the options as JSON
    #[arg(long)]
    json: bool,
}

impl Config {
    /// Prints the options that the project file sets.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let Action::Show(Show { json }) = self.action;
        let Project { run } = Project::read(Path::new("."))?;
        if json {
            let page = serde_json::to_string_pretty(&run).context("cannot write JSON")? + "\n";
            terminal.result(&page)?;
            return Ok(Exit::DONE);
        }
        if run.is_empty() {
            terminal.result(&format!(
                "# ./{FILE} sets nothing: all defaults are those of `wirebench run --help`.\n"
            ))?;
            return Ok(Exit::DONE);
        }
        let header = if run.header.is_empty() { "" } else { "header = (not shown)\n" };
        let options = toml::to_string(&run).context("cannot write TOML")?;
        terminal.result(&format!("# ./{FILE}\n[run]\n{options}{header}"))?;
        Ok(Exit::DONE)
    }
}
