//! The test programs of the planted copy: built once, run with one plant awake.

use super::outcome::{self, Outcome};
use super::switch;
use super::tree::Tree;
use crate::shell;
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A test program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// The folder of its crate, in which it runs.
    folder: PathBuf,
    file: PathBuf,
}

/// Builds the tests of these crates into the target folder of the workspace. The libraries that both depend on are
/// compiled already: wirebench, which has no tests in the copy, asks for the same features of them.
pub(super) fn build(tree: &Tree, crates: &BTreeSet<&str>) -> Result<Vec<Program>> {
    let mut build = shell::cargo("test --quiet --locked --no-run --message-format json");
    build.args(["--lib", "--test", "*", "--package", "wirebench", "--features", shell::FEATURES]);
    build.args(crates.iter().flat_map(|name| ["--package", name]));
    build.arg("--target-dir").arg(shell::target()).current_dir(tree.folder());
    let printed = shell::output(&mut build).context("the planted copy does not compile")?;
    Ok(printed.lines().filter_map(program).collect())
}

/// The test program that a line of `--message-format json` reports.
fn program(line: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(line).ok()?;
    let file = message.get("executable")?.as_str()?;
    let manifest = PathBuf::from(message.get("manifest_path")?.as_str()?);
    let is_test = message.pointer("/profile/test")? == true;
    is_test.then(|| Program { folder: manifest.with_file_name(""), file: file.into() })
}

/// Runs the tests of a crate whose names contain `filter`, with one plant awake or none, up to the first program that
/// fails.
pub(super) fn test(
    programs: &[Program],
    name: &str,
    filter: &str,
    plant: Option<&str>,
) -> Result<Outcome> {
    let mut count = 0;
    for program in programs.iter().filter(|program| program.folder.ends_with(name)) {
        count += 1;
        // A plant may make a test wait for ever.
        let mut patience = shell::command("timeout");
        patience.args(["--kill-after=5", TEST_SECONDS_MAX]).arg(&program.file);
        patience.args(Some(filter).filter(|filter| !filter.is_empty()));
        // Backtraces of tests that should fail take longer than the tests.
        patience.current_dir(&program.folder).env("RUST_BACKTRACE", "0");
        if let Some(plant) = plant {
            patience.env(switch::VARIABLE, plant);
        }
        let output = patience.output().context("cannot start `timeout`")?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let outcome = outcome::of(output.status.code(), &printed);
        if outcome != Outcome::Survived {
            return Ok(outcome);
        }
    }
    ensure!(count > 0, "{name} has no tests");
    Ok(Outcome::Survived)
}

/// The longest run of a test program; on a quiet machine it takes ten seconds.
const TEST_SECONDS_MAX: &str = "300";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_found_in_what_cargo_says() {
        let line = |executable: &str, is_test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/tree/crates/load/Cargo.toml",
                "profile":{{"test":{is_test}}},"executable":{executable}}}"#
            )
        };
        let found = program(&line(r#""/target/debug/deps/load-1""#, true)).unwrap();
        assert!(found.folder.ends_with("load"));
        assert_eq!(found.file, PathBuf::from("/target/debug/deps/load-1"));
        assert_eq!(program(&line("null", true)), None);
        assert_eq!(program(&line(r#""/target/debug/wirebench""#, false)), None);
        assert_eq!(program(r#"{"reason":"build-finished","success":true}"#), None);
    }
}
