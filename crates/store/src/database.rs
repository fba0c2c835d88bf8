//! The little that a database has to do: take statements with values and return rows of cells, all within transactions.
//!
//! [`crate::tables`] only uses the SQL of [`crate::statements`]; a database translates what its dialect spells
//! differently, and reports its errors as [`StoreError`]s.

use crate::StoreError;

/// A database that has the tables.
pub(crate) trait Database {
    /// The database, as errors name it; without a password.
    fn name(&self) -> &str;

    /// Runs `work` in one transaction, which is committed if `work` succeeds, and rolled back if not. `work` may run
    /// again if the database went away meanwhile.
    ///
    /// # Errors
    ///
    /// Those of `work`, or the transaction cannot be begun or committed.
    fn transaction<T>(
        &mut self,
        access: Access,
        work: impl FnMut(&mut dyn Statements) -> Result<T, StoreError>,
    ) -> Result<T, StoreError>;

    /// The faults that the database finds in its own files, a sentence for each.
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    fn faults(&mut self) -> Result<Vec<String>, StoreError>;
}

/// The purpose of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It sees one state of the database.
    Read,
    /// It changes the database.
    Write,
}

/// An open transaction. Values are `?1`, `?2`, … in a statement.
pub(crate) trait Statements {
    /// Executes a statement and returns the number of rows that it changed.
    ///
    /// # Errors
    ///
    /// The database refuses it.
    fn execute(&mut self, statement: &str, values: &[Value<'_>]) -> Result<u64, StoreError>;

    /// Executes a statement and returns its rows.
    ///
    /// # Errors
    ///
    /// The database refuses it.
    fn query(
        &mut self,
        statement: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Vec<Cell>>, StoreError>;
}

/// A value of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Bytes(&'a [u8]),
    Integer(i64),
    Real(Option<f64>),
    Text(Option<&'a str>),
}

/// A value of a row that was found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Bytes(Vec<u8>),
    Integer(i64),
    Null,
    Real(f64),
    Text(String),
}

impl<'a> Value<'a> {
    /// A text that is not NULL.
    pub(crate) const fn text(text: &'a str) -> Self {
        Self::Text(Some(text))
    }
}
