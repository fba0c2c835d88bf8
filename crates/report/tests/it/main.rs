//! Pages of made-up records: what a reader sees, and that no record makes a page leave its bounds.

mod bounds;
mod ladder;
mod live;
mod records;
mod run;
