//! The statements that every database understands, with the values `?1`, `?2`, ….

/// [`RECORD_COLUMNS`] for statements.
macro_rules! record_columns {
    () => {
        "id, file, started_at, kind, experiment, machine, kernel, version, repository, verdict"
    };
}

/// [`ROW_COLUMNS`] for statements.
macro_rules! row_columns {
    () => {
        "record, position, name, target, verdict, p50_ns, p99_ns, messages_per_s, \
         server_cpu_us_per_message, memory_bytes_per_connection, conditions"
    };
}

/// The records of a [`crate::Filter`], the newest first.
macro_rules! found {
    () => {
        "FROM records WHERE \
         (?1 IS NULL OR instr(lower(experiment), lower(?1)) > 0) AND \
         (?2 IS NULL OR instr(lower(machine), lower(?2)) > 0) AND \
         (?3 IS NULL OR substr(id, 1, length(?3)) = ?3 OR EXISTS ( \
             SELECT 1 FROM baselines WHERE record = id AND name = ?3)) AND \
         (?4 IS NULL OR EXISTS (SELECT 1 FROM tags WHERE record = id AND tag = ?4)) AND \
         (?5 IS NULL OR EXISTS (SELECT 1 FROM rows WHERE record = id AND \
             (instr(lower(target), lower(?5)) > 0 OR instr(lower(name), lower(?5)) > 0))) AND \
         (?6 IS NULL OR verdict = ?6) \
         ORDER BY started_at DESC, id DESC LIMIT ?7"
    };
}

/// The columns of a record, in the order in which `rows` writes and reads them.
pub(crate) const RECORD_COLUMNS: &str = record_columns!();
/// The columns of a row of a record, in the order in which `rows` writes and reads them.
pub(crate) const ROW_COLUMNS: &str = row_columns!();

pub(crate) const ADD_RECORD: &str = concat!(
    "INSERT INTO records (",
    record_columns!(),
    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (id) DO NOTHING"
);
pub(crate) const UPDATE_RECORD: &str = "UPDATE records SET file = ?2, started_at = ?3, kind = ?4, experiment = ?5, \
     machine = ?6, kernel = ?7, version = ?8, repository = ?9, verdict = ?10 WHERE id = ?1";
pub(crate) const REMOVE_RECORD: &str = "DELETE FROM records WHERE id = ?1";

pub(crate) const ADD_ROW: &str = concat!(
    "INSERT INTO rows (",
    row_columns!(),
    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
);
pub(crate) const REMOVE_ROWS: &str = "DELETE FROM rows WHERE record = ?1";

pub(crate) const ADD_BODY: &str = "INSERT INTO bodies (record, json_zlib) VALUES (?1, ?2) \
     ON CONFLICT (record) DO UPDATE SET json_zlib = excluded.json_zlib";
pub(crate) const BODY: &str = "SELECT json_zlib FROM bodies WHERE record = ?1";

pub(crate) const RECORDS: &str = concat!("SELECT ", record_columns!(), " ", found!());
/// The rows of the records of the same filter, those of one record together and in their order.
pub(crate) const ROWS: &str = concat!(
    "SELECT ",
    row_columns!(),
    " FROM rows WHERE record IN (SELECT id ",
    found!(),
    ") ORDER BY record, position"
);
pub(crate) const TAGS: &str = "SELECT record, tag FROM tags ORDER BY tag";
pub(crate) const BASELINES: &str = "SELECT record, name FROM baselines ORDER BY name";

pub(crate) const ADD_TAG: &str =
    "INSERT INTO tags (record, tag) VALUES (?1, ?2) ON CONFLICT (record, tag) DO NOTHING";
pub(crate) const REMOVE_TAG: &str = "DELETE FROM tags WHERE record = ?1 AND tag = ?2";

pub(crate) const SET_BASELINE: &str = "INSERT INTO baselines (name, record) VALUES (?1, ?2) \
     ON CONFLICT (name) DO UPDATE SET record = excluded.record \
     WHERE baselines.record <> excluded.record";
pub(crate) const REMOVE_BASELINE: &str = "DELETE FROM baselines WHERE name = ?1";
