//! Records in which every text that somebody else may have supplied is an attack.

use record::{Ended, ErrorCount, Knee, Level, Reason, RunRecord, Verdict, Warning};

/// `record` with `text` in everything that a peer, a user or another program may have supplied.
pub(crate) fn saying(record: &RunRecord, text: &str) -> RunRecord {
    let mut record = record.clone();
    let text = || text.to_owned();
    for workload in &mut record.plan.workloads {
        workload.target += &text();
        workload.spec.name += &text();
        workload.spec.subprotocols.push(text());
    }
    for block in &mut record.blocks {
        block.errors = vec![ErrorCount { class: text(), count: 1, example: text() }];
        block.cpu.missing.insert(text(), text());
        block.failed = block.failed.as_ref().map(|_| text());
    }
    for workload in &mut record.plan.workloads {
        for subject in [&mut workload.server, &mut workload.client].into_iter().flatten() {
            for part in [
                &mut subject.name,
                &mut subject.language,
                &mut subject.library,
                &mut subject.version,
                &mut subject.licence,
            ] {
                *part += &text();
            }
            subject.version_found = Some(text());
            subject.options = vec![text()];
        }
    }
    if let Some(lab) = &mut record.lab {
        lab.question = text();
        lab.left_out.iter_mut().for_each(|it| (it.name, it.reason) = (text(), text()));
        for it in &mut lab.footprints {
            (it.subject, it.library, it.from) = (text(), text(), text());
            it.missing.insert(text(), text());
        }
        if let Some(published) = &mut lab.published {
            published.source = text();
            published.notes = vec![text()];
            published.rows.iter_mut().for_each(|row| row.name += &text());
        }
    }
    if let Some(sweep) = &mut record.sweep {
        sweep.slo = Some(text());
        if let Some(published) = &mut sweep.published {
            published.source = text();
            for claim in &mut published.claims {
                (claim.about, claim.published, claim.note) = (text(), text(), Some(text()));
            }
        }
        for line in &mut sweep.lines {
            line.name += &text();
            line.ran_out = text();
        }
        sweep.lines[2].knee = Knee::NotReached { offered_max_per_s: 1.0, reason: text() };
    }
    record.verdict = Some(Verdict {
        level: Level::Degraded,
        reasons: vec![Reason {
            code: text(),
            level: Level::Degraded,
            workload: Some(0),
            message: text(),
            evidence: text(),
            advice: text(),
            ..Reason::default()
        }],
        ..Verdict::default()
    });
    record.warnings =
        vec![Warning { code: text(), message: text(), evidence: text(), advice: text() }];
    record.command_line = vec![text()];
    record.started_at = text();
    record.conclusion = Some(text());
    record.ended = Ended::Partial { reason: text() };
    record.tool.version = text();
    record.environment.cpu_model = Some(text());
    record.environment.versions.insert(text(), text());
    record.environment.missing.insert("kernel".to_owned(), text());
    record
}

/// A text that, unescaped, breaks out of a text, an attribute, a script, a style or a comment, or moves a terminal's
/// cursor.
pub(crate) const EVIL: &str = "<img src=x onerror=\"alert(1)\">'\"</script><!--</style></title><svg onload=alert(1)>\
                    &lt;b&gt;\u{1b}[2J\0\u{202e}]]>{{ 1 }}\u{2028}";
