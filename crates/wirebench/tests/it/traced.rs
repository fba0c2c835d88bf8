//! A run and a server under strace: they touch nothing that `docs/CLI.md` does not name.

use crate::harness::{Ended, Running, Sandbox, say_skipped};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;

const DOCUMENT: &str = include_str!("../../../../docs/CLI.md");

#[test]
fn a_run_and_a_server_touch_nothing_but_what_is_documented() {
    for (scheme, of_server, of_run) in [
        ("http", "", "-n 50"),
        ("wss", "--ca-out ca.pem", "-n 50 --ca ca.pem"),
        ("tcp", "", "--rate 200/s -d 200ms"),
    ] {
        let sandbox = Sandbox::new();
        let Some(mut server) = traced(&sandbox, "server", &format!("serve {scheme} {of_server}"))
        else {
            return say_skipped("strace cannot trace here");
        };
        let ready = server.line();
        let url = ready.strip_prefix("ready ").unwrap_or_else(|| panic!("{ready:?}")).trim();
        let line = format!("run {url} -c 2 -q {of_run}");
        traced(&sandbox, "run", &line).unwrap().wait().check_measured(&[]);
        kill_process(child_of(server.pid()), Signal::TERM).unwrap();
        let Ended { code, .. } = server.wait();
        assert_eq!(code, Some(0));

        let port = url.trim_end_matches('/').rsplit(':').next().unwrap();
        let target = format!("sin_port=htons({port}), sin_addr=inet_addr(\"127.0.0.1\")");
        let run = calls(&sandbox, "run");
        assert!(run.iter().any(|call| call.name == "connect"), "it was not traced: {run:?}");
        for call in run {
            call.check(&sandbox, &[".wirebench"], &["ca.pem"]);
            assert!(!call.speaks() || call.text.contains(&target), "{call:?}");
            assert_ne!(call.name, "bind", "{call:?}");
        }
        for call in calls(&sandbox, "server") {
            call.check(&sandbox, &["ca.pem"], &[]);
            assert_ne!(call.name, "connect", "{call:?}");
            let own = format!("{target}}}").replace(port, "0");
            assert!(call.name != "bind" || call.text.contains(&own), "{call:?}");
        }
    }
}

/// The program under strace, which writes to `NAME.trace`; `None` if strace does not work.
fn traced(sandbox: &Sandbox, name: &str, line: &str) -> Option<Running> {
    let can_trace = std::process::Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    if !can_trace.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let program = env!("CARGO_BIN_EXE_wirebench");
    let line = format!(
        "-f -qq -e trace=%file,connect,bind,sendto,sendmsg -o {name}.trace {program} {line}"
    );
    Some(Running::start(sandbox.other("strace", &line)))
}

/// The only child of a process that has one thread.
fn child_of(pid: Pid) -> Pid {
    let pid = pid.as_raw_pid();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    children.trim().parse().ok().and_then(Pid::from_raw).unwrap_or_else(|| panic!("{children:?}"))
}

/// A system call, as strace writes it.
#[derive(Debug)]
struct Call {
    name: String,
    text: String,
}

fn calls(sandbox: &Sandbox, name: &str) -> Vec<Call> {
    let trace = fs::read_to_string(sandbox.path().join(format!("{name}.trace"))).unwrap();
    let calls = trace.lines().filter_map(|line| {
        // The process id, the name and the arguments; the rest of an interrupted call lacks the latter two.
        let (_, call) = line.split_once(char::is_whitespace)?;
        let (name, _) = call.trim_start().split_once('(')?;
        let is_name = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        is_name.then(|| Call { name: name.to_owned(), text: call.to_owned() })
    });
    calls.collect()
}

impl Call {
    /// Checks that it may write or read its files.
    fn check(&self, sandbox: &Sandbox, written: &[&str], named: &[&str]) {
        if matches!(self.name.as_str(), "connect" | "bind" | "sendto" | "sendmsg") {
            return;
        }
        let paths = self.text.split('"').skip(1).step_by(2);
        // An empty path is a file that is open already.
        let paths: Vec<&str> = paths.filter(|path| !path.is_empty()).collect();
        if self.name == "execve" {
            return assert_eq!(paths[0], env!("CARGO_BIN_EXE_wirebench"), "{self:?}");
        }
        if self.name == "readlink" {
            // It looks for the process that has the socket of the loaded server.
            let is_file = paths[0].starts_with("/proc/") && paths[0].contains("/fd/");
            return assert!(is_file || paths[0] == "/proc/self/exe", "{self:?}");
        }
        // Skips `/proc` itself, as it is listed, and the folders above, which may contain a repository.
        let here = sandbox.path().to_str().unwrap();
        let is_above =
            |path: &str| !self.writes() && (here.starts_with(path) || path.ends_with("/.git"));
        let paths = paths.into_iter().filter(|path| *path != "/proc" && !is_above(path));
        let paths = paths.map(|path| path.strip_prefix(&format!("{here}/")[..]).unwrap_or(path));
        let is_among = |path: &str, all: &[&str]| all.iter().any(|one| path.starts_with(one));
        let documented = documented();
        for path in paths {
            let is_fine = is_among(path, written)
                || !self.writes() && (is_among(path, &documented) || is_among(path, named));
            assert!(is_fine, "{path}: {self:?}");
        }
    }

    /// True if it may change a file.
    fn writes(&self) -> bool {
        let opens = matches!(self.name.as_str(), "open" | "openat");
        let reads = [
            "access",
            "faccessat",
            "faccessat2",
            "getcwd",
            "newfstatat",
            "readlink",
            "readlinkat",
            "stat",
            "statfs",
            "statx",
            "lstat",
        ];
        let flags = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"];
        if opens {
            flags.iter().any(|flag| self.text.contains(flag))
        } else {
            !reads.contains(&self.name.as_str())
        }
    }

    /// True if it names a peer.
    fn speaks(&self) -> bool {
        self.text.contains("sa_family=")
    }
}

/// The paths that may be read.
fn documented() -> Vec<&'static str> {
    let (_, section) = DOCUMENT.split_once("- **Read**: ").expect("the document has the list");
    let (list, _) = section.split_once("\n- ").expect("the list ends");
    let paths = list.split('`').skip(1).step_by(2);
    paths.filter(|path| path.contains('/')).collect()
}
