//! `wirebench subjects`: servers and client libraries that others wrote, as programs that can be measured.

mod template;

use super::subject_folders::{self, Found, Places};
use super::values;
use crate::exit::{Exit, Failure};
use crate::signals;
use crate::terminal::{Label, Talk, Terminal};
use lab::{InstallError, Launch, Role, State, Subject, Tools};
use run::verify::{Check, Outcome, SubjectQuestions, verify_subject};
use std::sync::atomic::Ordering;
use template::{Language, Side};
use units::Nanos;

/// Servers and client libraries that others wrote
///
/// Each is a folder with a manifest and one small program in its own language; docs/SUBJECTS.md explains how to add
/// one.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
)]
pub(crate) struct Subjects {
    #[command(subcommand)]
    what: What,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench subjects list
  wirebench subjects new mine --role server --language python
  wirebench subjects install node-ws netty --packages";

#[derive(Debug, clap::Subcommand)]
enum What {
    /// List them, and show which are installed
    List {
        #[command(flatten)]
        places: Places,
    },
    /// Create a new one: a manifest and a program that works
    New(New),
    /// Check that they answer correctly
    Check {
        #[command(flatten)]
        named: Named,
        /// The longest time until one is ready
        #[arg(long, value_name = "TIME", default_value = "60s", value_parser = values::some_time)]
        ready_timeout: Nanos,
    },
    /// Install them, with what they need
    Install {
        #[command(flatten)]
        named: Named,
        /// Also install missing Debian packages
        #[arg(long)]
        packages: bool,
    },
}

#[derive(Debug, clap::Args)]
struct New {
    /// Its name: lowercase letters, digits and `-`
    #[arg(value_name = "NAME", value_parser = template::name)]
    name: String,
    /// Its role: server, client
    #[arg(long, value_name = "ROLE", value_enum, hide_possible_values = true)]
    role: Side,
    /// Its language: go, javascript, python
    #[arg(long, value_name = "LANGUAGE", value_enum, hide_possible_values = true)]
    language: Language,
    #[command(flatten)]
    places: Places,
}

/// Names of subjects, or all.
#[derive(Debug, clap::Args)]
struct Named {
    /// A subject
    #[arg(value_name = "NAME", required_unless_present = "all", conflicts_with = "all")]
    names: Vec<String>,
    /// All of them; for a check, all that are installed
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    places: Places,
}

impl Subjects {
    /// Does what was asked for.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        match self.what {
            What::List { places } => list(&places.find()?, terminal),
            What::New(new) => new.run(terminal),
            What::Check { named, ready_timeout } => check(&named, ready_timeout, terminal),
            What::Install { named, packages } => install(&named, packages, terminal),
        }
    }
}

/// Shows all subjects, a line each.
fn list(found: &Found, terminal: &Terminal) -> Result<Exit, Failure> {
    let mut rows =
        vec![["NAME", "ROLE", "LANGUAGE", "LIBRARY", "SPEAKS", "INSTALLED"].map(str::to_owned)];
    for subject in &found.catalogue.subjects {
        let manifest = &subject.manifest;
        let role = match manifest.role {
            Role::Client => "client",
            Role::Server => "server",
        };
        let installed = match found.home.state(subject) {
            State::Installed(_) => "yes",
            State::NotInstalled => "no",
            State::Outdated => "another version of it",
        };
        rows.push([
            subject.name.clone(),
            role.to_owned(),
            manifest.language.clone(),
            format!("{} {}", manifest.library, manifest.version),
            manifest.speaks.join(" "),
            installed.to_owned(),
        ]);
    }
    terminal.result(&table(&rows))?;
    for broken in &found.catalogue.broken {
        terminal.say_labelled(Label::Warning, &broken.to_string());
    }
    Ok(if found.catalogue.broken.is_empty() { Exit::DONE } else { Exit::PARTIAL })
}

impl New {
    /// Writes the files, and says what to do next.
    fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let folder = self.places.folder().join(&self.name);
        template::write(self.language, self.role, &folder)?;
        let (folder, name) = (folder.display(), &self.name);
        terminal.result(&format!("{}\n", report::escape(&folder.to_string())))?;
        let next = format!("wirebench subjects install {name} && wirebench subjects check {name}");
        terminal.say_labelled(Label::Next, &next);
        Ok(Exit::DONE)
    }
}

/// Installs the named subjects one after the other. Reports each that cannot be installed, and goes on with the others.
fn install(named: &Named, packages: bool, terminal: &Terminal) -> Result<Exit, Failure> {
    let found = named.places.find()?;
    let tools = Tools::new(subject_folders::launch()?, packages);
    let wish = signals::listen()?;
    let (mut done, mut failed) = (0, broken(named, &found, terminal));
    for subject in subjects(named, &found)? {
        let signal = wish.signal.load(Ordering::Relaxed);
        if signal != 0 {
            return Ok(Exit::of_signal(i32::try_from(signal).unwrap_or(-1)));
        }
        let name = &subject.name;
        match found.install(subject, &tools, terminal) {
            Ok(folder) => {
                done += 1;
                let folder = report::escape(&folder.display().to_string());
                terminal.result(&format!("{name} {folder}\n"))?;
            }
            Err(error @ InstallError::Unreachable { .. }) => {
                failed += 1;
                terminal.say_labelled(Label::Warning, &format!("{name}: skipped: {error}"));
            }
            Err(error) => {
                failed += 1;
                terminal.say_labelled(Label::Error, &format!("{name}: {error}"));
            }
        }
    }
    Ok(match (done, failed) {
        (_, 0) => Exit::DONE,
        (0, _) => Exit::UNREACHABLE,
        _ => Exit::PARTIAL,
    })
}

/// Checks that each subject does rightly what it is timed for.
fn check(named: &Named, ready_timeout: Nanos, terminal: &Terminal) -> Result<Exit, Failure> {
    let found = named.places.find()?;
    let launch = Launch { ready_timeout, ..subject_folders::launch()? };
    let wish = signals::listen()?;
    let mut failed = broken(named, &found, terminal);
    for subject in subjects(named, &found)? {
        let State::Installed(installed) = found.home.state(subject) else {
            if !named.all {
                failed += 1;
            }
            let name = &subject.name;
            let why = format!(
                "{name}: skipped: not installed; `wirebench subjects install {name}` does it"
            );
            terminal.say_labelled(Label::Warning, &why);
            continue;
        };
        let (installed, launch) = (&*installed, &launch);
        let questions = SubjectQuestions { subject, installed, launch };
        let checks = verify_subject(&questions, &wish.signal);
        let failures = checks.iter().filter(|check| check.failure().is_some()).count();
        terminal.result(&page(&subject.name, &checks, terminal.talk == Talk::Verbose))?;
        failed += usize::from(failures > 0);
        let signal = wish.signal.load(Ordering::Relaxed);
        if signal != 0 {
            return Ok(Exit::of_signal(i32::try_from(signal).unwrap_or(-1)));
        }
    }
    Ok(if failed == 0 { Exit::DONE } else { Exit::INVALID })
}

/// The result of the checks of a subject: those that failed, those that were not asked, and, if wanted, those that
/// passed.
fn page(name: &str, checks: &[Check], with_passed: bool) -> String {
    let passed = checks.iter().filter(|check| check.outcome == Outcome::Passed).count();
    let failures = checks.iter().any(|check| check.failure().is_some());
    let verdict = if failures { "FAILED" } else { "ok" };
    let mut lines = vec![format!("{name}: {verdict}, {passed} checks passed")];
    // Names one of the checks that were not asked for the same reason.
    let mut reasons: Vec<(&str, &str, usize)> = Vec::new();
    for Check { what, outcome } in checks {
        match outcome {
            Outcome::Failed(why) => {
                lines.extend(format!("  {what}: FAILED: {why}").lines().map(str::to_owned));
            }
            Outcome::NotAsked(why) => match reasons.iter_mut().find(|(_, reason, _)| reason == why)
            {
                Some((_, _, more)) => *more += 1,
                None => reasons.push((what, why, 0)),
            },
            Outcome::Passed if with_passed => lines.push(format!("  {what}: ok")),
            Outcome::Passed => {}
        }
    }
    for (what, why, more) in reasons {
        let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
        lines.push(format!("  {what}{more}: not asked, because {why}"));
    }
    lines.iter().map(|line| report::escape(line) + "\n").collect()
}

/// The subjects that are named, or all.
fn subjects<'a>(named: &Named, found: &'a Found) -> Result<Vec<&'a Subject>, Failure> {
    if named.all {
        return Ok(found.catalogue.subjects.iter().collect());
    }
    let is_broken =
        |name: &String| found.catalogue.broken.iter().any(|broken| broken.name == *name);
    named.names.iter().filter(|name| !is_broken(name)).map(|name| found.subject(name)).collect()
}

/// Says what is wrong with the manifests of the named subjects. Returns the number of broken ones.
fn broken(named: &Named, found: &Found, terminal: &Terminal) -> usize {
    let is_named = |name: &String| named.all || named.names.contains(name);
    let broken = found.catalogue.broken.iter().filter(|broken| is_named(&broken.name));
    broken.map(|broken| terminal.say_labelled(Label::Error, &broken.to_string())).count()
}

/// Columns, each as wide as its widest cell.
fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let mut page = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .enumerate()
            .map(|(column, cell)| format!("{cell:<width$}", width = width(column)))
            .collect();
        page += report::escape(cells.join("  ").trim_end()).as_ref();
        page.push('\n');
    }
    page
}
