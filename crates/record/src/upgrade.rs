//! Records of before: the experiment that they did not embed, worked out of the plan that they had.
//!
//! One function from JSON to JSON, so that no type of an older format has to be kept. A record that says too little to
//! be repeated gets an experiment whose `unknown` names the fields that it lacks.

use serde_json::{Value, json};

/// The `spec` of a record that has none.
pub(crate) fn spec_of(record: &Value) -> Value {
    let plan = &record["plan"];
    let mut unknown = Vec::new();
    match record["kind"].as_str() {
        Some("run") => {}
        Some("sweep") => unknown.push("axis".to_owned()),
        _ => unknown.push("workloads[].server".to_owned()),
    }
    let workloads = plan["workloads"].as_array().map_or(&[][..], Vec::as_slice);
    let workloads: Vec<Value> = match unknown.is_empty() {
        true => workloads
            .iter()
            .enumerate()
            .map(|(index, old)| workload(index, old, &mut unknown))
            .collect(),
        false => Vec::new(),
    };
    json!({
        "version": 1,
        "workloads": if unknown.is_empty() { workloads } else { Vec::new() },
        "rounds": 1,
        "order": "as_listed",
        "seed": plan["seed"],
        "jit_warm_up_max": "10s",
        "unknown": unknown,
    })
}

/// A workload of a single run, whose server was the user's.
fn workload(index: usize, old: &Value, unknown: &mut Vec<String>) -> Value {
    let mut lacks = |field: &str| unknown.push(format!("workloads[{index}].{field}"));
    if old["transport"].as_str().is_some_and(|transport| transport.starts_with("game")) {
        lacks("bots");
    }
    let time_outs = &old["time_outs"];
    let load = load(old);
    if load.is_null() {
        lacks("load");
    }
    let content = content(&old["message"]);
    if content.is_null() {
        lacks("message.content");
    }
    let headers = old["header_names"].as_array().into_iter().flatten();
    json!({
        "name": old["name"],
        "server": { "given": old["target"] },
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
        "threads": old["threads"],
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

/// The load; `null` where the old one cannot be told.
fn load(old: &Value) -> Value {
    let connections = &old["connections"];
    let arrival = &old["arrival"];
    let (spacing, in_flight_max) = (&arrival["spacing"], &old["in_flight_max"]);
    let round_trips = &old["lifetime"]["round_trips"];
    let rate = |field: &str| arrival[field].as_f64().map(per_second);
    let nothing = arrival.is_null();
    match arrival["loop"].as_str() {
        Some("closed") if round_trips.is_null() => closed(old),
        None if nothing && round_trips.is_null() => closed(old),
        Some("closed") | None => json!({
            "kind": "clients", "concurrency": connections, "round_trips": round_trips,
            "in_flight": old["in_flight"], "in_flight_max": in_flight_max,
        }),
        Some("open") => json!({
            "kind": "open", "connections": connections, "rate": rate("messages_per_s"), "spacing": spacing,
            "in_flight_max": in_flight_max,
        }),
        Some("bots") => json!({
            "kind": "bots", "bots": connections, "every": nanos(&arrival["every_ns"]), "spacing": spacing,
            "in_flight_max": in_flight_max,
        }),
        Some("closed_bots") => json!({
            "kind": "closed_bots", "bots": connections, "think": nanos(&arrival["think_ns"]),
        }),
        Some("partly_open") => json!({
            "kind": "sessions", "connections": connections, "rate": rate("sessions_per_s"), "spacing": spacing,
            "messages_each": round_trips, "think": nanos(&arrival["think_ns"]),
        }),
        Some(_) => Value::Null,
    }
}

fn closed(old: &Value) -> Value {
    json!({
        "kind": "closed", "connections": old["connections"], "in_flight": old["in_flight"],
        "in_flight_max": old["in_flight_max"],
    })
}

/// The content of messages; `null` for a payload that was given, which the old record does not hold.
fn content(message: &Value) -> Value {
    let kind = &message["payload_kind"];
    match message["source"].as_str() {
        Some("none") => json!({ "from": "nothing" }),
        _ if kind.is_null() => Value::Null,
        _ => json!({
            "from": "generated", "kind": kind, "size": format!("{}B", message["size_bytes"]), "varied": false,
        }),
    }
}

fn stop(old: &Value) -> Value {
    match (&old["duration_ns"], &old["messages"]) {
        (Value::Null, Value::Null) => json!({ "clients": old["clients"] }),
        (Value::Null, messages) => json!({ "messages": messages }),
        (duration, _) => json!({ "after": nanos(duration) }),
    }
}

fn tls(old: &Value, lacks: &mut dyn FnMut(&str)) -> Value {
    if old.is_null() {
        return Value::Null;
    }
    if old["client_certificate"] == Value::Bool(true) {
        lacks("tls.identity");
    }
    if old["verified"] == Value::Bool(true) {
        lacks("tls.trust");
    }
    json!({
        "versions": old["versions"], "suites": old["suites"], "alpn": old["alpn"],
        "resumption": old["resumption"] == "tickets", "trust": "anyone",
    })
}

/// `5000ns`; no time where the old record has none.
fn nanos(old: &Value) -> String {
    format!("{}ns", old.as_u64().unwrap_or(0))
}

fn per_second(rate: f64) -> String {
    format!("{rate}/s")
}
