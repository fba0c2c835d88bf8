//! Written and read back, whatever the file has been through.

use crate::example;
use record::{Kind, ReadError, RunRecord};
use serde_json::{Value, json};

#[test]
fn a_full_record_reads_back_as_it_was() {
    let record = example::record();
    assert_eq!(RunRecord::from_json(&record.to_json()).unwrap(), record);
}

#[test]
fn a_record_of_the_first_version_is_read_for_ever_and_nothing_of_it_is_lost() {
    // Written when the format was first published; never to be written anew.
    let json = include_str!("version_1.json");
    let read = RunRecord::from_json(json).unwrap();
    let mut then: Value = serde_json::from_str(json).unwrap();
    let now = serde_json::to_value(&read).unwrap();
    // Since version 2 the `spec` of a workload has its settings.
    then["schema_version"] = json!(2);
    for old in then["plan"]["workloads"].as_array_mut().unwrap() {
        let found = ["target", "transport", "source_addresses", "pinning"];
        old.as_object_mut().unwrap().retain(|key, _| found.contains(&&key[..]));
    }
    // Results were medians of blocks, and are worked out again from the blocks (`pooling`).
    assert!(then.as_object_mut().unwrap().remove("results").is_some());
    assert_eq!(read.results.len(), 2);
    assert!(read.results.iter().all(|result| result.pooled.messages_per_s.is_some()));
    assert_contains(&now, &then, "");
    let asked = json!({
        "name": "ws",
        "server": { "given": "ws://127.0.0.1:8080/echo" },
        "load": {
            "kind": "clients", "concurrency": 50, "round_trips": 5, "in_flight": 1, "in_flight_max": 40,
        },
        "connect_rate": "500/s",
        "message": { "text": false, "content": { "from": "given", "source": "random bytes of seed 7" } },
        "expect": "echo",
        "phases": { "warm_up": "200ms", "stop": { "after": "1s" }, "drain": "1s" },
        "timeouts": { "resolve": "1ns", "connect": "2ns", "handshake": "3ns", "reply": "4ns", "close": "5ns" },
        "threads": 1,
        "http": { "headers": [{ "name": "Authorization" }] },
        "subprotocols": ["chat"],
        "seed": 7,
    });
    let workload = &now["plan"]["workloads"][1];
    assert_contains(&workload["spec"], &asked, "spec");
    assert_eq!(workload["size_bytes"], 64);
}

#[test]
fn what_is_not_known_is_ignored() {
    let mut value = serde_json::to_value(example::record()).unwrap();
    value["of_a_later_version"] = json!({"p50_parsecs": 3});
    value["blocks"][0]["counts"]["lost_in_space"] = json!(1);
    assert_eq!(read(&value).unwrap(), example::record());
    value["kind"] = json!("voyage");
    assert_eq!(read(&value).unwrap().kind, Kind::Other);
}

#[test]
fn a_newer_version_is_refused_whatever_its_shape() {
    let error = read(&json!({"schema_version": 3, "everything": "else"})).unwrap_err();
    assert!(matches!(error, ReadError::Newer { version: 3 }));
    assert_eq!(
        error.to_string(),
        "the record has schema version 3, but this program reads up to 2: use a newer one"
    );
}

#[test]
fn a_sweep_that_points_outside_of_its_record_is_refused() {
    for (at, message) in [
        ("line", "line 2 is named, but the record has 2 (counted from 0)"),
        ("workload", "workload 2 is named, but the plan has 2 (counted from 0)"),
    ] {
        let mut value = serde_json::to_value(example::record()).unwrap();
        value["sweep"]["steps"][0][at] = json!(2);
        assert_eq!(read(&value).unwrap_err().to_string(), message);
    }
    let mut value = serde_json::to_value(example::record()).unwrap();
    value["sweep"]["steps"][0]["blocks"] = json!([0, 3]);
    assert!(matches!(
        read(&value),
        Err(ReadError::NoSuchPart { what: "block", index: 3, count: 3 })
    ));
}

#[test]
fn what_is_not_a_record_says_where() {
    let check = |json: &str, expected: &str| {
        assert_eq!(RunRecord::from_json(json).unwrap_err().to_string(), expected, "{json}");
    };
    check("", "not a record: EOF while parsing a value at line 1 column 0");
    check("{}", "not a record: missing field `schema_version` at line 1 column 2");
    check("{\n  \"schema_version\": 1,,", "not a record: key must be a string at line 2 column 23");
    check("{\"schema_version\": 2}", "not a record: missing field `tool` at line 1 column 21");
    check(
        "{\"schema_version\": -1}",
        "not a record: invalid value: integer `-1`, expected u32 at line 1 column 21",
    );
    check("[1, 2]", "not a record: trailing characters at line 1 column 5");
}

#[test]
fn a_record_cut_anywhere_is_refused() {
    let json = example::record().to_json();
    for len in (0..json.trim_end().len()).step_by(97) {
        let error = RunRecord::from_json(&json[..len]).unwrap_err();
        assert!(matches!(error, ReadError::Invalid(_)), "cut at {len}: {error}");
    }
}

#[test]
fn indexes_must_point_into_the_plan() {
    for at in [
        "/plan/rounds/1/0",
        "/plan/baseline",
        "/blocks/2/workload",
        "/results/0/workload",
        "/plan/layers/0/workload",
        "/plan/layers/0/base",
        "/added/0/workload",
        "/added/0/base",
    ] {
        let mut value = serde_json::to_value(example::record()).unwrap();
        *value.pointer_mut(at).unwrap() = json!(2);
        let error = read(&value).unwrap_err();
        assert_eq!(
            error.to_string(),
            "workload 2 is named, but the plan has 2 (counted from 0)",
            "{at}"
        );
    }
}

fn read(value: &Value) -> Result<RunRecord, ReadError> {
    RunRecord::from_json(&value.to_string())
}

/// Checks that `now` has everything that `then` has.
fn assert_contains(now: &Value, then: &Value, at: &str) {
    match (now, then) {
        (Value::Object(now), Value::Object(then)) => {
            for (key, then) in then {
                assert!(now.contains_key(key), "{at}/{key}");
                assert_contains(&now[key], then, &format!("{at}/{key}"));
            }
        }
        (Value::Array(now), Value::Array(then)) => {
            assert_eq!(now.len(), then.len(), "{at}");
            now.iter().zip(then).for_each(|(now, then)| assert_contains(now, then, at));
        }
        _ => assert_eq!(now, then, "{at}"),
    }
}
