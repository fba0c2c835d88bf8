//! The keys of a file. The place of each is remembered for faults that are found after everything is read.

use super::Reader;
use super::values::{Value, text_of};
use crate::conversation::template::is_name;
use crate::conversation::{Fault, Part};
use crate::table::{Error, Table};
use toml::de::DeValue;

impl Reader<'_> {
    pub(super) fn text(
        &mut self,
        table: &mut Table<'_>,
        part: Part,
        key: &'static str,
    ) -> Result<Option<String>, Error> {
        self.take(table, part, key).map(|value| text_of(key, value)).transpose()
    }

    pub(super) fn flag(
        &mut self,
        table: &mut Table<'_>,
        part: Part,
        key: &'static str,
    ) -> Result<Option<bool>, Error> {
        let Some(value) = self.take(table, part, key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::Boolean(value) => Ok(Some(*value)),
            _ => Err(Error::new(value.span().start, format!("`{key}` is true or false"))),
        }
    }

    /// Takes the value of a key, and remembers its place.
    pub(super) fn take<'i>(
        &mut self,
        table: &mut Table<'i>,
        part: Part,
        key: &'static str,
    ) -> Option<Value<'i>> {
        let value = table.take_value(key)?;
        self.places.insert((part, key), value.span().start);
        Some(value)
    }

    /// The table of a key.
    pub(super) fn one<'i, T>(
        &mut self,
        table: &mut Table<'i>,
        key: &'static str,
        part: Part,
        read: impl FnOnce(&mut Self, Table<'i>, Part) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let Some(table) = table.take_table(key)? else { return Ok(None) };
        self.places.insert((part, ""), table.at());
        self.places.insert((Part::Top, key), table.at());
        read(self, table, part).map(Some)
    }

    /// The tables of `[[key]]`.
    pub(super) fn listed<'i, T>(
        &mut self,
        table: &mut Table<'i>,
        key: &'static str,
        part: fn(usize) -> Part,
        read: impl Fn(&mut Self, Table<'i>, Part) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        for (index, table) in table.take_tables(key)?.into_iter().enumerate() {
            self.places.insert((part(index), ""), table.at());
            self.places.entry((Part::Top, key)).or_insert_with(|| table.at());
            all.push(read(self, table, part(index))?);
        }
        Ok(all)
    }

    /// The tables of `[key.NAME]`, in the order of the file.
    pub(super) fn named<'i, T>(
        &mut self,
        table: &mut Table<'i>,
        key: &'static str,
        part: fn(usize) -> Part,
        read: impl Fn(&mut Self, String, Table<'i>, Part) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let Some(tables) = table.take_table(key)? else { return Ok(Vec::new()) };
        self.places.insert((Part::Top, key), tables.at());
        let mut all = Vec::new();
        for (index, (name, value)) in tables.entries().into_iter().enumerate() {
            let at = name.span().start;
            let name = name.into_inner();
            if !is_name(&name.replace('-', "_")) {
                return Err(Error::new(
                    at,
                    format!("`{name}` is not a name; it has letters, digits, `_` and `-`"),
                ));
            }
            let table = Table::of_value(&format!("{key}.{name}"), value)?;
            self.places.insert((part(index), ""), at);
            all.push(read(self, name, table, part(index))?);
        }
        Ok(all)
    }

    /// The message for a fault that was found after reading, with the line and column of its key.
    pub(super) fn placed(&self, fault: &Fault) -> String {
        let Fault { part, key, text, message } = fault;
        let places = [(*part, *key), (*part, ""), (Part::Top, *key)];
        let at = places.iter().find_map(|place| self.places.get(place)).copied().unwrap_or(0);
        let inside = self.source.text.get(at..).and_then(|rest| rest.find(text));
        let at = at + inside.unwrap_or(0);
        match key {
            &"" => self.source.at_byte(at, message),
            key => self.source.at_byte(at, format_args!("`{key}` {message}")),
        }
    }
}
