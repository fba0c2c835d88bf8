//! The planted bugs: what each makes a load generator say, who has said it, and the text that does it here.

use anyhow::{Result, bail};

/// A bug as a replacement of text.
pub(super) struct Plant {
    pub(super) name: &'static str,
    /// What the numbers would say.
    pub(super) lie: &'static str,
    /// Which tools have had it.
    pub(super) had_by: &'static str,
    /// Below the top of the workspace, in `crates`.
    pub(super) file: &'static str,
    /// What stands there, each exactly once, and what the bug has in its place.
    pub(super) changes: &'static [Change],
}

/// A text, and another for it.
pub(super) struct Change {
    pub(super) find: &'static str,
    pub(super) replace: &'static str,
}

impl Plant {
    /// `text` with the bug in it.
    ///
    /// # Errors
    ///
    /// The plant is stale: what it replaces is not there, or is there more than once.
    pub(super) fn apply(&self, text: &str) -> Result<String> {
        self.changes.iter().try_fold(text.to_owned(), |text, Change { find, replace }| {
            match text.matches(find).count() {
                1 => Ok(text.replacen(find, replace, 1)),
                count => bail!(
                    "plant `{}` is stale: {} has {count} of
{find}
write it for the code as it is now",
                    self.name,
                    self.file,
                ),
            }
        })
    }
}

/// All of them.
pub(super) const PLANTS: &[Plant] = &[
    Plant {
        name: "re-timing at wake-up",
        lie: "a message is due when the worker gets round to it, so its own delays are nobody's",
        had_by: "tools whose users sleep, wake up, and take the time then",
        file: "crates/drive/src/pacing.rs",
        changes: &[Change {
            find: "self.line_up(engine, due, whose);",
            replace: "self.line_up(engine, due.max(now), whose);",
        }],
    },
    Plant {
        name: "timing from sent",
        lie: "a response time is a service time: waiting to be sent is free",
        had_by: "oha without its correction, hey, siege, k6",
        file: "crates/drive/src/recorder.rs",
        changes: &[Change {
            find: "open_loop.response.record(received.since(flight.due));",
            replace: "open_loop.response.record(received.since(flight.sent));",
        }],
    },
    Plant {
        name: "double correction",
        lie: "what waited to be sent waits twice",
        had_by: "corrections of what was measured from due already",
        file: "crates/drive/src/recorder.rs",
        changes: &[Change {
            find: "open_loop.response.record(received.since(flight.due));",
            replace: "let late = flight.sent.since(flight.due);\n            open_loop.response.record(received.since(flight.due) + late);",
        }],
    },
    Plant {
        name: "samples made up",
        lie: "a slow message brings others along that were never sent",
        had_by: "autocannon with a rate, wrk 4",
        file: "crates/drive/src/recorder.rs",
        changes: &[Change {
            find: "open_loop.response.record(received.since(flight.due));",
            replace: "let mut time = received.since(flight.due);\n            open_loop.response.record(time);\n            while time > Nanos::from_millis(10) {\n                time = Nanos(time.0 - 10_000_000);\n                open_loop.response.record(time);\n            }",
        }],
    },
    Plant {
        name: "errors left out",
        lie: "a server that fails half of its messages has fine response times",
        had_by: "wrk, ab, hey",
        file: "crates/drive/src/recorder.rs",
        changes: &[Change {
            find: "open_loop.response.record(now.since(flight.due).max(self.reply_timeout));",
            replace: "let _ = (now, open_loop);",
        }],
    },
    Plant {
        name: "failing fast looks fast",
        lie: "refusing a message improves the percentiles",
        had_by: "artillery, autocannon, k6",
        file: "crates/drive/src/recorder.rs",
        changes: &[Change {
            find: "open_loop.response.record(now.since(flight.due).max(self.reply_timeout));",
            replace: "open_loop.response.record(now.since(flight.due));",
        }],
    },
    Plant {
        name: "lag swallowed",
        lie: "a generator that is late looks punctual",
        had_by: "nearly all: they show none",
        file: "crates/drive/src/recorder.rs",
        changes: &[Change {
            find: "open_loop.lag.record(lag);",
            replace: "open_loop.lag.record(Nanos(lag.0.min(1)));",
        }],
    },
    Plant {
        name: "membership by sent",
        lie: "what was due in the measurement and sent after it is in no number",
        had_by: "tools that stop at a deadline and look at what they have",
        file: "crates/drive/src/recorder.rs",
        changes: &[
            Change {
                find: "self.count(flight.due, 1, |counts| &mut counts.sent)",
                replace: "self.count(flight.sent, 1, |counts| &mut counts.sent)",
            },
            Change {
                find: "self.count(flight.due, 1, |counts| &mut counts.ok)",
                replace: "self.count(flight.sent, 1, |counts| &mut counts.ok)",
            },
            Change {
                find: "self.count(flight.due, 1, |counts| match failure {",
                replace: "self.count(flight.sent, 1, |counts| match failure {",
            },
        ],
    },
    Plant {
        name: "warm-up included",
        lie: "the first second of connects and cold caches is in the percentiles",
        had_by: "all without a warm-up: wrk, ab, hey, oha",
        file: "crates/drive/src/recorder.rs",
        changes: &[Change {
            find: "if due >= self.measured_from {\n            *of(&mut self.measured)",
            replace: "if due >= Instant::START {\n            *of(&mut self.measured)",
        }],
    },
    Plant {
        name: "unsent not counted",
        lie: "what was never sent was never planned",
        had_by: "k6 ends well with dropped iterations",
        file: "crates/drive/src/recorder.rs",
        changes: &[Change {
            find: "unsent: if is_open { planned - self.measured.sent } else { 0 },",
            replace: "unsent: 0,",
        }],
    },
    Plant {
        name: "silent drop at the bound",
        lie: "arrivals beyond the bound in flight vanish",
        had_by: "floor programs, tools with a fixed number of users",
        file: "crates/drive/src/pacing.rs",
        changes: &[Change { find: "self.recorder.unsent(due, count);", replace: "let _ = count;" }],
    },
    Plant {
        name: "catch-up burst",
        lie: "after its own stall the generator floods the server and times the flood",
        had_by: "token buckets, `while due <= now { send }`",
        file: "crates/drive/src/pacing.rs",
        changes: &[Change {
            find: "self.replay.stalled(from, until);",
            replace: "let _ = (from, until);",
        }],
    },
    Plant {
        name: "own stalls unseen",
        lie: "a generator that stood still blames the server",
        had_by: "all",
        file: "crates/drive/src/lib.rs",
        changes: &[Change {
            find: "if now.since(self.alive_until) >= self.stall_min {",
            replace: "if now.since(self.alive_until) >= Nanos::MAX {",
        }],
    },
    Plant {
        name: "connect inside the round trip",
        lie: "the first message of a connection takes as long as its connect",
        had_by: "ab without keep-alive, harnesses that connect when they first send",
        file: "crates/drive/src/lib.rs",
        changes: &[Change {
            find: "connection.in_flight.push(Flight { due: sent, sent });",
            replace: "let sent = if connection.replied { sent } else { connection.began };\n            connection.in_flight.push(Flight { due: sent, sent });",
        }],
    },
    Plant {
        name: "corrupted replies taken as ok",
        lie: "a server that answers nonsense is fast",
        had_by: "all that do not compare what comes back",
        file: "crates/drive/src/identity.rs",
        changes: &[Change {
            find: "let is_right =\n            expect.check_body(content, sequence, reply.payload, reply.kind == Kind::Text);",
            replace: "let is_right = Ok::<(), Mismatch>(());\n        let _ = (expect, content, sequence);",
        }],
    },
    Plant {
        name: "gaps added up",
        lie: "the rate drifts by what each gap was rounded",
        had_by: "loops that sleep for 1 / rate after each message",
        file: "crates/load/src/schedule.rs",
        changes: &[Change {
            find: "Due { at: rate.due(index), connection: self.turn }",
            replace: "Due { at: Nanos(index.saturating_mul(rate.due(1).0)), connection: self.turn }",
        }],
    },
    Plant {
        name: "shared phase",
        lie: "all bots send at one instant, and the server is blamed for the queue",
        had_by: "harnesses whose users start together and sleep for the same time",
        file: "crates/load/src/schedule.rs",
        changes: &[Change {
            find: "self.cycle.saturating_mul(cycle_len(stripe)).saturating_add(number);",
            replace: "self.cycle.saturating_mul(cycle_len(stripe)).saturating_add(number - number);",
        }],
    },
    Plant {
        name: "percentiles of a handful",
        lie: "the p99.9 of 50 samples, which is their maximum",
        had_by: "oha, autocannon, hey",
        file: "crates/stats/src/histogram.rs",
        changes: &[Change {
            find: "let needed = samples_min(q);",
            replace: "let needed = samples_min(q).min(1);",
        }],
    },
    Plant {
        name: "times in whole milliseconds",
        lie: "the median of a fast server is 0",
        had_by: "ab, autocannon",
        file: "crates/stats/src/histogram.rs",
        changes: &[Change {
            find: "self.counts.saturating_record(time.0.min(Self::MAX.0));",
            replace: "self.counts.saturating_record(time.0.min(Self::MAX.0) / 1_000_000 * 1_000_000);",
        }],
    },
    Plant {
        name: "Little's law ignored",
        lie: "a measurement that lost messages or time looks whole",
        had_by: "all: none checks it",
        file: "crates/stats/src/little.rs",
        changes: &[Change {
            find: "let holds = deviation.abs() <= Little::DEVIATION_MAX;",
            replace: "let holds = deviation.abs() <= f64::INFINITY;",
        }],
    },
    Plant {
        name: "averaged percentiles",
        lie: "the p99 of ten blocks is the mean of ten p99s",
        had_by: "dashboards, and tools that add up their workers' percentiles",
        file: "crates/run/src/results.rs",
        changes: &[Change {
            find: "    let mut merged = Histogram::new();\n    blocks.for_each(|times| merged.add(times));\n    Summary::of(&merged)\n",
            replace: "    let mut merged = Histogram::new();\n    let mut each = Vec::new();\n    blocks.for_each(|times| {\n        merged.add(times);\n        each.extend(times.quantile(0.99).map(|time| time.0));\n    });\n    let mut summary = Summary::of(&merged)?;\n    summary.p99_ns = Some(each.iter().sum::<u64>() / each.len().max(1) as u64);\n    Some(summary)\n",
        }],
    },
    Plant {
        name: "late replies left out",
        lie: "replies that come after the measurement, the slowest, are in no percentile",
        had_by: "wrk, oha without -w, tools that stop at a deadline",
        file: "crates/run/src/block.rs",
        changes: &[Change {
            find: "if !matches!(interval.phase, Phase::Measure | Phase::Drain) {",
            replace: "if !matches!(interval.phase, Phase::Measure) {",
        }],
    },
    Plant {
        name: "resumed handshakes among the full ones",
        lie: "a full TLS handshake is as quick as a resumed one",
        had_by: "tools with one time for `TLS handshake`, whatever the server's tickets made of it",
        file: "crates/drive/src/recorder.rs",
        changes: &[Change {
            find: "let is_resumed = facts.resumed;",
            replace: "let is_resumed = false;",
        }],
    },
    Plant {
        name: "TLS inside the opening handshake",
        lie: "WebSocket's opening handshake takes longer inside TLS: its time begins with the connection",
        had_by: "tools that time `connecting` as one thing",
        file: "crates/drive/src/lib.rs",
        changes: &[Change {
            find: "    connection.since = now;\n    match secured.opening {",
            replace: "    match secured.opening {",
        }],
    },
    Plant {
        name: "the same message for ever",
        lie: "compression saves nearly everything: the window holds the whole message already",
        had_by: "most tools: one body is given, and sent again and again",
        file: "crates/load/src/content.rs",
        changes: &[Change { find: "if self.count == 1 {", replace: "if self.count > 0 {" }],
    },
    Plant {
        name: "bots in step",
        lie: "all bots send at the same instants, so response times are those of a burst",
        had_by: "virtual users that are started together and pace themselves",
        file: "crates/load/src/schedule.rs",
        changes: &[Change {
            find: "Nanos(random.below(len) as u64)",
            replace: "Nanos(random.below(1) as u64)",
        }],
    },
    Plant {
        name: "one bad step is the knee",
        lie: "a server bends where the machine hiccupped once",
        had_by: "capacity tests that stop at the first step that misses its target",
        file: "crates/stats/src/knee.rs",
        changes: &[Change {
            find: "Some((_, is_next_kept)) => !loads[at].1 && !is_next_kept,",
            replace: "Some(_) => !loads[at].1,",
        }],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;
    use std::collections::BTreeSet;

    #[test]
    fn each_plant_finds_its_place_exactly_once() {
        let mut stale = Vec::new();
        for plant in PLANTS {
            let text = std::fs::read_to_string(shell::root().join(plant.file));
            if let Err(error) = plant.apply(&text.unwrap_or_default()) {
                stale.push(error.to_string());
            }
        }
        assert!(stale.is_empty(), "{}", stale.join("\n\n"));
    }

    #[test]
    fn there_are_twelve_at_least_and_each_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = PLANTS.iter().map(|plant| plant.name).collect();
        assert_eq!(names.len(), PLANTS.len());
        assert!(names.len() >= 12);
    }

    #[test]
    fn a_plant_whose_place_is_gone_or_not_alone_is_stale() {
        let plant = Plant {
            name: "example",
            lie: "",
            had_by: "",
            file: "crates/x/src/lib.rs",
            changes: &[Change { find: "a < b", replace: "a <= b" }],
        };
        assert_eq!(plant.apply("if a < b {").unwrap(), "if a <= b {");
        for text in ["if a > b {", "a < b, a < b"] {
            let error = plant.apply(text).unwrap_err().to_string();
            assert!(
                error.starts_with("plant `example` is stale: crates/x/src/lib.rs has"),
                "{error}"
            );
        }
    }
}
