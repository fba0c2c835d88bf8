//! The planted bugs: what each makes a load generator say, the tools that have said it, and the change that makes ours
//! say it.

use super::fleet_plants::FLEET_PLANTS;
use super::switch::Change;

/// A bug that a test must catch.
pub(super) struct Plant {
    pub(super) name: &'static str,
    /// The claim that the numbers would make.
    pub(super) lie: &'static str,
    /// The tools that have had it.
    pub(super) had_by: &'static str,
    /// The file with every place of the bug, by its path from the top of the workspace; it is in the `src` of a crate.
    pub(super) file: &'static str,
    /// The crate whose tests catch it.
    pub(super) caught_by: &'static str,
    /// A part of the name of a test that catches it, tried first; the others are tried if it does not.
    pub(super) test: &'static str,
    /// The places at which the code differs.
    pub(super) changes: &'static [Change],
}

/// All of them.
pub(super) fn plants() -> impl Iterator<Item = &'static Plant> {
    PLANTS.iter().chain(FLEET_PLANTS)
}

/// The lies of load generators. Every place is found once, and the tests of `caught_by` fail with the bug in it.
const PLANTS: &[Plant] = &[
    Plant {
        name: "re-timing at wake-up",
        lie: "a message is due when the worker gets round to it, so its own delays are nobody's",
        had_by: "tools whose users sleep, wake up, and take the time then",
        file: "crates/load/src/pace/due.rs",
        caught_by: "drive",
        test: "open_loop::a_worker_that_hears_late_of_the_start_keeps_to_the_schedule_of_all",
        changes: &[Change {
            place: "return Some(Taken::Held(gap));\n        }\n        Some(self.line_up(«due», whose))",
            bug: "due.max(now)",
        }],
    },
    Plant {
        name: "timing from sent",
        lie: "a response time is a service time: waiting to be sent is free",
        had_by: "oha without its correction, hey, siege, k6",
        file: "crates/drive/src/recorder.rs",
        caught_by: "drive",
        test: "open_loop::a_stalled_server_shows_in_the_response_times_of_all_who_came_meanwhile",
        changes: &[Change {
            place: "let response = received.since(flight.due);\n        if let Some(open_loop) = &mut self.interval.traffic.open_loop\n            && !self.publishes\n        {\n            «open_loop.response.record(response);»",
            bug: "open_loop.response.record(received.since(flight.sent));",
        }],
    },
    Plant {
        name: "double correction",
        lie: "what waited to be sent waits twice",
        had_by: "corrections of what was measured from due already",
        file: "crates/drive/src/recorder.rs",
        caught_by: "drive",
        test: "open_loop::a_stalled_server_shows_in_the_response_times_of_all_who_came_meanwhile",
        changes: &[Change {
            place: "let response = received.since(flight.due);\n        if let Some(open_loop) = &mut self.interval.traffic.open_loop\n            && !self.publishes\n        {\n            «open_loop.response.record(response);»",
            bug: "let late = flight.sent.since(flight.due);\nopen_loop.response.record(received.since(flight.due) + late);",
        }],
    },
    Plant {
        name: "samples made up",
        lie: "a slow message brings others along that were never sent",
        had_by: "autocannon with a rate, wrk 4",
        file: "crates/drive/src/recorder.rs",
        caught_by: "drive",
        test: "open_loop::a_stalled_server_shows_in_the_response_times_of_all_who_came_meanwhile",
        changes: &[Change {
            place: "let response = received.since(flight.due);\n        if let Some(open_loop) = &mut self.interval.traffic.open_loop\n            && !self.publishes\n        {\n            «open_loop.response.record(response);»",
            bug: "let mut time = received.since(flight.due);\nopen_loop.response.record(time);\nwhile time > Nanos::from_millis(10) {\n    time = Nanos(time.0 - 10_000_000);\n    open_loop.response.record(time);\n}",
        }],
    },
    Plant {
        name: "errors left out",
        lie: "a server that fails half of its messages has fine response times",
        had_by: "wrk, ab, hey",
        file: "crates/drive/src/recorder.rs",
        caught_by: "drive",
        test: "identity::a_reply_with_a_wrong_byte_is_an_error_of_the_message_that_it_names",
        changes: &[Change {
            place: "&& is_of_interval\n            && !self.publishes\n        {\n            «open_loop.response.record(response);»",
            bug: "",
        }],
    },
    Plant {
        name: "failing fast looks fast",
        lie: "refusing a message improves the percentiles",
        had_by: "artillery, autocannon, k6",
        file: "crates/drive/src/recorder.rs",
        caught_by: "drive",
        test: "open_loop::what_failed_or_timed_out_has_a_response_time_of_the_time_out_at_least",
        changes: &[Change {
            place: "&& is_of_interval\n            && !self.publishes\n        {\n            «open_loop.response.record(response);»",
            bug: "open_loop.response.record(now.since(flight.due));",
        }],
    },
    Plant {
        name: "lag swallowed",
        lie: "a generator that is late looks punctual",
        had_by: "nearly all: they show none",
        file: "crates/drive/src/recorder.rs",
        caught_by: "drive",
        test: "open_loop::a_worker_that_hears_late_of_the_start_keeps_to_the_schedule_of_all",
        changes: &[Change { place: "open_loop.lag.record(«lag»);", bug: "Nanos(lag.0.min(1))" }],
    },
    Plant {
        name: "membership by sent",
        lie: "what was due in the measurement and sent after it is in no number",
        had_by: "tools that stop at a deadline and look at what they have",
        file: "crates/drive/src/recorder.rs",
        caught_by: "drive",
        test: "open_loop::messages_due_in_the_warm_up_do_not_count_though_they_are_sent_after_it",
        changes: &[
            Change {
                place: "self.count(«flight.due», count.into(), |counts| &mut counts.sent)",
                bug: "flight.sent",
            },
            Change {
                place: "if !self.count(«flight.due», 1, |counts| &mut counts.ok)",
                bug: "flight.sent",
            },
            Change {
                place: "self.count(«flight.due», 1, |counts| match failure {",
                bug: "flight.sent",
            },
        ],
    },
    Plant {
        name: "warm-up included",
        lie: "the first second of connects and cold caches is in the percentiles",
        had_by: "all without a warm-up: wrk, ab, hey, oha",
        file: "crates/drive/src/recorder.rs",
        caught_by: "drive",
        test: "clients::clients_of_a_time_that_began_in_it_are_timed",
        changes: &[Change {
            place: "if due >= «self.measured_from» {\n            *of(&mut self.measured)",
            bug: "Instant::START",
        }],
    },
    Plant {
        name: "unsent not counted",
        lie: "what was never sent was never planned",
        had_by: "k6 ends well with dropped iterations",
        file: "crates/drive/src/recorder.rs",
        caught_by: "drive",
        test: "open_loop::a_number_of_messages_beyond_what_may_be_outstanding_is_counted_out",
        changes: &[Change {
            place: "unsent: «if is_open { planned - self.measured.sent } else { 0 }»,",
            bug: "0",
        }],
    },
    Plant {
        name: "silent drop at the bound",
        lie: "arrivals beyond the bound in flight vanish",
        had_by: "floor programs, tools with a fixed number of users",
        file: "crates/drive/src/lib.rs",
        caught_by: "drive",
        test: "open_loop::a_number_of_messages_beyond_what_may_be_outstanding_is_counted_out",
        changes: &[Change { place: "«self.recorder.unsent(due, count);»", bug: "" }],
    },
    Plant {
        name: "catch-up burst",
        lie: "after its own stall the generator floods the server and times the flood",
        had_by: "token buckets, `while due <= now { send }`",
        file: "crates/load/src/pace/due.rs",
        caught_by: "drive",
        test: "sessions::sessions_that_were_due_while_we_stood_still_begin_one_gap_later",
        changes: &[Change { place: "«self.replay.stalled(from, until);»", bug: "" }],
    },
    Plant {
        name: "own stalls unseen",
        lie: "a generator that stood still blames the server",
        had_by: "all",
        file: "crates/drive/src/lib.rs",
        caught_by: "drive",
        test: "stalls::a_closed_loop_knows_its_gaps_too",
        changes: &[Change {
            place: "if now.since(self.alive_until) >= «self.stall_min» {",
            bug: "Nanos::MAX",
        }],
    },
    Plant {
        name: "connect inside the round trip",
        lie: "the first message of a connection takes as long as its connect",
        had_by: "ab without keep-alive, harnesses that connect when they first send",
        file: "crates/drive/src/lib.rs",
        caught_by: "drive",
        test: "closed_loop::",
        changes: &[Change {
            place: "let flight = «Flight { due: batch.due.unwrap_or(sent), sent, exchange: 0 }»;",
            bug: "{\n    let sent = if connection.replied { sent } else { connection.began };\n    Flight { due: batch.due.unwrap_or(sent), sent, exchange: 0 }\n}",
        }],
    },
    Plant {
        name: "corrupted replies taken as ok",
        lie: "a server that answers nonsense is fast",
        had_by: "all that do not compare what comes back",
        file: "crates/drive/src/identity.rs",
        caught_by: "drive",
        test: "identity::a_reply_with_a_wrong_byte_is_an_error_of_the_message_that_it_names",
        changes: &[Change {
            place: "«expect.check_body(content, sequence, reply.payload, reply.kind == Kind::Text)»;",
            bug: "Ok::<(), Mismatch>(())",
        }],
    },
    Plant {
        name: "gaps added up",
        lie: "the rate drifts by what each gap was rounded",
        had_by: "loops that sleep for 1 / rate after each message",
        file: "crates/load/src/schedule.rs",
        caught_by: "load",
        test: "schedule::as_many_messages_are_due_by_any_time_as_the_rate_says",
        changes: &[Change {
            place: "Due { at: «curve.due(index)», connection: self.turn }",
            bug: "Nanos(index.saturating_mul(curve.due(1).0))",
        }],
    },
    Plant {
        name: "shared phase",
        lie: "all bots send at one instant, and the server is blamed for the queue",
        had_by: "harnesses whose users start together and sleep for the same time",
        file: "crates/load/src/schedule.rs",
        caught_by: "load",
        test: "schedule::as_many_messages_are_due_by_any_time_as_the_rate_says",
        changes: &[Change {
            place: "self.cycle.saturating_mul(cycle_len(self.stripe)).saturating_add(«number»);",
            bug: "0",
        }],
    },
    Plant {
        name: "percentiles of a handful",
        lie: "the p99.9 of 50 samples, which is their maximum",
        had_by: "oha, autocannon, hey",
        file: "crates/stats/src/histogram.rs",
        caught_by: "stats",
        test: "histogram::percentiles_need_ten_samples_beyond_them",
        changes: &[Change {
            place: "let needed = «samples_min(q)»;",
            bug: "samples_min(q).min(1)",
        }],
    },
    Plant {
        name: "times in whole milliseconds",
        lie: "the median of a fast server is 0",
        had_by: "ab, autocannon",
        file: "crates/stats/src/histogram.rs",
        caught_by: "stats",
        test: "encoding::the_percentile_table_is_that_of_hdrhistogram",
        changes: &[Change {
            place: "self.counts.saturating_record(«time.0.min(Self::MAX.0)»);",
            bug: "time.0.min(Self::MAX.0) / 1_000_000 * 1_000_000",
        }],
    },
    Plant {
        name: "Little's law ignored",
        lie: "a measurement that lost messages or time looks whole",
        had_by: "all: none checks it",
        file: "crates/stats/src/little.rs",
        caught_by: "stats",
        test: "little::it_breaks_beyond_five_percent",
        changes: &[Change {
            place: "let holds = deviation.abs() <= «Little::DEVIATION_MAX + edges»;",
            bug: "f64::INFINITY",
        }],
    },
    Plant {
        name: "averaged percentiles",
        lie: "the p99 of ten blocks is the mean of ten p99s",
        had_by: "dashboards, and tools that add up their workers' percentiles",
        file: "crates/run/src/results.rs",
        caught_by: "run",
        test: "percentiles_of_all_blocks_are_those_of_all_messages",
        changes: &[Change {
            place: "    «let mut merged = Histogram::new();\n    blocks.for_each(|times| merged.add(times));\n    Summary::of(&merged)»\n",
            bug: "let mut merged = Histogram::new();\nlet mut each = Vec::new();\nblocks.for_each(|times| {\n    merged.add(times);\n    each.extend(times.quantile(0.99).map(|time| time.0));\n});\nlet mut summary = Summary::of(&merged)?;\nsummary.p99_ns = Some(each.iter().sum::<u64>() / each.len().max(1) as u64);\nSome(summary)",
        }],
    },
    Plant {
        name: "medians of blocks",
        lie: "the p99 of a row is what half of its blocks say, and may be below its p90",
        had_by: "wirebench before it pooled, and all that decide by a majority of runs",
        file: "crates/stats/src/pooled.rs",
        caught_by: "stats",
        test: "pooled::percentiles_are_those_of_all_messages_and_never_out_of_order",
        changes: &[Change {
            place: "let value = «all.quantile(q).ok()?»;",
            bug: "{\n    let each = rounds.iter().flatten().filter_map(|times| times.quantile(q).ok());\n    let each: Vec<f64> = each.map(|time| whole(time.0)).collect();\n    units::Nanos(crate::median(&each).ok()? as u64)\n}",
        }],
    },
    Plant {
        name: "intervals from messages",
        lie: "two equal servers differ: the messages of a block are taken for independent",
        had_by: "k6, oha, and tools that give a standard error of all requests",
        file: "crates/stats/src/pooled.rs",
        caught_by: "stats",
        test: "pooled::the_interval_of_a_mean_is_that_of_the_t_test",
        changes: &[Change {
            place: "«(squares * (count - 1.0) / count).sqrt()»",
            bug: "(squares * (count - 1.0) / count / 1000.0).sqrt()",
        }],
    },
    Plant {
        name: "silent blocks left out",
        lie: "a server that is silent half of the time has its whole throughput",
        had_by: "wirebench before it pooled, and tools that leave out failed runs",
        file: "crates/record/src/pooling.rs",
        caught_by: "record",
        test: "pooling::a_server_that_is_silent_in_half_of_the_blocks_has_half_the_throughput",
        changes: &[Change {
            place: "block.workload == index && «is_there(block)»",
            bug: "is_there(block) && block.counts.ok > 0",
        }],
    },
    Plant {
        name: "ranked by what is not printed",
        lie: "the fastest row is another one than the table shows",
        had_by: "wirebench, which ranked by means and printed medians",
        file: "crates/report/src/measured.rs",
        caught_by: "report",
        test: "lab::the_answer_is_one_sentence",
        changes: &[Change {
            place: "if row.is_closed() { «&numbers.round_trip_p50_ns» } else",
            bug: "&numbers.round_trip_p90_ns",
        }],
    },
    Plant {
        name: "invalid that still ranks",
        lie: "the fastest is a row whose numbers are no result",
        had_by: "all: a table is sorted by what was measured, however",
        file: "crates/report/src/measured.rs",
        caught_by: "report",
        test: "lab::what_the_verdict_takes_away_is_no_answer",
        changes: &[
            Change { place: "«it.is_allowed» && it.result.is_some());", bug: "true" },
            Change {
                place: "«it.trust.of_number(Number::Ratio) == Level::Trusted»;", bug: "true"
            },
        ],
    },
    Plant {
        name: "late replies left out",
        lie: "replies that come after the measurement, the slowest, are in no percentile",
        had_by: "wrk, oha without -w, tools that stop at a deadline",
        file: "crates/run/src/intervals.rs",
        caught_by: "run",
        test: "replies_of_the_drain_are_in_the_distribution_and_in_no_rate",
        changes: &[Change { place: "«interval.traffic.forget_rates()»;", bug: "return" }],
    },
    Plant {
        name: "resumed handshakes among the full ones",
        lie: "a full TLS handshake is as quick as a resumed one",
        had_by: "tools with one time for `TLS handshake`, whatever the server's tickets made of it",
        file: "crates/drive/src/recorder.rs",
        caught_by: "drive",
        test: "secure::http_connections_that_the_server_ends_are_opened_anew_and_resume",
        changes: &[Change { place: "let is_resumed = «facts.resumed»;", bug: "false" }],
    },
    Plant {
        name: "TLS inside the opening handshake",
        lie: "WebSocket's opening handshake takes longer inside TLS: its time begins with the connection",
        had_by: "tools that time `connecting` as one thing",
        file: "crates/drive/src/connections.rs",
        caught_by: "drive",
        test: "secure::the_tls_phase_is_timed_exactly_and_so_is_what_follows_it",
        changes: &[Change {
            place: "        «self.since = now;»\n        match secured.opening {",
            bug: "",
        }],
    },
    Plant {
        name: "the same message for ever",
        lie: "compression saves nearly everything: the window holds the whole message already",
        had_by: "most tools: one body is given, and sent again and again",
        file: "crates/load/src/content.rs",
        caught_by: "load",
        test: "payload::each_kind_compresses_as_what_it_stands_for",
        changes: &[Change { place: "if «self.count == 1» {", bug: "self.count > 0" }],
    },
    Plant {
        name: "bots in step",
        lie: "all bots send at the same instants, so response times are those of a burst",
        had_by: "virtual users that are started together and pace themselves",
        file: "crates/load/src/schedule.rs",
        caught_by: "load",
        test: "schedule::bots_keep_the_phase_that_the_seed_gave_them",
        changes: &[Change {
            place: "(«random.below(shortest)» as u128 * curve.peak(), connection)",
            bug: "random.below(1)",
        }],
    },
    Plant {
        name: "one bad step is the knee",
        lie: "a server bends where the machine hiccupped once",
        had_by: "capacity tests that stop at the first step that misses its target",
        file: "crates/stats/src/knee/fit.rs",
        caught_by: "stats",
        test: "knees::a_block_that_fails_by_itself_makes_no_knee",
        changes: &[Change { place: "true => «at.kept += 1»,", bug: "at.kept = 0" }],
    },
    Plant {
        name: "majority of blocks",
        lie: "a load keeps the objective though its messages, all together, miss it",
        had_by: "wirebench before it pooled, and all that decide by a majority of runs",
        file: "crates/run/src/sweep/line.rs",
        caught_by: "run",
        test: "a_load_whose_messages_missed_the_objective_is_never_the_answer",
        changes: &[Change {
            place: "at.is_kept() && «is_met(slo, at.responses)»))",
            bug: "at.blocks.iter().filter(|(_, meets)| *meets).count() * 2 > at.blocks.len()",
        }],
    },
    Plant {
        name: "failed blocks are not seen",
        lie: "a server that was silent in half of the blocks is trusted by the other half",
        had_by: "wirebench, and all that report the runs that worked",
        file: "crates/record/src/verdict/replies.rs",
        caught_by: "record",
        test: "verdict::a_row_whose_blocks_failed_in_part_is_in_doubt_and_with_half_of_them_no_result",
        changes: &[Change {
            place: "let &(round, why) = «failed.first()?»;",
            bug: "failed.get(failed.len())?",
        }],
    },
    Plant {
        name: "an invalid baseline",
        lie: "rows are so many times a row that is no result",
        had_by: "wirebench in its ladder",
        file: "crates/report/src/rows.rs",
        caught_by: "report",
        test: "ladder::what_an_invalid_verdict_is_about_is_not_claimed",
        changes: &[Change {
            place: "Some(zero) if «!zero.is_allowed» => return Cell::Missing,",
            bug: "false",
        }],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::switch;
    use crate::shell;
    use std::collections::BTreeSet;

    #[test]
    fn each_plant_finds_its_places() {
        let files: BTreeSet<&str> = plants().map(|plant| plant.file).collect();
        let mut stale = Vec::new();
        for file in files {
            let text = std::fs::read_to_string(shell::root().join(file)).unwrap_or_default();
            let plants: Vec<&Plant> = plants().filter(|plant| plant.file == file).collect();
            if let Err(error) = switch::build_in(&text, &plants) {
                stale.push(format!("{file}: {error}"));
            }
        }
        assert!(stale.is_empty(), "{}", stale.join("\n\n"));
    }

    #[test]
    fn there_are_twelve_at_least_and_each_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = plants().map(|plant| plant.name).collect();
        assert_eq!(names.len(), plants().count());
        assert!(names.len() >= 12);
    }
}
