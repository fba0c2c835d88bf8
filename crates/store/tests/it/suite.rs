//! Everything that every kind of store promises.

use crate::record;
use record::Level;
use std::path::Path;
use store::{Filter, NameError, Sqlite, Store};
use units::Nanos;

#[test]
fn sqlite_keeps_its_promises() {
    let folder = tempfile::tempdir().unwrap();
    for (name, check) in PROMISES {
        check(&mut Sqlite::open(&folder.path().join(name), Nanos::ZERO).unwrap());
    }
}

#[cfg(feature = "postgres")]
#[test]
fn postgres_keeps_its_promises() {
    let Some(server) = crate::postgres_server::PostgresServer::start() else { return };
    for (name, check) in PROMISES {
        let url = server.database(name);
        check(&mut store::Postgres::open(&url, Nanos::from_secs(10)).unwrap());
    }
}

/// The check of a promise, given an empty store.
type Promise = fn(&mut dyn Store);

const PROMISES: [(&str, Promise); 6] = [
    ("whole", a_record_comes_back_whole),
    ("filters", filters_let_through_what_they_name),
    ("again", what_is_added_again_is_there_once),
    ("names", a_name_means_one_record),
    ("given", names_are_given_and_taken_away),
    ("removed", what_is_removed_is_gone),
];

fn a_record_comes_back_whole(store: &mut dyn Store) {
    let (entry, json) = record(7, |_| {});
    assert!(store.add(&entry, &json).unwrap());
    assert_eq!(store.list(&Filter::default()).unwrap(), std::slice::from_ref(&entry));
    assert_eq!(store.json(&entry.id).unwrap(), Some(json));
    assert_eq!(store.json("0123456789abcdef").unwrap(), None);
    assert_eq!(store.verify().unwrap(), [""; 0]);
    assert!(entry.rows.len() > 1 && entry.rows.iter().any(|row| row.p50_ns.is_some()));
}

fn filters_let_through_what_they_name(store: &mut dyn Store) {
    let chat =
        |it: &mut record::RunRecord| it.command_line = vec!["run".into(), "a/Chat.toml".into()];
    let (one, json_one) = record(1, chat);
    let (two, json_two) = record(2, |it| it.environment.cpu_model = Some("Another".to_owned()));
    let (three, json_three) = record(3, |it| {
        it.plan.workloads[0].target = "tcp://10.0.0.9:4000".to_owned();
        it.verdict = Some(record::Verdict { level: Level::Invalid, ..Default::default() });
    });
    for (entry, json) in [(&two, json_two), (&one, json_one), (&three, json_three)] {
        store.add(entry, &json).unwrap();
    }
    let text = |text: &str| Some(text.to_owned());
    let all = Filter::default();
    for (filter, expected) in [
        (all.clone(), vec![&three, &two, &one]),
        (Filter { limit: Some(2), ..all.clone() }, vec![&three, &two]),
        (Filter { experiment: text("chat"), ..all.clone() }, vec![&one]),
        (Filter { experiment: text("%"), ..all.clone() }, vec![]),
        (Filter { machine: text("another"), ..all.clone() }, vec![&two]),
        (Filter { target: text("10.0.0.9"), ..all.clone() }, vec![&three]),
        (Filter { target: text("' OR 1"), ..all.clone() }, vec![]),
        (Filter { verdict: Some(Level::Invalid), ..all.clone() }, vec![&three]),
        (Filter { name: text(&two.id[..6]), ..all }, vec![&two]),
    ] {
        let found = store.list(&filter).unwrap();
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{filter:?}");
    }
}

fn what_is_added_again_is_there_once(store: &mut dyn Store) {
    let (entry, json) = record(1, |_| {});
    assert!(store.add(&entry, &json).unwrap());
    let moved = record::Entry { file: Some("elsewhere.json".to_owned()), ..entry };
    assert!(!store.add(&moved, &json).unwrap());
    assert_eq!(store.list(&Filter::default()).unwrap(), [moved]);
    assert_eq!(store.verify().unwrap(), [""; 0]);
}

fn a_name_means_one_record(store: &mut dyn Store) {
    let all: Vec<_> = (0..40).map(|second| record(second, |_| {})).collect();
    for (entry, json) in &all {
        assert!(store.add(entry, json).unwrap());
    }
    let id = &all[0].0.id;
    assert_eq!(store.find(id).unwrap(), all[0].0);
    assert_eq!(store.find(&id[..10]).unwrap(), all[0].0);
    // Among forty ids, at least two begin with the same of sixteen digits.
    let first = |(entry, _): &(record::Entry, String)| entry.id[..1].to_owned();
    let twice =
        all.iter().map(first).find(|one| all.iter().filter(|it| first(it) == *one).count() > 1);
    let error = store.find(&twice.unwrap()).unwrap_err();
    assert!(matches!(&error, NameError::Ambiguous { count, .. } if *count > 1), "{error}");
    assert!(matches!(store.find("none"), Err(NameError::None { .. })));
}

fn names_are_given_and_taken_away(store: &mut dyn Store) {
    let [(one, json_one), (two, json_two)] = [1, 2].map(|second| record(second, |_| {}));
    store.add(&one, &json_one).unwrap();
    store.add(&two, &json_two).unwrap();
    assert!(store.tag(&one.id, "release", true).unwrap());
    assert!(!store.tag(&one.id, "release", true).unwrap());
    store.tag(&one.id, "a", true).unwrap();
    store.tag(&two.id, "a", true).unwrap();
    let tagged = Filter { tag: Some("release".to_owned()), ..Filter::default() };
    let found = store.list(&tagged).unwrap();
    assert_eq!((found.len(), &found[0].tags), (1, &vec!["a".to_owned(), "release".to_owned()]));
    assert!(store.tag(&one.id, "release", false).unwrap());
    assert!(!store.tag(&one.id, "release", false).unwrap());
    assert_eq!(store.list(&tagged).unwrap(), []);

    assert!(store.set_baseline("main", Some(&one.id)).unwrap());
    assert!(!store.set_baseline("main", Some(&one.id)).unwrap());
    assert!(store.set_baseline("main", Some(&two.id)).unwrap());
    let main = store.find("main").unwrap();
    assert_eq!((main.id, main.baselines), (two.id.clone(), vec!["main".to_owned()]));
    // A record that is added again keeps its names, and a missing one gets none.
    store.add(&two, &json_two).unwrap();
    assert_eq!(store.find("main").unwrap().id, two.id);
    assert!(store.tag("none", "a", true).is_err());
    assert!(store.set_baseline("other", Some("none")).is_err());
    assert_eq!(store.verify().unwrap(), [""; 0]);
    store.remove(&[two.id]).unwrap();
    assert!(matches!(store.find("main"), Err(NameError::None { .. })));
    assert!(!store.set_baseline("main", None).unwrap());
}

fn what_is_removed_is_gone(store: &mut dyn Store) {
    let [(one, json_one), (two, json_two)] = [1, 2].map(|second| record(second, |_| {}));
    store.add(&one, &json_one).unwrap();
    store.add(&two, &json_two).unwrap();
    store.remove(&[one.id.clone(), "none".to_owned()]).unwrap();
    assert_eq!(store.list(&Filter::default()).unwrap(), [two]);
    assert_eq!(store.json(&one.id).unwrap(), None);
    assert_eq!(store.verify().unwrap(), [""; 0]);
}

#[test]
fn the_files_of_a_store_may_be_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join("a ?mode=memory#% b");
    let (entry, json) = record(1, |_| {});
    Sqlite::open(&odd, Nanos::ZERO).unwrap().add(&entry, &json).unwrap();
    let mut again = Sqlite::open_existing(&odd, Nanos::ZERO).unwrap();
    assert_eq!(again.list(&Filter::default()).unwrap(), [entry]);
    assert!(Sqlite::open_existing(Path::new("/nowhere/history.db"), Nanos::ZERO).is_err());
}
