//! Connects a command that measures with a fleet.

use crate::exit::{Exit, Failure};
use crate::random;
use crate::terminal::Terminal;
use ::fleet::controller::{Event, Options};
use ::fleet::controller_driver::{In, Lead};
use ::fleet::join::{Join, Role};
use ::fleet::nats::{Bus, ConnectError, Heard, Member};
use ::fleet::protocol::{self, Instance, Name, Version};
use engine::clock::Clock;
use record::{AgentTask, RunRecord, SCHEMA_VERSION};
use run::{Commands, Feed, Host, NoJournal, Plan, RunError};
use spec::{Experiment, Server};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use units::Nanos;

/// The options that let a fleet measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Way {
    /// Let the agents of a fleet measure, each its part; JOIN is the join file of a controller
    #[arg(long = "fleet", value_name = "JOIN", hide_short_help = true)]
    pub(crate) join: Option<PathBuf>,
    /// With --fleet: the number of agents to wait for [default: all that are connected]
    #[arg(long, value_name = "COUNT", requires = "join", hide_short_help = true)]
    pub(crate) agents: Option<u32>,
    /// With --agents: the load is per agent, so the total is multiplied by their number
    #[arg(long, requires = "agents", hide_short_help = true)]
    pub(crate) each: bool,
    /// With --fleet: let agents of other versions of this program take part; the verdict says so
    #[arg(long, requires = "join", hide_short_help = true)]
    pub(crate) mixed: bool,
    /// With --fleet: how often to repeat a block of which a part is missing; at most 2
    #[arg(
        long,
        value_name = "COUNT",
        requires = "join",
        default_value_t = 0,
        hide_short_help = true
    )]
    pub(crate) repeat_lost: u8,
    /// The run to go on with.
    #[arg(skip)]
    pub(crate) resumed: Option<Name>,
}

/// A connected fleet, and the run that it is to measure.
pub(crate) struct Opened {
    bus: Bus,
    channel: (Sender<In>, Receiver<In>),
    options: Options,
}

impl Way {
    /// Returns `experiment` with the load of all agents together.
    pub(crate) fn together(&self, mut experiment: Experiment) -> Result<Experiment, Failure> {
        if let Some(agents) = self.agents.and_then(NonZeroU32::new).filter(|_| self.each) {
            let too_large = |problem: spec::Problem| Failure::usage(format!("--{problem}"));
            experiment.for_each_of(agents).map_err(too_large)?;
        }
        Ok(experiment)
    }

    /// Connects to the fleet, if the options name one.
    pub(crate) fn open(
        &self,
        plan: &Plan,
        host: &Host,
        terminal: &Terminal,
    ) -> Result<Option<Opened>, Failure> {
        let Some(path) = &self.join else { return Ok(None) };
        check(&plan.experiment)?;
        let (tell, told) = channel();
        let bus = connect(path, tell.clone())?;
        let there = agents_heard(&tell, &told)?;
        let load = there.values().filter(|kind| kind.is_load()).count();
        let agents_min = match self.agents {
            Some(needed) => needed.max(1),
            None if load == 0 => {
                let words = "no agent is connected; start some with `wirebench agent --join FILE`";
                return Err(unreachable(words.to_owned()));
            }
            None => u32::try_from(load).unwrap_or(u32::MAX),
        };
        let run = match &self.resumed {
            Some(run) => run.clone(),
            None => new_run()?,
        };
        let agents = match agents_min {
            1 => "1 agent".to_owned(),
            count => format!("{count} agents"),
        };
        terminal.say(&format!(
            "run {run} on {agents}; `wirebench fleet resume {run} --fleet {}` continues it elsewhere",
            path.display()
        ));
        let asked = protocol::Plan {
            version: version(host),
            experiment: plan.experiment.clone(),
            agents_min,
            repeats: self.repeat_lost.min(protocol::limits::REPEATS_MAX),
            mixed: self.mixed,
        };
        let plan = self.resumed.is_none().then(|| Arc::new(asked));
        let options = options(host, run, plan, false)?;
        Ok(Some(Opened { bus, channel: (tell, told), options }))
    }
}

impl Opened {
    /// Lets the fleet measure, and returns the record.
    pub(crate) fn execute(
        self,
        plan: &Plan,
        host: &Host,
        feed: &Feed,
        commands: Commands<'_>,
    ) -> Result<RunRecord, RunError> {
        let Self { bus, channel, options } = self;
        let mut lead = Lead::begin(options, bus, channel, feed)?;
        let record = run::execute_on(plan, host, feed, &mut NoJournal, commands, Some(&mut lead));
        // The record says how the run ended, and why.
        drop(lead.finish());
        record
    }
}

/// Connects as a controller, and sends everything that arrives to `tell`.
pub(crate) fn connect(path: &Path, tell: Sender<In>) -> Result<Bus, Failure> {
    let join = Join::read(path, Role::Controller).map_err(Failure::usage)?;
    let hear = move |heard| drop(tell.send(In::Heard(heard)));
    Bus::connect(&join, Member::Controller, hear).map_err(not_connected)
}

/// The exit code of a connection that failed.
pub(crate) fn not_connected(error: ConnectError) -> Failure {
    let exit = match &error {
        ConnectError::Unreachable { .. } => Exit::UNREACHABLE,
        ConnectError::Thread(_) => Exit::INTERNAL,
        ConnectError::Denied { .. }
        | ConnectError::Expired { .. }
        | ConnectError::NoJetStream { .. }
        | ConnectError::NoLog { .. }
        | ConnectError::OtherLog { .. }
        | ConnectError::LogNotCreated { .. }
        | ConnectError::ShutOut { .. }
        | ConnectError::Tls { .. }
        | ConnectError::TooOld { .. }
        | _ => Exit::USAGE,
    };
    Failure::new(exit, error)
}

/// Returns the agents that are heard within some beats, with their tasks. The last beat of each agent, and everything
/// else that was heard, goes back into the channel.
///
/// # Errors
///
/// The server does not let this controller hear them.
pub(crate) fn agents_heard(
    tell: &Sender<In>,
    told: &Receiver<In>,
) -> Result<BTreeMap<Name, AgentTask>, Failure> {
    let clock = Clock::start();
    let (mut there, mut others) = (BTreeMap::new(), Vec::new());
    while let Some(left) = BEATS.0.checked_sub(clock.now().0).filter(|left| *left > 0) {
        match told.recv_timeout(Nanos(left).into()) {
            Ok(In::Heard(Heard::Controller(Event::Beat(beat)))) => {
                there.insert(beat.agent.clone(), beat);
            }
            Ok(In::Heard(Heard::Over(words))) => return Err(unreachable(words)),
            Ok(other) => others.push(other),
            Err(_) => break,
        }
    }
    for other in others {
        drop(tell.send(other));
    }
    let tasks = there.iter().map(|(name, beat)| (name.clone(), beat.kind)).collect();
    // All at once, so that a watch is known before the first block is prepared.
    for beat in there.into_values() {
        drop(tell.send(In::Heard(Heard::Controller(Event::Beat(beat)))));
    }
    Ok(tasks)
}

/// The failure when the server is there, but this process cannot do its task.
pub(crate) fn unreachable(words: String) -> Failure {
    Failure::new(Exit::UNREACHABLE, anyhow::Error::msg(words))
}

pub(crate) fn options(
    host: &Host,
    run: Name,
    plan: Option<Arc<protocol::Plan>>,
    stops: bool,
) -> Result<Options, Failure> {
    Ok(Options {
        controller: "controller".parse().expect("it is a name"),
        instance: instance()?,
        host: machine(),
        version: version(host),
        run,
        plan,
        stops,
        gather_max: GATHER_MAX,
    })
}

/// The version of this program, in the form that both sides compare.
pub(crate) fn version(host: &Host) -> Version {
    let (major, minor) = Version::PROTOCOL;
    let mut histogram = record::Histogram::new();
    // The encoding of these two values depends only on the bounds and digits of the histogram.
    histogram.record(Nanos(1_234_567));
    histogram.record(Nanos::MAX);
    let text = histogram.to_base64();
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Version {
        major,
        minor,
        tool: host.tool.version.clone(),
        commit: host.tool.commit.clone(),
        record: SCHEMA_VERSION,
        histogram: format!("{hash:016x}"),
    }
}

/// The name of this machine, for people.
pub(crate) fn machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{} (Linux {})", name.trim(), kernel.trim())
}

/// A number that no other process of the fleet has.
pub(crate) fn instance() -> Result<Instance, Failure> {
    Ok(Instance(u64::from_ne_bytes(random::bytes()?)))
}

/// Makes a unique name of a run; later names sort after earlier ones.
fn new_run() -> Result<Name, Failure> {
    let now = engine::clock::unix_seconds().unwrap_or(0);
    let [a, b, c] = random::bytes()?;
    Ok(format!("r{now:08x}{a:02x}{b:02x}{c:02x}").parse().expect("it is a name"))
}

/// Checks that the agents can measure every workload.
fn check(experiment: &Experiment) -> Result<(), Failure> {
    for workload in &experiment.workloads {
        let name = &workload.name;
        let Server::Given(_) = &workload.server else {
            return Err(Failure::usage(format!(
                "--fleet: {name} is a server that is started here; start it where the agents reach it, and name its URL"
            )));
        };
        if workload.client.is_some() {
            return Err(Failure::usage(format!(
                "--fleet: {name} has its own client program, which agents cannot use; leave it out"
            )));
        }
    }
    Ok(())
}

/// Longer than four beats.
const BEATS: Nanos = Nanos::from_millis(1200);
/// The longest wait for the agents that are needed.
const GATHER_MAX: Nanos = Nanos::from_secs(60);
