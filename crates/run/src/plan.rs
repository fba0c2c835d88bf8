//! An experiment prepared for execution: subjects found, payloads generated, protocols and TLS set up.
//!
//! Start reading at [`Plan::new`]. Nothing here starts, connects or measures.

use crate::safety;
use load::{Arrival, Content, Expect, Pick, Requests, RoomShare, Schedule};
use spec::conversation::{Cue, Reply, Request};
use spec::{Blob, Endpoint, Experiment, Load, Scheme, Server, Spacing, Trust, Workload};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use units::{Nanos, Rate};
use wire::conversation;
use wire::game::Bots;
use wire::styx::load_test::LoadRequest;
use wire::tls::{ClientOptions, Identity, OptionsError};
use wire::websocket::deflate;

/// An experiment, and for each of its workloads everything that the workers need.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The description.
    pub experiment: Experiment,
    /// The measurements: one per workload, and in a sweep one more per step.
    pub measurements: Vec<Measurement>,
}

/// Looks up a subject by name, with the folder that it is installed in, or the reason why there is none.
pub type Installed<'a> = &'a dyn Fn(&str) -> Result<(lab::Subject, PathBuf), String>;

impl Plan {
    /// Makes `experiment` ready.
    ///
    /// # Errors
    ///
    /// The first field of the first workload that is not possible.
    pub fn new(experiment: Experiment, installed: Installed<'_>) -> Result<Self, PlanError> {
        let ready = |(line, workload): (usize, &Workload)| {
            let is_public = experiment.public_allowed && safety::may_be_public(&workload.server);
            let measurement = Measurement::new(workload, is_public, installed)?;
            Ok(Measurement { line, ..measurement })
        };
        let workloads = experiment.workloads.iter().enumerate();
        let measurements = workloads.map(ready).collect::<Result<_, PlanError>>()?;
        Ok(Self { experiment, measurements })
    }

    /// The approximate time of the whole experiment: its blocks, and before them the start and warm-up of subjects.
    pub fn expected(&self) -> Nanos {
        let blocks = vec![self.experiment.rounds as usize; self.measurements.len()];
        let started =
            self.measurements.iter().map(starting).fold(Nanos::ZERO, |sum, one| sum + one);
        match &self.experiment.axis {
            Some(axis) => axis.budget,
            None => {
                let all = started + self.expected_of(&blocks);
                self.experiment.until.as_ref().map_or(all, |until| all.min(until.budget))
            }
        }
    }

    /// The approximate time of the given number of blocks of each measurement, once everything is set up.
    pub(crate) fn expected_of(&self, blocks: &[usize]) -> Nanos {
        let of_measurement = |(measurement, blocks): (&Measurement, &usize)| {
            let warm_up = match measurement.compiles_while_it_runs() && *blocks > 0 {
                true => Nanos(self.experiment.jit_warm_up_max.0 / 2),
                false => Nanos::ZERO,
            };
            warm_up + Nanos(measurement.spec.block_time().0.saturating_mul(*blocks as u64))
        };
        let each = self.measurements.iter().zip(blocks).map(of_measurement);
        each.fold(Nanos::ZERO, |sum, one| sum + one)
    }
}

/// The place of a block in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) workload: usize,
    pub(crate) round: usize,
}

/// The error about a field of a workload that is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct PlanError {
    /// The field, as options name it.
    pub field: &'static str,
    /// The reason, with the value and the remedy.
    pub message: String,
}

/// A workload made ready.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The index of its workload in the experiment, which for a step of a sweep is that of the line.
    pub line: usize,
    /// The description.
    pub spec: Workload,
    /// The server.
    pub peer: Peer,
    /// The client; `None` is this program.
    pub client: Option<SubjectClient>,
    /// Everything that is said besides the messages.
    pub speech: Speech,
    /// The load before it is divided among threads.
    pub workload: load::Workload,
    /// True if the target may have a public address: the load then ramps up gently, and identifies its origin.
    pub is_public: bool,
    /// The source addresses that connections use in turn.
    pub sources: Vec<IpAddr>,
}

impl Measurement {
    /// Makes a workload ready, for a target that is public or not.
    pub(crate) fn new(
        spec: &Workload,
        is_public: bool,
        installed: Installed<'_>,
    ) -> Result<Self, PlanError> {
        let spec = if is_public { safety::gently(spec) } else { spec.clone() };
        let find = |name: &str| {
            let (subject, folder) = installed(name).map_err(|reason| problem("server", reason))?;
            Ok::<_, PlanError>((Arc::new(subject), folder))
        };
        let peer = match &spec.server {
            Server::Given(endpoint) => Peer::Given(endpoint.clone()),
            Server::Started(started) => Peer::Started(started.clone()),
            Server::Embedded(embedded) => Peer::Embedded(embedded.clone()),
            Server::Subject(server) => {
                let (subject, installed) = find(&server.name)?;
                Peer::Subject(SubjectServer {
                    subject,
                    installed,
                    scheme: server.scheme,
                    path: server.path.clone(),
                })
            }
        };
        let client = spec.client.as_ref().map(|client| {
            let (subject, installed) = find(&client.name)?;
            Ok(SubjectClient { subject, installed, host: client.host.clone() })
        });
        Ok(Self {
            line: 0,
            speech: Speech::of(&spec, is_public)?,
            workload: workload(&spec, is_public)?,
            is_public,
            sources: spec.sources.iter().flat_map(spec::SourceRange::addresses).collect(),
            client: client.transpose()?,
            peer,
            spec,
        })
    }

    /// The same server and client under another load.
    pub(crate) fn at(&self, spec: Workload) -> Result<Self, PlanError> {
        Ok(Self { workload: workload(&spec, self.is_public)?, spec, ..self.clone() })
    }

    /// The name in tables.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// True if one of its subjects gets faster while it runs.
    pub(crate) fn compiles_while_it_runs(&self) -> bool {
        let server = match &self.peer {
            Peer::Subject(server) => server.subject.manifest.jit,
            // It may: no manifest says otherwise.
            Peer::Started(_) => true,
            Peer::Embedded(_) | Peer::Given(_) => false,
        };
        server || self.client.as_ref().is_some_and(|client| client.subject.manifest.jit)
    }
}

/// The load of the workers; if it `ramps_up`, its rate rises during the warm-up.
fn workload(spec: &Workload, ramps_up: bool) -> Result<load::Workload, PlanError> {
    let content = content(spec)?;
    let connections = spec.load.connections();
    Ok(load::Workload {
        connections,
        rooms: spec.load.rooms().map(RoomShare::whole),
        connect_rate: spec.connect_rate,
        lifetime: spec.load.lifetime(),
        closing: spec.closing,
        arrival: arrival(&spec.load, ramps_up)?,
        expect: match &spec.expect {
            spec::Expect::Anything => Expect::Anything,
            spec::Expect::Contains(Blob(part)) => Expect::Contains(part.as_slice().into()),
            spec::Expect::Echo => Expect::Echo,
            spec::Expect::Exactly(Blob(reply)) => Expect::Exactly(reply.as_slice().into()),
            spec::Expect::InSequence => Expect::InSequence,
            spec::Expect::Oracle => Expect::Oracle,
            spec::Expect::Sha256(digest) => Expect::Sha256(*digest),
        },
        requests: requests(spec)?,
        content,
        phases: spec.phases,
        timeouts: spec.timeouts,
        last_replies: spec.last_replies,
        seed: spec.seed,
    })
}

/// The requests of the conversation, if there is one.
fn requests(spec: &Workload) -> Result<Option<Requests>, PlanError> {
    let Some(conversation) = &spec.conversation else { return Ok(None) };
    let is_answered = |request: &Request| request.reply != Reply::Nothing;
    let waits = matches!(spec.load, Load::Closed { .. } | Load::Clients { .. });
    if waits && !conversation.requests.iter().any(is_answered) {
        let message = format!(
            "`{}` has no request that is answered, so a closed loop has nothing to wait for; give it a schedule with \
             --rate or --bots",
            conversation.name
        );
        return Err(problem("conversation", message));
    }
    let requests = Requests::new(Arc::new(conversation.clone()), spec.seed);
    let published = requests.kinds().iter().position(Request::has_header);
    Ok(Some(match (spec.load.rooms(), published) {
        (Some(_), Some(index)) => requests.only(index),
        (Some(_), None) | (None, _) => requests,
    }))
}

fn content(spec: &Workload) -> Result<Content, PlanError> {
    if spec.conversation.is_some() {
        return Ok(Content::exactly(&[0; Cue::LEN], false)); // The cue that asks for a request.
    }
    let content = payload(spec);
    if spec.expect != spec::Expect::Oracle {
        return Ok(content);
    }
    let has_no_room = || {
        problem("size", "an oracle needs room in a message for itself; use a longer one".to_owned())
    };
    content.for_oracle().ok_or_else(has_no_room)
}

/// The messages as asked for, or the content of `${payload}` in a conversation.
fn payload(spec: &Workload) -> Content {
    let text = spec.message.text;
    match &spec.message.content {
        spec::Content::Generated { kind, size, varied } => {
            let content = match varied {
                true => Content::varied(*kind, *size, spec.seed),
                false => Content::generated(*kind, *size, spec.seed),
            };
            if text { content.as_text() } else { content.as_binary() }
        }
        spec::Content::Given { bytes: Blob(bytes), .. } => Content::exactly(bytes, text),
        spec::Content::GameEvent { delay_ms } => {
            let event = LoadRequest { pid: 0, tableid: 0, seq: 0, delay: *delay_ms, resend: false };
            Content::exactly(&event.pack(), false)
        }
        spec::Content::Nothing => Content::exactly(b"", false),
    }
}

fn arrival(load: &Load, ramps_up: bool) -> Result<Arrival, PlanError> {
    let schedule = |rate: spec::Profile, spacing: Spacing, connections: NonZeroU32| Schedule {
        ramps_up,
        ..Schedule::new(rate, spacing, connections)
    };
    Ok(match load {
        Load::Closed { in_flight, in_flight_max, .. }
        | Load::Clients { in_flight, in_flight_max, .. } => {
            Arrival::Closed { in_flight: *in_flight, in_flight_max: *in_flight_max }
        }
        Load::Open { connections, rate, spacing, in_flight_max } => Arrival::Open {
            schedule: schedule(rate.clone(), *spacing, *connections),
            pick: Pick::Any,
            in_flight_max: *in_flight_max,
        },
        Load::Bots { bots, every, spacing, in_flight_max } => {
            let rate = Rate::new(*bots, *every);
            let rate = rate
                .ok_or_else(|| problem("every", "0s is too short; use a longer time".to_owned()))?;
            Arrival::Open {
                schedule: schedule(rate.into(), *spacing, *bots),
                pick: Pick::Own,
                in_flight_max: *in_flight_max,
            }
        }
        Load::Publish { rooms, rate, spacing, in_flight_max } => {
            let whole = rate.times(rooms.count).ok_or_else(|| {
                let message =
                    format!("{rate} in each of {} rooms cannot be scheduled", rooms.count);
                problem("publish", message)
            })?;
            Arrival::Open {
                schedule: schedule(whole, *spacing, rooms.all_publishers()),
                pick: Pick::Own,
                in_flight_max: *in_flight_max,
            }
        }
        Load::ClosedBots { think, .. } => Arrival::Think { think: *think },
        Load::Sessions { connections, rate, spacing, think, .. } => Arrival::Sessions {
            schedule: schedule(rate.clone(), *spacing, *connections),
            think: *think,
        },
    })
}

fn problem(field: &'static str, message: String) -> PlanError {
    PlanError { field, message }
}

/// The approximate time that the subjects of a measurement take to start.
fn starting(measurement: &Measurement) -> Nanos {
    let is_program = matches!(measurement.peer, Peer::Subject(_) | Peer::Started(_));
    let count = u64::from(is_program) + u64::from(measurement.client.is_some());
    Nanos(count * START.0)
}

const START: Nanos = Nanos::from_millis(700);

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A server of our own, started for the run as a child process.
    Embedded(spec::Embedded),
    /// A server that is already listening.
    Given(Endpoint),
    /// A server of the user's, started for the run as a child process.
    Started(spec::Started),
    /// A third-party program, started for the run as a child process.
    Subject(SubjectServer),
}

impl Peer {
    /// The protocol that is spoken.
    pub const fn scheme(&self) -> Scheme {
        match self {
            Self::Embedded(embedded) => embedded.scheme,
            Self::Given(url) => url.scheme(),
            Self::Started(started) => started.url.scheme(),
            Self::Subject(server) => server.scheme,
        }
    }

    /// True if we start, watch and end its process.
    pub const fn is_ours(&self) -> bool {
        match self {
            Self::Embedded(_) | Self::Started(_) | Self::Subject(_) => true,
            Self::Given(_) => false,
        }
    }

    /// The URL of a server of the user's, as given by the user.
    pub const fn url(&self) -> Option<&Endpoint> {
        match self {
            Self::Given(url) | Self::Started(spec::Started { url, .. }) => Some(url),
            Self::Embedded(_) | Self::Subject(_) => None,
        }
    }
}

/// A third-party server. Measurements that need the same one, with the same reply, share its process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectServer {
    /// The subject.
    pub subject: Arc<lab::Subject>,
    /// The folder that it is installed in.
    pub installed: PathBuf,
    /// The protocol used with it; one of those in its manifest.
    pub scheme: Scheme,
    /// The path requested instead of the one that it reports, e.g. `/64` for a server that only serves files.
    pub path: Option<String>,
}

/// A third-party client library, with the small program that drives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectClient {
    /// The subject.
    pub subject: Arc<lab::Subject>,
    /// The folder that it is installed in.
    pub installed: PathBuf,
    /// The host to connect to instead of the one that the server reports, e.g. `localhost`.
    pub host: Option<String>,
}

/// Everything that a protocol lets a client say besides its messages.
#[derive(Clone, Debug)]
pub struct Speech {
    /// All options but the length of replies, which follows from the messages, and the TLS sessions.
    pub options: wire::ClientOptions,
    /// The TLS around the protocol; `Some` if and only if the scheme uses TLS.
    pub tls: Option<Tls>,
}

impl Speech {
    /// The usual way to speak `scheme`: POST for requests, nothing offered, [`Tls::usual`].
    pub fn usual(scheme: Scheme) -> Self {
        Self { options: wire::ClientOptions::default(), tls: Tls::usual(scheme) }
    }

    fn of(spec: &Workload, is_public: bool) -> Result<Self, PlanError> {
        let header = |header: &spec::Header| match &header.value {
            Some(value) => Ok((header.name.clone(), value.clone())),
            None => Err(problem(
                "header",
                format!(
                    "the value of `{0}` is not kept in files; give it again with -H '{0}: …'",
                    header.name
                ),
            )),
        };
        let deflate =
            spec.deflate.as_ref().map(|offer| offer.parse::<deflate::Offer>()).transpose();
        let bots =
            |spec::Bots { first_player, lobby }| Bots { first_player, lobby, ..Bots::default() };
        let mut headers: Vec<_> = spec.http.headers.iter().map(header).collect::<Result<_, _>>()?;
        let named = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(USER_AGENT));
        let has_head = spec.server.scheme().facts().path.is_some();
        if has_head && !named && (is_public || spec.contact.is_some()) {
            headers.push((USER_AGENT.to_owned(), safety::user_agent(spec.contact.as_deref())));
        }
        let payload = payload(spec);
        let compile =
            |it| conversation::Compiled::in_rooms(it, spec.load.rooms(), payload.payload());
        let compiled = spec.conversation.as_ref().map(compile).transpose();
        let options = wire::ClientOptions {
            conversation: compiled.map_err(|error| problem("conversation", error.to_string()))?,
            method: spec.http.method.clone(),
            statuses: spec.http.statuses.clone(),
            redirects: spec.http.redirects,
            headers,
            subprotocols: spec.subprotocols.clone(),
            deflate: deflate.map_err(|error| problem("deflate", error.to_string()))?,
            bots: spec.bots.map_or_else(Bots::default, bots),
            ..Self::usual(spec.server.scheme()).options
        };
        let tls = spec.tls.as_ref().map(|tls| Tls::of(tls, spec)).transpose()?;
        Ok(Self { options, tls })
    }

    /// The speech of connections that publish in rooms, where they connect elsewhere than receivers do.
    pub(crate) fn of_publishers(spec: &Workload, scheme: Scheme) -> Result<Self, PlanError> {
        let conversation = spec.conversation.as_ref().map(|it| it.of_publishers());
        let payload = payload(spec);
        let compile =
            |it| conversation::Compiled::in_rooms(it, spec.load.rooms(), payload.payload());
        let compiled = conversation.map(compile).transpose();
        let usual = Self::usual(scheme);
        let options = wire::ClientOptions {
            conversation: compiled.map_err(|error| problem("conversation", error.to_string()))?,
            ..usual.options
        };
        Ok(Self { options, ..usual })
    }
}

const USER_AGENT: &str = "User-Agent";

/// The TLS of a client.
#[derive(Clone, Debug)]
pub struct Tls {
    /// Versions, suites, resumption, ALPN, our certificate, and the trusted authorities. For a server that we start,
    /// these authorities are ignored: only its own is trusted.
    pub options: ClientOptions,
    /// The name or address that the server's certificate must have; if `None`, that of the URL.
    pub server_name: Option<String>,
}

impl Tls {
    /// The usual TLS of `scheme`: everything that rustls offers by default, tickets, and `http/1.1` over HTTP. No
    /// authority is trusted yet. `None` if the scheme does not use TLS.
    pub fn usual(scheme: Scheme) -> Option<Self> {
        let options = ClientOptions {
            versions: Vec::new(),
            suites: Vec::new(),
            trust: NOBODY,
            identity: None,
            alpn: scheme.alpn(),
            resumption: true,
            now_unix_s: engine::clock::unix_seconds().unwrap_or(0),
        };
        scheme.tls.then_some(Self { options, server_name: None })
    }

    fn of(tls: &spec::Tls, workload: &Workload) -> Result<Self, PlanError> {
        let versions = tls.versions.iter().map(|version| version.parse());
        let versions = versions.collect::<Result<_, _>>();
        let identity = tls.identity.as_ref().map(|identity| match &identity.key {
            Some(key) => Ok(Identity {
                chain_pem: identity.certificate.text.clone().into_bytes(),
                key_pem: key.clone().into_bytes(),
            }),
            None => Err(problem(
                "client-key",
                format!(
                    "the text of {} is not kept in files; make it readable there",
                    identity.key_file
                ),
            )),
        });
        let options = ClientOptions {
            versions: versions
                .map_err(|_| problem("tls-version", "there are 1.2 and 1.3".to_owned()))?,
            suites: tls.suites.clone(),
            trust: trust(&tls.trust, workload.server.is_ours())?,
            identity: identity.transpose()?,
            alpn: tls.alpn.clone(),
            resumption: tls.resumption,
            now_unix_s: engine::clock::unix_seconds().unwrap_or(0),
        };
        let this = Self { options, server_name: tls.server_name.clone() };
        let url_name = workload.server.url().map_or("localhost", Endpoint::host);
        let name = this.server_name.as_deref().unwrap_or(url_name);
        // Impossible options are rejected before anything runs.
        let checked = match workload.server.is_ours() {
            // Its authority is known once it has been started.
            true => ClientOptions { trust: wire::tls::Trust::Anyone, ..this.options.clone() },
            false => this.options.clone(),
        };
        match wire::tls::Client::new(&checked, name) {
            Ok(_) => Ok(this),
            Err(error) => Err(refused(&error, tls)),
        }
    }
}

const NOBODY: wire::tls::Trust = wire::tls::Trust::Authorities { pem: Vec::new(), der: Vec::new() };

fn trust(trust: &Trust, is_ours: bool) -> Result<wire::tls::Trust, PlanError> {
    Ok(match trust {
        _ if is_ours => NOBODY,
        Trust::Anyone => wire::tls::Trust::Anyone,
        Trust::System => wire::tls::Trust::Authorities { pem: Vec::new(), der: of_system()? },
        Trust::Authorities(files) => {
            for file in files {
                let pem = vec![file.text.clone().into_bytes()];
                let alone = wire::tls::Trust::Authorities { pem, der: Vec::new() };
                let usual = Tls::usual(Scheme { tls: true, ..spec::Protocol::Tcp.plain() })
                    .expect("it is inside TLS");
                let options = ClientOptions { trust: alone, ..usual.options };
                wire::tls::Client::new(&options, "localhost")
                    .map_err(|error| problem("ca", format!("{}: {error}", file.file)))?;
            }
            let pem = files.iter().map(|file| file.text.clone().into_bytes()).collect();
            wire::tls::Trust::Authorities { pem, der: Vec::new() }
        }
    })
}

/// The authorities trusted by this system.
fn of_system() -> Result<Vec<Vec<u8>>, PlanError> {
    let found = rustls_native_certs::load_native_certs();
    if !found.certs.is_empty() {
        return Ok(found.certs.into_iter().map(|certificate| certificate.to_vec()).collect());
    }
    let why = found.errors.first().map_or_else(String::new, |error| format!(" ({error})"));
    Err(problem(
        "ca",
        format!(
            "this system has no certificate authorities that could be trusted{why}; name one with --ca FILE, install \
             ca-certificates, or verify nothing with --insecure"
        ),
    ))
}

/// The error for the option that TLS refuses, with the file that the option names.
#[expect(clippy::wildcard_enum_match_arm, reason = "errors of a library that may grow")]
fn refused(error: &OptionsError, tls: &spec::Tls) -> PlanError {
    match error {
        OptionsError::Alpn { .. } => problem("alpn", error.to_string()),
        OptionsError::ServerName { .. } if tls.server_name.is_none() => problem(
            "server-name",
            format!("{error}; name the one of its certificate with --server-name NAME"),
        ),
        OptionsError::ServerName { .. } => problem("server-name", error.to_string()),
        OptionsError::SuiteOfOtherVersion { .. }
        | OptionsError::SuiteUnknown { .. }
        | OptionsError::VersionWithoutSuite { .. } => problem("tls-suite", error.to_string()),
        _ => match &tls.identity {
            Some(identity) => problem(
                "client-cert",
                format!(
                    "{} with --client-key {}: {error}",
                    identity.certificate.file, identity.key_file
                ),
            ),
            None => problem("ca", error.to_string()),
        },
    }
}
