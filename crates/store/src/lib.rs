//! Keeps records, to be found by their experiment, target, tag, machine and verdict.
//!
//! A record is a file that anyone can read, and is written before it is added to a store. A [`Store`] keeps a complete
//! copy of each, with its headline numbers in columns ([`record::Entry`]), the tags that a user gave it, and the names
//! under which it is a baseline. So a broken store can be filled again from the files, except for these tags and names.
//!
//! Left out: the files, and what is shown of a history.
//!
//! Start reading at [`Store`]; [`Sqlite`] keeps it in one file, and `Postgres`, with the feature `postgres`, on a
//! team's server. `tables` has what both have in common, which is nearly everything.

mod body;
mod database;
mod error;
mod filter;
mod migrations;
mod name;
#[cfg(feature = "postgres")]
mod postgres;
mod rows;
mod sqlite;
mod statements;
mod tables;

pub use body::id;
pub use error::StoreError;
pub use filter::Filter;
pub use name::NameError;
#[cfg(feature = "postgres")]
pub use postgres::Postgres;
pub use sqlite::Sqlite;

use record::Entry;

/// A place to keep and find records. A change is durable once its method has returned `Ok`, whichever process is killed
/// after that.
pub trait Store {
    /// The store, as errors name it; without a password.
    fn name(&self) -> &str;

    /// Adds the record `json`, whose short form is `entry`. A record that is there already keeps its names, and its
    /// columns are rewritten. True if it was not there.
    ///
    /// # Errors
    ///
    /// The store cannot be written.
    fn add(&mut self, entry: &Entry, json: &str) -> Result<bool, StoreError>;

    /// The records that match `filter`, the newest first.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn list(&mut self, filter: &Filter) -> Result<Vec<Entry>, StoreError>;

    /// The JSON of the record with exactly this `id`; `None` if there is none.
    ///
    /// # Errors
    ///
    /// The store cannot be read, or what it has is not that record.
    fn json(&mut self, id: &str) -> Result<Option<String>, StoreError>;

    /// Adds a tag to the record `id`, or removes it. True if that changed something.
    ///
    /// # Errors
    ///
    /// The store cannot be written, or has no such record.
    fn tag(&mut self, id: &str, tag: &str, is_set: bool) -> Result<bool, StoreError>;

    /// Makes the record `id` the baseline `name`, instead of any other record; `None` removes the baseline. True if
    /// that changed something.
    ///
    /// # Errors
    ///
    /// The store cannot be written, or has no such record.
    fn set_baseline(&mut self, name: &str, id: Option<&str>) -> Result<bool, StoreError>;

    /// Removes records, with their names.
    ///
    /// # Errors
    ///
    /// The store cannot be written; then all of them are still there.
    fn remove(&mut self, ids: &[String]) -> Result<(), StoreError>;

    /// The faults of the store, a sentence for each; empty if it is sound.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn verify(&mut self) -> Result<Vec<String>, StoreError>;

    /// The record that a user means by `name`: a baseline, or the beginning of its id.
    ///
    /// # Errors
    ///
    /// The store cannot be read, there is no such record, or several begin like that.
    fn find(&mut self, name: &str) -> Result<Entry, NameError> {
        let all = self.list(&Filter { name: Some(name.to_owned()), ..Filter::default() })?;
        name::found(name, all)
    }
}
