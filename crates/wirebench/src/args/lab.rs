//! `wirebench lab FILE`: subjects set beside each other and a bare TCP socket.

mod definition;
mod matrix;

use super::export::Export;
use super::outcome::{self, Output};
use super::places::{Found, Places};
use super::values;
use crate::config::Settings;
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use definition::{Definition, Source};
use lab::{InstallError, NoSuchSubject, State, Subject, Tools};
use matrix::{Asked, Cell, Matrix};
use record::{Ended, Footprint, LeftOut, RunRecord, View};
use run::{JournalFile, Measurement, Order, Peer, Plan, SubjectClient, SubjectServer};
use spec::Protocol;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use units::Nanos;

/// As it is typed.
pub(crate) const NAME: &str = "lab";

/// Set servers and client libraries beside each other and bare TCP
///
/// The file says which subjects are measured over which transports under which loads (docs/LAB.md). Each is asked
/// whether it answers rightly before it is timed; blocks take turns in random order; row zero is a bare TCP socket of
/// ours. A lab that was interrupted goes on where it was when the same command is given again.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_help = "`--help` has all options, docs/LAB.md the format of the file.",
    after_long_help = super::exit_codes(),
    help_template = super::TEMPLATE,
)]
pub(crate) struct Lab {
    /// What is measured
    #[arg(value_name = "FILE.toml")]
    file: String,
    /// Fewer and shorter blocks, fewer loads
    #[arg(long)]
    quick: bool,
    /// Only these rows, by name or by who takes part
    #[arg(long, value_name = "ROW,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Install first what is not installed
    #[arg(long)]
    install: bool,
    /// With --install: Debian's packages that are missing too
    #[arg(long, requires = "install", hide_short_help = true)]
    packages: bool,
    /// Turns of each row [default: the file's, or 10]
    #[arg(long, value_name = "COUNT", value_parser = values::rounds)]
    rounds: Option<NonZeroU32>,
    /// Length of each turn [default: the file's, or 1s]
    #[arg(long, value_name = "TIME", value_parser = values::some_time)]
    block: Option<Nanos>,
    /// For order and payload [default: from the clock]
    #[arg(long, value_name = "NUMBER", hide_short_help = true)]
    seed: Option<u64>,
    /// Begin anew, whatever was interrupted
    #[arg(long)]
    fresh: bool,
    /// For other tools: csv, markdown, google-benchmark
    ///
    /// The record is written in that format too, beside itself. Repeatable.
    #[arg(long, value_name = "FORMAT=FILE")]
    export: Vec<Export>,
    #[command(flatten)]
    places: Places,
    #[command(flatten)]
    output: Output,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench lab experiments/published/kifi.toml --quick
  wirebench lab mine.toml --install --only node-ws,netty
  wirebench lab mine.toml --export csv=mine.csv";

impl Lab {
    /// Measures all cells, keeps the record, shows the table.
    pub(crate) fn run(mut self, settings: &Settings, terminal: &Terminal) -> Result<Exit, Failure> {
        let text = definition::text_of(&self.file).map_err(Failure::usage)?;
        let source = Source { name: &self.file, text: &text };
        let definition = definition::read(source).map_err(Failure::usage)?;
        let subjects = Known {
            found: self.places.find()?,
            install: self.install.then_some(terminal),
            tools: Tools::new(super::places::launch()?, self.packages),
            ready: RefCell::default(),
        };
        let matrix = matrix::matrix(&definition, &subjects, &self.asked(&definition), source);
        let matrix = matrix.map_err(Failure::usage)?;
        for LeftOut { name, reason } in &matrix.left_out {
            terminal.say_labelled(
                crate::terminal::Label::Warning,
                &format!("{name} is left out: {reason}"),
            );
        }
        let rounds = self.rounds(&definition);
        let mut book = Book::open(&self, &matrix, rounds).map_err(Failure::from)?;
        let seed = book.seed;
        let plan = self.plan(&subjects, &matrix, rounds, seed).map_err(Failure::usage)?;
        terminal.say(&told(&definition, &matrix, rounds, book.journal.blocks()));
        let repeat = outcome::Repeat::new(NAME, Some(self.file.clone()), settings, seed);
        self.output.exports = std::mem::take(&mut self.export);
        let ended =
            outcome::carry_out_by(record::Kind::Lab, &repeat, &self.output, terminal, |with| {
                let interrupt = with.interrupt;
                // Before the first block: between two of them it would cost those after it.
                let footprints = match definition.views().contains(&View::Footprint) {
                    true => self.footprints(&subjects, &matrix, terminal, interrupt),
                    false => Vec::new(),
                };
                let record =
                    run::execute(&plan, with.host, with.feed, &mut book.journal, with.commands)?;
                Ok(written(record, &definition, &matrix, footprints))
            });
        if matches!(&ended, Ok(exit) if ![Exit::INTERRUPTED, Exit::TERMINATED].contains(exit)) {
            book.close();
        } else {
            terminal.say("the same command goes on where this one stopped; --fresh begins anew");
        }
        ended
    }

    /// What is asked besides what the file says.
    fn asked(&self, definition: &Definition) -> Asked<'_> {
        let of_quick = definition.quick.block.filter(|_| self.quick);
        let usual = if self.quick { BLOCK_QUICK } else { BLOCK };
        let block = self
            .block
            .or_else(|| of_quick.or(definition.block).map(|block| block.0))
            .unwrap_or(usual);
        Asked { quick: self.quick, only: &self.only, block }
    }

    fn rounds(&self, definition: &Definition) -> NonZeroU32 {
        let of_quick = definition.quick.rounds.filter(|_| self.quick);
        let usual = if self.quick { ROUNDS_QUICK } else { ROUNDS };
        self.rounds
            .or_else(|| of_quick.or(definition.rounds).map(|rounds| rounds.0))
            .unwrap_or(usual)
    }

    /// What the subjects of all rows need to be shipped: what was kept of it, and what is measured now.
    fn footprints(
        &self,
        subjects: &Known<'_>,
        matrix: &Matrix,
        terminal: &Terminal,
        interrupt: &AtomicUsize,
    ) -> Vec<Footprint> {
        let home = &subjects.found.home;
        let mut all: Vec<Footprint> = Vec::new();
        for subject in matrix.cells.iter().flat_map(|cell| [&cell.server, &cell.client]).flatten() {
            let name = &subject.name;
            if all.iter().any(|known| known.subject == *name) {
                continue;
            }
            let not_weighed = |why: &str| {
                let reason = format!("{why}; `wirebench footprint {name}` measures it");
                lab::not_weighed(subject, &reason)
            };
            let is_interrupted = || interrupt.load(Ordering::Relaxed) != 0;
            all.push(match (home.kept_footprint(subject), home.state(subject)) {
                (Some(kept), _) => kept,
                (None, _) if self.quick => not_weighed("not measured in a quick lab"),
                (None, _) if is_interrupted() => not_weighed("interrupted"),
                (None, State::Installed(installed)) => {
                    let weighed =
                        super::footprint::weigh(subject, &installed, &subjects.tools, terminal);
                    // The same signal may have ended what was asked.
                    if let (Ok(weighed), false) = (&weighed, is_interrupted()) {
                        super::footprint::keep(home, subject, weighed, terminal);
                    }
                    weighed.unwrap_or_else(|error| not_weighed(&error.to_string()))
                }
                (None, State::NotInstalled | State::Outdated) => not_weighed("not installed"),
            });
        }
        all
    }

    /// What is to be done.
    fn plan(
        &self,
        subjects: &Known<'_>,
        matrix: &Matrix,
        rounds: NonZeroU32,
        seed: u64,
    ) -> Result<Plan, String> {
        let measurement = |cell| {
            measurement(cell, subjects, seed)
                .map_err(|problem| format!("{}: {}: {problem}", self.file, cell.name))
        };
        let layers = matrix.cells.iter().enumerate().filter_map(|(workload, cell)| {
            let (base, name) = cell.layer.clone()?;
            Some(record::Layer { workload, base, name })
        });
        Ok(Plan {
            measurements: matrix.cells.iter().map(measurement).collect::<Result<_, _>>()?,
            rounds: rounds.get(),
            order: Order::Shuffled,
            baseline: Some(0),
            layers: layers.collect(),
            seed,
            public_allowed: false,
            jit_warm_up_max: if self.quick { JIT_WARM_UP_MAX_QUICK } else { Plan::JIT_WARM_UP_MAX },
        })
    }
}

/// What `wirebench run` would measure with what is said of a cell, with its server and its client.
fn measurement(cell: &Cell, subjects: &Known<'_>, seed: u64) -> Result<Measurement, String> {
    let place = if cell.scheme.protocol == Protocol::Unix { "/nowhere" } else { "127.0.0.1:1" };
    let mut words = vec![format!("{}://{place}", cell.scheme)];
    words.extend(cell.words.iter().cloned());
    words.extend(["--seed".to_owned(), seed.to_string()]);
    let measurement = super::run::measurement(&words)?;
    let folder = |subject: &Subject| match subjects.found.home.state(subject) {
        State::Installed(folder) => Ok(folder),
        State::NotInstalled | State::Outdated => Err(format!("{} is not installed", subject.name)),
    };
    let peer = match &cell.server {
        None => Peer::Embedded(cell.scheme.into()),
        Some(subject) => Peer::Subject(SubjectServer {
            subject: Arc::clone(subject),
            installed: folder(subject)?,
            scheme: cell.scheme,
            path: cell.path.clone(),
        }),
    };
    let client = cell.client.as_ref().map(|subject| {
        let host = cell.host.clone();
        Ok::<_, String>(SubjectClient {
            subject: Arc::clone(subject),
            installed: folder(subject)?,
            host,
        })
    });
    Ok(Measurement {
        name: cell.name.clone(),
        peer,
        reply: cell.reply.clone(),
        client: client.transpose()?,
        baseline: cell.base,
        ..measurement
    })
}

/// What is about to be done, before it is.
fn told(definition: &Definition, matrix: &Matrix, rounds: NonZeroU32, done: usize) -> String {
    let (cells, rounds) = (matrix.cells.len(), rounds.get() as usize);
    let blocks = cells * rounds;
    let question = &definition.question;
    let went_on = match done {
        0 => String::new(),
        done => format!(
            "; goes on where it was interrupted, with {} of them left",
            blocks.saturating_sub(done)
        ),
    };
    format!("{question}\n{cells} rows under their loads, {rounds} rounds: {blocks} blocks{went_on}")
}

/// `record`, with what was asked and what could not be answered.
fn written(
    mut record: RunRecord,
    definition: &Definition,
    matrix: &Matrix,
    footprints: Vec<Footprint>,
) -> RunRecord {
    let left_out = matrix.left_out.clone();
    if record.ended == Ended::Completed && !left_out.is_empty() {
        let names: Vec<&str> = left_out.iter().map(|left| left.name.as_str()).collect();
        record.ended = Ended::Partial { reason: format!("left out: {}", names.join(", ")) };
    }
    record.lab = Some(record::Lab {
        question: definition.question.clone(),
        views: definition.views(),
        published: definition.published(),
        left_out,
        footprints,
    });
    record
}

/// Subjects that are asked for by name, each installed once if that is wanted.
struct Known<'a> {
    found: Found,
    /// Where it is told, if what is not installed is to be.
    install: Option<&'a Terminal>,
    /// With Debian's packages that are missing, if they may be installed.
    tools: Tools,
    ready: RefCell<BTreeMap<String, Result<(), String>>>,
}

impl matrix::Subjects for Known<'_> {
    fn find(&self, name: &str) -> Result<Result<Arc<Subject>, String>, String> {
        match self.found.catalogue.find(name) {
            Ok(subject) => Ok(Ok(Arc::new(subject.clone()))),
            Err(NoSuchSubject::Broken(broken)) => Ok(Err(broken.to_string())),
            Err(error) => Err(error.to_string()),
        }
    }

    fn ready(&self, subject: &Subject) -> Result<(), String> {
        let known = self.ready.borrow().get(&subject.name).cloned();
        known.unwrap_or_else(|| {
            let ready = self.make_ready(subject);
            self.ready.borrow_mut().insert(subject.name.clone(), ready.clone());
            ready
        })
    }
}

impl Known<'_> {
    fn make_ready(&self, subject: &Subject) -> Result<(), String> {
        if let Some(terminal) = self.install {
            return match self.found.install(subject, &self.tools, terminal) {
                Ok(_) => Ok(()),
                Err(error @ InstallError::Unreachable { .. }) => Err(format!("skipped: {error}")),
                Err(error) => Err(error.to_string()),
            };
        }
        let name = &subject.name;
        match self.found.home.state(subject) {
            State::Installed(_) => Ok(()),
            State::NotInstalled => {
                Err(format!("not installed; `wirebench subjects install {name}` does it"))
            }
            State::Outdated => Err(format!(
                "has changed since it was installed; `wirebench subjects install {name}` does it anew"
            )),
        }
    }
}

/// What is kept of a lab while it goes on.
struct Book {
    journal: JournalFile,
    /// What everything random follows from: that of the lab that is gone on with, where there is one.
    seed: u64,
}

impl Book {
    /// The journal of the same matrix, if there is one, or a new one.
    fn open(lab: &Lab, matrix: &Matrix, rounds: NonZeroU32) -> anyhow::Result<Self> {
        let named =
            |error: io::Error| anyhow::anyhow!("cannot keep a journal in {JOURNALS}: {error}");
        let stem = Path::new(&lab.file).file_stem().unwrap_or_default().to_string_lossy();
        let mut hasher = DefaultHasher::new();
        format!("{:?} {rounds}", fingerprint(matrix)).hash(&mut hasher);
        let plan = format!("wirebench {} {:016x}", env!("CARGO_PKG_VERSION"), hasher.finish());
        let path = PathBuf::from(JOURNALS).join(format!("{stem}-{:016x}.jsonl", hasher.finish()));
        fs::create_dir_all(JOURNALS).map_err(named)?;
        if lab.fresh {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(named(error)),
                Ok(()) | Err(_) => {}
            }
        }
        let seed = lab.seed.or_else(|| seed_of(&path, &plan));
        let seed = values::seed_or_clock(seed);
        let journal = JournalFile::open(&path, &format!("{plan} {seed}")).map_err(named)?;
        Ok(Self { journal, seed })
    }

    /// Nothing is to be gone on with.
    fn close(self) {
        // What is left there is begun anew by whoever finds it.
        self.journal.finish().ok();
    }
}

/// What makes a matrix the same again: names, options, and the subjects as they are now.
fn fingerprint(matrix: &Matrix) -> (Vec<String>, BTreeSet<String>) {
    let cells = matrix.cells.iter().map(|cell| {
        let Cell { name, scheme, words, reply, host, path, base, .. } = cell;
        format!("{name} {scheme} {words:?} {reply:?} {host:?} {path:?} {base:?}")
    });
    let subjects = matrix.cells.iter().flat_map(|cell| [&cell.server, &cell.client]).flatten();
    (cells.collect(), subjects.map(|subject| format!("{subject:?}")).collect())
}

/// The seed on the first line of a journal of this plan.
fn seed_of(path: &Path, plan: &str) -> Option<u64> {
    let mut first = String::new();
    BufReader::new(fs::File::open(path).ok()?).take(FIRST_LINE_MAX).read_line(&mut first).ok()?;
    first.trim_end().strip_prefix(plan)?.trim_start().parse().ok()
}

/// Where journals are, under the current directory.
const JOURNALS: &str = ".wirebench/lab";
/// The first line of a journal is much shorter.
const FIRST_LINE_MAX: u64 = 1024;
const ROUNDS: NonZeroU32 = NonZeroU32::new(10).expect("it is not zero");
const ROUNDS_QUICK: NonZeroU32 = NonZeroU32::new(3).expect("it is not zero");
const BLOCK: Nanos = Nanos::from_secs(1);
const BLOCK_QUICK: Nanos = Nanos::from_millis(300);
const JIT_WARM_UP_MAX_QUICK: Nanos = Nanos::from_secs(5);
