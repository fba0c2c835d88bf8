//! The tables, version by version. A version that was in use is never changed: the next one changes what it made.

/// The statements that lead from each version to the next one, from an empty database on.
pub(crate) const MIGRATIONS: &[&str] = &[RECORDS, NAMES];

/// Version 1: records and their rows.
const RECORDS: &str = "
CREATE TABLE records (
    id TEXT PRIMARY KEY,
    file TEXT,
    started_at TEXT NOT NULL,
    kind TEXT NOT NULL,
    experiment TEXT NOT NULL,
    machine TEXT NOT NULL,
    kernel TEXT,
    version TEXT NOT NULL,
    repository TEXT,
    verdict TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX records_by_time ON records (started_at, id);
CREATE TABLE rows (
    record TEXT NOT NULL REFERENCES records (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    target TEXT NOT NULL,
    verdict TEXT NOT NULL,
    p50_ns REAL,
    p99_ns REAL,
    messages_per_s REAL,
    server_cpu_us_per_message REAL,
    memory_bytes_per_connection REAL,
    conditions TEXT NOT NULL,
    PRIMARY KEY (record, position)
) WITHOUT ROWID;
CREATE TABLE bodies (
    record TEXT PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
    json_zlib BLOB NOT NULL
);
";

/// Version 2: names that users give to records.
const NAMES: &str = "
CREATE TABLE tags (
    record TEXT NOT NULL REFERENCES records (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (record, tag)
) WITHOUT ROWID;
CREATE TABLE baselines (
    name TEXT PRIMARY KEY,
    record TEXT NOT NULL REFERENCES records (id) ON DELETE CASCADE
) WITHOUT ROWID;
";
