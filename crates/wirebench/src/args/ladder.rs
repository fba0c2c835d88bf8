//! `wirebench ladder`: the same echo over every transport, side by side.

use super::experiment::Execution;
use crate::data;
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use record::Kind;
use spec::Options;
use spec::file::{Asked, File};
use units::{Bytes, Count, Nanos};

/// The name of the subcommand.
pub(crate) const NAME: &str = "ladder";

/// Set TCP, WebSocket, HTTP and TLS side by side
///
/// Every rung is the same echo over another transport, by embedded servers that are started for it and kept off the
/// generator's core. The rungs take turns, in an order that the seed determines. The table shows the time of a round
/// trip, the cost of a message, and the ratio to bare TCP with its 95 % interval; --details adds what each layer costs.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_help = "`--help` has all options, and the rungs.",
    after_long_help = format!("{RUNGS}\n\n{}", super::help::exit_codes()),
    help_template = super::help::TEMPLATE,
)]
pub(crate) struct Ladder {
    /// Connections of each rung, with one message in flight on each [default: 50]
    #[arg(short, long, value_name = "COUNT")]
    connections: Option<Count>,
    /// Length of each message [default: 64B]
    #[arg(long, value_name = "SIZE")]
    size: Option<Bytes>,
    /// Length of each turn [default: 420ms]
    #[arg(long, value_name = "TIME")]
    block: Option<Nanos>,
    #[command(flatten)]
    execution: Execution,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench                              five rungs, in less than 45 s
  wirebench ladder --all                 all of them, in less than 90 s
  wirebench ladder --only unix,https     two rungs beside tcp";

#[rustfmt::skip]
const RUNGS: &str = "\
Rungs:
  tcp, ws, http, wss, http-new; and with --all:
  tcp-framed, unix, ws-text, tls, ws-json, ws-deflate, https, https-new, https-resume";

impl Ladder {
    /// Measures all rungs, keeps the record, shows the table.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let Self { connections, size, block, execution } = self;
        let file = ladder();
        let options = Options { connections, size, duration: block, ..Options::default() };
        let asked = Asked { options, ..execution.asked() };
        execution.of_file(file, &asked, Some(Kind::Ladder), terminal)
    }
}

/// The rungs.
fn ladder() -> File {
    let text = data::experiment("ladder").expect("the program brings it");
    File::read("the ladder", text).expect("a test reads it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_rung() {
        let file = ladder();
        let named: Vec<&str> = RUNGS.split([' ', ',', ';', '\n', ':']).collect();
        assert!(file.rows().all(|(name, _)| named.contains(&name)), "{named:?}");
        assert_eq!(file.rows().count(), 14);
    }
}
