//! The program alone, as installed: a copy in a folder with nothing else, called from another folder by a user with an
//! empty home.

use crate::harness::{Running, Sandbox};
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn a_copy_of_the_program_measures_lists_and_shows_all_it_has_from_any_folder() {
    let [installed, home] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let here = Sandbox::new();
    let program = installed.path().join("wirebench");
    // Another process writes the copy: if this one did, a program started by another thread meanwhile would inherit the
    // open file.
    let mut copy = Command::new("cp");
    let copied = copy.arg(env!("CARGO_BIN_EXE_wirebench")).arg(&program).status().unwrap();
    assert!(copied.success());
    let start = |line: &str| {
        let mut command = here.other(program.to_str().unwrap(), line);
        command.env("HOME", home.path());
        Running::start(command)
    };

    let ladder = start("--quick").wait();
    ladder.check_measured(&["record: .wirebench/records/", "repeat: wirebench run .wirebench/"]);
    assert!(ladder.stdout.contains("round trip") || ladder.stdout.contains("rung"), "{ladder:?}");
    assert_eq!(here.records().len(), 1);
    assert_eq!(names(installed.path()), ["wirebench"]);
    assert!(names(home.path()).is_empty(), "measuring our own servers needs no subject");

    let subjects = start("subjects list").wait();
    subjects.check(0, &[]);
    assert!(subjects.stdout.contains("node-ws"), "{subjects:?}");
    let lab = start("lab kifi --dry-run").wait();
    lab.check(0, &[]);
    assert!(lab.stdout.starts_with('{'), "{lab:?}");
    start("doctor").wait().check(0, &[]);
    #[cfg(feature = "web")]
    the_page_is_there(start("ui"));
    assert_eq!(names(here.path()), [".wirebench"]);
    assert_eq!(names(installed.path()), ["wirebench"]);
    assert_eq!(names(home.path()), [".local"]);
}

/// Fetches the page of `wirebench ui`, and the script and the style sheet that it names.
#[cfg(feature = "web")]
fn the_page_is_there(mut ui: Running) {
    use std::io::{Read as _, Write as _};
    let address = ui.line();
    let (host, token) = address.trim().strip_prefix("http://").unwrap().split_once('/').unwrap();
    for (file, part) in [("", "<script"), ("ui.js", "EventSource"), ("ui.css", "@media")] {
        let mut stream = crate::peers::Stream::connect(host).unwrap();
        let close = "Connection: close";
        write!(stream, "GET /{token}{file} HTTP/1.1\r\nHost: {host}\r\n{close}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{file}: {answer}");
        assert!(answer.contains(part), "{file}: {answer}");
    }
    ui.send(rustix::process::Signal::INT);
    ui.wait().check(0, &[]);
}

/// The names of everything in a folder, in alphabetical order.
fn names(folder: &Path) -> Vec<String> {
    let all = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        all.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
