//! Two servers that take turns: two rows that differ only in the server.

use super::description::{File, Row, RowKeys, unplaced};
use crate::{Criteria, Options};
use toml::Spanned;
use units::{Count, Nanos};

/// One of two servers that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side<'a> {
    /// Its URL.
    pub url: &'a str,
    /// The shell command that starts it; `None`: it listens already.
    pub start: Option<&'a str>,
    /// The folder that it is started in.
    pub folder: Option<&'a str>,
    /// The text that a line of its output contains once it is ready.
    pub ready_line: Option<&'a str>,
    /// The longest time until it is ready.
    pub start_timeout: Option<Nanos>,
}

impl Side<'_> {
    /// The name of the row that the other one is compared with.
    pub const BASE: &'static str = "base";
    /// The name of the row that is compared.
    pub const HEAD: &'static str = "head";
}

impl File {
    /// The experiment of two servers that take turns, each with a row of its own: `base` first, then `head`, which is
    /// compared with it.
    ///
    /// # Errors
    ///
    /// The problem, as for [`File::with_sides`].
    pub fn of_sides(base: Side<'_>, head: Side<'_>) -> Result<Self, String> {
        Self::of_url(base.url).with_sides(base, head)
    }

    /// The URL of its only row.
    ///
    /// # Errors
    ///
    /// It does not have exactly one row, or its row has no URL.
    pub fn only_url(&self) -> Result<&str, String> {
        let name = &self.source.name;
        match &self.rows[..] {
            [Row { keys: RowKeys { url: Some(url), .. }, .. }] => Ok(url.get_ref()),
            [_] => Err(format!(
                "{name}: two builds are compared by a server with a URL, and the row has none; write `url` in it"
            )),
            rows => Err(format!(
                "{name}: two builds are compared by one row, and there are {}; leave one, with its `url`",
                rows.len()
            )),
        }
    }

    /// The same experiment with two servers that take turns under its load, instead of its only row. Rounds and the
    /// length of blocks default to those of two sides.
    ///
    /// # Errors
    ///
    /// It compares rows itself, sweeps, or has several rows or loads.
    pub fn with_sides(self, base: Side<'_>, head: Side<'_>) -> Result<Self, String> {
        self.only_url()?;
        let name = &self.source.name;
        let problem = match (&self.axis, &self.baseline, self.loads.len()) {
            (Some(_), _, _) => Some("is a sweep".to_owned()),
            (None, Some(_), _) => Some("has a `baseline` of its own".to_owned()),
            (None, None, count @ 2..) => Some(format!("has {count} loads")),
            (None, None, 0 | 1) => None,
        };
        if let Some(problem) = problem {
            return Err(format!(
                "{name}: it {problem}, and two builds are compared under one load"
            ));
        }
        let of = |name: &str, side: &Side<'_>, row: &Row| Row {
            keys: RowKeys {
                name: Some(unplaced(name)),
                url: Some(unplaced(side.url)),
                start: side.start.map(unplaced),
                folder: side.folder.map(unplaced),
                ready_line: side.start.and(side.ready_line).map(unplaced),
                start_timeout: side.start.and(side.start_timeout).map(|it| Spanned::new(0..0, it)),
                ..row.keys.clone()
            },
            options: row.options.clone(),
        };
        let criteria = Criteria { rounds: Some(ROUNDS_OF_SIDES), ..Criteria::default() };
        let options = Options { duration: Some(BLOCK_OF_SIDES), ..Options::default() };
        let rows = self.rows.iter();
        let rows = rows.flat_map(|row| [of(Side::BASE, &base, row), of(Side::HEAD, &head, row)]);
        Ok(Self {
            criteria: self.criteria.over(criteria),
            options: self.options.over(options),
            baseline: Some(unplaced(Side::BASE)),
            usual: None,
            rows: rows.collect(),
            ..self
        })
    }
}

/// The number of blocks of each of two sides, and their length: about a minute in all.
///
/// Many and short: the CPU time of a message differs by 5 % from block to block, whether blocks take 250 ms or 1.25 s.
const ROUNDS_OF_SIDES: Count = Count(48);
const BLOCK_OF_SIDES: Nanos = Nanos::from_millis(400);
