//! The screen of a run on a real terminal, that of tmux.

use crate::harness::{Sandbox, Server};
use record::Ended;
use std::process::{Command, Output};

/// A terminal of 80 columns and 24 lines, in which the program runs.
struct Tmux<'a> {
    sandbox: &'a Sandbox,
}

impl<'a> Tmux<'a> {
    /// Runs the program with `line` as its arguments, followed by its exit code and the mode of the terminal.
    fn start(sandbox: &'a Sandbox, line: &str) -> Self {
        Self::start_before(sandbox, line, "echo code $?; stty -a | grep -o '.icanon'; cat")
    }

    /// Runs the program, and then the commands of `after`.
    fn start_before(sandbox: &'a Sandbox, line: &str, after: &str) -> Self {
        let tmux = Self { sandbox };
        let program = env!("CARGO_BIN_EXE_wirebench");
        let script = format!("{program} {line}; {after}");
        tmux.tell(&["new-session", "-d", "-x", "80", "-y", "24", &script]);
        tmux
    }

    fn tell(&self, words: &[&str]) -> Output {
        let mut command: Command = self.sandbox.other("tmux", "-f /dev/null -S tmux");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let said = command.args(words).env("PATH", path).env("LC_ALL", "C.UTF-8").output().unwrap();
        assert!(said.status.success(), "{words:?}: {said:?}");
        said
    }

    fn press(&self, key: &str) {
        self.tell(&["send-keys", key]);
    }

    /// The screen, once all of `words` are on it.
    fn shows(&self, words: &[&str]) -> String {
        let mut screen = String::new();
        for _ in 0..LOOKS_MAX {
            screen = String::from_utf8(self.tell(&["capture-pane", "-p"]).stdout).unwrap();
            if words.iter().all(|word| screen.contains(word)) {
                return screen;
            }
        }
        panic!("not all of {words:?} in\n{screen}");
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        self.tell(&["kill-server"]);
    }
}

#[test]
fn a_run_fills_the_terminal_and_obeys_its_keys() {
    let sandbox = Sandbox::new();
    let tmux = Tmux::start(&sandbox, "--rounds 100");
    let screen = tmux.shows(&["in all", "latency  each 0.2 s", "q end and keep   d details"]);
    assert!(screen.starts_with("wirebench --rounds 100 "), "{screen}");
    tmux.press("d");
    let screen = tmux.shows(&["d latency   space freeze"]);
    assert!(!screen.contains("each 0.2 s"), "{screen}");
    tmux.press("Space");
    tmux.shows(&["space go on   frozen: the run goes on"]);
    tmux.press("q");
    let screen = tmux.shows(&["record:", "code 130", " icanon"]);
    assert!(!screen.contains("q end and keep"), "the terminal was not restored: {screen}");
    let records = sandbox.records();
    assert_eq!(records[0].ended, Ended::Interrupted { signal: 2 });
}

#[test]
fn plus_and_minus_change_the_rate_and_the_record_says_so() {
    let server = Server::start(&Sandbox::new(), "tcp");
    let sandbox = Sandbox::new();
    let tmux = Tmux::start(&sandbox, &format!("{} --rate 300/s -c 3 -d 5m", server.url));
    tmux.shows(&["of 300/s due", "+/- rate"]);
    tmux.press("+");
    tmux.shows(&["of 330/s due"]);
    tmux.press("-");
    tmux.shows(&["of 300/s due"]);
    tmux.press("q");
    tmux.shows(&["record:", "code 130", " icanon"]);
    let [record] = &sandbox.records()[..] else { panic!("one record") };
    let changes = record.blocks[0].rate_changes.iter().map(|change| change.rate.to_string());
    assert_eq!(changes.collect::<Vec<_>>(), ["330/s", "300/s"]);
    let reasons = &record.verdict.as_ref().unwrap().reasons;
    assert!(reasons.iter().any(|reason| reason.code == "rate_changed"), "{reasons:?}");
}

#[test]
fn ctrl_c_ends_a_run_on_the_screen() {
    let sandbox = Sandbox::new();
    let tmux = Tmux::start(&sandbox, "--rounds 100");
    tmux.shows(&["q end and keep"]);
    tmux.press("C-c");
    tmux.shows(&["record:", "code 130"]);
}

#[test]
fn the_page_of_each_command_is_on_one_screen_from_its_answer_to_the_prompt() {
    let [base, head] = ["tcp", "tcp"].map(|name| Server::start(&Sandbox::new(), name));
    // More rows than fit.
    let names = ["tcp-framed", "ws", "http", "tls", "wss", "https"];
    let row = |name: &str, size: usize| {
        format!(
            "[[row]]\nname = '{name} {size}'\nserver = 'embedded'\ntransport = '{name}'\nsize = '{size}B'\n"
        )
    };
    let rows = names.iter().flat_map(|name| [16, 64, 256].map(|size| row(name, size)));
    let lab =
        "rounds = 1\nduration = '10ms'\nconnections = 1\n".to_owned() + &rows.collect::<String>();
    for line in [
        "--rounds 6 --block 20ms -c 2".to_owned(),
        format!("run {} --rate 500/s -c 4 -d 300ms --warm-up 0s", head.url),
        format!("sweep {} --from 1k --to 4k --repeats 1 -d 200ms --settle 50ms", head.url),
        "lab x.toml".to_owned(),
        format!("ab {} {} --rounds 6 -c 4 -d 20ms --warm-up 10ms", base.url, head.url),
    ] {
        let sandbox = Sandbox::new();
        std::fs::write(sandbox.path().join("x.toml"), &lab).unwrap();
        let tmux = Tmux::start_before(&sandbox, &line, "printf '$ '; cat");
        let screen = tmux.shows(&["\nrecord: ", "\nrepeat: wirebench run ", "\n$\n"]);
        // Without a terminal the page has all of its lines.
        let page = sandbox.run("show").stdout;
        let answer = page.lines().next().unwrap();
        assert!(
            screen.lines().any(|line| line == answer),
            "{line}: {answer:?} is not on\n{screen}"
        );
    }
}

/// More looks than any machine needs: each starts a program.
const LOOKS_MAX: usize = 5_000;
