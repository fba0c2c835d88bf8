//! The tables, version by version. A version that was in use never changes: a later one alters its tables.

/// The statements that upgrade each version to the next one, starting from an empty SQLite database.
pub(crate) const SQLITE: &[&str] = &[SQLITE_RECORDS, SQLITE_NAMES];

/// The same for PostgreSQL, whose versions are counted separately.
#[cfg(feature = "postgres")]
pub(crate) const POSTGRES: &[&str] = &[POSTGRES_RECORDS];

/// Version 1 of SQLite: records and their rows.
const SQLITE_RECORDS: &str = "
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

/// Version 2 of SQLite: names that users give to records.
const SQLITE_NAMES: &str = "
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

/// Version 1 of PostgreSQL: everything. Ids, times and names are compared byte by byte, whatever language the database
/// is made for.
#[cfg(feature = "postgres")]
const POSTGRES_RECORDS: &str = r#"
CREATE TABLE records (
    id TEXT COLLATE "C" PRIMARY KEY,
    file TEXT,
    started_at TEXT COLLATE "C" NOT NULL,
    kind TEXT NOT NULL,
    experiment TEXT NOT NULL,
    machine TEXT NOT NULL,
    kernel TEXT,
    version TEXT NOT NULL,
    repository TEXT,
    verdict TEXT NOT NULL
);
CREATE INDEX records_by_time ON records (started_at, id);
CREATE TABLE rows (
    record TEXT COLLATE "C" NOT NULL REFERENCES records (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    name TEXT NOT NULL,
    target TEXT NOT NULL,
    verdict TEXT NOT NULL,
    p50_ns DOUBLE PRECISION,
    p99_ns DOUBLE PRECISION,
    messages_per_s DOUBLE PRECISION,
    server_cpu_us_per_message DOUBLE PRECISION,
    memory_bytes_per_connection DOUBLE PRECISION,
    conditions TEXT NOT NULL,
    PRIMARY KEY (record, position)
);
CREATE TABLE bodies (
    record TEXT COLLATE "C" PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
    json_zlib BYTEA NOT NULL
);
CREATE TABLE tags (
    record TEXT COLLATE "C" NOT NULL REFERENCES records (id) ON DELETE CASCADE,
    tag TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (record, tag)
);
CREATE TABLE baselines (
    name TEXT COLLATE "C" PRIMARY KEY,
    record TEXT COLLATE "C" NOT NULL REFERENCES records (id) ON DELETE CASCADE
);
"#;
