//! Blocks in the format of Go benchmarks, which `benchstat` compares.
//!
//! The format is that of `go test -bench` (golang.org/design/14313-benchmark-format): a line for each block, so that
//! benchstat sees how blocks vary, with a name, a number of iterations, and pairs of a number and its unit.

use crate::benchmark::Mean;
use crate::escape::escape;
use crate::export::ExportError;
use crate::number;
use crate::row::{self, Row};
use record::{Block, RunRecord};

/// `record` as Go benchmarks: a line for each block that counts, named by its workload. `ns/op` is the mean round trip,
/// response time of an open loop, or life of a short-lived client.
///
/// # Errors
///
/// [`ExportError::NoDistribution`] if nothing was measured.
pub fn go_benchmark(record: &RunRecord) -> Result<String, ExportError> {
    let mut lines = String::new();
    for block in &record.blocks {
        let row = row::row(record, block.workload).filter(|_| block.failed.is_none());
        lines += &row.and_then(|row| line(row, block)).unwrap_or_default();
    }
    if lines.is_empty() {
        return Err(ExportError::NoDistribution);
    }
    let tool = escape(&format!("{} {}", record.tool.name, record.tool.version));
    let mut head = format!("pkg: {tool}\n");
    if let Some(cpu) = &record.environment.cpu_model {
        head += &format!("cpu: {}\n", escape(cpu));
    }
    // benchstat knows only for its own units which direction is better.
    head += "Unit messages/s better=higher\n";
    Ok(head + &lines)
}

/// `BenchmarkEcho-1 95000 254000 ns/op …`; `None` if no time was measured.
fn line(row: Row<'_>, block: &Block) -> Option<String> {
    let mean = Mean::of(row, block)?;
    let times = row.times(block);
    let nanos = |ns: Option<u64>| ns.map(number::float);
    let cpu_ns = |us: Option<f64>| us.map(|us| us * 1e3);
    let numbers = [
        (Some(mean.wall_ns), "ns/op"),
        (nanos(times.and_then(|times| times.p50_ns)), "p50-ns"),
        (nanos(times.and_then(|times| times.p99_ns)), "p99-ns"),
        (Some(block.messages_per_s), "messages/s"),
        (cpu_ns(block.cpu.server_us_per_message), "server-cpu-ns/message"),
        (cpu_ns(block.cpu.generator_us_per_message), "generator-cpu-ns/message"),
    ];
    let mut line = format!("{}-{} {}", name(row), row.threads().max(1), mean.iterations);
    for (number, unit) in numbers {
        if let Some(number) = number.filter(|number| number.is_finite()) {
            line += &format!(" {number} {unit}");
        }
    }
    Some(line + "\n")
}

/// `Benchmark/ws_echo`: the name of a row without characters that would end a name. The slash replaces the capital
/// letter that has to follow.
fn name(row: Row<'_>) -> String {
    let plain = escape(row.name());
    let name: String =
        plain.chars().map(|letter| if letter.is_whitespace() { '_' } else { letter }).collect();
    format!("Benchmark/{name}")
}
