//! `wirebench report`: the page in a real browser, and where it is written.

use crate::harness::{Sandbox, Server};
use crate::import::PRINTED;
use crate::records::{self, RUNGS};
use crate::third_party::{installed, run_client};
use crate::{hostile, sweeps};
use record::RunRecord;
use serde_json::Value;

#[test]
fn a_browser_finds_one_cursor_in_four_charts_and_nothing_else_that_moves() {
    let Some(browser) = installed("browser") else { return };
    let sandbox = Sandbox::new();
    let record = sweeps::cubeia();
    write(&sandbox, "sweep", &record);
    write(&sandbox, "hostile", &hostile::saying(&record, hostile::EVIL));
    let server = Server::start(&Sandbox::new(), "tcp");
    let line = format!("{} --rate 500/s -c 4 -d 2s --warm-up 100ms -o run.json", server.url);
    sandbox.run(&line).check_measured(&[]);
    let all = records::ladder(&RUNGS);
    write(&sandbox, "ladder", &all);
    write(&sandbox, "lab", &records::lab());
    for name in ["sweep", "hostile", "run", "ladder", "lab"] {
        sandbox.run(&format!("report {name}.json")).check(0, &[&format!("report: {name}.html")]);
    }
    let import = "import google-benchmark printed.json -o imported.json";
    std::fs::write(sandbox.path().join("printed.json"), PRINTED).unwrap();
    sandbox.run(import).check(0, &[]);
    sandbox.run("report imported.json").check(0, &[]);
    std::fs::write(sandbox.path().join("compared.html"), report::compare_html(&all, &all)).unwrap();
    let path = |name: &str| sandbox.path().join(format!("{name}.html")).display().to_string();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/report.mjs").to_owned();
    let pages = ["sweep", "hostile", "run", "imported", "compared", "ladder", "lab"].map(path);
    let words = [&script].into_iter().chain(&pages).map(String::as_str);
    let seen = run_client(&browser, &words.collect::<Vec<_>>());
    let seen: Value = serde_json::from_str(&seen).unwrap();

    for (name, page) in seen.as_object().unwrap() {
        for silent in ["said", "requests", "dialogs"] {
            assert_eq!(page[silent], Value::Array(Vec::new()), "{silent} of {name}");
        }
        assert_eq!(page["tooWide"], false, "{name}");
    }
    // Five charts and the layers; a table for each chart, and those of the page.
    for page in ["still", "stillHostile"] {
        assert_eq!(
            (&seen[page]["drawings"], &seen[page]["canvases"]),
            (&6.into(), &0.into()),
            "{page}"
        );
    }
    assert!(seen["still"]["tables"].as_u64() >= Some(8), "{}", seen["still"]);
    assert_eq!(seen["hostile"]["images"], 0);
    assert_eq!(seen["hostile"]["isShown"], true);
    check_moving(&seen["sweep"]);
    assert_eq!(seen["hostile"]["scripts"], 2);
    assert!(seen["hostile"]["readout"].as_str().unwrap().contains("<img src=x"));
    // Rate, times, send lag and the spectrum.
    assert_eq!(seen["run"]["canvases"], 4);
    assert!(seen["run"]["paintedLeast"].as_u64() > Some(1000), "{}", seen["run"]);
}

/// Checks the one cursor, the switches, both colour schemes, and a narrow window.
fn check_moving(sweep: &Value) {
    assert_eq!((&sweep["canvases"], &sweep["drawings"]), (&5.into(), &1.into()));
    assert!(sweep["paintedLeast"].as_u64() > Some(1000), "{sweep}");
    assert_eq!(sweep["colours"], true, "the dark scheme looks like the light one");
    let four = |text: &str| Value::from(vec![text; 4]);
    #[rustfmt::skip]
    let table = [
        ("0 ArrowRight", "100/s"),
        ("1 ArrowRight", "200/s"),
        ("2 End",        "30.0 k/s"),
        ("3 ArrowLeft",  "26.0 k/s"),
        ("4 Home",       "100/s"),
        ("5 Escape",     ""),
    ];
    for (key, expected) in table {
        assert_eq!(sweep["keys"][key], four(expected), "{key}");
    }
    assert!(!sweep["hover"][0].as_str().unwrap().is_empty());
    assert_eq!(sweep["hover"], four(sweep["hover"][0].as_str().unwrap()));
    assert_eq!((&sweep["switchedOff"], &sweep["switchedOn"]), (&four("false"), &four("true")));
    assert_ne!(sweep["outline"], "none", "the element with the focus has no outline");
    assert_eq!(sweep["narrow"]["tooWide"], false);
}

#[test]
fn the_page_lies_beside_its_record_or_where_it_is_wanted() {
    let sandbox = Sandbox::new();
    write(&sandbox, "it", &records::ladder(&["tcp", "ws"]));
    sandbox.run("report it.json").check(0, &["report: it.html\n"]);
    let beside = std::fs::read_to_string(sandbox.path().join("it.html")).unwrap();
    assert!(beside.starts_with("<!DOCTYPE html>\n"));

    let piped = sandbox.run("report it.json -o -");
    piped.check(0, &[]);
    assert_eq!(piped.stdout, beside);

    let elsewhere = sandbox.run("report it.json -o a/b.html --svg a/figures");
    elsewhere.check(0, &["report: charts in a/figures\n", "report: a/b.html\n"]);
    assert_eq!(std::fs::read_to_string(sandbox.path().join("a/b.html")).unwrap(), beside);
    let figures: Vec<_> = std::fs::read_dir(sandbox.path().join("a/figures")).unwrap().collect();
    assert_eq!(figures.len(), 1);
    assert_eq!(sandbox.run("report -q it.json").stderr, "");
}

#[test]
fn what_cannot_be_drawn_or_written_says_so() {
    let sandbox = Sandbox::new();
    let none = sandbox.run("report");
    none.check(2, &["there is no record in .wirebench/records"]);
    std::fs::write(sandbox.path().join("newer.json"), "{\"schema_version\": 99}").unwrap();
    std::fs::write(sandbox.path().join("foreign.json"), "round trip p50\n").unwrap();
    write(&sandbox, "it", &records::run());
    std::fs::write(sandbox.path().join("file"), "").unwrap();
    #[rustfmt::skip]
    let table = [
        ("report nowhere.json",           2,  "nowhere.json: No such file"),
        ("report newer.json",             2,  "the record has schema version 99"),
        ("report foreign.json",           2,  "foreign.json: not a record"),
        ("report it.json -o it.json",     2,  "the page would overwrite its record"),
        ("report it.json -o file/a.html", 74, "cannot write the page to file/a.html"),
        ("report it.json -o .",           74, "cannot write the page to .: "),
        ("report it.json --svg file",     74, "cannot write a chart to file/spectrum.svg"),
        ("report sweep.json --svg file",  74, "cannot write a chart to file/throughput.svg"),
    ];
    write(&sandbox, "sweep", &sweeps::cubeia());
    for (line, code, words) in table {
        let ended = sandbox.run(line);
        ended.check(code, &[words]);
        ended.check_no_result();
    }
    assert!(sandbox.path().join("it.json").metadata().unwrap().len() > 1000, "the record is gone");
}

#[test]
fn help_of_report_fits_a_screen_and_has_three_examples() {
    let help = Sandbox::new().run("report -h");
    help.check(0, &[]);
    let lines: Vec<&str> = help.stdout.lines().collect();
    assert!(lines.len() <= 25, "{}", help.stdout);
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{}", help.stdout);
    assert_eq!(lines.iter().filter(|line| line.starts_with("  wirebench report")).count(), 3);
}

fn write(sandbox: &Sandbox, name: &str, record: &RunRecord) {
    std::fs::write(sandbox.path().join(format!("{name}.json")), record.to_json()).unwrap();
}
