//! Shows a record to people and to other programs: strings out. Nothing is measured, read or printed here.
//!
//! For a terminal of 80 columns: [`ladder`] is the table of the ladder, [`run`] a single run, [`sweep`] steps of load,
//! [`lab`] programs of others side by side, and [`terminal`] whichever of them belongs to a record; [`live_line`] is
//! what moves while any goes on, [`compare`] two records side by side. For programs: [`json`], [`hlog`], [`hgrm`],
//! [`google_benchmark`] and [`csv`]; for a text with tables: [`markdown`].
//! For a browser: [`html`] is the whole page, [`figures`] its charts alone; `web` beside `src` is what makes them move.
//!
//! Everything is worked out from the record, so a report can be drawn again from any old one. Colours repeat what the
//! words say. Whatever a peer may have said passes through [`escape`] before it becomes part of a page.
//!
//! Left out: where pages go, and whether a terminal wants colours.
//!
//! Start reading at [`ladder`].

mod benchmark;
mod chart;
mod compare;
mod csv;
mod date;
mod escape;
mod export;
mod figures;
mod forest;
mod grid;
mod html;
mod lab;
mod ladder;
mod layers;
mod live;
mod markdown;
mod notes;
mod number;
mod open_loop;
mod page;
mod published;
mod run;
mod sheet;
mod stack;
mod steps;
mod svg;
mod sweep;
mod terminal;
mod verdict;
mod words;

pub use benchmark::google_benchmark;
pub use compare::{compare, compares_nothing};
pub use csv::csv;
pub use escape::escape;
pub use export::{ExportError, hgrm, hlog, json};
pub use html::{HAS_FRONT_END, figures, html};
pub use lab::{footprints, lab};
pub use ladder::{conclusion, ladder};
pub use live::{live_line, machine_line};
pub use markdown::markdown;
pub use page::Style;
pub use run::run;
pub use sheet::sheet;
pub use sweep::sweep;
pub use terminal::terminal;
