//! The options of `wirebench run` that a sweep has too: defined there, said here, and handed on.

use crate::args::run;
use crate::config::Settings;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

/// All of them; what was said is read from the settings.
#[derive(Debug)]
pub(super) struct FromRun;

/// What was said of them, as `wirebench run` takes it.
pub(super) fn words(settings: &Settings, program: &Command) -> Vec<String> {
    let command = program.find_subcommand(super::NAME).expect("it is being run");
    settings.flags(command, |name, _| !NAMES.contains(&name))
}

/// Those that say how messages are sent, and not how many or for how long.
const NAMES: &[&str] = &[
    "connections",
    "size",
    "payload",
    "payload-kind",
    "deflate",
    "text",
    "binary",
    "in-flight-max",
    "busy-poll",
    "close",
    "header",
    "subprotocol",
    "method",
    "expect",
    "connect-rate",
    "source-ip",
    "threads",
    "timeout",
    "drain",
    "spacing",
    "oracle",
    "lobby",
    "first-player",
    "codec",
    "ca",
    "insecure",
    "server-name",
    "client-cert",
    "client-key",
    "tls-version",
    "tls-suite",
    "tls-resumption",
    "alpn",
];

impl Args for FromRun {
    fn augment_args(mut command: Command) -> Command {
        let all = run::Run::augment_args(Command::new(run::NAME));
        let is_shared = |option: &&Arg| option.get_long().is_some_and(|name| NAMES.contains(&name));
        for option in all.get_arguments().filter(is_shared) {
            let heading = option.get_help_heading().unwrap_or(HEADING).to_owned();
            let option = option.clone().hide_short_help(true).help_heading(heading);
            command = command.arg(option.display_order(500));
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for FromRun {
    fn from_arg_matches(_: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self)
    }

    fn update_from_arg_matches(&mut self, _: &ArgMatches) -> Result<(), clap::Error> {
        Ok(())
    }
}

const HEADING: &str = "Options of `wirebench run`";
