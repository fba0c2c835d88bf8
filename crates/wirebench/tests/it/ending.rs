//! Loads that end early, and results and records that cannot be written.

use crate::harness::{Running, Sandbox, Server, ended};
use crate::peers::{Peer, http_echo, http_echo_some};
use rustix::process::Signal;
use std::io::Write;
use std::process::Stdio;

#[test]
fn a_load_ends_when_nearly_everything_fails() {
    // One connection in forty has its messages answered, besides the one that verifies.
    let peer = Peer::start(|stream, number| {
        if number <= 1 {
            return http_echo(stream);
        }
        loop {
            http_echo_some(stream, 0)?;
            stream.write_all(b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy")?;
        }
    });
    let line = format!("{} --echo --rate 200/s -c 40 --warm-up 0s", peer.url("http"));
    let sandbox = Sandbox::new();
    sandbox.run(&format!("{line} -d 5m")).check(13, &["record: "]);
    let block = &sandbox.records()[0].blocks[0];
    assert!(block.measured_ns < 60_000_000_000, "{}", block.measured_ns);
    let reason = block.cut_short.as_ref().unwrap();
    for told in ["failed in 5 s, 95 % are too many", "--keep-going", "status 503"] {
        assert!(reason.contains(told), "{reason}");
    }
}

#[test]
fn a_place_that_cannot_be_written_is_noticed_before_anything_is_measured() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "tcp");
    std::fs::create_dir(sandbox.path().join("folder")).unwrap();
    for output in ["nowhere/record.json", "folder"] {
        let ended = sandbox.run(&format!("{} -d 1h -c 1 -o {output}", server.url));
        let words = format!("cannot write the record to {output}: ");
        ended.check(74, &[&words, "nothing was measured", "`-o FILE`"]);
        ended.check_no_result();
    }
    for export in ["csv=nowhere/a.csv", "markdown=folder"] {
        let ended = sandbox.run(&format!("{} -d 1h -c 1 --export {export}", server.url));
        ended.check(74, &["cannot export to ", "nothing was measured"]);
        ended.check_no_result();
    }
    assert_eq!(std::fs::read_dir(sandbox.path()).unwrap().count(), 2, "folder and .wirebench");
    std::fs::remove_dir_all(sandbox.path().join(".wirebench")).unwrap();
    std::fs::write(sandbox.path().join(".wirebench"), "in the way").unwrap();
    let ended = sandbox.run(&format!("{} -d 1h -c 1", server.url));
    ended.check(74, &["cannot write the record to .wirebench/records: ", "nothing was measured"]);
}

#[test]
fn a_record_goes_to_the_next_place_if_the_disk_is_full_by_then() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "tcp");
    let ended = sandbox.run(&format!("{} -n 10 -c 1 --details -o /dev/full", server.url));
    let instead = "; it is in .wirebench/records/";
    ended.check(74, &["cannot write the record to /dev/full: ", instead]);
    assert!(ended.stdout.contains("sent 10 = ok 10"), "{ended:?}");
    assert_eq!(sandbox.records()[0].blocks[0].counts.ok, 10);

    // Nor can the next place be written.
    let elsewhere = Sandbox::new();
    let mut command = elsewhere.command(&format!("{} -d 1h -c 1 --warm-up 0s", server.url));
    command.env("XDG_CACHE_HOME", elsewhere.path().join("cache"));
    let mut run = Running::start(command);
    run.wait_for_word("measure");
    std::fs::remove_dir_all(elsewhere.path().join(".wirebench")).unwrap();
    std::fs::write(elsewhere.path().join(".wirebench"), "in the way").unwrap();
    run.send(Signal::INT);
    run.wait().check(
        74,
        &["cannot write the record to .wirebench/records: ", "cache/wirebench/records/"],
    );
    let records = elsewhere.path().join("cache/wirebench/records");
    let kept = std::fs::read_dir(records).unwrap().map(|entry| entry.unwrap().path());
    let mut ends: Vec<_> = kept.map(|path| path.extension().unwrap().to_owned()).collect();
    ends.sort();
    assert_eq!(ends, ["html", "json"], "a record and its report");
}

#[test]
fn a_file_that_may_not_grow_is_an_error_and_what_was_left_of_it_is_removed() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "tcp");
    let line = format!("{} -n 10 -c 1 --details -o record.json", server.url);
    let script = "ulimit -f 16; exec \"$@\"";
    let mut limited = sandbox.command_in_shell(script, &line);
    limited.env("TMPDIR", sandbox.path());
    let ended = Running::start(limited).wait();
    ended.check(74, &["cannot write the record to record.json: ", "nor anywhere else"]);
    assert!(ended.stdout.contains("sent 10 = ok 10"), "{ended:?}");
    // A partial file of a killed process is removed when the next one writes.
    std::fs::write(sandbox.path().join("record.json.1.part"), "").unwrap();
    sandbox.run(&line).check(0, &["record: record.json"]);
    let left = std::fs::read_dir(sandbox.path()).unwrap();
    let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, [".wirebench", "record.json"]);
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

#[test]
fn a_thread_that_cannot_be_started_is_an_error_with_its_cure() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "tcp");
    for line in [
        "URL -n 10 -c 1",
        "ladder --only ws",
        "sweep URL",
        "serve game --web 127.0.0.1:0 --listen 127.0.0.1:0 --threads 2",
    ] {
        let mut command = sandbox.command(&line.replace("URL", &server.url));
        // No stack is that large; a limit of threads does not bind a privileged user.
        command.env("RUST_MIN_STACK", (1_u64 << 46).to_string());
        let ended = Running::start(command).wait();
        ended.check(2, &["cannot start a thread: ", "`ulimit -u`"]);
    }
    // Checks that cannot run have failed, with the reason.
    let mut selftest = sandbox.command("selftest");
    selftest.env("RUST_MIN_STACK", (1_u64 << 46).to_string());
    selftest.env("XDG_CACHE_HOME", sandbox.path());
    let ended = Running::start(selftest).wait();
    ended.check(12, &["send lag failed"]);
    assert!(ended.stdout.contains("cannot start a thread: "), "{ended:?}");
}

#[test]
fn a_file_without_an_end_is_told_and_a_pipe_without_a_writer_too() {
    let sandbox = Sandbox::new();
    let zero = sandbox.path().join("wirebench.toml");
    std::os::unix::fs::symlink("/dev/zero", &zero).unwrap();
    let more = "it has more than 1 MiB";
    sandbox.run("config show").check(2, &["cannot read wirebench.toml: ", more]);
    std::fs::remove_file(zero).unwrap();
    for line in [
        "show /dev/zero",
        "show --recover /dev/zero",
        "report /dev/zero",
        "run /dev/zero",
        "sweep /dev/zero",
        "lab /dev/zero",
        "import google-benchmark /dev/zero",
        "ws://127.0.0.1:1 -H @/dev/zero",
        "wss://127.0.0.1:1 --ca /dev/zero",
    ] {
        sandbox.run(line).check(2, &[more]);
    }
    let status = sandbox.other("mkfifo", "pipe").env("PATH", "/usr/bin:/bin").status().unwrap();
    assert!(status.success());
    sandbox.run("show pipe").check(2, &["it is a pipe, and nobody wrote to it"]);
    // A pipe with a writer is read like any file.
    let script = "echo 'A: b' > pipe & exec \"$@\"";
    let line = "ws://127.0.0.1:1 -H @pipe --dry-run";
    Running::start(sandbox.command_in_shell(script, line)).wait().check(0, &[]);
}
