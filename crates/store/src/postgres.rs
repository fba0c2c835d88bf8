//! The store of a team: a PostgreSQL database, in its schema `wirebench`.
//!
//! Calls block, as they do for a file: a single-threaded runtime drives the connection while a statement runs. If the
//! server goes away, the store reconnects and repeats what was not committed; after some attempts it returns an error.
//! Nothing is lost by that: each record is a file too.
//!
//! Start reading at [`Postgres::open`]; `tls` has the certificates.

mod address;
mod errors;
mod tls;

use crate::StoreError;
use crate::database::{Access, Cell, Database, Statements, Value};
use crate::migrations::POSTGRES as MIGRATIONS;
use address::Address;
use errors::{for_locks, in_time, told};
use std::error::Error;
use std::fmt;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, IsolationLevel, Row, Transaction};
use units::Nanos;

/// A PostgreSQL database.
pub struct Postgres {
    address: Address,
    runtime: Runtime,
    /// `None` before the first connection, and after the server went away.
    client: Option<Client>,
    patience: Nanos,
}

impl Postgres {
    /// Connects to the database that a URL names, `postgres://USER:PASSWORD@HOST:PORT/DATABASE` with the settings of
    /// libpq after `?`, and creates its tables if it has none. `sslmode` is `disable`, `prefer` (TLS if the server has
    /// it), `require` or `verify-full`; a certificate is verified wherever there is one, against the authorities in the
    /// file `sslrootcert`, or else against those of the system. No answer is awaited for longer than `patience`.
    ///
    /// # Errors
    ///
    /// The URL has a mistake, the server cannot be reached, refuses the user, or has tables of a newer version.
    pub fn open(url: &str, patience: Nanos) -> Result<Self, StoreError> {
        let address = Address::parse(url)?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::Other {
            store: address.name().to_owned(),
            what: format!("cannot wait for a server: {error}"),
        })?;
        let mut store = Self { address, runtime, client: None, patience };
        store.again(Self::migrate)?;
        Ok(store)
    }

    /// Runs `work`, and runs it again if the server went away meanwhile, after a longer pause each time.
    fn again<T>(
        &mut self,
        mut work: impl FnMut(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut pause = PAUSE;
        let mut attempt = 1;
        loop {
            match work(self) {
                Err(StoreError::Unreachable { .. }) if attempt < ATTEMPTS => {
                    self.client = None;
                    self.runtime.block_on(async { tokio::time::sleep(pause).await });
                    pause *= 2;
                    attempt += 1;
                }
                Err(StoreError::Unreachable { store, what, .. }) => {
                    self.client = None;
                    return Err(StoreError::Unreachable { store, what, attempts: attempt });
                }
                done => return done,
            }
        }
    }

    /// Connects, unless there is a connection.
    fn connect(&mut self) -> Result<(), StoreError> {
        if self.client.is_some() {
            return Ok(());
        }
        let (address, patience) = (&self.address, self.patience);
        let (name, tls) = (address.name(), tls::Connector::new(address.authorities())?);
        let client = self.runtime.block_on(async {
            let connecting = address.config().connect(tls);
            let (client, connection) = in_time(name, patience, connecting).await?;
            // It makes progress while a statement is awaited; if it has ended, the next statement fails.
            tokio::spawn(async { connection.await.ok() });
            in_time(name, patience, client.batch_execute(&session(patience))).await?;
            Ok(client)
        })?;
        self.client = Some(client);
        Ok(())
    }

    /// Brings the tables up to date, if they are not.
    fn migrate(&mut self) -> Result<(), StoreError> {
        let known = MIGRATIONS.len();
        let version = self.attempt(Access::Read, &mut version)?;
        if version.is_none_or(|version| version < i64::try_from(known).unwrap_or(i64::MAX)) {
            return self.attempt(Access::Write, &mut migrate_from_any);
        }
        let newer = version.filter(|version| usize::try_from(*version) != Ok(known));
        let store = || self.address.name().to_owned();
        newer.map_or(Ok(()), |version| Err(StoreError::Newer { store: store(), version, known }))
    }

    /// One attempt at a transaction.
    fn attempt<T>(
        &mut self,
        access: Access,
        work: &mut impl FnMut(&mut dyn Statements) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.connect()?;
        let (name, patience) = (self.address.name(), self.patience);
        let client = self.client.as_mut().expect("it was connected");
        let runtime = &self.runtime;
        let begin = async {
            let (isolation, is_read) = match access {
                Access::Read => (IsolationLevel::RepeatableRead, true),
                Access::Write => (IsolationLevel::ReadCommitted, false),
            };
            let begin = client.build_transaction().isolation_level(isolation).read_only(is_read);
            in_time(name, patience, begin.start()).await
        };
        let transaction = runtime.block_on(begin)?;
        let mut begun = Begun { runtime, transaction, name, patience };
        let done = work(&mut begun)?;
        runtime.block_on(in_time(name, patience, begun.transaction.commit()))?;
        Ok(done)
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Postgres").field(&self.address.name()).finish()
    }
}

impl Database for Postgres {
    fn name(&self) -> &str {
        self.address.name()
    }

    fn transaction<T>(
        &mut self,
        access: Access,
        mut work: impl FnMut(&mut dyn Statements) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.again(|store| store.attempt(access, &mut work))
    }

    fn faults(&mut self) -> Result<Vec<String>, StoreError> {
        // The server checks its files and keys itself; `verify` reads everything, and so finds pages that it cannot
        // read.
        Ok(Vec::new())
    }
}

/// The number of migrations that the database has; `None` if it has none of our tables.
fn version(database: &mut dyn Statements) -> Result<Option<i64>, StoreError> {
    let there = database.query(
        "SELECT CAST(count(*) AS BIGINT) FROM information_schema.tables \
         WHERE table_schema = 'wirebench' AND table_name = 'schema_version'",
        &[],
    )?;
    if there != [[Cell::Integer(1)]] {
        return Ok(None);
    }
    let found = database.query("SELECT version FROM wirebench.schema_version", &[])?;
    Ok(match found.first().and_then(|cells| cells.first()) {
        Some(Cell::Integer(version)) => Some(*version),
        Some(Cell::Bytes(_) | Cell::Null | Cell::Real(_) | Cell::Text(_)) | None => None,
    })
}

fn migrate_from_any(database: &mut dyn Statements) -> Result<(), StoreError> {
    // Another process may be migrating right now; the lock ends with the transaction.
    database.query("SELECT CAST(pg_advisory_xact_lock(?1) AS TEXT)", &[Value::Integer(LOCK)])?;
    let done = version(database)?.unwrap_or(0);
    if done == 0 {
        database.execute("CREATE SCHEMA IF NOT EXISTS wirebench", &[])?;
        database.execute("CREATE TABLE wirebench.schema_version (version BIGINT NOT NULL)", &[])?;
        database.execute("INSERT INTO wirebench.schema_version (version) VALUES (0)", &[])?;
    }
    for (migration, next) in MIGRATIONS.iter().zip(1_i64..).filter(|(_, next)| *next > done) {
        for statement in migration.split(';').filter(|statement| !statement.trim().is_empty()) {
            database.execute(statement, &[])?;
        }
        let update = "UPDATE wirebench.schema_version SET version = ?1";
        database.execute(update, &[Value::Integer(next)])?;
    }
    Ok(())
}

/// An open transaction.
struct Begun<'a> {
    runtime: &'a Runtime,
    transaction: Transaction<'a>,
    name: &'a str,
    patience: Nanos,
}

impl Begun<'_> {
    /// Executes a statement, and returns the rows that it finds, or the number of rows that it changed.
    fn wait(
        &self,
        statement: &str,
        values: &[Value<'_>],
    ) -> Result<(Vec<Row>, Option<u64>), StoreError> {
        let translated = statement.replace('?', "$").replace("instr(", "strpos(");
        let types: Vec<Type> = values.iter().map(type_of).collect();
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        let wait = async {
            let prepared = self.transaction.prepare_typed(&translated, &types).await?;
            match prepared.columns().is_empty() {
                true => {
                    let changed = self.transaction.execute(&prepared, &values).await?;
                    Ok((Vec::new(), Some(changed)))
                }
                false => Ok((self.transaction.query(&prepared, &values).await?, None)),
            }
        };
        self.runtime.block_on(in_time(self.name, self.patience, wait))
    }
}

impl Statements for Begun<'_> {
    fn execute(&mut self, statement: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        Ok(self.wait(statement, values)?.1.unwrap_or_default())
    }

    fn query(
        &mut self,
        statement: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Vec<Cell>>, StoreError> {
        let (rows, _) = self.wait(statement, values)?;
        let cells = |row: &Row| (0..row.len()).map(|column| cell(row, column)).collect();
        let rows = rows.iter().map(cells).collect::<Result<Vec<Vec<Cell>>, _>>();
        rows.map_err(|error| told(self.name, self.patience, &error))
    }
}

fn cell(row: &Row, column: usize) -> Result<Cell, tokio_postgres::Error> {
    let kind = row.columns().get(column).map(tokio_postgres::Column::type_);
    let cell = match kind {
        Some(&Type::BYTEA) => row.try_get::<_, Option<Vec<u8>>>(column)?.map(Cell::Bytes),
        Some(&Type::FLOAT8) => row.try_get::<_, Option<f64>>(column)?.map(Cell::Real),
        Some(&Type::INT8) => row.try_get::<_, Option<i64>>(column)?.map(Cell::Integer),
        _ => row.try_get::<_, Option<String>>(column)?.map(Cell::Text),
    };
    Ok(cell.unwrap_or(Cell::Null))
}

/// The settings of a connection. A commit is on the disk before it is answered, whatever the server's own settings are.
fn session(patience: Nanos) -> String {
    let lock_timeout_ms = (for_locks(patience).0 / 1_000_000).max(1);
    format!(
        "SET search_path = wirebench; SET synchronous_commit = on; SET client_min_messages = warning; \
         SET lock_timeout = {lock_timeout_ms}"
    )
}

const fn type_of(value: &Value<'_>) -> Type {
    match value {
        Value::Bytes(_) => Type::BYTEA,
        Value::Integer(_) => Type::INT8,
        Value::Real(_) => Type::FLOAT8,
        Value::Text(_) => Type::TEXT,
    }
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Value::Bytes(bytes) => bytes.to_sql(kind, out),
            Value::Integer(number) => number.to_sql(kind, out),
            Value::Real(number) => number.to_sql(kind, out),
            Value::Text(text) => text.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true // `type_of` has given the type.
    }

    to_sql_checked!();
}

/// The advisory lock that is held while the tables are brought up to date: `wben` in ASCII.
const LOCK: i64 = 0x7762_656e;
/// The number of attempts to reach a server; the pauses between them add up to six seconds.
const ATTEMPTS: u32 = 7;
/// The pause after the first attempt; each later one is twice as long as the one before.
const PAUSE: Duration = Duration::from_millis(100);
