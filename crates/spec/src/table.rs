//! Tables of a TOML file whose keys are taken out one by one, and the places of problems in it.
//!
//! Start reading at [`Table`].

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "values are of the library, and all but one kind are refused"
)]

use crate::Options;
use crate::suggestions::expected;
use serde::de::{Deserialize, IntoDeserializer};
use std::fmt;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A table, and its place.
pub(crate) struct Table<'i> {
    keys: DeTable<'i>,
    span: std::ops::Range<usize>,
}

impl<'i> Table<'i> {
    pub(crate) fn new(table: Spanned<DeTable<'i>>) -> Self {
        Self { span: table.span(), keys: table.into_inner() }
    }

    /// The value of a key, if it is there.
    pub(crate) fn take<T: Deserialize<'i>>(&mut self, key: &str) -> Result<Option<T>, Error> {
        Ok(self.remove(key).map(|value| T::deserialize(value.into_deserializer())).transpose()?)
    }

    /// The value of a key that has to be there.
    pub(crate) fn need<T: Deserialize<'i>>(&mut self, key: &str) -> Result<T, Error> {
        let at = self.span.start;
        self.take(key)?.ok_or_else(|| Error { at, message: format!("`{key}` is missing") })
    }

    /// The values of some keys together.
    pub(crate) fn take_keys<T: Deserialize<'i>>(&mut self, names: &[&str]) -> Result<T, Error> {
        let mut taken = DeTable::new();
        for name in names {
            if let Some((key, value)) = self.remove_entry(name) {
                taken.insert(key, value);
            }
        }
        Ok(T::deserialize(Spanned::new(self.span.clone(), taken).into_deserializer())?)
    }

    /// The table of a key, if it is there.
    pub(crate) fn take_table(&mut self, key: &str) -> Result<Option<Self>, Error> {
        self.remove(key).map(|value| Self::of_value(key, value)).transpose()
    }

    /// The tables of a key: one for each `[[key]]`.
    pub(crate) fn take_tables(&mut self, key: &str) -> Result<Vec<Self>, Error> {
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

    /// The keys that are left, as options of a workload. An unknown option is an error that names the known ones.
    pub(crate) fn rest(self) -> Result<Options, Error> {
        Ok(Options::deserialize(Spanned::new(self.span, self.keys).into_deserializer())?)
    }

    /// The place of the table: where its header, or its first brace, begins.
    pub(crate) fn at(&self) -> usize {
        self.span.start
    }

    /// The value of a key with its place, if it is there.
    pub(crate) fn take_value(&mut self, key: &str) -> Option<Spanned<DeValue<'i>>> {
        self.remove(key)
    }

    /// The keys that are left with their values, in the order of the file.
    pub(crate) fn entries(self) -> Vec<(Spanned<String>, Spanned<DeValue<'i>>)> {
        let named = |(key, value): (Spanned<std::borrow::Cow<'i, str>>, _)| {
            (Spanned::new(key.span(), key.into_inner().into_owned()), value)
        };
        let mut entries: Vec<_> = self.keys.into_iter().map(named).collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries
    }

    /// Refuses keys that are left, and names those that are `known`.
    pub(crate) fn finish(self, known: &[&str]) -> Result<(), Error> {
        let Some((key, _)) = self.entries().into_iter().next() else { return Ok(()) };
        let expected = expected(key.get_ref(), known.iter().copied());
        let message = format!("unknown key `{}`{expected}", key.get_ref());
        Err(Error { at: key.span().start, message })
    }

    /// The table in `value`, which is the value of `key`.
    pub(crate) fn of_value(key: &str, value: Spanned<DeValue<'i>>) -> Result<Self, Error> {
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

/// The name and text of a file, for messages with places.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Source {
    /// `problem`, with the place of `at`.
    pub(crate) fn at<T>(&self, at: &Spanned<T>, problem: impl fmt::Display) -> String {
        self.at_byte(at.span().start, problem)
    }

    /// `problem`, with the line and column of a byte.
    pub(crate) fn at_byte(&self, at: usize, problem: impl fmt::Display) -> String {
        let before = self.text.get(..at).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("{}:{line}:{column}: {problem}", self.name)
    }

    /// `error` with its place.
    pub(crate) fn error(&self, Error { at, message }: &Error) -> String {
        self.at_byte(*at, message)
    }
}

/// A problem, and the byte of the file that it is about.
#[derive(Debug)]
pub(crate) struct Error {
    pub(crate) at: usize,
    pub(crate) message: String,
}

impl Error {
    /// `message` about what is at byte `at`.
    pub(crate) fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

impl From<toml::de::Error> for Error {
    fn from(error: toml::de::Error) -> Self {
        let at = error.span().map_or(0, |span| span.start);
        Self { at, message: error.message().replace('\n', "; ") }
    }
}
