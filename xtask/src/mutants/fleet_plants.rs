//! The planted bugs of fleets: mistakes of coordination that the worlds in virtual time find.

use super::plants::Plant;
use super::switch::Change;

const AGENT: &str = "crates/fleet/src/agent/mod.rs";
const OFFERS: &str = "crates/fleet/src/agent/offers.rs";
const BLOCKS: &str = "crates/fleet/src/controller/blocks.rs";
const WORLDS: &str = "seeds::two_thousand_fleets_keep_their_promises_whatever_goes_wrong";

/// The list. The tests of `fleet` find each.
pub(super) const FLEET_PLANTS: &[Plant] = &[
    Plant {
        name: "lost without a race",
        lie: "a part is lost because its controller thinks so, though its result is in the log",
        had_by: "Artillery: late batches are deleted",
        file: BLOCKS,
        caught_by: "fleet",
        test: WORLDS,
        changes: &[Change {
            place: "let entry = Entry::Slot(Arc::new(lost));\n            «self.writes.insert(subject.clone(), Write::new(subject, entry));»",
            bug: "self.ledger.learn(&subject, &entry);\nself.writes.insert(subject.clone(), Write::new(subject, entry));",
        }],
    },
    Plant {
        name: "start on a stale go",
        lie: "a machine that heard late of the begin began with the others",
        had_by: "Tsung logs `ntp?` and begins at once; Locust, JMeter begin when they are told",
        file: AGENT,
        caught_by: "fleet",
        test: WORLDS,
        changes: &[
            Change { place: "let why = if «now >= start» {", bug: "false" },
            Change {
                place: "let latest = «start + START_LATE_MAX»;", bug: "now + START_LATE_MAX"
            },
        ],
    },
    Plant {
        name: "any process of the name",
        lie: "two processes of one name are one machine",
        had_by: "Locust#699: a restarted worker counts twice",
        file: AGENT,
        caught_by: "fleet",
        test: WORLDS,
        changes: &[Change {
            place: "«seat.agent == self.hello.agent && seat.instance == self.hello.instance»",
            bug: "seat.agent == self.hello.agent",
        }],
    },
    Plant {
        name: "exists means mine",
        lie: "a result that was decided without its agent is in the record",
        had_by: "whoever reads a refusal as a duplicate of its own",
        file: OFFERS,
        caught_by: "fleet",
        test: WORLDS,
        changes: &[Change { place: "offer.is_in = «value == *write.entry()»;", bug: "true" }],
    },
    Plant {
        name: "closed with open slots",
        lie: "a block is whole though a part of it is neither measured nor lost",
        had_by: "tools that take what has come when the time is over",
        file: BLOCKS,
        caught_by: "fleet",
        test: WORLDS,
        changes: &[Change {
            place: "if «undecided.is_empty()» {",
            bug: "undecided.len() < go.roster.len()",
        }],
    },
    Plant {
        name: "a time-out is an answer",
        lie: "what was sent has arrived",
        had_by: "whoever does not read back",
        file: "crates/fleet/src/write.rs",
        caught_by: "fleet",
        test: WORLDS,
        changes: &[Change {
            place: "«self.state = State::Paused { until: now, reads: true };»",
            bug: "return Some(self.entry.clone());",
        }],
    },
    Plant {
        name: "told before it is written",
        lie: "a block began, and the log knows nothing of it",
        had_by: "all that start their workers by a message alone",
        file: BLOCKS,
        caught_by: "fleet",
        test: WORLDS,
        changes: &[Change {
            place: "let entry = Entry::Step(Arc::new(step));\n        «self.writes.insert(subject.clone(), Write::new(subject, entry));»",
            bug: "self.ledger.learn(&subject, &entry);\nself.writes.insert(subject.clone(), Write::new(subject, entry));",
        }],
    },
    Plant {
        name: "repeated without end",
        lie: "a fleet that loses an agent in every block gets it right the next time",
        had_by: "retry loops",
        file: BLOCKS,
        caught_by: "fleet",
        test: WORLDS,
        changes: &[Change {
            place: "closed.is_marked() && «attempt < plan.repeats»", bug: "true"
        }],
    },
    Plant {
        name: "silence passed over",
        lie: "an agent that says nothing is at work",
        had_by: "k6-operator waits for ever, Hyperfoil is stuck in READY",
        file: "crates/fleet/src/controller/member.rs",
        caught_by: "fleet",
        test: "seeds::an_agent_that_is_killed_or_stopped_is_missed_within_three_seconds",
        changes: &[Change {
            place: "self.is_missed || «!self.is_silent(now)»",
            bug: "now.since(self.heard) < Nanos::from_secs(4)",
        }],
    },
    Plant {
        name: "another roster's part",
        lie: "parts that were cut for different fleets add up",
        had_by: "workers that are given their share when they join, and keep it when others leave",
        file: AGENT,
        caught_by: "fleet",
        test: WORLDS,
        changes: &[Change { place: "&& «task.part == seat.part»", bug: "true" }],
    },
    Plant {
        name: "late agents count",
        lie: "a machine that stood still measured the server",
        had_by: "tools that merge what workers report, and look at no worker's own lateness",
        file: "crates/fleet/src/merge.rs",
        caught_by: "fleet",
        test: "seeds::every_controller_leaves_out_the_same_agents_that_stood_still_or_sent_late",
        changes: &[Change {
            place: "doubts.extend(«record::generator_faults(&Block::of(outcome), health.timer_floor)»);",
            bug: "Vec::<String>::new()",
        }],
    },
];
