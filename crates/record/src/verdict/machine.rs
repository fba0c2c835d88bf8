//! Effects of the machine on the numbers: parties that share cores, other programs that take time, timers that are not
//! exact.

use super::generator::{LATE_MAX, Late};
use super::subject::{Finding, Numbers, Outvoted, Rule, Subject, float, moved_by, percent};
use crate::{
    Block, Comparison, Environment, Estimate, Level, Number, PerMetric, Reason, RunRecord, Workload,
};
use std::collections::BTreeSet;
use units::Nanos;

/// The share of stolen CPU time above which the p99 may be affected.
const STEAL_MAX: f64 = 0.01;
/// The share of a core that others may use where none is spare.
const OTHERS_CORES_MAX: f64 = 0.1;
/// The share of the time that a thread of the generator may wait for a CPU, as with steal.
const WAIT_MAX: f64 = 0.01;
/// The share of the time that some program of the machine may wait for a CPU, where the wait of our own threads is not
/// known: the program need not be ours.
const PRESSURE_MAX: f64 = 0.1;

/// Reasons that concern the whole run.
pub(super) fn judge(record: &RunRecord) -> Vec<Reason> {
    let environment = &record.environment;
    let reason = |code: &str, message: &str, evidence, advice: &str| Reason {
        code: code.to_owned(),
        level: Level::Degraded,
        workload: None,
        numbers: Numbers::new(),
        message: message.to_owned(),
        evidence,
        advice: advice.to_owned(),
    };
    let steal = environment.steal_during_fraction.filter(|steal| *steal > STEAL_MAX).map(|steal| {
        reason(
            "noisy_machine",
            "the hypervisor took CPU time away while we measured",
            format!("steal {} of all CPU time", percent(steal)),
            "run it again when the neighbours are quiet, or on a machine of its own",
        )
    });
    let failed = environment.selftest.as_ref().filter(|certificate| !certificate.passed);
    let selftest = failed.map(|certificate| {
        let checks = certificate.checks.iter().filter(|check| !check.passed);
        let evidence: Vec<String> =
            checks.map(|check| format!("{}: {}", check.code, check.evidence)).collect();
        reason(
            "selftest_failed",
            "the self-test failed on this machine",
            evidence.join("; "),
            "run `wirebench selftest` again when the machine is quiet: a pass replaces this result; if it fails twice, \
             report it",
        )
    });
    steal.into_iter().chain(selftest).collect()
}

/// Reasons that concern one workload.
pub(super) fn judge_subject(subject: &Subject<'_>) -> Vec<Reason> {
    [
        shared_cores(subject),
        others(subject),
        noisier_than_the_effect(subject),
        timers(subject),
        effect_below_the_floor(subject),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Replaces reasons about the machine that all of several rows share with one about the run: they single out no row.
pub(super) fn told_once(mut reasons: Vec<Reason>, rows: usize) -> Vec<Reason> {
    let is_shared = |one: &Reason, other: &Reason| {
        ["noisy_machine", "shared_cores"].contains(&&one.code[..])
            && (&one.code, &one.message, &one.numbers)
                == (&other.code, &other.message, &other.numbers)
    };
    let mut at = 0;
    while let Some(first) = reasons.get(at).cloned() {
        let count = reasons.iter().filter(|other| is_shared(&first, other)).count();
        if rows > 1 && count == rows {
            reasons.retain(|other| !is_shared(&first, other));
            reasons.insert(at, Reason { workload: None, ..first });
        }
        at += 1;
    }
    reasons
}

/// Parties that run on the same core slow each other down.
fn shared_cores(subject: &Subject<'_>) -> Option<Reason> {
    let evidence = sharing(subject.workload, &subject.record.environment)?;
    Some(Reason {
        code: "shared_cores".to_owned(),
        level: Level::Degraded,
        workload: Some(subject.index),
        numbers: Numbers::new(),
        message: "generator and server share cores, so each slows the other down".to_owned(),
        evidence,
        advice: "allow this process more CPUs, or ask for fewer --threads; ratios suffer less than times".to_owned(),
    })
}

fn sharing(workload: &Workload, environment: &Environment) -> Option<String> {
    let (generator, server) = (&workload.pinning.generator_cpus, &workload.pinning.server_cpus);
    let core_of = |cpu: u32| {
        {
            let cores = &environment.cores_allowed;
            cores
                .iter()
                .find(|core| core.contains(&cpu))
                .and_then(|core| core.first())
                .unwrap_or(&cpu)
        }
        .to_owned()
    };
    if let Some(cpu) = generator.iter().find(|cpu| server.contains(cpu)) {
        return Some(format!("generator and server both run on CPU {cpu}"));
    }
    let is_beside = |cpu: &&u32| server.iter().any(|other| core_of(*other) == core_of(**cpu));
    if let Some(cpu) = generator.iter().find(is_beside) {
        return Some(format!("generator (CPU {cpu}) and server are hyper-threads of one core"));
    }
    let different: BTreeSet<u32> = generator.iter().copied().collect();
    if different.len() < generator.len() {
        return Some(format!("{} generator threads on {} CPUs", generator.len(), different.len()));
    }
    let cores = cores(workload, environment)?;
    (float(parties(workload)) > cores).then(|| {
        let server = if workload.is_local() { " and the server" } else { "" };
        format!("{} generator threads{server} on {cores} CPUs", workload.spec.threads)
    })
}

/// The number of CPUs that generator and server have together.
fn cores(workload: &Workload, environment: &Environment) -> Option<f64> {
    // A server that is not ours may run where we may not.
    let is_ours = !workload.pinning.server_cpus.is_empty();
    let allowed = u32::try_from(environment.cpus_allowed.len()).ok().filter(|count| *count > 0);
    let cpus = if workload.is_local() && !is_ours {
        environment.cpus_online.max(allowed)
    } else {
        allowed
    };
    let quota = environment.container.as_ref().and_then(|container| container.cpu_cores_max);
    let cpus = cpus.map(f64::from);
    match (cpus, quota) {
        (Some(cpus), Some(quota)) => Some(cpus.min(quota)),
        (cpus, quota) => cpus.or(quota),
    }
}

/// Others took time that generator and server needed: cores where none was spare, turns of our threads, or time of the
/// machine itself (steal).
fn others(subject: &Subject<'_>) -> Option<Reason> {
    let rule = Rule {
        code: "noisy_machine",
        message: "other programs used CPU time that generator and server needed".to_owned(),
        advice: "end other programs (`top` lists them), or run it on a machine of its own"
            .to_owned(),
        outvoted: Outvoted::Shared,
    };
    // Parties that share a core make each other wait.
    let is_shared = sharing(subject.workload, &subject.record.environment).is_some();
    subject.reason(rule, |block| {
        let cores = crowded(subject, block).map(|others| (Number::ALL.to_vec(), others));
        let met = waited(subject, block)
            .filter(|_| !is_shared)
            .into_iter()
            .chain(block.neighbours.steal_fraction.filter(|steal| *steal > STEAL_MAX));
        let met = met.map(|share| (moved_by(share).collect(), share));
        let found: Vec<(Vec<Number>, f64)> = cores.into_iter().chain(met).collect();
        let numbers = found.iter().flat_map(|(numbers, _)| numbers);
        let numbers = numbers.map(|number| (*number, Level::Degraded)).collect();
        let weight = found.iter().map(|(_, weight)| *weight).fold(0.0, f64::max);
        Finding::of_some(numbers, weight, neighbours(subject, block))
    })
}

/// The cores that others used, if generator and server had none to spare.
fn crowded(subject: &Subject<'_>, block: &Block) -> Option<f64> {
    let others = block.cpu.others_cores_used.filter(|others| *others > OTHERS_CORES_MAX)?;
    let online = f64::from(subject.record.environment.cpus_online?);
    (float(parties(subject.workload)) + others > online).then_some(others)
}

/// The number of our threads that each want a CPU: workers, and a server on this machine.
fn parties(workload: &Workload) -> u64 {
    u64::from(workload.spec.threads.get()) + u64::from(workload.is_local())
}

/// The share of the time that a thread of the generator waited for a CPU, if it is too much; where that is not known,
/// the CPU pressure of the machine.
fn waited(subject: &Subject<'_>, block: &Block) -> Option<f64> {
    let threads = float(subject.workload.spec.threads.get().into());
    match block.neighbours.generator_wait_fraction {
        Some(all) => Some(all / threads).filter(|wait| *wait > WAIT_MAX),
        None => block.neighbours.pressure_fraction.filter(|pressure| *pressure > PRESSURE_MAX),
    }
}

/// The evidence, e.g. `other programs used 1.20 of 2 CPUs, beside 2 parties of ours; threads of the generator waited
/// 4.1 % of the time for a CPU`.
fn neighbours(subject: &Subject<'_>, block: &Block) -> String {
    let near = &block.neighbours;
    let cores = block.cpu.others_cores_used.map(|others| {
        let online = subject.record.environment.cpus_online;
        let online = online.map_or_else(|| "all".to_owned(), |online| online.to_string());
        format!(
            "other programs used {others:.2} of {online} CPUs, beside {} parties of ours",
            parties(subject.workload)
        )
    });
    let share = |share: Option<f64>, words: &str| {
        let share = share.filter(|share| *share > 0.0)?;
        Some(words.replace("{}", &percent(share)))
    };
    let facts = [
        cores,
        share(
            near.generator_wait_fraction,
            "threads of the generator waited {} of the time for a CPU",
        ),
        share(near.server_wait_fraction, "those of the server {}"),
        share(near.pressure_fraction, "some program waited {} of it"),
        share(near.steal_fraction, "the hypervisor took {} of all CPU time"),
    ];
    facts.into_iter().flatten().collect::<Vec<String>>().join("; ")
}

/// A difference that an interval claims, though blocks this noisy may well hide it.
fn noisier_than_the_effect(subject: &Subject<'_>) -> Option<Reason> {
    let comparison = claimed(subject)?;
    let smallest = comparison.smallest_detectable_fraction?;
    let effect = (comparison.ratio - 1.0).abs();
    (effect < smallest).then(|| Reason {
        code: "noisy_machine".to_owned(),
        level: Level::Degraded,
        workload: Some(subject.index),
        numbers: [(Number::Ratio, Level::Degraded)].into(),
        message: "the difference is too small to be shown reliably by blocks this noisy".to_owned(),
        evidence: format!(
            "a difference of {}; one of {} would be shown four times out of five",
            percent(effect),
            percent(smallest)
        ),
        advice: "measure more --rounds, or on a quieter machine, before you rely on it".to_owned(),
    })
}

/// The comparison of the headline with the baseline's, if its interval shows a difference.
fn claimed<'a>(subject: &Subject<'a>) -> Option<&'a Comparison> {
    let comparison = headline_of(subject, result(subject)?.to_baseline.as_ref()?)?;
    let (low, high) = (comparison.low?, comparison.high?);
    (low > 1.0 || high < 1.0).then_some(comparison)
}

pub(super) fn result<'a>(subject: &Subject<'a>) -> Option<&'a crate::WorkloadResult> {
    subject.record.results.iter().find(|result| result.workload == subject.index)
}

/// The p50 of the times that results are made of.
pub(super) fn headline_of<'a, T>(
    subject: &Subject<'_>,
    metrics: &'a PerMetric<T>,
) -> Option<&'a T> {
    let of = if subject.is_open() { &metrics.response_p50_ns } else { &metrics.round_trip_p50_ns };
    of.as_ref()
}

/// In an open loop timers decide when a message is sent. Where late wake-ups are a visible part of the response, and no
/// later than this machine's timers make them, the machine limits the resolution.
fn timers(subject: &Subject<'_>) -> Option<Reason> {
    let floor = subject.record.environment.timer_floor?;
    let rule = Rule {
        code: "below_the_floor",
        message: "this machine wakes a sleeping generator late, and the response times include that".to_owned(),
        advice: "read the service times, which do not include it; or give the generator a core of its own, where it polls the clock instead of sleeping"
            .to_owned(),
        outvoted: Outvoted::Shared,
    };
    subject.reason(rule, |block| {
        let is_visible = |late: &Late| {
            late.fraction() > LATE_MAX
                && late.changes_the_response()
                && late.is_of_wake_ups(subject, block)
        };
        let late: Vec<Late> = Late::all(block.open_loop.as_ref()?).filter(is_visible).collect();
        let worst = late.iter().max_by(|one, other| one.fraction().total_cmp(&other.fraction()))?;
        let evidence = format!(
            "{}; timers alone are late by {} (p50) and {} (p99)",
            worst.evidence(),
            Nanos(floor.overshoot_p50_ns),
            Nanos(floor.overshoot_p99_ns)
        );
        let numbers = late.iter().flat_map(|late| late.numbers());
        let numbers = numbers.map(|number| (*number, Level::Degraded)).collect();
        Finding::of_some(numbers, worst.fraction(), evidence)
    })
}

/// A difference between two open loops that is smaller than the error of timers. Closed loops use no timer.
fn effect_below_the_floor(subject: &Subject<'_>) -> Option<Reason> {
    let comparison = claimed(subject).filter(|_| subject.is_open())?;
    let floor = subject.record.environment.timer_floor?;
    let Estimate { value, .. } = *headline_of(subject, &result(subject)?.pooled)?;
    let effect_ns = (value - value / comparison.ratio).abs();
    (effect_ns < float(floor.overshoot_p50_ns)).then(|| Reason {
        code: "below_the_floor".to_owned(),
        level: Level::Degraded,
        workload: Some(subject.index),
        numbers: [(Number::Ratio, Level::Degraded)].into(),
        message: "the difference is smaller than the error of this machine's timers".to_owned(),
        evidence: format!(
            "a difference of {:.1} us, timers are late by {} (p50)",
            effect_ns / 1e3,
            Nanos(floor.overshoot_p50_ns)
        ),
        advice: "compare service times, which do not include it".to_owned(),
    })
}
