//! `wirebench ladder`: the same echo over every transport, side by side.

use super::outcome::{self, Output};
use super::values;
use crate::config::{Conflict, Settings};
use crate::exit::{Exit, Failure};
use crate::rungs::{self, RUNGS};
use crate::terminal::Terminal;
use clap::builder::{PossibleValue, PossibleValuesParser};
use std::num::NonZeroU32;
use units::{Bytes, Nanos};

/// As it is typed.
pub(crate) const NAME: &str = "ladder";

/// Set TCP, WebSocket, HTTP, TLS and compression side by side
///
/// Every rung is the same echo over another transport, by servers of ours that are started for it and kept off the
/// generator's core. The rungs take turns, in an order that the seed determines. The table has what a round trip takes,
/// what a message costs, and the ratio to bare TCP with its 95 % interval; below it stands what each layer adds.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_help = "`--help` has all options, and what the rungs are.",
    after_long_help = super::exit_codes(),
    help_template = super::TEMPLATE,
)]
pub(crate) struct Ladder {
    /// How many connections each rung has
    ///
    /// One message is in flight on each.
    #[arg(short, long, value_name = "COUNT", default_value = "50", value_parser = values::count)]
    connections: NonZeroU32,
    /// How long each message is
    #[arg(long, value_name = "SIZE", default_value = "64B", value_parser = values::size)]
    size: Bytes,
    /// Only these rungs, beside tcp
    #[arg(long, value_name = "RUNG,…", value_delimiter = ',', value_parser = rung_names())]
    only: Vec<String>,
    /// Only the rungs without TLS and without compression
    #[arg(long)]
    quick: bool,
    /// How often each rung has its turn
    ///
    /// The more often, the narrower the intervals.
    #[arg(long, value_name = "COUNT", default_value = "10", value_parser = values::rounds)]
    rounds: NonZeroU32,
    /// How long each turn is measured
    #[arg(long, value_name = "TIME", default_value = "420ms", value_parser = values::some_time)]
    block: Nanos,
    /// For order and payload [default: from the clock]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    #[command(flatten)]
    output: Output,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench                              all rungs, in less than 90 s
  wirebench ladder --size 4KiB -c 200    larger messages, more connections
  wirebench ladder --only ws,wss         two rungs beside tcp";

/// Which options exclude each other.
pub(crate) const CONFLICTS: &[Conflict] = &[Conflict {
    between: ["only", "quick"],
    cure: "one names the rungs, the other takes the first seven; leave one out",
}];

impl Ladder {
    /// Measures all rungs, keeps the record, shows the table.
    pub(crate) fn run(self, settings: &Settings, terminal: &Terminal) -> Result<Exit, Failure> {
        let seed = values::seed_or_clock(self.seed);
        let ladder = rungs::Ladder {
            connections: self.connections,
            size: self.size,
            rounds: self.rounds,
            block: self.block,
            seed,
            only: self.only,
            quick: self.quick,
            now_unix_s: engine::clock::unix_seconds().unwrap_or(0),
        };
        let repeat = outcome::Repeat::new(NAME, None, settings, seed);
        outcome::carry_out(&ladder.plan(), record::Kind::Ladder, &repeat, &self.output, terminal)
    }
}

fn rung_names() -> PossibleValuesParser {
    PossibleValuesParser::new(RUNGS.map(|rung| PossibleValue::new(rung.name).help(rung.about)))
}
