//! The results of the steps of a sweep and of its lines: numbers from blocks, sentences from numbers.

use super::line::{Asked, BUSY_MIN, Line, Within, due, float, offered, replies};
use super::loads::Sweep;
use crate::plan::Plan;
use crate::results::{self, Kept};
use record::{Block, Capacity, Estimate, Knee, Level, ServerMachine, SweepLine, SweepStep};
use spec::AxisOf;
use stats::knee::Interval;
use units::Nanos;

/// All results in the form of the record, not judged yet.
pub(super) fn sweep(
    sweep: Sweep<'_>,
    plan: &Plan,
    lines: &[Line<'_>],
    kept: &[Kept],
) -> record::Sweep {
    let mut steps = Vec::new();
    let mut found = Vec::new();
    for line in lines {
        let of_line: Vec<SweepStep> = line
            .measured()
            .map(|asked| step(line, asked, plan, kept, sweep.axis.slo.is_some()))
            .collect();
        found.push(Found { line, steps: &of_line }.line());
        steps.extend(of_line);
    }
    record::Sweep {
        of: match sweep.axis.of {
            AxisOf::Bots => record::SweepOf::Bots,
            AxisOf::Connections => record::SweepOf::Connections,
            AxisOf::Rate => record::SweepOf::Rate,
            AxisOf::Receivers => record::SweepOf::Receivers,
        },
        preset: sweep.axis.preset.clone(),
        published: sweep.experiment.published.clone(),
        slo: sweep.axis.slo.map(|slo| slo.to_string()),
        lines: found,
        steps,
    }
}

fn step(
    line: &Line<'_>,
    asked: Asked,
    plan: &Plan,
    kept: &[Kept],
    has_objective: bool,
) -> SweepStep {
    let all = || kept.iter().enumerate().filter(|(_, one)| one.block.workload == asked.workload);
    let blocks = || all().map(|(_, one)| &one.block).filter(|block| block.failed.is_none());
    let measurement = &plan.measurements[asked.workload];
    let (load, each) = (&measurement.workload, measurement.spec.load.replies_each());
    let (messages_per_s, bots) = offered(&load.arrival, load.connections.get());
    let sum = |of: &dyn Fn(&Block) -> f64| blocks().map(of).sum::<f64>();
    let replies = sum(&replies);
    let pooled = |of: f64| {
        let value = if of > 0.0 { replies / of } else { 0.0 };
        Estimate { value, low: None, high: None }
    };
    let [kept_of, within] = line.agreed(asked.load).map(|count| u32::try_from(count).ok());
    let mean = |of: &dyn Fn(&Block) -> Option<f64>| mean(blocks().map(of));
    SweepStep {
        line: line.index(),
        workload: asked.workload,
        blocks: all().map(|(index, _)| index).collect(),
        offered_per_s: messages_per_s * each,
        bots,
        achieved_per_s: pooled(sum(&|block| Nanos(block.measured_ns).as_secs_f64())),
        achieved_fraction: pooled(sum(&|block| due(block, each))),
        blocks_kept: kept_of,
        blocks_within: within.filter(|_| has_objective),
        response: results::merged(all().filter_map(|(_, one)| one.headline.response())),
        last_1000_mean_ms: last_1000(
            blocks().filter_map(|block| block.last_1000_mean_ms).collect(),
        ),
        machine_idle_fraction: mean(&|block| block.cpu.machine_idle_fraction),
        server_cores_used: mean(&|block| block.cpu.server_cores_used),
        generator_cores_used: mean(&|block| block.cpu.generator_cores_used),
        payload_bytes_per_s: mean(&|block| {
            let wire = &block.wire;
            let payload = wire.sent?.payload_bytes + wire.received?.payload_bytes;
            per_second(payload, block)
        }),
        stream_bytes_per_s: mean(&|block| {
            per_second(block.wire.sent_bytes + block.wire.received_bytes, block)
        }),
        interface_bytes_per_s: mean(&|block| {
            let interface = block.interface.as_ref()?;
            let both = interface.sent_bytes + interface.received_bytes;
            per_second(if interface.name == "lo" { interface.sent_bytes } else { both }, block)
        }),
        server_memory_bytes: blocks()
            .filter_map(|block| block.memory?.server_pss_bytes.or(block.memory?.server_rss_bytes))
            .max(),
        server_machine: server_machine(blocks()),
        level: Level::Trusted,
    }
}

/// A line with all its steps, in ascending order.
struct Found<'a> {
    line: &'a Line<'a>,
    steps: &'a [SweepStep],
}

impl Found<'_> {
    fn line(&self) -> SweepLine {
        SweepLine {
            name: self.line.name().to_owned(),
            knee: self.knee(),
            level: Level::Trusted,
            capacity: self.line.capacity().map(|Within { load, low, high, is_confirmed }| {
                Capacity {
                    offered_per_s: self.offered(float(load)),
                    low_per_s: self.offered(low),
                    high_per_s: high.map(|high| self.offered(high)),
                    confirmed: is_confirmed,
                    level: Level::Trusted,
                }
            }),
            ran_out: self.ran_out(),
        }
    }

    fn knee(&self) -> Knee {
        match self.line.knee() {
            Some(Interval { low, middle, high, is_confirmed }) => Knee::Found {
                offered_per_s: self.offered(middle),
                low_per_s: self.offered(low),
                high_per_s: self.offered(high),
                confirmed: is_confirmed,
            },
            None => Knee::NotReached {
                offered_max_per_s: self
                    .line
                    .largest_carried()
                    .map_or(0.0, |load| self.offered(float(load))),
                reason: self.ran_out(),
            },
        }
    }

    /// Describes the resource that ran out.
    fn ran_out(&self) -> String {
        if let Some(reason) = self.line.failed() {
            return reason.to_owned();
        }
        if let Some(step) = self.line.beyond().and_then(|load| self.step(load)) {
            let mut what = at_its_limit(step);
            if let Some(reason) = self.line.stopped() {
                what += &format!("; {reason} before the interval reached its final width");
            }
            return what;
        }
        let most = self.steps.last().map_or(0.0, |step| step.offered_per_s);
        let reason = self.line.stopped().or_else(|| self.line.limited());
        match reason {
            Some(reason) => format!("nothing up to {most:.0}/s; {reason}"),
            None => format!("nothing up to {most:.0}/s, and no more was asked for"),
        }
    }

    fn step(&self, load: u64) -> Option<&SweepStep> {
        let workload = self.line.workload(load)?;
        self.steps.iter().find(|step| step.workload == workload)
    }

    /// The messages per second of a load, measured or not.
    fn offered(&self, load: f64) -> f64 {
        self.line.per_s() * load
    }
}

/// The server's machine over all blocks of a step, if it was watched there: the mean of the idle share, and the sums of
/// the counts.
fn server_machine<'a>(blocks: impl Iterator<Item = &'a Block>) -> Option<ServerMachine> {
    let machines: Vec<ServerMachine> = blocks.filter_map(|block| block.server_machine).collect();
    let sum = |of: fn(&ServerMachine) -> Option<u64>| machines.iter().map(of).sum();
    Some(ServerMachine {
        idle_fraction: mean(machines.iter().map(|machine| machine.idle_fraction)),
        cpus_allowed: machines.first()?.cpus_allowed,
        retransmitted_segments: sum(|machine| machine.retransmitted_segments),
        listen_overflows: sum(|machine| machine.listen_overflows),
    })
}

/// Describes the party that had nothing to spare on a step that was not kept, and connections that the server did not
/// accept.
fn at_its_limit(step: &SweepStep) -> String {
    let at_limit = cpu_at_its_limit(step);
    match step.server_machine.and_then(|machine| machine.listen_overflows) {
        Some(refused) if refused > 0 => format!(
            "{at_limit}; {refused} connections were not accepted because the listen queue was full"
        ),
        Some(_) | None => at_limit,
    }
}

fn cpu_at_its_limit(step: &SweepStep) -> String {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let (server, generator) = (step.server_cores_used, step.generator_cores_used);
    let there = step.server_machine.and_then(|machine| machine.idle_fraction);
    let (idle, machine) = match there {
        Some(idle) => (Some(idle), "the server's machine"),
        None => (step.machine_idle_fraction, "the machine"),
    };
    match (server, generator) {
        (Some(server), _) if server >= BUSY_MIN => {
            format!("the server's CPU: it used {} of a core", percent(server))
        }
        (_, Some(generator)) if generator >= BUSY_MIN => {
            format!("the generator's CPU: it used {} of a core", percent(generator))
        }
        _ if idle.is_some_and(|idle| idle < IDLE_MIN) => {
            format!("the CPUs of {machine}: {} were idle", percent(idle.unwrap_or(0.0)))
        }
        (Some(server), _) => {
            let idle = idle.map_or_else(String::new, |idle| {
                format!(", and {} of {machine} was idle", percent(idle))
            });
            format!(
                "no CPU: the server used {} of a core{idle}; it waits, or is capped",
                percent(server)
            )
        }
        (None, _) => {
            let idle = idle.map_or_else(String::new, |idle| {
                format!(" ({} of {machine} was idle)", percent(idle))
            });
            format!("nothing on this machine{idle}; the server, or the network path to it")
        }
    }
}

/// The median over the blocks.
fn last_1000(mut of_blocks: Vec<u64>) -> Option<u64> {
    of_blocks.sort_unstable();
    of_blocks.get(of_blocks.len() / 2).copied()
}

fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let known: Vec<f64> = values.flatten().collect();
    let count = float(known.len() as u64);
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / count)
}

fn per_second(count: u64, block: &Block) -> Option<f64> {
    let time = Nanos(block.measured_ns).as_secs_f64();
    (time > 0.0).then(|| float(count) / time)
}

/// The idle share of the machine below which nothing is to spare.
const IDLE_MIN: f64 = 0.05;
