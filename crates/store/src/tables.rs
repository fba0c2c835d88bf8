//! A store of tables: implements [`Store`] in SQL for any [`Database`].

use crate::database::{Access, Cell, Database, Value};
use crate::{Filter, Store, StoreError, body, rows, statements};
use record::{Entry, Level, RunRecord};
use std::collections::BTreeMap;
use std::path::Path;

impl<D: Database> Store for D {
    fn name(&self) -> &str {
        Database::name(self)
    }

    fn add(&mut self, entry: &Entry, json: &str) -> Result<bool, StoreError> {
        let packed = body::packed(json);
        self.transaction(Access::Write, |tables| {
            let record = rows::of_record(entry);
            let is_new = tables.execute(statements::ADD_RECORD, &record)? > 0;
            if !is_new {
                tables.execute(statements::UPDATE_RECORD, &record)?;
                tables.execute(statements::REMOVE_ROWS, &[Value::text(&entry.id)])?;
            }
            for (position, row) in entry.rows.iter().enumerate() {
                tables.execute(statements::ADD_ROW, &rows::of_row(&entry.id, position, row))?;
            }
            let body = [Value::text(&entry.id), Value::Bytes(&packed)];
            tables.execute(statements::ADD_BODY, &body)?;
            Ok(is_new)
        })
    }

    fn list(&mut self, filter: &Filter) -> Result<Vec<Entry>, StoreError> {
        let Filter { experiment, machine, name, tag, target, verdict, limit } = filter;
        let texts = [experiment, machine, name, tag, target].map(Option::as_deref);
        let mut wanted: Vec<Value<'_>> = texts.into_iter().map(Value::Text).collect();
        wanted.push(Value::Text(verdict.map(Level::name)));
        wanted.push(Value::Integer(limit.map_or(i64::MAX, i64::from)));
        let name = Database::name(self).to_owned();
        let damaged = |what| StoreError::Damaged { store: name.clone(), what };
        self.transaction(Access::Read, |tables| {
            let records = tables.query(statements::RECORDS, &wanted)?;
            let mut of_records: BTreeMap<String, Vec<_>> = BTreeMap::new();
            for cells in tables.query(statements::ROWS, &wanted)? {
                let (record, row) = rows::row(cells).map_err(damaged)?;
                of_records.entry(record).or_default().push(row);
            }
            let mut names = |statement| {
                let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
                for cells in tables.query(statement, &[])? {
                    let (record, name) = rows::name(cells).map_err(damaged)?;
                    all.entry(record).or_default().push(name);
                }
                Ok::<_, StoreError>(all)
            };
            let mut tags = names(statements::TAGS)?;
            let mut baselines = names(statements::BASELINES)?;
            let entry = |cells| {
                let entry = rows::record(cells).map_err(damaged)?;
                Ok(Entry {
                    tags: tags.remove(&entry.id).unwrap_or_default(),
                    baselines: baselines.remove(&entry.id).unwrap_or_default(),
                    rows: of_records.remove(&entry.id).unwrap_or_default(),
                    ..entry
                })
            };
            records.into_iter().map(entry).collect()
        })
    }

    fn json(&mut self, id: &str) -> Result<Option<String>, StoreError> {
        let found = self.transaction(Access::Read, |tables| {
            tables.query(statements::BODY, &[Value::text(id)])
        })?;
        let Some(cells) = found.into_iter().next() else { return Ok(None) };
        let json = match cells.into_iter().next() {
            Some(Cell::Bytes(packed)) => body::unpacked(&packed).ok(),
            Some(Cell::Integer(_) | Cell::Null | Cell::Real(_) | Cell::Text(_)) | None => None,
        };
        let json = json.filter(|json| body::id(json) == id);
        json.map(Some).ok_or_else(|| StoreError::Damaged {
            store: Database::name(self).to_owned(),
            what: format!("record {id} is not what was written"),
        })
    }

    fn tag(&mut self, id: &str, tag: &str, is_set: bool) -> Result<bool, StoreError> {
        let statement = if is_set { statements::ADD_TAG } else { statements::REMOVE_TAG };
        let values = [Value::text(id), Value::text(tag)];
        self.transaction(Access::Write, |tables| Ok(tables.execute(statement, &values)? > 0))
    }

    fn set_baseline(&mut self, name: &str, id: Option<&str>) -> Result<bool, StoreError> {
        self.transaction(Access::Write, |tables| {
            let changed = match id {
                Some(id) => tables
                    .execute(statements::SET_BASELINE, &[Value::text(name), Value::text(id)])?,
                None => tables.execute(statements::REMOVE_BASELINE, &[Value::text(name)])?,
            };
            Ok(changed > 0)
        })
    }

    fn remove(&mut self, ids: &[String]) -> Result<(), StoreError> {
        self.transaction(Access::Write, |tables| {
            ids.iter().try_for_each(|id| {
                tables.execute(statements::REMOVE_RECORD, &[Value::text(id)]).map(drop)
            })
        })
    }

    fn verify(&mut self) -> Result<Vec<String>, StoreError> {
        let mut wrong = self.faults()?;
        if wrong.is_empty() {
            let all = self.list(&Filter::default())?;
            wrong.extend(all.iter().filter_map(|entry| fault(self, entry)));
        }
        Ok(wrong)
    }
}

/// The first fault in the content of a record.
fn fault(store: &mut impl Store, entry: &Entry) -> Option<String> {
    let id = &entry.id;
    let json = match store.json(id) {
        Ok(Some(json)) => json,
        Ok(None) => return Some(format!("record {id} has no content")),
        Err(error) => return Some(error.to_string()),
    };
    match RunRecord::from_json(&json) {
        Err(error) => Some(format!("record {id} cannot be read: {error}")),
        Ok(record) => {
            let file = entry.file.as_deref().map(Path::new);
            let (tags, baselines) = (entry.tags.clone(), entry.baselines.clone());
            let own = Entry { tags, baselines, ..Entry::of(&record, id.clone(), file) };
            // An old record without a verdict is judged by each program that reads it, by that program's own rules.
            let is_same = own == *entry || record.verdict.is_none();
            (!is_same).then(|| format!("the columns of record {id} are not those of its content"))
        }
    }
}
