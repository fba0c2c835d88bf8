//! The servers of a run: ours and those of others, each started once for all measurements that need the same one.
//!
//! A server is paused while it is not the turn of any of its measurements. A subject that has ended is started again,
//! once.

use super::certificates::Certificates;
use super::embedded::EmbeddedServer;
use super::processes::Processes;
use super::started;
use crate::RunError;
use crate::plan::{Measurement, Peer, Speech};
use crate::reach::Context;
use lab::{Launch, Part, PrivateFolder, Server, ServerSettings};
use record::{Block, Warning};
use spec::{Address, Answer, Endpoint, Protocol, Scheme};
use std::collections::BTreeMap;
use std::path::PathBuf;
use units::Nanos;
use wire::tls::Trust;

/// The identity of a server: measurements with the same key share one server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// An embedded server, with its answer.
    Embedded(EmbeddedServer, Answer),
    /// A server started from the user's command.
    Started(spec::Started),
    /// A subject by its name, its answer, the number of its CPUs, and true if it speaks TLS too.
    Subject(String, Answer, usize, bool),
}

impl Key {
    /// The key of a measurement's server, if it is ours to start.
    pub(crate) fn of(measurement: &Measurement) -> Option<Self> {
        let answer = measurement.spec.server.answer();
        match &measurement.peer {
            Peer::Embedded(embedded) => {
                Some(Self::Embedded(embedded_server(measurement, embedded), answer))
            }
            Peer::Given(_) => None,
            Peer::Started(started) => Some(Self::Started(started.clone())),
            Peer::Subject(server) => {
                let (name, cpus) = (server.subject.name.clone(), cpu_count(measurement));
                Some(Self::Subject(name, answer, cpus, server.scheme.tls))
            }
        }
    }
}

/// The number of CPUs for a measurement's server, which is a subject.
fn cpu_count(measurement: &Measurement) -> usize {
    measurement.spec.server.cpus().map_or(1, |cpus| cpus.get() as usize)
}

/// A server that was started.
#[derive(Debug)]
pub(crate) struct RunningServer {
    server: Server,
    name: String,
    /// The authority to trust, where it speaks TLS.
    authority_pem: Option<Vec<u8>>,
    /// The number of times that it has been started.
    pub(crate) starts: u32,
    /// The number of times that it has ended on its own.
    ends: u32,
    /// The schemes for which it was verified.
    pub(crate) verified: Vec<Scheme>,
}

impl RunningServer {
    /// Its URL of `scheme`.
    ///
    /// # Errors
    ///
    /// It has none.
    pub(crate) fn url(&self, scheme: Scheme) -> Result<Endpoint, String> {
        let urls = self.server.urls().iter().filter_map(|url| url.parse().ok());
        let url = urls.into_iter().find(|url: &Endpoint| url.scheme() == scheme);
        url.ok_or_else(|| {
            format!("it is ready for {}, but not for {scheme}", self.server.urls().join(", "))
        })
    }

    /// Its first URL of one of `carriers`, without TLS.
    ///
    /// # Errors
    ///
    /// It has none.
    pub(crate) fn url_over(&self, carriers: &[Protocol]) -> Result<Endpoint, String> {
        let urls = self.server.urls().iter().filter_map(|url| url.parse().ok());
        let mut urls = urls.filter(|url: &Endpoint| !url.tls);
        urls.find(|url| carriers.contains(&url.protocol)).ok_or_else(|| {
            let carriers: Vec<&str> =
                carriers.iter().map(|carrier| carrier.plain().name()).collect();
            let ready = self.server.urls().join(", ");
            format!(
                "it is ready for {ready}, but not for publishers, over {}",
                carriers.join(" or ")
            )
        })
    }

    /// The authority to trust, where it speaks TLS.
    pub(crate) fn authority_pem(&self) -> Option<&[u8]> {
        self.authority_pem.as_deref()
    }

    /// The usual way to speak with it over `scheme`.
    pub(crate) fn speech(&self, scheme: Scheme) -> Speech {
        let mut speech = Speech::usual(scheme);
        if let (Some(tls), Some(pem)) = (&mut speech.tls, &self.authority_pem) {
            tls.options.trust = Trust::Authorities { pem: vec![pem.clone()], der: Vec::new() };
        }
        speech
    }

    /// Ends it, because it is not needed any more.
    pub(crate) fn end(&mut self) {
        self.server.process_mut().end();
    }

    /// Its processes, now and later.
    pub(crate) fn processes(&self) -> Processes {
        Processes::of(self.server.process().keeper_pid())
    }

    /// The numbers of its processes now.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.server.process().pids()
    }

    /// Its processes whose program has this name.
    pub(crate) fn part(&self, program: &str) -> Part {
        self.server.process().part(program)
    }

    /// The names of its programs, as a comma-separated list.
    pub(crate) fn programs(&self) -> String {
        let names: Vec<String> = self.server.process().names().into_iter().collect();
        names.join(", ")
    }

    /// Lets it run.
    pub(crate) fn resume(&self) {
        self.server.process().resume();
    }

    /// Keeps it from using CPU time that others need.
    pub(crate) fn pause(&self) {
        self.server.process().pause();
    }

    /// The end of the server and its last words, if it has ended.
    pub(crate) fn died(&mut self) -> Option<String> {
        let status = self.server.process_mut().died()?;
        let said = last_words(&self.server.process().stderr());
        Some(format!("{} has ended: {status}{said}", self.name))
    }

    /// Its end, if it has ended by now. Where none of its processes is left, waits for its end to become visible.
    pub(crate) fn died_by_now(&mut self) -> Option<String> {
        self.died_within(0)
    }

    /// Its end during a block; `block` is `None` if the block yielded nothing. The end of a program takes a moment to
    /// become visible, longer where its connections were lost while others wanted the CPU.
    pub(crate) fn died_in(&mut self, block: Option<&Block>) -> Option<String> {
        let Some(Block { counts, connections, .. }) = block else {
            return self.died_within(END_POLLS);
        };
        let has_lost = connections.lost + connections.failed > 0;
        match counts.ok == counts.planned {
            _ if has_lost => self.died_within(END_POLLS_LOST),
            true if counts.ok > 0 => self.died(),
            _ => self.died_within(END_POLLS),
        }
    }

    /// Checks `polls` times for its end, and more often while none of its processes is left.
    fn died_within(&mut self, polls: u32) -> Option<String> {
        for poll in 0..END_POLLS_MAX {
            let died = self.died();
            if died.is_some() || poll >= polls && !self.pids().is_empty() {
                return died;
            }
            engine::clock::sleep(END_POLL);
        }
        None
    }
}

/// All servers of a run.
#[derive(Debug)]
pub(crate) struct Servers {
    launch: Launch,
    /// The CPUs that subjects may use; all other servers use the first one. Empty where nothing is pinned.
    cpus: Vec<usize>,
    /// The launch of servers of the user's, which may have other CPUs.
    launch_of_users: Launch,
    all: BTreeMap<Key, Result<RunningServer, String>>,
    /// Servers that `--restart` has killed and that have not come back, with their number of starts up to then.
    killed: BTreeMap<Key, u32>,
    certificates: Option<Certificates>,
    sockets: Option<PrivateFolder>,
    /// The number of socket paths handed out.
    sockets_used: u32,
    /// Warnings about their start that have not been taken yet.
    warnings: Vec<Warning>,
}

impl Servers {
    /// Servers that start with `launch`, on the first of `cpus` or as many of them as they are to have; the user's
    /// servers start with `launch_of_users`.
    pub(crate) fn new(launch: Launch, cpus: Vec<usize>, launch_of_users: Launch) -> Self {
        let first = cpus.first().copied().into_iter().collect();
        Self {
            launch: Launch { cpus: first, ..launch },
            cpus,
            launch_of_users,
            all: BTreeMap::new(),
            killed: BTreeMap::new(),
            certificates: None,
            sockets: None,
            sockets_used: 0,
            warnings: Vec::new(),
        }
    }

    /// The launch of the user's programs.
    pub(crate) fn launch_of_users(&self) -> &Launch {
        &self.launch_of_users
    }

    /// The CPUs of a measurement's server, which is one of ours or a subject; empty where it is not pinned.
    pub(crate) fn cpus_of(&self, measurement: &Measurement) -> &[usize] {
        self.cpus.get(..cpu_count(measurement)).unwrap_or_default()
    }

    /// The launch of a measurement's subject.
    ///
    /// # Errors
    ///
    /// It is to have more CPUs than there are.
    fn launch_of(&self, measurement: &Measurement) -> Result<Launch, String> {
        let (wanted, there) = (cpu_count(measurement), self.cpus.len());
        if wanted > 1 && wanted > there {
            return Err(format!(
                "`server-cpus` is {wanted}, but the generator leaves only {there} of the cores; ask for fewer, for \
                 fewer --threads, or measure it on a machine with more"
            ));
        }
        let cpus = self.cpus_of(measurement).to_vec();
        Ok(Launch { cpus, ..self.launch.clone() })
    }

    /// The server of a measurement, which the run has to start; starts it if it has not been started.
    ///
    /// # Errors
    ///
    /// [`RunError::NotStarted`]; one that did not start is not tried again. [`RunError::Interrupted`].
    pub(crate) fn started(
        &mut self,
        measurement: &Measurement,
        context: Context<'_>,
    ) -> Result<&mut RunningServer, RunError> {
        let key = Key::of(measurement).expect("only servers of ours are started");
        if !self.all.contains_key(&key) {
            let mut started = self.start(measurement, None, context);
            context.check()?;
            let starts_before = self.killed.remove(&key).unwrap_or(0);
            started.iter_mut().for_each(|server| server.starts += starts_before);
            self.all.insert(key.clone(), started.map_err(|error| error.to_string()));
        }
        let started = self.all.get_mut(&key).expect("it was just inserted").as_mut();
        started.map_err(|reason| match key {
            Key::Started(_) => RunError::Program(reason.clone()),
            Key::Embedded(..) | Key::Subject(..) => RunError::NotStarted(reason.clone()),
        })
    }

    /// The server of a measurement, if the run has started it.
    pub(crate) fn of(&self, measurement: &Measurement) -> Option<&RunningServer> {
        self.all.get(&Key::of(measurement)?)?.as_ref().ok()
    }

    /// Forgets the server of a measurement if `--restart` has killed it and it has not come back; it is started anew
    /// when it is needed. True if it was forgotten.
    pub(crate) fn forget_killed(&mut self, measurement: &Measurement) -> bool {
        let key = Key::of(measurement).filter(|key| self.killed.contains_key(key));
        key.is_some_and(|key| self.all.remove(&key).is_some())
    }

    /// Checks that the server of a measurement is not known to be gone.
    ///
    /// # Errors
    ///
    /// The reason why it was not started again.
    pub(crate) fn check(&self, measurement: &Measurement) -> Result<(), String> {
        let found = Key::of(measurement).and_then(|key| self.all.get(&key));
        found.map_or(Ok(()), |server| server.as_ref().map(drop).map_err(Clone::clone))
    }

    /// Like [`Self::of`], but mutable.
    pub(crate) fn of_mut(&mut self, measurement: &Measurement) -> Option<&mut RunningServer> {
        self.all.get_mut(&Key::of(measurement)?)?.as_mut().ok()
    }

    /// Starts the subject that serves a measurement again, to replace the one that has ended.
    ///
    /// # Errors
    ///
    /// As above; it was started again before, or is not a subject.
    pub(crate) fn start_again(
        &mut self,
        measurement: &Measurement,
        died: &str,
        context: Context<'_>,
    ) -> Result<(), String> {
        let Some(key) = Key::of(measurement) else { return Ok(()) };
        let known = self.of(measurement).map_or((0, 0), |server| (server.starts, server.ends));
        // The end of one of our own servers is a bug, which a new one must not hide.
        if matches!(key, Key::Embedded(..)) || known.1 >= ENDS_MAX {
            return Err(died.to_owned());
        }
        // The old one is ended before a new one is started.
        self.all.insert(key.clone(), Err(died.to_owned()));
        let mut server =
            self.start(measurement, None, context).map_err(|error| error.to_string())?;
        (server.starts, server.ends) = (known.0 + 1, known.1 + 1);
        self.all.insert(key, Ok(server));
        Ok(())
    }

    /// Kills the server of a measurement and starts it again at its former port, that of the first of its `places`.
    ///
    /// # Errors
    ///
    /// It does not start, or its places have changed; it is tried again for measurements that do not restart it.
    pub(crate) fn kill_and_start(
        &mut self,
        measurement: &Measurement,
        places: &dyn Fn(&RunningServer) -> Result<Vec<Endpoint>, String>,
        context: Context<'_>,
    ) -> Result<&RunningServer, String> {
        let key = Key::of(measurement).expect("only servers of ours are killed");
        let was = self.all.insert(key.clone(), Err(GONE.to_owned()));
        let mut was = was.expect("it was started")?;
        let before = places(&was)?;
        was.server.process_mut().kill();
        let started = self.start(measurement, before.first().and_then(port), context);
        let started = started.map_err(|error| error.to_string()).and_then(|mut server| {
            let now = places(&server)?;
            let mut pairs = now.iter().zip(&before);
            if let Some((now, before)) = pairs.find(|(now, before)| now.address != before.address) {
                return Err(format!("after its restart it listens at {now} instead of {before}"));
            }
            (server.starts, server.ends, server.verified) =
                (was.starts + 1, was.ends, was.verified);
            Ok(server)
        });
        let started = started.map_err(|reason| {
            format!("{} was killed by --restart, and is not back: {reason}", was.name)
        });
        if started.is_err() {
            self.killed.insert(key.clone(), was.starts);
        }
        self.all.insert(key.clone(), started);
        let started = self.all.get(&key).expect("it was just inserted").as_ref();
        started.map_err(Clone::clone)
    }

    /// Ends the server of a measurement because a part of it was killed and has not come back, as `reason` says; it is
    /// tried again for measurements that do not restart it.
    pub(crate) fn end_without_part(&mut self, measurement: &Measurement, reason: &str) {
        let key = Key::of(measurement).expect("only servers of ours are killed");
        if let Some(Ok(was)) = self.all.insert(key.clone(), Err(reason.to_owned())) {
            self.killed.insert(key, was.starts);
        }
    }

    /// Takes the warnings about the start of servers.
    pub(crate) fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }

    /// Starts the server of a measurement, at `port`, the one that it had before, if that is given.
    fn start(
        &mut self,
        measurement: &Measurement,
        port: Option<u16>,
        context: Context<'_>,
    ) -> Result<RunningServer, RunError> {
        let answer = measurement.spec.server.answer();
        let any_port = port.unwrap_or(0);
        match &measurement.peer {
            Peer::Embedded(embedded) => {
                self.start_embedded_at(&embedded_server(measurement, embedded), answer, any_port)
            }
            Peer::Subject(server) => {
                let name = server.subject.name.clone();
                let started = self.settings(answer, server.scheme).and_then(|settings| {
                    let settings = ServerSettings { port: any_port, ..settings };
                    let launch = self.launch_of(measurement)?;
                    self.start_with(&server.subject, &server.installed, &settings, &launch)
                });
                started.map_err(|reason| RunError::Subject { name, reason })
            }
            Peer::Started(server) => {
                let timeout = measurement.workload.timeouts.resolve;
                let started = started::start(server, port, timeout, &self.launch_of_users, context);
                let name = format!("{}, `{}`,", server.row, server.command);
                let (server, warnings) = started.map_err(|reason| {
                    RunError::Program(format!("{name} did not start: {reason}"))
                })?;
                self.warnings.extend(warnings);
                Ok(RunningServer {
                    server,
                    name,
                    authority_pem: None,
                    starts: 1,
                    ends: 0,
                    verified: Vec::new(),
                })
            }
            Peer::Given(_) => unreachable!("it is not ours to start"),
        }
    }

    /// Starts one of our own servers, which echoes.
    ///
    /// # Errors
    ///
    /// [`RunError::EmbeddedServer`].
    pub(crate) fn start_embedded(
        &mut self,
        embedded: &EmbeddedServer,
    ) -> Result<RunningServer, RunError> {
        self.start_embedded_at(embedded, Answer::default(), 0)
    }

    /// Starts one of our own servers at a port; 0 for any free one.
    fn start_embedded_at(
        &mut self,
        embedded: &EmbeddedServer,
        answer: Answer,
        port: u16,
    ) -> Result<RunningServer, RunError> {
        let started = self.settings(answer, embedded.scheme).and_then(|settings| {
            let settings = ServerSettings { port, ..settings };
            let socket = self.socket()?;
            let subject = embedded.subject(&self.launch.program, &settings, &socket);
            self.start_with(&subject, &self.launch.scratch, &settings, &self.launch)
        });
        let name = embedded.scheme.name();
        started.map_err(|reason| RunError::EmbeddedServer { name, reason })
    }

    fn start_with(
        &self,
        subject: &lab::Subject,
        folder: &std::path::Path,
        settings: &ServerSettings,
        launch: &Launch,
    ) -> Result<RunningServer, String> {
        let server =
            Server::start(subject, folder, settings, launch).map_err(|error| error.to_string())?;
        let certificates = self.certificates.as_ref().filter(|_| settings.tls.is_some());
        let authority_pem = certificates.map(|certificates| certificates.authority_pem.clone());
        let name = subject.name.clone();
        Ok(RunningServer { server, name, authority_pem, starts: 1, ends: 0, verified: Vec::new() })
    }

    /// The settings of a server of `scheme`, with a certificate if the scheme uses TLS.
    fn settings(
        &mut self,
        Answer { reply, work }: Answer,
        scheme: Scheme,
    ) -> Result<ServerSettings, String> {
        if scheme.tls && self.certificates.is_none() {
            self.certificates = Some(Certificates::new(&self.launch.scratch)?);
        }
        let certificates = self.certificates.as_ref().filter(|_| scheme.tls);
        let tls = certificates.map(|certificates| certificates.files.clone());
        Ok(ServerSettings { reply, work, tls, ..ServerSettings::default() })
    }

    /// A path for a Unix socket that no other server has.
    fn socket(&mut self) -> Result<PathBuf, String> {
        let sockets = match self.sockets.take() {
            Some(sockets) => sockets,
            None => PrivateFolder::new(&self.launch.scratch, "sockets")?,
        };
        self.sockets_used += 1;
        Ok(self.sockets.insert(sockets).path(&self.sockets_used.to_string()))
    }
}

/// The embedded server that a measurement needs: in rooms, the relay.
pub(crate) fn embedded_server(
    measurement: &Measurement,
    embedded: &spec::Embedded,
) -> EmbeddedServer {
    match measurement.workload.rooms {
        Some(_) => EmbeddedServer::relay(embedded),
        None => EmbeddedServer::of(embedded),
    }
}

/// The port of a URL; `None` for a Unix socket.
fn port(url: &Endpoint) -> Option<u16> {
    match url.address {
        Address::Host { port, .. } => Some(port),
        Address::Unix(_) => None,
    }
}

/// The last output of a program, to be appended to the reason; empty if there was none.
pub(crate) fn last_words(said: &str) -> String {
    let mut lines: Vec<&str> =
        said.lines().filter(|line| !line.trim().is_empty()).rev().take(LAST_LINES).collect();
    lines.reverse();
    let words = lines.join(" | ");
    let from = words.char_indices().rev().take(LAST_WORDS_LEN_MAX).last();
    match from {
        None => String::new(),
        Some((from, _)) => format!("; its last output: {}", &words[from..]),
    }
}

/// The most lines and characters of that output.
const LAST_LINES: usize = 3;
const LAST_WORDS_LEN_MAX: usize = 400;
/// Time between two checks for its end, and the most checks: for 0.1 s, for 1 s where connections were lost, and for 3
/// s while none of its processes is left.
const END_POLL: Nanos = Nanos::from_millis(5);
const END_POLLS: u32 = 20;
const END_POLLS_LOST: u32 = 200;
const END_POLLS_MAX: u32 = 600;
/// A subject that has ended is started again once.
const ENDS_MAX: u32 = 1;
/// The reason why there is no server while it is started again.
const GONE: &str = "it was killed by --restart";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_what_was_said_stands_on_one_line() {
        assert_eq!(last_words(" \n\n"), "");
        assert_eq!(last_words("a\nb\n\nc\nd\n"), "; its last output: b | c | d");
        let long = "é".repeat(1000);
        let words = last_words(&long);
        assert_eq!(words.matches('é').count(), LAST_WORDS_LEN_MAX);
    }
}
