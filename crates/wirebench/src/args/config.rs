//! `wirebench config`: shows all settings with their values and sources.

use crate::config::{FILE, Layers};
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use clap::CommandFactory;

/// The name of the subcommand.
pub(crate) const NAME: &str = "config";

/// Show all settings with their values and sources
#[derive(Debug, clap::Args)]
#[command(help_template = super::TEMPLATE, before_help = EXAMPLES)]
pub(crate) struct Config {
    #[command(subcommand)]
    action: Action,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Flags override variables (WIREBENCH_RUN_WARM_UP=2s), which override wirebench.toml
in the current directory ([run] warm-up = \"2s\"), which overrides the defaults.

Examples:
  wirebench config show
  WIREBENCH_RUN_CONNECTIONS=100 wirebench config show
  wirebench config show --json";

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List every setting with its value and its source
    Show(Show),
}

#[derive(Debug, clap::Args)]
struct Show {
    /// Print the settings as JSON
    #[arg(long)]
    json: bool,
}

impl Config {
    /// Prints all settings.
    pub(crate) fn run(self, layers: &Layers, terminal: &Terminal) -> Result<Exit, Failure> {
        let Action::Show(Show { json }) = self.action;
        let settings = layers.all(&super::Program::command());
        if json {
            let all = settings.into_iter().map(|(name, value, source)| {
                let source = source.to_string();
                serde_json::json!({ "name": name, "value": shown(&name, value), "source": source })
            });
            let all = serde_json::Value::Array(all.collect());
            terminal.result(&format!("{all:#}\n"))?;
            return Ok(Exit::DONE);
        }
        let mut page = format!("# Unset: -. The project file is ./{FILE}.\n");
        for (name, value, source) in settings {
            let value = shown(&name, value).unwrap_or_else(|| "-".to_owned());
            page += &format!("{name:<22} {:<20} {source}\n", report::escape(&value));
        }
        terminal.result(&page)?;
        Ok(Exit::DONE)
    }
}

/// The value, or a placeholder if it may be a secret.
fn shown(name: &str, value: Option<String>) -> Option<String> {
    if name.ends_with(".header") { value.map(|_| "(not shown)".to_owned()) } else { value }
}
