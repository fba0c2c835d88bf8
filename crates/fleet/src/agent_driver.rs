//! The agent's driver: connects the state machine with the bus, the disk and the executor.
//!
//! The bus has a thread of its own, and so has each measured part; the driver waits for events from both.
//!
//! Start reading at [`work`].

use crate::agent::{Action, Agent, Event, Measured, Options, Task};
use crate::join::Join;
use crate::live::Second;
use crate::merge::pack;
use crate::nats::{Bus, ConnectError, Heard, Member, Order};
use crate::protocol::{BlockId, Health, Hello, Instance, Kind, Live, Name, PartResult, Refusal};
use crate::raw_times::Folder;
use crate::spool::Spool;
use crate::target::{Targets, shown};
use engine::clock::Clock;
use engine::thread;
use record::Traffic;
use run::{
    Commands, Feed, Heard as Told, Host, Looked, Part, PartMeasured, Phase, Plan, RunError,
    Starter, Watching,
};
use spec::{Experiment, Load, Server, Spacing, Stop, Workload};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use units::{Bytes, Instant, Nanos, Rate};

/// An agent.
#[derive(Debug)]
pub struct Asked {
    /// Its join file.
    pub join: Join,
    /// Everything that it says about itself.
    pub hello: Hello,
    /// The folder for results that are not in the log yet.
    pub spool: PathBuf,
    /// The folder for the raw times of its parts, if they are wanted.
    pub raw_times: Option<PathBuf>,
    /// The targets that it may load.
    pub targets: Targets,
    /// The server that it watches, if that is its task.
    pub watching: Option<Watching>,
    /// The secrets of its targets.
    pub secrets: Secrets,
    /// The host.
    pub host: Host,
}

/// The secrets of targets, which a plan names but never contains: each agent reads them on its own machine.
#[derive(Clone, Debug)]
pub struct Secrets {
    /// Files with header fields, one on each line, as options name them: `@FILE`.
    pub fields: Vec<String>,
    /// The function that reads those files.
    pub read: fn(&str, Bytes) -> Result<Vec<u8>, String>,
}

/// The reason why an agent ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkError {
    /// There is no connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The server no longer lets it in.
    #[error("{0}")]
    Over(String),
    /// The folder for results cannot be used.
    #[error("cannot keep results in {folder}: {error}; name another folder with --state DIR")]
    Spool {
        /// The folder.
        folder: String,
        /// The reason.
        error: std::io::Error,
    },
    /// The folder for raw times cannot be used.
    #[error("cannot keep raw times in {folder}: {error}; name another folder with --raw-times DIR")]
    RawTimes {
        /// The folder.
        folder: String,
        /// The reason.
        error: std::io::Error,
    },
}

/// Something that the driver waits for.
enum In {
    Heard(Heard),
    Event(Event),
    Live(Box<Live>),
    /// Words for the user.
    Say(String),
}

/// Works as an agent until `signal` asks to stop: once to finish what is underway, twice to end at once. `say` gets the
/// words for the user.
///
/// # Errors
///
/// [`WorkError`].
pub fn work(
    asked: Asked,
    signal: &AtomicUsize,
    say: &mut dyn FnMut(&str),
) -> Result<(), WorkError> {
    let Asked { join, hello, spool, raw_times, targets, watching, secrets, host } = asked;
    let failed = |error| WorkError::Spool { folder: spool.display().to_string(), error };
    let disk = Spool::open(&spool).map_err(failed)?;
    let left = disk.left().map_err(failed)?;
    let open = |path: PathBuf| {
        let folder = Folder::open(&path, hello.agent.clone());
        folder.map_err(|error| WorkError::RawTimes { folder: path.display().to_string(), error })
    };
    let raw_times = raw_times.map(open).transpose()?;
    let clock = Clock::start();
    let (tell, told) = channel();
    let member = Member::Agent(hello.agent.clone(), hello.instance);
    let hear = tell.clone();
    let bus = Bus::connect(&join, member, move |heard| drop(hear.send(In::Heard(heard))))?;
    say(&format!("{} is connected to {}", hello.agent, join.url));
    let (agent, instance, kind) = (hello.agent.clone(), hello.instance, hello.kind);
    let mut worker = Worker {
        agent: Agent::new(Options { hello, spool: left }),
        name: agent,
        instance,
        kind,
        bus,
        disk,
        raw_times,
        targets,
        watching,
        secrets,
        host: Arc::new(host),
        clock,
        tell,
        part: None,
        is_over: false,
    };
    let mut signals = 0;
    loop {
        let now = clock.now();
        let wait = Nanos(worker.agent.deadline().0.saturating_sub(now.0)).min(LOOK_EVERY);
        let event = match told.recv_timeout(wait.into()) {
            Ok(In::Event(event)) => Some(event),
            Ok(In::Live(live)) => {
                worker.bus.order(Order::Live(*live));
                None
            }
            Ok(In::Say(words)) => {
                say(&words);
                None
            }
            Ok(In::Heard(heard)) => match heard {
                Heard::Bus(event) => Some(Event::Bus(event)),
                Heard::Command(number, command) => Some(Event::Command(number, command)),
                Heard::Problem(words) => {
                    say(&words);
                    None
                }
                Heard::Over(words) => return Err(WorkError::Over(words)),
                Heard::Controller(_) | Heard::Live(_) => None,
            },
            Err(RecvTimeoutError::Timeout) => Some(Event::Tick),
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        let mut events: Vec<Event> = event.into_iter().collect();
        if signal.swap(0, Ordering::Relaxed) != 0 {
            signals += 1;
            if signals > 1 {
                return Ok(());
            }
            events.push(Event::Signal);
        }
        for event in events {
            for action in worker.agent.handle(event, clock.now()) {
                worker.perform(action, say);
            }
        }
        if worker.is_over {
            return Ok(());
        }
    }
}

struct Worker {
    agent: Agent,
    name: Name,
    instance: Instance,
    kind: Kind,
    bus: Bus,
    disk: Spool,
    raw_times: Option<Folder>,
    targets: Targets,
    watching: Option<Watching>,
    secrets: Secrets,
    host: Arc<Host>,
    clock: Clock,
    tell: Sender<In>,
    part: Option<Held>,
    is_over: bool,
}

/// A part that is being prepared or measured.
struct Held {
    block: BlockId,
    /// Set to a signal's number to stop it.
    stop: Arc<AtomicUsize>,
    starter: Arc<Mutex<Option<Starter>>>,
}

impl Worker {
    fn perform(&mut self, action: Action, say: &mut dyn FnMut(&str)) {
        match action {
            Action::Beat(beat) => self.bus.order(Order::Beat(beat)),
            Action::Answer(number, answer) => self.bus.order(Order::Answer(number, answer)),
            Action::Put(subject, entry) => self.bus.order(Order::Put(subject, entry)),
            Action::Read(subject) => self.bus.order(Order::Read(subject)),
            Action::Prepare(task) => self.prepare(*task),
            Action::Discard(block) => self.stop(block),
            Action::Stop(block) => self.stop(block),
            Action::Start { block, at, latest } => self.start(block, at, latest),
            Action::Spool(subject, slot) => {
                let kept = self.disk.keep(&subject, &slot).map_err(|error| error.to_string());
                self.event(Event::Spooled(subject, kept));
            }
            Action::Unspool(subject) => self.disk.forget(&subject),
            Action::Say(word) => say(&word.to_string()),
            Action::Exit => self.is_over = true,
        }
    }

    fn event(&self, event: Event) {
        // Cannot fail: this thread owns the other end too.
        drop(self.tell.send(In::Event(event)));
    }

    fn prepare(&mut self, task: Task) {
        let block = task.block;
        let experiment = match self.experiment(&task) {
            Ok(experiment) => experiment,
            Err(refusal) => return self.event(Event::NotPrepared(block, refusal)),
        };
        let held = Held { block, stop: Arc::default(), starter: Arc::default() };
        let measuring = Measuring {
            task,
            experiment,
            host: Arc::clone(&self.host),
            clock: self.clock,
            tell: self.tell.clone(),
            name: self.name.clone(),
            stop: Arc::clone(&held.stop),
            starter: Arc::clone(&held.starter),
            instance: self.instance,
            watching: self.watching,
            raw_times: self.raw_times.clone(),
        };
        self.part = Some(held);
        if let Err(error) = thread::start("part", move || measuring.measure()) {
            self.event(Event::NotPrepared(block, not_ready(&error.to_string())));
        }
    }

    /// The experiment of one part: only its workload, with its load.
    fn experiment(&self, task: &Task) -> Result<Experiment, Refusal> {
        let because = |because: &str| Refusal::Plan { because: because.to_owned() };
        if task.kind != self.kind {
            return Err(because("`kind`: it was started for another task"));
        }
        let whole = &task.plan.experiment;
        let workload = whole.workloads.get(task.work.workload);
        let mut workload =
            workload.ok_or_else(|| because("`workload`: the plan has no such workload"))?.clone();
        if let Some(load) = &task.work.load {
            workload.load = load.clone();
        }
        let Server::Given(url) = &workload.server else {
            return Err(because("`server`: an agent loads servers that are named by their URL"));
        };
        if self.kind != Kind::Watch && !self.targets.allow(url) {
            return Err(Refusal::Target { target: shown(url) });
        }
        if self.kind == Kind::Probe {
            workload.load = light(&workload).map_err(because)?;
        }
        let mut experiment = Experiment {
            workloads: vec![workload],
            rounds: 1,
            until: None,
            require: Vec::new(),
            baseline: None,
            layers: Vec::new(),
            axis: None,
            ..whole.clone()
        };
        if self.kind != Kind::Watch {
            let Secrets { fields, read } = &self.secrets;
            let given = experiment.give_secrets(fields, read);
            given.map_err(|lacking| because(&format!("{lacking} when you start the agent")))?;
        }
        Ok(experiment)
    }

    fn start(&self, block: BlockId, at: Instant, latest: Instant) {
        let Some(held) = self.part.as_ref().filter(|held| held.block == block) else { return };
        let starter = held.starter.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(starter) = &*starter {
            starter.begin(at, latest);
        }
    }

    fn stop(&self, block: BlockId) {
        if let Some(held) = self.part.as_ref().filter(|held| held.block == block) {
            held.stop.store(STOPPED, Ordering::Relaxed);
        }
    }
}

/// A part on its thread.
struct Measuring {
    task: Task,
    experiment: Experiment,
    host: Arc<Host>,
    clock: Clock,
    tell: Sender<In>,
    name: Name,
    stop: Arc<AtomicUsize>,
    starter: Arc<Mutex<Option<Starter>>>,
    instance: Instance,
    watching: Option<Watching>,
    raw_times: Option<Folder>,
}

impl Measuring {
    fn measure(self) {
        let block = self.task.block;
        let send = |event| drop(self.tell.send(In::Event(event)));
        if let Some(watching) = self.watching {
            return self.watch(watching);
        }
        let plan = Plan::new(self.experiment.clone(), &|name| {
            Err(format!("{name}: an agent starts no subjects"))
        });
        let plan = match plan {
            Ok(plan) => plan,
            Err(error) => {
                let because = error.to_string();
                return send(Event::NotPrepared(block, Refusal::Plan { because }));
            }
        };
        let part = Part {
            plan: &plan,
            part: &self.task.part,
            host: &self.host,
            clock: self.clock,
            keeps_raw_times: self.raw_times.is_some(),
        };
        let throttled = probe::throttled_periods();
        let feed = Feed::default();
        let listener = feed.listen();
        // Only the load's totals are shown.
        let shown = (self.task.kind == Kind::Load).then(|| {
            let (agent, instance, run) = (self.name.clone(), self.instance, self.task.run.clone());
            move |second: Second| second.told(agent.clone(), instance, run.clone())
        });
        let tell = self.tell.clone();
        let listening = thread::start("live", move || {
            // Packing a second takes milliseconds, which the load must not wait for.
            thread::run_when_idle();
            follow(listener, block, &tell, shown);
        });
        let is_ready = std::cell::Cell::new(false);
        let measured = part.measure(&feed, Commands::new(&self.stop), |starter| {
            *self.starter.lock().unwrap_or_else(PoisonError::into_inner) = Some(starter);
            is_ready.set(true);
            send(Event::Prepared(block));
        });
        drop((feed, listening));
        let throttled = probe::throttled_periods()
            .zip(throttled)
            .map_or(0, |(after, before)| after.saturating_sub(before));
        let was_stopped = self.stop.load(Ordering::Relaxed) != 0;
        match measured {
            Ok(Some(measured)) if !measured.has_begun && !was_stopped => {
                // It woke up too late, and sent nothing.
                send(Event::Measured(block, Measured::Late(measured.late.unwrap_or(Nanos::ZERO))));
            }
            Ok(Some(measured)) => {
                // Written before the controller can announce that the block is over.
                if let Some(folder) = &self.raw_times {
                    let words = folder.keep(&self.task.run, block, &measured.raw_times);
                    drop(self.tell.send(In::Say(words)));
                }
                let result = self.result(&measured, throttled);
                let is_whole = !was_stopped && measured.cut_short.is_none();
                let measured =
                    if is_whole { Measured::Whole(result) } else { Measured::Stopped(result) };
                send(Event::Measured(block, measured));
            }
            // The part was discarded.
            Ok(None) | Err(RunError::Interrupted { .. }) => {}
            Err(error) if is_ready.get() => {
                send(Event::Measured(block, Measured::Failed(error.to_string())));
            }
            Err(error) => send(Event::NotPrepared(block, not_ready(&error.to_string()))),
        }
    }

    /// Watches the server on this machine while others put load on it.
    fn watch(&self, watching: Watching) {
        let block = self.task.block;
        let send = |event| drop(self.tell.send(In::Event(event)));
        let ready = |starter| {
            *self.starter.lock().unwrap_or_else(PoisonError::into_inner) = Some(starter);
            send(Event::Prepared(block));
        };
        let phases = self.experiment.workloads[0].phases;
        let begins = || send(Event::Started(block));
        let looked = watching.look(phases, self.clock, Commands::new(&self.stop), ready, begins);
        match looked {
            Ok(Some(Looked { watched, late, is_whole })) => {
                let result = PartResult {
                    instance: self.instance,
                    late,
                    health: Health::default(),
                    planned: 0,
                    sent: 0,
                    packed: pack(&watched).into(),
                };
                let measured =
                    if is_whole { Measured::Whole(result) } else { Measured::Stopped(result) };
                send(Event::Measured(block, measured));
            }
            // The part was discarded.
            Ok(None) => {}
            Err(because) => send(Event::NotPrepared(block, not_ready(&because))),
        }
    }

    fn result(&self, measured: &PartMeasured, throttled: u64) -> PartResult {
        let outcome = &measured.outcome;
        let lag =
            outcome.traffic.open_loop.as_ref().and_then(|times| times.lag.quantile(0.99).ok());
        PartResult {
            instance: self.instance,
            late: measured.late.unwrap_or(Nanos::ZERO),
            health: Health {
                busiest_worker: measured.busiest_worker,
                send_lag_p99: lag,
                timer_floor: measured.timer_floor,
                stalls: outcome.stalls.count,
                throttled,
                retransmits: measured.retransmitted.unwrap_or(0),
                ..Health::default()
            },
            planned: outcome.planned,
            sent: outcome.measured.sent,
            packed: pack(outcome).into(),
        }
    }
}

/// The load of a prober, which replaces that of `workload`: few messages, at a constant rate, on a connection of its
/// own.
fn light(workload: &Workload) -> Result<Load, &'static str> {
    match (&workload.load, workload.phases.stop) {
        (Load::Publish { .. }, _) => {
            Err("`load`: a prober needs replies, and published messages have none")
        }
        (_, Stop::Clients(_) | Stop::Messages(_)) => {
            Err("`phases`: a prober sends for a set time; give the load a duration (-d)")
        }
        (_, Stop::After(_)) => Ok(Load::Open {
            connections: NonZeroU32::MIN,
            rate: PROBES.into(),
            spacing: Spacing::Uniform,
            in_flight_max: PROBES_MAX,
        }),
    }
}

/// Reports the totals of each second, in the message that `shown` makes of them, if any; also reports the first
/// message.
fn follow(
    listener: run::Listener,
    block: BlockId,
    tell: &Sender<In>,
    shown: Option<impl Fn(Second) -> Live>,
) {
    let (mut begun, mut since, mut second) = (false, None, 0);
    let mut traffic: Option<Traffic> = None;
    loop {
        let tick = match listener.wait(Nanos::from_secs(60)) {
            Told::Over => return,
            Told::Event(run::Event::Interval(tick)) => tick,
            Told::Event(_) | Told::Nothing => continue,
        };
        if tick.phase < Phase::WarmUp {
            continue;
        }
        if !begun {
            begun = true;
            drop(tell.send(In::Event(Event::Started(block))));
        }
        let from = *since.get_or_insert(tick.start);
        match &mut traffic {
            Some(traffic) => record::Merge::merge(traffic, &tick.traffic),
            none => *none = Some(tick.traffic.clone()),
        }
        if tick.end.since(from) >= Nanos::from_secs(1)
            && let Some(traffic) = traffic.take()
        {
            let lag = traffic.open_loop.as_ref().and_then(|times| times.lag.quantile(0.5).ok());
            let (sent_per_s, last_lag_p50) = (traffic.counts.sent, lag);
            let health = Health { sent_per_s, last_lag_p50, ..Health::default() };
            drop(tell.send(In::Event(Event::Health(health))));
            let measures = tick.phase >= Phase::Measure;
            let told = Second { block, second, measures, traffic };
            if let Some(shown) = &shown {
                drop(tell.send(In::Live(Box::new(shown(told)))));
            }
            (since, second) = (Some(tick.end), second + 1);
        }
    }
}

fn not_ready(because: &str) -> Refusal {
    Refusal::NotReady { because: because.to_owned() }
}

/// The rate of a prober: a p99 takes a thousand messages, or ten seconds.
const PROBES: Rate = Rate::new(NonZeroU32::new(100).expect("it is not zero"), Nanos::from_secs(1))
    .expect("a second is not nothing");
/// The most messages of a prober that may wait for their replies.
const PROBES_MAX: NonZeroU32 = NonZeroU32::new(10_000).expect("it is not zero");
/// The longest time between two checks for a signal.
const LOOK_EVERY: Nanos = Nanos::from_millis(250);
/// The number of SIGTERM, which stops a part.
const STOPPED: usize = 15;
