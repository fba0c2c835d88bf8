//! No record makes a page wider than 80 columns, or lets a peer's bytes reach a terminal.

use crate::records;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use record::{
    Added, Certificate, Comparison, Connections, Counts, Ended, ErrorCount, Estimate, Fairness,
    Identity, Kind, Level, Little, Live, OpenLoop, Phases, Reason, RunRecord, Sessions, Spacing,
    Split, Summary, TlsSeen, Verdict, Warning, Wire,
};
use report::{Depth, Style};
use spec::{Load, Stop};
use std::num::NonZeroU32;
use unicode_width::UnicodeWidthStr;
use units::{Nanos, Random, Rate};

proptest! {
    #![proptest_config(same_each_time())]

    #[test]
    fn pages_stay_within_80_columns_and_plain_text(seed: u64, width in 0..200_usize) {
        let mut random = Random::new(seed);
        let mut all = pages(&any_record(&mut random), &Style { width, ..Style::default() });
        all.push(report::terminal(&any_lab(&mut random), Depth::Details, &Style { width, ..Style::default() }));
        for page in all {
            for line in page.lines() {
                prop_assert!(line.width() <= 80, "{} columns: {line}", line.width());
            }
            prop_assert!(page.chars().all(|letter| letter == '\n' || !letter.is_control()), "{page:?}");
            prop_assert!(!page.contains(['\u{202e}', '\u{5d0}', '\u{301}']), "{page:?}");
        }
    }

    #[test]
    fn what_is_written_for_programs_moves_no_terminal(seed: u64) {
        let record = any_lab(&mut Random::new(seed));
        let (csv, markdown) = (report::csv(&record), report::markdown(&record));
        let json = report::google_benchmark(&record).unwrap_or_default();
        for text in [csv, markdown, json] {
            let is_plain = |letter| letter == '\n' || !char::is_control(letter);
            prop_assert!(text.chars().all(is_plain), "{text:?}");
            prop_assert!(!text.contains(['\u{202e}', '\u{5d0}', '\u{301}']), "{text:?}");
        }
    }

    #[test]
    fn colours_add_nothing_to_the_words(seed: u64) {
        let record = any_record(&mut Random::new(seed));
        let plain = pages(&record, &Style::default());
        let coloured = pages(&record, &Style { color: true, ..Style::default() });
        for (plain, coloured) in plain.iter().zip(coloured) {
            let stripped = ["\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[33m"]
                .iter()
                .fold(coloured, |text, code| text.replace(code, ""));
            prop_assert_eq!(plain, &stripped);
        }
    }

    #[test]
    fn live_lines_stay_within_their_width(seed: u64, width in 0..200_usize) {
        let mut random = Random::new(seed);
        let (name, phase) = (any_text(&mut random), any_text(&mut random));
        let live = Live {
            name: &name,
            block: (random.below(usize::MAX), random.below(usize::MAX)),
            phase: &phase,
            elapsed: Nanos(any_count(&mut random)),
            messages_per_s: any_number(&mut random),
            p50: Some(Nanos(any_count(&mut random))),
            p99: None,
            failed: any_count(&mut random),
            open_loop: None,
        };
        let line = report::live_line(&live, width);
        prop_assert!(line.width() <= width, "{line}");
        prop_assert!(!line.contains(char::is_control), "{line:?}");
    }
}

fn same_each_time() -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn pages(record: &RunRecord, style: &Style) -> Vec<String> {
    let other = records::ladder(&["tcp", "ws", "http-new"]);
    let of_depth = |depth| {
        let of_kind = |kind| report::terminal(&RunRecord { kind, ..record.clone() }, depth, style);
        [
            of_kind(Kind::Ladder),
            of_kind(Kind::Run),
            of_kind(Kind::Lab),
            report::compare(&other, record, depth, style),
        ]
    };
    [Depth::First, Depth::Details].map(of_depth).concat()
}

/// A record of the right shape with anything in its numbers and texts.
fn any_record(random: &mut Random) -> RunRecord {
    let mut record = records::layered(&["tcp", "ws", "https-new"]);
    for workload in &mut record.plan.workloads {
        if random.below(2) == 0 {
            workload.spec.name = any_text(random);
        }
        workload.target = any_text(random);
        workload.size_bytes = any_count(random);
        workload.spec.threads = any_number_of(random);
        workload.spec.phases.stop = Stop::After(Nanos(any_count(random)));
        workload.spec.load = any_load(random);
        workload.spec.deflate = Some(any_text(random));
    }
    record.plan.seed = random.next_u64();
    record.plan.baseline = [None, Some(0), Some(2), Some(9)][random.below(4)];
    record.ended = match random.below(3) {
        0 => Ended::Completed,
        1 => Ended::Interrupted { signal: 9 },
        _ => Ended::Partial { reason: any_text(random) },
    };
    record.warnings = vec![Warning {
        code: any_text(random),
        message: any_text(random),
        evidence: any_text(random),
        advice: any_text(random),
    }];
    record.verdict = (random.below(2) == 0).then(|| any_verdict(random));
    record.environment.selftest =
        Some(Certificate { at: any_text(random), ..Certificate::default() });
    record.blocks.truncate(random.below(7));
    for block in &mut record.blocks {
        block.workload = random.below(4);
        block.round = random.below(usize::MAX);
        block.measured_ns = any_count(random);
        block.failed = (random.below(3) == 0).then(|| any_text(random));
        block.counts = Counts {
            planned: any_count(random),
            sent: any_count(random),
            unsent: any_count(random),
            ok: any_count(random),
            error: any_count(random),
            refused: any_count(random),
            timed_out: any_count(random),
            in_flight_at_end: any_count(random),
            redirects: any_count(random),
        };
        let (sent, received) = (any_split(random), any_split(random));
        block.wire = Wire {
            sent_bytes: any_count(random),
            sent_bytes_per_message: Some(any_number(random)),
            received_bytes_per_message: Some(any_number(random)),
            sent,
            received,
            compression_ratio: Some(any_number(random)),
            missing: [("tcp_ip_estimated_bytes".to_owned(), any_text(random))].into(),
            ..block.wire.clone()
        };
        block.tls = (random.below(2) == 0).then(|| TlsSeen {
            suite: any_text(random),
            alpn: Some(any_text(random)),
            full: any_count(random),
            ..TlsSeen::default()
        });
        block.connections = Connections {
            asked: any_count(random),
            started: any_count(random),
            opened: any_count(random),
            failed: any_count(random),
            lost: any_count(random),
            reconnects: any_count(random),
        };
        block.errors = vec![ErrorCount {
            class: any_text(random),
            count: any_count(random),
            example: any_text(random),
        }];
        block.phases = Phases {
            life: Some(any_summary(random)),
            connect: Some(any_summary(random)),
            ..Phases::default()
        };
        block.round_trip = (random.below(2) == 0).then(|| any_summary(random));
        block.messages_per_s = any_number(random);
        block.open_loop = (random.below(2) == 0).then(|| OpenLoop {
            response: (random.below(2) == 0).then(|| any_summary(random)),
            service: Some(any_summary(random)),
            true_delay: Some(any_summary(random)),
            sessions: Some(Sessions { planned: any_count(random), ..Sessions::default() }),
            ..OpenLoop::default()
        });
        block.stalls.count = any_count(random);
        block.stalls.affected = any_count(random);
        block.stalls.longest_ns = any_count(random);
        block.identity = Some(Identity { lost: any_count(random), ..Identity::default() });
        block.fairness = Some(Fairness {
            connections: any_count(random),
            replies_min: any_count(random),
            replies_median: any_count(random),
        });
        block.cpu.missing = [("server_us_per_message".to_owned(), any_text(random))].into();
        block.little = match random.below(2) {
            0 => Little::NotChecked { reason: any_text(random) },
            _ => Little::Checked {
                expected_in_flight: any_number(random),
                measured_in_flight: any_number(random),
                deviation_fraction: any_number(random),
                holds: random.below(2) == 0,
            },
        };
    }
    record.added.truncate(random.below(3));
    for added in &mut record.added {
        *added = Added {
            workload: random.below(4),
            base: random.below(4),
            layer: any_text(random),
            round_trip_p50_ns: any_estimate(random),
            cpu_us_per_message: any_estimate(random),
            sent_bytes_per_message: Some(any_number(random)),
            received_bytes_per_message: Some(-any_number(random)),
        };
    }
    record.results.truncate(random.below(4));
    for result in &mut record.results {
        result.workload = random.below(4);
        result.blocks = random.below(3);
        let pooled = &mut result.pooled;
        for estimate in [
            &mut pooled.messages_per_s,
            &mut pooled.round_trip_p50_ns,
            &mut pooled.round_trip_p90_ns,
            &mut pooled.round_trip_p99_ns,
            &mut pooled.generator_cpu_us_per_message,
            &mut pooled.server_cpu_us_per_message,
            &mut pooled.wire_bytes_per_message,
        ] {
            *estimate = any_estimate(random);
        }
        if let Some(comparison) =
            result.to_baseline.as_mut().and_then(|all| all.round_trip_p50_ns.as_mut())
        {
            *comparison = Comparison {
                ratio: any_number(random),
                low: (random.below(4) > 0).then(|| any_number(random)),
                high: Some(any_number(random)),
                smallest_detectable_fraction: Some(any_number(random)),
                moved_most_fraction: Some(0.01),
            };
        }
    }
    record
}

/// A lab of the right shape with anything in its numbers and texts.
fn any_lab(random: &mut Random) -> RunRecord {
    let mut record = records::lab();
    record.kind = [Kind::Lab, Kind::Imported, Kind::Other][random.below(3)];
    for workload in &mut record.plan.workloads {
        workload.spec.name = any_text(random);
        workload.spec.baseline = (random.below(2) == 0).then(|| random.below(14));
        workload.spec.load = any_load(random);
        if let Some(server) = &mut workload.server {
            (server.library, server.language) = (any_text(random), any_text(random));
        }
    }
    // Intervals take long to compute, and few records need them.
    let rounds = if random.below(128) == 0 { 8 } else { random.below(4) };
    record.blocks.retain(|block| block.round < rounds);
    for block in &mut record.blocks {
        block.failed = (random.below(4) == 0).then(|| any_text(random));
        block.messages_per_s = any_number(random);
        block.cpu.generator_us_per_message = Some(any_number(random));
        if random.below(4) == 0 {
            block.round_trip = Some(any_summary(random));
            block.phases.life = Some(any_summary(random));
        }
        let client = block.client.as_mut().and_then(|client| client.google_benchmark.as_mut());
        if let Some(found) = client {
            (found.real_time_ns, found.cpu_time_ns) = (any_number(random), any_number(random));
        }
        if let Some(memory) = &mut block.memory {
            memory.server_pss_bytes = Some(any_count(random));
        }
    }
    let Some(lab) = &mut record.lab else { return record };
    lab.question = any_text(random);
    for it in &mut lab.footprints {
        it.library = any_text(random);
        it.installed_bytes = Some(any_count(random));
        it.packages = Some(any_count(random));
        it.build_ns = Some(any_count(random));
    }
    for row in lab.published.iter_mut().flat_map(|published| &mut published.rows) {
        row.name = any_text(random);
        row.wall_us = Some(any_number(random));
        row.cpu_us = Some(any_number(random));
        row.ratio = (random.below(2) == 0).then_some(1.0);
        row.here = record.plan.workloads.get(random.below(14)).map(|it| it.name().to_owned());
    }
    record
}

fn any_estimate(random: &mut Random) -> Option<Estimate> {
    let (value, low, high) = (any_number(random), any_number(random), any_number(random));
    (random.below(4) > 0).then_some(Estimate { value, low: Some(low), high: Some(high) })
}

fn any_split(random: &mut Random) -> Option<Split> {
    (random.below(4) > 0).then(|| Split {
        payload_bytes: any_count(random),
        encoding_bytes: any_count(random).cast_signed(),
        framing_bytes: any_count(random),
        tls_bytes: any_count(random),
        tcp_ip_estimated_bytes: Some(any_count(random)),
    })
}

fn any_load(random: &mut Random) -> Load {
    let (connections, in_flight) = (any_number_of(random), any_number_of(random));
    let in_flight_max = any_number_of(random);
    let (spacing, time) = (Spacing::Poisson, Nanos(any_count(random)));
    let rate = Rate::new(any_number_of(random), Nanos(time.0.max(1))).expect("some time").into();
    match random.below(6) {
        0 => Load::Closed { connections, in_flight, in_flight_max: Some(in_flight_max) },
        1 => Load::Open { connections, rate, spacing, in_flight_max },
        2 => Load::Bots { bots: connections, every: time, spacing, in_flight_max },
        3 => Load::ClosedBots { bots: connections, think: time },
        4 => Load::Clients {
            concurrency: connections,
            round_trips: in_flight,
            in_flight,
            in_flight_max: None,
        },
        _ => Load::Sessions { connections, rate, spacing, messages_each: in_flight, think: time },
    }
}

fn any_number_of(random: &mut Random) -> NonZeroU32 {
    records::count(random.next_u32().max(1))
}

fn any_verdict(random: &mut Random) -> Verdict {
    let level = [Level::Trusted, Level::Degraded, Level::Invalid][random.below(3)];
    let reasons = (0..random.below(4)).map(|_| Reason {
        code: any_text(random),
        level,
        workload: (random.below(2) == 0).then(|| random.below(5)),
        message: any_text(random),
        evidence: any_text(random),
        advice: any_text(random),
        ..Reason::default()
    });
    Verdict { level, reasons: reasons.collect(), ..Verdict::default() }
}

fn any_summary(random: &mut Random) -> Summary {
    Summary {
        count: any_count(random),
        saturated: any_count(random),
        min_ns: any_count(random),
        max_ns: any_count(random),
        mean_ns: any_number(random),
        p50_ns: Some(any_count(random)),
        p90_ns: None,
        missing: [("p90_ns".to_owned(), any_text(random))].into(),
        ..records::summary(1, 1)
    }
}

/// A number of any magnitude.
fn any_count(random: &mut Random) -> u64 {
    random.next_u64() >> random.below(64)
}

/// A number of any magnitude, now and then negative, infinite or NaN.
fn any_number(random: &mut Random) -> f64 {
    match random.below(16) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => f64::MAX,
        3 => -1.0,
        4 => 0.0,
        _ => (0..random.below(30)).fold(random.unit_f64() / 1e10, |number, _| number * 10.0),
    }
}

/// A text of up to 39 pieces that a hostile peer might send.
fn any_text(random: &mut Random) -> String {
    const PIECES: [&str; 14] = [
        "a",
        "word ",
        " ",
        "refused: ",
        "\x1b[31m",
        "\r\n",
        "\0",
        "\u{9b}2J",
        "\u{202e}",
        "\u{5d0}",
        "漢字",
        "e\u{301}",
        "😀",
        "unbroken-unbroken-unbroken-unbroken-unbroken-",
    ];
    let pieces = random.below(40);
    (0..pieces).map(|_| PIECES[random.below(PIECES.len())]).collect()
}
