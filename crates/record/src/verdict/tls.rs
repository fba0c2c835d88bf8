//! Changes of TLS parameters within a workload: blocks that are encrypted differently measure different things.

use super::subject::{Finding, Numbers, Outvoted, Rule, Subject};
use crate::{Level, Reason};

/// Blocks that were encrypted differently measure different things; only one set of parameters is recorded per block,
/// so even one that differs shows that others may.
pub(super) fn judge(subject: &Subject<'_>) -> Option<Reason> {
    let first = subject.blocks.iter().find_map(|block| block.tls.as_ref())?;
    let rule = Rule {
        code: "tls_differs",
        message: "not all blocks were encrypted in the same way".to_owned(),
        advice: "fix version and suite: --tls-version, --tls-suite".to_owned(),
        outvoted: Outvoted::Softened,
    };
    subject.reason(rule, |block| {
        let seen = block.tls.as_ref()?;
        let is_same = (&seen.version, &seen.suite) == (&first.version, &first.suite);
        (!is_same).then(|| Finding {
            level: Level::Degraded,
            numbers: Numbers::new(),
            weight: 0.0,
            evidence: format!(
                "TLS {} with {}, at first TLS {} with {}",
                seen.version, seen.suite, first.version, first.suite
            ),
        })
    })
}
