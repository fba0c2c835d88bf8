//! `--metrics`: a run that is scraped while it goes on.

use crate::harness::{Running, Sandbox, Server, say_skipped};
use crate::peers::Stream;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn a_run_is_scraped_while_it_goes_on_and_ends_as_it_would_have() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "ws");
    let line = format!("run {} --rate 200/s -c 2 -d 60s -o -", server.url);
    let mut running = Running::start(sandbox.command(&format!("{line} --metrics 127.0.0.1:0")));
    let address = running.wait_for_word("metrics: http://");
    let address = address.trim().rsplit_once("http://").unwrap().1;
    let address = address.strip_suffix("/metrics").unwrap();
    assert!(asked(address, "/other").starts_with("HTTP/1.1 404 Not Found\r\n"));
    // A silent client keeps nobody else out.
    let _silent = Stream::connect(address).unwrap();
    let text = loop {
        let answer = asked(address, "/metrics");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
        if number(body, "outcome=\"ok\"") > Some(20.0) {
            break body.to_owned();
        }
    };
    check(&text);
    // The buckets, the count and the messages are of one instant.
    let ok = number(&text, "outcome=\"ok\"").unwrap();
    let of = |name: &str| number(&text, name).unwrap();
    assert_eq!(of("le=\"+Inf\""), of("wirebench_time_seconds_count"));
    assert!(of("wirebench_time_seconds_count") >= ok, "{text}");
    assert!(of("wirebench_time_seconds_sum") > 0.0, "{text}");
    assert_eq!(of("wirebench_due_per_second"), 200.0);
    assert_eq!((of("wirebench_block "), of("wirebench_blocks ")), (1.0, 1.0));
    dashboard(&text);
    running.send(Signal::INT);
    running.wait().check(130, &[]);
}

/// From text, Prometheus would take the buckets that we chose instead of a native histogram.
#[cfg(feature = "otlp")]
#[test]
fn prometheus_itself_takes_native_histograms() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "ws");
    let line = format!("run {} --rate 200/s -c 2 -d 60s -o -", server.url);
    let mut running = Running::start(sandbox.command(&format!("{line} --metrics 127.0.0.1:0")));
    let address = running.wait_for_word("metrics: http://");
    let address = address.trim().rsplit_once("http://").unwrap().1;
    let target = address.strip_suffix("/metrics").unwrap();
    let config = format!(
        "global: {{scrape_interval: 200ms, scrape_timeout: 200ms}}\nscrape_configs:\n- job_name: ours\n  \
         static_configs: [{{targets: ['{target}']}}]\n"
    );
    std::fs::write(sandbox.path().join("prometheus.yml"), config).unwrap();
    let prometheus = sandbox.other(
        "prometheus",
        "--config.file=prometheus.yml --storage.tsdb.path=data --web.listen-address=127.0.0.1:0 \
         --enable-feature=native-histograms",
    );
    if Command::new("prometheus").arg("--version").output().is_err() {
        return say_skipped("prometheus is not installed, so that no native histogram is scraped");
    }
    let mut prometheus = Running::start(prometheus);
    let listens = prometheus.wait_for_word("msg=\"Listening on\"");
    let address = listens.trim().rsplit_once("address=").unwrap().1;
    let result = |query: &str| -> Option<serde_json::Value> {
        let answer = asked(address, &format!("/api/v1/query?query={query}"));
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        // Until it is ready, it says so in plain text.
        let body: serde_json::Value = serde_json::from_str(body).ok()?;
        Some(body["data"]["result"].get(0)?.clone())
    };
    let times = loop {
        let times = result("wirebench_time_seconds").unwrap_or_default();
        let count = times["histogram"][1]["count"].as_str().map(|count| count.parse::<f64>());
        if count.is_some_and(|count| count.unwrap() > 50.0) {
            break times["histogram"][1].clone();
        }
    };
    let number = |text: &serde_json::Value| text.as_str().unwrap().parse::<f64>().unwrap();
    let buckets = times["buckets"].as_array().unwrap();
    let sum: f64 = buckets.iter().map(|bucket| number(&bucket[3])).sum();
    assert_eq!(number(&times["count"]), sum, "{times}");
    // Each is 9 % wide, and the mean is within them.
    for bucket in buckets {
        let ratio = number(&bucket[2]) / number(&bucket[1]);
        assert!((ratio - 2_f64.powf(0.125)).abs() < 1e-9, "{bucket}");
    }
    let mean = number(&times["sum"]) / sum;
    let ends = number(&buckets[0][1])..number(&buckets[buckets.len() - 1][2]);
    assert!(ends.contains(&mean), "{mean} {ends:?}");
    // The values of one scrape are of one instant.
    let ok = "wirebench_messages_total%7Boutcome%3D%22ok%22%7D";
    let difference = format!("histogram_count(wirebench_time_seconds)-on(workload){ok}");
    // A scrape that came too late leaves no value until the next one.
    let found = std::iter::repeat_with(|| result(&difference)).flatten().next();
    assert_eq!(found.unwrap()["value"][1], "0");
    prometheus.send(Signal::TERM);
    running.send(Signal::INT);
    running.wait().check(130, &[]);
}

#[test]
fn an_address_that_is_taken_is_named_before_anything_is_measured() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, "tcp");
    let taken = server.url.trim_start_matches("tcp://").trim_end_matches('/');
    let ended = sandbox.run(&format!("run {} -n 5 --metrics {taken}", server.url));
    ended.check(2, &["--metrics: cannot listen at", "name another one, as in 127.0.0.1:0"]);
    ended.check_no_result();
    sandbox.run("run tcp://127.0.0.1:9 --metrics 9464").check(2, &["--metrics"]);
}

/// Checks that every query of the dashboard for Grafana names existing metrics.
fn dashboard(text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/grafana/wirebench.json");
    let dashboard: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let known: BTreeSet<&str> =
        text.lines().filter_map(|line| line.split(['{', ' ']).next()).collect();
    let mut queries = 0;
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            let query = target["expr"].as_str().unwrap();
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let names = query.split(|letter| !is_name(letter));
            let names: Vec<&str> = names.filter(|name| name.starts_with("wirebench_")).collect();
            assert!(!names.is_empty(), "{query}");
            assert!(names.iter().all(|name| known.contains(name)), "{query} of {known:?}");
            queries += 1;
        }
    }
    assert!(queries >= 5, "{queries}");
}

/// The value of the first line that has `what` in it.
fn number(text: &str, what: &str) -> Option<f64> {
    let line = text.lines().find(|line| !line.starts_with('#') && line.contains(what))?;
    line.rsplit_once(' ')?.1.parse().ok()
}

fn asked(address: &str, path: &str) -> String {
    let mut stream = Stream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").unwrap();
    // With HTTP/1.0 the response is not chunked, and ends with the connection.
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Checks the text with Prometheus' own tool, if that is installed.
fn check(text: &str) {
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut running) = promtool.stdout(Stdio::piped()).spawn() else {
        return say_skipped(
            "promtool is not installed, so that metrics are not read by Prometheus",
        );
    };
    running.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}\n{text}");
}
