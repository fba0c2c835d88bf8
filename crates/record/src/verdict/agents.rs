//! The parts of a fleet: those that are missing, and those that are not trusted.

use super::subject::{Finding, Numbers, Outvoted, Rule, Subject, float};
use crate::{AgentPart, Block, Level, PartEnd, Reason, takes_all};
use units::Nanos;

/// Doubts about the parts of a block.
pub(super) fn judge(subject: &Subject<'_>) -> Vec<Reason> {
    [lost, not_trusted, mixed].iter().filter_map(|judge| judge(subject)).collect()
}

/// Parts that were not measured to their end: how much of them the server was offered is not known.
fn lost(subject: &Subject<'_>) -> Option<Reason> {
    let rule = Rule {
        code: "agent_lost",
        message: "agents of the fleet were lost: their parts are missing".to_owned(),
        advice: LOOK_AT_THE_LOST.to_owned(),
        outvoted: Outvoted::Softened,
    };
    subject.reason(rule, |block| {
        let missing: Vec<&AgentPart> = missing(block).collect();
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

/// The parts of a block's load that were not measured to their end.
pub(super) fn missing(block: &Block) -> impl Iterator<Item = &AgentPart> {
    block.load_parts().filter(|part| part.end != PartEnd::Measured)
}

/// The advice where parts are missing.
pub(super) const LOOK_AT_THE_LOST: &str =
    "look at the machines of these agents; --repeat-lost 1 measures such a block again";

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

/// Parts whose own numbers show that they do not describe the server.
fn not_trusted(subject: &Subject<'_>) -> Option<Reason> {
    let is_doubted = |block: &&Block| block.load_parts().any(|part| !part.doubts.is_empty());
    let takes_all = |block: &Block| takes_all(block.load_parts());
    let message = match subject.blocks.iter().copied().filter(is_doubted).all(takes_all) {
        true => {
            "agents with most of the load of the fleet are not trusted: these numbers describe them"
        }
        false => "agents of the fleet are not trusted: their parts are left out",
    };
    let rule = Rule {
        code: "agent_not_trusted",
        message: message.to_owned(),
        advice: "give these agents machines of their own, or the fleet more machines".to_owned(),
        outvoted: Outvoted::Softened,
    };
    subject.reason(rule, |block| {
        let doubted = block.load_parts().filter(|part| !part.doubts.is_empty());
        let words: Vec<String> =
            doubted.map(|part| format!("{}: {}", part.agent, part.doubts.join("; "))).collect();
        let (level, end) = if takes_all(block) {
            (Level::Invalid, "; less than half of the load is trusted, so all parts count")
        } else if block.load_parts().any(AgentPart::counts) {
            (Level::Degraded, "")
        } else {
            (
                Level::Invalid,
                "; no part is trusted, and no measured part planned any message, so none counts",
            )
        };
        (!words.is_empty()).then(|| Finding {
            level,
            numbers: Numbers::new(),
            weight: f64::from(u32::try_from(words.len()).unwrap_or(u32::MAX)),
            evidence: words.join(", ") + end,
        })
    })
}

/// Parts that another version of this program measured.
fn mixed(subject: &Subject<'_>) -> Option<Reason> {
    let rule = Rule {
        code: "agents_mixed",
        message: "agents of the fleet run different versions: the parts are not measured alike"
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
