//! `cargo xtask bench noise`: how often intervals miss a known truth while the machine is disturbed.
//!
//! The measurements are made up ([`stats::noise`]), so that thousands of them take minutes and everybody gets the same
//! table: docs/noise.md has it. With `--sockets` they are real ones ([`sockets`]): fewer, and those of this machine.

mod sockets;

use anyhow::Result;
use stats::noise::{Cell, Disturbance, Figure, Method, Tally, trials};
use std::path::PathBuf;

/// Count how often intervals miss a known truth on disturbed machines, and print the table of docs/noise.md
#[derive(clap::Args, Debug)]
pub(super) struct NoiseArgs {
    /// Measurements for each cell of the table
    #[arg(long, default_value_t = 1000, value_name = "N")]
    trials: usize,
    /// Rounds of each measurement
    #[arg(long, default_value_t = 10, value_name = "N")]
    rounds: usize,
    /// Only disturbances whose name contains this
    #[arg(long, default_value = "", value_name = "NAME")]
    only: String,
    /// Measure real servers beside real disturbances, for about ten seconds each time
    #[arg(long)]
    sockets: bool,
    /// With --sockets: what is known of the servers, and differs
    #[arg(long, default_value = "work", value_name = "TRUTH", requires = "sockets")]
    truth: sockets::Truth,
    /// With --sockets: pairs of equal servers, and of servers of known difference, for each disturbance
    #[arg(long, default_value_t = 40, value_name = "N", requires = "sockets")]
    pairs: usize,
    /// With --sockets: the measured time of each block
    #[arg(long, default_value = "150ms", value_name = "TIME", requires = "sockets")]
    block: String,
    /// With --sockets: the binary to measure with, in place of the release build of this tree
    #[arg(long, value_name = "PATH", requires = "sockets")]
    program: Option<PathBuf>,
}

/// Prints the table as Markdown, row by row.
pub(super) fn run(arguments: &NoiseArgs) -> Result<()> {
    if arguments.sockets {
        let bench = sockets::Bench {
            wirebench: super::program(arguments.program.as_deref())?,
            scratch: super::scratch("noise")?,
            truth: arguments.truth,
            pairs: arguments.pairs,
            rounds: arguments.rounds,
            block: arguments.block.clone(),
        };
        return sockets::run(&bench, &arguments.only);
    }
    println!("{HEAD}");
    for (name, disturbance) in Disturbance::ALL {
        if !name.contains(&arguments.only) {
            continue;
        }
        let cell = |slower| Cell { disturbance, slower, rounds: arguments.rounds };
        let both =
            |slower| trials(cell(slower), [Method::Medians, Method::Pooled], arguments.trials, 1);
        let now = |slower| {
            let [now] = trials(cell(slower), [Method::Pooled], arguments.trials, 1);
            now
        };
        let [equal_before, equal] = both(1.0);
        let [slower_before, slower] = both(1.1);
        let before = [equal_before, slower_before];
        let now = [equal, now(1.03), now(1.05), slower];
        for (index, (figure, _)) in Figure::ALL.iter().enumerate() {
            let (before, now) = (before.each_ref(), now.each_ref());
            let (before, now) = (before.map(|all| &all[index]), now.map(|all| &all[index]));
            println!("{}", row(name, figure, before, now));
        }
    }
    Ok(())
}

/// Formats a row: `before` has the earlier method with equal sides and with +10 %, `now` the current one with equal
/// sides, +3, +5 and +10 %.
fn row(name: &str, figure: &str, before: [&Tally; 2], now: [&Tally; 4]) -> String {
    let percent = |tally: &Tally, count: usize| format!("{:.1}", 100.0 * tally.share(count));
    let width = |tally: &Tally| {
        tally.half_width().map_or_else(|| "-".to_owned(), |half| format!("{:.1}", 100.0 * half))
    };
    let moved = match now[0].moved_most() {
        moved if moved < 100.0 => format!("{:.1}", 100.0 * moved),
        _ => "all".to_owned(),
    };
    let cells = [
        name.to_owned(),
        figure.to_owned(),
        percent(before[0], before[0].missed),
        percent(now[0], now[0].missed),
        percent(before[1], before[1].missed),
        percent(now[3], now[3].missed),
        width(before[0]),
        width(now[0]),
        percent(now[0], now[0].refused),
        percent(now[1], now[1].claimed),
        percent(now[2], now[2].claimed),
        percent(before[1], before[1].claimed),
        percent(now[3], now[3].claimed),
        moved,
    ];
    format!("| {} |", cells.join(" | "))
}

const HEAD: &str = "\
| machine | figure | missed if equal before | now | missed at +10 % before | now | half-width before | now | no answer | +3 % found | +5 % | +10 % before | now | one block moves it by |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_cell_for_each_column_and_its_shares_in_percent() {
        let cell = Cell { disturbance: Disturbance::Quiet, slower: 1.1, rounds: 10 };
        let [[_, p50, ..]] = trials(cell, [Method::Pooled], 4, 1);
        let mut none = Tally::default();
        (none.trials, none.refused) = (4, 4);
        let row = row("quiet", "p50", [&none; 2], [&none, &p50, &p50, &p50]);
        let cells: Vec<&str> = row.split(" | ").collect();
        assert_eq!(cells.len(), HEAD.lines().next().unwrap().split(" | ").count(), "{row}");
        assert_eq!((cells[8], cells[12], cells[6]), ("100.0", "100.0", "-"), "{row}");
    }
}
