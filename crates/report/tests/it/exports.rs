//! Records in other programs' formats: as google-benchmark and Go print them, as CSV, as Markdown.

use crate::hostile::{EVIL, saying};
use crate::records;
use expect_test::{expect, expect_file};
use record::google_benchmark::{File, RunType, read};
use record::{Importer, imported};
use report::ExportError;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The output of google-benchmark 1.7.1 itself.
const PRINTED: &str = include_str!("../../../record/tests/it/google_benchmark_1.7.1.json");

#[test]
fn an_export_has_the_shape_of_what_google_benchmark_prints() {
    let ours = report::google_benchmark(&records::lab()).unwrap();
    let (theirs, ours) = (shapes(PRINTED), shapes(&ours));
    for kind in ["context", "iteration", "failed", "aggregate"] {
        let (theirs, ours) = (&theirs[kind], &ours[kind]);
        for (key, is) in ours {
            assert_eq!(theirs.get(key), Some(is), "{key} of {kind}");
        }
        let missing: Vec<&str> =
            theirs.keys().filter(|key| !ours.contains_key(*key)).map(String::as_str).collect();
        let expected: &[&str] = match kind {
            // Values that a record does not have, or does not export.
            "context" => &[
                "caches",
                "cpu_scaling_enabled",
                "host_name",
                "library_build_type",
                "load_avg",
                "mhz_per_cpu",
                "num_cpus",
            ],
            // Other counters of the benchmarks there.
            "iteration" => &["bytes", "items_per_second", "label"],
            "aggregate" => &["bytes"],
            _ => &[],
        };
        assert_eq!(missing, expected, "{kind}");
    }
}

#[test]
fn what_google_benchmark_printed_is_written_as_it_was() {
    let theirs = read(PRINTED).unwrap();
    let record = imported(&theirs, Importer::default()).unwrap();
    let ours = read(&report::google_benchmark(&record).unwrap()).unwrap();
    assert_eq!(names(&ours), names(&theirs));
    for (ours, theirs) in ours.benchmarks.iter().zip(&theirs.benchmarks) {
        // Mean, median, standard deviation and coefficient of variation are those that google-benchmark worked out.
        for (ours, expected) in [
            (ours.real_time_ns(), theirs.real_time_ns()),
            (ours.cpu_time_ns(), theirs.cpu_time_ns()),
        ] {
            let off = (ours - expected).abs();
            assert!(off <= 1e-9 * expected, "{}: {ours} for {expected}", theirs.name);
        }
        assert_eq!(ours.error_message, theirs.error_message);
        let is_measured = theirs.run_type == RunType::Iteration && !theirs.error_occurred;
        assert!(!is_measured || ours.iterations == theirs.iterations);
    }
}

#[test]
fn an_entry_is_a_mean_round_trip_and_what_the_client_took_for_it() {
    let record = records::lab();
    let file = read(&report::google_benchmark(&record).unwrap()).unwrap();
    let entry = |name: &str| file.benchmarks.iter().find(|entry| entry.name == name).unwrap();
    let block = &record.blocks[1];
    let netty = entry("netty, pings");
    assert_eq!(netty.real_time_ns(), block.round_trip.as_ref().unwrap().mean_ns);
    assert_eq!(netty.cpu_time_ns(), block.cpu.generator_us_per_message.unwrap() * 1e3);
    // A life of five round trips takes the CPU time of five messages.
    assert_eq!(entry("netty, lives").cpu_time_ns(), 5.0 * 1.1e3);
    let failed = entry("ratchet, pings");
    assert!(failed.error_occurred);
    assert!(failed.error_message.as_ref().unwrap().starts_with("the server was never ready"));
    let repetitions = file.benchmarks.iter().filter(|entry| entry.name == "netty, pings");
    let indexes: Vec<Option<u64>> = repetitions.map(|entry| entry.repetition_index).collect();
    assert_eq!(indexes, (0..8).map(Some).collect::<Vec<_>>());
}

#[test]
fn unknown_cpu_time_says_so() {
    let mut record = records::lab();
    record.blocks.iter_mut().for_each(|block| block.cpu.generator_us_per_message = None);
    let file = read(&report::google_benchmark(&record).unwrap()).unwrap();
    let first = &file.benchmarks[0];
    assert_eq!((first.cpu_time, first.label.as_deref()), (0.0, Some("CPU time is not known")));
}

#[test]
fn a_record_without_a_measurement_has_nothing_to_write() {
    let mut record = records::lab();
    record.blocks.iter_mut().for_each(|block| block.failed = Some("refused".to_owned()));
    assert_eq!(report::google_benchmark(&record), Err(ExportError::NoDistribution));
    record.blocks.clear();
    assert_eq!(report::google_benchmark(&record), Err(ExportError::NoDistribution));
}

#[test]
fn a_line_of_csv_has_all_digits_and_their_units() {
    let csv = report::csv(&records::lab());
    expect_file!["golden/lab.csv"].assert_eq(&csv);
    let mut lines = csv.lines();
    let columns = cells(lines.next().unwrap()).len();
    assert!(lines.all(|line| cells(line).len() == columns), "{csv}");
    assert_eq!(report::csv(&records::run()).lines().count(), 2);
}

#[test]
fn no_cell_is_a_formula_or_breaks_its_line() {
    let mut record = records::lab();
    record.plan.workloads[0].spec.name = "=HYPERLINK(\"x\"),\n1".to_owned();
    record.plan.workloads[1].spec.name = "-1+1".to_owned();
    let csv = report::csv(&record);
    let first: Vec<String> =
        csv.lines().skip(1).take(2).map(|line| cells(line)[0].clone()).collect();
    assert_eq!(first, ["'=HYPERLINK(\"x\"),\\n1", "'-1+1"]);
}

#[test]
fn markdown_has_the_answers_and_the_tables() {
    expect_file!["golden/lab.md"].assert_eq(&report::markdown(&records::lab()));
    expect![[r#"
        The ladder

        Compared with bare TCP, a round trip on this machine takes 6 % more \[4, 8\] over WebSocket.

        | rung | p50, us | p90, us | p99, us | messages, k/s | CPU/message, us | CPU client, us | CPU server, us | bytes each, B | p50 to tcp \[interval\] |
        | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
        | tcp | 254 | 301 | 412 | 191 | 10.1 | 5.10 | 5.00 | 128 | ▇▇▇▇     1.00x |
        | ws | 270 | 319 | 437 | 180 | 10.1 | 5.41 | 5.30 | 136 | ▇▇▇▇▎    1.06x \[1.04, 1.08\] |

        64 B binary, 50 connections, one message in flight; 2 blocks of 500 ms each

        blocks in random order (seed 7); round trips, all blocks together

        Numbers of all blocks together; intervals are of 95 %. CPU: user and system time of the whole process, for each message. Bytes: both directions of the stream, without TCP and IP; what these add is estimated from the number of segments.

        - **checks:** Little's law held on 4 of 4 blocks; counts add up

        Verdict: **trusted**

        wirebench 0.1.0, 2026-01-01 00:00:00 UTC · 40.0 s
    "#]]
    .assert_eq(&report::markdown(&records::ladder(&["tcp", "ws"])));
}

#[test]
fn nothing_that_a_record_says_is_more_than_text_in_markdown() {
    let harmless = report::markdown(&saying(&records::lab(), "words"));
    let text = format!("{EVIL}[a](http://b)`c`|d|\n# e www.f.g");
    let evil = report::markdown(&saying(&records::lab(), &text));
    assert_eq!(harmless.lines().count(), evil.lines().count());
    for line in evil.lines() {
        let line = line.replace("\\|", "").replace("\\`", "").replace("\\[", "");
        assert!(!line.contains("<") && !line.contains("`") && !line.contains("["), "{line}");
        assert!(!line.contains("http://") && !line.contains("www."), "{line}");
    }
    for (question, first) in [
        ("- a", "\\- a"),
        ("12. a", "12\\. a"),
        ("    a", "a"),
        ("=== a", "\\=== a"),
        ("# a", "\\# a"),
    ] {
        let mut record = records::lab();
        record.lab.as_mut().unwrap().question = question.to_owned();
        assert_eq!(report::markdown(&record).lines().next(), Some(first));
    }
    let bars = |text: &str| text.replace("\\|", "").matches('|').count();
    assert_eq!(bars(&harmless), bars(&evil));
}

/// The keys with their types: of the context, and of the entries by kind (iteration, aggregate or failed).
fn shapes(json: &str) -> BTreeMap<&'static str, BTreeMap<String, &'static str>> {
    let file: Value = serde_json::from_str(json).expect("its shape");
    let shape = |object: &Map<String, Value>| {
        let kind = |value: &Value| match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "text",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        object.iter().map(|(key, value)| (key.clone(), kind(value))).collect::<BTreeMap<_, _>>()
    };
    let mut shapes =
        BTreeMap::from([("context", shape(file["context"].as_object().expect("its shape")))]);
    for entry in file["benchmarks"].as_array().expect("its shape") {
        let entry = entry.as_object().expect("its shape");
        let kind = match (
            entry["run_type"].as_str().expect("its shape"),
            entry.contains_key("error_occurred"),
        ) {
            (_, true) => "failed",
            ("iteration", false) => "iteration",
            _ => "aggregate",
        };
        shapes.entry(kind).or_default().extend(shape(entry));
    }
    shapes
}

fn names(file: &File) -> Vec<&str> {
    file.benchmarks.iter().map(|entry| entry.name.as_str()).collect()
}

/// The cells of a line, as defined by RFC 4180.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cells.last_mut().expect("one").push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            letter => cells.last_mut().expect("one").push(letter),
        }
    }
    cells
}

#[test]
fn a_benchmark_of_go_is_a_line_for_each_block_that_counts() {
    let text = report::go_benchmark(&records::lab()).unwrap();
    let (head, lines): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| !line.starts_with("Benchmark/"));
    assert!(head.contains(&"pkg: wirebench 0.1.0"), "{head:?}");
    assert!(head.contains(&"Unit messages/s better=higher"), "{head:?}");
    let record = records::lab();
    let counting = record.blocks.iter().filter(|block| block.failed.is_none());
    assert_eq!(lines.len(), counting.count(), "{text}");
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, iterations, pairs @ ..] = &words[..] else { panic!("{line}") };
        assert!(name.rsplit_once('-').is_some_and(|(_, threads)| threads.parse::<u32>().is_ok()));
        assert!(iterations.parse::<u64>().is_ok(), "{line}");
        assert!(pairs.len().is_multiple_of(2) && pairs.len() >= 4, "{line}");
        let is_number = |pair: &[&str]| pair[0].parse::<f64>().is_ok_and(f64::is_finite);
        assert!(pairs.chunks(2).all(is_number), "{line}");
        assert_eq!(pairs[1], "ns/op");
    }
    // A peer's words end neither a line nor a name.
    let evil = report::go_benchmark(&saying(&records::lab(), EVIL)).unwrap();
    let kept = evil.lines().all(|line| {
        ["pkg: ", "cpu: ", "Unit ", "Benchmark/"].iter().any(|start| line.starts_with(start))
    });
    assert!(kept, "{evil}");
}
