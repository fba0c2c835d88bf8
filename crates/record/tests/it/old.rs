//! Records that were written before experiments were embedded: one of each kind, as they were.

use record::{Kind, RunRecord};
use spec::{Content, Expect, Header, Lifetime, Load, Server, Stop};
use std::num::NonZeroU32;
use units::Nanos;

macro_rules! old {
    ($($name:literal),*) => { [$(($name, include_str!(concat!("old/", $name, ".json")))),*] };
}

const OLD: [(&str, &str); 11] = old![
    "imported",
    "lab",
    "ladder",
    "run-bots",
    "run-clients",
    "run-closed",
    "run-closed-bots",
    "run-game",
    "run-open",
    "run-sessions",
    "sweep"
];

fn read(name: &str) -> RunRecord {
    let (_, json) = OLD.iter().find(|(known, _)| *known == name).expect("it is a fixture");
    RunRecord::from_json(json).expect("it is a record")
}

#[test]
fn every_kind_of_old_record_is_read_and_written_again_as_it_was() {
    for (name, json) in OLD {
        let record = RunRecord::from_json(json).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(RunRecord::from_json(&record.to_json()).unwrap(), record, "{name}");
        assert!(!record.blocks.is_empty() && record.spec.is_some(), "{name}");
        assert_eq!(record.schema_version, record::SCHEMA_VERSION, "{name}");
    }
}

#[test]
fn a_run_of_before_can_be_repeated() {
    type IsExpected = fn(&Load) -> bool;
    let loads: [(&str, IsExpected); 6] = [
        (
            "run-closed",
            |load| matches!(load, Load::Closed { in_flight, .. } if in_flight.get() == 1),
        ),
        (
            "run-bots",
            |load| matches!(load, Load::Bots { bots, every, .. } if bots.get() == 3 && *every == Nanos::from_millis(50)),
        ),
        (
            "run-clients",
            |load| matches!(load, Load::Clients { concurrency, .. } if concurrency.get() == 3),
        ),
        (
            "run-closed-bots",
            |load| matches!(load, Load::ClosedBots { think, .. } if *think == Nanos::from_millis(50)),
        ),
        ("run-sessions", |load| {
            matches!(load, Load::Sessions { rate, .. } if rate.to_string() == "50/s")
                && matches!(load.lifetime(), Lifetime::RoundTrips(each) if each.get() == 2)
        }),
        ("run-open", |_| false),
    ];
    for (name, is_expected) in loads {
        let spec = read(name).spec.unwrap();
        if name == "run-open" {
            // Its payload was given, and not kept.
            assert_eq!(spec.unknown, ["workloads[0].message.content"]);
            continue;
        }
        assert_eq!(spec.unknown, [""; 0], "{name}");
        let workload = &spec.workloads[0];
        assert!(is_expected(&workload.load), "{name}: {:?}", workload.load);
        assert!(
            matches!(&workload.server, Server::Given(url) if url.to_string() == "ws://127.0.0.1:19001/")
        );
        assert!(
            matches!(workload.message.content, Content::Generated { size, .. } if size.0 == 64)
        );
        assert_eq!(workload.expect, Expect::Echo);
        assert_eq!(workload.timeouts.reply, Nanos::from_secs(5));
    }
    let closed = read("run-closed").spec.unwrap();
    assert_eq!(closed.workloads[0].phases.stop, Stop::After(Nanos::from_millis(200)));
    // Only the names of secrets are kept.
    let authorization = Header { name: "Authorization".to_owned(), value: None };
    assert_eq!(closed.workloads[0].http.headers, [authorization]);
}

#[test]
fn a_record_that_says_too_little_names_what_it_lacks() {
    for (name, kind, unknown) in [
        ("sweep", Kind::Sweep, "axis"),
        ("ladder", Kind::Ladder, "workloads[].server"),
        ("lab", Kind::Lab, "workloads[].server"),
        ("imported", Kind::Imported, "workloads[].server"),
        ("run-game", Kind::Run, "workloads[0].bots"),
    ] {
        let record = read(name);
        let spec = record.spec.unwrap();
        assert_eq!((record.kind, &spec.unknown[0][..]), (kind, unknown), "{name}");
        assert!(spec.workloads.is_empty(), "{name}");
    }
}

#[test]
fn the_plan_of_an_old_record_says_what_was_asked_even_where_it_cannot_be_repeated() {
    let asked = |name: &str| read(name).plan.workloads.remove(0);
    let open = asked("run-open");
    assert_eq!((open.spec.load.due_per_s(), open.size_bytes), (Some(500.0), 4));
    assert_eq!(open.spec.load.in_flight_max(), NonZeroU32::new(2500));
    let Content::Given { source, bytes } = &open.spec.message.content else { panic!("{open:?}") };
    assert_eq!((&source[..], &bytes.0[..]), ("Ping", &b""[..]));
    let game = asked("run-game").spec;
    assert_eq!(game.message.content, Content::GameEvent { delay_ms: 0 });
    assert_eq!((game.expect, game.load.connections().get()), (Expect::InSequence, 4));
    let ladder = read("ladder").plan.workloads;
    let https = ladder.iter().find(|workload| workload.transport == "https").unwrap();
    assert!(https.spec.is_verified() && https.spec.tls.as_ref().unwrap().resumption);
    assert!(matches!(https.spec.load, Load::Clients { round_trips: NonZeroU32::MIN, .. }));
    let imported = asked("imported");
    assert_eq!((imported.name(), &imported.transport[..]), ("BM_a", "google-benchmark"));
    let rates = read("sweep").plan.workloads;
    let rates = rates.iter().map(|workload| workload.spec.load.due_per_s().unwrap());
    assert_eq!(rates.collect::<Vec<_>>(), [500.0, 2000.0, 4000.0]);
}

#[test]
fn a_rate_of_before_that_is_no_decimal_fraction_is_read_to_nine_digits() {
    let (_, json) = OLD.iter().find(|(known, _)| *known == "run-open").unwrap();
    for (rate, expected) in
        [("33.333333333333336", 33.333_333_3), ("0.011111111111111112", 0.011_111_111)]
    {
        let json = json.replace("\"messages_per_s\":500.0", &format!("\"messages_per_s\":{rate}"));
        let load = RunRecord::from_json(&json).unwrap().plan.workloads.remove(0).spec.load;
        let found = load.due_per_s().unwrap();
        assert!((found - expected).abs() < 1e-12 * found, "{found}");
    }
}
