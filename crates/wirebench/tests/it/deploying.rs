//! The files of `deploy`: units that systemd accepts, and manifests that say what the agents rely on.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn the_units_of_agents_servers_and_watches_are_accepted_without_a_word() {
    let names = ["wirebench-agent@.service", "wirebench-serve@.service", "wirebench-watch.service"];
    for name in names {
        let text = std::fs::read_to_string(deploy("systemd").join(name)).unwrap();
        // systemd only accepts the unit if the program exists.
        let installed = concat!("ExecStart=", env!("CARGO_BIN_EXE_wirebench"), " ");
        assert!(text.contains("ExecStart=wirebench "), "{name}");
        let text = text.replace("ExecStart=wirebench ", installed);
        let folder = tempfile::tempdir().unwrap();
        let unit = folder.path().join(name);
        std::fs::write(&unit, text).unwrap();
        let Ok(output) = Command::new("systemd-analyze").arg("verify").arg(&unit).output() else {
            // Without systemd, nothing can check the unit.
            return;
        };
        let words = [output.stdout, output.stderr].concat();
        assert_eq!(String::from_utf8_lossy(&words), "", "{name}");
    }
}

#[test]
fn each_agent_of_a_job_has_its_own_name_key_and_node_and_none_comes_twice() {
    let job = manifests("kubernetes/agents.yaml").remove(0);
    let spec = &job["spec"];
    assert_eq!(spec["completionMode"], "Indexed");
    assert_eq!(spec["completions"], spec["parallelism"]);
    assert_eq!(spec["maxFailedIndexes"], spec["completions"]);
    assert_eq!(spec["backoffLimitPerIndex"], 0);
    assert_eq!(spec["podReplacementPolicy"], "Failed");
    let pod = &spec["template"]["spec"];
    assert_eq!(pod["restartPolicy"], "Never");
    assert_eq!(pod["automountServiceAccountToken"], false);
    let apart =
        &pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0];
    assert_eq!(apart["topologyKey"], "kubernetes.io/hostname");
    assert_eq!(apart["labelSelector"]["matchLabels"], spec["template"]["metadata"]["labels"]);
    for container in [&pod["initContainers"][0], &pod["containers"][0]] {
        assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
        // Without it, the path below would be taken literally.
        assert_eq!(container["env"][0]["name"], "JOB_COMPLETION_INDEX");
    }
    let own = &pod["initContainers"][0]["volumeMounts"][0];
    assert_eq!(own["subPathExpr"], "a$(JOB_COMPLETION_INDEX).join");
    let agent = &pod["containers"][0];
    assert_eq!(agent["resources"]["requests"], agent["resources"]["limits"]);
    let sees_secrets =
        agent["volumeMounts"].as_array().unwrap().iter().any(|mount| mount["name"] == "secrets");
    assert!(!sees_secrets, "it sees no join file but its own");
}

#[test]
fn the_server_is_reached_by_agents_and_controllers_alone_and_shares_no_node_with_agents() {
    let all = manifests("kubernetes/nats.yaml");
    let of = |kind: &str| all.iter().find(|one| one["kind"] == kind).unwrap();
    let policy = &of("NetworkPolicy")["spec"];
    let server = &of("StatefulSet")["spec"]["template"];
    assert_eq!(policy["podSelector"]["matchLabels"], server["metadata"]["labels"]);
    assert_eq!(policy["policyTypes"], serde_json::json!(["Ingress"]));
    let from = &policy["ingress"][0]["from"][0]["podSelector"]["matchExpressions"][0];
    assert_eq!(from["values"], serde_json::json!(["wirebench-agent", "wirebench-controller"]));
    let apart = &server["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        [0];
    assert_eq!(apart["labelSelector"]["matchLabels"]["app"], "wirebench-agent");
}

#[test]
fn the_configuration_of_the_server_keeps_what_it_acknowledged_and_notices_who_stands_still() {
    let text = std::fs::read_to_string(deploy("nats/nats.conf")).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    for line in [
        "sync_interval: \"always\"",
        "ping_interval: \"1s\"",
        "ping_max: 2",
        "authorization { include \"users.conf\" }",
        "cert_file: \"server.pem\"",
        "key_file: \"server-key.pem\"",
    ] {
        assert!(lines.contains(&line), "{line}");
    }
}

fn manifests(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(deploy(path)).unwrap();
    text.split("\n---\n").map(|one| serde_saphyr::from_str(one).unwrap()).collect()
}

fn deploy(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(path)
}
