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
    let action = yaml("action.yml");
    let gate = Gate::new("ws", CLOSED);
    let run = |given: &[(&str, &str)]| {
        let inputs = inputs(&action, given);
        let steps = action["runs"]["steps"].as_array().unwrap();
        let of_step = |step: &Value| -> Option<(String, BTreeMap<String, String>)> {
            let script = step["run"].as_str()?;
            assert_eq!(step["shell"], "bash");
            let env = step["env"].as_object().unwrap();
            let value = |value: &Value| evaluated(value.as_str().unwrap(), &inputs);
            let env = env.iter().map(|(name, it)| (name.clone(), value(it)));
            Some((script.to_owned(), env.collect()))
        };
        let (script, mut env) = steps.iter().find_map(of_step).unwrap();
        env.insert("GITHUB_ACTIONS".to_owned(), "true".to_owned());
        for file in ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"] {
            let path = gate.sandbox.path().join(file);
            std::fs::write(&path, "").unwrap();
            env.insert(file.to_owned(), path.display().to_string());
        }
        assert!(
            !script.contains("${{"),
            "an expression in a script is code of whoever wrote the input"
        );
        let ended = shell(
            &gate.sandbox,
            "bash",
            &["--noprofile", "--norc", "-eo", "pipefail"],
            &script,
            env,
        );
        let output = std::fs::read_to_string(gate.sandbox.path().join("GITHUB_OUTPUT")).unwrap();
        assert_eq!(output, format!("exit-code={}\n", ended.code.unwrap()));
        ended
    };
    let limits = "messages/s > 1/s\np50 < 1ns\n";
    let ended = run(&[("experiment", "chat.toml"), ("require", limits), ("options", "--seed\n7")]);
    check_written(&gate.sandbox, &ended, 10);
    let summary = std::fs::read_to_string(gate.sandbox.path().join("GITHUB_STEP_SUMMARY")).unwrap();
    assert!(summary.contains("| p50 &lt; 1ns |"), "{summary}");
    // The argument is one word, whatever it has in it.
    let ended = run(&[("experiment", "$(touch x); `touch x`"), ("require", "p50 > 1ns")]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(!gate.sandbox.path().join("x").exists());
    // The uploaded folder is the one that was written.
    let steps = action["runs"]["steps"].as_array().unwrap();
    assert_eq!(steps.last().unwrap()["with"]["path"], "${{ inputs.results }}");
    assert_eq!(steps.last().unwrap()["if"], "always()");
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
    let action = yaml("action.yml");
    let step = &action["runs"]["steps"][0];
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "ws");
    // In its place on the PATH it is stopped for two seconds, once its messages flow.
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
    let inputs = inputs(&action, &given);
    let value =
        |(name, it): (&String, &Value)| (name.clone(), evaluated(it.as_str().unwrap(), &inputs));
    let mut env: BTreeMap<String, String> =
        step["env"].as_object().unwrap().iter().map(value).collect();
    for file in ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"] {
        env.insert(file.to_owned(), sandbox.path().join(file).display().to_string());
    }
    let script = step["run"].as_str().unwrap();
    let ended = shell(&sandbox, "bash", &["-eo", "pipefail"], script, env);
    assert_eq!(ended.code, Some(12), "{ended:?}");
    let read = |file: &str| std::fs::read_to_string(sandbox.path().join(file)).unwrap();
    let junit = read("wirebench-results/junit.xml");
    check_junit(&junit);
    assert!(junit.contains("type=\"invalid\""), "{junit}");
    assert!(read("GITHUB_STEP_SUMMARY").contains("## ✗ wirebench: "));
    assert_eq!(read("GITHUB_OUTPUT"), "exit-code=12\n");
}

/// That the gate ended with `code`, unless the machine was so busy that nothing could be said, and left its files.
fn check_written(sandbox: &Sandbox, ended: &Ended, code: i32) {
    assert!([Some(code), Some(12)].contains(&ended.code), "{ended:?}");
    let folder = sandbox.path().join("wirebench-results");
    let junit = std::fs::read_to_string(folder.join("junit.xml")).unwrap();
    check_junit(&junit);
    assert!(junit.contains("name=\"p50 &lt; 1ns\""), "{junit}");
    assert!(folder.join("record.json").exists() && folder.join("record.html").exists());
}

/// Runs a script with the program that was built on its PATH.
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
