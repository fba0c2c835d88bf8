//! The client subjects of a run: a process for each measurement, kept over its blocks and paused between them.
//!
//! One that has ended is started again, once; one whose server listens somewhere else now is started anew.

use crate::drawer::Drawer;
use crate::plan::{Measurement, SubjectClient};
use crate::setup::Ready;
use crate::standing::Starting;
use lab::{Client, ClientSettings, Limits, Method};
use load::{Arrival, Expect, Lifetime};
use record::MessageKind;
use spec::{Address, Endpoint, Protocol};
use std::collections::BTreeMap;

/// All client subjects of a run.
#[derive(Debug)]
pub(crate) struct Clients {
    starting: Starting,
    /// The CPU of each.
    cpu: Option<usize>,
    /// By measurement.
    all: BTreeMap<usize, Standing>,
    drawer: Option<Drawer>,
}

/// A client that was started.
#[derive(Debug)]
struct Standing {
    client: Client,
    /// How often one was started because the one before had ended, this one included.
    starts: u32,
    /// Which start of its server it knows.
    server_starts: u32,
}

impl Clients {
    pub(crate) fn new(starting: Starting, cpu: Option<usize>) -> Self {
        Self { starting, cpu, all: BTreeMap::new(), drawer: None }
    }

    /// The client of a measurement, running, and whether it was started for that because there was none.
    /// `server_starts` is how often its server was.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub(crate) fn stand(
        &mut self,
        workload: usize,
        measurement: &Measurement,
        ready: &Ready,
        server_starts: u32,
    ) -> Result<(&mut Client, bool), String> {
        let Some(asked) = &measurement.client else {
            return Err("no client is asked for".to_owned());
        };
        let mut starts = 1;
        if let Some(known) = self.all.get_mut(&workload) {
            starts = known.starts;
            if let Some(died) = known.client.process_mut().died() {
                if starts >= STARTS_MAX {
                    return Err(format!("the client has ended twice, at last: {died}"));
                }
                starts += 1;
                self.all.remove(&workload);
            } else if known.server_starts != server_starts {
                self.all.remove(&workload);
            }
        }
        let is_new = !self.all.contains_key(&workload);
        if is_new {
            let settings = self.settings(workload, measurement, asked, ready)?;
            let launch = lab::Launch {
                cpus: self.cpu.iter().copied().collect(),
                ..self.starting.launch.clone()
            };
            let client = Client::start(&asked.subject, &asked.installed, &settings, &launch);
            let client = client.map_err(|error| format!("{}: {error}", asked.subject.name))?;
            self.all.insert(workload, Standing { client, starts, server_starts });
        }
        let standing = self.all.get_mut(&workload).expect("it was just inserted");
        standing.client.process().resume();
        Ok((&mut standing.client, is_new))
    }

    /// Keeps the client of a measurement from using CPU time that others need.
    pub(crate) fn pause(&self, workload: usize) {
        if let Some(known) = self.all.get(&workload) {
            known.client.process().pause();
        }
    }

    /// The version of the library that the client of a measurement says to be, if it was started.
    pub(crate) fn version(&self, workload: usize) -> Option<String> {
        let library = self.all.get(&workload)?.client.library();
        Some(library.rsplit_once(' ').map_or(library, |(_, version)| version).to_owned())
    }

    fn settings(
        &mut self,
        workload: usize,
        measurement: &Measurement,
        asked: &SubjectClient,
        ready: &Ready,
    ) -> Result<ClientSettings, String> {
        let drawer = match self.drawer.take() {
            Some(drawer) => drawer,
            None => Drawer::new(&self.starting.scratch, "clients")?,
        };
        let drawer = self.drawer.insert(drawer);
        let load = &measurement.workload;
        let file = |what: &str| format!("{what}-{workload}");
        let authority = ready.authority_pem.as_deref().filter(|_| ready.url.tls);
        Ok(ClientSettings {
            url: url(&ready.url, asked).to_string(),
            authority: authority.map(|pem| drawer.write(&file("ca"), pem)).transpose()?,
            connections: load.connections.get(),
            payload: drawer.write(&file("payload"), load.content.payload())?,
            expect: drawer.write(&file("expect"), expected(measurement, ready)?)?,
            kind: if load.content.is_text() { MessageKind::Text } else { MessageKind::Binary },
            method: match &measurement.speech.method[..] {
                "GET" => Method::Get,
                _ => Method::Post,
            },
            life: match load.lifetime {
                Lifetime::Long => None,
                Lifetime::RoundTrips(each) => Some(each.get().into()),
            },
        })
    }
}

/// Where it is to connect to.
fn url(server: &Endpoint, asked: &SubjectClient) -> Endpoint {
    match (&asked.host, &server.address) {
        (Some(host), Address::Host { port, .. }) => {
            let address = Address::Host { name: host.clone(), port: *port };
            Endpoint { address, ..server.clone() }
        }
        _ => server.clone(),
    }
}

/// What has to come back.
fn expected<'a>(measurement: &'a Measurement, ready: &'a Ready) -> Result<&'a [u8], String> {
    match (&measurement.workload.expect, &ready.reply) {
        (_, Some(reply)) => Ok(reply),
        (Expect::Echo, None) => Ok(measurement.workload.content.payload()),
        (Expect::Exactly(reply), None) => Ok(reply),
        (Expect::Anything | Expect::InSequence | Expect::Oracle, None) => {
            Err("a client subject compares every reply with one text".to_owned())
        }
    }
}

/// Why a client subject cannot do what is asked of it; `None` if it can, as far as its manifest says.
pub(crate) fn misfit(measurement: &Measurement, client: &SubjectClient) -> Option<String> {
    let manifest = &client.subject.manifest;
    let scheme = measurement.peer.scheme();
    if !manifest.speaks.iter().any(|speaks| speaks == scheme.name()) {
        return Some(format!("it does not speak {scheme}"));
    }
    match measurement.workload.arrival {
        Arrival::Closed { in_flight, in_flight_max: None } if in_flight.get() == 1 => {}
        Arrival::Open { .. } if manifest.rates => {}
        Arrival::Open { .. } => return Some("it cannot send at a rate".to_owned()),
        Arrival::Closed { .. } | Arrival::Sessions { .. } | Arrival::Think { .. } => {
            return Some("it has one message in flight on each connection".to_owned());
        }
    }
    beyond(measurement, &manifest.limits)
}

/// What of a measurement is beyond the limits of a subject, with the reason that its manifest has.
pub(crate) fn beyond(measurement: &Measurement, limits: &Limits) -> Option<String> {
    let load = &measurement.workload;
    let (connections, size) = (load.connections.get(), load.content.payload().len() as u64);
    let is_binary = !load.content.is_text()
        && matches!(measurement.peer.scheme().protocol, Protocol::WebSocket);
    let beyond =
        if let Some(max) = limits.connections_max.filter(|max| u64::from(connections) > *max) {
            format!("it takes {max} connections at most, {connections} were asked for")
        } else if let Some(max) = limits.message_max.filter(|max| size > *max) {
            format!("it takes messages of {max} bytes at most, {size} were asked for")
        } else if limits.text_only && is_binary {
            "it takes text alone".to_owned()
        } else {
            return None;
        };
    Some(format!("{beyond}: {}", limits.why))
}

/// A client that has ended is started again once.
const STARTS_MAX: u32 = 2;
