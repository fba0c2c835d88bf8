//! `wirebench run URL|FILE`: carries out any experiment.

use super::experiment::Execution;
use super::goal_options::Deciding;
use super::{show, values};
use crate::config::Project;
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use record::{Kind, RunRecord};
use spec::file::{Asked, File};
use spec::{Experiment, Options};
use std::path::PathBuf;

/// The name of the subcommand.
pub(crate) const NAME: &str = "run";

/// Load a server and measure how long its replies take
///
/// Without a rate every connection sends a message and waits for the reply before it sends the next one: a closed loop,
/// which measures round trips. With --rate or --bots messages are due by a schedule: an open loop, which measures
/// response times, from the instant at which a message was due. Every reply is compared byte for byte with what was
/// sent. Each server has to answer once before anything is timed.
///
/// A FILE is an experiment in TOML (docs/EXPERIMENTS.md), its resolved form in JSON (--dry-run prints it), or a record,
/// whose experiment is repeated.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_help = "`--help` has all options: payloads, short-lived clients, sessions, headers, …",
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
    mut_arg("quick", |quick| quick.hide_short_help(true)),
)]
pub(crate) struct Run {
    #[arg(value_name = "URL|FILE", help = "The server, or the file of an experiment", long_help = target_help())]
    pub(super) target: String,
    #[command(flatten)]
    pub(super) options: Options,
    #[command(flatten)]
    pub(super) deciding: Deciding,
    #[command(flatten)]
    pub(super) execution: Execution,
    /// File with more options, in the format of wirebench.toml, which they override
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(super) settings: Option<PathBuf>,
    /// Show the run in a browser while it goes on
    #[cfg(feature = "web")]
    #[arg(long, conflicts_with_all = ["json", "feed", "dry_run", "output"], hide_short_help = true)]
    pub(super) ui: bool,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench ws://127.0.0.1:8080 --rate 2000/s -c 100 -d 30s     an open loop
  wirebench ws://127.0.0.1:8080 --bots 1k,2k,5k --every 1s      three of them
  wirebench run chat.toml --dry-run                             a file";

fn target_help() -> String {
    format!(
        "The server, as in wss://127.0.0.1:8443/echo, or the file of an experiment\n\nThe protocols, without TLS and \
         inside TLS:\n{}A connection to a game server is a bot that logs in, sits down at a table and plays.",
        spec::Scheme::help()
    )
}

impl Run {
    /// Makes a run for another command, which does not show it in a browser.
    pub(super) fn new(
        target: String,
        options: Options,
        deciding: Deciding,
        execution: Execution,
    ) -> Self {
        Self {
            target,
            options,
            deciding,
            execution,
            settings: None,
            #[cfg(feature = "web")]
            ui: false,
        }
    }

    /// Carries out the experiment, keeps its record, shows it.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        #[cfg(feature = "web")]
        if self.ui {
            return super::ui::watched(NAME, terminal);
        }
        let Self { target, options, deciding, mut execution, settings, .. } = self;
        let settings = settings.map(|path| Project::read_other(&path)).transpose()?;
        execution.baseline = deciding.baseline(show::record)?;
        let first = deciding.first();
        let asked = deciding.over(Asked { options, ..execution.asked() });
        if is_url(&target) {
            let file = File::of_url(&target).with_defaults(settings.unwrap_or_default().run);
            return execution.of_file(file, &asked, Some(Kind::Run), terminal);
        }
        let text = values::text_of(&target).map_err(Failure::usage)?;
        if text.trim_start().starts_with('{') {
            let first = first.or_else(|| settings.is_some().then_some("settings"));
            if let Some(first) = first {
                return Err(Failure::usage(in_json(&target, first)));
            }
            let (experiment, kind) = resolved(&target, &text, asked.options)?;
            return execution.of_experiment(experiment, kind, terminal);
        }
        let file = File::read(&target, &text).map_err(Failure::usage)?;
        let file = file.with_defaults(settings.unwrap_or_default().run);
        execution.of_file(file, &asked, None, terminal)
    }
}

/// True for a URL, also one with a typo; false for the path of a file.
pub(super) fn is_url(target: &str) -> bool {
    let path = std::path::Path::new(target);
    let is_named_like_a_file = path.extension().is_some_and(|end| end == "toml" || end == "json");
    target.contains("://")
        || target.starts_with("unix:")
        || !(path.exists() || is_named_like_a_file || target == "-")
}

/// Returns the error for an option that is given with an experiment in JSON.
fn in_json(name: &str, option: &str) -> String {
    format!(
        "{name}: --{option}: an experiment in JSON has its options already; leave it out, or edit a copy of the file"
    )
}

/// Reads the experiment from JSON or a record. It has only the names of secrets: the options supply the values.
fn resolved(
    name: &str,
    text: &str,
    options: Options,
) -> Result<(Experiment, Option<Kind>), Failure> {
    let problem = |what: String| Failure::usage(format!("{name}: {what}"));
    let is_record = text.contains("\"schema_version\"");
    let (mut experiment, kind): (Experiment, _) = if is_record {
        let record = RunRecord::from_json(text).map_err(|error| problem(error.to_string()))?;
        let spec = record
            .spec
            .ok_or_else(|| problem("cannot be repeated: the record has no `spec`".to_owned()))?;
        (spec, Some(record.kind))
    } else {
        (serde_json::from_str(text).map_err(|error| problem(error.to_string()))?, None)
    };
    if !experiment.unknown.is_empty() {
        let fields = experiment.unknown.join(", ");
        return Err(problem(format!(
            "cannot be repeated: the record is too old to have kept these: {fields}"
        )));
    }
    let secrets = options.header.clone();
    let others = Options { header: Vec::new(), client_key: None, ..options };
    if let [first, ..] = others.set()[..] {
        return Err(Failure::usage(in_json(name, first)));
    }
    experiment
        .give_secrets(&secrets, &values::content)
        .map_err(|error| problem(error.to_string()))?;
    Ok((experiment, kind))
}
