//! A server that goes away, refuses, has another program's tables, or speaks TLS.

use crate::postgres_server::PostgresServer;
use crate::record;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use store::{Filter, Postgres, Store, StoreError};
use units::Nanos;

fn open(url: &str) -> Result<Postgres, StoreError> {
    Postgres::open(url, Nanos::from_secs(10))
}

#[test]
fn a_server_that_was_started_anew_is_reached_anew() {
    let Some(mut server) = PostgresServer::start() else { return };
    let url = server.database("bench");
    let mut store = open(&url).unwrap();
    let [one, two, three] = [1, 2, 3].map(|second| record(second, |_| {}));
    assert!(store.add(&one.0, &one.1).unwrap());
    server.end();
    server.start_again();
    assert!(store.add(&two.0, &two.1).unwrap());
    assert_eq!(store.list(&Filter::default()).unwrap().len(), 2);

    server.end();
    let error = store.add(&three.0, &three.1).unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { attempts: 7, .. }), "{error}");
    assert!(error.to_string().contains("`wirebench history import` adds"), "{error}");
    assert!(matches!(open(&url), Err(StoreError::Unreachable { .. })));
    // Acknowledged records are still there, and the next one is added.
    server.start_again();
    assert!(store.add(&three.0, &three.1).unwrap());
    assert_eq!(store.list(&Filter::default()).unwrap().len(), 3);
    assert_eq!(store.verify().unwrap(), [""; 0]);
}

#[test]
fn one_that_is_locked_is_waited_for_no_longer_than_it_was_said() {
    let Some(mut server) = PostgresServer::prepared() else { return };
    server.set("max_prepared_transactions=1");
    server.start_again();
    let url = server.database("bench");
    let mut store = Postgres::open(&url, Nanos::from_secs(4)).unwrap();
    let (entry, json) = record(1, |_| {});
    // A prepared transaction belongs to no connection: it stays open until somebody ends it.
    let lock = "LOCK TABLE wirebench.records IN EXCLUSIVE MODE";
    server.sql("bench", &format!("BEGIN; {lock}; PREPARE TRANSACTION 'held'"));
    let error = store.add(&entry, &json).unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }), "{error}");
    assert!(
        error.to_string().contains("is locked by another program for more than 3.6 s"),
        "{error}"
    );
    // Readers wait for nobody.
    assert_eq!(store.list(&Filter::default()).unwrap(), []);
    server.sql("bench", "ROLLBACK PREPARED 'held'");
    assert!(store.add(&entry, &json).unwrap());
}

#[test]
fn what_is_not_for_us_is_told_and_left_alone() {
    let Some(server) = PostgresServer::start() else { return };
    let url = server.database("newer");
    drop(open(&url).unwrap());
    server.sql("newer", "UPDATE wirebench.schema_version SET version = 99");
    let error = open(&url).unwrap_err();
    assert!(matches!(error, StoreError::Newer { version: 99, .. }), "{error}");

    let url = server.database("theirs");
    server.sql("theirs", "CREATE SCHEMA wirebench; CREATE TABLE wirebench.records (name TEXT)");
    let error = open(&url).unwrap_err();
    assert!(error.to_string().contains("\"records\" already exists"), "{error}");
    let tables =
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'wirebench'";
    assert_eq!(server.sql("theirs", tables), "records");

    let error = open(&server.url("nowhere")).unwrap_err();
    assert!(matches!(&error, StoreError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("\"nowhere\" does not exist"), "{error}");

    let url = server.database("shared");
    let (entry, json) = record(1, |_| {});
    open(&url).unwrap().add(&entry, &json).unwrap();
    server.sql(
        "shared",
        "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA wirebench TO reader; \
         GRANT SELECT ON ALL TABLES IN SCHEMA wirebench TO reader",
    );
    let mut reader = open(&url.replace("postgres@", "reader@")).unwrap();
    assert_eq!(reader.list(&Filter::default()).unwrap(), std::slice::from_ref(&entry));
    let error = reader.add(&entry, &json).unwrap_err();
    assert!(matches!(&error, StoreError::Refused { .. }), "{error}");
}

#[test]
fn damage_is_found() {
    let Some(server) = PostgresServer::start() else { return };
    let url = server.database("bench");
    let mut store = open(&url).unwrap();
    for second in 0..3 {
        let (entry, json) = record(second, |_| {});
        store.add(&entry, &json).unwrap();
    }
    let first = "(SELECT min(id) FROM wirebench.records)";
    for (statement, words) in [
        ("UPDATE wirebench.rows SET p50_ns = 1 WHERE record = ", "columns of record"),
        ("UPDATE wirebench.bodies SET json_zlib = '' WHERE record = ", "is not what was written"),
        ("DELETE FROM wirebench.bodies WHERE record = ", "has no content"),
    ] {
        server.sql("bench", &format!("{statement}{first}"));
        let found = store.verify().unwrap();
        assert!(found.len() == 1 && found[0].contains(words), "{statement}: {found:?}");
    }
    server
        .sql("bench", &format!("UPDATE wirebench.records SET verdict = 'good' WHERE id = {first}"));
    let error = store.list(&Filter::default()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
}

#[test]
fn tls_is_verified_and_passwords_are_checked() {
    let Some(mut server) = PostgresServer::prepared() else { return };
    let [ours, others] = ["ours", "others"].map(|_| authority());
    let key = KeyPair::generate().unwrap();
    let names = vec!["127.0.0.1".to_owned()];
    let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &ours).unwrap();
    server.write("server.crt", &certificate.pem());
    server.write("server.key", &key.serialize_pem());
    server
        .write("pg_hba.conf", "local all all trust\nhostssl all ada 127.0.0.1/32 scram-sha-256\n");
    let port = server.serve_tls();
    server.start_again();
    server.database("bench");
    let ada = "CREATE ROLE ada LOGIN PASSWORD 'right'; GRANT ALL ON DATABASE bench TO ada";
    server.sql("bench", ada);

    let folder = tempfile::tempdir().unwrap();
    let pem = |name: &str, issuer: &CertifiedIssuer<'_, KeyPair>| {
        let path = folder.path().join(name);
        std::fs::write(&path, issuer.pem()).unwrap();
        path.display().to_string()
    };
    let (ours, others) = (pem("ours.pem", &ours), pem("others.pem", &others));
    let at = |password: &str, settings: &str| {
        open(&format!("postgres://ada:{password}@127.0.0.1:{port}/bench?{settings}"))
    };
    let mut store = at("right", &format!("sslmode=verify-full&sslrootcert={ours}")).unwrap();
    let (entry, json) = record(1, |_| {});
    assert!(store.add(&entry, &json).unwrap());
    let encrypted =
        "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'ada'";
    assert_eq!(server.sql("bench", encrypted), "t");
    assert!(at("right", &format!("sslrootcert={ours}")).is_ok());

    for (password, settings, words) in [
        ("right", format!("sslmode=require&sslrootcert={others}"), "invalid peer certificate"),
        ("right", "sslmode=disable".to_owned(), "no pg_hba.conf entry"),
        ("wrong", format!("sslrootcert={ours}"), "password authentication failed"),
    ] {
        let error = at(password, &settings).unwrap_err();
        assert!(matches!(error, StoreError::Refused { .. }), "{settings}: {error}");
        let error = error.to_string();
        assert!(error.contains(words) && !error.contains("wrong"), "{settings}: {error}");
    }
    for (settings, words) in [
        ("sslrootcert=/nowhere.pem".to_owned(), "sslrootcert=/nowhere.pem"),
        (format!("sslrootcert={}", server_file(&folder)), "no certificate in it"),
    ] {
        let error = at("right", &settings).unwrap_err();
        assert!(matches!(error, StoreError::Address { .. }), "{settings}: {error}");
        assert!(error.to_string().contains(words), "{settings}: {error}");
    }
}

/// A file without a certificate.
fn server_file(folder: &tempfile::TempDir) -> String {
    let path = folder.path().join("empty.pem");
    std::fs::write(&path, "").unwrap();
    path.display().to_string()
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}
