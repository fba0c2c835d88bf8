//! `cargo xtask check`: the one gate.
//!
//! Its first step looks for all that the gate needs of the machine. The steps run one after another, and third parties
//! are fetched beside them while the compiler works; the first failure ends it, with the command that repeats it. Steps
//! are told on the standard error stream; what the tools print, the test results above all, goes where it always goes.

use crate::{deny, front_end, mutants, needs, shell, third_party, tidy};
use anyhow::{Result, anyhow, bail};
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
    // The program that installs subjects is there now.
    let third_parties = (!arguments.fast).then(|| thread::spawn(third_party::install_built));
    let mut clippy = of_workspace("clippy");
    gate.command("clippy", clippy.args(["--all-targets", "--", "-D", "warnings"]))?;
    let mut doc = of_workspace("doc");
    gate.command("documentation", doc.arg("--no-deps").env("RUSTDOCFLAGS", "-D warnings"))?;
    // All that fails is told at once.
    let mut tests = heard(of_workspace("test").arg("--no-fail-fast"));
    let Some(third_parties) = third_parties else {
        gate.tests(&mut tests)?;
        return gate.close();
    };
    gate.step("dependencies", "cargo xtask deny", deny::run)?;
    gate.step("front end", "cd crates/report/web && npm ci && npm run check", front_end::check)?;
    // Into the one target folder, without libFuzzer: what both depend on is built already.
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

/// A task of cargo over all crates and everything that can be in the program, so that each is compiled once.
fn of_workspace(task: &str) -> Command {
    shell::cargo(&format!("{task} --locked --workspace --features {}", shell::FEATURES))
}

/// The same command, which hears signals even where a shell or `nohup` had this program ignore them: tests send some.
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
    /// A step that is one command.
    fn command(&mut self, name: &str, command: &mut Command) -> Result<()> {
        let repeat = shell::shown(command);
        self.step(name, &repeat, || shell::run(command))
    }

    /// The step that runs tests, and counts them.
    fn tests(&mut self, command: &mut Command) -> Result<()> {
        let mut tally = Tally::default();
        let repeat = shell::shown(command);
        let run = || shell::run_reading(command, |line| tally.read(line));
        let outcome = self.step("tests", &repeat, run);
        self.tally = tally;
        outcome
    }

    /// A step that `repeat` would run again.
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

    /// The closing lines: how long each step took, and how many tests ran, alone on the last line.
    fn close(self) -> Result<()> {
        let mut total = Duration::ZERO;
        println!("\ncheck passed:");
        for (name, took) in &self.done {
            println!("  {name:<24} {:>7.1} s", took.as_secs_f64());
            total += *took;
        }
        println!("  {:<24} {:>7.1} s", format!("{} steps", self.done.len()), total.as_secs_f64());
        let Tally { passed, failed, last } = self.tally;
        println!("\n{last}\n{passed} passed, {failed} failed");
        Ok(())
    }
}

/// The tests that have run, as the test programs say at their ends.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    /// The line of the last program that had any.
    last: String,
}

impl Tally {
    /// Reads a line like `test result: ok. 12 passed; 0 failed; 0 ignored; …`; any other counts nothing.
    fn read(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else { return };
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
}

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
        assert_eq!(gate.tally, Tally { passed: 15, failed: 2, last });
    }
}
