//! Secrets that are given to the program: nothing that it writes has them.

use crate::harness::{Running, Sandbox, Server};
use rustix::process::Signal;
use std::fs;
use std::path::Path;

#[test]
fn a_planted_secret_is_in_no_output() {
    let sandbox = Sandbox::new();
    let (http, ws) = (Server::start(&Sandbox::new(), "http"), Server::start(&Sandbox::new(), "ws"));
    let elsewhere = Sandbox::new();
    let file = elsewhere.path().join("url.toml");
    fs::write(&file, "[[row]]\nurl = 'ws://u:hunter2@h'\n").unwrap();
    let short = "-n 50 -c 1";
    for line in [
        format!("{}?token=hunter2 {short} -H Authorization:hunter2 -v", ws.url),
        format!("{}?api_key=hunter2 {short} -vHCookie:a=hunter2 --json", http.url),
        format!("{}?token=hunter2 {short} -o - --export csv=a.csv --export markdown=a.md", ws.url),
        format!("{}?token=hunter2 {short} -H X:hunter2 --dry-run", ws.url),
        format!(
            "sweep {}?session=hunter2 --from 2k --to 4k -d 100ms --warm-up 0s --repeats 1",
            ws.url
        ),
        // None of these is possible.
        format!("{} {short} -H hunter2", ws.url),
        format!("{} {short} --header=X:hunter2 --bogus", ws.url),
        "ws://127.0.0.1:1/?token=hunter2".to_owned(),
        "ws://u:hunter2@127.0.0.1:1".to_owned(),
        "u:hunter2@127.0.0.1:1".to_owned(),
        "ladder ws://u:hunter2@127.0.0.1:1".to_owned(),
        format!("run {}", file.display()),
        "report".to_owned(),
    ] {
        let ended = sandbox.run(&line);
        let says = ended.stdout.contains("hunter2") || ended.stderr.contains("hunter2");
        assert!(!says, "{line}: {ended:?}");
        assert_eq!(files_with_secret(sandbox.path()), [""; 0], "{line}");
    }
    assert_eq!(sandbox.records().len(), 3);
}

#[test]
fn a_planted_secret_is_in_no_journal() {
    let sandbox = Sandbox::new();
    let server = Server::start(&Sandbox::new(), "ws");
    let line = format!(
        "{}?token=hunter2 -H X:hunter2 --bots 10,20,30 --every 10ms --warm-up 0s -d 2s -v",
        server.url
    );
    let mut run = Running::start(sandbox.command(&line));
    run.wait_for_word("block 1/");
    run.send(Signal::KILL);
    run.wait();
    assert_eq!(fs::read_dir(sandbox.path().join(".wirebench/journals")).unwrap().count(), 1);
    assert_eq!(files_with_secret(sandbox.path()), [""; 0]);
}

#[test]
fn a_secret_of_a_url_is_asked_for_again() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "http");
    let first = sandbox.run(&format!("{}?token=hunter2 -n 10 -c 1 -o a.json", server.url));
    first.check_measured(&["repeat: wirebench run a.json -H @FILE\n"]);
    sandbox.run("run a.json").check(2, &["the value of `token` in the URL", "-H @FILE"]);
    fs::write(sandbox.path().join("secrets"), "token: hunter2\n").unwrap();
    sandbox.run("run a.json -H @secrets").check_measured(&[]);
}

/// The names of all files below `folder` that have the secret.
fn files_with_secret(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with_secret(&path));
        } else if fs::read(&path).unwrap().windows(7).any(|part| part == b"hunter2") {
            found.push(path.display().to_string());
        }
    }
    found
}
