//! The action for GitHub and the template for GitLab in `ci`: their scripts, run in a shell as the services do.

use crate::gate::{CLOSED, Gate, check_junit};
use crate::harness::{Ended, Running, Sandbox, Server};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

#[test]
fn the_steps_of_the_action_run_a_gate_and_hand_its_exit_code_on() {
    let gate = Gate::new("ws", CLOSED);
    let limits = "messages/s > 1/s\np50 < 1ns\n";
    let given = [("experiment", "chat.toml"), ("require", limits), ("options", "--seed\n7")];
    let ended = step(&gate.sandbox, &given);
    check_written(&gate.sandbox, &ended, 10);
    let summary = gate.read("GITHUB_STEP_SUMMARY");
    assert!(summary.contains("| p50 &lt; 1ns |"), "{summary}");
    // The argument is one word, whatever it contains.
    let given = [("experiment", "$(touch x); `touch x`"), ("require", "p50 > 1ns")];
    let ended = step(&gate.sandbox, &given);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(!gate.sandbox.path().join("x").exists());
    // The uploaded folder is the one that was written.
    let action = yaml("action.yml");
    let last = action["runs"]["steps"].as_array().unwrap().last().unwrap();
    assert_eq!(last["with"]["path"], "${{ inputs.results }}");
    assert_eq!(last["if"], "always()");
}

#[test]
fn a_step_passes_regresses_breaks_a_limit_or_is_partial_with_junit_and_a_summary_of_that() {
    let told = |gate: &Gate, code: i32, given: &[(&str, &str)], failure: &str, row: &str| {
        // A busy machine may make a measurement invalid, which is then repeated.
        let given = [&[("experiment", "chat.toml")], given].concat();
        let ended = (0..5).map(|_| step(&gate.sandbox, &given)).find(|it| it.code != Some(12));
        let ended = ended.expect("five measurements in a row were invalid");
        assert_eq!(ended.code, Some(code), "{ended:?}");
        let junit = gate.read("wirebench-results/junit.xml");
        check_junit(&junit);
        assert!(junit.contains(failure), "{failure}: {junit}");
        let mark = if code == 0 { "✓" } else { "✗" };
        let summary = gate.read("GITHUB_STEP_SUMMARY");
        assert!(summary.starts_with(&format!("\n## {mark} wirebench: ")), "{summary}");
        let mark = format!("| {mark} |");
        let is_it = |line: &str| line.starts_with(&mark) && line.contains(row);
        assert!(summary.lines().any(is_it), "{mark} {row}: {summary}");
    };
    let gate = Gate::new("ws", CLOSED);
    let rounds = ("options", "--rounds\n6");
    let passed = "failures=\"0\" errors=\"0\"";
    told(&gate, 0, &[("require", "messages/s > 1/s"), rounds], passed, "messages/s &gt; 1/s");
    let base = gate.sandbox.path().join("base.json");
    std::fs::rename(gate.sandbox.path().join("wirebench-results/record.json"), base).unwrap();
    let limit = ("require", "p50 < 1ns");
    told(&gate, 10, &[limit], "type=\"not_met\"", "p50 &lt; 1ns");
    // The limit demands half of the baseline, but the value stays the same.
    let limit = ("require", "bytes/message <= baseline * 0.5");
    let given = [limit, rounds, ("baseline", "base.json")];
    told(&gate, 11, &given, "type=\"regression\"", "bytes/message &lt;= baseline");
    // The measurement is good, but some replies are wrong.
    let gate = Gate::new("oracle ws --corrupt 20%", "connections = 20\nduration = \"200ms\"");
    told(&gate, 13, &[("require", "messages/s > 1/s")], "type=\"partial\"", "complete");
}

#[test]
fn the_script_of_the_template_for_gitlab_runs_a_gate_and_leaves_the_files_that_it_names() {
    let template = yaml("gitlab.yml");
    let job = &template[".wirebench-gate"];
    let gate = Gate::new("ws", CLOSED);
    let variables = job["variables"].as_object().unwrap();
    let value = |value: &Value| value.as_str().unwrap().to_owned();
    let mut env: BTreeMap<String, String> =
        variables.iter().map(|(name, it)| (name.clone(), value(it))).collect();
    env.insert("EXPERIMENT".to_owned(), "chat.toml".to_owned());
    env.insert("REQUIRE".to_owned(), "messages/s > 1/s\np50 < 1ns".to_owned());
    env.insert("OPTIONS".to_owned(), "--seed\n7".to_owned());
    let lines = job["script"].as_array().unwrap().iter().map(value);
    let ended = shell(&gate.sandbox, "sh", &["-e"], &lines.collect::<Vec<_>>().join("\n"), env);
    check_written(&gate.sandbox, &ended, 10);
    let artifacts = &job["artifacts"];
    assert_eq!(artifacts["when"], "always");
    for path in [&artifacts["paths"][0], &artifacts["reports"]["junit"]] {
        assert!(gate.sandbox.path().join(path.as_str().unwrap()).exists(), "{path}");
    }
}

#[test]
fn a_generator_that_was_stopped_in_the_middle_fails_the_step_with_12() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "ws");
    // A script in its place on the PATH stops it for two seconds, once its messages flow.
    let bin = sandbox.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let program = env!("CARGO_BIN_EXE_wirebench");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = gate ] || exec '{program}' \"$@\"\n'{program}' \"$@\" 2> words & pid=$!\n\
         until grep -qE ' sent |error:' words; do sleep 0.05; done\n\
         kill -STOP $pid; sleep 2; kill -CONT $pid\nwait $pid; code=$?; cat words >&2; exit $code\n"
    );
    std::fs::write(bin.join("wirebench"), script).unwrap();
    std::fs::set_permissions(bin.join("wirebench"), Permissions::from_mode(0o755)).unwrap();
    let options = "--rate\n400/s\n--duration\n5s";
    let limits = "p90 < 60s\np99 < 60s";
    let given = [("experiment", &server.url[..]), ("require", limits), ("options", options)];
    let ended = step(&sandbox, &given);
    assert_eq!(ended.code, Some(12), "{ended:?}");
    let read = |file: &str| std::fs::read_to_string(sandbox.path().join(file)).unwrap();
    let junit = read("wirebench-results/junit.xml");
    check_junit(&junit);
    assert!(junit.contains("type=\"invalid\""), "{junit}");
    assert!(read("GITHUB_STEP_SUMMARY").contains("## ✗ wirebench: "));
}

/// Runs the steps of the action with these inputs, and checks that they pass the exit code on.
fn step(sandbox: &Sandbox, given: &[(&str, &str)]) -> Ended {
    let action = yaml("action.yml");
    let inputs = inputs(&action, given);
    let steps = action["runs"]["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["run"].is_string()).unwrap();
    assert_eq!(step["shell"], "bash");
    let script = step["run"].as_str().unwrap();
    assert!(
        !script.contains("${{"),
        "an expression in a script would run the text of an input as code"
    );
    let env = step["env"].as_object().unwrap();
    let value =
        |(name, it): (&String, &Value)| (name.clone(), evaluated(it.as_str().unwrap(), &inputs));
    let mut env: BTreeMap<String, String> = env.iter().map(value).collect();
    env.insert("GITHUB_ACTIONS".to_owned(), "true".to_owned());
    for file in ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"] {
        let path = sandbox.path().join(file);
        std::fs::write(&path, "").unwrap();
        env.insert(file.to_owned(), path.display().to_string());
    }
    let options = ["--noprofile", "--norc", "-eo", "pipefail"];
    let ended = shell(sandbox, "bash", &options, script, env);
    let output = std::fs::read_to_string(sandbox.path().join("GITHUB_OUTPUT")).unwrap();
    assert_eq!(output, format!("exit-code={}\n", ended.code.unwrap()));
    ended
}

/// Checks that the gate left its files and ended with `code`, or with 12 if the machine was too busy to tell.
fn check_written(sandbox: &Sandbox, ended: &Ended, code: i32) {
    assert!([Some(code), Some(12)].contains(&ended.code), "{ended:?}");
    let folder = sandbox.path().join("wirebench-results");
    let junit = std::fs::read_to_string(folder.join("junit.xml")).unwrap();
    check_junit(&junit);
    assert!(junit.contains("name=\"p50 &lt; 1ns\""), "{junit}");
    assert!(folder.join("record.json").exists() && folder.join("record.html").exists());
}

/// Runs a script with the built program on its PATH.
fn shell(
    sandbox: &Sandbox,
    shell: &str,
    options: &[&str],
    script: &str,
    env: BTreeMap<String, String>,
) -> Ended {
    let program = Path::new(env!("CARGO_BIN_EXE_wirebench")).parent().unwrap();
    let before = sandbox.path().join("bin");
    let mut command: Command = sandbox.other(shell, "");
    command.args(options).args(["-c", script]);
    command
        .envs(env)
        .env("PATH", format!("{}:{}:/usr/bin:/bin", before.display(), program.display()));
    Running::start(command).wait()
}

/// The inputs of the action: those that are given, and the defaults of the others.
fn inputs(action: &Value, given: &[(&str, &str)]) -> BTreeMap<String, String> {
    let known = action["inputs"].as_object().unwrap();
    assert!(given.iter().all(|(name, _)| known.contains_key(*name)), "{given:?}");
    let value = |(name, input): (&String, &Value)| {
        let given = given.iter().find(|(given, _)| given == name).map(|(_, value)| *value);
        let value = given.or_else(|| input["default"].as_str());
        (name.clone(), value.unwrap_or_else(|| panic!("{name} is required")).to_owned())
    };
    known.iter().map(value).collect()
}

/// The value of `${{ inputs.NAME }}`, the only expression that the action has.
fn evaluated(text: &str, inputs: &BTreeMap<String, String>) -> String {
    let name = text.strip_prefix("${{ inputs.").and_then(|rest| rest.strip_suffix(" }}"));
    inputs[name.unwrap_or_else(|| panic!("{text:?} is another expression"))].clone()
}

fn yaml(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci").join(file);
    serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}
