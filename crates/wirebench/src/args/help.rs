//! Parts of the help that all commands share.

use crate::exit::Exit;

/// Examples stand before options.
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
