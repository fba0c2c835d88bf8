//! The parts of a fleet: those that are missing, and those that are not trusted.

use super::subject::{Finding, Numbers, Outvoted, Rule, Subject, float};
use crate::{AgentPart, Block, Level, PartEnd, Reason};
use units::Nanos;

/// Doubts about the parts of a block.
pub(super) fn judge(subject: &Subject<'_>) -> Vec<Reason> {
    [lost, not_trusted, mixed].iter().filter_map(|judge| judge(subject)).collect()
}

/// Parts that were not measured to their end: what the server was offered of them is not known.
fn lost(subject: &Subject<'_>) -> Option<Reason> {
    let rule = Rule {
        code: "agent_lost",
        message: "agents of the fleet were lost: their parts are missing".to_owned(),
        advice: "look at the machines of these agents; --repeat-lost 1 measures such a block again"
            .to_owned(),
        outvoted: Outvoted::Softened,
    };
    subject.reason(rule, |block| {
        let missing: Vec<&AgentPart> =
            block.load_parts().filter(|part| part.end != PartEnd::Measured).collect();
        let names: Vec<String> =
            missing.iter().map(|part| format!("{} {}", part.agent, end(part.end))).collect();
        let parts = block.load_parts().count();
        let measured = parts - missing.len();
        (!missing.is_empty()).then(|| Finding {
            level: Level::Degraded,
            numbers: Numbers::new(),
            weight: f64::from(u32::try_from(missing.len()).unwrap_or(u32::MAX)),
            evidence: format!(
                "{measured} of {parts} parts were measured: {}{}",
                names.join(", "),
                offered(block)
            ),
        })
    })
}

/// The range of what the server was offered, where parts are missing.
fn offered(block: &Block) -> String {
    let time = Nanos(block.measured_ns).as_secs_f64();
    let most = block.planned_most();
    if time <= 0.0 || most == block.counts.planned {
        return String::new();
    }
    let [least, most] = [block.counts.planned, most].map(|count| float(count) / time);
    format!("; it was offered at least {least:.0}/s, at most {most:.0}/s")
}

/// Parts whose own numbers say that they are not the server's.
fn not_trusted(subject: &Subject<'_>) -> Option<Reason> {
    let rule = Rule {
        code: "agent_not_trusted",
        message: "agents of the fleet are not trusted: their parts are left out".to_owned(),
        advice: "give these agents machines of their own, or the fleet more of them".to_owned(),
        outvoted: Outvoted::Softened,
    };
    subject.reason(rule, |block| {
        let planned = |is_wanted: &dyn Fn(&AgentPart) -> bool| -> u64 {
            block.load_parts().filter(|part| is_wanted(part)).filter_map(|part| part.planned).sum()
        };
        let doubted = || block.load_parts().filter(|part| !part.doubts.is_empty());
        let words: Vec<String> =
            doubted().map(|part| format!("{}: {}", part.agent, part.doubts.join("; "))).collect();
        let counted = planned(&AgentPart::counts);
        let is_small = counted == 0 || counted.saturating_mul(2) < planned(&|_| true);
        (!words.is_empty()).then(|| Finding {
            level: if is_small { Level::Invalid } else { Level::Degraded },
            numbers: Numbers::new(),
            weight: f64::from(u32::try_from(words.len()).unwrap_or(u32::MAX)),
            evidence: words.join(", "),
        })
    })
}

/// Parts that another version of this program measured.
fn mixed(subject: &Subject<'_>) -> Option<Reason> {
    let rule = Rule {
        code: "agents_mixed",
        message: "agents of the fleet have other versions: these are several instruments"
            .to_owned(),
        advice: "install one version on all machines of the fleet, and leave --mixed out"
            .to_owned(),
        outvoted: Outvoted::Never,
    };
    subject.reason(rule, |block| {
        let words = block.agents.iter().filter_map(|part| {
            let version = part.version.as_ref()?;
            Some(format!("{} is {version}", part.agent))
        });
        let words: Vec<String> = words.collect();
        (!words.is_empty()).then(|| Finding {
            level: Level::Degraded,
            numbers: Numbers::new(),
            weight: f64::from(u32::try_from(words.len()).unwrap_or(u32::MAX)),
            evidence: words.join(", "),
        })
    })
}

const fn end(end: PartEnd) -> &'static str {
    match end {
        PartEnd::Measured => "was measured",
        PartEnd::Stopped => "was stopped",
        PartEnd::NotStarted => "did not begin",
        PartEnd::Lost => "was lost",
    }
}
