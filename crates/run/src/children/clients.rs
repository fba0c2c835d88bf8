//! The client subjects of a run: a process for each measurement, kept over its blocks and paused between them.
//!
//! A client that has ended is started again, once; a client whose server has been started again is started anew.

use crate::plan::{Measurement, SubjectClient};
use crate::reach::Ready;
use lab::{Client, ClientSettings, Launch, Limits, Method, PrivateFolder};
use load::{Arrival, Expect, Lifetime};
use spec::{Address, Endpoint};
use std::collections::BTreeMap;

/// All client subjects of a run.
#[derive(Debug)]
pub(crate) struct Clients {
    launch: Launch,
    /// The launch of clients that only receive: a browser has many processes, and gets the CPUs that nothing else uses,
    /// or all CPUs where there are none.
    launch_receivers: Launch,
    /// The running clients, by measurement.
    all: BTreeMap<usize, RunningClient>,
    files: Option<PrivateFolder>,
}

/// A client that was started.
#[derive(Debug)]
struct RunningClient {
    client: Client,
    /// The number of starts, including this one, counting restarts because the process before had ended.
    starts: u32,
    /// The count of its server's starts when this client was started.
    server_starts: u32,
}

impl Clients {
    /// Clients that start with `launch`, on its CPUs; those that only receive start with `launch_receivers`, on its
    /// CPUs.
    pub(crate) fn new(launch: Launch, launch_receivers: Launch) -> Self {
        Self { launch, launch_receivers, all: BTreeMap::new(), files: None }
    }

    /// The running client of a measurement, and true if it was started by this call. `server_starts` is the number of
    /// times that its server was started.
    ///
    /// # Errors
    ///
    /// The reason why there is none.
    pub(crate) fn running(
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
                    return Err(format!("the client has ended twice, the last time: {died}"));
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
            let launch = match asked.subject.manifest.receives() {
                true => &self.launch_receivers,
                false => &self.launch,
            };
            let client = Client::start(&asked.subject, &asked.installed, &settings, launch);
            let client = client.map_err(|error| format!("{}: {error}", asked.subject.name))?;
            self.all.insert(workload, RunningClient { client, starts, server_starts });
        }
        let running = self.all.get_mut(&workload).expect("it was just inserted");
        running.client.process().resume();
        Ok((&mut running.client, is_new))
    }

    /// Keeps the client of a measurement from using CPU time that others need.
    pub(crate) fn pause(&self, workload: usize) {
        if let Some(known) = self.all.get(&workload) {
            known.client.process().pause();
        }
    }

    /// The version of the library that the client of a measurement reports, if it was started.
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
        let files = match self.files.take() {
            Some(files) => files,
            None => PrivateFolder::new(&self.launch.scratch, "clients")?,
        };
        let files = self.files.insert(files);
        let load = &measurement.workload;
        let file = |what: &str| format!("{what}-{workload}");
        let authority = ready.authority_pem.as_deref().filter(|_| ready.url.tls);
        Ok(ClientSettings {
            url: url(&ready.url, asked).whole(),
            authority: authority.map(|pem| files.write(&file("ca"), pem)).transpose()?,
            connections: load.connections.get(),
            payload: files.write(&file("payload"), load.content.payload())?,
            expect: files.write(&file("expect"), expected(measurement, ready)?)?,
            is_text: load.content.is_text(),
            method: match &measurement.speech.options.method[..] {
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

/// The URL that a client connects to.
fn url(server: &Endpoint, asked: &SubjectClient) -> Endpoint {
    match (&asked.host, &server.address) {
        (Some(host), Address::Host { port, .. }) => {
            let address = Address::Host { name: host.clone(), port: *port };
            Endpoint { address, ..server.clone() }
        }
        _ => server.clone(),
    }
}

/// The reply that every message must get.
fn expected<'a>(measurement: &'a Measurement, ready: &'a Ready) -> Result<&'a [u8], String> {
    if measurement.workload.rooms.is_some() {
        return Ok(&[]); // It sends nothing.
    }
    match (&measurement.workload.expect, &ready.reply) {
        (_, Some(reply)) => Ok(reply),
        (Expect::Echo, None) => Ok(measurement.workload.content.payload()),
        (Expect::Exactly(reply), None) => Ok(reply),
        (
            Expect::Anything
            | Expect::Contains(_)
            | Expect::InSequence
            | Expect::Oracle
            | Expect::Sha256(_),
            None,
        ) => Err("a client subject compares every reply with one text".to_owned()),
    }
}

/// The reason why a client subject cannot do a measurement; `None` if its manifest allows it.
pub(crate) fn misfit(measurement: &Measurement, client: &SubjectClient) -> Option<String> {
    let manifest = &client.subject.manifest;
    let scheme = measurement.peer.scheme();
    if !manifest.speaks.iter().any(|speaks| speaks == scheme.name()) {
        return Some(format!("it does not speak {scheme}"));
    }
    match (manifest.receives(), measurement.workload.rooms) {
        (true, Some(rooms)) if rooms.all().conduct.is_steady() => {
            return beyond(measurement, &manifest.limits);
        }
        (true, Some(_)) => {
            return Some(
                "its receivers stay and read: none is slow, leaves or is torn off".to_owned(),
            );
        }
        (true, None) => return Some("it receives in rooms, and sends nothing".to_owned()),
        (false, Some(_)) => {
            return Some("it sends echoes, but does not receive in rooms".to_owned());
        }
        (false, None) => {}
    }
    match &measurement.workload.arrival {
        Arrival::Closed { in_flight, in_flight_max: None } if in_flight.get() == 1 => {}
        Arrival::Open { schedule, .. } if manifest.rates => {
            if schedule.rate.constant().is_none() {
                return Some("it sends at a constant rate, not at one that changes".to_owned());
            }
        }
        Arrival::Open { .. } => return Some("it cannot send at a rate".to_owned()),
        Arrival::Closed { .. } | Arrival::Sessions { .. } | Arrival::Think { .. } => {
            return Some("it has one message in flight on each connection".to_owned());
        }
    }
    beyond(measurement, &manifest.limits)
}

/// Describes the part of a measurement that exceeds the limits of a subject, with the manifest's reason for the limit.
pub(crate) fn beyond(measurement: &Measurement, limits: &Limits) -> Option<String> {
    let load = &measurement.workload;
    let (connections, size) = (load.connections.get(), load.content.payload().len() as u64);
    let is_binary = !load.content.is_text() && measurement.peer.scheme().facts().carries.has_both();
    let beyond =
        if let Some(max) = limits.connections_max.filter(|max| u64::from(connections) > *max) {
            format!("it takes at most {max} connections, but {connections} were asked for")
        } else if let Some(max) = limits.message_max.filter(|max| size > *max) {
            format!("it takes messages of at most {max} bytes, but {size} were asked for")
        } else if limits.text_only && is_binary {
            "it takes only text".to_owned()
        } else {
            return None;
        };
    Some(format!("{beyond}: {}", limits.why))
}

/// A client that has ended is started again once.
const STARTS_MAX: u32 = 2;
