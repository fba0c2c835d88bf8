//! A table as text: as wide as its cells, within 80 columns.

use crate::chart::Table;
use crate::escape::{columns, cut};
use crate::page::{Page, Tone, WIDTH_MAX};

/// The rows of `table` under their heads, without its caption; nothing if there are none. Heads are broken at blanks; a
/// name in the first column that leaves no room for the others has a line of its own.
pub(crate) fn show(page: &mut Page, table: &Table) {
    if table.rows.is_empty() {
        return;
    }
    let grid = Grid::of(table);
    for line in grid.head() {
        page.line(Tone::Strong, &line);
    }
    for row in &table.rows {
        for line in grid.row(row) {
            page.line(Tone::Plain, &line);
        }
    }
}

struct Grid<'a> {
    table: &'a Table,
    /// Of the first column.
    name: usize,
    /// Of the others.
    widths: Vec<usize>,
}

impl<'a> Grid<'a> {
    fn of(table: &'a Table) -> Self {
        let cells = |column: usize| table.rows.iter().filter_map(move |row| row.get(column));
        let widest = |column: usize| cells(column).map(|cell| columns(cell)).max().unwrap_or(0);
        let head = table.head.first().map_or(0, |head| columns(head));
        let name = widest(0).max(head);
        let heads = || table.head.iter().enumerate().skip(1);
        let least: Vec<usize> = heads()
            .map(|(column, head)| widest(column).max(longest_word(head)).min(CELL_MAX))
            .collect();
        let roomy: Vec<usize> = heads()
            .zip(&least)
            .map(|((_, head), least)| {
                let fits = |width: &usize| broken(head, *width).len() <= 2;
                (*least..CELL_MAX).find(fits).unwrap_or(CELL_MAX)
            })
            .collect();
        let taken = |widths: &[usize]| widths.iter().map(|width| width + 1).sum::<usize>();
        let widths = if name + taken(&roomy) <= WIDTH_MAX { roomy } else { least };
        let name = name.min(WIDTH_MAX.saturating_sub(taken(&widths))).max(NAME_MIN);
        Self { table, name, widths }
    }

    fn head(&self) -> Vec<String> {
        let heads: Vec<Vec<String>> = self
            .table
            .head
            .iter()
            .enumerate()
            .map(|(column, head)| match column {
                0 => vec![head.clone()],
                _ => broken(head, self.widths[column - 1]),
            })
            .collect();
        let height = heads.iter().map(Vec::len).max().unwrap_or(0);
        let line = |at: usize| {
            let cell = |lines: &Vec<String>| {
                let above = height - lines.len();
                at.checked_sub(above).and_then(|at| lines.get(at)).cloned().unwrap_or_default()
            };
            let cells: Vec<String> = heads.iter().map(cell).collect();
            self.line(&cells)
        };
        (0..height).map(line).collect()
    }

    fn row(&self, row: &[String]) -> Vec<String> {
        match row.first() {
            Some(name) if columns(name) > self.name => {
                let mut rest = row.to_vec();
                rest[0].clear();
                vec![name.clone(), self.line(&rest)]
            }
            Some(_) | None => vec![self.line(row)],
        }
    }

    fn line(&self, cells: &[String]) -> String {
        let mut line = String::new();
        for (column, cell) in cells.iter().enumerate() {
            let (width, is_left) = match column.checked_sub(1) {
                None => (self.name, true),
                Some(at) => (self.widths[at], self.is_left(column)),
            };
            let cell = cut(cell, width);
            let gap = " ".repeat(width - columns(&cell));
            let between = if column == 0 { "" } else { " " };
            line += &match is_left {
                true => format!("{between}{cell}{gap}"),
                false => format!("{between}{gap}{cell}"),
            };
        }
        line
    }

    /// Whether a column holds words, or ratios that say more than a number.
    fn is_left(&self, column: usize) -> bool {
        let has_interval = |row: &Vec<String>| row.get(column).is_some_and(|it| it.contains('['));
        self.table.has_words(&column) || self.table.rows.iter().any(has_interval)
    }
}

fn longest_word(head: &str) -> usize {
    head.split(' ').map(columns).max().unwrap_or(0)
}

/// `head` in lines of at most `width` columns, broken at blanks.
fn broken(head: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in head.split(' ') {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// However many columns there are, names have so much.
const NAME_MIN: usize = 8;
/// No cell but a name is wider.
const CELL_MAX: usize = 30;
