//! Secrets that are given to the program: nothing that it writes contains them.

use crate::harness::{Ended, Running, Sandbox, Server};
use crate::peers::{Peer, http_echo_some, websocket_echo_some};
use rustix::process::Signal;
use std::fs;
use std::io::Write;
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
        // None of these is valid.
        format!("{} {short} -H hunter2", ws.url),
        format!("{} {short} --header=X:hunter2 --bogus", ws.url),
        "ws://127.0.0.1:1/?token=hunter2".to_owned(),
        "ws://u:hunter2@127.0.0.1:1".to_owned(),
        "u:hunter2@127.0.0.1:1".to_owned(),
        "ladder ws://u:hunter2@127.0.0.1:1".to_owned(),
        format!("run {}", file.display()),
        "report".to_owned(),
    ] {
        run_without_secret(&sandbox, &line);
    }
    assert_eq!(sandbox.records().len(), 3);
    draw_without_secret(&sandbox);
}

#[test]
fn a_secret_that_a_server_sends_back_is_in_no_output() {
    // At once, when it is verified, and in the middle of a block.
    for (right, records) in [(0, 0), (20, 1)] {
        let http = Peer::start(move |stream, _| {
            http_echo_some(stream, right)?;
            let says = "no user hunter2-of-a-header or hunter2 of a URL";
            let len = says.len();
            write!(stream, "HTTP/1.1 500 x\r\nContent-Length: {len}\r\n\r\n{says}")
        });
        let ws = Peer::start(move |stream, _| {
            websocket_echo_some(stream, right)?;
            let reason = b"no user hunter2-of-a-header or hunter2 of a URL";
            let head = [0x88, 2 + u8::try_from(reason.len()).unwrap(), 3, 240];
            stream.write_all(&[&head[..], reason].concat())
        });
        for (url, echo) in [(http.url("http"), " --echo"), (ws.url("ws"), "")] {
            let sandbox = Sandbox::new();
            let secrets = "?token=hunter2 -H Authorization:hunter2-of-a-header -v";
            let exports = "--export csv=a.csv --export markdown=a.md";
            let line = format!("{url}{secrets} -n 50 -c 1{echo} {exports}");
            let ended = run_without_secret(&sandbox, &line);
            assert_eq!(sandbox.records().len(), records, "{ended:?}");
            let said = match sandbox.records().first() {
                Some(record) => format!("{:?}", record.blocks[0].errors),
                None => ended.stderr,
            };
            assert!(said.contains("no user ***"), "{said}");
            if records > 0 {
                draw_without_secret(&sandbox);
            }
        }
    }
}

#[test]
fn a_planted_secret_is_in_no_journal() {
    let sandbox = Sandbox::new();
    let server = Server::start(&Sandbox::new(), "ws");
    let line = format!(
        "{}?token=hunter2 -H X:hunter2 --bots 10,20,30,40,50,60,70 --every 10ms --warm-up 0s -d 2s -v",
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

/// Runs a command, and checks that neither its output nor its files contain the secret.
fn run_without_secret(sandbox: &Sandbox, line: &str) -> Ended {
    let ended = sandbox.run(line);
    let says = ended.stdout.contains("hunter2") || ended.stderr.contains("hunter2");
    assert!(!says, "{line}: {ended:?}");
    assert_eq!(files_with_secret(sandbox.path()), [""; 0], "{line}");
    ended
}

/// The same for the newest record as a page, as charts, and in every format.
fn draw_without_secret(sandbox: &Sandbox) {
    run_without_secret(sandbox, "report -o page.html --svg charts").check(0, &["page.html"]);
    for format in ["text", "json", "hlog", "hgrm", "google-benchmark", "k6", "csv", "markdown"] {
        // There may be too few messages for some of them.
        run_without_secret(sandbox, &format!("show --format {format}"));
    }
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
