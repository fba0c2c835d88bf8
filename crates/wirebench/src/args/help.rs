//! Parts of the help that all commands share.

use crate::exit::Exit;
use clap::Arg;

/// The template of a help page: examples come before options.
pub(super) const TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

{before-help}{all-args}{after-help}
";

/// The heading of the options of `wirebench run` in the help of other commands.
pub(super) const OF_RUN: &str = "Options of `wirebench run`";

/// The table of exit codes at the end of every long help.
pub(super) fn exit_codes() -> String {
    let rows =
        Exit::TABLE.iter().map(|(exit, meaning)| format!("\n  {:>3}  {meaning}", exit.code()));
    format!("Exit codes:{}", rows.collect::<String>())
}

/// Hides the options of `wirebench run` from the short help of a command that has them in addition to its own: they do
/// not fit a screen.
pub(super) fn only_in_long_help(argument: Arg) -> Arg {
    let is_of_run = argument.get_help_heading() == Some(OF_RUN);
    if is_of_run { argument.hide_short_help(true) } else { argument }
}
