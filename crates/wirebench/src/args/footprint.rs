//! `wirebench footprint SUBJECT…`: the packages, bytes and builds of subjects, measured.

use super::subject_folders::{self, Places};
use crate::exit::{Exit, Failure};
use crate::terminal::{Label, Terminal};
use anyhow::Context;
use lab::{Home, PrivateFolder, State, Subject, Tools};
use std::path::Path;

/// Weigh subjects: packages, bytes, size and time of a build
///
/// Packages are the library and its dependencies, as its registry counts them; installed bytes are those of their
/// files; the time is that of a clean build, with everything fetched before. All numbers come from the tools or are
/// measured here, none is typed in. They are kept until the subject changes, for labs that show footprints.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
)]
pub(crate) struct Footprint {
    /// A subject
    #[arg(value_name = "SUBJECT", required_unless_present = "all", conflicts_with = "all")]
    names: Vec<String>,
    /// All that are installed
    #[arg(long)]
    all: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    places: Places,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench footprint cpp-libcurl cpp-cpprest
  wirebench footprint --all
  wirebench footprint --all --json > footprints.json";

impl Footprint {
    /// Weighs one after the other, and shows them side by side.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let found = self.places.find()?;
        let subjects = match self.all {
            true => found.catalogue.subjects.iter().collect(),
            false => {
                self.names.iter().map(|name| found.subject(name)).collect::<Result<Vec<_>, _>>()?
            }
        };
        let tools = Tools::new(subject_folders::launch()?, false);
        let (mut all, mut missing) = (Vec::new(), 0);
        for subject in subjects {
            let name = &subject.name;
            let State::Installed(installed) = found.home.state(subject) else {
                missing += 1;
                let why = format!(
                    "{name}: skipped: not installed; `wirebench subjects install {name}` does it"
                );
                terminal.say_labelled(Label::Warning, &why);
                continue;
            };
            let footprint = weigh(subject, &installed, &tools, terminal)?;
            keep(&found.home, subject, &footprint, terminal);
            all.push(footprint);
        }
        let page = match self.json {
            true => serde_json::to_string_pretty(&all).context("cannot write JSON")? + "\n",
            false => report::footprints(&all, &terminal.style()),
        };
        terminal.result(&page)?;
        Ok(match (all.is_empty(), missing) {
            (_, 0) => Exit::DONE,
            (true, _) => Exit::UNREACHABLE,
            (false, _) if self.all => Exit::DONE,
            (false, _) => Exit::PARTIAL,
        })
    }
}

/// Weighs a subject, and says so.
pub(super) fn weigh(
    subject: &Subject,
    installed: &Path,
    tools: &Tools,
    terminal: &Terminal,
) -> anyhow::Result<record::Footprint> {
    let name = &subject.name;
    terminal.say(&format!("{name}: measuring its footprint"));
    let scratch =
        PrivateFolder::new(&subject_folders::scratch(), name).map_err(anyhow::Error::msg)?;
    Ok(lab::footprint(subject, installed, &scratch.path(""), tools))
}

/// Keeps the footprint of a subject, for labs.
pub(super) fn keep(
    home: &Home,
    subject: &Subject,
    footprint: &record::Footprint,
    terminal: &Terminal,
) {
    if let Err(error) = home.keep_footprint(subject, footprint) {
        let why = format!("{}: its footprint is not kept for labs: {error}", subject.name);
        terminal.say_labelled(Label::Warning, &why);
    }
}
