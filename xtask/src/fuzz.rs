//! `cargo xtask fuzz`: runs fuzz targets for a while, starting from their committed corpora.
//!
//! All targets are one program (`fuzz/main.rs`), built with libFuzzer and its counters by the stable compiler. Inputs
//! that reach more code, and failing inputs, as small as they can be made, stay below the target folder until a person
//! moves one into the corpus.

use crate::packages::{self, Need};
use crate::shell;
use crate::turns::in_turns;
use anyhow::{Context as _, Result, bail};
use std::borrow::Cow;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Fuzz targets of the crates, each for a while
#[derive(clap::Args, Debug)]
pub(crate) struct FuzzArgs {
    /// Names of folders of fuzz/corpus; none: all of them
    targets: Vec<String>,
    /// Seconds of CPU time for each target
    #[arg(long, default_value_t = 60, value_name = "COUNT")]
    seconds: u32,
    /// Targets that are fuzzed at a time
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    jobs: u32,
    /// Show how much of a crate's source its corpora reach, in place of fuzzing
    #[arg(long, value_name = "CRATE")]
    coverage: Option<String>,
}

/// Fuzzes the targets, and prints a line for each when it is done; fails if one of them has an input that fails.
pub(crate) fn run(arguments: &FuzzArgs) -> Result<()> {
    let all = targets()?;
    if let Some(unknown) = arguments.targets.iter().find(|target| !all.contains(target)) {
        bail!("no fuzz target `{unknown}`; there are: {}", all.join(", "));
    }
    let chosen = if arguments.targets.is_empty() { &all } else { &arguments.targets };
    if let Some(name) = &arguments.coverage {
        return coverage(name, chosen);
    }
    let program = build("fuzz", "--release", COUNTERS)?;
    println!("{}", line("target", "executions", "new inputs", "input that fails"));
    let failed = in_turns(arguments.jobs as usize, chosen.len(), |index, _| {
        let target = &chosen[index];
        eprintln!("fuzz: {target}");
        let Told { executions, new_inputs, failing } = fuzz(&program, target, arguments.seconds)?;
        let smallest = failing.map(|file| smallest(&program, target, Path::new(&file)));
        let named = smallest.as_ref().map_or(Cow::Borrowed("none"), |file| file.to_string_lossy());
        println!("{}", line(target, &executions.to_string(), &new_inputs.to_string(), &named));
        Ok(smallest.is_some())
    })?;
    let failed = failed.into_iter().filter(|failed| *failed).count();
    if failed > 0 {
        bail!("{failed} targets have an input that fails; mend them, and move it into fuzz/corpus");
    }
    Ok(())
}

fn line(target: &str, executions: &str, new_inputs: &str, failing: &str) -> String {
    format!("{target:<24} {executions:>12} {new_inputs:>10}  {failing}")
}

/// The final report of libFuzzer.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    executions: u64,
    new_inputs: u64,
    /// The file of the input that fails.
    failing: Option<String>,
}

impl Told {
    fn read(&mut self, line: &str) {
        let number = |name: &str| line.strip_prefix(name)?.trim().parse().ok();
        if let Some(executions) = number("stat::number_of_executed_units:") {
            self.executions = executions;
        }
        if let Some(new_inputs) = number("stat::new_units_added:") {
            self.new_inputs = new_inputs;
        }
        if let Some((_, file)) = line.split_once("Test unit written to ") {
            self.failing = Some(file.to_owned());
        }
    }
}

fn fuzz(program: &Path, target: &str, seconds: u32) -> Result<Told> {
    let found = shell::target().join("fuzz-corpus").join(target);
    let failing = shell::target().join("fuzz-failing").join(target);
    fs::create_dir_all(&found)?;
    fs::create_dir_all(&failing)?;
    let mut command = limited(program, target);
    command.arg(found).arg(format!("fuzz/corpus/{target}"));
    command.arg(format!("-artifact_prefix={}/", failing.display()));
    let child = command.stderr(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("cannot start `{}`", shell::shown(&command)))?;
    let id = child.id();
    let clock = thread::spawn(move || end_after(id, seconds));
    let mut told = Told::default();
    for line in BufReader::new(child.stderr.take().expect("it is a pipe")).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        told.read(&line);
        // Shows the panic to a person, without progress and statistics.
        if !line.starts_with('#') && !line.starts_with("stat::") && !line.starts_with("INFO:") {
            eprintln!("{line}");
        }
    }
    // The thread ends with the program, which keeps its id until it is waited for.
    clock.join().expect("reading a file does not panic")?;
    let status = child.wait()?;
    if status.code() != Some(INTERRUPTED) && !status.success() && told.failing.is_none() {
        bail!("`{}` failed: {status}", shell::shown(&command));
    }
    Ok(told)
}

/// The command that runs a target within [`LIMITS`].
fn limited(program: &Path, target: &str) -> Command {
    let mut command = shell::command(program);
    command.env("FUZZ_TARGET", target).args(LIMITS);
    command
}

/// Returns the smallest input that libFuzzer makes of a failing one within a minute, or the file itself if it makes
/// none that still fails: an input that takes too long or too much memory is not tried again and again.
fn smallest(program: &Path, target: &str, failing: &Path) -> PathBuf {
    let name = failing.file_name().unwrap_or_default().to_string_lossy();
    let smaller = failing.with_file_name(format!("smallest-{name}"));
    if !name.starts_with("crash-") {
        return failing.to_owned();
    }
    let mut command = limited(program, target);
    command.args(["-minimize_crash=1", MINIMIZING]);
    command.arg(format!("-exact_artifact_path={}", smaller.display())).arg(failing);
    // However it ends: of what it has made, some never fail, such as a file that it did not finish writing.
    shell::works(&mut command);
    let len = |path: &Path| fs::metadata(path).map_or(u64::MAX, |found| found.len());
    let fails = |path: &Path| !shell::works(limited(program, target).arg(path));
    let is_smaller = len(&smaller) < len(failing) && fails(&smaller);
    if is_smaller { smaller } else { failing.to_owned() }
}

/// Asks a process of ours to end after `seconds` of CPU time. Returns once it has asked, or once the process has ended
/// on its own.
#[expect(clippy::disallowed_methods, reason = "another process is waited for")]
fn end_after(id: u32, seconds: u32) -> Result<()> {
    loop {
        let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
        match cpu_ticks(&stat) {
            None => return Ok(()),
            Some(ticks) if ticks >= u64::from(seconds) * TICKS_PER_SECOND => {
                return shell::signal("INT", id);
            }
            Some(_) => thread::sleep(LOOK_EVERY),
        }
    }
}

/// The CPU time in a /proc/PID/stat, user and system together; `None` once the process has ended.
fn cpu_ticks(stat: &str) -> Option<u64> {
    // The name before it may have spaces and parentheses.
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let has_ended = matches!(fields.first(), None | Some(&("Z" | "X")));
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    if has_ended { None } else { Some(ticks(11)? + ticks(12)?) }
}

/// Shows the share of the lines of a crate that its corpora reach.
fn coverage(name: &str, targets: &[String]) -> Result<()> {
    let sources = shell::root().join("crates").join(name).join("src");
    if !sources.is_dir() {
        bail!("no crate `{name}` in crates/");
    }
    let tools = llvm_tools()?;
    let program = build("fuzz-coverage", "", "-Cinstrument-coverage")?;
    let folder = shell::target().join("fuzz-coverage");
    let mut merge = shell::command(tools.join("llvm-profdata"));
    let merged = folder.join("merged.profdata");
    merge.args(["merge", "-sparse", "-o"]).arg(&merged);
    for target in targets {
        let profile = folder.join(format!("{target}.profraw"));
        let mut replay = shell::command(&program);
        replay.env("FUZZ_TARGET", target).env("LLVM_PROFILE_FILE", &profile);
        for file in fs::read_dir(shell::root().join("fuzz/corpus").join(target))? {
            replay.arg(file?.path());
        }
        if !shell::works(&mut replay) {
            bail!("`{}` failed", shell::shown(&replay));
        }
        merge.arg(profile);
    }
    shell::run(&mut merge)?;
    let mut report = shell::command(tools.join("llvm-cov"));
    report.arg("report").arg(&program).arg(format!("-instr-profile={}", merged.display()));
    shell::run(report.arg("-show-branch-summary=false").arg(sources))
}

/// Builds the program of all targets with these flags of the compiler, apart from everything else.
fn build(folder: &str, profile: &str, flags: &str) -> Result<PathBuf> {
    let folder = shell::target().join(folder);
    let target = host()?;
    let mut build = shell::cargo("build --locked --manifest-path fuzz/Cargo.toml --features link");
    // With a target named, the flags do not apply to build scripts.
    build.args(profile.split_whitespace()).args(["--target", &target, "--target-dir"]).arg(&folder);
    shell::run(build.env("RUSTFLAGS", flags))?;
    let profile = if profile.is_empty() { "debug" } else { "release" };
    Ok(folder.join(target).join(profile).join("fuzz"))
}

/// The target triple of this machine.
fn host() -> Result<String> {
    let told = shell::output(shell::command("rustc").arg("-vV"))?;
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("`rustc -vV` names no host")
}

/// The folder of the LLVM tools that fit the compiler: its own, or Debian's of the same LLVM.
fn llvm_tools() -> Result<PathBuf> {
    let sysroot = shell::output(shell::command("rustc").args(["--print", "sysroot"]))?;
    let own = Path::new(sysroot.trim()).join("lib/rustlib").join(host()?).join("bin");
    if shell::works(Command::new(own.join("llvm-cov")).arg("--version")) {
        return Ok(own);
    }
    let told = shell::output(shell::command("rustc").arg("-vV"))?;
    let major = llvm_major(&told).context("`rustc -vV` names no LLVM")?;
    let folder = PathBuf::from(format!("/usr/lib/llvm-{major}/bin"));
    let probe = folder.join("llvm-cov").display().to_string();
    packages::ensure(&[Need::debian(&probe, &format!("llvm-{major}"))])
        .context("no LLVM that fits the compiler; `rustup component add llvm-tools` has it, too")?;
    Ok(folder)
}

/// The major version of LLVM, whose minor versions all have the same profile format.
fn llvm_major(told: &str) -> Option<&str> {
    let version = told.lines().find_map(|line| line.strip_prefix("LLVM version: "))?;
    version.split('.').next()
}

/// The names of all targets: those of their corpora.
fn targets() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(shell::root().join("fuzz/corpus"))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// The counters that libFuzzer reads: edges, and values that are compared.
const COUNTERS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares";

/// An input has at most 64 KiB and may take 10 s; the process may take 2 GiB, including all counters and the corpus.
const LIMITS: [&str; 4] =
    ["-max_len=65536", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"];

/// The longest time to make a failing input smaller.
const MINIMIZING: &str = "-max_total_time=60";

/// The exit code of libFuzzer after an interrupt; it prints its counts before it ends.
const INTERRUPTED: i32 = 72;
/// The kernel's unit of CPU time, on every architecture that we build for.
const TICKS_PER_SECOND: u64 = 100;
const LOOK_EVERY: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn cpu_time_is_read_until_the_process_has_ended() {
        let stat = |state| format!("7 (fuzz (a) b) {state} 1 7 7 0 -1 4194304 9 0 0 0 250 31 0 0");
        assert_eq!(cpu_ticks(&stat("R")), Some(281));
        assert_eq!(cpu_ticks(&stat("Z")), None);
        assert_eq!(cpu_ticks(""), None);
    }

    #[test]
    fn the_llvm_of_a_compiler_is_read() {
        let told = "rustc 1.95.0 (59807616e 2026-04-14)\nhost: x86_64\nLLVM version: 22.1.2\n";
        assert_eq!(llvm_major(told), Some("22"));
        assert_eq!(llvm_major("host: x86_64\n"), None);
    }

    /// A fuzz program that makes of each failing input a file with one line less, and fails on those with a "b".
    #[test]
    fn a_smaller_input_is_taken_only_if_it_fails() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("fuzz");
        let script = "#!/bin/sh\nfor last; do case $last in -exact_artifact_path=*) to=${last#*=};; esac; done\n\
             if [ \"$to\" ]; then sed 1d \"$last\" > \"$to\"; else ! grep -q b \"$last\"; fi\n";
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let failing = folder.path().join("crash-1");
        for (input, expected) in
            [("a\nb\n", "smallest-crash-1"), ("b\na\n", "crash-1"), ("b\n", "crash-1")]
        {
            fs::write(&failing, input).unwrap();
            let found = smallest(&program, "url", &failing);
            assert_eq!(found, folder.path().join(expected), "{input:?}");
        }
    }

    #[test]
    fn the_end_of_libfuzzer_is_read() {
        let mut told = Told::default();
        for line in [
            "#2\tINITED cov: 3 ft: 3 corp: 1/1b exec/s: 0 rss: 30Mb",
            "==1== ERROR: libFuzzer: deadly signal",
            "artifact_prefix='target/fuzz-failing/url/'; Test unit written to target/fuzz-failing/url/crash-1",
            "stat::number_of_executed_units: 4711",
            "stat::new_units_added:          12",
        ] {
            told.read(line);
        }
        let failing = Some("target/fuzz-failing/url/crash-1".to_owned());
        assert_eq!(told, Told { executions: 4711, new_inputs: 12, failing });
    }
}
