//! `cargo xtask bench conversation`: the generator's CPU time for a JSON-RPC request whose reply is found by its id,
//! relative to that of a plain WebSocket echo with about as many bytes.
//!
//! Both servers are oracles that reorder a tenth of the replies, so that neither is matched by order. The blocks of all
//! rows take turns in one run; a ratio compares the same rounds.

use super::{GENERATOR_CORE, SERVER_CORE};
use crate::process::{self, Process};
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use stats::{Part, Pooled};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Measure the generator's CPU time for a request that is matched by its id, beside a plain echo
#[derive(clap::Args, Debug)]
pub(super) struct ConversationArgs {
    /// Rounds, in each of which every row has a block
    #[arg(long, default_value_t = 12, value_name = "N", value_parser = clap::value_parser!(u32).range(6..=1000))]
    rounds: u32,
    /// The measured time of each block
    #[arg(long, default_value = "500ms", value_name = "TIME")]
    block: String,
    /// The binary to measure with, in place of the release build of this tree
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// Prints the table as Markdown.
pub(super) fn run(arguments: &ConversationArgs) -> Result<()> {
    let wirebench = super::program(arguments.program.as_deref())?;
    let scratch = super::scratch("conversation")?;
    let serve = |name: &str, more: &[&str]| {
        let mut serve = Command::new(&wirebench);
        serve.args(["serve", "oracle", "ws", "--json", "--reorder", "10%"]).args(more);
        let mut server = Process::start(name, SERVER_CORE, &serve, &scratch)?;
        let address = process::await_ready(&mut server)?;
        anyhow::Ok((server, address))
    };
    let (_server, plain) = serve("plain", &[])?;
    let (mut server, json) = serve("json", &["--speak", "json-rpc"])?;
    let ConversationArgs { rounds, block, .. } = arguments;
    let mut file = format!(
        "baseline = 'plain-64'\nrounds = {rounds}\nduration = '{block}'\nwarm-up = '100ms'\nconnections = 10\nin-flight = 5\n"
    );
    for Size { bytes, pad, .. } in SIZES {
        let conversation = scratch.join(format!("json-{bytes}.toml"));
        fs::write(&conversation, TALK.replace("PAD", &pad.to_string()))?;
        writeln!(
            file,
            "[[row]]\nname = 'plain-{bytes}'\nurl = 'ws://{plain}/'\nsize = '{bytes}B'"
        )?;
        writeln!(
            file,
            "[[row]]\nname = 'json-{bytes}'\nurl = 'ws://{json}/'\nconversation = '{}'",
            conversation.display()
        )?;
    }
    let asked = scratch.join("conversation.toml");
    fs::write(&asked, file)?;
    let blocks = measure(&wirebench, &scratch, &asked)?;
    server.signal("TERM")?;
    let totals = server.finish_with(&[0], Duration::from_secs(10))?;
    let totals = totals.lines().last().context("the server said no totals")?;
    let overtaken = &serde_json::from_str::<Value>(totals)?["faults"]["reordered"];
    ensure!(overtaken.as_u64() > Some(0), "no reply was overtaken: order would match them all");
    println!("{HEAD}");
    for (index, size) in SIZES.iter().enumerate() {
        println!("{}", row(size, &blocks, [2 * index, 2 * index + 1])?);
    }
    Ok(())
}

/// Runs the file once, and returns its blocks.
fn measure(wirebench: &Path, scratch: &Path, asked: &Path) -> Result<Vec<Value>> {
    let record = scratch.join("conversation.json");
    super::forget(&record)?;
    let mut run = Command::new(wirebench);
    run.arg("run").arg(asked).arg("--quiet").arg("--output").arg(&record);
    Process::start("run", GENERATOR_CORE, &run, scratch)?.finish_with(&[0, 12, 13], PATIENCE)?;
    let mut record: Value = serde_json::from_str(&fs::read_to_string(record)?)?;
    let Value::Array(blocks) = record["blocks"].take() else {
        anyhow::bail!("the record has no blocks")
    };
    Ok(blocks)
}

/// The line of a size, from the blocks of the row that echoes and of the row that converses.
fn row(size: &Size, blocks: &[Value], rows: [usize; 2]) -> Result<String> {
    let cpu = |row: usize| {
        let mut parts = Vec::new();
        for block in blocks.iter().filter(|block| block["workload"] == row) {
            let per_message = block["cpu"]["generator_us_per_message"].as_f64();
            let messages = block["counts"]["ok"].as_f64().context("a block has no replies")?;
            let part = per_message.map(|it| Part { of: it * messages, by: messages });
            parts.push((block["round"].as_u64(), part));
        }
        parts.sort_by_key(|(round, _)| *round);
        let parts: Vec<_> = parts.into_iter().map(|(_, part)| part).collect();
        Pooled::quotient(&parts).context("the generator's CPU time is not in the record")
    };
    let [plain, json] = [cpu(rows[0])?, cpu(rows[1])?];
    let ratio = json.over(&plain);
    let (low, high) = ratio.interval().context("too few rounds for an interval")?;
    let Size { bytes, at_most, .. } = size;
    let mark = if ratio.value() <= *at_most { "" } else { ": MISSED" };
    Ok(format!(
        "| {bytes} B | {:.2} us | {:.2} us | {:.2}x [{low:.2}, {high:.2}] | {at_most}{mark} |",
        plain.value(),
        json.value(),
        ratio.value(),
    ))
}

/// A length of messages.
struct Size {
    bytes: u32,
    /// The padding characters that make a request about as long.
    pad: u32,
    at_most: f64,
}

const SIZES: [Size; 2] =
    [Size { bytes: 64, pad: 6, at_most: 1.25 }, Size { bytes: 1024, pad: 966, at_most: 1.35 }];
const TALK: &str = r#"speaks = "ws"
[request.echo]
send = '{"jsonrpc":"2.0","id":${id},"method":"echo","params":["${pad:PAD}"]}'
reply = { id = "$.id", has = "$.result" }
"#;
const HEAD: &str = "\
| size | plain echo | by its id | ratio of generator CPU a message [95 %] | at most |
|--:|--:|--:|--:|--:|";
/// The longest time of a run; a longer one has failed.
const PATIENCE: Duration = Duration::from_secs(900);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_ratio_is_that_of_the_same_rounds_whatever_their_order() {
        let block = |row: usize, round: u64, us: f64| {
            let cpu = json!({ "generator_us_per_message": us });
            json!({ "workload": row, "round": round, "cpu": cpu, "counts": { "ok": 1000 } })
        };
        let both =
            |(round, us): (u64, f64)| [block(0, round, us), block(1, 5 - round, (9.0 - us) * 1.5)];
        let rounds = (0..).zip([2.0, 3.0, 4.0, 5.0, 6.0, 7.0]).flat_map(both);
        let blocks: Vec<Value> = rounds.collect();
        let size = |at_most| Size { bytes: 64, pad: 6, at_most };
        let line = row(&size(1.6), &blocks, [0, 1]).unwrap();
        assert_eq!(line, "| 64 B | 4.50 us | 6.75 us | 1.50x [1.50, 1.50] | 1.6 |");
        assert!(row(&size(1.4), &blocks, [0, 1]).unwrap().ends_with("| 1.4: MISSED |"));
    }
}
