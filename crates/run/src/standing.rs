//! The servers of a run: ours and those of others, each started once for all measurements that want the same.
//!
//! A subject is paused while none of its measurements has its turn. One that has ended is started again, once.

use crate::RunError;
use crate::drawer::Drawer;
use crate::plan::{Embedded, Measurement, Peer};
use crate::processes::Processes;
use crate::servers::{self, Server};
use lab::{Home, ServerSettings};
use record::Block;
use serve::certificates::{Authority, KeyType, Leaf, Usage, Validity, local_names};
use spec::{Endpoint, Scheme};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use units::Nanos;

/// What distinguishes servers: measurements that agree in all of it share one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// One of ours.
    Embedded(Embedded, Option<String>),
    /// Somebody's, by the name of the subject, and whether it speaks TLS too.
    Subject(String, Option<String>, bool),
}

impl Key {
    /// That of the server of a measurement, if it is ours to start.
    pub(crate) fn of(measurement: &Measurement) -> Option<Self> {
        let reply = measurement.reply.clone();
        match &measurement.peer {
            Peer::Embedded(embedded) => Some(Self::Embedded(*embedded, reply)),
            Peer::Given(_) => None,
            Peer::Subject(server) => {
                Some(Self::Subject(server.subject.name.clone(), reply, server.scheme.tls))
            }
        }
    }
}

/// How servers and clients are started.
#[derive(Clone, Debug)]
pub(crate) struct Starting {
    /// How subjects are started, but for their CPUs; and with which program, which is our own, our servers are.
    pub(crate) launch: lab::Launch,
    /// Where files may be put.
    pub(crate) scratch: PathBuf,
    /// The CPU of servers.
    pub(crate) server_cpu: Option<usize>,
}

/// A server that was started.
#[derive(Debug)]
pub(crate) struct Standing {
    who: Who,
    /// Whom to trust, where it speaks TLS.
    authority_pem: Option<Vec<u8>>,
    version: Option<String>,
    /// How often it has been started.
    pub(crate) starts: u32,
    /// For which schemes it was verified.
    pub(crate) verified: Vec<Scheme>,
}

#[derive(Debug)]
enum Who {
    Embedded(Server),
    Subject(lab::Server),
}

impl Standing {
    /// Where it speaks `scheme`.
    ///
    /// # Errors
    ///
    /// It does not.
    pub(crate) fn url(&self, scheme: Scheme) -> Result<Endpoint, String> {
        match &self.who {
            Who::Embedded(server) => Ok(server.url.clone()),
            Who::Subject(server) => {
                let said = server.urls().iter().filter_map(|said| said.parse().ok());
                let url = said.into_iter().find(|url: &Endpoint| url.scheme() == scheme);
                url.ok_or_else(|| {
                    format!("it is ready for {}, and not for {scheme}", server.urls().join(", "))
                })
            }
        }
    }

    /// Whom to trust, where it speaks TLS.
    pub(crate) fn authority_pem(&self) -> Option<&[u8]> {
        self.authority_pem.as_deref()
    }

    /// The version of the library that it says to be, if it is a subject and says so.
    pub(crate) fn version(&self) -> Option<String> {
        self.version.clone()
    }

    /// Ends it, as one that is of no use any more.
    pub(crate) fn end(&mut self) {
        if let Who::Subject(server) = &mut self.who {
            server.process_mut().end();
        }
    }

    /// Its processes.
    pub(crate) fn processes(&self) -> Processes {
        match &self.who {
            Who::Embedded(server) => Processes::one(server.pid()),
            Who::Subject(server) => Processes::of(server.process().keeper_pid()),
        }
    }

    /// Lets it run.
    pub(crate) fn resume(&self) {
        if let Who::Subject(server) = &self.who {
            server.process().resume();
        }
    }

    /// Keeps it from using CPU time that others need; one of ours uses none by itself.
    pub(crate) fn pause(&self) {
        if let Who::Subject(server) = &self.who {
            server.process().pause();
        }
    }

    /// What became of it, if it has ended, with the last that it said.
    pub(crate) fn died(&mut self) -> Option<String> {
        match &mut self.who {
            Who::Embedded(server) => {
                let status = server.died()?;
                Some(format!("the embedded {} server has ended: {status}", server.url.scheme()))
            }
            Who::Subject(server) => {
                let status = server.process_mut().died()?;
                let said = last_words(&server.process().said());
                Some(format!("the server has ended: {status}{said}"))
            }
        }
    }
}

impl Standing {
    /// What became of it before a block: one of which no process is left is about to be seen to have ended.
    pub(crate) fn died_before(&mut self) -> Option<String> {
        self.died_within(0)
    }

    /// What became of it during a block; `None` for a block: it came to nothing. A subject's end takes a moment to be
    /// seen, longer where it took its connections with it while others wanted the CPU.
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

    /// Looks so many times, and more often while none of its processes is left.
    fn died_within(&mut self, polls: u32) -> Option<String> {
        for poll in 0..END_POLLS_MAX {
            let died = self.died();
            let is_ending = match &self.who {
                Who::Embedded(_) => false,
                Who::Subject(server) => poll < polls || server.process().pids().is_empty(),
            };
            if died.is_some() || !is_ending {
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
    starting: Starting,
    all: BTreeMap<Key, Result<Standing, String>>,
    certificates: Option<Certificates>,
}

impl Servers {
    pub(crate) fn new(starting: Starting) -> Self {
        Self { starting, all: BTreeMap::new(), certificates: None }
    }

    /// The server of a measurement, which is ours to start; started now if it has not been.
    ///
    /// # Errors
    ///
    /// [`RunError::EmbeddedServer`] and [`RunError::Subject`]; one that did not start is not tried again.
    pub(crate) fn stand(&mut self, measurement: &Measurement) -> Result<&mut Standing, RunError> {
        let key = Key::of(measurement).expect("only servers of ours are started");
        if !self.all.contains_key(&key) {
            let started = self.start(measurement);
            self.all.insert(key.clone(), started.map_err(|error| error.to_string()));
        }
        let started = self.all.get_mut(&key).expect("it was just inserted").as_mut();
        started.map_err(|reason| RunError::NotStarted(reason.clone()))
    }

    /// The server of a measurement, if it is ours and was started.
    pub(crate) fn of(&self, measurement: &Measurement) -> Option<&Standing> {
        self.all.get(&Key::of(measurement)?)?.as_ref().ok()
    }

    /// The same, to be changed.
    pub(crate) fn of_mut(&mut self, measurement: &Measurement) -> Option<&mut Standing> {
        self.all.get_mut(&Key::of(measurement)?)?.as_mut().ok()
    }

    /// Starts the subject that serves a measurement once more, in place of the one that has ended.
    ///
    /// # Errors
    ///
    /// As above; and it was started again before.
    pub(crate) fn start_again(
        &mut self,
        measurement: &Measurement,
        died: &str,
    ) -> Result<(), String> {
        let Some(key) = Key::of(measurement) else { return Ok(()) };
        let starts = self.of(measurement).map_or(0, |standing| standing.starts);
        let is_subject = matches!(key, Key::Subject(..));
        if !is_subject || starts >= STARTS_MAX {
            return Err(died.to_owned());
        }
        // The old one ends before there is a new one.
        self.all.insert(key.clone(), Err(died.to_owned()));
        let mut standing = self.start(measurement).map_err(|error| error.to_string())?;
        standing.starts = starts + 1;
        self.all.insert(key, Ok(standing));
        Ok(())
    }

    fn start(&mut self, measurement: &Measurement) -> Result<Standing, RunError> {
        let Starting { launch, scratch, server_cpu } = &self.starting;
        let (who, authority_pem) = match &measurement.peer {
            Peer::Embedded(embedded) => {
                let program = &launch.program;
                let launch = servers::Launch { program, scratch, cpu: *server_cpu };
                let server = Server::start(*embedded, measurement.reply.as_deref(), launch)?;
                let authority_pem = server.authority_pem.clone();
                (Who::Embedded(server), authority_pem)
            }
            Peer::Subject(server) => {
                let failed =
                    |reason| RunError::Subject { name: server.subject.name.clone(), reason };
                let (tls, authority_pem) = if server.scheme.tls {
                    let certificates = match self.certificates.take() {
                        Some(certificates) => certificates,
                        None => Certificates::new(scratch).map_err(failed)?,
                    };
                    let certificates = self.certificates.insert(certificates);
                    (Some(certificates.files.clone()), Some(certificates.authority_pem.clone()))
                } else {
                    (None, None)
                };
                let settings = ServerSettings {
                    reply: measurement.reply.clone(),
                    tls,
                    ..ServerSettings::default()
                };
                let launch =
                    lab::Launch { cpus: server_cpu.iter().copied().collect(), ..launch.clone() };
                let (subject, installed) = (&server.subject, &server.installed);
                let started = lab::Server::start(subject, installed, &settings, &launch);
                (Who::Subject(started.map_err(|error| failed(error.to_string()))?), authority_pem)
            }
            Peer::Given(_) => unreachable!("it is not ours to start"),
        };
        let version = match &measurement.peer {
            Peer::Subject(server) => {
                // What it runs on is installed in a folder of all subjects, unless a test made it.
                let home = server.installed.parent().map(|folder| Home::new(folder.to_owned()));
                let asked = home.map(|home| home.version(&server.subject, launch));
                asked.and_then(Result::ok)
            }
            Peer::Embedded(_) | Peer::Given(_) => None,
        };
        Ok(Standing { who, authority_pem, version, starts: 1, verified: Vec::new() })
    }
}

/// The certificate that subjects serve with, as files, and the authority that signed it.
#[derive(Debug)]
struct Certificates {
    files: lab::TlsFiles,
    authority_pem: Vec<u8>,
    _drawer: Drawer,
}

impl Certificates {
    fn new(scratch: &Path) -> Result<Self, String> {
        let words = |error: serve::certificates::CertificateError| error.to_string();
        let now_unix_s = engine::clock::unix_seconds().unwrap_or(0);
        let validity = Validity::days(now_unix_s, VALID_DAYS);
        let authority = Authority::new(KeyType::default(), validity).map_err(words)?;
        let names = local_names();
        let leaf = Leaf { names: &names, usage: Usage::Server, validity };
        let identity = authority.issue(&leaf).map_err(words)?;
        let drawer = Drawer::new(scratch, "certificates")?;
        let files = lab::TlsFiles {
            certificate: drawer.write("certificate.pem", &identity.chain_pem)?,
            key: drawer.write("key.pem", &identity.key_pem)?,
        };
        let authority_pem = authority.certificate_pem().as_bytes().to_vec();
        Ok(Self { files, authority_pem, _drawer: drawer })
    }
}

/// The end of what a subject said, to stand behind the reason; empty if it said nothing.
pub(crate) fn last_words(said: &str) -> String {
    let mut lines: Vec<&str> =
        said.lines().filter(|line| !line.trim().is_empty()).rev().take(LAST_LINES).collect();
    lines.reverse();
    let words = lines.join(" | ");
    let from = words.char_indices().rev().take(LAST_WORDS_LEN_MAX).last();
    match from {
        None => String::new(),
        Some((from, _)) => format!("; the last it said: {}", &words[from..]),
    }
}

/// How many lines of it, and how many characters.
const LAST_LINES: usize = 3;
const LAST_WORDS_LEN_MAX: usize = 400;
/// How often, and how many times, its end is looked for: for 0.1 s, for 1 s where connections were lost, and for 3 s
/// while none of its processes is left.
const END_POLL: Nanos = Nanos::from_millis(5);
const END_POLLS: u32 = 20;
const END_POLLS_LOST: u32 = 200;
const END_POLLS_MAX: u32 = 600;
/// A subject that has ended is started again once.
const STARTS_MAX: u32 = 2;
/// Longer than any run.
const VALID_DAYS: u64 = 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_what_was_said_stands_on_one_line() {
        assert_eq!(last_words(" \n\n"), "");
        assert_eq!(last_words("a\nb\n\nc\nd\n"), "; the last it said: b | c | d");
        let long = "é".repeat(1000);
        let words = last_words(&long);
        assert_eq!(words.matches('é').count(), LAST_WORDS_LEN_MAX);
    }
}
