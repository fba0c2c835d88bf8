//! An experiment, from its description to its end: resolved, carried out, kept, shown.
//!
//! Every command that measures ends here, with a [`File`] (of a URL, a preset, the ladder or the user's own) or an
//! experiment that is already resolved. Start reading at [`Execution::of_file`].

use super::export::Export;
use super::goal_options;
use super::outcome::{self, Output, Writers};
use super::subject_folders::{Found, Places};
use super::values;
use crate::ci::Ci;
use crate::config::Project;
use crate::exit::{Exit, Failure};
use crate::files;
use crate::metrics::Metrics;
use crate::terminal::{Label, Terminal};
use anyhow::Context as _;
use lab::{Home, InstallError, NoSuchSubject, State, Subject, Tools};
use record::{Footprint, Kind};
use run::{Host, JournalFile};
use spec::file::{Asked, Facts, File, Held, Role, Subjects};
use spec::{Context, Criteria, Experiment, LeftOut, Server, View};
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use units::Count;

/// Options of everything that measures.
#[derive(Debug, clap::Args)]
pub(crate) struct Execution {
    /// Fewer and shorter blocks, fewer loads
    #[arg(long)]
    pub(crate) quick: bool,
    /// All rows of a file, including those that it leaves out by default
    #[arg(long, conflicts_with = "only", hide_short_help = true)]
    pub(crate) all: bool,
    /// Only these rows of a file, by name or by a participant
    #[arg(long, value_name = "ROW,…", value_delimiter = ',', hide_short_help = true)]
    pub(crate) only: Vec<String>,
    /// Blocks of each row [default: 1 for a URL; for a file its own number, or 10]
    ///
    /// Each round has one block of each row. With 6 or more rounds every number has a 95 % interval.
    #[arg(long, visible_alias = "repeat", value_name = "COUNT", hide_short_help = true)]
    pub(crate) rounds: Option<Count>,
    /// Seed of the order, payloads and keys [default: from the clock]
    #[arg(long, value_name = "NUMBER", hide_short_help = true)]
    pub(crate) seed: Option<u64>,
    /// Print the experiment as JSON, and measure nothing
    ///
    /// The JSON has every default, and `wirebench run` takes it as a file. stderr says how long the experiment would
    /// take.
    #[arg(long, hide_short_help = true)]
    pub(crate) dry_run: bool,
    /// First install the subjects that are not installed
    #[arg(long, hide_short_help = true)]
    pub(crate) install: bool,
    /// With --install: also install missing Debian packages
    #[arg(long, requires = "install", hide_short_help = true)]
    pub(crate) packages: bool,
    /// Start over, even if the same experiment was interrupted
    #[arg(long, hide_short_help = true)]
    pub(crate) fresh: bool,
    /// Write the record for other tools too: csv, markdown, junit, go-benchmark, google-benchmark, k6; repeatable
    #[arg(long, value_name = "FORMAT=FILE", hide_short_help = true)]
    pub(crate) export: Vec<Export>,
    /// Serve metrics to Prometheus at this address while it runs, as in 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS", hide_short_help = true)]
    pub(crate) metrics: Option<SocketAddr>,
    /// Send metrics to this OpenTelemetry collector while it runs, as in http://127.0.0.1:4318
    #[arg(long, value_name = "URL", hide_short_help = true)]
    pub(crate) otlp: Option<String>,
    /// Load a public address; do so only with those that are yours to load
    #[arg(long, hide_short_help = true)]
    pub(crate) i_may_load_this_target: bool,
    /// Process of a running server whose CPU time and memory to read [default: whichever listens at the URL]
    ///
    /// CPU time and memory of the server are those of this process and of all that it started. Name it where it cannot
    /// be found by its socket: behind a container's port, or if it is another user's.
    #[arg(long, value_name = "PID", hide_short_help = true)]
    pub(crate) server_pid: Option<u32>,
    #[cfg(feature = "fleet")]
    #[command(flatten)]
    pub(crate) fleet: super::fleet_way::Way,
    #[command(flatten)]
    pub(crate) places: Places,
    #[command(flatten)]
    pub(crate) output: Output,
    /// The earlier record that limits are relative to.
    #[arg(skip)]
    pub(crate) baseline: Option<Arc<run::Baseline>>,
    /// The service to report the answer to; `None` if this is not a gate.
    #[arg(skip)]
    pub(crate) ci: Option<Rc<Ci>>,
}

impl Execution {
    /// Returns what these options ask for besides the content of a file.
    pub(crate) fn asked(&self) -> Asked {
        Asked {
            quick: self.quick,
            all: self.all,
            only: self.only.clone(),
            criteria: Criteria { rounds: self.rounds, ..Criteria::default() },
            public_allowed: self.i_may_load_this_target,
            ..Asked::default()
        }
    }

    /// Resolves the experiment of a file and carries it out. `kind` is the kind of the record; with `None` it follows
    /// from the experiment.
    pub(crate) fn of_file(
        self,
        file: File,
        asked: &Asked,
        kind: Option<Kind>,
        terminal: &Terminal,
    ) -> Result<Exit, Failure> {
        let file = file.with_defaults(Project::read(Path::new("."))?.run);
        let subjects = self.subjects(terminal)?;
        let contents = RefCell::new(BTreeMap::new());
        let resolve = |seed: u64| {
            // A pipe can be read once.
            let read = |path: &str, max| {
                let mut known = contents.borrow_mut();
                known.entry(path.to_owned()).or_insert_with(|| values::content(path, max)).clone()
            };
            let context = Context {
                read: &read,
                environment: &values::environment,
                pack: &values::packed,
                seed,
            };
            file.experiment(asked, &subjects, &context).map_err(Failure::usage)
        };
        let seed = match self.seed {
            Some(seed) => seed,
            None => {
                self.journal_seed(&resolve(0)?, &subjects).unwrap_or_else(values::seed_of_clock)
            }
        };
        let experiment = resolve(seed)?;
        self.carry_out(experiment, &subjects, kind, terminal)
    }

    /// Carries out an experiment that is already resolved: from a record or from JSON.
    pub(crate) fn of_experiment(
        self,
        experiment: Experiment,
        kind: Option<Kind>,
        terminal: &Terminal,
    ) -> Result<Exit, Failure> {
        let experiment = Experiment {
            seed: self.seed.unwrap_or(experiment.seed),
            rounds: self.rounds_of(&experiment)?,
            public_allowed: self.i_may_load_this_target,
            ..experiment
        };
        let subjects = self.subjects(terminal)?;
        let named = |workload: &spec::Workload| {
            let server = match &workload.server {
                Server::Subject(subject) => Some(subject.name.clone()),
                Server::Embedded(_) | Server::Given(_) | Server::Started(_) => None,
            };
            server
                .into_iter()
                .chain(workload.client.iter().map(|client| client.name.clone()))
                .collect::<Vec<_>>()
        };
        for name in experiment.workloads.iter().flat_map(named).collect::<BTreeSet<_>>() {
            subjects.ready(&name).map_err(|reason| Failure::usage(format!("{name}: {reason}")))?;
        }
        self.carry_out(experiment, &subjects, kind, terminal)
    }

    /// Returns the rounds that are asked for, or else those of the resolved experiment.
    fn rounds_of(&self, experiment: &Experiment) -> Result<u32, Failure> {
        let Some(Count(rounds)) = self.rounds else { return Ok(experiment.rounds) };
        let most = experiment.rounds.max(Experiment::ROUNDS_MAX);
        match u32::try_from(rounds).ok().filter(|rounds| (1..=most).contains(rounds)) {
            Some(rounds) if experiment.axis.is_none() && experiment.until.is_none() => Ok(rounds),
            Some(_) => Err(Failure::usage(
                "--rounds: the experiment already defines when it ends; leave it out",
            )),
            None => Err(Failure::usage(format!(
                "--rounds: {rounds}: between 1 and {most} are possible"
            ))),
        }
    }

    fn subjects<'a>(&'a self, terminal: &'a Terminal) -> Result<Known<'a>, Failure> {
        Ok(Known {
            places: &self.places,
            found: OnceCell::new(),
            install: self.install.then_some(terminal),
            tools: Tools::new(super::subject_folders::launch()?, self.packages),
            ready: RefCell::default(),
        })
    }

    fn carry_out(
        &self,
        experiment: Experiment,
        subjects: &Known<'_>,
        kind: Option<Kind>,
        terminal: &Terminal,
    ) -> Result<Exit, Failure> {
        for LeftOut { name, reason } in &experiment.left_out {
            terminal.say_labelled(Label::Warning, &format!("{name} is left out: {reason}"));
        }
        #[cfg(feature = "fleet")]
        let experiment = self.fleet.together(experiment)?;
        let installed = |name: &str| subjects.installed(name);
        let plan = run::Plan::new(experiment, &installed)
            .map_err(|error| Failure::usage(format!("--{error}")))?;
        if self.dry_run {
            return dry_run(&plan, terminal);
        }
        let experiment = &plan.experiment;
        goal_options::check(experiment, self.baseline.is_some(), self.ci.is_some())?;
        let metrics = Metrics::open(self.metrics, self.otlp.as_deref())?;
        metrics.announce(terminal);
        let writers = Writers {
            output: &self.output,
            exports: &self.export,
            ci: self.ci.as_deref(),
            metrics: &metrics,
        };
        let secrets = experiment.secrets();
        let kind = kind.unwrap_or_else(|| kind_of(experiment));
        let (baseline, server_pid) = (self.baseline.clone(), self.server_pid);
        let host = Host { baseline, server_pid, ..outcome::host(kind)? };
        #[cfg(feature = "fleet")]
        if let Some(fleet) = self.fleet.open(&plan, &host, terminal)? {
            let of_lab = (kind == Kind::Lab).then(|| lab(experiment, Vec::new()));
            let host = Host { lab: of_lab, ..host };
            let ended = outcome::carry_out(&host, &writers, terminal, |with| {
                fleet.execute(&plan, &host, with.feed, with.commands)
            });
            return ended.map_err(|failure| failure.without(&secrets));
        }
        if kind != Kind::Lab {
            let mut book = journal(&host).map_err(Failure::from)?;
            let ended = outcome::carry_out(&host, &writers, terminal, |with| {
                run::execute(&plan, &host, with.feed, &mut book, with.commands)
            });
            return close(book, ended.map_err(|failure| failure.without(&secrets)), terminal);
        }
        let mut book = self.book(experiment, subjects).map_err(Failure::from)?;
        // The screen would cover it, and afterwards it would be above the page, which then would not fit.
        if !terminal.has_screen {
            terminal.say(&told(experiment, book.blocks()));
        }
        let ended = outcome::carry_out(&host, &writers, terminal, |with| {
            // Before the first block: between two blocks it would disturb the later ones.
            let footprints = match experiment.show.contains(&View::Footprint) {
                true => self.footprints(experiment, subjects, terminal, with.interrupt),
                false => Vec::new(),
            };
            let host = Host { lab: Some(lab(experiment, footprints)), ..host.clone() };
            run::execute(&plan, &host, with.feed, &mut book, with.commands)
        });
        let ended = ended.map_err(|failure| failure.without(&secrets));
        if matches!(&ended, Ok(exit) if !Exit::OF_SIGNALS.contains(exit)) {
            return close(book, ended, terminal);
        }
        terminal.say("run the same command again to continue; --fresh starts over");
        ended
    }

    /// Returns the footprints of the subjects of all rows: those that were kept, and those measured now.
    fn footprints(
        &self,
        experiment: &Experiment,
        subjects: &Known<'_>,
        terminal: &Terminal,
        interrupt: &AtomicUsize,
    ) -> Vec<Footprint> {
        let Ok(found) = subjects.found() else { return Vec::new() };
        let home: &Home = &found.home;
        let mut all: Vec<Footprint> = Vec::new();
        for name in participants(experiment) {
            let Ok(subject) = found.catalogue.find(&name) else { continue };
            let not_weighed = |why: &str| {
                let reason = format!("{why}; `wirebench footprint {name}` measures it");
                lab::not_weighed(subject, &reason)
            };
            let is_interrupted = || interrupt.load(Ordering::Relaxed) != 0;
            all.push(match (home.kept_footprint(subject), home.state(subject)) {
                (Some(kept), _) => kept,
                (None, _) if self.quick => not_weighed("not measured in a quick run"),
                (None, _) if is_interrupted() => not_weighed("interrupted"),
                (None, State::Installed(installed)) => {
                    let weighed =
                        super::footprint::weigh(subject, &installed, &subjects.tools, terminal);
                    // The same signal may have ended the tools that measure it.
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

    /// Opens the journal of the experiment if it was interrupted, or else a new one.
    fn book(&self, experiment: &Experiment, subjects: &Known<'_>) -> anyhow::Result<JournalFile> {
        let named = |error: io::Error| {
            anyhow::anyhow!("cannot keep a journal in {}: {error}", files::JOURNALS)
        };
        let (path, plan) = journal_of(experiment, subjects);
        if self.fresh {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(named(error)),
                Ok(()) | Err(_) => {}
            }
        }
        JournalFile::open(&path, &format!("{plan} {}", experiment.seed)).map_err(named)
    }

    /// The seed of the interrupted experiment that this one continues, if there is one.
    fn journal_seed(&self, experiment: &Experiment, subjects: &Known<'_>) -> Option<u64> {
        if self.fresh || kind_of(experiment) != Kind::Lab {
            return None;
        }
        let (path, plan) = journal_of(experiment, subjects);
        let mut first = String::new();
        BufReader::new(fs::File::open(path).ok()?)
            .take(FIRST_LINE_MAX)
            .read_line(&mut first)
            .ok()?;
        first.trim_end().strip_prefix(&plan)?.trim_start().parse().ok()
    }
}

/// The kind of record that an experiment leaves behind.
fn kind_of(experiment: &Experiment) -> Kind {
    match (&experiment.axis, experiment.baseline) {
        _ if experiment.sides().is_some() => Kind::Ab,
        (Some(_), _) => Kind::Sweep,
        (None, Some(_)) => Kind::Lab,
        (None, None) => Kind::Run,
    }
}

/// Prints the experiment and the time that it takes.
fn dry_run(plan: &run::Plan, terminal: &Terminal) -> Result<Exit, Failure> {
    let json = serde_json::to_string_pretty(&plan.experiment).expect("its keys are texts");
    terminal.result(&(json + "\n"))?;
    let ends_itself = plan.experiment.axis.is_some() || plan.experiment.until.is_some();
    let at_most = if ends_itself { "at most" } else { "about" };
    terminal.say(&format!("would take {at_most} {}; nothing was measured", plan.expected()));
    Ok(Exit::DONE)
}

/// A sentence on what is about to be done.
fn told(experiment: &Experiment, done: usize) -> String {
    let (rows, rounds) = (experiment.workloads.len(), experiment.rounds as usize);
    let blocks = rows * rounds;
    let question = &experiment.question;
    let at_most = if experiment.until.is_some() { "at most " } else { "" };
    let went_on = match done {
        0 => String::new(),
        done => format!(
            "; goes on where it was interrupted, with {} of them left",
            blocks.saturating_sub(done)
        ),
    };
    format!(
        "{question}\nrows under their loads: {rows}, rounds: {at_most}{rounds}, blocks: {blocks}{went_on}"
    )
}

/// The journal of a run that begins now.
fn journal(host: &Host) -> anyhow::Result<JournalFile> {
    let name = format!("{}-{}.jsonl", files::stem(host.kind, &host.started_at), std::process::id());
    let path = Path::new(files::JOURNALS).join(name);
    JournalFile::open(&path, env!("CARGO_PKG_VERSION"))
        .with_context(|| format!("cannot keep a journal in {}", path.display()))
}

/// Removes the journal of a run whose record was kept, or that has no block.
fn close(
    book: JournalFile,
    ended: Result<Exit, Failure>,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let path = book.path().display().to_string();
    if ended.is_err() && book.blocks() > 0 {
        let blocks = book.blocks();
        terminal.say(&format!("blocks kept: {blocks}; see `wirebench show --recover {path}`"));
    } else if let Err(error) = book.finish() {
        // The record has all blocks, or there were none.
        terminal.say_labelled(Label::Warning, &format!("the journal {path}: {error}"));
    }
    ended
}

/// The question of a lab, and the rows that could not be measured.
fn lab(experiment: &Experiment, footprints: Vec<Footprint>) -> record::Lab {
    record::Lab {
        question: experiment.question.clone(),
        views: experiment.show.clone(),
        published: experiment.published.clone(),
        left_out: experiment.left_out.clone(),
        footprints,
    }
}

/// The names of all subjects of an experiment, each once, in their order.
fn participants(experiment: &Experiment) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for workload in &experiment.workloads {
        let server = match &workload.server {
            Server::Subject(subject) => Some(&subject.name),
            Server::Embedded(_) | Server::Given(_) | Server::Started(_) => None,
        };
        for name in server.into_iter().chain(workload.client.as_ref().map(|client| &client.name)) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    names
}

/// The journal of an experiment, and its first line without the seed. Both stay the same until the experiment or one of
/// its subjects changes.
fn journal_of(experiment: &Experiment, subjects: &Known<'_>) -> (PathBuf, String) {
    let mut unseeded = Experiment { seed: 0, ..experiment.clone() };
    unseeded.workloads.iter_mut().for_each(|workload| workload.seed = 0);
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(&unseeded).expect("its keys are texts").hash(&mut hasher);
    let participants = participants(experiment);
    if !participants.is_empty()
        && let Ok(found) = subjects.found()
    {
        let manifests = participants.iter().filter_map(|name| found.catalogue.find(name).ok());
        manifests.for_each(|subject| format!("{subject:?}").hash(&mut hasher));
    }
    let plan = format!("wirebench {} {:016x}", env!("CARGO_PKG_VERSION"), hasher.finish());
    (PathBuf::from(files::JOURNALS).join(format!("{:016x}.jsonl", hasher.finish())), plan)
}

/// The available subjects, looked up when the first one is named; each is installed once if that is asked for.
struct Known<'a> {
    places: &'a Places,
    found: OnceCell<Result<Found, String>>,
    /// The terminal that shows the progress of installing; `None`: nothing is installed.
    install: Option<&'a Terminal>,
    tools: Tools,
    ready: RefCell<BTreeMap<String, Result<(), String>>>,
}

impl Known<'_> {
    fn found(&self) -> Result<&Found, String> {
        let find = || self.places.find().map_err(|failure| failure.to_string());
        self.found.get_or_init(find).as_ref().map_err(Clone::clone)
    }

    /// A subject that is installed, and its folder.
    fn installed(&self, name: &str) -> Result<(Subject, PathBuf), String> {
        let found = self.found()?;
        let subject = found.catalogue.find(name).map_err(|error| error.to_string())?;
        match found.home.state(subject) {
            State::Installed(folder) => Ok((subject.clone(), folder)),
            State::NotInstalled | State::Outdated => Err(format!("{name} is not installed")),
        }
    }

    fn make_ready(&self, name: &str) -> Result<(), String> {
        let found = self.found()?;
        let subject = found.catalogue.find(name).map_err(|error| error.to_string())?;
        if let Some(terminal) = self.install {
            return match found.install(subject, &self.tools, terminal) {
                Ok(_) => Ok(()),
                Err(error @ InstallError::Unreachable { .. }) => Err(format!("skipped: {error}")),
                Err(error) => Err(error.to_string()),
            };
        }
        match found.home.state(subject) {
            State::Installed(_) => Ok(()),
            State::NotInstalled => {
                Err(format!("not installed; `wirebench subjects install {name}` does it"))
            }
            State::Outdated => Err(format!(
                "has changed since it was installed; `wirebench subjects install {name}` installs it again"
            )),
        }
    }
}

impl Subjects for Known<'_> {
    fn find(&self, name: &str) -> Result<Result<Facts, String>, String> {
        match self.found()?.catalogue.find(name) {
            Ok(subject) => Ok(Ok(facts(subject))),
            Err(NoSuchSubject::Broken(broken)) => Ok(Err(broken.to_string())),
            Err(error) => Err(error.to_string()),
        }
    }

    fn refusal(&self, name: &str, method: &str, path: &str) -> Option<String> {
        let subject = self.found().ok()?.catalogue.find(name).ok()?;
        subject.manifest.limits.refusal_of_request(method, path)
    }

    fn ready(&self, name: &str) -> Result<(), String> {
        let known = self.ready.borrow().get(name).cloned();
        known.unwrap_or_else(|| {
            let ready = self.make_ready(name);
            self.ready.borrow_mut().insert(name.to_owned(), ready.clone());
            ready
        })
    }
}

/// Everything that an experiment needs to know about a subject.
fn facts(subject: &Subject) -> Facts {
    let manifest = &subject.manifest;
    Facts {
        name: subject.name.clone(),
        role: match manifest.role {
            lab::Role::Client => Role::Client,
            lab::Role::Server => Role::Server,
        },
        speaks: manifest.speaks.clone(),
        conversations: subject.conversations.iter().map(held).collect(),
        replies: manifest.replies,
        works: manifest.works,
        text_only: manifest.limits.text_only,
        connections_max: manifest.limits.connections_max,
        why: manifest.limits.why.clone(),
    }
}

/// Converts a conversation to the form that an experiment uses.
fn held(lab::Held { asked, conversation }: &lab::Held) -> Held {
    Held {
        name: conversation.name.clone(),
        asked: asked.clone(),
        carriers: conversation.carriers(),
        has_rooms: conversation.pushes.iter().any(|push| push.header.is_some()),
        needs_rooms: conversation.publishers.is_some(),
    }
}

/// The limit for reading the first line of a journal, which is much shorter.
const FIRST_LINE_MAX: u64 = 1024;
