//! A table of a file whose keys are taken out one by one; the rest are options of a workload.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "values are of the library, and all but one kind are refused"
)]

use crate::Options;
use serde::de::{Deserialize, IntoDeserializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A table, and its place.
pub(super) struct Table<'i> {
    keys: DeTable<'i>,
    span: std::ops::Range<usize>,
}

impl<'i> Table<'i> {
    pub(super) fn new(table: Spanned<DeTable<'i>>) -> Self {
        Self { span: table.span(), keys: table.into_inner() }
    }

    /// The value of a key, if it is there.
    pub(super) fn take<T: Deserialize<'i>>(&mut self, key: &str) -> Result<Option<T>, Error> {
        Ok(self.remove(key).map(|value| T::deserialize(value.into_deserializer())).transpose()?)
    }

    /// The value of a key that has to be there.
    pub(super) fn need<T: Deserialize<'i>>(&mut self, key: &str) -> Result<T, Error> {
        let at = self.span.start;
        self.take(key)?.ok_or_else(|| Error { at, message: format!("`{key}` is missing") })
    }

    /// The values of some keys together.
    pub(super) fn take_keys<T: Deserialize<'i>>(&mut self, names: &[&str]) -> Result<T, Error> {
        let mut taken = DeTable::new();
        for name in names {
            if let Some((key, value)) = self.remove_entry(name) {
                taken.insert(key, value);
            }
        }
        Ok(T::deserialize(Spanned::new(self.span.clone(), taken).into_deserializer())?)
    }

    /// The table of a key, if it is there.
    pub(super) fn take_table(&mut self, key: &str) -> Result<Option<Self>, Error> {
        self.remove(key).map(|value| Self::of_value(key, value)).transpose()
    }

    /// The tables of a key: `[[key]]`, as often as it is there.
    pub(super) fn take_tables(&mut self, key: &str) -> Result<Vec<Self>, Error> {
        let Some(value) = self.remove(key) else { return Ok(Vec::new()) };
        let span = value.span();
        match value.into_inner() {
            DeValue::Array(all) => all.into_iter().map(|one| Self::of_value(key, one)).collect(),
            _ => {
                let message = format!("expected `[[{key}]]`, a list of tables");
                Err(Error { at: span.start, message })
            }
        }
    }

    /// The keys that are left, as options of a workload. One that is none is an error that names those that are.
    pub(super) fn rest(self) -> Result<Options, Error> {
        Ok(Options::deserialize(Spanned::new(self.span, self.keys).into_deserializer())?)
    }

    fn of_value(key: &str, value: Spanned<DeValue<'i>>) -> Result<Self, Error> {
        let span = value.span();
        match value.into_inner() {
            DeValue::Table(keys) => Ok(Self { keys, span }),
            other => {
                let found = other.type_str();
                let message = format!("expected `{key}` to be a table, found {found}");
                Err(Error { at: span.start, message })
            }
        }
    }

    fn remove(&mut self, key: &str) -> Option<Spanned<DeValue<'i>>> {
        self.remove_entry(key).map(|(_, value)| value)
    }

    fn remove_entry(
        &mut self,
        key: &str,
    ) -> Option<(Spanned<std::borrow::Cow<'i, str>>, Spanned<DeValue<'i>>)> {
        let known = self.keys.keys().find(|known| known.get_ref() == key)?.clone();
        self.keys.remove_entry(&known)
    }
}

/// A problem, and the byte of the file that it is about.
#[derive(Debug)]
pub(super) struct Error {
    pub(super) at: usize,
    pub(super) message: String,
}

impl From<toml::de::Error> for Error {
    fn from(error: toml::de::Error) -> Self {
        let at = error.span().map_or(0, |span| span.start);
        Self { at, message: error.message().replace('\n', "; ") }
    }
}
