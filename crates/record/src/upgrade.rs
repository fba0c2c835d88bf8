//! Upgrades old records: those of version 1, whose plan described workloads in a format of its own and which at first
//! had no embedded experiment, and results that were medians of blocks, which are computed again from the blocks.
//!
//! Version 1 is upgraded from JSON to JSON, so that no type of an older format has to be kept. A record with too little
//! in it to be repeated gets an experiment whose `unknown` names the missing fields; its plan shows what is known and
//! leaves the rest empty.

use crate::{RunRecord, added, results};
use serde_json::{Value, json};
use spec::Endpoint;

/// Replaces medians of blocks with numbers of all blocks together, where the blocks have enough for them.
pub(crate) fn pool(record: &mut RunRecord) {
    let all = results(&record.plan, &record.blocks);
    for old in &mut record.results {
        let Some(new) = all.iter().find(|new| new.workload == old.workload).cloned() else {
            continue;
        };
        old.pooled = new.pooled.or(std::mem::take(&mut old.pooled));
        old.round_trip = new.round_trip.or_else(|| old.round_trip.take());
        old.response = new.response.or_else(|| old.response.take());
        old.to_baseline = match (new.to_baseline, old.to_baseline.take()) {
            (Some(new), Some(old)) => Some(new.or(old)),
            (new, old) => new.or(old),
        };
    }
    for new in added(&record.plan, &record.blocks) {
        let old = record
            .added
            .iter_mut()
            .find(|old| (old.workload, old.base) == (new.workload, new.base));
        let Some(old) = old else { continue };
        old.round_trip_p50_ns = new.round_trip_p50_ns.or(old.round_trip_p50_ns);
        old.cpu_us_per_message = new.cpu_us_per_message.or(old.cpu_us_per_message);
    }
}

/// Turns a record of version 1 into one of version 2.
pub(crate) fn upgrade(record: &mut Value) {
    if !record.is_object() {
        return;
    }
    let mut unknown = Vec::new();
    match record["kind"].as_str() {
        Some("run") => {}
        Some("sweep") => unknown.push("axis".to_owned()),
        _ => unknown.push("workloads[].server".to_owned()),
    }
    let old = record["plan"]["workloads"].as_array().cloned().unwrap_or_default();
    let asked: Vec<Value> =
        old.iter().enumerate().map(|(index, old)| workload(index, old, &mut unknown)).collect();
    let embedded = record["spec"]["workloads"].as_array().cloned().unwrap_or_default();
    if record.get("spec").is_none() {
        record["spec"] = json!({
            "version": 1,
            "workloads": if unknown.is_empty() { &asked[..] } else { &[] },
            "rounds": 1,
            "order": "as_listed",
            "seed": record["plan"]["seed"],
            "jit_warm_up_max": "10s",
            "unknown": unknown,
        });
    }
    // In a sweep the embedded workloads are lines, and those of the plan are steps.
    let is_same = embedded.len() == asked.len();
    let asked = if is_same { embedded } else { asked };
    let planned: Vec<Value> = old.into_iter().zip(asked).map(planned).collect();
    if !planned.is_empty() {
        record["plan"]["workloads"] = planned.into();
    }
}

/// The workload of a new plan: what was asked, and what the old plan says was found.
fn planned((old, asked): (Value, Value)) -> Value {
    let mut planned = json!({ "spec": asked, "size_bytes": old["message"]["size_bytes"] });
    for found in ["target", "transport", "source_addresses", "pinning", "server", "client"] {
        if let Some(value) = old.get(found) {
            planned[found] = value.clone();
        }
    }
    planned
}

/// The description of a workload. Its server keeps its address; the options of a server that we started are unknown.
fn workload(index: usize, old: &Value, unknown: &mut Vec<String>) -> Value {
    let mut lacks = |field: &str| unknown.push(format!("workloads[{index}].{field}"));
    if old["transport"].as_str().is_some_and(|transport| transport.starts_with("game")) {
        lacks("bots");
    }
    let time_outs = &old["time_outs"];
    let load = load(old, &mut lacks);
    let content = content(&old["message"], &mut lacks);
    let headers = old["header_names"].as_array().into_iter().flatten();
    json!({
        "name": old["name"],
        "server": server(old),
        "client": old["client"].get("name").map(|name| json!({ "name": name })),
        "load": load,
        "connect_rate": old["connects_per_s"].as_f64().map(per_second),
        "closing": if old["closing_awaited"] == Value::Bool(false) { "at_once" } else { "complete" },
        "message": { "text": old["message"]["kind"] == "text", "content": content },
        "expect": match old["verify"].as_str() {
            Some("nothing") => "anything",
            Some("sequence") => "in_sequence",
            _ => "echo",
        },
        "phases": {
            "warm_up": nanos(&old["warm_up_ns"]),
            "stop": stop(&old["stop"]),
            "drain": nanos(&old["drain_ns"]),
        },
        "timeouts": {
            "resolve": nanos(&time_outs["resolve_ns"]),
            "connect": nanos(&time_outs["connect_ns"]),
            "handshake": nanos(&time_outs["handshake_ns"]),
            "reply": nanos(&time_outs["reply_ns"]),
            "close": nanos(&time_outs["close_ns"]),
        },
        "threads": count(&old["threads"]),
        "sources": old.get("source_addresses").cloned().unwrap_or_else(|| json!([])),
        "busy_poll": nanos(&old["busy_poll_ns"]),
        "http": {
            "method": if content["from"] == "nothing" { "GET" } else { "POST" },
            "headers": headers.map(|name| json!({ "name": name })).collect::<Vec<_>>(),
        },
        "subprotocols": old.get("subprotocols").cloned().unwrap_or_else(|| json!([])),
        "deflate": old["deflate"],
        "tls": tls(&old["tls"], &mut lacks),
        "seed": old["seed"],
        "baseline": old["baseline"],
    })
}

fn server(old: &Value) -> Value {
    let (scheme, target) = (&old["transport"], &old["target"]);
    let is_url = target.as_str().is_some_and(|target| target.parse::<Endpoint>().is_ok());
    let is_scheme = scheme.as_str().is_some_and(|scheme| scheme.parse::<spec::Scheme>().is_ok());
    match old["server"].get("name") {
        Some(name) => json!({ "subject": { "name": name, "scheme": scheme } }),
        None if is_url => json!({ "given": target }),
        None if is_scheme => json!({ "embedded": { "scheme": scheme } }),
        // An imported record: the scheme names the program that measured.
        None => json!({ "subject": { "name": scheme, "scheme": "tcp" } }),
    }
}

fn load(old: &Value, lacks: &mut dyn FnMut(&str)) -> Value {
    let connections = count(&old["connections"]);
    let in_flight = count(&old["in_flight"]);
    let arrival = &old["arrival"];
    let (spacing, in_flight_max) = (&arrival["spacing"], &old["in_flight_max"]);
    let bound = in_flight_max.as_u64().unwrap_or_else(|| u32::MAX.into());
    let is_long = old["lifetime"]["round_trips"].is_null();
    let round_trips = count(&old["lifetime"]["round_trips"]);
    let rate = |field: &str| arrival[field].as_f64().map(per_second);
    match arrival["loop"].as_str().unwrap_or("closed") {
        "closed" if is_long => json!({
            "kind": "closed", "connections": connections, "in_flight": in_flight, "in_flight_max": in_flight_max,
        }),
        "closed" => json!({
            "kind": "clients", "concurrency": connections, "round_trips": round_trips, "in_flight": in_flight,
            "in_flight_max": in_flight_max,
        }),
        "open" => json!({
            "kind": "open", "connections": connections, "rate": rate("messages_per_s"), "spacing": spacing,
            "in_flight_max": bound,
        }),
        "bots" => json!({
            "kind": "bots", "bots": connections, "every": nanos(&arrival["every_ns"]), "spacing": spacing,
            "in_flight_max": bound,
        }),
        "closed_bots" => json!({
            "kind": "closed_bots", "bots": connections, "think": nanos(&arrival["think_ns"]),
        }),
        "partly_open" => json!({
            "kind": "sessions", "connections": connections, "rate": rate("sessions_per_s"), "spacing": spacing,
            "messages_each": round_trips, "think": nanos(&arrival["think_ns"]),
        }),
        _ => {
            lacks("load");
            json!({ "kind": "closed", "connections": connections, "in_flight": in_flight })
        }
    }
}

/// The content of messages. The old record lacks the bytes of a given payload.
fn content(message: &Value, lacks: &mut dyn FnMut(&str)) -> Value {
    let kind = &message["payload_kind"];
    match message["source"].as_str().unwrap_or_default() {
        "none" => json!({ "from": "nothing" }),
        source if source.starts_with(GAME_EVENT) => {
            let delay = source.trim_start_matches(GAME_EVENT).trim_start_matches(", kept for ");
            let delay = delay.strip_suffix(" ms").and_then(|delay| delay.parse::<i32>().ok());
            json!({ "from": "game_event", "delay_ms": delay.unwrap_or(0) })
        }
        source if kind.is_null() => {
            lacks("message.content");
            let source = source.strip_prefix("--payload ").unwrap_or(source);
            json!({ "from": "given", "source": source, "bytes": "" })
        }
        _ => json!({
            "from": "generated", "kind": kind, "size": format!("{}B", message["size_bytes"]), "varied": false,
        }),
    }
}

fn stop(old: &Value) -> Value {
    match (&old["duration_ns"], &old["messages"]) {
        (Value::Null, Value::Null) => json!({ "clients": count(&old["clients"]) }),
        (Value::Null, messages) => json!({ "messages": count(messages) }),
        (duration, _) => json!({ "after": nanos(duration) }),
    }
}

/// The TLS settings. The old record lacks the files of a client certificate and of trusted authorities.
fn tls(old: &Value, lacks: &mut dyn FnMut(&str)) -> Value {
    if old.is_null() {
        return Value::Null;
    }
    let is_verified = old["verified"] == Value::Bool(true);
    let has_identity = old["client_certificate"] == Value::Bool(true);
    if has_identity {
        lacks("tls.identity");
    }
    if is_verified {
        lacks("tls.trust");
    }
    let identity = json!({ "certificate": { "file": "", "text": "" }, "key_file": "" });
    json!({
        "versions": old["versions"], "suites": old["suites"], "alpn": old["alpn"],
        "resumption": old["resumption"] == "tickets",
        "trust": if is_verified { json!({ "authorities": [] }) } else { json!("anyone") },
        "identity": has_identity.then_some(identity),
    })
}

/// A count of at least one.
fn count(old: &Value) -> u64 {
    old.as_u64().unwrap_or(1).max(1)
}

/// A time as `5000ns`; zero where the old record has none.
fn nanos(old: &Value) -> String {
    format!("{}ns", old.as_u64().unwrap_or(0))
}

/// A rate to nine digits, the precision of rates.
fn per_second(rate: f64) -> String {
    let digits = rate.log10().floor().clamp(-1.0, 8.0);
    let scale = 10_f64.powf(8.0 - digits);
    format!("{}/s", ((rate * scale).round() / scale).max(1e-9))
}

const GAME_EVENT: &str = "an event of the load-test game";
