//! `wirebench report`: a record as one HTML page, and its charts as SVG.

use super::show;
use crate::exit::{Exit, Failure};
use crate::files;
use crate::terminal::{Label, Terminal};
use anyhow::anyhow;
use std::path::{Path, PathBuf};

/// Draw a record as one HTML page
///
/// The page is complete: it needs no network, and can be read without scripts. Nothing is measured; records of all
/// older versions can be drawn.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
)]
pub(crate) struct Report {
    /// A file, or `-` for stdin [default: the newest of .wirebench/records]
    #[arg(value_name = "RECORD")]
    record: Option<PathBuf>,
    /// File for the page; `-` is stdout [default: next to the record]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also write each chart to this folder, as an SVG file
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench report                                  the last run, as a page
  wirebench report sweep.json -o sweep.html
  wirebench report sweep.json --svg figures         also the charts alone";

impl Report {
    /// Reads the record, draws it, and says where it is.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let source = match &self.record {
            Some(path) => path.clone(),
            None => show::newest()?,
        };
        let record = show::record(&source).map_err(Failure::usage)?;
        let target = self.output.unwrap_or_else(|| beside(&source));
        if target != Path::new("-") && is_same(&source, &target) {
            let message = "the page would overwrite its record; name another file with -o";
            return Err(Failure::usage(message));
        }
        let page = ::report::html(&record);
        if let Some(folder) = &self.svg {
            for (name, svg) in ::report::figures(&record) {
                write(&folder.join(name), &svg, "a chart")?;
            }
            terminal.say_labelled(Label::Report, &format!("charts in {}", folder.display()));
        }
        if target == Path::new("-") {
            terminal.result(&page)?;
        } else {
            write(&target, &page, "the page")?;
            terminal.say_labelled(Label::Report, &target.display().to_string());
        }
        Ok(Exit::DONE)
    }
}

/// True if both paths lead to the same file.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    real(one).is_some_and(|one| real(other) == Some(one))
}

/// Returns the path of the page next to the record; for a record from stdin, stdout.
fn beside(record: &Path) -> PathBuf {
    if record == Path::new("-") { record.to_owned() } else { record.with_extension("html") }
}

/// Writes a file completely or not at all, and creates its folder if it is missing.
fn write(path: &Path, text: &str, what: &str) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| files::write(path, text.as_bytes())).map_err(|error| {
        let path = path.display();
        Failure::new(
            Exit::NOT_WRITTEN,
            anyhow!("cannot write {what} to {path}: {error}; name another place"),
        )
    })
}
