//! `cargo xtask check`: the one gate.
//!
//! Its first step checks everything that the gate needs from the machine. The steps run one after another, while third
//! parties are fetched at the same time; the first failure ends the gate, with the command that repeats the step. Steps
//! are reported on the standard error stream; what the tools print, the test results above all, goes where it always
//! goes.

use crate::{deny, front_end, mutants, needs, shell, third_party, tidy};
use anyhow::{Result, anyhow, bail, ensure};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// Everything that must hold before a change is done
#[derive(clap::Args, Debug)]
pub(crate) struct CheckArgs {
    /// Only format, tidy, clippy, documentation and the tests that need nothing from outside
    #[arg(long)]
    fast: bool,
}

/// Runs every step in order.
pub(crate) fn run(arguments: &CheckArgs) -> Result<()> {
    let mut gate = Gate::default();
    gate.step("needs", "cargo xtask check", || needs::ensure(arguments.fast))?;
    gate.command("format", &mut shell::cargo("fmt --all --check"))?;
    gate.command("fuzz format", &mut shell::cargo("fmt --check --manifest-path fuzz/Cargo.toml"))?;
    let fuzz_lock = "tree --locked --depth 0 --manifest-path fuzz/Cargo.toml";
    gate.command("fuzz lock file", &mut shell::cargo(fuzz_lock))?;
    gate.step("tidy", "cargo xtask tidy", tidy::run)?;
    gate.command("compile", of_workspace("test").arg("--no-run"))?;
    // The program that installs subjects is built now.
    let third_parties = (!arguments.fast).then(|| thread::spawn(third_party::install_built));
    let mut clippy = of_workspace("clippy");
    gate.command("clippy", clippy.args(["--all-targets", "--", "-D", "warnings"]))?;
    let mut doc = of_workspace("doc");
    gate.command("documentation", doc.arg("--no-deps").env("RUSTDOCFLAGS", "-D warnings"))?;
    // Everything that fails is reported at once.
    let mut tests = heard(of_workspace("test").arg("--no-fail-fast"));
    tests.env("RUST_TEST_THREADS", test_threads().to_string());
    let Some(third_parties) = third_parties else {
        gate.tests(&mut tests)?;
        return gate.close();
    };
    gate.step("dependencies", "cargo xtask deny", deny::run)?;
    gate.step("front end", "cd crates/report/web && npm ci && npm run check", front_end::check)?;
    // Into the common target folder, without libFuzzer: shared dependencies are built already.
    let mut fuzz = shell::cargo("check --locked --manifest-path fuzz/Cargo.toml --target-dir");
    gate.command("fuzz compiles", fuzz.arg(shell::target()))?;
    gate.command("release build", &mut shell::cargo("build --locked --release"))?;
    let [clients, subjects] = gate.step("third parties", "cargo xtask third-party", || {
        third_parties.join().map_err(|_| anyhow!("the thread that installs them panicked"))?
    })?;
    tests.env(third_party::VARIABLE, clients).env(third_party::SUBJECTS_VARIABLE, subjects);
    gate.tests(&mut tests)?;
    gate.step("planted bugs", "cargo xtask mutants", mutants::all)?;
    gate.close()
}

/// A cargo task over all crates with all features of the program, so that each crate is compiled once.
fn of_workspace(task: &str) -> Command {
    shell::cargo(&format!("{task} --locked --workspace --features {}", shell::FEATURES))
}

/// The number of tests that run at once. Those of the program wait for half of their time: with one test for each core,
/// half of the machine would be idle.
fn test_threads() -> usize {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    cores + cores.div_ceil(2)
}

/// Returns the same command, but with default handling of signals, even if a shell or `nohup` made this program ignore
/// them: tests send some.
fn heard(command: &Command) -> Command {
    let mut heard = shell::command("env");
    heard.arg("--default-signal=HUP,INT,QUIT").arg(command.get_program()).args(command.get_args());
    heard
}

/// The steps that have passed, and how long each took.
#[derive(Default)]
struct Gate {
    done: Vec<(String, Duration)>,
    tally: Tally,
}

impl Gate {
    /// Runs a step that is one command.
    fn command(&mut self, name: &str, command: &mut Command) -> Result<()> {
        let repeat = shell::shown(command);
        self.step(name, &repeat, || shell::run(command))
    }

    /// Runs tests as a step, and counts them. A few that fail are run once more, alone: many use real sockets and
    /// processes, and a machine may stall for longer than one of them allows for. Those that pass then are named at the
    /// end.
    fn tests(&mut self, command: &mut Command) -> Result<()> {
        let mut tally = Tally::default();
        let repeat = shell::shown(command);
        let outcome = self.step("tests", &repeat, || {
            let first = shell::run_reading(command, |line| tally.read(line));
            if first.is_ok() || !tally.is_worth_a_second_run() {
                return first;
            }
            eprintln!("check: run again, alone: {}", tally.failures.join(", "));
            let mut alone = Tally::default();
            command.args(["--", "--exact", "--test-threads", "1"]).args(&tally.failures);
            shell::run_reading(command, |line| alone.read(line))?;
            tally.settle(alone)
        });
        self.tally = tally;
        outcome
    }

    /// Runs a step; the command `repeat` would run it again.
    #[expect(clippy::disallowed_methods, reason = "tells a person how long a step took")]
    fn step<T>(&mut self, name: &str, repeat: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        eprintln!("check: {name}");
        let start = Instant::now();
        let outcome = work();
        let took = start.elapsed();
        match outcome {
            Ok(made) => {
                eprintln!("check: {name} ok, {:.1} s", took.as_secs_f64());
                self.done.push((name.to_owned(), took));
                Ok(made)
            }
            Err(error) => {
                eprintln!("check: {name} FAILED after {:.1} s: {error:#}", took.as_secs_f64());
                bail!("check failed at `{name}`; repeat with: {repeat}")
            }
        }
    }

    /// Prints the closing lines: how long each step took, and how many tests ran, alone on the last line.
    fn close(self) -> Result<()> {
        let mut total = Duration::ZERO;
        println!("\ncheck passed:");
        for (name, took) in &self.done {
            println!("  {name:<24} {:>7.1} s", took.as_secs_f64());
            total += *took;
        }
        println!("  {:<24} {:>7.1} s", format!("{} steps", self.done.len()), total.as_secs_f64());
        let Tally { passed, failed, last, failures, .. } = self.tally;
        for name in failures {
            println!("\nfailed, and passed when it was run again, alone: {name}");
        }
        println!("\n{last}\n{passed} passed, {failed} failed");
        Ok(())
    }
}

/// The tests that have run, as the test programs report at their ends.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    /// The names of those that failed at first.
    failures: Vec<String>,
    /// Test programs that have begun and not ended.
    running: u64,
    /// The result line of the last program that ran any tests.
    last: String,
}

impl Tally {
    /// Reads a line like `running 12 tests`, `test a_name ... FAILED` or `test result: ok. 12 passed; 0 failed; …`;
    /// ignores any other.
    fn read(&mut self, line: &str) {
        if line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test")) {
            self.running += 1;
        }
        let name = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED"));
        self.failures.extend(name.map(ToOwned::to_owned));
        let Some(result) = line.strip_prefix("test result: ") else { return };
        self.running = self.running.saturating_sub(1);
        let count = |what: &str| {
            let (before, _) = result.split_once(what)?;
            before.split_whitespace().last()?.parse::<u64>().ok()
        };
        let (passed, failed) = (count(" passed").unwrap_or(0), count(" failed").unwrap_or(0));
        self.passed += passed;
        self.failed += failed;
        if passed + failed > 0 {
            line.clone_into(&mut self.last);
        }
    }

    /// True if few tests failed, each is known by its name, and no test program ended before its tests did.
    fn is_worth_a_second_run(&self) -> bool {
        let named = self.failures.len();
        let is_few = (1..=SECOND_RUNS_MAX).contains(&named);
        is_few && named as u64 == self.failed && self.running == 0
    }

    /// Counts the failed tests as passed, if `alone`, a run of their own, has passed them all.
    fn settle(&mut self, alone: Self) -> Result<()> {
        ensure!(
            alone.passed >= self.failed && alone.running == 0,
            "{} of {} tests that failed were run again",
            alone.passed,
            self.failed
        );
        self.passed += std::mem::take(&mut self.failed);
        self.last = alone.last;
        Ok(())
    }
}

/// The most failed tests that are run again: more than that is not an accident.
const SECOND_RUNS_MAX: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_step_names_the_command_that_repeats_it() {
        let mut gate = Gate::default();
        gate.command("first", &mut shell::command("true")).unwrap();
        let error = gate.command("second", shell::command("false").env("NAME", "a b")).unwrap_err();
        assert_eq!(error.to_string(), "check failed at `second`; repeat with: NAME='a b' false");
        assert_eq!(gate.done.len(), 1);
    }

    #[test]
    fn tests_hear_signals_that_this_program_ignores() {
        let mut signalled = shell::command("sh");
        signalled.args(["-c", "kill -s HUP $$; echo ignored"]);
        let mut deaf = shell::command("sh");
        deaf.args(["-c", &format!("trap '' HUP; exec {}", shell::shown(&signalled))]);
        assert_eq!(shell::output(&mut deaf).unwrap(), "ignored\n");
        deaf = shell::command("sh");
        deaf.args(["-c", &format!("trap '' HUP; exec {}", shell::shown(&heard(&signalled)))]);
        let error = shell::output(&mut deaf).unwrap_err().to_string();
        assert!(error.contains("signal: 1"), "{error}");
    }

    #[test]
    fn tests_are_counted_from_what_their_programs_say() {
        let mut gate = Gate::default();
        let printed = "test a ... ok\ntest result: ok. 12 passed; 0 failed; 1 ignored; 0 measured\n\
            test result: FAILED. 3 passed; 2 failed; 0 ignored\n\ntest result: ok. 0 passed; 0 failed";
        gate.tests(shell::command("printf").arg(printed)).unwrap();
        let last = "test result: FAILED. 3 passed; 2 failed; 0 ignored".to_owned();
        assert_eq!(gate.tally, Tally { passed: 15, failed: 2, last, ..Tally::default() });
    }

    /// Runs tests that print `first` and fail; those that are run alone then end with `alone`.
    fn tested(first: &str, alone: &str) -> (Gate, Result<()>) {
        let script = format!(
            "case \"$*\" in *\"--exact --test-threads 1\"*) printf '{alone}';; *) printf '{first}'; exit 101;; esac"
        );
        let mut gate = Gate::default();
        let outcome =
            gate.tests(shell::command("sh").args(["-c", &script, "sh", "--no-fail-fast"]));
        (gate, outcome)
    }

    #[test]
    fn a_test_that_fails_is_run_again_alone_and_named() {
        let first = "running 3 tests\ntest a ... ok\ntest b::c ... FAILED\ntest result: FAILED. 2 passed; 1 failed\n";
        let passes = "running 1 test\ntest b::c ... ok\ntest result: ok. 1 passed; 0 failed\n";
        let (gate, outcome) = tested(first, passes);
        outcome.unwrap();
        let last = "test result: ok. 1 passed; 0 failed".to_owned();
        let failures = vec!["b::c".to_owned()];
        assert_eq!(gate.tally, Tally { passed: 3, failures, last, ..Tally::default() });
        for alone in ["running 0 tests\ntest result: ok. 0 passed; 0 failed\n", "running 1 test\n"]
        {
            let (gate, outcome) = tested(first, alone);
            assert_eq!((outcome.is_err(), gate.tally.failed), (true, 1), "{alone}");
        }
        let (gate, outcome) = tested(first, "test b::c ... FAILED\n'; exit 101; echo '");
        assert_eq!((outcome.is_err(), gate.tally.failed), (true, 1), "it fails again");
    }

    #[test]
    fn what_is_no_accident_is_not_run_again() {
        let failed = |name: &str| format!("test {name} ... FAILED\n");
        let many = ["a", "b", "c", "d"].map(failed).concat();
        for first in [
            format!("running 4 tests\n{many}test result: FAILED. 0 passed; 4 failed\n"),
            // One program was killed in the middle of its tests.
            "running 2 tests\nrunning 1 test\ntest a ... FAILED\ntest result: FAILED. 0 passed; 1 failed\n".to_owned(),
            "it does not compile\n".to_owned(),
        ] {
            let (_, outcome) = tested(&first, "running 4 tests\ntest result: ok. 4 passed; 0 failed\n");
            assert!(outcome.is_err(), "{first}");
        }
    }
}
