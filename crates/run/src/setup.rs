//! Everything that has to stand before the first block: the machine known, servers up, targets verified.

use crate::plan::{Embedded, Measurement, Peer, Plan};
use crate::reach::{Context, Reached, Stack, check_public, resolve, tls, transport, verify};
use crate::servers::{Launch, Server};
use crate::url::Scheme;
use crate::{Host, News, Progress, RunError, Url};
use drive::Target;
use engine::clock::{Clock, sharpen_timers};
use engine::epoll::Epoll;
use engine::{Address, Engine};
use load::{Expect, Header, Lifetime, Stop};
use probe::{LOOPBACK_SOURCES_MAX, Limits, Placement, Sources, SystemSampler, SystemTimes};
use record::{Environment, Warning};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroUsize;
use units::Nanos;

/// What stands.
pub(crate) struct SetUp {
    environment: Environment,
    /// To sample the machine with, and what it had done before the first block.
    pub(crate) system: Option<SystemSampler>,
    system_before: Option<SystemTimes>,
    /// Where everybody runs; `None` where that was left to the system.
    pub(crate) placement: Option<Placement>,
    pub(crate) generator_cpus: Vec<usize>,
    servers: BTreeMap<Embedded, Server>,
    /// For each measurement its server, if that is ours.
    embedded: Vec<Option<Embedded>>,
    /// For each measurement its target, or why there is none.
    pub(crate) ready: Vec<Result<Ready, String>>,
    /// What the user should know of the set-up.
    pub(crate) warnings: Vec<Warning>,
    /// How long all blocks will take.
    pub(crate) expected: Nanos,
}

/// A target that answered as it should.
#[derive(Clone)]
pub(crate) struct Ready {
    pub(crate) url: Url,
    pub(crate) target: Target,
    /// How long its name took to be resolved.
    pub(crate) resolve: Option<Nanos>,
}

impl SetUp {
    /// Makes everything stand.
    ///
    /// # Errors
    ///
    /// What forbids the whole run: a limit of the machine, the safety rail; and, where there is only one target,
    /// whatever is wrong with it.
    pub(crate) fn new(
        plan: &Plan,
        host: &Host,
        context: Context<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Self, RunError> {
        drop(sharpen_timers());
        let topology = probe::topology();
        let mut environment = probe::machine();
        environment.cores_allowed = topology.cores().map(numbers).collect();
        measure_timer_floor(&mut environment, context.clock);
        let mut system = SystemSampler::open().ok();
        let system_before = system.as_mut().and_then(|system| system.sample().ok());
        progress.report(News::Machine(&environment));

        let ours = plan
            .measurements
            .iter()
            .any(|measurement| matches!(measurement.peer, Peer::Embedded(_)));
        let threads = plan
            .measurements
            .iter()
            .map(|measurement| measurement.threads.get())
            .max()
            .unwrap_or(1);
        let threads = NonZeroUsize::new(threads as usize).unwrap_or(NonZeroUsize::MIN);
        let placement = if ours { probe::place(&topology, threads) } else { None };
        let mut set_up = Self {
            environment,
            system,
            system_before,
            generator_cpus: placement
                .as_ref()
                .map_or_else(Vec::new, |placement| placement.generator.clone()),
            placement,
            servers: BTreeMap::new(),
            embedded: Vec::new(),
            ready: Vec::new(),
            warnings: Vec::new(),
            expected: plan
                .measurements
                .iter()
                .map(expected)
                .fold(Nanos::ZERO, |sum, one| Nanos(sum.0 + one.0 * u64::from(plan.rounds))),
        };
        if let Some(first) = plan.measurements.first() {
            set_up.warn_without_identity(first);
        }
        for measurement in &plan.measurements {
            context.check()?;
            let ready = set_up.prepare(plan, measurement, host, context);
            set_up.embedded.push(match &measurement.peer {
                Peer::Embedded(embedded) => Some(*embedded),
                Peer::Given(_) | Peer::Subject(_) => None,
            });
            match ready {
                // Steps have one target: where it does not answer there is nothing to measure.
                Err(error)
                    if plan.measurements.len() == 1
                        // Steps have one target: where it does not answer there is nothing to measure.
                        || matches!(measurement.peer, Peer::Given(_))
                        || !is_local(&error) =>
                {
                    return Err(error);
                }
                ready => set_up.ready.push(ready.map_err(|error| error.to_string())),
            }
        }
        for warning in &set_up.warnings {
            progress.report(News::Warning(warning));
        }
        Ok(set_up)
    }

    fn prepare(
        &mut self,
        plan: &Plan,
        measurement: &Measurement,
        host: &Host,
        context: Context<'_>,
    ) -> Result<Ready, RunError> {
        let (url, authority_pem) = match &measurement.peer {
            Peer::Given(url) => (url.clone(), None),
            Peer::Embedded(embedded) => {
                let server = self.server(*embedded, host)?;
                (server.url.clone(), server.authority_pem.clone())
            }
            Peer::Subject(server) => {
                let name = server.subject.name.clone();
                return Err(RunError::Subject { name, reason: "it was not started".to_owned() });
            }
        };
        let resolved = resolve(&url, measurement.resolve_timeout, context.clock)?;
        check_public(&resolved.addresses, plan.public_allowed)?;
        let sources = sources(measurement, &resolved.addresses)?;
        let stack = Stack {
            transport: transport(&url, &measurement.speech, &measurement.workload)?,
            tls: tls(&url, &measurement.speech, authority_pem.as_deref())?,
        };
        let Reached { mut target, failed } =
            verify(&url, &resolved.addresses, measurement, &stack, context)?;
        target.sources = sources;
        if let Some((address, what)) = failed.first() {
            self.warnings.push(Warning {
                code: "address_fallback".to_owned(),
                message: format!("{url} resolves first to an address that does not answer"),
                evidence: format!("{address}: {what}; {} answers", target.address),
                advice: format!(
                    "name the address in the URL, or let the server listen at {address} too"
                ),
            });
        }
        Ok(Ready { url, target, resolve: resolved.took })
    }

    /// Whether the machine allows the connections of another measurement of the same target as measurement `like`.
    ///
    /// # Errors
    ///
    /// [`RunError::Shortage`] with what it does not allow.
    pub(crate) fn check(
        &self,
        like: usize,
        measurement: &Measurement,
    ) -> Result<Vec<IpAddr>, RunError> {
        match &self.ready[like] {
            Ok(ready) => sources(measurement, std::slice::from_ref(&ready.target.address)),
            Err(reason) => Err(RunError::InvalidRequest(reason.clone())),
        }
    }

    /// Makes another measurement of the same target as measurement `like` ready, without asking it again; its index.
    ///
    /// # Errors
    ///
    /// As above.
    pub(crate) fn add(
        &mut self,
        like: usize,
        measurement: &Measurement,
    ) -> Result<usize, RunError> {
        let sources = self.check(like, measurement)?;
        let mut ready = self.ready[like].clone();
        if let Ok(ready) = &mut ready {
            ready.target.sources = sources;
        }
        self.ready.push(ready);
        self.embedded.push(self.embedded[like]);
        Ok(self.ready.len() - 1)
    }

    fn server(&mut self, embedded: Embedded, host: &Host) -> Result<&Server, RunError> {
        if !self.servers.contains_key(&embedded) {
            let cpu = self.placement.as_ref().map(|placement| placement.server);
            let launch = Launch { program: &host.program, scratch: &host.scratch, cpu };
            self.servers.insert(embedded, Server::start(embedded, launch)?);
        }
        Ok(&self.servers[&embedded])
    }

    /// The process of a measurement's server, if it is ours.
    pub(crate) fn server_pid(&self, workload: usize) -> Option<u32> {
        Some(self.servers.get(&self.embedded[workload]?)?.pid())
    }

    /// What became of a measurement's server, if it is ours and has ended.
    pub(crate) fn server_died(&mut self, workload: usize) -> Option<String> {
        let embedded = self.embedded[workload]?;
        let status = self.servers.get_mut(&embedded)?.died()?;
        Some(format!("the embedded {} server has ended: {status}", embedded.scheme))
    }

    /// Says why the replies of an open loop cannot be told apart, where they cannot.
    fn warn_without_identity(&mut self, measurement: &Measurement) {
        let workload = &measurement.workload;
        let is_numbered = workload.expect == Expect::InSequence;
        if workload.carries_headers() || workload.arrival.is_closed() || is_numbered {
            return;
        }
        let content = &workload.content;
        let size = content.payload().len();
        let is_echo = matches!(workload.expect, Expect::Echo | Expect::Oracle);
        let needed = Header::len(content.is_text());
        let evidence = match is_echo {
            false => "replies are not what was sent".to_owned(),
            true if size < needed => format!("messages of {size} B; a header has {needed} B"),
            true if measurement.payload_kind.is_some() => {
                "with something written over it, JSON would be JSON no more".to_owned()
            }
            true => "the payload is given, and nothing is written over it".to_owned(),
        };
        self.warnings.push(Warning {
            code: "no_identity".to_owned(),
            message: "messages carry no header, so lost, duplicate and reordered replies are not told apart".to_owned(),
            evidence,
            advice: format!("to know of them, send random messages of {needed} B or more to a server that echoes"),
        });
    }

    /// What is shorter is no stall: fifty times what a timer of this machine is late by.
    pub(crate) fn stall_min(&self) -> Nanos {
        let floor = self.environment.timer_floor;
        Nanos(floor.map_or(0, |floor| floor.overshoot_p99_ns.saturating_mul(50)))
    }

    /// The machine, with what it did since the set-up.
    pub(crate) fn environment(&mut self) -> Environment {
        let mut environment = std::mem::take(&mut self.environment);
        let after = SystemSampler::open().ok().and_then(|mut system| system.sample().ok());
        if let (Some(before), Some(after)) = (&self.system_before, after) {
            environment.steal_before_fraction = before.machine.steal_fraction();
            environment.steal_during_fraction = after.since(before).machine.steal_fraction();
        }
        environment
    }
}

/// Whether the error is about one target only, so that others can still be measured.
fn is_local(error: &RunError) -> bool {
    match error {
        RunError::EmbeddedServer { .. }
        | RunError::InvalidRequest(_)
        | RunError::InvalidTls(_)
        | RunError::ResolveTimedOut { .. }
        | RunError::Subject { .. }
        | RunError::Unreachable { .. }
        | RunError::Unresolved { .. }
        | RunError::WrongAnswer { .. } => true,
        RunError::Engine(_)
        | RunError::Interrupted { .. }
        | RunError::PublicTarget { .. }
        | RunError::SelfTest(_)
        | RunError::Shortage(_) => false,
    }
}

/// How long one block of a measurement takes, if its end is a time.
fn expected(measurement: &Measurement) -> Nanos {
    let phases = measurement.workload.phases;
    match phases.stop {
        Stop::After(time) => phases.warm_up + time,
        Stop::Clients(_) | Stop::Messages(_) => phases.warm_up,
    }
}

/// CPUs as the record has them.
pub(crate) fn numbers(cpus: &[usize]) -> Vec<u32> {
    cpus.iter().map(|cpu| u32::try_from(*cpu).unwrap_or(u32::MAX)).collect()
}

/// How late the waits of a run end here, or why that is not known; takes about 0.1 s.
pub fn measure_timer_floor(environment: &mut Environment, clock: Clock) {
    let mut engine = match Epoll::new(clock) {
        Ok(engine) => engine,
        Err(error) => {
            environment.missing.insert("timer_floor".to_owned(), error.to_string());
            return;
        }
    };
    let floor = probe::timer_floor(|length| {
        let began = engine.now();
        engine.wait(began + length);
        engine.now().since(began)
    });
    match floor {
        Ok(floor) => environment.timer_floor = Some(floor),
        Err(error) => {
            environment.missing.insert("timer_floor".to_owned(), error.to_string());
        }
    }
}

/// The source addresses of a measurement: those asked for, or as many of loopback as its ports make necessary.
///
/// # Errors
///
/// [`RunError::Shortage`] with the number and the cure.
fn sources(measurement: &Measurement, addresses: &[Address]) -> Result<Vec<IpAddr>, RunError> {
    let each = measurement.peer.scheme().connections_each();
    let connections = u64::from(measurement.workload.connections.get()) * each;
    let mut limits: Limits = probe::limits();
    if matches!(measurement.peer, Peer::Embedded(_)) {
        limits.server_open_files = Some(limits.open_files);
    }
    let target = addresses.iter().find_map(|address| match address {
        Address::Tcp(address) => Some(address.ip()),
        Address::Unix(_) => None,
    });
    let asked = &measurement.sources;
    let loopback_v4 = matches!(target, Some(IpAddr::V4(target)) if target.is_loopback());
    let kind = match target {
        None => Sources::NotNeeded,
        Some(_) if asked.is_empty() && loopback_v4 => Sources::Automatic,
        Some(_) => Sources::Fixed {
            count: asked.len().max(1) as u64,
            loopback: asked.iter().all(IpAddr::is_loopback) && loopback_v4,
        },
    };
    probe::capacity(&limits, connections, kind)?;
    if kind != Sources::Automatic {
        return Ok(asked.clone());
    }
    let needed = limits.ports.addresses_for(ports(measurement)).min(LOOPBACK_SOURCES_MAX);
    if needed <= 1 {
        return Ok(Vec::new());
    }
    let first = u32::from(Ipv4Addr::LOCALHOST);
    let count = u32::try_from(needed).expect("bounded above");
    Ok((first..first + count).map(|address| IpAddr::V4(Ipv4Addr::from(address))).collect())
}

/// How many ports the connections of a measurement may have taken at one time. Those of short-lived clients stay taken
/// for a while after the close, except over WebSocket, where the server closes first; and before half of an address's
/// ports are used the kernel finds one at once, after that it searches.
fn ports(measurement: &Measurement) -> u64 {
    let workload = &measurement.workload;
    let scheme = measurement.peer.scheme();
    let connections = u64::from(workload.connections.get()) * scheme.connections_each();
    let Lifetime::RoundTrips(each) = workload.lifetime else { return connections };
    let clients = match workload.phases.stop {
        Stop::Clients(clients) => clients.get(),
        Stop::Messages(messages) => messages.get().div_ceil(each.get().into()),
        Stop::After(time) => {
            CLIENTS_PER_S_MAX * (time + workload.phases.warm_up).0.div_ceil(Nanos::from_secs(1).0)
        }
    };
    let clients = clients.saturating_mul(scheme.connections_each());
    let server_closes_first = matches!(scheme.plain(), Scheme::WebSocket | Scheme::GameWebSocket)
        && workload.closing == load::Closing::Complete;
    connections + if server_closes_first { clients } else { clients.saturating_mul(2) }
}

/// More short-lived clients in a second than one thread can serve.
const CLIENTS_PER_S_MAX: u64 = 100_000;
