//! The set-up before the first block: machine facts read, servers up, targets verified.

use crate::children::clients::{Clients, beyond, misfit};
use crate::children::processes::Processes;
use crate::children::program::Program;
use crate::children::servers::{Key, RunningServer, Servers, embedded_server};
use crate::found_server::FoundServer;
use crate::memory;
use crate::plan::{Measurement, Peer, Plan, Speech, SubjectServer};
use crate::publishers::target_of_publishers;
use crate::reach::{
    Asked, Context, Reached, Ready, check_public, reachable_from, reply_len, resolve, stack, tls,
    verify,
};
use crate::restart;
use crate::sampling::Driven;
use crate::verify::{Check, Extent, ServerQuestions, reply_to, verify_server};
use crate::{Event, Feed, Host, RunError};
use engine::clock::sharpen_timers;
use engine::epoll::Epoll;
use engine::{Address, Engine, thread};
use lab::VERSION_TIMEOUT;
use load::{Expect, Header, Lifetime, Stop};
use probe::{
    LOOPBACK_SOURCES_MAX, Limits, Placement, Sources, SystemSampler, SystemTimes, Topology,
    have_a_core_each,
};
use record::{Environment, Kind, Subject, TimerFloor, WarmUp, Warning};
use spec::{Answer, Endpoint, Protocol};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc::channel;
use units::{Bytes, Nanos};

/// The set-up of a run.
pub(crate) struct SetUp {
    environment: Environment,
    /// The sampler of the machine, and the machine's times before the first block.
    pub(crate) system: Option<SystemSampler>,
    system_before: Option<SystemTimes>,
    /// The CPUs of server and generator; `None` if they are left to the system.
    pub(crate) placement: Option<Placement>,
    pub(crate) generator_cpus: Vec<usize>,
    /// The CPUs for servers of the user's that we start; if empty, any.
    pub(crate) program_cpus: Vec<usize>,
    /// The cores available for workers, and the largest number of workers of a measurement.
    topology: Topology,
    threads: NonZeroUsize,
    /// The process of a server that is already running, if the user named it.
    server_pid: Option<u32>,
    /// True if other machines measure: each checks its part against its own limits.
    is_elsewhere: bool,
    pub(crate) servers: Servers,
    /// The programs that publish in rooms, by the line of their measurement.
    programs: BTreeMap<usize, Program>,
    /// The servers that blocks and warm-ups have driven.
    pub(crate) driven: Driven,
    pub(crate) clients: Clients,
    /// The target of each measurement, or the reason why there is none.
    pub(crate) ready: Vec<Result<Ready, String>>,
    /// Warnings about the set-up.
    pub(crate) warnings: Vec<Warning>,
    /// The versions that subjects report, by name; `None` for a subject that does not report its version.
    versions: BTreeMap<String, Option<String>>,
    /// The warm-up of each measurement.
    warm: BTreeMap<usize, Warm>,
    /// The subjects of each measurement before the run was interrupted.
    pub(crate) known: Known,
}

/// The subjects of measurements, by measurement: server and client.
pub(crate) type Known = BTreeMap<usize, (Option<Subject>, Option<Subject>)>;

/// The warm-up of the subjects of a measurement.
struct Warm {
    /// The count of the server's starts at that warm-up.
    server_starts: u32,
    warm_up: Option<WarmUp>,
}

impl SetUp {
    /// Makes every `wanted` measurement ready; those without a block left are not wanted.
    ///
    /// # Errors
    ///
    /// Errors that prevent the whole run: a limit of the machine, the safety rail; and, where there is only one target,
    /// any error about it.
    pub(crate) fn new(
        plan: &Plan,
        host: &Host,
        context: Context<'_>,
        wanted: &dyn Fn(usize) -> bool,
        feed: &Feed,
        is_elsewhere: bool,
    ) -> Result<Self, RunError> {
        drop(sharpen_timers());
        let topology = probe::topology();
        let mut environment = probe::machine();
        environment.cores_allowed = topology.cores().map(numbers).collect();
        // Without an engine every row would fail with the same message.
        let mut engine = Epoll::new(context.clock)?;
        measure_timer_floor(&mut environment, &mut engine);
        drop(engine);
        let mut system = SystemSampler::open().ok();
        let system_before = system.as_mut().and_then(|system| system.sample().ok());
        feed.tell(&Event::Machine(Arc::new(environment.clone())));

        let ours = plan.measurements.iter().any(|measurement| measurement.peer.is_ours());
        let threads = plan
            .measurements
            .iter()
            .map(|measurement| measurement.spec.threads.get())
            .max()
            .unwrap_or(1);
        let threads = NonZeroUsize::new(threads as usize).unwrap_or(NonZeroUsize::MIN);
        let placement = if ours { probe::place(&topology, threads) } else { None };
        let on = |cpus: Vec<usize>| lab::Launch { cpus, ..host.launch.clone() };
        let placed = placement.as_ref();
        let server_cpu = placed.map(|placement| placement.server);
        let server_cpus = placed.map_or_else(Vec::new, |placement| placement.apart(&topology));
        let client_cpu = placed.and_then(|placement| placement.generator.first().copied());
        let program_cpus = placed.map_or_else(Vec::new, |placement| placement.left(&topology));
        let is_spare = |cpu: &usize| server_cpu != Some(*cpu);
        let spare_cpus: Vec<usize> = program_cpus.iter().copied().filter(is_spare).collect();
        let mut set_up = Self {
            environment,
            system,
            system_before,
            generator_cpus: placement
                .as_ref()
                .map_or_else(Vec::new, |placement| placement.generator.clone()),
            placement,
            servers: Servers::new(host.launch.clone(), server_cpus, on(program_cpus.clone())),
            programs: BTreeMap::new(),
            driven: Driven::default(),
            clients: Clients::new(on(client_cpu.into_iter().collect()), on(spare_cpus)),
            program_cpus,
            topology,
            threads,
            server_pid: host.server_pid,
            is_elsewhere,
            versions: BTreeMap::new(),
            ready: Vec::new(),
            warnings: Vec::new(),
            warm: BTreeMap::new(),
            known: Known::new(),
        };
        if let Some(first) = plan.measurements.first() {
            set_up.warn_without_identity(first);
        }
        for (index, measurement) in plan.measurements.iter().enumerate() {
            context.check()?;
            if !wanted(index) {
                set_up.ready.push(Err("no block of it is left".to_owned()));
                continue;
            }
            let ready = set_up.prepare(plan, measurement, context);
            set_up.warnings.extend(set_up.servers.take_warnings());
            if let (Ok(_), Peer::Subject(server)) = (&ready, &measurement.peer) {
                set_up.ask_version(server, &host.launch, feed)?;
            }
            if let Some(server) = set_up.servers.of(measurement) {
                server.pause();
            }
            // Steps share one target: if it does not answer there is nothing to measure.
            let is_only = plan.measurements.len() == 1 || measurement.peer.url().is_some();
            match ready {
                Err(error) if is_only && host.kind != Kind::Lab || !is_local(&error) => {
                    return Err(error);
                }
                ready => set_up.ready.push(ready.map_err(|error| error.to_string())),
            }
        }
        for warning in &set_up.warnings {
            feed.tell(&Event::Warning(warning.clone()));
        }
        Ok(set_up)
    }

    /// Makes the target of a measurement ready: starts and verifies its server, and checks the answer to one message.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be measured.
    fn prepare(
        &mut self,
        plan: &Plan,
        measurement: &Measurement,
        context: Context<'_>,
    ) -> Result<Ready, RunError> {
        check_limits(measurement)?;
        if self.is_elsewhere && restarts(measurement) {
            let reason = "--restart: agents of a fleet do not know when the server is gone; leave it out, or measure on \
                          this machine alone";
            return Err(RunError::InvalidRequest(reason.to_owned()));
        }
        if self.is_elsewhere && measurement.spec.publish_with.is_some() {
            return Err(RunError::InvalidRequest(NO_PROGRAM.to_owned()));
        }
        if let Some(reason) = cannot_restart(measurement) {
            return Err(RunError::InvalidRequest(reason.to_owned()));
        }
        let budget = self.memory(measurement);
        if !self.is_elsewhere {
            memory::check(budget, &measurement.workload)?;
        }
        let mut authority_pem = None;
        let url = match &measurement.peer {
            Peer::Given(url) => url.clone(),
            Peer::Embedded(embedded) => {
                let server = self.servers.started(measurement, context)?;
                server.resume();
                authority_pem = server.authority_pem().map(<[u8]>::to_vec);
                // A relay reports only one of the schemes that it speaks at that address.
                let said = embedded_server(measurement, embedded).scheme;
                let place = server.url(said).map_err(RunError::NotStarted)?.address;
                Endpoint::new(embedded.scheme, place)
            }
            Peer::Started(started) => {
                let running = self.servers.started(measurement, context)?;
                running.resume();
                running.url(started.url.scheme()).map_err(RunError::NotStarted)?
            }
            Peer::Subject(server) => {
                let running = self.servers.started(measurement, context)?;
                running.resume();
                authority_pem = running.authority_pem().map(<[u8]>::to_vec);
                let url = verified(running, server, measurement, context)?;
                Endpoint { path: server.path.clone().unwrap_or(url.path), ..url }
            }
        };
        let mut resolved = resolve(&url, measurement.workload.timeouts.resolve, context.clock)?;
        resolved.addresses = reachable_from(resolved.addresses, &measurement.sources)?;
        check_public(&resolved.addresses, plan.experiment.public_allowed)?;
        let sources = self.sources(measurement, &resolved.addresses)?;
        let server = self.servers.of(measurement);
        let part = restart::part_of(measurement, server, &resolved.addresses, context)?;
        let reply_len = reply_len(&measurement.workload);
        let mut speech = measurement.speech.clone();
        speech.options.message_max = memory::reply_max(budget, &measurement.workload, reply_len);
        let tls = tls(&url, &speech, authority_pem.as_deref())?;
        let stacks = |greetings| {
            let options = wire::ClientOptions { greetings, ..speech.options.clone() };
            stack(&url, &Speech { options, ..speech.clone() }, reply_len, tls.clone())
        };
        if let Some(line) = &measurement.spec.publish_with {
            let launch = self.servers.launch_of_users();
            let program = Program::start(line, &url, launch, context).map_err(|reason| {
                RunError::Program(format!("--publish-with: `{line}` did not start: {reason}"))
            })?;
            self.programs.insert(measurement.line, program);
        }
        let publishers = target_of_publishers(
            measurement,
            &url,
            self.servers.of(measurement),
            self.programs.get(&measurement.line),
            plan.experiment.public_allowed,
            context,
        )?;
        let asked = if publishers.is_some() { Asked::Opening } else { Asked::Requests };
        let Reached { mut target, failed, answer } =
            verify(&url, &resolved.addresses, measurement, &stacks, asked, context)?;
        target.publishers = publishers.map(Box::new);
        target.lives_on = part.is_some();
        if let Some(publishers) = &mut target.publishers {
            publishers.lives_on = match &part {
                Some(part) => !restart::listens_at(part, &publishers.address),
                None => self.is_other(measurement, &publishers.address, &resolved.addresses),
            };
        }
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
        let sends = measurement.client.is_some() && measurement.workload.rooms.is_none();
        let is_unknown = sends && matches!(measurement.workload.expect, Expect::Anything);
        let reply = is_unknown
            .then(|| reply_to(&target, measurement.workload.content.payload(), context))
            .transpose()
            .map_err(RunError::InvalidRequest)?;
        let found = match measurement.peer {
            Peer::Given(_) => Some(self.server_at(&target.address)),
            Peer::Embedded(_) | Peer::Started(_) | Peer::Subject(_) => None,
        };
        if let Some(Err(reason)) = &found
            && self.server_pid.is_some()
        {
            return Err(RunError::InvalidRequest(reason.clone()));
        }
        if let Some(Ok(found)) = &found
            && self.generator_cpus.is_empty()
        {
            self.generator_cpus = found.beside(&self.topology, self.threads);
        }
        Ok(Ready { url, target, resolve: resolved.took, authority_pem, reply, answer, found })
    }

    /// True if publishers were told to connect to `address`, and what listens there is not the server of the
    /// measurement, which is at `own`.
    fn is_other(&self, measurement: &Measurement, address: &Address, own: &[Address]) -> bool {
        if measurement.spec.publish_with.is_some() {
            return true;
        }
        if measurement.spec.publish_to.is_none() || own.contains(address) {
            return false;
        }
        // A server that we started may listen at several ports.
        let ours = self.servers.of(measurement).map(RunningServer::pids).unwrap_or_default();
        let there = crate::found_server::listeners(address).unwrap_or_default();
        !there.iter().any(|listener| ours.contains(&listener.pid))
    }

    /// The server at an address that the run did not start; looked up once per address.
    fn server_at(&self, address: &Address) -> Result<FoundServer, String> {
        let mut before =
            self.ready.iter().flatten().filter(|ready| ready.target.address == *address);
        let found = before.find_map(|ready| ready.found.clone());
        found.unwrap_or_else(|| FoundServer::find(address, self.server_pid))
    }

    /// Lets the server of a measurement run for a block, after starting it again if it has ended.
    ///
    /// # Errors
    ///
    /// The reason why it ended, if it is not started again.
    pub(crate) fn wake(
        &mut self,
        plan: &Plan,
        workload: usize,
        context: Context<'_>,
    ) -> Result<(), String> {
        let measurement = &plan.measurements[workload];
        if self.ready[workload].is_ok()
            && let Err(gone) = self.servers.check(measurement)
        {
            // The load that killed it has failed; other loads continue.
            if restarts(measurement) || !self.servers.forget_killed(measurement) {
                return Err(gone);
            }
            self.prepare_anew(plan, measurement, context);
        }
        if let Some(died) = self.servers.of_mut(measurement).and_then(RunningServer::died_by_now) {
            self.servers.start_again(measurement, &died, context)?;
            self.prepare_anew(plan, measurement, context);
        }
        if let Some(server) = self.servers.of(measurement) {
            server.resume();
        }
        Ok(())
    }

    /// The end of the program that publishes in the rooms of a measurement, if it has ended.
    pub(crate) fn program_ended(&self, measurement: &Measurement) -> Option<String> {
        self.programs.get(&measurement.line)?.ended()
    }

    /// Makes all measurements ready again that were ready and share the server of this one.
    fn prepare_anew(&mut self, plan: &Plan, measurement: &Measurement, context: Context<'_>) {
        let key = Key::of(measurement);
        for (index, other) in plan.measurements.iter().enumerate() {
            if Key::of(other) == key && self.ready.get(index).is_some_and(Result::is_ok) {
                let ready = self.prepare(plan, other, context);
                self.ready[index] = ready.map_err(|error| error.to_string());
            }
        }
    }

    /// The memory that a measurement may take.
    pub(crate) fn memory(&self, measurement: &Measurement) -> Bytes {
        memory::budget(measurement.spec.memory_max, &self.environment)
    }

    /// True if the workers of a measurement may poll for due messages instead of sleeping: each has a core for itself,
    /// as do a server on this machine and a receiving client beside them.
    pub(crate) fn lets_workers_look(&self, measurement: &Measurement, target: &Address) -> bool {
        let is_local = match target {
            Address::Unix(_) => true,
            Address::Tcp(address) => address.ip().is_loopback(),
        };
        let others = u32::from(is_local) + u32::from(measurement.client.is_some());
        let parties = measurement.spec.threads.get().saturating_add(others);
        let quota = self.environment.container.as_ref().and_then(|it| it.cpu_cores_max);
        !measurement.spec.sleepy
            && have_a_core_each(parties, self.environment.cores_allowed.len(), quota)
    }

    /// Asks a subject for its version, once. Announces it if the wait takes longer than a moment; warns about a subject
    /// that does not answer, because its version is then only that of its manifest.
    ///
    /// # Errors
    ///
    /// [`RunError::Thread`].
    fn ask_version(
        &mut self,
        server: &SubjectServer,
        launch: &lab::Launch,
        feed: &Feed,
    ) -> Result<(), RunError> {
        let SubjectServer { subject, installed, .. } = server;
        let name = &subject.name;
        if self.versions.contains_key(name) {
            return Ok(());
        }
        let (tell, told) = channel();
        let answer = std::thread::scope(|scope| {
            let ask = move || tell.send(lab::version(subject, installed, launch));
            thread::start_scoped(scope, "version", ask)?;
            let answer = told.recv_timeout(VERSION_MOMENT.into());
            Ok::<_, RunError>(answer.unwrap_or_else(|_| {
                let (command, most) = (subject.manifest.ask_version.join(" "), VERSION_TIMEOUT);
                let waiting = format!("asking {name} for its version: `{command}`, at most {most}");
                feed.tell(&Event::Waiting(waiting.into()));
                told.recv().expect("it answers before it ends")
            }))
        })?;
        if let Err(error) = &answer {
            let manifest = &subject.manifest;
            self.warnings.push(Warning {
                code: "version_not_confirmed".to_owned(),
                message: format!(
                    "{name} does not say its version: {} {} is declared, not confirmed",
                    manifest.library, manifest.version
                ),
                evidence: error.to_string(),
                advice: format!("`wirebench subjects check {name}` asks it again"),
            });
        }
        self.versions.insert(name.clone(), answer.ok());
        Ok(())
    }

    /// Pauses the programs of a measurement whose turn is over.
    pub(crate) fn rest(&self, measurement: &Measurement, workload: usize) {
        self.clients.pause(workload);
        if let Some(server) = self.servers.of(measurement) {
            server.pause();
        }
    }

    /// True if a measurement was warmed up since its server was started for the last time.
    pub(crate) fn is_warm(&self, workload: usize, server_starts: u32) -> bool {
        self.warm.get(&workload).is_some_and(|warm| warm.server_starts == server_starts)
    }

    /// Records the warm-up of a measurement, if there was one.
    pub(crate) fn warmed(&mut self, workload: usize, warm_up: Option<WarmUp>, server_starts: u32) {
        if warm_up.is_some() {
            self.warm.insert(workload, Warm { server_starts, warm_up });
        }
    }

    /// The subjects of a measurement, server and client, in the form of the record.
    pub(crate) fn subjects(
        &self,
        measurement: &Measurement,
        workload: usize,
    ) -> (Option<Subject>, Option<Subject>) {
        let warm_up = self.warm.get(&workload).and_then(|warm| warm.warm_up);
        let subject = |subject: &lab::Subject, version_found: Option<String>| Subject {
            name: subject.name.clone(),
            language: subject.manifest.language.clone(),
            library: subject.manifest.library.clone(),
            version: subject.manifest.version.clone(),
            version_found,
            licence: subject.manifest.licence.clone(),
            class: subject.manifest.class,
            options: subject.manifest.options.clone(),
            warm_up: warm_up.filter(|_| subject.manifest.jit),
        };
        let server = match &measurement.peer {
            Peer::Subject(server) => {
                let version = self.versions.get(&server.subject.name).cloned().flatten();
                Some(subject(&server.subject, version))
            }
            Peer::Embedded(_) | Peer::Given(_) | Peer::Started(_) => None,
        };
        let client = measurement.client.as_ref().map(|client| {
            let version = self.clients.version(workload);
            subject(&client.subject, version)
        });
        match self.known.get(&workload) {
            // It has not run since.
            Some(known) if self.ready.get(workload).is_none_or(Result::is_err) => known.clone(),
            _ => (server, client),
        }
    }

    /// Warns that some of the blocks were measured before an interruption.
    pub(crate) fn warn_resumed(&mut self, kept: usize, left: usize, feed: &Feed) {
        if kept == 0 {
            return;
        }
        let warning = Warning {
            code: "resumed".to_owned(),
            message: "the run was interrupted, and continued later".to_owned(),
            evidence: format!("{kept} of {} blocks were measured before", kept + left),
            advice: "what drifted between the two is within the spread of blocks".to_owned(),
        };
        feed.tell(&Event::Warning(warning.clone()));
        self.warnings.push(warning);
    }

    /// The processes of a measurement's server.
    ///
    /// # Errors
    ///
    /// The reason why they cannot be seen.
    pub(crate) fn server(
        &self,
        measurement: &Measurement,
        workload: usize,
    ) -> Result<Processes, String> {
        if let Some(server) = self.servers.of(measurement) {
            return Ok(server.processes());
        }
        match &self.ready[workload] {
            Ok(Ready { found: Some(found), .. }) => {
                found.as_ref().map(|found| found.processes.clone()).map_err(Clone::clone)
            }
            Ok(_) | Err(_) => Err("the server was not started".to_owned()),
        }
    }

    /// The CPUs that a server not started by the run is pinned to; empty if it may use all.
    pub(crate) fn bound_to(&self, found: &FoundServer) -> Vec<usize> {
        found.bound_to(self.environment.cpus_online)
    }

    /// Checks that the machine allows the connections of another measurement with the same target as measurement
    /// `like`.
    ///
    /// # Errors
    ///
    /// [`RunError::Shortage`] with the limit exceeded.
    pub(crate) fn check(
        &self,
        like: usize,
        measurement: &Measurement,
    ) -> Result<Vec<IpAddr>, RunError> {
        match &self.ready[like] {
            Ok(ready) => self.sources(measurement, std::slice::from_ref(&ready.target.address)),
            Err(reason) => Err(RunError::InvalidRequest(reason.clone())),
        }
    }

    /// The source addresses of a measurement from this machine; other machines choose their own.
    fn sources(
        &self,
        measurement: &Measurement,
        addresses: &[Address],
    ) -> Result<Vec<IpAddr>, RunError> {
        match self.is_elsewhere {
            true => Ok(measurement.sources.clone()),
            false => sources(measurement, addresses),
        }
    }

    /// Makes another measurement with the same target as measurement `like` ready, without contacting the target again;
    /// returns its index.
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
        Ok(self.ready.len() - 1)
    }

    /// Warns with the reason if the replies of an open loop cannot be told apart.
    fn warn_without_identity(&mut self, measurement: &Measurement) {
        let workload = &measurement.workload;
        let is_numbered = workload.expect == Expect::InSequence;
        let is_numbered = is_numbered || workload.requests.is_some();
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
            true if matches!(measurement.spec.message.content, spec::Content::Generated { .. }) => {
                "a header written over it would make its JSON invalid".to_owned()
            }
            true => "a header would overwrite the payload that was given".to_owned(),
        };
        self.warnings.push(Warning {
            code: "no_identity".to_owned(),
            message: "messages carry no header, so lost, duplicate and reordered replies are not told apart".to_owned(),
            evidence,
            advice: format!("to tell them apart, send random messages of {needed} B or more to a server that echoes"),
        });
    }

    /// The lateness of this machine's timers; `None` if unknown.
    pub(crate) const fn timer_floor(&self) -> Option<TimerFloor> {
        self.environment.timer_floor
    }

    /// The shortest gap that counts as a stall: fifty times the p99 lateness of this machine's timers.
    pub(crate) fn stall_min(&self) -> Nanos {
        Nanos(self.timer_floor().map_or(0, |floor| floor.overshoot_p99_ns.saturating_mul(50)))
    }

    /// The machine, with its steal before and since the set-up.
    pub(crate) fn environment(&self) -> Environment {
        let mut environment = self.environment.clone();
        let after = SystemSampler::open().ok().and_then(|mut system| system.sample().ok());
        if let (Some(before), Some(after)) = (&self.system_before, after) {
            environment.steal_before_fraction = before.machine.steal_fraction();
            environment.steal_during_fraction = after.since(before).machine.steal_fraction();
        }
        environment
    }
}

/// True if the error is about one target only, so that others can still be measured.
fn is_local(error: &RunError) -> bool {
    match error {
        RunError::EmbeddedServer { .. }
        | RunError::InvalidRequest(_)
        | RunError::InvalidTls(_)
        | RunError::NotStarted(_)
        | RunError::Program(_)
        | RunError::ResolveTimedOut { .. }
        | RunError::Subject { .. }
        | RunError::Unreachable { .. }
        | RunError::Unresolved { .. }
        | RunError::WrongAnswer { .. } => true,
        RunError::Engine(_)
        | RunError::Incomparable { .. }
        | RunError::Interrupted { .. }
        | RunError::Over { .. }
        | RunError::PublicTarget { .. }
        | RunError::SelfTest(_)
        | RunError::Shortage(_)
        | RunError::Thread(_) => false,
    }
}

/// True if the load of a measurement kills its server and starts it again.
fn restarts(measurement: &Measurement) -> bool {
    measurement.workload.rooms.is_some_and(|rooms| rooms.all().conduct.restart.is_some())
}

/// The reason why the server of a measurement cannot be started again at its port; `None` if it can.
fn cannot_restart(measurement: &Measurement) -> Option<&'static str> {
    let is_of_all = restarts(measurement) && measurement.spec.restart_of.is_none();
    match &measurement.peer {
        Peer::Subject(server) if server.scheme.tls && is_of_all => Some(
            "--restart: a subject is given the port of its plain service alone, and would speak TLS at another \
                  one; measure it without TLS",
        ),
        Peer::Embedded(_) | Peer::Given(_) | Peer::Started(_) | Peer::Subject(_) => None,
    }
}

/// Checks that the subjects of a measurement can do it, according to their manifests.
///
/// # Errors
///
/// [`RunError::Subject`] with what the subject cannot do.
fn check_limits(measurement: &Measurement) -> Result<(), RunError> {
    let client = measurement.client.as_ref();
    let of_client = client.and_then(|client| Some((&client.subject, misfit(measurement, client)?)));
    let of_server = || match &measurement.peer {
        Peer::Subject(server) => {
            let manifest = &server.subject.manifest;
            let Answer { reply, work } = measurement.spec.server.answer();
            let cannot_reply = reply.is_some() && !manifest.replies;
            let reason = cannot_reply.then(|| "it can only echo".to_owned());
            let cannot_work = work.is_some() && !manifest.works;
            let reason = reason
                .or_else(|| cannot_work.then(|| "it does no work before it answers".to_owned()));
            let reason = reason.or_else(|| beyond(measurement, &manifest.limits));
            let refusal = || {
                let (method, path) = (&measurement.speech.options.method, server.path.as_deref());
                let limits = Some(&manifest.limits);
                let limits = limits.filter(|_| server.scheme.protocol == Protocol::Http)?;
                limits.refusal_of_request(method, path.unwrap_or("/"))
            };
            let reason = reason.or_else(refusal)?;
            Some((&server.subject, reason))
        }
        Peer::Embedded(_) | Peer::Given(_) | Peer::Started(_) => None,
    };
    match of_client.or_else(of_server) {
        None => Ok(()),
        Some((subject, reason)) => Err(RunError::Subject { name: subject.name.clone(), reason }),
    }
}

/// The URL at which a subject speaks the scheme of a measurement, after it has passed the short verification there,
/// once.
///
/// # Errors
///
/// [`RunError::Subject`] with the first check that it failed.
fn verified(
    running: &mut RunningServer,
    server: &SubjectServer,
    measurement: &Measurement,
    context: Context<'_>,
) -> Result<Endpoint, RunError> {
    let SubjectServer { subject, scheme, .. } = server;
    let failed = |reason| RunError::Subject { name: subject.name.clone(), reason };
    let url = running.url(*scheme).map_err(failed)?;
    // The requests of a conversation are verified one by one, as for any server.
    let echoes = measurement.spec.conversation.is_none();
    if echoes && !running.verified.contains(scheme) {
        let Answer { reply, .. } = measurement.spec.server.answer();
        let questions = ServerQuestions {
            url: &url,
            authority_pem: running.authority_pem(),
            limits: &subject.manifest.limits,
            reply: reply.as_deref().map(str::as_bytes),
            extent: Extent::Short,
        };
        let checks = verify_server(&questions, context.interrupt);
        context.check()?;
        if let Some(failure) = checks.iter().find_map(Check::failure) {
            return Err(failed(format!("not verified: {failure}")));
        }
        running.verified.push(*scheme);
    }
    Ok(url)
}

/// CPU numbers in the form of the record.
pub(crate) fn numbers(cpus: &[usize]) -> Vec<u32> {
    cpus.iter().map(|cpu| u32::try_from(*cpu).unwrap_or(u32::MAX)).collect()
}

/// Measures how late the waits of `engine` end on this machine, or notes the reason why it cannot; takes about 0.1 s.
pub fn measure_timer_floor(environment: &mut Environment, engine: &mut Epoll) {
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

/// The source addresses of a measurement: those asked for, or as many loopback addresses as its ports require.
///
/// # Errors
///
/// [`RunError::Shortage`] with the number and the remedy.
fn sources(measurement: &Measurement, addresses: &[Address]) -> Result<Vec<IpAddr>, RunError> {
    let each = measurement.peer.scheme().sockets();
    let connections = u64::from(measurement.workload.connections.get()) * each;
    let mut limits: Limits = probe::limits();
    if measurement.peer.is_ours() {
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

/// The most ports that the connections of a measurement may occupy at one time. Those of short-lived clients stay
/// occupied for a while after the close, except over WebSocket, where the server closes first. They are counted twice
/// then, because the kernel finds a free port at once only while less than half of an address's ports are used, and
/// searches after that.
fn ports(measurement: &Measurement) -> u64 {
    let workload = &measurement.workload;
    let scheme = measurement.peer.scheme();
    let connections = u64::from(workload.connections.get()) * scheme.sockets();
    let Lifetime::RoundTrips(each) = workload.lifetime else { return connections };
    let clients = match workload.phases.stop {
        Stop::Clients(clients) => clients.get(),
        Stop::Messages(messages) => messages.get().div_ceil(each.get().into()),
        Stop::After(time) => {
            CLIENTS_PER_S_MAX * (time + workload.phases.warm_up).0.div_ceil(Nanos::from_secs(1).0)
        }
    };
    let clients = clients.saturating_mul(scheme.sockets());
    let server_closes_first =
        scheme.over_websocket() && workload.closing == load::Closing::Complete;
    connections + if server_closes_first { clients } else { clients.saturating_mul(2) }
}

/// The reason why a part of a block does not publish with a program.
pub(crate) const NO_PROGRAM: &str = "--publish-with: agents of a fleet start no programs; leave it out, or measure on this machine alone";

/// Time after which waiting for a version is announced.
const VERSION_MOMENT: Nanos = Nanos::from_secs(1);

/// More short-lived clients per second than one thread can serve.
const CLIENTS_PER_S_MAX: u64 = 100_000;
