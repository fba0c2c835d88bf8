//! A database that is broken, newer, locked or not ours is reported and left as it is; an old one is upgraded.

use crate::record;
use std::fs;
use std::path::{Path, PathBuf};
use store::{Filter, Sqlite, Store, StoreError};
use tempfile::TempDir;
use units::Nanos;

/// A database with `count` records.
fn kept(count: u32) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let mut store = open(&path).unwrap();
    for second in 0..count {
        let (entry, json) = record(second, |_| {});
        store.add(&entry, &json).unwrap();
    }
    (folder, path)
}

fn open(path: &Path) -> Result<Sqlite, StoreError> {
    Sqlite::open(path, Nanos::ZERO)
}

fn with_sql(path: &Path, statements: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(statements).unwrap();
}

#[test]
fn what_is_no_database_of_ours_is_told_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    fs::write(&path, "not a database, but long enough to be one ".repeat(200)).unwrap();
    let before = fs::read(&path).unwrap();
    let error = open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("it is not a database; move it away"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);

    let other = folder.path().join("other.db");
    with_sql(&other, "CREATE TABLE records (name TEXT)");
    assert!(matches!(open(&other), Err(StoreError::Foreign { .. })));
    assert!(matches!(open(folder.path()), Err(StoreError::Unopened { .. })));
}

#[test]
fn a_database_of_the_first_version_is_brought_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    // Made by the program of that version, from the record that all tests here use.
    fs::write(&path, include_bytes!("version_1.db")).unwrap();
    let mut store = open(&path).unwrap();
    let entry = store.list(&Filter::default()).unwrap().remove(0);
    assert_eq!(
        (entry.id.as_str(), entry.started_at.as_str()),
        ("2e285847257b2f0e", "2026-11-08T10:20:30Z")
    );
    assert_eq!(store.verify().unwrap(), [""; 0]);
    assert!(store.tag(&entry.id, "old", true).unwrap());
    drop(store);
    assert_eq!(open(&path).unwrap().list(&Filter::default()).unwrap()[0].tags, ["old"]);
}

#[test]
fn a_newer_version_is_refused_and_not_changed() {
    let (_folder, path) = kept(1);
    with_sql(&path, "PRAGMA user_version = 99");
    let error = open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Newer { version: 99, .. }), "{error}");
}

#[test]
fn one_that_is_locked_is_waited_for_no_longer_than_it_was_said() {
    let (_folder, path) = kept(1);
    let locked = rusqlite::Connection::open(&path).unwrap();
    locked.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut store = open(&path).unwrap();
    let (entry, json) = record(5, |_| {});
    assert!(matches!(store.add(&entry, &json), Err(StoreError::Busy { .. })));
    // Readers wait for nobody.
    assert_eq!(store.list(&Filter::default()).unwrap().len(), 1);
    locked.execute_batch("COMMIT").unwrap();
    assert!(store.add(&entry, &json).unwrap());
}

#[test]
fn damage_is_found() {
    let (_folder, path) = kept(3);
    let faults = |statements: &str| {
        with_sql(&path, statements);
        open(&path).unwrap().verify().unwrap()
    };
    assert_eq!(faults(""), [""; 0]);
    let faults_of = |statements: &str, words: &str| {
        let found = faults(statements);
        assert!(found.len() == 1 && found[0].contains(words), "{statements}: {found:?}");
    };
    let first = "(SELECT min(id) FROM records)";
    faults_of(&format!("UPDATE rows SET p50_ns = 1 WHERE record = {first}"), "columns of record");
    faults_of(
        &format!("UPDATE bodies SET json_zlib = x'00' WHERE record = {first}"),
        "is not what was written",
    );
    faults_of(&format!("DELETE FROM bodies WHERE record = {first}"), "has no content");
}

#[test]
fn one_that_is_cut_off_is_told_as_damaged() {
    let (_folder, path) = kept(40);
    with_sql(&path, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
    let whole = fs::read(&path).unwrap();
    for parts in 1..8 {
        fs::write(&path, &whole[..whole.len() * parts / 8]).unwrap();
        let told = open(&path).and_then(|mut store| store.verify());
        let is_told = match &told {
            Ok(faults) => !faults.is_empty(),
            Err(StoreError::Damaged { .. }) => true,
            Err(_) => false,
        };
        assert!(is_told, "{parts} of 8: {told:?}");
    }
}
