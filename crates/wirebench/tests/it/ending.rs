//! Results and records that cannot be written.

use crate::harness::{Sandbox, Server, ended};
use std::process::Stdio;

#[test]
fn a_record_that_cannot_be_written_does_not_take_the_result_with_it() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "tcp");
    let line = format!("{} -n 10 -c 1", server.url);
    let ended = sandbox.run(&format!("{line} -o nowhere/record.json"));
    ended.check(74, &["cannot write the record to nowhere/record.json", "`-o FILE`"]);
    assert!(ended.stdout.contains("round trip"), "{ended:?}");

    // The disk is full.
    let ended = sandbox.run(&format!("{line} -o /dev/full"));
    ended.check(74, &["cannot write the record to /dev/full", "`-o FILE`"]);
    assert!(ended.stdout.contains("sent 10 = ok 10"), "{ended:?}");

    std::fs::write(sandbox.path().join(".wirebench"), "in the way").unwrap();
    let ended = sandbox.run(&line);
    ended.check(74, &["cannot write the record to .wirebench/records/", "`-o FILE`"]);
    assert!(ended.stdout.contains("round trip"), "{ended:?}");
}

#[test]
fn a_result_that_cannot_be_written_is_kept_all_the_same() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "tcp");
    let mut command = sandbox.command(&format!("{} -n 10 -c 1", server.url));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ended = ended(&command.stdout(full).output().unwrap());
    ended.check(74, &["cannot write the result to stdout"]);
    assert_eq!(sandbox.records().len(), 1);
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "tcp");
    let run = format!("{} -n 10 -c 1", server.url);
    for line in ["--help", "completions bash", "config show", &run] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = sandbox.command(line);
        ended(&command.stdout(writer).stderr(Stdio::piped()).output().unwrap()).check(0, &[]);
    }
}
